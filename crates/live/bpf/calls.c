/* SPDX-License-Identifier: GPL-2.0-only */
/* The questions of policy/fg.h that the programs ask, each for the verifier a function of its own. */

#define RQ struct fg_cpu *rq state_arg
#define SLOT struct live_task *t state_arg
#define GROUP struct live_group *g state_arg
#define ALL_GROUPS (LIVE_GROUP_DEPTHS * LIVE_GROUPS)

/* ns that interrupts have had cpu for: irq_time_read. 0: the kernel does not account them. */
static inline u64 interrupt_time(u32 cpu)
{
	const struct irqtime *time;

	if (!KSYM_EXISTS(&cpu_irqtime))
		return 0;
	time = bpf_per_cpu_ptr(&cpu_irqtime, cpu);
	return time ? time->total : 0;
}

/*
 * update_rq_clock. The first call is for the time before the scheduler was there, in which nobody had the CPU.
 *
 * DEVIATION: time that a hypervisor takes is not taken off.
 */
global_func u32 update_clock(RQ, u64 now)
{
	u32 speed = scx_bpf_cpuperf_cur(rq->id), first = !rq->clock;
	u64 interrupts = interrupt_time((u32)rq->id);

	rq->freq_scale = speed ? speed : FG_CAPACITY_SCALE;
	if (first)
		rq->prev_irq_ns = interrupts;
	fg_update_rq_clock(head()->sys, rq, now, interrupts);
	if (first) {
		fg_update_rt(head()->sys, rq, 0);
		fg_update_dl(head()->sys, rq, 0);
	}
	return 0;
}

/* What a limit of its clock takes of the capacity of cpu now. 0: the kernel knows no such limit. */
static inline u32 limit_of(const unsigned long *pressure, u32 cpu)
{
	const unsigned long *here;

	if (!KSYM_EXISTS(pressure))
		return 0;
	here = bpf_per_cpu_ptr(pressure, cpu);
	return here ? (u32)*here : 0;
}

/* arch_scale_hw_pressure and cpufreq_get_pressure. DEVIATION: up to v6.9 cpufreq's limits counted where cooling set them, here all do. */
global_func u32 read_limits(RQ)
{
	rq->hw_pressure = limit_of(&hw_pressure, (u32)rq->id);
	rq->cpufreq_pressure = limit_of(&cpufreq_pressure, (u32)rq->id);
	rq->thermal_pressure = rq->hw_pressure > rq->cpufreq_pressure ? rq->hw_pressure : rq->cpufreq_pressure;
	return 0;
}

/* enum fg_pick_rule_id: why the current task should be replaced; 0: it need not. left: the leftmost, for CFS. */
global_func u32 charge(RQ, struct fg_task *left state_arg)
{
	return fg_update_curr(head()->sys, rq, left);
}

/* Words of 8 bytes, from one place of the arena to another. */
global_func u32 copy_words(u64 *to state_arg, const u64 *from state_arg, u32 words)
{
	for (u32 i = 0; can_loop(i, 1 << 20) && i < words; i++)
		to[i] = from[i];
	return 0;
}

#define TASK_WORDS (sizeof(struct fg_task) / sizeof(u64))

/* A placement asks about task groups, which are in no copy. */
static inline u32 is_grouped(const struct live_cpu *c, const struct live_task *t)
{
	return t->fg.tg || (c->wake.current && c->wake.current->tg);
}

/*
 * What the placement of t with c->wake is decided on, into the next slot of c: c->recorded. 0: nobody records, or no slot is
 * free.
 */
