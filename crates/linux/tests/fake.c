/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A kernel that is none, for tests of its host: round robin per CPU. It uses every call and every callback of ks.h,
 * and tells in its log, at level 4, what it was told.
 *
 * Threads of these names make it misbehave when they are born: warn, bug, panic, lock, stub, softirq (raised on another
 * CPU), cpu (placed on one that does not exist), null-... and wild-... (a callback gets a null pointer, or a struct that names
 * a CPU or task that does not exist), frames (a fault without the frames that it announces),
 * again (the same line twice in the log), lost (read elsewhere than it was told).
 */
#include <stdio.h>
#include <string.h>
#include "ks.h"

#define MAX_TASKS 256
#define MAX_CPUS 64
#define MS 1000000ull

struct task {
	s32 cpu;
	s32 group;
	s32 process;
	s32 runnable;
	s32 fair;
	s32 lost;
	struct ks_attr attr;
	u64 allowed[KS_MASK_WORDS];
};

static const struct ks_host *host;
static const struct ks_machine *machine;
static struct task tasks[MAX_TASKS];
static s32 queue[MAX_CPUS][MAX_TASKS], nr[MAX_CPUS], current[MAX_CPUS], evict[MAX_CPUS];
static s32 nr_groups = 1, limited[16], throttled[MAX_CPUS];

static void say(u32 level, u32 warn, const char *line)
{
	host->print(host->self, level, warn, line);
}

static void say_cpu(s32 cpu)
{
	const struct ks_cpu_desc *c = &machine->cpus[cpu];
	char line[160];

	snprintf(line, sizeof(line), "cpu %d: capacity %u node %d package %d pd %d smt %llx cluster %llx mc %llx", cpu,
		 c->capacity, c->node, c->package, c->pd, c->smt[0], c->cluster[0], c->mc[0]);
	say(4, 0, line);
}

static s32 boot(const struct ks_host *h, const struct ks_machine *m)
{
	char line[160];

	host = h;
	machine = m;
	if (h->size != sizeof(*h) || m->size != sizeof(*m))
		return -22;
	for (u32 cpu = 0; cpu < m->nr_cpus; cpu++)
		current[cpu] = evict[cpu] = KS_NONE;
	h->work(h->self, KS_WORK_ENQUEUE, 1000);
	say_cpu(0);
	say_cpu((s32)m->nr_cpus - 1);
	for (u32 i = 0; i < m->nr_pds; i++) {
		const struct ks_pd *pd = &m->pds[i];

		snprintf(line, sizeof(line), "pd %d: %u opps, top %u kHz %u uW, %u us", pd->cpu, pd->nr_opps,
			 pd->opps[pd->nr_opps - 1].khz, pd->opps[pd->nr_opps - 1].power_uw, pd->transition_us);
		say(4, 0, line);
	}
	say(6, 0, "too quiet to be kept");
	return h->clock(h->self, 0) == 0 && h->irq_time(h->self, 0) == 0 ? 0 : -5;
}

static s32 allowed(const struct task *p, s32 cpu)
{
	return p->allowed[cpu / 64] >> (cpu % 64) & 1;
}

/* The allowed CPU with the fewest tasks. */
static s32 choose(const struct task *p)
{
	s32 best = KS_NONE;

	for (s32 cpu = 0; cpu < (s32)machine->nr_cpus; cpu++)
		if (allowed(p, cpu) && (best < 0 || nr[cpu] < nr[best]))
			best = cpu;
	return best;
}

static s32 idle_cpu(const struct task *p)
{
	for (s32 cpu = 0; cpu < (s32)machine->nr_cpus; cpu++)
		if (allowed(p, cpu) && !nr[cpu] && current[cpu] < 0)
			return cpu;
	return KS_NONE;
}

static void put(s32 task, s32 cpu, u32 cause)
{
	struct task *p = &tasks[task];

	/* Like the kernel, it does not say that a new task begins elsewhere. */
	if (p->cpu != cpu && cause != KS_CAUSE_FORK)
		host->migrated(host->self, task, p->cpu, cpu, cause);
	p->cpu = cpu;
	queue[cpu][nr[cpu]++] = task;
}

static void take(s32 task, s32 cpu)
{
	s32 to = 0;

	for (s32 i = 0; i < nr[cpu]; i++)
		if (queue[cpu][i] != task)
			queue[cpu][to++] = queue[cpu][i];
	nr[cpu] = to;
}

