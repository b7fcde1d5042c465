//! Runs of sweeps: plain data in, keys and outcomes out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::Int32Type;
use fairground_lab::provenance::Provenance;
use fairground_run::column_spec::ColumnSpec;
use fairground_run::executor::record;
use fairground_run::experiment::{Experiment, RunError};
use fairground_run::key::{ColumnKey, Key, CODE};
use fairground_run::run_spec::{self, file_in_memory, KernelInput, Resolver, RunSpec, RunSpecError};
use fairground_run::store::{pack, unpack, Record};
use fairground_run::worker::Workers;
use pyo3::exceptions::{PyChildProcessError, PyIndexError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator};

use crate::errors::{input, refused};
use crate::interrupt::beside;
use crate::options::workers;
use crate::table::{NamedColumn, Table};

/// Hash of the sources that figures come from, 32 hex digits.
#[pyfunction]
pub fn code() -> &'static str {
    CODE
}

/// What the runs of a sweep name and this program does not have: texts of machines, contents of workloads, kernels with
/// CONFIG_HZ and CONFIG_NR_CPUS where they are on record. What has been looked up is kept.
#[pyclass(frozen, module = "fairground._fairground")]
pub struct Inputs(pub Arc<Resolver>);

/// A kernel's library, and what it was built with.
type Kernel = (Vec<u8>, Option<(u32, u32)>);

#[pymethods]
impl Inputs {
    #[new]
    fn new(
        machines: BTreeMap<String, String>,
        workloads: BTreeMap<String, Vec<u8>>,
        kernels: BTreeMap<String, Kernel>,
    ) -> Inputs {
        let kernel = |(name, (library, built_with))| (name, KernelInput { library, built_with });
        let kernels = kernels.into_iter().map(kernel).collect();
        Inputs(Arc::new(Resolver::new(run_spec::Inputs { machines, workloads, kernels })))
    }

    /// The key of a run, given as JSON.
    fn key(&self, py: Python<'_>, spec: &str) -> PyResult<String> {
        let spec = read(spec)?;
        py.detach(|| spec.key(&self.0)).map(|key| key.to_string()).map_err(input)
    }

    /// The keys of runs with seeds 1 to `seeds` of each of the specs.
    fn keys(&self, py: Python<'_>, specs: &Bound<'_, PyIterator>, seeds: u64) -> PyResult<RunKeys> {
        let mut keys = RunKeys { keys: Vec::new(), seeds, notes: Vec::new(), lists: Vec::new() };
        let mut lists: BTreeMap<Vec<String>, u32> = BTreeMap::new();
        for spec in specs {
            let spec = read(&spec?.extract::<String>()?)?;
            let (column, notes) = py.detach(|| spec.keys(&self.0)).map_err(input)?;
            keys.keys.extend((1..=seeds).map(|seed| column.with(seed)));
            let next = lists.len() as u32;
            keys.notes.push(*lists.entry(notes).or_insert(next));
        }
        keys.lists = vec![Vec::new(); lists.len()];
        lists.into_iter().for_each(|(notes, place)| keys.lists[place as usize] = notes);
        Ok(keys)
    }

    /// What runs, given as JSON, are made by and from: a row for each, the columns of a comparison's CSV as dictionaries. `InputError`:
    /// one cannot be made.
    fn provenance(&self, py: Python<'_>, specs: &Bound<'_, PyIterator>) -> PyResult<Table> {
        let mut columns = Provenance::COLUMNS.map(|name| (name, StringDictionaryBuilder::<Int32Type>::new()));
        for spec in specs {
            let spec = read(&spec?.extract::<String>()?)?;
            let made: Result<_, RunSpecError> = py.detach(|| {
                let (experiment, _) = spec.experiment(&self.0)?;
                Ok(Provenance::new(crate::made_by(), [(&experiment, 0)]).columns())
            });
            let made = made.map_err(input)?;
            columns.iter_mut().zip(made).for_each(|((_, column), value)| column.append_value(value));
        }
        let array = |(name, mut column): (&'static str, StringDictionaryBuilder<Int32Type>)| -> NamedColumn {
            (name, Arc::new(column.finish()))
        };
        Ok(Table::from_columns(columns.into_iter().map(array).collect()))
    }

