//! A Markdown table per test.

use std::fmt::Write;

use super::text::{number, percent, title, trailer};
use crate::comparison::{Report, Row};

pub fn render(report: &Report) -> String {
    let mut out = String::new();
    for comparison in &report.comparisons {
        let (base, test) = (&comparison.base.name, &comparison.test.name);
        let _ = writeln!(out, "`{}`, {} paired runs\n", title(report), comparison.pairs.len());
        let _ = writeln!(out, "| metric | unit | better | `{base}` | `{test}` | improvement | 95 % interval |");
        out.push_str("|---|---|---|--:|--:|--:|--:|\n");
        for row in &comparison.rows {
            line(&mut out, row);
        }
        out.push('\n');
    }
    out.push_str("Improvement: positive is better; `*`: the interval of the paired difference excludes zero.\n");
    trailer(&mut out, report, "- ");
    out
}

fn line(out: &mut String, row: &Row) {
    let m = &row.metric;
    let (base, test) = (number(row.base_summary().mean), number(row.test_summary().mean));
    let star = if row.change.starred() { " \\*" } else { "" };
    let improvement = percent(row.change.improvement_pct);
    let interval = row.change.ci95.map_or("-".into(), |c| c.map(|x| percent(Some(x))).join(" .. "));
    let (name, unit, better) = (&m.name, &m.unit, m.better.word());
    let _ = writeln!(out, "| {name} | {unit} | {better} | {base} | {test} | {improvement}{star} | {interval} |");
}
