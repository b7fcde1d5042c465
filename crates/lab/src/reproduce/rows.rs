//! Published rows beside ours, and the score (design, decisions 6 and 7).
//!
//! **Hits.** sigma = sqrt(err_base^2 + err_test^2) of the published row in percent; 2 where the mail prints
//! no error. If the published change exceeds 2 sigma, a hit has its sign, and our 95 % interval overlaps
//! published ± max(3 points, 2 sigma). Otherwise a hit is within max(1 point, 2 sigma) of zero.
//!
//! **Not scored** (`hit: null`, and not in the RMS errors): rows that are not run; rows whose mail contradicts itself;
//! rows whose published base is 0, because a change from 0 has no percentage (both columns are still shown); rows whose
//! patched cell was used for a fit; all rows run with fewer than 8 seeds. A scored row in which *our* change is from 0
//! is a miss, but not in the RMS errors either: it has no percentage.
//!
//! **Cells.** A base cell that a machine file names as `fitted: ID/base` is `fitted`, every other cell of ours is
//! `predicted`. A row's kind is the kind of its change: a fit of the baseline leaves it `predicted`.
//!
//! Rows of one column, a base or a test alone, have no change to score. Rows whose base is doubted are compared with
//! both possible bases. Figures of scheduling domains ([`crate::published::DomainCheck`]) are looked up: a check, not a
//! run.
//!
//! **Draws.** Rows that are also run on draws of the figures in doubt have a model interval, a hit by it, and a place in
//! the proper score ([`super::score`]): of a scored row each draw's change is one of the sample that we predict.
//!
//! **Supplements.** [`Variant`]s of a test that the mail does not measure are run beside it. A row's change may be
//! attributed to cost terms ([`crate::cost_attribution`]) and to the features that differ between base and test
//! ([`crate::ablation`]); where the runs of a row fall into modes, [`RunModes`] shows how often each occurs.

use std::borrow::Cow;
use std::collections::BTreeMap;

use fairground_machine::Source;
use fairground_run::batch::Results;
use miette::Diagnostic;
use serde::Serialize;
use thiserror::Error;

use super::form::{self, Variant};
use super::run_modes::RunModes;
use super::score::{self, Predictive, PredictiveSummary, ProperScore, ProperScores, ScoredRow};
use crate::ablation::{Ablation, Piece};
use crate::comparison::{Comparison, Report, Row};
use crate::cost_attribution::{self, CostTermShare};
use crate::doubt::{changes_pct, quantile, DrawnRuns, ModelInterval};
use crate::provenance::RowsProvenance;
use crate::published::{current_id, Cell, DomainCheck, GivenTable, Mail, PublishedRow, PublishedRun};
use crate::robustness::Robustness;
use crate::sensitivity::Sensitivity;

/// Results of one run specification.
#[derive(Clone, Debug)]
pub struct Executed {
    /// Comparison of the base with the test, with the model intervals of `drawn`.
    pub report: Report,
    /// Runs of base and test on draws of the figures in doubt; empty if not requested.
    pub drawn: Vec<DrawnRuns>,
    /// What part of the row's length these took, as the number it was divided by.
    pub part_on_draws: u32,
    /// Whether rows are scored over them: not in a quick check.
    pub scores_draws: bool,
    /// Sources of the machine's figures.
    pub sources: Vec<Source>,
    /// The comparison without each of [`crate::cost_attribution::TERMS`], `None` for a term that is absent; empty if
    /// not requested.
    pub without: Vec<Option<Report>>,
    /// The ablation of base against test, and its results; `None` if not requested.
    pub ablation: Option<(Ablation, Results)>,
}

/// Where a number comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Taken from the mail.
    Given,
    /// Used for the fit of a figure of the machine or an option of the workload.
    Fitted,
    /// Predicted by the model alone.
    Predicted,
}

