/* SPDX-License-Identifier: GPL-2.0-only */
/* v6.9: energy models may change, and know how much each operating point gives. */
#include "tree.h"
#include <linux/energy_model.h>

unsigned long ks_probe(struct em_perf_domain *em);
unsigned long ks_probe(struct em_perf_domain *em)
{
	return rcu_dereference_raw(em->em_table)->state->performance;
}
