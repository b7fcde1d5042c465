/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Clusters (mail 004): the posted loop, the review's levels, and what landed in v6.7, with each row of spec table 4.4
 * in a scenario that only this row decides.
 */
#include "kit.h"

/* Kunpeng 920 in small: clusters of 4, an LLC of 12 a node, two nodes; everything busy. */
static void clusters(u32 cls_flags)
{
	kit_init(24);
	kit_level(FG_LEVEL_CLS, cls_flags, 117, 4);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 12);
	kit_level(FG_LEVEL_NUMA, SD_NUMA, 125, 24);
	kit_finish();
	kit_busy_range(0, 23);
}

static void landed(void)
{
	clusters(SD_CLS);
	kit_preset_v612();
	llcs[0].nr_idle_scan = 12;
}

/* 16 CPUs: two threads a core, two cores a cluster, one LLC. */
static void smt_clusters(u32 cls_flags)
{
	kit_init(16);
	kit_smt(2, 1);
	kit_level(FG_LEVEL_SMT, SD_SMT, 110, 2);
	kit_level(FG_LEVEL_CLS, cls_flags, 117, 4);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 16);
	kit_finish();
	kit_busy_range(0, 15);
}

#define SYNC (FG_WF_TTWU | FG_WF_SYNC)

TEST(rows_C1_and_C2)
{
	struct fg_task p;
	struct fg_verdict v;

	landed();
	CHECK_EQ(sys.cluster_key, 1);
	CHECK_EQ(cpus[6].sd_share_id, 4);
	p = kit_task(1, 1);
	kit_idle(1);
	v = kit_wake(&p, 1, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 1);
	CHECK_EQ(v.rule, FG_RULE_C1);
	/* prev in the cluster of target 0, which a sync waker is about to leave: before the nearer 1 */
	p.cpu = 3;
	kit_idle(3);
	v = kit_wake(&p, 0, SYNC);
	CHECK_EQ(v.target, 0);
	CHECK_EQ(v.cpu, 3);
	CHECK_EQ(v.rule, FG_RULE_C2);
	/* in another: the idle 1 of target's own first */
	p.recent_used = 0;
	p.cpu = 6;
	kit_idle(6);
	kit_busy(3);
	v = kit_wake(&p, 0, SYNC);
	CHECK_EQ(v.cpu, 1);
	CHECK_EQ(v.rule, FG_RULE_C8C);
	/* without clusters on the machine prev is near enough */
	sys.cluster_key = 0;
	v = kit_wake(&p, 0, SYNC);
	CHECK_EQ(v.cpu, 6);
	CHECK_EQ(v.rule, FG_RULE_C2);
	/* as it was before v6.7 */
	sys.cluster_key = 1;
	kit_preset_v61();
	v = kit_wake(&p, 0, SYNC);
	CHECK_EQ(v.cpu, 6);
	CHECK_EQ(v.rule, FG_RULE_A2);
}

TEST(row_C3_needs_task_context_and_a_fit)
{
	struct fg_task p;
	struct fg_verdict v;

	landed();
	kit_idle(1);
	p = kit_task(1, 0);
	filler[0].flags = FG_TASK_PERCPU_KTHREAD;
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 0);
	CHECK_EQ(v.rule, FG_RULE_C3);
	/* an interrupt while the kthread runs */
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_IRQ).rule, FG_RULE_C8C);
	/* too small */
	sys.asym_key = 1;
	kit_capacity(0, 0, 462);
	kit_util(&p, 500);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).rule, FG_RULE_C8C);
	/* before v5.17 both were no matter */
	kit_preset_v516();
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_IRQ).rule, FG_RULE_A3);
}

