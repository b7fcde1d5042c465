//! put_prev, pick and set_next of fair tasks and of the stopper.

use fairground_sim::TaskId;

use super::{Host, RunQueues};
use crate::ffi::*;
use crate::world::{group_of_entity, is_rt};

impl RunQueues {
    /// Takes the current task of `cpu` off it; back into the queue if it is still runnable.
    pub fn put_prev<H: Host>(&mut self, host: &mut H, cpu: usize) {
        let Some(prev) = self.world.curr(cpu) else { return };
        if is_rt(self.world.task(prev)) {
            self.world.put_prev_rt(cpu, prev);
        } else {
            self.put_prev_fair(host, cpu, prev);
            self.put_prev_groups(host, cpu, prev, None);
        }
    }

    /// [`Self::put_prev`] of a fair task, whose groups may keep the CPU.
    fn put_prev_fair<H: Host>(&mut self, host: &mut H, cpu: usize, prev: TaskId) {
        self.charge_curr(cpu);
        self.check_runtime(host, cpu, self.world.group_of(prev));
        self.world.put_prev_entity(cpu, prev);
        self.insert_if_queued(cpu, prev);
    }

    /// Makes a queued fair task current. `first`: it was picked, not put back after a change.
    pub fn set_next_fair(&mut self, cpu: usize, next: TaskId, first: bool) {
        self.remove_from_tree(cpu, next);
        self.around_groups(cpu, next, |world| world.set_next_entity(cpu, next, first));
        self.cfs_tasks.renew(cpu, next);
    }

    /// pick_next_entity of the queue of `cpu`: a task or a group, which may be delayed, and by
    /// which rule. The current task has been charged.
    pub fn pick_entity(&mut self, cpu: usize, how: &mut FgPick) -> Option<u32> {
        let (first, second) = self.candidates(cpu);
        self.world.pick_entity(cpu, first, second, how)
    }

    /// pick_task_fair: the task to run, the current one or a queued one. Delayed sleepers whose turn comes are dequeued
    /// on the way.
    pub fn pick_task<H: Host>(&mut self, host: &mut H, cpu: usize) -> Option<TaskId> {
        self.charge_curr(cpu);
        'again: loop {
            let mut how = FgPick::zeroed();
            let mut next = self.pick_entity(cpu, &mut how)?;
            let mut throttled = false;
            let delayed = loop {
                let delayed = self.world.entity(cpu, next).flags & FG_TASK_DELAYED != 0;
                match group_of_entity(next) {
                    Some(tg) if !delayed => {
                        if self.check_runtime(host, cpu, Some(tg)) {
                            if u32::from(self.world.sys().feat.value[FG_THROTTLE]) == FG_THROTTLE_GROUP {
                                continue 'again;
                            }
                            throttled = true;
                        }
                        next = self.pick_in_group(cpu, tg)?;
                    }
                    _ => break delayed,
                }
            };
            if !delayed {
                if throttled {
                    self.world.plan_throttle(next);
                }
                host.picked(&self.world, cpu, next, how.rule);
                return Some(next);
            }
            self.dequeue_delayed_entity(host, cpu, next);
        }
    }

    /// Dequeues a delayed task or group, which was picked.
    pub fn dequeue_delayed_entity<H: Host>(&mut self, host: &mut H, cpu: usize, entity: u32) {
        match group_of_entity(entity) {
            None => self.dequeue_delayed(host, cpu, entity, 0),
            Some(tg) => self.dequeue_delayed_group(host, cpu, tg),
        }
    }

    /// pick_next_task_fair: the task to run, which then is current.
    pub fn pick_next_task<H: Host>(&mut self, host: &mut H, cpu: usize) -> Option<TaskId> {
        let next = self.pick_task(host, cpu)?;
        let prev = self.world.curr(cpu);
        if prev == Some(next) {
            self.world.clear_buddies(cpu, next);
            if u32::from(self.world.sys().feat.value[FG_RQ]) != FG_RQ_EEVDF612 {
                self.cfs_tasks.renew(cpu, next);
            }
        } else {
            match prev.filter(|prev| !is_rt(self.world.task(*prev))) {
                Some(prev) => {
                    self.put_prev_fair(host, cpu, prev);
                    self.put_prev_groups(host, cpu, prev, self.world.common_group(prev, next));
                }
                None => self.put_prev(host, cpu),
            }
            self.set_next_fair(cpu, next, true);
            self.hrtick_start(host, cpu, true);
        }
        Some(next)
    }

    /// The stopper of `cpu`, which has no current task, gets the CPU.
    pub fn start_stopper(&mut self, cpu: usize) {
        if !std::mem::replace(&mut self.rqs[cpu].stopper, true) {
            self.world.add_nr_running(cpu);
        }
    }

    /// The stopper of `cpu` leaves the CPU, if it has it.
    pub fn stop_stopper(&mut self, cpu: usize) {
        if std::mem::take(&mut self.rqs[cpu].stopper) {
            self.world.cpus[cpu].nr_running -= 1;
        }
    }
}
