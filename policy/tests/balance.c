/* SPDX-License-Identifier: GPL-2.0-only */
/* When balancing happens and what it refreshes: spec 1.8, 6.1, 6.2, 6.9, 6.10; and the feature table. */
#include "kit.h"

static void machine(void)
{
	kit_init(8);
	kit_capacity(0, 3, 462);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 4);
	kit_level(FG_LEVEL_PKG, SD_DEFAULT, 125, 8);
	kit_finish();
}

TEST(intervals)
{
	struct fg_domain *mc, *pkg;

	machine();
	mc = cpus[0].sd;
	pkg = mc->parent;
	/* HZ 250: ms to jiffies rounds up */
	CHECK_EQ(fg_balance_interval(&sys, mc, 0), 1);
	CHECK_EQ(fg_balance_interval(&sys, mc, 1), 32);
	CHECK_EQ(fg_balance_interval(&sys, pkg, 0), 2);
	sys.feat.value[FG_BUSY_MINUS1] = 1;
	pkg->busy_factor = 16;
	CHECK_EQ(fg_balance_interval(&sys, pkg, 1), 31);
	mc->balance_interval = 5;
	CHECK_EQ(fg_balance_interval(&sys, mc, 0), 2);
	/* at most a tenth of a second for each CPU, at least one jiffy */
	mc->balance_interval = 100000;
	CHECK_EQ(fg_balance_interval(&sys, mc, 1), 200);
	CHECK_EQ(fg_group_capacity_interval(&sys, mc), 200);
	mc->balance_interval = 0;
	CHECK_EQ(fg_balance_interval(&sys, mc, 1), 1);
}

TEST(group_capacities_of_the_local_group)
{
	struct fg_domain *mc, *pkg;

	machine();
	mc = cpus[1].sd;
	pkg = mc->parent;
	cpus[1].rt.util_avg = 62;
	fg_update_group_capacity(&sys, mc, &cpus[1]);
	CHECK_EQ(cpus[1].cpu_capacity, 400);
	CHECK_EQ(mc->groups->capacity, 400);
	CHECK_EQ(mc->groups->min_capacity, 400);
	CHECK_EQ(pkg->groups->capacity, 4 * 462);
	fg_update_group_capacity(&sys, pkg, &cpus[1]);
	CHECK_EQ(pkg->groups->capacity, 400 + 3 * 462);
	CHECK_EQ(pkg->groups->min_capacity, 400);
	CHECK_EQ(pkg->groups->max_capacity, 462);
	CHECK_EQ(cpus[5].sd->parent->groups->capacity, 4096);
	/* overlapping children: by CPUs, whatever their groups say */
	mc->flags |= FG_SD_OVERLAP;
	mc->groups->capacity = 7;
	fg_update_group_capacity(&sys, pkg, &cpus[1]);
	CHECK_EQ(pkg->groups->capacity, 400 + 3 * 462);
	mc->flags &= ~(u32)FG_SD_OVERLAP;
	/* never 0 */
	cpus[1].rt.util_avg = 1024;
	fg_update_group_capacity(&sys, mc, &cpus[1]);
	CHECK_EQ(mc->groups->capacity, 1);
}

TEST(one_cpu_of_a_group_balances)
{
	struct fg_domain *pkg;

	machine();
	pkg = cpus[0].sd->parent;
	kit_busy_range(0, 7);
	CHECK_EQ(fg_should_we_balance(&sys, pkg, &cpus[0], FG_CPU_NOT_IDLE), 1);
	CHECK_EQ(fg_should_we_balance(&sys, cpus[1].sd->parent, &cpus[1], FG_CPU_NOT_IDLE), 0);
	kit_idle(2);
	CHECK_EQ(fg_should_we_balance(&sys, pkg, &cpus[0], FG_CPU_NOT_IDLE), 0);
	CHECK_EQ(fg_should_we_balance(&sys, cpus[2].sd->parent, &cpus[2], FG_CPU_IDLE), 1);
	CHECK_EQ(fg_should_we_balance(&sys, cpus[3].sd->parent, &cpus[3], FG_CPU_IDLE), 0);
	CHECK_EQ(fg_should_we_balance(&sys, cpus[3].sd->parent, &cpus[3], FG_CPU_NEWLY_IDLE), 1);
	sys.active.bits[0] &= ~4ull;
	CHECK_EQ(fg_should_we_balance(&sys, cpus[2].sd->parent, &cpus[2], FG_CPU_IDLE), 0);
	CHECK_EQ(fg_should_we_balance(&sys, pkg, &cpus[0], FG_CPU_NOT_IDLE), 1);
}

