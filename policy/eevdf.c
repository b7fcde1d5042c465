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
 * V is kept as avg_vruntime = sum(w_i * (v_i - v0)) with v0 = min_vruntime and sum(w_i) = sum_weight. v0 is moved to V
 * whenever the current task is charged, so every term is a lag with its sign turned. A lag is clamped to two slices
 * when its task leaves, 200 ms * 1024 < 2^38 at most, and comes back as it left; while the task is queued the others'
 * slices bound it as well. A million of them fit into 63 bits; from v7.1 on, in 1024ths of a weight, a thousand.
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

static u64 base_slice(const struct fg_sys *sys)
{
	return (feat(sys, FG_SLICE_700) ? EEVDF_BASE_SLICE_700 : EEVDF_BASE_SLICE) * tunable_factor(sys);
}

u64 fg_slice(const struct fg_sys *sys, u64 custom)
{
	if (custom && is_eevdf612(sys))
		return clamp_u64(custom, EEVDF_MIN_SLICE, EEVDF_MAX_SLICE);
	return base_slice(sys);
}

/* r, ns of real time. */
static u64 entity_slice(const struct fg_sys *sys, const struct fg_task *p)
{
	return fg_slice(sys, p->custom_slice);
}

/* cfs_rq_min_slice, cfs_rq_max_slice */
static u64 queue_min_slice(const struct fg_sys *sys, const struct fg_queue *q)
{
	return q->min_slice ? q->min_slice : base_slice(sys);
}

static u64 queue_max_slice(const struct fg_sys *sys, const struct fg_queue *q)
{
	return q->max_slice ? q->max_slice : base_slice(sys);
}

static void avg_vruntime_add(const struct fg_sys *sys, struct fg_queue *q, const struct fg_task *p)
{
	u64 weight = entity_weight(sys, p);

	q->avg_vruntime += (s64)(weight * (p->vruntime - q->min_vruntime));
	q->sum_weight += weight;
}

static void avg_vruntime_sub(const struct fg_sys *sys, struct fg_queue *q, const struct fg_task *p)
{
	u64 weight = entity_weight(sys, p);

	q->avg_vruntime -= (s64)(weight * (p->vruntime - q->min_vruntime));
	q->sum_weight -= weight;
}

/*
 * Rounded down, "to the left": v has no fraction, so v <= V exactly if v is not greater than the unrounded average.
 * For an empty queue it is the vruntime of the next task.
 */
u64 fg_avg_vruntime(const struct fg_queue *q)
{
	u64 load = nonzero(q->sum_weight);
	s64 sum = q->avg_vruntime;

	if (sum >= 0)
		return q->min_vruntime + (u64)sum / load;
	return q->min_vruntime - (0 - (u64)sum + load - 1) / load;
}

/* v0 = v; the average stays where it is. */
static void move_min_vruntime(struct fg_queue *q, u64 v)
{
	q->avg_vruntime -= (s64)(q->sum_weight * (v - q->min_vruntime));
	q->min_vruntime = v;
}

/* v0 = V: keys stay small. */
static void eevdf_update_min_vruntime(struct fg_queue *q)
{
	move_min_vruntime(q, fg_avg_vruntime(q));
}

/*
 * V, before weights join or change: with weights of 20 bits v0 has to be there, or products of a weight and a distance could
 * be too large.
 */
static u64 settled_avg_vruntime(const struct fg_sys *sys, struct fg_queue *q)
{
	if (feat(sys, FG_WEIGHT_BITS) == FG_WEIGHT_BITS_20)
		eevdf_update_min_vruntime(q);
	return fg_avg_vruntime(q);
}

static u32 entity_eligible(const struct fg_queue *q, const struct fg_task *p)
{
	return !vruntime_before(fg_avg_vruntime(q), p->vruntime);
}

static u32 deadline_before(const struct fg_task *a, const struct fg_task *b)
{
	return vruntime_before(a->deadline, b->deadline);
}

