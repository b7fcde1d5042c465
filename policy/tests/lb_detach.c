/* SPDX-License-Identifier: GPL-2.0-only */
/* Which tasks of the source move (spec 6.4). */
#include "lb_version.h"

TEST(the_least_recent_go_first_and_the_last_stays)
{
	struct lb_report r;

	lb_one_busy(612, 4);
	r = lb_attempt(0, 1, FG_CPU_IDLE);
	/* (4 - 0) >> 1, oldest first; task 0 runs */
	CHECK_EQ(r.amount, 2);
	CHECK_EQ(r.moved, 2);
	CHECK_EQ(r.id[0], 1);
	CHECK_EQ(r.id[1], 2);
	/* newly idle takes one, where the kernel may be preempted */
	lb_one_busy(612, 4);
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_NEWLY_IDLE).moved, 1);
	lb_one_busy(612, 4);
	sys.feat.value[FG_NEWIDLE_ONE] = 0;
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_NEWLY_IDLE).moved, 2);
}

TEST(who_idles_leaves_the_source_a_task)
{
	static const u32 kinds[] = { FG_CPU_IDLE, FG_CPU_NEWLY_IDLE, FG_CPU_NOT_IDLE };

	for (u32 i = 0; i < 3; i++) {
		struct fg_balance b;

		lb_one_busy(612, 1);
		b = lb_find(0, 1, FG_CPU_IDLE);
		b.src_cpu = 4;
		b.imbalance = 1;
		b.loop_max = 1;
		b.kind = kinds[i];
		CHECK_EQ(fg_detach_more(&sys, &b), kinds[i] == FG_CPU_NOT_IDLE);
	}
}

TEST(at_most_32_tasks_are_looked_at)
{
	struct lb_report r;

	lb_one_busy(612, 60);
	for (u32 i = 1; i < 32; i++)
		lb_task[i].exec_start = cpus[4].clock_task;
	/* the running one and 1 to 31, all hot; next time those who were not looked at */
	r = lb_attempt(0, 1, FG_CPU_IDLE);
	CHECK_EQ(r.moved, 0);
	r = lb_attempt(0, 1, FG_CPU_IDLE);
	CHECK_EQ(r.moved > 0, 1);
	CHECK_EQ(r.id[0], 32);
}

TEST(load_is_measured_by_what_the_queue_had_at_first)
{
	struct fg_balance b;

	/* 1000 * 3000 / 3001; the second 1000 * 3000 / 2001, for h_load is renewed once a jiffy */
	lb_packages(2, 125, 612);
	lb_queue(4, 3, 1000);
	b = lb_find(0, 1, FG_CPU_IDLE);
	b.migration = FG_MIGRATE_LOAD;
	b.imbalance = 5000;
	CHECK_EQ(fg_detach_task(&sys, &b, &lb_task[1]), 1);
	CHECK_EQ(b.imbalance, 5000 - 999);
	cpus[4].cfs.load_avg = 2000;
	CHECK_EQ(fg_detach_task(&sys, &b, &lb_task[2]), 1);
	CHECK_EQ(b.imbalance, 5000 - 999 - 1499);
}

TEST(p04_takes_a_task_of_twice_the_misfit_load)
{
	for (s64 amount = 499; amount <= 500; amount++) {
		struct fg_balance b;

		lb_one_busy(505, 2);
		lb_without(FG_LB_P08);
		lb_task[1].avg.load_avg = 1004;
		b = lb_find(0, 1, FG_CPU_IDLE);
		b.migration = FG_MIGRATE_MISFIT;
		b.imbalance = amount;
		/* h_load 1004 * 200 / 201 = 999, half of it 499 */
		CHECK_EQ(fg_detach_task(&sys, &b, &lb_task[1]), amount == 499);
	}
}

