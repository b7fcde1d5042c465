/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fast path of a wakeup: an idle CPU near target (spec 4).
 *
 *	before mail 000			after it (ASYM_PREV_FIRST)
 *	B1  asymmetric scan: final
 *	B2  target			A1  target, fits
 *	B3  prev			A2  prev, fits
 *	B4  per-CPU kthread		A3  per-CPU kthread
 *	B5  recently used		A4  recently used, fits
 *					A5  asymmetric scan: final
 *	B6  no cache domain		A6
 *	B7  idle core			A7
 *	B8  LLC scan			A8
 *	B9  SMT scan			A9
 *	B10 target			A10
 */
#include "select.h"

/* From here on this rule is tried; it is the one that decided if the placement ends before the next. */
static void try_rule(struct select_ctx *s, u32 before, u32 after)
{
	s->row = feat(s->sys, FG_ASYM_PREV_FIRST) ? after : before;
	s->v->rule = s->row;
}

/*
 * Whether cpu is near enough to target for the early checks: mail 000 v2 kept the LLC where v1 had the asymmetric
 * domain (spec 10.1, ASYM_CHECK_SCOPE).
 */
static u32 early_check_near(const struct select_ctx *s, s32 cpu)
{
	const struct fg_domain *sd = rq_of(s, s->target)->sd_asym_cpucapacity;

	if (feat(s->sys, FG_ASYM_CHECK_SCOPE) && feat(s->sys, FG_ASYM_PREV_FIRST) && s->sys->asym_key && sd)
		return mask_test(&sd->span, cpu);
	return share_llc(s, cpu, s->target);
}

/*
 * Whether cpu is the first of its core that the scan from target meets: the others need no look. (Taking the core's
 * threads off a copy of the mask says the same, but the copy is a quarter of the stack that BPF has.)
 */
static u32 first_of_core(const struct select_ctx *s, const struct fg_domain *sd, u32 cpu)
{
	struct mask_wrap it = mask_wrap_begin(s->target, s->sys->nr_cpus);
	const struct fg_cpu *rq = cpu_rq(s->sys, cpu);

	while (mask_wrap_next(&it, &rq->core, &s->p->allowed)) {
		if (mask_test(&sd->span, (s32)it.cpu))
			return it.cpu == cpu;
	}
	return 1;
}

/* All threads of c's core are idle; the first busy one ends the look. */
static u32 probe_idle_core(const struct select_ctx *s, const struct fg_cpu *c)
{
	u32 t;

	for_each_cpu(t, &c->core, s->sys->nr_cpus) {
		if (!probe_idle(s, (s32)t))
			return 0;
	}
	return 1;
}

/* A core without a busy thread; the id is that of the first thread met, whichever of them p may use. */
static s32 select_idle_core(const struct select_ctx *s, const struct fg_domain *sd)
{
	const struct fg_cpu *target = rq_of(s, s->target);
	struct mask_wrap it = mask_wrap_begin(s->target, s->sys->nr_cpus);

	if (!s->sys->smt_key || !target->llc || !target->llc->has_idle_cores)
		return -1;

	while (mask_wrap_next(&it, &sd->span, &s->p->allowed)) {
		if (!first_of_core(s, sd, it.cpu))
			continue;
		if (probe_idle_core(s, cpu_rq(s->sys, it.cpu)))
			return (s32)it.cpu;
	}
	/* The hint was wrong. */
	s->v->writes |= FG_W_NO_IDLE_CORES;
	return -1;
}

/*
 * SIS_PROP: as many CPUs as this CPU's average idle time pays for, at least four. One less is probed, the test comes
 * before the look (spec 4.5).
 */
static u64 scan_limit(const struct select_ctx *s, const struct fg_domain *sd, const struct fg_domain *this_sd)
{
	u64 avg_idle = rq_of(s, s->w->this_cpu)->avg_idle / 512;
	u64 avg_cost = this_sd->avg_scan_cost + 1;
	u64 span_avg = sd->weight * avg_idle;

	return span_avg > 4 * avg_cost ? span_avg / avg_cost : 4;
}

static s32 select_idle_cpu(const struct select_ctx *s, const struct fg_domain *sd)
{
	const struct fg_domain *this_sd = rq_of(s, s->w->this_cpu)->sd_llc;
	struct mask_wrap it = mask_wrap_begin(s->target, s->sys->nr_cpus);
	u32 wants_idle = feat(s->sys, FG_SIS_MODE) == FG_SIS_PROP54;
	s32 found = -1, sched_idle = -1;
	u64 nr;

	if (!this_sd)
		return -1;
	nr = scan_limit(s, sd, this_sd);

	while (found < 0 && mask_wrap_next(&it, &sd->span, &s->p->allowed)) {
		const struct fg_cpu *rq = cpu_rq(s->sys, it.cpu);

		/* Out of budget: not a scan that says what scans cost. Until v5.5 a SCHED_IDLE CPU is used only here. */
		if (!--nr)
			return sched_idle;
		s->v->probes++;
		s->v->scanned++;
		if (idle_rq(rq) || (!wants_idle && sched_idle_rq(rq)))
			found = (s32)it.cpu;
		else if (wants_idle && sched_idle < 0 && sched_idle_rq(rq))
			sched_idle = (s32)it.cpu;
	}
	s->v->writes |= FG_W_SCAN_COST;
	return found;
}

