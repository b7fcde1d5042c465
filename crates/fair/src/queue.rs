//! Tasks on and off run queues: the sequences that `policy/fg.h` prescribes around its accounting functions.

use fairground_machine::{CpuId, SoftCost};
use fairground_sim::{Env, MigrateCause, TaskId};

use crate::ffi::*;
use crate::rt::is_rt;
use crate::Fair;

impl Fair {
    /// Charges the current task with the time it ran; a reschedule if its slice ended with that.
    pub(crate) fn update_curr(&mut self, env: &mut Env, cpu: usize) {
        if self.charge_curr(cpu) {
            self.resched(env, cpu);
        }
    }

    /// Charges the current task, unless it has left the queue. Whether another one should run; a schedule() that is
    /// under way finds that out for itself.
    pub(crate) fn charge_curr(&mut self, cpu: usize) -> bool {
        let Some(task) = self.world.curr(cpu) else { return false };
        match self.world.task(task) {
            p if !p.tg.is_null() && !is_rt(p) => self.world.group_of(task).is_some_and(|tg| self.charge_group(cpu, tg)),
            p if p.on_rq == 0 => false,
            p if is_rt(p) => {
                self.world.update_curr_rt(cpu, task);
                false
            }
            _ => {
                let left = self.rqs[cpu].fair.left();
                self.world.update_curr(cpu, left)
            }
        }
    }

    /// Puts a task on the run queue of `cpu`, whose clock is up to date.
    pub(crate) fn enqueue(&mut self, env: &mut Env, cpu: usize, task: TaskId, flags: u32) {
        env.charge(self.here, SoftCost::Enqueue, 1);
        if is_rt(self.world.task(task)) {
            self.enqueue_rt(cpu, task);
            self.ask_frequency(env, cpu);
            return;
        }
        self.update_curr(env, cpu);
        self.around_group(cpu, task, |world| world.enqueue_entity(cpu, task, flags));
        self.ask_frequency(env, cpu);
        self.insert_if_queued(cpu, task);
        self.order.add(cpu, task);
        self.tell_signals(env, cpu, Some(task));
    }

    /// Takes a queued or current task off the run queue of `cpu`, whose clock is up to date.
    pub(crate) fn dequeue(&mut self, env: &mut Env, cpu: usize, task: TaskId, flags: u32) {
        env.charge(self.here, SoftCost::Dequeue, 1);
        if is_rt(self.world.task(task)) {
            self.update_curr(env, cpu);
            self.dequeue_rt(cpu, task);
            self.ask_frequency(env, cpu);
            return;
        }
        self.update_curr(env, cpu);
        self.leave(env, cpu, task, flags);
    }

    /// The part of a dequeue after the current task was charged. Who goes to sleep is current, and may stay queued, delayed.
    fn leave(&mut self, env: &mut Env, cpu: usize, task: TaskId, flags: u32) {
        if self.world.curr(cpu) != Some(task) {
            self.remove_from_tree(cpu, task);
        }
        let was_sched_idle = self.world.sched_idle(cpu);
        self.around_group(cpu, task, |world| world.dequeue_entity(cpu, task, flags));
        self.ask_frequency(env, cpu);
        if self.world.task(task).on_rq == 0 {
            self.order.remove(cpu, task);
        }
        self.world.dequeue_next_balance(cpu, was_sched_idle, env.jiffies());
        if let Some(tg) = self.world.group_of(task) {
            let left = self.rqs[cpu].nested[tg].left();
            self.world.tg_update_min_vruntime(cpu, tg, left);
        }
        let left = self.rqs[cpu].fair.left();
        self.world.update_min_vruntime(cpu, left);
        self.tell_signals(env, cpu, Some(task));
    }

    /// A delayed sleeper is asleep in earnest: it was picked, or leaves the fair class.
    pub(crate) fn dequeue_delayed(&mut self, env: &mut Env, cpu: usize, task: TaskId) {
        env.charge(self.here, SoftCost::Dequeue, 1);
        self.leave(env, cpu, task, FG_DEQUEUE_SLEEP | FG_DEQUEUE_DELAYED);
    }

