/* SPDX-License-Identifier: GPL-2.0-only */
/* EEVDF: slices, the average, lag, and where tasks are placed (spec 9.2). */
#include "eevdf_kit.h"

TEST(slices_grow_with_cpus_and_can_be_asked_for_in_v612)
{
	static const u32 v[][2] = { { 1, 750 }, { 2, 1500 }, { 4, 2250 }, { 8, 3000 } };
	struct fg_task p;

	for (u32 i = 0; i < 4; i++) {
		kit_init(v[i][0]);
		sys.feat.value[FG_RQ] = FG_RQ_EEVDF;
		p = task(1, 1024);
		CHECK_EQ(entity_slice(&sys, &p), v[i][1] * US);
	}
	sys.feat.value[FG_SLICE_700] = 1;
	CHECK_EQ(entity_slice(&sys, &p), 2800 * US);

	p.custom_slice = 5 * MS;
	CHECK_EQ(entity_slice(&sys, &p), 2800 * US);
	sys.feat.value[FG_RQ] = FG_RQ_EEVDF612;
	CHECK_EQ(entity_slice(&sys, &p), 5 * MS);
	p.custom_slice = 1;
	CHECK_EQ(entity_slice(&sys, &p), 100 * US);
	p.custom_slice = 1000 * MS;
	CHECK_EQ(entity_slice(&sys, &p), 100 * MS);
}

/* Vector 6. */
TEST(slices_of_700_us_grow_up_to_8_cpus)
{
	static const u32 v[][2] = { { 1, 700 }, { 2, 1400 }, { 4, 2100 }, { 8, 2800 }, { 64, 2800 } };

	for (u32 i = 0; i < 5; i++) {
		kit_init(v[i][0]);
		sys.feat.value[FG_RQ] = FG_RQ_EEVDF612;
		sys.feat.value[FG_SLICE_700] = 1;
		CHECK_EQ(fg_slice(&sys, 0), v[i][1] * US);
	}
}

/* (1024 * 0 + 512 * 10) / 1536 = 3.33; (1024 * 0 - 512 * 10) / 1536 = -3.33: down to 3 and to -4. */
TEST(the_average_is_weighted_and_rounded_down)
{
	struct fg_task a, b;

	queue(FG_RQ_EEVDF);
	CHECK_EQ(average(), 0);
	a = task(1, 1024);
	b = task(2, 512);
	put(&a, 0, SLICE);
	put(&b, 10, SLICE);
	CHECK_EQ(average(), 3);
	CHECK(entity_eligible(&rq->fair, &a));
	CHECK(!entity_eligible(&rq->fair, &b));
	fg_dequeue_entity(&sys, rq, &b, FG_DEQUEUE_SLEEP);
	put(&b, -10, SLICE);
	CHECK_EQ(average(), -4);
	CHECK(!entity_eligible(&rq->fair, &a));
	CHECK(entity_eligible(&rq->fair, &b));
	/* an exact average is eligible itself */
	fg_dequeue_entity(&sys, rq, &b, FG_DEQUEUE_SLEEP);
	CHECK_EQ(average(), 0);
	CHECK(entity_eligible(&rq->fair, &a));
}

/* Wherever v0 stands, V is the same; moved to V it leaves 0 <= sum < sum of weights. (2048 * 5 - 1024 * 8) / 3072 = 0.67 */
TEST(the_origin_follows_the_average)
{
	struct fg_task a, b;

	queue(FG_RQ_EEVDF);
	a = task(1, 2048);
	b = task(2, 1024);
	put(&a, 5000005, SLICE);
	put(&b, 4999992, SLICE);
	CHECK_EQ(average(), 5000000);
	fg_update_min_vruntime(&sys, rq, 0);
	CHECK_EQ(rq->fair.min_vruntime, START + 5000000);
	CHECK_EQ(rq->fair.avg_vruntime, 2048);
	CHECK_EQ(average(), 5000000);
	/* and at each charge */
	run(&a);
	charge(3 * MS);
	CHECK_EQ(rq->fair.min_vruntime, START + 5000000 + 1 * MS);
	CHECK_EQ(rq->fair.avg_vruntime, 2048);
}

