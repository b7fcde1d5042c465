/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interface between a built kernel scheduler (libksched.so) and its host, which runs it in virtual time.
 *
 * Both sides include this file. Only numbers, strings and the fg_* structs of policy/fg.h cross it; the kernel's state
 * is read into those structs. A process has one instance, because the kernel's state is global. The host calls the
 * kernel from one thread and never nests calls; the kernel may call the host during a call.
 *
 * Times are ns of virtual time. CPUs and tasks are dense numbers from 0. The host assigns the task numbers and never
 * reuses one.
 */
#ifndef KS_H
#define KS_H

#include "fg.h"

#define KS_ABI 7
#define KS_NONE (-1)
/* Among numbers of tasks, where an entity of a run queue may be a task group: the group g, 1 or more; and back. */
#define KS_GROUP(g) (KS_NONE - (g))

/* u64 words of a mask of CPUs. */
#define KS_MASK_WORDS FG_MASK_WORDS

/* clang-format off */

/* ---- what the kernel asks of its host -------------------------------------------------------------------------- */

/* Interrupts between CPUs. */
#define KS_IPI_RESCHED 0	/* reschedule; to the CPU of the call itself: the host must call schedule() */
#define KS_IPI_WAKE 1		/* call-function queue: remote wakeups */
#define KS_IPI_CALL 2		/* call-function queue: anything else, e.g. a nohz balance kick */

/* Work that takes time: the kernel side counts it, the host prices it. Same kinds as SoftCost of crates/machine. */
#define KS_WORK_WAKEUP 0
#define KS_WORK_PROBE 1		/* the placement of a wakeup checks whether a CPU is idle */
#define KS_WORK_GROUP_CPU 2	/* fork, exec or balancing read a CPU's load */
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
#define KS_CAUSE_ACTIVE 5	/* active balance: the stopper moves it */
#define KS_CAUSE_AFFINITY 6
#define KS_CAUSE_RT 7		/* push or pull */

/* A placement: select_task_rq of a class. */
struct ks_placement {
	s32 kind;		/* KS_WAKE, FORK, EXEC */
	s32 task;
	s32 prev;		/* the task's CPU */
	s32 this_cpu;		/* select_task_rq() runs here */
	s32 current;		/* task that is current on this_cpu, KS_NONE: its idle task or stopper */
	u32 wake_flags;		/* FG_WF_* */
	s32 is_fair;
	s32 chosen;		/* KS_NONE before the decision */
	u32 probes;		/* KS_WORK_PROBE counted during the decision */
	u32 group_cpus;		/* KS_WORK_GROUP_CPU, likewise */
};

/* Errors that end the run; the host ends the process. */
#define KS_FAULT_BUG 0		/* BUG(), a failed assertion of the kernel */
#define KS_FAULT_PANIC 1
#define KS_FAULT_LOCK 2		/* a lock is taken that is held, or released that is free */
#define KS_FAULT_STUB 3		/* a function that the host does not provide was called */
#define KS_FAULT_SLEEP 5	/* the code may have to sleep where it must not */
#define KS_FAULT_HOST 4		/* the C side found a state that it does not support */

/* A balance pass over a domain (load_balance, sched_balance_rq). */
struct ks_balance {
	s32 cpu;		/* destination CPU */
	u32 domain;		/* index of the domain, 0: the lowest of cpu's */
	u32 kind;		/* FG_CPU_* */
	u32 ours;		/* set after the pass: 0 if another CPU balances this domain */
	u32 moved;		/* set after the pass: tasks */
};

/* The busiest group and queue of a pass (find_busiest_queue, sched_balance_find_src_rq). */
struct ks_found {
	s32 group;		/* first CPU of the busiest group */
	s32 src;		/* CPU of the busiest queue, KS_NONE: the group has none to pull from */
	u32 migration;		/* FG_MIGRATE_* */
	u32 pad;
	s64 imbalance;		/* to be moved, in the unit of migration */
};

/* A walk over the domains of a CPU (sched_balance_newidle, sched_balance_domains). */
struct ks_walk {
	s32 cpu;		/* whose domains they are */
	u32 kind;		/* FG_CPU_*, as the walk begins */
};

