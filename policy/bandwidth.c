/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bandwidth control of task groups (cpu.max), spec-new 3.4. A group has a pool of runtime, which a timer fills with the quota
 * each period. On each CPU its queue takes slices from the pool and charges them with what its tasks run:
 *
 *	period timer -> pool -> slice -> runtime_remaining -> charged by tasks
 *	                 ^-------- slack ---------'  when the queue becomes empty
 *
 * A queue that cannot pay any more, from an empty pool, is throttled when it is next looked at by a pick or a put_prev, or at once
 * if it had been empty. With throttle=group the entity of the group leaves the queue that it competes in. All groups within it stand
 * still too: their signals do not age, and their tasks are not balanced.
 *
 * Later the queue is only marked, and its tasks stay until they have been picked: each leaves on its return to user mode. With
 * throttle=task it is picks that find out, with task-early the charge itself does. Signals stand once nothing is left in the queue.
 * DEVIATION: the clamps of such a task leave with it; the kernel's stay.
 */
#include "sched.h"

/* What a queue takes from the pool at a time: sysctl_sched_cfs_bandwidth_slice, ns. */
#define BANDWIDTH_SLICE 5000000ull
/* What an empty queue keeps for its next task, ns. */
#define MIN_RUNTIME 1000000ull
/* What was given back is distributed this long after, ns; */
#define SLACK_PERIOD 5000000ull
/* and not at all so shortly before a period ends. */
#define MIN_EXPIRATION 2000000ull

static u32 is_limited(const struct fg_tg_cpu *g)
{
	return g->group->bandwidth.quota != 0;
}

/* A throttled group leaves with all that is in it. */
static u32 stops_as_a_whole(const struct fg_sys *sys)
{
	return feat(sys, FG_THROTTLE) == FG_THROTTLE_GROUP;
}

/* It has left so. */
static u32 is_off(const struct fg_sys *sys, const struct fg_tg_cpu *g)
{
	return g->throttled && stops_as_a_whole(sys);
}

/* It, or a group around it, has. */
static u32 is_within_off(const struct fg_sys *sys, const struct fg_tg_cpu *g)
{
	return g && g->throttle_count && stops_as_a_whole(sys);
}

u64 fg_period_forward(struct fg_bandwidth *b, u64 now)
{
	u64 passed;

	if (now < b->expires)
		return 0;
	passed = (now - b->expires) / nonzero(b->period) + 1;
	b->expires += passed * b->period;
	return passed;
}

/* start_cfs_bandwidth: the period timer runs while somebody takes from the pool. */
static void start_period_timer(struct fg_bandwidth *b, u64 now)
{
	if (b->period_active)
		return;
	fg_period_forward(b, now);
	b->period_active = 1;
	b->asked = 1;
}

/* __refill_cfs_bandwidth_runtime */
static void refill_pool(struct fg_bandwidth *b)
{
	b->runtime = min_u64(b->runtime + b->quota, b->quota + b->burst);
}

void fg_tg_start_bandwidth(const struct fg_sys *sys, struct fg_tg *tg, u64 now)
{
	struct fg_bandwidth *b = &tg->bandwidth;

	refill_pool(b);
	/* v6.18: an empty queue is not throttled by its first task. */
	for (u32 cpu = 0; can_loop(cpu, FG_NR_CPUS) && cpu < sys->nr_cpus; cpu++)
		tg->cpus[cpu].runtime_remaining = !stops_as_a_whole(sys);
	if (b->quota)
		start_period_timer(b, now);
}

fg_bool fg_period_begin(struct fg_bandwidth *b)
{
	refill_pool(b);
	if (b->nr_throttled) {
		b->idle = 0;
		return 1;
	}
	/* For a whole period nobody has asked: the timer stops. */
	if (b->idle)
		b->period_active = 0;
	b->idle = 1;
	return 0;
}

/* runtime_refresh_within: the pool is filled less than ns after now anyway. */
static u32 refills_within(const struct fg_bandwidth *b, u64 now, u64 ns)
{
	return b->expires < now + ns;
}

fg_bool fg_slack_due(struct fg_bandwidth *b, u64 now)
{
	b->slack_active = 0;
	return !refills_within(b, now, MIN_EXPIRATION) && b->runtime > BANDWIDTH_SLICE;
}

