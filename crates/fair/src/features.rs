//! Scheduler names: `fair:PRESET+feature-feature`, and the table of features behind them.
//!
//! ```text
//! name    = "fair" | "fair:" CHANGES | ["fair:"] PRESET CHANGES
//! CHANGES = { "+" FEATURE [ "=" VALUE ] | "-" FEATURE }
//! ```
//! Without a preset the newest release is meant: `fair` and `fair:` are `fair:v7.3` as long as that is the last one.
//! A release without a preset of its own (`v6.5`, `v5.10.7`) runs as the last one before it, and [`Features::notes`]
//! names what is known to differ.
//!
//! `+name` switches a feature on, `-name` off (value 0), `+name=value` picks one of several values. Feature, value and
//! preset names contain dashes themselves, so each is read as the longest known name that ends where the text ends or
//! where `+`, `-` or `=` follows: `v5.9+asym-prev-first-wa-prev-idle` switches one on and one off.

use std::borrow::Cow;
use std::fmt;

use fairground_machine::nearest;

use crate::feature_details::why_not_ready;
use crate::ffi::{self, FeatureInfo, FgFeatures, FEATURES};
use crate::presets::{self, Preset};
use crate::timeline::{self, Release, TIMELINES};
use crate::FairError;

/// The value of every feature: a preset with changes.
#[derive(Clone)]
pub struct Features {
    preset: &'static Preset,
    values: FgFeatures,
    /// What was asked for, where that is a release without a preset.
    stands_for: Option<String>,
}

/// All features, in the table's order.
pub fn features() -> &'static [FeatureInfo] {
    &FEATURES
}

/// The feature of this name.
///
/// # Errors
/// If there is none.
pub fn feature(name: &str) -> Result<(usize, &'static FeatureInfo), FairError> {
    match find(name) {
        Some(id) => Ok((id, &FEATURES[id])),
        None => Err(unknown_feature(name, name)),
    }
}

/// What feature `id` needs or excludes: `needs asym-scan`, or `landed needs sis-merged` if only that value does.
pub fn relations(id: usize) -> Vec<String> {
    let of = |r: &&Rule| r.feature == id;
    let value = |r: &Rule| r.value.map_or_else(String::new, |v| format!("{} ", presets::word(id, v as u8)));
    RULES.iter().filter(of).map(|r| format!("{}{} {}", value(r), r.relation, FEATURES[r.other].name)).collect()
}

/// What a feature requires or forbids when it has another value than 0, or this very one.
struct Rule {
    feature: usize,
    value: Option<u32>,
    relation: &'static str,
    other: usize,
}

const fn needs(feature: usize, other: usize) -> Rule {
    Rule { feature, value: None, relation: "needs", other }
}

const fn value_needs(feature: usize, value: u32, other: usize) -> Rule {
    Rule { feature, value: Some(value), relation: "needs", other }
}

const fn excludes(feature: usize, other: usize) -> Rule {
    Rule { feature, value: None, relation: "excludes", other }
}

impl Rule {
    /// The feature, with the value if that is what matters.
    fn what(&self) -> String {
        let info = &FEATURES[self.feature];
        match self.value.and_then(|v| info.values.get(v as usize)) {
            Some(word) => format!("{}={word}", info.name),
            None => info.name.into(),
        }
    }
}

