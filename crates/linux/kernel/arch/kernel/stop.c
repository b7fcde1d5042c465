// SPDX-License-Identifier: GPL-2.0-only
/*
 * The stopper of each CPU, a task of the stop class. Stop works are queued here; the tree's code wakes and picks the
 * stopper; the host then calls ks_stopper(), which runs the works.
 */
#include "sim.h"

/* Before v5.11 no header declares it. */
void sched_set_stop_task(int cpu, struct task_struct *stop);

struct stopper {
	struct task_struct *task;
	struct list_head works;
};

static DEFINE_PER_CPU(struct stopper, stoppers);

struct task_struct *ks_stopper_task(int cpu)
{
	return per_cpu(stoppers, cpu).task;
}

void ks_new_stopper(int cpu)
{
	struct stopper *stopper = per_cpu_ptr(&stoppers, cpu);
	struct task_struct *p = ks_new_task("migration", -1 - cpu);

	INIT_LIST_HEAD(&stopper->works);
	p->flags |= PF_KTHREAD | PF_NO_SETAFFINITY;
	cpumask_copy(&p->cpus_mask, cpumask_of(cpu));
	p->nr_cpus_allowed = 1;
	sched_fork(0, p);
	__set_task_cpu(p, cpu);
	WRITE_ONCE(p->ks_state, TASK_INTERRUPTIBLE);
	sched_set_stop_task(cpu, p);
	stopper->task = p;
}

/*
 * A work stores ks_cause, which ks_stopper() restores for the migrations that the work makes; works of load balancing
 * get KS_CAUSE_ACTIVE, and those of balance_push() on a CPU that goes offline KS_CAUSE_AFFINITY. It is stored in cpu_stop_work.done, which is unused here: waiters do not need a completion
 * (wait.c).
 */
static void queue_stop(int cpu, struct cpu_stop_work *work, cpu_stop_fn_t fn, void *arg)
{
	struct stopper *stopper = per_cpu_ptr(&stoppers, cpu);
	bool balancing = ks_cause == KS_CAUSE_BALANCE || ks_cause == KS_CAUSE_NEWIDLE;
	u32 cause = !balancing ? ks_cause : cpu_active(cpu) ? KS_CAUSE_ACTIVE : KS_CAUSE_AFFINITY;

	work->fn = fn;
	work->arg = arg;
	work->done = (void *)(unsigned long)cause;
	list_add_tail(&work->list, &stopper->works);
	wake_up_process(stopper->task);
}

/* The result is for trees before v7.3; later ones declare none. */
bool ks_stop_nowait(unsigned int cpu, cpu_stop_fn_t fn, void *arg, struct cpu_stop_work *work) asm("stop_one_cpu_nowait");
bool ks_stop_nowait(unsigned int cpu, cpu_stop_fn_t fn, void *arg, struct cpu_stop_work *work)
{
	queue_stop(cpu, work, fn, arg);
	return true;
}

/* A work that stop_one_cpu() waits for. */
struct waited_work {
	struct cpu_stop_work work;
	cpu_stop_fn_t fn;
	void *arg;
	int result;
	bool done;
};

static int run_waited(void *arg)
{
	struct waited_work *waited = arg;

	waited->result = waited->fn(waited->arg);
	waited->done = true;
	return 0;
}

int stop_one_cpu(unsigned int cpu, cpu_stop_fn_t fn, void *arg)
{
	struct waited_work waited = { .fn = fn, .arg = arg };

	queue_stop(cpu, &waited.work, run_waited, &waited);
	while (!waited.done)
		ks_wait();
	return waited.result;
}

void ks_stopper(int cpu)
{
	struct stopper *stopper = per_cpu_ptr(&stoppers, cpu);

	ks_enter(cpu);
	if (current != stopper->task)
		ks_fault(KS_FAULT_HOST, "the host runs the stopper of a CPU where it is not current");
	while (!list_empty(&stopper->works)) {
		struct cpu_stop_work *work = list_first_entry(&stopper->works, struct cpu_stop_work, list);

		list_del_init(&work->list);
		ks_cause = (unsigned long)work->done;
		work->fn(work->arg);
		ks_cause = KS_CAUSE_BALANCE;
		ks_resume_waiters();
	}
	WRITE_ONCE(current->ks_state, TASK_INTERRUPTIBLE);
	ks_leave();
}
