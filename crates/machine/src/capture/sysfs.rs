//! A machine from a sysfs tree, and its energy model from debugfs.

use std::path::Path;

use crate::{Source, SourceClass};

use super::cpuinfo::CpuInfo;
use super::cpus::Cpus;
use super::hardware::{Hardware, SYSFS};
use super::kinds::Isa;
use super::tree::Tree;
use super::{caches, clocks, energy, idle, kinds, topology, CaptureError, Notes};

/// The sysfs tree in a directory: the directory itself, or its `sys`.
pub(super) fn find_sysfs(root: &Path) -> Result<Tree, CaptureError> {
    let trees = [root.to_path_buf(), root.join("sys")].map(Tree::new);
    let missing = "devices/system/cpu";
    let expected = "what is mounted on /sys, or a copy of it";
    let fault = || CaptureError::NoTree { path: root.into(), kind: "sysfs", missing, expected };
    trees.into_iter().find(|tree| tree.has_dir(missing)).ok_or_else(fault)
}

/// The debugfs tree at `root`, or where it is mounted.
pub(super) fn find_debugfs(sysfs: &Tree, root: Option<&Path>) -> Result<Tree, CaptureError> {
    let Some(root) = root else { return Ok(sysfs.subtree("kernel/debug")) };
    let tree = Tree::new(root);
    let missing = "energy_model";
    if tree.has_dir(missing) {
        return Ok(tree);
    }
    let expected = "what is mounted on /sys/kernel/debug, or a copy of it";
    Err(CaptureError::NoTree { path: root.into(), kind: "debugfs", missing, expected })
}

pub(super) fn read(sysfs: &Tree, debugfs: &Tree, notes: &mut Notes) -> Result<Hardware, CaptureError> {
    let cpus = Cpus::read(sysfs, notes)?;
    let topology = topology::read(sysfs, &cpus, notes)?;
    let caches = caches::read(sysfs, &cpus, notes)?;
    let clocks = clocks::read(sysfs, &cpus, &topology.cores, notes)?;
    let (capacities, capacity_source) = capacities(sysfs, &cpus, &clocks, notes)?;
    let idle = idle::read(sysfs, &cpus, notes)?;
    let cpuinfo = CpuInfo::read(sysfs, notes)?;
    let core_name = |cpu| Ok(kinds::core_name(sysfs, &cpus, cpu)?.or_else(|| cpuinfo.core_name(&cpus, cpu)));
    let core_names = cpus.iter().map(core_name).collect::<Result<_, CaptureError>>()?;
    let states = idle.concat();
    Ok(Hardware {
        title: title(sysfs, &cpus, &cpuinfo)?,
        places: &SYSFS,
        isa: cpuinfo.isa.map_or_else(|| Isa::from_tree(sysfs, &cpus, &states), |isa| Ok(Some(isa)))?,
        is_virtual: cpuinfo.is_virtual,
        is_zen: kinds::is_zen(sysfs)?,
        core_names,
        topology,
        caches,
        capacities,
        capacity_source,
        efficiencies: None,
        clocks,
        idle,
        energy: energy::read(debugfs, &cpus, notes)?,
    })
}

/// What firmware calls the board, the device tree's model or DMI's vendor and product, and the models of its CPUs.
fn title(tree: &Tree, cpus: &Cpus, cpuinfo: &CpuInfo) -> Result<String, CaptureError> {
    let mut words = Vec::new();
    words.extend(tree.name("firmware/devicetree/base/model")?);
    if words.is_empty() {
        for file in ["sys_vendor", "product_name"] {
            words.extend(tree.name(&format!("devices/virtual/dmi/id/{file}"))?);
        }
    }
    let board = if words.is_empty() { "A machine".into() } else { words.join(" ") };
    // Big and little cores have a model each; a name for each CPU would be no title.
    let models: String = cpuinfo.models.iter().take(3).map(|model| format!(", {model}")).collect();
    Ok(format!("{board}{models}, {} CPUs, captured from sysfs", cpus.count()))
}

/// cpu_capacity of each CPU, and what it rests on. A machine's strongest CPU has 1024: where stronger ones
/// are offline, capacities are scaled up.
fn capacities(
    tree: &Tree,
    cpus: &Cpus,
    clocks: &[clocks::Clock],
    notes: &mut Notes,
) -> Result<(Vec<u32>, Source), CaptureError> {
    let read = |cpu| tree.number(&format!("{}/cpu_capacity", cpus.dir(cpu)), 1..=1024);
    let stated = cpus.iter().map(read).collect::<Result<Vec<Option<i64>>, _>>()?;
    let missing = cpus.iter().filter(|cpu| stated[*cpu as usize].is_none()).collect();
    let missing = cpus.kernel(&missing);
    let Some(top) = stated.iter().flatten().max() else {
        let mut tops = clocks.iter().map(|clock| clock.khz.last());
        let first = tops.next();
        let differ = if tops.any(|top| Some(top) != first) { ", though their top clocks differ" } else { "" };
        notes.add(format!("no cpu_capacity: the kernel takes all CPUs for equal{differ}"));
        let source = Source::Estimate("no cpu_capacity: the kernel takes all CPUs for equal".into());
        return Ok((vec![1024; cpus.count()], source));
    };
    if !missing.is_empty() {
        notes.add(format!("cpu_capacity is missing for CPUs {missing}: taken for the strongest"));
    }
    if *top < 1024 {
        notes.add(format!("the greatest cpu_capacity is {top}: all are scaled up, the strongest CPU has 1024"));
    }
    let scaled = |capacity: &Option<i64>| (capacity.unwrap_or(*top) * 1024 / top) as u32;
    let source = Source::Published(SourceClass::Declared, "sysfs, devices/system/cpu/cpuN/cpu_capacity".into());
    Ok((stated.iter().map(scaled).collect(), source))
}
