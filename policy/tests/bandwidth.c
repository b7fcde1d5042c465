/* SPDX-License-Identifier: GPL-2.0-only */
/* Bandwidth of groups (cpu.max): slices, throttled queues, the timers. */
#include "group_kit.h"

#define QUOTA (10 * MS)
#define PERIOD (100 * MS)

static struct fg_tg_cpu inner_parts[FG_NR_CPUS];
static struct fg_tg nested[2];
static struct fg_task task;

static void limit(struct fg_tg *group, u64 quota)
{
	group->bandwidth = (struct fg_bandwidth){ .quota = quota, .period = PERIOD, .expires = START + PERIOD / 2 };
	fg_tg_start_bandwidth(&sys, group, START);
}

static void begin_limited(u64 quota)
{
	begin(kit_preset_v612);
	limit(&tg, quota);
	task = sleeper();
}

static void pass(u64 ns)
{
	rq->clock += ns;
	rq->clock_task += ns;
	rq->clock_pelt += ns;
}

static void run(struct fg_task *p)
{
	fg_set_next_entity(&sys, rq, p, 1);
}

static u32 charge(struct fg_tg *group, u64 ns)
{
	pass(ns);
	return fg_tg_update_curr(&sys, rq, group, 0);
}

/* The task has had the whole quota and a bit more, and the group is throttled. */
static void use_up(void)
{
	begin_limited(QUOTA);
	enqueue(&task);
	run(&task);
	CHECK_EQ(charge(&tg, 6 * MS), FG_PICK_RULE_NONE);
	CHECK_EQ(charge(&tg, 6 * MS), FG_PICK_RULE_QUOTA);
	CHECK_EQ(fg_tg_throttle(&sys, rq, &tg), 1);
}

TEST(a_queue_takes_slices_from_the_pool)
{
	begin_limited(QUOTA);
	CHECK_EQ(tg.bandwidth.runtime, QUOTA);
	CHECK_EQ(tg.bandwidth.asked & tg.bandwidth.period_active, 1);
	CHECK_EQ(tg.bandwidth.expires, START + PERIOD / 2);

	enqueue(&task);
	CHECK_EQ(part->runtime_remaining, 5 * MS);
	CHECK_EQ(tg.bandwidth.runtime, 5 * MS);
	run(&task);
	/* What it owes, and a slice: but there is no more than 5 ms. */
	CHECK_EQ(charge(&tg, 6 * MS), FG_PICK_RULE_NONE);
	CHECK_EQ(part->runtime_remaining, 4 * MS);
	CHECK_EQ(tg.bandwidth.runtime, 0);
	CHECK_EQ(fg_tg_throttle(&sys, rq, &tg), 0);
}

TEST(without_a_quota_nothing_is_counted)
{
	begin(kit_preset_v612);
	task = sleeper();
	enqueue(&task);
	run(&task);
	charge(&tg, 50 * MS);
	CHECK_EQ(part->runtime_remaining, 0);
	CHECK_EQ(fg_tg_throttle(&sys, rq, &tg), 0);
	CHECK_EQ(tg.bandwidth.period_active, 0);
}

TEST(a_group_without_quota_leaves_with_its_tasks)
{
	struct fg_task other;

	use_up();
	CHECK_EQ(part->runtime_remaining, -(s64)(2 * MS));
	CHECK_EQ(entity->on_rq, 0);
	CHECK_EQ(rq->nr_running, 0);
	CHECK_EQ(rq->h_nr_running, 0);
	CHECK_EQ(rq->nr_nested, 0);
	CHECK_EQ(rq->fair.load_weight, 0);
	CHECK_EQ(part->throttled & part->throttle_count, 1);
	/* The task stays where it is. */
	CHECK_EQ(task.on_rq, 1);
	CHECK_EQ(part->h_nr_running, 1);

	/* Who joins it and leaves it meanwhile does not count either. */
	other = sleeper();
	enqueue(&other);
	CHECK_EQ(part->h_nr_running, 2);
	CHECK_EQ(rq->nr_running + rq->h_nr_running, 0);
	CHECK_EQ(fg_check_preempt_wakeup(&sys, rq, &other, 0, 0), FG_PICK_RULE_WAKE_THROTTLED);
	fg_dequeue_entity(&sys, rq, &other, FG_DEQUEUE_MOVE);
	CHECK_EQ(part->h_nr_running, 1);
	CHECK_EQ(rq->nr_running + rq->h_nr_running, 0);
}

