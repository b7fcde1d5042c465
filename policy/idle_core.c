/* SPDX-License-Identifier: GPL-2.0-only */
/* Cores with several threads: the search for one that is wholly idle, and for a free thread of a known core (spec 4.5). */
#include "idle_rows.h"

/* What is known, without a look, of the LLC of target: some core may be idle. */
static u32 has_idle_cores(const struct select_ctx *s)
{
	const struct fg_llc *shared = rq_of(s, s->target)->balance_shared;

	return s->sys->smt_key && shared && shared->has_idle_cores;
}

/* The first time that it is asked. */
static u32 test_idle_cores(const struct select_ctx *s)
{
	u32 hint = has_idle_cores(s);

	if (s->sys->smt_key)
		note(s, hint ? FG_NOTE_HINT : FG_NOTE_NO_HINT, s->target, 0, 0);
	return hint;
}

/* The search found none: the hint was wrong. */
static void clear_idle_cores(struct select_ctx *s)
{
	s->v->writes |= FG_W_NO_IDLE_CORES;
	note(s, FG_NOTE_HINT_WRONG, s->target, 0, 0);
}

/*
 * Whether cpu is the first of its core that a scan of span from start meets: the others need no look. (Taking the
 * core's threads off a copy of the mask says the same, but the copy is a quarter of the stack that BPF has.)
 */
global_func u32 first_of_core(const struct select_ctx *s frame_arg, const struct fg_mask *span state_arg, s32 start,
			      u32 cpu)
{
	struct mask_wrap it = mask_wrap_begin(start, s->sys->nr_cpus);
	const struct fg_cpu *rq = cpu_rq(s->sys, cpu);

	while (mask_wrap_next(&it, &rq->core, &s->p->allowed)) {
		if (mask_test(span, (s32)it.cpu))
			return it.cpu == cpu;
	}
	return 1;
}

/* All threads of c's core are idle; the first busy one ends the look. */
global_func u32 probe_idle_core(const struct select_ctx *s frame_arg, const struct fg_cpu *c state_arg)
{
	u32 t;

	for_each_cpu(t, &c->core, s->sys->nr_cpus) {
		if (!probe_idle(s, (s32)t))
			return 0;
	}
	note(s, FG_NOTE_IDLE_CORE, c->id, 0, 0);
	return 1;
}

/* Up to v5.11: a core without a busy thread; the id is that of the first thread met, whichever of them p may use. */
global_func s32 select_idle_core(struct select_ctx *s frame_arg, const struct fg_domain *sd state_arg)
{
	struct mask_wrap it = mask_wrap_begin(s->target, s->sys->nr_cpus);

	if (!test_idle_cores(s))
		return -1;
	while (mask_wrap_next(&it, &sd->span, &s->p->allowed)) {
		if (!first_of_core(s, &sd->span, s->target, it.cpu))
			continue;
		if (probe_idle_core(s, cpu_rq(s->sys, it.cpu)))
			return (s32)it.cpu;
	}
	clear_idle_cores(s);
	return -1;
}

/* Whether select_idle_smt looks at thread t of cpu's core at all. */
static u32 smt_candidate(const struct select_ctx *s, const struct fg_domain *sd, s32 cpu, s32 t)
{
	if (t == cpu && feat(s->sys, FG_SMT_NOT_SELF))
		return 0;
	if (feat(s->sys, FG_SMT_IN_LLC) && !mask_test(&sd->span, t)) {
		note(s, FG_NOTE_ISOLATED, t, 0, 0);
		return 0;
	}
	return 1;
}

#define THREAD_NO 0
#define THREAD_FREE 1
#define THREAD_SCHED_IDLE 2 /* not good enough for this version, unless nothing else is found */

global_func u32 probe_thread(const struct select_ctx *s frame_arg, const struct fg_domain *sd state_arg, s32 cpu, s32 t)
{
	if (!smt_candidate(s, sd, cpu, t))
		return THREAD_NO;
	if (probe_takes(s, t, !feat(s->sys, FG_SI_FIRST)))
		return THREAD_FREE;
	return yields_to(s, rq_of(s, t)) ? THREAD_SCHED_IDLE : THREAD_NO;
}

/* A free thread of cpu's own core. */
global_func s32 select_idle_smt(const struct select_ctx *s frame_arg, const struct fg_domain *sd state_arg, s32 cpu)
{
	const struct fg_cpu *core = rq_of(s, cpu);
	s32 sched_idle = -1;
	u32 t;

	for_each_cpu_and(t, &core->core, &s->p->allowed, s->sys->nr_cpus) {
		u32 look = probe_thread(s, sd, cpu, (s32)t);

		if (look == THREAD_FREE)
			return (s32)t;
		if (look == THREAD_SCHED_IDLE && sched_idle < 0)
			sched_idle = (s32)t;
	}
	return sched_idle;
}

/* v5.13: unless there may be an idle core to find, a thread of prev's core is as good as anything a scan can find. */
static s32 select_prev_core(const struct select_ctx *s, const struct fg_domain *sd)
{
	if (!s->sys->smt_key || test_idle_cores(s) || !share_llc(s, s->prev, s->target))
		return -1;
	return select_idle_smt(s, sd, s->prev);
}
