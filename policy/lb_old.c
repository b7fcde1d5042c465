/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The busiest group of a domain and the load to be moved from it, up to v5.4 (spec 6.6), and what the first patches of
 * mail 002 make of it (spec 6.7):
 *
 *	P01	a group is known for asym packing when it is picked, not when it was found to be the busiest
 *	P02	gives a count its right name
 *	P03	an amount that is too small for one task stays so
 *	P04	ends all this, see lb_busiest.c and lb_amount.c
 *
 * Everything is load here, that of queued tasks alone; what the tasks of the busiest group have on average, pt below, is
 * the unit in which it moves.
 */
#include "lb.h"

static u32 classify_old(const struct fg_group *g, const struct fg_sg_stats *st)
{
	if (st->no_capacity)
		return group_overloaded;
	if (g->imbalance)
		return group_imbalanced;
	return st->misfit_load ? group_misfit_task : group_has_spare;
}

/* Two tasks more than here, where there is room: prefer-sibling spreads them, whatever they weigh. */
static u32 has_sibling_excess(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_sd_stats *s)
{
	const struct fg_domain *child = b->sd->child;

	return child && (child->flags & FG_SD_PREFER_SIBLING) && lb_has_capacity(sys, b->sd->imbalance_pct, s->local) &&
	       s->other->h_nr > s->local->h_nr + 1;
}

/* Its biggest CPU is clearly smaller than the biggest here, and here is room. */
static u32 can_take_misfit(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_sd_stats *s,
			   const struct fg_group *g)
{
	return fits_capacity(g->max_capacity, b->sd->groups->max_capacity) &&
	       lb_has_capacity(sys, b->sd->imbalance_pct, s->local);
}

/* On asymmetric domains g is skipped if its CPUs are bigger and not crowded, or if its misfit is the smaller one. */
static u32 passed_over_by_size(const struct fg_balance *b, const struct fg_sd_stats *s, const struct fg_group *g)
{
	const struct fg_sg_stats *st = s->other;

	if (!(b->sd->flags & FG_SD_ASYM_CPUCAPACITY))
		return 0;
	if (st->h_nr <= st->weight && fits_capacity(b->sd->groups->min_capacity, g->min_capacity))
		return 1;
	return st->type == group_misfit_task && st->misfit_load < s->busiest->misfit_load;
}

static u32 packs_asym(const struct fg_balance *b)
{
	return (b->sd->flags & FG_SD_ASYM_PACKING) && b->kind != FG_CPU_NOT_IDLE;
}

/* Work leaves the group with the least preferred CPUs first, and only for a CPU that is preferred to them. */
static u32 pick_for_packing(const struct fg_sys *sys, const struct fg_balance *b, struct fg_sd_stats *s,
			    const struct fg_group *g)
{
	struct fg_sg_stats *st = s->other;

	if (!st->h_nr || !asym_prefer(b->dst_cpu, g->asym_prefer_cpu))
		return 0;
	st->asym_packing = feat(sys, FG_LB_P01);
	return !b->busiest || asym_prefer(b->busiest->asym_prefer_cpu, g->asym_prefer_cpu);
}

/*
 * Whether the group g in s->other is busier than the busiest so far; never a misfit group that dst_cpu cannot help.
 * Other groups of different types compare by type alone.
 */
global_func u32 pick_busiest_old(const struct fg_sys *sys state_arg, const struct fg_balance *b state_arg,
				 struct fg_sd_stats *s state_arg, const struct fg_group *g state_arg)
{
	struct fg_sg_stats *st = s->other;

	st->asym_packing = 0;
	if (st->type == group_misfit_task && !can_take_misfit(sys, b, s, g))
		return 0;
	if (st->type != s->busiest->type)
		return st->type > s->busiest->type;
	if (st->avg_load <= s->busiest->avg_load || passed_over_by_size(b, s, g))
		return 0;
	return !packs_asym(b) || pick_for_packing(sys, b, s, g);
}

/* Statistics of g, and whether it is the busiest so far. */
static host_noinline void look_at_group_old(const struct fg_sys *sys, struct fg_balance *b, struct fg_sd_stats *s,
					    struct fg_group *g)
{
	u32 is_local = sd_stats_group(sys, b, s, g);
	struct fg_sg_stats *st = is_local ? s->local : s->other;