    /// Carries out a run, given as JSON. `ChildProcessError`: its process was lost, or could not be started, which says
    /// nothing of the run. `InputError`: it names what is not at hand.
    fn run(&self, py: Python<'_>, spec: &str) -> PyResult<Outcome> {
        let spec = read(spec)?;
        spec.key(&self.0).map_err(input)?;
        let workers = workers(py)?;
        match beside(py, |stop| spec.record(&self.0, workers, &stop))? {
            Ok(record) => Ok(Outcome { record, is_result: true }),
            Err(RunError::Lost(message)) => Err(PyChildProcessError::new_err(message)),
            Err(error) => Ok(Outcome::without_result(spec.to_string(), error.to_string())),
        }
    }
}

/// Columns by content: JSON of machine, workload, scheduler and settings, with the name of a kernel's library, and such libraries.
#[pyclass(frozen, module = "fairground._fairground")]
pub struct Columns {
    columns: BTreeMap<String, (String, Option<String>)>,
    libraries: BTreeMap<String, Vec<u8>>,
    /// What has been made of them.
    made: Mutex<BTreeMap<String, Arc<Experiment>>>,
}

#[pymethods]
impl Columns {
    #[new]
    fn new(columns: BTreeMap<String, (String, Option<String>)>, libraries: BTreeMap<String, Vec<u8>>) -> Columns {
        Columns { columns, libraries, made: Mutex::default() }
    }

    /// Makes a run of a column. `InputError`: its key would not be `key` here. `ChildProcessError`: its process was lost, or could not
    /// be started, which says nothing of the run.
    fn run(&self, py: Python<'_>, column: &str, seed: u64, key: &str) -> PyResult<Outcome> {
        let experiment = self.experiment(column, &workers(py)?).map_err(refused)?;
        let here = ColumnKey::of(&experiment, 0).map_err(|e| refused(e.to_string()))?.with(seed);
        if here != parsed(key)? {
            return Err(refused(format!(
                "{} is another run here: its key is {here} and not {key}",
                experiment.scheds[0]
            )));
        }
        match beside(py, |stop| record(&experiment, 0, seed, &stop))? {
            Ok(record) => Ok(Outcome { record, is_result: true }),
            Err(RunError::Lost(message)) => Err(PyChildProcessError::new_err(message)),
            Err(error) => Ok(Outcome::without_result(String::new(), error.to_string())),
        }
    }
}

impl Columns {
    fn experiment(&self, name: &str, workers: &Workers) -> Result<Arc<Experiment>, String> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(experiment) = made.get(name) {
            return Ok(Arc::clone(experiment));
        }
        let (text, library) = self.columns.get(name).ok_or_else(|| format!("there is no column {name}"))?;
        let spec: ColumnSpec = serde_json::from_str(text).map_err(|e| format!("no column: {e}"))?;
        let library = library.as_ref().map(|library| {
            let content = self.libraries.get(library).ok_or_else(|| format!("there is no library {library}"))?;
            file_in_memory(content).map_err(|e| format!("{}: cannot load the kernel's library: {e}", spec.sched))
        });
        let experiment = spec.experiment(library.transpose()?, workers.clone()).map_err(|e| e.to_string())?;
        Ok(Arc::clone(made.entry(name.to_owned()).or_insert(Arc::new(experiment))))
    }
}

/// The run of this JSON.
pub fn read(spec: &str) -> PyResult<RunSpec> {
    serde_json::from_str(spec).map_err(|e| refused(format!("no run: {e}")))
}

/// The keys of the runs of a sweep, at positions from 0; some may be equal.
#[pyclass(frozen, module = "fairground._fairground")]
pub struct RunKeys {
    pub keys: Vec<Key>,
    /// Runs of each point.
    seeds: u64,
    /// Of each point, the place of its list of notes.
    notes: Vec<u32>,
    lists: Vec<Vec<String>>,
}

