//! Repeats the fits that a machine file records (design, decision 6): costs of the machine are varied until our
//! baseline gives the published one. Patched cells are refused, and so are rows that are not scored.
//!
//! Options of workloads that published rows record as fitted ([`option_jobs`]) are repeated too.
//!
//! **Fit parameters.** `costs.scale`, the costs of `[costs.soft]` that it multiplies, or those of `[costs.line]` and
//! `[costs.message]`, or `costs.message_lines`. Costs that record the same cell are one free figure: they keep their ratio, and the first is
//! varied. A machine may have one free figure for every three of its baseline cells, and one if it has fewer.
//!
//! **Search.** Every free cost makes a baseline worse, so a binary search finds the value, on a fixed grid: the scale
//! in steps of 0.0001, ns in four digits. For an option, the two ends of its range show the direction. The path does
//! not depend on what the file records, so a fit repeats to the digit.

pub mod evidence;
mod option;
mod population;

use std::sync::Arc;

use fairground_machine::{nearest, FitParam, Machine, MachineError, MachineSpec, Source};
use fairground_workload::WorkloadError;
use miette::Diagnostic;
use thiserror::Error;

use crate::published::{current_id, Mail, PublishedError, PublishedRow, PublishedRun};
use fairground_run::batch::{BatchError, Plan};
use fairground_run::executor::{Executor, ProgressListener};
use fairground_run::experiment::{Experiment, Stop};
use fairground_run::metrics::Better;
use fairground_run::run_config::{ExperimentError, InvalidSetting};
use fairground_run::store::Store;

pub use self::option::{fit_option, option_jobs, OptionFit, OptionJob};

/// A relative miss up to this one is accepted as a fit, whatever error the mail prints.
const CLOSE_ENOUGH: f64 = 2e-3;
/// Baseline cells of a machine for each free figure.
const CELLS_PER_FIGURE: usize = 3;

/// A published baseline cell, and the run that gives our value of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Names the cell, `ROW/base`.
    pub cell: String,
    /// Value that the mail prints.
    pub published: f64,
    /// Relative miss that is accepted as a fit: half of the error that the mail prints for the cell, but at least
    /// 0.002.
    pub close_enough: f64,
    /// Unit of the value.
    pub unit: String,
    /// Whether a higher or a lower value is better.
    pub better: Better,
    /// The run that gives our value.
    pub run: PublishedRun,
}

/// A fit: fit parameters, and the cell that they must reproduce.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The baseline cell that the fit must reproduce.
    pub target: Target,
    /// Costs that are fitted together; `costs.scale` must be alone.
    pub figures: Vec<FitParam>,
}

/// Outcome of a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The fitted costs, as they will be written to the file.
    pub figures: Vec<(FitParam, f64)>,
    /// Our baseline value with them: mean over the seeds.
    pub ours: f64,
}

