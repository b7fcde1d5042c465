/* SPDX-License-Identifier: GPL-2.0-only */
/* The entity of a task group: its weight on a CPU, and how it comes and goes with its tasks. */
#include "group_kit.h"

static void kit_preset_debian612(void)
{
	kit_preset_v612();
	sys.feat.value[FG_TG_EMPTY_KEEPS] = 1;
	sys.feat.value[FG_PICK_BUDDY] = 1;
}

/* A task of no group, queued on CPU 1. */
static struct fg_task other(void)
{
	struct fg_task p = sleeper();

	p.tg = 0;
	return p;
}

static void load_elsewhere(u64 load)
{
	tg.load_avg = load + part->contribution;
}

TEST(a_group_has_its_shares_where_its_load_is)
{
	struct fg_task p;

	begin(kit_preset_v61);
	p = sleeper();
	enqueue(&p);
	CHECK_EQ(entity->shares, 1024 * 1024);
	CHECK_EQ(entity->weight, 1024);

	load_elsewhere(3072);
	update_group_share(&sys, rq, part);
	CHECK_EQ(entity->shares, 1024 * 1024 / 4);
	CHECK_EQ(entity->weight, 256);
	CHECK_EQ(rq->fair.load_weight, 256);

	load_elsewhere(1ull << 42);
	update_group_share(&sys, rq, part);
	CHECK_EQ(entity->shares, MIN_SHARES);
	CHECK_EQ(rq->fair.load_weight, MIN_WEIGHT);
}

/* What has been here counts if it is more than what is queued. */
TEST(load_that_is_more_than_what_is_queued_counts)
{
	begin(kit_preset_v61);
	part->queue.load_weight = 1024;
	part->avg.load_avg = 3072;
	load_elsewhere(1024);
	CHECK_EQ(group_shares(&sys, part), 1024 * 1024 / 4 * 3);
}

static void check_comes_and_goes(u8 kind)
{
	struct fg_task p, q;

	begin_rq(kit_preset_v61, kind);
	p = sleeper();
	q = sleeper();
	enqueue(&p);
	enqueue(&q);
	CHECK_EQ(entity->on_rq, 1);
	CHECK_EQ(rq->h_nr_running, 2);
	CHECK_EQ(rq->nr_nested, 1);
	CHECK_EQ(rq->fair.load_weight, 1024);
	CHECK_EQ(part->queue.load_weight, 2048);

	fg_dequeue_entity(&sys, rq, &p, FG_DEQUEUE_SLEEP);
	CHECK_EQ(entity->on_rq, 1);
	fg_dequeue_entity(&sys, rq, &q, FG_DEQUEUE_SLEEP);
	CHECK_EQ(entity->on_rq, 0);
	CHECK_EQ(rq->h_nr_running, 0);
	CHECK_EQ(rq->nr_nested, 0);
	CHECK_EQ(rq->fair.load_weight, 0);
}

TEST(a_group_is_queued_once_with_its_first_task_and_until_its_last)
{
	check_comes_and_goes(FG_RQ_CFS);
	check_comes_and_goes(FG_RQ_EEVDF);
	check_comes_and_goes(FG_RQ_EEVDF612);
}

/* With CFS the load follows the load_sum whenever the weight is looked at; EEVDF leaves it alone if that stays. */
TEST(with_cfs_a_group_is_reweighted_even_if_its_share_stays)
{
	struct fg_task p;

	for (u8 kind = FG_RQ_CFS; kind <= FG_RQ_EEVDF612; kind++) {
		begin_rq(kit_preset_v61, kind);
		p = sleeper();
		enqueue(&p);
		entity->avg.load_sum = PELT_MIN_DIVIDER / 2;
		update_group_share(&sys, rq, part);
		CHECK_EQ(entity->avg.load_avg, kind == FG_RQ_CFS ? 512 : 0);
		CHECK_EQ(rq->cfs.load_avg, entity->avg.load_avg);
	}
}

