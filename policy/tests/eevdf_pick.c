/* SPDX-License-Identifier: GPL-2.0-only */
/* EEVDF: who is picked, who preempts, and who yields (spec 9.2). */
#include "eevdf_kit.h"

TEST(the_eligible_one_with_the_earliest_deadline_runs)
{
	struct fg_task a, b, c;

	queue(FG_RQ_EEVDF);
	CHECK(!pick_entity(&sys, rq, 0, 0));
	a = task(1, 1024);
	b = task(2, 1024);
	c = task(3, 1024);
	put(&a, 0, 3 * MS);
	/* single */
	CHECK(pick_entity(&sys, rq, &a, 0) == &a);
	put(&b, 0, 2 * MS);
	put(&c, 0, 2 * MS);
	run(&a);
	/* protected: whatever the deadlines */
	CHECK(pick_entity(&sys, rq, &b, 0) == &a);
	/* its slice renewed, it is one of many; of equals the queued one */
	a.flags &= ~(u32)FG_TASK_PROTECTED;
	CHECK(pick_entity(&sys, rq, &b, 0) == &b);
	a.deadline = b.deadline;
	CHECK(pick_entity(&sys, rq, &b, 0) == &b);
	a.deadline--;
	CHECK(pick_entity(&sys, rq, &b, 0) == &a);
	/* ineligible, neither protection nor a deadline helps */
	a.flags |= FG_TASK_PROTECTED;
	charge(3);
	CHECK_EQ(average(), 1);
	a.deadline = START;
	CHECK(pick_entity(&sys, rq, &b, 0) == &b);
	/* nor if it has left, even before V */
	fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_SLEEP);
	a.vruntime = START - 10;
	CHECK(pick_entity(&sys, rq, &b, 0) == &b);
}

TEST(protection_comes_with_the_pick)
{
	struct fg_task a;

	queue(FG_RQ_EEVDF);
	a = task(1, 1024);
	put(&a, 0, SLICE);
	CHECK(!(a.flags & FG_TASK_PROTECTED));
	run(&a);
	CHECK(a.flags & FG_TASK_PROTECTED);
	/* CFS knows no such thing */
	a.flags = 0;
	sys.feat.value[FG_RQ] = FG_RQ_CFS;
	run(&a);
	CHECK(!(a.flags & FG_TASK_PROTECTED));
}

TEST(an_eligible_next_buddy_runs_first)
{
	struct fg_task a, b, c;

	queue(FG_RQ_EEVDF);
	a = task(1, 1024);
	b = task(2, 1024);
	c = task(3, 1024);
	put(&a, 0, 1 * MS);
	put(&b, 0, 2 * MS);
	put(&c, 3, 3 * MS);
	run(&a);
	rq->fair.next = &b;
	CHECK(pick_entity(&sys, rq, &b, 0) == &b);
	/* V = 1 */
	rq->fair.next = &c;
	CHECK(pick_entity(&sys, rq, &b, 0) == &a);
	/* but it decides no preemption */
	a.flags &= ~(u32)FG_TASK_PROTECTED;
	rq->fair.next = &b;
	CHECK_EQ(check_preempt(&sys, rq, &b, &b, 0), 0);
}

/* All at V. */
TEST(a_woken_task_is_the_next_buddy_with_next_buddy)
{
	struct fg_task a, b, c;

	for (u8 on = 0; on <= 1; on++) {
		queue(FG_RQ_EEVDF612);
		sys.feat.value[FG_NEXT_BUDDY] = on;
		a = task(1, 1024);
		b = task(2, 1024);
		c = task(3, 1024);
		put(&a, 0, 1 * MS);
		put(&b, 0, 2 * MS);
		put(&c, 0, 3 * MS);
		run(&a);
		fg_set_next_buddy(&sys, rq, &c, FG_WF_FORK);
		CHECK(!rq->fair.next);
		fg_set_next_buddy(&sys, rq, &a, 0);
		CHECK(!rq->fair.next);
		fg_set_next_buddy(&sys, rq, &c, 0);
		CHECK(rq->fair.next == (on ? &c : 0));
		/* it does not preempt a, which is protected, but is picked before it */
		CHECK_EQ(check_preempt(&sys, rq, &c, &b, 0), 0);
		CHECK(pick_entity(&sys, rq, &b, 0) == (on ? &c : &a));
		c.policy = FG_SCHED_IDLE;
		rq->fair.next = 0;
		fg_set_next_buddy(&sys, rq, &c, 0);
		CHECK(!rq->fair.next);
	}
}

