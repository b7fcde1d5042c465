//! The features in which two schedulers differ, and the releases that changed them.

use std::fmt;

use crate::features::{features, Features};
use crate::ffi::FeatureInfo;
use crate::timeline::{release_changes, Release};

/// A feature that differs between two schedulers.
#[derive(Clone, Debug)]
pub struct FeatureChange {
    /// What differs, with its name, values and text.
    pub feature: &'static FeatureInfo,
    /// Its value in the first, as a word: `0` or `1` for a switch.
    pub base: &'static str,
    /// Its value in the second.
    pub test: &'static str,
    /// The changes of releases that lead from the one value to the other, oldest first, each with the value from then
    /// on; empty if no releases do.
    pub releases: Vec<(Release, &'static str)>,
}

/// The features in which `base` and `test` differ, in the table's order.
pub fn feature_diff(base: &Features, test: &Features) -> Vec<FeatureChange> {
    let change = |id: usize| {
        let (feature, base, test) = (&features()[id], base.word(id), test.word(id));
        FeatureChange { feature, base, test, releases: between(feature, base, test) }
    };
    base.differing(test).into_iter().map(change).collect()
}

/// The changes from value `base` to value `test`, or back if releases went the other way.
fn between(feature: &FeatureInfo, base: &str, test: &str) -> Vec<(Release, &'static str)> {
    let first = feature.values.first().copied().unwrap_or("0");
    let changes = release_changes(feature.name);
    let of = |at: usize| if at == 0 { first } else { changes[at - 1].1 };
    let path = |from: &str, to: &str| {
        let to = (1..=changes.len()).find(|at| of(*at) == to && (0..*at).any(|before| of(before) == from))?;
        let from = (0..to).rfind(|at| of(*at) == from)?;
        Some(changes[from..to].to_vec())
    };
    path(base, test).or_else(|| path(test, base)).unwrap_or_default()
}

/// What changed it: `v7.1`; `place v6.13, exact v7.1` if values lie between; `no release`.
impl fmt::Display for FeatureChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.releases.as_slice() {
            [] => f.write_str("no release"),
            [(release, _)] => write!(f, "{release}"),
            releases => {
                let each: Vec<String> = releases.iter().map(|(release, value)| format!("{value} {release}")).collect();
                f.write_str(&each.join(", "))
            }
        }
    }
}
