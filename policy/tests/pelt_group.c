/* SPDX-License-Identifier: GPL-2.0-only */
/* Signals of task groups: what joins and leaves a group's queue is known above it at once. */
#include "group_kit.h"

static void check_joined_and_left(void (*preset)(void))
{
	struct fg_task p;

	begin(preset);
	p = coming(600, 600);
	enqueue(&p);
	CHECK_EQ(part->avg.util_avg, 600);
	CHECK_EQ(entity->avg.util_avg, 600);
	CHECK_EQ(rq->cfs.util_avg, 600);
	CHECK_EQ(rq->cfs.runnable_avg, 600);
	CHECK(rq->cfs.load_avg > 0);

	fg_dequeue_entity(&sys, rq, &p, FG_DEQUEUE_MOVE);
	CHECK_EQ(part->avg.util_avg, 0);
	CHECK_EQ(entity->avg.util_avg, 0);
	CHECK_EQ(rq->cfs.util_avg, 0);
	CHECK_EQ(rq->cfs.runnable_avg, 0);
}

static void kit_preset_v61_once(void)
{
	kit_preset_v61();
	sys.feat.value[FG_FREQ_MOVE_ONCE] = 1;
}

TEST(a_task_that_joins_or_leaves_a_group_is_known_to_the_cpu)
{
	check_joined_and_left(kit_preset_v59);
	check_joined_and_left(kit_preset_v511);
	check_joined_and_left(kit_preset_v61_once);
}

/* Blocked load in the group, of which 300 left without this CPU's having heard of it. */
static void blocked(u64 load)
{
	part->avg.load_avg = load;
	part->avg.load_sum = load * PELT_MIN_DIVIDER;
	entity->avg.load_sum = load * PELT_MIN_DIVIDER / 1024;
	part->removed_nr = 1;
	part->removed_load = part->removed_runnable = 300;
	part->contribution = tg.load_avg = load;
}

/*
 * Of 500 that are blocked 300 have left, and 600 join: 800 are what the group has here. Told first, with nothing queued,
 * what left would have the entity forget the other 200.
 */
TEST(what_left_and_what_joins_is_told_as_one)
{
	struct fg_task p;

	begin(kit_preset_v61);
	blocked(500);
	p = coming(600, 10);
	enqueue(&p);
	CHECK_EQ(part->avg.load_avg, 800);
	CHECK_EQ(entity->avg.load_sum, 500 * PELT_MIN_DIVIDER / 1024 - 13687 + 600 * PELT_MIN_DIVIDER / 1024);
}

/*
 * A task falls asleep: the load that is left is computed once it is not counted any more, as that of one task, not two.
 */
TEST(what_left_is_told_when_the_sleeper_is_counted_no_more)
{
	struct fg_task p, q;

	begin(kit_preset_v61);
	p = coming(200, 10);
	q = coming(200, 10);
	enqueue(&p);
	enqueue(&q);
	part->removed_nr = 1;
	part->removed_load = part->removed_runnable = 100;
	fg_dequeue_entity(&sys, rq, &p, FG_DEQUEUE_SLEEP);
	CHECK_EQ(part->queue.load_weight, 1024);
	CHECK_EQ(entity->avg.load_sum, 300 * PELT_MIN_DIVIDER / 1024);
}

/* A CPU's part of the group's load changes once a millisecond: to what it is with the task that came. */
TEST(a_group_counts_who_joins_in_the_load_it_contributes)
{
	struct fg_task p;

	begin(kit_preset_v61);
	sys.feat.value[FG_TG_LOAD_RATE] = 1;
	blocked(500);
	part->contributed = START - 2 * MS;
	p = coming(600, 10);
	enqueue(&p);
	CHECK_EQ(part->contribution, 800);
	CHECK_EQ(tg.load_avg, 800);
}

TEST(the_first_contribution_waits_for_nothing_and_the_second_a_millisecond)
{
	struct fg_task p, q, r;

	begin(kit_preset_v61);
	sys.feat.value[FG_TG_LOAD_RATE] = 1;
	rq->clock = MS / 2;
	p = coming(600, 10);
	enqueue(&p);
	CHECK_EQ(part->contribution, 600);
	rq->clock += MS - 1;
	q = coming(200, 10);
	enqueue(&q);
	CHECK_EQ(part->contribution, 600);
	rq->clock++;
	r = coming(100, 10);
	enqueue(&r);
	CHECK_EQ(part->contribution, 900);
}

/* Half a second later, without an update in between. */
static void later(void)
{
	rq->clock += 500 * MS;
	rq->clock_task += 500 * MS;
	rq->clock_pelt += 500 * MS;
}

/*
 * put_prev updates the task's own signal and that of its queue. The group's contribution to its load over all CPUs
 * follows at the next tick, its entity's signal only when the group gives up the CPU.
 */
