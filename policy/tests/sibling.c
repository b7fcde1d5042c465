/* SPDX-License-Identifier: GPL-2.0-only */
/* Each row of spec tables 4.1 and 4.2 for symmetric CPUs, in a scenario that only this row decides. */
#include "kit.h"

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
	/* found by its first allowed id, even if its other thread is not allowed */
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

/* Only SCHED_IDLE tasks run on CPU 2, and nothing on CPU 4. */
TEST(sched_idle_tasks_do_not_make_room_for_their_like_since_v71)
{
	for (u8 on = 0; on < 2; on++) {
		struct fg_task p;

		kit_smt_machine();
		sys.feat.value[FG_SI_NOT_FOR_IDLE] = on;
		kit_sched_idle(2);
		kit_idle(4);
		p = kit_task(1, 2);
		CHECK_EQ(kit_wake(&p, 2, FG_WF_TTWU).cpu, 2);
		p.policy = FG_SCHED_IDLE;
		CHECK_EQ(kit_wake(&p, 2, FG_WF_TTWU).cpu, on ? 4 : 2);
	}
}

int main(void)
{
	RUN(rows_B2_to_B10);
	RUN(rows_A1_to_A4_and_A6_to_A10);
	RUN(rows_B6_and_A6_isolated_target);
	RUN(prev_becomes_the_recent_cpu);
	RUN(a_waker_can_hand_over_its_cpu);
	RUN(sched_idle_tasks_do_not_make_room_for_their_like_since_v71);
	return test_report();
}
