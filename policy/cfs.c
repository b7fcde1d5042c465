/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The completely fair run queue up to v6.5 (spec 9.1): the task with the least vruntime runs next. A task off the
 * queue by sleep keeps its vruntime; one that leaves in any other way carries it relative to min_vruntime.
 */
#include "sched.h"

/* ns; each times tunable_factor(). */
#define CFS_LATENCY 6000000ull
#define CFS_MIN_GRANULARITY 750000ull
/* ns, whatever the number of CPUs. */
#define CFS_IDLE_MIN_GRANULARITY 750000ull
#define CFS_WAKEUP_GRANULARITY 1000000ull
/* That many tasks share one latency; with more the period grows. */
#define CFS_NR_LATENCY 8

/* Every queued task once. */
static u64 sched_period(const struct fg_sys *sys, u64 nr)
{
	if (nr > CFS_NR_LATENCY)
		return nr * CFS_MIN_GRANULARITY * tunable_factor(sys);
	return CFS_LATENCY * tunable_factor(sys);
}

/* Entities of the queue of p. */
static u64 nr_entities(const struct fg_cpu *rq, const struct fg_task *p)
{
	const struct fg_tg_cpu *g = group_of(rq, p);

	return g ? g->h_nr_running - (u32)g->nr_nested : rq->h_nr_running - (u32)rq->nr_nested;
}

/*
 * sched_idle_cfs_rq: nothing is queued beside what is SCHED_IDLE. DEVIATION: by tasks, so that a group without cpu.idle which has
 * only SCHED_IDLE tasks counts as idle.
 */
static u32 queue_is_idle(const struct fg_cpu *rq, const struct fg_task *p)
{
	const struct fg_tg_cpu *g = group_of(rq, p);

	if (g)
		return g->h_nr_running && g->idle_h_nr_running == g->h_nr_running;
	return rq->h_nr_running && rq->idle_h_nr_running == rq->h_nr_running;
}

/* The shortest slice of p, ns. */
static u64 min_granularity(const struct fg_sys *sys, const struct fg_cpu *rq, const struct fg_task *p)
{
	if (feat(sys, FG_IDLE_SLICE) && p->policy == FG_SCHED_IDLE && !queue_is_idle(rq, p))
		return CFS_IDLE_MIN_GRANULARITY;
	return CFS_MIN_GRANULARITY * tunable_factor(sys);
}

/* The number of entities that share a period: since v5.13 all tasks of the CPU, before the entities of p's queue. */
static u64 nr_sharing(const struct fg_sys *sys, const struct fg_cpu *rq, const struct fg_task *p)
{
	if (feat(sys, FG_BASE_SLICE))
		return rq->h_nr_running;
	return nr_entities(rq, p);
}

/* p's share of time on q by weight, whether or not it is counted there yet. */
static u64 share_of(const struct fg_queue *q, const struct fg_task *p, u64 time)
{
	return time * p->weight / nonzero(q->load_weight + (p->on_rq ? 0 : p->weight));
}

/* p's share of the period: of its queue's, which is that of its group. */
static u64 sched_slice(const struct fg_sys *sys, const struct fg_cpu *rq, const struct fg_task *p)
{
	u64 slice = sched_period(sys, nr_sharing(sys, rq, p) + !p->on_rq);
	const struct fg_tg_cpu *g;

	slice = share_of(const_queue_of(rq, p), p, slice);
	for_each_group_of(g, rq, p)
		slice = share_of(const_queue_of(rq, &g->entity), &g->entity, slice);
	if (feat(sys, FG_BASE_SLICE))
		slice = max_u64(slice, min_granularity(sys, rq, p));
	return slice;
}

/* min_vruntime follows the smallest vruntime there is, and never goes back. curr: of this queue, or null. */
static void cfs_update_min_vruntime(struct fg_queue *q, const struct fg_task *curr, const struct fg_task *left)
{
	u64 v = q->min_vruntime;

	if (curr && curr->on_rq) {
		v = curr->vruntime;
		if (left)
			v = vruntime_min(v, left->vruntime);
	} else if (left) {
		v = left->vruntime;
	}
	q->min_vruntime = vruntime_max(q->min_vruntime, v);
}

