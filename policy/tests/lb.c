/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The busiest group, kind and amount since 002/P04 (spec 6.3, 6.4), computed by hand: classification and vectors N1 to N6 of
 * spec 11.1, the v5.5 side of O7, and one scenario for each rule.
 */
#include "lb_version.h"

/* ---- classification ---- */

/* Busiest of two groups of four, pct 117, five tasks in it. */
static u32 type_of_five(u32 version, u64 util, u64 runnable)
{
	lb_packages(2, 117, version);
	lb_states(4, 7, 1, 100, util / 4);
	cpus[4].cfs.util_avg += util % 4;
	cpus[4].nr_running = cpus[4].h_nr_running = 2;
	cpus[5].cfs.runnable_avg = runnable;
	return lb_find(0, 1, FG_CPU_IDLE).src_type;
}

TEST(five_tasks_on_four_cpus_overload_them_from_85_percent)
{
	/* 4096 * 100 < 3501 * 117 */
	CHECK_EQ(type_of_five(505, 3500, 0), group_has_spare);
	CHECK_EQ(type_of_five(505, 3501, 0), group_overloaded);
	/* 4096 * 117 < 4793 * 100, since v5.7; busy is not overloaded: as many tasks as CPUs */
	CHECK_EQ(type_of_five(506, 3500, 4793), group_has_spare);
	CHECK_EQ(type_of_five(507, 3500, 4792), group_has_spare);
	CHECK_EQ(type_of_five(507, 3500, 4793), group_overloaded);
	cpus[4].nr_running = cpus[4].h_nr_running = 1;
	CHECK_EQ(lb_find(0, 1, FG_CPU_IDLE).src_type, group_fully_busy);
	lb_state(4, 0, 0, 0);
	CHECK_EQ(lb_find(0, 1, FG_CPU_IDLE).src_type, group_has_spare);
	/* a flag of the level below outranks all but overload */
	cpus[0].sd[1].groups->next->imbalance = 1;
	CHECK_EQ(lb_find(0, 1, FG_CPU_IDLE).src_type, group_imbalanced);
}

/*
 * The five have less utilization than they could, and wait for longer than that: 4096 * 117 < 4793 * 100. CPU 1 is
 * overutilized, so that balancing goes on, but in the other group.
 */
TEST(with_energy_aware_wakeups_a_group_is_overloaded_by_an_overutilized_cpu_since_v71)
{
	for (u8 on = 0; on < 2; on++) {
		for (u8 eas = 0; eas < 2; eas++) {
			type_of_five(612, 0, 4793);
			sys.feat.value[FG_OVERLOAD_NEEDS_OU] = on;
			sys.eas = eas;
			lb_state(1, 1, 100, 1000);
			CHECK_EQ(lb_find(0, 1, FG_CPU_IDLE).src_type, on && eas ? group_fully_busy : group_overloaded);
			/* 820 * 1280 > 1024 * 1024 */
			cpus[6].cfs.util_avg = 820;
			CHECK_EQ(lb_find(0, 1, FG_CPU_IDLE).src_type, group_overloaded);
		}
	}
}

TEST(tasks_of_all_classes_count_since_p05)
{
	struct fg_balance b;

	/* N2: 2, 1, 1, 0 against 1 and an RT task: 4 > 2 + 1 */
	lb_packages(2, 125, 505);
	lb_state(0, 1, 100, 0);
	lb_state(4, 2, 200, 0);
	lb_states(5, 6, 1, 100, 0);
	b = lb_find(0, 1, FG_CPU_NOT_IDLE);
	CHECK_RULE(b, SIBLING);
	CHECK_AMOUNT(b, TASK, 1);
	cpus[1].nr_running = 1;
	cpus[1].curr_is_idle = 0;
	CHECK_AMOUNT(lb_find(0, 1, FG_CPU_NOT_IDLE), TASK, 1);
	cpus[1].nr_running = 2;
	CHECK_RULE(lb_find(0, 1, FG_CPU_NOT_IDLE), DST_BUSY);
	/* it counted fair tasks only */
	lb_without(FG_LB_P05);
	CHECK_AMOUNT(lb_find(0, 1, FG_CPU_NOT_IDLE), TASK, 1);
	/* nothing to be pulled, whatever else runs there */
	lb_with(FG_LB_P05);
	for (u32 c = 4; c < 8; c++)
		cpus[c].h_nr_running = 0;
	CHECK_RULE(lb_find(0, 1, FG_CPU_IDLE), NO_GROUP);
}

TEST(blocked_load_counts_since_p06)
{
	lb_packages(2, 125, 505);
	lb_states(0, 7, 2, 1000, 1024);
	for (u32 c = 4; c < 8; c++)
		cpus[c].cfs.load_avg = 2000;
	/* avg 1000, 2000, S 1500: 500 * 4096 / 1024 */
	CHECK_AMOUNT(lb_find(0, 1, FG_CPU_NOT_IDLE), LOAD, 2000);
	lb_without(FG_LB_P06);
	for (u32 c = 0; c < 8; c++)
		cpus[c].queued.load_avg = c < 4 ? 1000 : 1500;
	CHECK_AMOUNT(lb_find(0, 1, FG_CPU_NOT_IDLE), LOAD, 1000);
}

/* ---- the vectors N1 to N6 ---- */

