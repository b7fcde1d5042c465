/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The idlest group up to v5.4: by load, with room on a single CPU coming first (spec 5.2). As 002's patches change it:
 *
 *	P09	both loads are the same one, that with blocked load
 *	P10	and only one of them is compared
 *	P11	ends all this, see slow_type.c
 */
#include "slow.h"

/* A group: loads for its capacity, summed over its CPUs, and the room on its roomiest CPU. */
struct sg_load {
	u64 queued;
	u64 all; /* with blocked load */
	u64 spare;
};

struct load_search {
	const struct fg_group *idlest;
	const struct fg_group *roomiest;
	struct sg_load local; /* infinitely loaded while p may not use it */
	struct sg_load least; /* of the others; spare: the most of any */
	u64 imbalance; /* by which loads may differ */
	u32 scale; /* the same in percent */
	s32 cpu; /* of the local group */
};

/* Fills st in; the load once more. */
global_func u64 update_sg_load(const struct select_ctx *s frame_arg, const struct fg_group *g state_arg,
			       struct sg_load *st frame_arg)
{
	u64 capacity = nonzero(g->capacity);
	u32 cpu;

	st->queued = 0;
	st->all = 0;
	st->spare = 0;
	for_each_cpu(cpu, &g->span, s->sys->nr_cpus) {
		const struct fg_cpu *rq = cpu_rq(s->sys, cpu);

		st->queued += wake_load(s, rq);
		st->all += cpu_load(rq);
		st->spare = max_u64(st->spare, pos_sub(rq->cpu_capacity, cpu_util_without(s, rq)));
		s->v->group_cpus++;
	}
	st->queued = st->queued * FG_CAPACITY_SCALE / capacity;
	st->all = st->all * FG_CAPACITY_SCALE / capacity;
	note_group(s, FG_NOTE_GROUP_LOAD, g, st->queued, st->all);
	note_third(s, st->spare);
	return st->all;
}

/*
 * Clearly less is queued than in the least loaded group so far; or about as much, but less is blocked. Under P10 the two
 * loads are one, and any difference will do.
 */
static void pick_least_loaded(const struct select_ctx *s, struct load_search *ls, const struct fg_group *g,
			      const struct sg_load *st)
{
	u64 margin = feat(s->sys, FG_LB_P10) ? 0 : ls->imbalance;
	u32 less = ls->least.queued > st->queued + margin;
	u32 similar = st->queued < ls->least.queued + ls->imbalance;

	if (!less && !(similar && 100 * ls->least.all > ls->scale * st->all))
		return;
	/* Among the similar the first says what is queued. */
	if (less)
		ls->least.queued = st->queued;
	ls->least.all = st->all;
	ls->idlest = g;
	note_group(s, FG_NOTE_GROUP_BEST, g, 0, 0);
}

static void pick_roomiest(struct load_search *ls, const struct fg_group *g, const struct sg_load *st)
{
	if (st->spare > ls->least.spare) {
		ls->least.spare = st->spare;
		ls->roomiest = g;
	}
}

static void search_groups(const struct select_ctx *s, const struct fg_domain *sd, struct load_search *ls)
{
	const struct fg_group *g;
	struct sg_load st;

	for_each_group(g, sd)
	{
		if (!mask_intersects(&g->span, &s->p->allowed, s->sys->nr_cpus)) {
			note_group(s, FG_NOTE_GROUP_FORBIDDEN, g, 0, 0);
			continue;
		}
		if (mask_test(&g->span, ls->cpu)) {
			update_sg_load(s, g, &ls->local);
			continue;
		}
		update_sg_load(s, g, &st);
		pick_least_loaded(s, ls, g, &st);
		pick_roomiest(ls, g, &st);
	}
}

/* The local load and the allowance. Where the load is infinite the kernel adds all the same, and is left with little. */
static u64 local_limit(const struct select_ctx *s, const struct load_search *ls)
{
	if (ls->local.queued == ~0ull && !feat(s->sys, FG_FIG_WRAP))
		return ~0ull;
	return ls->local.queued + ls->imbalance;
}

static u32 local_queue_wins(const struct select_ctx *s, const struct fg_domain *sd, const struct load_search *ls)
{
	u64 limit = local_limit(s, ls);

	/* Between nodes p leaves for a clear gain only. */
	if ((sd->flags & FG_SD_NUMA) && ls->least.queued + ls->imbalance >= ls->local.queued)
		return 1;
	if (feat(s->sys, FG_LB_P10) ? ls->least.queued >= limit : ls->least.queued > limit)
		return 1;
	return ls->local.queued < ls->least.queued + ls->imbalance && 100 * ls->local.all < ls->scale * ls->least.all;
}

/* The remote group that p should go to, null to stay. The utilization of a child (fork) is not known. */
static const struct fg_group *decide_by_load(const struct select_ctx *s, const struct fg_domain *sd,
					     const struct load_search *ls, u32 flag)
{
	u64 need = s->util_avg / 2;
	u32 stays;

	if (!(flag & FG_SD_BALANCE_FORK)) {
		u64 here = ls->local.spare, most = ls->least.spare;

		if (here > need && ls->scale * here > 100 * most) {
			note(s, FG_NOTE_STAY_SPARE, ls->cpu, here, most);
			note_third(s, s->util_avg);
			return 0;
		}
		if (most > need) {
			note_group(s, FG_NOTE_LEAVE_SPARE, ls->roomiest, most, here);
			note_third(s, s->util_avg);
			return ls->roomiest;
		}
	}
	if (!ls->idlest) {
		note(s, FG_NOTE_STAY_ALONE, ls->cpu, 0, 0);
		return 0;
	}
	stays = local_queue_wins(s, sd, ls);
	note_group(s, stays ? FG_NOTE_STAY_QUEUED : FG_NOTE_LEAVE_QUEUED, ls->idlest, ls->least.queued, ls->least.all);
	return stays ? 0 : ls->idlest;
}

/* 1: *to is the remote group of sd that p should go to; 0: p stays in the one with cpu. */
global_func noinline u32 idlest_group_by_load(const struct select_ctx *s frame_arg,
					      const struct fg_domain *sd state_arg, s32 cpu, u32 flag,
					      const struct fg_group **to frame_arg)
{
	struct load_search ls;

	ls.idlest = 0;
	ls.roomiest = 0;
	ls.local.queued = ~0ull;
	ls.local.all = ~0ull;
	ls.local.spare = 0;
	ls.least.queued = ~0ull;
	ls.least.all = ~0ull;
	ls.least.spare = 0;
	ls.imbalance = load_allowance(sd);
	ls.cpu = cpu;
	ls.scale = 100 + (u32)pos_sub(sd->imbalance_pct, 100) / 2;

	search_groups(s, sd, &ls);
	*to = decide_by_load(s, sd, &ls, flag);
	return *to != 0;
}
