//! For a mailing list: ASCII, at most 80 columns, tests side by side, and what made it in one line.
//!
//! ```text
//! sched-pipe:loops=200 on hikey960, seeds 1-8
//!   base fair:v5.9
//!   [1]  fair:v5.11
//!
//!                           base             [1]
//! ops_per_sec             104560  +23.25%  0.59+
//! ```
//!
//! A cell is the improvement in percent of base, half of its 95 % interval, and the verdict in one character. Where base
//! is 0 it is the difference.

use std::fmt::Write;

use super::columns::{rows_beside, with_one_base, zeros};
use super::fold::{ascii, fold};
use super::text::{hundredths, number, seed_range, title};
use crate::comparison::{Comparison, Report, Row};
use crate::stats::{Change, Verdict};

/// Columns of a mail.
const WIDTH: usize = 80;

/// Columns of a test.
const CELL: usize = 16;

pub fn render(report: &Report) -> String {
    let mut out = String::new();
    lines(&mut out, &format!("{}, seeds {}", title(report), seed_range(&report.seeds)), 0);
    let mut number = 0;
    for comparisons in with_one_base(report) {
        let names = comparisons.iter().map(|comparison| &comparison.test.name);
        let first = number + 1;
        lines(&mut out, &format!("  base {}", comparisons[0].base.name), 7);
        for name in names {
            number += 1;
            lines(&mut out, &format!("  {:<4} {name}", tag(number)), 7);
        }
        out.push('\n');
        tables(&mut out, first, comparisons);
    }
    out.push_str("change in % of base, positive is better; half of its 95% interval, = exact;\n");
    out.push_str("+ better, - worse, ~ same, ? unsure\n");
    below(&mut out, report);
    out
}

/// What a test is called in the tables.
fn tag(number: usize) -> String {
    format!("[{number}]")
}

/// The tables of comparisons with one base: as many side by side as fit.
fn tables(out: &mut String, first: usize, comparisons: &[Comparison]) {
    let all: Vec<&Comparison> = comparisons.iter().collect();
    let rows = rows_beside(&all);
    let bases: Vec<String> = rows.iter().map(|rows| number(rows[0].base_summary().mean)).collect();
    let name = rows.iter().map(|rows| rows[0].metric.name.len()).max().unwrap_or(0);
    let base = bases.iter().map(String::len).max().unwrap_or(0).max("base".len()) + 1;
    let fit = (WIDTH.saturating_sub(name + base) / CELL).max(1);
    for begin in (0..comparisons.len()).step_by(fit) {
        let shown = begin..(begin + fit).min(comparisons.len());
        let tags: String = shown.clone().map(|n| format!("{:>CELL$}", tag(first + n))).collect();
        let _ = writeln!(out, "{:name$}{:>base$}{tags}", "", "base");
        for (rows, mean) in rows.iter().zip(&bases) {
            let cells: String = rows[shown.clone()].iter().map(|row| cell(row)).collect();
            let _ =
                writeln!(out, "{}", format!("{:name$}{mean:>base$}{cells}", ascii(&rows[0].metric.name)).trim_end());
        }
        out.push('\n');
    }
    if let Some(zeros) = zeros(&all) {
        lines(out, &zeros, 2);
        out.push('\n');
    }
    for (n, comparison) in (first..).zip(comparisons) {
        over_draws(out, n, comparison);
    }
}

/// The improvement, half of its interval and the verdict.
fn cell(row: &Row) -> String {
    let Change { improvement_pct, ci95, exact, .. } = &row.change;
    let mark = match row.change.verdict {
        Verdict::Better => '+',
        Verdict::Worse => '-',
        Verdict::Same => '~',
        Verdict::Unsure => '?',
    };
    let half = match ci95 {
        _ if *exact => "=".into(),
        Some([lo, hi]) => short((hi - lo) / 2.0),
        None => String::new(),
    };
    let change = match improvement_pct {
        Some(pct) if pct.abs() < 1000.0 => format!("{:+.2}%", hundredths(*pct)),
        Some(pct) => format!("{pct:+.0}%"),
        None => format!("{}{}", if row.change.diff > 0.0 { "+" } else { "" }, number(row.change.diff)),
    };
    let change = if change == "+0.00%" { "0.00%".into() } else { change };
    format!("{change:>10}{half:>5}{mark}")
}

/// A width in four characters or a little more.
fn short(x: f64) -> String {
    match x {
        x if x < 10.0 => format!("{x:.2}"),
        x if x < 100.0 => format!("{x:.1}"),
        x => format!("{x:.0}"),
    }
}

/// The changes over draws of the figures in doubt.
fn over_draws(out: &mut String, number: usize, comparison: &Comparison) {
    let rows = rows_beside(&[comparison]);
    let models: Vec<_> = rows.iter().filter_map(|rows| Some((&rows[0].metric.name, rows[0].model?))).collect();
    let Some(most) = models.iter().map(|(_, model)| model.draws).max() else { return };
    let _ = writeln!(out, "{} on {most} draws of the figures in doubt: median, 90% interval", tag(number));
    let width = models.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, model) in models {
        let interval =
            model.ci90.map_or(String::new(), |[lo, hi]| format!("[{:+.1}, {:+.1}]", hundredths(lo), hundredths(hi)));
        let words = match model.draws {
            n if n == most => model.words(),
            n => format!("{} ({n})", model.words()),
        };
        let median = model.median_pct.map_or("-".into(), |pct| format!("{:+.2}%", hundredths(pct)));
        let _ = writeln!(out, "{}", format!("{:width$}{median:>10}{interval:>20}  {words}", ascii(name)).trim_end());
    }
    out.push('\n');
}

/// Published rows, notes, failures, and what made it.
fn below(out: &mut String, report: &Report) {
    for comparison in &report.comparisons {
        for row in &comparison.published {
            let pct = row.improvement_pct.map_or("-".into(), |pct| format!("{pct:+.2}%"));
            let (author, date, subject) = (&row.author, &row.date, &row.subject);
            let said = format!("published: {} {pct} by {author}, {date}, {subject}", row.metric);
            lines(out, &said, 2);
        }
    }
    report.notes.iter().for_each(|note| lines(out, &format!("note: {note}"), 2));
    for failure in &report.failures {
        lines(out, &format!("FAILED: {} seed {}: {}", failure.side, failure.seed, failure.message), 2);
    }
    if let Some(provenance) = &report.provenance {
        let _ = writeln!(out, "{}", ascii(&provenance.line()));
        if let Some(command) = provenance.command() {
            lines(out, &format!("$ {command}"), 4);
        }
    }
}

/// Text in lines of at most [`WIDTH`] columns, those after the first indented by `indent`; blanks before it stay.
fn lines(out: &mut String, text: &str, indent: usize) {
    let lead = &text[..text.len() - text.trim_start().len()];
    fold(out, WIDTH, lead, indent, text);
}
