//! One run with its results as a Python object.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use fairground_machine::Machine as Hardware;
use fairground_run::batch::RunReport;
use fairground_run::experiment::{Experiment, Outputs, Recorded, RunError, Stop, TraceFormat, TraceHead};
use fairground_run::run_config::notes;
use fairground_trace::Recording;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;

use crate::errors::{failed, input, refused};
use crate::interrupt::beside;
use crate::machine::Machine;
use crate::options::Options;
use crate::stats;
use crate::table::{figures, texts, Table};
use crate::workload::Workload;

/// Results of a run.
#[pyclass(frozen, module = "fairground")]
pub struct Run {
    /// Machine as the caller named it.
    #[pyo3(get)]
    machine: String,
    /// Workload as the caller named it.
    #[pyo3(get)]
    workload: String,
    /// Scheduler as the caller named it.
    #[pyo3(get)]
    sched: String,
    /// Seed of the run.
    #[pyo3(get)]
    seed: u64,
    /// Hash of the event stream, 32 hex digits: the same as the command prints.
    #[pyo3(get)]
    hash: String,
    /// Notes on the run.
    #[pyo3(get)]
    notes: Vec<String>,
    /// All figures, one row each: `metric`, `value`, `unit`, `better` (`higher` or `lower`), `meaning`.
    #[pyo3(get)]
    metrics: Py<Table>,
    values: BTreeMap<String, f64>,
    hardware: Arc<Hardware>,
    recording: Option<Recording>,
    events: OnceLock<BTreeMap<String, Py<Table>>>,
}

#[pymethods]
impl Run {
    /// Events by their names, a `Table` each, rows in the order of time (`time_ns`); empty unless requested.
    #[getter]
    fn events(&self, py: Python<'_>) -> PyResult<BTreeMap<String, Py<Table>>> {
        if self.events.get().is_none() {
            let tables = self.recording.iter().flat_map(Recording::tables);
            let table = |(name, events): (&String, _)| Ok((name.clone(), Py::new(py, Table::from(events))?));
            // Another thread may have been faster, with the same tables.
            let _ = self.events.set(tables.map(table).collect::<PyResult<_>>()?);
        }
        let tables = self.events.get().into_iter().flatten();
        Ok(tables.map(|(name, table)| (name.clone(), table.clone_ref(py))).collect())
    }

    /// One row for each task, by `pid`: `comm`, `run_ns`, `wait_ns` (runnable, not running), `waits`,
    /// `sleep_ns`, `wakeups`, `migrations`, quantiles of single waits (`wait_p50_ns`, `wait_p95_ns`, `wait_p99_ns`) and the
    /// longest (`wait_max_ns`). Needs events.
    #[getter]
    fn tasks(&self, py: Python<'_>) -> PyResult<Table> {
        let recording = self.recording("tasks")?;
        py.detach(|| stats::tasks(&mut recording.source("the run"))).map_err(input)
    }

    /// One row for each CPU: `cpu`, `busy_ns` (a task runs), `idle_ns` (whole stays in idle states), `stays`, `mean_khz`
    /// (of the time with a known clock; null: none). Needs events.
    #[getter]
    fn cpus(&self, py: Python<'_>) -> PyResult<Table> {
        let recording = self.recording("cpus")?;
        py.detach(|| stats::cpus(&self.hardware, || recording.source("the run"))).map_err(input)
    }

    /// One row for each CPU and idle state: `cpu`, `state`, `stays`, `total_ns`, `mean_ns`, `max_ns`, and how many were
    /// shorter than the state's target residency (`early`). Needs events.
    #[getter]
    fn idle_states(&self, py: Python<'_>) -> PyResult<Table> {
        let recording = self.recording("idle_states")?;
        py.detach(|| stats::idle_states(&self.hardware, &mut recording.source("the run"))).map_err(input)
    }

    /// One row for each CPU and frequency: `cpu`, `khz`, `changes` to it, `total_ns` at it. Needs events.
    #[getter]
    fn frequencies(&self, py: Python<'_>) -> PyResult<Table> {
        let recording = self.recording("frequencies")?;
        py.detach(|| stats::frequencies(&mut recording.source("the run"))).map_err(input)
    }

    /// A figure by its name.
    fn __getitem__(&self, metric: &str) -> PyResult<f64> {
        self.values.get(metric).copied().ok_or_else(|| PyKeyError::new_err(metric.to_owned()))
    }

