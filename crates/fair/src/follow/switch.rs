//! Who has a CPU.

use fairground_machine::CpuId;

use super::Follower;
use crate::ffi::*;
use crate::rt::is_rt;

/// Who gets a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A task.
    Task(u32),
    /// The stopper, or whoever is above all tasks.
    Stopper,
    /// Nobody.
    Idle,
}

impl Follower {
    /// It is known for the first time what a CPU does: whoever was taken to run there does not.
    pub fn settle(&mut self, cpu: CpuId, next: Next) {
        let at = cpu as usize;
        self.clock(at);
        if self.phantom[at] {
            let rq = &mut self.world.cpus[at];
            rq.nr_running -= 1;
            rq.h_nr_running -= 1;
        }
        self.hand_over(at, next);
    }

    /// A CPU switches. `slept`: who had it and goes to sleep.
    pub fn switch(&mut self, cpu: CpuId, slept: Option<u32>, next: Next) {
        let at = cpu as usize;
        self.clock(at);
        if let Some(task) = slept.filter(|task| self.world.curr(at) == Some(*task) && self.is_runnable(*task)) {
            self.charge(at);
            self.note_debt(at, task);
            self.leave(at, task, FG_DEQUEUE_SLEEP);
        }
        self.charge(at);
        self.drop_delayed(at);
        self.put_prev(at);
        self.hand_over(at, next);
    }

    /// Nobody has the CPU; somebody gets it.
    fn hand_over(&mut self, cpu: usize, next: Next) {
        if std::mem::take(&mut self.stopper[cpu]) {
            self.world.cpus[cpu].nr_running -= 1;
        }
        match next {
            Next::Task(task) => self.set_next(cpu, task),
            Next::Stopper => {
                self.stopper[cpu] = true;
                self.world.add_nr_running(cpu);
            }
            Next::Idle => self.go_idle(cpu),
        }
        self.world.cpus[cpu].curr_is_idle = u8::from(next == Next::Idle);
        self.world.take_frequency(cpu);
    }

    /// Delayed sleepers whose turn would have come are gone by now.
    pub(super) fn drop_delayed(&mut self, cpu: usize) {
        while self.world.cpus[cpu].h_nr_delayed > 0 {
            let (first, second) = self.queues[cpu].candidates(|| self.world.avg_vruntime(cpu));
            let Some(next) = self.world.pick_entity(cpu, first, second) else { return };
            if self.world.task(next).flags & FG_TASK_DELAYED == 0 {
                return;
            }
            self.leave(cpu, next, FG_DEQUEUE_SLEEP | FG_DEQUEUE_DELAYED);
        }
    }

    /// Takes the current task off its CPU; back into the queue if it is still there.
    pub(super) fn put_prev(&mut self, cpu: usize) {
        let Some(prev) = self.world.curr(cpu) else { return };
        if is_rt(self.world.task(prev)) {
            self.world.put_prev_rt(cpu, prev);
            return;
        }
        self.charge(cpu);
        self.world.put_prev_entity(cpu, prev);
        self.insert_if_queued(cpu, prev);
    }

    /// A task has the CPU, wherever it was taken to be.
    fn set_next(&mut self, cpu: usize, task: u32) {
        if !(self.is_runnable(task) && self.world.task(task).cpu as usize == cpu) {
            self.wake_on(task, cpu as CpuId);
        }
        if is_rt(self.world.task(task)) {
            self.world.set_next_rt(cpu, task, false);
            return;
        }
        self.remove(cpu, task);
        self.world.set_next_entity(cpu, task);
    }

    /// A CPU runs dry: nobody can be queued there, known or not.
    fn go_idle(&mut self, cpu: usize) {
        self.idled[cpu] += 1;
        if std::mem::take(&mut self.phantom[cpu]) {
            let rq = &mut self.world.cpus[cpu];
            rq.nr_running -= 1;
            rq.h_nr_running -= 1;
        }
        let queued: Vec<u32> = self.queues[cpu].iter().map(|(_, task)| task).collect();
        for task in queued {
            let delayed = self.world.task(task).flags & FG_TASK_DELAYED != 0;
            self.leave(cpu, task, FG_DEQUEUE_SLEEP | if delayed { FG_DEQUEUE_DELAYED } else { 0 });
            if self.world.task(task).on_rq != 0 {
                self.leave(cpu, task, FG_DEQUEUE_SLEEP | FG_DEQUEUE_DELAYED);
            }
        }
        self.newly_idle(cpu);
        self.world.nohz_balance_enter_idle(cpu);
    }
}
