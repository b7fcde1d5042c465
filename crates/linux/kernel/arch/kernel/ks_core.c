// SPDX-License-Identifier: GPL-2.0-only
/* The tree's core.c, unchanged, and code that needs its private functions. */
/* linux/sched.h then declares migrate_disable() and migrate_enable(), which core.c defines, instead of inlining them. */
#define INSTANTIATE_EXPORTED_MIGRATE_DISABLE
#include "looks.h"
#include "hooked.h"
#include "wait.h"

/* Every change of a task's CPU goes through set_task_cpu(), except a new task's first one; see hooked.h. */
static noinline void hook_set_task_cpu(const char *caller, struct task_struct *p, unsigned int cpu);
#define set_task_cpu(a, ...) KS_HOOKED(KS_TYPE_##a, set_task_cpu)(a, __VA_ARGS__)
void tree_set_task_cpu(struct task_struct *p, unsigned int cpu);

static noinline int hook_select_fallback_rq(const char *caller, int cpu, struct task_struct *p);
#define select_fallback_rq(a, ...) KS_HOOKED(KS_TYPE_##a, select_fallback_rq)(a, __VA_ARGS__)

/* schedule(void) is the definition, schedule() a call. */
#define schedule(a) KS_SCHEDULE_##a
#define KS_SCHEDULE_void tree_schedule(void)
#define KS_SCHEDULE_ ks_schedule_if_allowed()
asmlinkage void tree_schedule(void);
static void ks_schedule_if_allowed(void);

#include "../../../kernel/sched/core.c"

#undef set_task_cpu
#undef select_fallback_rq
#undef schedule

static void ks_schedule_if_allowed(void)
{
	ks_may_sleep("schedule()");
	tree_schedule();
}

void schedule(void)
{
	ks_schedule_if_allowed();
}

void set_task_cpu(struct task_struct *p, unsigned int cpu)
{
	ks_task_moves(p, cpu);
	tree_set_task_cpu(p, cpu);
}

static void hook_set_task_cpu(const char *caller, struct task_struct *p, unsigned int cpu)
{
	set_task_cpu(p, cpu);
}

static int hook_select_fallback_rq(const char *caller, int cpu, struct task_struct *p)
{
	struct cpumask before;
	int to;

	cpumask_copy(&before, p->cpus_ptr);
	to = tree_select_fallback_rq(cpu, p);
	if (!cpumask_equal(&before, p->cpus_ptr))
		ks_widened(p);
	ks_fell_back(p, to);
	return to;
}

/* As set_load_weight(), whose arguments differ between trees, does for a new task. */
static void set_weight(struct task_struct *p)
{
	bool idle = task_has_idle_policy(p);
	int row = p->static_prio - MAX_RT_PRIO;

	p->se.load.weight = scale_load(idle ? WEIGHT_IDLEPRIO : sched_prio_to_weight[row]);
	p->se.load.inv_weight = idle ? WMULT_IDLEPRIO : sched_prio_to_wmult[row];
}

/* Sets the members that fork() copies from the parent's task_struct: policy and priorities. */
void ks_inherit(struct task_struct *p, const struct ks_attr *attr)
{
	bool rt = attr->policy == SCHED_FIFO || attr->policy == SCHED_RR;

	p->policy = attr->policy;
	p->rt_priority = rt ? attr->rt_prio : 0;
	p->static_prio = NICE_TO_PRIO(attr->nice);
	p->normal_prio = rt ? MAX_RT_PRIO - 1 - attr->rt_prio : p->static_prio;
	p->prio = p->normal_prio;
	set_weight(p);
}
