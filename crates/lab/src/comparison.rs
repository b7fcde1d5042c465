//! What an experiment showed: base against each test, metric by metric.

use crate::experiment::{Results, RunReport};
use crate::metric::Metric;
use crate::selection::Selected;
use crate::stats::{Change, Summary, FEW_SEEDS};

/// An experiment's outcome, ready for any of the layouts.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Machine, as typed.
    pub machine: String,
    /// Workload with its options, as typed.
    pub workload: String,
    /// Seeds that were run.
    pub seeds: Vec<u64>,
    /// Base against each test, in the order given.
    pub comparisons: Vec<Comparison>,
    /// What must be said beside the figures.
    pub notes: Vec<String>,
    /// Runs that failed.
    pub failures: Vec<Failure>,
}

/// Base against one test.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Base scheduler, as typed.
    pub base: String,
    /// Scheduler under test, as typed.
    pub test: String,
    /// Metric by metric.
    pub rows: Vec<Row>,
    /// The pairs of runs behind the rows.
    pub pairs: Vec<Pair>,
}

/// One metric of base and test.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What it is.
    pub metric: Metric,
    /// Values by seed.
    pub base: Vec<f64>,
    /// Values by seed, paired with `base`.
    pub test: Vec<f64>,
    /// The difference.
    pub change: Change,
}

impl Row {
    /// Two columns that share their seeds.
    pub fn new(metric: Metric, base: Vec<f64>, test: Vec<f64>) -> Row {
        let change = Change::of(&base, &test, metric.better);
        Row { metric, base, test, change }
    }

    /// The base column in short.
    pub fn base_summary(&self) -> Summary {
        Summary::of(&self.base)
    }

    /// The test column in short.
    pub fn test_summary(&self) -> Summary {
        Summary::of(&self.test)
    }
}

/// Hashes of the two event streams of a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The seed.
    pub seed: u64,
    /// Base run.
    pub base: u128,
    /// Test run.
    pub test: u128,
}

/// A run that failed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Failure {
    /// Scheduler, as typed.
    pub sched: String,
    /// Seed.
    pub seed: u64,
    /// Why.
    pub message: String,
}

impl Report {
    /// Of what was run: `scheds[0]` is the base, `results` is `[scheduler][seed]`.
    pub fn new(machine: &str, workload: &str, scheds: &[String], seeds: &[u64], results: &Results) -> Report {
        let comparisons = (1..scheds.len())
            .map(|t| {
                let (rows, pairs) = compare(seeds, &results[0], &results[t]);
                Comparison { base: scheds[0].clone(), test: scheds[t].clone(), rows, pairs }
            })
            .collect();
        let failures = scheds.iter().zip(results).flat_map(|(s, runs)| failures(s, seeds, runs)).collect();
        let mut report = Report {
            machine: machine.into(),
            workload: workload.into(),
            seeds: seeds.into(),
            comparisons,
            notes: notes_of(results),
            failures,
        };
        report.note_on_seeds();
        report
    }

    /// Leaves out what is not selected.
    pub fn keep(&mut self, selected: &Selected) {
        self.comparisons.iter_mut().for_each(|c| c.rows.retain(|row| selected.has(&row.metric.name)));
    }

    /// Adds a note that is not there yet.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn note_on_seeds(&mut self) {
        let Some(pairs) = self.comparisons.iter().map(|c| c.pairs.len()).min() else { return };
        if pairs == 0 {
            self.note("no pair of runs completed: there is nothing to compare");
        } else if pairs == 1 {
            self.note("one pair of runs: no interval, nothing is significant");
        } else if pairs < FEW_SEEDS {
            self.note(format!("{pairs} pairs of runs: below {FEW_SEEDS} the 95 % interval is too narrow"));
        }
    }
}

type Runs = [Result<RunReport, String>];

/// Rows and pairs of the seeds that both completed.
fn compare(seeds: &[u64], base: &Runs, test: &Runs) -> (Vec<Row>, Vec<Pair>) {
    let done: Vec<(u64, &RunReport, &RunReport)> = seeds
        .iter()
        .zip(base.iter().zip(test))
        .filter_map(|(seed, (b, t))| Some((*seed, b.as_ref().ok()?, t.as_ref().ok()?)))
        .collect();
    let pairs = done.iter().map(|(seed, b, t)| Pair { seed: *seed, base: b.hash, test: t.hash }).collect();
    let Some((_, first, _)) = done.first() else { return (Vec::new(), pairs) };
    let rows = first
        .readings
        .iter()
        .filter_map(|reading| {
            let column = |runs: &[&RunReport]| runs.iter().map(|r| value_of(r, &reading.metric.name)).collect();
            let base: Option<Vec<f64>> = column(&done.iter().map(|d| d.1).collect::<Vec<_>>());
            let test: Option<Vec<f64>> = column(&done.iter().map(|d| d.2).collect::<Vec<_>>());
            Some(Row::new(reading.metric.clone(), base?, test?))
        })
        .collect();
    (rows, pairs)
}

fn value_of(run: &RunReport, metric: &str) -> Option<f64> {
    run.readings.iter().find(|r| r.metric.name == metric).map(|r| r.value)
}

fn failures<'a>(sched: &'a str, seeds: &'a [u64], runs: &'a Runs) -> impl Iterator<Item = Failure> + 'a {
    seeds.iter().zip(runs).filter_map(move |(seed, run)| {
        let message = run.as_ref().err()?.clone();
        Some(Failure { sched: sched.into(), seed: *seed, message })
    })
}

/// The notes of all runs, each once, in order of appearance.
fn notes_of(results: &Results) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for note in results.iter().flatten().flatten().flat_map(|r| &r.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    notes
}
