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

/* What p wants, for a util_avg as above. */
static void task_clamped_util(const struct fg_sys *sys, const struct fg_task *p, u64 util_avg,
			      struct clamped_util *want)
{
	want->util = task_util_est_at(sys, p, util_avg);
	want->min = uclamp_eff(p, FG_UCLAMP_MIN);
	want->max = uclamp_eff(p, FG_UCLAMP_MAX);
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

/* A quarter of the way from the average to sample. */
static u32 util_est_average(const struct fg_task *p, u32 sample)
{
	return (u32)((3 * (u64)p->est.ewma + sample) / 4);
}

/* v6.8: one value, in ewma. Fast up, slowly down, and not down for want of CPU time. */
static void util_est_update_v68(const struct fg_sys *sys, const struct fg_cpu *rq, struct fg_task *p, u32 sample)
{
	u32 util = (u32)p->avg.util_avg;

	if (p->est.ewma <= sample) {
		p->est.ewma = sample;
	} else if (!within_margin(p->est.ewma, sample)) {
		if (util > rq->cpu_capacity_orig && feat(sys, FG_EST_OVERCAP))
			return;
		/* It waited: had it run instead, it would have used more. */
		if (util + UTIL_EST_MARGIN >= p->avg.runnable_avg)
			p->est.ewma = util_est_average(p, sample);
	}
	p->flags |= FG_TASK_EST_CURRENT;
}

/* Up to v6.7: the last value and an average. */
static void util_est_update_pair(const struct fg_sys *sys, const struct fg_cpu *rq, struct fg_task *p, u32 sample)
{
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
	if (p->avg.util_avg > rq->cpu_capacity_orig && feat(sys, FG_EST_OVERCAP))
		return;
	p->est.enqueued = sample;
	p->est.ewma = util_est_average(p, sample);
	p->flags |= FG_TASK_EST_CURRENT;
}

/* p goes to sleep: learn from what it used this time. */
static void util_est_update(const struct fg_sys *sys, const struct fg_cpu *rq, struct fg_task *p)
{
	u32 sample = (u32)p->avg.util_avg;

	/* It slept so short that its utilization is the same as last time. */
	if (p->flags & FG_TASK_EST_CURRENT)
		return;
	/* Up to v5.12 bit 0 of the stored value says so. */
	if (feat(sys, FG_EST_LSB))
		sample |= 1;
	if (feat(sys, FG_UTIL_EST) == FG_UTIL_EST_V68)
		util_est_update_v68(sys, rq, p, sample);
	else
		util_est_update_pair(sys, rq, p, sample);
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

u64 fg_cpu_util_boost(const struct fg_sys *sys, const struct fg_cpu *rq)
{
	u64 util = rq->cfs.util_avg;

	if (feat(sys, FG_RUNNABLE_BOOST))
		util = max_u64(util, rq->cfs.runnable_avg);
	return cpu_util_of(rq, util, rq->est_enqueued);
}

static u64 cpu_load(const struct fg_cpu *rq)
{
	return rq->cfs.load_avg;
}

/* h_load of rq in a jiffy: what it was when it was first asked for. */
static u64 rq_h_load(const struct fg_cpu *rq, u64 jiffies)
{
	return rq->h_load_stamp == jiffies + 1 ? rq->h_load : rq->cfs.load_avg;
}

/*
 * update_cfs_rq_h_load: the same of the queue of a group on rq, its part of that; null: of rq's own. What an outer
 * group had in this jiffy when it was first asked for counts for those in it.
 */
static noinline u64 queue_h_load(const struct fg_cpu *rq, const struct fg_tg_cpu *of, u64 jiffies)
{
	const struct fg_tg_cpu *known = of, *g, *up;
	u64 load, above;

	for (u32 i = 0; can_loop(i, FG_MAX_TG_DEPTH) && known && known->h_load_stamp != jiffies + 1; i++)
		known = group_above(rq, known);
	load = known ? known->h_load : rq_h_load(rq, jiffies);
	above = known ? known->avg.load_avg : rq->cfs.load_avg;
	/* Inwards. Without an array of the way out: its index would make the BPF verifier follow each turn. */
	for (u32 i = 0; can_loop(i, FG_MAX_TG_DEPTH) && known != of; i++) {
		g = of;
		up = group_above(rq, g);
		for (u32 k = 0; up && can_loop(k, FG_MAX_TG_DEPTH) && up != known; k++) {
			g = up;
			up = group_above(rq, g);
		}
		load = load * g->entity.avg.load_avg / (above + 1);
		above = g->avg.load_avg;
		known = g;
	}
	return load;
}

/* Those that the load of p depends on are from now on as of this jiffy. */
static void commit_h_load(struct fg_cpu *rq, const struct fg_task *p, u64 jiffies)
{
	struct fg_tg_cpu *g;

	/* The innermost one first: what is above it has no stamp yet. */
	for_each_group_of(g, rq, p) {
		if (g->h_load_stamp == jiffies + 1)
			break;
		g->h_load = queue_h_load(rq, g, jiffies);
	}
	for_each_group_of(g, rq, p)
		g->h_load_stamp = jiffies + 1;
	rq->h_load = rq_h_load(rq, jiffies);
	rq->h_load_stamp = jiffies + 1;
}

/* task_h_load(p): what a load_avg of p, in its queue on rq, is of the load of rq. */
static u64 task_h_load(const struct fg_cpu *rq, const struct fg_task *p, u64 load_avg, u64 jiffies)
{
	const struct fg_tg_cpu *g = group_of(rq, p);

	return load_avg * queue_h_load(rq, g, jiffies) / ((g ? g->avg.load_avg : rq->cfs.load_avg) + 1);
}
