// SPDX-License-Identifier: GPL-2.0-only
/* v7.0: a domain remembers when it counted newly idle balancing last. */
#include "tree.h"

u64 ks_probe(struct sched_domain *sd);

u64 ks_probe(struct sched_domain *sd)
{
	return sd->newidle_stamp;
}