TEST(the_first_pinned_task_says_who_else_is_tried)
{
	struct fg_balance b;

	lb_one_busy(612, 3);
	kit_allow(&lb_task[1], 2, 2);
	kit_allow(&lb_task[2], 1, 1);
	b = lb_find(0, 1, FG_CPU_IDLE);
	fg_can_migrate_task(&sys, &b, &lb_task[1]);
	fg_can_migrate_task(&sys, &b, &lb_task[2]);
	CHECK_EQ(b.new_dst_cpu, 2);
	/* it does not become the destination while nothing is left to be moved */
	b.imbalance = 0;
	CHECK_EQ(fg_balance_next(&sys, &b), FG_LB_REDO);
	CHECK_EQ(b.dst_cpu, 0);
	b.imbalance = 1;
	CHECK_EQ(fg_balance_next(&sys, &b), FG_LB_MORE);
	CHECK_EQ(b.dst_cpu, 2);
}

TEST(a_queue_that_others_emptied_is_not_pinned_since_v512)
{
	for (u32 version = 511; version <= 512; version++) {
		struct fg_balance b;

		lb_one_busy(version, 2);
		b = lb_find(0, 1, FG_CPU_IDLE);
		fg_detach_begin(&sys, &b);
		CHECK(b.flags & FG_LB_ALL_PINNED);
		cpus[4].nr_running = 1;
		fg_detach_begin(&sys, &b);
		CHECK_EQ(b.flags & FG_LB_ALL_PINNED, version == 511 ? FG_LB_ALL_PINNED : 0);
	}
}

/* By a busy CPU: an idle one leaves the last task alone in every version. */
TEST(the_last_task_of_a_queue_is_not_looked_at_since_v512)
{
	for (u32 version = 511; version <= 512; version++) {
		struct fg_balance b;

		lb_one_busy(version, 2);
		b = lb_find(0, 1, FG_CPU_IDLE);
		b.kind = FG_CPU_NOT_IDLE;
		cpus[4].nr_running = 1;
		fg_detach_begin(&sys, &b);
		CHECK_EQ(fg_detach_more(&sys, &b), version == 511);
	}
}

/* 1: CPU 0 may take the task that waits on CPU 4. */
static u32 may_move(u32 level, void (*change)(struct fg_task *p))
{
	struct fg_balance b = lb_find(0, level, FG_CPU_IDLE);

	b.src_cpu = 4;
	b.flags = FG_LB_ALL_PINNED;
	change(&lb_task[1]);
	return fg_can_migrate_task(&sys, &b, &lb_task[1]);
}

static void cold(struct fg_task *p)
{
	p->exec_start = cpus[4].clock_task - 500000;
}

static void hot(struct fg_task *p)
{
	p->exec_start = cpus[4].clock_task - 499999;
}

static void hot_idle_policy(struct fg_task *p)
{
	hot(p);
	p->policy = FG_SCHED_IDLE;
}

static void buddy(struct fg_task *p)
{
	cold(p);
	cpus[4].fair.next = p;
}

static void last_buddy(struct fg_task *p)
{
	cold(p);
	cpus[4].fair.last = p;
}

TEST(cache_hot_tasks_stay_until_it_failed_often)
{
	lb_one_busy(612, 2);
	CHECK_EQ(may_move(1, cold), 1);
	CHECK_EQ(may_move(1, hot), 0);
	lb_top(0)->nr_balance_failed = 1;
	CHECK_EQ(may_move(1, hot), 0);
	lb_top(0)->nr_balance_failed = 2;
	CHECK_EQ(may_move(1, hot), 1);
	lb_top(0)->nr_balance_failed = 0;
	CHECK_EQ(may_move(1, hot_idle_policy), 1);
	lb_task[1].policy = 0;
	/* buddies are hot for who has work */
	CHECK_EQ(may_move(1, buddy), 1);
	cpus[0].nr_running = 1;
	CHECK_EQ(may_move(1, buddy), 0);
	cpus[4].fair.next = 0;
	CHECK_EQ(may_move(1, last_buddy), 0);
	cpus[4].fair.last = 0;
	CHECK_EQ(may_move(1, cold), 1);
	/* since v5.10 siblings share the cache */
	lb_flags(1, FG_SD_SHARE_CPUCAPACITY, 0);
	CHECK_EQ(may_move(1, hot), 1);
	lb_version(509);
	CHECK_EQ(may_move(1, hot), 0);
}