    /// A delayed sleeper is woken where it is queued.
    pub(crate) fn requeue_delayed(&mut self, env: &mut Env, cpu: usize, task: TaskId) {
        env.charge(self.here, SoftCost::Enqueue, 1);
        self.remove_from_tree(cpu, task);
        self.world.requeue_delayed(cpu, task);
        self.ask_frequency(env, cpu);
        self.insert_if_queued(cpu, task);
    }

    pub(crate) fn remove_from_tree(&mut self, cpu: usize, task: TaskId) {
        let p = self.world.task(task);
        let (vruntime, deadline) = (p.vruntime, p.deadline);
        let found = self.queue_of(cpu, task).remove(vruntime, deadline, task);
        debug_assert!(found, "task {task} is not queued on CPU {cpu}");
    }

    pub(crate) fn insert_if_queued(&mut self, cpu: usize, task: TaskId) {
        let p = self.world.task(task);
        if p.on_rq != 0 {
            let (vruntime, deadline) = (p.vruntime, p.deadline);
            self.queue_of(cpu, task).insert(vruntime, deadline, task);
        }
    }

    /// Which queued entities the policy picks from. The current task has been charged.
    pub(crate) fn candidates(&self, cpu: usize) -> (Option<u32>, Option<u32>) {
        self.rqs[cpu].fair.candidates(|| self.world.avg_vruntime(cpu))
    }

    /// check_preempt_wakeup between fair tasks.
    fn fair_preempts(&mut self, env: &mut Env, cpu: usize, task: TaskId) -> bool {
        if self.rqs[cpu].resched {
            return false;
        }
        self.update_curr(env, cpu);
        let first = self.first_beside(cpu, task);
        self.world.check_preempt_wakeup(cpu, task, first)
    }

    /// check_preempt_curr: a reschedule of `cpu` if `task`, just queued there, is to run before the current one.
    pub(crate) fn check_preempt(&mut self, env: &mut Env, cpu: usize, task: TaskId) {
        if self.rqs[cpu].stopper {
            return;
        }
        let preempts = match self.world.curr(cpu).map(|c| self.world.task(c)) {
            None => true,
            Some(curr) => {
                let p = self.world.task(task);
                match (is_rt(curr), is_rt(p)) {
                    (true, true) => p.rt_prio > curr.rt_prio,
                    (true, false) => false,
                    (false, true) => true,
                    (false, false) => self.fair_preempts(env, cpu, task),
                }
            }
        };
        if preempts {
            self.resched(env, cpu);
        }
    }

    /// move_queued_task: a runnable task that is not current goes to another run queue.
    pub(crate) fn move_queued(&mut self, env: &mut Env, task: TaskId, to: CpuId, cause: MigrateCause) {
        let from = self.world.task(task).cpu as CpuId;
        self.clock(env, from as usize);
        self.dequeue(env, from as usize, task, FG_DEQUEUE_MOVE);
        self.set_task_cpu(env, task, to, cause);
        self.clock(env, to as usize);
        self.enqueue(env, to as usize, task, 0);
        self.check_preempt(env, to as usize, task);
    }

    /// set_task_cpu and its price.
    pub(crate) fn set_task_cpu(&mut self, env: &mut Env, task: TaskId, to: CpuId, cause: MigrateCause) {
        let from = std::mem::replace(&mut self.world.task_mut(task).cpu, to as i32) as CpuId;
        env.charge(self.here, SoftCost::Migrate, 1);
        env.migrated(task, from, to, cause);
    }

    /// The tick of a running fair task.
    pub(crate) fn tick_fair(&mut self, env: &mut Env, cpu: usize) {
        self.update_curr(env, cpu);
        let task_over = self.world.curr(cpu).and_then(|curr| self.world.group_of(curr)).is_some_and(|tg| {
            let left = self.rqs[cpu].nested[tg].left();
            self.world.tg_tick(cpu, tg, left)
        });
        let left = self.rqs[cpu].fair.left();
        if self.world.entity_tick(cpu, left) || task_over {
            self.resched(env, cpu);
        }
        self.tell_signals(env, cpu, self.world.curr(cpu));
        self.ask_frequency(env, cpu);
    }
}