/// Errors of a calibration.
#[derive(Debug, Error, Diagnostic)]
pub enum CalibrateError {
    /// The machine's file records no fit, and the user names no cell.
    #[error("{machine} records no fit")]
    #[diagnostic(help("name a cell with --cell; cells that this machine runs: {known}"))]
    NothingRecorded {
        /// Name of the machine.
        machine: String,
        /// The cells that may be fitted.
        known: String,
    },
    /// The cell does not exist or may not be fitted.
    #[error("{machine} cannot be fitted to {cell:?}")]
    #[diagnostic(help("{near}only baseline cells may be fitted, and none that is doubted: {known}"))]
    NoSuchCell {
        /// Name of the machine.
        machine: String,
        /// The cell that the user names.
        cell: String,
        /// The cells that may be fitted.
        known: String,
        /// Text `did you mean X? `; empty if no name is near.
        near: String,
    },
    /// The figure does not exist or may not be fitted.
    #[error("{figure:?} is not a valid figure that may be fitted")]
    #[diagnostic(help(
        "{near}there are costs.scale, what it multiplies, e.g. costs.soft.futex, costs.line and costs.message by distance, and costs.message_lines"
    ))]
    NoSuchFigure {
        /// The figure that the user names.
        figure: String,
        /// Text `did you mean X? `; empty if no name is near.
        near: String,
    },
    /// The scale multiplies the other costs, so it is fitted alone.
    #[error("costs.scale cannot be fitted together with other costs")]
    #[diagnostic(help("it multiplies the others: fit it first, to a cell of its own"))]
    ScaleWithOthers,
    /// More figures are fitted than the number of published cells allows.
    #[error("{machine} would have {figures} fitted figures and has {cells} baseline cells")]
    #[diagnostic(help(
        "one figure for every {CELLS_PER_FIGURE} cells, and at least one: state the others on other grounds"
    ))]
    TooManyFigures {
        /// Name of the machine.
        machine: String,
        /// Number of figures that are fitted.
        figures: usize,
        /// Number of baseline cells that the machine runs.
        cells: usize,
    },
    /// The machine does not have the CPUs to which the workload is bound.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Machine(#[from] MachineError),
    /// The workload is invalid with a tried value of its option.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Workload(#[from] WorkloadError),
    /// The published rows do not load.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Published(#[from] PublishedError),
    /// The machine has no base cell that could weigh its figures.
    #[error("no published base cell weighs the figures of {machine}")]
    #[diagnostic(help(
        "cells are of scored rows that run this machine, but for those that an option of a workload was fitted to"
    ))]
    NoCells {
        /// Name of the machine.
        machine: String,
    },
    /// A row's run cannot be made of the machine.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Setup(#[from] ExperimentError),
    /// A row has a setting that is none.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Setting(#[from] InvalidSetting),
    /// The thread pool could not be built.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Experiment(#[from] BatchError),
    /// A run of the fit failed.
    #[error("a run of the fit failed: {0}")]
    Run(String),
    /// No value of the parameter reproduces the published value.
    #[error("no value of {figure} gives {published}: at {value} ours is {ours}")]
    #[diagnostic(help(
        "the nearest is shown; costs that are not fitted leave no room, or a rhythm of the workload snaps there"
    ))]
    OutOfReach {
        /// Path of the figure that was varied.
        figure: String,
        /// The published value of the cell.
        published: f64,
        /// Value of the figure that comes nearest.
        value: f64,
        /// Our value of the cell at that point.
        ours: f64,
    },
}

/// The baseline cells that a machine called `name` may be fitted to.
///
/// # Errors
/// If the published rows do not load.
pub fn targets(name: &str) -> Result<Vec<Target>, PublishedError> {
    let mails = Mail::known().map(Mail::find).collect::<Result<Vec<_>, _>>()?;
    let rows = mails.iter().flat_map(|mail| &mail.rows);
    Ok(rows.filter_map(|row| target(row, name)).collect())
}

fn target(row: &PublishedRow, machine: &str) -> Option<Target> {
    let base =
        row.base.as_ref().filter(|base| base.value > 0.0 && row.not_scored.is_none() && row.not_fitted.is_none())?;
    let run = row.run.as_ref().filter(|run| MachineSpec::parse(&run.machine).name == machine)?;
    Some(Target {
        cell: format!("{}/base", row.id),
        published: base.value,
        close_enough: base.error_pct().map_or(0.0, |pct| pct / 200.0).max(CLOSE_ENOUGH),
        unit: row.unit.clone(),
        better: row.better,
        run: run.clone(),
    })
}

/// What to fit, in order. Without `cell`: all fits that the machine's file records. With `cell`: that cell alone, by
/// `figures`, else by the figures that the file records for it, else by the scale.
///
/// # Errors
/// If there is nothing to fit, a fit is not allowed, or there are too many figures for the machine's cells.
pub fn choose(machine: &Machine, cell: Option<&str>, figures: &[String]) -> Result<Vec<Job>, CalibrateError> {
    let targets = targets(&machine.name)?;
    let recorded = recorded(machine);
    let mut wanted = recorded.clone();
    if let Some(cell) = cell.map(current_id) {
        let figures = figures.iter().map(|name| find_figure(name)).collect::<Result<Vec<_>, _>>()?;
        let of_file = recorded.iter().find(|(known, _)| *known == cell).map(|(_, figures)| figures.clone());
        let figures = if figures.is_empty() { of_file.unwrap_or(vec![FitParam::Scale]) } else { figures };
        wanted = vec![(cell.into_owned(), figures)];
    }
    let options = option_jobs(&machine.name)?.len();
    check_number(machine, &recorded, &wanted, options, targets.len())?;
    if wanted.is_empty() && options == 0 {
        let known = known(&targets);
        return Err(CalibrateError::NothingRecorded { machine: machine.name.clone(), known });
    }
    wanted.into_iter().map(|(cell, figures)| job(machine, &targets, &cell, figures)).collect()
}

