//! Our own layout: what was run, the figures, and what every printed number is.
//!
//! A row of the main table has one line where all rows fit the terminal so, else two: deviations, unit and verdict stand in
//! the second.

use std::fmt::Write;
use std::ops::RangeInclusive;

use comfy_table::{presets, CellAlignment, Table};

use super::columns::{is_zero, zeros};
use super::fold::wrap;
use super::text::{finish, mean_and_deviation, number, percent, percent_range, seed_range, trailer};
use crate::comparison::{Comparison, Report, Row};
use crate::stats::{Summary, SIGNIFICANT_PAIRS_MIN};
use fairground_run::metrics::Better;

/// `columns`: of the terminal.
pub fn render(report: &Report, columns: usize) -> String {
    let mut out = String::new();
    for comparison in &report.comparisons {
        heading(&mut out, report, comparison);
        figures(&mut out, comparison, columns);
    }
    trailer(&mut out, report, "");
    out
}

/// What the metrics and the columns of our own layout mean.
pub fn legend(report: &Report) -> String {
    let mut out = String::new();
    meanings(&mut out, report);
    legend_of_columns(&mut out);
    legend_of_draws(&mut out, report);
    out
}

fn figures(out: &mut String, comparison: &Comparison, columns: usize) {
    let _ = writeln!(out, "{}", table(comparison, columns));
    let below = [directions(comparison), zeros(&[comparison])];
    below.iter().flatten().for_each(|line| wrap(out, columns, "", 2, line));
    if below.iter().any(Option::is_some) {
        out.push('\n');
    }
    over_draws(out, comparison);
    screening(out, comparison);
}

