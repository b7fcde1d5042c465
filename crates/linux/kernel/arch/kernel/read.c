/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the kernel's state, see struct ks_read of include/ks.h. Included after the tree's fair.c, where its private
 * types and its nohz state are visible. KS_HAS_*: what the probes found.
 *
 * Performance matters: a referee, which compares a model with the kernel, reads every CPU at every decision. So members
 * are read by plain loads and stores, without a function call for each.
 */
#include "read.h"
#include "tasks.h"

/* cpu_rq() that does not count as a look, see looks.h. */
static struct rq *read_rq(s32 cpu)
{
	if (unlikely((u32)cpu >= nr_cpu_ids))
		ks_fault(KS_FAULT_HOST, "the host reads a CPU that does not exist");
	return &per_cpu(runqueues, cpu);
}

/* Jiffies since boot. A stamp that was never set is 0, which is before INITIAL_JIFFIES. */
static u64 read_jiffies(unsigned long j)
{
	unsigned long base = (unsigned long)INITIAL_JIFFIES;

	return time_before(j, base) ? 0 : j - base;
}

/* Masks at the end of domains and groups have nr_cpu_ids bits, not NR_CPUS. */
static void read_mask(const struct cpumask *from, u64 *to)
{
	const unsigned long *bits = cpumask_bits(from);
	u32 i, words = BITS_TO_LONGS(nr_cpu_ids);

	BUILD_BUG_ON(BITS_PER_LONG != 64);
	BUILD_BUG_ON(NR_CPUS > FG_NR_CPUS);
	for (i = 0; i < FG_MASK_WORDS; i++)
		to[i] = i < words ? bits[i] : 0;
}

/* ---- tasks ------------------------------------------------------------------------------------------------------ */

static u32 wakee_number(const struct task_struct *p)
{
	return p->last_wakee ? (u32)(ks_task_number(p->last_wakee) + 1) : 0;
}

static u64 wakee_stamp(const struct task_struct *p)
{
	return read_jiffies(p->wakee_flip_decay_ts) * TICK_NSEC;
}

/* The estimate without its flag bit. Returns the flag, UTIL_AVG_UNCHANGED. */
static u32 read_util_est(const struct sched_avg *sa, struct fg_util_est *to)
{
#ifdef KS_HAS_UTIL_EST_FLAT
	to->enqueued = 0;
	to->ewma = sa->util_est & ~UTIL_AVG_UNCHANGED;
	return (sa->util_est & UTIL_AVG_UNCHANGED) != 0;
#else
	to->enqueued = sa->util_est.enqueued & ~UTIL_AVG_UNCHANGED;
	to->ewma = sa->util_est.ewma;
	return (sa->util_est.enqueued & UTIL_AVG_UNCHANGED) != 0;
#endif
}

static void read_task_clamps(struct task_struct *p, struct fg_task *to)
{
#ifdef KS_HAS_UCLAMP
	if (uclamp_is_used()) {
		to->uclamp_min = uclamp_eff_value(p, UCLAMP_MIN);
		to->uclamp_max = uclamp_eff_value(p, UCLAMP_MAX);
		to->uclamp_req_min = p->uclamp_req[UCLAMP_MIN].value;
		to->uclamp_req_max = p->uclamp_req[UCLAMP_MAX].value;
		to->uclamp_active = p->uclamp[UCLAMP_MIN].active;
		return;
	}
#endif
	to->uclamp_min = 0;
	to->uclamp_max = SCHED_CAPACITY_SCALE;
	to->uclamp_req_min = 0;
	to->uclamp_req_max = SCHED_CAPACITY_SCALE;
	to->uclamp_active = 0;
}

/* The EEVDF members; to->on_cpu is set. Returns their FG_TASK_* flags. */
static u32 read_task_deadline(const struct sched_entity *se, struct fg_task *to)
{
	u32 flags = 0;

#ifdef KS_HAS_SE_DEADLINE
	to->deadline = se->deadline;
	to->vlag = se->vlag;
#ifdef KS_HAS_VPROT
	to->vprot = se->vprot;
#else
	/* vlag of the current task is not a lag: set_next_entity() stores the deadline at the pick there. */
	if (cfs_rq_of((struct sched_entity *)se)->curr == se && se->vlag == (s64)se->deadline)
		flags |= FG_TASK_PROTECTED;
#endif
#endif
#ifdef KS_HAS_CUSTOM_SLICE
	to->custom_slice = se->custom_slice ? se->slice : 0;
#endif
#ifdef KS_HAS_REL_DEADLINE
	if (se->rel_deadline)
		flags |= FG_TASK_REL_DEADLINE;
#endif
#ifdef KS_HAS_SCHED_DELAYED
	if (se->sched_delayed)
		flags |= FG_TASK_DELAYED;
#endif
	return flags;
}

static u32 read_task_flags(struct task_struct *p)
{
	u32 flags = 0;

	if (is_per_cpu_kthread(p))
		flags |= FG_TASK_PERCPU_KTHREAD;
	if (p->flags & PF_EXITING)
		flags |= FG_TASK_EXITING;
	/* Its averages are not part of a run queue's. */
	if (!p->se.avg.last_update_time)
		flags |= FG_TASK_MIGRATED;
#ifdef KS_HAS_SCHED_CACHE_GROUP
	if (p->cache_work.next != &p->cache_work)
		flags |= FG_TASK_CACHE_WORK;
#endif
	return flags;
}

