//! Published changes beside ours as a picture: one lane per row, drawn with lengths in percent of whatever width there
//! is and type that does not shrink, so that it reads on a phone as on paper. No script.

use std::fmt::Write;

use super::rows::{OurFigures, PublishedFigures, ReproducedRow};
use crate::page::escaped;
use crate::plot::{Scale, AXIS, MARGIN};

/// Height of a lane, px: a line of text and two bars.
const LANE: f64 = 46.0;
/// The changes of a row, which are drawn.
struct Lane<'a> {
    row: &'a ReproducedRow,
    /// The published change, and 2 sigma, percent.
    theirs: (f64, f64),
    /// Our change, and its 95 % interval, percent.
    ours: (f64, [f64; 2]),
    /// The median over draws of the figures in doubt, and the 90 % interval, percent; `None` below 19 draws.
    drawn: Option<(f64, [f64; 2])>,
}

/// A plot of the rows of `mail` in which both changes have a percentage and ours has an interval, and the number of
/// rows that are not drawn; `None` if there is nothing to draw.
pub(super) fn plot(mail: &str, rows: &[&ReproducedRow]) -> Option<(String, usize)> {
    let lanes: Vec<Lane> = rows.iter().filter_map(|row| Lane::from_row(row)).collect();
    if lanes.is_empty() {
        return None;
    }
    let scale = scale_of(&lanes);
    let height = lanes.len() as f64 * LANE + 2.0 * AXIS;
    let mut out = format!(
        "<svg class=\"plot\" width=\"100%\" height=\"{height}\" role=\"img\" aria-labelledby=\"plot-{mail}\">\n\
         <title id=\"plot-{mail}\">Mail {mail}: published changes and ours, percent; the same figures are in the table below</title>\n"
    );
    scale.axis(&mut out, height);
    for (i, lane) in lanes.iter().enumerate() {
        lane.draw(&mut out, &scale, mail, AXIS + i as f64 * LANE);
    }
    out.push_str("</svg>\n");
    Some((out, rows.len() - lanes.len()))
}

impl<'a> Lane<'a> {
    fn from_row(row: &'a ReproducedRow) -> Option<Lane<'a>> {
        let PublishedFigures { improvement_pct: theirs, sigma_pct, .. } = row.published;
        let OurFigures { improvement_pct: ours, ci95, .. } = row.ours.as_ref()?;
        let interval = row.model.as_ref().map(|model| model.interval);
        let drawn = interval.and_then(|interval| Some((interval.median_pct?, interval.ci90?)));
        Some(Lane { row, theirs: (theirs?, 2.0 * sigma_pct), ours: ((*ours)?, (*ci95)?), drawn })
    }

    /// Both bars below the row's name.
    fn draw(&self, out: &mut String, scale: &Scale, mail: &str, y: f64) {
        let id = self.row.id.strip_prefix(&format!("{mail}/")).unwrap_or(&self.row.id);
        let _ = writeln!(out, "<text class=\"name\" x=\"{MARGIN}%\" y=\"{}\">{}</text>", y + 13.0, escaped(id));
        let (theirs, error) = self.theirs;
        scale.bar(out, "theirs", y + 22.0, theirs, [theirs - error, theirs + error], "M0 -5L5 0L0 5L-5 0Z");
        if let Some((median, interval)) = self.drawn {
            scale.line(out, "drawn", y + 36.0, interval);
            // A short line across; of what is far off the arrow of ours is enough.
            if scale.has(median) {
                scale.form(out, "drawn", y + 36.0, median, "M0 -6V6");
            }
        }
        // Distinct in form, not in colour alone.
        let (class, form) = match self.row.hit {
            Some(true) => ("hit", "M-5 0A5 5 0 1 1 5 0A5 5 0 1 1 -5 0Z"),
            Some(false) => ("miss", "M-5 -5L5 5M-5 5L5 -5"),
            None => ("unscored", "M-4 -4H4V4H-4Z"),
        };
        scale.bar(out, class, y + 36.0, self.ours.0, self.ours.1, form);
    }
}

/// Nothing and all that was published with its error, and ours up to half as far again: what lies farther off is drawn as
/// an arrow at the edge.
fn scale_of(lanes: &[Lane]) -> Scale {
    let published = lanes.iter().flat_map(|lane| [lane.theirs.0 - lane.theirs.1, lane.theirs.0 + lane.theirs.1]);
    let most = published.clone().map(f64::abs).fold(1.0, f64::max) * 1.5;
    let drawn = lanes.iter().filter_map(|lane| lane.drawn);
    let ours = lanes.iter().map(|lane| lane.ours).chain(drawn).flat_map(|(pct, [lo, hi])| [pct, lo, hi]);
    Scale::covering(published.chain(ours.map(|x| x.clamp(-most, most))))
}
