/* SPDX-License-Identifier: GPL-2.0-only */
/* sched-cache in a balance pass: which moves between caches it asks for, and which it forbids (spec-new 6.3, 6.4). */
#include "lb.h"

/* enum llc_mig: a move between two caches. */
enum llc_move {
	llc_move_forbidden, /* the task stays with its cache */
	llc_move_wanted, /* for the preferred cache's sake */
	llc_move_free, /* as load balancing likes */
};

/* fits_llc_capacity: a cache whose CPUs have this utilization has room. Without SMT it has more. */
static u32 fits_llc(const struct fg_sys *sys, u64 util, u64 capacity)
{
	u64 pct = sys->llc_balancing.overaggr_pct;

	if (sys->llc_balancing.smt_threads == 1)
		pct = pct * 3 / 2;
	return util * 100 < capacity * pct;
}

/* util_greater: clearly more. */
static u32 util_greater(const struct fg_sys *sys, u64 a, u64 c)
{
	return a * 100 > c * (100 + sys->llc_balancing.imb_pct);
}

/* can_migrate_llc: for what wants util of a CPU, to the cache that it prefers or from there. */
static u32 can_migrate_llc(const struct fg_sys *sys, const struct fg_cpu *src, const struct fg_cpu *dst, u64 util,
			   u32 to_preferred)
{
	u64 from, to;
	u32 fits;

	if (!src->llc || !dst->llc)
		return llc_move_free;
	from = pos_sub(src->llc->util_avg, util);
	to = dst->llc->util_avg + util;
	fits = fits_llc(sys, to, dst->llc->capacity);
	if (!fits && !fits_llc(sys, from, src->llc->capacity))
		return llc_move_free;
	if (to_preferred)
		return !fits && util_greater(sys, to, from) ? llc_move_forbidden : llc_move_wanted;
	/* As long as there is room, and unless it would be back soon. */
	if (fits_llc(sys, from, src->llc->capacity) || !util_greater(sys, from, to))
		return llc_move_forbidden;
	return llc_move_wanted;
}

static u32 shares_cache(const struct fg_cpu *a, const struct fg_cpu *c)
{
	return a->id == c->id || a->sd_llc_id == c->sd_llc_id;
}

static u32 task_fits(const struct fg_sys *sys, const struct fg_task *p, s32 cpu)
{
	struct clamped_util want;

	task_clamped_util(sys, p, p->avg.util_avg, &want);
	return task_fits_cpu(sys, &want, cpu_rq(sys, (u32)cpu)) == 1;
}

/* task_misfits_asym_cpu: p, which may be none, has enough capacity on src and not on dst. */
static u32 misfits_at_dst(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_task *p)
{
	if (!feat(sys, FG_CACHE_ASYM) || !(b->sd->flags & FG_SD_ASYM_CPUCAPACITY) || !p)
		return 0;
	return !task_fits(sys, p, b->dst_cpu) && task_fits(sys, p, b->src_cpu);
}

/* 7.3.4: an idle dst is preferred to src for its place. */
static u32 packing_comes_first(const struct fg_sys *sys, const struct fg_balance *b)
{
	if (!feat(sys, FG_CACHE_PACKING) || b->kind == FG_CPU_NOT_IDLE)
		return 0;
	return use_asym_prio(sys, b->sd, b->dst_cpu) && asym_prefer(b->dst_cpu, b->src_cpu);
}

/* can_migrate_llc_task: from src to dst. */
static noinline u32 can_migrate_llc_task(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_task *p)
{
	const struct fg_cpu *src = cpu_rq(sys, (u32)b->src_cpu), *dst = cpu_rq(sys, (u32)b->dst_cpu);
	const struct fg_cpu *preferred;
	struct fg_process *g = p->process;

	if (misfits_at_dst(sys, b, p))
		return llc_move_forbidden;
	if (!g || !valid_cpu(sys, g->cpu) || shares_cache(src, dst) || packing_comes_first(sys, b))
		return llc_move_free;
	if (invalid_llc_nr(sys, g, dst)) {
		g->cpu = -1;
		return llc_move_free;
	}
	preferred = cpu_rq(sys, (u32)g->cpu);
	if (shares_cache(dst, preferred))
		return can_migrate_llc(sys, src, dst, p->avg.util_avg, 1);
	if (shares_cache(src, preferred))
		return can_migrate_llc(sys, src, dst, p->avg.util_avg, 0);
	return llc_move_free;
}

/* migrate_llc_task_wrong_dst: the pass is for tasks that prefer dst's cache, and p is none. */
static u32 prefers_another_llc(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_task *p)
{
	if (!cache_aware(sys) || !(b->migration == FG_MIGRATE_LLC || (b->flags & FG_LB_ACTIVE_LLC)))
		return 0;
	return p->preferred_llc != (u32)cpu_rq(sys, (u32)b->dst_cpu)->sd_llc_id + 1;
}

