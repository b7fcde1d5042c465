//! One run.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairground_lab::circumstances::notes;
use fairground_lab::setup::{RunError, Setup, Tabled};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;

use crate::circumstances::Options;
use crate::errors::{failed, refused};
use crate::interrupt::{beside, Stop};
use crate::machine::Machine;
use crate::table::{figures, texts, Table};
use crate::workload::Workload;

/// What a run gave.
#[pyclass(frozen, module = "fairground")]
pub struct Run {
    /// Machine, as given.
    #[pyo3(get)]
    machine: String,
    /// Workload, as given.
    #[pyo3(get)]
    workload: String,
    /// Scheduler, as given.
    #[pyo3(get)]
    sched: String,
    /// Seed.
    #[pyo3(get)]
    seed: u64,
    /// Hash of the event stream, 32 hex digits: the same as the command prints.
    #[pyo3(get)]
    hash: String,
    /// What must be said of it.
    #[pyo3(get)]
    notes: Vec<String>,
    /// All figures, one row each: `metric`, `value`, `unit`, `better` (`higher` or `lower`), `meaning`.
    #[pyo3(get)]
    metrics: Py<Table>,
    /// Events by their names, a `Table` each; empty unless asked for.
    #[pyo3(get)]
    events: BTreeMap<String, Py<Table>>,
    values: BTreeMap<String, f64>,
}

#[pymethods]
impl Run {
    /// A figure by its name.
    fn __getitem__(&self, metric: &str) -> PyResult<f64> {
        self.values.get(metric).copied().ok_or_else(|| PyKeyError::new_err(metric.to_owned()))
    }

    fn __repr__(&self) -> String {
        format!("<fairground.Run {} {} {} seed {}: {}>", self.machine, self.workload, self.sched, self.seed, self.hash)
    }
}

/// Runs one scheduler once. `options` are circumstances. `events`: keep them, and whether with the
/// reasons of placements.
#[pyfunction]
#[pyo3(signature = (machine, workload, sched, seed, events, options))]
pub fn run(
    py: Python<'_>,
    machine: &Bound<'_, PyAny>,
    workload: &Bound<'_, PyAny>,
    sched: String,
    seed: i128,
    events: Option<bool>,
    options: Options,
) -> PyResult<Run> {
    let seed = u64::try_from(seed).map_err(|_| refused(format!("seed {seed}: expected 0 to {}", u64::MAX)))?;
    let machine = Machine::of(machine)?;
    let workload = Workload::of(workload, &machine)?;
    let shown = [machine.shown().to_owned(), workload.shown().to_owned()];
    let (setup, mut said) = options.setup(py, machine, workload, std::slice::from_ref(&sched))?;
    let Tabled { report, tables } = beside(py, |stop| carry_out(&setup, seed, events, stop))?.map_err(|e| match e {
        RunError::Fair(_) | RunError::Refused(_) => refused(e.to_string()),
        RunError::Failed(message) => failed(message),
    })?;
    let [machine, workload] = shown;
    said.extend(report.notes);
    said.extend(notes(&setup.config));
    let readings = &report.readings;
    let metrics = Table::of(vec![
        ("metric", texts(readings.iter().map(|r| r.metric.name.as_str()))),
        ("value", figures(readings.iter().map(|r| Some(r.value)))),
        ("unit", texts(readings.iter().map(|r| r.metric.unit.as_str()))),
        ("better", texts(readings.iter().map(|r| r.metric.better.word()))),
        ("meaning", texts(readings.iter().map(|r| r.metric.meaning.as_str()))),
    ]);
    let table = |(name, events): (&str, _)| Ok((name.to_owned(), Py::new(py, Table::from(events))?));
    Ok(Run {
        machine,
        workload,
        sched,
        seed,
        hash: format!("{:032x}", report.hash),
        notes: said,
        metrics: Py::new(py, metrics)?,
        events: tables.into_iter().map(table).collect::<PyResult<_>>()?,
        values: readings.iter().map(|r| (r.metric.name.clone(), r.value)).collect(),
    })
}

/// Here, or in a process of its own for a kernel's code.
pub fn carry_out(setup: &Setup, seed: u64, events: Option<bool>, stop: Stop) -> Result<Tabled, RunError> {
    if setup.scheds[0].features().is_some() {
        return setup.tabled(0, seed, events, Arc::clone(&stop));
    }
    if events.is_some() {
        return Err(RunError::Refused("events of a kernel's run are not kept as tables; write a trace".into()));
    }
    let report = setup.carry_out(0, seed, None, None).outcome?;
    Ok(Tabled { report, tables: BTreeMap::new() })
}
