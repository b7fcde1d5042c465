//! Numbers, names and trailers as people read them.

use std::borrow::Cow;
use std::fmt::Write;

use comfy_table::{ContentArrangement, Table};

use crate::comparison::{Comparison, Report};
use crate::published::PublishedBeside;

/// About four significant digits; whole numbers as such.
pub fn number(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 || (size < 1e15 && size.trunc() == size) {
        return format!("{:.0}", x + 0.0);
    }
    match size {
        s if s >= 1000.0 => format!("{x:.0}"),
        s if s >= 100.0 => format!("{x:.1}"),
        s if s >= 10.0 => format!("{x:.2}"),
        s if s >= 1.0 => format!("{x:.3}"),
        s if s >= 0.01 => format!("{x:.4}"),
        s if s >= 1e-6 => format!("{x:.7}"),
        _ => format!("{x:.2e}"),
    }
}

/// A percentage with its sign and two decimals; a dash where there is none. Never `-0.00`.
pub fn percent(x: Option<f64>) -> String {
    match x {
        None => "-".into(),
        Some(x) => match hundredths(x) {
            0.0 => "0.00 %".into(),
            x => format!("{x:+.2} %"),
        },
    }
}

/// The ends of an interval in percent, with one unit.
pub fn percent_range(ends: [f64; 2]) -> String {
    let end = |pct: f64| if pct.abs() < 1000.0 { percent(Some(pct)) } else { format!("{pct:+.0} %") };
    let [low, high] = ends.map(end);
    format!("{} .. {high}", low.trim_end_matches(" %"))
}

/// A mean and its standard deviation, if there is one: at most 17 columns for usual figures. Two digits of a deviation are
/// more than a dozen runs know.
pub fn mean_and_deviation(mean: f64, sd: f64) -> String {
    let mean = match mean.abs() {
        size if size == 0.0 || size >= 0.01 => number(mean),
        size if size >= 0.001 => format!("{mean:.6}"),
        _ => format!("{mean:.2e}"),
    };
    match sd {
        0.0 => mean,
        sd if sd >= 10.0 => format!("{mean} ± {sd:.0}"),
        sd if sd >= 1.0 => format!("{mean} ± {sd:.1}"),
        sd if sd >= 0.1 => format!("{mean} ± {sd:.2}"),
        sd if sd >= 0.01 => format!("{mean} ± {sd:.3}"),
        sd if sd >= 0.001 => format!("{mean} ± {sd:.4}"),
        sd => format!("{mean} ± {sd:.1e}"),
    }
}

/// What two digits after the point would show as a negative zero, or as one with a sign, is 0.
pub fn hundredths(x: f64) -> f64 {
    if x.abs() < 0.005 {
        return 0.0;
    }
    x
}