/* After so many failures the cache counts no more. */
static u32 llc_failed_too_often(const struct fg_balance *b)
{
	return b->sd->nr_balance_failed >= b->sd->cache_nice_tries + 1;
}

/* migrate_degrades_llc */
static u32 migrate_degrades_llc(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_task *p)
{
	if (!cache_aware(sys) || llc_failed_too_often(b))
		return 0;
	return prefers_another_llc(sys, b, p) || can_migrate_llc_task(sys, b, p) == llc_move_forbidden;
}

/* alb_break_llc: all that is runnable on src is where it prefers to be, so its running task stays as well. */
static noinline u32 active_balance_breaks_llc(const struct fg_sys *sys, const struct fg_balance *b)
{
	const struct fg_cpu *src = cpu_rq(sys, (u32)b->src_cpu), *dst = cpu_rq(sys, (u32)b->dst_cpu);
	const struct fg_task *curr = src->curr;

	if (!cache_aware(sys) || shares_cache(src, dst))
		return 0;
	if (!src->nr_pref_llc_running || src->nr_pref_llc_running != lb_h_nr(sys, src))
		return 0;
	if (b->migration == FG_MIGRATE_MISFIT)
		return 0;
	if (src->nr_running <= 1 || misfits_at_dst(sys, b, curr))
		return 1;
	return can_migrate_llc(sys, src, dst, is_fair(curr) ? curr->avg.util_avg : 0, 0) == llc_move_forbidden;
}

/* The queued tasks of rq that prefer the cache of dst. */
static u32 prefer_llc_of(const struct fg_cpu *rq, const struct fg_cpu *dst)
{
	return rq->llc_counts ? rq->llc_counts[(u32)dst->sd_llc_id] : 0;
}

/* The same of a group, as far as it is behind other caches. */
static u32 group_prefers_llc_of_dst(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_group *g)
{
	const struct fg_cpu *dst = cpu_rq(sys, (u32)b->dst_cpu);
	u32 cpu, nr = 0;

	for_every_cpu_and(cpu, &g->span, &b->cpus, sys->nr_cpus)
	{
		const struct fg_cpu *rq = cpu_rq(sys, cpu);

		if (rq->sd_llc_id != dst->sd_llc_id)
			nr += prefer_llc_of(rq, dst);
	}
	return nr;
}

static s32 first_cpu_of(const struct fg_sys *sys, const struct fg_group *g)
{
	return (s32)mask_next_and(&g->span, &g->span, 0, sys->nr_cpus);
}

global_func host_noinline u32 tasks_prefer_llc_of_dst(const struct fg_sys *sys state_arg,
						      const struct fg_balance *b state_arg,
						      const struct fg_group *g state_arg,
						      struct fg_sg_stats *st state_arg)
{
	const struct fg_cpu *dst = cpu_rq(sys, (u32)b->dst_cpu);
	s32 first = first_cpu_of(sys, g);

	if (!valid_cpu(sys, first))
		return 0;
	if ((b->sd->flags & FG_SD_ASYM_CPUCAPACITY) && st->misfit_load)
		return 0;
	if ((feat(sys, FG_CACHE_PACKING) && st->asym_packing) || llc_failed_too_often(b))
		return 0;
	st->nr_pref_dst_llc = group_prefers_llc_of_dst(sys, b, g);
	return st->nr_pref_dst_llc && can_migrate_llc(sys, cpu_rq(sys, (u32)first), dst, 0, 1) == llc_move_wanted;
}

/*
 * llc_balance, of a group whose other statistics are complete: tasks of it are to be moved to dst's cache, which they
 * prefer.
 */
static inline u32 group_wants_llc_of_dst(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_group *g,
					 struct fg_sg_stats *st)
{
	st->nr_pref_dst_llc = 0;
	if (!cache_aware(sys) || (b->sd->flags & FG_SD_SHARE_LLC))
		return 0;
	return tasks_prefer_llc_of_dst(sys, b, g, st);
}

/* record_sg_llc_stats: where groups are caches, their statistics are what can_migrate_llc() compares later. */
static void record_llc_stats(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_group *g,
			     const struct fg_sg_stats *st)
{
	struct fg_llc *llc;
	s32 first;

	if (!cache_aware(sys) || b->kind == FG_CPU_NEWLY_IDLE)
		return;
	if (b->sd->child != cpu_rq(sys, (u32)b->dst_cpu)->sd_llc)
		return;
	first = first_cpu_of(sys, g);
	llc = valid_cpu(sys, first) ? cpu_rq(sys, (u32)first)->llc : 0;
	if (!llc)
		return;
	llc->util_avg = st->util;
	llc->capacity = g->capacity;
}