/* The entity is queued that far behind V, beside another; half of its shares go elsewhere. What it is behind then. */
static s64 lag_after_halving(u8 kind, u64 behind)
{
	struct fg_task p, q;
	u64 v;

	begin_rq(kit_preset_v612, kind);
	p = sleeper();
	q = other();
	enqueue(&p);
	enqueue(&q);
	avg_vruntime_sub(&sys, &rq->fair, entity);
	avg_vruntime_sub(&sys, &rq->fair, &q);
	entity->vruntime = rq->fair.min_vruntime - behind;
	q.vruntime = rq->fair.min_vruntime + behind;
	avg_vruntime_add(&sys, &rq->fair, entity);
	avg_vruntime_add(&sys, &rq->fair, &q);
	v = fg_avg_vruntime(&rq->fair);
	load_elsewhere(1024);
	update_group_share(&sys, rq, part);
	CHECK_EQ(entity->weight, 512);
	return (s64)(v - entity->vruntime);
}

/* A time by its weight; two slices of 1.5 ms are the most that v6.12 lets it keep. */
TEST(a_group_that_is_reweighted_keeps_its_lag)
{
	CHECK_EQ(lag_after_halving(FG_RQ_EEVDF, MS), 2 * MS);
	CHECK_EQ(lag_after_halving(FG_RQ_EEVDF, 50 * MS), 100 * MS);
	CHECK_EQ(lag_after_halving(FG_RQ_EEVDF612, MS), 2 * MS);
	CHECK_EQ(lag_after_halving(FG_RQ_EEVDF612, 50 * MS), 6 * MS);
}

/*
 * Vector 5. The entity is 1 ms behind V, beside another of weight 1024, and loses half of its weight. What it is behind
 * the old V then; how far the other is ahead of it.
 */
static s64 lag_after_placing(u8 how, u32 current, s64 *ahead)
{
	struct fg_task p, q;
	u64 v;

	begin_rq(kit_preset_v612, FG_RQ_EEVDF612);
	sys.feat.value[FG_REWEIGHT] = how;
	p = sleeper();
	q = other();
	enqueue(&p);
	enqueue(&q);
	if (current)
		fg_set_next_entity(&sys, rq, &p, 1);
	avg_vruntime_sub(&sys, &rq->fair, entity);
	avg_vruntime_sub(&sys, &rq->fair, &q);
	entity->vruntime = rq->fair.min_vruntime - MS;
	q.vruntime = rq->fair.min_vruntime + MS;
	avg_vruntime_add(&sys, &rq->fair, entity);
	avg_vruntime_add(&sys, &rq->fair, &q);
	v = fg_avg_vruntime(&rq->fair);
	load_elsewhere(1024);
	update_group_share(&sys, rq, part);
	CHECK_EQ(entity->weight, 512);
	*ahead = (s64)(q.vruntime - entity->vruntime);
	return (s64)(v - entity->vruntime);
}

/* 2 ms by its new weight. Placed, 3 ms behind the other, which is V without it: as far as without placing. */
TEST(an_entity_that_is_placed_again_comes_to_the_same_place)
{
	for (u8 how = FG_REWEIGHT_LAG; how <= FG_REWEIGHT_EXACT; how++) {
		s64 ahead;

		CHECK_EQ(lag_after_placing(how, 0, &ahead), 2 * MS);
		CHECK_EQ(ahead, 3 * MS);
	}
}

/*
 * With its weight of 512 a current entity counts in V, 1/3 ms, and in the load, which makes 2 ms of lag 2 * 2048 / 1536: it
 * comes to 7/3 ms behind.
 */
TEST(the_current_entity_falls_back_when_it_is_placed_again)
{
	s64 ahead;

	CHECK_EQ(lag_after_placing(FG_REWEIGHT_LAG, 1, &ahead), 2 * MS);
	CHECK_EQ(lag_after_placing(FG_REWEIGHT_PLACE, 1, &ahead), 2333333);
	CHECK_EQ(lag_after_placing(FG_REWEIGHT_SELF_OUT, 1, &ahead), 2333333);
	CHECK_EQ(lag_after_placing(FG_REWEIGHT_EXACT, 1, &ahead), 2 * MS);
}

