/* SPDX-License-Identifier: GPL-2.0-only */
/* EEVDF: sleepers in debt that stay queued (spec 9.2). */
#include "eevdf_kit.h"

/* a is current at 1 ms, b queued at 0: V = 0.5 ms, a owes 0.5 ms. */
static void in_debt(u8 version, struct fg_task *a, struct fg_task *b)
{
	queue(version);
	*a = task(1, 1024);
	*b = task(2, 1024);
	put(a, 1 * MS, SLICE);
	put(b, 0, SLICE);
	run(a);
}

TEST(a_sleeper_in_debt_stays_queued_in_v612)
{
	struct fg_task a, b;

	in_debt(FG_RQ_EEVDF, &a, &b);
	fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_SLEEP);
	CHECK(!a.on_rq && !(a.flags & FG_TASK_DELAYED));

	in_debt(FG_RQ_EEVDF612, &a, &b);
	kit_util(&a, 300);
	rq->est_enqueued = 301;
	rq->fair.next = &a;
	fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_SLEEP);
	CHECK(a.on_rq && (a.flags & FG_TASK_DELAYED));
	/* it competes on, so V stays; but it is counted as asleep */
	CHECK_EQ(average(), 500 * US);
	CHECK_EQ(rq->nr_running, 2);
	CHECK_EQ(rq->h_nr_running, 2);
	CHECK_EQ(rq->h_nr_delayed, 1);
	CHECK_EQ(rq->fair.load_weight, 2048);
	CHECK_EQ(rq->est_enqueued, 0);
	CHECK(!rq->fair.next);

	/* who owes nothing goes, who moves moves, who ends is gone */
	fg_dequeue_entity(&sys, rq, &b, FG_DEQUEUE_SLEEP);
	CHECK(!b.on_rq);
	in_debt(FG_RQ_EEVDF612, &a, &b);
	fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_MOVE);
	CHECK(!a.on_rq && !rq->h_nr_delayed);
	in_debt(FG_RQ_EEVDF612, &a, &b);
	a.flags |= FG_TASK_EXITING;
	fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_SLEEP);
	CHECK(!a.on_rq && !rq->h_nr_delayed);
}

/* 32 periods bring it from 0 to 511. Learned before that the estimate is what it was, learned after it it is new. */
TEST(a_stale_estimate_learns_before_the_last_stretch)
{
	for (u32 stale = 0; stale < 2; stale++) {
		struct fg_task a;

		queue(FG_RQ_EEVDF612);
		sys.feat.value[FG_UTIL_EST] = FG_UTIL_EST_V68;
		sys.feat.value[FG_EST_LSB] = 0;
		sys.feat.value[FG_EST_STALE] = (u8)stale;
		a = task(1, 1024);
		put(&a, 0, SLICE);
		run(&a);
		rq->clock_pelt = 32ull << 20;
		fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_SLEEP);
		CHECK(a.avg.util_avg > 500);
		CHECK_EQ(fg_task_util_est(&sys, &a), a.avg.util_avg);
		CHECK_EQ(a.est.ewma, stale ? 0 : a.avg.util_avg);
		CHECK_EQ(a.flags & FG_TASK_EST_CURRENT, stale ? 0 : FG_TASK_EST_CURRENT);
		CHECK_EQ(rq->est_enqueued, 0);
		/* who only moves learns nothing */
		put(&a, 0, SLICE);
		run(&a);
		rq->clock_pelt = 64ull << 20;
		a.est.ewma = 7;
		rq->est_enqueued = 7;
		fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_MOVE);
		CHECK_EQ(a.est.ewma, 7);
		CHECK_EQ(rq->est_enqueued, 0);
	}
}

/* Exactly paid: there is nothing to forget, and the deadline stays. A later one shows it. */
TEST(a_delayed_sleeper_without_debt_or_credit_keeps_its_place)
{
	struct fg_task a, b;

	in_debt(FG_RQ_EEVDF612, &a, &b);
	fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_SLEEP);
	fg_put_prev_entity(&sys, rq, &a);
	run(&b);
	charge(1 * MS);
	a.deadline = START + 9 * MS;
	fg_requeue_delayed(&sys, rq, &a);
	CHECK_EQ(a.vlag, 0);
	CHECK_EQ(at(&a), 1 * MS);
	CHECK_EQ(a.deadline, START + 9 * MS);
}

