//! Workloads as Python objects.

use fairground_run::run_config::endless_refused;
use fairground_workload::rtapp::{self, Dialect, LogPlan};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use pythonize::depythonize;

use crate::errors::{input, refused};
use crate::machine::Machine;

/// What a dict is called in messages.
const DICT: &str = "workload given as a dict";

/// What threads do: `Workload("hackbench:groups=4", machine)`, a file in rt-app's grammar, or a dict with the keys of
/// such a file. `machine` is where it is checked: a name, a path, a dict or a `Machine`.
#[pyclass(frozen, module = "fairground")]
pub struct Workload {
    pub(crate) inner: fairground_workload::Workload,
    /// Warnings about it.
    #[pyo3(get)]
    pub(crate) warnings: Vec<String>,
    shown: String,
    /// The machine it was made for, with the CPUs it is bound to.
    machine: String,
    /// Of a dict: how its threads log.
    log: Option<LogPlan>,
}

impl Workload {
    /// Of what users may give for one.
    pub fn from_py(given: &Bound<'_, PyAny>, machine: &Machine) -> PyResult<Workload> {
        if let Ok(workload) = given.cast::<Workload>() {
            let Workload { inner, warnings, shown, machine: made_for, log } = workload.get();
            if made_for != machine.shown() {
                let (of, on) = (made_for, machine.shown());
                return Err(refused(format!(
                    "workload {shown} was made for machine {of}, and is to run on {on}: make it for that"
                )));
            }
            let (inner, warnings, log) = (inner.clone(), warnings.clone(), log.clone());
            return Ok(Workload { inner, warnings, shown: shown.clone(), machine: made_for.clone(), log });
        }
        Workload::find(given, machine)
    }

    fn find(given: &Bound<'_, PyAny>, machine: &Machine) -> PyResult<Workload> {
        let (inner, warnings, shown, log) = if let Ok(spec) = given.cast::<PyString>() {
            let spec = spec.to_str()?;
            let bound = fairground_workload::Workload::find_bound(spec, &machine.inner, machine.cpus.as_ref());
            let (inner, warnings) = bound.map_err(input)?;
            (inner, warnings, spec.to_owned(), None)
        } else {
            let dict = given.cast::<PyDict>().map_err(|_| refused("a workload is a name, a path or a dict"))?;
            let value: serde_json::Value = depythonize(dict).map_err(|e| refused(format!("{DICT}: {e}")))?;
            let text = format!("{value:#}");
            let read = rtapp::read_text(DICT, text.as_bytes(), &Dialect::default(), &machine.inner).map_err(input)?;
            let (mut inner, mut warnings) = (read.workload, read.warnings);
            warnings.extend(machine.cpus.as_ref().map(|cpus| inner.bind(cpus)).unwrap_or_default());
            let shown = inner.name.clone();
            (inner, warnings, shown, read.log)
        };
        let warnings = endless_refused(warnings).map_err(input)?;
        Ok(Workload { inner, warnings, shown, machine: machine.shown().to_owned(), log })
    }

    /// As shown in reports.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// How its threads log, which those of rt-app's files alone do.
    pub fn log(&self, machine: &Machine) -> PyResult<LogPlan> {
        let plan = match &self.log {
            Some(plan) => Some(plan.clone()),
            None => LogPlan::find(&self.shown, &machine.inner).map_err(input)?,
        };
        plan.filter(|plan| plan.fits(&self.inner)).ok_or_else(|| {
            refused(format!(
                "rtapp_marks: {} is not an rt-app file: only threads of rt-app files write markers",
                self.shown
            ))
        })
    }
}

#[pymethods]
impl Workload {
    #[new]
    fn new(given: &Bound<'_, PyAny>, machine: &Bound<'_, PyAny>) -> PyResult<Workload> {
        Workload::find(given, &Machine::from_py(machine)?)
    }

    /// Name of the kernel.
    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    fn __repr__(&self) -> String {
        format!("<fairground.Workload {}>", self.shown)
    }
}
