//! As Arm's scheduler mails print: boxed, long form, raw sign (a positive perc_diff means more, not better).
//!
//! Those mails take geometric means; we take arithmetic ones and say so, because logarithms would come from libm.

use comfy_table::{presets, CellAlignment, Table};

use super::columns::{rows_beside, with_one_base, zeros};
use super::text::{finish, number, title, trailer};
use crate::comparison::{Comparison, Report, Row};

pub fn render(report: &Report) -> String {
    let mut out = format!("{}\n", title(report));
    for comparisons in with_one_base(report) {
        let all: Vec<&Comparison> = comparisons.iter().collect();
        out.push_str(&table(&all));
        zeros(&all).iter().for_each(|zeros| out.push_str(&format!("{zeros}\n")));
    }
    out.push_str(
        "perc_diff: + = more (raw sign); * better or worse: not by chance, all rows counted (5%), and of interest\n",
    );
    trailer(&mut out, report, "");
    out
}

/// All kernels of a metric below each other, the base first.
fn table(comparisons: &[&Comparison]) -> String {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_FULL_CONDENSED);
    table.set_header(["chan_name", "metric", "kernel", "value", "perc_diff"]);
    for rows in rows_beside(comparisons) {
        let base = rows[0].base_summary().mean;
        table.add_row(line(rows[0], &comparisons[0].base.name, base, "0.0%".into()));
        for (row, comparison) in rows.iter().zip(comparisons) {
            table.add_row(line(row, &comparison.test.name, row.test_summary().mean, difference(row)));
        }
    }
    for column in 3..=4 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    finish(&mut table)
}

fn line(row: &Row, kernel: &str, value: f64, difference: String) -> [String; 5] {
    [row.metric.name.clone(), "mean".into(), kernel.into(), number(value), difference]
}

fn difference(row: &Row) -> String {
    let star = if row.change.starred() { " *" } else { "" };
    row.change.improvement_pct.map_or("-".into(), |x| {
        let raw = row.metric.better.sign() * x;
        format!("{:.1}%{star}", if raw.abs() < 0.05 { 0.0 } else { raw })
    })
}
