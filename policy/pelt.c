/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Per-entity load tracking: spec 2.1 to 2.5.
 *
 * Time is cut into periods of 1024 us (1 us is taken as 1024 ns). A period that is n periods old weighs y^n, and
 * y^32 = 1/2. A step from last_update to now covers, in general, the rest of a period that had begun (1), whole
 * periods (2) and the beginning of the current one (3):
 *
 *	     (1)        (2)              (3)
 *	 |<------>|<------------->|<--------->|
 *	 ... |---x---|------| ... |------|-----x (now)
 *
 * The old sums decay by p, the number of period boundaries crossed, and the step itself is worth
 *
 *	(1) * y^p  +  1024 * sum(y^n, n = 1 .. p-1)  +  (3)
 *
 * The geometric sum is what the series to infinity (LOAD_AVG_MAX) has lost after p periods, less its n = 0 term.
 */
#include "sched.h"

#define LOAD_AVG_PERIOD 32
#define LOAD_AVG_MAX 47742
#define PELT_MIN_DIVIDER (LOAD_AVG_MAX - 1024)

/*
 * floor((2^32 - 1) * y^i). The kernel's table has this 2^32 - 1, which is also why entry 0 loses a unit at each decay;
 * floor(2^32 * y^i) would be one larger in most places.
 */
static const u32 pelt_inverse[LOAD_AVG_PERIOD] = {
	0xffffffff, 0xfa83b2da, 0xf5257d14, 0xefe4b99a, 0xeac0c6e6, 0xe5b906e6, 0xe0ccdeeb, 0xdbfbb796,
	0xd744fcc9, 0xd2a81d91, 0xce248c14, 0xc9b9bd85, 0xc5672a10, 0xc12c4cc9, 0xbd08a39e, 0xb8fbaf46,
	0xb504f333, 0xb123f581, 0xad583ee9, 0xa9a15ab4, 0xa5fed6a9, 0xa2704302, 0x9ef5325f, 0x9b8d39b9,
	0x9837f050, 0x94f4efa8, 0x91c3d373, 0x8ea4398a, 0x8b95c1e3, 0x88980e80, 0x85aac367, 0x82cd8698,
};

static u32 pelt_divider(const struct fg_avg *sa)
{
	return PELT_MIN_DIVIDER + sa->period_contrib;
}

/* val * y^n */
u64 fg_decay_load(u64 val, u64 n)
{
	u64 inv;

	if (n > LOAD_AVG_PERIOD * 63)
		return 0;
	val >>= n / LOAD_AVG_PERIOD;
	inv = pelt_inverse[n % LOAD_AVG_PERIOD];
	/* 64 x 32 bits in two halves: the high one cannot overflow, inv is below 2^32. */
	return (val >> 32) * inv + (((val & 0xffffffff) * inv) >> 32);
}

/* What a busy step is worth that crosses periods boundaries: (1), (2) and (3) above, d1 and d3 in us. */
static u64 accumulate_segments(u64 periods, u64 d1, u64 d3)
{
	u64 whole = LOAD_AVG_MAX - fg_decay_load(LOAD_AVG_MAX, periods) - 1024;

	return fg_decay_load(d1, periods) + whole + d3;
}

/* us pass: the sums decay by the boundaries crossed. The number of these; *worth is what a busy step adds. */
static inline __attribute__((always_inline)) u64 pelt_step(struct fg_avg *sa, u64 us, u64 *worth)
{
	u64 begun = sa->period_contrib, crossed = (begun + us) / 1024, rest = (begun + us) % 1024;

	sa->period_contrib = (u32)rest;
	*worth = us;
	if (!crossed)
		return 0;
	*worth = accumulate_segments(crossed, 1024 - begun, rest);
	sa->util_sum = fg_decay_load(sa->util_sum, crossed);
	sa->runnable_sum = fg_decay_load(sa->runnable_sum, crossed);
	sa->load_sum = fg_decay_load(sa->load_sum, crossed);
	return crossed;
}

static inline __attribute__((always_inline)) u32 pelt_update(struct fg_avg *sa, u64 now, u64 load, u32 runnable,
							     u32 running)
{
	u64 delta, crossed, worth;

	/* A clock that went back (rq clocks differ a little) only moves the reference. */
	if (now < sa->last_update) {
		sa->last_update = now;
		return 0;
	}
	delta = (now - sa->last_update) >> 10;
	if (!delta)
		return 0;
	sa->last_update += delta << 10;

	crossed = pelt_step(sa, delta, &worth);
	/* What is not even queued cannot be waiting or running. */
	if (load) {
		sa->load_sum += worth * load;
		sa->runnable_sum += (worth * runnable) << 10;
		sa->util_sum += running ? worth << 10 : 0;
	}
	return crossed != 0;
}

