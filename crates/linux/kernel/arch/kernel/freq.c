// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clocks of the CPUs. Frequency limits, which drivers/base/arch_topology.c and cpufreq report to the scheduler; and as
 * much of cpufreq as the tree's schedutil and its energy models need: a policy for each clock. The host sets the
 * frequencies that the governor requests.
 *
 * DEVIATION: all frequency changes are fast switches, made in the scheduler's context, also on machines whose driver
 * would need a kernel thread for them.
 */
#include "sim.h"
#include <linux/cpufreq.h>
#include <linux/device.h>
#include <linux/energy_model.h>

#ifdef KS_HAS_CPUFREQ_PRESSURE
DEFINE_PER_CPU(unsigned long, cpufreq_pressure);
#endif

extern struct cpufreq_governor schedutil_gov;
u32 ks_asked_khz;

/* A clock: its policy, and its operating points with their power. */
struct clock {
	struct cpufreq_policy policy;
	const struct ks_opp *opps;
	u32 nr_opps;
};

static struct clock *clocks;
static u32 nr_clocks;
static struct clock **clock_of;	/* by CPU; NULL if schedutil does not run */
static struct device *devices;

struct device *get_cpu_device(unsigned int cpu)
{
	return &devices[cpu];
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

static unsigned long capacity_lost(int cpu, u32 top, u32 limit)
{
	unsigned long capacity = ks_topology[cpu].capacity;

	if (limit >= top)
		return 0;
	return capacity - mult_frac(capacity, (unsigned long)limit, (unsigned long)top);
}

static void limit_policy(struct cpufreq_policy *policy, u32 khz)
{
	khz = clamp(khz, policy->cpuinfo.min_freq, policy->cpuinfo.max_freq);
	if (policy->max == khz)
		return;
	policy->max = khz;
	if (policy->governor && policy->governor->limits)
		policy->governor->limits(policy);
}

void ks_frequency_limits(s32 cpu, const struct fg_frequency_limits *limits)
{
	ks_enter(cpu);
#ifdef KS_HAS_CPUFREQ_PRESSURE
	per_cpu(cpufreq_pressure, cpu) = capacity_lost(cpu, limits->top, limits->policy);
	ks_topology[cpu].pressure = capacity_lost(cpu, limits->top, limits->hardware);
#else
	/* Trees without a cpufreq pressure have one pressure for the hardware and the cooling devices. */
	ks_topology[cpu].pressure = capacity_lost(cpu, limits->top, min(limits->hardware, limits->cooling));
#endif
	if (clock_of)
		limit_policy(&clock_of[cpu]->policy, limits->policy);
	ks_leave();
}

/* ---- cpufreq's functions for governors --------------------------------------------------------------------------- */

struct cpufreq_policy *cpufreq_cpu_get(unsigned int cpu)
{
	return clock_of ? &clock_of[cpu]->policy : NULL;
}

void cpufreq_cpu_put(struct cpufreq_policy *policy)
{
}

void cpufreq_enable_fast_switch(struct cpufreq_policy *policy)
{
	policy->fast_switch_enabled = true;
}

static bool is_inefficient(const struct cpufreq_policy *policy, const struct cpufreq_frequency_table *row)
{
#ifdef KS_HAS_EFFICIENCIES
	return policy->efficiencies_available && row->flags & CPUFREQ_INEFFICIENT_FREQ;
#else
	return false;
#endif
}

/*
 * The lowest frequency within the limits that is not below khz (CPUFREQ_RELATION_L). Skips inefficient frequencies,
 * unless the limits leave no efficient one that is not below khz.
 */
unsigned int cpufreq_driver_resolve_freq(struct cpufreq_policy *policy, unsigned int khz)
{
	struct cpufreq_frequency_table *row = policy->freq_table;
	unsigned int highest = row->frequency, enough = 0;

	khz = clamp(khz, policy->min, policy->max);
	for (; row->frequency != CPUFREQ_TABLE_END && row->frequency <= policy->max; row++) {
		highest = row->frequency;
		if (highest < khz)
			continue;
		if (!is_inefficient(policy, row))
			return highest;
		if (!enough)
			enough = highest;
	}
	return enough ? enough : highest;
}

unsigned int cpufreq_driver_fast_switch(struct cpufreq_policy *policy, unsigned int khz)
{
	khz = cpufreq_driver_resolve_freq(policy, khz);
	policy->cur = khz;
	ks_asked_khz = khz;
	ks_call(frequency, policy->cpu, khz);
	return khz;
}

/* The time between two requests of a governor. LATENCY_MULTIPLIER exists up to v6.9, where cpufreq uses it. */
unsigned int cpufreq_policy_transition_delay_us(struct cpufreq_policy *policy)
{
	unsigned int latency = policy->cpuinfo.transition_latency / NSEC_PER_USEC;

	if (!latency)
		return USEC_PER_MSEC;
#ifdef LATENCY_MULTIPLIER
	return min_t(unsigned int, latency * LATENCY_MULTIPLIER, 10 * USEC_PER_MSEC);
#else
	return latency + latency / 2;
#endif
}

/* Whether each of the CPUs has a policy that schedutil governs; in trees since v6.16. */
bool cpufreq_ready_for_eas(const struct cpumask *cpus)
{
	return clock_of;
}

void gov_attr_set_init(struct gov_attr_set *set, struct list_head *node)
{
	INIT_LIST_HEAD(&set->policy_list);
	set->usage_count = 1;
	list_add(node, &set->policy_list);
}

/* ---- boot -------------------------------------------------------------------------------------------------------- */

static struct cpufreq_frequency_table *table_of(const struct ks_pd *pd)
{
	struct cpufreq_frequency_table *table = kcalloc(pd->nr_opps + 1, sizeof(*table), GFP_KERNEL);
	u32 i;

