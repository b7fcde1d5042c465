// SPDX-License-Identifier: GPL-2.0-only
/* v6.19, and 6.18 stable: a domain counts tries and successes of newly idle balancing. */
#include "tree.h"

unsigned int ks_probe(struct sched_domain *sd);

unsigned int ks_probe(struct sched_domain *sd)
{
	return sd->newidle_call + sd->newidle_success + sd->newidle_ratio;
}
