/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From the source on: which of its tasks move, what affinity does to an attempt, active balance, failures and intervals (spec
 * 6.4, 6.5), and how newly idle balancing goes on (spec 6.9). One scenario a rule; attempts are those of lb_kit.h.
 */
#include "lb_version.h"

/* CPU 4 has one running and nr - 1 waiting tasks, the rest idles; CPU 0 pulls. */
static void one_busy(u32 version, u32 nr)
{
	lb_packages(2, 125, version);
	lb_queue(4, nr, 100);
}

static struct fg_domain *top(u32 cpu)
{
	return &domains[cpu][1];
}

/* ---- tasks ---- */

TEST(the_least_recent_go_first_and_the_last_stays)
{
	struct lb_report r;

	one_busy(612, 4);
	r = lb_attempt(0, 1, FG_CPU_IDLE);
	/* (4 - 0) >> 1, oldest first; task 0 runs */
	CHECK_EQ(r.amount, 2);
	CHECK_EQ(r.moved, 2);
	CHECK_EQ(r.id[0], 1);
	CHECK_EQ(r.id[1], 2);
	/* newly idle takes one, where the kernel may be preempted */
	one_busy(612, 4);
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_NEWLY_IDLE).moved, 1);
	one_busy(612, 4);
	sys.feat.value[FG_NEWIDLE_ONE] = 0;
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_NEWLY_IDLE).moved, 2);
}

