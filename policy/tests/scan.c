/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scan of the LLC as versions changed it (spec 4.3, 4.5): what limits it, where it starts, one loop for idle cores
 * and idle CPUs, the core of the previous CPU; and what balancing and idling leave for it.
 */
#include "kit.h"

/* One LLC of n busy CPUs. */
static void flat_machine(u32 n)
{
	kit_init(n);
	kit_level(FG_LEVEL_MC, SD_MC, 117, n);
	kit_finish();
	kit_busy_range(0, n - 1);
}

/* CPU x is in its core and in no domain. */
static void isolate(u32 x)
{
	for (u32 c = 0; c < sys.nr_cpus; c++)
		mask_clear(&cpus[c].sd_llc->span, (s32)x);
	cpus[x].sd = cpus[x].sd_llc = 0;
	cpus[x].sd_llc_id = (s32)x;
}

TEST(sis_util_probes_as_many_as_the_last_balance_left)
{
	static const u32 left[] = { 1, 2, 5, 11, 24, 30 };
	struct fg_task p;
	struct fg_verdict v;

	flat_machine(24);
	kit_preset_v61();
	p = kit_task(1, 0);
	for (u32 i = 0; i < 6; i++) {
		llcs[0].nr_idle_scan = left[i];
		v = kit_wake(&p, 0, FG_WF_TTWU);
		CHECK_EQ(v.scanned, left[i] < 24 ? left[i] : 24);
		CHECK_EQ(v.rule, FG_RULE_A10);
		CHECK(!(v.writes & FG_W_SCAN_COST));
	}
	/* five looks from CPU 1 on end with CPU 5 */
	llcs[0].nr_idle_scan = 5;
	kit_idle(6);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).cpu, 0);
	kit_idle(5);
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 5);
	CHECK_EQ(v.rule, FG_RULE_A8);
	/* none: not even the first */
	llcs[0].nr_idle_scan = 0;
	kit_idle(1);
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 0);
	CHECK_EQ(v.scanned, 0);
	/* what the waking CPU expects to idle, and what scans cost, no longer matter */
	llcs[0].nr_idle_scan = 24;
	cpus[0].avg_idle = cpus[0].wake_avg_idle = 0;
	cpus[0].sd_llc->avg_scan_cost = 1000000;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).cpu, 1);
}

/* It is the LLC of target that counts: waker 0 in the first, prev 8 in the second and too loaded to leave. */
TEST(sis_util_asks_the_llc_of_target)
{
	struct fg_task p;
	struct fg_verdict v;

	kit_init(16);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 8);
	kit_level(FG_LEVEL_PKG, SD_DEFAULT, 125, 16);
	kit_finish();
	kit_busy_range(0, 15);
	kit_preset_v61();
	cpus[0].cfs.load_avg = 100000;
	llcs[0].nr_idle_scan = 8;
	llcs[8].nr_idle_scan = 3;
	p = kit_task(1, 8);
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.target, 8);
	CHECK_EQ(v.scanned, 3);
	/* the waking CPU needs no LLC of its own */
	cpus[0].sd_llc = 0;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).scanned, 3);
}

/* Half of the CPUs 100 below the mean and half above; the larger of average and estimate. */
static void utilization(u32 n, u32 mean)
{
	for (u32 c = 0; c < n; c++) {
		u32 util = mean < 100 ? mean : c % 2 ? mean - 100 : mean + 100;

		cpus[c].cfs.util_avg = c % 3 ? util : 0;
		cpus[c].est_enqueued = c % 3 ? 0 : util;
	}
}