const RULES: &[Rule] = &[
    needs(ffi::FG_ASYM_PREV_FIRST, ffi::FG_ASYM_SCAN),
    needs(ffi::FG_ASYM_CHECK_SCOPE, ffi::FG_ASYM_PREV_FIRST),
    needs(ffi::FG_CAPSCAN_NEXT, ffi::FG_ASYM_SCAN),
    excludes(ffi::FG_WAKE_CAP, ffi::FG_ASYM_SCAN),
    needs(ffi::FG_LB_P04, ffi::FG_LB_P01),
    needs(ffi::FG_LB_P04, ffi::FG_LB_P02),
    needs(ffi::FG_LB_P04, ffi::FG_LB_P03),
    needs(ffi::FG_LB_P05, ffi::FG_LB_P04),
    needs(ffi::FG_LB_P06, ffi::FG_LB_P04),
    needs(ffi::FG_LB_P07, ffi::FG_LB_P04),
    needs(ffi::FG_LB_P08, ffi::FG_LB_P04),
    // Patch 11 is also based on patch 4 of its series, but on the text only: what it takes from there comes with it.
    needs(ffi::FG_LB_P10, ffi::FG_LB_P09),
    needs(ffi::FG_LB_P11, ffi::FG_LB_P09),
    // What came later to groups by type and kinds of migration means nothing to balance by load alone.
    needs(ffi::FG_LLC_SPREAD, ffi::FG_LB_P04),
    needs(ffi::FG_LOAD_SHIFT, ffi::FG_LB_P04),
    needs(ffi::FG_FAILED_RELAX, ffi::FG_LB_P04),
    needs(ffi::FG_SPARE_TIE, ffi::FG_LB_P04),
    needs(ffi::FG_UTIL_SKIP_SINGLE, ffi::FG_LB_P04),
    needs(ffi::FG_LB_AVG_GUARD, ffi::FG_LB_P04),
    needs(ffi::FG_ACTIVE_LB_TASK, ffi::FG_LB_P04),
    needs(ffi::FG_REDUCED_CAP, ffi::FG_LB_P04),
    needs(ffi::FG_LOAD_NOWRAP, ffi::FG_LB_P04),
    needs(ffi::FG_SMT_BALANCE, ffi::FG_LB_P04),
    needs(ffi::FG_SIB_RATIO, ffi::FG_LB_P04),
    needs(ffi::FG_PSIB_BUSIEST, ffi::FG_LB_P04),
    needs(ffi::FG_UTIL_SHIFT, ffi::FG_LB_P04),
    needs(ffi::FG_MISFIT_NO_BACKOFF, ffi::FG_LB_P04),
    needs(ffi::FG_MISFIT_LARGER, ffi::FG_LB_P04),
    needs(ffi::FG_ASYM_EARLY, ffi::FG_LB_P04),
    needs(ffi::FG_BREAK_EVEN_NULLBUG, ffi::FG_BREAK_EVEN),
    // Parts of a CPU are weights with fractional bits, and deadlines are by them.
    needs(ffi::FG_FLAT_PICK, ffi::FG_WEIGHT_BITS),
    needs(ffi::FG_WEIGHT_BITS, ffi::FG_RQ),
    needs(ffi::FG_UFC_THERMAL, ffi::FG_UFC),
    needs(ffi::FG_CAP_INVERSION, ffi::FG_UFC_THERMAL),
    needs(ffi::FG_MISFIT_UNLINK, ffi::FG_UFC),
    // The table of spec 4.4 has no row for what these replaced.
    value_needs(ffi::FG_CLS_SELECT, ffi::FG_CLS_LANDED, ffi::FG_ASYM_PREV_FIRST),
    value_needs(ffi::FG_CLS_SELECT, ffi::FG_CLS_LANDED, ffi::FG_SIS_MERGED),
    value_needs(ffi::FG_CLS_SELECT, ffi::FG_CLS_LANDED, ffi::FG_SIS_SMT_PREV),
    needs(ffi::FG_MU_TRISTATE, ffi::FG_UFC),
    needs(ffi::FG_MU_OU, ffi::FG_MU_TRISTATE),
    needs(ffi::FG_MU_SIC, ffi::FG_MU_TRISTATE),
    needs(ffi::FG_MU_GATE, ffi::FG_MU_TRISTATE),
    needs(ffi::FG_MU_FEEC, ffi::FG_MU_TRISTATE),
    needs(ffi::FG_MU_FEEC, ffi::FG_FEEC),
    needs(ffi::FG_FEEC_ZERO_SPARE, ffi::FG_FEEC_PREV_SPARE),
    excludes(ffi::FG_FEEC_SPARE_WRAP, ffi::FG_FEEC_PREV_SPARE),
    needs(ffi::FG_FEEC_STALE_UCLAMP, ffi::FG_UFC),
    value_needs(ffi::FG_EM_COST, ffi::FG_EM_COST_PERFORMANCE, ffi::FG_FREQ_PERF_V2),
    // The whole has all its parts.
    excludes(ffi::FG_MU_TRISTATE, ffi::FG_MISFIT_UNLINK),
    excludes(ffi::FG_CAP_INVERSION, ffi::FG_HW_PRESSURE),
    needs(ffi::FG_LEVELS_NR, ffi::FG_CLS_SELECT),
    // Not prop54, whose way with SCHED_IDLE CPUs the merged scan cannot have.
    needs(ffi::FG_SIS_MERGED, ffi::FG_SIS_MODE),
    value_needs(ffi::FG_SIS_MODE, ffi::FG_SIS_UTIL, ffi::FG_SIS_MERGED),
    needs(ffi::FG_CORE_PROBE_LEFT, ffi::FG_SIS_MERGED),
    needs(ffi::FG_KTHREAD_FIT, ffi::FG_PERCPU_KTHREAD),
    excludes(ffi::FG_HW_PRESSURE, ffi::FG_THERMAL_IN_CAP),
    excludes(ffi::FG_FAILED_RELAX, ffi::FG_LOAD_SHIFT),
    needs(ffi::FG_SLICE_700, ffi::FG_RQ),
    needs(ffi::FG_SYNC_DELAYED, ffi::FG_RQ),
    needs(ffi::FG_PICK_BUDDY, ffi::FG_RQ),
    needs(ffi::FG_NEXT_BUDDY, ffi::FG_RQ),
    needs(ffi::FG_YIELD_FORFEIT, ffi::FG_RQ),
    needs(ffi::FG_CACHE_ASYM, ffi::FG_SCHED_CACHE),
    needs(ffi::FG_CACHE_ALB, ffi::FG_SCHED_CACHE),
    needs(ffi::FG_CACHE_RUNNABLE, ffi::FG_SCHED_CACHE),
    needs(ffi::FG_CACHE_PACKING, ffi::FG_SCHED_CACHE),
    needs(ffi::FG_HRTICK, ffi::FG_RQ),
];

