//! Random valid machines for property tests.
//!
//! A [`Shape`] is a handful of small numbers; [`Shape::build`] turns any of them into a valid machine.

use crate::{
    Cache, Caches, Cluster, Costs, Cpu, CpuId, CpuMask, CpuType, Distance, FreqDomain, IdleScope, IdleState, Machine,
    Opp, SoftCost,
};

/// The most CPUs that [`Shape::build`] makes.
pub const MAX_CPUS: u32 = 64;

/// The shape of a regular machine: how many of each level the next one holds. Zeros count as one; a shape beyond
/// [`MAX_CPUS`] loses packages first, then whatever else is too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of packages, at least 1.
    pub packages: u32,
    /// NUMA nodes in a package.
    pub nodes: u32,
    /// Last-level caches in a node.
    pub llcs: u32,
    /// Clusters behind a last-level cache.
    pub clusters: u32,
    /// Cores in a cluster.
    pub cores: u32,
    /// Threads of a core.
    pub threads: u32,
    /// Whether sibling threads have distant ids (as on x86 servers) instead of adjacent ones.
    pub siblings_last: bool,
    /// Whether clusters are a topology level for the kernel.
    pub clusters_share_cache: bool,
    /// Core types, 1..=3, dealt to clusters in turn.
    pub types: u32,
    /// Idle states per type, 1..=3.
    pub idle_states: u32,
    /// Varies capacities, powers, latencies and costs.
    pub salt: u64,
}

impl Shape {
    /// A shape drawn from `seed`; equal seeds give equal shapes.
    pub fn from_seed(seed: u64) -> Shape {
        let draw = |n: u64, below: u64| mix(seed, n) % below;
        Shape {
            packages: 1 + draw(0, 2) as u32,
            nodes: 1 + draw(1, 2) as u32,
            llcs: 1 + draw(2, 3) as u32,
            clusters: 1 + draw(3, 3) as u32,
            cores: 1 + draw(4, 4) as u32,
            threads: 1 + (draw(5, 4) / 2) as u32,
            siblings_last: draw(6, 2) == 1,
            clusters_share_cache: draw(7, 2) == 1,
            types: 1 + draw(8, 3) as u32,
            idle_states: 1 + draw(9, 3) as u32,
            salt: mix(seed, 10),
        }
    }

    /// The machine of this shape; always valid.
    pub fn build(self) -> Machine {
        Builder::new(self.fitted()).build()
    }

    /// This shape cut to what [`MAX_CPUS`] and the other limits allow.
    fn fitted(mut self) -> Shape {
        let mut room = MAX_CPUS;
        let levels = [
            &mut self.threads,
            &mut self.cores,
            &mut self.clusters,
            &mut self.llcs,
            &mut self.nodes,
            &mut self.packages,
        ];
        for count in levels {
            *count = (*count).clamp(1, room);
            room /= *count;
        }
        self.threads = self.threads.min(8);
        self.types = self.types.clamp(1, 3);
        self.idle_states = self.idle_states.clamp(1, 3);
        self
    }
}

/// A random valid machine; equal seeds give equal machines.
pub fn machine_from_seed(seed: u64) -> Machine {
    Shape::from_seed(seed).build()
}

