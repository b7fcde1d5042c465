/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What follows a round of detaching (spec 6.5): another CPU for tasks that may not run here, another source, or the end with
 * its bookkeeping; and active balance.
 */
#include "lb.h"

/* ms up to which the interval grows while all tasks of a queue are pinned. */
#define MAX_PINNED_INTERVAL 512

/* Candidates are left that dst's group does not balance for. */
static u32 has_other_source(const struct fg_sys *sys, const struct fg_balance *b)
{
	const struct fg_mask *group = &b->sd->groups->balance_mask;

	for (u32 i = 0; i < FG_MASK_WORDS && i * 64 < sys->nr_cpus; i++) {
		if (b->cpus.bits[i] & ~group->bits[i])
			return 1;
	}
	return 0;
}

u32 fg_balance_next(const struct fg_sys *sys, struct fg_balance *b)
{
	struct fg_domain *parent = b->sd->parent;

	if ((b->flags & FG_LB_DST_PINNED) && b->imbalance > 0) {
		/* For the CPU remembered, and never again for this one. */
		mask_clear(&b->cpus, b->dst_cpu);
		b->dst_cpu = b->new_dst_cpu;
		b->flags &= ~(u32)FG_LB_DST_PINNED;
		b->looks = 0;
		return FG_LB_MORE;
	}
	/* Affinity stands in the way here; perhaps not one level up. */
	if (parent && parent->groups && (b->flags & FG_LB_SOME_PINNED) && b->imbalance > 0)
		parent->groups->imbalance = 1;
	if (!(b->flags & FG_LB_ALL_PINNED))
		return FG_LB_END;
	mask_clear(&b->cpus, b->src_cpu);
	if (has_other_source(sys, b))
		return FG_LB_REDO;
	b->rule = FG_BALANCE_RULE_PINNED;
	return FG_LB_END;
}

/* v6.10: a misfit task that found no place is nothing the domain has to wait for. */
static u32 misfit_leaves_pace(const struct fg_sys *sys, const struct fg_balance *b)
{
	return feat(sys, FG_MISFIT_NO_BACKOFF) && b->migration == FG_MIGRATE_MISFIT;
}

/* Nothing to do: the next time later. Newly idle balancing comes whenever a CPU runs dry, the interval is not its own. */
static void lengthen_interval(const struct fg_sys *sys, const struct fg_balance *b)
{
	struct fg_domain *sd = b->sd;
	u32 pinned = (b->flags & FG_LB_ALL_PINNED) && sd->balance_interval < MAX_PINNED_INTERVAL;

	if (b->kind == FG_CPU_NEWLY_IDLE || misfit_leaves_pace(sys, b))
		return;
	if (pinned || sd->balance_interval < sd->max_interval)
		sd->balance_interval *= 2;
}

/* The domain is balanced for this CPU, or all tasks that could move are pinned. */
static void balance_settled(const struct fg_sys *sys, const struct fg_balance *b)
{
	struct fg_domain *parent = b->sd->parent;

	if (parent && parent->groups && !(b->flags & FG_LB_ALL_PINNED))
		parent->groups->imbalance = 0;
	b->sd->nr_balance_failed = 0;
	lengthen_interval(sys, b);
}

void fg_balance_not_ours(const struct fg_sys *sys, const struct fg_balance *b)
{
	balance_settled(sys, b);
}

/* The one task of a squeezed source would have clearly more on an idle dst. */
static u32 source_is_squeezed(const struct fg_sys *sys, const struct fg_balance *b)
{
	const struct fg_cpu *src = cpu_rq(sys, (u32)b->src_cpu);

	return b->kind != FG_CPU_NOT_IDLE && lb_h_nr(sys, src) == 1 && capacity_reduced(src, b->sd) &&
	       (u64)src->cpu_capacity * b->sd->imbalance_pct < dst_capacity(sys, b) * 100;
}

/* The running task is the one to move. Up to v5.11: this, as opposed to for want of success, does not slow balancing down. */
static u32 wants_running_task(const struct fg_sys *sys, const struct fg_balance *b)
{
	u32 misfit = b->migration == FG_MIGRATE_MISFIT;

	if (!feat(sys, FG_LB_P04))
		misfit = b->src_type == group_misfit_task;
	return misfit || asym_active_balance(sys, b) || source_is_squeezed(sys, b);
}

