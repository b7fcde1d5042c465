//! A Markdown table per test.

use std::fmt::Write;

use super::text::{number, percent, percent_range, title, trailer};
use crate::comparison::{Comparison, Report, Row};

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
        over_draws(&mut out, comparison);
        if let Some(screening) = &comparison.doubt {
            let (metric, basis) = (&screening.metric, screening.basis());
            let _ = writeln!(out, "\nWhat {metric} is in doubt for, {basis}:\n\n```text");
            screening.lines().for_each(|line| {
                let _ = writeln!(out, "{line}");
            });
            let _ = writeln!(out, "```\n\n{}.", screening.advice());
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

/// The changes over draws of the figures in doubt.
fn over_draws(out: &mut String, comparison: &Comparison) {
    let drawn = comparison.rows.iter().filter_map(|row| Some((&row.metric.name, row.model.as_ref()?)));
    for (i, (name, model)) in drawn.enumerate() {
        if i == 0 {
            out.push_str("\n| over draws | median | 90 % interval | draws | |\n|---|--:|--:|--:|---|\n");
        }
        let interval = model.ci90.map_or("-".into(), percent_range);
        let (median, draws, words) = (percent(model.median_pct), model.draws, model.words());
        let _ = writeln!(out, "| {name} | {median} | {interval} | {draws} | {words} |");
    }
}

fn line(out: &mut String, row: &Row) {
    let m = &row.metric;
    let (base, test) = (number(row.base_summary().mean), number(row.test_summary().mean));
    let improvement = percent(row.change.improvement_pct);
    let interval = match row.change.ci95 {
        _ if row.change.exact => "exact".into(),
        Some(ends) => percent_range(ends),
        None => "-".into(),
    };
    let verdict = row.change.verdict;
    let (name, unit, better) = (&m.name, &m.unit, m.better.word());
    let _ = writeln!(out, "| {name} | {unit} | {better} | {base} | {test} | {improvement} | {interval} | {verdict} |");
}
