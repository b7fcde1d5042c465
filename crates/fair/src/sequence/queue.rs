//! Tasks onto and off run queues, around the accounting functions of the policy.

use fairground_machine::{CpuId, SoftCost};
use fairground_sim::{MigrateCause, TaskId};

use super::{Host, RunQueues};
use crate::ffi::*;
use crate::world::is_rt;

impl RunQueues {
    /// Charges the current task with the time it ran; a reschedule if its slice ended with that.
    pub fn update_curr<H: Host>(&mut self, host: &mut H, cpu: usize) {
        let rule = self.charge_curr(cpu);
        self.end_slice(host, cpu, rule);
    }

    /// A reschedule by this rule (`FG_PICK_RULE_*`), unless it is 0.
    fn end_slice<H: Host>(&mut self, host: &mut H, cpu: usize, rule: u32) {
        if rule != FG_PICK_RULE_NONE {
            host.slice_ended(&self.world, cpu, rule);
            match rule {
                FG_PICK_RULE_QUOTA | FG_PICK_RULE_SERVER => self.resched(host, cpu),
                _ => self.resched_lazy(host, cpu),
            }
        }
    }

    /// Charges the current task, unless it has left the queue. Why another one should run, `FG_PICK_RULE_*`; a
    /// schedule() that is under way finds that out for itself.
    pub fn charge_curr(&mut self, cpu: usize) -> u32 {
        let Some(p) = self.world.curr_task(cpu) else { return FG_PICK_RULE_NONE };
        match p {
            p if !p.tg.is_null() && !is_rt(p) && !self.world.is_flat() => {
                let task = p.id;
                self.charge_groups(cpu, task)
            }
            p if p.on_rq == 0 => FG_PICK_RULE_NONE,
            p if is_rt(p) => {
                let task = p.id;
                self.world.update_curr_rt(cpu, task);
                FG_PICK_RULE_NONE
            }
            _ => {
                let left = self.rqs[cpu].fair.left();
                self.world.update_curr(cpu, left)
            }
        }
    }

    /// Puts a task on the run queue of `cpu`, whose clock is up to date.
    pub fn enqueue<H: Host>(&mut self, host: &mut H, cpu: usize, task: TaskId, flags: u32) {
        host.charge(SoftCost::Enqueue, 1);
        if is_rt(self.world.task(task)) {
            self.enqueue_rt(cpu, task);
            self.request_frequency(host, cpu);
            return;
        }
        self.update_curr(host, cpu);
        self.around_groups(cpu, task, |world| world.enqueue_entity(cpu, task, flags));
        self.request_frequency(host, cpu);
        self.insert_if_queued(cpu, task);
        self.note_slices(cpu, task);
        self.cfs_tasks.add(cpu, task);
        host.signals_updated(&self.world, cpu, Some(task));
        self.hrtick_update(host, cpu);
    }

    /// Takes a queued or current task off the run queue of `cpu`, whose clock is up to date.
    pub fn dequeue<H: Host>(&mut self, host: &mut H, cpu: usize, task: TaskId, flags: u32) {
        host.charge(SoftCost::Dequeue, 1);
        if is_rt(self.world.task(task)) {
            self.update_curr(host, cpu);
            self.dequeue_rt(cpu, task);
            self.request_frequency(host, cpu);
            return;
        }
        self.update_curr(host, cpu);
        self.leave(host, cpu, task, flags);
        if u32::from(self.world.sys().feat.value[FG_HRTICK]) == FG_HRTICK_RAN {
            self.hrtick_update(host, cpu);
        }
    }

    /// The part of a dequeue after the current task was charged. A task that goes to sleep may stay queued, delayed.
    fn leave<H: Host>(&mut self, host: &mut H, cpu: usize, task: TaskId, flags: u32) {
        let in_tree = self.world.curr(cpu) != Some(task);
        if in_tree {
            self.remove_from_tree(cpu, task);
        }
        let was_sched_idle = self.world.sched_idle_rq(cpu);
        self.around_groups(cpu, task, |world| world.dequeue_entity(cpu, task, flags));
        self.request_frequency(host, cpu);
        if self.world.task(task).on_rq == 0 {
            self.cfs_tasks.remove(cpu, task);
            self.note_slices(cpu, task);
        } else if in_tree {
            self.insert_queued(cpu, task);
        }
        self.world.dequeue_next_balance(cpu, was_sched_idle, host.jiffies());
        if flags & FG_DEQUEUE_SAVE == 0 {
            self.update_min_vruntime(cpu, self.world.competes_in(task));
        }
        host.signals_updated(&self.world, cpu, Some(task));
    }

