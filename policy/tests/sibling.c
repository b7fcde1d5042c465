/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Wakeups: each row of spec tables 4.1 and 4.2 in a scenario that only this row decides, the vectors of mail 000,
 * wake_affine, the entry, and the machines at the edge.
 */
#include "kit.h"

/* select_idle_sibling() alone, for targets that no wake_affine would leave. */
static struct fg_verdict v_sis;

static s32 sis(const struct fg_task *p, s32 prev, s32 target)
{
	struct fg_wake w = { cpus[prev].curr, 1000000, prev, FG_WF_TTWU, 0 };
	struct select_ctx s;

	memset(&s, 0, sizeof(s));
	memset(&v_sis, 0, sizeof(v_sis));
	s.sys = &sys;
	s.p = p;
	s.w = &w;
	s.v = &v_sis;
	s.prev = prev;
	s.target = target;
	s.util_avg = p->avg.util_avg;
	v_sis.target = target;
	return select_idle_sibling(&s);
}

/* hikey960: four little, four big CPUs, one LLC for each, asymmetric package. DynamIQ: the same with one LLC. */
static void asym_machine(u32 llc)
{
	kit_init(8);
	kit_capacity(0, 3, 462);
	if (llc == 8) {
		kit_level(FG_LEVEL_MC, SD_MC | FG_SD_ASYM_CPUCAPACITY, 117, 8);
	} else {
		kit_level(FG_LEVEL_MC, SD_MC & ~FG_SD_PREFER_SIBLING, 117, llc);
		kit_level(FG_LEVEL_PKG, SD_DEFAULT | FG_SD_ASYM_CPUCAPACITY, 125, 8);
	}
	kit_finish();
}

/* The symmetric rows for one order of the function: names 2..10 of table B, or 1, 2, 3, 4, 6..10 of table A. */
static void symmetric_rows(const u32 *rule)
{
	struct fg_task p;
	struct fg_verdict v;

	/* target is free: an interrupt on the idle previous CPU; a whole idle core elsewhere does not tempt */
	kit_smt_machine();
	if (rule[0] == FG_RULE_A1)
		kit_preset_v511();
	kit_idle(2);
	kit_idle(4);
	kit_idle(5);
	llcs[0].has_idle_cores = 1;
	p = kit_task(1, 2);
	v = kit_wake(&p, 2, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 2);
	CHECK_EQ(v.rule, rule[0]);
	CHECK_EQ(v.writes, FG_W_RECORD | FG_W_WAKER_RECENT);

	/* a SCHED_IDLE task only is as good */
	kit_sched_idle(2);
	v = kit_wake(&p, 2, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 2);
	CHECK_EQ(v.rule, rule[0]);

	/* prev is free and near: the target is the sync waker's CPU, where one task runs */
	kit_busy(2);
	kit_sched_idle(6);
	p = kit_task(1, 6);
	v = kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC);
	CHECK_EQ(v.target, 0);
	CHECK_EQ(v.cpu, 6);
	CHECK_EQ(v.rule, rule[1]);
	/* but not in another LLC */
	kit_idle(4);
	kit_busy(6);
	kit_sched_idle(14);
	p = kit_task(1, 14);
	v = kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC);
	CHECK_EQ(v.rule, rule[5]);

	/* per-CPU kthread: stays although a core idles */
	p = kit_task(1, 0);
	filler[0].flags = FG_TASK_PERCPU_KTHREAD;
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 0);
	CHECK_EQ(v.rule, rule[2]);
	cpus[0].nr_running = 2;
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK(v.rule != rule[2]);
	sys.feat.value[FG_PERCPU_KTHREAD] = 0;
	cpus[0].nr_running = 1;
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK(v.rule != rule[2]);
	sys.feat.value[FG_PERCPU_KTHREAD] = 1;
	filler[0].flags = 0;

	/* recent: CPU 1 would be the first of the scan, 4 and 5 an idle core */
	kit_idle(1);
	kit_idle(7);
	p.recent_used = 7;
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 7);
	CHECK_EQ(v.rule, rule[3]);
	CHECK(v.writes & FG_W_RECENT);
	CHECK_EQ(v.recent_used, 0);
	/* not allowed there */
	kit_allow(&p, 0, 6);
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK(v.rule != rule[3]);
	CHECK(!(v.writes & FG_W_RECENT));

	/* idle core 4,5 before idle thread 1 */
	p = kit_task(1, 0);
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 4);
	CHECK_EQ(v.rule, rule[5]);
	/* found by its first allowed id, whoever may use the other */
	kit_allow(&p, 5, 15);
	mask_set(&p.allowed, 0);
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 5);

	/* the hint is wrong: it goes, and the scan finds the thread */
	kit_busy(5);
	p = kit_task(1, 0);
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 1);
	CHECK_EQ(v.rule, rule[6]);
	CHECK(v.writes & FG_W_NO_IDLE_CORES);
	CHECK(v.writes & FG_W_SCAN_COST);
	CHECK_EQ(v.scanned, 2);
	llcs[0].has_idle_cores = 0;

	/* nothing free: target, after a scan of all eight that is worth timing */
	kit_busy_range(0, 7);
	cpus[0].avg_idle = 512000;
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 0);
	CHECK_EQ(v.rule, rule[8]);
	CHECK_EQ(v.scanned, 8);
	CHECK(v.writes & FG_W_SCAN_COST);
}