static void place(s32 this_cpu, s32 task, s32 kind)
{
	struct task *p = &tasks[task];
	struct ks_placement d = { .kind = kind, .task = task, .prev = p->cpu, .this_cpu = this_cpu, .chosen = KS_NONE,
				  .current = current[this_cpu], .is_fair = p->fair, .probes = 3 };

	if (host->placing)
		host->placing(host->self, &d);
	host->work(host->self, KS_WORK_PROBE, 3);
	d.chosen = choose(p);
	host->placed(host->self, &d);
	p->runnable = 1;
	put(task, d.chosen, kind == KS_FORK ? KS_CAUSE_FORK : KS_CAUSE_WAKE);
	host->enqueued(host->self, task, d.chosen);
	host->ipi(host->self, d.chosen, KS_IPI_RESCHED);
}

/* Callbacks with what they must not get. */
static void misreport(const char *comm)
{
	struct ks_placement waker = { .kind = KS_FORK, .this_cpu = 1000, .current = KS_NONE };
	struct ks_placement current_task = { .kind = KS_FORK, .current = 1000 };
	struct ks_found found = { .group = 0, .src = 1000 };
	struct ks_walk walk = { .cpu = 1000 };
	struct ks_step step = { .task = 1000 }, step_cpu = { .cpu = 1000, .task = KS_NONE };
	struct fg_avg avg = { 0 };
	struct ks_pelt pelt = { .function = "f", .before = &avg }, nameless = { .before = &avg, .after = &avg };

	if (!strcmp(comm, "null-placed"))
		host->placed(host->self, NULL);
	if (!strcmp(comm, "null-placing"))
		host->placing(host->self, NULL);
	if (!strcmp(comm, "null-pelt"))
		host->pelt(host->self, NULL);
	if (!strcmp(comm, "null-after"))
		host->pelt(host->self, &pelt);
	if (!strcmp(comm, "null-function"))
		host->pelt(host->self, &nameless);
	if (!strcmp(comm, "null-balanced"))
		host->balanced(host->self, NULL);
	if (!strcmp(comm, "null-found"))
		host->found(host->self, NULL);
	if (!strcmp(comm, "null-walked"))
		host->walked(host->self, NULL);
	if (!strcmp(comm, "null-stepped"))
		host->stepped(host->self, NULL);
	if (!strcmp(comm, "wild-waker"))
		host->placing(host->self, &waker);
	if (!strcmp(comm, "wild-current"))
		host->placing(host->self, &current_task);
	if (!strcmp(comm, "wild-found"))
		host->found(host->self, &found);
	if (!strcmp(comm, "wild-walked"))
		host->walked(host->self, &walk);
	if (!strcmp(comm, "wild-stepping"))
		host->stepping(host->self, &step);
	if (!strcmp(comm, "wild-stepped"))
		host->stepped(host->self, &step_cpu);
	if (!strcmp(comm, "wild-picking"))
		host->picking(host->self, 0, -5, 0);
	if (!strcmp(comm, "wild-picked"))
		host->picked(host->self, 0, 1000);
	if (!strcmp(comm, "frames"))
		host->fault(host->self, KS_FAULT_BUG, "no frames", NULL, 4);
}

static void misbehave(const char *comm, s32 cpu, s32 task)
{
	struct ks_placement nowhere = { .kind = KS_FORK, .task = 0, .prev = 0, .chosen = 1000 };

	if (!strcmp(comm, "warn"))
		say(4, 1, "WARNING: at fake.c");
	if (!strcmp(comm, "bug"))
		host->fault(host->self, KS_FAULT_BUG, "fake.c:1", NULL, 0);
	if (!strcmp(comm, "panic"))
		host->fault(host->self, KS_FAULT_PANIC, "no init", NULL, 0);
	if (!strcmp(comm, "lock"))
		host->fault(host->self, KS_FAULT_LOCK, "rq lock taken twice", NULL, 0);
	if (!strcmp(comm, "stub"))
		host->fault(host->self, KS_FAULT_STUB, "printk_deferred", NULL, 0);
	if (!strcmp(comm, "sleep"))
		host->fault(host->self, KS_FAULT_SLEEP, "mutex_lock()", NULL, 0);
	if (!strcmp(comm, "garbage"))
		host->fault(host->self, KS_FAULT_PANIC, "a\x9b\x1b[31m\xc3\xa9", NULL, 0);
	if (!strcmp(comm, "softirq"))
		host->softirq(host->self, cpu + 1);
	if (!strcmp(comm, "cpu"))
		host->placed(host->self, &nowhere);
	if (!strcmp(comm, "again")) {
		say(4, 0, "said once at 0x7f2720070440, flags 0x1317");
		say(4, 0, "said once at 0x7f2720070440, flags 0x1317");
	}
	misreport(comm);
	tasks[task].lost = !strcmp(comm, "lost");
}