    /// Dequeues a delayed sleeper: it was picked, or (`FG_DEQUEUE_CLASS` in `flags`) leaves the fair class.
    pub fn dequeue_delayed<H: Host>(&mut self, host: &mut H, cpu: usize, task: TaskId, flags: u32) {
        host.charge(SoftCost::Dequeue, 1);
        self.leave(host, cpu, task, FG_DEQUEUE_SLEEP | FG_DEQUEUE_DELAYED | flags);
    }

    /// A delayed sleeper is woken where it is queued. Without `delay-charge` requeue_delayed_entity() places by what was
    /// charged last.
    pub fn requeue_delayed<H: Host>(&mut self, host: &mut H, cpu: usize, task: TaskId) {
        host.charge(SoftCost::Enqueue, 1);
        if self.world.sys().feat.value[FG_DELAY_CHARGE] != 0 {
            self.update_curr(host, cpu);
        }
        self.remove_from_tree(cpu, task);
        self.world.requeue_delayed(cpu, task);
        self.request_frequency(host, cpu);
        self.insert_if_queued(cpu, task);
        host.signals_updated(&self.world, cpu, Some(task));
    }

    pub fn remove_from_tree(&mut self, cpu: usize, task: TaskId) {
        let p = self.world.task(task);
        let (vruntime, deadline) = (p.vruntime, p.deadline);
        let found = self.queue_of(cpu, task).remove(vruntime, deadline, task);
        debug_assert!(found, "task {task} is not queued on CPU {cpu}");
    }

    pub fn insert_if_queued(&mut self, cpu: usize, task: TaskId) {
        if self.world.task(task).on_rq != 0 {
            self.insert_queued(cpu, task);
        }
    }

    pub fn insert_queued(&mut self, cpu: usize, task: TaskId) {
        let p = self.world.task(task);
        let (vruntime, deadline) = (p.vruntime, p.deadline);
        self.queue_of(cpu, task).insert(vruntime, deadline, task);
    }

    /// Updates the shortest and the longest slice of the queue that `task` has joined or left. A group has the shortest of
    /// its queue; since v6.15 (min-slice-up) the queue around it hears of a change, before only when it joins or leaves.
    /// There is nothing to do until a task asks for a slice.
    fn note_slices(&mut self, cpu: usize, task: TaskId) {
        self.slices_asked |= self.world.task(task).custom_slice != 0;
        if !self.slices_asked {
            return;
        }
        let at_once = self.world.sys().feat.value[FG_MIN_SLICE_UP] != 0;
        let mut at = self.world.competes_in(task);
        loop {
            let nr_queued = self.note_slices_of(cpu, at);
            let Some(tg) = at else { return };
            if nr_queued > 0 {
                let shortest = self.world.fair_queue_mut(cpu, at).min_slice;
                self.world.group_on_mut(cpu, tg).entity.custom_slice = shortest;
            }
            if nr_queued > 1 && !at_once {
                return;
            }
            at = self.world.parent_group(tg);
        }
    }

    /// The same of one queue: that of a group on `cpu`, or the CPU's. Returns how many are queued in it.
    fn note_slices_of(&mut self, cpu: usize, at: Option<usize>) -> usize {
        let curr = self.world.current_in(cpu, at);
        let queue = at.map_or(&self.rqs[cpu].fair, |tg| &self.rqs[cpu].nested[tg]);
        let all = queue.iter().map(|(_, id)| id).chain(curr).map(|id| self.world.entity(cpu, id));
        let queued: Vec<&FgTask> = all.filter(|e| e.on_rq != 0).collect();
        let asked = queued.iter().any(|e| e.custom_slice != 0);
        let slices = || queued.iter().filter(|_| asked).map(|e| self.world.slice(e.custom_slice));
        let (least, most) = (slices().min().unwrap_or(0), slices().max().unwrap_or(0));
        let nr_queued = queued.len();
        let queue = self.world.fair_queue_mut(cpu, at);
        (queue.min_slice, queue.max_slice) = (least, most);
        nr_queued
    }

    /// Which queued entities the policy picks from. The current task has been charged.
    pub fn candidates(&self, cpu: usize) -> (Option<u32>, Option<u32>) {
        self.rqs[cpu].fair.candidates(|| self.world.avg_vruntime(cpu))
    }

