/* SPDX-License-Identifier: GPL-2.0-only */
/* The CFS run queue of spec 9.1. Eight CPUs: latency 24 ms, minimum 3 ms, wakeup 4 ms. */
#include "kit.h"

#define MS 1000000ull

static struct fg_cpu *rq;

static void queue(void)
{
	kit_init(8);
	rq = &cpus[0];
	rq->clock_task = 1000 * MS;
	rq->fair.min_vruntime = 1000 * MS;
}

static struct fg_task task(u32 id, u64 vruntime)
{
	struct fg_task p = kit_task(id, 0);

	p.vruntime = vruntime;
	return p;
}

/* p is queued, with its vruntime as it is. */
static void enqueue(struct fg_task *p)
{
	u64 v = p->vruntime;

	fg_enqueue_entity(&sys, rq, p, 0);
	p->vruntime = v;
}

static void run(struct fg_task *p)
{
	rq->curr_is_idle = 0;
	fg_set_next_entity(&sys, rq, p, 1);
}

TEST(weights_follow_nice_and_policy)
{
	struct fg_task p;

	kit_init(1);
	p = kit_task(1, 0);
	p.nice = -20;
	fg_set_load_weight(&p);
	CHECK_EQ(p.weight, 88761);
	p.nice = 0;
	fg_set_load_weight(&p);
	CHECK_EQ(p.weight, 1024);
	p.nice = 19;
	fg_set_load_weight(&p);
	CHECK_EQ(p.weight, 15);
	p.nice = 100;
	fg_set_load_weight(&p);
	CHECK_EQ(p.weight, 15);
	p.policy = FG_SCHED_IDLE;
	fg_set_load_weight(&p);
	CHECK_EQ(p.weight, 3);
}

TEST(latency_grows_with_cpus_up_to_eight)
{
	static const u32 v[][2] = { { 1, 1 }, { 2, 2 }, { 3, 2 }, { 4, 3 }, { 7, 3 }, { 8, 4 }, { 1024, 4 } };

	for (u32 i = 0; i < 7; i++) {
		kit_init(v[i][0]);
		CHECK_EQ(tunable_factor(&sys), v[i][1]);
	}
}

TEST(running_is_charged_by_weight)
{
	struct fg_task a, left;

	queue();
	a = task(1, 1000 * MS);
	left = task(2, 1002 * MS);
	a.weight = 512;
	enqueue(&a);
	run(&a);
	rq->clock_task += 3 * MS;
	fg_update_curr(&sys, rq, &left);
	CHECK_EQ(a.sum_exec, 3 * MS);
	CHECK_EQ(a.vruntime, 1006 * MS);
	/* follows the leftmost, never back */
	CHECK_EQ(rq->fair.min_vruntime, 1002 * MS);
	left.vruntime = 900 * MS;
	fg_update_min_vruntime(&sys, rq, &left);
	CHECK_EQ(rq->fair.min_vruntime, 1002 * MS);
	fg_update_curr(&sys, rq, &left);
	CHECK_EQ(a.sum_exec, 3 * MS);
}

TEST(vruntimes_may_wrap)
{
	CHECK(vruntime_before(~0ull - 5, 10));
	CHECK_EQ(vruntime_max(~0ull - 5, 10), 10);
	CHECK_EQ(vruntime_min(~0ull - 5, 10), ~0ull - 5);
}

TEST(sleepers_get_half_a_latency_children_wait_a_slice)
{
	struct fg_task a, p, child;

	queue();
	p = task(1, 10 * MS);
	fg_enqueue_entity(&sys, rq, &p, FG_ENQUEUE_WAKEUP);
	CHECK_EQ(p.vruntime, 988 * MS);
	fg_dequeue_entity(&sys, rq, &p, FG_DEQUEUE_SLEEP);
	/* slept less than that: own vruntime */
	p.vruntime = 995 * MS;
	fg_enqueue_entity(&sys, rq, &p, FG_ENQUEUE_WAKEUP);
	CHECK_EQ(p.vruntime, 995 * MS);
	fg_dequeue_entity(&sys, rq, &p, FG_DEQUEUE_SLEEP);

	a = task(2, 1001 * MS);
	enqueue(&a);
	run(&a);
	child = task(3, 0);
	child.flags = FG_TASK_NEW;
	/* two tasks of equal weight: a slice is 12 ms */
	fg_task_fork(&sys, rq, &child);
	CHECK_EQ(child.vruntime, 12 * MS);
	/* on another CPU it is as far behind */
	cpus[1].fair.min_vruntime = 50 * MS;
	fg_enqueue_entity(&sys, &cpus[1], &child, FG_ENQUEUE_INITIAL);
	CHECK_EQ(child.vruntime, 62 * MS);
	CHECK(!(child.flags & FG_TASK_NEW));
	/* a parent further ahead than a slice takes the child with it */
	a.vruntime = 1020 * MS;
	child = task(4, 0);
	fg_task_fork(&sys, rq, &child);
	CHECK_EQ(child.vruntime, 20 * MS);
}

