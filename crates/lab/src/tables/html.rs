//! One page without requests: a dot plot with both intervals, the table, and the rules that moved.

use std::fmt::Write;

use super::columns::{is_zero, zeros};
use super::own::{cells, HEAD};
use super::text::{percent, percent_range, seed_range, title, trailer};
use crate::comparison::{Comparison, Report, Row};
use crate::explain::Parted;
use crate::page::{escaped, page};
use crate::plot::{Scale, AXIS, MARGIN};
use crate::stats::Verdict;

/// A pair of runs of a comparison, looked at closely.
#[derive(Clone, Debug)]
pub struct PairShown {
    /// Seed of both runs.
    pub seed: u64,
    /// Where their decisions part, or why that is not known.
    pub parted: Result<Parted, String>,
    /// Traces: what each is, and where it is, relative to the page.
    pub traces: Vec<(String, String)>,
    /// Why some of the traces that were asked for are not there.
    pub traces_problem: Option<String>,
    /// The command that shows this pair.
    pub command: String,
}

/// Height of a lane of the plot, px: a line of text and a bar.
const LANE: f64 = 32.0;

const KEY: &str = "<div class=\"key\" aria-hidden=\"true\">\
    <span><svg width=\"34\" height=\"14\"><line class=\"bar hit\" x1=\"2\" x2=\"32\" y1=\"7\" y2=\"7\"/>\
    <circle class=\"form hit\" cx=\"17\" cy=\"7\" r=\"5\"/></svg> better, 95 % interval over seeds</span>\
    <span><svg width=\"34\" height=\"14\"><line class=\"bar miss\" x1=\"2\" x2=\"32\" y1=\"7\" y2=\"7\"/>\
    <path class=\"form miss\" transform=\"translate(17 7)\" d=\"M-5 -5L5 5M-5 5L5 -5\"/></svg> worse</span>\
    <span><svg width=\"34\" height=\"14\"><line class=\"bar unscored\" x1=\"2\" x2=\"32\" y1=\"7\" y2=\"7\"/>\
    <path class=\"form unscored\" transform=\"translate(17 7)\" d=\"M-4 -4H4V4H-4Z\"/></svg> same</span>\
    <span><svg width=\"34\" height=\"14\"><line class=\"bar unscored\" x1=\"2\" x2=\"32\" y1=\"7\" y2=\"7\"/>\
    <path class=\"form unscored\" transform=\"translate(17 7)\" d=\"M0 -5L5 0L0 5L-5 0Z\"/></svg> unsure</span>";

/// What the key has besides where rows have draws.
const KEY_OF_DRAWS: &str = "<span><svg width=\"34\" height=\"14\"><line class=\"bar drawn\" x1=\"2\" x2=\"32\" y1=\"7\" y2=\"7\"/>\
    <path class=\"form drawn\" transform=\"translate(17 7)\" d=\"M0 -6V6\"/></svg> over draws of the figures in doubt: median, 90 % interval</span>";

/// A report as a page, without a pair of runs.
pub fn render(report: &Report) -> String {
    render_with(report, &[])
}

/// A report as a page, with a pair of runs of each comparison; `None` where there is none.
pub fn render_with(report: &Report, shown: &[Option<PairShown>]) -> String {
    let mut body = format!("<p>seeds {}</p>\n", escaped(&seed_range(&report.seeds)));
    for (number, comparison) in report.comparisons.iter().enumerate() {
        section(&mut body, number, comparison, shown.get(number).and_then(Option::as_ref));
    }
    body.push_str("<h2>Notes, and what made it</h2>\n");
    let mut below = String::new();
    trailer(&mut below, report, "");
    let _ = writeln!(body, "<pre tabindex=\"0\">{}</pre>", escaped(below.trim_end()));
    let title = title(report);
    page(&format!("Fairground: {title}"), &escaped(&title), &body)
}

