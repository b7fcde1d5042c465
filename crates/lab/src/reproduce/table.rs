//! Text tables of a reproduction: published values beside ours.

use std::fmt::Write;

use comfy_table::{presets, CellAlignment, Table};

use super::over_draws;
use super::rows::{Kind, ReproducedRow, Reproduction, Score};
use super::run_modes::ColumnModes;
use super::run_modes::RunMode;
use super::sensitivity_text;
use super::supplements;
use crate::ablation::Points;
use crate::cost_attribution::TERMS;
use crate::tables::{finish, number, percent};

/// JSON in the documented schema (docs/json.md).
pub fn json(result: &Reproduction) -> String {
    // Plain structs of strings and finite numbers: there is nothing that could fail.
    serde_json::to_string_pretty(result).map(|t| t + "\n").unwrap_or_else(|e| unreachable!("{e}"))
}

/// The table, the score, and what every number is; ends with a newline.
pub fn render(result: &Reproduction) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["row", "", "base", "test", "improvement", "95 % interval or sigma", "kind", "hit"]);
    for row in &result.rows {
        table.add_row(published(row));
        if row.published.other_base.is_some() {
            table.add_row(doubted(row));
        }
        table.add_row(ours(row));
    }
    for column in 2..=5 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut out = result.quick.as_ref().map_or(String::new(), |words| format!("{words}\n\n"));
    out.push_str(&finish(&mut table));
    over_draws::rows(&mut out, result);
    reasons(&mut out, result);
    totals(&mut out, result);
    out.push_str(&supplement_tables(result));
    if let Some(provenance) = &result.provenance {
        provenance.text(&mut out, "");
    }
    out
}

/// What stands beside the score: how runs spread, what carries changes, where they hold, and what was given.
pub(super) fn supplement_tables(result: &Reproduction) -> String {
    let mut out = String::new();
    spreads(&mut out, result);
    term_shares(&mut out, result);
    feature_pieces(&mut out, result);
    supplements::forms(&mut out, &result.rows);
    result.sweeps.iter().for_each(|s| supplements::sweep(&mut out, s));
    result.sensitivity.iter().for_each(|s| sensitivity_text::text(&mut out, s));
    result.given.iter().for_each(|table| supplements::given(&mut out, table));
    out
}

/// What each term carries, of the rows that were split and changed.
fn term_shares(out: &mut String, result: &Reproduction) {
    let mut split = result.rows.iter().filter(|r| !r.terms.is_empty()).peekable();
    if split.peek().is_none() {
        return;
    }
    out.push_str(
        "\nsplit by term: the change of a row on a machine where the term costs nothing, and what is missing then\n",
    );
    for row in split {
        let whole = row.ours.as_ref().and_then(|o| o.improvement_pct);
        let _ = writeln!(out, "{}: {}", row.id, percent(whole));
        for t in &row.terms {
            let share = t.share_points.map_or("-".into(), |x| format!("{x:+.2} points"));
            let interval = t.ci95.map_or("-".into(), |c| c.map(|x| percent(Some(x))).join(" .. "));
            let _ = writeln!(out, "    without {:<10} {:>10}  {interval:<24}  {share}", t.term, percent(t.without_pct));
        }
    }
    for t in &TERMS {
        let _ = writeln!(out, "{:<10} {}", t.name, t.meaning);
    }
}

/// How often each kind of run occurs, of the rows that have kinds.
fn spreads(out: &mut String, result: &Reproduction) {
    for row in &result.rows {
        let Some(spread) = &row.spread else { continue };
        let _ = writeln!(out, "\n{}: runs by {}", row.id, spread.by);
        for (name, side) in [("base", &spread.base), ("test", &spread.test)] {
            let _ = writeln!(out, "    {name}  {}", side_words(side));
        }
    }
}

fn side_words(side: &ColumnModes) -> String {
    let kind =
        |k: &RunMode| format!("{} in {} runs ({:.0} %), mean {}", number(k.value), k.n, k.share_pct, number(k.mean));
    let kinds: Vec<_> = side.kinds.iter().map(kind).collect();
    let quartiles = side.quartiles.map(number).join(" ");
    format!("{}; least, quartiles, greatest {quartiles}", kinds.join("; "))
}