static s64 numa_amount(u32 version, u32 busy, u32 local_busy)
{
	kit_init(32);
	kit_level(FG_LEVEL_MC, SD_MC & ~FG_SD_PREFER_SIBLING, 117, 16);
	kit_level(FG_LEVEL_NUMA, SD_NUMA, 125, 32);
	lb_finish(version);
	lb_states(16, 15 + busy, 1, 100, 100);
	if (local_busy)
		lb_states(16 - local_busy, 15, 1, 100, 100);
	for (u32 c = 0; c < 32; c++)
		domains[c][1].imb_numa_nr = 4;
	return lb_find(0, 1, FG_CPU_IDLE).imbalance;
}

TEST(n1_even_idle_cpus_between_nodes)
{
	static const struct {
		u32 version;
		s64 ten, three, two;
	} v[] = { { 505, 3, 1, 1 }, { 506, 3, 1, 0 }, { 511, 3, 0, 0 }, { 600, 3, 1, 0 } };

	for (u32 i = 0; i < 4; i++) {
		CHECK_EQ(numa_amount(v[i].version, 10, 4), v[i].ten);
		CHECK_EQ(numa_amount(v[i].version, 3, 0), v[i].three);
		CHECK_EQ(numa_amount(v[i].version, 2, 0), v[i].two);
		/* 16 <= 15 + 1 */
		CHECK_EQ(numa_amount(v[i].version, 1, 0), 0);
		CHECK_RULE(lb_find(0, 1, FG_CPU_IDLE), IDLE_CPUS);
	}
	/* three are not a small imbalance, however few tasks there are: 6 < 28 / 4, (6 - 0) >> 1 */
	kit_init(56);
	kit_level(FG_LEVEL_MC, SD_MC & ~FG_SD_PREFER_SIBLING, 117, 28);
	kit_level(FG_LEVEL_NUMA, SD_NUMA, 125, 56);
	lb_finish(511);
	lb_states(28, 33, 1, 100, 100);
	CHECK_AMOUNT(lb_find(0, 1, FG_CPU_IDLE), TASK, 3);
	/* beyond imb_numa_nr nothing is allowed: 5 > 4, (11 - 9) >> 1 */
	CHECK_EQ(numa_amount(600, 7, 4), 1);
	CHECK_EQ(numa_amount(600, 5, 3), 0);
}

TEST(n2_siblings_share_their_tasks)
{
	struct lb_report r;

	lb_packages(2, 125, 505);
	lb_queue(1, 1, 100);
	lb_queue(4, 2, 100);
	lb_queues(5, 6, 1, 100);
	r = lb_attempt(0, 1, FG_CPU_IDLE);
	CHECK_RULE(r, SIBLING);
	CHECK_EQ(r.src, 4);
	CHECK_EQ(r.moved, 1);
	CHECK_EQ(lb_task[r.id[0]].cpu, 0);
	CHECK_EQ(cpus[4].nr_running, 1);
	/* 1, 1, 0, 0 against 1: 2 > 2 is false, 3 <= 2 + 1 */
	lb_packages(2, 125, 505);
	lb_queue(1, 1, 100);
	lb_queues(4, 5, 1, 100);
	CHECK_RULE(lb_attempt(0, 1, FG_CPU_IDLE), IDLE_CPUS);
	CHECK_RULE(lb_find(1, 1, FG_CPU_NOT_IDLE), DST_BUSY);
}

/* L nr 3 of this utilization; CPU 4 one task of 1020, 5 two of 500, 6 two of 495, 7 one of 990. */
static void by_util(u32 version, u32 local_util)
{
	static const u32 nr[] = { 1, 2, 2, 1 }, util[] = { 1020, 500, 495, 990 };

	lb_packages(2, 125, version);
	for (u32 c = 1; c < 4; c++)
		lb_task_util(lb_run(c, 100), local_util / 3);
	cpus[1].cfs.util_avg += local_util % 3;
	for (u32 c = 0; c < 4; c++) {
		for (u32 i = 0; i < nr[c]; i++)
			lb_task_util(i ? lb_wait(4 + c, 100) : lb_run(4 + c, 100), util[c]);
	}
}

TEST(n3_utilization_up_to_what_has_room)
{
	struct lb_report r;

	by_util(506, 1500);
	r = lb_attempt(0, 1, FG_CPU_IDLE);
	CHECK_RULE(r, SIBLING);
	CHECK_EQ(r.migration, FG_MIGRATE_UTIL);
	CHECK_EQ(r.amount, 2596);
	CHECK_EQ(r.src, 4);
	CHECK_EQ(r.moved, 0);
	CHECK_EQ(domains[0][1].nr_balance_failed, 1);

	by_util(507, 1500);
	r = lb_attempt(0, 1, FG_CPU_IDLE);
	CHECK_EQ(r.src, 5);
	CHECK_EQ(r.moved, 1);

	by_util(607, 3696 - 1024);
	lb_without(FG_UTIL_SHIFT);
	for (u32 c = 0; c < 4; c++)
		cpus[c].cfs.util_avg = 924;
	domains[0][1].nr_balance_failed = 1;
	r = lb_attempt(0, 1, FG_CPU_IDLE);
	CHECK_EQ(r.amount, 400);
	CHECK_EQ(r.moved, 0);
	lb_with(FG_UTIL_SHIFT);
	domains[0][1].nr_balance_failed = 0;
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).moved, 0);
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).moved, 1);
}

