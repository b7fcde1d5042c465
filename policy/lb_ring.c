/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Passes over many groups of one CPU each. Between two passes few CPUs change, and of the others the caller keeps what
 * they can be to a pass: only those are looked at that may be the busiest. The result is that of a look at all.
 */
#include "lb.h"

static u32 ring_class(const struct fg_sys *sys, const struct fg_sums *sums, const struct fg_ring_place *place)
{
	struct fg_sg_stats st;

	if (sums->squeezed_cpus || place->imbalance)
		return FG_RING_READ;
	if (!sums->h_nr)
		return FG_RING_NONE;
	clear_sg_stats(&st);
	st.util = sums->util;
	st.runnable = sums->runnable;
	st.capacity = place->capacity;
	st.nr = sums->nr;
	st.weight = 1;
	st.overutilized = sums->overutilized_cpus != 0;
	if (lb_is_overloaded(sys, place->imbalance_pct, &st))
		return FG_RING_OVER;
	return lb_has_capacity(sys, place->imbalance_pct, &st) ? FG_RING_SPARE : FG_RING_FULL;
}

void fg_ring_place(const struct fg_sys *sys, const struct fg_sums *sums, struct fg_ring_place *place)
{
	place->class = ring_class(sys, sums, place);
	place->rank = 0;
	/* What busier_of_type() compares. */
	if (place->class == FG_RING_OVER)
		place->rank = sums->load * FG_CAPACITY_SCALE / nonzero(place->capacity);
	else if (place->class == FG_RING_SPARE)
		place->rank = (u64)!sums->idle_cpus << 32 | (feat(sys, FG_SPARE_TIE) ? sums->nr : 0);
}

#ifdef __bpf__
/* A live kernel has no caller that keeps anything. */
static u32 ring_suffices(const struct fg_sys *sys, const struct fg_balance *b)
{
	return 0;
}

static void look_at_ring(const struct fg_sys *sys, struct fg_balance *b, struct fg_sd_stats *s)
{
}
#else
/* Of single CPUs only tasks and utilization matter, and all of them are candidates. */
static u32 ring_suffices(const struct fg_sys *sys, const struct fg_balance *b)
{
	u32 asym = b->sd->flags & (FG_SD_ASYM_CPUCAPACITY | FG_SD_ASYM_PACKING);

	return b->sd->ring && !asym && !cache_aware(sys) && b->sd->imbalance_pct >= LEAST_IMBALANCE_PCT &&
	       b->sd->groups->balance_cpu == b->dst_cpu && mask_subset(&b->sd->span, &b->cpus, sys->nr_cpus);
}

/* The CPU of this class, but dst, that is the busiest of it when looked at from dst on; -1: there is none. */
static s32 busiest_of_class(const struct fg_sys *sys, const struct fg_ring *ring, u32 class, s32 dst)
{
	const struct fg_mask *cpus = &ring->of_class[class];
	struct mask_wrap it = mask_wrap_begin(dst + 1, sys->nr_cpus);
	/* fuller(): with smt-balance the last of the fully busy is taken. */
	u32 last = class == FG_RING_FULL && feat(sys, FG_SMT_BALANCE);
	s32 busiest = -1;

	while (mask_wrap_next(&it, cpus, cpus)) {
		if ((s32)it.cpu == dst)
			continue;
		if (busiest < 0 || last || ring->rank[it.cpu] > ring->rank[busiest])
			busiest = (s32)it.cpu;
	}
	return busiest;
}

/* What has capacity left is the busiest only if nothing is fully busy, and that only if nothing is overloaded. */
static void choose_groups(const struct fg_sys *sys, struct fg_ring *ring, s32 dst)
{
	s32 busiest = busiest_of_class(sys, ring, FG_RING_OVER, dst);

	if (busiest < 0)
		busiest = busiest_of_class(sys, ring, FG_RING_FULL, dst);
	if (busiest < 0)
		busiest = busiest_of_class(sys, ring, FG_RING_SPARE, dst);
	for (u32 k = 0; k * 64 < sys->nr_cpus; k++)
		ring->look.bits[k] = ring->of_class[FG_RING_READ].bits[k];
	mask_clear(&ring->look, dst);
	if (busiest >= 0)
		mask_set(&ring->look, busiest);
}

/* The groups of b->sd into the statistics. ring_suffices() must hold. */
static void look_at_ring(const struct fg_sys *sys, struct fg_balance *b, struct fg_sd_stats *s)
{
	struct fg_ring *ring = b->sd->ring;
	struct fg_group *local = b->sd->groups;
	const struct fg_sums *all = &ring->sums, *own = local->sums;
	struct mask_wrap it = mask_wrap_begin(b->dst_cpu + 1, sys->nr_cpus);
	u64 load = all->load - own->load, util = all->util - own->util;
	u64 capacity = ring->capacity - nonzero(local->capacity);
	u32 status = (all->crowded_cpus > own->crowded_cpus ? SG_OVERLOAD : 0) |
		     (all->overutilized_cpus > own->overutilized_cpus ? SG_OVERUTILIZED : 0);
	u32 group_cpus = b->group_cpus + b->sd->weight;

	choose_groups(sys, ring, b->dst_cpu);
	look_at_group(sys, b, s, local);
	s->total_load += load;
	s->total_util += util;
	s->total_capacity += capacity;
	s->status |= status;
	load = s->total_load;
	util = s->total_util;
	capacity = s->total_capacity;
	while (mask_wrap_next(&it, &ring->look, &ring->look))
		look_at_group(sys, b, s, ring->group[it.cpu]);
	s->total_load = load;
	s->total_util = util;
	s->total_capacity = capacity;
	b->group_cpus = group_cpus;
}
#endif
