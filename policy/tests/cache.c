/* SPDX-License-Identifier: GPL-2.0-only */
/* sched-cache: epochs, counts, and the choice of a cache (spec-new 6.1, 6.2). */
#include "cache_kit.h"

#define MS 1000000ull
#define JIFFY (4 * MS)

/* The current task of cpu runs until then. */
static void run_until(u32 cpu, u64 now)
{
	cpus[cpu].clock = cpus[cpu].clock_task = now;
	fg_update_curr(&sys, &cpus[cpu], 0);
}

/* A task of a process that has run on cpu since 0. */
static struct fg_task *runs(u32 cpu, struct fg_process *of)
{
	struct fg_task *p = lb_run(cpu, 100);

	cpus[cpu].clock = cpus[cpu].clock_task = 0;
	p->exec_start = 0;
	p->process = of;
	return p;
}

static u32 invalid(u64 running, u32 threads, u32 tolerance)
{
	process[0].nr_running_avg = running;
	process[0].nr_threads = threads;
	sys.llc_balancing.aggr_tolerance = tolerance;
	return invalid_llc_nr(&sys, &process[0], &cpus[0]);
}

TEST(threads_are_too_many_for_the_cores_of_a_cache)
{
	cache_packages(2);
	cpus[0].sd_llc_size = 8;
	/* Vector 15: 6 * 1280 < 8 * 1024 < 8 * 1280 */
	CHECK_EQ(invalid(3, 4, 1), 0);
	CHECK_EQ(invalid(4, 5, 1), 1);
	/* 1 + (2 - 1) * 1 times as many */
	CHECK_EQ(invalid(6, 9, 2), 0);
	CHECK_EQ(invalid(7, 9, 2), 1);
	CHECK_EQ(invalid(0, 2, 0), 1);
	CHECK_EQ(invalid(99, 99, 99), 0);
	CHECK_EQ(invalid(1000000, 99, 100), 0);
	CHECK_EQ(invalid(0, 1, 100), 1);
	/* without SMT */
	sys.llc_balancing.smt_threads = 1;
	CHECK_EQ(invalid(6, 9, 1), 0);
	CHECK_EQ(invalid(7, 9, 1), 1);
}

/* HZ 250, epochs of two jiffies. An epoch ends once jiffies are beyond it. */
TEST(each_epoch_halves_what_a_cpu_has_run)
{
	cache_packages(2);
	runs(0, &process[0]);
	/* jiffy 1: the first epoch begins */
	run_until(0, 1 * JIFFY);
	CHECK_EQ(cpus[0].cpu_epoch, 1);
	CHECK_EQ(cpus[0].cpu_epoch_next, 2);
	CHECK_EQ(cache_time[0][0].epoch, 1);
	CHECK_EQ(cache_time[0][0].runtime, JIFFY);
	CHECK_EQ(cpus[0].cpu_runtime, JIFFY);
	run_until(0, 2 * JIFFY);
	CHECK_EQ(cpus[0].cpu_runtime, 2 * JIFFY);
	/* jiffy 7 is 5 beyond 2: three epochs; what ran meanwhile counts whole */
	run_until(0, 7 * JIFFY);
	CHECK_EQ(cpus[0].cpu_epoch, 4);
	CHECK_EQ(cpus[0].cpu_epoch_next, 8);
	CHECK_EQ(cpus[0].cpu_runtime, 2 * JIFFY / 8 + 5 * JIFFY);
	/* Another process has its own part of it, which knows of all epochs. */
	lb_task[0].process = &process[1];
	run_until(0, 8 * JIFFY);
	CHECK_EQ(cache_time[1][0].epoch, 4);
	CHECK_EQ(cache_time[1][0].runtime, JIFFY);
	CHECK_EQ(cache_time[0][0].runtime, 2 * JIFFY / 8 + 5 * JIFFY);
	CHECK_EQ(cpus[0].cpu_runtime, 2 * JIFFY / 8 + 6 * JIFFY);
	/* 64 epochs leave nothing. */
	run_until(0, 200 * JIFFY);
	CHECK_EQ(cpus[0].cpu_runtime, 192 * JIFFY);
}

TEST(a_running_task_takes_over_what_its_process_prefers)
{
	struct fg_task *p;

	cache_packages(2);
	p = runs(0, &process[0]);
	process[0].cpu = 6;
	process[0].epoch = 1;
	run_until(0, 1 * JIFFY);
	CHECK_EQ(p->preferred_llc, 4 + 1);
	CHECK_EQ(p->pref_llc_queued, 0);
	CHECK_EQ(llc_counts[0][4], 1);
	CHECK_EQ(cpus[0].nr_pref_llc_running, 0);
	process[0].cpu = 3;
	run_until(0, 2 * JIFFY);
	CHECK_EQ(p->preferred_llc, 0 + 1);
	CHECK_EQ(llc_counts[0][4], 0);
	CHECK_EQ(llc_counts[0][0], 1);
	CHECK_EQ(cpus[0].nr_pref_llc_running, 1);
	/* Epoch 6 is five after the last scan, epoch 7 is more. */
	run_until(0, 12 * JIFFY);
	CHECK_EQ(cpus[0].cpu_epoch, 6);
	CHECK_EQ(process[0].cpu, 3);
	run_until(0, 13 * JIFFY);
	CHECK_EQ(process[0].cpu, -1);
	CHECK_EQ(p->preferred_llc, 0);
	CHECK_EQ(llc_counts[0][0], 0);
	CHECK_EQ(cpus[0].nr_pref_llc_running, 0);
	/* Alone it prefers nothing. */
	process[0].cpu = 3;
	process[0].epoch = 7;
	process[0].nr_threads = 1;
	run_until(0, 14 * JIFFY);
	CHECK_EQ(process[0].cpu, -1);
}

