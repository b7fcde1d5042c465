/* SPDX-License-Identifier: GPL-2.0-only */
/* What an attempt leaves behind, and how newly idle balancing goes on: failures and intervals (spec 6.5, 6.9). */
#include "lb_version.h"

TEST(a_balanced_domain_waits_twice_as_long)
{
	struct fg_domain *mc;

	lb_packages(2, 125, 612);
	mc = &domains[0][0];
	mc->nr_balance_failed = 3;
	CHECK_RULE(lb_attempt(0, 0, FG_CPU_NEWLY_IDLE), NO_GROUP);
	CHECK_EQ(mc->nr_balance_failed, 0);
	CHECK_EQ(mc->balance_interval, 4);
	lb_attempt(0, 0, FG_CPU_IDLE);
	CHECK_EQ(mc->balance_interval, 8);
	/* while below the maximum of 8; whose turn it is does not matter */
	lb_attempt(0, 0, FG_CPU_IDLE);
	CHECK_EQ(mc->balance_interval, 8);
	lb_top(1)->nr_balance_failed = 3;
	CHECK_RULE(lb_attempt(1, 1, FG_CPU_IDLE), NOT_OURS);
	CHECK_EQ(lb_top(1)->balance_interval, 16);
	CHECK_EQ(lb_top(1)->nr_balance_failed, 0);
}

TEST(what_moved_ends_the_failures)
{
	lb_one_busy(612, 4);
	lb_top(0)->nr_balance_failed = 3;
	lb_top(0)->balance_interval = 16;
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).moved, 2);
	CHECK_EQ(lb_top(0)->nr_balance_failed, 0);
	CHECK_EQ(lb_top(0)->balance_interval, lb_top(0)->min_interval);
}

TEST(newly_idle_failures_do_not_count)
{
	lb_packages(2, 125, 612);
	lb_run(4, 100);
	lb_run(5, 100);
	lb_attempt(0, 1, FG_CPU_NEWLY_IDLE);
	CHECK_EQ(lb_top(0)->nr_balance_failed, 0);
}

TEST(a_misfit_without_success_keeps_the_pace_since_v610)
{
	for (u32 version = 609; version <= 610; version++) {
		kit_init(6);
		kit_capacity(0, 3, 446);
		kit_level(FG_LEVEL_MC, SD_MC, 117, 4);
		kit_level(FG_LEVEL_PKG, SD_DEFAULT | FG_SD_ASYM_CPUCAPACITY, 125, 6);
		lb_finish(version);
		lb_task_util(lb_run(0, 1000), 400);
		cpus[0].misfit_task_load = 1000;
		CHECK_EQ(lb_attempt(4, 1, FG_CPU_IDLE).active, 1);
		CHECK_EQ(lb_top(4)->nr_balance_failed, version == 609);
		/* it may not come: the interval */
		cpus[0].active_balance = 0;
		kit_allow(&lb_task[0], 0, 3);
		lb_top(4)->balance_interval = 8;
		CHECK_EQ(lb_attempt(4, 1, FG_CPU_IDLE).active, 0);
		CHECK_EQ(lb_top(4)->balance_interval, version == 609 ? 16 : 8);
	}
}

TEST(newly_idle_balancing_ends_when_something_came)
{
	struct fg_balance_walk w = { .jiffies = 1000 };
	struct fg_domain *mc;

	lb_packages(2, 125, 514);
	mc = &domains[0][0];
	fg_newidle_begin(&sys, &w);
	CHECK_EQ(fg_newidled_domain(&sys, mc, &cpus[0], &w, 100), FG_BALANCE_SKIP);
	w.pulled = 1;
	CHECK_EQ(fg_newidled_domain(&sys, mc, &cpus[0], &w, 100), FG_BALANCE_STOP);
	w.pulled = 0;
	cpus[0].ttwu_pending = 1;
	CHECK_EQ(fg_newidled_domain(&sys, mc, &cpus[0], &w, 100), FG_BALANCE_SKIP);
	lb_with(FG_NEWIDLE_PENDING);
	CHECK_EQ(fg_newidled_domain(&sys, mc, &cpus[0], &w, 100), FG_BALANCE_STOP);
	cpus[0].ttwu_pending = 0;
	cpus[0].nr_running = 1;
	CHECK_EQ(fg_newidled_domain(&sys, mc, &cpus[0], &w, 100), FG_BALANCE_STOP);
}

TEST(newly_idle_balancing_by_its_success)
{
	struct fg_balance_walk w = { .jiffies = 1000 };
	struct fg_domain *mc;

	lb_packages(2, 125, 612);
	mc = &domains[0][0];
	mc->newidle_call = 512;
	mc->newidle_success = 256;
	mc->newidle_ratio = 99;
	fg_newidle_begin(&sys, &w);
	w.dice = 1023;
	CHECK_EQ(fg_newidle_domain(&sys, mc, &cpus[0], &w), FG_BALANCE_NOW);
	CHECK_EQ(mc->newidle_call, 512);
	lb_with_value(FG_NEWIDLE_FAIL, FG_NEWIDLE_RANDOM);
	CHECK_EQ(fg_newidle_domain(&sys, mc, &cpus[0], &w), FG_BALANCE_SKIP);
	CHECK_EQ(mc->newidle_call, 513);
	w.dice = 101;
	CHECK_EQ(fg_newidle_domain(&sys, mc, &cpus[0], &w), FG_BALANCE_SKIP);
	w.dice = 100;
	CHECK_EQ(fg_newidle_domain(&sys, mc, &cpus[0], &w), FG_BALANCE_NOW);
	/* one in ten tries, so a success counts for ten: (1024 + 50) / 100 */
	w.pulled = 2;
	fg_newidled_domain(&sys, mc, &cpus[0], &w, 1);
	CHECK_EQ(mc->newidle_call, 515);
	CHECK_EQ(mc->newidle_success, 266);
	/* a try that took no time is none */
	fg_newidled_domain(&sys, mc, &cpus[0], &w, 0);
	CHECK_EQ(mc->newidle_call, 515);
	/* the 1024th settles the ratio */
	w.dice = 1023;
	for (u32 i = 515; i < 1024; i++)
		fg_newidle_domain(&sys, mc, &cpus[0], &w);
	CHECK_EQ(mc->newidle_ratio, 266);
	CHECK_EQ(mc->newidle_call, 512);
	CHECK_EQ(mc->newidle_success, 133);
}

