/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The entry of every placement, spec 3: which domain answers, slow path or fast path, and a CPU that p may really use.
 *
 *	only one CPU allowed -> it
 *	a wakeup, energy-aware and not overutilized -> what the energy model says
 *	domains of this CPU, bottom-up:
 *		affine (not wide, allowed here, not too big) and prev is inside -> target = wake_affine, fast path
 *		balances this kind of request -> remember, go on
 *	remembered -> slow path; else a wakeup -> fast path from prev; else stay
 *	not allowed there -> fallback
 */
#include "select.h"

/* WF_EXEC, WF_FORK and WF_TTWU are the flags of the domains that balance on them. */
#define FG_WF_SD_FLAGS (FG_WF_EXEC | FG_WF_FORK | FG_WF_TTWU)

static u32 slow_rule(u32 flag, u32 moved)
{
	if (flag & FG_SD_BALANCE_FORK)
		return moved ? FG_RULE_FORK_IDLEST : FG_RULE_FORK_LOCAL;
	if (flag & FG_SD_BALANCE_EXEC)
		return moved ? FG_RULE_EXEC_IDLEST : FG_RULE_EXEC_LOCAL;
	return moved ? FG_RULE_WAKE_IDLEST : FG_RULE_WAKE_LOCAL;
}

static s32 select_slow(struct select_ctx *s, const struct fg_domain *sd, u32 flag)
{
	s32 cpu;

	s->v->rule = FG_RULE_NONE;
	cpu = find_idlest_cpu(s, sd, s->w->this_cpu, flag);
	if (s->v->rule == FG_RULE_NONE)
		s->v->rule = slow_rule(flag, cpu != s->w->this_cpu);
	return cpu;
}

/* The waker hands its CPU over for what it waits for (v6.6). */
static u32 runs_with_waker(const struct select_ctx *s)
{
	return feat(s->sys, FG_WAKE_CURRENT_CPU) && (s->w->flags & FG_WF_CURRENT_CPU) && cpu_allowed(s, s->w->this_cpu);
}

static s32 select_task_rq_fair(struct select_ctx *s)
{
	u32 flag = s->w->flags & FG_WF_SD_FLAGS;
	u32 ttwu = s->w->flags & FG_WF_TTWU;
	s32 this_cpu = s->w->this_cpu;
	const struct fg_domain *tmp, *sd = 0;
	u32 want_affine = 0;
	s32 cpu;

	if (ttwu) {
		s->v->writes |= FG_W_RECORD;
		if (runs_with_waker(s)) {
			s->v->rule = FG_RULE_CURRENT_CPU;
			return this_cpu;
		}
		cpu = find_energy_efficient_cpu(s);
		if (cpu >= 0)
			return cpu;
		want_affine = !wake_wide(s) && cpu_allowed(s, this_cpu) && !wake_cap(s);
		if (!cpu_allowed(s, this_cpu))
			note(s, FG_NOTE_FORBIDDEN, this_cpu, 0, 0);
	}

	for_each_domain(tmp, rq_of(s, this_cpu)->sd) {
		if (want_affine && (tmp->flags & FG_SD_WAKE_AFFINE) && mask_test(&tmp->span, s->prev)) {
			if (this_cpu != s->prev)
				s->target = wake_affine(s, tmp);
			sd = 0;
			break;
		}
		if (tmp->flags & flag)
			sd = tmp;
		else if (!want_affine)
			break;
	}

	if (sd)
		return select_slow(s, sd, flag);
	if (!ttwu) {
		s->v->rule = FG_RULE_STAY_PREV;
		return s->prev;
	}
	s->v->target = s->target;
	note(s, FG_NOTE_TARGET, s->target, 0, 0);
	cpu = select_idle_sibling(s);
	/* Where the waker works is worth a look when it is woken itself. */
	if (want_affine && !feat(s->sys, FG_RECENT_PREV))
		s->v->writes |= FG_W_WAKER_RECENT;
	return cpu;
}

/* The CPUs of prev's own node: of its highest domain below NUMA, which a CPU that is offline does not have. */
static const struct fg_mask *node_span(const struct select_ctx *s)
{
	const struct fg_cpu *rq = rq_of(s, s->prev);
	const struct fg_domain *tmp, *sd = 0;

	for_each_domain(tmp, rq->sd) {
		if (tmp->flags & FG_SD_NUMA)
			break;
		sd = tmp;
	}
	return sd ? &sd->span : rq->node;
}

/*
 * First allowed and active CPU, prev's node first. If affinity leaves none, the first active one: the caller gives the
 * task all CPUs then.
 */