	st->avg_load = st->load * FG_CAPACITY_SCALE / st->capacity;
	st->no_capacity =
		lb_is_overloaded(sys, b->sd->imbalance_pct, st) || (!is_local && has_sibling_excess(sys, b, s));
	st->type = classify_old(g, st);
	if (!is_local && pick_busiest_old(sys, b, s, g))
		sd_stats_take(b, s, g);
}

/* Before P01: all of the load, of whatever type the group is, unless its CPUs are preferred to dst. */
static u32 packs_busiest(const struct fg_sys *sys, const struct fg_balance *b)
{
	return !feat(sys, FG_LB_P01) && packs_asym(b) && b->busiest &&
	       !asym_prefer(b->busiest->asym_prefer_cpu, b->dst_cpu);
}

/* How the look ends, from the statistics; an amount is still to be found. */
global_func u32 decide_old(const struct fg_sys *sys state_arg, const struct fg_balance *b state_arg,
			   const struct fg_sd_stats *s state_arg)
{
	const struct fg_sg_stats *local = s->local, *busiest = s->busiest;

	if (left_to_wakeups(sys, b))
		return FG_BALANCE_RULE_EAS;
	if (packs_busiest(sys, b))
		return FG_BALANCE_RULE_ASYM;
	if (!b->busiest || !busiest->h_nr)
		return FG_BALANCE_RULE_NO_GROUP;
	if (busiest->asym_packing)
		return FG_BALANCE_RULE_ASYM;
	if (busiest->type == group_imbalanced)
		return FG_BALANCE_RULE_IMBALANCED;
	if (b->kind != FG_CPU_NOT_IDLE && busiest->no_capacity && lb_has_capacity(sys, b->sd->imbalance_pct, local))
		return FG_BALANCE_RULE_NO_CAPACITY;
	if (busiest->type == group_misfit_task)
		return FG_BALANCE_RULE_MISFIT;
	if (local->avg_load >= busiest->avg_load || local->avg_load >= s->avg_load)
		return FG_BALANCE_RULE_LOCAL_LOAD;
	/* A CPU that has idled for a while goes by idle CPUs, all others by load. */
	if (b->kind == FG_CPU_IDLE) {
		if (busiest->type != group_overloaded && local->idle_cpus <= busiest->idle_cpus + 1)
			return FG_BALANCE_RULE_IDLE_CPUS;
	} else if (100 * busiest->avg_load <= b->sd->imbalance_pct * local->avg_load) {
		return FG_BALANCE_RULE_IMBALANCE_PCT;
	}
	return FG_BALANCE_RULE_LOAD;
}

static u64 load_per_task(u64 load, u32 nr)
{
	return nr ? load / nr : 0;
}

/* pt. Of a group that affinity left unbalanced no more than the average load: it may not be much busier than others. */
static u64 busiest_load_per_task(const struct fg_sd_stats *s)
{
	u64 pt = load_per_task(s->busiest->load, s->busiest->h_nr);

	return s->busiest->type == group_imbalanced ? min_u64(pt, s->avg_load) : pt;
}

/* An empty group goes by dst, which may have tasks without being a candidate. */
static u64 local_load_per_task(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_sg_stats *local)
{
	const struct fg_cpu *dst = cpu_rq(sys, (u32)b->dst_cpu);

	if (local->h_nr)
		return load_per_task(local->load, local->h_nr);
	return load_per_task(dst->queued.load_avg, dst->h_nr_running);
}

/*
 * Whether more gets done with one task moved: a group does no more than it has capacity for, nor than its tasks ask for.
 *
 *	now	C_B * min(ptB, B.avg)		+ C_L * min(ptL, L.avg)
 *	then	C_B * min(ptB, B.avg - ptB/C_B)	+ C_L * min(ptL, L.avg + ptB/C_L)
 */
static u32 moving_gains_throughput(const struct fg_sd_stats *s, u64 local_pt, u64 pt)
{
	const struct fg_sg_stats *local = s->local, *busiest = s->busiest;
	u64 off = pt * FG_CAPACITY_SCALE / busiest->capacity;
	u64 on = min_u64(busiest->avg_load * busiest->capacity, pt * FG_CAPACITY_SCALE) / local->capacity;
	u64 now, then = 0;

	now = busiest->capacity * min_u64(pt, busiest->avg_load) + local->capacity * min_u64(local_pt, local->avg_load);
	if (busiest->avg_load > off)
		then = busiest->capacity * min_u64(pt, busiest->avg_load - off);
	then += local->capacity * min_u64(local_pt, local->avg_load + on);
	return then / FG_CAPACITY_SCALE > now / FG_CAPACITY_SCALE;
}

