//! Adding pairs of runs until intervals are narrow (`compare --until`).
//!
//! Pairs are added by a rule that sees widths alone: which side is better plays no part. A spread that looks small by
//! chance ends the sampling too early all the same, so [`crate::stats::Sampling::UntilNarrow`] judges what comes of it;
//! tests measure the coverage and the false verdicts of the whole procedure.

use std::str::FromStr;

use fairground_run::batch::{Plan, Results};

use super::Report;
use crate::stats::{Change, Sampling};
use crate::tables::percent;

/// When to stop adding pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Until {
    /// Half of the width of each interval, percent of the base's mean.
    pct: f64,
    /// Greatest number of pairs.
    most: u64,
}

impl Until {
    /// Number of pairs before the first look at an interval.
    pub const FIRST: u64 = 8;

    /// Greatest number of pairs where none is given.
    pub const MOST: u64 = 256;

    /// Until half of each interval is `pct` percent of the base, or there are `most` pairs.
    ///
    /// # Errors
    /// If the width is not above 0, or the limit is below [`Self::FIRST`].
    pub fn new(pct: f64, most: u64) -> Result<Until, String> {
        if !(pct.is_finite() && pct > 0.0) {
            return Err(format!("expected a percentage above 0, such as 1 or 0.5%, not {pct}"));
        }
        if most < Self::FIRST {
            return Err(format!("at least {} pairs are run before the first look: allow as many", Self::FIRST));
        }
        Ok(Until { pct, most })
    }

    /// Half of the width that ends the sampling, percent of the base's mean.
    pub fn pct(&self) -> f64 {
        self.pct
    }

    /// What was aimed at, and what was reached.
    fn words(&self, report: &Report, metrics: &[String]) -> String {
        let reached = report.comparisons.iter().flat_map(|c| {
            let rows = c.rows.iter().filter(|row| metrics.contains(&row.metric.name));
            rows.map(|row| match row.change.half_width_pct() {
                Some(half) => format!("{} {}", row.metric.name, percent(Some(half)).trim_start_matches('+')),
                None => format!("{} unknown", row.metric.name),
            })
        });
        let reached: Vec<String> = reached.collect();
        format!(
            "seeds were added until half of an interval is {} % of base, at most {}: it is {}",
            self.pct,
            self.most,
            reached.join(", ")
        )
    }

    /// The number of pairs to look at next; `None` if all intervals are narrow, or the limit is reached. `changes`: those
    /// whose intervals count, with `pairs` pairs.
    pub fn next<'a>(&self, pairs: u64, mut changes: impl Iterator<Item = &'a Change>) -> Option<u64> {
        let is_narrow = |change: &Change| change.half_width_pct().is_some_and(|half| half <= self.pct);
        if pairs >= self.most || changes.all(is_narrow) {
            return None;
        }
        Some((pairs + (pairs / 4).max(4)).min(self.most))
    }
}

/// A report on as many seeds, from 1 on, as it takes until the intervals of `metrics` are narrow, for each comparison.
/// `run` makes the runs of a plan, `report` reports on all seeds so far. If a run fails no seed is added.
///
/// # Errors
/// Those of `run`.
pub fn narrow<E>(
    until: &Until,
    metrics: &[String],
    plan: &Plan,
    mut run: impl FnMut(&Plan) -> Result<Results, E>,
    report: impl Fn(&[u64], &Results) -> Report,
) -> Result<Report, E> {
    let mut results: Results = Vec::new();
    let (mut done, mut pairs) = (0, Until::FIRST);
    loop {
        let more = run(&Plan { seeds: (done + 1..=pairs).collect(), ..plan.clone() })?;
        results.resize(more.len(), Vec::new());
        results.iter_mut().zip(more).for_each(|(runs, more)| runs.extend(more));
        done = pairs;
        let mut found = report(&(1..=done).collect::<Vec<_>>(), &results);
        found.sample_by(Sampling::UntilNarrow);
        let rows = found.comparisons.iter().flat_map(|c| &c.rows).filter(|row| metrics.contains(&row.metric.name));
        let next = until.next(done, rows.map(|row| &row.change)).filter(|_| found.failures.is_empty());
        let Some(next) = next else {
            let note = until.words(&found, metrics);
            found.note(note);
            return Ok(found);
        };
        pairs = next;
    }
}

