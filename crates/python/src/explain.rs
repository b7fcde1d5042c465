//! Explanations of placements and picks as Python objects.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use fairground_lab::explain::{self, Differing, DifferingPicks, ExplainError, Query, Traced, Wanted};
use fairground_run::experiment::Stop;
use fairground_trace::explain::{RuleCounts, Split};
use fairground_trace::left::{DifferentValue, Left};
use fairground_trace::picks::{OnQueue, Pick, PickCounts};
use fairground_trace::placements::{Head, Placement, Pull, Step};
use fairground_trace::{EventSource, Note, TraceError, TraceEvent};
use pyo3::prelude::*;

use crate::errors::{input, refused};
use crate::interrupt::beside;
use crate::run::Run;
use crate::table::{
    counts, figures, maybe_booleans, maybe_integers, maybe_numbers, maybe_texts, numbers, texts, NamedColumn, Table,
};

/// Placements of a run or a trace, with what led to them.
#[pyclass(frozen, module = "fairground")]
pub struct Explanation {
    text: String,
    placements: Vec<Placement>,
    head: Head,
    /// Notes on the trace.
    #[pyo3(get)]
    notes: Vec<String>,
}

#[pymethods]
impl Explanation {
    /// One row for each placement: `time_ns`, `kind` (`wake`, `fork`, `exec`, `balance`, `newidle` or `active`), `comm`,
    /// `pid`, on which CPU it happened (`on_cpu`) and what ran there (`by_comm`, `by_pid`), `prev_cpu`, the chosen `cpu`,
    /// the `rule` that decided, CPUs probed (`probes`) and looked at in group statistics (`group_cpus`); of balancing also
    /// `level`, `unit`, `amount` and `moved`, else null.
    #[getter]
    fn decisions(&self) -> Table {
        let rows = &self.placements;
        let text = |part: fn(&Placement) -> &str| texts(rows.iter().map(part));
        let number = |part: fn(&Placement) -> u32| numbers(rows.iter().map(part));
        let count = |part: fn(&Placement) -> u64| counts(rows.iter().map(part));
        let pulled = |part: fn(&Pull) -> &str| maybe_texts(rows.iter().map(move |p| p.pull.as_ref().map(part)));
        let pulls =
            |part: fn(&Pull) -> u64| figures(rows.iter().map(move |p| p.pull.as_ref().map(|pull| part(pull) as f64)));
        Table::from_columns(vec![
            ("time_ns", count(|p| p.time)),
            ("kind", text(|p| p.cause.word())),
            ("comm", text(|p| &p.task.comm)),
            ("pid", number(|p| p.task.pid)),
            ("on_cpu", number(|p| p.on_cpu)),
            ("by_comm", text(|p| &p.by.comm)),
            ("by_pid", number(|p| p.by.pid)),
            ("prev_cpu", number(|p| p.prev)),
            ("cpu", number(|p| p.chosen)),
            ("rule", text(|p| &p.rule)),
            ("probes", count(|p| p.probes)),
            ("group_cpus", count(|p| p.group_cpus)),
            ("level", pulled(|pull| &pull.level)),
            ("unit", pulled(|pull| &pull.unit)),
            ("amount", pulls(|pull| pull.amount)),
            ("moved", pulls(|pull| pull.moved)),
        ])
    }

    /// One row for each look on the way to a decision, oldest first: `decision` (its row in `decisions`), the `rule` that was
    /// being tried and the `cpu` it is about (null: none), the scheduler's number of the `note`, the numbers compared (`a`,
    /// `b`, `c`), and the same in words (`text`). With energy-aware placement the candidates are among them. Empty unless
    /// the run was made with `why=True`.
    #[getter]
    fn reasons(&self) -> Table {
        let steps = |p: usize| self.placements[p].steps.iter().map(move |step| (p, step));
        let rows: Vec<(usize, &Step)> = (0..self.placements.len()).flat_map(steps).collect();
        let count = |part: fn(&Step) -> u64| counts(rows.iter().map(move |(_, step)| part(step)));
        Table::from_columns(vec![
            ("decision", counts(rows.iter().map(|(p, _)| *p as u64))),
            ("rule", maybe_texts(rows.iter().map(|(_, step)| step.rule.as_deref()))),
            ("cpu", maybe_numbers(rows.iter().map(|(_, step)| step.cpu))),
            ("note", count(|step| step.note.into())),
            ("a", count(|step| step.numbers[0])),
            ("b", count(|step| step.numbers[1])),
            ("c", count(|step| step.numbers[2])),
            ("text", texts(rows.iter().map(|(_, step)| step.text.as_str()))),
        ])
    }

