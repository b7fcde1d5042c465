//! From a sysfs tree, live or copied, to a machine.
//!
//! What sysfs says is taken: who is online and shares what, capacities, clocks, idle states, node distances, and power
//! from the energy model in debugfs. What it cannot say, costs above all, is lent by the nearest preset (or the machine
//! that the caller names) and says `estimate: from PRESET` in the file. Files may be missing: each fallback is told in
//! a note. Files that are there must make sense: garbage is an error that names the file.
//!
//! `tree` reads files, `cpus` says who takes part, `topology`, `caches`, `clocks`, `idle`, `energy` and `kinds` read their parts
//! of the tree, `nearest` chooses the lender, `estimate` turns its figures into those of another core, and `assemble`
//! makes the machine.

mod assemble;
mod caches;
mod clocks;
mod cpus;
mod energy;
mod error;
mod estimate;
mod idle;
mod kinds;
mod nearest;
mod topology;
mod tree;

use std::path::{Path, PathBuf};

use crate::{file, Machine, MachineError};

use cpus::Cpus;
use estimate::Lender;
use kinds::Isa;
use nearest::Traits;
use topology::Topology;
use tree::Tree;

pub use error::CaptureError;

/// What to capture.
#[derive(Clone, Debug)]
pub struct CaptureOptions {
    /// The root of a sysfs tree: what is mounted on `/sys`, a copy of it, or a directory that has either as `sys`.
    pub sysfs: PathBuf,
    /// The root of a debugfs tree, for the energy model; `kernel/debug` of the sysfs tree if none is named.
    pub debugfs: Option<PathBuf>,
    /// Name of the machine.
    pub name: String,
    /// Who lends the figures that sysfs does not give; the nearest preset if none is named.
    pub like: Option<Machine>,
}

/// A captured machine.
#[derive(Clone, Debug)]
pub struct Captured {
    /// The machine, as its file reads.
    pub machine: Machine,
    /// What was missing, left out or assumed, in words.
    pub notes: Vec<String>,
}

impl Captured {
    /// The machine file, with the notes as comments.
    pub fn to_toml(&self) -> String {
        let mut text = String::from(HEAD);
        for note in &self.notes {
            text.push_str(&comment(note));
        }
        text.push_str(&self.machine.to_toml());
        text
    }
}

/// How a captured file begins.
const HEAD: &str = "\
# Captured by `fairground machine capture`. The format is described in machines/README.md.
# What sysfs does not say is from another machine: `estimate: from NAME`.
";

/// A list item in comments of at most 120 columns.
fn comment(note: &str) -> String {
    let mut lines = vec![String::from("# -")];
    for word in note.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= 120 => *line = format!("{line} {word}"),
            _ => lines.push(format!("#   {word}")),
        }
    }
    lines.join("\n") + "\n"
}

/// What was missing, left out or assumed.
#[derive(Default)]
struct Notes(Vec<String>);

impl Notes {
    fn add(&mut self, note: impl Into<String>) {
        self.0.push(note.into());
    }
}

/// What a tree says of the machine; tables are by CPU.
struct Seen {
    title: String,
    isa: Option<Isa>,
    is_zen: bool,
    core_names: Vec<Option<&'static str>>,
    topology: Topology,
    caches: Vec<caches::Seen>,
    capacities: Vec<u32>,
    /// Whether the kernel states capacities.
    has_capacities: bool,
    clocks: Vec<clocks::Clock>,
    idle: Vec<Vec<idle::State>>,
    energy: Vec<energy::Domain>,
}

/// Captures a machine.
///
/// # Errors
/// If there is no such tree, if a file cannot be read or says what no kernel says, or if files contradict each other.
pub fn capture(options: &CaptureOptions) -> Result<Captured, CaptureError> {
    if !file::is_name(&options.name) {
        return Err(CaptureError::Name { name: options.name.clone() });
    }
    let sysfs = find_sysfs(&options.sysfs)?;
    let debugfs = find_debugfs(&sysfs, options.debugfs.as_deref())?;
    let mut notes = Notes::default();
    let seen = read(&sysfs, &debugfs, &mut notes)?;
    let impossible = |cause: MachineError| CaptureError::Impossible { path: sysfs.root().into(), cause: cause.into() };
    let lender = match &options.like {
        Some(machine) => machine.clone(),
        None => nearest::nearest(&seen.traits()).map_err(impossible).map(|(preset, why)| {
            notes.add(format!("figures that sysfs does not give are from {}, {why}", preset.name));
            preset
        })?,
    };
    let machine = assemble::machine(&seen, &options.name, &Lender::new(&lender));
    // Levels that overlap in part and the like are found where any machine file's are.
    let machine = Machine::from_toml(&format!("{}.toml", options.name), &machine.to_toml()).map_err(impossible)?;
    Ok(Captured { machine, notes: notes.0 })
}