/* w CPUs, pct 117: x = mean * 117 / 100, (1024 - x * x / 1024) * w / 1024. */
TEST(nr_idle_scan_vectors)
{
	static const u32 v[][3] = { { 24, 0, 24 },  { 24, 256, 21 }, { 24, 512, 15 }, { 24, 640, 11 }, { 24, 768, 5 },
				    { 24, 820, 2 }, { 24, 860, 0 },  { 24, 900, 0 },  { 8, 512, 5 },   { 8, 700, 2 },
				    { 8, 768, 1 },  { 8, 820, 0 },   { 4, 512, 2 },   { 4, 700, 1 },   { 4, 768, 0 } };

	for (u32 i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		flat_machine(v[i][0]);
		kit_preset_v61();
		utilization(v[i][0], v[i][1]);
		llcs[0].nr_idle_scan = 77;
		kit_look(0, 0, FG_CPU_NOT_IDLE);
		CHECK_EQ(llcs[0].nr_idle_scan, v[i][2]);
	}
	/* no CPU counts for more than it has: 512 each, 24 -> 15 */
	flat_machine(24);
	kit_preset_v61();
	kit_capacity(0, 23, 512);
	utilization(24, 900);
	kit_look(0, 0, FG_CPU_IDLE);
	CHECK_EQ(llcs[0].nr_idle_scan, 15);
	/* and imbalance_pct is the domain's: 125 * 512 / 100 = 640: 1024 - 400 = 624 of 1024, of 24: 14 */
	cpus[0].sd->imbalance_pct = 125;
	kit_look(0, 0, FG_CPU_IDLE);
	CHECK_EQ(llcs[0].nr_idle_scan, 14);
}

TEST(nr_idle_scan_is_left_by_the_periodic_balance_of_the_llc)
{
	kit_smt_machine();
	kit_preset_v61();
	CHECK_EQ(llcs[8].nr_idle_scan, 0);
	/* SMT is smaller, the package larger than the LLC */
	kit_look(8, 0, FG_CPU_IDLE);
	kit_look(8, 2, FG_CPU_IDLE);
	/* newly idle CPUs leave it alone */
	kit_look(8, 1, FG_CPU_NEWLY_IDLE);
	/* not updated before v6.0 */
	kit_preset_v516();
	kit_look(8, 1, FG_CPU_IDLE);
	CHECK_EQ(llcs[8].nr_idle_scan, 0);
	kit_preset_v61();
	kit_look(8, 1, FG_CPU_IDLE);
	CHECK_EQ(llcs[8].nr_idle_scan, 8);
	CHECK_EQ(llcs[0].nr_idle_scan, 0);
	/* a CPU without an LLC */
	isolate(3);
	cpus[3].llc = 0;
	cpus[3].balance_shared = 0;
	cpus[3].sd = cpus[2].sd;
	kit_look(3, 0, FG_CPU_NOT_IDLE);
}

/* Two LLCs of four under an asymmetric domain that has a shared state of its own: (1024 - 0) * 8 / 1024 CPUs. */
TEST(nr_idle_scan_of_an_asymmetric_domain_is_left_by_its_balance_since_v72)
{
	for (u8 on = 0; on < 2; on++) {
		struct fg_llc shared = { .nr_idle_scan = 77 };

		kit_asym_machine(4);
		kit_preset_v61();
		sys.feat.value[FG_BALANCE_SHARED] = on;
		for (u32 c = 0; c < 8; c++)
			cpus[c].sd->parent->shared = &shared;
		kit_look(0, 1, FG_CPU_NEWLY_IDLE);
		CHECK_EQ(shared.nr_idle_scan, 77);
		kit_look(0, 1, FG_CPU_IDLE);
		CHECK_EQ(shared.nr_idle_scan, on ? 8 : 77);
	}
}