    /// One row for each rule that decided: its `title` (`select_idle_sibling: previous CPU (A2)`), its id (`rule`: `A2`),
    /// `count`, `share_pct`, its condition in full (`meaning`).
    #[getter]
    fn rules(&self) -> Table {
        let mut tally = RuleCounts::default();
        self.placements.iter().for_each(|p| tally.add(p, Split::None));
        let rows = tally.rows();
        Table::from_columns(vec![
            ("title", texts(rows.iter().map(|row| self.head.rule(&row.rule).title()))),
            ("rule", texts(rows.iter().map(|row| row.rule.as_str()))),
            ("count", counts(rows.iter().map(|row| row.count))),
            ("share_pct", figures(rows.iter().map(|row| Some(row.share_pct)))),
            ("meaning", texts(rows.iter().map(|row| self.head.rule(&row.rule).text))),
        ])
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("<fairground.Explanation of {} placements>", self.placements.len())
    }
}

/// Picks of a run or a trace: why fair tasks run, wait, or leave the CPU.
#[pyclass(frozen, module = "fairground")]
pub struct PickExplanation {
    text: String,
    picks: Vec<Pick>,
    head: Head,
    /// Notes on the trace.
    #[pyo3(get)]
    notes: Vec<String>,
}

#[pymethods]
impl PickExplanation {
    /// One row for each pick, columns as of [`pick_columns`].
    #[getter]
    fn picks(&self) -> Table {
        Table::from_columns(pick_columns(&self.picks.iter().collect::<Vec<_>>()))
    }

    /// One row for each kind and rule: `kind`, the rule's `title` (`pick_next_entity: next buddy (buddy)`), its id (`rule`:
    /// `buddy`), `count`, its condition in full (`meaning`).
    #[getter]
    fn rules(&self) -> Table {
        let mut tally = PickCounts::default();
        self.picks.iter().for_each(|pick| tally.add(pick));
        let rows = tally.rows();
        Table::from_columns(vec![
            ("kind", texts(rows.iter().map(|(kind, ..)| *kind))),
            ("title", texts(rows.iter().map(|(_, rule, _)| self.head.rule(rule).title()))),
            ("rule", texts(rows.iter().map(|(_, rule, _)| *rule))),
            ("count", counts(rows.iter().map(|(.., n)| *n))),
            ("meaning", texts(rows.iter().map(|(_, rule, _)| self.head.rule(rule).text))),
        ])
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("<fairground.PickExplanation of {} picks>", self.picks.len())
    }
}

