/* SPDX-License-Identifier: GPL-2.0-only */
/* Task groups as since v7.1: weights with fractions; as since v7.3: what part of its shares a group has, and tasks alone compete. */
#include "group_kit.h"

#define NICE_0 (1024 * 1024)

/* What v7.2 has of them. */
static void preset_v72(void)
{
	u8 *f = sys.feat.value;

	kit_preset_v612();
	f[FG_RQ] = FG_RQ_EEVDF612;
	f[FG_TG_EMPTY_KEEPS] = 1;
	f[FG_TG_LOAD_RATE] = 1;
	f[FG_PICK_BUDDY] = 1;
	f[FG_REWEIGHT] = FG_REWEIGHT_EXACT;
	f[FG_LAG_CLAMP] = FG_LAG_CLAMP_QUEUE;
	f[FG_DELAY_LAG] = 1;
	f[FG_PROTECT] = FG_PROTECT_VPROT;
	f[FG_WEIGHT_BITS] = FG_WEIGHT_BITS_20;
	f[FG_TG_DECAYED] = 1;
}

static void preset_v73(void)
{
	preset_v72();
	sys.feat.value[FG_FLAT_PICK] = 1;
	sys.feat.value[FG_GROUP_SHARES] = FG_GROUP_SHARES_CONCUR;
}

static struct fg_task other(void)
{
	struct fg_task p = sleeper();

	p.tg = 0;
	return p;
}

/* p, current, has run for ns. */
static void run(u64 ns)
{
	rq->clock = rq->clock_task = rq->clock_pelt = rq->clock + ns;
	fg_update_curr(&sys, rq, 0);
}

static s64 lag(const struct fg_task *p)
{
	return (s64)(fg_avg_vruntime(&rq->fair) - p->vruntime);
}

/* ---- weight-bits ---- */

/* A group of shares 40 has 40 of 1024ths, or, rounded, the least weight, 2. */
TEST(a_group_with_little_weight_pays_by_the_fractions_of_it_since_v71)
{
	struct fg_task e = { .weight = 2, .shares = 40 };

	begin(preset_v72);
	CHECK_EQ(calc_delta_fair(&sys, 1000, &e), 1000ull * NICE_0 / 40);
	sys.feat.value[FG_WEIGHT_BITS] = FG_WEIGHT_BITS_10;
	CHECK_EQ(calc_delta_fair(&sys, 1000, &e), 512000);
}

/* Weights of 1.5 and 1 beside each other: 10 bits take the one for 1. */
static u64 average(u8 bits)
{
	struct fg_queue q = { 0 };
	struct fg_task a = { .weight = 1, .shares = 1536 }, b = { .weight = 1, .vruntime = 1000 };

	begin(preset_v72);
	sys.feat.value[FG_WEIGHT_BITS] = bits;
	avg_vruntime_add(&sys, &q, &a);
	avg_vruntime_add(&sys, &q, &b);
	return fg_avg_vruntime(&q);
}

TEST(the_average_of_a_queue_counts_fractions_of_weights)
{
	CHECK_EQ(average(FG_WEIGHT_BITS_20), 400);
	CHECK_EQ(average(FG_WEIGHT_BITS_10), 500);
}

/* ---- group-shares (spec-new 3.2, vectors 3 and 4) ---- */

static u64 shares_by(u8 how, u64 tasks, u64 load, u64 others)
{
	begin(preset_v73);
	sys.nr_cpus = 4;
	sys.feat.value[FG_GROUP_SHARES] = how;
	part->queue.load_weight = load;
	tg.load_avg = others;
	tg.runnable_avg = tasks * 1024 + 500;
	return group_shares(&sys, part);
}