/*
 * An amount below pt would move nothing. Raises it to pt, one task, if that is at most the difference of the loads, or
 * if more gets done with the task moved.
 */
static u64 fix_small_imbalance(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_sd_stats *s,
			       u64 amount)
{
	u64 pt = busiest_load_per_task(s), local_pt = local_load_per_task(sys, b, s->local);
	u64 scaled = pt * FG_CAPACITY_SCALE / s->busiest->capacity;
	u32 n = s->local->h_nr && pt > local_pt ? 1 : 2;

	if (s->busiest->avg_load + scaled >= s->local->avg_load + n * scaled)
		return pt;
	return moving_gains_throughput(s, local_pt, pt) ? pt : amount;
}

/* Between two overloaded groups: down to a nice 0 task a CPU, for none shall become idle. */
static u64 load_above_capacity(const struct fg_sd_stats *s)
{
	const struct fg_sg_stats *busiest = s->busiest;
	u64 load = (u64)busiest->h_nr * FG_NICE_0_LOAD;

	if (busiest->type != group_overloaded || s->local->type != group_overloaded || load <= busiest->capacity)
		return ~0ull;
	return (load - busiest->capacity) * FG_NICE_0_LOAD / busiest->capacity;
}

/*
 * Up to the average load from both sides. It is unsigned as in the kernel: where a misfit is on the wrong side of the
 * average, what is below zero is next to endless, and the other side alone says how much.
 */
static u64 load_to_average(const struct fg_sd_stats *s)
{
	const struct fg_sg_stats *local = s->local, *busiest = s->busiest;
	u64 pull = min_u64(busiest->avg_load - s->avg_load, load_above_capacity(s));

	if (busiest->type != group_misfit_task && (busiest->avg_load <= s->avg_load || local->avg_load >= s->avg_load))
		return 0;
	return min_u64(pull * busiest->capacity, (s->avg_load - local->avg_load) * local->capacity) / FG_CAPACITY_SCALE;
}

static noinline u64 calculate_imbalance_old(const struct fg_sys *sys, const struct fg_balance *b,
					    const struct fg_sd_stats *s)
{
	u64 amount;

	if (b->rule == FG_BALANCE_RULE_ASYM)
		return s->busiest->load;
	amount = load_to_average(s);
	if (s->busiest->type == group_misfit_task)
		amount = max_u64(amount, s->busiest->misfit_load);
	if (feat(sys, FG_LB_P03) || amount >= busiest_load_per_task(s))
		return amount;
	return fix_small_imbalance(sys, b, s, amount);
}

/* 1: b->src_type and b->imbalance say what moves; b->rule anyway. */
static u32 look_for_imbalance_old(const struct fg_sys *sys, struct fg_balance *b, const struct fg_sd_stats *s)
{
	b->rule = decide_old(sys, b, s);
	if (!balance_rule_moves(b->rule))
		return 0;
	/* The early test does not record a type: active balance then does not push a misfit. */
	if (b->rule != FG_BALANCE_RULE_ASYM || feat(sys, FG_LB_P01))
		b->src_type = s->busiest->type;
	b->imbalance = (s64)calculate_imbalance_old(sys, b, s);
	if (!b->imbalance)
		b->rule = FG_BALANCE_RULE_NO_AMOUNT;
	return b->imbalance != 0;
}

global_func host_noinline u32 find_busiest_old(const struct fg_sys *sys state_arg, struct fg_balance *b state_arg)
{
	struct fg_sd_stats *s = &b->stats;
	struct fg_group *g;

	b->migration = FG_MIGRATE_LOAD;
	b->src_type = group_has_spare;
	sd_stats_begin(sys, b, s);
	for_each_group(g, b->sd) look_at_group_old(sys, b, s, g);
	sd_stats_end(sys, b, s);
	return look_for_imbalance_old(sys, b, s);
}
