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
/* How a dispatch ended. */
#define LIVE_WAY_CAME 0 /* a task that was moved here is to run */
#define LIVE_WAY_STAYS 1 /* the current task goes on */
#define LIVE_WAY_PICKED 2 /* the task that was picked is to run */
#define LIVE_WAY_LOST 3 /* the task that was picked was not in the queue any more */
#define LIVE_WAY_NONE 4 /* there was no task */
#define LIVE_WAYS 5

/* The tick of an idle CPU. */
#define LIVE_TICK_KEPT 0 /* it has not come yet */
#define LIVE_TICK_CAME 1 /* it has come, or was stopped */
#define LIVE_TICK_RESTARTED 2 /* it runs because a pass made the CPU leave its idle loop: it makes no pass and is not counted */

#define LIVE_ACTIVE 3 /* live_pass.kind, beside FG_CPU_*: a task is pushed */
#define LIVE_KINDS 4

#define LIVE_NAME 16 /* bytes of a task's name */

#define LIVE_GROUP_DEPTHS 4 /* of task groups within each other: what is within these counts as in the innermost one */
#define LIVE_GROUPS 32 /* of each depth */

#define LIVE_IDLE_STATES 16 /* room for the idle states of a CPU, less one: the last entry is none */

/* live_task.flags */
#define LIVE_ABOVE_QUEUED 8 /* a deadline task or the stopper that counts on the run queue of its CPU */
#define LIVE_RT_QUEUED 4 /* the same of an RT task */
#define LIVE_FORKED 2 /* it was placed as a child */
#define LIVE_STOPPED 1 /* it left the CPU for good, and is still to be dequeued */

/* A task, as long as the kernel has it. */
struct live_task {
	struct fg_task fg; /* first, so that the policy's pointers are pointers to the whole */
	u32 flags; /* LIVE_* */
	s32 pid;
	u64 woken; /* ns: when it became runnable by a wakeup, 0: it has run since */
	u64 queued; /* ns: when it came into the queue where it waits */
	struct live_task *next_free;
	struct fg_clamps group_clamps; /* what its cgroup allows, */
	u32 has_group_clamps; /* 0: all */
	u32 beneath; /* how many levels its cgroup lies beneath the one whose group it is in */
	u64 cgroup; /* key of its cgroup, 0: the root group; or one that no cgroup has */
	struct live_group *group;
};

/* What the kernel says of a cgroup. */
struct live_cgroup {
	u64 key; /* a number that no other cgroup has */
	u64 shares; /* as in fg_tg */
	u64 quota; /* cpu.max, as in fg_bandwidth */
	u64 period;
	u64 burst;
	u32 idle; /* cpu.idle */
	u32 pad;
};

/* A task group. It stays what it is as long as it has users or load. */
struct live_group {
	u64 key; /* as in live_cgroup, 0: it is none */
	struct live_group *around; /* null: the root group */
	struct fg_tg *tg; /* always the same */
	u32 users; /* tasks, and groups one level within it */
	u32 is_ready; /* 0: a CPU is just making it */
	u64 first_seq; /* of the CPU on which it was throttled first, 0: none, */
	u64 first_cpu; /* and that CPU */
};

/*
 * A placement that somebody records: what it is decided on, a copy, and what came of it. So user space can ask the policy again
 * on the very same state. The copy of the machine (sys and all that it points at) follows the slot in the arena. Its pointers to
 * the current tasks of CPUs are null: placements do not follow them.
 */
struct live_decision {
	struct fg_task task; /* the one that is placed */
	struct fg_task current; /* of the CPU that places it, if wake.current says so */
	struct fg_wake wake;
	struct fg_verdict verdict;
	struct fg_sys *sys;
	struct live_decision *next; /* slot of the ring of its CPU */
	u64 machine; /* where the copy begins */
	u32 taken; /* user space has not read it yet: it writes 0 */
	u32 wakes; /* user space is to be woken: half of the ring is full */
	u64 pad[4];
};

/* Words of the machine between two pointers. */
struct live_run {
	u32 offset; /* bytes from the beginning of the machine */
	u32 words; /* of 8 bytes */
};