/* The only task of a group in debt by a millisecond falls asleep, beside q. Half of the group's load is elsewhere. */
static void sleep_in_debt(void (*preset)(void), struct fg_task *p, struct fg_task *q)
{
	begin_rq(preset, FG_RQ_EEVDF612);
	*p = sleeper();
	*q = other();
	enqueue(p);
	enqueue(q);
	avg_vruntime_sub(&sys, &rq->fair, entity);
	entity->vruntime += MS;
	avg_vruntime_add(&sys, &rq->fair, entity);
	load_elsewhere(1024);
	update_group_share(&sys, rq, part);
	part->avg.load_avg = 256;
	fg_dequeue_entity(&sys, rq, p, FG_DEQUEUE_SLEEP);
	CHECK_EQ(p->on_rq, 0);
	CHECK_EQ(entity->on_rq, 1);
	CHECK(entity->flags & FG_TASK_DELAYED);
	CHECK_EQ(rq->h_nr_running, 1);
	CHECK_EQ(rq->nr_nested, -1);
}

/* Half of its weight had it with a task; a fifth it has by the 256 that are left of its load, beside 1024. */
TEST(an_empty_group_in_debt_keeps_its_weight_in_stable_trees_only)
{
	struct fg_task p, q;

	sleep_in_debt(kit_preset_debian612, &p, &q);
	CHECK_EQ(entity->weight, 512);
	sleep_in_debt(kit_preset_v612, &p, &q);
	CHECK_EQ(entity->weight, 1024 / 5);
	CHECK_EQ(rq->fair.load_weight, 1024 + 1024 / 5);
}

TEST(a_group_in_debt_is_awake_with_its_next_task)
{
	struct fg_task p, q;

	sleep_in_debt(kit_preset_debian612, &p, &q);
	enqueue(&p);
	CHECK_EQ(entity->on_rq, 1);
	CHECK(!(entity->flags & FG_TASK_DELAYED));
	CHECK_EQ(rq->nr_nested, 0);
	CHECK(!entity_eligible(&rq->fair, entity));
}

TEST(a_group_that_has_paid_is_gone_without_credit)
{
	struct fg_task p, q;

	sleep_in_debt(kit_preset_debian612, &p, &q);
	rq->fair.avg_vruntime += (s64)(q.weight * 50 * MS);
	q.vruntime += 50 * MS;
	fg_tg_dequeue_delayed(&sys, rq, &tg);
	CHECK_EQ(entity->on_rq, 0);
	CHECK(!(entity->flags & FG_TASK_DELAYED));
	CHECK_EQ(entity->vlag, 0);
	CHECK_EQ(rq->nr_nested, 0);
	CHECK_EQ(rq->fair.load_weight, q.weight);
}

/* Its time goes on when the CPU goes from one of its tasks to the next. */
TEST(a_group_has_the_cpu_until_a_task_of_another_does)
{
	struct fg_task p, q;

	begin(kit_preset_v61);
	p = sleeper();
	q = sleeper();
	enqueue(&p);
	enqueue(&q);
	entity->sum_exec = 5 * MS;
	fg_set_next_entity(&sys, rq, &p, 1);
	CHECK_EQ(entity->on_cpu, 1);
	CHECK_EQ(entity->exec_start, START);
	CHECK_EQ(entity->prev_sum_exec, 5 * MS);

	entity->sum_exec = 6 * MS;
	fg_put_prev_entity(&sys, rq, &p);
	fg_set_next_entity(&sys, rq, &q, 1);
	CHECK_EQ(entity->prev_sum_exec, 5 * MS);
	fg_put_prev_entity(&sys, rq, &q);
	fg_tg_put_prev(&sys, rq, &tg);
	CHECK_EQ(entity->on_cpu, 0);
}

