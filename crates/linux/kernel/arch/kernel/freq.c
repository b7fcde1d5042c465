// SPDX-License-Identifier: GPL-2.0-only
/* Clocks of the CPUs: their limits, as drivers/base/arch_topology.c and cpufreq tell the scheduler of them. */
#include "sim.h"
#include <linux/cpufreq.h>

#ifdef KS_HAS_CPUFREQ_PRESSURE
DEFINE_PER_CPU(unsigned long, cpufreq_pressure);
#endif

static unsigned long capacity_lost(int cpu, u32 top, u32 limit)
{
	unsigned long capacity = ks_topology[cpu].capacity;

	if (!top || limit >= top)
		return 0;
	return capacity - mult_frac(capacity, (unsigned long)limit, (unsigned long)top);
}

void ks_frequency_limits(s32 cpu, const struct fg_frequency_limits *limits)
{
#ifdef KS_HAS_CPUFREQ_PRESSURE
	per_cpu(cpufreq_pressure, cpu) = capacity_lost(cpu, limits->top, limits->policy);
	ks_topology[cpu].pressure = capacity_lost(cpu, limits->top, limits->hardware);
#else
	/* Cooling devices are told apart from the hardware only by trees that have a pressure for cpufreq. */
	ks_topology[cpu].pressure = capacity_lost(cpu, limits->top, min(limits->hardware, limits->cooling));
#endif
}

void ks_init_frequency(const struct ks_machine *machine)
{
	u32 i;

	for (i = 0; i < machine->nr_pds; i++) {
		const struct ks_pd *pd = &machine->pds[i];
		unsigned int cpu;

		for (cpu = 0; cpu < ks_nr_cpus; cpu++)
			if (machine->cpus[cpu].pd == pd->cpu)
				ks_topology[cpu].freq_ref = pd->opps[pd->nr_opps - 1].khz;
	}
}

void ks_energy_ready(void)
{
}