/// `time_ns`, `kind` (`pick`, `wakeup`: a woken task was tested against the current one, `slice`: the task has to leave),
/// `comm`, `pid`, `cpu`, the `rule` that decided, how many fair tasks were `queued`, whether a woken task `preempts` (null
/// of other kinds); of the task `lag_ns`, `deadline_ns` and `protection_ns` in virtual time, and of the current task, if it is
/// another one that could go on, the same with `current_` before them, else null.
fn pick_columns(rows: &[&Pick]) -> Vec<NamedColumn> {
    let text = |part: fn(&Pick) -> &str| texts(rows.iter().map(|p| part(p)));
    let number = |part: fn(&Pick) -> u32| numbers(rows.iter().map(|p| part(p)));
    let state = |part: fn(&OnQueue) -> i64| maybe_integers(rows.iter().map(|p| Some(part(&p.state))));
    let current = |part: fn(&OnQueue) -> i64| {
        maybe_integers(rows.iter().map(|p| p.current.as_ref().map(|(_, state)| part(state))))
    };
    let curr = || rows.iter().map(|p| p.current.as_ref().map(|(task, _)| task));
    vec![
        ("time_ns", counts(rows.iter().map(|p| p.time))),
        ("kind", text(|p| &p.kind)),
        ("comm", text(|p| &p.task.comm)),
        ("pid", number(|p| p.task.pid)),
        ("cpu", number(|p| p.cpu)),
        ("rule", text(|p| &p.rule)),
        ("queued", number(|p| p.queued)),
        ("preempts", maybe_booleans(rows.iter().map(|p| (p.kind == "wakeup").then(|| p.happens())))),
        ("lag_ns", state(|s| s.lag)),
        ("deadline_ns", state(|s| s.deadline)),
        ("protection_ns", state(|s| s.protection)),
        ("current_comm", maybe_texts(curr().map(|task| task.map(|task| task.comm.as_str())))),
        ("current_pid", maybe_numbers(curr().map(|task| task.map(|task| task.pid)))),
        ("current_lag_ns", current(|s| s.lag)),
        ("current_deadline_ns", current(|s| s.deadline)),
        ("current_protection_ns", current(|s| s.protection)),
    ]
}

/// The placements of two runs or traces, paired.
#[pyclass(frozen, module = "fairground")]
pub struct Difference(Differing);

#[pymethods]
impl Difference {
    /// Pairs of decisions: the same task's n-th wakeup, fork or exec in each.
    #[getter]
    fn pairs(&self) -> u64 {
        self.0.diff.pairs
    }

    /// Pairs that choose the same CPU.
    #[getter]
    fn agree(&self) -> u64 {
        self.0.diff.agree
    }

    /// Of these, before the first that does not.
    #[getter]
    fn agree_before(&self) -> u64 {
        self.0.diff.agree_before
    }

    /// One row for each rule: its `title`, its id (`rule`), how often it decided in `base` and in `test`, the `shift` between
    /// them, its `meaning`.
    #[getter]
    fn rules(&self) -> Table {
        let rows = &self.0.diff.shifts;
        Table::from_columns(vec![
            ("title", texts(rows.iter().map(|s| self.0.rule(&s.rule).title()))),
            ("rule", texts(rows.iter().map(|s| s.rule.as_str()))),
            ("base", counts(rows.iter().map(|s| s.base))),
            ("test", counts(rows.iter().map(|s| s.test))),
            ("shift", figures(rows.iter().map(|s| Some(s.shift() as f64)))),
            ("meaning", texts(rows.iter().map(|s| self.0.rule(&s.rule).text))),
        ])
    }

    /// The first pair that chooses different CPUs, one row for `base` and one for `test` (`side`): `time_ns`, `comm`, `pid`,
    /// `prev_cpu`, `cpu`, `rule`. Empty if all agree.
    #[getter]
    fn first(&self) -> Table {
        let rows: Vec<(&str, &Placement)> =
            self.0.first().into_iter().flat_map(|[base, test]| [("base", base), ("test", test)]).collect();
        let number = |part: fn(&Placement) -> u32| numbers(rows.iter().map(move |(_, p)| part(p)));
        Table::from_columns(vec![
            ("side", texts(rows.iter().map(|(side, _)| *side))),
            ("time_ns", counts(rows.iter().map(|(_, p)| p.time))),
            ("comm", texts(rows.iter().map(|(_, p)| p.task.comm.as_str()))),
            ("pid", number(|p| p.task.pid)),
            ("prev_cpu", number(|p| p.prev)),
            ("cpu", number(|p| p.chosen)),
            ("rule", texts(rows.iter().map(|(_, p)| p.rule.as_str()))),
        ])
    }

    /// Pairs of picks: the n-th of each CPU, and the n-th test of each woken task. 0 unless both sides have picks.
    #[getter]
    fn pick_pairs(&self) -> u64 {
        self.0.picks.as_ref().map_or(0, |picks| picks.diff.pairs)
    }

