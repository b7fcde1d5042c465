/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Machines for tests. kit_init() makes idle CPUs without domains; kit_level() puts one domain level on top of what
 * there is; kit_finish() derives what the kernel caches of domains (spec 1.4) and the group capacities.
 */
#ifndef FG_KIT_H
#define FG_KIT_H

#include "../policy.c"

#include <string.h>

#include "test.h"

#define KIT_LEVELS 4
#define SD_DEFAULT                                                                                                     \
	(FG_SD_BALANCE_NEWIDLE | FG_SD_BALANCE_EXEC | FG_SD_BALANCE_FORK | FG_SD_WAKE_AFFINE | FG_SD_PREFER_SIBLING)
#define SD_SMT (SD_DEFAULT | FG_SD_SHARE_CPUCAPACITY | FG_SD_SHARE_LLC)
#define SD_MC (SD_DEFAULT | FG_SD_SHARE_LLC)
#define SD_CLS (SD_MC | FG_SD_CLUSTER) /* v6.7; before it a cluster domain is like MC */
#define SD_NUMA ((SD_DEFAULT & ~FG_SD_PREFER_SIBLING) | FG_SD_SERIALIZE | FG_SD_NUMA)

static struct fg_sys sys;
static struct fg_cpu cpus[FG_NR_CPUS];
static struct fg_domain domains[FG_NR_CPUS][KIT_LEVELS];
static struct fg_group groups[FG_NR_CPUS * KIT_LEVELS];
static struct fg_llc llcs[FG_NR_CPUS];
static struct fg_cluster kit_cluster[FG_NR_CPUS];
static struct fg_root root;
static u32 nr_groups;
/* Something to be current on a busy CPU. */
static struct fg_task filler[FG_NR_CPUS];

/* A pick without its reason, and what follows from the test of a wakeup. */
static inline struct fg_task *pick_entity(const struct fg_sys *s, const struct fg_cpu *rq, struct fg_task *first,
					  struct fg_task *second)
{
	struct fg_pick how;

	return fg_pick_entity(s, rq, first, second, &how);
}

static inline u32 check_preempt(const struct fg_sys *s, struct fg_cpu *rq, struct fg_task *p, struct fg_task *first,
				u32 flags)
{
	return fg_preempts(fg_check_preempt_wakeup(s, rq, p, first, flags));
}

static void kit_preset_v54(void)
{
	u8 *f = sys.feat.value;

	memset(f, 0, FG_MAX_FEATURES);
	f[FG_WAKE_CAP] = 1;
	f[FG_SIS_MODE] = FG_SIS_PROP54;
	f[FG_FIG_WRAP] = 1;
	f[FG_UTIL_EST] = FG_UTIL_EST_EWMA;
	f[FG_EST_OVERCAP] = 1;
	f[FG_EST_LSB] = 1;
	f[FG_NEWTASK_W1024] = 1;
	f[FG_NUMA_IMB] = FG_NUMA_IMB_NONE;
}

static void kit_preset_v59(void)
{
	u8 *f = sys.feat.value;

	memset(f, 0, FG_MAX_FEATURES);
	f[FG_ASYM_SCAN] = 1;
	for (u32 id = FG_LB_P01; id <= FG_LB_P11; id++)
		f[id] = 1;
	f[FG_PERCPU_KTHREAD] = 1;
	f[FG_SI_FIRST] = 1;
	f[FG_SIS_MODE] = FG_SIS_PROP;
	f[FG_THERMAL_IN_CAP] = 1;
	f[FG_UCLAMP_FIT] = 1;
	f[FG_FIG_WITHOUT_P] = 1;
	f[FG_FIG_WEIGHT_FIX] = 1;
	f[FG_FIG_AVGLOAD_FIX] = 1;
	f[FG_FIG_UTIL_TIE] = 1;
	f[FG_RUNNABLE_CLASS] = 1;
	f[FG_NUMA_IMB] = FG_NUMA_IMB_PAIR;
	f[FG_EST_LSB] = 1;
	f[FG_NEWTASK_W1024] = 1;
	f[FG_UTIL_EST] = FG_UTIL_EST_FASTUP;
	f[FG_EST_OVERCAP] = 1;
}

static void kit_preset_v511(void)
{
	u8 *f = sys.feat.value;

	kit_preset_v59();
	f[FG_ASYM_PREV_FIRST] = 1;
	f[FG_WA_PREV_IDLE] = 1;
	f[FG_SMT_IN_LLC] = 1;
	f[FG_IMB_PCT_117] = 1;
	f[FG_BUSY_FACTOR_16] = 1;
	f[FG_BUSY_MINUS1] = 1;
	f[FG_NUMA_IMB] = FG_NUMA_IMB_QUARTER;
	f[FG_PINNED_NO_MISFIT] = 1;
}

