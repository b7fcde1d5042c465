/* SPDX-License-Identifier: GPL-2.0-only */
/* Random machines, states, tasks and versions: for tests that ask for any answer that is right. */
#ifndef FG_RANDOM_H
#define FG_RANDOM_H

#include "kit.h"

static u64 seed = 42;

static u32 rnd(u32 n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)(seed >> 33) % n;
}

static void random_machine(void)
{
	static const u32 sizes[] = { 1, 2, 6, 8, 16, 70, 130 };
	u32 size = sizes[rnd(7)], n = size < FG_NR_CPUS ? size : FG_NR_CPUS;
	u32 smt = rnd(2) && n % 2 == 0, llc = n <= 2 || rnd(2) ? n : n / 2, asym = rnd(2);

	kit_init(n);
	if (smt)
		kit_smt(2, rnd(2) ? 1 : n / 2);
	if (asym) {
		kit_capacity(0, n / 2, 462);
		kit_capacity(0, n / 4, 160);
	}
	if (rnd(10)) {
		kit_level(FG_LEVEL_MC, SD_MC | (asym && llc == n ? FG_SD_ASYM_CPUCAPACITY : 0), 117, llc);
		if (llc != n)
			kit_level(FG_LEVEL_PKG, (rnd(2) ? SD_DEFAULT : SD_NUMA) | (asym ? FG_SD_ASYM_CPUCAPACITY : 0),
				  125, n);
	}
	kit_finish();
	sys.asym_key |= rnd(8) == 0;
	if (rnd(2))
		kit_preset_v511();
}

/* Up to v5.6: the slow path for big tasks, and 002's last patches as far as they are in. */
static void random_old_version(void)
{
	u8 *f = sys.feat.value;

	f[FG_ASYM_SCAN] = f[FG_ASYM_PREV_FIRST] = 0;
	f[FG_WAKE_CAP] = 1;
	f[FG_LB_P09] = (u8)rnd(2);
	f[FG_LB_P10] = f[FG_LB_P09] && rnd(2);
	f[FG_LB_P11] = f[FG_LB_P09] && rnd(2);
	f[FG_FIG_WRAP] = (u8)rnd(2);
	for (u32 c = 0; sys.asym_key && c < sys.nr_cpus; c++) {
		for (struct fg_domain *sd = cpus[c].sd; sd; sd = sd->parent)
			sd->flags |= FG_SD_BALANCE_WAKE;
	}
}

static void random_state(void)
{
	u32 busy = rnd(100);

	for (u32 c = 0; c < sys.nr_cpus; c++) {
		struct fg_cpu *rq = &cpus[c];

		kit_idle(c);
		if (rnd(100) < busy)
			rnd(8) ? kit_busy(c) : kit_sched_idle(c);
		if (!rq->curr_is_idle) {
			rq->nr_running += rnd(3) == 0;
			filler[c].flags = rnd(8) == 0 ? FG_TASK_PERCPU_KTHREAD : 0;
			filler[c].avg.load_avg = rnd(2000);
		}
		rq->ttwu_pending = rnd(16) == 0;
		rq->cfs.load_avg = rnd(4000);
		rq->queued.load_avg = rq->cfs.load_avg / (1 + c % 3);
		rq->cfs.util_avg = rnd(1100);
		rq->cfs.runnable_avg = rnd(1500);
		rq->est_enqueued = rnd(1100);
		rq->cfs.last_update = rnd(2) ? 0 : (u64)rnd(100) << 20;
		rq->avg_idle = rnd(3) ? rnd(1000000) : 0;
		rq->idle_state = (s32)rnd(4) - 1;
		rq->idle_exit_latency = rnd(3) * 1000;
		rq->idle_stamp = rnd(100);
		if (rq->llc)
			rq->llc->has_idle_cores = rnd(2);
		if (rq->sd_llc)
			rq->sd_llc->avg_scan_cost = rnd(5000);
	}
}

static struct fg_task random_task(void)
{
	struct fg_task p = kit_task(1, rnd(sys.nr_cpus));

	kit_util(&p, rnd(1024));
	p.avg.load_avg = rnd(2000);
	p.recent_used = (s32)rnd(sys.nr_cpus);
	p.wakee_flips = rnd(20);
	if (rnd(2)) {
		memset(&p.allowed, 0, sizeof(p.allowed));
		p.nr_allowed = 0;
		for (u32 c = 0; c < sys.nr_cpus; c++) {
			if (rnd(2)) {
				mask_set(&p.allowed, c);
				p.nr_allowed++;
			}
		}
	}
	return p;
}

/* Any version of the capacity tests, clamps and limits included. */
static void random_capacity_tests(struct fg_task *p)
{
	static const u32 id[] = { FG_UCLAMP_FIT, FG_UFC,   FG_UFC_THERMAL, FG_MISFIT_UNLINK, FG_MU_TRISTATE,
				  FG_MU_SIC,	 FG_MU_OU, FG_HW_PRESSURE, FG_CAPSCAN_NEXT };

	for (u32 i = 0; i < sizeof(id) / sizeof(id[0]); i++)
		sys.feat.value[id[i]] = (u8)rnd(2);
	sys.uclamp_used = (u8)rnd(2);
	p->uclamp_min = rnd(2) ? 0 : rnd(1025);
	p->uclamp_max = rnd(2) ? 1024 : rnd(1025);
	for (u32 c = 0; c < sys.nr_cpus; c++) {
		cpus[c].thermal_pressure = rnd(3) ? 0 : rnd(1200);
		cpus[c].cpufreq_pressure = rnd(3) ? 0 : rnd(1200);
		cpus[c].thermal.load_avg = rnd(3) ? 0 : rnd(1200);
		cpus[c].cpu_capacity_inverted = rnd(4) ? 0 : rnd(1024);
	}
}

#endif
