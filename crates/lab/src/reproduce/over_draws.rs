//! Tables of draws of the figures in doubt: what the rows are over them, and the proper score. All layouts take their cells
//! from here.

use std::fmt::Write;

use comfy_table::{presets, CellAlignment, Table};

use super::rows::{ReproducedRow, Reproduction, RowModel, Score};
use super::score::{Coverage, Crps, ProperScore};
use super::table;
use crate::tables::{finish, percent};

/// Heading of [`score_lines`].
pub(super) const SCORE_HEAD: [&str; 11] = [
    "mail",
    "rows with draws",
    "in 50 % interval",
    "mean width",
    "in 90 % interval",
    "mean width",
    "CRPS ours",
    "no change",
    "no change, spread of other mails",
    "hits by draws",
    "of changes",
];

/// Heading of [`row_cells`].
pub(super) const ROW_HEAD: [&str; 3] = ["over draws", "published, 90 % with sigma", "hit by draws"];

/// The proper score: a line for each mail, for all, for the median of the mails, and for all without the row of the largest
/// change. Empty if no scored row has draws.
pub(super) fn score_lines(result: &Reproduction) -> Vec<[String; 11]> {
    let Some(proper) = &result.proper else { return Vec::new() };
    let mails = result.mails.iter().filter_map(|mail| Some(score_line(&mail.mail, mail.proper.as_ref()?, &mail.score)));
    let mut lines: Vec<[String; 11]> = mails.collect();
    lines.push(score_line("all", &proper.all, &result.score));
    if lines.len() > 2 {
        lines.push(crps_line("median of mails", &proper.crps_median));
    }
    lines.extend(proper.crps_without_largest.map(|crps| crps_line("without the largest", &crps)));
    lines
}

fn score_line(name: &str, proper: &ProperScore, score: &Score) -> [String; 11] {
    let mut line = crps_line(name, &proper.crps);
    line[1] = proper.drawn_rows.to_string();
    for (i, coverage) in [(2, &proper.coverage50), (4, &proper.coverage90)] {
        let Some(coverage) = coverage else { continue };
        (line[i], line[i + 1]) = (coverage_cell(coverage, proper.drawn_rows), format!("{:.1}", coverage.width));
    }
    if let Some(model) = &score.model {
        line[9] = format!("{} of {}", model.hits_model, model.scored_model);
        line[10] = format!("{} of {}", model.hits_of_changes_model, model.changes_model);
    }
    line
}

/// A line that has CRPS alone.
fn crps_line(name: &str, crps: &Crps) -> [String; 11] {
    let mut line = [(); 11].map(|()| String::from("-"));
    line[0] = name.into();
    (line[6], line[7]) = (points(crps.ours), points(crps.no_change));
    line[8] = crps.no_change_wide.map_or("-".into(), points);
    line
}

fn points(x: f64) -> String {
    format!("{x:.2}")
}

/// The share of covered rows with its interval; and of how many rows, if not all have one.
fn coverage_cell(coverage: &Coverage, rows: usize) -> String {
    let ci = coverage.ci95.map_or(String::new(), |[lo, hi]| format!(" [{lo:.0}, {hi:.0}]"));
    let few = if coverage.rows < rows { format!(" of {} rows", coverage.rows) } else { String::new() };
    format!("{:.0} %{ci}{few}", coverage.pct)
}

/// The cells of a row in Markdown and on a page; `-` without draws.
pub(super) fn row_cells(row: &ReproducedRow) -> [String; 3] {
    let Some(model) = &row.model else { return [(); 3].map(|()| "-".into()) };
    let RowModel { interval, predictive, .. } = model;
    let (median, draws) = (percent(interval.median_pct), interval.draws);
    let ours = format!("{draws} draws: {median}{}, {}", table::interval(interval.ci90), interval.words());
    let theirs = predictive
        .and_then(|predictive| predictive.ci90)
        .map_or("-".into(), |ci90| format!("{}{}", place_of_published(model), table::interval(Some(ci90))));
    [ours, theirs, hit_word(row).into()]
}

/// Where the published change is.
fn place_of_published(model: &RowModel) -> &'static str {
    match model.outside90 {
        None => "-",
        Some(false) => "inside",
        Some(true) => "OUTSIDE",
    }
}

/// Hit or miss by the model interval.
fn hit_word(row: &ReproducedRow) -> &'static str {
    match row.hit_model {
        None => "-",
        Some(true) => "yes",
        Some(false) => "NO",
    }
}

/// Text: the rows over their draws; nothing without draws.
pub(super) fn rows(out: &mut String, result: &Reproduction) {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header([
        "over draws",
        "published",
        "median",
        "50 % interval",
        "90 % interval",
        "draws",
        "",
        "50 % with sigma",
        "90 % with sigma",
        "published is",
        "hit",
    ]);
    for row in &result.rows {
        let Some(model) = &row.model else { continue };
        let RowModel { interval, predictive, .. } = model;
        table.add_row([
            row.id.clone(),
            percent(row.published.improvement_pct),
            percent(interval.median_pct),
            interval_cell(interval.ci50),
            interval_cell(interval.ci90),
            interval.draws.to_string(),
            interval.words(),
            interval_cell(predictive.and_then(|predictive| predictive.ci50)),
            interval_cell(predictive.and_then(|predictive| predictive.ci90)),
            place_of_published(model).into(),
            hit_word(row).into(),
        ]);
    }
    if table.row_count() > 0 {
        for column in [1, 2, 3, 4, 5, 7, 8] {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let _ = write!(out, "\n{}", finish(&mut table));
    }
}

fn interval_cell(interval: Option<[f64; 2]>) -> String {
    interval.map_or("-".into(), |pair| pair.map(|pct| percent(Some(pct))).join(" .. "))
}

/// Text: the proper score, and what its columns and those of the rows are; nothing without draws.
pub(super) fn scores(out: &mut String, result: &Reproduction) {
    let lines = score_lines(result);
    if !lines.is_empty() {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING);
        table.set_header(SCORE_HEAD);
        table.add_rows(lines);
        for column in 1..SCORE_HEAD.len() {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let _ = write!(out, "\n{}", finish(&mut table));
    }
    if result.rows.iter().any(|row| row.model.is_some()) {
        out.push_str(
            "\nover draws   our change on draws of the figures in doubt, base and test on the same one, a seed for each\n\
             with sigma   what we predict for the printed figure: the draws with the error that the mail prints\n\
             by draws     hit by the same rule with the median and the 90 % interval over draws\n\
             in interval  rows whose published change is in the interval with sigma; in brackets the 95 % interval of that\n\
             \x20            share over mails and machines (bootstrap); mean width in points\n\
             CRPS         points, less is better; no change: with the error that the mail prints; spread of other mails:\n\
             \x20            what these print, about zero; the largest: the row with the largest published change\n",
        );
    }
}

/// Markdown: the proper score; nothing without draws.
pub(super) fn scoreboard(out: &mut String, result: &Reproduction) {
    let lines = score_lines(result);
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n| {} |\n|---|{}", SCORE_HEAD.join(" | "), "--:|".repeat(SCORE_HEAD.len() - 1));
    for line in lines {
        let _ = writeln!(out, "| {} |", line.join(" | "));
    }
}
