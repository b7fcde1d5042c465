//! When each feature changed, from Linux 5.4 on.
//!
//! One row a feature, one entry a release that changed it: `v5.6=pair v5.11=quarter` is value 0 up to v5.5, `pair` from
//! v5.6, `quarter` from v5.11. An entry at v5.4 says what 5.4 had already. A feature without a row has value 0 in every
//! release. Facts as in the behaviour specification (spec 2.4, 4.3, 6.8, 10.1, 10.2 and 10.4); where it names no
//! landing version the first tree that shows the change counts.

use std::fmt;

/// A release by its first two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    /// The first number of the release: 6 for v6.12.
    pub major: u16,
    /// The second number of the release: 12 for v6.12.
    pub minor: u16,
}

impl Release {
    /// Reads `v6.12`; whatever follows is returned with it.
    pub fn read(text: &str) -> Option<(Release, &str)> {
        let (major, rest) = number(text.strip_prefix('v')?)?;
        let (minor, rest) = number(rest.strip_prefix('.')?)?;
        Some((Release { major, minor }, rest))
    }
}

/// The decimal number that `text` begins with, and the rest.
pub(crate) fn number(text: &str) -> Option<(u16, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}.{}", self.major, self.minor)
    }
}

/// Feature and its changes, oldest first.
#[rustfmt::skip]
pub const TIMELINES: &[(&str, &str)] = &[
    ("asym-scan",         "v5.7=1"),
    ("asym-prev-first",   "v5.10=1"),
    ("lb-p01",            "v5.5=1"),
    ("lb-p02",            "v5.5=1"),
    ("lb-p03",            "v5.5=1"),
    ("lb-p04",            "v5.5=1"),
    ("lb-p05",            "v5.5=1"),
    ("lb-p06",            "v5.5=1"),
    ("lb-p07",            "v5.5=1"),
    ("lb-p08",            "v5.5=1"),
    ("lb-p09",            "v5.5=1"),
    ("lb-p10",            "v5.5=1"),
    ("lb-p11",            "v5.5=1"),
    ("ufc",               "v6.2=1"),
    ("ufc-thermal",       "v6.2=1"),
    ("cap-inversion",     "v6.2=1 v6.3=0"),
    ("misfit-unlink",     "v6.3=1"),
    ("cls-domain",        "v5.16=1"),
    ("cls-select",        "v6.7=landed"),

    ("wake-cap",          "v5.4=1 v5.7=0"),
    ("percpu-kthread",    "v5.6=1"),
    ("kthread-fit",       "v5.17=1"),
    ("si-first",          "v5.6=1"),
    ("wa-prev-idle",      "v5.11=1"),
    ("wake-current-cpu",  "v6.6=1"),
    ("wake-list",         "v5.8=on-cpu v6.0=idle"),
    ("recent-prev",       "v5.14=1"),
    ("sis-mode",          "v5.6=prop v5.14=prop-aged v6.0=util"),
    ("sis-merged",        "v5.12=1"),
    // Absent in 6.8.1, present in 6.12.117 and, taken back, in 6.1.192; the same goes for smt-in-llc coming back.
    ("core-probe-left",   "v6.9=1"),
    ("sis-smt-prev",      "v5.13=1"),
    // Without the one and with the other since the cleanup of the scan, which 6.1.192 has and 5.15.16 has not. Stable
    // trees take no cleanups back: v6.1, though 6.1.192 has the test of smt-in-llc again.
    ("smt-in-llc",        "v5.10=1 v6.1=0 v6.9=1"),
    ("smt-not-self",      "v6.1=1"),
    ("scan-next",         "v5.15=1"),
    ("capscan-next",      "v6.3=1 v6.6=0"),
    ("fig-without-p",     "v5.5=1"),
    ("fig-weight-fix",    "v5.6=1"),
    ("fig-avgload-fix",   "v5.7=1"),
    ("fig-util-tie",      "v5.9=1"),
    ("fig-wrap",          "v5.4=1 v5.5=0"),

    ("uclamp-fit",        "v5.6=1 v6.2=0"),
    ("uclamp-idle-own",   "v5.14=1"),
    ("uclamp-key",        "v5.9=1"),
    ("uclamp-protect",    "v5.14=1"),
    ("uclamp-reinc",      "v5.16=1"),
    ("thermal-in-cap",    "v5.7=1 v6.10=0"),
    ("hw-pressure",       "v6.10=1"),
    ("pinned-no-misfit",  "v5.11=1"),
    ("max-allowed-cap",   "v6.10=1"),
    ("ou-eas-only",       "v6.10=1"),
    ("util-est",          "v5.5=fastup v6.8=v68"),
    ("est-lsb",           "v5.4=1 v5.13=0"),
    ("est-stale",         "v6.12=1 v7.2=0"),
    // Gone in 6.16.12; 6.15 was not at hand.
    ("est-overcap",       "v5.4=1 v6.16=0"),
    // 6.12.0 to 6.12.7 count them.
    ("runnable-delayed",  "v6.12=1"),
    ("newtask-w1024",     "v5.4=1 v6.9=0"),
    ("tg-load-rate",      "v6.7=1"),
    // It landed late, with 5.13-rc6.
    ("tg-load-sum",       "v5.13=1"),
    // The changes themselves with the releases that they were made for; 6.1.192 and 6.12.117 have the last. Of what a
    // task takes along when it leaves, v5.13 has those of utilization and runnable time already.
    ("pelt-sum",          "v5.14=average v5.17=floor"),
    ("migrate-lag",       "v6.0=1"),
    ("runnable-boost",    "v6.5=1"),
    // v5.13 has the busy times of margin515 already, but none of the rest.
    ("feec",              "v5.14=margin515 v6.0=delta v6.3=tri"),
    ("feec-zero-spare",   "v6.7=1"),
    // Since clamps are set before the loop over a domain's CPUs, so that compilers do not take them for uninitialised.
    ("feec-stale-uclamp", "v6.3=1"),
    ("feec-trivial",      "v6.2=clamped v6.7=minimum"),
    ("feec-negative",     "v5.14=1"),
    ("feec-prev-spare",   "v6.2=1"),
    ("feec-spare-wrap",   "v5.4=1 v5.10=0"),
    ("em-cost",           "v5.15=scaled v6.0=microwatt v6.9=performance"),
    ("em-efficient",      "v5.16=1"),
    ("eas-complexity",    "v5.4=1 v6.7=0"),
    ("eas-first-cpu",     "v5.4=1 v6.7=0"),

    ("freq-perf-v2",      "v6.8=1"),
    // The versions of the governor in between were not read: what 6.1.192 and 6.12.117 have, and the changes themselves
    // with the releases that they were made for.
    ("freq-util-margin",  "v5.14=1"),
    ("freq-hold",         "v5.11=v511 v5.18=v518 v6.6=v66"),
    ("freq-limits-count", "v5.10=1 v6.14=0"),
    ("freq-soon",         "v6.10=1"),
    ("freq-after-all",    "v5.5=1"),
    ("freq-move-once",    "v6.1=1"),
    ("est-leaves-first",  "v5.12=1"),
    ("uclamp-late",       "v6.12=1 v6.16=0"),
    ("iowait-clamp",      "v5.18=1"),

    ("imb-pct-117",       "v5.10=1"),
    ("busy-factor-16",    "v5.10=1"),
    ("si-balance",        "v5.6=1"),
    ("busy-minus1",       "v5.10=1"),
    ("llc-spread",        "v5.10=1"),
    ("load-shift",        "v5.10=1"),
    ("smt-never-hot",     "v5.10=1"),
    ("failed-relax",      "v5.5=1 v5.10=0"),
    ("spare-tie",         "v5.6=1"),
    ("runnable-class",    "v5.7=1"),
    ("util-skip-single",  "v5.7=1"),
    ("load-floor",        "v5.7=1"),
    ("lb-avg-guard",      "v5.7=1"),
    ("numa-imb",          "v5.6=pair v5.11=quarter v6.0=llc"),
    ("active-lb-task",    "v5.12=1"),
    ("lb-kthread",        "v5.12=1"),
    ("queue-fair",        "v5.14=1"),
    ("asym-prio",         "v5.16=smt v6.5=core"),
    ("asym-cap-full",     "v5.14=1"),
    ("cap-greater",       "v5.14=1"),
    ("newidle-cost",      "v5.16=1"),
    ("newidle-one",       "v5.4=1"),
    ("newidle-stats",     "v5.4=1 v5.12=0"),
    ("reduced-cap",       "v6.0=1"),
    ("swb-nr",            "v6.0=1"),
    ("load-nowrap",       "v6.3=1"),
    ("group-flags",       "v6.6=1"),
    ("groups-within",     "v5.13=1"),
    ("smt-balance",       "v6.6=1"),
    ("sib-ratio",         "v6.6=1"),
    ("swb-core",          "v6.6=1"),
    ("psib-busiest",      "v6.7=1"),
    ("util-shift",        "v6.7=1"),
    ("misfit-larger",     "v6.9=1"),
    ("misfit-no-backoff", "v6.10=1"),

    ("rq",                "v6.6=eevdf v6.12=eevdf612"),
    ("base-slice",        "v5.13=1"),
    ("idle-slice",        "v5.16=1"),
    ("newidle-pending",   "v5.15=1"),
    ("ilb-one-of",        "v5.12=1"),
    ("nohz-next-kick",    "v5.16=1"),
    ("idle-reweight",     "v6.11=1"),

    // After v6.12: docs/spec/placement-new.md, section 9.3.
    ("tg-empty-keeps",       "v6.13=1"),
    ("pick-buddy",           "v6.14=1 v7.3=0"),
    ("slice-700",            "v6.15=1"),
    ("sync-delayed",         "v6.15=1"),
    ("yield-forfeit",        "v6.18=1"),
    ("newidle-fail",         "v6.17=bump v6.19=random v7.1=rate"),
    ("fig-allowed",          "v6.19=1"),
    ("asym-early",           "v7.2=1"),
    ("misfit-core",          "v7.2=1"),
    ("si-not-for-idle",      "v7.1=1"),
    ("asym-core",            "v7.2=1"),
    ("asym-rank",            "v7.2=1"),
    ("asym-budget",          "v7.2=1"),
    ("balance-shared",       "v7.2=1"),
    ("llc-phys",             "v7.2=1"),
    ("est-delayed",          "v6.16=1"),
    ("boost-exact",          "v7.2=1"),
    ("pelt-lost-idle",       "v6.18=1"),
    ("freq-dl",              "v6.15=1"),
    ("nr-runnable",          "v6.14=1"),
    ("delayed-stay",         "v6.14=1"),
    ("ineligible-stay",      "v6.14=1"),
    ("avg-idle-any",         "v7.0=1"),
    ("weight-in-map",        "v7.1=1"),
    ("overload-needs-ou",    "v7.1=1"),
    ("misfit-helpful",       "v7.3=1"),
    ("src-busy-core",        "v7.3=1"),
    ("asym-prefer-sibling",  "v7.3=1"),
    ("ilb-idle-core",        "v7.3=1"),
    ("interval-reset",       "v7.3=1"),
    ("alb-gone",             "v7.3=1"),
    ("sched-cache",          "v7.2=1"),
    ("cache-asym",           "v7.3=1"),
    ("cache-alb",            "v7.3=1"),
    ("cache-runnable",       "v7.3=1"),
    ("reweight",             "v6.13=place v6.16=place-self-out v7.1=exact"),
    ("lag-clamp",            "v7.0=queue"),
    ("weight-bits",          "v7.1=20"),
    ("delay-lag",            "v7.1=1"),
    ("delay-charge",         "v7.2=1"),
    ("protect",              "v6.17=vprot v7.3=vprot-inelig"),
    ("protect-first",        "v7.0=1"),
    ("shrink",               "v6.17=short v6.19=failed v7.3=always"),
    ("fork-no-preempt",      "v6.19=1"),
    ("buddy-in-wake",        "v6.19=1"),
    ("buddy-protect",        "v7.1=1"),
    ("wake-pick-dequeue",    "v7.1=1"),
    ("short-eager",          "v7.3=1"),
    ("short-buddy",          "v7.3=1"),
    ("wake-test-always",     "v7.3=1"),
    ("min-slice-up",         "v6.15=1"),
    ("preempt-model",        "v7.0=lazy"),
    ("avg-idle-nostamp",      "v7.0=1 v7.3=0"),
    ("group-shares",          "v7.3=concur"),
    ("flat-pick",            "v7.3=1"),
    ("tg-decayed",           "v6.18=1"),
    ("tg-rate-clock",        "v7.2=1"),
    ("throttle",             "v6.18=task v7.2=task-early"),
    ("fair-server",          "v6.12=v612 v6.17=v617 v6.19=v619"),
    ("server-revised",       "v7.0=1"),
];