/// Result of `reproduce`, in the documented schema (docs/json.md).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reproduction {
    /// Name and version of the schema.
    pub schema: &'static str,
    /// Description of how runs were shortened for a first look; `None` if they were not. Such rows are never scored.
    pub quick: Option<String>,
    /// One row for each published row.
    pub rows: Vec<ReproducedRow>,
    /// Score of all rows.
    #[serde(flatten)]
    pub score: Score,
    /// Coverage and CRPS of the scored rows that have draws; `None` if there are none.
    #[serde(flatten)]
    pub proper: Option<ProperScores>,
    /// Score of each mail.
    pub mails: Vec<MailScore>,
    /// Values that the mails give and that are not predicted.
    pub given: Vec<GivenTable>,
    /// Robustness of the published signs, by mail; empty if not requested.
    pub sweeps: Vec<Robustness>,
    /// Sensitivity of our changes to estimates; `None` if not requested.
    pub sensitivity: Option<Sensitivity>,
    /// Notes on the results.
    pub notes: Vec<String>,
    /// What the result was made by and from, if the request says so.
    pub provenance: Option<RowsProvenance>,
    /// Whether at least one run failed.
    #[serde(skip)]
    pub failed: bool,
}

/// The score: hits, and the error of our changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Score {
    /// Number of rows scored as hits.
    pub hits: usize,
    /// Number of rows that are scored.
    pub scored: usize,
    /// Number of hits among [`Score::changes`].
    pub hits_of_changes: usize,
    /// Scored rows whose published change exceeds 2 sigma. No change at all hits the others, and none of these.
    pub changes: usize,
    /// Root mean square of our changes minus the published ones, percentage points. Over the scored rows without those
    /// in which ours is a change from 0: a miss that has no percentage. `None` without such rows.
    pub rms_ours: Option<f64>,
    /// The root mean square for a prediction of no change, over the same rows, percentage points.
    pub rms_zero: Option<f64>,
    /// Both without the row of the largest published change, ours first; `None` without another row.
    pub rms_without_largest: Option<[f64; 2]>,
    /// Hits by the model interval; `None` if no scored row has one of 90 %.
    #[serde(flatten)]
    pub model: Option<ModelHits>,
}

/// Hits by the model interval, of the scored rows that have one of 90 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ModelHits {
    /// Number of these rows that are hits.
    pub hits_model: usize,
    /// Number of these rows.
    pub scored_model: usize,
    /// Number of hits among [`ModelHits::changes_model`].
    pub hits_of_changes_model: usize,
    /// Those of them whose published change exceeds 2 sigma.
    pub changes_model: usize,
}

/// The score of one mail.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MailScore {
    /// Slug of the mail.
    pub mail: String,
    /// Older name of the mail, `000` to `004`.
    pub number: String,
    /// Subject line of the mail.
    pub subject: String,
    /// Name of the sender.
    pub author: String,
    /// Day on which it was sent, as `2020-10-28`.
    pub date: String,
    /// Number of rows of the mail, scored or not.
    pub rows: usize,
    /// Score of this mail's rows.
    #[serde(flatten)]
    pub score: Score,
    /// Coverage and CRPS of this mail's scored rows that have draws; `None` if there are none.
    #[serde(flatten)]
    pub proper: Option<ProperScore>,
}

/// One published row with our result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReproducedRow {
    /// Slug of the mail.
    pub mail: String,
    /// Id of the row.
    pub id: String,
    /// Machine, as the mail describes it.
    pub machine: String,
    /// Name of the benchmark.
    pub benchmark: String,
    /// Parameters of the benchmark, as the mail prints them.
    pub params: String,
    /// Name of the metric.
    pub metric: String,
    /// Unit of the metric.
    pub unit: String,
    /// Values that the mail prints.
    pub published: PublishedFigures,
    /// Our values; `None` for rows that are not run or whose runs failed.
    pub ours: Option<OurFigures>,
    /// Whether the change is given, fitted or predicted.
    pub kind: Kind,
    /// Whether our two cells are given, fitted or predicted.
    pub cells: Cells,
    /// Whether the row is a hit; `None` where it is not scored.
    pub hit: Option<bool>,
    /// The reason for `hit`, as text.
    pub why: String,
    /// What the change is over draws of the figures in doubt; `None` if the row was not run on draws, and if no draw has
    /// both sides.
    pub model: Option<RowModel>,
    /// Whether the row is a hit by the rule with the median and the 90 % interval of `model` in place of our change and its
    /// 95 % interval; `None` where it is not scored, or has no such interval.
    pub hit_model: Option<bool>,
    /// Whether the row counts in the proper score if it has draws: it is scored, or only lacks pairs of runs.
    #[serde(skip)]
    pub scored_over_draws: bool,
    /// Our change split by cost term; empty if not requested.
    pub terms: Vec<CostTermShare>,
    /// Our change split by feature; empty if not requested.
    pub features: Vec<Piece>,
    /// Results of further test schedulers, which the mail does not measure; mostly empty.
    pub forms: Vec<Variant>,
    /// Modes of the row's runs; `None` where the row has no grouping metric, or a pair of runs lacks a value of it.
    pub spread: Option<RunModes>,
    /// Note that a reader needs for the comparison.
    pub note: Option<String>,
}