TEST(a_period_pays_the_debt_and_lets_it_go_on)
{
	u64 load;

	use_up();
	fg_put_prev_entity(&sys, rq, &task);
	fg_tg_put_prev(&sys, rq, &tg);
	load = part->avg.load_sum;
	CHECK_EQ(fg_period_forward(&tg.bandwidth, START + PERIOD / 2 - 1), 0);
	CHECK_EQ(fg_period_forward(&tg.bandwidth, START + PERIOD / 2), 1);
	CHECK_EQ(tg.bandwidth.expires, START + PERIOD + PERIOD / 2);
	CHECK_EQ(fg_period_begin(&tg.bandwidth), 1);
	CHECK_EQ(fg_tg_hand_out(rq, &tg), 1);
	CHECK_EQ(part->runtime_remaining, 1);
	CHECK_EQ(tg.bandwidth.runtime, QUOTA - 2 * MS - 1);

	pass(40 * MS);
	fg_tg_unthrottle(&sys, rq, &tg);
	CHECK_EQ(part->throttled | part->throttle_count, 0);
	CHECK_EQ(tg.bandwidth.nr_throttled, 0);
	CHECK_EQ(entity->on_rq, 1);
	CHECK_EQ(rq->nr_running, 1);
	CHECK_EQ(rq->h_nr_running, 1);
	CHECK_EQ(rq->nr_nested, 0);
	/* Its signals stood meanwhile. */
	CHECK_EQ(part->throttled_clock_pelt_time, 40 * MS);
	age_group_queue(&sys, rq, part);
	CHECK_EQ(part->avg.load_sum, load);
	pass(10 * MS);
	age_group_queue(&sys, rq, part);
	CHECK(part->avg.load_sum > load);
}

TEST(a_debt_beyond_the_pool_waits_for_another_period)
{
	use_up();
	part->runtime_remaining = -(s64)(QUOTA + MS);
	fg_period_begin(&tg.bandwidth);
	CHECK_EQ(fg_tg_hand_out(rq, &tg), 0);
	CHECK_EQ(tg.bandwidth.runtime, 0);
	fg_period_begin(&tg.bandwidth);
	CHECK_EQ(fg_tg_hand_out(rq, &tg), 1);
	CHECK_EQ(part->runtime_remaining, 1);
}

/* A task that wakes into an empty pool: its group is not even queued. */
TEST(a_group_that_wakes_without_quota_is_throttled_at_once)
{
	begin_limited(QUOTA);
	tg.bandwidth.runtime = 0;
	enqueue(&task);
	CHECK_EQ(part->throttled, 1);
	CHECK_EQ(part->h_nr_running, 1);
	CHECK_EQ(entity->on_rq, 0);
	CHECK_EQ(rq->nr_running + rq->h_nr_running, 0);
	fg_period_begin(&tg.bandwidth);
	CHECK_EQ(fg_tg_hand_out(rq, &tg), 1);
	fg_tg_unthrottle(&sys, rq, &tg);
	CHECK_EQ(rq->nr_running & rq->h_nr_running & entity->on_rq, 1);
}

/* A sleeping group keeps 1 ms. */
static void fall_asleep_after(u64 ns)
{
	enqueue(&task);
	run(&task);
	charge(&tg, ns);
	fg_dequeue_entity(&sys, rq, &task, FG_DEQUEUE_SLEEP | FG_DEQUEUE_SPECIAL);
	CHECK_EQ(part->runtime_remaining, MS);
}

TEST(an_empty_queue_gives_its_runtime_back)
{
	begin_limited(QUOTA);
	fall_asleep_after(MS);
	CHECK_EQ(tg.bandwidth.runtime, QUOTA - 2 * MS);
	CHECK_EQ(tg.bandwidth.slack_active, 0);
}

TEST(slack_is_distributed_5_ms_later_if_somebody_waits)
{
	begin_limited(QUOTA);
	tg.bandwidth.nr_throttled = 1;
	fall_asleep_after(MS);
	CHECK_EQ(tg.bandwidth.slack_active, 1);
	CHECK_EQ(tg.bandwidth.slack_expires, rq->clock + 5 * MS);
	CHECK_EQ(fg_slack_due(&tg.bandwidth, tg.bandwidth.slack_expires), 1);
	CHECK_EQ(tg.bandwidth.slack_active, 0);
	/* 5 ms are not enough. */
	tg.bandwidth.runtime = 5 * MS;
	CHECK_EQ(fg_slack_due(&tg.bandwidth, rq->clock), 0);
	/* The period is nearly over: 2 ms. */
	tg.bandwidth.runtime = QUOTA;
	CHECK_EQ(fg_slack_due(&tg.bandwidth, tg.bandwidth.expires - 2 * MS), 1);
	CHECK_EQ(fg_slack_due(&tg.bandwidth, tg.bandwidth.expires - 2 * MS + 1), 0);
}