/* The vectors of SIS_PROP with wake_avg_idle for avg_idle / 512: 24 * 1000 / 2001 = 11, of which 10 are probed. */
TEST(wake_avg_idle_ages_by_jiffies)
{
	struct fg_task p;
	struct fg_wake w;
	struct fg_verdict v;
	/* 4 ms a jiffy: 1000; 500: 12000 / 2001 = 5; 250: 6000 < 8004: 4 */
	static const u32 scanned[] = { 10, 4, 3 };

	flat_machine(24);
	kit_preset_v516();
	p = kit_task(1, 0);
	cpus[0].avg_idle = 0;
	cpus[0].wake_avg_idle = 1000;
	cpus[0].wake_stamp = 10;
	cpus[0].sd_llc->avg_scan_cost = 2000;
	w = (struct fg_wake){ &filler[0], 0, 0, FG_WF_TTWU, 0 };
	for (u32 i = 0; i < 3; i++) {
		w.now = (10 + i) * 4000000ull + 3999999;
		fg_select_task_rq(&sys, &p, &w, &v);
		CHECK_EQ(v.scanned, scanned[i]);
		/* a look ages nothing */
		CHECK_EQ(cpus[0].wake_avg_idle, 1000);
		/* nor does a scan that was cut short */
		CHECK(!(v.writes & FG_W_SCAN_COST));
		fg_commit_select(&sys, &p, &filler[0], &w, &v, 100);
		CHECK_EQ(cpus[0].wake_avg_idle, 1000);
		CHECK_EQ(cpus[0].wake_stamp, 10);
	}
	/* hundreds of jiffies later nothing is left, and the least is looked at */
	w.now = 1000 * 4000000ull;
	fg_select_task_rq(&sys, &p, &w, &v);
	CHECK_EQ(v.scanned, 3);
	/* v5.11 does not know it */
	kit_preset_v511();
	cpus[0].avg_idle = 512000;
	fg_select_task_rq(&sys, &p, &w, &v);
	CHECK_EQ(v.scanned, 10);
}

TEST(a_scan_that_ended_takes_its_time_from_what_is_left)
{
	struct fg_task p;
	struct fg_wake w;
	struct fg_verdict v;

	flat_machine(8);
	kit_preset_v516();
	kit_idle(5);
	p = kit_task(1, 0);
	cpus[0].wake_avg_idle = 10000;
	cpus[0].wake_stamp = 0;
	cpus[0].sd_llc->avg_scan_cost = 800;
	w = (struct fg_wake){ &filler[0], 4000000, 0, FG_WF_TTWU, 0 };
	fg_select_task_rq(&sys, &p, &w, &v);
	CHECK_EQ(v.cpu, 5);
	CHECK_EQ(v.scanned, 5);
	CHECK(v.writes & FG_W_SCAN_COST);
	/* 10000 / 2 - 100; 800 - 700 / 8 */
	fg_commit_select(&sys, &p, &filler[0], &w, &v, 100);
	CHECK_EQ(cpus[0].wake_avg_idle, 4900);
	CHECK_EQ(cpus[0].wake_stamp, 1);
	CHECK_EQ(cpus[0].sd_llc->avg_scan_cost, 713);
	/* the same jiffy: no more aging; never below nothing */
	fg_commit_select(&sys, &p, &filler[0], &w, &v, 5000);
	CHECK_EQ(cpus[0].wake_avg_idle, 0);
}

TEST(a_cpu_that_was_idle_may_spend_half_of_what_it_expects_to_idle)
{
	flat_machine(2);
	cpus[1].avg_idle = 800000;
	cpus[1].idle_stamp = 5000;
	cpus[1].clock = 8085000;
	cpus[1].wake_avg_idle = 3;
	/* 800000 + (8080000 - 800000) / 8 = 1710000, at most 1000000 */
	fg_wake_from_idle(&sys, &cpus[1]);
	CHECK_EQ(cpus[1].wake_avg_idle, 500000);
	CHECK_EQ(cpus[1].wake_stamp, 2);
	/* it was not idle since */
	cpus[1].wake_avg_idle = 3;
	fg_wake_from_idle(&sys, &cpus[1]);
	CHECK_EQ(cpus[1].wake_avg_idle, 3);
}

/* Three looks: at 0, 1, 2 up to v5.14, at 1, 2, 3 since. */
TEST(the_scan_starts_after_target_since_v515)
{
	struct fg_task p;

	flat_machine(8);
	kit_preset_v516();
	cpus[0].wake_avg_idle = 0;
	kit_idle(3);
	p = kit_task(1, 0);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).cpu, 3);
	sys.feat.value[FG_SCAN_NEXT] = 0;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).cpu, 0);
	/* the last CPU's next is the first */
	sys.feat.value[FG_SCAN_NEXT] = 1;
	cpus[7].wake_avg_idle = 0;
	p = kit_task(1, 7);
	kit_idle(2);
	CHECK_EQ(kit_wake(&p, 7, FG_WF_TTWU).cpu, 2);
}

