/* SPDX-License-Identifier: GPL-2.0-only */
/* The busiest group as 002/P04 made it: by type first, then by what matters in that type (spec 6.3, 6.4). */
#include "lb.h"

global_func u32 lb_classify(const struct fg_sys *sys state_arg, const struct fg_balance *b state_arg,
			    const struct fg_group *g state_arg, const struct fg_sg_stats *st state_arg)
{
	if (lb_is_overloaded(sys, b->sd->imbalance_pct, st))
		return group_overloaded;
	if (st->llc)
		return group_llc_balance;
	if (g->imbalance)
		return group_imbalanced;
	if (st->asym_packing)
		return group_asym_packing;
	if (st->smt)
		return group_smt_balance;
	if (st->misfit_load)
		return group_misfit_task;
	if (!lb_has_capacity(sys, b->sd->imbalance_pct, st))
		return group_fully_busy;
	return group_has_spare;
}

/* gt(a, b) of spec 0: about 5 % more. */
static u32 capacity_greater(u64 a, u64 c)
{
	return a * 1024 > c * 1078;
}

static u64 dst_capacity(const struct fg_sys *sys, const struct fg_balance *b)
{
	return cpu_rq(sys, (u32)b->dst_cpu)->cpu_capacity;
}

/* What g's misfit task needs dst can give it. */
static u32 can_help_misfit(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_sd_stats *s,
			   const struct fg_group *g)
{
	if (!s->dst_core_idle || s->local->type != group_has_spare)
		return 0;
	if (feat(sys, FG_CAP_GREATER))
		return capacity_greater(dst_capacity(sys, b), g->max_capacity);
	return fits_capacity(g->max_capacity, b->sd->groups->max_capacity);
}

/* Nothing waits in g, whose sums are in s->other, and its CPUs are bigger than what dst's group offers. */
static u32 better_off_there(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_sd_stats *s,
			    const struct fg_group *g)
{
	if (!(b->sd->flags & FG_SD_ASYM_CPUCAPACITY) || s->other->type > group_fully_busy)
		return 0;
	if (feat(sys, FG_CAP_GREATER))
		return capacity_greater(g->min_capacity, dst_capacity(sys, b));
	return fits_capacity(b->sd->groups->min_capacity, g->min_capacity);
}

static u32 is_smt_group(const struct fg_group *g)
{
	return (g->flags & FG_SD_SHARE_CPUCAPACITY) != 0;
}

static u32 smt_vs_nonsmt(const struct fg_group *a, const struct fg_group *c)
{
	return a && c && is_smt_group(a) != is_smt_group(c);
}

static u32 fewer_idle(const struct fg_sys *sys, const struct fg_sg_stats *st, const struct fg_sg_stats *than)
{
	if (st->idle_cpus != than->idle_cpus)
		return st->idle_cpus < than->idle_cpus;
	return feat(sys, FG_SPARE_TIE) && st->nr > than->nr;
}

/* v6.6: equally loaded groups, both with load 0 in fact; siblings need help more than others. */
static u32 fuller(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_sg_stats *st,
		  const struct fg_sg_stats *than)
{
	if (st->avg_load != than->avg_load || !feat(sys, FG_SMT_BALANCE))
		return st->avg_load > than->avg_load;
	return !b->busiest || !is_smt_group(b->busiest);
}

/* v6.6: a core with one task of its siblings is left alone, one with more comes before CPUs without siblings. */
static u32 spare_is_busier(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_sd_stats *s,
			   const struct fg_group *g)
{
	if (feat(sys, FG_SMT_BALANCE) && smt_vs_nonsmt(b->busiest, g))
		return !is_smt_group(g) || s->other->h_nr > 1;
	return fewer_idle(sys, s->other, s->busiest);
}