fn known(targets: &[Target]) -> String {
    targets.iter().map(|t| t.cell.as_str()).collect::<Vec<_>>().join(", ")
}

fn find_figure(name: &str) -> Result<FitParam, CalibrateError> {
    FitParam::from_path(name).ok_or_else(|| {
        let all: Vec<String> = FitParam::variants().map(|free| free.to_string()).collect();
        let near = nearest(name, all.iter().map(String::as_str));
        let near = near.map(|n| format!("did you mean {n}? ")).unwrap_or_default();
        CalibrateError::NoSuchFigure { figure: name.into(), near }
    })
}

fn job(machine: &Machine, targets: &[Target], cell: &str, figures: Vec<FitParam>) -> Result<Job, CalibrateError> {
    if figures.len() > 1 && figures.contains(&FitParam::Scale) {
        return Err(CalibrateError::ScaleWithOthers);
    }
    let found = targets.iter().find(|t| t.cell == cell).cloned();
    let target = found.ok_or_else(|| CalibrateError::NoSuchCell {
        machine: machine.name.clone(),
        cell: cell.into(),
        known: known(targets),
        near: nearest(cell, targets.iter().map(|t| t.cell.as_str()))
            .map(|n| format!("did you mean {n}? "))
            .unwrap_or_default(),
    })?;
    Ok(Job { target, figures })
}

/// Cells to which the machine's file records fits, with their figures. The fit of the scale is first, then the order of
/// the file.
pub fn recorded(machine: &Machine) -> Vec<(String, Vec<FitParam>)> {
    let mut cells: Vec<(String, Vec<FitParam>)> = Vec::new();
    for figure in &machine.figures {
        let (Source::Fitted(source), Some(free)) = (&figure.source, FitParam::from_path(&figure.path)) else {
            continue;
        };
        let cell = current_id(source.split_whitespace().next().unwrap_or_default());
        match cells.iter_mut().find(|(known, _)| *known == cell) {
            Some((_, figures)) => figures.push(free),
            None => cells.push((cell.into_owned(), vec![free])),
        }
    }
    cells.sort_by_key(|(_, figures)| !figures.contains(&FitParam::Scale));
    cells
}

/// Checks the limit of one figure for every three cells. Counts the figures that the file records, those in `wanted`
/// and the `options` of workloads.
fn check_number(
    machine: &Machine,
    recorded: &[(String, Vec<FitParam>)],
    wanted: &[(String, Vec<FitParam>)],
    options: usize,
    cells: usize,
) -> Result<(), CalibrateError> {
    let replaced =
        |(_, old): &&(String, Vec<FitParam>)| wanted.iter().any(|(_, new)| old.iter().all(|f| new.contains(f)));
    let stays = recorded.iter().filter(|old| !replaced(old)).count();
    let figures = stays + wanted.len() + options;
    if figures <= (cells / CELLS_PER_FIGURE).max(1) {
        return Ok(());
    }
    Err(CalibrateError::TooManyFigures { machine: machine.name.clone(), figures, cells })
}

/// How the runs of a fit are made.
pub struct FitRuns<'a> {
    /// Seeds of the runs at each step of the search.
    pub seeds: Vec<u64>,
    /// Threads to run on, at least 1.
    pub jobs: usize,
    /// Results that it has are taken from there, and new results are stored there.
    pub store: Option<&'a Store>,
    /// Stops the fit when set.
    pub stop: &'a Stop,
    /// Receives the progress of each step of the search, like that of a batch.
    pub tell: ProgressListener<'a>,
}

