/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Energy-aware wakeups, find_energy_efficient_cpu: spec 7.6. Where capacities differ and there is enough of it, p goes where
 * its energy model says that it costs least: to its previous CPU, or in each performance domain the CPU with most to spare.
 *
 *	form		release	previous CPU is left if the best one
 *	margin		v5.0	saves more than 6 % of all energy
 *	margin515	v5.14	the same; but domains without a candidate do not count
 *	delta		v6.0	costs less
 *	tri		v6.3	fits better, or costs less; both below the minimum asked for: is bigger
 *
 * With delta, too, CPUs that lack but the minimum are ranked where mu-feec is on; tri says what releases have.
 */
#include "select.h"

/* What is known of the candidates so far. */
struct feec {
	u64 prev_delta; /* energy that p costs, ~0: not known */
	u64 best_delta;
	u64 base; /* energy of the domains without p */
	u64 prev_cap; /* what a CPU of their clocks may give */
	u64 best_cap;
	u64 task_busy;
	s32 prev_fits; /* 1, 0 or -1 as util_fits_cpu(); -1 also: no CPU yet */
	s32 best_fits;
	s32 best_cpu;
	u32 changed; /* a negative cost was seen */
};

/* The candidates of one performance domain. A spare capacity of 0 means no candidate: see spare_of(). */
struct feec_pd {
	struct energy_env env;
	struct clamped_util want; /* of p on the CPU at hand, with the clamps of those there */
	u64 prev_spare;
	u64 max_spare;
	s32 max_cpu; /* -1: none */
	s32 max_fits;
	u32 prev_usable;
};

/* A task that uses nothing stays where it is. */
static u32 is_trivial(const struct select_ctx *s)
{
	u64 min = s->sys->uclamp_used ? s->want.min : 0;
	u64 max = s->sys->uclamp_used ? s->want.max : FG_CAPACITY_SCALE;

	switch (feat(s->sys, FG_FEEC_TRIVIAL)) {
	case FG_FEEC_TRIVIAL_ESTIMATE:
		return !s->want.util;
	case FG_FEEC_TRIVIAL_CLAMPED:
		return !clamp_u64(s->want.util, min, max);
	}
	return !s->want.util && !min;
}

/* The smallest asymmetric domain of this CPU with prev in it. */
static const struct fg_domain *energy_domain(const struct select_ctx *s)
{
	const struct fg_domain *sd;

	for_each_domain(sd, rq_of(s, s->w->this_cpu)->sd_asym_cpucapacity) {
		if (mask_test(&sd->span, s->prev))
			return sd;
	}
	return 0;
}

/* The clamps of those on rq join p's. A CPU that idles has none; what its neighbour left in want may stay there. */
static void join_clamps(const struct select_ctx *s, const struct fg_cpu *rq, struct feec_pd *pd)
{
	if (!rq->uclamp_idle) {
		pd->want.min = max_u64(s->want.min, rq->uclamp[FG_UCLAMP_MIN].value);
		pd->want.max = max_u64(s->want.max, rq->uclamp[FG_UCLAMP_MAX].value);
	} else if (!feat(s->sys, FG_FEEC_STALE_UCLAMP)) {
		pd->want.min = s->want.min;
		pd->want.max = s->want.max;
	}
}

/* What lacks but the minimum is better than what does not fit. */
static u32 ranks_minimum(const struct select_ctx *s)
{
	return feat(s->sys, FG_FEEC) >= FG_FEEC_DELTA && misfit_unlink(s->sys, FG_MU_FEEC);
}

/* Whether rq would fit p and what is there: 1, 0 or -1. From v6.0 to v6.1 the clamped utilization is what there is then. */
static s32 candidate_fits(const struct select_ctx *s, const struct fg_cpu *rq, struct feec_pd *pd)
{
	u64 util = pd->want.util;
	s32 fits;

	if (feat(s->sys, FG_UFC)) {
		join_clamps(s, rq, pd);
		fits = util_fits_cpu(s->sys, &pd->want, rq);
		return fits < 0 && !ranks_minimum(s) ? 0 : fits;
	}
	if (feat(s->sys, FG_UCLAMP_FIT)) {
		frequency_clamps(s->sys, rq, s->p, &pd->want);
		util = within_clamps(s->sys, &pd->want, util);
	}
	if (feat(s->sys, FG_FEEC) >= FG_FEEC_DELTA)
		pd->want.util = util;
	return (s32)fits_capacity(util, rq->cpu_capacity);
}