/* Siblings far apart by id, so that a short scan of the LLC ends before the sibling. */
static void smt_row(u32 rule)
{
	struct fg_task p;
	struct fg_verdict v;

	kit_init(16);
	kit_smt(2, 8);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 16);
	kit_finish();
	if (rule == FG_RULE_A9)
		kit_preset_v511();
	kit_busy_range(0, 15);
	kit_idle(8);
	kit_idle(5);
	cpus[0].avg_idle = 0;
	p = kit_task(1, 0);
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 8);
	CHECK_EQ(v.rule, rule);
	CHECK_EQ(v.scanned, 3); /* nr = 4: three probes */
	CHECK(!(v.writes & FG_W_SCAN_COST));
	/* the sibling is isolated: in its core, not in the domain */
	cpus[0].sd_llc->span.bits[0] &= ~(1ull << 8);
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, rule == FG_RULE_A9 ? 0 : 8);
}

TEST(rows_B2_to_B10)
{
	static const u32 rule[] = { FG_RULE_B2, FG_RULE_B3, FG_RULE_B4, FG_RULE_B5, FG_RULE_B6,
				    FG_RULE_B7, FG_RULE_B8, FG_RULE_B9, FG_RULE_B10 };

	symmetric_rows(rule);
	smt_row(FG_RULE_B9);
}

TEST(rows_A1_to_A4_and_A6_to_A10)
{
	static const u32 rule[] = { FG_RULE_A1, FG_RULE_A2, FG_RULE_A3, FG_RULE_A4, FG_RULE_A6,
				    FG_RULE_A7, FG_RULE_A8, FG_RULE_A9, FG_RULE_A10 };

	symmetric_rows(rule);
	smt_row(FG_RULE_A9);
}

TEST(rows_B6_and_A6_isolated_target)
{
	struct fg_task p;
	struct fg_verdict v;

	kit_init(4);
	kit_busy_range(0, 3);
	p = kit_task(1, 2);
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 2);
	CHECK_EQ(v.rule, FG_RULE_B6);
	kit_preset_v511();
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 2);
	CHECK_EQ(v.rule, FG_RULE_A6);

	/* caches of their own: p comes to its sync waker, and stays there */
	kit_init(4);
	kit_level(FG_LEVEL_PKG, SD_DEFAULT, 125, 4);
	kit_finish();
	kit_busy_range(0, 3);
	kit_idle(3);
	v = kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC);
	CHECK_EQ(v.cpu, 0);
	CHECK_EQ(v.rule, FG_RULE_B6);
}

