/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The EEVDF run queues of spec 9.2. Two CPUs, 1000 Hz: a slice is 1.5 ms, a tick 1 ms, so that lags are clamped at
 * 3 ms for weight 1024. K = 1024 ns makes sums of equal weights easy to follow.
 */
#include "kit.h"

#define US 1000ull
#define MS 1000000ull
#define SLICE (1500 * US)
#define START (1000 * MS)

static struct fg_cpu *rq;

static void queue(u8 version)
{
	kit_init(2);
	sys.hz = 1000;
	sys.feat.value[FG_RQ] = version;
	rq = &cpus[0];
	rq->clock_task = START;
	rq->min_vruntime = START;
}

static struct fg_task task(u32 id, u32 weight)
{
	struct fg_task p = kit_task(id, 0);

	p.weight = weight;
	return p;
}

/* p is queued at START + v with its deadline that far off. */
static void put(struct fg_task *p, s64 v, s64 deadline)
{
	fg_enqueue_entity(&sys, rq, p, 0);
	avg_vruntime_sub(rq, p);
	p->vruntime = START + (u64)v;
	p->deadline = p->vruntime + (u64)deadline;
	avg_vruntime_add(rq, p);
}

static void run(struct fg_task *p)
{
	rq->curr_is_idle = 0;
	fg_set_next_entity(&sys, rq, p);
}

static u32 charge(u64 ns)
{
	rq->clock_task += ns;
	return fg_update_curr(&sys, rq, 0);
}

/* V - START */
static s64 average(void)
{
	return (s64)(fg_avg_vruntime(rq) - START);
}

static s64 at(const struct fg_task *p)
{
	return (s64)(p->vruntime - START);
}

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
	CHECK(entity_eligible(rq, &a));
	CHECK(!entity_eligible(rq, &b));
	fg_dequeue_entity(&sys, rq, &b, FG_DEQUEUE_SLEEP);
	put(&b, -10, SLICE);
	CHECK_EQ(average(), -4);
	CHECK(!entity_eligible(rq, &a));
	CHECK(entity_eligible(rq, &b));
	/* an exact average is eligible itself */
	fg_dequeue_entity(&sys, rq, &b, FG_DEQUEUE_SLEEP);
	CHECK_EQ(average(), 0);
	CHECK(entity_eligible(rq, &a));
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
	CHECK_EQ(rq->min_vruntime, START + 5000000);
	CHECK_EQ(rq->avg_vruntime, 2048);
	CHECK_EQ(average(), 5000000);
	/* and at each charge */
	run(&a);
	charge(3 * MS);
	CHECK_EQ(rq->min_vruntime, START + 5000000 + 1 * MS);
	CHECK_EQ(rq->avg_vruntime, 2048);
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
		/* 3 ms of virtual time at weight 512; the next slice is as long. Alone: nobody to make room for */
		CHECK_EQ(charge(1500 * US - 1), 0);
		CHECK_EQ(a.deadline, START + 3 * MS);
		CHECK_EQ(charge(1), 0);
		CHECK_EQ(a.deadline, START + 6 * MS);
		CHECK(!(a.flags & FG_TASK_PROTECTED));

		put(&b, 10 * MS, SLICE);
		rq->next = &a;
		CHECK_EQ(charge(1500 * US - 1), 0);
		CHECK(rq->next == &a);
		CHECK_EQ(charge(1), 1);
		CHECK(!rq->next);
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
		rq->min_vruntime = START;
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

