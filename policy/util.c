/* SPDX-License-Identifier: GPL-2.0-only */
/* Utilization of tasks and CPUs, and its estimate: spec 2.6 to 2.8. */
#include "sched.h"

/* Changes of the estimate below 1 % are noise. */
#define UTIL_EST_MARGIN (FG_CAPACITY_SCALE / 100)

/* The estimate as every reader sees it. */
static u32 util_est(const struct fg_sys *sys, const struct fg_task *p)
{
	u32 est = p->est.enqueued > p->est.ewma ? p->est.enqueued : p->est.ewma;

	return feat(sys, FG_EST_LSB) ? est | 1 : est;
}

/* task_util_est for a util_avg that is not the stored one (a sleeper's, decayed up to now). */
static u64 task_util_est_at(const struct fg_sys *sys, const struct fg_task *p, u64 util_avg)
{
	return max_u64(util_avg, util_est(sys, p));
}

u64 fg_task_util_est(const struct fg_sys *sys, const struct fg_task *p)
{
	return task_util_est_at(sys, p, p->avg.util_avg);
}

/* uclamp_task_util: an upper clamp below the lower one wins. Without clamps on the system or in this version: as is. */
static u64 uclamp_util(const struct fg_sys *sys, const struct fg_task *p, u64 util_est)
{
	if (!feat(sys, FG_UCLAMP_FIT) || !sys->uclamp_used)
		return util_est;
	return clamp_u64(util_est, p->uclamp_min, p->uclamp_max);
}

static void util_est_enqueue(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_task *p)
{
	rq->est_enqueued += util_est(sys, p);
}

static void util_est_dequeue(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_task *p)
{
	rq->est_enqueued = (u32)pos_sub(rq->est_enqueued, util_est(sys, p));
}

static u32 within_margin(u32 a, u32 b)
{
	return (a > b ? a - b : b - a) < UTIL_EST_MARGIN;
}

/* p goes to sleep: learn from what it used this time. Fast up, slowly down. */
static void util_est_update(const struct fg_sys *sys, const struct fg_cpu *rq, struct fg_task *p)
{
	u32 util = (u32)p->avg.util_avg;
	u32 sample = util;

	/* It slept so short that its utilization is the same as last time. */
	if (p->flags & FG_TASK_EST_CURRENT)
		return;
	/* Up to v5.12 bit 0 of the stored value says so. */
	if (feat(sys, FG_EST_LSB))
		sample |= 1;

	if (feat(sys, FG_UTIL_EST) >= FG_UTIL_EST_FASTUP && p->est.ewma < sample) {
		p->est.enqueued = sample;
		p->est.ewma = sample;
		p->flags |= FG_TASK_EST_CURRENT;
		return;
	}
	if (within_margin(p->est.ewma, sample)) {
		/* v5.13: the last value is kept if at least it moved. */
		if (!feat(sys, FG_EST_LSB) && !within_margin(p->est.enqueued, sample)) {
			p->est.enqueued = sample;
			p->flags |= FG_TASK_EST_CURRENT;
		}
		return;
	}
	/* More than the CPU has: it was not alone, or the CPU was throttled. */
	if (util > rq->cpu_capacity_orig)
		return;
	p->est.enqueued = sample;
	p->est.ewma = (u32)((3 * (u64)p->est.ewma + sample) / 4);
	p->flags |= FG_TASK_EST_CURRENT;
}

/* cpu_util(c) from the two parts. */
static u64 cpu_util_of(const struct fg_cpu *rq, u64 util_avg, u64 est)
{
	return min_u64(max_u64(util_avg, est), rq->cpu_capacity_orig);
}

u64 fg_cpu_util(const struct fg_cpu *rq)
{
	return cpu_util_of(rq, rq->cfs.util_avg, rq->est_enqueued);
}

static u64 cpu_load(const struct fg_cpu *rq)
{
	return rq->cfs.load_avg;
}

/* task_h_load(p) in a flat hierarchy, for a load_avg of p on rq. */
static u64 h_load(const struct fg_cpu *rq, u64 load_avg)
{
	return load_avg * rq->cfs.load_avg / (rq->cfs.load_avg + 1);
}
