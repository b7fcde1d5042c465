/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether a task fits a CPU, in every version (spec 7.1 to 7.5), the scan for an idle CPU that it fits (4.6), and what
 * limits of the clock take (2.7). The machine is mail 003's: little 160, medium 498, big 1024.
 */
#include "kit.h"

#define L 0 /* CPUs 0 and 1 */
#define M 2 /* 2 and 3 */
#define B 4 /* 4 and 5 */

static u64 seed = 3;

static u32 rnd(u32 n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)(seed >> 33) % n;
}

static void preset(u32 ufc, u32 thermal, u32 unlink)
{
	kit_preset_v511();
	sys.feat.value[FG_UCLAMP_FIT] = 0;
	sys.feat.value[FG_UFC] = (u8)ufc;
	sys.feat.value[FG_UFC_THERMAL] = (u8)thermal;
	sys.feat.value[FG_MISFIT_UNLINK] = (u8)unlink;
}

static void pixel6(void)
{
	kit_init(6);
	kit_capacity(0, 1, 160);
	kit_capacity(2, 3, 498);
	cpus[1].pd = 0;
	cpus[3].pd = 2;
	cpus[5].pd = 4;
	kit_level(FG_LEVEL_MC, SD_MC | FG_SD_ASYM_CPUCAPACITY, 117, 6);
	kit_finish();
	sys.uclamp_used = 1;
	preset(1, 1, 0);
}

static s32 fits(u32 cpu, u32 util, u32 min, u32 max)
{
	struct clamped_util want = { util, min, max };

	return task_fits_cpu(&sys, &want, &cpus[cpu]);
}

/* Heat takes tp, at this instant and on average, and the balance pass has seen it. */
static void throttle(u32 cpu, u32 tp)
{
	cpus[cpu].thermal_pressure = tp;
	cpus[cpu].thermal.load_avg = tp;
	fg_update_group_capacity(&sys, cpus[cpu].sd, &cpus[cpu], 0);
}

TEST(a_boosted_small_task_on_each_cpu)
{
	pixel6();
	/* 512 > 160: v6.2 says no, v6.3 says all but the minimum. 100 < 0.8 x 160 = 128 */
	CHECK_EQ(fits(L, 100, 512, 1024), 0);
	CHECK_EQ(fits(M, 100, 512, 1024), 0);
	CHECK_EQ(fits(B, 100, 512, 1024), 1);
	preset(1, 1, 1);
	CHECK_EQ(fits(L, 100, 512, 1024), -1);
	CHECK_EQ(fits(M, 100, 512, 1024), -1);
	CHECK_EQ(fits(B, 100, 512, 1024), 1);
	/* not by utilization either: 128 is not below 0.8 x 160 */
	CHECK_EQ(fits(L, 128, 512, 1024), 0);
	/* the minimum is compared without margin */
	CHECK_EQ(fits(M, 100, 498, 1024), 1);
	CHECK_EQ(fits(M, 100, 499, 1024), -1);
	/* it says nothing to a task that uses as much: 398 is the largest that fits 498 */
	CHECK_EQ(fits(M, 398, 398, 1024), 1);
	CHECK_EQ(fits(M, 399, 512, 1024), 0);
}

TEST(a_capped_task_fits_where_the_cap_does)
{
	for (u32 unlink = 0; unlink < 2; unlink++) {
		pixel6();
		preset(1, 1, unlink);
		CHECK_EQ(fits(L, 300, 0, 160), 1);
		CHECK_EQ(fits(M, 300, 0, 160), 1);
		CHECK_EQ(fits(B, 300, 0, 160), 1);
		CHECK_EQ(fits(L, 300, 0, 161), 0);
		/* a minimum above the maximum counts as the maximum */
		CHECK_EQ(fits(L, 100, 512, 160), 1);
		/* without a cap the biggest CPU may be too small, with one it never is */
		CHECK_EQ(fits(B, 820, 0, 1024), 0);
		CHECK_EQ(fits(B, 820, 0, 1023), 1);
	}
}