static void fork_task(s32 cpu, const struct ks_birth *child)
{
	struct task *p = &tasks[child->task];

	memcpy(p->allowed, child->allowed, sizeof(p->allowed));
	p->cpu = cpu;
	p->group = child->group;
	p->process = child->process;
	p->attr = child->attr;
	p->fair = child->attr.policy != FG_SCHED_FIFO && child->attr.policy != FG_SCHED_RR;
	misbehave(child->comm, cpu, child->task);
	host->work(host->self, KS_WORK_WAKEUP, 1);
	place(cpu, child->task, KS_FORK);
	if (limited[p->group])
		host->timer(host->self, p->cpu, MS);
}

static void exec_task(s32 cpu, s32 task)
{
	(void)cpu;
	(void)task;
}

static void wake(s32 cpu, s32 waker, s32 task, u32 sync)
{
	(void)waker;
	(void)sync;
	place(cpu, task, KS_WAKE);
}

static void block(s32 cpu)
{
	tasks[current[cpu]].runnable = 0;
}

static void yield(s32 cpu)
{
	(void)cpu;
}

static s32 set_attr(s32 cpu, s32 task, const struct ks_attr *attr)
{
	(void)cpu;
	tasks[task].attr = *attr;
	return attr->nice < -19 ? -1 : 0;
}

static s32 set_allowed(s32 cpu, s32 task, const u64 *mask)
{
	memcpy(tasks[task].allowed, mask, sizeof(tasks[task].allowed));
	if (!allowed(&tasks[task], cpu)) {
		evict[cpu] = task;
		host->ipi(host->self, cpu, KS_IPI_RESCHED);
	}
	return 0;
}

static s32 schedule(s32 cpu)
{
	s32 prev = current[cpu];

	if (host->picking)
		host->picking(host->self, cpu, 0, 1);
	if (prev >= 0 && tasks[prev].runnable)
		queue[cpu][nr[cpu]++] = prev;
	current[cpu] = KS_NONE;
	if (evict[cpu] >= 0)
		return KS_PICK_STOPPER;
	if (nr[cpu] && !(throttled[cpu] && limited[tasks[queue[cpu][0]].group])) {
		current[cpu] = queue[cpu][0];
		take(current[cpu], cpu);
		if (machine->schedutil)
			host->frequency(host->self, cpu, 0xffffffff);
	}
	if (host->picked)
		host->picked(host->self, cpu, current[cpu]);
	return current[cpu] >= 0 ? current[cpu] : KS_PICK_IDLE;
}

static void stopper(s32 cpu)
{
	s32 task = evict[cpu];

	evict[cpu] = KS_NONE;
	if (task < 0)
		return;
	if (host->pushing)
		host->pushing(host->self, cpu);
	take(task, cpu);
	put(task, choose(&tasks[task]), KS_CAUSE_AFFINITY);
	if (host->pushed)
		host->pushed(host->self, cpu);
	host->ipi(host->self, tasks[task].cpu, KS_IPI_RESCHED);
}

/* Tells of the first one. */
static void new_process(s32 cpu, s32 task, s32 process)
{
	static s32 told;
	char line[80];

	(void)cpu;
	snprintf(line, sizeof(line), "a task of process %d is of process %d now", tasks[task].process, process);
	tasks[task].process = process;
	if (!told++)
		say(4, 0, line);
}

static void tick(s32 cpu)
{
	host->work(host->self, KS_WORK_TICK, 1);
	if (nr[cpu])
		host->ipi(host->self, cpu, KS_IPI_RESCHED);
	host->softirq(host->self, cpu);
}

static void ipi(s32 cpu, u32 kind)
{
	(void)cpu;
	(void)kind;
}