    /// Pairs of picks that are alike.
    #[getter]
    fn pick_agree(&self) -> u64 {
        self.0.picks.as_ref().map_or(0, |picks| picks.diff.agree)
    }

    /// One row for each kind and rule of picks: `kind`, `title`, `rule`, how often in `base` and in `test`, the `shift`,
    /// its `meaning`. Empty unless both sides have picks.
    #[getter]
    fn pick_rules(&self) -> Table {
        let shifts = |picks: &'_ DifferingPicks| picks.diff.shifts.clone();
        let rows = self.0.picks.as_ref().map(shifts).unwrap_or_default();
        let rule = |name: &str| {
            let rule = self.0.picks.as_ref().map(|picks| picks.rule(name));
            rule.map_or_else(Default::default, |rule| (rule.title(), rule.text.to_owned()))
        };
        let words: Vec<(String, String)> = rows.iter().map(|(_, name, ..)| rule(name)).collect();
        Table::from_columns(vec![
            ("kind", texts(rows.iter().map(|(kind, ..)| kind))),
            ("title", texts(words.iter().map(|(title, _)| title))),
            ("rule", texts(rows.iter().map(|(_, rule, ..)| rule))),
            ("base", counts(rows.iter().map(|(_, _, base, _)| *base))),
            ("test", counts(rows.iter().map(|(.., test)| *test))),
            ("shift", figures(rows.iter().map(|(_, _, base, test)| Some(*test as f64 - *base as f64)))),
            ("meaning", texts(words.iter().map(|(_, meaning)| meaning))),
        ])
    }

    /// The first pair of picks that differs, one row for `base` and one for `test` (`side`), with the columns of
    /// `PickExplanation.picks`. Empty if all are alike.
    #[getter]
    fn first_pick(&self) -> Table {
        let pair = self.0.picks.as_ref().and_then(DifferingPicks::first);
        let rows: Vec<&Pick> = pair.into_iter().flatten().collect();
        let sides = ["base", "test"].into_iter().take(rows.len());
        let mut columns = vec![("side", texts(sides))];
        columns.extend(pick_columns(&rows));
        Table::from_columns(columns)
    }

    /// The values that a decision of the two first leaves otherwise, a row each: `time_ns`, the kernel's `function`, the
    /// `value`, the `comm` and `pid` of its task or its `cpu` and `domain` (else null), `before`, and what `base` and `test`
    /// leave (null: unchanged there). Empty if nothing differs, or unless both sides record such values (`linux:` with
    /// `why=True`).
    #[getter]
    fn left(&self) -> Table {
        let rows: Vec<&DifferentValue> = self.0.left.iter().flat_map(|left| &left.first).collect();
        let at = || rows.iter().map(|different| different.change());
        let task = || at().map(|left| left.of.task.as_ref());
        let number = |value: fn(&DifferentValue) -> Option<&Left>| {
            maybe_integers(rows.iter().map(move |different| value(different).map(|left| left.after)))
        };
        Table::from_columns(vec![
            ("time_ns", counts(at().map(|left| left.time))),
            ("function", texts(at().map(|left| &left.function))),
            ("value", texts(at().map(|left| &left.value))),
            ("comm", maybe_texts(task().map(|task| task.map(|task| task.comm.as_str())))),
            ("pid", maybe_numbers(task().map(|task| task.map(|task| task.pid)))),
            ("cpu", maybe_numbers(at().map(|left| left.of.cpu))),
            ("domain", maybe_numbers(at().map(|left| left.of.domain))),
            ("before", maybe_integers(at().map(|left| Some(left.before)))),
            ("base", number(DifferentValue::base)),
            ("test", number(DifferentValue::test)),
        ])
    }

    fn __str__(&self) -> String {
        self.0.text()
    }

    fn __repr__(&self) -> String {
        format!("<fairground.Difference: {} of {} choose the same CPU>", self.0.diff.agree, self.0.diff.pairs)
    }
}

