/* SPDX-License-Identifier: GPL-2.0-only */
/* What a CPU has left for fair tasks, and whether a task or the CPU itself is too small: spec 2.7, 7.4, 7.5. */
#include "sched.h"

u64 fg_scale_capacity(const struct fg_sys *sys, const struct fg_cpu *rq)
{
	u64 max = rq->cpu_capacity_orig;
	u64 irq = rq->irq.util_avg;
	u64 used = rq->rt.util_avg + rq->dl.util_avg;

	if (irq >= max)
		return 1;
	if (feat(sys, FG_THERMAL_IN_CAP))
		used += rq->thermal.load_avg;
	if (used >= max)
		return 1;
	/* Interrupts take their share of what the other classes leave. */
	return nonzero((max - used) * (max - irq) / max);
}

/* task_fits of spec 7.3, for p as it stands. */
static u32 task_fits(const struct fg_sys *sys, const struct fg_task *p, u64 capacity)
{
	return fits_capacity(uclamp_util(sys, p, fg_task_util_est(sys, p)), capacity);
}

void fg_update_misfit_status(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_task *p)
{
	if (!sys->asym_key)
		return;
	/* Where else should a pinned task go? */
	if (!p || (feat(sys, FG_PINNED_NO_MISFIT) && p->nr_allowed == 1) || task_fits(sys, p, rq->cpu_capacity)) {
		rq->misfit_task_load = 0;
		return;
	}
	/* 0 means "no misfit", also for a task whose load has decayed to nothing. */
	rq->misfit_task_load = nonzero(h_load(rq, p->avg.load_avg));
}

u32 fg_cpu_overutilized(const struct fg_sys *sys, const struct fg_cpu *rq)
{
	(void)sys;
	return !fits_capacity(fg_cpu_util(rq), rq->cpu_capacity);
}

static void update_overutilized_status(const struct fg_sys *sys, struct fg_cpu *rq)
{
	if (rq->rd && !rq->rd->overutilized && fg_cpu_overutilized(sys, rq))
		rq->rd->overutilized = 1;
}
