/* SPDX-License-Identifier: GPL-2.0-only */
/* The idlest group as 002/P11 made it: by type first, then by what matters in that type (spec 5.3). */
#include "slow.h"

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

static u64 cpu_load_without(const struct select_ctx *s, const struct fg_cpu *rq)
{
	if (rq->id != s->p->cpu || is_detached(s->p))
		return cpu_load(rq);
	s->v->writes |= FG_W_H_LOAD_PREV;
	return pos_sub(cpu_load(rq), task_h_load(rq, s->p, s->load_avg, clock_jiffies(s->sys, s->w->now)));
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

/* 1: rq counts as idle. */
global_func u32 add_cpu_stats(const struct select_ctx *s frame_arg, const struct fg_cpu *rq state_arg,
			      struct sg_stats *st frame_arg)
{
	u32 nr;

	st->util += cpu_util_without(s, rq);
	if (!feat(s->sys, FG_FIG_WITHOUT_P)) {
		st->load += cpu_load(rq);
		st->runnable += rq->cfs.runnable_avg;
		st->nr += rq->nr_running;
		return idle_rq(rq);
	}
	nr = (u32)pos_sub(rq->nr_running, task_running_on(s, rq));
	st->load += cpu_load_without(s, rq);
	st->runnable += cpu_runnable_without(s, rq);
	st->nr += nr;
	return !nr && idle_rq_without(s, rq);
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

static noinline void note_rank_numbers(const struct select_ctx *s, const struct fg_group *g, const struct sg_rank *rank)
{
	u32 id = FG_NOTE_GROUP_OVERLOADED;
	u64 a = rank->avg_load, b = rank->util;

	switch (rank->type) {
	case group_has_spare:
		id = FG_NOTE_GROUP_HAS_SPARE;
		a = rank->idle_cpus;
		break;
	case group_fully_busy:
		id = FG_NOTE_GROUP_FULLY_BUSY;
		break;
	case group_misfit_task:
		id = FG_NOTE_GROUP_TOO_SMALL;
		a = uclamp_util(s->sys, &s->want);
		b = g->max_capacity;
		break;
	case group_imbalanced:
		id = FG_NOTE_GROUP_IMBALANCED;
		a = rank->nr;
		break;
	}
	put_note(s, id, first_group_cpu(s, g), a, b);
	note_third(s, g->capacity);
}

static void note_rank(const struct select_ctx *s, const struct fg_group *g, const struct sg_rank *rank)
{
	if (__builtin_expect(s->w->why != 0, 0))
		note_rank_numbers(s, g, rank);
}

/* Whether a CPU of a group counts for p. */
static u32 group_cpu_counts(const struct select_ctx *s, u32 cpu)
{
	return !feat(s->sys, FG_FIG_ALLOWED) || cpu_allowed(s, (s32)cpu);
}

/* Some CPU of g is big enough for p; up to v6.1 the biggest speaks for the group. */
global_func noinline u32 group_fits(const struct select_ctx *s frame_arg, const struct fg_group *g state_arg)
{
	u32 cpu;

	if (!feat(s->sys, FG_UFC))
		return fits_capacity(uclamp_util(s->sys, &s->want), g->max_capacity);
	for_each_cpu(cpu, &g->span, s->sys->nr_cpus) {
		if (group_cpu_counts(s, cpu) && task_fits_cpu(s->sys, &s->want, cpu_rq(s->sys, cpu)) == 1)
			return 1;
	}
	return 0;
}

#ifdef __bpf__
/* A live kernel has no caller that keeps sums. */
static u32 sums_are_of_group(const struct select_ctx *s, const struct fg_group *g)
{
	return 0;
}
#else
/* The sums that the caller keeps of g are what a look at each CPU would give: of a new p, which is in none of them. */
static u32 sums_are_of_group(const struct select_ctx *s, const struct fg_group *g)
{
	if (!g->sums || !(s->w->flags & FG_WF_SUMS) || !is_detached(s->p) || s->p->on_rq)
		return 0;
	if (!feat(s->sys, FG_LB_P05) || !feat(s->sys, FG_LB_P06))
		return 0;
	return !feat(s->sys, FG_FIG_ALLOWED) || mask_subset(&g->span, &s->p->allowed, s->sys->nr_cpus);
}
#endif

static void take_sums(const struct select_ctx *s, const struct fg_group *g, struct sg_stats *st)
{
	st->load = g->sums->load;
	st->util = g->sums->util;
	st->runnable = g->sums->runnable;
	st->nr = g->sums->nr;
	st->idle_cpus = g->sums->idle_cpus;
	s->v->group_cpus += g->weight;
}

static noinline void look_at_cpus(const struct select_ctx *s, const struct fg_group *g, struct sg_stats *st)
{
	u32 cpu;

	st->load = 0;
	st->util = 0;
	st->runnable = 0;
	st->nr = 0;
	st->idle_cpus = 0;
	for_every_cpu(cpu, &g->span, s->sys->nr_cpus)
	{
		if (!group_cpu_counts(s, cpu))
			continue;
		st->idle_cpus += add_cpu_stats(s, cpu_rq(s->sys, cpu), st);
		s->v->group_cpus++;
	}
}

/* Fills rank in; the type once more. */
global_func noinline u32 update_sg_wakeup_stats(const struct select_ctx *s frame_arg,
						const struct fg_domain *sd state_arg,
						const struct fg_group *g state_arg, struct sg_rank *rank frame_arg)
{
	struct sg_stats st;
	u32 busy;

	if (sums_are_of_group(s, g))
		take_sums(s, g, &st);
	else
		look_at_cpus(s, g, &st);

	/* Those of the whole group, whichever CPUs count. */
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
	note_rank(s, g, rank);
	return rank->type;
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
	u64 imbalance = load_allowance(sd);

	if ((sd->flags & FG_SD_NUMA) && idlest->avg_load + imbalance >= local->avg_load)
		return 1;
	if (idlest->avg_load >= local->avg_load + imbalance)
		return 1;
	return 100 * local->avg_load <= sd->imbalance_pct * idlest->avg_load;
}

/* CPUs of g that p may use. */
global_func u32 nr_allowed_in(const struct select_ctx *s frame_arg, const struct fg_group *g state_arg)
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

/* group: local and idlest. */
static u32 idlest_wins(const struct select_ctx *s, const struct fg_domain *sd, const struct fg_group *const group[2],
		       const struct sg_rank *local, const struct sg_rank *idlest)
{
	u32 wins;

	if (local->type != idlest->type) {
		wins = local->type > idlest->type;
		note_group(s, wins ? FG_NOTE_LEAVE_TYPE : FG_NOTE_STAY_TYPE, group[1], 0, 0);
		return wins;
	}

	switch (local->type) {
	case group_overloaded:
	case group_fully_busy:
		wins = !local_load_wins(sd, local, idlest);
		note_group(s, wins ? FG_NOTE_LEAVE_LOAD : FG_NOTE_STAY_LOAD, group[1], idlest->avg_load,
			   local->avg_load);
		return wins;
	case group_misfit_task:
		wins = group[0]->max_capacity < group[1]->max_capacity;
		note_group(s, wins ? FG_NOTE_LEAVE_CAPACITY : FG_NOTE_STAY_CAPACITY, group[1], group[1]->max_capacity,
			   group[0]->max_capacity);
		return wins;
	case group_has_spare:
		if ((sd->flags & FG_SD_NUMA) && numa_keeps_local(s, sd, group[0], local, idlest)) {
			note_group(s, FG_NOTE_STAY_NODE, group[1], local->idle_cpus, local->nr);
			note_third(s, idlest->idle_cpus);
			return 0;
		}
		wins = local->idle_cpus < idlest->idle_cpus;
		note_group(s, wins ? FG_NOTE_LEAVE_IDLE : FG_NOTE_STAY_IDLE, group[1], idlest->idle_cpus,
			   local->idle_cpus);
		return wins;
	}
	note_group(s, FG_NOTE_STAY_EVEN, group[1], 0, 0);
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

/* 1: *to is the remote group of sd that p should go to; 0: p stays in the one with cpu. */
global_func u32 idlest_group_by_type(const struct select_ctx *s frame_arg, const struct fg_domain *sd state_arg,
				     s32 cpu, const struct fg_group **to frame_arg)
{
	const struct fg_group *group[2] = { 0, 0 }; /* local, idlest */
	const struct fg_group *g;
	struct sg_rank local, idlest, rank;

	/* Any group beats this. */
	idlest.type = group_overloaded;
	idlest.avg_load = ~0ull;
	idlest.util = 0;
	idlest.nr = 0;
	idlest.idle_cpus = 0;
	copy_rank(&local, &idlest);

	for_each_group(g, sd)
	{
		if (!mask_intersects(&g->span, &s->p->allowed, s->sys->nr_cpus)) {
			note_group(s, FG_NOTE_GROUP_FORBIDDEN, g, 0, 0);
			continue;
		}
		if (mask_test(&g->span, cpu)) {
			group[0] = g;
			update_sg_wakeup_stats(s, sd, g, &local);
			continue;
		}
		update_sg_wakeup_stats(s, sd, g, &rank);
		if (update_pick_idlest(s, group[1], &idlest, g, &rank)) {
			group[1] = g;
			copy_rank(&idlest, &rank);
			note_group(s, FG_NOTE_GROUP_BEST, g, 0, 0);
		}
	}
	if (!group[1]) {
		note(s, FG_NOTE_STAY_ALONE, cpu, 0, 0);
		return 0;
	}
	*to = group[1];
	/* p may not use the local group. */
	if (!group[0]) {
		note_group(s, FG_NOTE_LEAVE_FORBIDDEN, group[1], 0, 0);
		return 1;
	}
	return idlest_wins(s, sd, group, &local, &idlest);
}
