/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Task groups that compete as one: what happens to a group's entity when tasks of it come and go. On each CPU it has the
 * part of the group's shares that its load there has of the group's load. With flat-pick entities have weights and loads
 * only; it is tasks that compete, each with its part of the CPU.
 *
 * DEVIATION: the load of a queue adds up weights that are rounded one by one; the kernel rounds the sum.
 *
 * With EEVDF of v6.12 the entity's slice is the shortest one of its queue, which the caller keeps (fg_queue.min_slice).
 * DEVIATION: while its last task is delayed it keeps the slice, as since v6.15; before, it had none and its deadline broke.
 *
 * DEVIATION: up to v5.6 the load of queued entities (fg_cpu.queued) takes all of a queued group's load_avg. The kernel
 * takes the part of it that the group's own queued tasks have, and keeps one more signal of each group for that.
 */
#include "sched.h"

/* In 1024ths of a weight. */
#define MIN_SHARES 2
/* The least weight, in units without fractions. */
#define MIN_WEIGHT 2
/* The weight of a task of nice -20, and of nice 0, in 1024ths. */
#define MAX_SHARES (88761ull * 1024)
#define NICE_0_SHARES (1024ull * 1024)

/* CPUs that a group may run on. There are no cpusets of groups: all. */
static u64 tg_cpus(const struct fg_sys *sys)
{
	return nonzero(sys->nr_cpus);
}

/* Its tasks that are or were runnable, at least one. */
static u64 tg_tasks(const struct fg_tg *tg)
{
	return nonzero(tg->runnable_avg / FG_CAPACITY_SCALE);
}

/*
 * What part of shares a group has on a CPU, at most so much. The load there is what is queued, or what it has been if that
 * is more: a queue that just filled should not wait until its average follows.
 */
static u64 part_of_shares(const struct fg_tg_cpu *g, u64 shares, u64 most)
{
	u64 load = max_u64(g->queue.load_weight, g->avg.load_avg);
	u64 all = pos_sub(g->group->load_avg, g->contribution) + load;

	return clamp_u64(shares * load / nonzero(all), MIN_SHARES, max_u64(most, MIN_SHARES));
}

/* calc_group_shares (spec-new 3.2). */
static u64 group_shares(const struct fg_sys *sys, const struct fg_tg_cpu *g)
{
	u64 shares = g->group->shares, tasks = tg_tasks(g->group);

	switch (feat(sys, FG_GROUP_SHARES)) {
	case FG_GROUP_SHARES_UP:
		return shares;
	case FG_GROUP_SHARES_CONCUR:
		shares *= min_u64(tasks, tg_cpus(sys));
		break;
	case FG_GROUP_SHARES_MAX:
		return part_of_shares(g, shares * tg_cpus(sys), MAX_SHARES);
	case FG_GROUP_SHARES_TASKS:
		shares *= tasks;
		break;
	}
	return part_of_shares(g, shares, shares);
}

/* A change of the weight of an entity, while its queue is at v. */
struct reweight {
	u64 v;
	u64 old;
	u64 new;
};

/*
 * With EEVDF a queued entity keeps its lag (since v6.9 no more than it could leave with) and, as a lag, what is left
 * until its deadline: both are times by its weight. Up to v6.16 a slice that began is protected no more; from v7.1 on (exact)
 * the rest of the protection is kept as a lag, too.
 */
static void reweight_queued(const struct fg_sys *sys, const struct fg_queue *q, struct fg_task *e,
			    const struct reweight *r)
{
	s64 lag = is_eevdf612(sys) ? entity_lag(sys, q, r->v, e) : (s64)(r->v - e->vruntime);

	if (feat(sys, FG_REWEIGHT) == FG_REWEIGHT_EXACT && e->on_cpu && protect_slice(sys, e))
		e->vprot = r->v + (u64)scale_signed((s64)(e->vprot - r->v), r->old, r->new);
	e->vruntime = r->v - (u64)scale_signed(lag, r->old, r->new);
	e->deadline = r->v + (u64)scale_signed((s64)(e->deadline - r->v), r->old, r->new);
	e->flags &= ~(u32)FG_TASK_PROTECTED;
}

