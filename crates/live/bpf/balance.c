/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The balance passes of policy/fg.h in the kernel. They run in ops.dispatch, which is where sched_ext lets a CPU take
 * tasks from the queues of others:
 *
 *	newly idle	nothing is left in the CPU's own queue
 *	periodic	the tick found a domain due: it ends the slice, or kicks the idle CPU, so that it comes to its dispatch
 *	NOHZ		the tick of a busy CPU kicks an idle one, whose dispatch makes the round
 *	active		the source is kicked; its current task is put back into the queue of the target
 *
 * A task that moves goes into the queue of the target, which is marked (live_cpu.incoming) and kicked. The target's
 * dispatch takes it: the kernel then locks the run queues one after the other, and the averages move along (live_migrate_task).
 *
 * DEVIATION: the source's run queue is not locked while it is looked at, and its signals are as of its last event. Tasks are
 * looked at in the order of their queue, not in that in which they ran. A target that is busy takes a moved task at its next
 * tick, and that task runs before those that wait there.
 */

/* A task on its way to another CPU: of its queue, but still accounted where it was. */
static inline u32 is_incoming(const struct live_task *t, u32 cpu)
{
	return (u32)t->fg.cpu != cpu;
}

/* Whether p may change its CPU. The kernel disables that for the current task while it calls a program. */
static inline u32 may_migrate(struct task_struct *p)
{
	u32 own = p == bpf_get_current_task_btf() ? head()->own_disable : 0;

	return p->migration_disabled <= own;
}

/* Tasks were moved to dst. kicks: also if this is dst, which does not come to its dispatch by itself. */
static inline void announce(u32 dst, u32 kicks)
{
	head()->cpus[dst].incoming = 1;
	cpu_rq(head()->sys, dst)->ttwu_pending = 1;
	if (kicks || dst != bpf_get_smp_processor_id())
		scx_bpf_kick_cpu((s32)dst, 0);
}

/*
 * The kernel puts a task into the queue of another CPU when ops.enqueue has returned. A CPU that is told before may look too early, and
 * nobody tells it again: so it is told by the switch that follows.
 */
static inline void announce_pushed(struct live_cpu *c)
{
	u32 dst = c->pushed_to - 1;

	if (!c->pushed_to)
		return;
	c->pushed_to = 0;
	if (dst < head()->sys->nr_cpus)
		announce(dst, 1);
}

#define INCOMING_NONE 0
#define INCOMING_TAKEN 1
#define INCOMING_STAYS 2 /* there is one, but it could not be taken */

/* Takes a task that was moved to cpu, which runs next: INCOMING_*. */
static noinline u32 take_incoming(u32 cpu)
{
	struct bpf_iter_scx_dsq it;
	u32 taken = INCOMING_NONE;

	for_each_queued(p, cpu, it)
	{
		struct live_task *t = slot_of(p);

		if (!t || !is_incoming(t, cpu))
			continue;
		taken = move_to_local(&it, p) ? INCOMING_TAKEN : INCOMING_STAYS;
		if (taken == INCOMING_TAKEN)
			break;
	}
	bpf_iter_scx_dsq_destroy(&it);
	return taken;
}

global_func u32 find_busiest(struct fg_balance *b state_arg)
{
	return fg_find_busiest(head()->sys, b);
}

/* 1: t, which may change its CPU, is to be moved; counted as taken. */
global_func u32 detach_task(struct fg_balance *b state_arg, SLOT)
{
	return fg_detach_task(head()->sys, b, &t->fg);
}

/* detach_tasks, from the queue of b->src_cpu to that of b->dst_cpu. How many. */
global_func u32 detach_tasks(struct fg_balance *b state_arg)
{
	const struct fg_sys *sys = head()->sys;
	u32 src = (u32)b->src_cpu, dst = (u32)b->dst_cpu, before = b->moved;
	struct bpf_iter_scx_dsq it;

	fg_detach_begin(sys, b);
	for_each_queued(p, src, it)
	{
		struct live_task *t;

		if (!fg_detach_more(sys, b))
			break;
		t = slot_of(p);
		if (!t || is_incoming(t, src) || !may_migrate(p) || !detach_task(b, t))
			continue;
		/* Another CPU may have taken it in between. DEVIATION: what it counted for stays taken off the imbalance. */
		if (!move_to_queue(&it, p, dst)) {
			b->moved--;
			b->batch--;
		}
	}
	bpf_iter_scx_dsq_destroy(&it);
	/* The loop counts nothing itself: the verifier would follow each turn. */
	if (b->moved != before)
		announce(dst, 0);
	return b->moved - before;
}

