/* SPDX-License-Identifier: GPL-2.0-only */
/* v5.14. */
#include "tree.h"

unsigned long long ks_probe(struct sched_domain *sd);
unsigned long long ks_probe(struct sched_domain *sd)
{
	return sd->flags & SD_ASYM_CPUCAPACITY_FULL;
}
