/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Statistics of groups (spec 6.3). One look at each CPU of the domain serves all: the groups' sums, the flags of the
 * partition (spec 7.5), and how far wakeups may scan the LLC (spec 4.5).
 */
#include "lb.h"

/* The smallest imbalance_pct of any domain: that of SMT siblings. */
#define LEAST_IMBALANCE_PCT 110

/* The load of a CPU for balancing: until 002/P06 that of its queued tasks only. */
static u64 lb_load(const struct fg_sys *sys, const struct fg_cpu *rq)
{
	return feat(sys, FG_LB_P06) ? cpu_load(rq) : rq->queued.load_avg;
}

static void clear_sg_stats(struct fg_sg_stats *st)
{
	st->load = 0;
	st->util = 0;
	st->runnable = 0;
	st->capacity = 1;
	st->avg_load = 0;
	st->misfit_load = 0;
	st->h_nr = 0;
	st->nr = 0;
	st->idle_cpus = 0;
	st->weight = 0;
	st->type = group_has_spare;
	st->no_capacity = 0;
	st->asym_packing = 0;
	st->smt = 0;
	st->overutilized = 0;
	st->nr_pref_dst_llc = 0;
	st->llc = 0;
}

static void sd_stats_begin(const struct fg_sys *sys, const struct fg_balance *b, struct fg_sd_stats *s)
{
	s->local = &s->group[0];
	s->busiest = &s->group[1];
	s->other = &s->group[2];
	for (u32 i = 0; i < 3; i++)
		clear_sg_stats(&s->group[i]);
	/* Any group beats this. */
	s->busiest->idle_cpus = ~0u;
	s->total_load = 0;
	s->total_capacity = 0;
	s->total_util = 0;
	s->avg_load = 0;
	s->status = 0;
	s->dst_core_idle = !feat(sys, FG_MISFIT_CORE) || siblings_idle(sys, b->dst_cpu);
}

/* Reads rq into the sums, but for what depends on the group it is in. What it says of the partition. */
static inline u32 add_cpu(const struct fg_sys *sys, const struct fg_cpu *rq, struct fg_sg_stats *st)
{
	u32 status = (rq->nr_running > 1) * SG_OVERLOAD;

	st->load += lb_load(sys, rq);
	st->util += fg_cpu_util(rq);
	st->runnable += rq->cfs.runnable_avg;
	st->h_nr += lb_h_nr(sys, rq);
	/* 002/P05 counts the tasks of all classes. */
	st->nr += feat(sys, FG_LB_P05) ? rq->nr_running : rq->h_nr_running;
	st->idle_cpus += idle_rq(rq);
	return fg_cpu_overutilized(sys, rq) ? status | SG_OVERUTILIZED : status;
}

/* v6.0: with one task a queue is not overloaded, whatever else takes its CPU. What is rare is asked first. */
static inline u32 sole_task_squeezed(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_cpu *rq)
{
	return feat(sys, FG_REDUCED_CAP) && b->kind != FG_CPU_NOT_IDLE && capacity_reduced(rq, b->sd) &&
	       lb_h_nr(sys, rq) == 1;
}

/* The load of rq that would be better off elsewhere, 0: none. */
static inline u64 misfit_load_of(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_cpu *rq)
{
	if (b->sd->flags & FG_SD_ASYM_CPUCAPACITY)
		return rq->misfit_task_load;
	return sole_task_squeezed(sys, b, rq) ? lb_load(sys, rq) : 0;
}

/* Until 002/P04 every CPU may have a misfit task, then busy ones that dst is not grouped with. */
static inline u32 misfit_counts(const struct fg_sys *sys, u32 local, const struct fg_cpu *rq)
{
	return !feat(sys, FG_LB_P04) || (!local && !idle_rq(rq));
}

/* v7.3: a misfit task counts only if dst is clearly bigger than the CPUs of its group g. */
static inline u32 dst_helps_misfit(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_group *g)
{
	if (!feat(sys, FG_MISFIT_HELPFUL) || !(b->sd->flags & FG_SD_ASYM_CPUCAPACITY))
		return 1;
	return capacity_greater(dst_capacity(sys, b), g->max_capacity);
}

#define SUM_LOCAL 1
#define SUM_HELPS 2

/* What the sums of g depend on beside its CPUs. */
static inline u32 sum_flags(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_group *g, u32 local)
{
	return (local ? SUM_LOCAL : 0) | (dst_helps_misfit(sys, b, g) ? SUM_HELPS : 0);
}