/* B gives 500: cap 500, tp 524. */
TEST(a_throttled_big_cpu)
{
	pixel6();
	throttle(B, 524);
	CHECK_EQ(cpus[B].cpu_capacity, 500);
	/* v6.2 exempts it for its 1024 at top */
	CHECK_EQ(fits(B, 100, 512, 1024), 1);
	preset(1, 1, 1);
	CHECK_EQ(fits(B, 100, 512, 1024), -1);
	/* no_thermal */
	preset(1, 0, 1);
	CHECK_EQ(fits(B, 100, 512, 1024), 1);
	/* the pressure of the instant, not its average */
	preset(1, 1, 1);
	cpus[B].thermal_pressure = 0;
	CHECK_EQ(fits(B, 100, 512, 1024), 1);
}

TEST(a_big_cpu_inverted_by_heat)
{
	pixel6();
	sys.feat.value[FG_CAP_INVERSION] = 1;
	sys.eas = 1;
	/* 500: the medium CPUs have 498 */
	throttle(B, 524);
	CHECK_EQ(cpus[B].cpu_capacity_inverted, 0);
	CHECK_EQ(fits(B, 100, 512, 1024), 1);
	/* 424 < 498 */
	throttle(B, 600);
	CHECK_EQ(cpus[B].cpu_capacity_inverted, 424);
	CHECK_EQ(fits(B, 100, 512, 1024), 0);
	/* as a maximum it is compared with 424 as well; and being no 1024 it is not saturated */
	CHECK_EQ(fits(B, 400, 0, 425), 0);
	CHECK_EQ(fits(B, 400, 0, 424), 1);
	/* not against one on the same clock; equal ones on another by what is left of them */
	pixel6();
	sys.feat.value[FG_CAP_INVERSION] = 1;
	sys.eas = 1;
	throttle(5, 100);
	CHECK_EQ(cpus[5].cpu_capacity_inverted, 0);
	cpus[5].pd = 5;
	throttle(B, 100);
	CHECK_EQ(cpus[B].cpu_capacity_inverted, 0);
	throttle(5, 99);
	throttle(B, 100);
	CHECK_EQ(cpus[B].cpu_capacity_inverted, 924);
	/* bigger ones do not matter */
	throttle(M, 10);
	CHECK_EQ(cpus[M].cpu_capacity_inverted, 0);
	/* nor does any without energy awareness, without the feature, or in another partition */
	sys.eas = 0;
	throttle(B, 600);
	CHECK_EQ(cpus[B].cpu_capacity_inverted, 0);
	sys.eas = 1;
	sys.feat.value[FG_CAP_INVERSION] = 0;
	throttle(B, 600);
	CHECK_EQ(cpus[B].cpu_capacity_inverted, 0);
	sys.feat.value[FG_CAP_INVERSION] = 1;
	memset(&root.span, 0, sizeof(root.span));
	mask_set(&root.span, B);
	throttle(B, 600);
	CHECK_EQ(cpus[B].cpu_capacity_inverted, 0);
}

TEST(up_to_v61_the_clamped_utilization_is_compared)
{
	pixel6();
	preset(0, 0, 0);
	sys.feat.value[FG_UCLAMP_FIT] = 1;
	/* on medium CPUs boosts end at 398 */
	CHECK_EQ(fits(M, 100, 398, 1024), 1);
	CHECK_EQ(fits(M, 100, 399, 1024), 0);
	CHECK_EQ(fits(B, 100, 819, 1024), 1);
	CHECK_EQ(fits(B, 100, 820, 1024), 0);
	CHECK_EQ(fits(L, 500, 0, 127), 1);
	CHECK_EQ(fits(L, 500, 0, 128), 0);
	/* a minimum above the maximum: the maximum */
	CHECK_EQ(fits(L, 500, 300, 127), 1);
	/* v5.4, v5.5 */
	sys.feat.value[FG_UCLAMP_FIT] = 0;
	CHECK_EQ(fits(M, 100, 399, 1024), 1);
	CHECK_EQ(fits(L, 500, 0, 127), 0);
}

TEST(clamps_say_nothing_before_the_first_request)
{
	for (u32 ufc = 0; ufc < 2; ufc++) {
		pixel6();
		preset(ufc, ufc, ufc);
		sys.feat.value[FG_UCLAMP_FIT] = !ufc;
		sys.uclamp_used = 0;
		CHECK_EQ(fits(L, 100, 512, 1024), 1);
		CHECK_EQ(fits(L, 300, 0, 160), 0);
	}
}

