//! The scoreboard in Markdown: a table of all mails, and one of each mail's rows. These are the generated parts of
//! the pages in `docs/reproduction` ([`super::document`]).

use std::fmt::Write;

use super::over_draws;
use super::rows::{Kind, MailScore, ReproducedRow, Reproduction, Score};
use super::table::{self, maybe};
use crate::tables::{number, percent};

/// Everything; ends with a newline.
pub fn markdown(result: &Reproduction) -> String {
    let mut out = format!("# Published figures, repeated\n\n{}", scoreboard(result));
    for mail in &result.mails {
        let MailScore { mail, subject, author, date, .. } = mail;
        let _ =
            write!(out, "\n## {mail}\n\n{}, {}, {date}\n\n{}", cell(subject), cell(author), mail_table(result, mail));
    }
    let besides = table::supplement_tables(result);
    if !besides.is_empty() {
        let _ = write!(out, "\n```text\n{}\n```\n", besides.trim());
    }
    if !result.notes.is_empty() {
        out.push('\n');
        result.notes.iter().for_each(|note| {
            let _ = writeln!(out, "- {}", cell(note));
        });
    }
    if let Some(provenance) = &result.provenance {
        out.push('\n');
        provenance.text(&mut out, "- ");
    }
    out
}

/// The score of all mails.
pub(super) fn scoreboard(result: &Reproduction) -> String {
    let mut out = quick(result);
    out.push_str(
        "| mail | rows | scored | hits | hits of changes above 2 sigma | RMS error of ours | RMS of predicting zero |\n\
         |---|--:|--:|--:|--:|--:|--:|\n",
    );
    for mail in &result.mails {
        let _ = writeln!(out, "| {} {}", mail.mail, score(mail.rows, &mail.score));
    }
    let _ = writeln!(out, "| all {}", score(result.rows.len(), &result.score));
    if let Some([ours, zero]) = result.score.rms_without_largest {
        let _ =
            writeln!(out, "| all but the row of the largest change | | | | | {ours:.1} points | {zero:.1} points |");
    }
    over_draws::scoreboard(&mut out, result);
    out
}

fn score(rows: usize, s: &Score) -> String {
    let points = |x: Option<f64>| x.map_or("-".into(), |x| format!("{x:.1} points"));
    let (ours, zero) = (points(s.rms_ours), points(s.rms_zero));
    format!("| {rows} | {} | {} | {} of {} | {ours} | {zero} |", s.scored, s.hits, s.hits_of_changes, s.changes)
}

/// A table of the rows of a mail, with the notes that a comparison needs.
pub(super) fn mail_table(result: &Reproduction, mail: &str) -> String {
    let mut out = quick(result);
    let rows = || result.rows.iter().filter(|row| row.mail == mail);
    let is_drawn = rows().any(|row| row.model.is_some());
    let head = ["row", "published", "ours", "kind", "verdict"].into_iter();
    let head: Vec<&str> = head.chain(over_draws::ROW_HEAD.into_iter().filter(|_| is_drawn)).collect();
    let _ = writeln!(out, "| {} |\n|{}", head.join(" | "), "---|".repeat(head.len()));
    for row in rows() {
        let id = row.id.strip_prefix(&format!("{mail}/")).unwrap_or(&row.id);
        let (theirs, ours) = (cell(&published(row)), cell(&ours(row)));
        let _ = write!(out, "| {} | {theirs} | {ours} | {} | {} |", cell(id), table::word(row.kind), verdict(row));
        if is_drawn {
            let [ours, theirs, hit] = over_draws::row_cells(row);
            let _ = write!(
                out,
                " {ours} | {} | {} |",
                theirs.replace("OUTSIDE", "**outside**"),
                hit.replace("NO", "**no**")
            );
        }
        out.push('\n');
    }
    let mut notes = rows().filter_map(|row| Some((row, row.note.as_ref()?))).peekable();
    if notes.peek().is_some() {
        out.push('\n');
    }
    for (row, note) in notes {
        let _ = writeln!(out, "- `{}`: {}", row.id, cell(note));
    }
    out
}

/// The note on shortened runs; empty if runs were not shortened.
fn quick(result: &Reproduction) -> String {
    result.quick.as_ref().map_or(String::new(), |words| format!("**{words}**\n\n"))
}

fn published(row: &ReproducedRow) -> String {
    let p = &row.published;
    let change = p.improvement_pct.map_or("no percentage".into(), |pct| percent(Some(pct)));
    let sigma = p.base.and(p.test).map_or(String::new(), |_| format!(" (sigma {:.1})", p.sigma_pct));
    let other = p.other_base.map_or(String::new(), |base| {
        format!("; or {} -> {}, {}", number(base), maybe(p.test), percent(p.other_improvement_pct))
    });
    format!("{} -> {} {}, {change}{sigma}{other}", maybe(p.base), maybe(p.test), row.unit)
}

fn ours(row: &ReproducedRow) -> String {
    let Some(o) = &row.ours else { return "-".into() };
    let mark = |kind| if kind == Kind::Fitted { " (fitted)" } else { "" };
    let change = o.improvement_pct.map_or("no percentage".into(), |pct| percent(Some(pct)));
    let ci = table::interval(o.ci95);
    let (base, test) = (mark(row.cells.base), mark(row.cells.test));
    format!("{}{base} -> {}{test}, {change}{ci}", maybe(o.base), maybe(o.test))
}

/// The reason, a miss in bold.
fn verdict(row: &ReproducedRow) -> String {
    let why = cell(&row.why);
    match row.hit {
        Some(false) => why.replacen("miss", "**miss**", 1),
        _ => why,
    }
}

/// Text that stays within its cell and its line.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").split_whitespace().collect::<Vec<_>>().join(" ")
}
