// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests a built kernel with a minimal host: CPUs run tasks at full speed, and interrupts arrive after a microsecond.
 * Each scenario tests one thing. Usage: smoke LIBKSCHED [SCENARIO]. Without a scenario: prints nothing and exits with 0
 * if all pass.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ks.h"

#define MAX_CPUS 256
#define MAX_TASKS 1024
#define NEVER (~0ULL)
#define US 1000ULL
#define MS 1000000ULL
#define IPI_NS 1000

/* ---- state ------------------------------------------------------------------------------------------------------ */

enum event_kind { TICK, TIMER, IPI, SOFTIRQ, WAKE, DONE };

struct event {
	u64 when, seq;
	enum event_kind kind;
	s32 cpu;	/* WAKE: the task */
	u32 what;	/* IPI: its kind. TIMER, DONE: the round; an event of an earlier round is stale */
};

struct cpu {
	s32 curr;	/* a task, KS_PICK_* */
	u64 since;	/* curr runs since then */
	u32 timer_round, done_round;
	u64 timer_at;
	u32 want;	/* schedule() is requested */
	u32 tick_on;
};

struct task {
	u64 burst, sleep;	/* burst 0: runs for ever */
	u64 left;		/* of the burst */
	u64 ran;
	u64 allowed[KS_MASK_WORDS];
	s32 cpu;
	u32 asleep;
};

static const struct ks_kernel *kernel;
static struct cpu cpus[MAX_CPUS];
static struct task tasks[MAX_TASKS];
static struct event heap[1 << 16];
static u32 nr_cpus, nr_tasks, nr_events;
static u64 now, seq, cost, tick_ns, hash, warns, moves[8], works[KS_NR_WORKS], placements, balances, moved_by_balance;
static u64 ran_on[MAX_CPUS];
static u32 lowest_asked = ~0u;
static s32 calling;
static const char *scenario;

static void fail(const char *what, u64 got, u64 wanted)
{
	fprintf(stderr, "%s: %s: %llu, not %llu, at %llu us\n", scenario, what, got, wanted, now / US);
	exit(1);
}

static void mix(u64 a, u64 b)
{
	hash = (hash ^ (now * 31 + a * 1000003 + b)) * 0x100000001b3ULL;
}

/* ---- events ----------------------------------------------------------------------------------------------------- */

static int before(const struct event *a, const struct event *b)
{
	return a->when != b->when ? a->when < b->when : a->seq < b->seq;
}