/* 7.1 written down once more, without shortcuts. */
static s32 plain_fits(u32 cpu, u32 u, u32 mn, u32 mx)
{
	const u8 *f = sys.feat.value;
	const struct fg_cpu *c = &cpus[cpu];
	u32 cap = c->cpu_capacity, co, ct, act, avg = (u32)c->thermal.load_avg, fit;

	if (!f[FG_UFC]) {
		if (f[FG_UCLAMP_FIT] && sys.uclamp_used) {
			if (mn > mx)
				u = mx;
			else
				u = u < mn ? mn : u > mx ? mx : u;
		}
		return u * 1280 < cap * 1024;
	}
	fit = u * 1280 < cap * 1024;
	if (!sys.uclamp_used)
		return (s32)fit;
	co = ct = c->cpu_capacity_orig;
	if (f[FG_HW_PRESSURE]) {
		act = avg > c->cpufreq_pressure ? avg : c->cpufreq_pressure;
		ct = co - act;
	} else if (c->cpu_capacity_inverted) {
		co = ct = c->cpu_capacity_inverted;
	} else if (f[FG_UFC_THERMAL]) {
		ct = co - c->thermal_pressure;
	}
	if (!(co == 1024 && mx == 1024) && mx <= co)
		fit = 1;
	if (mn > mx)
		mn = mx;
	if (!f[FG_MISFIT_UNLINK] && !f[FG_MU_TRISTATE]) {
		if (u < mn && co != 1024)
			fit = fit && mn <= ct;
		return (s32)fit;
	}
	if (fit && u < mn && mn > ct)
		return -1;
	return (s32)fit;
}

TEST(the_test_is_the_table_of_7_1)
{
	u32 seen[3] = { 0 };

	pixel6();
	for (u32 i = 0; i < 200000 && !test_bad; i++) {
		u32 cpu, u, mn, mx;
		s32 got;

		for (u32 id = 0; id < FG_NR_FEATURES; id++) {
			if (id == FG_UFC || id == FG_UFC_THERMAL || id == FG_MISFIT_UNLINK || id == FG_MU_TRISTATE ||
			    id == FG_HW_PRESSURE || id == FG_UCLAMP_FIT)
				sys.feat.value[id] = (u8)rnd(2);
		}
		sys.uclamp_used = rnd(4) != 0;
		cpu = rnd(6);
		cpus[cpu].thermal_pressure = rnd(cpus[cpu].cpu_capacity_orig);
		cpus[cpu].cpufreq_pressure = rnd(cpus[cpu].cpu_capacity_orig);
		cpus[cpu].thermal.load_avg = rnd(cpus[cpu].cpu_capacity_orig);
		cpus[cpu].cpu_capacity = 1 + rnd(cpus[cpu].cpu_capacity_orig);
		cpus[cpu].cpu_capacity_inverted = rnd(4) ? 0 : 1 + rnd(cpus[cpu].cpu_capacity_orig);
		u = rnd(1025);
		mn = rnd(2) ? 0 : rnd(1025);
		mx = rnd(2) ? 1024 : rnd(1025);
		got = fits(cpu, u, mn, mx);
		CHECK_EQ(got, plain_fits(cpu, u, mn, mx));
		seen[got + 1]++;
	}
	CHECK(seen[0] > 1000 && seen[1] > 1000 && seen[2] > 1000);
}

/* ---- users, 7.3 ---- */

/* select_idle_capacity() for a sleeper of 200 that asks for 512. */
static s32 sic(s32 target, struct fg_why *why)
{
	struct fg_task p = kit_task(1, (u32)target);
	struct fg_wake w = { 0, 1000000, target, FG_WF_TTWU, why };
	struct fg_verdict v;
	struct select_ctx s;

	kit_util(&p, 200);
	p.uclamp_min = 512;
	memset(&s, 0, sizeof(s));
	memset(&v, 0, sizeof(v));
	s.sys = &sys;
	s.p = &p;
	s.w = &w;
	s.v = &v;
	s.prev = s.target = target;
	s.util_avg = 200;
	select_sync(&s);
	return select_idle_capacity(&s, cpus[target].sd);
}