/* V of q with a current e, of which q's sums do not know. */
static u64 avg_vruntime_with(const struct fg_sys *sys, const struct fg_queue *q, const struct fg_task *e)
{
	struct fg_queue with = *q;

	avg_vruntime_add(sys, &with, e);
	return fg_avg_vruntime(&with);
}

/*
 * v6.13 to v7.0: e, which has its new weight and is out of q's sums, is placed as if it joined, with the lag that it had
 * by its old weight. That inflates the lag, although e never left; a current e still counts in V. rest: of its slice.
 */
static void place_reweighted(const struct fg_sys *sys, const struct fg_queue *q, struct fg_task *e, s64 lag, s64 rest)
{
	u64 weight = entity_weight(sys, e), load = q->sum_weight + (e->on_cpu ? weight : 0);

	/* v6.16: an entity that is alone loses its lag. */
	if (!q->sum_weight && feat(sys, FG_REWEIGHT) == FG_REWEIGHT_SELF_OUT)
		lag = 0;
	lag += scale_signed(lag, weight, nonzero(load));
	e->vruntime = (e->on_cpu ? avg_vruntime_with(sys, q, e) : fg_avg_vruntime(q)) - (u64)lag;
	e->deadline = e->vruntime + (u64)rest;
	e->flags &= ~(u32)FG_TASK_PROTECTED;
}

/* Groups are among those that compete by EEVDF. */
static u32 groups_compete(const struct fg_sys *sys)
{
	return is_eevdf(sys) && !is_flat(sys);
}

/* Off the load of the queue that e is in, or onto it. */
static void leave_load(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *e)
{
	struct fg_tg_cpu *above = group_of(rq, e);

	queue_of(rq, e)->load_weight -= e->weight;
	if (above)
		above->load_shares -= e->shares;
	else
		dequeue_runnable_load_avg(sys, rq, e);
}

static void join_load(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *e)
{
	struct fg_tg_cpu *above = group_of(rq, e);

	queue_of(rq, e)->load_weight += e->weight;
	if (above)
		above->load_shares += e->shares;
	else
		enqueue_runnable_load_avg(sys, rq, e);
}

/* Off all sums of the queue, or onto them. */
static void leave_sums(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *e)
{
	if (groups_compete(sys))
		avg_vruntime_sub(sys, queue_of(rq, e), e);
	leave_load(sys, rq, e);
}

static void join_sums(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *e)
{
	if (groups_compete(sys))
		avg_vruntime_add(sys, queue_of(rq, e), e);
	join_load(sys, rq, e);
}

/* reweight_entity. Its caller has charged the current task. */
static void reweight_group(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *e, u64 shares)
{
	struct fg_queue *q = queue_of(rq, e);
	u32 how = feat(sys, FG_REWEIGHT), competes = groups_compete(sys) && e->on_rq,
	    placed = competes && (how == FG_REWEIGHT_PLACE || how == FG_REWEIGHT_SELF_OUT);
	struct reweight r = { .v = competes ? settled_avg_vruntime(sys, q) : 0, .old = e->shares, .new = shares };
	s64 lag = placed ? entity_lag(sys, q, r.v, e) : 0;
	s64 rest = (s64)(e->deadline - e->vruntime), left = (s64)(e->vprot - e->vruntime);
	/* v7.0: what is left of its protection. */
	u32 follows = feat(sys, FG_PROTECT_FIRST) && e->on_cpu && protect_slice(sys, e);

	if (e->on_rq)
		leave_sums(sys, rq, e);
	dequeue_load_avg(sys, queue_avg(rq, e), e);
	if (competes && !placed)
		reweight_queued(sys, q, e, &r);
	else if (!e->on_rq)
		e->vlag = scale_signed(e->vlag, r.old, shares);
	e->shares = shares;
	e->weight = (u32)max_u64(shares / 1024, MIN_WEIGHT);
	if (placed) {
		place_reweighted(sys, q, e, scale_signed(lag, r.old, shares), scale_signed(rest, r.old, shares));
		if (follows)
			e->vprot = e->vruntime + (u64)scale_signed(left, r.old, shares);
	}
	e->avg.load_avg = e->weight * e->avg.load_sum / pelt_divider(&e->avg);
	enqueue_load_avg(queue_avg(rq, e), e);
	if (e->on_rq)
		join_sums(sys, rq, e);
}