impl Features {
    /// The features of a preset.
    ///
    /// # Errors
    /// If no preset has this name.
    pub fn preset(name: &str) -> Result<Features, FairError> {
        match Preset::find(name) {
            Some(preset) => Ok(Self::of(preset, None)),
            None => Err(unknown_preset(name, name)),
        }
    }

    fn of(preset: &'static Preset, stands_for: Option<String>) -> Features {
        Features { preset, values: preset.values(), stands_for }
    }

    /// The features of the newest release.
    pub fn newest() -> Features {
        Self::of(Preset::newest(), None)
    }

    /// Reads a scheduler name, with or without `fair:`. Without a preset the newest release is meant.
    ///
    /// # Errors
    /// Unknown names (with the nearest valid one), values a feature does not have, a feature named twice, features
    /// that exclude or miss each other, and features that this version cannot honour.
    pub fn parse(text: &str) -> Result<Features, FairError> {
        let body = presets::current_name(text.strip_prefix("fair:").unwrap_or(text));
        let newest = || changes_of_newest(text).map(|changes| (Self::newest(), changes));
        let (mut features, rest) = newest().or_else(|| Self::start(&body)).ok_or_else(|| {
            let given = body.split('+').next().unwrap_or(&body);
            unknown_preset(given, text)
        })?;
        features.changes(rest, text)?;
        Ok(features)
    }

