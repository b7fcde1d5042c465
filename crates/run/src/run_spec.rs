//! [`RunSpec`]: one run as plain data; and its lookup, which makes an experiment of it.
//!
//! ```
//! use fairground_run::run_spec::{Inputs, Resolver, RunSpec};
//!
//! let spec = RunSpec::new("hikey960", "sched-pipe:loops=10", "fair:v5.9", 1);
//! let resolver = Resolver::new(Inputs::default());
//! let (experiment, _) = spec.experiment(&resolver)?;
//! let other = RunSpec { seed: 2, ..spec.clone() };
//! assert_ne!(spec.key(&resolver)?, other.key(&resolver)?);
//! # Ok::<(), fairground_run::run_spec::RunSpecError>(())
//! ```

mod inputs;

use std::fs::File;
use std::io::{self, Write};
use std::time::Instant;

use fairground_linux::build::{BuiltKernel, Record as BuildRecord};
use fairground_machine::{Machine, MachineError, Perturbation};
use fairground_workload::WorkloadError;
use miette::Diagnostic;
use nix::sys::memfd::{memfd_create, MFdFlags};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

pub use self::inputs::{Inputs, KernelInput, Resolver};
use crate::executor;
use crate::experiment::{RunError, Stop};
use crate::key::{ColumnKey, Key};
use crate::run_config::{endless_refused, ExperimentAndNotes, ExperimentError, InvalidSetting, RunConfig};
use crate::sched_spec::{SchedSpec, SchedSpecError};
use crate::store::Record;
use crate::worker::Workers;

/// A figure of a machine that a run perturbs: its path in the machine file, the way, and the value.
pub type Perturbed = (String, Way, f64);

/// Everything that determines a run, but the content of the files that it names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// A preset or an input, with the CPUs that the workload is bound to: `kunpeng920@node0`.
    pub machine: String,
    /// Figures of the machine to perturb, in this order.
    pub figures: Vec<Perturbed>,
    /// A built-in workload or an input, with options.
    pub workload: String,
    /// `fair:PRESET+feature-feature`, or `linux:NAME` of an input.
    pub sched: String,
    /// Settings of [`RunConfig`] by their names.
    pub options: Vec<(String, Value)>,
    /// Seed of all random draws.
    pub seed: u64,
}

/// How a figure is perturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// The figure is replaced by the value, in the unit of the file.
    To,
    /// The figure is multiplied by the value.
    Times,
}

impl Way {
    /// The perturbation in this way by `value`.
    pub fn by(self, value: f64) -> Perturbation {
        match self {
            Way::To => Perturbation::To(value),
            Way::Times => Perturbation::Times(value),
        }
    }
}

/// Why a spec cannot be run.
#[derive(Debug, Error, Diagnostic)]
pub enum RunSpecError {
    /// The content of a file or a kernel is missing. This is not a result of the run.
    #[error("{what} {name:?} is not among the inputs of this run")]
    NotAmongInputs {
        /// `machine`, `workload` or `scheduler`.
        what: &'static str,
        /// The name in the spec.
        name: String,
    },
    /// The machine is unknown, or invalid after the perturbation.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Machine(#[from] MachineError),
    /// The machine has no figure of this path.
    #[error("machine {machine} has no figure {path} that can be perturbed")]
    NoFigure {
        /// Name of the machine.
        machine: String,
        /// Path of the requested figure in the machine file.
        path: String,
    },
    /// The workload is unknown, invalid, or does not fit the machine.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Workload(#[from] WorkloadError),
    /// The scheduler is unknown, or cannot be used.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Sched(#[from] SchedSpecError),
    /// The library cannot be written to memory or read. This is not a result of the run.
    #[error("scheduler {sched}: cannot load the kernel's library: {cause}")]
    Library {
        /// The scheduler, as the spec names it.
        sched: String,
        /// The error of the system.
        cause: io::Error,
    },
    /// A setting does not exist, or does not take its value.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Setting(#[from] InvalidSetting),
    /// The workload would never end, or the machine, the scheduler and the settings do not fit together.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Experiment(#[from] ExperimentError),
}

