// SPDX-License-Identifier: GPL-2.0-only
/*
 * Inter-processor interrupts and softirqs. Sending an IPI is reported to the host; its queue entries stay here until
 * the host calls ks_ipi() when it arrives.
 */
#include "sim.h"
#include "../../../kernel/sched/smp.h"

/* A tree calls one of the two names, see asm/smp.h. */
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
	/* Only the first entry sends an interrupt, which handles all entries. */
	if (llist_add(node, per_cpu_ptr(&call_queue, cpu)))
		ks_call(ipi, cpu, kind);
}

/* The scheduler calls this for remote wakeups only. */
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

/* irq_works of a CPU for itself. They run in ks_leave(), at the end of the host's call. */
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
		ks_fault(KS_FAULT_HOST, "a call-function entry of a kind that this host never queues");
	}
}

/* Same order as __flush_smp_call_function_queue(): first the calls in theirs, then all wakeups at once. */
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

/* migration_cpu_stop() calls this first, to finish a remote wakeup of the task that it migrates. */
void flush_smp_call_function_queue(void)
{
	flush_calls();
}

/* Its name up to v5.18. */
void ks_flush_from_idle(void) asm("flush_smp_call_function_from_idle") __alias(flush_smp_call_function_queue);

/* ---- softirqs: the scheduler has one --------------------------------------------------------------------------- */

static void (*sched_action)(void *);
static DEFINE_PER_CPU(bool, softirq_pending);

/* A handler's argument is its softirq_action or, in other trees, nothing; the scheduler's handler ignores it. */
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
		ks_fault(KS_FAULT_HOST, "a softirq that is not the scheduler's is raised");
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
