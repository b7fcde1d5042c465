//! What a page asks to run. It is the whole of a link, so it is checked like any input, and can do nothing but run.

use std::sync::Arc;

use fairground_lab::sides::{MachineWorkload, SideError, SideSpec, Sides, SidesError};
use fairground_machine::{CpuMask, Machine, MachineError, MachineSpec, Perturbation};
use fairground_run::content;
use fairground_run::run_config::{endless_refused, ExperimentError, InvalidSetting, RunConfig};
use fairground_run::worker::Workers;
use fairground_workload::WorkloadError;
use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Version of the format.
pub const VERSION: u32 = 1;

/// Most bytes of a machine file or of a workload file.
pub const FILE_MAX: usize = 512 << 10;

/// Most bytes of a name, or of a side.
pub const NAME_MAX: usize = 4 << 10;

/// Most pairs of runs, and most draws.
pub const RUNS_MAX: u64 = 64;

/// Most figures of the machine that are replaced, and most settings.
pub const CHANGES_MAX: usize = 64;

/// What to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// [`VERSION`].
    pub version: u32,
    /// A preset, or the name of `machine_file`; with the CPUs that the workload is bound to: `kunpeng920@node0`.
    pub machine: String,
    /// Text of a machine file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_file: Option<String>,
    /// Figures of the machine by their paths, and the value that each has instead, in the unit of the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<(String, f64)>,
    /// A built-in workload, or the name of `workload_file`; with options.
    pub workload: String,
    /// Content of a workload file: rt-app's JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_file: Option<String>,
    /// The base, as `fairground compare --base` takes it.
    pub base: String,
    /// The test, as `fairground compare --test` takes it; `None`: only the base runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// Settings of all sides, by the names of [`fairground_run::run_config::SETTINGS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<(String, String)>,
    /// Runs of each side on the machine as it is stated: seeds 1 to this.
    pub seeds: u64,
    /// Runs of each side on draws of the figures in doubt: draws 1 to this.
    pub draws: u64,
}

/// Why an input cannot run.
#[derive(Debug, Error, Diagnostic)]
pub enum InputError {
    /// It is of another version of this format.
    #[error("the input is of version {found}, and this playground reads version {VERSION}")]
    #[diagnostic(help("open it with the playground that made it"))]
    Version {
        /// The version that it states.
        found: u32,
    },
    /// A part is larger than a page takes.
    #[error("{what}: {found} is more than {most}")]
    #[diagnostic(help("the command has no such limit: fairground compare"))]
    TooMuch {
        /// The part of the input.
        what: &'static str,
        /// Its size.
        found: u64,
        /// The limit.
        most: u64,
    },
    /// There is nothing to run.
    #[error("seeds: 0, expected 1 to {RUNS_MAX}")]
    NoSeeds,
    /// The machine is unknown or invalid.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Machine(#[from] MachineError),
    /// The machine has no such figure.
    #[error("figures: {machine} has no figure {path}")]
    #[diagnostic(help("`figures` takes the paths that the list of figures shows"))]
    NoFigure {
        /// The machine.
        machine: String,
        /// The path.
        path: String,
    },
    /// The workload is unknown or invalid, or does not fit the machine.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Workload(#[from] WorkloadError),
    /// A setting of all sides is invalid.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Setting(#[from] InvalidSetting),
    /// A side is invalid.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Side(#[from] SideError),
    /// A scheduler is unknown, or the sides do not go together.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Sides(#[from] SidesError),
}

impl From<ExperimentError> for InputError {
    fn from(error: ExperimentError) -> InputError {
        SidesError::from(error).into()
    }
}

/// An input that was found to be valid: what its sides are made of.
pub struct Found {
    specs: Vec<SideSpec>,
    machines: Vec<MachineWorkload>,
    /// Settings of all sides.
    pub config: RunConfig,
    /// Warnings about the workload.
    pub warnings: Vec<String>,
}

impl Found {
    /// The sides with these settings in place of those of all sides.
    ///
    /// # Errors
    /// If a scheduler is unknown, or the settings do not go together.
    pub fn sides(&self, config: &RunConfig) -> Result<Sides, SidesError> {
        Sides::on(&self.specs, self.machines.clone(), None, config, &Workers::default())
    }
}

