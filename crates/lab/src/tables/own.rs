//! Our own layout: what was run, the figures, and what every printed number is.

use std::fmt::Write;

use comfy_table::{presets, CellAlignment, Table};

use super::columns::{is_zero, zeros};
use super::text::{finish, number, percent, seed_range, trailer};
use crate::comparison::{Comparison, Report, Row};
use crate::stats::{Summary, SIGNIFICANT_PAIRS_MIN};

pub fn render(report: &Report) -> String {
    let mut out = String::new();
    for comparison in &report.comparisons {
        heading(&mut out, report, comparison);
        figures(&mut out, comparison);
    }
    trailer(&mut out, report, "");
    out
}

/// What the metrics and the columns of our own layout mean.
pub fn legend(report: &Report) -> String {
    let mut out = String::new();
    meanings(&mut out, report);
    columns(&mut out);
    legend_of_draws(&mut out, report);
    out
}

fn figures(out: &mut String, comparison: &Comparison) {
    let _ = writeln!(out, "{}", table(comparison));
    if let Some(zeros) = zeros(&[comparison]) {
        let _ = writeln!(out, "{zeros}\n");
    }
    over_draws(out, comparison);
    screening(out, comparison);
}

/// Base and test of each comparison with their table, and what every number is; without what all sides share.
pub fn pairs(report: &Report) -> String {
    let mut out = String::new();
    for comparison in &report.comparisons {
        sides(&mut out, comparison);
        out.push('\n');
        figures(&mut out, comparison);
    }
    columns(&mut out);
    out
}

fn sides(out: &mut String, comparison: &Comparison) {
    let _ = writeln!(out, "base      {}", comparison.base.name);
    let _ = writeln!(out, "test      {}", comparison.test.name);
}

fn heading(out: &mut String, report: &Report, comparison: &Comparison) {
    for name in ["machine", "workload", "sched"] {
        let _ = report.common.get(name).map_or(Ok(()), |value| writeln!(out, "{name:8}  {value}"));
    }
    sides(out, comparison);
    let _ = writeln!(out, "seeds     {} (pairs of runs: {})\n", seed_range(&report.seeds), comparison.pairs.len());
}

/// The heads of [`rows`].
pub const HEAD: [&str; 8] = ["metric", "unit", "better", "base", "test", "improvement", "95 % interval", "verdict"];

fn table(comparison: &Comparison) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(HEAD);
    table.add_rows(rows(comparison));
    for column in 3..=6 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    finish(&mut table)
}

/// The cells of the table of a comparison, as [`HEAD`] says; metrics that are 0 on both sides are left out.
pub fn rows(comparison: &Comparison) -> Vec<[String; 8]> {
    comparison.rows.iter().filter(|row| !is_zero(row)).map(cells).collect()
}

/// The cells of the table over draws: metric, median, 90 % interval (`-`: none), number of draws, and what they say.
pub fn drawn_rows(comparison: &Comparison) -> Vec<[String; 5]> {
    let drawn = |row: &Row| {
        let model = row.model.as_ref()?;
        let interval = model.ci90.map_or("-".into(), |c| c.map(|pct| percent(Some(pct))).join(" .. "));
        let median = percent(Some(model.median_pct));
        Some([row.metric.name.clone(), median, interval, model.draws.to_string(), model.words()])
    };
    comparison.rows.iter().filter(|row| !is_zero(row)).filter_map(drawn).collect()
}

/// The changes over draws of the figures in doubt.
fn over_draws(out: &mut String, comparison: &Comparison) {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["over draws", "median", "90 % interval", "draws", ""]);
    table.add_rows(drawn_rows(comparison));
    for column in 1..=3 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    if table.row_count() > 0 {
        let _ = writeln!(out, "{}", finish(&mut table));
    }
}

/// Which figures carry the doubt, and what to measure.
fn screening(out: &mut String, comparison: &Comparison) {
    let Some(screening) = &comparison.doubt else { return };
    let _ = writeln!(out, "what {} is in doubt for, by {} draws:", screening.metric, screening.draws);
    for line in screening.lines() {
        let _ = writeln!(out, "{line}");
    }
    let _ = writeln!(out, "{}\n", screening.advice());
}

fn legend_of_draws(out: &mut String, report: &Report) {
    if report.comparisons.iter().flat_map(|c| &c.rows).any(|row| row.model.is_some()) {
        out.push_str(
            "over draws     improvement on draws of the figures in doubt, base and test on the same one, a seed for each;\n\
             \x20              the interval holds 90 % of what the figures and seeds may give\n",
        );
    }
}

/// A row, as [`HEAD`] says.
pub(super) fn cells(row: &Row) -> [String; 8] {
    let change = &row.change;
    // From a base of 0 there is no percentage: the difference is shown in the metric's own unit instead.
    let improvement = match change.improvement_pct {
        Some(_) => percent(change.improvement_pct),
        None => format!("{:+} {}", Plain(change.diff), difference_unit(row)),
    };
    [
        row.metric.name.clone(),
        row.metric.unit.clone(),
        row.metric.better.word().into(),
        spread(row.base_summary()),
        spread(row.test_summary()),
        improvement,
        interval(row),
        change.verdict.word().into(),
    ]
}

/// The unit of a difference between two values of a metric.
fn difference_unit(row: &Row) -> &str {
    match row.metric.unit.as_str() {
        "%" => "points",
        unit => unit,
    }
}

/// The interval in percent; where a percentage has none, that of the difference in the metric's own unit.
fn interval(row: &Row) -> String {
    let change = &row.change;
    let ends = match change.ci95 {
        _ if change.exact => return "exact".into(),
        Some(ci) => ci.map(|x| percent(Some(x))),
        None => match change.diff_ci95 {
            Some([low, high]) => [Plain(low).to_string(), format!("{} {}", Plain(high), difference_unit(row))],
            None => return "-".into(),
        },
    };
    ends.join(" .. ")
}

fn spread(s: Summary) -> String {
    if s.sd == 0.0 {
        number(s.mean)
    } else {
        format!("{} ± {}", number(s.mean), number(s.sd))
    }
}

/// A difference in a metric's own unit.
struct Plain(f64);

impl std::fmt::Display for Plain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if f.sign_plus() && self.0 > 0.0 { "+" } else { "" };
        write!(f, "{sign}{}", number(self.0))
    }
}

/// Appends the meaning of each metric of the first table.
fn meanings(out: &mut String, report: &Report) {
    let rows = report.comparisons.first().map_or(&[][..], |c| &c.rows);
    let width = rows.iter().map(|r| r.metric.name.len()).max().unwrap_or(0);
    for row in rows {
        let _ = writeln!(out, "{:width$}  {}", row.metric.name, row.metric.meaning);
    }
    out.push('\n');
}

fn columns(out: &mut String) {
    let _ = writeln!(
        out,
        "base, test     mean ± standard deviation over the seeds; one run per seed\n\
         improvement    mean of test - base, same seed on both sides, in percent of base's mean; positive is better;\n\
         \x20              from a base of 0: test - base in the metric's unit\n\
         95 % interval  of the improvement, by the paired differences and the spread of the base; where base may be 0 and\n\
         \x20              with few pairs that of test - base, in the metric's unit; exact: no pair differs from another\n\
         verdict        better, worse: the difference is above the smallest of interest, and not by chance (all rows\n\
         \x20              counted, 5 %); same: the interval is within the smallest difference of interest; unsure: neither\n\
         \x20              is known, as always below {SIGNIFICANT_PAIRS_MIN} pairs"
    );
}
