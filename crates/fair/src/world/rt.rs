//! RT tasks: enqueue, dequeue, switches and run time. The policy updates their counts and PELT signal.

use super::slabs::World;
use crate::ffi::*;

/// Whether a task is of the RT class.
pub(crate) fn is_rt(p: &FgTask) -> bool {
    matches!(u32::from(p.policy), FG_SCHED_FIFO | FG_SCHED_RR)
}

impl World {
    /// Counts one more task of a class other than fair; with two tasks the root domain is overloaded (spec 6.1).
    pub fn add_nr_running(&mut self, cpu: usize) {
        let rq = &mut self.cpus[cpu];
        rq.nr_running += 1;
        if rq.nr_running == 2 {
            self.root(cpu).overload = 1;
        }
    }

    /// An RT task joins `cpu`.
    pub fn add_rt(&mut self, cpu: usize, task: u32) {
        self.task_mut(task).on_rq = 1;
        self.add_nr_running(cpu);
        self.enqueue_rt(cpu, task);
    }

    /// An RT task leaves `cpu`.
    pub fn remove_rt(&mut self, cpu: usize, task: u32) {
        self.task_mut(task).on_rq = 0;
        self.cpus[cpu].nr_running -= 1;
        self.dequeue_rt(cpu, task);
    }

    /// Charges the current RT task.
    pub fn update_curr_rt(&mut self, cpu: usize, task: u32) {
        let clock = self.cpus[cpu].clock_task;
        let p = self.task_mut(task);
        p.sum_exec += clock.saturating_sub(p.exec_start);
        p.exec_start = clock;
    }

    /// An RT task becomes current; `had` says whether the RT class had the CPU.
    pub fn set_next_rt(&mut self, cpu: usize, task: u32, had: bool) {
        if !had {
            self.update_rt(cpu, false);
        }
        let clock = self.cpus[cpu].clock_task;
        let p = self.task_mut(task);
        p.exec_start = clock;
        p.prev_sum_exec = p.sum_exec;
        p.on_cpu = 1;
        self.set_curr(cpu, Some(task));
    }

    /// The current RT task stops being current.
    pub fn put_prev_rt(&mut self, cpu: usize, task: u32) {
        self.update_curr_rt(cpu, task);
        self.update_rt(cpu, true);
        self.task_mut(task).on_cpu = 0;
        self.set_curr(cpu, None);
    }
}
