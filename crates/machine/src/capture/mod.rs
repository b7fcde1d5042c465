//! Captures a machine from a sysfs tree (live, copied or in a tarball) or a device tree.
//!
//! What the tree says is taken: who is online and shares what, capacities, clocks, idle states, node distances, and
//! power. What it cannot say, costs above all, is lent by the nearest preset (or the machine that the caller names) and
//! says `estimate: from PRESET` in the file. Parts may be missing: each fallback adds a note. Parts that are there
//! must make sense: garbage is an error that names the place.
//!
//! `input` detects the type of the input. Of sysfs, `tree` reads files (`archive` those of a tarball; `files` lists
//! them and writes the script that collects them), `cpus` selects the CPUs, and `topology`, `caches`, `clocks`, `idle`,
//! `energy` and `kinds` read their parts of the tree, and `cpuinfo` the file of that name beside it. `devicetree` does the same with a device tree. From the resulting
//! `hardware`, `nearest` chooses the lender, `estimate` scales its figures, and `assemble` makes the machine.

mod archive;
mod assemble;
mod caches;
mod clocks;
mod cpuinfo;
mod cpus;
mod devicetree;
mod energy;
mod error;
mod estimate;
mod files;
mod hardware;
mod idle;
mod input;
mod kinds;
mod nearest;
mod sysfs;
mod topology;
mod tree;

use std::path::PathBuf;

use crate::{file, Machine, MachineError};

use estimate::Lender;
use hardware::Hardware;
use input::Input;

pub use error::CaptureError;
pub use files::capture_script;

/// Input and options of [`capture`](super::capture()).
#[derive(Clone, Debug)]
pub struct CaptureOptions {
    /// The root of a sysfs tree: what is mounted on `/sys`, a copy of it, or a directory that has either as `sys`. Or a
    /// file: a tarball of such a directory (also with gzip), or a flattened device tree (`.dtb`). What a file is
    /// is detected from its contents.
    pub from: PathBuf,
    /// The root of a debugfs tree, for the energy model; `kernel/debug` of the sysfs tree if none is named. Of no
    /// consequence to a device tree.
    pub debugfs: Option<PathBuf>,
    /// Name of the machine.
    pub name: String,
    /// The machine from which the figures come that the tree does not give; the nearest preset if none is named.
    pub like: Option<Machine>,
}

/// Result of a capture.
#[derive(Clone, Debug)]
pub struct Capture {
    /// The machine, as its file reads.
    pub machine: Machine,
    /// What was missing, left out or assumed, as text.
    pub notes: Vec<String>,
}

impl Capture {
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
# What was not to be read there is from another machine: `estimate: from NAME`.
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

/// Makes a machine from the sysfs tree or device tree of a computer.
///
/// # Errors
/// If there is no such tree, if something cannot be read or makes no sense, or if its parts contradict each other.
pub fn capture(options: &CaptureOptions) -> Result<Capture, CaptureError> {
    if !file::is_name(&options.name) {
        return Err(CaptureError::Name { name: options.name.clone() });
    }
    let mut notes = Notes::default();
    let mut seen = read(options, &mut notes)?;
    let places = seen.places;
    let impossible = |cause: MachineError| {
        let help = places.conflict_help;
        CaptureError::Impossible { path: options.from.clone(), help, cause: cause.into() }
    };
    let lender = match &options.like {
        Some(machine) => machine.clone(),
        None => nearest::nearest(&seen.traits()).map_err(impossible).map(|(preset, why)| {
            notes.add(format!("figures that {} does not give are from {}, {why}", places.tree, preset.name));
            preset
        })?,
    };
    let lender = Lender::new(&lender);
    seen.derive_capacities(Some(&lender));
    let machine = assemble::machine(&seen, &options.name, &lender);
    // Levels that overlap in part and the like are found where any machine file's are.
    let machine = Machine::from_toml(&format!("{}.toml", options.name), &machine.to_toml()).map_err(impossible)?;
    Ok(Capture { machine, notes: notes.0 })
}

/// Reads whatever is there.
fn read(options: &CaptureOptions, notes: &mut Notes) -> Result<Hardware, CaptureError> {
    let sysfs = match input::open(&options.from, notes)? {
        Input::Sysfs(tree) => tree,
        Input::DeviceTree(tree) => return devicetree::read(&tree, notes),
    };
    let debugfs = sysfs::find_debugfs(&sysfs, options.debugfs.as_deref())?;
    sysfs::read(&sysfs, &debugfs, notes)
}