TEST(migration_keeps_the_distance_to_min_vruntime)
{
	struct fg_task p;

	queue();
	p = task(1, 1007 * MS);
	cpus[1].fair.min_vruntime = 5000 * MS;
	fg_migrate_task(&sys, rq, &p);
	CHECK_EQ(p.vruntime, 7 * MS);
	fg_enqueue_entity(&sys, &cpus[1], &p, FG_ENQUEUE_WAKEUP | FG_ENQUEUE_MIGRATED);
	CHECK_EQ(p.vruntime, 5007 * MS);
	fg_dequeue_entity(&sys, &cpus[1], &p, FG_DEQUEUE_MOVE);
	CHECK_EQ(p.vruntime, 7 * MS);
	CHECK_EQ(p.exec_start, 0);
	fg_enqueue_entity(&sys, rq, &p, 0);
	CHECK_EQ(p.vruntime, 1007 * MS);
}

TEST(counts_and_flags_of_the_queue)
{
	struct fg_task a, b;

	queue();
	a = task(1, 0);
	b = task(2, 0);
	b.policy = FG_SCHED_IDLE;
	fg_set_load_weight(&b);
	enqueue(&a);
	CHECK_EQ(root.overload, 0);
	enqueue(&b);
	CHECK_EQ(root.overload, 1);
	CHECK_EQ(rq->nr_running, 2);
	CHECK_EQ(rq->h_nr_running, 2);
	CHECK_EQ(rq->idle_h_nr_running, 1);
	CHECK_EQ(rq->fair.load_weight, 1027);
	fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_SLEEP);
	CHECK_EQ(rq->fair.load_weight, 3);
	CHECK(sched_idle_rq(rq));
	fg_dequeue_entity(&sys, rq, &b, FG_DEQUEUE_SLEEP);
	CHECK_EQ(rq->nr_running, 0);
	CHECK_EQ(rq->idle_h_nr_running, 0);
}

TEST(pick_takes_the_leftmost_or_a_buddy_near_it)
{
	struct fg_task a, b, c;

	queue();
	CHECK(!pick_entity(&sys, rq, 0, 0));
	a = task(1, 1000 * MS);
	b = task(2, 1003 * MS);
	c = task(3, 1004 * MS);
	enqueue(&a);
	enqueue(&b);
	enqueue(&c);
	CHECK(pick_entity(&sys, rq, &a, &b) == &a);
	/* last within the wakeup granularity of 4 ms, beyond it not; next before last */
	rq->fair.last = &c;
	CHECK(pick_entity(&sys, rq, &a, &b) == &c);
	c.vruntime++;
	CHECK(pick_entity(&sys, rq, &a, &b) == &a);
	c.vruntime--;
	rq->fair.next = &b;
	CHECK(pick_entity(&sys, rq, &a, &b) == &b);
	/* a heavy leftmost grants less */
	a.weight = 2048;
	CHECK(pick_entity(&sys, rq, &a, &b) == &a);
	a.weight = 1024;
	fg_clear_buddies(&sys, rq, &b);
	fg_clear_buddies(&sys, rq, &c);
	CHECK(pick_entity(&sys, rq, &a, &b) == &a);
	/* skip */
	rq->fair.skip = &a;
	CHECK(pick_entity(&sys, rq, &a, &b) == &b);
	b.vruntime = 1005 * MS;
	CHECK(pick_entity(&sys, rq, &a, &b) == &a);
	/* current competes while it is on the queue */
	rq->fair.skip = 0;
	run(&a);
	a.vruntime = 1010 * MS;
	CHECK(pick_entity(&sys, rq, &c, &b) == &c);
	a.vruntime = 999 * MS;
	CHECK(pick_entity(&sys, rq, &c, &b) == &a);
	CHECK(pick_entity(&sys, rq, 0, 0) == &a);
	a.on_rq = 0;
	CHECK(pick_entity(&sys, rq, &c, &b) == &c);
	CHECK(!pick_entity(&sys, rq, 0, 0));
}