TEST(the_merged_scan_with_a_hint_wants_a_whole_core_whatever_it_costs)
{
	struct fg_task p;
	struct fg_verdict v;

	kit_smt_machine();
	kit_preset_v516();
	cpus[0].wake_avg_idle = 0;
	llcs[0].has_idle_cores = 1;
	kit_idle(2);
	kit_idle(6);
	kit_idle(7);
	p = kit_task(1, 0);
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 6);
	CHECK_EQ(v.rule, FG_RULE_A7);
	CHECK_EQ(v.scanned, 0);
	CHECK_EQ(v.writes & (FG_W_SCAN_COST | FG_W_NO_IDLE_CORES), 0);
	/*
	 * Looks: target; core of 1: 0 busy, 1 busy; of 2: 2 idle, in hand, 3 busy; of 4: 4 busy, the end with 2 in hand;
	 * of 6: both.
	 */
	CHECK_EQ(v.probes, 1 + 2 + 2 + 1 + 2);
	/* without SMT the hint does not matter */
	sys.smt_key = 0;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).cpu, 2);
	sys.smt_key = 1;
	/* the core counts although p may use one thread of it only, the one it is found by */
	kit_allow(&p, 7, 15);
	mask_set(&p.allowed, 0);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).cpu, 7);
}

TEST(the_merged_scan_falls_back_to_the_thread_it_met)
{
	struct fg_task p;
	struct fg_verdict v;

	kit_smt_machine();
	kit_preset_v516();
	llcs[0].has_idle_cores = 1;
	kit_idle(3);
	kit_idle(6);
	p = kit_task(1, 0);
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 3);
	CHECK_EQ(v.rule, FG_RULE_A8);
	CHECK(v.writes & FG_W_NO_IDLE_CORES);
	CHECK(!(v.writes & FG_W_SCAN_COST));
	/* one it may use */
	mask_clear(&p.allowed, 3);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).cpu, 6);
	mask_set(&p.allowed, 3);
	/* SCHED_IDLE only is as good, and ends the look at its core: 2, not the idle 3 */
	kit_sched_idle(2);
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 2);
	/* target; 0, 1; 2; 4; 6, 7 */
	CHECK_EQ(v.probes, 1 + 2 + 1 + 1 + 2);
	/* the hint goes even if nothing was met */
	kit_busy_range(0, 7);
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 0);
	CHECK_EQ(v.rule, FG_RULE_A10);
	CHECK(v.writes & FG_W_NO_IDLE_CORES);
}

/* Before v5.12 the thread is not remembered: the search for a core ends empty, and a scan with a budget of 3 follows. */
TEST(unmerged_the_scan_begins_again)
{
	struct fg_task p;
	struct fg_verdict v;

	kit_smt_machine();
	kit_preset_v511();
	cpus[0].avg_idle = 0;
	llcs[0].has_idle_cores = 1;
	kit_idle(6);
	p = kit_task(1, 0);
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 0);
	CHECK_EQ(v.scanned, 3);
	sys.feat.value[FG_SIS_MERGED] = 1;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).cpu, 6);
}

TEST(an_llc_too_busy_to_scan_is_not_searched_for_cores_either)
{
	struct fg_task p;
	struct fg_verdict v;

	kit_smt_machine();
	kit_preset_v61();
	llcs[0].has_idle_cores = 1;
	kit_idle(4);
	kit_idle(5);
	p = kit_task(1, 0);
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 0);
	CHECK_EQ(v.rule, FG_RULE_A10);
	CHECK(!(v.writes & FG_W_NO_IDLE_CORES));
	/* one look allowed, but with a hint it does not limit the scan */
	llcs[0].nr_idle_scan = 1;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).cpu, 4);
}

/* Until v6.8 any allowed thread of a busy core is remembered, the 6.12 stable tree wants it in the LLC. */
TEST(an_isolated_thread_is_remembered_until_612)
{
	struct fg_task p;

	kit_smt_machine();
	kit_preset_v61();
	llcs[0].has_idle_cores = 1;
	llcs[0].nr_idle_scan = 8;
	isolate(5);
	kit_idle(5);
	kit_idle(7);
	p = kit_task(1, 0);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).cpu, 5);
	sys.feat.value[FG_CORE_PROBE_LEFT] = 1;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).cpu, 7);
	/* SCHED_IDLE the same */
	kit_sched_idle(5);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).cpu, 7);
	sys.feat.value[FG_CORE_PROBE_LEFT] = 0;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).cpu, 5);
}

