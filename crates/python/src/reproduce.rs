//! Reproduction of published rows.

use fairground_lab::reproduce::{self, Kind, OurFigures, ReproducedRow, Request, RowModel, Supplements};
use fairground_run::executor::Progress;
use pyo3::prelude::*;

use crate::errors::{input, refused};
use crate::interrupt::beside;
use crate::options::{threads, workers};
use crate::store::StoreLocation;
use crate::table::{figures, maybe_booleans, maybe_counts, maybe_texts, texts, Table};

/// Published figures beside ours.
#[pyclass(frozen, module = "fairground")]
pub struct Reproduction {
    result: reproduce::Reproduction,
    /// Warnings about machines, workloads and the store.
    #[pyo3(get)]
    warnings: Vec<String>,
}

/// Arguments of `fairground.reproduce`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ReproduceOptions {
    mail: String,
    rows: Vec<String>,
    seeds: Option<i64>,
    doubt: i64,
    quick: bool,
    full_length: bool,
    attribute_costs: bool,
    each_feature: bool,
}

impl ReproduceOptions {
    fn request(self, py: Python<'_>) -> PyResult<Request> {
        let seeds = self.seeds.map(|seeds| u64::try_from(seeds).ok().filter(|n| (1..=1_000_000).contains(n)));
        if seeds == Some(None) {
            return Err(refused("seeds: expected 1 to 1000000"));
        }
        let draws = u64::try_from(self.doubt).ok().filter(|n| *n <= 100_000);
        let draws = draws.ok_or_else(|| refused("doubt: expected 0 to 100000"))?;
        if self.quick && (self.seeds.is_some() || self.full_length) {
            return Err(refused("quick: it has its own seeds and length; leave seeds and full_length out"));
        }
        let supplements = Supplements {
            attribute_costs: self.attribute_costs,
            each_feature: self.each_feature,
            ..Supplements::default()
        };
        Ok(Request {
            mail: self.mail,
            rows: self.rows,
            seeds: seeds.flatten(),
            draws,
            part_on_draws: None,
            full_length: self.full_length,
            quick: self.quick,
            supplements,
            made_by: Some(crate::made_by()),
            workers: workers(py)?,
        })
    }
}

#[pymethods]
impl Reproduction {
    /// One row for each published row, with the fields of the command's csv: what it is (`mail`, `id`, `machine`,
    /// `benchmark`, `params`, `metric`, `unit`), theirs (`published_base`, `published_test`, `published_pct`,
    /// `published_sigma_pct`), ours (`base`, `test`, `improvement_pct` with its 95 % interval `ci95_lo` to `ci95_hi`, from
    /// `n` pairs of runs), and the verdict (`kind`, `base_kind`, `test_kind`, `hit`, `why`), with a `note`. With `doubt` ours
    /// over draws of the figures in doubt (`model_median_pct` with its 90 % interval `model_ci90_lo` to `model_ci90_hi`,
    /// `model_p_better`, `model_draws`), the 90 % interval of what is predicted for theirs (`predictive_ci90_lo` to
    /// `predictive_ci90_hi`), whether theirs is outside of it (`outside90`), and `hit_model`. Percentages are of base, positive
    /// is better; null: not available.
    #[getter]
    fn table(&self) -> Table {
        let rows = &self.result.rows;
        let text = |part: fn(&ReproducedRow) -> &str| texts(rows.iter().map(part));
        let figure = |part: fn(&ReproducedRow) -> Option<f64>| figures(rows.iter().map(part));
        let ours =
            |part: fn(&OurFigures) -> Option<f64>| figures(rows.iter().map(move |r| r.ours.as_ref().and_then(part)));
        let model =
            |part: fn(&RowModel) -> Option<f64>| figures(rows.iter().map(move |r| r.model.as_ref().and_then(part)));
        Table::from_columns(vec![
            ("mail", text(|r| &r.mail)),
            ("id", text(|r| &r.id)),
            ("machine", text(|r| &r.machine)),
            ("benchmark", text(|r| &r.benchmark)),
            ("params", text(|r| &r.params)),
            ("metric", text(|r| &r.metric)),
            ("unit", text(|r| &r.unit)),
            ("published_base", figure(|r| r.published.base)),
            ("published_test", figure(|r| r.published.test)),
            ("published_pct", figure(|r| r.published.improvement_pct)),
            ("published_sigma_pct", figure(|r| Some(r.published.sigma_pct))),
            ("base", ours(|o| o.base)),
            ("test", ours(|o| o.test)),
            ("improvement_pct", ours(|o| o.improvement_pct)),
            ("ci95_lo", ours(|o| o.ci95.map(|ci| ci[0]))),
            ("ci95_hi", ours(|o| o.ci95.map(|ci| ci[1]))),
            ("n", maybe_counts(rows.iter().map(|r| r.ours.as_ref().map(|o| o.n as u64)))),
            ("kind", text(|r| word(r.kind))),
            ("base_kind", text(|r| word(r.cells.base))),
            ("test_kind", text(|r| word(r.cells.test))),
            ("hit", maybe_booleans(rows.iter().map(|r| r.hit))),
            ("why", text(|r| &r.why)),
            ("note", maybe_texts(rows.iter().map(|r| r.note.as_deref()))),
            ("model_median_pct", model(|m| m.interval.median_pct)),
            ("model_ci90_lo", model(|m| Some(m.interval.ci90?[0]))),
            ("model_ci90_hi", model(|m| Some(m.interval.ci90?[1]))),
            ("model_p_better", model(|m| Some(m.interval.p_better))),
            ("model_draws", maybe_counts(rows.iter().map(|r| r.model.as_ref().map(|m| m.interval.draws as u64)))),
            ("predictive_ci90_lo", model(|m| Some(m.predictive?.ci90?[0]))),
            ("predictive_ci90_hi", model(|m| Some(m.predictive?.ci90?[1]))),
            ("outside90", maybe_booleans(rows.iter().map(|r| r.model.as_ref()?.outside90))),
            ("hit_model", maybe_booleans(rows.iter().map(|r| r.hit_model))),
        ])
    }

