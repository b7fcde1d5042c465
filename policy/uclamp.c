/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Utilization clamps: what is in force for a task, and for a run queue as the largest among its runnable tasks
 * (spec 2.8). Tasks are counted in buckets, five equal parts of the scale, so that a task that leaves needs no walk
 * over those that stay:
 *
 *	clamp	0 ... 204 | 205 ... 409 | 410 ... 614 | 615 ... 819 | 820 ... 1024
 *	bucket	    0     |      1      |      2      |      3      |      4
 *
 * A bucket remembers the largest clamp of those that came since it was empty; the run queue's is that of the highest
 * bucket with a task.
 */
#include "sched.h"

/* 1024 / 5, rounded to the nearest. */
#define UCLAMP_BUCKET_DELTA 205

/*
 * The clamp in force for p. DEVIATION: no task groups, no limits of the system (sched_util_clamp_min and _max), and no
 * boost of RT tasks by default (sched_util_clamp_min_rt_default): what the task requests is what it gets.
 */
static u32 uclamp_eff(const struct fg_task *p, u32 id)
{
	return id == FG_UCLAMP_MIN ? p->uclamp_min : p->uclamp_max;
}

static u32 uclamp_bucket_id(u32 value)
{
	return (u32)min_u64(value / UCLAMP_BUCKET_DELTA, FG_UCLAMP_BUCKETS - 1);
}

static void uclamp_inc_id(struct fg_cpu *rq, u32 id, u32 value)
{
	struct fg_uclamp *uc = &rq->uclamp[id];
	struct fg_uclamp_bucket *bucket = &uc->bucket[uclamp_bucket_id(value)];

	bucket->tasks++;
	if (bucket->tasks == 1 || value > bucket->value)
		bucket->value = value;
	/* A maximum that is only remembered does not bind the task that ends the idle time. */
	if (rq->uclamp_idle || value > uc->value)
		uc->value = value;
}

/*
 * Nobody is left. The minimum falls; the maximum stays that of the last task, lest its utilization, which decays from
 * now on, ask for more than it was allowed while it ran.
 */
static u32 uclamp_idle_value(struct fg_cpu *rq, u32 id, u32 value)
{
	if (id == FG_UCLAMP_MIN)
		return 0;
	rq->uclamp_idle = 1;
	return value;
}

static void uclamp_dec_id(struct fg_cpu *rq, u32 id, u32 value)
{
	struct fg_uclamp *uc = &rq->uclamp[id];

	/* With company in the bucket its value stays, even if it was this task's. */
	uc->bucket[uclamp_bucket_id(value)].tasks--;
	for (u32 i = FG_UCLAMP_BUCKETS; i-- > 0;) {
		if (uc->bucket[i].tasks) {
			uc->value = uc->bucket[i].value;
			return;
		}
	}
	uc->value = uclamp_idle_value(rq, id, value);
}

void fg_uclamp_rq_inc(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	/* Nothing is counted before the first request on the system. */
	if (!sys->uclamp_used || p->uclamp_active)
		return;
	for (u32 id = 0; id < FG_NR_UCLAMPS; id++)
		uclamp_inc_id(rq, id, uclamp_eff(p, id));
	rq->uclamp_idle = 0;
	p->uclamp_active = 1;
}

/* p has the clamps with which it came: they change while it is off the queue. */
void fg_uclamp_rq_dec(struct fg_cpu *rq, struct fg_task *p)
{
	if (!p->uclamp_active)
		return;
	for (u32 id = 0; id < FG_NR_UCLAMPS; id++)
		uclamp_dec_id(rq, id, uclamp_eff(p, id));
	p->uclamp_active = 0;
}
