//! Topology: cpu-map, last-level caches and NUMA nodes.

use std::collections::{BTreeMap, BTreeSet};

use crate::{CpuId, CpuMask};

use super::super::topology::{clusters, group_of, Topology, LOCAL, MAX_THREADS, REMOTE};
use super::super::{CaptureError, Notes};
use super::caches::{last, Chains};
use super::cpus::Cpus;
use super::nodes::NodeRef;

/// The most that a node may be numbered; the kernel has at most 1024.
const MAX_NODE: u32 = 1023;

/// Where cpu-map has a CPU.
#[derive(Clone, Copy)]
struct MapPosition {
    package: u32,
    cluster: Option<u32>,
    core: u32,
}

/// Reads all levels; `powered` are groups of CPUs that power down together.
pub(super) fn read(
    cpus: &Cpus,
    chains: &Chains,
    powered: &[CpuMask],
    notes: &mut Notes,
) -> Result<Topology, CaptureError> {
    let (nodes, slit) = nodes(cpus)?;
    let map = Map::read(cpus, notes)?;
    let groups = |key: &dyn Fn(CpuId) -> Option<u64>| grouped(cpus, key);
    let (packages, cores, listed) = match &map {
        // As the kernel has it without a map: each CPU a core, each node a package.
        None => (nodes.clone(), groups(&|cpu| Some(cpu.into())), Vec::new()),
        Some(map) => (
            groups(&|cpu| Some(map.position(cpu).package.into())),
            groups(&|cpu| Some(map.position(cpu).core.into())),
            groups(&|cpu| map.position(cpu).cluster.map(u64::from)),
        ),
    };
    let llcs = llcs(cpus, chains, &packages, &nodes, &listed, notes);
    let fits = |domain: &&CpuMask| {
        let first = domain.first().unwrap_or(0);
        let llc = group_of(&llcs, first);
        domain.is_subset(&group_of(&packages, first)) && (domain.is_subset(&llc) || llc.is_subset(domain))
    };
    let powered: Vec<CpuMask> = powered.iter().filter(fits).copied().collect();
    let clusters = clusters(&listed, &cores, &llcs, &packages, &powered);
    Ok(Topology { cores, clusters, llcs, packages, nodes, slit })
}

/// The CPUs of each key, those without one left out, by their first CPUs.
fn grouped(cpus: &Cpus, key: &dyn Fn(CpuId) -> Option<u64>) -> Vec<CpuMask> {
    let mut groups: BTreeMap<u64, CpuMask> = BTreeMap::new();
    for cpu in cpus.mask().iter() {
        if let Some(key) = key(cpu) {
            groups.entry(key).or_insert(CpuMask::EMPTY).set(cpu);
        }
    }
    let mut groups: Vec<CpuMask> = groups.into_values().collect();
    groups.sort_unstable_by_key(CpuMask::first);
    groups
}

/// cpu-map: sockets hold clusters, these hold clusters or cores, cores may hold threads.
struct Map<'a> {
    cpus: &'a Cpus<'a>,
    places: Vec<Option<MapPosition>>,
    clusters: u32,
    cores: u32,
}

impl<'a> Map<'a> {
    /// None, with a note, if there is no map of all CPUs.
    fn read(cpus: &'a Cpus<'a>, notes: &mut Notes) -> Result<Option<Map<'a>>, CaptureError> {
        let Some(node) = cpus.parent.child("cpu-map") else {
            notes.add("no cpu-map: each CPU is taken for a core by itself, each node for a package");
            return Ok(None);
        };
        let mut map = Map { cpus, places: vec![None; cpus.count()], clusters: 0, cores: 0 };
        let sockets: Vec<NodeRef> = node.children().filter(|child| is_numbered(child.name(), "socket")).collect();
        for (package, socket) in (0..).zip(&sockets) {
            map.group(*socket, package, None)?;
        }
        if sockets.is_empty() {
            map.group(node, 0, None)?;
        }
        let without: CpuMask = cpus.mask().iter().filter(|cpu| map.places[*cpu as usize].is_none()).collect();
        if !without.is_empty() {
            notes.add(format!("cpu-map leaves out CPUs {without}: it is not used, as the kernel does"));
            return Ok(None);
        }
        Ok(Some(map))
    }

    fn position(&self, cpu: CpuId) -> MapPosition {
        self.places[cpu as usize].unwrap_or(MapPosition { package: 0, cluster: None, core: cpu })
    }

    /// A socket or a cluster. Of clusters in clusters the innermost count.
    fn group(&mut self, node: NodeRef, package: u32, cluster: Option<u32>) -> Result<(), CaptureError> {
        for child in node.children() {
            if is_numbered(child.name(), "cluster") {
                self.clusters += 1;
                self.group(child, package, Some(self.clusters))?;
            } else if is_numbered(child.name(), "core") {
                self.core(child, package, cluster)?;
            } else {
                let expected = "socketN, clusterN, coreN and threadN, one in the other";
                return Err(child.fault("", "not a name of a group of CPUs", expected));
            }
        }
        Ok(())
    }

    fn core(&mut self, node: NodeRef, package: u32, cluster: Option<u32>) -> Result<(), CaptureError> {
        let place = MapPosition { package, cluster, core: self.cores };
        self.cores += 1;
        let threads: Vec<NodeRef> = node.children().collect();
        if threads.len() > MAX_THREADS {
            let problem = format!("a core of {} threads", threads.len());
            return Err(node.fault("", problem, format!("at most {MAX_THREADS}")));
        }
        if threads.is_empty() {
            return self.cpu(node, place);
        }
        threads.into_iter().try_for_each(|thread| self.cpu(thread, place))
    }

    /// A leaf. One whose CPU is left out is left out.
    fn cpu(&mut self, leaf: NodeRef, place: MapPosition) -> Result<(), CaptureError> {
        let targets = leaf.targets("cpu")?;
        let [target] = targets[..] else {
            return Err(leaf.fault("cpu", format!("{} CPUs", targets.len()), "the phandle of one CPU"));
        };
        let Some(cpu) = self.cpus.id(target) else { return Ok(()) };
        match self.places[cpu as usize].replace(place) {
            Some(_) => Err(leaf.fault("cpu", format!("{} is in cpu-map twice", target.path()), "each CPU once")),
            None => Ok(()),
        }
    }
}