TEST(without_several_caches_nobody_adds_up)
{
	cache_packages(2);
	sys.llc_balancing.active = 0;
	runs(0, &process[0]);
	process[0].cpu = 3;
	run_until(0, 9 * JIFFY);
	CHECK_EQ(cpus[0].cpu_epoch, 0);
	CHECK_EQ(cpus[0].cpu_runtime, 0);
	CHECK_EQ(lb_task[0].preferred_llc, 0);
}

TEST(who_is_queued_where_it_prefers_to_be_is_counted)
{
	struct fg_task *p;

	cache_packages(2);
	p = lb_wait(4, 100);
	cache_prefers(p, &process[0], 4);
	CHECK_EQ(cpus[4].nr_pref_llc_running, 1);
	CHECK_EQ(llc_counts[4][4], 1);
	lb_leave(p);
	CHECK_EQ(cpus[4].nr_pref_llc_running, 0);
	CHECK_EQ(llc_counts[4][4], 0);
	lb_enqueue(p, 1);
	CHECK_EQ(cpus[1].nr_pref_llc_running, 0);
	CHECK_EQ(llc_counts[1][4], 1);
	lb_leave(p);
	CHECK_EQ(llc_counts[1][4], 0);
}

/* A current task in debt falls asleep and stays queued. */
static struct fg_task *delayed(u32 runnable)
{
	struct fg_task *p, *other;

	cache_packages(2);
	if (!runnable)
		lb_without(FG_CACHE_RUNNABLE);
	other = lb_wait(4, 100);
	p = lb_run(4, 100);
	cache_prefers(p, &process[0], 4);
	cpus[4].fair.avg_vruntime += 1024 * (s64)MS;
	p->vruntime += MS;
	(void)other;
	fg_dequeue_entity(&sys, &cpus[4], p, FG_DEQUEUE_SLEEP);
	CHECK(p->flags & FG_TASK_DELAYED);
	return p;
}

TEST(a_delayed_sleeper_is_not_counted_with_cache_runnable)
{
	for (u32 runnable = 0; runnable < 2; runnable++) {
		struct fg_task *p = delayed(runnable);

		CHECK_EQ(cpus[4].nr_pref_llc_running, !runnable);
		CHECK_EQ(llc_counts[4][4], 1);
		fg_requeue_delayed(&sys, &cpus[4], p);
		CHECK_EQ(cpus[4].nr_pref_llc_running, 1);

		p = delayed(runnable);
		fg_dequeue_entity(&sys, &cpus[4], p, FG_DEQUEUE_SLEEP | FG_DEQUEUE_DELAYED);
		CHECK_EQ(cpus[4].nr_pref_llc_running, 0);
		CHECK_EQ(llc_counts[4][4], 0);
	}
}

TEST(the_first_tick_of_an_epoch_plans_a_scan)
{
	struct fg_task *p;

	cache_packages(2);
	p = runs(0, &process[0]);
	fg_entity_tick(&sys, &cpus[0], 0);
	CHECK(!(p->flags & FG_TASK_CACHE_WORK));
	run_until(0, 1 * JIFFY);
	fg_entity_tick(&sys, &cpus[0], 0);
	CHECK(p->flags & FG_TASK_CACHE_WORK);
	CHECK_EQ(process[0].epoch, 1);
	p->flags &= ~(u32)FG_TASK_CACHE_WORK;
	run_until(0, 2 * JIFFY);
	fg_entity_tick(&sys, &cpus[0], 0);
	CHECK(!(p->flags & FG_TASK_CACHE_WORK));
	/* While one is planned the epoch waits with it. */
	p->flags |= FG_TASK_CACHE_WORK;
	run_until(0, 3 * JIFFY);
	fg_entity_tick(&sys, &cpus[0], 0);
	CHECK_EQ(process[0].epoch, 1);
}

/* In epoch 9, of jiffies up to 18, the process has had this part of a CPU, in 1024ths. */
static void occupies(u32 cpu, u64 part)
{
	cpus[cpu].cpu_epoch = cache_time[0][cpu].epoch = 9;
	cpus[cpu].cpu_epoch_next = 18;
	cpus[cpu].cpu_runtime = 1024 * MS - 1;
	cache_time[0][cpu].runtime = part * MS;
}

