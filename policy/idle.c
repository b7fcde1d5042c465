/* SPDX-License-Identifier: GPL-2.0-only */
/* How long and how deep CPUs idle, and which cores are wholly idle: spec 4.5, 5.5. */
#include "sched.h"

/* jiffies at clock, ns. */
static u64 clock_jiffies(const struct fg_sys *sys, u64 clock)
{
	return clock / nonzero(FG_NSEC_PER_SEC / nonzero(sys->hz));
}

/* Mail 001 says "when min residency is reached" and computes with the exit latency. */
static u64 time_to_break_even(const struct fg_sys *sys, const struct fg_idle_state *state)
{
	return feat(sys, FG_BREAK_EVEN) == FG_BREAK_EVEN_RESIDENCY ? state->residency : state->exit_latency;
}

void fg_set_idle_state(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_idle_state *state, u64 now)
{
	if (state->index < 0) {
		/* The first posting of mail 001 returned early here. */
		if (!feat(sys, FG_BREAK_EVEN_NULLBUG))
			rq->idle_state = -1;
		return;
	}
	rq->idle_state = state->index;
	rq->idle_exit_latency = state->exit_latency;
	rq->idle_residency = state->residency;
	rq->break_even = now + time_to_break_even(sys, state);
}

void fg_enter_idle(const struct fg_sys *sys, struct fg_cpu *rq)
{
	if (!fg_newidle_spared(sys, rq))
		rq->idle_stamp = rq->clock;
	/* DEVIATION: mainline up to v6.17 does this after newly idle balancing, and not after a task of another class. */
	if (!feat(sys, FG_PELT_LOST_IDLE))
		update_idle_rq_clock_pelt(rq);
}

void fg_set_next_idle(const struct fg_sys *sys, struct fg_cpu *rq)
{
	rq->server.idle_since = rq->clock_task;
	if (feat(sys, FG_PELT_LOST_IDLE))
		update_idle_rq_clock_pelt(rq);
}

void fg_wake_from_idle(const struct fg_sys *sys, struct fg_cpu *rq)
{
	/* v7.0 to v7.2: without a stamp it seems to have idled since the clock began. */
	if (!rq->idle_stamp && !feat(sys, FG_AVG_IDLE_NOSTAMP))
		return;
	rq->avg_idle = update_avg(rq->avg_idle, pos_sub(rq->clock, rq->idle_stamp));
	rq->avg_idle = min_u64(rq->avg_idle, 2 * rq->max_idle_balance_cost);
	rq->idle_stamp = 0;
	/* Half of what it expects to idle it may spend looking for idle CPUs (v5.14). */
	rq->wake_avg_idle = rq->avg_idle / 2;
	rq->wake_stamp = clock_jiffies(sys, rq->clock);
}

void fg_update_idle_core(struct fg_sys *sys, struct fg_cpu *rq)
{
	u32 t;

	if (!sys->smt_key || !rq->balance_shared || rq->balance_shared->has_idle_cores)
		return;
	/* rq itself is on its way to idle. */
	for_each_cpu(t, &rq->core, sys->nr_cpus) {
		if ((s32)t != rq->id && !idle_rq(cpu_rq(sys, t)))
			return;
	}
	rq->balance_shared->has_idle_cores = 1;
}
