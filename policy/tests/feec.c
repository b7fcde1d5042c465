/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Energy-aware wakeups (spec 7.6, 8.2) as scenarios with numbers by hand. CPUs 0 and 1 are little, 2 and 3 big:
 *
 *	clock	capacity	MHz	mW	cost to v5.14	v6.0	v6.9
 *	little	512		500	50	100		100000	1953
 *				1000	150	150		150000	2929
 *	big	1024		1000	400	800		800000	7812
 *				2000	1200	1200		1200000	11718
 *
 * The big clock comes first in the list of performance domains, for its CPUs are the last.
 */
#include "feec_kit.h"

#define L 0
#define B 2

static struct fg_em *little, *big;
static struct fg_why why;

static void machine(void (*version)(void))
{
	kit_init(4);
	nr_clocks = 0;
	kit_capacity(0, 1, 512);
	little = kit_clock(0, 1);
	kit_opp(little, 500, 50);
	kit_opp(little, 1000, 150);
	big = kit_clock(2, 3);
	kit_opp(big, 1000, 400);
	kit_opp(big, 2000, 1200);
	kit_level(FG_LEVEL_MC, SD_MC | FG_SD_ASYM_CPUCAPACITY, 117, 4);
	kit_finish();
	version();
	kit_energy();
}

static struct fg_task sleeper(u32 cpu, u32 util)
{
	struct fg_task p = kit_task(1, cpu);

	kit_util(&p, util);
	return p;
}

static void works(u32 cpu, u32 util)
{
	kit_busy(cpu);
	cpus[cpu].cfs.util_avg = util;
	cpus[cpu].est_enqueued = util;
	cpus[cpu].uclamp_idle = 0;
}

static void throttle(u32 first, u32 last, u32 left)
{
	for (u32 c = first; c <= last; c++) {
		cpus[c].thermal_pressure = cpus[c].cpu_capacity_orig - left;
		cpus[c].cpufreq_pressure = cpus[c].thermal_pressure;
		cpus[c].cpu_capacity = left;
	}
}

static void check_wake(const struct fg_task *p, s32 cpu, u32 rule)
{
	struct fg_verdict v = kit_wake(p, 0, FG_WF_TTWU);

	CHECK_EQ(v.cpu, cpu);
	CHECK_EQ(v.rule, rule);
}

/* Energy notes of a wakeup: which of a, in the order of the look. */
static u32 energies(const struct fg_task *p, u64 *cost, u32 room)
{
	struct fg_wake w = { 0, 1000000, 0, FG_WF_TTWU, &why };
	struct fg_verdict v;
	u32 n = 0;

	why.nr = why.lost = 0;
	fg_select_task_rq(&sys, p, &w, &v);
	for (u32 i = 0; i < why.nr; i++) {
		if (why.note[i].id == FG_NOTE_FEEC_COSTS && n < room)
			cost[n++] = why.note[i].a;
	}
	return n;
}

TEST(the_cost_of_an_operating_point_by_release)
{
	machine(feec_v511);
	CHECK_EQ(little->opps[0].cost, 100);
	CHECK_EQ(big->opps[1].cost, 1200);
	machine(feec_v516);
	CHECK_EQ(little->opps[0].cost, 100000);
	machine(feec_v61);
	CHECK_EQ(little->opps[1].cost, 150000);
	machine(feec_v612);
	CHECK_EQ(little->opps[0].performance, 256);
	CHECK_EQ(little->opps[0].cost, 1953);
	CHECK_EQ(little->opps[1].cost, 2929);
	CHECK_EQ(big->opps[0].cost, 7812);
	CHECK_EQ(big->opps[1].cost, 11718);
}

/* 50.9 mW are 50 to those who count in milliwatts; 3000000 * 50 / 900000 = 166.6 */
TEST(how_exact_costs_are)
{
	static const u64 want[] = { 166, 166666, 169666 };

	for (u32 how = 0; how < 3; how++) {
		machine(feec_v61);
		sys.feat.value[FG_EM_COST] = (u8)how;
		little->opps[0].khz = 900000;
		little->opps[0].power = 50900;
		little->opps[1].khz = 3000000;
		kit_energy();
		CHECK_EQ(little->opps[0].cost, want[how]);
	}
}

