/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Task groups that compete as one, below the root group and not within each other: what happens to a group's entity when
 * tasks of it come and go. On each CPU it has the part of the group's shares that its load there has of the group's load.
 *
 * DEVIATION: the entity's slice is the base slice; 6.12's is the shortest one of its tasks, which matters only if they
 * ask for slices.
 *
 * DEVIATION: up to v5.6 the load of queued entities (fg_cpu.queued) takes all of a queued group's load_avg. The kernel
 * takes the part of it that the group's own queued tasks have, and keeps one more signal of each group for that.
 */
#include "sched.h"

/* In 1024ths of a weight. */
#define MIN_SHARES 2
/* The least weight, in units without fractions. */
#define MIN_WEIGHT 2

/*
 * calc_group_shares. The load on this CPU is what is queued, or what it has been if that is more: a queue that just filled
 * should not wait until its average follows.
 */
static u64 group_shares(const struct fg_tg_cpu *g)
{
	u64 load = max_u64(g->queue.load_weight, g->avg.load_avg);
	u64 all = pos_sub(g->group->load_avg, g->contribution) + load;

	return clamp_u64(g->group->shares * load / nonzero(all), MIN_SHARES, max_u64(g->group->shares, MIN_SHARES));
}

/*
 * With EEVDF a queued entity keeps its lag (since v6.9 no more than it could leave with) and, as a lag, what is left
 * until its deadline: both are times by its weight. v: where its queue is. Up to v6.16 a slice that began is protected no
 * more; from v7.1 on (exact) the rest of the protection is kept as a lag, too.
 */
static void reweight_queued(const struct fg_sys *sys, const struct fg_queue *q, struct fg_task *e, u64 v, u64 old,
			    u64 shares)
{
	s64 lag = is_eevdf612(sys) ? entity_lag(sys, q, v, e) : (s64)(v - e->vruntime);

	if (feat(sys, FG_REWEIGHT) == FG_REWEIGHT_EXACT && e->on_cpu && protect_slice(sys, e))
		e->vprot = v + (u64)scale_signed((s64)(e->vprot - v), old, shares);
	e->vruntime = v - (u64)scale_signed(lag, old, shares);
	e->deadline = v + (u64)scale_signed((s64)(e->deadline - v), old, shares);
	e->flags &= ~(u32)FG_TASK_PROTECTED;
}

/* V of q with a current e, of which q's sums do not know. */
static u64 avg_vruntime_with(const struct fg_queue *q, const struct fg_task *e)
{
	struct fg_queue with = *q;

	avg_vruntime_add(&with, e);
	with.load_weight += e->weight;
	return fg_avg_vruntime(&with);
}

/*
 * v6.13 to v7.0: e, which has its new weight and is out of q's sums, is placed as if it joined, with the lag that it had
 * by its old weight. That inflates the lag, although e never left; a current e still counts in V. rest: of its slice.
 */
static void place_reweighted(const struct fg_sys *sys, const struct fg_queue *q, struct fg_task *e, s64 lag, s64 rest)
{
	u64 load = q->load_weight + (e->on_cpu ? e->weight : 0);

	/* v6.16: an entity that is alone loses its lag. */
	if (!q->load_weight && feat(sys, FG_REWEIGHT) == FG_REWEIGHT_SELF_OUT)
		lag = 0;
	lag += scale_signed(lag, e->weight, nonzero(load));
	e->vruntime = (e->on_cpu ? avg_vruntime_with(q, e) : fg_avg_vruntime(q)) - (u64)lag;
	e->deadline = e->vruntime + (u64)rest;
	e->flags &= ~(u32)FG_TASK_PROTECTED;
}

/* Off the sums of the CPU's queue, or onto them. */
static void leave_sums(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *e)
{
	if (is_eevdf(sys))
		avg_vruntime_sub(&rq->fair, e);
	rq->fair.load_weight -= e->weight;
	dequeue_runnable_load_avg(sys, rq, e);
}

static void join_sums(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *e)
{
	if (is_eevdf(sys))
		avg_vruntime_add(&rq->fair, e);
	rq->fair.load_weight += e->weight;
	enqueue_runnable_load_avg(sys, rq, e);
}

/* reweight_entity. Its caller has charged the current task. */
static void reweight_group(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *e, u64 shares)
{
	u64 old = e->shares, v = is_eevdf(sys) ? fg_avg_vruntime(&rq->fair) : 0;
	u32 reweight = feat(sys, FG_REWEIGHT),
	    placed = reweight == FG_REWEIGHT_PLACE || reweight == FG_REWEIGHT_SELF_OUT;
	s64 lag = placed && e->on_rq ? entity_lag(sys, &rq->fair, v, e) : 0;
	s64 rest = (s64)(e->deadline - e->vruntime), left = (s64)(e->vprot - e->vruntime);
	/* v7.0: what is left of its protection. */
	u32 follows = feat(sys, FG_PROTECT_FIRST) && e->on_cpu && protect_slice(sys, e);

	if (e->on_rq)
		leave_sums(sys, rq, e);
	dequeue_load_avg(sys, &rq->cfs, e);
	if (is_eevdf(sys) && e->on_rq && !placed)
		reweight_queued(sys, &rq->fair, e, v, old, shares);
	else if (!e->on_rq)
		e->vlag = scale_signed(e->vlag, old, shares);
	e->shares = (u32)shares;
	e->weight = (u32)max_u64(shares / 1024, MIN_WEIGHT);
	if (placed && e->on_rq) {
		place_reweighted(sys, &rq->fair, e, scale_signed(lag, old, shares), scale_signed(rest, old, shares));
		if (follows)
			e->vprot = e->vruntime + (u64)scale_signed(left, old, shares);
	}
	e->avg.load_avg = e->weight * e->avg.load_sum / pelt_divider(&e->avg);
	enqueue_load_avg(&rq->cfs, e);
	if (e->on_rq)
		join_sums(sys, rq, e);
}

