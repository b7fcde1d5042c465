/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Balancing as in v5.4 and under patches 01 to 03 of mail 002 (spec 6.6, 6.7), computed by hand: vectors O1 to O7 of spec
 * 11.1, the v5.4 side of N5, and one scenario for each rule. No kernel at hand has this code any more.
 *
 * Numbers are those of the spec: avg the load for the capacity, S the average of the domain, pt load per task, U
 * utilization. Unless a test says otherwise CPU 0 balances, the first group is its own and the second is the busy one.
 */
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
 * State without tasks, for what is decided by sums alone. Blocked load, three times as much, is in nobody's sum. 0 tasks:
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

/* The busiest group for cpu and the amount. Without: a CPU that is no candidate, -1: none. */
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

/* ---- the vectors of spec 11.1 ---- */

/* Two tasks of 300 there, none here, U 600. */
TEST(o1_the_idle_test_is_for_ticks_only)
{
	struct lb_report r;

	lb_singles(2, SD_MC, 117, V54);
	lb_queue(1, 2, 300);
	lb_util(1, 1, 600);
	/* idle 1 <= 0 + 1 */
	CHECK_BALANCED(look(0, 0, FG_CPU_IDLE), IDLE_CPUS);
	/* 100 * 600 <= 117 * 0 false; S 300: min(300, 300) */
	CHECK_FORCED(look(0, 0, FG_CPU_NEWLY_IDLE), LOAD, 300);
	/* the waiting one, 299 / 2 <= 300; the last one stays */
	r = lb_attempt(0, 0, FG_CPU_NEWLY_IDLE);
	CHECK_EQ(r.moved, 1);
	CHECK_EQ(r.id[0], 1);
	CHECK_EQ(r.to[0], 0);
	CHECK_EQ(r.active, 0);
	CHECK_EQ(cpus[0].nr_running, 1);
	CHECK_EQ(cpus[1].nr_running, 1);
}

/* Three tasks of 1024 here, four there, one on each CPU. */
TEST(o2_a_small_imbalance_is_forced)
{
	struct lb_report r;

	lb_packages(2, 125, V54);
	lb_queues(1, 7, 1, 1024);
	/* avg 768, 1024, S 896: amount 512 < 1024; n 2, s 256: 1280 >= 1280 */
	CHECK_FORCED(look(0, 1, FG_CPU_NEWLY_IDLE), LOAD, 1024);
	/* the lowest CPU, its load is not above the amount; but what runs there cannot move */
	r = lb_attempt(0, 1, FG_CPU_NEWLY_IDLE);
	CHECK_EQ(r.src, 4);
	CHECK_EQ(r.moved, 0);
	/* idle 1 <= 0 + 1 */
	CHECK_BALANCED(look(0, 1, FG_CPU_IDLE), IDLE_CPUS);
	/* P03: 512 stays, and each queue has one task of more */
	lb_with(FG_LB_P03);
	CHECK_FORCED(look(0, 1, FG_CPU_NEWLY_IDLE), LOAD, 512);
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_NEWLY_IDLE).rule, FG_BALANCE_RULE_NO_QUEUE);
}

/* One task of 700 here, two of 450 there, U 800; the CPU is busy. */
static void o3(void)
{
	lb_singles(2, SD_MC, 117, V54);
	lb_queue(0, 1, 700);
	lb_queue(1, 2, 450);
	lb_util(1, 1, 800);
}

TEST(o3_a_small_imbalance_is_refused)
{
	struct lb_report r;

	for (u32 p03 = 0; p03 < 2; p03++) {
		o3();
		sys.feat.value[FG_LB_P03] = (u8)p03;
		/* S 800: 100 < 450; n 2, s 450: 1350 >= 1600 false; now 1150, then 0 + 1150 */
		CHECK_FORCED(look(0, 0, FG_CPU_NOT_IDLE), LOAD, 100);
		/* 449 / 2 > 100: nobody goes, until the stopper is asked at the fourth failure */
		for (u32 failures = 1; failures <= 4; failures++) {
			r = lb_attempt(0, 0, FG_CPU_NOT_IDLE);
			CHECK_EQ(r.src, 1);
			CHECK_EQ(r.moved, 0);
			CHECK_EQ(r.active, failures == 4);
		}
		/* after which no heat counts, and the next time is later; before, it came as soon as may be */
		CHECK_EQ(domains[0][0].nr_balance_failed, 2);
		CHECK_EQ(domains[0][0].balance_interval, 4);
		CHECK_EQ(lb_attempt(0, 0, FG_CPU_NOT_IDLE).active, 0);
	}
}

/* A task of 3121 here, three of 1024 there, two of them on one thread, U 1500. */
static void o4(void)
{
	lb_cores(2, V54);
	lb_queue(0, 1, 3121);
	lb_queue(2, 2, 1024);
	lb_queue(3, 1, 1024);
	lb_util(2, 3, 750);
}

TEST(o4_siblings_share_tasks_whatever_they_weigh)
{
	struct lb_report r;
	struct look l;

	o4();
	/*
	 * 3 > 1 + 1. avg 1560, 1536, S 1548: 0; n 2, s 512: 2048 >= 2584 false; now 2048 + 3120 = 5168, then
	 * 2048 * 1024 / 1024 + 2048 * min(3121, 1560 + 512) / 1024 = 2048 + 4144
	 */
	l = look(1, 1, FG_CPU_IDLE);
	CHECK_FORCED(l, NO_CAPACITY, 1024);
	CHECK_EQ(l.type, group_overloaded);
	r = lb_attempt(1, 1, FG_CPU_IDLE);
	CHECK_EQ(r.src, 2);
	CHECK_EQ(r.moved, 1);
	CHECK_EQ(r.id[0], 2);
	/* a busy CPU is not forced to: 1560 >= 1536 */
	o4();
	CHECK_BALANCED(look(1, 1, FG_CPU_NOT_IDLE), LOCAL_LOAD);
	/* P03: 0 stays 0 */
	lb_with(FG_LB_P03);
	CHECK_BALANCED(look(1, 1, FG_CPU_IDLE), NO_AMOUNT);
	/* without the flag of the cores: 1560 >= 1536 */
	o4();
	no_prefer_sibling();
	CHECK_BALANCED(look(1, 1, FG_CPU_IDLE), LOCAL_LOAD);
}

