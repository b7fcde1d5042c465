//! From the machine to scheduling domains (spec 1), as one pipeline over a [`Plan`]:
//!
//! ```text
//! machine -> levels -> build (a domain per CPU and level) -> groups -> imb_numa_nr -> degenerate -> Topology
//! ```
//! Nothing here has pointers; `World` copies the plan into the policy's structs and links them.

mod asym;
mod build;
mod degenerate;
mod describe;
mod groups;
mod levels;
mod numa;
mod plan;

pub use levels::CpuMasks;
pub(crate) use plan::DomainNode;

use fairground_machine::{CpuId, CpuMask, Machine};
use levels::{Level, Shape};
use plan::Plan;

use crate::ffi::*;
use crate::{FairError, Features};

/// How the machine is divided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Exclusive cpusets, each a partition with domains of its own. CPUs in none of them form one more partition.
    pub partitions: Vec<CpuMask>,
    /// CPUs that have no domains (isolcpus).
    pub isolated: CpuMask,
}

/// The domains of a machine, with those that decide nothing removed.
pub struct Topology {
    levels: Vec<Level>,
    plan: Plan,
    clusters: Vec<Option<CpuMask>>,
    llc_ids: Vec<i32>,
    partitions: Vec<CpuMask>,
    isolated: CpuMask,
}

impl Topology {
    /// Builds the domains of `machine` as the version described by `features` would.
    ///
    /// # Errors
    /// Partitions that overlap, are empty or name CPUs that do not exist; cores, clusters or caches that overlap.
    pub fn new(machine: &Machine, features: &Features, options: &Options) -> Result<Topology, FairError> {
        Topology::of_online(machine, features, options, &machine.all_cpus(), &machine.all_cpus())
    }

    /// The same while some CPUs are offline. `active`: those that have domains; `online`: those, and the one that is
    /// about to go offline, which levels still count.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn of_online(
        machine: &Machine,
        features: &Features,
        options: &Options,
        active: &CpuMask,
        online: &CpuMask,
    ) -> Result<Topology, FairError> {
        let shape = shape(features);
        let mut levels = levels::levels(machine, &shape)?;
        levels.iter_mut().flat_map(|level| &mut level.masks).for_each(|mask| *mask = mask.and(online));
        let mut partitions = partitions(machine, options)?;
        partitions.iter_mut().for_each(|map| *map = map.and(active));
        let nr_cpus = machine.nr_cpus();
        let mut plan = Plan { built: vec![Vec::new(); nr_cpus], lowest: vec![None; nr_cpus], ..Plan::default() };
        for map in &partitions {
            build::build(&mut plan, machine, &levels, &shape, map);
            groups::build(&mut plan, machine, &shape, map);
            numa::allowed_imbalance(&mut plan, map);
            degenerate::degenerate(&mut plan, map, features.on(FG_GROUP_FLAGS));
        }
        let isolated = options.isolated;
        let (clusters, llc_ids) = (Vec::new(), Vec::new());
        let mut topology = Topology { levels, plan, clusters, llc_ids, partitions, isolated };
        let within = |cpu| levels::cluster_within(machine, cpu, &topology.llc(cpu)?.sd.span);
        topology.clusters = (0..nr_cpus as CpuId).map(within).collect();
        topology.llc_ids = match features.on(FG_LLC_PHYS) {
            // A CPU that goes offline has no number any more (sched_domains_free_llc_id).
            true => levels::llc_numbers(machine, &isolated.or(&machine.all_cpus().minus(active))),
            false => (0..nr_cpus as CpuId).map(|cpu| topology.first_of_llc(cpu) as i32).collect(),
        };
        Ok(topology)
    }

    /// The load-balance partitions: exclusive cpusets, then the rest.
    pub fn partitions(&self) -> &[CpuMask] {
        &self.partitions
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The level of a domain, see [`Self::level_name`].
    pub(crate) fn level_of(&self, sd: usize) -> u8 {
        self.plan.domains[sd].level as u8
    }

    /// The name of a level, e.g. `PKG`; `unknown` if there is no such level.
    pub fn level_name(&self, level: u8) -> &str {
        self.levels.get(usize::from(level)).map_or("unknown", |level| &level.name)
    }

    /// Names of levels by their number in the policy, `FG_LEVEL_*`; empty where the machine has no such level.
    pub fn names_of_policy_levels(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for level in &self.levels {
            let id = level.id as usize;
            names.resize(names.len().max(id + 1), "");
            names[id] = level.name.as_str();
        }
        names
    }

    /// The highest domain of `cpu` whose CPUs share their last-level cache.
    pub(crate) fn llc(&self, cpu: CpuId) -> Option<&DomainNode> {
        self.plan.chain(cpu).take_while(|d| d.sd.flags & FG_SD_SHARE_LLC != 0).last()
    }

    /// The first CPU of [`Self::llc`]; `cpu` itself without such a domain.
    pub(crate) fn first_of_llc(&self, cpu: CpuId) -> CpuId {
        self.llc(cpu).and_then(|d| d.sd.span.first()).unwrap_or(cpu)
    }

    /// sd_llc_id: equal for CPUs that share their last-level cache.
    pub(crate) fn llc_id(&self, cpu: CpuId) -> i32 {
        self.llc_ids[cpu as usize]
    }

    /// Whether some CPU's last-level cache, if others have it too, is only a part of what balancing reaches from there
    /// (sched_cache_present).
    pub(crate) fn has_many_llcs(&self) -> bool {
        (0..self.plan.lowest.len() as CpuId).any(|cpu| {
            let top = self.plan.chain(cpu).last().map_or(0, |d| d.sd.weight);
            self.llc(cpu).is_some_and(|d| d.sd.weight > 1 && d.sd.weight < top)
        })
    }

    /// The cluster of `cpu`, larger than its core and smaller than the span of [`Self::llc`], whether or not it is a
    /// domain.
    pub(crate) fn cluster(&self, cpu: CpuId) -> Option<&CpuMask> {
        self.clusters[cpu as usize].as_ref()
    }

    /// Whether some domain of some CPU has `flag`.
    pub(crate) fn has(&self, flag: u32) -> bool {
        (0..self.plan.lowest.len() as CpuId).any(|c| self.plan.chain(c).any(|d| d.sd.flags & flag != 0))
    }
}

