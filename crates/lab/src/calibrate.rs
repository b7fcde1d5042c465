//! Repeating the fit that a machine file records (design, decision 6): one free figure, `costs.scale`, turned until
//! our baseline gives the published one. Patched cells are refused.

use std::sync::Arc;

use fairground_machine::{Machine, Source};
use miette::Diagnostic;
use thiserror::Error;

use crate::experiment::{self, ExperimentError, Plan};
use crate::metric::Better;
use crate::published::{Mail, PublishedError, PublishedRow, RunSpec};
use crate::setup::Setup;
use crate::tables::nearest;

/// Relative miss that is still a fit: well inside any published error.
const CLOSE_ENOUGH: f64 = 2e-3;
/// Digits that a fitted scale is written with: 1e4 means four after the point.
const SCALE_STEPS: f64 = 1e4;
/// Scales that are tried, in steps: 0.01 to 16.
const SCALE_RANGE: (u64, u64) = (100, 160_000);

/// A published baseline cell and how we run it.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Names the cell, `ROW/base`.
    pub cell: String,
    /// What the mail prints.
    pub published: f64,
    /// Its unit.
    pub unit: String,
    /// Which way is better.
    pub better: Better,
    /// How we run it.
    pub run: RunSpec,
}

/// Outcome of a fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The fitted factor, as it is to be written.
    pub scale: f64,
    /// Our baseline with it: mean over the seeds.
    pub ours: f64,
}

/// Why there is no fit.
#[derive(Debug, Error, Diagnostic)]
pub enum CalibrateError {
    /// Nothing is recorded and no cell was named.
    #[error("{machine} records no fit")]
    #[diagnostic(help("name a cell with --cell; cells that this machine runs: {known}"))]
    NothingRecorded {
        /// The machine.
        machine: String,
        /// What could be fitted.
        known: String,
    },
    /// The cell does not exist or may not be fitted.
    #[error("{machine} cannot be fitted to {cell:?}")]
    #[diagnostic(help("only baseline cells that this machine runs may be fitted: {known}{near}"))]
    NoSuchCell {
        /// The machine.
        machine: String,
        /// What was asked for.
        cell: String,
        /// What could be fitted.
        known: String,
        /// The nearest of these.
        near: String,
    },
    /// The published rows do not load.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Published(#[from] PublishedError),
    /// Threads.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Experiment(#[from] ExperimentError),
    /// A run failed.
    #[error("a run of the fit failed: {0}")]
    Run(String),
    /// No factor gives the published figure.
    #[error("no scale gives {published}: at {scale} ours is {ours}")]
    #[diagnostic(help(
        "the nearest is shown; costs that are not fitted leave no room, or a rhythm of the workload snaps there"
    ))]
    OutOfReach {
        /// Theirs.
        published: f64,
        /// The nearest.
        scale: f64,
        /// Ours there.
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
    let run = row.run.as_ref().filter(|run| run.machine == machine && row.base.value > 0.0)?;
    Some(Target {
        cell: format!("{}/base", row.id),
        published: row.base.value,
        unit: row.unit.clone(),
        better: row.better,
        run: run.clone(),
    })
}

/// The cell to fit: as asked for, else the one that the machine's file records.
///
/// # Errors
/// If there is none, or it is none that may be fitted.
pub fn choose(machine: &Machine, asked: Option<&str>) -> Result<Target, CalibrateError> {
    let targets = targets(&machine.name)?;
    let known = || targets.iter().map(|t| t.cell.as_str()).collect::<Vec<_>>().join(", ");
    let Some(cell) = asked.or_else(|| recorded(machine)) else {
        return Err(CalibrateError::NothingRecorded { machine: machine.name.clone(), known: known() });
    };
    let found = targets.iter().find(|t| t.cell == cell).cloned();
    found.ok_or_else(|| CalibrateError::NoSuchCell {
        machine: machine.name.clone(),
        cell: cell.into(),
        known: known(),
        near: nearest(cell, targets.iter().map(|t| t.cell.as_str()))
            .map(|n| format!("; did you mean {n}?"))
            .unwrap_or_default(),
    })
}

/// The cell that the machine's file says its scale was fitted to.
fn recorded(machine: &Machine) -> Option<&str> {
    let scale = machine.figures.iter().find(|f| f.path == "costs.scale")?;
    match &scale.source {
        Source::Fitted(cell) => cell.split_whitespace().next(),
        _ => None,
    }
}

