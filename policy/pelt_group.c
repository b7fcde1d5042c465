/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Load tracking of task groups that compete as one. On a CPU a group has two signals: that of its queue (the tasks in
 * it) and that of its entity (its part in the CPU's queue). While tasks run and wait, both grow alike. A task that is
 * attached or detached changes only that of the queue; the change is then propagated to the entity and the CPU's queue:
 *
 *	util, runnable	copied from the queue to the entity
 *	load		the entity's load_sum does not include its weight, so it is at most that of one entity that is
 *			always runnable. An attached task's load_sum is added; after a detach it is computed as if all
 *			remaining tasks waited equally
 *
 * A group's load over all CPUs is kept only roughly: a CPU's part of it follows by steps of 1/64.
 */
#include "sched.h"

/* ns between two changes of a CPU's part (tg-load-rate). */
#define TG_LOAD_RATE 1000000ull

static void add_signed(u64 *value, s64 delta)
{
	*value = delta < 0 ? pos_sub(*value, 0 - (u64)delta) : *value + (u64)delta;
}

/* Notes that a task with this load_sum, without its weight, joined g's queue; negative: left it. */
static void propagate_later(struct fg_tg_cpu *g, s64 load_sum)
{
	g->propagate = 1;
	g->propagate_sum += load_sum;
}

static void note_removed_from_group(struct fg_tg_cpu *g, const struct fg_task *p)
{
	g->removed_nr++;
	g->removed_load += p->avg.load_avg;
	g->removed_runnable += p->avg.runnable_avg;
	g->removed_util += p->avg.util_avg;
}

static void apply_removed_from_group(const struct fg_sys *sys, struct fg_tg_cpu *g)
{
	u64 sum = g->removed_runnable * pelt_divider(&g->avg);

	remove_averages(sys, &g->avg, g->removed_load, g->removed_util, g->removed_runnable);
	/* What waits does so with its full weight: so runnable says how much of the time. */
	propagate_later(g, -(s64)((sum + FG_CAPACITY_SCALE - 1) / FG_CAPACITY_SCALE));
	g->removed_nr = 0;
	g->removed_load = 0;
	g->removed_runnable = 0;
	g->removed_util = 0;
}

/* The signal of g's own queue up to now; 1: its averages are others than before. */
global_func u32 age_group_queue(const struct fg_sys *sys state_arg, struct fg_cpu *rq state_arg,
				struct fg_tg_cpu *g state_arg)
{
	u32 changed = g->removed_nr != 0;

	if (changed)
		apply_removed_from_group(sys, g);
	if (fg_pelt_update(&g->avg, queue_clock_pelt(rq, g), g->queue.load_weight,
			   runnable_tasks(sys, g->h_nr_running, g->h_nr_delayed), g->entity.on_cpu)) {
		fg_pelt_averages(&g->avg, 1);
		changed = 1;
	}
	return changed;
}

/* Updates the signal of g's entity. All tasks of a delayed group sleep, so it has no runnable ones. */
static void age_group_entity(struct fg_cpu *rq, struct fg_tg_cpu *g)
{
	struct fg_task *e = &g->entity;
	u32 runnable = e->flags & FG_TASK_DELAYED ? 0 : g->runnable;

	if (fg_pelt_update(&e->avg, queue_clock_pelt(rq, group_above(rq, g)), e->on_rq, runnable, e->on_cpu))
		fg_pelt_averages(&e->avg, e->weight);
}

/* value is clearly other than part, of which others know. */
static u32 is_news(u64 value, u64 part)
{
	return (value > part ? value - part : part - value) > part / 64;
}

/*
 * update_tg_load_avg: the part of this CPU in the load of the whole group, and with group-shares in its runnable time, from
 * which follows how many tasks it has.
 *
 * DEVIATION: before v7.2 (tg-rate-clock) the kernel measures the millisecond up to now, not up to the clock of the queue, which
 * stands still within an operation of the scheduler.
 */
global_func u32 contribute(const struct fg_sys *sys state_arg, const struct fg_cpu *rq state_arg,
			   struct fg_tg_cpu *g state_arg)
{
	u64 load = g->avg.load_avg, runnable = feat(sys, FG_GROUP_SHARES) ? g->avg.runnable_avg : 0;

	if (feat(sys, FG_TG_LOAD_RATE) && g->contributed && rq->clock - g->contributed < TG_LOAD_RATE)
		return 0;
	if (!is_news(load, g->contribution) && !is_news(runnable, g->runnable_contribution))
		return 0;
	g->group->load_avg = pos_sub(g->group->load_avg + load, g->contribution);
	g->group->runnable_avg = pos_sub(g->group->runnable_avg + runnable, g->runnable_contribution);
	g->contribution = load;
	g->runnable_contribution = runnable;
	g->contributed = rq->clock;
	return 1;
}

/* Sums of the CPU's queue after its average changed by delta and its sum is to change by delta_sum. */
static u64 follow_sum(const struct fg_sys *sys, u64 sum, s64 delta_sum, u64 avg, u32 divider)
{
	if (feat(sys, FG_PELT_SUM) != FG_PELT_SUM_FLOOR)
		return avg * divider;
	add_signed(&sum, delta_sum);
	return sum_left(sys, sum, avg, divider);
}

/* One of util and runnable: the entity's becomes what that of its queue is, and that of the queue above changes by as much. */
static void tell_average(const struct fg_sys *sys, u32 divider, u64 own, u64 *const of_entity[2],
			 u64 *const of_above[2])
{
	u64 *avg = of_entity[0], *sum = of_entity[1], *above = of_above[0], *above_sum = of_above[1];
	u64 new_sum = own * divider;
	s64 delta = (s64)(own - *avg), delta_sum = (s64)(new_sum - *sum);

	if (!delta)
		return;
	*avg = own;
	*sum = new_sum;
	add_signed(above, delta);
	*above_sum = follow_sum(sys, *above_sum, delta_sum, *above, divider);
}

/* The load_sum of g's entity after tasks with g->propagate_sum joined or left. */
static u64 told_load_sum(const struct fg_tg_cpu *g, u32 divider)
{
	const struct fg_avg *e = &g->entity.avg;
	u64 sum;

	if (g->propagate_sum >= 0)
		sum = min_u64(e->load_sum + (u64)g->propagate_sum, divider);
	else if (g->queue.load_weight)
		sum = min_u64(e->load_sum, g->avg.load_sum / g->queue.load_weight);
	else
		sum = 0;
	/* The current task is runnable too. */
	return max_u64(sum, e->util_sum / FG_CAPACITY_SCALE);
}

/* to: of the queue above. */
static void tell_load(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg_cpu *g, struct fg_avg *to)
{
	struct fg_task *e = &g->entity;
	u32 divider = pelt_divider(to);
	u64 sum, load_avg;
	s64 delta, delta_sum;

	if (!g->propagate_sum)
		return;
	sum = told_load_sum(g, divider);
	g->propagate_sum = 0;
	load_avg = e->weight * sum / divider;
	delta = (s64)(load_avg - e->avg.load_avg);
	if (!delta)
		return;
	delta_sum = (s64)(e->weight * sum - e->weight * e->avg.load_sum);
	e->avg.load_sum = sum;
	e->avg.load_avg = load_avg;
	add_signed(&to->load_avg, delta);
	if (feat(sys, FG_TG_LOAD_SUM))
		to->load_sum = follow_sum(sys, to->load_sum, delta_sum, to->load_avg, divider);
	else
		add_signed(&to->load_sum, delta_sum);
	if (e->on_rq && !e->tg && has_runnable_load(sys)) {
		add_signed(&rq->queued.load_avg, delta);
		add_signed(&rq->queued.load_sum, delta_sum);
	}
}

/* propagate_entity_load_avg: 1 if something was propagated to the group above, which has to propagate it in turn. */
global_func u32 propagate(const struct fg_sys *sys state_arg, struct fg_cpu *rq state_arg,
			  struct fg_tg_cpu *g state_arg)
{
	struct fg_avg *e = &g->entity.avg, *to = queue_avg(rq, &g->entity);
	u64 *const util[2] = { &e->util_avg, &e->util_sum }, *const util_to[2] = { &to->util_avg, &to->util_sum };
	u64 *const runnable[2] = { &e->runnable_avg, &e->runnable_sum };
	u64 *const runnable_to[2] = { &to->runnable_avg, &to->runnable_sum };

	if (!g->propagate)
		return 0;
	g->propagate = 0;
	if (group_above(rq, g))
		propagate_later(group_above(rq, g), g->propagate_sum);
	tell_average(sys, pelt_divider(to), g->avg.util_avg, util, util_to);
	tell_average(sys, pelt_divider(to), g->avg.runnable_avg, runnable, runnable_to);
	tell_load(sys, rq, g, to);
	return 1;
}

/*
 * Updates the signals of g's entity and of the queue that it competes in, and propagates what joined or left g; 1: those of
 * the queue have changed. g's entity still counts as current after its task has been put back.
 */
static u32 age_above_group(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg_cpu *g)
{
	struct fg_tg_cpu *above = group_above(rq, g);
	u32 changed;

	age_group_entity(rq, g);
	if (above)
		changed = age_group_queue(sys, rq, above);
	else
		changed = age_cfs_rq(sys, rq, g->entity.on_cpu || fair_curr(rq));
	return changed | propagate(sys, rq, g);
}

/* The same, and others hear of it: the load of the whole group above. 1: the signals of rq have changed. */
global_func u32 age_above_telling(const struct fg_sys *sys state_arg, struct fg_cpu *rq state_arg,
				  struct fg_tg_cpu *g state_arg)
{
	struct fg_tg_cpu *above = group_above(rq, g);
	u32 changed = age_above_group(sys, rq, g);

	if (changed && above)
		contribute(sys, rq, above);
	return changed && !above;
}

/* The same, and the governor hears of the signals of rq. */
static void tell_above(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg_cpu *g)
{
	if (age_above_telling(sys, rq, g) && feat(sys, FG_FREQ_AFTER_ALL))
		cpufreq_update_util(sys, rq, 0);
}

/* Updates the signal of g's queue, and this CPU's contribution to the load of the whole group; 1: it has changed. */
static u32 age_contributing(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg_cpu *g)
{
	if (!age_group_queue(sys, rq, g))
		return 0;
	contribute(sys, rq, g);
	return 1;
}

/* Updates and propagates the signals above the queue of p's group, up to one that is throttled; 1: rq's have changed. */
static u32 age_groups_above(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_task *p)
{
	struct fg_tg_cpu *g;
	u32 changed = 0;

	for_each_group_of(g, rq, p) {
		if (is_off(sys, g))
			return 0;
		changed = age_above_telling(sys, rq, g);
	}
	return changed;
}

/* The same, and the governor hears of it. */
static void tell_groups(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_task *p)
{
	if (age_groups_above(sys, rq, p) && feat(sys, FG_FREQ_AFTER_ALL))
		cpufreq_update_util(sys, rq, 0);
}

/*
 * p joins its group or leaves it: updates the signals of its queue; p's own must be up to date. If p attaches (detaches),
 * its averages go with it, and the group's contribution is updated after that. What is above hears of it by tell_above(),
 * group by group.
 */
static void join_group_load_avg(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p, u32 attaches)
{
	struct fg_tg_cpu *g = group_of(rq, p);
	u32 changed = age_group_queue(sys, rq, g);

	if (attaches) {
		attach_entity_load_avg(rq, p);
		propagate_later(g, (s64)p->avg.load_sum);
	}
	if (changed || attaches)
		contribute(sys, rq, g);
}

static void leave_group_load_avg(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p, u32 detaches)
{
	struct fg_tg_cpu *g = group_of(rq, p);
	u32 changed = age_group_queue(sys, rq, g);

	if (detaches) {
		detach_entity_load_avg(sys, rq, p);
		propagate_later(g, -(s64)p->avg.load_sum);
	}
	if (changed || detaches)
		contribute(sys, rq, g);
}

/* cfs_rq_is_decayed: nothing of g is on this CPU, nor has left a trace. Up to v6.17 its contribution is no trace. */
static u32 group_is_gone(const struct fg_sys *sys, const struct fg_tg_cpu *g)
{
	const struct fg_avg *e = &g->entity.avg;

	return !g->entity.on_rq && !g->removed_nr && !g->propagate && !g->avg.load_avg && !g->avg.util_avg &&
	       !g->avg.runnable_avg && !e->load_avg && !e->util_avg && !e->runnable_avg &&
	       !(g->contribution && feat(sys, FG_TG_DECAYED));
}

/* All groups of rq, those within others first, before its own signals; blocked: 1 if one has something left, be the CPU's part of it nothing. */
static u32 update_blocked_groups(const struct fg_sys *sys, struct fg_cpu *rq, u32 *blocked)
{
	u32 changed = 0;

	for (u32 i = 0; can_loop(i, FG_MAX_TGS) && i < sys->nr_tgs; i++) {
		struct fg_tg_cpu *g = &sys->tgs[i].cpus[(u32)rq->id];

		if (g->pelt_clock_throttled || group_is_gone(sys, g))
			continue;
		if (age_contributing(sys, rq, g))
			note_idle_clock(sys, rq, g);
		changed |= age_above_telling(sys, rq, g);
		*blocked |= g->avg.load_avg || g->avg.util_avg;
	}
	return changed;
}
