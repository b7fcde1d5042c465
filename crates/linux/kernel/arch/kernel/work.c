// SPDX-License-Identifier: GPL-2.0-only
/* Deferred work: of workqueues, and of tasks. Both run at the end of the host's call. */
#include "sim.h"
#include <linux/task_work.h>
#include <linux/workqueue.h>

/* ---- workqueues: their users need only that a work item runs without their locks --------------------------------- */

static LIST_HEAD(works);

bool queue_work_on(int cpu, struct workqueue_struct *wq, struct work_struct *work)
{
	if (!list_empty(&work->entry))
		return false;
	list_add_tail(&work->entry, &works);
	return true;
}

void ks_run_works(void)
{
	while (!list_empty(&works)) {
		struct work_struct *work = list_first_entry(&works, struct work_struct, entry);

		list_del_init(&work->entry);
		work->func(work);
	}
}

/* ---- task_work: throttling (v6.18) and cache-aware scheduling (v7.2) use it --------------------------------------- */

/* Trees differ in the type of the last argument. */
int ks_task_work_add(struct task_struct *p, struct callback_head *work, int notify) asm("task_work_add");
int ks_task_work_add(struct task_struct *p, struct callback_head *work, int notify)
{
	work->next = p->task_works;
	p->task_works = work;
	return 0;
}

/* task_cache_work() reads all CPUs. */
static void scan_caches(struct callback_head *work)
{
	u32 look = ks_look_as(KS_WORK_GROUP_CPU);

	ks_show_if(scanning, ks_task_number(current));
	work->func(work);
	ks_show_if(scanned, ks_task_number(current));
	ks_look_as(look);
}

/*
 * Runs the current task's works as at its return to user mode, which follows the host's call: not for a task that is
 * about to sleep or to be replaced. DEVIATION: a task that is in the middle of a system call "returns" too. Returns whether one has
 * asked for a reschedule: then the task does not return.
 */
bool ks_run_task_works(void)
{
	struct callback_head *work, *next;

	if (!current->task_works || current->flags & PF_KTHREAD || ks_must_reschedule())
		return false;
	if (READ_ONCE(current->ks_state) != TASK_RUNNING)
		return false;
	for (work = xchg(&current->task_works, NULL); work; work = next) {
		next = work->next;
		if (ks_is_cache_work(current, work))
			scan_caches(work);
		else
			work->func(work);
	}
	return ks_must_reschedule();
}