/*
 * The lag of p, queued in q where v is V, clamped in both directions: to two slices (or a tick), from v7.0 on to a tick
 * more than the longest slice of the queue.
 */
static s64 entity_lag(const struct fg_sys *sys, const struct fg_queue *q, u64 v, const struct fg_task *p)
{
	u64 tick = FG_NSEC_PER_SEC / nonzero(sys->hz), longest = max_u64(2 * entity_slice(sys, p), tick);
	s64 limit, lag = (s64)(v - p->vruntime);

	if (feat(sys, FG_LAG_CLAMP) == FG_LAG_CLAMP_QUEUE)
		longest = queue_max_slice(sys, q) + tick;
	limit = (s64)calc_delta_fair(sys, longest, p);

	if (lag > limit)
		return limit;
	return lag < -limit ? -limit : lag;
}

/*
 * p->vlag of a p that is still queued. With delay-lag a delayed p does not owe more than when it fell asleep, and is owed
 * nothing (DELAY_ZERO). 1: p stands elsewhere than its lag says.
 */
static u32 update_entity_lag(const struct fg_sys *sys, const struct fg_queue *q, struct fg_task *p)
{
	u64 v = fg_avg_vruntime(q);
	s64 lag = entity_lag(sys, q, v, p);

	if (feat(sys, FG_DELAY_LAG) && (p->flags & FG_TASK_DELAYED)) {
		lag = lag > p->vlag ? lag : p->vlag;
		lag = lag < 0 ? lag : 0;
	}
	p->vlag = lag;
	return v - (u64)lag != p->vruntime;
}

/*
 * The vruntime with which p joins: its lag must afterwards be what it was when it left. p itself moves V, by
 * w * vlag / (W + w), and is placed further away by as much. In an empty queue the lag is dropped.
 */