TEST(what_part_of_its_shares_a_group_has_goes_by_the_mode)
{
	CHECK_EQ(shares_by(FG_GROUP_SHARES_SMP, 2, 1024, 1024), 524288);
	CHECK_EQ(shares_by(FG_GROUP_SHARES_CONCUR, 2, 1024, 1024), 1048576);
	CHECK_EQ(shares_by(FG_GROUP_SHARES_TASKS, 2, 1024, 1024), 1048576);
	CHECK_EQ(shares_by(FG_GROUP_SHARES_MAX, 2, 1024, 1024), 2097152);
	CHECK_EQ(shares_by(FG_GROUP_SHARES_UP, 2, 1024, 1024), 1048576);

	CHECK_EQ(shares_by(FG_GROUP_SHARES_SMP, 8, 2048, 8192 - 2048), 262144);
	CHECK_EQ(shares_by(FG_GROUP_SHARES_CONCUR, 8, 2048, 8192 - 2048), 1048576);
	CHECK_EQ(shares_by(FG_GROUP_SHARES_TASKS, 8, 2048, 8192 - 2048), 2097152);
}

TEST(shares_have_a_least_and_a_most)
{
	u64 many = 1ull << 42;

	CHECK_EQ(shares_by(FG_GROUP_SHARES_CONCUR, 0, 1024, many), 2);
	/* Without a task to be seen it has the shares of one. */
	CHECK_EQ(shares_by(FG_GROUP_SHARES_CONCUR, 0, 1024, 0), NICE_0);
	begin(preset_v73);
	sys.nr_cpus = 512;
	sys.feat.value[FG_GROUP_SHARES] = FG_GROUP_SHARES_MAX;
	part->queue.load_weight = 1024;
	CHECK_EQ(group_shares(&sys, part), 88761ull * 1024);
}

/* How many tasks a group has follows from its runnable time, of which a CPU tells as it tells of load. */
TEST(a_cpu_contributes_to_the_runnable_time_of_a_group)
{
	begin(preset_v73);
	part->avg.load_avg = part->contribution = tg.load_avg = 1000;
	part->avg.runnable_avg = 2048;
	part->contributed = START - 2 * MS;
	contribute(&sys, rq, part);
	CHECK_EQ(tg.runnable_avg, 2048);
	CHECK_EQ(part->runnable_contribution, 2048);

	part->avg.runnable_avg = 4096;
	contribute(&sys, rq, part);
	CHECK_EQ(tg.runnable_avg, 2048);
	rq->clock += MS;
	part->avg.runnable_avg = 2048 + 32;
	contribute(&sys, rq, part);
	CHECK_EQ(tg.runnable_avg, 2048);
	part->avg.runnable_avg = 2048 + 33;
	contribute(&sys, rq, part);
	CHECK_EQ(tg.runnable_avg, 2048 + 33);

	/* Before it nobody asks. */
	sys.feat.value[FG_GROUP_SHARES] = FG_GROUP_SHARES_SMP;
	rq->clock += MS;
	part->avg.load_avg = 2000;
	contribute(&sys, rq, part);
	CHECK_EQ(tg.load_avg, 2000);
	CHECK_EQ(tg.runnable_avg, 0);
}

/* ---- tg-decayed ---- */

/* What a CPU still has in the load of a group that left no other trace there. */
static u64 left_behind(u32 decayed)
{
	begin(preset_v72);
	sys.feat.value[FG_TG_DECAYED] = (u8)decayed;
	part->contribution = tg.load_avg = 7;
	part->contributed = START - 2 * MS;
	rq->clock_pelt += 8 * MS;
	fg_update_blocked_averages(&sys, rq);
	return tg.load_avg;
}

TEST(a_group_is_looked_after_until_it_is_out_of_the_load_since_v618)
{
	CHECK_EQ(left_behind(1), 0);
	CHECK_EQ(left_behind(0), 7);
}

/* ---- flat-pick (spec-new 3.1) ---- */

/* Vector 1: two tasks of nice 0 have a half of their group's weight each. The one that waits learns of it when picked. */
TEST(tasks_compete_by_their_parts_of_the_cpu)
{
	struct fg_task p, q, plain;

	begin(preset_v73);
	p = sleeper();
	q = sleeper();
	plain = other();
	enqueue(&p);
	CHECK_EQ(p.h_load, NICE_0);
	enqueue(&plain);
	CHECK_EQ(plain.h_load, NICE_0);
	enqueue(&q);
	CHECK_EQ(q.h_load, NICE_0 / 2);
	CHECK_EQ(p.h_load, NICE_0);
	CHECK_EQ(rq->fair.sum_weight, NICE_0 * 2 + NICE_0 / 2);
	CHECK_EQ(rq->fair.load_weight, 2048);

	fg_set_next_entity(&sys, rq, &p, 1);
	CHECK_EQ(p.h_load, NICE_0 / 2);
	CHECK_EQ(rq->fair.sum_weight, NICE_0 * 2);
	/* Its time is worth twice as much. */
	q.vruntime = plain.vruntime = p.vruntime;
	run(MS);
	CHECK_EQ((s64)(p.vruntime - q.vruntime), 2 * MS);
}

