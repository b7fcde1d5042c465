/* SPDX-License-Identifier: GPL-2.0-only */
/* When CPUs balance and what the pass refreshes on its way: spec 1.8, 6.1, 6.2, 6.9, 6.10. Nothing moves here. */
#include "sched.h"

static u64 msecs_to_jiffies(const struct fg_sys *sys, u64 ms)
{
	return (ms * sys->hz + 999) / 1000;
}

/* A tenth of a second for each CPU. */
static u64 max_balance_interval(const struct fg_sys *sys)
{
	return max_u64((u64)sys->hz * sys->nr_cpus / 10, 1);
}

u64 fg_balance_interval(const struct fg_sys *sys, const struct fg_domain *sd, u32 busy)
{
	u64 interval = sd->balance_interval;

	if (busy)
		interval *= sd->busy_factor;
	interval = msecs_to_jiffies(sys, interval);
	/* Else the busy intervals of all levels come due at the same tick again and again. */
	if (busy && feat(sys, FG_BUSY_MINUS1))
		interval = pos_sub(interval, 1);
	return clamp_u64(interval, 1, max_balance_interval(sys));
}

u64 fg_group_capacity_interval(const struct fg_sys *sys, const struct fg_domain *sd)
{
	return clamp_u64(msecs_to_jiffies(sys, sd->balance_interval), 1, max_balance_interval(sys));
}

static void update_cpu_capacity(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_group *g)
{
	u64 capacity = fg_scale_capacity(sys, rq);

	rq->cpu_capacity = (u32)capacity;
	g->capacity = capacity;
	g->min_capacity = capacity;
	g->max_capacity = capacity;
}

static void add_capacity(struct fg_group *g, u64 capacity, u64 min, u64 max)
{
	g->capacity += capacity;
	g->min_capacity = min_u64(g->min_capacity, min);
	g->max_capacity = max_u64(g->max_capacity, max);
}

void fg_update_group_capacity(const struct fg_sys *sys, struct fg_domain *sd, struct fg_cpu *rq)
{
	struct fg_group *local = sd->groups;
	const struct fg_domain *child = sd->child;
	const struct fg_group *g;
	u32 cpu;

	if (!local)
		return;
	if (!child) {
		update_cpu_capacity(sys, rq, local);
		return;
	}

	local->capacity = 0;
	local->min_capacity = ~0ull;
	local->max_capacity = 0;
	if (child->flags & FG_SD_OVERLAP) {
		/* The child's groups need not cover exactly this one: go by CPUs. */
		for_each_cpu(cpu, &local->span, sys->nr_cpus) {
			u64 capacity = cpu_rq(sys, cpu)->cpu_capacity;

			add_capacity(local, capacity, capacity, capacity);
		}
		return;
	}
	g = child->groups;
	for (u32 i = 0; g && i < child->nr_groups && i < FG_NR_CPUS; i++, g = g->next)
		add_capacity(local, g->capacity, g->min_capacity, g->max_capacity);
}

u32 fg_should_we_balance(const struct fg_sys *sys, const struct fg_domain *sd, const struct fg_cpu *dst, u32 kind)
{
	const struct fg_group *local = sd->groups;
	u32 cpu;

	if (!local || !mask_test(&sys->active, dst->id))
		return 0;
	/* Whoever runs dry helps itself. */
	if (kind == FG_CPU_NEWLY_IDLE)
		return 1;
	/* Of a group one CPU balances: the first idle one, for it has the time. */
	for_each_cpu_and(cpu, &local->balance_mask, &sys->active, sys->nr_cpus) {
		if (idle_rq(cpu_rq(sys, cpu)))
			return (s32)cpu == dst->id;
	}
	return local->balance_cpu == dst->id;
}

u32 fg_newidle_gate(const struct fg_sys *sys, const struct fg_cpu *rq)
{
	(void)sys;
	return rq->avg_idle >= FG_MIGRATION_COST && rq->rd && rq->rd->overload;
}

/* The highest domain of rq in which some CPUs are preferred. */
static const struct fg_domain *asym_packing_domain(const struct fg_cpu *rq)
{
	const struct fg_domain *tmp, *sd = 0;

	for_each_domain(tmp, rq->sd) {
		if (tmp->flags & FG_SD_ASYM_PACKING)
			sd = tmp;
	}
	return sd;
}

/* Lower ids are preferred: is there one among the idle? */
static u32 preferred_cpu_idles(const struct fg_sys *sys, const struct fg_cpu *rq)
{
	const struct fg_domain *sd = asym_packing_domain(rq);

	return sd && mask_next_and(&sd->span, &sys->nohz_idle, 0, sys->nr_cpus) < (u32)rq->id;
}

/* rq's task is too big for it, and somewhere may be a CPU that is not. */
static u32 check_misfit_status(const struct fg_cpu *rq, const struct fg_domain *sd)
{
	return rq->misfit_task_load &&
	       ((rq->rd && rq->cpu_capacity_orig < rq->rd->max_cpu_capacity) || capacity_reduced(rq, sd));
}

/* A reason to wake an idle CPU for a full balance. */
static u32 needs_balance(const struct fg_sys *sys, const struct fg_cpu *rq)
{
	if (rq->nr_running >= 2)
		return 1;
	if (rq->h_nr_running && rq->sd && capacity_reduced(rq, rq->sd))
		return 1;
	if (preferred_cpu_idles(sys, rq))
		return 1;
	/* With unequal CPUs many busy ones are no reason: the big ones may be meant to idle. */
	if (rq->sd_asym_cpucapacity)
		return check_misfit_status(rq, rq->sd_asym_cpucapacity);
	return rq->llc && rq->llc->nr_busy_cpus > 1;
}

u32 fg_nohz_kick(const struct fg_sys *sys, const struct fg_cpu *rq, u64 jiffies)
{
	u32 stats;

	if (rq->idle_balance || !sys->nohz_nr_cpus)
		return 0;
	stats = sys->nohz_has_blocked && jiffies > sys->nohz_next_blocked;
	if (jiffies >= sys->nohz_next_balance && needs_balance(sys, rq))
		return 2;
	return stats;
}
