//! Base against tests, paired over seeds.

use std::sync::atomic::Ordering;

use fairground_lab::comparison::{self, Report, Row};
use fairground_lab::tables::Format;
use fairground_run::batch::{self, Plan, RunReport, Runner};
use fairground_run::experiment::{Experiment, Stop};
use fairground_run::run_config::notes;
use pyo3::prelude::*;

use crate::circumstances::{threads, Options};
use crate::errors::{failed, refused};
use crate::interrupt::beside;
use crate::machine::Machine;
use crate::table::{counts, figures, maybe_booleans, texts, Table};
use crate::workload::Workload;

/// Base against each test, metric by metric.
#[pyclass(frozen, module = "fairground")]
pub struct Comparison(Report);

/// A row with the comparison it belongs to.
type ComparisonRow<'a> = (&'a comparison::Comparison, &'a Row);

#[pymethods]
impl Comparison {
    /// One row for each test and metric: means, the change in percent of base (positive is better) with its 95 %
    /// interval (`low`, `high`), and whether that excludes zero (`significant`; null below 6 pairs).
    #[getter]
    fn table(&self) -> Table {
        let rows: Vec<ComparisonRow> = self.rows().collect();
        let change = |part: fn(&Row) -> Option<f64>| figures(rows.iter().map(|(_, row)| part(row)));
        Table::from_columns(vec![
            ("base", texts(rows.iter().map(|(c, _)| c.base.as_str()))),
            ("test", texts(rows.iter().map(|(c, _)| c.test.as_str()))),
            ("metric", texts(rows.iter().map(|(_, r)| r.metric.name.as_str()))),
            ("unit", texts(rows.iter().map(|(_, r)| r.metric.unit.as_str()))),
            ("better", texts(rows.iter().map(|(_, r)| r.metric.better.word()))),
            ("base_mean", change(|r| Some(r.base_summary().mean))),
            ("base_sd", change(|r| Some(r.base_summary().sd))),
            ("test_mean", change(|r| Some(r.test_summary().mean))),
            ("test_sd", change(|r| Some(r.test_summary().sd))),
            ("pairs", counts(rows.iter().map(|(_, r)| r.base.len() as u64))),
            ("improvement_pct", change(|r| r.change.improvement_pct)),
            ("low", change(|r| r.change.ci95.map(|ci| ci[0]))),
            ("high", change(|r| r.change.ci95.map(|ci| ci[1]))),
            ("significant", maybe_booleans(rows.iter().map(|(_, r)| r.change.significant))),
        ])
    }

    /// One row for each test, metric and seed: what both gave.
    #[getter]
    fn runs(&self) -> Table {
        let rows: Vec<(ComparisonRow, usize)> =
            self.rows().flat_map(|placed| (0..placed.1.base.len()).map(move |i| (placed, i))).collect();
        Table::from_columns(vec![
            ("base", texts(rows.iter().map(|((c, _), _)| c.base.as_str()))),
            ("test", texts(rows.iter().map(|((c, _), _)| c.test.as_str()))),
            ("metric", texts(rows.iter().map(|((_, r), _)| r.metric.name.as_str()))),
            ("seed", counts(rows.iter().map(|((_, r), i)| r.seeds[*i]))),
            ("base_value", figures(rows.iter().map(|((_, r), i)| Some(r.base[*i])))),
            ("test_value", figures(rows.iter().map(|((_, r), i)| Some(r.test[*i])))),
        ])
    }

    /// Runs that failed: `sched`, `seed`, `message`.
    #[getter]
    fn failures(&self) -> Table {
        let failures = &self.0.failures;
        Table::from_columns(vec![
            ("sched", texts(failures.iter().map(|f| f.sched.as_str()))),
            ("seed", counts(failures.iter().map(|f| f.seed))),
            ("message", texts(failures.iter().map(|f| f.message.as_str()))),
        ])
    }

    /// What must be said beside the figures.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.0.notes.clone()
    }

    /// Tests that made the same run as base with every seed: no decision reached what differs.
    #[getter]
    fn identical(&self) -> Vec<String> {
        self.0.comparisons.iter().filter(|c| c.identical()).map(|c| c.test.clone()).collect()
    }

    /// As the command prints it: `own`, `mmtests`, `amd`, `arm`, `markdown`, `csv` or `json`.
    #[pyo3(signature = (format="own"))]
    fn render(&self, format: &str) -> PyResult<String> {
        let format: Format = format.parse().map_err(|e: String| refused(e))?;
        Ok(format.render(&self.0))
    }

    fn __str__(&self) -> String {
        Format::Own.render(&self.0)
    }
}

impl Comparison {
    fn rows(&self) -> impl Iterator<Item = ComparisonRow<'_>> {
        self.0.comparisons.iter().flat_map(|c| c.rows.iter().map(move |row| (c, row)))
    }
}

/// Runs until `stop` is set.
struct Stoppable<'a>(&'a Experiment, Stop);

impl Runner for Stoppable<'_> {
    fn run(&self, sched: usize, seed: u64) -> Result<RunReport, String> {
        if self.1.load(Ordering::Relaxed) {
            return Err("stopped".into());
        }
        self.0.until(&self.1, sched, seed).map_err(|e| e.to_string())
    }
}

/// Runs base and each test with seeds 1 to `seeds`, on `jobs` threads (0: one for each CPU of this machine).
#[pyfunction]
#[pyo3(signature = (machine, workload, scheds, seeds, jobs, options))]
pub fn compare(
    py: Python<'_>,
    machine: &Bound<'_, PyAny>,
    workload: &Bound<'_, PyAny>,
    scheds: Vec<String>,
    seeds: i64,
    jobs: i64,
    options: Options,
) -> PyResult<Comparison> {
    let seeds = u64::try_from(seeds).ok().filter(|n| (1..=1_000_000).contains(n));
    let seeds = seeds.ok_or_else(|| refused("seeds: expected 1 to 1000000"))?;
    let jobs = threads(jobs)?;
    let machine = Machine::from_py(machine)?;
    let workload = Workload::from_py(workload, &machine)?;
    let shown = [machine.shown().to_owned(), workload.shown().to_owned()];
    let (experiment, said) = options.experiment(py, machine, workload, &scheds)?;
    let plan = Plan { scheds: scheds.len(), seeds: (1..=seeds).collect(), jobs, check_determinism: false };
    let results = beside(py, |stop| batch::run(&plan, &Stoppable(&experiment, stop), &|| ()))?;
    let results = results.map_err(|e| failed(e.to_string()))?;
    let mut report = Report::new(&shown[0], &shown[1], &scheds, &plan.seeds, &results);
    said.into_iter().chain(notes(&experiment.config)).for_each(|note| report.note(note));
    Ok(Comparison(report))
}