global_question u32 fg_pelt_update(struct fg_avg *sa state_arg, u64 now, u64 load, u32 runnable, u32 running)
{
	return pelt_update(sa, now, load, runnable, running);
}

void fg_pelt_averages(struct fg_avg *sa, u64 weight)
{
	u32 divider = pelt_divider(sa);

	sa->load_avg = weight * sa->load_sum / divider;
	sa->runnable_avg = sa->runnable_sum / divider;
	sa->util_avg = sa->util_sum / divider;
}

/* The signals of the fair class run on this clock: it stands still while the queue could not keep up anyway. */
static u64 rq_clock_pelt(const struct fg_cpu *rq)
{
	return rq->clock_pelt - rq->lost_idle_time;
}

/* cfs_rq_clock_pelt: the clock of the signals in the queue of g, null: in rq's own. It may stand while g is throttled. */
static u64 queue_clock_pelt(const struct fg_cpu *rq, const struct fg_tg_cpu *g)
{
	if (!g)
		return rq_clock_pelt(rq);
	return (g->pelt_clock_throttled ? g->throttled_clock_pelt : rq_clock_pelt(rq)) - g->throttled_clock_pelt_time;
}

/* sync(p) and the like: sa slept from its last update until now. */
static void pelt_decay_blocked(struct fg_avg *sa, u64 now, u64 weight)
{
	if (pelt_update(sa, now, 0, 0, 0))
		fg_pelt_averages(sa, weight);
}

/*
 * At least what avg needs. The kernel compares 32 bits of both: a load of some 90 thousand (as many tasks, or two of nice -20)
 * loses what is above them.
 */
static u64 sum_above_floor(u64 sum, u64 avg)
{
	return max_u64((u32)sum, (u32)(avg * PELT_MIN_DIVIDER));
}

/*
 * What sum becomes after something has been taken off it and its average, which is avg now (spec 2.4). Averages are rounded one
 * by one, so sum may be less than avg needs, and be gone before it.
 */
static u64 sum_left(const struct fg_sys *sys, u64 sum, u64 avg, u32 divider)
{
	switch (feat(sys, FG_PELT_SUM)) {
	case FG_PELT_SUM_AVERAGE:
	case FG_PELT_SUM_AVERAGE_FLOOR:
		return avg * divider;
	case FG_PELT_SUM_FLOOR:
		return sum_above_floor(sum, avg);
	default:
		return sum;
	}
}

/* The same of the utilization of tasks that woke elsewhere. */
static u64 util_sum_removed(const struct fg_sys *sys, u64 sum, u64 avg, u32 divider)
{
	return feat(sys, FG_PELT_SUM) == FG_PELT_SUM_AVERAGE_FLOOR ? sum_above_floor(sum, avg)
								   : sum_left(sys, sum, avg, divider);
}

/* Averages of tasks that left by a wakeup elsewhere go off those of their queue. */
static void remove_averages(const struct fg_sys *sys, struct fg_avg *sa, u64 load, u64 util, u64 runnable)
{
	u32 divider = pelt_divider(sa);

	sa->load_avg = pos_sub(sa->load_avg, load);
	sa->load_sum = sum_left(sys, pos_sub(sa->load_sum, load * divider), sa->load_avg, divider);
	sa->util_avg = pos_sub(sa->util_avg, util);
	sa->util_sum = util_sum_removed(sys, pos_sub(sa->util_sum, util * divider), sa->util_avg, divider);
	sa->runnable_avg = pos_sub(sa->runnable_avg, runnable);
	sa->runnable_sum = sum_left(sys, pos_sub(sa->runnable_sum, runnable * divider), sa->runnable_avg, divider);
}

static void apply_removed(const struct fg_sys *sys, struct fg_cpu *rq)
{
	remove_averages(sys, &rq->cfs, rq->removed_load, rq->removed_util, rq->removed_runnable);
	rq->removed_nr = 0;
	rq->removed_load = 0;
	rq->removed_util = 0;
	rq->removed_runnable = 0;
}

