// SPDX-License-Identifier: GPL-2.0-only
/* Tasks: the host's numbers and the kernel's task_structs, attributes, fork, exec, wakeup, sleep and exit. */
#include "sim.h"

/* By the host's number; NULL: the task is dead. */
static struct task_struct **tasks;
static int nr_tasks;

struct task_struct *ks_task(int number)
{
	if (number < 0 || number >= nr_tasks || !tasks[number])
		ks_fault(KS_FAULT_HOST, "the host names a task that does not exist");
	return tasks[number];
}

unsigned int ks_nr_tasks(void)
{
	return nr_tasks;
}

struct task_struct *ks_task_if(int number)
{
	return tasks[number];
}

/* A task's pid is its number + 1; idle tasks have pid 0, stoppers negative ones. */
int ks_task_number(const struct task_struct *p)
{
	return p && p->pid > 0 ? p->pid - 1 : KS_NONE;
}

static void remember(int number, struct task_struct *p)
{
	if (number >= nr_tasks) {
		int nr = max(number + 1, nr_tasks * 2 + 64);
		struct task_struct **more = kcalloc(nr, sizeof(*more), GFP_KERNEL);

		if (nr_tasks)
			memcpy(more, tasks, nr_tasks * sizeof(*more));
		kfree(tasks);
		tasks = more;
		nr_tasks = nr;
	}
	tasks[number] = p;
}

/*
 * task_structs of dead tasks. They are reused but never freed: last_wakee of a waker can still point at one, as in the
 * kernel, and must stay readable. After reuse it points at an unrelated task.
 */
static LLIST_HEAD(dead);

static struct task_struct *take_struct(void)
{
	struct llist_node *node = llist_del_first(&dead);

	return node ? container_of(node, struct task_struct, wake_entry.llist) : kmalloc(sizeof(init_task), GFP_KERNEL);
}

/* A copy of init_task, which the tree's own initialisers fill. */
struct task_struct *ks_new_task(const char *comm, int pid)
{
	struct task_struct *p = take_struct();

	memcpy(p, &init_task, sizeof(*p));
	p->flags &= ~(PF_KTHREAD | PF_IDLE | PF_NO_SETAFFINITY);
	p->pid = pid;
	p->tgid = pid;
	p->last_wakee = NULL;
	p->wakee_flips = 0;
	p->cpus_ptr = &p->cpus_mask;
#ifdef KS_HAS_MIGRATION_PENDING
	p->migration_pending = NULL;
	p->migration_disabled = 0;
#endif
	raw_spin_lock_init(&p->pi_lock);
	spin_lock_init(&p->alloc_lock);
	refcount_set(&p->usage, 2);
	refcount_set(&p->rcu_users, 1);
	task_thread_info(p)->flags = 0;
	strscpy(p->comm, comm, sizeof(p->comm));
	return p;
}

void put_task_struct_rcu_user(struct task_struct *p)
{
	if (p->pid > 0)
		tasks[p->pid - 1] = NULL;
	ks_put_process(p);
	llist_add(&p->wake_entry.llist, &dead);
}

/* Does nothing: put_task_struct_rcu_user() takes a task_struct back after the last switch from the dead task. */
void __put_task_struct(struct task_struct *p)
{
}

/* The same as an RCU callback, in trees since v6.17. */
void __put_task_struct_rcu_cb(struct rcu_head *head)
{
}

bool kthread_is_per_cpu(struct task_struct *p)
{
	return (p->flags & (PF_KTHREAD | PF_NO_SETAFFINITY)) == (PF_KTHREAD | PF_NO_SETAFFINITY);
}

/* ---- attributes ------------------------------------------------------------------------------------------------- */

static int set_attr(struct task_struct *p, const struct ks_attr *attr)
{
	struct sched_attr to = {
		.size = sizeof(to),
		.sched_policy = attr->policy,
		.sched_nice = attr->nice,
		.sched_priority = attr->rt_prio,
		.sched_runtime = attr->slice,
	};

	if (attr->uclamp_set & 1) {
		to.sched_flags |= SCHED_FLAG_UTIL_CLAMP_MIN;
		to.sched_util_min = attr->uclamp_min;
	}
	if (attr->uclamp_set & 2) {
		to.sched_flags |= SCHED_FLAG_UTIL_CLAMP_MAX;
		to.sched_util_max = attr->uclamp_max;
	}
	return sched_setattr_nocheck(p, &to);
}

s32 ks_set_attr(s32 cpu, s32 number, const struct ks_attr *attr)
{
	int error;

	ks_enter(cpu);
	error = set_attr(ks_task(number), attr);
	ks_leave();
	return error;
}

struct new_affinity {
	struct task_struct *p;
	struct cpumask allowed;
	int error;
	bool done;
	bool left_alone;	/* the call of the host returned first, so change_affinity() frees this */
};

static void change_affinity(void *arg)
{
	struct new_affinity *new = arg;

	new->error = set_cpus_allowed_ptr(new->p, &new->allowed);
	new->done = true;
	if (new->left_alone)
		kfree(new);
}

