// SPDX-License-Identifier: GPL-2.0-only
/* Boots the scheduler on the host's machine, in the order of start_kernel(); the architecture's topology. */
#include "sim.h"
#include <linux/sched/init.h>
#include <linux/sched_clock.h>
#include <linux/sched/topology.h>
#include <linux/utsname.h>

struct ks_topology ks_topology[NR_CPUS];
cpumask_t ks_node_mask[MAX_NUMNODES];

static u32 *distance;

int ks_node_distance(int from, int to)
{
	return distance[from * nr_node_ids + to];
}

const struct cpumask *cpu_clustergroup_mask(int cpu)
{
	return &ks_topology[cpu].clustered;
}

const struct cpumask *cpu_coregroup_mask(int cpu)
{
	return &ks_topology[cpu].mc;
}

unsigned int ks_smt_threads = 1;

/* ---- per-CPU memory: each CPU has a copy of the link script's section, followed by room for alloc_percpu() ------- */

/* Address space for alloc_percpu() of each CPU; a page takes memory only once it is written. */
#define DYNAMIC_SIZE (8UL << 20)

unsigned long __per_cpu_offset[NR_CPUS];
extern char __per_cpu_start[], __per_cpu_end[];

static unsigned long static_size, dynamic_used;

void *ks_reserve(unsigned long size);	/* host/host.c: zeroed memory that is never freed */

static void init_percpu(void)
{
	unsigned long unit;
	unsigned int cpu;
	char *area;

	static_size = ALIGN(__per_cpu_end - __per_cpu_start, PAGE_SIZE);
	unit = static_size + DYNAMIC_SIZE;
	area = ks_reserve(unit * ks_nr_cpus);
	for (cpu = 0; cpu < ks_nr_cpus; cpu++) {
		memcpy(area + unit * cpu, __per_cpu_start, __per_cpu_end - __per_cpu_start);
		__per_cpu_offset[cpu] = (unsigned long)(area + unit * cpu) - (unsigned long)__per_cpu_start;
	}
}

/* By order: the area of 2^order bytes that was freed last. Its first word on CPU 0 is the one freed before it. */
static void *freed_areas[BITS_PER_LONG];
/* The order of the area that begins at 8 times the index. */
static u8 area_order[DYNAMIC_SIZE / 8];

static void *take_freed(unsigned int order)
{
	void *area = freed_areas[order];
	unsigned int cpu;

	freed_areas[order] = *(void **)(area + __per_cpu_offset[0]);
	for (cpu = 0; cpu < ks_nr_cpus; cpu++)
		memset(area + __per_cpu_offset[cpu], 0, 1UL << order);
	return area;
}

/*
 * Aligns an area to its size, so the requested alignment can be ignored. Trees differ in the function's name and its
 * further arguments.
 */
void *ks_alloc_percpu(size_t size);
void *ks_alloc_percpu(size_t size)
{
	unsigned long whole = roundup_pow_of_two(max(size, 8UL));
	unsigned long at = ALIGN(dynamic_used, min(whole, PAGE_SIZE));
	unsigned int order = ilog2(whole);

	if (freed_areas[order])
		return take_freed(order);
	if (whole > DYNAMIC_SIZE - at)
		return NULL;
	dynamic_used = at + whole;
	area_order[at / 8] = order;
	return __per_cpu_start + static_size + at;
}

void *ks_pcpu_alloc(size_t size) asm("pcpu_alloc_noprof") __alias(ks_alloc_percpu);
void *ks_alloc_percpu_gfp(size_t size) asm("__alloc_percpu_gfp") __alias(ks_alloc_percpu);
void *ks_alloc_percpu_plain(size_t size) asm("__alloc_percpu") __alias(ks_alloc_percpu);

void free_percpu(void __percpu *p)
{
	void *area = (void __force *)p;
	unsigned int order;

	if (!area)
		return;
	order = area_order[(area - (void *)__per_cpu_start - static_size) / 8];
	*(void **)(area + __per_cpu_offset[0]) = freed_areas[order];
	freed_areas[order] = area;
}

/* ---- kmalloc() --------------------------------------------------------------------------------------------------- */

void *ks_new_cache(unsigned long size);	/* host/host.c: what kmem_cache_alloc() takes */

