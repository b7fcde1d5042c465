//! Kernel releases, and trees that descend from them, as sets of feature values.

use std::borrow::Cow;

use crate::features::find;
use crate::ffi::{FgFeatures, FEATURES};
use crate::timeline::{self, Release, TIMELINES};

/// A kernel as a set of feature values.
#[derive(Debug)]
pub struct Preset {
    /// Name of the preset, as the user writes it after `fair:`.
    pub name: &'static str,
    /// The kernel that the preset stands for, and where its values come from.
    pub text: &'static str,
    release: Release,
    kind: Kind,
    /// How it differs from its release, as `feature=value` with spaces between.
    changes: &'static str,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    /// The preset stands for a mainline release.
    Release,
    /// A stable tree, read at this point release: its release with backports from later ones.
    Stable { point: u16 },
    /// The tree of a published measurement.
    Measured,
}

const fn release(name: &'static str, major: u16, minor: u16, text: &'static str) -> Preset {
    Preset { name, text, release: Release { major, minor }, kind: Kind::Release, changes: "" }
}

const fn measured(name: &'static str, (major, minor): (u16, u16), changes: &'static str, text: &'static str) -> Preset {
    Preset { name, text, release: Release { major, minor }, kind: Kind::Measured, changes }
}

/// All presets: releases, oldest first, stable trees, and the kernels that mails compare.
pub static PRESETS: [Preset; 38] = [
    release("v5.4", 5, 4, "Linux 5.4, read in the tree of 5.4.59"),
    release("v5.5", 5, 5, "Linux 5.5, from its mails and the trees of 5.4.59 and 5.6.4 on both sides"),
    release("v5.6", 5, 6, "Linux 5.6, read in the tree of 5.6.4"),
    release("v5.7", 5, 7, "Linux 5.7, read in the tree of 5.7.14"),
    release("v5.9", 5, 9, "Linux 5.9, read in the tree of 5.9.1"),
    release("v5.10", 5, 10, "Linux 5.10, read in the tree of 5.10.7"),
    release("v5.11", 5, 11, "Linux 5.11, read in the tree of 5.11.5"),
    release("v5.16", 5, 16, "Linux 5.16, between the trees of 5.15.16 and 6.1.192"),
    release("v6.1", 6, 1, "Linux 6.1; its stable tree has much of 6.2 and 6.3, see debian-6.1.192"),
    release("v6.2", 6, 2, "Linux 6.2, read in the tree of 6.2.1"),
    release("v6.3", 6, 3, "Linux 6.3, read in the tree of 6.3.8"),
    release("v6.7", 6, 7, "Linux 6.7, between the trees of 6.3.8 and 6.8.1"),
    release("v6.12", 6, 12, "Linux 6.12, read in the tree of 6.12.117 less its back-ports"),
    release("v6.13", 6, 13, "Linux 6.13, read in the tree of 6.13.2"),
    release("v6.14", 6, 14, "Linux 6.14, read in the tree of 6.14.0"),
    release("v6.15", 6, 15, "Linux 6.15, between the trees of 6.14.0 and 6.17-rc7"),
    release("v6.16", 6, 16, "Linux 6.16, between the trees of 6.14.0 and 6.17-rc7"),
    release("v6.17", 6, 17, "Linux 6.17, read in the tree of 6.17-rc7"),
    release("v6.18", 6, 18, "Linux 6.18, read in the tree of 6.18.2"),
    release("v6.19", 6, 19, "Linux 6.19, read in the tree of 6.19.0"),
    release("v7.0", 7, 0, "Linux 7.0, read in the tree of 7.0.0"),
    release("v7.1", 7, 1, "Linux 7.1, read in the tree of 7.1.3"),
    release("v7.2", 7, 2, "Linux 7.2, read in the tree of 7.2.13 less its back-ports"),
    release("v7.3", 7, 3, "Linux 7.3, read in the tree of 7.3.4 less its back-ports"),
    Preset {
        name: "debian-5.10.262",
        text: "Debian 11's linux-source-5.10 at 5.10.262, read there",
        release: Release { major: 5, minor: 10 },
        kind: Kind::Stable { point: 262 },
        changes: "ufc=1 ufc-thermal=1 cap-inversion=1 uclamp-fit=0 kthread-fit=1 fig-allowed=1 pinned-no-misfit=1 \
                    uclamp-idle-own=1 uclamp-protect=1 uclamp-reinc=1 est-lsb=0 est-leaves-first=1 pelt-sum=average-floor \
                    tg-load-sum=1 feec-stale-uclamp=1 feec-trivial=minimum em-cost=scaled \
                    freq-hold=v511 freq-limits-count=0 \
                    lb-kthread=1 load-nowrap=1 newidle-stats=0 ilb-one-of=1 base-slice=1",
    },
    Preset {
        name: "debian-6.1.192",
        text: "Debian 12's linux-source-6.1 at 6.1.192, read there",
        release: Release { major: 6, minor: 1 },
        kind: Kind::Stable { point: 192 },
        changes: "ufc=1 ufc-thermal=1 misfit-unlink=1 uclamp-fit=0 ou-eas-only=1 core-probe-left=1 smt-in-llc=1 \
                    fig-allowed=1 feec=tri feec-zero-spare=1 feec-stale-uclamp=1 feec-trivial=minimum feec-prev-spare=1 \
                    load-nowrap=1 newidle-fail=random idle-reweight=1 \
                    util-shift=1 asym-early=1 misfit-core=1 \
                    freq-hold=v66 freq-limits-count=0",
    },
    Preset {
        name: "debian-6.12.117",
        text: "Debian's linux-source-6.12 at 6.12.117, read there",
        release: Release { major: 6, minor: 12 },
        kind: Kind::Stable { point: 117 },
        changes: "slice-700=1 sync-delayed=1 pick-buddy=1 tg-empty-keeps=1 yield-forfeit=1 fig-allowed=1 newidle-fail=random \
                    asym-early=1 misfit-core=1 freq-limits-count=0 boost-exact=1 fair-server=v618 server-revised=1",
    },
    Preset {
        name: "debian-6.18.15",
        text: "Debian's linux-source-6.18 at 6.18.15, read there",
        release: Release { major: 6, minor: 18 },
        kind: Kind::Stable { point: 15 },
        changes: "newidle-fail=random fair-server=v618",
    },
    Preset {
        name: "stable-6.18.y",
        text: "Linux 6.18's long-term tree at 6.18.35, read there",
        release: Release { major: 6, minor: 18 },
        kind: Kind::Stable { point: 35 },
        changes: "lag-clamp=queue protect-first=1 shrink=failed fork-no-preempt=1 buddy-in-wake=1 wake-pick-dequeue=1 \
                    newidle-fail=random fair-server=v619 server-revised=1",
    },
    Preset {
        name: "debian-7.2.13",
        text: "Debian's linux-source-7.2 at 7.2.13, read there",
        release: Release { major: 7, minor: 2 },
        kind: Kind::Stable { point: 13 },
        changes: "cache-asym=1 cache-alb=1 cache-runnable=1 avg-idle-nostamp=0",
    },
    Preset {
        name: "debian-7.3.4",
        text: "Debian's linux-source-7.3 at 7.3.4, read there",
        release: Release { major: 7, minor: 3 },
        kind: Kind::Stable { point: 4 },
        changes: "cache-packing=1",
    },
    measured("misfit-unlink-baseline", (6, 1), "", "mail misfit-unlink's baseline: Linux 6.1, before util_fits_cpu"),
    measured(
        "misfit-unlink-ufc",
        (6, 1),
        "ufc=1 ufc-thermal=1 cap-inversion=1 uclamp-fit=0 feec-trivial=clamped",
        "mail misfit-unlink's baseline_ufc: 6.1 with the series of util_fits_cpu. That capacity inversion, which came with it, was in \
         the tree is a guess: -cap-inversion",
    ),
    measured(
        "misfit-unlink-ufc-no-thermal",
        (6, 1),
        "ufc=1 uclamp-fit=0 feec-trivial=clamped",
        "mail misfit-unlink's baseline_ufc_no_thermal: misfit-unlink-ufc, but clamps are compared with capacities as they are when cold. That \
         heat still counts in capacities left for fair tasks and in energies is a guess",
    ),
    measured(
        "misfit-unlink-patched-v4",
        (6, 1),
        "ufc=1 ufc-thermal=1 cap-inversion=1 uclamp-fit=0 feec-trivial=clamped misfit-unlink=1 feec=tri feec-prev-spare=1",
        "mail misfit-unlink's ufc_patched_v4: misfit-unlink-ufc with misfit unlinked from overutilized. The patch is written over 6.2's way with \
         spare capacity, which so is in; capacity inversion as in misfit-unlink-ufc",
    ),
    measured(
        "misfit-unlink-patched-no-thermal",
        (6, 1),
        "ufc=1 uclamp-fit=0 feec-trivial=clamped misfit-unlink=1 feec=tri feec-prev-spare=1",
        "mail misfit-unlink's ufc_patched_no_thermal: misfit-unlink-patched-v4, but clamps are compared with capacities as they are when cold",
    ),
    measured(
        "misfit-unlink-kernel-b",
        (5, 10),
        "feec-sync=1 feec-negative=1",
        "mail misfit-unlink's kernel B, stock android12-5.10: Linux 5.10 with what a phone's tree of it has in energy-aware wakeups. \
         Left out: the preference of latency-sensitive task groups for idle CPUs, and whatever a vendor's module does \
         instead; that the rest is 5.10's is a guess",
    ),
    measured(
        "misfit-unlink-kernel-c",
        (5, 10),
        "feec-sync=1 feec-negative=1 ufc=1 ufc-thermal=1 uclamp-fit=0 feec-trivial=clamped",
        "mail misfit-unlink's kernel C: misfit-unlink-kernel-b with the first version of the series of util_fits_cpu. That it took heat off \
         and knew no capacity inversion is a guess",
    ),
];