/* At a tick the current task does. */
TEST(a_tick_tells_the_current_task_of_its_part)
{
	struct fg_task p, q;

	begin(preset_v73);
	p = sleeper();
	q = sleeper();
	enqueue(&p);
	fg_set_next_entity(&sys, rq, &p, 1);
	enqueue(&q);
	CHECK_EQ(p.h_load, NICE_0);
	fg_entity_tick(&sys, rq, 0);
	CHECK_EQ(p.h_load, NICE_0 / 2);
	CHECK_EQ(rq->fair.sum_weight, NICE_0);
}

/* Vector 2: nice 5 beside nice 0 in a group that is alone in one of weight 512. */
TEST(a_part_of_a_part_is_rounded_level_by_level)
{
	static struct fg_tg_cpu inner_parts[FG_NR_CPUS];
	struct fg_tg inner = { .cpus = inner_parts, .parent = &tg, .depth = 1, .shares = NICE_0 };
	struct fg_task p = { .tg = &inner, .weight = 335 };

	begin(preset_v73);
	memset(inner_parts, 0, sizeof(inner_parts));
	fg_tg_init(&sys, &inner);
	inner_parts[1].load_shares = (335 + 1024) * 1024;
	part->load_shares = NICE_0;
	part->entity.shares = 512 * 1024;
	CHECK_EQ(task_prop_weight(rq, &p), 129239);
}

/* Who sleeps in debt stays queued as a task; its group, and the load of that, is what the tasks make it. */
TEST(only_tasks_are_delayed)
{
	struct fg_task p, plain;

	begin(preset_v73);
	p = sleeper();
	plain = other();
	enqueue(&p);
	enqueue(&plain);
	fg_set_next_entity(&sys, rq, &p, 1);
	run(5 * MS);
	fg_dequeue_entity(&sys, rq, &p, FG_DEQUEUE_SLEEP);
	CHECK(p.flags & FG_TASK_DELAYED);
	CHECK_EQ(entity->on_rq, 1);
	CHECK_EQ(rq->fair.load_weight, 2048);

	fg_put_prev_entity(&sys, rq, &p);
	fg_tg_put_prev(&sys, rq, &tg);
	fg_dequeue_entity(&sys, rq, &p, FG_DEQUEUE_SLEEP | FG_DEQUEUE_DELAYED);
	CHECK_EQ(entity->on_rq, 0);
	CHECK(!(entity->flags & FG_TASK_DELAYED));
	CHECK_EQ(rq->fair.load_weight, 1024);
	CHECK_EQ(rq->fair.sum_weight, NICE_0);
	CHECK_EQ(rq->h_nr_running, 1);
	CHECK_EQ(rq->h_nr_delayed, 0);
}

/* A task takes its debt along in real time: by the weight that it left with, in the weight that it comes back with. */
TEST(a_debt_is_the_same_time_by_another_part)
{
	struct fg_task p, q, plain;

	begin(preset_v73);
	p = sleeper();
	q = sleeper();
	plain = other();
	enqueue(&plain);
	enqueue(&q);
	p.vlag = -(s64)MS;
	p.h_load = NICE_0;
	enqueue(&p);
	CHECK_EQ(p.h_load, NICE_0 / 2);
	CHECK_EQ(p.vlag, -2 * (s64)MS);
	CHECK_EQ(lag(&p), -2 * (s64)MS);
}