/// The entries of one row, `(release, value)`.
pub fn entries(row: &str) -> impl Iterator<Item = (Release, &str)> {
    row.split(' ').filter_map(|entry| {
        let (release, rest) = Release::read(entry)?;
        Some((release, rest.strip_prefix('=')?))
    })
}

/// The releases that changed feature `name`, oldest first, with the value from then on; `v5.4` is what 5.4 had already.
/// Empty for a feature that no release has.
pub fn release_changes(name: &str) -> Vec<(Release, &'static str)> {
    TIMELINES.iter().find(|row| row.0 == name).map_or_else(Vec::new, |row| entries(row.1).collect())
}

/// The value that a row gives a release; none before its first entry.
pub fn value_in(row: &str, release: Release) -> Option<&str> {
    entries(row).take_while(|(from, _)| *from <= release).last().map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features;

    #[test]
    fn entries_are_well_formed_and_rise() {
        for (name, row) in TIMELINES {
            assert_eq!(entries(row).count(), row.split(' ').count(), "{name}: {row}");
            let releases: Vec<Release> = entries(row).map(|(r, _)| r).collect();
            assert!(releases.windows(2).all(|w| w[0] < w[1]), "{name}: {row}");
        }
    }

    #[test]
    fn every_feature_has_at_most_one_row() {
        for (i, (name, _)) in TIMELINES.iter().enumerate() {
            assert!(TIMELINES[..i].iter().all(|(other, _)| other != name), "{name} twice");
        }
    }

    /// `since` in policy/features.h and the rows here say the same.
    #[test]
    fn since_is_the_first_change() {
        for f in features() {
            let row = TIMELINES.iter().find(|(name, _)| *name == f.name).map_or("", |(_, row)| row);
            let changes: Vec<(Release, &str)> = entries(row).collect();
            match (f.since.strip_prefix("<="), Release::read(f.since)) {
                // A quirk: there in v5.4, or from some release on, and gone in the release after that.
                (Some(last), _) => {
                    let (last, _) = Release::read(last).unwrap();
                    let (gone, value) = *changes.last().unwrap();
                    assert_eq!((gone.major, gone.minor, value), (last.major, last.minor + 1, "0"), "{}", f.name);
                }
                (None, Some((since, _))) if since >= (Release { major: 5, minor: 5 }) => {
                    assert_eq!(changes.first().map(|c| c.0), Some(since), "{}", f.name);
                }
                // Older than v5.4, or never landed.
                (None, Some(_)) => {}
                (None, None) => assert!(f.since == "-" && changes.is_empty(), "{}", f.name),
            }
        }
    }
}