/* __assign_cfs_rq_runtime: g takes its debt and target ns more from the pool, if that has as much. 1: it may run. */
static u32 assign_runtime(const struct fg_cpu *rq, struct fg_tg_cpu *g, u64 target)
{
	struct fg_bandwidth *b = &g->group->bandwidth;
	u64 amount;

	start_period_timer(b, rq->clock);
	if (b->runtime) {
		amount = min_u64(b->runtime, target - (u64)g->runtime_remaining);
		b->runtime -= amount;
		b->idle = 0;
		g->runtime_remaining += (s64)amount;
	}
	return g->runtime_remaining > 0;
}

/* return_cfs_rq_runtime: g, which has become empty, gives back what it does not need. */
static void return_runtime(const struct fg_cpu *rq, struct fg_tg_cpu *g)
{
	struct fg_bandwidth *b;
	s64 slack;

	if (!g || !is_limited(g) || g->queue.load_weight)
		return;
	slack = g->runtime_remaining - (s64)MIN_RUNTIME;
	if (slack <= 0)
		return;
	g->runtime_remaining -= slack;
	b = &g->group->bandwidth;
	b->runtime += (u64)slack;
	if (b->runtime <= BANDWIDTH_SLICE || !b->nr_throttled || b->slack_active)
		return;
	if (refills_within(b, rq->clock, SLACK_PERIOD + MIN_EXPIRATION))
		return;
	b->slack_expires = rq->clock + SLACK_PERIOD;
	b->slack_active = 1;
	b->asked = 1;
}

fg_bool fg_tg_hand_out(const struct fg_cpu *rq, struct fg_tg *tg)
{
	struct fg_tg_cpu *g = &tg->cpus[(u32)rq->id];
	u64 amount = min_u64((u64)(1 - g->runtime_remaining), tg->bandwidth.runtime);

	tg->bandwidth.runtime -= amount;
	g->runtime_remaining += (s64)amount;
	return g->runtime_remaining > 0;
}

/* tg is g's group or within it. */
static u32 is_within(const struct fg_tg *tg, const struct fg_tg_cpu *g)
{
	for (u32 i = 0; can_loop(i, FG_MAX_TG_DEPTH) && tg && tg != g->group; i++)
		tg = tg->parent;
	return tg != 0;
}

static void stop_queue_clock(const struct fg_cpu *rq, struct fg_tg_cpu *g)
{
	g->throttled_clock_pelt = rq_clock_pelt(rq);
	g->pelt_clock_throttled = 1;
}

static void start_queue_clock(const struct fg_cpu *rq, struct fg_tg_cpu *g)
{
	if (!g->pelt_clock_throttled)
		return;
	g->throttled_clock_pelt_time += rq_clock_pelt(rq) - g->throttled_clock_pelt;
	g->pelt_clock_throttled = 0;
}

/* tg_throttle_down, tg_unthrottle_up: time stops, or goes on, for g and all that is within it. */
static void stop_clocks(const struct fg_sys *sys, const struct fg_cpu *rq, const struct fg_tg_cpu *g)
{
	for (u32 i = 0; can_loop(i, FG_MAX_TGS) && i < sys->nr_tgs; i++) {
		struct fg_tg_cpu *in = &sys->tgs[i].cpus[(u32)rq->id];

		if (is_within(in->group, g) && !in->throttle_count++ &&
		    (stops_as_a_whole(sys) || !in->queue.load_weight))
			stop_queue_clock(rq, in);
	}
}

static void start_clocks(const struct fg_sys *sys, const struct fg_cpu *rq, const struct fg_tg_cpu *g)
{
	for (u32 i = 0; can_loop(i, FG_MAX_TGS) && i < sys->nr_tgs; i++) {
		struct fg_tg_cpu *in = &sys->tgs[i].cpus[(u32)rq->id];

		/* None where a group is just being made within it (crates/live). */
		if (is_within(in->group, g) && in->throttle_count && !--in->throttle_count)
			start_queue_clock(rq, in);
	}
}