impl Input {
    /// Checks the limits, and finds machine, workload and settings.
    ///
    /// # Errors
    /// The first part that is too large, unknown or invalid, with the messages that `fairground compare` has.
    pub fn find(&self) -> Result<Found, InputError> {
        self.check_limits()?;
        let mut specs = vec![SideSpec::parse("base", &self.base)?];
        specs.extend(self.test.as_deref().map(|test| SideSpec::parse("test", test)).transpose()?);
        let mut config = RunConfig::default();
        self.settings.iter().try_for_each(|(name, value)| config.set_text(name, value))?;
        let (mut machines, mut warnings) = (Vec::new(), Vec::new());
        for side in &specs {
            let (machine_name, machine, cpus) = self.machine(side.machine())?;
            let (workload_name, content) = self.workload(side.workload());
            let content = content.map(|content| (file_of(workload_name), content.as_bytes()));
            let (workload, more) = content::workload(workload_name, content, &machine, cpus.as_ref())?;
            warnings.extend(endless_refused(more)?);
            let (machine_name, workload_name) = (machine_name.to_owned(), workload_name.to_owned());
            let (machine, workload) = (Arc::new(machine), Arc::new(workload));
            machines.push(MachineWorkload { machine_name, machine, workload_name, workload });
        }
        warnings.dedup();
        Ok(Found { specs, machines, config, warnings })
    }

    /// The name of the machine of all sides, without CPUs.
    pub fn machine_name(&self) -> &str {
        MachineSpec::parse(&self.machine).name
    }

    /// The machine of all sides, with its figures replaced.
    ///
    /// # Errors
    /// If it is too large, unknown or invalid.
    pub fn machine_of_all(&self) -> Result<Machine, InputError> {
        self.check_limits()?;
        Ok(self.machine(None)?.1)
    }

    /// The machine of a side that names `own`: a preset then, else that of all sides with its figures replaced.
    fn machine<'a>(&'a self, own: Option<&'a str>) -> Result<(&'a str, Machine, Option<CpuMask>), InputError> {
        if let Some(own) = own {
            let (machine, cpus) = content::machine(own, None)?;
            return Ok((own, machine, cpus));
        }
        let (mut machine, cpus) = content::machine(&self.machine, self.machine_file.as_deref())?;
        for (path, value) in &self.figures {
            machine = machine
                .perturbed(path, Perturbation::To(*value))?
                .ok_or_else(|| InputError::NoFigure { machine: machine.name.clone(), path: path.clone() })?;
        }
        Ok((&self.machine, machine, cpus))
    }

    /// The workload of a side that names `own`: a built-in then, else that of all sides, with its content.
    fn workload<'a>(&'a self, own: Option<&'a str>) -> (&'a str, Option<&'a str>) {
        own.map_or((&*self.workload, self.workload_file.as_deref()), |own| (own, None))
    }

    fn check_limits(&self) -> Result<(), InputError> {
        let Input { version, seeds, draws, .. } = *self;
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let names = [&self.machine, &self.workload, &self.base].into_iter().chain(&self.test);
        let names = names.chain(self.figures.iter().map(|(path, _)| path));
        let names = names.chain(self.settings.iter().flat_map(|(name, value)| [name, value]));
        let changes = self.figures.len().max(self.settings.len());
        let sizes = [
            ("seeds", seeds, RUNS_MAX),
            ("draws", draws, RUNS_MAX),
            ("machine_file, bytes", length(&self.machine_file) as u64, FILE_MAX as u64),
            ("workload_file, bytes", length(&self.workload_file) as u64, FILE_MAX as u64),
            ("a name, bytes", names.map(String::len).max().unwrap_or(0) as u64, NAME_MAX as u64),
            ("figures or settings", changes as u64, CHANGES_MAX as u64),
        ];
        match sizes.into_iter().find(|(_, found, most)| found > most) {
            _ if version != VERSION => Err(InputError::Version { found: version }),
            Some((what, found, most)) => Err(InputError::TooMuch { what, found, most }),
            None if seeds == 0 => Err(InputError::NoSeeds),
            None => Ok(()),
        }
    }
}

/// The name of a file in a workload's name with options.
fn file_of(workload: &str) -> &str {
    workload.split(':').next().unwrap_or_default()
}
