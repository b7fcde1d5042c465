/* SPDX-License-Identifier: GPL-2.0-only */
/* Which group is the busiest in v5.4, asym packing included (spec 6.6). */
#include "lb_old_kit.h"

/* Whatever the load: CPU 1 has one task of 3000, CPU 2 two small ones and no capacity left, CPU 3 one of 3001. */
TEST(the_type_comes_before_the_load)
{
	struct look l;

	lb_singles(4, SD_MC, 117, V54);
	state(0, 1, 100, 0);
	state(1, 1, 3000, 0);
	state(2, 2, 10, 1024);
	state(3, 1, 3001, 0);
	CHECK_EQ(look(0, 0, FG_CPU_NOT_IDLE).group, 2);
	/* among the others the load, first come first served */
	state(2, 1, 3001, 1024);
	CHECK_EQ(look(0, 0, FG_CPU_NOT_IDLE).group, 2);
	state(1, 1, 3001, 0);
	l = look(0, 0, FG_CPU_NOT_IDLE);
	CHECK_EQ(l.group, 1);
	/* S (100 + 3 * 3001) / 4 = 2275: min(726, 2175) < pt 3001; n 1: 3001 >= 100 */
	CHECK_FORCED(l, LOAD, 3001);
}

/* Overloaded takes both: more tasks than CPUs, and more used than pct allows. 1024 * 100 / 117 = 875.2 */
TEST(a_group_is_overloaded_by_tasks_and_utilization)
{
	lb_singles(3, SD_MC, 117, V54);
	state(1, 1, 2000, 0);
	state(2, 2, 1000, 876);
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).group, 2);
	state(2, 2, 1000, 875);
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).group, 1);
	state(2, 1, 1000, 1024);
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).group, 1);
}

/* CPU 1: overloaded; CPU 2: flagged; CPU 3: a misfit; CPU 4: neither, but loaded. Each is the busiest without those before. */
TEST(types_in_their_order)
{
	kit_init(5);
	kit_capacity(1, 4, 700);
	kit_level(FG_LEVEL_MC, SD_MC | FG_SD_ASYM_CPUCAPACITY, 117, 5);
	lb_finish(V54);
	state(1, 2, 10, 700);
	state(2, 1, 20, 0);
	state(3, 1, 30, 0);
	state(4, 1, 9000, 0);
	domains[2][0].groups->imbalance = 1;
	cpus[3].misfit_task_load = 30;
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).group, 1);
	/* what overloads hides the flag */
	domains[1][0].groups->imbalance = 1;
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).rule, FG_BALANCE_RULE_NO_CAPACITY);
	domains[1][0].groups->imbalance = 0;
	state(1, 0, 0, 0);
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).type, group_imbalanced);
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).group, 2);
	/* and the flag hides the misfit */
	cpus[2].misfit_task_load = 20;
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).type, group_imbalanced);
	state(2, 0, 0, 0);
	cpus[2].misfit_task_load = 0;
	domains[2][0].groups->imbalance = 0;
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).group, 3);
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).type, group_misfit_task);
	cpus[3].misfit_task_load = 0;
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).group, 4);
}

TEST(a_group_without_load_is_never_the_busiest)
{
	lb_singles(2, SD_MC, 117, V54);
	state(1, 1, 0, 300);
	CHECK_BALANCED(look(0, 0, FG_CPU_NEWLY_IDLE), NO_GROUP);
	/* some load is, S 1; IDLE: 1 <= 0 + 1 */
	state(1, 1, 2, 300);
	CHECK_BALANCED(look(0, 0, FG_CPU_IDLE), IDLE_CPUS);
	/* an overloaded one is by its type, and then there is nothing to be moved */
	state(1, 2, 0, 1024);
	CHECK_BALANCED(look(0, 0, FG_CPU_IDLE), NO_AMOUNT);
	/* load that its tasks left behind is none of theirs */
	state(1, 0, 800, 0);
	CHECK_BALANCED(look(0, 0, FG_CPU_IDLE), NO_GROUP);
}

/* The load per task of a flagged group without tasks, chosen by its type. */
TEST(a_group_without_tasks_gives_nothing)
{
	lb_singles(2, SD_MC, 117, V54);
	state(1, 0, 800, 0);
	domains[1][0].groups->imbalance = 1;
	CHECK_BALANCED(look(0, 0, FG_CPU_IDLE), NO_GROUP);
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).group, 1);
}

