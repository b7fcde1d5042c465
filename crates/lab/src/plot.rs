//! The axis of pictures of changes: percent of change as percent of whatever width there is, in SVG, with type that does not
//! shrink.

use std::fmt::Write;

/// Above and below the lanes: the numbers of the axis.
pub(crate) const AXIS: f64 = 22.0;
/// Free space to the left and to the right of the axis, percent of the width.
pub(crate) const MARGIN: f64 = 3.0;

/// Maps percent of change to percent of width.
pub(crate) struct Scale {
    low: f64,
    high: f64,
    /// Distance of two lines of the axis, percent of change; both ends are such lines.
    step: f64,
}

impl Scale {
    /// From the least to the greatest of the values and nothing, or a bit beyond: the ends are lines of the axis.
    pub fn covering(values: impl Iterator<Item = f64> + Clone) -> Scale {
        let low = values.clone().fold(0.0, f64::min);
        let high = values.fold(0.0, f64::max);
        let step = step(high - low);
        Scale { low: (low / step).floor() * step, high: (high / step).ceil() * step, step }
    }

    /// Whether a value is on the axis.
    pub fn has(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    fn x(&self, value: f64) -> f64 {
        let part = (value.clamp(self.low, self.high) - self.low) / (self.high - self.low);
        MARGIN + (100.0 - 2.0 * MARGIN) * part
    }

    /// Lines of equal change with their numbers above and below.
    pub fn axis(&self, out: &mut String, height: f64) {
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

    pub fn line(&self, out: &mut String, class: &str, y: f64, [lo, hi]: [f64; 2]) {
        let [from, to] = [lo, hi].map(|value| self.x(value));
        let _ = writeln!(out, "<line class=\"bar {class}\" x1=\"{from:.2}%\" x2=\"{to:.2}%\" y1=\"{y}\" y2=\"{y}\"/>");
    }

    pub fn form(&self, out: &mut String, class: &str, y: f64, value: f64, form: &str) {
        let x = self.x(value);
        let _ = writeln!(
            out,
            "<svg x=\"{x:.2}%\" y=\"{y}\" overflow=\"visible\"><path class=\"form {class}\" d=\"{form}\"/></svg>"
        );
    }

    /// A value of some form with its interval, or an arrow with the value where it lies outside.
    pub fn bar(&self, out: &mut String, class: &str, y: f64, value: f64, interval: [f64; 2], form: &str) {
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