/*
 * L: 200 does not fit 160, f 0, capacity 160. M 2: f -1 (512 > 498), 498. M 3 under pressure of 18: f -1, 480. v6.2: all
 * f 0, largest cap. With an idle big CPU that gives 1024: that one.
 */
TEST(the_scan_prefers_who_lacks_only_the_minimum)
{
	for (s32 target = 0; target < 6; target++) {
		for (u32 unlink = 0; unlink < 2; unlink++) {
			pixel6();
			preset(1, 1, unlink);
			throttle(3, 18);
			kit_busy_range(B, 5);
			CHECK_EQ(sic(target, 0), 2);
			kit_idle(5);
			CHECK_EQ(sic(target, 0), 5);
		}
	}
}

/* A small load on M with a big CPU throttled to less than M: cap decides among 0s, the averaged heat among -1s. */
TEST(the_scan_ranks_by_what_each_state_is_about)
{
	pixel6();
	kit_busy_range(0, 3);
	kit_idle(M);
	kit_idle(B);
	kit_busy(5);
	/* B: 400 left, f -1 (512 > 400); M: f -1, 498. RT took of M's cap, which only utilization minds */
	throttle(B, 624);
	cpus[M].cpu_capacity = 300;
	preset(1, 1, 1);
	CHECK_EQ(sic(L, 0), M);
	/* v6.3 without its part in the scan: by cap, 400 > 300 */
	preset(1, 1, 0);
	sys.feat.value[FG_MU_TRISTATE] = 1;
	CHECK_EQ(sic(L, 0), B);
	sys.feat.value[FG_MU_SIC] = 1;
	CHECK_EQ(sic(L, 0), M);
	/* the average of the heat, not the instant: it has just begun */
	preset(1, 1, 1);
	cpus[B].thermal.load_avg = 500;
	CHECK_EQ(sic(L, 0), B);
	/* any -1 beats every 0: M cannot take 200 any more */
	cpus[M].cpu_capacity = 250;
	cpus[B].thermal.load_avg = 624;
	cpus[B].cpu_capacity = 260;
	CHECK_EQ(sic(L, 0), B);
	/* all 0: by cap */
	cpus[B].cpu_capacity = 240;
	CHECK_EQ(sic(L, 0), M);
	/* a -1 seen first is not beaten by a 0 with more: M's heat on average leaves 98 of 498 */
	cpus[M].cpu_capacity = 300;
	cpus[M].thermal.load_avg = 400;
	CHECK_EQ(sic(L, 0), M);
	cpus[M].thermal.load_avg = 0;
	/* v6.10: what is left of B is 1024 - max(624, 900) */
	preset(1, 0, 1);
	sys.feat.value[FG_HW_PRESSURE] = 1;
	cpus[M].cpu_capacity = cpus[B].cpu_capacity = 400;
	cpus[M].cpufreq_pressure = 100;
	CHECK_EQ(sic(L, 0), B);
	cpus[B].cpufreq_pressure = 900;
	CHECK_EQ(sic(L, 0), M);
}

TEST(the_scan_starts_at_target_or_behind_it)
{
	pixel6();
	CHECK_EQ(sic(B, 0), B);
	sys.feat.value[FG_CAPSCAN_NEXT] = 1;
	CHECK_EQ(sic(B, 0), 5);
	/* behind the last CPU comes the first */
	CHECK_EQ(sic(5, 0), B);
	/* ties: the first met */
	kit_busy_range(B, 5);
	CHECK_EQ(sic(M, 0), 3);
	sys.feat.value[FG_CAPSCAN_NEXT] = 0;
	CHECK_EQ(sic(M, 0), M);
}

static s32 wake(struct fg_task *p, u32 cpu)
{
	return kit_wake(p, cpu, FG_WF_TTWU).cpu;
}