    /// Notes on the figures.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.result.notes.clone()
    }

    /// Rows scored as hits, and rows scored.
    #[getter]
    fn score(&self) -> (usize, usize) {
        (self.result.score.hits, self.result.score.scored)
    }

    /// Whether at least one run failed; `notes` say which.
    #[getter]
    fn failed(&self) -> bool {
        self.result.failed
    }

    /// One page with pictures that needs nothing else.
    fn to_html(&self) -> String {
        reproduce::html(&self.result)
    }

    /// The tables in Markdown, as in the documents.
    fn to_markdown(&self) -> String {
        reproduce::markdown(&self.result)
    }

    /// JSON in the documented schema.
    fn to_json(&self) -> String {
        reproduce::json(&self.result)
    }

    fn __str__(&self) -> String {
        reproduce::render(&self.result)
    }

    fn __repr__(&self) -> String {
        let score = &self.result.score;
        format!(
            "<fairground.Reproduction of {} rows: {} hits of {} scored>",
            self.result.rows.len(),
            score.hits,
            score.scored
        )
    }
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Given => "given",
        Kind::Fitted => "fitted",
        Kind::Predicted => "predicted",
    }
}

/// Repeats published rows on `jobs` threads (0: one for each CPU). Results are kept in `store`: a directory, or true for
/// the user's; false keeps none.
#[pyfunction]
#[pyo3(signature = (options, jobs, store))]
pub fn reproduce_rows(
    py: Python<'_>,
    options: ReproduceOptions,
    jobs: i64,
    store: StoreLocation,
) -> PyResult<Reproduction> {
    let request = options.request(py)?;
    let jobs = threads(jobs)?;
    let store = store.open()?;
    let (outcome, warnings) = beside(py, |stop| {
        let troubles = std::sync::Mutex::new(Vec::new());
        let report = |progress| {
            if let Progress::Trouble(what) = progress {
                troubles.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(what);
            }
        };
        let mut warnings = Vec::new();
        let outcome = request.ready().and_then(|ready| {
            warnings.clone_from(&ready.warnings);
            ready.carry_out(store.as_ref(), jobs, &stop, &report)
        });
        warnings.extend(troubles.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner));
        (outcome, warnings)
    })?;
    Ok(Reproduction { result: outcome.map_err(input)?, warnings })
}
