/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What recorders are told (`fairground live record`): the kernel's scheduling events as they come, and placements with a copy of
 * the state that they are decided on. While nobody records this costs a look at head()->recorder.
 *
 * Events go through a ring buffer. Copies are too large for that: each CPU has a ring of slots in the arena, and the event of a
 * placement names its slot. User space reads the slot and gives it back; a placement that finds none is decided all the same, and
 * counted.
 */
struct {
	int (*type)[27]; /* BPF_MAP_TYPE_RINGBUF */
	int (*max_entries)[1 << 22]; /* bytes */
} events VISIBLE SEC(".maps");

/* Room for an event of this many bytes; null: there is none. */
static inline __attribute__((always_inline)) struct live_event *room(u32 kind, u64 bytes)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct live_event *e = bpf_ringbuf_reserve(&events, bytes, 0);

	if (!e) {
		head()->cpus[cpu].lost_events++;
		return 0;
	}
	e->time = bpf_ktime_get_ns();
	e->value = 0;
	e->kind = kind;
	e->cpu = cpu;
	return e;
}

static inline __attribute__((always_inline)) void name_tasks(struct live_event *e, struct task_struct *p, struct task_struct *other)
{
	e->pid = p->pid;
	e->other = other->pid;
	e->prio = p->prio;
	e->other_prio = other->prio;
	bpf_probe_read_kernel_str(e->comm, LIVE_NAME, p->comm);
	bpf_probe_read_kernel_str(e->other_comm, LIVE_NAME, other->comm);
}

/* other: a second task, or p again. value: as of LIVE_*. wakes: BPF_RB_*. 0: there is no room. */
static inline __attribute__((always_inline)) u32 tell(u32 kind, struct task_struct *p, struct task_struct *other,
						      u64 value, u64 wakes)
{
	struct live_event *e = room(kind, sizeof(*e));

	if (!e)
		return 0;
	e->value = value;
	name_tasks(e, p, other);
	bpf_ringbuf_submit(e, wakes);
	return 1;
}

#define TRACEPOINT(name) VISIBLE SEC("tp_btf/" #name)
#define RETURN_UNLESS_RECORDED                                                                                         \
	USES_ARENA;                                                                                                    \
	if (!head()->recorder)                                                                                         \
	return 0

TRACEPOINT(sched_process_fork) int live_sched_process_fork(unsigned long long *ctx)
{
	RETURN_UNLESS_RECORDED;
	tell(LIVE_FORK, TASK(ctx[0]), TASK(ctx[1]), 0, BPF_RB_NO_WAKEUP);
	return 0;
}

TRACEPOINT(sched_process_exit) int live_sched_process_exit(unsigned long long *ctx)
{
	RETURN_UNLESS_RECORDED;
	tell(LIVE_EXIT, TASK(ctx[0]), TASK(ctx[0]), 0, BPF_RB_NO_WAKEUP);
	return 0;
}

/* p, on from, is about to change to another CPU. */
static inline void tell_migration(struct task_struct *p, u64 from, u64 to)
{
	if (head()->recorder)
		tell(LIVE_MIGRATE, p, p, from << 32 | to, BPF_RB_NO_WAKEUP);
}

/* The placement of p that cpu has made, with prev_cpu and flags (FG_WF_*), if it is recorded. */
static inline void tell_decision(struct task_struct *p, const struct live_task *slot, u32 cpu, s32 prev_cpu, u32 flags)
{
	struct live_cpu *c = &head()->cpus[cpu];
	struct live_decision *d = c->recorded;
	struct live_placed_event *e;

	if (head()->recorder && (!head()->records_state || is_grouped(c, slot))) {
		e = (struct live_placed_event *)room(LIVE_PLACED, sizeof(*e));
		if (!e)
			return;
		name_tasks(&e->event, p, p);
		e->prev_cpu = prev_cpu;
		e->cpu = c->verdict.cpu;
		e->rule = c->verdict.rule;
		e->flags = flags;
		e->probes = c->verdict.probes;
		e->group_cpus = c->verdict.group_cpus;
		bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
		return;
	}
	if (d && !tell(LIVE_DECISION, p, p, ADDRESS(d), d->wakes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP))
		d->taken = 0;
}

/* The attempt in c->balance of a domain of this level has found a source, and moves nothing yet. */
static inline void note_source(struct live_cpu *c, const struct fg_balance *b, u32 kind, u32 level)
{
	c->pass.src_cpu = b->src_cpu;
	c->pass.dst_cpu = b->dst_cpu;
	c->pass.kind = kind;
	c->pass.migration = b->migration;
	c->pass.imbalance = b->imbalance;
	c->pass.rule = b->rule;
	c->pass.level = level;
}

/* What that came to: tasks moved, and whether the source is asked to push one. */
global_func u32 tell_pass(struct live_cpu *c state_arg, u32 moved, u32 active)
{
	struct live_balance_event *e;

	if (!head()->recorder)
		return 0;
	e = (struct live_balance_event *)room(LIVE_BALANCE, sizeof(*e));
	if (!e)
		return 0;
	e->event.pid = 0;
	e->event.other = 0;
	e->pass.src_cpu = c->pass.src_cpu;
	e->pass.dst_cpu = c->pass.dst_cpu;
	e->pass.kind = c->pass.kind;
	e->pass.migration = c->pass.migration;
	e->pass.imbalance = c->pass.imbalance;
	e->pass.rule = c->pass.rule;
	e->pass.level = c->pass.level;
	e->pass.moved = moved;
	e->pass.active = active;
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 1;
}

static inline __attribute__((always_inline)) void queued_state(struct live_queued *to, const struct fg_task *p)
{
	to->vruntime = p->vruntime;
	to->deadline = p->deadline;
	to->vprot = p->vprot;
	to->flags = p->flags;
	to->on_cpu = p->on_cpu;
}

/* kind: LIVE_PICKED and so on, of t on the queue of rq. rule: enum fg_pick_rule_id. */
global_func u32 tell_pick(RQ, SLOT, u32 kind, u32 rule)
{
	struct fg_task *curr = rq->curr;
	struct live_pick_event *e;
	u64 average;

	if (!head()->records_picks)
		return 0;
	average = is_eevdf(head()->sys) ? fg_avg_vruntime(&rq->fair) : rq->fair.min_vruntime;
	e = (struct live_pick_event *)room(LIVE_PICK, sizeof(*e));
	if (!e)
		return 0;
	/* Runnable, and another one. */
	curr = curr && curr != &t->fg && curr->on_rq ? curr : &t->fg;
	e->event.pid = t->pid;
	e->event.other = ((struct live_task *)curr)->pid;
	e->kind = kind;
	e->rule = rule;
	e->queued = rq->h_nr_running;
	e->cpu = (u32)rq->id;
	e->average = average;
	queued_state(&e->task, &t->fg);
	queued_state(&e->current, curr);
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 1;
}
