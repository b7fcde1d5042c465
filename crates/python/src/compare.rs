//! Base against tests, paired over seeds.

use std::sync::{Arc, Mutex, PoisonError};

use fairground_lab::comparison::{self, Report, Row};
use fairground_lab::doubt::screening::{short_workload, Design};
use fairground_lab::doubt::{draws_and_seeds, Draws};
use fairground_lab::sides::{MachineWorkload, SideSpec, Sides};
use fairground_lab::tables::Format;
use fairground_run::batch::Plan;
use fairground_run::executor::{Executor, Progress};
use fairground_run::metrics::Selection;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::{failed, input, refused};
use crate::interrupt::beside;
use crate::machine::Machine;
use crate::options::{threads, workers, Options};
use crate::store::StoreLocation;
use crate::table::{counts, figures, maybe_booleans, maybe_texts, texts, Table};
use crate::workload::Workload;

/// Base against each test, metric by metric.
#[pyclass(frozen, module = "fairground")]
pub struct Comparison {
    report: Report,
    /// Warnings about the store.
    #[pyo3(get)]
    warnings: Vec<String>,
}

/// A row with the comparison it belongs to.
type ComparisonRow<'a> = (&'a comparison::Comparison, &'a Row);

#[pymethods]
impl Comparison {
    /// One row for each test and metric: means, the change in percent of base (positive is better) with its 95 %
    /// interval (`low`, `high`), whether that excludes zero (`significant`; null below 6 pairs), whether no pair differs from
    /// another (`exact`), the p value that counts all rows of the test (`p_adjusted`), and the verdict (`better`, `worse`,
    /// `same`, `unsure`). Over draws of the figures in doubt: median, 90 % interval (`model_low`, `model_high`), and share of
    /// draws in which test is better.
    #[getter]
    fn table(&self) -> Table {
        let rows: Vec<ComparisonRow> = self.rows().collect();
        let change = |part: fn(&Row) -> Option<f64>| figures(rows.iter().map(|(_, row)| part(row)));
        Table::from_columns(vec![
            ("base", texts(rows.iter().map(|(c, _)| c.base.name.as_str()))),
            ("test", texts(rows.iter().map(|(c, _)| c.test.name.as_str()))),
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
            ("exact", maybe_booleans(rows.iter().map(|(_, r)| Some(r.change.exact)))),
            ("p_adjusted", change(|r| r.change.p_adjusted)),
            ("verdict", texts(rows.iter().map(|(_, r)| r.change.verdict.word()))),
            ("model_median_pct", change(|r| r.model.and_then(|model| model.median_pct))),
            ("model_low", change(|r| r.model?.ci90.map(|ci| ci[0]))),
            ("model_high", change(|r| r.model?.ci90.map(|ci| ci[1]))),
            ("p_better", change(|r| r.model.map(|model| model.p_better))),
        ])
    }

    /// One row for each test, metric and seed: the values of both runs.
    #[getter]
    fn runs(&self) -> Table {
        let rows: Vec<(ComparisonRow, usize)> =
            self.rows().flat_map(|placed| (0..placed.1.base.len()).map(move |i| (placed, i))).collect();
        Table::from_columns(vec![
            ("base", texts(rows.iter().map(|((c, _), _)| c.base.name.as_str()))),
            ("test", texts(rows.iter().map(|((c, _), _)| c.test.name.as_str()))),
            ("metric", texts(rows.iter().map(|((_, r), _)| r.metric.name.as_str()))),
            ("seed", counts(rows.iter().map(|((_, r), i)| r.seeds[*i]))),
            ("base_value", figures(rows.iter().map(|((_, r), i)| Some(r.base[*i])))),
            ("test_value", figures(rows.iter().map(|((_, r), i)| Some(r.test[*i])))),
        ])
    }

    /// What the first metric of each test is in doubt for, the greatest share first: the path of a figure and its share of
    /// the variance, 0 to 1; null for the share that no figure explains by itself. Empty without a screening.
    #[getter]
    fn doubt(&self) -> Table {
        let mut rows: Vec<(&str, &str, Option<&str>, f64)> = Vec::new();
        for comparison in &self.report.comparisons {
            let Some(screening) = &comparison.doubt else { continue };
            let shares = screening.shares.iter().map(|share| (Some(share.figure.as_str()), share.share));
            for (figure, share) in shares.chain([(None, screening.unattributed)]) {
                rows.push((&comparison.test.name, &screening.metric, figure, share));
            }
        }
        Table::from_columns(vec![
            ("test", texts(rows.iter().map(|(test, ..)| *test))),
            ("metric", texts(rows.iter().map(|(_, metric, ..)| *metric))),
            ("figure", maybe_texts(rows.iter().map(|(_, _, figure, _)| *figure))),
            ("share", figures(rows.iter().map(|(.., share)| Some(*share)))),
        ])
    }

