//! As mmtests' compare-mmtests prints: mean, spread and extremes, one block per metric. Positive is better.
//!
//! mmtests stars a row when the two columns' own intervals do not overlap; ours are paired, so the star means what it
//! means everywhere here: the verdict on the row is better or worse.

use std::fmt::Write;

use super::columns::{rows_beside, with_one_base, zeros};
use super::text::{hundredths, number, title, trailer};
use crate::comparison::{Comparison, Report, Row};
use fairground_run::metrics::Better;

pub fn render(report: &Report) -> String {
    let mut out = format!("{}\n\n", title(report));
    let width = name_width(report);
    for comparisons in with_one_base(report) {
        let all: Vec<&Comparison> = comparisons.iter().collect();
        let base = &comparisons[0].base.name;
        let column = |name: &str| name.len().max(24);
        let (mut sides, mut names) = (format!("{:width$}", ""), format!("{:width$}", ""));
        let columns = std::iter::once(base).chain(all.iter().map(|comparison| &comparison.test.name));
        for (n, name) in columns.enumerate() {
            let (side, column) = (if n == 0 { "base" } else { "test" }, column(name));
            let _ = write!(sides, " {side:>column$}");
            let _ = write!(names, " {name:>column$}");
        }
        let _ = writeln!(out, "{sides}\n{names}");
        for rows in rows_beside(&all) {
            block(&mut out, width, column(base), &rows, |n| column(&all[n].test.name));
        }
        zeros(&all).iter().for_each(|zeros| _ = writeln!(out, "{zeros}"));
        out.push('\n');
    }
    let _ = writeln!(out, "(  n%) change, positive is better; *  n%* better or worse: not by chance, all rows counted (5%), and of interest");
    trailer(&mut out, report, "");
    out
}

fn name_width(report: &Report) -> usize {
    let names = report.comparisons.iter().flat_map(|c| &c.rows).map(|r| r.metric.name.len());
    names.max().unwrap_or(0) + "CoeffVar ".len()
}

/// The lines of a metric: a column for the base, then one for each test, as wide as `column` says.
fn block(out: &mut String, width: usize, base_column: usize, rows: &[&Row], column: impl Fn(usize) -> usize) {
    for (n, (statistic, base, ..)) in statistics(rows[0]).into_iter().enumerate() {
        let name = format!("{statistic:<8} {}", rows[0].metric.name);
        let base = format!("{} (   0.00%)", value(base));
        let _ = write!(out, "{name:width$} {base:>base_column$}");
        for (test, row) in rows.iter().enumerate() {
            let (_, base, figure, better) = statistics(row)[n];
            let change = change_pct(base, figure, better);
            let marked = statistic.ends_with("mean") && row.change.starred();
            let (open, close) = if marked { ('*', '*') } else { ('(', ')') };
            let (figure, column) = (format!("{} {open}{change}{close}", value(figure)), column(test));
            let _ = write!(out, " {figure:>column$}");
        }
        out.push('\n');
    }
}

/// Two decimals, as mmtests; what they would show as next to nothing has four digits.
fn value(x: f64) -> String {
    match x.abs() {
        size if size > 0.0 && size < 1.0 => number(x),
        _ => format!("{x:.2}"),
    }
}

/// mmtests takes the harmonic mean of rates and the arithmetic mean of times and counts.
fn statistics(row: &Row) -> [(&'static str, f64, f64, Better); 5] {
    let better = row.metric.better;
    let (base, test) = (row.base_summary(), row.test_summary());
    let (name, mean): (_, fn(&[f64]) -> f64) = match better {
        Better::Higher => ("Hmean", harmonic_mean),
        Better::Lower => ("Amean", |c| crate::stats::Summary::of(c).mean),
    };
    [
        ("Min", least(&row.base), least(&row.test), better),
        (name, mean(&row.base), mean(&row.test), better),
        ("Stddev", base.sd, test.sd, Better::Lower),
        ("CoeffVar", base.cv_pct(), test.cv_pct(), Better::Lower),
        ("Max", -least(&negated(&row.base)), -least(&negated(&row.test)), better),
    ]
}

fn least(column: &[f64]) -> f64 {
    column.iter().copied().reduce(f64::min).unwrap_or(0.0)
}

fn negated(column: &[f64]) -> Vec<f64> {
    column.iter().map(|x| -x).collect()
}

/// 0 if any value is 0, as in the limit.
fn harmonic_mean(column: &[f64]) -> f64 {
    if column.is_empty() || column.contains(&0.0) {
        return 0.0;
    }
    if column.iter().all(|x| *x == column[0]) {
        return column[0];
    }
    column.len() as f64 / column.iter().map(|x| 1.0 / x).sum::<f64>()
}

/// mmtests' pdiff and pndiff; `inf` where base is 0 and test is not.
fn change_pct(base: f64, test: f64, better: Better) -> String {
    if base == test {
        return format!("{:>7.2}%", 0.0);
    }
    if base == 0.0 {
        return format!("{:>8}", if better.sign() * test > 0.0 { "inf" } else { "-inf" });
    }
    format!("{:>7.2}%", hundredths(better.sign() * (test - base) / base.abs() * 100.0))
}
