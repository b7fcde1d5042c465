//! Supplements printed below the score: robustness, and the values that a mail gives.

use std::fmt::Write;

use comfy_table::{presets, CellAlignment, Table};

use super::rows::ReproducedRow;
use crate::published::GivenTable;
use crate::robustness::{Robustness, RobustnessRow};
use crate::tables::{finish, number, percent};

/// Forms of the patches of which nothing is published.
pub(super) fn forms(out: &mut String, rows: &[ReproducedRow]) {
    if rows.iter().all(|row| row.forms.is_empty()) {
        return;
    }
    out.push_str("\nother forms, of which nothing is published\n");
    let mut table = plain();
    table.set_header(["row", "base", "test", "ours", "improvement", "95 % interval"]);
    for row in rows {
        for (n, form) in row.forms.iter().enumerate() {
            let id = if n == 0 { row.id.clone() } else { String::new() };
            let interval = form.ci95.map_or("-".into(), |c| c.map(|x| percent(Some(x))).join(" .. "));
            table.add_row([
                id,
                form.base.clone(),
                form.test.clone(),
                number(form.value),
                percent(form.improvement_pct),
                interval,
            ]);
        }
    }
    align_right(&mut table, 3..6);
    out.push_str(&finish(&mut table));
}

/// A table that was given, both columns of a row one below the other.
pub(super) fn given(out: &mut String, table: &GivenTable) {
    let _ = writeln!(out, "\ngiven: {}; {}", table.what, table.why);
    let mut shown = plain();
    shown.set_header(["", ""].into_iter().chain(table.columns.iter().map(String::as_str)));
    for row in &table.rows {
        let columns = [("base", &row.base), ("test", &row.test)];
        for (column, cells) in columns.into_iter().filter(|(_, cells)| !cells.is_empty()) {
            let cell = |x: &f64| if x.is_finite() { number(*x) } else { "-".into() };
            shown.add_row([row.name.clone(), column.into()].into_iter().chain(cells.iter().map(cell)));
        }
    }
    align_right(&mut shown, 2..2 + table.columns.len());
    out.push_str(&finish(&mut shown));
}

/// What was moved, and where each sign holds.
pub(super) fn sweep(out: &mut String, sweep: &Robustness) {
    let (points, seeds) = (sweep.points, sweep.seeds);
    let _ = writeln!(
        out,
        "\nsweep of mail {}: {points} points of a Latin hypercube, seeds 1 to {seeds} at each, over",
        sweep.mail
    );
    for moved in &sweep.moved {
        let _ = writeln!(out, "    {:<60} {} to {}", moved.what, number(moved.low), number(moved.high));
    }
    let mut table = plain();
    table.set_header(["row", "published", "sign holds", "of the range", "ours from", "to"]);
    sweep.rows.iter().for_each(|row| {
        table.add_row(swept(row));
    });
    align_right(&mut table, 1..6);
    out.push_str(&finish(&mut table));
}

fn swept(row: &RobustnessRow) -> [String; 6] {
    let [least, greatest] = row.ours_pct.map_or([None, None], |ends| ends.map(Some));
    [
        row.id.clone(),
        percent(Some(row.published_pct)),
        format!("{} of {}", row.holds, row.of),
        row.share_pct.map_or("-".into(), |share| format!("{share:.0} %")),
        percent(least),
        percent(greatest),
    ]
}

fn plain() -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table
}

fn align_right(table: &mut Table, columns: std::ops::Range<usize>) {
    for column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}
