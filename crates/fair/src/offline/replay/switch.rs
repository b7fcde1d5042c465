//! Recorded context switches: the task that leaves the CPU, its state, and what runs next.

use fairground_machine::CpuId;

use super::ReplayedState;
use crate::ffi::*;

/// What a CPU runs after a context switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchTo {
    /// The task of this number.
    Task(u32),
    /// The stopper, or another thread of a class above fair.
    Stopper,
    /// The idle task: nothing else is runnable.
    Idle,
}

impl ReplayedState {
    /// The first event of a CPU shows what it runs: the task of its assumed initial state does not.
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

    /// A context switch. `slept`: the task that had the CPU, if it goes to sleep.
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
        self.queues.put_prev(&mut self.host, at);
        self.hand_over(at, next);
    }

    /// Sets what runs next on a CPU without a current task.
    fn hand_over(&mut self, cpu: usize, next: SwitchTo) {
        self.queues.stop_stopper(cpu);
        self.queues.rqs[cpu].clear_resched();
        match next {
            SwitchTo::Task(task) => self.set_next(cpu, task),
            SwitchTo::Stopper => self.queues.start_stopper(cpu),
            SwitchTo::Idle => self.go_idle(cpu),
        }
        self.queues.world.cpus[cpu].curr_is_idle = u8::from(next == SwitchTo::Idle);
        self.queues.world.take_frequency(cpu);
    }

    /// Makes a task current. If its replayed state says that it is not queued there, it is woken there first.
    fn set_next(&mut self, cpu: usize, task: u32) {
        if !(self.is_runnable(task) && self.queues.world.task(task).cpu as usize == cpu) {
            self.wake_on(task, cpu as CpuId);
        }
        self.queues.set_next_fair(cpu, task, true);
    }

    /// A CPU goes idle, so no task can be queued there: dequeues those that the replayed state has.
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
