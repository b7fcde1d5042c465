/* SPDX-License-Identifier: GPL-2.0-only */
/* What affinity does to an attempt: other CPUs, other sources, and the flag a level up (spec 6.4, 6.5). */
#include "lb_version.h"

TEST(what_may_not_run_here_goes_to_a_neighbour)
{
	struct lb_report r;

	/* the tasks of CPU 4 may run on 1 and there */
	lb_one_busy(612, 4);
	for (u32 i = 0; i < 4; i++) {
		kit_allow(&lb_task[i], 4, 4);
		mask_set(&lb_task[i].allowed, 1);
	}
	r = lb_attempt(0, 1, FG_CPU_IDLE);
	CHECK_EQ(r.moved, 2);
	CHECK_EQ(r.to[0], 1);
	CHECK_EQ(r.to[1], 1);
	CHECK_EQ(cpus[0].nr_running, 0);
	CHECK_EQ(cpus[1].nr_running, 2);
	/* not by who is newly idle */
	lb_one_busy(612, 4);
	for (u32 i = 0; i < 4; i++) {
		kit_allow(&lb_task[i], 4, 4);
		mask_set(&lb_task[i].allowed, 1);
	}
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_NEWLY_IDLE).moved, 0);
}

TEST(each_neighbour_is_tried_once)
{
	struct lb_report r;

	/* (6 - 0) >> 1: one to here, one to CPU 2, one to CPU 3 */
	lb_one_busy(612, 6);
	for (u32 i = 1; i < 6; i++)
		kit_allow(&lb_task[i], 4, 4);
	mask_set(&lb_task[1].allowed, 3);
	mask_set(&lb_task[2].allowed, 2);
	mask_set(&lb_task[3].allowed, 0);
	r = lb_attempt(0, 1, FG_CPU_IDLE);
	CHECK_EQ(r.amount, 3);
	CHECK_EQ(r.moved, 3);
	CHECK_EQ(lb_task[1].cpu, 3);
	CHECK_EQ(lb_task[2].cpu, 2);
	CHECK_EQ(lb_task[3].cpu, 0);
}

TEST(a_pinned_queue_gives_way_to_the_next)
{
	struct lb_report r;

	lb_one_busy(612, 4);
	lb_queue(6, 2, 100);
	for (u32 i = 0; i < 4; i++)
		kit_allow(&lb_task[i], 4, 4);
	r = lb_attempt(0, 1, FG_CPU_IDLE);
	CHECK_EQ(r.src, 6);
	CHECK_EQ(r.moved, 1);
	CHECK_EQ(lb_task[5].cpu, 0);
}

TEST(all_pinned_waits_longer_than_balanced)
{
	struct lb_report r;

	lb_singles(2, SD_MC, 117, 612);
	lb_queue(1, 4, 100);
	for (u32 i = 0; i < 4; i++)
		kit_allow(&lb_task[i], 1, 1);
	domains[0][0].nr_balance_failed = 7;
	for (u32 interval = 4; interval <= 512; interval *= 2) {
		r = lb_attempt(0, 0, FG_CPU_IDLE);
		CHECK_RULE(r, PINNED);
		CHECK_EQ(r.moved, 0);
		CHECK_EQ(domains[0][0].balance_interval, interval);
	}
	CHECK_EQ(domains[0][0].nr_balance_failed, 0);
	lb_attempt(0, 0, FG_CPU_IDLE);
	CHECK_EQ(domains[0][0].balance_interval, 512);
	/* newly idle balancing does not use the interval */
	domains[0][0].balance_interval = 4;
	lb_attempt(0, 0, FG_CPU_NEWLY_IDLE);
	CHECK_EQ(domains[0][0].balance_interval, 4);
}

/* MC of four single CPUs under the package. */
TEST(affinity_in_the_way_is_told_one_level_up)
{
	struct fg_balance b;
	struct fg_group *up;

	lb_packages(2, 125, 612);
	up = lb_top(0)->groups;
	lb_queue(1, 4, 100);
	for (u32 i = 1; i < 4; i++)
		kit_allow(&lb_task[i], 1, 1);
	/* the running one could, so not all are pinned */
	CHECK_EQ(lb_attempt(0, 0, FG_CPU_IDLE).moved, 0);
	CHECK_EQ(up->imbalance, 1);
	CHECK_EQ(lb_top(4)->groups->next, up);
	CHECK_RULE(lb_find(4, 1, FG_CPU_IDLE), IMBALANCED);
	CHECK_AMOUNT(lb_find(4, 1, FG_CPU_IDLE), TASK, 1);
	/* balanced below: over; and so when it is not one's turn */
	lb_state(1, 0, 0, 0);
	lb_attempt(0, 0, FG_CPU_IDLE);
	CHECK_EQ(up->imbalance, 0);
	up->imbalance = 1;
	b = lb_find(2, 0, FG_CPU_IDLE);
	fg_balance_not_ours(&sys, &b);
	CHECK_EQ(up->imbalance, 0);
}

TEST(affinity_that_was_not_in_the_way_is_not_told)
{
	/* one of four is to move, and the second that is looked at can */
	lb_packages(2, 125, 612);
	lb_queue(1, 3, 100);
	kit_allow(&lb_task[1], 1, 1);
	CHECK_EQ(lb_attempt(0, 0, FG_CPU_IDLE).moved, 1);
	CHECK_EQ(lb_task[2].cpu, 0);
	CHECK_EQ(lb_top(0)->groups->imbalance, 0);
}

TEST(pinned_on_every_queue_keeps_the_flag)
{
	lb_packages(2, 125, 612);
	lb_queue(1, 4, 100);
	for (u32 i = 0; i < 4; i++)
		kit_allow(&lb_task[i], 1, 1);
	/* after the pinned queue nothing else is found: the look that fails leaves the flag */
	lb_attempt(0, 0, FG_CPU_IDLE);
	CHECK_EQ(lb_top(0)->groups->imbalance, 1);
}

int main(void)
{
	RUN(what_may_not_run_here_goes_to_a_neighbour);
	RUN(each_neighbour_is_tried_once);
	RUN(a_pinned_queue_gives_way_to_the_next);
	RUN(all_pinned_waits_longer_than_balanced);
	RUN(affinity_in_the_way_is_told_one_level_up);
	RUN(affinity_that_was_not_in_the_way_is_not_told);
	RUN(pinned_on_every_queue_keeps_the_flag);
	return test_report();
}