TEST(row_C4_and_who_is_recent_afterwards)
{
	struct fg_task p;
	struct fg_verdict v;

	landed();
	kit_idle(1);
	kit_idle(3);
	p = kit_task(1, 0);
	p.recent_used = 3;
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 3);
	CHECK_EQ(v.rule, FG_RULE_C4);
	CHECK_EQ(v.recent_used, 0);
	/* in another cluster: not yet */
	kit_idle(5);
	p.recent_used = 5;
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 1);
	CHECK_EQ(v.rule, FG_RULE_C8C);
	/* prev is the recent one whatever came of it; the waker's is left alone */
	CHECK_EQ(v.writes & (FG_W_RECENT | FG_W_WAKER_RECENT), FG_W_RECENT);
	CHECK_EQ(v.recent_used, 0);
	/* unless an earlier row decided */
	kit_idle(0);
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.rule, FG_RULE_C1);
	CHECK(!(v.writes & FG_W_RECENT));
}

TEST(row_C5_is_final)
{
	struct fg_task p;
	struct fg_verdict v;

	kit_init(8);
	kit_capacity(0, 3, 462);
	kit_level(FG_LEVEL_CLS, SD_CLS, 117, 4);
	kit_level(FG_LEVEL_MC, SD_MC | FG_SD_ASYM_CPUCAPACITY, 117, 8);
	kit_finish();
	kit_preset_v612();
	kit_busy_range(0, 7);
	kit_idle(6);
	p = kit_task(1, 0);
	kit_util(&p, 500);
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 6);
	CHECK_EQ(v.rule, FG_RULE_C5);
	/* prev fits but is in another cluster: the scan finds the same, or another, but no C9 follows */
	kit_idle(4);
	p.cpu = 6;
	v = kit_wake(&p, 0, SYNC);
	CHECK_EQ(v.cpu, 4);
	CHECK_EQ(v.rule, FG_RULE_C5);
}

TEST(row_C6_isolated_target)
{
	struct fg_task p;

	kit_init(4);
	kit_preset_v612();
	kit_busy_range(0, 3);
	p = kit_task(1, 2);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).rule, FG_RULE_C6);
}

TEST(row_C7_the_core_of_prev)
{
	struct fg_task p;
	struct fg_verdict v;

	smt_clusters(SD_CLS);
	kit_preset_v612();
	llcs[0].nr_idle_scan = 16;
	kit_idle(2);
	kit_idle(9);
	p = kit_task(1, 8);
	v = kit_wake(&p, 0, SYNC);
	CHECK_EQ(v.cpu, 9);
	CHECK_EQ(v.rule, FG_RULE_C7);
}

TEST(rows_C8_search_the_cluster_first)
{
	struct fg_task p;
	struct fg_verdict v;

	/* target 2: CPU 5 is nearer by id, 1 by cache */
	landed();
	kit_idle(1);
	kit_idle(5);
	p = kit_task(1, 2);
	v = kit_wake(&p, 2, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 1);
	CHECK_EQ(v.rule, FG_RULE_C8C);
	CHECK_EQ(v.scanned, 3); /* 3 0 1 */
	/* outside only */
	kit_busy(1);
	kit_idle(9);
	v = kit_wake(&p, 2, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 5);
	CHECK_EQ(v.rule, FG_RULE_C8);
	CHECK_EQ(v.scanned, 6); /* 3 0 1 2, 4 5 */
	/* the two share the budget, and none of the cluster is looked at again: 3 0 1 2, 4 */
	llcs[0].nr_idle_scan = 5;
	v = kit_wake(&p, 2, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 2);
	CHECK_EQ(v.rule, FG_RULE_C11);
	CHECK_EQ(v.scanned, 5);
	/* spent in the cluster */
	llcs[0].nr_idle_scan = 3;
	kit_idle(4);
	v = kit_wake(&p, 2, FG_WF_TTWU);
	CHECK_EQ(v.rule, FG_RULE_C11);
	CHECK_EQ(v.scanned, 3);
	/* without clusters at all, and without clusters in this LLC, though others have some: in order of ids from 3 on */
	llcs[0].nr_idle_scan = 12;
	kit_idle(1);
	sys.cluster_key = 0;
	CHECK_EQ(kit_wake(&p, 2, FG_WF_TTWU).cpu, 4);
	sys.cluster_key = 1;
	cpus[2].cluster = 0;
	v = kit_wake(&p, 2, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 4);
	CHECK_EQ(v.rule, FG_RULE_C8);
	/* the LLC of another node is out of reach */
	kit_busy_range(0, 11);
	kit_idle(12);
	v = kit_wake(&p, 2, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 2);
	CHECK_EQ(v.rule, FG_RULE_C11);
}