/// Varies the job's parameters on the machine of `experiment`, which has one scheduler, until the run gives the target.
/// Deterministic.
///
/// # Errors
/// If a run fails or no value reaches the target.
pub fn fit(experiment: &Experiment, runs: &FitRuns, job: &Job) -> Result<Fit, CalibrateError> {
    let knob = FitVariable::for_figures(&experiment.machine, &job.figures);
    let at = |step: u64| {
        let turned = experiment.with_machine(|machine| {
            knob.values(step).iter().for_each(|(free, value)| machine.costs.set_fit_value(*free, *value));
        });
        runs.baseline(turned, &job.target.run.metric)
    };
    // More cost is worse.
    let rises = job.target.better == Better::Lower;
    let (step, ours) = halve(knob.steps(), job.target.published, rises, at)?;
    let figures = knob.values(step);
    let published = job.target.published;
    if miss(ours, published) > job.target.close_enough {
        let (figure, value) = figures.first().map(|(free, value)| (free.to_string(), *value)).unwrap_or_default();
        return Err(CalibrateError::OutOfReach { figure, published, value, ours });
    }
    Ok(Fit { figures, ours })
}

fn miss(ours: f64, published: f64) -> f64 {
    ((ours - published) / published).abs()
}

/// The step from `low` to `high`, both included, whose outcome is nearest to the goal, with that outcome. The outcome
/// rises with the step, or falls; it need not do so everywhere, because rhythms of a workload may snap.
fn halve(
    (mut low, mut high): (u64, u64),
    goal: f64,
    rises: bool,
    at: impl Fn(u64) -> Result<f64, CalibrateError>,
) -> Result<(u64, f64), CalibrateError> {
    let mut best = (low, f64::INFINITY);
    while low <= high {
        let middle = (low + high) / 2;
        let ours = at(middle)?;
        if miss(ours, goal) < miss(best.1, goal) {
            best = (middle, ours);
        }
        if ours == goal {
            break;
        } else if (ours > goal) == rises {
            let Some(below) = middle.checked_sub(1) else { break };
            high = below;
        } else {
            low = middle + 1;
        }
    }
    Ok(best)
}

/// Costs that are varied together, on a grid.
enum FitVariable {
    Scale,
    /// Each cost with its ratio to the first, in three digits. The first is varied, in ns of four digits. Ratios of
    /// four-digit costs in three digits give back the ratio that they were computed with, so a fit repeats.
    Soft(Vec<(FitParam, f64)>),
}

impl FitVariable {
    fn for_figures(machine: &Machine, figures: &[FitParam]) -> FitVariable {
        if figures.contains(&FitParam::Scale) {
            return FitVariable::Scale;
        }
        let stated = |free: &FitParam| machine.costs.fit_value(*free);
        // A cost of 0 has no ratio; then all costs are equal.
        let first = figures.first().map(stated).filter(|ns| *ns > 0.0);
        FitVariable::Soft(
            figures.iter().map(|free| (*free, first.map_or(1.0, |first| three_digits(stated(free) / first)))).collect(),
        )
    }

    /// First and last step: a scale of 0.01 to 16, or 1 ns to 10 ms.
    fn steps(&self) -> (u64, u64) {
        match self {
            FitVariable::Scale => (100, 160_000),
            FitVariable::Soft(_) => (1, 7 * STEPS_PER_DECADE),
        }
    }

    fn values(&self, step: u64) -> Vec<(FitParam, f64)> {
        match self {
            FitVariable::Scale => vec![(FitParam::Scale, step as f64 / 1e4)],
            FitVariable::Soft(figures) => {
                let first = decade_step(step);
                figures.iter().map(|(free, ratio)| (*free, four_digits(first * ratio))).collect()
            }
        }
    }
}

/// Steps of the grid from 1.000 to 9.999, and of every further decade.
const STEPS_PER_DECADE: u64 = 9000;

/// 1.000, 1.001, ... 9.999, 10.00, 10.01, ...: a grid of four digits.
fn decade_step(step: u64) -> f64 {
    decade_thousandths(step) as f64 / 1000.0
}