/* Why a pick and a test came out as they did. */
TEST(picks_and_tests_say_why)
{
	struct fg_task a, b;
	struct fg_pick how;

	queue(FG_RQ_EEVDF612);
	a = task(1, 1024);
	b = task(2, 1024);
	put(&a, 0, 3 * MS);
	CHECK(fg_pick_entity(&sys, rq, &a, 0, &how) == &a);
	CHECK_EQ(how.rule, FG_PICK_RULE_ONLY);
	put(&b, 0, 2 * MS);
	CHECK(fg_pick_entity(&sys, rq, &b, 0, &how) == &b);
	CHECK_EQ(how.rule, FG_PICK_RULE_EARLIEST);
	run(&a);
	CHECK(fg_pick_entity(&sys, rq, &b, 0, &how) == &a);
	CHECK_EQ(how.rule, FG_PICK_RULE_PROTECTED);
	CHECK_EQ(fg_check_preempt_wakeup(&sys, rq, &b, &b, 0), FG_PICK_RULE_WAKE_PROTECTED);
	a.flags &= ~(u32)FG_TASK_PROTECTED;
	CHECK_EQ(fg_check_preempt_wakeup(&sys, rq, &b, &b, 0), FG_PICK_RULE_PREEMPT_DEADLINE);
	b.deadline += 2 * MS;
	CHECK(fg_pick_entity(&sys, rq, &b, 0, &how) == &a);
	CHECK_EQ(how.rule, FG_PICK_RULE_STAYS);
	CHECK_EQ(fg_check_preempt_wakeup(&sys, rq, &b, &b, 0), FG_PICK_RULE_WAKE_DEADLINE);
	/* a has had more than its share, then b */
	rq->fair.next = 0;
	avg_vruntime_sub(&sys, &rq->fair, &a);
	a.vruntime += MS;
	avg_vruntime_add(&sys, &rq->fair, &a);
	CHECK(fg_pick_entity(&sys, rq, &b, 0, &how) == &b);
	CHECK_EQ(how.rule, FG_PICK_RULE_OWED);
	CHECK_EQ(fg_check_preempt_wakeup(&sys, rq, &b, &b, 0), FG_PICK_RULE_PREEMPT_OWED);
	avg_vruntime_sub(&sys, &rq->fair, &b);
	b.vruntime += 2 * MS;
	avg_vruntime_add(&sys, &rq->fair, &b);
	CHECK_EQ(fg_check_preempt_wakeup(&sys, rq, &b, 0, 0), FG_PICK_RULE_WAKE_INELIGIBLE);
	b.policy = FG_SCHED_BATCH;
	CHECK_EQ(fg_check_preempt_wakeup(&sys, rq, &b, 0, 0), FG_PICK_RULE_WAKE_BATCH);
	a.policy = FG_SCHED_IDLE;
	CHECK_EQ(fg_check_preempt_wakeup(&sys, rq, &b, 0, 0), FG_PICK_RULE_PREEMPT_IDLE);
}

TEST(a_wakeup_that_policies_decide_does_not_charge)
{
	static const struct {
		u8 curr, woken, shrink;
		fg_bool charged;
	} cases[] = {
		{ FG_SCHED_OTHER, FG_SCHED_OTHER, 0, 1 },
		{ FG_SCHED_OTHER, FG_SCHED_BATCH, 0, 0 },
		{ FG_SCHED_OTHER, FG_SCHED_IDLE, 0, 0 },
		{ FG_SCHED_IDLE, FG_SCHED_OTHER, 0, 0 },
		{ FG_SCHED_IDLE, FG_SCHED_OTHER, FG_SHRINK_ALWAYS, 0 },
		{ FG_SCHED_IDLE, FG_SCHED_IDLE, 0, 0 },
		{ FG_SCHED_OTHER, FG_SCHED_BATCH, FG_SHRINK_ALWAYS, 1 },
	};

	for (u8 version = FG_RQ_CFS; version <= FG_RQ_EEVDF612; version++) {
		for (u32 n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
			struct fg_task a, b;

			queue(version);
			a = task(1, 1024);
			b = task(2, 1024);
			put(&a, 0, 3 * MS);
			put(&b, 0, 2 * MS);
			run(&a);
			a.policy = cases[n].curr;
			b.policy = cases[n].woken;
			sys.feat.value[FG_SHRINK] = cases[n].shrink;
			CHECK_EQ(fg_charges_at_wakeup(&sys, rq, &b), cases[n].charged);
			CHECK_EQ(fg_charges_at_wakeup(&sys, rq, &a), 0);
		}
	}
}