TEST(yield_lets_the_next_one_run_if_that_is_fair)
{
	struct fg_task a, b;

	queue();
	a = task(1, 1000 * MS);
	b = task(2, 1002 * MS);
	enqueue(&a);
	run(&a);
	fg_yield(&sys, rq);
	CHECK(!rq->fair.skip);
	enqueue(&b);
	rq->fair.next = &a;
	fg_yield(&sys, rq);
	CHECK(rq->fair.skip == &a);
	CHECK(!rq->fair.next);
	CHECK(pick_entity(&sys, rq, &b, 0) == &b);
	b.vruntime = 1005 * MS;
	CHECK(pick_entity(&sys, rq, &b, 0) == &a);
}

TEST(the_tick_ends_slices)
{
	struct fg_task a, b;

	queue();
	a = task(1, 1000 * MS);
	b = task(2, 1000 * MS);
	enqueue(&a);
	run(&a);
	a.sum_exec = 100 * MS;
	CHECK_EQ(fg_entity_tick(&sys, rq, 0), 0);
	enqueue(&b);
	a.sum_exec = 12 * MS;
	CHECK_EQ(fg_entity_tick(&sys, rq, &b), 0);
	rq->fair.last = &a;
	a.sum_exec = 12 * MS + 1;
	CHECK(fg_entity_tick(&sys, rq, &b));
	CHECK(!rq->fair.last);
	/* a whole slice ahead of the leftmost, but not before the minimum */
	a.vruntime = 1012 * MS + 1;
	a.sum_exec = 3 * MS - 1;
	CHECK_EQ(fg_entity_tick(&sys, rq, &b), 0);
	a.sum_exec = 3 * MS;
	CHECK(fg_entity_tick(&sys, rq, &b));
	a.vruntime--;
	CHECK_EQ(fg_entity_tick(&sys, rq, &b), 0);
	/* nine tasks: period 27 ms, 3 ms each */
	rq->h_nr_running = 9;
	rq->fair.load_weight = 9 * 1024;
	CHECK_EQ(sched_slice(&sys, rq, &a), 3 * MS);
	rq->h_nr_running = 8;
	rq->fair.load_weight = 8 * 1024;
	CHECK_EQ(sched_slice(&sys, rq, &a), 3 * MS);
}

TEST(wakeups_preempt_by_granularity_and_policy)
{
	struct fg_task a, p;

	queue();
	a = task(1, 1004 * MS);
	p = task(2, 1000 * MS);
	CHECK_EQ(check_preempt(&sys, rq, &p, 0, 0), 0); /* no current */
	enqueue(&a);
	run(&a);
	enqueue(&p);
	CHECK_EQ(check_preempt(&sys, rq, &p, 0, 0), 0);
	a.vruntime++;
	CHECK_EQ(check_preempt(&sys, rq, &p, 0, 0), 1);
	CHECK(rq->fair.next == &p);
	CHECK(!rq->fair.last);
	/* light wakees need more */
	p.weight = 512;
	CHECK_EQ(check_preempt(&sys, rq, &p, 0, 0), 0);
	a.vruntime = 1008 * MS + 1;
	CHECK_EQ(check_preempt(&sys, rq, &p, 0, 0), 1);
	/* from eight tasks on the preempted one is remembered */
	rq->h_nr_running = 8;
	CHECK_EQ(check_preempt(&sys, rq, &p, 0, 0), 1);
	CHECK(rq->fair.last == &a);
	/* not one that has just left the queue */
	rq->fair.last = 0;
	a.on_rq = 0;
	CHECK_EQ(check_preempt(&sys, rq, &p, 0, 0), 1);
	CHECK(!rq->fair.last);
	a.on_rq = 1;
	/* batch wakees wait */
	p.policy = FG_SCHED_BATCH;
	CHECK_EQ(check_preempt(&sys, rq, &p, 0, 0), 0);
	/* a SCHED_IDLE current always yields, without buddies */
	rq->fair.next = rq->fair.last = 0;
	a.policy = FG_SCHED_IDLE;
	a.vruntime = 0;
	CHECK_EQ(check_preempt(&sys, rq, &p, 0, 0), 1);
	CHECK(!rq->fair.next);
	CHECK(!rq->fair.last);
	p.policy = FG_SCHED_IDLE;
	CHECK_EQ(check_preempt(&sys, rq, &p, 0, 0), 0);
}