/* update_cfs_group. With CFS the load of a group follows its load_sum even if the weight stays. */
global_func u32 update_group_share(const struct fg_sys *sys state_arg, struct fg_cpu *rq state_arg,
				   struct fg_tg_cpu *g state_arg)
{
	u64 shares;

	/* The weight that a debt was counted in. */
	if (!g->queue.load_weight && feat(sys, FG_TG_EMPTY_KEEPS))
		return 0;
	/* It is not queued, or not for long. */
	if (is_within_off(sys, g))
		return 0;
	shares = group_shares(sys, g);
	if (shares == g->entity.shares && is_eevdf(sys))
		return 0;
	reweight_group(sys, rq, &g->entity, shares);
	return 1;
}

/* The entity of g, which has a task again, joins the queue that it competes in, unless it is there. 1: it joined. */
global_func u32 enqueue_group_entity(const struct fg_sys *sys state_arg, struct fg_cpu *rq state_arg,
				     struct fg_tg_cpu *g state_arg)
{
	struct fg_task *e = &g->entity;

	if (e->on_rq) {
		if (e->flags & FG_TASK_DELAYED)
			forfeit_credit(sys, queue_of(rq, e), e);
		e->flags &= ~(u32)FG_TASK_DELAYED;
		update_group_share(sys, rq, g);
		return 0;
	}
	update_group_share(sys, rq, g);
	if (groups_compete(sys))
		eevdf_place_entity(sys, queue_of(rq, e), e, FG_ENQUEUE_WAKEUP);
	else if (!is_flat(sys))
		cfs_place_entity(sys, rq, e, FG_ENQUEUE_WAKEUP);
	join_sums(sys, rq, e);
	e->on_rq = 1;
	return 1;
}

/*
 * p counts as SCHED_IDLE in the sums of g, which it is in, null: in those of rq: it is, or a group within g that it is in has cpu.idle.
 */
global_func u32 is_idle_within(const struct fg_cpu *rq state_arg, const struct fg_tg_cpu *g state_arg,
			       const struct fg_task *p state_arg)
{
	const struct fg_tg_cpu *in;

	if (p->policy == FG_SCHED_IDLE)
		return 1;
	for_each_group_of(in, rq, p) {
		if (in == g)
			return 0;
		if (in->group->idle)
			return 1;
	}
	return 0;
}

/* p is one more (by = 1) or less (-1) in the queue of g; null: in rq's own. */
static void count_task(struct fg_cpu *rq, struct fg_tg_cpu *g, const struct fg_task *p, s32 by)
{
	u32 delayed = p->flags & FG_TASK_DELAYED ? (u32)by : 0;

	if (g) {
		g->h_nr_running += (u32)by;
		g->h_nr_delayed += delayed;
		if (is_idle_within(rq, g, p))
			g->idle_h_nr_running += (u32)by;
		return;
	}
	rq->h_nr_running += (u32)by;
	rq->h_nr_delayed += delayed;
	if (is_idle_within(rq, 0, p))
		rq->idle_h_nr_running += (u32)by;
}

/* p is counted in what is above g; joined: g is an entity more there. */
static void count_above(struct fg_cpu *rq, const struct fg_tg_cpu *g, const struct fg_task *p, s32 by, s32 joined)
{
	struct fg_tg_cpu *above = group_above(rq, g);

	if (above)
		above->nr_nested += by - joined;
	else
		rq->nr_nested += by - joined;
	if (by)
		count_task(rq, above, p, by);
}

