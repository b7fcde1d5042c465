/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * schedutil, the governor that sets clocks by utilization (spec 8.1):
 *
 *	utilization of a CPU changes -> not too soon after the last change of its clock?
 *	-> utilization of all CPUs of the clock -> the largest one's frequency -> operating point -> another one than before?
 *
 * A CPU whose utilization was not updated for long counts with what it had: since v4.18 none is left out as stale.
 *
 * DEVIATION: clocks are set from the scheduler's own path ("fast switch") also where a driver would need the kthread of
 * the governor. Any CPU may set any clock. CPUs of one clock have one capacity. No driver asks to hear of every change of
 * its limits.
 */
#include "sched.h"

#define IOWAIT_BOOST_MIN (FG_CAPACITY_SCALE / 8)
#define FG_NSEC_PER_USEC 1000ull
#define SUGOV_DELAY_US 1000ull /* where no transition time is known */
#define SUGOV_DELAY_MAX_US 10000ull /* up to v6.9 */

/* ns from since to now. Clocks of two CPUs differ a little: 0 if now is before since. */
static u64 ns_since(u64 now, u64 since)
{
	return pos_sub(now, since);
}

/* ---- boost after I/O ------------------------------------------------------------------------------------------- */

/* 1: the CPU was quiet for more than a tick, which ends a boost; a new one begins at the bottom. */
static u32 iowait_reset(const struct fg_sys *sys, struct fg_sugov_cpu *sc, u64 now, u32 wanted)
{
	if (ns_since(now, sc->last_update) <= FG_NSEC_PER_SEC / nonzero(sys->hz))
		return 0;
	sc->iowait_boost = wanted ? IOWAIT_BOOST_MIN : 0;
	sc->iowait_pending = wanted;
	return 1;
}

/* wanted: a task is back from I/O. Doubles once for all that come back between two looks at the clock. */
static void iowait_note(const struct fg_sys *sys, struct fg_sugov_cpu *sc, u64 now, u32 wanted)
{
	if (sc->iowait_boost && iowait_reset(sys, sc, now, wanted))
		return;
	if (!wanted || sc->iowait_pending)
		return;
	sc->iowait_pending = 1;
	if (sc->iowait_boost)
		sc->iowait_boost = (u32)min_u64(2 * (u64)sc->iowait_boost, FG_CAPACITY_SCALE);
	else
		sc->iowait_boost = IOWAIT_BOOST_MIN;
}

/* The utilization that rq is boosted to; halves if no task came back from I/O since the last request. */
static u64 iowait_apply(const struct fg_sys *sys, struct fg_cpu *rq, u64 now)
{
	struct fg_sugov_cpu *sc = &rq->sugov_cpu;

	if (!sc->iowait_boost || iowait_reset(sys, sc, now, 0))
		return 0;
	if (!sc->iowait_pending) {
		sc->iowait_boost >>= 1;
		if (sc->iowait_boost < IOWAIT_BOOST_MIN) {
			sc->iowait_boost = 0;
			return 0;
		}
	}
	sc->iowait_pending = 0;
	return ((u64)sc->iowait_boost * rq->cpu_capacity_orig) >> 10;
}

/* ---- from utilization to an operating point -------------------------------------------------------------------- */

global_func u64 sugov_cpu_util(const struct fg_sys *sys state_arg, struct fg_cpu *rq state_arg, u64 now)
{
	u64 boost = iowait_apply(sys, rq, now);

	if (feat(sys, FG_FREQ_PERF_V2))
		rq->sugov_cpu.min = (u32)least_request(sys, rq, rq->uclamp[FG_UCLAMP_MIN].value);
	return fg_frequency_util(sys, rq, fg_cpu_util_boost(sys, rq), 0, boost);
}

