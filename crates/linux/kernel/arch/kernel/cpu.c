// SPDX-License-Identifier: GPL-2.0-only
/*
 * The CPU and the task that run. One thread runs all CPUs: ks_cpu is smp_processor_id(), and ks_current is current.
 * Each call of the host enters a CPU (ks_enter()), runs the kernel's code as its current task, and leaves it
 * (ks_leave()).
 */
#include "sim.h"

const struct ks_host *ks_host;
unsigned int ks_nr_cpus;

int ks_cpu;
struct task_struct *ks_current = &init_task;
unsigned long ks_irqs_off;

u64 jiffies_64 __cacheline_aligned_in_smp = INITIAL_JIFFIES;
asm(".globl jiffies\n.set jiffies, jiffies_64");

#if __has_include(<linux/interrupt_rc.h>)
#include <linux/interrupt_rc.h>
DEFINE_PER_CPU(unsigned long, local_interrupt_disable_state);
#endif

u64 ks_clock(void)
{
	return ks_call(clock, ks_cpu);
}

unsigned long long sched_clock(void)
{
	return ks_clock();
}

/* Advances jiffies to the CPU's clock. CPUs' clocks differ by the cost of a call; jiffies never go back. */
static void follow_clock(void)
{
	u64 now = INITIAL_JIFFIES + div_u64(ks_clock(), TICK_NSEC);

	if ((s64)(now - jiffies_64) > 0)
		jiffies_64 = now;
}

void ks_enter(int cpu)
{
	if (unlikely(ks_locks_held))
		ks_lock_fault("a spinlock was left held by the call before");
	ks_cpu = cpu;
	ks_current = cpu_rq(cpu)->curr;
	ks_irqs_off = 0;
	follow_clock();
}

void ks_enter_irq(int cpu)
{
	ks_enter(cpu);
	ks_irqs_off = 1;
	preempt_count_add(HARDIRQ_OFFSET);
}

/*
 * Whether the current task is replaced before it returns to user mode. A lazy request of another CPU sends no interrupt:
 * it is found here, at the end of this CPU's next interrupt or system call.
 */
bool ks_must_reschedule(void)
{
#ifdef TIF_NEED_RESCHED_LAZY
	if (test_tsk_thread_flag(current, TIF_NEED_RESCHED_LAZY))
		return true;
#endif
	return test_tsk_need_resched(current);
}

/* A CPU that must reschedule itself does not need an interrupt; it is reported to the host as one all the same. */
void ks_leave(void)
{
	ks_run_own_irq_works();
	ks_run_works();
	ks_run_rcu();
	ks_run_task_works();
	if (ks_must_reschedule())
		ks_call(ipi, ks_cpu, KS_IPI_RESCHED);
}

void ks_leave_irq(void)
{
	preempt_count_sub(HARDIRQ_OFFSET);
	ks_irqs_off = 0;
	ks_leave();
}

/*
 * Calls schedule() as the current task. It returns here as the next task, which may have left by the other of the two
 * functions: schedule() and schedule_idle() return with different preemption counts, so the next task's is set.
 */
void ks_switch(void)
{
	if (is_idle_task(current))
		schedule_idle();
	else
		schedule();
	preempt_count_set(is_idle_task(current) ? PREEMPT_DISABLED : PREEMPT_ENABLED);
}

/* ---- RCU: a reader ends before the call of the host that it began in, so a grace period ends with the call ------- */

static struct rcu_head *rcu_first, **rcu_last = &rcu_first;

void call_rcu(struct rcu_head *head, rcu_callback_t func)
{
	head->func = func;
	head->next = NULL;
	*rcu_last = head;
	rcu_last = (struct rcu_head **)&head->next;
}

void ks_run_rcu(void)
{
	while (rcu_first) {
		struct rcu_head *head = rcu_first;

		rcu_first = (struct rcu_head *)head->next;
		if (!rcu_first)
			rcu_last = &rcu_first;
		/* kfree_rcu(): func is not a function but the offset of the rcu_head in the object to free. */
		if ((unsigned long)head->func < 4096)
			kfree((void *)head - (unsigned long)head->func);
		else
			head->func(head);
	}
}

/*
 * what is the offset of the rcu_head in the object to free, or the object's address, depending on the tree. Both become
 * the offset. A caller without a head may sleep, so there is no reader: the object is freed at once.
 */
void ks_kvfree_call_rcu(struct rcu_head *head, void *what) asm("kvfree_call_rcu");
void ks_kvfree_call_rcu(struct rcu_head *head, void *what)
{
	if (!head)
		kvfree(what);
	else if ((unsigned long)what < 4096)
		call_rcu(head, (rcu_callback_t)what);
	else
		call_rcu(head, (rcu_callback_t)((void *)head - what));
}
