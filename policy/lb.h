/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One attempt to balance a domain: what its steps share (spec 6.3 to 6.6).
 *
 *	lb_begin.c	whose turn it is
 *	lb_asym.c	CPUs preferred to others
 *	lb_cache.c	tasks that prefer a cache
 *	lb_stats.c	statistics of groups, and what the same look at every CPU says of the partition
 *	lb_ring.c	which of many single CPUs are looked at
 *	lb_old.c	the busiest group and the amount as up to v5.4
 *	lb_busiest.c	the busiest group as since 002/P04
 *	lb_amount.c	kind and amount of what is to be moved, since 002/P04
 *	lb_queue.c	the queue of the group
 *	lb_detach.c	the tasks of the queue
 *	lb_after.c	other sources, active balance and the bookkeeping
 */
#ifndef FG_LB_H
#define FG_LB_H

#include "sched.h"

/* What statistics say about the partition: something waits or is too big for its CPU; some CPU is overutilized. */
#define SG_OVERLOAD 1
#define SG_OVERUTILIZED 2

/* lb_stats.c: nothing seen yet; the busiest is a group_has_spare with no load and no end of idle CPUs. */
static void sd_stats_begin(const struct fg_sys *sys, const struct fg_balance *b, struct fg_sd_stats *s);
/*
 * The sums of g, in s->local (whose capacity is brought up to date if due) or s->other; all else about a group is
 * left to the caller. 1: g is the local group.
 */
global_func u32 sd_stats_group(const struct fg_sys *sys, struct fg_balance *b, struct fg_sd_stats *s,
			       struct fg_group *g);
/* The group in s->other is the busiest so far. */
static void sd_stats_take(struct fg_balance *b, struct fg_sd_stats *s, struct fg_group *g);
/* After the last group: flags of the partition, nr_idle_scan; s->avg_load. */
static void sd_stats_end(const struct fg_sys *sys, const struct fg_balance *b, struct fg_sd_stats *s);
/* A group by its statistics: more tasks than CPUs and not enough capacity; a CPU or capacity left. */
static u32 lb_is_overloaded(const struct fg_sys *sys, u32 imbalance_pct, const struct fg_sg_stats *st);
static u32 lb_has_capacity(const struct fg_sys *sys, u32 imbalance_pct, const struct fg_sg_stats *st);
/* lb_busiest.c: g into the statistics of the domain. */
static void look_at_group(const struct fg_sys *sys, struct fg_balance *b, struct fg_sd_stats *s, struct fg_group *g);
/* lb_busiest.c: gt(a, c) of spec 0; the capacity of dst. */
static u32 capacity_greater(u64 a, u64 c);
static u64 dst_capacity(const struct fg_sys *sys, const struct fg_balance *b);
/* lb_asym.c: a is preferred to c where packing is asymmetric: the lower id. */
static u32 asym_prefer(s32 a, s32 c);
/* 1: a look that ended by this rule (FG_BALANCE_RULE_*) wants something moved. */
static inline u32 balance_rule_moves(u32 rule)
{
	return rule >= FG_BALANCE_RULE_MISFIT;
}

/*
 * lb_old.c: fg_find_busiest up to v5.4, without the queue. 1: b->busiest has b->imbalance (load) too much; b->migration,
 * src_type and rule are set as well.
 */
global_func host_noinline u32 find_busiest_old(const struct fg_sys *sys, struct fg_balance *b);

#endif
