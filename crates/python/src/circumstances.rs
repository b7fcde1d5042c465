//! Circumstances of runs, as keyword arguments.

use std::collections::BTreeMap;

use fairground_lab::circumstances::Circumstances;
use fairground_lab::setup::Setup;
use pyo3::prelude::*;
use serde_json::{json, Value};

use crate::errors::input;
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
    fn circumstances(&self) -> PyResult<Circumstances> {
        let mut circumstances = Circumstances::default();
        let mut set = |name: &str, value: Value| circumstances.set(name, &value).map_err(input);
        set("governor", json!(self.governor))?;
        set("idle_governor", json!(self.idle_governor))?;
        self.hz.map_or(Ok(()), |hz| set("hz", json!(hz)))?;
        self.ambient.map_or(Ok(()), |celsius| set("ambient", json!(celsius)))?;
        self.sysctl.iter().try_for_each(|(name, value)| set(name, json!(value)))?;
        Ok(circumstances)
    }

    /// Ready to run, and what must be said of it.
    pub fn setup(
        &self,
        py: Python<'_>,
        machine: Machine,
        workload: Workload,
        scheds: &[String],
    ) -> PyResult<(Setup, Vec<String>)> {
        let mut said = workload.warnings;
        let (mut setup, more) = self.circumstances()?.setup(machine.inner, workload.inner, scheds).map_err(input)?;
        said.extend(more);
        started_anew(py, &mut setup)?;
        Ok((setup, said))
    }
}

/// Has its workers be this interpreter, started anew, that finds the package where this one has found it.
pub fn started_anew(py: Python<'_>, setup: &mut Setup) -> PyResult<()> {
    let path: Vec<String> = py.import("sys")?.getattr("path")?.extract()?;
    setup.workers.arguments = ["-m", "fairground._worker"].map(str::to_owned).into();
    setup.workers.environment = vec![("PYTHONPATH".into(), path.join(":"))];
    Ok(())
}
