/* SPDX-License-Identifier: GPL-2.0-only */
/* The queue of the busiest group that gives (spec 6.4, 6.6), and with it the end of the look for a source. */
#include "lb.h"

/* Most tasks of a queue that one pass examines (sched_nr_migrate). */
#define SCHED_NR_MIGRATE 32

struct queue_search {
	const struct fg_cpu *rq; /* the best so far, null: none */
	u64 value; /* of it, for capacity */
	u64 capacity;
	u32 misfit; /* the misfit task decides */
};

/* Fair tasks; up to v5.4 those of all classes. */
static u32 queue_nr(const struct fg_sys *sys, const struct fg_cpu *rq)
{
	return feat(sys, FG_LB_P04) ? lb_h_nr(sys, rq) : rq->nr_running;
}

/* The only task of rq would lose by a move to dst. */
global_func u32 dst_is_no_gain(const struct fg_sys *sys state_arg, const struct fg_balance *b state_arg,
			       const struct fg_cpu *rq state_arg)
{
	u64 dst = dst_capacity(sys, b);

	if (asym_keeps_queue(sys, b, rq->id))
		return 1;
	if (!(b->sd->flags & FG_SD_ASYM_CPUCAPACITY))
		return 0;
	/* v7.3: busy siblings cost it capacity; and load is spread over clusters of equal capacity. */
	if (feat(sys, FG_SRC_BUSY_CORE)) {
		const struct fg_cpu *to = cpu_rq(sys, (u32)b->dst_cpu);

		if (sys->smt_key && !siblings_idle(sys, rq->id))
			return 0;
		if (sys->cluster_key && actual_cpu_capacity(to) == actual_cpu_capacity(rq))
			return 0;
	}
	if (feat(sys, FG_CAP_GREATER))
		return !capacity_greater(dst, rq->cpu_capacity);
	return dst < rq->cpu_capacity;
}

/* What rq has of what is to be moved; 0: it gives nothing. */
global_func u64 queue_value(const struct fg_sys *sys state_arg, const struct fg_balance *b state_arg,
			    const struct fg_cpu *rq state_arg)
{
	u32 nr = queue_nr(sys, rq);
	u64 load;

	switch (b->migration) {
	case FG_MIGRATE_UTIL:
		/* A lone task runs, so it cannot be taken. */
		return feat(sys, FG_UTIL_SKIP_SINGLE) && nr <= 1 ? 0 : fg_cpu_util_boost(sys, rq);
	case FG_MIGRATE_TASK:
		return nr;
	case FG_MIGRATE_MISFIT:
		return rq->misfit_task_load;
	case FG_MIGRATE_LLC:
		return prefer_llc_of(rq, cpu_rq(sys, (u32)b->dst_cpu));
	}
	load = lb_load(sys, rq);
	return nr == 1 && (s64)load > b->imbalance && !capacity_reduced(rq, b->sd) ? 0 : load;
}

static void look_at_queue(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_cpu *rq,
			  struct queue_search *qs)
{
	u64 value, capacity = 1;

	if (qs->misfit) {
		value = rq->misfit_task_load;
	} else {
		if (!lb_h_nr(sys, rq) && feat(sys, FG_QUEUE_FAIR))
			return;
		if (queue_nr(sys, rq) == 1 && dst_is_no_gain(sys, b, rq))
			return;
		value = queue_value(sys, b, rq);
		/* Load weighs more on a CPU with less capacity. */
		if (b->migration == FG_MIGRATE_LOAD)
			capacity = rq->cpu_capacity;
	}
	if (value * qs->capacity <= qs->value * capacity)
		return;
	qs->rq = rq;
	qs->value = value;
	qs->capacity = capacity;
}

/* find_busiest_queue; null: none. The first wins ties. */
static const struct fg_cpu *find_busiest_queue(const struct fg_sys *sys, const struct fg_balance *b)
{
	struct queue_search qs;
	u32 cpu;

	qs.rq = 0;
	qs.value = 0;
	qs.capacity = 1;
	/* Up to v5.4 load is what is moved, but the queue is that of the biggest misfit. */
	qs.misfit = !feat(sys, FG_LB_P04) && b->src_type == group_misfit_task;
	for_every_cpu_and(cpu, &b->busiest->span, &b->cpus, sys->nr_cpus) look_at_queue(sys, b, cpu_rq(sys, cpu), &qs);
	return qs.rq;
}

u32 fg_find_busiest(struct fg_sys *sys, struct fg_balance *b)
{
	const struct fg_cpu *src;

	b->busiest = 0;
	b->src_cpu = -1;
	b->imbalance = 0;
	if (!(feat(sys, FG_LB_P04) ? find_busiest_by_type(sys, b) : find_busiest_old(sys, b)))
		return 0;
	src = find_busiest_queue(sys, b);
	if (!src) {
		b->rule = FG_BALANCE_RULE_NO_QUEUE;
		return 0;
	}
	b->src_cpu = src->id;
	b->looks = 0;
	b->loop_max = (u32)min_u64(SCHED_NR_MIGRATE, src->nr_running);
	/* Until a task is seen that may move. */
	b->flags |= FG_LB_ALL_PINNED;
	return 1;
}
