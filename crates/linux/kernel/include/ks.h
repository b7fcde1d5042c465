/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The border between a built kernel scheduler (libksched.so) and the host that drives it in virtual time.
 *
 * Both sides include this file, and nothing of the other side crosses it: numbers, strings, and the fg_* structs of
 * policy/fg.h, which are what the kernel's state is read out into. One instance a process: the kernel's state is
 * global. Calls come from one thread and never nest, but a call may call the host back.
 *
 * Times are ns of virtual time. CPUs and tasks are dense numbers from 0; task numbers are the host's, never reused.
 */
#ifndef KS_H
#define KS_H

#include "fg.h"

#define KS_ABI 4
#define KS_NONE (-1)

/* A mask of CPUs. */
#define KS_MASK_WORDS FG_MASK_WORDS

/* clang-format off */

/* ---- what the kernel asks of its host -------------------------------------------------------------------------- */

/* Interrupts between CPUs. */
#define KS_IPI_RESCHED 0	/* reschedule; also for the CPU of the call itself: it wants schedule() */
#define KS_IPI_WAKE 1		/* call-function queue: remote wakeups */
#define KS_IPI_CALL 2		/* call-function queue: anything else, e.g. a nohz balance kick */

/* Work that takes time, counted where it happens and priced by the host. Kinds as SoftCost of crates/machine. */
#define KS_WORK_WAKEUP 0
#define KS_WORK_PROBE 1		/* a placement of a wakeup looks whether a CPU is free */
#define KS_WORK_GROUP_CPU 2	/* fork, exec or balancing look at a CPU's load */
#define KS_WORK_ENQUEUE 3
#define KS_WORK_DEQUEUE 4
#define KS_WORK_PICK 5
#define KS_WORK_TICK 6
#define KS_WORK_MIGRATE 7	/* a task's CPU changes */
#define KS_NR_WORKS 8

#define KS_WAKE 0
#define KS_FORK 1
#define KS_EXEC 2

/* Why a task's CPU changes. */
#define KS_CAUSE_FORK 0
#define KS_CAUSE_EXEC 1
#define KS_CAUSE_WAKE 2
#define KS_CAUSE_BALANCE 3	/* periodic or nohz */
#define KS_CAUSE_NEWIDLE 4
#define KS_CAUSE_ACTIVE 5	/* the stopper, for the balancer */
#define KS_CAUSE_AFFINITY 6
#define KS_CAUSE_RT 7		/* push or pull */

/* A placement: select_task_rq of a class. */
struct ks_placement {
	s32 kind;		/* KS_WAKE, FORK, EXEC */
	s32 task;
	s32 prev;		/* where it is */
	s32 this_cpu;		/* the deciding code runs here */
	s32 current;		/* task current there, KS_NONE: the idle task or another of the kernel's own */
	u32 wake_flags;		/* FG_WF_* */
	s32 is_fair;
	s32 chosen;		/* KS_NONE before the decision */
	u32 probes;		/* work counted during the decision */
	u32 group_cpus;
};

/* What went wrong in the kernel's code; the host ends the process. */
#define KS_FAULT_BUG 0		/* BUG(), a failed assertion of the kernel */
#define KS_FAULT_PANIC 1
#define KS_FAULT_LOCK 2		/* a held lock is taken, or a free one released */
#define KS_FAULT_STUB 3		/* a function that the host does not provide was called */
#define KS_FAULT_HOST 4		/* the shim found a state it cannot serve */

/* An attempt to balance a domain (load_balance, sched_balance_rq). */
struct ks_balance {
	s32 cpu;		/* for whom */
	u32 domain;		/* which of its domains, counted from the lowest */
	u32 kind;		/* FG_CPU_* */
	u32 ours;		/* afterwards: 0 if it was found that another CPU balances this domain */
	u32 moved;		/* afterwards: tasks */
};

/* What a look for imbalance found: a group that has too much. */
struct ks_found {
	s32 group;		/* its first CPU */
	s32 src;		/* the CPU whose queue is to give, KS_NONE: none can */
	u32 migration;		/* FG_MIGRATE_* */
	u32 pad;
	s64 imbalance;		/* to be moved, counted as migration says */
};

struct ks_pelt;

