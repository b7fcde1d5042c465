//! Published changes beside ours as a picture: one lane per row, drawn with lengths in percent of whatever width there
//! is and type that does not shrink, so that it reads on a phone as on paper. No script.

use std::fmt::Write;

use super::rows::{OurFigures, PublishedFigures, ReproducedRow};
use crate::page::escaped;

/// Height of a lane, px: a line of text and two bars.
const LANE: f64 = 46.0;
/// Above and below the lanes: the numbers of the axis.
const AXIS: f64 = 22.0;
/// Free space to the left and to the right of the axis, percent of the width.
const MARGIN: f64 = 3.0;

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

/// Maps percent of change to percent of width.
struct Scale {
    low: f64,
    high: f64,
    /// Distance of two lines of the axis, percent of change; both ends are such lines.
    step: f64,
}

/// A plot of the rows of `mail` in which both changes have a percentage and ours has an interval, and the number of
/// rows that are not drawn; `None` if there is nothing to draw.
pub(super) fn plot(mail: &str, rows: &[&ReproducedRow]) -> Option<(String, usize)> {
    let lanes: Vec<Lane> = rows.iter().filter_map(|row| Lane::from_row(row)).collect();
    if lanes.is_empty() {
        return None;
    }
    let scale = Scale::covering(&lanes);
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
        let drawn = interval.and_then(|interval| Some((interval.median_pct, interval.ci90?)));
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
            if (scale.low..=scale.high).contains(&median) {
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

impl Scale {
    /// Nothing and all that was published with its error, and ours up to half as far again: what lies farther off is
    /// drawn as an arrow at the edge.
    fn covering(lanes: &[Lane]) -> Scale {
        let published = lanes.iter().flat_map(|lane| [lane.theirs.0 - lane.theirs.1, lane.theirs.0 + lane.theirs.1]);
        let most = published.clone().map(f64::abs).fold(1.0, f64::max) * 1.5;
        let drawn = lanes.iter().filter_map(|lane| lane.drawn);
        let ours = lanes.iter().map(|lane| lane.ours).chain(drawn).flat_map(|(pct, [lo, hi])| [pct, lo, hi]);
        let all: Vec<f64> = published.chain(ours.map(|x| x.clamp(-most, most))).collect();
        let low = all.iter().copied().fold(0.0, f64::min);
        let high = all.iter().copied().fold(0.0, f64::max);
        let step = step(high - low);
        Scale { low: (low / step).floor() * step, high: (high / step).ceil() * step, step }
    }

    fn x(&self, value: f64) -> f64 {
        let part = (value.clamp(self.low, self.high) - self.low) / (self.high - self.low);
        MARGIN + (100.0 - 2.0 * MARGIN) * part
    }

    /// Lines of equal change with their numbers above and below.
    fn axis(&self, out: &mut String, height: f64) {
        let step = self.step;
        let ticks = ((self.high - self.low) / step).round() as usize;
        for tick in 0..=ticks {
            let value = self.low + tick as f64 * step;
            let class = if value.abs() < step / 2.0 { "zero" } else { "tick" };
            let x = self.x(value);
            let _ = writeln!(
                out,
                "<line class=\"{class}\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"{AXIS}\" y2=\"{}\"/>",
                height - AXIS
            );
            for y in [AXIS - 7.0, height - 6.0] {
                let _ =
                    writeln!(out, "<text class=\"number\" x=\"{x:.2}%\" y=\"{y}\">{}</text>", tick_words(value, step));
            }
        }
    }

    fn line(&self, out: &mut String, class: &str, y: f64, [lo, hi]: [f64; 2]) {
        let [from, to] = [lo, hi].map(|value| self.x(value));
        let _ = writeln!(out, "<line class=\"bar {class}\" x1=\"{from:.2}%\" x2=\"{to:.2}%\" y1=\"{y}\" y2=\"{y}\"/>");
    }

    fn form(&self, out: &mut String, class: &str, y: f64, value: f64, form: &str) {
        let x = self.x(value);
        let _ = writeln!(
            out,
            "<svg x=\"{x:.2}%\" y=\"{y}\" overflow=\"visible\"><path class=\"form {class}\" d=\"{form}\"/></svg>"
        );
    }

    /// A value of some form with its interval, or an arrow with the value where it lies outside.
    fn bar(&self, out: &mut String, class: &str, y: f64, value: f64, interval: [f64; 2], form: &str) {
        self.line(out, class, y, interval);
        let (arrow, anchor, at) = match value {
            _ if value > self.high => ("M-4 -5L4 0L-4 5Z", "end", -9.0),
            _ if value < self.low => ("M4 -5L-4 0L4 5Z", "start", 9.0),
            _ => return self.form(out, class, y, value, form),
        };
        let x = self.x(value);
        let _ = writeln!(
            out,
            "<svg x=\"{x:.2}%\" y=\"{y}\" overflow=\"visible\"><path class=\"form {class}\" d=\"{arrow}\"/>\
             <text class=\"far\" text-anchor=\"{anchor}\" x=\"{at}\" y=\"4\">{value:+.0} %</text></svg>"
        );
    }
}

/// Distance of two lines of the axis, of which there are some seven: 1, 2 or 5 of some size.
fn step(range: f64) -> f64 {
    let mut size = 0.01;
    loop {
        if let Some(step) = [1.0, 2.0, 5.0].map(|s| s * size).into_iter().find(|step| range / step <= 6.0) {
            return step;
        }
        size *= 10.0;
    }
}

fn tick_words(value: f64, step: f64) -> String {
    let digits = if step >= 1.0 { 0 } else { 2 };
    match value.abs() < step / 2.0 {
        true => "0".into(),
        false => format!("{value:+.digits$}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_has_few_round_numbers() {
        assert_eq!([0.5, 6.0, 7.0, 100.0, 125.0].map(step), [0.1, 1.0, 2.0, 20.0, 50.0]);
        assert_eq!([(0.0, 20.0), (-40.0, 20.0), (0.5, 0.1)].map(|(v, s)| tick_words(v, s)), ["0", "-40", "+0.50"]);
    }

    /// From -3 to 104 the lines stand at -20, 0, and so on to 120: nothing is one of them.
    #[test]
    fn lines_stand_at_round_numbers() {
        let scale = Scale { low: -20.0, high: 120.0, step: step(107.0) };
        let mut out = String::new();
        scale.axis(&mut out, 100.0);
        for number in ["-20", ">0<", "+20", "+120"] {
            assert!(out.contains(number), "{number} in {out}");
        }
        let zero = format!("<line class=\"zero\" x1=\"{:.2}%\"", scale.x(0.0));
        assert!(out.contains(&zero), "{zero} in {out}");
    }

    #[test]
    fn a_scale_has_room_for_all_but_what_is_far_off() {
        let scale = Scale { low: -20.0, high: 40.0, step: 10.0 };
        assert_eq!([-20.0, 10.0, 40.0, 1e9].map(|v| scale.x(v)), [3.0, 50.0, 97.0, 97.0]);
        let mut out = String::new();
        scale.bar(&mut out, "miss", 36.0, 400.0, [390.0, 410.0], "M0 0");
        assert!(out.contains("text-anchor=\"end\"") && out.contains("+400 %"), "{out}");
    }
}