TEST(who_idles_leaves_the_source_a_task)
{
	static const u32 kinds[] = { FG_CPU_IDLE, FG_CPU_NEWLY_IDLE, FG_CPU_NOT_IDLE };

	for (u32 i = 0; i < 3; i++) {
		struct fg_balance b;

		one_busy(612, 1);
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

	one_busy(612, 60);
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

		one_busy(505, 2);
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

	one_busy(612, 3);
	kit_allow(&lb_task[1], 2, 2);
	kit_allow(&lb_task[2], 1, 1);
	b = lb_find(0, 1, FG_CPU_IDLE);
	fg_can_migrate_task(&sys, &b, &lb_task[1]);
	fg_can_migrate_task(&sys, &b, &lb_task[2]);
	CHECK_EQ(b.new_dst_cpu, 2);
	/* but nobody is while nothing is left to be moved */
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

		one_busy(version, 2);
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

		one_busy(version, 2);
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
	cpus[4].next = p;
}

static void last_buddy(struct fg_task *p)
{
	cold(p);
	cpus[4].last = p;
}

TEST(cache_hot_tasks_stay_until_it_failed_often)
{
	one_busy(612, 2);
	CHECK_EQ(may_move(1, cold), 1);
	CHECK_EQ(may_move(1, hot), 0);
	top(0)->nr_balance_failed = 1;
	CHECK_EQ(may_move(1, hot), 0);
	top(0)->nr_balance_failed = 2;
	CHECK_EQ(may_move(1, hot), 1);
	top(0)->nr_balance_failed = 0;
	CHECK_EQ(may_move(1, hot_idle_policy), 1);
	lb_task[1].policy = 0;
	/* buddies are hot for who has work */
	CHECK_EQ(may_move(1, buddy), 1);
	cpus[0].nr_running = 1;
	CHECK_EQ(may_move(1, buddy), 0);
	cpus[4].next = 0;
	CHECK_EQ(may_move(1, last_buddy), 0);
	cpus[4].last = 0;
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

	one_busy(612, 2);
	b = lb_find(0, 1, FG_CPU_IDLE);
	CHECK(b.flags & FG_LB_ALL_PINNED);
	CHECK_EQ(fg_can_migrate_task(&sys, &b, &lb_task[0]), 0);
	CHECK_EQ(b.flags & FG_LB_ALL_PINNED, 0);
}

TEST(per_cpu_kthreads_are_nobodys_pinned_task_since_v512)
{
	for (u32 version = 511; version <= 512; version++) {
		struct fg_balance b;

		one_busy(version, 2);
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

		one_busy(514, 2);
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

		one_busy(version, 2);
		lb_task[1].avg.load_avg = 0;
		b = lb_find(0, 1, FG_CPU_IDLE);
		b.migration = FG_MIGRATE_LOAD;
		b.imbalance = 5;
		CHECK_EQ(fg_detach_task(&sys, &b, &lb_task[1]), 1);
		CHECK_EQ(b.imbalance, version == 507 ? 4 : 5);
	}
}

/* ---- queues ---- */

/* Which CPU of 4 to 7 gives this kind. */
static s32 queue_for(u32 migration, s64 amount)
{
	struct fg_balance b = lb_find(0, 1, FG_CPU_IDLE);
	const struct fg_cpu *src;

	b.busiest = top(0)->groups->next;
	b.migration = migration;
	b.imbalance = amount;
	src = find_busiest_queue(&sys, &b);
	return src ? src->id : -1;
}

TEST(the_queue_that_has_most_of_what_is_moved)
{
	lb_packages(2, 125, 507);
	for (u32 c = 4; c < 8; c++)
		lb_state(c, 2, 100 * c, 1000 - 100 * c);
	CHECK_EQ(queue_for(FG_MIGRATE_LOAD, 50), 7);
	CHECK_EQ(queue_for(FG_MIGRATE_UTIL, 50), 4);
	/* all have two: the first */
	CHECK_EQ(queue_for(FG_MIGRATE_TASK, 1), 4);
	cpus[5].h_nr_running = 3;
	CHECK_EQ(queue_for(FG_MIGRATE_TASK, 1), 5);
	CHECK_EQ(queue_for(FG_MIGRATE_MISFIT, 1), -1);
	cpus[6].misfit_task_load = 1;
	CHECK_EQ(queue_for(FG_MIGRATE_MISFIT, 1), 6);
	/* load for capacity: 400/512 against 700/1024 */
	cpus[4].cpu_capacity = 512;
	CHECK_EQ(queue_for(FG_MIGRATE_LOAD, 50), 4);
}

TEST(a_lone_task_with_too_much_load_is_no_source)
{
	lb_packages(2, 125, 612);
	lb_state(4, 1, 600, 600);
	lb_state(5, 2, 500, 500);
	CHECK_EQ(queue_for(FG_MIGRATE_LOAD, 599), 5);
	CHECK_EQ(queue_for(FG_MIGRATE_LOAD, 600), 4);
	/* unless its CPU has lost capacity */
	cpus[4].cpu_capacity = 819;
	CHECK_EQ(queue_for(FG_MIGRATE_LOAD, 599), 4);
	/* utilization of a lone task is none since v5.7 */
	CHECK_EQ(queue_for(FG_MIGRATE_UTIL, 1), 5);
	lb_version(506);
	CHECK_EQ(queue_for(FG_MIGRATE_UTIL, 1), 4);
}

TEST(waiting_counts_as_utilization_since_v65)
{
	lb_packages(2, 125, 605);
	lb_state(4, 2, 100, 300);
	lb_state(5, 2, 100, 200);
	cpus[5].cfs.runnable_avg = 400;
	CHECK_EQ(queue_for(FG_MIGRATE_UTIL, 1), 5);
	lb_version(603);
	CHECK_EQ(queue_for(FG_MIGRATE_UTIL, 1), 4);
}

TEST(blocked_load_alone_is_no_source_since_v514)
{
	lb_packages(2, 125, 513);
	lb_state(4, 0, 900, 0);
	lb_state(5, 2, 800, 0);
	CHECK_EQ(queue_for(FG_MIGRATE_LOAD, 500), 4);
	lb_version(514);
	CHECK_EQ(queue_for(FG_MIGRATE_LOAD, 500), 5);
	lb_state(5, 0, 800, 0);
	CHECK_EQ(queue_for(FG_MIGRATE_LOAD, 500), -1);
}

TEST(v54_takes_the_queue_of_the_misfit)
{
	struct fg_balance b;

	lb_packages(2, 125, 504);
	lb_state(4, 2, 100, 100);
	lb_state(5, 3, 100, 100);
	cpus[4].misfit_task_load = 7;
	cpus[4].queued.load_avg = 100;
	cpus[5].queued.load_avg = 900;
	b = lb_find(0, 1, FG_CPU_IDLE);
	b.busiest = top(0)->groups->next;
	b.migration = FG_MIGRATE_LOAD;
	b.imbalance = 500;
	b.src_type = group_misfit_task;
	CHECK_EQ(find_busiest_queue(&sys, &b)->id, 4);
	b.src_type = group_overloaded;
	CHECK_EQ(find_busiest_queue(&sys, &b)->id, 5);
}

TEST(a_lone_task_does_not_go_to_a_cpu_that_is_not_bigger)
{
	lb_packages(2, 125, 513);
	lb_flags(1, FG_SD_ASYM_CPUCAPACITY, 0);
	lb_state(4, 1, 100, 100);
	cpus[0].cpu_capacity = 1000;
	CHECK_EQ(queue_for(FG_MIGRATE_TASK, 1), -1);
	cpus[4].cpu_capacity = 1000;
	CHECK_EQ(queue_for(FG_MIGRATE_TASK, 1), 4);
	/* v5.14: 5 % bigger: 1000 against 949 */
	lb_version(514);
	CHECK_EQ(queue_for(FG_MIGRATE_TASK, 1), -1);
	cpus[4].cpu_capacity = 949;
	CHECK_EQ(queue_for(FG_MIGRATE_TASK, 1), 4);
	cpus[4].cpu_capacity = 950;
	CHECK_EQ(queue_for(FG_MIGRATE_TASK, 1), -1);
	cpus[4].h_nr_running = 2;
	CHECK_EQ(queue_for(FG_MIGRATE_TASK, 1), 4);
}

TEST(a_preferred_cpu_keeps_its_lone_task_since_v516)
{
	lb_packages(2, 125, 515);
	lb_flags(1, FG_SD_ASYM_PACKING, 0);
	lb_state(1, 1, 100, 100);
	for (u32 version = 515; version <= 605; version += version == 516 ? 89 : 1) {
		struct fg_balance b;

		lb_version(version);
		b = lb_find(4, 1, FG_CPU_IDLE);
		b.busiest = top(4)->groups->next;
		b.migration = FG_MIGRATE_TASK;
		CHECK_EQ(find_busiest_queue(&sys, &b) != 0, version == 515);
		/* v6.5: with a busy sibling it may be helped */
		mask_set(&cpus[1].core, 2);
		kit_busy(2);
		cpus[2].h_nr_running = 0;
		CHECK_EQ(find_busiest_queue(&sys, &b) != 0, version != 516);
		kit_idle(2);
		mask_clear(&cpus[1].core, 2);
	}
}

/* ---- affinity ---- */

TEST(what_may_not_run_here_goes_to_a_neighbour)
{
	struct lb_report r;

	/* the tasks of CPU 4 may run on 1 and there */
	one_busy(612, 4);
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
	one_busy(612, 4);
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
	one_busy(612, 6);
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

	one_busy(612, 4);
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
	/* newly idle balancing has no interval */
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
	up = top(0)->groups;
	lb_queue(1, 4, 100);
	for (u32 i = 1; i < 4; i++)
		kit_allow(&lb_task[i], 1, 1);
	/* the running one could, so not all are pinned */
	CHECK_EQ(lb_attempt(0, 0, FG_CPU_IDLE).moved, 0);
	CHECK_EQ(up->imbalance, 1);
	CHECK_EQ(top(4)->groups->next, up);
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
	CHECK_EQ(top(0)->groups->imbalance, 0);
}

TEST(pinned_on_every_queue_keeps_the_flag)
{
	lb_packages(2, 125, 612);
	lb_queue(1, 4, 100);
	for (u32 i = 0; i < 4; i++)
		kit_allow(&lb_task[i], 1, 1);
	/* after the pinned queue nothing else is found: the look that fails leaves the flag */
	lb_attempt(0, 0, FG_CPU_IDLE);
	CHECK_EQ(top(0)->groups->imbalance, 1);
}

/* ---- failures and intervals ---- */

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
	top(1)->nr_balance_failed = 3;
	CHECK_RULE(lb_attempt(1, 1, FG_CPU_IDLE), NOT_OURS);
	CHECK_EQ(top(1)->balance_interval, 16);
	CHECK_EQ(top(1)->nr_balance_failed, 0);
}

