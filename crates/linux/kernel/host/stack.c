// SPDX-License-Identifier: GPL-2.0-only
/* Stacks for calls that may have to wait, see arch/kernel/wait.c. */
#include <stdlib.h>
#include <ucontext.h>

#define STACK_SIZE (256 * 1024)

struct stack {
	ucontext_t inside, outside;
	void (*fn)(void *arg);
	void *arg;
	char *memory;
};

void *ks_stack_new(void);
void ks_stack_run(void *stack, void (*fn)(void *arg), void *arg);
void ks_stack_leave(void *stack);
void ks_stack_resume(void *stack);

/* makecontext() passes ints only. */
static struct stack *starting;

static void start(void)
{
	struct stack *s = starting;

	s->fn(s->arg);
}

void *ks_stack_new(void)
{
	struct stack *s = calloc(1, sizeof(*s));

	if (!s || !(s->memory = malloc(STACK_SIZE)))
		abort();
	return s;
}

void ks_stack_run(void *stack, void (*fn)(void *arg), void *arg)
{
	struct stack *s = stack;

	s->fn = fn;
	s->arg = arg;
	getcontext(&s->inside);
	s->inside.uc_stack.ss_sp = s->memory;
	s->inside.uc_stack.ss_size = STACK_SIZE;
	s->inside.uc_link = &s->outside;
	makecontext(&s->inside, start, 0);
	starting = s;
	swapcontext(&s->outside, &s->inside);
}

void ks_stack_leave(void *stack)
{
	struct stack *s = stack;

	swapcontext(&s->inside, &s->outside);
}

void ks_stack_resume(void *stack)
{
	struct stack *s = stack;

	swapcontext(&s->outside, &s->inside);
}
