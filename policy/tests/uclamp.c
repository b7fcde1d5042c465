/* SPDX-License-Identifier: GPL-2.0-only */
/* Clamps of a run queue (spec 2.8): what its runnable tasks make of it, and what is left when they are gone. */
#include "kit.h"

static struct fg_cpu *rq;
static u64 seed = 7;

static u32 rnd(u32 n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)(seed >> 33) % n;
}

static void queue(void)
{
	kit_init(1);
	sys.uclamp_used = 1;
	rq = &cpus[0];
}

static struct fg_task task(u32 min, u32 max)
{
	struct fg_task p = kit_task(1, 0);

	p.uclamp_min = min;
	p.uclamp_max = max;
	return p;
}

#define CHECK_CLAMPS(min, max)                                                                                         \
	do {                                                                                                           \
		CHECK_EQ(rq->uclamp[FG_UCLAMP_MIN].value, min);                                                        \
		CHECK_EQ(rq->uclamp[FG_UCLAMP_MAX].value, max);                                                        \
	} while (0)

TEST(the_queue_takes_the_largest_of_each_clamp)
{
	struct fg_task small, boosted, capped;

	queue();
	small = task(300, 400);
	boosted = task(700, 1024);
	capped = task(0, 500);
	CHECK_CLAMPS(0, 1024);
	fg_uclamp_rq_inc(&sys, rq, &small);
	CHECK_CLAMPS(300, 400);
	fg_uclamp_rq_inc(&sys, rq, &boosted);
	CHECK_CLAMPS(700, 1024);
	fg_uclamp_rq_inc(&sys, rq, &capped);
	CHECK_CLAMPS(700, 1024);
	fg_uclamp_rq_dec(rq, &boosted);
	CHECK_CLAMPS(300, 500);
	fg_uclamp_rq_dec(rq, &small);
	CHECK_CLAMPS(0, 500);
}

/* 205 to 409 is one bucket: while 206 keeps it open it answers with the 400 that was there. */
TEST(a_bucket_remembers_its_largest_until_it_is_empty)
{
	struct fg_task a, b, c;

	queue();
	a = task(400, 1024);
	b = task(206, 1024);
	c = task(204, 1024);
	fg_uclamp_rq_inc(&sys, rq, &c);
	fg_uclamp_rq_inc(&sys, rq, &b);
	CHECK_CLAMPS(206, 1024);
	fg_uclamp_rq_inc(&sys, rq, &a);
	CHECK_CLAMPS(400, 1024);
	fg_uclamp_rq_dec(rq, &a);
	CHECK_CLAMPS(400, 1024);
	/* the bucket below starts at 0 and ends at 204 */
	fg_uclamp_rq_dec(rq, &b);
	CHECK_CLAMPS(204, 1024);
	fg_uclamp_rq_inc(&sys, rq, &b);
	CHECK_CLAMPS(206, 1024);
}

/* The cap stays with the decaying utilization of the last task, and does not bind the next one. */
TEST(an_idle_queue_keeps_the_last_maximum_and_no_minimum)
{
	struct fg_task a, b, next, tight;

	queue();
	a = task(600, 700);
	b = task(0, 650);
	next = task(0, 900);
	tight = task(0, 50);
	CHECK_EQ(rq->uclamp_idle, 1);
	fg_uclamp_rq_inc(&sys, rq, &a);
	CHECK_EQ(rq->uclamp_idle, 0);
	fg_uclamp_rq_inc(&sys, rq, &b);
	fg_uclamp_rq_dec(rq, &a);
	/* b is the last one, its own maximum is what stays, not the bucket's 700 */
	fg_uclamp_rq_dec(rq, &b);
	CHECK_CLAMPS(0, 650);
	CHECK_EQ(rq->uclamp_idle, 1);
	fg_uclamp_rq_inc(&sys, rq, &tight);
	CHECK_CLAMPS(0, 50);
	fg_uclamp_rq_inc(&sys, rq, &next);
	CHECK_CLAMPS(0, 900);
	CHECK_EQ(rq->uclamp_idle, 0);
}