/* update_idle_cfs_rq_clock_pelt: g has become empty. */
static void note_idle_clock(const struct fg_sys *sys, const struct fg_cpu *rq, struct fg_tg_cpu *g)
{
	if (!g || g->queue.load_weight)
		return;
	g->throttled_pelt_idle = g->pelt_clock_throttled ? ~0ull : g->throttled_clock_pelt_time;
	if (g->throttle_count && !stops_as_a_whole(sys) && !g->pelt_clock_throttled)
		stop_queue_clock(rq, g);
}

/* Tasks that come or go with a group. */
struct tasks {
	u32 nr;
	u32 delayed;
	u32 idle;
};

/* They come to (sign = 1) or leave (-1) what is above g; joined: g is an entity more there. */
static void count_tasks_above(struct fg_cpu *rq, const struct fg_tg_cpu *g, struct tasks *t, s32 sign, s32 joined)
{
	struct fg_tg_cpu *above = group_above(rq, g);
	u32 factor = (u32)sign;

	if (g->group->idle)
		t->idle = t->nr;
	if (above) {
		above->nr_nested += (s32)t->nr * sign - joined;
		above->h_nr_running += t->nr * factor;
		above->h_nr_delayed += t->delayed * factor;
		above->idle_h_nr_running += t->idle * factor;
		return;
	}
	rq->nr_nested += (s32)t->nr * sign - joined;
	rq->h_nr_running += t->nr * factor;
	rq->h_nr_delayed += t->delayed * factor;
	rq->idle_h_nr_running += t->idle * factor;
}

/* The entity of g leaves what is above it, and so do entities that have nothing left without it. t: tasks counted there. */
static void take_off(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg_cpu *g, struct tasks *t)
{
	u32 leaving = 1;

	for (u32 i = 0; can_loop(i, FG_MAX_TG_DEPTH) && g; i++) {
		u32 left = leaving, delayed = g->entity.flags & FG_TASK_DELAYED ? FG_DEQUEUE_DELAYED : 0;

		if (!g->entity.on_rq)
			return;
		if (leaving)
			tell_above(sys, rq, g);
		else if (age_above_group(sys, rq, g) && !g->entity.tg && feat(sys, FG_FREQ_AFTER_ALL))
			cpufreq_update_util(sys, rq, 0);
		g->runnable = runnable_tasks(sys, g->h_nr_running, g->h_nr_delayed);
		if (leaving) {
			dequeue_group_entity(sys, rq, g, FG_DEQUEUE_SPECIAL | delayed);
			leaving = !queue_of(rq, &g->entity)->load_weight;
		}
		count_tasks_above(rq, g, t, -1, -(s32)left);
		g = group_above(rq, g);
	}
	rq->nr_running -= t->nr;
	server_left(sys, rq);
}

/* throttle_cfs_rq. t: of the tasks in g, those that are counted above it. 0: the pool had target ns after all. */
global_func u32 throttle_group(const struct fg_sys *sys state_arg, struct fg_cpu *rq state_arg,
			       struct fg_tg_cpu *g state_arg, struct tasks *t frame_arg, u64 target)
{
	struct fg_bandwidth *b = &g->group->bandwidth;

	if (assign_runtime(rq, g, target))
		return 0;
	b->nr_throttled++;
	g->throttled_seq = ++b->last_seq;
	stop_clocks(sys, rq, g);
	if (stops_as_a_whole(sys))
		take_off(sys, rq, g, t);
	g->throttled = 1;
	return 1;
}

void fg_plan_throttle(const struct fg_sys *sys, struct fg_task *p)
{
	(void)sys;
	/* These do not return to user mode. */
	if (!(p->flags & (FG_TASK_EXITING | FG_TASK_PERCPU_KTHREAD)))
		p->flags |= FG_TASK_THROTTLE_WORK;
}

/* The same of g, which has nothing left, with task-early: a current task of it leaves. 1: it is throttled. */
global_func u32 throttle_early(const struct fg_sys *sys state_arg, struct fg_cpu *rq state_arg,
			       struct fg_tg_cpu *g state_arg)
{
	struct fg_task *curr = curr_in_group(rq, g->group);
	u32 runs = curr && curr->on_rq;
	struct tasks none = { 0 };

	if (g->throttled)
		return 1;
	if (!throttle_group(sys, rq, g, &none, runs ? BANDWIDTH_SLICE : 1))
		return 0;
	if (runs)
		fg_plan_throttle(sys, rq->curr);
	return 1;
}