TEST(row_B1_scans_before_anything_else)
{
	struct fg_task p;

	asym_machine(8);
	p = kit_task(1, 5);
	kit_util(&p, 500);
	/* target 0 is free but too small, prev 5 free and big: first that fits from 0 up */
	CHECK_EQ(sis(&p, 5, 0), 4);
	CHECK_EQ(v_sis.rule, FG_RULE_B1);
	CHECK(v_sis.writes & FG_W_SYNC);
	/* a SCHED_IDLE task is no obstacle, affinity is */
	kit_busy(4);
	kit_sched_idle(5);
	CHECK_EQ(sis(&p, 5, 0), 5);
	kit_allow(&p, 0, 4);
	mask_set(&p.allowed, 7);
	CHECK_EQ(sis(&p, 5, 0), 7);
	kit_allow(&p, 0, 7);
	/* nothing that fits is free: the biggest free one, first met */
	kit_busy_range(4, 7);
	cpus[2].cpu_capacity = 463;
	CHECK_EQ(sis(&p, 5, 0), 2);
	/* nothing is free: target */
	kit_busy_range(0, 3);
	CHECK_EQ(sis(&p, 5, 0), 0);
	CHECK_EQ(v_sis.rule, FG_RULE_B1);
	/* no asymmetric scan: the symmetric rows */
	sys.feat.value[FG_ASYM_SCAN] = 0;
	kit_idle(5);
	CHECK_EQ(sis(&p, 5, 0), 5);
	CHECK_EQ(v_sis.rule, FG_RULE_B3);
}

TEST(rows_A1_to_A5_test_the_capacity)
{
	struct fg_task p, kthread;

	asym_machine(8);
	kit_preset_v511();
	p = kit_task(1, 5);
	kit_util(&p, 500);
	/* A1 needs a fit, A2 has one */
	CHECK_EQ(sis(&p, 5, 0), 5);
	CHECK_EQ(v_sis.rule, FG_RULE_A2);
	CHECK(v_sis.writes & FG_W_SYNC);
	CHECK_EQ(sis(&p, 5, 6), 6);
	CHECK_EQ(v_sis.rule, FG_RULE_A1);
	/* prev too small as well: A4 if the recent CPU fits */
	p.cpu = 1;
	p.recent_used = 7;
	CHECK_EQ(sis(&p, 1, 0), 7);
	CHECK_EQ(v_sis.rule, FG_RULE_A4);
	p.recent_used = 2;
	CHECK_EQ(sis(&p, 1, 0), 4);
	CHECK_EQ(v_sis.rule, FG_RULE_A5);
	/* A3 has no capacity test */
	kthread = kit_task(9, 1);
	kthread.flags = FG_TASK_PERCPU_KTHREAD;
	kit_busy(1);
	cpus[1].curr = &kthread;
	CHECK_EQ(sis(&p, 1, 0), 1);
	CHECK_EQ(v_sis.rule, FG_RULE_A3);
	/* A5 is final: nothing free is target, not a symmetric row */
	kthread.flags = 0;
	kit_busy_range(0, 7);
	CHECK_EQ(sis(&p, 1, 0), 0);
	CHECK_EQ(v_sis.rule, FG_RULE_A5);
}

TEST(mail_000_vectors)
{
	struct fg_task p;

	for (u32 after = 0; after < 2; after++) {
		asym_machine(8);
		if (after)
			kit_preset_v511();
		p = kit_task(1, 4);
		kit_util(&p, 500);
		CHECK_EQ(sis(&p, 4, 4), 4);
		p.cpu = 5;
		CHECK_EQ(sis(&p, 5, 0), after ? 5 : 4);
		kit_busy_range(0, 7);
		kit_idle(6);
		CHECK_EQ(sis(&p, 5, 0), 6);
		kit_busy(6);
		CHECK_EQ(sis(&p, 5, 0), 0);
	}
}

