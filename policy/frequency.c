/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How fast a CPU ought to be: spec 8.1. Both who sets clocks (schedutil) and who asks what they would be set to (the energy
 * model) go by this.
 *
 *	up to v6.7	the fair and RT utilization within the clamps, plus interrupts; headroom comes with the frequency
 *	freq-perf-v2	utilization and its headroom up to the maximum, but no less than the minimum, which has none
 *
 * DEVIATION: no deadline tasks, and so nothing promised to them before freq-perf-v2.
 */
#include "sched.h"

/* schedutil's 25 %: a CPU that is busier than 80 % gets a faster clock. */
static u64 with_headroom(u64 util)
{
	return util + (util >> 2);
}

u64 fg_effective_util(const struct fg_cpu *rq, u64 util_cfs)
{
	u64 max = rq->cpu_capacity_orig, irq = rq->irq.util_avg;
	u64 util = util_cfs + rq->rt.util_avg + rq->dl.util_avg;

	if (irq >= max || util >= max)
		return max;
	/* Tasks have used this much of the time that interrupts left. */
	return min_u64(max, util * (max - irq) / nonzero(max) + irq);
}

/* The clamps of rq, and of p if it were there too. A remembered maximum does not bind a task that ends the idle time. */
static void frequency_clamps(const struct fg_sys *sys, const struct fg_cpu *rq, const struct fg_task *p,
			     struct clamped_util *want)
{
	want->min = rq->uclamp[FG_UCLAMP_MIN].value;
	want->max = rq->uclamp[FG_UCLAMP_MAX].value;
	if (!p)
		return;
	if (rq->uclamp_idle && feat(sys, FG_UCLAMP_IDLE_OWN)) {
		want->min = uclamp_eff(p, FG_UCLAMP_MIN);
		want->max = uclamp_eff(p, FG_UCLAMP_MAX);
		return;
	}
	want->min = max_u64(want->min, uclamp_eff(p, FG_UCLAMP_MIN));
	want->max = max_u64(want->max, uclamp_eff(p, FG_UCLAMP_MAX));
}

/* Without clamps in use RT tasks get all there is. */
static u32 rt_wants_all(const struct fg_sys *sys, const struct fg_cpu *rq)
{
	return !sys->uclamp_used && rq->rt_nr_running;
}

/* A maximum below the minimum loses. */
static u64 within_clamps(const struct fg_sys *sys, const struct clamped_util *want, u64 util)
{
	if (!sys->uclamp_used)
		return util;
	return want->min >= want->max ? want->min : clamp_u64(util, want->min, want->max);
}

u64 fg_uclamp_rq_util(const struct fg_sys *sys, const struct fg_cpu *rq, u64 util, const struct fg_task *p)
{
	struct clamped_util want;

	frequency_clamps(sys, rq, p, &want);
	return within_clamps(sys, &want, util);
}

/* Up to v6.7. */
static u64 clamped_frequency_util(const struct fg_sys *sys, const struct fg_cpu *rq, const struct clamped_util *want)
{
	u64 max = rq->cpu_capacity_orig, irq = rq->irq.util_avg;
	u64 util = within_clamps(sys, want, want->util + rq->rt.util_avg);

	if (rt_wants_all(sys, rq) || irq >= max)
		return max;
	if (util + rq->dl.util_avg >= max)
		return max;
	return min_u64(max, util * (max - irq) / nonzero(max) + irq);
}

/* freq-perf-v2: what a request is not to be below. */
static u64 least_request(const struct fg_sys *sys, const struct fg_cpu *rq, u64 clamp)
{
	u64 scale = rq->cpu_capacity_orig, irq = rq->irq.util_avg;
	u64 least = max_u64(irq + rq->dl_bw, clamp);

	if (irq >= scale)
		return scale;
	return rt_wants_all(sys, rq) ? max_u64(least, scale) : least;
}

/* freq-perf-v2 */
static u64 performance_util(const struct fg_sys *sys, const struct fg_cpu *rq, const struct clamped_util *want)
{
	u64 scale = rq->cpu_capacity_orig;
	u64 util = with_headroom(want->util);

	if (rq->irq.util_avg >= scale)
		return scale;
	return max_u64(least_request(sys, rq, want->min), min_u64(util, min_u64(scale, want->max)));
}

u64 fg_frequency_util(const struct fg_sys *sys, const struct fg_cpu *rq, u64 util_cfs, const struct fg_task *p,
		      u64 boost)
{
	struct clamped_util want;

	want.util = util_cfs;
	frequency_clamps(sys, rq, p, &want);
	if (!feat(sys, FG_FREQ_PERF_V2)) {
		/* Without a boost a minimum above what the CPU has is not one. */
		if (boost && feat(sys, FG_IOWAIT_CLAMP))
			boost = within_clamps(sys, &want, boost);
		return max_u64(clamped_frequency_util(sys, rq, &want), boost);
	}
	want.util = max_u64(fg_effective_util(rq, util_cfs), boost);
	return performance_util(sys, rq, &want);
}
