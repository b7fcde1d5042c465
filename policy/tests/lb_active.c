/* SPDX-License-Identifier: GPL-2.0-only */
/* Active balance: when the stopper is asked, and what it does (spec 6.5). */
#include "lb_version.h"

/* Two running tasks on 4 and 5 against none: 2 > 1, but nothing waits. */
static void two_running(u32 version)
{
	lb_packages(2, 125, version);
	lb_run(4, 100);
	lb_run(5, 100);
}

TEST(the_fourth_failure_pushes_the_running_task)
{
	for (u32 version = 511; version <= 512; version++) {
		struct lb_report r;

		two_running(version);
		lb_top(0)->balance_interval = 16;
		for (u32 failed = 1; failed <= 3; failed++) {
			r = lb_attempt(0, 1, FG_CPU_IDLE);
			CHECK_RULE(r, SIBLING);
			CHECK_EQ(r.active, 0);
			CHECK_EQ(lb_top(0)->nr_balance_failed, failed);
			CHECK_EQ(lb_top(0)->balance_interval, 8);
		}
		/* 4 > 1 + 2 */
		r = lb_attempt(0, 1, FG_CPU_IDLE);
		CHECK_EQ(r.active, 1);
		CHECK_EQ(r.moved, 0);
		CHECK_EQ(cpus[4].active_balance, 1);
		CHECK_EQ(cpus[4].push_cpu, 0);
		CHECK_EQ(lb_top(0)->nr_balance_failed, version == 512 ? 4 : 2);
		/* up to v5.11 force is followed by a pause */
		CHECK_EQ(lb_top(0)->balance_interval, version == 512 ? 8 : 16);
		/* one at a time */
		lb_top(0)->nr_balance_failed = 9;
		CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).active, 0);
		CHECK_EQ(lb_top(0)->balance_interval, 8);
		/* cache-hot tasks move too, and success resets the failures */
		lb_task[0].exec_start = cpus[4].clock_task;
		CHECK_EQ(lb_stopper(4), 0);
		CHECK_EQ(lb_task[0].cpu, 0);
		CHECK_EQ(cpus[4].active_balance, 0);
		CHECK_EQ(lb_top(0)->nr_balance_failed, 0);
	}
}

TEST(the_stopper_ignores_heat_since_v512)
{
	for (u32 version = 511; version <= 512; version++) {
		two_running(version);
		cpus[4].active_balance = 1;
		cpus[4].push_cpu = 0;
		lb_task[0].exec_start = cpus[4].clock_task;
		CHECK_EQ(lb_stopper(4), version == 512 ? 0 : -1);
	}
}

TEST(force_by_failures_stretches_the_interval_to_its_maximum)
{
	two_running(511);
	lb_top(0)->nr_balance_failed = 3;
	lb_top(0)->balance_interval = 16;
	CHECK_EQ(lb_top(0)->max_interval, 16);
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).active, 1);
	CHECK_EQ(lb_top(0)->balance_interval, 16);
}

TEST(force_by_failures_resets_the_interval_with_interval_reset)
{
	for (u8 on = 0; on < 2; on++) {
		two_running(511);
		sys.feat.value[FG_INTERVAL_RESET] = on;
		lb_top(0)->nr_balance_failed = 3;
		lb_top(0)->balance_interval = 8;
		CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).active, 1);
		CHECK_EQ(lb_top(0)->balance_interval, on ? 8 : 16);
	}
}

/* The running task of CPU 4 sleeps already, and the CPU has not switched yet. */
TEST(a_task_that_is_leaving_is_not_pushed_since_v73)
{
	for (u8 on = 0; on < 2; on++) {
		two_running(612);
		sys.feat.value[FG_ALB_GONE] = on;
		lb_task[0].on_rq = 0;
		lb_top(0)->nr_balance_failed = 3;
		CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).active, !on);
		CHECK_EQ(cpus[4].active_balance, !on);
		CHECK_EQ(lb_top(0)->nr_balance_failed, 4);
		lb_task[0].on_rq = 1;
		cpus[4].active_balance = 0;
		CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).active, 1);
	}
}