TEST(n3_no_room_but_an_idle_cpu)
{
	struct fg_balance b;

	by_util(507, 1500);
	for (u32 c = 0; c < 4; c++)
		cpus[c].cfs.util_avg = 1024;
	b = lb_find(0, 1, FG_CPU_IDLE);
	CHECK_AMOUNT(b, TASK, 1);
	CHECK_EQ(b.src_cpu, 5);
	CHECK_RULE(lb_find(0, 1, FG_CPU_NOT_IDLE), NO_AMOUNT);
	/* inside an LLC tasks are spread, not utilization */
	by_util(510, 1500);
	lb_flags(1, FG_SD_SHARE_LLC, 0);
	CHECK_AMOUNT(lb_find(0, 1, FG_CPU_IDLE), TASK, 1);
	lb_flags(0, 0, FG_SD_PREFER_SIBLING);
	b = lb_find(0, 1, FG_CPU_IDLE);
	CHECK_RULE(b, NO_AMOUNT);
	CHECK_EQ(b.busiest != 0, 1);
	by_util(507, 1500);
	lb_flags(1, FG_SD_SHARE_LLC, 0);
	CHECK_AMOUNT(lb_find(0, 1, FG_CPU_IDLE), UTIL, 2596);
}

/* Two idle CPUs among overloaded ones, one here (seen in 6.1.192 where groups are of unlike size): 1 - 2 of 32 bits, halved. */
TEST(more_idle_cpus_over_there_have_no_end)
{
	lb_packages(2, 125, 510);
	lb_flags(1, FG_SD_SHARE_LLC, 0);
	lb_flags(0, 0, FG_SD_PREFER_SIBLING);
	for (u32 c = 1; c < 4; c++)
		lb_run(c, 100);
	for (u32 c = 4; c < 6; c++) {
		lb_run(c, 100);
		lb_wait(c, 100);
		lb_wait(c, 100);
		/* 6000 of 4096 * 125 % */
		cpus[c].cfs.runnable_avg = 3000;
	}
	CHECK_AMOUNT(lb_find(0, 1, FG_CPU_IDLE), TASK, 0x7fffffff);
}

/* 1: a waiting task of h_load 1023 is taken for this amount of load after that number of failures. */
static u32 takes(u32 version, s64 amount, u32 failed)
{
	struct fg_balance b;
	struct fg_task *p;

	lb_packages(2, 125, version);
	if (version == 504) {
		lb_with(FG_LB_P04);
		lb_with(FG_LB_P06);
	}
	lb_run(4, 1024);
	p = lb_wait(4, 1024);
	b = lb_find(0, 1, FG_CPU_IDLE);
	b.src_cpu = 4;
	b.migration = FG_MIGRATE_LOAD;
	b.imbalance = amount;
	b.sd->nr_balance_failed = failed;
	fg_detach_begin(&sys, &b);
	if (!fg_detach_task(&sys, &b, p)) {
		CHECK_EQ(b.imbalance, amount);
		return 0;
	}
	CHECK_EQ(b.imbalance, amount - 1023);
	CHECK_EQ(b.batch, 1);
	return 1;
}

TEST(n4_load_that_a_task_may_have)
{
	static const struct {
		u32 version;
		s64 amount;
		u32 from; /* failures */
	} v[] = { { 504, 300, 9 }, { 505, 300, 2 }, { 509, 300, 2 }, { 510, 300, 2 },
		  { 504, 600, 0 }, { 505, 600, 0 }, { 509, 600, 0 }, { 510, 600, 1 } };

	for (u32 i = 0; i < 8; i++) {
		for (u32 failed = 0; failed < 4; failed++)
			CHECK_EQ(takes(v[i].version, v[i].amount, failed), failed >= v[i].from);
	}
}

/* CPUs 0 to 3 of capacity 446; X and Y on CPU 0; 4 and 5 are big and 5 busy. x_runs: and Y waits. */
static void misfit_machine(u32 version, u32 x_runs)
{
	struct fg_task *x, *y;

	kit_init(6);
	kit_capacity(0, 3, 446);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 4);
	kit_level(FG_LEVEL_PKG, SD_DEFAULT | FG_SD_ASYM_CPUCAPACITY, 125, 6);
	lb_finish(version);
	lb_run(5, 500);
	if (x_runs)
		x = lb_run(0, 1000);
	y = x_runs ? lb_wait(0, 2401) : lb_run(0, 2401);
	if (!x_runs)
		x = lb_wait(0, 1000);
	lb_task_util(x, 400);
	lb_task_util(y, 20);
	cpus[0].misfit_task_load = 1000;
}

TEST(n5_the_misfit_task_goes_to_a_big_cpu)
{
	struct lb_report r;

	misfit_machine(505, 0);
	lb_without(FG_LB_P08);
	r = lb_attempt(4, 1, FG_CPU_IDLE);
	CHECK_RULE(r, MISFIT);
	CHECK_EQ(r.migration, FG_MIGRATE_MISFIT);
	CHECK_EQ(r.amount, 1000);
	CHECK_EQ(r.moved, 0); /* X waits: 500 < 1000 */

	misfit_machine(505, 1);
	lb_without(FG_LB_P08);
	r = lb_attempt(4, 1, FG_CPU_IDLE);
	CHECK_EQ(r.moved, 1);
	CHECK_EQ(r.id[0], 2); /* Y: 1200 < 1000 is false */

	misfit_machine(505, 0);
	r = lb_attempt(4, 1, FG_CPU_IDLE);
	CHECK_EQ(r.amount, 1);
	CHECK_EQ(r.moved, 1);
	CHECK_EQ(r.id[0], 2); /* X */

	misfit_machine(505, 1);
	r = lb_attempt(4, 1, FG_CPU_IDLE);
	CHECK_EQ(r.moved, 0);
	CHECK_EQ(r.active, 1);
	CHECK_EQ(cpus[0].push_cpu, 4);
}