/* One task on each thread there, nobody here: nothing that runs can be pulled. */
TEST(o4_a_running_task_is_pushed_after_four_failures)
{
	struct lb_report r;

	lb_cores(2, V54);
	lb_queues(2, 3, 1, 1024);
	/* 2 > 0 + 1. S 512: 512 * 2048 / 1024 */
	for (u32 failures = 1; failures <= 4; failures++) {
		r = lb_attempt(0, 1, FG_CPU_IDLE);
		CHECK_EQ(r.rule, FG_BALANCE_RULE_NO_CAPACITY);
		CHECK_EQ(r.amount, 1024);
		CHECK_EQ(r.src, 2);
		CHECK_EQ(r.active, failures == 4);
	}
	CHECK_EQ(lb_stopper(2), 0);
	CHECK_EQ(lb_task[0].cpu, 0);
}

/* Three tasks of 1024 here, four there on three CPUs; affinity left them so. An RT task keeps CPU 3 from idling. */
static void o5(u32 nr)
{
	lb_packages(2, 125, V54);
	lb_queues(0, nr - 1, 1, 1024);
	if (nr < 4)
		lb_run_rt(3);
	lb_queue(4, 2, 1024);
	lb_queues(5, 6, 1, 1024);
	domains[4][1].groups->imbalance = 1;
}

TEST(o5_tasks_that_affinity_kept_together)
{
	struct lb_report r;

	o5(3);
	/* S 896: pt min(1024, 896); 512; n 2, s 224: 1248 >= 1216 */
	CHECK_FORCED(look(0, 1, FG_CPU_NOT_IDLE), IMBALANCED, 896);
	/* 5 and 6 have one task of more than that */
	r = lb_attempt(0, 1, FG_CPU_NOT_IDLE);
	CHECK_EQ(r.src, 4);
	CHECK_EQ(r.moved, 1);
	CHECK_EQ(r.id[0], 4);
	/* P03: pt is nothing any more; 1023 / 2 <= 512 */
	o5(3);
	lb_with(FG_LB_P03);
	CHECK_FORCED(look(0, 1, FG_CPU_NOT_IDLE), IMBALANCED, 512);
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_NOT_IDLE).moved, 1);
	/* as many here: 1024 <= S 1024; n 2, s 256: 1280 >= 1536 false; then 7168 > 8192 false */
	o5(4);
	CHECK_BALANCED(look(0, 1, FG_CPU_NOT_IDLE), NO_AMOUNT);
	lb_with(FG_LB_P03);
	CHECK_BALANCED(look(0, 1, FG_CPU_NOT_IDLE), NO_AMOUNT);
}

TEST(o6_between_overloaded_groups_no_cpu_is_emptied)
{
	struct lb_report r;

	lb_packages(2, 125, V54);
	lb_queues(0, 1, 2, 1024);
	lb_queues(2, 3, 1, 1024);
	lb_queues(4, 7, 3, 1024);
	lb_util(0, 7, 1024);
	/* avg 1536, 3072, S 2304: pull 768 < above (12288 - 4096) / 4; 768 * 4 */
	CHECK_FORCED(look(0, 1, FG_CPU_NOT_IDLE), LOAD, 3072);
	/* both that wait on the first CPU; the third runs */
	r = lb_attempt(0, 1, FG_CPU_NOT_IDLE);
	CHECK_EQ(r.src, 4);
	CHECK_EQ(r.moved, 2);
	CHECK_EQ(r.id[0], 7);
	CHECK_EQ(r.id[1], 8);
}

static void o6_heavy(void)
{
	lb_packages(2, 125, V54);
	lb_queue(0, 2, 1024);
	lb_queues(1, 3, 1, 1024);
	lb_queue(4, 2, 3121);
	lb_queues(5, 7, 1, 3121);
	lb_util(0, 7, 1024);
}

TEST(o6_heavy_tasks_count_as_one_a_cpu)
{
	struct lb_report r;

	o6_heavy();
	/* avg 1280, 3901, S 2590: pull 1311, above (5120 - 4096) / 4 = 256; 1024 < 3121; n 1: 3901 >= 1280 */
	CHECK_FORCED(look(0, 1, FG_CPU_NOT_IDLE), LOAD, 3121);
	r = lb_attempt(0, 1, FG_CPU_NOT_IDLE);
	CHECK_EQ(r.src, 4);
	CHECK_EQ(r.moved, 1);
	/* P03: 3120 / 2 > 1024 */
	o6_heavy();
	lb_with(FG_LB_P03);
	r = lb_attempt(0, 1, FG_CPU_NOT_IDLE);
	CHECK_EQ(r.amount, 1024);
	CHECK_EQ(r.src, 4);
	CHECK_EQ(r.moved, 0);
}

TEST(o7_work_goes_to_the_preferred_cpu)
{
	struct lb_report r;
	struct look l;

	for (u32 p01 = 0; p01 < 2; p01++) {
		packing_cpus(2);
		sys.feat.value[FG_LB_P01] = (u8)p01;
		/* all of its load, and as it is the running task the stopper is asked at once */
		lb_queue(1, 1, 1024);
		l = look(0, 0, FG_CPU_IDLE);
		CHECK_FORCED(l, ASYM, 1024);
		CHECK_EQ(l.type, group_has_spare);
		r = lb_attempt(0, 0, FG_CPU_IDLE);
		CHECK_EQ(r.src, 1);
		CHECK_EQ(r.moved, 0);
		CHECK_EQ(r.active, 1);
		CHECK_EQ(lb_stopper(1), 0);
		/* the other way round there is no group to be picked */
		packing_cpus(2);
		sys.feat.value[FG_LB_P01] = (u8)p01;
		lb_queue(0, 1, 1024);
		CHECK_BALANCED(look(1, 0, FG_CPU_IDLE), NO_GROUP);
		/* a busy CPU gathers nothing: 1024 >= 1024 */
		lb_queue(1, 1, 1024);
		CHECK_BALANCED(look(0, 0, FG_CPU_NOT_IDLE), LOCAL_LOAD);
	}
}

/* Two tasks, U 1024: the group wins by type, before anybody asks about packing. */
TEST(o7_p01_misses_a_group_that_wins_by_type)
{
	struct look l;

	packing_cpus(2);
	lb_queue(1, 2, 1024);
	lb_util(1, 1, 1024);
	l = look(0, 0, FG_CPU_IDLE);
	CHECK_FORCED(l, ASYM, 2048);
	CHECK_EQ(l.type, group_has_spare);
	CHECK_EQ(lb_attempt(0, 0, FG_CPU_IDLE).moved, 1);
	/* avg 2048, S 1024 */
	packing_cpus(2);
	lb_queue(1, 2, 1024);
	lb_util(1, 1, 1024);
	lb_with(FG_LB_P01);
	l = look(0, 0, FG_CPU_IDLE);
	CHECK_FORCED(l, NO_CAPACITY, 1024);
	CHECK_EQ(l.type, group_overloaded);
	CHECK_EQ(lb_attempt(0, 0, FG_CPU_IDLE).moved, 1);
}