/// A name that begins with a preset, as it is written today: the kernels of mail misfit-unlink were called by its
/// number, `003-ufc`.
pub(crate) fn current_name(text: &str) -> Cow<'_, str> {
    match text.strip_prefix("003-") {
        Some(kernel) => Cow::Owned(format!("misfit-unlink-{kernel}")),
        None => Cow::Borrowed(text),
    }
}

impl Preset {
    /// The preset of this name.
    pub fn find(name: &str) -> Option<&'static Preset> {
        let name = current_name(name);
        PRESETS.iter().find(|p| p.name == name)
    }

    /// The preset of the newest release.
    pub fn newest() -> &'static Preset {
        let newest = |best: &'static Preset, p: &'static Preset| if p.release > best.release { p } else { best };
        PRESETS.iter().filter(|p| p.is_release()).fold(&PRESETS[0], newest)
    }

    /// The preset nearest to a point release, `point` 0 for the release itself. In its series that is the release or the
    /// stable tree by the distance of point releases, the older of two; without its series, the last release not after it.
    pub(crate) fn nearest_to(release: Release, point: u16) -> Option<&'static Preset> {
        let before = PRESETS.iter().rfind(|p| p.is_release() && p.release <= release);
        let series = PRESETS.iter().filter(|p| p.release == release);
        let points = series.filter_map(|p| Some((p.point()?, p)));
        points.min_by_key(|(of, _)| (of.abs_diff(point), *of)).map(|(_, p)| p).or(before)
    }

    /// The point release that it was read at: 0 of a mainline release; none of the tree of a measurement.
    pub(crate) fn point(&self) -> Option<u16> {
        match self.kind {
            Kind::Release => Some(0),
            Kind::Stable { point } => Some(point),
            Kind::Measured => None,
        }
    }

    /// A mainline release, not a stable tree.
    pub fn is_release(&self) -> bool {
        self.kind == Kind::Release
    }

    /// The stable tree of a release.
    pub fn is_stable(&self) -> bool {
        matches!(self.kind, Kind::Stable { .. })
    }

    /// Whether both descend from the same release.
    pub fn same_release(&self, other: &Preset) -> bool {
        self.release == other.release
    }

    /// `v6.12` for both v6.12 and what descends from it.
    pub(crate) fn release(&self) -> Release {
        self.release
    }

    /// The value of every feature.
    pub(crate) fn values(&self) -> FgFeatures {
        let mut values = FgFeatures::zeroed();
        for (name, row) in TIMELINES {
            if let Some(word) = timeline::value_in(row, self.release) {
                set(&mut values, name, word);
            }
        }
        for change in self.changes.split(' ') {
            if let Some((name, word)) = change.split_once('=') {
                set(&mut values, name, word);
            }
        }
        values
    }

    /// The word for this preset's value of feature `id`: `0` or `1` for a switch.
    pub fn word(&self, id: usize) -> &'static str {
        word(id, self.values().value[id])
    }
}