TEST(the_eligible_one_with_the_earliest_deadline_runs)
{
	struct fg_task a, b, c;

	queue(FG_RQ_EEVDF);
	CHECK(!fg_pick_entity(&sys, rq, 0, 0));
	a = task(1, 1024);
	b = task(2, 1024);
	c = task(3, 1024);
	put(&a, 0, 3 * MS);
	/* single */
	CHECK(fg_pick_entity(&sys, rq, &a, 0) == &a);
	put(&b, 0, 2 * MS);
	put(&c, 0, 2 * MS);
	run(&a);
	/* protected: whatever the deadlines */
	CHECK(fg_pick_entity(&sys, rq, &b, 0) == &a);
	/* its slice renewed, it is one of many; of equals the queued one */
	a.flags &= ~(u32)FG_TASK_PROTECTED;
	CHECK(fg_pick_entity(&sys, rq, &b, 0) == &b);
	a.deadline = b.deadline;
	CHECK(fg_pick_entity(&sys, rq, &b, 0) == &b);
	a.deadline--;
	CHECK(fg_pick_entity(&sys, rq, &b, 0) == &a);
	/* ineligible, neither protection nor a deadline helps */
	a.flags |= FG_TASK_PROTECTED;
	charge(3);
	CHECK_EQ(average(), 1);
	a.deadline = START;
	CHECK(fg_pick_entity(&sys, rq, &b, 0) == &b);
	/* nor if it has left, even before V */
	fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_SLEEP);
	a.vruntime = START - 10;
	CHECK(fg_pick_entity(&sys, rq, &b, 0) == &b);
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
	rq->next = &b;
	CHECK(fg_pick_entity(&sys, rq, &b, 0) == &b);
	/* V = 1 */
	rq->next = &c;
	CHECK(fg_pick_entity(&sys, rq, &b, 0) == &a);
	/* but it decides no preemption */
	a.flags &= ~(u32)FG_TASK_PROTECTED;
	rq->next = &b;
	CHECK_EQ(fg_check_preempt_wakeup(&sys, rq, &b, &b), 0);
}

