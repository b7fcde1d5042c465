/* SPDX-License-Identifier: GPL-2.0-only */
/* The slow path of fork and exec: down the domains into the idlest group each time (spec 5.1, 5.3, 5.4). */
#include "select.h"

/* Types of a group, rising busyness (spec 6.3). */
enum group_type {
	group_has_spare,
	group_fully_busy,
	group_misfit_task,
	group_smt_balance,
	group_asym_packing,
	group_imbalanced,
	group_overloaded,
};

/* Sums over a group's CPUs. */
struct sg_stats {
	u64 load;
	u64 util;
	u64 runnable;
	u64 capacity;
	u32 nr; /* tasks of all classes */
	u32 idle_cpus;
	u32 weight;
	u32 misfit; /* no CPU of the group is big enough */
};

/* What groups are compared by. */
struct sg_rank {
	u64 avg_load;
	u64 util;
	u32 nr;
	u32 idle_cpus;
	u32 type;
	u32 pad;
};

/* p is queued or current on rq: it leaves there, so it does not count. */
static u32 task_running_on(const struct select_ctx *s, const struct fg_cpu *rq)
{
	return rq->id == s->p->cpu && !is_detached(s->p) && s->p->on_rq;
}

static u64 cpu_util_without(const struct select_ctx *s, const struct fg_cpu *rq)
{
	u64 util = rq->cfs.util_avg, est = rq->est_enqueued;

	if (rq->id == s->p->cpu && !is_detached(s->p)) {
		util = pos_sub(util, s->util_avg);
		/* A sleeper's estimate left with it. */
		if (s->p->on_rq || rq->curr == s->p)
			est = pos_sub(est, util_est(s->sys, s->p));
	}
	return cpu_util_of(rq, util, est);
}

static u64 cpu_load_without(const struct select_ctx *s, const struct fg_cpu *rq)
{
	if (rq->id != s->p->cpu || is_detached(s->p))
		return cpu_load(rq);
	return pos_sub(cpu_load(rq), h_load(rq, s->load_avg));
}

static u64 cpu_runnable_without(const struct select_ctx *s, const struct fg_cpu *rq)
{
	if (rq->id != s->p->cpu || is_detached(s->p))
		return rq->cfs.runnable_avg;
	return pos_sub(rq->cfs.runnable_avg, s->runnable_avg);
}

/* Idle but for p. */
static u32 idle_rq_without(const struct select_ctx *s, const struct fg_cpu *rq)
{
	return (rq->curr_is_idle || rq->curr == s->p) && !rq->ttwu_pending;
}

static void add_cpu_stats(const struct select_ctx *s, const struct fg_cpu *rq, struct sg_stats *st)
{
	st->util += cpu_util_without(s, rq);
	if (feat(s->sys, FG_FIG_WITHOUT_P)) {
		u32 nr = (u32)pos_sub(rq->nr_running, task_running_on(s, rq));

		st->load += cpu_load_without(s, rq);
		st->runnable += cpu_runnable_without(s, rq);
		st->nr += nr;
		if (!nr && idle_rq_without(s, rq))
			st->idle_cpus++;
		return;
	}
	st->load += cpu_load(rq);
	st->runnable += rq->cfs.runnable_avg;
	st->nr += rq->nr_running;
	if (idle_rq(rq))
		st->idle_cpus++;
}

static u32 group_is_overloaded(const struct select_ctx *s, u32 pct, const struct sg_stats *st)
{
	if (st->nr <= st->weight)
		return 0;
	if (st->capacity * 100 < st->util * pct)
		return 1;
	return feat(s->sys, FG_RUNNABLE_CLASS) && st->capacity * pct < st->runnable * 100;
}

static u32 group_has_capacity(const struct select_ctx *s, u32 pct, const struct sg_stats *st)
{
	if (st->nr < st->weight)
		return 1;
	if (feat(s->sys, FG_RUNNABLE_CLASS) && st->capacity * pct < st->runnable * 100)
		return 0;
	return st->capacity * 100 > st->util * pct;
}