/// A trace that ends at the current position once it is stopped.
pub struct Stoppable<'a>(pub &'a dyn Traced, pub &'a Stop);

impl Traced for Stoppable<'_> {
    fn name(&self) -> String {
        self.0.name()
    }

    fn open(&self) -> Result<Box<dyn EventSource + '_>, TraceError> {
        Ok(Box::new(Ending(self.0.open()?, self.1)))
    }

    fn may_have(&self, event: &str) -> bool {
        self.0.may_have(event)
    }
}

struct Ending<'a>(Box<dyn EventSource + 'a>, &'a Stop);

impl EventSource for Ending<'_> {
    fn next_event(&mut self) -> Result<Option<TraceEvent<'_>>, TraceError> {
        match self.1.load(Ordering::Relaxed) {
            true => Ok(None),
            false => self.0.next_event(),
        }
    }

    fn unknown(&self) -> u64 {
        self.0.unknown()
    }

    fn notes(&self) -> Vec<Note> {
        self.0.notes()
    }

    fn unexpected(&self, expected: &str) -> TraceError {
        self.0.unexpected(expected)
    }
}

/// A run, or a trace's file.
fn traced<T>(given: &Bound<'_, PyAny>, act: impl FnOnce(&dyn Traced) -> PyResult<T>) -> PyResult<T> {
    if let Ok(run) = given.cast::<Run>() {
        let run = run.get();
        return act(&(run.shown(), run.recording("explain")?));
    }
    let path = given.extract::<PathBuf>().map_err(|_| refused("explain takes a run, or the path of a trace"))?;
    act(&path)
}

/// Explains placements of a run or of a trace's file: those of a task, from a time (ns) on, onto a CPU.
#[pyfunction]
#[pyo3(signature = (given, task, at, cpu))]
pub fn explain_placements(
    given: &Bound<'_, PyAny>,
    task: Option<String>,
    at: Option<u64>,
    cpu: Option<u32>,
) -> PyResult<Explanation> {
    let query = Query { wanted: Wanted { task, at, cpu }, by: Split::None };
    traced(given, |of| {
        let compute = |stop: Stop| -> Result<_, ExplainError> {
            let of = Stoppable(of, &stop);
            Ok((explain::explain(&of, &query)?.0, explain::chosen(&of, &query.wanted)?))
        };
        let (text, (placements, head, notes)) = beside(given.py(), compute)?.map_err(input)?;
        Ok(Explanation { text, placements, head, notes: notes.iter().map(ToString::to_string).collect() })
    })
}

/// Explains picks of a run or of a trace's file: those of a task, from a time (ns) on, on a CPU.
#[pyfunction]
#[pyo3(signature = (given, task, at, cpu))]
pub fn explain_picks(
    given: &Bound<'_, PyAny>,
    task: Option<String>,
    at: Option<u64>,
    cpu: Option<u32>,
) -> PyResult<PickExplanation> {
    let wanted = Wanted { task, at, cpu };
    traced(given, |of| {
        let compute = |stop: Stop| -> Result<_, ExplainError> {
            let of = Stoppable(of, &stop);
            Ok((explain::explain_picks(&of, &wanted)?.0, explain::chosen_picks(&of, &wanted)?))
        };
        let (text, (picks, head, notes)) = beside(given.py(), compute)?.map_err(input)?;
        Ok(PickExplanation { text, picks, head, notes: notes.iter().map(ToString::to_string).collect() })
    })
}

/// Compares the placements of two runs or traces.
#[pyfunction]
#[pyo3(signature = (base, test))]
pub fn explain_difference(base: &Bound<'_, PyAny>, test: &Bound<'_, PyAny>) -> PyResult<Difference> {
    let py = base.py();
    traced(base, |base| {
        traced(test, |test| {
            let compute = |stop: Stop| Differing::of(&Stoppable(base, &stop), &Stoppable(test, &stop));
            Ok(Difference(beside(py, compute)?.map_err(input)?))
        })
    })
}
