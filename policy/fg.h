/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fairground's placement policy: the state it reads and the questions it answers.
 *
 * The structs below are the caller's storage; nothing is copied for a decision. A decision reads
 * them through const pointers and fills a verdict; only fg_commit_* and the accounting functions write. Kernel names
 * are kept where the kernel has one. No globals, no allocation, no libc; loops end at FG_NR_CPUS; no signed division.
 *
 * build.rs of crates/fair reads this file and writes the Rust twins of the structs and safe methods for the questions, so
 * declarations keep to a plain form: one member a line, types u8..u64, s8..s64, struct fg_x, pointers to those,
 * one-dimensional arrays. Prototypes say with the marks below what a type alone does not.
 */
#ifndef FG_H
#define FG_H

/* Comments of members stand in a column: */
/* clang-format off */

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef signed short s16;
typedef signed int s32;
typedef signed long long s64;

/* Marks of prototypes. They change neither types nor code. */
typedef u32 fg_bool;		/* 0 or 1 */
typedef struct fg_task fg_entity;	/* of a CPU's queue: a task, or a group's fg_tg_cpu.entity there */
#define FG_NULLABLE		/* before a pointer that may be null */

/* The most CPUs a machine may have, 64 to a word. A build that needs less memory, e.g. for BPF, defines both. */
#ifndef FG_NR_CPUS
#define FG_NR_CPUS 1024
#define FG_MASK_WORDS 16
#endif
#define FG_NICE_0_LOAD 1024
#define FG_CAPACITY_SCALE 1024
#define FG_MIGRATION_COST 500000 /* ns, sysctl_sched_migration_cost */
#define FG_MAX_TGS 1024 /* task groups that compete as one */
#define FG_MAX_TG_DEPTH 16 /* of these one within the other */

/* What differs between kernel versions and patches: one byte each, see features.h. */
enum fg_feature_id {
#define FG_FEATURE(id, name, values, mail, since, ready, text) FG_##id,
#include "features.h"
#undef FG_FEATURE
	FG_NR_FEATURES
};

#define FG_MAX_FEATURES 224

struct fg_features {
	u8 value[FG_MAX_FEATURES];
};

/* Words of the features with values, in the order of features.h. */
#define FG_SIS_PROP54 0
#define FG_SIS_PROP 1
#define FG_SIS_PROP_AGED 2
#define FG_SIS_UTIL 3
#define FG_BREAK_EVEN_OFF 0
#define FG_BREAK_EVEN_LATENCY 1
#define FG_BREAK_EVEN_RESIDENCY 2
#define FG_WAKE_LIST_LLC 0
#define FG_WAKE_LIST_ON_CPU 1
#define FG_WAKE_LIST_IDLE 2
#define FG_CLS_NONE 0
#define FG_CLS_LOOP 1
#define FG_CLS_LEVELS 2
#define FG_CLS_LANDED 3
#define FG_LEVELS_NR_LLC 0
#define FG_LEVELS_NR_CLUSTER 1
#define FG_PELT_SUM_OWN 0
#define FG_PELT_SUM_AVERAGE 1
#define FG_PELT_SUM_FLOOR 2
#define FG_PELT_SUM_AVERAGE_FLOOR 3
#define FG_UTIL_EST_EWMA 0
#define FG_UTIL_EST_FASTUP 1
#define FG_UTIL_EST_V68 2
#define FG_NUMA_IMB_NONE 0
#define FG_NUMA_IMB_PAIR 1
#define FG_NUMA_IMB_QUARTER 2
#define FG_NUMA_IMB_LLC 3
#define FG_ASYM_PRIO_CPU 0
#define FG_ASYM_PRIO_SMT 1
#define FG_ASYM_PRIO_CORE 2
#define FG_FEEC_MARGIN 0
#define FG_FEEC_MARGIN515 1
#define FG_FEEC_DELTA 2
#define FG_FEEC_TRI 3
#define FG_FEEC_TRIVIAL_ESTIMATE 0
#define FG_FEEC_TRIVIAL_CLAMPED 1
#define FG_FEEC_TRIVIAL_MINIMUM 2
#define FG_EM_COST_MILLIWATT 0
#define FG_EM_COST_SCALED 1
#define FG_EM_COST_MICROWATT 2
#define FG_EM_COST_PERFORMANCE 3
#define FG_FREQ_HOLD_V54 0
#define FG_FREQ_HOLD_V511 1
#define FG_FREQ_HOLD_V518 2
#define FG_FREQ_HOLD_V66 3
#define FG_NEWIDLE_NONE 0
#define FG_NEWIDLE_BUMP 1
#define FG_NEWIDLE_RANDOM 2
#define FG_NEWIDLE_RATE 3
#define FG_PROTECT_PARITY 0
#define FG_PROTECT_VPROT 1
#define FG_PROTECT_INELIGIBLE 2
#define FG_SHRINK_NONE 0
#define FG_SHRINK_SHORT 1
#define FG_SHRINK_FAILED 2
#define FG_SHRINK_ALWAYS 3
#define FG_REWEIGHT_LAG 0
#define FG_REWEIGHT_PLACE 1
#define FG_REWEIGHT_SELF_OUT 2
#define FG_REWEIGHT_EXACT 3
#define FG_GROUP_SHARES_SMP 0
#define FG_GROUP_SHARES_UP 1
#define FG_GROUP_SHARES_CONCUR 2
#define FG_GROUP_SHARES_MAX 3
#define FG_GROUP_SHARES_TASKS 4
#define FG_WEIGHT_BITS_10 0
#define FG_WEIGHT_BITS_20 1
#define FG_LAG_CLAMP_OWN 0
#define FG_LAG_CLAMP_QUEUE 1
#define FG_HRTICK_OFF 0
#define FG_HRTICK_RAN 1
#define FG_HRTICK_DEADLINE 2
#define FG_PREEMPT_MODEL_FULL 0
#define FG_PREEMPT_MODEL_LAZY 1
#define FG_THROTTLE_GROUP 0
#define FG_THROTTLE_TASK 1
#define FG_THROTTLE_EARLY 2
#define FG_FAIR_SERVER_OFF 0
#define FG_FAIR_SERVER_V612 1
#define FG_FAIR_SERVER_V617 2
#define FG_FAIR_SERVER_V618 3
#define FG_FAIR_SERVER_V619 4
#define FG_RQ_CFS 0
#define FG_RQ_EEVDF 1
#define FG_RQ_EEVDF612 2

/* 1: there is code for this value of this feature, see features.h. */
fg_bool fg_feature_ready(u32 id, u32 value);

struct fg_mask {
	u64 bits[FG_MASK_WORDS];
};

/* A PELT signal. Sums in 1024 ns units as spec 2.2; load 0 and the like where an object has no such part. */
struct fg_avg {
	/* What others read, then what only an update needs: each half a cache line. */
	u64 load_avg;
	u64 runnable_avg;
	u64 util_avg;
	u32 period_contrib;	/* 0..1023 */
	u32 pad;
	u64 last_update;	/* ns of the signal's own clock */
	u64 load_sum;
	u64 runnable_sum;
	u64 util_sum;
};

struct fg_util_est {
	u32 enqueued;
	u32 ewma;
};

/* Scheduling policies, numbered as the kernel does. */
#define FG_SCHED_OTHER 0
#define FG_SCHED_FIFO 1
#define FG_SCHED_RR 2
#define FG_SCHED_BATCH 3
#define FG_SCHED_IDLE 5

/* fg_task.flags */
#define FG_TASK_PERCPU_KTHREAD 1
#define FG_TASK_EXITING 2
#define FG_TASK_EST_CURRENT 4	/* util_avg not updated since the last dequeue */
#define FG_TASK_NEW 8		/* never enqueued yet; the caller sets it at birth, fg_enqueue_entity clears it */
#define FG_TASK_MIGRATED 16	/* its averages are on no run queue; the next enqueue attaches them */
#define FG_TASK_DELAYED 32	/* asleep, but still queued until its debt is paid (spec 9.2) */
#define FG_TASK_PROTECTED 64	/* may finish the slice it was picked for */
#define FG_TASK_REL_DEADLINE 128	/* off the queue: deadline is relative to vruntime */
#define FG_TASK_ASKED_MIN 256	/* uclamp_req_min is its own request, not what tasks of its class have by default */
#define FG_TASK_ASKED_MAX 512
#define FG_TASK_CACHE_WORK 1024	/* fg_task_cache_work() is due at its return to user mode */
#define FG_TASK_THROTTLE_WORK 2048	/* its group is throttled: it leaves at its return to user mode, if that is still so then */
#define FG_TASK_THROTTLED 4096	/* it has done so, and is runnable but on no queue: the caller's to set */

/* What a CPU has run of a process lately, halved every epoch (sched_cache_time; spec-new 6.2). */
struct fg_cache_time {
	u64 runtime;		/* ns */
	u64 epoch;		/* of the CPU, as of the last update */
};

/* An address space whose threads sched-cache gathers (sched_cache_group, spec-new 6.1). */
struct fg_process {
	struct fg_cache_time *cpus;	/* nr_cpus of them */
	u64 epoch;		/* of the CPU whose tick planned the last scan */
	u64 next_scan;		/* jiffies */
	u64 nr_running_avg;	/* threads that had a CPU when it was scanned */
	s32 cpu;		/* the preferred CPU: its cache is preferred; -1: none */
	u32 nr_threads;
	u32 id;			/* the caller's number of it */
	u32 pad;
};

