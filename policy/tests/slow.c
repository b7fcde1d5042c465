/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The walk of the slow path (spec 5.1), the idlest group from 002/P11 on (5.3) and the idlest CPU of a group (5.4), with
 * the vectors F1 and F2 of spec 11.1 as far as they concern P11.
 */
#include "kit.h"

/* Two packages' worth of four CPUs each, or more; pct 125. */
static void packages(u32 nr, u32 flags)
{
	kit_init(nr);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 4);
	kit_level(FG_LEVEL_PKG, flags, 125, nr);
	kit_finish();
}

/* avg of load on each of four CPUs with two tasks and no spare utilization: the group is overloaded. */
static void overload(u32 first, u64 load)
{
	for (u32 c = first; c < first + 4; c++) {
		kit_busy(c);
		cpus[c].nr_running = cpus[c].h_nr_running = 2;
		cpus[c].cfs.load_avg = load;
		cpus[c].cfs.util_avg = 1024;
	}
}

static struct fg_task newborn(u32 cpu)
{
	struct fg_task p = kit_task(1, cpu);

	p.flags = FG_TASK_NEW;
	return p;
}

TEST(f1_fork_stays_with_more_idle_cpus)
{
	struct fg_task p;
	struct fg_verdict v;

	packages(8, SD_DEFAULT);
	kit_busy(0);
	cpus[0].cfs.load_avg = 4000;
	kit_busy_range(4, 6);
	for (u32 c = 4; c < 7; c++)
		cpus[c].cfs.load_avg = 1000;
	p = newborn(0);
	/* at the package level: local, three idle against one; below it an idle CPU of the parent's LLC */
	v = kit_wake(&p, 0, FG_WF_FORK);
	CHECK_EQ(v.cpu, 1);
	CHECK_EQ(v.rule, FG_RULE_FORK_IDLEST);
	CHECK_EQ(v.group_cpus, 8 + 4);
	CHECK_EQ(v.writes, 0);
	/* the other way round it leaves, for the idle CPU there */
	kit_busy_range(0, 3);
	v = kit_wake(&p, 0, FG_WF_FORK);
	CHECK_EQ(v.cpu, 7);
}

TEST(fork_stays_where_everything_is_equally_busy)
{
	struct fg_task p;
	struct fg_verdict v;

	packages(8, SD_DEFAULT);
	overload(0, 1000);
	overload(4, 1000);
	p = newborn(2);
	v = kit_wake(&p, 2, FG_WF_FORK);
	CHECK_EQ(v.cpu, 2);
	CHECK_EQ(v.rule, FG_RULE_FORK_LOCAL);
}

TEST(f2_overloaded_groups_compare_their_load)
{
	struct fg_task p;

	packages(12, SD_DEFAULT);
	overload(0, 3000);
	overload(4, 1000);
	overload(8, 500);
	p = newborn(0);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_FORK).cpu, 8);
	/* up to v5.6 0 is compared with 0: local */
	sys.feat.value[FG_FIG_AVGLOAD_FIX] = 0;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_FORK).cpu, 0);
	/* the threshold: 1000 * 125 / 100 */
	sys.feat.value[FG_FIG_AVGLOAD_FIX] = 1;
	overload(8, 1000);
	overload(0, 1250);
	CHECK(kit_wake(&p, 0, FG_WF_FORK).cpu < 4);
	overload(0, 1251);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_FORK).cpu, 4);
}

/* The decision alone, at its edges. */
TEST(f2_threshold)
{
	struct sg_rank local, idlest;
	struct fg_domain sd;

	memset(&sd, 0, sizeof(sd));
	memset(&local, 0, sizeof(local));
	memset(&idlest, 0, sizeof(idlest));
	sd.imbalance_pct = 125;
	idlest.avg_load = 1000;
	local.avg_load = 1250;
	CHECK(local_load_wins(&sd, &local, &idlest));
	local.avg_load = 1251;
	CHECK(!local_load_wins(&sd, &local, &idlest));
	/* between nodes an allowance more, 256 for pct 125 */
	sd.flags = FG_SD_NUMA;
	local.avg_load = 1256;
	CHECK(local_load_wins(&sd, &local, &idlest));
	local.avg_load = 1257;
	CHECK(!local_load_wins(&sd, &local, &idlest));
	/* 117: 174 */
	sd.imbalance_pct = 117;
	idlest.avg_load = 100;
	local.avg_load = 274;
	CHECK(local_load_wins(&sd, &local, &idlest));
	local.avg_load = 275;
	CHECK(!local_load_wins(&sd, &local, &idlest));
	/* 110: 102 */
	sd.imbalance_pct = 110;
	local.avg_load = 202;
	CHECK(local_load_wins(&sd, &local, &idlest));
	local.avg_load = 203;
	CHECK(!local_load_wins(&sd, &local, &idlest));
}

