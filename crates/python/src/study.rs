//! Sweeps: experiments looked up, and single runs as plain data in, figures out.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fairground_run::experiment::RunError;
use fairground_run::key::CODE;
use fairground_run::run_spec::{Contents, KernelContent, RunSpec, RunSpecError};
use fairground_run::sweep_file::{Named, NamedKernel, SweepFile};
use pyo3::exceptions::PyChildProcessError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyDict};
use pythonize::depythonize;

use crate::circumstances::workers;
use crate::errors::{input, refused};
use crate::interrupt::beside;

/// What a dict is called in messages.
const DICT: &str = "experiment given as a dict";

/// Hash of the sources that figures come from, 32 hex digits.
#[pyfunction]
pub fn code() -> &'static str {
    CODE
}

/// What a run names and this program does not have.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Content {
    machine: Option<PyBackedStr>,
    workload: Option<(PyBackedStr, PyBackedBytes)>,
    library: Option<PyBackedBytes>,
    built_with: Option<(u32, u32)>,
}

impl Content {
    fn borrowed(&self) -> Contents<'_> {
        let kernel = |library| KernelContent { library, built_with: self.built_with };
        Contents {
            machine: self.machine.as_deref(),
            workload: self.workload.as_ref().map(|(name, content)| (&**name, &**content)),
            kernel: self.library.as_deref().map(kernel),
        }
    }
}

fn read(spec: &str) -> PyResult<RunSpec> {
    serde_json::from_str(spec).map_err(|e| refused(format!("no run: {e}")))
}

/// Name and value of a run's figures, its hash, what must be said of it; and why it failed, in which case there is
/// nothing else.
type Outcome = (Vec<(String, f64)>, String, Vec<String>, Option<String>);

/// Carries out a run, given as JSON. What keeps it from being made is a failure of this run; `ChildProcessError`: its
/// process was lost, or could not be started, which says nothing of the run.
#[pyfunction]
pub fn run_spec(py: Python<'_>, spec: &str, content: Content) -> PyResult<Outcome> {
    let spec = read(spec)?;
    let failed = |message: String| Ok((Vec::new(), String::new(), Vec::new(), Some(message.trim_end().to_owned())));
    let (mut experiment, said) = match spec.experiment(&content.borrowed()) {
        Ok(found) => found,
        Err(lost @ RunSpecError::Library { .. }) => return Err(PyChildProcessError::new_err(lost.to_string())),
        Err(error) => return failed(error.to_string()),
    };
    experiment.workers = workers(py)?;
    let report = match beside(py, |stop| spec.report(&experiment, said, &stop))? {
        Ok(report) => report,
        Err(RunError::Lost(message)) => return Err(PyChildProcessError::new_err(message)),
        Err(error) => return failed(error.to_string()),
    };
    let figures = report.metrics.into_iter().map(|r| (r.metric.name, r.value)).collect();
    Ok((figures, format!("{:032x}", report.hash), report.notes, None))
}

/// Name, unit and better end (`higher` or `lower`) of what a run reports.
#[pyfunction]
pub fn spec_metrics(spec: &str, content: Content) -> PyResult<Vec<(String, String, &'static str)>> {
    let metrics = read(spec)?.metrics(&content.borrowed()).map_err(input)?;
    Ok(metrics.into_iter().map(|m| (m.name, m.unit, m.better.word())).collect())
}

/// A study as JSON, and what it names that does not come with the program: texts of machines, contents of workloads,
/// kernels with what they were built with.
type Checked<'py> = (
    String,
    BTreeMap<String, String>,
    BTreeMap<String, Bound<'py, PyBytes>>,
    BTreeMap<String, (Bound<'py, PyBytes>, Option<(u32, u32)>)>,
);

fn checked<'py>(py: Python<'py>, study: SweepFile) -> PyResult<Checked<'py>> {
    let plan = serde_json::to_string(&study).map_err(|e| refused(e.to_string()))?;
    let Named { machines, workloads, kernels } = study.contents;
    let bytes = |content: &[u8]| PyBytes::new(py, content);
    let kernel = |k: NamedKernel| (bytes(&k.library), k.built_with);
    Ok((
        plan,
        machines,
        workloads.into_iter().map(|(name, content)| (name, bytes(&content))).collect(),
        kernels.into_iter().map(|(name, k)| (name, kernel(k))).collect(),
    ))
}

/// Reads and looks up an experiment file.
#[pyfunction]
pub fn load_study(py: Python<'_>, path: PathBuf) -> PyResult<Checked<'_>> {
    let study = beside(py, |_| SweepFile::load(&path))?.map_err(input)?;
    checked(py, study)
}

/// Looks up a dict with the keys of an experiment file. `machines` and `workloads` are content that it may name.
#[pyfunction]
pub fn read_study<'py>(
    py: Python<'py>,
    content: &Bound<'py, PyDict>,
    directory: PathBuf,
    machines: BTreeMap<String, String>,
    workloads: BTreeMap<String, Vec<u8>>,
) -> PyResult<Checked<'py>> {
    let value: toml::Value = depythonize(content).map_err(|e| refused(format!("{DICT}: {e}")))?;
    let text = toml::to_string_pretty(&value).map_err(|e| refused(format!("{DICT}: {e}")))?;
    let named = Named { machines, workloads, kernels: BTreeMap::new() };
    let study = beside(py, |_| SweepFile::read(DICT, &text, &directory, named))?;
    checked(py, study.map_err(|e| input(*e))?)
}