TEST(what_costs_more_than_a_faster_one_is_inefficient)
{
	machine(feec_v61);
	little->opps[0].power = 75000;
	kit_energy();
	CHECK_EQ(little->opps[0].inefficient, 1);
	CHECK_EQ(little->opps[1].inefficient, 0);
	CHECK_EQ(big->opps[0].inefficient, 0);
	little->opps[0].power = 74999;
	kit_energy();
	CHECK_EQ(little->opps[0].inefficient, 0);
	little->opps[0].power = 75000;
	sys.feat.value[FG_EM_EFFICIENT] = 0;
	kit_energy();
	CHECK_EQ(little->opps[0].inefficient, 0);
}

/* Utilization 100: 100 * cost / capacity. On little CPUs 19, 19531, 195300; on big ones 78, 78125, 781200. */
TEST(a_small_task_goes_to_a_little_cpu_in_every_form)
{
	static void (*const version[])(void) = { feec_v54, feec_v59, feec_v511, feec_v516, feec_v61,
						 feec_v62, feec_v63, feec_v67,	feec_v612 };
	static const u64 want[][2] = { { 78, 19 },	 { 78, 19 },	   { 78, 19 },
				       { 78125, 19531 }, { 78125, 19531 }, { 78125, 19531 },
				       { 78125, 19531 }, { 78125, 19531 }, { 781200, 195300 } };

	for (u32 i = 0; i < 9; i++) {
		struct fg_task p;
		u64 cost[4] = { 0 };
		u32 n;

		machine(version[i]);
		sys.feat.value[FG_EST_LSB] = 0;
		p = sleeper(B, 100);
		check_wake(&p, L, FG_RULE_FEEC_ENERGY);
		n = energies(&p, cost, 4);
		/* From v5.14 to v6.1 CPU 3 is asked beside the previous one, and costs the same. */
		CHECK_EQ(n, sys.feat.value[FG_FEEC] && !sys.feat.value[FG_FEEC_PREV_SPARE] ? 3 : 2);
		CHECK_EQ(cost[0], want[i][0]);
		CHECK_EQ(cost[n - 1], want[i][1]);
	}
}

TEST(it_stays_where_nothing_is_cheaper)
{
	struct fg_task p;

	machine(feec_v61);
	p = sleeper(1, 100);
	check_wake(&p, 1, FG_RULE_FEEC_PREV);
	machine(feec_v511);
	check_wake(&p, 1, FG_RULE_FEEC_PREV);
}

/*
 * CPU 3 at 800 and CPU 1 at 400, p of 40: without it 1200 * 800 / 1024 = 937 and 150 * 400 / 512 = 117. On CPU 2 it costs
 * 1200 * 840 / 1024 - 937 = 47, on CPU 0 150 * 440 / 512 - 117 = 11. It saves 36; a sixteenth of 47 + 937 + 117 is 68.
 */
TEST(up_to_v519_it_has_to_save_6_percent_of_everything)
{
	struct fg_task p;

	machine(feec_v511);
	sys.feat.value[FG_EST_LSB] = 0;
	works(3, 800);
	works(1, 400);
	p = sleeper(B, 40);
	check_wake(&p, B, FG_RULE_FEEC_MARGIN);
	machine(feec_v516);
	works(3, 800);
	works(1, 400);
	check_wake(&p, B, FG_RULE_FEEC_MARGIN);
	machine(feec_v61);
	works(3, 800);
	works(1, 400);
	check_wake(&p, L, FG_RULE_FEEC_ENERGY);
}

/*
 * The same where p may not run on little CPUs but a third clock, of a lone CPU 4 like the little ones, can take it: in
 * v5.16 the little clock has no candidate, so its 117 count no more. CPU 3 at 300: base 1000 MHz, 800 * 300 / 1024 = 234.
 * p of 40 costs 800 * 340 / 1024 - 234 = 31 there and 100 * 40 / 512 = 7 on CPU 4: it saves 24. A sixteenth of 31 + 234 is
 * 16, with 400 on each little CPU (234 more) it is 31.
 */
