/* SPDX-License-Identifier: GPL-2.0-only */
/* v6.9: an energy model can change at run time, and holds the performance of each operating point. */
#include "tree.h"
#include <linux/energy_model.h>

unsigned long ks_probe(struct em_perf_domain *em);
unsigned long ks_probe(struct em_perf_domain *em)
{
	return rcu_dereference_raw(em->em_table)->state->performance;
}