/* Weight 512: 600 us are 1200 us of virtual time. Of two such tasks V is half of that. */
TEST(running_moves_vruntime_and_the_average)
{
	struct fg_task a, b;

	queue(FG_RQ_EEVDF);
	a = task(1, 512);
	b = task(2, 512);
	put(&a, 0, SLICE);
	put(&b, 0, SLICE);
	run(&a);
	CHECK_EQ(charge(600 * US), 0);
	CHECK_EQ(at(&a), 1200 * US);
	CHECK_EQ(average(), 600 * US);
	CHECK_EQ(a.sum_exec, 600 * US);
	CHECK_EQ(charge(0), 0);
	/* off the queue it is not charged any more */
	fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_SLEEP);
	CHECK_EQ(charge(MS), 0);
	CHECK_EQ(at(&a), 1200 * US);
	CHECK_EQ(average(), 0);
}

TEST(a_slice_ends_at_the_deadline_and_the_next_begins)
{
	for (u8 version = FG_RQ_EEVDF; version <= FG_RQ_EEVDF612; version++) {
		struct fg_task a, b;

		queue(version);
		a = task(1, 512);
		b = task(2, 1024);
		put(&a, 0, 3 * MS);
		run(&a);
		/*
		 * 3 ms of virtual time at weight 512; the next slice is as long. Alone: there is no task to preempt it
		 */
		CHECK_EQ(charge(1500 * US - 1), 0);
		CHECK_EQ(a.deadline, START + 3 * MS);
		CHECK_EQ(charge(1), 0);
		CHECK_EQ(a.deadline, START + 6 * MS);
		CHECK(!(a.flags & FG_TASK_PROTECTED));

		put(&b, 10 * MS, SLICE);
		rq->fair.next = &a;
		CHECK_EQ(charge(1500 * US - 1), 0);
		CHECK(rq->fair.next == &a);
		CHECK_EQ(charge(1), 1);
		CHECK(!rq->fair.next);
		CHECK_EQ(a.deadline, START + 9 * MS);
	}
}

/* Nothing but the slice matters at a tick. */
TEST(ticks_do_not_preempt)
{
	struct fg_task a, b;

	queue(FG_RQ_EEVDF612);
	a = task(1, 1024);
	b = task(2, 1024);
	put(&a, 100 * MS, SLICE);
	put(&b, 0, SLICE);
	run(&a);
	a.sum_exec = 100 * MS;
	CHECK_EQ(fg_entity_tick(&sys, rq, 0), 0);
}

/* v6.12: ineligible and unprotected it makes room before its slice is over. */
TEST(who_lost_protection_runs_while_it_is_eligible)
{
	for (u8 version = FG_RQ_EEVDF; version <= FG_RQ_EEVDF612; version++) {
		u32 v612 = version == FG_RQ_EEVDF612;
		struct fg_task a, b;

		queue(version);
		a = task(1, 1024);
		b = task(2, 1024);
		put(&a, 0, SLICE);
		put(&b, 200 * US, SLICE);
		run(&a);
		/* V = (a + 200 us) / 2 */
		a.flags &= ~(u32)FG_TASK_PROTECTED;
		CHECK_EQ(charge(200 * US), 0);
		CHECK_EQ(charge(1), v612);
		a.flags |= FG_TASK_PROTECTED;
		CHECK_EQ(charge(1), 0);
		/* alone it is eligible anyway */
		a.flags &= ~(u32)FG_TASK_PROTECTED;
		fg_dequeue_entity(&sys, rq, &b, FG_DEQUEUE_SLEEP);
		if (v612)
			fg_dequeue_entity(&sys, rq, &b, FG_DEQUEUE_SLEEP | FG_DEQUEUE_DELAYED);
		CHECK_EQ(charge(1), 0);
	}
}