/* On hikey960 the clusters have an LLC each: v2 of the mail does not reach prev in the other, v1 did. */
TEST(asym_check_scope)
{
	struct fg_task p;

	asym_machine(4);
	kit_preset_v511();
	p = kit_task(1, 5);
	kit_util(&p, 500);
	CHECK_EQ(sis(&p, 5, 0), 4);
	CHECK_EQ(v_sis.rule, FG_RULE_A5);
	sys.feat.value[FG_ASYM_CHECK_SCOPE] = 1;
	CHECK_EQ(sis(&p, 5, 0), 5);
	CHECK_EQ(v_sis.rule, FG_RULE_A2);
}

/* asym_key is global, the island has no asymmetric domain: symmetric rows, with the capacity tests of mail 000. */
TEST(symmetric_island)
{
	struct fg_task p;

	kit_init(8);
	kit_capacity(0, 3, 462);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 4);
	kit_finish();
	sys.asym_key = 1;
	p = kit_task(1, 1);
	kit_util(&p, 500);
	CHECK_EQ(sis(&p, 1, 0), 0);
	CHECK_EQ(v_sis.rule, FG_RULE_B2);
	CHECK(!(v_sis.writes & FG_W_SYNC));
	kit_preset_v511();
	CHECK_EQ(sis(&p, 1, 0), 0);
	CHECK_EQ(v_sis.rule, FG_RULE_A8);
	CHECK(v_sis.writes & FG_W_SYNC);
}

TEST(capacity_tests_use_the_decayed_and_clamped_utilization)
{
	struct fg_task p;

	asym_machine(8);
	kit_preset_v511();
	p = kit_task(1, 0);
	p.avg.util_avg = 400;
	p.avg.util_sum = 400ull * PELT_MIN_DIVIDER;
	CHECK_EQ(sis(&p, 0, 0), 4);
	/* slept half a life: 200 fits, and only the copy has decayed */
	cpus[0].cfs.last_update = 32 * 1024 * 1024;
	CHECK_EQ(sis(&p, 0, 0), 0);
	CHECK_EQ(p.avg.util_avg, 400);
	/* clamps count once somebody asked for one */
	p.uclamp_min = 600;
	CHECK_EQ(sis(&p, 0, 0), 0);
	sys.uclamp_used = 1;
	CHECK_EQ(sis(&p, 0, 0), 4);
	sys.feat.value[FG_UCLAMP_FIT] = 0;
	CHECK_EQ(sis(&p, 0, 0), 0);
	/* a minimum above the maximum: the maximum */
	sys.feat.value[FG_UCLAMP_FIT] = 1;
	p.uclamp_max = 100;
	CHECK_EQ(sis(&p, 0, 0), 0);
}

TEST(fits_vectors)
{
	static const u32 v[][2] = { { 160, 127 }, { 250, 199 }, { 446, 356 }, { 498, 398 },
				    { 512, 409 }, { 768, 614 }, { 1024, 819 } };

	for (u32 i = 0; i < 7; i++) {
		CHECK(fits_capacity(v[i][1], v[i][0]));
		CHECK(!fits_capacity(v[i][1] + 1, v[i][0]));
	}
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

TEST(wake_affine_idle)
{
	struct fg_task p;

	kit_two_llcs(125);
	p = kit_task(1, 1);
	/* interrupt on an idle CPU: prev if idle, else this */
	kit_idle(0);
	kit_idle(1);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 1);
	kit_busy(1);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 0);
	/* a sync waker alone on its CPU */
	kit_busy(0);
	p.cpu = 4;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).target, 0);
	cpus[0].cfs.load_avg = 4096;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 4);
	/* one that is exiting does not sleep for p */
	filler[0].flags = FG_TASK_EXITING;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).target, 4);
	/* v5.11: an idle prev keeps its task, however loaded it was */
	kit_idle(4);
	cpus[0].cfs.load_avg = 0;
	cpus[4].cfs.load_avg = 4096;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 0);
	sys.feat.value[FG_WA_PREV_IDLE] = 1;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 4);
}