/* What rq would have left; with feec-zero-spare one more, so that nothing left is still something. */
static u64 spare_of(const struct select_ctx *s, const struct fg_cpu *rq, u64 util)
{
	/* Only a CPU that fits by its maximum can be short. */
	u64 spare = feat(s->sys, FG_FEEC_SPARE_WRAP) ? rq->cpu_capacity - util : pos_sub(rq->cpu_capacity, util);

	return spare + feat(s->sys, FG_FEEC_ZERO_SPARE);
}

static noinline void note_candidate(const struct select_ctx *s, const struct fg_cpu *rq, const struct feec_pd *pd,
				    s32 fits)
{
	u32 id = fits > 0 ? FG_NOTE_FEEC_FITS : fits < 0 ? FG_NOTE_FEEC_BELOW_MIN : FG_NOTE_FEEC_TOO_SMALL;

	put_note(s, id, rq->id, pd->want.util, rq->cpu_capacity);
	note_third(s, fits < 0 ? pd->want.min : pos_sub(rq->cpu_capacity, pd->want.util));
}

/* Of the CPUs on one clock the one with most to spare is a candidate. The previous one is weighed in any case. */
static void keep_best(const struct select_ctx *s, const struct fg_cpu *rq, struct feec_pd *pd, s32 fits, u64 spare)
{
	if (fits < pd->max_fits || (fits == pd->max_fits && spare <= pd->max_spare)) {
		if (pd->max_cpu >= 0 && rq->id != s->prev)
			note(s, FG_NOTE_FEEC_LOST_CLOCK, rq->id, (u64)pd->max_cpu, 0);
		return;
	}
	if (pd->max_cpu >= 0 && pd->max_cpu != s->prev)
		note(s, FG_NOTE_FEEC_LOST_CLOCK, pd->max_cpu, (u64)rq->id, 0);
	pd->max_cpu = rq->id;
	pd->max_fits = fits;
	pd->max_spare = spare;
}

/* 1: rq is one, or prev or another one before was. */
global_func u32 consider_candidate(const struct select_ctx *s frame_arg, struct feec *f frame_arg,
				   struct feec_pd *pd frame_arg, const struct fg_cpu *rq state_arg)
{
	s32 fits;
	u64 spare;

	s->v->energy_cpus++;
	pd->want.util = cpu_util_next(s, rq, rq->id, 0);
	fits = candidate_fits(s, rq, pd);
	if (__builtin_expect(s->w->why != 0, 0))
		note_candidate(s, rq, pd, fits);
	if (!fits)
		return 0;
	spare = spare_of(s, rq, pd->want.util);
	if (rq->id == s->prev) {
		f->prev_fits = fits;
		pd->prev_spare = spare;
		pd->prev_usable = !feat(s->sys, FG_FEEC_PREV_SPARE) || spare;
		/* Up to v5.13 prev may also be the one with most to spare, and then it is the only candidate. */
		if (feat(s->sys, FG_FEEC) != FG_FEEC_MARGIN)
			return pd->prev_usable;
	}
	keep_best(s, rq, pd, fits, spare);
	/* A CPU with nothing to spare is not a candidate, except prev. */
	return pd->prev_usable || pd->max_spare;
}

/* All CPUs of a performance domain that p may use. 1: one of them is a candidate. */
global_func u32 find_candidates(const struct select_ctx *s frame_arg, struct feec *f frame_arg,
				struct feec_pd *pd frame_arg, const struct fg_domain *sd state_arg)
{
	u32 cpu, found = 0;

	for_each_cpu_and(cpu, &pd->env.em->span, &s->sys->active, s->sys->nr_cpus) {
		pd->env.pd_cap += pd->env.cap;
		if (mask_test(&sd->span, (s32)cpu) && cpu_allowed(s, (s32)cpu))
			found |= consider_candidate(s, f, pd, cpu_rq(s->sys, cpu));
	}
	return found;
}

