//! Topology from sysfs: cores, clusters, last-level caches, packages and nodes.

use crate::{CpuId, CpuMask};

use super::cpus::Cpus;
use super::tree::Tree;
use super::{CaptureError, Notes};

/// The kernel's LOCAL_DISTANCE and REMOTE_DISTANCE, for nodes whose distances are missing.
pub(super) const LOCAL: u32 = 10;
pub(super) const REMOTE: u32 = 20;

/// Most threads that a core of a machine file can have.
pub(super) const MAX_THREADS: usize = 8;

/// The levels of the machine, each a partition of its CPUs.
pub(super) struct Topology {
    pub cores: Vec<CpuMask>,
    pub clusters: Vec<Cluster>,
    pub llcs: Vec<CpuMask>,
    pub packages: Vec<CpuMask>,
    pub nodes: Vec<CpuMask>,
    pub slit: Vec<Vec<u32>>,
}

/// A cluster, and whether it is a level below the last-level cache.
pub(super) struct Cluster {
    pub cpus: CpuMask,
    pub shares_cache: bool,
}

/// The group of `groups` that `cpu` is in.
pub(super) fn group_of(groups: &[CpuMask], cpu: CpuId) -> CpuMask {
    groups.iter().find(|group| group.test(cpu)).copied().unwrap_or_else(|| CpuMask::single(cpu))
}

pub(super) fn read(tree: &Tree, cpus: &Cpus, notes: &mut Notes) -> Result<Topology, CaptureError> {
    let mut reader = Reader { tree, cpus, notes };
    let packages = reader.packages()?;
    let cores = reader.cores()?;
    let nodes = reader.nodes()?;
    let slit = reader.slit(&nodes)?;
    let nodes: Vec<CpuMask> = nodes.into_iter().map(|(_, cpus)| cpus).collect();
    let llcs = reader.llcs(&packages, &nodes)?;
    let clusters = reader.clusters(&cores, &llcs, &packages)?;
    Ok(Topology { cores, clusters, llcs, packages, nodes, slit })
}

/// The CPUs of a CPU's group, and the file that lists them.
type CpuList = Option<(CpuMask, String)>;

struct Reader<'a> {
    tree: &'a Tree,
    cpus: &'a Cpus,
    notes: &'a mut Notes,
}