struct fg_task {
	u32 id;
	s32 cpu;		/* where it is or last was queued */
	s32 recent_used;	/* recent_used_cpu */
	u32 flags;
	u8 policy;
	u8 on_rq;		/* queued or current */
	u8 on_cpu;		/* current somewhere */
	u8 rt_prio;
	s32 nice;
	u32 uclamp_min;		/* in force: the request within what group and system allow, see fg_uclamp_update() */
	u32 uclamp_max;
	u32 uclamp_req_min;	/* requested */
	u32 uclamp_req_max;
	u32 nr_allowed;
	u32 max_allowed_capacity;	/* largest orig(c) among the allowed CPUs */
	u32 uclamp_active;	/* its clamps are counted in its run queue */
	u32 weight;		/* load weight, 1024 at nice 0 */
	u32 last_wakee;		/* id + 1, 0: none */
	u32 wakee_flips;
	struct fg_tg *tg;	/* the task group that it is in, null: the root group */
	u64 shares;		/* of an entity that is a group: weight in 1024ths; of a task 0 */
	u64 h_load;		/* of a task, with flat-pick: the weight that orders it, in 1024ths: its part of the CPU (spec-new 3.1) */
	u32 preferred_llc;	/* sched-cache: sd_llc_id of the preferred cache + 1, 0: none; as counted in the run queue */
	u32 pref_llc_queued;	/* the CPU that it is queued on is behind that cache */
	struct fg_process *process;	/* null: a kernel thread or an exiting task, or nobody asks */
	u64 wakee_flip_ts;	/* ns */
	struct fg_avg avg;
	struct fg_util_est est;
	u64 vruntime;
	u64 deadline;		/* EEVDF, in virtual time */
	s64 vlag;		/* EEVDF, off the queue: V - vruntime when it left; delay-lag: delayed, when it fell asleep */
	u64 vprot;		/* EEVDF, current: the vruntime up to which it is protected (protect=vprot and later) */
	u64 custom_slice;	/* ns asked for by sched_setattr(), 0: none */
	u64 exec_start;		/* rq clock_task, ns; 0: cold */
	u64 sum_exec;		/* ns */
	u64 prev_sum_exec;	/* sum_exec when it was last picked */
	struct fg_mask allowed;
	u64 pad;		/* whole lines */
};

#define FG_UCLAMP_MIN 0
#define FG_UCLAMP_MAX 1
#define FG_NR_UCLAMPS 2
#define FG_UCLAMP_BUCKETS 20	/* room; how many are in use is for uclamp-buckets to say */

struct fg_clamps {
	u32 min;		/* 0..1024 */
	u32 max;
};

/* Runnable tasks whose clamp lies in one of the equal parts of the scale. */
struct fg_uclamp_bucket {
	u32 value;		/* largest clamp since it was last empty */
	u32 tasks;
};

/* A clamp of a run queue: the largest among its runnable tasks, as the buckets know it (spec 2.8). */
struct fg_uclamp {
	u32 value;
	struct fg_uclamp_bucket bucket[FG_UCLAMP_BUCKETS];
};

/*
 * Where entities compete for a CPU (spec 9): the tasks of the root group and the other groups, or the tasks of a group.
 * The buddies are entities of this queue.
 */
struct fg_queue {
	u64 load_weight;	/* of queued entities, the current one included */
	u64 min_vruntime;
	u64 sum_weight;		/* EEVDF: of those that compete here, with weight-bits=20 in 1024ths; with flat-pick all tasks of the CPU do */
	s64 avg_vruntime;	/* EEVDF: sum of weight * (vruntime - min_vruntime) of the same */
	struct fg_task *next;	/* next buddy */
	struct fg_task *last;	/* last buddy */
	struct fg_task *skip;	/* skip buddy */
	u64 min_slice;		/* EEVDF, ns: the shortest and the longest slice of the queued entities; */
	u64 max_slice;		/* both 0: none of them asks for a slice */
};

/*
 * A task group on one CPU: an entity of the queue of the group around it, or of the CPU's, and a queue of what is in it:
 * tasks and groups. The entity's id is the group's, its tg the group around it; on_cpu: one of its tasks has the CPU, on_rq:
 * it is queued (or has the CPU), as of a task.
 */
struct fg_tg_cpu {
	struct fg_tg *group;
	struct fg_queue queue;
	struct fg_task entity;
	struct fg_avg avg;	/* the cfs signal of the queue */
	u64 load_shares;	/* queue.load_weight in 1024ths, without rounding each weight */
	u32 h_nr_running;	/* tasks in it and in groups within it, queued or current */
	u32 h_nr_delayed;	/* of these asleep */
	u32 idle_h_nr_running;	/* of these SCHED_IDLE, or in a group within it that has cpu.idle */
	u32 runnable;		/* those awake, as the entity's signal counts them */
	u32 propagate;		/* avg got or lost something that the entity's does not know of yet */
	u32 pad;
	s64 propagate_sum;	/* load_sum of that, without weights */
	u32 removed_nr;		/* as in fg_cpu */
	s32 nr_nested;		/* as in fg_cpu, of queue */
	u64 removed_load;
	u64 removed_runnable;
	u64 removed_util;
	u64 contribution;	/* load_avg as it stands in the group's */
	u64 runnable_contribution;	/* the same of runnable_avg, with flat-pick */
	u64 contributed;	/* ns, clock of the CPU when that changed last */
	u64 h_load;		/* as in fg_cpu: the group's part of the CPU's load_avg */
	u64 h_load_stamp;
	s64 runtime_remaining;	/* ns that its tasks may run here until more of the quota is to be asked for; no quota: unused */
	u64 throttled_seq;	/* place among the throttled queues of the group, 0: it is not throttled */
	u64 throttled_clock_pelt;	/* the signals' clock when it stopped for the queue, */
	u64 throttled_clock_pelt_time;	/* and how long it has stood in all before that, ns */
	u64 throttled_pelt_idle;	/* the latter when the queue became empty; ~0: it stood then */
	u32 throttled;		/* the quota is used up */
	u32 pelt_clock_throttled;	/* the clock of the signals stands: throttled, with throttle=task only while nothing is queued */
	u32 pad2;
	u32 throttle_count;	/* how many of it and the groups around it are throttled here */
};

/*
 * cpu.max: the quota of a group (cfs_bandwidth). Each period a timer fills the pool; the queues of the group take slices
 * from it. The caller has the timers: when asked is set, it sets the timers anew that are active, on the CPU that it is on.
 */
struct fg_bandwidth {
	u64 quota;		/* ns of CPU time in each period, 0: no limit */
	u64 period;		/* ns, at least 1 while there is a quota */
	u64 burst;		/* ns that may be left over from earlier periods */
	u64 runtime;		/* ns in the pool */
	u64 expires;		/* when the period timer expires next, or did last; ns */
	u64 slack_expires;	/* the same of the slack timer */
	u64 last_seq;		/* of the queue that was throttled last */
	u32 nr_throttled;	/* queues */
	u32 idle;		/* nobody took from the pool since the period began */
	u32 period_active;	/* the period timer is set, */
	u32 slack_active;	/* and the slack timer */
	u32 asked;		/* one of them is to be set: the caller's to clear */
	u32 pad;
};

/* A task group that competes as one. */
struct fg_tg {
	struct fg_tg_cpu *cpus;	/* nr_cpus of them */
	struct fg_tg *parent;	/* the group around it, null: the root group */
	u32 depth;		/* number of groups around it */
	u32 idle;		/* cpu.idle: to others around it its tasks are SCHED_IDLE */
	u64 shares;		/* its weight while all of it is on one CPU, in 1024ths: 1024 * 1024 for a cpu.weight of 100 */
	u64 load_avg;		/* sum over the CPUs */
	u64 runnable_avg;	/* the same, with flat-pick */
	struct fg_bandwidth bandwidth;
};

/* What CPUs behind one last-level cache share, or those of an asymmetric domain (sched_domain_shared). */
struct fg_llc {
	u32 nr_busy_cpus;
	u32 has_idle_cores;
	u32 nr_idle_scan;
	u32 pad;
	u64 util_avg;		/* sched-cache, of a cache: the sum of utilization that a pass above it recorded last, */
	u64 capacity;		/* and its capacity then */
};

/* A cluster of CPUs, as wakeups look for it: larger than a core, smaller than what shares the last-level cache. */
struct fg_cluster {
	struct fg_mask span;
	u32 weight;		/* CPUs in span */
	u32 pad;
};

/* Domain flags. */
#define FG_SD_BALANCE_NEWIDLE 0x0001
#define FG_SD_BALANCE_EXEC 0x0002
#define FG_SD_BALANCE_FORK 0x0004
#define FG_SD_BALANCE_WAKE 0x0008
#define FG_SD_WAKE_AFFINE 0x0010
#define FG_SD_ASYM_CPUCAPACITY 0x0020
#define FG_SD_ASYM_CPUCAPACITY_FULL 0x0040
#define FG_SD_SHARE_CPUCAPACITY 0x0080
#define FG_SD_CLUSTER 0x0100
#define FG_SD_SHARE_LLC 0x0200
#define FG_SD_SERIALIZE 0x0400
#define FG_SD_ASYM_PACKING 0x0800
#define FG_SD_PREFER_SIBLING 0x1000
#define FG_SD_OVERLAP 0x2000
#define FG_SD_NUMA 0x4000

/* Levels, bottom to top; NUMA levels count up from FG_LEVEL_NUMA. */
#define FG_LEVEL_SMT 0
#define FG_LEVEL_CLS 1
#define FG_LEVEL_MC 2
#define FG_LEVEL_PKG 3
#define FG_LEVEL_NUMA 4

/* What statistics of groups add up of CPUs (spec 6.3), see fg_cpu_sums(). */
struct fg_sums {
	u64 load;
	u64 util;
	u64 runnable;
	u32 h_nr;		/* fair tasks */
	u32 nr;			/* tasks that count as making a group busy: fair ones, with lb-p05 those of all classes */
	u32 idle_cpus;
	u32 crowded_cpus;	/* with more than one task */
	u32 overutilized_cpus;
	u32 squeezed_cpus;	/* with one fair task, and clearly less capacity than they were built for */
};

struct fg_group {
	struct fg_group *next;	/* ring; a domain's first group is the local one */
	struct fg_sums *sums;	/* over all its CPUs, kept current by the caller; null: the policy reads each CPU */
	u32 weight;
	u32 flags;		/* of the child domain it was made from, 0 for single CPUs */
	u64 capacity;		/* spec 1.8, sum of its CPUs */
	u64 min_capacity;
	u64 max_capacity;
	u64 next_update;	/* jiffies */
	s32 balance_cpu;	/* of a group of one CPU that one */
	s32 asym_prefer_cpu;
	u32 imbalance;		/* flag of spec 6.5 */
	u32 cores;
	struct fg_mask span;
	struct fg_mask balance_mask;
};

