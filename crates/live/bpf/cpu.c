/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a CPU does besides fair tasks, as tracepoints tell it: idle states, and RT tasks. And its clock, which the kernel's
 * schedutil sets.
 *
 * DEVIATION: an RT task that was queued when it became one counts from its next wakeup on. Deadline tasks do not count at all.
 */

/* ---- clock ------------------------------------------------------------------------------------------------------ */

global_func u64 cpu_util_boost(RQ)
{
	return fg_cpu_util_boost(head()->sys, rq);
}

/*
 * The utilization of the fair tasks of rq, which is locked, for the kernel's schedutil: as cfs_rq_util_change does it. schedutil adds
 * clamps, RT tasks and its margin, as of the kernel that runs. again: also if it has not changed.
 *
 * DEVIATION: features of schedutil do nothing here, and a task that is back from I/O boosts no clock.
 */
static inline __attribute__((always_inline)) void tell_utilization(struct fg_cpu *rq, u32 again)
{
	struct live_cpu *c = &head()->cpus[(u32)rq->id];
	u32 util = (u32)min_u64(cpu_util_boost(rq), FG_CAPACITY_SCALE);

	if (util == c->told_util && !again)
		return;
	c->told_util = util;
	scx_bpf_cpuperf_set(rq->id, util);
}

TRACEPOINT(cpu_frequency) int live_cpu_frequency(unsigned long long *ctx)
{
	struct task_struct *current = bpf_get_current_task_btf();

	RETURN_UNLESS_RECORDED;
	tell(LIVE_FREQUENCY, current, current, ctx[1] << 32 | (u32)ctx[0], BPF_RB_NO_WAKEUP);
	return 0;
}

/* ---- idle states ------------------------------------------------------------------------------------------------ */

global_func u32 set_idle_state(RQ, struct fg_idle_state *state state_arg, u64 now)
{
	fg_set_idle_state(head()->sys, rq, state, now);
	return 0;
}

TRACEPOINT(cpu_idle) int live_cpu_idle(unsigned long long *ctx)
{
	struct task_struct *current = bpf_get_current_task_btf();
	u32 state = (u32)ctx[0], cpu = bpf_get_smp_processor_id();
	struct live_cpu *c;

	USES_ARENA;
	if (head()->recorder)
		tell(LIVE_IDLE, current, current, state, BPF_RB_NO_WAKEUP);
	c = &head()->cpus[cpu];
	/* An idle loop without cpuidle records no state for the scheduler. */
	if (!c->nr_idle_states)
		return 0;
	if (state >= c->nr_idle_states)
		state = LIVE_IDLE_STATES - 1;
	set_idle_state(cpu_rq(head()->sys, cpu), &c->idle_states[state & (LIVE_IDLE_STATES - 1)], bpf_ktime_get_ns());
	return 0;
}

/* ---- ticks of idle CPUs ----------------------------------------------------------------------------------------- */

/*
 * ops.tick is not called in idle. The kernel stops the tick of an idle CPU when its cpuidle governor says so; without cpuidle,
 * when it has come once. From then on it comes when a timer of the timer wheel is due.
 */
TRACEPOINT(tick_stop) int live_tick_stop(unsigned long long *ctx)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct live_cpu *c;

	USES_ARENA;
	/* A busy CPU may stop its tick as well (nohz_full). */
	if (!(u32)ctx[0] || bpf_get_current_task_btf()->pid || cpu >= head()->sys->nr_cpus)
		return 0;
	c = &head()->cpus[cpu];
	c->idle_tick = LIVE_TICK_CAME;
	/* Stopped once more after a pass has restarted it: the CPU left no new load behind. */
	if (c->tick_stopped)
		return 0;
	c->tick_stopped = 1;
	enter_nohz(cpu_rq(head()->sys, cpu));
	return 0;
}

/* Is this the tick, and the CPU idle? The timer wheel's callbacks and ops follow. */
TRACEPOINT(hrtimer_expire_entry) int live_idle_tick(unsigned long long *ctx)
{
	u32 cpu = bpf_get_smp_processor_id();
	const struct tick_sched *ts;
	struct live_cpu *c;
	u32 restarted;

	USES_ARENA;
	if (bpf_get_current_task_btf()->pid || !KSYM_EXISTS(&tick_cpu_sched) || cpu >= head()->sys->nr_cpus)
		return 0;
	ts = bpf_this_cpu_ptr(&tick_cpu_sched);
	if ((u64)&ts->sched_timer != ctx[0])
		return 0;
	c = &head()->cpus[cpu];
	restarted = c->idle_tick == LIVE_TICK_RESTARTED && !(ts->flags & TS_FLAG_STOPPED);
	c->idle_tick = LIVE_TICK_CAME;
	if (restarted)
		return 0;
	c->idle_ticks++;
	if (!idle_balance_due(cpu_rq(head()->sys, cpu), bpf_ktime_get_ns()))
		return 0;
	c->idle_passes++;
	c->rebalance = 1;
	scx_bpf_kick_cpu((s32)cpu, 0);
	return 0;
}