/*
 * p has joined its group: so do, unless they are there, the entities of all groups that it is in, up to one that is throttled;
 * 0: one is.
 */
global_func u32 enqueue_groups(const struct fg_sys *sys state_arg, struct fg_cpu *rq state_arg,
			       const struct fg_task *p state_arg)
{
	struct fg_tg_cpu *g;
	u32 was_empty = p->tg && nr_entities(rq, p) == 1;
	u64 slice = p->custom_slice;

	for_each_group_of(g, rq, p) {
		u32 joined;

		if (was_empty)
			check_enqueue_throttle(sys, rq, g);
		if (is_off(sys, g))
			return 0;
		if (was_empty)
			start_queue_clock(rq, g);
		was_empty = group_above(rq, g) && !group_above(rq, g)->queue.load_weight;
		/* Nobody else is queued in it. Later changes are the caller's. */
		if (!g->entity.on_rq)
			g->entity.custom_slice = slice;
		slice = g->entity.custom_slice;
		tell_above(sys, rq, g);
		g->runnable = runnable_tasks(sys, g->h_nr_running, g->h_nr_delayed);
		joined = enqueue_group_entity(sys, rq, g);
		count_above(rq, g, p, 1, (s32)joined);
	}
	return 1;
}

/* The entity of g leaves as one that falls asleep; flags: DELAYED if it did so before. 0: it stays, delayed. */
global_func u32 dequeue_group_entity(const struct fg_sys *sys state_arg, struct fg_cpu *rq state_arg,
				     struct fg_tg_cpu *g state_arg, u32 flags)
{
	struct fg_task *e = &g->entity;
	struct fg_queue *q = queue_of(rq, e);

	flags |= FG_DEQUEUE_SLEEP;
	forget_buddy(q, e);
	if (groups_compete(sys) && delays_dequeue(sys, q, e, flags)) {
		if (feat(sys, FG_DELAY_LAG))
			update_entity_lag(sys, q, e);
		e->flags |= FG_TASK_DELAYED;
		update_group_share(sys, rq, g);
		return 0;
	}
	if (groups_compete(sys))
		eevdf_leave(sys, q, e, flags);
	leave_load(sys, rq, e);
	e->on_rq = 0;
	return_runtime(rq, group_above(rq, g));
	e->flags &= ~(u32)FG_TASK_DELAYED;
	update_group_share(sys, rq, g);
	note_idle_clock(sys, rq, group_above(rq, g));
	return 1;
}

/* set_next_buddy: g runs next, and so do the groups around it. */
static void set_next_buddy_group(struct fg_cpu *rq, struct fg_tg_cpu *g)
{
	for (u32 i = 0; can_loop(i, FG_MAX_TG_DEPTH) && g && !g->group->idle; i++) {
		queue_of(rq, &g->entity)->next = &g->entity;
		g = group_above(rq, g);
	}
}

/*
 * g has lost p, or, if that is null, is delayed itself and leaves now: so do the entities of all groups that have nothing
 * left, from the innermost on, up to one that is throttled; 0: one is. sleeps: p does.
 */
global_func u32 dequeue_groups(const struct fg_sys *sys state_arg, struct fg_cpu *rq state_arg,
			       struct fg_tg_cpu *g state_arg, const struct fg_task *p state_arg, u32 sleeps)
{
	u32 leaving = 1, flags = p ? 0 : FG_DEQUEUE_DELAYED;

	for (u32 i = 0; can_loop(i, FG_MAX_TG_DEPTH) && g; i++) {
		u32 left = 0;

		if (is_off(sys, g))
			return 0;
		tell_above(sys, rq, g);
		g->runnable = runnable_tasks(sys, g->h_nr_running, g->h_nr_delayed);
		if (leaving && !g->queue.load_weight) {
			left = dequeue_group_entity(sys, rq, g, flags);
			leaving = left;
		} else {
			/* A task that sleeps before its slice ends leaves the rest of the slice to its group. */
			if (leaving && sleeps && !is_within_off(sys, g) &&
			    (groups_compete(sys) ? feat(sys, FG_PICK_BUDDY) : !is_eevdf(sys)))
				set_next_buddy_group(rq, g);
			leaving = 0;
			update_group_share(sys, rq, g);
		}
		count_above(rq, g, p, p ? -1 : 0, -(s32)left);
		flags = 0;
		g = group_above(rq, g);
	}
	return 1;
}