/* 5 ms until the timer and 2 ms from then until the end of the period, 49 ms from here. */
TEST(slack_near_the_end_of_a_period_waits_for_it)
{
	begin_limited(QUOTA);
	tg.bandwidth.nr_throttled = 1;
	pass(42 * MS + 1);
	fall_asleep_after(MS);
	CHECK_EQ(tg.bandwidth.slack_active, 0);
}

TEST(a_burst_is_what_earlier_periods_left)
{
	begin_limited(QUOTA);
	tg.bandwidth.burst = 4 * MS;
	fg_period_begin(&tg.bandwidth);
	CHECK_EQ(tg.bandwidth.runtime, QUOTA + 4 * MS);
	tg.bandwidth.runtime = MS;
	fg_period_begin(&tg.bandwidth);
	CHECK_EQ(tg.bandwidth.runtime, QUOTA + MS);
}

TEST(the_period_timer_stops_when_nobody_asks)
{
	begin_limited(QUOTA);
	tg.bandwidth.asked = 0;
	fg_period_begin(&tg.bandwidth);
	CHECK_EQ(tg.bandwidth.period_active, 1);
	fg_period_begin(&tg.bandwidth);
	CHECK_EQ(tg.bandwidth.period_active, 0);
	/* And is set anew, where its periods are. */
	pass(777 * MS);
	enqueue(&task);
	CHECK_EQ(tg.bandwidth.period_active & tg.bandwidth.asked, 1);
	CHECK_EQ(tg.bandwidth.expires, START + 850 * MS);
}

/* A group within the limited one, with the task. */
static void begin_nested(u64 outer, u64 inner)
{
	begin(kit_preset_v612);
	memset(inner_parts, 0, sizeof(inner_parts));
	nested[0] = (struct fg_tg){ .cpus = inner_parts, .shares = 1024 * 1024, .parent = &nested[1], .depth = 1 };
	nested[1] = tg;
	sys.tgs = nested;
	sys.nr_tgs = 2;
	fg_tg_init(&sys, &nested[0]);
	fg_tg_init(&sys, &nested[1]);
	inner_parts[1].avg.last_update = inner_parts[1].entity.avg.last_update = START;
	limit(&nested[1], outer);
	limit(&nested[0], inner);
	task = sleeper();
	task.tg = &nested[0];
	enqueue(&task);
}

TEST(a_group_that_is_the_last_of_another_takes_it_along)
{
	begin_nested(QUOTA, 5 * MS);
	CHECK_EQ(rq->h_nr_running, 1);
	run(&task);
	CHECK_EQ(charge(&nested[0], 5 * MS), FG_PICK_RULE_QUOTA);
	CHECK_EQ(fg_tg_update_curr(&sys, rq, &nested[1], 0), FG_PICK_RULE_NONE);
	CHECK_EQ(fg_tg_throttle(&sys, rq, &nested[1]), 0);
	CHECK_EQ(fg_tg_throttle(&sys, rq, &nested[0]), 1);
	CHECK_EQ(inner_parts[1].h_nr_running, 1);
	CHECK_EQ(part->h_nr_running + rq->h_nr_running + rq->nr_running, 0);
	CHECK_EQ(inner_parts[1].entity.on_rq | entity->on_rq, 0);
	CHECK_EQ(inner_parts[1].throttle_count, 1);
	CHECK_EQ(part->throttle_count, 0);
	/* The outer one is empty: it gave back all but 1 ms of its slices, of which 5 ms were used. */
	CHECK_EQ(part->runtime_remaining, MS);
	CHECK_EQ(nested[1].bandwidth.runtime, QUOTA - 6 * MS);
}

