/* SPDX-License-Identifier: GPL-2.0-only */
/* Which tasks of the source are moved (spec 6.4): can_migrate_task and detach_tasks. */
#include "lb.h"

/* It ran a moment ago, so what it needs is still in the caches there. */
static u32 task_hot(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_task *p)
{
	const struct fg_cpu *src = cpu_rq(sys, (u32)b->src_cpu);
	const struct fg_queue *q = const_queue_of(src, p);

	if (!is_fair(p) || p->policy == FG_SCHED_IDLE)
		return 0;
	/* Siblings share them. */
	if (feat(sys, FG_SMT_NEVER_HOT) && (b->sd->flags & FG_SD_SHARE_CPUCAPACITY))
		return 0;
	/* A buddy of the source's queue: the source's tasks probably work with it. */
	if (cpu_rq(sys, (u32)b->dst_cpu)->nr_running && (p == q->next || p == q->last))
		return 1;
	return (s64)(src->clock_task - p->exec_start) < FG_MIGRATION_COST;
}

/* p may not run on dst; perhaps on another CPU that dst's group balances. */
static void note_pinned(const struct fg_sys *sys, struct fg_balance *b, const struct fg_task *p)
{
	const struct fg_mask *group = &b->sd->groups->balance_mask;
	u32 cpu;

	b->flags |= FG_LB_SOME_PINNED;
	if (b->kind == FG_CPU_NEWLY_IDLE || (b->flags & FG_LB_DST_PINNED))
		return;
	for_each_cpu_and(cpu, group, &b->cpus, sys->nr_cpus) {
		if (mask_test(&p->allowed, (s32)cpu)) {
			b->flags |= FG_LB_DST_PINNED;
			b->new_dst_cpu = (s32)cpu;
			return;
		}
	}
}

/* p has had more than its share, and on dst it would have to wait: where its group runs, or, with flat-pick, at all. */
static u32 ineligible_at_dst(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_task *p)
{
	const struct fg_queue *dst = const_order_queue(sys, cpu_rq(sys, (u32)b->dst_cpu), p);
	const struct fg_queue *src = const_order_queue(sys, cpu_rq(sys, (u32)b->src_cpu), p);

	return dst->sum_weight && !entity_eligible(src, p);
}

/* throttled_lb_pair, lb_throttled_hierarchy: p's group is throttled on dst or, where it leaves as a whole, on src. */
static u32 is_kept_by_quota(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_task *p)
{
	const struct fg_tg_cpu *dst = group_of(cpu_rq(sys, (u32)b->dst_cpu), p);

	return (dst && dst->throttle_count) || is_within_off(sys, group_of(cpu_rq(sys, (u32)b->src_cpu), p));
}

u32 fg_can_migrate_task(const struct fg_sys *sys, struct fg_balance *b, const struct fg_task *p)
{
	if (feat(sys, FG_DELAYED_STAY) && (p->flags & FG_TASK_DELAYED) && b->migration != FG_MIGRATE_LOAD)
		return 0;
	if (feat(sys, FG_INELIGIBLE_STAY) && !b->sd->nr_balance_failed && ineligible_at_dst(sys, b, p))
		return 0;
	if (is_kept_by_quota(sys, b, p))
		return 0;
	/* v5.12: it is where it belongs, and says nothing about the others. */
	if (feat(sys, FG_LB_KTHREAD) && (p->flags & FG_TASK_PERCPU_KTHREAD))
		return 0;
	if (!mask_test(&p->allowed, b->dst_cpu)) {
		note_pinned(sys, b, p);
		return 0;
	}
	b->flags &= ~(u32)FG_LB_ALL_PINNED;
	if (p->on_cpu)
		return 0;
	if ((b->flags & FG_LB_ACTIVE) && feat(sys, FG_ACTIVE_LB_TASK))
		return !prefers_another_llc(sys, b, p);
	if (migrate_degrades_llc(sys, b, p)) {
		if (b->migration != FG_MIGRATE_LLC)
			b->flags |= FG_LB_LLC_PINNED;
		return 0;
	}
	return b->sd->nr_balance_failed > b->sd->cache_nice_tries || !task_hot(sys, b, p);
}

