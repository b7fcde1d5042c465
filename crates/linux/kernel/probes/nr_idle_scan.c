/* SPDX-License-Identifier: GPL-2.0-only */
/* v6.0. */
#include "tree.h"

unsigned long long ks_probe(struct sched_domain_shared *sds);
unsigned long long ks_probe(struct sched_domain_shared *sds)
{
	return sds->nr_idle_scan;
}