TEST(v516_asks_for_6_percent_of_domains_with_a_candidate)
{
	static void (*const version[])(void) = { feec_v511, feec_v516 };
	static const u32 rule[] = { FG_RULE_FEEC_MARGIN, FG_RULE_FEEC_ENERGY };

	for (u32 i = 0; i < 2; i++) {
		struct fg_task p;
		struct fg_em *em;

		kit_init(5);
		nr_clocks = 0;
		kit_capacity(0, 1, 512);
		kit_capacity(4, 4, 512);
		little = kit_clock(0, 1);
		kit_opp(little, 500, 50);
		kit_opp(little, 1000, 150);
		big = kit_clock(2, 3);
		kit_opp(big, 1000, 400);
		kit_opp(big, 2000, 1200);
		em = kit_clock(4, 4);
		kit_opp(em, 500, 50);
		kit_opp(em, 1000, 150);
		kit_level(FG_LEVEL_MC, SD_MC | FG_SD_ASYM_CPUCAPACITY, 117, 5);
		kit_finish();
		version[i]();
		sys.feat.value[FG_EST_LSB] = 0;
		kit_energy();
		works(0, 400);
		works(1, 400);
		works(3, 300);
		p = sleeper(B, 40);
		kit_allow(&p, 2, 4);
		check_wake(&p, i ? 4 : B, rule[i]);
	}
}

/* 450 on 512 is beyond 80 %. */
TEST(a_task_that_outgrew_its_cpu_goes_where_it_fits)
{
	static void (*const version[])(
		void) = { feec_v54, feec_v511, feec_v516, feec_v61, feec_v62, feec_v63, feec_v612 };

	for (u32 i = 0; i < 7; i++) {
		struct fg_task p;

		machine(version[i]);
		p = sleeper(L, 450);
		check_wake(&p, B, FG_RULE_FEEC_FIT);
		p = sleeper(L, 900);
		check_wake(&p, L, FG_RULE_FEEC_NONE);
	}
}

TEST(a_task_that_uses_nothing_stays_by_version)
{
	static void (*const version[])(void) = { feec_v61, feec_v62, feec_v67 };
	static const u32 boosted[] = { FG_RULE_FEEC_TRIVIAL, FG_RULE_FEEC_PREV, FG_RULE_FEEC_PREV };
	static const u32 capped[] = { FG_RULE_FEEC_ENERGY, FG_RULE_FEEC_TRIVIAL, FG_RULE_FEEC_ENERGY };

	for (u32 i = 0; i < 3; i++) {
		struct fg_task p;

		machine(version[i]);
		p = sleeper(B, 0);
		check_wake(&p, B, FG_RULE_FEEC_TRIVIAL);
		sys.uclamp_used = 1;
		p.uclamp_min = 600;
		check_wake(&p, B, boosted[i]);
		p = sleeper(B, 100);
		p.uclamp_max = 0;
		check_wake(&p, capped[i] == FG_RULE_FEEC_TRIVIAL ? B : L, capped[i]);
	}
}

TEST(up_to_v512_every_task_uses_something)
{
	struct fg_task p;

	machine(feec_v511);
	p = sleeper(B, 0);
	check_wake(&p, B, FG_RULE_FEEC_PREV);
	sys.feat.value[FG_EST_LSB] = 0;
	check_wake(&p, B, FG_RULE_FEEC_TRIVIAL);
}

/*
 * A clock that is cheaper when it is fast, 200 and 150: CPU 1 at 200 is slow, 200 * 200 / 512 = 78; a task of 10 on top makes
 * it fast, 150 * 210 / 512 = 61. On CPU 0 it would be 200 * 210 / 512 = 82.
 */
TEST(a_negative_cost_keeps_the_task_or_is_huge)
{
	struct fg_task p;

	machine(feec_v511);
	sys.feat.value[FG_EST_LSB] = 0;
	little->opps[0].power = 100000;
	kit_energy();
	cpus[1].cfs.util_avg = 205;
	p = sleeper(1, 10);
	kit_allow(&p, 0, 1);
	p.est.enqueued = p.est.ewma = 220;
	check_wake(&p, 0, FG_RULE_FEEC_ENERGY);
	sys.feat.value[FG_FEEC_NEGATIVE] = 1;
	check_wake(&p, 1, FG_RULE_FEEC_NEGATIVE);
}

