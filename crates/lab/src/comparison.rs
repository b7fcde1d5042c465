//! The result of an experiment: base against each test, metric by metric.

mod side;
mod until;

use std::collections::BTreeMap;

pub(crate) use self::side::name_sides;
pub use self::side::{Settings, Side};
pub use self::until::{narrow, Until, WidthPct};
use crate::doubt::screening::Screening;
use crate::doubt::ModelInterval;
use crate::provenance::Provenance;
use crate::published::PublishedBeside;
use crate::stats::{judge, two_modes, Change, Sampling, Summary, Terms, TwoModes, SIGNIFICANT_PAIRS_MIN};
use crate::tables::number;
use fairground_fair::Features;
use fairground_run::batch::{Results, RunReport};
use fairground_run::metrics::Selected;
use fairground_run::metrics::{Metric, MetricValue};

/// The result of an experiment, for any layout.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The settings that all sides share.
    pub common: Settings,
    /// Seeds that were run.
    pub seeds: Vec<u64>,
    /// Base against each test, in the order given.
    pub comparisons: Vec<Comparison>,
    /// Notes on the results.
    pub notes: Vec<String>,
    /// Runs that failed.
    pub failures: Vec<Failure>,
    /// What the report was made by and from; `None` unless the caller of [`Report::new`] states it.
    pub provenance: Option<Provenance>,
}

/// Base against one test.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The base.
    pub base: Side,
    /// The test.
    pub test: Side,
    /// One row per metric.
    pub rows: Vec<Row>,
    /// The pairs of runs behind the rows.
    pub pairs: Vec<Pair>,
    /// Published rows of the same machine, workload and schedulers.
    pub published: Vec<PublishedBeside>,
    /// Which figures carry the doubt of the first metric; `None` without a screening.
    pub doubt: Option<Screening>,
}

impl Comparison {
    /// Whether base and test made the same run with every seed: the hashes of each pair are equal, and there is at
    /// least one pair.
    pub fn identical(&self) -> bool {
        !self.pairs.is_empty() && self.pairs.iter().all(|pair| pair.base == pair.test)
    }

    /// Judges the rows together, as the rows of one table.
    pub fn judge(&mut self) {
        judge(self.rows.iter_mut().map(|row| &mut row.change));
    }
}

/// One metric of base and test.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The metric, with unit.
    pub metric: Metric,
    /// The seeds of the values.
    pub seeds: Vec<u64>,
    /// Values of the base by seed. Only pairs in which both runs have a value: a metric of samples has none without
    /// samples.
    pub base: Vec<f64>,
    /// Values of the test by seed, paired with `base`.
    pub test: Vec<f64>,
    /// The paired difference, test minus base: what the seeds show on the nominal machine.
    pub change: Change,
    /// The change over draws of the figures in doubt; `None` without draws.
    pub model: Option<ModelInterval>,
}

impl Row {
    /// A row of two columns whose seeds are 1, 2 and so on.
    pub fn new(metric: Metric, base: Vec<f64>, test: Vec<f64>) -> Row {
        Row::of_seeds(metric, (1..=base.len() as u64).collect(), base, test)
    }

    fn of_seeds(metric: Metric, seeds: Vec<u64>, base: Vec<f64>, test: Vec<f64>) -> Row {
        let change = Change::new(&base, &test, &Terms::of_metric(&metric));
        Row { metric, seeds, base, test, change, model: None }
    }

    /// Judges the row anew, for pairs that were chosen so.
    fn sample_by(&mut self, sampling: Sampling) {
        let terms = Terms { sampling, ..Terms::of_metric(&self.metric) };
        let few_samples = self.change.few_samples;
        self.change = Change::new(&self.base, &self.test, &terms).with_few_samples(few_samples);
    }

    /// The two groups into which the values of a side fall, in words; `None` if they do not.
    fn modes(&self) -> Option<String> {
        let of_side = |(side, column): (&str, &[f64])| {
            let TwoModes { lower, upper } = two_modes(column, self.change.smallest)?;
            let [lower, upper] = [lower, upper].map(|(n, mean)| format!("{n} about {}", number(mean)));
            Some(format!("{side} {lower}, {upper}"))
        };
        let sides: Vec<String> =
            [("base", &*self.base), ("test", &*self.test)].into_iter().filter_map(of_side).collect();
        (!sides.is_empty()).then(|| format!("{} ({})", self.metric.name, sides.join("; ")))
    }

