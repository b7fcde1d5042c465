//! One run of a sweep: from plain data to what can be run.

use std::fs::File;
use std::io::{self, Write};

use fairground_linux::build::{BuiltKernel, Record};
use fairground_machine::{CpuMask, Machine, MachineError, MachineSpec, Perturbation};
use fairground_workload::{Warning, Workload, WorkloadError};
use miette::Diagnostic;
use nix::sys::memfd::{memfd_create, MFdFlags};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::batch::RunReport;
use crate::experiment::{Experiment, RunError, Stop};
use crate::metrics::metrics;
use crate::metrics::Metric;
use crate::run_config::{endless_refused, notes, ExperimentAndNotes, ExperimentError, InvalidSetting, RunConfig};
use crate::sched_spec::{SchedSpec, SchedSpecError};

/// All that determines a run but the content of what it names.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// A preset or the name of a content, with the CPUs to which the workload is bound: `kunpeng920@node0`.
    pub machine: String,
    /// Figures of the machine that are turned: path, how, value.
    pub figures: Vec<(String, Way, f64)>,
    /// A built-in or the name of a content, with options.
    pub workload: String,
    /// Scheduler.
    pub sched: String,
    /// RunConfig by their names.
    pub options: Vec<(String, Value)>,
    /// Seed.
    pub seed: u64,
}

/// How a figure is turned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// To a value, in the unit of the file.
    To,
    /// To so many times what it is.
    Times,
}

impl Way {
    /// With its value.
    pub fn by(self, value: f64) -> Perturbation {
        match self {
            Way::To => Perturbation::To(value),
            Way::Times => Perturbation::Times(value),
        }
    }
}

/// What a run names and this program does not have.
#[derive(Clone, Copy, Debug, Default)]
pub struct Contents<'a> {
    /// Text of the machine's file; none: a preset.
    pub machine: Option<&'a str>,
    /// Name and content of the workload's file; none: a built-in.
    pub workload: Option<(&'a str, &'a [u8])>,
    /// The kernel; none: our own scheduler.
    pub kernel: Option<KernelContent<'a>>,
}

/// A built kernel.
#[derive(Clone, Copy, Debug)]
pub struct KernelContent<'a> {
    /// Its shared object.
    pub library: &'a [u8],
    /// CONFIG_HZ and CONFIG_NR_CPUS, where they are on record.
    pub built_with: Option<(u32, u32)>,
}

/// Why there is nothing to run.
#[derive(Debug, Error, Diagnostic)]
pub enum RunSpecError {
    /// The machine, as it is or as it is turned.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Machine(#[from] MachineError),
    /// A figure that cannot be turned.
    #[error("machine {machine} has no figure {path} that could be turned")]
    NoFigure {
        /// The machine.
        machine: String,
        /// The path.
        path: String,
    },
    /// The workload.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Workload(#[from] WorkloadError),
    /// The scheduler.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Sched(#[from] SchedSpecError),
    /// A kernel without its library.
    #[error("scheduler {0}: the kernel's library is not at hand")]
    NoLibrary(String),
    /// The library cannot be laid out.
    #[error("scheduler {sched}: cannot lay the kernel's library out: {cause}")]
    Library {
        /// The scheduler.
        sched: String,
        /// What the system says.
        cause: io::Error,
    },
    /// A circumstance.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Circumstance(#[from] InvalidSetting),
    /// All of it together.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Experiment(#[from] ExperimentError),
}

impl RunSpec {
    /// Ready to run, and what must be said of it. No file is read.
    ///
    /// # Errors
    /// What is not understood, or does not go together.
    pub fn experiment(&self, contents: &Contents) -> Result<ExperimentAndNotes, RunSpecError> {
        let (machine, workload, warnings) = self.work(contents)?;
        let mut said = endless_refused(warnings)?;
        let mut circumstances = RunConfig::default();
        self.options.iter().try_for_each(|(name, value)| circumstances.set(name, value))?;
        let sched = sched(&self.sched, contents.kernel.as_ref())?;
        let (experiment, more) = circumstances.experiment_of(machine, workload, vec![sched])?;
        said.extend(more);
        Ok((experiment, said))
    }