TEST(a_group_within_a_throttled_one_stands_still_and_goes_on_with_it)
{
	begin_nested(5 * MS, QUOTA);
	run(&task);
	charge(&nested[0], 5 * MS);
	CHECK_EQ(fg_tg_update_curr(&sys, rq, &nested[1], 0), FG_PICK_RULE_QUOTA);
	CHECK_EQ(fg_tg_throttle(&sys, rq, &nested[1]), 1);
	CHECK_EQ(inner_parts[1].entity.on_rq, 1);
	CHECK_EQ(entity->on_rq, 0);
	CHECK_EQ(inner_parts[1].throttle_count & part->throttle_count, 1);
	CHECK_EQ(part->h_nr_running, 1);
	CHECK_EQ(rq->h_nr_running + rq->nr_running, 0);
	/* Throttled as well, it is so twice. */
	nested[0].bandwidth.runtime = 0;
	inner_parts[1].runtime_remaining = 0;
	CHECK_EQ(fg_tg_throttle(&sys, rq, &nested[0]), 1);
	CHECK_EQ(inner_parts[1].throttle_count, 2);
	CHECK_EQ(part->h_nr_running, 0);
	/* The outer one has nothing to go on with. */
	fg_tg_unthrottle(&sys, rq, &nested[1]);
	CHECK_EQ(inner_parts[1].throttle_count, 1);
	CHECK_EQ(entity->on_rq + rq->nr_running, 0);
	fg_tg_unthrottle(&sys, rq, &nested[0]);
	CHECK_EQ(inner_parts[1].throttle_count + part->throttle_count, 0);
	CHECK_EQ(entity->on_rq & inner_parts[1].entity.on_rq & rq->nr_running & rq->h_nr_running, 1);
}

TEST(sched_idle_tasks_of_a_throttled_group_are_counted_as_such_again)
{
	struct fg_task idle;

	begin_limited(QUOTA);
	idle = sleeper();
	idle.policy = FG_SCHED_IDLE;
	enqueue(&task);
	enqueue(&idle);
	CHECK_EQ(rq->idle_h_nr_running, 1);
	part->runtime_remaining = 0;
	tg.bandwidth.runtime = 0;
	CHECK_EQ(fg_tg_throttle(&sys, rq, &tg), 1);
	CHECK_EQ(rq->idle_h_nr_running + rq->nr_running, 0);
	CHECK_EQ(part->idle_h_nr_running, 1);
	fg_tg_unthrottle(&sys, rq, &tg);
	CHECK_EQ(rq->idle_h_nr_running, 1);
	CHECK_EQ(rq->nr_running, 2);
}

TEST(tasks_of_a_throttled_group_are_not_balanced)
{
	struct fg_domain sd = { .nr_balance_failed = 1 };
	struct fg_balance b = { .sd = &sd, .src_cpu = 1, .dst_cpu = 0 };

	begin_limited(QUOTA);
	enqueue(&task);
	task.allowed.bits[0] = 3;
	CHECK_EQ(fg_can_migrate_task(&sys, &b, &task), 1);
	part->throttle_count = 1;
	CHECK_EQ(fg_can_migrate_task(&sys, &b, &task), 0);
	part->throttle_count = 0;
	parts[0].throttle_count = 1;
	CHECK_EQ(fg_can_migrate_task(&sys, &b, &task), 0);
}

/* The same where tasks leave one by one. */
static void begin_by_task(u8 form, u64 quota)
{
	begin(kit_preset_v612);
	sys.feat.value[FG_THROTTLE] = form;
	limit(&tg, quota);
	task = sleeper();
	enqueue(&task);
	run(&task);
}

TEST(a_marked_queue_keeps_its_tasks)
{
	begin_by_task(FG_THROTTLE_TASK, QUOTA);
	/* It begins with 1 ns. */
	CHECK_EQ(part->runtime_remaining, 1);
	CHECK_EQ(charge(&tg, 6 * MS), FG_PICK_RULE_NONE);
	CHECK_EQ(charge(&tg, 6 * MS), FG_PICK_RULE_QUOTA);
	CHECK_EQ(fg_tg_throttle(&sys, rq, &tg), 1);
	CHECK_EQ(part->throttled & part->throttle_count, 1);
	CHECK_EQ(entity->on_rq & rq->nr_running & rq->h_nr_running, 1);
	CHECK_EQ(part->pelt_clock_throttled, 0);
	CHECK_EQ(task.flags & FG_TASK_THROTTLE_WORK, 0);
	fg_plan_throttle(&sys, &task);
	CHECK(task.flags & FG_TASK_THROTTLE_WORK);
}