static void kit_preset_v516(void)
{
	u8 *f = sys.feat.value;

	kit_preset_v511();
	f[FG_SIS_MERGED] = 1;
	f[FG_SIS_SMT_PREV] = 1;
	f[FG_SIS_MODE] = FG_SIS_PROP_AGED;
	f[FG_RECENT_PREV] = 1;
	f[FG_SCAN_NEXT] = 1;
	f[FG_CLS_DOMAIN] = 1;
	f[FG_ASYM_CAP_FULL] = 1;
	f[FG_EST_LSB] = 0;
	f[FG_TG_LOAD_SUM] = 1;
}

static void kit_preset_v61(void)
{
	u8 *f = sys.feat.value;

	kit_preset_v516();
	f[FG_KTHREAD_FIT] = 1;
	f[FG_PELT_SUM] = FG_PELT_SUM_FLOOR;
	f[FG_SIS_MODE] = FG_SIS_UTIL;
	f[FG_NUMA_IMB] = FG_NUMA_IMB_LLC;
	f[FG_SMT_IN_LLC] = 0;
	f[FG_SMT_NOT_SELF] = 1;
}

static void kit_preset_v67(void)
{
	u8 *f = sys.feat.value;

	kit_preset_v61();
	f[FG_WAKE_CURRENT_CPU] = 1;
	f[FG_CLS_SELECT] = FG_CLS_LANDED;
}

static void kit_preset_v612(void)
{
	u8 *f = sys.feat.value;

	kit_preset_v67();
	f[FG_SMT_IN_LLC] = 1;
}

/* Clears what the machine before had: all there is room for is megabytes. */
static void kit_clear(void)
{
	u32 nr = sys.nr_cpus;

	memset(cpus, 0, nr * sizeof(cpus[0]));
	memset(domains, 0, nr * sizeof(domains[0]));
	memset(llcs, 0, nr * sizeof(llcs[0]));
	memset(kit_cluster, 0, nr * sizeof(kit_cluster[0]));
	memset(groups, 0, nr_groups * sizeof(groups[0]));
	memset(&root, 0, sizeof(root));
	memset(&sys, 0, sizeof(sys));
	nr_groups = 0;
}

static void kit_init(u32 nr)
{
	kit_clear();
	sys.cpus = cpus;
	sys.nr_cpus = nr;
	sys.hz = 250;
	root.max_cpu_capacity = 1024;
	for (u32 c = 0; c < nr; c++) {
		struct fg_cpu *rq = &cpus[c];

		rq->id = (s32)c;
		rq->curr_is_idle = 1;
		rq->cpu_capacity_orig = 1024;
		rq->cpu_capacity = 1024;
		rq->freq_scale = 1024;
		rq->pd = (s32)c;
		rq->uclamp[FG_UCLAMP_MAX].value = 1024;
		rq->uclamp_idle = 1;
		rq->avg_idle = 1000000;
		rq->wake_avg_idle = 1000000;
		rq->max_idle_balance_cost = 500000;
		rq->idle_state = -1;
		rq->idle_stamp = 1;
		rq->rd = &root;
		rq->sd_llc_id = (s32)c;
		rq->sd_llc_size = 1;
		mask_set(&rq->core, (s32)c);
		mask_set(&sys.active, (s32)c);
		mask_set(&root.span, (s32)c);
	}
	kit_preset_v59();
}

static void kit_capacity(u32 first, u32 last, u32 capacity)
{
	for (u32 c = first; c <= last; c++) {
		cpus[c].cpu_capacity_orig = capacity;
		cpus[c].cpu_capacity = capacity;
	}
}

/* Threads of a core are stride apart: n CPUs c, c + stride, ... */
static void kit_smt(u32 n, u32 stride)
{
	sys.smt_key = 1;
	for (u32 c = 0; c < sys.nr_cpus; c++) {
		u32 first = c / (n * stride) * (n * stride) + c % stride;

		for (u32 t = 0; t < n; t++)
			mask_set(&cpus[c].core, (s32)(first + t * stride));
	}
}

static struct fg_domain *kit_top(u32 c)
{
	struct fg_domain *sd = cpus[c].sd;

	while (sd && sd->parent)
		sd = sd->parent;
	return sd;
}

static struct fg_group *kit_group(u32 c, const struct fg_domain *child)
{
	struct fg_group *g = &groups[nr_groups++];