/* Load 4000 and 6000 on overloaded groups, 80000 on one with room. */
TEST(n6_the_mean_does_not_limit_who_is_below_it)
{
	struct fg_balance b;

	lb_packages(3, 125, 612);
	lb_states(0, 3, 2, 1000, 1024);
	lb_states(4, 7, 2, 1500, 1024);
	lb_state(8, 1, 80000, 1024);
	b = lb_find(0, 1, FG_CPU_NOT_IDLE);
	CHECK_RULE(b, LOAD);
	CHECK_AMOUNT(b, LOAD, 26000);
	CHECK_EQ(b.busiest->balance_cpu, 4);
}

TEST(p07_groups_of_one_cpu_are_compared_by_tasks)
{
	for (u32 p07 = 0; p07 < 2; p07++) {
		struct fg_balance b;

		lb_singles(2, SD_MC, 117, 505);
		sys.feat.value[FG_LB_P07] = (u8)p07;
		lb_state(1, 2, 20, 20);
		b = lb_find(0, 0, FG_CPU_IDLE);
		CHECK_EQ(b.rule, p07 ? FG_BALANCE_RULE_EVEN : FG_BALANCE_RULE_IDLE_CPUS);
		if (p07)
			CHECK_AMOUNT(b, TASK, 1);
		/* a lone task stays */
		lb_state(1, 1, 20, 20);
		CHECK_EQ(lb_find(0, 0, FG_CPU_IDLE).rule, p07 ? FG_BALANCE_RULE_SINGLE : FG_BALANCE_RULE_IDLE_CPUS);
	}
}

/* ---- decisions ---- */

TEST(a_busier_local_group_pulls_nothing)
{
	lb_packages(2, 125, 505);
	lb_states(0, 3, 2, 100, 1000);
	lb_states(4, 7, 1, 1000, 900);
	CHECK_RULE(lb_find(0, 1, FG_CPU_NOT_IDLE), LOCAL_BUSIER);
}

TEST(overloaded_groups_are_compared_by_load)
{
	struct fg_balance b;

	lb_packages(3, 125, 505);
	lb_states(0, 11, 2, 1000, 1024);
	CHECK_RULE(lb_find(0, 1, FG_CPU_NOT_IDLE), LOCAL_LOAD);
	/* less than the mean, which a third group with room lifts, but not less than the busiest */
	lb_states(8, 11, 0, 0, 0);
	lb_state(8, 1, 80000, 100);
	CHECK_RULE(lb_find(0, 1, FG_CPU_NOT_IDLE), LOCAL_LOAD);
	/* the third is idle: as much as the mean and more */
	lb_states(8, 11, 0, 0, 0);
	lb_states(4, 7, 2, 1100, 1024);
	CHECK_RULE(lb_find(0, 1, FG_CPU_NOT_IDLE), LOCAL_LOAD);
	/* 125 % of 1000, and one more */
	lb_states(8, 11, 2, 1000, 1024);
	lb_states(4, 7, 2, 1250, 1024);
	CHECK_RULE(lb_find(0, 1, FG_CPU_NOT_IDLE), IMBALANCE_PCT);
	lb_states(4, 7, 2, 1251, 1024);
	b = lb_find(0, 1, FG_CPU_NOT_IDLE);
	CHECK_RULE(b, LOAD);
	/* S = 13004 / 12 = 1083; (1083 - 1000) * 4 */
	CHECK_AMOUNT(b, LOAD, 332);
}

TEST(a_fully_busy_group_takes_load_up_to_the_mean)
{
	struct fg_balance b;

	lb_packages(2, 125, 505);
	lb_states(0, 3, 1, 500, 900);
	lb_states(4, 7, 2, 2000, 1024);
	b = lb_find(0, 1, FG_CPU_NOT_IDLE);
	CHECK_RULE(b, LOAD);
	/* S 1250: 750 * 4 on both sides */
	CHECK_AMOUNT(b, LOAD, 3000);
	/* more loaded than the source: v5.7 gives up; before it both products wrap */
	lb_states(0, 3, 1, 3000, 900);
	b = lb_find(0, 1, FG_CPU_NOT_IDLE);
	CHECK(b.imbalance > 1000000000);
	lb_version(507);
	lb_states(0, 3, 1, 3000, 900);
	CHECK_RULE(lb_find(0, 1, FG_CPU_NOT_IDLE), NO_AMOUNT);
	/* less than the source, more than the mean of three: (2000 - 1333) * 4 since its own product wraps, to v6.2 */
	lb_packages(3, 125, 602);
	lb_states(0, 3, 1, 1900, 900);
	lb_states(4, 7, 2, 2000, 1024);
	lb_states(8, 11, 1, 100, 900);
	CHECK_AMOUNT(lb_find(0, 1, FG_CPU_NOT_IDLE), LOAD, 2668);
	lb_with(FG_LOAD_NOWRAP);
	CHECK_RULE(lb_find(0, 1, FG_CPU_NOT_IDLE), NO_AMOUNT);
}

