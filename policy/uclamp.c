/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Utilization clamps (spec 2.8): what is in force for a task, and for a run queue as the largest among its runnable tasks.
 *
 *	request		the task's own; without one 0 and 1024, of an RT task uclamp_min_rt and 1024
 *	group		as cpu.uclamp.min and .max of the task's group and of those around it allow; the root group allows all
 *	system		no more than uclamp_limit
 *
 * Tasks are counted in buckets, equal parts of the scale, so that a task that leaves needs no walk over those that stay.
 * Five of them:
 *
 *	clamp	0 ... 204 | 205 ... 409 | 410 ... 614 | 615 ... 819 | 820 ... 1024
 *	bucket	    0     |      1      |      2      |      3      |      4
 *
 * A bucket remembers the largest clamp of those that came since it was empty; the run queue's is that of the highest
 * bucket with a task.
 */
#include "sched.h"

/* ---- of a task -------------------------------------------------------------------------------------------------- */

/* The clamp in force for p. */
static u32 uclamp_eff(const struct fg_task *p, u32 id)
{
	return id == FG_UCLAMP_MIN ? p->uclamp_min : p->uclamp_max;
}

/*
 * DEVIATION: up to v5.10 what was never asked for is reset also where the other clamp is asked for.
 */
void fg_uclamp_request(const struct fg_sys *sys, struct fg_task *p, u32 asked, const struct fg_clamps *want)
{
	if (!asked) {
		if (!(p->flags & FG_TASK_ASKED_MIN))
			p->uclamp_req_min = is_rt(p) ? sys->uclamp_min_rt : 0;
		if (!(p->flags & FG_TASK_ASKED_MAX))
			p->uclamp_req_max = FG_CAPACITY_SCALE;
	}
	if (asked & FG_TASK_ASKED_MIN)
		p->uclamp_req_min = want->min;
	if (asked & FG_TASK_ASKED_MAX)
		p->uclamp_req_max = want->max;
	p->flags |= asked & (FG_TASK_ASKED_MIN | FG_TASK_ASKED_MAX);
}

/* Up to v5.13: the group's clamp is the most there is, and what a task gets that asks for nothing. */
static u32 uclamp_within(u32 asked, u32 req, u32 most)
{
	return req > most || !asked ? most : req;
}

/* What is left of the request of p in its group. */
static struct fg_clamps uclamp_in_group(const struct fg_sys *sys, const struct fg_task *p,
					const struct fg_clamps *group)
{
	struct fg_clamps left = { .min = p->uclamp_req_min, .max = p->uclamp_req_max };

	if (!group)
		return left;
	if (feat(sys, FG_UCLAMP_PROTECT)) {
		left.min = (u32)clamp_u64(left.min, group->min, group->max);
		left.max = (u32)clamp_u64(left.max, group->min, group->max);
	} else {
		left.min = uclamp_within(p->flags & FG_TASK_ASKED_MIN, left.min, group->min);
		left.max = uclamp_within(p->flags & FG_TASK_ASKED_MAX, left.max, group->max);
	}
	return left;
}

void fg_uclamp_restrict(const struct fg_clamps *around, const struct fg_clamps *want, struct fg_clamps *allowed)
{
	u32 max = (u32)min_u64(want->max, around->max);

	allowed->min = (u32)min_u64(min_u64(want->min, around->min), max);
	allowed->max = max;
}

/* ---- of a run queue --------------------------------------------------------------------------------------------- */

static u32 nr_buckets(const struct fg_sys *sys)
{
	return feat(sys, FG_UCLAMP_NR_BUCKETS) ? FG_UCLAMP_BUCKETS : 5;
}

/* Parts of the scale rounded to the nearest; the last one takes what is left. */
static u32 uclamp_bucket_id(const struct fg_sys *sys, u32 value)
{
	u32 nr = nr_buckets(sys);
	u32 delta = (FG_CAPACITY_SCALE + nr / 2) / nr;

	return (u32)min_u64(value / delta, nr - 1);
}