/* Rows A1, A2: -1 does not fit in the early checks; the scan then finds a CPU that fits, or the best of the others. */
TEST(early_checks_want_a_full_fit)
{
	struct fg_task p;

	pixel6();
	preset(1, 1, 1);
	p = kit_task(1, M);
	kit_util(&p, 100);
	CHECK_EQ(wake(&p, M), M);
	p.uclamp_min = 512;
	CHECK_EQ(wake(&p, M), B);
	p.uclamp_min = 498;
	CHECK_EQ(wake(&p, M), M);
	p.uclamp_min = 512;
	kit_busy_range(B, 5);
	CHECK_EQ(kit_wake(&p, M, FG_WF_TTWU).rule, FG_RULE_A5);
	CHECK_EQ(wake(&p, M), M);
}

TEST(misfit_is_whoever_does_not_fit_fully_and_has_somewhere_to_go)
{
	struct fg_cpu *rq;
	struct fg_task p;

	pixel6();
	rq = &cpus[M];
	rq->cfs.load_avg = 1023;
	p = kit_task(1, M);
	p.avg.load_avg = 1024;
	kit_util(&p, 100);
	p.uclamp_min = 512;
	/* 1024 x 1023 / 1024 */
	fg_update_misfit_status(&sys, rq, &p);
	CHECK_EQ(rq->misfit_task_load, 1023);
	preset(1, 1, 1);
	fg_update_misfit_status(&sys, rq, &p);
	CHECK_EQ(rq->misfit_task_load, 1023);
	p.uclamp_min = 498;
	fg_update_misfit_status(&sys, rq, &p);
	CHECK_EQ(rq->misfit_task_load, 0);
	/* it uses more than 498 gives, but is not to get more */
	kit_util(&p, 600);
	fg_update_misfit_status(&sys, rq, &p);
	CHECK_EQ(rq->misfit_task_load, 1023);
	p.uclamp_max = 498;
	fg_update_misfit_status(&sys, rq, &p);
	CHECK_EQ(rq->misfit_task_load, 0);
	p.uclamp_max = 1024;
	/* v6.10: M is the biggest it may use */
	kit_allow(&p, 0, 3);
	fg_set_max_allowed_capacity(&sys, &p);
	CHECK_EQ(p.max_allowed_capacity, 498);
	fg_update_misfit_status(&sys, rq, &p);
	CHECK_EQ(rq->misfit_task_load, 1023);
	sys.feat.value[FG_MAX_ALLOWED_CAP] = 1;
	fg_update_misfit_status(&sys, rq, &p);
	CHECK_EQ(rq->misfit_task_load, 0);
	kit_allow(&p, 0, 4);
	fg_set_max_allowed_capacity(&sys, &p);
	CHECK_EQ(p.max_allowed_capacity, 1024);
	fg_update_misfit_status(&sys, rq, &p);
	CHECK_EQ(rq->misfit_task_load, 1023);
}

TEST(a_misfit_is_as_heavy_as_its_queue_was_first_asked_for_in_the_jiffy)
{
	struct fg_task p;

	pixel6();
	p = kit_task(1, M);
	p.avg.load_avg = 1000;
	kit_util(&p, 1024);
	cpus[M].cfs.load_avg = 499;
	fg_update_misfit_status(&sys, &cpus[M], &p);
	/* 1000 * 499 / 500 */
	CHECK_EQ(cpus[M].misfit_task_load, 998);
	cpus[M].cfs.load_avg = 999;
	fg_update_misfit_status(&sys, &cpus[M], &p);
	/* 1000 * 499 / 1000 */
	CHECK_EQ(cpus[M].misfit_task_load, 499);
	cpus[M].clock += FG_NSEC_PER_SEC / sys.hz;
	fg_update_misfit_status(&sys, &cpus[M], &p);
	CHECK_EQ(cpus[M].misfit_task_load, 999);
}

static u32 overutilized(u32 cpu, u32 util, u32 min, u32 max)
{
	cpus[cpu].cfs.util_avg = util;
	cpus[cpu].uclamp[FG_UCLAMP_MIN].value = min;
	cpus[cpu].uclamp[FG_UCLAMP_MAX].value = max;
	return fg_cpu_overutilized(&sys, &cpus[cpu]);
}