TEST(signals_stand_once_nothing_is_left_in_a_marked_queue)
{
	struct fg_task other;

	begin_by_task(FG_THROTTLE_TASK, QUOTA);
	charge(&tg, QUOTA + MS);
	CHECK_EQ(fg_tg_throttle(&sys, rq, &tg), 1);
	fg_dequeue_entity(&sys, rq, &task, FG_DEQUEUE_SLEEP | FG_DEQUEUE_SPECIAL);
	CHECK_EQ(rq->nr_running + rq->h_nr_running + entity->on_rq, 0);
	CHECK_EQ(part->pelt_clock_throttled, 1);
	pass(30 * MS);
	/* Who wakes in it is queued, until it is picked. */
	other = sleeper();
	enqueue(&other);
	CHECK_EQ(part->pelt_clock_throttled, 0);
	CHECK_EQ(part->throttled_clock_pelt_time, 30 * MS);
	CHECK_EQ(entity->on_rq & rq->nr_running, 1);
}

TEST(a_charge_marks_and_plans_early)
{
	begin_by_task(FG_THROTTLE_EARLY, QUOTA);
	CHECK_EQ(charge(&tg, 6 * MS), FG_PICK_RULE_NONE);
	/* What it owes, and as much of a slice as there is. */
	CHECK_EQ(part->runtime_remaining, 4 * MS + 1);
	CHECK_EQ(task.flags & FG_TASK_THROTTLE_WORK, 0);
	CHECK_EQ(charge(&tg, 6 * MS), FG_PICK_RULE_NONE);
	CHECK_EQ(part->throttled & rq->nr_running, 1);
	CHECK(task.flags & FG_TASK_THROTTLE_WORK);
}

TEST(who_becomes_current_in_a_throttled_group_leaves_early)
{
	struct fg_task other, kthread;

	begin_by_task(FG_THROTTLE_EARLY, QUOTA);
	charge(&tg, QUOTA + MS);
	CHECK_EQ(part->throttled, 1);
	other = kthread = sleeper();
	kthread.flags = FG_TASK_PERCPU_KTHREAD;
	enqueue(&other);
	enqueue(&kthread);
	fg_put_prev_entity(&sys, rq, &task);
	run(&other);
	CHECK(other.flags & FG_TASK_THROTTLE_WORK);
	fg_put_prev_entity(&sys, rq, &other);
	run(&kthread);
	CHECK_EQ(kthread.flags & FG_TASK_THROTTLE_WORK, 0);
}

TEST(with_flat_pick_all_groups_of_the_task_are_charged)
{
	begin_nested(QUOTA, QUOTA / 2);
	sys.feat.value[FG_THROTTLE] = FG_THROTTLE_EARLY;
	sys.feat.value[FG_FLAT_PICK] = 1;
	run(&task);
	pass(2 * MS);
	fg_update_curr(&sys, rq, 0);
	CHECK_EQ(inner_parts[1].runtime_remaining, 3 * MS);
	CHECK_EQ(part->runtime_remaining, 3 * MS);
	pass(4 * MS);
	fg_update_curr(&sys, rq, 0);
	CHECK_EQ(inner_parts[1].throttled, 1);
	CHECK_EQ(part->throttled, 0);
}

TEST(what_is_handed_out_may_be_used_up_before_it_arrives)
{
	begin_by_task(FG_THROTTLE_TASK, QUOTA);
	charge(&tg, QUOTA + MS);
	fg_tg_throttle(&sys, rq, &tg);
	fg_period_begin(&tg.bandwidth);
	CHECK_EQ(fg_tg_hand_out(rq, &tg), 1);
	charge(&tg, MS);
	CHECK_EQ(fg_tg_unthrottle(&sys, rq, &tg), 0);
	CHECK_EQ(part->throttled, 1);
	CHECK_EQ(fg_tg_hand_out(rq, &tg), 1);
	CHECK_EQ(fg_tg_unthrottle(&sys, rq, &tg), 1);
	CHECK_EQ(part->throttled + part->throttle_count, 0);
	CHECK_EQ(rq->nr_running & entity->on_rq, 1);
}

TEST(tasks_may_leave_a_cpu_where_their_group_is_marked)
{
	struct fg_domain sd = { .nr_balance_failed = 1 };
	struct fg_balance b = { .sd = &sd, .src_cpu = 1, .dst_cpu = 0 };

	begin_limited(QUOTA);
	sys.feat.value[FG_THROTTLE] = FG_THROTTLE_TASK;
	enqueue(&task);
	task.allowed.bits[0] = 3;
	part->throttle_count = 1;
	CHECK_EQ(fg_can_migrate_task(&sys, &b, &task), 1);
	parts[0].throttle_count = 1;
	CHECK_EQ(fg_can_migrate_task(&sys, &b, &task), 0);
}