impl RunSpecError {
    /// Whether the spec fails so on every computer. Such a failure is a result of the run, and is stored.
    pub fn is_result(&self) -> bool {
        !matches!(self, RunSpecError::NotAmongInputs { .. } | RunSpecError::Library { .. })
    }
}

impl RunSpec {
    /// A run with default settings and without perturbed figures.
    pub fn new(machine: &str, workload: &str, sched: &str, seed: u64) -> RunSpec {
        let [machine, workload, sched] = [machine, workload, sched].map(str::to_owned);
        RunSpec { machine, figures: Vec::new(), workload, sched, options: Vec::new(), seed }
    }

    /// The experiment of this spec, and the warnings about it. Reads no file.
    ///
    /// # Errors
    /// A name or a value that is invalid, or does not fit the others.
    pub fn experiment(&self, resolver: &Resolver) -> Result<ExperimentAndNotes, RunSpecError> {
        let (machine, cpus) = resolver.machine(&self.machine, &self.figures)?;
        let on = (self.machine.as_str(), self.figures.as_slice());
        let (workload, warnings) = resolver.workload(&self.workload, on, &machine, cpus.as_ref())?;
        let mut notes = endless_refused(warnings)?;
        let mut config = RunConfig::default();
        self.options.iter().try_for_each(|(name, value)| config.set(name, value))?;
        let (experiment, more) = config.experiment_of(machine, workload, vec![resolver.sched(&self.sched)?])?;
        notes.extend(more);
        Ok((experiment, notes))
    }

    /// The key of its result in the store; any other command uses the same key for the same run. A spec that cannot be
    /// run has a key too, as its failure is a result.
    ///
    /// # Errors
    /// An input that is named and missing.
    pub fn key(&self, resolver: &Resolver) -> Result<Key, RunSpecError> {
        Ok(self.keys(resolver)?.0.with(self.seed))
    }

    /// The key of this run without the seed, and the notes of such runs.
    ///
    /// # Errors
    /// As [`Self::key`].
    pub fn keys(&self, resolver: &Resolver) -> Result<(ColumnKey, Vec<String>), RunSpecError> {
        match self.experiment(resolver) {
            Ok((experiment, notes)) => match ColumnKey::of(&experiment, 0) {
                Ok(key) => Ok((key, [notes, crate::run_config::notes(&experiment.config)].concat())),
                Err(cause) => Err(RunSpecError::Library { sched: self.sched.clone(), cause }),
            },
            Err(error) if error.is_result() => Ok((self.key_of_impossible(&error), Vec::new())),
            Err(error) => Err(error),
        }
    }

    fn key_of_impossible(&self, error: &RunSpecError) -> ColumnKey {
        let spec = RunSpec { seed: 0, ..self.clone() };
        // Strings and numbers: this cannot fail. A figure that is not finite is written as null.
        let text = serde_json::to_string(&spec).unwrap_or_default();
        ColumnKey::of_impossible(&text, &error.to_string())
    }

    /// Makes the run. If it cannot begin, or fails, the record holds the error message.
    ///
    /// # Errors
    /// A failure that is not a result: a limit ended the run, or the run was lost.
    pub fn record(&self, resolver: &Resolver, workers: Workers, stop: &Stop) -> Result<Record, RunError> {
        let begun = Instant::now();
        let outcome = match self.experiment(resolver) {
            Ok((mut experiment, _)) => {
                experiment.workers = workers;
                executor::record(&experiment, 0, self.seed, stop)?.outcome
            }
            Err(error) if error.is_result() => Err(error.to_string().trim_end().to_owned()),
            Err(error) => return Err(RunError::Lost(error.to_string())),
        };
        Ok(Record { what: self.to_string(), wall_ns: begun.elapsed().as_nanos() as u64, outcome })
    }
}

