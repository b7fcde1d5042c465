//! Parameters that a mail leaves open: workload options that were fitted to its unpatched figures, and swept ranges.

use serde::{Deserialize, Serialize};

/// A workload option that was fitted to a baseline cell. It applies to all rows that run this workload.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FittedOption {
    /// Name of the workload.
    pub workload: String,
    /// Name of the option.
    pub option: String,
    /// The fitted value.
    pub value: f64,
    /// The least value that a fit may try.
    pub low: f64,
    /// The greatest value that a fit may try.
    pub high: f64,
    /// Id of the baseline cell, `ROW/base`.
    pub cell: String,
}

/// A parameter whose value is not published, with the range of plausible values.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Swept {
    /// Description of the parameter, with its unit.
    pub what: String,
    /// Figures of the machine that change together; empty if an option changes.
    #[serde(default)]
    pub figures: Vec<String>,
    /// The workload whose option changes; `None` if figures change.
    pub workload: Option<String>,
    /// Name of the option.
    pub option: Option<String>,
    /// The least and the greatest value.
    pub range: Option<[f64; 2]>,
    /// The least and the greatest factor of the value in the machine's file. Values are spread evenly by ratio.
    pub times: Option<[f64; 2]>,
}

/// The target of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Moved<'a> {
    /// Figures of the machine.
    Figures(&'a [String]),
    /// Name of a workload and name of its option.
    Option(&'a str, &'a str),
}

impl FittedOption {
    /// `workload` with the option at the fitted value; `None` if it is another workload, or sets the option itself.
    pub(super) fn sets(&self, workload: &str) -> Option<String> {
        let own = workload.split([':', ',']).any(|piece| piece.split('=').next() == Some(&self.option));
        let set = || with_option(workload, &self.workload, &self.option, self.value);
        (!own).then(set).flatten()
    }

    /// Why the fit is invalid; `None` if it is valid.
    pub(super) fn problem(&self) -> Option<&'static str> {
        let ordered = self.low > 0.0 && self.low <= self.value && self.value <= self.high && self.high < 1e6;
        (!ordered).then_some("expected 0 < low <= value <= high")
    }
}

impl Swept {
    /// Why the sweep is invalid; `None` if it is valid.
    pub(super) fn problem(&self) -> Option<&'static str> {
        let (Some([low, high]), Some(moved)) = (self.range.or(self.times), self.moved()) else {
            return Some("expected range or times, of either figures or an option of a workload");
        };
        match (self.range.is_some(), self.times.is_some(), moved) {
            (true, true, _) => Some("has both range and times"),
            (_, true, Moved::Option(..)) => Some("an option has a range"),
            (_, true, _) if low <= 0.0 => Some("expected factors above 0"),
            _ if low < high => None,
            _ => Some("expected the lower end first"),
        }
    }

    /// What the sweep changes; `None` if that is missing or ambiguous.
    pub fn moved(&self) -> Option<Moved<'_>> {
        match (&self.figures[..], &self.workload, &self.option) {
            ([], Some(workload), Some(option)) => Some(Moved::Option(workload, option)),
            (figures @ [_, ..], None, None) => Some(Moved::Figures(figures)),
            _ => None,
        }
    }

    /// The least and the greatest value or factor.
    pub fn ends(&self) -> [f64; 2] {
        self.range.or(self.times).unwrap_or_default()
    }

    /// The value at `part` of the range, 0 to 1, with four digits after the point. The value of an option is a whole
    /// number if both ends are.
    pub fn at(&self, part: f64) -> f64 {
        let [low, high] = self.ends();
        let value = match self.times {
            Some(_) => low * (high / low).powf(part),
            None => low + (high - low) * part,
        };
        let whole = self.option.is_some() && [low, high].iter().all(|end| end.fract() == 0.0);
        if whole {
            value.round()
        } else {
            (value * 1e4).round() / 1e4
        }
    }
}

/// `workload`, as on the command line, with an option at this value; `None` if `workload` is not the one called `name`.
pub fn with_option(workload: &str, name: &str, option: &str, value: f64) -> Option<String> {
    let (own, options) = workload.split_once(':').unwrap_or((workload, ""));
    if own != name {
        return None;
    }
    let others = options.split(',').filter(|o| !o.is_empty() && o.split('=').next() != Some(option));
    let all: Vec<String> = others.map(String::from).chain([format!("{option}={value}")]).collect();
    Some(format!("{own}:{}", all.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swept(text: &str) -> Swept {
        toml::from_str(&format!("what = \"x\"\n{text}")).unwrap()
    }

    #[test]
    fn an_option_is_set_in_its_own_workload_only() {
        let set = |workload| with_option(workload, "jankbench", "frame-scale", 0.5);
        assert_eq!(set("jankbench").unwrap(), "jankbench:frame-scale=0.5");
        assert_eq!(set("jankbench:frame-scale=2,hz=90").unwrap(), "jankbench:hz=90,frame-scale=0.5");
        assert_eq!(set("geekbench5"), None);
    }

    #[test]
    fn ranges_are_spread_evenly_and_factors_by_ratio() {
        let range = swept("figures = [\"a\"]\nrange = [70, 90]");
        assert_eq!([0.0, 0.25, 1.0].map(|part| range.at(part)), [70.0, 75.0, 90.0]);
        let option = |range: &str| swept(&format!("workload = \"w\"\noption = \"o\"\nrange = {range}")).at(0.3);
        assert_eq!([option("[0, 9]"), option("[0, 9.5]")], [3.0, 2.85]);
        let times = swept("figures = [\"a\"]\ntimes = [0.5, 2]");
        assert_eq!([0.0, 0.5, 1.0].map(|part| times.at(part)), [0.5, 1.0, 2.0]);
    }

    #[test]
    fn a_sweep_says_what_it_moves_and_how_far() {
        assert_eq!(swept("figures = [\"a\"]\nrange = [1, 2]").problem(), None);
        assert_eq!(swept("workload = \"w\"\noption = \"o\"\nrange = [1, 2]").problem(), None);
        for bad in [
            "figures = [\"a\"]",
            "range = [1, 2]",
            "figures = [\"a\"]\nrange = [2, 1]",
            "figures = [\"a\"]\ntimes = [0, 1]",
            "figures = [\"a\"]\nrange = [1, 2]\ntimes = [1, 2]",
            "workload = \"w\"\noption = \"o\"\ntimes = [1, 2]",
            "figures = [\"a\"]\nworkload = \"w\"\noption = \"o\"\nrange = [1, 2]",
        ] {
            assert!(swept(bad).problem().is_some(), "{bad}");
        }
    }
}
