/* SPDX-License-Identifier: GPL-2.0-only */
/* Versions by what they balance differently (spec 6.7, 6.8), and nothing else: lb_version(506) is v5.6. */
#ifndef FG_LB_VERSION_H
#define FG_LB_VERSION_H

#include "lb_kit.h"

static const struct {
	u32 since;
	u8 id;
	u8 value;
} lb_changes[] = {
	{ 504, FG_NEWIDLE_ONE, 1 },
	{ 505, FG_LB_P01, 1 },
	{ 505, FG_LB_P02, 1 },
	{ 505, FG_LB_P03, 1 },
	{ 505, FG_LB_P04, 1 },
	{ 505, FG_LB_P05, 1 },
	{ 505, FG_LB_P06, 1 },
	{ 505, FG_LB_P07, 1 },
	{ 505, FG_LB_P08, 1 },
	{ 505, FG_FAILED_RELAX, 1 },
	{ 506, FG_SPARE_TIE, 1 },
	{ 506, FG_NUMA_IMB, FG_NUMA_IMB_PAIR },
	{ 507, FG_RUNNABLE_CLASS, 1 },
	{ 507, FG_UTIL_SKIP_SINGLE, 1 },
	{ 507, FG_LB_AVG_GUARD, 1 },
	{ 507, FG_LOAD_FLOOR, 1 },
	{ 510, FG_LLC_SPREAD, 1 },
	{ 510, FG_LOAD_SHIFT, 1 },
	{ 510, FG_FAILED_RELAX, 0 },
	{ 510, FG_SMT_NEVER_HOT, 1 },
	{ 511, FG_NUMA_IMB, FG_NUMA_IMB_QUARTER },
	{ 512, FG_ACTIVE_LB_TASK, 1 },
	{ 512, FG_LB_KTHREAD, 1 },
	{ 514, FG_CAP_GREATER, 1 },
	{ 514, FG_QUEUE_FAIR, 1 },
	{ 516, FG_ASYM_PRIO, FG_ASYM_PRIO_SMT },
	{ 600, FG_REDUCED_CAP, 1 },
	{ 600, FG_SWB_NR, 1 },
	{ 600, FG_NUMA_IMB, FG_NUMA_IMB_LLC },
	{ 603, FG_LOAD_NOWRAP, 1 },
	{ 603, FG_UFC, 1 },
	{ 603, FG_MISFIT_UNLINK, 1 },
	{ 605, FG_ASYM_PRIO, FG_ASYM_PRIO_CORE },
	{ 605, FG_RUNNABLE_BOOST, 1 },
	{ 606, FG_SMT_BALANCE, 1 },
	{ 606, FG_SIB_RATIO, 1 },
	{ 606, FG_SWB_CORE, 1 },
	{ 607, FG_PSIB_BUSIEST, 1 },
	{ 607, FG_UTIL_SHIFT, 1 },
	{ 609, FG_MISFIT_LARGER, 1 },
	{ 610, FG_MISFIT_NO_BACKOFF, 1 },
};

static void lb_version(u32 version)
{
	memset(sys.feat.value, 0, FG_MAX_FEATURES);
	for (u32 i = 0; i < sizeof(lb_changes) / sizeof(lb_changes[0]); i++) {
		if (lb_changes[i].since <= version)
			sys.feat.value[lb_changes[i].id] = lb_changes[i].value;
	}
}

static void lb_with(enum fg_feature_id id)
{
	sys.feat.value[id] = 1;
}

static void lb_with_value(enum fg_feature_id id, u8 value)
{
	sys.feat.value[id] = value;
}

static void lb_without(enum fg_feature_id id)
{
	sys.feat.value[id] = 0;
}