TEST(misfit_and_overutilized)
{
	struct fg_task p;

	queue();
	sys.asym_key = 1;
	kit_capacity(0, 0, 462);
	p = task(1, 0);
	kit_util(&p, 369);
	rq->cfs.load_avg = 1024;
	p.avg.load_avg = 1024;
	fg_update_misfit_status(&sys, rq, &p);
	CHECK_EQ(rq->misfit_task_load, 0);
	kit_util(&p, 371);
	fg_update_misfit_status(&sys, rq, &p);
	CHECK_EQ(rq->misfit_task_load, 1024 * 1024 / 1025);
	p.avg.load_avg = 0;
	fg_update_misfit_status(&sys, rq, &p);
	CHECK_EQ(rq->misfit_task_load, 1);
	/* v5.11 */
	p.nr_allowed = 1;
	fg_update_misfit_status(&sys, rq, &p);
	CHECK_EQ(rq->misfit_task_load, 1);
	sys.feat.value[FG_PINNED_NO_MISFIT] = 1;
	fg_update_misfit_status(&sys, rq, &p);
	CHECK_EQ(rq->misfit_task_load, 0);
	rq->misfit_task_load = 5;
	fg_update_misfit_status(&sys, rq, 0);
	CHECK_EQ(rq->misfit_task_load, 0);
	rq->misfit_task_load = 5;
	sys.asym_key = 0;
	fg_update_misfit_status(&sys, rq, 0);
	CHECK_EQ(rq->misfit_task_load, 5);

	rq->cfs.util_avg = 369;
	CHECK_EQ(fg_cpu_overutilized(&sys, rq), 0);
	rq->est_enqueued = 370;
	CHECK_EQ(fg_cpu_overutilized(&sys, rq), 1);
	/* at enqueue, unless the task is new */
	fg_enqueue_entity(&sys, rq, &p, FG_ENQUEUE_INITIAL);
	CHECK_EQ(root.overutilized, 0);
	fg_dequeue_entity(&sys, rq, &p, FG_DEQUEUE_SLEEP);
	rq->est_enqueued = 370;
	fg_enqueue_entity(&sys, rq, &p, FG_ENQUEUE_WAKEUP);
	CHECK_EQ(root.overutilized, 1);
}

/* A slice is counted from the last pick; every hand-over brings the signals up to then. */
TEST(hand_overs_keep_the_books)
{
	struct fg_task a, b;

	queue();
	sys.asym_key = 1;
	a = task(1, 1000 * MS);
	b = task(2, 1000 * MS);
	enqueue(&a);
	enqueue(&b);
	a.sum_exec = 50 * MS;
	rq->fair.next = &a;
	rq->clock_pelt = 64ull << 20;
	kit_capacity(0, 0, 100);
	kit_util(&a, 0);
	a.est.ewma = 500;
	run(&a);
	CHECK_EQ(a.prev_sum_exec, 50 * MS);
	CHECK_EQ(a.exec_start, rq->clock_task);
	CHECK(!rq->fair.next);
	CHECK(rq->misfit_task_load > 0);
	/* it waited until now: runnable, not running */
	CHECK(a.avg.runnable_avg > 700);
	CHECK_EQ(a.avg.util_avg, 0);
	/* an hour backwards counts as 0 */
	a.exec_start = rq->clock_task + 3600000 * MS;
	fg_update_curr(&sys, rq, &b);
	CHECK_EQ(a.sum_exec, 50 * MS);
	a.exec_start = rq->clock_task;
	/* preempted: it ran until now */
	rq->clock_pelt = 128ull << 20;
	fg_put_prev_entity(&sys, rq, &a);
	CHECK(a.avg.util_avg > 700);
	CHECK(!rq->curr && !a.on_cpu);
	/* asleep: the dequeue did that already, the hand-over finds nothing to do */
	run(&a);
	rq->clock_pelt = 192ull << 20;
	rq->fair.last = &a;
	a.est.enqueued = a.est.ewma = 0;
	fg_dequeue_entity(&sys, rq, &a, FG_DEQUEUE_SLEEP);
	CHECK_EQ(a.avg.last_update, 192ull << 20);
	CHECK_EQ(a.est.enqueued, a.avg.util_avg | 1);
	CHECK(!rq->fair.last);
	rq->clock_pelt = 256ull << 20;
	fg_put_prev_entity(&sys, rq, &a);
	CHECK_EQ(a.avg.last_update, 192ull << 20);
	/* a migration is not a sleep: the estimate does not change */
	b.est.enqueued = b.est.ewma = 0;
	b.avg.util_avg = 300;
	fg_dequeue_entity(&sys, rq, &b, FG_DEQUEUE_MOVE);
	CHECK_EQ(b.est.ewma, 0);
}