/* Returns 0 for a change that waits for a stopper: set_cpus_allowed_ptr() finds its errors before. */
s32 ks_set_allowed(s32 cpu, s32 number, const u64 *allowed)
{
	struct new_affinity *new = kzalloc(sizeof(*new), GFP_KERNEL);
	int error = 0;

	ks_enter(cpu);
	new->p = ks_task(number);
	ks_set_mask(allowed, &new->allowed);
	ks_cause = KS_CAUSE_AFFINITY;
	ks_may_wait(change_affinity, new);
	ks_cause = KS_CAUSE_BALANCE;
	if (new->done) {
		error = new->error;
		kfree(new);
	} else {
		new->left_alone = true;
	}
	ks_leave();
	return error;
}

/* ---- fork and exec ---------------------------------------------------------------------------------------------- */

static struct task_struct *make_task(const struct ks_birth *birth)
{
	struct task_struct *p = ks_new_task(birth->comm, birth->task + 1);

	ks_set_mask(birth->allowed, &p->cpus_mask);
	if (birth->kthread_cpu != KS_NONE) {
		p->flags |= PF_KTHREAD | PF_NO_SETAFFINITY;
		cpumask_copy(&p->cpus_mask, cpumask_of(birth->kthread_cpu));
	}
	p->nr_cpus_allowed = cpumask_weight(&p->cpus_mask);
	RCU_INIT_POINTER(p->cgroups, ks_group_set(birth->group));
	return p;
}

/* The wakee statistics of wake_wide(), which a fork copies with the parent's task_struct. */
static void inherit_wakees(struct task_struct *p, const struct task_struct *parent)
{
	p->last_wakee = parent->last_wakee;
	p->wakee_flips = parent->wakee_flips;
	p->wakee_flip_decay_ts = parent->wakee_flip_decay_ts;
}

/*
 * sched_fork() copies attributes from current. ks_inherit() has set them in the child already, so current is the child
 * during sched_fork().
 */
static void fork_task(struct task_struct *p, const struct ks_birth *birth)
{
	struct kernel_clone_args args = { .cset = ks_group_set(birth->group) };
	struct task_struct *parent = current;

	if (birth->parent != KS_NONE)
		inherit_wakees(p, ks_task(birth->parent));
	ks_inherit(p, &birth->attr);
	ks_current = p;
	sched_fork(0, p);
	ks_current = parent;
#if defined(KS_HAS_CGROUP_FORK)
	sched_cgroup_fork(p, &args);
	sched_post_fork(p);
#else
#ifdef KS_HAS_POST_FORK_ARGS
	sched_post_fork(p, &args);
#else
	sched_post_fork(p);
#endif
	/* As cgroup_post_fork() does: the cpu controller moves the child into its group. */
	if (cpu_cgrp_subsys.fork)
		cpu_cgrp_subsys.fork(p);
#endif
	if (birth->attr.uclamp_set || birth->attr.slice)
		set_attr(p, &birth->attr);
}

void ks_fork(s32 cpu, const struct ks_birth *birth)
{
	struct task_struct *p;

	ks_enter(cpu);
	p = make_task(birth);
	fork_task(p, birth);
	ks_join_process(p, birth->process);
	remember(birth->task, p);
	ks_cause = KS_CAUSE_FORK;
	wake_up_new_task(p);
	if (task_cpu(p) != cpu)
		ks_call(migrated, birth->task, cpu, task_cpu(p), KS_CAUSE_FORK);
	ks_tell_enqueued(p);
	ks_cause = KS_CAUSE_BALANCE;
	ks_leave();
}

static void exec(void *arg)
{
	sched_exec();
}

void ks_exec(s32 cpu, s32 number)
{
	ks_enter(cpu);
	if (current != ks_task(number))
		ks_fault(KS_FAULT_HOST, "a task that is not current executes a program");
	ks_cause = KS_CAUSE_EXEC;
	ks_may_wait(exec, NULL);
	ks_cause = KS_CAUSE_BALANCE;
	ks_leave();
}

/* ---- wakeup, sleep, exit ---------------------------------------------------------------------------------------- */

void ks_wake(s32 cpu, s32 waker, s32 number, u32 sync)
{
	struct task_struct *p = ks_task(number);

	if (waker == KS_NONE)
		ks_enter_irq(cpu);
	else
		ks_enter(cpu);
	if (waker != KS_NONE && ks_task_number(current) != waker)
		ks_fault(KS_FAULT_HOST, "a task that is not current wakes another one");
	ks_call(work, KS_WORK_WAKEUP, 1);
	ks_cause = KS_CAUSE_WAKE;
	ks_told = NULL;
	default_wake_function(&(struct wait_queue_entry){ .private = p }, TASK_NORMAL, sync ? WF_SYNC : 0, NULL);
	/* If it is not on a run queue, it is in a remote CPU's wakeup list and an IPI is pending. */
	if (task_on_rq_queued(p) && ks_told != p)
		ks_tell_enqueued(p);
	ks_cause = KS_CAUSE_BALANCE;
	if (waker == KS_NONE)
		ks_leave_irq();
	else
		ks_leave();
}

void ks_block(s32 cpu)
{
	ks_enter(cpu);
	WRITE_ONCE(current->ks_state, TASK_INTERRUPTIBLE);
}

void ks_exit(s32 cpu)
{
	ks_enter(cpu);
	current->flags |= PF_EXITING;
	ks_run_task_works();
	ks_leave_process(current);
	WRITE_ONCE(current->ks_state, TASK_DEAD);
}