/* account_cfs_rq_runtime: g has run for delta ns. 1: it cannot pay any more, and its task is to be replaced. */
static u32 account_runtime(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg_cpu *g, u64 delta)
{
	if (!is_limited(g))
		return 0;
	g->runtime_remaining -= (s64)delta;
	if (g->runtime_remaining > 0 || g->throttled)
		return 0;
	if (feat(sys, FG_THROTTLE) != FG_THROTTLE_EARLY)
		return !assign_runtime(rq, g, BANDWIDTH_SLICE);
	throttle_early(sys, rq, g);
	return 0;
}

/* With task-early: p, which becomes current, leaves if a group that it is in cannot pay. */
static void check_next_runtime(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	struct fg_tg_cpu *g;

	if (feat(sys, FG_THROTTLE) != FG_THROTTLE_EARLY)
		return;
	for_each_group_of(g, rq, p) {
		if (is_limited(g) && g->runtime_remaining <= 0 && throttle_early(sys, rq, g))
			fg_plan_throttle(sys, p);
	}
}

u32 fg_tg_throttle(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg *tg)
{
	struct fg_tg_cpu *g = &tg->cpus[(u32)rq->id];
	struct tasks t = { g->h_nr_running, g->h_nr_delayed, g->idle_h_nr_running };

	if (!is_limited(g) || g->runtime_remaining > 0)
		return 0;
	return g->throttled || throttle_group(sys, rq, g, &t, 1);
}

/* check_enqueue_throttle: g was empty and has one entity now, of which nothing above it knows yet. */
static void check_enqueue_throttle(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg_cpu *g)
{
	struct tasks none = { 0, 0, 0 };

	if (!is_limited(g) || g->throttled || curr_in_group(rq, g->group))
		return;
	account_runtime(sys, rq, g, 0);
	if (g->runtime_remaining <= 0 && !g->throttled)
		throttle_group(sys, rq, g, &none, 1);
}

/* The entity of g, which has tasks and is not queued, joins what is above it. 0: it is there already. */
global_func u32 put_on_entity(const struct fg_sys *sys state_arg, struct fg_cpu *rq state_arg,
			      struct fg_tg_cpu *g state_arg)
{
	struct fg_tg_cpu *above = group_above(rq, g);
	u32 alone;

	if (g->entity.flags & FG_TASK_DELAYED) {
		tell_above(sys, rq, g);
		dequeue_group_entity(sys, rq, g, FG_DEQUEUE_DELAYED);
		count_above(rq, g, 0, 0, -1);
	}
	tell_above(sys, rq, g);
	g->runnable = runnable_tasks(sys, g->h_nr_running, g->h_nr_delayed);
	if (g->entity.on_rq)
		return 0;
	alone = above && !above->queue.load_weight;
	enqueue_group_entity(sys, rq, g);
	if (alone)
		check_enqueue_throttle(sys, rq, above);
	return 1;
}

/* The tasks in g are counted above it again, and it and what has nothing else are queued there, up to a throttled group. */
static void put_on(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg_cpu *g)
{
	struct tasks t = { g->h_nr_running, g->h_nr_delayed, g->idle_h_nr_running };
	u32 nr_before = rq->h_nr_running;

	for (u32 i = 0; can_loop(i, FG_MAX_TG_DEPTH) && g; i++) {
		u32 joined = put_on_entity(sys, rq, g);

		count_tasks_above(rq, g, &t, 1, (s32)joined);
		g = group_above(rq, g);
		if (g && g->throttled)
			return;
	}
	if (!nr_before && rq->h_nr_running)
		server_start(sys, rq);
	add_nr_running(rq, t.nr);
}

u32 fg_tg_unthrottle(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg *tg)
{
	struct fg_tg_cpu *g = &tg->cpus[(u32)rq->id];

	if (!stops_as_a_whole(sys) && g->runtime_remaining <= 0)
		return 0;
	g->throttled = 0;
	g->throttled_seq = 0;
	tg->bandwidth.nr_throttled--;
	start_clocks(sys, rq, g);
	if (g->queue.load_weight && stops_as_a_whole(sys))
		put_on(sys, rq, g);
	return 1;
}
