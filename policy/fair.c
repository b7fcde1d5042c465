/* SPDX-License-Identifier: GPL-2.0-only */
/* The run queue of fair tasks: what CFS and EEVDF have in common, and the questions of fg.h about it (spec 9). */
#include "sched.h"

/*
 * load_avg is weight * load_sum / divider (spec 2.2), and does not wait for the next period to follow a weight. A task
 * that becomes SCHED_IDLE gets its weight and keeps its load_avg and lag until then, but for idle-reweight.
 */
void fg_reweight_task(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	u32 attached = !is_detached(p);
	u32 old_weight = p->weight;

	if (p->policy == FG_SCHED_IDLE && !feat(sys, FG_IDLE_REWEIGHT)) {
		fg_set_load_weight(p);
		return;
	}
	if (attached)
		dequeue_load_avg(sys, queue_avg(rq, p), p);
	fg_set_load_weight(p);
	/* With flat-pick the next enqueue sees to it. */
	if (!is_flat(sys))
		eevdf_rescale(sys, p, old_weight, p->weight);
	p->avg.load_avg = p->weight * p->avg.load_sum / pelt_divider(&p->avg);
	if (attached)
		enqueue_load_avg(queue_avg(rq, p), p);
}

void fg_switched_to_fair(const struct fg_cpu *rq, struct fg_task *p)
{
	p->vruntime += const_queue_of(rq, p)->min_vruntime;
}

void fg_update_min_vruntime(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_task *left)
{
	if (is_eevdf(sys))
		eevdf_update_min_vruntime(&rq->fair);
	else
		cfs_update_min_vruntime(&rq->fair, curr_entity(sys, rq), left);
}

void fg_tg_update_min_vruntime(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg *tg,
			       const struct fg_task *left)
{
	struct fg_queue *q = &tg->cpus[(u32)rq->id].queue;

	if (is_eevdf(sys))
		eevdf_update_min_vruntime(q);
	else
		cfs_update_min_vruntime(q, curr_in_group(rq, tg), left);
}

/* curr has run for delta ns in the queue of g, null: in rq's own, where with flat-pick all do. 1: a group cannot pay any more. */
static u32 charge_quotas(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg_cpu *g, const struct fg_task *curr,
			 u64 delta)
{
	u32 over = 0;

	if (g)
		return account_runtime(sys, rq, g, delta);
	if (!is_flat(sys))
		return 0;
	for_each_group_of(g, rq, curr)
		over |= account_runtime(sys, rq, g, delta);
	return over;
}

/* curr, of q, has had the CPU until now; g: whose queue q is, null: rq's. */
global_func u32 charge_entity(const struct fg_sys *sys state_arg, struct fg_cpu *rq state_arg,
			      struct fg_tg_cpu *g state_arg, struct fg_task *curr state_arg,
			      const struct fg_task *left state_arg)
{
	struct fg_queue *q = g ? &g->queue : &rq->fair;
	u64 delta;
	u32 rule = 0, over, server = 0;

	if (!curr->on_rq || rq->clock_task <= curr->exec_start)
		return 0;
	delta = rq->clock_task - curr->exec_start;
	curr->exec_start = rq->clock_task;
	curr->sum_exec += delta;
	if (!curr->shares) {
		account_mm_sched(sys, rq, curr, delta);
		if (rq->server.flags & FG_SERVER_ACTIVE)
			server = server_ran(sys, rq, delta);
	}
	over = charge_quotas(sys, rq, g, curr, delta);
	delta = calc_delta_fair(sys, delta, curr);
	if (is_eevdf(sys)) {
		rule = eevdf_charge(sys, q, curr, delta);
	} else {
		curr->vruntime += delta;
		cfs_update_min_vruntime(q, curr, left);
	}
	if (over)
		return FG_PICK_RULE_QUOTA;
	return server ? FG_PICK_RULE_SERVER : rule;
}

u32 fg_update_curr(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_task *left)
{
	struct fg_task *curr = curr_entity(sys, rq);

	return curr ? charge_entity(sys, rq, 0, curr, left) : 0;
}

u32 fg_tg_update_curr(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg *tg, const struct fg_task *left)
{
	struct fg_task *curr = curr_in_group(rq, tg);

	return curr ? charge_entity(sys, rq, &tg->cpus[(u32)rq->id], curr, left) : 0;
}

void fg_task_fork(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	/* With EEVDF it starts without lag, wherever it is enqueued. */
	if (!is_eevdf(sys))
		cfs_task_fork(sys, rq, p);
}

