//! Comparisons side by side: which of them share a base, and rows that need no line of their own.

use crate::comparison::{Comparison, Report, Row};

/// Comparisons of one base, in order; with other rows of the base (a run failed) a comparison stands alone.
pub fn with_one_base(report: &Report) -> Vec<&[Comparison]> {
    let same = |a: &Comparison, b: &Comparison| {
        let rows = a.rows.iter().zip(&b.rows);
        let have_one_base = rows.into_iter().all(|(a, b)| a.metric.name == b.metric.name && a.base == b.base);
        a.base.name == b.base.name && a.rows.len() == b.rows.len() && have_one_base
    };
    report.comparisons.chunk_by(same).collect()
}

/// The rows of comparisons of one base, a list for each metric: only those that are not 0 in all of them.
pub fn rows_beside<'a>(comparisons: &[&'a Comparison]) -> Vec<Vec<&'a Row>> {
    let rows = comparisons.first().map_or(0, |first| first.rows.len());
    let beside = |n: usize| comparisons.iter().map(|comparison| &comparison.rows[n]).collect::<Vec<&Row>>();
    (0..rows).map(beside).filter(|rows| !rows.iter().all(|row| is_zero(row))).collect()
}

/// A line with the metrics that are 0 on all sides; `None` if there is none.
pub fn zeros(comparisons: &[&Comparison]) -> Option<String> {
    let first = comparisons.first()?;
    let are_zero = |n: &usize| comparisons.iter().all(|comparison| is_zero(&comparison.rows[*n]));
    let names: Vec<&str> = (0..first.rows.len()).filter(are_zero).map(|n| first.rows[n].metric.name.as_str()).collect();
    let sides = if comparisons.len() > 1 { "all sides" } else { "both sides" };
    (!names.is_empty()).then(|| format!("0 on {sides}: {}", names.join(", ")))
}

/// Whether all runs of both sides gave 0, those on draws too.
pub fn is_zero(row: &Row) -> bool {
    let runs = row.base.iter().chain(&row.test).all(|value| *value == 0.0);
    runs && row.model.is_none_or(|model| model.p_better == 0.0 && model.p_worse == 0.0)
}