/* N5 on v5.4: a little group, of which CPU 0 has work, and big CPUs 4 and 5, of which 5 has a task of 500. */
static void n5(void)
{
	kit_init(6);
	kit_capacity(0, 3, 446);
	kit_level(FG_LEVEL_MC, SD_MC, 117, 4);
	kit_level(FG_LEVEL_PKG, SD_DEFAULT | FG_SD_ASYM_CPUCAPACITY, 125, 6);
	lb_finish(V54);
	lb_run(5, 500);
	cpus[0].misfit_task_load = 1000;
}

/* X, the misfit with a load of 1000, and Y, not big at all but with a load of 2400, wait behind an RT task. */
TEST(n5_misfit_balance_moves_whoever_comes_first)
{
	for (u32 y_first = 0; y_first < 2; y_first++) {
		struct lb_report r;
		struct look l;

		n5();
		lb_run_rt(0);
		lb_wait(0, y_first ? 2400 : 1000);
		lb_wait(0, y_first ? 1000 : 2400);
		/* avg 1951, 250, S 1042: min(909 * 1784, 792 * 2048) / 1024 = 1583 < pt 1700; n 1: 1951 >= 250 */
		l = look(4, 1, FG_CPU_IDLE);
		CHECK_FORCED(l, MISFIT, 1700);
		CHECK_EQ(l.type, group_misfit_task);
		/* 999 / 2 and 2399 / 2 both pass; after X 701 are left, which are too few for Y, after Y nothing */
		r = lb_attempt(4, 1, FG_CPU_IDLE);
		CHECK_EQ(r.src, 0);
		CHECK_EQ(r.moved, 1);
		CHECK_EQ(r.id[0], 1);
	}
}

/* X alone: avg 573, S 400: min(173 * 1784, 150 * 2048) / 1024 = 300, but at least the misfit's 1000. */
TEST(n5_a_running_misfit_is_pushed_at_once)
{
	struct lb_report r;

	n5();
	lb_run(0, 1000);
	r = lb_attempt(4, 1, FG_CPU_IDLE);
	CHECK_EQ(r.rule, FG_BALANCE_RULE_MISFIT);
	CHECK_EQ(r.amount, 1000);
	CHECK_EQ(r.src, 0);
	CHECK_EQ(r.active, 1);
	CHECK_EQ(lb_stopper(0), 1);
	CHECK_EQ(lb_task[1].cpu, 4);
}

/* ---- which group is the busiest ---- */

/* Whatever the load: CPU 1 has one task of 3000, CPU 2 two small ones and no capacity left, CPU 3 one of 3001. */
TEST(the_type_comes_before_the_load)
{
	struct look l;

	lb_singles(4, SD_MC, 117, V54);
	state(0, 1, 100, 0);
	state(1, 1, 3000, 0);
	state(2, 2, 10, 1024);
	state(3, 1, 3001, 0);
	CHECK_EQ(look(0, 0, FG_CPU_NOT_IDLE).group, 2);
	/* among the others the load, first come first served */
	state(2, 1, 3001, 1024);
	CHECK_EQ(look(0, 0, FG_CPU_NOT_IDLE).group, 2);
	state(1, 1, 3001, 0);
	l = look(0, 0, FG_CPU_NOT_IDLE);
	CHECK_EQ(l.group, 1);
	/* S (100 + 3 * 3001) / 4 = 2275: min(726, 2175) < pt 3001; n 1: 3001 >= 100 */
	CHECK_FORCED(l, LOAD, 3001);
}

/* Overloaded takes both: more tasks than CPUs, and more used than pct allows. 1024 * 100 / 117 = 875.2 */
TEST(a_group_is_overloaded_by_tasks_and_utilization)
{
	lb_singles(3, SD_MC, 117, V54);
	state(1, 1, 2000, 0);
	state(2, 2, 1000, 876);
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).group, 2);
	state(2, 2, 1000, 875);
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).group, 1);
	state(2, 1, 1000, 1024);
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).group, 1);
}

/* CPU 1: overloaded; CPU 2: flagged; CPU 3: a misfit; CPU 4: neither, but loaded. Each is the busiest without those before. */
TEST(types_in_their_order)
{
	kit_init(5);
	kit_capacity(1, 4, 700);
	kit_level(FG_LEVEL_MC, SD_MC | FG_SD_ASYM_CPUCAPACITY, 117, 5);
	lb_finish(V54);
	state(1, 2, 10, 700);
	state(2, 1, 20, 0);
	state(3, 1, 30, 0);
	state(4, 1, 9000, 0);
	domains[2][0].groups->imbalance = 1;
	cpus[3].misfit_task_load = 30;
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).group, 1);
	/* what overloads hides the flag */
	domains[1][0].groups->imbalance = 1;
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).rule, FG_BALANCE_RULE_NO_CAPACITY);
	domains[1][0].groups->imbalance = 0;
	state(1, 0, 0, 0);
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).type, group_imbalanced);
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).group, 2);
	/* and the flag hides the misfit */
	cpus[2].misfit_task_load = 20;
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).type, group_imbalanced);
	state(2, 0, 0, 0);
	cpus[2].misfit_task_load = 0;
	domains[2][0].groups->imbalance = 0;
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).group, 3);
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).type, group_misfit_task);
	cpus[3].misfit_task_load = 0;
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).group, 4);
}

TEST(a_group_without_load_is_never_the_busiest)
{
	lb_singles(2, SD_MC, 117, V54);
	state(1, 1, 0, 300);
	CHECK_BALANCED(look(0, 0, FG_CPU_NEWLY_IDLE), NO_GROUP);
	/* some load is, S 1; IDLE: 1 <= 0 + 1 */
	state(1, 1, 2, 300);
	CHECK_BALANCED(look(0, 0, FG_CPU_IDLE), IDLE_CPUS);
	/* an overloaded one is by its type, and then there is nothing to be moved */
	state(1, 2, 0, 1024);
	CHECK_BALANCED(look(0, 0, FG_CPU_IDLE), NO_AMOUNT);
	/* load that its tasks left behind is none of theirs */
	state(1, 0, 800, 0);
	CHECK_BALANCED(look(0, 0, FG_CPU_IDLE), NO_GROUP);
}

