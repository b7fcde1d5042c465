//! The runs of a review: base and series in every cell, then what lies between them where they differ.
//!
//! 1. Base and whole series run in each cell with the same seeds. All rows of all cells are one family for Holm's rule
//!    ([`judge`]): of 100 series that change nothing, 5 at most have a row that is called better or worse.
//! 2. Where a pair of runs differs, the stages between run too. The changes from stage to stage sum up to that of the series; they are
//!    judged together, by Holm's rule again, for the rows that are better or worse. So a patch is named only for a
//!    change that is there. Those of the other rows are judged apart: patches that undo each other's change. Where no pair differs, the
//!    stages run with the first seed alone, which shows whether they do.
//! 3. Cells with such rows run on draws of the figures in doubt, for the model interval. Draws decide no verdict.

use std::sync::Arc;

use fairground_lab::comparison::{Failure, Report, Row, Until};
use fairground_lab::doubt::{draws_and_seeds, AskedDraws};
use fairground_lab::sides::{Common, SideError, SideSpec, Sides, SidesError};
use fairground_lab::stats::{judge, Change, Sampling, Terms, Verdict};
use fairground_run::batch::{BatchError, RunReport};
use fairground_run::executor::{Asked, Executor, Outcomes, ProgressListener};
use fairground_run::experiment::{Experiment, Stop};
use fairground_run::farm::{Farm, FarmError};
use fairground_run::metrics::{main_metric, usual, Metric};
use fairground_run::run_config::RunConfig;
use fairground_run::store::Store;
use fairground_run::worker::Workers;
use miette::Diagnostic;
use thiserror::Error;

use crate::matrix::{Cell, Matrix};
use crate::stages::Stages;

/// How runs are made.
pub struct Means<'a> {
    /// Threads.
    pub jobs: usize,
    /// Where results are kept; `None`: nowhere.
    pub store: Option<&'a Store>,
    /// Ends the work when it becomes true.
    pub stop: &'a Stop,
    /// Hears of progress.
    pub progress: ProgressListener<'a>,
    /// Workers for runs of kernels.
    pub workers: Workers,
    /// Makes runs elsewhere, and puts them into `store`, without which there is no farm; `None`: all are made here.
    pub farm: Option<&'a Farm>,
}

/// Why there is no review.
#[derive(Debug, Error, Diagnostic)]
pub enum ReviewError {
    /// A cell cannot be run.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Sides(#[from] SidesError),
    /// A scheduler's name cannot be a side.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Side(#[from] SideError),
    /// A metric is named that a cell does not report.
    #[error("{cell} reports no metric {name:?}")]
    #[diagnostic(help("{help}"))]
    Metric {
        /// The cell.
        cell: String,
        /// The metric.
        name: String,
        /// The nearest name.
        help: String,
    },
    /// A file that a cell needs cannot be written; the message names it.
    #[error("{0}")]
    File(String),
    /// The runs could not be made.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Batch(#[from] BatchError),
    /// The runs could not be made elsewhere.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Farm(#[from] FarmError),
}

/// A cell of the matrix with its schedulers.
pub(crate) struct Ready {
    pub cell: Cell,
    /// Base and series.
    pair: Sides,
    /// One experiment for each stage.
    pub stages: Vec<Arc<Experiment>>,
    /// The stage that is compared with the base: the last that runs here.
    last: usize,
    /// Metrics that are judged.
    metrics: Vec<String>,
    /// The metric whose interval `--until` narrows; `None`: the first of `metrics`.
    main: Option<String>,
}

/// What one cell shows.
pub struct Measured {
    /// Machine, workload and settings.
    pub cell: Cell,
    /// The stage that is compared with the base: the last of all, or the last that runs here.
    pub last: usize,
    /// Rows of the metrics that are judged, base against that stage.
    pub rows: Vec<Judged>,
    /// Pairs of runs.
    pub pairs: usize,
    /// Seeds of the runs.
    pub seeds: Vec<u64>,
    /// Whether all pairs made the same run.
    pub identical: bool,
    /// Event hashes of stages, by seed; `None` where a run failed. Stages between base and series are empty where they did not run.
    pub hashes: Vec<Vec<Option<u128>>>,
    /// Runs that failed; the side is `base` or the stage.
    pub failures: Vec<Failure>,
    /// What limits the rows.
    pub notes: Vec<String>,
}

/// A row, and what each stage has of its change.
pub struct Judged {
    /// Base and series.
    pub row: Row,
    /// The change of each stage from the one before; empty unless runs differ and there are several stages.
    pub shares: Vec<Share>,
}

/// The part of a stage in the change of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Number of the stage, from 1.
    pub stage: usize,
    /// From the stage before it to this one.
    pub change: Change,
    /// `change` in percent of the base's mean, positive = better; `None` if that is 0.
    pub pct: Option<f64>,
    /// 95 % interval of `pct`.
    pub ci95: Option<[f64; 2]>,
}