/* Vector 10: what the ratio of 1024 tries weighs, and what a success counts for. */
TEST(a_rare_success_counts_for_many_tries)
{
	static const u32 ratio[] = { 0, 256, 512, 1023 }, weight[] = { 1, 257, 513, 1024 }, adds[] = { 1024, 4, 2, 1 };

	for (u32 i = 0; i < 4; i++) {
		struct fg_balance_walk w = { .jiffies = 1000 };
		struct fg_domain *mc;

		lb_packages(2, 125, 612);
		lb_with_value(FG_NEWIDLE_FAIL, FG_NEWIDLE_RANDOM);
		mc = &domains[0][0];
		mc->newidle_ratio = ratio[i];
		fg_newidle_begin(&sys, &w);
		for (w.dice = 0; w.dice < 1024; w.dice++) {
			mc->newidle_call = mc->newidle_success = 0;
			CHECK_EQ(fg_newidle_domain(&sys, mc, &cpus[0], &w) == FG_BALANCE_NOW, w.dice <= weight[i]);
		}
		w.dice = 0;
		mc->newidle_call = mc->newidle_success = 0;
		CHECK_EQ(fg_newidle_domain(&sys, mc, &cpus[0], &w), FG_BALANCE_NOW);
		w.pulled = 1;
		fg_newidled_domain(&sys, mc, &cpus[0], &w, 1);
		CHECK_EQ(mc->newidle_success, adds[i]);
	}
}

TEST(newly_idle_failures_cost_more_up_to_a_limit_in_v617)
{
	struct fg_balance_walk w = { .jiffies = 1000 };
	struct fg_domain *mc;

	lb_packages(2, 125, 612);
	lb_with_value(FG_NEWIDLE_FAIL, FG_NEWIDLE_BUMP);
	lb_with(FG_NEWIDLE_COST);
	mc = &domains[0][0];
	mc->next_decay = 2000;
	mc->max_newidle_lb_cost = 100000;
	fg_newidle_begin(&sys, &w);
	/* what was measured does not count */
	fg_newidled_domain(&sys, mc, &cpus[0], &w, 10);
	CHECK_EQ(mc->max_newidle_lb_cost, 150000);
	CHECK_EQ(w.cost, 10);
	for (u32 i = 0; i < 10; i++)
		fg_newidled_domain(&sys, mc, &cpus[0], &w, 10);
	CHECK_EQ(mc->max_newidle_lb_cost, FG_MIGRATION_COST + 200);
	/* a success counts as what it took; without a cost there is nothing to raise */
	mc->max_newidle_lb_cost = 100;
	w.pulled = 1;
	fg_newidled_domain(&sys, mc, &cpus[0], &w, 900);
	CHECK_EQ(mc->max_newidle_lb_cost, 900);
	mc->max_newidle_lb_cost = 0;
	w.pulled = 0;
	fg_newidled_domain(&sys, mc, &cpus[0], &w, 900);
	CHECK_EQ(mc->max_newidle_lb_cost, 0);
}

/* Vector 11. */
TEST(what_is_rarely_tried_is_allowed_since_v71)
{
	static const u32 quarters[] = { 1, 2, 4, 8, 16 }, added[] = { 59, 119, 238, 476, 953 };

	for (u32 i = 0; i < 5; i++) {
		struct fg_balance_walk w = { .jiffies = 1000 };
		struct fg_domain *mc;

		lb_packages(2, 125, 612);
		lb_with_value(FG_NEWIDLE_FAIL, FG_NEWIDLE_RATE);
		mc = &domains[0][0];
		mc->newidle_call = 1023;
		mc->newidle_success = 30;
		mc->newidle_stamp = 5 * FG_NSEC_PER_SEC;
		cpus[0].clock = mc->newidle_stamp + quarters[i] * FG_NSEC_PER_SEC / 4;
		fg_newidle_begin(&sys, &w);
		fg_newidled_domain(&sys, mc, &cpus[0], &w, 1);
		CHECK_EQ(mc->newidle_ratio, 30 + added[i]);
		CHECK_EQ(mc->newidle_stamp, cpus[0].clock);
		/* nor more than always */
		mc->newidle_call = 1023;
		cpus[0].clock += 60 * FG_NSEC_PER_SEC;
		fg_newidled_domain(&sys, mc, &cpus[0], &w, 1);
		CHECK_EQ(mc->newidle_ratio, 1024);
	}
}

int main(void)
{
	RUN(a_balanced_domain_waits_twice_as_long);
	RUN(what_moved_ends_the_failures);
	RUN(newly_idle_failures_do_not_count);
	RUN(a_misfit_without_success_keeps_the_pace_since_v610);
	RUN(newly_idle_balancing_ends_when_something_came);
	RUN(newly_idle_balancing_by_its_success);
	RUN(a_rare_success_counts_for_many_tries);
	RUN(newly_idle_failures_cost_more_up_to_a_limit_in_v617);
	RUN(what_is_rarely_tried_is_allowed_since_v71);
	return test_report();
}