fn decade_thousandths(step: u64) -> u64 {
    let (decade, digits) = (step / STEPS_PER_DECADE, 1000 + step % STEPS_PER_DECADE);
    digits * 10u64.pow(decade.min(12) as u32)
}

/// `value` rounded to three digits, at least 0.0001.
fn three_digits(value: f64) -> f64 {
    let mut unit = 10_000;
    while unit > 1 && value * f64::from(unit) >= 1000.0 {
        unit /= 10;
    }
    (value * f64::from(unit)).round().max(1.0) / f64::from(unit)
}

/// `value` rounded to four digits, at least 0.001.
fn four_digits(value: f64) -> f64 {
    let mut unit = 0.001;
    while value / unit >= 10_000.0 {
        unit *= 10.0;
    }
    // A division by a whole number gives the `f64` nearest to the printed number.
    let digits = (value / unit).round().max(1.0);
    if unit < 1.0 {
        digits / (1.0 / unit).round()
    } else {
        digits * unit.round()
    }
}

impl FitRuns<'_> {
    /// Mean of a metric over the seeds.
    fn baseline(&self, experiment: Experiment, metric: &str) -> Result<f64, CalibrateError> {
        let plan = Plan { scheds: 1, seeds: self.seeds.clone(), jobs: self.jobs, check_determinism: false };
        let results = Executor::batch(&[Arc::new(experiment)], &plan, self.store, self.stop, self.tell)?;
        let mut sum = 0.0;
        for run in &results[0] {
            let report = run.as_ref().map_err(|message| CalibrateError::Run(message.clone()))?;
            let reading = report.metrics.iter().find(|r| r.metric.name == metric);
            sum += reading.ok_or_else(|| CalibrateError::Run(format!("no metric {metric}")))?.value;
        }
        Ok(sum / self.seeds.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use fairground_machine::SoftCost;
    use fairground_run::executor::Progress;

    use super::*;

    fn cells(name: &str) -> Vec<String> {
        targets(name).unwrap().into_iter().map(|t| t.cell).collect()
    }

    fn chosen(name: &str, cell: &str, figures: &[&str]) -> Result<Vec<Job>, CalibrateError> {
        let figures: Vec<String> = figures.iter().map(|f| f.to_string()).collect();
        choose(&Machine::preset(name).unwrap(), Some(cell), &figures)
    }

    const PIPE: &str = "asym-prev-first/hikey/sched-pipe/ops_per_sec/base";
    const SOCKETS: [&str; 2] = ["costs.soft.sock_send", "costs.soft.sock_recv"];

    #[test]
    fn only_baseline_cells_of_scored_rows_may_be_fitted() {
        assert!(cells("hikey960").contains(&"asym-prev-first/hikey960/sched-pipe/ops_per_sec/base".to_string()));
        assert!(cells("hikey").iter().all(|c| c.ends_with("/base")));
        let patched = chosen("hikey960", "asym-prev-first/hikey960/sched-pipe/ops_per_sec/test", &[]).unwrap_err();
        assert!(matches!(patched, CalibrateError::NoSuchCell { .. }));
        // Its mail contradicts itself: which of its figures is mistyped is not known.
        let slip = chosen("hikey", "lb-rework/hikey/hackbench-8/elapsed/base", &SOCKETS).unwrap_err();
        assert!(matches!(slip, CalibrateError::NoSuchCell { .. }));
    }

    #[test]
    fn one_figure_for_every_three_cells() {
        // hikey960 has one cell: one figure, which is taken.
        assert_eq!(cells("hikey960").len(), 1);
        let second = chosen("hikey960", "asym-prev-first/hikey960/sched-pipe/ops_per_sec/base", &["costs.soft.futex"])
            .unwrap_err();
        assert!(matches!(second, CalibrateError::TooManyFigures { figures: 2, cells: 1, .. }), "{second}");
        // hikey has seven: two.
        assert_eq!(cells("hikey").len(), 7);
        assert!(chosen("hikey", "lb-rework/hikey/hackbench-16/elapsed/base", &SOCKETS).is_ok());
        // The same figure again is not one more.
        assert!(chosen("hikey960", "asym-prev-first/hikey960/sched-pipe/ops_per_sec/base", &["costs.scale"]).is_ok());
    }

    #[test]
    fn cells_bound_to_a_part_of_a_machine_are_cells_of_it() {
        let cells = cells("kunpeng920");
        assert!(cells.contains(&"cluster-level/kunpeng920/pinned-cluster/elapsed/base".to_string()), "of one column");
        assert!(cells.iter().all(|cell| !cell.contains("two-nodes")), "a doubted base is nothing to fit to");
        let jobs =
            chosen("kunpeng920", "cluster-level/kunpeng920/pinned-cluster/elapsed/base", &["costs.scale"]).unwrap();
        assert_eq!(jobs[0].target.run.machine, "kunpeng920@0-3");
    }

    #[test]
    fn no_preset_has_more_fits_than_its_cells_bear() {
        for name in fairground_machine::presets() {
            let machine = Machine::preset(name).unwrap();
            let recorded = recorded(&machine);
            let options = option_jobs(name).unwrap().len();
            assert!(check_number(&machine, &[], &recorded, options, cells(name).len()).is_ok(), "{name}");
            for (cell, figures) in recorded {
                assert!(job(&machine, &targets(name).unwrap(), &cell, figures).is_ok(), "{name}: {cell}");
            }
        }
    }

    #[test]
    fn figures_are_found_by_their_paths_or_refused() {
        let refused = |figures: &[&str]| chosen("hikey", PIPE, figures).unwrap_err();
        let CalibrateError::NoSuchFigure { near, .. } = refused(&["costs.soft.sock_sent"]) else { panic!() };
        assert_eq!(near, "did you mean costs.soft.sock_send? ");
        assert!(matches!(refused(&["costs.soft.probe"]), CalibrateError::NoSuchFigure { .. }));
        assert!(matches!(refused(&["costs.scale", "costs.soft.futex"]), CalibrateError::ScaleWithOthers));
    }

    #[test]
    fn a_machine_without_a_fit_says_what_could_be_fitted() {
        let error = choose(&Machine::preset("rpi5").unwrap(), None, &[]).unwrap_err();
        assert!(matches!(error, CalibrateError::NothingRecorded { .. }));
    }

    #[test]
    fn fits_are_read_from_the_file_the_scale_first() {
        let text = fairground_machine::preset_text("hikey").unwrap();
        let sockets = [SoftCost::SockSend, SoftCost::SockRecv].map(FitParam::Soft);
        let values = [(sockets[0], 3000.0), (sockets[1], 2455.0)];
        let text =
            Machine::refitted("x.toml", text, &values, "lb-rework/hikey/hackbench-16/elapsed/base = 1.176 s").unwrap();
        let machine = Machine::from_toml("x.toml", &text).unwrap();
        let jobs = choose(&machine, None, &[]).unwrap();
        let found: Vec<_> = jobs.iter().map(|j| (j.target.cell.as_str(), j.figures.clone())).collect();
        let hackbench = "lb-rework/hikey/hackbench-16/elapsed/base";
        assert_eq!(found, [(PIPE, vec![FitParam::Scale]), (hackbench, sockets.to_vec())]);
        // Named by its cell alone, the figures are those of the file.
        assert_eq!(choose(&machine, Some(hackbench), &[]).unwrap(), jobs[1..]);
    }

    #[test]
    fn grids_have_four_digits() {
        assert_eq!([0, 1, 8999, 9000, 9001, 18_000].map(decade_step), [1.0, 1.001, 9.999, 10.0, 10.01, 100.0]);
        assert_eq!([3410.4, 0.12345, 123_456.0, 9999.6].map(four_digits), [3410.0, 0.123, 123_500.0, 10_000.0]);
        assert_eq!([0.594_63, 0.1, 12.346, 0.012_34, 0.0].map(three_digits), [0.595, 0.1, 12.3, 0.0123, 0.0001]);
        let written = four_digits(1435.0 * three_digits(924.0 / 1554.0));
        assert_eq!(three_digits(written / 1435.0), 0.595, "what was written comes out again");
    }

    /// A round trip of a pipe is two writes and two reads beside all else.
    #[test]
    fn costs_that_share_a_cell_keep_their_ratio_and_repeat() {
        let (mut experiment, job) = pipe(&["costs.soft.pipe_write", "costs.soft.pipe_read"]);
        let first = fit(&experiment, &runs(&Stop::default()), &job).unwrap();
        let [(_, write), (_, read)] = first.figures[..] else { panic!("{first:?}") };
        assert!((write / read / (1820.0 / 1190.0) - 1.0).abs() < 2e-3, "{first:?}");
        assert!((first.ours / 47721.0 - 1.0).abs() < CLOSE_ENOUGH, "{first:?}");
        experiment = experiment
            .with_machine(|m| first.figures.iter().for_each(|(free, value)| m.costs.set_fit_value(*free, *value)));
        assert_eq!(fit(&experiment, &runs(&Stop::default()), &job).unwrap(), first);
    }

    #[test]
    fn a_target_that_no_value_gives_is_out_of_reach() {
        let (experiment, mut job) = pipe(&["costs.soft.pipe_write"]);
        job.target.published = 1e9;
        let CalibrateError::OutOfReach { figure, value, .. } =
            fit(&experiment, &runs(&Stop::default()), &job).unwrap_err()
        else {
            panic!()
        };
        assert!(figure == "costs.soft.pipe_write" && value < 20.0, "the nearest is next to nothing: {value}");
    }

    #[test]
    fn a_fit_repeats_and_reaches_its_cell() {
        let (experiment, job) = pipe(&["costs.scale"]);
        let first = fit(&experiment, &runs(&Stop::default()), &job).unwrap();
        assert_eq!(first, fit(&experiment, &runs(&Stop::default()), &job).unwrap());
        assert!((first.ours / 47721.0 - 1.0).abs() < 2e-3, "{first:?}");
    }

    /// hikey's short sched-pipe, with these figures to turn.
    fn pipe(figures: &[&str]) -> (Experiment, Job) {
        let machine = Machine::preset("hikey").unwrap();
        let target = targets("hikey").unwrap().into_iter().find(|t| t.cell == PIPE).unwrap();
        let job = Job { target, figures: figures.iter().map(|f| FitParam::from_path(f).unwrap()).collect() };
        let workload = fairground_workload::Workload::find("sched-pipe:loops=2000,threads", &machine).unwrap().0;
        let experiment = Experiment {
            machine: Arc::new(machine),
            workload: Arc::new(workload),
            scheds: vec!["fair:v5.9".parse().unwrap()],
            config: Default::default(),
            workers: Default::default(),
        };
        (experiment, job)
    }

    fn runs(stop: &Stop) -> FitRuns<'_> {
        FitRuns { seeds: vec![1, 2], jobs: 1, store: None, stop, tell: &|_| () }
    }

    /// The runs of a fit that was interrupted are not made again.
    #[test]
    fn a_fit_keeps_its_runs() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let (experiment, job) = pipe(&["costs.scale"]);
        let stop = Stop::default();
        let made = AtomicUsize::new(0);
        let tell = |progress| {
            if matches!(progress, Progress::Done { .. }) && made.fetch_add(1, Ordering::Relaxed) == 4 {
                stop.store(true, Ordering::Relaxed);
            }
        };
        fn stored<'a>(store: &'a Store, stop: &'a Stop, tell: ProgressListener<'a>) -> FitRuns<'a> {
            FitRuns { store: Some(store), tell, ..runs(stop) }
        }
        let interrupted = fit(&experiment, &stored(&store, &stop, &tell), &job);
        assert!(matches!(interrupted, Err(CalibrateError::Experiment(BatchError::Stopped))));
        assert_eq!(store.len().unwrap(), 5);
        let first = fit(&experiment, &stored(&store, &Stop::default(), &|_| ()), &job).unwrap();
        let begun = made.load(Ordering::Relaxed);
        assert_eq!(fit(&experiment, &stored(&store, &Stop::default(), &tell), &job).unwrap(), first);
        assert_eq!(made.load(Ordering::Relaxed), begun, "a fit that is repeated makes no run");
        assert_eq!(fit(&experiment, &runs(&Stop::default()), &job).unwrap(), first);
    }
}