/* A minimum of 600: no little CPU gives it; big ones do unless they are hot. */
TEST(who_gives_the_minimum_is_asked_first_and_then_who_is_bigger)
{
	struct fg_task p;

	machine(feec_v63);
	sys.uclamp_used = 1;
	p = sleeper(L, 50);
	p.uclamp_min = 600;
	check_wake(&p, B, FG_RULE_FEEC_FIT);
	throttle(2, 3, 550);
	check_wake(&p, B, FG_RULE_FEEC_CAP);
	p.cpu = B;
	check_wake(&p, B, FG_RULE_FEEC_PREV);
	throttle(2, 3, 512);
	p.cpu = L;
	check_wake(&p, L, FG_RULE_FEEC_PREV);
	/* v6.10: the same by limits of cpufreq. */
	machine(feec_v612);
	sys.uclamp_used = 1;
	throttle(2, 3, 550);
	check_wake(&p, B, FG_RULE_FEEC_CAP);
	/* Without ranking nothing fits. */
	machine(feec_v63);
	sys.uclamp_used = 1;
	sys.feat.value[FG_MISFIT_UNLINK] = 0;
	sys.feat.value[FG_MU_TRISTATE] = 1;
	throttle(2, 3, 550);
	check_wake(&p, L, FG_RULE_FEEC_NONE);
	sys.feat.value[FG_MU_FEEC] = 1;
	check_wake(&p, B, FG_RULE_FEEC_CAP);
}

/*
 * A task of 600 that may not use more than 100 fits little CPUs and leaves nothing there. In v6.3 such a CPU is no
 * candidate; from v6.7 on it is, and costs 100000 * 600 / 512 against 800000 * 600 / 1024.
 */
TEST(a_cpu_with_nothing_to_spare_counts_since_v67)
{
	struct fg_task p;

	machine(feec_v63);
	sys.uclamp_used = 1;
	p = sleeper(L, 600);
	p.uclamp_max = 100;
	check_wake(&p, B, FG_RULE_FEEC_ENERGY);
	machine(feec_v67);
	sys.uclamp_used = 1;
	check_wake(&p, L, FG_RULE_FEEC_PREV);
	p.cpu = B;
	check_wake(&p, L, FG_RULE_FEEC_ENERGY);
}

/*
 * The same task before v5.10, where little CPUs have lost some capacity: 500 - 512 and 511 - 512 are a great deal. From v5.10
 * on they have nothing to offer.
 */
TEST(less_than_nothing_to_spare_was_the_most_up_to_v59)
{
	struct fg_task p;

	for (u32 later = 0; later < 2; later++) {
		machine(later ? feec_v511 : feec_v59);
		sys.uclamp_used = 1;
		p = sleeper(B, 600);
		p.uclamp_max = 100;
		cpus[L].cpu_capacity = 500;
		cpus[1].cpu_capacity = 511;
		/* What an idle CPU remembers joins still. */
		cpus[L].uclamp[FG_UCLAMP_MAX].value = cpus[1].uclamp[FG_UCLAMP_MAX].value = 100;
		check_wake(&p, later ? B : 1, later ? FG_RULE_FEEC_PREV : FG_RULE_FEEC_ENERGY);
	}
}

/* CPU 0 has a boosted task, CPU 1 idles: whose minimum is it? */
TEST(an_idle_cpu_has_its_neighbours_clamps_since_v63)
{
	struct fg_task p;

	machine(feec_v62);
	sys.uclamp_used = 1;
	works(L, 10);
	cpus[L].uclamp[FG_UCLAMP_MIN].value = 600;
	p = sleeper(1, 100);
	check_wake(&p, 1, FG_RULE_FEEC_PREV);
	sys.feat.value[FG_MISFIT_UNLINK] = 1;
	check_wake(&p, 1, FG_RULE_FEEC_PREV);
	sys.feat.value[FG_FEEC_STALE_UCLAMP] = 1;
	check_wake(&p, B, FG_RULE_FEEC_FIT);
}