    /// A scheduler name with its preset: `fair:` and `fair` are completed to the newest release, `fair:v7.3`, as is
    /// `fair:+slice-700`. Other names are returned as they are.
    pub fn full_name(text: &str) -> Cow<'_, str> {
        match changes_of_newest(text) {
            Some(changes) => Cow::Owned(format!("fair:{}{changes}", Preset::newest().name)),
            None => Cow::Borrowed(text),
        }
    }

    /// A scheduler name in two parts: its preset (`fair:v5.9`), and its changes as they are written, in their order. Whether each
    /// change is valid without those behind it is not asked.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn split(text: &str) -> Result<(String, Vec<String>), FairError> {
        let full = Self::full_name(text);
        let features = Self::parse(&full)?;
        let body = full.strip_prefix("fair:").unwrap_or(&full);
        let body = presets::current_name(body);
        let (_, mut rest) = Self::start(&body).ok_or_else(|| unknown_preset(&body, text))?;
        let preset = format!("fair:{}", &body[..body.len() - rest.len()]);
        let (mut scratch, mut seen, mut changes) = (features, Vec::new(), Vec::new());
        while !rest.is_empty() {
            let after = scratch.change(rest, text, &mut seen)?;
            changes.push(rest[..rest.len() - after.len()].to_owned());
            rest = after;
        }
        Ok((preset, changes))
    }

    /// The features with the value that `value` says of each, by its number. They are named after the preset that takes the fewest changes.
    pub fn from_values(value: impl Fn(usize) -> u8) -> Features {
        let changes =
            |preset: &&Preset| (0..FEATURES.len()).filter(|id| preset.values().value[*id] != value(*id)).count();
        let nearest = presets::PRESETS.iter().min_by_key(changes).unwrap_or(Preset::newest());
        (0..FEATURES.len()).fold(Self::of(nearest, None), |features, id| features.with_value(id, value(id)))
    }

    /// The same with further changes, written as in a name: `+feature`, `-feature`, `+feature=value`.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn and(mut self, changes: &str) -> Result<Features, FairError> {
        self.changes(changes, changes)?;
        Ok(self)
    }

    fn changes(&mut self, mut rest: &str, text: &str) -> Result<(), FairError> {
        let mut seen = Vec::new();
        while !rest.is_empty() {
            rest = self.change(rest, text, &mut seen)?;
        }
        self.check()
    }

    /// The preset that `body` begins with, or the nearest to the release that it begins with, and the rest.
    fn start(body: &str) -> Option<(Features, &str)> {
        if let Some(name) = longest(body, presets::PRESETS.iter().map(|p| p.name)) {
            return Some((Self::preset(name).ok()?, &body[name.len()..]));
        }
        let (release, rest) = Release::read(body)?;
        let (point, rest) = rest.strip_prefix('.').and_then(timeline::number).unwrap_or((0, rest));
        let ends = rest.is_empty() || rest.starts_with(['+', '-']);
        let preset = Preset::nearest_to(release, point).filter(|_| ends)?;
        let asked = &body[..body.len() - rest.len()];
        let is_it = preset.release() == release && preset.point() == Some(point);
        Some((Self::of(preset, (!is_it).then(|| asked.into())), rest))
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
            let value = u32::from(self.get(r.feature));
            r.value.map_or(value != 0, |v| value == v) && other == (r.relation == "excludes")
        });
        match broken {
            None => Ok(()),
            Some(r) => Err(FairError::Conflict {
                feature: r.what(),
                relation: r.relation,
                other: FEATURES[r.other].name.into(),
            }),
        }
    }

    /// The value of feature `id` (`ffi::FG_*`).
    pub fn get(&self, id: usize) -> u8 {
        self.values.value[id]
    }

    /// The same with this value of feature `id`, as a scheduler that runs has it: whether features fit together is not asked.
    #[must_use]
    pub fn with_value(mut self, id: usize, value: u8) -> Features {
        self.values.value[id] = value;
        self
    }

    /// Whether feature `id` (`ffi::FG_*`) has another value than 0.
    pub fn on(&self, id: usize) -> bool {
        self.get(id) != 0
    }

    /// Whether feature `id` has the value of this name.
    pub fn is(&self, id: usize, word: &str) -> bool {
        FEATURES[id].values.get(usize::from(self.get(id))) == Some(&word)
    }

    /// The word for the value of feature `id`: `0` or `1` for a switch.
    pub fn word(&self, id: usize) -> &'static str {
        presets::word(id, self.get(id))
    }

    /// Name of the preset that these features are based on.
    pub fn preset_name(&self) -> &'static str {
        self.preset.name
    }

    /// The features (`ffi::FG_*`) whose values differ from those of `other`, in the table's order.
    pub fn differing(&self, other: &Features) -> Vec<usize> {
        (0..FEATURES.len()).filter(|id| self.get(*id) != other.get(*id)).collect()
    }

    /// These features with the values that `other` has of `ids`.
    ///
    /// # Errors
    /// Features that then exclude or miss each other.
    pub fn with_values_of(&self, ids: &[usize], other: &Features) -> Result<Features, FairError> {
        let mut mixed = self.clone();
        ids.iter().for_each(|id| mixed.values.value[*id] = other.get(*id));
        mixed.check()?;
        Ok(mixed)
    }

    /// What every output must say of it: that it is not quite what was asked for.
    pub fn notes(&self) -> Vec<String> {
        self.stands_for_note().into_iter().chain(self.without_effect()).collect()
    }

    /// What is known of the release that was asked for, if it has no preset and the one before it stands for it.
    pub fn stands_for_note(&self) -> Option<String> {
        self.stands_for.as_ref().map(|asked| {
            let differs = differences(self.preset, asked);
            format!("{asked} has no preset and runs as {}; {differs}", self.preset.name)
        })
    }

    /// Names what the kernel has and this version has no code for.
    fn without_effect(&self) -> Option<String> {
        let is_set = |id: &usize| self.values.value[*id] != 0 && honoured(*id, 0).is_err();
        let names: Vec<&str> = (0..FEATURES.len()).filter(is_set).map(|id| FEATURES[id].name).collect();
        (!names.is_empty())
            .then(|| format!("{} has these too, which have no effect yet: {}", self.preset.name, names.join(", ")))
    }

    pub(crate) fn raw(&self) -> &FgFeatures {
        &self.values
    }
}

