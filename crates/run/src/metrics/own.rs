//! The figures that a workload reports itself: its score, and what its programs measured.

use std::collections::BTreeSet;

use fairground_machine::{Machine, Source};
use fairground_sim::{Histogram, RunMetrics};
use fairground_workload::{Score, Series, TimeUnit, Workload};

use super::{percent, points, Entries, GREATEST_PCT, MIDDLE_PCT, TAIL_PCT};

/// Shortest measured part of a run from which all of the work may be inferred, ns.
const PART_MIN_NS: u64 = 1_000_000_000;

/// Bytes of a megabyte, as benchmarks count them.
const MB: f64 = 1e6;

fn ops_per_sec(run: &RunMetrics) -> f64 {
    run.ops_per_sec.unwrap_or(0.0)
}

/// The figures of a score, by the workload's marks.
pub(super) fn add_score(list: &mut Entries, score: &Score) {
    match score {
        Score::None => {}
        Score::OpsPerSec => {
            list.add("ops_per_sec", "ops/s", "operations per second of the measured window", ops_per_sec)
                .usual()
                .higher_is_better();
            let per_op = |m: &RunMetrics| m.migrations_per_op.unwrap_or(0.0);
            list.add("migrations_per_op", "1/op", "changes of CPU per operation, start-up not counted", per_op).usual();
        }
        Score::LoopsPerMin => {
            let per_min = |m: &RunMetrics| ops_per_sec(m) * 60.0;
            list.add("loops_per_min", "1/min", "loops per minute, summed over all copies", per_min)
                .usual()
                .higher_is_better();
        }
        Score::Elapsed { parts } => add_elapsed(list, *parts),
        Score::Points(points) => points::add(list, points),
        Score::Throughput { bytes_per_op } => {
            let bytes = f64::from(*bytes_per_op);
            let meaning = format!("10^6 bytes per second, at {bytes_per_op} bytes an operation");
            let mb_per_s = move |m: &RunMetrics| ops_per_sec(m) * bytes / MB;
            list.add("mb_per_s", "MB/s", &meaning, mb_per_s).usual().higher_is_better();
        }
    }
}

/// A run of a part of the work also reports its own time, besides that of the whole work.
fn add_elapsed(list: &mut Entries, parts: u32) {
    let elapsed = |m: &RunMetrics| m.window_ns as f64 / 1e9;
    let meaning = "seconds from the start signal until all have ended, as the tool prints them";
    list.add("time_s", "s", meaning, move |m| elapsed(m) * f64::from(parts)).usual();
    if parts > 1 {
        list.add("elapsed_s", "s", "length of the measured part of the run", elapsed).usual();
    }
}

/// What the programs measured: mean and percentiles of series number `i` of the workload, and its missed deadlines.
pub(super) fn add_series(list: &mut Entries, i: usize, series: &Series) {
    let (unit, unit_ns) = match series.unit {
        TimeUnit::Us => ("us", 1e3),
        TimeUnit::Ms => ("ms", 1e6),
    };
    let tick = f64::from(series.tick_ns) / unit_ns;
    let count = format!("{}_samples", series.name);
    let mut add = |part: &str, words: &str, smallest_pct, permille, ticks: Box<dyn Fn(&Histogram) -> f64>| {
        let (name, meaning) = (format!("{}_{part}_{unit}", series.name), format!("{}: {words}", series.meaning));
        let read = move |m: &RunMetrics| Some(ticks(samples(m, i)?) * tick);
        let entry = list.add_of_samples(&name, unit, &meaning, read).usual();
        entry.smallest_pct(smallest_pct).percentile(permille, &count);
        // The tool sees nothing below its tick.
        entry.metric.smallest.amount = entry.metric.smallest.amount.max(tick);
    };
    if series.mean {
        add("mean", "mean", MIDDLE_PCT, None, Box::new(Histogram::mean));
    }
    for permille in series.permilles.iter().copied() {
        let of_samples = move |s: &Histogram| s.permille_as_printed(u64::from(permille)) as f64;
        match permille {
            1000 => add("max", "greatest", GREATEST_PCT, None, Box::new(|s| s.max() as f64)),
            p if p % 10 == 0 => {
                let pct = if p > 500 { TAIL_PCT } else { MIDDLE_PCT };
                let words = format!("{}th percentile", p / 10);
                add(&format!("p{}", p / 10), &words, pct, Some(u32::from(p)), Box::new(of_samples));
            }
            p => {
                let (whole, tenth) = (p / 10, p % 10);
                let words = format!("{whole}.{tenth}th percentile");
                add(&format!("p{whole}_{tenth}"), &words, TAIL_PCT, Some(u32::from(p)), Box::new(of_samples));
            }
        }
    }
    let meaning = format!("{}: number of samples", series.meaning);
    list.add(&count, "count", &meaning, move |m| samples(m, i).map_or(0, Histogram::count) as f64);
    add_deadlines(list, i, series);
}

