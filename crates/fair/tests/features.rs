//! Scheduler names, good and bad.

use fairground_fair::{features, Features, PRESETS};

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
fn every_preset_can_be_asked_for() {
    for preset in &PRESETS {
        assert_eq!(canonical(preset.name), format!("fair:{}", preset.name));
    }
}

/// The preset with the highest numbers, in whatever order the table is.
#[test]
fn a_name_without_a_preset_is_the_newest_release() {
    let numbers = |name: &str| -> Option<Vec<u32>> {
        name.strip_prefix('v')?.split('.').map(|number| number.parse().ok()).collect()
    };
    let newest = PRESETS.iter().filter_map(|p| numbers(p.name)).max().unwrap();
    let newest = format!("fair:v{}.{}", newest[0], newest[1]);
    assert_eq!(Features::newest().to_string(), newest);
    for (text, changes) in [("fair", ""), ("fair:", ""), ("fair:-slice-700+feec=delta", "+feec=delta-slice-700")] {
        assert_eq!(canonical(text), format!("{newest}{changes}"));
    }
    assert_eq!(Features::full_name("fair:-slice-700"), format!("{newest}-slice-700"));
    for text in ["fair:v5.9", "fair:no-such-preset", "linux:", "fare:", ""] {
        assert_eq!(Features::full_name(text), text);
    }
    assert!(error("").starts_with("unknown preset"));
    assert!(error("fair:+slice-70").contains("did you mean `slice-700`?"));
}

