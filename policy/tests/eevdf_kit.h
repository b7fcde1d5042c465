/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The EEVDF run queues of spec 9.2. Two CPUs, 1000 Hz: a slice is 1.5 ms, a tick 1 ms, so that lags are clamped at
 * 3 ms for weight 1024. K = 1024 ns makes sums of equal weights easy to follow.
 */
#ifndef FG_EEVDF_KIT_H
#define FG_EEVDF_KIT_H

#include "kit.h"

#define US 1000ull
#define MS 1000000ull
#define SLICE (1500 * US)
#define START (1000 * MS)

static struct fg_cpu *rq;

static void queue(u8 version)
{
	kit_init(2);
	sys.hz = 1000;
	sys.feat.value[FG_RQ] = version;
	sys.feat.value[FG_RUNNABLE_DELAYED] = version == FG_RQ_EEVDF612;
	rq = &cpus[0];
	rq->clock_task = START;
	rq->fair.min_vruntime = START;
}

static struct fg_task task(u32 id, u32 weight)
{
	struct fg_task p = kit_task(id, 0);

	p.weight = weight;
	return p;
}

/* p is queued at START + v with its deadline that far off. */
static void put(struct fg_task *p, s64 v, s64 deadline)
{
	fg_enqueue_entity(&sys, rq, p, 0);
	avg_vruntime_sub(&sys, &rq->fair, p);
	p->vruntime = START + (u64)v;
	p->deadline = p->vruntime + (u64)deadline;
	avg_vruntime_add(&sys, &rq->fair, p);
}

static void run(struct fg_task *p)
{
	rq->curr_is_idle = 0;
	fg_set_next_entity(&sys, rq, p, 1);
}

static u32 charge(u64 ns)
{
	rq->clock_task += ns;
	return fg_update_curr(&sys, rq, 0) != FG_PICK_RULE_NONE;
}

/* V - START */
static s64 average(void)
{
	return (s64)(fg_avg_vruntime(&rq->fair) - START);
}

static s64 at(const struct fg_task *p)
{
	return (s64)(p->vruntime - START);
}

#endif
