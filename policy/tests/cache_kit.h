/* SPDX-License-Identifier: GPL-2.0-only */
/* sched-cache on the machines of lb_kit.h: processes, and caches of four CPUs in packages. */
#ifndef FG_CACHE_KIT_H
#define FG_CACHE_KIT_H

#include "lb_version.h"

#define CACHE_CPUS 16
#define CACHE_PROCESSES 3

static struct fg_process process[CACHE_PROCESSES];
static struct fg_cache_time cache_time[CACHE_PROCESSES][CACHE_CPUS];
static u32 llc_counts[CACHE_CPUS][CACHE_CPUS];

/* v7.3.4, as far as it matters here: packages of four CPUs, each with a cache, under one domain. Ids of caches: 0, 4, ... */
static void cache_packages(u32 nr)
{
	lb_packages(nr, 117, 610);
	lb_with(FG_SCHED_CACHE);
	lb_with(FG_CACHE_ASYM);
	lb_with(FG_CACHE_ALB);
	lb_with(FG_CACHE_RUNNABLE);
	lb_with(FG_CACHE_PACKING);
	lb_with(FG_NR_RUNNABLE);
	lb_with_value(FG_RQ, FG_RQ_EEVDF612);
	memset(llc_counts, 0, sizeof(llc_counts));
	memset(cache_time, 0, sizeof(cache_time));
	sys.llc_balancing = (struct fg_llc_balancing){
		.active = 1,
		.aggr_tolerance = 1,
		.epoch_period = 2,
		.epoch_affinity_timeout = 5,
		.imb_pct = 20,
		.overaggr_pct = 50,
		.smt_threads = 2,
	};
	for (u32 c = 0; c < sys.nr_cpus; c++)
		cpus[c].llc_counts = llc_counts[c];
	for (u32 i = 0; i < CACHE_PROCESSES; i++)
		process[i] = (struct fg_process){ .cpus = cache_time[i], .cpu = -1, .nr_threads = 2, .id = i };
}

/* What a pass recorded of the cache of cpu: utilization in % of its four CPUs. */
static void cache_util(u32 cpu, u64 pct)
{
	cpus[cpu].llc->capacity = 100;
	cpus[cpu].llc->util_avg = pct;
}

/* p, which is queued, is of this process and prefers the cache of cpu. */
static void cache_prefers(struct fg_task *p, struct fg_process *of, u32 cpu)
{
	struct fg_cpu *rq = &cpus[p->cpu];

	of->cpu = (s32)cpu;
	account_llc_dequeue(&sys, rq, p);
	p->process = of;
	p->preferred_llc = (u32)cpus[cpu].sd_llc_id + 1;
	account_llc_enqueue(&sys, rq, p);
}

#endif