/// Names machine, workload, scheduler and seed for the user.
impl std::fmt::Display for RunSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let RunSpec { machine, workload, sched, seed, .. } = self;
        write!(f, "{machine} {workload} {sched} seed {seed}")
    }
}

pub(crate) fn perturbed(machine: &Machine, path: &str, by: Perturbation) -> Result<Machine, RunSpecError> {
    let no_figure = || RunSpecError::NoFigure { machine: machine.name.clone(), path: path.into() };
    machine.perturbed(path, by)?.ok_or_else(no_figure)
}

/// The scheduler of a kernel whose content is an input.
fn kernel(text: &str, input: &KernelInput) -> Result<SchedSpec, RunSpecError> {
    let library =
        file_in_memory(&input.library).map_err(|cause| RunSpecError::Library { sched: text.into(), cause })?;
    let built = input.built_with.map(|(hz, nr_cpus)| {
        let mut record = BuildRecord::default();
        (record.hz, record.nr_cpus) = (hz, nr_cpus);
        let name = text.strip_prefix("linux:").unwrap_or(text).into();
        BuiltKernel { name, library: "the library".into(), record, failed: None }
    });
    Ok(SchedSpec::of_library(text, library, built))
}

/// A file in memory with this content.
///
/// # Errors
/// If the system has no memory for it.
pub fn file_in_memory(library: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("fairground-kernel", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(library)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use fairground_machine::preset_text;
    use serde_json::json;

    use super::*;

    fn spec(changes: Value) -> RunSpec {
        let mut plain = json!({
            "machine": "hikey960", "figures": [], "workload": "sched-pipe:loops=10", "sched": "fair:v5.9",
            "options": [], "seed": 1,
        });
        changes.as_object().unwrap().iter().for_each(|(key, value)| plain[key] = value.clone());
        serde_json::from_value(plain).unwrap()
    }

    fn hash(spec: &RunSpec, inputs: &Inputs) -> u128 {
        let record = spec.record(&Resolver::new(inputs.clone()), Workers::default(), &Stop::default());
        record.unwrap().outcome.unwrap().hash
    }

    fn mine() -> Inputs {
        let machines = [("mine".to_owned(), preset_text("hikey960").unwrap().to_owned())];
        Inputs { machines: machines.into(), ..Inputs::default() }
    }

    fn with_kernel(built_with: Option<(u32, u32)>) -> Resolver {
        let kernel = KernelInput { library: b"no library".into(), built_with };
        Resolver::new(Inputs { kernels: [("mine".to_owned(), kernel)].into(), ..Inputs::default() })
    }

    #[test]
    fn an_input_stands_for_what_has_its_name() {
        let load = br#"{ "tasks": { "t": { "loop": 2, "run": 2000 } } }"#;
        let preset = hash(&spec(json!({})), &Inputs::default());
        assert_eq!(hash(&spec(json!({ "machine": "mine" })), &mine()), preset);
        assert_ne!(hash(&spec(json!({ "machine": "mine@4-7" })), &mine()), preset);
        let inputs = Inputs { workloads: [("a:b".to_owned(), load.to_vec())].into(), ..Inputs::default() };
        let loaded = spec(json!({ "workload": "a:b:duration=0.001" }));
        let (experiment, _) = loaded.experiment(&Resolver::new(inputs)).unwrap();
        assert_eq!(experiment.workload.duration_ns, Some(1_000_000));
    }

    #[test]
    fn names_are_not_looked_for_on_this_computer() {
        let resolver = Resolver::new(Inputs::default());
        let error = |changes| spec(changes).keys(&resolver).err().unwrap();
        for (changes, what) in [
            (json!({ "machine": "../../machines/hikey.toml" }), "machine"),
            (json!({ "workload": "./load.json" }), "workload"),
            (json!({ "sched": "linux:./Cargo.toml" }), "scheduler"),
        ] {
            assert!(error(changes).to_string().starts_with(what));
        }
        let unknown = spec(json!({ "workload": "Cargo.toml" })).experiment(&resolver).err().unwrap();
        assert!(matches!(unknown, RunSpecError::Workload(_)));
    }

    #[test]
    fn a_kernel_of_content_has_its_rate_and_its_size() {
        let sched = json!({ "sched": "linux:mine" });
        let (experiment, _) = spec(sched.clone()).experiment(&with_kernel(Some((1000, 8)))).unwrap();
        assert_eq!(experiment.config.hz, 1000);
        let small = spec(sched.clone()).experiment(&with_kernel(Some((1000, 4)))).err().unwrap();
        assert!(small.to_string().contains("linux:mine was built for 4"), "{small}");
        assert_eq!(spec(sched).experiment(&with_kernel(None)).unwrap().0.config.hz, 250);
    }

    /// Renaming a machine file does not change the key, nor does another command.
    #[test]
    fn equal_runs_have_equal_keys() {
        let key = |changes, inputs: Inputs| spec(changes).key(&Resolver::new(inputs)).unwrap();
        let plain = key(json!({}), Inputs::default());
        assert_eq!(key(json!({ "machine": "mine" }), mine()), plain);
        let (experiment, _) =
            RunConfig::default().find("hikey960", "sched-pipe:loops=10", &["fair:v5.9".to_owned()]).unwrap();
        assert_eq!(ColumnKey::of(&experiment, 0).unwrap().with(1), plain, "that of another command");
        let others = [
            json!({ "machine": "hikey960@0-3" }),
            json!({ "workload": "sched-pipe:loops=11" }),
            json!({ "sched": "fair:v6.12" }),
            json!({ "seed": 2 }),
            json!({ "figures": [["costs.soft.wakeup", "to", 1.0]] }),
            json!({ "options": [["hz", 100]] }),
            json!({ "workload": "sched-pipe:lops=10" }),
            json!({ "workload": "sched-pipe:lops=11" }),
        ];
        let keys: std::collections::BTreeSet<Key> =
            others.iter().map(|changes| key(changes.clone(), Inputs::default())).chain([plain]).collect();
        assert_eq!(keys.len(), others.len() + 1);
    }

    #[test]
    fn an_invalid_spec_has_a_failure_and_a_missing_input_has_none() {
        let record = |changes| {
            let resolver = Resolver::new(Inputs::default());
            spec(changes).record(&resolver, Workers::default(), &Stop::default())
        };
        let failure = record(json!({ "workload": "sched-pipe:lops=1" })).unwrap().outcome.unwrap_err();
        assert!(failure.contains("no option `lops`"), "{failure}");
        assert!(matches!(record(json!({ "sched": "linux:mine" })), Err(RunError::Lost(_))));
    }

    #[test]
    fn figures_are_read_to_the_last_digit() {
        // A fast parser reads one less in the last digit.
        let read: (String, Way, f64) =
            serde_json::from_str(r#"["costs.soft.pick", "to", 31.245270191439438]"#).unwrap();
        assert_eq!(read.2, 31.245270191439438);
    }

    #[test]
    fn figures_are_perturbed_in_their_order() {
        let twice = json!({ "figures": [["costs.soft.wakeup", "to", 100], ["costs.soft.wakeup", "times", 3]] });
        let once = json!({ "figures": [["costs.soft.wakeup", "to", 300]] });
        let hash = |changes| hash(&spec(changes), &Inputs::default());
        assert_eq!(hash(twice), hash(once));
        let error = spec(json!({ "figures": [["costs.soft.wakup", "to", 1]] }))
            .experiment(&Resolver::new(Inputs::default()))
            .err();
        assert_eq!(error.unwrap().to_string(), "machine hikey960 has no figure costs.soft.wakup that can be perturbed");
    }
}