/* target 0, prev 6 busy and its sibling 7 idle; a scan from target would find 1. */
TEST(the_core_of_prev_comes_before_the_scan_since_v513)
{
	struct fg_task p;
	struct fg_verdict v;

	kit_smt_machine();
	kit_preset_v516();
	kit_idle(1);
	kit_idle(7);
	p = kit_task(1, 6);
	v = kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC);
	CHECK_EQ(v.target, 0);
	CHECK_EQ(v.cpu, 7);
	CHECK_EQ(v.rule, FG_RULE_A9P);
	CHECK_EQ(v.scanned, 0);
	/* a core may be idle: first the scan */
	llcs[0].has_idle_cores = 1;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).cpu, 1);
	llcs[0].has_idle_cores = 0;
	/* not allowed */
	mask_clear(&p.allowed, 7);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).cpu, 1);
	mask_set(&p.allowed, 7);
	/* before v5.13, and then nothing of target's core after the scan either */
	sys.feat.value[FG_SIS_SMT_PREV] = 0;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).cpu, 1);
	/* and it replaces the look at target's core: without looks for the scan 1 is not found */
	kit_preset_v61();
	mask_clear(&p.allowed, 7);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).rule, FG_RULE_A10);
	sys.feat.value[FG_SIS_SMT_PREV] = 0;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).rule, FG_RULE_A9);
	mask_set(&p.allowed, 7);
	kit_preset_v516();
	/* prev behind another cache, be its sibling looked for in the LLC only or not */
	sys.feat.value[FG_SMT_IN_LLC] = 0;
	kit_idle(15);
	p.cpu = 14;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).cpu, 1);
	/* in table B it has a name of its own */
	kit_preset_v59();
	sys.feat.value[FG_SIS_SMT_PREV] = 1;
	p.cpu = 6;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).rule, FG_RULE_B9P);
}

/* Four threads a core; the first, second and third in the states in which versions differ. */
TEST(the_core_of_prev_by_version)
{
	struct fg_task p;
	struct fg_verdict v;

	kit_init(8);
	kit_smt(4, 1);
	kit_level(FG_LEVEL_SMT, SD_SMT, 110, 4);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 8);
	kit_finish();
	kit_busy_range(0, 7);
	p = kit_task(1, 6);

	/* idle before SCHED_IDLE until v5.5, in order of ids since */
	kit_preset_v516();
	kit_sched_idle(4);
	kit_idle(5);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).cpu, 4);
	sys.feat.value[FG_SI_FIRST] = 0;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).cpu, 5);
	kit_busy(5);
	v = kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC);
	CHECK_EQ(v.cpu, 4);
	CHECK_EQ(v.rule, FG_RULE_A9P);

	/* prev is free but too small for p (500 on 462): v5.16 takes it here all the same, v6.1 its sibling */
	kit_preset_v516();
	kit_busy(4);
	kit_capacity(0, 7, 462);
	sys.asym_key = 1;
	kit_util(&p, 500);
	kit_idle(6);
	kit_idle(7);
	v = kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC);
	CHECK_EQ(v.cpu, 6);
	CHECK_EQ(v.rule, FG_RULE_A9P);
	kit_preset_v61();
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).cpu, 7);

	/* without SMT cores are not searched: the scan meets 1 before prev */
	kit_preset_v516();
	sys.smt_key = 0;
	kit_idle(1);
	v = kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC);
	CHECK_EQ(v.cpu, 1);
	CHECK_EQ(v.rule, FG_RULE_A8);
	sys.smt_key = 1;
	kit_busy(1);

	/* an isolated sibling: not up to v5.16, yes in v6.1 to v6.8, not in v6.12 */
	isolate(7);
	kit_busy(6);
	kit_preset_v516();
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).cpu, 0);
	kit_preset_v61();
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).cpu, 7);
	kit_preset_v612();
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).cpu, 0);
}

