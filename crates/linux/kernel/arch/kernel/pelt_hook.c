/* SPDX-License-Identifier: GPL-2.0-only */
/* Observes PELT updates. Included after the tree's build_policy.c, see pelt_hook.h. */
#include "read_avg.h"

static int hook____update_load_sum(const char *caller, u64 now, struct sched_avg *sa, unsigned long load,
				   unsigned long runnable, int running)
{
	struct fg_avg before, after;
	struct ks_pelt step = { .before = &before, .after = &after };
	int ret;

	if (!ks_host->pelt)
		return tree____update_load_sum(now, sa, load, runnable, running);
	step.function = caller;
	step.step = KS_PELT_SUM;
	step.running = running != 0;
	step.now = now;
	step.load = load;
	step.runnable = runnable;
	read_avg(sa, &before);
	ret = tree____update_load_sum(now, sa, load, runnable, running);
	step.renewed = ret;
	read_avg(sa, &after);
	ks_host->pelt(ks_host->self, &step);
	return ret;
}

static void hook____update_load_avg(const char *caller, struct sched_avg *sa, unsigned long weight)
{
	struct fg_avg before, after;
	struct ks_pelt step = { .before = &before, .after = &after };

	if (!ks_host->pelt) {
		tree____update_load_avg(sa, weight);
		return;
	}
	step.function = caller;
	step.step = KS_PELT_AVERAGES;
	step.load = weight;
	read_avg(sa, &before);
	tree____update_load_avg(sa, weight);
	read_avg(sa, &after);
	ks_host->pelt(ks_host->self, &step);
}
