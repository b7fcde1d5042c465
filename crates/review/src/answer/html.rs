//! The answer as one page without requests: the style is in it, and traces are files beside it.

use std::fmt::Write;

use fairground_lab::page::{escaped, page};
use fairground_lab::stats::Verdict;
use fairground_lab::tables::{decisions, number};

use super::{mean, percent, range, Review};
use crate::decisions::Explained;
use crate::measure::{Judged, Measured};

/// The answer as a page.
pub fn html(review: &Review) -> String {
    let mut body = format!("<p class=\"quick\">{}</p>\n", escaped(&review.verdict()));
    body += "<h2>Patches</h2>\n<table>\n";
    let all = review.stages.count();
    for (number, member) in (1..).zip(&review.stages.members) {
        let fate = review.fate(member).unwrap_or_default();
        let _ = writeln!(
            body,
            "<tr><th>{number}/{all}</th><td>{}</td><td class=\"soft\">{}</td></tr>",
            escaped(&member.title),
            escaped(&fate)
        );
    }
    let _ = writeln!(
        body,
        "</table>\n<p>{}</p>\n<p>base: {}</p>",
        escaped(&review.stages.source),
        escaped(&review.stages.base)
    );
    if review.stages.stages.len() > 1 {
        let _ = writeln!(body, "<p>matrix {}</p>", escaped(&review.judged_by()));
        for (title, verdict) in [
            ("Worse", Verdict::Worse),
            ("Better", Verdict::Better),
            ("Unsure", Verdict::Unsure),
            ("Same", Verdict::Same),
        ] {
            rows(&mut body, review, title, verdict);
        }
        list(&mut body, "No decision of these reaches the change", &review.unreached());
    }
    for explained in &review.explained {
        machine(&mut body, review, explained);
    }
    list(&mut body, "Host time of a decision", &review.costs());
    list(&mut body, "Failed", &review.failed_runs());
    list(&mut body, "Not judged here", &review.not_judged());
    let by = &review.by;
    let _ = writeln!(
        body,
        "<h2>Made by</h2>\n<p>fairground {} ({}), program {}</p>",
        by.version,
        escaped(by.commit),
        by.program_hash
    );
    if let Some(command) = &by.command {
        let _ = writeln!(body, "<pre>{}</pre>", escaped(command));
    }
    page(&review.title(), &escaped(&review.title()), &body)
}

fn rows(body: &mut String, review: &Review, title: &str, verdict: Verdict) {
    let rows: Vec<(&Measured, &Judged)> = review.measured.of_verdict(verdict);
    if rows.is_empty() {
        return;
    }
    let starred = matches!(verdict, Verdict::Worse | Verdict::Better);
    let (open, close) = if starred { ("", "") } else { ("<details><summary>rows</summary>\n", "</details>\n") };
    let _ = write!(
        body,
        "<h2>{title} ({})</h2>\n{open}<div class=\"scroll\"><table>\n<thead><tr><th>cell</th><th>metric</th><th>base</th>\
         <th>series</th><th>change</th><th>seeds, 95 %</th><th>model, 90 %</th><th>by</th></tr></thead>\n",
        rows.len()
    );
    for (cell, judged) in rows {
        let row = &judged.row;
        let mark = if verdict == Verdict::Worse { "mark miss" } else { "mark hit" };
        let by = if starred { review.attribution(judged).join("; ") } else { String::new() };
        let _ = writeln!(
            body,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"{}\">{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escaped(&review.cell_name(cell)),
            escaped(&row.metric.name),
            number(mean(&row.base)),
            number(mean(&row.test)),
            if starred { mark } else { "" },
            percent(row.change.improvement_pct),
            range(row.change.ci95),
            range(row.model.and_then(|model| model.ci90)),
            escaped(&by)
        );
    }
    let _ = write!(body, "</table></div>\n{close}");
}

fn machine(body: &mut String, review: &Review, explained: &Explained) {
    let [before, after] = explained.stages.map(|stage| escaped(&review.stages.name(stage)));
    let _ = writeln!(
        body,
        "<h2>Decisions on {}</h2>\n<p>{}, seed {}</p>\n<p>before: {before}<br>after: {after}</p>",
        escaped(&explained.cell.machine),
        escaped(&explained.cell.name()),
        explained.seed
    );
    match &explained.parted {
        Err(problem) => _ = writeln!(body, "<p>not known: {}</p>", escaped(problem)),
        Ok(parted) => decisions(body, parted, ["before", "after"]),
    }
    if let Some(Err(problem)) = &explained.traces {
        let _ = writeln!(body, "<p>no traces: {}</p>", escaped(problem));
    }
    if let Some(Ok(traces)) = &explained.traces {
        body.push_str("<p>Traces:");
        for (word, [text, perfetto, dat]) in ["before", "after"].into_iter().zip(traces) {
            let _ = write!(
                body,
                " {word} <a href=\"{0}\">Perfetto</a>, <a href=\"{1}\">trace.dat</a>, <a href=\"{2}\">text</a>;",
                escaped(perfetto),
                escaped(dat),
                escaped(text)
            );
        }
        body.push_str(" ui.perfetto.dev and kernelshark open them.</p>\n");
    }
    let _ = writeln!(body, "<pre>{}</pre>", escaped(&explained.commands().join("\n")));
}

fn list(body: &mut String, title: &str, sentences: &[String]) {
    if sentences.is_empty() {
        return;
    }
    let _ = writeln!(body, "<h2>{title}</h2>\n<ul>");
    sentences.iter().for_each(|sentence| _ = writeln!(body, "<li>{}</li>", escaped(sentence)));
    body.push_str("</ul>\n");
}