/// A row over draws of the figures in doubt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowModel {
    /// Median and intervals of our changes.
    #[serde(flatten)]
    pub interval: ModelInterval,
    /// Our changes in the order of the draws, percent, positive = better; without draws in which ours is a change from 0, or
    /// whose runs failed.
    pub changes_pct: Vec<f64>,
    /// The distribution that we predict for what the mail prints: `changes_pct` with the error of the published change.
    /// `None` for a row that is not scored.
    pub predictive: Option<PredictiveSummary>,
    /// Whether the published change is outside the 90 % interval of `predictive`; `None` if there is none.
    pub outside90: Option<bool>,
}

/// Published values of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PublishedFigures {
    /// The base as printed; `None` where the mail prints the test alone.
    pub base: Option<f64>,
    /// The test as printed; `None` where the mail prints the base alone.
    pub test: Option<f64>,
    /// The change, percent, positive = better; `None` where base is 0 or one of the two is missing.
    pub improvement_pct: Option<f64>,
    /// Standard deviation of the published change, percentage points.
    pub sigma_pct: f64,
    /// Another possible base, where the printed one is doubted.
    pub other_base: Option<f64>,
    /// The change from `other_base`, percent, positive = better; `None` where that is 0, or it or the test is missing.
    pub other_improvement_pct: Option<f64>,
}

/// Our values of a row: means over the seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OurFigures {
    /// Mean of the base; `None` for a domain that does not exist.
    pub base: Option<f64>,
    /// Mean of the test; `None` for a domain that does not exist, and where the base alone is run.
    pub test: Option<f64>,
    /// The change, percent, positive = better; `None` where base is 0 and test is not, where the base alone is run, and
    /// for a domain.
    pub improvement_pct: Option<f64>,
    /// 95 % interval of the change, percent; `None` below two pairs, or without a change.
    pub ci95: Option<[f64; 2]>,
    /// Number of pairs of runs; 0 for a row that is looked up.
    pub n: usize,
}

/// Kinds of the two cells of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cells {
    /// Kind of the base value.
    pub base: Kind,
    /// Kind of the test value.
    pub test: Kind,
}

/// Why published rows and results cannot be compared.
#[derive(Debug, Error, Diagnostic)]
pub enum ReproduceError {
    /// A machine file names a fit to a cell that does not exist.
    #[error("machine {machine} has a figure fitted to {cell:?}, which is not a cell of published/{mail}.toml")]
    #[diagnostic(help("cells are {example} and so on"))]
    UnknownCell {
        /// Name of the machine.
        machine: String,
        /// The cell that the machine's file names.
        cell: String,
        /// Slug of the mail.
        mail: String,
        /// Id of an existing cell.
        example: String,
    },
    /// The runs do not report the metric of the row.
    #[error("row {row} asks for metric {metric:?}, which {workload} does not report")]
    NoMetric {
        /// Id of the row.
        row: String,
        /// Name of the metric.
        metric: String,
        /// Name of the workload.
        workload: String,
    },
    /// A row about a domain names a machine or scheduler that does not exist.
    #[error("row {row}: {problem}")]
    Domain {
        /// Id of the row.
        row: String,
        /// Description of the error.
        problem: String,
    },
}

