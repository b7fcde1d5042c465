/* SPDX-License-Identifier: GPL-2.0-only */
/* Up to v6.6. */
#include "tree.h"

unsigned long long ks_probe(struct sched_domain *sd);
unsigned long long ks_probe(struct sched_domain *sd)
{
	return sd->avg_scan_cost;
}
