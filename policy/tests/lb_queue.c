/* SPDX-License-Identifier: GPL-2.0-only */
/* The queue of the busiest group that is to give (spec 6.4). */
#include "lb_version.h"

/* Which CPU of 4 to 7 gives this kind. */
static s32 queue_for(u32 migration, s64 amount)
{
	struct fg_balance b = lb_find(0, 1, FG_CPU_IDLE);
	const struct fg_cpu *src;

	b.busiest = lb_top(0)->groups->next;
	b.migration = migration;
	b.imbalance = amount;
	src = find_busiest_queue(&sys, &b);
	return src ? src->id : -1;
}

TEST(the_queue_that_has_most_of_what_is_moved)
{
	lb_packages(2, 125, 507);
	for (u32 c = 4; c < 8; c++)
		lb_state(c, 2, 100 * c, 1000 - 100 * c);
	CHECK_EQ(queue_for(FG_MIGRATE_LOAD, 50), 7);
	CHECK_EQ(queue_for(FG_MIGRATE_UTIL, 50), 4);
	/* all have two: the first */
	CHECK_EQ(queue_for(FG_MIGRATE_TASK, 1), 4);
	cpus[5].h_nr_running = 3;
	CHECK_EQ(queue_for(FG_MIGRATE_TASK, 1), 5);
	CHECK_EQ(queue_for(FG_MIGRATE_MISFIT, 1), -1);
	cpus[6].misfit_task_load = 1;
	CHECK_EQ(queue_for(FG_MIGRATE_MISFIT, 1), 6);
	/* load for capacity: 400/512 against 700/1024 */
	cpus[4].cpu_capacity = 512;
	CHECK_EQ(queue_for(FG_MIGRATE_LOAD, 50), 4);
}

TEST(a_lone_task_with_too_much_load_is_no_source)
{
	lb_packages(2, 125, 612);
	lb_state(4, 1, 600, 600);
	lb_state(5, 2, 500, 500);
	CHECK_EQ(queue_for(FG_MIGRATE_LOAD, 599), 5);
	CHECK_EQ(queue_for(FG_MIGRATE_LOAD, 600), 4);
	/* unless its CPU has lost capacity */
	cpus[4].cpu_capacity = 819;
	CHECK_EQ(queue_for(FG_MIGRATE_LOAD, 599), 4);
	/* utilization of a lone task is none since v5.7 */
	CHECK_EQ(queue_for(FG_MIGRATE_UTIL, 1), 5);
	lb_version(506);
	CHECK_EQ(queue_for(FG_MIGRATE_UTIL, 1), 4);
}

TEST(waiting_counts_as_utilization_since_v65)
{
	lb_packages(2, 125, 605);
	lb_state(4, 2, 100, 300);
	lb_state(5, 2, 100, 200);
	cpus[5].cfs.runnable_avg = 400;
	CHECK_EQ(queue_for(FG_MIGRATE_UTIL, 1), 5);
	lb_version(603);
	CHECK_EQ(queue_for(FG_MIGRATE_UTIL, 1), 4);
}

TEST(blocked_load_alone_is_no_source_since_v514)
{
	lb_packages(2, 125, 513);
	lb_state(4, 0, 900, 0);
	lb_state(5, 2, 800, 0);
	CHECK_EQ(queue_for(FG_MIGRATE_LOAD, 500), 4);
	lb_version(514);
	CHECK_EQ(queue_for(FG_MIGRATE_LOAD, 500), 5);
	lb_state(5, 0, 800, 0);
	CHECK_EQ(queue_for(FG_MIGRATE_LOAD, 500), -1);
}

TEST(v54_takes_the_queue_of_the_misfit)
{
	struct fg_balance b;

	lb_packages(2, 125, 504);
	lb_state(4, 2, 100, 100);
	lb_state(5, 3, 100, 100);
	cpus[4].misfit_task_load = 7;
	cpus[4].queued.load_avg = 100;
	cpus[5].queued.load_avg = 900;
	b = lb_find(0, 1, FG_CPU_IDLE);
	b.busiest = lb_top(0)->groups->next;
	b.migration = FG_MIGRATE_LOAD;
	b.imbalance = 500;
	b.src_type = group_misfit_task;
	CHECK_EQ(find_busiest_queue(&sys, &b)->id, 4);
	b.src_type = group_overloaded;
	CHECK_EQ(find_busiest_queue(&sys, &b)->id, 5);
}