TEST(rows_C8_with_a_hint_want_a_core)
{
	struct fg_task p;
	struct fg_verdict v;

	smt_clusters(SD_CLS);
	kit_preset_v612();
	llcs[0].nr_idle_scan = 1;
	llcs[0].has_idle_cores = 1;
	/* an idle thread in the cluster, an idle core there, another elsewhere */
	kit_idle(3);
	kit_idle(0);
	kit_idle(1);
	kit_idle(8);
	kit_idle(9);
	p = kit_task(1, 2);
	v = kit_wake(&p, 2, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 0);
	CHECK_EQ(v.rule, FG_RULE_C8C);
	kit_busy(0);
	v = kit_wake(&p, 2, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 8);
	CHECK_EQ(v.rule, FG_RULE_C8I);
	/* no core: the first thread met, in the cluster */
	kit_busy(9);
	v = kit_wake(&p, 2, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 3);
	CHECK_EQ(v.rule, FG_RULE_C8);
	CHECK(v.writes & FG_W_NO_IDLE_CORES);
}

/* nr_idle_scan 0: no scan hides the late rows. */
TEST(rows_C9_to_C11)
{
	struct fg_task p;
	struct fg_verdict v;

	landed();
	llcs[0].nr_idle_scan = 0;
	kit_idle(1);
	kit_idle(6);
	kit_idle(9);
	p = kit_task(1, 6);
	p.recent_used = 9;
	v = kit_wake(&p, 0, SYNC);
	CHECK_EQ(v.cpu, 6);
	CHECK_EQ(v.rule, FG_RULE_C9);
	CHECK_EQ(v.recent_used, 6);
	kit_busy(6);
	v = kit_wake(&p, 0, SYNC);
	CHECK_EQ(v.cpu, 9);
	CHECK_EQ(v.rule, FG_RULE_C10);
	/* with versions that write it when it is used, used it is */
	sys.feat.value[FG_RECENT_PREV] = 0;
	v = kit_wake(&p, 0, SYNC);
	CHECK_EQ(v.rule, FG_RULE_C10);
	CHECK(v.writes & FG_W_RECENT);
	kit_busy(9);
	v = kit_wake(&p, 0, SYNC);
	CHECK_EQ(v.cpu, 0);
	CHECK_EQ(v.rule, FG_RULE_C11);
	/* a CPU that failed another test than the cluster's is not a last resort: not allowed, another LLC */
	kit_idle(9);
	mask_clear(&p.allowed, 9);
	CHECK_EQ(kit_wake(&p, 0, SYNC).rule, FG_RULE_C11);
	p.recent_used = 13;
	kit_idle(13);
	CHECK_EQ(kit_wake(&p, 0, SYNC).rule, FG_RULE_C11);
}

static void variant(u32 cls)
{
	clusters(SD_MC);
	kit_preset_v59();
	sys.feat.value[FG_CLS_DOMAIN] = 1;
	sys.feat.value[FG_CLS_SELECT] = (u8)cls;
	for (u32 c = 0; c < 24; c++)
		cpus[c].avg_idle = 1000000; /* 12 * 1953 over a cost of 1: no limit */
}

TEST(mail_004_vectors)
{
	static const u32 rule[] = { FG_RULE_B8, FG_RULE_B7C, FG_RULE_B8, FG_RULE_C8C };
	struct fg_task p;

	for (u32 cls = FG_CLS_NONE; cls <= FG_CLS_LANDED; cls++) {
		if (cls == FG_CLS_LANDED)
			landed();
		else
			variant(cls);
		/* target's cluster is busy, one idle CPU elsewhere: everybody finds it */
		kit_idle(9);
		p = kit_task(1, 2);
		CHECK_EQ(kit_wake(&p, 2, FG_WF_TTWU).cpu, 9);
		/* idle in both: the next by id, or inside */
		kit_idle(5);
		kit_idle(1);
		CHECK_EQ(kit_wake(&p, 2, FG_WF_TTWU).cpu, cls == FG_CLS_NONE ? 5 : 1);
		CHECK_EQ(kit_wake(&p, 2, FG_WF_TTWU).rule, rule[cls]);
	}
}

