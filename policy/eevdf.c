/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The run queue from v6.6 on, earliest eligible virtual deadline first (spec 9.2). Each task requests slices of CPU
 * time. Its deadline is the virtual time by which it should have had its current slice. Its lag is the service that it
 * is owed:
 *
 *	V     = sum(w_i * v_i) / sum(w_i)		over all queued tasks, the current one included
 *	lag_i = w_i * (V - v_i), and sum(lag_i) = 0
 *
 * A task that has had more than its share (v_i > V) is not eligible; of the eligible tasks the one with the earliest
 * deadline runs. Lag is kept over sleep and migration, vruntime is not.
 *
 * V is kept as avg_vruntime = sum(w_i * (v_i - v0)) with v0 = min_vruntime and sum(w_i) = load_weight. v0 is moved to V
 * whenever the current task is charged, so every term is a lag with its sign turned. A lag is clamped to two slices
 * when its task leaves, 200 ms * 1024 < 2^38 at most, and comes back as it left; while the task is queued the others'
 * slices bound it as well. A million of them fit into 63 bits.
 *
 * v6.12 adds (FG_RQ_EEVDF612): slices a task asks for, preemption in favour of the shorter one, deadlines that survive
 * migration, and sleepers that stay on the queue until their debt is paid.
 */
#include "sched.h"

/* ns, sysctl_sched_base_slice; times tunable_factor(). 6.12 stable has the shorter one. */
#define EEVDF_BASE_SLICE 750000ull
#define EEVDF_BASE_SLICE_700 700000ull
/* ns, what sched_setattr() makes of the slice it is asked for. */
#define EEVDF_MIN_SLICE 100000ull
#define EEVDF_MAX_SLICE 100000000ull

static u32 is_eevdf(const struct fg_sys *sys)
{
	return feat(sys, FG_RQ) != FG_RQ_CFS;
}

static u32 is_eevdf612(const struct fg_sys *sys)
{
	return feat(sys, FG_RQ) == FG_RQ_EEVDF612;
}

/* a * mul / div towards zero, without dividing signed numbers. */
static s64 scale_signed(s64 a, u64 mul, u64 div)
{
	u64 magnitude = a < 0 ? 0 - (u64)a : (u64)a;

	magnitude = magnitude * mul / nonzero(div);
	return (s64)(a < 0 ? 0 - magnitude : magnitude);
}

/* r, ns of real time. */
static u64 entity_slice(const struct fg_sys *sys, const struct fg_task *p)
{
	if (p->custom_slice && is_eevdf612(sys))
		return clamp_u64(p->custom_slice, EEVDF_MIN_SLICE, EEVDF_MAX_SLICE);
	return (feat(sys, FG_SLICE_700) ? EEVDF_BASE_SLICE_700 : EEVDF_BASE_SLICE) * tunable_factor(sys);
}

/* w * (v - v0) of p */
static s64 weighted_key(const struct fg_queue *q, const struct fg_task *p)
{
	return (s64)(p->weight * (p->vruntime - q->min_vruntime));
}

static void avg_vruntime_add(struct fg_queue *q, const struct fg_task *p)
{
	q->avg_vruntime += weighted_key(q, p);
}

static void avg_vruntime_sub(struct fg_queue *q, const struct fg_task *p)
{
	q->avg_vruntime -= weighted_key(q, p);
}

/*
 * Rounded down, "to the left": v has no fraction, so v <= V exactly if v is not greater than the unrounded average.
 * For an empty queue it is the vruntime of the next task.
 */
u64 fg_avg_vruntime(const struct fg_queue *q)
{
	u64 load = nonzero(q->load_weight);
	s64 sum = q->avg_vruntime;

	if (sum >= 0)
		return q->min_vruntime + (u64)sum / load;
	return q->min_vruntime - (0 - (u64)sum + load - 1) / load;
}

/* v0 = V: keys stay small. */
static void eevdf_update_min_vruntime(struct fg_queue *q)
{
	u64 v = fg_avg_vruntime(q);

	q->avg_vruntime -= (s64)(q->load_weight * (v - q->min_vruntime));
	q->min_vruntime = v;
}

static u32 entity_eligible(const struct fg_queue *q, const struct fg_task *p)
{
	return !vruntime_before(fg_avg_vruntime(q), p->vruntime);
}

static u32 deadline_before(const struct fg_task *a, const struct fg_task *b)
{
	return vruntime_before(a->deadline, b->deadline);
}

/* The lag of p, queued where v is V, clamped to two slices (or a tick) in both directions. */
static s64 entity_lag(const struct fg_sys *sys, u64 v, const struct fg_task *p)
{
	u64 tick = FG_NSEC_PER_SEC / nonzero(sys->hz);
	s64 limit = (s64)calc_delta_fair(max_u64(2 * entity_slice(sys, p), tick), p);
	s64 lag = (s64)(v - p->vruntime);

	if (lag > limit)
		return limit;
	return lag < -limit ? -limit : lag;
}

