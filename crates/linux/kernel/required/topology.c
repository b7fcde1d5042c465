// SPDX-License-Identifier: GPL-2.0-only
/* domain masks from the architecture: cpu_clustergroup_mask() and cpu_coregroup_mask() (v5.16) */
#include "../probes/tree.h"
#include <linux/sched/topology.h>

const struct cpumask *(*ks_cluster)(int cpu) = cpu_clustergroup_mask;
int (*ks_flags)(void) = cpu_cluster_flags;
