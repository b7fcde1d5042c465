/* SPDX-License-Identifier: GPL-2.0-only */
/* Where capacities differ: rows B1 and A1 to A5 of spec tables 4.1 and 4.2, the vectors of mail 000, what fits. */
#include "kit.h"

/* select_idle_sibling() alone, for targets that no wake_affine would leave. */
static struct fg_verdict v_sis;

static s32 sis(const struct fg_task *p, s32 prev, s32 target)
{
	struct fg_wake w = { cpus[prev].curr, 1000000, prev, FG_WF_TTWU, 0 };
	struct select_ctx s;

	memset(&s, 0, sizeof(s));
	memset(&v_sis, 0, sizeof(v_sis));
	s.sys = &sys;
	s.p = p;
	s.w = &w;
	s.v = &v_sis;
	s.prev = prev;
	s.target = target;
	s.util_avg = p->avg.util_avg;
	v_sis.target = target;
	return select_idle_sibling(&s);
}

TEST(row_B1_scans_before_anything_else)
{
	struct fg_task p;

	kit_asym_machine(8);
	p = kit_task(1, 5);
	kit_util(&p, 500);
	/* target 0 is free but too small, prev 5 free and big: first that fits from 0 up */
	CHECK_EQ(sis(&p, 5, 0), 4);
	CHECK_EQ(v_sis.rule, FG_RULE_B1);
	CHECK(v_sis.writes & FG_W_SYNC);
	/* a CPU that runs a SCHED_IDLE task may be chosen, one outside the affinity may not */
	kit_busy(4);
	kit_sched_idle(5);
	CHECK_EQ(sis(&p, 5, 0), 5);
	kit_allow(&p, 0, 4);
	mask_set(&p.allowed, 7);
	CHECK_EQ(sis(&p, 5, 0), 7);
	kit_allow(&p, 0, 7);
	/* nothing that fits is free: the biggest free one, first met */
	kit_busy_range(4, 7);
	cpus[2].cpu_capacity = 463;
	CHECK_EQ(sis(&p, 5, 0), 2);
	/* nothing is free: target */
	kit_busy_range(0, 3);
	CHECK_EQ(sis(&p, 5, 0), 0);
	CHECK_EQ(v_sis.rule, FG_RULE_B1);
	/* no asymmetric scan: the symmetric rows */
	sys.feat.value[FG_ASYM_SCAN] = 0;
	kit_idle(5);
	CHECK_EQ(sis(&p, 5, 0), 5);
	CHECK_EQ(v_sis.rule, FG_RULE_B3);
}

TEST(rows_A1_to_A5_test_the_capacity)
{
	struct fg_task p, kthread;

	kit_asym_machine(8);
	kit_preset_v511();
	p = kit_task(1, 5);
	kit_util(&p, 500);
	/* A1 needs a fit, A2 has one */
	CHECK_EQ(sis(&p, 5, 0), 5);
	CHECK_EQ(v_sis.rule, FG_RULE_A2);
	CHECK(v_sis.writes & FG_W_SYNC);
	CHECK_EQ(sis(&p, 5, 6), 6);
	CHECK_EQ(v_sis.rule, FG_RULE_A1);
	/* prev too small as well: A4 if the recent CPU fits */
	p.cpu = 1;
	p.recent_used = 7;
	CHECK_EQ(sis(&p, 1, 0), 7);
	CHECK_EQ(v_sis.rule, FG_RULE_A4);
	p.recent_used = 2;
	CHECK_EQ(sis(&p, 1, 0), 4);
	CHECK_EQ(v_sis.rule, FG_RULE_A5);
	/* A3 does not test the capacity */
	kthread = kit_task(9, 1);
	kthread.flags = FG_TASK_PERCPU_KTHREAD;
	kit_busy(1);
	cpus[1].curr = &kthread;
	CHECK_EQ(sis(&p, 1, 0), 1);
	CHECK_EQ(v_sis.rule, FG_RULE_A3);
	/* A5 is final: nothing free is target, not a symmetric row */
	kthread.flags = 0;
	kit_busy_range(0, 7);
	CHECK_EQ(sis(&p, 1, 0), 0);
	CHECK_EQ(v_sis.rule, FG_RULE_A5);
}

TEST(mail_000_vectors)
{
	struct fg_task p;

	for (u32 after = 0; after < 2; after++) {
		kit_asym_machine(8);
		if (after)
			kit_preset_v511();
		p = kit_task(1, 4);
		kit_util(&p, 500);
		CHECK_EQ(sis(&p, 4, 4), 4);
		p.cpu = 5;
		CHECK_EQ(sis(&p, 5, 0), after ? 5 : 4);
		kit_busy_range(0, 7);
		kit_idle(6);
		CHECK_EQ(sis(&p, 5, 0), 6);
		kit_busy(6);
		CHECK_EQ(sis(&p, 5, 0), 0);
	}
}