static void read_task_struct(struct task_struct *p, struct fg_task *to)
{
	const struct sched_entity *se = &p->se;

	to->cpu = task_cpu(p);
	to->recent_used = p->recent_used_cpu;
	to->policy = p->policy;
	to->on_rq = p->sched_class == &fair_sched_class ? se->on_rq != 0 : task_on_rq_queued(p);
	to->on_cpu = task_current(task_rq(p), p);
	to->rt_prio = p->rt_priority;
	to->nice = task_nice(p);
	to->nr_allowed = p->nr_cpus_allowed;
#ifdef KS_HAS_MAX_ALLOWED_CAPACITY
	to->max_allowed_capacity = p->max_allowed_capacity;
#endif
	to->weight = scale_load_down(se->load.weight);
#ifdef KS_HAS_SE_H_LOAD
	to->h_load = se->h_load.weight;
#endif
	to->last_wakee = wakee_number(p);
	to->wakee_flips = p->wakee_flips;
	to->wakee_flip_ts = wakee_stamp(p);
	to->vruntime = se->vruntime;
	to->exec_start = se->exec_start;
	to->sum_exec = se->sum_exec_runtime;
	to->prev_sum_exec = se->prev_sum_exec_runtime;
#ifdef KS_HAS_SCHED_CACHE_GROUP
	to->preferred_llc = p->preferred_llc + 1;
	to->pref_llc_queued = p->pref_llc_queued;
#endif
	to->flags = read_task_flags(p) | read_task_deadline(se, to);
	if (read_util_est(&se->avg, &to->est))
		to->flags |= FG_TASK_EST_CURRENT;
	read_avg(&se->avg, &to->avg);
	read_task_clamps(p, to);
	read_mask(p->cpus_ptr, to->allowed.bits);
}

void ks_read_task(s32 task, struct fg_task *to)
{
	to->id = task;
	read_task_struct(ks_task(task), to);
}

/* ---- CPUs ------------------------------------------------------------------------------------------------------- */

#ifdef KS_HAS_UCLAMP
static void read_clamps(const struct rq *rq, struct fg_cpu *to)
{
	u32 id, i;

	BUILD_BUG_ON(UCLAMP_BUCKETS > FG_UCLAMP_BUCKETS);
	for (id = 0; id < FG_NR_UCLAMPS; id++) {
		const struct uclamp_rq *from = &rq->uclamp[id == FG_UCLAMP_MIN ? UCLAMP_MIN : UCLAMP_MAX];

		to->uclamp[id].value = from->value;
		for (i = 0; i < UCLAMP_BUCKETS; i++) {
			to->uclamp[id].bucket[i].value = from->bucket[i].value;
			to->uclamp[id].bucket[i].tasks = from->bucket[i].tasks;
		}
	}
	to->uclamp_idle = (rq->uclamp_flags & UCLAMP_FLAG_IDLE) != 0;
}
#else
static void read_clamps(const struct rq *rq, struct fg_cpu *to)
{
	to->uclamp[FG_UCLAMP_MAX].value = SCHED_CAPACITY_SCALE;
}
#endif

static u32 nr_fair(const struct cfs_rq *cfs_rq)
{
#ifdef KS_HAS_H_NR_QUEUED
	return cfs_rq->h_nr_queued;
#else
	return cfs_rq->h_nr_running;
#endif
}

static u32 nr_delayed(const struct cfs_rq *cfs_rq)
{
#if defined(KS_HAS_H_NR_DELAYED)
	return cfs_rq->h_nr_delayed;
#elif defined(KS_HAS_H_NR_RUNNABLE)
	return cfs_rq->h_nr_queued - cfs_rq->h_nr_runnable;
#else
	return 0;
#endif
}

static u32 nr_sched_idle(const struct cfs_rq *cfs_rq)
{
#ifdef KS_HAS_H_NR_IDLE
	return cfs_rq->h_nr_idle;
#else
	return cfs_rq->idle_h_nr_running;
#endif
}

static u64 vruntime_base(const struct cfs_rq *cfs_rq)
{
#ifdef KS_HAS_ZERO_VRUNTIME
	return cfs_rq->zero_vruntime;
#else
	return cfs_rq->min_vruntime;
#endif
}

/* The weight of an entity in its queue's average: from v7.1 on with all of its fractional bits. */
#if defined(KS_HAS_SE_H_LOAD)
#define average_weight(se) ((se)->h_load.weight)
#elif defined(KS_HAS_SUM_SHIFT)
#define average_weight(se) ((se)->load.weight)
#else
#define average_weight(se) scale_load_down((se)->load.weight)
#endif

/* What the average is made of. The kernel's sums do not include the current entity; fg_queue's do. */
static void read_average(const struct cfs_rq *cfs_rq, struct fg_queue *to)
{
#if defined(KS_HAS_SUM_W_VRUNTIME) || defined(KS_HAS_AVG_VRUNTIME)
	const struct sched_entity *curr = cfs_rq->curr;
#ifdef KS_HAS_SUM_W_VRUNTIME
	s64 sum = cfs_rq->sum_w_vruntime;
	u64 weight = cfs_rq->sum_weight;
#else
	s64 sum = cfs_rq->avg_vruntime;
	u64 weight = cfs_rq->avg_load;
#endif
#ifdef KS_HAS_SUM_SHIFT
	sum *= 1 << cfs_rq->sum_shift;
	weight <<= cfs_rq->sum_shift;
#endif
	if (curr && curr->on_rq) {
		sum += (s64)(curr->vruntime - to->min_vruntime) * (s64)average_weight(curr);
		weight += average_weight(curr);
	}
	to->avg_vruntime = sum;
	to->sum_weight = weight;
#endif
}

/*
 * As cfs_rq_min_slice() and cfs_rq_max_slice() have them, 0 for an empty queue. Not always those of what is queued: from
 * v6.12 to v7.2, 7.2.7 of its stable tree, a rotation of the tree copies min_vruntime alone and leaves the slices out of date.
 */
static void read_slices(const struct cfs_rq *cfs_rq, struct fg_queue *to)
{
#ifdef KS_HAS_MIN_SLICE
	const struct sched_entity *curr = cfs_rq->curr;
	const struct rb_node *root = cfs_rq->tasks_timeline.rb_root.rb_node;
	u64 shortest = U64_MAX, longest = 0;

	if (curr && curr->on_rq)
		shortest = longest = curr->slice;
	if (root) {
		const struct sched_entity *se = rb_entry(root, struct sched_entity, run_node);

		shortest = min(shortest, se->min_slice);
#ifdef KS_HAS_MAX_SLICE
		longest = max(longest, se->max_slice);
#endif
	}
	to->min_slice = shortest == U64_MAX ? 0 : shortest;
	to->max_slice = longest;
#endif
}

