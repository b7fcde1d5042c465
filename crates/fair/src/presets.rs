//! Which value each release gives each feature.

use crate::features::find;
use crate::ffi::{FgFeatures, FEATURES};

/// A kernel release as a set of feature values.
#[derive(Debug)]
pub struct Preset {
    /// As typed after `fair:`.
    pub name: &'static str,
    /// What it stands for and where its values come from.
    pub text: &'static str,
    column: usize,
}

/// All presets, oldest first.
pub static PRESETS: [Preset; 2] = [
    Preset { name: "v5.9", text: "Linux 5.9: spec 10.3, read in the tree of 5.9.1", column: 0 },
    Preset { name: "v5.11", text: "Linux 5.11: spec 10.3, read in the trees of 5.10.7 and 5.11.5", column: 1 },
];

/// Spec 10.3, one row a feature: its value in each preset, in the order of [`PRESETS`]. A feature without a row has
/// value 0 in all of them. smt-in-llc and pelt-sum-floor are not in 10.3: 4.3 and 2.4.
#[rustfmt::skip]
const TABLE: &[(&str, [&str; 2])] = &[
    // feature            v5.9      v5.11
    ("asym-scan",        ["1",      "1"]),
    ("asym-prev-first",  ["0",      "1"]),
    ("lb-p01",           ["1",      "1"]),
    ("lb-p02",           ["1",      "1"]),
    ("lb-p03",           ["1",      "1"]),
    ("lb-p04",           ["1",      "1"]),
    ("lb-p05",           ["1",      "1"]),
    ("lb-p06",           ["1",      "1"]),
    ("lb-p07",           ["1",      "1"]),
    ("lb-p08",           ["1",      "1"]),
    ("lb-p09",           ["1",      "1"]),
    ("lb-p10",           ["1",      "1"]),
    ("lb-p11",           ["1",      "1"]),
    ("percpu-kthread",   ["1",      "1"]),
    ("si-first",         ["1",      "1"]),
    ("wa-prev-idle",     ["0",      "1"]),
    ("sis-mode",         ["prop",   "prop"]),
    ("smt-in-llc",       ["0",      "1"]),
    ("fig-without-p",    ["1",      "1"]),
    ("fig-weight-fix",   ["1",      "1"]),
    ("fig-avgload-fix",  ["1",      "1"]),
    ("fig-util-tie",     ["1",      "1"]),
    ("uclamp-fit",       ["1",      "1"]),
    ("thermal-in-cap",   ["1",      "1"]),
    ("pinned-no-misfit", ["0",      "1"]),
    ("util-est",         ["fastup", "fastup"]),
    ("est-lsb",          ["1",      "1"]),
    ("newtask-w1024",    ["1",      "1"]),
    ("feec",             ["margin", "margin"]),
    ("imb-pct-117",      ["0",      "1"]),
    ("busy-factor-16",   ["0",      "1"]),
    ("busy-minus1",      ["0",      "1"]),
    ("llc-spread",       ["0",      "1"]),
    ("load-shift",       ["0",      "1"]),
    ("smt-never-hot",    ["0",      "1"]),
    ("failed-relax",     ["1",      "0"]),
    ("spare-tie",        ["1",      "1"]),
    ("runnable-class",   ["1",      "1"]),
    ("util-skip-single", ["1",      "1"]),
    ("lb-avg-guard",     ["1",      "1"]),
    ("numa-imb",         ["pair",   "quarter"]),
    ("rq",               ["cfs",    "cfs"]),
];

impl Preset {
    /// The preset of this name.
    pub fn find(name: &str) -> Option<&'static Preset> {
        PRESETS.iter().find(|p| p.name == name)
    }

    /// The value of every feature.
    pub(crate) fn values(&self) -> FgFeatures {
        let mut values = FgFeatures::zeroed();
        for (name, words) in TABLE {
            if let Some((id, value)) = find(name).and_then(|id| Some((id, number(id, words[self.column])?))) {
                values.value[id] = value;
            }
        }
        values
    }
}

/// The number that a word stands for.
fn number(id: usize, word: &str) -> Option<u8> {
    match FEATURES[id].values {
        [] => word.parse().ok(),
        words => words.iter().position(|w| *w == word).map(|n| n as u8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_names_a_feature_and_its_values() {
        for (name, words) in TABLE {
            let id = find(name).unwrap_or_else(|| panic!("{name}: no such feature"));
            words.iter().for_each(|word| assert!(number(id, word).is_some(), "{name}={word}"));
        }
    }

    #[test]
    fn releases_differ_in_what_landed_between_them() {
        let (old, new) = (PRESETS[0].values(), PRESETS[1].values());
        let changed = FEATURES.iter().enumerate().filter(|(id, _)| old.value[*id] != new.value[*id]);
        let names: Vec<&str> = changed.map(|(_, f)| f.name).collect();
        let expected = [
            "asym-prev-first",
            "wa-prev-idle",
            "smt-in-llc",
            "pinned-no-misfit",
            "imb-pct-117",
            "busy-factor-16",
            "busy-minus1",
            "llc-spread",
            "load-shift",
            "smt-never-hot",
            "failed-relax",
            "numa-imb",
        ];
        assert_eq!(names, expected);
    }
}
