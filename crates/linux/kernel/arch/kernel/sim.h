/* SPDX-License-Identifier: GPL-2.0-only */
/* Declarations shared by the files of this architecture, with the scheduler's private types. */
#ifndef KS_SIM_H
#define KS_SIM_H

#include <linux/sched.h>
#include <linux/mmu_context.h>
#include <linux/sched/task.h>
#include <linux/sched/clock.h>
#include <linux/sched/cputime.h>
#include <linux/sched/hotplug.h>
#include <linux/cpumask.h>
#include <linux/cpuidle.h>
#include <linux/cgroup.h>
#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/smp.h>
#include <linux/slab.h>
#include <linux/stop_machine.h>
#include <linux/tick.h>
#include <linux/topology.h>
#include <uapi/linux/sched/types.h>
#include <generated/ks_probes.h>
/* #import and not #include: before v5.18 the header has no guard, and the tree's .c files include it too. */
#import "../../../kernel/sched/sched.h"
#include "ks.h"
#include "tasks.h"

extern const struct ks_host *ks_host;
extern unsigned int ks_nr_cpus;
void ks_fault(u32 kind, const char *what) __attribute__((noreturn, cold));	/* ends the run */
void ks_set_mask(const u64 *bits, struct cpumask *to);	/* bits: a mask of ks.h */

#define ks_call(fn, ...) (ks_host->fn(ks_host->self, ##__VA_ARGS__))
/*
 * ks_show() reports to an observer, who may read the kernel's state by the tree's own functions. What it reads is no work
 * of the kernel's, and looks that follow count as if it had not read (ks_look_kind, ks_look_last below).
 */
