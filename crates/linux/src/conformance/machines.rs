//! The machines on which kernels are refereed: each makes other rules of the placement reachable.

use fairground_machine::{Cluster, CpuMask, Machine, MachineError};

/// The governors for which a machine or a workload is useful to the referee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GovernorSet {
    /// The governor `performance`.
    Performance,
    /// The governor `schedutil`, with energy-aware wakeups.
    Schedutil,
    /// Both governors.
    Both,
}

impl GovernorSet {
    /// Whether it includes `governor`.
    pub fn includes(self, schedutil: bool) -> bool {
        match self {
            GovernorSet::Both => true,
            GovernorSet::Schedutil => schedutil,
            GovernorSet::Performance => !schedutil,
        }
    }
}

/// A machine of the referee.
pub struct ConformanceMachine {
    /// Name of the machine, as the user writes it.
    pub name: &'static str,
    /// Describes the machine in one line.
    pub title: &'static str,
    /// The governors for which it is useful.
    pub under: GovernorSet,
    build: fn() -> Result<Machine, MachineError>,
}

impl ConformanceMachine {
    /// Builds the machine.
    ///
    /// # Errors
    /// A preset that does not load.
    pub fn machine(&self) -> Result<Machine, MachineError> {
        let machine = (self.build)()?;
        Ok(Machine { name: self.name.into(), title: self.title.into(), ..machine })
    }

    /// The machine with this name.
    pub fn find(name: &str) -> Option<&'static ConformanceMachine> {
        MACHINES.iter().find(|shape| shape.name == name)
    }
}

/// All machines. Those without a preset are made up and have the costs of [`fairground_machine::Costs::plausible`].
pub const MACHINES: &[ConformanceMachine] = &[
    ConformanceMachine {
        name: "one-llc",
        title: "8 equal CPUs behind one cache",
        under: GovernorSet::Performance,
        build: || Ok(Machine::symmetric(8)),
    },
    ConformanceMachine {
        name: "smt",
        title: "8 cores of 2 threads, 4 cores behind each of two caches",
        under: GovernorSet::Performance,
        build: || Ok(server(&Parts { cpus: 16, per_core: 2, per_cluster: 0, per_llc: 8, per_node: 16 })),
    },
    ConformanceMachine {
        name: "clustered",
        title: "two nodes of 24 CPUs, each one cache and six clusters of four",
        under: GovernorSet::Performance,
        build: || Ok(server(&Parts { cpus: 48, per_core: 1, per_cluster: 4, per_llc: 24, per_node: 24 })),
    },
    ConformanceMachine {
        name: "clustered-smt",
        title: "two nodes of 16 CPUs, each one cache and two clusters of four cores of two threads",
        under: GovernorSet::Performance,
        build: || Ok(server(&Parts { cpus: 32, per_core: 2, per_cluster: 8, per_llc: 16, per_node: 16 })),
    },
    ConformanceMachine {
        name: "clustered-odd",
        title: "16 CPUs behind one cache: two clusters of four with ids that alternate, one of three, two of two, a CPU alone",
        under: GovernorSet::Performance,
        build: || Ok(clustered_odd()),
    },
    ConformanceMachine {
        name: "clustered-dies",
        title: "four nodes on two sockets, each one cache and two clusters of four",
        under: GovernorSet::Performance,
        build: || Ok(clustered_dies()),
    },
    ConformanceMachine {
        name: "clustered-capacities",
        title: "DynamIQ: eight CPUs of capacity 250, 600 and 1024 behind one cache, two and two of them also behind one of their own",
        under: GovernorSet::Performance,
        build: || Ok(clustered_capacities()),
    },
    ConformanceMachine {
        name: "kunpeng920",
        title: "four nodes on two sockets, each one cache and six clusters of four CPUs",
        under: GovernorSet::Performance,
        build: || Machine::preset("kunpeng920"),
    },
    ConformanceMachine {
        name: "hikey960",
        title: "big.LITTLE: four CPUs of capacity 462 and four of 1024, a cache each",
        under: GovernorSet::Both,
        build: || Machine::preset("hikey960"),
    },
    ConformanceMachine {
        name: "three-capacities",
        title: "DynamIQ: CPUs of capacity 250, 600 and 1024 behind one cache",
        under: GovernorSet::Performance,
        build: || Ok(three_capacities()),
    },
    ConformanceMachine {
        name: "hybrid",
        title: "four cores of two threads and capacity 1024, four of one thread and 600, behind one cache",
        under: GovernorSet::Performance,
        build: || Ok(hybrid()),
    },
    ConformanceMachine {
        name: "two-nodes",
        title: "two NUMA nodes of 16 CPUs, one cache each",
        under: GovernorSet::Performance,
        build: || Ok(server(&Parts { cpus: 32, per_core: 1, per_cluster: 0, per_llc: 16, per_node: 16 })),
    },
    ConformanceMachine {
        name: "pixel6",
        title: "DynamIQ: four CPUs, two and two, three clocks, of which two share a cache and a supply",
        under: GovernorSet::Schedutil,
        build: || Machine::preset("pixel6"),
    },
    ConformanceMachine {
        name: "rb5",
        title: "DynamIQ: four CPUs, three and one, which has a clock of its own",
        under: GovernorSet::Schedutil,
        build: || Machine::preset("rb5"),
    },
    ConformanceMachine {
        name: "juno-r2",
        title: "big.LITTLE: six CPUs, the big ones 1 and 2 amid the little ones",
        under: GovernorSet::Schedutil,
        build: || Machine::preset("juno-r2"),
    },
];

