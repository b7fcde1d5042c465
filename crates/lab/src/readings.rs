//! The figures of a run, in the order in which tables show them.

use fairground_sim::RunMetrics;
use fairground_workload::{Score, Workload};

use crate::metric::{Better, Metric, Reading};

/// What every run of `workload` reports.
pub fn metrics(workload: &Workload) -> Vec<Metric> {
    readings(workload, &RunMetrics::default()).into_iter().map(|r| r.metric).collect()
}

/// The figures of a run of `workload`; which they are does not depend on the run.
pub fn readings(workload: &Workload, m: &RunMetrics) -> Vec<Reading> {
    let us = |ns: u64| ns as f64 / 1e3;
    let mut list = Vec::new();
    let mut add = |name: &str, unit: &str, better, value: f64| {
        list.push(Reading { metric: Metric { name: name.into(), unit: unit.into(), better }, value });
    };
    if workload.score == Score::OpsPerSec {
        add("ops_per_sec", "ops/s", Better::Higher, m.ops_per_sec.unwrap_or(0.0));
        add("migrations_per_op", "1/op", Better::Lower, m.migrations_per_op.unwrap_or(0.0));
    }
    add("migrations", "count", Better::Lower, m.migrations as f64);
    add("wakeup_latency_mean_us", "us", Better::Lower, m.wakeup_latency.mean / 1e3);
    add("wakeup_latency_p50_us", "us", Better::Lower, us(m.wakeup_latency.p50));
    add("wakeup_latency_p99_us", "us", Better::Lower, us(m.wakeup_latency.p99));
    add("run_delay_p99_us", "us", Better::Lower, us(m.run_delay.p99));
    add("wasted_core_s", "s", Better::Lower, m.wasted_core_s);
    add("energy_j", "J", Better::Lower, m.energy_j);
    list
}
