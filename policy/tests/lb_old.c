/* SPDX-License-Identifier: GPL-2.0-only */
/* The vectors O1 to O7 of spec 11.1 and the v5.4 side of N5; patches 02 and 03 on those scenes. */
#include "lb_old_kit.h"

/* Two tasks of 300 there, none here, U 600. */
TEST(o1_the_idle_test_is_for_ticks_only)
{
	struct lb_report r;

	lb_singles(2, SD_MC, 117, V54);
	lb_queue(1, 2, 300);
	lb_util(1, 1, 600);
	/* idle 1 <= 0 + 1 */
	CHECK_BALANCED(look(0, 0, FG_CPU_IDLE), IDLE_CPUS);
	/* 100 * 600 <= 117 * 0 false; S 300: min(300, 300) */
	CHECK_FORCED(look(0, 0, FG_CPU_NEWLY_IDLE), LOAD, 300);
	/* the waiting one, 299 / 2 <= 300; the last one stays */
	r = lb_attempt(0, 0, FG_CPU_NEWLY_IDLE);
	CHECK_EQ(r.moved, 1);
	CHECK_EQ(r.id[0], 1);
	CHECK_EQ(r.to[0], 0);
	CHECK_EQ(r.active, 0);
	CHECK_EQ(cpus[0].nr_running, 1);
	CHECK_EQ(cpus[1].nr_running, 1);
}

/* Three tasks of 1024 here, four there, one on each CPU. */
TEST(o2_a_small_imbalance_is_forced)
{
	struct lb_report r;

	lb_packages(2, 125, V54);
	lb_queues(1, 7, 1, 1024);
	/* avg 768, 1024, S 896: amount 512 < 1024; n 2, s 256: 1280 >= 1280 */
	CHECK_FORCED(look(0, 1, FG_CPU_NEWLY_IDLE), LOAD, 1024);
	/* the lowest CPU, its load is not above the amount; but what runs there cannot move */
	r = lb_attempt(0, 1, FG_CPU_NEWLY_IDLE);
	CHECK_EQ(r.src, 4);
	CHECK_EQ(r.moved, 0);
	/* idle 1 <= 0 + 1 */
	CHECK_BALANCED(look(0, 1, FG_CPU_IDLE), IDLE_CPUS);
	/* P03: 512 stays, and each queue has one task of more */
	lb_with(FG_LB_P03);
	CHECK_FORCED(look(0, 1, FG_CPU_NEWLY_IDLE), LOAD, 512);
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_NEWLY_IDLE).rule, FG_BALANCE_RULE_NO_QUEUE);
}

/* One task of 700 here, two of 450 there, U 800; the CPU is busy. */
static void o3(void)
{
	lb_singles(2, SD_MC, 117, V54);
	lb_queue(0, 1, 700);
	lb_queue(1, 2, 450);
	lb_util(1, 1, 800);
}

TEST(o3_a_small_imbalance_is_refused)
{
	struct lb_report r;

	for (u32 p03 = 0; p03 < 2; p03++) {
		o3();
		sys.feat.value[FG_LB_P03] = (u8)p03;
		/* S 800: 100 < 450; n 2, s 450: 1350 >= 1600 false; now 1150, then 0 + 1150 */
		CHECK_FORCED(look(0, 0, FG_CPU_NOT_IDLE), LOAD, 100);
		/* 449 / 2 > 100: no task moves, until the stopper is asked at the fourth failure */
		for (u32 failures = 1; failures <= 4; failures++) {
			r = lb_attempt(0, 0, FG_CPU_NOT_IDLE);
			CHECK_EQ(r.src, 1);
			CHECK_EQ(r.moved, 0);
			CHECK_EQ(r.active, failures == 4);
		}
		/* after which no heat counts, and the next time is later; before, it came as soon as may be */
		CHECK_EQ(domains[0][0].nr_balance_failed, 2);
		CHECK_EQ(domains[0][0].balance_interval, 4);
		CHECK_EQ(lb_attempt(0, 0, FG_CPU_NOT_IDLE).active, 0);
	}
}

/* A task of 3121 here, three of 1024 there, two of them on one thread, U 1500. */
static void o4(void)
{
	lb_cores(2, V54);
	lb_queue(0, 1, 3121);
	lb_queue(2, 2, 1024);
	lb_queue(3, 1, 1024);
	lb_util(2, 3, 750);
}