/* update_cfs_group. With CFS the load of a group follows its load_sum even if the weight stays. */
static void update_group_share(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg_cpu *g)
{
	u64 shares;

	/* The weight that a debt was counted in. */
	if (!g->queue.load_weight && feat(sys, FG_TG_EMPTY_KEEPS))
		return;
	shares = group_shares(g);
	if (shares != g->entity.shares || !is_eevdf(sys))
		reweight_group(sys, rq, &g->entity, shares);
}

/* A task has joined g's queue: so does the entity, unless it is there. changed: of join_group_load_avg(). */
static void enqueue_group(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg_cpu *g, u32 changed)
{
	struct fg_task *e = &g->entity;

	tell_group(sys, rq, g, changed);
	g->runnable = runnable_tasks(sys, g->h_nr_running, g->h_nr_delayed);
	if (e->on_rq) {
		if (e->flags & FG_TASK_DELAYED)
			forfeit_credit(sys, &rq->fair, e);
		e->flags &= ~(u32)FG_TASK_DELAYED;
		update_group_share(sys, rq, g);
		return;
	}
	update_group_share(sys, rq, g);
	if (is_eevdf(sys))
		eevdf_place_entity(sys, &rq->fair, e, FG_ENQUEUE_WAKEUP);
	else
		cfs_place_entity(sys, rq, e, FG_ENQUEUE_WAKEUP);
	join_sums(sys, rq, e);
	e->on_rq = 1;
	rq->nr_nested--;
}

/* The entity leaves as one that falls asleep; flags: DELAYED if it did so before. */
static void dequeue_group_entity(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg_cpu *g, u32 flags)
{
	struct fg_task *e = &g->entity;

	flags |= FG_DEQUEUE_SLEEP;
	forget_buddy(&rq->fair, e);
	if (delays_dequeue(sys, &rq->fair, e, flags)) {
		if (feat(sys, FG_DELAY_LAG))
			update_entity_lag(sys, &rq->fair, e);
		e->flags |= FG_TASK_DELAYED;
		update_group_share(sys, rq, g);
		return;
	}
	if (is_eevdf(sys))
		eevdf_leave(sys, &rq->fair, e, flags);
	rq->fair.load_weight -= e->weight;
	dequeue_runnable_load_avg(sys, rq, e);
	e->on_rq = 0;
	e->flags &= ~(u32)FG_TASK_DELAYED;
	rq->nr_nested++;
	update_group_share(sys, rq, g);
}

/* A task has left g's queue: so does the entity if it was the last one. changed: of leave_group_load_avg(). */
static void dequeue_group(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg_cpu *g, u32 flags, u32 changed)
{
	tell_group(sys, rq, g, changed);
	g->runnable = runnable_tasks(sys, g->h_nr_running, g->h_nr_delayed);
	if (!g->queue.load_weight) {
		dequeue_group_entity(sys, rq, g, 0);
		return;
	}
	/* A task that sleeps before its slice ends leaves the rest of the slice to its group. */
	if ((flags & FG_DEQUEUE_SLEEP) && (!is_eevdf(sys) || feat(sys, FG_PICK_BUDDY)))
		rq->fair.next = &g->entity;
	update_group_share(sys, rq, g);
}

void fg_tg_dequeue_delayed(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg *tg)
{
	struct fg_tg_cpu *g = &tg->cpus[(u32)rq->id];

	tell_group(sys, rq, g, age_above_group(sys, rq, g));
	dequeue_group_entity(sys, rq, g, FG_DEQUEUE_DELAYED);
}

/* A task of g becomes current; averages have been updated. */
static void set_next_group(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg_cpu *g, u32 first)
{
	struct fg_task *e = &g->entity;

	if (e->on_cpu)
		return;
	forget_buddy(&rq->fair, e);
	e->on_cpu = 1;
	e->exec_start = rq->clock_task;
	e->prev_sum_exec = e->sum_exec;
	if (is_eevdf(sys) && (first || !feat(sys, FG_PROTECT_FIRST)))
		set_protect_slice(sys, &rq->fair, e);
}

void fg_tg_put_prev(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg *tg)
{
	struct fg_tg_cpu *g = &tg->cpus[(u32)rq->id];

	if (g->entity.on_rq)
		tell_group(sys, rq, g, age_above_group(sys, rq, g));
	g->entity.on_cpu = 0;
}

void fg_tg_init(const struct fg_sys *sys, struct fg_tg *tg)
{
	for (u32 cpu = 0; can_loop(cpu, FG_NR_CPUS) && cpu < sys->nr_cpus; cpu++) {
		struct fg_tg_cpu *g = &tg->cpus[cpu];

		g->group = tg;
		g->entity.cpu = (s32)cpu;
		g->entity.shares = (u32)tg->shares;
		g->entity.weight = (u32)max_u64(tg->shares / 1024, MIN_WEIGHT);
	}
}
