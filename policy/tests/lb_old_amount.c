/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether v5.4 moves something, and how much (spec 6.6). */
#include "lb_old_kit.h"

TEST(energy_awareness_comes_before_everything)
{
	packing_cpus(2);
	state(1, 1, 1024, 100);
	sys.eas = 1;
	CHECK_BALANCED(look(0, 0, FG_CPU_IDLE), EAS);
	root.overutilized = 1;
	domains[0][0].parent = &domains[0][1]; /* not the top: the flag is not taken back */
	CHECK_FORCED(look(0, 0, FG_CPU_IDLE), ASYM, 1024);
}

/* An idle CPU takes from a group without capacity if there is room here, even for a group with more load. */
TEST(room_here_and_none_there_is_enough)
{
	lb_packages(2, 125, V54);
	state(1, 1, 8000, 0);
	states(4, 7, 2, 1000, 1024);
	/* avg 2000, 1000, S 1500; both on the wrong side: 0 < pt 500; n 2, s 125: 1125 >= 2250 false */
	/* now 4096 * (500 + 2000) / 1024 = 10000, then 4096 * (500 + min(8000, 2125)) / 1024 = 10500 */
	CHECK_FORCED(look(0, 1, FG_CPU_IDLE), NO_CAPACITY, 500);
	CHECK_FORCED(look(0, 1, FG_CPU_NEWLY_IDLE), NO_CAPACITY, 500);
	/* a busy one does not: 2000 >= 1000 */
	CHECK_BALANCED(look(1, 1, FG_CPU_NOT_IDLE), LOCAL_LOAD);
	/* nor without room: five tasks, U 3400 of 4096 */
	state(1, 5, 8000, 1024);
	states(2, 3, 0, 0, 1024);
	state(0, 0, 0, 328);
	CHECK_BALANCED(look(0, 1, FG_CPU_IDLE), LOCAL_LOAD);
	state(0, 0, 0, 0);
	state(2, 0, 0, 0);
	state(3, 0, 0, 0);
	/* room again; but a task here has 1600, so 4 * (500 + 1600) gets done now and then */
	CHECK_BALANCED(look(0, 1, FG_CPU_IDLE), NO_AMOUNT);
}

/* Two tasks more there, and room here. */
TEST(the_excess_of_siblings_counts_from_two)
{
	lb_packages(2, 125, V54);
	state(1, 1, 100, 0);
	states(4, 5, 1, 1000, 0);
	CHECK_EQ(look(0, 1, FG_CPU_IDLE).type, group_has_spare);
	state(6, 1, 1000, 0);
	CHECK_EQ(look(0, 1, FG_CPU_IDLE).type, group_overloaded);
	/* no room: four tasks and U 4096; six there, U 0 */
	states(0, 3, 1, 100, 1024);
	states(4, 5, 3, 1000, 0);
	state(6, 0, 0, 0);
	CHECK_EQ(look(0, 1, FG_CPU_NOT_IDLE).type, group_has_spare);
	states(0, 3, 1, 100, 819);
	CHECK_EQ(look(0, 1, FG_CPU_NOT_IDLE).type, group_overloaded);
}

/* avg 1000 here, 1251 there, a third group that carries so much or so little that S lies where it is wanted. */
TEST(the_local_group_carries_enough)
{
	lb_packages(3, 125, V54);
	states(0, 3, 2, 1000, 1024);
	states(4, 7, 2, 1251, 1024);
	/* S 1000 = (1000 + 1251 + 749) / 3 */
	states(8, 11, 1, 749, 0);
	CHECK_BALANCED(look(0, 1, FG_CPU_NOT_IDLE), LOCAL_LOAD);
	/* S 1001: min(250, above 1024) * 4 = 1000, min with 1 * 4 = 4 < pt 625; n 1: 1251 >= 1000 */
	states(8, 11, 1, 752, 0);
	CHECK_FORCED(look(0, 1, FG_CPU_NOT_IDLE), LOAD, 625);
	lb_with(FG_LB_P03);
	CHECK_FORCED(look(0, 1, FG_CPU_NOT_IDLE), LOAD, 4);
	/* as much as the busiest, though S is 2000 */
	states(4, 7, 2, 1000, 1024);
	states(8, 11, 1, 4000, 0);
	CHECK_BALANCED(look(0, 1, FG_CPU_NOT_IDLE), LOCAL_LOAD);
}