fn section(body: &mut String, number: usize, comparison: &Comparison, shown: Option<&PairShown>) {
    let (base, test) = (escaped(&comparison.base.name), escaped(&comparison.test.name));
    let _ =
        writeln!(body, "<section>\n<h2>{test}</h2>\n<p>against {base}, {} pairs of runs</p>", comparison.pairs.len());
    let _ = writeln!(body, "<p class=\"quick\">{}</p>", escaped(&verdicts(comparison)));
    let rows: Vec<&Row> = comparison.rows.iter().filter(|row| !is_zero(row)).collect();
    plot(body, number, &rows);
    table(body, &rows);
    if let Some(zeros) = zeros(&[comparison]) {
        let _ = writeln!(body, "<p class=\"soft\">{}</p>", escaped(&zeros));
    }
    if let Some(screening) = &comparison.doubt {
        let lines: Vec<String> = screening.lines().collect();
        let _ = writeln!(
            body,
            "<h3>What {} is in doubt for, {}</h3>\n<pre>{}</pre>\n<p>{}</p>",
            escaped(&screening.metric),
            screening.basis(),
            escaped(&lines.join("\n")),
            escaped(&screening.advice())
        );
    }
    if let Some(shown) = shown {
        pair(body, comparison, shown);
    }
    body.push_str("</section>\n");
}

/// How many rows have each verdict, those that are better or worse by name.
fn verdicts(comparison: &Comparison) -> String {
    if comparison.identical() {
        return "base and test made the same run with every seed".into();
    }
    let words = |verdict: Verdict| {
        let rows = comparison.rows.iter().filter(|row| row.change.verdict == verdict && !is_zero(row));
        let names: Vec<&str> = rows.map(|row| row.metric.name.as_str()).collect();
        match (names.len(), verdict) {
            (0, _) => None,
            (_, Verdict::Better | Verdict::Worse) => Some(format!("{}: {}", verdict.word(), names.join(", "))),
            (n, _) => Some(format!("{}: {n}", verdict.word())),
        }
    };
    let all: Vec<String> =
        [Verdict::Worse, Verdict::Better, Verdict::Unsure, Verdict::Same].into_iter().filter_map(words).collect();
    all.join("; ")
}

/// The changes in percent of base, a lane each.
fn plot(body: &mut String, number: usize, rows: &[&Row]) {
    let lanes: Vec<(&Row, f64)> =
        rows.iter().filter_map(|row| Some((*row, row.change.improvement_pct.filter(|pct| pct.is_finite())?))).collect();
    if lanes.is_empty() {
        return;
    }
    let model = |row: &Row| row.model.and_then(|model| Some((model.median_pct?, model.ci90?)));
    let most = lanes.iter().map(|(_, pct)| pct.abs()).fold(1.0, f64::max) * 1.5;
    let ends = |(row, pct): &(&Row, f64)| {
        let intervals = row.change.ci95.into_iter().chain(model(row).map(|(_, interval)| interval)).flatten();
        intervals.chain([*pct, -1.0, 1.0]).map(|x| x.clamp(-most, most)).collect::<Vec<f64>>()
    };
    let values: Vec<f64> = lanes.iter().flat_map(ends).filter(|x| x.is_finite()).collect();
    let scale = Scale::covering(values.iter().copied());
    let height = lanes.len() as f64 * LANE + 2.0 * AXIS;
    body.push_str(KEY);
    if lanes.iter().any(|(row, _)| model(row).is_some()) {
        body.push_str(KEY_OF_DRAWS);
    }
    let _ = write!(
        body,
        "</div>\n<svg class=\"plot\" width=\"100%\" height=\"{height}\" role=\"img\" aria-labelledby=\"plot-{number}\">\n\
         <title id=\"plot-{number}\">Changes in percent of base, positive is better; the same figures are in the table below</title>\n"
    );
    scale.axis(body, height);
    for (n, (row, pct)) in lanes.iter().enumerate() {
        let y = AXIS + n as f64 * LANE;
        let _ = writeln!(
            body,
            "<text class=\"name\" x=\"{MARGIN}%\" y=\"{}\">{}</text>",
            y + 12.0,
            escaped(&row.metric.name)
        );
        if let Some((median, interval)) = model(row) {
            scale.line(body, "drawn", y + 22.0, interval);
            if scale.has(median) {
                scale.form(body, "drawn", y + 22.0, median, "M0 -6V6");
            }
        }
        // Distinct in form, not in colour alone.
        let (class, form) = match row.change.verdict {
            Verdict::Better => ("hit", "M-5 0A5 5 0 1 1 5 0A5 5 0 1 1 -5 0Z"),
            Verdict::Worse => ("miss", "M-5 -5L5 5M-5 5L5 -5"),
            Verdict::Same => ("unscored", "M-4 -4H4V4H-4Z"),
            Verdict::Unsure => ("unscored", "M0 -5L5 0L0 5L-5 0Z"),
        };
        scale.bar(body, class, y + 22.0, *pct, row.change.ci95.unwrap_or([*pct; 2]), form);
    }
    body.push_str("</svg>\n");
}