TEST(f2_group_weight_bug)
{
	struct fg_task p;

	/* local: nr 2, utilization 3300 of 4096 is above 4096 * 100 / 125; remote: nr 4, utilization 1000 */
	packages(8, SD_DEFAULT);
	kit_busy_range(0, 1);
	cpus[0].cfs.util_avg = cpus[1].cfs.util_avg = cpus[2].cfs.util_avg = 1024;
	cpus[3].cfs.util_avg = 228;
	kit_busy_range(4, 7);
	for (u32 c = 4; c < 8; c++)
		cpus[c].cfs.util_avg = 250;
	p = newborn(0);
	CHECK(kit_wake(&p, 0, FG_WF_FORK).cpu < 4);
	sys.feat.value[FG_FIG_WEIGHT_FIX] = 0;
	CHECK(kit_wake(&p, 0, FG_WF_FORK).cpu >= 4);
}

TEST(classification_vectors)
{
	struct fg_group g;
	struct sg_stats st;
	struct select_ctx s;

	kit_init(1);
	memset(&g, 0, sizeof(g));
	memset(&s, 0, sizeof(s));
	s.sys = &sys;
	memset(&st, 0, sizeof(st));
	st.capacity = 4096;
	st.weight = 4;
	st.nr = 5;
	st.util = 3500;
	CHECK_EQ(group_classify(&s, 117, &g, &st), group_has_spare);
	st.util = 3501;
	CHECK_EQ(group_classify(&s, 117, &g, &st), group_overloaded);
	st.util = 0;
	st.runnable = 4792;
	CHECK_EQ(group_classify(&s, 117, &g, &st), group_has_spare);
	st.runnable = 4793;
	CHECK_EQ(group_classify(&s, 117, &g, &st), group_overloaded);
	sys.feat.value[FG_RUNNABLE_CLASS] = 0;
	CHECK_EQ(group_classify(&s, 117, &g, &st), group_has_spare);
	st.nr = 4;
	st.util = 4096;
	CHECK_EQ(group_classify(&s, 117, &g, &st), group_fully_busy);
	st.misfit = 1;
	CHECK_EQ(group_classify(&s, 117, &g, &st), group_misfit_task);
	g.imbalance = 1;
	CHECK_EQ(group_classify(&s, 117, &g, &st), group_imbalanced);
	/* 002/P11 and v5.5 know no weight, only utilization: 2925 * 140 = 4095 * 100 */
	g.imbalance = st.misfit = 0;
	st.weight = 0;
	st.capacity = 4095;
	st.util = 2924;
	CHECK_EQ(group_classify(&s, 140, &g, &st), group_has_spare);
	st.util = 2925;
	CHECK_EQ(group_classify(&s, 140, &g, &st), group_fully_busy);
	st.util = 2926;
	CHECK_EQ(group_classify(&s, 140, &g, &st), group_overloaded);
	st.nr = 0;
	CHECK_EQ(group_classify(&s, 140, &g, &st), group_fully_busy);
}

/* The table of 5.3: what wins among remote groups, what against the local one. */
static u32 beats(u32 type, struct sg_rank a, struct sg_rank b)
{
	struct fg_group group[2] = { { .max_capacity = a.nr }, { .max_capacity = b.nr } };
	struct select_ctx s = { .sys = &sys };

	a.type = b.type = type;
	return update_pick_idlest(&s, &group[1], &b, &group[0], &a);
}

static u32 leaves(u32 type, struct sg_rank local, struct sg_rank idlest)
{
	struct fg_group group[2] = { { .max_capacity = local.nr }, { .max_capacity = idlest.nr } };
	const struct fg_group *const both[2] = { &group[0], &group[1] };
	struct fg_domain sd = { .imbalance_pct = 125 };
	struct fg_wake w = { 0 };
	struct select_ctx s = { .sys = &sys, .w = &w };

	local.type = idlest.type = type;
	return idlest_wins(&s, &sd, both, &local, &idlest);
}

TEST(what_groups_of_a_type_are_compared_by)
{
	/* nr doubles as the biggest capacity */
	struct sg_rank low = { .avg_load = 1000, .util = 10, .idle_cpus = 1, .nr = 500 };
	struct sg_rank high = { .avg_load = 2000, .util = 20, .idle_cpus = 2, .nr = 600 };

	kit_init(1);
	for (u32 type = group_has_spare; type <= group_overloaded; type++) {
		u32 by_load = type == group_overloaded || type == group_fully_busy;
		u32 more = type == group_misfit_task || type == group_has_spare;

		/* load: the less loaded; misfit and spare: the bigger, the one with more idle CPUs; others: the first */
		CHECK_EQ(beats(type, low, high), by_load);
		CHECK_EQ(beats(type, high, low), more);
		CHECK_EQ(beats(type, low, low), 0);
		/* away from local */
		CHECK_EQ(leaves(type, high, low), by_load);
		CHECK_EQ(leaves(type, low, high), more);
		CHECK_EQ(leaves(type, low, low), 0);
	}
	/* equally many idle CPUs: the less utilized, from v5.9 on */
	low.idle_cpus = 2;
	CHECK_EQ(beats(group_has_spare, low, high), 1);
	CHECK_EQ(beats(group_has_spare, high, low), 0);
	sys.feat.value[FG_FIG_UTIL_TIE] = 0;
	CHECK_EQ(beats(group_has_spare, low, high), 0);
}