    /// Runs that failed: `side`, `seed`, `message`.
    #[getter]
    fn failures(&self) -> Table {
        let failures = &self.report.failures;
        Table::from_columns(vec![
            ("side", texts(failures.iter().map(|f| f.side.as_str()))),
            ("seed", counts(failures.iter().map(|f| f.seed))),
            ("message", texts(failures.iter().map(|f| f.message.as_str()))),
        ])
    }

    /// Notes on the figures.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.report.notes.clone()
    }

    /// Tests that made the same run as base with every seed: no decision reached what differs.
    #[getter]
    fn identical(&self) -> Vec<String> {
        self.report.comparisons.iter().filter(|c| c.identical()).map(|c| c.test.name.clone()).collect()
    }

    /// As the command prints it: `own`, `mmtests`, `amd`, `arm`, `markdown`, `csv` or `json`.
    #[pyo3(signature = (format="own"))]
    fn render(&self, format: &str) -> PyResult<String> {
        let format: Format = format.parse().map_err(|e: String| refused(e))?;
        Ok(format.render(&self.report))
    }

    fn __str__(&self) -> String {
        Format::Own.render(&self.report)
    }
}

impl Comparison {
    fn rows(&self) -> impl Iterator<Item = ComparisonRow<'_>> {
        self.report.comparisons.iter().flat_map(|c| c.rows.iter().map(move |row| (c, row)))
    }
}

/// The machines and workloads of sides, each looked up once.
struct Finder<'a, 'py> {
    machine: &'a Bound<'py, PyAny>,
    workload: &'a Bound<'py, PyAny>,
    found: Vec<([Option<String>; 2], MachineWorkload)>,
    warnings: Vec<String>,
}

impl Finder<'_, '_> {
    fn find_all(&mut self, sides: &[SideSpec]) -> PyResult<Vec<MachineWorkload>> {
        sides.iter().map(|side| self.find(side)).collect()
    }

    /// The machine and the workload that a side names, else those of all sides.
    fn find(&mut self, side: &SideSpec) -> PyResult<MachineWorkload> {
        let names = [side.machine(), side.workload()];
        let key = names.map(|name| name.map(str::to_owned));
        if let Some((_, found)) = self.found.iter().find(|(known, _)| *known == key) {
            return Ok(found.clone());
        }
        let py = self.machine.py();
        let given = |name: Option<&str>, of_all: &Bound<'_, PyAny>| match name {
            Some(name) => PyString::new(py, name).into_any().unbind(),
            None => of_all.clone().unbind(),
        };
        let machine = Machine::from_py(given(names[0], self.machine).bind(py))?;
        let workload = Workload::from_py(given(names[1], self.workload).bind(py), &machine)?;
        self.warnings.extend(workload.warnings.iter().cloned());
        let found = MachineWorkload {
            machine_name: machine.shown().to_owned(),
            machine: Arc::new(machine.inner),
            workload_name: workload.shown().to_owned(),
            workload: Arc::new(workload.inner),
        };
        self.found.push((key, found.clone()));
        Ok(found)
    }
}