/* Tasks of a flagged group without one: chosen by type, and nobody there. */
TEST(a_group_without_tasks_gives_nothing)
{
	lb_singles(2, SD_MC, 117, V54);
	state(1, 0, 800, 0);
	domains[1][0].groups->imbalance = 1;
	CHECK_BALANCED(look(0, 0, FG_CPU_IDLE), NO_GROUP);
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).group, 1);
}

/* Only a clearly bigger CPU helps a misfit, 819 * 1.25 < 1024, and only if there is room. */
TEST(misfits_that_nobody_here_can_help)
{
	big_and_little(819);
	state(4, 1, 300, 300);
	state(0, 1, 300, 819);
	cpus[0].misfit_task_load = 300;
	CHECK_EQ(look(5, 1, FG_CPU_IDLE).rule, FG_BALANCE_RULE_MISFIT);
	big_and_little(820);
	state(4, 1, 300, 300);
	state(0, 1, 300, 820);
	cpus[0].misfit_task_load = 300;
	CHECK_BALANCED(look(5, 1, FG_CPU_IDLE), NO_GROUP);
	/* four tasks on four CPUs, and utilization up to 3276 of 4096 is room */
	big_and_little(446);
	state(0, 1, 300, 446);
	cpus[0].misfit_task_load = 300;
	states(4, 7, 1, 300, 819);
	CHECK_EQ(look(4, 1, FG_CPU_NOT_IDLE).rule, FG_BALANCE_RULE_MISFIT);
	states(4, 7, 1, 300, 820);
	CHECK_BALANCED(look(4, 1, FG_CPU_NOT_IDLE), NO_GROUP);
	/* fewer tasks than CPUs: always */
	state(7, 0, 0, 1024);
	CHECK_EQ(look(4, 1, FG_CPU_NOT_IDLE).rule, FG_BALANCE_RULE_MISFIT);
	/* nobody records misfits elsewhere */
	domains[4][1].flags &= ~(u32)FG_SD_ASYM_CPUCAPACITY;
	CHECK_EQ(look(4, 1, FG_CPU_NOT_IDLE).type, group_has_spare);
}

/* A group of CPUs clearly bigger than the smallest here, with no more than a task each, keeps them: 446 / 0.8 = 557.5 */
TEST(bigger_cpus_keep_what_they_can_run)
{
	big_and_little(446);
	no_prefer_sibling();
	states(4, 7, 1, 900, 900);
	CHECK_BALANCED(look(0, 1, FG_CPU_IDLE), NO_GROUP);
	state(7, 2, 900, 900);
	CHECK_EQ(look(0, 1, FG_CPU_IDLE).group, 4);
	/* 820 is not clearly below 1024, 819 is */
	for (u32 little = 819; little <= 820; little++) {
		big_and_little(little);
		no_prefer_sibling();
		states(4, 7, 1, 900, 900);
		CHECK_EQ(look(0, 1, FG_CPU_IDLE).group, little == 820 ? 4 : -1);
	}
	/* the smallest of its CPUs says how big it is */
	big_and_little(446);
	no_prefer_sibling();
	states(4, 7, 1, 900, 900);
	domains[4][1].groups->min_capacity = 557;
	CHECK_EQ(look(0, 1, FG_CPU_IDLE).group, 4);
	domains[4][1].groups->min_capacity = 558;
	CHECK_EQ(look(0, 1, FG_CPU_IDLE).group, -1);
	/* capacity is compared on asymmetric domains only */
	domains[0][1].flags &= ~(u32)FG_SD_ASYM_CPUCAPACITY;
	CHECK_EQ(look(0, 1, FG_CPU_IDLE).group, 4);
}

/* Of unlike CPUs in a group the biggest says what a misfit could win, the smallest what others could lose. */
TEST(groups_of_unlike_cpus)
{
	for (u32 biggest = 819; biggest <= 820; biggest++) {
		kit_init(8);
		kit_capacity(0, 2, 160);
		kit_capacity(3, 3, biggest);
		kit_capacity(7, 7, 446);
		kit_level(FG_LEVEL_MC, SD_MC & ~FG_SD_PREFER_SIBLING, 117, 4);
		kit_level(FG_LEVEL_PKG, SD_DEFAULT | FG_SD_ASYM_CPUCAPACITY, 125, 8);
		lb_finish(V54);
		state(0, 1, 300, 160);
		cpus[0].misfit_task_load = 300;
		CHECK_EQ(look(5, 1, FG_CPU_IDLE).group, biggest == 819 ? 0 : -1);
		/* here 160 is the smallest, there 446 */
		states(0, 3, 0, 0, 0);
		cpus[0].misfit_task_load = 0;
		state(4, 1, 900, 900);
		CHECK_EQ(look(1, 1, FG_CPU_IDLE).group, -1);
	}
}

/* By type they win all the same. */
TEST(bigger_cpus_that_are_overloaded_are_the_busiest)
{
	big_and_little(446);
	states(4, 7, 1, 900, 1024);
	cpus[4].nr_running = cpus[4].h_nr_running = 2;
	CHECK_EQ(look(0, 1, FG_CPU_IDLE).rule, FG_BALANCE_RULE_NO_CAPACITY);
}

/* Among groups with misfits more load wins, unless the misfit is a smaller one. */
TEST(misfit_groups_compare_their_load_and_their_misfits)
{
	for (u64 second = 699; second <= 700; second++) {
		kit_init(3);
		kit_capacity(1, 2, 446);
		kit_level(FG_LEVEL_MC, SD_MC | FG_SD_ASYM_CPUCAPACITY, 117, 3);
		lb_finish(V54);
		state(1, 1, 800, 446);
		cpus[1].misfit_task_load = 700;
		state(2, 1, 801, 446);
		cpus[2].misfit_task_load = second;
		CHECK_EQ(look(0, 0, FG_CPU_IDLE).group, second == 700 ? 2 : 1);
		/* and with no more load it is not even asked */
		state(2, 1, 800, 446);
		cpus[2].misfit_task_load = 5000;
		CHECK_EQ(look(0, 0, FG_CPU_IDLE).group, 1);
	}
}

/* ---- asym packing ---- */

/* The most loaded first; another one only if its CPU is the less preferred one. */
TEST(packing_empties_the_least_preferred_cpu_first)
{
	packing_cpus(3);
	state(1, 1, 500, 0);
	state(2, 1, 600, 0);
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).group, 2);
	/* it has less load than the one before: not busier */
	state(2, 1, 400, 0);
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).group, 1);
	/* more load, and more preferred than the one before */
	state(2, 1, 600, 0);
	domains[1][0].groups->asym_prefer_cpu = 2;
	domains[2][0].groups->asym_prefer_cpu = 1;
	CHECK_EQ(look(0, 0, FG_CPU_IDLE).group, 1);
	/* a busy CPU asks for load alone */
	state(0, 1, 100, 0);
	CHECK_EQ(look(0, 0, FG_CPU_NOT_IDLE).group, 2);
}