impl Reader<'_> {
    /// By CPU: the list in the first of `files` that exists in its topology directory.
    fn lists(&self, files: &[&str]) -> Result<Vec<CpuList>, CaptureError> {
        self.cpus.iter().map(|cpu| self.list(cpu, files)).collect()
    }

    fn list(&self, cpu: CpuId, files: &[&str]) -> Result<CpuList, CaptureError> {
        for file in files {
            let path = format!("{}/topology/{file}", self.cpus.dir(cpu));
            if let Some(kernel) = self.tree.cpu_list(&path)? {
                return Ok(Some((self.cpus.dense(&kernel), path)));
            }
        }
        Ok(None)
    }

    /// By CPU: the number of its group in `file`. -1 and 65535 mean that the firmware does not give one.
    fn ids(&self, file: &str) -> Result<Vec<Option<i64>>, CaptureError> {
        let id = |cpu| self.tree.number(&format!("{}/topology/{file}", self.cpus.dir(cpu)), -1..=i64::from(i32::MAX));
        let known = |id: Option<i64>| id.filter(|id| *id >= 0 && *id != 65535);
        self.cpus.iter().map(|cpu| id(cpu).map(known)).collect()
    }

    /// The groups that the lists describe. A list must contain its own CPU, and all CPUs of a group must have the same
    /// list. A CPU without a list joins the group that lists it. CPUs that are in no list are grouped by `alone`.
    fn groups(&self, lists: &[CpuList], alone: impl Fn(CpuId) -> CpuMask) -> Result<Vec<CpuMask>, CaptureError> {
        let mut listed = CpuMask::EMPTY;
        let mut groups: Vec<CpuMask> = Vec::new();
        for (cpu, list) in self.cpus.iter().zip(lists) {
            let Some((group, path)) = list else { continue };
            self.require_agreement(cpu, group, path, lists)?;
            if !listed.test(cpu) {
                groups.push(*group);
            }
            listed = listed.or(group);
        }
        let mut left = self.cpus.mask().minus(&listed);
        while let Some(cpu) = left.first() {
            let group = alone(cpu).and(&left).or(&CpuMask::single(cpu));
            groups.push(group);
            left = left.minus(&group);
        }
        groups.sort_unstable_by_key(CpuMask::first);
        Ok(groups)
    }

    fn require_agreement(&self, cpu: CpuId, group: &CpuMask, path: &str, all: &[CpuList]) -> Result<(), CaptureError> {
        let kernel = |mask: &CpuMask| self.cpus.kernel(mask);
        if !group.test(cpu) {
            let expected = format!("a list with CPU {} itself", kernel(&CpuMask::single(cpu)));
            let found = match group.first() {
                Some(_) => kernel(group).to_string(),
                None => "no CPU that is online".into(),
            };
            return Err(self.tree.garbled(path, format!("found {found}"), expected));
        }
        for other in group.iter() {
            if let Some((theirs, file)) = all[other as usize].as_ref().filter(|(theirs, _)| theirs != group) {
                let problem = format!("found {}, but {file} says {}", kernel(group), kernel(theirs));
                return Err(self.tree.garbled(path, problem, "one list for all CPUs of a group"));
            }
        }
        Ok(())
    }

    /// The CPUs without a list.
    fn cpus_without_list(&self, lists: &[CpuList]) -> CpuMask {
        self.cpus.iter().zip(lists).filter(|(_, list)| list.is_none()).map(|(cpu, _)| cpu).collect()
    }

    fn note_missing(&mut self, what: &str, lists: &[CpuList], instead: &str) {
        let missing = self.cpus_without_list(lists);
        if !missing.is_empty() {
            let cpus = self.cpus.kernel(&missing);
            self.notes.add(format!("{what} is missing for CPUs {cpus}: {instead}"));
        }
    }

    fn cpus_with_equal_key<K: PartialEq>(&self, cpu: CpuId, key: impl Fn(usize) -> K) -> CpuMask {
        self.cpus.iter().filter(|other| key(*other as usize) == key(cpu as usize)).collect()
    }

    fn packages(&mut self) -> Result<Vec<CpuMask>, CaptureError> {
        let lists = self.lists(&["package_cpus_list", "core_siblings_list"])?;
        self.note_missing("topology/package_cpus_list", &lists, "packages follow physical_package_id, or all are one");
        let ids = self.ids("physical_package_id")?;
        self.groups(&lists, |cpu| self.cpus_with_equal_key(cpu, |i| ids[i]))
    }

    fn cores(&mut self) -> Result<Vec<CpuMask>, CaptureError> {
        let lists = self.lists(&["core_cpus_list", "thread_siblings_list"])?;
        self.note_missing("topology/core_cpus_list", &lists, "cores follow core_id, or each CPU is one");
        let levels = ["physical_package_id", "die_id", "cluster_id", "core_id"];
        let ids = levels.map(|file| self.ids(file)).into_iter().collect::<Result<Vec<_>, _>>()?;
        let groups = self.groups(&lists, |cpu| match ids[3][cpu as usize] {
            Some(_) => self.cpus_with_equal_key(cpu, |i| [ids[0][i], ids[1][i], ids[2][i], ids[3][i]]),
            None => CpuMask::single(cpu),
        })?;
        match groups.iter().find(|core| core.count() > MAX_THREADS) {
            Some(core) => {
                let path = format!("{}/topology/core_cpus_list", self.cpus.dir(core.first().unwrap_or(0)));
                let problem = format!("a core of {} threads", core.count());
                Err(self.tree.garbled(&path, problem, format!("at most {MAX_THREADS}")))
            }
            None => Ok(groups),
        }
    }

    /// The nodes with CPUs, with the kernel's numbers. Without nodes, one node of all CPUs.
    fn nodes(&mut self) -> Result<Vec<(u32, CpuMask)>, CaptureError> {
        let mut nodes: Vec<(u32, CpuMask)> = Vec::new();
        let mut taken = CpuMask::EMPTY;
        for node in self.online_nodes()? {
            let path = format!("devices/system/node/node{node}/cpulist");
            let cpus = self.cpus.dense(&self.tree.cpu_list(&path)?.unwrap_or_default());
            if cpus.intersects(&taken) {
                let twice = self.cpus.kernel(&cpus.and(&taken));
                return Err(self.tree.garbled(&path, format!("CPUs {twice} are in two nodes"), "each CPU in one node"));
            }
            taken = taken.or(&cpus);
            if cpus.is_empty() {
                self.notes.add(format!("node {node} has no online CPU and is left out"));
            } else {
                nodes.push((node, cpus));
            }
        }
        let rest = self.cpus.mask().minus(&taken);
        if nodes.is_empty() {
            self.notes.add("devices/system/node has no CPUs: all are taken to be in one node");
            nodes.push((0, rest));
        } else if !rest.is_empty() {
            let (node, cpus) = &mut nodes[0];
            *cpus = cpus.or(&rest);
            let rest = self.cpus.kernel(&rest);
            self.notes.add(format!("CPUs {rest} are in no node and are taken to be in node {node}"));
        }
        Ok(nodes)
    }

    /// The numbers of the online nodes, ascending. A row of distances has a column for each of them.
    fn online_nodes(&self) -> Result<Vec<u32>, CaptureError> {
        // The list format is the same as for CPUs, and so is the limit (CONFIG_NODES_SHIFT is at most 10).
        let online = self.tree.cpu_list("devices/system/node/online")?;
        Ok(online.map_or_else(|| self.tree.numbered("devices/system/node", "node"), |nodes| nodes.iter().collect()))
    }

    fn slit(&mut self, nodes: &[(u32, CpuMask)]) -> Result<Vec<Vec<u32>>, CaptureError> {
        let online = self.online_nodes()?;
        let mut slit = Vec::new();
        for (node, _) in nodes {
            let row = match nodes.len() {
                1 => vec![LOCAL],
                _ => self.slit_row(*node, nodes, &online)?,
            };
            slit.push(row);
        }
        self.make_symmetric(&mut slit);
        Ok(slit)
    }

    fn slit_row(&mut self, node: u32, to: &[(u32, CpuMask)], online: &[u32]) -> Result<Vec<u32>, CaptureError> {
        let path = format!("devices/system/node/node{node}/distance");
        let row = self.tree.numbers(&path, 10..=254)?;
        if row.is_empty() {
            self.notes
                .add(format!("{path} is missing: {LOCAL} to itself and {REMOTE} to others, the kernel's default"));
            return Ok(to.iter().map(|(other, _)| if *other == node { LOCAL } else { REMOTE }).collect());
        }
        if row.len() != online.len() {
            let problem = format!("{} distances", row.len());
            return Err(self.tree.garbled(&path, problem, format!("one for each of the {} nodes", online.len())));
        }
        let mut distances = Vec::new();
        for (other, distance) in online.iter().zip(row).filter(|(other, _)| to.iter().any(|(n, _)| n == *other)) {
            if (distance == i64::from(LOCAL)) != (*other == node) {
                let expected = format!("{LOCAL} to the node itself, more to any other");
                return Err(self.tree.garbled(&path, format!("{distance} to node {other}"), expected));
            }
            distances.push(distance as u32);
        }
        Ok(distances)
    }

    /// Takes the greater of the two distances between two nodes: a machine file has one.
    fn make_symmetric(&mut self, slit: &mut [Vec<u32>]) {
        let mut was_symmetric = true;
        for (a, b) in (0..slit.len()).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let farther = slit[a][b].max(slit[b][a]);
            was_symmetric &= slit[a][b] == slit[b][a];
            (slit[a][b], slit[b][a]) = (farther, farther);
        }
        if !was_symmetric {
            self.notes.add("distances between nodes depend on the direction: the greater is taken");
        }
    }

    /// The CPUs of each last-level cache, which is the cache with the highest level of a CPU. Without caches, the CPUs
    /// of a package within a node, as in the kernel.
    fn llcs(&mut self, packages: &[CpuMask], nodes: &[CpuMask]) -> Result<Vec<CpuMask>, CaptureError> {
        let lists = self.cpus.iter().map(|cpu| self.llc(cpu)).collect::<Result<Vec<CpuList>, _>>()?;
        self.note_missing("cache/indexN/shared_cpu_list", &lists, "the package, or its part in a node, shares a cache");
        let groups = self.groups(&lists, |cpu| group_of(packages, cpu).and(&group_of(nodes, cpu)))?;
        if self.cpus.count() > 1 && groups.iter().all(|llc| llc.count() == 1) {
            self.notes.add("no two CPUs share a cache: there is no level between a CPU and its node or package");
        }
        Ok(groups)
    }

    fn llc(&self, cpu: CpuId) -> Result<CpuList, CaptureError> {
        let dir = format!("{}/cache", self.cpus.dir(cpu));
        let mut last: Option<(i64, CpuMask, String)> = None;
        for index in self.tree.numbered(&dir, "index") {
            let Some(level) = self.tree.number(&format!("{dir}/index{index}/level"), 1..=9)? else { continue };
            let path = format!("{dir}/index{index}/type");
            match self.tree.text(&path)?.as_deref() {
                Some("Instruction") => continue,
                Some("Data" | "Unified") | None => {}
                Some(_) => return Err(self.tree.garbled(&path, "not a cache type", "Data, Instruction or Unified")),
            }
            let path = format!("{dir}/index{index}/shared_cpu_list");
            let Some(kernel) = self.tree.cpu_list(&path)? else { continue };
            if last.as_ref().is_none_or(|(greatest, ..)| *greatest < level) {
                last = Some((level, self.cpus.dense(&kernel), path));
            }
        }
        Ok(last.map(|(_, cpus, path)| (cpus, path)))
    }

    /// The kernel has a level for clusters that are larger than a core and smaller than the span of a last-level cache
    /// (cpu_clustergroup_mask). Other CPUs are in clusters of CPUs that power down together: those of a last-level
    /// cache, or those of a cluster that holds several caches.
    fn clusters(
        &mut self,
        cores: &[CpuMask],
        llcs: &[CpuMask],
        packages: &[CpuMask],
    ) -> Result<Vec<Cluster>, CaptureError> {
        let lists = self.lists(&["cluster_cpus_list"])?;
        let (ids, package_ids) = (self.ids("cluster_id")?, self.ids("physical_package_id")?);
        let unknown =
            self.cpus_without_list(&lists).iter().filter(|cpu| ids[*cpu as usize].is_none()).collect::<CpuMask>();
        if !unknown.is_empty() {
            let cpus = self.cpus.kernel(&unknown);
            self.notes.add(format!("no cluster is known of CPUs {cpus}: a last-level cache is taken to be a cluster"));
        }
        let listed = self.groups(&lists, |cpu| match ids[cpu as usize] {
            Some(_) => self.cpus_with_equal_key(cpu, |i| (package_ids[i], ids[i])),
            None => CpuMask::single(cpu),
        })?;
        Ok(clusters(&listed, cores, llcs, packages, &[]))
    }
}