TEST(a_running_task_is_seen_but_stays)
{
	struct fg_balance b;

	lb_one_busy(612, 2);
	b = lb_find(0, 1, FG_CPU_IDLE);
	CHECK(b.flags & FG_LB_ALL_PINNED);
	CHECK_EQ(fg_can_migrate_task(&sys, &b, &lb_task[0]), 0);
	CHECK_EQ(b.flags & FG_LB_ALL_PINNED, 0);
}

TEST(per_cpu_kthreads_are_nobodys_pinned_task_since_v512)
{
	for (u32 version = 511; version <= 512; version++) {
		struct fg_balance b;

		lb_one_busy(version, 2);
		lb_task[1].flags |= FG_TASK_PERCPU_KTHREAD;
		kit_allow(&lb_task[1], 4, 4);
		b = lb_find(0, 1, FG_CPU_IDLE);
		CHECK_EQ(fg_can_migrate_task(&sys, &b, &lb_task[1]), 0);
		CHECK_EQ((b.flags & FG_LB_SOME_PINNED) != 0, version == 511);
	}
}

TEST(the_misfit_test_goes_by_clamps)
{
	for (u32 clamped = 0; clamped < 2; clamped++) {
		struct fg_balance b;

		lb_one_busy(514, 2);
		lb_with(FG_UCLAMP_FIT);
		sys.uclamp_used = (u8)clamped;
		lb_task_util(&lb_task[1], 100);
		lb_task[1].uclamp_min = 900;
		b = lb_find(0, 1, FG_CPU_IDLE);
		b.migration = FG_MIGRATE_MISFIT;
		b.imbalance = 1;
		CHECK_EQ(fg_detach_task(&sys, &b, &lb_task[1]), clamped);
		CHECK_EQ(b.imbalance, clamped ? 0 : 1);
	}
}

TEST(load_of_nothing_counts_as_one_since_v57)
{
	for (u32 version = 506; version <= 507; version++) {
		struct fg_balance b;

		lb_one_busy(version, 2);
		lb_task[1].avg.load_avg = 0;
		b = lb_find(0, 1, FG_CPU_IDLE);
		b.migration = FG_MIGRATE_LOAD;
		b.imbalance = 5;
		CHECK_EQ(fg_detach_task(&sys, &b, &lb_task[1]), 1);
		CHECK_EQ(b.imbalance, version == 507 ? 4 : 5);
	}
}

TEST(a_delayed_sleeper_moves_only_with_load_since_v614)
{
	static const u32 kinds[] = { FG_MIGRATE_LOAD, FG_MIGRATE_UTIL, FG_MIGRATE_TASK, FG_MIGRATE_MISFIT };

	for (u32 i = 0; i < 4; i++) {
		struct fg_balance b;

		lb_one_busy(612, 3);
		lb_task[1].flags |= FG_TASK_DELAYED;
		b = lb_find(0, 1, FG_CPU_IDLE);
		b.migration = kinds[i];
		CHECK_EQ(fg_can_migrate_task(&sys, &b, &lb_task[1]), 1);
		lb_with(FG_DELAYED_STAY);
		CHECK_EQ(fg_can_migrate_task(&sys, &b, &lb_task[1]), kinds[i] == FG_MIGRATE_LOAD);
	}
}

/* V is 0 and the task at 1: it has had more than its share. */
TEST(a_task_that_is_not_eligible_waits_for_a_failure_since_v614)
{
	struct fg_balance b;

	lb_one_busy(612, 3);
	lb_with(FG_INELIGIBLE_STAY);
	lb_task[1].vruntime = cpus[4].fair.min_vruntime + 1;
	b = lb_find(0, 1, FG_CPU_IDLE);
	b.sd->nr_balance_failed = 0;
	/* nobody is there that it would have to wait for */
	CHECK_EQ(fg_can_migrate_task(&sys, &b, &lb_task[1]), 1);
	cpus[0].fair.sum_weight = 1024;
	CHECK_EQ(fg_can_migrate_task(&sys, &b, &lb_task[1]), 0);
	lb_without(FG_INELIGIBLE_STAY);
	CHECK_EQ(fg_can_migrate_task(&sys, &b, &lb_task[1]), 1);
	lb_with(FG_INELIGIBLE_STAY);
	CHECK_EQ(fg_can_migrate_task(&sys, &b, &lb_task[2]), 1);
	b.sd->nr_balance_failed = 1;
	CHECK_EQ(fg_can_migrate_task(&sys, &b, &lb_task[1]), 1);
}