/* All of rq into the sums of its group; what it says of the partition. flags: SUM_* */
global_inline u32 sum_cpu(const struct fg_sys *sys state_arg, const struct fg_balance *b state_arg,
			  const struct fg_cpu *rq state_arg, u32 flags, struct fg_sg_stats *st frame_arg)
{
	u32 status = add_cpu(sys, rq, st);
	u64 misfit = misfit_load_of(sys, b, rq);

	if (!misfit || !misfit_counts(sys, flags & SUM_LOCAL, rq))
		return status;
	if (flags & SUM_HELPS)
		st->misfit_load = max_u64(st->misfit_load, misfit);
	return b->sd->flags & FG_SD_ASYM_CPUCAPACITY ? status | SG_OVERLOAD : status;
}

/* Of a group of one CPU, as most are: no sets are searched, and nothing is added up. */
static u32 sum_one(const struct fg_sys *sys, struct fg_balance *b, const struct fg_group *g, u32 local,
		   struct fg_sg_stats *st)
{
	struct fg_sg_stats sum;
	u32 status = 0;

	clear_sg_stats(&sum);
	if (mask_test(&b->cpus, g->balance_cpu)) {
		status = sum_cpu(sys, b, cpu_rq(sys, (u32)g->balance_cpu), sum_flags(sys, b, g, local), &sum);
		b->group_cpus++;
	}
	*st = sum;
	return status;
}

/* On a large machine this is where most of the time goes: the sums stay in registers. */
static host_noinline u32 sum_several(const struct fg_sys *sys, struct fg_balance *b, const struct fg_group *g,
				     u32 local, struct fg_sg_stats *st)
{
	struct fg_sg_stats sum;
	u32 cpu, status = 0, looked_at = 0, flags = sum_flags(sys, b, g, local);

	clear_sg_stats(&sum);
	for_every_cpu_and(cpu, &g->span, &b->cpus, sys->nr_cpus)
	{
		status |= sum_cpu(sys, b, cpu_rq(sys, cpu), flags, &sum);
		looked_at++;
	}
	b->group_cpus += looked_at;
	*st = sum;
	return status;
}

void fg_cpu_sums(const struct fg_sys *sys, const struct fg_cpu *rq, struct fg_sums *sums)
{
	struct fg_sg_stats st;
	u32 status;

	clear_sg_stats(&st);
	status = add_cpu(sys, rq, &st);
	sums->load = st.load;
	sums->util = st.util;
	sums->runnable = st.runnable;
	sums->h_nr = st.h_nr;
	sums->nr = st.nr;
	sums->idle_cpus = st.idle_cpus;
	sums->crowded_cpus = (status & SG_OVERLOAD) != 0;
	sums->overutilized_cpus = (status & SG_OVERUTILIZED) != 0;
	/* For some domain it may be capacity_reduced(). */
	sums->squeezed_cpus =
		lb_h_nr(sys, rq) == 1 && (u64)rq->cpu_capacity * LEAST_IMBALANCE_PCT < (u64)rq->cpu_capacity_orig * 100;
}

/*
 * Whether the sums that the caller keeps give all statistics of g, without reading its CPUs. They do not give the
 * largest misfit load, which is not a sum.
 */
static u32 sums_suffice(const struct fg_sys *sys, const struct fg_balance *b, const struct fg_group *g)
{
	if (!g->sums || (b->sd->flags & FG_SD_ASYM_CPUCAPACITY) || b->sd->imbalance_pct < LEAST_IMBALANCE_PCT)
		return 0;
	if (g->sums->squeezed_cpus)
		return 0;
	return g->weight == 1 ? mask_test(&b->cpus, g->balance_cpu) : mask_subset(&g->span, &b->cpus, sys->nr_cpus);
}

static u32 sum_kept(struct fg_balance *b, const struct fg_group *g, struct fg_sg_stats *st)
{
	const struct fg_sums *sums = g->sums;

	clear_sg_stats(st);
	st->load = sums->load;
	st->util = sums->util;
	st->runnable = sums->runnable;
	st->h_nr = sums->h_nr;
	st->nr = sums->nr;
	st->idle_cpus = sums->idle_cpus;
	b->group_cpus += g->weight;
	return (sums->crowded_cpus ? SG_OVERLOAD : 0) | (sums->overutilized_cpus ? SG_OVERUTILIZED : 0);
}

static u32 sum_group(const struct fg_sys *sys, struct fg_balance *b, const struct fg_group *g, u32 local,
		     struct fg_sg_stats *st)
{
	/* The capacity of dst may just have been updated. */
	if (g->weight == 1 && local)
		return sum_one(sys, b, g, local, st);
	if (sums_suffice(sys, b, g))
		return sum_kept(b, g, st);
	return g->weight == 1 ? sum_one(sys, b, g, local, st) : sum_several(sys, b, g, local, st);
}