/* p->vlag of a p that is still queued. */
static void update_entity_lag(const struct fg_sys *sys, const struct fg_queue *q, struct fg_task *p)
{
	p->vlag = entity_lag(sys, fg_avg_vruntime(q), p);
}

/*
 * The vruntime with which p joins: its lag must afterwards be what it was when it left. p itself moves V, by
 * w * vlag / (W + w), and is placed further away by as much. In an empty queue the lag is dropped.
 */
static void eevdf_place_entity(const struct fg_sys *sys, const struct fg_queue *q, struct fg_task *p, u32 flags)
{
	u64 vslice = calc_delta_fair(entity_slice(sys, p), p);
	s64 lag = 0;

	/* vlag * (W + w) / W in a form that cannot overflow */
	if (q->load_weight)
		lag = p->vlag + scale_signed(p->vlag, p->weight, q->load_weight);
	p->vruntime = fg_avg_vruntime(q) - (u64)lag;

	if (p->flags & FG_TASK_REL_DEADLINE) {
		p->deadline += p->vruntime;
		p->flags &= ~(u32)FG_TASK_REL_DEADLINE;
		return;
	}
	/* A new task starts with half a slice, to come into the competition early. */
	if (flags & FG_ENQUEUE_INITIAL)
		vslice /= 2;
	p->deadline = p->vruntime + vslice;
}

/* p leaves, and takes its lag along. */
static void eevdf_leave(const struct fg_sys *sys, struct fg_queue *q, struct fg_task *p, u32 flags)
{
	update_entity_lag(sys, q, p);
	avg_vruntime_sub(q, p);
	if (!is_eevdf612(sys))
		return;
	/* The slice of a task that only moves goes on. */
	if (!(flags & FG_DEQUEUE_SLEEP)) {
		p->deadline -= p->vruntime;
		p->flags |= FG_TASK_REL_DEADLINE;
	}
	/* The lag of a delayed task does not become positive, however long it stayed. */
	if ((flags & FG_DEQUEUE_DELAYED) && p->vlag > 0)
		p->vlag = 0;
}

/*
 * lag = w * vlag stays when w changes. A relative deadline is not converted: the rest of a slice becomes longer or
 * shorter in real time. (Releases after v6.12 convert it.)
 */
static void eevdf_rescale(struct fg_task *p, u64 old_weight)
{
	p->vlag = scale_signed(p->vlag, old_weight, p->weight);
}

/* The slice is over: the next one. */
static u32 update_deadline(const struct fg_sys *sys, struct fg_task *p)
{
	if (vruntime_before(p->vruntime, p->deadline))
		return 0;
	p->deadline = p->vruntime + calc_delta_fair(entity_slice(sys, p), p);
	p->flags &= ~(u32)FG_TASK_PROTECTED;
	return 1;
}

/* v6.12: without protection, which a shorter slice or a yield took, it runs only while it is eligible. */
static u32 lost_its_turn(const struct fg_sys *sys, const struct fg_queue *q, const struct fg_task *curr)
{
	return is_eevdf612(sys) && !(curr->flags & FG_TASK_PROTECTED) && !entity_eligible(q, curr);
}

/* curr, of q, ran for delta of its virtual time. 1: another entity should run. */
static u32 eevdf_charge(const struct fg_sys *sys, struct fg_queue *q, struct fg_task *curr, u64 delta)
{
	u32 renewed;

	curr->vruntime += delta;
	q->avg_vruntime += (s64)(curr->weight * delta);
	eevdf_update_min_vruntime(q);
	renewed = update_deadline(sys, curr);
	if (q->load_weight == curr->weight || !(renewed || lost_its_turn(sys, q, curr)))
		return 0;
	forget_buddy(q, curr);
	return 1;
}

/* first: of the queued who are eligible the one with the earliest deadline. */
static struct fg_task *pick_eevdf(const struct fg_queue *q, struct fg_task *curr, struct fg_task *first)
{
	if (!curr || !curr->on_rq || !entity_eligible(q, curr))
		return first;
	/* RUN_TO_PARITY: a slice that began is finished. */
	if ((curr->flags & FG_TASK_PROTECTED) || !first)
		return curr;
	return deadline_before(curr, first) ? curr : first;
}

/* Of q. curr: an entity of it, or null. */
static struct fg_task *eevdf_pick_entity(const struct fg_queue *q, struct fg_task *curr, struct fg_task *first)
{
	if (q->next && entity_eligible(q, q->next))
		return q->next;
	return pick_eevdf(q, curr, first);
}

