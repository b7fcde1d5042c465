//! Predicted changes against measured ones as a picture: both axes logarithmic, equal changes on a line. No script.

use std::fmt::Write;

use fairground_lab::page::escaped;

use crate::report::factor;
use crate::score::Cell;

/// Height, px; the width is that of the page.
const HEIGHT: f64 = 460.0;
/// Space for the numbers of the axes: percent of the width, px.
const MARGIN: (f64, f64) = (8.0, 30.0);
/// The least and the greatest reach of the axes in either direction, doublings.
const REACH: (i32, i32) = (1, 6);

/// Maps log ratios to places.
struct Scale {
    /// Doublings to either side.
    reach: i32,
}

impl Scale {
    /// What lies farther out than the greatest reach is drawn at the edge.
    fn covering(cells: &[&Cell]) -> Scale {
        let most = cells.iter().flat_map(|c| [c.measured.change, c.predicted.change]).map(f64::abs).fold(0.0, f64::max);
        let doublings = (most / std::f64::consts::LN_2).ceil().min(f64::from(REACH.1)) as i32;
        Scale { reach: doublings.max(REACH.0) }
    }

    /// From 0 to 1.
    fn part(&self, change: f64) -> f64 {
        let most = f64::from(self.reach) * std::f64::consts::LN_2;
        (change.clamp(-most, most) + most) / (2.0 * most)
    }

    /// Percent of the width.
    fn x(&self, change: f64) -> f64 {
        MARGIN.0 + (100.0 - MARGIN.0 - 2.0) * self.part(change)
    }

    /// px from the top.
    fn y(&self, change: f64) -> f64 {
        8.0 + (HEIGHT - MARGIN.1 - 8.0) * (1.0 - self.part(change))
    }

    fn line(&self, out: &mut String, class: &str, from: (f64, f64), to: (f64, f64)) {
        let (x1, y1, x2, y2) = (self.x(from.0), self.y(from.1), self.x(to.0), self.y(to.1));
        let _ =
            writeln!(out, "<line class=\"{class}\" x1=\"{x1:.2}%\" y1=\"{y1:.1}\" x2=\"{x2:.2}%\" y2=\"{y2:.1}\"/>");
    }

    fn axes(&self, out: &mut String) {
        let end = f64::from(self.reach) * std::f64::consts::LN_2;
        for doublings in -self.reach..=self.reach {
            let change = f64::from(doublings) * std::f64::consts::LN_2;
            let class = if doublings == 0 { "zero" } else { "tick" };
            self.line(out, class, (change, -end), (change, end));
            self.line(out, class, (-end, change), (end, change));
            let (x, y, words) = (self.x(change), self.y(change) + 4.0, factor(change));
            let _ = writeln!(out, "<text class=\"number\" x=\"{x:.2}%\" y=\"{}\">{words}</text>", HEIGHT - 14.0);
            let _ = writeln!(out, "<text class=\"number\" x=\"{}%\" y=\"{y:.1}\">{words}</text>", MARGIN.0 / 2.0);
        }
        self.line(out, "zero", (-end, -end), (end, end));
        let _ = writeln!(out, "<text class=\"number\" x=\"50%\" y=\"{}\">predicted</text>", HEIGHT);
        let _ = writeln!(out, "<text x=\"{}%\" y=\"20\">measured</text>", MARGIN.0 + 1.0);
    }

    fn cell(&self, out: &mut String, cell: &Cell) {
        // Distinct in form, not in colour alone.
        let (class, form) = match cell.in90 {
            Some(true) => ("hit", "M-4 0A4 4 0 1 1 4 0A4 4 0 1 1 -4 0Z"),
            Some(false) => ("miss", "M-4 -4L4 4M-4 4L4 -4"),
            None => ("unscored", "M-4 -4H4V4H-4Z"),
        };
        let (at, measured) = (cell.predicted.change, cell.measured.change);
        let class_of_bar = format!("bar {class}");
        if let Some([lo, hi]) = cell.predicted.ci90 {
            self.line(out, &class_of_bar, (lo, measured), (hi, measured));
        }
        let [lo, hi] = cell.measured.ci95;
        self.line(out, &class_of_bar, (at, lo), (at, hi));
        let name =
            format!("{} {}: measured {}, predicted {}", cell.intervention, cell.metric, factor(measured), factor(at));
        let (x, y) = (self.x(at), self.y(measured));
        let _ = writeln!(
            out,
            "<svg x=\"{x:.2}%\" y=\"{y:.1}\" overflow=\"visible\"><path class=\"form {class}\" d=\"{form}\"><title>{}</title></path></svg>",
            escaped(&name)
        );
    }
}

/// The scatter of these cells; `what` names them.
pub fn scatter(what: &str, cells: &[&Cell]) -> String {
    let id = what.replace(' ', "-");
    let mut out = format!(
        "<svg class=\"plot\" width=\"100%\" height=\"{}\" role=\"img\" aria-labelledby=\"{id}\">\n\
         <title id=\"{id}\">Predicted against measured changes of {}, test over base; the same figures are in the table below</title>\n",
        HEIGHT + 4.0,
        escaped(what)
    );
    let scale = Scale::covering(cells);
    scale.axes(&mut out);
    cells.iter().for_each(|cell| scale.cell(&mut out, cell));
    out.push_str("</svg>\n<p class=\"soft\">A circle: the measured change is in the 90 % interval of what is predicted for it, its own \
         error included; a cross: it is not. Lines are the intervals of both.</p>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axes_reach_to_the_farthest_cell_but_no_farther_than_sixty_four_times() {
        let scale = Scale { reach: 2 };
        let ln = std::f64::consts::LN_2;
        assert!((scale.part(2.0 * ln) - 1.0).abs() < 1e-12 && (scale.part(-ln) - 0.25).abs() < 1e-12);
        assert_eq!(scale.part(100.0), 1.0);
        assert!(scale.y(ln) < scale.y(0.0) && scale.x(ln) > scale.x(0.0));
        assert_eq!(Scale::covering(&[]).reach, 1);
    }
}
