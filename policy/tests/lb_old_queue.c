/* SPDX-License-Identifier: GPL-2.0-only */
/* Which queue v5.4 pulls from, and which tasks it takes (spec 6.6, 6.7). */
#include "lb_old_kit.h"

/* A heavy task that fits says nothing. */
TEST(the_queue_of_the_biggest_misfit)
{
	struct lb_report r;

	big_and_little(446);
	lb_run(5, 100);
	lb_run(0, 3000);
	lb_run(1, 600);
	cpus[0].misfit_task_load = 500;
	cpus[1].misfit_task_load = 600;
	r = lb_attempt(4, 1, FG_CPU_IDLE);
	CHECK_EQ(r.rule, FG_BALANCE_RULE_MISFIT);
	CHECK_EQ(r.src, 1);
	CHECK_EQ(r.active, 1);
	/* asked for by what the group is, so the interval stays short */
	CHECK_EQ(domains[4][1].balance_interval, domains[4][1].min_interval);
}

/* An RT task makes two: a fair one of more than the amount, 512, does not exclude a queue; only half of it counts. */
TEST(tasks_of_all_classes_make_a_queue)
{
	struct lb_report r;

	lb_packages(2, 125, V54);
	lb_with(FG_LB_P03);
	lb_queues(1, 4, 1, 1024);
	lb_run_rt(5);
	lb_wait(5, 1024);
	lb_queues(6, 7, 1, 1024);
	r = lb_attempt(0, 1, FG_CPU_NEWLY_IDLE);
	CHECK_EQ(r.amount, 512);
	CHECK_EQ(r.src, 5);
	CHECK_EQ(r.moved, 1);
	CHECK_EQ(r.id[0], 4);
}

TEST(a_queue_is_one_of_load)
{
	lb_packages(2, 125, V54);
	lb_queue(4, 3, 0);
	lb_queue(5, 2, 500);
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).src, 5);
	/* load for the capacity that is left */
	lb_packages(2, 125, V54);
	lb_queue(4, 2, 600);
	lb_queue(5, 2, 500);
	cpus[5].cpu_capacity = 853; /* 1000 * 1024 / 853 = 1200.5 */
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).src, 5);
	lb_packages(2, 125, V54);
	lb_queue(4, 2, 600);
	lb_queue(5, 2, 500);
	cpus[5].cpu_capacity = 854; /* 1199.06 */
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).src, 4);
}

/* Big CPUs, 7 > 0 + 1: avg 285, S 198: min(87 * 4096, 198 * 1784) / 1024 = 344 >= pt 162. CPU 4 has most, 300. */
TEST(a_lone_task_does_not_go_to_a_smaller_cpu)
{
	for (u32 asym = 0; asym < 2; asym++) {
		struct lb_report r;

		big_and_little(446);
		if (!asym)
			domains[0][1].flags &= ~(u32)FG_SD_ASYM_CPUCAPACITY;
		lb_queue(4, 1, 300);
		lb_queues(5, 7, 2, 140);
		r = lb_attempt(0, 1, FG_CPU_IDLE);
		CHECK_EQ(r.amount, 344);
		CHECK_EQ(r.src, asym ? 5 : 4);
		CHECK_EQ(r.moved, asym);
	}
}

/*
 * One task of 3000. Of a capacity of 500: avg 6144, 0, S 2015: min(4129 * 500, 2015 * 1024) / 1024 = 2015, and it is taken
 * all the same: active balance at once. Of 876, 876 * 117 > 1024 * 100, it is not: S 1616, min(1890 * 876, 1616 * 1024).
 */
TEST(a_lone_task_leaves_a_cpu_of_reduced_capacity)
{
	static const u32 capacity[] = { 500, 876 };

	for (u32 i = 0; i < 2; i++) {
		struct lb_report r;

		lb_singles(2, SD_MC, 117, V54);
		lb_with(FG_LB_P03);
		lb_queue(1, 1, 3000);
		cpus[1].cpu_capacity = capacity[i];
		domains[1][0].groups->capacity = capacity[i];
		CHECK_FORCED(look(0, 0, FG_CPU_NEWLY_IDLE), LOAD, i ? 1616 : 2015);
		r = lb_attempt(0, 0, FG_CPU_NEWLY_IDLE);
		CHECK_EQ(r.rule, i ? FG_BALANCE_RULE_NO_QUEUE : FG_BALANCE_RULE_LOAD);
		CHECK_EQ(r.active, !i);
	}
}

/* A misfit here, too, is one that the partition should know of; from 002/P04 on only those elsewhere are. */
TEST(a_local_misfit_counts)
{
	for (u32 p04 = 0; p04 < 2; p04++) {
		big_and_little(446);
		sys.feat.value[FG_LB_P04] = (u8)p04;
		lb_run(0, 600);
		cpus[0].misfit_task_load = 600;
		lb_attempt(1, 1, FG_CPU_IDLE);
		CHECK_EQ(root.overload, !p04);
		/* big CPUs see it either way */
		lb_attempt(4, 1, FG_CPU_IDLE);
		CHECK_EQ(root.overload, 1);
	}
}

int main(void)
{
	RUN(the_queue_of_the_biggest_misfit);
	RUN(tasks_of_all_classes_make_a_queue);
	RUN(a_queue_is_one_of_load);
	RUN(a_lone_task_does_not_go_to_a_smaller_cpu);
	RUN(a_lone_task_leaves_a_cpu_of_reduced_capacity);
	RUN(a_local_misfit_counts);
	return test_report();
}
