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
	sys.uclamp_min_rt = 1024;
	sys.uclamp_limit = (struct fg_clamps){ .min = 1024, .max = 1024 };
	sys.feat.value[FG_UCLAMP_PROTECT] = 1;
	sys.feat.value[FG_UCLAMP_REINC] = 1;
	rq = &cpus[0];
}

static struct fg_task task(u32 min, u32 max)
{
	struct fg_task p = kit_task(1, 0);

	p.uclamp_min = min;
	p.uclamp_max = max;
	p.uclamp_req_min = min;
	p.uclamp_req_max = max;
	return p;
}

#define ASKS_BOTH (FG_TASK_ASKED_MIN | FG_TASK_ASKED_MAX)

/* What sched_setattr() does with clamps, in a group or none. */
static void ask(struct fg_task *p, u32 asked, u32 min, u32 max, const struct fg_clamps *group)
{
	struct fg_clamps want = { .min = min, .max = max };

	fg_uclamp_request(&sys, p, asked, &want);
	fg_uclamp_update(&sys, rq, p, group);
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
	fg_uclamp_rq_dec(&sys, rq, &boosted);
	CHECK_CLAMPS(300, 500);
	fg_uclamp_rq_dec(&sys, rq, &small);
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
	fg_uclamp_rq_dec(&sys, rq, &a);
	CHECK_CLAMPS(400, 1024);
	/* the bucket below starts at 0 and ends at 204 */
	fg_uclamp_rq_dec(&sys, rq, &b);
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
	fg_uclamp_rq_dec(&sys, rq, &a);
	/* b is the last one, its own maximum is what stays, not the bucket's 700 */
	fg_uclamp_rq_dec(&sys, rq, &b);
	CHECK_CLAMPS(0, 650);
	CHECK_EQ(rq->uclamp_idle, 1);
	fg_uclamp_rq_inc(&sys, rq, &tight);
	CHECK_CLAMPS(0, 50);
	fg_uclamp_rq_inc(&sys, rq, &next);
	CHECK_CLAMPS(0, 900);
	CHECK_EQ(rq->uclamp_idle, 0);
}

/* A task queued before the first request on the system is not counted, neither then nor when it leaves. */
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
	fg_uclamp_rq_dec(&sys, rq, &early);
	CHECK_CLAMPS(300, 400);
	CHECK_EQ(rq->uclamp_idle, 0);
	/* twice is once */
	fg_uclamp_rq_inc(&sys, rq, &late);
	fg_uclamp_rq_dec(&sys, rq, &late);
	fg_uclamp_rq_dec(&sys, rq, &late);
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

/* ---- what is in force ------------------------------------------------------------------------------------------- */

#define CHECK_IN_FORCE(p, min, max)                                                                                    \
	do {                                                                                                           \
		CHECK_EQ((p).uclamp_min, min);                                                                         \
		CHECK_EQ((p).uclamp_max, max);                                                                         \
	} while (0)

/* The group protects who asks for less than its minimum, and binds who asks for more than its maximum. */
TEST(a_group_is_floor_and_ceiling_of_requests)
{
	struct fg_clamps group = { .min = 200, .max = 600 };
	struct fg_task p;

	queue();
	p = task(0, 1024);
	ask(&p, 0, 0, 0, &group);
	CHECK_IN_FORCE(p, 200, 600);
	ask(&p, ASKS_BOTH, 100, 300, &group);
	CHECK_IN_FORCE(p, 200, 300);
	ask(&p, ASKS_BOTH, 700, 900, &group);
	CHECK_IN_FORCE(p, 600, 600);
	ask(&p, ASKS_BOTH, 50, 100, &group);
	CHECK_IN_FORCE(p, 200, 200);
	/* out of the group it has what it asked for */
	fg_uclamp_update(&sys, rq, &p, 0);
	CHECK_IN_FORCE(p, 50, 100);
}

