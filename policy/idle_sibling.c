/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fast path of a wakeup: an idle CPU near target (spec 4).
 *
 *	before mail 000		after it (ASYM_PREV_FIRST)	clusters landed (CLS_SELECT)
 *	B1  asymmetric scan: final
 *	B2  target		A1  target, fits		C1
 *	B3  prev		A2  prev, fits			C2   and in target's cluster, else kept for C9
 *	B4  per-CPU kthread	A3  per-CPU kthread		C3
 *	B5  recently used	A4  recently used, fits		C4   and in target's cluster, else kept for C10
 *				A5  asymmetric scan: final	C5
 *	B6  no cache domain	A6				C6
 *	B9p prev's core		A9p				C7   SIS_SMT_PREV
 *	B7  idle core		A7				C8i  SIS_MERGED: the same loop as the LLC scan
 *	B7c posted loop		A7c				     CLS_SELECT=loop
 *								C8c  target's cluster
 *	B8  LLC scan		A8				C8
 *	B9  target's core	A9				     until SIS_SMT_PREV
 *								C9   prev
 *								C10  recently used
 *	B10 target		A10				C11
 *
 * Where the specification leaves a choice: the recently used CPU of C10 becomes the next one to swap with as it does in
 * C4, should clusters be combined with versions that write it only when it is used.
 */
#include "idle_rows.h"

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

/* Mail 004 as posted: an idle CPU of target's cluster, whatever the budget; with SMT it gives way. */
static s32 select_idle_cluster(const struct select_ctx *s)
{
	struct mask_wrap it = mask_wrap_begin(s->target, s->sys->nr_cpus);
	const struct fg_cluster *cluster = rq_of(s, s->target)->cluster;

	if (s->sys->smt_key || !cluster)
		return -1;
	while (mask_wrap_next(&it, &cluster->span, &s->p->allowed)) {
		if (probe_idle(s, (s32)it.cpu))
			return (s32)it.cpu;
	}
	return -1;
}

/* B1, A5, C5: where the capacities differ the scan over them has the last word. */
static s32 select_asym(struct select_ctx *s)
{
	const struct fg_domain *sd;
	s32 cpu;

	if (!s->sys->asym_key || !feat(s->sys, FG_ASYM_SCAN))
		return -1;
	/* A partition of equal CPUs does not have such a domain: its wakeups take the symmetric path. */
	sd = rq_of(s, s->target)->sd_asym_cpucapacity;
	if (!sd)
		return -1;
	try_row(s, ROW_CAPACITY);
	cpu = select_idle_capacity(s, sd);
	return cpu < 0 ? s->target : cpu;
}

/* A known CPU that p may take: near target, free and big enough. */
global_func u32 early_check(const struct select_ctx *s frame_arg, s32 cpu)
{
	if (!early_check_near(s, cpu)) {
		note(s, FG_NOTE_FAR, cpu, (u64)s->target, 0);
		return 0;
	}
	return probe_free(s, cpu) && asym_fits(s, cpu);
}

