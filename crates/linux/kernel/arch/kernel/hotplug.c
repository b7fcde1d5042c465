// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPUs that go offline and come back, in the order of kernel/cpu.c: what its states do for the scheduler, as the thread
 * cpuhp/N and the stopper would call it. Nothing else takes part, and it takes no time.
 */
#include "sim.h"

#ifdef KS_HAS_HOTPLUG_WAIT
/* Nobody waits: the host sees that the CPU idles. */
int rcuwait_wake_up(struct rcuwait *w)
{
	return 0;
}

/*
 * CPUHP_AP_ACTIVE. From now on balance_push() pushes each task that schedule() picks. The one that runs is rescheduled,
 * as if cpuhp/N had run in between.
 */
static int deactivate(int cpu)
{
	int error;

	set_cpu_dying(cpu, true);
	error = sched_cpu_deactivate(cpu);
	if (!error && !is_idle_task(current))
		set_tsk_need_resched(current);
	return error;
}

/* take_cpu_down(), which the stopper runs. The idle task is current, and again when it returns. */
static int die(int cpu)
{
	struct task_struct *stopper = ks_stopper_task(cpu);
	int error;

	wake_up_process(stopper);
	ks_switch();
	set_cpu_online(cpu, false);
	ks_leave_topology(cpu);
	error = sched_cpu_dying(cpu);
	ks_move_timers(cpu, cpumask_first(cpu_active_mask));
	ks_forget_tick(cpu);
	WRITE_ONCE(stopper->ks_state, TASK_INTERRUPTIBLE);
	ks_switch();
	return error;
}

static int activate(int cpu)
{
	set_cpu_dying(cpu, false);
	ks_join_topology(cpu);
	set_cpu_online(cpu, true);
	sched_cpu_starting(cpu);
	return sched_cpu_activate(cpu);
}

s32 ks_hotplug(s32 cpu, u32 step)
{
	int error;

	ks_enter(cpu);
	if (step == KS_HOTPLUG_DEACTIVATE)
		error = deactivate(cpu);
	else if (step == KS_HOTPLUG_DEAD)
		error = die(cpu);
	else
		error = activate(cpu);
	ks_leave();
	return error;
}
#else
s32 ks_hotplug(s32 cpu, u32 step)
{
	return -ENOSYS;
}
#endif
