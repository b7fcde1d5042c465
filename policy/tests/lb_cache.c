/* SPDX-License-Identifier: GPL-2.0-only */
/* sched-cache in balance passes (spec-new 6.3, 6.4). */
#include "cache_kit.h"

/* A task on CPU 0's cache and one on CPU 4's; utilization of the caches in %. */
static u32 move_to(u64 src, u64 dst, u32 to_preferred)
{
	cache_util(0, src);
	cache_util(4, dst);
	return can_migrate_llc(&sys, &cpus[0], &cpus[4], 0, to_preferred);
}

/* The table of spec-new 6.3: Y wanted, N forbidden, G free; rows 30, 40, 50, 60 % of the source, columns the same of dst. */
TEST(moves_between_caches_follow_the_table)
{
	static const char *to[] = { "YYNN", "YYNN", "YYGG", "YYGG" };
	static const char *from[] = { "NNNN", "NNNN", "YYGG", "YYGG" };
	static const u32 move[] = { ['Y'] = llc_move_wanted, ['N'] = llc_move_forbidden, ['G'] = llc_move_free };

	cache_packages(2);
	for (u32 src = 0; src < 4; src++) {
		for (u32 dst = 0; dst < 4; dst++) {
			CHECK_EQ(move_to(30 + 10 * src, 30 + 10 * dst, 1), move[(u8)to[src][dst]]);
			CHECK_EQ(move_to(30 + 10 * src, 30 + 10 * dst, 0), move[(u8)from[src][dst]]);
		}
	}
	/* 55 is less than 20 % more than 50. */
	CHECK_EQ(move_to(60, 55, 1), llc_move_free);
	CHECK_EQ(move_to(49, 55, 1), llc_move_wanted);
	CHECK_EQ(move_to(45, 55, 1), llc_move_forbidden);
	/* 55 is no more than 20 % more than 46. */
	CHECK_EQ(move_to(55, 46, 0), llc_move_forbidden);
	CHECK_EQ(move_to(55, 45, 0), llc_move_wanted);
}

/* Vector 14. */
TEST(moves_between_caches_near_the_borders_of_the_table)
{
	cache_packages(2);
	CHECK_EQ(move_to(30, 45, 1), llc_move_wanted);
	CHECK_EQ(move_to(30, 50, 1), llc_move_forbidden);
	CHECK_EQ(move_to(60, 55, 1), llc_move_free);
	CHECK_EQ(move_to(60, 30, 0), llc_move_wanted);
	CHECK_EQ(move_to(45, 10, 0), llc_move_forbidden);
	CHECK_EQ(move_to(60, 55, 0), llc_move_free);
}

TEST(without_smt_a_cache_has_more_room)
{
	cache_packages(2);
	CHECK_EQ(move_to(70, 70, 0), llc_move_free);
	sys.llc_balancing.smt_threads = 1;
	/* 75 % */
	CHECK_EQ(move_to(74, 30, 0), llc_move_forbidden);
	CHECK_EQ(move_to(75, 30, 0), llc_move_wanted);
	CHECK_EQ(move_to(75, 75, 0), llc_move_free);
}

TEST(the_task_counts_for_where_it_goes_and_not_for_where_it_leaves)
{
	cache_packages(2);
	cache_util(0, 55);
	cache_util(4, 45);
	CHECK_EQ(can_migrate_llc(&sys, &cpus[0], &cpus[4], 4, 1), llc_move_wanted);
	/* 49 and 51: nothing is clearly busier */
	CHECK_EQ(can_migrate_llc(&sys, &cpus[0], &cpus[4], 6, 1), llc_move_wanted);
	/* 40 and 60 */
	CHECK_EQ(can_migrate_llc(&sys, &cpus[0], &cpus[4], 15, 1), llc_move_forbidden);
	/* it has less than 0 of what it leaves */
	CHECK_EQ(can_migrate_llc(&sys, &cpus[0], &cpus[4], 99, 0), llc_move_forbidden);
	/* nothing is known of CPUs without a cache domain */
	cpus[4].llc = 0;
	CHECK_EQ(can_migrate_llc(&sys, &cpus[0], &cpus[4], 15, 1), llc_move_free);
}

