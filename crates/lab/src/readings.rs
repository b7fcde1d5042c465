//! The figures of a run, in the order in which tables show them. Which they are depends on the workload alone.

use fairground_sim::{Histogram, RunMetrics};
use fairground_workload::{Score, Series, Workload};

use crate::metric::{Better, Metric, Reading};

/// One figure.
struct Entry {
    name: &'static str,
    unit: &'static str,
    better: Better,
    meaning: &'static str,
    read: fn(&RunMetrics) -> f64,
}

const fn entry(
    name: &'static str,
    unit: &'static str,
    better: Better,
    meaning: &'static str,
    read: fn(&RunMetrics) -> f64,
) -> Entry {
    Entry { name, unit, better, meaning, read }
}

/// Workloads that count operations.
const OPS: [Entry; 2] = [
    entry("ops_per_sec", "ops/s", Better::Higher, "operations per second of the measured window", |m| {
        m.ops_per_sec.unwrap_or(0.0)
    }),
    entry("migrations_per_op", "1/op", Better::Lower, "changes of CPU per operation, start-up not counted", |m| {
        m.migrations_per_op.unwrap_or(0.0)
    }),
];

/// All workloads.
const COMMON: [Entry; 7] = [
    entry("migrations", "count", Better::Lower, "changes of CPU by all tasks", |m| m.migrations as f64),
    entry(
        "wakeup_latency_mean_us",
        "us",
        Better::Lower,
        "start of a wakeup until the woken task can work: mean",
        |m| m.wakeup_latency.mean / 1e3,
    ),
    entry("wakeup_latency_p50_us", "us", Better::Lower, "the same: median", |m| m.wakeup_latency.p50 as f64 / 1e3),
    entry("wakeup_latency_p99_us", "us", Better::Lower, "the same: 99th percentile", |m| {
        m.wakeup_latency.p99 as f64 / 1e3
    }),
    entry(
        "run_delay_p99_us",
        "us",
        Better::Lower,
        "queued (woken, born, preempted) until working: 99th percentile",
        |m| m.run_delay.p99 as f64 / 1e3,
    ),
    entry("wasted_core_s", "s", Better::Lower, "core time in which a task waited while a CPU it may use idled", |m| {
        m.wasted_core_s
    }),
    entry("energy_j", "J", Better::Lower, "energy of CPUs and clusters in the measured window", |m| m.energy_j),
];

/// A run of a part of the work: what it took, besides what all of it would take.
const PART: [Entry; 1] =
    [entry("elapsed_s", "s", Better::Lower, "length of the measured part of the run", |m| m.window_ns as f64 / 1e9)];

/// Workloads whose loops are counted.
const LOOPS: [Entry; 1] =
    [entry("loops_per_min", "1/min", Better::Higher, "loops per minute, summed over all copies", |m| {
        m.ops_per_sec.unwrap_or(0.0) * 60.0
    })];

/// Shortest measured part of a run from which all of the work may be inferred, ns.
const PART_MIN_NS: u64 = 1_000_000_000;

fn of_entry(e: &Entry, run: &RunMetrics) -> Reading {
    let metric = Metric { name: e.name.into(), unit: e.unit.into(), better: e.better, meaning: e.meaning.into() };
    Reading { metric, value: (e.read)(run) }
}

fn reading(name: String, unit: &str, better: Better, meaning: String, value: f64) -> Reading {
    Reading { metric: Metric { name, unit: unit.into(), better, meaning }, value }
}

/// The workload's own figures by its marks.
fn of_score(score: Score, run: &RunMetrics) -> Vec<Reading> {
    let entries = |entries: &[Entry]| entries.iter().map(|e| of_entry(e, run)).collect();
    match score {
        Score::None => Vec::new(),
        Score::OpsPerSec => entries(&OPS),
        Score::LoopsPerMin => entries(&LOOPS),
        Score::Elapsed { parts } => {
            let meaning = "seconds from the start signal until all have ended, as the tool prints them";
            let time = run.window_ns as f64 / 1e9 * f64::from(parts);
            let mut readings = vec![reading("time_s".into(), "s", Better::Lower, meaning.into(), time)];
            if parts > 1 {
                readings.extend(PART.iter().map(|e| of_entry(e, run)));
            }
            readings
        }
        Score::Throughput { bytes_per_op } => {
            let meaning = format!("10^6 bytes per second, at {bytes_per_op} bytes an operation");
            let mb_per_s = run.ops_per_sec.unwrap_or(0.0) * f64::from(bytes_per_op) / 1e6;
            vec![reading("mb_per_s".into(), "MB/s", Better::Higher, meaning, mb_per_s)]
        }
    }
}

