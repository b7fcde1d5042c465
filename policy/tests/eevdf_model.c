/* SPDX-License-Identifier: GPL-2.0-only */
/* EEVDF beside a model: the definitions over all tasks in 128 bits (spec 9.2). */
#include "eevdf_kit.h"

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
	__int128 sum = model_sum(rq->fair.min_vruntime), beyond;
	u64 load = model_load();

	CHECK(sum == rq->fair.avg_vruntime);
	CHECK_EQ(rq->fair.load_weight, load);
	/* sum(lag) = 0, but for the fraction of V that the rounding cuts off for each unit of weight */
	beyond = model_sum(fg_avg_vruntime(&rq->fair));
	CHECK(load ? beyond >= 0 && beyond < (__int128)load : beyond == 0);
	for (u32 i = 0; i < MODEL_TASKS; i++) {
		if (tasks[i].on_rq)
			CHECK_EQ(entity_eligible(&rq->fair, &tasks[i]), model_eligible(&tasks[i]));
	}
	CHECK(pick_entity(&sys, rq, model_first(), 0) == model_pick());
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
		fg_set_next_entity(&sys, rq, next, 1);
}

/* Its lag is afterwards what it was when it left; the roundings of two divisions lie between. */
static void model_join(struct fg_task *p, u32 flags)
{
	u32 others = rq->h_nr_running;
	s64 vlag = p->vlag, lag;

	fg_enqueue_entity(&sys, rq, p, flags);
	arrival[p - tasks] = arrivals++;
	lag = (s64)(fg_avg_vruntime(&rq->fair) - p->vruntime);
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
		if (check_preempt(&sys, rq, p, model_first(), 0))
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
		rq->fair.min_vruntime = (u64)-1000000;
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
	RUN(every_pick_and_every_lag_is_what_the_definitions_say);
	return test_report();
}
