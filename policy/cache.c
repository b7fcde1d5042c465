/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sched-cache: which last-level cache a process prefers, and how many queued tasks prefer which cache (spec-new 6.1, 6.2).
 * Only load balancing asks, see lb_cache.c.
 *
 *	charge		a CPU adds up what it runs, of each process and of all; every epoch halves both
 *	tick		the first in an epoch plans a scan
 *	scan		the cache behind which the process has most of its CPUs' time becomes the preferred one
 *
 * NUMA balancing is not modelled: nobody knows the memory that a process uses, and no task prefers a node.
 */
#include "sched.h"

/* A tolerance of 100 and more: no number of threads is too large. */
#define ANY_NUMBER 0x7fffffffull

/* A task's share of a CPU's time, as weights have it. */
#define WHOLE_CPU (1ull << 20)

/* get_sched_cache_scale */
static u64 cache_scale(const struct fg_sys *sys, u64 by)
{
	u64 tolerance = sys->llc_balancing.aggr_tolerance;

	if (!tolerance)
		return 0;
	return tolerance >= 100 ? ANY_NUMBER : 1 + (tolerance - 1) * by;
}

/* Gathering the threads of g behind the cache of rq makes no sense: there is one, or there are too many for its cores. */
static u32 invalid_llc_nr(const struct fg_sys *sys, const struct fg_process *g, const struct fg_cpu *rq)
{
	u64 scale = cache_scale(sys, 1);

	if (g->nr_threads <= 1)
		return 1;
	if (scale == ANY_NUMBER)
		return 0;
	return !fits_capacity(g->nr_running_avg * sys->llc_balancing.smt_threads, scale * rq->sd_llc_size);
}

/* A task on its preferred cache counts while it is queued; cache-runnable: and awake. */
static void pref_llc_running(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_task *p, s32 by)
{
	if (p->pref_llc_queued && !(feat(sys, FG_CACHE_RUNNABLE) && (p->flags & FG_TASK_DELAYED)))
		rq->nr_pref_llc_running += (u32)by;
}

/* rq's count of tasks that prefer p's cache; null: none is kept. */
static u32 *llc_count(const struct fg_sys *sys, const struct fg_cpu *rq, const struct fg_task *p)
{
	return rq->llc_counts && p->preferred_llc <= sys->nr_cpus ? &rq->llc_counts[p->preferred_llc - 1] : 0;
}

static void account_llc_enqueue(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	u32 *count;

	if (!p->preferred_llc)
		return;
	p->pref_llc_queued = p->preferred_llc == (u32)rq->sd_llc_id + 1;
	pref_llc_running(sys, rq, p, 1);
	count = llc_count(sys, rq, p);
	if (count)
		(*count)++;
}

static void account_llc_dequeue(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	u32 *count;

	if (!p->preferred_llc)
		return;
	pref_llc_running(sys, rq, p, -1);
	p->pref_llc_queued = 0;
	count = llc_count(sys, rq, p);
	if (count && *count)
		(*count)--;
}

static u64 halve(u64 value, u64 times)
{
	return times < 64 ? value >> times : 0;
}

/* __update_mm_sched: the epochs that ended until jiffies halve what rq has run, and of t's process. */
static void end_epochs(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_cache_time *t, u64 jiffies)
{
	u64 period = nonzero(sys->llc_balancing.epoch_period), ended;

	if (jiffies > rq->cpu_epoch_next) {
		ended = (jiffies - rq->cpu_epoch_next + period - 1) / period;
		rq->cpu_epoch += ended;
		rq->cpu_epoch_next += ended * period;
		rq->cpu_runtime = halve(rq->cpu_runtime, ended);
	}
	ended = rq->cpu_epoch - t->epoch;
	t->epoch += ended;
	t->runtime = halve(t->runtime, ended);
}

/* The cache that threads of g prefer, as fg_task.preferred_llc. */
static u32 preferred_llc_of(const struct fg_sys *sys, const struct fg_process *g)
{
	return valid_cpu(sys, g->cpu) ? (u32)cpu_rq(sys, (u32)g->cpu)->sd_llc_id + 1 : 0;
}

/* p, current of rq and queued, has run for delta ns. */
static void account_mm_sched(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p, u64 delta)
{
	struct fg_process *g = p->process;
	struct fg_cache_time *t;
	u32 preferred;

	if (!cache_aware(sys) || !g)
		return;
	t = &g->cpus[(u32)rq->id];
	end_epochs(sys, rq, t, clock_jiffies(sys, rq->clock));
	t->runtime += delta;
	rq->cpu_runtime += delta;

	/* Nobody has scanned for long. */
	if ((s64)(rq->cpu_epoch - g->epoch) > (s64)sys->llc_balancing.epoch_affinity_timeout ||
	    invalid_llc_nr(sys, g, rq))
		g->cpu = -1;
	preferred = preferred_llc_of(sys, g);
	if (preferred == p->preferred_llc)
		return;
	account_llc_dequeue(sys, rq, p);
	p->preferred_llc = preferred;
	account_llc_enqueue(sys, rq, p);
}