static void read_fair_queue(const struct cfs_rq *cfs_rq, struct fg_queue *to)
{
	to->load_weight = scale_load_down(cfs_rq->load.weight);
	to->min_vruntime = vruntime_base(cfs_rq);
	read_average(cfs_rq, to);
	read_slices(cfs_rq, to);
}

/* Entities of a queue, a group being one. */
static u32 nr_entities(const struct cfs_rq *cfs_rq)
{
#ifdef KS_HAS_NR_QUEUED
	return cfs_rq->nr_queued;
#else
	return cfs_rq->nr_running;
#endif
}

#ifdef KS_HAS_H_LOAD
/* In jiffies since boot, plus 1; 0: never updated. */
static u64 h_load_stamp(const struct cfs_rq *cfs_rq)
{
	unsigned long stamp = (unsigned long)cfs_rq->last_h_load_update;

	return time_before(stamp, (unsigned long)INITIAL_JIFFIES) ? 0 : read_jiffies(stamp) + 1;
}
#endif

static void read_cfs(const struct cfs_rq *cfs_rq, struct fg_cpu *to)
{
	struct fg_util_est est;

	to->h_nr_running = nr_fair(cfs_rq);
	to->idle_h_nr_running = nr_sched_idle(cfs_rq);
	to->h_nr_delayed = nr_delayed(cfs_rq);
	to->nr_nested = (s32)(nr_fair(cfs_rq) - nr_entities(cfs_rq));
	read_fair_queue(cfs_rq, &to->fair);
	read_avg(&cfs_rq->avg, &to->cfs);
	/* A run queue has only a sum of estimates, in one of the two members. */
	read_util_est(&cfs_rq->avg, &est);
#ifdef KS_HAS_UTIL_EST_FLAT
	to->est_enqueued = est.ewma;
#else
	to->est_enqueued = est.enqueued;
#endif
#ifdef KS_HAS_H_LOAD
	to->h_load = cfs_rq->h_load;
	to->h_load_stamp = h_load_stamp(cfs_rq);
#endif
	to->removed_nr = cfs_rq->removed.nr;
	to->removed_load = cfs_rq->removed.load_avg;
	to->removed_runnable = cfs_rq->removed.runnable_avg;
	to->removed_util = cfs_rq->removed.util_avg;
}

static void read_clocks(const struct rq *rq, struct fg_cpu *to)
{
	to->clock = rq->clock;
	to->clock_task = rq->clock_task;
	to->clock_pelt = rq->clock_pelt;
	to->lost_idle_time = rq->lost_idle_time;
#ifdef KS_HAS_CLOCK_IDLE
	to->clock_idle = rq->clock_idle;
	to->clock_pelt_idle = rq->clock_pelt_idle;
#endif
#ifdef CONFIG_IRQ_TIME_ACCOUNTING
	to->prev_irq_ns = rq->prev_irq_time;
#endif
}

static void read_other_signals(const struct rq *rq, struct fg_cpu *to)
{
	read_avg(&rq->avg_rt, &to->rt);
	read_avg(&rq->avg_dl, &to->dl);
#ifdef KS_HAS_AVG_IRQ
	read_avg(&rq->avg_irq, &to->irq);
#endif
#if defined(KS_HAS_AVG_HW)
	read_avg(&rq->avg_hw, &to->thermal);
#elif defined(KS_HAS_AVG_THERMAL)
	read_avg(&rq->avg_thermal, &to->thermal);
#endif
}

static void read_capacity(const struct rq *rq, s32 cpu, struct fg_cpu *to)
{
	to->cpu_capacity_orig = arch_scale_cpu_capacity(cpu);
	to->cpu_capacity = rq->cpu_capacity;
	to->freq_scale = arch_scale_freq_capacity(cpu);
#ifdef KS_HAS_CAPACITY_INVERTED
	to->cpu_capacity_inverted = rq->cpu_capacity_inverted;
#endif
#ifdef KS_HAS_THERMAL_PRESSURE
	to->thermal_pressure = arch_scale_thermal_pressure(cpu);
#endif
#ifdef KS_HAS_HW_PRESSURE
	to->hw_pressure = arch_scale_hw_pressure(cpu);
#endif
#ifdef KS_HAS_CPUFREQ_PRESSURE
	to->cpufreq_pressure = cpufreq_get_pressure(cpu);
#endif
}

static void read_idle_state(struct rq *rq, struct fg_cpu *to)
{
	const struct cpuidle_state *state = idle_get_state(rq);

	/* Placement reads only whether there is a state, so any index will do. */
	to->idle_state = state ? 0 : -1;
	to->idle_exit_latency = 0;
	to->idle_residency = 0;
	if (!state)
		return;
#ifdef KS_HAS_IDLE_STATE_NS
	to->idle_exit_latency = state->exit_latency_ns;
	to->idle_residency = state->target_residency_ns;
#else
	to->idle_exit_latency = state->exit_latency * 1000ull;
	to->idle_residency = state->target_residency * 1000ull;
#endif
}

/* current of an interrupt while no task of the host runs: the idle task or a stopper. */
static const struct task_struct *nameless_waker(const struct rq *rq)
{
	const struct task_struct *curr = rcu_access_pointer(rq->curr);

	return ks_task_number(curr) == KS_NONE ? curr : rq->idle;
}

