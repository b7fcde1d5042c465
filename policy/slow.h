/* SPDX-License-Identifier: GPL-2.0-only */
/* What the two ways to find the idlest group share: a CPU without the task itself, and notes on groups. */
#ifndef FG_SLOW_H
#define FG_SLOW_H

#include "select.h"

static u64 cpu_util_without(const struct select_ctx *s, const struct fg_cpu *rq)
{
	u64 util = rq->cfs.util_avg, est = rq->est_enqueued;

	if (rq->id == s->p->cpu && !is_detached(s->p)) {
		util = pos_sub(util, s->util_avg);
		/* A sleeper's estimate left with it. */
		if (s->p->on_rq || rq->curr == s->p)
			est = pos_sub(est, util_est(s->sys, s->p));
	}
	return cpu_util_of(rq, util, est);
}

/* The load by which groups may differ before it means anything: 256 for an imbalance_pct of 125. */
static u64 load_allowance(const struct fg_domain *sd)
{
	return FG_NICE_0_LOAD * pos_sub(sd->imbalance_pct, 100) / 100;
}

/* A group goes by its first CPU. */
static s32 first_group_cpu(const struct select_ctx *s, const struct fg_group *g)
{
	return (s32)mask_next_and(&g->span, &g->span, 0, s->sys->nr_cpus);
}

static noinline void note_group_numbers(const struct select_ctx *s, u32 id, const struct fg_group *g, u64 a, u64 b)
{
	put_note(s, id, first_group_cpu(s, g), a, b);
}

static inline void note_group(const struct select_ctx *s, u32 id, const struct fg_group *g, u64 a, u64 b)
{
	if (__builtin_expect(s->w->why != 0, 0))
		note_group_numbers(s, id, g, a, b);
}

#endif
