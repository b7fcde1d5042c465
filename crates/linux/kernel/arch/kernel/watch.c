// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reports placements, enqueues and migrations to the host, and counts the work in between. watch_*() replace methods of
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
	ks_call_if(placing, &placement);
	probes = 0;
	group_cpus = 0;
	look = ks_look_as(looks_of(placement.kind));
	is_wake = placement.kind == KS_WAKE;
	placement.chosen = tree_class(p)->select_task_rq(p, prev, KS_SELECT_PASS);
	is_wake = false;
	ks_look_as(look);
	placement.probes = probes;
	placement.group_cpus = group_cpus;
	ks_call(placed, &placement);
	/* The tree sets a child's CPU without set_task_cpu(). */
	if (placement.kind == KS_FORK && placement.chosen != prev)
		ks_call(work, KS_WORK_MIGRATE, 1);
	return placement.chosen;
}

/* ---- queueing --------------------------------------------------------------------------------------------------- */

static void watch_enqueue(struct rq *rq, struct task_struct *p, int flags)
{
	/* Counted first: enqueue_task() may request a reschedule, which must come after the cost. */
	ks_call(work, KS_WORK_ENQUEUE, 1);
	tree_class(p)->enqueue_task(rq, p, flags);
	if (flags & ENQUEUE_WAKEUP)
		ks_tell_enqueued(p);
}

#ifdef KS_HAS_DEQUEUE_BOOL
static bool watch_dequeue(struct rq *rq, struct task_struct *p, int flags)
{
	ks_call(work, KS_WORK_DEQUEUE, 1);
	return tree_class(p)->dequeue_task(rq, p, flags);
}
#else
static void watch_dequeue(struct rq *rq, struct task_struct *p, int flags)
{
	ks_call(work, KS_WORK_DEQUEUE, 1);
	tree_class(p)->dequeue_task(rq, p, flags);
}
#endif

void ks_watch_classes(void)
{
	struct watched_class *w;

	for (w = watched; w < watched + ARRAY_SIZE(watched); w++) {
		w->tree = *w->class;
		w->class->select_task_rq = watch_select;
		w->class->enqueue_task = watch_enqueue;
		w->class->dequeue_task = watch_dequeue;
	}
}