    /// Mean and standard deviation of the base column.
    pub fn base_summary(&self) -> Summary {
        Summary::of(&self.base)
    }

    /// Mean and standard deviation of the test column.
    pub fn test_summary(&self) -> Summary {
        Summary::of(&self.test)
    }
}

/// Hashes of the event streams of base and test with one seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Seed of both runs.
    pub seed: u64,
    /// Event hash of the base's run.
    pub base: u128,
    /// Event hash of the test's run.
    pub test: u128,
}

/// A run that failed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Failure {
    /// Name of the side.
    pub side: String,
    /// Seed of the run.
    pub seed: u64,
    /// The error message.
    pub message: String,
}

impl Report {
    /// A report on all runs: `sides[0]` is the base, `results` is `[side][seed]`.
    pub fn new(sides: &[Settings], seeds: &[u64], results: &Results) -> Report {
        let (sides, common) = side::name_sides(sides);
        let comparisons = (1..sides.len())
            .map(|t| {
                let (rows, pairs) = compare(seeds, &results[0], &results[t]);
                let mut comparison = Comparison {
                    base: sides[0].clone(),
                    test: sides[t].clone(),
                    rows,
                    pairs,
                    published: Vec::new(),
                    doubt: None,
                };
                comparison.judge();
                comparison
            })
            .collect();
        let failures = sides.iter().zip(results).flat_map(|(side, runs)| failures(&side.name, seeds, runs)).collect();
        let notes = notes_of(results);
        let mut report = Report { common, seeds: seeds.into(), comparisons, notes, failures, provenance: None };
        report.note_on_identical_runs();
        report.note_on_draws();
        report.note_on_seeds();
        report
    }

    /// Removes the metrics that are not selected, comparison by comparison, and judges the others together.
    pub fn keep(&mut self, selected: &[Selected]) {
        for (comparison, selected) in self.comparisons.iter_mut().zip(selected) {
            comparison.rows.retain(|row| selected.has(&row.metric.name));
            comparison.published.retain(|row| selected.has(&row.metric));
            comparison.judge();
        }
        self.note_on_rows();
        self.note_on_samples(selected);
    }

    /// Notes what limits the rows: percentiles of few samples, runs that fall into two groups.
    pub fn note_on_rows(&mut self) {
        self.note_on_percentiles();
        self.note_on_modes();
    }

    /// Notes the selected metrics for which some pairs have no value.
    fn note_on_samples(&mut self, selected: &[Selected]) {
        let mut notes = Vec::new();
        for (Comparison { test, rows, pairs, .. }, selected) in self.comparisons.iter().zip(selected) {
            let test = &test.name;
            let mut lacking: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
            for name in selected.names() {
                let have = rows.iter().find(|row| row.metric.name == *name).map_or(0, |row| row.base.len());
                if have < pairs.len() {
                    lacking.entry(have).or_default().push(name);
                }
            }
            let of = pairs.len();
            let words = |(have, names): (usize, Vec<&str>)| {
                format!("{have} of {of} pairs with {test} have samples for: {}", names.join(", "))
            };
            notes.extend(lacking.into_iter().map(words));
        }
        notes.into_iter().for_each(|note| self.note(note));
    }

    /// Judges all rows for pairs that were chosen so.
    pub fn sample_by(&mut self, sampling: Sampling) {
        for comparison in &mut self.comparisons {
            comparison.rows.iter_mut().for_each(|row| row.sample_by(sampling));
            comparison.judge();
        }
    }

    /// Names the percentiles that runs have too few samples for.
    fn note_on_percentiles(&mut self) {
        let few = |c: &Comparison| {
            let names: Vec<&str> =
                c.rows.iter().filter(|row| row.change.few_samples).map(|row| row.metric.name.as_str()).collect();
            (!names.is_empty()).then(|| {
                let (test, names) = (&c.test.name, names.join(", "));
                format!("few samples with {test}: runs have too few to show what lies beyond {names}")
            })
        };
        let notes: Vec<String> = self.comparisons.iter().filter_map(few).collect();
        notes.into_iter().for_each(|note| self.note(note));
    }