#define ks_show(fn, ...)						\
do {									\
	u32 kind_ = ks_look_kind;					\
	int last_ = ks_look_last;					\
									\
	ks_look_kind = KS_NR_WORKS;					\
	ks_call(fn, ##__VA_ARGS__);					\
	ks_look_kind = kind_;						\
	ks_look_last = last_;						\
} while (0)
#define ks_show_if(fn, ...) do { if (ks_host->fn) ks_show(fn, ##__VA_ARGS__); } while (0)

/* The name of a task's state in task_struct. */
#ifdef KS_HAS_PRIVATE_STATE
#define ks_state __state
#else
#define ks_state state
#endif

/* ---- cpu.c: the CPU and the task that run ---------------------------------------------------------------------- */

void ks_enter(int cpu);		/* current is the current task of cpu */
void ks_enter_irq(int cpu);	/* in an interrupt of that task */
void ks_leave(void);
void ks_leave_irq(void);
void ks_switch(void);
bool ks_must_reschedule(void);
u64 ks_clock(void);
void ks_run_rcu(void);

/* ---- task.c, calls.c -------------------------------------------------------------------------------------------- */

unsigned int ks_nr_tasks(void);
struct task_struct *ks_task_if(int number);	/* number < ks_nr_tasks(); NULL: the task is dead */
struct task_struct *ks_new_task(const char *comm, int pid);
void ks_fork(s32 cpu, const struct ks_birth *birth);
void ks_exec(s32 cpu, s32 number);
void ks_wake(s32 cpu, s32 waker, s32 number, u32 sync);
void ks_block(s32 cpu);
void ks_exit(s32 cpu);
s32 ks_set_attr(s32 cpu, s32 number, const struct ks_attr *attr);
s32 ks_set_allowed(s32 cpu, s32 number, const u64 *allowed);

/* ---- process.c ------------------------------------------------------------------------------------------------- */

extern unsigned int ks_smt_threads;	/* boot.c: most threads of a core */
void ks_join_process(struct task_struct *p, int number);	/* KS_NONE: none */
void ks_leave_process(struct task_struct *p);
void ks_put_process(struct task_struct *p);	/* p is gone for good */
void ks_new_process(s32 cpu, s32 number, s32 of);
s32 ks_process_number(const struct task_struct *p);
void ks_read_process(s32 number, struct fg_process *to);
void ks_read_cache_time(s32 number, s32 cpu, struct fg_cache_time *to);
bool ks_is_cache_work(const struct task_struct *p, const struct callback_head *work);

/* ---- boot.c ---------------------------------------------------------------------------------------------------- */

void ks_seed_random(u64 seed);
void ks_tick_stopped(s32 cpu, u32 stopped);
void ks_forget_tick(int cpu);
s32 ks_boot(const struct ks_host *host, const struct ks_machine *machine);
void ks_leave_topology(int cpu);	/* the CPU is in no mask of others any more */
void ks_join_topology(int cpu);

/* ---- ipi.c, stop.c, wait.c ------------------------------------------------------------------------------------- */

void ks_ipi(s32 cpu, u32 kind);
void ks_softirq(s32 cpu);
void ks_run_own_irq_works(void);
void ks_new_stopper(int cpu);
void ks_stopper(s32 cpu);
struct task_struct *ks_stopper_task(int cpu);
void ks_may_wait(void (*fn)(void *arg), void *arg);	/* runs fn; returns when fn returns or calls ks_wait() */
void ks_wait(void);				/* called by fn: returns after the next stop work has run */
void ks_resume_waiters(void);

/* ---- sleep.c --------------------------------------------------------------------------------------------------- */

void ks_may_sleep(const char *what);
void ks_may_alloc(unsigned int flags);

/* ---- timer.c --------------------------------------------------------------------------------------------------- */

void ks_init_timers(void);
void ks_timer(s32 cpu);
void ks_move_timers(int from, int to);

/* ---- hotplug.c -------------------------------------------------------------------------------------------------- */

s32 ks_hotplug(s32 cpu, u32 step);

/* ---- freq.c ---------------------------------------------------------------------------------------------------- */

void ks_init_frequency(const struct ks_machine *machine);
void ks_frequency_limits(s32 cpu, const struct fg_frequency_limits *limits);
void ks_start_governors(void);
extern u32 ks_asked_khz;	/* last request of a governor; 0: none since governor.c cleared it */

/* ---- governor.c ------------------------------------------------------------------------------------------------- */

struct cpufreq_governor *ks_governor(void);
void ks_watch_governor(int cpu);
s32 ks_read_governor(s32 cpu, struct fg_sugov *to);
void ks_read_governor_cpu(s32 cpu, struct fg_cpu *to);

/* ---- work.c ---------------------------------------------------------------------------------------------------- */

void ks_run_works(void);
bool ks_run_task_works(void);

/* ---- group.c --------------------------------------------------------------------------------------------------- */

void ks_init_groups(void);
int ks_group_new(int parent);
int ks_group_write(int group, const char *file, const char *value);
struct css_set *ks_group_set(int group);
struct cgroup_subsys_state *ks_group_css(int group);
int ks_group_number(const struct cgroup_subsys_state *css);
int ks_group_parent(int group);	/* KS_NONE: of the root group */
int ks_nr_groups(void);	/* with the root group */

/* ---- ks_core.c ------------------------------------------------------------------------------------------------- */

void ks_inherit(struct task_struct *p, const struct ks_attr *attr);

/* ---- watch.c: work that is counted, events that are reported --------------------------------------------------- */

/*
 * A look is an access to a CPU's run queue by cpu_rq(), see looks.h. Looks count as this kind of work; KS_NR_WORKS:
 * they do not count. Several looks in a row at the same CPU count as one.
 */
extern u32 ks_look_kind;
extern int ks_look_last;
void ks_count_look(int cpu);

static inline struct rq *ks_look(int cpu)
{
	if (ks_look_kind != KS_NR_WORKS && cpu != ks_look_last)
		ks_count_look(cpu);
	return &per_cpu(runqueues, cpu);
}

/* Counts a call of available_idle_cpu() during a wakeup. */
void ks_count_probe(int cpu);

/* Sets what looks count as. Returns what they counted as before, for the call that restores it. */
static inline u32 ks_look_as(u32 kind)
{
	u32 was = ks_look_kind;

	ks_look_kind = kind;
	ks_look_last = -1;
	return was;
}

/* KS_CAUSE_*: reported with the migrations that happen while it is set. */
extern u32 ks_cause;
void ks_task_moves(struct task_struct *p, int to);
void ks_fell_back(const struct task_struct *p, int cpu);
void ks_widened(const struct task_struct *p);
void ks_watch_classes(void);
/* The task that was last reported to the host as enqueued. */
extern struct task_struct *ks_told;
void ks_tell_enqueued(struct task_struct *p);

#endif
