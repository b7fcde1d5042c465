/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a CPU does besides fair tasks, as tracepoints tell it: idle states, RT and deadline tasks. And its clock, which the kernel's
 * schedutil sets.
 *
 * DEVIATION: an RT or deadline task that is moved while it is queued, or becomes one then, or was throttled, counts on the run queue from when it
 * gets the CPU.
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

/* ---- RT and deadline tasks -------------------------------------------------------------------------------------- */

#define CLASS_FAIR 0
#define CLASS_RT 1
#define CLASS_DEADLINE 2
#define CLASS_STOP 3 /* of each CPU one task: it takes no capacity */

static inline u32 class_of(struct task_struct *p, u32 cpu)
{
	const struct rq *rq;

	if (p->prio >= MAX_RT_PRIO)
		return CLASS_FAIR;
	if (p->prio < 0)
		return CLASS_DEADLINE;
	if (!KSYM_EXISTS(&runqueues))
		return CLASS_RT;
	rq = bpf_per_cpu_ptr(&runqueues, cpu);
	return rq && rq->stop == p ? CLASS_STOP : CLASS_RT;
}

/* The signals of RT and deadline tasks. had: whose class had the CPU until now. */
global_func u32 update_classes(RQ, u32 had)
{
	fg_update_rt(head()->sys, rq, had == CLASS_RT);
	fg_update_dl(head()->sys, rq, had == CLASS_DEADLINE);
	return 0;
}

/* A task of a class above the fair one joins rq. */
global_func u32 enqueue_above(RQ, SLOT, u32 class)
{
	t->fg.cpu = rq->id;
	rq->nr_running++;
	if (class == CLASS_RT) {
		t->flags |= LIVE_RT_QUEUED;
		fg_enqueue_rt(head()->sys, rq, &t->fg);
	} else {
		t->flags |= LIVE_ABOVE_QUEUED;
	}
	return 0;
}

global_func u32 dequeue_above(RQ, SLOT)
{
	if (!(t->flags & (LIVE_RT_QUEUED | LIVE_ABOVE_QUEUED)))
		return 0;
	rq->nr_running--;
	if (t->flags & LIVE_RT_QUEUED)
		fg_dequeue_rt(head()->sys, rq, &t->fg);
	t->flags &= ~(u32)(LIVE_RT_QUEUED | LIVE_ABOVE_QUEUED);
	return 0;
}

/* p, of a class above the fair one, is runnable on cpu. */
static inline void above_joins(struct task_struct *p, u32 cpu, u32 class)
{
	u64 *slot = bpf_task_storage_get(&task_slots, p, 0, 0);
	struct live_task *t;

	if (!slot || !*slot || cpu >= head()->sys->nr_cpus)
		return;
	t = STATE(*slot);
	if (t->flags & (LIVE_RT_QUEUED | LIVE_ABOVE_QUEUED))
		return;
	read_attributes(t, p);
	set_attributes(t);
	enqueue_above(cpu_rq(head()->sys, cpu), t, class);
}

/*
 * A dispatch charges the RT or deadline task that leaves: newidle_balance brings signals up to date as of a CPU without one, and lets
 * clock_pelt jump as that of an idle CPU.
 */
static inline void charge_above(struct live_cpu *c, struct fg_cpu *rq)
{
	u32 had;

	/* With core scheduling a CPU may pick for its sibling. */
	if ((u32)rq->id != bpf_get_smp_processor_id())
		return;
	had = class_of(bpf_get_current_task_btf(), (u32)rq->id);
	if (had == CLASS_FAIR)
		return;
	update_classes(rq, had);
	c->above_charged = 1;
}

/* prev, of class had, leaves cpu for next, of class gets. One of them is above the fair class. sleeps: prev is not runnable any more. */
static inline void above_switch(struct task_struct *prev, u32 had, u32 sleeps, struct task_struct *next, u32 gets, u32 cpu)
{
	struct fg_cpu *rq = cpu_rq(head()->sys, cpu);
	struct live_cpu *c = &head()->cpus[cpu];
	u64 *slot = bpf_task_storage_get(&task_slots, prev, 0, 0);

	update_clock(rq, bpf_ktime_get_ns());
	update_classes(rq, c->above_charged ? CLASS_FAIR : had);
	c->above_charged = 0;
	/* One that leaves the CPU to a fair task has used up its runtime. */
	if ((sleeps || gets == CLASS_FAIR) && slot && *slot)
		dequeue_above(rq, STATE(*slot));
	if (gets == CLASS_FAIR)
		return;
	above_joins(next, cpu, gets);
	/* Ticks of tasks above the fair class are not told. */
	c->ticked = 0;
}

