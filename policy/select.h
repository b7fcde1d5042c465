/* SPDX-License-Identifier: GPL-2.0-only */
/* One placement in the making: what its steps share, so that each takes few arguments. */
#ifndef FG_SELECT_H
#define FG_SELECT_H

#include "sched.h"

struct select_ctx {
	const struct fg_sys *sys;
	const struct fg_task *p;
	const struct fg_wake *w;
	struct fg_verdict *v;
	s32 prev;
	s32 target;
	u32 sync; /* the waker is about to sleep */
	u32 synced; /* avg below is decayed */
	u64 util; /* of p as capacity tests see it, see select_sync() */
	struct fg_avg avg; /* p's averages, decayed up to the choice once synced */
};

static inline struct fg_cpu *rq_of(const struct select_ctx *s, s32 cpu)
{
	return cpu_rq(s->sys, (u32)cpu);
}

/* A probe is a look at whether a CPU is free: the unit of scan work. */
static inline u32 probe_idle(const struct select_ctx *s, s32 cpu)
{
	s->v->probes++;
	return idle_rq(rq_of(s, cpu));
}

static inline u32 probe_free(const struct select_ctx *s, s32 cpu)
{
	s->v->probes++;
	return free_rq(rq_of(s, cpu));
}

static inline u32 share_llc(const struct select_ctx *s, s32 a, s32 b)
{
	return a == b || rq_of(s, a)->sd_llc_id == rq_of(s, b)->sd_llc_id;
}

static inline u32 cpu_allowed(const struct select_ctx *s, s32 cpu)
{
	return mask_test(&s->p->allowed, cpu);
}

/*
 * sync(p) of spec 2.4, on a copy: looking changes nothing. The commit repeats it on the task. util is then what
 * capacity tests compare.
 */
static void select_sync(struct select_ctx *s)
{
	const struct fg_task *p = s->p;

	if (!s->synced) {
		s->synced = 1;
		if (!is_detached(p)) {
			pelt_decay_blocked(&s->avg, rq_of(s, p->cpu)->cfs.last_update, p->weight);
			s->v->writes |= FG_W_SYNC;
		}
	}
	s->util = uclamp_util(s->sys, p, task_util_est_at(s->sys, p, s->avg.util_avg));
}

#endif
