// SPDX-License-Identifier: GPL-2.0-only
/* Stacks for calls that may have to wait, see arch/kernel/wait.c. */
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#define STACK_SIZE (256 * 1024)
/* An inaccessible area below the stack, so that an overflow faults. A multiple of any page size. */
#define GUARD_SIZE (64 * 1024)

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

/* Argument of start(): makecontext() can pass only ints. */
static struct stack *starting;

static void start(void)
{
	struct stack *s = starting;

	s->fn(s->arg);
}

void *ks_stack_new(void)
{
	struct stack *s = calloc(1, sizeof(*s));
	char *area = mmap(NULL, GUARD_SIZE + STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!s || area == MAP_FAILED || mprotect(area, GUARD_SIZE, PROT_NONE))
		abort();
	s->memory = area + GUARD_SIZE;
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