/// CPUs in each part of a regular machine.
struct Parts {
    cpus: u32,
    per_core: u32,
    /// CPUs of a cluster that shares a cache; 0: no such clusters.
    per_cluster: u32,
    per_llc: u32,
    per_node: u32,
}

fn server(parts: &Parts) -> Machine {
    let mut m = Machine::symmetric(parts.cpus as usize);
    let cluster = if parts.per_cluster > 0 { parts.per_cluster } else { parts.per_node };
    for cpu in &mut m.cpus {
        let id = cpu.id;
        (cpu.core, cpu.cluster, cpu.llc) = (id / parts.per_core, id / cluster, id / parts.per_llc);
        (cpu.package, cpu.node) = (id / parts.per_node, id / parts.per_node);
    }
    let cut =
        |size: u32| -> Vec<CpuMask> { (0..parts.cpus / size).map(|i| (i * size..(i + 1) * size).collect()).collect() };
    (m.cores, m.llcs, m.packages, m.nodes) =
        (cut(parts.per_core), cut(parts.per_llc), cut(parts.per_node), cut(parts.per_node));
    let shares_cache = parts.per_cluster > 0;
    let clusters = cut(cluster).into_iter();
    m.clusters = clusters.map(|cpus| Cluster { cpus, shares_cache, active_mw: 50.0, idle_mw: 50.0 }).collect();
    let nodes = m.nodes.len();
    m.numa_distance = (0..nodes).map(|a| (0..nodes).map(|b| if a == b { 10 } else { 20 }).collect()).collect();
    if parts.per_core > 1 {
        m.cpu_types[0].smt_throughput = vec![1000, 1250];
    }
    m
}

fn three_capacities() -> Machine {
    let mut m = Machine::symmetric(8);
    for cpu in &mut m.cpus {
        cpu.capacity = [250, 250, 250, 250, 600, 600, 1024, 1024][cpu.id as usize];
    }
    m
}

/// Gives a machine these clusters, which share a cache.
fn cluster(m: &mut Machine, clusters: &[&[u32]]) {
    let mask = |cpus: &&[u32]| cpus.iter().copied().collect();
    let whole = |cpus| Cluster { cpus, shares_cache: true, active_mw: 50.0, idle_mw: 50.0 };
    m.clusters = clusters.iter().map(mask).map(whole).collect();
    for (n, cpus) in clusters.iter().enumerate() {
        cpus.iter().for_each(|cpu| m.cpus[*cpu as usize].cluster = n as u32);
    }
}

