/* SPDX-License-Identifier: GPL-2.0-only */
/* What the policy knows, beside what the kernel knows, in the dump that the kernel makes when it ends the scheduler. */

/* What takes capacity of a CPU, and what the kernel has for the same. */
static inline void dump_capacity(u32 cpu, const struct fg_cpu *rq)
{
	static char text[] = "policy: capacity %lld of %lld, RT tasks %lld (kernel %lld), deadline tasks %lld (%lld), interrupts %lld (%lld), "
			     "clock limits %lld and %lld\n";
	u64 data[10] = { 0 };

	data[0] = rq->cpu_capacity;
	data[1] = rq->cpu_capacity_orig;
	data[2] = rq->rt.util_avg;
	data[4] = rq->dl.util_avg;
	data[6] = rq->irq.util_avg;
	data[8] = rq->hw_pressure;
	data[9] = rq->cpufreq_pressure;
	if (KSYM_EXISTS(&runqueues)) {
		const struct rq *kernel = bpf_per_cpu_ptr(&runqueues, cpu);

		if (kernel) {
			data[3] = kernel->avg_rt.util_avg;
			data[5] = kernel->avg_dl.util_avg;
			data[7] = HAS_MEMBER(kernel->avg_irq) ? kernel->avg_irq.util_avg : 0;
		}
	}
	scx_bpf_dump_bstr(text, data, sizeof(data));
}

/* What the policy knows of a CPU, for the kernel's dump. */
OP(dump_cpu) int live_dump_cpu(unsigned long long *ctx)
{
	static char text[] = "policy: current %lld, %lld running, %lld fair, idle %lld, pending %lld, incoming %lld\n";
	u32 cpu = (u32)ctx[1];
	struct fg_cpu *rq;
	struct live_task *curr;
	u64 data[6];

	USES_ARENA;
	if (cpu >= head()->sys->nr_cpus)
		return 0;
	rq = cpu_rq(head()->sys, cpu);
	curr = (struct live_task *)rq->curr;
	data[0] = curr ? (u64)curr->pid : 0;
	data[1] = rq->nr_running;
	data[2] = rq->h_nr_running;
	data[3] = rq->curr_is_idle;
	data[4] = rq->ttwu_pending;
	data[5] = head()->cpus[cpu].incoming;
	scx_bpf_dump_bstr(text, data, sizeof(data));
	dump_capacity(cpu, rq);
	return 0;
}

/* The same of a task. */
OP(dump_task) int live_dump_task(unsigned long long *ctx)
{
	static char text[] = "policy: CPU %lld, queued %lld, current %lld, flags %llx, vruntime %lld, deadline %lld";
	struct live_task *t = slot_of(TASK(ctx[1]));
	u64 data[6];

	USES_ARENA;
	if (!t)
		return 0;
	data[0] = (u64)t->fg.cpu;
	data[1] = t->fg.on_rq;
	data[2] = t->fg.on_cpu;
	data[3] = t->fg.flags;
	data[4] = t->fg.vruntime;
	data[5] = t->fg.deadline;
	scx_bpf_dump_bstr(text, data, sizeof(data));
	return 0;
}