/* Spec 2.2: load goes on, runnable does not. 6.12.0 to 6.12.7 forgot that of the queue. */
TEST(a_delayed_sleeper_is_load_but_not_runnable)
{
	for (u8 forgets = 0; forgets < 2; forgets++) {
		struct fg_task a, b;

		in_debt(FG_RQ_EEVDF612, &a, &b);
		sys.feat.value[FG_RUNNABLE_DELAYED] = !forgets;
		b.flags = FG_TASK_NEW; /* no signal of its own */
		rq->clock_pelt = 32ull << 20;
		/* up to here it was runnable */
		fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_SLEEP);
		fg_put_prev_entity(&sys, rq, &a);
		CHECK_EQ(a.avg.runnable_avg, 512);
		CHECK_EQ(a.avg.load_avg, 512);
		CHECK_EQ(rq->cfs.runnable_avg, 1024);
		rq->clock_pelt = 64ull << 20;
		update_load_avg(&sys, rq, &a);
		/* half of it left; load 512/2 + 1024/2; of the queue one task instead of two, 1024/2 + 1024/2 */
		CHECK_EQ(a.avg.runnable_avg, 255);
		CHECK_EQ(a.avg.load_avg, 767);
		CHECK_EQ(rq->cfs.runnable_avg, forgets ? 1535 : 1023);
		/* up to here it was not */
		rq->clock_pelt = 96ull << 20;
		fg_requeue_delayed(&sys, rq, &a);
		CHECK_EQ(a.avg.runnable_avg, 127);
	}
}

/* b runs 0.5 ms and V comes to a, b runs 1.5 ms and V is 0.5 ms beyond it. */
TEST(a_delayed_sleeper_leaves_when_picked_without_credit)
{
	for (u32 late = 0; late < 2; late++) {
		struct fg_task a, b;

		in_debt(FG_RQ_EEVDF612, &a, &b);
		fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_SLEEP);
		fg_put_prev_entity(&sys, rq, &a);
		run(&b);
		charge(late ? 2 * MS : 500 * US);
		CHECK_EQ(average(), late ? 1500 * US : 750 * US);
		rq->est_enqueued = 77;
		a.est.enqueued = a.est.ewma = 50;
		a.flags &= ~(u32)FG_TASK_EST_CURRENT;
		fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_SLEEP | FG_DEQUEUE_DELAYED);
		/* what is owed is kept, what is not is forgotten */
		CHECK_EQ(a.vlag, late ? 0 : -250 * (s64)US);
		CHECK(!a.on_rq && !(a.flags & FG_TASK_DELAYED));
		CHECK_EQ(rq->h_nr_delayed, 0);
		CHECK_EQ(rq->nr_running, 1);
		/* its estimate left when it fell asleep */
		CHECK_EQ(rq->est_enqueued, 77);
		CHECK_EQ(a.est.ewma, 50);
	}
}

TEST(a_delayed_sleeper_woken_keeps_its_debt_and_no_credit)
{
	struct fg_task a, b;

	in_debt(FG_RQ_EEVDF612, &a, &b);
	a.est.enqueued = a.est.ewma = 50;
	rq->est_enqueued = 51;
	fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_SLEEP);
	fg_put_prev_entity(&sys, rq, &a);
	run(&b);
	charge(500 * US);
	fg_requeue_delayed(&sys, rq, &a);
	CHECK_EQ(at(&a), 1 * MS);
	CHECK_EQ(a.deadline, START + 1 * MS + SLICE);
	CHECK(a.on_rq && !(a.flags & FG_TASK_DELAYED));
	CHECK_EQ(rq->h_nr_delayed, 0);
	/* it learned when it fell asleep: (3 * 50 + 1) / 4 */
	CHECK_EQ(rq->est_enqueued, 37);

	in_debt(FG_RQ_EEVDF612, &a, &b);
	fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_SLEEP);
	fg_put_prev_entity(&sys, rq, &a);
	run(&b);
	charge(2 * MS);
	/* it is placed at V, which without it is the vruntime of b */
	fg_requeue_delayed(&sys, rq, &a);
	CHECK_EQ(at(&a), 2 * MS);
	CHECK_EQ(a.deadline, START + 2 * MS + SLICE);
	CHECK_EQ(average(), 2 * MS);
	CHECK_EQ(rq->nr_running, 2);
	CHECK_EQ(rq->fair.load_weight, 2048);
}

