/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scheduler's own watchdog, below the kernel's (ops.timeout_ms), which ends the scheduler without a second look. Once a second
 * the CPU with a fair task whose tick comes first looks at the queues of all CPUs, idle ones included. Where a task has waited for long, its CPU gets
 * another look at its queue, which is counted; where one has waited too long, the scheduler ends with the task's pid in the message,
 * and the kernel's fair class is in charge again.
 *
 * DEVIATION: the kernel's fair class lets a task of little weight wait as long as its weight says: one that has a 5,000th of the weight
 * beside it, in a cgroup of cpu.weight 1 beside one of 10,000, waits for more than TOO_LATE.
 */
#define WATCH_EVERY 1000000000ull /* ns */
#define LATE 5000000000ull
#define TOO_LATE 20000000000ull

/* ns for which the task that has been in the queue of a CPU for longest has waited; its pid is in late_pid of the CPU's live_cpu. */
static noinline u64 longest_queued(u32 cpu, u64 now)
{
	struct live_cpu *c = &head()->cpus[cpu];
	struct bpf_iter_scx_dsq it;

	c->late_since = now;
	for_each_queued(p, cpu, it)
	{
		struct live_task *t = slot_of(p);

		if (!t || t->queued >= c->late_since)
			continue;
		c->late_since = t->queued;
		c->late_pid = (u64)t->pid;
	}
	bpf_iter_scx_dsq_destroy(&it);
	return now - c->late_since;
}

/* Guards next_watch. */
struct bpf_spin_lock watch_lock SEC(".data.watch_lock");

/* 1: it is this CPU that looks now. */
static inline u32 takes_watch(struct live_head *h, u64 now)
{
	u32 is_due;

	bpf_spin_lock(&watch_lock);
	is_due = now >= h->next_watch;
	if (is_due)
		h->next_watch = now + WATCH_EVERY;
	bpf_spin_unlock(&watch_lock);
	return is_due;
}

static inline void watch_queues(u64 now)
{
	static char text[] = "pid %lld has waited for %lld ms in the queue of CPU %lld, which went up to %lld ms without a tick";
	struct live_head *h = head();
	u64 nr = h->sys->nr_cpus;

	if (now < h->next_watch || !takes_watch(h, now))
		return;
	if (h->groups)
		sum_groups();
	for (u32 cpu = 0; can_loop(cpu, FG_NR_CPUS) && cpu < nr; cpu++) {
		struct live_cpu *c = &h->cpus[cpu];
		u64 waited = longest_queued(cpu, now), data[4];

		if (waited < LATE)
			continue;
		c->late++;
		/* It may be one that was moved there. */
		c->incoming = 1;
		scx_bpf_kick_cpu((s32)cpu, SCX_KICK_PREEMPT);
		if (waited < TOO_LATE)
			continue;
		data[0] = c->late_pid;
		data[1] = waited / 1000000;
		data[2] = cpu;
		data[3] = c->longest_tickless;
		if (c->ticked && now > c->ticked && now - c->ticked > data[3])
			data[3] = now - c->ticked;
		data[3] /= 1000000;
		scx_bpf_error_bstr(text, data, sizeof(data));
	}
}
