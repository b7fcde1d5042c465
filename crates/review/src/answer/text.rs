//! The answer for the list: 72 columns of ASCII, to be pasted below a cover letter's `---`.

use std::fmt::Write;

use fairground_lab::stats::Verdict;
use fairground_lab::tables::{ascii, fold, number};

use super::{mean, percent, range, Review};
use crate::decisions::Explained;
use crate::measure::{Judged, Measured};
use crate::series::plural;
use crate::stages::Member;

/// Columns of a mail.
const WIDTH: usize = 72;
/// Most rules of a machine that are shown.
const RULES: usize = 6;

/// The answer as text.
pub fn text(review: &Review) -> String {
    let mut out = Out(String::new());
    out.line(&review.title());
    out.blank();
    out.wrapped("", &format!("{}.", review.verdict()));
    out.blank();
    out.head("Patches");
    for (number, member) in (1..).zip(&review.stages.members) {
        patch(&mut out, review, number, member);
    }
    if review.stages.members.is_empty() {
        out.line("  none");
    }
    out.field("series", &review.stages.source);
    out.field("base", &review.stages.base);
    if review.stages.stages.len() > 1 {
        out.field("matrix", &review.judged_by());
        rows(&mut out, review, "Worse", &review.worse());
        rows(&mut out, review, "Better", &review.better());
        out.blank();
        rest(&mut out, review);
    }
    decisions(&mut out, review);
    list(&mut out, "Host time of a decision", &review.costs());
    list(&mut out, "Failed", &review.failed_runs());
    list(&mut out, "Not judged here", &review.not_judged());
    out.blank();
    out.wrapped(
        "",
        &format!(
            "made by fairground {} ({}), program {}",
            review.by.version,
            review.by.commit,
            &review.by.program_hash[..12]
        ),
    );
    if let Some(command) = &review.by.command {
        out.command(command);
    }
    out.0
}

/// A text whose lines keep to the width.
struct Out(String);

impl Out {
    fn blank(&mut self) {
        if !self.0.ends_with("\n\n") {
            self.0.push('\n');
        }
    }

    /// One line, cut at the width.
    fn line(&mut self, text: &str) {
        let text = ascii(text);
        let cut = if text.len() > WIDTH { format!("{}...", &text[..WIDTH - 3]).into() } else { text };
        let _ = writeln!(self.0, "{}", cut.trim_end());
    }

    fn head(&mut self, title: &str) {
        self.blank();
        self.line(title);
        self.line(&"-".repeat(title.len()));
    }

    /// Text in lines that begin with `indent`. Its own line ends and blanks at the begin of lines stay.
    fn wrapped(&mut self, indent: &str, text: &str) {
        for line in ascii(text).lines() {
            let own = &line[..line.len() - line.trim_start().len()];
            self.hanging(&format!("{indent}{own}"), indent.len() + own.len() + 2, line);
        }
    }

    /// One paragraph behind `begin`; further lines are indented by so much.
    fn hanging(&mut self, begin: &str, indent: usize, text: &str) {
        fold(&mut self.0, WIDTH, begin, indent, text);
    }

    fn field(&mut self, name: &str, text: &str) {
        self.wrapped("  ", &format!("{name}: {text}"));
    }

    /// A command, folded so that it can be pasted.
    fn command(&mut self, command: &str) {
        let mut current = String::from("  $");
        for word in ascii(command).split(' ') {
            if current.len() > 3 && current.len() + word.len() + 3 > WIDTH {
                let _ = writeln!(self.0, "{current} \\");
                current = "     ".into();
            }
            let _ = write!(current, " {word}");
        }
        let _ = writeln!(self.0, "{current}");
    }
}

fn patch(out: &mut Out, review: &Review, number: usize, member: &Member) {
    let all = review.stages.count();
    out.line(&format!("  {number}/{all}  {}", member.title));
    if let Some(fate) = review.fate(member) {
        out.wrapped("       ", &fate);
    }
}

fn rows(out: &mut Out, review: &Review, title: &str, rows: &[(&Measured, &Judged)]) {
    if rows.is_empty() {
        return;
    }
    out.head(title);
    let mut last: Option<String> = None;
    // Cells in the order of their largest change, the rows of a cell together.
    let mut ordered: Vec<(&Measured, &Judged)> = Vec::new();
    for (cell, _) in rows {
        if !ordered.iter().any(|(known, _)| std::ptr::eq(*known, *cell)) {
            ordered.extend(rows.iter().filter(|(other, _)| std::ptr::eq(*other, *cell)));
        }
    }
    for (cell, judged) in ordered {
        let name = review.cell_name(cell);
        if last.as_ref() != Some(&name) {
            out.blank();
            out.wrapped("", &name);
            let _ = writeln!(out.0, "  {:<24} {:>18} {:>26}", "", "base", "series");
            last = Some(name);
        }
        row(out, review, judged);
    }
}

