/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When CPUs balance and what the pass refreshes on its way: spec 1.8, 6.1, 6.2, 6.9. Nothing moves here.
 *
 * The caller walks a CPU's domains bottom-up, periodically or newly idle, with a struct fg_balance_walk:
 *
 *	fg_rebalance_begin			fg_newidle_begin, fg_newidle_gate
 *	  fg_rebalance_domain			  fg_newidle_domain		each domain: stop, skip or balance?
 *	    an attempt, see lb.h
 *	  fg_rebalanced_domain			  fg_newidled_domain		if it was balance
 *	fg_rebalance_end			fg_newidle_end
 */
#include "sched.h"

static u64 msecs_to_jiffies(const struct fg_sys *sys, u64 ms)
{
	return (ms * sys->hz + 999) / 1000;
}

/* A tenth of a second for each CPU that is online. */
static u64 max_balance_interval(const struct fg_sys *sys)
{
	return max_u64((u64)sys->hz * (sys->nr_cpus - sys->nr_offline) / 10, 1);
}

u64 fg_balance_interval(const struct fg_sys *sys, const struct fg_domain *sd, u32 busy)
{
	u64 interval = sd->balance_interval;

	if (busy)
		interval *= sd->busy_factor;
	interval = msecs_to_jiffies(sys, interval);
	/* busy-minus1: so that the busy intervals of all levels do not expire at the same ticks. */
	if (busy && feat(sys, FG_BUSY_MINUS1))
		interval = pos_sub(interval, 1);
	return clamp_u64(interval, 1, max_balance_interval(sys));
}

/* jiffies until newly idle balancing refreshes the capacities of sd's local group again. */
static u64 group_capacity_interval(const struct fg_sys *sys, const struct fg_domain *sd)
{
	return clamp_u64(msecs_to_jiffies(sys, sd->balance_interval), 1, max_balance_interval(sys));
}