static void eevdf_place_entity(const struct fg_sys *sys, struct fg_queue *q, struct fg_task *p, u32 flags)
{
	u64 vslice = calc_delta_fair(sys, entity_slice(sys, p), p), v = settled_avg_vruntime(sys, q);
	s64 lag = 0;

	/* vlag * (W + w) / W in a form that cannot overflow */
	if (q->sum_weight)
		lag = p->vlag + scale_signed(p->vlag, entity_weight(sys, p), q->sum_weight);
	p->vruntime = v - (u64)lag;
	/* What weighs more than all others has V near to it. */
	if (feat(sys, FG_WEIGHT_BITS) == FG_WEIGHT_BITS_20 && entity_weight(sys, p) > q->sum_weight)
		move_min_vruntime(q, p->vruntime);

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
	avg_vruntime_sub(sys, q, p);
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
 * lag = w * vlag stays when w changes. Up to v6.12 a relative deadline is not converted: the rest of a slice becomes
 * longer or shorter in real time.
 */
static void eevdf_rescale(const struct fg_sys *sys, struct fg_task *p, u64 old, u64 new)
{
	p->vlag = scale_signed(p->vlag, old, new);
	if (feat(sys, FG_REWEIGHT) != FG_REWEIGHT_LAG && (p->flags & FG_TASK_REL_DEADLINE))
		p->deadline = (u64)scale_signed((s64)p->deadline, old, new);
}

/* ---- protection: how long what was picked runs before another may take its place ---- */

/* RUN_TO_PARITY */
static u32 protect_slice(const struct fg_sys *sys, const struct fg_task *curr)
{
	if (feat(sys, FG_PROTECT) == FG_PROTECT_PARITY)
		return (curr->flags & FG_TASK_PROTECTED) != 0;
	return vruntime_before(curr->vruntime, curr->vprot);
}

static void cancel_protect_slice(struct fg_task *curr)
{
	curr->flags &= ~(u32)FG_TASK_PROTECTED;
	if (vruntime_before(curr->vruntime, curr->vprot))
		curr->vprot = curr->vruntime;
}

/* The least vruntime at which e, queued in q, is not eligible: just beyond the average of the others. */
static u64 ineligible_vruntime(const struct fg_sys *sys, const struct fg_queue *q, const struct fg_task *e)
{
	struct fg_queue others = *q;

	if (q->sum_weight <= entity_weight(sys, e))
		return q->min_vruntime + 1;
	avg_vruntime_sub(sys, &others, e);
	return fg_avg_vruntime(&others) + 1;
}

/* Where a slice shorter than that of e is queued in q, e is protected for as long as that, or while it is eligible. */
global_func u64 protection_end(const struct fg_sys *sys state_arg, const struct fg_queue *q state_arg,
			       const struct fg_task *e state_arg)
{
	u64 own = entity_slice(sys, e), shortest = min_u64(queue_min_slice(sys, q), own);

	if (shortest == own)
		return e->deadline;
	if (feat(sys, FG_PROTECT) == FG_PROTECT_INELIGIBLE)
		return vruntime_min(e->deadline, ineligible_vruntime(sys, q, e));
	return vruntime_min(e->deadline, e->vruntime + calc_delta_fair(sys, shortest, e));
}

/* e, of q, was picked. */
static void set_protect_slice(const struct fg_sys *sys, const struct fg_queue *q, struct fg_task *e)
{
	e->flags |= FG_TASK_PROTECTED;
	e->vprot = protection_end(sys, q, e);
}

/* A wakeup did not preempt e: it is protected for the shortest slice at most. */
static void update_protect_slice(const struct fg_sys *sys, const struct fg_queue *q, struct fg_task *e)
{
	u64 from = e->vruntime;

	if (feat(sys, FG_SHRINK) == FG_SHRINK_ALWAYS)
		from = vruntime_min(from, fg_avg_vruntime(q));
	e->vprot = vruntime_min(e->vprot, from + calc_delta_fair(sys, queue_min_slice(sys, q), e));
}

/* The slice is over: the next one. */
static u32 update_deadline(const struct fg_sys *sys, struct fg_task *p)
{
	if (vruntime_before(p->vruntime, p->deadline))
		return 0;
	p->deadline = p->vruntime + calc_delta_fair(sys, entity_slice(sys, p), p);
	p->flags &= ~(u32)FG_TASK_PROTECTED;
	return 1;
}

/*
 * v6.12: without protection, which a shorter slice or a yield took, it runs only while it is eligible. v6.17: another is
 * picked as soon as the protection ends.
 */
static u32 lost_its_turn(const struct fg_sys *sys, const struct fg_queue *q, const struct fg_task *curr)
{
	if (feat(sys, FG_PROTECT) != FG_PROTECT_PARITY)
		return !protect_slice(sys, curr);
	return is_eevdf612(sys) && !(curr->flags & FG_TASK_PROTECTED) && !entity_eligible(q, curr);
}

/* curr, of q, ran for delta of its virtual time. enum fg_pick_rule_id: why another entity should run; 0: it need not. */
static u32 eevdf_charge(const struct fg_sys *sys, struct fg_queue *q, struct fg_task *curr, u64 delta)
{
	u64 weight = entity_weight(sys, curr);
	u32 renewed;

	curr->vruntime += delta;
	q->avg_vruntime += (s64)(weight * delta);
	eevdf_update_min_vruntime(q);
	renewed = update_deadline(sys, curr);
	if (q->sum_weight == weight || !(renewed || lost_its_turn(sys, q, curr)))
		return 0;
	forget_buddy(q, curr);
	return renewed ? FG_PICK_RULE_SLICE : FG_PICK_RULE_PROTECTION;
}

/*
 * first: of the queued who are eligible the one with the earliest deadline. protect: curr's protection counts. The rule
 * says what decided, of which of them it may be only one there.
 */
static struct fg_task *pick_eevdf(const struct fg_sys *sys, const struct fg_queue *q, struct fg_task *curr,
				  struct fg_task *first, u32 protect, u32 *rule)
{
	*rule = FG_PICK_RULE_EARLIEST;
	if (!curr || !curr->on_rq)
		return first;
	if (!entity_eligible(q, curr)) {
		*rule = FG_PICK_RULE_OWED;
		return first;
	}
	/* RUN_TO_PARITY: a slice that began is finished. */
	if (protect && protect_slice(sys, curr)) {
		*rule = FG_PICK_RULE_PROTECTED;
		return curr;
	}
	if (first && !deadline_before(curr, first))
		return first;
	*rule = FG_PICK_RULE_STAYS;
	return curr;
}

/* Of q. curr: an entity of it, or null. */
static struct fg_task *eevdf_pick_entity(const struct fg_sys *sys, const struct fg_queue *q, struct fg_task *curr,
					 struct fg_task *first, u32 *rule)
{
	if (q->next && entity_eligible(q, q->next)) {
		*rule = FG_PICK_RULE_BUDDY;
		return q->next;
	}
	return pick_eevdf(sys, q, curr, first, 1, rule);
}

/* What a wakeup is tested against: from v6.19 on the buddy too, from v7.1 on only if protection counts. */
static struct fg_task *pick_in_wakeup(const struct fg_sys *sys, const struct fg_queue *q, struct fg_task *curr,
				      struct fg_task *first, u32 protect, u32 *rule)
{
	u32 heeds_buddy = feat(sys, FG_BUDDY_IN_WAKE) && (protect || !feat(sys, FG_BUDDY_PROTECT));

	if (heeds_buddy && q->next && entity_eligible(q, q->next)) {
		*rule = FG_PICK_RULE_BUDDY;
		return q->next;
	}
	return pick_eevdf(sys, q, curr, first, protect, rule);
}

/* Why pe, which the pick of a wakeup's test came out with, preempts. */
static u32 preempting_rule(u32 pick_rule)
{
	if (pick_rule == FG_PICK_RULE_BUDDY)
		return FG_PICK_RULE_PREEMPT_BUDDY;
	return pick_rule == FG_PICK_RULE_OWED ? FG_PICK_RULE_PREEMPT_OWED : FG_PICK_RULE_PREEMPT_DEADLINE;
}

/* Why another entity than pe came out. */
static u32 waiting_rule(const struct fg_queue *q, const struct fg_task *pe, u32 pick_rule)
{
	if (pick_rule == FG_PICK_RULE_BUDDY)
		return FG_PICK_RULE_WAKE_BUDDY;
	if (pick_rule == FG_PICK_RULE_PROTECTED)
		return FG_PICK_RULE_WAKE_PROTECTED;
	if (!entity_eligible(q, pe))
		return FG_PICK_RULE_WAKE_INELIGIBLE;
	return pick_rule == FG_PICK_RULE_STAYS ? FG_PICK_RULE_WAKE_DEADLINE : FG_PICK_RULE_WAKE_OTHER;
}

/* PREEMPT_SHORT, v6.12, before which all slices are equal: p asks for less, and it is its turn rather than curr's. */
static u32 preempts_short(const struct fg_sys *sys, const struct fg_queue *q, const struct fg_task *curr,
			  const struct fg_task *p)
{
	if (entity_slice(sys, p) >= entity_slice(sys, curr) || !entity_eligible(q, p))
		return 0;
	return deadline_before(p, curr) || !entity_eligible(q, curr);
}

/* Up to v6.16: a shorter slice ends the protection first, then a pick decides. */
static u32 preempts_parity(const struct fg_sys *sys, const struct fg_queue *q, struct fg_task *e,
			   const struct fg_task *pe, struct fg_task *first)
{
	u32 is_short = preempts_short(sys, q, e, pe), rule;

	if (is_short)
		cancel_protect_slice(e);
	if (pick_eevdf(sys, q, e, first, 1, &rule) != pe)
		return waiting_rule(q, pe, rule);
	return is_short ? FG_PICK_RULE_PREEMPT_SHORT : preempting_rule(rule);
}

/* set_short_buddy, v7.3: of wakees with short slices the one with the shortest runs next. */
static void set_short_buddy(const struct fg_sys *sys, struct fg_queue *q, struct fg_task *pe)
{
	if (feat(sys, FG_SHORT_BUDDY) && !(q->next && entity_slice(sys, q->next) < entity_slice(sys, pe)))
		q->next = pe;
}

/* v6.17: a shorter slice is a reason to pick without protection. A test that fails may shorten the protection. */
static u32 preempts_vprot(const struct fg_sys *sys, struct fg_queue *q, struct fg_task *e, struct fg_task *pe,
			  struct fg_task *first, u32 flags)
{
	u32 is_short = entity_slice(sys, pe) < entity_slice(sys, e), shrink = feat(sys, FG_SHRINK);
	u32 is_delayed = (pe->flags & FG_TASK_DELAYED) != 0, tested;
	u32 rule = FG_PICK_RULE_NONE;
	struct fg_task *best = 0;

	/* A sleeper that balancing has moved is no buddy: since v7.3 its slice is not looked at. */
	if (is_delayed && feat(sys, FG_SHORT_BUDDY))
		is_short = 0;
	tested = is_short || !feat(sys, FG_FORK_NO_PREEMPT) || !((flags & FG_WF_FORK) || is_delayed);
	if (tested) {
		best = pick_in_wakeup(sys, q, e, first, !is_short, &rule);
		if (best && (best->flags & FG_TASK_DELAYED) && feat(sys, FG_WAKE_PICK_DEQUEUE))
			return FG_PICK_RULE_WAKE_DELAYED;
	}
	if (tested && (best == pe || (is_short && feat(sys, FG_SHORT_EAGER) && entity_eligible(q, pe)))) {
		if (is_short || feat(sys, FG_SHORT_EAGER))
			cancel_protect_slice(e);
		if (is_short && feat(sys, FG_BUDDY_PROTECT))
			forget_buddy(q, e);
		if (is_short)
			set_short_buddy(sys, q, pe);
		return is_short ? FG_PICK_RULE_PREEMPT_SHORT : preempting_rule(rule);
	}
	rule = tested ? waiting_rule(q, pe, rule) : FG_PICK_RULE_WAKE_FORK;
	if (shrink == FG_SHRINK_ALWAYS || (tested && (shrink == FG_SHRINK_FAILED || (shrink && is_short))))
		update_protect_slice(sys, q, e);
	return rule;
}

/* e, for which p competes, is SCHED_IDLE, or a group with cpu.idle. Up to v6.11 it is if p is, whatever group that is in. */
static u32 counts_as_idle_entity(const struct fg_sys *sys, const struct fg_task *e, const struct fg_task *p)
{
	return e->policy == FG_SCHED_IDLE || (!is_eevdf612(sys) && p->policy == FG_SCHED_IDLE);
}

/* As what p competes with the current task: as itself, or as the group below the innermost one that both are in. */
static struct fg_task *competitor(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *curr, struct fg_task *p,
				  struct fg_task *of)
{
	return is_flat(sys) ? of : entity_in(rq, of, common_group(curr, p));
}

/* What the policies of the tasks and cpu.idle decide without a look at virtual times; else FG_PICK_RULE_NONE. */
static u32 eevdf_policy_rule(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *curr, struct fg_task *p)
{
	u32 e_idle = counts_as_idle_entity(sys, competitor(sys, rq, curr, p, curr), curr);
	u32 pe_idle = counts_as_idle_entity(sys, competitor(sys, rq, curr, p, p), p);

	if (e_idle && !pe_idle)
		return FG_PICK_RULE_PREEMPT_IDLE;
	/* Batch and idle tasks wait for the end of the slice. */
	return e_idle != pe_idle || p->policy != FG_SCHED_OTHER ? FG_PICK_RULE_WAKE_BATCH : FG_PICK_RULE_NONE;
}

/* enum fg_pick_rule_id. first: of the queue in which they compete. */
static u32 eevdf_check_preempt_wakeup(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *curr,
				      struct fg_task *p, struct fg_task *first, u32 flags)
{
	struct fg_task *e = competitor(sys, rq, curr, p, curr), *pe = competitor(sys, rq, curr, p, p);
	struct fg_queue *q = order_queue(sys, rq, e);
	u32 rule = eevdf_policy_rule(sys, rq, curr, p);

	if (rule == FG_PICK_RULE_PREEMPT_IDLE)
		cancel_protect_slice(e);
	else if (rule == FG_PICK_RULE_WAKE_BATCH && feat(sys, FG_SHRINK) == FG_SHRINK_ALWAYS)
		update_protect_slice(sys, q, e);
	if (rule != FG_PICK_RULE_NONE)
		return rule;
	if (feat(sys, FG_PROTECT) == FG_PROTECT_PARITY)
		return preempts_parity(sys, q, e, pe, first);
	return preempts_vprot(sys, q, e, pe, first, flags);
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
		avg_vruntime_sub(sys, q, curr);
		curr->vruntime = curr->deadline;
		avg_vruntime_add(sys, q, curr);
		update_deadline(sys, curr);
		return;
	}
	curr->deadline += calc_delta_fair(sys, entity_slice(sys, curr), curr);
	/* Where protection is a vruntime, a yield leaves it. */
	curr->flags &= ~(u32)FG_TASK_PROTECTED;
}