TEST(an_idle_task_is_not_pushed)
{
	two_running(612);
	cpus[4].curr = 0;
	lb_top(0)->nr_balance_failed = 9;
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).active, 0);
}

TEST(who_is_pushed_comes_to_who_balances)
{
	struct fg_balance b;

	/* though the last tasks were looked at for CPU 1 */
	two_running(612);
	b = lb_find(0, 1, FG_CPU_IDLE);
	b.dst_cpu = 1;
	lb_top(0)->nr_balance_failed = 9;
	kit_allow(&lb_task[0], 4, 7);
	mask_set(&lb_task[0].allowed, 1);
	CHECK_EQ(fg_balance_end(&sys, &b), 0);
	mask_set(&lb_task[0].allowed, 0);
	CHECK_EQ(fg_balance_end(&sys, &b), 1);
	CHECK_EQ(cpus[4].push_cpu, 0);
}

TEST(since_v512_force_needs_tasks_to_be_counted)
{
	for (u32 version = 511; version <= 512; version++) {
		struct lb_report r;

		/* overloaded by tasks that are estimated to be too big to move */
		lb_packages(2, 125, version);
		lb_queues(4, 7, 2, 100);
		lb_util(4, 7, 1024);
		for (u32 i = 0; i < 8; i++)
			lb_task[i].est.ewma = 5000;
		lb_top(0)->nr_balance_failed = 5;
		r = lb_attempt(0, 1, FG_CPU_IDLE);
		CHECK_EQ(r.migration, FG_MIGRATE_UTIL);
		CHECK_EQ(r.moved, 0);
		CHECK_EQ(r.active, version == 511);
	}
}

TEST(a_running_task_that_may_not_come_is_not_pushed)
{
	for (u32 version = 511; version <= 512; version++) {
		struct lb_report r;

		two_running(version);
		kit_allow(&lb_task[0], 4, 7);
		lb_top(0)->nr_balance_failed = 6;
		lb_top(0)->balance_interval = 32;
		r = lb_attempt(0, 1, FG_CPU_IDLE);
		CHECK_EQ(r.active, 0);
		CHECK_EQ(r.moved, 0);
		CHECK_EQ(cpus[4].active_balance, 0);
		CHECK_EQ(lb_top(0)->nr_balance_failed, 7);
		/* beyond the maximum of 16: a lone pinned task counts as all pinned */
		CHECK_EQ(lb_top(0)->balance_interval, 64);
	}
	/* with another that could have come, but is hot, not all are: the maximum of 4 holds, since v5.12 */
	for (u32 version = 511; version <= 512; version++) {
		lb_singles(2, SD_SMT | FG_SD_ASYM_PACKING, 110, version);
		lb_without(FG_SMT_NEVER_HOT);
		lb_run(1, 100);
		lb_wait(1, 100)->exec_start = cpus[1].clock_task;
		kit_allow(&lb_task[0], 1, 1);
		domains[0][0].balance_interval = 32;
		CHECK_EQ(lb_attempt(0, 0, FG_CPU_IDLE).active, 0);
		CHECK_EQ(domains[0][0].balance_interval, version == 511 ? 64 : 32);
	}
}

TEST(a_squeezed_lone_task_is_pushed_at_once)
{
	struct fg_balance b;

	for (u32 capacity = 819; capacity <= 820; capacity++) {
		two_running(505);
		cpus[4].cpu_capacity = capacity;
		/* 819 * 125 < 1024 * 100 */
		CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).active, capacity == 819);
		/* here the task would not have clearly more capacity */
		two_running(505);
		cpus[4].cpu_capacity = capacity;
		cpus[0].rt.util_avg = 10;
		lb_attempt(0, 0, FG_CPU_IDLE);
		CHECK_EQ(cpus[0].cpu_capacity, 1014);
		CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).active, 0);
	}
	/* nor by who is busy */
	two_running(505);
	cpus[4].cpu_capacity = 819;
	b = lb_find(0, 1, FG_CPU_IDLE);
	CHECK_EQ(need_active_balance(&sys, &b), 1);
	b.kind = FG_CPU_NOT_IDLE;
	CHECK_EQ(need_active_balance(&sys, &b), 0);
	/* small is not squeezed */
	two_running(505);
	kit_capacity(4, 4, 512);
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).active, 0);
}