TEST(overutilized_by_version)
{
	pixel6();
	preset(0, 0, 0);
	sys.feat.value[FG_UCLAMP_FIT] = 1;
	/* up to v6.1: utilization alone, 398 is the largest */
	CHECK_EQ(overutilized(M, 398, 512, 1024), 0);
	CHECK_EQ(overutilized(M, 399, 0, 100), 1);
	/* v6.2: with clamps, in both directions */
	preset(1, 1, 0);
	CHECK_EQ(overutilized(M, 100, 512, 1024), 1);
	CHECK_EQ(overutilized(M, 399, 0, 498), 0);
	CHECK_EQ(overutilized(M, 399, 0, 1024), 1);
	/* v6.3: a minimum alone does not do it */
	preset(1, 1, 1);
	CHECK_EQ(overutilized(M, 100, 512, 1024), 0);
	CHECK_EQ(overutilized(M, 399, 0, 1024), 1);
	/* the three states without this part of the patch */
	preset(1, 1, 0);
	sys.feat.value[FG_MU_TRISTATE] = 1;
	CHECK_EQ(overutilized(M, 100, 512, 1024), 1);
	sys.feat.value[FG_MU_OU] = 1;
	CHECK_EQ(overutilized(M, 100, 512, 1024), 0);
	/* v6.10 */
	sys.feat.value[FG_OU_EAS_ONLY] = 1;
	CHECK_EQ(overutilized(M, 399, 0, 1024), 0);
	sys.eas = 1;
	CHECK_EQ(overutilized(M, 399, 0, 1024), 1);
}

/* Mail 003's small boosted task: misfit on a medium CPU, the system not overutilized. Unlinked; v6.2 has both. */
TEST(misfit_and_overutilized_are_unlinked)
{
	for (u32 unlink = 0; unlink < 2; unlink++) {
		struct fg_task p;

		pixel6();
		preset(1, 1, unlink);
		p = kit_task(1, M);
		kit_util(&p, 100);
		p.uclamp_min = 512;
		p.avg.load_avg = 500;
		fg_enqueue_entity(&sys, &cpus[M], &p, FG_ENQUEUE_WAKEUP);
		fg_set_next_entity(&sys, &cpus[M], &p, 1);
		CHECK(cpus[M].misfit_task_load > 0);
		CHECK_EQ(root.overutilized, !unlink);
	}
}

/* Only a wakeup says that there is more to do than before. */
TEST(who_moves_or_is_born_does_not_overutilize)
{
	static const u32 flags[] = { 0, FG_ENQUEUE_INITIAL, FG_ENQUEUE_WAKEUP | FG_ENQUEUE_MIGRATED };

	for (u32 i = 0; i < 3; i++) {
		struct fg_task p;

		pixel6();
		preset(1, 1, 1);
		p = kit_task(1, M);
		kit_util(&p, 490);
		fg_enqueue_entity(&sys, &cpus[M], &p, flags[i]);
		CHECK_EQ(root.overutilized, i == 2);
	}
}

/* ---- the slow path, 5.3 ---- */

/* Groups {L}, {M}, {B} of two CPUs; the parent is on L. Everything idle but what each case says. */
static struct fg_verdict fork_from_l(struct fg_task *p)
{
	p->flags = FG_TASK_NEW;
	return kit_wake(p, L, FG_WF_FORK);
}

static void clusters(void)
{
	kit_init(6);
	kit_capacity(0, 1, 160);
	kit_capacity(2, 3, 498);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 2);
	kit_level(FG_LEVEL_PKG, SD_DEFAULT | FG_SD_ASYM_CPUCAPACITY, 125, 6);
	kit_finish();
	sys.uclamp_used = 1;
	preset(1, 1, 1);
}

/* A child without utilization, with a minimum of 512: only B's group is not misfit for it, so it has spare capacity. */
TEST(a_group_with_no_cpu_that_fits_is_misfit)
{
	struct fg_task p;

	clusters();
	kit_busy(L);
	p = kit_task(1, L);
	p.uclamp_min = 512;
	CHECK_EQ(fork_from_l(&p).cpu, B);
	/* one CPU of two that fits is enough */
	cpus[L].sd->parent->groups->next->next->max_capacity = 424;
	throttle(B, 600);
	CHECK_EQ(fork_from_l(&p).cpu, B);
	/* all misfit: the group with the largest capacity, and that is M's 498 */
	throttle(5, 600);
	CHECK_EQ(fork_from_l(&p).cpu, M);
	/* v5.4, v5.5: no clamps, everything fits, and the first of two equally idle groups is kept */
	clusters();
	kit_busy(L);
	preset(0, 0, 0);
	CHECK_EQ(fork_from_l(&p).cpu, M);
	sys.feat.value[FG_UCLAMP_FIT] = 1;
	CHECK_EQ(fork_from_l(&p).cpu, B);
}