/// What each feature adds and carries, of the rows that were taken apart.
fn feature_pieces(out: &mut String, result: &Reproduction) {
    let mut split = result.rows.iter().filter(|r| !r.features.is_empty()).peekable();
    if split.peek().is_none() {
        return;
    }
    out.push_str(
        "\nsplit by feature: added one after another, and left out one at a time with what needs it; * where the 95 % \
         interval excludes zero\n",
    );
    for row in split {
        let _ = writeln!(out, "{}: {}", row.id, percent(row.ours.as_ref().and_then(|o| o.improvement_pct)));
        for p in &row.features {
            let along = if p.along.is_empty() { String::new() } else { format!("(along: {})", p.along.join(" ")) };
            let (with, without) = (percent(p.with_pct), percent(p.without_pct));
            let (adds, carries) = (points(p.adds), points(p.carries));
            let line = format!(
                "    with {:<16} {with:>9}  adds {adds:<28}  without {without:>9}  carries {carries:<28} {along}",
                p.feature
            );
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }
    movers(out, result);
}

/// Which feature moves which row: those whose added points are beyond chance.
fn movers(out: &mut String, result: &Reproduction) {
    let mut features: Vec<&str> = Vec::new();
    let pieces = || result.rows.iter().flat_map(|row| row.features.iter().map(move |piece| (row, piece)));
    for (_, piece) in pieces() {
        if !features.contains(&piece.feature) {
            features.push(piece.feature);
        }
    }
    out.push_str("\nrows that a feature moves, added to those before it:\n");
    for feature in features {
        let moved = pieces().filter(|(_, p)| p.feature == feature).filter_map(|(row, p)| {
            let adds = p.adds.filter(|adds| adds.significant == Some(true))?;
            Some(format!("{} {:+.2}", row.id, adds.mean))
        });
        let moved: Vec<String> = moved.collect();
        let words = if moved.is_empty() { "none".into() } else { moved.join(", ") };
        let _ = writeln!(out, "    {feature:<16} {words}");
    }
}

/// Points with their interval; a star where that excludes zero.
fn points(points: Option<Points>) -> String {
    let Some(p) = points else { return "-".into() };
    let star = if p.significant == Some(true) { " *" } else { "" };
    let interval = p.ci95.map_or(String::new(), |[lo, hi]| format!(" [{lo:+.2}, {hi:+.2}]"));
    format!("{:+.2}{interval}{star}", p.mean)
}

fn published(row: &ReproducedRow) -> [String; 8] {
    let p = &row.published;
    [
        row.id.clone(),
        "published".into(),
        maybe(p.base),
        maybe(p.test),
        percent(p.improvement_pct),
        p.base.and(p.test).map_or("-".into(), |_| format!("± {:.2}", p.sigma_pct)),
        word(Kind::Given).into(),
        String::new(),
    ]
}

/// The other reading of a doubted base.
fn doubted(row: &ReproducedRow) -> [String; 8] {
    let p = &row.published;
    let cells = [maybe(p.other_base), maybe(p.test), percent(p.other_improvement_pct)];
    let [base, test, improvement] = cells;
    ["".into(), "or".into(), base, test, improvement, "-".into(), word(Kind::Given).into(), "".into()]
}

/// A figure that may be missing.
pub(super) fn maybe(value: Option<f64>) -> String {
    value.map_or("-".into(), number)
}

fn ours(row: &ReproducedRow) -> [String; 8] {
    let hit = match (row.hit, &row.ours) {
        (Some(true), _) => "yes",
        (Some(false), _) => "NO",
        (None, Some(_)) => "not scored",
        (None, None) => "-",
    };
    let Some(o) = &row.ours else {
        return ["", "ours", "-", "-", "-", "-", "-", hit].map(String::from);
    };
    let cell = |value, kind| if kind == Kind::Fitted { format!("{} (fitted)", maybe(value)) } else { maybe(value) };
    [
        String::new(),
        "ours".into(),
        cell(o.base, row.cells.base),
        cell(o.test, row.cells.test),
        percent(o.improvement_pct),
        o.ci95.map_or("-".into(), |c| c.map(|x| percent(Some(x))).join(" .. ")),
        word(row.kind).into(),
        hit.into(),
    ]
}

/// An interval of percentages in brackets, behind something; nothing if there is none.
pub(super) fn interval(ci: Option<[f64; 2]>) -> String {
    let end = |x: f64| if x.abs() < 0.05 { "0.0".into() } else { format!("{x:+.1}") };
    ci.map_or(String::new(), |ends| format!(" [{}]", ends.map(end).join(", ")))
}

/// The kind of a figure.
pub(super) fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Given => "given",
        Kind::Fitted => "fitted",
        Kind::Predicted => "predicted",
    }
}

fn reasons(out: &mut String, result: &Reproduction) {
    out.push('\n');
    for row in &result.rows {
        let _ = writeln!(out, "{}: {}", row.id, row.why);
        if let Some(note) = &row.note {
            let _ = writeln!(out, "    {note}");
        }
    }
}

fn totals(out: &mut String, result: &Reproduction) {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["mail", "hits", "of scored", "hits of changes", "of", "rms ours", "rms zero"]);
    for mail in &result.mails {
        table.add_row(total(&mail.mail, &mail.score));
    }
    table.add_row(total("all", &result.score));
    if let Some(rms) = result.score.rms_without_largest {
        let [ours, zero] = rms.map(|rms| rms_cell(Some(rms)));
        let dash = || String::from("-");
        table.add_row(["without the largest".into(), dash(), dash(), dash(), dash(), ours, zero]);
    }
    for column in 1..7 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let _ = write!(out, "\n{}", finish(&mut table));
    out.push_str(
        "\nimprovement  positive is better, in percent of base; ours: mean over the seeds, same seeds on both sides\n\
         kind         given: from the mail; fitted: a figure of the machine was fitted to it; predicted: ours alone\n\
         hit          published change above 2 sigma: same sign, and our interval overlaps it ± max(3, 2 sigma);\n\
         \x20            otherwise: our change within max(1, 2 sigma) of zero\n\
         changes      scored rows whose published change exceeds 2 sigma; no change at all hits the others\n\
         sigma        of both sides: the error that the mail prints, or the standard deviation of its printed runs; 2 without any\n\
         rms          points; ours: of our changes against the published ones; zero: of predicting no change at all, below\n\
         \x20            which ours means something; over the scored rows\n\
         \x20            but those in which ours is a change from 0: a miss without a percentage;\n\
         \x20            the largest: the row with the largest published change\n",
    );
    over_draws::scores(out, result);
    for note in &result.notes {
        let _ = writeln!(out, "note: {note}");
    }
}

fn rms_cell(x: Option<f64>) -> String {
    x.map_or("-".into(), |x| format!("{x:.2}"))
}

fn total(mail: &str, s: &Score) -> [String; 7] {
    let counts = [s.hits, s.scored, s.hits_of_changes, s.changes].map(|n| n.to_string());
    let [hits, scored, of_changes, changes] = counts;
    [mail.into(), hits, scored, of_changes, changes, rms_cell(s.rms_ours), rms_cell(s.rms_zero)]
}
