// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupts between CPUs and softirqs. Sending one tells the host; what it carries waits here until the host says that
 * it has arrived.
 */
#include "sim.h"
#include "../../../kernel/sched/smp.h"

/* Both spellings are global; a tree uses one. */
#undef smp_send_reschedule
void smp_send_reschedule(int cpu)
{
	ks_call(ipi, cpu, KS_IPI_RESCHED);
}

void arch_smp_send_reschedule(int cpu)
{
	ks_call(ipi, cpu, KS_IPI_RESCHED);
}

/* ---- call-function queues -------------------------------------------------------------------------------------- */

static DEFINE_PER_CPU(struct llist_head, call_queue);

static void send_call(int cpu, struct llist_node *node, u32 kind)
{
	/* Only the first entry interrupts: the others are found by the same one. */
	if (llist_add(node, per_cpu_ptr(&call_queue, cpu)))
		ks_call(ipi, cpu, kind);
}

/* The scheduler queues wakeups in this way, and sends no other kind. */
void __smp_call_single_queue(int cpu, struct llist_node *node)
{
	send_call(cpu, node, KS_IPI_WAKE);
}

int smp_call_function_single_async(int cpu, call_single_data_t *csd)
{
	if (csd->node.u_flags & CSD_FLAG_LOCK)
		return -EBUSY;
	csd->node.u_flags = CSD_FLAG_LOCK | CSD_TYPE_ASYNC;
	send_call(cpu, &csd->node.llist, KS_IPI_CALL);
	return 0;
}

/* Of a CPU for itself: its interrupt comes as soon as the call of the host has interrupts on again. */
static LLIST_HEAD(own_irq_works);

bool irq_work_queue_on(struct irq_work *work, int cpu)
{
	int flags = atomic_read(&work->node.a_flags);

	if (flags & IRQ_WORK_PENDING)
		return false;
	atomic_set(&work->node.a_flags, flags | IRQ_WORK_CLAIMED | CSD_TYPE_IRQ_WORK);
	if (cpu == ks_cpu)
		llist_add(&work->node.llist, &own_irq_works);
	else
		send_call(cpu, &work->node.llist, KS_IPI_CALL);
	return true;
}

bool irq_work_queue(struct irq_work *work)
{
	return irq_work_queue_on(work, ks_cpu);
}

void irq_work_sync(struct irq_work *work)
{
}

static void run_irq_work(struct irq_work *work)
{
	int flags = atomic_read(&work->node.a_flags) & ~IRQ_WORK_PENDING;

	atomic_set(&work->node.a_flags, flags);
	work->func(work);
	flags = atomic_read(&work->node.a_flags);
	if (!(flags & IRQ_WORK_PENDING))
		atomic_set(&work->node.a_flags, flags & ~IRQ_WORK_BUSY);
}

void ks_run_own_irq_works(void)
{
	struct llist_node *node;

	while ((node = llist_reverse_order(llist_del_all(&own_irq_works)))) {
		ks_irqs_off = 1;
		preempt_count_add(HARDIRQ_OFFSET);
		while (node) {
			struct irq_work *work = container_of(node, struct irq_work, node.llist);

			node = node->next;
			run_irq_work(work);
		}
		preempt_count_sub(HARDIRQ_OFFSET);
		ks_irqs_off = 0;
	}
}

static void run_call(struct __call_single_node *node)
{
	call_single_data_t *csd = container_of(node, call_single_data_t, node);

	switch (node->u_flags & CSD_FLAG_TYPE_MASK) {
	case CSD_TYPE_ASYNC:
		node->u_flags &= ~CSD_FLAG_LOCK;
		csd->func(csd->info);
		break;
	case CSD_TYPE_IRQ_WORK:
		run_irq_work(container_of(node, struct irq_work, node));
		break;
	default:
		ks_call(fault, KS_FAULT_HOST, "a call-function entry of a kind that nobody here queues");
	}
}

/* As the kernel's own queue: calls first in their order, then all wakeups in one go. */
static void flush_calls(void)
{
	struct llist_node *node = llist_reverse_order(llist_del_all(this_cpu_ptr(&call_queue)));
	struct llist_node *wakes = NULL, **last = &wakes;

	while (node) {
		struct __call_single_node *call = container_of(node, struct __call_single_node, llist);

		node = node->next;
		if ((call->u_flags & CSD_FLAG_TYPE_MASK) == CSD_TYPE_TTWU) {
			*last = &call->llist;
			last = &call->llist.next;
		} else {
			run_call(call);
		}
	}
	*last = NULL;
	if (wakes)
		sched_ttwu_pending(wakes);
}

/* A stopper that moves a task looks first whether a wakeup of it is on its way. */
void flush_smp_call_function_queue(void)
{
	flush_calls();
}

/* ---- softirqs: the scheduler has one --------------------------------------------------------------------------- */

static void (*sched_action)(void *);
static DEFINE_PER_CPU(bool, softirq_pending);

/* Handlers take their entry of the table, or nothing, as the tree is; none of the scheduler's looks at it. */
#undef open_softirq
void ks_open_softirq(int nr, void *action) asm("open_softirq");
void ks_open_softirq(int nr, void *action)
{
	if (nr == SCHED_SOFTIRQ)
		sched_action = action;
}

static void raise(unsigned int nr)
{
	if (nr != SCHED_SOFTIRQ)
		ks_call(fault, KS_FAULT_HOST, "a softirq that is not the scheduler's is raised");
	if (__this_cpu_read(softirq_pending))
		return;
	__this_cpu_write(softirq_pending, true);
	ks_call(softirq, ks_cpu);
}

void raise_softirq(unsigned int nr)
{
	raise(nr);
}

void raise_softirq_irqoff(unsigned int nr)
{
	raise(nr);
}

void __raise_softirq_irqoff(unsigned int nr)
{
	raise(nr);
}

void ks_softirq(int cpu)
{
	u32 look;

	ks_enter(cpu);
	preempt_count_add(SOFTIRQ_OFFSET);
	__this_cpu_write(softirq_pending, false);
	look = ks_look_as(KS_WORK_GROUP_CPU);
	ks_cause = KS_CAUSE_BALANCE;
	sched_action(NULL);
	ks_look_as(look);
	preempt_count_sub(SOFTIRQ_OFFSET);
	ks_leave();
}

/* ---- arrival --------------------------------------------------------------------------------------------------- */

void ks_ipi(int cpu, u32 kind)
{
	ks_enter_irq(cpu);
	if (kind == KS_IPI_RESCHED)
		scheduler_ipi();
	else
		flush_calls();
	ks_leave_irq();
}