TEST(the_less_busy_type_wins)
{
	struct select_ctx s = { .sys = &sys };
	struct fg_wake w = { 0 };
	struct fg_domain sd = { .imbalance_pct = 125 };
	struct fg_group g = { 0 };
	const struct fg_group *const both[2] = { &g, &g };
	struct sg_rank a = { .avg_load = 9000, .util = 900 }, b = { .idle_cpus = 9 };

	kit_init(1);
	s.w = &w;
	for (a.type = 0; a.type <= group_overloaded; a.type++) {
		for (b.type = 0; b.type <= group_overloaded; b.type++) {
			if (a.type == b.type)
				continue;
			CHECK_EQ(update_pick_idlest(&s, &g, &b, &g, &a), a.type < b.type);
			CHECK_EQ(idlest_wins(&s, &sd, both, &a, &b), b.type < a.type);
		}
	}
}

/* Flagged groups on both sides: nothing is compared, idle CPUs there or not. */
TEST(a_fork_stays_among_imbalanced_groups)
{
	struct fg_task p;

	packages(8, SD_DEFAULT);
	kit_busy_range(0, 3);
	p = newborn(0);
	CHECK(kit_wake(&p, 0, FG_WF_FORK).cpu >= 4);
	kit_top(0)->groups->imbalance = 1;
	kit_top(0)->groups->next->imbalance = 1;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_FORK).cpu, 0);
	/* on one side: the other one is less busy */
	kit_top(0)->groups->next->imbalance = 0;
	CHECK(kit_wake(&p, 0, FG_WF_FORK).cpu >= 4);
}

/* Mail 002 as posted, on v5.4: with both bugs of patch 11, and p in all statistics but utilization. */
TEST(f2_as_mailed)
{
	struct fg_task p;

	packages(12, SD_DEFAULT);
	kit_preset_v54();
	sys.feat.value[FG_LB_P09] = sys.feat.value[FG_LB_P10] = sys.feat.value[FG_LB_P11] = 1;
	overload(0, 3000);
	overload(4, 1000);
	overload(8, 500);
	p = newborn(0);
	CHECK(kit_wake(&p, 0, FG_WF_FORK).cpu < 4);
	/* both repaired: as intended */
	sys.feat.value[FG_FIG_WEIGHT_FIX] = sys.feat.value[FG_FIG_AVGLOAD_FIX] = 1;
	CHECK(kit_wake(&p, 0, FG_WF_FORK).cpu >= 8);
	/* idle and nearly idle groups: p makes its own one busy */
	packages(8, SD_DEFAULT);
	kit_preset_v54();
	sys.feat.value[FG_LB_P09] = sys.feat.value[FG_LB_P10] = sys.feat.value[FG_LB_P11] = 1;
	p = kit_task(1, 0);
	p.on_rq = 1;
	kit_busy(0);
	cpus[0].curr = &p;
	CHECK(kit_wake(&p, 0, FG_WF_EXEC).cpu >= 4);
}

TEST(exec_counts_without_the_task_itself)
{
	struct fg_task p;
	struct fg_verdict v;

	packages(8, SD_DEFAULT);
	/* p alone runs on CPU 0: its package has as many idle CPUs as the other one */
	p = kit_task(1, 0);
	p.on_rq = 1;
	kit_busy(0);
	cpus[0].curr = &p;
	cpus[0].cfs.util_avg = p.avg.util_avg = 600;
	v = kit_wake(&p, 0, FG_WF_EXEC);
	CHECK_EQ(v.cpu, 0);
	CHECK_EQ(v.rule, FG_RULE_EXEC_LOCAL);
	CHECK_EQ(v.writes, FG_W_SYNC | FG_W_H_LOAD_PREV);
	/* another task waits behind it: its CPU would not idle */
	cpus[0].nr_running = 2;
	CHECK(kit_wake(&p, 0, FG_WF_EXEC).cpu >= 4);
	cpus[0].nr_running = 1;
	/* with itself counted it runs away from itself */
	sys.feat.value[FG_FIG_WITHOUT_P] = 0;
	v = kit_wake(&p, 0, FG_WF_EXEC);
	CHECK(v.cpu >= 4);
	CHECK_EQ(v.rule, FG_RULE_EXEC_IDLEST);
}

TEST(exec_leaves_its_own_load_and_runnable_time_out)
{
	struct fg_task p;

	/* overloaded on both sides: 1252 against 1000 with p, 1002 without */
	packages(8, SD_DEFAULT);
	overload(0, 1000);
	overload(4, 1000);
	p = kit_task(1, 0);
	p.on_rq = 1;
	p.avg.load_avg = 1000;
	cpus[0].curr = &p;
	cpus[0].cfs.load_avg = 2010;
	CHECK(kit_wake(&p, 0, FG_WF_EXEC).cpu < 4);
	sys.feat.value[FG_FIG_WITHOUT_P] = 0;
	CHECK(kit_wake(&p, 0, FG_WF_EXEC).cpu >= 4);

	/* nothing is idle: its own runnable time overloads the local group (5300 of 5120), without it there is room */
	packages(8, SD_DEFAULT);
	kit_busy_range(0, 7);
	p.avg.load_avg = 0;
	p.avg.runnable_avg = 1000;
	cpus[0].curr = &p;
	cpus[0].nr_running = cpus[0].h_nr_running = 3;
	cpus[0].cfs.runnable_avg = 2000;
	for (u32 c = 1; c < 4; c++)
		cpus[c].cfs.runnable_avg = 1100;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_EXEC).cpu, 0);
	sys.feat.value[FG_FIG_WITHOUT_P] = 0;
	CHECK(kit_wake(&p, 0, FG_WF_EXEC).cpu >= 4);
}

