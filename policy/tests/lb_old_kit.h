/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Balancing as in v5.4 and under patches 01 to 03 of mail 002 (spec 6.6, 6.7): machines, and what a look for imbalance finds.
 *
 * Tests compute by hand: no kernel at hand has this code any more. Numbers are those of the spec: avg the load for the
 * capacity, S the average of the domain, pt load per task, U utilization. Unless a test says otherwise CPU 0 balances, the
 * first group is its own and the second is the busy one.
 */
#ifndef FG_LB_OLD_KIT_H
#define FG_LB_OLD_KIT_H

#include "lb_version.h"

#define V54 504

/* ---- machines ---- */

/* Four little CPUs, 0 to 3, and four big ones; level 1 is between them. */
static void big_and_little(u32 little)
{
	kit_init(8);
	kit_capacity(0, 3, little);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 4);
	kit_level(FG_LEVEL_PKG, SD_DEFAULT | FG_SD_ASYM_CPUCAPACITY, 125, 8);
	lb_finish(V54);
}

/* Single CPUs where the lower id is preferred. */
static void packing_cpus(u32 nr)
{
	lb_singles(nr, SD_SMT | FG_SD_ASYM_PACKING, 110, V54);
}

/* Groups of the level above do not share their tasks evenly. */
static void no_prefer_sibling(void)
{
	lb_flags(0, 0, FG_SD_PREFER_SIBLING);
}

/*
 * State without tasks, for what is decided by sums alone. Blocked load, three times as much, is in no sum. 0 tasks:
 * the CPU idles.
 */
static void state(u32 cpu, u32 nr, u64 load, u64 util)
{
	lb_state(cpu, nr, 4 * load, util);
	cpus[cpu].queued.load_avg = load;
}

static void states(u32 first, u32 last, u32 nr, u64 load, u64 util)
{
	for (u32 c = first; c <= last; c++)
		state(c, nr, load, util);
}

/* ---- questions ---- */

struct look {
	u32 found;
	u32 rule;
	s64 amount;
	s32 group; /* first CPU of the busiest, -1: none */
	u32 type;
};

/* The busiest group for cpu and the amount. Without: a CPU that is not a candidate, -1: none. */
static struct look look_without(u32 cpu, u32 level, u32 kind, s32 without)
{
	struct look l = { 0, 0, 0, -1, 0 };
	struct fg_balance b;

	memset(&b, 0, sizeof(b));
	b.sd = &domains[cpu][level];
	b.this_cpu = (s32)cpu;
	b.kind = kind;
	fg_balance_begin(&sys, &b);
	mask_clear(&b.cpus, without);
	l.found = find_busiest_old(&sys, &b);
	l.rule = b.rule;
	l.type = b.src_type;
	CHECK_EQ(b.migration, FG_MIGRATE_LOAD);
	if (l.found)
		l.amount = b.imbalance;
	if (b.busiest)
		l.group = b.busiest->balance_cpu;
	return l;
}

static struct look look(u32 cpu, u32 level, u32 kind)
{
	return look_without(cpu, level, kind, -1);
}

#define CHECK_BALANCED(l, why)                                                                                         \
	do {                                                                                                           \
		struct look l_ = (l);                                                                                  \
		CHECK_EQ(l_.found, 0);                                                                                 \
		CHECK_EQ(l_.rule, FG_BALANCE_RULE_##why);                                                              \
	} while (0)

#define CHECK_FORCED(l, why, much)                                                                                     \
	do {                                                                                                           \
		struct look l_ = (l);                                                                                  \
		CHECK_EQ(l_.found, 1);                                                                                 \
		CHECK_EQ(l_.rule, FG_BALANCE_RULE_##why);                                                              \
		CHECK_EQ(l_.amount, much);                                                                             \
	} while (0)

#endif
