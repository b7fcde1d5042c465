/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * find_idlest_group up to v5.4 and under 002/P09 and P10 (spec 5.2), with the vectors F1 and FIG_WRAP of spec 11.1, and
 * against a second writing of it.
 */
#include "kit.h"

/* Groups of four CPUs under a package, pct 125: loads may differ by 256 or 12 %. Nothing loaded. */
static void groups_of_four(u32 nr, u32 flags)
{
	kit_init(4 * nr);
	kit_preset_v54();
	kit_level(FG_LEVEL_MC, SD_MC, 117, 4);
	kit_level(FG_LEVEL_PKG, flags, 125, 4 * nr);
	kit_finish();
}

/* Loads of group g for its capacity of 4096: four times the average. */
static void load(u32 g, u64 queued, u64 all)
{
	cpus[4 * g].queued.load_avg = 4 * queued;
	cpus[4 * g].cfs.load_avg = 4 * all;
}

/* The most room on a CPU of group g. */
static void spare(u32 g, u32 room)
{
	for (u32 c = 4 * g; c < 4 * g + 4; c++)
		cpus[c].cfs.util_avg = 1024 - (c % 4 == 2 ? room : room / 2);
}

/* The group that p, asked for on CPU 0, is sent to: 0, the local one, if it stays. */
static s32 choice(const struct fg_task *p, u32 flag)
{
	struct fg_verdict v = { 0 };
	struct fg_wake w = { 0 };
	const struct fg_group *g;
	struct select_ctx s;

	memset(&s, 0, sizeof(s));
	s.sys = &sys;
	s.p = p;
	s.w = &w;
	s.v = &v;
	s.util_avg = p->avg.util_avg;
	g = find_idlest_group(&s, kit_top(0), 0, flag);
	CHECK_EQ(v.group_cpus % 4, 0);
	return g ? g->balance_cpu / 4 : 0;
}

static s32 fork_to(void)
{
	struct fg_task p = kit_task(1, 0);

	p.flags = FG_TASK_NEW;
	return choice(&p, FG_SD_BALANCE_FORK);
}

/* An exec of a task that uses util of CPU 0. */
static s32 exec_to(u32 util)
{
	struct fg_task p = kit_task(1, 0);
	s32 to;

	p.on_rq = 1;
	p.avg.util_avg = util;
	cpus[0].cfs.util_avg += util;
	to = choice(&p, FG_SD_BALANCE_EXEC);
	cpus[0].cfs.util_avg -= util;
	return to;
}

static void patches(u32 p09, u32 p10, u32 p11)
{
	sys.feat.value[FG_LB_P09] = (u8)p09;
	sys.feat.value[FG_LB_P10] = (u8)p10;
	sys.feat.value[FG_LB_P11] = (u8)p11;
}

TEST(f1_fork)
{
	groups_of_four(2, SD_DEFAULT);
	/* the parent runs: 1000 queued, 4000 in all; elsewhere three tasks of 1000, nothing blocked */
	kit_busy(0);
	cpus[0].queued.load_avg = 1000;
	cpus[0].cfs.load_avg = 4000;
	kit_busy_range(4, 6);
	for (u32 c = 4; c < 7; c++)
		cpus[c].queued.load_avg = cpus[c].cfs.load_avg = 1000;
	/* 250/1000 against 750/750: 750 > 250 + 256 */
	CHECK_EQ(fork_to(), 0);
	/* 750 >= 1256 false, 100000 < 84000 false */
	patches(1, 0, 0);
	CHECK_EQ(fork_to(), 1);
	patches(1, 1, 0);
	CHECK_EQ(fork_to(), 1);
	/* by type: three idle CPUs against one */
	patches(1, 1, 1);
	CHECK_EQ(fork_to(), 0);
}

TEST(f1_exec)
{
	groups_of_four(2, SD_DEFAULT);
	for (u32 p10 = 0; p10 < 2; p10++) {
		patches(p10, p10, 0);
		/* 112 * 1000 > 100 * 1024; 112 * 900 = 100800 is not. The load has nothing to say. */
		load(0, 0, 0);
		load(1, 5000, 5000);
		spare(0, 1000);
		CHECK_EQ(exec_to(200), 0);
		spare(0, 900);
		CHECK_EQ(exec_to(200), 1);
		/* 112 * 915 = 102480 */
		spare(0, 915);
		CHECK_EQ(exec_to(200), 0);
		spare(0, 914);
		CHECK_EQ(exec_to(200), 1);
	}
}