	for (i = 0; i < pd->nr_opps; i++)
		table[i].frequency = pd->opps[i].khz;
	table[i].frequency = CPUFREQ_TABLE_END;
	return table;
}

static void init_clock(struct clock *clock, const struct ks_pd *pd)
{
	struct cpufreq_policy *policy = &clock->policy;

	clock->opps = kmemdup(pd->opps, pd->nr_opps * sizeof(*pd->opps), GFP_KERNEL);
	clock->nr_opps = pd->nr_opps;
	zalloc_cpumask_var(&policy->cpus, GFP_KERNEL);
	zalloc_cpumask_var(&policy->related_cpus, GFP_KERNEL);
	zalloc_cpumask_var(&policy->real_cpus, GFP_KERNEL);
	policy->cpu = pd->cpu;
	policy->freq_table = table_of(pd);
	policy->freq_table_sorted = CPUFREQ_TABLE_SORTED_ASCENDING;
	policy->min = policy->cpuinfo.min_freq = pd->opps[0].khz;
	policy->max = policy->cpuinfo.max_freq = pd->opps[pd->nr_opps - 1].khz;
	policy->cur = policy->max;
	policy->cpuinfo.transition_latency = pd->transition_us * NSEC_PER_USEC;
	policy->fast_switch_possible = true;
	policy->dvfs_possible_from_any_cpu = true;
}

static void cover_cpu(struct clock *clock, unsigned int cpu)
{
	ks_topology[cpu].freq_ref = clock->policy.cpuinfo.max_freq;
	cpumask_set_cpu(cpu, clock->policy.cpus);
	cpumask_set_cpu(cpu, clock->policy.related_cpus);
	cpumask_set_cpu(cpu, clock->policy.real_cpus);
}

void ks_init_frequency(const struct ks_machine *machine)
{
	struct clock **of = kcalloc(ks_nr_cpus, sizeof(*of), GFP_KERNEL);
	unsigned int cpu, covered = 0;
	u32 i;

	devices = kcalloc(ks_nr_cpus, sizeof(*devices), GFP_KERNEL);
	nr_clocks = machine->nr_pds;
	clocks = kcalloc(nr_clocks, sizeof(*clocks), GFP_KERNEL);
	for (i = 0; i < nr_clocks; i++)
		init_clock(&clocks[i], &machine->pds[i]);
	for (cpu = 0; cpu < ks_nr_cpus; cpu++) {
		devices[cpu].bus = &cpu_subsys;
		for (i = 0; i < nr_clocks; i++) {
			if (machine->pds[i].cpu != machine->cpus[cpu].pd)
				continue;
			cover_cpu(&clocks[i], cpu);
			of[cpu] = &clocks[i];
			covered++;
		}
	}
	/* Governors run on all CPUs or on none. */
	if (machine->schedutil && covered == ks_nr_cpus)
		clock_of = of;
	else
		kfree(of);
}

#ifdef KS_HAS_EM_REGISTER
static struct clock *clock_of_device(struct device *dev)
{
	return clock_of[dev - devices];
}

#ifdef KS_HAS_EM_MICROWATTS
#define KS_EM_UNIT 1
#else
#define KS_EM_UNIT 1000
#endif

#ifdef KS_HAS_EM_DEVICE_FIRST
#define KS_EM_ARGUMENTS struct device *dev, unsigned long *power, unsigned long *khz
#else
#define KS_EM_ARGUMENTS unsigned long *power, unsigned long *khz, struct device *dev
#endif

/* em_data_callback: the lowest operating point that is not below *khz, and the power of a busy CPU there. */
static int active_power(KS_EM_ARGUMENTS)
{
	struct clock *clock = clock_of_device(dev);
	u32 i;

	for (i = 0; i < clock->nr_opps; i++) {
		if (clock->opps[i].khz < *khz)
			continue;
		*khz = clock->opps[i].khz;
		*power = clock->opps[i].power_uw / KS_EM_UNIT;
		return 0;
	}
	return -EINVAL;
}

static void add_energy_model(struct clock *clock)
{
	struct em_data_callback callback = EM_DATA_CB(active_power);
	int error;
	u32 i;

	for (i = 0; i < clock->nr_opps; i++)
		if (!clock->opps[i].power_uw)
			return;
#ifdef KS_HAS_EM_UNIT_ARGUMENT
	error = em_dev_register_perf_domain(get_cpu_device(clock->policy.cpu), clock->nr_opps, &callback,
					    clock->policy.cpus, true);
#else
	error = em_dev_register_perf_domain(get_cpu_device(clock->policy.cpu), clock->nr_opps, &callback,
					    clock->policy.cpus);
#endif
	if (error)
		pr_warn("CPU %u: no energy model, error %d\n", clock->policy.cpu, error);
}
#else
static void add_energy_model(struct clock *clock)
{
}
#endif

/* A new governor makes the tree queue a rebuild of its domains, now with energy models; ks_run_works() runs it. */
void ks_start_governors(void)
{
	unsigned int cpu;
	u32 i;

	if (!clock_of)
		return;
	for (i = 0; i < nr_clocks; i++)
		add_energy_model(&clocks[i]);
	for (i = 0; i < nr_clocks; i++) {
		struct cpufreq_policy *policy = &clocks[i].policy;

		policy->governor = ks_governor();
		if (policy->governor->init(policy) || policy->governor->start(policy))
			ks_fault(KS_FAULT_HOST, "schedutil does not start");
#ifdef KS_HAS_GOVERNOR_CHANGE
		sched_cpufreq_governor_change(policy, NULL);
#endif
	}
	for (cpu = 0; cpu < ks_nr_cpus; cpu++)
		ks_watch_governor(cpu);
	ks_run_works();
}