/* CPU 1 is overloaded and CPU 0 preferred to CPU 1: what the type says is not asked about packing, the early test is. */
TEST(a_type_wins_without_being_asked_about_packing)
{
	for (u32 p01 = 0; p01 < 2; p01++) {
		packing_cpus(2);
		sys.feat.value[FG_LB_P01] = (u8)p01;
		state(0, 2, 1500, 1024);
		/* CPU 1 may not pack CPU 0, but takes from it as from any other: avg 1500, S 750 */
		CHECK_FORCED(look(1, 0, FG_CPU_IDLE), NO_CAPACITY, 750);
	}
}

/* Three CPUs for CPU 0: 1 overloaded with 2000, 2 overloaded with 3000. Only the second is picked by its load, and flagged. */
TEST(p01_flags_whom_the_load_makes_the_busiest)
{
	for (u32 p01 = 0; p01 < 2; p01++) {
		struct look l;

		packing_cpus(3);
		sys.feat.value[FG_LB_P01] = (u8)p01;
		state(1, 2, 2000, 1024);
		state(2, 2, 3000, 1024);
		l = look(0, 0, FG_CPU_IDLE);
		CHECK_FORCED(l, ASYM, 3000);
		/* it tells the type as well */
		CHECK_EQ(l.type, p01 ? group_overloaded : group_has_spare);
	}
	/* the other way round the first stays, by its type: S 1666: min(1334, 1666) < pt 1500; 3000 + s >= 0 + 2s */
	state(1, 2, 3000, 1024);
	state(2, 2, 2000, 1024);
	CHECK_FORCED(look(0, 0, FG_CPU_IDLE), NO_CAPACITY, 1500);
}

/* Neither averages nor small imbalances are asked: CPU 0 has more load left over than there is to be taken. */
TEST(packing_takes_all_the_load)
{
	for (u32 p01 = 0; p01 < 2; p01++) {
		packing_cpus(2);
		sys.feat.value[FG_LB_P01] = (u8)p01;
		state(0, 0, 5000, 0);
		state(1, 1, 700, 0);
		CHECK_FORCED(look(0, 0, FG_CPU_NEWLY_IDLE), ASYM, 700);
		/* overloaded, and nothing to be taken */
		state(1, 2, 0, 1024);
		CHECK_BALANCED(look(0, 0, FG_CPU_IDLE), NO_AMOUNT);
	}
}

/* ---- whether something is to be moved ---- */

TEST(energy_awareness_comes_before_everything)
{
	packing_cpus(2);
	state(1, 1, 1024, 100);
	sys.eas = 1;
	CHECK_BALANCED(look(0, 0, FG_CPU_IDLE), EAS);
	root.overutilized = 1;
	domains[0][0].parent = &domains[0][1]; /* not the top: the flag is not taken back */
	CHECK_FORCED(look(0, 0, FG_CPU_IDLE), ASYM, 1024);
}

/* An idle CPU takes from a group without capacity if there is room here, even for a group with more load. */
TEST(room_here_and_none_there_is_enough)
{
	lb_packages(2, 125, V54);
	state(1, 1, 8000, 0);
	states(4, 7, 2, 1000, 1024);
	/* avg 2000, 1000, S 1500; both on the wrong side: 0 < pt 500; n 2, s 125: 1125 >= 2250 false */
	/* now 4096 * (500 + 2000) / 1024 = 10000, then 4096 * (500 + min(8000, 2125)) / 1024 = 10500 */
	CHECK_FORCED(look(0, 1, FG_CPU_IDLE), NO_CAPACITY, 500);
	CHECK_FORCED(look(0, 1, FG_CPU_NEWLY_IDLE), NO_CAPACITY, 500);
	/* a busy one does not: 2000 >= 1000 */
	CHECK_BALANCED(look(1, 1, FG_CPU_NOT_IDLE), LOCAL_LOAD);
	/* nor without room: five tasks, U 3400 of 4096 */
	state(1, 5, 8000, 1024);
	states(2, 3, 0, 0, 1024);
	state(0, 0, 0, 328);
	CHECK_BALANCED(look(0, 1, FG_CPU_IDLE), LOCAL_LOAD);
	state(0, 0, 0, 0);
	state(2, 0, 0, 0);
	state(3, 0, 0, 0);
	/* room again; but a task here has 1600, so 4 * (500 + 1600) gets done now and then */
	CHECK_BALANCED(look(0, 1, FG_CPU_IDLE), NO_AMOUNT);
}

/* Two tasks more there, and room here. */
TEST(the_excess_of_siblings_counts_from_two)
{
	lb_packages(2, 125, V54);
	state(1, 1, 100, 0);
	states(4, 5, 1, 1000, 0);
	CHECK_EQ(look(0, 1, FG_CPU_IDLE).type, group_has_spare);
	state(6, 1, 1000, 0);
	CHECK_EQ(look(0, 1, FG_CPU_IDLE).type, group_overloaded);
	/* no room: four tasks and U 4096; six there, U 0 */
	states(0, 3, 1, 100, 1024);
	states(4, 5, 3, 1000, 0);
	state(6, 0, 0, 0);
	CHECK_EQ(look(0, 1, FG_CPU_NOT_IDLE).type, group_has_spare);
	states(0, 3, 1, 100, 819);
	CHECK_EQ(look(0, 1, FG_CPU_NOT_IDLE).type, group_overloaded);
}

/* avg 1000 here, 1251 there, a third group that carries so much or so little that S lies where it is wanted. */
TEST(the_local_group_carries_enough)
{
	lb_packages(3, 125, V54);
	states(0, 3, 2, 1000, 1024);
	states(4, 7, 2, 1251, 1024);
	/* S 1000 = (1000 + 1251 + 749) / 3 */
	states(8, 11, 1, 749, 0);
	CHECK_BALANCED(look(0, 1, FG_CPU_NOT_IDLE), LOCAL_LOAD);
	/* S 1001: min(250, above 1024) * 4 = 1000, min with 1 * 4 = 4 < pt 625; n 1: 1251 >= 1000 */
	states(8, 11, 1, 752, 0);
	CHECK_FORCED(look(0, 1, FG_CPU_NOT_IDLE), LOAD, 625);
	lb_with(FG_LB_P03);
	CHECK_FORCED(look(0, 1, FG_CPU_NOT_IDLE), LOAD, 4);
	/* as much as the busiest, though S is 2000 */
	states(4, 7, 2, 1000, 1024);
	states(8, 11, 1, 4000, 0);
	CHECK_BALANCED(look(0, 1, FG_CPU_NOT_IDLE), LOCAL_LOAD);
}