/* Room is room only if it holds half the utilization. */
TEST(room_counts_from_half_the_utilization_on)
{
	groups_of_four(2, SD_DEFAULT);
	load(0, 5000, 5000);
	spare(0, 501);
	spare(1, 440);
	/* 501 > 1000 / 2 and 112 * 501 > 44000: stays, whatever the load */
	CHECK_EQ(exec_to(1000), 0);
	spare(0, 500);
	CHECK_EQ(exec_to(1000), 1);
	load(0, 0, 0);
	load(1, 5000, 5000);
	/* neither has room: by load */
	CHECK_EQ(exec_to(1000), 0);
	spare(1, 500);
	CHECK_EQ(exec_to(1000), 0);
	spare(0, 0);
	spare(1, 501);
	CHECK_EQ(exec_to(1000), 1);
	/* the utilization of a child is unknown */
	CHECK_EQ(fork_to(), 0);
}

TEST(the_roomiest_group_wins_and_the_first_of_equals)
{
	groups_of_four(4, SD_DEFAULT);
	spare(0, 100);
	spare(1, 700);
	spare(2, 701);
	spare(3, 701);
	CHECK_EQ(exec_to(100), 2);
	/* capacity, not size: RT tasks have taken most of the roomiest */
	for (u32 c = 8; c < 12; c++)
		cpus[c].cpu_capacity = 900;
	CHECK_EQ(exec_to(100), 3);
	/* and what the estimates expect */
	for (u32 c = 12; c < 16; c++)
		cpus[c].est_enqueued = 500;
	CHECK_EQ(exec_to(100), 1);
}

TEST(clearly_less_queued_or_as_much_and_less_blocked)
{
	groups_of_four(4, SD_DEFAULT);
	load(0, 50000, 500000);
	load(1, 1000, 2000);
	load(2, 743, 9000);
	load(3, 90000, 0);
	/* 1000 > 743 + 256 */
	CHECK_EQ(fork_to(), 2);
	load(2, 744, 9000);
	CHECK_EQ(fork_to(), 1);
	/* similar: 744 < 1256, 100 * 2000 > 112 * 1785 */
	load(2, 744, 1785);
	CHECK_EQ(fork_to(), 2);
	load(2, 744, 1786);
	CHECK_EQ(fork_to(), 1);
	/* 100 * 2800 > 112 * 2500 is not */
	load(1, 1000, 2800);
	load(2, 744, 2500);
	CHECK_EQ(fork_to(), 1);
	load(1, 1000, 2000);
	/* similar from above as well: 1255 < 1256 */
	load(2, 1255, 1785);
	CHECK_EQ(fork_to(), 2);
	load(2, 1256, 1785);
	CHECK_EQ(fork_to(), 1);
	/* the first one's queue stays the measure: 1200 < 1000 + 256, not < 900 + 256; its blocked load does not */
	load(2, 900, 1700);
	load(3, 1200, 1500);
	CHECK_EQ(fork_to(), 3);
	load(3, 1200, 1600);
	CHECK_EQ(fork_to(), 2);
}

TEST(p10_takes_the_least_load)
{
	groups_of_four(4, SD_DEFAULT);
	load(0, 0, 5000);
	load(1, 0, 1000);
	load(2, 0, 990);
	load(3, 0, 990);
	/* two metrics that are the same: 100 * 1000 > 112 * 990 false */
	patches(1, 0, 0);
	CHECK_EQ(fork_to(), 1);
	patches(1, 1, 0);
	CHECK_EQ(fork_to(), 2);
}

TEST(the_local_group_keeps_what_is_not_clearly_better_elsewhere)
{
	groups_of_four(2, SD_DEFAULT);
	/* more queued there by more than 256 */
	load(0, 1000, 90000);
	load(1, 1256, 1);
	CHECK_EQ(fork_to(), 1);
	load(1, 1257, 1);
	CHECK_EQ(fork_to(), 0);
	/* similar, and less in all here: 100 * 1119 < 112 * 1000 */
	load(0, 1255, 1119);
	load(1, 1000, 1000);
	CHECK_EQ(fork_to(), 0);
	load(0, 1255, 1120);
	CHECK_EQ(fork_to(), 1);
	load(0, 1256, 0);
	CHECK_EQ(fork_to(), 1);
	/* P10, one load: 100 * 1119 < 112 * 1000 */
	patches(1, 1, 0);
	load(0, 0, 1119);
	CHECK_EQ(fork_to(), 0);
	load(0, 0, 1120);
	CHECK_EQ(fork_to(), 1);
}

TEST(nodes_are_left_for_a_clear_gain_only)
{
	for (u32 p10 = 0; p10 < 2; p10++) {
		groups_of_four(2, SD_NUMA);
		patches(p10, p10, 0);
		load(0, 1256, 1256);
		load(1, 1000, 1000);
		CHECK_EQ(fork_to(), 0);
		load(0, 1257, 1257);
		CHECK_EQ(fork_to(), 1);
	}
}