    /// Carries it out, in the `experiment` that [`Self::experiment`] gave with the notes `said`. The report has all that
    /// must be said of the run.
    ///
    /// # Errors
    /// Why there is none.
    pub fn report(&self, experiment: &Experiment, said: Vec<String>, stop: &Stop) -> Result<RunReport, RunError> {
        let mut report = experiment.until(stop, 0, self.seed)?;
        report.notes = [said, report.notes, notes(&experiment.config)].concat();
        Ok(report)
    }

    /// What the run reports.
    ///
    /// # Errors
    /// A machine or workload that is not understood.
    pub fn metrics(&self, contents: &Contents) -> Result<Vec<Metric>, RunSpecError> {
        let (machine, workload, _) = self.work(contents)?;
        Ok(metrics(&workload, &machine))
    }

    fn work(&self, contents: &Contents) -> Result<(Machine, Workload, Vec<Warning>), RunSpecError> {
        let (mut machine, cpus) = machine(&self.machine, contents.machine)?;
        for (path, way, value) in &self.figures {
            machine = turned(&machine, path, way.by(*value))?;
        }
        let (workload, warnings) = workload(&self.workload, contents.workload, &machine, cpus.as_ref())?;
        Ok((machine, workload, warnings))
    }
}

/// A preset, or the machine of this text; and the CPUs that are named behind its name.
pub(crate) fn machine(name: &str, text: Option<&str>) -> Result<(Machine, Option<CpuMask>), MachineError> {
    let spec = MachineSpec::parse(name);
    let machine = match text {
        Some(text) => Machine::from_toml(spec.name, text)?,
        None => Machine::preset(spec.name)?,
    };
    let cpus = spec.subset.map(|subset| machine.subset(subset)).transpose()?;
    Ok((machine, cpus))
}

pub(crate) fn turned(machine: &Machine, path: &str, turn: Perturbation) -> Result<Machine, RunSpecError> {
    let no_figure = || RunSpecError::NoFigure { machine: machine.name.clone(), path: path.into() };
    machine.perturbed(path, turn)?.ok_or_else(no_figure)
}

/// A built-in with options, or the workload of a file with this content.
pub(crate) fn workload(
    name: &str,
    content: Option<(&str, &[u8])>,
    machine: &Machine,
    cpus: Option<&CpuMask>,
) -> Result<(Workload, Vec<Warning>), WorkloadError> {
    let (mut workload, mut warnings) = match content {
        Some((file, content)) => {
            let options = name.strip_prefix(file).and_then(|rest| rest.strip_prefix(':')).unwrap_or_default();
            Workload::from_file_content(file, options, content, machine)?
        }
        None => Workload::builtin(name, machine)?,
    };
    warnings.extend(cpus.map(|cpus| workload.bind(cpus)).unwrap_or_default());
    Ok((workload, warnings))
}

fn sched(text: &str, kernel: Option<&KernelContent>) -> Result<SchedSpec, RunSpecError> {
    match kernel {
        Some(kernel) => {
            let library =
                laid_out(kernel.library).map_err(|cause| RunSpecError::Library { sched: text.into(), cause })?;
            let built = kernel.built_with.map(|(hz, nr_cpus)| {
                let mut record = Record::default();
                (record.hz, record.nr_cpus) = (hz, nr_cpus);
                let name = text.strip_prefix("linux:").unwrap_or(text).into();
                BuiltKernel { name, library: "the library".into(), record }
            });
            Ok(SchedSpec::of_library(text, library, built))
        }
        // By its name a kernel would be that of this computer, which need not be the one that is meant.
        None if text.starts_with("linux:") => Err(RunSpecError::NoLibrary(text.into())),
        None => Ok(text.parse()?),
    }
}