/* What p costs on cpu: more than base, which the domain takes anyway. */
static u64 energy_delta(const struct select_ctx *s, struct feec *f, const struct feec_pd *pd, u64 base, s32 cpu)
{
	u64 energy = compute_energy(s, &pd->env, cpu);

	if (energy < base) {
		note(s, FG_NOTE_FEEC_NEGATIVE, cpu, energy, base);
		f->changed = feat(s->sys, FG_FEEC_NEGATIVE);
	} else {
		note(s, FG_NOTE_FEEC_COSTS, cpu, energy - base, base);
	}
	return energy - base;
}

/* The candidate beside prev of a domain against those of the domains before it. */
static void weigh_other(const struct select_ctx *s, struct feec *f, const struct feec_pd *pd, u64 base)
{
	u64 delta;

	if (pd->max_fits < f->best_fits) {
		note(s, FG_NOTE_FEEC_LOST_FIT, pd->max_cpu, (u64)f->best_cpu, 0);
		return;
	}
	if (pd->max_fits < 0 && pd->env.cap <= f->best_cap) {
		note(s, FG_NOTE_FEEC_LOST_CAP, pd->max_cpu, pd->env.cap, f->best_cap);
		return;
	}
	delta = energy_delta(s, f, pd, base, pd->max_cpu);
	if (f->changed)
		return;
	/* Where -1 is ranked prev may cost less and yet have to be left, so it is compared in the end. */
	if (pd->max_fits > 0 && delta >= f->best_delta && (f->best_fits > 0 || feat(s->sys, FG_FEEC) < FG_FEEC_DELTA)) {
		note(s, FG_NOTE_FEEC_LOST_ENERGY, pd->max_cpu, delta, f->best_delta);
		return;
	}
	f->best_cpu = pd->max_cpu;
	f->best_delta = delta;
	f->best_fits = pd->max_fits;
	f->best_cap = pd->env.cap;
	note(s, FG_NOTE_FEEC_BEST, f->best_cpu, 0, 0);
}

/* The candidates of a domain against those of the domains before it. 1: a cost was negative, and that is the end. */
global_func u32 weigh_candidates(const struct select_ctx *s frame_arg, struct feec *f frame_arg,
				 struct feec_pd *pd frame_arg)
{
	u64 base, least = feat(s->sys, FG_FEEC_PREV_SPARE) ? pd->prev_spare : 0;

	if (feat(s->sys, FG_FEEC) >= FG_FEEC_DELTA)
		pd->env.pd_busy = min_u64(pd->env.pd_cap, sum_busy(s, pd->env.em, -1, ~0ull));
	base = compute_energy(s, &pd->env, -1);
	f->base += base;
	if (pd->prev_usable) {
		u64 delta = energy_delta(s, f, pd, base, s->prev);

		if (f->changed)
			return 1;
		f->prev_delta = delta;
		f->prev_cap = pd->env.cap;
		f->best_delta = min_u64(f->best_delta, delta);
	}
	if (pd->max_cpu < 0 || pd->max_cpu == s->prev)
		return 0;
	if (pd->max_spare > least)
		weigh_other(s, f, pd, base);
	else
		note(s, FG_NOTE_FEEC_LOST_SPARE, pd->max_cpu, (u64)s->prev, 0);
	return f->changed;
}

/* One performance domain; the answer is that of weigh_candidates(). */
static inline u32 look_at_pd(const struct select_ctx *s, struct feec *f, const struct fg_em *em,
			     const struct fg_domain *sd)
{
	u32 first = energy_first_cpu(s->sys, em);
	struct feec_pd pd;

	if (first >= s->sys->nr_cpus)
		return 0;
	pd.env.em = em;
	pd.env.cap = energy_capacity(s->sys, cpu_rq(s->sys, first));
	pd.env.pd_cap = 0;
	pd.env.pd_busy = 0;
	pd.env.task_busy = f->task_busy;
	pd.want.util = 0;
	pd.want.min = s->want.min;
	pd.want.max = s->want.max;
	pd.prev_spare = 0;
	pd.max_spare = 0;
	pd.max_cpu = -1;
	pd.max_fits = -1;
	pd.prev_usable = 0;
	/* Up to v5.13 the energy of all domains counts for the margin. */
	if (!find_candidates(s, f, &pd, sd) && feat(s->sys, FG_FEEC) != FG_FEEC_MARGIN)
		return 0;
	return weigh_candidates(s, f, &pd);
}