#[pymethods]
impl RunKeys {
    fn __len__(&self) -> usize {
        self.keys.len()
    }

    /// 32 hex digits.
    fn __getitem__(&self, position: usize) -> PyResult<String> {
        self.keys.get(position).map(Key::to_string).ok_or_else(|| PyIndexError::new_err(position))
    }
}

impl RunKeys {
    /// Notes of the run at a position, besides its own.
    pub fn notes(&self, position: usize) -> &[String] {
        let point = position as u64 / self.seeds.max(1);
        self.notes.get(point as usize).map_or(&[], |place| &self.lists[*place as usize])
    }
}

/// What a run gave.
#[pyclass(frozen, module = "fairground.sweeps")]
pub struct Outcome {
    pub record: Record,
    /// A limit has ended it: it is not to be recorded.
    #[pyo3(get)]
    pub is_result: bool,
}

#[pymethods]
impl Outcome {
    /// A run that failed.
    #[staticmethod]
    fn failure(message: String) -> Outcome {
        Outcome { record: Record { what: String::new(), wall_ns: 0, outcome: Err(message) }, is_result: true }
    }

    /// A run that a limit of time or memory has ended: it is not recorded.
    #[staticmethod]
    fn limited(message: String) -> Outcome {
        Outcome::without_result(String::new(), message)
    }

    /// Figures by name; empty if it failed.
    #[getter]
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let metrics = PyDict::new(py);
        for value in self.record.outcome.iter().flat_map(|report| &report.metrics) {
            metrics.set_item(&value.metric.name, value.value)?;
        }
        Ok(metrics)
    }

    /// Of its event stream, 32 hex digits; empty if it failed.
    #[getter]
    fn hash(&self) -> String {
        self.record.outcome.as_ref().map_or(String::new(), |report| format!("{:032x}", report.hash))
    }

    /// What the run itself says.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.record.outcome.as_ref().map_or(Vec::new(), |report| report.notes.clone())
    }

    /// Message of the failure.
    #[getter]
    fn failed(&self) -> Option<&str> {
        self.record.outcome.as_ref().err().map(String::as_str)
    }

    /// How long it took, ns. No part of any result.
    #[getter]
    fn wall_ns(&self) -> u64 {
        self.record.wall_ns
    }

    fn __repr__(&self) -> String {
        match &self.record.outcome {
            Ok(report) => format!("<fairground.sweeps.Outcome {:032x}>", report.hash),
            Err(message) => format!("<fairground.sweeps.Outcome failed: {message}>"),
        }
    }
}

impl Outcome {
    fn without_result(what: String, message: String) -> Outcome {
        Outcome { record: Record { what, wall_ns: 0, outcome: Err(message) }, is_result: false }
    }
}

/// Outcomes by their keys as bytes, for another process; results alone.
#[pyfunction]
pub fn pack_outcomes<'py>(py: Python<'py>, outcomes: Vec<(String, Py<Outcome>)>) -> PyResult<Bound<'py, PyBytes>> {
    let results = outcomes.iter().map(|(key, outcome)| (key, outcome.get())).filter(|(_, outcome)| outcome.is_result);
    let record = |(key, outcome): (&String, &Outcome)| Ok((parsed(key)?, outcome.record.clone()));
    Ok(PyBytes::new(py, &pack(&results.map(record).collect::<PyResult<Vec<_>>>()?)))
}

/// What [`pack_outcomes`] gave, in the same order.
#[pyfunction]
pub fn unpack_outcomes(content: &[u8]) -> PyResult<Vec<(String, Outcome)>> {
    let records = unpack(content).map_err(|what| refused(format!("outcomes of runs are damaged: {what}")))?;
    Ok(records.into_iter().map(|(key, record)| (key.to_string(), Outcome { record, is_result: true })).collect())
}

/// A key of 32 hex digits.
pub fn parsed(key: &str) -> PyResult<Key> {
    key.parse().map_err(|e: String| refused(e))
}