static u32 group_classify(const struct select_ctx *s, u32 pct, const struct fg_group *g, const struct sg_stats *st)
{
	if (group_is_overloaded(s, pct, st))
		return group_overloaded;
	if (g->imbalance)
		return group_imbalanced;
	if (st->misfit)
		return group_misfit_task;
	if (!group_has_capacity(s, pct, st))
		return group_fully_busy;
	return group_has_spare;
}

/* Some CPU of g is big enough for p; up to v6.1 the biggest speaks for the group. */
static noinline u32 group_fits(const struct select_ctx *s, const struct fg_group *g)
{
	u32 cpu;

	if (!feat(s->sys, FG_UFC))
		return fits_capacity(uclamp_util(s->sys, &s->want), g->max_capacity);
	for_each_cpu(cpu, &g->span, s->sys->nr_cpus) {
		if (task_fits_cpu(s->sys, &s->want, cpu_rq(s->sys, cpu)) == 1)
			return 1;
	}
	return 0;
}

static noinline void update_sg_wakeup_stats(const struct select_ctx *s, const struct fg_domain *sd,
					    const struct fg_group *g, struct sg_rank *rank)
{
	struct sg_stats st;
	u32 cpu, busy;

	st.load = 0;
	st.util = 0;
	st.runnable = 0;
	st.nr = 0;
	st.idle_cpus = 0;
	for_each_cpu(cpu, &g->span, s->sys->nr_cpus) {
		add_cpu_stats(s, cpu_rq(s->sys, cpu), &st);
		s->v->group_cpus++;
	}

	st.capacity = nonzero(g->capacity);
	/* 002/P11 and v5.5 never filled the weight in (spec 5.3). */
	st.weight = feat(s->sys, FG_FIG_WEIGHT_FIX) ? g->weight : 0;
	st.misfit = (sd->flags & FG_SD_ASYM_CPUCAPACITY) && !group_fits(s, g);

	rank->type = group_classify(s, sd->imbalance_pct, g, &st);
	rank->util = st.util;
	rank->nr = st.nr;
	rank->idle_cpus = st.idle_cpus;
	rank->avg_load = 0;
	/* ... and computed the load of exactly the groups that are not compared by it, until v5.7. */
	busy = rank->type == group_fully_busy || rank->type == group_overloaded;
	if (feat(s->sys, FG_FIG_AVGLOAD_FIX) ? busy : rank->type < group_fully_busy)
		rank->avg_load = st.load * FG_CAPACITY_SCALE / st.capacity;
}

/* g beats idlest, both remote. */
static u32 update_pick_idlest(const struct select_ctx *s, const struct fg_group *idlest, const struct sg_rank *best,
			      const struct fg_group *g, const struct sg_rank *st)
{
	if (st->type != best->type)
		return st->type < best->type;

	switch (st->type) {
	case group_overloaded:
	case group_fully_busy:
		return st->avg_load < best->avg_load;
	case group_misfit_task:
		return !idlest || g->max_capacity > idlest->max_capacity;
	case group_has_spare:
		if (st->idle_cpus != best->idle_cpus)
			return st->idle_cpus > best->idle_cpus;
		return feat(s->sys, FG_FIG_UTIL_TIE) && st->util < best->util;
	}
	/* imbalanced: the first stays */
	return 0;
}

/* Overloaded or fully busy on both sides: the task stays unless the remote load is clearly lower. */
static u32 local_load_wins(const struct fg_domain *sd, const struct sg_rank *local, const struct sg_rank *idlest)
{
	u64 imbalance = FG_NICE_0_LOAD * pos_sub(sd->imbalance_pct, 100) / 100;

	if ((sd->flags & FG_SD_NUMA) && idlest->avg_load + imbalance >= local->avg_load)
		return 1;
	if (idlest->avg_load >= local->avg_load + imbalance)
		return 1;
	return 100 * local->avg_load <= sd->imbalance_pct * idlest->avg_load;
}

