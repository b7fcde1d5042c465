/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Attempts to balance a domain, played on the machines of kit.h with lists of tasks: lb_run() and lb_wait() put tasks on
 * CPUs, lb_attempt() does what fg.h says of a caller, and reports what was found and who moved.
 *
 * Signals are what the test says, they do not decay; from attempt to attempt a jiffy passes. All tasks are cold and may run
 * anywhere unless the test says otherwise.
 */
#ifndef FG_LB_KIT_H
#define FG_LB_KIT_H

#include "kit.h"

#define LB_TASKS 512

static struct fg_task lb_task[LB_TASKS];
/* When it came or was looked at: the least is looked at first. */
static u64 lb_order[LB_TASKS];
static u32 lb_looked[LB_TASKS]; /* in which round of the stopper, which looks at each task once */
static u32 lb_nr, lb_round;
static u64 lb_clock;
static u64 lb_jiffy; /* of the attempt */

/* After kit_init(). */
static void lb_reset(void)
{
	memset(lb_task, 0, sizeof(lb_task));
	memset(lb_looked, 0, sizeof(lb_looked));
	lb_nr = lb_round = 0;
	lb_clock = 0;
	lb_jiffy = 1000;
	/* No task ran lately. */
	for (u32 c = 0; c < sys.nr_cpus; c++)
		cpus[c].clock_task = FG_NSEC_PER_SEC;
}

static void lb_enqueue(struct fg_task *p, u32 cpu)
{
	p->cpu = (s32)cpu;
	fg_enqueue_entity(&sys, &cpus[cpu], p, 0);
	lb_order[p - lb_task] = ++lb_clock;
}

/* A task that waits on cpu, whose idle task is current until a task is set running. Ids count from 0. */
static struct fg_task *lb_wait(u32 cpu, u64 load)
{
	struct fg_task *p = &lb_task[lb_nr];

	*p = kit_task(lb_nr++, cpu);
	p->flags = FG_TASK_MIGRATED;
	p->avg.load_avg = load;
	lb_enqueue(p, cpu);
	return p;
}

static struct fg_task *lb_run(u32 cpu, u64 load)
{
	struct fg_task *p = lb_wait(cpu, load);
	struct fg_cpu *rq = &cpus[cpu];

	p->on_cpu = 1;
	rq->curr = p;
	rq->curr_is_idle = 0;
	rq->idle_stamp = 0;
	return p;
}

/* nr tasks of this load on cpu: the first runs, the others wait. */
static void lb_queue(u32 cpu, u32 nr, u64 load)
{
	for (u32 i = 0; i < nr; i++)
		i ? lb_wait(cpu, load) : lb_run(cpu, load);
}

/* The same on each of several CPUs. */
static void lb_queues(u32 first, u32 last, u32 nr, u64 load)
{
	for (u32 c = first; c <= last; c++)
		lb_queue(c, nr, load);
}

/* An RT task runs on cpu. */
static void lb_run_rt(u32 cpu)
{
	kit_busy(cpu);
	filler[cpu].policy = FG_SCHED_FIFO;
	cpus[cpu].h_nr_running = 0;
	cpus[cpu].rt_nr_running = 1;
	cpus[cpu].fair.load_weight = cpus[cpu].fair.sum_weight = 0;
}

static void lb_util(u32 first, u32 last, u64 util)
{
	for (u32 c = first; c <= last; c++)
		cpus[c].cfs.util_avg = util;
}

struct lb_report {
	u32 rule; /* FG_BALANCE_RULE_* */
	u32 migration; /* FG_MIGRATE_* */
	s64 amount; /* as found with src */
	s32 src; /* -1: none */
	u32 moved;
	u32 id[LB_TASKS]; /* of those who moved, in the order they were taken */
	s32 to[LB_TASKS];
	u32 active; /* the stopper of src is asked */
};