/* live_event.kind */
#define LIVE_SWITCH 1 /* pid leaves the CPU, other gets it; value: the state in which pid leaves it */
#define LIVE_WAKING 2 /* value: the CPU where pid was */
#define LIVE_WAKEUP 3 /* value: the CPU on whose run queue pid is */
#define LIVE_WAKEUP_NEW 4
#define LIVE_MIGRATE 5 /* value: the CPU that pid leaves << 32, and the one that it goes to */
#define LIVE_FORK 6 /* pid is the parent, other the child */
#define LIVE_EXIT 7
#define LIVE_IDLE 8 /* value: the idle state, 4294967295: the CPU leaves it */
#define LIVE_DECISION 9 /* value: the lower half of the address of the live_decision */
#define LIVE_FREQUENCY 10 /* value: the CPU whose clock changes << 32, and kHz */
#define LIVE_BALANCE 11 /* a live_balance_event */
#define LIVE_PICK 12 /* a live_pick_event. pid: the task that it is about, other: the current one, or the same again; without names */
#define LIVE_PLACED 13 /* a live_placed_event: a placement of pid without its state. other: pid again */

/* live_pick_event.kind */
#define LIVE_PICKED 0
#define LIVE_TESTED 1 /* it was woken, and tested against the current task */
#define LIVE_SLICE_ENDED 2

/* What recorders read from the map `events`, in the order of time on each CPU. */
struct live_event {
	u64 time; /* ns, CLOCK_MONOTONIC */
	u64 value;
	u32 kind; /* LIVE_* */
	u32 cpu;
	s32 pid;
	s32 other;
	s32 prio; /* as in the kernel: 120 is nice 0 */
	s32 other_prio;
	char comm[LIVE_NAME];
	char other_comm[LIVE_NAME];
};

/* An attempt to balance a domain that found a source: members of its fg_balance when it had looked, and what came of it. */
struct live_pass {
	s32 src_cpu;
	s32 dst_cpu;
	u32 kind; /* FG_CPU_*, or LIVE_ACTIVE: the source pushes a task */
	u32 migration; /* FG_MIGRATE_* */
	s64 imbalance;
	u32 rule; /* enum fg_balance_rule_id */
	u32 level; /* FG_LEVEL_* */
	u32 moved; /* tasks */
	u32 active; /* active balance was asked for */
};

struct live_balance_event {
	struct live_event event;
	struct live_pass pass;
};

struct live_placed_event {
	struct live_event event;
	s32 prev_cpu;
	s32 cpu;
	u32 rule; /* enum fg_rule_id */
	u32 flags; /* FG_WF_* */
	u32 probes; /* CPUs probed, */
	u32 group_cpus; /* and CPUs of groups looked at */
};

/* What places a task on its queue: members of its fg_task. */
struct live_queued {
	u64 vruntime;
	u64 deadline;
	u64 vprot;
	u32 flags;
	u32 on_cpu;
};

struct live_pick_event {
	struct live_event event;
	u32 kind; /* LIVE_PICKED, ... */
	u32 rule; /* enum fg_pick_rule_id */
	u32 queued; /* fair tasks on the run queue, the current one included */
	u32 cpu; /* of the run queue */
	u64 average; /* of the queue's vruntime; with CFS min_vruntime */
	struct live_queued task;
	struct live_queued current;
};