/* pct 125: 1250 for 1000. Here is no room, so step 6 of spec 6.6 does not come in. */
TEST(imbalance_pct_for_all_but_ticks_on_idle_cpus)
{
	lb_packages(3, 125, V54);
	states(0, 3, 2, 1000, 1024);
	state(0, 0, 1000, 1024);
	states(4, 7, 2, 1250, 1024);
	states(8, 11, 1, 1200, 0);
	CHECK_BALANCED(look(1, 1, FG_CPU_NOT_IDLE), IMBALANCE_PCT);
	CHECK_BALANCED(look(0, 1, FG_CPU_NEWLY_IDLE), IMBALANCE_PCT);
	/* S 1150: min(100, 1024), 150; 400 < pt 625 */
	CHECK_FORCED(look(0, 1, FG_CPU_IDLE), LOAD, 625);
	states(4, 7, 2, 1251, 1024);
	CHECK_FORCED(look(1, 1, FG_CPU_NOT_IDLE), LOAD, 625);
	CHECK_FORCED(look(0, 1, FG_CPU_NEWLY_IDLE), LOAD, 625);
}

/* Idle CPUs: a tick on one of them wants two more than there are elsewhere. */
TEST(idle_cpus_for_ticks_on_idle_cpus)
{
	lb_packages(2, 125, V54);
	no_prefer_sibling();
	states(2, 3, 1, 100, 0);
	states(4, 6, 1, 1000, 0);
	/* 2 <= 1 + 1 */
	CHECK_BALANCED(look(0, 1, FG_CPU_IDLE), IDLE_CPUS);
	state(7, 1, 1000, 0);
	/* avg 50, 1000, S 525: 475 * 4 */
	CHECK_FORCED(look(0, 1, FG_CPU_IDLE), LOAD, 1900);
}

/* Load until the average, from the fuller or to the emptier side, for the capacity each has. */
TEST(the_amount_is_what_the_nearer_side_lacks)
{
	lb_packages(3, 125, V54);
	/* avg 0, 2000, 400: S 800, min(1200, 800) * 4 */
	states(4, 7, 1, 2000, 0);
	states(8, 11, 1, 400, 0);
	CHECK_FORCED(look(0, 1, FG_CPU_NEWLY_IDLE), NO_CAPACITY, 3200);
	/* avg 0, 2000, 1900: S 1300, min(700, 1300) * 4 = 2800 */
	states(8, 11, 1, 1900, 0);
	CHECK_FORCED(look(0, 1, FG_CPU_NEWLY_IDLE), NO_CAPACITY, 2800);
}

/* above: only if both are overloaded, and only beyond one task of 1024 for a capacity of 1024. */
TEST(above_limits_what_leaves_an_overloaded_group)
{
	lb_singles(3, SD_MC, 117, V54);
	state(0, 2, 1000, 1024);
	state(1, 2, 9000, 1024);
	state(2, 1, 2000, 0);
	/* S 4000, pull min(5000, above 1024), min(1024, 3000) = 1024 < pt 4500: P03 shows it */
	CHECK_FORCED(look(0, 0, FG_CPU_NOT_IDLE), LOAD, 4500);
	lb_with(FG_LB_P03);
	CHECK_FORCED(look(0, 0, FG_CPU_NOT_IDLE), LOAD, 1024);
	state(1, 3, 9000, 1024);
	CHECK_FORCED(look(0, 0, FG_CPU_NOT_IDLE), LOAD, 2048);
	/* not overloaded here: 3000 */
	state(0, 1, 1000, 1024);
	CHECK_FORCED(look(0, 0, FG_CPU_NOT_IDLE), LOAD, 3000);
	/* or there: no more tasks than capacity. A capacity of 3072 has room for three. */
	state(0, 2, 1000, 1024);
	domains[1][0].groups->capacity = 3072;
	/* avg 1000, 9000 * 1024 / 3072 = 3000, S 12000 / 5 = 2400: min(600 * 3, 1400) */
	cpus[1].cpu_capacity_orig = 3072;
	state(1, 3, 9000, 3000);
	CHECK_FORCED(look(0, 0, FG_CPU_NOT_IDLE), LOAD, 1400);
}