/*
 * DELAY_DEQUEUE: whether p, which goes to sleep, stays in the queue because it is not eligible. Exiting tasks do not.
 */
static u32 delays_dequeue(const struct fg_sys *sys, const struct fg_queue *q, const struct fg_task *p, u32 flags)
{
	if (!is_eevdf612(sys) || !(flags & FG_DEQUEUE_SLEEP) || (flags & (FG_DEQUEUE_DELAYED | FG_DEQUEUE_SPECIAL)))
		return 0;
	return !(p->flags & FG_TASK_EXITING) && !entity_eligible(q, p);
}

/* One more (by = 1) or less of the tasks that p's queue and those above it count is delayed; nobody knows of it above a throttled one. */
static void count_delayed(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_task *p, s32 by)
{
	struct fg_tg_cpu *g;

	for_each_group_of(g, rq, p) {
		g->h_nr_delayed += (u32)by;
		if (is_off(sys, g))
			return;
	}
	rq->h_nr_delayed += (u32)by;
}

/* p sleeps, but stays in the queue. */
static void set_delayed(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	if (feat(sys, FG_DELAY_LAG))
		update_entity_lag(sys, order_queue(sys, rq, p), p);
	if (feat(sys, FG_CACHE_RUNNABLE))
		pref_llc_running(sys, rq, p, -1);
	p->flags |= FG_TASK_DELAYED;
	count_delayed(sys, rq, p, 1);
}

