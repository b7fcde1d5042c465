/* SPDX-License-Identifier: GPL-2.0-only */
/* v6.7. */
#include "tree.h"

unsigned long long ks_probe(int cpu);
unsigned long long ks_probe(int cpu)
{
	return per_cpu(sd_share_id, cpu);
}