/* The most that a CPU of the clock wants. */
static u64 sugov_util(const struct fg_sys *sys, const struct fg_sugov *sg, struct fg_cpu *rq, u64 now)
{
	u64 util = 0;
	u32 cpu;

	if (!sg->shared)
		return sugov_cpu_util(sys, rq, now);
	for_each_cpu(cpu, &sg->em->span, sys->nr_cpus)
		util = max_u64(util, sugov_cpu_util(sys, cpu_rq(sys, cpu), now));
	return util;
}

/* Of the highest frequency top; may be more than that. */
static u32 util_khz(const struct fg_sys *sys, u64 util, u64 top, u64 capacity)
{
	if (!feat(sys, FG_FREQ_PERF_V2) && feat(sys, FG_FREQ_UTIL_MARGIN))
		util = with_headroom(util);
	if (!feat(sys, FG_FREQ_PERF_V2) && !feat(sys, FG_FREQ_UTIL_MARGIN))
		top = with_headroom(top);
	return (u32)(top * util / nonzero(capacity));
}

static u32 top_khz(const struct fg_em *em)
{
	return em->opps[em->nr_opps - 1].khz;
}

/*
 * The lowest operating point that is not slower than khz, or else the highest that the limit allows. Inefficient ones
 * are skipped, unless the limit leaves no efficient one that is not slower than khz.
 */
static u32 resolve_khz(const struct fg_sugov *sg, u32 khz)
{
	const struct fg_em *em = sg->em;
	u32 i, enough = 0, highest = em->opps[0].khz;

	khz = (u32)min_u64(khz, sg->max_khz);
	for (i = 0; can_loop(i, em->nr_opps) && i < em->nr_opps && em->opps[i].khz <= sg->max_khz; i++) {
		highest = em->opps[i].khz;
		if (highest < khz)
			continue;
		if (!em->opps[i].inefficient)
			return highest;
		if (!enough)
			enough = highest;
	}
	return enough ? enough : highest;
}

static u32 next_khz(const struct fg_sys *sys, struct fg_sugov *sg, u64 util, u64 capacity)
{
	u32 khz = util_khz(sys, util, top_khz(sg->em), capacity);

	if (khz == sg->raw_khz && !sg->need_update)
		return sg->khz;
	sg->raw_khz = khz;
	return resolve_khz(sg, khz);
}

/* ---- whether the clock changes --------------------------------------------------------------------------------- */

/* A maximum clamp keeps rq from more. */
static u32 is_capped(const struct fg_sys *sys, const struct fg_cpu *rq)
{
	u32 max = rq->uclamp[FG_UCLAMP_MAX].value;

	if (!sys->uclamp_used || max == FG_CAPACITY_SCALE)
		return 0;
	return fg_cpu_util(rq) + rq->rt.util_avg >= max;
}

/* The CPU has not idled since it was last asked. */
static u32 never_idled(struct fg_cpu *rq)
{
	u32 never = rq->idle_calls == rq->sugov_cpu.idle_calls;

	rq->sugov_cpu.idle_calls = rq->idle_calls;
	return never;
}

/* Slowing the only CPU of a clock down would be premature. */
static u32 holds_frequency(const struct fg_sys *sys, const struct fg_sugov *sg, struct fg_cpu *rq)
{
	u32 version = feat(sys, FG_FREQ_HOLD);

	if (version == FG_FREQ_HOLD_V54)
		return !sg->need_update && never_idled(rq);
	if (version >= FG_FREQ_HOLD_V518 && is_capped(sys, rq))
		return 0;
	return never_idled(rq) && !(version >= FG_FREQ_HOLD_V66 && sg->need_update);
}

/* For a clock of rq alone. */
static u32 next_khz_single(const struct fg_sys *sys, struct fg_sugov *sg, struct fg_cpu *rq, u64 util, u32 *held)
{
	u32 raw_khz = sg->raw_khz;
	u32 khz = next_khz(sys, sg, util, rq->cpu_capacity_orig);

	if (!holds_frequency(sys, sg, rq) || khz >= sg->khz)
		return khz;
	*held = 1;
	/* What was computed has not been asked for. */
	sg->raw_khz = feat(sys, FG_FREQ_HOLD) == FG_FREQ_HOLD_V54 ? 0 : raw_khz;
	return sg->khz;
}

