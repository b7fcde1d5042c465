//! Spec 1.1 and 1.3: the levels of a machine, bottom to top, and which CPUs each CPU shares them with.

use fairground_machine::{CpuId, CpuMask, Machine};

use crate::ffi::*;
use crate::FairError;

/// One level: the CPUs that share it, and the initial values of its domains.
#[derive(Clone, Debug)]
pub struct Level {
    /// `SMT`, `CLS`, `MC`, `PKG`, `NODE`, `NUMA12`, ...
    pub name: String,
    /// `FG_LEVEL_*`; each further NUMA level has the next number.
    pub id: u32,
    /// Topology flags, `FG_SD_*` combined. Domains of the level have these and others, see [`Level::domain`].
    pub flags: u32,
    /// For each CPU, the CPUs that it shares the level with, including itself.
    pub masks: Vec<CpuMask>,
    /// SLIT distance of a NUMA level; `None` for other levels.
    pub distance: Option<u32>,
    /// That distance is beyond the machine's node reclaim distance.
    pub is_far: bool,
}

/// The features that domains depend on.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The cluster level exists (CLS_DOMAIN).
    pub cluster_level: bool,
    /// Cluster domains carry the CLUSTER flag (v6.7).
    pub cluster_flag: bool,
    /// Default imbalance_pct 117 instead of 125 (IMB_PCT_117).
    pub imb_pct_117: bool,
    /// busy_factor 16 instead of 32 (BUSY_FACTOR_16).
    pub busy_factor_16: bool,
    /// Every level is classified on its own (ASYM_CAP_FULL).
    pub asym_cap_full: bool,
    /// No group reaches beyond its domain (GROUPS_WITHIN).
    pub groups_within: bool,
    /// Asymmetric domains and those below them balance on wakeups (WAKE_CAP).
    pub asym_balance_wake: bool,
    /// The level below an asymmetric domain prefers siblings like any other (ASYM_PREFER_SIBLING).
    pub asym_prefer_sibling: bool,
    /// Intervals go by the CPUs of the span, not by all of the level (WEIGHT_IN_MAP).
    pub weight_in_map: bool,
}

/// The CPUs that a CPU shares the levels below its node with, including itself, on a kernel with clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuMasks {
    /// The CPUs of its core, cpu_smt_mask.
    pub core: CpuMask,
    /// The CPUs of its cluster, cpu_clustergroup_mask.
    pub cluster: CpuMask,
    /// The span of its MC domain, cpu_coregroup_mask.
    pub coregroup: CpuMask,
}

impl CpuMasks {
    /// The masks of a CPU of `machine`.
    pub fn of(machine: &Machine, cpu: CpuId) -> CpuMasks {
        let coregroup = coregroup(machine, true, cpu);
        CpuMasks { core: core(machine, cpu), cluster: clustergroup(machine, cpu), coregroup }
    }
}

/// All levels of the machine, bottom to top.
///
/// # Errors
/// Levels below NUMA whose masks overlap without being equal.
pub fn levels(machine: &Machine, shape: &Shape) -> Result<Vec<Level>, FairError> {
    let per_cpu = |mask: &dyn Fn(CpuId) -> CpuMask| (0..machine.nr_cpus() as CpuId).map(mask).collect::<Vec<_>>();
    let mut levels = Vec::new();
    let mut push = |name: &str, id, flags, masks| {
        levels.push(Level { name: name.into(), id, flags, masks, distance: None, is_far: false });
    };
    if machine.has_smt() {
        push("SMT", FG_LEVEL_SMT, FG_SD_SHARE_CPUCAPACITY | FG_SD_SHARE_LLC, per_cpu(&|c| core(machine, c)));
    }
    if shape.cluster_level {
        let flags = FG_SD_SHARE_LLC | if shape.cluster_flag { FG_SD_CLUSTER } else { 0 };
        push("CLS", FG_LEVEL_CLS, flags, per_cpu(&|c| clustergroup(machine, c)));
    }
    push("MC", FG_LEVEL_MC, FG_SD_SHARE_LLC, per_cpu(&|c| coregroup(machine, shape.cluster_level, c)));
    push("PKG", FG_LEVEL_PKG, 0, per_cpu(&|c| node(machine, c)));
    levels.iter().try_for_each(check_nesting)?;
    levels.extend(numa_levels(machine));
    Ok(levels)
}

fn core(machine: &Machine, cpu: CpuId) -> CpuMask {
    machine.cores[machine.cpus[cpu as usize].core as usize]
}

/// The cluster of `cpu` within `llc`, the CPUs of its partition that share its last-level cache; none if the cluster is
/// its core or all of `llc`.
///
/// Where clusters are a level it is the span of the CPU's domain there, if that is not the last one to share a cache.
pub fn cluster_within(machine: &Machine, cpu: CpuId, llc: &CpuMask) -> Option<CpuMask> {
    let cluster = clustergroup(machine, cpu).and(llc);
    (cluster.count() > 1 && cluster != core(machine, cpu).and(llc) && cluster != *llc).then_some(cluster)
}

/// The cluster mask that the firmware gives the kernel; the CPU's core where it gives none.
fn cluster(machine: &Machine, cpu: CpuId) -> CpuMask {
    let cluster = &machine.clusters[machine.cpus[cpu as usize].cluster as usize];
    if cluster.shares_cache {
        cluster.cpus
    } else {
        core(machine, cpu)
    }
}

fn node(machine: &Machine, cpu: CpuId) -> CpuMask {
    machine.nodes[machine.cpus[cpu as usize].node as usize]
}