/// Runs all sides, base first, with seeds 1 to `seeds`, on `jobs` threads (0: one for each CPU of this machine). `sched`:
/// the scheduler of sides that do not name one; `metrics`: `usual`, `all` or names with commas between, which are judged
/// together. Reads results from `store`, and stores new ones there.
#[pyfunction]
#[pyo3(signature = (machine, workload, sides, sched, metrics, seeds, doubt, screen, jobs, store, options))]
#[allow(clippy::too_many_arguments)]
pub fn compare(
    py: Python<'_>,
    machine: &Bound<'_, PyAny>,
    workload: &Bound<'_, PyAny>,
    sides: Vec<String>,
    sched: Option<String>,
    metrics: &str,
    seeds: i64,
    doubt: i64,
    screen: bool,
    jobs: i64,
    store: StoreLocation,
    options: Options,
) -> PyResult<Comparison> {
    let seeds = u64::try_from(seeds).ok().filter(|n| (1..=1_000_000).contains(n));
    let seeds = seeds.ok_or_else(|| refused("seeds: expected 1 to 1000000"))?;
    let doubt = u64::try_from(doubt).ok().filter(|n| *n <= 100_000);
    let doubt = doubt.ok_or_else(|| refused("doubt: expected 0 to 100000"))?;
    let jobs = threads(jobs)?;
    let option = |number: usize| if number == 0 { "base" } else { "test" };
    let specs = sides.iter().enumerate().map(|(number, text)| SideSpec::parse(option(number), text).map_err(input));
    let specs = specs.collect::<PyResult<Vec<SideSpec>>>()?;
    let mut finder = Finder { machine, workload, found: Vec::new(), warnings: Vec::new() };
    let found = finder.find_all(&specs)?;
    let (config, workers) = (options.config()?, workers(py)?);
    let is_drawn = config.draw != 0 || specs.iter().any(|side| side.sets("draw"));
    let drawing = [("doubt", doubt > 0), ("screen", screen)].into_iter().find(|(_, given)| *given);
    if let Some((option, _)) = drawing.filter(|_| is_drawn) {
        let problem = "draws machine and workload, and a draw is given: leave out one of the two";
        return Err(refused(format!("{option} {problem}")));
    }
    let on = |config| Sides::on(&specs, found.clone(), sched.as_deref(), &config, &workers).map_err(input);
    let sides = on(config)?;
    let selection: Selection = metrics.parse().map_err(|problem| refused(format!("metrics: {problem}")))?;
    let selected = sides.selected(&selection, &[]).map_err(input)?;
    let drawn = Draws::find(&config, draws_and_seeds(doubt), on)?;
    let screened = match screen {
        true => {
            let design = Design::new(sides.experiments.iter().map(|e| (&*e.machine, &*e.workload))).map_err(input)?;
            let short: Vec<SideSpec> = specs.iter().map(|side| side.with_workload(short_workload)).collect();
            // A workload that was made in Python runs as it is.
            let named = workload.extract::<String>().ok();
            let named = named.map(|name| PyString::new(py, &short_workload(&name)).into_any());
            let workload = named.as_ref().unwrap_or(workload);
            let found = Finder { machine, workload, found: Vec::new(), warnings: Vec::new() }.find_all(&short)?;
            let on = |config| Sides::on(&short, found.clone(), sched.as_deref(), &config, &workers).map_err(input);
            let draws = Draws::find(&config, design.draws_and_seeds(), on)?;
            Some((design, draws))
        }
        false => None,
    };
    let plan = Plan { scheds: specs.len(), seeds: (1..=seeds).collect(), jobs, check_determinism: false };
    let store = store.open()?;
    let warnings = Mutex::new(store.iter().flat_map(|store| store.warnings().to_vec()).collect::<Vec<_>>());
    let listener = |progress| {
        if let Progress::Trouble(what) = progress {
            warnings.lock().unwrap_or_else(PoisonError::into_inner).push(what);
        }
    };
    let results = beside(py, |stop| Executor::batch(&sides.experiments, &plan, store.as_ref(), &stop, &listener))?;
    let results = results.map_err(|e| failed(e.to_string()))?;
    let mut report = sides.report(&plan.seeds, &results);
    let drawn = beside(py, |stop| drawn.carry_out(&plan, store.as_ref(), &stop, &listener))?;
    report.add_model(&drawn.map_err(|e| failed(e.to_string()))?);
    if doubt > 0 {
        report
            .note_on_draw_laws(sides.experiments.iter().map(|experiment| &*experiment.machine), doubt)
            .map_err(input)?;
    }
    finder.warnings.iter().chain(&sides.warnings).for_each(|warning| report.note(warning));
    sides.add_published(&mut report).map_err(input)?;
    report.keep(&selected);
    if let Some((design, draws)) = screened {
        let runs = beside(py, |stop| draws.carry_out(&plan, store.as_ref(), &stop, &listener))?;
        report.add_screening(&design, &runs.map_err(|e| failed(e.to_string()))?);
    }
    report.provenance = Some(sides.provenance(crate::made_by()));
    let warnings = warnings.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Comparison { report, warnings })
}