/* A current task whose part changes keeps its lag, the rest of its slice and the rest of its protection, in time. */
TEST(what_is_left_is_the_same_time_by_another_part)
{
	struct fg_task p, q, plain;
	s64 owed, left, protected;
	u64 v;

	begin(preset_v73);
	p = sleeper();
	q = sleeper();
	plain = other();
	enqueue(&p);
	enqueue(&plain);
	fg_set_next_entity(&sys, rq, &p, 1);
	run(MS / 2);
	enqueue(&q);
	v = fg_avg_vruntime(&rq->fair);
	owed = lag(&p);
	left = (s64)(p.deadline - v);
	protected = (s64)(p.vprot - v);
	CHECK(owed < 0 && protected > 0);
	fg_entity_tick(&sys, rq, 0);
	CHECK_EQ(p.h_load, NICE_0 / 2);
	CHECK_EQ((s64)(v - p.vruntime), 2 * owed);
	CHECK_EQ((s64)(p.deadline - v), 2 * left);
	CHECK_EQ((s64)(p.vprot - v), 2 * protected);
}

/* Before it, who sleeps leaves the rest of its slice to its group. */
TEST(a_sleeper_leaves_its_slice_to_nobody)
{
	struct fg_task p, q;

	for (u32 flat = 0; flat < 2; flat++) {
		begin(flat ? preset_v73 : preset_v72);
		p = sleeper();
		q = sleeper();
		enqueue(&p);
		enqueue(&q);
		fg_dequeue_entity(&sys, rq, &p, FG_DEQUEUE_SLEEP);
		CHECK(rq->fair.next == (flat ? 0 : entity));
	}
}

/* It is tasks that a wakeup compares: a SCHED_IDLE one makes way whatever group it is in. */
TEST(an_idle_task_of_a_group_makes_way)
{
	struct fg_task p, plain;

	for (u32 flat = 0; flat < 2; flat++) {
		begin(flat ? preset_v73 : preset_v72);
		p = sleeper();
		plain = other();
		p.policy = FG_SCHED_IDLE;
		enqueue(&p);
		fg_set_next_entity(&sys, rq, &p, 1);
		enqueue(&plain);
		CHECK_EQ(fg_check_preempt_wakeup(&sys, rq, &plain, flat ? &plain : 0, 0),
			 flat ? FG_PICK_RULE_PREEMPT_IDLE : FG_PICK_RULE_WAKE_PROTECTED);
	}
}

/* Whether a task that has had more than its share may move to a CPU where only another group has tasks. */
static u32 may_move(void (*preset)(void))
{
	struct fg_balance b = { .src_cpu = 1, .dst_cpu = 0 };
	struct fg_task p, q, plain;

	begin(preset);
	p = sleeper();
	q = sleeper();
	plain = other();
	enqueue(&p);
	enqueue(&q);
	fg_enqueue_entity(&sys, &cpus[0], &plain, FG_ENQUEUE_WAKEUP);
	fg_set_next_entity(&sys, rq, &p, 1);
	run(MS);
	return !ineligible_at_dst(&sys, &b, &p);
}

TEST(where_it_would_have_to_wait_is_the_whole_cpu)
{
	CHECK_EQ(may_move(preset_v72), 1);
	CHECK_EQ(may_move(preset_v73), 0);
}

int main(void)
{
	RUN(a_group_with_little_weight_pays_by_the_fractions_of_it_since_v71);
	RUN(the_average_of_a_queue_counts_fractions_of_weights);
	RUN(what_part_of_its_shares_a_group_has_goes_by_the_mode);
	RUN(shares_have_a_least_and_a_most);
	RUN(a_cpu_contributes_to_the_runnable_time_of_a_group);
	RUN(a_group_is_looked_after_until_it_is_out_of_the_load_since_v618);
	RUN(tasks_compete_by_their_parts_of_the_cpu);
	RUN(a_tick_tells_the_current_task_of_its_part);
	RUN(a_part_of_a_part_is_rounded_level_by_level);
	RUN(only_tasks_are_delayed);
	RUN(a_debt_is_the_same_time_by_another_part);
	RUN(what_is_left_is_the_same_time_by_another_part);
	RUN(a_sleeper_leaves_its_slice_to_nobody);
	RUN(an_idle_task_of_a_group_makes_way);
	RUN(where_it_would_have_to_wait_is_the_whole_cpu);
	return test_report();
}