/* PREEMPT_SHORT, v6.12, before which all slices are equal: p asks for less, and it is its turn rather than curr's. */
static u32 preempts_short(const struct fg_sys *sys, const struct fg_queue *q, const struct fg_task *curr,
			  const struct fg_task *p)
{
	if (entity_slice(sys, p) >= entity_slice(sys, curr) || !entity_eligible(q, p))
		return 0;
	return deadline_before(p, curr) || !entity_eligible(q, curr);
}

/* p preempts a SCHED_IDLE curr. v6.12 compares the entities that compete, and a group's entity is never SCHED_IDLE. */
static u32 preempts_idle(const struct fg_sys *sys, const struct fg_task *curr, const struct fg_task *p)
{
	u32 tasks_compete = curr->tg == p->tg || !is_eevdf612(sys);
	u32 curr_is_idle = curr->policy == FG_SCHED_IDLE && (tasks_compete || !curr->tg);
	u32 p_is_idle = p->policy == FG_SCHED_IDLE && (tasks_compete || !p->tg);

	return curr_is_idle && !p_is_idle;
}

/* 1: p preempts curr. They compete as pe and e: themselves if their group is the same. first: of that queue. */
static u32 eevdf_check_preempt_wakeup(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *curr,
				      struct fg_task *p, struct fg_task *first)
{
	u32 same = curr->tg == p->tg;
	struct fg_task *e = same ? curr : entity_of(rq, curr), *pe = same ? p : entity_of(rq, p);
	const struct fg_queue *q = same ? queue_of(rq, curr) : &rq->fair;

	if (preempts_idle(sys, curr, p)) {
		e->flags &= ~(u32)FG_TASK_PROTECTED;
		return 1;
	}
	/* Batch and idle tasks wait for the end of the slice. */
	if (p->policy != FG_SCHED_OTHER)
		return 0;
	if (preempts_short(sys, q, e, pe))
		e->flags &= ~(u32)FG_TASK_PROTECTED;
	return pick_eevdf(q, e, first) == pe;
}

/*
 * sched_yield(): moves the deadline of curr a slice later. 6.12 stable first sets the vruntime of an eligible curr to
 * its deadline, as if it had run the slice; a curr that is not eligible keeps its deadline, and stays protected.
 */
static void eevdf_yield(const struct fg_sys *sys, struct fg_queue *q, struct fg_task *curr)
{
	if (feat(sys, FG_YIELD_FORFEIT)) {
		if (!entity_eligible(q, curr))
			return;
		avg_vruntime_sub(q, curr);
		curr->vruntime = curr->deadline;
		avg_vruntime_add(q, curr);
		update_deadline(sys, curr);
		return;
	}
	curr->deadline += calc_delta_fair(entity_slice(sys, curr), curr);
	curr->flags &= ~(u32)FG_TASK_PROTECTED;
}

/*
 * DELAY_DEQUEUE: whether p, which goes to sleep, stays in the queue because it is not eligible. Exiting tasks do not.
 */
static u32 delays_dequeue(const struct fg_sys *sys, const struct fg_queue *q, const struct fg_task *p, u32 flags)
{
	if (!is_eevdf612(sys) || !(flags & FG_DEQUEUE_SLEEP) || (flags & FG_DEQUEUE_DELAYED))
		return 0;
	return !(p->flags & FG_TASK_EXITING) && !entity_eligible(q, p);
}

/* p sleeps, but stays in the queue. */
static void set_delayed(struct fg_cpu *rq, struct fg_task *p)
{
	p->flags |= FG_TASK_DELAYED;
	rq->h_nr_delayed++;
	if (p->tg)
		group_of(rq, p)->h_nr_delayed++;
}

/* A delayed p whose lag has become positive loses it: it is placed with a lag of 0. */
static void forfeit_credit(const struct fg_sys *sys, struct fg_queue *q, struct fg_task *p)
{
	update_entity_lag(sys, q, p);
	if (p->vlag <= 0)
		return;
	avg_vruntime_sub(q, p);
	q->load_weight -= p->weight;
	p->vlag = 0;
	eevdf_place_entity(sys, q, p, 0);
	q->load_weight += p->weight;
	avg_vruntime_add(q, p);
}

void fg_requeue_delayed(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	if (!feat(sys, FG_UCLAMP_LATE))
		fg_uclamp_rq_inc(sys, rq, p);
	util_est_enqueue(sys, rq, p);
	forfeit_credit(sys, queue_of(rq, p), p);
	update_own_load_avg(sys, rq, p);
	p->flags &= ~(u32)FG_TASK_DELAYED;
	rq->h_nr_delayed--;
	if (p->tg)
		group_of(rq, p)->h_nr_delayed--;
	if (feat(sys, FG_UCLAMP_LATE))
		fg_uclamp_rq_inc(sys, rq, p);
}