impl Measured {
    /// Whether a stage, from 1, makes another run than the one before with some seed; `None` where that is not known: it did not run, as
    /// the whole series changes nothing here, or it failed.
    pub fn reaches(&self, stage: usize) -> Option<bool> {
        let (before, after) = (self.hashes.get(stage - 1)?, self.hashes.get(stage)?);
        let pairs = || before.iter().zip(after).filter_map(|(before, after)| Some((before.as_ref()?, after.as_ref()?)));
        pairs().next()?;
        Some(pairs().any(|(before, after)| before != after))
    }
}

impl Judged {
    /// The stages that the change is attributed to, the largest first.
    pub fn attributed(&self) -> Vec<&Share> {
        let mut shares: Vec<&Share> = self.shares.iter().filter(|share| share.change.starred()).collect();
        shares.sort_by(|a, b| b.change.diff.abs().total_cmp(&a.change.diff.abs()));
        shares
    }

    /// The stages of a row that is neither better nor worse whose certain changes undo each other.
    pub fn taken_back(&self) -> Vec<&Share> {
        let shares = if self.row.change.starred() { Vec::new() } else { self.attributed() };
        let is_undone = |share: &&Share| shares.iter().any(|other| other.change.diff * share.change.diff < 0.0);
        shares.iter().copied().filter(is_undone).collect()
    }

    /// What of the change no stage is named for, percent of the base, positive = better.
    pub fn not_attributed_pct(&self) -> Option<f64> {
        let rest = self.shares.iter().filter(|share| !share.change.starred());
        rest.map(|share| share.pct).sum()
    }
}

/// All cells of a review.
pub struct Measurements {
    /// The cells in the order of the matrix.
    pub cells: Vec<Measured>,
    pub(crate) ready: Vec<Ready>,
}

impl Measurements {
    /// Number of rows that are judged together.
    pub fn rows(&self) -> usize {
        self.cells.iter().map(|cell| cell.rows.len()).sum()
    }

    /// Cells and rows of a verdict, the largest change first.
    pub fn of_verdict(&self, verdict: Verdict) -> Vec<(&Measured, &Judged)> {
        let rows = self.cells.iter().flat_map(|cell| cell.rows.iter().map(move |row| (cell, row)));
        let mut rows: Vec<_> = rows.filter(|(_, judged)| judged.row.change.verdict == verdict).collect();
        let size = |judged: &Judged| judged.row.change.improvement_pct.map_or(f64::INFINITY, f64::abs);
        rows.sort_by(|a, b| size(b.1).total_cmp(&size(a.1)));
        rows
    }

    /// All runs that failed, with their cells.
    pub fn failures(&self) -> impl Iterator<Item = (&Measured, &Failure)> {
        self.cells.iter().flat_map(|cell| cell.failures.iter().map(move |failure| (cell, failure)))
    }
}

/// Runs a matrix. `until`: seeds are added to each cell until half of the interval of its first metric is so narrow.
///
/// # Errors
/// If a cell cannot be run at all, or the work was stopped. Runs that were done by then are in the store.
pub fn measure(
    stages: &Stages,
    matrix: &Matrix,
    until: Option<&Until>,
    means: &Means,
) -> Result<Measurements, ReviewError> {
    let mut ready = ready(stages, matrix, &means.workers)?;
    let mut cells = Vec::new();
    if stages.stages.len() > 1 {
        let pairs = run_pairs(stages, &mut ready, matrix, until, means)?;
        let sampling = if until.is_some() { Sampling::UntilNarrow } else { Sampling::Fixed };
        cells = ready.iter().zip(&pairs).map(|(ready, runs)| measured(stages, ready, runs, sampling)).collect();
        judge(cells.iter_mut().flat_map(|cell| &mut cell.rows).map(|judged| &mut judged.row.change));
        attribute(stages, &ready, &pairs, &mut cells, sampling, means)?;
        add_models(&ready, &mut cells, stages, matrix.draws, means)?;
    }
    Ok(Measurements { cells, ready })
}

/// Looks all cells up before anything runs.
fn ready(stages: &Stages, matrix: &Matrix, workers: &Workers) -> Result<Vec<Ready>, ReviewError> {
    let scheds: Vec<&str> = stages.stages.iter().map(|stage| stage.sched.as_str()).collect();
    let ready = |cell: &Cell| {
        let pair = sides(cell, &[scheds[0], scheds[scheds.len() - 1]], cell.config, workers)?;
        let stages = sides(cell, &scheds, cell.config, workers)?.experiments;
        let (metrics, main) = metrics_of(cell, &pair.experiments[0])?;
        Ok(Ready { cell: cell.clone(), pair, last: stages.len() - 1, stages, metrics, main })
    };
    matrix.cells.iter().map(ready).collect()
}