/* How far before min_vruntime a sleeper is placed at most, ns of virtual time. */
static u64 sleeper_credit(const struct fg_sys *sys, const struct fg_task *p)
{
	u32 is_idle = feat(sys, FG_IDLE_SLICE) && p->policy == FG_SCHED_IDLE;

	return (is_idle ? CFS_MIN_GRANULARITY : CFS_LATENCY) * tunable_factor(sys) / 2;
}

/* A sleeper gets half a latency of credit, but what it had left if that is less; a child starts a slice behind. */
static u64 place_entity(const struct fg_sys *sys, const struct fg_cpu *rq, const struct fg_task *p, u32 initial)
{
	u64 v = const_queue_of(rq, p)->min_vruntime;

	if (initial)
		v += calc_delta_fair(sys, sched_slice(sys, rq, p), p);
	else
		v -= sleeper_credit(sys, p);
	return vruntime_max(p->vruntime, v);
}

static void cfs_task_fork(const struct fg_sys *sys, const struct fg_cpu *rq, struct fg_task *p)
{
	const struct fg_task *curr = fair_curr(rq);

	if (curr && curr->tg == p->tg)
		p->vruntime = curr->vruntime;
	p->vruntime = place_entity(sys, rq, p, 1) - const_queue_of(rq, p)->min_vruntime;
}

/* p's vruntime when it joins. */
static void cfs_place_entity(const struct fg_sys *sys, const struct fg_cpu *rq, struct fg_task *p, u32 flags)
{
	/* Only a task that slept here has a vruntime of this queue. */
	if (!(flags & FG_ENQUEUE_WAKEUP) || (flags & FG_ENQUEUE_MIGRATED))
		p->vruntime += const_queue_of(rq, p)->min_vruntime;
	if (flags & FG_ENQUEUE_WAKEUP)
		p->vruntime = place_entity(sys, rq, p, 0);
}

/* ns of p's vruntime that it must be behind to preempt or to be preferred. */
static u64 wakeup_gran(const struct fg_sys *sys, const struct fg_task *p)
{
	return calc_delta_fair(sys, CFS_WAKEUP_GRANULARITY * tunable_factor(sys), p);
}

/* v is so far ahead of p's that p should run instead. */
static u32 wakeup_preempts(const struct fg_sys *sys, u64 v, const struct fg_task *p)
{
	s64 diff = (s64)(v - p->vruntime);

	return diff > 0 && (u64)diff > wakeup_gran(sys, p);
}

/* a, or b if that is earlier; null loses. */
static struct fg_task *earlier(struct fg_task *a, struct fg_task *b)
{
	if (!a || (b && vruntime_before(b->vruntime, a->vruntime)))
		return b;
	return a;
}

/* A buddy runs out of order if that is not unfair to the leftmost. */
static u32 buddy_is_fair(const struct fg_sys *sys, const struct fg_task *buddy, const struct fg_task *left)
{
	return buddy && !wakeup_preempts(sys, buddy->vruntime, left);
}

/* Of q. curr: an entity of it, or null. */
static struct fg_task *cfs_pick_entity(const struct fg_sys *sys, const struct fg_queue *q, struct fg_task *curr,
				       const struct pick_from *from, u32 *rule)
{
	struct fg_task *first, *pick, *left = from->first, *second = from->second;

	*rule = FG_PICK_RULE_LEFTMOST;

	if (curr && !curr->on_rq)
		curr = 0;
	first = earlier(left, curr);
	if (!first)
		return 0;

	pick = first;
	if (q->skip == first) {
		/* It yielded: the next one in order, which is left if the current task was first. */
		struct fg_task *other = first == curr ? left : earlier(second, curr);

		if (buddy_is_fair(sys, other, first)) {
			pick = other;
			*rule = FG_PICK_RULE_CFS_SKIP;
		}
	}
	/* A preempted task has a warm cache; a task woken by the current one (next buddy) matters more. */
	if (buddy_is_fair(sys, q->next, first)) {
		pick = q->next;
		*rule = FG_PICK_RULE_CFS_NEXT;
	} else if (buddy_is_fair(sys, q->last, first)) {
		pick = q->last;
		*rule = FG_PICK_RULE_CFS_LAST;
	}
	return pick;
}