TEST(sleep_keeps_the_vruntime_and_only_wakeups_are_placed)
{
	struct fg_task p;

	queue();
	p = task(1, 1003 * MS);
	enqueue(&p);
	fg_dequeue_entity(&sys, rq, &p, FG_DEQUEUE_SLEEP);
	CHECK_EQ(p.vruntime, 1003 * MS);
	/* a move brings it back as far behind as it was, however far */
	p.vruntime = (u64)-500 * MS;
	fg_enqueue_entity(&sys, rq, &p, 0);
	CHECK_EQ(p.vruntime, 500 * MS);
	/* a current task that left the queue holds min_vruntime back no more */
	run(&p);
	p.on_rq = 0;
	p.vruntime = 2000 * MS;
	fg_update_min_vruntime(&sys, rq, 0);
	CHECK_EQ(rq->fair.min_vruntime, 1000 * MS);
}

/* A ninth task makes the period longer before it is counted. */
TEST(a_slice_counts_the_task_that_is_to_come)
{
	struct fg_task p;

	queue();
	p = task(1, 0);
	rq->h_nr_running = 8;
	rq->fair.load_weight = 8 * 1024;
	CHECK_EQ(sched_slice(&sys, rq, &p), 27 * MS / 9);
	p.weight = 2048;
	CHECK_EQ(sched_slice(&sys, rq, &p), 27 * MS * 2 / 10);
}

/* v5.13. Eight CPUs: 24 ms for two tasks, of which weight 15 has 24 * 15 / 1039 = 0.346 ms; the minimum is 3 ms. */
TEST(a_base_slice_is_no_shorter_than_the_minimum)
{
	struct fg_task a, p;

	queue();
	a = task(1, 1000 * MS);
	p = task(2, 1000 * MS);
	p.weight = 15;
	enqueue(&a);
	enqueue(&p);
	CHECK_EQ(sched_slice(&sys, rq, &p), 24 * MS * 15 / 1039);
	sys.feat.value[FG_BASE_SLICE] = 1;
	CHECK_EQ(sched_slice(&sys, rq, &p), 3 * MS);
	CHECK_EQ(sched_slice(&sys, rq, &a), 24 * MS * 1024 / 1039);
}

/* v5.16. Eight CPUs: a sleeper has 12 ms of credit; SCHED_IDLE, half of the minimum of 3 ms, and 0.75 ms as its minimum beside others. */
TEST(idle_tasks_have_shorter_slices_and_less_credit)
{
	struct fg_task a, p;
	u32 on;

	for (on = 0; on < 2; on++) {
		queue();
		sys.feat.value[FG_BASE_SLICE] = 1;
		sys.feat.value[FG_IDLE_SLICE] = (u8)on;
		a = task(1, 1000 * MS);
		p = task(2, 0);
		p.weight = 3;
		p.policy = FG_SCHED_IDLE;
		enqueue(&a);
		run(&a);
		rq->fair.min_vruntime = 1000 * MS;
		CHECK_EQ(place_entity(&sys, rq, &a, 0), 1000 * MS);
		CHECK_EQ(place_entity(&sys, rq, &p, 0), on ? 1000 * MS - 3 * MS / 2 : 988 * MS);
		rq->h_nr_running = 2;
		rq->idle_h_nr_running = 1;
		CHECK_EQ(sched_slice(&sys, rq, &p), on ? 3 * MS / 4 : 3 * MS);
		rq->idle_h_nr_running = 2;
		CHECK_EQ(sched_slice(&sys, rq, &p), 3 * MS);
	}
}

TEST(ticks_refresh_signals_and_flags)
{
	struct fg_task a;

	queue();
	sys.asym_key = 1;
	a = task(1, 1000 * MS);
	enqueue(&a);
	run(&a);
	rq->clock_pelt = rq->clock_task = 2000 * MS;
	rq->thermal_pressure = 100;
	rq->cpu_capacity = 500;
	CHECK_EQ(rq->misfit_task_load, 0);
	CHECK_EQ(root.overutilized, 0);
	fg_entity_tick(&sys, rq, 0);
	CHECK(a.avg.util_avg > 1000);
	CHECK(rq->misfit_task_load > 0);
	CHECK_EQ(root.overutilized, 1);
	CHECK(rq->thermal.load_avg > 90);
}

