//! Mutexes of the kernel: a waiter spins in a queue as long as the holder is on a CPU. It sleeps if the holder is not,
//! or if the waiter is preempted itself.
//!
//! ```text
//!                      holder runs                          given up
//! lock ---- free? ---- spin in the queue ------------------ first spinner ----.
//!             |            | holder or spinner preempted    (or the heir)     |
//!             |        sleep, first come ---- woken by the unlock ------------+-- == lines == hold -- unlock
//!             `---------------------------------------------------------------'
//! ```
//!
//! Giving up wakes the first sleeper whether or not a spinner takes the lock before it comes. A sleeper that came too
//! late once is the heir: it spins beside the queue or sleeps, and the lock is handed to it next.

use fairground_machine::{CpuId, SoftCost};
use fairground_workload::{Amount, ObjId};

use super::interp::Flow;
use super::objects::{KernelMutex, Obj};
use super::task::Wait;
use super::Engine;
use crate::{TaskId, Time};

/// Phases of a step under a mutex.
mod phase {
    pub const LOCK: u8 = 0;
    /// The spin is over: it holds the mutex, or the holder or itself was preempted.
    pub const SPUN: u8 = 1;
    /// The work under the mutex is done.
    pub const HELD: u8 = 2;
    /// A sleeper is awake, or the heir's spin is over.
    pub const AWAKE: u8 = 3;
}

impl Engine {
    /// Lock, lines, hold, unlock.
    pub(super) fn under_mutex(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        at: u8,
        id: ObjId,
        (hold, lines): (Amount, u32),
    ) -> Flow {
        if at == phase::HELD {
            self.give_up(cpu, task, id);
            return Flow::Next;
        }
        self.tasks[task as usize].mutex = None;
        if self.takes_mutex(task, id) {
            return self.hold(cpu, task, id, (hold, lines));
        }
        let runs = self.holder_runs(id);
        let mutex = self.kernel_mutex(id);
        match at {
            phase::LOCK if runs => {
                mutex.spinners.push_back(task);
                return self.spin(task, id, phase::SPUN);
            }
            phase::AWAKE => {
                mutex.has_heir = true;
                if runs {
                    return self.spin(task, id, phase::AWAKE);
                }
            }
            _ => mutex.sleepers.push_back(task),
        }
        self.block(cpu, task, Wait::Object(id), phase::AWAKE, &[SoftCost::LockFast])
    }

    fn kernel_mutex(&mut self, id: ObjId) -> &mut KernelMutex {
        match &mut self.objects[id as usize] {
            Obj::KernelMutex(mutex) => mutex,
            other => unreachable!("validated: object {id} is a kernel mutex, not {other:?}"),
        }
    }

    fn holder_runs(&mut self, id: ObjId) -> bool {
        let holder = self.kernel_mutex(id).holder;
        holder.is_some_and(|task| self.tasks[task as usize].on_cpu.is_some())
    }

    /// Whether the task has the mutex now: it was handed over, or is free.
    fn takes_mutex(&mut self, task: TaskId, id: ObjId) -> bool {
        let mutex = self.kernel_mutex(id);
        if mutex.holder.is_none() {
            mutex.holder = Some(task);
            if mutex.sleepers.front() == Some(&task) {
                mutex.sleepers.pop_front();
                mutex.has_heir = false;
            }
        }
        mutex.holder == Some(task)
    }

    /// The lines of the last holder come over, then the work begins.
    fn hold(&mut self, cpu: CpuId, task: TaskId, id: ObjId, (hold, lines): (Amount, u32)) -> Flow {
        let last = self.kernel_mutex(id).last.replace(cpu).unwrap_or(cpu);
        let moved_ns = self.fetch(last, cpu, lines.into());
        let work = self.draw_for(task, hold).saturating_mul(1 << 20);
        let t = &mut self.tasks[task as usize];
        t.stall_ns = t.stall_ns.saturating_add(moved_ns);
        t.work_q20 = work;
        t.mutex = Some(id);
        t.phase = phase::HELD;
        Flow::Work
    }

    /// Spins until [`Engine::end_spin`], then takes phase `then`.
    fn spin(&mut self, task: TaskId, id: ObjId, then: u8) -> Flow {
        let t = &mut self.tasks[task as usize];
        t.wall_until = Time::MAX;
        t.mutex = Some(id);
        t.phase = then;
        Flow::Work
    }

    fn end_spin(&mut self, task: TaskId) {
        let t = &mut self.tasks[task as usize];
        t.wall_until = self.now;
        if let Some(cpu) = t.on_cpu {
            self.settle(cpu);
            self.retime(cpu);
        }
    }

    /// Hands over to the heir, else to the first spinner; else the mutex is free.
    fn give_up(&mut self, cpu: CpuId, task: TaskId, id: ObjId) {
        self.tasks[task as usize].mutex = None;
        let mutex = self.kernel_mutex(id);
        let heir = if std::mem::take(&mut mutex.has_heir) { mutex.sleepers.pop_front() } else { None };
        let next = heir.or_else(|| mutex.spinners.pop_front());
        let first = heir.or(mutex.sleepers.front().copied());
        mutex.holder = next;
        if let Some(next) = next {
            let spins = self.tasks[next as usize].mutex.replace(id).is_some();
            if spins {
                self.end_spin(next);
            }
            if !self.holder_runs(id) {
                self.end_all_spins(id);
            }
        }
        let asleep = first.filter(|first| self.tasks[*first as usize].is_blocked());
        self.wake_from(cpu, task, false, asleep);
    }

    /// A holder or spinner was preempted: a holder leaves nothing to spin for, a spinner leaves the queue.
    pub(super) fn preempted_at_mutex(&mut self, task: TaskId, id: ObjId) {
        let mutex = self.kernel_mutex(id);
        if mutex.holder == Some(task) {
            return self.end_all_spins(id);
        }
        mutex.spinners.retain(|spinner| *spinner != task);
        self.tasks[task as usize].mutex = None;
        self.end_spin(task);
    }

    fn end_all_spins(&mut self, id: ObjId) {
        let mutex = self.kernel_mutex(id);
        let mut spun = std::mem::take(&mut mutex.spinners);
        spun.extend(mutex.sleepers.front());
        for spinner in spun {
            if self.tasks[spinner as usize].mutex.take().is_some() {
                self.end_spin(spinner);
            }
        }
    }
}
