//! Experiment files, looked up.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fairground_run::run_spec::{Inputs, KernelInput};
use fairground_run::sweep_file::SweepFile;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use pythonize::depythonize;

use crate::errors::{input, refused};
use crate::interrupt::beside;

/// What a dict is called in messages.
const DICT: &str = "experiment given as a dict";

/// A sweep as JSON, and what it names that does not come with the program: texts of machines, contents of workloads,
/// kernels with what they were built with.
type Checked<'py> = (
    String,
    BTreeMap<String, String>,
    BTreeMap<String, Bound<'py, PyBytes>>,
    BTreeMap<String, (Bound<'py, PyBytes>, Option<(u32, u32)>)>,
);

fn checked<'py>(py: Python<'py>, sweep: SweepFile) -> PyResult<Checked<'py>> {
    let plan = serde_json::to_string(&sweep).map_err(|e| refused(e.to_string()))?;
    let Inputs { machines, workloads, kernels } = sweep.inputs;
    let bytes = |content: &[u8]| PyBytes::new(py, content);
    let kernel = |k: KernelInput| (bytes(&k.library), k.built_with);
    Ok((
        plan,
        machines,
        workloads.into_iter().map(|(name, content)| (name, bytes(&content))).collect(),
        kernels.into_iter().map(|(name, k)| (name, kernel(k))).collect(),
    ))
}

/// Reads and looks up an experiment file.
#[pyfunction]
pub fn load_sweep_file(py: Python<'_>, path: PathBuf) -> PyResult<Checked<'_>> {
    let sweep = beside(py, |_| SweepFile::load(&path))?.map_err(input)?;
    checked(py, sweep)
}

/// Looks up a dict with the keys of an experiment file. `machines` and `workloads` are content that it may name.
#[pyfunction]
pub fn read_sweep_file<'py>(
    py: Python<'py>,
    content: &Bound<'py, PyDict>,
    directory: PathBuf,
    machines: BTreeMap<String, String>,
    workloads: BTreeMap<String, Vec<u8>>,
) -> PyResult<Checked<'py>> {
    let value: toml::Value = depythonize(content).map_err(|e| refused(format!("{DICT}: {e}")))?;
    let text = toml::to_string_pretty(&value).map_err(|e| refused(format!("{DICT}: {e}")))?;
    let inputs = Inputs { machines, workloads, kernels: BTreeMap::new() };
    let sweep = beside(py, |_| SweepFile::read(DICT, &text, &directory, inputs))?;
    checked(py, sweep.map_err(|e| input(*e))?)
}