static void update_cpu_capacity(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_group *g)
{
	u64 capacity = fg_scale_capacity(sys, rq);

	rq->cpu_capacity = (u32)capacity;
	update_capacity_inversion(sys, rq);
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

u32 fg_group_capacity_due(const struct fg_domain *sd, u32 kind, u64 jiffies)
{
	return kind != FG_CPU_NEWLY_IDLE || (sd->groups && jiffies >= sd->groups->next_update);
}

void fg_update_group_capacity(const struct fg_sys *sys, struct fg_domain *sd, struct fg_cpu *rq, u64 jiffies)
{
	struct fg_group *local = sd->groups;
	const struct fg_domain *child = sd->child;
	const struct fg_group *g;
	u32 cpu;

	if (!local)
		return;
	local->next_update = jiffies + group_capacity_interval(sys, sd);
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

/* ---- the periodic pass ---- */

u32 fg_update_idle_balance(struct fg_cpu *rq)
{
	rq->idle_balance = (u8)idle_rq(rq);
	return rq->idle_balance;
}

u32 fg_rebalance_due(const struct fg_cpu *rq, u64 jiffies)
{
	return jiffies >= rq->next_balance;
}

u32 fg_rebalance_kind(const struct fg_cpu *rq)
{
	return rq->idle_balance ? FG_CPU_IDLE : FG_CPU_NOT_IDLE;
}

void fg_dequeue_next_balance(const struct fg_sys *sys, struct fg_cpu *rq, u32 was_sched_idle, u64 jiffies)
{
	if (feat(sys, FG_SI_BALANCE) && !was_sched_idle && sched_idle_rq(rq))
		rq->next_balance = jiffies;
}

u32 fg_sched_idle_rq(const struct fg_cpu *rq)
{
	return sched_idle_rq(rq);
}

u32 fg_idle_rq(const struct fg_cpu *rq)
{
	return idle_rq(rq);
}

static void walk_begin(struct fg_balance_walk *w, u64 next_balance)
{
	w->next_balance = next_balance;
	w->cost = 0;
	w->busy = 0;
	w->stopped = 0;
	w->need_decay = 0;
	w->update_next_balance = 0;
	w->blocked = 0;
	w->dice = 0;
	w->stake = 1;
	w->pulled = 0;
}

/* sd's next turn, if it comes before those of the domains seen so far. */
static void update_next_balance(const struct fg_sys *sys, const struct fg_domain *sd, struct fg_balance_walk *w)
{
	w->next_balance = min_u64(w->next_balance, sd->last_balance + fg_balance_interval(sys, sd, w->busy));
	w->update_next_balance = 1;
}

/* A busy CPU balances seldom; with nothing but SCHED_IDLE tasks it is not (v5.6). */
static u32 balances_seldom(const struct fg_sys *sys, const struct fg_cpu *rq, u32 kind)
{
	return kind != FG_CPU_IDLE && !(feat(sys, FG_SI_BALANCE) && sched_idle_rq(rq));
}

void fg_rebalance_begin(const struct fg_sys *sys, const struct fg_cpu *rq, struct fg_balance_walk *w)
{
	walk_begin(w, w->jiffies + 60 * (u64)sys->hz);
	w->busy = balances_seldom(sys, rq, w->kind);
}

void fg_rebalance_again(const struct fg_sys *sys, const struct fg_cpu *rq, struct fg_balance_walk *w)
{
	w->kind = idle_rq(rq) ? FG_CPU_IDLE : FG_CPU_NOT_IDLE;
	w->busy = balances_seldom(sys, rq, w->kind);
}

/* Once a second a domain forgets a hundredth of what newly idle balancing cost. */
static u32 decay_newidle_cost(const struct fg_sys *sys, struct fg_domain *sd, u64 jiffies)
{
	if (jiffies <= sd->next_decay)
		return 0;
	sd->max_newidle_lb_cost = sd->max_newidle_lb_cost * 253 / 256;
	sd->next_decay = jiffies + sys->hz;
	return 1;
}

u32 fg_rebalance_domain(const struct fg_sys *sys, struct fg_domain *sd, struct fg_balance_walk *w)
{
	u32 decayed = decay_newidle_cost(sys, sd, w->jiffies);

	/* v5.16: the result of the last domain counts. */
	w->need_decay = decayed || (w->need_decay && !feat(sys, FG_NEWIDLE_COST));
	w->cost += sd->max_newidle_lb_cost;
	/* Another CPU balances from here on; what is left is to add up the costs, if they changed. */
	if (w->stopped)
		return w->need_decay ? FG_BALANCE_SKIP : FG_BALANCE_STOP;
	if (w->jiffies >= sd->last_balance + fg_balance_interval(sys, sd, w->busy))
		return FG_BALANCE_NOW;
	update_next_balance(sys, sd, w);
	return FG_BALANCE_SKIP;
}

void fg_rebalanced_domain(const struct fg_sys *sys, struct fg_domain *sd, struct fg_balance_walk *w, u32 ours)
{
	w->stopped = !ours;
	sd->last_balance = w->jiffies;
	update_next_balance(sys, sd, w);
}

void fg_rebalance_end(struct fg_sys *sys, struct fg_cpu *rq, const struct fg_balance_walk *w)
{
	if (w->need_decay)
		rq->max_idle_balance_cost = max_u64(FG_MIGRATION_COST, w->cost);
	if (!w->update_next_balance)
		return;
	rq->next_balance = w->next_balance;
	/* Up to v5.11 any idle CPU brings the turn of those without a tick forward. */
	if (w->kind == FG_CPU_IDLE && !feat(sys, FG_ILB_ONE_OF))
		sys->nohz_next_balance = min_u64(sys->nohz_next_balance, w->next_balance);
}

/* ---- newly idle ---- */

void fg_newidle_begin(const struct fg_sys *sys, struct fg_balance_walk *w)
{
	walk_begin(w, w->jiffies + sys->hz);
	w->kind = FG_CPU_NEWLY_IDLE;
}

u32 fg_newidle_spared(const struct fg_sys *sys, const struct fg_cpu *rq)
{
	return feat(sys, FG_NEWIDLE_PENDING) && rq->ttwu_pending;
}

u32 fg_newidle_gate(const struct fg_sys *sys, const struct fg_cpu *rq, struct fg_balance_walk *w)
{
	/* v5.16: what the lowest domain has cost, however little that is. */
	u64 needed = !feat(sys, FG_NEWIDLE_COST) ? FG_MIGRATION_COST : rq->sd ? rq->sd->max_newidle_lb_cost : 0;

	if (rq->avg_idle >= needed && rq->rd && rq->rd->overload)
		return 1;
	/* Skipped; the lowest domain still sets next_balance. */
	if (rq->sd)
		update_next_balance(sys, rq->sd, w);
	return 0;
}

/*
 * update_newidle_stats. Computes the ratio of successes after a thousand tries, then halves both counts. With the rate a
 * thousand tries that took 4.3 s give the highest ratio: what is rare is always allowed.
 */
static void count_newidle(const struct fg_sys *sys, struct fg_domain *sd, u32 success, u64 now)
{
	u64 rare = 0;

	sd->newidle_call++;
	sd->newidle_success += success;
	if (sd->newidle_call < 1024)
		return;
	if (feat(sys, FG_NEWIDLE_FAIL) == FG_NEWIDLE_RATE) {
		rare = pos_sub(now, sd->newidle_stamp) >> 22;
		sd->newidle_stamp = now;
	}
	sd->newidle_ratio = (u32)min_u64(1024, sd->newidle_success + rare);
	sd->newidle_call /= 2;
	sd->newidle_success /= 2;
}

/*
 * NI_RANDOM. 1: sd is skipped this time. The rarer the tries, the more each success counts: it stands for the tries
 * skipped.
 */
static u32 newidle_dice_lost(const struct fg_sys *sys, struct fg_domain *sd, struct fg_balance_walk *w, u64 now)
{
	u32 chance = 1 + sd->newidle_ratio;

	if (feat(sys, FG_NEWIDLE_FAIL) < FG_NEWIDLE_RANDOM)
		return 0;
	if (w->dice > chance) {
		count_newidle(sys, sd, 0, now);
		return 1;
	}
	w->stake = (1024 + chance / 2) / chance;
	return 0;
}

u32 fg_newidle_domain(const struct fg_sys *sys, struct fg_domain *sd, const struct fg_cpu *rq,
		      struct fg_balance_walk *w)
{
	/* No longer than the CPU is expected to idle. */
	u32 affordable = rq->avg_idle >= w->cost + sd->max_newidle_lb_cost;
	u32 wanted = affordable && (sd->flags & FG_SD_BALANCE_NEWIDLE) && !newidle_dice_lost(sys, sd, w, rq->clock);

	/* v5.16: by the interval as it is before. */
	if (!wanted || feat(sys, FG_NEWIDLE_COST))
		update_next_balance(sys, sd, w);
	if (wanted)
		return FG_BALANCE_NOW;
	return affordable ? FG_BALANCE_SKIP : FG_BALANCE_STOP;
}

/* With newidle-fail=bump a domain costs no more than this, so that failures do not raise it for ever, ns. */
#define NEWIDLE_COST_LIMIT (FG_MIGRATION_COST + 200)

static void account_newidle_cost(const struct fg_sys *sys, struct fg_domain *sd, u64 jiffies, u64 cost)
{
	if (cost > sd->max_newidle_lb_cost) {
		sd->max_newidle_lb_cost = cost;
		if (feat(sys, FG_NEWIDLE_FAIL) == FG_NEWIDLE_BUMP)
			sd->max_newidle_lb_cost = min_u64(cost, NEWIDLE_COST_LIMIT);
		/* v5.16: it is forgotten from a second after it was seen. */
		if (feat(sys, FG_NEWIDLE_COST))
			sd->next_decay = jiffies + sys->hz;
	} else if (feat(sys, FG_NEWIDLE_COST)) {
		decay_newidle_cost(sys, sd, jiffies);
	}
}

u32 fg_newidled_domain(const struct fg_sys *sys, struct fg_domain *sd, const struct fg_cpu *rq,
		       struct fg_balance_walk *w, u64 cost)
{
	u32 coming = feat(sys, FG_NEWIDLE_PENDING) && rq->ttwu_pending;

	/* An attempt that took no time does not count. */
	if (feat(sys, FG_NEWIDLE_FAIL) >= FG_NEWIDLE_RANDOM && cost)
		count_newidle(sys, sd, w->pulled ? w->stake : 0, rq->clock);
	w->cost += cost;
	/* A failure raises the cost, so that the next one waits for a longer idle time. */
	if (feat(sys, FG_NEWIDLE_FAIL) == FG_NEWIDLE_BUMP && !w->pulled)
		cost = 3 * sd->max_newidle_lb_cost / 2;
	account_newidle_cost(sys, sd, w->jiffies, cost);
	if (!feat(sys, FG_NEWIDLE_COST))
		update_next_balance(sys, sd, w);
	return w->pulled || rq->nr_running || coming ? FG_BALANCE_STOP : FG_BALANCE_SKIP;
}

void fg_newidle_end(struct fg_cpu *rq, const struct fg_balance_walk *w)
{
	rq->max_idle_balance_cost = max_u64(rq->max_idle_balance_cost, w->cost);
	rq->next_balance = min_u64(rq->next_balance, w->next_balance);
}