/* Up to v5.6 some ask for the load of queued tasks alone (spec 2.2). It costs as much as another signal. */
static u32 has_runnable_load(const struct fg_sys *sys)
{
	return !feat(sys, FG_LB_P09) || !feat(sys, FG_LB_P06);
}

/* It grows by what all load grows by, and at the same times: what is blocked only decays. */
static void update_runnable_load_avg(const struct fg_sys *sys, struct fg_cpu *rq)
{
	if (has_runnable_load(sys) && fg_pelt_update(&rq->queued, rq_clock_pelt(rq), rq->fair.load_weight, 0, 0))
		fg_pelt_averages(&rq->queued, 1);
}

static void enqueue_runnable_load_avg(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_task *p)
{
	if (!has_runnable_load(sys))
		return;
	rq->queued.load_avg += p->avg.load_avg;
	rq->queued.load_sum += p->weight * p->avg.load_sum;
}

static void dequeue_runnable_load_avg(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_task *p)
{
	if (!has_runnable_load(sys))
		return;
	rq->queued.load_avg = pos_sub(rq->queued.load_avg, p->avg.load_avg);
	rq->queued.load_sum = pos_sub(rq->queued.load_sum, p->weight * p->avg.load_sum);
}

/* Of nr tasks, delayed of which sleep, those that count as runnable. */
static u32 runnable_tasks(const struct fg_sys *sys, u32 nr, u32 delayed)
{
	return feat(sys, FG_RUNNABLE_DELAYED) ? nr - delayed : nr;
}

/* rq's signals up to now, running: a fair task had the CPU until now; 1: the averages are others than before. */
static u32 age_cfs_rq(const struct fg_sys *sys, struct fg_cpu *rq, u32 running)
{
	u32 changed = rq->removed_nr != 0;

	if (changed)
		apply_removed(sys, rq);
	update_runnable_load_avg(sys, rq);
	if (fg_pelt_update(&rq->cfs, rq_clock_pelt(rq), rq->fair.load_weight,
			   runnable_tasks(sys, rq->h_nr_running, rq->h_nr_delayed), running)) {
		fg_pelt_averages(&rq->cfs, 1);
		changed = 1;
	}
	if (changed && !feat(sys, FG_FREQ_AFTER_ALL))
		cpufreq_update_util(sys, rq, 0);
	return changed;
}

static u32 update_cfs_rq_load_avg(const struct fg_sys *sys, struct fg_cpu *rq)
{
	return age_cfs_rq(sys, rq, fair_curr(rq) != 0);
}

/* p's own signals up to now. Any change of util_avg makes the estimate stale (spec 2.6). */
static void age_task(const struct fg_cpu *rq, struct fg_task *p)
{
	u32 runnable = p->on_rq && !(p->flags & FG_TASK_DELAYED);

	u64 now = queue_clock_pelt(rq, group_of(rq, p));

	if (!is_detached(p) && fg_pelt_update(&p->avg, now, p->on_rq, runnable, rq->curr == p)) {
		fg_pelt_averages(&p->avg, p->weight);
		p->flags &= ~(u32)FG_TASK_EST_CURRENT;
	}
}

/* p's own signals, those of its queue and of the CPU's, up to now; 1: the CPU's are others than before. */
static u32 age_load_avg(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	age_task(rq, p);
	if (!p->tg)
		return update_cfs_rq_load_avg(sys, rq);
	age_contributing(sys, rq, group_of(rq, p));
	return age_groups_above(sys, rq, p);
}

/* The same, and the governor hears of it. */
static void update_load_avg(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	if (age_load_avg(sys, rq, p) && feat(sys, FG_FREQ_AFTER_ALL))
		cpufreq_update_util(sys, rq, 0);
}

/* The same of a p that goes to sleep where it is queued, or wakes there: what is above its group is left alone. */
static void update_own_load_avg(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	if (!p->tg) {
		update_load_avg(sys, rq, p);
		return;
	}
	age_task(rq, p);
	age_group_queue(sys, rq, group_of(rq, p));
}

/*
 * The same of a p that wakes there with flat-pick: the queue that it competes in is the CPU's, and so the kernel updates
 * that, not the one of its group.
 */
static void update_own_and_cpu_load_avg(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	age_task(rq, p);
	if (update_cfs_rq_load_avg(sys, rq) && feat(sys, FG_FREQ_AFTER_ALL))
		cpufreq_update_util(sys, rq, 0);
}