/* a and p at V with equal weights; p's deadline is earlier. */
TEST(a_wakee_preempts_if_it_would_be_picked)
{
	for (u8 version = FG_RQ_EEVDF; version <= FG_RQ_EEVDF612; version++) {
		struct fg_task a, p;

		queue(version);
		a = task(1, 1024);
		p = task(2, 1024);
		CHECK_EQ(fg_check_preempt_wakeup(&sys, rq, &p, 0), 0); /* no current */
		put(&a, 0, 3 * MS);
		run(&a);
		put(&p, 0, 2 * MS);
		CHECK_EQ(fg_check_preempt_wakeup(&sys, rq, &a, &p), 0);
		CHECK_EQ(fg_check_preempt_wakeup(&sys, rq, &p, &p), 0); /* a is protected */
		a.flags &= ~(u32)FG_TASK_PROTECTED;
		CHECK_EQ(fg_check_preempt_wakeup(&sys, rq, &p, &p), 1);
		CHECK(!rq->next && !rq->last);
		CHECK_EQ(fg_check_preempt_wakeup(&sys, rq, &p, &a), 0); /* somebody else would be */
		/* batch and idle wakees wait */
		p.policy = FG_SCHED_BATCH;
		CHECK_EQ(fg_check_preempt_wakeup(&sys, rq, &p, &p), 0);
		p.policy = FG_SCHED_IDLE;
		CHECK_EQ(fg_check_preempt_wakeup(&sys, rq, &p, &p), 0);
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
	CHECK_EQ(fg_check_preempt_wakeup(&sys, rq, &p, 0), 0);
	CHECK(a.flags & FG_TASK_PROTECTED);
	/* even one that is not eligible, and even batch */
	p.policy = FG_SCHED_BATCH;
	CHECK_EQ(fg_check_preempt_wakeup(&sys, rq, &p, 0), 1);
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
		CHECK_EQ(fg_check_preempt_wakeup(&sys, rq, &p, &p), version == FG_RQ_EEVDF612);
	}
	CHECK(!(a.flags & FG_TASK_PROTECTED));

	/* not an equal one */
	a.flags |= FG_TASK_PROTECTED;
	a.custom_slice = 1 * MS;
	CHECK_EQ(fg_check_preempt_wakeup(&sys, rq, &p, &p), 0);
	CHECK(a.flags & FG_TASK_PROTECTED);
	/* not with a later deadline, as long as a is eligible */
	a.custom_slice = 0;
	a.deadline = p.deadline;
	CHECK_EQ(fg_check_preempt_wakeup(&sys, rq, &p, &p), 0);
	CHECK(a.flags & FG_TASK_PROTECTED);
	charge(2);
	CHECK_EQ(fg_check_preempt_wakeup(&sys, rq, &p, &p), 1);
	CHECK(!(a.flags & FG_TASK_PROTECTED));
	/* not a wakee that is beyond V itself, however early its deadline */
	queue(FG_RQ_EEVDF612);
	put(&a, 0, 3 * MS);
	run(&a);
	put(&p, 2, 1 * MS);
	CHECK_EQ(fg_check_preempt_wakeup(&sys, rq, &p, 0), 0);
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
	rq->next = &a;
	CHECK(fg_pick_entity(&sys, rq, &b, 0) == &a);
	fg_yield(&sys, rq);
	CHECK(!rq->next && !rq->skip);
	CHECK_EQ(a.deadline, START + 6 * MS);
	CHECK(fg_pick_entity(&sys, rq, &b, 0) == &b);
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
	CHECK(fg_pick_entity(&sys, rq, &b, 0) == &b);
	/* again, without anybody else having run: nothing changes */
	a.flags |= FG_TASK_PROTECTED;
	fg_yield(&sys, rq);
	CHECK_EQ(at(&a), 3 * MS);
	CHECK_EQ(a.deadline, START + 3 * MS + SLICE);
	CHECK(a.flags & FG_TASK_PROTECTED);
	CHECK_EQ(average(), 2 * MS);
}

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
	rq->next = &a;
	fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_SLEEP);
	CHECK(a.on_rq && (a.flags & FG_TASK_DELAYED));
	/* it competes on, so V stays; but it is counted as asleep */
	CHECK_EQ(average(), 500 * US);
	CHECK_EQ(rq->nr_running, 2);
	CHECK_EQ(rq->h_nr_running, 2);
	CHECK_EQ(rq->h_nr_delayed, 1);
	CHECK_EQ(rq->load_weight, 2048);
	CHECK_EQ(rq->est_enqueued, 0);
	CHECK(!rq->next);

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

/* Spec 2.2: load goes on, runnable does not. */
TEST(a_delayed_sleeper_is_load_but_not_runnable)
{
	struct fg_task a, b;

	in_debt(FG_RQ_EEVDF612, &a, &b);
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
	CHECK_EQ(rq->cfs.runnable_avg, 1023);
	/* up to here it was not */
	rq->clock_pelt = 96ull << 20;
	fg_requeue_delayed(&sys, rq, &a);
	CHECK_EQ(a.avg.runnable_avg, 127);
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
	/* it starts anew at V, which without it is where b is */
	fg_requeue_delayed(&sys, rq, &a);
	CHECK_EQ(at(&a), 2 * MS);
	CHECK_EQ(a.deadline, START + 2 * MS + SLICE);
	CHECK_EQ(average(), 2 * MS);
	CHECK_EQ(rq->nr_running, 2);
	CHECK_EQ(rq->load_weight, 2048);
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

/* ---- a model: the definitions over all tasks in 128 bits ------------------------------------------------------ */

#define MODEL_TASKS 24

static struct fg_task tasks[MODEL_TASKS];
static u64 arrival[MODEL_TASKS], arrivals;
static u64 seed;

static u32 rnd(u32 n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)(seed >> 33) % n;
}

static u64 model_load(void)
{
	u64 load = 0;

	for (u32 i = 0; i < MODEL_TASKS; i++)
		load += tasks[i].on_rq ? tasks[i].weight : 0;
	return load;
}