/// The schedulers in a cell, with this configuration.
pub(crate) fn sides(cell: &Cell, scheds: &[&str], config: RunConfig, workers: &Workers) -> Result<Sides, ReviewError> {
    let specs = scheds.iter().map(|sched| SideSpec::parse("series", sched)).collect::<Result<Vec<_>, _>>()?;
    let common = Common { machine: &cell.machine, workload: &cell.workload, sched: None, config };
    Ok(Sides::find(&specs, &common, workers)?)
}

/// The metrics of a cell, and the main one. Without a choice: the main metric of the workload, the 99th percentiles that it
/// measures itself, or the mean latency of wakeups, and energy where the clock follows the scheduler.
fn metrics_of(cell: &Cell, experiment: &Experiment) -> Result<(Vec<String>, Option<String>), ReviewError> {
    let all: Vec<Metric> = experiment.metrics();
    let has = |name: &str| all.iter().any(|metric| metric.name == name);
    if let Some(names) = &cell.metrics {
        return match names.iter().find(|name| !has(name)) {
            None => Ok((names.clone(), names.first().cloned())),
            Some(name) => Err(ReviewError::Metric {
                cell: cell.name(),
                name: name.clone(),
                help: fairground_machine::suggest(name, all.iter().map(|metric| metric.name.as_str())),
            }),
        };
    }
    let main = main_metric(&experiment.workload);
    let mut names: Vec<String> = main.iter().cloned().collect();
    let own = usual(&experiment.workload, &experiment.machine);
    let is_tail = |name: &str| name.ends_with("_p99_us") || name.ends_with("_p99_ms");
    let is_general = |name: &str| name.starts_with("wakeup_latency") || name.starts_with("run_delay");
    names.extend(own.iter().filter(|name| is_tail(name) && !is_general(name)).cloned());
    if names.len() < 2 {
        names.push("wakeup_latency_mean_us".into());
    }
    let follows = matches!(experiment.config.governor, fairground_sim::Governor::Schedutil);
    names.extend(["energy_j".to_owned()].into_iter().filter(|name| follows && has(name)));
    names.dedup();
    Ok((names, main))
}

/// Runs of base and series as `[side][seed]`, and their seeds.
struct Runs {
    seeds: Vec<u64>,
    sides: Vec<Vec<Result<RunReport, String>>>,
    /// Runs of later stages that failed.
    failed: Vec<Failure>,
}

impl Runs {
    fn new() -> Runs {
        Runs { seeds: Vec::new(), sides: vec![Vec::new(); 2], failed: Vec::new() }
    }
}

/// Takes the last stage that runs with the first seed in the place of a series that does not.
fn fall_back(stages: &Stages, ready: &mut Ready, runs: &mut Runs, means: &Means) -> Result<(), ReviewError> {
    while ready.last > 1 && runs.sides[0][0].is_ok() && runs.sides[1][0].is_err() {
        runs.failed.extend(failures(&side_name(stages, ready.last), &runs.seeds, &runs.sides[1]));
        ready.last -= 1;
        let scheds = [0, ready.last].map(|stage| stages.stages[stage].sched.as_str());
        ready.pair = sides(&ready.cell, &scheds, ready.cell.config, &means.workers)?;
        let mut executor = Executor::default();
        let asked = executor.ask(&ready.pair.experiments[1], 0, &runs.seeds);
        runs.sides[1] = carry_out(executor, means)?.of(asked);
    }
    Ok(())
}

/// The side of a stage in messages.
fn side_name(stages: &Stages, stage: usize) -> String {
    match stage {
        0 => "base".into(),
        stage => format!("patch {}", stages.stages[stage].label(stages.count())),
    }
}

/// Runs of base and series in all cells. A cell in which the base fails with the first seed gets no more: the others would fail too,
/// after a time limit each. Where the series fails, the last stage that does not takes its place.
fn run_pairs(
    stages: &Stages,
    ready: &mut [Ready],
    matrix: &Matrix,
    until: Option<&Until>,
    means: &Means,
) -> Result<Vec<Runs>, ReviewError> {
    let mut runs: Vec<Runs> = ready.iter().map(|_| Runs::new()).collect();
    add_runs(ready, &mut runs, matrix.first_seed, &vec![1; ready.len()], means)?;
    for (ready, runs) in ready.iter_mut().zip(&mut runs) {
        fall_back(stages, ready, runs, means)?;
    }
    let wanted = if until.is_some() { Until::FIRST } else { matrix.seeds };
    let has_failed = |runs: &Runs| runs.sides.iter().flatten().any(Result::is_err);
    let mut wanted: Vec<u64> = runs.iter().map(|runs| if has_failed(runs) { 1 } else { wanted }).collect();
    while add_runs(ready, &mut runs, matrix.first_seed, &wanted, means)? {
        let Some(until) = until else { break };
        for ((ready, runs), wanted) in ready.iter().zip(&runs).zip(&mut wanted) {
            *wanted = more(ready, runs, until).unwrap_or(runs.seeds.len() as u64);
        }
    }
    Ok(runs)
}

