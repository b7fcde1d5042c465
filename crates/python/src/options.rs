//! Run configuration as keyword arguments.

use std::collections::BTreeMap;

use fairground_machine::suggest;
use fairground_run::experiment::Experiment;
use fairground_run::run_config::{RunConfig, Setting};
use fairground_run::worker::Workers;
use fairground_sim::ClampLimits;
use pyo3::prelude::*;

use crate::errors::{input, refused};
use crate::machine::Machine;
use crate::workload::Workload;

/// The arguments that `run` and `compare` share.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Options {
    hz: Option<i64>,
    governor: String,
    idle_governor: String,
    idle_limit: Option<f64>,
    sysctl: BTreeMap<String, i64>,
    ambient: Option<f64>,
    draw: u64,
}

impl Options {
    /// As the library takes them.
    pub fn config(&self) -> PyResult<RunConfig> {
        let mut config = RunConfig::default();
        let mut set = |name: &str, text: &str| config.set_text(name, text).map_err(input);
        set("governor", &self.governor)?;
        set("idle_governor", &self.idle_governor)?;
        set("draw", &self.draw.to_string())?;
        self.hz.map_or(Ok(()), |hz| set("hz", &hz.to_string()))?;
        self.idle_limit.map_or(Ok(()), |us| set("idle_limit", &us.to_string()))?;
        self.ambient.map_or(Ok(()), |celsius| set("ambient", &celsius.to_string()))?;
        for (name, value) in &self.sysctl {
            // Other settings have arguments of their own.
            if !Setting::find(name).is_ok_and(Setting::is_sysctl) {
                return Err(refused(format!("sysctl {name:?}: {}", suggest(name, ClampLimits::NAMES))));
            }
            set(name, &value.to_string())?;
        }
        Ok(config)
    }

    /// The experiment, and the warnings about it.
    pub fn experiment(
        &self,
        py: Python<'_>,
        machine: Machine,
        workload: Workload,
        scheds: &[String],
    ) -> PyResult<(Experiment, Vec<String>)> {
        let mut warnings = workload.warnings;
        let (mut experiment, more) = self.config()?.experiment(machine.inner, workload.inner, scheds).map_err(input)?;
        warnings.extend(more);
        experiment.workers = workers(py)?;
        Ok((experiment, warnings))
    }
}

/// Options of workers: a worker is another process of this interpreter, which finds the package in the same place.
pub fn workers(py: Python<'_>) -> PyResult<Workers> {
    let path: Vec<String> = py.import("sys")?.getattr("path")?.extract()?;
    let arguments = ["-m", "fairground._worker"].map(str::to_owned).into();
    Ok(Workers { arguments, environment: vec![("PYTHONPATH".into(), path.join(":"))], ..Workers::default() })
}

/// Threads to run on, 0 for one for each CPU of this machine.
pub fn threads(jobs: i64) -> PyResult<usize> {
    match usize::try_from(jobs).map_err(|_| refused("jobs: expected 1 or more"))? {
        0 => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
        jobs => Ok(jobs),
    }
}
