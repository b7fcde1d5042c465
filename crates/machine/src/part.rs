//! A machine of some of the CPUs of another.

use crate::{Caches, CpuId, CpuMask, Machine, Thermal};

impl Machine {
    /// The machine that has only these CPUs, numbered from 0 in their order, with what they hold of each level: clusters, caches, nodes,
    /// clocks. Figures keep their sources where their paths stay; the others are estimates. `None` if these CPUs are no machine: none of
    /// them, or none of full capacity.
    pub fn keeping(&self, cpus: &CpuMask) -> Option<Machine> {
        let keeps = self.all_cpus().and(cpus);
        let kept: Vec<CpuId> = keeps.iter().collect();
        if !kept.iter().any(|cpu| self.cpus[*cpu as usize].capacity == 1024) {
            return None;
        }
        let part = |mask: &CpuMask| -> CpuMask {
            (0..).zip(&kept).filter(|(_, old)| mask.test(**old)).map(|(new, _): (CpuId, _)| new).collect()
        };
        let masks = |all: &[CpuMask]| all.iter().map(part).collect::<Vec<CpuMask>>();
        let (cores, core) = present(masks(&self.cores), |mask| !mask.is_empty());
        let (llcs, llc) = present(masks(&self.llcs), |mask| !mask.is_empty());
        let (packages, package) = present(masks(&self.packages), |mask| !mask.is_empty());
        let (nodes, node) = present(masks(&self.nodes), |mask| !mask.is_empty());
        let clusters = self.clusters.iter().map(|old| crate::Cluster { cpus: part(&old.cpus), ..old.clone() });
        let (clusters, cluster) = present(clusters.collect(), |cluster| !cluster.cpus.is_empty());
        let clocks = self.freq_domains.iter().map(|old| crate::FreqDomain { cpus: part(&old.cpus), ..old.clone() });
        let (freq_domains, freq_domain) = present(clocks.collect(), |domain| !domain.cpus.is_empty());
        let types = self.cpu_types.iter().zip(0..).map(|(old, n)| (old.clone(), n));
        let has_type = |n: u32| kept.iter().any(|cpu| self.cpus[*cpu as usize].cpu_type == n);
        let (types, cpu_type) = present(types.collect(), |(_, n)| has_type(*n));
        let new = |numbers: &[Option<u32>], old: u32| numbers[old as usize];
        let cpus = (0..).zip(&kept).map(|(id, old)| {
            let old = &self.cpus[*old as usize];
            Some(crate::Cpu {
                id,
                core: new(&core, old.core)?,
                cluster: new(&cluster, old.cluster)?,
                llc: new(&llc, old.llc)?,
                package: new(&package, old.package)?,
                node: new(&node, old.node)?,
                freq_domain: new(&freq_domain, old.freq_domain)?,
                cpu_type: new(&cpu_type, old.cpu_type)?,
                capacity: old.capacity,
            })
        });
        let rows = self.numa_distance.iter().zip(&node).filter(|(_, new)| new.is_some()).map(|(row, _)| {
            row.iter().zip(&node).filter(|(_, new)| new.is_some()).map(|(distance, _)| *distance).collect()
        });
        let votes = self.votes.iter().filter_map(|vote| {
            let (from, on) = (new(&freq_domain, vote.from)?, new(&freq_domain, vote.on)?);
            Some(crate::Vote { from, on, ..vote.clone() })
        });
        let mut machine = Machine {
            cpus: cpus.collect::<Option<_>>()?,
            cpu_types: types.into_iter().map(|(cpu_type, _)| cpu_type).collect(),
            numa_distance: rows.collect(),
            votes: votes.collect(),
            thermal: self.thermal.as_ref().map(|thermal| cooler(thermal, &part, &freq_domain)),
            caches: self.caches.as_ref().map(|caches| fewer(caches, &part)),
            title: format!("CPUs {keeps} of {}", self.title),
            cores,
            clusters,
            llcs,
            packages,
            nodes,
            freq_domains,
            ..self.clone()
        };
        machine.restate_figures();
        // What a file cannot state is no machine.
        Machine::from_toml(&machine.name, &machine.to_toml()).ok().filter(|read| read.cpus == machine.cpus)
    }
}

