/* SPDX-License-Identifier: GPL-2.0-only */
/* What bpf/watch.bpf.c tells init.c: one placement, and the scheduler's state right before it. */
#ifndef WATCH_H
#define WATCH_H

#define WATCH_CPUS 64

/* A run queue and its last-level cache; the kernel's own names and units. */
struct watch_cpu {
	unsigned int nr_running;
	unsigned long long load_avg;
	unsigned long long util_avg;
	unsigned long long avg_idle; /* ns */
	unsigned int capacity;
	int nr_idle_scan; /* of the LLC, as the next */
	int nr_busy_cpus;
};

struct watch {
	int victim; /* in: pid of the wakee, or of the parent of the child; 0: look at nothing */
	int done; /* the CPU is known */
	int cpu; /* out: where it was placed */
	int waker_cpu; /* out: where the decision was taken */
	int recent_used_cpu;
	unsigned int wakee_flips; /* of the wakee */
	unsigned int waker_flips;
	unsigned long long when; /* ns of the monotonic clock */
	unsigned long long task_load; /* of the wakee, as stored when it went to sleep */
	unsigned long long task_util;
	int child; /* pid of the child, while a fork is watched */
	struct watch_cpu cpus[WATCH_CPUS];
};

#endif