/// The clusters of a machine: first those of `listed` that are a level. The other CPUs are in clusters that power down
/// together: the groups of `powered`, else the CPUs of a last-level cache or of a listed cluster of several caches.
pub(super) fn clusters(
    listed: &[CpuMask],
    cores: &[CpuMask],
    llcs: &[CpuMask],
    packages: &[CpuMask],
    powered: &[CpuMask],
) -> Vec<Cluster> {
    let is_level = |cluster: &CpuMask| {
        let first = cluster.first().unwrap_or(0);
        let llc = group_of(llcs, first);
        cluster.is_subset(&llc) && *cluster != llc && !cluster.is_subset(&group_of(cores, first))
    };
    let levels = listed.iter().filter(|cluster| is_level(cluster));
    let mut clusters: Vec<Cluster> = levels.map(|cpus| Cluster { cpus: *cpus, shares_cache: true }).collect();
    let mut left = cores.iter().fold(CpuMask::EMPTY, |all, core| all.or(core));
    clusters.iter().for_each(|level| left = left.minus(&level.cpus));
    while let Some(cpu) = left.first() {
        let (cluster, package) = (group_of(listed, cpu), group_of(packages, cpu));
        let llc = group_of(llcs, cpu).and(&package);
        let together = match powered.iter().find(|domain| domain.test(cpu)) {
            Some(domain) => *domain,
            None if llc.is_subset(&cluster) => cluster.and(&package),
            None => llc,
        };
        let cpus = together.and(&left);
        clusters.push(Cluster { cpus, shares_cache: false });
        left = left.minus(&cpus);
    }
    clusters.sort_unstable_by_key(|cluster| cluster.cpus.first());
    clusters
}