TEST(of_equally_idle_groups_the_one_with_more_tasks)
{
	for (u32 tie = 0; tie < 2; tie++) {
		lb_packages(3, 125, 505);
		sys.feat.value[FG_SPARE_TIE] = (u8)tie;
		lb_states(4, 6, 1, 10, 10);
		lb_states(8, 10, 2, 10, 10);
		CHECK_EQ(lb_find(0, 1, FG_CPU_IDLE).busiest->balance_cpu, tie ? 8 : 4);
		lb_state(7, 1, 10, 10);
		CHECK_EQ(lb_find(0, 1, FG_CPU_IDLE).busiest->balance_cpu, 4);
	}
}

TEST(energy_aware_wakeups_come_first)
{
	misfit_machine(602, 0);
	sys.eas = 1;
	cpus[0].cfs.util_avg = cpus[0].est_enqueued = 100;
	CHECK_RULE(lb_find(4, 1, FG_CPU_IDLE), EAS);
	/* 003: a misfit task is balanced all the same */
	lb_with(FG_MU_GATE);
	CHECK_RULE(lb_find(4, 1, FG_CPU_IDLE), MISFIT);
	lb_version(603);
	CHECK_RULE(lb_find(4, 1, FG_CPU_IDLE), MISFIT);
	cpus[0].misfit_task_load = 0;
	CHECK_RULE(lb_find(4, 1, FG_CPU_IDLE), EAS);
	/* 400 * 1280 > 446 * 1024 on CPU 1 */
	cpus[1].cfs.util_avg = 400;
	CHECK(lb_find(4, 1, FG_CPU_IDLE).rule != FG_BALANCE_RULE_EAS);
}

/* ---- unequal CPUs ---- */

TEST(only_a_clearly_bigger_cpu_helps_a_misfit)
{
	misfit_machine(513, 0);
	/* 820 * 1280 >= 1024 * 1024 */
	domains[4][1].groups->next->max_capacity = 820;
	CHECK(lb_find(4, 1, FG_CPU_IDLE).rule != FG_BALANCE_RULE_MISFIT);
	domains[4][1].groups->next->max_capacity = 819;
	CHECK_RULE(lb_find(4, 1, FG_CPU_IDLE), MISFIT);
	/* v5.14: by the CPU itself, 5 %: 972 against 1024, 973 not */
	lb_version(514);
	domains[4][1].groups->next->max_capacity = 972;
	CHECK_RULE(lb_find(4, 1, FG_CPU_IDLE), MISFIT);
	domains[4][1].groups->next->max_capacity = 973;
	CHECK(lb_find(4, 1, FG_CPU_IDLE).rule != FG_BALANCE_RULE_MISFIT);
	/* a full local group does not pull */
	domains[4][1].groups->next->max_capacity = 446;
	lb_state(4, 1, 500, 1000);
	lb_state(5, 1, 500, 1000);
	CHECK(lb_find(4, 1, FG_CPU_IDLE).rule != FG_BALANCE_RULE_MISFIT);
}

/*
 * 1024 is not 5 % more than 973, which is the most that CPUs of the other group have: its misfit task is of no use. Four
 * tasks on four CPUs there, one on two here are another reason: (2 * (2 * 4 - 4) + 6) / 6 = 2 too many.
 */
TEST(a_misfit_that_is_not_helped_does_not_hide_its_group_since_v73)
{
	for (u8 on = 0; on < 2; on++) {
		struct fg_balance b;

		misfit_machine(612, 0);
		sys.feat.value[FG_MISFIT_HELPFUL] = on;
		lb_run(1, 100);
		lb_run(2, 100);
		domains[4][1].groups->next->max_capacity = 973;
		b = lb_find(4, 1, FG_CPU_IDLE);
		CHECK_EQ(b.rule, on ? FG_BALANCE_RULE_SIBLING : FG_BALANCE_RULE_NO_GROUP);
		domains[4][1].groups->next->max_capacity = 972;
		CHECK_RULE(lb_find(4, 1, FG_CPU_IDLE), MISFIT);
	}
}

TEST(stable_trees_ask_for_idle_siblings_of_who_pulls_a_misfit)
{
	misfit_machine(514, 0);
	mask_set(&cpus[4].core, 5);
	CHECK_RULE(lb_find(4, 1, FG_CPU_IDLE), MISFIT);
	lb_with(FG_MISFIT_CORE);
	CHECK(lb_find(4, 1, FG_CPU_IDLE).rule != FG_BALANCE_RULE_MISFIT);
	kit_idle(5);
	CHECK_RULE(lb_find(4, 1, FG_CPU_IDLE), MISFIT);
}

/* Groups of four: 512 each at the sides of 1024 in the middle; nothing waits. */
static void unequal(u32 version)
{
	kit_init(12);
	kit_capacity(0, 3, 512);
	kit_capacity(8, 11, 512);
	kit_level(FG_LEVEL_MC, SD_MC & ~FG_SD_PREFER_SIBLING, 117, 4);
	kit_level(FG_LEVEL_PKG, SD_DEFAULT | FG_SD_ASYM_CPUCAPACITY, 125, 12);
	lb_finish(version);
	lb_states(4, 6, 1, 100, 100);
}