/* Batch by batch until the source is done with: FG_LB_*. */
global_func u32 move_tasks(struct fg_balance *b state_arg)
{
	const struct fg_sys *sys = head()->sys;

	if (!valid_cpu(sys, b->src_cpu) || cpu_rq(sys, (u32)b->src_cpu)->nr_running <= 1)
		return FG_LB_END;
	for (u32 i = 0; can_loop(i, FG_NR_CPUS); i++) {
		u32 next;

		detach_tasks(b);
		next = fg_balance_next(sys, b);
		if (next != FG_LB_MORE)
			return next;
	}
	return FG_LB_END;
}

/* The end of an attempt: if it failed too often, the source is to push a task to the target. */
global_func u32 end_balance(struct fg_balance *b state_arg)
{
	const struct fg_sys *sys = head()->sys;
	u32 active = fg_balance_end(sys, b);

	if (active && valid_cpu(sys, b->src_cpu))
		scx_bpf_kick_cpu(b->src_cpu, SCX_KICK_PREEMPT);
	return active;
}

#define ATTEMPT_OURS 1 /* it was for this CPU to balance the domain */
#define ATTEMPT_MOVED 2

/* load_balance of sd on behalf of cpu: ATTEMPT_*. */
global_func u32 load_balance(struct live_cpu *c state_arg, struct fg_domain *sd state_arg, s32 cpu, u32 kind)
{
	struct fg_sys *sys = head()->sys;
	struct fg_balance *b = &c->balance;

	b->sd = sd;
	b->jiffies = c->walk.jiffies;
	b->this_cpu = cpu;
	b->kind = kind;
	c->attempts[kind & 3]++;
	fg_balance_begin(sys, b);
	for (u32 i = 0, found = 0; can_loop(i, FG_NR_CPUS); i++) {
		u32 before = b->moved, active;

		if (!fg_should_we_balance(sys, b)) {
			fg_balance_not_ours(sys, b);
			return b->moved ? ATTEMPT_MOVED : 0;
		}
		if (!find_busiest(b)) {
			end_balance(b);
			break;
		}
		c->found[kind & 3] += !found;
		found = 1;
		note_source(c, b, kind, sd->level);
		if (move_tasks(b) == FG_LB_REDO) {
			tell_pass(c, b->moved - before, 0);
			continue;
		}
		active = end_balance(b);
		tell_pass(c, b->moved - before, active);
		break;
	}
	return ATTEMPT_OURS | (b->moved ? ATTEMPT_MOVED : 0);
}

/* update_blocked_averages */
global_func u32 update_blocked(RQ, u64 jiffies)
{
	u32 left;

	read_limits(rq);
	left = fg_update_blocked_averages(head()->sys, rq);
	rq->last_blocked = jiffies;
	return left;
}

/* rebalance_domains on behalf of cpu, with c->walk. */
global_func u32 rebalance_domains(struct live_cpu *c state_arg, s32 cpu, u32 kind)
{
	struct fg_sys *sys = head()->sys;
	struct fg_cpu *rq = cpu_rq(sys, (u32)cpu);
	struct fg_balance_walk *w = &c->walk;
	struct fg_domain *sd;

	w->kind = kind;
	fg_rebalance_begin(sys, rq, w);
	for_each_domain(sd, rq->sd)
	{
		u32 verdict = fg_rebalance_domain(sys, sd, w), attempt;

		if (verdict == FG_BALANCE_STOP)
			break;
		if (verdict != FG_BALANCE_NOW)
			continue;
		attempt = load_balance(c, sd, cpu, w->kind);
		if (attempt & ATTEMPT_MOVED)
			fg_rebalance_again(sys, rq, w);
		fg_rebalanced_domain(sys, sd, w, attempt & ATTEMPT_OURS);
	}
	fg_rebalance_end(sys, rq, w);
	return 0;
}

/* newidle_balance of the CPU that is here. */
global_func u32 newidle_balance(struct live_cpu *c state_arg, RQ, u64 now)
{
	struct fg_sys *sys = head()->sys;
	struct fg_balance_walk *w = &c->walk;
	struct fg_domain *sd;

	fg_update_misfit_status(sys, rq, 0);
	fg_enter_idle(sys, rq);
	if (!mask_test(&sys->active, rq->id) || fg_newidle_spared(sys, rq))
		return 0;
	w->jiffies = clock_jiffies(sys, now);
	fg_newidle_begin(sys, w);
	if (fg_newidle_gate(sys, rq, w)) {
		update_blocked(rq, w->jiffies);
		for_each_domain(sd, rq->sd)
		{
			u32 verdict;

			w->dice = bpf_get_prandom_u32() & 1023;
			verdict = fg_newidle_domain(sys, sd, rq, w);
			if (verdict == FG_BALANCE_STOP)
				break;
			if (verdict != FG_BALANCE_NOW)
				continue;
			now = bpf_ktime_get_ns();
			w->pulled = (load_balance(c, sd, rq->id, FG_CPU_NEWLY_IDLE) & ATTEMPT_MOVED) != 0;
			if (fg_newidled_domain(sys, sd, rq, w, bpf_ktime_get_ns() - now) == FG_BALANCE_STOP)
				break;
		}
	}
	fg_newidle_end(rq, w);
	return 0;
}