static u32 may_change(const struct fg_sys *sys, struct fg_sugov *sg, u64 now)
{
	if (sg->limits_changed) {
		sg->limits_changed = 0;
		sg->need_update = 1;
		return 1;
	}
	/* freq-dl */
	if (sg->need_update && feat(sys, FG_FREQ_DL))
		return 1;
	return now >= sg->last_change && now - sg->last_change >= sg->delay;
}

/* 1: khz is asked for. */
static u32 change_to(const struct fg_sys *sys, struct fg_sugov *sg, u64 now, u32 khz)
{
	u32 counts = sg->need_update && feat(sys, FG_FREQ_LIMITS_COUNT);

	sg->need_update = 0;
	if (khz == sg->khz && !counts)
		return 0;
	sg->khz = khz;
	sg->last_change = now;
	sg->asked = 1;
	return 1;
}

/* FG_FREQUENCY_* */
global_func u32 cpufreq_update_util(const struct fg_sys *sys state_arg, struct fg_cpu *rq state_arg, u32 flags)
{
	struct fg_sugov *sg = rq->sugov;
	u64 now = rq->clock, util;
	u32 khz, held = 0;

	if (!sg)
		return FG_FREQUENCY_NONE;
	iowait_note(sys, &rq->sugov_cpu, now, flags & FG_FREQUENCY_IOWAIT);
	rq->sugov_cpu.last_update = now;
	/* More is promised than the clock was set for. */
	if (rq->dl_bw > rq->sugov_cpu.min) {
		if (feat(sys, FG_FREQ_DL))
			sg->need_update = 1;
		else
			sg->limits_changed = 1;
	}
	if (!may_change(sys, sg, now))
		return FG_FREQUENCY_SOON;
	util = sugov_util(sys, sg, rq, now);
	if (sg->shared)
		khz = next_khz(sys, sg, util, rq->cpu_capacity_orig);
	else
		khz = next_khz_single(sys, sg, rq, util, &held);
	if (change_to(sys, sg, now, khz))
		return FG_FREQUENCY_ASKED;
	return held ? FG_FREQUENCY_HELD : FG_FREQUENCY_SAME;
}

u32 fg_update_frequency(const struct fg_sys *sys, struct fg_cpu *rq, u32 flags)
{
	return cpufreq_update_util(sys, rq, flags);
}

/* ---- the clock itself ------------------------------------------------------------------------------------------ */

/* ns between two changes, for a transition that takes us. */
static u64 sugov_delay(const struct fg_sys *sys, u64 us)
{
	if (!us)
		return SUGOV_DELAY_US * FG_NSEC_PER_USEC;
	if (feat(sys, FG_FREQ_SOON))
		return (us + us / 2) * FG_NSEC_PER_USEC;
	return min_u64(us * 1000, SUGOV_DELAY_MAX_US) * FG_NSEC_PER_USEC;
}

void fg_sugov_start(const struct fg_sys *sys, struct fg_sugov *sg, u64 transition)
{
	u32 first = mask_next_and(&sg->em->span, &sg->em->span, 0, sys->nr_cpus);

	/* The driver says whole us, and not less than it takes. */
	sg->delay = sugov_delay(sys, (transition + FG_NSEC_PER_USEC - 1) / FG_NSEC_PER_USEC);
	sg->shared = mask_next_and(&sg->em->span, &sg->em->span, first + 1, sys->nr_cpus) < sys->nr_cpus;
	sg->max_khz = top_khz(sg->em);
	/* cpufreq calls limits() right after start(), so the first change does not wait for the delay. */
	sg->limits_changed = 1;
}

void fg_sugov_limits(struct fg_sugov *sg, u32 khz)
{
	khz = (u32)clamp_u64(khz, sg->em->opps[0].khz, top_khz(sg->em));
	if (khz == sg->max_khz)
		return;
	sg->max_khz = khz;
	sg->limits_changed = 1;
}