static void read_idle(struct rq *rq, struct fg_cpu *to)
{
	const struct task_struct *waker = nameless_waker(rq);

	to->idle_stamp = rq->idle_stamp;
	to->avg_idle = rq->avg_idle;
	to->max_idle_balance_cost = rq->max_idle_balance_cost;
#ifdef KS_HAS_WAKE_AVG_IDLE
	to->wake_avg_idle = rq->wake_avg_idle;
	to->wake_stamp = read_jiffies(rq->wake_stamp);
#endif
#ifdef KS_HAS_RQ_BREAK_EVEN
	to->break_even = rq->break_even;
#endif
	to->next_balance = read_jiffies(rq->next_balance);
#ifdef CONFIG_NO_HZ_COMMON
	to->tick_stopped = rq->nohz_tick_stopped;
	to->last_blocked = read_jiffies(rq->last_blocked_load_update_tick);
	to->has_blocked_load = rq->has_blocked_load;
#endif
	to->idle_balance = rq->idle_balance;
	to->idle_last_wakee = wakee_number(waker);
	to->idle_wakee_flips = waker->wakee_flips;
	to->idle_wakee_flip_ts = wakee_stamp(waker);
	read_idle_state(rq, to);
}

#ifdef KS_HAS_SCHED_CACHE_GROUP
static void read_caches(const struct rq *rq, struct fg_cpu *to)
{
	to->cpu_runtime = rq->cpu_runtime;
	to->cpu_epoch = rq->cpu_epoch;
	to->cpu_epoch_next = read_jiffies(rq->cpu_epoch_next);
	to->nr_pref_llc_running = rq->nr_pref_llc_running;
	to->push_llc = rq->active_balance && pushes_for_llc(cpu_of((struct rq *)rq));
}

static u32 read_llc_counts(s32 cpu, u32 *to, u32 max)
{
	const struct sched_domain *sd = rcu_dereference_raw(read_rq(cpu)->sd);
	u32 n;

	if (!sd)
		return 0;
	for (n = 0; n < sd->llc_max && n < max; n++)
		to[n] = sd->llc_counts[n];
	return sd->llc_max;
}
#else
static void read_caches(const struct rq *rq, struct fg_cpu *to)
{
}

static u32 read_llc_counts(s32 cpu, u32 *to, u32 max)
{
	return 0;
}
#endif

static s32 read_process_of(s32 task)
{
	return ks_process_number(ks_task(task));
}

void ks_read_cpu(s32 cpu, struct fg_cpu *to)
{
	struct rq *rq = read_rq(cpu);

	to->nr_running = rq->nr_running;
	to->rt_nr_running = rq->rt.rt_nr_running;
	to->curr_is_idle = rcu_access_pointer(rq->curr) == rq->idle;
#ifdef KS_HAS_TTWU_PENDING
	to->ttwu_pending = rq->ttwu_pending != 0;
#endif
	to->misfit_task_load = rq->misfit_task_load;
	to->active_balance = rq->active_balance != 0;
	to->push_cpu = rq->push_cpu;
	read_cfs(&rq->cfs, to);
	read_clocks(rq, to);
	read_other_signals(rq, to);
	to->dl_bw = cpu_bw_dl((struct rq *)rq);
	read_capacity(rq, cpu, to);
	read_clamps(rq, to);
	read_idle(rq, to);
	read_caches(rq, to);
}

/* ---- pointers of a CPU, as numbers ------------------------------------------------------------------------------ */

static s32 buddy_number(const struct sched_entity *se)
{
	return se && entity_is_task(se) ? ks_task_number(task_of((struct sched_entity *)se)) : KS_NONE;
}

#ifdef CONFIG_FAIR_GROUP_SCHED
/* The number of the group whose run queue this is. */
static s32 queue_group(const struct cfs_rq *cfs_rq)
{
	return ks_group_number(&cfs_rq->tg->css);
}

/* KS_GROUP() for a task group. */
static s32 entity_number(const struct sched_entity *se)
{
	return se && !entity_is_task(se) ? KS_GROUP(queue_group(se->my_q)) : buddy_number(se);
}

/* The current task of the fair class, below the current entity of the root run queue. */
static const struct sched_entity *fair_current(const struct rq *rq)
{
	const struct sched_entity *se = rq->cfs.curr;

	while (se && !entity_is_task(se))
		se = se->my_q->curr;
	return se;
}

static struct task_group *read_tg(s32 group)
{
	return container_of(ks_group_css(group), struct task_group, css);
}
#else
static s32 queue_group(const struct cfs_rq *cfs_rq)
{
	return 0;
}

static s32 entity_number(const struct sched_entity *se)
{
	return buddy_number(se);
}

static const struct sched_entity *fair_current(const struct rq *rq)
{
	return rq->cfs.curr;
}
#endif

static struct cfs_rq *read_cfs_rq(s32 cpu, s32 group)
{
	struct rq *rq = read_rq(cpu);

#ifndef CONFIG_FAIR_GROUP_SCHED
	return &rq->cfs;
#else
	if (!group)
		return &rq->cfs;
#ifdef KS_HAS_TG_CFS_RQ
	return tg_cfs_rq(read_tg(group), cpu_of(rq));
#else
	return read_tg(group)->cfs_rq[cpu_of(rq)];
#endif
#endif
}

static void read_refs(s32 cpu, struct ks_cpu_refs *to)
{
	const struct rq *rq = read_rq(cpu);
	const struct task_struct *curr = rcu_access_pointer(rq->curr);

	to->curr = curr == rq->idle ? KS_NONE : ks_task_number(curr);
	to->fair_curr = buddy_number(fair_current(rq));
	to->curr_is_own = curr != rq->idle && to->curr == KS_NONE;
	to->next = KS_NONE;
	to->last = KS_NONE;
	to->skip = KS_NONE;
#ifdef KS_HAS_BUDDY_NEXT
	to->next = buddy_number(rq->cfs.next);
#endif
#ifdef KS_HAS_BUDDY_LAST
	to->last = buddy_number(rq->cfs.last);
	to->skip = buddy_number(rq->cfs.skip);
#endif
}