/*
 * enum fg_pick_rule_id, or 0: the slice is over, or curr ran its minimum and is a whole slice ahead of the leftmost of its
 * queue.
 */
global_func u32 check_preempt_tick(const struct fg_sys *sys state_arg, struct fg_cpu *rq state_arg,
				   const struct fg_task *curr state_arg, const struct fg_task *left state_arg)
{
	u64 slice = sched_slice(sys, rq, curr);
	u64 ran = curr->sum_exec - curr->prev_sum_exec;
	s64 ahead;

	if (ran > slice) {
		/* Buddies must not bring it straight back. */
		fg_clear_buddies(sys, rq, curr);
		return FG_PICK_RULE_TICK_SLICE;
	}
	if (ran < CFS_MIN_GRANULARITY * tunable_factor(sys) || !left)
		return 0;
	ahead = (s64)(curr->vruntime - left->vruntime);
	return ahead > 0 && (u64)ahead > slice ? FG_PICK_RULE_TICK_AHEAD : 0;
}

/* pe, of p, runs next, and so do the groups that it is in. */
static void set_next_buddies(struct fg_cpu *rq, struct fg_task *pe)
{
	struct fg_tg_cpu *g;

	queue_of(rq, pe)->next = pe;
	for_each_group_of(g, rq, pe)
		queue_of(rq, &g->entity)->next = &g->entity;
}

static void set_last_buddies(struct fg_cpu *rq, struct fg_task *p)
{
	struct fg_tg_cpu *g;

	queue_of(rq, p)->last = p;
	for_each_group_of(g, rq, p)
		queue_of(rq, &g->entity)->last = &g->entity;
}

/* What the policies decide without a look at virtual times; else FG_PICK_RULE_NONE. */
static u32 cfs_policy_rule(const struct fg_task *curr, const struct fg_task *p)
{
	if (curr->policy == FG_SCHED_IDLE && p->policy != FG_SCHED_IDLE)
		return FG_PICK_RULE_PREEMPT_IDLE;
	/* Batch and idle tasks wait for the tick. */
	return p->policy != FG_SCHED_OTHER ? FG_PICK_RULE_WAKE_BATCH : FG_PICK_RULE_NONE;
}

/*
 * enum fg_pick_rule_id. They compete as pe and e, in the innermost group that both are in, or in none. If a buddy is set in
 * the queue of a group, the group becomes a buddy where it competes.
 */
static u32 cfs_check_preempt_wakeup(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *curr,
				    struct fg_task *p)
{
	const struct fg_tg *tg = common_group(curr, p);
	struct fg_task *e = entity_in(rq, curr, tg), *pe = entity_in(rq, p, tg);
	u32 many = nr_entities(rq, curr) >= CFS_NR_LATENCY, rule = cfs_policy_rule(curr, p);

	if (rule == FG_PICK_RULE_WAKE_BATCH)
		return rule;
	if (rule == FG_PICK_RULE_NONE) {
		if (!wakeup_preempts(sys, e->vruntime, pe))
			return FG_PICK_RULE_WAKE_VRUNTIME;
		rule = FG_PICK_RULE_PREEMPT_VRUNTIME;
		set_next_buddies(rq, pe);
	}
	/* With many tasks on the queue the preempted one should come back before its cache is gone. */
	if (many && e == curr && curr->on_rq && curr->policy != FG_SCHED_IDLE)
		set_last_buddies(rq, curr);
	return rule;
}
