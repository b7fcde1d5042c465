//! Scheduler names: `fair:PRESET+feature-feature`, and the table of features behind them.
//!
//! ```text
//! name    = ["fair:"] PRESET { "+" FEATURE [ "=" VALUE ] | "-" FEATURE }
//! ```
//! `+name` switches a feature on, `-name` off (value 0), `+name=value` picks one of several values. Feature, value and
//! preset names contain dashes themselves, so each is read as the longest known name that ends where the text ends or
//! where `+`, `-` or `=` follows: `v5.9+asym-prev-first-wa-prev-idle` switches one on and one off.

use std::fmt;

use crate::ffi::{self, FeatureInfo, FgFeatures, FEATURES};
use crate::presets::{self, Preset};
use crate::FairError;

/// The value of every feature: a preset with changes.
#[derive(Clone)]
pub struct Features {
    preset: &'static str,
    values: FgFeatures,
}

/// All features, in the table's order.
pub fn features() -> &'static [FeatureInfo] {
    &FEATURES
}

/// What a feature requires or forbids when it has another value than 0.
struct Rule {
    feature: usize,
    relation: &'static str,
    other: usize,
}

const fn needs(feature: usize, other: usize) -> Rule {
    Rule { feature, relation: "needs", other }
}

const fn excludes(feature: usize, other: usize) -> Rule {
    Rule { feature, relation: "excludes", other }
}

const RULES: &[Rule] = &[
    needs(ffi::FG_ASYM_PREV_FIRST, ffi::FG_ASYM_SCAN),
    needs(ffi::FG_ASYM_CHECK_SCOPE, ffi::FG_ASYM_PREV_FIRST),
    needs(ffi::FG_CAPSCAN_NEXT, ffi::FG_ASYM_SCAN),
    excludes(ffi::FG_WAKE_CAP, ffi::FG_ASYM_SCAN),
    needs(ffi::FG_BREAK_EVEN_NULLBUG, ffi::FG_BREAK_EVEN),
    needs(ffi::FG_UFC_THERMAL, ffi::FG_UFC),
    needs(ffi::FG_CAP_INVERSION, ffi::FG_UFC_THERMAL),
    needs(ffi::FG_MISFIT_UNLINK, ffi::FG_UFC),
    needs(ffi::FG_LEVELS_NR, ffi::FG_CLS_SELECT),
    needs(ffi::FG_KTHREAD_FIT, ffi::FG_PERCPU_KTHREAD),
    excludes(ffi::FG_HW_PRESSURE, ffi::FG_THERMAL_IN_CAP),
    excludes(ffi::FG_FAILED_RELAX, ffi::FG_LOAD_SHIFT),
    needs(ffi::FG_SLICE_700, ffi::FG_RQ),
    needs(ffi::FG_SYNC_DELAYED, ffi::FG_RQ),
];

impl Features {
    /// The features of a preset.
    ///
    /// # Errors
    /// Unknown preset.
    pub fn preset(name: &str) -> Result<Features, FairError> {
        match Preset::find(name) {
            Some(preset) => Ok(Self::of(preset)),
            None => Err(unknown_preset(name, name)),
        }
    }

    fn of(preset: &'static Preset) -> Features {
        Features { preset: preset.name, values: preset.values() }
    }

    /// Reads a scheduler name, with or without `fair:`.
    ///
    /// # Errors
    /// Unknown names (with the nearest valid one), values a feature does not have, a feature named twice, features
    /// that exclude or miss each other, and features that this version cannot honour.
    pub fn parse(text: &str) -> Result<Features, FairError> {
        let body = text.strip_prefix("fair:").unwrap_or(text);
        let names = presets::PRESETS.iter().map(|p| p.name);
        let Some(name) = longest(body, names) else {
            let given = body.split('+').next().unwrap_or(body);
            return Err(unknown_preset(given, text));
        };
        let mut features = Self::preset(name)?;
        let mut rest = &body[name.len()..];
        let mut seen = Vec::new();
        while !rest.is_empty() {
            rest = features.change(rest, text, &mut seen)?;
        }
        features.check()?;
        Ok(features)
    }