/* Two slices are 3 ms: at weight 512 6 ms of virtual time. V is in the middle of two equal tasks. */
TEST(lag_is_kept_within_two_slices_or_a_tick)
{
	struct fg_task a, b;

	queue(FG_RQ_EEVDF);
	a = task(1, 512);
	b = task(2, 512);
	put(&a, 0, SLICE);
	put(&b, 3 * MS, SLICE);
	fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_SLEEP);
	CHECK_EQ(a.vlag, 1500 * US);
	put(&a, 6 * MS, SLICE);
	fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_SLEEP);
	CHECK_EQ(a.vlag, -1500 * (s64)US);
	put(&a, 3 * MS + 12 * MS + 2, SLICE);
	fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_SLEEP);
	CHECK_EQ(a.vlag, -6 * (s64)MS);
	put(&a, 3 * MS - 12 * (s64)MS - 2, SLICE);
	fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_SLEEP);
	CHECK_EQ(a.vlag, 6 * MS);
	/* a tick of 4 ms is longer than two slices: 8 ms of virtual time */
	sys.hz = 250;
	put(&a, 3 * MS - 16 * (s64)MS - 2, SLICE);
	fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_MOVE);
	CHECK_EQ(a.vlag, 8 * MS);
}

/*
 * W = 3072 at V = 1 ms, w = 1024 with a lag of 300 us: 300 us * 4096 / 3072 = 400 us before V. V goes back to
 * 1 ms - 400 us * 1024 / 4096 = 900 us, and 300 us are left.
 */
TEST(who_comes_back_has_the_lag_it_left_with)
{
	struct fg_task a, b, p;

	queue(FG_RQ_EEVDF);
	p = task(3, 1024);
	p.vlag = 300 * (s64)US;
	/* to an empty queue it brings nothing */
	fg_enqueue_entity(&sys, rq, &p, FG_ENQUEUE_WAKEUP);
	CHECK_EQ(at(&p), 0);
	fg_dequeue_entity(&sys, rq, &p, FG_DEQUEUE_SLEEP);
	CHECK_EQ(p.vlag, 0);

	a = task(1, 1024);
	b = task(2, 2048);
	put(&a, 3 * MS, SLICE);
	put(&b, 0, SLICE);
	run(&a);
	CHECK_EQ(average(), 1 * MS);
	p.vlag = 300 * (s64)US;
	fg_enqueue_entity(&sys, rq, &p, FG_ENQUEUE_WAKEUP | FG_ENQUEUE_MIGRATED);
	CHECK_EQ(at(&p), 600 * US);
	CHECK_EQ(average(), 900 * US);
	fg_dequeue_entity(&sys, rq, &p, FG_DEQUEUE_SLEEP);
	CHECK_EQ(p.vlag, 300 * US);
	CHECK_EQ(average(), 1 * MS);
	/* a debt likewise */
	p.vlag = -300 * (s64)US;
	fg_enqueue_entity(&sys, rq, &p, FG_ENQUEUE_WAKEUP);
	CHECK_EQ(at(&p), 1400 * US);
	CHECK_EQ(average(), 1100 * US);
}

/* Nothing of the vruntime goes along, whatever the way. */
TEST(migration_preserves_lag_not_vruntime)
{
	for (u8 version = FG_RQ_EEVDF; version <= FG_RQ_EEVDF612; version++) {
		struct fg_task a, b, p;

		queue(version);
		a = task(1, 1024);
		p = task(2, 1024);
		put(&a, 400 * US, SLICE);
		put(&p, 0, SLICE);
		fg_dequeue_entity(&sys, rq, &p, FG_DEQUEUE_SLEEP);
		CHECK_EQ(p.vlag, 200 * US);
		fg_migrate_task(&sys, rq, &p);
		CHECK_EQ(p.vruntime, START);

		rq = &cpus[1];
		rq->fair.min_vruntime = START;
		b = task(3, 1024);
		put(&b, 77 * MS, SLICE);
		/* 200 us * 2048 / 1024 */
		fg_enqueue_entity(&sys, rq, &p, FG_ENQUEUE_WAKEUP | FG_ENQUEUE_MIGRATED);
		CHECK_EQ(at(&p), 77 * MS - 400 * US);
		fg_dequeue_entity(&sys, rq, &p, FG_DEQUEUE_MOVE);
		CHECK_EQ(p.vlag, 200 * US);
	}
}