/* Affinity or balance may move it; it sleeps on over there. */
TEST(a_delayed_sleeper_moves_as_such)
{
	struct fg_task a, b;

	in_debt(FG_RQ_EEVDF612, &a, &b);
	fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_SLEEP);
	fg_put_prev_entity(&sys, rq, &a);
	a.est.enqueued = a.est.ewma = 50;
	rq->est_enqueued = 77;
	fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_MOVE);
	CHECK_EQ(rq->h_nr_delayed, 0);
	CHECK_EQ(rq->est_enqueued, 77);
	rq = &cpus[1];
	fg_enqueue_entity(&sys, rq, &a, 0);
	CHECK(a.flags & FG_TASK_DELAYED);
	CHECK_EQ(rq->h_nr_delayed, 1);
	CHECK_EQ(rq->est_enqueued, 0);
	CHECK_EQ(a.vlag, -500 * (s64)US);
}

/* 6.12 stable: a sync waker beside delayed sleepers is about to leave an idle CPU. Prev is busy and less loaded. */
TEST(sync_wakers_overlook_delayed_sleepers_in_stable)
{
	struct fg_task p;

	kit_init(2);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 2);
	kit_finish();
	kit_busy_range(0, 1);
	p = kit_task(1, 1);
	cpus[0].nr_running = cpus[0].h_nr_running = 2;
	cpus[0].h_nr_delayed = 1;
	cpus[0].cfs.load_avg = 3000;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).target, 1);
	sys.feat.value[FG_SYNC_DELAYED] = 1;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).target, 0);
	cpus[0].nr_running = 3;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_TTWU | FG_WF_SYNC).target, 1);
}

/* Its estimate left when it fell asleep. A sleeper that is picked leaves it at that, one that becomes real-time does not. */
TEST(a_delayed_sleeper_that_leaves_the_class_leaves_and_learns_again)
{
	static const u32 flags[] = { 0, FG_DEQUEUE_CLASS };

	for (u32 i = 0; i < 8; i++) {
		u32 leaves = i & 1, stale = i >> 1 & 1, once = i >> 2;
		struct fg_task a, b;

		in_debt(FG_RQ_EEVDF612, &a, &b);
		sys.feat.value[FG_UTIL_EST] = FG_UTIL_EST_V68;
		sys.feat.value[FG_EST_LSB] = 0;
		sys.feat.value[FG_EST_STALE] = (u8)stale;
		sys.feat.value[FG_EST_DELAYED] = (u8)once;
		kit_util(&a, 300);
		a.est.ewma = 300;
		fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_SLEEP);
		fg_put_prev_entity(&sys, rq, &a);
		a.avg.util_avg = a.avg.runnable_avg = 400;
		a.flags &= ~(u32)FG_TASK_EST_CURRENT;
		a.est.ewma = 300;
		rq->est_enqueued = 1000;
		fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_SLEEP | FG_DEQUEUE_DELAYED | flags[leaves]);
		CHECK_EQ(rq->est_enqueued, leaves && !once ? 700 : 1000);
		CHECK_EQ(a.est.ewma, leaves && stale ? 400 : 300);
	}
}

int main(void)
{
	RUN(a_sleeper_in_debt_stays_queued_in_v612);
	RUN(a_stale_estimate_learns_before_the_last_stretch);
	RUN(a_delayed_sleeper_without_debt_or_credit_keeps_its_place);
	RUN(a_delayed_sleeper_is_load_but_not_runnable);
	RUN(a_delayed_sleeper_leaves_when_picked_without_credit);
	RUN(a_delayed_sleeper_woken_keeps_its_debt_and_no_credit);
	RUN(a_delayed_sleeper_moves_as_such);
	RUN(sync_wakers_overlook_delayed_sleepers_in_stable);
	RUN(a_delayed_sleeper_that_leaves_the_class_leaves_and_learns_again);
	return test_report();
}
