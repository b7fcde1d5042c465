/* SPDX-License-Identifier: GPL-2.0-only */
/* Clocks for tests of energy-aware wakeups, on machines of kit.h, and what releases have in that path. */
#ifndef FG_FEEC_KIT_H
#define FG_FEEC_KIT_H

#include "kit.h"

#define KIT_OPPS 8

static struct fg_opp kit_opps[FG_NR_CPUS][KIT_OPPS];
static struct fg_em kit_ems[FG_NR_CPUS];
static struct fg_pd kit_pds[FG_NR_CPUS];
static u32 nr_clocks;

/* Called after kit_init(). The CPUs from first to last run on one clock, still without operating points. */
static struct fg_em *kit_clock(u32 first, u32 last)
{
	struct fg_em *em = &kit_ems[nr_clocks];
	struct fg_pd *pd = &kit_pds[nr_clocks];

	memset(em, 0, sizeof(*em));
	memset(kit_opps[nr_clocks], 0, sizeof(kit_opps[nr_clocks]));
	em->opps = kit_opps[nr_clocks++];
	for (u32 c = first; c <= last; c++) {
		mask_set(&em->span, (s32)c);
		cpus[c].pd = (s32)first;
	}
	pd->em = em;
	pd->next = root.pd;
	root.pd = pd;
	return em;
}

static void kit_opp(struct fg_em *em, u32 mhz, u32 mw)
{
	em->opps[em->nr_opps].khz = mhz * 1000;
	em->opps[em->nr_opps].power = (u64)mw * 1000;
	em->nr_opps++;
}

/* Once the version is known. */
static void kit_energy(void)
{
	for (u32 i = 0; i < nr_clocks; i++) {
		u32 first = mask_next_and(&kit_ems[i].span, &kit_ems[i].span, 0, sys.nr_cpus);

		fg_em_init(&sys, &kit_ems[i], cpus[first].cpu_capacity_orig);
	}
	sys.eas = 1;
}

static void feec_v54(void)
{
	u8 *f = sys.feat.value;

	kit_preset_v511();
	f[FG_UCLAMP_FIT] = 0;
	f[FG_FEEC_SPARE_WRAP] = 1;
}

static void feec_v59(void)
{
	feec_v54();
	sys.feat.value[FG_UCLAMP_FIT] = 1;
}

static void feec_v511(void)
{
	feec_v59();
	sys.feat.value[FG_FEEC_SPARE_WRAP] = 0;
}

static void feec_v516(void)
{
	u8 *f = sys.feat.value;

	feec_v511();
	f[FG_EST_LSB] = 0;
	f[FG_UCLAMP_IDLE_OWN] = 1;
	f[FG_FEEC] = FG_FEEC_MARGIN515;
	f[FG_FEEC_NEGATIVE] = 1;
	f[FG_EM_COST] = FG_EM_COST_SCALED;
	f[FG_EM_EFFICIENT] = 1;
}

static void feec_v61(void)
{
	feec_v516();
	sys.feat.value[FG_FEEC] = FG_FEEC_DELTA;
	sys.feat.value[FG_EM_COST] = FG_EM_COST_MICROWATT;
}

static void feec_v62(void)
{
	u8 *f = sys.feat.value;

	feec_v61();
	f[FG_UCLAMP_FIT] = 0;
	f[FG_UFC] = 1;
	f[FG_UFC_THERMAL] = 1;
	f[FG_FEEC_TRIVIAL] = FG_FEEC_TRIVIAL_CLAMPED;
	f[FG_FEEC_PREV_SPARE] = 1;
}

static void feec_v63(void)
{
	u8 *f = sys.feat.value;

	feec_v62();
	f[FG_MISFIT_UNLINK] = 1;
	f[FG_FEEC] = FG_FEEC_TRI;
	f[FG_FEEC_STALE_UCLAMP] = 1;
}

static void feec_v67(void)
{
	u8 *f = sys.feat.value;

	feec_v63();
	f[FG_RUNNABLE_BOOST] = 1;
	f[FG_FEEC_ZERO_SPARE] = 1;
	f[FG_FEEC_TRIVIAL] = FG_FEEC_TRIVIAL_MINIMUM;
}

static void feec_v612(void)
{
	u8 *f = sys.feat.value;

	feec_v67();
	f[FG_FREQ_PERF_V2] = 1;
	f[FG_EM_COST] = FG_EM_COST_PERFORMANCE;
	f[FG_THERMAL_IN_CAP] = 0;
	f[FG_HW_PRESSURE] = 1;
}

#endif
