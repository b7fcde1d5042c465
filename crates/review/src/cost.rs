//! What a decision costs in the compiled code, base against series: host time of wakeups and forks, as `fairground bench` measures it.
//!
//! Host times depend on the machine at hand and on what else it does. So they are measured on request only, in rounds of base and
//! series in turns, and a change is told if each round has it to the same side and their median is above 5 %.

use fairground_lab::bench::{measure, BenchError};
use fairground_run::sched_spec::{SchedSpec, SchedSpecError};
use fairground_run::worker::Workers;
use miette::Diagnostic;
use serde::Serialize;
use thiserror::Error;

use crate::stages::Stages;

/// Rows of `fairground bench`: small and large symmetric machines, and energy-aware wakeups.
const ROWS: [&str; 3] = ["W8", "W128", "W8-eas"];
/// Rounds of each row, and host seconds of each measurement.
const ROUNDS: usize = 5;
const SECONDS: f64 = 0.3;
/// Changes below are not told, percent.
const SMALLEST_PCT: f64 = 5.0;

/// Cost of decisions of one row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// Name of the row, as `fairground bench` has it.
    pub row: String,
    /// Host time of a wakeup or fork under the base, ns: the median of rounds.
    pub base_ns: f64,
    /// The same under the series.
    pub series_ns: f64,
    /// Median of the rounds' changes, percent, positive = more.
    pub more_pct: f64,
    /// Whether it is told: above 5 % and to the same side in each round.
    pub is_changed: bool,
}

/// Why costs are not known.
#[derive(Debug, Error, Diagnostic)]
pub enum CostError {
    /// A scheduler is gone.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Sched(#[from] SchedSpecError),
    /// A row cannot be run.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Bench(#[from] BenchError),
}

/// Measures base and series. Nothing else should run meanwhile.
///
/// # Errors
/// If a scheduler cannot be run.
pub fn costs(stages: &Stages, workers: &Workers) -> Result<Vec<Cost>, CostError> {
    let [first, .., last] = stages.stages.as_slice() else { return Ok(Vec::new()) };
    let scheds: [SchedSpec; 2] = [first.sched.parse()?, last.sched.parse()?];
    let mut costs = Vec::new();
    for row in ROWS {
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let base = measure(row, &scheds[0], workers, SECONDS)?.ns_per_decision;
            let series = measure(row, &scheds[1], workers, SECONDS)?.ns_per_decision;
            rounds.push([base, series]);
        }
        costs.push(Cost::from_rounds(row, &rounds));
    }
    Ok(costs)
}

impl Cost {
    fn from_rounds(row: &str, rounds: &[[f64; 2]]) -> Cost {
        let pct: Vec<f64> = rounds.iter().map(|[base, series]| (series / base.max(1.0) - 1.0) * 100.0).collect();
        let more_pct = median(&pct);
        let is_one_sided = pct.iter().all(|pct| pct.signum() == more_pct.signum());
        let side = |side: usize| median(&rounds.iter().map(|round| round[side]).collect::<Vec<_>>());
        Cost {
            row: row.into(),
            base_ns: side(0),
            series_ns: side(1),
            more_pct,
            is_changed: is_one_sided && more_pct.abs() > SMALLEST_PCT,
        }
    }

    /// `W8: 412 ns, 455 ns with the series: +10.4 %`.
    pub fn words(&self) -> String {
        let Cost { row, base_ns, series_ns, more_pct, .. } = self;
        format!("{row}: {base_ns:.0} ns, with the series {series_ns:.0} ns: {more_pct:+.1} %")
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_if_all_rounds_agree_and_it_is_large() {
        let cost = |series: [f64; 5]| Cost::from_rounds("W8", &series.map(|series| [100.0, series]));
        assert!(cost([110.0, 108.0, 112.0, 107.0, 130.0]).is_changed);
        assert!(!cost([110.0, 108.0, 112.0, 99.0, 130.0]).is_changed, "one round has it to the other side");
        assert!(!cost([104.0, 103.0, 104.0, 102.0, 120.0]).is_changed, "small");
        assert_eq!(cost([90.0, 80.0, 85.0, 88.0, 70.0]).words(), "W8: 100 ns, with the series 85 ns: -15.0 %");
    }
}
