/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Virtual time, which both run queues of fair tasks count in (spec 9): the time a task ran divided by its weight.
 * vruntimes and deadlines are compared by signed difference, they may wrap.
 */
#include "sched.h"

#define WEIGHT_IDLEPRIO 3

/* Each nice level is worth 10 % of CPU time: a factor of about 1.25. */
static const u32 sched_prio_to_weight[40] = {
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
	3906,  3121,  2501,  1991,  1586,  1277,  1024,	 820,	655,   526,   423,  335,  272,	215,
	172,   137,   110,   87,    70,	   56,	  45,	 36,	29,    23,    18,   15,
};

void fg_set_load_weight(struct fg_task *p)
{
	if (p->nice < -20)
		p->nice = -20;
	if (p->nice > 19)
		p->nice = 19;
	if (p->uclamp_min > FG_CAPACITY_SCALE)
		p->uclamp_min = FG_CAPACITY_SCALE;
	if (p->uclamp_max > FG_CAPACITY_SCALE)
		p->uclamp_max = FG_CAPACITY_SCALE;
	p->weight = p->policy == FG_SCHED_IDLE ? WEIGHT_IDLEPRIO : sched_prio_to_weight[(u32)(p->nice + 20)];
}

/* F of spec 9.1, 9.2: more CPUs, longer latency, but only up to eight of them. */
static u64 tunable_factor(const struct fg_sys *sys)
{
	u32 nr = sys->nr_cpus - sys->scaled_offline;

	if (nr >= 8)
		return 4;
	if (nr >= 4)
		return 3;
	return nr >= 2 ? 2 : 1;
}

/* The queued entities that a pick chooses from, besides the current one: see fg_pick_entity(). */
struct pick_from {
	struct fg_task *first;
	struct fg_task *second;
};

/* weight-bits: what entity_weight() counts a weight of 1 as. */
static u64 weight_unit(const struct fg_sys *sys)
{
	return feat(sys, FG_WEIGHT_BITS) == FG_WEIGHT_BITS_20 ? 1024 : 1;
}

/* The weight of a task or a group among those that it competes with. */
static u64 entity_weight(const struct fg_sys *sys, const struct fg_task *p)
{
	if (is_flat(sys))
		return p->h_load;
	if (feat(sys, FG_WEIGHT_BITS) == FG_WEIGHT_BITS_20 && p->shares)
		return p->shares;
	return p->weight * weight_unit(sys);
}

/* ns of real time in p's vruntime. With weight-bits=10 the whole part of a group's weight counts, as the kernel divides by that. */
static u64 calc_delta_fair(const struct fg_sys *sys, u64 delta, const struct fg_task *p)
{
	u64 weight = entity_weight(sys, p), nice_0 = FG_NICE_0_LOAD * weight_unit(sys);

	if (weight == nice_0)
		return delta;
	return delta * nice_0 / nonzero(weight);
}

/* p was picked from q, or leaves it: clear it as a buddy. */
static void forget_buddy(struct fg_queue *q, const struct fg_task *p)
{
	if (q->last == p)
		q->last = 0;
	if (q->next == p)
		q->next = 0;
	if (q->skip == p)
		q->skip = 0;
}

static u32 vruntime_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

static u64 vruntime_max(u64 a, u64 b)
{
	return vruntime_before(a, b) ? b : a;
}

static u64 vruntime_min(u64 a, u64 b)
{
	return vruntime_before(a, b) ? a : b;
}