/// Rows with fewer pairs of runs than this are not scored.
pub const SCORED_PAIRS_MIN: usize = 8;

/// Name and version of the schema.
pub const SCHEMA: &str = "fairground-reproduce-2";

/// The distinct runs that the rows of a mail need.
pub fn runs_of(mail: &Mail) -> Vec<PublishedRun> {
    let mut runs: Vec<PublishedRun> = Vec::new();
    for run in mail.rows.iter().filter_map(|r| r.run.as_ref()) {
        for run in std::iter::once(run.clone()).chain(run.forms()) {
            if !runs.iter().any(|known| known.has_runs_of(&run)) {
                runs.push(run);
            }
        }
    }
    runs
}

/// Compares the published rows of `mails` with the results of their runs.
///
/// # Errors
/// If a machine file claims a fit to a cell that does not exist, a row asks for a metric that the workload does not
/// report, or a row about a domain names a machine or scheduler that does not exist.
pub fn reproduce(mails: &[Mail], executed: &[(PublishedRun, Executed)]) -> Result<Reproduction, ReproduceError> {
    let mut rows = Vec::new();
    let mut notes: Vec<String> = Vec::new();
    for mail in mails {
        notes.extend(mail.note.clone());
        for row in &mail.rows {
            let run = row.run.as_ref().and_then(|run| executed.iter().find(|(spec, _)| spec.has_runs_of(run)));
            if let Some((spec, executed)) = run {
                check_cells(mail, spec, executed)?;
            }
            let forms = row.run.as_ref().map(|run| form::variants_of_row(run, executed)).unwrap_or_default();
            rows.push(ReproducedRow { forms, ..reproduce_row(mail, row, run.map(|(_, executed)| executed))? });
        }
    }
    for note in executed.iter().flat_map(|(_, e)| &e.report.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    let requested = executed.iter().map(|(_, e)| e.drawn.len()).max().unwrap_or(0);
    notes.extend(rows.iter().filter_map(|row| note_on_draws(row, requested)));
    notes.extend(note_on_parts(executed));
    for f in executed.iter().flat_map(|(_, e)| &e.report.failures) {
        notes.push(format!("FAILED: {} seed {}: {}", f.side, f.seed, f.message));
    }
    let failed = executed.iter().any(|(_, e)| !e.report.failures.is_empty());
    // A user who selects rows does not get the tables of all rows.
    let given = mails.iter().filter(|mail| mail.aside.is_empty()).flat_map(|mail| mail.given.clone()).collect();
    let proper = score::score(&rows.iter().filter_map(scored_row).collect::<Vec<_>>());
    let score_mail = |mail: &Mail| {
        let own: Vec<&ReproducedRow> = rows.iter().filter(|row| row.mail == mail.mail).collect();
        let of_all = proper.iter().flat_map(|proper| &proper.by_mail);
        MailScore {
            mail: mail.mail.clone(),
            number: mail.number.clone(),
            subject: mail.subject.clone(),
            author: mail.author.clone(),
            date: mail.date.to_string(),
            rows: own.len(),
            score: Score::from_rows(&own),
            proper: of_all.clone().find(|(scored, _)| *scored == mail.mail).map(|(_, proper)| *proper),
        }
    };
    Ok(Reproduction {
        schema: SCHEMA,
        quick: None,
        provenance: None,
        score: Score::from_rows(&rows.iter().collect::<Vec<_>>()),
        mails: mails.iter().filter(|mail| !mail.rows.is_empty()).map(score_mail).collect(),
        proper,
        rows,
        given,
        sweeps: Vec::new(),
        sensitivity: None,
        notes,
        failed,
    })
}

impl Score {
    fn from_rows(rows: &[&ReproducedRow]) -> Score {
        let scored: Vec<(&&ReproducedRow, bool)> = rows.iter().filter_map(|row| Some((row, row.hit?))).collect();
        let changed: Vec<bool> =
            scored.iter().filter(|(row, _)| row.published.exceeds()).map(|(_, hit)| *hit).collect();
        let change = |row: &ReproducedRow| Some((row.published.improvement_pct?, row.ours.as_ref()?.improvement_pct?));
        let changes: Vec<(f64, f64)> = scored.iter().filter_map(|(row, _)| change(row)).collect();
        let others = score::without_largest(&changes, |(theirs, _)| *theirs);
        Score {
            hits: scored.iter().filter(|(_, hit)| *hit).count(),
            scored: scored.len(),
            hits_of_changes: changed.iter().filter(|hit| **hit).count(),
            changes: changed.len(),
            rms_ours: rms_ours(&changes),
            rms_zero: rms_zero(&changes),
            rms_without_largest: rms_ours(&others).zip(rms_zero(&others)).map(<[f64; 2]>::from),
            model: ModelHits::from_rows(rows),
        }
    }
}

impl ModelHits {
    fn from_rows(rows: &[&ReproducedRow]) -> Option<ModelHits> {
        let judged: Vec<(&ReproducedRow, bool)> = rows.iter().filter_map(|row| Some((*row, row.hit_model?))).collect();
        let changed = || judged.iter().filter(|(row, _)| row.published.exceeds());
        (!judged.is_empty()).then(|| ModelHits {
            hits_model: judged.iter().filter(|(_, hit)| *hit).count(),
            scored_model: judged.len(),
            hits_of_changes_model: changed().filter(|(_, hit)| *hit).count(),
            changes_model: changed().count(),
        })
    }
}

/// The row with its sample, for the proper score; `None` if it is not scored over draws or has no sample.
fn scored_row(row: &ReproducedRow) -> Option<ScoredRow> {
    Some(ScoredRow {
        mail: row.mail.clone(),
        machine: row.machine.clone(),
        published_pct: row.published.improvement_pct?,
        sigma_pct: row.published.sigma_pct,
        draws: row.model.as_ref().filter(|_| row.scored_over_draws)?.changes_pct.clone(),
    })
    .filter(|scored| !scored.draws.is_empty())
}

/// What the proper score leaves out of a scored row that was to run on `requested` draws.
fn note_on_draws(row: &ReproducedRow, requested: usize) -> Option<String> {
    if requested == 0 || !row.scored_over_draws {
        return None;
    }
    let draws = row.model.as_ref().map_or(0, |model| model.changes_pct.len());
    let why = format!("{}: {draws} of {requested} draws have a change in percent", row.id);
    match &row.model {
        _ if draws == 0 => Some(format!("{why}: the row is not in coverage and CRPS")),
        Some(model) if draws < requested && model.outside90.is_none() => Some(format!("{why}: no 90 % interval")),
        Some(_) if draws < requested => Some(format!("{why}: coverage and CRPS are of these")),
        _ => None,
    }
}

/// Of how many runs those on draws are shorter; `None` if of none.
fn note_on_parts(executed: &[(PublishedRun, Executed)]) -> Option<String> {
    let mut parts: BTreeMap<u32, usize> = BTreeMap::new();
    let drawn = executed.iter().filter(|(_, executed)| !executed.drawn.is_empty());
    drawn.clone().for_each(|(_, executed)| *parts.entry(executed.part_on_draws).or_default() += 1);
    let (drawn, short) = (drawn.count(), parts.iter().filter(|(part, _)| **part > 1));
    let short: Vec<String> = short.map(|(part, n)| format!("1/{part} in {n} of {drawn} runs")).collect();
    (!short.is_empty()).then(|| format!("runs on draws take a part of the length: {}", short.join(", ")))
}

impl PublishedFigures {
    /// Whether the published change exceeds 2 sigma.
    pub fn exceeds(&self) -> bool {
        self.improvement_pct.is_some_and(|pct| exceeds(pct, self.sigma_pct))
    }
}

/// Whether a published change exceeds 2 sigma, both in percent.
fn exceeds(published: f64, sigma: f64) -> bool {
    published.abs() > 2.0 * sigma
}

/// Of published changes and ours.
fn rms_ours(changes: &[(f64, f64)]) -> Option<f64> {
    rms(changes.iter().map(|(theirs, ours)| ours - theirs))
}

/// Of published changes and ours, as if ours were zero.
fn rms_zero(changes: &[(f64, f64)]) -> Option<f64> {
    rms(changes.iter().map(|(theirs, _)| *theirs))
}

fn rms(errors: impl ExactSizeIterator<Item = f64>) -> Option<f64> {
    let n = errors.len();
    (n > 0).then(|| (errors.map(|e| e * e).sum::<f64>() / n as f64).sqrt())
}

fn reproduce_row(
    mail: &Mail,
    row: &PublishedRow,
    executed: Option<&Executed>,
) -> Result<ReproducedRow, ReproduceError> {
    if let Some(domain) = &row.domain {
        return checked_row(mail, row, domain);
    }
    let (ours, spread) = match (&row.run, executed) {
        (Some(run), Some(executed)) => our_row(row, run, &executed.report)?,
        _ => (None, None),
    };
    let cells = cells(mail, row, executed);
    let Verdict { hit, why, scored_over_draws } = verdict(row, cells, ours);
    let (terms, features) = match (executed, ours) {
        (Some(executed), Some(ours)) => split(executed, ours),
        _ => Default::default(),
    };
    let drawn = executed.map_or(&[][..], |executed| &executed.drawn);
    let scored_over_draws = scored_over_draws && executed.is_some_and(|executed| executed.scores_draws);
    let compared = ours.filter(|_| row.test.is_some());
    let mut changes = compared.map_or(Vec::new(), |ours| changes_pct(drawn, 1, &ours.metric.name));
    let model = row_model(row, &changes, scored_over_draws);
    changes.sort_by(f64::total_cmp);
    let hit_model = if scored_over_draws { judge_model(row, &changes) } else { None };
    let ours = ours.map(|ours| our_figures(row, ours));
    let shown = ReproducedRow { kind: change_kind(row, cells), cells, hit, why, ..unjudged(mail, row) };
    Ok(ReproducedRow { ours, model, hit_model, scored_over_draws, terms, features, spread, ..shown })
}

/// The row over its draws; `None` if no draw has a change.
fn row_model(row: &PublishedRow, changes: &[f64], is_scored: bool) -> Option<RowModel> {
    let changes_pct: Vec<f64> = changes.iter().copied().filter(|pct| pct.is_finite()).collect();
    let published = row.improvement_pct().filter(|_| is_scored);
    let predictive = published.and_then(|_| Some(Predictive::new(&changes_pct, row.sigma_pct())?.summary()));
    let outside90 = predictive.zip(published).and_then(|(predictive, published)| predictive.is_outside90(published));
    Some(RowModel { interval: ModelInterval::from_changes(changes)?, changes_pct, predictive, outside90 })
}

/// The rule for hits by the median of sorted changes over draws and the interval of 90 %; `None` with too few draws for
/// that. A median that is a change from 0 misses, as by seeds.
fn judge_model(row: &PublishedRow, sorted: &[f64]) -> Option<bool> {
    let [median, lo, hi] = [0.5, 0.05, 0.95].map(|p| quantile(sorted, p));
    let (hit, _) = judge(row.improvement_pct()?, row.sigma_pct(), median?, [lo?, hi?]);
    Some(hit && median?.is_finite())
}

/// Our means over the seeds, for the columns that are published.
fn our_figures(row: &PublishedRow, ours: &Row) -> OurFigures {
    let one_column = row.test.is_none();
    OurFigures {
        base: Some(ours.base_summary().mean),
        test: (!one_column).then(|| ours.test_summary().mean),
        improvement_pct: ours.change.improvement_pct.filter(|_| !one_column),
        ci95: ours.change.ci95.filter(|_| !one_column),
        n: ours.base.len(),
    }
}

/// A row with the published values only.
fn unjudged(mail: &Mail, row: &PublishedRow) -> ReproducedRow {
    let value = |cell: &Option<Cell>| cell.as_ref().map(|cell| cell.value);
    ReproducedRow {
        mail: mail.mail.clone(),
        id: row.id.clone(),
        machine: row.machine.clone(),
        benchmark: row.benchmark.clone(),
        params: row.params.clone(),
        metric: row.metric.clone(),
        unit: row.unit.clone(),
        published: PublishedFigures {
            base: value(&row.base),
            test: value(&row.test),
            improvement_pct: row.improvement_pct(),
            sigma_pct: row.sigma_pct(),
            other_base: value(&row.other_base),
            other_improvement_pct: row.other_improvement_pct(),
        },
        ours: None,
        kind: Kind::Given,
        cells: Cells { base: Kind::Given, test: Kind::Given },
        hit: None,
        why: String::new(),
        model: None,
        hit_model: None,
        scored_over_draws: false,
        terms: Vec::new(),
        features: Vec::new(),
        forms: Vec::new(),
        spread: None,
        note: row.note.clone(),
    }
}

/// A row about scheduling domains. It is read from the topology: nothing is run, and it is not scored.
fn checked_row(mail: &Mail, row: &PublishedRow, domain: &DomainCheck) -> Result<ReproducedRow, ReproduceError> {
    let ours = domain.ours().map_err(|problem| ReproduceError::Domain { row: row.id.clone(), problem })?;
    let shown = unjudged(mail, row);
    let agrees = ours == [shown.published.base, shown.published.test];
    let why = if agrees { "check: our domains have the same" } else { "check: our domains DIFFER" };
    let [base, test] = ours;
    let ours = OurFigures { base, test, improvement_pct: None, ci95: None, n: 0 };
    let cells = Cells { base: Kind::Predicted, test: Kind::Predicted };
    Ok(ReproducedRow { ours: Some(ours), kind: Kind::Predicted, cells, why: why.into(), ..shown })
}

/// Attribution of our change to cost terms and features, as far as requested.
fn split(executed: &Executed, ours: &Row) -> (Vec<CostTermShare>, Vec<Piece>) {
    let metric = &ours.metric.name;
    let terms = cost_attribution::shares(&executed.without, metric, ours.change.improvement_pct);
    let pieces = executed.ablation.as_ref().map(|(ablation, results)| ablation.pieces(results, metric));
    (terms, pieces.unwrap_or_default())
}

/// Our row, and its modes if it has a grouping metric; `None` if no pair of runs completed.
fn our_row<'a>(
    row: &PublishedRow,
    run: &PublishedRun,
    report: &'a Report,
) -> Result<(Option<&'a Row>, Option<RunModes>), ReproduceError> {
    let Some(Comparison { rows, .. }) = report.comparisons.first().filter(|c| !c.rows.is_empty()) else {
        return Ok((None, None));
    };
    let find = |metric: &str| {
        rows.iter().find(|r| r.metric.name == metric).ok_or_else(|| ReproduceError::NoMetric {
            row: row.id.clone(),
            metric: metric.into(),
            workload: report.common.get("workload").unwrap_or_default().to_owned(),
        })
    };
    let ours = find(&run.metric)?;
    let by = run.by.as_deref().map(find).transpose()?;
    Ok((Some(ours), by.and_then(|by| RunModes::from_rows(ours, by))))
}

