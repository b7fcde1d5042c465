/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a CPU has left for fair tasks, and whether that is enough for a task or for the CPU itself: spec 2.7, 7.1 to
 * 7.5.
 *
 *	orig(c)		at top frequency
 *	tp(c)		what limits of the clock take of it
 *	act(c)		orig(c) less such limits, averaged where they come and go by themselves (v6.10)
 *	cap(c)		what interrupts, RT tasks and heat leave, renewed by the balance pass
 *	inv(c)		set while heat makes a big CPU smaller than a smaller kind of CPU (v6.2)
 */
#include "sched.h"

/* The merged patch 003, or this one of its parts. */
static u32 misfit_unlink(const struct fg_sys *sys, enum fg_feature_id part)
{
	return feat(sys, FG_MISFIT_UNLINK) || feat(sys, part);
}

static u32 frequency_pressure(u64 orig, u32 khz, u32 top)
{
	return khz < top ? (u32)(orig - orig * khz / top) : 0;
}

void fg_set_frequency_limits(struct fg_cpu *rq, const struct fg_frequency_limits *limits)
{
	u32 orig = rq->cpu_capacity_orig, top = limits->top;

	rq->hw_pressure = frequency_pressure(orig, limits->hardware, top);
	rq->thermal_pressure = frequency_pressure(orig, (u32)min_u64(limits->hardware, limits->cooling), top);
	rq->cpufreq_pressure = frequency_pressure(orig, limits->policy, top);
}

/* act(c) */
static u64 actual_cpu_capacity(const struct fg_cpu *rq)
{
	return pos_sub(rq->cpu_capacity_orig, max_u64(rq->thermal.load_avg, rq->cpufreq_pressure));
}

