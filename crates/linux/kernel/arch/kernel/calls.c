// SPDX-License-Identifier: GPL-2.0-only
/* The functions that the host calls (struct ks_kernel of ks.h). */
#include "sim.h"
#include "read.h"
#include <linux/sched/nohz.h>
#include <generated/utsrelease.h>

/* do_idle() begins with nohz_run_idle_balance(). */
static void begin_idle(int cpu)
{
#ifdef KS_HAS_NOHZ_RUN_IDLE_BALANCE
	u32 look = ks_look_as(KS_WORK_GROUP_CPU);

	nohz_run_idle_balance(cpu);
	ks_look_as(look);
#endif
}

static s32 ks_schedule(s32 cpu)
{
	ks_enter(cpu);
	/* A task whose group is throttled leaves on its way to user mode (v6.18): it does not run on until the next interrupt. */
	do {
		ks_call(work, KS_WORK_PICK, 1);
		ks_switch();
	} while (ks_run_task_works());
	if (is_idle_task(current))
		begin_idle(cpu);
	ks_leave();
	if (is_idle_task(current))
		return KS_PICK_IDLE;
	return current == ks_stopper_task(cpu) ? KS_PICK_STOPPER : ks_task_number(current);
}

/* sched_yield() without its schedule(), which is the host's next call. */
static void ks_yield(s32 cpu)
{
	struct rq *rq;
	struct rq_flags rf;

	ks_enter(cpu);
	rq = this_rq();
	rq_lock_irqsave(rq, &rf);
	current->sched_class->yield_task(rq);
	rq_unlock_irqrestore(rq, &rf);
}

static void ks_tick(s32 cpu)
{
	ks_enter_irq(cpu);
	ks_call(work, KS_WORK_TICK, 1);
#ifdef KS_HAS_SCHED_TICK
	sched_tick();
#else
	scheduler_tick();
#endif
	ks_leave_irq();
}

/* ---- idle states (idle_get_state()) ------------------------------------------------------------------------------ */

static DEFINE_PER_CPU(struct cpuidle_state, idle_states);

static void ks_idle_enter(s32 cpu, u32 index, u64 exit_latency, u64 residency)
{
	struct cpuidle_state *state = per_cpu_ptr(&idle_states, cpu);

	ks_enter(cpu);
	state->exit_latency = div_u64(exit_latency, NSEC_PER_USEC);
	state->target_residency = div_u64(residency, NSEC_PER_USEC);
#ifdef KS_HAS_IDLE_STATE_NS
	state->exit_latency_ns = exit_latency;
	state->target_residency_ns = residency;
#endif
	sched_idle_set_state(state);
}

static void ks_idle_exit(s32 cpu)
{
	ks_enter(cpu);
	sched_idle_set_state(NULL);
}

static void ks_freq_scale(s32 cpu, u32 scale)
{
	ks_topology[cpu].freq_scale = scale;
}

static const struct ks_kernel kernel = {
	.size = sizeof(kernel),
	.abi = KS_ABI,
	.max_cpus = NR_CPUS,
	.hz = HZ,
#ifdef KS_HAS_HOTPLUG_WAIT
	.has_hotplug = 1,
#endif
	.release = UTS_RELEASE,
	.boot = ks_boot,
	.fork = ks_fork,
	.exec = ks_exec,
	.new_process = ks_new_process,
	.wake = ks_wake,
	.block = ks_block,
	.exit = ks_exit,
	.yield = ks_yield,
	.set_attr = ks_set_attr,
	.set_allowed = ks_set_allowed,
	.schedule = ks_schedule,
	.stopper = ks_stopper,
	.tick = ks_tick,
	.ipi = ks_ipi,
	.softirq = ks_softirq,
	.timer = ks_timer,
	.idle_enter = ks_idle_enter,
	.idle_exit = ks_idle_exit,
	.tick_stopped = ks_tick_stopped,
	.hotplug = ks_hotplug,
	.freq_scale = ks_freq_scale,
	.frequency_limits = ks_frequency_limits,
	.group_new = ks_group_new,
	.group_write = ks_group_write,
	.read_cpu = ks_read_cpu,
	.read_task = ks_read_task,
	.read = &ks_reader,
};

const struct ks_kernel *ks_kernel(void)
{
	return &kernel;
}
