// SPDX-License-Identifier: GPL-2.0-only
/* Up to v6.5 cpufreq told the scheduler of a new governor; later schedutil does it itself. */
#include "tree.h"

void ks_probe(struct cpufreq_policy *policy);
void ks_probe(struct cpufreq_policy *policy)
{
	sched_cpufreq_governor_change(policy, NULL);
}