struct ks_host {
	u64 size;		/* of this struct: both sides must agree */
	void *self;		/* first argument of all calls */
	/* sched_clock() of a CPU: the instant plus what this call has cost there so far. */
	u64 (*clock)(void *self, s32 cpu);
	/* Time spent in interrupts by a CPU so far (irq_time_read). */
	u64 (*irq_time)(void *self, s32 cpu);
	/* n units of work on the CPU of the call. */
	void (*work)(void *self, u32 kind, u32 n);
	void (*ipi)(void *self, s32 cpu, u32 kind);
	/* SCHED_SOFTIRQ is raised on the CPU of the call: ks_softirq() follows within the instant. */
	void (*softirq)(void *self, s32 cpu);
	/* The earliest of the kernel's own timers on this CPU: ks_timer() is due then. ~0: none any more. */
	void (*timer)(void *self, s32 cpu, u64 when);
	/* A placement is decided (chosen is set). For every task class, the stopper excluded. */
	void (*placed)(void *self, const struct ks_placement *p);
	void (*migrated)(void *self, s32 task, s32 from, s32 to, u32 cause);
	/* A woken or new task is on the run queue of cpu. */
	void (*enqueued)(void *self, s32 task, s32 cpu);
	/* The frequency governor asks for a frequency of the clock of cpu, kHz. */
	void (*frequency)(void *self, s32 cpu, u32 khz);
	/* printk. level: 0 emergency .. 7 debug; one line, no newline. A WARN comes as 4 with warn = 1, first line only. */
	void (*print)(void *self, u32 level, u32 warn, const char *line);
	/* Does not return. */
	void (*fault)(void *self, u32 kind, const char *what);

	/*
	 * For whoever watches; null: nobody does, and nothing is prepared for it. Called with the kernel's state as it
	 * stands before the named code has side effects; ks_read_* may be called from within.
	 */
	void (*placing)(void *self, const struct ks_placement *p);
	/* A fair pick on cpu: state is up to date; pick() afterwards tells whom (KS_NONE: nobody). */
	void (*picking)(void *self, s32 cpu);
	void (*picked)(void *self, s32 cpu, s32 task);
	/* A PELT update, with the state before and after it. */
	void (*pelt)(void *self, const struct ks_pelt *update);
	/* A domain is about to be balanced. */
	void (*balancing)(void *self, const struct ks_balance *pass);
	/* Of the pass that is going on, each in its turn: a group was found, and a task leaves from for to. */
	void (*found)(void *self, const struct ks_found *found);
	void (*detached)(void *self, s32 task, s32 from, s32 to);
	void (*balanced)(void *self, const struct ks_balance *pass);
	/* The stopper of cpu is about to push a task away, as a pass asked it to; detached() tells which. */
	void (*pushing)(void *self, s32 cpu);
	void (*pushed)(void *self, s32 cpu);
	/* The frequency governor is told that the utilization of cpu has changed. flags: FG_FREQUENCY_*. */
	void (*governing)(void *self, s32 cpu, u32 flags);
	/* What it has asked for, kHz; 0: nothing. */
	void (*governed)(void *self, s32 cpu, u32 khz);
};

/* ---- what the host says of the machine ------------------------------------------------------------------------- */

struct ks_cpu_desc {
	u32 capacity;		/* 1..1024, at top frequency */
	s32 node;
	s32 package;
	s32 pd;			/* performance domain: the lowest CPU on the same clock */
	u64 smt[KS_MASK_WORDS];		/* cpu_smt_mask: itself included, as all of these */
	u64 cluster[KS_MASK_WORDS];	/* cpu_clustergroup_mask */
	u64 mc[KS_MASK_WORDS];		/* cpu_coregroup_mask */
};

/* An operating point of a performance domain. */
struct ks_opp {
	u32 khz;
	u32 power_uw;		/* of one CPU, busy; 0: not known, and the domain gets no energy model */
};

struct ks_pd {
	s32 cpu;		/* the lowest CPU on this clock */
	u32 nr_opps;
	const struct ks_opp *opps;	/* rising */
	u32 transition_us;
};