    /// check_preempt_wakeup between fair tasks. Delayed sleepers that the test comes upon are dequeued.
    pub fn fair_preempts<H: Host>(&mut self, host: &mut H, cpu: usize, task: TaskId, flags: u32) -> bool {
        self.world.set_next_buddy(cpu, task, flags);
        if self.rqs[cpu].resched && self.world.sys().feat.value[FG_WAKE_TEST_ALWAYS] == 0 {
            host.wakeup_tested(&self.world, cpu, task, FG_PICK_RULE_WAKE_PENDING);
            return false;
        }
        if self.world.charges_at_wakeup(cpu, task) {
            self.update_curr(host, cpu);
        }
        loop {
            let first = self.first_beside(cpu, task);
            let rule = self.world.check_preempt_wakeup(cpu, task, first, flags);
            match (preempts(rule), first) {
                (FG_PREEMPT_DELAYED, Some(delayed)) => self.dequeue_delayed_entity(host, cpu, delayed),
                (answer, _) => {
                    host.wakeup_tested(&self.world, cpu, task, rule);
                    return answer == FG_PREEMPT_YES;
                }
            }
        }
    }

    /// check_preempt_curr: a reschedule of `cpu` if `task`, just queued there, is to run before the current one.
    /// `flags`: `FG_WF_FORK` for a new task.
    pub fn check_preempt<H: Host>(&mut self, host: &mut H, cpu: usize, task: TaskId, flags: u32) {
        if self.rqs[cpu].stopper {
            return;
        }
        let p = self.world.task(task);
        let preempts = match self.world.curr_task(cpu) {
            None => true,
            Some(curr) if is_rt(curr) => (is_rt(p) && p.rt_prio > curr.rt_prio) || self.server_asks(cpu),
            Some(_) if is_rt(p) => true,
            Some(_) => {
                if self.fair_preempts(host, cpu, task, flags) {
                    self.resched_lazy(host, cpu);
                }
                return;
            }
        };
        if preempts {
            self.resched(host, cpu);
        }
    }

    /// move_queued_task: a runnable task that is not current goes to another run queue.
    pub fn move_queued<H: Host>(&mut self, host: &mut H, task: TaskId, to: CpuId, cause: MigrateCause) {
        let from = self.world.task(task).cpu as CpuId;
        host.update_clock(&mut self.world, from as usize);
        self.dequeue(host, from as usize, task, FG_DEQUEUE_MOVE);
        self.set_task_cpu(host, task, to, cause);
        host.update_clock(&mut self.world, to as usize);
        self.enqueue(host, to as usize, task, 0);
        self.check_preempt(host, to as usize, task, 0);
    }

    /// set_task_cpu, and the cost of the migration.
    pub fn set_task_cpu<H: Host>(&mut self, host: &mut H, task: TaskId, to: CpuId, cause: MigrateCause) {
        let from = std::mem::replace(&mut self.world.task_mut(task).cpu, to as i32) as CpuId;
        host.charge(SoftCost::Migrate, 1);
        host.migrated(task, from, to, cause);
    }

    /// The tick of a running fair task.
    pub fn tick_fair<H: Host>(&mut self, host: &mut H, cpu: usize) {
        self.update_curr(host, cpu);
        let over = self.tick_groups(cpu);
        let left = self.rqs[cpu].fair.left();
        let entity_over = self.world.entity_tick(cpu, left);
        self.end_slice(host, cpu, if entity_over == FG_PICK_RULE_NONE { over } else { entity_over });
        host.signals_updated(&self.world, cpu, self.world.curr(cpu));
        self.request_frequency(host, cpu);
    }

    /// The current task of `cpu` returns to user mode: a scan of sched-cache that its tick has planned is made. Not if
    /// another task is to run first.
    #[inline]
    pub fn return_to_user<H: Host>(&mut self, host: &mut H, cpu: usize) {
        if self.world.sys().feat.value[FG_SCHED_CACHE] != 0 {
            self.make_planned_scan(host, cpu);
        }
    }

    fn make_planned_scan<H: Host>(&mut self, host: &mut H, cpu: usize) {
        let Some(task) = self.world.curr(cpu).filter(|_| !self.rqs[cpu].resched) else { return };
        let p = self.world.task(task);
        let runs = p.on_rq != 0 && p.flags & FG_TASK_DELAYED == 0;
        if runs && p.flags & FG_TASK_CACHE_WORK != 0 && self.world.task_cache_work(task, host.jiffies()) {
            host.charge(SoftCost::GroupCpu, self.world.cpus.len() as u32);
        }
    }

    fn enqueue_rt(&mut self, cpu: usize, task: TaskId) {
        self.rqs[cpu].rt.push(self.world.task(task).rt_prio, task);
        self.rqs[cpu].had_rt = true;
        self.world.add_rt(cpu, task);
    }

    fn dequeue_rt(&mut self, cpu: usize, task: TaskId) {
        self.rqs[cpu].rt.remove(task);
        self.world.remove_rt(cpu, task);
    }
}