/* What a group of one CPU can be to a pass, by its sums. */
#define FG_RING_NONE 0		/* without fair tasks: not the busiest */
#define FG_RING_SPARE 1		/* with capacity left */
#define FG_RING_FULL 2		/* fully busy */
#define FG_RING_OVER 3		/* overloaded */
#define FG_RING_READ 4		/* has to be looked at whatever the others are like */
#define FG_NR_RING_CLASSES 5

/* The caller sets the first block, fg_ring_place() the rest. */
struct fg_ring_place {
	u64 capacity;		/* of the group, at least 1 */
	u32 imbalance;		/* of the group */
	u32 imbalance_pct;	/* of the domain */

	u64 rank;		/* among those of its class: the busiest has the highest */
	u32 class;		/* FG_RING_* */
	u32 pad;
};

/*
 * Groups of one CPU each, by what they can be to a pass, so that it looks at few of them. All is kept current by the
 * caller, but for `look`.
 */
struct fg_ring {
	struct fg_sums sums;	/* over all its CPUs */
	u64 capacity;		/* sum of those of the places */
	struct fg_mask of_class[FG_NR_RING_CLASSES];
	struct fg_mask look;	/* of fg_find_busiest(), while it runs */
	u64 rank[FG_NR_CPUS];	/* by CPU */
	struct fg_group *group[FG_NR_CPUS];	/* by CPU */
};

struct fg_domain {
	struct fg_domain *parent;
	struct fg_domain *child;
	struct fg_group *groups;
	struct fg_ring *ring;	/* the groups, if all are single CPUs; null: a pass looks at each */
	struct fg_llc *shared;	/* set where this is the sd_llc or, with balance-shared, the sd_asym_cpucapacity of its CPUs */
	u32 level;
	u32 flags;
	u32 weight;		/* CPUs in span */
	u32 imbalance_pct;
	u32 busy_factor;
	u32 cache_nice_tries;
	u32 min_interval;	/* ms */
	u32 max_interval;	/* ms */
	u32 balance_interval;	/* ms */
	u32 nr_balance_failed;
	u32 imb_numa_nr;
	u32 nr_groups;
	u64 last_balance;	/* jiffies */
	u64 max_newidle_lb_cost;	/* ns */
	u64 next_decay;		/* jiffies */
	u32 newidle_call;	/* newidle-fail=random: tries and successes of newly idle balancing since the last count, */
	u32 newidle_success;
	u32 newidle_ratio;	/* and successes of 1024 tries as last counted */
	u32 pad;
	u64 newidle_stamp;	/* ns: when they were last counted, or 0 (newidle-fail=rate) */
	u64 avg_scan_cost;	/* ns */
	struct fg_mask span;
};

/* An operating point as the energy model knows it (spec 8.2). */
struct fg_opp {
	u64 power;		/* uW, one CPU that never idles */
	u64 cost;		/* of busy time: only comparable within a machine and a version */
	u32 khz;
	u32 performance;	/* 1..1024, of the same scale as capacities */
	u32 inefficient;	/* a faster one costs no more: may be passed over */
	u32 pad;
};

/* The energy model of the CPUs on one clock. The caller sets span, nr_opps and opps with khz and power, slowest first. */
struct fg_em {
	struct fg_opp *opps;
	u32 nr_opps;		/* at least 1 */
	u32 pad;
	struct fg_mask span;
};

/* What schedutil knows of a clock; set up by fg_sugov_start(). */
struct fg_sugov {
	struct fg_em *em;	/* its operating points and CPUs */
	u64 delay;		/* ns between two changes */
	u64 last_change;	/* ns, clock of the CPU that asked */
	u32 raw_khz;		/* what was computed last, before an operating point was chosen */
	u32 khz;		/* what was asked for last, 0: nothing yet */
	u32 max_khz;		/* cpufreq's maximum */
	u32 shared;		/* by more than one CPU */
	u32 limits_changed;
	u32 need_update;	/* limits changed, and the next change has to heed it */
	u32 asked;		/* khz is to be given to the clock: the caller's to clear */
	u32 pad;
};

/* What schedutil knows of a CPU. */
struct fg_sugov_cpu {
	u64 last_update;	/* ns, when its utilization was last said to have changed */
	u64 idle_calls;		/* as of the last time a clock of this CPU alone was considered */
	u32 iowait_boost;	/* 0, or 128..1024 */
	u32 iowait_pending;	/* a task came back from I/O since it was last applied */
	u32 min;		/* minimum of its last request: what was promised to deadline servers is in it */
	u32 pad;
};

/* A performance domain of a partition: the list is in the order of the kernel's, the clock of the last CPU first. */
struct fg_pd {
	struct fg_pd *next;
	struct fg_em *em;
};

/* What a partition (root domain) shares. */
struct fg_root {
	struct fg_mask span;
	u64 max_cpu_capacity;
	u32 overload;
	u32 overutilized;
	struct fg_pd *pd;	/* null: wakeups here are not energy-aware (spec 1.11) */
};

/* fg_server.flags */
#define FG_SERVER_ACTIVE 1	/* it was started: there are fair tasks, or were lately */
#define FG_SERVER_THROTTLED 2	/* it waits for its timer; active without this, fair tasks come before RT tasks */
#define FG_SERVER_ARMED 4	/* it waits to begin (zero laxity), not for more runtime */
#define FG_SERVER_RUNNING 8	/* it has begun, and fair tasks have not used up a period's runtime without it since */
#define FG_SERVER_IDLE 16	/* v619: the last period's runtime was used up by idleness */

/* The deadline server of the fair tasks of a CPU (rq->fair_server; spec-new 2.9). The caller has the timer, while RT tasks are queued. */
struct fg_server {
	u64 deadline;		/* ns, clock of the CPU: when the period ends */
	s64 runtime;		/* ns, left of the period's; negative: used in advance */
	u64 expires;		/* ns, clock of the CPU: when the timer expires, 0: it is not set */
	u64 idle_since;		/* ns, clock_task: since when the idle task, if it is current, was not charged */
	u32 flags;		/* FG_SERVER_* */
	u32 asked;		/* a reschedule, for it started beside an RT task: the caller's to clear */
};

/*
 * A run queue and what is known of its CPU, in lines of a cache: the storage begins at a multiple of 64 bytes, and so
 * does each element, for their size is one.
 */
struct fg_cpu {
	/* What scans and statistics read of every CPU comes first, within one line. */
	s32 id;
	u32 nr_running;		/* all classes */
	u32 h_nr_running;	/* fair tasks */
	u32 idle_h_nr_running;	/* of these SCHED_IDLE, or in a group that is */
	u8 curr_is_idle;	/* the idle task is current */
	u8 ttwu_pending;	/* a remote wakeup is on its way */
	u8 tick_stopped;
	u8 idle_balance;	/* idle at the last tick */
	u32 est_enqueued;
	u32 cpu_capacity_orig;	/* orig(c), 1..1024 */
	u32 cpu_capacity;	/* cap(c) */
	struct fg_avg cfs;

	/* What nearly every event on the CPU reads or writes: three lines with the rest of cfs. */
	u32 h_nr_delayed;	/* of h_nr_running asleep, FG_TASK_DELAYED */
	u32 rt_nr_running;
	u32 removed_nr;
	u32 freq_scale;		/* current / top frequency, 1..1024 */
	struct fg_task *curr;	/* current fair or RT task, null while idle or stopper */
	u64 misfit_task_load;

	u64 clock;		/* ns */
	u64 clock_task;		/* minus interrupts */
	u64 clock_pelt;		/* scaled by capacity and frequency while busy */
	u64 lost_idle_time;
	u64 clock_idle;		/* clock and the signals' clock when the idle CPU was last brought up to date */
	u64 clock_pelt_idle;
	u64 prev_irq_ns;	/* interrupt time seen at the last clock update */
	struct fg_root *rd;

	struct fg_queue fair;

	struct fg_domain *sd;	/* lowest domain, null if isolated */
	struct fg_llc *llc;	/* of sd_llc */
	struct fg_llc *balance_shared;	/* what has has_idle_cores and nr_busy_cpus: with balance-shared of sd_asym_cpucapacity, else llc */
	s32 nr_nested;		/* h_nr_running less it: entities on this level, a group being one */
	u32 pad0;
	u64 idle_stamp;		/* ns, 0 while busy */
	u64 avg_idle;

	/* Further members for going idle, ticks and the balance pass. */
	u64 max_idle_balance_cost;	/* ns */
	u64 wake_avg_idle;	/* ns, what wakeups may still spend on scans (v5.14) */
	u64 wake_stamp;		/* jiffies, when it was right */
	u64 next_balance;	/* jiffies */
	u64 last_blocked;	/* jiffies of the last blocked update */
	u32 has_blocked_load;
	s32 idle_state;		/* index, -1: none recorded */
	u64 idle_exit_latency;	/* ns, of the recorded state */
	u64 idle_residency;	/* ns */

	u64 break_even;		/* ns: when the recorded state breaks even; kept when the state is cleared */
	u64 idle_calls;		/* how often the CPU went idle with its tick to be stopped */
	struct fg_sugov *sugov;	/* null: schedutil does not set its clock */
	u32 active_balance;	/* the stopper is on its way to push a task of this CPU away */
	s32 push_cpu;		/* where to */
	u64 removed_load;
	u64 removed_runnable;
	u64 removed_util;
	u64 h_load;		/* cfs.load_avg as task_h_load() has it: renewed on use, at most once a jiffy */

