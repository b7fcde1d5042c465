//! `[topology]` and `[[cluster]]`: which CPUs form cores, clusters, last-level caches, nodes and packages.

use crate::error::FileResult;
use crate::{Cluster, CpuMask, NODE_RECLAIM_DISTANCE, NR_CPUS};

use super::figure::{Fit, POWER, SLIT};
use super::groups::{Level, Levels};
use super::node::{Fields, Node};

/// The properties of nodes besides their CPUs.
pub(super) struct Numa {
    /// SLIT distances `[from][to]`, 10 = local.
    pub slit: Vec<Vec<u32>>,
    /// SLIT distance beyond which tasks are not placed on another node, see [`crate::Machine::node_reclaim_distance`].
    pub reclaim_distance: u32,
}

/// Reads `[topology]`: the levels besides clusters, and the SLIT distances.
pub(super) fn read(node: &Node) -> FileResult<(Levels, Numa)> {
    let keys = ["source", "cpus", "cores", "llcs", "nodes", "packages", "distances", "reclaim_distance"];
    let fields = node.table(&keys)?;
    let n_cpus = read_count(&fields.need("cpus")?)?;
    node.record("topology".into(), format!("{n_cpus} cpus"), Fit::Never)?;
    let mut levels = Levels::new(n_cpus);
    read_level(&fields, &mut levels, "core", "cores", "1 cpu")?;
    fields.need("llcs")?;
    read_level(&fields, &mut levels, "llc", "llcs", "all")?;
    read_level(&fields, &mut levels, "node", "nodes", "all")?;
    read_level(&fields, &mut levels, "package", "packages", "all")?;
    let slit = read_distances(&fields, levels.level("node").groups.len())?;
    Ok((levels, Numa { slit, reclaim_distance: read_reclaim_distance(&fields)? }))
}

/// `reclaim_distance = { slit = 32, source = "..." }` where the architecture changes the kernel's default.
fn read_reclaim_distance(fields: &Fields) -> FileResult<u32> {
    let Some(node) = fields.get("reclaim_distance") else { return Ok(NODE_RECLAIM_DISTANCE) };
    Ok(node.figure(&SLIT, "topology.reclaim_distance".into(), Fit::Never)? as u32)
}

fn read_count(node: &Node) -> FileResult<usize> {
    Ok(node.integer(1, NR_CPUS as u32).map_err(|fault| fault.hint(format!("expected 1 to {NR_CPUS} CPUs")))? as usize)
}

/// Reads one level. Without its key, each CPU is a group if `default` is `"1 cpu"`; else all CPUs are one group.
fn read_level(fields: &Fields, levels: &mut Levels, name: &'static str, key: &str, default: &str) -> FileResult<()> {
    let node = fields.get(key);
    let groups = match &node {
        Some(node) => levels.groups(node)?,
        None if default == "1 cpu" => levels.known[0].groups.clone(),
        None => vec![CpuMask::first_n(levels.n_cpus)],
    };
    let node = node.unwrap_or_else(|| fields.table.clone());
    let level = levels.partition(name, groups.into_iter().map(|g| (g, node.clone())).collect(), &node)?;
    require_order(levels, &level, &node)?;
    levels.known.push(level);
    Ok(())
}

/// Refuses a level that does not fit the finer ones. A cache may serve several nodes (sub-NUMA clustering) and a node
/// may hold several packages. But no group splits a core, and no two groups overlap in part.
fn require_order(levels: &Levels, level: &Level, node: &Node) -> FileResult<()> {
    for finer in &levels.known {
        match finer.name {
            "cpu" => {}
            "core" => levels.require_within(finer, level, node)?,
            _ => levels.require_nested(finer, level, node)?,
        }
    }
    Ok(())
}

