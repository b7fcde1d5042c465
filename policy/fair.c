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
	eevdf_rescale(sys, p, old_weight);
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
		cfs_update_min_vruntime(&rq->fair, curr_entity(rq), left);
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

/* curr, of q, has had the CPU until now. */
static u32 charge_entity(const struct fg_sys *sys, const struct fg_cpu *rq, struct fg_queue *q, struct fg_task *curr,
			 const struct fg_task *left)
{
	u64 delta;

	if (!curr->on_rq || rq->clock_task <= curr->exec_start)
		return 0;
	delta = rq->clock_task - curr->exec_start;
	curr->exec_start = rq->clock_task;
	curr->sum_exec += delta;
	delta = calc_delta_fair(delta, curr);
	if (is_eevdf(sys))
		return eevdf_charge(sys, q, curr, delta);
	curr->vruntime += delta;
	cfs_update_min_vruntime(q, curr, left);
	return 0;
}

u32 fg_update_curr(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_task *left)
{
	struct fg_task *curr = curr_entity(rq);

	return curr ? charge_entity(sys, rq, &rq->fair, curr, left) : 0;
}

u32 fg_tg_update_curr(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg *tg, const struct fg_task *left)
{
	struct fg_task *curr = curr_in_group(rq, tg);

	return curr ? charge_entity(sys, rq, &tg->cpus[(u32)rq->id].queue, curr, left) : 0;
}

void fg_task_fork(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	/* With EEVDF it starts without lag, wherever it is enqueued. */
	if (!is_eevdf(sys))
		cfs_task_fork(sys, rq, p);
}

/* p, just counted in rq, is counted in its group as well (by = 1), or no more (by = -1). */
static void count_in_group(struct fg_cpu *rq, const struct fg_task *p, s32 by)
{
	struct fg_tg_cpu *g = group_of(rq, p);

	g->h_nr_running += (u32)by;
	if (p->flags & FG_TASK_DELAYED)
		g->h_nr_delayed += (u32)by;
	rq->nr_nested += by;
}

static void account_entity_enqueue(struct fg_cpu *rq, const struct fg_task *p)
{
	queue_of(rq, p)->load_weight += p->weight;
	rq->h_nr_running++;
	if (p->policy == FG_SCHED_IDLE)
		rq->idle_h_nr_running++;
	if (p->flags & FG_TASK_DELAYED)
		rq->h_nr_delayed++;
	if (p->tg)
		count_in_group(rq, p, 1);
	rq->nr_running++;
	/* A task waits: the root domain may have something to balance. */
	if (rq->nr_running == 2 && rq->rd)
		rq->rd->overload = 1;
}

static void account_entity_dequeue(struct fg_cpu *rq, const struct fg_task *p)
{
	struct fg_queue *q = queue_of(rq, p);

	q->load_weight = pos_sub(q->load_weight, p->weight);
	rq->h_nr_running--;
	if (p->policy == FG_SCHED_IDLE)
		rq->idle_h_nr_running--;
	if (p->flags & FG_TASK_DELAYED)
		rq->h_nr_delayed--;
	if (p->tg)
		count_in_group(rq, p, -1);
	rq->nr_running--;
}