/* ---- limits of the clock, 2.7 ---- */

/* 498 at 2000 MHz; 1500: 498 - 498 x 1500 / 2000 = 498 - 373 = 125; 1000: 249; 500: 498 - 124 = 374. */
TEST(limits_of_the_clock_are_pressure)
{
	struct fg_frequency_limits limits = { 2000000, 2000000, 1500000, 1000000 };
	struct fg_cpu *rq;

	pixel6();
	rq = &cpus[M];
	fg_set_frequency_limits(rq, &limits);
	CHECK_EQ(rq->hw_pressure, 0);
	CHECK_EQ(rq->thermal_pressure, 125);
	CHECK_EQ(rq->cpufreq_pressure, 249);
	limits.hardware = 500000;
	limits.policy = 3000000;
	fg_set_frequency_limits(rq, &limits);
	CHECK_EQ(rq->hw_pressure, 374);
	CHECK_EQ(rq->thermal_pressure, 374);
	CHECK_EQ(rq->cpufreq_pressure, 0);
}

static void ticks(struct fg_cpu *rq, u32 ms)
{
	for (u32 i = 0; i < ms; i++) {
		fg_update_rq_clock(&sys, rq, rq->clock + 1000000, 0);
		fg_update_thermal(&sys, rq);
	}
}

/*
 * Cooling by way of cpufreq to half the frequency. Up to v6.9 the averaged pressure comes and goes slowly, since v6.10
 * it is cpufreq's and counts at once; a limit of the hardware is averaged in both. A user's limit shows since v6.10.
 */
TEST(pressure_takes_capacity_by_version)
{
	struct fg_frequency_limits cooled = { 2000, 2000, 1000, 1000 }, by_hardware = { 2000, 1000, 2000, 2000 };
	struct fg_frequency_limits by_user = { 2000, 2000, 2000, 1000 };
	u64 slow;

	for (u32 v610 = 0; v610 < 2; v610++) {
		struct fg_cpu *rq = &cpus[B];

		pixel6();
		sys.feat.value[FG_HW_PRESSURE] = (u8)v610;
		sys.feat.value[FG_THERMAL_IN_CAP] = !v610;
		fg_set_frequency_limits(rq, &cooled);
		ticks(rq, 4);
		/* 4 ms of 512: 512 x 81 / 1024 = 40 */
		slow = 1024 - rq->thermal.load_avg;
		CHECK_EQ(rq->thermal.load_avg, v610 ? 0 : 40);
		CHECK_EQ(fg_scale_capacity(&sys, rq), v610 ? 512 : slow);
		CHECK_EQ(fits(B, 100, 513, 1023), !v610 || fits(B, 100, 512, 1023));

		pixel6();
		sys.feat.value[FG_HW_PRESSURE] = (u8)v610;
		sys.feat.value[FG_THERMAL_IN_CAP] = !v610;
		fg_set_frequency_limits(rq, &by_hardware);
		ticks(rq, 400);
		CHECK(rq->thermal.load_avg > 505);
		CHECK_EQ(fg_scale_capacity(&sys, rq), 1024 - rq->thermal.load_avg);

		pixel6();
		sys.feat.value[FG_HW_PRESSURE] = (u8)v610;
		fg_set_frequency_limits(rq, &by_user);
		ticks(rq, 400);
		CHECK_EQ(fg_scale_capacity(&sys, rq), v610 ? 512 : 1024);
	}
}

