//! The grid of [`super::scale`] as one self-contained SVG: cost against CPUs, and beside it what the scheduler's rules
//! themselves look at.

use std::fmt::Write;

use super::scale::{ScaleCell, TASKS};
use crate::page::escaped;

/// Width and height of the picture.
const SIZE: (f64, f64) = (980.0, 460.0);
/// Width and height of one panel's plot area.
const PANEL: (f64, f64) = (340.0, 330.0);
/// Top edge of the panels.
const TOP: f64 = 60.0;
/// Colours of the lines, fewest tasks first; distinct in grey and for most colour-blind people too.
const COLOURS: [&str; 5] = ["#000000", "#0072b2", "#009e73", "#d55e00", "#cc79a7"];

/// One panel: its name and what it shows of a cell.
struct Panel {
    left: f64,
    title: &'static str,
    value: fn(&ScaleCell) -> f64,
}

const PANELS: [Panel; 2] = [
    Panel { left: 90.0, title: "s of a host CPU per simulated s", value: |c| c.cpu_s_per_sim_s },
    Panel { left: 590.0, title: "CPUs the scheduler looks at per simulated s", value: |c| c.group_cpus + c.probes },
];

/// Powers of ten that enclose the values.
struct Decades {
    low: i32,
    high: i32,
}

impl Decades {
    fn covering(values: impl Iterator<Item = f64>) -> Decades {
        let (mut low, mut high) = (i32::MAX, i32::MIN);
        for v in values.filter(|v| *v > 0.0) {
            low = low.min(v.log10().floor() as i32);
            high = high.max(v.log10().ceil() as i32);
        }
        // Nothing to show, or all on one line.
        match low < high {
            true => Decades { low, high },
            false => Decades { low: low.min(0), high: low.min(0) + 1 },
        }
    }

    /// 0 at the bottom, 1 at the top; what lies below, as 0 does, at the bottom.
    fn place(&self, value: f64) -> f64 {
        ((value.max(f64::MIN_POSITIVE).log10() - f64::from(self.low)) / f64::from(self.high - self.low)).max(0.0)
    }
}

/// The picture. `cells` may be any part of the grid; `sched` is who ran.
pub fn svg(cells: &[ScaleCell], sched: &str) -> String {
    let (width, height) = SIZE;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    text(
        &mut out,
        (width / 2.0, 22.0),
        "middle",
        &format!("Periodic tasks under {sched}, by CPUs; both axes logarithmic"),
    );
    PANELS.iter().for_each(|panel| draw(&mut out, panel, cells));
    for (at, (tasks, colour)) in TASKS.iter().zip(COLOURS).enumerate() {
        let x = 90.0 + 170.0 * at as f64;
        let _ = writeln!(out, "<rect x=\"{x}\" y=\"436\" width=\"18\" height=\"4\" fill=\"{colour}\"/>");
        text(&mut out, (x + 24.0, 442.0), "start", &format!("{tasks} tasks"));
    }
    out.push_str("</svg>\n");
    out
}

fn draw(out: &mut String, panel: &Panel, cells: &[ScaleCell]) {
    let (w, h) = PANEL;
    let y_axis = Decades::covering(cells.iter().map(panel.value));
    let (first, last) = (8f64.log2(), 1024f64.log2());
    let x = |cpus: u32| panel.left + w * (f64::from(cpus).log2() - first) / (last - first);
    let y = |value: f64| TOP + h * (1.0 - y_axis.place(value));
    text(out, (panel.left, TOP - 12.0), "start", panel.title);
    for decade in y_axis.low..=y_axis.high {
        let at = y(10f64.powi(decade));
        line(out, (panel.left, at), (panel.left + w, at));
        text(out, (panel.left - 6.0, at + 4.0), "end", &format!("1e{decade}"));
    }
    for cpus in super::scale::CPUS {
        line(out, (x(cpus), TOP), (x(cpus), TOP + h));
        text(out, (x(cpus), TOP + h + 16.0), "middle", &cpus.to_string());
    }
    for (tasks, colour) in TASKS.iter().zip(COLOURS) {
        let points = cells.iter().filter(|c| c.tasks == *tasks);
        let points: Vec<_> = points.map(|c| format!("{:.1},{:.1}", x(c.cpus), y((panel.value)(c)))).collect();
        let _ = writeln!(
            out,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{}\"/>",
            points.join(" ")
        );
    }
}

fn line(out: &mut String, from: (f64, f64), to: (f64, f64)) {
    let _ = writeln!(
        out,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"#dddddd\"/>",
        from.0, from.1, to.0, to.1
    );
}

/// `words` are ours or a scheduler's name as the command line had it.
fn text(out: &mut String, (x, y): (f64, f64), anchor: &str, words: &str) {
    let words = escaped(words);
    let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(cpus: u32, tasks: u32, wall: f64) -> ScaleCell {
        ScaleCell {
            cpus,
            tasks,
            start_cpu_s: 0.1,
            cpu_s_per_sim_s: wall,
            events: 1.0,
            wakeups: 1.0,
            group_cpus: 1e6,
            probes: 0.0,
            balances: 1.0,
            rss_mib: None,
        }
    }

    #[test]
    fn a_line_goes_from_edge_to_edge_and_names_are_escaped() {
        let picture = svg(&[cell(8, 1_000, 0.01), cell(1024, 1_000, 10.0)], "a<b&c");
        assert!(picture.contains("a&lt;b&amp;c"));
        assert!(picture.contains("points=\"90.0,390.0 430.0,60.0\""), "{picture}");
    }

    #[test]
    fn nothing_measured_is_still_a_picture() {
        for cells in [vec![], vec![cell(8, 10, 0.0)]] {
            let picture = svg(&cells, "fair:v6.12");
            assert!(picture.ends_with("</svg>\n") && !picture.contains("NaN") && !picture.contains("inf"), "{picture}");
        }
    }
}
