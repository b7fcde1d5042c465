/* SPDX-License-Identifier: GPL-2.0-only */
/* Two CPUs at one second, idle and without load, and a task group of weight 100, whose part on CPU 1 the tests look at. */
#ifndef FG_GROUP_KIT_H
#define FG_GROUP_KIT_H

#include "kit.h"

#define MS 1000000ull
#define START (1000 * MS)

static struct fg_tg_cpu parts[FG_NR_CPUS];
static struct fg_tg tg;
static struct fg_cpu *const rq = &cpus[1];
static struct fg_tg_cpu *const part = &parts[1];
static struct fg_task *const entity = &parts[1].entity;

static void begin(void (*preset)(void))
{
	kit_init(2);
	preset();
	sys.hz = 1000;
	memset(parts, 0, sizeof(parts));
	tg = (struct fg_tg){ .cpus = parts, .shares = 1024 * 1024 };
	sys.tgs = &tg;
	sys.nr_tgs = 1;
	fg_tg_init(&sys, &tg);
	for (u32 cpu = 0; cpu < 2; cpu++) {
		cpus[cpu].clock = cpus[cpu].clock_task = cpus[cpu].clock_pelt = START;
		cpus[cpu].cfs.last_update = parts[cpu].avg.last_update = parts[cpu].entity.avg.last_update = START;
	}
}

/* The same with a run queue of that kind. */
static void begin_rq(void (*preset)(void), u8 kind)
{
	begin(preset);
	sys.feat.value[FG_RQ] = kind;
}

/* A task of the group that comes from another CPU, with that load and utilization. */
static struct fg_task coming(u64 load, u64 util)
{
	struct fg_task p = { .tg = &tg, .weight = FG_NICE_0_LOAD, .flags = FG_TASK_MIGRATED };

	p.avg.load_avg = load;
	p.avg.runnable_avg = p.avg.util_avg = util;
	return p;
}

/* A task that slept here and has no load. */
static struct fg_task sleeper(void)
{
	struct fg_task p = coming(0, 0);

	p.flags = 0;
	p.avg.last_update = START;
	return p;
}

static void enqueue(struct fg_task *p)
{
	fg_enqueue_entity(&sys, rq, p, FG_ENQUEUE_WAKEUP);
}

#endif