/// Makes the runs that each cell lacks of so many, from the seed `first` on. Returns whether there were any.
fn add_runs(
    ready: &[Ready],
    runs: &mut [Runs],
    first: u64,
    wanted: &[u64],
    means: &Means,
) -> Result<bool, ReviewError> {
    let mut executor = Executor::default();
    let mut asked: Vec<(usize, Vec<u64>, Vec<Asked>)> = Vec::new();
    for (at, (ready, runs)) in ready.iter().zip(&*runs).enumerate() {
        let new: Vec<u64> = (runs.seeds.len() as u64..wanted[at]).map(|n| first + n).collect();
        if !new.is_empty() {
            let sides = ready.pair.experiments.iter().map(|e| executor.ask(e, 0, &new)).collect();
            asked.push((at, new, sides));
        }
    }
    if asked.is_empty() {
        return Ok(false);
    }
    let outcomes = carry_out(executor, means)?;
    for (at, new, sides) in asked {
        runs[at].seeds.extend(new);
        for (column, side) in runs[at].sides.iter_mut().zip(sides) {
            column.extend(outcomes.of(side));
        }
    }
    Ok(true)
}

fn carry_out(executor: Executor, means: &Means) -> Result<Outcomes, ReviewError> {
    if let Some((farm, store)) = means.farm.zip(means.store) {
        match farm.make(&executor, store, means.stop, means.progress) {
            Err(FarmError::Stopped) => return Err(BatchError::Stopped.into()),
            made => made?,
        }
    }
    Ok(executor.carry_out(means.store, means.jobs, means.stop, means.progress)?)
}

/// The number of pairs that a cell needs next; `None` if it is narrow, identical so far, or has failed.
fn more(ready: &Ready, runs: &Runs, until: &Until) -> Option<u64> {
    let mut report = ready.pair.report(&runs.seeds, &runs.sides);
    report.sample_by(Sampling::UntilNarrow);
    let comparison = report.comparisons.first().filter(|c| report.failures.is_empty() && !c.identical())?;
    let main = ready.main.as_ref().or(ready.metrics.first())?;
    let rows = comparison.rows.iter().filter(|row| row.metric.name == *main);
    until.next(runs.seeds.len() as u64, rows.map(|row| &row.change))
}

/// The rows of a cell, each judged alone yet.
fn measured(stages: &Stages, ready: &Ready, runs: &Runs, sampling: Sampling) -> Measured {
    let mut report: Report = ready.pair.report(&runs.seeds, &runs.sides);
    report.sample_by(sampling);
    let names = [0, ready.last].map(|stage| side_name(stages, stage));
    let of_pair = names.iter().zip(&runs.sides).flat_map(|(side, column)| failures(side, &runs.seeds, column));
    let failures: Vec<Failure> = runs.failed.iter().cloned().chain(of_pair).collect();
    let hashes = runs.sides.iter().map(|column| hashes(column)).collect::<Vec<_>>();
    let (mut rows, mut identical, mut pairs) = (Vec::new(), false, 0);
    for comparison in report.comparisons {
        (identical, pairs) = (comparison.identical(), comparison.pairs.len());
        rows.extend(comparison.rows.into_iter().filter(|row| ready.metrics.contains(&row.metric.name)));
    }
    let few: Vec<&str> = rows.iter().filter(|row| row.change.few_samples).map(|row| row.metric.name.as_str()).collect();
    let notes = (!few.is_empty()).then(|| format!("too few samples for {}", few.join(", ")));
    Measured {
        cell: ready.cell.clone(),
        last: ready.last,
        rows: rows.into_iter().map(|row| Judged { row, shares: Vec::new() }).collect(),
        pairs,
        seeds: runs.seeds.clone(),
        identical,
        hashes,
        failures,
        notes: notes.into_iter().collect(),
    }
}

fn failures(side: &str, seeds: &[u64], column: &[Result<RunReport, String>]) -> Vec<Failure> {
    let failed = seeds.iter().zip(column).filter_map(|(seed, run)| Some((seed, run.as_ref().err()?)));
    failed.map(|(seed, message)| Failure { side: side.into(), seed: *seed, message: message.clone() }).collect()
}

fn hashes(column: &[Result<RunReport, String>]) -> Vec<Option<u128>> {
    column.iter().map(|run| run.as_ref().ok().map(|run| run.hash)).collect()
}