/* pct 125: 1250 for 1000. Here is no room, so decision 6 does not come in. */
TEST(imbalance_pct_for_all_but_ticks_on_idle_cpus)
{
	lb_packages(3, 125, V54);
	states(0, 3, 2, 1000, 1024);
	state(0, 0, 1000, 1024);
	states(4, 7, 2, 1250, 1024);
	states(8, 11, 1, 1200, 0);
	CHECK_BALANCED(look(1, 1, FG_CPU_NOT_IDLE), IMBALANCE_PCT);
	CHECK_BALANCED(look(0, 1, FG_CPU_NEWLY_IDLE), IMBALANCE_PCT);
	/* S 1150: min(100, 1024), 150; 400 < pt 625 */
	CHECK_FORCED(look(0, 1, FG_CPU_IDLE), LOAD, 625);
	states(4, 7, 2, 1251, 1024);
	CHECK_FORCED(look(1, 1, FG_CPU_NOT_IDLE), LOAD, 625);
	CHECK_FORCED(look(0, 1, FG_CPU_NEWLY_IDLE), LOAD, 625);
}

/* Idle CPUs: a tick on one of them wants two more than there are elsewhere. */
TEST(idle_cpus_for_ticks_on_idle_cpus)
{
	lb_packages(2, 125, V54);
	no_prefer_sibling();
	states(2, 3, 1, 100, 0);
	states(4, 6, 1, 1000, 0);
	/* 2 <= 1 + 1 */
	CHECK_BALANCED(look(0, 1, FG_CPU_IDLE), IDLE_CPUS);
	state(7, 1, 1000, 0);
	/* avg 50, 1000, S 525: 475 * 4 */
	CHECK_FORCED(look(0, 1, FG_CPU_IDLE), LOAD, 1900);
}

/* ---- how much ---- */

/* Load until the average, from the fuller or to the emptier side, for the capacity each has. */
TEST(the_amount_is_what_the_nearer_side_lacks)
{
	lb_packages(3, 125, V54);
	/* avg 0, 2000, 400: S 800, min(1200, 800) * 4 */
	states(4, 7, 1, 2000, 0);
	states(8, 11, 1, 400, 0);
	CHECK_FORCED(look(0, 1, FG_CPU_NEWLY_IDLE), NO_CAPACITY, 3200);
	/* avg 0, 2000, 1900: S 1300, min(700, 1300) * 4 = 2800 */
	states(8, 11, 1, 1900, 0);
	CHECK_FORCED(look(0, 1, FG_CPU_NEWLY_IDLE), NO_CAPACITY, 2800);
}

/* above: only if both are overloaded, and only beyond one task of 1024 for a capacity of 1024. */
TEST(above_limits_what_leaves_an_overloaded_group)
{
	lb_singles(3, SD_MC, 117, V54);
	state(0, 2, 1000, 1024);
	state(1, 2, 9000, 1024);
	state(2, 1, 2000, 0);
	/* S 4000, pull min(5000, above 1024), min(1024, 3000) = 1024 < pt 4500: P03 shows it */
	CHECK_FORCED(look(0, 0, FG_CPU_NOT_IDLE), LOAD, 4500);
	lb_with(FG_LB_P03);
	CHECK_FORCED(look(0, 0, FG_CPU_NOT_IDLE), LOAD, 1024);
	state(1, 3, 9000, 1024);
	CHECK_FORCED(look(0, 0, FG_CPU_NOT_IDLE), LOAD, 2048);
	/* not overloaded here: 3000 */
	state(0, 1, 1000, 1024);
	CHECK_FORCED(look(0, 0, FG_CPU_NOT_IDLE), LOAD, 3000);
	/* or there: no more tasks than capacity. A capacity of 3072 has room for three. */
	state(0, 2, 1000, 1024);
	domains[1][0].groups->capacity = 3072;
	/* avg 1000, 9000 * 1024 / 3072 = 3000, S 12000 / 5 = 2400: min(600 * 3, 1400) */
	cpus[1].cpu_capacity_orig = 3072;
	state(1, 3, 9000, 3000);
	CHECK_FORCED(look(0, 0, FG_CPU_NOT_IDLE), LOAD, 1400);
}

/*
 * A misfit on the wrong side of the average: unsigned, that side has no say (wrap rule), and the misfit is the least. Big
 * CPUs are 0 here, of 1024; 1, of 512, has the misfit; 2, of 1024, is crowded but no misfit.
 */
static void wrap(u64 local, u64 misfit, u64 other)
{
	kit_init(3);
	kit_capacity(1, 1, 512);
	kit_level(FG_LEVEL_MC, SD_MC | FG_SD_ASYM_CPUCAPACITY, 117, 3);
	lb_finish(V54);
	state(0, 0, local, 0);
	state(1, 1, misfit, 512);
	cpus[1].misfit_task_load = misfit;
	state(2, 1, other, 500);
}

TEST(a_misfit_wraps_the_amount)
{
	/* avg 0, 600, 5000, S 5300 * 1024 / 2560 = 2120: B below, so (2120 - 0) * 1024 / 1024 */
	wrap(0, 300, 5000);
	CHECK_FORCED(look(0, 0, FG_CPU_IDLE), MISFIT, 2120);
	/* avg 3000, 2000, 0, S 1600: L above, so (2000 - 1600) * 512 / 1024 = 200, but 1000 is the misfit */
	wrap(3000, 1000, 0);
	CHECK_FORCED(look(0, 0, FG_CPU_IDLE), MISFIT, 1000);
	/* a small misfit among other load shows the 200: nr 5 makes pt small as well */
	cpus[1].misfit_task_load = 100;
	cpus[1].h_nr_running = cpus[1].nr_running = 5;
	cpus[1].cfs.util_avg = 0;
	CHECK_FORCED(look(0, 0, FG_CPU_IDLE), MISFIT, 200);
	/* avg 3000, 200, 100, S 1280: both, and there is no limit worth the name */
	wrap(3000, 100, 100);
	CHECK(look(0, 0, FG_CPU_IDLE).amount > 1ll << 50);
}