/* On one clock the same energy: from v6.2 on only who has more to spare than prev is asked. */
TEST(fewer_estimates_since_v62)
{
	struct fg_task p;
	u64 cost[4];

	machine(feec_v61);
	p = sleeper(L, 100);
	CHECK_EQ(energies(&p, cost, 4), 3);
	machine(feec_v62);
	CHECK_EQ(energies(&p, cost, 4), 2);
}

/*
 * Counted are CPUs, each time. v6.2: big 2 looked at, 2 summed, 2 twice for requests (without, on CPU 2): 8; little 2, 2,
 * and three times 2 (without, prev, the other one is not asked): 2 + 2 + 4.
 */
TEST(the_work_is_counted)
{
	struct fg_task p;

	machine(feec_v62);
	p = sleeper(L, 100);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).energy_cpus, 16);
	machine(feec_v511);
	/* Sums are computed again for each estimate, four of them with two CPUs, and prev has most to spare. */
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).energy_cpus, 4 + 4 * 4);
	root.overutilized = 1;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).energy_cpus, 0);
}

/* CPU 1 uses 100 and waits for more: 450 of 512, which takes 1000 MHz. */
TEST(what_waits_raises_the_clock_since_v65)
{
	static const u64 want[] = { 19531, 29297 };

	for (u32 boost = 0; boost < 2; boost++) {
		struct fg_task p;
		u64 cost[2] = { 0, 0 };

		machine(feec_v63);
		sys.feat.value[FG_RUNNABLE_BOOST] = (u8)boost;
		works(1, 100);
		cpus[1].cfs.runnable_avg = 450;
		p = sleeper(L, 100);
		/* Big ones are not asked for: nothing there. */
		kit_allow(&p, 0, 1);
		CHECK_EQ(energies(&p, cost, 2), 1);
		CHECK_EQ(cost[0], want[boost]);
	}
}

/* Vector 9: a CPU used by 300 of which 500 is wanted, and a task of 100 that wanted 150. */
TEST(who_joins_waits_with_the_others_with_boost_exact)
{
	static const u64 want[] = { 600, 650 };

	for (u32 exact = 0; exact < 2; exact++) {
		struct fg_task p;
		struct select_ctx s;

		machine(feec_v63);
		sys.feat.value[FG_RUNNABLE_BOOST] = 1;
		sys.feat.value[FG_BOOST_EXACT] = (u8)exact;
		cpus[2].cfs.util_avg = 300;
		cpus[2].cfs.runnable_avg = 500;
		p = sleeper(L, 100);
		memset(&s, 0, sizeof(s));
		s.sys = &sys;
		s.p = &p;
		s.prev = L;
		s.util_avg = 100;
		s.runnable_avg = 150;
		CHECK_EQ(cpu_util_next(&s, &cpus[2], 2, 1), want[exact]);
		/* it is not asked what waits without the boost */
		CHECK_EQ(cpu_util_next(&s, &cpus[2], 2, 0), 400);
	}
}

/* Utilization 260 of 512 with 25 % on top is 325: 1000 MHz. Throttled to 256 the clock cannot be asked for more than 500. */
TEST(requests_end_at_the_limits_of_the_clock)
{
	static void (*const version[])(void) = { feec_v511, feec_v516, feec_v61 };
	static const u64 want[] = { 150 * 260 / 512, 100000 * 256ull / 512, 100000 * 260ull / 512 };

	for (u32 i = 0; i < 3; i++) {
		struct fg_task p;
		u64 cost[2] = { 0, 0 };

		machine(version[i]);
		sys.feat.value[FG_EST_LSB] = 0;
		for (u32 c = 0; c < 2; c++)
			cpus[c].thermal_pressure = 256;
		p = sleeper(L, 260);
		kit_allow(&p, 0, 1);
		energies(&p, cost, 2);
		CHECK_EQ(cost[0], want[i]);
	}
}