/* A task that sleeps leaves the rest of its slice to the others of its group: with CFS, and in 6.12's stable tree. */
TEST(a_sleeper_leaves_its_slice_to_its_group)
{
	struct fg_task p, q;
	void (*const presets[])(void) = { kit_preset_v61, kit_preset_v612, kit_preset_debian612 };

	for (u32 i = 0; i < 3; i++) {
		begin_rq(presets[i], i ? FG_RQ_EEVDF612 : FG_RQ_CFS);
		p = sleeper();
		q = sleeper();
		enqueue(&p);
		enqueue(&q);
		fg_dequeue_entity(&sys, rq, &p, FG_DEQUEUE_SLEEP);
		CHECK(rq->fair.next == (i == 1 ? 0 : entity));
	}
}

/* Whether a woken task takes the CPU from curr, the other being of the group and queued as deep in virtual time. */
static u32 preempts(u8 kind, u32 curr_policy, u32 policy, u32 curr_in_group)
{
	struct fg_task nested, plain, *curr, *p;

	begin_rq(kit_preset_v612, kind);
	nested = sleeper();
	plain = other();
	curr = curr_in_group ? &nested : &plain;
	p = curr_in_group ? &plain : &nested;
	curr->policy = (u8)curr_policy;
	p->policy = (u8)policy;
	enqueue(curr);
	fg_set_next_entity(&sys, rq, curr, 1);
	enqueue(p);
	return check_preempt(&sys, rq, p, curr_in_group ? p : entity, 0);
}

/* v6.12 judges those who compete: a group is not SCHED_IDLE, be its task. Before it the tasks were judged. */
TEST(a_group_of_idle_tasks_gives_way_to_nobody_since_v612)
{
	CHECK_EQ(preempts(FG_RQ_EEVDF, FG_SCHED_IDLE, FG_SCHED_OTHER, 1), 1);
	CHECK_EQ(preempts(FG_RQ_EEVDF612, FG_SCHED_IDLE, FG_SCHED_OTHER, 1), 0);
	CHECK_EQ(preempts(FG_RQ_EEVDF, FG_SCHED_IDLE, FG_SCHED_IDLE, 0), 0);
	CHECK_EQ(preempts(FG_RQ_EEVDF612, FG_SCHED_IDLE, FG_SCHED_IDLE, 0), 1);
	CHECK_EQ(preempts(FG_RQ_EEVDF612, FG_SCHED_IDLE, FG_SCHED_OTHER, 0), 1);
}

/* What is left of its protection, 1 ms, is twice as much in the virtual time of half the weight. */
TEST(a_placed_group_takes_its_protection_along_since_v70)
{
	for (u8 on = 0; on < 2; on++) {
		struct fg_task p, q;
		u64 was;

		begin_rq(kit_preset_v612, FG_RQ_EEVDF612);
		sys.feat.value[FG_REWEIGHT] = FG_REWEIGHT_SELF_OUT;
		sys.feat.value[FG_PROTECT] = FG_PROTECT_VPROT;
		sys.feat.value[FG_PROTECT_FIRST] = on;
		p = sleeper();
		q = other();
		enqueue(&p);
		enqueue(&q);
		fg_set_next_entity(&sys, rq, &p, 1);
		avg_vruntime_sub(&sys, &rq->fair, entity);
		entity->vruntime += MS;
		avg_vruntime_add(&sys, &rq->fair, entity);
		was = entity->vprot = entity->vruntime + MS;
		load_elsewhere(1024);
		update_group_share(&sys, rq, part);
		CHECK_EQ(entity->weight, 512);
		CHECK(entity->vprot == (on ? entity->vruntime + 2 * MS : was));
	}
}