/// The width alone, as it is typed: `1`, `0.5%`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WidthPct(pub f64);

impl FromStr for WidthPct {
    type Err = String;

    fn from_str(text: &str) -> Result<WidthPct, String> {
        let number = text.trim().trim_end_matches('%').trim_end();
        let pct: f64 = number.parse().map_err(|_| format!("expected a percentage such as 1 or 0.5%, not {text:?}"))?;
        Until::new(pct, Until::MOST).map(|until| WidthPct(until.pct))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Terms;
    use fairground_run::metrics::Better;

    /// A change of 0 whose interval has half of this width, percent.
    fn with_half_width(pct: f64) -> Change {
        let mut change = Change::new(&[1.0; 8], &[1.0; 8], &Terms::of_any_values(Better::Higher));
        change.ci95 = Some([-pct, pct]);
        change
    }

    #[test]
    fn pairs_are_added_until_all_are_narrow_or_there_are_enough() {
        let until = Until::new(1.0, 100).unwrap();
        let next = |pairs, widths: &[f64]| {
            let changes: Vec<Change> = widths.iter().map(|pct| with_half_width(*pct)).collect();
            until.next(pairs, changes.iter())
        };
        assert_eq!(next(8, &[1.0, 0.5]), None);
        assert_eq!(next(8, &[0.5, 1.1]), Some(12));
        let mut looks = vec![8];
        while let Some(pairs) = next(looks[looks.len() - 1], &[2.0]) {
            looks.push(pairs);
        }
        assert_eq!(looks, [8, 12, 16, 20, 25, 31, 38, 47, 58, 72, 90, 100]);
        let mut unknown = with_half_width(1.0);
        unknown.ci95 = None;
        assert_eq!(until.next(8, [unknown].iter()), Some(12));
    }

    /// Runs whose test is 1 % above the base, give or take a noise that falls with the seed.
    #[test]
    fn seeds_are_run_once_each_until_the_interval_is_narrow() {
        use fairground_run::batch::RunReport;
        use fairground_run::metrics::{Metric, MetricValue};

        let mut plans = Vec::new();
        let run = |plan: &Plan| {
            plans.push(plan.seeds.clone());
            let value = |sched: usize, seed: u64| {
                let noise = if seed % 2 == 0 { 20.0 } else { -20.0 };
                1000.0 + sched as f64 * (10.0 + noise)
            };
            let report = |sched, seed: &u64| {
                let metric = Metric::new("ops_per_sec", "ops/s", Better::Higher, "");
                let metrics = vec![MetricValue { metric, value: value(sched, *seed) }];
                Ok(RunReport { metrics, hash: 0, notes: vec![] })
            };
            Ok::<Results, String>((0..2).map(|sched| plan.seeds.iter().map(|s| report(sched, s)).collect()).collect())
        };
        let sides = ["a", "b"].map(|sched| crate::comparison::Settings::new("m", "w", sched));
        let plan = Plan { scheds: 2, seeds: vec![], jobs: 1, check_determinism: false };
        let metrics = ["ops_per_sec".to_owned()];
        let until = Until::new(1.0, 100).unwrap();
        let found = narrow(&until, &metrics, &plan, run, |seeds, results| Report::new(&sides, seeds, results)).unwrap();
        // sd 2 %: with 8 pairs t is 2.78 of 4 degrees of freedom, and half of the interval 2.1 %; with 20 pairs 1.01, with 25 0.88.
        let expected: [Vec<u64>; 5] =
            [(1..=8).collect(), (9..=12).collect(), (13..=16).collect(), (17..=20).collect(), (21..=25).collect()];
        assert_eq!(plans, expected);
        assert_eq!(found.comparisons[0].rows[0].base.len(), 25);
        let note = found.notes.last().unwrap();
        assert!(
            note.starts_with(
                "seeds were added until half of an interval is 1 % of base, at most 100: it is ops_per_sec 0.8"
            ),
            "{note}"
        );
    }

    #[test]
    fn nonsense_is_refused() {
        assert_eq!("0.5 %".parse(), Ok(WidthPct(0.5)));
        for text in ["", "0", "-1", "nan", "inf", "x%"] {
            assert!(text.parse::<WidthPct>().is_err(), "{text}");
        }
        assert!(Until::new(1.0, 7).unwrap_err().contains("8 pairs"));
    }
}