    /// Names the rows whose runs fall into two groups.
    fn note_on_modes(&mut self) {
        let bimodal = |c: &Comparison| {
            let rows: Vec<String> = c.rows.iter().filter_map(Row::modes).collect();
            let test = &c.test.name;
            (!rows.is_empty()).then(|| format!("bimodal with {test}, runs by value: {}", rows.join(", ")))
        };
        let notes: Vec<String> = self.comparisons.iter().filter_map(bimodal).collect();
        notes.into_iter().for_each(|note| self.note(note));
    }

    /// Adds a note unless it is already there.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn note_on_identical_runs(&mut self) {
        let several = self.comparisons.len() > 1;
        let identical: Vec<(String, Option<String>)> = self
            .comparisons
            .iter()
            .filter(|c| c.identical())
            .map(|c| (c.test.name.clone(), same_features(&c.base.settings, &c.test.settings)))
            .collect();
        for (test, same) in identical {
            let test = if several { &test } else { "test" };
            let why = same.unwrap_or_else(|| "no decision reached what differs".into());
            self.note(format!("base and {test} made the same run with every seed: {why}"));
        }
    }

    /// Notes that a seed does not give the sides the same random draws if they differ in machine or workload.
    fn note_on_draws(&mut self) {
        let differ =
            |name: &&str| self.comparisons.iter().any(|c| c.base.settings.get(name) != c.test.settings.get(name));
        let other: Vec<&str> = ["machine", "workload"].into_iter().filter(differ).collect();
        if !other.is_empty() {
            let other = other.join(" and ");
            self.note(format!(
                "the sides differ in {other}: runs are paired by seed, but a seed does not draw the same for both"
            ));
        }
    }

    fn note_on_seeds(&mut self) {
        let Some(pairs) = self.comparisons.iter().map(|c| c.pairs.len()).min() else { return };
        if pairs == 0 {
            self.note("no pair of runs completed: there is nothing to compare");
        } else if pairs == 1 {
            self.note("one pair of runs: no interval, every verdict is unsure");
        } else if pairs < SIGNIFICANT_PAIRS_MIN {
            self.note(format!("{pairs} pairs of runs: below {SIGNIFICANT_PAIRS_MIN} every verdict is unsure"));
        }
    }
}

/// That two schedulers with different names have the same features, as where a preset holds already what is added to it.
fn same_features(base: &Settings, test: &Settings) -> Option<String> {
    let [base, test] = [base.get("sched")?, test.get("sched")?];
    let same = base != test && Features::parse(base).ok()?.differing(&Features::parse(test).ok()?).is_empty();
    same.then(|| format!("{test} has the features of {base}, and no others"))
}

type Runs = [Result<RunReport, String>];

/// Rows and pairs of the seeds that both sides completed.
fn compare(seeds: &[u64], base: &Runs, test: &Runs) -> (Vec<Row>, Vec<Pair>) {
    let done: Vec<(u64, &RunReport, &RunReport)> = seeds
        .iter()
        .zip(base.iter().zip(test))
        .filter_map(|(seed, (b, t))| Some((*seed, b.as_ref().ok()?, t.as_ref().ok()?)))
        .collect();
    let pairs = done.iter().map(|(seed, b, t)| Pair { seed: *seed, base: b.hash, test: t.hash }).collect();
    let metrics = metrics_of(done.iter().flat_map(|(_, b, t)| [*b, *t]));
    // Whether each run of both sides has enough samples for the percentile that the metric is.
    let is_short = |metric: &Metric| {
        let Some(percentile) = &metric.percentile else { return false };
        let least = percentile.samples_min() as f64;
        let has_few = |run: &RunReport| value_of(run, &percentile.samples).is_some_and(|samples| samples < least);
        done.iter().any(|(_, b, t)| has_few(b) || has_few(t))
    };
    let row = |metric: &Metric| {
        let (mut seeds, mut base, mut test) = (Vec::new(), Vec::new(), Vec::new());
        for (seed, b, t) in &done {
            if let (Some(b), Some(t)) = (value_of(b, &metric.name), value_of(t, &metric.name)) {
                seeds.push(*seed);
                base.push(b);
                test.push(t);
            }
        }
        (!seeds.is_empty()).then(|| {
            let mut row = Row::of_seeds(metric.clone(), seeds, base, test);
            row.change = row.change.with_few_samples(is_short(metric));
            row
        })
    };
    (metrics.into_iter().filter_map(row).collect(), pairs)
}

