//! `[[cache]]` and `[refill]` as TOML.

use crate::CpuMask;

use super::caches::memory_distances;
use super::costs::HOP;
use super::figure::{FACTOR, SIZE};
use super::topology::entry_path;
use super::write::{groups_text, LevelGroups, Writer};

impl Writer<'_> {
    pub(super) fn caches(&mut self, known: &LevelGroups) {
        let Some(caches) = &self.machine.caches else { return };
        let all = &caches.all;
        let path = |i: usize| entry_path("cache", &[all[i].cpus], "size");
        let content = |i: usize| (all[i].size_kib, all[i].refill_kib_ns);
        // One entry holds caches of different CPUs only: those before it, back to where the file began an entry.
        let joins = |i: usize| {
            let mut before = (0..i).rev();
            let begins = before.clone().find(|j| content(*j) != content(i) || self.known_figure(&path(*j)).is_some());
            content(i) == content(i - 1)
                && before.all(|j| Some(j) < begins || content(j) != content(i) || !all[j].cpus.intersects(&all[i].cpus))
        };
        for (lo, hi) in self.entries(all.len(), joins, path) {
            let groups: Vec<CpuMask> = all[lo..hi].iter().map(|cache| cache.cpus).collect();
            let section = entry_path("cache", &groups, "");
            let section = section.trim_end_matches('.');
            self.line(format!("\n[[cache]]\ncpus = {}", groups_text(&groups, self.machine.nr_cpus(), known)));
            self.key_figure(section, "size", all[lo].size_kib.into(), &SIZE);
            if all[lo].refill_kib_ns != 0 || self.known_figure(&format!("{section}.refill_kib")).is_some() {
                self.key_figure(section, "refill_kib", all[lo].refill_kib_ns as f64, &HOP);
            }
        }
        self.line("\n[refill]");
        self.key_figure("refill", "modified", caches.modified, &FACTOR);
        self.line("\n[refill.memory_kib]");
        self.by_distance("refill.memory_kib", &caches.memory_kib_ns, &memory_distances(&self.machine.distances()));
    }
}