/* g, in s->other, and the busiest are of one type. */
static u32 busier_of_type(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_sd_stats *s,
			  const struct fg_group *g)
{
	const struct fg_sg_stats *st = s->other, *busiest = s->busiest;

	switch (st->type) {
	case group_overloaded:
		return st->avg_load > busiest->avg_load;
	case group_llc_balance:
		return st->nr_pref_dst_llc > busiest->nr_pref_dst_llc;
	case group_asym_packing:
		return b->busiest && asym_prefer(b->busiest->asym_prefer_cpu, g->asym_prefer_cpu);
	case group_misfit_task:
		if (feat(sys, FG_MISFIT_LARGER))
			return st->misfit_load > busiest->misfit_load;
		return st->misfit_load >= busiest->misfit_load;
	case group_smt_balance:
		if (st->idle_cpus || busiest->idle_cpus)
			return fewer_idle(sys, st, busiest);
		return fuller(sys, b, st, busiest);
	case group_fully_busy:
		return fuller(sys, b, st, busiest);
	case group_has_spare:
		return spare_is_busier(sys, b, s, g);
	}
	/* imbalanced: the first stays */
	return 0;
}

/* g, in s->other, which has a fair task, is busier than the busiest so far. */
global_func u32 pick_busiest(const struct fg_sys *sys state_arg, const struct fg_balance *b state_arg,
			     const struct fg_sd_stats *s state_arg, const struct fg_group *g state_arg)
{
	u32 type = s->other->type;

	if ((b->sd->flags & FG_SD_ASYM_CPUCAPACITY) && type == group_misfit_task && !can_help_misfit(sys, b, s, g))
		return 0;
	if (feat(sys, FG_ASYM_EARLY) && better_off_there(sys, b, s, g))
		return 0;
	if (type != s->busiest->type)
		return type > s->busiest->type;
	return busier_of_type(sys, b, s, g) && !better_off_there(sys, b, s, g);
}

/* The group in s->other, whatever its type: it has nothing to give, or it has room where another has not. */
static u32 is_out_of_question(const struct fg_sd_stats *s)
{
	const struct fg_sg_stats *st = s->other;

	return !st->h_nr || (s->busiest->type == group_overloaded && st->nr <= st->weight);
}

/* What idle CPUs can do for the group g in s->other, which is not theirs. */
static void look_at_siblings(const struct fg_sys *sys, const struct fg_balance *b, struct fg_sd_stats *s,
			     const struct fg_group *g)
{
	s->other->asym_packing = group_asym(sys, b, s, g);
	s->other->smt =
		feat(sys, FG_SMT_BALANCE) && b->kind != FG_CPU_NOT_IDLE && s->other->h_nr > 1 && is_smt_group(g);
}

static void set_type(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_group *g,
		     struct fg_sg_stats *st)
{
	st->type = lb_classify(sys, b, g, st);
	if (st->type == group_overloaded)
		st->avg_load = st->load * FG_CAPACITY_SCALE / st->capacity;
}

/*
 * g into the statistics. Whether tasks are to be moved to dst's cache is decided by what the pass before recorded of the
 * group.
 */
static void look_at_group(const struct fg_sys *sys, struct fg_balance *b, struct fg_sd_stats *s, struct fg_group *g)
{
	if (sd_stats_group(sys, b, s, g)) {
		set_type(sys, b, g, s->local);
		record_llc_stats(sys, b, g, s->local);
		return;
	}
	if (is_out_of_question(s)) {
		record_llc_stats(sys, b, g, s->other);
		return;
	}
	look_at_siblings(sys, b, s, g);
	s->other->llc = group_wants_llc_of_dst(sys, b, g, s->other) != 0;
	set_type(sys, b, g, s->other);
	record_llc_stats(sys, b, g, s->other);
	if (pick_busiest(sys, b, s, g))
		sd_stats_take(b, s, g);
}

/* The busiest group in b->busiest, and statistics of it, of the local group and of all. */
static void update_sd_lb_stats(const struct fg_sys *sys, struct fg_balance *b, struct fg_sd_stats *s)
{
	struct fg_group *g;

	sd_stats_begin(sys, b, s);
	if (ring_suffices(sys, b)) {
		look_at_ring(sys, b, s);
	} else {
		for_each_group(g, b->sd) look_at_group(sys, b, s, g);
	}
	sd_stats_end(sys, b, s);
}

/* Wakeups are energy-aware, and there is capacity for what they do. */
static u32 left_to_wakeups(const struct fg_sys *sys, const struct fg_balance *b)
{
	const struct fg_root *rd = cpu_rq(sys, (u32)b->dst_cpu)->rd;

	return sys->eas && rd && !rd->overutilized;
}

