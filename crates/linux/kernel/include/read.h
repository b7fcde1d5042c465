/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading the kernel's state out into the structs of policy/fg.h, and what is shown of a PELT update.
 *
 * Reading has no side effect. Pointers in the structs are left alone, and so is what never changes after boot and is
 * known from the machine: ids, performance domains, topology, the mask of the core. What a tree does not keep reads 0
 * and is named by unobserved(). Jiffies count from 0 at boot. A root run queue is shown without its task groups.
 */
#ifndef KS_READ_H
#define KS_READ_H

#include "fg.h"

/* clang-format off */

/* What the pointers of fg_cpu point at: task numbers, KS_NONE for none and for the kernel's own tasks. */
struct ks_cpu_refs {
	s32 curr;
	s32 next;
	s32 last;
	s32 skip;
	u32 curr_is_own;	/* a task of the kernel's own is current, e.g. the stopper; not the idle task */
	u32 pad;
};

/* What belongs to no CPU. */
struct ks_sys {
	u64 jiffies;
	u32 asym_key;
	u32 smt_key;
	u32 cluster_key;
	u32 uclamp_used;
	u32 eas;		/* wakeups may be energy-aware: the key is on */
	u32 nohz_nr_cpus;
	u32 nohz_has_blocked;
	u32 pad;
	u64 nohz_next_balance;	/* jiffies */
	u64 nohz_next_blocked;	/* jiffies */
	struct fg_mask nohz_idle;
	struct fg_mask active;
};

/* Of a CPU's place in the topology. */
struct ks_place {
	s32 sd_llc_id;
	u32 sd_llc_size;
	s32 sd_share_id;
	s32 sd_llc;		/* which of its domains, counted from the lowest; KS_NONE: none of them */
	s32 sd_asym_cpucapacity;
	s32 sd_numa;
	struct fg_mask core;
};

#define KS_PELT_SUM 0		/* time passes: the sums */
#define KS_PELT_AVERAGES 1	/* the averages are made anew from them */

/* A step of a PELT update: what goes in, what was there, what is there afterwards. */
struct ks_pelt {
	const char *where;	/* the kernel's function that updates its signal */
	u32 step;		/* KS_PELT_* */
	u32 running;
	u64 now;		/* ns of the signal's clock */
	u64 load;		/* of averages: the weight */
	u64 runnable;
	u32 renewed;		/* of sums: the averages are to follow */
	u32 pad;
	struct fg_avg before;
	struct fg_avg after;
};

struct ks_read {
	u64 size;
	void (*refs)(s32 cpu, struct ks_cpu_refs *to);
	void (*sys)(struct ks_sys *to);
	void (*place)(s32 cpu, struct ks_place *to);
	void (*root)(s32 cpu, struct fg_root *to);
	/* What the CPUs behind cpu's last-level cache share. 0, or KS_NONE if it has no such domain. */
	s32 (*llc)(s32 cpu, struct fg_llc *to);
	/* The n-th domain of cpu from below, or its g-th group from the local one. 0, or KS_NONE if there is none. */
	s32 (*domain)(s32 cpu, u32 n, struct fg_domain *to);
	s32 (*group)(s32 cpu, u32 n, u32 g, struct fg_group *to);
	/*
	 * Numbers of the fair tasks in the tree of the root run queue, in its order, the current one not among them;
	 * KS_NONE stands for a task group. Returns how many there are, and writes max at most.
	 */
	u32 (*queue)(s32 cpu, s32 *to, u32 max);
	/* Members that this tree does not keep, e.g. "fg_cpu.wake_avg_idle", separated by spaces. */
	const char *(*unobserved)(void);
};

/* clang-format on */

#endif