/* What happens to a fair run queue: a method of the fair class, or set_next_entity(). */
#define KS_STEP_ENQUEUE 0
#define KS_STEP_REQUEUE 1	/* a delayed sleeper is woken where it is queued */
#define KS_STEP_DEQUEUE 2
#define KS_STEP_WAKEUP 3	/* whether the woken task preempts the current one (wakeup_preempt, check_preempt_curr) */
#define KS_STEP_TICK 4
#define KS_STEP_YIELD 5
#define KS_STEP_SET_NEXT 6
#define KS_STEP_IDLE 7		/* the idle task becomes current */
#define KS_STEP_SET_AGAIN 8	/* set_next_entity() of a task that was not picked: its properties have changed (from v7.0 on) */

struct ks_step {
	s32 cpu;
	s32 task;		/* KS_NONE: none, a task group, or a task of the kernel's own */
	u32 kind;		/* KS_STEP_* */
	u32 flags;		/* FG_ENQUEUE_*, FG_DEQUEUE_*; of a wakeup FG_WF_FORK */
	u32 resched;		/* bit 0: the current task is to be rescheduled, bit 1: lazily; before or after the step */
	u32 grouped;		/* task is in a task group */
};

struct ks_pelt;

struct ks_host {
	u64 size;		/* of this struct: both sides must agree */
	void *self;		/* first argument of all calls */
	/* sched_clock() of a CPU: the virtual time, plus the cost so far of this call if it runs on that CPU. */
	u64 (*clock)(void *self, s32 cpu);
	/* Time spent in interrupts by a CPU so far (irq_time_read). */
	u64 (*irq_time)(void *self, s32 cpu);
	/* n units of work on the CPU of the call. */
	void (*work)(void *self, u32 kind, u32 n);
	void (*ipi)(void *self, s32 cpu, u32 kind);
	/* SCHED_SOFTIRQ is raised on the CPU of the call: the host must call ks_kernel.softirq() at the same time. */
	void (*softirq)(void *self, s32 cpu);
	/* The CPU's earliest hrtimer expires at when; the host must call ks_kernel.timer() then. ~0: none is queued. */
	void (*timer)(void *self, s32 cpu, u64 when);
	/* A placement is decided (chosen is set). For tasks of the fair and the RT class. */
	void (*placed)(void *self, const struct ks_placement *p);
	void (*migrated)(void *self, s32 task, s32 from, s32 to, u32 cause);
	/* None of its CPUs is active, so the task may use all CPUs from now on (select_fallback_rq). */
	void (*widened)(void *self, s32 task);
	/* A woken or new task is on the run queue of cpu. */
	void (*enqueued)(void *self, s32 task, s32 cpu);
	/* The frequency governor requests a frequency for the clock of cpu, kHz. */
	void (*frequency)(void *self, s32 cpu, u32 khz);
	/* printk. level: 0 emergency .. 7 debug; one line, without newline. A WARN: level 4, warn 1, its first line. */
	void (*print)(void *self, u32 level, u32 warn, const char *line);
	/* Does not return. frames: return addresses of the calls that led here, nr_frames of them, the innermost first. */
	void (*fault)(void *self, u32 kind, const char *what, const u64 *frames, u32 nr_frames);

	/*
	 * Callbacks for an observer; null if there is none, and then their arguments are not computed. Those named
	 * -ing are called before the named code has side effects. They may call the functions of struct ks_read.
	 */
	void (*placing)(void *self, const struct ks_placement *p);
	/* In that wakeup: wake_affine() has chosen this CPU to search from. */
	void (*targeted)(void *self, s32 cpu);
	/*
	 * A pick from the CFS run queue of a task group on cpu (0: the root run queue), whose state is up to date. protect:
	 * the protection of its current entity counts. picked(): a task, KS_GROUP(), or KS_NONE.
	 */
	void (*picking)(void *self, s32 cpu, s32 group, u32 protect);
	void (*picked)(void *self, s32 cpu, s32 entity);
	/* One step of a PELT update, with the signal before and after it. */
	void (*pelt)(void *self, const struct ks_pelt *update);
	/* A pass over a domain begins. */
	void (*balancing)(void *self, const struct ks_balance *pass);
	/* During a pass: the busiest group was found; a task is detached from CPU from, for CPU to. */
	void (*found)(void *self, const struct ks_found *found);
	void (*detached)(void *self, s32 task, s32 from, s32 to);
	void (*balanced)(void *self, const struct ks_balance *pass);
	/* Active balance: the stopper of cpu begins to push a task away; detached() names the task. */
	void (*pushing)(void *self, s32 cpu);
	void (*pushed)(void *self, s32 cpu);
	/* Cache-aware scheduling: the current task looks for the cache that its process prefers (task_cache_work). */
	void (*scanning)(void *self, s32 task);
	void (*scanned)(void *self, s32 task);
	/* A walk over domains begins, outside of any pass; it has ended. */
	void (*walking)(void *self, const struct ks_walk *walk);
	void (*walked)(void *self, const struct ks_walk *walk);
	/* A step of a fair run queue, whose clock is up to date, begins; it has ended. */
	void (*stepping)(void *self, const struct ks_step *step);
	void (*stepped)(void *self, const struct ks_step *step);
	/* cpufreq_update_util() calls the governor for cpu. flags: FG_FREQUENCY_*. */
	void (*governing)(void *self, s32 cpu, u32 flags);
	/* The frequency that the governor requested, kHz; 0: none. */
	void (*governed)(void *self, s32 cpu, u32 khz);
};