/* The averages of p and its queue, p's among them: of all that the governor hears once. The answer is for its group. */
static u32 join_load_avg(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	u32 attaches = p->flags & FG_TASK_MIGRATED;

	if (p->tg) {
		age_task(rq, p);
		return join_group_load_avg(sys, rq, p, attaches);
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

void fg_enqueue_entity(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p, u32 flags)
{
	u32 counted = !(p->flags & FG_TASK_DELAYED), changed;

	if (is_eevdf(sys)) {
		eevdf_place_entity(sys, queue_of(rq, p), p, flags);
		avg_vruntime_add(queue_of(rq, p), p);
	} else {
		cfs_place_entity(sys, rq, p, flags);
	}
	/* The estimate and the clamps count tasks that are awake. */
	if (counted && !feat(sys, FG_UCLAMP_LATE))
		fg_uclamp_rq_inc(sys, rq, p);
	if (counted)
		util_est_enqueue(sys, rq, p);
	if (flags & FG_ENQUEUE_IOWAIT)
		cpufreq_update_util(sys, rq, FG_FREQUENCY_IOWAIT);
	changed = join_load_avg(sys, rq, p);
	if (!p->tg)
		enqueue_runnable_load_avg(sys, rq, p);
	account_entity_enqueue(rq, p);
	p->on_rq = 1;
	p->flags &= ~(u32)FG_TASK_NEW;
	if (p->tg)
		enqueue_group(sys, rq, group_of(rq, p), changed);

	/* Only wakeups: the utilization of a new task is a guess, and a migrated task was counted before. */
	if (flags & FG_ENQUEUE_WAKEUP)
		update_overutilized_status(sys, rq);
	if (counted && feat(sys, FG_UCLAMP_LATE))
		fg_uclamp_rq_inc(sys, rq, p);
}

/* On the CPU's queue only a group that was made a buddy for p's sake. */
void fg_clear_buddies(struct fg_cpu *rq, const struct fg_task *p)
{
	struct fg_queue *q = queue_of(rq, p);

	if (p->tg) {
		const struct fg_task *e = &group_of(rq, p)->entity;

		if (q->last == p && rq->fair.last == e)
			rq->fair.last = 0;
		if (q->next == p && rq->fair.next == e)
			rq->fair.next = 0;
		if (q->skip == p && rq->fair.skip == e)
			rq->fair.skip = 0;
	}
	forget_buddy(q, p);
}

/* p's averages, which are up to date, go with it. */
static void take_load_avg(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	if (p->tg) {
		tell_group(sys, rq, group_of(rq, p), leave_group_load_avg(sys, rq, p, 1));
		return;
	}
	detach_entity_load_avg(sys, rq, p);
	cpufreq_update_util(sys, rq, 0);
}

/* The averages of p and its queue; takes: p's go with it. The answer is for its group, which hears once p has left. */
static u32 leave_load_avg(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p, u32 takes)
{
	if (p->tg) {
		age_task(rq, p);
		return leave_group_load_avg(sys, rq, p, takes);
	}
	if (takes) {
		age_load_avg(sys, rq, p);
		take_load_avg(sys, rq, p);
	} else {
		update_load_avg(sys, rq, p);
	}
	return 0;
}

/* p leaves its queue; takes: with its averages. */
static void leave_queue(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p, u32 flags, u32 takes)
{
	u32 changed = leave_load_avg(sys, rq, p, takes);

	if (!p->tg)
		dequeue_runnable_load_avg(sys, rq, p);
	if (is_eevdf(sys))
		eevdf_leave(sys, queue_of(rq, p), p, flags);
	else if (!(flags & FG_DEQUEUE_SLEEP))
		p->vruntime -= queue_of(rq, p)->min_vruntime;
	p->on_rq = 0;
	account_entity_dequeue(rq, p);
	if (flags & FG_DEQUEUE_DELAYED)
		p->flags &= ~(u32)FG_TASK_DELAYED;
	if (p->tg)
		dequeue_group(sys, rq, group_of(rq, p), flags, changed);
}

void fg_dequeue_entity(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p, u32 flags)
{
	u32 delays = delays_dequeue(sys, queue_of(rq, p), p, flags);
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
	fg_clear_buddies(rq, p);
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

/* The signals that a task which gets the CPU has a part in: if its group has it already, none above that. */
static void take_over_load_avg(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	if (!p->tg || !group_of(rq, p)->entity.on_cpu) {
		update_load_avg(sys, rq, p);
		return;
	}
	age_task(rq, p);
	age_contributing(sys, rq, group_of(rq, p));
}

void fg_set_next_entity(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p, u32 first)
{
	fg_clear_buddies(rq, p);
	/* Until now it waited. */
	take_over_load_avg(sys, rq, p);
	rq->curr = p;
	p->on_cpu = 1;
	p->exec_start = rq->clock_task;
	p->prev_sum_exec = p->sum_exec;
	if (is_eevdf(sys) && (first || !feat(sys, FG_PROTECT_FIRST)))
		set_protect_slice(sys, queue_of(rq, p), p);
	if (p->tg)
		set_next_group(sys, rq, group_of(rq, p), first);
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

struct fg_task *fg_pick_entity(const struct fg_sys *sys, const struct fg_cpu *rq, struct fg_task *first,
			       struct fg_task *second)
{
	if (is_eevdf(sys))
		return eevdf_pick_entity(sys, &rq->fair, curr_entity(rq), first);
	return cfs_pick_entity(sys, &rq->fair, curr_entity(rq), first, second);
}

struct fg_task *fg_tg_pick(const struct fg_sys *sys, const struct fg_cpu *rq, struct fg_tg *tg, struct fg_task *first,
			   struct fg_task *second)
{
	const struct fg_queue *q = &tg->cpus[(u32)rq->id].queue;

	if (is_eevdf(sys))
		return eevdf_pick_entity(sys, q, curr_in_group(rq, tg), first);
	return cfs_pick_entity(sys, q, curr_in_group(rq, tg), first, second);
}

/* The signals of curr and the queues above it. */
static void tick_load_avg(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *curr)
{
	update_load_avg(sys, rq, curr);
	if (curr->tg)
		update_group_share(sys, rq, group_of(rq, curr));
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
	left = (s64)(curr->weight * (u64)left / FG_NICE_0_LOAD);
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
	fg_update_misfit_status(sys, rq, curr);
	update_overutilized_status(sys, rq);
	return resched;
}

u32 fg_tg_tick(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg *tg, const struct fg_task *left)
{
	struct fg_task *curr = curr_in_group(rq, tg);

	if (!curr || is_eevdf(sys) || tg->cpus[(u32)rq->id].h_nr_running <= 1)
		return 0;
	return check_preempt_tick(sys, rq, curr, left);
}

u32 fg_check_preempt_wakeup(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p, struct fg_task *first,
			    u32 flags)
{
	struct fg_task *curr = fair_curr(rq);

	if (!curr || curr == p)
		return 0;
	if (is_eevdf(sys))
		return eevdf_check_preempt_wakeup(sys, rq, curr, p, first, flags);
	return cfs_check_preempt_wakeup(sys, rq, curr, p);
}

void fg_yield(const struct fg_sys *sys, struct fg_cpu *rq)
{
	struct fg_task *curr = fair_curr(rq);

	if (!curr || rq->nr_running == 1)
		return;
	fg_clear_buddies(rq, curr);
	if (is_eevdf(sys)) {
		eevdf_yield(sys, queue_of(rq, curr), curr);
		return;
	}
	rq->fair.skip = entity_of(rq, curr);
	queue_of(rq, curr)->skip = curr;
}