global_func u32 record_state(struct live_cpu *c state_arg, SLOT)
{
	struct live_head *h = head();
	struct live_decision *d = c->slot;

	c->recorded = 0;
	if (!h->recorder || !h->records_state || is_grouped(c, t))
		return 0;
	if (!d || d->taken) {
		c->lost_decisions++;
		return 0;
	}
	for (u32 i = 0; can_loop(i, 1 << 16) && i < h->nr_runs; i++) {
		const struct live_run *run = &h->runs[i];

		copy_words(STATE(d->machine + run->offset), STATE(h->machine + run->offset), run->words);
	}
	copy_words((u64 *)&d->task, (const u64 *)&t->fg, TASK_WORDS);
	d->wake.now = c->wake.now;
	d->wake.this_cpu = c->wake.this_cpu;
	d->wake.flags = c->wake.flags;
	d->wake.current = 0;
	if (c->wake.current) {
		copy_words((u64 *)&d->current, (const u64 *)c->wake.current, TASK_WORDS);
		d->wake.current = &d->current;
	}
	d->taken = 1;
	c->slot = d->next;
	c->recorded = d;
	return 1;
}

/* The CPU for p: select_task_rq. flags: FG_WF_*. */
global_func s32 place(SLOT, s32 prev, u32 this_cpu, u32 flags, u64 now)
{
	struct fg_sys *sys = head()->sys;
	struct live_cpu *c = &head()->cpus[this_cpu];
	struct fg_cpu *rq = cpu_rq(sys, this_cpu);
	struct fg_wake *w = &c->wake;
	struct fg_verdict *v = &c->verdict;
	struct fg_task *p = &t->fg;

	/* Where its averages are is not for the kernel to say. */
	if (is_detached(&t->fg))
		t->fg.cpu = prev;
	w->current = fair_curr(rq);
	w->now = now;
	w->this_cpu = (s32)this_cpu;
	w->flags = flags;
	w->why = 0;
	/* What is recorded is what is decided on: a copy, for the state may be just changing. */
	if (record_state(c, t)) {
		struct live_decision *d = c->recorded;

		sys = d->sys;
		p = &d->task;
		w = &d->wake;
	}
	fg_select_task_rq(sys, p, w, v);
	if (c->recorded)
		c->recorded->verdict = *v;
	if (v->rule < LIVE_RULES)
		c->placed[v->rule]++;
	c->migrations += v->cpu != prev;
	return v->cpu;
}

/* What the choice just made leaves behind. took: ns. DEVIATION: all of the choice counts as its scan of the cache. */
global_func u32 commit(SLOT, u32 this_cpu, u64 took)
{
	struct fg_sys *sys = head()->sys;
	struct live_cpu *c = &head()->cpus[this_cpu];

	fg_commit_writes(sys, &t->fg, fair_curr(cpu_rq(sys, this_cpu)), &c->wake, &c->verdict);
	fg_commit_scan(sys, &c->wake, &c->verdict, took);
	c->deciding += took;
	return 0;
}

/* A child starts behind its parent on the parent's CPU. */
global_func u32 fork_on(SLOT, u32 this_cpu)
{
	fg_task_fork(head()->sys, cpu_rq(head()->sys, this_cpu), &t->fg);
	return 0;
}

/* It leaves the averages of the CPU where it slept. now: ns. */
global_func u32 leave_behind(SLOT, u64 now)
{
	const struct fg_sys *sys = head()->sys;
	struct fg_cpu *old = cpu_rq(sys, (u32)t->fg.cpu);

	fg_migrate_task(sys, old, &t->fg);
	fg_migrate_lag(sys, old, &t->fg, now);
	return 0;
}

global_func u32 start_utilization(RQ, SLOT)
{
	fg_post_init_util(head()->sys, rq, &t->fg);
	return 0;
}

global_func u32 enqueue_entity(RQ, SLOT, u32 flags)
{
	fg_enqueue_entity(head()->sys, rq, &t->fg, flags);
	return 0;
}

global_func u32 dequeue_entity(RQ, SLOT, u32 flags)
{
	fg_dequeue_entity(head()->sys, rq, &t->fg, flags);
	return 0;
}

global_func u32 update_min_vruntime(RQ, struct fg_task *left state_arg)
{
	fg_update_min_vruntime(head()->sys, rq, left);
	return 0;
}

