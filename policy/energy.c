/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a performance domain would cost with p on one of its CPUs, or on none: spec 8.2. The busiest CPU of a clock decides
 * how fast all of them run; that has a cost, and all busy time is charged with it. Idle time costs nothing here.
 *
 *	form		busy time of the domain				requests and busy times end at
 *	margin		utilization with p in it, as each CPU would see it	the CPU
 *	margin515	the same, p itself added to its CPU			its limits
 *	delta, tri	utilization without p, plus p wherever it goes		its limits
 */
#include "select.h"

/* A performance domain during a placement. */
struct energy_env {
	const struct fg_em *em;
	u64 cap; /* what each CPU may give now */
	u64 pd_cap; /* all of them */
	u64 pd_busy; /* busy time without p */
	u64 task_busy; /* of p */
};

/*
 * cpu_util(c, p, dst, boost) of spec 2.7: the fair utilization of rq with p, a sleeper, on dst (-1: on no CPU). Boosted, what
 * waits counts too, but only for requests; without boost-exact p is then taken for its utilization.
 */
static u64 cpu_util_next(const struct select_ctx *s, const struct fg_cpu *rq, s32 dst, u32 boost)
{
	u64 util = rq->cfs.util_avg, runnable = rq->cfs.runnable_avg, est = rq->est_enqueued;
	u32 boosts = boost && feat(s->sys, FG_RUNNABLE_BOOST);

	if (boosts && !feat(s->sys, FG_BOOST_EXACT))
		util = max_u64(util, runnable);
	if (rq->id == s->prev && rq->id != dst) {
		util = pos_sub(util, s->util_avg);
		runnable = pos_sub(runnable, s->runnable_avg);
	} else if (rq->id != s->prev && rq->id == dst) {
		util += s->util_avg;
		runnable += s->runnable_avg;
	}
	if (boosts && feat(s->sys, FG_BOOST_EXACT))
		util = max_u64(util, runnable);
	/* A sleeper's estimate is nowhere. */
	if (rq->id == dst)
		est += util_est(s->sys, s->p);
	return cpu_util_of(rq, util, est);
}

/* pcap of spec 7.6: rq, the first CPU of a clock, speaks for all. */
static u64 energy_capacity(const struct fg_sys *sys, const struct fg_cpu *rq)
{
	if (feat(sys, FG_FEEC) == FG_FEEC_MARGIN)
		return rq->cpu_capacity_orig;
	if (feat(sys, FG_HW_PRESSURE))
		return actual_cpu_capacity(rq);
	return pos_sub(rq->cpu_capacity_orig, rq->thermal_pressure);
}

static u32 energy_first_cpu(const struct fg_sys *sys, const struct fg_em *em)
{
	return mask_next_and(&em->span, &sys->active, 0, sys->nr_cpus);
}

/* How long p keeps a CPU busy; interrupts are taken to be those of its previous one. */
static u64 task_busy_time(const struct select_ctx *s)
{
	const struct fg_cpu *rq = rq_of(s, s->prev);
	u64 max = rq->cpu_capacity_orig, irq = rq->irq.util_avg;

	if (irq >= max)
		return max;
	return s->want.util * (max - irq) / nonzero(max);
}

/* The fair utilization that rq is busy with, in the sum for p on dst. */
static u64 busy_util(const struct select_ctx *s, const struct fg_cpu *rq, s32 dst)
{
	switch (feat(s->sys, FG_FEEC)) {
	case FG_FEEC_MARGIN:
		return cpu_util_next(s, rq, dst, 0);
	case FG_FEEC_MARGIN515:
		return cpu_util_next(s, rq, -1, 0) + (rq->id == dst ? s->want.util : 0);
	}
	return cpu_util_next(s, rq, -1, 0);
}

global_func u64 cpu_busy(const struct select_ctx *s frame_arg, const struct fg_cpu *rq state_arg, s32 dst)
{
	s->v->energy_cpus++;
	return fg_effective_util(rq, busy_util(s, rq, dst));
}

/* What rq asks of its clock with p on dst. */
global_func u64 cpu_request(const struct select_ctx *s frame_arg, const struct fg_cpu *rq state_arg, s32 dst)
{
	s->v->energy_cpus++;
	return fg_frequency_util(s->sys, rq, cpu_util_next(s, rq, dst, 1), rq->id == dst ? s->p : 0, 0);
}

/* Busy time of the CPUs of em, none of more than cap. */
global_func u64 sum_busy(const struct select_ctx *s frame_arg, const struct fg_em *em state_arg, s32 dst, u64 cap)
{
	u64 sum = 0;
	u32 cpu;

	for_each_cpu_and(cpu, &em->span, &s->sys->active, s->sys->nr_cpus)
		sum += min_u64(cpu_busy(s, cpu_rq(s->sys, cpu), dst), cap);
	return sum;
}

/* The largest request of the CPUs of em. */
global_func u64 max_request(const struct select_ctx *s frame_arg, const struct fg_em *em state_arg, s32 dst)
{
	u64 max = 0;
	u32 cpu;

	for_each_cpu_and(cpu, &em->span, &s->sys->active, s->sys->nr_cpus)
		max = max_u64(max, cpu_request(s, cpu_rq(s->sys, cpu), dst));
	return max;
}

/* The clock for the request util of a CPU of size orig. */
static u64 requested_khz(const struct fg_sys *sys, const struct energy_env *env, u64 util, u64 orig)
{
	u64 top = env->em->opps[env->em->nr_opps - 1].khz;

	if (feat(sys, FG_FREQ_PERF_V2))
		return top * min_u64(util, env->cap) / orig;
	/* Headroom on the frequency, whatever the CPU may give; later on the request, and no more than that. */
	if (feat(sys, FG_FEEC) == FG_FEEC_MARGIN)
		return with_headroom(top) * util / orig;
	return top * min_u64(with_headroom(util), env->cap) / orig;
}

/* The slowest operating point that will do; the fastest one if none does. */
static const struct fg_opp *energy_opp(const struct fg_sys *sys, const struct energy_env *env, u64 util, u64 orig)
{
	u32 by_performance = feat(sys, FG_EM_COST) == FG_EM_COST_PERFORMANCE;
	u64 want = by_performance ? min_u64(util, env->cap) : requested_khz(sys, env, util, orig);
	u32 last = env->em->nr_opps - 1;

	for (u32 i = 0; can_loop(i, last) && i < last; i++) {
		const struct fg_opp *opp = &env->em->opps[i];

		if (!opp->inefficient && (by_performance ? opp->performance : opp->khz) >= want)
			return opp;
	}
	return &env->em->opps[last];
}

/* E of spec 7.6: the energy of the performance domain with p on dst, -1: without it. */
static noinline u64 compute_energy(const struct select_ctx *s, const struct energy_env *env, s32 dst)
{
	u32 first = energy_first_cpu(s->sys, env->em);
	u64 orig = nonzero(cpu_rq(s->sys, first)->cpu_capacity_orig);
	u64 request = max_request(s, env->em, dst);
	const struct fg_opp *opp = energy_opp(s->sys, env, request, orig);
	u64 busy = env->pd_busy;

	if (feat(s->sys, FG_FEEC) < FG_FEEC_DELTA)
		busy = sum_busy(s, env->em, dst, env->cap);
	else if (dst >= 0)
		busy = min_u64(env->pd_cap, busy + env->task_busy);
	return feat(s->sys, FG_EM_COST) == FG_EM_COST_PERFORMANCE ? opp->cost * busy : opp->cost * busy / orig;
}