/// The canonical name: `fair:`, the preset, then changes in the table's order.
impl fmt::Display for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fair:{}", self.preset.name)?;
        let base = self.preset.values();
        for (id, info) in FEATURES.iter().enumerate() {
            let value = self.values.value[id];
            if base.value[id] == value {
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

/// The changes in a name without a preset, which means the newest release: `fair`, `fair:`, `fair:+slice-700`.
fn changes_of_newest(text: &str) -> Option<&str> {
    let changes = if text == "fair" { "" } else { text.strip_prefix("fair:")? };
    (changes.is_empty() || changes.starts_with(['+', '-'])).then_some(changes)
}

/// Describes the known differences between a preset and the release `asked`.
fn differences(preset: &Preset, asked: &str) -> String {
    let Some((asked, point)) = Release::read(asked) else { return String::new() };
    let release = preset.release();
    let later = |name: &str, row: &str| {
        let changes = timeline::entries(row).filter(|(from, _)| *from > release && *from <= asked);
        changes.map(|(from, value)| format!("{name}={value} since {from}")).collect::<Vec<_>>()
    };
    let known: Vec<String> = TIMELINES.iter().flat_map(|(name, row)| later(name, row)).collect();
    let last = presets::PRESETS.iter().map(|p| p.release()).max().unwrap_or(release);
    match (known.as_slice(), asked > last, point.is_empty()) {
        (_, true, _) => "what changed after it is not known".into(),
        ([], _, true) => "no difference is known".into(),
        ([], _, false) if preset.is_stable() => "what its stable tree took back between them is not known".into(),
        ([], _, false) => "what its stable tree took back is not known".into(),
        (known, ..) => format!("known to differ: {}", known.join(", ")),
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
    if ffi::feature_ready(id as u32, u32::from(value)) {
        return Ok(());
    }
    let name = FEATURES[id].name;
    let why = why_not_ready(name).map_or(String::new(), |why| format!(": {why}"));
    let needs = format!("policy code that this version does not have{why}");
    Err(FairError::NotReady { feature: name.into(), needs })
}

fn unknown_preset(name: &str, text: &str) -> FairError {
    let known: Vec<&str> = presets::PRESETS.iter().map(|p| p.name).collect();
    // Releases from the first one on are all found; this one is older.
    let nearest = match Release::read(name) {
        Some((_, "")) => Some(known[0].to_string()),
        _ => nearest(name, known.iter().copied()).map(str::to_string),
    };
    FairError::UnknownPreset { name: name.into(), text: text.into(), nearest, known: known.join(", ") }
}

fn unknown_feature(body: &str, text: &str) -> FairError {
    let name = body.split(['+', '=']).next().unwrap_or(body);
    let nearest = nearest(name, FEATURES.iter().map(|f| f.name)).map(str::to_string);
    FairError::UnknownFeature { name: name.into(), text: text.into(), nearest }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_preset_and_changes() {
        let split = |text: &str| Features::split(text).map(|(preset, changes)| (preset, changes.join(" ")));
        let of = |preset: &str, changes: &str| (preset.to_owned(), changes.to_owned());
        assert_eq!(split("fair:v5.9+asym-prev-first").unwrap(), of("fair:v5.9", "+asym-prev-first"));
        assert_eq!(
            split("fair:v6.12-scan-next+sis-mode=prop-aged").unwrap(),
            of("fair:v6.12", "-scan-next +sis-mode=prop-aged")
        );
        assert_eq!(split("fair:v6.1").unwrap(), of("fair:v6.1", ""));
        assert_eq!(split("fair:").unwrap().0, format!("fair:{}", Preset::newest().name));
        assert!(split("fair:v5.9+no-such").is_err());
    }

    /// A feature has code for all its values or for none; one beyond them has none.
    #[test]
    fn what_cannot_be_honoured_is_refused_by_name() {
        for (id, feature) in FEATURES.iter().enumerate() {
            let values = feature.values.len().max(2) as u8;
            let ready = honoured(id, 0).is_ok();
            assert!((0..values).all(|value| honoured(id, value).is_ok() == ready), "{}", feature.name);
            let refused = honoured(id, values).unwrap_err().to_string();
            assert!(refused.starts_with(&format!("feature `{}` needs policy code", feature.name)), "{refused}");
        }
    }
}