global_func host_noinline u32 sd_stats_group(const struct fg_sys *sys state_arg, struct fg_balance *b state_arg,
					     struct fg_sd_stats *s state_arg, struct fg_group *g state_arg)
{
	u32 local = g->weight == 1 ? g->balance_cpu == b->dst_cpu : mask_test(&g->span, b->dst_cpu);
	struct fg_sg_stats *st = local ? s->local : s->other;
	u32 status;

	/* That may change the capacity of dst, but only where groups are single CPUs: sums stay as they are. */
	if (local && fg_group_capacity_due(b->sd, b->kind, b->jiffies))
		fg_update_group_capacity(sys, b->sd, cpu_rq(sys, (u32)b->dst_cpu), b->jiffies);
	status = sum_group(sys, b, g, local, st);
	s->status |= status;
	st->overutilized = (status & SG_OVERUTILIZED) != 0;
	st->capacity = nonzero(g->capacity);
	st->weight = g->weight;
	s->total_load += st->load;
	s->total_capacity += st->capacity;
	s->total_util += st->util;
	return local;
}

static void sd_stats_take(struct fg_balance *b, struct fg_sd_stats *s, struct fg_group *g)
{
	struct fg_sg_stats *former = s->busiest;

	b->busiest = g;
	s->busiest = s->other;
	s->other = former;
}

/* The top domain sees the whole partition, and only it may take a flag back; the others may add that it is short. */
static void update_root_status(const struct fg_domain *sd, struct fg_root *rd, u32 status)
{
	if (!rd)
		return;
	if (!sd->parent) {
		rd->overload = (status & SG_OVERLOAD) != 0;
		rd->overutilized = (status & SG_OVERUTILIZED) != 0;
	} else if (status & SG_OVERUTILIZED) {
		rd->overutilized = 1;
	}
}

/* Spec 4.5: of w CPUs with a mean utilization x, (1 - (x * pct)^2) * w may be worth a look. */
static u32 idle_cpus_expected(u64 sum_util, const struct fg_domain *sd)
{
	u64 weight = nonzero(sd->weight);
	u64 x = sum_util / weight * sd->imbalance_pct;
	u64 busy = min_u64(x * x / (10000 * FG_CAPACITY_SCALE), FG_CAPACITY_SCALE);

	return (u32)((FG_CAPACITY_SCALE - busy) * weight / FG_CAPACITY_SCALE);
}

/*
 * nr_idle_scan of dst's LLC, if the domain is as large as that and dst balances it in its turn; with balance-shared of any
 * domain that has one.
 */
static void update_idle_cpu_scan(const struct fg_sys *sys, const struct fg_balance *b, u64 sum_util)
{
	const struct fg_cpu *dst = cpu_rq(sys, (u32)b->dst_cpu);

	if (feat(sys, FG_SIS_MODE) != FG_SIS_UTIL || b->kind == FG_CPU_NEWLY_IDLE)
		return;
	if (feat(sys, FG_BALANCE_SHARED) && b->sd->shared)
		b->sd->shared->nr_idle_scan = idle_cpus_expected(sum_util, b->sd);
	else if (dst->llc && b->sd->weight == dst->sd_llc_size)
		dst->llc->nr_idle_scan = idle_cpus_expected(sum_util, b->sd);
}

static void sd_stats_end(const struct fg_sys *sys, const struct fg_balance *b, struct fg_sd_stats *s)
{
	update_root_status(b->sd, cpu_rq(sys, (u32)b->dst_cpu)->rd, s->status);
	update_idle_cpu_scan(sys, b, s->total_util);
	s->avg_load = s->total_load * FG_CAPACITY_SCALE / nonzero(s->total_capacity);
}

static u32 runnable_exceeds(const struct fg_sys *sys, u32 imbalance_pct, const struct fg_sg_stats *st)
{
	return feat(sys, FG_RUNNABLE_CLASS) && st->capacity * imbalance_pct < st->runnable * 100;
}

static u32 lb_is_overloaded(const struct fg_sys *sys, u32 imbalance_pct, const struct fg_sg_stats *st)
{
	/* v7.1: with clamps, a group may have more to do than it has capacity for. */
	if (feat(sys, FG_OVERLOAD_NEEDS_OU) && sys->eas && !st->overutilized)
		return 0;
	if (st->nr <= st->weight)
		return 0;
	return st->capacity * 100 < st->util * imbalance_pct || runnable_exceeds(sys, imbalance_pct, st);
}

static u32 lb_has_capacity(const struct fg_sys *sys, u32 imbalance_pct, const struct fg_sg_stats *st)
{
	if (st->nr < st->weight)
		return 1;
	return !runnable_exceeds(sys, imbalance_pct, st) && st->capacity * 100 > st->util * imbalance_pct;
}