TEST(what_moved_ends_the_failures)
{
	one_busy(612, 4);
	top(0)->nr_balance_failed = 3;
	top(0)->balance_interval = 16;
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).moved, 2);
	CHECK_EQ(top(0)->nr_balance_failed, 0);
	CHECK_EQ(top(0)->balance_interval, top(0)->min_interval);
}

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
		top(0)->balance_interval = 16;
		for (u32 failed = 1; failed <= 3; failed++) {
			r = lb_attempt(0, 1, FG_CPU_IDLE);
			CHECK_RULE(r, SIBLING);
			CHECK_EQ(r.active, 0);
			CHECK_EQ(top(0)->nr_balance_failed, failed);
			CHECK_EQ(top(0)->balance_interval, 8);
		}
		/* 4 > 1 + 2 */
		r = lb_attempt(0, 1, FG_CPU_IDLE);
		CHECK_EQ(r.active, 1);
		CHECK_EQ(r.moved, 0);
		CHECK_EQ(cpus[4].active_balance, 1);
		CHECK_EQ(cpus[4].push_cpu, 0);
		CHECK_EQ(top(0)->nr_balance_failed, version == 512 ? 4 : 2);
		/* up to v5.11 force is followed by a pause */
		CHECK_EQ(top(0)->balance_interval, version == 512 ? 8 : 16);
		/* one at a time */
		top(0)->nr_balance_failed = 9;
		CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).active, 0);
		CHECK_EQ(top(0)->balance_interval, 8);
		/* heat is no matter, and success ends the failures */
		lb_task[0].exec_start = cpus[4].clock_task;
		CHECK_EQ(lb_stopper(4), 0);
		CHECK_EQ(lb_task[0].cpu, 0);
		CHECK_EQ(cpus[4].active_balance, 0);
		CHECK_EQ(top(0)->nr_balance_failed, 0);
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
	top(0)->nr_balance_failed = 3;
	top(0)->balance_interval = 16;
	CHECK_EQ(top(0)->max_interval, 16);
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).active, 1);
	CHECK_EQ(top(0)->balance_interval, 16);
}

