// SPDX-License-Identifier: GPL-2.0-only
/*
 * Processes, as far as cache-aware scheduling (v7.2) looks at them: how many threads they have, and what it keeps of
 * them. Tasks have no address space; a process has an mm_struct only for the pointer to that.
 */
#include "sim.h"

#ifdef KS_HAS_SCHED_CACHE_GROUP
#include <linux/mm_types.h>
#include <linux/sched/signal.h>

struct process {
	struct signal_struct signal;
	struct mm_struct *mm;
	int number;
	unsigned int members;	/* task_structs */
};

/* By the host's number; NULL: it has ended. */
static struct process **processes;
static int nr_slots;

static void remember(int number, struct process *process)
{
	if (number >= nr_slots) {
		int nr = max(number + 1, nr_slots * 2 + 64);
		struct process **more = kcalloc(nr, sizeof(*more), GFP_KERNEL);

		if (nr_slots)
			memcpy(more, processes, nr_slots * sizeof(*more));
		kfree(processes);
		processes = more;
		nr_slots = nr;
	}
	processes[number] = process;
}

/* The process of this number. A new one has p as its leader, by whom it counts one thread. */
static struct process *process_of(int number, struct task_struct *p)
{
	struct process *process = number < nr_slots ? processes[number] : NULL;

	if (process)
		return process;
	process = kzalloc(sizeof(*process), GFP_KERNEL);
	memcpy(&process->signal, init_task.signal, sizeof(process->signal));
	process->signal.nr_threads = 0;
	process->number = number;
	process->mm = kzalloc(sizeof(*process->mm), GFP_KERNEL);
	if (mm_alloc_sched(process->mm))
		ks_fault(KS_FAULT_HOST, "no memory for a process");
	p->group_leader = p;
	remember(number, process);
	return process;
}

static struct process *own_process(const struct task_struct *p)
{
	return p->signal == init_task.signal ? NULL : container_of(p->signal, struct process, signal);
}

static void join(struct task_struct *p, struct process *process)
{
	p->signal = &process->signal;
	p->signal->nr_threads++;
	process->members++;
}

/* p's last switch is over. */
static void put(struct process *process)
{
	if (--process->members)
		return;
	processes[process->number] = NULL;
	mm_destroy_sched(process->mm);
	kfree(process->mm);
	kfree(process);
}

void ks_join_process(struct task_struct *p, int number)
{
	struct process *process;

	if (number == KS_NONE)
		return;
	process = process_of(number, p);
	join(p, process);
	p->mm = process->mm;
	sched_cache_fork(p);
	p->mm = NULL;
}

/* exit_mm(), and release_task(): a leader counts as a thread until all others have gone. */
void ks_leave_process(struct task_struct *p)
{
	if (!own_process(p))
		return;
	sched_cache_exit_mm(p);
	if (p->group_leader != p)
		p->signal->nr_threads--;
}

void ks_put_process(struct task_struct *p)
{
	struct process *process = own_process(p);

	p->signal = init_task.signal;
	if (process)
		put(process);
}

/* exec_mmap() */
void ks_new_process(s32 cpu, s32 number, s32 of)
{
	struct task_struct *p = ks_task(number);
	struct process *before = own_process(p), *process;

	ks_enter(cpu);
	if (current != p)
		ks_fault(KS_FAULT_HOST, "a task that is not current executes a program");
	if (before && p->group_leader != p)
		before->signal.nr_threads--;
	process = process_of(of, p);
	join(p, process);
	sched_cache_exec_mmap(p, process->mm);
	if (before)
		put(before);
	ks_leave();
}

s32 ks_process_number(const struct task_struct *p)
{
	const struct process *process = own_process(p);

	return process && rcu_access_pointer(p->sched_cache_grp) ? process->number : KS_NONE;
}

static const struct process *process_by(s32 number)
{
	if (number < 0 || number >= nr_slots || !processes[number])
		ks_fault(KS_FAULT_HOST, "the host names a process that does not exist");
	return processes[number];
}

void ks_read_process(s32 number, struct fg_process *to)
{
	const struct process *process = process_by(number);
	const struct sched_cache_group *group = process->mm->sched_cache_grp;

	to->epoch = group->epoch;
	to->next_scan = group->next_scan - (unsigned long)INITIAL_JIFFIES;
	to->nr_running_avg = group->nr_running_avg;
	to->cpu = group->cpu;
	to->nr_threads = process->signal.nr_threads;
}

void ks_read_cache_time(s32 number, s32 cpu, struct fg_cache_time *to)
{
	const struct sched_cache_time *from = per_cpu_ptr(process_by(number)->mm->sched_cache_grp->pcpu_sched, cpu);

	to->runtime = from->runtime;
	to->epoch = from->epoch;
}

bool ks_is_cache_work(const struct task_struct *p, const struct callback_head *work)
{
	return work == &p->cache_work;
}
#else
void ks_join_process(struct task_struct *p, int number)
{
}

void ks_leave_process(struct task_struct *p)
{
}

void ks_put_process(struct task_struct *p)
{
}

void ks_new_process(s32 cpu, s32 number, s32 of)
{
}

s32 ks_process_number(const struct task_struct *p)
{
	return KS_NONE;
}

void ks_read_process(s32 number, struct fg_process *to)
{
}

void ks_read_cache_time(s32 number, s32 cpu, struct fg_cache_time *to)
{
}

bool ks_is_cache_work(const struct task_struct *p, const struct callback_head *work)
{
	return false;
}
#endif
