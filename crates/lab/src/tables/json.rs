//! The documented schema of `compare`: one object, or a list of them with several tests.

use serde::Serialize;
use serde_json::Value;

use crate::comparison::{Comparison, Failure, Report, Row, Settings};
use crate::doubt::screening::Share;
use crate::doubt::ModelInterval;
use crate::published::PublishedBeside;
use crate::stats::{Summary, Verdict};
use fairground_run::metrics::Better;

/// Name and version of the schema; the number rises when a key changes its meaning.
pub const SCHEMA: &str = "fairground-compare-2";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    /// What all sides share, else null.
    machine: Option<&'a str>,
    workload: Option<&'a str>,
    sched: Option<&'a str>,
    /// Names of the sides: the settings that differ.
    base: &'a str,
    test: &'a str,
    /// All settings of the base, and of the test.
    base_settings: &'a Settings,
    test_settings: &'a Settings,
    /// Number of requested seeds.
    seeds: usize,
    /// Base and test made the same run with every seed.
    identical: bool,
    metrics: Vec<MetricEntry<'a>>,
    /// Which figures carry the doubt of `doubt_metric`, and the share that none does; left out without a screening.
    #[serde(skip_serializing_if = "Option::is_none")]
    doubt: Option<&'a [Share]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    doubt_metric: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    doubt_unattributed: Option<f64>,
    runs: Vec<RunPair>,
    published: &'a [PublishedBeside],
    provenance: Option<Value>,
    notes: &'a [String],
    failures: Vec<&'a Failure>,
}

#[derive(Serialize)]
struct MetricEntry<'a> {
    name: &'a str,
    unit: &'a str,
    better: Better,
    base: Summary,
    test: Summary,
    improvement_pct: Option<f64>,
    ci95: Option<[f64; 2]>,
    significant: Option<bool>,
    /// Test - base, in the metric's unit.
    diff: f64,
    diff_ci95: Option<[f64; 2]>,
    pairs_better: usize,
    pairs_worse: usize,
    /// No pair differs from another.
    exact: bool,
    p: Option<f64>,
    /// By Holm's rule over the metrics of this object.
    p_adjusted: Option<f64>,
    /// Smallest difference of interest, in the metric's unit.
    smallest: f64,
    verdict: Verdict,
    /// The change over draws of the figures in doubt; left out without draws.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<ModelInterval>,
}

/// The two event streams of a seed.
#[derive(Serialize)]
struct RunPair {
    seed: u64,
    base_hash: String,
    test_hash: String,
}

pub fn render(report: &Report) -> String {
    let documents: Vec<Document> = (0..report.comparisons.len()).map(|i| document(report, i)).collect();
    let text = match documents.as_slice() {
        [one] => serde_json::to_string_pretty(one),
        several => serde_json::to_string_pretty(several),
    };
    // Plain structs of strings and finite numbers: there is nothing that could fail.
    text.map(|t| t + "\n").unwrap_or_else(|e| unreachable!("{e}"))
}

/// The documents of all comparisons, as part of another one.
pub fn documents(report: &Report) -> Vec<Value> {
    let document = |i: usize| serde_json::to_value(document(report, i)).unwrap_or_default();
    (0..report.comparisons.len()).map(document).collect()
}

/// The document of the comparison of this number.
fn document(report: &Report, number: usize) -> Document<'_> {
    let comparison = &report.comparisons[number];
    let Comparison { base, test, .. } = comparison;
    let concerns = |f: &&Failure| f.side == base.name || f.side == test.name;
    Document {
        schema: SCHEMA,
        machine: report.common.get("machine"),
        workload: report.common.get("workload"),
        sched: report.common.get("sched"),
        base: &base.name,
        test: &test.name,
        base_settings: &base.settings,
        test_settings: &test.settings,
        seeds: report.seeds.len(),
        identical: comparison.identical(),
        metrics: comparison.rows.iter().map(metric).collect(),
        doubt: comparison.doubt.as_ref().map(|screening| screening.shares.as_slice()),
        doubt_metric: comparison.doubt.as_ref().map(|screening| screening.metric.as_str()),
        doubt_unattributed: comparison.doubt.as_ref().map(|screening| screening.unattributed),
        runs: comparison
            .pairs
            .iter()
            .map(|p| RunPair {
                seed: p.seed,
                base_hash: format!("{:032x}", p.base),
                test_hash: format!("{:032x}", p.test),
            })
            .collect(),
        published: &comparison.published,
        provenance: report.provenance.as_ref().map(|provenance| provenance.json(number + 1)),
        notes: &report.notes,
        failures: report.failures.iter().filter(concerns).collect(),
    }
}

fn metric(row: &Row) -> MetricEntry<'_> {
    let change = &row.change;
    MetricEntry {
        name: &row.metric.name,
        unit: &row.metric.unit,
        better: row.metric.better,
        base: row.base_summary(),
        test: row.test_summary(),
        improvement_pct: change.improvement_pct,
        ci95: change.ci95,
        significant: change.significant,
        diff: change.diff,
        diff_ci95: change.diff_ci95,
        pairs_better: change.signs[0],
        pairs_worse: change.signs[1],
        exact: change.exact,
        p: change.p,
        p_adjusted: change.p_adjusted,
        smallest: change.smallest,
        verdict: change.verdict,
        model: row.model,
    }
}