static u32 read_queue(s32 cpu, s32 group, s32 *to, u32 max)
{
	const struct rb_node *node = rb_first_cached(&read_cfs_rq(cpu, group)->tasks_timeline);
	u32 n = 0;

	for (; node; node = rb_next(node), n++) {
		if (n < max)
			to[n] = entity_number(rb_entry(node, struct sched_entity, run_node));
	}
	return n;
}

static void read_queue_refs(s32 cpu, s32 group, struct ks_queue_refs *to)
{
	const struct cfs_rq *cfs_rq = read_cfs_rq(cpu, group);

	to->next = KS_NONE;
	to->last = KS_NONE;
	to->skip = KS_NONE;
#ifdef KS_HAS_BUDDY_NEXT
	to->next = entity_number(cfs_rq->next);
#endif
#ifdef KS_HAS_BUDDY_LAST
	to->last = entity_number(cfs_rq->last);
	to->skip = entity_number(cfs_rq->skip);
#endif
}

static u32 read_movable(s32 cpu, s32 *to, u32 max)
{
	const struct rq *rq = read_rq(cpu);
	struct task_struct *p;
	u32 n = 0;

	list_for_each_entry_reverse(p, &rq->cfs_tasks, se.group_node) {
		if (n < max)
			to[n] = ks_task_number(p);
		n++;
	}
	return n;
}

/* ---- task groups ------------------------------------------------------------------------------------------------ */

#ifdef CONFIG_FAIR_GROUP_SCHED
static u32 read_nr_groups(void)
{
	return ks_nr_groups();
}

static s32 read_group_of(s32 task)
{
	return ks_group_number(&task_group(ks_task(task))->css);
}

#ifdef CONFIG_CFS_BANDWIDTH
static void read_bandwidth(struct cfs_bandwidth *b, struct fg_bandwidth *to)
{
	const struct cfs_rq *throttled;

	to->quota = b->quota == RUNTIME_INF ? 0 : b->quota;
	to->period = ktime_to_ns(b->period);
#ifdef KS_HAS_CFS_BURST
	to->burst = b->burst;
#endif
	to->runtime = b->runtime;
	to->expires = ktime_to_ns(hrtimer_get_expires(&b->period_timer));
	to->slack_expires = ktime_to_ns(hrtimer_get_expires(&b->slack_timer));
	to->idle = b->idle;
	to->period_active = b->period_active;
	to->slack_active = b->slack_started;
	to->nr_throttled = 0;
	list_for_each_entry(throttled, &b->throttled_cfs_rq, throttled_list)
		to->nr_throttled++;
}

static void read_runtime(const struct cfs_rq *cfs_rq, struct fg_tg_cpu *to)
{
	to->runtime_remaining = cfs_rq->runtime_remaining;
	to->throttled = cfs_rq->throttled;
	to->throttle_count = cfs_rq->throttle_count;
#ifdef KS_HAS_PELT_CLOCK_THROTTLED
	to->pelt_clock_throttled = cfs_rq->pelt_clock_throttled;
#else
	to->pelt_clock_throttled = cfs_rq->throttle_count != 0;
#endif
#ifdef KS_HAS_THROTTLED_PELT_IDLE
	to->throttled_clock_pelt = cfs_rq->throttled_clock_pelt;
	to->throttled_clock_pelt_time = cfs_rq->throttled_clock_pelt_time;
	to->throttled_pelt_idle = cfs_rq->throttled_pelt_idle;
#endif
}
#else
static void read_bandwidth(struct cfs_bandwidth *b, struct fg_bandwidth *to)
{
}

static void read_runtime(const struct cfs_rq *cfs_rq, struct fg_tg_cpu *to)
{
}
#endif

static s32 read_task_group(s32 group, struct fg_tg *to)
{
	struct task_group *tg = read_tg(group);

	read_bandwidth(&tg->cfs_bandwidth, &to->bandwidth);

	to->shares = tg->shares;
	to->load_avg = atomic_long_read(&tg->load_avg);
#ifdef KS_HAS_TG_RUNNABLE_AVG
	to->runnable_avg = atomic_long_read(&tg->runnable_avg);
#endif
#ifdef KS_HAS_TG_IDLE
	to->idle = tg->idle > 0;
#endif
	return ks_group_parent(group);
}

/* The entity of this run queue that has the CPU, itself or by a task in it. */
#ifdef KS_HAS_SE_H_LOAD
#define current_entity(cfs_rq) ((cfs_rq)->h_curr)
#else
#define current_entity(cfs_rq) ((cfs_rq)->curr)
#endif

/* The entity of a group, where its run queue is cfs_rq. */
static void read_group_entity(const struct cfs_rq *cfs_rq, const struct sched_entity *se, struct fg_task *to)
{
	to->policy = SCHED_NORMAL;
#ifdef KS_HAS_TG_IDLE
	to->policy = cfs_rq->tg->idle > 0 ? SCHED_IDLE : SCHED_NORMAL;
#endif
	to->cpu = cpu_of(rq_of((struct cfs_rq *)cfs_rq));
	to->on_rq = se->on_rq != 0;
	to->on_cpu = current_entity(cfs_rq) != NULL;
	to->weight = scale_load_down(se->load.weight);
	to->shares = se->load.weight;
	to->vruntime = se->vruntime;
	to->exec_start = se->exec_start;
	to->sum_exec = se->sum_exec_runtime;
	to->prev_sum_exec = se->prev_sum_exec_runtime;
	to->flags = read_task_deadline(se, to);
	/* Its slice is the shortest of its queue's, not one that it asked for. */
	to->custom_slice = 0;
	read_avg(&se->avg, &to->avg);
}