/* Up to v5.13 the minimum of a group is the most its tasks get, and what those get that ask for none. */
TEST(a_group_once_was_a_ceiling_of_both_and_a_default)
{
	struct fg_clamps group = { .min = 200, .max = 600 };
	struct fg_task p;

	queue();
	sys.feat.value[FG_UCLAMP_PROTECT] = 0;
	p = task(0, 1024);
	ask(&p, 0, 0, 0, &group);
	CHECK_IN_FORCE(p, 200, 600);
	ask(&p, FG_TASK_ASKED_MIN, 700, 0, &group);
	CHECK_IN_FORCE(p, 200, 600);
	ask(&p, ASKS_BOTH, 100, 300, &group);
	CHECK_IN_FORCE(p, 100, 300);
}

TEST(limits_of_the_system_bind_whoever_asks_for_more)
{
	struct fg_clamps group = { .min = 500, .max = 1024 };
	struct fg_task p;

	queue();
	sys.uclamp_limit = (struct fg_clamps){ .min = 300, .max = 800 };
	p = task(0, 1024);
	ask(&p, 0, 0, 0, 0);
	CHECK_IN_FORCE(p, 0, 800);
	ask(&p, ASKS_BOTH, 400, 700, 0);
	CHECK_IN_FORCE(p, 300, 700);
	/* even what a group gives */
	fg_uclamp_update(&sys, rq, &p, &group);
	CHECK_IN_FORCE(p, 300, 700);
}

/* /a asks for 600..500: its floor cannot be above its ceiling. /a/b asks for all. */
TEST(a_group_has_no_more_than_the_one_around_it)
{
	struct fg_clamps root = { .min = 1024, .max = 1024 }, a, b;

	fg_uclamp_restrict(&root, &(struct fg_clamps){ .min = 600, .max = 500 }, &a);
	CHECK_EQ(a.min, 500);
	CHECK_EQ(a.max, 500);
	fg_uclamp_restrict(&a, &(struct fg_clamps){ .min = 1024, .max = 1024 }, &b);
	CHECK_EQ(b.min, 500);
	CHECK_EQ(b.max, 500);
	fg_uclamp_restrict(&a, &(struct fg_clamps){ .min = 100, .max = 400 }, &b);
	CHECK_EQ(b.min, 100);
	CHECK_EQ(b.max, 400);
}

/* The default boost comes with the class and goes with it; a request stays. */
TEST(rt_tasks_are_boosted_unless_they_ask)
{
	struct fg_task p;

	queue();
	sys.uclamp_min_rt = 700;
	p = task(0, 1024);
	p.policy = FG_SCHED_FIFO;
	ask(&p, 0, 0, 0, 0);
	CHECK_IN_FORCE(p, 700, 1024);
	p.policy = FG_SCHED_OTHER;
	ask(&p, 0, 0, 0, 0);
	CHECK_IN_FORCE(p, 0, 1024);
	/* a maximum alone takes nothing from the boost */
	p.policy = FG_SCHED_FIFO;
	ask(&p, 0, 0, 0, 0);
	ask(&p, FG_TASK_ASKED_MAX, 0, 900, 0);
	CHECK_IN_FORCE(p, 700, 900);
	ask(&p, ASKS_BOTH, 100, 900, 0);
	p.policy = FG_SCHED_RR;
	ask(&p, 0, 0, 0, 0);
	CHECK_IN_FORCE(p, 100, 900);
}

/* ---- changes of who is queued ----------------------------------------------------------------------------------- */

/* The queue follows at once: by the buckets of those that stay, and not as if it had idled in between. */
TEST(a_change_of_a_queued_task_is_a_change_of_its_queue)
{
	struct fg_clamps group = { .min = 0, .max = 450 };
	struct fg_task p, q;

	queue();
	p = task(300, 700);
	q = task(100, 500);
	fg_uclamp_rq_inc(&sys, rq, &p);
	ask(&p, ASKS_BOTH, 250, 650, 0);
	CHECK_CLAMPS(250, 650);
	CHECK_EQ(rq->uclamp_idle, 0);
	fg_uclamp_rq_inc(&sys, rq, &q);
	CHECK_CLAMPS(250, 650);
	/* its group is limited while it runs */
	fg_uclamp_update(&sys, rq, &p, &group);
	CHECK_CLAMPS(250, 500);
	fg_uclamp_rq_dec(&sys, rq, &p);
	CHECK_CLAMPS(100, 500);
	fg_uclamp_rq_dec(&sys, rq, &q);
	CHECK_CLAMPS(0, 500);
	for (u32 i = 0; i < FG_UCLAMP_BUCKETS; i++)
		CHECK_EQ(rq->uclamp[FG_UCLAMP_MIN].bucket[i].tasks + rq->uclamp[FG_UCLAMP_MAX].bucket[i].tasks, 0);
}

