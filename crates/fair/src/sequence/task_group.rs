//! Task groups that compete as one, in the sequences of `queue.rs`: on each CPU such a group is an entity of the queue of
//! the group around it, or of the CPU's, and has a queue of its own tasks and groups. Nothing here applies to tasks of the
//! root group, and with FLAT_PICK, where groups do not compete, only [`RunQueues::put_prev_groups`] does.

use fairground_machine::SoftCost;
use fairground_sim::TaskId;

use super::{FairQueue, Host, RunQueues};
use crate::ffi::{FG_MAX_TG_DEPTH, FG_PICK_RULE_NONE, FG_PICK_RULE_QUOTA};
use crate::world::{entity_of_group, Place, World};

impl RunQueues {
    /// The queue on `cpu` that `task` competes in.
    pub fn queue_of(&mut self, cpu: usize, task: TaskId) -> &mut FairQueue {
        let group = self.world.competes_in(task);
        self.queue_in(cpu, group)
    }

    /// The queue of a group on `cpu`; none: the CPU's.
    fn queue_in(&mut self, cpu: usize, group: Option<usize>) -> &mut FairQueue {
        match group {
            None => &mut self.rqs[cpu].fair,
            Some(tg) => &mut self.rqs[cpu].nested[tg],
        }
    }

    /// Puts entities into the queue of a group on `cpu` (none: the CPU's), as queued there with the times that they have.
    pub fn fill_queue(&mut self, cpu: usize, group: Option<usize>, entities: &[u32]) {
        for id in entities {
            let e = self.world.entity(cpu, *id);
            let (vruntime, deadline) = (e.vruntime, e.deadline);
            self.queue_in(cpu, group).insert(vruntime, deadline, *id);
        }
    }

    /// Puts the groups that are queued on `cpu` where they compete.
    pub fn fill_groups(&mut self, cpu: usize) {
        for tg in 0..self.world.nr_groups() {
            if self.world.group_place(cpu, tg).is_some() {
                let around = self.world.parent_group(tg);
                self.fill_queue(cpu, around, &[entity_of_group(tg)]);
            }
        }
    }

    /// Makes a call of the policy that may queue, dequeue or reweight the groups that `task` is in, and then updates
    /// their places.
    pub fn around_groups(&mut self, cpu: usize, task: TaskId, call: impl FnOnce(&mut World)) {
        match self.world.competes_in(task) {
            None => call(&mut self.world),
            Some(tg) => self.around_groups_from(cpu, tg, call),
        }
    }

    /// The same for a group and those around it.
    pub(super) fn around_groups_from(&mut self, cpu: usize, tg: usize, call: impl FnOnce(&mut World)) {
        let mut was = [None; FG_MAX_TG_DEPTH as usize];
        for (was, tg) in was.iter_mut().zip(self.world.groups_from(Some(tg))) {
            *was = self.world.group_place(cpu, tg);
        }
        call(&mut self.world);
        let mut next = Some(tg);
        for was in was {
            let Some(tg) = next else { break };
            self.replace_group(cpu, tg, was);
            next = self.world.parent_group(tg);
        }
    }

    /// Moves a group on `cpu` from its old place to its current one.
    fn replace_group(&mut self, cpu: usize, tg: usize, was: Option<Place>) {
        let is = self.world.group_place(cpu, tg);
        if is == was {
            return;
        }
        let (id, parent) = (self.world.group_on(cpu, tg).entity.id, self.world.parent_group(tg));
        let queue = self.queue_in(cpu, parent);
        if let Some(was) = was {
            let found = queue.remove(was.vruntime, was.deadline, id);
            debug_assert!(found, "group {tg} is not queued on CPU {cpu}");
        }
        if let Some(is) = is {
            queue.insert(is.vruntime, is.deadline, id);
        }
    }

