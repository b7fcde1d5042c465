// SPDX-License-Identifier: GPL-2.0-only
/* v5.16: inefficient frequencies are marked. */
#include "tree.h"

int ks_probe(struct cpufreq_policy *policy);
int ks_probe(struct cpufreq_policy *policy)
{
	return policy->efficiencies_available && policy->freq_table->flags & CPUFREQ_INEFFICIENT_FREQ;
}