/* 100 at this against prev's load times the bias: 108, 112, 105 are the largest values of this that still lose. */
TEST(wake_affine_weight_bias)
{
	static const u32 v[][2] = { { 117, 108 }, { 125, 112 }, { 110, 105 } };
	struct fg_task p;

	for (u32 i = 0; i < 3; i++) {
		kit_two_llcs(v[i][0]);
		p = kit_task(1, 4);
		cpus[4].cfs.load_avg = 10000;
		cpus[0].cfs.load_avg = v[i][1] * 100 - 1;
		CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 0);
		cpus[0].cfs.load_avg++;
		CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 4);
		/* with sync equality suffices */
		cpus[0].nr_running = 2;
		CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).target, 0);
	}
}

TEST(wake_affine_weight_takes_the_sync_waker_away)
{
	struct fg_task p;

	kit_two_llcs(125);
	p = kit_task(1, 4);
	p.avg.load_avg = 1024;
	cpus[0].nr_running = 2;
	cpus[0].cfs.load_avg = 2048;
	cpus[4].cfs.load_avg = 2048;
	filler[0].avg.load_avg = 1024;
	/* 2048 + 1023 against 1025: stays; minus the waker 1025 + 1023 against 1025: stays still */
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 4);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).target, 4);
	filler[0].avg.load_avg = 2040;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).target, 0);
	/* more than there is: this at once */
	filler[0].avg.load_avg = 4096;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).target, 0);
}

TEST(wide_wakers_leave_the_task_where_it_was)
{
	struct fg_task p;
	struct fg_wake w;
	struct fg_verdict v;

	kit_two_llcs(125);
	p = kit_task(1, 4);
	p.wakee_flips = 4;
	filler[0].wakee_flips = 16;
	filler[0].last_wakee = 2;
	v = kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC);
	CHECK_EQ(v.target, 4);
	CHECK_EQ(v.writes & FG_W_WAKER_RECENT, 0);
	/* 15 < 4 * 4 */
	filler[0].wakee_flips = 15;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).target, 0);
	/* the record of this very wakeup counts: another wakee than the last */
	filler[0].last_wakee = 9;
	v = kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC);
	CHECK_EQ(v.target, 4);
	CHECK_EQ(filler[0].wakee_flips, 15);
	CHECK_EQ(filler[0].last_wakee, 9);
	w = (struct fg_wake){ &filler[0], 1000000, 0, FG_WF_TTWU, 0 };
	fg_commit_select(&sys, &p, &filler[0], &w, &v, 0);
	CHECK_EQ(filler[0].wakee_flips, 16);
	CHECK_EQ(filler[0].last_wakee, 2);
	/* halved after a second */
	w.now = 1000000001;
	fg_commit_select(&sys, &p, &filler[0], &w, &v, 0);
	CHECK_EQ(filler[0].wakee_flips, 8);
	/* the idle task is a waker too */
	fg_commit_select(&sys, &p, 0, &w, &v, 0);
	CHECK_EQ(cpus[0].idle_wakee_flips, 1);
}

TEST(commit_writes_what_the_verdict_says)
{
	struct fg_task p;
	struct fg_wake w;
	struct fg_verdict v;

	kit_smt_machine();
	p = kit_task(1, 0);
	p.recent_used = 7;
	filler[0].recent_used = 5;
	kit_idle(7);
	v = kit_wake(&p, 0, FG_WF_TTWU);
	w = (struct fg_wake){ &filler[0], 1000000, 0, FG_WF_TTWU, 0 };
	CHECK_EQ(p.recent_used, 7);
	fg_commit_select(&sys, &p, &filler[0], &w, &v, 0);
	CHECK_EQ(p.recent_used, 0);
	CHECK_EQ(filler[0].recent_used, 0);

	llcs[0].has_idle_cores = 1;
	kit_busy(7);
	v = kit_wake(&p, 0, FG_WF_TTWU);
	fg_commit_select(&sys, &p, &filler[0], &w, &v, 800);
	CHECK_EQ(llcs[0].has_idle_cores, 0);
	CHECK_EQ(cpus[0].sd_llc->avg_scan_cost, 100);
	/* towards 100 again: by eighths, rounded towards zero */
	fg_commit_scan(&sys, &w, &v, 60);
	CHECK_EQ(cpus[0].sd_llc->avg_scan_cost, 95);

	asym_machine(8);
	p = kit_task(1, 0);
	kit_util(&p, 300);
	cpus[0].cfs.last_update = 64 * 1024 * 1024;
	w.current = 0;
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(p.avg.util_avg, 300);
	fg_commit_select(&sys, &p, 0, &w, &v, 0);
	CHECK(p.avg.util_avg == 74 || p.avg.util_avg == 75);
	CHECK_EQ(p.avg.last_update, 64 * 1024 * 1024);
}

