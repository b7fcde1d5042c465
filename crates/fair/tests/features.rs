//! Scheduler names, good and bad.

use fairground_fair::{features, Features};

fn canonical(text: &str) -> String {
    Features::parse(text).unwrap().to_string()
}

fn error(text: &str) -> String {
    Features::parse(text).unwrap_err().to_string()
}

#[test]
fn names_with_dashes_are_read_longest_first() {
    assert_eq!(canonical("v5.9"), "fair:v5.9");
    assert_eq!(canonical("fair:v5.9+asym-prev-first"), "fair:v5.9+asym-prev-first");
    assert_eq!(canonical("v5.11-asym-prev-first-wa-prev-idle"), "fair:v5.11-asym-prev-first-wa-prev-idle");
    assert_eq!(canonical("v5.9+asym-prev-first-si-first"), "fair:v5.9+asym-prev-first-si-first");
}

#[test]
fn what_a_preset_has_already_is_not_repeated() {
    assert_eq!(canonical("v5.11+asym-prev-first"), "fair:v5.11");
}

#[test]
fn values_are_given_by_name() {
    assert_eq!(canonical("v5.9+sis-mode=prop54"), "fair:v5.9-sis-mode");
    assert_eq!(canonical("v5.9+numa-imb=quarter-si-first"), "fair:v5.9-si-first+numa-imb=quarter");
}

#[test]
fn canonical_names_read_back() {
    for text in ["v5.9+asym-prev-first", "v5.11-numa-imb", "v5.9+numa-imb=llc-est-lsb"] {
        let name = canonical(text);
        assert_eq!(canonical(&name), name);
    }
}

#[test]
fn unknown_names_come_with_the_nearest() {
    assert_eq!(error("v5.8"), "unknown preset `v5.8` in `v5.8`; did you mean `v5.9`?");
    assert_eq!(
        error("v5.9+asym-prev-frist"),
        "unknown feature `asym-prev-frist` in `v5.9+asym-prev-frist`; did you mean `asym-prev-first`?"
    );
    assert_eq!(
        error("v5.9+sis-mode=porp"),
        "feature `sis-mode` has no value `porp`: expected one of prop54, prop, prop-aged, util"
    );
}

#[test]
fn bad_forms_say_what_was_expected() {
    assert!(error("v5.9+sis-mode").contains("expected `+sis-mode=value`"));
    assert!(error("v5.9-sis-mode=prop").contains("takes no value"));
    assert!(error("v5.9+si-first-si-first").contains("named twice"));
    assert!(error("").starts_with("unknown preset ``"));
    assert!(error("v5.9+").starts_with("unknown feature ``"));
    assert!(error("v5.9++si-first").starts_with("unknown feature ``"));
    assert!(error("v5.9=1").contains("expected `+feature`"));
    assert!(error("v5.9+si-first=2").contains("has no value `2`"));
}

#[test]
fn what_cannot_be_honoured_is_refused_by_name() {
    assert_eq!(
        error("v5.9+load-shift"),
        "feature `load-shift` needs load balancing, which this version does not have: balance is passive"
    );
    assert!(error("v5.11-lb-p04").contains("balance is passive"));
    assert!(error("v5.9+sis-mode=util").starts_with("feature `sis-mode` needs policy code"));
}

#[test]
fn features_that_need_another_say_so() {
    assert_eq!(error("v5.11-asym-scan"), "feature `asym-prev-first` needs `asym-scan`");
    assert_eq!(error("v5.11+slice-700"), "feature `slice-700` needs `rq`");
    assert_eq!(error("v5.11+sync-delayed"), "feature `sync-delayed` needs `rq`");
    assert_eq!(canonical("v5.11+rq=eevdf612+slice-700"), "fair:v5.11+rq=eevdf612+slice-700");
}

#[test]
fn every_feature_has_a_unique_name() {
    let names: Vec<&str> = features().iter().map(|f| f.name).collect();
    for (i, name) in names.iter().enumerate() {
        assert!(!names[..i].contains(name), "{name} twice");
    }
}