/* RT tasks count for "alone on the CPU"; a yielding current is skipped for the leftmost of the other tasks. */
TEST(yield_with_company)
{
	struct fg_task a, b, c;

	queue();
	a = task(1, 1000 * MS);
	b = task(2, 1001 * MS);
	c = task(3, 1002 * MS);
	enqueue(&a);
	run(&a);
	rq->nr_running = 2;
	rq->fair.last = &a;
	fg_yield(&sys, rq);
	CHECK(rq->fair.skip == &a);
	CHECK(!rq->fair.last);
	rq->nr_running = 1;
	enqueue(&b);
	enqueue(&c);
	/* current first and skipped: the leftmost, not the one after it */
	CHECK(pick_entity(&sys, rq, &b, &c) == &b);
	/* the leftmost skipped: the current one if it is before the second */
	rq->fair.skip = &b;
	a.vruntime = 1001 * MS + 1;
	CHECK(pick_entity(&sys, rq, &b, &c) == &a);
	a.vruntime = 1003 * MS;
	CHECK(pick_entity(&sys, rq, &b, &c) == &c);
}

/* 47742 - 1024 + 512 = 47230 is the divider: half of it at weight 1024 is 512, at 526 (nice 3) 263. */
TEST(a_new_weight_changes_the_load_at_once)
{
	struct fg_task p;

	kit_init(1);
	p = kit_task(1, 0);
	p.avg.period_contrib = 512;
	p.avg.load_sum = 23615;
	p.avg.load_avg = 512;
	cpus[0].cfs.load_avg = 700;
	cpus[0].cfs.load_sum = 1024 * 23615 + 9;
	p.nice = 3;
	fg_reweight_task(&sys, &cpus[0], &p);
	CHECK_EQ(p.weight, 526);
	CHECK_EQ(p.avg.load_avg, 263);
	CHECK_EQ(cpus[0].cfs.load_avg, 188 + 263);
	CHECK_EQ(cpus[0].cfs.load_sum, 526 * 23615 + 9);
	/* while it migrates, its load is in neither queue */
	p.flags = FG_TASK_MIGRATED;
	p.nice = 0;
	fg_reweight_task(&sys, &cpus[0], &p);
	CHECK_EQ(p.avg.load_avg, 512);
	CHECK_EQ(cpus[0].cfs.load_avg, 188 + 263);
	/* up to v6.10 a task that becomes SCHED_IDLE is only given its weight */
	p.policy = FG_SCHED_IDLE;
	fg_reweight_task(&sys, &cpus[0], &p);
	CHECK_EQ(p.weight, 3);
	CHECK_EQ(p.avg.load_avg, 512);
	/* 3 * 23615 / 47230 = 1 */
	sys.feat.value[FG_IDLE_REWEIGHT] = 1;
	fg_reweight_task(&sys, &cpus[0], &p);
	CHECK_EQ(p.avg.load_avg, 1);
}

int main(void)
{
	RUN(weights_follow_nice_and_policy);
	RUN(latency_grows_with_cpus_up_to_eight);
	RUN(running_is_charged_by_weight);
	RUN(vruntimes_may_wrap);
	RUN(sleepers_get_half_a_latency_children_wait_a_slice);
	RUN(migration_keeps_the_distance_to_min_vruntime);
	RUN(counts_and_flags_of_the_queue);
	RUN(pick_takes_the_leftmost_or_a_buddy_near_it);
	RUN(yield_lets_the_next_one_run_if_that_is_fair);
	RUN(the_tick_ends_slices);
	RUN(wakeups_preempt_by_granularity_and_policy);
	RUN(misfit_and_overutilized);
	RUN(hand_overs_keep_the_books);
	RUN(sleep_keeps_the_vruntime_and_only_wakeups_are_placed);
	RUN(a_slice_counts_the_task_that_is_to_come);
	RUN(a_base_slice_is_no_shorter_than_the_minimum);
	RUN(idle_tasks_have_shorter_slices_and_less_credit);
	RUN(ticks_refresh_signals_and_flags);
	RUN(yield_with_company);
	RUN(a_new_weight_changes_the_load_at_once);
	return test_report();
}