/*
 * A misfit on the wrong side of the average: unsigned, that side has no say (wrap rule), and the misfit is the least. Big
 * CPUs are 0 here, of 1024; 1, of 512, has the misfit; 2, of 1024, is crowded but no misfit.
 */
static void wrap(u64 local, u64 misfit, u64 other)
{
	kit_init(3);
	kit_capacity(1, 1, 512);
	kit_level(FG_LEVEL_MC, SD_MC | FG_SD_ASYM_CPUCAPACITY, 117, 3);
	lb_finish(V54);
	state(0, 0, local, 0);
	state(1, 1, misfit, 512);
	cpus[1].misfit_task_load = misfit;
	state(2, 1, other, 500);
}

TEST(a_misfit_wraps_the_amount)
{
	/* avg 0, 600, 5000, S 5300 * 1024 / 2560 = 2120: B below, so (2120 - 0) * 1024 / 1024 */
	wrap(0, 300, 5000);
	CHECK_FORCED(look(0, 0, FG_CPU_IDLE), MISFIT, 2120);
	/* avg 3000, 2000, 0, S 1600: L above, so (2000 - 1600) * 512 / 1024 = 200, but 1000 is the misfit */
	wrap(3000, 1000, 0);
	CHECK_FORCED(look(0, 0, FG_CPU_IDLE), MISFIT, 1000);
	/* a small misfit among other load shows the 200: nr 5 makes pt small as well */
	cpus[1].misfit_task_load = 100;
	cpus[1].h_nr_running = cpus[1].nr_running = 5;
	cpus[1].cfs.util_avg = 0;
	CHECK_FORCED(look(0, 0, FG_CPU_IDLE), MISFIT, 200);
	/* avg 3000, 200, 100, S 1280: both, and the limit wraps to a huge number */
	wrap(3000, 100, 100);
	CHECK(look(0, 0, FG_CPU_IDLE).amount > 1ll << 50);
}

/* The average task of a flagged group is at most S: an amount below it is small, any other stays. */
TEST(affinity_tells_little_of_the_load_of_a_task)
{
	lb_packages(3, 125, V54);
	states(4, 4, 1, 4000, 0);
	domains[4][1].groups->imbalance = 1;
	state(0, 1, 400, 0);
	/* avg 100, 1000, 0, S 366: pt min(4000, 366); min(634, 266) * 4 = 1064 >= 366 */
	CHECK_FORCED(look(0, 1, FG_CPU_NOT_IDLE), IMBALANCED, 1064);
	/* not flagged: 1064 < 4000; n 1: 1000 >= 100 */
	domains[4][1].groups->imbalance = 0;
	CHECK_FORCED(look(0, 1, FG_CPU_NOT_IDLE), LOAD, 4000);
}