/*
 * A delayed p whose lag has become positive loses it: it is placed with a lag of 0. With delay-lag it is placed whenever
 * its lag is not where it stands.
 */
static void forfeit_credit(const struct fg_sys *sys, struct fg_queue *q, struct fg_task *p)
{
	u32 moved = update_entity_lag(sys, q, p);

	if (feat(sys, FG_DELAY_LAG) ? !moved : p->vlag <= 0)
		return;
	avg_vruntime_sub(sys, q, p);
	p->vlag = p->vlag < 0 ? p->vlag : 0;
	eevdf_place_entity(sys, q, p, 0);
	avg_vruntime_add(sys, q, p);
}

void fg_requeue_delayed(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	if (!feat(sys, FG_UCLAMP_LATE))
		fg_uclamp_rq_inc(sys, rq, p);
	util_est_enqueue(sys, rq, p);
	forfeit_credit(sys, order_queue(sys, rq, p), p);
	if (is_flat(sys))
		update_own_and_cpu_load_avg(sys, rq, p);
	else
		update_own_load_avg(sys, rq, p);
	p->flags &= ~(u32)FG_TASK_DELAYED;
	if (feat(sys, FG_CACHE_RUNNABLE))
		pref_llc_running(sys, rq, p, 1);
	count_delayed(sys, rq, p, -1);
	if (feat(sys, FG_UCLAMP_LATE))
		fg_uclamp_rq_inc(sys, rq, p);
}