void fg_detach_begin(const struct fg_sys *sys, struct fg_balance *b)
{
	b->batch = 0;
	/* v5.12: no task waits there any more, so none is examined, nor known to be pinned. */
	if (cpu_rq(sys, (u32)b->src_cpu)->nr_running <= 1 && feat(sys, FG_ACTIVE_LB_TASK)) {
		b->flags &= ~(u32)FG_LB_ALL_PINNED;
		b->looks = b->loop_max;
	}
}

u32 fg_detach_more(const struct fg_sys *sys, struct fg_balance *b)
{
	if (b->imbalance <= 0)
		return 0;
	/* A preemptible kernel is in a hurry here. */
	if (b->kind == FG_CPU_NEWLY_IDLE && b->batch && feat(sys, FG_NEWIDLE_ONE))
		return 0;
	/* An idle dst does not take the last task: the source would become idle and pull it back. */
	if (b->kind != FG_CPU_NOT_IDLE && cpu_rq(sys, (u32)b->src_cpu)->nr_running <= 1)
		return 0;
	return ++b->looks <= b->loop_max;
}

/* value with each failure halved. */
static u64 shr_failed(const struct fg_balance *b, u64 value)
{
	return value >> min_u64(b->sd->nr_balance_failed, 63);
}

/* A task of this load is more than what is to be moved. */
static u32 load_too_much(const struct fg_sys *sys, const struct fg_balance *b, u64 load)
{
	u64 imbalance = (u64)b->imbalance;

	if (feat(sys, FG_LOAD_SHIFT))
		return shr_failed(b, load) > imbalance;
	if (feat(sys, FG_FAILED_RELAX) && b->sd->nr_balance_failed > b->sd->cache_nice_tries)
		return 0;
	return load / 2 > imbalance;
}

/* What p has of the load to be moved. */
static u64 task_load(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_task *p)
{
	struct fg_cpu *src = cpu_rq(sys, (u32)b->src_cpu);
	u64 load;

	commit_h_load(src, p, b->jiffies);
	load = task_h_load(src, p, p->avg.load_avg, b->jiffies);
	return feat(sys, FG_LOAD_FLOOR) ? nonzero(load) : load;
}

static u32 is_misfit(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_task *p)
{
	struct clamped_util want;

	/* 002/P04: its load has doubled since it was found not to fit. */
	if (!feat(sys, FG_LB_P08))
		return task_load(sys, b, p) / 2 >= (u64)b->imbalance;
	task_clamped_util(sys, p, p->avg.util_avg, &want);
	return task_fits_cpu(sys, &want, cpu_rq(sys, (u32)b->src_cpu)) != 1;
}

/* 1: p is taken, and what is still to be moved is so much less. */
static u32 take_amount(const struct fg_sys *sys, struct fg_balance *b, const struct fg_task *p)
{
	u64 amount;

	switch (b->migration) {
	case FG_MIGRATE_TASK:
	case FG_MIGRATE_LLC:
		b->imbalance--;
		return 1;
	case FG_MIGRATE_MISFIT:
		if (!is_misfit(sys, b, p))
			return 0;
		b->imbalance = 0;
		return 1;
	case FG_MIGRATE_UTIL:
		amount = fg_task_util_est(sys, p);
		if ((feat(sys, FG_UTIL_SHIFT) ? shr_failed(b, amount) : amount) > (u64)b->imbalance)
			return 0;
		break;
	default:
		amount = task_load(sys, b, p);
		if (load_too_much(sys, b, amount))
			return 0;
	}
	b->imbalance -= (s64)amount;
	return 1;
}

u32 fg_detach_task(const struct fg_sys *sys, struct fg_balance *b, const struct fg_task *p)
{
	if (!fg_can_migrate_task(sys, b, p) || !take_amount(sys, b, p))
		return 0;
	b->batch++;
	b->moved++;
	return 1;
}