/// A file in memory.
fn laid_out(library: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("fairground-kernel", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(library)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use fairground_machine::preset_text;
    use serde_json::json;

    use super::*;
    use crate::batch::Runner;

    fn spec(changes: Value) -> RunSpec {
        let mut plain = json!({
            "machine": "hikey960", "figures": [], "workload": "sched-pipe:loops=10", "sched": "fair:v5.9",
            "options": [], "seed": 1,
        });
        changes.as_object().unwrap().iter().for_each(|(key, value)| plain[key] = value.clone());
        serde_json::from_value(plain).unwrap()
    }

    fn hash(spec: &RunSpec, contents: &Contents) -> u128 {
        spec.experiment(contents).unwrap().0.run(0, spec.seed).unwrap().hash
    }

    #[test]
    fn content_stands_for_what_has_its_name() {
        let machine = preset_text("hikey960");
        let load: &[u8] = br#"{ "tasks": { "t": { "loop": 2, "run": 2000 } } }"#;
        let preset = hash(&spec(json!({})), &Contents::default());
        let named = spec(json!({ "machine": "mine" }));
        assert_eq!(hash(&named, &Contents { machine, ..Contents::default() }), preset);
        let on_some = spec(json!({ "machine": "mine@4-7" }));
        assert_ne!(hash(&on_some, &Contents { machine, ..Contents::default() }), preset);
        let workload = Some(("a:b", load));
        let loaded = spec(json!({ "workload": "a:b:duration=0.001" }));
        let (experiment, _) = loaded.experiment(&Contents { workload, ..Contents::default() }).unwrap();
        assert_eq!(experiment.workload.duration_ns, Some(1_000_000));
    }

    #[test]
    fn names_are_not_looked_for_on_this_computer() {
        let refused = |changes| spec(changes).experiment(&Contents::default()).err().unwrap();
        assert!(matches!(refused(json!({ "machine": "../../machines/hikey.toml" })), RunSpecError::Machine(_)));
        assert!(matches!(refused(json!({ "workload": "Cargo.toml" })), RunSpecError::Workload(_)));
        assert!(matches!(refused(json!({ "sched": "linux:./Cargo.toml" })), RunSpecError::NoLibrary(_)));
    }

    #[test]
    fn a_kernel_of_content_has_its_rate_and_its_size() {
        let sched = json!({ "sched": "linux:mine" });
        let kernel = |built_with| Contents {
            kernel: Some(KernelContent { library: b"no library", built_with }),
            ..Contents::default()
        };
        let (experiment, _) = spec(sched.clone()).experiment(&kernel(Some((1000, 8)))).unwrap();
        assert_eq!(experiment.config.hz, 1000);
        let small = spec(sched.clone()).experiment(&kernel(Some((1000, 4)))).err().unwrap();
        assert!(small.to_string().contains("linux:mine was built for 4"), "{small}");
        assert_eq!(spec(sched).experiment(&kernel(None)).unwrap().0.config.hz, 250);
    }

    #[test]
    fn figures_are_read_to_the_last_digit() {
        // Read without care, it comes out one less in the last digit.
        let read: (String, Way, f64) =
            serde_json::from_str(r#"["costs.soft.pick", "to", 31.245270191439438]"#).unwrap();
        assert_eq!(read.2, 31.245270191439438);
    }

    #[test]
    fn figures_are_turned_one_after_the_other() {
        let twice = json!({ "figures": [["costs.soft.wakeup", "to", 100], ["costs.soft.wakeup", "times", 3]] });
        let once = json!({ "figures": [["costs.soft.wakeup", "to", 300]] });
        let hash = |changes| hash(&spec(changes), &Contents::default());
        assert_eq!(hash(twice), hash(once));
        let error = spec(json!({ "figures": [["costs.soft.wakup", "to", 1]] })).experiment(&Contents::default()).err();
        assert_eq!(error.unwrap().to_string(), "machine hikey960 has no figure costs.soft.wakup that could be turned");
    }
}
