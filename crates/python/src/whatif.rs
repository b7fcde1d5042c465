//! What a scheduler would have chosen on a recording.

use std::path::PathBuf;
use std::sync::Arc;

use fairground_lab::counterfactual::{Found, JudgedWakeup, Report, WhatIf, WhatIfError};
use fairground_lab::explain::{Traced, Wanted};
use fairground_run::experiment::Stop;
use fairground_trace::RunHead;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::{input, refused};
use crate::explain::Stoppable;
use crate::interrupt::beside;
use crate::machine::Machine;
use crate::table::{booleans, counts, maybe_texts, numbers, texts, Table};

/// What a scheduler would have chosen at the wakeups of a trace, beside what was recorded.
#[pyclass(frozen, module = "fairground")]
pub struct Counterfactual(Report);

#[pymethods]
impl Counterfactual {
    /// One row for each rule of the scheduler that was asked: its `title` (`select_idle_sibling: previous CPU (A2)`), its id
    /// (`rule`: `A2`), wakeups (`judged`), of these recorded where the rule goes (`agree`), those that depend on nothing that
    /// the trace leaves open (`sure`), of these recorded where the rule goes (`sure_agree`), its `meaning`. Empty if a task or
    /// a single wakeup was asked for.
    #[getter]
    fn rules(&self) -> Table {
        let rows = match self.0.found() {
            Found::Agreement(tally) => tally.rules(),
            Found::Wakeups(_) | Found::Wakeup(_) => Vec::new(),
        };
        Table::from_columns(vec![
            ("title", texts(rows.iter().map(|row| self.0.rule(&row.rule).title()))),
            ("rule", texts(rows.iter().map(|row| row.rule.as_str()))),
            ("judged", counts(rows.iter().map(|row| row.agreement.judged))),
            ("agree", counts(rows.iter().map(|row| row.agreement.agree))),
            ("sure", counts(rows.iter().map(|row| row.agreement.sure))),
            ("sure_agree", counts(rows.iter().map(|row| row.agreement.sure_agree))),
            ("meaning", texts(rows.iter().map(|row| self.0.rule(&row.rule).text))),
        ])
    }

    /// One row for each wakeup of the task that was asked for, or the single one: `time_ns`, `comm`, `pid`, on which CPU it
    /// was woken (`on_cpu`), `prev_cpu`, the `recorded_cpu` and the rule behind it, if the trace says so (`recorded_rule`),
    /// the `cpu` that would have been chosen and the `rule` behind that, whether both are the same (`agrees`), and what the
    /// answer depends on (`confidence`; `sure`: nothing). Empty for all wakeups together.
    #[getter]
    fn wakeups(&self) -> Table {
        let rows: Vec<&JudgedWakeup> = match self.0.found() {
            Found::Agreement(_) => Vec::new(),
            Found::Wakeups(wakeups) => wakeups.iter().collect(),
            Found::Wakeup(wakeup) => vec![&**wakeup],
        };
        let number = |part: fn(&JudgedWakeup) -> u32| numbers(rows.iter().map(|wakeup| part(wakeup)));
        Table::from_columns(vec![
            ("time_ns", counts(rows.iter().map(|wakeup| wakeup.ours.time))),
            ("comm", texts(rows.iter().map(|wakeup| wakeup.ours.task.comm.as_str()))),
            ("pid", number(|wakeup| wakeup.ours.task.pid)),
            ("on_cpu", number(|wakeup| wakeup.ours.on_cpu)),
            ("prev_cpu", number(|wakeup| wakeup.ours.prev)),
            ("recorded_cpu", number(|wakeup| wakeup.recorded)),
            ("recorded_rule", maybe_texts(rows.iter().map(|wakeup| wakeup.recorded_rule.as_deref()))),
            ("cpu", number(|wakeup| wakeup.ours.chosen)),
            ("rule", texts(rows.iter().map(|wakeup| wakeup.ours.rule.as_str()))),
            ("agrees", booleans(rows.iter().map(|wakeup| wakeup.agrees()))),
            ("confidence", texts(rows.iter().map(|wakeup| wakeup.confidence.word()))),
        ])
    }

    /// Notes on the answer.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.0.notes().iter().map(ToString::to_string).collect()
    }

    fn __str__(&self) -> String {
        self.0.text()
    }

    fn __repr__(&self) -> String {
        match self.0.found() {
            Found::Agreement(tally) => {
                let all = tally.all();
                format!("<fairground.Counterfactual: {} of {} wakeups agree>", all.agree, all.judged)
            }
            Found::Wakeups(wakeups) => format!("<fairground.Counterfactual of {} wakeups>", wakeups.len()),
            Found::Wakeup(wakeup) => format!("<fairground.Counterfactual of the wakeup at {} ns>", wakeup.ours.time),
        }
    }
}

/// Asks a scheduler about the wakeups of a trace's file: which (`task`, from `at` ns on, onto `cpu`, the `nth` of these).
#[pyfunction]
#[pyo3(signature = (trace, machine, sched, schedutil, hz, task, at, cpu, nth))]
#[allow(clippy::too_many_arguments)]
pub fn what_if(
    py: Python<'_>,
    trace: PathBuf,
    machine: Option<&Bound<'_, PyAny>>,
    sched: Option<String>,
    schedutil: Option<bool>,
    hz: Option<u32>,
    task: Option<String>,
    at: Option<u64>,
    cpu: Option<u32>,
    nth: Option<u64>,
) -> PyResult<Counterfactual> {
    if nth == Some(0) {
        return Err(refused("nth counts from 1"));
    }
    let head = trace.open().and_then(|mut source| RunHead::read(&mut *source)).map_err(input)?;
    let machine = match (machine, head.meta("machine")) {
        (Some(machine), _) => Machine::from_py(machine)?,
        (None, Some(name)) => Machine::from_py(PyString::new(py, name).as_any())?,
        (None, None) => return Err(refused(format!("{} does not say which machine was recorded", trace.display()))),
    };
    let ask = WhatIf {
        machine_name: machine.shown().to_owned(),
        machine: Arc::new(machine.inner),
        allowed: machine.cpus,
        sched,
        schedutil,
        hz,
        wanted: Wanted { task, at, cpu },
        nth,
    };
    let answer = |stop: Stop| -> Result<Report, WhatIfError> {
        let stoppable = Stoppable(&trace, &stop);
        let mut source = stoppable.open()?;
        ask.ask(&trace.name(), &head, &mut *source, &mut |_| ())
    };
    Ok(Counterfactual(beside(py, answer)?.map_err(input)?))
}
