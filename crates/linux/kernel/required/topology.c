// SPDX-License-Identifier: GPL-2.0-only
/* domain masks from the architecture: cpu_smt_mask() and the level of cpu_coregroup_mask() */
#include "../probes/tree.h"
#include <linux/sched/topology.h>

const struct cpumask *ks_probe(int cpu);
const struct cpumask *ks_probe(int cpu)
{
	return cpu_core_flags() ? cpu_coregroup_mask(cpu) : cpu_smt_mask(cpu);
}