/* a and p at V with equal weights; p's deadline is earlier. */
TEST(a_wakee_preempts_if_it_would_be_picked)
{
	for (u8 version = FG_RQ_EEVDF; version <= FG_RQ_EEVDF612; version++) {
		struct fg_task a, p;

		queue(version);
		a = task(1, 1024);
		p = task(2, 1024);
		CHECK_EQ(check_preempt(&sys, rq, &p, 0, 0), 0); /* no current */
		put(&a, 0, 3 * MS);
		run(&a);
		put(&p, 0, 2 * MS);
		CHECK_EQ(check_preempt(&sys, rq, &a, &p, 0), 0);
		CHECK_EQ(check_preempt(&sys, rq, &p, &p, 0), 0); /* a is protected */
		a.flags &= ~(u32)FG_TASK_PROTECTED;
		CHECK_EQ(check_preempt(&sys, rq, &p, &p, 0), 1);
		CHECK(!rq->fair.next && !rq->fair.last);
		CHECK_EQ(check_preempt(&sys, rq, &p, &a, 0), 0); /* another task would be picked */
		/* batch and idle wakees wait */
		p.policy = FG_SCHED_BATCH;
		CHECK_EQ(check_preempt(&sys, rq, &p, &p, 0), 0);
		p.policy = FG_SCHED_IDLE;
		CHECK_EQ(check_preempt(&sys, rq, &p, &p, 0), 0);
	}
}

TEST(a_sched_idle_current_makes_room_and_loses_protection)
{
	struct fg_task a, p;

	queue(FG_RQ_EEVDF);
	a = task(1, 3);
	a.policy = FG_SCHED_IDLE;
	p = task(2, 1024);
	put(&a, 0, SLICE);
	run(&a);
	put(&p, 10 * MS, SLICE);
	p.policy = FG_SCHED_IDLE;
	CHECK_EQ(check_preempt(&sys, rq, &p, 0, 0), 0);
	CHECK(a.flags & FG_TASK_PROTECTED);
	/* even one that is not eligible, and even batch */
	p.policy = FG_SCHED_BATCH;
	CHECK_EQ(check_preempt(&sys, rq, &p, 0, 0), 1);
	CHECK(!(a.flags & FG_TASK_PROTECTED));
}

/* Base slices are 1.5 ms. */
TEST(a_shorter_slice_takes_protection_in_v612)
{
	struct fg_task a, p;

	for (u8 version = FG_RQ_EEVDF; version <= FG_RQ_EEVDF612; version++) {
		queue(version);
		a = task(1, 1024);
		p = task(2, 1024);
		p.custom_slice = 1 * MS;
		put(&a, 0, 3 * MS);
		run(&a);
		put(&p, 0, 2 * MS);
		CHECK_EQ(check_preempt(&sys, rq, &p, &p, 0), version == FG_RQ_EEVDF612);
	}
	CHECK(!(a.flags & FG_TASK_PROTECTED));

	/* not an equal one */
	a.flags |= FG_TASK_PROTECTED;
	a.custom_slice = 1 * MS;
	CHECK_EQ(check_preempt(&sys, rq, &p, &p, 0), 0);
	CHECK(a.flags & FG_TASK_PROTECTED);
	/* not with a later deadline, as long as a is eligible */
	a.custom_slice = 0;
	a.deadline = p.deadline;
	CHECK_EQ(check_preempt(&sys, rq, &p, &p, 0), 0);
	CHECK(a.flags & FG_TASK_PROTECTED);
	charge(2);
	CHECK_EQ(check_preempt(&sys, rq, &p, &p, 0), 1);
	CHECK(!(a.flags & FG_TASK_PROTECTED));
	/* not a wakee that is beyond V itself, however early its deadline */
	queue(FG_RQ_EEVDF612);
	put(&a, 0, 3 * MS);
	run(&a);
	put(&p, 2, 1 * MS);
	CHECK_EQ(check_preempt(&sys, rq, &p, 0, 0), 0);
	CHECK(a.flags & FG_TASK_PROTECTED);
}