	u64 h_load_stamp;	/* jiffy + 1 of its renewal, 0: never */
	struct fg_domain *sd_llc;
	struct fg_domain *sd_asym_cpucapacity;
	struct fg_cluster *cluster;	/* null: none; whether clusters are domains or not */
	s32 sd_llc_id;
	u32 sd_llc_size;
	s32 sd_share_id;
	u32 idle_last_wakee;	/* the idle task as a waker: as in fg_task */
	u64 idle_wakee_flip_ts;	/* ns */
	u32 idle_wakee_flips;
	u32 dl_bw;		/* of 1024, promised to deadline servers that are active (cpu_bw_dl); v6.12 has one for fair tasks */

	struct fg_avg rt;
	struct fg_avg dl;
	struct fg_avg irq;
	struct fg_avg thermal;
	struct fg_avg queued;	/* load_sum and load_avg of queued tasks alone (runnable_load_avg), if a feature asks */

	struct fg_sugov_cpu sugov_cpu;
	u32 cpu_capacity_inverted;	/* inv(c), 0: not inverted */
	/* Capacity that limits of the clock take now, see fg_set_frequency_limits(). */
	u32 thermal_pressure;	/* tp(c): hardware and cooling devices, as reported up to v6.9 */
	u32 hw_pressure;	/* hardware alone, as reported since v6.10 */
	u32 cpufreq_pressure;	/* cpufreq's maximum */
	s32 pd;			/* performance domain: lowest CPU on the same clock */
	u32 uclamp_idle;	/* the maximum is that of the last task that left; initially 1 */
	struct fg_uclamp uclamp[FG_NR_UCLAMPS];	/* maximum initially 1024 */
	struct fg_mask core;	/* SMT siblings with itself, online ones */
	struct fg_domain *sd_numa;

	/* sched-cache, spec-new 6.1 */
	u64 cpu_runtime;	/* ns: what the CPU has run of all processes lately */
	u64 cpu_epoch;
	u64 cpu_epoch_next;	/* jiffies */
	u32 *llc_counts;	/* by sd_llc_id: queued tasks that prefer this cache; null: nobody counts */
	u32 nr_pref_llc_running;	/* queued tasks that the CPU is the right one for; cache-runnable: that are awake */
	u32 push_llc;		/* active_balance is for tasks that prefer the cache of push_cpu (cache-alb) */
	const struct fg_mask *node;	/* cpumask_of_node; null: that is the highest domain below NUMA */
	u32 counted_idle;	/* balance_shared counts it as idle (sd->nohz_idle) */
	u32 pad1;
	u64 pad[2];

	struct fg_server server;
	/* Whole lines: the next CPU's state begins with one. */
	u64 pad2[2];
};

/* sched-cache: the static key sched_cache_active, and the files of sched/llc_balancing in debugfs. */
struct fg_llc_balancing {
	u32 active;		/* sched-cache is on, some partition has several caches, and `enabled` says so */
	u32 aggr_tolerance;	/* 0..100: how many threads are too many for a cache; 0: any, 100: none */
	u32 epoch_period;	/* jiffies */
	u32 epoch_affinity_timeout;	/* epochs without a scan after which a process prefers no cache */
	u32 imb_pct;		/* how much busier the preferred cache may be */
	u32 overaggr_pct;	/* utilization up to which a cache has room, for CPUs with SMT */
	u32 smt_threads;	/* most threads of a core */
	u32 pad;
};

/* The machine and the version under test. */
struct fg_sys {
	struct fg_cpu *cpus;	/* nr_cpus of them */
	u32 nr_cpus;
	u32 hz;
	u8 asym_key;		/* some partition has an ASYM_CPUCAPACITY domain */
	u8 smt_key;
	u8 cluster_key;
	u8 uclamp_used;
	u32 nohz_has_blocked;
	u64 nohz_next_balance;	/* jiffies */
	u64 nohz_next_blocked;	/* jiffies */
	u32 nohz_nr_cpus;
	u32 nohz_needs_update;	/* a tick stopped since nohz_next_balance was collected (v5.16) */
	u32 eas;		/* some partition has performance domains: wakeups may be energy-aware (spec 1.11) */
	u32 uclamp_min_rt;	/* sched_util_clamp_min_rt_default: the minimum of RT tasks that ask for none */
	struct fg_clamps uclamp_limit;	/* sched_util_clamp_min and _max: no task has more */
	struct fg_tg *tgs;	/* nr_tgs task groups, each before the group around it */
	u32 nr_tgs;		/* at most FG_MAX_TGS */
	u32 nr_offline;		/* CPUs that are offline */
	u32 scaled_offline;	/* that were so when the tunables were scaled last (update_sysctl) */
	u32 pad;
	struct fg_llc_balancing llc_balancing;
	struct fg_mask nohz_idle;	/* CPUs whose tick is stopped */
	struct fg_mask active;
	struct fg_features feat;
};

/* ---- placement ---------------------------------------------------------------------------------------------- */

#define FG_WF_EXEC 0x02
#define FG_WF_FORK 0x04
#define FG_WF_TTWU 0x08
#define FG_WF_SYNC 0x10
#define FG_WF_CURRENT_CPU 0x40	/* the wakee is to run where its waker does (v6.6) */
#define FG_WF_IRQ 0x100		/* from interrupt context */
#define FG_WF_SUMS 0x200	/* the sums of groups are current (the caller's own) */

/* Rules, named in rules.h. */
enum fg_rule_id {
#define FG_RULE(id, name, function, label, text) FG_RULE_##id,
#include "rules.h"
#undef FG_RULE
	FG_NR_RULES
};

/* What a placement looked at on its way, in words in notes.h. */
enum fg_note_id {
#define FG_NOTE(id, text) FG_NOTE_##id,
#include "notes.h"
#undef FG_NOTE
	FG_NR_NOTES
};

struct fg_note {
	u16 id;			/* enum fg_note_id */
	u16 rule;		/* enum fg_rule_id, the one being tried */
	s32 cpu;		/* {cpu} of the text; -1: none */
	u64 a;			/* {a}, {b}, {c} of the text */
	u64 b;
	u64 c;
};

#define FG_MAX_WHY 1024

/* Filled by a placement if reasons are wanted, oldest first. The caller empties it. */
struct fg_why {
	u32 nr;
	u32 lost;		/* notes that did not fit in */
	struct fg_note note[FG_MAX_WHY];
};

/* Why a fair task runs, named in pick_rules.h. */
enum fg_pick_rule_id {
#define FG_PICK_RULE(id, name, function, label, text) FG_PICK_RULE_##id,
#include "pick_rules.h"
#undef FG_PICK_RULE
	FG_NR_PICK_RULES
};

/* The arguments of a placement besides the task. */
struct fg_wake {
	const struct fg_task *current;	/* current of this_cpu (interrupted or not), null while it idles */
	u64 now;		/* ns, clock of this_cpu; its jiffy is now's (wake_stamp) */
	s32 this_cpu;
	u32 flags;		/* FG_WF_* */
	struct fg_why *why;	/* null: no reasons are wanted, nothing is noted */
};

/* fg_verdict.writes: what the caller is to commit. */
#define FG_W_SYNC 0x01		/* decay p to its run queue's last update */
#define FG_W_RECENT 0x02	/* p.recent_used = recent_used */
#define FG_W_WAKER_RECENT 0x04	/* the waker's recent_used = this_cpu */
#define FG_W_NO_IDLE_CORES 0x08	/* has_idle_cores of target's LLC = 0 */
#define FG_W_SCAN_COST 0x10	/* this CPU's sd_llc.avg_scan_cost and wake_avg_idle take scan_ns in */
#define FG_W_RECORD 0x20	/* record_wakee of the waker */
#define FG_W_H_LOAD_PREV 0x40	/* h_load of p's run queue was used and is as of now */
#define FG_W_H_LOAD_THIS 0x80	/* the same of this CPU's */

struct fg_verdict {
	s32 cpu;
	u32 rule;		/* enum fg_rule_id */
	u32 writes;		/* FG_W_* */
	s32 recent_used;
	s32 target;		/* what wake_affine left */
	u32 target_rule;	/* enum fg_rule_id: how wake_affine chose it; FG_RULE_NONE: it was not asked */
	u32 probes;		/* CPUs probed in scans and early checks */
	u32 scanned;		/* of these, in the scan of the LLC for a free CPU: what is timed */
	u32 group_cpus;		/* CPUs looked at in group statistics */
	u32 energy_cpus;	/* CPUs whose utilization went into an estimate of energy, each time */
	u32 pad;
};

/*
 * Where p goes. p->cpu is prev (at a fork the parent's CPU). Exactly one of FG_WF_EXEC, FORK and TTWU is set.
 * Writes nothing but *v, and *w->why if there is one.
 */
void fg_select_task_rq(const struct fg_sys *sys, const struct fg_task *p, const struct fg_wake *w,
		       struct fg_verdict *v);
/*
 * Carries out v->writes, before fg_migrate_task. scan_ns: what the timed scan took, ns. waker is the same task as
 * w->current, null while this_cpu idles: then the idle task's wakees are recorded in fg_cpu.
 */
#ifndef __bpf__
void fg_commit_select(struct fg_sys *sys, struct fg_task *p, FG_NULLABLE struct fg_task *waker, const struct fg_wake *w,
		      const struct fg_verdict *v, u64 scan_ns);
#endif
/* The same in two steps of at most five arguments, which is what BPF can pass: all but the scan cost, the scan cost. */
void fg_commit_writes(struct fg_sys *sys, struct fg_task *p, FG_NULLABLE struct fg_task *waker, const struct fg_wake *w,
		      const struct fg_verdict *v);
void fg_commit_scan(struct fg_sys *sys, const struct fg_wake *w, const struct fg_verdict *v, u64 scan_ns);

/* ---- clocks and signals ------------------------------------------------------------------------------------- */

/* Brings clock, clock_task, clock_pelt and the irq signal up to now. irq_ns: interrupt time of the CPU so far. */
void fg_update_rq_clock(const struct fg_sys *sys, struct fg_cpu *rq, u64 now, u64 irq_ns);
/*
 * One PELT step on the sums (spec 2.2); returns 1 if a period ended, and then the caller renews the averages with
 * fg_pelt_averages. weight: of load_avg, 1 for a run queue.
 */