/// Cells to which figures of the machine were fitted, according to its file.
fn fitted_cells(executed: &Executed) -> impl Iterator<Item = Cow<'_, str>> {
    executed.sources.iter().filter_map(|source| match source {
        Source::Fitted(cell) => Some(current_id(cell.split_whitespace().next().unwrap_or_default())),
        _ => None,
    })
}

/// Kinds of our two cells. A cell is fitted if a figure of the machine was fitted to it, or an option of the workload
/// to the value that it prints.
fn cells(mail: &Mail, row: &PublishedRow, executed: Option<&Executed>) -> Cells {
    let kind = |column: &str, by_option: bool| {
        let id = format!("{}/{column}", row.id);
        match executed {
            None => Kind::Given,
            Some(executed) if by_option || fitted_cells(executed).any(|cell| cell == id) => Kind::Fitted,
            Some(_) => Kind::Predicted,
        }
    };
    Cells { base: kind("base", mail.fitted_base(row)), test: kind("test", false) }
}

/// A fit to the base cell alone does not determine the change. Where there is no change, the kind is that of the base.
fn change_kind(row: &PublishedRow, cells: Cells) -> Kind {
    match (&row.run, &row.test) {
        (None, _) => Kind::Given,
        (Some(_), None) => cells.base,
        (Some(_), Some(_)) => cells.test,
    }
}