u64 fg_scale_capacity(const struct fg_sys *sys, const struct fg_cpu *rq)
{
	u64 max = feat(sys, FG_HW_PRESSURE) ? actual_cpu_capacity(rq) : rq->cpu_capacity_orig;
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

/* orig(c) less what heat takes on average: what performance domains are compared by up to v6.9. */
static u64 cool_capacity(const struct fg_cpu *rq)
{
	return pos_sub(rq->cpu_capacity_orig, rq->thermal.load_avg);
}

/* rq has fallen to left, below CPUs like m that are meant to be smaller or as big. */
static u32 inverted_against(const struct fg_cpu *rq, u64 left, const struct fg_cpu *m)
{
	if (m->cpu_capacity_orig == rq->cpu_capacity_orig)
		return cool_capacity(m) > left;
	return m->cpu_capacity_orig < rq->cpu_capacity_orig && m->cpu_capacity_orig > left;
}

/* inv(c), renewed with cap(c). The first CPU of a performance domain speaks for all. */
static void update_capacity_inversion(const struct fg_sys *sys, struct fg_cpu *rq)
{
	u64 left = cool_capacity(rq);
	u32 cpu;

	rq->cpu_capacity_inverted = 0;
	if (!feat(sys, FG_CAP_INVERSION) || !sys->eas || !rq->rd)
		return;
	for_each_cpu(cpu, &rq->rd->span, sys->nr_cpus) {
		s32 first = cpu_rq(sys, cpu)->pd;

		if (first == rq->pd || !valid_cpu(sys, first) || !inverted_against(rq, left, cpu_rq(sys, (u32)first)))
			continue;
		rq->cpu_capacity_inverted = (u32)left;
		return;
	}
}

/* Co of spec 7.1: what a maximum is compared with. */
static u64 ufc_capacity_max(const struct fg_sys *sys, const struct fg_cpu *rq)
{
	if (rq->cpu_capacity_inverted && !feat(sys, FG_HW_PRESSURE))
		return rq->cpu_capacity_inverted;
	return rq->cpu_capacity_orig;
}

/* Ct of spec 7.1: what a minimum is compared with. hw-pressure takes the place of ufc-thermal. */
static u64 ufc_capacity_min(const struct fg_sys *sys, const struct fg_cpu *rq)
{
	if (feat(sys, FG_HW_PRESSURE))
		return actual_cpu_capacity(rq);
	if (rq->cpu_capacity_inverted)
		return rq->cpu_capacity_inverted;
	if (feat(sys, FG_UFC_THERMAL))
		return pos_sub(rq->cpu_capacity_orig, rq->thermal_pressure);
	return rq->cpu_capacity_orig;
}

/*
 * 1: want fits rq; 0: it does not; -1: but for the minimum asked for, it does (spec 7.1). The 80 % are for
 * utilization, which grows; clamps are requested values, no less and no more.
 */
static s32 util_fits_cpu(const struct fg_sys *sys, const struct clamped_util *want, const struct fg_cpu *rq)
{
	s32 fits = (s32)fits_capacity(want->util, rq->cpu_capacity);
	u64 min = min_u64(want->min, want->max);
	u64 capacity = ufc_capacity_max(sys, rq);

	if (!sys->uclamp_used)
		return fits;
	/* A CPU that gives all that is allowed is big enough. No cap on the biggest CPU: it may still be too small. */
	if (want->max <= capacity && !(capacity == FG_CAPACITY_SCALE && want->max == FG_CAPACITY_SCALE))
		fits = 1;
	if (!fits || want->util >= min || min <= ufc_capacity_min(sys, rq))
		return fits;
	if (misfit_unlink(sys, FG_MU_TRISTATE))
		return -1;
	/* A boosted task fits the biggest CPU: there is no better one. */
	return capacity == FG_CAPACITY_SCALE;
}

/* Up to v6.1: uclamp_task_util. A maximum below the minimum wins. Without clamps in use, or in this version: as is. */
static u64 uclamp_util(const struct fg_sys *sys, const struct clamped_util *want)
{
	if (!feat(sys, FG_UCLAMP_FIT) || !sys->uclamp_used)
		return want->util;
	return clamp_u64(want->util, want->min, want->max);
}

/* The capacity test of this version for a task: 1, 0 or -1 as above. */
global_func s32 task_fits_cpu(const struct fg_sys *sys state_arg, const struct clamped_util *want frame_arg,
			      const struct fg_cpu *rq state_arg)
{
	if (feat(sys, FG_UFC))
		return util_fits_cpu(sys, want, rq);
	return (s32)fits_capacity(uclamp_util(sys, want), rq->cpu_capacity);
}

void fg_set_max_allowed_capacity(const struct fg_sys *sys, struct fg_task *p)
{
	u32 cpu, max = 0;

	for_each_cpu(cpu, &p->allowed, sys->nr_cpus) {
		max = (u32)max_u64(max, cpu_rq(sys, cpu)->cpu_capacity_orig);
		if (max >= FG_CAPACITY_SCALE)
			break;
	}
	p->max_allowed_capacity = max;
}

/* A task on the biggest CPU that it may use fits: there is no better one. */
static u32 has_no_bigger_cpu(const struct fg_sys *sys, const struct fg_cpu *rq, const struct fg_task *p)
{
	if (feat(sys, FG_PINNED_NO_MISFIT) && p->nr_allowed == 1)
		return 1;
	return feat(sys, FG_MAX_ALLOWED_CAP) && rq->cpu_capacity_orig == p->max_allowed_capacity;
}

/* 0: p, the current task of rq, fits it, or fits no CPU better; else its load, at least 1, if it has decayed to nothing. */
global_func u64 misfit_load(const struct fg_sys *sys state_arg, struct fg_cpu *rq state_arg,
			    const struct fg_task *p state_arg)
{
	u64 jiffies = clock_jiffies(sys, rq->clock);
	struct clamped_util want;

	if (has_no_bigger_cpu(sys, rq, p))
		return 0;
	task_clamped_util(sys, p, p->avg.util_avg, &want);
	if (task_fits_cpu(sys, &want, rq) == 1)
		return 0;
	commit_h_load(rq, p, jiffies);
	return nonzero(task_h_load(rq, p, p->avg.load_avg, jiffies));
}

void fg_update_misfit_status(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_task *p)
{
	if (sys->asym_key)
		rq->misfit_task_load = p ? misfit_load(sys, rq, p) : 0;
}

global_func host_noinline u32 exceeds_capacity(const struct fg_sys *sys state_arg, const struct fg_cpu *rq state_arg)
{
	struct clamped_util want;
	s32 fits;

	want.util = fg_cpu_util(rq);
	if (!feat(sys, FG_UFC))
		return !fits_capacity(want.util, rq->cpu_capacity);
	want.min = rq->uclamp[FG_UCLAMP_MIN].value;
	want.max = rq->uclamp[FG_UCLAMP_MAX].value;
	fits = util_fits_cpu(sys, &want, rq);
	return misfit_unlink(sys, FG_MU_OU) ? !fits : fits != 1;
}

/*
 * Only energy-aware wakeups and the balance pass of an energy-aware system read overutilized. Since v6.10 a system
 * that is not energy-aware never sets it; its readers must take it as set.
 */
u32 fg_cpu_overutilized(const struct fg_sys *sys, const struct fg_cpu *rq)
{
	return !(feat(sys, FG_OU_EAS_ONLY) && !sys->eas) && exceeds_capacity(sys, rq);
}

static void update_overutilized_status(const struct fg_sys *sys, struct fg_cpu *rq)
{
	if (rq->rd && !rq->rd->overutilized && fg_cpu_overutilized(sys, rq))
		rq->rd->overutilized = 1;
}
