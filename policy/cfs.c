/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The completely fair run queue up to v6.5 (spec 9.1): tasks are ordered by vruntime, the time they ran divided by
 * their weight. vruntimes are compared by signed difference, they may wrap. A task off the queue by sleep keeps its
 * vruntime; one that leaves in any other way carries it relative to min_vruntime.
 */
#include "sched.h"

/* ns; each times 1 + log2(CPUs), see cfs_factor(). */
#define CFS_LATENCY 6000000ull
#define CFS_MIN_GRANULARITY 750000ull
#define CFS_WAKEUP_GRANULARITY 1000000ull
/* That many tasks share one latency; with more the period grows. */
#define CFS_NR_LATENCY 8

#define WEIGHT_IDLEPRIO 3

/* Each nice level is worth 10 % of CPU time: a factor of about 1.25. */
static const u32 sched_prio_to_weight[40] = {
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
	3906,  3121,  2501,  1991,  1586,  1277,  1024,	 820,	655,   526,   423,  335,  272,	215,
	172,   137,   110,   87,    70,	   56,	  45,	 36,	29,    23,    18,   15,
};

void fg_set_load_weight(struct fg_task *p)
{
	if (p->nice < -20)
		p->nice = -20;
	if (p->nice > 19)
		p->nice = 19;
	if (p->uclamp_min > FG_CAPACITY_SCALE)
		p->uclamp_min = FG_CAPACITY_SCALE;
	if (p->uclamp_max > FG_CAPACITY_SCALE)
		p->uclamp_max = FG_CAPACITY_SCALE;
	p->weight = p->policy == FG_SCHED_IDLE ? WEIGHT_IDLEPRIO : sched_prio_to_weight[(u32)(p->nice + 20)];
}

/*
 * load_avg is weight * load_sum / divider (spec 2.2), and does not wait for the next period to follow a weight. A task
 * that becomes SCHED_IDLE gets its weight and keeps its load_avg until then, as up to v6.9.
 */
void fg_reweight_task(struct fg_cpu *rq, struct fg_task *p)
{
	u32 attached = !is_detached(p);

	if (p->policy == FG_SCHED_IDLE) {
		fg_set_load_weight(p);
		return;
	}
	if (attached)
		dequeue_load_avg(rq, p);
	fg_set_load_weight(p);
	p->avg.load_avg = p->weight * p->avg.load_sum / pelt_divider(&p->avg);
	if (attached)
		enqueue_load_avg(rq, p);
}

void fg_switched_to_fair(const struct fg_cpu *rq, struct fg_task *p)
{
	p->vruntime += rq->min_vruntime;
}

/* F of spec 9.1: more CPUs, longer latency, but only up to eight of them. */
static u64 cfs_factor(const struct fg_sys *sys)
{
	if (sys->nr_cpus >= 8)
		return 4;
	if (sys->nr_cpus >= 4)
		return 3;
	return sys->nr_cpus >= 2 ? 2 : 1;
}

/* ns of real time in p's vruntime. */
static u64 calc_delta_fair(u64 delta, const struct fg_task *p)
{
	if (p->weight == FG_NICE_0_LOAD)
		return delta;
	return delta * FG_NICE_0_LOAD / nonzero(p->weight);
}

static u32 vruntime_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

static u64 vruntime_max(u64 a, u64 b)
{
	return vruntime_before(a, b) ? b : a;
}

static u64 vruntime_min(u64 a, u64 b)
{
	return vruntime_before(a, b) ? a : b;
}

/* Every queued task once. */
static u64 sched_period(const struct fg_sys *sys, u64 nr)
{
	if (nr > CFS_NR_LATENCY)
		return nr * CFS_MIN_GRANULARITY * cfs_factor(sys);
	return CFS_LATENCY * cfs_factor(sys);
}

/* p's share of the period by weight, whether or not it is counted in rq yet. */
static u64 sched_slice(const struct fg_sys *sys, const struct fg_cpu *rq, const struct fg_task *p)
{
	u64 nr = rq->h_nr_running, load = rq->load_weight;

	if (!p->on_rq) {
		nr++;
		load += p->weight;
	}
	return sched_period(sys, nr) * p->weight / nonzero(load);
}