static void read_task_group_cpu(s32 group, s32 cpu, struct fg_tg_cpu *to)
{
	const struct cfs_rq *cfs_rq = read_cfs_rq(cpu, group);
	const struct sched_entity *se;

#ifdef KS_HAS_TG_CFS_RQ
	se = tg_se(read_tg(group), cpu);
#else
	se = read_tg(group)->se[cpu];
#endif
	read_fair_queue(cfs_rq, &to->queue);
	read_group_entity(cfs_rq, se, &to->entity);
	read_avg(&cfs_rq->avg, &to->avg);
	to->load_shares = cfs_rq->load.weight;
	to->h_nr_running = nr_fair(cfs_rq);
	to->h_nr_delayed = nr_delayed(cfs_rq);
	to->idle_h_nr_running = nr_sched_idle(cfs_rq);
	to->nr_nested = (s32)(nr_fair(cfs_rq) - nr_entities(cfs_rq));
	read_runtime(cfs_rq, to);
	to->runnable = se->runnable_weight;
	to->propagate = cfs_rq->propagate != 0;
	to->propagate_sum = cfs_rq->prop_runnable_sum;
	to->removed_nr = cfs_rq->removed.nr;
	to->removed_load = cfs_rq->removed.load_avg;
	to->removed_runnable = cfs_rq->removed.runnable_avg;
	to->removed_util = cfs_rq->removed.util_avg;
	to->contribution = cfs_rq->tg_load_avg_contrib;
#ifdef KS_HAS_TG_RUNNABLE_AVG
	to->runnable_contribution = cfs_rq->tg_runnable_avg_contrib;
#endif
	to->h_load = cfs_rq->h_load;
	to->h_load_stamp = h_load_stamp(cfs_rq);
}
#else
/* Groups do not compete: nothing is known of them here. */
static u32 read_nr_groups(void)
{
	return 1;
}

static s32 read_group_of(s32 task)
{
	return 0;
}

static s32 read_task_group(s32 group, struct fg_tg *to)
{
	return KS_NONE;
}

static void read_task_group_cpu(s32 group, s32 cpu, struct fg_tg_cpu *to)
{
}
#endif

static u64 read_irq_time(s32 cpu)
{
	return ks_call(irq_time, cpu);
}

/* ---- global state, topology, domains ---------------------------------------------------------------------------- */

static void read_sys(struct ks_sys *to)
{
	to->jiffies = read_jiffies(jiffies);
#ifdef KS_HAS_ASYM_ACTIVE
	to->asym_key = sched_asym_cpucap_active();
#else
	to->asym_key = static_branch_unlikely(&sched_asym_cpucapacity);
#endif
	to->smt_key = sched_smt_active();
#ifdef KS_HAS_FLAG_CLUSTER
	to->cluster_key = static_branch_unlikely(&sched_cluster_active);
#else
	to->cluster_key = 0;
#endif
	to->uclamp_used = uclamp_is_used();
	to->eas = sched_energy_enabled();
#ifdef KS_HAS_SCHED_CACHE_GROUP
	to->sched_cache = sched_cache_enabled();
#else
	to->sched_cache = 0;
#endif
	to->nr_online = num_online_cpus();
	to->nohz_nr_cpus = cpumask_weight(nohz.idle_cpus_mask);
	to->nohz_has_blocked = nohz.has_blocked_load;
	to->nohz_next_balance = read_jiffies(nohz.next_balance);
	to->nohz_next_blocked = read_jiffies(nohz.next_blocked);
	read_mask(nohz.idle_cpus_mask, to->nohz_idle);
	read_mask(cpu_active_mask, to->active);
}

static void read_root(s32 cpu, struct fg_root *to)
{
	const struct root_domain *rd = read_rq(cpu)->rd;

	read_mask(rd->span, to->span.bits);
#ifdef KS_HAS_RD_MAX_CAPACITY
	to->max_cpu_capacity = rd->max_cpu_capacity;
#endif
#ifdef KS_HAS_RD_OVERLOADED
	to->overload = rd->overloaded;
#else
	to->overload = rd->overload;
#endif
	to->overutilized = rd->overutilized != 0;
}

static s32 read_shared(const struct sched_domain_shared *sds, struct fg_llc *to)
{
	if (!sds)
		return KS_NONE;
	to->nr_busy_cpus = atomic_read(&sds->nr_busy_cpus);
	to->has_idle_cores = sds->has_idle_cores;
#ifdef KS_HAS_NR_IDLE_SCAN
	to->nr_idle_scan = sds->nr_idle_scan;
#endif
#ifdef KS_HAS_SCHED_CACHE_GROUP
	to->util_avg = sds->util_avg;
	to->capacity = sds->capacity;
#endif
	return 0;
}

static s32 read_llc(s32 cpu, struct fg_llc *to)
{
	return read_shared(rcu_dereference_raw(per_cpu(sd_llc_shared, cpu_of(read_rq(cpu)))), to);
}

static s32 read_balance_shared(s32 cpu, struct fg_llc *to)
{
#ifdef KS_HAS_BALANCE_SHARED
	return read_shared(rcu_dereference_raw(per_cpu(sd_balance_shared, cpu_of(read_rq(cpu)))), to);
#else
	return KS_NONE;
#endif
}

static struct sched_domain *nth_domain(s32 cpu, u32 n)
{
	struct sched_domain *sd = rcu_dereference_raw(read_rq(cpu)->sd);

	while (sd && n--)
		sd = rcu_dereference_raw(sd->parent);
	return sd;
}

/* Index of sd among cpu's domains, 0: the lowest. KS_NONE: not one of them, as the NULL pointers of isolated CPUs. */
static s32 domain_number(s32 cpu, const struct sched_domain *sd)
{
	const struct sched_domain *tmp;
	s32 n = 0;

	for (tmp = rcu_dereference_raw(read_rq(cpu)->sd); tmp; tmp = rcu_dereference_raw(tmp->parent), n++) {
		if (tmp == sd)
			return n;
	}
	return KS_NONE;
}

