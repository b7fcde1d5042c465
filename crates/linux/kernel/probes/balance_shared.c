// SPDX-License-Identifier: GPL-2.0-only
/* v7.2: an asymmetric domain has shared state of its own. */
#include "tree.h"

struct sched_domain_shared *ks_probe(int cpu);
struct sched_domain_shared *ks_probe(int cpu)
{
	return rcu_dereference_raw(per_cpu(sd_balance_shared, cpu));
}
