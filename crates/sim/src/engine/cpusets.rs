//! Which CPUs threads may use: what they ask for, within the cpusets of their groups.
//!
//! The engine is the cpuset controller; the scheduler hears of each thread's new CPUs as of any affinity. DEVIATION:
//! who writes a cpuset does not wait until each thread that ran elsewhere has been moved; and a request is remembered
//! under every release, where kernels before v6.2 forget it when the cpuset changes.

use fairground_machine::{CpuId, CpuMask, SoftCost};
use fairground_workload::{GroupCpus, GroupId};

use super::interp::Flow;
use super::task::State;
use super::Engine;
use crate::sched::Change;
use crate::{SimError, TaskId};

impl Engine {
    /// sched_setaffinity of the current thread.
    pub(super) fn set_affinity(&mut self, cpu: CpuId, task: TaskId, phase: u8, mask: CpuMask) -> Flow {
        if phase == 0 {
            return self.work(task, 1, &[SoftCost::Syscall, SoftCost::SchedCall]);
        }
        let mask = mask.and(&self.machine.all_cpus());
        let group = self.group_of(task);
        let allowed = mask.and(&self.cpusets.effective(group));
        if !allowed.intersects(&self.cpusets.online()) {
            self.fail_affinity(task, &mask, group);
            return Flow::Stop;
        }
        self.tasks[task as usize].asked = Some(mask);
        self.allow(cpu, task, allowed);
        Flow::Next
    }

    /// The kernel refuses an affinity without any CPU of the cpuset (EINVAL), which ends rt-app.
    fn fail_affinity(&mut self, task: TaskId, mask: &CpuMask, group: Option<GroupId>) {
        let path = group.map_or("/", |group| &self.workload.groups[group as usize].path);
        let what = format!(
            "{} asks for CPUs {mask} at {} ns, when its task group `{path}` may use only {}",
            self.name_of(task),
            self.now,
            self.cpusets.effective(group).and(&self.cpusets.online())
        );
        self.fail(SimError::Program { workload: self.workload.name.clone(), what });
    }

    /// Writes a cpuset: update_tasks_cpumask of each group whose effective CPUs change.
    pub(super) fn set_group_cpus(&mut self, cpu: CpuId, task: TaskId, phase: u8, new: GroupCpus) -> Flow {
        if phase == 0 {
            return self.work(task, 1, &[SoftCost::Syscall, SoftCost::SchedCall]);
        }
        let groups = self.cpusets.write(&new);
        self.follow_cpusets(cpu, &groups);
        Flow::Next
    }

    /// Threads of these groups may use the CPUs of their cpusets; `cpu`: where that happens.
    pub(super) fn follow_cpusets(&mut self, cpu: CpuId, groups: &[GroupId]) {
        for group in groups {
            for member in 0..self.tasks.len() as TaskId {
                let t = &self.tasks[member as usize];
                if !t.is_live() || self.group_of(member) != Some(*group) {
                    continue;
                }
                let (was, allowed) = (t.affinity, self.cpusets.allow(Some(*group), t.asked));
                if allowed != was {
                    self.allow(cpu, member, allowed);
                }
            }
        }
    }

    fn group_of(&self, task: TaskId) -> Option<GroupId> {
        self.workload.tasks[self.tasks[task as usize].spec as usize].group
    }

    /// A thread may use these CPUs from now on; who changes that runs on `cpu`.
    fn allow(&mut self, cpu: CpuId, task: TaskId, mask: CpuMask) {
        let t = &mut self.tasks[task as usize];
        t.affinity = mask;
        t.moving_since = (!mask.test(t.rq)).then_some(self.now);
        self.reclassify(task);
        self.call(cpu, |s, e| s.change(e, cpu, task, &Change::Affinity(mask)));
    }

    /// Counts a thread by the online CPUs that it may use now.
    pub(super) fn reclassify(&mut self, task: TaskId) {
        let mask = self.usable(&self.tasks[task as usize].affinity);
        let class = self.class_of(&mask);
        let t = &mut self.tasks[task as usize];
        let was = std::mem::replace(&mut t.class, class);
        let (rq, queued, on_cpu) = (t.rq, t.state == State::Queued, t.on_cpu);
        if was == class {
            return;
        }
        if queued && self.cpus[rq as usize].promised != Some(task) {
            self.waste.add_waiting(self.now, was, -1);
            self.waste.add_waiting(self.now, class, 1);
        }
        // One that was woken before its switch counts as waiting and as running.
        for cpu in on_cpu.into_iter().chain(queued.then_some(rq)) {
            self.misplacement.remove(self.now, was, cpu);
            self.misplacement.add(self.now, class, cpu);
        }
    }

    /// Those of the CPUs that are online; all of them if none is.
    pub(super) fn usable(&self, mask: &CpuMask) -> CpuMask {
        let online = mask.and(&self.cpusets.online());
        if online.is_empty() {
            *mask
        } else {
            online
        }
    }
}