struct ks_machine {
	u64 size;
	u32 nr_cpus;
	u32 nr_nodes;
	u32 node_reclaim_distance;
	u32 nr_pds;
	const struct ks_cpu_desc *cpus;
	const u32 *distance;	/* nr_nodes x nr_nodes */
	const struct ks_pd *pds;
	u32 schedutil;		/* 1: cpufreq policies with the tree's schedutil, and energy models where known */
	u64 seed;		/* of the kernel's own random draws */
};

/* ---- tasks ------------------------------------------------------------------------------------------------------ */

struct ks_attr {
	u32 policy;		/* FG_SCHED_* */
	s32 nice;
	u32 rt_prio;
	u32 uclamp_min;		/* 0..1024 */
	u32 uclamp_max;
	u32 uclamp_set;		/* bit 0: min, bit 1: max was asked for */
	u64 slice;		/* ns, 0: default */
};

struct ks_birth {
	s32 task;
	s32 parent;		/* KS_NONE: at time 0 */
	s32 kthread_cpu;	/* a kernel thread bound there, or KS_NONE */
	s32 group;		/* 0: the root task group */
	struct ks_attr attr;
	u64 allowed[KS_MASK_WORDS];
	char comm[16];
};

#define KS_PICK_IDLE (-1)
#define KS_PICK_STOPPER (-2)

/* ---- reading the kernel's state out -----------------------------------------------------------------------------
 *
 * Reading has no side effect. Pointers in the fg_* structs are left alone, and so is what never changes after boot and
 * is known from the machine: ids, performance domains, topology, the mask of the core. What a tree does not keep is
 * left alone too, and named in ks_read.unobserved. Jiffies count from 0 at boot. A root run queue is shown without its
 * task groups.
 */

/* What the pointers of fg_cpu point at: task numbers, KS_NONE for none and for the kernel's own tasks. */
struct ks_cpu_refs {
	s32 curr;
	s32 next;
	s32 last;
	s32 skip;
	s32 fair_curr;		/* of the fair class alone, as its root run queue sees it */
	u32 curr_is_own;	/* a task of the kernel's own is current, e.g. the stopper; not the idle task */
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
	u64 nohz_idle[KS_MASK_WORDS];
	u64 active[KS_MASK_WORDS];
};

/* Of a CPU's place in the topology. */
struct ks_place {
	s32 sd_llc_id;
	u32 sd_llc_size;
	s32 sd_share_id;
	s32 sd_llc;		/* which of its domains, counted from the lowest; KS_NONE: none of them */
	s32 sd_asym_cpucapacity;
	s32 sd_numa;
	u64 core[KS_MASK_WORDS];
};

#define KS_PELT_SUM 0		/* time passes: the sums */
#define KS_PELT_AVERAGES 1	/* the averages are made anew from them */

/* A step of a PELT update: what goes in, what was there, what is there afterwards. */
struct ks_pelt {
	const char *function;	/* the kernel's function that updates its signal */
	u32 step;		/* KS_PELT_* */
	u32 running;
	u64 now;		/* ns of the signal's clock */
	u64 load;		/* of averages: the weight */
	u64 runnable;
	u32 renewed;		/* of sums: the averages are to follow */
	u32 pad;
	const struct fg_avg *before;
	const struct fg_avg *after;
};