/* p is in the queue that it is queued in, g's or, if that is null, rq's: its load, and how many tasks are in it. */
static void account_entity_enqueue(struct fg_cpu *rq, const struct fg_task *p)
{
	struct fg_tg_cpu *g = group_of(rq, p);

	queue_of(rq, p)->load_weight += p->weight;
	if (g)
		g->load_shares += p->weight * 1024ull;
	count_task(rq, g, p, 1);
}

static void account_entity_dequeue(struct fg_cpu *rq, const struct fg_task *p)
{
	struct fg_tg_cpu *g = group_of(rq, p);
	struct fg_queue *q = queue_of(rq, p);

	q->load_weight = pos_sub(q->load_weight, p->weight);
	if (g)
		g->load_shares = pos_sub(g->load_shares, p->weight * 1024ull);
	count_task(rq, g, p, -1);
}

static void add_nr_running(struct fg_cpu *rq, u32 nr)
{
	u32 was = rq->nr_running;

	rq->nr_running += nr;
	/* A task waits: the root domain may have something to balance. */
	if (was < 2 && rq->nr_running >= 2 && rq->rd)
		rq->rd->overload = 1;
}

/* The averages of p and its queue, p's among them: of all that the governor hears once. Groups above hear later. */
global_func u32 join_load_avg(const struct fg_sys *sys state_arg, struct fg_cpu *rq state_arg,
			      struct fg_task *p state_arg)
{
	u32 attaches = p->flags & FG_TASK_MIGRATED;

	if (p->tg) {
		age_task(rq, p);
		join_group_load_avg(sys, rq, p, attaches);
		return 0;
	}
	if (!attaches) {
		update_load_avg(sys, rq, p);
		return 0;
	}
	age_load_avg(sys, rq, p);
	attach_entity_load_avg(rq, p);
	cpufreq_update_util(sys, rq, 0);
	return 0;
}

/* p, on the queue, takes its place among those that compete there. */
global_func u32 join_competition(const struct fg_sys *sys state_arg, struct fg_cpu *rq state_arg,
				 struct fg_task *p state_arg, u32 flags)
{
	if (!is_eevdf(sys)) {
		cfs_place_entity(sys, rq, p, flags);
		return 0;
	}
	if (is_flat(sys))
		reweight_task_part(sys, rq, p, 0);
	eevdf_place_entity(sys, order_queue(sys, rq, p), p, flags);
	avg_vruntime_add(sys, order_queue(sys, rq, p), p);
	return 0;
}

void fg_enqueue_entity(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p, u32 flags)
{
	u32 counted = !(p->flags & FG_TASK_DELAYED), nr_before = rq->h_nr_running, arrived;

	if (!is_flat(sys))
		join_competition(sys, rq, p, flags);
	/* The estimate and the clamps count tasks that are awake. */
	if (counted && !feat(sys, FG_UCLAMP_LATE))
		fg_uclamp_rq_inc(sys, rq, p);
	if (counted)
		util_est_enqueue(sys, rq, p);
	if (flags & FG_ENQUEUE_IOWAIT)
		cpufreq_update_util(sys, rq, FG_FREQUENCY_IOWAIT);
	join_load_avg(sys, rq, p);
	if (!p->tg)
		enqueue_runnable_load_avg(sys, rq, p);
	account_entity_enqueue(rq, p);
	account_llc_enqueue(sys, rq, p);
	p->on_rq = 1;
	p->flags &= ~(u32)FG_TASK_NEW;
	arrived = enqueue_groups(sys, rq, p);
	if (!nr_before && rq->h_nr_running)
		server_start(sys, rq);
	if (arrived)
		add_nr_running(rq, 1);
	/* Its part of the CPU is known now. */
	if (is_flat(sys))
		join_competition(sys, rq, p, flags);

	/* Only wakeups: the utilization of a new task is a guess, and a migrated task was counted before. */
	if (arrived && (flags & FG_ENQUEUE_WAKEUP))
		update_overutilized_status(sys, rq);
	if (counted && feat(sys, FG_UCLAMP_LATE))
		fg_uclamp_rq_inc(sys, rq, p);
}

#define BUDDY_NEXT 1
#define BUDDY_LAST 2
#define BUDDY_SKIP 4