TEST(children_start_at_the_average_with_half_a_slice)
{
	struct fg_task a, child;

	queue(FG_RQ_EEVDF);
	a = task(1, 1024);
	put(&a, 5 * MS, SLICE);
	run(&a);
	child = task(2, 512);
	child.flags = FG_TASK_NEW;
	fg_task_fork(&sys, rq, &child);
	CHECK_EQ(child.vruntime, 0);
	fg_enqueue_entity(&sys, rq, &child, FG_ENQUEUE_INITIAL);
	CHECK_EQ(at(&child), 5 * MS);
	/* a slice of 1.5 ms at weight 512 is 3 ms of virtual time */
	CHECK_EQ(child.deadline - child.vruntime, 1500 * US);
	fg_dequeue_entity(&sys, rq, &child, FG_DEQUEUE_SLEEP);
	fg_enqueue_entity(&sys, rq, &child, FG_ENQUEUE_WAKEUP);
	CHECK_EQ(child.deadline - child.vruntime, 3 * MS);
}

/* 1 ms of a slice is left. v6.6 begins a new one after a move, v6.12 only after a sleep. */
TEST(a_moved_task_goes_on_with_its_slice_in_v612)
{
	for (u8 version = FG_RQ_EEVDF; version <= FG_RQ_EEVDF612; version++) {
		u64 moved = version == FG_RQ_EEVDF612 ? 1 * MS : SLICE;
		struct fg_task a, p;

		queue(version);
		a = task(1, 1024);
		p = task(2, 1024);
		put(&a, 0, SLICE);
		put(&p, 0, 1 * MS);
		fg_dequeue_entity(&sys, rq, &p, FG_DEQUEUE_MOVE);
		fg_enqueue_entity(&sys, rq, &p, 0);
		CHECK_EQ(p.deadline - p.vruntime, moved);
		/* once */
		CHECK(!(p.flags & FG_TASK_REL_DEADLINE));
		fg_dequeue_entity(&sys, rq, &p, FG_DEQUEUE_SLEEP);
		fg_enqueue_entity(&sys, rq, &p, FG_ENQUEUE_WAKEUP);
		CHECK_EQ(p.deadline - p.vruntime, SLICE);
	}
}

/* From 1024 to nice 5, weight 335: 300 us * 1024 / 335 = 917 us (917014 ns); what is left of the slice stays as it is. */
TEST(a_new_weight_keeps_the_lag)
{
	struct fg_task p;

	queue(FG_RQ_EEVDF612);
	p = task(1, 1024);
	p.vlag = -300 * (s64)US;
	p.deadline = 1 * MS;
	p.flags = FG_TASK_REL_DEADLINE;
	p.nice = 5;
	fg_reweight_task(&sys, rq, &p);
	CHECK_EQ(p.weight, 335);
	CHECK_EQ(p.vlag, -917014);
	CHECK_EQ(p.deadline, 1 * MS);
	CHECK(p.flags & FG_TASK_REL_DEADLINE);
	/* SCHED_IDLE too, if it is reweighted at all: 917014 * 335 / 3 = 102399896 */
	p.policy = FG_SCHED_IDLE;
	fg_reweight_task(&sys, rq, &p);
	CHECK_EQ(p.weight, 3);
	CHECK_EQ(p.vlag, -917014);
	p.weight = 335;
	sys.feat.value[FG_IDLE_REWEIGHT] = 1;
	fg_reweight_task(&sys, rq, &p);
	CHECK_EQ(p.weight, 3);
	CHECK_EQ(p.vlag, -102399896);
}

int main(void)
{
	RUN(slices_grow_with_cpus_and_can_be_asked_for_in_v612);
	RUN(slices_of_700_us_grow_up_to_8_cpus);
	RUN(the_average_is_weighted_and_rounded_down);
	RUN(the_origin_follows_the_average);
	RUN(running_moves_vruntime_and_the_average);
	RUN(a_slice_ends_at_the_deadline_and_the_next_begins);
	RUN(ticks_do_not_preempt);
	RUN(who_lost_protection_runs_while_it_is_eligible);
	RUN(lag_is_kept_within_two_slices_or_a_tick);
	RUN(who_comes_back_has_the_lag_it_left_with);
	RUN(migration_preserves_lag_not_vruntime);
	RUN(children_start_at_the_average_with_half_a_slice);
	RUN(a_moved_task_goes_on_with_its_slice_in_v612);
	RUN(a_new_weight_keeps_the_lag);
	return test_report();
}
