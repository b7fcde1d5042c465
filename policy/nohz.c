/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUs whose tick is stopped: the set they form, who is woken to balance for all of them, and what the one that does
 * keeps (spec 6.10). The caller walks the set.
 */
#include "sched.h"

/* How often the blocked load of idle CPUs is looked at, ms: the half-life of the signals. */
#define NOHZ_BLOCKED_PERIOD LOAD_AVG_PERIOD

void fg_nohz_balance_enter_idle(struct fg_sys *sys, struct fg_cpu *rq)
{
	/* A CPU that goes offline is not active any more. */
	if (!rq->sd || !mask_test(&sys->active, rq->id))
		return;
	/* Its last tick left signals that decay. */
	rq->has_blocked_load = 1;
	sys->nohz_has_blocked = 1;
	if (rq->tick_stopped)
		return;
	rq->tick_stopped = 1;
	mask_set(&sys->nohz_idle, rq->id);
	sys->nohz_nr_cpus++;
	/* Its turn to balance may come before that of all others. */
	sys->nohz_needs_update = 1;
	if (rq->balance_shared && !rq->counted_idle) {
		rq->counted_idle = 1;
		rq->balance_shared->nr_busy_cpus--;
	}
}

/* Domains that are built again, as a CPU goes offline, count every CPU as busy first. */
void fg_nohz_balance_exit_idle(struct fg_sys *sys, struct fg_cpu *rq)
{
	if (!rq->tick_stopped)
		return;
	rq->tick_stopped = 0;
	mask_clear(&sys->nohz_idle, rq->id);
	sys->nohz_nr_cpus--;
	if (rq->balance_shared && rq->counted_idle) {
		rq->counted_idle = 0;
		rq->balance_shared->nr_busy_cpus++;
	}
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

/* rq's task is too big for it, and somewhere may be a CPU that is not: with max-allowed-cap the mark says both. */
static u32 check_misfit_status(const struct fg_sys *sys, const struct fg_cpu *rq, const struct fg_domain *sd)
{
	if (feat(sys, FG_MAX_ALLOWED_CAP))
		return rq->misfit_task_load != 0;
	return rq->misfit_task_load &&
	       ((rq->rd && rq->cpu_capacity_orig < rq->rd->max_cpu_capacity) || capacity_reduced(rq, sd));
}

/* A reason to wake an idle CPU for a full balance. */
static u32 needs_balance(const struct fg_sys *sys, const struct fg_cpu *rq)
{
	if (rq->nr_running >= 2)
		return 1;
	if (lb_h_nr(sys, rq) && rq->sd && capacity_reduced(rq, rq->sd))
		return 1;
	if (preferred_cpu_idles(sys, rq))
		return 1;
	/* On asymmetric machines many busy CPUs do not cause a kick: big CPUs may be idle on purpose. */
	if (rq->sd_asym_cpucapacity)
		return check_misfit_status(sys, rq, rq->sd_asym_cpucapacity);
	return rq->balance_shared && rq->balance_shared->nr_busy_cpus > 1;
}

u32 fg_nohz_kick(const struct fg_sys *sys, const struct fg_cpu *rq, u64 jiffies)
{
	u32 kick = FG_NOHZ_NO_KICK;

	if (rq->idle_balance || !sys->nohz_nr_cpus)
		return FG_NOHZ_NO_KICK;
	if (sys->nohz_has_blocked && jiffies > sys->nohz_next_blocked)
		kick = FG_NOHZ_STATS_KICK;
	if (jiffies >= sys->nohz_next_balance && needs_balance(sys, rq))
		kick = FG_NOHZ_STATS_KICK | FG_NOHZ_BALANCE_KICK;
	if (feat(sys, FG_NOHZ_NEXT_KICK) && sys->nohz_needs_update)
		kick |= FG_NOHZ_TURN_KICK;
	return kick;
}

u32 fg_nohz_balancer_kick(struct fg_sys *sys, struct fg_cpu *rq, u64 jiffies)
{
	if (!rq->sd || rq->idle_balance)
		return FG_NOHZ_NO_KICK;
	fg_nohz_balance_exit_idle(sys, rq);
	return fg_nohz_kick(sys, rq, jiffies);
}

/* The first idle CPU of the set, rq's own apart; -1: none. v7.3: the first one on an idle core, if there is one. */
static s32 find_new_ilb(const struct fg_sys *sys, const struct fg_cpu *rq)
{
	s32 idle = -1;
	u32 cpu;

	for_each_cpu(cpu, &sys->nohz_idle, sys->nr_cpus) {
		if ((s32)cpu == rq->id || !idle_rq(cpu_rq(sys, cpu)))
			continue;
		if (!feat(sys, FG_ILB_IDLE_CORE) || !sys->smt_key || siblings_idle(sys, (s32)cpu))
			return (s32)cpu;
		if (idle < 0)
			idle = (s32)cpu;
	}
	return idle;
}

s32 fg_kick_ilb(struct fg_sys *sys, const struct fg_cpu *rq, u32 kick, u64 jiffies)
{
	/* Moved ahead, so that not every busy CPU's tick kicks until the woken CPU sets next_balance. */
	if (kick & FG_NOHZ_BALANCE_KICK)
		sys->nohz_next_balance = jiffies + 1;
	return find_new_ilb(sys, rq);
}

u32 fg_nohz_stats_due(const struct fg_cpu *rq, u64 jiffies)
{
	return rq->has_blocked_load && jiffies > rq->last_blocked;
}

void fg_nohz_idle_begin(struct fg_sys *sys, u32 kick, struct fg_balance_walk *w)
{
	/* CPUs that go idle from now on set them again. */
	if (kick & FG_NOHZ_STATS_KICK)
		sys->nohz_has_blocked = 0;
	if (kick & FG_NOHZ_TURN_KICK)
		sys->nohz_needs_update = 0;
	walk_begin(w, ~0ull);
}

void fg_nohz_idle_abort(struct fg_sys *sys, u32 kick)
{
	if (kick & FG_NOHZ_STATS_KICK)
		sys->nohz_has_blocked = 1;
	if (kick & FG_NOHZ_TURN_KICK)
		sys->nohz_needs_update = 1;
}

u32 fg_nohz_idle_cpu(const struct fg_cpu *rq, u32 kick, struct fg_balance_walk *w)
{
	if (kick & FG_NOHZ_STATS_KICK)
		w->blocked |= rq->has_blocked_load;
	return (kick & FG_NOHZ_BALANCE_KICK) && fg_rebalance_due(rq, w->jiffies);
}

void fg_nohz_idled_cpu(const struct fg_cpu *rq, struct fg_balance_walk *w)
{
	w->next_balance = min_u64(w->next_balance, rq->next_balance);
	w->update_next_balance = 1;
}

void fg_nohz_idle_others_end(struct fg_sys *sys, const struct fg_balance_walk *w)
{
	if (w->update_next_balance)
		sys->nohz_next_balance = w->next_balance;
}

u32 fg_nohz_idle_self(const struct fg_cpu *rq, u32 kick, struct fg_balance_walk *w)
{
	/* Newly idle its averages are as old as its last tick: they say nothing. */
	if ((kick & FG_NOHZ_STATS_KICK) && w->kind != FG_CPU_NEWLY_IDLE)
		w->blocked |= rq->has_blocked_load;
	return !!(kick & FG_NOHZ_BALANCE_KICK);
}

static void nohz_looked(struct fg_sys *sys, u64 jiffies)
{
	sys->nohz_next_blocked = jiffies + msecs_to_jiffies(sys, NOHZ_BLOCKED_PERIOD);
}

void fg_nohz_idle_end(struct fg_sys *sys, u32 kick, const struct fg_balance_walk *w)
{
	if (kick & FG_NOHZ_STATS_KICK)
		nohz_looked(sys, w->jiffies);
	if (w->blocked)
		sys->nohz_has_blocked = 1;
}

u32 fg_newidle_stats(const struct fg_sys *sys)
{
	return feat(sys, FG_NEWIDLE_STATS) && sys->nohz_has_blocked;
}

u32 fg_nohz_newidle_due(const struct fg_sys *sys, const struct fg_cpu *rq, u64 jiffies, u32 balanced)
{
	if (balanced && feat(sys, FG_NEWIDLE_STATS))
		return 0;
	/* Not if it will be needed before it is through. */
	return rq->sd && rq->avg_idle >= FG_MIGRATION_COST && sys->nohz_has_blocked &&
	       jiffies >= sys->nohz_next_blocked;
}

/* No idle CPU is outside sd. */
static u32 nohz_idle_within(const struct fg_sys *sys, const struct fg_domain *sd)
{
	u32 cpu;

	for_each_cpu(cpu, &sys->nohz_idle, sys->nr_cpus) {
		if (!mask_test(&sd->span, (s32)cpu))
			return 0;
	}
	return 1;
}

void fg_nohz_stats_end(struct fg_sys *sys, const struct fg_domain *sd, u32 blocked, u64 jiffies)
{
	if (blocked && nohz_idle_within(sys, sd))
		nohz_looked(sys, jiffies);
}