static void task_tick_cache(const struct fg_sys *sys, const struct fg_cpu *rq, struct fg_task *p)
{
	struct fg_process *g = p->process;

	if (!cache_aware(sys) || !g || (s64)(g->epoch - rq->cpu_epoch) >= 0)
		return;
	if (p->flags & FG_TASK_CACHE_WORK)
		return;
	p->flags |= FG_TASK_CACHE_WORK;
	g->epoch = rq->cpu_epoch;
}

/* What a scan found behind a cache. */
struct llc_occupancy {
	u64 sum; /* shares that the process has of its CPUs, of WHOLE_CPU each */
	u64 most;
	s32 cpu; /* with the largest share, -1: none has any */
	u32 nr_running; /* CPUs that one of its threads has now */
};

static u32 runs_thread_of(const struct fg_cpu *rq, const struct fg_process *g)
{
	return rq->curr && rq->curr->process == g && !(rq->curr->flags & FG_TASK_EXITING);
}

static noinline void add_up_llc(const struct fg_sys *sys, struct fg_process *g, const struct fg_mask *span, u64 jiffies,
				struct llc_occupancy *llc)
{
	u32 cpu;

	llc->sum = llc->most = 0;
	llc->cpu = -1;
	for_each_cpu(cpu, span, sys->nr_cpus) {
		struct fg_cpu *rq = cpu_rq(sys, cpu);
		u64 share;

		end_epochs(sys, rq, &g->cpus[cpu], jiffies);
		share = WHOLE_CPU * g->cpus[cpu].runtime / (rq->cpu_runtime + 1);
		llc->sum += share;
		if (share > llc->most) {
			llc->most = share;
			llc->cpu = (s32)cpu;
		}
		llc->nr_running += runs_thread_of(rq, g);
	}
}

/* update_avg_scale: behind a small cache the average follows sooner. */
static u64 average_running(const struct fg_cpu *rq, u64 avg, u64 sample)
{
	u64 divisor = clamp_u64(rq->sd_llc_size / 4, 2, 8);

	return sample < avg ? avg - (avg - sample) / divisor : avg + (sample - avg) / divisor;
}

/* Whether cpu is the one that a walk over all CPUs meets first behind its cache. */
static u32 leads_llc(const struct fg_sys *sys, u32 cpu)
{
	const struct fg_domain *sd = cpu_rq(sys, cpu)->sd_llc;

	return sd && mask_next_and(&sd->span, &sd->span, 0, sys->nr_cpus) == cpu;
}

static noinline void scan_llcs(const struct fg_sys *sys, struct fg_task *p, u64 jiffies)
{
	struct fg_process *g = p->process;
	struct llc_occupancy llc;
	u64 most = 0, present = 0;
	s32 best = -1;
	u32 cpu;

	llc.nr_running = 0;
	for_each_cpu(cpu, &sys->active, sys->nr_cpus) {
		if (!leads_llc(sys, cpu))
			continue;
		add_up_llc(sys, g, &cpu_rq(sys, cpu)->sd_llc->span, jiffies, &llc);
		if (llc.sum > most) {
			most = llc.sum;
			best = llc.cpu;
		}
		if (preferred_llc_of(sys, g) == (u32)cpu_rq(sys, cpu)->sd_llc_id + 1)
			present = llc.sum;
	}
	/* Threads move for the preferred cache, so it changes only for one with clearly more of the process. */
	if (most > 2 * present)
		g->cpu = best;
	g->nr_running_avg = average_running(cpu_rq(sys, (u32)p->cpu), g->nr_running_avg, llc.nr_running);
}

u32 fg_task_cache_work(const struct fg_sys *sys, struct fg_task *p, u64 jiffies)
{
	struct fg_process *g = p->process;

	p->flags &= ~(u32)FG_TASK_CACHE_WORK;
	/* One thread scans, once in a period. */
	if ((p->flags & FG_TASK_EXITING) || !g || jiffies < g->next_scan)
		return 0;
	g->next_scan = jiffies + nonzero(sys->llc_balancing.epoch_period);
	if (invalid_llc_nr(sys, g, cpu_rq(sys, (u32)p->cpu))) {
		g->cpu = -1;
		return 0;
	}
	scan_llcs(sys, p, jiffies);
	return 1;
}