TEST(affinity_at_the_entry)
{
	struct fg_task p;
	struct fg_verdict v;

	kit_smt_machine();
	p = kit_task(1, 0);
	kit_allow(&p, 9, 9);
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 9);
	CHECK_EQ(v.rule, FG_RULE_ONLY_CPU);
	CHECK_EQ(v.writes, 0);
	/* prev no longer allowed: first allowed CPU of its node */
	kit_allow(&p, 3, 4);
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 3);
	CHECK_EQ(v.rule, FG_RULE_FALLBACK);
	/* ... that is active */
	sys.active.bits[0] &= ~(1ull << 3);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).cpu, 4);
	/* prev is allowed but not active */
	kit_allow(&p, 0, 15);
	p.cpu = 3;
	v = kit_wake(&p, 3, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 0);
	CHECK_EQ(v.rule, FG_RULE_FALLBACK);
	p.cpu = 0;
	/* prev's node comes before the first CPU of all */
	kit_init(8);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 4);
	kit_level(FG_LEVEL_NUMA, SD_NUMA, 125, 8);
	kit_finish();
	kit_busy_range(0, 7);
	p.cpu = 6;
	kit_allow(&p, 1, 1);
	mask_set(&p.allowed, 5);
	p.nr_allowed = 2;
	v = kit_wake(&p, 7, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 5);
	CHECK_EQ(v.rule, FG_RULE_FALLBACK);
	kit_smt_machine();
	p.cpu = 0;
	/* nothing allowed at all */
	memset(&p.allowed, 0, sizeof(p.allowed));
	p.nr_allowed = 0;
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 0);
	CHECK_EQ(v.rule, FG_RULE_FALLBACK);
	p.nr_allowed = 2;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).rule, FG_RULE_FALLBACK);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_FORK).rule, FG_RULE_FALLBACK);
}

TEST(one_cpu)
{
	struct fg_task p;

	kit_init(1);
	p = kit_task(1, 0);
	p.nr_allowed = 1;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).cpu, 0);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_FORK).rule, FG_RULE_ONLY_CPU);
	/* even if told otherwise */
	p.nr_allowed = 2;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).cpu, 0);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_FORK).rule, FG_RULE_STAY_PREV);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_EXEC).rule, FG_RULE_STAY_PREV);
}

TEST(a_thousand_and_twenty_four_cpus)
{
	struct fg_task p;
	struct fg_verdict v;

	kit_init(1024);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 1024);
	kit_finish();
	kit_busy_range(0, 1023);
	for (u32 c = 0; c < 1024; c++)
		cpus[c].avg_idle = 10000000;
	p = kit_task(1, 1000);
	v = kit_wake(&p, 1000, FG_WF_TTWU);
	CHECK_EQ(v.scanned, 1024);
	CHECK_EQ(v.rule, FG_RULE_B10);
	kit_idle(999);
	CHECK_EQ(kit_wake(&p, 1000, FG_WF_TTWU).cpu, 999);
	kit_idle(1023);
	CHECK_EQ(kit_wake(&p, 1000, FG_WF_TTWU).cpu, 1023);
	/* of equal groups the first in the ring, which starts at the caller's */
	v = kit_wake(&p, 1000, FG_WF_FORK);
	CHECK_EQ(v.cpu, 1023);
	CHECK_EQ(v.group_cpus, 1024);
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

