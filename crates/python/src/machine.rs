//! Machines as Python objects.

use fairground_machine::{CpuMask, MachineSpec};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use pythonize::{depythonize, pythonize};

use crate::errors::{input, refused};

/// Name of a dict in messages.
const DICT: &str = "machine given as a dict";

/// The hardware: `Machine("pixel6")`, `Machine("kunpeng920@node0")`, `Machine("board.toml")`, or a dict with the keys
/// of a machine file.
#[pyclass(frozen, module = "fairground")]
pub struct Machine {
    pub(crate) inner: fairground_machine::Machine,
    /// CPUs that workloads are bound to.
    pub(crate) cpus: Option<CpuMask>,
    shown: String,
}

impl Machine {
    /// The machine of an argument: a name, a path, a dict or a `Machine`.
    pub fn from_py(given: &Bound<'_, PyAny>) -> PyResult<Machine> {
        if let Ok(machine) = given.cast::<Machine>() {
            let Machine { inner, cpus, shown } = machine.get();
            return Ok(Machine { inner: inner.clone(), cpus: *cpus, shown: shown.clone() });
        }
        Machine::new(given)
    }

    /// As shown in reports.
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

#[pymethods]
impl Machine {
    #[new]
    fn new(given: &Bound<'_, PyAny>) -> PyResult<Machine> {
        if let Ok(name) = given.cast::<PyString>() {
            let shown = name.to_str()?.to_owned();
            let (inner, cpus) = MachineSpec::parse(&shown).find().map_err(input)?;
            return Ok(Machine { inner, cpus, shown });
        }
        let dict = given.cast::<PyDict>().map_err(|_| refused("a machine is a name, a path or a dict"))?;
        let value: toml::Value = depythonize(dict).map_err(|e| refused(format!("{DICT}: {e}")))?;
        let text = toml::to_string_pretty(&value).map_err(|e| refused(format!("{DICT}: {e}")))?;
        let inner = fairground_machine::Machine::from_toml(DICT, &text).map_err(input)?;
        let shown = inner.name.clone();
        Ok(Machine { inner, cpus: None, shown })
    }

    /// Name of the kernel.
    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    #[getter]
    fn nr_cpus(&self) -> usize {
        self.inner.nr_cpus()
    }

    /// The text of its file.
    fn to_toml(&self) -> String {
        self.inner.to_toml()
    }

    /// Its file as a dict, to change and give back.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        // Our own output is valid TOML.
        let value: toml::Value = toml::from_str(&self.inner.to_toml()).map_err(|e| refused(e.to_string()))?;
        Ok(pythonize(py, &value)?)
    }

    fn __repr__(&self) -> String {
        format!("<fairground.Machine {}, {} CPUs>", self.shown, self.inner.nr_cpus())
    }
}

/// Names of the machines that come with the package.
#[pyfunction]
pub fn machines() -> Vec<&'static str> {
    fairground_machine::presets().collect()
}