/* Light tasks there: n is 2 as long as those here are not lighter. */
TEST(a_small_imbalance_counts_once_or_twice)
{
	lb_singles(2, SD_MC, 117, V54);
	/* avg 800, 1000, S 900: 100 < pt 500; pt here 400: n 1: 1500 >= 1300 */
	state(0, 2, 800, 0);
	state(1, 2, 1000, 0);
	CHECK_FORCED(look(0, 0, FG_CPU_NOT_IDLE), LOAD, 500);
	/* pt here 800: n 2: 1500 >= 1800 false; now 500 + 800, then 500 + 800 */
	state(0, 1, 800, 0);
	CHECK_FORCED(look(0, 0, FG_CPU_NOT_IDLE), LOAD, 100);
	/* as heavy as those there: n 2: 1500 >= 1000 + 800 false */
	lb_singles(2, SD_MC, 117, V54);
	state(0, 2, 802, 0);
	state(1, 3, 1203, 0);
	/* S 1002: 200 < pt 401; n 2: 1604 >= 802 + 802 */
	CHECK_FORCED(look(0, 0, FG_CPU_NOT_IDLE), LOAD, 401);
	state(0, 2, 804, 0);
	/* S 1003: 199 < 401, pt here 402; n 2: 1604 >= 804 + 802 false; now 401 + 402, then the same */
	CHECK_FORCED(look(0, 0, FG_CPU_NOT_IDLE), LOAD, 199);
}

/* A core here, C 2048, and what is left of one there, C 1024: loads and tasks are for their capacities. */
TEST(what_gets_done_is_for_the_capacity)
{
	for (u32 nr = 1; nr <= 2; nr++) {
		lb_cores(2, V54);
		no_prefer_sibling();
		domains[1][1].imbalance_pct = 105;
		domains[2][1].groups->capacity = 1024;
		state(0, nr, 3000, 0);
		state(2, 3, 1650, 0);
		/*
		 * avg 1500, 1650, S 1550: min(100 * 1024, 50 * 2048) / 1024 = 100 < pt 550; n 2, s 550: 2200 >= 2600 false.
		 * One task of 3000: now 550 + 2 * 1500, then 550 + 2 * min(3000, 1500 + 275). Two of 1500 get all they ask for.
		 */
		CHECK_FORCED(look(1, 1, FG_CPU_NEWLY_IDLE), LOAD, nr == 1 ? 550 : 100);
	}
}

/*
 * No tasks here, n is 2, and dst gives the load of a task here. It has tasks only while it is not a candidate, as for
 * tasks that may not run there. Here are threads 0 and 1 with a load of 3200 on 1; there are four tasks of 1000.
 */
TEST(an_empty_group_goes_by_dst)
{
	lb_cores(2, V54);
	no_prefer_sibling();
	state(0, 2, 3200, 0);
	state(1, 0, 3200, 0);
	state(2, 4, 4000, 0);
	/*
	 * avg 1600, 2000, S 1800: 200 * 2 < pt 1000; s 500: 2500 >= 2600 false; now 2 * 1000 + 2 * 1600, then
	 * 2 * min(1000, 1500) + 2 * min(1600, 2100)
	 */
	CHECK_FORCED(look_without(0, 1, FG_CPU_NEWLY_IDLE, 0), LOAD, 400);
	/* 3202 / 2 = 1601: 2000 + 3200 < 2000 + 3202 */
	state(0, 2, 3202, 0);
	CHECK_FORCED(look_without(0, 1, FG_CPU_NEWLY_IDLE, 0), LOAD, 1000);
	/* nothing at all: n is 2 although 1000 > 0 */
	state(0, 0, 0, 0);
	CHECK_FORCED(look(0, 1, FG_CPU_NEWLY_IDLE), LOAD, 400);
}

int main(void)
{
	RUN(energy_awareness_comes_before_everything);
	RUN(room_here_and_none_there_is_enough);
	RUN(the_excess_of_siblings_counts_from_two);
	RUN(the_local_group_carries_enough);
	RUN(imbalance_pct_for_all_but_ticks_on_idle_cpus);
	RUN(idle_cpus_for_ticks_on_idle_cpus);
	RUN(the_amount_is_what_the_nearer_side_lacks);
	RUN(above_limits_what_leaves_an_overloaded_group);
	RUN(a_misfit_wraps_the_amount);
	RUN(affinity_tells_little_of_the_load_of_a_task);
	RUN(a_small_imbalance_counts_once_or_twice);
	RUN(what_gets_done_is_for_the_capacity);
	RUN(an_empty_group_goes_by_dst);
	return test_report();
}