static void read_place(s32 cpu, struct ks_place *to)
{
	cpu = cpu_of(read_rq(cpu));
	to->sd_llc_id = per_cpu(sd_llc_id, cpu);
	to->sd_llc_size = per_cpu(sd_llc_size, cpu);
#ifdef KS_HAS_SHARE_ID
	to->sd_share_id = per_cpu(sd_share_id, cpu);
#else
	to->sd_share_id = to->sd_llc_id;
#endif
	to->sd_llc = domain_number(cpu, rcu_dereference_raw(per_cpu(sd_llc, cpu)));
	to->sd_asym_cpucapacity = domain_number(cpu, rcu_dereference_raw(per_cpu(sd_asym_cpucapacity, cpu)));
	to->sd_numa = domain_number(cpu, rcu_dereference_raw(per_cpu(sd_numa, cpu)));
	read_mask(cpu_smt_mask(cpu), to->core);
}

#ifdef KS_HAS_FLAG_SHARE_LLC
#define KS_SD_SHARE_LLC SD_SHARE_LLC
#else
#define KS_SD_SHARE_LLC SD_SHARE_PKG_RESOURCES
#endif

#ifdef KS_HAS_FLAG_OVERLAP
#define KS_SD_OVERLAP SD_OVERLAP
#else
#define KS_SD_OVERLAP SD_NUMA
#endif

static u32 read_sd_flags(s32 flags)
{
	static const struct {
		s32 kernel;
		u32 fg;
	} map[] = {
		{ SD_BALANCE_NEWIDLE, FG_SD_BALANCE_NEWIDLE },
		{ SD_BALANCE_EXEC, FG_SD_BALANCE_EXEC },
		{ SD_BALANCE_FORK, FG_SD_BALANCE_FORK },
		{ SD_BALANCE_WAKE, FG_SD_BALANCE_WAKE },
		{ SD_WAKE_AFFINE, FG_SD_WAKE_AFFINE },
		{ SD_ASYM_CPUCAPACITY, FG_SD_ASYM_CPUCAPACITY },
#ifdef KS_HAS_FLAG_ASYM_FULL
		{ SD_ASYM_CPUCAPACITY_FULL, FG_SD_ASYM_CPUCAPACITY_FULL },
#endif
		{ SD_SHARE_CPUCAPACITY, FG_SD_SHARE_CPUCAPACITY },
#ifdef KS_HAS_FLAG_CLUSTER
		{ SD_CLUSTER, FG_SD_CLUSTER },
#endif
		{ KS_SD_SHARE_LLC, FG_SD_SHARE_LLC },
		{ SD_SERIALIZE, FG_SD_SERIALIZE },
		{ SD_ASYM_PACKING, FG_SD_ASYM_PACKING },
		{ SD_PREFER_SIBLING, FG_SD_PREFER_SIBLING },
		{ KS_SD_OVERLAP, FG_SD_OVERLAP },
		{ SD_NUMA, FG_SD_NUMA },
	};
	u32 i, to = 0;

	for (i = 0; i < ARRAY_SIZE(map); i++)
		to |= flags & map[i].kernel ? map[i].fg : 0;
	return to;
}

static s32 read_domain(s32 cpu, u32 n, struct fg_domain *to)
{
	struct sched_domain *sd = nth_domain(cpu, n);

	if (!sd)
		return KS_NONE;
	to->flags = read_sd_flags(sd->flags);
	to->weight = sd->span_weight;
	to->imbalance_pct = sd->imbalance_pct;
	to->busy_factor = sd->busy_factor;
	to->cache_nice_tries = sd->cache_nice_tries;
	to->min_interval = sd->min_interval;
	to->max_interval = sd->max_interval;
	to->balance_interval = sd->balance_interval;
	to->nr_balance_failed = sd->nr_balance_failed;
	to->last_balance = read_jiffies(sd->last_balance);
	to->max_newidle_lb_cost = sd->max_newidle_lb_cost;
#ifdef KS_HAS_IMB_NUMA_NR
	to->imb_numa_nr = sd->imb_numa_nr;
#endif
#ifdef KS_HAS_LAST_DECAY
	to->next_decay = read_jiffies(sd->last_decay_max_lb_cost) + HZ;
#else
	to->next_decay = read_jiffies(sd->next_decay_max_lb_cost);
#endif
#ifdef KS_HAS_NEWIDLE_CALL
	to->newidle_call = sd->newidle_call;
	to->newidle_success = sd->newidle_success;
	to->newidle_ratio = sd->newidle_ratio;
#endif
#ifdef KS_HAS_NEWIDLE_STAMP
	to->newidle_stamp = sd->newidle_stamp;
#endif
#ifdef KS_HAS_AVG_SCAN_COST
	to->avg_scan_cost = sd->avg_scan_cost;
#endif
	read_mask(sched_domain_span(sd), to->span.bits);
	return 0;
}

static void read_group(struct sched_group *sg, struct fg_group *to)
{
	to->weight = sg->group_weight;
#ifdef KS_HAS_GROUP_FLAGS
	to->flags = read_sd_flags(sg->flags);
#endif
	to->capacity = sg->sgc->capacity;
	to->min_capacity = sg->sgc->min_capacity;
	to->max_capacity = sg->sgc->max_capacity;
	to->next_update = read_jiffies(sg->sgc->next_update);
	to->balance_cpu = group_balance_cpu(sg);
	to->asym_prefer_cpu = sg->asym_prefer_cpu;
	to->imbalance = sg->sgc->imbalance;
#ifdef KS_HAS_GROUP_CORES
	to->cores = sg->cores;
#endif
	read_mask(sched_group_span(sg), to->span.bits);
	read_mask(group_balance_mask(sg), to->balance_mask.bits);
}

static u32 read_groups(s32 cpu, u32 n, struct fg_group *to, u32 max)
{
	struct sched_domain *sd = nth_domain(cpu, n);
	struct sched_group *sg = sd ? sd->groups : NULL;
	u32 i = 0;

	if (!sg)
		return 0;
	do {
		if (i < max)
			read_group(sg, &to[i]);
		i++;
		sg = sg->next;
	} while (sg != sd->groups);
	return i;
}