/// Runs the stages between, and divides the changes of rows in cells that differ.
fn attribute(
    stages: &Stages,
    ready: &[Ready],
    pairs: &[Runs],
    cells: &mut [Measured],
    sampling: Sampling,
    means: &Means,
) -> Result<(), ReviewError> {
    let mut columns: Vec<Vec<Vec<Result<RunReport, String>>>> = Vec::new();
    for cell in &*cells {
        columns.push(vec![Vec::new(); if cell.pairs > 0 { cell.last - 1 } else { 0 }]);
    }
    // The first seed alone: a stage that fails with it gets no other.
    for is_first in [true, false] {
        let mut executor = Executor::default();
        let mut asked: Vec<(usize, usize, Asked)> = Vec::new();
        for (at, (ready, runs)) in ready.iter().zip(pairs).enumerate() {
            let seeds = if is_first { &runs.seeds[..1] } else { &runs.seeds[1..] };
            let goes_on =
                |column: &Vec<Result<RunReport, String>>| column.iter().all(Result::is_ok) && !seeds.is_empty();
            let is_asked = is_first || !cells[at].identical;
            for (between, _) in columns[at].iter().enumerate().filter(|(_, column)| is_asked && goes_on(column)) {
                asked.push((at, between, executor.ask(&ready.stages[between + 1], 0, seeds)));
            }
        }
        let outcomes = carry_out(executor, means)?;
        asked.into_iter().for_each(|(at, between, asked)| columns[at][between].extend(outcomes.of(asked)));
    }
    for ((cell, runs), between) in cells.iter_mut().zip(pairs).zip(columns) {
        for (stage, column) in (1..).zip(&between) {
            cell.failures.extend(failures(&side_name(stages, stage), &runs.seeds, column));
        }
        let mut all = vec![&runs.sides[0]];
        all.extend(&between);
        all.push(&runs.sides[1]);
        cell.hashes = vec![Vec::new(); stages.stages.len()];
        cell.hashes[0] = hashes(&runs.sides[0]);
        cell.hashes[cell.last] = hashes(&runs.sides[1]);
        if all.len() == cell.last + 1 {
            cell.hashes.iter_mut().zip(&all).for_each(|(of_stage, column)| *of_stage = hashes(column));
            for judged in cell.rows.iter_mut().filter(|_| !cell.identical) {
                judged.shares = shares(&judged.row, &all, sampling);
            }
        }
    }
    for starred in [true, false] {
        let rows = cells.iter_mut().flat_map(|cell| &mut cell.rows);
        let rows = rows.filter(|judged| judged.row.change.starred() == starred);
        judge(rows.flat_map(|judged| &mut judged.shares).map(|share| &mut share.change));
    }
    Ok(())
}

/// The change of a row from stage to stage, over the seeds that all stages completed.
fn shares(row: &Row, columns: &[&Vec<Result<RunReport, String>>], sampling: Sampling) -> Vec<Share> {
    let value = |run: &Result<RunReport, String>| {
        let run = run.as_ref().ok()?;
        run.metrics.iter().find(|value| value.metric.name == row.metric.name).map(|value| value.value)
    };
    let seeds = columns.first().map_or(0, |column| column.len());
    let of_seed = |seed: usize| columns.iter().map(|column| value(column.get(seed)?)).collect::<Option<Vec<f64>>>();
    let values: Vec<Vec<f64>> = (0..seeds).filter_map(of_seed).collect();
    let column = |stage: usize| values.iter().map(|of_seed| of_seed[stage]).collect::<Vec<f64>>();
    let base = column(0);
    let mean = base.iter().sum::<f64>() / base.len().max(1) as f64;
    let sign = row.metric.better.sign();
    let terms = Terms { sampling, ..Terms::of_metric(&row.metric) };
    let share = |stage: usize| {
        let change = Change::new(&column(stage - 1), &column(stage), &terms);
        let pct = |diff: f64| (mean != 0.0).then(|| sign * diff / mean.abs() * 100.0);
        let ci95 = change.diff_ci95.and_then(|[lo, hi]| {
            let (a, b) = (pct(lo)?, pct(hi)?);
            Some(if a <= b { [a, b] } else { [b, a] })
        });
        Share { stage, change, pct: pct(change.diff), ci95 }
    };
    if values.is_empty() {
        return Vec::new();
    }
    (1..columns.len()).map(share).collect()
}