fn find_sysfs(root: &Path) -> Result<Tree, CaptureError> {
    let trees = [root.to_path_buf(), root.join("sys")].map(Tree::new);
    let missing = "devices/system/cpu";
    let expected = "what is mounted on /sys, or a copy of it";
    let fault = || CaptureError::NoTree { path: root.into(), kind: "sysfs", missing, expected };
    trees.into_iter().find(|tree| tree.has_dir(missing)).ok_or_else(fault)
}

fn find_debugfs(sysfs: &Tree, root: Option<&Path>) -> Result<Tree, CaptureError> {
    let Some(root) = root else { return Ok(Tree::new(sysfs.root().join("kernel/debug"))) };
    let tree = Tree::new(root);
    let missing = "energy_model";
    if tree.has_dir(missing) {
        return Ok(tree);
    }
    let expected = "what is mounted on /sys/kernel/debug, or a copy of it";
    Err(CaptureError::NoTree { path: root.into(), kind: "debugfs", missing, expected })
}

fn read(sysfs: &Tree, debugfs: &Tree, notes: &mut Notes) -> Result<Seen, CaptureError> {
    let cpus = Cpus::read(sysfs, notes)?;
    let topology = topology::read(sysfs, &cpus, notes)?;
    let caches = caches::read(sysfs, &cpus, notes)?;
    let clocks = clocks::read(sysfs, &cpus, &topology.cores, notes)?;
    let (capacities, has_capacities) = capacities(sysfs, &cpus, &clocks, notes)?;
    let idle = idle::read(sysfs, &cpus, notes)?;
    let core_names = cpus.iter().map(|cpu| kinds::core_name(sysfs, &cpus, cpu)).collect::<Result<_, _>>()?;
    Ok(Seen {
        title: title(sysfs, &cpus)?,
        isa: Isa::of_tree(sysfs, idle.iter().flatten().map(|state| state.name.as_str()))?,
        is_zen: kinds::is_zen(sysfs)?,
        core_names,
        topology,
        caches,
        capacities,
        has_capacities,
        clocks,
        idle,
        energy: energy::read(debugfs, &cpus, notes)?,
    })
}

/// What firmware calls the board: the device tree's model, or DMI's vendor and product.
fn title(tree: &Tree, cpus: &Cpus) -> Result<String, CaptureError> {
    let mut words = Vec::new();
    words.extend(tree.name("firmware/devicetree/base/model")?);
    if words.is_empty() {
        for file in ["sys_vendor", "product_name"] {
            words.extend(tree.name(&format!("devices/virtual/dmi/id/{file}"))?);
        }
    }
    let board = if words.is_empty() { "A machine".into() } else { words.join(" ") };
    Ok(format!("{board}, {} CPUs, captured from sysfs", cpus.count()))
}

/// cpu_capacity of each CPU, and whether the kernel states it. A machine's strongest CPU has 1024: where stronger ones
/// are offline, capacities are scaled up.
fn capacities(
    tree: &Tree,
    cpus: &Cpus,
    clocks: &[clocks::Clock],
    notes: &mut Notes,
) -> Result<(Vec<u32>, bool), CaptureError> {
    let read = |cpu| tree.number(&format!("{}/cpu_capacity", cpus.dir(cpu)), 1..=1024);
    let stated = cpus.iter().map(read).collect::<Result<Vec<Option<i64>>, _>>()?;
    let missing = cpus.iter().filter(|cpu| stated[*cpu as usize].is_none()).collect();
    let missing = cpus.kernel(&missing);
    let Some(top) = stated.iter().flatten().max() else {
        let mut tops = clocks.iter().map(|clock| clock.khz.last());
        let first = tops.next();
        let differ = if tops.any(|top| Some(top) != first) { ", though their top clocks differ" } else { "" };
        notes.add(format!("no cpu_capacity: the kernel takes all CPUs for equal{differ}"));
        return Ok((vec![1024; cpus.count()], false));
    };
    if !missing.is_empty() {
        notes.add(format!("cpu_capacity is missing for CPUs {missing}: taken for the strongest"));
    }
    if *top < 1024 {
        notes.add(format!("the greatest cpu_capacity is {top}: all are scaled up, the strongest CPU has 1024"));
    }
    let scaled = |capacity: &Option<i64>| (capacity.unwrap_or(*top) * 1024 / top) as u32;
    Ok((stated.iter().map(scaled).collect(), true))
}

impl Seen {
    fn traits(&self) -> Traits {
        let mut cores: Vec<String> = self.core_names.iter().flatten().map(|name| name.to_string()).collect();
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