/* An idle waking CPU in no LLC has nothing to pay a scan from, be it for a core. */
TEST(prop_needs_an_llc_of_the_waking_cpu)
{
	struct fg_task p;

	kit_smt_machine();
	kit_preset_v516();
	kit_idle(4);
	kit_idle(5);
	cpus[12].sd_llc = 0;
	p = kit_task(1, 0);
	for (u32 hint = 0; hint < 2; hint++) {
		llcs[0].has_idle_cores = hint;
		cpus[12].cfs.load_avg = 100000;
		CHECK_EQ(kit_wake(&p, 12, FG_WF_TTWU).cpu, 0);
	}
	kit_preset_v61();
	llcs[0].nr_idle_scan = 1;
	CHECK_EQ(kit_wake(&p, 12, FG_WF_TTWU).cpu, 4);
}

TEST(sis_prop_vectors)
{
	struct fg_task p;
	struct fg_verdict v;

	kit_init(24);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 24);
	kit_finish();
	kit_busy_range(0, 23);
	p = kit_task(1, 0);
	cpus[0].avg_idle = 512000;
	cpus[0].sd_llc->avg_scan_cost = 2000;
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.scanned, 10);
	CHECK(!(v.writes & FG_W_SCAN_COST));
	cpus[0].sd_llc->avg_scan_cost = 8000;
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.scanned, 3);
	/* four it is up to the quarter: 24000 is more than three times 7000, and would be 3 */
	cpus[0].sd_llc->avg_scan_cost = 6999;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).scanned, 3);
	/* cost 2180 counts as 2181: 24000 / 2181 = 11; a nanosecond more and it is 10 */
	cpus[0].sd_llc->avg_scan_cost = 2180;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).scanned, 10);
	cpus[0].sd_llc->avg_scan_cost = 2181;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).scanned, 9);
	/* the eleventh CPU is not seen, the tenth is */
	cpus[0].sd_llc->avg_scan_cost = 2000;
	kit_idle(10);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).cpu, 0);
	kit_idle(9);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).cpu, 9);
	/* v5.4: SCHED_IDLE only when the budget ends, and lost when the scan does */
	sys.feat.value[FG_SIS_MODE] = FG_SIS_PROP54;
	kit_busy(9);
	kit_busy(10);
	kit_sched_idle(3);
	kit_sched_idle(5);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).cpu, 3);
	cpus[0].sd_llc->avg_scan_cost = 0;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).cpu, 0);
	/* the waking CPU has no LLC domain: no scan */
	sys.feat.value[FG_SIS_MODE] = FG_SIS_PROP;
	cpus[0].sd_llc = 0;
	p.cpu = 4;
	kit_idle(7);
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.scanned, 0);
}

/* The budget is this CPU's time over this LLC's cost, spent on the size of target's LLC. */
TEST(the_scan_budget_mixes_two_llcs)
{
	struct fg_task p;
	struct fg_verdict v;

	kit_init(24);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 16);
	kit_level(FG_LEVEL_PKG, SD_DEFAULT, 125, 24);
	kit_finish();
	kit_busy_range(0, 23);
	/* this CPU 0 in the LLC of 16, target 16 in that of 8 */
	p = kit_task(1, 16);
	cpus[0].cfs.load_avg = 100000;
	cpus[0].avg_idle = 512000;
	cpus[16].avg_idle = 0;
	cpus[0].sd_llc->avg_scan_cost = 1599;
	cpus[16].sd_llc->avg_scan_cost = 100;
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.target, 16);
	/* 8 * 1000 / 1600 = 5 */
	CHECK_EQ(v.scanned, 4);
}

TEST(scans_wrap_from_the_target)
{
	struct fg_task p;

	kit_init(130);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 130);
	kit_finish();
	kit_busy_range(0, 129);
	for (u32 c = 0; c < 130; c++)
		cpus[c].avg_idle = 5120000;
	p = kit_task(1, 70);
	kit_idle(3);
	CHECK_EQ(kit_wake(&p, 70, FG_WF_TTWU).cpu, 3);
	kit_idle(129);
	CHECK_EQ(kit_wake(&p, 70, FG_WF_TTWU).cpu, 129);
	kit_idle(71);
	CHECK_EQ(kit_wake(&p, 70, FG_WF_TTWU).cpu, 71);
	kit_allow(&p, 0, 70);
	CHECK_EQ(kit_wake(&p, 70, FG_WF_TTWU).cpu, 3);
}