/// Those that stay, and the new number of each.
fn present<T>(all: Vec<T>, stays: impl Fn(&T) -> bool) -> (Vec<T>, Vec<Option<u32>>) {
    let mut next = 0;
    let number = |item: &T| {
        stays(item).then(|| {
            next += 1;
            next - 1
        })
    };
    let numbers: Vec<Option<u32>> = all.iter().map(number).collect();
    (all.into_iter().zip(&numbers).filter(|(_, number)| number.is_some()).map(|(item, _)| item).collect(), numbers)
}

fn fewer(caches: &Caches, part: &dyn Fn(&CpuMask) -> CpuMask) -> Caches {
    let mut all: Vec<crate::Cache> = Vec::new();
    for old in &caches.all {
        let cache = crate::Cache { cpus: part(&old.cpus), ..old.clone() };
        // Two of the same CPUs would be one behind the other without anybody to share it with: the larger one stays.
        match all.iter_mut().find(|known| known.cpus == cache.cpus) {
            Some(known) => known.size_kib = known.size_kib.max(cache.size_kib),
            None if cache.cpus.is_empty() => {}
            None => all.push(cache),
        }
    }
    Caches { all, ..caches.clone() }
}

fn cooler(thermal: &Thermal, part: &dyn Fn(&CpuMask) -> CpuMask, clocks: &[Option<u32>]) -> Thermal {
    let mut thermal = thermal.clone();
    thermal.nodes.iter_mut().for_each(|node| node.cpus = part(&node.cpus));
    for zone in &mut thermal.zones {
        zone.cools =
            zone.cools.iter().filter_map(|(clock, weight)| Some((clocks[*clock as usize]?, *weight))).collect();
    }
    thermal.zones.retain(|zone| !zone.cools.is_empty());
    thermal
}

#[cfg(test)]
mod tests {
    use crate::{presets, CpuMask, Machine};

    #[test]
    fn the_big_half_of_a_board_is_a_board_and_the_small_half_is_none() {
        let whole = Machine::find("hikey960").unwrap();
        let big = whole.keeping(&CpuMask::parse_list("4-7").unwrap()).unwrap();
        assert_eq!((big.nr_cpus(), big.clusters.len(), big.cpu_types.len(), big.llcs.len()), (4, 1, 1, 1));
        assert_eq!(big.freq_domains[0].opps, whole.freq_domains[1].opps);
        assert_eq!(big.costs, whole.costs);
        assert!(big.title.starts_with("CPUs 4-7 of HiKey960"), "{}", big.title);
        assert_eq!(whole.keeping(&CpuMask::parse_list("0-3").unwrap()), None);
        assert_eq!(whole.keeping(&CpuMask::EMPTY), None);
        let two = whole.keeping(&CpuMask::parse_list("3-4").unwrap()).unwrap();
        assert_eq!((two.cpus[0].capacity, two.cpus[1].capacity), (whole.cpus[3].capacity, 1024));
        assert_eq!((two.clusters.len(), two.cpus[1].cluster), (2, 1));
    }

    #[test]
    fn all_of_a_machine_is_the_machine_and_half_of_a_server_has_half_of_its_nodes() {
        for name in presets() {
            let whole = Machine::find(name).unwrap();
            let mut all = whole.keeping(&whole.all_cpus()).unwrap_or_else(|| panic!("{name}"));
            all.title.clone_from(&whole.title);
            assert_eq!((&all.cpus, &all.costs, &all.thermal), (&whole.cpus, &whole.costs, &whole.thermal), "{name}");
        }
        let whole = Machine::find("kunpeng920").unwrap();
        let half = whole.nodes[0].or(&whole.nodes[2]);
        let part = whole.keeping(&half).unwrap();
        assert_eq!((part.nodes.len(), part.nr_cpus()), (2, half.count()));
        assert_eq!(part.numa_distance[0][1], whole.numa_distance[0][2]);
    }
}