global_func u32 set_next_entity(RQ, SLOT)
{
	fg_set_next_entity(head()->sys, rq, &t->fg, 1);
	return 0;
}

/*
 * DEVIATION: the next task is not known here, so that groups that it is in as well are put back, and get the CPU anew. Their averages are
 * updated once more by that.
 */
global_func u32 put_prev_entity(RQ, SLOT)
{
	struct fg_tg *tg = t->fg.tg;

	fg_put_prev_entity(head()->sys, rq, &t->fg);
	for (u32 i = 0; can_loop(i, LIVE_GROUP_DEPTHS) && tg; i++) {
		fg_tg_put_prev(head()->sys, rq, tg);
		tg = tg->parent;
	}
	return 0;
}

global_func u32 entity_tick(RQ, struct fg_task *left state_arg)
{
	return fg_entity_tick(head()->sys, rq, left);
}

/* enum fg_pick_rule_id: whether t, about to be queued, preempts the current task. first: as of fg_check_preempt_wakeup(). */
global_func u32 check_preempt(RQ, SLOT, struct fg_task *first state_arg, u32 flags)
{
	return fg_check_preempt_wakeup(head()->sys, rq, &t->fg, first, flags);
}

/* The task to run, in next of the CPU's live_cpu, and why. 0: there is none. */
global_func u32 pick(RQ)
{
	struct live_cpu *c = &head()->cpus[(u32)rq->id];
	struct fg_pick how = { 0 };

	c->next = fg_pick_entity(head()->sys, rq, c->first, c->second, &how);
	if (c->next && how.rule < LIVE_PICK_RULES)
		c->picked[how.rule]++;
	c->pick_rule = how.rule;
	return c->next != 0;
}

global_func u32 yield_current(RQ)
{
	fg_yield(head()->sys, rq);
	return 0;
}

static inline void update_clamps(struct live_task *t)
{
	fg_uclamp_update(head()->sys, cpu_rq(head()->sys, (u32)t->fg.cpu), &t->fg, t->has_group_clamps ? &t->group_clamps : 0);
}

global_func u32 set_clamps(SLOT)
{
	update_clamps(t);
	return 0;
}

/* What follows from the attributes that t has now. */
global_func u32 set_attributes(SLOT)
{
	update_clamps(t);
	fg_set_max_allowed_capacity(head()->sys, &t->fg);
	fg_set_load_weight(&t->fg);
	return 0;
}

global_func u32 reweight(RQ, SLOT)
{
	fg_reweight_task(head()->sys, rq, &t->fg);
	return 0;
}

/* Guards the set of CPUs without tick, and the numbers of busy CPUs. An arena has no atomic operations on CPUs without LSE. */
struct bpf_spin_lock nohz_lock SEC(".data.nohz_lock");

global_func u32 enter_idle(RQ)
{
	struct fg_sys *sys = head()->sys;

	rq->curr_is_idle = 1;
	rq->idle_calls++;
	fg_set_next_idle(sys, rq);
	fg_update_idle_core(sys, rq);
	return 0;
}

/* Its tick was stopped, which counts until the next tick of a busy CPU, as in the kernel. */
global_func u32 enter_nohz(RQ)
{
	struct fg_sys *sys = head()->sys;

	bpf_spin_lock(&nohz_lock);
	fg_nohz_balance_enter_idle(sys, rq);
	bpf_spin_unlock(&nohz_lock);
	return 0;
}

/* Of a CPU that is busy when its tick comes. */
global_func u32 exit_nohz(RQ)
{
	struct fg_sys *sys = head()->sys;

	bpf_spin_lock(&nohz_lock);
	fg_nohz_balance_exit_idle(sys, rq);
	bpf_spin_unlock(&nohz_lock);
	return 0;
}

global_func u32 leave_idle(RQ)
{
	fg_wake_from_idle(head()->sys, rq);
	fg_put_prev_idle(head()->sys, rq);
	rq->curr_is_idle = 0;
	return 0;
}