fn check_cells(mail: &Mail, spec: &PublishedRun, executed: &Executed) -> Result<(), ReproduceError> {
    let of_this_mail = |cell: &Cow<str>| cell.starts_with(&format!("{}/", mail.mail));
    let ids = || mail.rows.iter().chain(&mail.aside).map(|r| &r.id);
    let known = |cell: &str| ids().any(|id| [format!("{id}/base"), format!("{id}/test")].iter().any(|c| c == cell));
    match fitted_cells(executed).filter(of_this_mail).find(|cell| !known(cell)) {
        None => Ok(()),
        Some(cell) => Err(ReproduceError::UnknownCell {
            machine: spec.machine.clone(),
            cell: cell.into(),
            mail: mail.mail.clone(),
            example: ids().next().map(|id| format!("{id}/base")).unwrap_or_default(),
        }),
    }
}

/// Hit or miss of a row, and the reason.
struct Verdict {
    hit: Option<bool>,
    why: String,
    /// Whether more pairs of runs are all that may be missing: the row is scored over its draws.
    scored_over_draws: bool,
}

/// Whether the row is a hit, or why it is not scored.
fn verdict(row: &PublishedRow, cells: Cells, ours: Option<&Row>) -> Verdict {
    let not_scored = |why: String| Verdict { hit: None, why, scored_over_draws: false };
    if let Some(reason) = &row.not_run {
        return not_scored(format!("not run: {reason}"));
    }
    let Some(ours) = ours else {
        return not_scored("no pair of our runs completed".into());
    };
    if let Some(reason) = &row.not_scored {
        return not_scored(format!("not scored: {reason}"));
    }
    if row.base.is_none() || row.test.is_none() {
        return not_scored("not scored: one column alone is published, ours stands beside it".into());
    }
    if cells.test == Kind::Fitted {
        return not_scored("not scored: its patched cell fitted a figure of the machine".into());
    }
    if row.improvement_pct().is_none() {
        return not_scored("not scored: the published base is 0, a change from it has no percentage".into());
    }
    let pairs = ours.base.len();
    if pairs < SCORED_PAIRS_MIN {
        let why = format!("not scored: {pairs} pairs of runs, at least {SCORED_PAIRS_MIN} are needed");
        return Verdict { scored_over_draws: true, ..not_scored(why) };
    }
    let (hit, why) = judge_row(row, ours).unwrap_or((false, "miss: our base is 0, theirs is not".into()));
    Verdict { hit: Some(hit), why, scored_over_draws: true }
}