/* The same without the level (cls-domain): CPUs still have clusters, wakeups find them, balancing does not. */
TEST(wakeups_find_clusters_that_are_no_domain)
{
	struct fg_task p;
	struct fg_verdict v;

	kit_init(24);
	kit_clusters(4);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 12);
	kit_level(FG_LEVEL_NUMA, SD_NUMA, 125, 24);
	kit_finish();
	kit_landed();
	kit_busy_range(0, 23);
	llcs[0].nr_idle_scan = 12;
	/* target 2: CPU 5 is nearer by id, 1 by cache */
	kit_idle(1);
	kit_idle(5);
	p = kit_task(1, 2);
	CHECK_EQ(kit_wake(&p, 2, FG_WF_TTWU).cpu, 5);
	sys.feat.value[FG_CLS_SELECT] = FG_CLS_LOOP;
	v = kit_wake(&p, 2, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 1);
	CHECK_EQ(v.rule, FG_RULE_B7C);
	sys.feat.value[FG_CLS_SELECT] = FG_CLS_LEVELS;
	v = kit_wake(&p, 2, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 1);
	CHECK_EQ(v.scanned, 4); /* 2 3 0 1 */
	/* a budget made from the cluster: 4 * 1000 / 401 = 9, eight looks, the cluster's not twice */
	cpus[2].avg_idle = 512000;
	cpus[2].sd_llc->avg_scan_cost = 400;
	sys.feat.value[FG_LEVELS_NR] = FG_LEVELS_NR_CLUSTER;
	kit_busy(1);
	kit_busy(5);
	kit_idle(8);
	v = kit_wake(&p, 2, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 2);
	CHECK_EQ(v.scanned, 8);
	kit_preset_v612();
	kit_idle(1);
	CHECK_EQ(kit_wake(&p, 2, FG_WF_TTWU).rule, FG_RULE_C8C);
	/* a previous CPU in another cluster waits for it */
	p.cpu = 8;
	v = kit_wake(&p, 2, SYNC);
	CHECK_EQ(v.cpu, 1);
	CHECK_EQ(v.rule, FG_RULE_C8C);
	kit_busy(1);
	llcs[0].nr_idle_scan = 0;
	CHECK_EQ(kit_wake(&p, 2, SYNC).rule, FG_RULE_C9);
}

TEST(the_posted_loop_has_no_budget_and_no_sched_idle)
{
	struct fg_task p;
	struct fg_verdict v;

	variant(FG_CLS_LOOP);
	for (u32 c = 0; c < 24; c++)
		cpus[c].avg_idle = 0; /* 3 looks */
	kit_idle(1);
	p = kit_task(1, 2);
	v = kit_wake(&p, 2, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 1);
	CHECK_EQ(v.rule, FG_RULE_B7C);
	CHECK_EQ(v.scanned, 0);
	CHECK_EQ(v.probes, 1 + 4); /* target; 2 3 0 1 */
	/* its looks are not the scan's */
	kit_busy(1);
	kit_idle(4);
	v = kit_wake(&p, 2, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 4);
	CHECK_EQ(v.rule, FG_RULE_B8);
	CHECK_EQ(v.scanned, 3); /* 2 3 4 */
	/* SCHED_IDLE in the cluster is for the scan, which comes to 4 first */
	kit_sched_idle(1);
	CHECK_EQ(kit_wake(&p, 2, FG_WF_TTWU).cpu, 4);
	/* affinity counts */
	kit_idle(1);
	mask_clear(&p.allowed, 1);
	CHECK_EQ(kit_wake(&p, 2, FG_WF_TTWU).cpu, 4);
	/* after mail 000 it is at the same place */
	mask_set(&p.allowed, 1);
	sys.feat.value[FG_ASYM_PREV_FIRST] = 1;
	CHECK_EQ(kit_wake(&p, 2, FG_WF_TTWU).rule, FG_RULE_A7C);
	/* without clusters it has no effect */
	cpus[2].cluster = 0;
	CHECK_EQ(kit_wake(&p, 2, FG_WF_TTWU).rule, FG_RULE_A8);
}