/* Who was queued before the first request on the system is not counted, and does not count when it leaves. */
TEST(nothing_is_counted_before_the_first_request)
{
	struct fg_task early, late;

	queue();
	early = task(310, 409);
	late = task(300, 400);
	sys.uclamp_used = 0;
	fg_uclamp_rq_inc(&sys, rq, &early);
	CHECK_EQ(early.uclamp_active, 0);
	sys.uclamp_used = 1;
	fg_uclamp_rq_inc(&sys, rq, &late);
	CHECK_CLAMPS(300, 400);
	fg_uclamp_rq_dec(rq, &early);
	CHECK_CLAMPS(300, 400);
	CHECK_EQ(rq->uclamp_idle, 0);
	/* twice is once */
	fg_uclamp_rq_inc(&sys, rq, &late);
	fg_uclamp_rq_dec(rq, &late);
	fg_uclamp_rq_dec(rq, &late);
	CHECK_EQ(rq->uclamp[FG_UCLAMP_MIN].bucket[1].tasks, 0);
	CHECK_EQ(rq->uclamp_idle, 1);
}

TEST(fair_tasks_bring_their_clamps_with_enqueue_and_dequeue)
{
	struct fg_task p;

	queue();
	p = task(300, 600);
	/* before the look at whether the CPU is overutilized: with its clamps of v6.2 it is, 300 > 200 */
	kit_capacity(0, 0, 200);
	sys.feat.value[FG_UFC] = 1;
	fg_enqueue_entity(&sys, rq, &p, FG_ENQUEUE_WAKEUP);
	CHECK_CLAMPS(300, 600);
	CHECK_EQ(root.overutilized, 1);
	fg_dequeue_entity(&sys, rq, &p, FG_DEQUEUE_SLEEP);
	CHECK_CLAMPS(0, 600);
	CHECK_EQ(p.uclamp_active, 0);
}

#define TASKS 12

/*
 * Against lists instead of counters: of each fifth everything that came since it was last empty. And the value is
 * never below the plain maximum of those that run, and never of a higher fifth.
 */
TEST(buckets_are_a_maximum_over_runnable_tasks)
{
	struct fg_task p[TASKS];
	u32 largest[FG_NR_UCLAMPS][FG_UCLAMP_BUCKETS] = { { 0 } };

	queue();
	for (u32 i = 0; i < TASKS; i++)
		p[i] = task(0, 1024);
	for (u32 step = 0; step < 20000 && !test_bad; step++) {
		struct fg_task *t = &p[rnd(TASKS)];
		u32 running = 0, last[2] = { t->uclamp_min, t->uclamp_max };

		if (t->uclamp_active) {
			fg_uclamp_rq_dec(rq, t);
		} else {
			t->uclamp_min = rnd(1025);
			t->uclamp_max = t->uclamp_min + rnd(1025 - t->uclamp_min);
			fg_uclamp_rq_inc(&sys, rq, t);
		}
		for (u32 id = 0; id < FG_NR_UCLAMPS; id++) {
			u32 max = 0, want = id ? last[1] : 0;

			running = 0;
			for (u32 b = 0; b < FG_UCLAMP_BUCKETS; b++) {
				u32 here = 0;

				for (u32 i = 0; i < TASKS; i++) {
					u32 v = id ? p[i].uclamp_max : p[i].uclamp_min;

					if (!p[i].uclamp_active || (v / 205 < 4 ? v / 205 : 4) != b)
						continue;
					here++;
					max = v > max ? v : max;
					largest[id][b] = v > largest[id][b] ? v : largest[id][b];
				}
				if (here)
					want = largest[id][b];
				else
					largest[id][b] = 0;
				running += here;
			}
			CHECK_EQ(rq->uclamp[id].value, want);
			if (running)
				CHECK(want >= max && want / 205 == max / 205);
		}
		CHECK_EQ(rq->uclamp_idle, running == 0);
	}
}

int main(void)
{
	RUN(the_queue_takes_the_largest_of_each_clamp);
	RUN(a_bucket_remembers_its_largest_until_it_is_empty);
	RUN(an_idle_queue_keeps_the_last_maximum_and_no_minimum);
	RUN(nothing_is_counted_before_the_first_request);
	RUN(fair_tasks_bring_their_clamps_with_enqueue_and_dequeue);
	RUN(buckets_are_a_maximum_over_runnable_tasks);
	return test_report();
}