/* A per-CPU kthread wakes p, e.g. for completed I/O: it will sleep at once, so p can stay on its CPU. */
static u32 woken_by_percpu_kthread(const struct select_ctx *s)
{
	const struct fg_task *waker = s->w->current;

	if (!feat(s->sys, FG_PERCPU_KTHREAD) || !waker || !(waker->flags & FG_TASK_PERCPU_KTHREAD))
		return 0;
	note(s, FG_NOTE_KTHREAD, s->w->this_cpu, rq_of(s, s->w->this_cpu)->nr_running, 0);
	if (s->prev != s->w->this_cpu || rq_of(s, s->prev)->nr_running > 1)
		return 0;
	/* v5.17: an interrupt only borrows the kthread, and prev may be too small. */
	return !feat(s->sys, FG_KTHREAD_FIT) || (!(s->w->flags & FG_WF_IRQ) && asym_fits(s, s->prev));
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

/* Since clusters landed a free CPU in another cluster than target's is only the last resort. */
static u32 in_target_cluster(const struct select_ctx *s, s32 cpu)
{
	if (!clusters_landed(s) || !s->sys->cluster_key || share_resources(s, cpu, s->target))
		return 1;
	note(s, FG_NOTE_OTHER_CLUSTER, cpu, (u64)s->target, 0);
	return 0;
}

/* prev is the next candidate: p goes back and forth between the two. */
static s32 use_recent(struct select_ctx *s, s32 recent)
{
	s->v->writes |= FG_W_RECENT;
	s->v->recent_used = s->prev;
	return recent;
}

static s32 try_prev(struct select_ctx *s)
{
	if (s->prev == s->target || !early_check(s, s->prev))
		return -1;
	if (in_target_cluster(s, s->prev))
		return s->prev;
	s->prev_aff = s->prev;
	return -1;
}

static s32 try_recent(struct select_ctx *s)
{
	s32 recent = s->p->recent_used;

	/* v5.14: whether the recent CPU is any good or not. */
	if (feat(s->sys, FG_RECENT_PREV))
		use_recent(s, recent);
	if (!recent_check(s, recent))
		return -1;
	if (in_target_cluster(s, recent))
		return use_recent(s, recent);
	s->recent_aff = recent;
	return -1;
}

/* B2 to B5, A1 to A4, C1 to C4: the CPUs p knows. */
static s32 select_early(struct select_ctx *s)
{
	s32 cpu;

	try_row(s, ROW_TARGET);
	if (early_check(s, s->target))
		return s->target;
	try_row(s, ROW_PREV);
	cpu = try_prev(s);
	if (cpu >= 0)
		return cpu;
	try_row(s, ROW_KTHREAD);
	if (woken_by_percpu_kthread(s))
		return s->prev;
	try_row(s, ROW_RECENT);
	return try_recent(s);
}

/* The rows between a domain to search and the scan of it, each for some versions. */
static s32 select_before_scan(struct select_ctx *s, const struct fg_domain *sd)
{
	s32 cpu = -1;

	if (feat(s->sys, FG_SIS_SMT_PREV)) {
		try_row(s, ROW_PREV_CORE);
		cpu = select_prev_core(s, sd);
	}
	if (cpu < 0 && !feat(s->sys, FG_SIS_MERGED)) {
		try_row(s, ROW_IDLE_CORE);
		cpu = select_idle_core(s, sd);
	}
	if (cpu < 0 && feat(s->sys, FG_CLS_SELECT) == FG_CLS_LOOP) {
		try_row(s, ROW_CLUSTER_LOOP);
		cpu = select_idle_cluster(s);
	}
	return cpu;
}

/* And those after it: the last resorts. */
static s32 select_after_scan(struct select_ctx *s, const struct fg_domain *sd)
{
	s32 cpu;

	if (s->sys->smt_key && !feat(s->sys, FG_SIS_SMT_PREV)) {
		try_row(s, ROW_TARGET_CORE);
		cpu = select_idle_smt(s, sd, s->target);
		if (cpu >= 0)
			return cpu;
	}
	if (s->prev_aff >= 0) {
		try_row(s, ROW_PREV_AFF);
		return s->prev_aff;
	}
	if (s->recent_aff >= 0) {
		try_row(s, ROW_RECENT_AFF);
		return use_recent(s, s->recent_aff);
	}
	try_row(s, ROW_NOTHING);
	return s->target;
}

/* B6 to B10, A6 to A10, C6 to C11: search the CPUs behind target's cache. */
static s32 select_in_llc(struct select_ctx *s)
{
	const struct fg_domain *sd = rq_of(s, s->target)->sd_llc;
	s32 cpu;

	if (!sd) {
		try_row(s, ROW_NO_LLC);
		return s->target;
	}
	cpu = select_before_scan(s, sd);
	if (cpu < 0)
		cpu = select_idle_cpu(s, sd);
	return cpu < 0 ? select_after_scan(s, sd) : cpu;
}

global_func noinline s32 select_idle_sibling(struct select_ctx *s frame_arg)
{
	u32 prev_first = feat(s->sys, FG_ASYM_PREV_FIRST);
	s32 cpu;

	s->prev_aff = -1;
	s->recent_aff = -1;
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