TEST(putting_a_task_back_tells_no_other_cpu)
{
	struct fg_task p;
	u64 before;

	begin(kit_preset_v61);
	p = coming(100, 0);
	enqueue(&p);
	fg_set_next_entity(&sys, rq, &p, 1);
	CHECK_EQ(part->contribution, 100);
	before = rq->cfs.last_update;

	later();
	fg_put_prev_entity(&sys, rq, &p);
	CHECK(part->avg.load_avg > 1000 && part->avg.util_avg > 1000);
	CHECK_EQ(part->contribution, 100);
	CHECK_EQ(tg.load_avg, 100);
	CHECK_EQ(rq->cfs.last_update, before);

	fg_tg_put_prev(&sys, rq, &tg);
	CHECK(entity->avg.util_avg > 1000);
	CHECK(rq->cfs.util_avg > 1000);
	CHECK_EQ(part->contribution, 100);

	fg_set_next_entity(&sys, rq, &p, 1);
	later();
	fg_entity_tick(&sys, rq, 0);
	CHECK(part->contribution > 1000);
}

/* The next task of the group that has the CPU: nothing changes above the group. */
TEST(a_group_that_keeps_the_cpu_is_no_news_above_it)
{
	struct fg_task p, q;
	u64 before;

	begin(kit_preset_v61);
	p = coming(100, 0);
	q = coming(100, 0);
	enqueue(&p);
	enqueue(&q);
	fg_set_next_entity(&sys, rq, &p, 1);
	before = rq->cfs.last_update;

	later();
	fg_put_prev_entity(&sys, rq, &p);
	fg_set_next_entity(&sys, rq, &q, 1);
	CHECK_EQ(rq->cfs.last_update, before);
	CHECK_EQ(entity->avg.last_update, before);
	CHECK(part->avg.load_avg > 2000 && part->avg.util_avg > 1000);
}

/* Up to v5.6. Only the group is queued here: the load of queued entities is the group's, also after a task left it. */
TEST(the_load_of_queued_entities_follows_a_group)
{
	struct fg_task p, q;

	begin(kit_preset_v54);
	p = coming(300, 10);
	q = coming(200, 10);
	enqueue(&p);
	enqueue(&q);
	CHECK_EQ(rq->queued.load_avg, entity->avg.load_avg);
	fg_dequeue_entity(&sys, rq, &q, FG_DEQUEUE_MOVE);
	CHECK_EQ(entity->avg.load_sum, 300 * PELT_MIN_DIVIDER / 1024);
	CHECK_EQ(rq->queued.load_avg, entity->avg.load_avg);
	CHECK_EQ(rq->queued.load_sum, entity->weight * entity->avg.load_sum);
}

/*
 * A task brings the group a load_sum of 1000, 21 of an average. Up to v5.12 the CPU's queue adds that sum; since v5.13
 * its sum is computed from the average, and loses the part between two averages.
 */
static u64 sum_told(void (*preset)(void))
{
	begin(preset);
	rq->cfs.load_avg = 7;
	rq->cfs.load_sum = 7 * PELT_MIN_DIVIDER + 5;
	part->propagate = 1;
	part->propagate_sum = 1000;
	fg_update_blocked_averages(&sys, rq);
	return rq->cfs.load_sum;
}

TEST(a_sum_follows_that_of_a_group_or_its_own_average)
{
	u64 own = 7 * PELT_MIN_DIVIDER + 5 + 1000 * entity->weight;

	CHECK_EQ(sum_told(kit_preset_v54), own);
	CHECK_EQ(sum_told(kit_preset_v511), own);
	CHECK_EQ(sum_told(kit_preset_v516), rq->cfs.load_avg * PELT_MIN_DIVIDER);
}

/* On 256 CPUs a group of weight 1 has 40 of a thousandth each: the kernel divides by 2, its least weight. */
TEST(the_whole_part_of_a_groups_weight_counts)
{
	struct fg_task e = { .weight = 2, .shares = 40 };

	CHECK_EQ(calc_delta_fair(&sys, 1000, &e), 512000);
}

/* The CPU's part of a group's load is rounded to nothing long before the group's own is. */
TEST(an_idle_cpu_is_looked_after_while_a_group_has_blocked_load)
{
	begin(kit_preset_v59);
	rq->has_blocked_load = 1;
	part->avg.load_avg = 86;
	part->avg.load_sum = 86ull * 47742;
	part->contribution = 86;
	CHECK_EQ(fg_update_blocked_averages(&sys, rq), 1);
	CHECK_EQ(rq->has_blocked_load, 1);
}

int main(void)
{
	RUN(a_task_that_joins_or_leaves_a_group_is_known_to_the_cpu);
	RUN(what_left_and_what_joins_is_told_as_one);
	RUN(what_left_is_told_when_the_sleeper_is_counted_no_more);
	RUN(a_group_counts_who_joins_in_the_load_it_contributes);
	RUN(the_first_contribution_waits_for_nothing_and_the_second_a_millisecond);
	RUN(putting_a_task_back_tells_no_other_cpu);
	RUN(a_group_that_keeps_the_cpu_is_no_news_above_it);
	RUN(the_load_of_queued_entities_follows_a_group);
	RUN(a_sum_follows_that_of_a_group_or_its_own_average);
	RUN(the_whole_part_of_a_groups_weight_counts);
	RUN(an_idle_cpu_is_looked_after_while_a_group_has_blocked_load);
	return test_report();
}