/* v6.10: act(c) comes first, then the others take of it. 1024 - 500 = 524; (524 - 100) x (524 - 131) / 524 = 318 */
TEST(hw_pressure_comes_before_rt_and_interrupts)
{
	struct fg_cpu *rq = &cpus[B];

	pixel6();
	sys.feat.value[FG_HW_PRESSURE] = 1;
	sys.feat.value[FG_THERMAL_IN_CAP] = 0;
	rq->thermal.load_avg = 400;
	rq->cpufreq_pressure = 500;
	rq->rt.util_avg = 100;
	rq->irq.util_avg = 131;
	CHECK_EQ(fg_scale_capacity(&sys, rq), 318);
	rq->irq.util_avg = 524;
	CHECK_EQ(fg_scale_capacity(&sys, rq), 1);
	rq->cpufreq_pressure = 1024;
	CHECK_EQ(fg_scale_capacity(&sys, rq), 1);
	/* the minimum asked for is compared with act(c), too: 1024 - max(400, 300) */
	rq->cpufreq_pressure = 300;
	preset(1, 0, 1);
	sys.feat.value[FG_HW_PRESSURE] = 1;
	CHECK_EQ(fits(B, 100, 624, 1024), 1);
	CHECK_EQ(fits(B, 100, 625, 1024), -1);
}

/* Every answer notes its reason and numbers. */
TEST(notes_tell_what_was_compared)
{
	static struct fg_why why;

	pixel6();
	preset(1, 1, 1);
	kit_busy_range(1, 1);
	kit_busy_range(3, 3);
	kit_busy_range(5, 5);
	throttle(B, 524);
	why.nr = 0;
	CHECK_EQ(sic(L, &why), B);
	/* wants; CPU 0 free, 200 on 160; 1 busy; 2 free, but 512 > 498; 3 busy; 4 free, but 512 > 500; 5 busy */
	CHECK_EQ(why.nr, 10);
	CHECK_EQ(why.note[0].id, FG_NOTE_WANTS);
	CHECK_EQ(why.note[0].a, 201);
	CHECK_EQ(why.note[0].b, 512);
	CHECK_EQ(why.note[0].c, 1024);
	CHECK_EQ(why.note[2].id, FG_NOTE_TOO_SMALL);
	CHECK_EQ(why.note[2].a, 201);
	CHECK_EQ(why.note[2].b, 160);
	CHECK_EQ(why.note[5].id, FG_NOTE_ALMOST_FITS);
	CHECK_EQ(why.note[5].cpu, 2);
	CHECK_EQ(why.note[5].a, 512);
	CHECK_EQ(why.note[5].b, 498);
	CHECK_EQ(why.note[8].b, 500);
	/* v6.2: the minimum is the reason */
	preset(1, 1, 0);
	why.nr = 0;
	CHECK_EQ(sic(L, &why), B);
	CHECK_EQ(why.note[5].id, FG_NOTE_BELOW_MIN);
	CHECK_EQ(why.note[5].a, 512);
	CHECK_EQ(why.note[8].id, FG_NOTE_FITS);
}

int main(void)
{
	RUN(a_boosted_small_task_on_each_cpu);
	RUN(a_capped_task_fits_where_the_cap_does);
	RUN(a_throttled_big_cpu);
	RUN(a_big_cpu_inverted_by_heat);
	RUN(up_to_v61_the_clamped_utilization_is_compared);
	RUN(clamps_say_nothing_before_the_first_request);
	RUN(the_test_is_the_table_of_7_1);
	RUN(the_scan_prefers_who_lacks_only_the_minimum);
	RUN(the_scan_ranks_by_what_each_state_is_about);
	RUN(the_scan_starts_at_target_or_behind_it);
	RUN(early_checks_want_a_full_fit);
	RUN(misfit_is_whoever_does_not_fit_fully_and_has_somewhere_to_go);
	RUN(a_misfit_is_as_heavy_as_its_queue_was_first_asked_for_in_the_jiffy);
	RUN(overutilized_by_version);
	RUN(misfit_and_overutilized_are_unlinked);
	RUN(who_moves_or_is_born_does_not_overutilize);
	RUN(a_group_with_no_cpu_that_fits_is_misfit);
	RUN(limits_of_the_clock_are_pressure);
	RUN(pressure_takes_capacity_by_version);
	RUN(hw_pressure_comes_before_rt_and_interrupts);
	RUN(notes_tell_what_was_compared);
	return test_report();
}