/* Up to v6.0 kmalloc() of a constant size is kmem_cache_alloc() of one of these caches, which alone know the size. */
static void init_kmalloc(void)
{
	unsigned int type, index;

	for (type = 0; type < ARRAY_SIZE(kmalloc_caches); type++)
		for (index = 1; index < ARRAY_SIZE(kmalloc_caches[0]); index++)
			kmalloc_caches[type][index] = ks_new_cache(index == 1 ? 96 : index == 2 ? 192 : 1UL << index);
}

/* ---- masks and nodes ------------------------------------------------------------------------------------------- */

void ks_set_mask(const u64 *bits, struct cpumask *to)
{
	unsigned int cpu;

	cpumask_clear(to);
	for (cpu = 0; cpu < ks_nr_cpus; cpu++)
		if (bits[cpu / 64] >> (cpu % 64) & 1)
			cpumask_set_cpu(cpu, to);
}

static unsigned int first_cpu(const u64 *bits)
{
	struct cpumask mask;

	ks_set_mask(bits, &mask);
	return cpumask_first(&mask);
}

static void init_cpu(unsigned int cpu, const struct ks_cpu_desc *desc)
{
	struct ks_topology *topology = &ks_topology[cpu];

	ks_set_mask(desc->cluster, &topology->clustered);
	ks_set_mask(desc->mc, &topology->mc);
	topology->package = desc->package;
	topology->core = first_cpu(desc->smt);
	topology->cluster = cpumask_first(&topology->clustered);
	topology->capacity = desc->capacity;
	topology->freq_scale = SCHED_CAPACITY_SCALE;
	cpumask_set_cpu(cpu, &ks_node_mask[desc->node]);
	cpumask_set_cpu(cpu, &__cpu_possible_mask);
	cpumask_set_cpu(cpu, &__cpu_present_mask);
}

static void init_machine(const struct ks_machine *machine)
{
	unsigned int cpu, node;

	nr_cpu_ids = ks_nr_cpus;
	nr_node_ids = machine->nr_nodes;
	nr_online_nodes = machine->nr_nodes;
	node_reclaim_distance = machine->node_reclaim_distance;
	distance = kcalloc(machine->nr_nodes * machine->nr_nodes, sizeof(*distance), GFP_KERNEL);
	memcpy(distance, machine->distance, machine->nr_nodes * machine->nr_nodes * sizeof(*distance));
	for (node = 0; node < machine->nr_nodes; node++) {
		node_set(node, node_states[N_POSSIBLE]);
		node_set(node, node_states[N_ONLINE]);
		node_set(node, node_states[N_MEMORY]);
		node_set(node, node_states[N_CPU]);
	}
	for (cpu = 0; cpu < ks_nr_cpus; cpu++)
		init_cpu(cpu, &machine->cpus[cpu]);
	init_percpu();
	for (cpu = 0; cpu < ks_nr_cpus; cpu++)
		per_cpu(numa_node, cpu) = machine->cpus[cpu].node;
}

/* ---- hotplug: architectures take a CPU that goes offline out of these masks ---------------------------------------- */

static const struct ks_machine *described;

void ks_leave_topology(int cpu)
{
	unsigned int other;

	for (other = 0; other < ks_nr_cpus; other++) {
		cpumask_clear_cpu(cpu, &ks_topology[other].smt);
		cpumask_clear_cpu(cpu, &ks_topology[other].clustered);
		cpumask_clear_cpu(cpu, &ks_topology[other].mc);
	}
	cpumask_copy(&ks_topology[cpu].smt, cpumask_of(cpu));
	cpumask_copy(&ks_topology[cpu].clustered, cpumask_of(cpu));
	cpumask_copy(&ks_topology[cpu].mc, cpumask_of(cpu));
	cpumask_clear_cpu(cpu, &ks_node_mask[described->cpus[cpu].node]);
}

/* Puts the CPU and those online into each other's masks, as far as the machine says. */
static void join_mask(int cpu, const u64 *bits, size_t mask)
{
	struct cpumask near;
	unsigned int other;

	ks_set_mask(bits, &near);
	for_each_cpu(other, &near) {
		if (other != cpu && !cpu_online(other))
			continue;
		cpumask_set_cpu(cpu, (struct cpumask *)((void *)&ks_topology[other] + mask));
		cpumask_set_cpu(other, (struct cpumask *)((void *)&ks_topology[cpu] + mask));
	}
}