/* A task on each CPU, all waiting a lot on one side: no room there, though utilization says so. */
TEST(runnable_time_fills_a_group)
{
	struct fg_task p;

	packages(8, SD_DEFAULT);
	kit_busy_range(0, 7);
	for (u32 c = 0; c < 4; c++)
		cpus[c].cfs.runnable_avg = 1281;
	p = newborn(0);
	CHECK(kit_wake(&p, 0, FG_WF_FORK).cpu >= 4);
	/* 5120 of 5120 is not beyond */
	for (u32 c = 0; c < 4; c++)
		cpus[c].cfs.runnable_avg = 1280;
	CHECK(kit_wake(&p, 0, FG_WF_FORK).cpu < 4);
	for (u32 c = 0; c < 4; c++)
		cpus[c].cfs.runnable_avg = 1281;
	sys.feat.value[FG_RUNNABLE_CLASS] = 0;
	CHECK(kit_wake(&p, 0, FG_WF_FORK).cpu < 4);
}

/* The search stops at a domain that does not balance forks. */
TEST(a_fork_stays_below_the_first_domain_that_does_not_answer)
{
	struct fg_task p;

	kit_init(16);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 4);
	kit_level(FG_LEVEL_PKG, SD_DEFAULT & ~FG_SD_BALANCE_FORK, 125, 8);
	kit_level(FG_LEVEL_NUMA, SD_NUMA, 125, 16);
	kit_finish();
	kit_busy_range(0, 7);
	p = newborn(0);
	CHECK(kit_wake(&p, 0, FG_WF_FORK).cpu < 4);
	cpus[0].sd->parent->flags |= FG_SD_BALANCE_FORK;
	CHECK(kit_wake(&p, 0, FG_WF_FORK).cpu >= 8);
}

TEST(equally_idle_groups_are_ranked_by_utilization)
{
	struct fg_task p;

	packages(12, SD_DEFAULT);
	overload(0, 1000);
	cpus[5].cfs.util_avg = 100;
	p = newborn(0);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_FORK).cpu, 8);
	sys.feat.value[FG_FIG_UTIL_TIE] = 0;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_FORK).cpu, 4);
}

TEST(affinity_decides_before_load)
{
	struct fg_task p;
	struct fg_verdict v;

	packages(8, SD_DEFAULT);
	p = newborn(0);
	kit_busy_range(4, 7);
	kit_allow(&p, 5, 6);
	/* the local group has no allowed CPU */
	v = kit_wake(&p, 0, FG_WF_FORK);
	CHECK(v.cpu == 5 || v.cpu == 6);
	CHECK_EQ(v.rule, FG_RULE_FORK_IDLEST);
	/* even where it is crowded */
	overload(4, 1000);
	v = kit_wake(&p, 0, FG_WF_FORK);
	CHECK(v.cpu == 5 || v.cpu == 6);
	CHECK_EQ(v.rule, FG_RULE_FORK_IDLEST);
	/* no CPU of any domain of the caller */
	kit_init(8);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 4);
	kit_finish();
	p = newborn(1);
	kit_allow(&p, 5, 6);
	v = kit_wake(&p, 0, FG_WF_FORK);
	CHECK_EQ(v.cpu, 5);
	CHECK_EQ(v.rule, FG_RULE_FALLBACK);
}

TEST(between_nodes_a_task_stays_while_there_is_room)
{
	struct fg_task p;
	u8 *numa = &sys.feat.value[FG_NUMA_IMB];

	packages(8, SD_NUMA);
	kit_busy(0);
	p = newborn(0);
	/* pair, up to v5.10: any idle CPU keeps it home */
	CHECK(kit_wake(&p, 0, FG_WF_FORK).cpu < 4);
	/* quarter: 1 < 8 / 4 */
	*numa = FG_NUMA_IMB_QUARTER;
	CHECK(kit_wake(&p, 0, FG_WF_FORK).cpu < 4);
	kit_busy(1);
	CHECK(kit_wake(&p, 0, FG_WF_FORK).cpu >= 4);
	*numa = FG_NUMA_IMB_PAIR;
	CHECK(kit_wake(&p, 0, FG_WF_FORK).cpu < 4);
	/* v6.0: 2 + 1 <= imb_numa_nr and a difference of two */
	*numa = FG_NUMA_IMB_LLC;
	kit_top(0)->imb_numa_nr = 3;
	CHECK(kit_wake(&p, 0, FG_WF_FORK).cpu < 4);
	kit_top(0)->imb_numa_nr = 2;
	CHECK(kit_wake(&p, 0, FG_WF_FORK).cpu >= 4);
	/* a difference of three */
	kit_busy(2);
	kit_top(0)->imb_numa_nr = 8;
	CHECK(kit_wake(&p, 0, FG_WF_FORK).cpu >= 4);
	/* pinned, to two CPUs at home: 2 + 1 > 2 */
	kit_idle(2);
	CHECK(kit_wake(&p, 0, FG_WF_FORK).cpu < 4);
	kit_allow(&p, 2, 7);
	CHECK(kit_wake(&p, 0, FG_WF_FORK).cpu >= 4);
	kit_allow(&p, 1, 7);
	CHECK(kit_wake(&p, 0, FG_WF_FORK).cpu < 4);
}