TEST(slack_of_a_slice_is_not_worth_a_timer)
{
	begin_limited(QUOTA);
	tg.bandwidth.nr_throttled = 1;
	/* 5 ms in the pool, and 3 ms of the other 5 left: 2 of them come back. */
	tg.bandwidth.runtime = 8 * MS;
	fall_asleep_after(2 * MS);
	CHECK_EQ(tg.bandwidth.runtime, 5 * MS);
	CHECK_EQ(tg.bandwidth.slack_active, 0);
}

TEST(tasks_of_a_throttled_idle_group_count_as_such_above_it)
{
	begin_limited(QUOTA);
	tg.idle = 1;
	enqueue(&task);
	CHECK_EQ(rq->idle_h_nr_running, 1);
	CHECK_EQ(part->idle_h_nr_running, 0);
	part->runtime_remaining = 0;
	tg.bandwidth.runtime = 0;
	CHECK_EQ(fg_tg_throttle(&sys, rq, &tg), 1);
	CHECK_EQ(rq->idle_h_nr_running, 0);
	fg_tg_unthrottle(&sys, rq, &tg);
	CHECK_EQ(rq->idle_h_nr_running, 1);
}

/* The outer group gave back all but 1 ms when the inner one left it; by now it has used that, and others the pool. */
TEST(a_group_that_goes_on_may_find_the_one_around_it_without_quota)
{
	begin_nested(QUOTA, 5 * MS);
	run(&task);
	charge(&nested[0], 5 * MS);
	fg_tg_update_curr(&sys, rq, &nested[1], 0);
	CHECK_EQ(fg_tg_throttle(&sys, rq, &nested[0]), 1);
	fg_put_prev_entity(&sys, rq, &task);
	fg_tg_put_prev(&sys, rq, &nested[0]);
	fg_tg_put_prev(&sys, rq, &nested[1]);
	part->runtime_remaining = 0;
	nested[1].bandwidth.runtime = 0;
	fg_period_begin(&nested[0].bandwidth);
	CHECK_EQ(fg_tg_hand_out(rq, &nested[0]), 1);
	fg_tg_unthrottle(&sys, rq, &nested[0]);
	CHECK_EQ(inner_parts[1].throttled, 0);
	CHECK_EQ(inner_parts[1].entity.on_rq & part->throttled & part->h_nr_running, 1);
	CHECK_EQ(inner_parts[1].throttle_count, 1);
	CHECK_EQ(entity->on_rq + rq->nr_running + rq->h_nr_running, 0);
}

int main(void)
{
	RUN(a_queue_takes_slices_from_the_pool);
	RUN(without_a_quota_nothing_is_counted);
	RUN(a_group_without_quota_leaves_with_its_tasks);
	RUN(a_period_pays_the_debt_and_lets_it_go_on);
	RUN(a_debt_beyond_the_pool_waits_for_another_period);
	RUN(a_group_that_wakes_without_quota_is_throttled_at_once);
	RUN(an_empty_queue_gives_its_runtime_back);
	RUN(slack_is_distributed_5_ms_later_if_somebody_waits);
	RUN(slack_near_the_end_of_a_period_waits_for_it);
	RUN(a_burst_is_what_earlier_periods_left);
	RUN(the_period_timer_stops_when_nobody_asks);
	RUN(a_group_that_is_the_last_of_another_takes_it_along);
	RUN(a_group_within_a_throttled_one_stands_still_and_goes_on_with_it);
	RUN(sched_idle_tasks_of_a_throttled_group_are_counted_as_such_again);
	RUN(tasks_of_a_throttled_group_are_not_balanced);
	RUN(a_marked_queue_keeps_its_tasks);
	RUN(signals_stand_once_nothing_is_left_in_a_marked_queue);
	RUN(a_charge_marks_and_plans_early);
	RUN(who_becomes_current_in_a_throttled_group_leaves_early);
	RUN(with_flat_pick_all_groups_of_the_task_are_charged);
	RUN(what_is_handed_out_may_be_used_up_before_it_arrives);
	RUN(tasks_may_leave_a_cpu_where_their_group_is_marked);
	RUN(slack_of_a_slice_is_not_worth_a_timer);
	RUN(tasks_of_a_throttled_idle_group_count_as_such_above_it);
	RUN(a_group_that_goes_on_may_find_the_one_around_it_without_quota);
	return test_report();
}