/* Balancing: the first of this queue goes to a CPU without any. */
static void softirq(s32 cpu)
{
	struct ks_balance pass = { .cpu = cpu, .kind = FG_CPU_IDLE, .ours = 1 };
	s32 task, to;

	if (host->balancing)
		host->balancing(host->self, &pass);
	if (nr[cpu] && !limited[tasks[queue[cpu][0]].group]) {
		task = queue[cpu][0];
		to = idle_cpu(&tasks[task]);
		if (to >= 0 && to != cpu) {
			take(task, cpu);
			put(task, to, KS_CAUSE_BALANCE);
			host->ipi(host->self, to, KS_IPI_RESCHED);
			host->ipi(host->self, to, KS_IPI_CALL);
			host->ipi(host->self, to, KS_IPI_WAKE);
		}
	}
	if (host->balanced)
		host->balanced(host->self, &pass);
}

/* A limited group runs every other millisecond. */
static void timer(s32 cpu)
{
	throttled[cpu] ^= 1;
	host->ipi(host->self, cpu, KS_IPI_RESCHED);
	host->timer(host->self, cpu, nr[cpu] || current[cpu] >= 0 ? host->clock(host->self, cpu) / MS * MS + MS : ~0ull);
}

static void idle_enter(s32 cpu, u32 index, u64 latency, u64 residency)
{
	(void)cpu;
	(void)index;
	(void)latency;
	(void)residency;
}

static void on_cpu(s32 cpu)
{
	(void)cpu;
}

static void tick_stopped(s32 cpu, u32 stopped)
{
	(void)cpu;
	(void)stopped;
}

static void freq_scale(s32 cpu, u32 scale)
{
	char line[80];

	snprintf(line, sizeof(line), "cpu %d runs at %u", cpu, scale);
	if (cpu == 0)
		say(4, 0, line);
}

static void frequency_limits(s32 cpu, const struct fg_frequency_limits *limits)
{
	char line[80];

	snprintf(line, sizeof(line), "cpu %d may run at %u of %u kHz", cpu, limits->policy, limits->top);
	if (cpu == 0)
		say(4, 0, line);
}

static s32 group_new(s32 parent)
{
	limited[nr_groups] = limited[parent];
	return nr_groups++;
}

static s32 group_write(s32 group, const char *file, const char *value)
{
	if (!strcmp(file, "cpu.max"))
		limited[group] = 1;
	return strcmp(value, "nonsense") && strcmp(value, "99.99") ? 0 : -22;
}

static void read_cpu(s32 cpu, struct fg_cpu *to)
{
	to->id = cpu;
	to->nr_running = (u32)nr[cpu];
	to->clock = host->clock(host->self, cpu);
}

static void read_task(s32 task, struct fg_task *to)
{
	to->id = (u32)task;
	to->cpu = tasks[task].cpu + tasks[task].lost;
}

static void read_refs(s32 cpu, struct ks_cpu_refs *to)
{
	*to = (struct ks_cpu_refs){ current[cpu], KS_NONE, KS_NONE, KS_NONE, current[cpu], 0 };
}

static void read_sys(struct ks_sys *to)
{
	memset(to, 0, sizeof(*to));
}

static void read_place(s32 cpu, struct ks_place *to)
{
	memset(to, 0, sizeof(*to));
	to->sd_llc_id = cpu;
}

static void read_root(s32 cpu, struct fg_root *to)
{
	(void)cpu;
	(void)to;
}

static s32 read_llc(s32 cpu, struct fg_llc *to)
{
	(void)cpu;
	(void)to;
	return KS_NONE;
}

static s32 read_domain(s32 cpu, u32 n, struct fg_domain *to)
{
	(void)cpu;
	(void)n;
	(void)to;
	return KS_NONE;
}

static u32 read_groups(s32 cpu, u32 n, struct fg_group *to, u32 max)
{
	(void)cpu;
	(void)n;
	(void)to;
	(void)max;
	return 0;
}

static u32 read_movable(s32 cpu, s32 *to, u32 max)
{
	for (s32 i = 0; i < nr[cpu] && i < (s32)max; i++)
		to[i] = queue[cpu][i];
	return (u32)nr[cpu];
}

static u32 read_queue(s32 cpu, s32 group, s32 *to, u32 max)
{
	return group ? 0 : read_movable(cpu, to, max);
}

static void read_queue_refs(s32 cpu, s32 group, struct ks_queue_refs *to)
{
	(void)cpu;
	(void)group;
	to->next = to->last = to->skip = KS_NONE;
}

/* Its groups do not compete. */
static u32 read_nr_groups(void)
{
	return 1;
}

static s32 read_group_of(s32 task)
{
	(void)task;
	return 0;
}