/* Up to v5.15 the change leaves the mark of an idle queue, so that the next task brings its own clamps alone. */
TEST(a_change_once_left_the_mark_of_an_idle_queue)
{
	struct fg_task p, q;

	queue();
	sys.feat.value[FG_UCLAMP_REINC] = 0;
	p = task(300, 700);
	q = task(100, 500);
	fg_uclamp_rq_inc(&sys, rq, &p);
	ask(&p, ASKS_BOTH, 250, 650, 0);
	CHECK_CLAMPS(250, 650);
	CHECK_EQ(rq->uclamp_idle, 1);
	fg_uclamp_rq_inc(&sys, rq, &q);
	CHECK_CLAMPS(100, 500);
	CHECK_EQ(rq->uclamp_idle, 0);
}

/* With 20 parts of 51 each 206 and 400 lie in different ones, 1020 and 1024 in the last. */
TEST(twenty_buckets_tell_more_apart)
{
	struct fg_task a, b, c;

	queue();
	sys.feat.value[FG_UCLAMP_NR_BUCKETS] = 1;
	a = task(400, 1024);
	b = task(206, 1024);
	c = task(1020, 1024);
	fg_uclamp_rq_inc(&sys, rq, &b);
	fg_uclamp_rq_inc(&sys, rq, &a);
	CHECK_CLAMPS(400, 1024);
	fg_uclamp_rq_dec(&sys, rq, &a);
	CHECK_CLAMPS(206, 1024);
	fg_uclamp_rq_inc(&sys, rq, &c);
	CHECK_EQ(rq->uclamp[FG_UCLAMP_MIN].bucket[19].tasks, 1);
	CHECK_EQ(rq->uclamp[FG_UCLAMP_MAX].bucket[19].tasks, 2);
}

#define TASKS 12

/* A second model of the clamps: for each bucket its tasks, and the largest clamp since it was last empty. */
struct model {
	u32 nr;
	u32 delta;
	u32 clamp[TASKS];
	u32 there[TASKS];
	u32 largest[FG_UCLAMP_BUCKETS];
	u32 last; /* of who left last */
};

static u32 model_part(const struct model *m, u32 value)
{
	return value / m->delta < m->nr ? value / m->delta : m->nr - 1;
}

static void model_leave(struct model *m, u32 who)
{
	u32 part = model_part(m, m->clamp[who]), left = 0;

	m->there[who] = 0;
	m->last = m->clamp[who];
	for (u32 i = 0; i < TASKS; i++)
		left += m->there[i] && model_part(m, m->clamp[i]) == part;
	if (!left)
		m->largest[part] = 0;
}

static void model_come(struct model *m, u32 who, u32 clamp)
{
	u32 part = model_part(m, clamp);

	m->there[who] = 1;
	m->clamp[who] = clamp;
	if (clamp > m->largest[part])
		m->largest[part] = clamp;
}

/* The queue's clamp; *max: the plain maximum of those there, *running: how many. */
static u32 model_value(const struct model *m, u32 idle, u32 *max, u32 *running)
{
	u32 value = idle;

	*max = *running = 0;
	for (u32 part = 0; part < m->nr; part++) {
		for (u32 i = 0; i < TASKS; i++) {
			if (!m->there[i] || model_part(m, m->clamp[i]) != part)
				continue;
			*max = m->clamp[i] > *max ? m->clamp[i] : *max;
			(*running)++;
			value = m->largest[part];
		}
	}
	return value;
}

/* The request within group and system, from the words of spec 2.8. */
static u32 model_in_force(u32 req, u32 grouped, const struct fg_clamps *group, u32 limit)
{
	if (grouped && req > group->max)
		req = group->max;
	if (grouped && req < group->min)
		req = group->min;
	return req < limit ? req : limit;
}