/* Only a clearly bigger CPU helps a misfit, 819 * 1.25 < 1024, and only if there is room. */
TEST(misfits_that_nobody_here_can_help)
{
	big_and_little(819);
	state(4, 1, 300, 300);
	state(0, 1, 300, 819);
	cpus[0].misfit_task_load = 300;
	CHECK_EQ(look(5, 1, FG_CPU_IDLE).rule, FG_BALANCE_RULE_MISFIT);
	big_and_little(820);
	state(4, 1, 300, 300);
	state(0, 1, 300, 820);
	cpus[0].misfit_task_load = 300;
	CHECK_BALANCED(look(5, 1, FG_CPU_IDLE), NO_GROUP);
	/* four tasks on four CPUs, and utilization up to 3276 of 4096 is room */
	big_and_little(446);
	state(0, 1, 300, 446);
	cpus[0].misfit_task_load = 300;
	states(4, 7, 1, 300, 819);
	CHECK_EQ(look(4, 1, FG_CPU_NOT_IDLE).rule, FG_BALANCE_RULE_MISFIT);
	states(4, 7, 1, 300, 820);
	CHECK_BALANCED(look(4, 1, FG_CPU_NOT_IDLE), NO_GROUP);
	/* fewer tasks than CPUs: always */
	state(7, 0, 0, 1024);
	CHECK_EQ(look(4, 1, FG_CPU_NOT_IDLE).rule, FG_BALANCE_RULE_MISFIT);
	/* misfits count only in asymmetric domains */
	domains[4][1].flags &= ~(u32)FG_SD_ASYM_CPUCAPACITY;
	CHECK_EQ(look(4, 1, FG_CPU_NOT_IDLE).type, group_has_spare);
}

/* A group of CPUs clearly bigger than the smallest here, with no more than a task each, keeps them: 446 / 0.8 = 557.5 */
TEST(bigger_cpus_keep_what_they_can_run)
{
	big_and_little(446);
	no_prefer_sibling();
	states(4, 7, 1, 900, 900);
	CHECK_BALANCED(look(0, 1, FG_CPU_IDLE), NO_GROUP);
	state(7, 2, 900, 900);
	CHECK_EQ(look(0, 1, FG_CPU_IDLE).group, 4);
	/* 820 is not clearly below 1024, 819 is */
	for (u32 little = 819; little <= 820; little++) {
		big_and_little(little);
		no_prefer_sibling();
		states(4, 7, 1, 900, 900);
		CHECK_EQ(look(0, 1, FG_CPU_IDLE).group, little == 820 ? 4 : -1);
	}
	/* the smallest of its CPUs says how big it is */
	big_and_little(446);
	no_prefer_sibling();
	states(4, 7, 1, 900, 900);
	domains[4][1].groups->min_capacity = 557;
	CHECK_EQ(look(0, 1, FG_CPU_IDLE).group, 4);
	domains[4][1].groups->min_capacity = 558;
	CHECK_EQ(look(0, 1, FG_CPU_IDLE).group, -1);
	/* capacity is compared on asymmetric domains only */
	domains[0][1].flags &= ~(u32)FG_SD_ASYM_CPUCAPACITY;
	CHECK_EQ(look(0, 1, FG_CPU_IDLE).group, 4);
}

/* Of unlike CPUs in a group the biggest says what a misfit could win, the smallest what others could lose. */
TEST(groups_of_unlike_cpus)
{
	for (u32 biggest = 819; biggest <= 820; biggest++) {
		kit_init(8);
		kit_capacity(0, 2, 160);
		kit_capacity(3, 3, biggest);
		kit_capacity(7, 7, 446);
		kit_level(FG_LEVEL_MC, SD_MC & ~FG_SD_PREFER_SIBLING, 117, 4);
		kit_level(FG_LEVEL_PKG, SD_DEFAULT | FG_SD_ASYM_CPUCAPACITY, 125, 8);
		lb_finish(V54);
		state(0, 1, 300, 160);
		cpus[0].misfit_task_load = 300;
		CHECK_EQ(look(5, 1, FG_CPU_IDLE).group, biggest == 819 ? 0 : -1);
		/* here 160 is the smallest, there 446 */
		states(0, 3, 0, 0, 0);
		cpus[0].misfit_task_load = 0;
		state(4, 1, 900, 900);
		CHECK_EQ(look(1, 1, FG_CPU_IDLE).group, -1);
	}
}

/* By type they win all the same. */
TEST(bigger_cpus_that_are_overloaded_are_the_busiest)
{
	big_and_little(446);
	states(4, 7, 1, 900, 1024);
	cpus[4].nr_running = cpus[4].h_nr_running = 2;
	CHECK_EQ(look(0, 1, FG_CPU_IDLE).rule, FG_BALANCE_RULE_NO_CAPACITY);
}