/// Applies the rule for hits, whatever the number of pairs. `None` if a change has no percentage or ours no interval.
pub(crate) fn judge_row(row: &PublishedRow, ours: &Row) -> Option<(bool, String)> {
    let (published, change, ci) = (row.improvement_pct()?, ours.change.improvement_pct?, ours.change.ci95?);
    Some(judge(published, row.sigma_pct(), change, ci))
}

/// The rule for hits. All in percent of base, positive = better.
fn judge(published: f64, sigma: f64, ours: f64, [lo, hi]: [f64; 2]) -> (bool, String) {
    if exceeds(published, sigma) {
        let margin = (2.0 * sigma).max(3.0);
        let sign = published * ours > 0.0;
        let overlap = lo <= published + margin && hi >= published - margin;
        let why = match (sign, overlap) {
            (true, true) => format!("hit: our interval overlaps theirs ± {margin:.1}"),
            (true, false) => format!("miss: right sign, our interval does not overlap theirs ± {margin:.1}"),
            (false, _) => "miss: wrong sign".into(),
        };
        (sign && overlap, why)
    } else {
        let margin = (2.0 * sigma).max(1.0);
        let hit = ours.abs() <= margin;
        let (word, is) = if hit { ("hit", "within") } else { ("miss", "not within") };
        (hit, format!("{word}: theirs is no change (within 2 sigma), ours is {is} {margin:.1} of zero"))
    }
}

#[cfg(test)]
mod tests;