static void enqueue_load_avg(struct fg_avg *to, const struct fg_task *p)
{
	to->load_avg += p->avg.load_avg;
	to->load_sum += p->weight * p->avg.load_sum;
}

static void dequeue_load_avg(const struct fg_sys *sys, struct fg_avg *from, const struct fg_task *p)
{
	u64 sum = pos_sub(from->load_sum, p->weight * p->avg.load_sum);

	from->load_avg = pos_sub(from->load_avg, p->avg.load_avg);
	from->load_sum = sum_left(sys, sum, from->load_avg, pelt_divider(from));
}

/*
 * attach_entity_load_avg: adds p's averages to those of its queue on rq. p's sums are computed again from its averages
 * with the divider of the run queue, because the two signals are at different points of their periods.
 */
static void attach_entity_load_avg(struct fg_cpu *rq, struct fg_task *p)
{
	struct fg_avg *sa = &p->avg, *to = queue_avg(rq, p);
	u64 divider = pelt_divider(to);

	sa->last_update = to->last_update;
	sa->period_contrib = to->period_contrib;
	sa->util_sum = sa->util_avg * divider;
	sa->runnable_sum = sa->runnable_avg * divider;
	sa->load_sum = nonzero(sa->load_avg * divider / nonzero(p->weight));

	enqueue_load_avg(to, p);
	to->util_avg += sa->util_avg;
	to->util_sum += sa->util_sum;
	to->runnable_avg += sa->runnable_avg;
	to->runnable_sum += sa->runnable_sum;
	p->flags &= ~(u32)FG_TASK_MIGRATED;
}

static void detach_entity_load_avg(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	const struct fg_avg *sa = &p->avg;
	struct fg_avg *from = queue_avg(rq, p);
	u32 divider = pelt_divider(from);

	dequeue_load_avg(sys, from, p);
	from->util_avg = pos_sub(from->util_avg, sa->util_avg);
	from->util_sum = sum_left(sys, pos_sub(from->util_sum, sa->util_sum), from->util_avg, divider);
	from->runnable_avg = pos_sub(from->runnable_avg, sa->runnable_avg);
	from->runnable_sum = sum_left(sys, pos_sub(from->runnable_sum, sa->runnable_sum), from->runnable_avg, divider);
	p->flags |= FG_TASK_MIGRATED;
}

/*
 * A sleeping p is woken on another CPU. The old run queue is not locked then: p is brought up to the queue's last
 * update, and what it leaves is noted for the queue's next one.
 */
void fg_migrate_task(const struct fg_sys *sys, struct fg_cpu *old, struct fg_task *p)
{
	if (p->flags & FG_TASK_NEW)
		return;
	/* EEVDF places it by its lag. */
	if (feat(sys, FG_RQ) == FG_RQ_CFS)
		p->vruntime -= const_queue_of(old, p)->min_vruntime;
	p->exec_start = 0;
	if (is_detached(p))
		return;
	pelt_decay_blocked(&p->avg, queue_last_update(old, p), p->weight);
	if (p->tg) {
		note_removed_from_group(group_of(old, p), p);
	} else {
		old->removed_nr++;
		old->removed_load += p->avg.load_avg;
		old->removed_runnable += p->avg.runnable_avg;
		old->removed_util += p->avg.util_avg;
	}
	p->flags |= FG_TASK_MIGRATED;
}

/*
 * The clock of an idle CPU stands since it was last brought up to date, so the p that fg_migrate_task took from there
 * missed the decay of that time. It gets it by estimate, now being what the waker's clock shows (v6.0). Where the CPU
 * is busy the gap is small and not worth closing.
 */
void fg_migrate_lag(const struct fg_sys *sys, const struct fg_cpu *old, struct fg_task *p, u64 now)
{
	u64 pelt = old->clock_pelt_idle;
	const struct fg_tg_cpu *g = group_of(old, p);

	if (!feat(sys, FG_MIGRATE_LAG) || !old->curr_is_idle || !(p->flags & FG_TASK_MIGRATED))
		return;
	if (g) {
		if (g->throttled_pelt_idle == ~0ull)
			return;
		pelt -= g->throttled_pelt_idle;
	}
	if (pelt < queue_last_update(old, p))
		return;
	pelt_decay_blocked(&p->avg, pelt + pos_sub(now, old->clock_idle), p->weight);
}