TEST(a_lone_task_does_not_go_to_a_cpu_that_is_not_bigger)
{
	lb_packages(2, 125, 513);
	lb_flags(1, FG_SD_ASYM_CPUCAPACITY, 0);
	lb_state(4, 1, 100, 100);
	cpus[0].cpu_capacity = 1000;
	CHECK_EQ(queue_for(FG_MIGRATE_TASK, 1), -1);
	cpus[4].cpu_capacity = 1000;
	CHECK_EQ(queue_for(FG_MIGRATE_TASK, 1), 4);
	/* v5.14: 5 % bigger: 1000 against 949 */
	lb_version(514);
	CHECK_EQ(queue_for(FG_MIGRATE_TASK, 1), -1);
	cpus[4].cpu_capacity = 949;
	CHECK_EQ(queue_for(FG_MIGRATE_TASK, 1), 4);
	cpus[4].cpu_capacity = 950;
	CHECK_EQ(queue_for(FG_MIGRATE_TASK, 1), -1);
	cpus[4].h_nr_running = 2;
	CHECK_EQ(queue_for(FG_MIGRATE_TASK, 1), 4);
}

TEST(a_preferred_cpu_keeps_its_lone_task_since_v516)
{
	lb_packages(2, 125, 515);
	lb_flags(1, FG_SD_ASYM_PACKING, 0);
	lb_state(1, 1, 100, 100);
	for (u32 version = 515; version <= 605; version += version == 516 ? 89 : 1) {
		struct fg_balance b;

		lb_version(version);
		b = lb_find(4, 1, FG_CPU_IDLE);
		b.busiest = lb_top(4)->groups->next;
		b.migration = FG_MIGRATE_TASK;
		CHECK_EQ(find_busiest_queue(&sys, &b) != 0, version == 515);
		/* v6.5: with a busy sibling it may be helped */
		mask_set(&cpus[1].core, 2);
		kit_busy(2);
		cpus[2].h_nr_running = 0;
		CHECK_EQ(find_busiest_queue(&sys, &b) != 0, version != 516);
		kit_idle(2);
		mask_clear(&cpus[1].core, 2);
	}
}

/* Two of the three tasks of CPU 4 sleep. */
TEST(delayed_sleepers_are_not_counted_since_v614)
{
	for (u8 on = 0; on < 2; on++) {
		lb_packages(2, 125, 612);
		sys.feat.value[FG_NR_RUNNABLE] = on;
		lb_state(4, 3, 100, 100);
		lb_state(5, 2, 100, 100);
		cpus[4].h_nr_delayed = 2;
		CHECK_EQ(queue_for(FG_MIGRATE_TASK, 1), on ? 5 : 4);
		/* all of its tasks: nothing to be pulled */
		cpus[4].h_nr_delayed = 3;
		lb_state(5, 0, 0, 0);
		CHECK_EQ(queue_for(FG_MIGRATE_LOAD, 200), on ? -1 : 4);
	}
}

/* CPUs 0 and 4 have 1024 both, so that the lone task would gain nothing. */
TEST(a_lone_task_beside_a_busy_sibling_may_go_since_v73)
{
	for (u8 on = 0; on < 2; on++) {
		lb_packages(2, 125, 612);
		sys.feat.value[FG_SRC_BUSY_CORE] = on;
		lb_flags(1, FG_SD_ASYM_CPUCAPACITY, 0);
		lb_state(4, 1, 100, 100);
		mask_set(&cpus[4].core, 5);
		sys.smt_key = 1;
		CHECK_EQ(queue_for(FG_MIGRATE_TASK, 1), -1);
		lb_run_rt(5);
		CHECK_EQ(queue_for(FG_MIGRATE_TASK, 1), on ? 4 : -1);
	}
}

TEST(a_lone_task_may_go_to_an_equal_cpu_where_there_are_clusters_since_v73)
{
	for (u8 on = 0; on < 2; on++) {
		lb_packages(2, 125, 612);
		sys.feat.value[FG_SRC_BUSY_CORE] = on;
		lb_flags(1, FG_SD_ASYM_CPUCAPACITY, 0);
		lb_state(4, 1, 100, 100);
		CHECK_EQ(queue_for(FG_MIGRATE_TASK, 1), -1);
		sys.cluster_key = 1;
		CHECK_EQ(queue_for(FG_MIGRATE_TASK, 1), on ? 4 : -1);
		/* nearly equal is not equal */
		kit_capacity(0, 0, 1023);
		CHECK_EQ(queue_for(FG_MIGRATE_TASK, 1), -1);
	}
}

int main(void)
{
	RUN(the_queue_that_has_most_of_what_is_moved);
	RUN(a_lone_task_with_too_much_load_is_no_source);
	RUN(waiting_counts_as_utilization_since_v65);
	RUN(blocked_load_alone_is_no_source_since_v514);
	RUN(v54_takes_the_queue_of_the_misfit);
	RUN(a_lone_task_does_not_go_to_a_cpu_that_is_not_bigger);
	RUN(a_preferred_cpu_keeps_its_lone_task_since_v516);
	RUN(delayed_sleepers_are_not_counted_since_v614);
	RUN(a_lone_task_beside_a_busy_sibling_may_go_since_v73);
	RUN(a_lone_task_may_go_to_an_equal_cpu_where_there_are_clusters_since_v73);
	return test_report();
}