fn shape(features: &Features) -> Shape {
    Shape {
        cluster_level: features.on(FG_CLS_DOMAIN),
        cluster_flag: features.on(FG_CLS_DOMAIN) && features.is(FG_CLS_SELECT, "landed"),
        imb_pct_117: features.on(FG_IMB_PCT_117),
        busy_factor_16: features.on(FG_BUSY_FACTOR_16),
        asym_cap_full: features.on(FG_ASYM_CAP_FULL),
        groups_within: features.on(FG_GROUPS_WITHIN),
        asym_balance_wake: features.on(FG_WAKE_CAP),
        asym_prefer_sibling: features.on(FG_ASYM_PREFER_SIBLING),
        weight_in_map: features.on(FG_WEIGHT_IN_MAP),
    }
}

/// Spec 1.10: the exclusive cpusets, and the CPUs that are left.
fn partitions(machine: &Machine, options: &Options) -> Result<Vec<CpuMask>, FairError> {
    let all = machine.all_cpus();
    let bad =
        |partition: &CpuMask| FairError::BadPartition { partition: partition.to_string(), nr_cpus: machine.nr_cpus() };
    if !options.isolated.is_subset(&all) {
        return Err(bad(&options.isolated));
    }
    let mut taken: Vec<CpuMask> = vec![options.isolated];
    for partition in &options.partitions {
        if partition.is_empty() || !partition.is_subset(&all) {
            return Err(bad(partition));
        }
        if let Some(other) = taken.iter().find(|other| other.intersects(partition)) {
            return Err(FairError::PartitionsOverlap {
                first: other.to_string(),
                second: partition.to_string(),
                shared: other.and(partition).to_string(),
            });
        }
        taken.push(*partition);
    }
    let rest = taken.iter().fold(all, |left, mask| left.minus(mask));
    Ok(options.partitions.iter().copied().chain(Some(rest).filter(|r| !r.is_empty())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_machine::testing::Shape;

    fn partitions(lists: &[&str]) -> Options {
        let partitions = lists.iter().map(|list| CpuMask::parse_list(list).unwrap()).collect();
        Options { partitions, isolated: CpuMask::single(1) }
    }

    /// What wakeups look at first is the same whether balancing knows of it or not, and with the level it is the
    /// domain.
    #[test]
    fn clusters_are_the_same_without_their_level() {
        let mut found = 0;
        for (clusters, cores, threads) in [(3, 4, 1), (2, 2, 2), (4, 1, 2), (4, 1, 1), (1, 4, 1)] {
            let mut shape = Shape::from_seed(1);
            (shape.packages, shape.nodes, shape.llcs, shape.clusters) = (2, 1, 1, clusters);
            (shape.cores, shape.threads, shape.types, shape.clusters_share_cache) = (cores, threads, 1, true);
            let machine = shape.build();
            for options in [Options::default(), partitions(&["2-5", "0"]), partitions(&["2-3"])] {
                let build = |text: &str| Topology::new(&machine, &Features::parse(text).unwrap(), &options).unwrap();
                let (with, without) = (build("v6.7"), build("v6.7-cls-domain"));
                for cpu in machine.all_cpus().iter() {
                    let llc = with.llc(cpu).map(|d| d.sd.span);
                    let is_below = |d: &&DomainNode| d.sd.level == FG_LEVEL_CLS && Some(d.sd.span) != llc;
                    let domain = with.plan.chain(cpu).find(is_below).map(|d| &d.sd.span);
                    assert_eq!(with.cluster(cpu), domain, "cpu{cpu}, {options:?}");
                    assert_eq!(without.cluster(cpu), domain, "cpu{cpu}, {options:?}");
                    assert!(!without.has(FG_SD_CLUSTER));
                    found += usize::from(domain.is_some());
                }
            }
        }
        assert!(found > 20, "{found}");
    }
}
