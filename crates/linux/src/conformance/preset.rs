//! The preset for a kernel tree.

use fairground_fair::ffi::FG_PREEMPT_MODEL;
use fairground_fair::{FairError, Features};

use crate::build::Record;

/// The preset of a kernel that calls itself `release`, e.g. `6.12.117`: that of its stable tree if there is one, else
/// the nearest. [`Features::notes`] of the result say what is known to differ.
///
/// # Errors
/// A release before the first preset, or text that is not a release.
pub fn preset_for(release: &str) -> Result<Features, FairError> {
    let version: String = release.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    Features::parse(&format!("v{}", version.trim_end_matches('.')))
}

/// The preset of a built kernel, by its release, its CONFIG_PREEMPTION and its CONFIG_PREEMPT_LAZY.
///
/// # Errors
/// As [`preset_for`].
pub fn preset_of(record: &Record) -> Result<Features, FairError> {
    configured(preset_for(&record.release)?, |option| record.options.contains_key(option))
}

/// A preset as a kernel with these options behaves.
fn configured(preset: Features, is_set: impl Fn(&str) -> bool) -> Result<Features, FairError> {
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
        assert!(preset("6.12.117").stands_for_note().is_none());
        assert_eq!(preset("6.12.118").preset_name(), "debian-6.12.117");
        assert!(preset("6.12.118").notes()[0].contains("6.12.118 has no preset"));
        assert_eq!(preset("6.12.9").preset_name(), "v6.12");
        assert_eq!(preset("7.2.12").preset_name(), "debian-7.2.13");
        assert!(preset_for("mine").is_err());
    }

    #[test]
    fn a_preset_follows_the_model_of_preemption() {
        let lazy = ["CONFIG_PREEMPTION", "CONFIG_PREEMPT_LAZY"].as_slice();
        let full = ["CONFIG_PREEMPTION", "CONFIG_PREEMPT"].as_slice();
        for (preset, options, expected) in [
            ("v6.18", lazy, "fair:v6.18+preempt-model=lazy"),
            ("v6.18", full, "fair:v6.18"),
            ("v6.18", &["CONFIG_PREEMPT_NONE"], "fair:v6.18-newidle-one"),
            ("v7.2", lazy, "fair:v7.2"),
            ("v7.2", full, "fair:v7.2-preempt-model"),
            ("v7.2", &["CONFIG_PREEMPT_NONE"], "fair:v7.2-newidle-one-preempt-model"),
        ] {
            let is_set = |option: &str| options.contains(&option);
            let features = configured(Features::preset(preset).unwrap(), is_set).unwrap();
            assert_eq!(features.to_string(), expected);
        }
    }
}