/* ---- ticks of which ops.tick is not told ------------------------------------------------------------------------- */

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

/* The tick of a task above the fair class: task_tick_rt, task_tick_dl, and what every tick does. */
static inline void above_tick(struct task_struct *current, u32 cpu)
{
	struct fg_cpu *rq = cpu_rq(head()->sys, cpu);
	struct live_cpu *c = &head()->cpus[cpu];
	u64 now = bpf_ktime_get_ns();

	/* It may have changed its class on the CPU. */
	c->runs_above = 1;
	update_clock(rq, now);
	update_classes(rq, class_of(current, cpu));
	c->above_charged = 0;
	read_limits(rq);
	fg_update_thermal(head()->sys, rq);
	/* Its own passes are made when it leaves the CPU. */
	if (balance_due(c, rq, now))
		c->rebalance = 1;
}

/* Is this the tick? Of an idle CPU: the timer wheel's callbacks and ops follow. */
TRACEPOINT(hrtimer_expire_entry) int live_hrtimer_expire(unsigned long long *ctx)
{
	struct task_struct *current = bpf_get_current_task_btf();
	u32 cpu = bpf_get_smp_processor_id(), is_idle = !current->pid;
	const struct tick_sched *ts;
	struct live_cpu *c;
	u32 restarted;

	USES_ARENA;
	if ((!is_idle && current->prio >= MAX_RT_PRIO) || !KSYM_EXISTS(&tick_cpu_sched) || cpu >= head()->sys->nr_cpus)
		return 0;
	ts = bpf_this_cpu_ptr(&tick_cpu_sched);
	if ((u64)&ts->sched_timer != ctx[0])
		return 0;
	if (!is_idle) {
		above_tick(current, cpu);
		return 0;
	}
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

/* ---- idle CPUs, also in a bypass -------------------------------------------------------------------------------- */

/* rq, whose clock is up to date, runs its idle task from now on. */
static inline void goes_idle(struct live_cpu *c, struct fg_cpu *rq)
{
	read_limits(rq);
	enter_idle(rq);
	c->ticked = 0;
	c->idle_tick = LIVE_TICK_KEPT;
	c->tick_stopped = 0;
}

/*
 * Before the kernel has started the scheduler, and while the machine is suspended, it schedules by itself (bypass), and does not call
 * ops.update_idle. Else that comes before the switch, and there is nothing left to do.
 */
static inline void idle_switch(u32 cpu, u32 is_idle)
{
	struct fg_cpu *rq = cpu_rq(head()->sys, cpu);

	if (!!rq->curr_is_idle == is_idle)
		return;
	update_clock(rq, bpf_ktime_get_ns());
	if (is_idle)
		goes_idle(&head()->cpus[cpu], rq);
	else
		leave_idle(rq);
}

/* ---- switches and wakeups --------------------------------------------------------------------------------------- */

TRACEPOINT(sched_switch) int live_sched_switch(unsigned long long *ctx)
{
	struct task_struct *prev = TASK(ctx[1]), *next = TASK(ctx[2]);
	/* One that is preempted stays runnable whatever its state says. */
	u32 state = ctx[0] ? 0 : (u32)ctx[3];
	u32 cpu = bpf_get_smp_processor_id(), had, gets;

	USES_ARENA;
	if (head()->recorder)
		tell(LIVE_SWITCH, prev, next, state, BPF_RB_NO_WAKEUP);
	if (cpu >= head()->sys->nr_cpus)
		return 0;
	announce_pushed(&head()->cpus[cpu]);
	if (!prev->pid || !next->pid)
		idle_switch(cpu, !next->pid);
	had = class_of(prev, cpu);
	gets = class_of(next, cpu);
	head()->cpus[cpu].runs_above = gets != CLASS_FAIR;
	if (had == CLASS_FAIR && gets == CLASS_FAIR)
		head()->cpus[cpu].above_charged = 0;
	else
		above_switch(prev, had, state != 0, next, gets, cpu);
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
	u32 cpu = (u32)scx_bpf_task_cpu(p), class = class_of(p, cpu);

	if (head()->recorder)
		tell(kind, p, p, cpu, BPF_RB_NO_WAKEUP);
	if (class != CLASS_FAIR)
		above_joins(p, cpu, class);
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