/* CPUs of g that p may use. */
static u32 nr_allowed_in(const struct select_ctx *s, const struct fg_group *g)
{
	u32 cpu, n = 0;

	for_each_cpu_and(cpu, &g->span, &s->p->allowed, s->sys->nr_cpus)
		n++;
	return n;
}

/* Between nodes a fork or exec stays home while there is room by the version's idea of it. */
static u32 numa_keeps_local(const struct select_ctx *s, const struct fg_domain *sd, const struct fg_group *local_group,
			    const struct sg_rank *local, const struct sg_rank *idlest)
{
	u32 diff, imb_numa_nr;

	switch (feat(s->sys, FG_NUMA_IMB)) {
	case FG_NUMA_IMB_QUARTER:
		return local->nr < sd->weight / 4;
	case FG_NUMA_IMB_LLC:
		diff = (u32)(pos_sub(local->idle_cpus, idlest->idle_cpus) +
			     pos_sub(idlest->idle_cpus, local->idle_cpus));
		imb_numa_nr = sd->imb_numa_nr;
		if (s->p->nr_allowed < s->sys->nr_cpus)
			imb_numa_nr = (u32)min_u64(imb_numa_nr, nr_allowed_in(s, local_group));
		return !diff || (local->nr + 1 <= imb_numa_nr && diff <= 2);
	}
	return local->idle_cpus != 0;
}

static u32 idlest_wins(const struct select_ctx *s, const struct fg_domain *sd, const struct fg_group *const group[2],
		       const struct sg_rank *local, const struct sg_rank *idlest)
{
	if (local->type != idlest->type)
		return local->type > idlest->type;

	switch (local->type) {
	case group_overloaded:
	case group_fully_busy:
		return !local_load_wins(sd, local, idlest);
	case group_misfit_task:
		return group[0]->max_capacity < group[1]->max_capacity;
	case group_has_spare:
		if ((sd->flags & FG_SD_NUMA) && numa_keeps_local(s, sd, group[0], local, idlest))
			return 0;
		return local->idle_cpus < idlest->idle_cpus;
	}
	return 0;
}

static void copy_rank(struct sg_rank *to, const struct sg_rank *from)
{
	to->avg_load = from->avg_load;
	to->util = from->util;
	to->nr = from->nr;
	to->idle_cpus = from->idle_cpus;
	to->type = from->type;
}

/* The remote group of sd that p should go to, null to stay in the one with cpu. */
static const struct fg_group *find_idlest_group(const struct select_ctx *s, const struct fg_domain *sd, s32 cpu)
{
	const struct fg_group *group[2] = { 0, 0 }; /* local, idlest */
	const struct fg_group *g = sd->groups;
	struct sg_rank local, idlest, rank;

	/* Any group beats this. */
	idlest.type = group_overloaded;
	idlest.avg_load = ~0ull;
	idlest.util = 0;
	idlest.nr = 0;
	idlest.idle_cpus = 0;
	copy_rank(&local, &idlest);

	for (u32 i = 0; g && i < sd->nr_groups && i < FG_NR_CPUS; i++, g = g->next) {
		if (!mask_intersects(&g->span, &s->p->allowed, s->sys->nr_cpus))
			continue;
		if (mask_test(&g->span, cpu)) {
			group[0] = g;
			update_sg_wakeup_stats(s, sd, g, &local);
			continue;
		}
		update_sg_wakeup_stats(s, sd, g, &rank);
		if (update_pick_idlest(s, group[1], &idlest, g, &rank)) {
			group[1] = g;
			copy_rank(&idlest, &rank);
		}
	}
	if (!group[1])
		return 0;
	/* p may not use the local group. */
	if (!group[0])
		return group[1];
	return idlest_wins(s, sd, group, &local, &idlest) ? group[1] : 0;
}