#[test]
fn kernels_of_a_mail_may_be_named_by_its_number() {
    assert_eq!(canonical("fair:003-ufc-cap-inversion"), "fair:misfit-unlink-ufc-cap-inversion");
    assert_eq!(canonical("003-ufc-no-thermal"), "fair:misfit-unlink-ufc-no-thermal");
    assert!(
        error("003-ufx").starts_with("unknown preset `misfit-unlink-ufx` in `003-ufx`; did you mean `misfit-unlink-uf")
    );
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
    assert_eq!(error("v5.3"), "unknown preset `v5.3` in `v5.3`; did you mean `v5.4`?");
    assert!(error("v5.9x").starts_with("unknown preset `v5.9x`"));
    assert!(error("v5.").starts_with("unknown preset `v5.`"));
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
fn features_that_need_another_say_so() {
    assert_eq!(error("v5.11-asym-scan"), "feature `asym-prev-first` needs `asym-scan`");
    assert_eq!(error("v5.9+sis-mode=util"), "feature `sis-mode=util` needs `sis-merged`");
    assert_eq!(error("v5.9+sis-merged-sis-mode"), "feature `sis-merged` needs `sis-mode`");
    let landed = "+cls-select=landed";
    assert_eq!(error(&format!("v5.9{landed}")), "feature `cls-select=landed` needs `asym-prev-first`");
    assert_eq!(error(&format!("v5.11{landed}")), "feature `cls-select=landed` needs `sis-merged`");
    assert_eq!(error(&format!("v5.11+sis-merged{landed}")), "feature `cls-select=landed` needs `sis-smt-prev`");
    for variant in ["loop", "levels"] {
        canonical(&format!("v5.9+cls-domain+cls-select={variant}"));
        canonical(&format!("v5.9+cls-select={variant}"));
    }
    canonical("v6.7-cls-domain");
    assert_eq!(error("v5.9+wake-cap"), "feature `wake-cap` excludes `asym-scan`");
    assert_eq!(error("v5.9-lb-p09"), "feature `lb-p10` needs `lb-p09`");
    assert_eq!(error("v5.9-lb-p10-lb-p09"), "feature `lb-p11` needs `lb-p09`");
}

/// Those of load balancing as those of the wakeup path.
#[test]
fn patches_of_mail_002_come_off_one_by_one() {
    for text in ["v5.9-lb-p11", "v5.9-lb-p10-lb-p11", "v5.9-lb-p09-lb-p10-lb-p11+fig-wrap"] {
        assert_eq!(canonical(text), format!("fair:{text}"));
    }
    assert_eq!(canonical("v5.9-lb-p06"), "fair:v5.9-lb-p06");
}

/// What the mails compare, each on its own base.
#[test]
fn the_mails_can_be_measured() {
    let compared = [
        "v5.9+asym-prev-first",
        "v5.10-asym-prev-first",
        "v5.9+asym-prev-first+asym-check-scope=asym",
        "v5.4+lb-p09",
        "v5.4+lb-p09+lb-p10",
        "v5.4+lb-p09+lb-p10+lb-p11",
        "v5.4+lb-p09+lb-p11",
        "v6.1+ufc",
        "v6.1+ufc+ufc-thermal",
        "v6.1+ufc+ufc-thermal+cap-inversion",
        "v6.1+ufc+ufc-thermal+misfit-unlink",
        "v5.9+cls-domain",
        "v5.9+cls-domain+cls-select=loop",
        "v5.9+cls-domain+cls-select=levels",
        "v5.9+cls-domain+cls-select=levels+levels-nr=cluster",
        "v5.16+cls-select=landed",
        "misfit-unlink-ufc-cap-inversion",
        "misfit-unlink-patched-v4-cap-inversion",
        "v6.3+cap-inversion",
    ];
    for text in compared {
        assert_eq!(canonical(text), format!("fair:{text}"));
    }
}

#[test]
fn the_parts_of_misfit_unlink_stand_without_the_whole() {
    assert_eq!(canonical("v5.11+ufc+mu-tristate+mu-ou"), "fair:v5.11+ufc+mu-tristate+mu-ou");
    assert_eq!(error("v5.11+mu-tristate"), "feature `mu-tristate` needs `ufc`");
    assert_eq!(error("v5.11+ufc+mu-sic"), "feature `mu-sic` needs `mu-tristate`");
    assert_eq!(error("v5.11+ufc+mu-feec"), "feature `mu-feec` needs `mu-tristate`");
    assert_eq!(error("v5.11+ufc+mu-tristate+mu-feec"), "feature `mu-feec` needs `feec`");
    let both = "v5.11+ufc+misfit-unlink+mu-tristate";
    assert_eq!(error(both), "feature `mu-tristate` excludes `misfit-unlink`");
    assert_eq!(canonical("v5.11+ufc+mu-tristate+mu-gate"), "fair:v5.11+ufc+mu-tristate+mu-gate");
    assert_eq!(error("v5.11+hw-pressure"), "feature `hw-pressure` excludes `thermal-in-cap`");
    assert_eq!(error("v5.11+slice-700"), "feature `slice-700` needs `rq`");
    assert_eq!(error("v5.11+sync-delayed"), "feature `sync-delayed` needs `rq`");
    assert_eq!(canonical("v5.11+rq=eevdf612+slice-700"), "fair:v5.11+rq=eevdf612+slice-700");
}

#[test]
fn what_later_releases_added_to_energy_awareness_needs_what_it_stands_on() {
    assert_eq!(error("v6.1+feec-zero-spare"), "feature `feec-zero-spare` needs `feec-prev-spare`");
    assert_eq!(error("v6.3+feec-spare-wrap"), "feature `feec-spare-wrap` excludes `feec-prev-spare`");
    assert_eq!(error("v6.1+feec-stale-uclamp"), "feature `feec-stale-uclamp` needs `ufc`");
    assert_eq!(error("v6.3+em-cost=performance"), "feature `em-cost=performance` needs `freq-perf-v2`");
    assert_eq!(canonical("v6.1+feec=margin"), "fair:v6.1-feec");
}

#[test]
fn every_feature_has_a_unique_name() {
    let names: Vec<&str> = features().iter().map(|f| f.name).collect();
    for (i, name) in names.iter().enumerate() {
        assert!(!names[..i].contains(name), "{name} twice");
    }
}

#[test]
fn a_release_without_a_preset_runs_as_the_nearest_and_says_so() {
    let features = Features::parse("fair:v6.5+si-first").unwrap();
    assert_eq!(features.to_string(), "fair:v6.3");
    assert_eq!(features.notes(), ["v6.5 has no preset and runs as v6.3; known to differ: runnable-boost=1 since v6.5, asym-prio=core since v6.5"]);
    let note = |text: &str| Features::parse(text).unwrap().notes().join("");
    assert_eq!(note("v6.4"), "v6.4 has no preset and runs as v6.3; no difference is known");
    assert_eq!(note("v5.8"), "v5.8 has no preset and runs as v5.7; known to differ: wake-list=on-cpu since v5.8");
    assert_eq!(note("v5.10.7"), "v5.10.7 has no preset and runs as v5.10; what its stable tree took back is not known");
    assert!(
        note("v7.4-si-first").starts_with("v7.4 has no preset and runs as v7.3; what changed after it is not known")
    );
    assert_eq!(note("v7.3"), "v7.3 has these too, which have no effect yet: tg-rate-clock");
    assert_eq!(note("v7.1"), "");
    assert_eq!(note("v6.13"), "");
    assert_eq!(note("v6.12"), "");
    assert_eq!(note("debian-6.12.117"), "");
}

#[test]
fn features_are_mixed_from_two_sets() {
    let of = |text: &str| Features::parse(text).unwrap();
    let (base, test) = (of("v5.9"), of("v5.9+asym-prev-first+wa-prev-idle-si-first"));
    let ids = test.differing(&base);
    let names: Vec<_> = ids.iter().map(|id| features()[*id].name).collect();
    assert_eq!(names, ["asym-prev-first", "si-first", "wa-prev-idle"]);
    assert_eq!(base.with_values_of(&ids, &test).unwrap().to_string(), test.to_string());
    assert_eq!(base.with_values_of(&ids[1..], &test).unwrap().to_string(), "fair:v5.9-si-first+wa-prev-idle");
    // asym-check-scope needs asym-prev-first, which is the first of them.
    let scoped = of("v5.9+asym-prev-first+asym-check-scope=asym");
    let ids = scoped.differing(&base);
    assert!(base.with_values_of(&ids[1..], &scoped).is_err());
}

/// Mail 002: patch 04 stands on 01 to 03, and what refines groups by type and kinds of migration stands on it.
#[test]
fn balance_by_load_alone_has_no_later_refinements() {
    assert_eq!(error("v5.4+lb-p04"), "feature `lb-p04` needs `lb-p01`");
    assert_eq!(error("v5.4+lb-p01+lb-p02+lb-p04"), "feature `lb-p04` needs `lb-p03`");
    let p04 = "v5.4+lb-p01+lb-p02+lb-p03+lb-p04";
    canonical(p04);
    for later in ["lb-p05", "lb-p06", "lb-p07", "lb-p08", "spare-tie", "load-shift", "sib-ratio", "misfit-larger"] {
        assert_eq!(error(&format!("v5.4+{later}")), format!("feature `{later}` needs `lb-p04`"));
        Features::parse(&format!("{p04}+{later}")).unwrap();
    }
    assert_eq!(error("v5.9+load-shift"), "feature `failed-relax` excludes `load-shift`");
    assert_eq!(error("v5.11+ufc+mu-gate"), "feature `mu-gate` needs `mu-tristate`");
}