/* ---- the machine ------------------------------------------------------------------------------------------------ */

struct ks_cpu_desc {
	u32 capacity;		/* 1..1024, at top frequency */
	s32 node;
	s32 package;
	s32 pd;			/* performance domain: the lowest CPU on the same clock */
	u64 smt[KS_MASK_WORDS];		/* cpu_smt_mask; all three masks include the CPU itself */
	u64 cluster[KS_MASK_WORDS];	/* cpu_clustergroup_mask */
	u64 mc[KS_MASK_WORDS];		/* cpu_coregroup_mask */
};

/* An operating point of a performance domain. */
struct ks_opp {
	u32 khz;
	u32 power_uw;		/* of one busy CPU; 0: unknown, and the domain gets no energy model */
};

struct ks_pd {
	s32 cpu;		/* the lowest CPU on this clock */
	u32 nr_opps;
	const struct ks_opp *opps;	/* slowest first */
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
	u32 schedutil;		/* 1: run the tree's schedutil, with energy models where powers are known */
	u64 seed;		/* of get_random_u32() and the like */
};

/* ---- tasks ------------------------------------------------------------------------------------------------------ */

struct ks_attr {
	u32 policy;		/* FG_SCHED_* */
	s32 nice;
	u32 rt_prio;
	u32 uclamp_min;		/* 0..1024 */
	u32 uclamp_max;
	u32 uclamp_set;		/* bit 0: uclamp_min is requested, bit 1: uclamp_max */
	u64 slice;		/* ns, 0: default */
};

struct ks_birth {
	s32 task;
	s32 parent;		/* KS_NONE: at time 0 */
	s32 kthread_cpu;	/* a kernel thread bound there, or KS_NONE */
	s32 group;		/* 0: the root task group */
	s32 process;		/* tasks of the same number share an address space; KS_NONE: has none */
	u32 pad;
	struct ks_attr attr;
	u64 allowed[KS_MASK_WORDS];
	char comm[16];
};

/* Takes no tasks any more; those that are there leave, each as it is picked (sched_cpu_deactivate). */
#define KS_HOTPLUG_DEACTIVATE 0
/* It idles and has no task left: it is offline (sched_cpu_dying). */
#define KS_HOTPLUG_DEAD 1
/* It idles, is online again and takes tasks (sched_cpu_activate). */
#define KS_HOTPLUG_ACTIVATE 2

#define KS_PICK_IDLE (-1)
#define KS_PICK_STOPPER (-2)

/* ---- reading the kernel's state ---------------------------------------------------------------------------------
 *
 * Reading has no side effect. It does not write pointers of the fg_* structs, nor members that never change after boot
 * and that the host knows from the machine: ids, performance domains, topology, the mask of the core. It does not write
 * members that the tree has no counterpart of either; ks_read.unobserved names them. Jiffies count from 0 at boot.
 */

/* What the pointers of fg_cpu point at: task numbers, KS_NONE for null, for an idle task and for a stopper. */
struct ks_cpu_refs {
	s32 curr;
	s32 next;
	s32 last;
	s32 skip;
	s32 fair_curr;		/* the current task of the fair class: cfs_rq.curr of the root run queue, or within that group */
	u32 curr_is_own;	/* current is a task without a host number other than the idle task, e.g. the stopper */
};