struct ks_read {
	u64 size;
	void (*refs)(s32 cpu, struct ks_cpu_refs *to);
	void (*sys)(struct ks_sys *to);
	void (*place)(s32 cpu, struct ks_place *to);
	void (*root)(s32 cpu, struct fg_root *to);
	/* What the CPUs behind cpu's last-level cache share. 0, or KS_NONE if it has no such domain. */
	s32 (*llc)(s32 cpu, struct fg_llc *to);
	/* The n-th domain of cpu from below. 0, or KS_NONE if there is none. */
	s32 (*domain)(s32 cpu, u32 n, struct fg_domain *to);
	/* Its groups from the local one. Returns how many there are, 0 without such a domain, and writes max at most. */
	u32 (*groups)(s32 cpu, u32 n, struct fg_group *to, u32 max);
	/*
	 * Numbers of the fair tasks in the tree of the root run queue, in its order, the current one not among them;
	 * KS_NONE stands for a task group. Returns how many there are, and writes max at most.
	 */
	u32 (*queue)(s32 cpu, s32 *to, u32 max);
	/*
	 * Numbers of the fair tasks of cpu, the current one among them, in the order in which balancing looks at them;
	 * KS_NONE stands for one of a task group or of the kernel's own. Returns how many there are, and writes max at most.
	 */
	u32 (*movable)(s32 cpu, s32 *to, u32 max);
	/*
	 * The energy model of the n-th performance domain that wakeups of cpu's partition look at: its CPUs, and its operating
	 * points, slowest first. Returns how many these are, 0 without such a domain, and writes max at most.
	 */
	u32 (*energy)(s32 cpu, u32 n, struct fg_em *to, struct fg_opp *opps, u32 max);
	/* What the governor knows of cpu's clock. 0, or KS_NONE without one. */
	s32 (*governor)(s32 cpu, struct fg_sugov *to);
	/* And of cpu itself: fg_cpu.sugov_cpu and idle_calls. */
	void (*governor_cpu)(s32 cpu, struct fg_cpu *to);
	/* ns: what the call that is going on would bring the clock of any CPU to now; interrupt time of a CPU so far. */
	u64 (*clock)(void);
	u64 (*irq_time)(s32 cpu);
	/* Members that this tree does not keep, e.g. "fg_cpu.wake_avg_idle", separated by spaces. */
	const char *unobserved;
	/* Of the policy's structs as this library fills them: a header of another day has others. */
	u32 sizeof_cpu;
	u32 sizeof_task;
	u32 sizeof_group;
	u32 sizeof_domain;
	u32 sizeof_llc;
	u32 sizeof_root;
	u32 sizeof_avg;
	u32 sizeof_frequency_limits;
	u32 sizeof_opp;
	u32 sizeof_sugov;
};

/* ---- what a built kernel answers; the one exported symbol is ks_kernel() ---------------------------------------- */

struct ks_kernel {
	u64 size;
	u32 abi;		/* KS_ABI */
	u32 max_cpus;		/* CONFIG_NR_CPUS */
	u32 hz;
	const char *release;	/* e.g. 6.12.117 */

	/* Boots on this machine; all CPUs idle. 0, or an error as the kernel spells it. */
	s32 (*boot)(const struct ks_host *host, const struct ks_machine *machine);

	/* Calls on a CPU. The host has brought its clock to the instant. */
	void (*fork)(s32 cpu, const struct ks_birth *child);
	void (*exec)(s32 cpu, s32 task);
	/* waker: the current task, or KS_NONE from an interrupt. */
	void (*wake)(s32 cpu, s32 waker, s32 task, u32 sync);
	/* The current task will sleep, end or yield at the next schedule. */
	void (*block)(s32 cpu);
	void (*exit)(s32 cpu);
	void (*yield)(s32 cpu);
	/* 0 or an error as the kernel spells it. */
	s32 (*set_attr)(s32 cpu, s32 task, const struct ks_attr *attr);
	s32 (*set_allowed)(s32 cpu, s32 task, const u64 *allowed);
	/* schedule(): the task that is current now, or KS_PICK_*. */
	s32 (*schedule)(s32 cpu);
	/* Runs the pending stop works of the CPU; the stopper then sleeps, a schedule follows. */
	void (*stopper)(s32 cpu);
	void (*tick)(s32 cpu);
	void (*ipi)(s32 cpu, u32 kind);
	void (*softirq)(s32 cpu);
	void (*timer)(s32 cpu);
	void (*idle_enter)(s32 cpu, u32 index, u64 exit_latency, u64 residency);
	void (*idle_exit)(s32 cpu);
	void (*tick_stopped)(s32 cpu, u32 stopped);
	/* Current over top frequency, 1..1024 (arch_scale_freq_capacity). */
	void (*freq_scale)(s32 cpu, u32 scale);
	void (*frequency_limits)(s32 cpu, const struct fg_frequency_limits *limits);

	/* Task groups: a number or a negative error. file: cpu.weight, cpu.max, cpu.uclamp.min, ... */
	s32 (*group_new)(s32 parent);
	s32 (*group_write)(s32 group, const char *file, const char *value);

	/* Read-out, see above. */
	void (*read_cpu)(s32 cpu, struct fg_cpu *to);
	void (*read_task)(s32 task, struct fg_task *to);
	const struct ks_read *read;	/* the rest of it */
};

/* clang-format on */

const struct ks_kernel *ks_kernel(void);

#endif