/* Sum of w * (v - from). */
static __int128 model_sum(u64 from)
{
	__int128 sum = 0;

	for (u32 i = 0; i < MODEL_TASKS; i++)
		sum += tasks[i].on_rq ? (__int128)tasks[i].weight * (s64)(tasks[i].vruntime - from) : 0;
	return sum;
}

/* V >= v exactly, without a division. */
static u32 model_eligible(const struct fg_task *p)
{
	return model_sum(p->vruntime) >= 0;
}

/* The tree's answer. */
static struct fg_task *model_first(void)
{
	struct fg_task *best = 0;

	for (u32 i = 0; i < MODEL_TASKS; i++) {
		struct fg_task *p = &tasks[i];
		s64 later;

		if (!p->on_rq || p == rq->curr || !model_eligible(p))
			continue;
		later = best ? (s64)(p->deadline - best->deadline) : -1;
		if (later < 0 || (later == 0 && arrival[i] < arrival[best - tasks]))
			best = p;
	}
	return best;
}

static struct fg_task *model_pick(void)
{
	struct fg_task *first = model_first(), *curr = rq->curr;

	if (!curr || !curr->on_rq || !model_eligible(curr))
		return first;
	if ((curr->flags & FG_TASK_PROTECTED) || !first || (s64)(curr->deadline - first->deadline) < 0)
		return curr;
	return first;
}

static void model_check(void)
{
	__int128 sum = model_sum(rq->min_vruntime), beyond;
	u64 load = model_load();

	CHECK(sum == rq->avg_vruntime);
	CHECK_EQ(rq->load_weight, load);
	/* sum(lag) = 0, but for the fraction of V that the rounding cuts off for each unit of weight */
	beyond = model_sum(fg_avg_vruntime(rq));
	CHECK(load ? beyond >= 0 && beyond < (__int128)load : beyond == 0);
	for (u32 i = 0; i < MODEL_TASKS; i++) {
		if (tasks[i].on_rq)
			CHECK_EQ(entity_eligible(rq, &tasks[i]), model_eligible(&tasks[i]));
	}
	CHECK(fg_pick_entity(&sys, rq, model_first(), 0) == model_pick());
}

static s64 model_limit(const struct fg_task *p)
{
	u64 ns = 2 * entity_slice(&sys, p);

	if (ns < 1000000000ull / sys.hz)
		ns = 1000000000ull / sys.hz;
	return (s64)(ns * 1024 / p->weight);
}

static void model_switch(void)
{
	struct fg_task *next = model_pick();

	while (next && (next->flags & FG_TASK_DELAYED)) {
		fg_dequeue_entity(&sys, rq, next, FG_DEQUEUE_SLEEP | FG_DEQUEUE_DELAYED);
		CHECK(next->vlag <= 0);
		next = model_pick();
	}
	if (next == rq->curr)
		return;
	if (rq->curr) {
		arrival[rq->curr - tasks] = arrivals++;
		fg_put_prev_entity(&sys, rq, rq->curr);
	}
	if (next)
		fg_set_next_entity(&sys, rq, next);
}

/* Its lag is afterwards what it was when it left; the roundings of two divisions lie between. */
static void model_join(struct fg_task *p, u32 flags)
{
	u32 others = rq->h_nr_running;
	s64 vlag = p->vlag, lag;

	fg_enqueue_entity(&sys, rq, p, flags);
	arrival[p - tasks] = arrivals++;
	lag = (s64)(fg_avg_vruntime(rq) - p->vruntime);
	if (others)
		CHECK(lag - vlag >= -2 && lag - vlag <= 2);
	else
		CHECK_EQ(lag, 0);
}