fn table(body: &mut String, rows: &[&Row]) {
    body.push_str(
        "<table class=\"rows\" role=\"table\">\n<caption>Improvement in percent of base, positive is better</caption>\n\
         <thead role=\"rowgroup\"><tr role=\"row\">",
    );
    let shown = [0, 3, 4, 5, 6, 7];
    for column in shown {
        let _ = write!(body, "<th role=\"columnheader\" scope=\"col\">{}</th>", HEAD[column]);
    }
    body.push_str("</tr></thead>\n");
    for row in rows {
        let cells = cells(row);
        let class = match row.change.verdict {
            Verdict::Better => "mark hit",
            Verdict::Worse => "mark miss",
            Verdict::Same | Verdict::Unsure => "",
        };
        let _ = write!(
            body,
            "<tbody class=\"row\" role=\"rowgroup\">\n<tr role=\"row\"><th role=\"rowheader\" scope=\"row\">{}</th>",
            // Lines may break where a name has its joints.
            escaped(&cells[0]).replace('_', "_<wbr>")
        );
        for column in &shown[1..5] {
            let _ = write!(body, "<td role=\"cell\" data-name=\"{}\">{}</td>", HEAD[*column], escaped(&cells[*column]));
        }
        let model = row.model.map_or(String::new(), |model| {
            let interval = model.ci90.map_or("no interval".into(), percent_range);
            let (median, draws, words) = (percent(model.median_pct), model.draws, model.words());
            format!("over {draws} draws: median {median}, 90 % interval {interval}; {words}<br>")
        });
        let _ = writeln!(
            body,
            "<td role=\"cell\" class=\"{class}\">{}</td></tr>\n\
             <tr role=\"row\"><td role=\"cell\" class=\"why\" colspan=\"6\">{model}{}, {}, {} is better</td></tr>\n</tbody>",
            cells[7],
            escaped(&row.metric.meaning),
            escaped(&cells[1]),
            cells[2]
        );
    }
    body.push_str("</table>\n");
}

fn pair(body: &mut String, comparison: &Comparison, shown: &PairShown) {
    let _ = writeln!(body, "<h3>Rules that moved</h3>\n<p>The runs with seed {}:</p>", shown.seed);
    match &shown.parted {
        Err(problem) => _ = writeln!(body, "<p>not known: {}</p>", escaped(problem)),
        Ok(parted) => decisions(body, parted, [&comparison.base.name, &comparison.test.name]),
    }
    if !shown.traces.is_empty() {
        body.push_str("<p>Traces:");
        for (words, file) in &shown.traces {
            let _ = write!(body, " <a href=\"{}\">{}</a>", escaped(file), escaped(words));
        }
        body.push_str("; ui.perfetto.dev opens them, and <code>fairground view</code>.</p>\n");
    }
    if let Some(problem) = &shown.traces_problem {
        let _ = writeln!(body, "<p>Not written: {}</p>", escaped(problem));
    }
    let _ = writeln!(body, "<p>All placements of this pair:</p>\n<pre>{}</pre>", escaped(&shown.command));
}

/// How many decisions of two runs agree, the rules by which they were made, and the first that differs. `names`: of the runs.
pub fn decisions(body: &mut String, parted: &Parted, names: [&str; 2]) {
    let [pairs, agree] = parted.pairs;
    let [before, after] = names.map(escaped);
    let _ = writeln!(
        body,
        "<p>{agree} of {pairs} decisions choose the same CPU.</p>\n<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr><th>{before}</th><th>{after}</th>\
         <th>rule</th></tr></thead>"
    );
    for rule in &parted.rules {
        let _ =
            writeln!(body, "<tr><td>{}</td><td>{}</td><td>{}</td></tr>", rule.before, rule.after, escaped(&rule.rule));
    }
    body.push_str("</table></div>\n");
    if let Some([first, other]) = &parted.first {
        let _ = writeln!(
            body,
            "<h4>The first that differs, after {}</h4>\n<pre>{before}: {}</pre>\n<pre>{after}: {}</pre>",
            parted.agree_before,
            escaped(first),
            escaped(other)
        );
    }
    let _ = writeln!(body, "<details><summary>all of it</summary>\n<pre>{}</pre></details>", escaped(&parted.text));
}
