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
	s32 prev_aff; /* prev and recent CPU that are free but in another cluster, see select_early(); else -1 */
	s32 recent_aff;
	u32 row; /* enum fg_rule_id: the rule being tried */
	u32 sync; /* the waker is about to sleep */
	u32 synced; /* avg below is decayed */
	struct clamped_util want; /* of p, for capacity tests, see select_want() */
	/* p's averages, decayed up to the choice once synced */
	u64 util_avg;
	u64 load_avg;
	u64 runnable_avg;
};

static inline struct fg_cpu *rq_of(const struct select_ctx *s, s32 cpu)
{
	return cpu_rq(s->sys, (u32)cpu);
}

static inline void put_note(const struct select_ctx *s, u32 id, s32 cpu, u64 a, u64 b)
{
	struct fg_why *why = s->w->why;
	struct fg_note *note;

	if (why->nr >= FG_MAX_WHY) {
		why->lost++;
		return;
	}
	note = &why->note[why->nr++];
	note->id = (u16)id;
	note->rule = (u16)s->row;
	note->cpu = cpu;
	note->a = a;
	note->b = b;
	note->c = 0;
}

/* Off the path of those who do not ask. */
static noinline void note_numbers(const struct select_ctx *s, u32 id, s32 cpu, u64 a, u64 b)
{
	put_note(s, id, cpu, a, b);
}

/* The third number of the note just made. */
static inline void note_third(const struct select_ctx *s, u64 c)
{
	struct fg_why *why = s->w->why;

	if (why && why->nr && why->nr <= FG_MAX_WHY)
		why->note[why->nr - 1].c = c;
}

/* If reasons are wanted; one test of a pointer otherwise. */
static inline void note(const struct select_ctx *s, u32 id, s32 cpu, u64 a, u64 b)
{
	if (__builtin_expect(s->w->why != 0, 0))
		note_numbers(s, id, cpu, a, b);
}

/* What a look at whether cpu is free saw. */
static noinline void note_look_numbers(const struct select_ctx *s, s32 cpu, u32 free)
{
	const struct fg_cpu *rq = rq_of(s, cpu);
	u32 id = FG_NOTE_BUSY;

	if (free)
		id = FG_NOTE_FREE;
	else if (!rq->nr_running)
		id = rq->ttwu_pending ? FG_NOTE_COMING : FG_NOTE_GOING;
	put_note(s, id, cpu, rq->nr_running, 0);
}

static inline void note_look(const struct select_ctx *s, s32 cpu, u32 free)
{
	if (__builtin_expect(s->w->why != 0, 0))
		note_look_numbers(s, cpu, free);
}

/* A probe is a look at whether a CPU is free: the unit of scan work. */
static inline u32 probe_idle(const struct select_ctx *s, s32 cpu)
{
	u32 idle = idle_rq(rq_of(s, cpu));

	s->v->probes++;
	note_look(s, cpu, idle);
	return idle;
}

/* choose_sched_idle_rq: what runs on rq is SCHED_IDLE; from v7.1 on that makes it free for other tasks only. */
static inline u32 yields_to(const struct select_ctx *s, const struct fg_cpu *rq)
{
	return sched_idle_rq(rq) && !(s->p->policy == FG_SCHED_IDLE && feat(s->sys, FG_SI_NOT_FOR_IDLE));
}

static inline u32 probe_free(const struct select_ctx *s, s32 cpu)
{
	const struct fg_cpu *rq = rq_of(s, cpu);
	u32 free = idle_rq(rq) || yields_to(s, rq);

	s->v->probes++;
	note_look(s, cpu, free);
	return free;
}

/* What wakeups, forks and execs take for the load of a CPU: until 002/P09 that of what is queued there. */
static inline u64 wake_load(const struct select_ctx *s, const struct fg_cpu *rq)
{
	return feat(s->sys, FG_LB_P09) ? cpu_load(rq) : rq->queued.load_avg;
}

static inline u32 share_llc(const struct select_ctx *s, s32 a, s32 b)
{
	return a == b || rq_of(s, a)->sd_llc_id == rq_of(s, b)->sd_llc_id;
}

/* share_res of spec 0: the same cluster, where there are such, else the same LLC. */
static inline u32 share_resources(const struct select_ctx *s, s32 a, s32 b)
{
	return a == b || rq_of(s, a)->sd_share_id == rq_of(s, b)->sd_share_id;
}

static inline u32 cpu_allowed(const struct select_ctx *s, s32 cpu)
{
	return mask_test(&s->p->allowed, cpu);
}

/* sync(p) of spec 2.4, on a copy: looking changes nothing. The commit repeats it on the task. */
static noinline void decay_copy(struct select_ctx *s)
{
	const struct fg_avg *from = &s->p->avg;
	struct fg_avg sa;

	/* Member by member: the compiler shall not call memcpy. */
	sa.last_update = from->last_update;
	sa.load_sum = from->load_sum;
	sa.runnable_sum = from->runnable_sum;
	sa.util_sum = from->util_sum;
	sa.load_avg = from->load_avg;
	sa.runnable_avg = from->runnable_avg;
	sa.util_avg = from->util_avg;
	sa.period_contrib = from->period_contrib;
	pelt_decay_blocked(&sa, queue_last_update(rq_of(s, s->prev), s->p), s->p->weight);
	s->util_avg = sa.util_avg;
	s->load_avg = sa.load_avg;
	s->runnable_avg = sa.runnable_avg;
}

/* What p wants, remembered for all capacity tests of the placement. */
static inline void select_want(struct select_ctx *s)
{
	task_clamped_util(s->sys, s->p, s->util_avg, &s->want);
	if (s->sys->asym_key) {
		note(s, FG_NOTE_WANTS, -1, s->want.util, s->want.min);
		note_third(s, s->want.max);
	}
}

/* Once for a placement, before the first capacity test: p as it is now, and what it wants. */
static inline void select_sync(struct select_ctx *s)
{
	if (s->synced)
		return;
	s->synced = 1;
	if (!is_detached(s->p)) {
		decay_copy(s);
		s->v->writes |= FG_W_SYNC;
	}
	select_want(s);
}

#endif