/// `distances = { slit = [[10, 20], [20, 10]], source = "..." }`; may be left out with one node.
fn read_distances(fields: &Fields, nodes: usize) -> FileResult<Vec<Vec<u32>>> {
    let Some(node) = fields.get("distances") else {
        return match nodes {
            1 => Ok(vec![vec![10]]),
            _ => Err(fields.need("distances").err().unwrap_or_else(|| fields.table.fault("missing key `distances`"))),
        };
    };
    let slit_node = node.table(&["slit", "source"])?.need("slit")?;
    let rows = slit_node.elements()?;
    let mut slit = Vec::new();
    for row in &rows {
        let cells = row.elements()?;
        if cells.len() != nodes || rows.len() != nodes {
            let problem = format!("a distance matrix of {} rows, this one with {} columns", rows.len(), cells.len());
            return Err(row.fault(problem).hint(format!("expected {nodes} rows of {nodes}, one of each per node")));
        }
        slit.push(cells.iter().map(|c| c.integer(10, 254)).collect::<FileResult<Vec<u32>>>()?);
    }
    require_slit(&slit, nodes, &slit_node)?;
    node.record("topology.distances".into(), show_slit(&slit), Fit::Never)?;
    Ok(slit)
}

fn require_slit(slit: &[Vec<u32>], nodes: usize, node: &Node) -> FileResult<()> {
    if slit.len() != nodes {
        let problem = format!("a distance matrix of {} rows", slit.len());
        return Err(node.fault(problem).hint(format!("expected {nodes} rows of {nodes}, one of each per node")));
    }
    for (a, b) in (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b))) {
        let (there, back) = (slit[a][b], slit[b][a]);
        if (there == 10) != (a == b) {
            let problem = format!("the distance from node {a} to node {b} is {there}");
            return Err(node.fault(problem).hint("a node is 10 from itself and farther from any other"));
        }
        if there != back {
            let problem = format!("node {a} to {b} is {there}, but {b} to {a} is {back}");
            return Err(node.fault(problem).hint("distances must be symmetric"));
        }
    }
    Ok(())
}

/// The SLIT rows as text for reports.
pub(crate) fn show_slit(slit: &[Vec<u32>]) -> String {
    let row = |row: &Vec<u32>| row.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
    slit.iter().map(row).collect::<Vec<_>>().join(" / ")
}

/// Reads `[[cluster]]` and adds the level.
pub(super) fn read_clusters(node: &Node, levels: &mut Levels) -> FileResult<Vec<Cluster>> {
    let mut clusters = Vec::new();
    let mut groups = Vec::new();
    for entry in node.elements()? {
        if groups.len() > levels.n_cpus {
            break; // some CPU is in two clusters; no need to collect more
        }
        let fields = entry.table(&["cpus", "shares_cache", "active", "idle"])?;
        let cpus = fields.need("cpus")?;
        let of_entry = levels.groups(&cpus)?;
        let path = |key: &str| entry_path("cluster", &of_entry, key);
        let shares_cache = fields.get("shares_cache").map_or(Ok(false), |n| n.boolean())?;
        let active_mw = fields.need("active")?.figure(&POWER, path("active"), Fit::Never)?;
        let idle_mw = fields.need("idle")?.figure(&POWER, path("idle"), Fit::Never)?;
        for group in of_entry {
            clusters.push(Cluster { cpus: group, shares_cache, active_mw, idle_mw });
            groups.push((group, cpus.clone()));
        }
    }
    let places: Vec<Node> = groups.iter().map(|(_, node)| node.clone()).collect();
    let level = levels.partition("cluster", groups, node)?;
    require_sane_clusters(levels, &level, &clusters, &places, node)?;
    levels.known.push(level);
    Ok(clusters)
}

/// The path of a figure in an array of tables. An entry is identified by the CPUs of its first group.
pub(super) fn entry_path(section: &str, groups: &[CpuMask], key: &str) -> String {
    let first = groups.first().map(CpuMask::to_string).unwrap_or_default();
    format!("{section}[{first}].{key}")
}

fn require_sane_clusters(
    levels: &Levels,
    level: &Level,
    clusters: &[Cluster],
    places: &[Node],
    node: &Node,
) -> FileResult<()> {
    levels.require_within(levels.level("core"), level, node)?;
    for (cluster, place) in clusters.iter().zip(places) {
        let alone = Level { name: "cluster", groups: vec![cluster.cpus], of: level.of.clone() };
        levels.require_within(&alone, levels.level("package"), place)?;
        levels.require_nested(&alone, levels.level("llc"), place)?;
        if cluster.shares_cache {
            levels.require_within(&alone, levels.level("llc"), place)?;
        }
    }
    Ok(())
}