static void random_change(struct fg_task *t, struct fg_clamps *group, u32 *grouped)
{
	u32 min = rnd(1025), max = min + rnd(1025 - min);

	group->min = rnd(1025);
	group->max = group->min + rnd(1025 - group->min);
	*grouped = rnd(2);
	ask(t, ASKS_BOTH, min, max, *grouped ? group : 0);
	CHECK_EQ(t->uclamp_min, model_in_force(min, *grouped, group, sys.uclamp_limit.min));
	CHECK_EQ(t->uclamp_max, model_in_force(max, *grouped, group, sys.uclamp_limit.max));
}

/* A task comes, leaves, or changes its clamps where it is. The model sees what is in force. */
static void random_step(struct fg_task *p, struct model *m)
{
	u32 who = rnd(TASKS), what = rnd(3), grouped, was = p[who].uclamp_active;
	struct fg_clamps group;

	switch (what) {
	case 0:
		random_change(&p[who], &group, &grouped);
		break;
	case 1:
		fg_uclamp_rq_inc(&sys, rq, &p[who]);
		break;
	default:
		fg_uclamp_rq_dec(&sys, rq, &p[who]);
	}
	/* A task that is counted already is not counted again. */
	if (what == 1 && was)
		return;
	for (u32 id = 0; id < FG_NR_UCLAMPS; id++) {
		if (was)
			model_leave(&m[id], who);
		if (p[who].uclamp_active)
			model_come(&m[id], who, id ? p[who].uclamp_max : p[who].uclamp_min);
	}
}

/* The value is never below the clamp in force of a runnable task, and never of a higher part than their largest. */
static void buckets_against_the_model(u32 twenty)
{
	struct fg_task p[TASKS];
	struct model m[FG_NR_UCLAMPS] = { { .nr = twenty ? 20 : 5, .delta = twenty ? 51 : 205, .last = 1024 } };

	queue();
	sys.feat.value[FG_UCLAMP_NR_BUCKETS] = (u8)twenty;
	sys.uclamp_limit = (struct fg_clamps){ .min = 900, .max = 1000 };
	m[1] = m[0];
	for (u32 i = 0; i < TASKS; i++)
		p[i] = task(0, 1000);
	for (u32 step = 0; step < 30000 && !test_bad; step++) {
		u32 running = 0;

		random_step(p, m);
		for (u32 id = 0; id < FG_NR_UCLAMPS; id++) {
			u32 max, value = rq->uclamp[id].value;

			CHECK_EQ(value, model_value(&m[id], id ? m[id].last : 0, &max, &running));
			if (running)
				CHECK(value >= max && model_part(&m[id], value) == model_part(&m[id], max));
		}
		CHECK_EQ(rq->uclamp_idle, running == 0);
	}
}

TEST(buckets_are_a_maximum_over_runnable_tasks)
{
	buckets_against_the_model(0);
	buckets_against_the_model(1);
}

int main(void)
{
	RUN(the_queue_takes_the_largest_of_each_clamp);
	RUN(a_bucket_remembers_its_largest_until_it_is_empty);
	RUN(an_idle_queue_keeps_the_last_maximum_and_no_minimum);
	RUN(nothing_is_counted_before_the_first_request);
	RUN(fair_tasks_bring_their_clamps_with_enqueue_and_dequeue);
	RUN(a_group_is_floor_and_ceiling_of_requests);
	RUN(a_group_once_was_a_ceiling_of_both_and_a_default);
	RUN(limits_of_the_system_bind_whoever_asks_for_more);
	RUN(a_group_has_no_more_than_the_one_around_it);
	RUN(rt_tasks_are_boosted_unless_they_ask);
	RUN(a_change_of_a_queued_task_is_a_change_of_its_queue);
	RUN(a_change_once_left_the_mark_of_an_idle_queue);
	RUN(twenty_buckets_tell_more_apart);
	RUN(buckets_are_a_maximum_over_runnable_tasks);
	return test_report();
}