/* Two tasks on CPU 4, none elsewhere, two on CPU 5; those that wait on 4 and run on 5 prefer CPU 0's cache. */
static void strangers(void)
{
	cache_packages(2);
	cache_util(0, 10);
	cache_util(4, 30);
	lb_run(4, 100);
	lb_wait(4, 100);
	lb_run(5, 100);
	lb_wait(5, 100);
	cache_prefers(&lb_task[1], &process[0], 0);
	cache_prefers(&lb_task[2], &process[0], 0);
}

TEST(tasks_that_prefer_the_cache_come_there_one_at_a_time)
{
	struct fg_balance b;
	struct lb_report r;

	strangers();
	b = lb_find(0, 1, FG_CPU_IDLE);
	CHECK_RULE(b, LLC);
	CHECK_AMOUNT(b, LLC, 1);
	CHECK_EQ(b.src_type, group_llc_balance);
	/* Both queues have one: the first. */
	CHECK_EQ(b.src_cpu, 4);
	r = lb_attempt(0, 1, FG_CPU_IDLE);
	CHECK_EQ(r.moved, 1);
	CHECK_EQ(r.id[0], 1);
	/* The one that waits on 5 prefers nothing, and the one that prefers runs: that is for the stopper. */
	r = lb_attempt(1, 1, FG_CPU_IDLE);
	CHECK_RULE(r, LLC);
	CHECK_EQ(r.src, 5);
	CHECK_EQ(r.moved, 0);
	CHECK_EQ(r.active, 1);
	/* A pass for the cache that finds nobody has failed. */
	CHECK_EQ(lb_top(1)->nr_balance_failed, 1);
	CHECK_EQ(cpus[5].push_llc, 1);
	CHECK_EQ(lb_stopper(5), 2);
}

TEST(a_busy_cpu_takes_nobody_for_the_caches_sake_unless_siblings_are_preferred)
{
	strangers();
	lb_run(0, 100);
	CHECK_RULE(lb_find(0, 1, FG_CPU_NOT_IDLE), LLC);
	lb_flags(0, 0, FG_SD_PREFER_SIBLING);
	lb_flags(1, 0, FG_SD_PREFER_SIBLING);
	for (u32 i = 0; i < nr_groups; i++)
		groups[i].flags &= ~(u32)FG_SD_PREFER_SIBLING;
	CHECK_RULE(lb_find(0, 1, FG_CPU_NOT_IDLE), DST_BUSY);
	/* Three idle CPUs to two are too few, four are not. */
	CHECK_RULE(lb_find(0, 1, FG_CPU_IDLE), IDLE_CPUS);
	lb_leave(&lb_task[4]);
	kit_idle(0);
	CHECK_RULE(lb_find(0, 1, FG_CPU_IDLE), LLC);
}

TEST(what_a_pass_leaves_of_the_caches_is_what_the_next_one_goes_by)
{
	strangers();
	cpus[4].llc->util_avg = cpus[4].llc->capacity = 0;
	cpus[0].llc->util_avg = cpus[0].llc->capacity = 0;
	lb_util(4, 5, 700);
	/* Newly idle it records nothing; a capacity of 0 has no room. */
	CHECK_RULE(lb_find(0, 1, FG_CPU_NEWLY_IDLE), SIBLING);
	CHECK_EQ(cpus[4].llc->util_avg, 0);
	/* The local cache is recorded before the other is looked at, that one after it. */
	CHECK_RULE(lb_find(0, 1, FG_CPU_IDLE), LLC);
	CHECK_EQ(cpus[4].llc->util_avg, 1400);
	CHECK_EQ(cpus[4].llc->capacity, 4096);
	CHECK_EQ(cpus[0].llc->util_avg, 0);
	CHECK_EQ(cpus[0].llc->capacity, 4096);
	/* A domain within a cache is none of caches. */
	cpus[4].llc->util_avg = 7;
	lb_find(4, 0, FG_CPU_IDLE);
	CHECK_EQ(cpus[4].llc->util_avg, 7);
}

TEST(the_group_with_most_who_prefer_the_cache_is_the_busiest)
{
	struct fg_balance b;

	cache_packages(3);
	for (u32 c = 0; c < 12; c += 4)
		cache_util(c, 10);
	lb_queues(4, 4, 3, 100);
	lb_queues(8, 8, 3, 100);
	cache_prefers(&lb_task[1], &process[0], 0);
	cache_prefers(&lb_task[4], &process[0], 0);
	cache_prefers(&lb_task[5], &process[0], 0);
	b = lb_find(0, 1, FG_CPU_IDLE);
	CHECK_RULE(b, LLC);
	CHECK_EQ(b.src_cpu, 8);
	/* More of the same is no reason, nor what prefers another cache. */
	cache_prefers(&lb_task[2], &process[0], 0);
	CHECK_EQ(lb_find(0, 1, FG_CPU_IDLE).src_cpu, 4);
	cache_prefers(&lb_task[2], &process[0], 8);
	CHECK_EQ(lb_find(0, 1, FG_CPU_IDLE).src_cpu, 8);
}

