/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the scheduler in the kernel and its loader share: the arena's layout. All of it lies in the arena, at the same
 * addresses for both, so pointers need no translation. The loader writes everything before the scheduler starts; then
 * the scheduler writes, and the loader reads, but for the features in sys->feat, a byte each.
 *
 * As policy/fg.h, this file keeps to a plain form: build.rs reads it.
 */
#ifndef LIVE_H
#define LIVE_H

#include "fg.h"

#define LIVE_RULES 256 /* room for enum fg_rule_id */
#define LIVE_PICK_RULES 64 /* room for enum fg_pick_rule_id */
#define LIVE_NAME 16 /* bytes of a task's name */

/* live_task.flags */
#define LIVE_FORKED 2 /* it was placed as a child */
#define LIVE_STOPPED 1 /* it left the CPU for good, and is still to be dequeued */

/* A task, as long as the kernel has it. */
struct live_task {
	struct fg_task fg; /* first, so that the policy's pointers are pointers to the whole */
	u32 flags; /* LIVE_* */
	s32 pid;
	u64 woken; /* ns: when it became runnable by a wakeup, 0: it has run since */
	struct live_task *next_free;
	u64 pad[5];
};

/* What a CPU alone writes. */
struct live_cpu {
	struct fg_wake wake; /* the arguments of the placement that it makes */
	struct fg_verdict verdict;
	struct fg_task *first; /* of its queue, for the pick that it makes */
	struct fg_task *second;
	struct fg_task *next; /* what that came out with */
	struct fg_balance balance; /* the attempt that it makes, */
	struct fg_balance_walk walk; /* the walk over domains that this is part of, */
	struct fg_balance_walk round; /* and the round over idle CPUs that the walk is part of */
	u32 rebalance; /* a domain is due: the next dispatch walks over them */
	u32 kicked; /* FG_NOHZ_*_KICK: the next dispatch makes a round */
	u32 incoming; /* tasks were moved into its queue: written by others, too */
	u32 pad;
	u64 placed[LIVE_RULES]; /* wakeups and forks by enum fg_rule_id */
	u64 picked[LIVE_PICK_RULES]; /* by enum fg_pick_rule_id */
	u64 migrations; /* wakeups and forks that chose another CPU than the previous one */
	u64 switches;
	u64 ticks;
	u64 unknown; /* calls for tasks that are not known here */
	u64 waited; /* ns, sum over wakeups until the task runs, */
	u64 waits; /* and how many */
	u64 longest_wait; /* ns */
	u64 longest_waiter; /* pid */
};

struct live_head {
	struct fg_sys *sys;
	struct live_cpu *cpus; /* sys->nr_cpus of them */
	struct live_task *tasks;
	struct live_task *free; /* the first that no task of the kernel has */
	u64 nr_tasks; /* free ones included */
	u64 refused; /* tasks for which there was none */
	u64 layout; /* of which build the loader is */
	u32 own_disable; /* how often a program's own prolog disables the migration of the current task: the least that was seen */
	u32 pad;
};

#endif
