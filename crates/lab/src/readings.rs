//! The figures of a run, in the order in which tables show them. Which they are depends on the workload alone.

use fairground_sim::RunMetrics;
use fairground_workload::{Score, Workload};

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

fn entries(workload: &Workload) -> impl Iterator<Item = &'static Entry> {
    let ops: &[Entry] = if workload.score == Score::OpsPerSec { &OPS } else { &[] };
    ops.iter().chain(&COMMON)
}

fn metric(e: &Entry) -> Metric {
    Metric { name: e.name.into(), unit: e.unit.into(), better: e.better, meaning: e.meaning.into() }
}

/// What every run of `workload` reports.
pub fn metrics(workload: &Workload) -> Vec<Metric> {
    entries(workload).map(metric).collect()
}

/// The figures of a run of `workload`.
pub fn readings(workload: &Workload, run: &RunMetrics) -> Vec<Reading> {
    entries(workload).map(|e| Reading { metric: metric(e), value: (e.read)(run) }).collect()
}