/* Cores 0-1, 2-3 and 4-5 are given up at their first busy thread, of 6-7 both are looked at; and target before. */
TEST(the_search_for_an_idle_core_counts_threads)
{
	struct fg_task p;
	struct fg_verdict v;

	kit_init(8);
	kit_smt(2, 1);
	kit_level(FG_LEVEL_SMT, SD_SMT, 110, 2);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 8);
	kit_finish();
	kit_busy_range(0, 4);
	llcs[0].has_idle_cores = 1;
	p = kit_task(1, 0);
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 6);
	CHECK_EQ(v.rule, FG_RULE_B7);
	CHECK_EQ(v.probes, 1 + 3 + 2);
}

TEST(idle_tracking)
{
	kit_smt_machine();
	/* the last thread of a core to idle sets the hint */
	kit_idle(4);
	fg_update_idle_core(&sys, &cpus[4]);
	CHECK_EQ(llcs[0].has_idle_cores, 0);
	fg_update_idle_core(&sys, &cpus[5]);
	CHECK_EQ(llcs[0].has_idle_cores, 1);
	CHECK_EQ(llcs[8].has_idle_cores, 0);
	/* without SMT there is nothing to say of cores */
	llcs[0].has_idle_cores = 0;
	sys.smt_key = 0;
	fg_update_idle_core(&sys, &cpus[5]);
	CHECK_EQ(llcs[0].has_idle_cores, 0);
	sys.smt_key = 1;
	/* avg_idle: 1 ms at most with the initial cost */
	cpus[4].avg_idle = 800000;
	cpus[4].clock = 1000;
	fg_enter_idle(&sys, &cpus[4]);
	cpus[4].clock = 81000;
	fg_wake_from_idle(&sys, &cpus[4]);
	CHECK_EQ(cpus[4].avg_idle, 710000);
	CHECK_EQ(cpus[4].idle_stamp, 0);
	fg_wake_from_idle(&sys, &cpus[4]);
	CHECK_EQ(cpus[4].avg_idle, 710000);
	fg_enter_idle(&sys, &cpus[4]);
	cpus[4].clock = 100000000;
	fg_wake_from_idle(&sys, &cpus[4]);
	CHECK_EQ(cpus[4].avg_idle, 1000000);
}

int main(void)
{
	RUN(sis_util_probes_as_many_as_the_last_balance_left);
	RUN(sis_util_asks_the_llc_of_target);
	RUN(nr_idle_scan_vectors);
	RUN(nr_idle_scan_is_left_by_the_periodic_balance_of_the_llc);
	RUN(nr_idle_scan_of_an_asymmetric_domain_is_left_by_its_balance_since_v72);
	RUN(wake_avg_idle_ages_by_jiffies);
	RUN(a_scan_that_ended_takes_its_time_from_what_is_left);
	RUN(a_cpu_that_was_idle_may_spend_half_of_what_it_expects_to_idle);
	RUN(the_scan_starts_after_target_since_v515);
	RUN(the_merged_scan_with_a_hint_wants_a_whole_core_whatever_it_costs);
	RUN(the_merged_scan_falls_back_to_the_thread_it_met);
	RUN(unmerged_the_scan_begins_again);
	RUN(an_llc_too_busy_to_scan_is_not_searched_for_cores_either);
	RUN(an_isolated_thread_is_remembered_until_612);
	RUN(the_core_of_prev_comes_before_the_scan_since_v513);
	RUN(the_core_of_prev_by_version);
	RUN(prop_needs_an_llc_of_the_waking_cpu);
	RUN(sis_prop_vectors);
	RUN(the_scan_budget_mixes_two_llcs);
	RUN(scans_wrap_from_the_target);
	RUN(the_search_for_an_idle_core_counts_threads);
	RUN(idle_tracking);
	return test_report();
}