/* The slice of the task that brings it: 1 ms, of which the first half is no discount for a group. */
TEST(a_group_joins_with_the_slice_of_its_task)
{
	for (u32 asks = 0; asks < 2; asks++) {
		struct fg_task p, q;

		begin_rq(kit_preset_v612, FG_RQ_EEVDF612);
		q = other();
		enqueue(&q);
		p = sleeper();
		p.custom_slice = asks ? 1 * MS : 0;
		enqueue(&p);
		CHECK_EQ(entity->custom_slice, p.custom_slice);
		CHECK_EQ(entity->deadline - entity->vruntime, asks ? 1 * MS : 1500000);
		/* what it has stays until the caller says otherwise */
		p = sleeper();
		p.custom_slice = 2 * MS;
		enqueue(&p);
		CHECK_EQ(entity->custom_slice, asks ? 1 * MS : 0);
	}
}

/* Groups within one another: of the run queue's load 2000 * 500 / 2001, of that 250 / 1001, of that 100 / 801. */
TEST(a_group_has_its_part_of_the_load_of_what_it_is_in)
{
	static struct fg_tg_cpu inner_parts[FG_NR_CPUS], innermost_parts[FG_NR_CPUS];
	struct fg_tg inner = { .cpus = inner_parts, .parent = &tg, .depth = 1, .shares = 1024 * 1024 };
	struct fg_tg innermost = { .cpus = innermost_parts, .parent = &inner, .depth = 2, .shares = 1024 * 1024 };
	struct fg_tg_cpu *in = &inner_parts[1], *most = &innermost_parts[1];

	begin(kit_preset_v612);
	memset(inner_parts, 0, sizeof(inner_parts));
	memset(innermost_parts, 0, sizeof(innermost_parts));
	fg_tg_init(&sys, &inner);
	fg_tg_init(&sys, &innermost);
	rq->cfs.load_avg = 2000;
	entity->avg.load_avg = 500;
	part->avg.load_avg = 1000;
	in->entity.avg.load_avg = 250;
	in->avg.load_avg = 800;
	most->entity.avg.load_avg = 100;
	CHECK_EQ(queue_h_load(rq, 0, 7), 2000);
	CHECK_EQ(queue_h_load(rq, part, 7), 499);
	CHECK_EQ(queue_h_load(rq, in, 7), 124);
	CHECK_EQ(queue_h_load(rq, most, 7), 15);
	/* What is as of this jiffy is not computed again; what is of an older one is. */
	in->h_load = 400;
	in->h_load_stamp = 8;
	CHECK_EQ(queue_h_load(rq, in, 7), 400);
	CHECK_EQ(queue_h_load(rq, most, 7), 49);
	CHECK_EQ(queue_h_load(rq, most, 8), 15);
	rq->h_load = 1000;
	rq->h_load_stamp = 9;
	CHECK_EQ(queue_h_load(rq, part, 8), 249);
}

int main(void)
{
	RUN(a_group_has_its_shares_where_its_load_is);
	RUN(load_that_is_more_than_what_is_queued_counts);
	RUN(a_group_is_queued_once_with_its_first_task_and_until_its_last);
	RUN(with_cfs_a_group_is_reweighted_even_if_its_share_stays);
	RUN(a_group_that_is_reweighted_keeps_its_lag);
	RUN(an_entity_that_is_placed_again_comes_to_the_same_place);
	RUN(the_current_entity_falls_back_when_it_is_placed_again);
	RUN(an_empty_group_in_debt_keeps_its_weight_in_stable_trees_only);
	RUN(a_group_in_debt_is_awake_with_its_next_task);
	RUN(a_group_that_has_paid_is_gone_without_credit);
	RUN(a_group_has_the_cpu_until_a_task_of_another_does);
	RUN(a_sleeper_leaves_its_slice_to_its_group);
	RUN(a_group_of_idle_tasks_gives_way_to_nobody_since_v612);
	RUN(a_placed_group_takes_its_protection_along_since_v70);
	RUN(a_group_joins_with_the_slice_of_its_task);
	RUN(a_group_has_its_part_of_the_load_of_what_it_is_in);
	return test_report();
}
