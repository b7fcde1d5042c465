/* SPDX-License-Identifier: GPL-2.0-only */
/* How long CPUs stay idle, and which cores are wholly idle: spec 4.5. */
#include "sched.h"

/* jiffies at clock, ns. */
static u64 clock_jiffies(const struct fg_sys *sys, u64 clock)
{
	return clock / nonzero(FG_NSEC_PER_SEC / nonzero(sys->hz));
}

void fg_enter_idle(const struct fg_sys *sys, struct fg_cpu *rq)
{
	if (!fg_newidle_spared(sys, rq))
		rq->idle_stamp = rq->clock;
	update_idle_rq_clock_pelt(rq);
}

void fg_wake_from_idle(const struct fg_sys *sys, struct fg_cpu *rq)
{
	if (!rq->idle_stamp)
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

	if (!sys->smt_key || !rq->llc || rq->llc->has_idle_cores)
		return;
	/* rq itself is on its way to idle. */
	for_each_cpu(t, &rq->core, sys->nr_cpus) {
		if ((s32)t != rq->id && !idle_rq(cpu_rq(sys, t)))
			return;
	}
	rq->llc->has_idle_cores = 1;
}