/* Types that ask for balance whatever the local group is like; NONE: it has to be compared. */
static u32 busiest_by_type(u32 type)
{
	switch (type) {
	case group_misfit_task:
		return FG_BALANCE_RULE_MISFIT;
	case group_asym_packing:
		return FG_BALANCE_RULE_ASYM;
	case group_imbalanced:
		return FG_BALANCE_RULE_IMBALANCED;
	}
	return FG_BALANCE_RULE_NONE;
}

/* Both groups are overloaded. */
static u32 compare_loads(const struct fg_balance *b, const struct fg_sd_stats *s)
{
	u64 local = s->local->avg_load, busiest = s->busiest->avg_load;

	if (local >= busiest || local >= s->avg_load)
		return FG_BALANCE_RULE_LOCAL_LOAD;
	if (100 * busiest <= b->sd->imbalance_pct * local)
		return FG_BALANCE_RULE_IMBALANCE_PCT;
	return FG_BALANCE_RULE_LOAD;
}

/* Nothing is overloaded. */
static u32 compare_idle_cpus(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_sd_stats *s)
{
	/* 002/P07 compares groups of one CPU by their tasks. */
	u32 by_idle = s->busiest->weight > 1 || !feat(sys, FG_LB_P07);

	if (b->kind == FG_CPU_NOT_IDLE)
		return FG_BALANCE_RULE_DST_BUSY;
	if (s->busiest->type == group_smt_balance && smt_vs_nonsmt(b->sd->groups, b->busiest))
		return FG_BALANCE_RULE_SMT;
	if (by_idle && s->local->idle_cpus <= s->busiest->idle_cpus + 1)
		return FG_BALANCE_RULE_IDLE_CPUS;
	if (feat(sys, FG_LB_P07) && s->busiest->h_nr == 1)
		return FG_BALANCE_RULE_SINGLE;
	if (s->busiest->type == group_llc_balance)
		return FG_BALANCE_RULE_LLC;
	return s->busiest->type == group_smt_balance ? FG_BALANCE_RULE_SMT : FG_BALANCE_RULE_EVEN;
}

/* How the look ends, from the statistics; an amount is still to be found. */
global_func u32 decide_balance(const struct fg_sys *sys state_arg, const struct fg_balance *b state_arg,
			       const struct fg_sd_stats *s state_arg)
{
	u32 rule;

	if (!b->busiest)
		return FG_BALANCE_RULE_NO_GROUP;
	/* v6.3: a misfit task does not make the whole partition overutilized. */
	if (s->busiest->type == group_misfit_task && misfit_unlink(sys, FG_MU_GATE))
		return FG_BALANCE_RULE_MISFIT;
	if (left_to_wakeups(sys, b))
		return FG_BALANCE_RULE_EAS;
	rule = busiest_by_type(s->busiest->type);
	if (rule)
		return rule;
	if (s->local->type > s->busiest->type)
		return FG_BALANCE_RULE_LOCAL_BUSIER;
	if (s->local->type == group_overloaded)
		return compare_loads(b, s);
	if (prefers_sibling(sys, b) && s->local->type == group_has_spare) {
		if (s->busiest->type == group_llc_balance)
			return FG_BALANCE_RULE_LLC;
		if (sibling_excess(sys, b, s) > 1)
			return FG_BALANCE_RULE_SIBLING;
	}
	if (s->busiest->type != group_overloaded)
		return compare_idle_cpus(sys, b, s);
	return s->local->type == group_has_spare ? FG_BALANCE_RULE_SPARE : FG_BALANCE_RULE_LOAD;
}

/* find_busiest_group since 002/P04. 1: b->busiest, b->imbalance of b->migration; b->rule anyway. */
global_func host_noinline u32 find_busiest_by_type(const struct fg_sys *sys state_arg, struct fg_balance *b state_arg)
{
	struct fg_sd_stats *s = &b->stats;

	update_sd_lb_stats(sys, b, s);
	b->src_type = s->busiest->type;
	b->rule = decide_balance(sys, b, s);
	if (!balance_rule_moves(b->rule))
		return 0;
	calculate_imbalance(sys, b, s);
	if (!b->imbalance)
		b->rule = FG_BALANCE_RULE_NO_AMOUNT;
	return b->imbalance != 0;
}
