/* SPDX-License-Identifier: GPL-2.0-only */
/* EEVDF after v6.12: protection, the test of a wakeup, lag and reweighting (spec-new 1, 2 and the vectors of 11). */
#include "eevdf_kit.h"

#define LONG (20 * MS)

/* a runs, b waits; both at V. b asks for half of a's slice. */
static void two(struct fg_task *a, struct fg_task *b, u8 protect)
{
	queue(FG_RQ_EEVDF612);
	sys.feat.value[FG_PROTECT] = protect;
	*a = task(1, 1024);
	*b = task(2, 1024);
	b->custom_slice = 750 * US;
	put(a, 0, SLICE);
	put(b, 0, SLICE - 1);
	rq->fair.min_slice = 750 * US;
	rq->fair.max_slice = SLICE;
}

static s64 protected_until(const struct fg_task *p)
{
	return (s64)(p->vprot - START);
}

TEST(what_was_picked_is_protected_for_the_shortest_slice)
{
	struct fg_task a, b;

	two(&a, &b, FG_PROTECT_VPROT);
	run(&a);
	CHECK_EQ(protected_until(&a), 750 * US);
	CHECK(pick_entity(&sys, rq, &b, 0) == &a);
	/* it has had as much, and b's deadline is earlier */
	b.vruntime += 750 * US;
	CHECK_EQ(charge(749 * US), 0);
	CHECK_EQ(charge(1 * US), 1);
	/* no slice is shorter than its own: up to its deadline */
	two(&a, &b, FG_PROTECT_VPROT);
	rq->fair.min_slice = 0;
	rq->fair.max_slice = 0;
	run(&a);
	CHECK_EQ(protected_until(&a), SLICE);
	/* whatever it asked for, not longer than its deadline */
	two(&a, &b, FG_PROTECT_VPROT);
	a.deadline = START + 100;
	run(&a);
	CHECK_EQ(protected_until(&a), 100);
}

/* Vector 8: its slice is 2.8 ms, the shortest 0.7 ms. */
TEST(the_slice_of_eight_cpus_is_protected_for_a_quarter_of_it)
{
	struct fg_task a, b;

	two(&a, &b, FG_PROTECT_VPROT);
	a.custom_slice = 2800 * US;
	a.deadline = START + 2800 * US;
	rq->fair.min_slice = 700 * US;
	run(&a);
	CHECK_EQ(protected_until(&a), 700 * US);
}

/* Vector 7: others at 0 and 3 ms: their average and 1 ns. */
TEST(protection_can_last_while_it_is_eligible)
{
	struct fg_task a, b, c;

	two(&a, &b, FG_PROTECT_INELIGIBLE);
	c = task(3, 1024);
	put(&c, 3 * MS, SLICE);
	a.deadline = START + LONG;
	run(&a);
	CHECK_EQ(protected_until(&a), 1500001);
	/* alone with a shorter slice that has just left: at once */
	fg_dequeue_entity(&sys, rq, &b, 0);
	fg_dequeue_entity(&sys, rq, &c, 0);
	rq->fair.min_vruntime = START;
	run(&a);
	CHECK_EQ(protected_until(&a), 1);
	two(&a, &b, FG_PROTECT_INELIGIBLE);
	rq->fair.min_slice = 0;
	run(&a);
	CHECK_EQ(protected_until(&a), SLICE);
}

TEST(a_shorter_slice_preempts_in_spite_of_protection)
{
	struct fg_task a, b;

	two(&a, &b, FG_PROTECT_VPROT);
	run(&a);
	CHECK_EQ(check_preempt(&sys, rq, &b, &b, 0), FG_PREEMPT_YES);
	CHECK_EQ(protected_until(&a), 0);
	/* of equal slices none does */
	two(&a, &b, FG_PROTECT_VPROT);
	b.custom_slice = 0;
	run(&a);
	CHECK_EQ(check_preempt(&sys, rq, &b, &b, 0), FG_PREEMPT_NO);
	CHECK_EQ(protected_until(&a), 750 * US);
}

