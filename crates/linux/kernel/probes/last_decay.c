/* SPDX-License-Identifier: GPL-2.0-only */
/* v5.16: when max_newidle_lb_cost decayed last. Trees before it store when it decays next. */
#include "tree.h"

unsigned long long ks_probe(struct sched_domain *sd);
unsigned long long ks_probe(struct sched_domain *sd)
{
	return sd->last_decay_max_lb_cost;
}