/* imb + an infinite local load is imb - 1 */
TEST(fig_wrap)
{
	struct fg_task p;
	struct fg_verdict v;

	groups_of_four(2, SD_DEFAULT);
	p = kit_task(1, 0);
	p.flags = FG_TASK_NEW;
	kit_allow(&p, 4, 7);
	load(1, 255, 255);
	CHECK_EQ(choice(&p, FG_SD_BALANCE_FORK), 1);
	load(1, 256, 256);
	CHECK_EQ(choice(&p, FG_SD_BALANCE_FORK), 0);
	/* the walk then ends on the caller's CPU, which is not allowed */
	v = kit_wake(&p, 0, FG_WF_FORK);
	CHECK_EQ(v.rule, FG_RULE_FALLBACK);
	CHECK_EQ(v.cpu, 4);
	/* without the quirk: to where it may go */
	sys.feat.value[FG_FIG_WRAP] = 0;
	CHECK_EQ(choice(&p, FG_SD_BALANCE_FORK), 1);
	v = kit_wake(&p, 0, FG_WF_FORK);
	CHECK_EQ(v.rule, FG_RULE_FORK_IDLEST);
	/* P10: at 255 already */
	patches(1, 1, 0);
	load(1, 0, 255);
	CHECK_EQ(choice(&p, FG_SD_BALANCE_FORK), 1);
	sys.feat.value[FG_FIG_WRAP] = 1;
	CHECK_EQ(choice(&p, FG_SD_BALANCE_FORK), 0);
	load(1, 0, 254);
	CHECK_EQ(choice(&p, FG_SD_BALANCE_FORK), 1);
	/* between nodes likewise: there is no infinite load that a gain would have to exceed */
	kit_top(0)->flags |= FG_SD_NUMA;
	CHECK_EQ(choice(&p, FG_SD_BALANCE_FORK), 1);
	/* room decides before that, and the local group has none */
	load(1, 0, 9000);
	p.avg.util_avg = 100;
	CHECK_EQ(choice(&p, FG_SD_BALANCE_EXEC), 1);
}

TEST(nowhere_else_to_go)
{
	struct fg_task p;

	groups_of_four(2, SD_DEFAULT);
	load(0, 9000, 9000);
	p = kit_task(1, 0);
	kit_allow(&p, 0, 3);
	CHECK_EQ(choice(&p, FG_SD_BALANCE_FORK), 0);
	spare(0, 0);
	CHECK_EQ(choice(&p, FG_SD_BALANCE_EXEC), 0);
}

/* A group that has half the capacity is twice as loaded. */
TEST(loads_are_for_the_capacity)
{
	groups_of_four(2, SD_DEFAULT);
	load(0, 1000, 1000);
	load(1, 600, 600);
	CHECK_EQ(fork_to(), 1);
	kit_top(0)->groups->next->capacity = 2048;
	CHECK_EQ(fork_to(), 0);
}

/* ---- the same written once more, group by group with infinite and signed numbers ---- */

#define INF ((__int128)1 << 100)

static u64 seed = 7;

static u32 rnd(u32 n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)(seed >> 33) % n;
}

static __int128 plain_spare(const struct fg_task *p, u32 c)
{
	__int128 util = cpus[c].cfs.util_avg, est = cpus[c].est_enqueued;
	u32 own = ((p->est.enqueued > p->est.ewma ? p->est.enqueued : p->est.ewma) | 1);

	if (p->cpu == (s32)c && p->flags == 0) {
		util = util > (__int128)p->avg.util_avg ? util - p->avg.util_avg : 0;
		if (p->on_rq)
			est = est > own ? est - own : 0;
	}
	if (est > util)
		util = est;
	if (util > cpus[c].cpu_capacity_orig)
		util = cpus[c].cpu_capacity_orig;
	return cpus[c].cpu_capacity > util ? cpus[c].cpu_capacity - util : 0;
}