TEST(who_yields_goes_a_slice_back)
{
	struct fg_task a, b;

	queue(FG_RQ_EEVDF);
	a = task(1, 512);
	b = task(2, 512);
	put(&a, 0, 3 * MS);
	run(&a);
	fg_yield(&sys, rq);
	CHECK_EQ(a.deadline, START + 3 * MS);
	put(&b, 0, 4 * MS);
	rq->fair.next = &a;
	CHECK(pick_entity(&sys, rq, &b, 0) == &a);
	fg_yield(&sys, rq);
	CHECK(!rq->fair.next && !rq->fair.skip);
	CHECK_EQ(a.deadline, START + 6 * MS);
	/* it has not paid for that */
	CHECK_EQ(at(&a), 0);
	CHECK(pick_entity(&sys, rq, &b, 0) == &b);
}

/* Equal weights, a at 0.2 ms, b at 1 ms: V = 0.6 ms. a pays up to its deadline, 3 ms, and V comes to 2 ms. */
TEST(who_yields_pays_for_its_slice_in_612_stable)
{
	struct fg_task a, b;

	queue(FG_RQ_EEVDF612);
	sys.feat.value[FG_YIELD_FORFEIT] = 1;
	a = task(1, 1024);
	b = task(2, 1024);
	put(&a, 200 * US, 2800 * US);
	put(&b, 1 * MS, 1 * MS);
	run(&a);
	fg_yield(&sys, rq);
	CHECK_EQ(at(&a), 3 * MS);
	CHECK_EQ(a.deadline, START + 3 * MS + SLICE);
	CHECK(!(a.flags & FG_TASK_PROTECTED));
	CHECK_EQ(average(), 2 * MS);
	CHECK(pick_entity(&sys, rq, &b, 0) == &b);
	/* again, without anybody else having run: nothing changes */
	a.flags |= FG_TASK_PROTECTED;
	fg_yield(&sys, rq);
	CHECK_EQ(at(&a), 3 * MS);
	CHECK_EQ(a.deadline, START + 3 * MS + SLICE);
	CHECK(a.flags & FG_TASK_PROTECTED);
	CHECK_EQ(average(), 2 * MS);
}

/* Two CPUs: a slice is 1.5 ms. a of twice the weight has a deadline 0.5 ms of its virtual time away, and has run 1 ms. */
TEST(a_timer_ends_a_slice)
{
	static const s64 expected[] = { 0, 500 * US, 1 * MS };

	for (u8 mode = 0; mode < 3; mode++) {
		struct fg_task a, b;

		queue(FG_RQ_EEVDF612);
		sys.feat.value[FG_HRTICK] = mode;
		a = task(1, 2048);
		b = task(2, 1024);
		put(&a, 0, 500 * US);
		run(&a);
		a.sum_exec = a.prev_sum_exec + 1 * MS;
		CHECK_EQ(fg_hrtick_delay(&sys, rq), 0);
		put(&b, 0, SLICE);
		CHECK_EQ(fg_hrtick_delay(&sys, rq), expected[mode]);
		/* interrupts take a quarter: a third more; 1024 is no quarter of anything */
		rq->irq.util_avg = 256;
		CHECK_EQ(fg_hrtick_delay(&sys, rq),
			 mode == FG_HRTICK_DEADLINE ? (s64)(1 * MS * 1365 / 1024) : expected[mode]);
		rq->irq.util_avg = 1024;
		CHECK_EQ(fg_hrtick_delay(&sys, rq), expected[mode]);
		/* not less than 10 us, unless it is over */
		a.deadline = a.vruntime;
		a.sum_exec = a.prev_sum_exec + SLICE;
		CHECK_EQ(fg_hrtick_delay(&sys, rq), mode ? 10 * US : 0);
		a.deadline = a.vruntime - 1;
		a.sum_exec++;
		CHECK_EQ(fg_hrtick_delay(&sys, rq), mode ? -1 : 0);
	}
}

int main(void)
{
	RUN(the_eligible_one_with_the_earliest_deadline_runs);
	RUN(protection_comes_with_the_pick);
	RUN(an_eligible_next_buddy_runs_first);
	RUN(a_woken_task_is_the_next_buddy_with_next_buddy);
	RUN(picks_and_tests_say_why);
	RUN(a_wakeup_that_policies_decide_does_not_charge);
	RUN(a_wakee_preempts_if_it_would_be_picked);
	RUN(a_sched_idle_current_makes_room_and_loses_protection);
	RUN(a_shorter_slice_takes_protection_in_v612);
	RUN(who_yields_goes_a_slice_back);
	RUN(who_yields_pays_for_its_slice_in_612_stable);
	RUN(a_timer_ends_a_slice);
	return test_report();
}