fg_bool fg_pelt_update(struct fg_avg *sa, u64 now, u64 load, u32 runnable, fg_bool running);
void fg_pelt_averages(struct fg_avg *sa, u64 weight);
u64 fg_decay_load(u64 val, u64 n);
/*
 * rt, dl, irq and thermal signals and blocked load of an idle or busy CPU; returns 1 while something decays, and
 * clears has_blocked_load when nothing does. The caller notes last_blocked.
 */
fg_bool fg_update_blocked_averages(const struct fg_sys *sys, struct fg_cpu *rq);
/* The frequency limits of a CPU's clock, kHz; a member that does not limit it equals top. */
struct fg_frequency_limits {
	u32 top;		/* highest operating point */
	u32 hardware;		/* what the hardware keeps to on its own */
	u32 cooling;		/* what cooling devices allow */
	u32 policy;		/* cpufreq's maximum: what cooling devices and the user allow */
};

/* The limits are these from now on: the pressures of spec 2.7. */
void fg_set_frequency_limits(struct fg_cpu *rq, const struct fg_frequency_limits *limits);
/* The thermal signal, at every tick whatever runs (fg_entity_tick does it for fair tasks). */
void fg_update_thermal(const struct fg_sys *sys, struct fg_cpu *rq);
/* Load and util of a task born on rq (spec 2.5), attached to it; after the choice of the CPU, before the enqueue. */
void fg_post_init_util(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p);
u64 fg_task_util_est(const struct fg_sys *sys, const struct fg_task *p);
u64 fg_cpu_util(const struct fg_cpu *rq);
/* The same for the choice of a clock and of a queue to take from: what waits counts as utilization (v6.5). */
u64 fg_cpu_util_boost(const struct fg_sys *sys, const struct fg_cpu *rq);

/* ---- the fair run queue (spec 9); the caller keeps the tree --------------------------------------------------- */

/*
 * The policy keeps, for fair tasks: p->on_rq, on_cpu, vruntime, deadline, vlag, exec_start, sums, averages and estimate; of
 * the run queue nr_running, h_nr_running, idle_h_nr_running, h_nr_delayed, load_weight, min_vruntime, avg_vruntime, curr,
 * buddies, est_enqueued, the cfs signal, the clamps, misfit_task_load, rd->overload and rd->overutilized. The caller keeps the tree,
 * p->cpu, curr_is_idle, ttwu_pending and whatever belongs to RT tasks (their nr_running and curr included). Clocks are
 * brought up to date (fg_update_rq_clock) before any of these calls. Sequences:
 *
 *   fork	fg_task_fork on the parent's run queue, fg_select_task_rq, p->cpu, fg_post_init_util, then enqueue
 *   enqueue	fg_update_curr, fg_enqueue_entity, tree insert; fg_update_curr if fg_charges_at_wakeup; fg_check_preempt_wakeup
 *   dequeue	fg_update_curr, tree remove unless current, fg_dequeue_entity, fg_update_min_vruntime; who goes to sleep
 *		is current, and may still be on_rq after it (FG_TASK_DELAYED)
 *   switch	fg_update_curr, fg_pick_entity; if it is FG_TASK_DELAYED: dequeue with SLEEP | DELAYED, and again; if it
 *		is not the current one: fg_put_prev_entity, tree insert if still on_rq, tree remove of the next,
 *		fg_set_next_entity; if it is: fg_clear_buddies
 *   wake elsewhere	fg_commit_select, fg_migrate_task(old), fg_migrate_lag(old), p->cpu, enqueue with WAKEUP | MIGRATED
 *   wake delayed	no choice of a CPU: with delay-charge fg_update_curr; tree remove, fg_requeue_delayed, tree insert,
 *		fg_check_preempt_wakeup
 *   move	dequeue with MOVE, p->cpu, enqueue with flags 0
 *
 * CFS orders the tree by vruntime: below, left and first are the leftmost queued entity, second the next. EEVDF orders
 * it by deadline: first is the first of those whose vruntime is not beyond fg_avg_vruntime, the others are not asked
 * for. Each may be null, and none is the current task.
 */

/* enqueue flags */
#define FG_ENQUEUE_WAKEUP 1
#define FG_ENQUEUE_MIGRATED 2	/* with WAKEUP: p slept on another CPU */
#define FG_ENQUEUE_INITIAL 4	/* first time; without WAKEUP */
#define FG_ENQUEUE_IOWAIT 8	/* with WAKEUP: p waited for I/O */
#define FG_DEQUEUE_SLEEP 1
#define FG_DEQUEUE_MOVE 2	/* leaves for another run queue while runnable */
#define FG_DEQUEUE_DELAYED 4	/* with SLEEP: p is FG_TASK_DELAYED, and stays no longer */
#define FG_DEQUEUE_CLASS 8	/* with DELAYED: because p leaves the fair class, not because it was picked */
#define FG_DEQUEUE_SPECIAL 16	/* with SLEEP: it does not stay, delayed */
#define FG_DEQUEUE_SAVE 32	/* it comes back at once to where it was: the caller leaves min_vruntime as it is */

/* V of a queue (spec 9.2), rounded down: up to here a vruntime is eligible. After fg_update_curr. */
u64 fg_avg_vruntime(const struct fg_queue *q);
/* Charges the current fair task. enum fg_pick_rule_id: why it wants a reschedule; 0: it does not. */
u32 fg_update_curr(const struct fg_sys *sys, struct fg_cpu *rq, FG_NULLABLE const fg_entity *left);
/* min_vruntime after a dequeue. */
void fg_update_min_vruntime(const struct fg_sys *sys, struct fg_cpu *rq, FG_NULLABLE const fg_entity *left);
/* vruntime of a child p of rq's current task, relative to min_vruntime as that of every task off the queue. */
void fg_task_fork(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p);
/* p joins (before the caller inserts it) / leaves (after the caller removed it). curr is charged by the caller first. */
void fg_enqueue_entity(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p, u32 flags);
void fg_dequeue_entity(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p, u32 flags);
/* A FG_TASK_DELAYED p is woken. It keeps its place, unless it stayed longer than its debt. curr is not charged first. */
void fg_requeue_delayed(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p);
/* The averages of a sleeping p leave old for another CPU (spec 2.4, wakeup migration). */
void fg_migrate_task(const struct fg_sys *sys, struct fg_cpu *old, struct fg_task *p);
/* After it: decays p by the time that old, if idle, has not accounted (migrate-lag). now: ns, the waker's clock. */
void fg_migrate_lag(const struct fg_sys *sys, const struct fg_cpu *old, struct fg_task *p, u64 now);
/*
 * p, which the caller took off the tree, becomes current / the current p is put back (before the caller inserts it).
 * first: p was picked; it is not put back after a change.
 */
void fg_set_next_entity(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p, fg_bool first);
void fg_put_prev_entity(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p);
struct fg_pick {
	u32 rule;		/* enum fg_pick_rule_id */
	u32 pad;
};

/* Which of first and second or curr or a buddy runs next, and why; null: none. */
FG_NULLABLE fg_entity *fg_pick_entity(const struct fg_sys *sys, const struct fg_cpu *rq, FG_NULLABLE fg_entity *first,
				      FG_NULLABLE fg_entity *second, struct fg_pick *how);
/*
 * The deadline server of fair tasks (spec-new 2.9). Enqueue, dequeue, charges and the calls for idle CPUs see to when it starts,
 * stops and is charged, fg_enqueue_rt() to what its timer would have done while there was no timer. In addition:
 *
 *   start	fg_server_init
 *   RT queued	the timer is set to server.expires; the caller looks at that when it leaves the kernel on that CPU
 *   timer	at or after server.expires, clock up to date; with fair-server=v619 a current fair task is charged first:
 *		fg_server_timer; 1: reschedule
 *   pick	while an RT task is queued, but fg_server_runs: as if there were none; fg_server_stop if that picks nothing. And
 *		without an RT task fg_server_stop if nothing is picked
 *   enqueue	beside a current RT task: a reschedule if server.asked
 *   offline	fg_server_stop
 */
void fg_server_init(struct fg_cpu *rq);
fg_bool fg_server_runs(const struct fg_cpu *rq);
void fg_server_stop(struct fg_cpu *rq);
fg_bool fg_server_timer(const struct fg_sys *sys, struct fg_cpu *rq);
/* p was picked, or leaves: clear it as a buddy. */
void fg_clear_buddies(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_task *p);
/* The tick of a running fair task, charged before; misfit and overutilized follow. As fg_update_curr(). */
u32 fg_entity_tick(const struct fg_sys *sys, struct fg_cpu *rq, FG_NULLABLE const fg_entity *left);
/*
 * ns until the slice of the current fair task, charged before, is over, for a timer of its own; 0: none is wanted, with hrtick
 * off or nobody waiting; negative: it is over.
 */
s64 fg_hrtick_delay(const struct fg_sys *sys, const struct fg_cpu *rq);
/* That timer has expired, and the current fair task is charged: like fg_entity_tick(), but it always wants a reschedule. */
void fg_hrtick(const struct fg_sys *sys, struct fg_cpu *rq);
/*
 * Of a FG_TASK_CACHE_WORK p, when it next leaves the kernel: chooses the cache that p's process prefers (task_cache_work,
 * spec-new 6.2). 1: it read all CPUs.
 */
fg_bool fg_task_cache_work(const struct fg_sys *sys, struct fg_task *p, u64 jiffies);
#define FG_PREEMPT_NO 0
#define FG_PREEMPT_YES 1
#define FG_PREEMPT_DELAYED 2

/* Before the test below, and though a reschedule is pending: a woken p may be the next buddy (next-buddy). */
void fg_set_next_buddy(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p, u32 flags);
/*
 * Whether the current task is charged (fg_update_curr) before the test below: not if policies decide it, SCHED_IDLE and the
 * like. It has mostly been charged at the same time by the enqueue of p, but a delayed sleeper is not enqueued.
 */