/* The average task of a flagged group is no more than S: what is below it is small, what is not is left alone. */
TEST(affinity_tells_little_of_the_load_of_a_task)
{
	lb_packages(3, 125, V54);
	states(4, 4, 1, 4000, 0);
	domains[4][1].groups->imbalance = 1;
	state(0, 1, 400, 0);
	/* avg 100, 1000, 0, S 366: pt min(4000, 366); min(634, 266) * 4 = 1064 >= 366 */
	CHECK_FORCED(look(0, 1, FG_CPU_NOT_IDLE), IMBALANCED, 1064);
	/* not flagged: 1064 < 4000; n 1: 1000 >= 100 */
	domains[4][1].groups->imbalance = 0;
	CHECK_FORCED(look(0, 1, FG_CPU_NOT_IDLE), LOAD, 4000);
}

/* Light tasks there: n is 2 as long as those here are not lighter. */
TEST(a_small_imbalance_counts_once_or_twice)
{
	lb_singles(2, SD_MC, 117, V54);
	/* avg 800, 1000, S 900: 100 < pt 500; pt here 400: n 1: 1500 >= 1300 */
	state(0, 2, 800, 0);
	state(1, 2, 1000, 0);
	CHECK_FORCED(look(0, 0, FG_CPU_NOT_IDLE), LOAD, 500);
	/* pt here 800: n 2: 1500 >= 1800 false; now 500 + 800, then 500 + 800 */
	state(0, 1, 800, 0);
	CHECK_FORCED(look(0, 0, FG_CPU_NOT_IDLE), LOAD, 100);
	/* as heavy as those there: n 2: 1500 >= 1000 + 800 false */
	lb_singles(2, SD_MC, 117, V54);
	state(0, 2, 802, 0);
	state(1, 3, 1203, 0);
	/* S 1002: 200 < pt 401; n 2: 1604 >= 802 + 802 */
	CHECK_FORCED(look(0, 0, FG_CPU_NOT_IDLE), LOAD, 401);
	state(0, 2, 804, 0);
	/* S 1003: 199 < 401, pt here 402; n 2: 1604 >= 804 + 802 false; now 401 + 402, then the same */
	CHECK_FORCED(look(0, 0, FG_CPU_NOT_IDLE), LOAD, 199);
}

/* A core here, C 2048, and what is left of one there, C 1024: loads and tasks are for their capacities. */
TEST(what_gets_done_is_for_the_capacity)
{
	for (u32 nr = 1; nr <= 2; nr++) {
		lb_cores(2, V54);
		no_prefer_sibling();
		domains[1][1].imbalance_pct = 105;
		domains[2][1].groups->capacity = 1024;
		state(0, nr, 3000, 0);
		state(2, 3, 1650, 0);
		/*
		 * avg 1500, 1650, S 1550: min(100 * 1024, 50 * 2048) / 1024 = 100 < pt 550; n 2, s 550: 2200 >= 2600 false.
		 * One task of 3000: now 550 + 2 * 1500, then 550 + 2 * min(3000, 1500 + 275). Two of 1500 get all they ask for.
		 */
		CHECK_FORCED(look(1, 1, FG_CPU_NEWLY_IDLE), LOAD, nr == 1 ? 550 : 100);
	}
}

/*
 * Nobody here, n is 2, and dst says what a task here is like. It has some only while it is no candidate, as for tasks that
 * may not run there. Here are threads 0 and 1 with a load of 3200 on 1; there are four tasks of 1000.
 */
TEST(an_empty_group_goes_by_dst)
{
	lb_cores(2, V54);
	no_prefer_sibling();
	state(0, 2, 3200, 0);
	state(1, 0, 3200, 0);
	state(2, 4, 4000, 0);
	/*
	 * avg 1600, 2000, S 1800: 200 * 2 < pt 1000; s 500: 2500 >= 2600 false; now 2 * 1000 + 2 * 1600, then
	 * 2 * min(1000, 1500) + 2 * min(1600, 2100)
	 */
	CHECK_FORCED(look_without(0, 1, FG_CPU_NEWLY_IDLE, 0), LOAD, 400);
	/* 3202 / 2 = 1601: 2000 + 3200 < 2000 + 3202 */
	state(0, 2, 3202, 0);
	CHECK_FORCED(look_without(0, 1, FG_CPU_NEWLY_IDLE, 0), LOAD, 1000);
	/* nothing at all: n is 2 although 1000 > 0 */
	state(0, 0, 0, 0);
	CHECK_FORCED(look(0, 1, FG_CPU_NEWLY_IDLE), LOAD, 400);
}

/* ---- the queue, and who is asked for ---- */

/* A heavy task that fits says nothing. */
TEST(the_queue_of_the_biggest_misfit)
{
	struct lb_report r;

	big_and_little(446);
	lb_run(5, 100);
	lb_run(0, 3000);
	lb_run(1, 600);
	cpus[0].misfit_task_load = 500;
	cpus[1].misfit_task_load = 600;
	r = lb_attempt(4, 1, FG_CPU_IDLE);
	CHECK_EQ(r.rule, FG_BALANCE_RULE_MISFIT);
	CHECK_EQ(r.src, 1);
	CHECK_EQ(r.active, 1);
	/* asked for by what the group is, so the interval stays short */
	CHECK_EQ(domains[4][1].balance_interval, domains[4][1].min_interval);
}

/* An RT task makes two: a fair one of more than the amount, 512, is no reason to pass a queue over; only half of it counts. */
TEST(tasks_of_all_classes_make_a_queue)
{
	struct lb_report r;

	lb_packages(2, 125, V54);
	lb_with(FG_LB_P03);
	lb_queues(1, 4, 1, 1024);
	lb_run_rt(5);
	lb_wait(5, 1024);
	lb_queues(6, 7, 1, 1024);
	r = lb_attempt(0, 1, FG_CPU_NEWLY_IDLE);
	CHECK_EQ(r.amount, 512);
	CHECK_EQ(r.src, 5);
	CHECK_EQ(r.moved, 1);
	CHECK_EQ(r.id[0], 4);
}

TEST(a_queue_is_one_of_load)
{
	lb_packages(2, 125, V54);
	lb_queue(4, 3, 0);
	lb_queue(5, 2, 500);
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).src, 5);
	/* load for the capacity that is left */
	lb_packages(2, 125, V54);
	lb_queue(4, 2, 600);
	lb_queue(5, 2, 500);
	cpus[5].cpu_capacity = 853; /* 1000 * 1024 / 853 = 1200.5 */
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).src, 5);
	lb_packages(2, 125, V54);
	lb_queue(4, 2, 600);
	lb_queue(5, 2, 500);
	cpus[5].cpu_capacity = 854; /* 1199.06 */
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).src, 4);
}