/* e is none of these buddies of q any more. Which of them it was. */
static u32 clear_buddies_of(struct fg_queue *q, const struct fg_task *e, u32 buddies)
{
	u32 was = 0;

	if ((buddies & BUDDY_LAST) && q->last == e) {
		q->last = 0;
		was |= BUDDY_LAST;
	}
	if ((buddies & BUDDY_NEXT) && q->next == e) {
		q->next = 0;
		was |= BUDDY_NEXT;
	}
	if ((buddies & BUDDY_SKIP) && q->skip == e) {
		q->skip = 0;
		was |= BUDDY_SKIP;
	}
	return was;
}

/* Above p only groups that were made buddies for p's sake. */
void fg_clear_buddies(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_task *p)
{
	u32 buddies = clear_buddies_of(order_queue(sys, rq, p), p, BUDDY_NEXT | BUDDY_LAST | BUDDY_SKIP);
	struct fg_tg_cpu *g;

	if (is_flat(sys))
		return;
	for_each_group_of(g, rq, p) {
		if (!buddies)
			return;
		buddies = clear_buddies_of(queue_of(rq, &g->entity), &g->entity, buddies);
	}
}

/* p's averages, which are up to date, go with it. */
static void take_load_avg(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	if (p->tg) {
		leave_group_load_avg(sys, rq, p, 1);
		tell_groups(sys, rq, p);
		return;
	}
	detach_entity_load_avg(sys, rq, p);
	cpufreq_update_util(sys, rq, 0);
}

/* The averages of p and its queue; takes: p's go with it. Groups above hear of it once p has left. */
static void leave_load_avg(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p, u32 takes)
{
	if (p->tg) {
		age_task(rq, p);
		leave_group_load_avg(sys, rq, p, takes);
		return;
	}
	if (takes) {
		age_load_avg(sys, rq, p);
		take_load_avg(sys, rq, p);
	} else {
		update_load_avg(sys, rq, p);
	}
}

/* p leaves its queue; takes: with its averages. */
global_func u32 leave_queue(const struct fg_sys *sys state_arg, struct fg_cpu *rq state_arg,
			    struct fg_task *p state_arg, u32 flags, u32 takes)
{
	leave_load_avg(sys, rq, p, takes);
	if (!p->tg)
		dequeue_runnable_load_avg(sys, rq, p);
	if (is_eevdf(sys))
		eevdf_leave(sys, order_queue(sys, rq, p), p, flags);
	else if (!(flags & FG_DEQUEUE_SLEEP))
		p->vruntime -= queue_of(rq, p)->min_vruntime;
	p->on_rq = 0;
	account_entity_dequeue(rq, p);
	account_llc_dequeue(sys, rq, p);
	return_runtime(rq, group_of(rq, p));
	note_idle_clock(sys, rq, group_of(rq, p));
	if (dequeue_groups(sys, rq, group_of(rq, p), p, flags & FG_DEQUEUE_SLEEP))
		rq->nr_running--;
	server_left(sys, rq);
	if (flags & FG_DEQUEUE_DELAYED)
		p->flags &= ~(u32)FG_TASK_DELAYED;
	return 0;
}

void fg_dequeue_entity(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p, u32 flags)
{
	u32 delays = delays_dequeue(sys, order_queue(sys, rq, p), p, flags);
	u32 counted = !(p->flags & FG_TASK_DELAYED);
	/* Up to v6.15 its estimate leaves a second time, up to v7.1 (est-stale) it learns a second time. */
	u32 again = (flags & FG_DEQUEUE_CLASS) && !counted;
	u32 learns = (counted || (again && feat(sys, FG_EST_STALE))) && (flags & FG_DEQUEUE_SLEEP);
	/* An estimate that learns has to have left. */
	u32 estimate_first = feat(sys, FG_EST_LEAVES_FIRST) || feat(sys, FG_EST_STALE);
	u32 takes = flags & FG_DEQUEUE_MOVE, takes_at_once = takes && feat(sys, FG_FREQ_MOVE_ONCE);

	fg_uclamp_rq_dec(sys, rq, p);
	if ((counted && estimate_first) || (again && !feat(sys, FG_EST_DELAYED)))
		util_est_dequeue(sys, rq, p);
	if (learns && feat(sys, FG_EST_STALE))
		util_est_update(sys, rq, p);
	fg_clear_buddies(sys, rq, p);
	if (delays) {
		update_own_load_avg(sys, rq, p);
		set_delayed(sys, rq, p);
	} else {
		leave_queue(sys, rq, p, flags, takes_at_once);
	}
	if (counted && !estimate_first)
		util_est_dequeue(sys, rq, p);
	if (learns && !feat(sys, FG_EST_STALE))
		util_est_update(sys, rq, p);
	if (takes && !takes_at_once)
		take_load_avg(sys, rq, p);
	if (takes)
		p->exec_start = 0;
}

