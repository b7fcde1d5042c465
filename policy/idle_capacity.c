/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUs of different capacity: which of them fit p, and the scan for an idle one (spec 4, 4.6). */
#include "select.h"

/* What the look at cpu compared; the reason of the clamps differs from that of utilization. */
static noinline void note_fit(const struct select_ctx *s, s32 cpu, s32 fits)
{
	const struct fg_cpu *rq = rq_of(s, cpu);
	u64 util = feat(s->sys, FG_UFC) ? s->want.util : uclamp_util(s->sys, &s->want);
	u64 min = min_u64(s->want.min, s->want.max);
	u32 by_util = fits_capacity(util, rq->cpu_capacity);

	if (fits < 0)
		note(s, FG_NOTE_ALMOST_FITS, cpu, min, ufc_capacity_min(s->sys, rq));
	else if (fits && by_util)
		note(s, FG_NOTE_FITS, cpu, util, rq->cpu_capacity);
	else if (fits)
		note(s, FG_NOTE_FITS_CAPPED, cpu, s->want.max, ufc_capacity_max(s->sys, rq));
	else if (by_util)
		note(s, FG_NOTE_BELOW_MIN, cpu, min, ufc_capacity_min(s->sys, rq));
	else
		note(s, FG_NOTE_TOO_SMALL, cpu, util, rq->cpu_capacity);
}

/* The look at whether p fits cpu. */
static s32 probe_fits(const struct select_ctx *s, s32 cpu)
{
	s32 fits = task_fits_cpu(s->sys, &s->want, rq_of(s, cpu));

	if (__builtin_expect(s->w->why != 0, 0))
		note_fit(s, cpu, fits);
	return fits;
}

/* All threads of cpu's core but cpu itself are idle; so where cores have one. */
static u32 core_is_idle(const struct select_ctx *s, s32 cpu)
{
	const struct fg_cpu *rq = rq_of(s, cpu);
	u32 t;

	if (!s->sys->smt_key)
		return 1;
	for_each_cpu(t, &rq->core, s->sys->nr_cpus) {
		if ((s32)t != cpu && !idle_rq(cpu_rq(s->sys, t)))
			return 0;
	}
	return 1;
}

/*
 * fit(c) of spec 4: only once mail 000 is in, and only where asymmetric machines exist at all. v7.2: a thread of a busy
 * core does not fit.
 */
static u32 asym_fits(const struct select_ctx *s, s32 cpu)
{
	if (!s->sys->asym_key || !feat(s->sys, FG_ASYM_PREV_FIRST))
		return 1;
	if (feat(s->sys, FG_ASYM_CORE) && !core_is_idle(s, cpu))
		return 0;
	return probe_fits(s, cpu) == 1;
}

/* A scan by capacity, and the best CPU seen so far that does not quite fit. */
struct capacity_scan {
	s32 cpu;
	s32 fits; /* less beats more: -1 beats 0 */
	u64 capacity;
	u32 has_core; /* there may be an idle core */
	u32 left; /* how many CPUs may be looked at, and one more; with has_core any number */
};

/* Among CPUs that lack only the minimum the one that gives most for it; else the one with most capacity left. */
static u64 fallback_capacity(const struct select_ctx *s, const struct fg_cpu *rq, s32 fits)
{
	if (fits == 0)
		return rq->cpu_capacity;
	return feat(s->sys, FG_HW_PRESSURE) ? actual_cpu_capacity(rq) : cool_capacity(rq);
}

/* asym-rank: a thread that fits, on a core that is busy; and what an idle core adds. */
#define ASYM_THREAD_FITS (-2)
#define ASYM_IDLE_CORE (-3)

/* preferred: cpu's core is idle, or no core is. */
static void consider_capacity(const struct select_ctx *s, s32 cpu, s32 fits, u32 preferred, struct capacity_scan *best)
{
	u64 capacity;

	if (!misfit_unlink(s->sys, FG_MU_SIC))
		fits = 0;
	capacity = fits == 1 ? rq_of(s, cpu)->cpu_capacity : fallback_capacity(s, rq_of(s, cpu), fits);
	if (fits == 1)
		fits = ASYM_THREAD_FITS;
	if (feat(s->sys, FG_ASYM_RANK) && preferred)
		fits += ASYM_IDLE_CORE;
	if (fits < best->fits || (fits == best->fits && capacity > best->capacity)) {
		best->cpu = cpu;
		best->fits = fits;
		best->capacity = capacity;
	}
}

/* How many CPUs of sd may be looked at, and one more. */
static u32 capacity_budget(const struct select_ctx *s, const struct fg_domain *sd)
{
	if (!feat(s->sys, FG_ASYM_BUDGET) || feat(s->sys, FG_SIS_MODE) != FG_SIS_UTIL || !sd->shared)
		return ~0u;
	return sd->shared->nr_idle_scan + 1;
}

/* 1: the scan ends at cpu, with what is the best now. */
global_func u32 scan_capacity(const struct select_ctx *s frame_arg, struct capacity_scan *scan frame_arg, s32 cpu)
{
	u32 preferred = !scan->has_core || core_is_idle(s, cpu);
	s32 fits;

	if (!scan->has_core && --scan->left == 0)
		return 1;
	if (!probe_free(s, cpu))
		return 0;
	fits = probe_fits(s, cpu);
	if (fits == 1 && preferred) {
		scan->cpu = cpu;
		return 1;
	}
	consider_capacity(s, cpu, fits, preferred, scan);
	return 0;
}

/*
 * First free CPU of sd that fits p, else the best that does not (spec 4.6). v7.2: on an idle core, if there may be one;
 * else within the budget. Up to v5.9 p's utilization is read again for every CPU; that does not change the result, because
 * nothing changes during a placement.
 */
global_func s32 select_idle_capacity(const struct select_ctx *s frame_arg, const struct fg_domain *sd state_arg)
{
	s32 start = feat(s->sys, FG_CAPSCAN_NEXT) ? s->target + 1 : s->target;
	struct mask_wrap it = mask_wrap_begin(start, s->sys->nr_cpus);
	struct capacity_scan scan = { .cpu = -1 };

	scan.has_core = feat(s->sys, FG_ASYM_RANK) && test_idle_cores(s);
	scan.left = capacity_budget(s, sd);
	if (scan.left == 1)
		return -1;
	while (mask_wrap_next(&it, &sd->span, &s->p->allowed)) {
		if (scan_capacity(s, &scan, (s32)it.cpu))
			return scan.cpu;
	}
	if (scan.has_core && scan.fits > ASYM_IDLE_CORE)
		s->v->writes |= FG_W_NO_IDLE_CORES;
	return scan.cpu;
}
