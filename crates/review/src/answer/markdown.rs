//! The answer as Markdown.

use std::fmt::Write;

use fairground_lab::stats::Verdict;
use fairground_lab::tables::number;

use super::{mean, percent, range, Review};
use crate::measure::{Judged, Measured};
use crate::series::plural;

/// Most rules of a machine that are shown.
const RULES: usize = 8;

/// The answer as Markdown.
pub fn markdown(review: &Review) -> String {
    let mut out = format!("# {}\n\n{}.\n", escaped(&review.title()), escaped(&review.verdict()));
    let _ = writeln!(out, "\n| patch | title | |\n|---|---|---|");
    let all = review.stages.count();
    for (number, member) in (1..).zip(&review.stages.members) {
        let fate = review.fate(member).unwrap_or_default();
        let _ = writeln!(out, "| {number}/{all} | {} | {} |", cell(&member.title), cell(&fate));
    }
    let _ = writeln!(out, "\nSeries: {}. Base: {}.", escaped(&review.stages.source), escaped(&review.stages.base));
    if review.stages.stages.len() > 1 {
        let _ = writeln!(out, "Matrix {}.", review.judged_by());
        rows(&mut out, review, "Worse", &review.worse());
        rows(&mut out, review, "Better", &review.better());
        let same = review.measured.of_verdict(Verdict::Same).len();
        let unsure = review.measured.of_verdict(Verdict::Unsure).len();
        let _ = writeln!(out, "\nSame: {}; unsure: {}.", plural(same, "row"), plural(unsure, "row"));
        list(&mut out, "No decision of these reaches the change", &review.unreached());
        if let Some(reached) = review.reached().filter(|_| !review.unreached().is_empty()) {
            let _ = writeln!(out, "\nReached by: `{reached}`");
        }
    }
    for explained in &review.explained {
        let _ = writeln!(out, "\n## Decisions on {}\n", escaped(&explained.cell.machine));
        let names = explained.stages.map(|stage| review.stages.name(stage));
        let _ = writeln!(
            out,
            "`{}`, seed {}: {} against {}\n",
            explained.cell.name(),
            explained.seed,
            escaped(&names[1]),
            escaped(&names[0])
        );
        if let Some(Err(problem)) = &explained.traces {
            let _ = writeln!(out, "no traces: {}\n", escaped(problem));
        }
        match &explained.parted {
            Err(problem) => _ = writeln!(out, "not known: {}", escaped(problem)),
            Ok(parted) => {
                let _ = writeln!(out, "| before | after | rule |\n|--:|--:|---|");
                for rule in parted.rules.iter().take(RULES) {
                    let _ = writeln!(out, "| {} | {} | {} |", rule.before, rule.after, cell(&rule.rule));
                }
                if let Some([before, after]) = &parted.first {
                    let n = parted.agree_before;
                    let _ = writeln!(
                        out,
                        "\nThe first that differs, after {n}:\n\n```text\nbefore: {before}\nafter:  {after}\n```"
                    );
                }
            }
        }
        let _ = writeln!(out, "\n```sh\n{}\n```", explained.commands().join("\n"));
    }
    list(&mut out, "Host time of a decision", &review.costs());
    list(&mut out, "Failed", &review.failed_runs());
    list(&mut out, "Not judged here", &review.not_judged());
    let by = &review.by;
    let _ = writeln!(out, "\nMade by fairground {} ({}), program {}.", by.version, by.commit, &by.program_hash[..12]);
    if let Some(command) = &by.command {
        let _ = writeln!(out, "\n```sh\n{command}\n```");
    }
    out
}

fn rows(out: &mut String, review: &Review, title: &str, rows: &[(&Measured, &Judged)]) {
    if rows.is_empty() {
        return;
    }
    let _ =
        writeln!(out, "\n## {title}\n\n| cell | metric | base | series | change | seeds, 95 % | model, 90 % | by |");
    let _ = writeln!(out, "|---|---|--:|--:|--:|--:|--:|---|");
    for (of, judged) in rows {
        let row = &judged.row;
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | **{}** | {} | {} | {} |",
            cell(&review.cell_name(of)),
            row.metric.name,
            number(mean(&row.base)),
            number(mean(&row.test)),
            percent(row.change.improvement_pct),
            range(row.change.ci95),
            range(row.model.and_then(|model| model.ci90)),
            cell(&review.attribution(judged).join("; "))
        );
    }
}

fn list(out: &mut String, title: &str, sentences: &[String]) {
    if sentences.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n## {title}\n");
    sentences.iter().for_each(|sentence| _ = writeln!(out, "- {}", escaped(&sentence.replace('\n', " "))));
}

/// Text of a cell of a table.
fn cell(text: &str) -> String {
    escaped(&text.replace('\n', " ")).replace('|', "\\|")
}

/// Text that Markdown takes for text.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if matches!(c, '*' | '_' | '`' | '<' | '[' | ']' | '#') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