/* The walk goes on below where it is: around the CPU it has come to, in smaller domains than the last. */
TEST(the_walk_ends_on_an_idle_cpu_of_an_idle_core)
{
	struct fg_task p;
	struct fg_verdict v;

	kit_init(16);
	kit_smt(2, 1);
	kit_level(FG_LEVEL_SMT, SD_SMT, 110, 2);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 8);
	kit_level(FG_LEVEL_PKG, SD_DEFAULT, 125, 16);
	kit_finish();
	kit_busy_range(0, 8);
	kit_busy(10);
	kit_busy(13);
	/* in package 8-15 CPU 9 idled last, but its core is half busy: from there to core 14 */
	cpus[9].idle_stamp = 9;
	cpus[14].idle_stamp = cpus[15].idle_stamp = 3;
	p = newborn(0);
	v = kit_wake(&p, 0, FG_WF_FORK);
	CHECK_EQ(v.cpu, 14);
	/* without the flag a domain is passed over */
	for (u32 c = 8; c < 16; c++)
		cpus[c].sd->parent->flags &= ~(u32)FG_SD_BALANCE_FORK;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_FORK).cpu, 9);
}

/* Below a domain that answers one may not: the walk goes through it. */
TEST(the_walk_goes_through_domains_that_do_not_answer)
{
	struct fg_task p;

	kit_init(32);
	kit_smt(2, 1);
	kit_level(FG_LEVEL_SMT, SD_SMT, 110, 2);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 8);
	kit_level(FG_LEVEL_PKG, SD_DEFAULT, 125, 16);
	kit_level(FG_LEVEL_NUMA, SD_NUMA, 125, 32);
	kit_finish();
	kit_busy_range(0, 31);
	kit_idle(16);
	kit_idle(18);
	kit_idle(19);
	cpus[16].idle_stamp = 9;
	p = newborn(0);
	/* to node 1, where CPU 16 idled last; its package keeps it there, its cache has an idle core */
	CHECK_EQ(kit_wake(&p, 0, FG_WF_FORK).cpu, 18);
	cpus[16].sd->parent->flags &= ~(u32)FG_SD_BALANCE_FORK;
	CHECK_EQ(kit_wake(&p, 0, FG_WF_FORK).cpu, 16);
}

/* What an exec decays to is what counts. A child has nothing to decay. */
TEST(an_exec_is_judged_by_its_utilization_now)
{
	struct fg_task p;

	kit_init(8);
	kit_capacity(0, 3, 462);
	kit_level(FG_LEVEL_MC, SD_MC & ~FG_SD_PREFER_SIBLING, 117, 4);
	kit_level(FG_LEVEL_PKG, SD_DEFAULT | FG_SD_ASYM_CPUCAPACITY, 125, 8);
	kit_finish();
	p = kit_task(1, 0);
	p.avg.util_avg = 600;
	p.avg.util_sum = 600ull * PELT_MIN_DIVIDER;
	CHECK(kit_wake(&p, 0, FG_WF_EXEC).cpu >= 4);
	cpus[0].cfs.last_update = 32ull << 20;
	CHECK(kit_wake(&p, 0, FG_WF_EXEC).cpu < 4);
	p.flags = FG_TASK_NEW;
	CHECK(kit_wake(&p, 0, FG_WF_FORK).cpu >= 4);
	CHECK_EQ(kit_wake(&p, 0, FG_WF_FORK).writes, 0);
}

TEST(a_big_task_forks_to_a_group_that_fits)
{
	struct fg_task p;

	kit_init(8);
	kit_capacity(0, 3, 462);
	kit_level(FG_LEVEL_MC, SD_MC & ~FG_SD_PREFER_SIBLING, 117, 4);
	kit_level(FG_LEVEL_PKG, SD_DEFAULT | FG_SD_ASYM_CPUCAPACITY, 125, 8);
	kit_finish();
	kit_busy(4);
	p = kit_task(1, 0);
	kit_util(&p, 500);
	CHECK(kit_wake(&p, 0, FG_WF_EXEC).cpu >= 4);
	kit_util(&p, 300);
	CHECK(kit_wake(&p, 0, FG_WF_EXEC).cpu < 4);
}

/* 6.1 and 6.12 stable: what p may not use says nothing of a group. */
TEST(groups_are_judged_by_the_cpus_that_the_task_may_use)
{
	struct fg_task p;
	struct fg_verdict v;

	packages(8, SD_DEFAULT);
	kit_busy_range(0, 1);
	kit_busy_range(6, 7);
	p = newborn(0);
	kit_allow(&p, 0, 1);
	mask_set(&p.allowed, 4);
	mask_set(&p.allowed, 5);
	p.nr_allowed = 4;
	/* two idle CPUs on each side */
	CHECK_EQ(kit_wake(&p, 0, FG_WF_FORK).cpu, 0);
	/* but only one side has any for p */
	sys.feat.value[FG_FIG_ALLOWED] = 1;
	v = kit_wake(&p, 0, FG_WF_FORK);
	CHECK_EQ(v.cpu, 4);
	CHECK_EQ(v.rule, FG_RULE_FORK_IDLEST);
	/* 4 CPUs of the two groups, the two of group 4-7 it chooses from, and on the way down again only 4 and 5 */
	CHECK_EQ(v.group_cpus, 4 + 2 + 2);
}