/// The samples of series number `i`, if there are any.
fn samples(run: &RunMetrics, i: usize) -> Option<&Histogram> {
    run.series.get(i).filter(|samples| samples.count() > 0)
}

/// How many samples of series number `i` came after each of its deadlines, and which share of all.
fn add_deadlines(list: &mut Entries, i: usize, series: &Series) {
    for (d, deadline) in series.deadlines.iter().enumerate() {
        let late = move |m: &RunMetrics| m.late.get(i).and_then(|late| late.get(d)).copied().unwrap_or(0);
        let after_ms = deadline.ticks as f64 * f64::from(series.tick_ns) / 1e6;
        let share = format!("{}: share of those that took more than {after_ms:.2} ms", series.meaning);
        let read = move |m: &RunMetrics| Some(percent(late(m), samples(m, i)?.count()));
        list.add_of_samples(&format!("{}_pct", deadline.name), "%", &share, read).usual();
        let count = format!("{}: number of those", series.meaning);
        list.add(&format!("{}_count", deadline.name), "count", &count, move |m| late(m) as f64).usual();
    }
}

/// Whether the score is a rate of operations.
fn counts_operations(score: &Score) -> bool {
    match score {
        Score::OpsPerSec | Score::LoopsPerMin | Score::Throughput { .. } => true,
        Score::None | Score::Elapsed { .. } | Score::Points(_) => false,
    }
}

/// Says so if no power figure of the machine has a source of its own.
fn borrowed_power(machine: &Machine) -> Option<String> {
    let mut lenders = BTreeSet::new();
    let mut all_lent = true;
    for figure in machine.figures.iter().filter(|figure| figure.is_power()) {
        let Source::Estimate(reason) = &figure.source else { return None };
        // As captures write it: `from NAME`, and more.
        let lender = reason.strip_prefix("from ").map(|rest| rest.split([',', ':', ' ']).next().unwrap_or(rest));
        all_lent &= lender.is_some();
        lenders.extend(lender);
    }
    match (all_lent, lenders.is_empty()) {
        (true, true) => None,
        (true, false) => {
            let lenders = lenders.into_iter().collect::<Vec<_>>().join(", ");
            Some(format!("energy: every power figure is borrowed from {lenders}, none is of this machine"))
        }
        (false, _) => Some("energy: every power figure is an estimate, none is measured or published".into()),
    }
}

/// The notes beside the figures of a run of `workload`.
pub fn notes(workload: &Workload, machine: &Machine, run: &RunMetrics) -> Vec<String> {
    let mut notes = Vec::new();
    if !machine.leaves_out.is_empty() {
        notes.push(format!("energy: leaves out {}", machine.leaves_out));
    }
    notes.extend(borrowed_power(machine));
    notes.extend(own_notes(workload, run));
    notes
}

/// Those of them that are about the figures which the workload reports itself.
pub fn own_notes(workload: &Workload, run: &RunMetrics) -> Vec<String> {
    let mut notes = Vec::new();
    if let Score::Elapsed { parts: parts @ 2.. } = workload.score {
        notes.push(format!("scale: 1/{parts} of the loops are run; time_s is {parts} times elapsed_s"));
        if run.window_ns < PART_MIN_NS {
            notes.push("scale: a run measured less than 1 s; start and exit weigh too much in its time_s".into());
        }
    }
    if let Score::Points(points) = &workload.score {
        notes.extend(points::notes(points, run));
    }
    if counts_operations(&workload.score) && run.ops == 0 {
        notes.push(
            "no operation ended in the measured part of the run: it is too short, its rate of 0 says nothing".into(),
        );
    }
    notes
}

#[cfg(test)]
mod tests {
    use fairground_workload::Deadline;

    use super::*;

    fn workload(score: Score) -> Workload {
        let machine = Machine::symmetric(1);
        let (workload, _) = Workload::find("periodic:tasks=1", &machine).expect("a built-in");
        Workload { score, ..workload }
    }

    /// Names, which way is better, and values.
    fn own(score: Score, series: Vec<Series>, run: &RunMetrics) -> Vec<(String, &'static str, f64)> {
        let mut list = Entries(Vec::new());
        add_score(&mut list, &score);
        series.iter().enumerate().for_each(|(i, series)| add_series(&mut list, i, series));
        list.0.iter().filter_map(|e| Some((e.metric.name.clone(), e.metric.better.word(), (e.read)(run)?))).collect()
    }

    #[test]
    fn a_twentieth_of_the_loops_takes_a_twentieth_of_the_time() {
        let w = workload(Score::Elapsed { parts: 20 });
        let run = RunMetrics { window_ns: 1_500_000_000, ..RunMetrics::default() };
        let expected = [("time_s".to_string(), "lower", 30.0), ("elapsed_s".to_string(), "lower", 1.5)];
        assert_eq!(own(w.score.clone(), vec![], &run), expected);
        let m = without_sources();
        assert_eq!(notes(&w, &m, &run).len(), 1);
        assert_eq!(notes(&w, &m, &RunMetrics { window_ns: 999_999_999, ..run }).len(), 2);
        assert!(notes(&workload(Score::Elapsed { parts: 1 }), &m, &RunMetrics::default()).is_empty());
    }