TEST(o4_siblings_share_tasks_whatever_they_weigh)
{
	struct lb_report r;
	struct look l;

	o4();
	/*
	 * 3 > 1 + 1. avg 1560, 1536, S 1548: 0; n 2, s 512: 2048 >= 2584 false; now 2048 + 3120 = 5168, then
	 * 2048 * 1024 / 1024 + 2048 * min(3121, 1560 + 512) / 1024 = 2048 + 4144
	 */
	l = look(1, 1, FG_CPU_IDLE);
	CHECK_FORCED(l, NO_CAPACITY, 1024);
	CHECK_EQ(l.type, group_overloaded);
	r = lb_attempt(1, 1, FG_CPU_IDLE);
	CHECK_EQ(r.src, 2);
	CHECK_EQ(r.moved, 1);
	CHECK_EQ(r.id[0], 2);
	/* a busy CPU is not forced to: 1560 >= 1536 */
	o4();
	CHECK_BALANCED(look(1, 1, FG_CPU_NOT_IDLE), LOCAL_LOAD);
	/* P03: 0 stays 0 */
	lb_with(FG_LB_P03);
	CHECK_BALANCED(look(1, 1, FG_CPU_IDLE), NO_AMOUNT);
	/* without the flag of the cores: 1560 >= 1536 */
	o4();
	no_prefer_sibling();
	CHECK_BALANCED(look(1, 1, FG_CPU_IDLE), LOCAL_LOAD);
}

/* One task on each thread there, none here: a running task cannot be pulled. */
TEST(o4_a_running_task_is_pushed_after_four_failures)
{
	struct lb_report r;

	lb_cores(2, V54);
	lb_queues(2, 3, 1, 1024);
	/* 2 > 0 + 1. S 512: 512 * 2048 / 1024 */
	for (u32 failures = 1; failures <= 4; failures++) {
		r = lb_attempt(0, 1, FG_CPU_IDLE);
		CHECK_EQ(r.rule, FG_BALANCE_RULE_NO_CAPACITY);
		CHECK_EQ(r.amount, 1024);
		CHECK_EQ(r.src, 2);
		CHECK_EQ(r.active, failures == 4);
	}
	CHECK_EQ(lb_stopper(2), 0);
	CHECK_EQ(lb_task[0].cpu, 0);
}

/* Three tasks of 1024 here, four there on three CPUs; affinity left them so. An RT task keeps CPU 3 from idling. */
static void o5(u32 nr)
{
	lb_packages(2, 125, V54);
	lb_queues(0, nr - 1, 1, 1024);
	if (nr < 4)
		lb_run_rt(3);
	lb_queue(4, 2, 1024);
	lb_queues(5, 6, 1, 1024);
	domains[4][1].groups->imbalance = 1;
}

TEST(o5_tasks_that_affinity_kept_together)
{
	struct lb_report r;

	o5(3);
	/* S 896: pt min(1024, 896); 512; n 2, s 224: 1248 >= 1216 */
	CHECK_FORCED(look(0, 1, FG_CPU_NOT_IDLE), IMBALANCED, 896);
	/* 5 and 6 have one task of more than that */
	r = lb_attempt(0, 1, FG_CPU_NOT_IDLE);
	CHECK_EQ(r.src, 4);
	CHECK_EQ(r.moved, 1);
	CHECK_EQ(r.id[0], 4);
	/* P03: pt is nothing any more; 1023 / 2 <= 512 */
	o5(3);
	lb_with(FG_LB_P03);
	CHECK_FORCED(look(0, 1, FG_CPU_NOT_IDLE), IMBALANCED, 512);
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_NOT_IDLE).moved, 1);
	/* as many here: 1024 <= S 1024; n 2, s 256: 1280 >= 1536 false; then 7168 > 8192 false */
	o5(4);
	CHECK_BALANCED(look(0, 1, FG_CPU_NOT_IDLE), NO_AMOUNT);
	lb_with(FG_LB_P03);
	CHECK_BALANCED(look(0, 1, FG_CPU_NOT_IDLE), NO_AMOUNT);
}