/*
 * nohz_idle_balance of an idle CPU that was kicked: for all whose tick is stopped. DEVIATION: by their numbers, not from the CPU behind
 * this one on.
 */
static inline void nohz_idle_balance(struct live_cpu *c, s32 here, u32 kick, u64 now)
{
	struct fg_sys *sys = head()->sys;
	struct fg_balance_walk *round = &c->round;
	u32 cpu;

	c->rounds++;
	round->jiffies = clock_jiffies(sys, now);
	round->kind = FG_CPU_IDLE;
	c->walk.jiffies = round->jiffies;
	fg_nohz_idle_begin(sys, kick, round);
	for_each_cpu(cpu, &sys->nohz_idle, sys->nr_cpus)
	{
		struct fg_cpu *rq = cpu_rq(sys, cpu);

		/* Its own turn comes last. */
		if (!idle_rq(rq) || (cpu == (u32)here && !feat(sys, FG_ILB_ONE_OF)))
			continue;
		if (c->incoming) {
			fg_nohz_idle_abort(sys, kick);
			return;
		}
		if ((kick & FG_NOHZ_STATS_KICK) && fg_nohz_stats_due(rq, round->jiffies)) {
			update_clock(rq, now);
			update_blocked(rq, round->jiffies);
		} else {
			read_limits(rq);
		}
		if (fg_nohz_idle_cpu(rq, kick, round))
			rebalance_domains(c, (s32)cpu, FG_CPU_IDLE);
		fg_nohz_idled_cpu(rq, round);
	}
	fg_nohz_idle_others_end(sys, round);
	if (!feat(sys, FG_ILB_ONE_OF) && fg_nohz_idle_self(cpu_rq(sys, (u32)here), kick, round))
		rebalance_domains(c, here, FG_CPU_IDLE);
	fg_nohz_idle_end(sys, kick, round);
}

/* The end of a tick: what is due. 1: a pass over the CPU's own domains. */
global_func u32 balance_due(struct live_cpu *c state_arg, RQ, u64 now)
{
	struct fg_sys *sys = head()->sys;
	u64 jiffies = clock_jiffies(sys, now);
	u32 kick, due;
	s32 balancer;

	fg_update_idle_balance(rq);
	if (!rq->sd)
		return 0;
	due = fg_rebalance_due(rq, jiffies);
	if (!rq->idle_balance)
		exit_nohz(rq);
	kick = fg_nohz_balancer_kick(sys, rq, jiffies);
	if (kick == FG_NOHZ_NO_KICK)
		return due;
	balancer = fg_kick_ilb(sys, rq, kick, jiffies);
	c->kicks++;
	if (valid_cpu(sys, balancer)) {
		head()->cpus[(u32)balancer].kicked |= kick;
		scx_bpf_kick_cpu(balancer, 0);
	}
	return due;
}

/* The same of a CPU that is idle, which kicks nobody. */
global_func u32 idle_balance_due(RQ, u64 now)
{
	fg_update_idle_balance(rq);
	return rq->sd && rq->idle_balance && fg_rebalance_due(rq, clock_jiffies(head()->sys, now));
}

/* Active balance of a t that is put back on src: the CPU that it goes to, -1: it stays. may: it may change its CPU at all. */
global_func s32 push_target(struct fg_cpu *src state_arg, SLOT, u32 may, u64 now)
{
	const struct fg_sys *sys = head()->sys;
	/* The CPU that executes this is within no attempt of its own. */
	struct live_cpu *c = &head()->cpus[bpf_get_smp_processor_id()];
	struct fg_balance *b = &c->balance;
	u32 pushed;

	b->jiffies = clock_jiffies(sys, now);
	pushed = fg_active_begin(sys, src, b) && may && fg_can_migrate_task(sys, b, &t->fg);
	fg_active_end(src, b, pushed);
	c->attempts[LIVE_ACTIVE]++;
	if (pushed && b->sd) {
		c->found[LIVE_ACTIVE]++;
		note_source(c, b, LIVE_ACTIVE, b->sd->level);
		tell_pass(c, 1, 0);
	}
	return pushed && valid_cpu(sys, b->dst_cpu) ? b->dst_cpu : -1;
}
