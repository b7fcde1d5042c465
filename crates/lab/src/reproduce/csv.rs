//! The rows, comma-separated: one line per published row. An empty field is a figure that does not exist.

use super::rows::{ReproducedRow, Reproduction};
use super::table::word;
use crate::provenance::RowsProvenance;
use crate::tables::comma_separated;

const HEADER: [&str; 38] = [
    "mail",
    "id",
    "machine",
    "benchmark",
    "params",
    "metric",
    "unit",
    "published_base",
    "published_test",
    "published_pct",
    "published_sigma_pct",
    "base",
    "test",
    "improvement_pct",
    "ci95_lo",
    "ci95_hi",
    "n",
    "kind",
    "base_kind",
    "test_kind",
    "hit",
    "why",
    "quick",
    "model_median_pct",
    "model_ci50_lo",
    "model_ci50_hi",
    "model_ci90_lo",
    "model_ci90_hi",
    "model_p_better",
    "model_p_worse",
    "model_draws",
    "predictive_median_pct",
    "predictive_ci50_lo",
    "predictive_ci50_hi",
    "predictive_ci90_lo",
    "predictive_ci90_hi",
    "outside90",
    "hit_model",
];

/// All rows under a line of names; ends with a newline.
pub fn csv(result: &Reproduction) -> String {
    let rows = result.rows.iter().map(|row| record(row, result));
    comma_separated(HEADER.into_iter().chain(RowsProvenance::COLUMNS), rows)
}

fn record(row: &ReproducedRow, result: &Reproduction) -> Vec<String> {
    let own = result.provenance.as_ref().map(RowsProvenance::columns);
    let maybe = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
    let truth = |x: Option<bool>| x.map_or(String::new(), |x| x.to_string());
    let (p, o) = (&row.published, row.ours.as_ref());
    let ci = |end: usize| o.and_then(|o| o.ci95).map(|ci| ci[end]);
    let model = row.model.as_ref();
    let over_draws = model.map(|model| model.interval);
    let predictive = model.and_then(|model| model.predictive);
    let both_ends = |interval: Option<[f64; 2]>| [0, 1].map(|end| maybe(interval.map(|interval| interval[end])));
    let [ci50_lo, ci50_hi] = both_ends(over_draws.and_then(|model| model.ci50));
    let [ci90_lo, ci90_hi] = both_ends(over_draws.and_then(|model| model.ci90));
    let [predictive50_lo, predictive50_hi] = both_ends(predictive.and_then(|predictive| predictive.ci50));
    let [predictive90_lo, predictive90_hi] = both_ends(predictive.and_then(|predictive| predictive.ci90));
    let columns = [
        row.mail.clone(),
        row.id.clone(),
        row.machine.clone(),
        row.benchmark.clone(),
        row.params.clone(),
        row.metric.clone(),
        row.unit.clone(),
        maybe(p.base),
        maybe(p.test),
        maybe(p.improvement_pct),
        p.sigma_pct.to_string(),
        maybe(o.and_then(|o| o.base)),
        maybe(o.and_then(|o| o.test)),
        maybe(o.and_then(|o| o.improvement_pct)),
        maybe(ci(0)),
        maybe(ci(1)),
        o.map_or(String::new(), |o| o.n.to_string()),
        word(row.kind).into(),
        word(row.cells.base).into(),
        word(row.cells.test).into(),
        truth(row.hit),
        row.why.clone(),
        result.quick.clone().unwrap_or_default(),
        maybe(over_draws.and_then(|model| model.median_pct)),
        ci50_lo,
        ci50_hi,
        ci90_lo,
        ci90_hi,
        maybe(over_draws.map(|model| model.p_better)),
        maybe(over_draws.map(|model| model.p_worse)),
        over_draws.map_or(String::new(), |model| model.draws.to_string()),
        maybe(predictive.map(|predictive| predictive.median_pct)),
        predictive50_lo,
        predictive50_hi,
        predictive90_lo,
        predictive90_hi,
        truth(model.and_then(|model| model.outside90)),
        truth(row.hit_model),
    ];
    columns.into_iter().chain(own.unwrap_or_default()).collect()
}