/// Turns the scale of `setup`'s machine until its base scheduler gives `target`. Deterministic. `progress` is called
/// once per run.
///
/// # Errors
/// If a run fails or no scale reaches the target.
pub fn fit(setup: &Setup, plan: &Plan, target: &Target, progress: &(dyn Fn() + Sync)) -> Result<Fit, CalibrateError> {
    let plan = Plan { scheds: 1, ..plan.clone() };
    let at = |steps: u64| baseline(setup, &plan, &target.run.metric, steps as f64 / SCALE_STEPS, progress);
    let goal = target.published;
    let miss = |ours: f64| ((ours - goal) / goal).abs();
    // Every cost that the scale multiplies makes the baseline worse, so halving finds the place. It need not be
    // continuous there: rhythms of a workload may snap.
    let (mut low, mut high) = SCALE_RANGE;
    let mut best = Fit { scale: f64::NAN, ours: f64::INFINITY };
    while low <= high {
        let middle = (low + high) / 2;
        let ours = at(middle)?;
        if miss(ours) < miss(best.ours) {
            best = Fit { scale: middle as f64 / SCALE_STEPS, ours };
        }
        let too_slow = (ours < goal) == (target.better == Better::Higher);
        if ours == goal {
            break;
        } else if too_slow {
            high = middle - 1;
        } else {
            low = middle + 1;
        }
    }
    if miss(best.ours) > CLOSE_ENOUGH {
        return Err(CalibrateError::OutOfReach { published: goal, scale: best.scale, ours: best.ours });
    }
    Ok(best)
}

/// Mean of a metric over the seeds with the machine's costs at `scale`.
fn baseline(
    setup: &Setup,
    plan: &Plan,
    metric: &str,
    scale: f64,
    progress: &(dyn Fn() + Sync),
) -> Result<f64, CalibrateError> {
    let turned = setup.with_machine(|machine| machine.costs.rescale(scale));
    let runs = experiment::run(plan, &turned, progress)?.swap_remove(0);
    let mut sum = 0.0;
    for run in &runs {
        let report = run.as_ref().map_err(|message| CalibrateError::Run(message.clone()))?;
        let reading = report.readings.iter().find(|r| r.metric.name == metric);
        sum += reading.ok_or_else(|| CalibrateError::Run(format!("no metric {metric}")))?.value;
    }
    Ok(sum / runs.len() as f64)
}

impl Setup {
    /// The same on a machine that `change` has changed.
    pub fn with_machine(&self, change: impl FnOnce(&mut Machine)) -> Setup {
        let mut machine = Machine::clone(&self.machine);
        change(&mut machine);
        Setup {
            machine: Arc::new(machine),
            workload: Arc::clone(&self.workload),
            scheds: self.scheds.clone(),
            config: self.config,
            workers: self.workers.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_baseline_cells_may_be_fitted() {
        let cells: Vec<String> = targets("hikey960").unwrap().into_iter().map(|t| t.cell).collect();
        assert!(cells.contains(&"000/hikey960/sched-pipe/ops_per_sec/base".to_string()));
        assert!(cells.iter().all(|c| c.ends_with("/base")));
        let machine = Machine::preset("hikey960").unwrap();
        let patched = choose(&machine, Some("000/hikey960/sched-pipe/ops_per_sec/test")).unwrap_err();
        assert!(matches!(patched, CalibrateError::NoSuchCell { .. }));
    }

    #[test]
    fn a_machine_without_a_fit_says_what_could_be_fitted() {
        let error = choose(&Machine::preset("rpi5").unwrap(), None).unwrap_err();
        assert!(matches!(error, CalibrateError::NothingRecorded { .. }));
    }

    #[test]
    fn a_fit_repeats_and_reaches_its_cell() {
        let machine = Machine::preset("hikey").unwrap();
        let target = choose(&machine, Some("000/hikey/sched-pipe/ops_per_sec/base")).unwrap();
        let workload = fairground_workload::Workload::find("sched-pipe:loops=2000,threads", &machine).unwrap().0;
        let setup = Setup {
            machine: Arc::new(machine),
            workload: Arc::new(workload),
            scheds: vec!["fair:v5.9".parse().unwrap()],
            config: Default::default(),
            workers: Default::default(),
        };
        let plan = Plan { scheds: 1, seeds: vec![1, 2], jobs: 1, check_determinism: false };
        let first = fit(&setup, &plan, &target, &|| ()).unwrap();
        assert_eq!(first, fit(&setup, &plan, &target, &|| ()).unwrap());
        assert!((first.ours / 47721.0 - 1.0).abs() < 2e-3, "{first:?}");
    }
}