fg_bool fg_charges_at_wakeup(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p);
/*
 * Whether p, just queued on rq, preempts its fair current, which the caller has charged where the above says so. Sets the buddies as the kernel
 * does. flags: FG_WF_FORK for a new task. Not asked while a reschedule of rq is already pending, but for wake-test-always;
 * an idle or RT current is the caller's business. enum fg_pick_rule_id; fg_preempts() says what follows.
 */
u32 fg_check_preempt_wakeup(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p,
			    FG_NULLABLE fg_entity *first, u32 flags);
/*
 * FG_PREEMPT_* of such a rule. FG_PREEMPT_DELAYED: first is a delayed sleeper; the caller dequeues it and asks again, with
 * another first.
 */
u32 fg_preempts(u32 rule);
/* ns of real time: the slice of a task that asks for one of custom ns, 0: for none. */
u64 fg_slice(const struct fg_sys *sys, u64 custom);
/* The current task, charged before, yields. */
void fg_yield(const struct fg_sys *sys, struct fg_cpu *rq);
/*
 * Task groups that compete as one. The tree of a CPU holds entities: tasks of the root group, and groups (fg_tg_cpu.entity)
 * with tasks; each group has a tree of its own tasks and groups there. What the sequences above say of p's tree is meant of
 * the one of p's group, of left and first as well; and around each call for a task of a group the entities of all groups
 * that it is in are in the tree of the group around them, or the CPU's, exactly if they are on_rq and not on_cpu, by the
 * vruntime and deadline that they then have. In addition:
 *
 *   start	p->tg at birth; groups with cpus, parent, depth, idle and shares set, fg_tg_init; sys->tgs
 *   charge	before fg_update_curr, for a current task of a group, fg_tg_update_curr of it and of those around it
 *   dequeue	before fg_update_min_vruntime, fg_tg_update_min_vruntime of the same
 *   switch	if fg_pick_entity says a group: FG_TASK_DELAYED has fg_tg_dequeue_delayed and fg_update_min_vruntime, and again; else
 *		fg_tg_pick for what is next in it, which may be a group again; once more from the top if that is
 *		FG_TASK_DELAYED. A task that is put back has the groups put back as well that the next task, if there is
 *		one, is not in, the innermost first: fg_tg_put_prev, and then the tree insert
 *   tick	before fg_entity_tick, fg_tg_tick of the same
 *   preempt	fg_check_preempt_wakeup: first is of the innermost group that both p and the current task are in
 *
 * With flat-pick the tree of a CPU holds all of its fair tasks, and nothing else is in a tree: of the above start and put_prev
 * (without the tree insert) remain.
 *
 * DEVIATION: a task and its groups are charged at the same times; the kernel charges each where it looks at its queue.
 */
void fg_tg_init(const struct fg_sys *sys, struct fg_tg *tg);
u32 fg_tg_update_curr(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg *tg,
			  FG_NULLABLE const fg_entity *left);
void fg_tg_update_min_vruntime(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg *tg,
			       FG_NULLABLE const fg_entity *left);
FG_NULLABLE fg_entity *fg_tg_pick(const struct fg_sys *sys, const struct fg_cpu *rq, struct fg_tg *tg,
				  FG_NULLABLE fg_entity *first, FG_NULLABLE fg_entity *second);
u32 fg_tg_tick(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg *tg, FG_NULLABLE const fg_entity *left);
/* A group that is FG_TASK_DELAYED, off the tree, leaves. */
void fg_tg_dequeue_delayed(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg *tg);
void fg_tg_put_prev(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg *tg);
/*
 * Bandwidth of groups (cpu.max). A group whose quota is used up is throttled: on a CPU its entity leaves the queue that it
 * competes in, with all that is in it, until the quota is renewed. Enqueue and dequeue see to what joins and leaves it
 * meanwhile. With throttle=task and task-early the queue is only marked. Each task leaves by itself when it next would return to user
 * mode, and the caller keeps it apart until the group goes on. In addition to the sequences above:
 *
 *   start	quota, period and burst set; expires at the offset of the group's first period; fg_tg_start_bandwidth
 *   switch	before fg_tg_pick, and for the group of each entity (none: of the task) that is put back, innermost first, before
 *		its tree insert: fg_tg_throttle; if it says 1, fg_update_min_vruntime of what is around it; in a pick, from the top. With
 *		throttle=task, if it said 1 on the way to the picked task, fg_plan_throttle of that instead; with task-early neither
 *   return	of a FG_TASK_THROTTLE_WORK p, which loses that mark: if its group has a throttle_count on rq: dequeue with
 *		SLEEP | SPECIAL, and it is FG_TASK_THROTTLED until its group has none and it is enqueued with WAKEUP
 *   period timer	until fg_period_forward says 0: fg_period_begin; while that, or the distribution after it, says that queues
 *		are throttled and runtime is in the pool, distribution
 *   slack timer	fg_slack_due; if 1: distribution
 *   distribution	throttled queues in the order of throttled_seq, until the pool is empty: fg_tg_hand_out; if 1, on the
 *		queue's CPU, clock up to date (task-early: and curr charged): fg_tg_unthrottle
 */
void fg_tg_start_bandwidth(const struct fg_sys *sys, struct fg_tg *tg, u64 now);
/* check_cfs_rq_runtime: 1: the quota is used up, and tg is throttled on rq. */
fg_bool fg_tg_throttle(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg *tg);
/* 0: it stays throttled, for what was handed out is used up. */
fg_bool fg_tg_unthrottle(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg *tg);
/* task_throttle_setup_work: p, which was picked, leaves at its return to user mode. */
void fg_plan_throttle(const struct fg_sys *sys, struct fg_task *p);
/* The period timer is set on to the first expiry after now, ns. How many it has passed. */
u64 fg_period_forward(struct fg_bandwidth *b, u64 now);
/* A period begins: the pool is filled. 1: queues are throttled. */
fg_bool fg_period_begin(struct fg_bandwidth *b);
/* The slack timer has expired at now, ns. 1: the pool has enough to be distributed before the period ends. */
fg_bool fg_slack_due(struct fg_bandwidth *b, u64 now);
/* The throttled queue of tg on rq pays its debt from the pool, and 1 ns more. 1: it may run again. */
fg_bool fg_tg_hand_out(const struct fg_cpu *rq, struct fg_tg *tg);
/* The clamps of a p join and leave those of rq; enqueue and dequeue do it. */
void fg_uclamp_rq_inc(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p);
void fg_uclamp_rq_dec(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p);
/*
 * A p of this policy asks for clamps: those whose FG_TASK_ASKED_* is in asked; if none is, what it never asked for is as
 * its class has it. fg_uclamp_update() is to follow.
 */
void fg_uclamp_request(const struct fg_sys *sys, struct fg_task *p, u32 asked, const struct fg_clamps *want);
/*
 * The clamps in force for p follow its request, its group and the limits of the system; those of its run queue do at
 * once if p is counted there. group: what its task group allows, null in the root group.
 */
void fg_uclamp_update(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p,
		      FG_NULLABLE const struct fg_clamps *group);
/* What a group that asks for want allows, within what the one around it allows. */
void fg_uclamp_restrict(const struct fg_clamps *around, const struct fg_clamps *want, struct fg_clamps *allowed);
/* After a change of p->allowed. */
void fg_set_max_allowed_capacity(const struct fg_sys *sys, struct fg_task *p);
/* Weight and clamps follow policy and nice; p is not queued. */
void fg_set_load_weight(struct fg_task *p);
/* The same for a task that was fair before the change: its load, here or carried along, takes the new weight. */
void fg_reweight_task(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p);
/* p, asleep, was RT and is fair now: its vruntime is of rq from here on. */
void fg_switched_to_fair(const struct fg_cpu *rq, struct fg_task *p);

/* util within the clamps of rq, and of p if it were there too; null: of rq alone. */
u64 fg_uclamp_rq_util(const struct fg_sys *sys, const struct fg_cpu *rq, u64 util, FG_NULLABLE const struct fg_task *p);

/* ---- frequency (spec 8.1) --------------------------------------------------------------------------------------- */

/* What runs on rq, of its capacity, interrupts taken in; util_cfs: of the fair class. */
u64 fg_effective_util(const struct fg_cpu *rq, u64 util_cfs);
/*
 * The performance that rq asks of its clock for the same, of its capacity; up to v6.7 without the headroom, which comes
 * with the frequency. p: whose clamps are to join those of the run queue, or null. boost: no less than this, of what
 * clamps may lower.
 */
u64 fg_frequency_util(const struct fg_sys *sys, const struct fg_cpu *rq, u64 util_cfs,
		      FG_NULLABLE const struct fg_task *p, u64 boost);

/* ---- energy (spec 8.2) -------------------------------------------------------------------------------------------- */

/* Completes the operating points of an energy model, of whose CPUs each has orig(c) orig. */
void fg_em_init(const struct fg_sys *sys, struct fg_em *em, u32 orig);
/*
 * schedutil. The functions that change signals consider the clock at the points where the kernel does; what it is to run
 * at then stands in the fg_sugov of the CPU, asked set.
 *
 *   start	sg->em with span and khz set; fg_sugov_start; sugov of all its CPUs set
 *   limits	fg_sugov_limits, once for a clock
 *   idle	idle_calls of fg_cpu grows by one whenever the CPU goes idle and its tick is stopped, or stays so
 */
void fg_sugov_start(const struct fg_sys *sys, struct fg_sugov *sg, u64 transition);
/* cpufreq's maximum is khz from now on. */
void fg_sugov_limits(struct fg_sugov *sg, u32 khz);

/* Flags of a look at the clock. */
#define FG_FREQUENCY_IOWAIT 1	/* a task is back from I/O */

/* How a look at the clock ended. */
#define FG_FREQUENCY_NONE 0	/* schedutil does not set it */
#define FG_FREQUENCY_SOON 1	/* too soon after the last change */
#define FG_FREQUENCY_SAME 2
#define FG_FREQUENCY_HELD 3	/* slowing down would be premature */
#define FG_FREQUENCY_ASKED 4

/* The look itself, as those functions take it: the utilization of rq has changed. FG_FREQUENCY_*. */
u32 fg_update_frequency(const struct fg_sys *sys, struct fg_cpu *rq, u32 flags);

