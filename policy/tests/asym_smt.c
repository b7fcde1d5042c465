/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUs of different capacity whose cores have threads, since v7.2 (spec-new 4, 4.1, vector 16). */
#include "kit.h"

#define A 0 /* CPUs 0 and 1: capacity 900 */
#define B 2 /* 2 and 3: 400 */
#define C 4 /* 4 and 5: 1024 */

/* All idle but CPU 1. A task of 500 fits A and C. */
static void machine(u32 rank, u32 core, u32 budget)
{
	kit_init(6);
	kit_smt(2, 1);
	kit_capacity(A, A + 1, 900);
	kit_capacity(B, B + 1, 400);
	kit_level(FG_LEVEL_SMT, SD_SMT, 110, 2);
	kit_level(FG_LEVEL_MC, SD_MC | FG_SD_ASYM_CPUCAPACITY, 117, 6);
	kit_finish();
	kit_preset_v511();
	sys.feat.value[FG_UCLAMP_FIT] = 0;
	sys.feat.value[FG_UFC] = 1;
	sys.feat.value[FG_MISFIT_UNLINK] = 1;
	sys.feat.value[FG_SIS_MERGED] = 1;
	sys.feat.value[FG_SIS_MODE] = FG_SIS_UTIL;
	sys.feat.value[FG_ASYM_RANK] = (u8)rank;
	sys.feat.value[FG_ASYM_CORE] = (u8)core;
	sys.feat.value[FG_ASYM_BUDGET] = (u8)budget;
	cpus[A].balance_shared->has_idle_cores = 1;
	kit_busy(A + 1);
}

static struct fg_verdict v;

/* The scan by capacity from A. */
static s32 scan(void)
{
	struct fg_task p = kit_task(1, A);
	struct fg_wake w = { 0, 1000000, A, FG_WF_TTWU, 0 };
	struct select_ctx s;

	kit_util(&p, 500);
	memset(&s, 0, sizeof(s));
	memset(&v, 0, sizeof(v));
	s.sys = &sys;
	s.p = &p;
	s.w = &w;
	s.v = &v;
	s.prev = s.target = A;
	s.util_avg = 500;
	select_sync(&s);
	return select_idle_capacity(&s, cpus[A].sd_asym_cpucapacity);
}

/* Vector 16. */
TEST(the_scan_by_capacity_looks_for_an_idle_core_with_asym_rank)
{
	static const s32 idle_core_fits[] = { A, C }, idle_core_is_small[] = { A, B };

	for (u32 rank = 0; rank < 2; rank++) {
		machine(rank, 0, 0);
		CHECK_EQ(scan(), idle_core_fits[rank]);
		kit_busy_range(C, C + 1);
		CHECK_EQ(scan(), idle_core_is_small[rank]);
		CHECK_EQ(v.writes & FG_W_NO_IDLE_CORES, 0);
		/* no core is idle: a thread that fits, and the hint was wrong */
		kit_busy(B + 1);
		CHECK_EQ(scan(), A);
		CHECK_EQ(!!(v.writes & FG_W_NO_IDLE_CORES), rank);
	}
}

/* Each alone leaves the sleeper beside the busy thread: by the early check, or by the scan, which begins there. */
TEST(a_sleeper_leaves_a_busy_core_with_asym_core_and_asym_rank)
{
	for (u32 which = 0; which < 4; which++) {
		struct fg_task p;

		machine(which & 1, which >> 1, 0);
		p = kit_task(1, A);
		kit_util(&p, 500);
		CHECK_EQ(kit_wake(&p, A, FG_WF_TTWU).cpu, which == 3 ? C : A);
		/* an idle core is taken early */
		kit_idle(A + 1);
		CHECK_EQ(kit_wake(&p, A, FG_WF_TTWU).cpu, A);
	}
}

TEST(the_scan_by_capacity_ends_by_nr_idle_scan_with_asym_budget)
{
	/* of nr_idle_scan 0, 1, ...: nobody; the first to be idle, which is too small; the first that fits */
	static const s32 want[] = { -1, -1, -1, B, B, C };

	for (u32 nr = 0; nr < 6; nr++) {
		for (u32 budget = 0; budget < 2; budget++) {
			machine(1, 1, budget);
			kit_busy(A);
			cpus[A].balance_shared->has_idle_cores = 0;
			cpus[A].sd_llc->shared->nr_idle_scan = (s32)nr;
			CHECK_EQ(scan(), budget ? want[nr] : C);
			/* with an idle core to look for, all of them */
			cpus[A].balance_shared->has_idle_cores = 1;
			CHECK_EQ(scan(), budget && nr == 0 ? -1 : C);
		}
	}
}

int main(void)
{
	RUN(the_scan_by_capacity_looks_for_an_idle_core_with_asym_rank);
	RUN(a_sleeper_leaves_a_busy_core_with_asym_core_and_asym_rank);
	RUN(the_scan_by_capacity_ends_by_nr_idle_scan_with_asym_budget);
	return test_report();
}