/* Among groups with misfits more load wins, unless the misfit is a smaller one. */
TEST(misfit_groups_compare_their_load_and_their_misfits)
{
	for (u64 second = 699; second <= 700; second++) {
		kit_init(3);
		kit_capacity(1, 2, 446);
		kit_level(FG_LEVEL_MC, SD_MC | FG_SD_ASYM_CPUCAPACITY, 117, 3);
		lb_finish(V54);
		state(1, 1, 800, 446);
		cpus[1].misfit_task_load = 700;
		state(2, 1, 801, 446);
		cpus[2].misfit_task_load = second;
		CHECK_EQ(look(0, 0, FG_CPU_IDLE).group, second == 700 ? 2 : 1);
		/* and with no more load it is not even asked */
		state(2, 1, 800, 446);
		cpus[2].misfit_task_load = 5000;
		CHECK_EQ(look(0, 0, FG_CPU_IDLE).group, 1);
	}
}

/* The most loaded first; another one only if its CPU is the less preferred one. */
TEST(packing_empties_the_least_preferred_cpu_first)
{
	packing_cpus(3);
	state(1, 1, 500, 0);
	state(2, 1, 600, 0);
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).group, 2);
	/* it has less load than the one before: not busier */
	state(2, 1, 400, 0);
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).group, 1);
	/* more load, and more preferred than the one before */
	state(2, 1, 600, 0);
	domains[1][0].groups->asym_prefer_cpu = 2;
	domains[2][0].groups->asym_prefer_cpu = 1;
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).group, 1);
	/* a busy CPU asks for load alone */
	state(0, 1, 100, 0);
	CHECK_EQ(look(0, 0, FG_CPU_NOT_IDLE).group, 2);
}

/* CPU 1 is overloaded and CPU 0 preferred to CPU 1: what the type says is not asked about packing, the early test is. */
TEST(a_type_wins_without_being_asked_about_packing)
{
	for (u32 p01 = 0; p01 < 2; p01++) {
		packing_cpus(2);
		sys.feat.value[FG_LB_P01] = (u8)p01;
		state(0, 2, 1500, 1024);
		/* CPU 1 may not pack CPU 0, but takes from it as from any other: avg 1500, S 750 */
		CHECK_FORCED(look(1, 0, FG_CPU_IDLE), NO_CAPACITY, 750);
	}
}

/* Three CPUs for CPU 0: 1 overloaded with 2000, 2 overloaded with 3000. Only the second is picked by its load, and flagged. */
TEST(p01_flags_whom_the_load_makes_the_busiest)
{
	for (u32 p01 = 0; p01 < 2; p01++) {
		struct look l;

		packing_cpus(3);
		sys.feat.value[FG_LB_P01] = (u8)p01;
		state(1, 2, 2000, 1024);
		state(2, 2, 3000, 1024);
		l = look(0, 0, FG_CPU_IDLE);
		CHECK_FORCED(l, ASYM, 3000);
		/* it tells the type as well */
		CHECK_EQ(l.type, p01 ? group_overloaded : group_has_spare);
	}
	/* the other way round the first stays, by its type: S 1666: min(1334, 1666) < pt 1500; 3000 + s >= 0 + 2s */
	state(1, 2, 3000, 1024);
	state(2, 2, 2000, 1024);
	CHECK_FORCED(look(0, 0, FG_CPU_IDLE), NO_CAPACITY, 1500);
}

/* Neither averages nor small imbalances are asked: CPU 0 has more load left over than there is to be taken. */
TEST(packing_takes_all_the_load)
{
	for (u32 p01 = 0; p01 < 2; p01++) {
		packing_cpus(2);
		sys.feat.value[FG_LB_P01] = (u8)p01;
		state(0, 0, 5000, 0);
		state(1, 1, 700, 0);
		CHECK_FORCED(look(0, 0, FG_CPU_NEWLY_IDLE), ASYM, 700);
		/* overloaded, and nothing to be taken */
		state(1, 2, 0, 1024);
		CHECK_BALANCED(look(0, 0, FG_CPU_IDLE), NO_AMOUNT);
	}
}

int main(void)
{
	RUN(the_type_comes_before_the_load);
	RUN(a_group_is_overloaded_by_tasks_and_utilization);
	RUN(types_in_their_order);
	RUN(a_group_without_load_is_never_the_busiest);
	RUN(a_group_without_tasks_gives_nothing);
	RUN(misfits_that_nobody_here_can_help);
	RUN(bigger_cpus_keep_what_they_can_run);
	RUN(groups_of_unlike_cpus);
	RUN(bigger_cpus_that_are_overloaded_are_the_busiest);
	RUN(misfit_groups_compare_their_load_and_their_misfits);
	RUN(packing_empties_the_least_preferred_cpu_first);
	RUN(a_type_wins_without_being_asked_about_packing);
	RUN(p01_flags_whom_the_load_makes_the_busiest);
	RUN(packing_takes_all_the_load);
	return test_report();
}