    /// Charges the current task and the groups that it is in. Why another one should run, `FG_PICK_RULE_*`.
    pub fn charge_groups(&mut self, cpu: usize, task: TaskId) -> u32 {
        let (mut next, mut over) = (self.world.competes_in(task), FG_PICK_RULE_NONE);
        while let Some(tg) = next {
            let left = self.rqs[cpu].nested[tg].left();
            over = over.max(self.world.tg_update_curr(cpu, tg, left));
            next = self.world.parent_group(tg);
        }
        let left = self.rqs[cpu].fair.left();
        match self.world.update_curr(cpu, left) {
            _ if over == FG_PICK_RULE_QUOTA => over,
            FG_PICK_RULE_NONE => over,
            entity_over => entity_over,
        }
    }

    /// min_vruntime of a group, of those around it and of the CPU, after a dequeue.
    pub fn update_min_vruntime(&mut self, cpu: usize, group: Option<usize>) {
        let mut next = group;
        while let Some(tg) = next {
            let left = self.rqs[cpu].nested[tg].left();
            self.world.tg_update_min_vruntime(cpu, tg, left);
            next = self.world.parent_group(tg);
        }
        let left = self.rqs[cpu].fair.left();
        self.world.update_min_vruntime(cpu, left);
    }

    /// The tick of the current task in the groups that it is in. Why another entity of one of them should run,
    /// `FG_PICK_RULE_*`.
    pub fn tick_groups(&mut self, cpu: usize) -> u32 {
        let curr = self.world.curr(cpu);
        let (mut next, mut over) = (curr.and_then(|curr| self.world.competes_in(curr)), FG_PICK_RULE_NONE);
        while let Some(tg) = next {
            let left = self.rqs[cpu].nested[tg].left();
            over = over.max(self.world.tg_tick(cpu, tg, left));
            next = self.world.parent_group(tg);
        }
        over
    }

    /// Which queued entities of a group the policy picks from.
    fn candidates_in(&self, cpu: usize, tg: usize) -> (Option<u32>, Option<u32>) {
        self.rqs[cpu].nested[tg].candidates(|| self.world.tg_avg_vruntime(cpu, tg))
    }

    /// The candidate that a preemption by `task` is decided with: of the innermost group that the current task is in as
    /// well.
    pub fn first_beside(&self, cpu: usize, task: TaskId) -> Option<u32> {
        let group = self.world.competes_in(task).and(self.world.curr(cpu));
        match group.and_then(|curr| self.world.common_group(curr, task)) {
            Some(tg) => self.candidates_in(cpu, tg).0,
            None => self.candidates(cpu).0,
        }
    }

    /// What is to run of a group that was picked on `cpu`: a task, or a group.
    pub fn pick_in_group(&mut self, cpu: usize, tg: usize) -> Option<u32> {
        let (first, second) = self.candidates_in(cpu, tg);
        self.world.tg_pick(cpu, tg, first, second)
    }

    /// Dequeues a delayed group (its last task fell asleep while it was not eligible), which was picked.
    pub fn dequeue_delayed_group<H: Host>(&mut self, host: &mut H, cpu: usize, tg: usize) {
        host.charge(SoftCost::Dequeue, 1);
        self.around_groups_from(cpu, tg, |world| world.tg_dequeue_delayed(cpu, tg));
        self.request_frequency(host, cpu);
        let around = self.world.parent_group(tg);
        self.update_min_vruntime(cpu, around);
    }

    /// The groups of `prev`, which was put back, no longer have the CPU: those within `common`; none: all.
    pub fn put_prev_groups<H: Host>(&mut self, host: &mut H, cpu: usize, prev: TaskId, common: Option<usize>) {
        let mut next = self.world.group_of(prev);
        while let Some(tg) = next.filter(|_| next != common) {
            self.check_runtime(host, cpu, self.world.parent_group(tg));
            let was = self.world.group_place(cpu, tg);
            self.world.tg_put_prev(cpu, tg);
            self.replace_group(cpu, tg, was);
            next = self.world.parent_group(tg);
        }
    }
}
