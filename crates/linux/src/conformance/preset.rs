//! The preset for a kernel tree.

use fairground_fair::ffi::FG_PREEMPT_MODEL;
use fairground_fair::{FairError, Features, PRESETS};

use crate::build::Record;

/// The preset of a kernel that calls itself `release`, e.g. `6.12.117`: that of its stable tree if there is one, else
/// the nearest. [`Features::notes`] of the result say what is known to differ.
///
/// # Errors
/// A release before the first preset, or text that is not a release.
pub fn preset_for(release: &str) -> Result<Features, FairError> {
    let version: String = release.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let stable = format!("debian-{version}");
    match PRESETS.iter().find(|p| p.name == stable) {
        Some(preset) => Features::preset(preset.name),
        None => Features::parse(&format!("v{}", version.trim_end_matches('.'))),
    }
}

/// The preset of a built kernel, by its release, its CONFIG_PREEMPTION and its CONFIG_PREEMPT_LAZY.
///
/// # Errors
/// As [`preset_for`].
pub fn preset_of(record: &Record) -> Result<Features, FairError> {
    let preset = preset_for(&record.release)?;
    let is_set = |option: &str| record.options.contains_key(option);
    let preset = match (is_set("CONFIG_PREEMPT_LAZY"), preset.on(FG_PREEMPT_MODEL)) {
        (true, false) => preset.and("+preempt-model=lazy")?,
        (false, true) => preset.and("-preempt-model")?,
        _ => preset,
    };
    match is_set("CONFIG_PREEMPTION") {
        true => Ok(preset),
        false => preset.and("-newidle-one"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stable_tree_has_its_own_preset_and_others_run_as_the_nearest() {
        let preset = |release| preset_for(release).unwrap();
        assert_eq!(preset("6.12.117").preset_name(), "debian-6.12.117");
        assert_eq!(preset("6.1.192-mine").preset_name(), "debian-6.1.192");
        assert_eq!(preset("6.12.118").preset_name(), "v6.12");
        assert!(preset("6.12.118").notes()[0].contains("6.12.118 has no preset"));
        assert!(preset_for("mine").is_err());
    }
}