/* The task of cpu that is looked at next, -1: none is left. */
static s32 lb_next(s32 cpu)
{
	s32 next = -1;

	for (u32 i = 0; i < lb_nr; i++) {
		if (lb_task[i].cpu != cpu || !lb_task[i].on_rq || lb_looked[i] == lb_round)
			continue;
		if (next < 0 || lb_order[i] < lb_order[next])
			next = (s32)i;
	}
	return next;
}

static void lb_leave(struct fg_task *p)
{
	fg_dequeue_entity(&sys, &cpus[p->cpu], p, FG_DEQUEUE_MOVE);
}

static void lb_detach(struct fg_balance *b, struct lb_report *r)
{
	u32 first = r->moved;
	s32 i;

	lb_round++;
	fg_detach_begin(&sys, b);
	while ((i = lb_next(b->src_cpu)) >= 0 && fg_detach_more(&sys, b)) {
		if (fg_detach_task(&sys, b, &lb_task[i])) {
			lb_leave(&lb_task[i]);
			lb_task[i].cpu = -1;
			r->to[r->moved] = b->dst_cpu;
			r->id[r->moved++] = (u32)i;
		} else {
			lb_order[i] = ++lb_clock;
		}
	}
	for (u32 n = r->moved; n > first; n--)
		lb_enqueue(&lb_task[r->id[n - 1]], (u32)r->to[n - 1]);
}

/* 0: another CPU balances the domain. */
static u32 lb_find_and_detach(struct fg_balance *b, struct lb_report *r)
{
	u32 next = FG_LB_REDO;

	while (next != FG_LB_END) {
		if (next == FG_LB_REDO) {
			if (!fg_should_we_balance(&sys, b)) {
				fg_balance_not_ours(&sys, b);
				return 0;
			}
			if (!fg_find_busiest(&sys, b))
				return 1;
			r->amount = b->imbalance;
		}
		/* Asked once for a source: what is left of it after a round is looked at even if it is one task. */
		if (next == FG_LB_REDO && cpus[b->src_cpu].nr_running <= 1)
			return 1;
		lb_detach(b, r);
		next = fg_balance_next(&sys, b);
	}
	return 1;
}

/* cpu balances its domain of this level, 0 the lowest, once. kind: FG_CPU_*. */
static struct lb_report lb_attempt(u32 cpu, u32 level, u32 kind)
{
	struct lb_report r = { 0 };
	struct fg_balance b;

	memset(&b, 0xff, sizeof(b));
	b.sd = &domains[cpu][level];
	b.jiffies = ++lb_jiffy;
	b.this_cpu = (s32)cpu;
	b.kind = kind;
	fg_balance_begin(&sys, &b);
	if (lb_find_and_detach(&b, &r))
		r.active = fg_balance_end(&sys, &b);
	else
		b.rule = FG_BALANCE_RULE_NOT_OURS;
	r.rule = b.rule;
	r.migration = b.migration;
	r.src = b.src_cpu;
	CHECK_EQ(r.moved, b.moved);
	return r;
}

/* Runs the stopper of src. The task that it pushed away, -1: none. */
static s32 lb_stopper(u32 src)
{
	struct fg_balance b;
	s32 i, pushed = -1;

	memset(&b, 0xff, sizeof(b));
	b.jiffies = lb_jiffy;
	/* Itself is what runs now. */
	if (cpus[src].curr)
		cpus[src].curr->on_cpu = 0;
	cpus[src].curr = 0;
	if (fg_active_begin(&sys, &cpus[src], &b)) {
		lb_round++;
		while (pushed < 0 && (i = lb_next((s32)src)) >= 0) {
			lb_looked[i] = lb_round;
			if (!fg_can_migrate_task(&sys, &b, &lb_task[i]))
				continue;
			lb_leave(&lb_task[i]);
			lb_enqueue(&lb_task[i], (u32)b.dst_cpu);
			pushed = i;
		}
	}
	fg_active_end(&cpus[src], &b, pushed >= 0);
	return pushed;
}

#endif
