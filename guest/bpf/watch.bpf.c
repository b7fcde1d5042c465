// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads the scheduler's state where a wakeup or fork is about to choose a CPU, and the choice where the task is put on
 * that CPU's queue: before any balancing can move it. The kernel's text is not touched.
 *
 *	wake	sched_waking, select_task_rq(), sched_wakeup on the chosen CPU
 *	fork	sched_process_fork, select_task_rq(), sched_wakeup_new
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "watch.h"

char LICENSE[] SEC("license") = "GPL";

extern const struct rq runqueues __ksym;

const volatile int nr_cpus = 8;
struct watch watch;

#define MAX_LEVELS 8

static void read_llc(struct sched_domain *sd, struct watch_cpu *to)
{
	for (int i = 0; i < MAX_LEVELS && sd; i++) {
		struct sched_domain_shared *shared = sd->shared;

		if (shared) {
			to->nr_idle_scan = shared->nr_idle_scan;
			to->nr_busy_cpus = shared->nr_busy_cpus.counter;
		}
		sd = sd->parent;
	}
}

static void read_cpu(int cpu, struct watch_cpu *to)
{
	struct rq *rq = (struct rq *)bpf_per_cpu_ptr(&runqueues, cpu);

	if (!rq)
		return;
	to->nr_running = rq->nr_running;
	to->load_avg = rq->cfs.avg.load_avg;
	to->util_avg = rq->cfs.avg.util_avg;
	to->avg_idle = rq->avg_idle;
	to->capacity = rq->cpu_capacity;
	to->nr_idle_scan = -1;
	read_llc(rq->sd, to);
}

static void read_state(struct task_struct *p, struct task_struct *waker)
{
	watch.when = bpf_ktime_get_ns();
	watch.waker_cpu = bpf_get_smp_processor_id();
	watch.recent_used_cpu = p->recent_used_cpu;
	watch.wakee_flips = p->wakee_flips;
	watch.waker_flips = waker->wakee_flips;
	watch.task_load = p->se.avg.load_avg;
	watch.task_util = p->se.avg.util_avg;
	for (int cpu = 0; cpu < WATCH_CPUS && cpu < nr_cpus; cpu++)
		read_cpu(cpu, &watch.cpus[cpu]);
}

static void placed(struct task_struct *p)
{
	watch.cpu = p->wake_cpu;
	watch.done = 1;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(waking, struct task_struct *p)
{
	if (watch.victim && p->pid == watch.victim && !watch.done)
		read_state(p, bpf_get_current_task_btf());
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(wakeup, struct task_struct *p)
{
	if (watch.victim && p->pid == watch.victim && !watch.done)
		placed(p);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(process_fork, struct task_struct *parent, struct task_struct *child)
{
	if (!watch.victim || parent->pid != watch.victim || watch.done)
		return 0;
	watch.child = child->pid;
	read_state(child, parent);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(wakeup_new, struct task_struct *p)
{
	if (watch.child && p->pid == watch.child && !watch.done)
		placed(p);
	return 0;
}
