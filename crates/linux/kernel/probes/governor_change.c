// SPDX-License-Identifier: GPL-2.0-only
/* Up to v6.5 cpufreq reports a new governor to the scheduler; later schedutil itself does. */
#include "tree.h"

void ks_probe(struct cpufreq_policy *policy);
void ks_probe(struct cpufreq_policy *policy)
{
	sched_cpufreq_governor_change(policy, NULL);
}