/* v5.13: beside 100 that decay, p's estimate of 200 is busy time of its own; before, the larger of both was. */
TEST(the_task_is_busy_time_of_its_own_since_v513)
{
	static void (*const version[])(void) = { feec_v511, feec_v516, feec_v61 };
	static const u64 want[] = { 100 * 200 / 512 - 100 * 100 / 512, 100000 * 300ull / 512 - 100000 * 100ull / 512,
				    100000 * 300ull / 512 - 100000 * 100ull / 512 };

	for (u32 i = 0; i < 3; i++) {
		struct fg_task p;
		u64 cost[2] = { 0, 0 };

		machine(version[i]);
		sys.feat.value[FG_EST_LSB] = 0;
		cpus[L].cfs.util_avg = 100;
		cpus[1].cpu_capacity = 100;
		p = sleeper(B, 200);
		p.avg.util_avg = 0;
		kit_allow(&p, 0, 2);
		energies(&p, cost, 2);
		CHECK_EQ(cost[1], want[i]);
	}
}

TEST(nothing_is_asked_of_the_energy_model_when)
{
	struct fg_task p;

	machine(feec_v61);
	p = sleeper(B, 100);
	sys.eas = 0;
	CHECK(kit_wake(&p, 0, FG_WF_TTWU).energy_cpus == 0);
	sys.eas = 1;
	root.overutilized = 1;
	CHECK(kit_wake(&p, 0, FG_WF_TTWU).energy_cpus == 0);
	root.overutilized = 0;
	CHECK(kit_wake(&p, 0, FG_WF_FORK).energy_cpus == 0);
	CHECK(kit_wake(&p, 0, FG_WF_EXEC).energy_cpus == 0);
	cpus[0].sd_asym_cpucapacity = 0;
	CHECK(kit_wake(&p, 0, FG_WF_TTWU).energy_cpus == 0);
	CHECK(kit_wake(&p, 1, FG_WF_TTWU).energy_cpus != 0);
	root.pd = 0;
	CHECK(kit_wake(&p, 1, FG_WF_TTWU).energy_cpus == 0);
	machine(feec_v67);
	sys.feat.value[FG_WAKE_CURRENT_CPU] = 1;
	CHECK_EQ(kit_wake(&p, 1, FG_WF_TTWU | FG_WF_CURRENT_CPU).rule, FG_RULE_CURRENT_CPU);
	kit_allow(&p, 3, 3);
	CHECK_EQ(kit_wake(&p, 1, FG_WF_TTWU).rule, FG_RULE_ONLY_CPU);
}

TEST(a_phone_has_its_sync_waker_take_the_task)
{
	struct fg_task p;

	machine(feec_v511);
	sys.feat.value[FG_FEEC_SYNC] = 1;
	works(1, 50);
	p = sleeper(B, 100);
	CHECK_EQ(kit_wake(&p, 1, FG_WF_TTWU | FG_WF_SYNC).rule, FG_RULE_FEEC_SYNC);
	CHECK_EQ(kit_wake(&p, 1, FG_WF_TTWU | FG_WF_SYNC).cpu, 1);
	CHECK_EQ(kit_wake(&p, 1, FG_WF_TTWU).rule, FG_RULE_FEEC_ENERGY);
	/* Too big, forbidden, or not alone. */
	p = sleeper(B, 450);
	CHECK(kit_wake(&p, 1, FG_WF_TTWU | FG_WF_SYNC).rule != FG_RULE_FEEC_SYNC);
	p = sleeper(B, 100);
	kit_allow(&p, 2, 3);
	CHECK(kit_wake(&p, 1, FG_WF_TTWU | FG_WF_SYNC).rule != FG_RULE_FEEC_SYNC);
	kit_allow(&p, 0, 3);
	cpus[1].nr_running = 2;
	CHECK(kit_wake(&p, 1, FG_WF_TTWU | FG_WF_SYNC).rule != FG_RULE_FEEC_SYNC);
}

struct expected {
	u32 id;
	s32 cpu;
	u64 a;
	u64 b;
};

