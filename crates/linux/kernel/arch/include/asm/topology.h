/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_SIM_TOPOLOGY_H
#define _ASM_SIM_TOPOLOGY_H

#include <linux/cpumask.h>
#include <linux/types.h>

/* A CPU as struct ks_machine describes it. */
struct ks_topology {
	int package;
	int core;
	int cluster;
	unsigned long capacity;
	unsigned long freq_scale;
	unsigned long freq_ref;
	unsigned long pressure;		/* of hardware; of cooling devices too in trees without a cpufreq pressure */
	cpumask_t smt;
	cpumask_t clustered;
	cpumask_t mc;
};

extern struct ks_topology ks_topology[];
extern cpumask_t ks_node_mask[];
int ks_node_distance(int from, int to);
const struct cpumask *cpu_clustergroup_mask(int cpu);
const struct cpumask *cpu_coregroup_mask(int cpu);

#define topology_physical_package_id(cpu) (ks_topology[cpu].package)
#define topology_die_id(cpu) (ks_topology[cpu].package)
#define topology_cluster_id(cpu) (ks_topology[cpu].cluster)
#define topology_core_id(cpu) (ks_topology[cpu].core)
#define topology_sibling_cpumask(cpu) (&ks_topology[cpu].smt)
#define topology_cluster_cpumask(cpu) (&ks_topology[cpu].clustered)
#define topology_core_cpumask(cpu) (&ks_topology[cpu].mc)

#define cpumask_of_node(node) ((node) < 0 ? cpu_all_mask : (const struct cpumask *)&ks_node_mask[node])
#define node_distance(from, to) ks_node_distance(from, to)
#define pcibus_to_node(bus) (-1)

#define arch_scale_cpu_capacity(cpu) (ks_topology[cpu].capacity)
#define arch_scale_freq_capacity(cpu) (ks_topology[cpu].freq_scale)
#define arch_scale_freq_invariant() true
#define arch_scale_freq_ref(cpu) (ks_topology[cpu].freq_ref)
#define arch_scale_thermal_pressure(cpu) (ks_topology[cpu].pressure)
#define arch_scale_hw_pressure(cpu) (ks_topology[cpu].pressure)

#include <asm-generic/topology.h>

#endif
