//! Run configuration as keyword arguments.

use std::collections::BTreeMap;

use fairground_run::experiment::Experiment;
use fairground_run::run_config::RunConfig;
use fairground_run::worker::Workers;
use fairground_sim::ClampLimits;
use pyo3::prelude::*;
use serde_json::{json, Value};

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
    sysctl: BTreeMap<String, i64>,
    ambient: Option<f64>,
}

impl Options {
    fn circumstances(&self) -> PyResult<RunConfig> {
        let mut circumstances = RunConfig::default();
        let mut set = |name: &str, value: Value| circumstances.set(name, &value).map_err(input);
        set("governor", json!(self.governor))?;
        set("idle_governor", json!(self.idle_governor))?;
        self.hz.map_or(Ok(()), |hz| set("hz", json!(hz)))?;
        self.ambient.map_or(Ok(()), |celsius| match celsius.is_finite() {
            true => set("ambient", json!(celsius)),
            // JSON has no such number.
            false => Err(refused(format!("ambient {celsius}: expected -40 to 100 degrees Celsius"))),
        })?;
        self.sysctl.iter().try_for_each(|(name, value)| {
            // Other circumstances have arguments of their own.
            match ClampLimits::NAMES.contains(&name.strip_prefix("kernel.").unwrap_or(name)) {
                true => set(name, json!(value)),
                false => Err(refused(format!("sysctl {name:?}: expected one of {}", ClampLimits::NAMES.join(", ")))),
            }
        })?;
        Ok(circumstances)
    }

    /// Ready to run, and what must be said of it.
    pub fn experiment(
        &self,
        py: Python<'_>,
        machine: Machine,
        workload: Workload,
        scheds: &[String],
    ) -> PyResult<(Experiment, Vec<String>)> {
        let mut said = workload.warnings;
        let (mut experiment, more) =
            self.circumstances()?.experiment(machine.inner, workload.inner, scheds).map_err(input)?;
        said.extend(more);
        experiment.workers = workers(py)?;
        Ok((experiment, said))
    }
}

/// A worker is this interpreter, started anew: it finds the package where this one has found it.
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