static struct fg_uclamp_bucket *uclamp_bucket(const struct fg_sys *sys, struct fg_uclamp *uc, u32 value)
{
	return &uc->bucket[uclamp_bucket_id(sys, value)];
}

static void uclamp_inc_id(const struct fg_sys *sys, struct fg_cpu *rq, u32 id, u32 value)
{
	struct fg_uclamp *uc = &rq->uclamp[id];
	struct fg_uclamp_bucket *bucket = uclamp_bucket(sys, uc, value);

	bucket->tasks++;
	if (bucket->tasks == 1 || value > bucket->value)
		bucket->value = value;
	/* A maximum that is only remembered does not bind the task that ends the idle time. */
	if (rq->uclamp_idle || value > uc->value)
		uc->value = value;
}

/*
 * The last task has left. The minimum becomes 0. The maximum stays that of the last task: otherwise its blocked
 * utilization could request a higher frequency than it was allowed while it ran.
 */
static u32 uclamp_idle_value(struct fg_cpu *rq, u32 id, u32 value)
{
	if (id == FG_UCLAMP_MIN)
		return 0;
	rq->uclamp_idle = 1;
	return value;
}

/* The clamp of the highest bucket with a task. value: of the task that left. */
static u32 uclamp_rq_max_value(const struct fg_sys *sys, struct fg_cpu *rq, u32 id, u32 value)
{
	for (u32 i = nr_buckets(sys); i-- > 0;) {
		if (rq->uclamp[id].bucket[i].tasks)
			return rq->uclamp[id].bucket[i].value;
	}
	return uclamp_idle_value(rq, id, value);
}

static void uclamp_dec_id(const struct fg_sys *sys, struct fg_cpu *rq, u32 id, u32 value)
{
	struct fg_uclamp *uc = &rq->uclamp[id];
	struct fg_uclamp_bucket *bucket = uclamp_bucket(sys, uc, value);

	bucket->tasks--;
	/* With company in the bucket its value stays, even if it was this task's. */
	if (!bucket->tasks && bucket->value >= uc->value)
		uc->value = uclamp_rq_max_value(sys, rq, id, value);
}

void fg_uclamp_rq_inc(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	/* Nothing is counted before the first request on the system. */
	if (!sys->uclamp_used || p->uclamp_active)
		return;
	for (u32 id = 0; id < FG_NR_UCLAMPS; id++)
		uclamp_inc_id(sys, rq, id, uclamp_eff(p, id));
	rq->uclamp_idle = 0;
	p->uclamp_active = 1;
}

void fg_uclamp_rq_dec(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	if (!p->uclamp_active)
		return;
	for (u32 id = 0; id < FG_NR_UCLAMPS; id++)
		uclamp_dec_id(sys, rq, id, uclamp_eff(p, id));
	p->uclamp_active = 0;
}

/* A counted task leaves with the old clamp and comes back with the new one. */
static void uclamp_rq_reinc_id(const struct fg_sys *sys, struct fg_cpu *rq, u32 id, u32 old, u32 value)
{
	uclamp_dec_id(sys, rq, id, old);
	uclamp_inc_id(sys, rq, id, value);
	/* Up to v5.15 a queue that was empty in between keeps the mark, and the next task that comes is not bound by this one. */
	if (feat(sys, FG_UCLAMP_REINC))
		rq->uclamp_idle = 0;
}

void fg_uclamp_update(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p, const struct fg_clamps *group)
{
	struct fg_clamps left = uclamp_in_group(sys, p, group);
	u32 min = (u32)min_u64(left.min, sys->uclamp_limit.min);
	u32 max = (u32)min_u64(left.max, sys->uclamp_limit.max);

	if (p->uclamp_active) {
		uclamp_rq_reinc_id(sys, rq, FG_UCLAMP_MIN, p->uclamp_min, min);
		uclamp_rq_reinc_id(sys, rq, FG_UCLAMP_MAX, p->uclamp_max, max);
	}
	p->uclamp_min = min;
	p->uclamp_max = max;
}
