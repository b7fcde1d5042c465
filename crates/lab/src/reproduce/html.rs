//! The scoreboard as one self-contained page: no script, no font, no picture from elsewhere.

use std::fmt::Write;

use super::over_draws;
use super::plot;
use super::rows::{Kind, MailScore, OurFigures, ReproducedRow, Reproduction, Score};
use super::table::{self, maybe};
use crate::page::{escaped, page};
use crate::tables::{number, percent};

/// Headings of the tables. Roles are explicit because the layout for phones removes those of the elements.
const HEAD: [&str; 5] = ["row", "published", "ours", "kind", "verdict"];

const RULE: &str = "<p>A published change above 2 sigma is hit by the same sign and a 95 % interval of ours that overlaps \
    it ± max(3 points, 2 sigma); any other by a change within max(1 point, 2 sigma) of zero. Sigma is the error \
    that the mail prints, or the standard deviation of its printed runs; 2 % without any. Positive is better, in percent of base. <em>Given</em>: taken from the mail; \
    <em>fitted</em>: a figure was turned until our baseline gave the published one; <em>predicted</em>: ours alone. RMS \
    errors are over the scored rows but those in which ours is a change from nothing.</p>\n";

const OVER_DRAWS: &str = "<p>Rows are also run on draws of the figures in doubt, base and test on the same one. The draws with \
    the error that the mail prints are what we predict for its figure. <em>In interval</em>: the share of rows whose \
    published change is in that interval, with a 95 % bootstrap interval over mails and machines; widths are means, in \
    points. <em>CRPS</em>, in points, is less for a better prediction: ours, no change with the mail's error, and no change \
    with the spread of what the other mails print. <em>By draws</em> the rule for hits takes the median and the 90 % interval \
    over draws.</p>\n";

const KEY: &str = "<div class=\"key\" aria-hidden=\"true\">\
    <span><svg width=\"34\" height=\"14\"><line class=\"bar theirs\" x1=\"2\" x2=\"32\" y1=\"7\" y2=\"7\"/>\
    <path class=\"form theirs\" transform=\"translate(17 7)\" d=\"M0 -5L5 0L0 5L-5 0Z\"/></svg> published ± 2 sigma</span>\
    <span><svg width=\"34\" height=\"14\"><line class=\"bar hit\" x1=\"2\" x2=\"32\" y1=\"7\" y2=\"7\"/>\
    <circle class=\"form hit\" cx=\"17\" cy=\"7\" r=\"5\"/></svg> ours with 95 % interval, hit</span>\
    <span><svg width=\"34\" height=\"14\"><line class=\"bar miss\" x1=\"2\" x2=\"32\" y1=\"7\" y2=\"7\"/>\
    <path class=\"form miss\" transform=\"translate(17 7)\" d=\"M-5 -5L5 5M-5 5L5 -5\"/></svg> ours, miss</span>\
    <span><svg width=\"34\" height=\"14\"><line class=\"bar unscored\" x1=\"2\" x2=\"32\" y1=\"7\" y2=\"7\"/>\
    <path class=\"form unscored\" transform=\"translate(17 7)\" d=\"M-4 -4H4V4H-4Z\"/></svg> ours, not scored</span>";

/// What the key has besides where rows have draws.
const KEY_OF_DRAWS: &str = "<span><svg width=\"34\" height=\"14\"><line class=\"bar drawn\" x1=\"2\" x2=\"32\" y1=\"7\" y2=\"7\"/>\
    <path class=\"form drawn\" transform=\"translate(17 7)\" d=\"M0 -6V6\"/></svg> over draws: median, 90 % interval</span>";

/// Writes the whole page as HTML.
pub fn html(result: &Reproduction) -> String {
    let mut out = String::new();
    if let Some(words) = &result.quick {
        let _ = writeln!(out, "<p class=\"quick\">{}</p>", escaped(words));
    }
    scoreboard(&mut out, result);
    for mail in &result.mails {
        section(&mut out, result, mail);
    }
    let besides = table::supplement_tables(result);
    if !besides.is_empty() {
        let _ = writeln!(out, "<h2>Besides</h2>\n<pre tabindex=\"0\">{}</pre>", escaped(besides.trim()));
    }
    if !result.notes.is_empty() {
        out.push_str("<h2>Notes</h2>\n<ul>\n");
        result.notes.iter().for_each(|note| {
            let _ = writeln!(out, "<li>{}</li>", escaped(note));
        });
        out.push_str("</ul>\n");
    }
    if let Some(provenance) = &result.provenance {
        let mut made = String::new();
        provenance.text(&mut made, "");
        let _ = writeln!(out, "<h2>What made it</h2>\n<pre tabindex=\"0\">{}</pre>", escaped(made.trim_end()));
    }
    page("Fairground: published figures, repeated", "Published figures, repeated", &out)
}