/// A well-mixed function of two numbers (splitmix64's finaliser).
fn mix(seed: u64, n: u64) -> u64 {
    let mut z = seed.wrapping_add(n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Builds one machine; `shape` is within limits.
struct Builder {
    shape: Shape,
    n_clusters: u32,
    n_cores: u32,
    capacities: Vec<u32>,
}

impl Builder {
    fn new(shape: Shape) -> Builder {
        let n_clusters = shape.packages * shape.nodes * shape.llcs * shape.clusters;
        let types = shape.types.min(n_clusters);
        // The last type is the biggest, so that some CPU has 1024.
        let smaller = (1..types).map(|t| 100 + (mix(shape.salt, u64::from(t)) % 900) as u32);
        let capacities = smaller.chain([1024]).collect();
        Builder { shape, n_clusters, n_cores: n_clusters * shape.cores, capacities }
    }

    fn build(&self) -> Machine {
        let s = self.shape;
        let cpus: Vec<Cpu> = (0..self.n_cores * s.threads).map(|id| self.cpu(id)).collect();
        let n_llcs = self.n_clusters / s.clusters;
        let n_nodes = n_llcs / s.llcs;
        let clusters = groups(&cpus, self.n_clusters, |c| c.cluster);
        let mut machine = Machine {
            name: format!("random-{:x}", s.salt),
            title: format!("{} CPUs of a random shape", cpus.len()),
            leaves_out: String::new(),
            cpu_types: (0..self.capacities.len() as u32).map(|t| self.cpu_type(t)).collect(),
            cores: groups(&cpus, self.n_cores, |c| c.core),
            llcs: groups(&cpus, n_llcs, |c| c.llc),
            packages: groups(&cpus, s.packages, |c| c.package),
            nodes: groups(&cpus, n_nodes, |c| c.node),
            numa_distance: self.slit(n_nodes),
            node_reclaim_distance: crate::NODE_RECLAIM_DISTANCE,
            freq_domains: clusters.iter().zip(0..).map(|(cpus, i)| self.freq_domain(*cpus, i)).collect(),
            clusters: clusters.iter().zip(0..).map(|(cpus, i)| self.cluster(*cpus, i)).collect(),
            votes: Vec::new(),
            thermal: None,
            caches: self.caches(&cpus),
            costs: self.costs(),
            figures: Vec::new(),
            cpus,
        };
        machine.restate_figures();
        machine
    }

    fn cpu(&self, id: CpuId) -> Cpu {
        let s = self.shape;
        let core = if s.siblings_last { id % self.n_cores } else { id / s.threads };
        let cluster = core / s.cores;
        let llc = cluster / s.clusters;
        let node = llc / s.llcs;
        let cpu_type = cluster % self.capacities.len() as u32;
        let capacity = self.capacities[cpu_type as usize];
        Cpu { id, core, cluster, llc, package: node / s.nodes, node, freq_domain: cluster, cpu_type, capacity }
    }

    fn vary(&self, purpose: u64, n: u32, below: u64) -> u64 {
        mix(self.shape.salt ^ purpose << 32, u64::from(n)) % below
    }

    fn cpu_type(&self, t: u32) -> CpuType {
        let us = 1000 * (1 + self.vary(1, t, 500));
        let deeper = [("cpu-sleep", IdleScope::Cpu, 1), ("cluster-sleep", IdleScope::Cluster, 3)];
        let deeper =
            deeper.into_iter().take(self.shape.idle_states as usize - 1).map(|(name, scope, depth)| IdleState {
                name: name.into(),
                scope,
                entry_ns: us * depth,
                wake_ns: 2 * us * depth,
                exit_latency_ns: 3 * us * depth,
                target_residency_ns: 10 * us * depth,
                power_mw: 0.0,
                transition_uj: 0.25 * depth as f64,
                polling: false,
                wake_scatter: 1.0 + 0.5 * self.vary(9, depth as u32, 3) as f64,
                late_ns: us * self.vary(10, depth as u32, 2),
                late_share: 0.25 * self.vary(10, depth as u32, 2) as f64,
                keeps_cache: self.vary(8, depth as u32, 2) == 0,
            });
        let gain = self.vary(2, t, 600) as u32 / self.shape.threads;
        let idle_states: Vec<_> = std::iter::once(IdleState::wfi()).chain(deeper).collect();
        CpuType {
            name: format!("type-{t}"),
            cpuidle: idle_states.len() > 1 || self.vary(5, t, 2) == 0,
            idle_states,
            smt_throughput: (0..self.shape.threads).map(|extra| 1000 + gain * extra).collect(),
        }
    }

    fn freq_domain(&self, cpus: CpuMask, i: u32) -> FreqDomain {
        let t = i % self.capacities.len() as u32;
        let step = 200_000 + 1000 * self.vary(3, t, 400) as u32;
        let opps = 1..=1 + self.vary(4, t, 5) as u32;
        let opps = opps.map(|n| Opp::new(n * step, f64::from(n * n) * 17.5)).collect();
        FreqDomain { cpus, opps, transition_ns: 1000 * self.vary(5, t, 500), slot_ns: 0, reported_ns: None, rail: None }
    }

    fn cluster(&self, cpus: CpuMask, i: u32) -> Cluster {
        let active_mw = self.vary(6, i % 2, 200) as f64 / 2.0;
        Cluster { cpus, shares_cache: self.shape.clusters_share_cache, active_mw, idle_mw: active_mw / 4.0 }
    }

    fn slit(&self, n_nodes: u32) -> Vec<Vec<u32>> {
        let distance = |a: u32, b: u32| match (a == b, a / self.shape.nodes == b / self.shape.nodes) {
            (true, _) => 10,
            (_, true) => 12,
            _ => 20 + a.abs_diff(b),
        };
        (0..n_nodes).map(|a| (0..n_nodes).map(|b| distance(a, b)).collect()).collect()
    }

    /// Of half of the machines nothing is known; of the others each core has one, each group behind a last-level cache
    /// that is more than a core another.
    fn caches(&self, cpus: &[Cpu]) -> Option<Caches> {
        if self.vary(9, 0, 2) == 0 {
            return None;
        }
        let n_llcs = self.n_clusters / self.shape.clusters;
        let of_cores = groups(cpus, self.n_cores, |c| c.core).into_iter().zip(0..);
        let own = of_cores.map(|(cpus, i)| Cache { cpus, size_kib: 32 << self.vary(10, i, 2), refill_kib_ns: 0 });
        let shared = groups(cpus, n_llcs, |c| c.llc).into_iter().filter(|_| self.n_cores > n_llcs);
        let size_kib = 256 << self.vary(11, 0, 6);
        let shared = shared.map(|cpus| Cache { cpus, size_kib, refill_kib_ns: 100 + self.vary(12, 0, 50) });
        let (far, node) = (Distance::Node as usize, 600 + self.vary(13, 0, 500));
        let mut memory_kib_ns = [0; Distance::COUNT];
        memory_kib_ns[far..].fill(node);
        let modified = self.vary(14, 0, 5) as f64 / 4.0;
        Some(Caches { all: own.chain(shared).collect(), modified, memory_kib_ns })
    }

    fn costs(&self) -> Costs {
        let mut costs = Costs::plausible();
        for kind in SoftCost::variants() {
            costs.soft_ns[kind as usize] *= 0.5 + self.vary(7, kind as u32, 256) as f64 / 128.0;
        }
        costs
    }
}

fn groups(cpus: &[Cpu], n: u32, of: impl Fn(&Cpu) -> u32) -> Vec<CpuMask> {
    let mut groups = vec![CpuMask::EMPTY; n as usize];
    cpus.iter().for_each(|cpu| groups[of(cpu) as usize].set(cpu.id));
    groups
}