/* What remains of a's protection after b, which is not eligible, did not preempt it. a has run for 100 us. */
static s64 after_failure(u8 shrink, u64 slice, u32 flags)
{
	struct fg_task a, b;

	two(&a, &b, FG_PROTECT_VPROT);
	sys.feat.value[FG_SHRINK] = shrink;
	sys.feat.value[FG_FORK_NO_PREEMPT] = shrink >= FG_SHRINK_FAILED;
	b.custom_slice = slice;
	run(&a);
	a.vprot = START + LONG;
	avg_vruntime_sub(&sys, &rq->fair, &b);
	b.vruntime = START + 10 * MS;
	avg_vruntime_add(&sys, &rq->fair, &b);
	charge(100 * US);
	CHECK_EQ(check_preempt(&sys, rq, &b, &a, flags), FG_PREEMPT_NO);
	return protected_until(&a);
}

TEST(a_wakeup_that_does_not_preempt_shortens_protection)
{
	CHECK_EQ(after_failure(FG_SHRINK_NONE, 750 * US, 0), LONG);
	CHECK_EQ(after_failure(FG_SHRINK_SHORT, 750 * US, 0), 850 * US);
	CHECK_EQ(after_failure(FG_SHRINK_SHORT, SLICE, 0), LONG);
	CHECK_EQ(after_failure(FG_SHRINK_FAILED, SLICE, 0), 850 * US);
	/* a new task is not tested at all, unless its slice is shorter */
	CHECK_EQ(after_failure(FG_SHRINK_FAILED, SLICE, FG_WF_FORK), LONG);
	CHECK_EQ(after_failure(FG_SHRINK_FAILED, 750 * US, FG_WF_FORK), 850 * US);
	CHECK_EQ(after_failure(FG_SHRINK_ALWAYS, SLICE, FG_WF_FORK), 850 * US);
}

/* a is ahead of V = 2 ms: from V on. */
TEST(protection_that_always_shrinks_counts_from_the_average)
{
	struct fg_task a, b;

	two(&a, &b, FG_PROTECT_VPROT);
	sys.feat.value[FG_SHRINK] = FG_SHRINK_ALWAYS;
	b.policy = FG_SCHED_BATCH;
	run(&a);
	a.vprot = START + LONG;
	charge(4 * MS);
	CHECK_EQ(average(), 2 * MS);
	CHECK_EQ(check_preempt(&sys, rq, &b, &b, 0), FG_PREEMPT_NO);
	CHECK_EQ(protected_until(&a), 2750 * US);
}

TEST(a_new_task_does_not_preempt_since_v619)
{
	for (u8 on = 0; on < 2; on++) {
		struct fg_task a, b;

		two(&a, &b, FG_PROTECT_VPROT);
		sys.feat.value[FG_FORK_NO_PREEMPT] = on;
		b.custom_slice = 0;
		run(&a);
		a.vprot = a.vruntime;
		CHECK_EQ(check_preempt(&sys, rq, &b, &b, FG_WF_FORK), !on);
		CHECK_EQ(check_preempt(&sys, rq, &b, &b, 0), FG_PREEMPT_YES);
	}
}

TEST(a_buddy_holds_a_wakee_up_since_v619)
{
	struct fg_task a, b, c;

	two(&a, &b, FG_PROTECT_VPROT);
	c = task(3, 1024);
	put(&c, 0, LONG);
	run(&a);
	rq->fair.next = &c;
	CHECK_EQ(check_preempt(&sys, rq, &b, &b, 0), FG_PREEMPT_YES);
	sys.feat.value[FG_BUDDY_IN_WAKE] = 1;
	CHECK_EQ(check_preempt(&sys, rq, &b, &b, 0), FG_PREEMPT_NO);
	/* v7.1: not one with a shorter slice */
	sys.feat.value[FG_BUDDY_PROTECT] = 1;
	CHECK_EQ(check_preempt(&sys, rq, &b, &b, 0), FG_PREEMPT_YES);
	b.custom_slice = 0;
	a.vprot = a.vruntime;
	CHECK_EQ(check_preempt(&sys, rq, &b, &b, 0), FG_PREEMPT_NO);
}