/* A free thread of target's own core. */
static s32 select_idle_smt(const struct select_ctx *s, const struct fg_domain *sd)
{
	const struct fg_cpu *core = rq_of(s, s->target);
	s32 sched_idle = -1;
	u32 t;

	if (!s->sys->smt_key)
		return -1;
	for_each_cpu_and(t, &core->core, &s->p->allowed, s->sys->nr_cpus) {
		const struct fg_cpu *rq = cpu_rq(s->sys, t);

		/* An isolated sibling is not in the domain. */
		if (feat(s->sys, FG_SMT_IN_LLC) && !mask_test(&sd->span, (s32)t))
			continue;
		s->v->probes++;
		if (idle_rq(rq) || (feat(s->sys, FG_SI_FIRST) && sched_idle_rq(rq)))
			return (s32)t;
		if (sched_idle < 0 && sched_idle_rq(rq))
			sched_idle = (s32)t;
	}
	return sched_idle;
}

/* B1, A5: where the capacities differ the scan over them has the last word. */
static s32 select_asym(struct select_ctx *s)
{
	const struct fg_domain *sd;
	s32 cpu;

	if (!s->sys->asym_key || !feat(s->sys, FG_ASYM_SCAN))
		return -1;
	/* An island of equal CPUs has no such domain and goes the symmetric way. */
	sd = rq_of(s, s->target)->sd_asym_cpucapacity;
	if (!sd)
		return -1;
	try_rule(s, FG_RULE_B1, FG_RULE_A5);
	cpu = select_idle_capacity(s, sd);
	return cpu < 0 ? s->target : cpu;
}

/* A known CPU that p may take: near target, free and big enough. */
static u32 early_check(const struct select_ctx *s, s32 cpu)
{
	if (!early_check_near(s, cpu)) {
		note(s, FG_NOTE_FAR, cpu, (u64)s->target, 0);
		return 0;
	}
	return probe_free(s, cpu) && asym_fits(s, cpu);
}

/* IO completion by a bound worker: it sleeps in a moment, p need not go elsewhere for that. No fit test here. */
static u32 woken_by_percpu_kthread(const struct select_ctx *s)
{
	const struct fg_task *waker = s->w->current;

	return feat(s->sys, FG_PERCPU_KTHREAD) && waker && (waker->flags & FG_TASK_PERCPU_KTHREAD) &&
	       s->prev == s->w->this_cpu && rq_of(s, s->prev)->nr_running <= 1;
}

static u32 recent_check(const struct select_ctx *s, s32 recent)
{
	if (recent == s->prev || recent == s->target || !valid_cpu(s->sys, recent)) {
		note(s, FG_NOTE_SAME, recent, 0, 0);
		return 0;
	}
	if (!cpu_allowed(s, recent)) {
		note(s, FG_NOTE_FORBIDDEN, recent, 0, 0);
		return 0;
	}
	return early_check(s, recent);
}

/* B2 to B5, A1 to A4: the CPUs p knows. */
static s32 select_early(struct select_ctx *s)
{
	s32 prev = s->prev, target = s->target, recent = s->p->recent_used;

	try_rule(s, FG_RULE_B2, FG_RULE_A1);
	if (early_check(s, target))
		return target;
	try_rule(s, FG_RULE_B3, FG_RULE_A2);
	if (prev != target && early_check(s, prev))
		return prev;
	try_rule(s, FG_RULE_B4, FG_RULE_A3);
	if (woken_by_percpu_kthread(s))
		return prev;
	try_rule(s, FG_RULE_B5, FG_RULE_A4);
	if (recent_check(s, recent)) {
		/* prev is the next candidate: p goes back and forth between the two. */
		s->v->writes |= FG_W_RECENT;
		s->v->recent_used = prev;
		return recent;
	}
	return -1;
}

/* B6 to B10, A6 to A10: search the CPUs behind target's cache. */
static s32 select_in_llc(struct select_ctx *s)
{
	const struct fg_domain *sd = rq_of(s, s->target)->sd_llc;
	s32 cpu;

	try_rule(s, FG_RULE_B6, FG_RULE_A6);
	if (!sd)
		return s->target;
	try_rule(s, FG_RULE_B7, FG_RULE_A7);
	cpu = select_idle_core(s, sd);
	if (cpu >= 0)
		return cpu;
	try_rule(s, FG_RULE_B8, FG_RULE_A8);
	cpu = select_idle_cpu(s, sd);
	if (cpu >= 0)
		return cpu;
	try_rule(s, FG_RULE_B9, FG_RULE_A9);
	cpu = select_idle_smt(s, sd);
	if (cpu >= 0)
		return cpu;
	try_rule(s, FG_RULE_B10, FG_RULE_A10);
	return s->target;
}

static s32 select_idle_sibling(struct select_ctx *s)
{
	u32 prev_first = feat(s->sys, FG_ASYM_PREV_FIRST);
	s32 cpu;

	if (s->sys->asym_key &&
	    (prev_first || (feat(s->sys, FG_ASYM_SCAN) && rq_of(s, s->target)->sd_asym_cpucapacity)))
		select_sync(s);

	if (!prev_first) {
		cpu = select_asym(s);
		if (cpu >= 0)
			return cpu;
	}
	cpu = select_early(s);
	if (cpu >= 0)
		return cpu;
	if (prev_first) {
		cpu = select_asym(s);
		if (cpu >= 0)
			return cpu;
	}
	return select_in_llc(s);
}