TEST(o6_between_overloaded_groups_no_cpu_is_emptied)
{
	struct lb_report r;

	lb_packages(2, 125, V54);
	lb_queues(0, 1, 2, 1024);
	lb_queues(2, 3, 1, 1024);
	lb_queues(4, 7, 3, 1024);
	lb_util(0, 7, 1024);
	/* avg 1536, 3072, S 2304: pull 768 < above (12288 - 4096) / 4; 768 * 4 */
	CHECK_FORCED(look(0, 1, FG_CPU_NOT_IDLE), LOAD, 3072);
	/* both that wait on the first CPU; the third runs */
	r = lb_attempt(0, 1, FG_CPU_NOT_IDLE);
	CHECK_EQ(r.src, 4);
	CHECK_EQ(r.moved, 2);
	CHECK_EQ(r.id[0], 7);
	CHECK_EQ(r.id[1], 8);
}

static void o6_heavy(void)
{
	lb_packages(2, 125, V54);
	lb_queue(0, 2, 1024);
	lb_queues(1, 3, 1, 1024);
	lb_queue(4, 2, 3121);
	lb_queues(5, 7, 1, 3121);
	lb_util(0, 7, 1024);
}

TEST(o6_heavy_tasks_count_as_one_a_cpu)
{
	struct lb_report r;

	o6_heavy();
	/* avg 1280, 3901, S 2590: pull 1311, above (5120 - 4096) / 4 = 256; 1024 < 3121; n 1: 3901 >= 1280 */
	CHECK_FORCED(look(0, 1, FG_CPU_NOT_IDLE), LOAD, 3121);
	r = lb_attempt(0, 1, FG_CPU_NOT_IDLE);
	CHECK_EQ(r.src, 4);
	CHECK_EQ(r.moved, 1);
	/* P03: 3120 / 2 > 1024 */
	o6_heavy();
	lb_with(FG_LB_P03);
	r = lb_attempt(0, 1, FG_CPU_NOT_IDLE);
	CHECK_EQ(r.amount, 1024);
	CHECK_EQ(r.src, 4);
	CHECK_EQ(r.moved, 0);
}

TEST(o7_work_goes_to_the_preferred_cpu)
{
	struct lb_report r;
	struct look l;

	for (u32 p01 = 0; p01 < 2; p01++) {
		packing_cpus(2);
		sys.feat.value[FG_LB_P01] = (u8)p01;
		/* all of its load, and as it is the running task the stopper is asked at once */
		lb_queue(1, 1, 1024);
		l = look(0, 0, FG_CPU_IDLE);
		CHECK_FORCED(l, ASYM, 1024);
		CHECK_EQ(l.type, group_has_spare);
		r = lb_attempt(0, 0, FG_CPU_IDLE);
		CHECK_EQ(r.src, 1);
		CHECK_EQ(r.moved, 0);
		CHECK_EQ(r.active, 1);
		CHECK_EQ(lb_stopper(1), 0);
		/* the other way round there is no group to be picked */
		packing_cpus(2);
		sys.feat.value[FG_LB_P01] = (u8)p01;
		lb_queue(0, 1, 1024);
		CHECK_BALANCED(look(1, 0, FG_CPU_IDLE), NO_GROUP);
		/* a busy CPU gathers nothing: 1024 >= 1024 */
		lb_queue(1, 1, 1024);
		CHECK_BALANCED(look(0, 0, FG_CPU_NOT_IDLE), LOCAL_LOAD);
	}
}

/* Two tasks, U 1024: the group wins by type, before anybody asks about packing. */
TEST(o7_p01_misses_a_group_that_wins_by_type)
{
	struct look l;

	packing_cpus(2);
	lb_queue(1, 2, 1024);
	lb_util(1, 1, 1024);
	l = look(0, 0, FG_CPU_IDLE);
	CHECK_FORCED(l, ASYM, 2048);
	CHECK_EQ(l.type, group_has_spare);
	CHECK_EQ(lb_attempt(0, 0, FG_CPU_IDLE).moved, 1);
	/* avg 2048, S 1024 */
	packing_cpus(2);
	lb_queue(1, 2, 1024);
	lb_util(1, 1, 1024);
	lb_with(FG_LB_P01);
	l = look(0, 0, FG_CPU_IDLE);
	CHECK_FORCED(l, NO_CAPACITY, 1024);
	CHECK_EQ(l.type, group_overloaded);
	CHECK_EQ(lb_attempt(0, 0, FG_CPU_IDLE).moved, 1);
}

/* N5 on v5.4: a little group, of which CPU 0 has work, and big CPUs 4 and 5, of which 5 has a task of 500. */
static void n5(void)
{
	kit_init(6);
	kit_capacity(0, 3, 446);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 4);
	kit_level(FG_LEVEL_PKG, SD_DEFAULT | FG_SD_ASYM_CPUCAPACITY, 125, 6);
	lb_finish(V54);
	lb_run(5, 500);
	cpus[0].misfit_task_load = 1000;
}