static u32 need_active_balance(const struct fg_sys *sys, const struct fg_balance *b)
{
	/* v5.12: a running task instead of a waiting one only where tasks are counted. */
	u32 counts = !feat(sys, FG_ACTIVE_LB_TASK) || b->migration == FG_MIGRATE_TASK;

	if (feat(sys, FG_CACHE_PACKING) && asym_active_balance(sys, b))
		return 1;
	if (active_balance_breaks_llc(sys, b))
		return 0;
	if (b->migration == FG_MIGRATE_LLC)
		return 1;
	return wants_running_task(sys, b) || (counts && b->sd->nr_balance_failed > b->sd->cache_nice_tries + 2);
}

/* The running task of src may run on the CPU that balances; neither the idle task nor the stopper may. */
static u32 running_may_come(const struct fg_balance *b, const struct fg_cpu *src)
{
	return src->curr && mask_test(&src->curr->allowed, b->this_cpu);
}

/* 1: the stopper of src is asked now. */
static u32 start_active_balance(const struct fg_sys *sys, struct fg_balance *b, struct fg_cpu *src)
{
	u32 start = !src->active_balance;

	if (start) {
		src->active_balance = 1;
		src->push_cpu = b->this_cpu;
		src->push_llc = b->migration == FG_MIGRATE_LLC && feat(sys, FG_CACHE_ALB);
	}
	/* Up to v5.11: enough failures that the stopper does not mind heat. */
	if (!feat(sys, FG_ACTIVE_LB_TASK))
		b->sd->nr_balance_failed = b->sd->cache_nice_tries + 1;
	return start;
}

/* There was too much, and none of it could be moved. 1: as above. */
static u32 balance_failed(const struct fg_sys *sys, struct fg_balance *b)
{
	struct fg_cpu *src = cpu_rq(sys, (u32)b->src_cpu);
	struct fg_domain *sd = b->sd;
	u32 active = 0;

	/* What stays for its cache's sake is no failure. */
	if (b->kind != FG_CPU_NEWLY_IDLE && !misfit_leaves_pace(sys, b) && !(b->flags & FG_LB_LLC_PINNED))
		sd->nr_balance_failed++;
	if (need_active_balance(sys, b)) {
		if (!running_may_come(b, src)) {
			if (!feat(sys, FG_ACTIVE_LB_TASK))
				b->flags |= FG_LB_ALL_PINNED;
			lengthen_interval(sys, b);
			return 0;
		}
		/* v7.3: the task is just leaving. */
		if (!feat(sys, FG_ALB_GONE) || src->curr->on_rq)
			active = start_active_balance(sys, b, src);
	}
	/* Up to v5.11 the interval grows after an active balance that was due to failures, newly idle or not. */
	if (feat(sys, FG_INTERVAL_RESET) || !active || feat(sys, FG_ACTIVE_LB_TASK) || wants_running_task(sys, b))
		sd->balance_interval = sd->min_interval;
	else if (sd->balance_interval < sd->max_interval)
		sd->balance_interval *= 2;
	return active;
}

u32 fg_balance_end(const struct fg_sys *sys, struct fg_balance *b)
{
	if (!balance_rule_moves(b->rule)) {
		balance_settled(sys, b);
		return 0;
	}
	if (!b->moved)
		return balance_failed(sys, b);
	b->sd->nr_balance_failed = 0;
	b->sd->balance_interval = b->sd->min_interval;
	return 0;
}

/* The lowest domain of cpu that has other in it. */
static struct fg_domain *domain_with(const struct fg_sys *sys, s32 cpu, s32 other)
{
	struct fg_domain *sd;

	for_each_domain(sd, cpu_rq(sys, (u32)cpu)->sd) {
		if (mask_test(&sd->span, other))
			return sd;
	}
	return 0;
}

u32 fg_active_begin(const struct fg_sys *sys, struct fg_cpu *src, struct fg_balance *b)
{
	if (!src->active_balance || !valid_cpu(sys, src->push_cpu))
		return 0;
	if (!mask_test(&sys->active, src->id) || !mask_test(&sys->active, src->push_cpu))
		return 0;
	b->sd = domain_with(sys, src->push_cpu, src->id);
	if (!b->sd)
		return 0;
	b->this_cpu = src->push_cpu;
	b->kind = FG_CPU_IDLE;
	fg_balance_begin(sys, b);
	b->src_cpu = src->id;
	b->flags = FG_LB_ACTIVE | (src->push_llc ? FG_LB_ACTIVE_LLC : 0);
	return 1;
}

void fg_active_end(struct fg_cpu *src, struct fg_balance *b, u32 pushed)
{
	src->active_balance = 0;
	if (pushed)
		b->sd->nr_balance_failed = 0;
}
