//! A Markdown table per test.

use std::fmt::Write;

use super::text::{number, percent, title, trailer};
use crate::comparison::{Report, Row};

pub fn render(report: &Report) -> String {
    let mut out = String::new();
    for comparison in &report.comparisons {
        let (base, test) = (&comparison.base.name, &comparison.test.name);
        let _ = writeln!(out, "`{}`, {} paired runs\n", title(report), comparison.pairs.len());
        let _ =
            writeln!(out, "| metric | unit | better | `{base}` | `{test}` | improvement | 95 % interval | verdict |");
        out.push_str("|---|---|---|--:|--:|--:|--:|---|\n");
        for row in &comparison.rows {
            line(&mut out, row);
        }
        out.push('\n');
    }
    out.push_str(
        "Improvement: positive is better. Verdict: above the smallest difference of interest and not by chance, all rows \
         counted; `same`: the interval is within that difference.\n",
    );
    trailer(&mut out, report, "- ");
    out
}

fn line(out: &mut String, row: &Row) {
    let m = &row.metric;
    let (base, test) = (number(row.base_summary().mean), number(row.test_summary().mean));
    let improvement = percent(row.change.improvement_pct);
    let interval = match row.change.ci95 {
        _ if row.change.exact => "exact".into(),
        Some(ci) => ci.map(|x| percent(Some(x))).join(" .. "),
        None => "-".into(),
    };
    let verdict = row.change.verdict;
    let (name, unit, better) = (&m.name, &m.unit, m.better.word());
    let _ = writeln!(out, "| {name} | {unit} | {better} | {base} | {test} | {improvement} | {interval} | {verdict} |");
}