static s32 plain_choice(const struct fg_task *p, u32 nr, u32 fork)
{
	u32 p09 = sys.feat.value[FG_LB_P09], p10 = sys.feat.value[FG_LB_P10], wrap = sys.feat.value[FG_FIG_WRAP];
	u32 numa = kit_top(0)->flags & FG_SD_NUMA, pct = kit_top(0)->imbalance_pct;
	__int128 imb = 1024 * (pct - 100) / 100, scale = 100 + (pct - 100) / 2;
	__int128 r[4] = { 0 }, l[4] = { 0 }, room[4] = { 0 }, rmin = INF, lmin = INF, rl = INF, ll = INF, most = 0;
	s32 idlest = 0, roomiest = 0;

	for (u32 g = 0; g < nr; g++) {
		__int128 capacity = 0;
		u32 allowed = 0;

		for (u32 c = 4 * g; c < 4 * g + 4; c++) {
			__int128 free = plain_spare(p, c);

			r[g] += p09 ? cpus[c].cfs.load_avg : cpus[c].queued.load_avg;
			l[g] += cpus[c].cfs.load_avg;
			capacity += cpus[c].cpu_capacity;
			if (free > room[g])
				room[g] = free;
			allowed |= p->allowed.bits[0] >> c & 1;
		}
		r[g] = r[g] * 1024 / capacity;
		l[g] = l[g] * 1024 / capacity;
		if (!allowed) {
			room[g] = 0;
			continue;
		}
		if (g == 0) {
			rl = r[0];
			ll = l[0];
			continue;
		}
		if (p10) {
			if (l[g] < rmin) {
				rmin = lmin = l[g];
				idlest = (s32)g;
			}
		} else if (rmin > r[g] + imb) {
			rmin = r[g];
			lmin = l[g];
			idlest = (s32)g;
		} else if (r[g] < rmin + imb && 100 * lmin > scale * l[g]) {
			lmin = l[g];
			idlest = (s32)g;
		}
		if (room[g] > most) {
			most = room[g];
			roomiest = (s32)g;
		}
	}
	if (!fork) {
		__int128 half = p->avg.util_avg / 2;

		if (room[0] > half && scale * room[0] > 100 * most)
			return 0;
		if (most > half)
			return roomiest;
	}
	if (!idlest || (numa && rmin + imb >= rl))
		return 0;
	if (wrap && rl == INF) {
		if (p10 ? rmin >= imb - 1 : rmin > imb - 1)
			return 0;
	} else if (p10 ? rmin >= rl + imb : rmin > rl + imb) {
		return 0;
	}
	if (rl < rmin + imb && 100 * ll < scale * lmin)
		return 0;
	return idlest;
}

TEST(random_groups_choose_as_the_second_writing_does)
{
	static const u32 pcts[] = { 110, 117, 125 };
	static const u32 scales[] = { 300, 1200, 4000 };
	u32 left = 0;

	for (u32 i = 0; i < 20000; i++) {
		u32 nr = 2 + rnd(3), fork = rnd(2), p09 = rnd(2), range = scales[rnd(3)];
		struct fg_task p;
		s32 want;

		kit_init(4 * nr);
		kit_preset_v54();
		for (u32 c = 0; c < 4 * nr; c++)
			kit_capacity(c, c, rnd(3) ? 1024 : 300 + rnd(500));
		kit_level(FG_LEVEL_MC, SD_MC, 117, 4);
		kit_level(FG_LEVEL_PKG, rnd(3) ? SD_DEFAULT : SD_NUMA, pcts[rnd(3)], 4 * nr);
		kit_finish();
		patches(p09, p09 && rnd(2), 0);
		sys.feat.value[FG_FIG_WRAP] = (u8)rnd(2);
		for (u32 c = 0; c < 4 * nr; c++) {
			cpus[c].queued.load_avg = rnd(range);
			cpus[c].cfs.load_avg = cpus[c].queued.load_avg + (rnd(2) ? rnd(range) : 0);
			cpus[c].cfs.util_avg = rnd(1100);
			cpus[c].est_enqueued = rnd(1100);
		}
		p = kit_task(1, rnd(4 * nr));
		p.on_rq = (u8)rnd(2);
		p.flags = fork ? FG_TASK_NEW : rnd(4) == 0 ? FG_TASK_MIGRATED : 0;
		kit_util(&p, rnd(1024));
		if (rnd(2))
			kit_allow(&p, rnd(4 * nr), 4 * nr - 1);
		want = plain_choice(&p, nr, fork);
		CHECK_EQ(choice(&p, fork     ? FG_SD_BALANCE_FORK
				    : rnd(2) ? FG_SD_BALANCE_EXEC
					     : FG_SD_BALANCE_WAKE),
			 want);
		left += want != 0;
		if (test_bad)
			return;
	}
	/* both answers are common */
	CHECK(left > 4000 && left < 16000);
}

int main(void)
{
	RUN(f1_fork);
	RUN(f1_exec);
	RUN(room_counts_from_half_the_utilization_on);
	RUN(the_roomiest_group_wins_and_the_first_of_equals);
	RUN(clearly_less_queued_or_as_much_and_less_blocked);
	RUN(p10_takes_the_least_load);
	RUN(the_local_group_keeps_what_is_not_clearly_better_elsewhere);
	RUN(nodes_are_left_for_a_clear_gain_only);
	RUN(fig_wrap);
	RUN(nowhere_else_to_go);
	RUN(loads_are_for_the_capacity);
	RUN(random_groups_choose_as_the_second_writing_does);
	return test_report();
}