static s32 feec_ends(const struct select_ctx *s, u32 rule, s32 cpu)
{
	s->v->rule = rule;
	return cpu;
}

/* Up to v5.19. Negative costs are huge ones here. */
static s32 feec_decides_by_margin(const struct select_ctx *s, const struct feec *f)
{
	u64 saved = f->prev_delta - f->best_delta, margin = (f->prev_delta + f->base) >> 4;

	if (f->prev_delta == ~0ull)
		return feec_ends(s, f->best_cpu == s->prev ? FG_RULE_FEEC_NONE : FG_RULE_FEEC_FIT, f->best_cpu);
	if (saved > margin)
		return feec_ends(s, FG_RULE_FEEC_ENERGY, f->best_cpu);
	note(s, FG_NOTE_FEEC_SAVES, s->prev, saved, margin);
	return feec_ends(s, saved ? FG_RULE_FEEC_MARGIN : FG_RULE_FEEC_PREV, s->prev);
}

static s32 feec_decides(const struct select_ctx *s, const struct feec *f)
{
	if (feat(s->sys, FG_FEEC) < FG_FEEC_DELTA)
		return feec_decides_by_margin(s, f);
	if (f->best_fits > f->prev_fits)
		return feec_ends(s, FG_RULE_FEEC_FIT, f->best_cpu);
	if (f->best_fits > 0 && f->best_delta < f->prev_delta)
		return feec_ends(s, FG_RULE_FEEC_ENERGY, f->best_cpu);
	/* Even if prev gives the minimum: only the size is looked at. */
	if (f->best_fits < 0 && f->best_cap > f->prev_cap)
		return feec_ends(s, FG_RULE_FEEC_CAP, f->best_cpu);
	return feec_ends(s, f->prev_delta == ~0ull ? FG_RULE_FEEC_NONE : FG_RULE_FEEC_PREV, s->prev);
}

static noinline s32 weigh_domains(struct select_ctx *s, const struct fg_pd *first, const struct fg_domain *sd)
{
	const struct fg_pd *pd = first;
	struct feec f;

	f.prev_delta = f.best_delta = ~0ull;
	f.base = 0;
	f.prev_cap = f.best_cap = 0;
	f.task_busy = task_busy_time(s);
	f.prev_fits = f.best_fits = -1;
	f.best_cpu = s->prev;
	f.changed = 0;
	for (u32 nr = 0; can_loop(nr, FG_NR_CPUS) && pd; pd = pd->next, nr++) {
		if (look_at_pd(s, &f, pd->em, sd))
			return feec_ends(s, FG_RULE_FEEC_NEGATIVE, s->prev);
	}
	return feec_decides(s, &f);
}

/* Android: the waker is about to leave its CPU to p, which fits there. */
static u32 comes_to_sync_waker(struct select_ctx *s)
{
	s32 this_cpu = s->w->this_cpu;

	select_sync(s);
	return s->sync && rq_of(s, this_cpu)->nr_running == 1 && cpu_allowed(s, this_cpu) &&
	       probe_fits(s, this_cpu) == 1;
}

/* -1: no answer, wakeups here go by idle CPUs. */
static s32 find_energy_efficient_cpu(struct select_ctx *s)
{
	const struct fg_root *rd = rq_of(s, s->w->this_cpu)->rd;
	const struct fg_domain *sd;
	s32 cpu;

	if (!s->sys->eas || !rd || !rd->pd)
		return -1;
	if (rd->overutilized) {
		note(s, FG_NOTE_FEEC_OVERUTILIZED, s->w->this_cpu, 0, 0);
		return -1;
	}
	if (feat(s->sys, FG_FEEC_SYNC) && comes_to_sync_waker(s))
		return feec_ends(s, FG_RULE_FEEC_SYNC, s->w->this_cpu);
	sd = energy_domain(s);
	if (!sd) {
		note(s, FG_NOTE_FEEC_NO_DOMAIN, s->w->this_cpu, (u64)s->prev, 0);
		return -1;
	}
	select_sync(s);
	if (is_trivial(s))
		return feec_ends(s, FG_RULE_FEEC_TRIVIAL, s->prev);
	s->row = FG_RULE_FEEC_ENERGY;
	cpu = weigh_domains(s, rd->pd, sd);
	s->row = FG_RULE_NONE;
	return cpu;
}
