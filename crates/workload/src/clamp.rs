//! Utilization clamps of task groups, as one writes them to their files.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::program::{GroupId, Op, SchedAttr, Workload};

/// Which bound of utilization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Clamp {
    /// `uclamp.min`: the lower bound of utilization.
    Min,
    /// `uclamp.max`: the upper bound of utilization.
    Max,
}

impl Clamp {
    /// The file of a task group that holds it.
    pub fn file(self) -> &'static str {
        match self {
            Clamp::Min => "cpu.uclamp.min",
            Clamp::Max => "cpu.uclamp.max",
        }
    }

    /// The clamp that a file holds, if it is one of these files.
    pub fn from_file_name(name: &str) -> Option<Clamp> {
        [Clamp::Min, Clamp::Max].into_iter().find(|clamp| clamp.file() == name)
    }
}

impl Workload {
    /// Whether a thread or a group asks for a clamp, at its start or later.
    pub fn asks_for_clamps(&self) -> bool {
        let plain = SchedAttr::default();
        let of_attr = |attr: &SchedAttr| [attr.uclamp_min, attr.uclamp_max] != [plain.uclamp_min, plain.uclamp_max];
        let of_step = |op: &Op| match op {
            Op::SetAttr(attr) => of_attr(attr),
            Op::DrawUclampMin(_) | Op::SetGroupClamp(_) => true,
            _ => false,
        };
        let files = self.groups.iter().flat_map(|group| &group.files);
        self.tasks.iter().any(|t| of_attr(&t.attr) || t.program.iter().any(of_step))
            || files.into_iter().any(|(file, _)| Clamp::from_file_name(file).is_some())
    }
}

/// A clamp in percent, as the files of task groups have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ClampPercent {
    /// Hundredths of a percent, 0..=10000.
    pub hundredths: u16,
}

/// 100 %, in hundredths of a percent.
const ALL: u16 = 10_000;

impl ClampPercent {
    /// Reads `25.5` or `max` as the kernel does: two decimals, rounded. `None` for a number outside of 0 to 100.
    pub fn parse(text: &str) -> Option<ClampPercent> {
        let text = text.trim();
        if text == "max" {
            return Some(ClampPercent { hundredths: ALL });
        }
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        if whole.is_empty() || !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) {
            return None;
        }
        let digit = |n: usize| fraction.as_bytes().get(n).map_or(0, |b| u16::from(b - b'0'));
        let rest = digit(0) * 10 + digit(1) + u16::from(digit(2) >= 5);
        let whole: u16 = whole.parse().ok().filter(|n| *n <= 100)?;
        let hundredths = whole * 100 + rest;
        (hundredths <= ALL).then_some(ClampPercent { hundredths })
    }

    /// The same of 1024, rounded to the nearest.
    pub fn util(self) -> u16 {
        ((u32::from(self.hundredths) * 1024 + u32::from(ALL) / 2) / u32::from(ALL)) as u16
    }
}

impl fmt::Display for ClampPercent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}", self.hundredths / 100, self.hundredths % 100)
    }
}

/// A new clamp of a task group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GroupClamp {
    /// The task group whose clamp is set.
    pub group: GroupId,
    /// Which of the two clamps is set.
    pub clamp: Clamp,
    /// The new value of the clamp.
    pub value: ClampPercent,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::small_machine;

    #[test]
    fn requests_are_found_wherever_they_are_made() {
        let asks = |spec: &str| Workload::find(spec, &small_machine(4)).unwrap().0.asks_for_clamps();
        assert!(asks("jankbench:duration=1") && asks("uclamp-micro"));
        assert!(!asks("jankbench:duration=1,requests=none") && !asks("sched-pipe"));
    }

    #[test]
    fn percents_are_read_as_the_kernel_does() {
        let read = |text| ClampPercent::parse(text).map(|p| (p.hundredths, p.util()));
        for (text, expected) in [
            ("0", (0, 0)),
            ("25.5", (2550, 261)),
            (" 50\n", (5000, 512)),
            ("38.87", (3887, 398)),
            ("12.345", (1235, 126)),
            ("99.995", (10_000, 1024)),
            ("100.00", (10_000, 1024)),
            ("max", (10_000, 1024)),
        ] {
            assert_eq!(read(text), Some(expected), "{text}");
        }
        for text in ["", ".5", "-1", "100.01", "101", "1e1", "50%", "maximum", "1.2.3", "99999999999"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(ClampPercent { hundredths: 2505 }.to_string(), "25.05");
    }
}
