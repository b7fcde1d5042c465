//! What is known of a machine before another one lends it the rest.

use crate::Source;

use super::kinds::Isa;
use super::nearest::Traits;
use super::topology::Topology;
use super::{caches, clocks, energy, idle};

/// What a tree says of the machine; tables are by CPU.
pub(super) struct Seen {
    pub title: String,
    pub places: &'static Places,
    pub isa: Option<Isa>,
    pub is_zen: bool,
    pub core_names: Vec<Option<String>>,
    pub topology: Topology,
    pub caches: Vec<caches::Seen>,
    pub capacities: Vec<u32>,
    /// What the capacities rest on.
    pub capacity_source: Source,
    pub clocks: Vec<clocks::Clock>,
    pub idle: Vec<Vec<idle::State>>,
    pub energy: Vec<energy::Domain>,
}

/// Where in a tree figures stand, for their sources.
pub(super) struct Places {
    /// What kind of tree it is, in words.
    pub tree: &'static str,
    pub topology: &'static str,
    pub distances: &'static str,
    pub caches: &'static str,
    pub transition: &'static str,
    /// What states frequencies.
    pub frequencies: &'static str,
    pub power: &'static str,
    pub idle: &'static str,
    /// Which of its parts may contradict each other.
    pub disagreeing: &'static str,
}

/// Of sysfs and debugfs.
pub(super) const SYSFS: Places = Places {
    tree: "sysfs",
    topology: "sysfs, devices/system/cpu/cpuN/topology, cpuN/cache, devices/system/node",
    distances: "sysfs, devices/system/node/nodeN/distance",
    caches: "sysfs, devices/system/cpu/cpuN/cache/indexN",
    transition: "sysfs, cpufreq/policyN/cpuinfo_transition_latency",
    frequencies: "cpufreq",
    power: "debugfs, energy_model",
    idle: "sysfs, devices/system/cpu/cpuN/cpuidle/stateN",
    disagreeing: "the files of devices/system/cpu/cpuN/{topology,cache} and devices/system/node disagree",
};

/// Of a device tree.
pub(super) const DEVICE_TREE: Places = Places {
    tree: "the device tree",
    topology: "device tree, cpu-map, next-level-cache, numa-node-id",
    distances: "device tree, distance-map",
    caches: "device tree, cache-size and d-cache-size",
    transition: "device tree, clock-latency-ns",
    frequencies: "the operating points",
    power: "device tree, dynamic-power-coefficient x MHz x V^2 of the operating points",
    idle: "device tree, idle-states",
    disagreeing: "cpu-map, next-level-cache, power-domains and numa-node-id disagree",
};

impl Seen {
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