static void model_step(void)
{
	struct fg_task *p = &tasks[rnd(MODEL_TASKS)];

	if (rnd(3) == 0) {
		rq->clock_task += rnd(4) ? rnd(400000) : rnd(9000000);
		if (fg_update_curr(&sys, rq, 0))
			model_switch();
	} else if (!p->on_rq) {
		if (rnd(8) == 0) {
			p->nice = (s32)rnd(40) - 20;
			fg_reweight_task(&sys, rq, p);
		}
		fg_update_curr(&sys, rq, 0);
		model_join(p, rnd(8) ? FG_ENQUEUE_WAKEUP : FG_ENQUEUE_INITIAL);
		if (fg_check_preempt_wakeup(&sys, rq, p, model_first()))
			model_switch();
	} else if (p->flags & FG_TASK_DELAYED) {
		fg_requeue_delayed(&sys, rq, p);
		CHECK(p->vlag <= 0);
	} else if (p == rq->curr || rnd(4) == 0) {
		fg_update_curr(&sys, rq, 0);
		fg_dequeue_entity(&sys, rq, p, rnd(4) ? FG_DEQUEUE_SLEEP : FG_DEQUEUE_MOVE);
		if (!p->on_rq)
			CHECK(p->vlag <= model_limit(p) && p->vlag >= -model_limit(p));
		fg_update_min_vruntime(&sys, rq, 0);
		model_switch();
	} else if (rnd(4) == 0) {
		fg_update_curr(&sys, rq, 0);
		fg_yield(&sys, rq);
		model_switch();
	}
}

TEST(every_pick_and_every_lag_is_what_the_definitions_say)
{
	u32 delayed = 0, full = 0;

	for (seed = 1; seed <= 40 && !test_bad; seed++) {
		u64 start = seed;

		queue(start % 2 ? FG_RQ_EEVDF612 : FG_RQ_EEVDF);
		sys.hz = start % 4 < 2 ? 1000 : 100;
		/* about to wrap, as the kernel starts */
		rq->min_vruntime = (u64)-1000000;
		for (u32 i = 0; i < MODEL_TASKS; i++) {
			tasks[i] = task(i, 1024);
			tasks[i].policy = rnd(6) ? FG_SCHED_OTHER : FG_SCHED_IDLE;
			tasks[i].nice = (s32)rnd(40) - 20;
			tasks[i].custom_slice = rnd(3) ? 0 : rnd(120000000);
			fg_set_load_weight(&tasks[i]);
		}
		for (u32 i = 0; i < 2500 && !test_bad; i++) {
			model_step();
			model_check();
			delayed += rq->h_nr_delayed;
			full += rq->h_nr_running > MODEL_TASKS / 2;
		}
		seed = start;
	}
	/* the interesting states were there */
	CHECK(delayed > 1000);
	CHECK(full > 1000);
}

int main(void)
{
	RUN(slices_grow_with_cpus_and_can_be_asked_for_in_v612);
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
	RUN(the_eligible_one_with_the_earliest_deadline_runs);
	RUN(protection_comes_with_the_pick);
	RUN(an_eligible_next_buddy_runs_first);
	RUN(a_wakee_preempts_if_it_would_be_picked);
	RUN(a_sched_idle_current_makes_room_and_loses_protection);
	RUN(a_shorter_slice_takes_protection_in_v612);
	RUN(who_yields_goes_a_slice_back);
	RUN(who_yields_pays_for_its_slice_in_612_stable);
	RUN(a_sleeper_in_debt_stays_queued_in_v612);
	RUN(a_stale_estimate_learns_before_the_last_stretch);
	RUN(a_delayed_sleeper_without_debt_or_credit_keeps_its_place);
	RUN(a_delayed_sleeper_is_load_but_not_runnable);
	RUN(a_delayed_sleeper_leaves_when_picked_without_credit);
	RUN(a_delayed_sleeper_woken_keeps_its_debt_and_no_credit);
	RUN(a_delayed_sleeper_moves_as_such);
	RUN(sync_wakers_overlook_delayed_sleepers_in_stable);
	RUN(every_pick_and_every_lag_is_what_the_definitions_say);
	return test_report();
}