TEST(newidle_gate)
{
	machine();
	CHECK_EQ(fg_newidle_gate(&sys, &cpus[0]), 0);
	root.overload = 1;
	cpus[0].avg_idle = 500000;
	CHECK_EQ(fg_newidle_gate(&sys, &cpus[0]), 1);
	cpus[0].avg_idle = 499999;
	CHECK_EQ(fg_newidle_gate(&sys, &cpus[0]), 0);
	cpus[0].rd = 0;
	cpus[0].avg_idle = 500000;
	CHECK_EQ(fg_newidle_gate(&sys, &cpus[0]), 0);
}

/* A busy CPU in the big LLC, with one idle CPU whose tick is stopped. */
static struct fg_cpu *kick_machine(void)
{
	machine();
	kit_busy_range(0, 7);
	kit_idle(5);
	mask_set(&sys.nohz_idle, 5);
	sys.nohz_nr_cpus = 1;
	sys.nohz_next_balance = 100;
	llcs[4].nr_busy_cpus = 1;
	return &cpus[6];
}

TEST(nohz_kick)
{
	struct fg_cpu *rq = kick_machine();

	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), 0);
	/* statistics only */
	sys.nohz_has_blocked = 1;
	sys.nohz_next_blocked = 99;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 99), 0);
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), 1);
	/* two tasks, if it is time */
	rq->nr_running = 2;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 99), 0);
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), 2);
	/* nobody to kick, nobody to kick for */
	rq->idle_balance = 1;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), 0);
	rq->idle_balance = 0;
	sys.nohz_nr_cpus = 0;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), 0);

	rq = kick_machine();
	rq->cpu_capacity = 875; /* * 117 < 102400 */
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), 2);
	rq->cpu_capacity = 876;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), 0);
	/* reduced capacity is a reason only for a fair task */
	rq->cpu_capacity = 875;
	rq->h_nr_running = 0;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), 0);
	rq->h_nr_running = 1;
	rq->cpu_capacity = 876;
	/* another busy CPU of the LLC */
	llcs[4].nr_busy_cpus = 2;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), 2);
	/* a preferred CPU idles */
	llcs[4].nr_busy_cpus = 1;
	rq->sd->flags |= FG_SD_ASYM_PACKING;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), 2);
	CHECK_EQ(fg_nohz_kick(&sys, &cpus[4], 100), 0);
}

TEST(nohz_kick_on_asymmetric_machines_is_for_misfits)
{
	struct fg_cpu *rq = kick_machine();

	rq->sd_asym_cpucapacity = rq->sd->parent;
	llcs[4].nr_busy_cpus = 3;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), 0);
	/* a misfit on a CPU of full size goes nowhere better */
	rq->misfit_task_load = 1;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), 0);
	rq->cpu_capacity_orig = rq->cpu_capacity = 1000;
	CHECK_EQ(fg_nohz_kick(&sys, rq, 100), 2);
}

TEST(features_say_what_they_can)
{
	CHECK_EQ(fg_feature_ready(FG_ASYM_PREV_FIRST, 0), 1);
	CHECK_EQ(fg_feature_ready(FG_ASYM_PREV_FIRST, 1), 1);
	CHECK_EQ(fg_feature_ready(FG_ASYM_PREV_FIRST, 2), 0);
	CHECK_EQ(fg_feature_ready(FG_LB_P04, 1), 0);
	/* what shapes domains only */
	CHECK_EQ(fg_feature_ready(FG_CLS_DOMAIN, 1), 1);
	CHECK_EQ(fg_feature_ready(FG_ASYM_CAP_FULL, 1), 1);
	CHECK_EQ(fg_feature_ready(FG_SIS_MODE, FG_SIS_PROP), 1);
	CHECK_EQ(fg_feature_ready(FG_SIS_MODE, FG_SIS_UTIL), 0);
	CHECK_EQ(fg_feature_ready(FG_RQ, 1), 0);
	CHECK_EQ(fg_feature_ready(FG_NR_FEATURES, 0), 0);
	CHECK(FG_NR_FEATURES <= FG_MAX_FEATURES);
}

int main(void)
{
	RUN(intervals);
	RUN(group_capacities_of_the_local_group);
	RUN(one_cpu_of_a_group_balances);
	RUN(newidle_gate);
	RUN(nohz_kick);
	RUN(nohz_kick_on_asymmetric_machines_is_for_misfits);
	RUN(features_say_what_they_can);
	return test_report();
}