/// What the programs measured: mean and percentiles of a series, us.
fn of_series(series: &Series, samples: Option<&Histogram>) -> Vec<Reading> {
    let us = |ticks: f64| ticks * f64::from(series.tick_ns) / 1e3;
    let figure = |name: String, what: String, ticks: f64| {
        let (name, meaning) = (format!("{}_{name}_us", series.name), format!("{}: {what}", series.meaning));
        reading(name, "us", Better::Lower, meaning, us(ticks))
    };
    let mut readings = Vec::new();
    if series.mean {
        readings.push(figure("mean".into(), "mean".into(), samples.map_or(0.0, Histogram::mean)));
    }
    for permille in &series.permilles {
        let (name, what) = match permille {
            1000 => ("max".into(), "greatest".into()),
            p if p % 10 == 0 => (format!("p{}", p / 10), format!("{}th percentile", p / 10)),
            p => (format!("p{}_{}", p / 10, p % 10), format!("{}.{}th percentile", p / 10, p % 10)),
        };
        let ticks = match permille {
            1000 => samples.map_or(0, Histogram::max),
            p => samples.map_or(0, |s| s.permille_as_printed(u64::from(*p))),
        };
        readings.push(figure(name, what, ticks as f64));
    }
    readings
}

/// The figures of a run of `workload`.
pub fn readings(workload: &Workload, run: &RunMetrics) -> Vec<Reading> {
    let mut readings = of_score(workload.score, run);
    for (i, series) in workload.series.iter().enumerate() {
        readings.extend(of_series(series, run.series.get(i)));
    }
    readings.extend(COMMON.iter().map(|e| of_entry(e, run)));
    readings
}

/// What every run of `workload` reports.
pub fn metrics(workload: &Workload) -> Vec<Metric> {
    readings(workload, &RunMetrics::default()).into_iter().map(|r| r.metric).collect()
}

/// What must be said beside the figures of a run of `workload`.
pub fn notes(workload: &Workload, run: &RunMetrics) -> Vec<String> {
    let mut notes = Vec::new();
    if let Score::Elapsed { parts: parts @ 2.. } = workload.score {
        notes.push(format!("scale: 1/{parts} of the loops are run; time_s is {parts} times elapsed_s"));
        if run.window_ns < PART_MIN_NS {
            notes.push("scale: a run measured less than 1 s; start and exit weigh too much in its time_s".into());
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(score: Score, series: Vec<Series>) -> Workload {
        let machine = fairground_machine::Machine::symmetric(1);
        let (workload, _) = Workload::find("periodic:tasks=1", &machine).expect("a built-in");
        Workload { score, series, ..workload }
    }

    fn first(workload: &Workload, run: &RunMetrics, n: usize) -> Vec<(String, &'static str, f64)> {
        let all = readings(workload, run).into_iter().take(n);
        all.map(|r| (r.metric.name, r.metric.better.word(), r.value)).collect()
    }

    #[test]
    fn a_twentieth_of_the_loops_takes_a_twentieth_of_the_time() {
        let w = workload(Score::Elapsed { parts: 20 }, vec![]);
        let run = RunMetrics { window_ns: 1_500_000_000, ..RunMetrics::default() };
        let expected = [("time_s".to_string(), "lower", 30.0), ("elapsed_s".to_string(), "lower", 1.5)];
        assert_eq!(first(&w, &run, 2), expected);
        assert_eq!(notes(&w, &run).len(), 1);
        assert_eq!(notes(&w, &RunMetrics { window_ns: 999_999_999, ..run }).len(), 2);
        assert!(notes(&workload(Score::Elapsed { parts: 1 }, vec![]), &RunMetrics::default()).is_empty());
    }

    /// 60,000 operations a second of 5428 bytes are 325.68 MB/s, or 3.6 million loops a minute.
    #[test]
    fn operations_become_megabytes_or_loops() {
        let run = RunMetrics { ops_per_sec: Some(60_000.0), ..RunMetrics::default() };
        let mb = first(&workload(Score::Throughput { bytes_per_op: 5428 }, vec![]), &run, 1);
        assert_eq!(mb, [("mb_per_s".to_string(), "higher", 325.68)]);
        let loops = first(&workload(Score::LoopsPerMin, vec![]), &run, 1);
        assert_eq!(loops, [("loops_per_min".to_string(), "higher", 3_600_000.0)]);
    }

    /// Ten readings of 1 to 10 ticks of 1 us.
    #[test]
    fn a_series_shows_mean_and_percentiles_in_us() {
        let series = Series {
            name: "latency".into(),
            meaning: "x".into(),
            tick_ns: 1000,
            mean: true,
            permilles: vec![500, 995, 1000],
        };
        let mut samples = Histogram::default();
        (1..=10).for_each(|v| samples.record(v));
        let run = RunMetrics { series: vec![samples], ..RunMetrics::default() };
        let names = ["latency_mean_us", "latency_p50_us", "latency_p99_5_us", "latency_max_us"];
        let expected: Vec<_> =
            names.iter().zip([5.5, 5.0, 10.0, 10.0]).map(|(n, v)| (n.to_string(), "lower", v)).collect();
        assert_eq!(first(&workload(Score::None, vec![series]), &run, 4), expected);
    }
}
