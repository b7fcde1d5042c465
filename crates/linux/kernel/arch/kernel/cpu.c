// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whose code runs. All CPUs share one thread: to be on a CPU is to have these globals say so. Calls of the host enter a
 * CPU, run the kernel's code in the name of its current task, and leave it.
 */
#include "sim.h"

const struct ks_host *ks_host;
unsigned int ks_nr_cpus;

int ks_cpu;
struct task_struct *ks_current = &init_task;
unsigned long ks_irqs_off;

u64 jiffies_64 __cacheline_aligned_in_smp = INITIAL_JIFFIES;
asm(".globl jiffies\n.set jiffies, jiffies_64");

u64 ks_clock(void)
{
	return ks_call(clock, ks_cpu);
}

unsigned long long sched_clock(void)
{
	return ks_clock();
}

/* Jiffies never go back, though a CPU's clock may be ahead of the others' by what its call has cost. */
static void follow_clock(void)
{
	u64 now = INITIAL_JIFFIES + div_u64(ks_clock(), TICK_NSEC);

	if ((s64)(now - jiffies_64) > 0)
		jiffies_64 = now;
}

void ks_enter(int cpu)
{
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

/* A reschedule of the CPU itself takes no interrupt; its host is told in the same way. */
void ks_leave(void)
{
	ks_run_own_irq_works();
	ks_run_works();
	ks_run_rcu();
	if (test_tsk_need_resched(current))
		ks_call(ipi, ks_cpu, KS_IPI_RESCHED);
}

void ks_leave_irq(void)
{
	preempt_count_sub(HARDIRQ_OFFSET);
	ks_irqs_off = 0;
	ks_leave();
}

/*
 * The current task schedules. A task comes back from its own schedule(), which is not always the same function as the
 * one that left: what they do differently is the preemption count.
 */
void ks_switch(void)
{
	if (is_idle_task(current))
		schedule_idle();
	else
		schedule();
	preempt_count_set(is_idle_task(current) ? PREEMPT_DISABLED : PREEMPT_ENABLED);
}

/* ---- RCU: no reader outlives a call of the host, so a grace period is over when the call is ---------------------- */

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
		/* An offset in place of a function: that of the head in what is to be freed. */
		if ((unsigned long)head->func < 4096)
			kfree((void *)head - (unsigned long)head->func);
		else
			head->func(head);
	}
}

/*
 * What is to be freed is given as the offset of its head in it, or by its address; nobody looks at either after this
 * call of the host. Without a head the caller may sleep, so nobody reads any more.
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

void synchronize_rcu(void)
{
}
