//! As Arm's scheduler mails print: boxed, long form, raw sign (a positive perc_diff means more, not better).
//!
//! Those mails take geometric means; we take arithmetic ones and say so, because logarithms would come from libm.

use comfy_table::{presets, CellAlignment, Table};

use super::text::{finish, number, title, trailer};
use crate::comparison::{Comparison, Report, Row};

pub fn render(report: &Report) -> String {
    let mut out = format!("{}\n", title(report));
    for comparison in &report.comparisons {
        out.push_str(&table(comparison));
    }
    out.push_str(
        "perc_diff: + = more (raw sign); * better or worse: not by chance, all rows counted (5%), and of interest\n",
    );
    trailer(&mut out, report, "");
    out
}

fn table(comparison: &Comparison) -> String {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_FULL_CONDENSED);
    table.set_header(["chan_name", "metric", "kernel", "value", "perc_diff"]);
    for row in &comparison.rows {
        for line in lines(comparison, row) {
            table.add_row(line);
        }
    }
    for column in 3..=4 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    finish(&mut table)
}

fn lines(comparison: &Comparison, row: &Row) -> [[String; 5]; 2] {
    let (base, test) = (row.base_summary().mean, row.test_summary().mean);
    let star = if row.change.starred() { " *" } else { "" };
    let diff = row.change.improvement_pct.map_or("-".into(), |x| {
        let raw = row.metric.better.sign() * x;
        format!("{:.1}%{star}", if raw.abs() < 0.05 { 0.0 } else { raw })
    });
    let line = |kernel: &str, value, diff: String| {
        [row.metric.name.clone(), "mean".into(), kernel.into(), number(value), diff]
    };
    [line(&comparison.base.name, base, "0.0%".into()), line(&comparison.test.name, test, diff)]
}