TEST(a_big_cpu_that_is_forbidden_makes_no_group_fit)
{
	struct fg_task p;

	kit_init(8);
	kit_capacity(0, 7, 462);
	kit_capacity(3, 3, 1024);
	kit_capacity(7, 7, 700);
	kit_level(FG_LEVEL_MC, (SD_MC & ~FG_SD_PREFER_SIBLING) | FG_SD_ASYM_CPUCAPACITY, 117, 4);
	kit_level(FG_LEVEL_PKG, SD_DEFAULT | FG_SD_ASYM_CPUCAPACITY, 125, 8);
	kit_finish();
	sys.feat.value[FG_UFC] = 1;
	kit_busy_range(4, 5);
	p = kit_task(1, 0);
	kit_util(&p, 500);
	kit_allow(&p, 0, 2);
	for (s32 c = 4; c < 8; c++)
		mask_set(&p.allowed, c);
	p.nr_allowed = 7;
	/* 3 is big enough for it, as is 7: it stays */
	CHECK(kit_wake(&p, 0, FG_WF_EXEC).cpu < 3);
	/* it may not have 3 */
	sys.feat.value[FG_FIG_ALLOWED] = 1;
	CHECK(kit_wake(&p, 0, FG_WF_EXEC).cpu >= 4);
}

/* One group of four CPUs, seen from another. */
static s32 group_cpu(const struct fg_task *p)
{
	struct fg_wake w = { 0, 0, 0, FG_WF_FORK, 0 };
	struct fg_verdict v;
	struct select_ctx s;

	memset(&s, 0, sizeof(s));
	memset(&v, 0, sizeof(v));
	s.sys = &sys;
	s.p = p;
	s.w = &w;
	s.v = &v;
	return find_idlest_group_cpu(&s, kit_top(0)->groups->next, 0);
}

static void idle_state(u32 cpu, s32 state, u64 exit_us, u64 stamp)
{
	cpus[cpu].idle_state = state;
	cpus[cpu].idle_exit_latency = exit_us * 1000;
	cpus[cpu].idle_stamp = stamp;
}

TEST(the_idlest_cpu_of_a_group)
{
	struct fg_task p;

	packages(8, SD_DEFAULT);
	p = newborn(0);
	/* shallowest state */
	idle_state(4, 1, 50, 100);
	idle_state(5, 0, 1, 10);
	idle_state(6, 2, 500, 900);
	idle_state(7, 1, 50, 800);
	CHECK_EQ(group_cpu(&p), 5);
	/* of equal states the one entered last */
	for (u32 c = 4; c < 8; c++)
		idle_state(c, 1, 50, 10000 * (c - 3));
	CHECK_EQ(group_cpu(&p), 7);
	/* no state recorded yet: by time alone */
	idle_state(5, -1, 0, 50000);
	CHECK_EQ(group_cpu(&p), 5);
	/* exit latencies are compared in us */
	for (u32 c = 4; c < 8; c++)
		idle_state(c, 1, 50, 100 - c);
	cpus[6].idle_exit_latency = 50999;
	CHECK_EQ(group_cpu(&p), 4);
	cpus[6].idle_stamp = 200;
	CHECK_EQ(group_cpu(&p), 6);
	/* a CPU with SCHED_IDLE tasks only, before all idle ones; until v5.5 after them */
	kit_sched_idle(6);
	CHECK_EQ(group_cpu(&p), 6);
	sys.feat.value[FG_SI_FIRST] = 0;
	CHECK_EQ(group_cpu(&p), 4);
	kit_busy(4);
	kit_busy(5);
	kit_busy(7);
	CHECK_EQ(group_cpu(&p), 6);
	/* all busy: least load, first of equals */
	kit_busy(6);
	cpus[4].cfs.load_avg = 30;
	cpus[5].cfs.load_avg = 20;
	cpus[6].cfs.load_avg = 20;
	cpus[7].cfs.load_avg = 40;
	CHECK_EQ(group_cpu(&p), 5);
	/* up to v5.4 by what is queued */
	sys.feat.value[FG_LB_P09] = 0;
	for (u32 c = 4; c < 8; c++)
		cpus[c].queued.load_avg = 10 - c;
	CHECK_EQ(group_cpu(&p), 7);
	sys.feat.value[FG_LB_P09] = 1;
	/* within affinity; nothing allowed: the caller's */
	kit_allow(&p, 7, 7);
	CHECK_EQ(group_cpu(&p), 7);
	kit_allow(&p, 0, 1);
	CHECK_EQ(group_cpu(&p), 0);
	/* idle without state or time is skipped, not compared for load */
	kit_allow(&p, 4, 7);
	kit_idle(6);
	idle_state(6, -1, 0, 0);
	CHECK_EQ(group_cpu(&p), 5);
}