fn scoreboard(out: &mut String, result: &Reproduction) {
    out.push_str(RULE);
    out.push_str(
        "<table class=\"score\">\n<caption>Score</caption>\n<thead><tr><th scope=\"col\">mail</th>\
         <th scope=\"col\">hits / scored</th><th scope=\"col\">of changes above 2 sigma</th>\
         <th scope=\"col\">RMS error, points</th><th scope=\"col\">of predicting zero</th></tr></thead>\n<tbody>\n",
    );
    for mail in &result.mails {
        score(out, &mail.mail, &mail.score);
    }
    score(out, "all", &result.score);
    if let Some([ours, zero]) = result.score.rms_without_largest {
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">without the largest change</th><td></td><td></td><td>{ours:.1}</td><td>{zero:.1}</td></tr>"
        );
    }
    out.push_str("</tbody>\n</table>\n");
    proper_score(out, result);
    out.push_str("<nav aria-label=\"Mails\">");
    for mail in &result.mails {
        let _ = write!(out, "<a href=\"#mail-{0}\">{0}</a>", mail.mail);
    }
    out.push_str("</nav>\n");
}

/// The proper score; nothing without draws.
fn proper_score(out: &mut String, result: &Reproduction) {
    let lines = over_draws::score_lines(result);
    if lines.is_empty() {
        return;
    }
    out.push_str(OVER_DRAWS);
    out.push_str("<div class=\"scroll\" tabindex=\"0\">\n<table class=\"score\">\n<caption>Score over draws of the figures in doubt</caption>\n<thead><tr>");
    for head in over_draws::SCORE_HEAD {
        let _ = write!(out, "<th scope=\"col\">{head}</th>");
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for [name, figures @ ..] in lines {
        let _ = write!(out, "{}<th scope=\"row\">{name}</th>", line_start(&name));
        figures.iter().for_each(|figure| {
            let _ = write!(out, "<td>{figure}</td>");
        });
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
}

/// The begin of a line of scores: that of all mails is marked.
fn line_start(name: &str) -> &'static str {
    match name {
        "all" => "<tr class=\"all\">",
        _ => "<tr>",
    }
}

fn score(out: &mut String, mail: &str, s: &Score) {
    let points = |x: Option<f64>| x.map_or("-".into(), |x| format!("{x:.1}"));
    let (ours, zero) = (points(s.rms_ours), points(s.rms_zero));
    let _ = writeln!(
        out,
        "{}<th scope=\"row\">{mail}</th><td>{} / {}</td><td>{} / {}</td><td>{ours}</td><td>{zero}</td></tr>",
        line_start(mail),
        s.hits,
        s.scored,
        s.hits_of_changes,
        s.changes
    );
}

/// A mail: the picture, and its rows, those that are judged first.
fn section(out: &mut String, result: &Reproduction, mail: &MailScore) {
    let rows: Vec<&ReproducedRow> = result.rows.iter().filter(|row| row.mail == mail.mail).collect();
    let _ = writeln!(out, "<section>\n<h2 id=\"mail-{0}\">{0}</h2>", mail.mail);
    let (subject, author) = (escaped(&mail.subject), escaped(&mail.author));
    let _ = writeln!(out, "<p>{subject}, {author}, {}</p>", mail.date);
    match plot::plot(&mail.mail, &rows) {
        Some((picture, left_out)) => {
            out.push_str(KEY);
            if rows.iter().any(|row| row.model.as_ref().is_some_and(|model| model.interval.ci90.is_some())) {
                out.push_str(KEY_OF_DRAWS);
            }
            out.push_str("</div>\n");
            out.push_str(&picture);
            if left_out > 0 {
                let _ =
                    writeln!(out, "<p class=\"soft\">{left_out} rows are not drawn: a change has no percentage.</p>");
            }
        }
        None => out.push_str("<p class=\"soft\">No row of this mail has two changes to draw.</p>\n"),
    }
    let judged = |row: &&&ReproducedRow| row.hit.is_some();
    let (judged, others): (Vec<&ReproducedRow>, Vec<&ReproducedRow>) = rows.iter().partition(|row| judged(row));
    table_of(out, "Rows that are judged", &mail.mail, &judged);
    table_of(out, "Rows that are shown and not judged", &mail.mail, &others);
    out.push_str("</section>\n");
}

fn table_of(out: &mut String, caption: &str, mail: &str, rows: &[&ReproducedRow]) {
    if rows.is_empty() {
        return;
    }
    let _ = write!(out, "<table class=\"rows\" role=\"table\">\n<caption>{caption}</caption>\n<thead role=\"rowgroup\"><tr role=\"row\">");
    for head in HEAD {
        let _ = write!(out, "<th role=\"columnheader\" scope=\"col\">{head}</th>");
    }
    out.push_str("</tr></thead>\n");
    rows.iter().for_each(|row| line(out, mail, row));
    out.push_str("</table>\n");
}

/// A row, and below it why it is a hit or not.
fn line(out: &mut String, mail: &str, row: &ReproducedRow) {
    let id = row.id.strip_prefix(&format!("{mail}/")).unwrap_or(&row.id);
    let _ = write!(
        out,
        "<tbody class=\"row\" role=\"rowgroup\">\n<tr role=\"row\"><th role=\"rowheader\" scope=\"row\">{}</th>",
        // Lines may break where a name has its joints.
        escaped(id).replace('/', "/<wbr>")
    );
    let figures = [
        ("published", published(row)),
        ("ours", row.ours.as_ref().map_or("-".into(), |o| ours(row, o))),
        ("kind", table::word(row.kind).into()),
    ];
    for (name, figures) in figures {
        let _ = write!(out, "<td role=\"cell\" data-name=\"{name}\">{figures}</td>");
    }
    let (class, mark) = mark(row);
    let _ = writeln!(out, "<td role=\"cell\" class=\"mark {class}\">{mark}</td></tr>");
    let what = format!("{}, {}: {}, {}", row.machine, row.benchmark, row.metric, row.params);
    let drawn = row.model.as_ref().map_or(String::new(), |_| {
        let cells = over_draws::ROW_HEAD.into_iter().zip(over_draws::row_cells(row));
        let cells: Vec<String> = cells.map(|(head, cell)| format!("{head}: {}", escaped(&cell))).collect();
        format!("<br>{}", cells.join("; ").replace("OUTSIDE", "<strong>outside</strong>"))
    });
    let _ = writeln!(
        out,
        "<tr role=\"row\"><td role=\"cell\" class=\"why\" colspan=\"5\">{}{drawn}<br>{}{}</td></tr>\n</tbody>",
        escaped(&row.why),
        escaped(&what),
        row.note.as_ref().map_or(String::new(), |note| format!("<br>{}", escaped(note)))
    );
}

/// Both cells, and the change with sigma.
fn published(row: &ReproducedRow) -> String {
    let p = &row.published;
    let change = p.improvement_pct.map_or("no percentage".into(), |pct| percent(Some(pct)));
    let unit = escaped(&row.unit);
    let sigma = p.base.and(p.test).map_or(String::new(), |_| format!(" (sigma {:.1})", p.sigma_pct));
    let other = p.other_base.map_or(String::new(), |base| {
        format!("<br>or {} → {} {unit}<br>{}", number(base), maybe(p.test), percent(p.other_improvement_pct))
    });
    format!("{} → {} {unit}<br>{change}{sigma}{other}", maybe(p.base), maybe(p.test))
}

/// Both cells, and the change with its interval.
fn ours(row: &ReproducedRow, ours: &OurFigures) -> String {
    let fitted = |kind| if kind == Kind::Fitted { " (fitted)" } else { "" };
    let (base, test) = (fitted(row.cells.base), fitted(row.cells.test));
    let change = ours.improvement_pct.map_or("no percentage".into(), |pct| percent(Some(pct)));
    let ci = table::interval(ours.ci95);
    format!("{}{base} → {}{test}<br>{change}{ci}", maybe(ours.base), maybe(ours.test))
}

fn mark(row: &ReproducedRow) -> (&'static str, &'static str) {
    match row.hit {
        Some(true) => ("hit", "hit"),
        Some(false) => ("miss", "miss"),
        None => ("", "not scored"),
    }
}