/* X, the misfit with a load of 1000, and Y, not big at all but with a load of 2400, wait behind an RT task. */
TEST(n5_misfit_balance_moves_whoever_comes_first)
{
	for (u32 y_first = 0; y_first < 2; y_first++) {
		struct lb_report r;
		struct look l;

		n5();
		lb_run_rt(0);
		lb_wait(0, y_first ? 2400 : 1000);
		lb_wait(0, y_first ? 1000 : 2400);
		/* avg 1951, 250, S 1042: min(909 * 1784, 792 * 2048) / 1024 = 1583 < pt 1700; n 1: 1951 >= 250 */
		l = look(4, 1, FG_CPU_IDLE);
		CHECK_FORCED(l, MISFIT, 1700);
		CHECK_EQ(l.type, group_misfit_task);
		/* 999 / 2 and 2399 / 2 both pass; after X 701 are left, which are too few for Y, after Y nothing */
		r = lb_attempt(4, 1, FG_CPU_IDLE);
		CHECK_EQ(r.src, 0);
		CHECK_EQ(r.moved, 1);
		CHECK_EQ(r.id[0], 1);
	}
}

/* X alone: avg 573, S 400: min(173 * 1784, 150 * 2048) / 1024 = 300, but at least the misfit's 1000. */
TEST(n5_a_running_misfit_is_pushed_at_once)
{
	struct lb_report r;

	n5();
	lb_run(0, 1000);
	r = lb_attempt(4, 1, FG_CPU_IDLE);
	CHECK_EQ(r.rule, FG_BALANCE_RULE_MISFIT);
	CHECK_EQ(r.amount, 1000);
	CHECK_EQ(r.src, 0);
	CHECK_EQ(r.active, 1);
	CHECK_EQ(lb_stopper(0), 1);
	CHECK_EQ(lb_task[1].cpu, 4);
}

/* O4 and O6 once more: without the forced small imbalances less moves, never more. */
TEST(p03_alone_moves_less)
{
	void (*const scene[])(void) = { o4, o6_heavy };
	static const u32 dst[] = { 1, 0 };
	u32 moved[2] = { 0, 0 };

	for (u32 p03 = 0; p03 < 2; p03++) {
		for (u32 i = 0; i < 2; i++) {
			scene[i]();
			sys.feat.value[FG_LB_P03] = (u8)p03;
			moved[p03] += lb_attempt(dst[i], 1, i ? FG_CPU_NOT_IDLE : FG_CPU_IDLE).moved;
		}
	}
	CHECK_EQ(moved[0], 2);
	CHECK_EQ(moved[1], 0);
}

/* P02 gives a count its right name, P09 is about wakeups: the load of queued tasks is what counts here. */
TEST(p02_and_p09_change_nothing)
{
	static const enum fg_feature_id id[] = { FG_LB_P02, FG_LB_P09 };

	for (u32 i = 0; i < 2; i++) {
		o4();
		lb_with(id[i]);
		CHECK_FORCED(look(1, 1, FG_CPU_IDLE), NO_CAPACITY, 1024);
		CHECK_EQ(lb_attempt(1, 1, FG_CPU_IDLE).moved, 1);
		o5(3);
		lb_with(id[i]);
		cpus[4].cfs.load_avg += 9000;
		CHECK_FORCED(look(0, 1, FG_CPU_NOT_IDLE), IMBALANCED, 896);
	}
}

int main(void)
{
	RUN(o1_the_idle_test_is_for_ticks_only);
	RUN(o2_a_small_imbalance_is_forced);
	RUN(o3_a_small_imbalance_is_refused);
	RUN(o4_siblings_share_tasks_whatever_they_weigh);
	RUN(o4_a_running_task_is_pushed_after_four_failures);
	RUN(o5_tasks_that_affinity_kept_together);
	RUN(o6_between_overloaded_groups_no_cpu_is_emptied);
	RUN(o6_heavy_tasks_count_as_one_a_cpu);
	RUN(o7_work_goes_to_the_preferred_cpu);
	RUN(o7_p01_misses_a_group_that_wins_by_type);
	RUN(n5_misfit_balance_moves_whoever_comes_first);
	RUN(n5_a_running_misfit_is_pushed_at_once);
	RUN(p03_alone_moves_less);
	RUN(p02_and_p09_change_nothing);
	return test_report();
}
