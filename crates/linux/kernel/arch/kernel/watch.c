// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reports placements, migrations and the steps of run queues to the host, and counts the work in between. watch_*() replace methods of
 * the fair and the RT class; the link script puts the classes into a writable section.
 */
#include "sim.h"

u32 ks_look_kind = KS_NR_WORKS;
int ks_look_last = -1;
u32 ks_cause = KS_CAUSE_BALANCE;
struct task_struct *ks_told;

/* The placement that is being decided: whether it is a wakeup's, and the work counted. */
static bool is_wake;
static u32 probes, group_cpus;

void ks_count_look(int cpu)
{
	ks_look_last = cpu;
	if (ks_look_kind == KS_WORK_PROBE)
		probes++;
	else
		group_cpus++;
	ks_call(work, ks_look_kind, 1);
}

void ks_count_probe(int cpu)
{
	if (!is_wake)
		return;
	ks_look_last = cpu;
	probes++;
	ks_call(work, KS_WORK_PROBE, 1);
}

/*
 * Pushes and pulls of RT tasks have many callers, none of which sets ks_cause; every other migration of an RT task has
 * a cause that is not a balancing one.
 */
void ks_task_moves(struct task_struct *p, int to)
{
	bool balancing = ks_cause == KS_CAUSE_BALANCE || ks_cause == KS_CAUSE_NEWIDLE || ks_cause == KS_CAUSE_ACTIVE;
	int number = ks_task_number(p), from = task_cpu(p);

	if (number == KS_NONE || from == to)
		return;
	ks_call(work, KS_WORK_MIGRATE, 1);
	ks_call(migrated, number, from, to, balancing && rt_task(p) ? KS_CAUSE_RT : ks_cause);
}

void ks_tell_enqueued(struct task_struct *p)
{
	int number = ks_task_number(p);

	ks_told = p;
	if (number != KS_NONE)
		ks_call(enqueued, number, task_cpu(p));
}

/* ---- placements ------------------------------------------------------------------------------------------------- */

struct watched_class {
	struct sched_class *class;
	struct sched_class tree;	/* its methods as the tree has them */
};

static struct watched_class watched[] = {
	{ (struct sched_class *)&fair_sched_class },
	{ (struct sched_class *)&rt_sched_class },
};

static const struct sched_class *tree_class(const struct task_struct *p)
{
	return p->sched_class == watched[0].class ? &watched[0].tree : &watched[1].tree;
}

#ifdef KS_HAS_SELECT_FLAGS
#define KS_SELECT_ARGUMENTS int flags
#define KS_SELECT_PASS flags
#define KS_SELECTS_FOR(kind) (flags & WF_##kind)
#else
/* The flag of the domains to choose from tells the kind of placement. */
#define KS_SELECT_ARGUMENTS int sd_flag, int flags
#define KS_SELECT_PASS sd_flag, flags
#define KS_SELECTS_FOR(kind) (sd_flag & KS_SD_##kind)
#define KS_SD_EXEC SD_BALANCE_EXEC
#define KS_SD_FORK SD_BALANCE_FORK
#define KS_SD_TTWU SD_BALANCE_WAKE
#endif

static u32 fg_wake_flags(KS_SELECT_ARGUMENTS)
{
	u32 to = preempt_count() & HARDIRQ_MASK ? FG_WF_IRQ : 0;

	to |= flags & WF_SYNC ? FG_WF_SYNC : 0;
	to |= KS_SELECTS_FOR(EXEC) ? FG_WF_EXEC : 0;
	to |= KS_SELECTS_FOR(FORK) ? FG_WF_FORK : 0;
	to |= KS_SELECTS_FOR(TTWU) ? FG_WF_TTWU : 0;
#ifdef KS_HAS_WF_CURRENT_CPU
	to |= flags & WF_CURRENT_CPU ? FG_WF_CURRENT_CPU : 0;
#endif
	return to;
}

/*
 * What the looks of a placement count as. Forks and execs look at the statistics of groups. In wakeups only calls of
 * available_idle_cpu() count, see ks_count_probe(); with energy-aware scheduling looks count too, because
 * find_energy_efficient_cpu() reads the utilization of all CPUs.
 */
static u32 looks_of(u32 kind)
{
	if (kind != KS_WAKE)
		return KS_WORK_GROUP_CPU;
	return sched_energy_enabled() ? KS_WORK_PROBE : KS_NR_WORKS;
}

/*
 * The class has chosen for this task a CPU that is not allowed or not active; the report waits for the one that
 * select_fallback_rq() takes instead.
 */
static struct ks_placement unfit;
static const struct task_struct *unfit_task;

static void report_placed(struct ks_placement *placement)
{
	ks_show(placed, placement);
	/* The tree sets a child's CPU without set_task_cpu(). */
	if (placement->kind == KS_FORK && placement->chosen != placement->prev)
		ks_call(work, KS_WORK_MIGRATE, 1);
}