/* min_vruntime follows the smallest vruntime there is, and never goes back. */
void fg_update_min_vruntime(struct fg_cpu *rq, const struct fg_task *left)
{
	const struct fg_task *curr = fair_curr(rq);
	u64 v = rq->min_vruntime;

	if (curr && curr->on_rq) {
		v = curr->vruntime;
		if (left)
			v = vruntime_min(v, left->vruntime);
	} else if (left) {
		v = left->vruntime;
	}
	rq->min_vruntime = vruntime_max(rq->min_vruntime, v);
}

void fg_update_curr(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_task *left)
{
	struct fg_task *curr = fair_curr(rq);
	u64 delta;

	(void)sys;
	if (!curr || rq->clock_task <= curr->exec_start)
		return;
	delta = rq->clock_task - curr->exec_start;
	curr->exec_start = rq->clock_task;
	curr->sum_exec += delta;
	curr->vruntime += calc_delta_fair(delta, curr);
	fg_update_min_vruntime(rq, left);
}

/* A sleeper gets half a latency of credit, but what it had left if that is less; a child starts a slice behind. */
static u64 place_entity(const struct fg_sys *sys, const struct fg_cpu *rq, const struct fg_task *p, u32 initial)
{
	u64 v = rq->min_vruntime;

	if (initial)
		v += calc_delta_fair(sched_slice(sys, rq, p), p);
	else
		v -= CFS_LATENCY * cfs_factor(sys) / 2;
	return vruntime_max(p->vruntime, v);
}

void fg_task_fork(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	const struct fg_task *curr = fair_curr(rq);

	if (curr)
		p->vruntime = curr->vruntime;
	p->vruntime = place_entity(sys, rq, p, 1) - rq->min_vruntime;
}

static void account_entity_enqueue(struct fg_cpu *rq, const struct fg_task *p)
{
	rq->load_weight += p->weight;
	rq->h_nr_running++;
	if (p->policy == FG_SCHED_IDLE)
		rq->idle_h_nr_running++;
	rq->nr_running++;
	/* Somebody waits: the partition may have something to balance. */
	if (rq->nr_running == 2 && rq->rd)
		rq->rd->overload = 1;
}

static void account_entity_dequeue(struct fg_cpu *rq, const struct fg_task *p)
{
	rq->load_weight = pos_sub(rq->load_weight, p->weight);
	rq->h_nr_running--;
	if (p->policy == FG_SCHED_IDLE)
		rq->idle_h_nr_running--;
	rq->nr_running--;
}

void fg_enqueue_entity(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p, u32 flags)
{
	/* Only a task that slept here has a vruntime of this queue. */
	if (!(flags & FG_ENQUEUE_WAKEUP) || (flags & FG_ENQUEUE_MIGRATED))
		p->vruntime += rq->min_vruntime;

	fg_uclamp_rq_inc(sys, rq, p);
	util_est_enqueue(sys, rq, p);
	update_load_avg(sys, rq, p);
	if (p->flags & FG_TASK_MIGRATED)
		attach_entity_load_avg(rq, p);
	enqueue_runnable_load_avg(sys, rq, p);
	account_entity_enqueue(rq, p);
	if (flags & FG_ENQUEUE_WAKEUP)
		p->vruntime = place_entity(sys, rq, p, 0);
	p->on_rq = 1;
	p->flags &= ~(u32)FG_TASK_NEW;

	/* A new task's utilization is a guess, not a reason to give up on energy awareness. */
	if (!(flags & FG_ENQUEUE_INITIAL))
		update_overutilized_status(sys, rq);
}

void fg_clear_buddies(struct fg_cpu *rq, const struct fg_task *p)
{
	if (rq->last == p)
		rq->last = 0;
	if (rq->next == p)
		rq->next = 0;
	if (rq->skip == p)
		rq->skip = 0;
}

void fg_dequeue_entity(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p, u32 flags)
{
	fg_uclamp_rq_dec(rq, p);
	update_load_avg(sys, rq, p);
	dequeue_runnable_load_avg(sys, rq, p);
	fg_clear_buddies(rq, p);
	p->on_rq = 0;
	account_entity_dequeue(rq, p);
	if (!(flags & FG_DEQUEUE_SLEEP))
		p->vruntime -= rq->min_vruntime;

	util_est_dequeue(sys, rq, p);
	if (flags & FG_DEQUEUE_SLEEP)
		util_est_update(sys, rq, p);
	if (flags & FG_DEQUEUE_MOVE) {
		detach_entity_load_avg(rq, p);
		p->exec_start = 0;
	}
}

