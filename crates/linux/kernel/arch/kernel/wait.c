// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls that wait for a stopper: an affinity change of a running task, an exec. Each runs on its own stack. When it has
 * to wait, it leaves that stack and the call of the host returns; after each stop work it resumes and checks again.
 *
 * DEVIATION: the calling task does not sleep while its call waits. It keeps running, and the rest of its call costs it
 * nothing.
 */
#include "sim.h"
#include "wait.h"

struct waiter {
	void *stack;		/* see host/stack.c */
	void (*fn)(void *arg);
	void *arg;
	struct list_head node;	/* in waiting, oldest first, or in idle */
};

void *ks_stack_new(void);
void ks_stack_run(void *stack, void (*fn)(void *arg), void *arg);
void ks_stack_leave(void *stack);
void ks_stack_resume(void *stack);

static struct waiter *running;
static LIST_HEAD(waiting);
/* Those whose call has returned. They are reused; there are as many as ever waited at once: a cpuset may change for one
 * running task of each CPU, and again before the stoppers have come.
 */
static LIST_HEAD(idle);

static void run_waiter(void *arg)
{
	struct waiter *w = arg;

	w->fn(w->arg);
	list_add(&w->node, &idle);
}

static struct waiter *take_waiter(void)
{
	struct waiter *w = list_first_entry_or_null(&idle, struct waiter, node);

	if (w) {
		list_del(&w->node);
		return w;
	}
	w = kzalloc(sizeof(*w), GFP_KERNEL);
	w->stack = ks_stack_new();
	return w;
}

void ks_may_wait(void (*fn)(void *arg), void *arg)
{
	struct waiter *w = take_waiter();

	w->fn = fn;
	w->arg = arg;
	running = w;
	ks_stack_run(w->stack, run_waiter, w);
	running = NULL;
}

void ks_wait(void)
{
	struct waiter *w = running;

	if (!w)
		ks_fault(KS_FAULT_HOST, "code that may not sleep waits");
	list_add_tail(&w->node, &waiting);
	ks_stack_leave(w->stack);
	running = w;
}

/* Resumes each waiter once. One that calls ks_wait() again is appended to waiting. */
void ks_resume_waiters(void)
{
	LIST_HEAD(turn);

	list_splice_init(&waiting, &turn);
	while (!list_empty(&turn)) {
		struct waiter *w = list_first_entry(&turn, struct waiter, node);

		list_del(&w->node);
		running = w;
		ks_stack_resume(w->stack);
		running = NULL;
	}
}

/* Replaces wait_for_completion() in the tree's core.c, see wait.h. */
void ks_wait_for_completion(struct completion *x)
{
	ks_may_sleep("wait_for_completion()");
	while (!x->done)
		ks_wait();
	if (x->done != UINT_MAX)
		x->done--;
}