TEST(the_posted_loop_gives_way_to_smt)
{
	struct fg_task p;

	smt_clusters(SD_MC);
	sys.feat.value[FG_CLS_SELECT] = FG_CLS_LOOP;
	kit_idle(1);
	kit_idle(4);
	p = kit_task(1, 2);
	CHECK_EQ(kit_wake(&p, 2, FG_WF_TTWU).cpu, 4);
	sys.smt_key = 0;
	CHECK_EQ(kit_wake(&p, 2, FG_WF_TTWU).cpu, 1);
}

TEST(levels_share_one_budget)
{
	struct fg_task p;
	struct fg_verdict v;

	variant(FG_CLS_LEVELS);
	/* this CPU's LLC: 12 * 1000 / 2001 = 5, four looks: 2 3 0 1, and none beyond */
	cpus[2].avg_idle = 512000;
	cpus[2].sd_llc->avg_scan_cost = 2000;
	kit_idle(4);
	p = kit_task(1, 2);
	v = kit_wake(&p, 2, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 2);
	CHECK_EQ(v.scanned, 4);
	CHECK(!(v.writes & FG_W_SCAN_COST));
	/* 12000 / 1901 = 6: one more */
	cpus[2].sd_llc->avg_scan_cost = 1900;
	v = kit_wake(&p, 2, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 4);
	CHECK_EQ(v.scanned, 5);
	CHECK(v.writes & FG_W_SCAN_COST);
	/* made from the cluster: 4 * 1000 is not more than 4 * 1901: three looks */
	sys.feat.value[FG_LEVELS_NR] = FG_LEVELS_NR_CLUSTER;
	CHECK_EQ(kit_wake(&p, 2, FG_WF_TTWU).scanned, 3);
	/* 4000 / 401 = 9: eight, none of them twice */
	cpus[2].sd_llc->avg_scan_cost = 400;
	kit_busy(4);
	kit_idle(8);
	CHECK_EQ(kit_wake(&p, 2, FG_WF_TTWU).scanned, 8);
	kit_idle(7);
	CHECK_EQ(kit_wake(&p, 2, FG_WF_TTWU).cpu, 7);
	/* SCHED_IDLE is taken */
	kit_sched_idle(0);
	CHECK_EQ(kit_wake(&p, 2, FG_WF_TTWU).cpu, 0);
}

/* The lowest level is the one above SMT: from 3 on that is 3 0 1 2, not 3 2 0 1. */
TEST(levels_start_above_smt)
{
	struct fg_task p;

	smt_clusters(SD_MC);
	sys.feat.value[FG_CLS_SELECT] = FG_CLS_LEVELS;
	kit_idle(0);
	kit_idle(2);
	kit_idle(4);
	p = kit_task(1, 3);
	CHECK_EQ(kit_wake(&p, 3, FG_WF_TTWU).cpu, 0);
}

int main(void)
{
	RUN(rows_C1_and_C2);
	RUN(row_C3_needs_task_context_and_a_fit);
	RUN(row_C4_and_who_is_recent_afterwards);
	RUN(row_C5_is_final);
	RUN(row_C6_isolated_target);
	RUN(row_C7_the_core_of_prev);
	RUN(rows_C8_search_the_cluster_first);
	RUN(rows_C8_with_a_hint_want_a_core);
	RUN(rows_C9_to_C11);
	RUN(mail_004_vectors);
	RUN(wakeups_find_clusters_that_are_no_domain);
	RUN(the_posted_loop_has_no_budget_and_no_sched_idle);
	RUN(the_posted_loop_gives_way_to_smt);
	RUN(levels_share_one_budget);
	RUN(levels_start_above_smt);
	return test_report();
}