/* On hikey960 the clusters have an LLC each: v2 of the mail does not reach prev in the other, v1 did. */
TEST(asym_check_scope)
{
	struct fg_task p;

	kit_asym_machine(4);
	kit_preset_v511();
	p = kit_task(1, 5);
	kit_util(&p, 500);
	CHECK_EQ(sis(&p, 5, 0), 4);
	CHECK_EQ(v_sis.rule, FG_RULE_A5);
	sys.feat.value[FG_ASYM_CHECK_SCOPE] = 1;
	CHECK_EQ(sis(&p, 5, 0), 5);
	CHECK_EQ(v_sis.rule, FG_RULE_A2);
}

/* asym_key is global; a partition of equal CPUs takes the symmetric rows, with the capacity tests of mail 000. */
TEST(symmetric_island)
{
	struct fg_task p;

	kit_init(8);
	kit_capacity(0, 3, 462);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 4);
	kit_finish();
	sys.asym_key = 1;
	p = kit_task(1, 1);
	kit_util(&p, 500);
	CHECK_EQ(sis(&p, 1, 0), 0);
	CHECK_EQ(v_sis.rule, FG_RULE_B2);
	CHECK(!(v_sis.writes & FG_W_SYNC));
	kit_preset_v511();
	CHECK_EQ(sis(&p, 1, 0), 0);
	CHECK_EQ(v_sis.rule, FG_RULE_A8);
	CHECK(v_sis.writes & FG_W_SYNC);
}

/* It is the target's partition that is asymmetric or not, not the waker's. */
TEST(an_island_woken_from_outside)
{
	struct fg_task p;

	kit_asym_machine(8);
	for (u32 c = 4; c < 8; c++)
		cpus[c].sd_asym_cpucapacity = 0;
	p = kit_task(1, 0);
	kit_util(&p, 300);
	CHECK_EQ(sis(&p, 0, 5), 5);
	CHECK_EQ(v_sis.rule, FG_RULE_B2);
	CHECK_EQ(sis(&p, 5, 0), 0);
	CHECK_EQ(v_sis.rule, FG_RULE_B1);
}

TEST(capacity_tests_use_the_decayed_and_clamped_utilization)
{
	struct fg_task p;

	kit_asym_machine(8);
	kit_preset_v511();
	p = kit_task(1, 0);
	p.avg.util_avg = 400;
	p.avg.util_sum = 400ull * PELT_MIN_DIVIDER;
	CHECK_EQ(sis(&p, 0, 0), 4);
	/* slept half a life: 200 fits, and only the copy has decayed */
	cpus[0].cfs.last_update = 32 * 1024 * 1024;
	CHECK_EQ(sis(&p, 0, 0), 0);
	CHECK_EQ(p.avg.util_avg, 400);
	/* clamps are counted once uclamp_used is set */
	p.uclamp_min = 600;
	CHECK_EQ(sis(&p, 0, 0), 0);
	sys.uclamp_used = 1;
	CHECK_EQ(sis(&p, 0, 0), 4);
	sys.feat.value[FG_UCLAMP_FIT] = 0;
	CHECK_EQ(sis(&p, 0, 0), 0);
	/* a minimum above the maximum: the maximum */
	sys.feat.value[FG_UCLAMP_FIT] = 1;
	p.uclamp_max = 100;
	CHECK_EQ(sis(&p, 0, 0), 0);
}

TEST(fits_vectors)
{
	static const u32 v[][2] = { { 160, 127 }, { 250, 199 }, { 446, 356 }, { 498, 398 },
				    { 512, 409 }, { 768, 614 }, { 1024, 819 } };

	for (u32 i = 0; i < 7; i++) {
		CHECK(fits_capacity(v[i][1], v[i][0]));
		CHECK(!fits_capacity(v[i][1] + 1, v[i][0]));
	}
}

int main(void)
{
	RUN(row_B1_scans_before_anything_else);
	RUN(rows_A1_to_A5_test_the_capacity);
	RUN(mail_000_vectors);
	RUN(asym_check_scope);
	RUN(symmetric_island);
	RUN(an_island_woken_from_outside);
	RUN(capacity_tests_use_the_decayed_and_clamped_utilization);
	RUN(fits_vectors);
	return test_report();
}