/* Load over capacity: two CPUs equally loaded, one with half the capacity left. */
TEST(wake_affine_weighs_load_by_capacity)
{
	struct fg_task p;

	kit_two_llcs(125);
	p = kit_task(1, 4);
	cpus[0].cfs.load_avg = cpus[4].cfs.load_avg = 1000;
	cpus[4].cpu_capacity = 512;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 0);
	cpus[4].cpu_capacity = 1024;
	cpus[0].cpu_capacity = 512;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 4);
	/* p's share of a queue with little load of its own is smaller than its load_avg: 512 of 1 is 256 */
	kit_two_llcs(125);
	p.avg.load_avg = 512;
	cpus[4].cfs.load_avg = 1;
	cpus[0].cfs.load_avg = 0;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).target, 4);
	CHECK_EQ(task_h_load(&cpus[4], 512, 0), 256);
	/* a waker as heavy as its queue does not decide alone: 1 + 0 against 0 with its one for sync */
	kit_two_llcs(125);
	p.avg.load_avg = 0;
	cpus[0].nr_running = 2;
	filler[0].avg.load_avg = 1000;
	cpus[0].cfs.load_avg = task_h_load(&cpus[0], 1000, 0);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).target, 0);
}

TEST(h_load_is_renewed_once_a_jiffy)
{
	struct fg_task p;
	struct fg_wake w;
	struct fg_verdict v;

	/* prev has 400 when it is first asked for in this jiffy: 500 * 400 / 401 = 498 */
	kit_two_llcs(125);
	p = kit_task(1, 4);
	p.avg.load_avg = 500;
	p.avg.last_update = 1;
	cpus[0].nr_running = cpus[4].nr_running = 2;
	cpus[0].curr_is_idle = cpus[4].curr_is_idle = 0;
	cpus[0].cfs.load_avg = cpus[4].cfs.load_avg = 400;
	w = (struct fg_wake){ 0, 8000000, 0, FG_WF_TTWU, 0 };
	fg_select_task_rq(&sys, &p, &w, &v);
	fg_commit_select(&sys, &p, 0, &w, &v, 0);
	CHECK_EQ(cpus[4].h_load, 400);
	CHECK_EQ(task_h_load(&cpus[4], 500, 2), 498);
	/* and 1600 later in it: 500 * 400 / 1601 = 124; the next jiffy sees 500 * 1600 / 1601 = 499 */
	cpus[4].cfs.load_avg = 1600;
	CHECK_EQ(task_h_load(&cpus[4], 500, 2), 124);
	CHECK_EQ(task_h_load(&cpus[4], 500, 3), 499);
}

