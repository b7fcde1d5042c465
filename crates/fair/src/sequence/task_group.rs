//! Task groups that compete as one, in the sequences of `queue.rs`: on each CPU such a group is an entity of the CPU's
//! queue and has a queue of its own tasks. Nothing here applies to tasks of the root group.

use fairground_machine::SoftCost;
use fairground_sim::TaskId;

use super::{FairQueue, Host, RunQueues};
use crate::world::{Place, World};

impl RunQueues {
    /// The queue on `cpu` that `task` competes in.
    pub fn queue_of(&mut self, cpu: usize, task: TaskId) -> &mut FairQueue {
        match self.world.group_of(task) {
            None => &mut self.rqs[cpu].fair,
            Some(tg) => &mut self.rqs[cpu].nested[tg],
        }
    }

    /// Makes a call of the policy that may queue, dequeue or reweight the group of `task`, and then updates the group's
    /// place in the CPU's tree.
    pub fn around_group(&mut self, cpu: usize, task: TaskId, call: impl FnOnce(&mut World)) {
        match self.world.group_of(task) {
            None => call(&mut self.world),
            Some(tg) => {
                let was = self.world.group_place(cpu, tg);
                call(&mut self.world);
                self.replace_group(cpu, tg, was);
            }
        }
    }

    /// Moves a group in the tree of `cpu` from its old place to its current one.
    fn replace_group(&mut self, cpu: usize, tg: usize, was: Option<Place>) {
        let is = self.world.group_place(cpu, tg);
        if is == was {
            return;
        }
        let entity = &self.world.group_on(cpu, tg).entity;
        if let Some(was) = was {
            let found = self.rqs[cpu].fair.remove(was.vruntime, was.deadline, entity.id);
            debug_assert!(found, "group {tg} is not queued on CPU {cpu}");
        }
        if is.is_some() {
            self.rqs[cpu].fair.insert(entity.vruntime, entity.deadline, entity.id);
        }
    }

    /// Charges the current task, of group `tg`, and the group. Whether another one should run.
    pub fn charge_group(&mut self, cpu: usize, tg: usize) -> bool {
        let (left_task, left) = (self.rqs[cpu].nested[tg].left(), self.rqs[cpu].fair.left());
        let task_over = self.world.tg_update_curr(cpu, tg, left_task);
        self.world.update_curr(cpu, left) || task_over
    }

    /// Which queued tasks of a group the policy picks from.
    pub fn candidates_in(&self, cpu: usize, tg: usize) -> (Option<TaskId>, Option<TaskId>) {
        self.rqs[cpu].nested[tg].candidates(|| self.world.tg_avg_vruntime(cpu, tg))
    }

    /// The candidate that a preemption by `task` is decided with: of the group, if the current task is in it as well.
    pub fn first_beside(&self, cpu: usize, task: TaskId) -> Option<u32> {
        let group = self.world.group_of(task);
        let curr = self.world.curr(cpu).and_then(|curr| self.world.group_of(curr));
        match group {
            Some(tg) if curr == group => self.candidates_in(cpu, tg).0,
            _ => self.candidates(cpu).0,
        }
    }

    /// The task to run of a group that was picked on `cpu`.
    pub fn pick_in_group(&mut self, cpu: usize, tg: usize) -> Option<TaskId> {
        let (first, second) = self.candidates_in(cpu, tg);
        self.world.tg_pick(cpu, tg, first, second)
    }

    /// Dequeues a delayed group (its last task fell asleep while it was not eligible), which was picked.
    pub fn dequeue_delayed_group<H: Host>(&mut self, host: &mut H, cpu: usize, tg: usize) {
        host.charge(SoftCost::Dequeue, 1);
        let was = self.world.group_place(cpu, tg);
        self.world.tg_dequeue_delayed(cpu, tg);
        self.replace_group(cpu, tg, was);
        self.request_frequency(host, cpu);
        let left = self.rqs[cpu].fair.left();
        self.world.update_min_vruntime(cpu, left);
    }

    /// Whether two fair tasks compete in the same group, other than the root group.
    pub fn shares_group(&self, a: TaskId, b: TaskId) -> bool {
        let group = self.world.group_of(a);
        group.is_some() && group == self.world.group_of(b)
    }

    /// The group of `prev`, which was put back, no longer has the CPU.
    pub fn put_prev_group(&mut self, cpu: usize, prev: TaskId) {
        let Some(tg) = self.world.group_of(prev) else { return };
        let was = self.world.group_place(cpu, tg);
        self.world.tg_put_prev(cpu, tg);
        self.replace_group(cpu, tg, was);
    }
}