/* What a CPU alone writes. */
struct live_cpu {
	struct fg_wake wake; /* the arguments of the placement that it makes */
	struct fg_verdict verdict;
	struct fg_task *first; /* of its queue, for the pick that it makes */
	struct fg_task *second;
	struct fg_task *next; /* what that came out with, */
	struct fg_balance balance; /* the attempt that it makes, */
	struct fg_balance_walk walk; /* the walk over domains that this is part of, */
	struct fg_balance_walk round; /* and the round over idle CPUs that the walk is part of */
	u32 rebalance; /* a domain is due: the next dispatch walks over them */
	u32 kicked; /* FG_NOHZ_*_KICK: the next dispatch makes a round */
	u32 incoming; /* tasks were moved into its queue: written by others, too */
	u32 pushed_to; /* one more than the CPU into whose queue ops.enqueue has put a task here; 0: none since it was announced */
	u32 refilled; /* a group that is throttled here has something in its pool again: by others, too */
	u32 pick_rule; /* and why: enum fg_pick_rule_id */
	u64 looked; /* groups of which it has looked whether they go on */
	struct live_pass pass; /* of the attempt in balance, for recorders */
	struct live_cgroup cgroups[LIVE_GROUP_DEPTHS]; /* those of the task whose group it looks for, */
	u64 nr_cgroups; /* how many it is in, */
	struct live_group *held; /* and the group that was found */
	struct live_decision *slot; /* where the next placement is recorded */
	struct live_decision *recorded; /* the placement that it makes, null: it is not recorded */
	u64 lost_decisions; /* placements that found no free slot */
	u64 lost_events; /* that found no room in `events` */
	u64 late; /* written by the CPU that watches: how often a task of the queue had waited for long, and the CPU was kicked, */
	u64 late_since; /* ns: since when, when it last looked, */
	u64 late_pid; /* and which task */
	u64 idled_early[LIVE_WAYS]; /* how often the CPU went idle with tasks in its queue, and was sent back to them, by LIVE_WAY_* */
	u64 way; /* how its last dispatch ended: LIVE_WAY_* */
	u64 deciding; /* ns that its placements took */
	u64 attempts[LIVE_KINDS]; /* to balance a domain, by live_pass.kind, */
	u64 found[LIVE_KINDS]; /* and those that found a source */
	u64 kicks; /* rounds for CPUs without tick that its ticks asked for (nohz_balancer_kick), */
	u64 rounds; /* and those that it made for others */
	u32 told_util; /* what schedutil was last told */
	u32 nr_idle_states; /* 0: the CPU has no cpuidle */
	struct fg_idle_state idle_states[LIVE_IDLE_STATES]; /* by number */
	u64 placed[LIVE_RULES]; /* wakeups and forks by enum fg_rule_id */
	u64 picked[LIVE_PICK_RULES]; /* by enum fg_pick_rule_id */
	u64 migrations; /* wakeups and forks that chose another CPU than the previous one */
	u64 switches;
	u64 ticks;
	u64 idle_ticks; /* ticks while it was idle */
	u64 idle_passes; /* those of them that found a domain due */
	u64 idle_tick; /* LIVE_TICK_*, of the current idle period, */
	u64 tick_stopped; /* and whether its tick was stopped in it */
	u64 runs_above; /* it runs an RT or deadline task */
	u64 above_charged; /* its dispatch has charged the task above the fair class that is about to leave it */
	u64 ticked; /* ns: when the last one was, 0: the CPU has been idle since, or had a task above the fair class */
	u64 longest_tickless; /* ns: the longest that fair tasks had it without one */
	u64 unknown; /* calls for tasks that are not known here */
	u64 throttled; /* tasks that left because the quota of a cgroup was used up */
	u64 ungrouped; /* tasks that came into a cgroup for which there was no group */
	u64 waited; /* ns, sum over wakeups until the task runs, */
	u64 waits; /* and how many */
	u64 longest_wait; /* ns */
	u64 longest_waiter; /* pid */
	u64 longest_until; /* ns: when it ended */
};

struct live_head {
	struct fg_sys *sys;
	struct live_cpu *cpus; /* sys->nr_cpus of them */
	struct live_task *tasks;
	struct live_task *free; /* the first that no task of the kernel has */
	u64 nr_tasks; /* free ones included */
	u64 refused; /* tasks for which there was none */
	u64 layout; /* of which build the loader is */
	u64 starts; /* how often the loader has filled the arena and started the scheduler */
	u32 own_disable; /* how often a program's own prolog disables the migration of the current task: the least that was seen */
	u32 recorder; /* pid of the process that records, 0: nobody does. User space writes it, */
	u32 records_picks; /* whether picks are recorded, too, */
	u32 records_state; /* and placements with the state that they are decided on */
	u64 recorder_began; /* when that process began, as in its stat in /proc: another one may have its pid later */
	u64 machine; /* where sys and all that it points at begins */
	u64 machine_len; /* bytes */
	struct live_run *runs; /* nr_runs of them: the machine without its pointers */
	u64 nr_runs;
	u64 nr_slots; /* of live_decision, for each CPU */
	struct live_group *groups; /* LIVE_GROUP_DEPTHS * LIVE_GROUPS of them, the innermost first; null: cgroups do not count */
	u32 nr_groups; /* of them that are one now */
	u32 summed; /* depths whose loads have been summed so far */
	u64 next_watch; /* ns: when the watchdog looks again */
	u64 timer_at; /* ns: when the timer of quotas expires, 0: it is not set, */
	u64 next_refill; /* while it is on: when it is to expire next, */
	u64 looked; /* and the groups that it has looked at */
};

#endif