fn row(out: &mut Out, review: &Review, judged: &Judged) {
    let row = &judged.row;
    let (base, test) = (number(mean(&row.base)), number(mean(&row.test)));
    let change = match row.change.improvement_pct {
        Some(_) => percent(row.change.improvement_pct).replace(' ', ""),
        None => "from 0".into(),
    };
    let test = format!("{test} *{change:>9}*");
    let _ = writeln!(out.0, "  {:<24} {base:>18} {test:>26}", row.metric.name);
    let seeds = match row.change.ci95 {
        Some(ends) => format!("{} %", range(Some(ends))),
        None => format!("{} {}", range(row.change.diff_ci95), row.metric.unit),
    };
    let model = match row.model.and_then(|model| Some((model, model.ci90?))) {
        Some((model, ends)) => format!("; model {} % ({})", range(Some(ends)), model.words()),
        None => String::new(),
    };
    out.wrapped("    ", &format!("seeds {seeds}{model}"));
    if review.stages.stages.len() > 2 {
        out.wrapped("    ", &format!("by {}", review.attribution(judged).join("; ")));
    }
}

/// What the other rows and cells show.
fn rest(out: &mut Out, review: &Review) {
    let (same, unsure) =
        (review.measured.of_verdict(Verdict::Same).len(), review.measured.of_verdict(Verdict::Unsure).len());
    out.wrapped(
        "",
        &format!(
        "Positive is better. Stars: not by chance, all rows counted, and large enough to matter. Same: {}; unsure: {}.",
        plural(same, "row"),
        plural(unsure, "row")
    ),
    );
    let unreached = review.unreached();
    if !unreached.is_empty() {
        out.head("No decision of these reaches the change");
        unreached.iter().for_each(|cell| out.wrapped("  ", cell));
        if let Some(cell) = review.reached() {
            out.wrapped("  ", &format!("reached by: {cell}"));
        }
    }
}

fn decisions(out: &mut Out, review: &Review) {
    for explained in &review.explained {
        out.head(&format!("Decisions on {}", explained.cell.machine));
        machine(out, review, explained);
    }
}

fn machine(out: &mut Out, review: &Review, explained: &Explained) {
    let Explained { cell, seed, stages, .. } = explained;
    out.wrapped("", &format!("{}, seed {seed}", cell.name()));
    out.wrapped("", &format!("before: {}", review.stages.name(stages[0])));
    out.wrapped("", &format!("after:  {}", review.stages.name(stages[1])));
    out.blank();
    match &explained.parted {
        Err(problem) => out.wrapped("  ", &format!("not known: {problem}")),
        Ok(parted) => {
            let totals = [parted.rules.iter().map(|r| r.before).sum(), parted.rules.iter().map(|r| r.after).sum()];
            let share = |n: u64, of: u64| if of == 0 { 0.0 } else { n as f64 * 100.0 / of as f64 };
            let _ = writeln!(out.0, "  {:>8} {:>8}  rule", "before", "after");
            let shares = parted.rules.iter().map(|r| (share(r.before, totals[0]), share(r.after, totals[1]), &r.rule));
            // What both columns would show as 0.0.
            for (before, after, rule) in shares.filter(|(b, a, _)| b.max(*a) >= 0.05).take(RULES) {
                let columns = format!("  {before:>6.1} % {after:>6.1} %  ");
                out.hanging(&columns, columns.len() + 2, rule);
            }
            out.blank();
            let [pairs, agree] = parted.pairs;
            let rest = match &parted.first {
                None if agree == pairs => ": other rules, other work, or other picks, but no task goes elsewhere",
                _ => "",
            };
            out.wrapped("", &format!("{agree} of {pairs} decisions choose the same CPU{rest}"));
            if let Some([before, after]) = &parted.first {
                out.wrapped("", &format!("the first that does not, after {}:", parted.agree_before));
                out.wrapped("  ", &format!("before: {before}"));
                out.wrapped("  ", &format!("after:  {after}"));
            }
        }
    }
    if let Some(Err(problem)) = &explained.traces {
        out.wrapped("", &format!("no traces: {problem}"));
    }
    out.blank();
    explained.commands().iter().for_each(|command| out.command(command));
}

fn list(out: &mut Out, title: &str, sentences: &[String]) {
    if sentences.is_empty() {
        return;
    }
    out.head(title);
    sentences.iter().for_each(|sentence| out.wrapped("  ", sentence));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_to_the_width_and_indents_stay() {
        let mut out = Out(String::new());
        out.wrapped("  ", &format!("{} end\n    indented {}", "word ".repeat(30), "more ".repeat(20)));
        out.line(&"x".repeat(100));
        out.command(&format!(
            "fairground run {} --sched fair:v6.12 --trace before.txt --why --seed 12345",
            "w".repeat(40)
        ));
        assert!(out.0.lines().all(|line| line.len() <= WIDTH), "{}", out.0);
        assert!(out.0.contains("\n      indented more") && out.0.contains(" \\\n"), "{}", out.0);
    }
}