TEST(bigger_cpus_where_nothing_waits_are_left_alone)
{
	struct fg_balance b;

	unequal(514);
	CHECK_RULE(lb_find(0, 1, FG_CPU_IDLE), NO_GROUP);
	lb_version(513);
	CHECK_RULE(lb_find(0, 1, FG_CPU_IDLE), NO_GROUP);
	/* but if all are busy the type decides before that is asked; stable trees ask first */
	lb_version(514);
	lb_states(4, 7, 1, 100, 900);
	b = lb_find(0, 1, FG_CPU_IDLE);
	CHECK_EQ(b.busiest != 0, 1);
	CHECK_EQ(b.src_type, group_fully_busy);
	lb_with(FG_ASYM_EARLY);
	CHECK_RULE(lb_find(0, 1, FG_CPU_IDLE), NO_GROUP);
	/* overloaded is another matter */
	lb_states(4, 7, 2, 100, 1024);
	CHECK_EQ(lb_find(0, 1, FG_CPU_IDLE).busiest->balance_cpu, 4);
}

TEST(of_equal_misfits_the_last_group_up_to_v68)
{
	for (u32 larger = 0; larger < 2; larger++) {
		unequal(608);
		sys.feat.value[FG_MISFIT_LARGER] = (u8)larger;
		lb_states(4, 6, 0, 0, 0);
		lb_state(0, 1, 700, 500);
		lb_state(8, 1, 700, 500);
		cpus[0].misfit_task_load = cpus[8].misfit_task_load = 700;
		CHECK_EQ(lb_find(4, 1, FG_CPU_IDLE).busiest->balance_cpu, larger ? 8 : 0);
		cpus[0].misfit_task_load = 701;
		CHECK_EQ(lb_find(4, 1, FG_CPU_IDLE).busiest->balance_cpu, 0);
	}
}

TEST(a_lone_task_of_a_squeezed_cpu_is_a_misfit_since_v60)
{
	struct fg_balance b;

	lb_packages(2, 125, 600);
	lb_state(4, 1, 900, 700);
	/* 819 * 125 < 1024 * 100; 820 is enough */
	cpus[4].cpu_capacity = 819;
	b = lb_find(0, 1, FG_CPU_IDLE);
	CHECK_RULE(b, MISFIT);
	CHECK_AMOUNT(b, LOAD, 900);
	CHECK_EQ(b.src_cpu, 4);
	CHECK(lb_find(0, 1, FG_CPU_NOT_IDLE).rule != FG_BALANCE_RULE_MISFIT);
	cpus[4].cpu_capacity = 820;
	CHECK(lb_find(0, 1, FG_CPU_IDLE).rule != FG_BALANCE_RULE_MISFIT);
	cpus[4].cpu_capacity = 819;
	lb_without(FG_REDUCED_CAP);
	CHECK(lb_find(0, 1, FG_CPU_IDLE).rule != FG_BALANCE_RULE_MISFIT);
}

/* ---- asymmetric packing ---- */

TEST(o7_packing_since_v55)
{
	struct fg_balance b;

	lb_singles(2, SD_SMT | FG_SD_ASYM_PACKING, 110, 505);
	lb_state(1, 1, 1024, 500);
	b = lb_find(0, 0, FG_CPU_IDLE);
	CHECK_RULE(b, ASYM);
	CHECK_AMOUNT(b, TASK, 1);
	/* all its fair tasks */
	lb_state(1, 2, 1024, 500);
	CHECK_AMOUNT(lb_find(0, 0, FG_CPU_IDLE), TASK, 2);
	CHECK(lb_find(0, 0, FG_CPU_NOT_IDLE).rule != FG_BALANCE_RULE_ASYM);
	/* overloaded comes before it */
	lb_state(1, 2, 2048, 1024);
	b = lb_find(0, 0, FG_CPU_IDLE);
	CHECK_RULE(b, SPARE);
	CHECK_AMOUNT(b, UTIL, 1024);
	/* the other way round no CPU is preferred to the other */
	lb_state(1, 0, 0, 0);
	lb_state(0, 1, 1024, 1000);
	CHECK_RULE(lb_find(1, 0, FG_CPU_IDLE), SINGLE);
}

TEST(packing_takes_from_the_least_preferred_first)
{
	lb_singles(3, SD_SMT | FG_SD_ASYM_PACKING, 110, 505);
	lb_state(1, 1, 1024, 500);
	lb_state(2, 1, 1024, 500);
	CHECK_EQ(lb_find(0, 0, FG_CPU_IDLE).src_cpu, 2);
}

/* Cores 0-1 and 2-3, packing between them. */
static u32 packs(u32 version, u32 busy1, u32 busy2, u32 busy3)
{
	lb_cores(2, version);
	lb_without(FG_SMT_BALANCE);
	lb_flags(1, FG_SD_ASYM_PACKING, 0);
	lb_state(1, busy1, 100, 100);
	lb_state(2, busy2, 100, 100);
	lb_state(3, busy3, 100, 100);
	return lb_find(0, 1, FG_CPU_IDLE).rule == FG_BALANCE_RULE_ASYM;
}

