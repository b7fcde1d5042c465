//! As AMD's scheduler mails print: a header of what was measured, then means normalized to base, `[pct imp](CV)`.

use std::fmt::Write;

use super::text::{hundredths, title, trailer};
use crate::comparison::{Comparison, Report, Row};
use crate::stats::Summary;
use fairground_run::metrics::Better;

pub fn render(report: &Report) -> String {
    let mut out = String::new();
    for comparison in &report.comparisons {
        heading(&mut out, report, comparison);
        for row in &comparison.rows {
            line(&mut out, row);
        }
        out.push('\n');
    }
    trailer(&mut out, report, " ");
    out
}

fn heading(out: &mut String, report: &Report, comparison: &Comparison) {
    let bar = "=".repeat(66);
    let _ = writeln!(out, " {bar}");
    let _ = writeln!(out, " Test          : {}", title(report));
    let _ = writeln!(out, " base          : {}", comparison.base.name);
    let _ = writeln!(out, " test          : {}", comparison.test.name);
    let _ = writeln!(out, " Units         : Normalized to base; metric's own unit where base is 0");
    let _ = writeln!(
        out,
        " Interpretation: [pct imp] positive is better; (CV) in %; * better or worse (paired, all rows counted, 5%)"
    );
    let _ = writeln!(out, " Statistic     : Mean of {} paired runs", comparison.pairs.len());
    let _ = writeln!(out, " {bar}");
    let _ = writeln!(out, " {:<28} {:>23} {:>23}", "Case:", "base[pct imp](CV)", "test[pct imp](CV)");
}

fn line(out: &mut String, row: &Row) {
    let arrow = if row.metric.better == Better::Higher { "(up)" } else { "(down)" };
    let name = format!("{} {arrow}", row.metric.name);
    let (base, test) = (row.base_summary(), row.test_summary());
    let norm = if base.mean == 0.0 { 1.0 } else { base.mean };
    let star = if row.change.starred() { "*" } else { "" };
    let base = cell(base, norm, Some(0.0));
    let test = cell(test, norm, row.change.improvement_pct);
    let _ = writeln!(out, "{}", format!(" {name:<28} {base:>23} {test:>23} {star}").trim_end());
}

fn cell(s: Summary, norm: f64, improvement: Option<f64>) -> String {
    let improvement = improvement.map_or("     -".into(), |x| format!("{:>6.2}", hundredths(x)));
    format!("{:.2} [{improvement}]({:>5.2})", s.mean / norm, s.cv_pct())
}
