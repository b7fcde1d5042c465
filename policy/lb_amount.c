/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is to be moved, and how much of it, since 002/P04 (spec 6.4):
 *
 *	misfit	one task that does not fit, or the load of one on a squeezed CPU
 *	task	a number of tasks: for a task on a CPU where it should not be, or to make groups have equally many
 *	util	what the local group has room for
 *	load	up to the mean of the domain
 */
#include "lb.h"

/* Groups share their tasks evenly, whether CPUs idle or not. */
static u32 prefers_sibling(const struct fg_sys *sys, const struct fg_balance *b)
{
	u32 flags;

	if (feat(sys, FG_PSIB_BUSIEST))
		flags = b->busiest->flags;
	else
		flags = b->sd->child ? b->sd->child->flags : 0;
	return (flags & FG_SD_PREFER_SIBLING) != 0;
}

/* v6.6: tasks too many in the busiest group, with as many for each core in both. */
static u64 sibling_imbalance(const struct fg_balance *b, const struct fg_sd_stats *s)
{
	u64 nr = s->busiest->nr, local_nr = s->local->nr;
	u64 cores = b->busiest->cores, local_cores = b->sd->groups->cores, excess;

	if (b->kind == FG_CPU_NOT_IDLE || !nr)
		return 0;
	if (cores == local_cores)
		return pos_sub(nr, local_nr);
	excess = pos_sub(local_cores * nr, cores * local_nr);
	excess = (2 * excess + local_cores + cores) / nonzero(local_cores + cores);
	/* An empty group is worth using. */
	return excess <= 1 && !local_nr && nr > 1 ? 2 : excess;
}

static u64 sibling_excess(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_sd_stats *s)
{
	if (feat(sys, FG_SIB_RATIO))
		return sibling_imbalance(b, s);
	return pos_sub(s->busiest->nr, s->local->nr);
}

static void set_amount(struct fg_balance *b, u32 migration, u64 amount)
{
	b->migration = migration;
	b->imbalance = (s64)amount;
}

/* Half of an excess of tasks; between nodes a small one is left alone. */
static u64 half_of_excess(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_sd_stats *s, u64 excess)
{
	u64 half = excess >> 1;

	if (!(b->sd->flags & FG_SD_NUMA))
		return half;
	switch (feat(sys, FG_NUMA_IMB)) {
	case FG_NUMA_IMB_PAIR:
		return s->busiest->nr <= 2 ? 0 : half;
	case FG_NUMA_IMB_QUARTER:
		return s->busiest->nr < s->busiest->weight / 4 && half <= 2 ? 0 : half;
	case FG_NUMA_IMB_LLC:
		return s->local->nr + 1 <= b->sd->imb_numa_nr && excess <= 2 ? 0 : half;
	}
	return half;
}

/* Types that ask for balance by themselves. 1: done. */
global_func u32 amount_by_type(const struct fg_sys *sys state_arg, struct fg_balance *b state_arg,
			       const struct fg_sg_stats *busiest state_arg)
{
	switch (busiest->type) {
	case group_misfit_task:
		/* 002/P04 compares tasks with the misfit load, P08 their utilization with the CPU. */
		if (b->sd->flags & FG_SD_ASYM_CPUCAPACITY)
			set_amount(b, FG_MIGRATE_MISFIT, feat(sys, FG_LB_P08) ? 1 : busiest->misfit_load);
		else
			set_amount(b, FG_MIGRATE_LOAD, busiest->misfit_load);
		return 1;
	case group_asym_packing:
		set_amount(b, FG_MIGRATE_TASK, busiest->h_nr);
		return 1;
	case group_llc_balance:
		set_amount(b, FG_MIGRATE_LLC, 1);
		return 1;
	case group_smt_balance:
	case group_imbalanced:
		set_amount(b, FG_MIGRATE_TASK, 1);
		return 1;
	}
	return 0;
}

/* The local group has room. */
static void fill_spare_capacity(const struct fg_sys *sys, struct fg_balance *b, const struct fg_sd_stats *s)
{
	u32 one_cpu = s->busiest->weight == 1 && feat(sys, FG_LB_P07);
	u64 room = pos_sub(s->local->capacity, s->local->util), excess;

	if (s->busiest->type > group_fully_busy && !(feat(sys, FG_LLC_SPREAD) && (b->sd->flags & FG_SD_SHARE_LLC))) {
		set_amount(b, FG_MIGRATE_UTIL, room);
		/* All of it used, and yet the CPU idles: one of those who wait. */
		if (!room && b->kind != FG_CPU_NOT_IDLE)
			set_amount(b, FG_MIGRATE_TASK, 1);
		return;
	}
	if (one_cpu || prefers_sibling(sys, b))
		excess = sibling_excess(sys, b, s);
	else
		/* Unsigned in the kernel: with more idle CPUs in the busiest group the difference wraps around. */
		excess = s->local->idle_cpus - s->busiest->idle_cpus;
	set_amount(b, FG_MIGRATE_TASK, half_of_excess(sys, b, s, excess));
}

/*
 * Neither group shall cross the mean. The kernel's products are unsigned and wrap: a group on the wrong side of the mean
 * does not limit the amount (spec 6.4, wrap rule).
 */
static void level_loads(const struct fg_sys *sys, struct fg_balance *b, struct fg_sd_stats *s)
{
	struct fg_sg_stats *local = s->local, *busiest = s->busiest;

	if (local->type < group_overloaded) {
		/* It will be overloaded, so its load begins to matter. */
		local->avg_load = local->load * FG_CAPACITY_SCALE / local->capacity;
		if (feat(sys, FG_LB_AVG_GUARD) && local->avg_load >= busiest->avg_load)
			return;
		if (feat(sys, FG_LOAD_NOWRAP) && local->avg_load >= s->avg_load)
			return;
	}
	set_amount(b, FG_MIGRATE_LOAD,
		   min_u64((busiest->avg_load - s->avg_load) * busiest->capacity,
			   (s->avg_load - local->avg_load) * local->capacity) /
			   FG_CAPACITY_SCALE);
}

/* b->migration and b->imbalance; 0: nothing after all. */
static void calculate_imbalance(const struct fg_sys *sys, struct fg_balance *b, struct fg_sd_stats *s)
{
	b->imbalance = 0;
	if (amount_by_type(sys, b, s->busiest))
		return;
	if (s->local->type == group_has_spare)
		fill_spare_capacity(sys, b, s);
	else
		level_loads(sys, b, s);
}