/* ---- RT and idle --------------------------------------------------------------------------------------------- */

/* An RT task p joins or leaves rq, whose clock is up to date: its clamps, rt_nr_running, and the clock of the CPU. */
void fg_enqueue_rt(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p);
void fg_dequeue_rt(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p);
/* The rt signal: the RT class has (running = 1) or had the CPU until rq's clock. */
void fg_update_rt(const struct fg_sys *sys, struct fg_cpu *rq, fg_bool running);
/* The same of the deadline class. Simulations have no deadline tasks. */
void fg_update_dl(const struct fg_sys *sys, struct fg_cpu *rq, fg_bool running);
/* What the idle loop records of a CPU for the scheduler. */
struct fg_idle_state {
	s32 index;		/* -1: no state, the CPU is up */
	u32 pad;
	u64 exit_latency;	/* ns */
	u64 residency;		/* ns, target residency */
};

/* The idle loop enters a state, or has left it. now: ns, of a clock that all CPUs share. */
void fg_set_idle_state(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_idle_state *state, u64 now);
/*
 * Nothing is left to run, before newly idle balancing / the idle task becomes current, after it / a task is put on a run
 * queue that idled or, with avg-idle-any, the idle task is replaced (avg_idle, spec 4.5) / the idle task, which still is current,
 * is replaced / it has a tick, or the stopper.
 */
void fg_enter_idle(const struct fg_sys *sys, struct fg_cpu *rq);
void fg_set_next_idle(const struct fg_sys *sys, struct fg_cpu *rq);
void fg_wake_from_idle(const struct fg_sys *sys, struct fg_cpu *rq);
void fg_put_prev_idle(const struct fg_sys *sys, struct fg_cpu *rq);
void fg_idle_tick(const struct fg_sys *sys, struct fg_cpu *rq);
/* has_idle_cores after the CPU went idle. */
void fg_update_idle_core(struct fg_sys *sys, struct fg_cpu *rq);
void fg_update_misfit_status(const struct fg_sys *sys, struct fg_cpu *rq, FG_NULLABLE const struct fg_task *p);
fg_bool fg_cpu_overutilized(const struct fg_sys *sys, const struct fg_cpu *rq);

/* ---- the balance pass (spec 6.1, 6.2, 6.9, 1.8) ---------------------------------------------------------------- */

/* idle(c), sidle(c) of spec 0. */
fg_bool fg_idle_rq(const struct fg_cpu *rq);
fg_bool fg_sched_idle_rq(const struct fg_cpu *rq);

#define FG_CPU_NOT_IDLE 0
#define FG_CPU_IDLE 1
#define FG_CPU_NEWLY_IDLE 2

/* The answer for one domain of a walk. */
#define FG_BALANCE_STOP 0	/* nor those above it */
#define FG_BALANCE_SKIP 1
#define FG_BALANCE_NOW 2

/* What a walk over the domains of a CPU, or over idle CPUs, carries along. The caller sets jiffies and kind. */
struct fg_balance_walk {
	u64 jiffies;
	u64 next_balance;	/* jiffies, the earliest turn seen */
	u64 cost;		/* ns of newly idle balancing: as remembered, or newly idle as spent in this walk */
	u32 kind;		/* FG_CPU_* */
	u32 busy;		/* intervals are the long ones (spec 6.1) */
	u32 stopped;		/* another CPU balances the domains from here on */
	u32 need_decay;		/* some max_newidle_lb_cost decayed */
	u32 update_next_balance;	/* next_balance says something */
	u32 blocked;		/* some idle CPU has blocked load left */
	u32 dice;		/* newly idle: 0..1023, set by the caller before each domain */
	u32 stake;		/* newly idle: what moving something counts for (newidle-fail=random) */
	u32 pulled;		/* newly idle: tasks moved by the attempt just made, set by the caller */
	u32 pad;
};

/*
 * Sequences of the caller, who walks, charges costs, and raises softirqs and IPIs:
 *
 *   tick	fg_update_idle_balance, softirq if fg_rebalance_due, fg_nohz_balancer_kick, fg_kick_ilb if it says so
 *   softirq	kind by fg_rebalance_kind, fg_rebalance_begin; each domain bottom-up until STOP: fg_rebalance_domain; if
 *		NOW: load_balance, fg_rebalance_again if it moved something, fg_rebalanced_domain; fg_rebalance_end
 *   newly idle	unless fg_newidle_spared: fg_newidle_begin, fg_newidle_gate; if open each domain until STOP:
 *		fg_newidle_domain (with a new w->dice); if NOW: load_balance, fg_newidled_domain with what that took and
 *		moved, until that says STOP; always fg_newidle_end
 *   load_balance	fg_should_we_balance; if so fg_update_group_capacity if due, fg_update_root_status,
 *		fg_update_idle_cpu_scan; what finds nothing to move, or was not to look, ends with fg_balance_backoff
 */

/* Notes at a tick or kick whether the CPU idles, and says so. */
fg_bool fg_update_idle_balance(struct fg_cpu *rq);
/* 1: a domain of rq may be due. */
fg_bool fg_rebalance_due(const struct fg_cpu *rq, u64 jiffies);
/* FG_CPU_IDLE or NOT_IDLE, as noted. */
u32 fg_rebalance_kind(const struct fg_cpu *rq);
/* After a dequeue: a CPU left with SCHED_IDLE tasks is due at once (v5.6). was: fg_sched_idle_rq before it. */
void fg_dequeue_next_balance(const struct fg_sys *sys, struct fg_cpu *rq, fg_bool was_sched_idle, u64 jiffies);
/* rebalance_domains, see above. ours: fg_should_we_balance. */
void fg_rebalance_begin(const struct fg_sys *sys, const struct fg_cpu *rq, struct fg_balance_walk *w);
/* After an attempt that moved something: rq may have ceased to idle. */
void fg_rebalance_again(const struct fg_sys *sys, const struct fg_cpu *rq, struct fg_balance_walk *w);
u32 fg_rebalance_domain(const struct fg_sys *sys, struct fg_domain *sd, struct fg_balance_walk *w);
void fg_rebalanced_domain(const struct fg_sys *sys, struct fg_domain *sd, struct fg_balance_walk *w, fg_bool ours);
void fg_rebalance_end(struct fg_sys *sys, struct fg_cpu *rq, const struct fg_balance_walk *w);
/* 1: a task is on its way to rq, so it does not look for another one, nor is this counted as idle time (v5.15). */
fg_bool fg_newidle_spared(const struct fg_sys *sys, const struct fg_cpu *rq);
/* newidle_balance. The gate of spec 6.9: 1 if balancing is to happen. */
void fg_newidle_begin(const struct fg_sys *sys, struct fg_balance_walk *w);
fg_bool fg_newidle_gate(const struct fg_sys *sys, const struct fg_cpu *rq, struct fg_balance_walk *w);
u32 fg_newidle_domain(const struct fg_sys *sys, struct fg_domain *sd, const struct fg_cpu *rq,
		      struct fg_balance_walk *w);
/* After an attempt that took cost ns. FG_BALANCE_STOP: something moved, or rq got work; else FG_BALANCE_SKIP. */
u32 fg_newidled_domain(const struct fg_sys *sys, struct fg_domain *sd, const struct fg_cpu *rq,
		       struct fg_balance_walk *w, u64 cost);
void fg_newidle_end(struct fg_cpu *rq, const struct fg_balance_walk *w);

/* cap(c) of spec 2.7 from the signals; writes nothing. */
u64 fg_scale_capacity(const struct fg_sys *sys, const struct fg_cpu *rq);
/* 1: a balance of this kind refreshes the capacities of sd's local group. */
fg_bool fg_group_capacity_due(const struct fg_domain *sd, u32 kind, u64 jiffies);
/* cap(c), and capacities and next_update of the local group of rq's domain sd. */
void fg_update_group_capacity(const struct fg_sys *sys, struct fg_domain *sd, struct fg_cpu *rq, u64 jiffies);
/* The interval of sd now, jiffies. busy: the CPU does not idle and has more than SCHED_IDLE tasks (spec 6.1). */
u64 fg_balance_interval(const struct fg_sys *sys, const struct fg_domain *sd, fg_bool busy);

/* ---- one attempt to balance a domain (spec 6.2-6.8) -------------------------------------------------------------- */

/* migration_type: the unit of fg_balance.imbalance. */
#define FG_MIGRATE_LOAD 0
#define FG_MIGRATE_UTIL 1
#define FG_MIGRATE_TASK 2
#define FG_MIGRATE_MISFIT 3
#define FG_MIGRATE_LLC 4	/* tasks that prefer the cache of dst_cpu (migrate_llc_task) */

/* fg_balance.flags */
#define FG_LB_ALL_PINNED 1	/* no task of the source was seen that may run on dst */
#define FG_LB_DST_PINNED 2	/* new_dst_cpu could take a task that dst may not */
#define FG_LB_SOME_PINNED 4
#define FG_LB_ACTIVE 8		/* by the stopper */
#define FG_LB_LLC_PINNED 16	/* a task stays for the sake of its cache */
#define FG_LB_ACTIVE_LLC 32	/* by the stopper, for tasks that prefer the cache of dst_cpu */

/* How a look for imbalance ended, named in balance_rules.h. */
enum fg_balance_rule_id {
#define FG_BALANCE_RULE(id, name, function, label, text) FG_BALANCE_RULE_##id,
#include "balance_rules.h"
#undef FG_BALANCE_RULE
	FG_NR_BALANCE_RULES
};