/* What the pointers of a run queue point at, as ks_read.queue has them. */
struct ks_queue_refs {
	s32 next;
	s32 last;
	s32 skip;
};

/* Global state. */
struct ks_sys {
	u64 jiffies;
	u32 asym_key;
	u32 smt_key;
	u32 cluster_key;
	u32 uclamp_used;
	u32 eas;		/* sched_energy_enabled() */
	u32 sched_cache;	/* sched_cache_enabled() */
	u32 nr_online;
	u32 pad;
	u32 nohz_nr_cpus;
	u32 nohz_has_blocked;
	u64 nohz_next_balance;	/* jiffies */
	u64 nohz_next_blocked;	/* jiffies */
	u64 nohz_idle[KS_MASK_WORDS];
	u64 active[KS_MASK_WORDS];
};

/* The per-CPU variables of kernel/sched/topology.c. */
struct ks_place {
	s32 sd_llc_id;
	u32 sd_llc_size;
	s32 sd_share_id;
	s32 sd_llc;		/* index of the domain, 0: the lowest of the CPU's; KS_NONE: not one of them */
	s32 sd_asym_cpucapacity;
	s32 sd_numa;
	u64 core[KS_MASK_WORDS];
};

#define KS_PELT_SUM 0		/* ___update_load_sum() */
#define KS_PELT_AVERAGES 1	/* ___update_load_avg() */

/* A step of a PELT update: its arguments, and the signal before and after it. */
struct ks_pelt {
	const char *function;	/* the kernel's function that calls the step */
	u32 step;		/* KS_PELT_* */
	u32 running;
	u64 now;		/* ns of the signal's clock */
	u64 load;		/* KS_PELT_AVERAGES: the weight */
	u64 runnable;
	u32 renewed;		/* KS_PELT_SUM: its result; 1: the averages must be updated */
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
	/* sched_domain_shared of cpu's last-level cache. Returns 0, or KS_NONE if it has no such domain. */
	s32 (*llc)(s32 cpu, struct fg_llc *to);
	s32 (*balance_shared)(s32 cpu, struct fg_llc *to);	/* sd_balance_shared; KS_NONE: the tree or the CPU has none */
	/* Domain n of cpu, 0: the lowest. Returns 0, or KS_NONE if there is none. */
	s32 (*domain)(s32 cpu, u32 n, struct fg_domain *to);
	/* The groups of domain n, the local one first. Writes at most max; returns how many there are. */
	u32 (*groups)(s32 cpu, u32 n, struct fg_group *to, u32 max);
	/* Number of a task's process, KS_NONE: cache-aware scheduling keeps nothing of it. */
	s32 (*process_of)(s32 task);
	void (*process)(s32 process, struct fg_process *to);
	void (*cache_time)(s32 process, s32 cpu, struct fg_cache_time *to);
	/*
	 * Queued tasks of cpu that prefer a last-level cache, by the cache's sd_llc_id (llc_counts). Writes at most max;
	 * returns how many there are.
	 */
	u32 (*llc_counts)(s32 cpu, u32 *to, u32 max);
	/*
	 * The entities in the rbtree of the run queue of a task group on cpu (0: the root run queue), leftmost first,
	 * without the current one: tasks, KS_GROUP(), or KS_NONE for a task without a number. Writes at most max;
	 * returns how many there are.
	 */
	u32 (*queue)(s32 cpu, s32 group, s32 *to, u32 max);
	void (*queue_refs)(s32 cpu, s32 group, struct ks_queue_refs *to);
	/*
	 * Numbers of the fair tasks of cpu, with the current one, in the order in which detach_tasks() goes through
	 * them; KS_NONE stands for a task without a number. Writes at most max; returns how many there are.
	 */
	u32 (*movable)(s32 cpu, s32 *to, u32 max);
	/* Number of task groups, with the root group. The group of a task; 0: the root group. */
	u32 (*nr_groups)(void);
	s32 (*group_of)(s32 task);
	/* What a task group, 1 or more, has on no CPU. Returns the number of the group around it. */
	s32 (*group)(s32 group, struct fg_tg *to);
	/* What it has on cpu. */
	void (*group_cpu)(s32 group, s32 cpu, struct fg_tg_cpu *to);
	/*
	 * The energy model of performance domain n of cpu's root domain: its CPUs, and its operating points, slowest
	 * first. Writes at most max points; returns their number, 0 without such a domain.
	 */
	u32 (*energy)(s32 cpu, u32 n, struct fg_em *to, struct fg_opp *opps, u32 max);
	/* schedutil's policy of cpu's clock. Returns 0, or KS_NONE without one. */
	s32 (*governor)(s32 cpu, struct fg_sugov *to);
	/* schedutil's state of cpu itself: writes sugov_cpu and idle_calls. */
	void (*governor_cpu)(s32 cpu, struct fg_cpu *to);
	/* ns: sched_clock() on the CPU of the call that is running; interrupt time of a CPU so far. */
	u64 (*clock)(void);
	u64 (*irq_time)(s32 cpu);
	/* Members that this tree has no counterpart of, e.g. "fg_cpu.wake_avg_idle", separated by spaces. */
	const char *unobserved;
	/* Sizes of the fg_* structs that this library was compiled with; another version of fg.h has others. */
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
	u32 sizeof_tg;
	u32 sizeof_tg_cpu;
	u32 sizeof_process;
	u32 sizeof_cache_time;
};