TEST(flips_decay_after_more_than_a_second)
{
	struct fg_task p, waker;
	struct fg_wake w;

	kit_init(2);
	p = kit_task(1, 0);
	waker = kit_task(2, 0);
	waker.wakee_flips = 8;
	waker.last_wakee = p.id + 1;
	w = (struct fg_wake){ &waker, 1000000000, 0, FG_WF_TTWU, 0 };
	record_wakee(&sys, &waker, &p, &w);
	CHECK_EQ(waker.wakee_flips, 8);
	w.now = 1000000001;
	record_wakee(&sys, &waker, &p, &w);
	CHECK_EQ(waker.wakee_flips, 4);
	w.now = 2000000001;
	record_wakee(&sys, &waker, &p, &w);
	CHECK_EQ(waker.wakee_flips, 4);
	w.now = 2000000002;
	record_wakee(&sys, &waker, &p, &w);
	CHECK_EQ(waker.wakee_flips, 2);
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

/* It is the target's partition that is asymmetric or not, not the waker's. */
TEST(an_island_woken_from_outside)
{
	struct fg_task p;

	asym_machine(8);
	for (u32 c = 4; c < 8; c++)
		cpus[c].sd_asym_cpucapacity = 0;
	p = kit_task(1, 0);
	kit_util(&p, 300);
	CHECK_EQ(sis(&p, 0, 5), 5);
	CHECK_EQ(v_sis.rule, FG_RULE_B2);
	CHECK_EQ(sis(&p, 5, 0), 0);
	CHECK_EQ(v_sis.rule, FG_RULE_B1);
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

/* v5.14: prev is the recent CPU as soon as the row of the recent CPU is reached, and the waker's is left alone. */
TEST(prev_becomes_the_recent_cpu)
{
	struct fg_task p;
	struct fg_verdict v;

	for (u32 on = 0; on < 2; on++) {
		kit_smt_machine();
		kit_preset_v511();
		sys.feat.value[FG_RECENT_PREV] = (u8)on;
		p = kit_task(1, 2);
		p.recent_used = 7;
		/* the recent CPU is busy: the scan finds another */
		kit_idle(5);
		v = kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC);
		CHECK_EQ(v.rule, FG_RULE_A8);
		CHECK_EQ(v.writes & (FG_W_RECENT | FG_W_WAKER_RECENT), on ? FG_W_RECENT : FG_W_WAKER_RECENT);
		CHECK_EQ(v.recent_used, on ? 2 : 7);
		/* not reached */
		kit_idle(2);
		v = kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC);
		CHECK_EQ(v.rule, FG_RULE_A2);
		CHECK(!(v.writes & FG_W_RECENT));
		/* found */
		kit_busy(2);
		kit_idle(7);
		v = kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC);
		CHECK_EQ(v.rule, FG_RULE_A4);
		CHECK_EQ(v.recent_used, 2);
	}
}

/* v6.6: whatever idles, and whatever wake_affine would say. */
TEST(a_waker_can_hand_over_its_cpu)
{
	struct fg_task p;
	struct fg_verdict v;

	kit_smt_machine();
	kit_preset_v67();
	p = kit_task(1, 2);
	kit_idle(2);
	v = kit_wake(&p, 0, FG_WF_TTWU | FG_WF_CURRENT_CPU);
	CHECK_EQ(v.cpu, 0);
	CHECK_EQ(v.rule, FG_RULE_CURRENT_CPU);
	CHECK_EQ(v.writes, FG_W_RECORD);
	CHECK_EQ(v.probes, 0);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).cpu, 2);
	mask_clear(&p.allowed, 0);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_CURRENT_CPU).cpu, 2);
	kit_preset_v61();
	mask_set(&p.allowed, 0);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_CURRENT_CPU).cpu, 2);
}

int main(void)
{
	RUN(rows_B2_to_B10);
	RUN(rows_A1_to_A4_and_A6_to_A10);
	RUN(rows_B6_and_A6_isolated_target);
	RUN(row_B1_scans_before_anything_else);
	RUN(rows_A1_to_A5_test_the_capacity);
	RUN(mail_000_vectors);
	RUN(asym_check_scope);
	RUN(symmetric_island);
	RUN(capacity_tests_use_the_decayed_and_clamped_utilization);
	RUN(fits_vectors);
	RUN(sis_prop_vectors);
	RUN(scans_wrap_from_the_target);
	RUN(wake_affine_idle);
	RUN(wake_affine_weight_bias);
	RUN(wake_affine_weight_takes_the_sync_waker_away);
	RUN(wide_wakers_leave_the_task_where_it_was);
	RUN(commit_writes_what_the_verdict_says);
	RUN(affinity_at_the_entry);
	RUN(one_cpu);
	RUN(a_thousand_and_twenty_four_cpus);
	RUN(idle_tracking);
	RUN(wake_affine_weighs_load_by_capacity);
	RUN(flips_decay_after_more_than_a_second);
	RUN(the_scan_budget_mixes_two_llcs);
	RUN(an_island_woken_from_outside);
	RUN(the_search_for_an_idle_core_counts_threads);
	RUN(prev_becomes_the_recent_cpu);
	RUN(a_waker_can_hand_over_its_cpu);
	return test_report();
}