/// The metrics of all runs, in the order that every run keeps.
fn metrics_of<'a>(runs: impl Iterator<Item = &'a RunReport>) -> Vec<&'a Metric> {
    let mut metrics: Vec<&Metric> = Vec::new();
    for run in runs {
        let mut at = 0;
        for MetricValue { metric, .. } in &run.metrics {
            match metrics[at..].iter().position(|known| known.name == metric.name) {
                Some(further) => at += further,
                None => metrics.insert(at, metric),
            }
            at += 1;
        }
    }
    metrics
}

fn value_of(run: &RunReport, metric: &str) -> Option<f64> {
    run.metrics.iter().find(|r| r.metric.name == metric).map(|r| r.value)
}

fn failures<'a>(side: &'a str, seeds: &'a [u64], runs: &'a Runs) -> impl Iterator<Item = Failure> + 'a {
    seeds.iter().zip(runs).filter_map(move |(seed, run)| {
        let message = run.as_ref().err()?.clone();
        Some(Failure { side: side.into(), seed: *seed, message })
    })
}

/// The notes of all runs without duplicates, in order of appearance.
fn notes_of(results: &Results) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for note in results.iter().flatten().flatten().flat_map(|r| &r.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Verdict;
    use fairground_run::metrics::{Better, Percentile, Selection};

    fn run(figures: &[(&str, f64)]) -> Result<RunReport, String> {
        let metric = |name: &str| Metric::new(name, "us", Better::Lower, "");
        let metrics = figures.iter().map(|(name, value)| MetricValue { metric: metric(name), value: *value }).collect();
        Ok(RunReport { metrics, hash: 0, notes: vec![] })
    }

    /// The base has no sample of `b` with the second seed; the test has no sample of `c`.
    fn report() -> Report {
        let base = vec![run(&[("a", 1.0), ("b", 2.0), ("c", 3.0)]), run(&[("a", 1.0), ("c", 3.0)])];
        let test = vec![run(&[("a", 4.0), ("b", 5.0)]), run(&[("a", 6.0), ("b", 7.0)])];
        Report::new(&["base", "test"].map(|sched| Settings::new("m", "w", sched)), &[11, 12], &vec![base, test])
    }

    #[test]
    fn pairs_are_those_in_which_both_runs_have_samples() {
        let report = report();
        let columns: Vec<_> = report.comparisons[0]
            .rows
            .iter()
            .map(|r| (r.metric.name.as_str(), r.base.clone(), r.test.clone()))
            .collect();
        assert_eq!(columns, [("a", vec![1.0, 1.0], vec![4.0, 6.0]), ("b", vec![2.0], vec![5.0])]);
    }

    #[test]
    fn other_machines_and_workloads_are_noted_as_other_draws() {
        let said = |test: Settings| {
            let runs = vec![vec![run(&[("a", 1.0)])], vec![run(&[("a", 2.0)])]];
            let report = Report::new(&[Settings::new("m", "w", "s"), test], &[1], &runs);
            report.notes.into_iter().find(|note| note.contains("draw")).unwrap_or_default()
        };
        assert_eq!(said(Settings::new("m", "w", "t")), "");
        assert!(said(Settings::new("n", "w", "s")).starts_with("the sides differ in machine: runs are paired by seed"));
        assert!(said(Settings::new("n", "x", "s")).starts_with("the sides differ in machine and workload: "));
    }

    fn run_with_hash(hash: u128) -> Result<RunReport, String> {
        Ok(RunReport { hash, ..run(&[("a", 1.0)]).unwrap() })
    }

    #[test]
    fn equal_hashes_are_said_to_be_the_same_run() {
        let said = |tests: Vec<Vec<Result<RunReport, String>>>| {
            let sides: Vec<Settings> = (0..=tests.len()).map(|i| Settings::new("m", "w", &format!("s{i}"))).collect();
            let base = vec![run_with_hash(1), run_with_hash(2)];
            let report = Report::new(&sides, &[1, 2], &[vec![base], tests].concat());
            let notes = report.notes.iter().filter(|note| note.contains("the same run")).cloned().collect::<Vec<_>>();
            (report.comparisons.iter().map(Comparison::identical).collect::<Vec<_>>(), notes)
        };
        let (same, other) = (vec![run_with_hash(1), run_with_hash(2)], vec![run_with_hash(1), run_with_hash(3)]);
        let why = "made the same run with every seed: no decision reached what differs";
        assert_eq!(said(vec![same.clone()]), (vec![true], vec![format!("base and test {why}")]));
        assert_eq!(said(vec![other.clone()]), (vec![false], vec![]));
        assert_eq!(said(vec![other, same]), (vec![false, true], vec![format!("base and s2 {why}")]));
        let failed = vec![Err("lost".into()), Err("lost".into())];
        assert_eq!(said(vec![failed]), (vec![false], vec![]), "without a pair nothing is proven");
    }

    #[test]
    fn what_has_too_few_samples_is_told_if_it_is_asked_for() {
        let whole = run(&[("a", 0.0), ("b", 0.0), ("c", 0.0)]).unwrap();
        let all: Vec<Metric> = whole.metrics.into_iter().map(|reading| reading.metric).collect();
        let mut report = report();
        let selected = "c,b".parse::<Selection>().unwrap().among(&all, vec![]).unwrap();
        report.keep(&[selected]);
        let notes: Vec<_> = report.notes.iter().filter(|note| note.contains("samples")).collect();
        assert_eq!(notes, ["0 of 2 pairs with test have samples for: c", "1 of 2 pairs with test have samples for: b"]);
    }

    /// Eight runs of a metric that is the 99th percentile of `samples`, near 3 or 9 by turns, of both sides.
    fn percentiles(samples: f64) -> Report {
        let metric = |name: &str| Metric::new(name, "us", Better::Lower, "");
        let percentile = Some(Percentile { permille: 990, samples: "n".into() });
        let run = |seed: u32| {
            let value = f64::from(seed % 2) * 6.0 + 3.0 + f64::from(seed) / 100.0;
            let metrics = vec![
                MetricValue { metric: Metric { percentile: percentile.clone(), ..metric("p99_us") }, value },
                MetricValue { metric: metric("n"), value: samples },
            ];
            Ok(RunReport { metrics, hash: 0, notes: vec![] })
        };
        let runs: Vec<_> = (0..8).map(run).collect();
        let sides = ["a", "b"].map(|sched| Settings::new("m", "w", sched));
        let mut report = Report::new(&sides, &(1..=8).collect::<Vec<_>>(), &vec![runs.clone(), runs]);
        let selected = "p99_us".parse::<Selection>().unwrap().among(&[metric("p99_us")], vec![]).unwrap();
        report.keep(&[selected]);
        report
    }

    #[test]
    fn percentiles_of_few_samples_and_modes_are_told() {
        let found = |samples| {
            let report = percentiles(samples);
            let few: Vec<String> = report.notes.iter().filter(|note| note.starts_with("few")).cloned().collect();
            let modes: Vec<String> = report.notes.iter().filter(|note| note.starts_with("bimodal")).cloned().collect();
            (report.comparisons[0].rows[0].change.verdict, few, modes)
        };
        let modes = "bimodal with b, runs by value: p99_us (base 4 about 3.030, 4 about 9.040; test 4 about 3.030, 4 about 9.040)";
        assert_eq!(found(368.0), (Verdict::Same, vec![], vec![modes.to_owned()]));
        let few = "few samples with b: runs have too few to show what lies beyond p99_us";
        assert_eq!(found(367.0), (Verdict::Unsure, vec![few.to_owned()], vec![modes.to_owned()]));
        let mut report = percentiles(367.0);
        report.sample_by(Sampling::UntilNarrow);
        assert_eq!(report.comparisons[0].rows[0].change.verdict, Verdict::Unsure);
    }

    #[test]
    fn figures_that_only_later_runs_have_stand_in_their_place() {
        let runs = [run(&[("a", 0.0), ("d", 0.0)]), run(&[("b", 0.0), ("d", 0.0)]), run(&[("a", 0.0), ("c", 0.0)])];
        let names: Vec<_> = metrics_of(runs.iter().flatten()).iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["b", "a", "c", "d"]);
    }
}