TEST(an_idle_task_is_not_pushed)
{
	two_running(612);
	cpus[4].curr = 0;
	top(0)->nr_balance_failed = 9;
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).active, 0);
}

TEST(who_is_pushed_comes_to_who_balances)
{
	struct fg_balance b;

	/* though the last tasks were looked at for CPU 1 */
	two_running(612);
	b = lb_find(0, 1, FG_CPU_IDLE);
	b.dst_cpu = 1;
	top(0)->nr_balance_failed = 9;
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
		top(0)->nr_balance_failed = 5;
		r = lb_attempt(0, 1, FG_CPU_IDLE);
		CHECK_EQ(r.migration, FG_MIGRATE_UTIL);
		CHECK_EQ(r.moved, 0);
		CHECK_EQ(r.active, version == 511);
	}
}

TEST(newly_idle_failures_do_not_count)
{
	two_running(612);
	lb_attempt(0, 1, FG_CPU_NEWLY_IDLE);
	CHECK_EQ(top(0)->nr_balance_failed, 0);
}

TEST(a_running_task_that_may_not_come_is_not_pushed)
{
	for (u32 version = 511; version <= 512; version++) {
		struct lb_report r;

		two_running(version);
		kit_allow(&lb_task[0], 4, 7);
		top(0)->nr_balance_failed = 6;
		top(0)->balance_interval = 32;
		r = lb_attempt(0, 1, FG_CPU_IDLE);
		CHECK_EQ(r.active, 0);
		CHECK_EQ(r.moved, 0);
		CHECK_EQ(cpus[4].active_balance, 0);
		CHECK_EQ(top(0)->nr_balance_failed, 7);
		/* beyond the maximum of 16: a lone pinned task counts as all pinned */
		CHECK_EQ(top(0)->balance_interval, 64);
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
		/* here it is no better */
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
		CHECK_EQ(top(4)->nr_balance_failed, version == 609);
		/* it may not come: the interval */
		cpus[0].active_balance = 0;
		kit_allow(&lb_task[0], 0, 3);
		top(4)->balance_interval = 8;
		CHECK_EQ(lb_attempt(4, 1, FG_CPU_IDLE).active, 0);
		CHECK_EQ(top(4)->balance_interval, version == 609 ? 16 : 8);
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

/* ---- newly idle ---- */

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
	lb_with(FG_NI_RANDOM);
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
	RUN(the_queue_that_has_most_of_what_is_moved);
	RUN(a_lone_task_with_too_much_load_is_no_source);
	RUN(waiting_counts_as_utilization_since_v65);
	RUN(blocked_load_alone_is_no_source_since_v514);
	RUN(v54_takes_the_queue_of_the_misfit);
	RUN(a_lone_task_does_not_go_to_a_cpu_that_is_not_bigger);
	RUN(a_preferred_cpu_keeps_its_lone_task_since_v516);
	RUN(what_may_not_run_here_goes_to_a_neighbour);
	RUN(each_neighbour_is_tried_once);
	RUN(a_pinned_queue_gives_way_to_the_next);
	RUN(all_pinned_waits_longer_than_balanced);
	RUN(affinity_in_the_way_is_told_one_level_up);
	RUN(affinity_that_was_not_in_the_way_is_not_told);
	RUN(pinned_on_every_queue_keeps_the_flag);
	RUN(a_balanced_domain_waits_twice_as_long);
	RUN(what_moved_ends_the_failures);
	RUN(the_fourth_failure_pushes_the_running_task);
	RUN(the_stopper_ignores_heat_since_v512);
	RUN(force_by_failures_stretches_the_interval_to_its_maximum);
	RUN(an_idle_task_is_not_pushed);
	RUN(who_is_pushed_comes_to_who_balances);
	RUN(since_v512_force_needs_tasks_to_be_counted);
	RUN(newly_idle_failures_do_not_count);
	RUN(a_running_task_that_may_not_come_is_not_pushed);
	RUN(a_squeezed_lone_task_is_pushed_at_once);
	RUN(packing_pushes_off_a_busy_core_whoever_is_preferred_since_v65);
	RUN(packing_pushes_at_once);
	RUN(a_misfit_without_success_keeps_the_pace_since_v610);
	RUN(the_stopper_finds_things_changed);
	RUN(newly_idle_balancing_ends_when_something_came);
	RUN(newly_idle_balancing_by_its_success);
	return test_report();
}
