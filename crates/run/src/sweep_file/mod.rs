//! Sweeps: many runs over machines, workloads, schedulers, features and figures, planned in a file.
//!
//! [`SweepFile::load`] reads such a file and checks all of it before any run. It looks up each level of each axis; an
//! error names the place of an unknown name. A run of a sweep is plain data, a
//! [`RunSpec`](crate::run_spec::RunSpec). The files that it names (machines, workloads, built kernels) come with it as
//! [`Inputs`], so that it has the same result on every computer.
//!
//! ```
//! use fairground_run::run_spec::Inputs;
//! use fairground_run::sweep_file::SweepFile;
//!
//! let text = r#"
//! experiment = { name = "pipes" }
//! fixed = { machine = "hikey960", sched = "fair:v5.9" }
//! axes = { workload = ["sched-pipe:threads"], features = { asym-prev-frist = [false, true] } }
//! "#;
//! let error = SweepFile::read("pipes.toml", text, ".".as_ref(), Inputs::default()).unwrap_err();
//! assert!(error.to_string().starts_with("pipes.toml:4:"), "{error}");
//! assert!(error.help.unwrap().starts_with("did you mean `asym-prev-first`?"));
//! ```

mod axes;
mod grid;
mod levels;
mod lookup;
mod read;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use fairground_machine::FileError;
use miette::Diagnostic;
use serde::Serialize;
use serde_json::Value;
use thiserror::Error;

use crate::run_spec::{Inputs, Way};

/// Largest file that is read, MiB.
const MAX_FILE_MIB: u64 = 16;

/// A sweep whose every level has been looked up.
#[derive(Clone, Debug, Serialize)]
pub struct SweepFile {
    /// Name of the sweep.
    pub name: String,
    /// How points are chosen.
    pub design: Design,
    /// Number of points; `None` for a grid, which has all combinations.
    pub points: Option<u32>,
    /// Seed of the draw of points.
    pub draw: u32,
    /// Runs at each point, with seeds 1, 2, ...
    pub seeds: u32,
    /// The names that do not vary: `machine`, `workload`, `sched`.
    pub fixed: BTreeMap<&'static str, String>,
    /// The settings that do not vary, by their names.
    pub settings: Vec<(String, Value)>,
    /// What varies from point to point: machine, workload, scheduler, features, options, figures and settings, in
    /// this order.
    pub axes: Vec<Axis>,
    /// Content of the files and kernels that the sweep names.
    #[serde(skip)]
    pub inputs: Inputs,
}

/// How the points of a sweep are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Design {
    /// All combinations of levels.
    Grid,
    /// Random points: a Latin hypercube.
    Random,
    /// A Sobol sequence, which fills the space evenly.
    Sobol,
    /// Pairs of Sobol points and mixtures of each pair, to estimate sensitivity indices.
    Saltelli,
}

/// An axis of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// Name of its column in tables.
    pub name: String,
    /// What the axis varies.
    pub kind: Kind,
    /// How a figure of the machine is perturbed; `None` for an axis of another kind.
    pub way: Option<Way>,
    /// Values that the axis takes.
    #[serde(flatten)]
    pub levels: Levels,
    /// For a feature or an option: the text that each level adds to the name of scheduler or workload. Empty for a
    /// range.
    pub pieces: Vec<String>,
}

/// What an axis varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The machine, by its name.
    Machine,
    /// The workload, by its name.
    Workload,
    /// The scheduler, by its name.
    Sched,
    /// A feature of the scheduler, off or on.
    Feature,
    /// An option of the workload, by its value.
    Option,
    /// A figure of the machine, perturbed.
    Figure,
    /// A setting of the run.
    Setting,
}

/// Values of an axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Levels {
    /// A list of values.
    #[serde(rename = "levels")]
    Listed(Vec<Value>),
    /// Any number in a range.
    Range(Range),
}

/// A range of numbers, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Range {
    /// Smallest value.
    pub low: f64,
    /// Greatest value.
    pub high: f64,
    /// Whether levels are spread evenly by ratio.
    pub log: bool,
    /// Whether levels are whole numbers.
    pub whole: bool,
}

/// Why there is no sweep.
#[derive(Debug, Error, Diagnostic)]
pub enum SweepFileError {
    /// The file cannot be read.
    #[error("cannot read experiment file `{path}`: {cause}")]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// The text of the file is wrong at a known place.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Invalid(#[from] Box<FileError>),
}

impl SweepFile {
    /// Reads an experiment file; files that it names are relative to it.
    ///
    /// # Errors
    /// If the file cannot be read, or a level of it is unknown or invalid.
    pub fn load(path: &Path) -> Result<SweepFile, SweepFileError> {
        let unreadable = |cause| SweepFileError::Unreadable { path: path.into(), cause };
        let mut text = String::new();
        let limit = MAX_FILE_MIB << 20;
        File::open(path).and_then(|f| f.take(limit + 1).read_to_string(&mut text)).map_err(unreadable)?;
        if text.len() as u64 > limit {
            return Err(unreadable(io::Error::other(format!("it is larger than {MAX_FILE_MIB} MiB"))));
        }
        let dir = path.parent().unwrap_or(Path::new(""));
        Ok(SweepFile::read(&path.display().to_string(), &text, dir, Inputs::default())?)
    }

    /// Reads the text of an experiment file. It may name `inputs`, and files relative to `dir`.
    ///
    /// # Errors
    /// The first fault of the file.
    pub fn read(name: &str, text: &str, dir: &Path, inputs: Inputs) -> Result<SweepFile, Box<FileError>> {
        read::sweep_file(name, text, dir, inputs)
    }
}