/* Big CPUs, 7 > 0 + 1: avg 285, S 198: min(87 * 4096, 198 * 1784) / 1024 = 344 >= pt 162. CPU 4 has most, 300. */
TEST(a_lone_task_does_not_go_to_a_smaller_cpu)
{
	for (u32 asym = 0; asym < 2; asym++) {
		struct lb_report r;

		big_and_little(446);
		if (!asym)
			domains[0][1].flags &= ~(u32)FG_SD_ASYM_CPUCAPACITY;
		lb_queue(4, 1, 300);
		lb_queues(5, 7, 2, 140);
		r = lb_attempt(0, 1, FG_CPU_IDLE);
		CHECK_EQ(r.amount, 344);
		CHECK_EQ(r.src, asym ? 5 : 4);
		CHECK_EQ(r.moved, asym);
	}
}

/*
 * One task of 3000. Of a capacity of 500: avg 6144, 0, S 2015: min(4129 * 500, 2015 * 1024) / 1024 = 2015, and it is taken
 * all the same: active balance at once. Of 876, 876 * 117 > 1024 * 100, it is not: S 1616, min(1890 * 876, 1616 * 1024).
 */
TEST(a_lone_task_leaves_a_cpu_of_reduced_capacity)
{
	static const u32 capacity[] = { 500, 876 };

	for (u32 i = 0; i < 2; i++) {
		struct lb_report r;

		lb_singles(2, SD_MC, 117, V54);
		lb_with(FG_LB_P03);
		lb_queue(1, 1, 3000);
		cpus[1].cpu_capacity = capacity[i];
		domains[1][0].groups->capacity = capacity[i];
		CHECK_FORCED(look(0, 0, FG_CPU_NEWLY_IDLE), LOAD, i ? 1616 : 2015);
		r = lb_attempt(0, 0, FG_CPU_NEWLY_IDLE);
		CHECK_EQ(r.rule, i ? FG_BALANCE_RULE_NO_QUEUE : FG_BALANCE_RULE_LOAD);
		CHECK_EQ(r.active, !i);
	}
}

/* A misfit here, too, is one that the partition should know of; from 002/P04 on only those elsewhere are. */
TEST(a_local_misfit_counts)
{
	for (u32 p04 = 0; p04 < 2; p04++) {
		big_and_little(446);
		sys.feat.value[FG_LB_P04] = (u8)p04;
		lb_run(0, 600);
		cpus[0].misfit_task_load = 600;
		lb_attempt(1, 1, FG_CPU_IDLE);
		CHECK_EQ(root.overload, !p04);
		/* big CPUs see it either way */
		lb_attempt(4, 1, FG_CPU_IDLE);
		CHECK_EQ(root.overload, 1);
	}
}

/* O4 and O6 once more: without the forced small imbalances less moves, never more. */
TEST(p03_alone_moves_less)
{
	void (*const scene[])(void) = { o4, o6_heavy };
	static const u32 dst[] = { 1, 0 };
	u32 moved[2] = { 0, 0 };

	for (u32 p03 = 0; p03 < 2; p03++) {
		for (u32 i = 0; i < 2; i++) {
			scene[i]();
			sys.feat.value[FG_LB_P03] = (u8)p03;
			moved[p03] += lb_attempt(dst[i], 1, i ? FG_CPU_NOT_IDLE : FG_CPU_IDLE).moved;
		}
	}
	CHECK_EQ(moved[0], 2);
	CHECK_EQ(moved[1], 0);
}

/* P02 gives a count its right name, and that is all. */
TEST(p02_changes_nothing)
{
	o4();
	lb_with(FG_LB_P02);
	CHECK_FORCED(look(1, 1, FG_CPU_IDLE), NO_CAPACITY, 1024);
	o5(3);
	lb_with(FG_LB_P02);
	CHECK_FORCED(look(0, 1, FG_CPU_NOT_IDLE), IMBALANCED, 896);
}

int main(void)
{
	RUN(o1_the_idle_test_is_for_ticks_only);
	RUN(o2_a_small_imbalance_is_forced);
	RUN(o3_a_small_imbalance_is_refused);
	RUN(o4_siblings_share_tasks_whatever_they_weigh);
	RUN(o4_a_running_task_is_pushed_after_four_failures);
	RUN(o5_tasks_that_affinity_kept_together);
	RUN(o6_between_overloaded_groups_no_cpu_is_emptied);
	RUN(o6_heavy_tasks_count_as_one_a_cpu);
	RUN(o7_work_goes_to_the_preferred_cpu);
	RUN(o7_p01_misses_a_group_that_wins_by_type);
	RUN(n5_misfit_balance_moves_whoever_comes_first);
	RUN(n5_a_running_misfit_is_pushed_at_once);
	RUN(the_type_comes_before_the_load);
	RUN(a_group_is_overloaded_by_tasks_and_utilization);
	RUN(types_in_their_order);
	RUN(a_group_without_load_is_never_the_busiest);
	RUN(a_group_without_tasks_gives_nothing);
	RUN(misfits_that_nobody_here_can_help);
	RUN(bigger_cpus_keep_what_they_can_run);
	RUN(groups_of_unlike_cpus);
	RUN(bigger_cpus_that_are_overloaded_are_the_busiest);
	RUN(misfit_groups_compare_their_load_and_their_misfits);
	RUN(packing_empties_the_least_preferred_cpu_first);
	RUN(a_type_wins_without_being_asked_about_packing);
	RUN(p01_flags_whom_the_load_makes_the_busiest);
	RUN(packing_takes_all_the_load);
	RUN(energy_awareness_comes_before_everything);
	RUN(room_here_and_none_there_is_enough);
	RUN(the_excess_of_siblings_counts_from_two);
	RUN(the_local_group_carries_enough);
	RUN(imbalance_pct_for_all_but_ticks_on_idle_cpus);
	RUN(idle_cpus_for_ticks_on_idle_cpus);
	RUN(the_amount_is_what_the_nearer_side_lacks);
	RUN(above_limits_what_leaves_an_overloaded_group);
	RUN(a_misfit_wraps_the_amount);
	RUN(affinity_tells_little_of_the_load_of_a_task);
	RUN(a_small_imbalance_counts_once_or_twice);
	RUN(what_gets_done_is_for_the_capacity);
	RUN(an_empty_group_goes_by_dst);
	RUN(the_queue_of_the_biggest_misfit);
	RUN(tasks_of_all_classes_make_a_queue);
	RUN(a_queue_is_one_of_load);
	RUN(a_lone_task_does_not_go_to_a_smaller_cpu);
	RUN(a_lone_task_leaves_a_cpu_of_reduced_capacity);
	RUN(a_local_misfit_counts);
	RUN(p03_alone_moves_less);
	RUN(p02_changes_nothing);
	return test_report();
}