void fg_set_next_entity(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	fg_clear_buddies(rq, p);
	/* Until now it waited. */
	update_load_avg(sys, rq, p);
	rq->curr = p;
	p->on_cpu = 1;
	p->exec_start = rq->clock_task;
	p->prev_sum_exec = p->sum_exec;
	fg_update_misfit_status(sys, rq, p);
}

void fg_put_prev_entity(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	if (p->on_rq)
		update_load_avg(sys, rq, p);
	if (rq->curr == p)
		rq->curr = 0;
	p->on_cpu = 0;
}

/* ns of p's vruntime that it must be behind to preempt or to be preferred. */
static u64 wakeup_gran(const struct fg_sys *sys, const struct fg_task *p)
{
	return calc_delta_fair(CFS_WAKEUP_GRANULARITY * cfs_factor(sys), p);
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

struct fg_task *fg_pick_entity(const struct fg_sys *sys, const struct fg_cpu *rq, struct fg_task *left,
			       struct fg_task *second)
{
	struct fg_task *curr = fair_curr(rq);
	struct fg_task *first, *pick;

	if (curr && !curr->on_rq)
		curr = 0;
	first = earlier(left, curr);
	if (!first)
		return 0;

	pick = first;
	if (rq->skip == first) {
		/* It yielded: the next one in order, which is left if the current task was first. */
		struct fg_task *other = first == curr ? left : earlier(second, curr);

		if (buddy_is_fair(sys, other, first))
			pick = other;
	}
	/* Who was preempted has a warm cache; whom somebody woke in the middle of work matters more. */
	if (buddy_is_fair(sys, rq->next, first))
		pick = rq->next;
	else if (buddy_is_fair(sys, rq->last, first))
		pick = rq->last;
	return pick;
}

/* The slice is over, or curr ran its minimum and is a whole slice ahead of the leftmost. */
static u32 check_preempt_tick(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_task *curr,
			      const struct fg_task *left)
{
	u64 slice = sched_slice(sys, rq, curr);
	u64 ran = curr->sum_exec - curr->prev_sum_exec;
	s64 ahead;

	if (ran > slice) {
		/* Buddies must not bring it straight back. */
		fg_clear_buddies(rq, curr);
		return 1;
	}
	if (ran < CFS_MIN_GRANULARITY * cfs_factor(sys) || !left)
		return 0;
	ahead = (s64)(curr->vruntime - left->vruntime);
	return ahead > 0 && (u64)ahead > slice;
}

u32 fg_entity_tick(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_task *left)
{
	struct fg_task *curr = fair_curr(rq);
	u32 resched = 0;

	fg_update_thermal(sys, rq);
	if (!curr)
		return 0;
	update_load_avg(sys, rq, curr);
	if (rq->h_nr_running > 1)
		resched = check_preempt_tick(sys, rq, curr, left);
	fg_update_misfit_status(sys, rq, curr);
	update_overutilized_status(sys, rq);
	return resched;
}

u32 fg_check_preempt_wakeup(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	struct fg_task *curr = fair_curr(rq);
	u32 many = rq->h_nr_running >= CFS_NR_LATENCY;

	if (!curr || curr == p)
		return 0;
	if (curr->policy != FG_SCHED_IDLE || p->policy == FG_SCHED_IDLE) {
		/* Batch and idle tasks wait for the tick. */
		if (p->policy != FG_SCHED_OTHER || !wakeup_preempts(sys, curr->vruntime, p))
			return 0;
		rq->next = p;
	}
	/* With many tasks on the queue the preempted one should come back before its cache is gone. */
	if (many && curr->on_rq && curr->policy != FG_SCHED_IDLE)
		rq->last = curr;
	return 1;
}

void fg_yield(const struct fg_sys *sys, struct fg_cpu *rq)
{
	struct fg_task *curr = fair_curr(rq);

	(void)sys;
	if (!curr || rq->nr_running == 1)
		return;
	fg_clear_buddies(rq, curr);
	rq->skip = curr;
}
