/* SPDX-License-Identifier: GPL-2.0-only */
/* Wakeups from their entry to what is written: affinity, machines at the edge, the verdict. */
#include "kit.h"

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

/* prev is offline: it idles, but is not active and has no domains, so its node is what it was. */
TEST(offline)
{
	static struct fg_mask node;
	struct fg_verdict v;
	struct fg_task p;

	kit_init(8);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 4);
	kit_level(FG_LEVEL_NUMA, SD_NUMA, 125, 8);
	kit_finish();
	p = kit_task(100, 6);
	kit_busy_range(0, 7);
	kit_idle(6);
	cpus[6].sd = 0;
	mask_clear(&sys.active, 6);
	memset(&node, 0, sizeof(node));
	mask_set(&node, 5);
	mask_set(&node, 7);
	cpus[6].node = &node;

	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 5);
	CHECK_EQ(v.rule, FG_RULE_FALLBACK);
	/* nothing allowed there: the first of all */
	kit_allow(&p, 2, 3);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).cpu, 2);
	/* nothing allowed is active: the first that is */
	kit_allow(&p, 6, 6);
	v = kit_wake(&p, 0, FG_WF_TTWU);
	CHECK_EQ(v.cpu, 0);
	CHECK_EQ(v.rule, FG_RULE_FALLBACK);
}

TEST(one_cpu)
{
	struct fg_task p;

	kit_init(1);
	p = kit_task(1, 0);
	p.nr_allowed = 1;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU).cpu, 0);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_FORK).rule, FG_RULE_ONLY_CPU);
	/* even if nr_allowed is wrong */
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

	kit_asym_machine(8);
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

int main(void)
{
	RUN(affinity_at_the_entry);
	RUN(offline);
	RUN(one_cpu);
	RUN(a_thousand_and_twenty_four_cpus);
	RUN(commit_writes_what_the_verdict_says);
	return test_report();
}
