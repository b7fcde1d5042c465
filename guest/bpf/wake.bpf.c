// SPDX-License-Identifier: GPL-2.0-only
/*
 * The policy's choice of a CPU as a program in the kernel, for 64 CPUs: policy.c as it is, its state in an arena that
 * user space sees at the same addresses. crates/live/bpf/arena.py says how the pointers are made to fit.
 */
#include "policy.c"

#include "wake.h"

#define SEC(name) __attribute__((section(name), used))
/* All else is hidden, so that the verifier follows calls to it instead of taking it for an interface. */
#define VISIBLE __attribute__((visibility("default")))

/* As libbpf reads maps: numbers are sizes of arrays. The loader sets the size and the address. */
struct {
	int (*type)[33]; /* BPF_MAP_TYPE_ARENA */
	int (*map_flags)[1 << 10]; /* BPF_F_MMAPABLE */
	int (*max_entries)[1];
} arena VISIBLE SEC(".maps");

char LICENSE[] VISIBLE SEC("license") = "GPL";

/* A number that user space takes for a pointer, as the pointer that it is here. */
#define STATE(number) ((void *)(void __attribute__((address_space(1))) *)(number))

VISIBLE SEC("syscall") int decide(struct wake_question *q)
{
	/* The program uses the arena, though it never names it. */
	__asm__ volatile("" : : "r"(&arena));
	fg_select_task_rq(STATE(q->sys), STATE(q->p), STATE(q->w), STATE(q->v));
	return 0;
}
