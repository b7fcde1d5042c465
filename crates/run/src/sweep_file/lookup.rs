//! Looks up the names in the levels of a sweep.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fairground_linux::build::{is_any_library_allowed, BuildError, BuiltKernel, Kernels};
use fairground_machine::places::{FileResult, Node};
use fairground_machine::{preset_text, CpuMask, FileError, Machine, MachineSpec};
use fairground_workload::{rtapp, Builtin};
use miette::Diagnostic;

use crate::content;
use crate::run_config::endless_refused;
use crate::run_spec::{Inputs, KernelInput};
use crate::sched_spec::{SchedSpec, SchedSpecError};

/// Largest shared object of a kernel, MiB.
const MAX_LIBRARY_MIB: u64 = 512;

/// A machine, with the CPUs that its name selects.
pub(super) struct Board {
    pub machine: Arc<Machine>,
    pub cpus: Option<CpuMask>,
}

/// A workload, as written in the file.
pub(super) struct Work {
    pub typed: String,
    /// Its file; `None` if it is a built-in.
    pub file: Option<String>,
}

impl Work {
    /// The name with `piece`, a further option; the name alone if `piece` is empty.
    pub fn with(&self, piece: &str) -> String {
        let bare = self.file.as_ref() == Some(&self.typed) || !self.typed.contains(':');
        match (piece, bare) {
            ("", _) => self.typed.clone(),
            (_, true) => format!("{}:{piece}", self.typed),
            (_, false) => format!("{},{piece}", self.typed),
        }
    }
}

/// Looks up names, and keeps the content of files and kernels, which other computers may lack.
pub(super) struct Finder<'a> {
    dir: &'a Path,
    pub inputs: Inputs,
    machines: BTreeMap<String, Arc<Machine>>,
}

impl<'a> Finder<'a> {
    pub fn new(dir: &'a Path, inputs: Inputs) -> Self {
        Finder { dir, inputs, machines: BTreeMap::new() }
    }

    /// The machine of a preset, an input or a file.
    pub fn machine(&mut self, node: &Node) -> FileResult<Board> {
        let typed = node.text()?;
        let MachineSpec { name, subset } = MachineSpec::parse(typed);
        let is_path = name.contains('/') || name.ends_with(".toml");
        let path = self.dir.join(name);
        let from_file = is_path || (preset_text(name).is_none() && path.is_file());
        if from_file && !self.inputs.machines.contains_key(name) {
            let text = Machine::read(&path).map_err(|e| fault_at(node, &e))?;
            self.inputs.machines.insert(name.into(), text);
        }
        let machine = match self.machines.get(name) {
            Some(machine) => Arc::clone(machine),
            None => {
                let text = self.inputs.machines.get(name).map(String::as_str);
                let (machine, _) = content::machine(name, text).map_err(|e| fault_at(node, &e))?;
                let machine = Arc::new(machine);
                self.machines.insert(name.into(), Arc::clone(&machine));
                machine
            }
        };
        let cpus = subset.map(|subset| machine.subset(subset)).transpose().map_err(|e| fault_at(node, &e))?;
        Ok(Board { machine, cpus })
    }

    /// The workload of a built-in, an input or a file.
    pub fn workload(&mut self, node: &Node) -> FileResult<Work> {
        let typed = node.text()?;
        let names = || [Some(typed), typed.rsplit_once(':').map(|(name, _)| name)].into_iter().flatten();
        let builtin = Builtin::by_name(typed.split(':').next().unwrap_or(typed)).is_some();
        let known = names().find(|name| self.inputs.workloads.contains_key(*name));
        let file = match known {
            Some(name) => Some(name),
            None if builtin => None,
            None => names().find(|name| self.dir.join(name).is_file()),
        };
        let no_file = file.is_none() && !builtin && (typed.contains('/') || typed.ends_with(".json"));
        if no_file {
            let fault = node.fault(format!("there is no file {}", self.dir.join(typed).display()));
            return Err(fault.hint("expected a built-in with options, or a file relative to this one"));
        }
        if let Some(name) = file.filter(|_| known.is_none()) {
            let content = content(node, self.dir.join(name), rtapp::MAX_FILE_MIB)?;
            self.inputs.workloads.insert(name.into(), content);
        }
        Ok(Work { typed: typed.into(), file: file.map(str::to_owned) })
    }

    /// Checks that a machine can run a workload with this option; `node` is the place in the file.
    pub fn runs(&self, work: &Work, piece: &str, board: &Board, node: &Node) -> FileResult<()> {
        let content = work.file.as_deref().and_then(|name| Some((name, self.inputs.workloads.get(name)?.as_slice())));
        let found = content::workload(&work.with(piece), content, &board.machine, board.cpus.as_ref());
        let (_, warnings) = found.map_err(|e| fault_at(node, &e))?;
        endless_refused(warnings).map(drop).map_err(|e| fault_at(node, &e))
    }

    /// Our own scheduler, a kernel with a build record, or the library of a kernel.
    pub fn sched(&mut self, node: &Node) -> FileResult<SchedSpec> {
        let typed = node.text()?;
        let Some(name) = typed.strip_prefix("linux:") else {
            return typed.parse().map_err(|e: SchedSpecError| fault_at(node, &e));
        };
        let built = |name: &str| -> Result<BuiltKernel, BuildError> { Kernels::user()?.find(name) };
        let kernel = match name.contains('/') {
            true => None,
            false => Some(built(name).map_err(|e| fault_at(node, &e))?),
        };
        let path = kernel.as_ref().map_or_else(|| self.dir.join(name), |k| k.library.clone());
        let library = content(node, path.clone(), MAX_LIBRARY_MIB)?;
        let trusted = kernel.is_some() || is_any_library_allowed();
        let known = || Kernels::user().and_then(|kernels| kernels.have_built(&library));
        if !trusted && !known().map_err(|e| fault_at(node, &e))? {
            let error = SchedSpecError::NotBuiltHere { text: typed.into(), path: path.display().to_string() };
            return Err(fault_at(node, &error));
        }
        let built_with = kernel.as_ref().map(|k| (k.record.hz, k.record.nr_cpus));
        self.inputs.kernels.insert(name.into(), KernelInput { library, built_with });
        let file = File::open(&path).map_err(|e| node.fault(format!("cannot read {}: {e}", path.display())))?;
        Ok(SchedSpec::of_library(typed, file, kernel))
    }
}

/// The error as a fault at `node`.
pub(super) fn fault_at(node: &Node, error: &dyn Diagnostic) -> Box<FileError> {
    let fault = node.fault(error.to_string().trim_end());
    match error.help() {
        Some(help) => fault.hint(help.to_string()),
        None => fault,
    }
}

/// The bytes of a file; refuses one that is longer than the limit.
fn content(node: &Node, path: PathBuf, limit_mib: u64) -> FileResult<Vec<u8>> {
    let refused = |why: String| node.fault(format!("cannot read {}: {why}", path.display()));
    // Checked before the file is opened: to open a pipe would wait for its writer.
    if !path.is_file() {
        return Err(refused("there is no such file".into()));
    }
    let mut bytes = Vec::new();
    let read = File::open(&path).and_then(|f| f.take((limit_mib << 20) + 1).read_to_end(&mut bytes));
    read.map_err(|e| refused(e.kind().to_string()))?;
    match bytes.len() as u64 > limit_mib << 20 {
        true => Err(refused(format!("it is larger than {limit_mib} MiB"))),
        false => Ok(bytes),
    }
}