static s32 read_tg(s32 group, struct fg_tg *to)
{
	(void)group;
	(void)to;
	return KS_NONE;
}

static void read_tg_cpu(s32 group, s32 cpu, struct fg_tg_cpu *to)
{
	(void)group;
	(void)cpu;
	(void)to;
}

static s32 read_process_of(s32 task)
{
	(void)task;
	return KS_NONE;
}

static void read_process(s32 process, struct fg_process *to)
{
	(void)process;
	(void)to;
}

static void read_cache_time(s32 process, s32 cpu, struct fg_cache_time *to)
{
	(void)process;
	(void)cpu;
	(void)to;
}

static u32 read_llc_counts(s32 cpu, u32 *to, u32 max)
{
	(void)cpu;
	(void)to;
	(void)max;
	return 0;
}

static u64 read_clock(void)
{
	return host->clock(host->self, 0);
}

static u64 read_irq_time(s32 cpu)
{
	return host->irq_time(host->self, cpu);
}

static s32 hotplug(s32 cpu, u32 step)
{
	(void)cpu;
	(void)step;
	return 0;
}

#ifndef FAKE_ABI
#define FAKE_ABI KS_ABI
#endif
#ifndef FAKE_SIZE
#define FAKE_SIZE sizeof(struct ks_kernel)
#endif
#ifndef FAKE_TICK
#define FAKE_TICK tick
#endif

#ifndef FAKE_CPU_SIZE
#define FAKE_CPU_SIZE sizeof(struct fg_cpu)
#endif

static u32 read_energy(s32 cpu, u32 n, struct fg_em *to, struct fg_opp *opps, u32 max)
{
	return 0;
}

static s32 read_governor(s32 cpu, struct fg_sugov *to)
{
	return KS_NONE;
}

static const struct ks_read reader = {
	.size = sizeof(struct ks_read), .refs = read_refs, .sys = read_sys, .place = read_place, .root = read_root,
	.llc = read_llc, .balance_shared = read_llc, .domain = read_domain, .groups = read_groups, .process_of = read_process_of,
	.process = read_process, .cache_time = read_cache_time, .llc_counts = read_llc_counts, .queue = read_queue,
	.movable = read_movable, .queue_refs = read_queue_refs, .nr_groups = read_nr_groups, .group_of = read_group_of,
	.group = read_tg, .group_cpu = read_tg_cpu, .energy = read_energy, .governor = read_governor, .governor_cpu = read_cpu, .clock = read_clock, .irq_time = read_irq_time,
	.unobserved = "fg_cpu.queued fg_cpu.pd", .sizeof_cpu = FAKE_CPU_SIZE, .sizeof_task = sizeof(struct fg_task),
	.sizeof_group = sizeof(struct fg_group), .sizeof_domain = sizeof(struct fg_domain),
	.sizeof_llc = sizeof(struct fg_llc), .sizeof_root = sizeof(struct fg_root), .sizeof_avg = sizeof(struct fg_avg),
	.sizeof_frequency_limits = sizeof(struct fg_frequency_limits), .sizeof_opp = sizeof(struct fg_opp),
	.sizeof_sugov = sizeof(struct fg_sugov), .sizeof_tg = sizeof(struct fg_tg),
	.sizeof_tg_cpu = sizeof(struct fg_tg_cpu),
	.sizeof_process = sizeof(struct fg_process),
	.sizeof_cache_time = sizeof(struct fg_cache_time),
};

static const struct ks_kernel kernel = {
	.size = FAKE_SIZE, .abi = FAKE_ABI, .max_cpus = MAX_CPUS, .hz = 250, .release = "0.0-fake", .boot = boot,
	.fork = fork_task, .exec = exec_task, .new_process = new_process, .wake = wake, .block = block, .exit = block, .yield = yield,
	.set_attr = set_attr, .set_allowed = set_allowed, .schedule = schedule, .stopper = stopper, .tick = FAKE_TICK,
	.ipi = ipi, .softirq = softirq, .timer = timer, .idle_enter = idle_enter, .idle_exit = on_cpu,
	.tick_stopped = tick_stopped, .hotplug = hotplug, .freq_scale = freq_scale, .frequency_limits = frequency_limits,
	.group_new = group_new, .group_write = group_write, .read_cpu = read_cpu, .read_task = read_task,
	.read = &reader,
};

const struct ks_kernel *ks_kernel(void)
{
	return &kernel;
}
