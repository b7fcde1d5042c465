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
#[derive(Clone, Debug)]
pub struct Cpusets {
    all: CpuMask,
    sets: Vec<Cpuset>,
}

#[derive(Clone, Debug)]
struct Cpuset {
    parent: Option<GroupId>,
    written: Option<CpuMask>,
    effective: CpuMask,
}

impl Cpusets {
    /// The cpusets of groups, parents before their children, on a machine with the CPUs `all`.
    pub fn new(groups: &[TaskGroup], all: CpuMask) -> Cpusets {
        let mut sets = Cpusets { all, sets: Vec::new() };
        for group in groups {
            let effective = sets.within(group.parent, group.cpus);
            sets.sets.push(Cpuset { parent: group.parent, written: group.cpus, effective });
        }
        sets
    }

    /// compute_effective_cpumask, and what update_cpumasks_hier makes of an empty one: the parent's.
    fn within(&self, parent: Option<GroupId>, written: Option<CpuMask>) -> CpuMask {
        let around = self.effective(parent);
        let both = written.map_or(around, |cpus| cpus.and(&around));
        if both.is_empty() {
            around
        } else {
            both
        }
    }

    /// The CPUs that a group may use; `None`: the root group.
    pub fn effective(&self, group: Option<GroupId>) -> CpuMask {
        group.map_or(self.all, |group| self.sets[group as usize].effective)
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
        self.sets[new.group as usize].written = Some(new.cpus);
        let mut changed = Vec::new();
        self.update(new.group, &mut changed);
        changed
    }

    fn update(&mut self, group: GroupId, changed: &mut Vec<GroupId>) {
        let set = &self.sets[group as usize];
        let effective = self.within(set.parent, set.written);
        if effective == set.effective {
            return;
        }
        self.sets[group as usize].effective = effective;
        changed.push(group);
        for child in group + 1..self.sets.len() as GroupId {
            if self.sets[child as usize].parent == Some(group) {
                self.update(child, changed);
            }
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
}
