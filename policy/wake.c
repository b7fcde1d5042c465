/* SPDX-License-Identifier: GPL-2.0-only */
/* The wakee statistics (record_wakee, wake_wide), and whether the wakee is pulled to the waker: spec 3.2, 3.4. */
#include "select.h"

/* The wakee switches of one waker, halved once a second without being looked at. */
struct wakee_flips {
	u32 last_wakee;
	u32 flips;
	u64 ts;
};

static void count_wakee(struct wakee_flips *f, const struct fg_task *p, u64 now)
{
	if (now > f->ts + FG_NSEC_PER_SEC) {
		f->flips >>= 1;
		f->ts = now;
	}
	if (f->last_wakee != p->id + 1) {
		f->last_wakee = p->id + 1;
		f->flips++;
	}
}

static struct wakee_flips flips_of_task(const struct fg_task *waker)
{
	struct wakee_flips f = { waker->last_wakee, waker->wakee_flips, waker->wakee_flip_ts };

	return f;
}

/* An interrupt on an idle CPU wakes in the name of the idle task. */
static struct wakee_flips flips_of_idle(const struct fg_cpu *rq)
{
	struct wakee_flips f = { rq->idle_last_wakee, rq->idle_wakee_flips, rq->idle_wakee_flip_ts };

	return f;
}

static void record_wakee(struct fg_sys *sys, struct fg_task *waker, const struct fg_task *p, const struct fg_wake *w)
{
	struct fg_cpu *rq = cpu_rq(sys, (u32)w->this_cpu);
	struct wakee_flips f = waker ? flips_of_task(waker) : flips_of_idle(rq);

	count_wakee(&f, p, w->now);
	if (waker) {
		waker->last_wakee = f.last_wakee;
		waker->wakee_flips = f.flips;
		waker->wakee_flip_ts = f.ts;
	} else {
		rq->idle_last_wakee = f.last_wakee;
		rq->idle_wakee_flips = f.flips;
		rq->idle_wakee_flip_ts = f.ts;
	}
}

/* One waker of more wakees than fit its cache: spread them. As it will be after record_wakee. */
global_func u32 wake_wide(const struct select_ctx *s frame_arg)
{
	const struct fg_task *waker = s->w->current;
	const struct fg_cpu *rq = rq_of(s, s->w->this_cpu);
	struct wakee_flips f = waker ? flips_of_task(waker) : flips_of_idle(rq);
	u64 factor = rq->sd_llc_size;
	u64 hi, lo;
	u32 wide;

	count_wakee(&f, s->p, s->w->now);
	hi = max_u64(f.flips, s->p->wakee_flips);
	lo = min_u64(f.flips, s->p->wakee_flips);
	wide = lo >= factor && hi >= lo * factor;
	note(s, wide ? FG_NOTE_WIDE : FG_NOTE_NOT_WIDE, s->w->this_cpu, f.flips, s->p->wakee_flips);
	note_third(s, factor);
	return wide;
}

/*
 * Up to v5.6: p is too big for the smaller of waker's and previous CPU, and somewhere is a clearly bigger one. Then
 * neither of the two is a place to look around from.
 */
static u32 wake_cap(struct select_ctx *s)
{
	const struct fg_cpu *this_rq = rq_of(s, s->w->this_cpu);
	const struct fg_cpu *prev_rq = rq_of(s, s->prev);
	const struct fg_cpu *small = prev_rq->cpu_capacity_orig < this_rq->cpu_capacity_orig ? prev_rq : this_rq;
	u64 util, max, min = small->cpu_capacity_orig;
	u32 fits;

	if (!feat(s->sys, FG_WAKE_CAP) || !s->sys->asym_key || !this_rq->rd)
		return 0;
	max = this_rq->rd->max_cpu_capacity;
	if (pos_sub(max, min) < max >> 3)
		return 0;
	select_sync(s);
	util = uclamp_util(s->sys, &s->want);
	fits = fits_capacity(util, min);
	note(s, fits ? FG_NOTE_FITS : FG_NOTE_TOO_SMALL, small->id, util, min);
	return !fits;
}