TEST(packing_pushes_off_a_busy_core_whoever_is_preferred_since_v65)
{
	/* 0-1 busy, 2-3 idle: 2 takes from a core that it is not preferred to, but not while 3 is busy */
	for (u32 busy3 = 0; busy3 < 2; busy3++) {
		struct fg_balance b;

		lb_cores(2, 605);
		lb_flags(1, FG_SD_ASYM_PACKING, 0);
		lb_run(0, 100);
		lb_run(1, 100);
		if (busy3)
			lb_run(3, 100);
		b = lb_find(2, 1, FG_CPU_IDLE);
		b.src_cpu = 0;
		CHECK_EQ(asym_active_balance(&sys, &b), !busy3);
		/* from a core with one busy thread only by preference */
		kit_idle(1);
		CHECK_EQ(asym_active_balance(&sys, &b), 0);
	}
}

TEST(packing_pushes_at_once)
{
	for (u32 version = 505; version <= 605; version += 100) {
		struct lb_report r;

		lb_singles(2, SD_SMT | FG_SD_ASYM_PACKING, 110, version);
		lb_run(1, 1024);
		r = lb_attempt(0, 0, FG_CPU_IDLE);
		CHECK_RULE(r, ASYM);
		CHECK_EQ(r.active, 1);
		CHECK_EQ(domains[0][0].balance_interval, 2);
	}
}

TEST(the_stopper_finds_things_changed)
{
	two_running(612);
	/* not asked */
	CHECK_EQ(lb_stopper(4), -1);
	/* gone meanwhile, offline, or not allowed there any more */
	cpus[4].active_balance = 1;
	cpus[4].push_cpu = 0;
	kit_allow(&lb_task[0], 4, 7);
	CHECK_EQ(lb_stopper(4), -1);
	CHECK_EQ(cpus[4].active_balance, 0);
	kit_allow(&lb_task[0], 0, 7);
	cpus[4].active_balance = 1;
	mask_clear(&sys.active, 0);
	CHECK_EQ(lb_stopper(4), -1);
	mask_set(&sys.active, 0);
	cpus[4].active_balance = 1;
	mask_clear(&sys.active, 4);
	CHECK_EQ(lb_stopper(4), -1);
	mask_set(&sys.active, 4);
	cpus[4].active_balance = 1;
	cpus[4].push_cpu = -1;
	CHECK_EQ(lb_stopper(4), -1);
	cpus[4].active_balance = 1;
	cpus[4].push_cpu = 0;
	CHECK_EQ(lb_stopper(4), 0);
}

int main(void)
{
	RUN(the_fourth_failure_pushes_the_running_task);
	RUN(the_stopper_ignores_heat_since_v512);
	RUN(force_by_failures_stretches_the_interval_to_its_maximum);
	RUN(force_by_failures_resets_the_interval_with_interval_reset);
	RUN(a_task_that_is_leaving_is_not_pushed_since_v73);
	RUN(an_idle_task_is_not_pushed);
	RUN(who_is_pushed_comes_to_who_balances);
	RUN(since_v512_force_needs_tasks_to_be_counted);
	RUN(a_running_task_that_may_not_come_is_not_pushed);
	RUN(a_squeezed_lone_task_is_pushed_at_once);
	RUN(packing_pushes_off_a_busy_core_whoever_is_preferred_since_v65);
	RUN(packing_pushes_at_once);
	RUN(the_stopper_finds_things_changed);
	return test_report();
}