/* Little CPUs: one too small by its load, one with room; the big clock is looked at first. */
TEST(notes_tell_of_every_candidate)
{
	static const struct expected want[] = {
		{ FG_NOTE_WANTS, -1, 100, 0 },	      { FG_NOTE_FEEC_FITS, 2, 100, 1024 },
		{ FG_NOTE_FEEC_FITS, 3, 100, 1024 },  { FG_NOTE_FEEC_COSTS, 2, 78125, 0 },
		{ FG_NOTE_FEEC_LOST_SPARE, 3, 2, 0 }, { FG_NOTE_FEEC_TOO_SMALL, 0, 450, 512 },
		{ FG_NOTE_FEEC_FITS, 1, 100, 512 },   { FG_NOTE_FEEC_COSTS, 1, 29296, 102539 },
		{ FG_NOTE_FEEC_BEST, 1, 0, 0 },
	};
	struct fg_wake w = { 0, 1000000, 0, FG_WF_TTWU, &why };
	struct fg_verdict v;
	struct fg_task p;

	machine(feec_v63);
	works(L, 350);
	p = sleeper(B, 100);
	why.nr = why.lost = 0;
	fg_select_task_rq(&sys, &p, &w, &v);
	CHECK_EQ(v.cpu, 1);
	CHECK_EQ(why.nr, 9);
	for (u32 i = 0; i < why.nr && i < 9; i++) {
		CHECK_EQ(why.note[i].id, want[i].id);
		CHECK_EQ(why.note[i].cpu, want[i].cpu);
		CHECK_EQ(why.note[i].a, want[i].a);
		CHECK_EQ(why.note[i].b, want[i].b);
		CHECK_EQ(why.note[i].rule, i ? FG_RULE_FEEC_ENERGY : FG_RULE_NONE);
	}
}

static u32 notes_of(u32 id, s32 cpu, u64 by)
{
	u32 found = 0;

	for (u32 i = 0; i < why.nr; i++)
		found += why.note[i].id == id && why.note[i].cpu == cpu && why.note[i].a == by;
	return found;
}

/* Whichever of the two little CPUs is looked at first; the previous CPU is out for other reasons only. */
TEST(a_note_tells_who_loses_to_another_cpu_of_its_clock)
{
	struct fg_wake w = { 0, 1000000, 0, FG_WF_TTWU, &why };
	struct fg_verdict v;
	struct fg_task p;

	for (s32 loser = 0; loser < 2; loser++) {
		machine(feec_v63);
		works(loser, 50);
		p = sleeper(B, 100);
		why.nr = why.lost = 0;
		fg_select_task_rq(&sys, &p, &w, &v);
		CHECK_EQ(notes_of(FG_NOTE_FEEC_LOST_CLOCK, loser, !loser), 1);
		CHECK_EQ(notes_of(FG_NOTE_FEEC_LOST_CLOCK, B, 3), 0);
	}
}

int main(void)
{
	RUN(the_cost_of_an_operating_point_by_release);
	RUN(how_exact_costs_are);
	RUN(what_costs_more_than_a_faster_one_is_inefficient);
	RUN(a_small_task_goes_to_a_little_cpu_in_every_form);
	RUN(it_stays_where_nothing_is_cheaper);
	RUN(up_to_v519_it_has_to_save_6_percent_of_everything);
	RUN(v516_asks_for_6_percent_of_domains_with_a_candidate);
	RUN(a_task_that_outgrew_its_cpu_goes_where_it_fits);
	RUN(a_task_that_uses_nothing_stays_by_version);
	RUN(up_to_v512_every_task_uses_something);
	RUN(a_negative_cost_keeps_the_task_or_is_huge);
	RUN(who_gives_the_minimum_is_asked_first_and_then_who_is_bigger);
	RUN(a_cpu_with_nothing_to_spare_counts_since_v67);
	RUN(less_than_nothing_to_spare_was_the_most_up_to_v59);
	RUN(an_idle_cpu_has_its_neighbours_clamps_since_v63);
	RUN(fewer_estimates_since_v62);
	RUN(the_work_is_counted);
	RUN(what_waits_raises_the_clock_since_v65);
	RUN(who_joins_waits_with_the_others_with_boost_exact);
	RUN(requests_end_at_the_limits_of_the_clock);
	RUN(the_task_is_busy_time_of_its_own_since_v513);
	RUN(nothing_is_asked_of_the_energy_model_when);
	RUN(a_phone_has_its_sync_waker_take_the_task);
	RUN(notes_tell_of_every_candidate);
	RUN(a_note_tells_who_loses_to_another_cpu_of_its_clock);
	return test_report();
}