/* CPU 6 runs only SCHED_IDLE tasks; of the idle ones CPU 7 idles for the shortest time. */
TEST(a_new_sched_idle_task_keeps_away_from_its_like_since_v71)
{
	for (u8 on = 0; on < 2; on++) {
		struct fg_task p;

		packages(8, SD_DEFAULT);
		sys.feat.value[FG_SI_NOT_FOR_IDLE] = on;
		for (u32 c = 4; c < 8; c++)
			idle_state(c, 1, 50, 100 + c);
		kit_sched_idle(6);
		p = newborn(0);
		CHECK_EQ(group_cpu(&p), 6);
		p.policy = FG_SCHED_IDLE;
		CHECK_EQ(group_cpu(&p), on ? 7 : 6);
	}
}

/* What of a CPU is the task's own, and what it left behind asleep. */
TEST(cpu_signals_without_the_task)
{
	struct fg_task p;
	struct fg_wake w = { 0, 0, 0, FG_WF_EXEC, 0 };
	struct fg_verdict v;
	struct select_ctx s;
	struct fg_cpu *rq;

	kit_init(2);
	rq = &cpus[0];
	memset(&s, 0, sizeof(s));
	p = kit_task(1, 0);
	s.sys = &sys;
	s.p = &p;
	s.w = &w;
	s.v = &v;
	s.util_avg = 100;
	s.load_avg = 200;
	s.runnable_avg = 300;
	p.est.enqueued = 400;
	rq->cfs.util_avg = 150;
	rq->cfs.load_avg = 1999;
	rq->cfs.runnable_avg = 700;
	rq->est_enqueued = 401;
	/* asleep: its estimate is not there any more */
	CHECK_EQ(cpu_util_without(&s, rq), 401);
	CHECK_EQ(cpu_load_without(&s, rq), 1999 - 200 * 1999 / 2000);
	CHECK_EQ(cpu_runnable_without(&s, rq), 400);
	CHECK_EQ(task_running_on(&s, rq), 0);
	p.on_rq = 1;
	CHECK_EQ(cpu_util_without(&s, rq), 50);
	CHECK_EQ(task_running_on(&s, rq), 1);
	/* of another CPU, or without averages on any: as it is */
	p.flags = FG_TASK_MIGRATED;
	CHECK_EQ(cpu_util_without(&s, rq), 401);
	CHECK_EQ(cpu_load_without(&s, rq), 1999);
	CHECK_EQ(cpu_runnable_without(&s, rq), 700);
	CHECK_EQ(task_running_on(&s, rq), 0);
	p.flags = 0;
	p.cpu = 1;
	CHECK_EQ(cpu_util_without(&s, rq), 401);
	CHECK_EQ(cpu_load_without(&s, rq), 1999);
	CHECK_EQ(cpu_runnable_without(&s, rq), 700);
	/* idle but for it, unless a wakeup is on its way */
	p.cpu = 0;
	rq->curr = &p;
	rq->curr_is_idle = 0;
	CHECK_EQ(idle_rq_without(&s, rq), 1);
	rq->ttwu_pending = 1;
	CHECK_EQ(idle_rq_without(&s, rq), 0);
}

/* Little, middle and big groups, none of which fits: the biggest of them, if it is bigger than the own. */
TEST(a_task_too_big_for_all_goes_to_the_biggest)
{
	struct fg_task p;
	u32 nr[3] = { 200, 400, 300 };

	for (u32 asym = 0; asym < 2; asym++) {
		kit_init(12);
		for (u32 i = 0; i < 3; i++)
			kit_capacity(4 * i, 4 * i + 3, nr[i]);
		kit_level(FG_LEVEL_MC, SD_MC & ~FG_SD_PREFER_SIBLING, 117, 4);
		kit_level(FG_LEVEL_PKG, SD_DEFAULT | (asym ? FG_SD_ASYM_CPUCAPACITY : 0), 125, 12);
		kit_finish();
		p = kit_task(1, 0);
		kit_util(&p, 900);
		/* without the flag capacities are not compared: all four CPUs idle everywhere, it stays */
		CHECK_EQ(kit_wake(&p, 0, FG_WF_EXEC).cpu / 4, asym ? 1 : 0);
		p.cpu = 8;
		CHECK_EQ(kit_wake(&p, 8, FG_WF_EXEC).cpu / 4, asym ? 1 : 2);
		p.cpu = 4;
		CHECK_EQ(kit_wake(&p, 4, FG_WF_EXEC).cpu / 4, 1);
	}
	/* equally big: stays */
	kit_init(8);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 4);
	kit_level(FG_LEVEL_PKG, SD_DEFAULT | FG_SD_ASYM_CPUCAPACITY, 125, 8);
	kit_finish();
	p = kit_task(1, 0);
	kit_util(&p, 900);
	CHECK(kit_wake(&p, 0, FG_WF_EXEC).cpu < 4);
}

static struct fg_why why;

static u32 noted(u32 id, s32 cpu, u64 a, u64 b, u64 c)
{
	for (u32 i = 0; i < why.nr; i++) {
		const struct fg_note *n = &why.note[i];

		if (n->id == id && n->cpu == cpu && n->a == a && n->b == b && n->c == c)
			return 1;
	}
	return 0;
}

static struct fg_verdict ask_why(const struct fg_task *p, u32 this_cpu, u32 flags)
{
	struct fg_wake w = { cpus[this_cpu].curr, 1000000, (s32)this_cpu, flags, &why };
	struct fg_verdict v, quiet = kit_wake(p, this_cpu, flags);