/* select_fallback_rq() has changed the CPUs that p may use. */
void ks_widened(const struct task_struct *p)
{
	int number = ks_task_number(p);

	if (number != KS_NONE)
		ks_call(widened, number);
}

/* select_fallback_rq() has chosen this CPU for p. */
void ks_fell_back(const struct task_struct *p, int cpu)
{
	if (p != unfit_task)
		return;
	unfit_task = NULL;
	unfit.chosen = cpu;
	report_placed(&unfit);
}

/* As is_cpu_allowed() for tasks of user space. */
static bool is_fit(const struct task_struct *p, int cpu)
{
	return p->flags & PF_KTHREAD || (cpumask_test_cpu(cpu, p->cpus_ptr) && cpu_active(cpu));
}

static int watch_select(struct task_struct *p, int prev, KS_SELECT_ARGUMENTS)
{
	struct ks_placement placement = {
		.task = ks_task_number(p),
		.prev = prev,
		.this_cpu = ks_cpu,
		.current = ks_task_number(current),
		.wake_flags = fg_wake_flags(KS_SELECT_PASS),
		.is_fair = p->sched_class == &fair_sched_class,
		.chosen = KS_NONE,
	};
	u32 look;

	placement.kind = placement.wake_flags & FG_WF_FORK ? KS_FORK : placement.wake_flags & FG_WF_EXEC ? KS_EXEC :
									    KS_WAKE;
	ks_show_if(placing, &placement);
	probes = 0;
	group_cpus = 0;
	look = ks_look_as(looks_of(placement.kind));
	is_wake = placement.kind == KS_WAKE;
	placement.chosen = tree_class(p)->select_task_rq(p, prev, KS_SELECT_PASS);
	is_wake = false;
	ks_look_as(look);
	placement.probes = probes;
	placement.group_cpus = group_cpus;
	/* An exec takes the class's choice as it is. */
	if (placement.kind != KS_EXEC && !is_fit(p, placement.chosen)) {
		unfit = placement;
		unfit_task = p;
	} else {
		report_placed(&placement);
	}
	return placement.chosen;
}

/* ---- queueing --------------------------------------------------------------------------------------------------- */

/* Bit 0: the current task is to be rescheduled, bit 1: lazily. */
static u32 needs_resched(const struct rq *rq)
{
	struct task_struct *curr = rcu_dereference_raw(rq->curr);
	u32 bits = test_tsk_need_resched(curr) != 0;

#ifdef TIF_NEED_RESCHED_LAZY
	if (test_tsk_thread_flag(curr, TIF_NEED_RESCHED_LAZY))
		bits |= 2;
#endif
	return bits;
}

static u32 is_grouped(const struct task_struct *p)
{
#ifdef CONFIG_FAIR_GROUP_SCHED
	return p->sched_task_group != &root_task_group;
#else
	return 0;
#endif
}

/* Steps of the fair class are reported. Returns whether this one is. */
static bool step_begins(struct ks_step *step, const struct rq *rq, struct task_struct *p, u32 kind, u32 flags)
{
	if (!ks_host->stepping || p->sched_class != watched[0].class)
		return false;
	*step = (struct ks_step){
		.cpu = cpu_of((struct rq *)rq),
		.task = ks_task_number(p),
		.kind = kind,
		.flags = flags,
		.resched = needs_resched(rq),
		.grouped = is_grouped(p),
	};
	ks_show(stepping, step);
	return true;
}

static void step_ends(struct ks_step *step, const struct rq *rq)
{
	step->resched = needs_resched(rq);
	ks_show_if(stepped, step);
}

static u32 fg_enqueue_flags(const struct task_struct *p, int flags)
{
	u32 to = 0;

	if (flags & ENQUEUE_WAKEUP)
		to |= FG_ENQUEUE_WAKEUP;
	if (flags & ENQUEUE_MIGRATED)
		to |= FG_ENQUEUE_MIGRATED;
#ifdef ENQUEUE_INITIAL
	if (flags & ENQUEUE_INITIAL)
		to |= FG_ENQUEUE_INITIAL;
#endif
	if ((flags & ENQUEUE_WAKEUP) && p->in_iowait)
		to |= FG_ENQUEUE_IOWAIT;
	return to;
}

static u32 enqueue_kind(int flags)
{
#ifdef ENQUEUE_DELAYED
	if (flags & ENQUEUE_DELAYED)
		return KS_STEP_REQUEUE;
#endif
	return KS_STEP_ENQUEUE;
}

static void watch_enqueue(struct rq *rq, struct task_struct *p, int flags)
{
	struct ks_step step;
	bool told;

	/* Counted first: enqueue_task() may request a reschedule, which must come after the cost. */
	ks_call(work, KS_WORK_ENQUEUE, 1);
	told = step_begins(&step, rq, p, enqueue_kind(flags), fg_enqueue_flags(p, flags));
	tree_class(p)->enqueue_task(rq, p, flags);
	if (told)
		step_ends(&step, rq);
	if (flags & ENQUEUE_WAKEUP)
		ks_tell_enqueued(p);
}