    /// Carries out the change that `rest` begins with and returns what follows it.
    fn change<'a>(&mut self, rest: &'a str, text: &str, seen: &mut Vec<usize>) -> Result<&'a str, FairError> {
        let (sign, body) = rest.split_at(1);
        let bad = |given: &str, problem: String| FairError::BadForm { given: given.into(), text: text.into(), problem };
        if sign != "+" && sign != "-" {
            return Err(bad(rest, "expected `+feature`, `+feature=value` or `-feature`".into()));
        }
        let Some(id) = longest(body, FEATURES.iter().map(|f| f.name)).and_then(find) else {
            return Err(unknown_feature(body, text));
        };
        let info = &FEATURES[id];
        if seen.contains(&id) {
            return Err(bad(info.name, "the feature is named twice".into()));
        }
        seen.push(id);
        let after = &body[info.name.len()..];
        let (value, after) = match (sign, after.strip_prefix('=')) {
            ("-", None) => (0, after),
            ("-", Some(_)) => return Err(bad(info.name, "`-feature` takes no value".into())),
            (_, None) if info.values.is_empty() => (1, after),
            (_, None) => {
                let choice = info.values.join(", ");
                return Err(bad(info.name, format!("expected `+{}=value` with one of {choice}", info.name)));
            }
            (_, Some(word)) => value(info, word)?,
        };
        honoured(id, value)?;
        self.values.value[id] = value;
        Ok(after)
    }

    fn check(&self) -> Result<(), FairError> {
        let broken = RULES.iter().find(|r| {
            let other = self.get(r.other) != 0;
            self.get(r.feature) != 0 && other == (r.relation == "excludes")
        });
        match broken {
            None => Ok(()),
            Some(r) => Err(FairError::Conflict {
                feature: FEATURES[r.feature].name.into(),
                relation: r.relation,
                other: FEATURES[r.other].name.into(),
            }),
        }
    }

    /// The value of feature `id` (`ffi::FG_*`).
    pub fn get(&self, id: usize) -> u8 {
        self.values.value[id]
    }

    /// Whether feature `id` (`ffi::FG_*`) has another value than 0.
    pub fn on(&self, id: usize) -> bool {
        self.get(id) != 0
    }

    /// Whether feature `id` has the value of this name.
    pub fn is(&self, id: usize, word: &str) -> bool {
        FEATURES[id].values.get(usize::from(self.get(id))) == Some(&word)
    }

    /// The preset it started from.
    pub fn preset_name(&self) -> &'static str {
        self.preset
    }

    pub(crate) fn raw(&self) -> &FgFeatures {
        &self.values
    }
}

/// The canonical name: `fair:`, the preset, then changes in the table's order.
impl fmt::Display for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fair:{}", self.preset)?;
        let base = Preset::find(self.preset).map(Preset::values);
        for (id, info) in FEATURES.iter().enumerate() {
            let value = self.values.value[id];
            if base.as_ref().is_some_and(|b| b.value[id] == value) {
                continue;
            }
            match (value, info.values.get(value as usize)) {
                (0, _) => write!(f, "-{}", info.name)?,
                (_, None) => write!(f, "+{}", info.name)?,
                (_, Some(word)) => write!(f, "+{}={word}", info.name)?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Features({self})")
    }
}

/// The longest of `names` that `text` begins with and that ends at a sign or the end.
fn longest<'a>(text: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let fits =
        |name: &&str| text.strip_prefix(*name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['+', '-', '=']));
    names.filter(fits).max_by_key(|name| name.len())
}

pub(crate) fn find(name: &str) -> Option<usize> {
    FEATURES.iter().position(|f| f.name == name)
}

/// The value that `text` begins with, and what follows it.
fn value<'a>(info: &FeatureInfo, text: &'a str) -> Result<(u8, &'a str), FairError> {
    let words: &[&'static str] = if info.values.is_empty() { &["0", "1"] } else { info.values };
    match longest(text, words.iter().copied()) {
        Some(word) => {
            let value = words.iter().position(|w| *w == word).unwrap_or(0);
            Ok((value as u8, &text[word.len()..]))
        }
        None => Err(FairError::UnknownValue {
            feature: info.name.into(),
            value: text.split('+').next().unwrap_or(text).into(),
            expected: words.join(", "),
        }),
    }
}

/// Refuses what neither the policy nor this crate has code for, whatever the value in the preset.
fn honoured(id: usize, value: u8) -> Result<(), FairError> {
    if ffi::feature_ready(id, value) {
        return Ok(());
    }
    let info = &FEATURES[id];
    let of_balance = ffi::FG_IMB_PCT_117..=ffi::FG_MISFIT_NO_BACKOFF;
    let balance = of_balance.contains(&id) || info.name.starts_with("lb-p");
    let needs = match balance {
        true => "load balancing, which this version does not have: balance is passive",
        false => "policy code that this version does not have",
    };
    Err(FairError::NotReady { feature: info.name.into(), needs: needs.into() })
}

fn unknown_preset(name: &str, text: &str) -> FairError {
    let known: Vec<&str> = presets::PRESETS.iter().map(|p| p.name).collect();
    FairError::UnknownPreset {
        name: name.into(),
        text: text.into(),
        nearest: nearest(name, known.iter().copied()),
        known: known.join(", "),
    }
}

fn unknown_feature(body: &str, text: &str) -> FairError {
    let name = body.split(['+', '=']).next().unwrap_or(body);
    let nearest = nearest(name, FEATURES.iter().map(|f| f.name));
    FairError::UnknownFeature { name: name.into(), text: text.into(), nearest }
}

/// The most similar of `names`, if any is similar at all.
fn nearest<'a>(given: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let scored = names.map(|name| (strsim::jaro_winkler(given, name), name));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(score, _)| *score > 0.6).map(|(_, name)| name.into())
}