/* The signals that a task which gets the CPU has a part in: above a group that has it already, none. */
static void take_over_load_avg(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	struct fg_tg_cpu *g;

	if (!p->tg) {
		update_load_avg(sys, rq, p);
		return;
	}
	age_task(rq, p);
	age_contributing(sys, rq, group_of(rq, p));
	for_each_group_of(g, rq, p) {
		if (g->entity.on_cpu)
			return;
		tell_above(sys, rq, g);
	}
}

void fg_set_next_entity(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p, u32 first)
{
	fg_clear_buddies(sys, rq, p);
	/* Until now it waited. */
	take_over_load_avg(sys, rq, p);
	rq->curr = p;
	p->on_cpu = 1;
	p->exec_start = rq->clock_task;
	p->prev_sum_exec = p->sum_exec;
	if (is_flat(sys))
		reweight_task_part(sys, rq, p, 1);
	if (is_eevdf(sys) && (first || !feat(sys, FG_PROTECT_FIRST)))
		set_protect_slice(sys, order_queue(sys, rq, p), p);
	set_next_groups(sys, rq, p, first);
	check_next_runtime(sys, rq, p);
	fg_update_misfit_status(sys, rq, p);
}

void fg_put_prev_entity(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	/* In the load of its group over all CPUs this CPU's part stays as it is. */
	if (p->on_rq)
		update_own_load_avg(sys, rq, p);
	if (rq->curr == p)
		rq->curr = 0;
	p->on_cpu = 0;
}

/* Whoever is picked from a queue of one entity is the only one there. */
static struct fg_task *pick_from_queue(const struct fg_sys *sys, const struct fg_queue *q, struct fg_task *curr,
				       const struct pick_from *from, u32 *rule)
{
	struct fg_task *p;

	if (is_eevdf(sys))
		p = eevdf_pick_entity(sys, q, curr, from->first, rule);
	else
		p = cfs_pick_entity(sys, q, curr, from, rule);
	if (!p)
		*rule = FG_PICK_RULE_NONE;
	else if (p->weight == q->load_weight)
		*rule = FG_PICK_RULE_ONLY;
	return p;
}

struct fg_task *fg_pick_entity(const struct fg_sys *sys, const struct fg_cpu *rq, struct fg_task *first,
			       struct fg_task *second, struct fg_pick *how)
{
	struct pick_from from = { first, second };

	return pick_from_queue(sys, &rq->fair, curr_entity(sys, rq), &from, &how->rule);
}

void fg_set_next_buddy(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p, u32 flags)
{
	if (!feat(sys, FG_NEXT_BUDDY) || !is_eevdf(sys) || (flags & FG_WF_FORK) || (p->flags & FG_TASK_DELAYED))
		return;
	if (p == fair_curr(rq) || p->policy == FG_SCHED_IDLE || is_within_off(sys, group_of(rq, p)))
		return;
	if (is_flat(sys))
		rq->fair.next = p;
	else
		set_next_buddies(rq, p);
}

u32 fg_preempts(u32 rule)
{
	if (rule == FG_PICK_RULE_WAKE_DELAYED)
		return FG_PREEMPT_DELAYED;
	return rule > FG_PICK_RULE_WAKE_DELAYED ? FG_PREEMPT_YES : FG_PREEMPT_NO;
}

struct fg_task *fg_tg_pick(const struct fg_sys *sys, const struct fg_cpu *rq, struct fg_tg *tg, struct fg_task *first,
			   struct fg_task *second)
{
	const struct fg_queue *q = &tg->cpus[(u32)rq->id].queue;
	struct pick_from from = { first, second };
	u32 rule;

	return pick_from_queue(sys, q, curr_in_group(rq, tg), &from, &rule);
}

/* The signals of curr, and the queues above it, where the shares of its groups follow, each before what is above it. */
static void tick_load_avg(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *curr)
{
	struct fg_tg_cpu *g;

	if (!curr->tg) {
		update_load_avg(sys, rq, curr);
	} else {
		age_task(rq, curr);
		age_contributing(sys, rq, group_of(rq, curr));
	}
	for_each_group_of(g, rq, curr) {
		tell_above(sys, rq, g);
		update_group_share(sys, rq, g);
	}
	if (is_flat(sys))
		reweight_task_part(sys, rq, curr, curr->on_rq);
}