/// Base and test of each comparison with their table, and what every number is; without what all sides share. `columns`: of
/// the terminal.
pub fn pairs(report: &Report, columns: usize) -> String {
    let mut out = String::new();
    for comparison in &report.comparisons {
        sides(&mut out, comparison);
        out.push('\n');
        figures(&mut out, comparison, columns);
    }
    legend_of_columns(&mut out);
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

fn table(comparison: &Comparison, columns: usize) -> String {
    let rows: Vec<[String; 8]> = comparison.rows.iter().filter(|row| !is_zero(row)).map(short_cells).collect();
    let one = rows.iter().map(|[metric, unit, _, rest @ ..]| [metric, unit].into_iter().chain(rest).cloned().collect());
    let [metric, unit, _, rest @ ..] = HEAD;
    let head = [metric, unit].into_iter().chain(rest).collect();
    let one = laid_out(head, one.collect(), 2..=5);
    if one.lines().all(|line| line.chars().count() <= columns) {
        return one;
    }
    let two = rows.iter().map(|[metric, unit, _, base, test, improvement, interval, verdict]| {
        let [base, test] = [base, test].map(|side| side.replace(" ± ", "\n± "));
        let improvement = format!("{improvement}\n{verdict}");
        vec![format!("{metric}\n  {unit}"), base, test, improvement, interval.clone()]
    });
    let [metric, _, _, base, test, improvement, interval, _] = HEAD;
    laid_out(vec![metric, base, test, improvement, interval], two.collect(), 1..=4)
}

/// The cells of a row, a difference without its unit where that stands beside it.
fn short_cells(row: &Row) -> [String; 8] {
    let [metric, unit, better, base, test, mut improvement, interval, verdict] = cells(row);
    if row.change.improvement_pct.is_none() && difference_unit(row) == unit {
        improvement = format!("{:+}", Plain(row.change.diff));
    }
    [metric, unit, better, base, test, improvement, interval, verdict]
}

/// A table with these columns to the right.
fn laid_out(head: Vec<&str>, rows: Vec<Vec<String>>, right: RangeInclusive<usize>) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(head);
    table.add_rows(rows);
    for column in right {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    finish(&mut table)
}

/// Which metrics of the table are better when they are higher; all others are better when they are lower.
fn directions(comparison: &Comparison) -> Option<String> {
    let shown: Vec<&Row> = comparison.rows.iter().filter(|row| !is_zero(row)).collect();
    let is_higher = |row: &&&Row| row.metric.better == Better::Higher;
    let higher: Vec<&str> = shown.iter().filter(is_higher).map(|row| row.metric.name.as_str()).collect();
    match (higher.len(), shown.len()) {
        (_, 0) => None,
        (0, _) => Some("lower is better".into()),
        (higher, all) if higher == all => Some("higher is better".into()),
        _ => Some(format!("higher is better: {}; lower: the others", higher.join(", "))),
    }
}

/// The cells of the table of a comparison, as [`HEAD`] says; metrics that are 0 on both sides are left out.
pub fn rows(comparison: &Comparison) -> Vec<[String; 8]> {
    comparison.rows.iter().filter(|row| !is_zero(row)).map(cells).collect()
}

/// The cells of the table over draws: metric, median, 90 % interval (`-`: none), number of draws, and what they say.
pub fn drawn_rows(comparison: &Comparison) -> Vec<[String; 5]> {
    let drawn = |row: &Row| {
        let model = row.model.as_ref()?;
        let interval = model.ci90.map_or("-".into(), percent_range);
        let median = percent(model.median_pct);
        Some([row.metric.name.clone(), median, interval, model.draws.to_string(), model.words()])
    };
    comparison.rows.iter().filter(|row| !is_zero(row)).filter_map(drawn).collect()
}

/// The changes over draws of the figures in doubt.
fn over_draws(out: &mut String, comparison: &Comparison) {
    let rows = drawn_rows(comparison);
    if !rows.is_empty() {
        let head = vec!["over draws", "median", "90 % interval", "draws", ""];
        let _ = writeln!(out, "{}", laid_out(head, rows.into_iter().map(Vec::from).collect(), 1..=3));
    }
}

/// Which figures carry the doubt, and what to measure.
fn screening(out: &mut String, comparison: &Comparison) {
    let Some(screening) = &comparison.doubt else { return };
    let _ = writeln!(out, "what {} is in doubt for, {}:", screening.metric, screening.basis());
    for line in screening.lines() {
        let _ = writeln!(out, "{line}");
    }
    let _ = writeln!(out, "{}\n", screening.advice());
}

fn legend_of_draws(out: &mut String, report: &Report) {
    if report.comparisons.iter().flat_map(|c| &c.rows).any(|row| row.model.is_some()) {
        out.push_str(
            "over draws     improvement on draws of the figures in doubt, base and test on the same one, a seed for each;\n\
             \x20              the interval holds 90 % of what the figures and seeds may give; what the model lacks is not in it: of\n\
             \x20              published changes it holds fewer (docs/reproduction)\n",
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
    match (change.ci95, change.diff_ci95) {
        _ if change.exact => "exact".into(),
        (Some(ends), _) => percent_range(ends),
        (None, Some([low, high])) => format!("{} .. {} {}", Plain(low), Plain(high), difference_unit(row)),
        (None, None) => "-".into(),
    }
}

fn spread(s: Summary) -> String {
    mean_and_deviation(s.mean, s.sd)
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

fn legend_of_columns(out: &mut String) {
    let _ = writeln!(
        out,
        "base, test     mean ± standard deviation over the seeds; one run per seed\n\
         improvement    mean of test - base, same seed on both sides, in percent of base's mean; positive is better;\n\
         \x20              from a base of 0: test - base in the metric's unit\n\
         95 % interval  of the improvement, by the paired differences and the spread of the base; where base may be\n\
         \x20              0 and with few pairs that of test - base, in the metric's unit; exact: no pair differs from\n\
         \x20              another\n\
         verdict        better, worse: the difference is above the smallest of interest, and not by chance (all rows\n\
         \x20              counted, 5 %); same: the interval is within the smallest difference of interest; unsure: neither\n\
         \x20              is known, as always below {SIGNIFICANT_PAIRS_MIN} pairs"
    );
}