global_func s32 select_fallback_rq(const struct select_ctx *s frame_arg)
{
	const struct fg_mask *node = node_span(s);
	u32 nr = s->sys->nr_cpus;
	u32 cpu;

	if (node) {
		for_each_cpu_and(cpu, node, &s->p->allowed, nr) {
			if (mask_test(&s->sys->active, (s32)cpu))
				return (s32)cpu;
		}
	}
	cpu = mask_next_and(&s->sys->active, &s->p->allowed, 0, nr);
	if (cpu >= nr)
		cpu = mask_next_and(&s->sys->active, &s->sys->active, 0, nr);
	return cpu < nr ? (s32)cpu : s->prev;
}

static void init_verdict(struct fg_verdict *v, const struct fg_task *p, s32 prev)
{
	v->cpu = prev;
	v->rule = FG_RULE_NONE;
	v->writes = 0;
	v->recent_used = p->recent_used;
	v->target = prev;
	v->target_rule = FG_RULE_NONE;
	v->pad = 0;
	v->probes = 0;
	v->scanned = 0;
	v->group_cpus = 0;
	v->energy_cpus = 0;
}

void fg_select_task_rq(const struct fg_sys *sys, const struct fg_task *p, const struct fg_wake *w, struct fg_verdict *v)
{
	struct select_ctx s;

	s.sys = sys;
	s.p = p;
	s.w = w;
	s.v = v;
	s.prev = valid_cpu(sys, p->cpu) ? p->cpu : w->this_cpu;
	s.target = s.prev;
	s.prev_aff = -1;
	s.recent_aff = -1;
	s.row = FG_RULE_NONE;
	s.sync = (w->flags & FG_WF_SYNC) && !(w->current && (w->current->flags & FG_TASK_EXITING));
	s.synced = 0;
	s.want.util = 0;
	s.want.min = 0;
	s.want.max = 0;
	s.util_avg = p->avg.util_avg;
	s.load_avg = p->avg.load_avg;
	s.runnable_avg = p->avg.runnable_avg;
	init_verdict(v, p, s.prev);

	if (p->nr_allowed > 1) {
		v->cpu = select_task_rq_fair(&s);
	} else {
		u32 only = mask_next_and(&p->allowed, &p->allowed, 0, sys->nr_cpus);

		v->cpu = only < sys->nr_cpus ? (s32)only : s.prev;
		v->rule = FG_RULE_ONLY_CPU;
	}
	if (!cpu_allowed(&s, v->cpu) || !mask_test(&sys->active, v->cpu)) {
		v->cpu = select_fallback_rq(&s);
		v->rule = FG_RULE_FALLBACK;
	}
}

void fg_commit_writes(struct fg_sys *sys, struct fg_task *p, struct fg_task *waker, const struct fg_wake *w,
		      const struct fg_verdict *v)
{
	if (v->writes & FG_W_RECORD)
		record_wakee(sys, waker, p, w);
	if ((v->writes & FG_W_H_LOAD_PREV) && valid_cpu(sys, p->cpu))
		commit_h_load(cpu_rq(sys, (u32)p->cpu), p, clock_jiffies(sys, w->now));
	if (v->writes & FG_W_H_LOAD_THIS)
		commit_h_load(cpu_rq(sys, (u32)w->this_cpu), w->current, clock_jiffies(sys, w->now));
	if ((v->writes & FG_W_SYNC) && valid_cpu(sys, p->cpu))
		pelt_decay_blocked(&p->avg, queue_last_update(cpu_rq(sys, (u32)p->cpu), p), p->weight);
	if (v->writes & FG_W_RECENT)
		p->recent_used = v->recent_used;
	if ((v->writes & FG_W_WAKER_RECENT) && waker)
		waker->recent_used = w->this_cpu;
	if ((v->writes & FG_W_NO_IDLE_CORES) && cpu_rq(sys, (u32)v->target)->balance_shared)
		cpu_rq(sys, (u32)v->target)->balance_shared->has_idle_cores = 0;
}

void fg_commit_scan(struct fg_sys *sys, const struct fg_wake *w, const struct fg_verdict *v, u64 scan_ns)
{
	struct fg_cpu *rq = cpu_rq(sys, (u32)w->this_cpu);

	if (!(v->writes & FG_W_SCAN_COST) || !rq->sd_llc)
		return;
	rq->sd_llc->avg_scan_cost = update_avg(rq->sd_llc->avg_scan_cost, scan_ns);
	/* Jiffies that passed have halved it; the scan takes its part of what is left. */
	rq->wake_avg_idle = pos_sub(aged_wake_idle(sys, rq, w->now), scan_ns);
	rq->wake_stamp = clock_jiffies(sys, w->now);
}

#ifndef __bpf__
/* Both in one; BPF passes five arguments at most. */
void fg_commit_select(struct fg_sys *sys, struct fg_task *p, struct fg_task *waker, const struct fg_wake *w,
		      const struct fg_verdict *v, u64 scan_ns)
{
	fg_commit_writes(sys, p, waker, w, v);
	fg_commit_scan(sys, w, v, scan_ns);
}
#endif