void ks_join_topology(int cpu)
{
	const struct ks_cpu_desc *desc = &described->cpus[cpu];

	join_mask(cpu, desc->smt, offsetof(struct ks_topology, smt));
	join_mask(cpu, desc->cluster, offsetof(struct ks_topology, clustered));
	join_mask(cpu, desc->mc, offsetof(struct ks_topology, mc));
	cpumask_set_cpu(cpu, &ks_node_mask[desc->node]);
}

/* ---- boot -------------------------------------------------------------------------------------------------------- */

/*
 * Adds a CPU to the SMT masks of the threads of its core that are up. sched_cpu_activate() requires this order: it
 * turns sched_smt_present on when cpu_smt_mask() of the new CPU has a weight of two.
 */
static void join_core(unsigned int cpu, const u64 *core)
{
	unsigned int thread;

	for (thread = 0; thread <= cpu; thread++) {
		if (!(core[thread / 64] >> (thread % 64) & 1))
			continue;
		cpumask_set_cpu(cpu, &ks_topology[thread].smt);
		cpumask_set_cpu(thread, &ks_topology[cpu].smt);
	}
}

/* Makes the CPU's idle task as fork_idle() does: a copy of init_task, which is the idle task of CPU 0. */
static void start_other(unsigned int cpu)
{
	struct task_struct *idle = ks_new_task("swapper", 0);

	idle->flags |= PF_IDLE;
	cpumask_copy(&idle->cpus_mask, cpumask_of(cpu));
	sched_fork(0, idle);
	init_idle(idle, cpu);
	ks_enter(cpu);
	set_cpu_online(cpu, true);
	sched_cpu_starting(cpu);
}

static void bring_up(unsigned int cpu, const struct ks_cpu_desc *desc)
{
	join_core(cpu, desc->smt);
	ks_smt_threads = max(ks_smt_threads, cpumask_weight(&ks_topology[cpu].smt));
	if (cpu)
		start_other(cpu);
	ks_new_stopper(cpu);
	ks_enter(cpu);
	sched_cpu_activate(cpu);
}

/*
 * sched_init_smp() builds the domains in the context of a task, and allows that task to run on any CPU. Here the task
 * is the stopper of CPU 0, because stoppers do not contribute to any PELT signal; afterwards it is bound to CPU 0
 * again.
 */
static void build_domains(void)
{
	struct task_struct *stopper = ks_stopper_task(0);

	wake_up_process(stopper);
	ks_switch();
	sched_init_smp();
	set_cpus_allowed_ptr(stopper, cpumask_of(0));
	stopper->flags |= PF_NO_SETAFFINITY;
	system_state = SYSTEM_RUNNING;
	ks_start_governors();
	WRITE_ONCE(stopper->ks_state, TASK_INTERRUPTIBLE);
	ks_switch();
}

s32 ks_boot(const struct ks_host *host, const struct ks_machine *machine)
{
	unsigned int cpu;

	if (host->size != sizeof(*host) || machine->size != sizeof(*machine) || ks_host)
		return -EINVAL;
	if (!machine->nr_cpus || machine->nr_cpus > NR_CPUS || machine->nr_nodes > MAX_NUMNODES)
		return -E2BIG;
	ks_host = host;
	described = machine;
	ks_nr_cpus = machine->nr_cpus;
	ks_seed_random(machine->seed);
	init_kmalloc();
	init_machine(machine);
	ks_init_timers();
	set_cpu_online(0, true);
	sched_init();
	init_task.flags |= PF_IDLE;
	ks_init_groups();
	sched_clock_init();
	ks_watch_classes();
	system_state = SYSTEM_SCHEDULING;
	enable_sched_clock_irqtime();
	ks_init_frequency(machine);
	for (cpu = 0; cpu < ks_nr_cpus; cpu++)
		bring_up(cpu, &machine->cpus[cpu]);
	ks_enter(0);
	build_domains();
	ks_leave();
	return 0;
}