/* The best idle CPU seen so far. */
struct idlest_cpu {
	s32 cpu;
	u64 latency; /* us */
	u64 stamp;
};

/* Shallowest idle state wins, then the CPU that went idle last: its cache is warmest. */
static void consider_idle_cpu(const struct fg_cpu *rq, struct idlest_cpu *best)
{
	u64 latency = rq->idle_exit_latency / 1000;
	u32 has_state = rq->idle_state >= 0;

	if (has_state && latency < best->latency) {
		best->latency = latency;
		best->stamp = rq->idle_stamp;
		best->cpu = rq->id;
	} else if ((!has_state || latency == best->latency) && rq->idle_stamp > best->stamp) {
		best->stamp = rq->idle_stamp;
		best->cpu = rq->id;
	}
}

static s32 find_idlest_group_cpu(const struct select_ctx *s, const struct fg_group *g, s32 this_cpu)
{
	struct idlest_cpu idle = { -1, 0xffffffff, 0 };
	s32 least_loaded = this_cpu, sched_idle = -1;
	u64 min_load = ~0ull;
	u32 cpu;

	/* No choice; affinity is the caller's. */
	if (g->weight == 1)
		return (s32)mask_next_and(&g->span, &g->span, 0, s->sys->nr_cpus);

	for_each_cpu_and(cpu, &g->span, &s->p->allowed, s->sys->nr_cpus) {
		const struct fg_cpu *rq = cpu_rq(s->sys, cpu);

		s->v->group_cpus++;
		if (sched_idle_rq(rq)) {
			if (feat(s->sys, FG_SI_FIRST))
				return (s32)cpu;
			if (sched_idle < 0)
				sched_idle = (s32)cpu;
		}
		if (idle_rq(rq)) {
			consider_idle_cpu(rq, &idle);
		} else if (idle.cpu < 0 && sched_idle < 0 && cpu_load(rq) < min_load) {
			min_load = cpu_load(rq);
			least_loaded = (s32)cpu;
		}
	}
	if (idle.cpu >= 0)
		return idle.cpu;
	return sched_idle >= 0 ? sched_idle : least_loaded;
}

/* The highest domain of cpu that answers flag and is smaller than weight. */
static const struct fg_domain *highest_domain_below(const struct select_ctx *s, s32 cpu, u32 weight, u32 flag)
{
	const struct fg_domain *tmp, *sd = 0;

	for_each_domain(tmp, rq_of(s, cpu)->sd) {
		if (tmp->weight >= weight)
			break;
		if (tmp->flags & flag)
			sd = tmp;
	}
	return sd;
}

/* From sd down to a CPU; cpu is where the walk starts, and where it ends if nothing is idler. */
static s32 find_idlest_cpu(struct select_ctx *s, const struct fg_domain *sd, s32 cpu, u32 flag)
{
	if (!mask_intersects(&sd->span, &s->p->allowed, s->sys->nr_cpus)) {
		s->v->rule = FG_RULE_SLOW_PREV;
		return s->prev;
	}
	/* A child has no averages yet. */
	if (!(flag & FG_SD_BALANCE_FORK))
		select_sync(s);
	else
		select_want(s);

	/* Each turn goes down a level or to a smaller domain. */
	for (u32 i = 0; sd && i < 2 * FG_MAX_DOMAINS; i++) {
		const struct fg_group *g = 0;
		s32 new_cpu = cpu;

		if (sd->flags & flag)
			g = find_idlest_group(s, sd, cpu);
		if (g)
			new_cpu = find_idlest_group_cpu(s, g, cpu);
		if (new_cpu == cpu) {
			sd = sd->child;
			continue;
		}
		cpu = new_cpu;
		sd = highest_domain_below(s, cpu, sd->weight, flag);
	}
	return cpu;
}