TEST(an_overloaded_group_and_one_that_failed_come_by_load)
{
	strangers();
	for (u32 failed = 0; failed < 4; failed++) {
		lb_top(0)->nr_balance_failed = failed;
		/* cache_nice_tries 1 */
		CHECK_EQ(lb_find(0, 1, FG_CPU_IDLE).src_type == group_llc_balance, failed < 2);
	}
	strangers();
	for (u32 c = 4; c < 8; c++)
		lb_wait(c, 100);
	lb_util(4, 7, 1024);
	CHECK_EQ(lb_find(0, 1, FG_CPU_IDLE).src_type, group_overloaded);
}

/* All of the four tasks on CPU 4 prefer to be there; CPU 0 would take two of them. */
static void settled(void)
{
	cache_packages(2);
	cache_util(0, 10);
	cache_util(4, 30);
	lb_queue(4, 4, 100);
	for (u32 i = 0; i < 4; i++)
		cache_prefers(&lb_task[i], &process[0], 4);
}

TEST(who_is_where_it_prefers_to_be_stays_and_that_is_no_failure)
{
	struct lb_report r;

	settled();
	for (u32 i = 0; i < 6; i++) {
		r = lb_attempt(0, 1, FG_CPU_IDLE);
		CHECK_RULE(r, SIBLING);
		CHECK_EQ(r.moved, 0);
		CHECK_EQ(r.active, 0);
		CHECK_EQ(lb_top(0)->nr_balance_failed, 0);
	}
	/* A failure for another reason counts, and two are enough. */
	lb_top(0)->nr_balance_failed = 2;
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).moved, 2);

	/* 60 % of the capacity, which the pass itself records. */
	settled();
	lb_util(4, 7, 614);
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).moved, 2);

	settled();
	process[0].nr_threads = 1;
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).moved, 2);
	CHECK_EQ(process[0].cpu, -1);
}

TEST(a_cache_that_is_neither_of_the_two_forbids_nothing)
{
	cache_packages(3);
	for (u32 c = 0; c < 12; c += 4)
		cache_util(c, 10);
	lb_queue(4, 4, 100);
	for (u32 i = 0; i < 4; i++)
		cache_prefers(&lb_task[i], &process[0], 8);
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).moved, 2);
}

/* The kind of a pass from CPU 4 to CPU 0 that moved nothing. */
static u32 starts_active_balance(u32 migration)
{
	struct fg_balance b;

	memset(&b, 0, sizeof(b));
	b.sd = lb_top(0);
	b.kind = FG_CPU_IDLE;
	fg_balance_begin(&sys, &b);
	b.src_cpu = 4;
	b.migration = migration;
	b.sd->nr_balance_failed = 5;
	return need_active_balance(&sys, &b);
}

TEST(a_running_task_stays_where_all_prefer_to_be)
{
	settled();
	CHECK_EQ(starts_active_balance(FG_MIGRATE_TASK), 0);
	CHECK_EQ(starts_active_balance(FG_MIGRATE_MISFIT), 1);
	/* Not all of them. */
	lb_wait(4, 100);
	CHECK_EQ(starts_active_balance(FG_MIGRATE_TASK), 1);
	/* The cache is clearly busier. */
	settled();
	cache_util(4, 60);
	CHECK_EQ(starts_active_balance(FG_MIGRATE_TASK), 1);
	/* The only task stays even then. */
	cache_packages(2);
	lb_run(4, 100);
	cache_prefers(&lb_task[0], &process[0], 4);
	cache_util(4, 60);
	CHECK_EQ(starts_active_balance(FG_MIGRATE_TASK), 0);
	sys.llc_balancing.active = 0;
	CHECK_EQ(starts_active_balance(FG_MIGRATE_TASK), 1);
}