	if (child) {
		g->span = child->span;
		g->flags = child->flags;
		g->weight = child->weight;
	} else {
		mask_set(&g->span, (s32)c);
		g->weight = 1;
	}
	g->balance_mask = g->span;
	g->balance_cpu = (s32)mask_next_and(&g->span, &g->span, 0, sys.nr_cpus);
	g->min_capacity = ~0ull;
	for (u32 i = 0; i < sys.nr_cpus; i++) {
		if (mask_test(&g->span, (s32)i))
			add_capacity(g, cpus[i].cpu_capacity, cpus[i].cpu_capacity, cpus[i].cpu_capacity);
	}
	return g;
}

/* Each size consecutive CPUs are a cluster, which need not be a level. */
static void kit_clusters(u32 size)
{
	for (u32 c = 0; c < sys.nr_cpus; c++) {
		struct fg_cluster *cluster = &kit_cluster[c / size];

		mask_set(&cluster->span, (s32)c);
		cluster->weight++;
		cpus[c].cluster = cluster;
	}
}

/* A domain over each size consecutive CPUs on top of the present ones. */
static void kit_level(u32 level, u32 flags, u32 pct, u32 size)
{
	if (level == FG_LEVEL_CLS)
		kit_clusters(size);
	for (u32 first = 0; first < sys.nr_cpus; first += size) {
		struct fg_group *ring = 0, *last = 0;
		u32 end = first + size < sys.nr_cpus ? first + size : sys.nr_cpus, n = 0;
		struct fg_mask span;

		memset(&span, 0, sizeof(span));
		for (u32 c = first; c < end; c++)
			mask_set(&span, (s32)c);
		for (u32 c = first; c < end; c++) {
			struct fg_domain *child = kit_top(c);

			if (child && mask_next_and(&child->span, &child->span, 0, sys.nr_cpus) != c)
				continue;
			struct fg_group *g = kit_group(c, child);

			if (last)
				last->next = g;
			else
				ring = g;
			last = g;
			n++;
		}
		last->next = ring;
		for (u32 c = first; c < end; c++) {
			struct fg_domain *child = kit_top(c), *sd = &domains[c][0];

			if (child) {
				sd = child + 1;
				child->parent = sd;
				sd->child = child;
			} else {
				cpus[c].sd = sd;
			}
			sd->level = level;
			sd->flags = flags;
			sd->weight = end - first;
			sd->imbalance_pct = pct;
			sd->busy_factor = 32;
			sd->min_interval = sd->balance_interval = end - first;
			sd->max_interval = 2 * (end - first);
			sd->nr_groups = n;
			sd->span = span;
			sd->groups = ring;
			while (!mask_test(&sd->groups->span, (s32)c))
				sd->groups = sd->groups->next;
		}
	}
}

static void kit_finish(void)
{
	for (u32 c = 0; c < sys.nr_cpus; c++) {
		struct fg_cpu *rq = &cpus[c];

		rq->sd_share_id = -1;
		for (struct fg_domain *sd = rq->sd; sd; sd = sd->parent) {
			if (sd->flags & FG_SD_SHARE_LLC)
				rq->sd_llc = sd;
			if ((sd->flags & FG_SD_CLUSTER) && rq->sd_share_id < 0) {
				rq->sd_share_id = (s32)mask_next_and(&sd->span, &sd->span, 0, sys.nr_cpus);
				sys.cluster_key = 1;
			}
			if ((sd->flags & FG_SD_ASYM_CPUCAPACITY) && !rq->sd_asym_cpucapacity) {
				rq->sd_asym_cpucapacity = sd;
				sys.asym_key = 1;
			}
		}
		if (rq->sd_llc) {
			rq->sd_llc_id = (s32)mask_next_and(&rq->sd_llc->span, &rq->sd_llc->span, 0, sys.nr_cpus);
			rq->sd_llc_size = rq->sd_llc->weight;
			rq->llc = &llcs[rq->sd_llc_id];
			rq->balance_shared = rq->llc;
			rq->llc->nr_busy_cpus = rq->sd_llc->weight;
			rq->sd_llc->shared = rq->llc;
		}
		if (rq->sd_share_id < 0)
			rq->sd_share_id = rq->sd_llc_id;
	}
}

/* The per-CPU cluster state of v6.7, for a machine where clusters do not have domains. */
static void kit_landed(void)
{
	sys.cluster_key = 1;
	for (u32 c = 0; c < sys.nr_cpus; c++) {
		const struct fg_mask *span = &cpus[c].cluster->span;

		cpus[c].sd_share_id = (s32)mask_next_and(span, span, 0, sys.nr_cpus);
	}
}