/* Domains as wanted, bottom-up, were given to kit_level(). */
static void lb_finish(u32 version)
{
	kit_finish();
	lb_reset();
	lb_version(version);
	for (u32 c = 0; c < sys.nr_cpus; c++) {
		for (u32 i = 0; i < KIT_LEVELS; i++)
			domains[c][i].cache_nice_tries = 1;
	}
	for (u32 i = 0; i < nr_groups; i++) {
		groups[i].asym_prefer_cpu = groups[i].balance_cpu;
		groups[i].cores = groups[i].weight;
	}
}

/* nr packages of four CPUs, which share an LLC, under a domain of this pct (level 1). */
static void lb_packages(u32 nr, u32 pct, u32 version)
{
	kit_init(4 * nr);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 4);
	kit_level(FG_LEVEL_PKG, SD_DEFAULT, pct, 4 * nr);
	lb_finish(version);
}

/* nr cores of two threads, pct 117 between them (level 1). */
static void lb_cores(u32 nr, u32 version)
{
	kit_init(2 * nr);
	kit_smt(2, 1);
	kit_level(FG_LEVEL_SMT, SD_SMT, 110, 2);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 2 * nr);
	lb_finish(version);
	for (u32 i = 0; i < nr_groups; i++)
		groups[i].cores = groups[i].weight > 1 ? groups[i].weight / 2 : 1;
}

/* nr groups of one CPU; dom: flags. */
static void lb_singles(u32 nr, u32 dom, u32 pct, u32 version)
{
	kit_init(nr);
	kit_level(FG_LEVEL_MC, dom, pct, nr);
	lb_finish(version);
}

/* Domains of this level and all above it take or lose flags. */
static void lb_flags(u32 level, u32 add, u32 remove)
{
	for (u32 c = 0; c < sys.nr_cpus; c++)
		domains[c][level].flags = (domains[c][level].flags | add) & ~remove;
}

/* nr tasks on cpu, by their sums only; none: it idles. */
static void lb_state(u32 cpu, u32 nr, u64 load, u64 util)
{
	kit_idle(cpu);
	if (nr)
		kit_busy(cpu);
	cpus[cpu].nr_running = cpus[cpu].h_nr_running = nr;
	cpus[cpu].cfs.load_avg = load;
	cpus[cpu].cfs.util_avg = util;
}

static void lb_states(u32 first, u32 last, u32 nr, u64 load, u64 util)
{
	for (u32 c = first; c <= last; c++)
		lb_state(c, nr, load, util);
}

/* What cpu finds in its domain of this level, even if another CPU balances it. */
static struct fg_balance lb_find(u32 cpu, u32 level, u32 kind)
{
	struct fg_balance b;

	memset(&b, 0xff, sizeof(b));
	b.sd = &domains[cpu][level];
	b.jiffies = lb_jiffy;
	b.this_cpu = (s32)cpu;
	b.kind = kind;
	fg_balance_begin(&sys, &b);
	fg_find_busiest(&sys, &b);
	return b;
}

#define CHECK_RULE(b, name) CHECK_EQ((b).rule, FG_BALANCE_RULE_##name)
#define CHECK_AMOUNT(b, kind, n)                                                                                       \
	do {                                                                                                           \
		CHECK_EQ((b).migration, FG_MIGRATE_##kind);                                                            \
		CHECK_EQ((b).imbalance, n);                                                                            \
	} while (0)

/* p wants so much of a CPU, and has it. */
static void lb_task_util(struct fg_task *p, u32 util)
{
	p->avg.util_avg = util;
	p->est.enqueued = p->est.ewma = util;
	cpus[p->cpu].cfs.util_avg += util;
	cpus[p->cpu].est_enqueued += util;
}

/* CPU 4 has one running and nr - 1 waiting tasks, the rest idles; CPU 0 pulls. */
static void lb_one_busy(u32 version, u32 nr)
{
	lb_packages(2, 125, version);
	lb_queue(4, nr, 100);
}

static struct fg_domain *lb_top(u32 cpu)
{
	return &domains[cpu][1];
}

#endif