/// A scan by CPU id alternates between these clusters, and some CPUs have no neighbour in a cluster.
fn clustered_odd() -> Machine {
    let mut m = Machine::symmetric(16);
    cluster(&mut m, &[&[0, 2, 4, 6], &[1, 3, 5, 7], &[8, 9, 10], &[11], &[12, 13], &[14, 15]]);
    m
}

fn clustered_dies() -> Machine {
    let mut m = server(&Parts { cpus: 32, per_core: 1, per_cluster: 4, per_llc: 8, per_node: 8 });
    m.packages = vec![(0..16).collect(), (16..32).collect()];
    m.cpus.iter_mut().for_each(|cpu| cpu.package = cpu.id / 16);
    m.numa_distance = vec![vec![10, 12, 20, 22], vec![12, 10, 22, 24], vec![20, 22, 10, 12], vec![22, 24, 12, 10]];
    m
}

fn clustered_capacities() -> Machine {
    let mut m = three_capacities();
    cluster(&mut m, &[&[0, 1], &[2, 3], &[4, 5], &[6, 7]]);
    m
}

fn hybrid() -> Machine {
    let mut m = Machine::symmetric(12);
    let mut small = m.cpu_types[0].clone();
    small.name = "small".into();
    m.cpu_types.push(small);
    m.cpu_types[0].smt_throughput = vec![1000, 1250];
    m.cores = (0..8).map(|core| if core < 4 { 2 * core..2 * core + 2 } else { core + 4..core + 5 }.collect()).collect();
    for cpu in &mut m.cpus {
        let is_big = cpu.id < 8;
        cpu.core = if is_big { cpu.id / 2 } else { cpu.id - 4 };
        (cpu.cpu_type, cpu.capacity) = if is_big { (0, 1024) } else { (1, 600) };
    }
    m
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_a_machine_that_can_be_written_and_read_back() {
        for shape in MACHINES {
            let machine = shape.machine().unwrap();
            let again = Machine::from_toml(shape.name, &machine.to_toml()).unwrap();
            assert_eq!(again.cpus, machine.cpus, "{}", shape.name);
            assert_eq!(again.name, shape.name);
        }
    }

    #[test]
    fn shapes_have_the_parts_that_their_titles_name() {
        let parts = |name: &str| {
            let m = ConformanceMachine::find(name).unwrap().machine().unwrap();
            let clusters = m.clusters.iter().filter(|c| c.shares_cache).count();
            let mut capacities: Vec<u32> = m.cpus.iter().map(|c| c.capacity).collect();
            capacities.sort_unstable();
            capacities.dedup();
            (m.nr_cpus(), m.cores.len(), clusters, m.llcs.len(), m.nodes.len(), capacities)
        };
        assert_eq!(parts("one-llc"), (8, 8, 0, 1, 1, vec![1024]));
        assert_eq!(parts("smt"), (16, 8, 0, 2, 1, vec![1024]));
        assert_eq!(parts("clustered"), (48, 48, 12, 2, 2, vec![1024]));
        assert_eq!(parts("clustered-smt"), (32, 16, 4, 2, 2, vec![1024]));
        assert_eq!(parts("clustered-odd"), (16, 16, 6, 1, 1, vec![1024]));
        assert_eq!(parts("clustered-dies"), (32, 32, 8, 4, 4, vec![1024]));
        assert_eq!(parts("clustered-capacities"), (8, 8, 4, 1, 1, vec![250, 600, 1024]));
        assert_eq!(parts("kunpeng920"), (96, 96, 24, 4, 4, vec![1024]));
        assert_eq!(parts("hikey960").5, [462, 1024]);
        assert_eq!(parts("three-capacities"), (8, 8, 0, 1, 1, vec![250, 600, 1024]));
        assert_eq!(parts("hybrid"), (12, 8, 0, 1, 1, vec![600, 1024]));
        assert_eq!(parts("two-nodes"), (32, 32, 0, 2, 2, vec![1024]));
    }
}