/* ---- what the host calls; ks_kernel() is the only exported symbol ----------------------------------------------- */

struct ks_kernel {
	u64 size;
	u32 abi;		/* KS_ABI */
	u32 max_cpus;		/* CONFIG_NR_CPUS */
	u32 hz;
	u32 has_hotplug;	/* 0: the tree has no balance_push(), CPUs stay online */
	const char *release;	/* e.g. 6.12.117 */

	/* Boots on this machine, whose description stays; all CPUs idle. Returns 0 or -errno. */
	s32 (*boot)(const struct ks_host *host, const struct ks_machine *machine);

	/* Calls on a CPU. ks_host.clock() must return its current time. */
	void (*fork)(s32 cpu, const struct ks_birth *child);
	void (*exec)(s32 cpu, s32 task);
	/* The current task, after exec(), is the only thread of this process from now on. */
	void (*new_process)(s32 cpu, s32 task, s32 process);
	/* waker: the current task, or KS_NONE from an interrupt. */
	void (*wake)(s32 cpu, s32 waker, s32 task, u32 sync);
	/* The current task will sleep, end or yield at the next schedule. */
	void (*block)(s32 cpu);
	void (*exit)(s32 cpu);
	void (*yield)(s32 cpu);
	/* Return 0 or -errno. */
	s32 (*set_attr)(s32 cpu, s32 task, const struct ks_attr *attr);
	s32 (*set_allowed)(s32 cpu, s32 task, const u64 *allowed);
	/* schedule(). Returns the next task, or KS_PICK_*. */
	s32 (*schedule)(s32 cpu);
	/* Runs the pending stop works of the CPU. The stopper sleeps at the next schedule. */
	void (*stopper)(s32 cpu);
	void (*tick)(s32 cpu);
	void (*ipi)(s32 cpu, u32 kind);
	void (*softirq)(s32 cpu);
	void (*timer)(s32 cpu);
	void (*idle_enter)(s32 cpu, u32 index, u64 exit_latency, u64 residency);
	void (*idle_exit)(s32 cpu);
	void (*tick_stopped)(s32 cpu, u32 stopped);
	/* A step by which the CPU of the call goes offline or comes back, KS_HOTPLUG_*. Returns 0 or -errno. */
	s32 (*hotplug)(s32 cpu, u32 step);
	/* Current frequency divided by the highest, 1..1024 (arch_scale_freq_capacity). */
	void (*freq_scale)(s32 cpu, u32 scale);
	void (*frequency_limits)(s32 cpu, const struct fg_frequency_limits *limits);

	/* Task groups. group_new returns a number or -errno. file: cpu.weight, cpu.max, cpu.uclamp.min, ... */
	s32 (*group_new)(s32 parent);
	s32 (*group_write)(s32 group, const char *file, const char *value);

	/* Reading the kernel's state, see above. */
	void (*read_cpu)(s32 cpu, struct fg_cpu *to);
	void (*read_task)(s32 task, struct fg_task *to);
	const struct ks_read *read;
};

/* clang-format on */

const struct ks_kernel *ks_kernel(void);

#endif