TEST(a_delayed_sleeper_in_the_way_is_reported_since_v71)
{
	struct fg_task a, b, c;

	two(&a, &b, FG_PROTECT_VPROT);
	c = task(3, 1024);
	c.flags |= FG_TASK_DELAYED;
	put(&c, 0, 1 * MS);
	run(&a);
	a.vprot = a.vruntime;
	CHECK_EQ(check_preempt(&sys, rq, &b, &c, 0), FG_PREEMPT_NO);
	sys.feat.value[FG_WAKE_PICK_DEQUEUE] = 1;
	CHECK_EQ(check_preempt(&sys, rq, &b, &c, 0), FG_PREEMPT_DELAYED);
}

/* c, not b, would be picked. */
TEST(an_eligible_wakee_with_a_shorter_slice_preempts_since_v73)
{
	struct fg_task a, b, c;

	two(&a, &b, FG_PROTECT_VPROT);
	c = task(3, 1024);
	put(&c, 0, 1 * MS);
	run(&a);
	CHECK_EQ(check_preempt(&sys, rq, &b, &c, 0), FG_PREEMPT_NO);
	sys.feat.value[FG_SHORT_EAGER] = 1;
	sys.feat.value[FG_SHORT_BUDDY] = 1;
	CHECK_EQ(check_preempt(&sys, rq, &b, &c, 0), FG_PREEMPT_YES);
	CHECK(rq->fair.next == &b);
	/* a buddy with a slice that is shorter still stays */
	c.custom_slice = 500 * US;
	rq->fair.next = &c;
	CHECK_EQ(check_preempt(&sys, rq, &b, &c, 0), FG_PREEMPT_YES);
	CHECK(rq->fair.next == &c);
	/* nor is a delayed sleeper, which balancing has moved, a buddy */
	rq->fair.next = 0;
	sys.feat.value[FG_FORK_NO_PREEMPT] = 1;
	b.flags |= FG_TASK_DELAYED;
	CHECK_EQ(fg_check_preempt_wakeup(&sys, rq, &b, &c, 0), FG_PICK_RULE_WAKE_FORK);
	CHECK(rq->fair.next == 0);
}

/* A task 100 ms behind an equal one: its lag is 50 ms before it is limited. */
TEST(lag_is_limited_by_the_own_slice_or_the_longest_one)
{
	struct fg_task a, b;

	for (u8 clamp = FG_LAG_CLAMP_OWN; clamp <= FG_LAG_CLAMP_QUEUE; clamp++) {
		two(&a, &b, FG_PROTECT_VPROT);
		sys.feat.value[FG_LAG_CLAMP] = clamp;
		rq->fair.max_slice = LONG;
		avg_vruntime_sub(&sys, &rq->fair, &b);
		b.vruntime = START + 100 * MS;
		avg_vruntime_add(&sys, &rq->fair, &b);
		fg_dequeue_entity(&sys, rq, &a, 0);
		CHECK_EQ(a.vlag, clamp == FG_LAG_CLAMP_OWN ? (s64)(2 * SLICE) : (s64)(21 * MS));
	}
}

/* Vector 12: a slice of 2.8 ms, the longest 20 ms, ticks of 4 ms. */
TEST(the_limit_of_lag_has_a_tick_beyond_the_longest_slice)
{
	static const s64 want[] = { 5600 * US, 24 * MS };

	for (u8 clamp = FG_LAG_CLAMP_OWN; clamp <= FG_LAG_CLAMP_QUEUE; clamp++) {
		struct fg_task a, b;

		two(&a, &b, FG_PROTECT_VPROT);
		sys.hz = 250;
		sys.feat.value[FG_LAG_CLAMP] = clamp;
		a.custom_slice = 2800 * US;
		rq->fair.max_slice = LONG;
		avg_vruntime_sub(&sys, &rq->fair, &b);
		b.vruntime = START + 100 * MS;
		avg_vruntime_add(&sys, &rq->fair, &b);
		fg_dequeue_entity(&sys, rq, &a, 0);
		CHECK_EQ(a.vlag, want[clamp]);
	}
}

