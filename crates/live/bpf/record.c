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

/* other: a second task, or p again. value: as of LIVE_*. wakes: BPF_RB_*. 0: there is no room. */
static inline __attribute__((always_inline)) u32 tell(u32 kind, struct task_struct *p, struct task_struct *other,
						      u64 value, u64 wakes)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct live_event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

	if (!e) {
		head()->cpus[cpu].lost_events++;
		return 0;
	}
	e->time = bpf_ktime_get_ns();
	e->value = value;
	e->kind = kind;
	e->cpu = cpu;
	e->pid = p->pid;
	e->other = other->pid;
	e->prio = p->prio;
	e->other_prio = other->prio;
	bpf_probe_read_kernel_str(e->comm, LIVE_NAME, p->comm);
	bpf_probe_read_kernel_str(e->other_comm, LIVE_NAME, other->comm);
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

/* The placement of p that cpu has made, if it is recorded. */
static inline void tell_decision(struct task_struct *p, u32 cpu)
{
	struct live_decision *d = head()->cpus[cpu].recorded;

	if (d && !tell(LIVE_DECISION, p, p, ADDRESS(d), d->wakes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP))
		d->taken = 0;
}