/// Whether a name is `WORDn`.
fn is_numbered(name: &str, word: &str) -> bool {
    name.strip_prefix(word).is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
}

/// CPUs behind each last-level cache, as the kernel takes them: without caches the CPUs of a package in a node, and the
/// cluster where no cache is shared beyond it.
fn llcs(
    cpus: &Cpus,
    chains: &Chains,
    packages: &[CpuMask],
    nodes: &[CpuMask],
    listed: &[CpuMask],
    notes: &mut Notes,
) -> Vec<CpuMask> {
    let mut llcs: Vec<CpuMask> = Vec::new();
    let (mut left, mut unknown, mut widened) = (cpus.mask(), CpuMask::EMPTY, CpuMask::EMPTY);
    while let Some(cpu) = left.first() {
        let together = group_of(packages, cpu).and(&group_of(nodes, cpu));
        let cache = last(cpus, chains, cpu);
        let cluster = listed.iter().find(|cluster| cluster.test(cpu)).map(|cluster| cluster.and(&together));
        let llc = match (cache, cluster) {
            (None, _) => together,
            (Some(cache), Some(cluster)) if cache.is_subset(&cluster) => cluster,
            (Some(cache), _) => cache,
        };
        let llc = llc.and(&left);
        match cache {
            None => unknown = unknown.or(&llc),
            Some(cache) if cache != llc => widened = widened.or(&llc),
            Some(_) => {}
        }
        left = left.minus(&llc);
        llcs.push(llc);
    }
    if !unknown.is_empty() {
        notes
            .add(format!("no next-level-cache for CPUs {unknown}: the package, or its part in a node, shares a cache"));
    }
    if !widened.is_empty() {
        notes.add(format!(
            "no cache is shared as wide as the clusters of CPUs {widened}: the kernel takes these instead"
        ));
    }
    llcs
}

/// The CPUs of each node, and the distances; one node where none is numbered.
fn nodes(cpus: &Cpus) -> Result<(Vec<CpuMask>, Vec<Vec<u32>>), CaptureError> {
    let mut groups: BTreeMap<u32, CpuMask> = BTreeMap::new();
    for (cpu, node) in cpus.iter() {
        let id = node.cell("numa-node-id")?.unwrap_or(0);
        if id > MAX_NODE {
            return Err(node.fault("numa-node-id", format!("found {id}"), format!("at most {MAX_NODE}")));
        }
        groups.entry(id).or_insert(CpuMask::EMPTY).set(cpu);
    }
    let mut ordered: Vec<(u32, CpuMask)> = groups.into_iter().collect();
    ordered.sort_unstable_by_key(|(_, cpus)| cpus.first());
    let distances = distances(cpus.root(), &ordered.iter().map(|(id, _)| *id).collect())?;
    let between = |a: u32, b: u32| {
        let stated = |a, b| distances.get(&(a, b)).copied();
        let default = if a == b { LOCAL } else { REMOTE };
        // A machine has one distance between two nodes, the greater.
        stated(a, b).max(stated(b, a)).unwrap_or(default)
    };
    let slit = ordered.iter().map(|(a, _)| ordered.iter().map(|(b, _)| between(*a, *b)).collect()).collect();
    Ok((ordered.into_iter().map(|(_, cpus)| cpus).collect(), slit))
}

/// distance-map: from, to and distance, of nodes that have CPUs.
fn distances(root: NodeRef, nodes: &BTreeSet<u32>) -> Result<BTreeMap<(u32, u32), u32>, CaptureError> {
    let mut distances = BTreeMap::new();
    let Some(map) = root.child("distance-map") else { return Ok(distances) };
    let cells = map.cells("distance-matrix")?.unwrap_or_default();
    if cells.len() % 3 != 0 {
        let problem = format!("{} numbers", cells.len());
        return Err(map.fault("distance-matrix", problem, "three for each distance: from, to, distance"));
    }
    for entry in cells.chunks_exact(3).filter(|e| nodes.contains(&e[0]) && nodes.contains(&e[1])) {
        let &[from, to, distance] = entry else { continue };
        if !(LOCAL..=254).contains(&distance) || (distance == LOCAL) != (from == to) {
            let expected = format!("{LOCAL} to the node itself, more to any other, at most 254");
            return Err(map.fault("distance-matrix", format!("{distance} from node {from} to {to}"), expected));
        }
        distances.insert((from, to), distance);
    }
    Ok(distances)
}
