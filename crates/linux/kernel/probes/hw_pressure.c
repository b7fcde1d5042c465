/* SPDX-License-Identifier: GPL-2.0-only */
/* v6.10. */
#include "tree.h"

unsigned long long ks_probe(int cpu);
unsigned long long ks_probe(int cpu)
{
	return arch_scale_hw_pressure(cpu);
}