static u32 fg_dequeue_flags(const struct task_struct *p, int flags)
{
	u32 to = 0;

	if (flags & DEQUEUE_SLEEP)
		to |= FG_DEQUEUE_SLEEP;
	if (task_on_rq_migrating(p))
		to |= FG_DEQUEUE_MOVE;
	if ((flags & (DEQUEUE_SAVE | DEQUEUE_MOVE)) == DEQUEUE_SAVE)
		to |= FG_DEQUEUE_SAVE;
#ifdef DEQUEUE_DELAYED
	if (flags & DEQUEUE_DELAYED)
		to |= FG_DEQUEUE_DELAYED;
#endif
	return to;
}

#ifdef KS_HAS_DEQUEUE_BOOL
static bool watch_dequeue(struct rq *rq, struct task_struct *p, int flags)
{
	struct ks_step step;
	bool told, result;

	ks_call(work, KS_WORK_DEQUEUE, 1);
	told = step_begins(&step, rq, p, KS_STEP_DEQUEUE, fg_dequeue_flags(p, flags));
	result = tree_class(p)->dequeue_task(rq, p, flags);
	if (told)
		step_ends(&step, rq);
	return result;
}
#else
static void watch_dequeue(struct rq *rq, struct task_struct *p, int flags)
{
	struct ks_step step;
	bool told;

	ks_call(work, KS_WORK_DEQUEUE, 1);
	told = step_begins(&step, rq, p, KS_STEP_DEQUEUE, fg_dequeue_flags(p, flags));
	tree_class(p)->dequeue_task(rq, p, flags);
	if (told)
		step_ends(&step, rq);
}
#endif

/* ---- the current task ------------------------------------------------------------------------------------------- */

#ifndef KS_HAS_WAKEUP_PREEMPT
#define wakeup_preempt check_preempt_curr
#endif

static void watch_preempt(struct rq *rq, struct task_struct *p, int flags)
{
	struct ks_step step;
	bool told = step_begins(&step, rq, p, KS_STEP_WAKEUP, flags & WF_FORK ? FG_WF_FORK : 0);

	watched[0].tree.wakeup_preempt(rq, p, flags);
	if (told)
		step_ends(&step, rq);
}

static void watch_tick(struct rq *rq, struct task_struct *curr, int queued)
{
	struct ks_step step;
	bool told = step_begins(&step, rq, curr, KS_STEP_TICK, 0);

	watched[0].tree.task_tick(rq, curr, queued);
	if (told)
		step_ends(&step, rq);
}

static void watch_yield(struct rq *rq)
{
	struct ks_step step;
	bool told = step_begins(&step, rq, rcu_dereference_raw(rq->curr), KS_STEP_YIELD, 0);

	watched[0].tree.yield_task(rq);
	if (told)
		step_ends(&step, rq);
}

#ifdef KS_HAS_SE_H_LOAD
/* A flat queue: the task leaves the tree before set_next_entity() and is protected after it. */
static void watch_set_next(struct rq *rq, struct task_struct *p, bool first)
{
	struct ks_step step;
	bool told = step_begins(&step, rq, p, first ? KS_STEP_SET_NEXT : KS_STEP_SET_AGAIN, 0);

	watched[0].tree.set_next_task(rq, p, first);
	if (told)
		step_ends(&step, rq);
}
#endif

static struct sched_class tree_idle_class;

static void watch_idle(struct rq *rq, struct task_struct *next, bool first)
{
	struct ks_step step = { .cpu = cpu_of(rq), .task = KS_NONE, .kind = KS_STEP_IDLE };

	ks_show_if(stepping, &step);
	tree_idle_class.set_next_task(rq, next, first);
	ks_show_if(stepped, &step);
}

void ks_watch_classes(void)
{
	struct sched_class *idle_class = (struct sched_class *)&idle_sched_class;
	struct watched_class *w;

	/* The class is const: the compiler would copy it when its method is replaced already. */
	OPTIMIZER_HIDE_VAR(idle_class);
	for (w = watched; w < watched + ARRAY_SIZE(watched); w++) {
		w->tree = *w->class;
		w->class->select_task_rq = watch_select;
		w->class->enqueue_task = watch_enqueue;
		w->class->dequeue_task = watch_dequeue;
	}
	tree_idle_class = *idle_class;
	idle_class->set_next_task = watch_idle;
	watched[0].class->wakeup_preempt = watch_preempt;
	watched[0].class->task_tick = watch_tick;
	watched[0].class->yield_task = watch_yield;
#ifdef KS_HAS_SE_H_LOAD
	watched[0].class->set_next_task = watch_set_next;
#endif
}