TEST(packing_heeds_siblings)
{
	CHECK_EQ(packs(515, 0, 1, 0), 1);
	CHECK_EQ(packs(515, 1, 1, 1), 1);
	/* v5.16: exactly one busy thread more than here */
	CHECK_EQ(packs(516, 0, 1, 0), 1);
	CHECK_EQ(packs(516, 0, 1, 1), 0);
	CHECK_EQ(packs(516, 1, 1, 1), 1);
	CHECK_EQ(packs(516, 1, 1, 0), 0);
	/* v6.5: onto an idle core, off a core with one busy thread */
	CHECK_EQ(packs(605, 0, 1, 0), 1);
	CHECK_EQ(packs(605, 0, 1, 1), 0);
	CHECK_EQ(packs(605, 1, 1, 0), 0);
}

/* ---- SMT ---- */

TEST(an_idle_core_pulls_off_busy_siblings_since_v66)
{
	struct fg_balance b;

	/* 0-1 idle, 2-3 both busy, 4-5 one busy */
	lb_cores(3, 606);
	lb_states(2, 3, 1, 100, 100);
	lb_state(4, 1, 100, 100);
	b = lb_find(0, 1, FG_CPU_IDLE);
	CHECK_EQ(b.src_type, group_smt_balance);
	CHECK_AMOUNT(b, TASK, 1);
	CHECK_EQ(b.busiest->balance_cpu, 2);
	CHECK(lb_find(0, 1, FG_CPU_NOT_IDLE).src_type != group_smt_balance);
	lb_version(605);
	CHECK_EQ(lb_find(0, 1, FG_CPU_IDLE).src_type, group_has_spare);
	/* a CPU without siblings, with as many idle CPUs as the core: */
	lb_version(606);
	lb_flags(0, 0, FG_SD_PREFER_SIBLING);
	lb_state(1, 1, 100, 100);
	domains[0][1].groups->flags = 0;
	b = lb_find(0, 1, FG_CPU_IDLE);
	CHECK_RULE(b, SMT);
	domains[0][1].groups->flags = FG_SD_SHARE_CPUCAPACITY;
	CHECK_RULE(lb_find(0, 1, FG_CPU_IDLE), IDLE_CPUS);
}

TEST(a_core_with_one_task_is_left_alone_for_cpus_without_siblings)
{
	/* groups of two: 0-1 pulls, 2-3 are siblings, 4-5 are not */
	lb_cores(3, 606);
	lb_flags(0, 0, FG_SD_PREFER_SIBLING);
	domains[4][1].groups->flags = 0;
	lb_state(2, 1, 100, 100);
	lb_state(4, 1, 100, 100);
	CHECK_EQ(lb_find(0, 1, FG_CPU_IDLE).busiest->balance_cpu, 4);
	/* the ring of CPU 5 begins with its own group, so ask with those in the other order */
	domains[2][1].groups->flags = 0;
	domains[4][1].groups->flags = FG_SD_SHARE_CPUCAPACITY;
	CHECK_EQ(lb_find(0, 1, FG_CPU_IDLE).busiest->balance_cpu, 2);
	/* before v6.6 the first of equals */
	lb_version(605);
	domains[2][1].groups->flags = FG_SD_SHARE_CPUCAPACITY;
	domains[4][1].groups->flags = 0;
	CHECK_EQ(lb_find(0, 1, FG_CPU_IDLE).busiest->balance_cpu, 2);
}

TEST(of_full_groups_siblings_need_help_since_v66)
{
	for (u32 version = 605; version <= 606; version++) {
		lb_packages(3, 125, version);
		lb_states(4, 11, 1, 100, 1000);
		domains[8][1].groups->flags |= FG_SD_SHARE_CPUCAPACITY;
		lb_without(FG_SMT_BALANCE);
		sys.feat.value[FG_SMT_BALANCE] = version == 606;
		/* not an smt group: its tasks are counted for it only on an idle CPU */
		CHECK_EQ(lb_find(0, 1, FG_CPU_NOT_IDLE).busiest->balance_cpu, version == 606 ? 8 : 4);
		domains[4][1].groups->flags |= FG_SD_SHARE_CPUCAPACITY;
		CHECK_EQ(lb_find(0, 1, FG_CPU_NOT_IDLE).busiest->balance_cpu, 4);
	}
}

/* Tasks here and there, cores here and there, and the excess in sibling_imbalance() of spec 6.4. */
TEST(groups_share_tasks_by_cores_since_v66)
{
	static const struct {
		u32 local, busiest, local_cores, cores;
		s64 excess;
	} v[] = {
		{ 0, 3, 4, 4, 3 },
		{ 2, 3, 4, 4, 1 },
		/* 2 cores here, 4 there: (2 * (2 * 3) + 6) / 6; (2 * (2 * 3 - 4) + 6) / 6 */
		{ 0, 3, 2, 4, 3 },
		{ 1, 3, 2, 4, 1 },
		/* an empty group is worth using: (2 * 2 + 10) / 10 = 1 becomes 2 */
		{ 0, 2, 1, 9, 2 },
		{ 0, 1, 1, 9, 1 },
	};

	for (u32 i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		struct fg_sd_stats s;
		struct fg_balance b;

		lb_packages(2, 125, 606);
		b = lb_find(0, 1, FG_CPU_IDLE);
		b.busiest = b.sd->groups->next;
		sd_stats_begin(&sys, &b, &s);
		s.local->nr = v[i].local;
		s.busiest->nr = v[i].busiest;
		b.sd->groups->cores = v[i].local_cores;
		b.busiest->cores = v[i].cores;
		CHECK_EQ(sibling_excess(&sys, &b, &s), v[i].excess);
		b.kind = FG_CPU_NOT_IDLE;
		CHECK_EQ(sibling_excess(&sys, &b, &s), 0);
		lb_without(FG_SIB_RATIO);
		CHECK_EQ(sibling_excess(&sys, &b, &s), v[i].busiest - v[i].local);
	}
}

