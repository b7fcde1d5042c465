//! What a mail leaves open: options of workloads that were fitted to its unpatched figures, and what is swept.

use serde::{Deserialize, Serialize};

/// An option of a workload that was fitted to a baseline cell. It holds in all rows that run this workload.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FittedOption {
    /// Name of the workload.
    pub workload: String,
    /// Its option.
    pub option: String,
    /// As fitted.
    pub value: f64,
    /// Least that a fit may try.
    pub low: f64,
    /// Greatest.
    pub high: f64,
    /// The cell, `ROW/base`.
    pub cell: String,
}

/// Something that nobody published, and the range in which it is thought to be.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Swept {
    /// In words, with the unit.
    pub what: String,
    /// Figures of the machine that are moved together.
    #[serde(default)]
    pub figures: Vec<String>,
    /// Or the workload whose option is moved.
    pub workload: Option<String>,
    /// Its option.
    pub option: Option<String>,
    /// Least and greatest.
    pub range: Option<[f64; 2]>,
    /// The same as factors of what the machine's file says; spread evenly by ratio.
    pub times: Option<[f64; 2]>,
}

/// What a value of a sweep is moved in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Moved<'a> {
    /// Figures of the machine.
    Figures(&'a [String]),
    /// An option of a workload: name of the workload, of the option.
    Option(&'a str, &'a str),
}

impl FittedOption {
    /// `workload` with the option as it was fitted; none if it is another workload, or sets the option itself.
    pub(super) fn sets(&self, workload: &str) -> Option<String> {
        let own = workload.split([':', ',']).any(|piece| piece.split('=').next() == Some(&self.option));
        let set = || with_option(workload, &self.workload, &self.option, self.value);
        (!own).then(set).flatten()
    }

    /// Why it makes no sense.
    pub(super) fn problem(&self) -> Option<&'static str> {
        let ordered = self.low > 0.0 && self.low <= self.value && self.value <= self.high && self.high < 1e6;
        (!ordered).then_some("expected 0 < low <= value <= high")
    }
}

impl Swept {
    /// Why it makes no sense.
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

    /// What is moved; none if that is not said, or said twice.
    pub fn moved(&self) -> Option<Moved<'_>> {
        match (&self.figures[..], &self.workload, &self.option) {
            ([], Some(workload), Some(option)) => Some(Moved::Option(workload, option)),
            (figures @ [_, ..], None, None) => Some(Moved::Figures(figures)),
            _ => None,
        }
    }

    /// Least and greatest.
    pub fn ends(&self) -> [f64; 2] {
        self.range.or(self.times).unwrap_or_default()
    }

    /// The value at `part` of the range, 0 to 1, in four digits after the point; of an option between whole numbers whole.
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

/// `workload`, as on the command line, with an option at this value; `None` if it is another workload.
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