/* Vector 13: stored -2 ms; then -3, -1 and +1 ms. Up to v7.0 the debt at its sleep is forgotten. */
TEST(a_delayed_sleeper_owes_no_more_than_at_its_sleep_since_v71)
{
	static const s64 now[] = { -3, -1, 1, -3, -1, 1 }, then[] = { -3, -1, 0, -2, -1, 0 };

	for (u32 i = 0; i < 6; i++) {
		struct fg_task a, b;

		two(&a, &b, FG_PROTECT_VPROT);
		sys.feat.value[FG_DELAY_LAG] = i >= 3;
		sys.feat.value[FG_LAG_CLAMP] = FG_LAG_CLAMP_QUEUE;
		rq->fair.max_slice = LONG;
		a.flags |= FG_TASK_DELAYED;
		a.vlag = -2 * (s64)MS;
		rq->h_nr_delayed = 1;
		/* equal weights: V lies half way */
		avg_vruntime_sub(&sys, &rq->fair, &b);
		b.vruntime = a.vruntime + (u64)(2 * now[i] * (s64)MS);
		avg_vruntime_add(&sys, &rq->fair, &b);
		fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_SLEEP | FG_DEQUEUE_DELAYED);
		CHECK_EQ(a.vlag, then[i] * (s64)MS);
	}
}

TEST(a_relative_deadline_follows_the_weight_since_v613)
{
	for (u8 reweight = FG_REWEIGHT_LAG; reweight <= FG_REWEIGHT_EXACT; reweight++) {
		struct fg_task a, b;

		two(&a, &b, FG_PROTECT_VPROT);
		sys.feat.value[FG_REWEIGHT] = reweight;
		fg_dequeue_entity(&sys, rq, &a, 0);
		CHECK_EQ(a.deadline, SLICE);
		a.nice = 5; /* 335 */
		fg_reweight_task(&sys, rq, &a);
		CHECK_EQ(a.deadline, reweight == FG_REWEIGHT_LAG ? SLICE : SLICE * 1024 / 335);
	}
}

/* a is put back as the current task after a change: it has run, and would be protected for longer. */
TEST(protection_begins_at_a_pick_since_v70)
{
	for (u8 on = 0; on < 2; on++) {
		struct fg_task a, b;

		two(&a, &b, FG_PROTECT_VPROT);
		sys.feat.value[FG_PROTECT_FIRST] = on;
		run(&a);
		CHECK_EQ(protected_until(&a), 750 * US);
		charge(500 * US);
		fg_put_prev_entity(&sys, rq, &a);
		fg_set_next_entity(&sys, rq, &a, 0);
		CHECK_EQ(protected_until(&a), on ? 750 * US : 1250 * US);
		fg_set_next_entity(&sys, rq, &a, 1);
		CHECK_EQ(protected_until(&a), 1250 * US);
	}
}

int main(void)
{
	RUN(what_was_picked_is_protected_for_the_shortest_slice);
	RUN(the_slice_of_eight_cpus_is_protected_for_a_quarter_of_it);
	RUN(protection_can_last_while_it_is_eligible);
	RUN(a_shorter_slice_preempts_in_spite_of_protection);
	RUN(a_wakeup_that_does_not_preempt_shortens_protection);
	RUN(protection_that_always_shrinks_counts_from_the_average);
	RUN(a_new_task_does_not_preempt_since_v619);
	RUN(a_buddy_holds_a_wakee_up_since_v619);
	RUN(a_delayed_sleeper_in_the_way_is_reported_since_v71);
	RUN(an_eligible_wakee_with_a_shorter_slice_preempts_since_v73);
	RUN(lag_is_limited_by_the_own_slice_or_the_longest_one);
	RUN(the_limit_of_lag_has_a_tick_beyond_the_longest_slice);
	RUN(a_delayed_sleeper_owes_no_more_than_at_its_sleep_since_v71);
	RUN(a_relative_deadline_follows_the_weight_since_v613);
	RUN(protection_begins_at_a_pick_since_v70);
	return test_report();
}
