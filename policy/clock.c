/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The clocks of a run queue (spec 2.3):
 *
 *	clock		real time
 *	clock_task	stands still during interrupts
 *	clock_pelt	runs slower while the CPU is busy at less than full capacity or frequency, so that the same
 *			work is worth the same time everywhere; catches up with clock_task while idle
 */
#include "sched.h"

/* What fg_migrate_lag needs to guess how late it is for an idle CPU. */
static void sync_idle_clock_pelt(struct fg_cpu *rq)
{
	rq->clock_pelt = rq->clock_task;
	rq->clock_idle = rq->clock;
	rq->clock_pelt_idle = rq_clock_pelt(rq);
}

static void update_rq_clock_pelt(struct fg_cpu *rq, u64 delta)
{
	if (rq->curr_is_idle) {
		sync_idle_clock_pelt(rq);
		return;
	}
	delta = (delta * rq->cpu_capacity_orig) >> 10;
	delta = (delta * rq->freq_scale) >> 10;
	rq->clock_pelt += delta;
}

void fg_update_rq_clock(const struct fg_sys *sys, struct fg_cpu *rq, u64 now, u64 irq_ns)
{
	u64 delta, irq_delta;

	(void)sys;
	if (now <= rq->clock)
		return;
	delta = now - rq->clock;
	rq->clock = now;

	/* Time of an interrupt that is not over yet is counted at the next update. */
	irq_delta = min_u64(pos_sub(irq_ns, rq->prev_irq_ns), delta);
	rq->prev_irq_ns += irq_delta;
	delta -= irq_delta;

	rq->clock_task += delta;
	if (irq_delta)
		update_irq_load_avg(rq, irq_delta);
	update_rq_clock_pelt(rq, delta);
}

/*
 * The CPU goes idle and clock_pelt is about to jump to clock_task. If the signals were at their maximum, the CPU was
 * too slow and the time it lost would not have been idle time: lost_idle_time hides the jump from the signals.
 */
static void update_idle_rq_clock_pelt(struct fg_cpu *rq)
{
	u64 full = ((u64)PELT_MIN_DIVIDER << 10) - LOAD_AVG_MAX;

	if (rq->cfs.util_sum + rq->rt.util_sum + rq->dl.util_sum >= full)
		rq->lost_idle_time += rq->clock_task - rq->clock_pelt;
	sync_idle_clock_pelt(rq);
}