static void post(u64 when, enum event_kind kind, s32 cpu, u32 what)
{
	struct event e = { when, seq++, kind, cpu, what };
	u32 i = nr_events++;

	if (nr_events >= sizeof(heap) / sizeof(*heap))
		fail("events in flight", nr_events, 0);
	for (; i && before(&e, &heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = e;
}

static struct event pop(void)
{
	struct event first = heap[0], last = heap[--nr_events];
	u32 i = 0;

	for (;;) {
		u32 child = 2 * i + 1;

		if (child >= nr_events)
			break;
		if (child + 1 < nr_events && before(&heap[child + 1], &heap[child]))
			child++;
		if (!before(&heap[child], &last))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	return first;
}

/* ---- struct ks_host --------------------------------------------------------------------------------------------- */

static u64 host_clock(void *self, s32 cpu)
{
	return now + (cpu == calling ? cost : 0);
}

static u64 host_irq_time(void *self, s32 cpu)
{
	return 0;
}

static void host_work(void *self, u32 kind, u32 n)
{
	static const u32 price[KS_NR_WORKS] = { 300, 20, 30, 100, 100, 200, 300, 200 };

	works[kind] += n;
	cost += n * price[kind];
}

static void host_ipi(void *self, s32 cpu, u32 kind)
{
	if (cpu == calling && kind == KS_IPI_RESCHED)
		cpus[cpu].want = 1;
	else
		post(now + IPI_NS, IPI, cpu, kind);
}

static void host_softirq(void *self, s32 cpu)
{
	post(now, SOFTIRQ, cpu, 0);
}

static void host_timer(void *self, s32 cpu, u64 when)
{
	struct cpu *c = &cpus[cpu];

	if (when == c->timer_at)
		return;
	c->timer_at = when;
	c->timer_round++;
	if (when != NEVER)
		post(when < now ? now : when, TIMER, cpu, c->timer_round);
}

static void check_allowed(s32 task, s32 cpu, const char *what)
{
	if (cpu < 0 || cpu >= (s32)nr_cpus || !(tasks[task].allowed[cpu / 64] >> (cpu % 64) & 1))
		fail(what, (u64)cpu, (u64)task);
}

static void host_placed(void *self, const struct ks_placement *p)
{
	placements++;
	mix((u64)p->task, (u64)p->chosen);
	if (p->kind == KS_WAKE)
		check_allowed(p->task, p->chosen, "a placement is not where the task may run");
}

static void host_migrated(void *self, s32 task, s32 from, s32 to, u32 cause)
{
	if (tasks[task].cpu != from)
		fail("a migration from where the task is not", (u64)from, (u64)tasks[task].cpu);
	tasks[task].cpu = to;
	moves[cause]++;
	mix((u64)task, (u64)to + cause * 1000);
}

static void host_widened(void *self, s32 task)
{
	(void)self;
	memset(tasks[task].allowed, 0xff, sizeof(tasks[task].allowed));
}

static void host_enqueued(void *self, s32 task, s32 cpu)
{
	check_allowed(task, cpu, "a task is queued where it may not run");
	tasks[task].cpu = cpu;
	tasks[task].asleep = 0;
}

static void host_frequency(void *self, s32 cpu, u32 khz)
{
	mix((u64)cpu, khz);
	lowest_asked = khz < lowest_asked ? khz : lowest_asked;
}

static void host_print(void *self, u32 level, u32 warn, const char *line)
{
	warns += warn;
	if (warn || (getenv("SMOKE_PRINT") && *getenv("SMOKE_PRINT")))
		fprintf(stderr, "%s: %s\n", scenario, line);
}

static void host_fault(void *self, u32 kind, const char *what, const u64 *frames, u32 nr_frames)
{
	fprintf(stderr, "%s: fault %u: %s\n", scenario, kind, what);
	exit(2);
}

static void host_balanced(void *self, const struct ks_balance *pass)
{
	balances++;
	moved_by_balance += pass->moved;
	mix((u64)pass->cpu, pass->domain * 16 + pass->kind);
}

static const struct ks_host host = {
	.size = sizeof(host),
	.clock = host_clock,
	.irq_time = host_irq_time,
	.work = host_work,
	.ipi = host_ipi,
	.softirq = host_softirq,
	.timer = host_timer,
	.placed = host_placed,
	.migrated = host_migrated,
	.widened = host_widened,
	.enqueued = host_enqueued,
	.frequency = host_frequency,
	.print = host_print,
	.fault = host_fault,
	.balanced = host_balanced,
};

/* ---- CPUs ------------------------------------------------------------------------------------------------------- */

static s32 on(s32 cpu)
{
	calling = cpu;
	cost = 0;
	return cpu;
}

/* Accounts the current task's run time. */
static void charge(s32 cpu)
{
	struct cpu *c = &cpus[cpu];
	u64 ran = now - c->since;

	c->since = now;
	if (c->curr < 0)
		return;
	tasks[c->curr].ran += ran;
	ran_on[cpu] += ran;
	if (tasks[c->curr].burst)
		tasks[c->curr].left -= ran < tasks[c->curr].left ? ran : tasks[c->curr].left;
}

static void start_tick(s32 cpu)
{
	u64 phase = tick_ns * (u64)cpu / nr_cpus;

	cpus[cpu].tick_on = 1;
	kernel->tick_stopped(on(cpu), 0);
	post((now - phase + tick_ns) / tick_ns * tick_ns + phase, TICK, cpu, 0);
}

static void run_current(s32 cpu)
{
	struct cpu *c = &cpus[cpu];

	c->done_round++;
	if (c->curr >= 0) {
		check_allowed(c->curr, cpu, "a task runs where it may not");
		if (tasks[c->curr].cpu != cpu)
			fail("a task runs where it is not", (u64)cpu, (u64)tasks[c->curr].cpu);
		if (tasks[c->curr].burst)
			post(now + tasks[c->curr].left, DONE, cpu, c->done_round);
	}
	if (c->curr == KS_PICK_IDLE && c->tick_on) {
		c->tick_on = 0;
		kernel->tick_stopped(on(cpu), 1);
	} else if (c->curr != KS_PICK_IDLE && !c->tick_on) {
		start_tick(cpu);
	}
}

static void schedule(s32 cpu)
{
	struct cpu *c = &cpus[cpu];

	charge(cpu);
	do {
		c->want = 0;
		c->curr = kernel->schedule(on(cpu));
		mix((u64)cpu, (u64)c->curr);
		if (c->curr == KS_PICK_STOPPER) {
			kernel->stopper(on(cpu));
			c->want = 1;
		}
	} while (c->want);
	run_current(cpu);
}

static void reschedule_all(void)
{
	u32 cpu;

	for (cpu = 0; cpu < nr_cpus; cpu++)
		if (cpus[cpu].want)
			schedule((s32)cpu);
}

static void done(s32 cpu)
{
	struct task *t;
	s32 task = cpus[cpu].curr;

	charge(cpu);
	t = &tasks[task];
	t->left = t->burst;
	t->asleep = 1;
	post(now + t->sleep, WAKE, task, 0);
	kernel->block(on(cpu));
	schedule(cpu);
}

static void handle(const struct event *e)
{
	switch (e->kind) {
	case TICK:
		if (!cpus[e->cpu].tick_on)
			break;
		charge(e->cpu);
		kernel->tick(on(e->cpu));
		post(now + tick_ns, TICK, e->cpu, 0);
		break;
	case TIMER:
		if (e->what != cpus[e->cpu].timer_round)
			break;
		cpus[e->cpu].timer_at = NEVER;
		kernel->timer(on(e->cpu));
		break;
	case IPI:
		kernel->ipi(on(e->cpu), e->what);
		break;
	case SOFTIRQ:
		kernel->softirq(on(e->cpu));
		break;
	case WAKE:
		kernel->wake(on(tasks[e->cpu].cpu), KS_NONE, e->cpu, 0);
		break;
	case DONE:
		if (e->what == cpus[e->cpu].done_round)
			done(e->cpu);
		break;
	}
}

static void run_until(u64 end)
{
	while (nr_events && heap[0].when <= end) {
		struct event e = pop();

		now = e.when;
		handle(&e);
		reschedule_all();
	}
	now = end;
	for (u32 cpu = 0; cpu < nr_cpus; cpu++)
		charge((s32)cpu);
}

/* ---- machines and tasks ----------------------------------------------------------------------------------------- */

static struct ks_cpu_desc descs[MAX_CPUS];
static u32 distances[4] = { 10, 20, 20, 10 };
static struct ks_pd pds[4];
static struct ks_opp opps[4][3];

static void span(u64 *mask, u32 from, u32 nr)
{
	for (; nr--; from++)
		mask[from / 64] |= 1ULL << (from % 64);
}

/* CPUs in nodes, clusters and cores of equal sizes; the first `little` of them have less capacity. */
static void boot(u32 nr, u32 nodes, u32 cluster, u32 smt, u32 little, u32 schedutil)
{
	struct ks_machine machine = {
		.size = sizeof(machine), .nr_cpus = nr, .nr_nodes = nodes, .node_reclaim_distance = 30, .cpus = descs,
		.distance = distances, .pds = pds, .nr_pds = little ? 2 : 1, .seed = 1,
		.schedutil = schedutil,
	};
	s32 error;

	nr_cpus = nr;
	now = 10 * MS;
	for (u32 cpu = 0; cpu < nr; cpu++) {
		struct ks_cpu_desc *d = &descs[cpu];
		u32 per_node = nr / nodes;

		d->capacity = cpu < little ? 446 : 1024;
		d->node = d->package = (s32)(cpu / per_node);
		d->pd = little && cpu >= little ? (s32)little : 0;
		span(d->smt, cpu / smt * smt, smt);
		span(d->cluster, cpu / cluster * cluster, cluster);
		span(d->mc, cpu / per_node * per_node, per_node);
		cpus[cpu].curr = KS_PICK_IDLE;
		cpus[cpu].timer_at = NEVER;
	}
	for (u32 i = 0; i < machine.nr_pds; i++) {
		for (u32 k = 0; k < 3; k++)
			opps[i][k] = (struct ks_opp){ 600000 * (k + 1), (i ? 300000 : 100000) * (k + 1) * (k + 1) };
		pds[i] = (struct ks_pd){ i ? (s32)little : 0, 3, opps[i], 500 };
	}
	tick_ns = 1000000000ULL / kernel->hz;
	error = kernel->boot(&host, &machine);
	if (error)
		fail("boot", (u64)error, 0);
	for (u32 cpu = 0; cpu < nr; cpu++) {
		cpus[cpu].tick_on = 0;
		kernel->tick_stopped(on((s32)cpu), 1);
	}
}

/* Forks a child of the CPU's current task. */
static s32 spawn(s32 cpu, u64 burst, u64 sleep, s32 group, u32 policy, u32 first, u32 nr)
{
	struct ks_birth birth = {
		.task = (s32)nr_tasks, .parent = cpus[cpu].curr >= 0 ? cpus[cpu].curr : KS_NONE, .kthread_cpu = KS_NONE, .group = group, .comm = "smoke",
		.attr = { .policy = policy, .rt_prio = policy == FG_SCHED_FIFO ? 10 : 0, .uclamp_max = 1024 },
	};
	struct task *t = &tasks[nr_tasks++];

	span(birth.allowed, first, nr);
	memcpy(t->allowed, birth.allowed, sizeof(t->allowed));
	t->burst = t->left = burst;
	t->sleep = sleep;
	t->cpu = cpu;
	kernel->fork(on(cpu), &birth);
	reschedule_all();
	return birth.task;
}

/* ---- scenarios -------------------------------------------------------------------------------------------------- */

static void no_warnings(void)
{
	if (warns)
		fail("warnings", warns, 0);
}

static void near(const char *what, u64 got, u64 wanted)
{
	u64 off = got > wanted ? got - wanted : wanted - got;

	if (off * 50 > wanted)
		fail(what, got, wanted);
}

static void mixed_load(void)
{
	for (u32 i = 0; i < nr_cpus * 5 / 4; i++)
		spawn(0, (500 + i % 7 * 300) * US, (1000 + i % 5 * 900) * US, 0, FG_SCHED_OTHER, 0, nr_cpus);
	run_until(now + 400 * MS);
	for (u32 i = 0; i < nr_tasks; i++)
		if (!tasks[i].ran)
			fail("a task that never ran", i, 0);
}

static void asymmetric(void)
{
	boot(8, 1, 4, 1, 4, 0);
	mixed_load();
}

static void clustered(void)
{
	boot(48, 2, 4, 1, 0, 0);
	mixed_load();
}

static void smt(void)
{
	boot(224, 2, 2, 2, 0, 0);
	mixed_load();
}

/* Four threads a core. */
static void smt4(void)
{
	struct ks_sys sys;

	boot(16, 1, 4, 4, 0, 0);
	kernel->read->sys(&sys);
	if (!sys.smt_key)
		fail("SMT with four threads a core", sys.smt_key, 1);
	mixed_load();
}

/* A child inherits its parent's wakee statistics. */
static void family(void)
{
	struct fg_task parent, child;
	s32 a, b;

	boot(4, 1, 1, 1, 0, 0);
	a = spawn(0, 0, 0, 0, FG_SCHED_OTHER, 0, 1);
	b = spawn(1, MS, 10000 * MS, 0, FG_SCHED_OTHER, 1, 3);
	run_until(now + 5 * MS);
	kernel->wake(on(0), a, b, 0);
	reschedule_all();
	kernel->read_task(a, &parent);
	kernel->read_task(spawn(0, 0, 0, 0, FG_SCHED_OTHER, 0, 1), &child);
	if (!parent.wakee_flips || child.wakee_flips != parent.wakee_flips)
		fail("wakee flips of a child", child.wakee_flips, parent.wakee_flips);
	if (child.last_wakee != parent.last_wakee)
		fail("last wakee of a child", child.last_wakee, parent.last_wakee);
}

/* Two groups on one CPU, weights 300 and 100. */
static void weights(void)
{
	s32 a, b;

	boot(4, 1, 1, 1, 0, 0);
	a = kernel->group_new(0);
	b = kernel->group_new(0);
	if (a < 1 || b < 1)
		fail("groups", (u64)a, (u64)b);
	if (kernel->group_write(a, "cpu.weight", "300") || kernel->group_write(b, "cpu.weight", "100"))
		fail("groups", (u64)a, (u64)b);
	a = spawn(1, 0, 0, a, FG_SCHED_OTHER, 1, 1);
	b = spawn(1, 0, 0, b, FG_SCHED_OTHER, 1, 1);
	run_until(now + 4000 * MS);
	near("share of the heavy group, ms", tasks[a].ran / MS, 3000);
	near("share of the light group, ms", tasks[b].ran / MS, 1000);
}

static void bandwidth(void)
{
	u64 before;
	s32 group;

	boot(4, 1, 1, 1, 0, 0);
	group = kernel->group_new(0);
	if (group < 1 || kernel->group_write(group, "cpu.max", "50000 100000"))
		fail("group", (u64)group, 1);
	for (int i = 0; i < 2; i++)
		spawn(0, 0, 0, group, FG_SCHED_OTHER, 0, 4);
	run_until(now + 500 * MS);
	before = tasks[0].ran + tasks[1].ran;
	run_until(now + 4000 * MS);
	near("use of the limited group, ms", (tasks[0].ran + tasks[1].ran - before) / MS, 2000);
}

static void realtime(void)
{
	s32 hog, rt;

	boot(4, 1, 1, 1, 0, 0);
	hog = spawn(2, 0, 0, 0, FG_SCHED_OTHER, 2, 1);
	rt = spawn(2, 200 * US, 5 * MS, 0, FG_SCHED_FIFO, 2, 1);
	run_until(now + 1000 * MS);
	near("bursts of the RT task, us", tasks[rt].ran / US, 1000 * 1000 * 2 / 52);
	near("rest for the hog, us", tasks[hog].ran / US, 1000 * 1000 * 50 / 52);
}

/* A hog on a little CPU, while a big one idles. */
static void misfit(void)
{
	u64 all = 0xff;
	u64 allowed[KS_MASK_WORDS] = { 0xff };
	s32 hog;

	boot(8, 1, 4, 1, 4, 0);
	hog = spawn(0, 0, 0, 0, FG_SCHED_OTHER, 0, 4);
	run_until(now + 50 * MS);
	tasks[hog].allowed[0] = all;
	if (kernel->set_allowed(on(5), hog, allowed))
		fail("set_allowed", 1, 0);
	reschedule_all();
	run_until(now + 200 * MS);
	if (tasks[hog].cpu < 4)
		fail("CPU of the hog", (u64)tasks[hog].cpu, 4);
	if (!moves[KS_CAUSE_ACTIVE])
		fail("active balances", moves[KS_CAUSE_ACTIVE], 1);
}

static void affinity(void)
{
	u64 allowed[KS_MASK_WORDS] = { 1 << 3 };
	s32 hog;

	boot(4, 1, 1, 1, 0, 0);
	hog = spawn(1, 0, 0, 0, FG_SCHED_OTHER, 1, 1);
	run_until(now + 20 * MS);
	tasks[hog].allowed[0] |= allowed[0];
	if (kernel->set_allowed(on(0), hog, allowed))
		fail("set_allowed", 1, 0);
	reschedule_all();
	run_until(now + 20 * MS);
	if (cpus[3].curr != hog || !moves[KS_CAUSE_AFFINITY])
		fail("CPU of the hog", (u64)tasks[hog].cpu, 3);
}

/* Small tasks on a machine with an energy model run on the little CPUs, at a low frequency. */
static void energy(void)
{
	u64 little = 0, all = 0;

	boot(8, 1, 8, 1, 4, 1);
	for (int i = 0; i < 4; i++)
		spawn(0, 300 * US, 10 * MS, 0, FG_SCHED_OTHER, 0, 8);
	run_until(now + 2000 * MS);
	for (u32 cpu = 0; cpu < nr_cpus; cpu++) {
		all += ran_on[cpu];
		little += cpu < 4 ? ran_on[cpu] : 0;
	}
	if (little * 10 < all * 9)
		fail("run time on little CPUs, us", little / US, all / US);
	/* find_energy_efficient_cpu() looks at all CPUs. */
	if (works[KS_WORK_PROBE] < placements * 7)
		fail("CPUs looked at by placements", works[KS_WORK_PROBE], placements * 7);
	if (lowest_asked != 600000)
		fail("lowest frequency asked for, kHz", lowest_asked, 600000);
}

/* A task's calls on a machine whose CPU 0 is busy: fork, uclamp, sched_yield(), affinity, exec and exit. */
static void life(void)
{
	struct ks_attr attr = { .nice = 5, .uclamp_min = 300, .uclamp_max = 600, .uclamp_set = 3 };
	struct fg_frequency_limits limits = { 1800000, 1200000, 1200000, 1500000 };
	s32 child, cpu, group;

	boot(8, 1, 4, 1, 4, 1);
	group = kernel->group_new(0);
	if (group < 1)
		fail("group", (u64)group, 1);
	if (kernel->group_write(group, "cpu.uclamp.min", "25.5") || kernel->group_write(group, "cpu.uclamp.max", "max"))
		fail("a write of clamps to a group", 1, 0);
	if (!kernel->group_write(group, "cpu.weight", "nonsense") || !kernel->group_write(group, "cpu.colour", "1"))
		fail("a nonsensical write to a group", 0, 1);
	for (cpu = 0; cpu < 8; cpu++)
		kernel->frequency_limits(on(cpu), &limits);
	kernel->idle_enter(on(1), 1, 300 * US, 1500 * US);
	spawn(0, 0, 0, 0, FG_SCHED_OTHER, 0, 1);
	child = spawn(0, 0, 0, group, FG_SCHED_OTHER, 0, 1);
	kernel->idle_exit(on(1));
	if (kernel->set_attr(on(0), child, &attr))
		fail("set_attr", 1, 0);
	attr.uclamp_min = 2000;
	if (!kernel->set_attr(on(0), child, &attr))
		fail("set_attr of a clamp out of range", 0, 1);
	run_until(now + 3000 * MS);
	near("ratio of runtimes of a task and a group of weight 100, percent", tasks[0].ran * 100 / tasks[child].ran, 100);
	while (cpus[0].curr != child)
		run_until(now + MS);
	kernel->yield(on(0));
	schedule(0);
	while (cpus[0].curr != child)
		run_until(now + MS);
	tasks[child].allowed[0] = 0xff;
	kernel->set_allowed(on(0), child, tasks[child].allowed);
	kernel->exec(on(0), child);
	reschedule_all();
	run_until(now + MS);
	cpu = tasks[child].cpu;
	if (!cpu || !moves[KS_CAUSE_EXEC] || cpus[cpu].curr != child)
		fail("CPU after an exec", (u64)cpu, 1);
	kernel->exit(on(cpu));
	schedule(cpu);
	if (cpus[cpu].curr == child)
		fail("current task after its end", (u64)child, 0);
	run_until(now + 50 * MS);
}

/* RT tasks forked on one CPU: they are pushed away or pulled. */
static void rt_balance(void)
{
	s32 a, b;

	boot(4, 1, 1, 1, 0, 0);
	a = spawn(1, 3 * MS, 1 * MS, 0, FG_SCHED_FIFO, 0, 4);
	b = spawn(1, 3 * MS, 1 * MS, 0, FG_SCHED_FIFO, 0, 4);
	for (int i = 0; i < 4; i++)
		spawn(1, 3 * MS, 1 * MS, 0, FG_SCHED_FIFO, 0, 2);
	run_until(now + 400 * MS);
	near("bursts of the first RT task, ms", tasks[a].ran / MS, 300);
	near("bursts of the second RT task, ms", tasks[b].ran / MS, 300);
	if (!moves[KS_CAUSE_RT])
		fail("pushes and pulls", 0, 1);
}

static const struct {
	const char *name;
	void (*run)(void);
} scenarios[] = {
	{ "asymmetric", asymmetric }, { "clustered", clustered }, { "smt", smt }, { "smt4", smt4 },
	{ "family", family }, { "weights", weights },
	{ "bandwidth", bandwidth }, { "realtime", realtime }, { "misfit", misfit }, { "affinity", affinity },
	{ "energy", energy }, { "life", life }, { "rt_balance", rt_balance },
};

/* Runs a scenario twice, in two processes because a process has one kernel. Both runs must have the same hash. */
static int run_scenario(const char *self, const char *library, const char *name)
{
	char command[4096], first[32] = "", second[32] = "";

	for (int i = 0; i < 2; i++) {
		char *to = i ? second : first;
		FILE *out;

		snprintf(command, sizeof(command), "'%s' '%s' %s", self, library, name);
		out = popen(command, "r");
		if (!out || !fgets(to, sizeof(first), out) || pclose(out)) {
			fprintf(stderr, "%s: failed\n", name);
			return 1;
		}
	}
	if (strcmp(first, second)) {
		fprintf(stderr, "%s: two runs differ\n", name);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const u32 nr = sizeof(scenarios) / sizeof(*scenarios);
	int failed = 0;

	if (argc == 2) {
		for (u32 i = 0; i < nr; i++)
			failed |= run_scenario(argv[0], argv[1], scenarios[i].name);
		return failed;
	}
	for (u32 i = 0; i < nr && argc == 3; i++) {
		const struct ks_kernel *(*entry)(void);
		void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);

		if (strcmp(argv[2], scenarios[i].name))
			continue;
		if (!library) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		*(void **)&entry = dlsym(library, "ks_kernel");
		kernel = entry();
		scenario = argv[2];
		scenarios[i].run();
		no_warnings();
		printf("%016llx\n", hash);
		if (getenv("SMOKE_STATS")) {
			fprintf(stderr, "%s: placements %llu balances %llu moved %llu causes", scenario, placements,
				balances, moved_by_balance);
			for (int k = 0; k < 8; k++)
				fprintf(stderr, " %llu", moves[k]);
			fprintf(stderr, " works");
			for (int k = 0; k < KS_NR_WORKS; k++)
				fprintf(stderr, " %llu", works[k]);
			fprintf(stderr, "\n");
		}
		return 0;
	}
	fprintf(stderr, "usage: smoke LIBKSCHED [SCENARIO]\n");
	return 1;
}