/* The task needs more than half of the CPUs 0 to 3 have; CPU 4 has enough. */
TEST(a_cache_keeps_a_task_that_fits_from_a_cpu_where_it_does_not)
{
	static const u32 asked[][4] = {
		/* feature, caches, failures; may go */
		{ 1, 1, 0, 0 }, { 0, 1, 0, 1 }, { 1, 0, 0, 1 }, { 1, 1, 1, 0 }, { 1, 1, 2, 1 },
	};

	for (u32 i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		struct fg_balance b;

		lb_one_busy(612, 3);
		sys.feat.value[FG_CACHE_ASYM] = (u8)asked[i][0];
		sys.llc_balancing.active = asked[i][1];
		sys.asym_key = 1;
		for (u32 cpu = 0; cpu < 4; cpu++)
			cpus[cpu].cpu_capacity = cpus[cpu].cpu_capacity_orig = 400;
		b = lb_find(0, 1, FG_CPU_IDLE);
		b.sd->flags |= FG_SD_ASYM_CPUCAPACITY;
		b.sd->nr_balance_failed = asked[i][2];
		lb_task_util(&lb_task[1], 500);
		lb_task_util(&lb_task[2], 100);
		CHECK_EQ(fg_can_migrate_task(&sys, &b, &lb_task[1]), asked[i][3]);
		CHECK_EQ((b.flags & FG_LB_LLC_PINNED) != 0, !asked[i][3]);
		/* A small task fits everywhere, and one that fits nowhere cannot lose. */
		CHECK_EQ(fg_can_migrate_task(&sys, &b, &lb_task[2]), 1);
		lb_task_util(&lb_task[1], 1000);
		CHECK_EQ(fg_can_migrate_task(&sys, &b, &lb_task[1]), 1);
		/* The stopper does not ask. */
		lb_task_util(&lb_task[1], 500);
		b.flags |= FG_LB_ACTIVE;
		CHECK_EQ(fg_can_migrate_task(&sys, &b, &lb_task[1]), 1);
	}
}

TEST(what_a_cache_keeps_is_no_failure)
{
	for (u32 kept = 0; kept < 2; kept++) {
		struct fg_balance b;

		lb_one_busy(612, 3);
		b = lb_find(0, 1, FG_CPU_IDLE);
		b.flags |= kept ? FG_LB_LLC_PINNED : 0;
		b.sd->nr_balance_failed = 1;
		b.moved = 0;
		fg_balance_end(&sys, &b);
		CHECK_EQ(b.sd->nr_balance_failed, 2 - kept);
	}
}

int main(void)
{
	RUN(the_least_recent_go_first_and_the_last_stays);
	RUN(who_idles_leaves_the_source_a_task);
	RUN(at_most_32_tasks_are_looked_at);
	RUN(load_is_measured_by_what_the_queue_had_at_first);
	RUN(p04_takes_a_task_of_twice_the_misfit_load);
	RUN(the_first_pinned_task_says_who_else_is_tried);
	RUN(a_queue_that_others_emptied_is_not_pinned_since_v512);
	RUN(the_last_task_of_a_queue_is_not_looked_at_since_v512);
	RUN(cache_hot_tasks_stay_until_it_failed_often);
	RUN(a_running_task_is_seen_but_stays);
	RUN(per_cpu_kthreads_are_nobodys_pinned_task_since_v512);
	RUN(the_misfit_test_goes_by_clamps);
	RUN(load_of_nothing_counts_as_one_since_v57);
	RUN(a_delayed_sleeper_moves_only_with_load_since_v614);
	RUN(a_task_that_is_not_eligible_waits_for_a_failure_since_v614);
	RUN(a_cache_keeps_a_task_that_fits_from_a_cpu_where_it_does_not);
	RUN(what_a_cache_keeps_is_no_failure);
	return test_report();
}