static struct fg_task *scans(u32 cpu, u64 jiffies)
{
	struct fg_task *p = &lb_task[0];

	*p = kit_task(0, cpu);
	p->process = &process[0];
	p->flags = FG_TASK_CACHE_WORK;
	CHECK_EQ(fg_task_cache_work(&sys, p, jiffies), 1);
	CHECK(!(p->flags & FG_TASK_CACHE_WORK));
	CHECK_EQ(process[0].next_scan, jiffies + 2);
	return p;
}

TEST(the_cache_with_most_of_a_process_is_preferred)
{
	cache_packages(3);
	for (u32 c = 0; c < 12; c++)
		occupies(c, 0);
	occupies(1, 400);
	occupies(5, 200);
	occupies(6, 250);
	/* 450 against 400: the largest part of it is on CPU 6. */
	scans(0, 18);
	CHECK_EQ(process[0].cpu, 6);
	/* Twice as much is not more than twice as much. */
	occupies(9, 900);
	scans(0, 20);
	CHECK_EQ(process[0].cpu, 6);
	for (u32 c = 0; c < 12; c++)
		occupies(c, 0);
	occupies(5, 200);
	occupies(6, 250);
	occupies(8, 450);
	occupies(9, 451);
	process[0].next_scan = 0;
	scans(0, 18);
	CHECK_EQ(process[0].cpu, 9);
	CHECK_EQ(cpus[9].cpu_epoch, 9);
}

TEST(a_scan_ends_the_epochs_of_all_cpus)
{
	cache_packages(2);
	for (u32 c = 0; c < 8; c++)
		occupies(c, 0);
	occupies(2, 1024);
	/* Jiffy 21 is 3 beyond 18: two epochs. */
	scans(0, 21);
	CHECK_EQ(cpus[2].cpu_epoch, 11);
	CHECK_EQ(cpus[2].cpu_epoch_next, 22);
	CHECK_EQ(cache_time[0][2].runtime, 256 * MS);
	CHECK_EQ(cpus[2].cpu_runtime, (1024 * MS - 1) / 4);
	CHECK_EQ(process[0].cpu, 2);
}

TEST(running_threads_are_averaged_by_the_size_of_the_cache)
{
	static const struct {
		u32 size;
		u64 avg;
		u64 now;
	} cases[] = { { 4, 0, 1 }, { 8, 0, 1 }, { 24, 2, 2 }, { 64, 10, 9 }, { 4, 8, 5 } };

	for (u32 i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cache_packages(2);
		for (u32 c = 0; c < 3; c++) {
			lb_run(c, 100);
			lb_task[c].process = &process[0];
		}
		lb_task[2].flags |= FG_TASK_EXITING;
		sys.llc_balancing.aggr_tolerance = 100;
		process[0].nr_running_avg = cases[i].avg;
		cpus[7].sd_llc_size = cases[i].size;
		lb_task[3] = kit_task(3, 7);
		lb_task[3].process = &process[0];
		CHECK_EQ(fg_task_cache_work(&sys, &lb_task[3], 18), 1);
		/* two: avg + (2 - avg) / divisor, towards 0 */
		CHECK_EQ(process[0].nr_running_avg, cases[i].now);
	}
}

TEST(one_thread_scans_in_a_period)
{
	struct fg_task *p;

	cache_packages(2);
	p = scans(0, 18);
	p->flags |= FG_TASK_CACHE_WORK;
	CHECK_EQ(fg_task_cache_work(&sys, p, 19), 0);
	CHECK(!(p->flags & FG_TASK_CACHE_WORK));
	CHECK_EQ(process[0].next_scan, 20);
	p->flags |= FG_TASK_EXITING;
	CHECK_EQ(fg_task_cache_work(&sys, p, 20), 0);
	p->flags = 0;
	p->process = 0;
	CHECK_EQ(fg_task_cache_work(&sys, p, 20), 0);
	/* Too many: it looks no further. */
	p->process = &process[0];
	process[0].cpu = 5;
	process[0].nr_running_avg = 9;
	CHECK_EQ(fg_task_cache_work(&sys, p, 20), 0);
	CHECK_EQ(process[0].cpu, -1);
	CHECK_EQ(process[0].next_scan, 22);
	CHECK_EQ(process[0].nr_running_avg, 9);
}

int main(void)
{
	RUN(threads_are_too_many_for_the_cores_of_a_cache);
	RUN(each_epoch_halves_what_a_cpu_has_run);
	RUN(a_running_task_takes_over_what_its_process_prefers);
	RUN(without_several_caches_nobody_adds_up);
	RUN(who_is_queued_where_it_prefers_to_be_is_counted);
	RUN(a_delayed_sleeper_is_not_counted_with_cache_runnable);
	RUN(the_first_tick_of_an_epoch_plans_a_scan);
	RUN(the_cache_with_most_of_a_process_is_preferred);
	RUN(a_scan_ends_the_epochs_of_all_cpus);
	RUN(running_threads_are_averaged_by_the_size_of_the_cache);
	RUN(one_thread_scans_in_a_period);
	return test_report();
}