	why.nr = why.lost = 0;
	fg_select_task_rq(&sys, p, &w, &v);
	CHECK(!memcmp(&v, &quiet, sizeof(v)));
	/* which rule it will be is known at the end */
	for (u32 i = 0; i < why.nr; i++)
		CHECK_EQ(why.note[i].rule, FG_RULE_NONE);
	return v;
}

TEST(placements_say_what_they_looked_at)
{
	struct fg_task p;

	packages(12, SD_DEFAULT);
	overload(0, 3000);
	overload(4, 1000);
	kit_busy_range(8, 10);
	cpus[8].cfs.util_avg = 300;
	idle_state(11, 2, 70, 500);
	p = newborn(0);
	CHECK_EQ(ask_why(&p, 0, FG_WF_FORK).cpu, 11);
	CHECK(noted(FG_NOTE_WALK, 0, 12, 0, 0));
	CHECK(noted(FG_NOTE_GROUP_OVERLOADED, 0, 3000, 4096, 4096));
	CHECK(noted(FG_NOTE_GROUP_OVERLOADED, 4, 1000, 4096, 4096));
	CHECK(noted(FG_NOTE_GROUP_HAS_SPARE, 8, 1, 300, 4096));
	CHECK(noted(FG_NOTE_GROUP_BEST, 8, 0, 0, 0));
	CHECK(noted(FG_NOTE_LEAVE_TYPE, 8, 0, 0, 0));
	CHECK(noted(FG_NOTE_CPU_LOAD, 9, 0, 0, 0));
	CHECK(noted(FG_NOTE_IDLE_STATE, 11, 500, 2, 70));
	CHECK(noted(FG_NOTE_WALK, 11, 4, 0, 0));
	/* all the same: stays */
	overload(8, 3000);
	overload(4, 3000);
	CHECK_EQ(ask_why(&p, 0, FG_WF_FORK).cpu, 0);
	CHECK(noted(FG_NOTE_STAY_LOAD, 4, 3000, 3000, 0));
	/* v5.4 */
	kit_preset_v54();
	cpus[0].queued.load_avg = 400;
	cpus[8].cfs.util_avg = 24;
	p = kit_task(1, 0);
	p.avg.util_avg = 100;
	kit_allow(&p, 0, 3);
	mask_set(&p.allowed, 9);
	CHECK_EQ(ask_why(&p, 0, FG_WF_EXEC).cpu, 9);
	CHECK(noted(FG_NOTE_GROUP_FORBIDDEN, 4, 0, 0, 0));
	/* the local one: without p's 100 there are 100 to spare; 400 * 1024 / 4096 queued */
	CHECK(noted(FG_NOTE_GROUP_LOAD, 0, 100, 3000, 100));
	CHECK(noted(FG_NOTE_GROUP_LOAD, 8, 0, 3000, 1000));
	CHECK(noted(FG_NOTE_LEAVE_SPARE, 8, 1000, 100, 100));
	/* a child stays at about the same load; it leaves for clearly less blocked load alone */
	p = newborn(0);
	CHECK(ask_why(&p, 0, FG_WF_FORK).cpu < 4);
	CHECK(noted(FG_NOTE_STAY_QUEUED, 4, 0, 3000, 0));
	overload(0, 4000);
	CHECK(ask_why(&p, 0, FG_WF_FORK).cpu >= 4);
	CHECK(noted(FG_NOTE_LEAVE_QUEUED, 4, 0, 3000, 0));
}

int main(void)
{
	RUN(f1_fork_stays_with_more_idle_cpus);
	RUN(fork_stays_where_everything_is_equally_busy);
	RUN(f2_overloaded_groups_compare_their_load);
	RUN(f2_threshold);
	RUN(f2_group_weight_bug);
	RUN(classification_vectors);
	RUN(exec_counts_without_the_task_itself);
	RUN(exec_leaves_its_own_load_and_runnable_time_out);
	RUN(runnable_time_fills_a_group);
	RUN(a_fork_stays_below_the_first_domain_that_does_not_answer);
	RUN(equally_idle_groups_are_ranked_by_utilization);
	RUN(affinity_decides_before_load);
	RUN(between_nodes_a_task_stays_while_there_is_room);
	RUN(a_big_task_forks_to_a_group_that_fits);
	RUN(groups_are_judged_by_the_cpus_that_the_task_may_use);
	RUN(a_big_cpu_that_is_forbidden_makes_no_group_fit);
	RUN(the_idlest_cpu_of_a_group);
	RUN(a_new_sched_idle_task_keeps_away_from_its_like_since_v71);
	RUN(cpu_signals_without_the_task);
	RUN(a_task_too_big_for_all_goes_to_the_biggest);
	RUN(what_groups_of_a_type_are_compared_by);
	RUN(the_less_busy_type_wins);
	RUN(a_fork_stays_among_imbalanced_groups);
	RUN(f2_as_mailed);
	RUN(the_walk_ends_on_an_idle_cpu_of_an_idle_core);
	RUN(the_walk_goes_through_domains_that_do_not_answer);
	RUN(an_exec_is_judged_by_its_utilization_now);
	RUN(placements_say_what_they_looked_at);
	return test_report();
}