/* Slices shorter than this are not worth a timer, ns. */
#define HRTICK_MIN 10000ull

s64 fg_hrtick_delay(const struct fg_sys *sys, const struct fg_cpu *rq)
{
	const struct fg_task *curr = fair_curr(rq);
	u64 irq = rq->irq.util_avg;
	s64 left;

	if (!feat(sys, FG_HRTICK) || !curr || rq->h_nr_running <= 1)
		return 0;
	if (feat(sys, FG_HRTICK) == FG_HRTICK_RAN) {
		left = (s64)(entity_slice(sys, curr) - (curr->sum_exec - curr->prev_sum_exec));
		return left < 0 ? -1 : (s64)max_u64((u64)left, HRTICK_MIN);
	}
	left = (s64)(curr->deadline - curr->vruntime);
	if (left < 0)
		return -1;
	left = (s64)(entity_weight(sys, curr) * (u64)left / (FG_NICE_0_LOAD * weight_unit(sys)));
	/* Interrupts will take their part of the time. */
	if (irq && irq < FG_CAPACITY_SCALE)
		left = (s64)((u64)left * (1024 * 1024 / (FG_CAPACITY_SCALE - irq)) / 1024);
	return (s64)max_u64((u64)left, HRTICK_MIN);
}

void fg_hrtick(const struct fg_sys *sys, struct fg_cpu *rq)
{
	struct fg_task *curr = fair_curr(rq);

	if (!curr)
		return;
	tick_load_avg(sys, rq, curr);
	if (feat(sys, FG_HRTICK) == FG_HRTICK_DEADLINE)
		return;
	fg_update_misfit_status(sys, rq, curr);
	update_overutilized_status(sys, rq);
}

u32 fg_entity_tick(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_task *left)
{
	struct fg_task *curr = fair_curr(rq);
	u32 resched = 0;

	fg_update_thermal(sys, rq);
	if (!curr)
		return 0;
	tick_load_avg(sys, rq, curr);
	/* With EEVDF fg_update_curr() has already answered. */
	if (!is_eevdf(sys) && rq->h_nr_running - (u32)rq->nr_nested > 1)
		resched = check_preempt_tick(sys, rq, entity_of(rq, curr), left);
	task_tick_cache(sys, rq, curr);
	fg_update_misfit_status(sys, rq, curr);
	update_overutilized_status(sys, rq);
	return resched;
}

u32 fg_tg_tick(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg *tg, const struct fg_task *left)
{
	struct fg_task *curr = curr_in_group(rq, tg);

	if (!curr || is_eevdf(sys) || nr_entities(rq, curr) <= 1)
		return 0;
	return check_preempt_tick(sys, rq, curr, left);
}

fg_bool fg_charges_at_wakeup(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	struct fg_task *curr = fair_curr(rq);
	u32 rule;

	if (!curr || curr == p)
		return 0;
	rule = is_eevdf(sys) ? eevdf_policy_rule(sys, rq, curr, p) : cfs_policy_rule(curr, p);
	/* A protection that shrinks at every wakeup (v7.3) needs the virtual time. */
	if (rule == FG_PICK_RULE_WAKE_BATCH)
		return feat(sys, FG_SHRINK) == FG_SHRINK_ALWAYS;
	return rule == FG_PICK_RULE_NONE;
}

u32 fg_check_preempt_wakeup(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p, struct fg_task *first,
			    u32 flags)
{
	struct fg_task *curr = fair_curr(rq);

	if (!curr || curr == p)
		return 0;
	if (is_within_off(sys, group_of(rq, p)))
		return FG_PICK_RULE_WAKE_THROTTLED;
	if (is_eevdf(sys))
		return eevdf_check_preempt_wakeup(sys, rq, curr, p, first, flags);
	return cfs_check_preempt_wakeup(sys, rq, curr, p);
}

void fg_yield(const struct fg_sys *sys, struct fg_cpu *rq)
{
	struct fg_task *curr = fair_curr(rq);
	struct fg_tg_cpu *g;

	if (!curr || rq->nr_running == 1)
		return;
	fg_clear_buddies(sys, rq, curr);
	if (is_eevdf(sys)) {
		eevdf_yield(sys, order_queue(sys, rq, curr), curr);
		return;
	}
	queue_of(rq, curr)->skip = curr;
	for_each_group_of(g, rq, curr)
		queue_of(rq, &g->entity)->skip = &g->entity;
}
