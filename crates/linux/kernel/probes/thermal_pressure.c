/* SPDX-License-Identifier: GPL-2.0-only */
/* v5.7 to v6.9. */
#include "tree.h"

unsigned long long ks_probe(int cpu);
unsigned long long ks_probe(int cpu)
{
	return arch_scale_thermal_pressure(cpu);
}