/// `text` with a `?` for each byte of a control character and of a character that changes the direction of writing. Ends of
/// lines and tabs stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_harmful) && !text.contains('\r') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        // Alone it would overwrite the line.
        let overwrites = c == '\r' && rest.peek() != Some(&'\n');
        match is_harmful(c) || overwrites {
            true => out.extend(std::iter::repeat_n('?', c.len_utf8())),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

fn is_harmful(c: char) -> bool {
    let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control() && !matches!(c, '\n' | '\t' | '\r')
}

/// `1-8`, or a list where they do not follow each other.
pub fn seed_range(seeds: &[u64]) -> String {
    match seeds {
        [first, .., last] if seeds.windows(2).all(|w| w[0].checked_add(1) == Some(w[1])) => format!("{first}-{last}"),
        _ => seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(" "),
    }
}

/// What all sides share: `sched-pipe on hikey960 under fair:v6.12`, less what differs.
pub fn title(report: &Report) -> String {
    let part = |before: &str, name: &str| report.common.get(name).map(|value| format!("{before}{value}"));
    let parts = [part("", "workload"), part("on ", "machine"), part("under ", "sched")];
    match parts.into_iter().flatten().collect::<Vec<_>>() {
        none if none.is_empty() => "nothing in common".into(),
        parts => parts.join(" "),
    }
}

/// Published rows, notes, failed runs and provenance below a table, each line after `prefix`.
pub fn trailer(out: &mut String, report: &Report, prefix: &str) {
    for comparison in &report.comparisons {
        comparison.published.iter().for_each(|row| published(out, comparison, row, prefix));
    }
    for note in &report.notes {
        let _ = writeln!(out, "{prefix}note: {note}");
    }
    for f in &report.failures {
        let _ = writeln!(out, "{prefix}FAILED: {} seed {}: {}", f.side, f.seed, f.message);
    }
    if let Some(provenance) = &report.provenance {
        provenance.text(out, prefix);
    }
}

/// A published row beside ours, in two lines.
fn published(out: &mut String, comparison: &Comparison, row: &PublishedBeside, prefix: &str) {
    let value = |value: Option<f64>| value.map_or("-".into(), number);
    let change = row.improvement_pct.map_or("-".into(), |pct| {
        format!("{} ± {:.2} (sigma)", percent(Some(pct)).trim_end_matches(" %"), row.sigma_pct)
    });
    let ours = comparison.rows.iter().find(|own| own.metric.name == row.metric);
    let ours = percent(ours.and_then(|own| own.change.improvement_pct));
    let (metric, unit, base, test) = (&row.metric, &row.unit, value(row.base), value(row.test));
    let fitted = if row.base_is_fitted { "; a cost of this machine is fitted to its base" } else { "" };
    let workload = if row.same_workload { "of" } else { "of another form of the workload," };
    let _ = writeln!(
        out,
        "{prefix}published: {metric} {base} -> {test} {unit}, {change} %; ours {ours}; {workload} {}{fitted}",
        row.workload
    );
    let PublishedBeside { id, author, date, subject, note, .. } = row;
    let indent = " ".repeat(prefix.len());
    let _ = writeln!(out, "{indent}    {id}: {author}, {date}, {subject}; {note}");
}

/// The finished table: never wrapped to some terminal, without outer padding, and a newline.
pub fn finish(table: &mut Table) -> String {
    table.set_content_arrangement(ContentArrangement::Disabled);
    table
        .lines()
        .map(|line| {
            let line = line.strip_prefix(' ').unwrap_or(&line);
            line.trim_end().to_owned() + "\n"
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_four_digits() {
        let shown: Vec<_> =
            [0.0, -0.0, 3.0, 149_313.0, 149_313.4, 1.0 / 3.0, 12.345, 123.45, 0.001_234, 3e-9].map(number).into();
        let expected = ["0", "0", "3", "149313", "149313", "0.3333", "12.35", "123.5", "0.0012340", "3.00e-9"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn percentages_have_no_negative_zero() {
        assert_eq!(percent(Some(-0.001)), "0.00 %");
        assert_eq!(format!("{:.2}", hundredths(-0.004)), "0.00");
        assert_eq!(percent(Some(22.285)), "+22.29 %");
        assert_eq!(percent(None), "-");
    }

    #[test]
    fn means_and_deviations_are_short_and_percentages_have_one_unit() {
        let shown =
            [(149_605.3, 2.027), (0.027_41, 8.5e-6), (0.003_842_8, 4.18e-5), (1.7e-6, 2.6e-6), (3.0, 0.0), (0.0, 0.5)]
                .map(|(mean, sd)| mean_and_deviation(mean, sd));
        let expected = ["149605 ± 2.0", "0.0274 ± 8.5e-6", "0.003843 ± 4.2e-5", "1.70e-6 ± 2.6e-6", "3", "0 ± 0.50"];
        assert_eq!(shown, expected);
        let widths =
            [-1234.5, 0.007, 0.04, 0.5, 123_456.7].map(|x: f64| mean_and_deviation(x, x.abs()).chars().count());
        assert!(widths.iter().all(|width| *width <= 17), "{widths:?}");
        assert_eq!(percent_range([22.25, 22.294]), "+22.25 .. +22.29 %");
        assert_eq!(percent_range([-1787.3, 0.0]), "-1787 .. 0.00 %");
    }

    #[test]
    fn control_characters_are_replaced_byte_by_byte() {
        assert_eq!(printable("a\tb\r\nc"), "a\tb\r\nc");
        assert_eq!(printable("\u{1b}[31mred\u{7}\u{0}\u{7f}"), "?[31mred???");
        assert_eq!(printable("over\rwritten"), "over?written");
        assert_eq!(printable("\u{9b}31m"), "??31m", "the one-character form of ESC [ has two bytes");
        assert_eq!(printable("\u{202e}txt"), "???txt");
        assert_eq!(printable("naïve ± 東"), "naïve ± 東");
    }
}
