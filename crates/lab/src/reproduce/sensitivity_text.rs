//! Text tables of `--sensitivity`: which estimates each change depends on.

use std::fmt::Write;

use comfy_table::{presets, CellAlignment, Table};

use crate::sensitivity::{FigureEffect, SensitiveRow, Sensitivity, SkippedFigure};
use crate::tables::{finish, number, percent};

/// A table of rows, and below it by which figures they move.
pub(super) fn text(out: &mut String, s: &Sensitivity) {
    let [down, up] = s.factors.map(number);
    let _ = writeln!(
        out,
        "\nsensitivity: every estimate of a row's machine x {down} and x {up}, one at a time; seeds 1 to {} at each",
        s.seeds
    );
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["row", "published", "ours", "from", "to", "tried", "flip its sign", "flip its verdict"]);
    for row in &s.rows {
        table.add_row(line(row));
    }
    for column in 1..8 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    out.push_str(&finish(&mut table));
    let count =
        |changes: fn(&SensitiveRow) -> &[FigureEffect]| s.rows.iter().filter(|row| !changes(row).is_empty()).count();
    let _ = writeln!(
        out,
        "in all {} of {} rows change their sign (of published changes above 2 sigma), {} their verdict",
        count(|row| &row.sign),
        s.rows.len(),
        count(|row| &row.verdict)
    );
    s.rows.iter().for_each(|row| movers(out, row));
    not_turned(out, &s.not_turned);
}

fn line(row: &SensitiveRow) -> [String; 8] {
    let [least, most] = row.range_pct.map_or([None, None], |ends| ends.map(Some));
    let sign = if row.published_pct.is_some() { row.sign.len().to_string() } else { "-".into() };
    [
        row.id.clone(),
        percent(row.published_pct),
        percent(row.ours_pct),
        percent(least),
        percent(most),
        row.tried.to_string(),
        sign,
        row.verdict.len().to_string(),
    ]
}

/// By which figures a row moves.
fn movers(out: &mut String, row: &SensitiveRow) {
    for (what, moved) in [("sign", &row.sign), ("verdict", &row.verdict), ("most", &row.most)] {
        if !moved.is_empty() {
            let words: Vec<String> = moved.iter().map(words).collect();
            let _ = writeln!(out, "{}: {what}: {}", row.id, words.join(", "));
        }
    }
}

fn words(moved: &FigureEffect) -> String {
    format!("{} x {} ({})", moved.figure, number(moved.factor), percent(Some(moved.ours_pct)))
}

fn not_turned(out: &mut String, not: &[SkippedFigure]) {
    for n in not {
        let times = n.times.as_ref().map_or(String::new(), |times| format!(" x {times}"));
        let _ = writeln!(out, "not perturbed: {} {}{times}: {}", n.machine, n.figure, n.why);
    }
}