/* sg_lb_stats: sums over the candidates among a group's CPUs. */
struct fg_sg_stats {
	u64 load;
	u64 util;
	u64 runnable;		/* only if runnable-class asks */
	u64 capacity;
	u64 avg_load;		/* up to v5.4 of every group, since of overloaded ones, else 0 */
	u64 misfit_load;
	u32 h_nr;		/* fair tasks */
	u32 nr;			/* tasks that count as making it busy: fair ones, with lb-p05 those of all classes */
	u32 idle_cpus;
	u32 weight;		/* CPUs */
	u32 nr_pref_dst_llc;	/* queued tasks that prefer dst's cache and are not there, if group_wants_llc_of_dst() asked */
	u32 type;		/* enum group_type; up to v5.4 group_has_spare is `other` */
	u8 no_capacity;		/* v5.4: overloaded, or to be taken for it */
	u8 asym_packing;	/* dst is preferred to its CPUs */
	u8 smt;			/* busy siblings that an idle core could help */
	u8 overutilized;	/* one of its CPUs is */
	u8 llc;			/* tasks are to be moved to dst's cache, which they prefer */
	u8 pad[3];
};

/* sd_lb_stats: a domain. The busiest group is fg_balance.busiest. */
struct fg_sd_stats {
	struct fg_sg_stats *local;
	struct fg_sg_stats *busiest;
	struct fg_sg_stats *other;	/* the group being looked at, if it is not the local one */
	u64 total_load;		/* of all groups, as are the following */
	u64 total_capacity;
	u64 total_util;
	u64 avg_load;
	u32 status;		/* SG_* of lb.h */
	u32 dst_core_idle;	/* dst's siblings idle as well */
	struct fg_sg_stats group[3];
};

/*
 * The arguments and the state of an attempt. The caller sets the first block, fg_balance_begin() the rest, but for stats: that is
 * of fg_find_busiest(), while it runs.
 */
struct fg_balance {
	struct fg_domain *sd;
	u64 jiffies;
	s32 this_cpu;		/* the CPU that the attempt is made for */
	u32 kind;		/* FG_CPU_* */

	struct fg_group *busiest;	/* null: none */
	s32 dst_cpu;		/* receives: this_cpu, or another CPU of its group for tasks that may not run there */
	s32 new_dst_cpu;
	s32 src_cpu;		/* -1: none */
	u32 src_type;		/* of the busiest group */
	u32 migration;		/* FG_MIGRATE_* */
	u32 flags;		/* FG_LB_* */
	s64 imbalance;		/* still to be moved */
	u32 looks;		/* tasks of the source looked at, */
	u32 loop_max;
	u32 batch;		/* taken since fg_detach_begin(), */
	u32 moved;		/* in all */
	u32 rule;		/* enum fg_balance_rule_id */
	u32 group_cpus;		/* CPUs looked at */
	struct fg_mask cpus;	/* candidates */
	struct fg_sd_stats stats;
};

/* What fg_balance_next() answers. */
#define FG_LB_END 0
#define FG_LB_MORE 1		/* again from the same source: fg_detach_begin() */
#define FG_LB_REDO 2		/* look again: fg_find_busiest() */

/*
 *   attempt	fg_balance_begin; look: fg_should_we_balance, if not: fg_balance_not_ours, and that is all; fg_find_busiest, if
 *		0: end. If the source has more than one task: detach, then by fg_balance_next: detach again (however many are
 *		left), look again, or end. end: fg_balance_end; if 1: the stopper of src_cpu is asked, active balance
 *   detach	source's clock up to date; fg_detach_begin; while a fair task is left and fg_detach_more: the one that
 *		came or ran or was looked at least recently; if fg_detach_task: dequeue with MOVE, p->cpu = dst_cpu, else it counts as the most
 *		recent (a queue with tasks of other classes may so be looked at more than once round); then those taken are enqueued on dst_cpu, whose clock is brought up to date, the last taken first, each with
 *		fg_check_preempt_wakeup
 *   active	in the stopper of src: fg_active_begin (0: too late); source's clock up to date; tasks least recent first, each
 *		until fg_can_migrate_task: moved to push_cpu; fg_active_end always
 */
void fg_balance_begin(const struct fg_sys *sys, struct fg_balance *b);
/* Whether b->dst_cpu is the one to balance b->sd (v6.0: and still has nothing to do). */
fg_bool fg_should_we_balance(const struct fg_sys *sys, const struct fg_balance *b);
/*
 * 1: b->src_cpu has b->imbalance too much. Refreshes capacities of the local group if due, overload and overutilized of the
 * root domain, and nr_idle_scan of an LLC on the way.
 */
fg_bool fg_find_busiest(struct fg_sys *sys, struct fg_balance *b);
/*
 * The contribution of rq to the sums of groups. On a large machine most time is spent on reading CPUs that have not
 * changed. A caller that knows which have may keep fg_group.sums current instead; every result is the same.
 */
void fg_cpu_sums(const struct fg_sys *sys, const struct fg_cpu *rq, struct fg_sums *sums);
/* Where a group of one CPU with these sums stands, in a domain without asymmetric capacities or packing. */
void fg_ring_place(const struct fg_sys *sys, const struct fg_sums *sums, struct fg_ring_place *place);
void fg_detach_begin(const struct fg_sys *sys, struct fg_balance *b);
/* 1: another task of the source may be looked at. */
fg_bool fg_detach_more(const struct fg_sys *sys, struct fg_balance *b);
/* 1: p, queued on the source, is to be moved; counted as taken. */
fg_bool fg_detach_task(const struct fg_sys *sys, struct fg_balance *b, const struct fg_task *p);
/* p may be moved from src_cpu to dst_cpu (spec 6.4); notes in b->flags what keeps it. */
fg_bool fg_can_migrate_task(const struct fg_sys *sys, struct fg_balance *b, const struct fg_task *p);
/* FG_LB_*; after the tasks of a round were enqueued. */
u32 fg_balance_next(const struct fg_sys *sys, struct fg_balance *b);
/* After fg_should_we_balance() returned 0: the interval of sd grows as if sd were balanced. */
void fg_balance_not_ours(const struct fg_sys *sys, const struct fg_balance *b);
/* Updates failures, interval and imbalanced flag (spec 6.5) from b->moved. 1: start active balance. */
fg_bool fg_balance_end(const struct fg_sys *sys, struct fg_balance *b);
/* Of the stopper on src: fills b in, jiffies apart. 0: nothing is to be done. */
fg_bool fg_active_begin(const struct fg_sys *sys, struct fg_cpu *src, struct fg_balance *b);
/* pushed: tasks, 0 or 1. */
void fg_active_end(struct fg_cpu *src, struct fg_balance *b, fg_bool pushed);

/* ---- CPUs without a tick (spec 6.10) -------------------------------------------------------------------------- */

/* Why an idle CPU is woken: one or several. */
#define FG_NOHZ_NO_KICK 0
#define FG_NOHZ_STATS_KICK 1	/* to bring blocked load up to date */
#define FG_NOHZ_BALANCE_KICK 2	/* to balance; with STATS only */
#define FG_NOHZ_TURN_KICK 4	/* to collect the turns of CPUs whose tick stopped (the kernel's NEXT, v5.16) */

/*
 *   kicked	fg_update_idle_balance; softirq if it idles
 *   softirq	fg_nohz_idle_begin; each idle CPU, its own last (ilb-one-of) or not: fg_nohz_idle_abort and away if this one
 *		got work, blocked averages if kicked for them and fg_nohz_stats_due, its domains if fg_nohz_idle_cpu,
 *		fg_nohz_idled_cpu; fg_nohz_idle_others_end; unless it was one of them own blocked averages if kicked for
 *		them and not newly idle, own domains if fg_nohz_idle_self; fg_nohz_idle_end
 *   newly idle	each domain's statistics: blocked averages of its idle CPUs if fg_newidle_stats, fg_nohz_stats_end; after
 *		the domains, or behind a closed gate, the round above for statistics only, if fg_nohz_newidle_due
 */

/* rq's tick stops. */
void fg_nohz_balance_enter_idle(struct fg_sys *sys, struct fg_cpu *rq);
/* rq has a tick again: at the first one while it is busy, and as it goes offline. */
void fg_nohz_balance_exit_idle(struct fg_sys *sys, struct fg_cpu *rq);
/* Kick test of a busy CPU's tick: FG_NOHZ_*_KICK. */
u32 fg_nohz_kick(const struct fg_sys *sys, const struct fg_cpu *rq, u64 jiffies);
/* The same at a tick, after fg_update_idle_balance; a busy CPU has its tick again. */
u32 fg_nohz_balancer_kick(struct fg_sys *sys, struct fg_cpu *rq, u64 jiffies);
/* The CPU that rq kicks, -1: none. */
s32 fg_kick_ilb(struct fg_sys *sys, const struct fg_cpu *rq, u32 kick, u64 jiffies);
/* 1: the blocked averages of an idle CPU are to be updated, at most once a jiffy. */
fg_bool fg_nohz_stats_due(const struct fg_cpu *rq, u64 jiffies);
/* nohz_idle_balance, see above. kick: FG_NOHZ_*_KICK. */
void fg_nohz_idle_begin(struct fg_sys *sys, u32 kick, struct fg_balance_walk *w);
void fg_nohz_idle_abort(struct fg_sys *sys, u32 kick);
fg_bool fg_nohz_idle_cpu(const struct fg_cpu *rq, u32 kick, struct fg_balance_walk *w);
void fg_nohz_idled_cpu(const struct fg_cpu *rq, struct fg_balance_walk *w);
void fg_nohz_idle_others_end(struct fg_sys *sys, const struct fg_balance_walk *w);
fg_bool fg_nohz_idle_self(const struct fg_cpu *rq, u32 kick, struct fg_balance_walk *w);
void fg_nohz_idle_end(struct fg_sys *sys, u32 kick, const struct fg_balance_walk *w);
/* 1: newly idle balancing brings the idle CPUs it looks at up to date (to v5.11). */
fg_bool fg_newidle_stats(const struct fg_sys *sys);
/* 1: the newly idle rq is to do it for all idle CPUs. balanced: the gate was open, and nothing found. */
fg_bool fg_nohz_newidle_due(const struct fg_sys *sys, const struct fg_cpu *rq, u64 jiffies, fg_bool balanced);
/* A newly idle CPU brought the idle CPUs of sd up to date; blocked: some have blocked load left. */
void fg_nohz_stats_end(struct fg_sys *sys, const struct fg_domain *sd, fg_bool blocked, u64 jiffies);

/* clang-format on */

#endif
