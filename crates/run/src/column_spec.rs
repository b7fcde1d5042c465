//! [`ColumnSpec`]: a scheduler on a machine under a workload, resolved and as plain data, for a process that has nothing else.
//!
//! A [`RunSpec`](crate::run_spec::RunSpec) names its parts, and is looked up where it arrives. Here all parts are content, as they are after
//! draws of figures, bound CPUs and options of workloads: workers and farms ([`crate::farm`]) get this.

use std::fs::File;
use std::sync::Arc;

use fairground_machine::{Machine, MachineError};
use fairground_sim::Config;
use fairground_workload::Workload;
use serde::{Deserialize, Serialize};

use crate::experiment::Experiment;
use crate::sched_spec::{SchedSpec, SchedSpecError};
use crate::worker::Workers;

/// A scheduler on a machine under a workload; all that a run depends on but its seed and the library of a kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ColumnSpec {
    /// The machine, as text of a machine file.
    pub machine: String,
    /// The workload, after it was checked against the machine.
    pub workload: Workload,
    /// The scheduler's name, as the user wrote it.
    pub sched: String,
    /// Configuration. For a worker its seed is the run's, elsewhere it means nothing.
    pub config: Config,
}

/// Why a column does not run here.
#[derive(Debug, thiserror::Error)]
pub enum ColumnError {
    /// The machine's text is not read here.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The scheduler is not known here.
    #[error(transparent)]
    Sched(#[from] SchedSpecError),
    /// The kernel's library did not come along.
    #[error("{0}: the kernel's library was not handed over")]
    NoLibrary(String),
}

impl ColumnSpec {
    /// The column of `spec`, a scheduler of the experiment.
    pub fn new(experiment: &Experiment, spec: &SchedSpec) -> ColumnSpec {
        ColumnSpec {
            machine: experiment.machine.to_toml(),
            workload: experiment.workload.as_ref().clone(),
            sched: spec.to_string(),
            config: experiment.config,
        }
    }

    /// Reads the machine's text.
    ///
    /// # Errors
    /// If its text is not that of a machine.
    pub fn machine(&self) -> Result<Machine, MachineError> {
        Machine::from_toml("machine", &self.machine)
    }

    /// The experiment, with this scheduler alone. `library` is that of the kernel, if the column came with one.
    ///
    /// # Errors
    /// If this program does not know the machine or the scheduler.
    pub fn experiment(&self, library: Option<File>, workers: Workers) -> Result<Experiment, ColumnError> {
        let sched = match library {
            Some(library) => SchedSpec::of_library(&self.sched, library, None),
            None if self.sched.starts_with("linux:") => return Err(ColumnError::NoLibrary(self.sched.clone())),
            None => self.sched.parse()?,
        };
        Ok(Experiment {
            machine: Arc::new(self.machine()?),
            workload: Arc::new(self.workload.clone()),
            scheds: vec![sched],
            config: self.config,
            workers,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::ColumnKey;
    use crate::run_config::RunConfig;

    /// What arrives is the same run, to the key.
    #[test]
    fn a_column_that_travelled_has_the_same_key() {
        for (machine, workload, sched) in [
            ("hikey960", "sched-pipe:loops=10", "fair:v5.9+asym-prev-first"),
            ("kunpeng920@node0", "hackbench:groups=1,loops=2", "fair:v6.12"),
            ("pixel6", "jankbench:duration=0.1", "fair:v7.3"),
        ] {
            let mut config = RunConfig::default();
            for (name, value) in [("governor", "schedutil"), ("idle_limit", "100"), ("hz", "1000"), ("draw", "3")] {
                config.set_text(name, value).unwrap();
            }
            let (sent, _) = config.find(machine, workload, &[sched.to_owned()]).unwrap();
            let text = serde_json::to_string(&ColumnSpec::new(&sent, &sent.scheds[0])).unwrap();
            let spec: ColumnSpec = serde_json::from_str(&text).unwrap();
            let arrived = spec.experiment(None, Workers::default()).unwrap();
            assert_eq!(ColumnKey::of(&arrived, 0).unwrap(), ColumnKey::of(&sent, 0).unwrap(), "{machine} {workload}");
        }
    }

    #[test]
    fn a_kernel_does_not_run_without_its_library() {
        let (sent, _) =
            RunConfig::default().find("hikey960", "sched-pipe:loops=10", &["fair:v6.12".to_owned()]).unwrap();
        let spec = ColumnSpec { sched: "linux:mine".into(), ..ColumnSpec::new(&sent, &sent.scheds[0]) };
        let refused = spec.experiment(None, Workers::default()).err().unwrap();
        assert_eq!(refused.to_string(), "linux:mine: the kernel's library was not handed over");
    }
}