#ifdef KS_HAS_EM_REGISTER
static struct em_perf_state *em_states(struct em_perf_domain *em)
{
#ifdef KS_HAS_EM_TABLE
	return rcu_dereference_raw(em->em_table)->state;
#else
	return em->table;
#endif
}

static void read_opp(const struct em_perf_state *from, struct fg_opp *to)
{
	to->khz = from->frequency;
#ifdef KS_HAS_EM_MICROWATTS
	to->power = from->power;
#else
	/* Whole milliwatts: what the caller has stays if it is as much. */
	if (to->power / 1000 != from->power)
		to->power = from->power * 1000;
#endif
	to->cost = from->cost;
#ifdef KS_HAS_EM_FLAGS
	to->inefficient = (from->flags & EM_PERF_STATE_INEFFICIENT) != 0;
#endif
#ifdef KS_HAS_EM_TABLE
	to->performance = from->performance;
#endif
}

static u32 read_energy(s32 cpu, u32 n, struct fg_em *to, struct fg_opp *opps, u32 max)
{
	const struct perf_domain *pd = rcu_dereference_raw(read_rq(cpu)->rd->pd);
	struct em_perf_domain *em;
	u32 i;

	while (pd && n--)
		pd = pd->next;
	if (!pd)
		return 0;
	em = pd->em_pd;
	read_mask(to_cpumask(em->cpus), to->span.bits);
	for (i = 0; i < em->nr_perf_states && i < max; i++)
		read_opp(&em_states(em)[i], &opps[i]);
	return em->nr_perf_states;
}
#else
static u32 read_energy(s32 cpu, u32 n, struct fg_em *to, struct fg_opp *opps, u32 max)
{
	return 0;
}
#endif

/* Members that a decision of the model may read and that this tree has no counterpart of. */
static const char unobserved[] =
	"fg_cpu.queued fg_cpu.pd"
#ifndef KS_HAS_TTWU_PENDING
	" fg_cpu.ttwu_pending"
#endif
#ifndef KS_HAS_CLOCK_IDLE
	" fg_cpu.clock_idle fg_cpu.clock_pelt_idle"
#endif
#ifndef KS_HAS_RQ_BREAK_EVEN
	" fg_cpu.break_even"
#endif
#ifndef KS_HAS_WAKE_AVG_IDLE
	" fg_cpu.wake_avg_idle fg_cpu.wake_stamp"
#endif
#ifndef KS_HAS_AVG_SCAN_COST
	" fg_domain.avg_scan_cost"
#endif
#ifndef KS_HAS_NR_IDLE_SCAN
	" fg_llc.nr_idle_scan"
#endif
#ifndef KS_HAS_IMB_NUMA_NR
	" fg_domain.imb_numa_nr"
#endif
#ifndef KS_HAS_AVG_IRQ
	" fg_cpu.irq"
#endif
#if !defined(KS_HAS_AVG_HW) && !defined(KS_HAS_AVG_THERMAL)
	" fg_cpu.thermal"
#endif
#ifndef KS_HAS_THERMAL_PRESSURE
	" fg_cpu.thermal_pressure"
#endif
#ifndef KS_HAS_HW_PRESSURE
	" fg_cpu.hw_pressure"
#endif
#ifndef KS_HAS_CPUFREQ_PRESSURE
	" fg_cpu.cpufreq_pressure"
#endif
#ifndef KS_HAS_CAPACITY_INVERTED
	" fg_cpu.cpu_capacity_inverted"
#endif
#ifndef KS_HAS_UCLAMP
	" fg_cpu.uclamp"
#endif
#ifndef KS_HAS_MAX_ALLOWED_CAPACITY
	" fg_task.max_allowed_capacity"
#endif
#ifndef KS_HAS_RD_MAX_CAPACITY
	" fg_root.max_cpu_capacity"
#endif
#ifndef KS_HAS_GROUP_FLAGS
	" fg_group.flags"
#endif
#ifndef KS_HAS_GROUP_CORES
	" fg_group.cores"
#endif
#ifndef KS_HAS_EM_TABLE
	" fg_opp.performance"
#endif
	;

const struct ks_read ks_reader = {
	.size = sizeof(struct ks_read),
	.refs = read_refs,
	.sys = read_sys,
	.place = read_place,
	.root = read_root,
	.llc = read_llc,
	.balance_shared = read_balance_shared,
	.domain = read_domain,
	.groups = read_groups,
	.process_of = read_process_of,
	.process = ks_read_process,
	.cache_time = ks_read_cache_time,
	.llc_counts = read_llc_counts,
	.queue = read_queue,
	.queue_refs = read_queue_refs,
	.movable = read_movable,
	.nr_groups = read_nr_groups,
	.group_of = read_group_of,
	.group = read_task_group,
	.group_cpu = read_task_group_cpu,
	.energy = read_energy,
	.governor = ks_read_governor,
	.governor_cpu = ks_read_governor_cpu,
	.clock = ks_clock,
	.irq_time = read_irq_time,
	.unobserved = unobserved,
	.sizeof_cpu = sizeof(struct fg_cpu),
	.sizeof_task = sizeof(struct fg_task),
	.sizeof_group = sizeof(struct fg_group),
	.sizeof_domain = sizeof(struct fg_domain),
	.sizeof_llc = sizeof(struct fg_llc),
	.sizeof_root = sizeof(struct fg_root),
	.sizeof_avg = sizeof(struct fg_avg),
	.sizeof_frequency_limits = sizeof(struct fg_frequency_limits),
	.sizeof_opp = sizeof(struct fg_opp),
	.sizeof_sugov = sizeof(struct fg_sugov),
	.sizeof_tg = sizeof(struct fg_tg),
	.sizeof_tg_cpu = sizeof(struct fg_tg_cpu),
	.sizeof_process = sizeof(struct fg_process),
	.sizeof_cache_time = sizeof(struct fg_cache_time),
};
