/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Energy-aware wakeups written down a second time, each form for itself as spec 7.6 and 8.2 have it. Thousands of random
 * machines, states and mixtures of features are compared, and every way to end has to come up.
 */
#include "feec_kit.h"

static u64 seed = 11;

static u32 rnd(u32 n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)(seed >> 33) % n;
}

#define F(id) (sys.feat.value[FG_##id])
#define HUGE_DELTA (~0ull)

/* ---- the model ---- */

static const struct fg_task *task;
static s32 prev;
static u64 est; /* of the task alone, and with what it uses */
static u64 wants;
static u32 rule;

static u64 least(u64 a, u64 b)
{
	return a < b ? a : b;
}

static u64 most(u64 a, u64 b)
{
	return a > b ? a : b;
}

static u64 less(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

static u32 in(const struct fg_mask *m, u32 c)
{
	return m->bits[c / 64] >> (c % 64) & 1;
}

static u64 orig(u32 c)
{
	return cpus[c].cpu_capacity_orig;
}

static u64 act(u32 c)
{
	return less(orig(c), most(cpus[c].thermal.load_avg, cpus[c].cpufreq_pressure));
}

/* 2.7 */
static u64 util_next(u32 c, s32 dst, u32 boost)
{
	s64 util = (s64)cpus[c].cfs.util_avg, runnable = (s64)cpus[c].cfs.runnable_avg;
	s64 sum = cpus[c].est_enqueued;
	s32 moves = ((s32)c == dst) - ((s32)c == prev);

	/* The boost comes first up to v7.1, last since. */
	if (boost && F(RUNNABLE_BOOST) && !F(BOOST_EXACT) && runnable > util)
		util = runnable;
	util += moves * (s64)task->avg.util_avg;
	runnable += moves * (s64)task->avg.runnable_avg;
	if (util < 0)
		util = 0;
	if (boost && F(RUNNABLE_BOOST) && F(BOOST_EXACT) && runnable > util)
		util = runnable;
	if ((s32)c == dst)
		sum += (s64)est;
	return least(most((u64)util, (u64)sum), orig(c));
}

static u64 effective(u32 c, u64 util)
{
	u64 irq = cpus[c].irq.util_avg, sum = util + cpus[c].rt.util_avg + cpus[c].dl.util_avg;

	if (irq >= orig(c) || sum >= orig(c))
		return orig(c);
	return least(orig(c), sum * (orig(c) - irq) / orig(c) + irq);
}

/* 8.1 */
static u64 request(u32 c, u64 util, u32 with_task)
{
	const struct fg_cpu *rq = &cpus[c];
	u64 lo = rq->uclamp[0].value, hi = rq->uclamp[1].value, irq = rq->irq.util_avg, w;

	if (with_task) {
		u32 alone = rq->uclamp_idle && F(UCLAMP_IDLE_OWN);

		lo = alone ? task->uclamp_min : most(lo, task->uclamp_min);
		hi = alone ? task->uclamp_max : most(hi, task->uclamp_max);
	}
	if (F(FREQ_PERF_V2)) {
		u64 eff = effective(c, util);

		if (irq >= orig(c))
			return orig(c);
		lo = most(irq, lo);
		if (!sys.uclamp_used && rq->rt_nr_running)
			lo = orig(c);
		return most(lo, least(eff + eff / 4, least(orig(c), hi)));
	}
	w = util + rq->rt.util_avg;
	if (sys.uclamp_used)
		w = lo >= hi ? lo : least(most(w, lo), hi);
	else if (rq->rt_nr_running)
		return orig(c);
	if (irq >= orig(c) || w + rq->dl.util_avg >= orig(c))
		return orig(c);
	return least(orig(c), w * (orig(c) - irq) / orig(c) + irq);
}

static u64 cost(const struct fg_em *em, u32 i, u64 size)
{
	u64 top = em->opps[em->nr_opps - 1].khz, khz = em->opps[i].khz, uw = em->opps[i].power;

	switch (F(EM_COST)) {
	case 0:
		return top * (uw / 1000) / khz;
	case 1:
		return top * (uw / 1000 * 1000) / khz;
	case 2:
		return top * uw / khz;
	}
	return 10 * uw / (size * khz / top);
}

/* Energy of busy time at the operating point for max. pcap: no limit before v5.14. */
static u64 energy(const struct fg_em *em, u64 max, u64 busy, u64 pcap)
{
	u32 first = 0, n = em->nr_opps, i;
	u64 top = em->opps[n - 1].khz, size;

	while (!in(&em->span, first) || !in(&sys.active, first))
		first++;
	size = orig(first);
	for (i = 0; i < n - 1; i++) {
		u64 khz = em->opps[i].khz;
		u32 skip = 0, enough;

		for (u32 k = i + 1; k < n; k++)
			skip |= F(EM_EFFICIENT) && cost(em, i, size) >= cost(em, k, size);
		if (F(EM_COST) == 3)
			enough = size * khz / top >= least(max, pcap);
		else if (F(FREQ_PERF_V2))
			enough = khz >= top * least(max, pcap) / size;
		else if (F(FEEC) == FG_FEEC_MARGIN)
			enough = khz >= (top + top / 4) * max / size;
		else
			enough = khz >= top * least(least(max, pcap) + least(max, pcap) / 4, pcap) / size;
		if (enough && !skip)
			break;
	}
	return F(EM_COST) == 3 ? cost(em, i, size) * busy : cost(em, i, size) * busy / size;
}

struct domain {
	const struct fg_em *em;
	u64 pcap;
	u64 cap; /* all CPUs */
	u64 busy; /* v6.0 */
	u32 nr;
	u32 cpu[FG_NR_CPUS];
};

static u64 energy_of(const struct domain *d, s32 dst)
{
	u64 max = 0, busy = 0;

	for (u32 i = 0; i < d->nr; i++) {
		u32 c = d->cpu[i];

		max = most(max, request(c, util_next(c, dst, 1), (s32)c == dst));
		if (F(FEEC) == FG_FEEC_MARGIN)
			busy += effective(c, util_next(c, dst, 0));
		else if (F(FEEC) == FG_FEEC_MARGIN515)
			busy += least(d->pcap, effective(c, util_next(c, -1, 0) + ((s32)c == dst ? wants : 0)));
		else
			busy += effective(c, util_next(c, -1, 0));
	}
	if (F(FEEC) >= FG_FEEC_DELTA) {
		u64 irq = cpus[prev].irq.util_avg, size = orig((u32)prev);

		busy = least(busy, d->cap);
		if (dst >= 0)
			busy = least(d->cap, busy + (irq >= size ? size : wants * (size - irq) / size));
	}
	return energy(d->em, max, busy, d->pcap);
}

/* 7.1 */
static s32 util_fits(u64 u, u64 mn, u64 mx, u32 c)
{
	u64 inv = F(HW_PRESSURE) ? 0 : cpus[c].cpu_capacity_inverted;
	u64 co = inv ? inv : orig(c), ct = orig(c);
	s32 f = u * 1280 < (u64)cpus[c].cpu_capacity * 1024;

	if (!sys.uclamp_used)
		return f;
	if (F(HW_PRESSURE))
		ct = act(c);
	else if (inv)
		ct = inv;
	else if (F(UFC_THERMAL))
		ct = less(orig(c), cpus[c].thermal_pressure);
	if (!(co == 1024 && mx == 1024) && mx <= co)
		f = 1;
	mn = least(mn, mx);
	if (F(MISFIT_UNLINK) || F(MU_TRISTATE))
		return f && u < mn && mn > ct ? -1 : f;
	return u < mn && co != 1024 ? f && mn <= ct : f;
}

/* What each CPU was found to be, in the order of a domain: fit and spare. */
static s32 fit_of[FG_NR_CPUS];
static u64 spare_at[FG_NR_CPUS];

static void look(const struct domain *d, const struct fg_domain *sd)
{
	u64 mn = task->uclamp_min, mx = task->uclamp_max;
	u32 ranks = F(FEEC) >= FG_FEEC_DELTA && (F(MISFIT_UNLINK) || F(MU_FEEC));

	for (u32 i = 0; i < d->nr; i++) {
		u32 c = d->cpu[i];
		const struct fg_cpu *rq = &cpus[c];
		u64 u = util_next(c, (s32)c, 0), left = u;

		fit_of[i] = 0;
		spare_at[i] = 0;
		if (!in(&sd->span, c) || !in(&task->allowed, c))
			continue;
		if (F(UFC)) {
			if (!F(FEEC_STALE_UCLAMP) || !rq->uclamp_idle) {
				mn = rq->uclamp_idle ? task->uclamp_min : most(task->uclamp_min, rq->uclamp[0].value);
				mx = rq->uclamp_idle ? task->uclamp_max : most(task->uclamp_max, rq->uclamp[1].value);
			}
			fit_of[i] = util_fits(u, mn, mx, c);
			if (fit_of[i] < 0 && !ranks)
				fit_of[i] = 0;
		} else {
			u64 v = u;

			if (F(UCLAMP_FIT) && sys.uclamp_used) {
				u32 alone = rq->uclamp_idle && F(UCLAMP_IDLE_OWN);
				u64 lo = alone ? task->uclamp_min : most(task->uclamp_min, rq->uclamp[0].value);
				u64 hi = alone ? task->uclamp_max : most(task->uclamp_max, rq->uclamp[1].value);

				v = lo >= hi ? lo : least(most(u, lo), hi);
			}
			fit_of[i] = v * 1280 < (u64)rq->cpu_capacity * 1024;
			if (F(FEEC) >= FG_FEEC_DELTA)
				left = v;
		}
		spare_at[i] = F(FEEC_SPARE_WRAP) ? rq->cpu_capacity - left : less(rq->cpu_capacity, left);
	}
}

static u32 next_domain(const struct fg_pd *pd, const struct fg_domain *sd, struct domain *d)
{
	u32 first = FG_NR_CPUS;

	memset(d, 0, sizeof(*d));
	d->em = pd->em;
	for (u32 c = 0; c < sys.nr_cpus; c++) {
		if (!in(&pd->em->span, c) || !in(&sys.active, c))
			continue;
		first = first < c ? first : c;
		d->cpu[d->nr++] = c;
	}
	if (!d->nr)
		return 0;
	if (F(FEEC) == FG_FEEC_MARGIN)
		d->pcap = orig(first);
	else
		d->pcap = F(HW_PRESSURE) ? act(first) : less(orig(first), cpus[first].thermal_pressure);
	d->cap = d->pcap * d->nr;
	look(d, sd);
	return 1;
}

static s32 ends(u32 id, s32 cpu)
{
	rule = id;
	return cpu;
}

static s32 with_margin(const struct fg_domain *sd)
{
	u64 prev_delta = HUGE_DELTA, best_delta = HUGE_DELTA, sum = 0;
	s32 best = prev;
	struct domain d;

	for (const struct fg_pd *pd = root.pd; pd; pd = pd->next) {
		u64 max_spare = 0, base, e;
		s32 max = -1, has_prev = 0;

		if (!next_domain(pd, sd, &d))
			continue;
		for (u32 i = 0; i < d.nr; i++) {
			if (!fit_of[i])
				continue;
			if ((s32)d.cpu[i] == prev)
				has_prev = 1;
			if ((s32)d.cpu[i] == prev && F(FEEC) == FG_FEEC_MARGIN515)
				continue;
			if (spare_at[i] > max_spare) {
				max_spare = spare_at[i];
				max = (s32)d.cpu[i];
			}
		}
		if (F(FEEC) == FG_FEEC_MARGIN515 && max < 0 && !has_prev)
			continue;
		base = energy_of(&d, -1);
		sum += base;
		if (has_prev) {
			e = energy_of(&d, prev);
			if (e < base && F(FEEC_NEGATIVE))
				return ends(FG_RULE_FEEC_NEGATIVE, prev);
			prev_delta = e - base;
			best_delta = least(best_delta, prev_delta);
		}
		if (max < 0 || max == prev)
			continue;
		e = energy_of(&d, max);
		if (e < base && F(FEEC_NEGATIVE))
			return ends(FG_RULE_FEEC_NEGATIVE, prev);
		if (e - base < best_delta) {
			best_delta = e - base;
			best = max;
		}
	}
	if (prev_delta == HUGE_DELTA)
		return ends(best == prev ? FG_RULE_FEEC_NONE : FG_RULE_FEEC_FIT, best);
	if (prev_delta - best_delta > (prev_delta + sum) >> 4)
		return ends(FG_RULE_FEEC_ENERGY, best);
	return ends(prev_delta == best_delta ? FG_RULE_FEEC_PREV : FG_RULE_FEEC_MARGIN, prev);
}

/* Up to v6.2: the cheapest. */
static s32 by_delta(const struct fg_domain *sd)
{
	u64 prev_delta = HUGE_DELTA, best_delta = HUGE_DELTA;
	s32 best = -1, prev_fits = 0;
	struct domain d;

	for (const struct fg_pd *pd = root.pd; pd; pd = pd->next) {
		u64 max_spare = 0, prev_spare = 0, base, e;
		s32 max = -1, has_prev = 0;

		if (!next_domain(pd, sd, &d))
			continue;
		for (u32 i = 0; i < d.nr; i++) {
			u64 spare = spare_at[i] + F(FEEC_ZERO_SPARE);

			if (!fit_of[i])
				continue;
			if ((s32)d.cpu[i] == prev) {
				prev_fits = 1;
				prev_spare = spare;
				has_prev = !F(FEEC_PREV_SPARE) || spare > 0;
			} else if (spare > max_spare) {
				max_spare = spare;
				max = (s32)d.cpu[i];
			}
		}
		if (max < 0 && !has_prev)
			continue;
		base = energy_of(&d, -1);
		if (has_prev) {
			e = energy_of(&d, prev);
			if (e < base)
				return ends(FG_RULE_FEEC_NEGATIVE, prev);
			prev_delta = e - base;
			best_delta = least(best_delta, prev_delta);
		}
		if (max < 0 || (F(FEEC_PREV_SPARE) && max_spare <= prev_spare))
			continue;
		e = energy_of(&d, max);
		if (e < base)
			return ends(FG_RULE_FEEC_NEGATIVE, prev);
		if (e - base < best_delta) {
			best_delta = e - base;
			best = max;
		}
	}
	if (best >= 0 && best_delta < prev_delta)
		return ends(prev_fits ? FG_RULE_FEEC_ENERGY : FG_RULE_FEEC_FIT, best);
	return ends(prev_delta == HUGE_DELTA ? FG_RULE_FEEC_NONE : FG_RULE_FEEC_PREV, prev);
}

/* v6.3, letter by letter; spares are signed there, and start at -1 or 0. */
static s32 by_rank(const struct fg_domain *sd)
{
	u64 prev_delta = HUGE_DELTA, best_delta = HUGE_DELTA, prev_cap = 0, best_cap = 0;
	s32 best = -1, prev_fit = -1, best_fit = -1;
	s64 none = F(FEEC_ZERO_SPARE) ? -1 : 0;
	struct domain d;

	for (const struct fg_pd *pd = root.pd; pd; pd = pd->next) {
		s64 max_spare = none, prev_spare = none;
		s32 max = -1, max_fit = -1, has_prev = 0;
		u64 base, e;

		if (!next_domain(pd, sd, &d))
			continue;
		for (u32 i = 0; i < d.nr; i++) {
			s64 spare = (s64)spare_at[i];

			if (!fit_of[i])
				continue;
			if ((s32)d.cpu[i] == prev) {
				prev_spare = spare;
				prev_fit = fit_of[i];
				has_prev = 1;
			} else if (fit_of[i] > max_fit || (fit_of[i] == max_fit && spare > max_spare)) {
				max = (s32)d.cpu[i];
				max_fit = fit_of[i];
				max_spare = spare;
			}
		}
		if (F(FEEC_PREV_SPARE) && prev_spare <= none)
			has_prev = 0;
		if (max < 0 && !has_prev)
			continue;
		base = energy_of(&d, -1);
		if (has_prev) {
			e = energy_of(&d, prev);
			if (e < base)
				return ends(FG_RULE_FEEC_NEGATIVE, prev);
			prev_delta = e - base;
			prev_cap = d.pcap;
			best_delta = least(best_delta, prev_delta);
		}
		if (max < 0 || max_spare <= (F(FEEC_PREV_SPARE) ? prev_spare : none) || max_fit < best_fit)
			continue;
		if (max_fit < 0 && d.pcap <= best_cap)
			continue;
		e = energy_of(&d, max);
		if (e < base)
			return ends(FG_RULE_FEEC_NEGATIVE, prev);
		if (max_fit > 0 && best_fit > 0 && e - base >= best_delta)
			continue;
		best = max;
		best_delta = e - base;
		best_fit = max_fit;
		best_cap = d.pcap;
	}
	if (best_fit > prev_fit)
		return ends(FG_RULE_FEEC_FIT, best);
	if (best_fit > 0 && best_delta < prev_delta)
		return ends(FG_RULE_FEEC_ENERGY, best);
	if (best_fit < 0 && best_cap > prev_cap)
		return ends(FG_RULE_FEEC_CAP, best);
	return ends(prev_delta == HUGE_DELTA ? FG_RULE_FEEC_NONE : FG_RULE_FEEC_PREV, prev);
}

static u32 trivial(void)
{
	u64 mn = sys.uclamp_used ? task->uclamp_min : 0, mx = sys.uclamp_used ? task->uclamp_max : 1024;

	switch (F(FEEC_TRIVIAL)) {
	case 0:
		return wants == 0;
	case 1:
		return least(most(wants, mn), mx) == 0;
	}
	return wants == 0 && mn == 0;
}

/* -1: no answer. */
static s32 model(const struct fg_task *p, u32 this_cpu)
{
	const struct fg_domain *sd = cpus[this_cpu].sd_asym_cpucapacity;
	u32 e = most(p->est.enqueued, p->est.ewma);

	task = p;
	prev = p->cpu;
	est = F(EST_LSB) ? e | 1 : e;
	wants = most(p->avg.util_avg, est);
	while (sd && !in(&sd->span, (u32)prev))
		sd = sd->parent;
	if (!sys.eas || !root.pd || root.overutilized || !sd)
		return -1;
	if (trivial())
		return ends(FG_RULE_FEEC_TRIVIAL, prev);
	if (F(FEEC) < FG_FEEC_DELTA)
		return with_margin(sd);
	if (F(MISFIT_UNLINK) || F(MU_FEEC) || F(FEEC) == FG_FEEC_TRI)
		return by_rank(sd);
	return by_delta(sd);
}

/* ---- random states ---- */

/* Power grows faster than speed; if odd is set, anything goes. */
static void random_clock(u32 first, u32 last, u32 odd)
{
	struct fg_em *em = kit_clock(first, last);
	u32 n = 1 + rnd(6), mhz = 200 + rnd(400), scale = 1 + rnd(30);

	for (u32 i = 0; i < n; i++) {
		kit_opp(em, mhz, odd ? 1 + rnd(3000) : 1 + mhz / 100 * (mhz / 100) * scale / 10);
		em->opps[i].power += rnd(1000);
		mhz += 100 + rnd(600);
	}
}

static void random_features(void)
{
	u8 *f = sys.feat.value;
	u32 form = rnd(4), ufc = rnd(3);

	kit_preset_v511();
	f[FG_FEEC] = (u8)form;
	f[FG_UCLAMP_FIT] = ufc == 1;
	f[FG_UFC] = ufc == 2;
	f[FG_UFC_THERMAL] = (u8)rnd(2);
	f[FG_MISFIT_UNLINK] = ufc == 2 && rnd(2);
	f[FG_MU_TRISTATE] = ufc == 2 && !f[FG_MISFIT_UNLINK] && rnd(2);
	f[FG_MU_FEEC] = f[FG_MU_TRISTATE] && rnd(2);
	f[FG_HW_PRESSURE] = rnd(3) == 0;
	f[FG_FEEC_NEGATIVE] = form >= FG_FEEC_DELTA || rnd(2);
	f[FG_FEEC_PREV_SPARE] = form >= FG_FEEC_DELTA && rnd(3);
	f[FG_FEEC_ZERO_SPARE] = f[FG_FEEC_PREV_SPARE] && rnd(2);
	f[FG_FEEC_SPARE_WRAP] = form < FG_FEEC_DELTA && rnd(2);
	f[FG_FEEC_STALE_UCLAMP] = ufc == 2 && rnd(2);
	f[FG_FEEC_TRIVIAL] = (u8)rnd(3);
	f[FG_EM_EFFICIENT] = (u8)rnd(2);
	f[FG_RUNNABLE_BOOST] = (u8)rnd(2);
	f[FG_BOOST_EXACT] = (u8)rnd(2);
	f[FG_FREQ_PERF_V2] = (u8)rnd(2);
	f[FG_EM_COST] = (u8)rnd(f[FG_FREQ_PERF_V2] ? 4 : 3);
	f[FG_EST_LSB] = (u8)rnd(2);
	f[FG_UCLAMP_IDLE_OWN] = (u8)rnd(2);
}

/* Two or three clocks; sometimes a domain over the first two that has all capacities already. */
static void random_energy_machine(void)
{
	static const u32 sizes[] = { 160, 256, 498, 512, 768, 1024 };
	u32 nr[3] = { 1 + rnd(4), 1 + rnd(3), rnd(3) }, at = 0, odd = rnd(4) == 0;
	u32 nr_cpus = nr[0] + nr[1] + nr[2];

	kit_init(nr_cpus);
	nr_clocks = 0;
	for (u32 i = 0; i < 3; i++) {
		if (!nr[i])
			continue;
		kit_capacity(at, at + nr[i] - 1, i == 1 ? 1024 : sizes[rnd(6)]);
		random_clock(at, at + nr[i] - 1, odd);
		at += nr[i];
	}
	if (rnd(3) == 0 && nr[2]) {
		kit_level(FG_LEVEL_MC, SD_MC | FG_SD_ASYM_CPUCAPACITY, 117, nr[0] + nr[1]);
		kit_level(FG_LEVEL_PKG, SD_DEFAULT | FG_SD_ASYM_CPUCAPACITY, 117, nr_cpus);
	} else {
		kit_level(FG_LEVEL_MC, SD_MC | FG_SD_ASYM_CPUCAPACITY, 117, nr_cpus);
	}
	kit_finish();
}

static void random_cpu(struct fg_cpu *rq, u32 busy)
{
	u32 size = rq->cpu_capacity_orig;

	if (rnd(2))
		kit_busy((u32)rq->id);
	rq->cpu_capacity = rnd(3) ? size : 1 + rnd(size);
	rq->cfs.util_avg = rnd(size * busy / 100 + 1);
	rq->cfs.runnable_avg = rq->cfs.util_avg + rnd(300);
	rq->est_enqueued = rnd(size * busy / 100 + 1);
	rq->rt.util_avg = rnd(4) ? 0 : rnd(size);
	rq->dl.util_avg = rnd(8) ? 0 : rnd(size / 4);
	rq->irq.util_avg = rnd(4) ? 0 : rnd(size + 20);
	rq->rt_nr_running = rnd(10) == 0;
	rq->thermal_pressure = rnd(3) ? 0 : rnd(size + 10);
	rq->thermal.load_avg = rnd(3) ? 0 : rnd(size + 10);
	rq->cpufreq_pressure = rnd(3) ? 0 : rnd(size + 10);
	rq->cpu_capacity_inverted = rnd(6) ? 0 : 1 + rnd(size);
	rq->uclamp_idle = rnd(2) == 0;
	rq->uclamp[0].value = rq->uclamp_idle || rnd(2) ? 0 : rnd(1025);
	rq->uclamp[1].value = rnd(2) ? 1024 : rnd(1025);
}

static struct fg_task random_sleeper(void)
{
	struct fg_task p = kit_task(1, rnd(sys.nr_cpus));

	kit_util(&p, rnd(8) ? rnd(rnd(2) ? 200 : 1024) : 0);
	p.avg.runnable_avg = p.avg.util_avg + rnd(200);
	p.est.ewma = rnd(3) ? p.est.ewma : rnd(1024);
	p.uclamp_min = rnd(2) ? 0 : rnd(1025);
	p.uclamp_max = rnd(2) ? 1024 : rnd(1025);
	for (u32 c = 0; c < sys.nr_cpus; c++) {
		if (rnd(10) == 0 && mask_test(&p.allowed, (s32)c)) {
			mask_clear(&p.allowed, (s32)c);
			p.nr_allowed--;
		}
	}
	return p;
}

/* Before the first request there are no clamps. */
static void nobody_asked(struct fg_task *p)
{
	p->uclamp_min = 0;
	p->uclamp_max = 1024;
	for (u32 c = 0; c < sys.nr_cpus; c++) {
		cpus[c].uclamp[0].value = 0;
		cpus[c].uclamp[1].value = 1024;
		cpus[c].uclamp_idle = 1;
	}
}

static struct fg_task random_scene(void)
{
	static const u32 loads[] = { 10, 60, 110 };
	u32 busy = loads[rnd(3)];
	struct fg_task p;

	random_energy_machine();
	random_features();
	kit_energy();
	sys.uclamp_used = rnd(3) != 0;
	for (u32 c = 0; c < sys.nr_cpus; c++)
		random_cpu(&cpus[c], busy);
	if (rnd(8) == 0 && sys.nr_cpus > 2)
		mask_clear(&sys.active, (s32)rnd(sys.nr_cpus));
	root.overutilized = rnd(20) == 0;
	p = random_sleeper();
	if (!sys.uclamp_used)
		nobody_asked(&p);
	/* What it used last time is still there. */
	if (rnd(4))
		cpus[p.cpu].cfs.util_avg += p.avg.util_avg;
	return p;
}

TEST(every_form_decides_as_the_specification_has_it)
{
	u32 ended[FG_NR_RULES] = { 0 }, forms[4] = { 0 }, bad = 0;

	for (u32 i = 0; i < 400000 && bad < 5; i++) {
		struct fg_task p = random_scene();
		u32 this_cpu = rnd(sys.nr_cpus);
		struct fg_verdict v;
		s32 cpu;

		if (p.nr_allowed < 2)
			continue;
		cpu = model(&p, this_cpu);
		v = kit_wake(&p, this_cpu, FG_WF_TTWU);
		if (cpu < 0 || !mask_test(&p.allowed, cpu) || !mask_test(&sys.active, cpu))
			continue;
		ended[rule]++;
		forms[F(FEEC)]++;
		if (v.cpu == cpu && v.rule == rule)
			continue;
		printf("state %u, form %u: CPU %d by rule %u, expected %d by %u\n", i, F(FEEC), v.cpu, v.rule, cpu,
		       rule);
		bad++;
	}
	CHECK_EQ(bad, 0);
	for (u32 id = FG_RULE_FEEC_TRIVIAL; id <= FG_RULE_FEEC_PREV; id++)
		CHECK(ended[id] > 500);
	for (u32 form = 0; form < 4; form++)
		CHECK(forms[form] > 50000);
}

/* A task that find_energy_efficient_cpu() places does not reach the fast path: mail 000 says so of itself. */
TEST(mail_000_changes_nothing_while_energy_decides)
{
	u32 asked = 0;

	for (u32 i = 0; i < 50000; i++) {
		struct fg_task p = random_scene();
		u32 this_cpu = rnd(sys.nr_cpus);
		struct fg_verdict before, after;

		root.overutilized = 0;
		if (p.nr_allowed < 2 || model(&p, this_cpu) < 0)
			continue;
		asked++;
		sys.feat.value[FG_ASYM_PREV_FIRST] = 0;
		before = kit_wake(&p, this_cpu, FG_WF_TTWU);
		sys.feat.value[FG_ASYM_PREV_FIRST] = 1;
		after = kit_wake(&p, this_cpu, FG_WF_TTWU);
		CHECK(memcmp(&before, &after, sizeof(before)) == 0);
	}
	CHECK(asked > 30000);
}

static u32 speed_costs(const struct fg_em *em)
{
	for (u32 k = 1; k < em->nr_opps; k++) {
		if (em->opps[k].cost < em->opps[k - 1].cost)
			return 0;
	}
	return 1;
}

/* Work costs as long as speed does: no estimate with p is below that without it. Clamps can slow the neighbours down. */
TEST(a_task_more_never_costs_less)
{
	u32 looked = 0;

	for (u32 i = 0; i < 200000; i++) {
		struct fg_task p = random_scene();
		struct fg_wake w = { 0, 0, 0, FG_WF_TTWU, 0 };
		struct fg_verdict v;
		struct select_ctx s;
		struct feec_pd d;

		if (sys.uclamp_used)
			continue;
		memset(&v, 0, sizeof(v));
		memset(&s, 0, sizeof(s));
		s.sys = &sys;
		s.p = &p;
		s.w = &w;
		s.v = &v;
		s.prev = p.cpu;
		s.util_avg = p.avg.util_avg;
		s.runnable_avg = p.avg.runnable_avg;
		task_clamped_util(&sys, &p, s.util_avg, &s.want);
		for (const struct fg_pd *pd = root.pd; pd; pd = pd->next) {
			u32 cpu, first = energy_first_cpu(&sys, pd->em);
			u64 base;

			if (!speed_costs(pd->em) || first >= sys.nr_cpus)
				continue;
			memset(&d, 0, sizeof(d));
			d.env.em = pd->em;
			d.env.cap = energy_capacity(&sys, &cpus[first]);
			d.env.pd_cap = ~0ull;
			d.env.pd_busy = sum_busy(&s, pd->em, -1, ~0ull);
			d.env.task_busy = task_busy_time(&s);
			base = compute_energy(&s, &d.env, -1);
			for_each_cpu_and(cpu, &pd->em->span, &sys.active, sys.nr_cpus) {
				looked++;
				CHECK(compute_energy(&s, &d.env, (s32)cpu) >= base);
			}
		}
	}
	CHECK(looked > 50000);
}

int main(void)
{
	RUN(every_form_decides_as_the_specification_has_it);
	RUN(mail_000_changes_nothing_while_energy_decides);
	RUN(a_task_more_never_costs_less);
	return test_report();
}
