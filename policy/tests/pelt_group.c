/* SPDX-License-Identifier: GPL-2.0-only */
/* Signals of task groups: what joins and leaves a group's queue is known above it at once. */
#include "kit.h"

static struct fg_tg_cpu parts[FG_NR_CPUS];
static struct fg_tg tg;

/* Two CPUs and a group of weight 100. */
static void begin(void (*preset)(void))
{
	kit_init(2);
	preset();
	memset(parts, 0, sizeof(parts));
	tg = (struct fg_tg){ .cpus = parts, .shares = 1024 * 1024 };
	sys.tgs = &tg;
	sys.nr_tgs = 1;
	fg_tg_init(&sys, &tg);
	for (u32 cpu = 0; cpu < 2; cpu++) {
		cpus[cpu].clock = cpus[cpu].clock_task = cpus[cpu].clock_pelt = 1000000000;
		cpus[cpu].cfs.last_update = parts[cpu].avg.last_update = parts[cpu].entity.avg.last_update = 1000000000;
	}
}

static struct fg_task busy_task(void)
{
	struct fg_task p = { .tg = &tg, .weight = FG_NICE_0_LOAD, .flags = FG_TASK_MIGRATED };

	p.avg.util_avg = 600;
	p.avg.runnable_avg = 600;
	p.avg.load_avg = 600;
	return p;
}

static void check_joined_and_left(void (*preset)(void))
{
	struct fg_task p;

	begin(preset);
	p = busy_task();
	fg_enqueue_entity(&sys, &cpus[1], &p, FG_ENQUEUE_WAKEUP);
	CHECK_EQ(parts[1].avg.util_avg, 600);
	CHECK_EQ(parts[1].entity.avg.util_avg, 600);
	CHECK_EQ(cpus[1].cfs.util_avg, 600);
	CHECK_EQ(cpus[1].cfs.runnable_avg, 600);
	CHECK(cpus[1].cfs.load_avg > 0);

	fg_dequeue_entity(&sys, &cpus[1], &p, FG_DEQUEUE_MOVE);
	CHECK_EQ(parts[1].avg.util_avg, 0);
	CHECK_EQ(parts[1].entity.avg.util_avg, 0);
	CHECK_EQ(cpus[1].cfs.util_avg, 0);
	CHECK_EQ(cpus[1].cfs.runnable_avg, 0);
}

TEST(a_task_that_joins_or_leaves_a_group_is_known_to_the_cpu)
{
	check_joined_and_left(kit_preset_v59);
	check_joined_and_left(kit_preset_v511);
}

/* On 256 CPUs a group of weight 1 has 40 of a thousandth each: the kernel divides by 2, its least weight. */
TEST(the_whole_part_of_a_groups_weight_counts)
{
	struct fg_task e = { .weight = 2, .shares = 40 };

	CHECK_EQ(calc_delta_fair(1000, &e), 512000);
}

/* The CPU's part of a group's load is rounded to nothing long before the group's own is. */
TEST(an_idle_cpu_is_looked_after_while_a_group_has_blocked_load)
{
	begin(kit_preset_v59);
	cpus[1].has_blocked_load = 1;
	parts[1].avg.load_avg = 86;
	parts[1].avg.load_sum = 86ull * 47742;
	parts[1].contribution = 86;
	CHECK_EQ(fg_update_blocked_averages(&sys, &cpus[1]), 1);
	CHECK_EQ(cpus[1].has_blocked_load, 1);
}

int main(void)
{
	RUN(a_task_that_joins_or_leaves_a_group_is_known_to_the_cpu);
	RUN(the_whole_part_of_a_groups_weight_counts);
	RUN(an_idle_cpu_is_looked_after_while_a_group_has_blocked_load);
	return test_report();
}