void fg_tg_dequeue_delayed(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg *tg)
{
	dequeue_groups(sys, rq, &tg->cpus[(u32)rq->id], 0, 1);
}

/* A task of g becomes current; averages have been updated. */
static void set_next_group(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg_cpu *g, u32 first)
{
	struct fg_task *e = &g->entity;

	forget_buddy(queue_of(rq, e), e);
	e->on_cpu = 1;
	e->exec_start = rq->clock_task;
	e->prev_sum_exec = e->sum_exec;
	if (groups_compete(sys) && (first || !feat(sys, FG_PROTECT_FIRST)))
		set_protect_slice(sys, queue_of(rq, e), e);
}

/* The same of all groups that p, which becomes current, is in and that do not have the CPU yet. */
static void set_next_groups(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_task *p, u32 first)
{
	struct fg_tg_cpu *g;

	for_each_group_of(g, rq, p) {
		if (g->entity.on_cpu)
			return;
		set_next_group(sys, rq, g, first);
	}
}

void fg_tg_put_prev(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg *tg)
{
	struct fg_tg_cpu *g = &tg->cpus[(u32)rq->id];

	/* In the load of the group above over all CPUs this CPU's part stays as it is. */
	if (g->entity.on_rq && age_above_group(sys, rq, g) && !g->entity.tg && feat(sys, FG_FREQ_AFTER_ALL))
		cpufreq_update_util(sys, rq, 0);
	g->entity.on_cpu = 0;
}

/* ---- flat-pick: tasks compete by their parts of the CPU ---- */

/* __calc_prop_weight for p and all groups that it is in: p's part of the CPU by weight, in 1024ths (spec-new 3.1). */
static u64 task_prop_weight(const struct fg_cpu *rq, const struct fg_task *p)
{
	u64 part = NICE_0_SHARES, weight = (u64)p->weight * 1024;
	const struct fg_tg_cpu *g;

	for_each_group_of(g, rq, p) {
		part = max_u64(part * weight / nonzero(g->load_shares), MIN_SHARES);
		weight = g->entity.shares;
	}
	return max_u64(part * weight / NICE_0_SHARES, MIN_SHARES);
}

/* reweight_eevdf: p takes what is its part now. competes: it is among those of rq's queue. */
static void reweight_task_part(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p, u32 competes)
{
	struct fg_queue *q = &rq->fair;
	struct reweight r = { .v = settled_avg_vruntime(sys, q), .old = p->h_load, .new = task_prop_weight(rq, p) };

	if (r.new == r.old)
		return;
	if (!competes) {
		p->h_load = r.new;
		eevdf_rescale(sys, p, r.old, r.new);
		return;
	}
	avg_vruntime_sub(sys, q, p);
	reweight_queued(sys, q, p, &r);
	p->h_load = r.new;
	avg_vruntime_add(sys, q, p);
}

void fg_tg_init(const struct fg_sys *sys, struct fg_tg *tg)
{
	for (u32 cpu = 0; can_loop(cpu, FG_NR_CPUS) && cpu < sys->nr_cpus; cpu++) {
		struct fg_tg_cpu *g = &tg->cpus[cpu];

		g->group = tg;
		g->entity.cpu = (s32)cpu;
		g->entity.tg = tg->parent;
		g->entity.policy = tg->idle ? FG_SCHED_IDLE : FG_SCHED_OTHER;
		g->entity.shares = tg->shares;
		g->entity.weight = (u32)max_u64(tg->shares / 1024, MIN_WEIGHT);
	}
}
