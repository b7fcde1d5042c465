//! As AMD's scheduler mails print: a header of what was measured, then means normalized to base, `[pct imp](CV)`.

use std::fmt::Write;

use super::columns::{rows_beside, with_one_base, zeros};
use super::text::{hundredths, title, trailer};
use crate::comparison::{Comparison, Report, Row};
use crate::stats::Summary;
use fairground_run::metrics::Better;

pub fn render(report: &Report) -> String {
    let mut out = String::new();
    for comparisons in with_one_base(report) {
        let all: Vec<&Comparison> = comparisons.iter().collect();
        heading(&mut out, report, &all);
        rows_beside(&all).iter().for_each(|rows| line(&mut out, rows));
        zeros(&all).iter().for_each(|zeros| _ = writeln!(out, " {zeros}"));
        out.push('\n');
    }
    trailer(&mut out, report, " ");
    out
}

fn heading(out: &mut String, report: &Report, comparisons: &[&Comparison]) {
    let bar = "=".repeat(66);
    let _ = writeln!(out, " {bar}");
    let _ = writeln!(out, " Test          : {}", title(report));
    let _ = writeln!(out, " base          : {}", comparisons[0].base.name);
    for (n, comparison) in comparisons.iter().enumerate() {
        let _ = writeln!(out, " {:<14}: {}", test(comparisons.len(), n), comparison.test.name);
    }
    let _ = writeln!(out, " Units         : Normalized to base; metric's own unit where base is 0");
    let _ = writeln!(
        out,
        " Interpretation: [pct imp] positive is better; (CV) in %; * better or worse (paired, all rows counted, 5%)"
    );
    let _ = writeln!(out, " Statistic     : Mean of {} paired runs", comparisons[0].pairs.len());
    let _ = writeln!(out, " {bar}");
    let tests: String = (0..comparisons.len())
        .map(|n| format!(" {:>23}  ", format!("{}[pct imp](CV)", test(comparisons.len(), n))))
        .collect();
    let _ = writeln!(out, "{}", format!(" {:<28} {:>23}{tests}", "Case:", "base[pct imp](CV)").trim_end());
}

/// What a test is called: by its number if there are several.
fn test(of: usize, n: usize) -> String {
    if of == 1 {
        "test".into()
    } else {
        format!("test{}", n + 1)
    }
}

fn line(out: &mut String, rows: &[&Row]) {
    let first = rows[0];
    let arrow = if first.metric.better == Better::Higher { "(up)" } else { "(down)" };
    let name = format!("{} {arrow}", first.metric.name);
    let base = first.base_summary();
    let norm = if base.mean == 0.0 { 1.0 } else { base.mean };
    let tests = rows.iter().map(|row| {
        let star = if row.change.starred() { "*" } else { "" };
        format!(" {:>23} {star:1}", cell(row.test_summary(), norm, row.change.improvement_pct))
    });
    let tests: String = tests.collect();
    let base = cell(base, norm, Some(0.0));
    let _ = writeln!(out, "{}", format!(" {name:<28} {base:>23}{tests}").trim_end());
}

fn cell(s: Summary, norm: f64, improvement: Option<f64>) -> String {
    let improvement = improvement.map_or("     -".into(), |x| format!("{:>6.2}", hundredths(x)));
    format!("{:.2} [{improvement}]({:>5.2})", s.mean / norm, s.cv_pct())
}