    fn __repr__(&self) -> String {
        format!("<fairground.Run {}: {}>", self.shown(), self.hash)
    }
}

impl Run {
    pub fn shown(&self) -> String {
        format!("{} {} {} seed {}", self.machine, self.workload, self.sched, self.seed)
    }

    /// All events; `asks` names the attribute in the error message.
    pub fn recording(&self, asks: &str) -> PyResult<&Recording> {
        let none =
            || refused(format!("{asks}: this run kept no events; run it with events=True, or why=True for reasons"));
        self.recording.as_ref().ok_or_else(none)
    }
}

/// Optional events to keep.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Events {
    why: bool,
    util_events: bool,
    rtapp_marks: bool,
}

/// Runs one scheduler once. `options`: the settings of the run. `events`: if given, keep events, with these options.
#[pyfunction]
#[pyo3(signature = (machine, workload, sched, seed, events, options))]
pub fn run(
    py: Python<'_>,
    machine: &Bound<'_, PyAny>,
    workload: &Bound<'_, PyAny>,
    mut sched: String,
    seed: i128,
    events: Option<Events>,
    options: Options,
) -> PyResult<Run> {
    let seed = u64::try_from(seed).map_err(|_| refused(format!("seed {seed}: expected 0 to {}", u64::MAX)))?;
    let machine = Machine::from_py(machine)?;
    let workload = Workload::from_py(workload, &machine)?;
    let [machine_name, workload_name] = [machine.shown().to_owned(), workload.shown().to_owned()];
    let marks = match &events {
        Some(Events { rtapp_marks: true, .. }) => Some(workload.log(&machine)?),
        _ => None,
    };
    let (mut experiment, mut run_notes) = options.experiment(py, machine, workload, std::slice::from_ref(&sched))?;
    // With its preset, where that was left to us.
    sched = experiment.scheds[0].to_string();
    experiment.config.signals = events.as_ref().is_some_and(|events| events.util_events);
    if experiment.config.signals && experiment.scheds[0].features().is_none() {
        return Err(refused(format!(
            "util_events: {sched} does not report load-tracking signals, expected fair:VERSION"
        )));
    }
    let seed_text = seed.to_string();
    let meta = [("machine", &machine_name), ("workload", &workload_name), ("sched", &sched), ("seed", &seed_text)];
    let head = events.map(|events| TraceHead {
        format: TraceFormat::Recording,
        meta: meta.map(|(key, value)| (key.to_owned(), value.clone())).into(),
        notes: notes(&experiment.config),
        why: events.why,
        marks,
    });
    let (report, recording) = beside(py, |stop| carry_out(&experiment, seed, head, &stop))?.map_err(|e| match e {
        RunError::Fair(_) | RunError::Refused(_) => refused(e.to_string()),
        RunError::Failed(message) | RunError::Limited(message) | RunError::Lost(message) => failed(message),
    })?;
    run_notes.extend(report.notes);
    run_notes.extend(notes(&experiment.config));
    let reported = &report.metrics;
    let metrics = Table::from_columns(vec![
        ("metric", texts(reported.iter().map(|r| r.metric.name.as_str()))),
        ("value", figures(reported.iter().map(|r| Some(r.value)))),
        ("unit", texts(reported.iter().map(|r| r.metric.unit.as_str()))),
        ("better", texts(reported.iter().map(|r| r.metric.better.word()))),
        ("meaning", texts(reported.iter().map(|r| r.metric.meaning.as_str()))),
    ]);
    Ok(Run {
        machine: machine_name,
        workload: workload_name,
        sched,
        seed,
        hash: format!("{:032x}", report.hash),
        notes: run_notes,
        metrics: Py::new(py, metrics)?,
        values: reported.iter().map(|r| (r.metric.name.clone(), r.value)).collect(),
        hardware: experiment.machine,
        recording,
        events: OnceLock::new(),
    })
}

/// Makes the run in this process, or in a worker if the scheduler is a kernel.
fn carry_out(
    experiment: &Experiment,
    seed: u64,
    head: Option<TraceHead>,
    stop: &Stop,
) -> Result<(RunReport, Option<Recording>), RunError> {
    match head {
        None => Ok((experiment.write(0, seed, Outputs::default(), stop.into()).outcome?, None)),
        Some(head) => {
            let Recorded { report, recording } = experiment.recorded(0, seed, head, stop)?;
            Ok((report, Some(recording)))
        }
    }
}