/* Tasks on rq that a sync waker counts: itself, and the task that would run after it. */
static u32 nr_beside_waker(const struct select_ctx *s, const struct fg_cpu *rq)
{
	return rq->nr_running - (feat(s->sys, FG_SYNC_DELAYED) ? rq->h_nr_delayed : 0);
}

/* Idle CPUs decide first. -1: no opinion. */
static s32 wake_affine_idle(const struct select_ctx *s)
{
	s32 this_cpu = s->w->this_cpu, prev = s->prev;

	/* An idle waker is an interrupt; its CPU is as good as prev if they share a cache, but prev has p's data. */
	if (probe_idle(s, this_cpu) && share_llc(s, this_cpu, prev)) {
		u32 both = probe_idle(s, prev);

		s->v->target_rule = both ? FG_RULE_TARGET_BOTH_IDLE : FG_RULE_TARGET_IDLE;
		return both ? prev : this_cpu;
	}
	/* this CPU is about to be idle. */
	if (s->sync) {
		u32 nr_running = nr_beside_waker(s, rq_of(s, this_cpu));

		note(s, FG_NOTE_SYNC, this_cpu, nr_running, 0);
		if (nr_running == 1) {
			s->v->target_rule = FG_RULE_TARGET_SYNC;
			return this_cpu;
		}
	}
	if (feat(s->sys, FG_WA_PREV_IDLE) && probe_idle(s, prev)) {
		s->v->target_rule = FG_RULE_TARGET_PREV_IDLE;
		return prev;
	}
	return -1;
}

/* Which CPU would be less loaded for its capacity with p on it; half of imbalance_pct in favour of the waker's. */
static s32 wake_affine_weight(const struct select_ctx *s, const struct fg_domain *sd)
{
	const struct fg_cpu *this_rq = rq_of(s, s->w->this_cpu);
	const struct fg_cpu *prev_rq = rq_of(s, s->prev);
	s64 this_load = (s64)wake_load(s, this_rq);
	s64 prev_load = (s64)wake_load(s, prev_rq);
	u64 jiffies = clock_jiffies(s->sys, s->w->now);
	s64 task_load = (s64)task_h_load(prev_rq, s->p, s->p->avg.load_avg, jiffies);
	u32 bias = 100 + (u32)pos_sub(sd->imbalance_pct, 100) / 2;
	u32 id = FG_NOTE_LOAD_THIS;

	s->v->writes |= FG_W_H_LOAD_PREV;
	if (s->sync && s->w->current) {
		s64 leaving = (s64)task_h_load(this_rq, s->w->current, s->w->current->avg.load_avg, jiffies);

		s->v->writes |= FG_W_H_LOAD_THIS;
		if (leaving > this_load) {
			note(s, FG_NOTE_WAKER_LOAD, s->w->this_cpu, (u64)leaving, (u64)this_load);
			return s->w->this_cpu;
		}
		this_load -= leaving;
		id = FG_NOTE_LOAD_LEFT;
	}
	note(s, id, s->w->this_cpu, (u64)this_load, (u64)task_load);
	note_third(s, this_rq->cpu_capacity);
	note(s, FG_NOTE_LOAD_PREV, s->prev, (u64)prev_load, prev_rq->cpu_capacity);
	note_third(s, bias);
	this_load = (this_load + task_load) * 100 * (s64)prev_rq->cpu_capacity;
	prev_load = (prev_load - task_load) * (s64)bias * (s64)this_rq->cpu_capacity;
	if (s->sync)
		prev_load += 1;
	return this_load < prev_load ? s->w->this_cpu : -1;
}

/* this_cpu or prev. */
global_func s32 wake_affine(const struct select_ctx *s frame_arg, const struct fg_domain *sd state_arg)
{
	s32 cpu = wake_affine_idle(s);

	if (cpu < 0) {
		cpu = wake_affine_weight(s, sd);
		s->v->target_rule = cpu < 0 ? FG_RULE_TARGET_WEIGHT_PREV : FG_RULE_TARGET_WEIGHT_THIS;
	}
	return cpu == s->w->this_cpu ? cpu : s->prev;
}
