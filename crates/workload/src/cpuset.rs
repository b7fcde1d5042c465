//! Cpusets: which CPUs the threads of a task group may use, with the rules of cgroup v2.

use fairground_machine::CpuMask;
use serde::{Deserialize, Serialize};

use crate::program::{GroupId, TaskGroup};

/// The file of a task group that holds its CPUs.
pub const CPUSET_FILE: &str = "cpuset.cpus";

/// New CPUs of a task group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GroupCpus {
    /// The task group whose file is written.
    pub group: GroupId,
    /// What is written: not empty, CPUs of the machine.
    pub cpus: CpuMask,
}

/// The cpusets of a run: what is written to each (`cpuset.cpus`), and what follows (`cpuset.cpus.effective`).
///
/// A group has a cpuset if one is written for it or for a group around it; the threads of all others are in the root
/// cpuset, whose CPUs may be offline.
#[derive(Clone, Debug)]
pub struct Cpusets {
    all: CpuMask,
    online: CpuMask,
    sets: Vec<Cpuset>,
}

#[derive(Clone, Debug)]
struct Cpuset {
    parent: Option<GroupId>,
    written: Option<CpuMask>,
    effective: CpuMask,
}

impl Cpusets {
    /// The cpusets of groups, parents before their children, on a machine with the CPUs `all`, which are online.
    pub fn new(groups: &[TaskGroup], all: CpuMask) -> Cpusets {
        let set = |group: &TaskGroup| Cpuset { parent: group.parent, written: group.cpus, effective: all };
        let mut sets = Cpusets { all, online: all, sets: groups.iter().map(set).collect() };
        sets.renew();
        sets
    }

    /// CPUs that are online.
    pub fn online(&self) -> CpuMask {
        self.online
    }

    /// The CPUs that a group may use: with a cpuset, online ones; in the root cpuset (`None`), all of the machine.
    pub fn effective(&self, group: Option<GroupId>) -> CpuMask {
        group.filter(|_| self.is_limited(group)).map_or(self.all, |group| self.sets[group as usize].effective)
    }

    /// Whether a cpuset is written for the group or for one around it.
    pub fn is_limited(&self, group: Option<GroupId>) -> bool {
        let set = group.map(|group| &self.sets[group as usize]);
        set.is_some_and(|set| set.written.is_some() || self.is_limited(set.parent))
    }

    /// The CPUs of a thread that asked for `asked` with sched_setaffinity (user_cpus_ptr): those of them that its group
    /// may use; all of its group's if there are none.
    pub fn allow(&self, group: Option<GroupId>, asked: Option<CpuMask>) -> CpuMask {
        let effective = self.effective(group);
        asked.map(|asked| asked.and(&effective)).filter(|both| !both.is_empty()).unwrap_or(effective)
    }

    /// Writes the CPUs of a group. Returns the groups whose effective CPUs changed, in the order in which
    /// update_cpumasks_hier visits them: each before its children, children in the order in which they were made.
    pub fn write(&mut self, new: &GroupCpus) -> Vec<GroupId> {
        self.changes(|sets| sets.sets[new.group as usize].written = Some(new.cpus))
    }

    /// These CPUs are online from now on, at least one. Returns the groups whose effective CPUs changed, in the order of
    /// [`Self::write`].
    pub fn set_online(&mut self, online: CpuMask) -> Vec<GroupId> {
        self.changes(|sets| sets.online = online)
    }

    fn changes(&mut self, change: impl FnOnce(&mut Self)) -> Vec<GroupId> {
        let groups = 0..self.sets.len() as GroupId;
        let before: Vec<CpuMask> = groups.map(|group| self.effective(Some(group))).collect();
        change(self);
        self.renew();
        let mut changed = Vec::new();
        self.collect_changed(None, &before, &mut changed);
        changed
    }

    fn collect_changed(&self, parent: Option<GroupId>, before: &[CpuMask], changed: &mut Vec<GroupId>) {
        let children = self.sets.iter().enumerate().filter(|(_, set)| set.parent == parent);
        for (group, _) in children {
            if self.effective(Some(group as GroupId)) != before[group] {
                changed.push(group as GroupId);
            }
            self.collect_changed(Some(group as GroupId), before, changed);
        }
    }