TEST(the_stopper_takes_those_who_prefer_the_cache_with_cache_alb)
{
	for (u32 only = 0; only < 2; only++) {
		strangers();
		if (!only)
			lb_without(FG_CACHE_ALB);
		cache_prefers(&lb_task[1], &process[0], 4);
		CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).active, 1);
		CHECK_EQ(cpus[5].push_llc, only);
		/* 2 prefers, 3 comes first. */
		lb_order[3] = 0;
		CHECK_EQ(lb_stopper(5), only ? 2 : 3);
	}
}

/* CPUs 0 to 3 have half the capacity. A task of 600 waits on CPU 4 and prefers CPU 0's cache. */
static void small_cache(void)
{
	cache_packages(2);
	kit_capacity(0, 3, 512);
	for (struct fg_group *g = lb_top(0)->groups; g->max_capacity == 1024; g = g->next)
		g->min_capacity = g->max_capacity = mask_test(&g->span, 0) ? 512 : 1023;
	lb_flags(1, FG_SD_ASYM_CPUCAPACITY, 0);
	cache_util(0, 10);
	cache_util(4, 30);
	lb_run(4, 100);
	lb_wait(4, 100);
	lb_task_util(&lb_task[1], 600);
	lb_task[1].uclamp_max = 1024;
	cache_prefers(&lb_task[1], &process[0], 0);
}

TEST(a_task_that_a_cache_has_no_cpu_for_stays_with_cache_asym)
{
	for (u32 asym = 0; asym < 2; asym++) {
		small_cache();
		if (!asym)
			lb_without(FG_CACHE_ASYM);
		CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).moved, !asym);
	}
	/* It fits in neither of the two. */
	small_cache();
	kit_capacity(4, 7, 600);
	CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).moved, 1);
}

TEST(a_misfit_task_comes_before_the_cache)
{
	small_cache();
	lb_run(1, 100);
	cpus[1].misfit_task_load = 700;
	/* seen from a big CPU */
	cache_prefers(lb_wait(1, 100), &process[0], 4);
	CHECK_EQ(lb_find(5, 1, FG_CPU_IDLE).src_type, group_misfit_task);
	cpus[1].misfit_task_load = 0;
	CHECK_EQ(lb_find(5, 1, FG_CPU_IDLE).src_type, group_llc_balance);
}

TEST(asymmetric_packing_comes_first_with_cache_packing)
{
	for (u32 packing = 0; packing < 2; packing++) {
		strangers();
		lb_flags(1, FG_SD_ASYM_PACKING, 0);
		if (!packing)
			lb_without(FG_CACHE_PACKING);
		CHECK_EQ(lb_find(0, 1, FG_CPU_IDLE).src_type, packing ? group_asym_packing : group_llc_balance);

		settled();
		lb_flags(1, FG_SD_ASYM_PACKING, 0);
		if (!packing)
			lb_without(FG_CACHE_PACKING);
		CHECK_EQ(starts_active_balance(FG_MIGRATE_TASK), packing);
		lb_top(0)->nr_balance_failed = 0;
		CHECK_EQ(lb_attempt(0, 1, FG_CPU_IDLE).moved, packing ? 3 : 0);
	}
}

int main(void)
{
	RUN(moves_between_caches_follow_the_table);
	RUN(moves_between_caches_near_the_borders_of_the_table);
	RUN(without_smt_a_cache_has_more_room);
	RUN(the_task_counts_for_where_it_goes_and_not_for_where_it_leaves);
	RUN(tasks_that_prefer_the_cache_come_there_one_at_a_time);
	RUN(a_busy_cpu_takes_nobody_for_the_caches_sake_unless_siblings_are_preferred);
	RUN(what_a_pass_leaves_of_the_caches_is_what_the_next_one_goes_by);
	RUN(the_group_with_most_who_prefer_the_cache_is_the_busiest);
	RUN(an_overloaded_group_and_one_that_failed_come_by_load);
	RUN(who_is_where_it_prefers_to_be_stays_and_that_is_no_failure);
	RUN(a_cache_that_is_neither_of_the_two_forbids_nothing);
	RUN(a_running_task_stays_where_all_prefer_to_be);
	RUN(the_stopper_takes_those_who_prefer_the_cache_with_cache_alb);
	RUN(a_task_that_a_cache_has_no_cpu_for_stays_with_cache_asym);
	RUN(a_misfit_task_comes_before_the_cache);
	RUN(asymmetric_packing_comes_first_with_cache_packing);
	return test_report();
}