/// cpu_coregroup_mask: the span of MC.
fn coregroup(machine: &Machine, cluster_level: bool, cpu: CpuId) -> CpuMask {
    let at = &machine.cpus[cpu as usize];
    let mut mask = node(machine, cpu);
    for narrower in [machine.packages[at.package as usize], machine.llcs[at.llc as usize]] {
        if narrower.is_subset(&mask) {
            mask = narrower;
        }
    }
    let cluster = cluster(machine, cpu);
    if cluster_level && mask.is_subset(&cluster) {
        mask = cluster;
    }
    mask
}

/// For each CPU the number of its last-level cache, in the order of their first CPUs; -1 for CPUs without domains.
/// A cache has one number whatever partitions its CPUs are in.
pub fn llc_numbers(machine: &Machine, isolated: &CpuMask) -> Vec<i32> {
    let mut caches: Vec<CpuMask> = Vec::new();
    let mut number = |cpu: CpuId| {
        if isolated.test(cpu) {
            return -1;
        }
        let mask = coregroup(machine, true, cpu);
        let known = caches.iter().position(|cache| *cache == mask);
        known.unwrap_or_else(|| {
            caches.push(mask);
            caches.len() - 1
        }) as i32
    };
    (0..machine.nr_cpus() as CpuId).map(&mut number).collect()
}

/// cpu_clustergroup_mask: the span of CLS. Where MC is no larger, the core, so that CLS degenerates.
fn clustergroup(machine: &Machine, cpu: CpuId) -> CpuMask {
    let cluster = cluster(machine, cpu);
    if coregroup(machine, true, cpu).is_subset(&cluster) {
        core(machine, cpu)
    } else {
        cluster
    }
}

/// NODE and one level for each distance above it. None on machines with one distance.
fn numa_levels(machine: &Machine) -> Vec<Level> {
    let mut distances: Vec<u32> = machine.numa_distance.iter().flatten().copied().collect();
    distances.sort_unstable();
    distances.dedup();
    if distances.len() < 2 {
        return Vec::new();
    }
    let within = |limit: u32| move |cpu: CpuId| nodes_within(machine, cpu, limit);
    let all = 0..machine.nr_cpus() as CpuId;
    let make = |(k, distance): (usize, &u32)| Level {
        name: if k == 0 { "NODE".into() } else { format!("NUMA{distance}") },
        id: if k == 0 { FG_LEVEL_PKG } else { FG_LEVEL_NUMA + k as u32 - 1 },
        flags: if k == 0 { 0 } else { FG_SD_NUMA | FG_SD_OVERLAP },
        masks: all.clone().map(within(*distance)).collect(),
        distance: (k > 0).then_some(*distance),
        is_far: *distance > machine.node_reclaim_distance,
    };
    distances.iter().enumerate().map(make).collect()
}

fn nodes_within(machine: &Machine, cpu: CpuId, limit: u32) -> CpuMask {
    let row = &machine.numa_distance[machine.cpus[cpu as usize].node as usize];
    let near = machine.nodes.iter().zip(row).filter(|(_, distance)| **distance <= limit);
    near.fold(CpuMask::EMPTY, |all, (cpus, _)| all.or(cpus))
}

fn check_nesting(level: &Level) -> Result<(), FairError> {
    for (cpu, first) in level.masks.iter().enumerate() {
        // The lowest CPU of a mask is compared with all others of it, and each of these with that one.
        let lowest = first.first().filter(|lowest| *lowest < cpu as CpuId);
        let all = first.iter().take_while(|_| lowest.is_none());
        for other in lowest.into_iter().chain(all).filter(|other| *other != cpu as CpuId) {
            let second = level.masks[other as usize];
            if *first != second {
                let (level, first, second) = (level.name.clone(), first.to_string(), second.to_string());
                return Err(FairError::BrokenTopology { level, first, second });
            }
        }
    }
    Ok(())
}

impl Level {
    /// A domain of this level for `cpu`, spanning `span`, with the fields of spec 1.3 and no neighbours yet.
    pub fn domain(&self, cpu: CpuId, span: CpuMask, shape: &Shape) -> FgDomain {
        let width = if shape.weight_in_map { span } else { self.masks[cpu as usize] }.count() as u32;
        let mut sd = FgDomain::zeroed();
        sd.level = self.id;
        sd.span = span;
        sd.weight = span.count() as u32;
        sd.flags = self.flags
            | FG_SD_BALANCE_NEWIDLE
            | FG_SD_BALANCE_EXEC
            | FG_SD_BALANCE_FORK
            | FG_SD_WAKE_AFFINE
            | FG_SD_PREFER_SIBLING;
        sd.min_interval = width;
        sd.max_interval = 2 * width;
        sd.balance_interval = width;
        // newidle-fail=random begins with a success in every other of half the tries after which it is counted.
        (sd.newidle_call, sd.newidle_success, sd.newidle_ratio) = (512, 256, 512);
        sd.busy_factor = if shape.busy_factor_16 { 16 } else { 32 };
        (sd.imbalance_pct, sd.cache_nice_tries) = match self.flags {
            f if f & FG_SD_SHARE_CPUCAPACITY != 0 => (110, 0),
            f if f & FG_SD_SHARE_LLC != 0 => (117, 1),
            f => (if shape.imb_pct_117 { 117 } else { 125 }, if f & FG_SD_NUMA != 0 { 2 } else { 1 }),
        };
        self.adjust_numa(&mut sd);
        sd
    }

    /// Adjusts a NUMA domain (spec 1.3, adjustment 2).
    fn adjust_numa(&self, sd: &mut FgDomain) {
        if self.distance.is_none() {
            return;
        }
        sd.flags &= !FG_SD_PREFER_SIBLING;
        sd.flags |= FG_SD_SERIALIZE;
        if self.is_far {
            sd.flags &= !(FG_SD_BALANCE_EXEC | FG_SD_BALANCE_FORK | FG_SD_WAKE_AFFINE);
        }
    }
}
