//! The captured hardware, before another machine lends the missing figures.

use crate::{CpuId, Source, SourceClass};

use super::estimate::Lender;
use super::kinds::Isa;
use super::nearest::Traits;
use super::topology::Topology;
use super::{caches, clocks, energy, idle};

/// What a tree says of the machine; tables are by CPU.
pub(super) struct Hardware {
    pub title: String,
    pub places: &'static Origins,
    pub isa: Option<Isa>,
    /// Whether a hypervisor is below.
    pub is_virtual: bool,
    pub is_zen: bool,
    pub core_names: Vec<Option<String>>,
    pub topology: Topology,
    pub caches: Vec<caches::CacheInfo>,
    pub capacities: Vec<u32>,
    /// Where the capacities come from.
    pub capacity_source: Source,
    /// capacity-dmips-mhz, where that is known and capacities follow from it.
    pub efficiencies: Option<Vec<u32>>,
    pub clocks: Vec<clocks::Clock>,
    pub idle: Vec<Vec<idle::State>>,
    pub energy: Vec<energy::Domain>,
}

/// Where in a tree figures stand, for their sources.
pub(super) struct Origins {
    /// Names the kind of tree, for notes.
    pub tree: &'static str,
    pub topology: &'static str,
    pub distances: &'static str,
    pub caches: &'static str,
    pub transition: &'static str,
    /// The part of the tree that lists frequencies.
    pub frequencies: &'static str,
    pub power: &'static str,
    pub idle: &'static str,
    /// Which of its parts may contradict each other.
    pub conflict_help: &'static str,
}

/// The places of figures in sysfs and debugfs.
pub(super) const SYSFS: Origins = Origins {
    tree: "sysfs",
    topology: "sysfs, devices/system/cpu/cpuN/topology, cpuN/cache, devices/system/node",
    distances: "sysfs, devices/system/node/nodeN/distance",
    caches: "sysfs, devices/system/cpu/cpuN/cache/indexN",
    transition: "sysfs, cpufreq/policyN/cpuinfo_transition_latency",
    frequencies: "cpufreq",
    power: "debugfs, energy_model",
    idle: "sysfs, devices/system/cpu/cpuN/cpuidle/stateN",
    conflict_help: "the files of devices/system/cpu/cpuN/{topology,cache} and devices/system/node disagree",
};

/// The places of figures in a device tree.
pub(super) const DEVICE_TREE: Origins = Origins {
    tree: "the device tree",
    topology: "device tree, cpu-map, next-level-cache, numa-node-id",
    distances: "device tree, distance-map",
    caches: "device tree, cache-size and d-cache-size",
    transition: "device tree, clock-latency-ns",
    frequencies: "the operating points",
    power: "device tree, dynamic-power-coefficient x MHz x V^2 of the operating points",
    idle: "device tree, idle-states",
    conflict_help: "cpu-map, next-level-cache, power-domains and numa-node-id disagree",
};

impl Hardware {
    /// Capacities from efficiencies: efficiency x top clock, the greatest 1024, rounded down as the kernel does
    /// (drivers/base/arch_topology.c). A top clock that the tree does not have is the lender's; as long as there is
    /// none, all clocks count as equal.
    pub fn derive_capacities(&mut self, lender: Option<&Lender>) {
        let Some(efficiencies) = &self.efficiencies else { return };
        let stated = |cpu: CpuId| self.clocks.iter().find(|clock| clock.cpus.test(cpu))?.khz.last().copied();
        let lent = |cpu: usize| {
            let name = self.core_names[cpu].as_deref();
            lender.map_or(1, |lender| lender.core(name, self.capacities[cpu]).top_khz())
        };
        let are_stated = (0..efficiencies.len()).all(|cpu| stated(cpu as CpuId).is_some());
        let top = |cpu: usize| match lender {
            None if !are_stated => 1,
            _ => stated(cpu as CpuId).unwrap_or_else(|| lent(cpu)),
        };
        let raw = |(cpu, dmips): (usize, &u32)| u128::from(*dmips) * u128::from(top(cpu));
        let raw: Vec<u128> = efficiencies.iter().enumerate().map(raw).collect();
        let greatest = raw.iter().copied().max().unwrap_or(1).max(1);
        self.capacity_source = match lender.filter(|_| !are_stated) {
            None => Source::Published(SourceClass::Declared, "device tree, capacity-dmips-mhz x top clock".into()),
            Some(lender) => {
                let name = lender.name();
                Source::Estimate(format!("from {name}: top clocks; capacity-dmips-mhz from the device tree"))
            }
        };
        self.capacities = raw.into_iter().map(|raw| ((raw * 1024 / greatest) as u32).max(1)).collect();
    }

    pub fn traits(&self) -> Traits {
        let mut cores: Vec<String> = self.core_names.iter().flatten().cloned().collect();
        cores.sort_unstable();
        cores.dedup();
        let topology = &self.topology;
        Traits {
            isa: self.isa.or((!cores.is_empty()).then_some(Isa::Arm64)),
            cores,
            is_asymmetric: self.capacities.iter().any(|capacity| *capacity != self.capacities[0]),
            has_smt: topology.cores.iter().any(|core| core.count() > 1),
            top_khz: self.clocks.iter().filter_map(|clock| clock.khz.last().copied()).max(),
            has_nodes: topology.nodes.len() > 1,
            has_clusters: topology.clusters.iter().any(|cluster| cluster.shares_cache),
            nr_llcs: topology.llcs.len(),
            nr_cpus: self.capacities.len(),
        }
    }
}