static void kit_allow(struct fg_task *p, u32 first, u32 last)
{
	memset(&p->allowed, 0, sizeof(p->allowed));
	p->nr_allowed = last - first + 1;
	for (u32 c = first; c <= last; c++)
		mask_set(&p->allowed, (s32)c);
}

/* A sleeping task that last ran on cpu. */
static struct fg_task kit_task(u32 id, u32 cpu)
{
	struct fg_task p;

	memset(&p, 0, sizeof(p));
	p.id = id;
	p.cpu = (s32)cpu;
	p.recent_used = (s32)cpu;
	p.weight = 1024;
	p.uclamp_max = 1024;
	kit_allow(&p, 0, sys.nr_cpus - 1);
	return p;
}

static void kit_util(struct fg_task *p, u32 util)
{
	p->avg.util_avg = util;
	p->avg.util_sum = (u64)util * PELT_MIN_DIVIDER;
	p->est.enqueued = util;
	p->est.ewma = util;
}

static void kit_busy(u32 c)
{
	struct fg_cpu *rq = &cpus[c];

	filler[c] = kit_task(10000 + c, c);
	filler[c].on_rq = 1;
	filler[c].on_cpu = 1;
	rq->curr = &filler[c];
	rq->curr_is_idle = 0;
	rq->idle_stamp = 0;
	rq->nr_running = 1;
	rq->h_nr_running = 1;
	rq->idle_h_nr_running = 0;
	rq->fair.load_weight = rq->fair.sum_weight = 1024;
}

static void kit_busy_range(u32 first, u32 last)
{
	for (u32 c = first; c <= last; c++)
		kit_busy(c);
}

static void kit_idle(u32 c)
{
	struct fg_cpu *rq = &cpus[c];

	rq->curr = 0;
	rq->curr_is_idle = 1;
	rq->idle_stamp = 1;
	rq->nr_running = rq->h_nr_running = rq->idle_h_nr_running = 0;
	rq->fair.load_weight = rq->fair.sum_weight = 0;
}

/* Runs a SCHED_IDLE task and nothing else. */
static void kit_sched_idle(u32 c)
{
	kit_busy(c);
	filler[c].policy = FG_SCHED_IDLE;
	cpus[c].idle_h_nr_running = 1;
}

/* 16 CPUs, two threads a core, LLCs of 8, one package; everything busy. */
static void kit_smt_machine(void)
{
	kit_init(16);
	kit_smt(2, 1);
	kit_level(FG_LEVEL_SMT, SD_SMT, 110, 2);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 8);
	kit_level(FG_LEVEL_PKG, SD_DEFAULT, 125, 16);
	kit_finish();
	kit_busy_range(0, 15);
}

/* hikey960: four little, four big CPUs, one LLC for each, asymmetric package. DynamIQ: the same with one LLC. */
static void kit_asym_machine(u32 llc)
{
	kit_init(8);
	kit_capacity(0, 3, 462);
	if (llc == 8) {
		kit_level(FG_LEVEL_MC, SD_MC | FG_SD_ASYM_CPUCAPACITY, 117, 8);
	} else {
		kit_level(FG_LEVEL_MC, SD_MC & ~FG_SD_PREFER_SIBLING, 117, llc);
		kit_level(FG_LEVEL_PKG, SD_DEFAULT | FG_SD_ASYM_CPUCAPACITY, 125, 8);
	}
	kit_finish();
}

/* Two LLCs of four under a package of this imbalance_pct; everything busy. */
static void kit_two_llcs(u32 pct)
{
	kit_init(8);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 4);
	kit_level(FG_LEVEL_PKG, SD_DEFAULT, pct, 8);
	kit_finish();
	kit_busy_range(0, 7);
}

/* A look for imbalance in the domain of cpu, level levels above the lowest: rule NOT_OURS if it is not its turn. */
static struct fg_balance kit_look(u32 cpu, u32 level, u32 kind)
{
	struct fg_balance b;

	b.sd = cpus[cpu].sd + level;
	b.jiffies = 1000;
	b.this_cpu = (s32)cpu;
	b.kind = kind;
	fg_balance_begin(&sys, &b);
	if (fg_should_we_balance(&sys, &b))
		fg_find_busiest(&sys, &b);
	else
		b.rule = FG_BALANCE_RULE_NOT_OURS;
	return b;
}

static struct fg_verdict kit_wake(const struct fg_task *p, u32 this_cpu, u32 flags)
{
	struct fg_wake w = { cpus[this_cpu].curr, 1000000, (s32)this_cpu, flags, 0 };
	struct fg_verdict v;

	fg_select_task_rq(&sys, p, &w, &v);
	return v;
}

#endif