/// Adds model intervals to the rows of cells with a better or worse one.
fn add_models(
    ready: &[Ready],
    cells: &mut [Measured],
    stages: &Stages,
    draws: u64,
    means: &Means,
) -> Result<(), ReviewError> {
    let mut executor = Executor::default();
    let mut asked: Vec<(usize, AskedDraws)> = Vec::new();
    for (at, cell) in cells.iter().enumerate() {
        let is_changed = cell.rows.iter().any(|judged| judged.row.change.starred());
        if !is_changed || cell.cell.config.draw != 0 {
            continue;
        }
        let scheds = [0, cell.last].map(|stage| stages.stages[stage].sched.as_str());
        let mut of_cell = AskedDraws::default();
        for (draw, seed) in draws_and_seeds(draws) {
            let config = RunConfig { draw, ..cell.cell.config };
            let sides = sides(&ready[at].cell, &scheds, config, &means.workers)?;
            of_cell.ask(&mut executor, (draw, seed), &sides.experiments);
        }
        asked.push((at, of_cell));
    }
    let outcomes = carry_out(executor, means)?;
    for (at, of_cell) in asked {
        let drawn = of_cell.runs(&outcomes);
        for judged in &mut cells[at].rows {
            judged.row.add_model(1, &drawn);
        }
        let names = [0, cells[at].last].map(|stage| side_name(stages, stage));
        for drawn in &drawn {
            for (side, run) in names.iter().zip(&drawn.runs) {
                let failed = run.as_ref().err().map(|message| Failure {
                    side: format!("{side} draw={}", drawn.draw),
                    seed: drawn.seed,
                    message: message.clone(),
                });
                cells[at].failures.extend(failed);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::sync::Mutex;

    use fairground_run::executor::Progress;

    use super::*;

    fn matrix(workload: &str) -> Matrix {
        let cell = |machine: &str| Cell {
            machine: machine.into(),
            workload: workload.into(),
            config: RunConfig::default(),
            options: Vec::new(),
            metrics: None,
        };
        Matrix { name: "test".into(), seeds: 8, first_seed: 1, draws: 0, cells: vec![cell("hikey960"), cell("rpi5")] }
    }

    fn of_features(
        features: &str,
        store: Option<&Store>,
        progress: ProgressListener,
        stop: &Stop,
    ) -> Result<Measurements, ReviewError> {
        let stages = Stages::of_features(features).unwrap();
        let means = Means { jobs: 2, store, stop, progress, workers: Workers::default(), farm: None };
        measure(&stages, &matrix("sched-pipe:loops=100"), None, &means)
    }

    #[test]
    fn the_parts_of_patches_sum_up_to_the_change() {
        let features = "fair:v5.9+wa-prev-idle+lb-p06+asym-prev-first";
        let found = of_features(features, None, &|_| (), &Stop::default()).unwrap();
        let cell = &found.cells[0];
        let judged = cell.rows.iter().find(|judged| judged.row.metric.name == "ops_per_sec").unwrap();
        assert_eq!(judged.shares.len(), 3);
        let sum: f64 = judged.shares.iter().map(|share| share.change.diff).sum();
        assert!((sum - judged.row.change.diff).abs() < 1e-6 * judged.row.change.diff.abs());
        let named: Vec<usize> = judged.attributed().iter().map(|share| share.stage).collect();
        assert_eq!(named, [3]);
        assert!(found.cells[1].rows.iter().all(|judged| judged.taken_back().is_empty()));
        assert_eq!(cell.hashes.iter().map(Vec::len).collect::<Vec<_>>(), [8; 4]);
        assert_eq!([1, 2, 3].map(|stage| cell.reaches(stage)), [Some(false), Some(false), Some(true)]);
    }

    /// Of one stage the share is the row: the same interval, under either kind of sampling.
    #[test]
    fn shares_are_judged_on_the_terms_of_their_row() {
        let stages = Stages::of_features("fair:v5.9+asym-prev-first").unwrap();
        let stop = Stop::default();
        let means =
            Means { jobs: 2, store: None, stop: &stop, progress: &|_| (), workers: Workers::default(), farm: None };
        for until in [None, Some(Until::new(5.0, 16).unwrap())] {
            let found = measure(&stages, &matrix("sched-pipe:loops=100"), until.as_ref(), &means).unwrap();
            let judged = found.cells[0].rows.iter().find(|judged| !judged.shares.is_empty()).unwrap();
            assert_eq!(judged.shares[0].change.diff_ci95, judged.row.change.diff_ci95);
        }
    }

    /// Patch 1 makes the wakeups of pairs cheaper and patch 2 takes it back: with the first seed alone both are seen.
    #[test]
    fn what_a_later_patch_takes_back_is_told_of_both() {
        let schedulers = ["fair:v5.9+wa-prev-idle", "fair:v5.9+wa-prev-idle+asym-prev-first", "fair:v5.9+wa-prev-idle"];
        let mut stages = Stages::of_features("fair:v5.9+asym-prev-first+lb-p06").unwrap();
        stages.stages.iter_mut().zip(schedulers).for_each(|(stage, sched)| stage.sched = sched.into());
        let stop = Stop::default();
        let means =
            Means { jobs: 2, store: None, stop: &stop, progress: &|_| (), workers: Workers::default(), farm: None };
        let found = measure(&stages, &matrix("sched-pipe:loops=100"), None, &means).unwrap();
        let cell = &found.cells[0];
        assert!(cell.identical && [1, 2].iter().all(|stage| cell.reaches(*stage) == Some(true)));
        assert_eq!(cell.hashes[1].len(), 1, "one seed is enough");
    }

    #[test]
    fn shares_that_undo_each_other_are_told_of_a_row_that_stays() {
        let metric = fairground_run::metrics::Metric::new("ops", "ops/s", fairground_run::metrics::Better::Higher, "");
        let column = |stage: u64, mean: f64| {
            let run = |seed| {
                let value = mean + noise([7, stage, seed, 1]);
                let metrics = vec![fairground_run::metrics::MetricValue { metric: metric.clone(), value }];
                Ok(RunReport { metrics, hash: 0, notes: vec![] })
            };
            (1..=8).map(run).collect::<Vec<Result<RunReport, String>>>()
        };
        let columns = [column(0, 100.0), column(1, 100.0), column(2, 80.0), column(3, 100.0)];
        let values =
            |column: &[Result<RunReport, String>]| column.iter().flatten().map(|run| run.metrics[0].value).collect();
        let mut row = Row::new(metric.clone(), values(&columns[0]), values(&columns[3]));
        judge(std::iter::once(&mut row.change));
        let shares = shares(&row, &columns.iter().collect::<Vec<_>>(), Sampling::Fixed);
        let mut judged = Judged { row, shares };
        judge(judged.shares.iter_mut().map(|share| &mut share.change));
        let told: Vec<usize> = judged.taken_back().iter().map(|share| share.stage).collect();
        assert!(!judged.row.change.starred() && (told == [2, 3] || told == [3, 2]), "{told:?}");
    }

    /// The last patch fails with the first seed: the cell is of the series up to the one before.
    #[test]
    fn where_the_series_fails_the_last_stage_that_runs_takes_its_place() {
        let stages = Stages::of_features("fair:v5.9+wa-prev-idle+lb-p06+asym-prev-first").unwrap();
        let stop = Stop::default();
        let means =
            Means { jobs: 1, store: None, stop: &stop, progress: &|_| (), workers: Workers::default(), farm: None };
        let matrix = matrix("sched-pipe:loops=100");
        let mut ready = ready(&stages, &matrix, &means.workers).unwrap().remove(0);
        let mut executor = Executor::default();
        let asked = executor.ask(&ready.pair.experiments[0], 0, &[1]);
        let base = carry_out(executor, &means).unwrap().of(asked);
        let sides = vec![base, vec![Err("it loops".into())]];
        let mut runs = Runs { seeds: vec![1], sides, failed: Vec::new() };
        fall_back(&stages, &mut ready, &mut runs, &means).unwrap();
        let cell = measured(&stages, &ready, &runs, Sampling::Fixed);
        assert_eq!((cell.last, cell.pairs), (2, 1));
        let failed: Vec<(&str, &str)> = cell.failures.iter().map(|f| (f.side.as_str(), f.message.as_str())).collect();
        assert_eq!(failed, [("patch 3/3", "it loops")]);
        let cells = Measurements { cells: vec![cell], ready: vec![ready] };
        let by = fairground_lab::provenance::MadeBy::new("0", "", None);
        let (explained, costs) = (Vec::new(), None);
        let review = crate::answer::Review { stages, matrix, measured: cells, explained, costs, by };
        assert_eq!(review.cell_name(&review.measured.cells[0]), "hikey960 sched-pipe:loops=100, up to 2/3");
        let text = crate::answer::text(&review);
        assert!(text.contains("patch 3/3: it loops (seed 1)"), "{text}");
    }

    #[test]
    fn a_review_that_was_stopped_goes_on_and_a_finished_one_runs_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let (done, stop) = (Mutex::new(0), Stop::default());
        let stop_soon = |progress| {
            let mut done = done.lock().unwrap();
            *done += u32::from(matches!(progress, Progress::Done { .. }));
            stop.store(*done >= 6, Ordering::Relaxed);
        };
        let features = "fair:v5.9+asym-prev-first";
        let stopped = of_features(features, Some(&store), &stop_soon, &stop);
        assert!(matches!(stopped, Err(ReviewError::Batch(BatchError::Stopped))));
        let counts = || {
            let begun = Mutex::new([0, 0]);
            let count = |progress| {
                if let Progress::Begun { runs, kept, .. } = progress {
                    let mut begun = begun.lock().unwrap();
                    *begun = [begun[0] + runs, begun[1] + kept];
                }
            };
            of_features(features, Some(&store), &count, &Stop::default()).unwrap();
            begun.into_inner().unwrap()
        };
        let [runs, kept] = counts();
        assert!(kept >= 4 && kept < runs, "{kept} of {runs}");
        assert_eq!(counts(), [runs, runs]);
    }

    #[test]
    fn a_cell_that_cannot_be_run_is_named() {
        let stages = Stages::of_features("fair:v5.9+asym-prev-first").unwrap();
        let stop = Stop::default();
        let means =
            Means { jobs: 1, store: None, stop: &stop, progress: &|_| (), workers: Workers::default(), farm: None };
        let mut matrix = matrix("sched-pipe:loops=100");
        matrix.cells[1].metrics = Some(vec!["op_per_sec".into()]);
        let error = measure(&stages, &matrix, None, &means).err().unwrap();
        assert_eq!(error.to_string(), "rpi5 sched-pipe:loops=100 reports no metric \"op_per_sec\"");
    }

    /// About normal, mean 0 and deviation 1; the same in each run of a script.
    fn noise(words: [u64; 4]) -> f64 {
        let mut x = words
            .iter()
            .fold(0x9e37_79b9_7f4a_7c15u64, |x, word| (x ^ word).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(29));
        let mut sum = 0.0;
        for _ in 0..12 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            sum += (x >> 11) as f64 / (1u64 << 53) as f64;
        }
        sum - 6.0
    }

    /// A matrix of 48 rows, four patches, eight seeds: the stars, and for each the patches that are named. Patch 2 takes `planted` percent
    /// from the first row.
    fn reviewed(series: u64, planted: f64) -> Vec<(usize, Vec<usize>)> {
        use fairground_run::metrics::{Better, MetricValue};

        let metric = Metric::new("ops_per_sec", "ops/s", Better::Higher, "");
        let column = |row: u64, stage: u64| {
            let value = |seed: u64| {
                let change = if row == 0 && stage >= 2 { planted } else { 0.0 };
                // Half of the spread is the seed's, and half the stage's own: decisions that differ lead elsewhere.
                100.0 - change + 3.0 * noise([series, row, seed, 9]) + 3.0 * noise([series, row, seed, stage])
            };
            let run = |seed| {
                let metrics = vec![MetricValue { metric: metric.clone(), value: value(seed) }];
                Ok(RunReport { metrics, hash: 0, notes: vec![] })
            };
            (1..=8).map(run).collect::<Vec<Result<RunReport, String>>>()
        };
        let values = |column: &[Result<RunReport, String>]| {
            column.iter().flatten().map(|run| run.metrics[0].value).collect::<Vec<f64>>()
        };
        let columns: Vec<Vec<_>> = (0..48).map(|row| (0..5).map(|stage| column(row, stage)).collect()).collect();
        let row = |columns: &Vec<Vec<_>>| Row::new(metric.clone(), values(&columns[0]), values(&columns[4]));
        let mut judged: Vec<Judged> = columns.iter().map(|c| Judged { row: row(c), shares: Vec::new() }).collect();
        judge(judged.iter_mut().map(|judged| &mut judged.row.change));
        for (judged, columns) in judged.iter_mut().zip(&columns).filter(|(judged, _)| judged.row.change.starred()) {
            judged.shares = shares(&judged.row, &columns.iter().collect::<Vec<_>>(), Sampling::Fixed);
        }
        judge(judged.iter_mut().flat_map(|judged| &mut judged.shares).map(|share| &mut share.change));
        let starred = judged.iter().enumerate().filter(|(_, judged)| judged.row.change.starred());
        starred.map(|(row, judged)| (row, judged.attributed().iter().map(|share| share.stage).collect())).collect()
    }

    /// Series of a test: 200 in the part `long`.
    fn series() -> std::ops::Range<u64> {
        0..if crate::is_long() { 200 } else { 40 }
    }

    /// Of series that change nothing 5 % at most have a star, and the patches named are fewer.
    #[test]
    fn a_series_that_changes_nothing_has_no_star_and_names_no_patch() {
        let all: Vec<_> = series().map(|series| reviewed(series, 0.0)).collect();
        let starred = all.iter().filter(|rows| !rows.is_empty()).count();
        let named = all.iter().filter(|rows| rows.iter().any(|(_, patches)| !patches.is_empty())).count();
        assert!(20 * starred <= all.len() && named <= starred, "{starred} with a star, {named} name a patch");
    }

    /// A regression of 20 % with noise of 4 %: it is found, and attributed to the patch that makes it.
    #[test]
    fn a_planted_regression_is_attributed_to_its_patch() {
        let all: Vec<_> = series().map(|series| reviewed(series, 20.0)).collect();
        let found = all.iter().filter(|rows| rows.iter().any(|(row, _)| *row == 0)).count();
        let right = all.iter().filter(|rows| rows.iter().any(|(row, patches)| *row == 0 && *patches == [2])).count();
        let wrong = all.iter().flatten().filter(|(_, patches)| patches.iter().any(|patch| *patch != 2)).count();
        let n = all.len();
        assert!(
            20 * found >= 19 * n && 40 * right >= 37 * n && 20 * wrong <= n,
            "{found} found, {right} attributed, {wrong} wrongly"
        );
    }
}
