/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the policy share among themselves. */
#ifndef FG_SCHED_H
#define FG_SCHED_H

#include "fg.h"

#define FG_NSEC_PER_SEC 1000000000ull
#define FG_MAX_DOMAINS 64 /* more levels than any machine has: bounds every walk */

/* Domains of one CPU, bottom-up. */
#define for_each_domain(sd, first)                                                                                     \
	for (u32 sd##_level = ((sd) = (first), 0); can_loop(sd##_level, FG_MAX_DOMAINS) && (sd);                       \
	     (sd) = (sd)->parent, sd##_level++)

/* Groups of a domain, the local one first. */
#define for_each_group(g, sd)                                                                                          \
	for (u32 g##_nr = ((g) = (sd)->groups, 0); can_loop(g##_nr, FG_NR_CPUS) && (g) && g##_nr < (sd)->nr_groups;    \
	     (g) = (g)->next, g##_nr++)

/* BPF gives a chain of calls 512 bytes of stack: what is needed only for a moment gets a frame of its own. */
#define noinline __attribute__((noinline))

/*
 * The BPF verifier follows every path through a program, and a whole placement has too many. It checks a global_func
 * once, for any arguments, and does not enter it at its calls. Pointer arguments must be marked for that: state_arg,
 * one of the structs of fg.h; frame_arg, an object on the stack of a caller. It returns a number. Elsewhere a global_func is static,
 * a global_question is one of fg.h, a global_inline is inlined.
 *
 * A chain of calls may have eight functions and no more: host_noinline is for those that are a call elsewhere only.
 */
#ifdef __bpf__
#define global_func noinline __attribute__((visibility("default")))
#define global_question global_func
#define global_inline global_func
#define state_arg __attribute__((btf_decl_tag("arg:arena")))
#define frame_arg __attribute__((nonnull, btf_decl_tag("arg:nonnull")))
#define bpf_noinline noinline
#define host_noinline
#else
#define global_func static
#define global_question
#define global_inline static inline
#define state_arg
#define frame_arg
/* In loops that the host runs millions of times a call takes longer than what it saves. */
#define bpf_noinline
#define host_noinline noinline
#endif

#include "mask.h"

static inline u32 feat(const struct fg_sys *sys, enum fg_feature_id id)
{
	return sys->feat.value[id];
}

static inline u64 min_u64(u64 a, u64 b)
{
	return a < b ? a : b;
}

static inline u64 max_u64(u64 a, u64 b)
{
	return a > b ? a : b;
}

static inline u64 clamp_u64(u64 v, u64 lo, u64 hi)
{
	return min_u64(max_u64(v, lo), hi);
}

/* pos_sub(x, y) of spec 0. */
static inline u64 pos_sub(u64 x, u64 y)
{
	return x > y ? x - y : 0;
}

/* A divisor that a broken input cannot make zero. */
static inline u64 nonzero(u64 v)
{
	return v ? v : 1;
}

/* upd8 of spec 0: an eighth of the way towards sample, the step rounded towards zero in both directions. */
static inline u64 update_avg(u64 avg, u64 sample)
{
	if (sample < avg)
		return avg - (avg - sample) / 8;
	return avg + (sample - avg) / 8;
}

/* Types of a group, rising busyness (spec 6.3). */
enum group_type {
	group_has_spare,
	group_fully_busy,
	group_misfit_task,
	group_smt_balance,
	group_asym_packing,
	group_imbalanced,
	group_llc_balance,
	group_overloaded,
};

/* What a task or a whole run queue wants of a CPU: utilization as it is, and the clamps in force. */
struct clamped_util {
	u64 util;
	u64 min;
	u64 max;
};

/* fits(u, C) of spec 0: u is below 80 % of C. */
static inline u32 fits_capacity(u64 util, u64 capacity)
{
	return util * 1280 < capacity * 1024;
}

static inline struct fg_cpu *cpu_rq(const struct fg_sys *sys, u32 cpu)
{
	return &sys->cpus[cpu];
}

static inline u32 valid_cpu(const struct fg_sys *sys, s32 cpu)
{
	return (u32)cpu < sys->nr_cpus && (u32)cpu < FG_NR_CPUS;
}

static inline u32 is_fair(const struct fg_task *p)
{
	return p && p->policy != FG_SCHED_FIFO && p->policy != FG_SCHED_RR;
}

static inline u32 is_rt(const struct fg_task *p)
{
	return p && !is_fair(p);
}

/* sched_cache_enabled() */
static inline u32 cache_aware(const struct fg_sys *sys)
{
	return sys->llc_balancing.active;
}

/* The current fair task, null if there is none. */
static inline struct fg_task *fair_curr(const struct fg_cpu *rq)
{
	return is_fair(rq->curr) ? rq->curr : 0;
}

/* The group that p competes in on rq; null: none, it competes on rq's own queue. */
static inline struct fg_tg_cpu *group_of(const struct fg_cpu *rq, const struct fg_task *p)
{
	return p->tg ? &p->tg->cpus[(u32)rq->id] : 0;
}

static inline struct fg_queue *queue_of(struct fg_cpu *rq, const struct fg_task *p)
{
	return p->tg ? &group_of(rq, p)->queue : &rq->fair;
}

/* The same of a rq that is not to be written. */
static inline const struct fg_queue *const_queue_of(const struct fg_cpu *rq, const struct fg_task *p)
{
	return p->tg ? &group_of(rq, p)->queue : &rq->fair;
}

/* The signals of that queue. */
static inline struct fg_avg *queue_avg(struct fg_cpu *rq, const struct fg_task *p)
{
	return p->tg ? &group_of(rq, p)->avg : &rq->cfs;
}

/* When they were last brought up to date. */
static inline u64 queue_last_update(const struct fg_cpu *rq, const struct fg_task *p)
{
	return p->tg ? group_of(rq, p)->avg.last_update : rq->cfs.last_update;
}

/* The group around g on rq; null: g competes on rq's own queue. */
static inline struct fg_tg_cpu *group_above(const struct fg_cpu *rq, const struct fg_tg_cpu *g)
{
	return group_of(rq, &g->entity);
}

/* The groups that p is in on rq, the innermost first. */
#define for_each_group_of(g, rq, p)                                                                                    \
	for (u32 g##_nr = ((g) = group_of(rq, p), 0); can_loop(g##_nr, FG_MAX_TG_DEPTH) && (g);                        \
	     (g) = group_above(rq, g), g##_nr++)

/* p, or the group that p is in, of those that compete in the queue of tg (null: rq's own); null: p is not in tg. */
static inline struct fg_task *entity_in(const struct fg_cpu *rq, struct fg_task *p, const struct fg_tg *tg)
{
	for (u32 i = 0; can_loop(i, FG_MAX_TG_DEPTH) && p->tg && p->tg != tg; i++)
		p = &group_of(rq, p)->entity;
	return p->tg == tg ? p : 0;
}

/* The entity of rq's own queue for p: p itself, or the outermost group that it is in. */
static inline struct fg_task *entity_of(const struct fg_cpu *rq, struct fg_task *p)
{
	return entity_in(rq, p, 0);
}

static inline u32 is_flat(const struct fg_sys *sys)
{
	return feat(sys, FG_FLAT_PICK);
}

/* The queue that p competes in: with flat-pick that of rq, whatever groups it is in. */
static inline struct fg_queue *order_queue(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_task *p)
{
	return is_flat(sys) ? &rq->fair : queue_of(rq, p);
}

static inline const struct fg_queue *const_order_queue(const struct fg_sys *sys, const struct fg_cpu *rq,
						       const struct fg_task *p)
{
	return is_flat(sys) ? &rq->fair : const_queue_of(rq, p);
}

/* The entity that competes in rq's own queue and has the CPU; null: none. */
static inline struct fg_task *curr_entity(const struct fg_sys *sys, const struct fg_cpu *rq)
{
	struct fg_task *curr = fair_curr(rq);

	return curr && !is_flat(sys) ? entity_of(rq, curr) : curr;
}

/* The entity that competes in the queue of tg and has the CPU; null: none. */
static inline struct fg_task *curr_in_group(const struct fg_cpu *rq, const struct fg_tg *tg)
{
	struct fg_task *curr = fair_curr(rq);

	return curr ? entity_in(rq, curr, tg) : 0;
}

/* The innermost group that both a and b are in; null: only the root group. */
static inline const struct fg_tg *common_group(const struct fg_task *a, const struct fg_task *b)
{
	const struct fg_tg *x = a->tg, *y = b->tg;

	for (u32 i = 0; can_loop(i, FG_MAX_TG_DEPTH) && x != y; i++) {
		u32 x_depth = x ? x->depth + 1 : 0, y_depth = y ? y->depth + 1 : 0;

		if (x && x_depth >= y_depth)
			x = x->parent;
		if (y && y_depth >= x_depth)
			y = y->parent;
	}
	return x;
}

/* Fair tasks that load balancing counts: without the delayed sleepers from v6.14 on (h_nr_runnable). */
static inline u32 lb_h_nr(const struct fg_sys *sys, const struct fg_cpu *rq)
{
	return rq->h_nr_running - (feat(sys, FG_NR_RUNNABLE) ? rq->h_nr_delayed : 0);
}

/* p's averages are part of no run queue. */
static inline u32 is_detached(const struct fg_task *p)
{
	return (p->flags & (FG_TASK_NEW | FG_TASK_MIGRATED)) != 0;
}

/*
 * idle(c) of spec 0. aidle(c) is the same: there are no preempted virtual CPUs here. Without branches, which the CPU
 * would mispredict.
 */
static inline u32 idle_rq(const struct fg_cpu *rq)
{
	return (rq->curr_is_idle != 0) & !rq->nr_running & !rq->ttwu_pending;
}

/* sidle(c): something is queued and all of it is SCHED_IDLE. */
static inline u32 sched_idle_rq(const struct fg_cpu *rq)
{
	return rq->nr_running && rq->nr_running == rq->idle_h_nr_running;
}

/* reduced(c): interrupts, RT or heat took so much that it shows at sd's imbalance_pct. */
static inline u32 capacity_reduced(const struct fg_cpu *rq, const struct fg_domain *sd)
{
	return (u64)rq->cpu_capacity * sd->imbalance_pct < (u64)rq->cpu_capacity_orig * 100;
}

/* idle.c */
static u64 clock_jiffies(const struct fg_sys *sys, u64 clock);

/* cache.c */
static void account_mm_sched(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p, u64 delta);
static void account_llc_enqueue(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p);
static void account_llc_dequeue(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p);
static void pref_llc_running(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_task *p, s32 by);
static void task_tick_cache(const struct fg_sys *sys, const struct fg_cpu *rq, struct fg_task *p);
static u32 invalid_llc_nr(const struct fg_sys *sys, const struct fg_process *g, const struct fg_cpu *rq);

/* schedutil.c */
global_func u32 cpufreq_update_util(const struct fg_sys *sys, struct fg_cpu *rq, u32 flags);

/* bandwidth.c */
static u32 stops_as_a_whole(const struct fg_sys *sys);
static u32 is_off(const struct fg_sys *sys, const struct fg_tg_cpu *g);
static u32 is_within_off(const struct fg_sys *sys, const struct fg_tg_cpu *g);
static u32 account_runtime(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg_cpu *g, u64 delta);
static void check_next_runtime(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p);
static void start_queue_clock(const struct fg_cpu *rq, struct fg_tg_cpu *g);
static void return_runtime(const struct fg_cpu *rq, struct fg_tg_cpu *g);
static void note_idle_clock(const struct fg_sys *sys, const struct fg_cpu *rq, struct fg_tg_cpu *g);
static void check_enqueue_throttle(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg_cpu *g);

/* fair.c */
static void add_nr_running(struct fg_cpu *rq, u32 nr);

/* pelt.c */
static u32 pelt_divider(const struct fg_avg *sa);
static void enqueue_load_avg(struct fg_avg *to, const struct fg_task *p);
static void dequeue_load_avg(const struct fg_sys *sys, struct fg_avg *from, const struct fg_task *p);
static void enqueue_runnable_load_avg(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_task *p);
static void dequeue_runnable_load_avg(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_task *p);
static u64 rq_clock_pelt(const struct fg_cpu *rq);
static u64 queue_clock_pelt(const struct fg_cpu *rq, const struct fg_tg_cpu *g);
static void pelt_decay_blocked(struct fg_avg *sa, u64 now, u64 weight);
static u32 age_cfs_rq(const struct fg_sys *sys, struct fg_cpu *rq, u32 running);
static void age_task(const struct fg_cpu *rq, struct fg_task *p);
static u32 age_load_avg(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p);
static void update_load_avg(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p);
static void update_own_and_cpu_load_avg(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p);
static void update_own_load_avg(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p);
static void remove_averages(const struct fg_sys *sys, struct fg_avg *sa, u64 load, u64 util, u64 runnable);
static u32 has_runnable_load(const struct fg_sys *sys);
static void attach_entity_load_avg(struct fg_cpu *rq, struct fg_task *p);
static void detach_entity_load_avg(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p);

/* pelt_group.c */
static u32 age_contributing(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg_cpu *g);
global_func u32 age_group_queue(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_tg_cpu *g);
static u32 age_groups_above(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_task *p);
static void join_group_load_avg(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p, u32 attaches);
static void leave_group_load_avg(const struct fg_sys *sys, struct fg_cpu *rq, struct fg_task *p, u32 detaches);
static void tell_groups(const struct fg_sys *sys, struct fg_cpu *rq, const struct fg_task *p);
static void note_removed_from_group(struct fg_tg_cpu *g, const struct fg_task *p);
static u32 update_blocked_groups(const struct fg_sys *sys, struct fg_cpu *rq, u32 *blocked);

#endif