/* ---- RT tasks --------------------------------------------------------------------------------------------------- */

static inline u32 has_rt_prio(struct task_struct *p)
{
	return (u32)p->prio < MAX_RT_PRIO;
}

/* had: an RT task had the CPU until now. */
global_func u32 update_rt(RQ, u32 had)
{
	fg_update_rt(head()->sys, rq, had);
	return 0;
}

global_func u32 enqueue_rt(RQ, SLOT)
{
	t->flags |= LIVE_RT_QUEUED;
	t->fg.cpu = rq->id;
	rq->nr_running++;
	fg_enqueue_rt(head()->sys, rq, &t->fg);
	return 0;
}

global_func u32 dequeue_rt(RQ, SLOT)
{
	t->flags &= ~(u32)LIVE_RT_QUEUED;
	rq->nr_running--;
	fg_dequeue_rt(head()->sys, rq, &t->fg);
	return 0;
}

/* p woke up on cpu. */
static inline void rt_wakeup(struct task_struct *p, u32 cpu)
{
	u64 *slot = bpf_task_storage_get(&task_slots, p, 0, 0);
	struct live_task *t;

	if (!slot || !*slot || cpu >= head()->sys->nr_cpus)
		return;
	t = STATE(*slot);
	if (t->flags & LIVE_RT_QUEUED)
		return;
	read_attributes(t, p);
	set_attributes(t);
	enqueue_rt(cpu_rq(head()->sys, cpu), t);
}

/* p leaves its CPU, which next gets. sleeps: it is not runnable any more. */
static inline void rt_switch(struct task_struct *p, u32 sleeps)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct fg_cpu *rq = cpu_rq(head()->sys, cpu);
	u64 *slot = bpf_task_storage_get(&task_slots, p, 0, 0);
	struct live_task *t;

	update_clock(rq, bpf_ktime_get_ns());
	update_rt(rq, has_rt_prio(p));
	if (!sleeps || !slot || !*slot)
		return;
	t = STATE(*slot);
	if (t->flags & LIVE_RT_QUEUED)
		dequeue_rt(rq, t);
}

TRACEPOINT(sched_switch) int live_sched_switch(unsigned long long *ctx)
{
	struct task_struct *prev = TASK(ctx[1]), *next = TASK(ctx[2]);
	/* One that is preempted stays runnable whatever its state says. */
	u32 state = ctx[0] ? 0 : (u32)ctx[3];

	USES_ARENA;
	if (head()->recorder)
		tell(LIVE_SWITCH, prev, next, state, BPF_RB_NO_WAKEUP);
	if (has_rt_prio(prev) || has_rt_prio(next))
		rt_switch(prev, state != 0);
	/* Ticks of RT tasks are not told. */
	if (has_rt_prio(next))
		head()->cpus[bpf_get_smp_processor_id()].ticked = 0;
	return 0;
}

TRACEPOINT(sched_waking) int live_sched_waking(unsigned long long *ctx)
{
	RETURN_UNLESS_RECORDED;
	tell(LIVE_WAKING, TASK(ctx[0]), bpf_get_current_task_btf(), (u64)(u32)scx_bpf_task_cpu(TASK(ctx[0])),
	     BPF_RB_NO_WAKEUP);
	return 0;
}

static inline __attribute__((always_inline)) void woke_up(struct task_struct *p, u32 kind)
{
	u32 cpu = (u32)scx_bpf_task_cpu(p);

	if (head()->recorder)
		tell(kind, p, p, cpu, BPF_RB_NO_WAKEUP);
	if (has_rt_prio(p))
		rt_wakeup(p, cpu);
}

TRACEPOINT(sched_wakeup) int live_sched_wakeup(unsigned long long *ctx)
{
	USES_ARENA;
	woke_up(TASK(ctx[0]), LIVE_WAKEUP);
	return 0;
}

TRACEPOINT(sched_wakeup_new) int live_sched_wakeup_new(unsigned long long *ctx)
{
	USES_ARENA;
	woke_up(TASK(ctx[0]), LIVE_WAKEUP_NEW);
	return 0;
}