/*
 * A new task: full load, and half of the utilization that is left on the CPU it starts on (spec 2.5). The queue's own
 * ratio of utilization to load may say less, but up to v6.8 the weight in it is 1024 times too large and it never does.
 */
void fg_post_init_util(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p)
{
	struct fg_avg *sa = &p->avg;
	const struct fg_avg *queue = queue_avg(rq, p);
	u64 head = pos_sub(rq->cpu_capacity_orig, queue->util_avg) / 2;
	u64 weight = feat(sys, FG_NEWTASK_W1024) ? (u64)p->weight * 1024 : p->weight;

	sa->load_avg = p->weight;
	sa->util_avg = 0;
	if (head) {
		sa->util_avg = head;
		if (queue->util_avg)
			sa->util_avg = min_u64(head, queue->util_avg * weight / (queue->load_avg + 1));
	}
	sa->runnable_avg = sa->util_avg;

	if (!is_fair(p)) {
		sa->last_update = queue_clock_pelt(rq, group_of(rq, p));
		return;
	}
	if (p->tg) {
		join_group_load_avg(sys, rq, p, 1);
		tell_groups(sys, rq, p);
		return;
	}
	if (update_cfs_rq_load_avg(sys, rq) && feat(sys, FG_FREQ_AFTER_ALL))
		cpufreq_update_util(sys, rq, 0);
	attach_entity_load_avg(rq, p);
	cpufreq_update_util(sys, rq, 0);
}

/* An interrupt of ns length ended now: the signal idles until it began and runs until now (spec 2.7). */
static u32 update_irq_load_avg(struct fg_cpu *rq, u64 ns)
{
	u32 decayed;

	/* In capacity of the biggest CPU at top frequency, as clock_pelt does for tasks. */
	ns = (ns * rq->freq_scale) >> 10;
	ns = (ns * rq->cpu_capacity_orig) >> 10;
	decayed = fg_pelt_update(&rq->irq, pos_sub(rq->clock, ns), 0, 0, 0);
	decayed |= fg_pelt_update(&rq->irq, rq->clock, 1, 1, 1);
	if (decayed)
		fg_pelt_averages(&rq->irq, 1);
	return decayed;
}

static u32 update_class_avg(struct fg_avg *sa, u64 now, u32 running)
{
	u32 decayed = fg_pelt_update(sa, now, running, running, running);

	if (decayed)
		fg_pelt_averages(sa, 1);
	return decayed;
}

void fg_update_rt(const struct fg_sys *sys, struct fg_cpu *rq, u32 running)
{
	(void)sys;
	update_class_avg(&rq->rt, rq_clock_pelt(rq), running != 0);
}

void fg_update_dl(const struct fg_sys *sys, struct fg_cpu *rq, u32 running)
{
	(void)sys;
	update_class_avg(&rq->dl, rq_clock_pelt(rq), running != 0);
}

/* Heat takes capacity whether or not a task runs, so its clock is never scaled. */
static u32 update_thermal_avg(const struct fg_sys *sys, struct fg_cpu *rq)
{
	u32 pressure = feat(sys, FG_HW_PRESSURE) ? rq->hw_pressure : rq->thermal_pressure;
	u32 decayed = fg_pelt_update(&rq->thermal, rq->clock_task, pressure, pressure, pressure);

	if (decayed)
		fg_pelt_averages(&rq->thermal, 1);
	return decayed;
}

void fg_update_thermal(const struct fg_sys *sys, struct fg_cpu *rq)
{
	update_thermal_avg(sys, rq);
}

u32 fg_update_blocked_averages(const struct fg_sys *sys, struct fg_cpu *rq)
{
	u32 blocked = 0, changed;

	changed = update_blocked_groups(sys, rq, &blocked);
	changed |= update_cfs_rq_load_avg(sys, rq);
	changed |= update_class_avg(&rq->rt, rq_clock_pelt(rq), is_rt(rq->curr));
	changed |= update_class_avg(&rq->dl, rq_clock_pelt(rq), 0);
	changed |= update_thermal_avg(sys, rq);
	changed |= update_irq_load_avg(rq, 0);
	if (changed && feat(sys, FG_FREQ_AFTER_ALL))
		cpufreq_update_util(sys, rq, 0);

	blocked |= rq->cfs.load_avg || rq->cfs.util_avg || rq->rt.util_avg || rq->dl.util_avg || rq->irq.util_avg ||
		   rq->thermal.load_avg;
	if (!blocked)
		rq->has_blocked_load = 0;
	return blocked;
}