TEST(prefer_sibling_is_read_from_the_busiest_group_since_v67)
{
	for (u32 version = 606; version <= 607; version++) {
		lb_packages(2, 125, version);
		lb_state(4, 2, 200, 0);
		lb_flags(0, 0, FG_SD_PREFER_SIBLING);
		/* the group still has the flag of its domain */
		CHECK_EQ(lb_find(0, 1, FG_CPU_IDLE).rule,
			 version == 607 ? FG_BALANCE_RULE_SIBLING : FG_BALANCE_RULE_IDLE_CPUS);
	}
}

/* ---- whose turn it is ---- */

static u32 turn_of(u32 cpu, u32 level)
{
	return kit_look(cpu, level, FG_CPU_IDLE).rule != FG_BALANCE_RULE_NOT_OURS;
}

TEST(a_cpu_of_an_idle_core_balances_first_since_v66)
{
	lb_cores(4, 605);
	kit_level(FG_LEVEL_PKG, SD_DEFAULT, 125, 8);
	/* thread 1 of a busy core is the first idle CPU, 4 of the first idle core */
	kit_busy(0);
	kit_busy(2);
	kit_busy(3);
	CHECK_EQ(turn_of(1, 2), 1);
	CHECK_EQ(turn_of(4, 2), 0);
	lb_version(606);
	CHECK_EQ(turn_of(1, 2), 0);
	CHECK_EQ(turn_of(4, 2), 1);
	/* between siblings any idle one */
	CHECK_EQ(turn_of(1, 0), 1);
	/* no idle core: the first idle thread */
	kit_busy(4);
	kit_busy(6);
	CHECK_EQ(turn_of(1, 2), 1);
	CHECK_EQ(turn_of(5, 2), 0);
	/* nor an idle thread */
	kit_busy_range(0, 7);
	CHECK_EQ(turn_of(0, 2), 1);
	CHECK_EQ(turn_of(1, 2), 0);
}

TEST(who_got_work_does_not_balance_newly_idle_since_v60)
{
	lb_packages(2, 125, 516);
	kit_busy(0);
	CHECK(kit_look(0, 1, FG_CPU_NEWLY_IDLE).rule != FG_BALANCE_RULE_NOT_OURS);
	lb_version(600);
	CHECK_RULE(kit_look(0, 1, FG_CPU_NEWLY_IDLE), NOT_OURS);
	kit_idle(0);
	CHECK(kit_look(0, 1, FG_CPU_NEWLY_IDLE).rule != FG_BALANCE_RULE_NOT_OURS);
	cpus[0].ttwu_pending = 1;
	CHECK_RULE(kit_look(0, 1, FG_CPU_NEWLY_IDLE), NOT_OURS);
}

int main(void)
{
	RUN(five_tasks_on_four_cpus_overload_them_from_85_percent);
	RUN(with_energy_aware_wakeups_a_group_is_overloaded_by_an_overutilized_cpu_since_v71);
	RUN(tasks_of_all_classes_count_since_p05);
	RUN(blocked_load_counts_since_p06);
	RUN(n1_even_idle_cpus_between_nodes);
	RUN(n2_siblings_share_their_tasks);
	RUN(n3_utilization_up_to_what_has_room);
	RUN(n3_no_room_but_an_idle_cpu);
	RUN(more_idle_cpus_over_there_have_no_end);
	RUN(n4_load_that_a_task_may_have);
	RUN(n5_the_misfit_task_goes_to_a_big_cpu);
	RUN(n6_the_mean_does_not_limit_who_is_below_it);
	RUN(p07_groups_of_one_cpu_are_compared_by_tasks);
	RUN(a_busier_local_group_pulls_nothing);
	RUN(overloaded_groups_are_compared_by_load);
	RUN(a_fully_busy_group_takes_load_up_to_the_mean);
	RUN(of_equally_idle_groups_the_one_with_more_tasks);
	RUN(energy_aware_wakeups_come_first);
	RUN(only_a_clearly_bigger_cpu_helps_a_misfit);
	RUN(a_misfit_that_is_not_helped_does_not_hide_its_group_since_v73);
	RUN(stable_trees_ask_for_idle_siblings_of_who_pulls_a_misfit);
	RUN(bigger_cpus_where_nothing_waits_are_left_alone);
	RUN(of_equal_misfits_the_last_group_up_to_v68);
	RUN(a_lone_task_of_a_squeezed_cpu_is_a_misfit_since_v60);
	RUN(o7_packing_since_v55);
	RUN(packing_takes_from_the_least_preferred_first);
	RUN(packing_heeds_siblings);
	RUN(an_idle_core_pulls_off_busy_siblings_since_v66);
	RUN(a_core_with_one_task_is_left_alone_for_cpus_without_siblings);
	RUN(of_full_groups_siblings_need_help_since_v66);
	RUN(groups_share_tasks_by_cores_since_v66);
	RUN(prefer_sibling_is_read_from_the_busiest_group_since_v67);
	RUN(a_cpu_of_an_idle_core_balances_first_since_v66);
	RUN(who_got_work_does_not_balance_newly_idle_since_v60);
	return test_report();
}