    /// compute_effective_cpumask of each, and what update_cpumasks_hier makes of an empty one: the parent's.
    fn renew(&mut self) {
        for group in 0..self.sets.len() {
            let Cpuset { parent, written, .. } = self.sets[group];
            let around = parent.map_or(self.online, |parent| self.sets[parent as usize].effective);
            let both = written.map_or(around, |cpus| cpus.and(&around));
            self.sets[group].effective = if both.is_empty() { around } else { both };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(text: &str) -> CpuMask {
        CpuMask::parse_list(text).unwrap()
    }

    /// `/a` with 0-3, `/a/b` with 2-5, `/a/b/c` with nothing written, `/a/d` with 6-7; of eight CPUs.
    fn nested() -> Cpusets {
        let group = |path: &str, parent, cpus: &str| TaskGroup {
            path: path.into(),
            parent,
            files: Vec::new(),
            cpus: Some(mask(cpus)).filter(|cpus| !cpus.is_empty()),
        };
        let groups = [
            group("/a", None, "0-3"),
            group("/a/b", Some(0), "2-5"),
            group("/a/b/c", Some(1), ""),
            group("/a/d", Some(0), "6-7"),
        ];
        Cpusets::new(&groups, mask("0-7"))
    }

    #[test]
    fn a_group_has_what_its_parent_allows_and_all_of_it_if_that_is_nothing() {
        let sets = nested();
        let effective = |group| sets.effective(group).to_string();
        assert_eq!([0, 1, 2, 3].map(|g| effective(Some(g))), ["0-3", "2-3", "2-3", "0-3"]);
        assert_eq!(effective(None), "0-7");
        assert!(sets.is_limited(Some(2)) && !sets.is_limited(None));
    }

    #[test]
    fn a_change_reaches_groups_below_while_it_changes_something() {
        let mut sets = nested();
        assert_eq!(sets.write(&GroupCpus { group: 0, cpus: mask("3-6") }), [0, 1, 2, 3]);
        assert_eq!([0, 1, 2, 3].map(|g| sets.effective(Some(g)).to_string()), ["3-6", "3-5", "3-5", "6"]);
        assert_eq!(sets.write(&GroupCpus { group: 1, cpus: mask("3-5,7") }), []);
    }

    #[test]
    fn a_request_is_remembered_while_nothing_of_it_is_allowed() {
        let mut sets = nested();
        let allowed = |sets: &Cpusets| sets.allow(Some(1), Some(mask("4-5"))).to_string();
        assert_eq!(allowed(&sets), "2-3");
        sets.write(&GroupCpus { group: 0, cpus: mask("0-7") });
        assert_eq!(allowed(&sets), "4-5");
        assert_eq!(sets.allow(Some(1), None).to_string(), "2-5");
    }

    #[test]
    fn cpusets_lack_cpus_that_are_offline_and_the_root_does_not() {
        let mut sets = nested();
        assert_eq!(sets.set_online(mask("0-1,4-7")), [0, 1, 2, 3]);
        let effective = |sets: &Cpusets, group| sets.effective(group).to_string();
        // `/a/b` has 2-5 within 0-1: nothing, and so all of `/a`.
        assert_eq!([0, 1, 2, 3].map(|g| effective(&sets, Some(g))), ["0-1", "0-1", "0-1", "0-1"]);
        assert_eq!(effective(&sets, None), "0-7");
        assert_eq!(sets.set_online(mask("0-7")), [0, 1, 2, 3]);
        assert_eq!([0, 1, 2, 3].map(|g| effective(&sets, Some(g))), ["0-3", "2-3", "2-3", "0-3"]);
        let group = TaskGroup { path: "/a".into(), parent: None, files: Vec::new(), cpus: None };
        let mut without = Cpusets::new(&[group], mask("0-7"));
        assert_eq!(without.set_online(mask("0-3")), []);
        assert_eq!(effective(&without, Some(0)), "0-7");
        assert_eq!(without.write(&GroupCpus { group: 0, cpus: mask("0-7") }), [0]);
        assert_eq!(effective(&without, Some(0)), "0-3");
    }
}