/// The word for a value of feature `id`: `0` or `1` for a switch.
pub(crate) fn word(id: usize, value: u8) -> &'static str {
    match FEATURES[id].values.get(usize::from(value)) {
        Some(word) => word,
        None => ["0", "1"][usize::from(value != 0)],
    }
}

/// Names and words are checked by a test below.
fn set(values: &mut FgFeatures, name: &str, word: &str) {
    if let Some((id, value)) = find(name).and_then(|id| Some((id, number(id, word)?))) {
        values.value[id] = value;
    }
}

/// The number that a word stands for.
fn number(id: usize, word: &str) -> Option<u8> {
    match FEATURES[id].values {
        [] => word.parse().ok().filter(|n| *n <= 1),
        words => words.iter().position(|w| *w == word).map(|n| n as u8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_names_a_feature_and_its_values() {
        let rows = TIMELINES.iter().flat_map(|(name, row)| timeline::entries(row).map(|(_, word)| (*name, word)));
        let changes = PRESETS.iter().flat_map(|p| p.changes.split(' ').filter_map(|c| c.split_once('=')));
        for (name, word) in rows.chain(changes) {
            let id = find(name).unwrap_or_else(|| panic!("{name}: no such feature"));
            assert!(number(id, word).is_some(), "{name}={word}");
        }
    }

    /// What changed between two presets, as `name=word`.
    fn changed(old: &str, new: &str) -> Vec<String> {
        let (old, new) = (Preset::find(old).unwrap(), Preset::find(new).unwrap());
        let ids = (0..FEATURES.len()).filter(|id| old.word(*id) != new.word(*id));
        ids.map(|id| format!("{}={}", FEATURES[id].name, new.word(id))).collect()
    }

    #[test]
    fn releases_differ_in_what_landed_between_them() {
        let expected = ["wa-prev-idle=1", "pinned-no-misfit=1", "freq-hold=v511", "numa-imb=quarter"];
        assert_eq!(changed("v5.10", "v5.11"), expected);
        let expected = ["ufc=1", "ufc-thermal=1", "cap-inversion=1", "uclamp-fit=0"];
        assert_eq!(changed("v6.1", "v6.2").iter().filter(|c| expected.contains(&c.as_str())).count(), 4);
        assert!(changed("v6.2", "v6.3").contains(&"cap-inversion=0".to_string()));
    }

    #[test]
    fn a_stable_tree_is_its_release_and_what_it_took_back() {
        let taken = changed("v6.1", "debian-6.1.192");
        assert!(taken.contains(&"misfit-unlink=1".to_string()), "{taken:?}");
        assert!(!taken.iter().any(|c| c.starts_with("capscan-next")), "{taken:?}");
        // Merged patch 003 with the energy-aware part that goes with it.
        assert!(taken.contains(&"feec=tri".to_string()), "{taken:?}");
        for (release, stable) in
            [("v5.10", "debian-5.10.262"), ("v6.1", "debian-6.1.192"), ("v6.12", "debian-6.12.117")]
        {
            assert!(changed(release, stable).contains(&"fig-allowed=1".to_string()), "{stable}");
        }
    }

    /// Mail 003: what each kernel has beside the one before it.
    #[test]
    fn the_kernels_of_mail_003_differ_in_what_they_measure() {
        assert_eq!(changed("v6.1", "misfit-unlink-baseline"), [""; 0]);
        let no_thermal = changed("misfit-unlink-baseline", "misfit-unlink-ufc-no-thermal");
        assert_eq!(no_thermal, ["ufc=1", "uclamp-fit=0", "feec-trivial=clamped"]);
        assert_eq!(changed("misfit-unlink-ufc-no-thermal", "misfit-unlink-ufc"), ["ufc-thermal=1", "cap-inversion=1"]);
        let unlink = ["misfit-unlink=1", "feec=tri", "feec-prev-spare=1"];
        assert_eq!(changed("misfit-unlink-ufc", "misfit-unlink-patched-v4"), unlink);
        assert_eq!(changed("misfit-unlink-ufc-no-thermal", "misfit-unlink-patched-no-thermal"), unlink);
        assert_eq!(changed("v5.10", "misfit-unlink-kernel-b"), ["feec-negative=1", "feec-sync=1"]);
        let series = ["ufc=1", "ufc-thermal=1", "uclamp-fit=0", "feec-trivial=clamped"];
        assert_eq!(changed("misfit-unlink-kernel-b", "misfit-unlink-kernel-c"), series);
    }
}
