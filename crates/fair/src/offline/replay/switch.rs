//! A recorded context switch: who leaves the CPU and in which state, who gets it.

use fairground_machine::CpuId;

use super::ReplayedState;
use crate::ffi::*;

/// What gets a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchTo {
    /// A task.
    Task(u32),
    /// The stopper, or another thread above all tasks.
    Stopper,
    /// The idle task.
    Idle,
}

impl ReplayedState {
    /// It is known for the first time what a CPU does: whoever was taken to run there does not.
    pub fn settle(&mut self, cpu: CpuId, next: SwitchTo) {
        let at = cpu as usize;
        self.clock(at);
        if self.phantom[at] {
            let rq = &mut self.queues.world.cpus[at];
            rq.nr_running -= 1;
            rq.h_nr_running -= 1;
        }
        self.hand_over(at, next);
    }

    /// A CPU switches. `slept`: who had it and goes to sleep.
    pub fn switch(&mut self, cpu: CpuId, slept: Option<u32>, next: SwitchTo) {
        let at = cpu as usize;
        self.clock(at);
        if let Some(task) = slept.filter(|task| self.queues.world.curr(at) == Some(*task) && self.is_runnable(*task)) {
            self.queues.charge_curr(at);
            self.note_debt(at, task);
            self.queues.dequeue(&mut self.host, at, task, FG_DEQUEUE_SLEEP);
        }
        self.queues.charge_curr(at);
        self.drop_delayed(at);
        self.queues.put_prev(at);
        self.hand_over(at, next);
    }

    /// Nobody has the CPU; somebody gets it.
    fn hand_over(&mut self, cpu: usize, next: SwitchTo) {
        self.queues.stop_stopper(cpu);
        self.queues.rqs[cpu].resched = false;
        match next {
            SwitchTo::Task(task) => self.set_next(cpu, task),
            SwitchTo::Stopper => self.queues.start_stopper(cpu),
            SwitchTo::Idle => self.go_idle(cpu),
        }
        self.queues.world.cpus[cpu].curr_is_idle = u8::from(next == SwitchTo::Idle);
        self.queues.world.take_frequency(cpu);
    }

    /// A task has the CPU, wherever it was taken to be.
    fn set_next(&mut self, cpu: usize, task: u32) {
        if !(self.is_runnable(task) && self.queues.world.task(task).cpu as usize == cpu) {
            self.wake_on(task, cpu as CpuId);
        }
        self.queues.set_next_fair(cpu, task);
    }

    /// A CPU runs dry: nobody can be queued there, known or not.
    fn go_idle(&mut self, cpu: usize) {
        self.idled[cpu] += 1;
        if std::mem::take(&mut self.phantom[cpu]) {
            let rq = &mut self.queues.world.cpus[cpu];
            rq.nr_running -= 1;
            rq.h_nr_running -= 1;
        }
        let queued: Vec<u32> = self.queues.rqs[cpu].fair.iter().map(|(_, task)| task).collect();
        queued.into_iter().for_each(|task| self.dequeue_for_good(cpu, task));
        self.newly_idle(cpu);
        self.queues.world.nohz_balance_enter_idle(cpu);
    }
}
