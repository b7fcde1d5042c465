/* SPDX-License-Identifier: GPL-2.0-only */
/* v6.7. */
#include "tree.h"

unsigned long long ks_probe(struct sched_domain *sd);
unsigned long long ks_probe(struct sched_domain *sd)
{
	return sd->flags & SD_CLUSTER;
}