    /// A machine none of whose figures has a source, so that nothing is said of them.
    fn without_sources() -> Machine {
        Machine { figures: Vec::new(), ..Machine::symmetric(1) }
    }

    #[test]
    fn power_figures_that_all_come_from_elsewhere_are_told() {
        let told = |machine: &Machine| notes(&workload(Score::None), machine, &RunMetrics::default()).concat();
        assert!(told(&Machine::symmetric(1)).contains("every power figure is an estimate"));
        let mut lent = Machine::symmetric(1);
        for figure in &mut lent.figures {
            figure.source = Source::Estimate("from hikey960: its cores".into());
        }
        assert!(told(&lent).contains("every power figure is borrowed from hikey960"));
        assert_eq!(told(&Machine::preset("hikey960").unwrap()), "", "its operating points are published");
    }

    #[test]
    fn a_machine_says_what_its_energy_leaves_out() {
        let m = Machine { leaves_out: "memory".into(), ..without_sources() };
        assert_eq!(notes(&workload(Score::None), &m, &RunMetrics::default()), ["energy: leaves out memory"]);
    }

    /// A run that ends before its tasks begin to work is not a slow run.
    #[test]
    fn a_rate_without_operations_has_a_note() {
        let m = without_sources();
        let (none, one) = (RunMetrics::default(), RunMetrics { ops: 1, ..RunMetrics::default() });
        for score in [Score::OpsPerSec, Score::LoopsPerMin, Score::Throughput { bytes_per_op: 5428 }] {
            assert!(notes(&workload(score.clone()), &m, &none)[0].starts_with("no operation ended"));
            assert!(notes(&workload(score), &m, &one).is_empty());
        }
        assert!(notes(&workload(Score::None), &m, &none).is_empty());
    }

    /// 60,000 operations a second of 5428 bytes are 325.68 MB/s, or 3.6 million loops a minute.
    #[test]
    fn operations_become_megabytes_or_loops() {
        let run = RunMetrics { ops_per_sec: Some(60_000.0), ..RunMetrics::default() };
        let mb = own(Score::Throughput { bytes_per_op: 5428 }, vec![], &run);
        assert_eq!(mb, [("mb_per_s".to_string(), "higher", 325.68)]);
        let loops = own(Score::LoopsPerMin, vec![], &run);
        assert_eq!(loops, [("loops_per_min".to_string(), "higher", 3_600_000.0)]);
    }

    /// Ten readings of 1 to 10 ticks of 1 us.
    #[test]
    fn a_series_shows_mean_and_percentiles_in_us() {
        let series = Series {
            name: "latency".into(),
            meaning: "x".into(),
            tick_ns: 1000,
            unit: TimeUnit::Us,
            mean: true,
            permilles: vec![500, 995, 1000],
            deadlines: Vec::new(),
        };
        let mut samples = Histogram::default();
        (1..=10).for_each(|v| samples.record(v));
        let run = RunMetrics { series: vec![samples], ..RunMetrics::default() };
        let names = ["latency_mean_us", "latency_p50_us", "latency_p99_5_us", "latency_max_us", "latency_samples"];
        let expected: Vec<_> =
            names.iter().zip([5.5, 5.0, 10.0, 10.0, 10.0]).map(|(n, v)| (n.to_string(), "lower", v)).collect();
        assert_eq!(own(Score::None, vec![series], &run), expected);
    }

    /// Of ten samples of 1 to 10 ticks of half a ms, two are over 4 ms and none over 5.
    #[test]
    fn a_series_shows_missed_deadlines_and_its_times_in_its_unit() {
        let deadline = |name: &str, ticks| Deadline { name: name.into(), ticks };
        let series = Series {
            name: "frame".into(),
            meaning: "x".into(),
            tick_ns: 500_000,
            unit: TimeUnit::Ms,
            mean: true,
            permilles: vec![500],
            deadlines: vec![deadline("jank", 8), deadline("bad", 10)],
        };
        let mut samples = Histogram::default();
        (1..=10).for_each(|v| samples.record(v));
        let run = RunMetrics { series: vec![samples], late: vec![vec![2, 0]], ..RunMetrics::default() };
        let expected = [
            ("frame_mean_ms", 2.75),
            ("frame_p50_ms", 2.5),
            ("frame_samples", 10.0),
            ("jank_pct", 20.0),
            ("jank_count", 2.0),
            ("bad_pct", 0.0),
            ("bad_count", 0.0),
        ];
        let expected = expected.map(|(name, value)| (name.to_string(), "lower", value));
        assert_eq!(own(Score::None, vec![series.clone()], &run), expected);
        assert!(own(Score::None, vec![series], &RunMetrics::default()).iter().all(|(_, _, value)| *value == 0.0));
    }
}
