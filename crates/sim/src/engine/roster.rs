//! Rosters: threads list themselves and sleep on futexes of their own; the keeper calls all of them in one go.
//!
//! ```text
//! worker  list itself -> wake the keeper, if asleep -> futex wait .......... called: back
//! keeper  ................ await: back -> take the list and the time -> futex wake, one by one
//! ```

use fairground_machine::{CpuId, SoftCost};
use fairground_workload::ObjId;

use super::interp::Flow;
use super::objects::{Obj, Roster};
use super::task::Wait;
use super::Engine;
use crate::TaskId;

/// What [`super::task::Task::scratch`] holds of a thread that has been called.
const CALLED: u64 = 1;

impl Engine {
    fn roster(&mut self, id: ObjId) -> &mut Roster {
        match &mut self.objects[id as usize] {
            Obj::Roster(r) => r,
            other => unreachable!("validated: object {id} is a roster, not {other:?}"),
        }
    }

    /// 0: user space. 1: on the list; a sleeping keeper is woken (2). 3: sleep, unless called meanwhile. 4: back.
    pub(super) fn enlist(&mut self, cpu: CpuId, task: TaskId, phase: u8, id: ObjId) -> Flow {
        const FUTEX: &[SoftCost] = &[SoftCost::Syscall, SoftCost::Futex];
        match phase {
            0 => self.work(task, 1, &[SoftCost::LockFast]),
            1 => {
                self.roster(id).listed.push(task);
                let sleeps = !self.roster(id).keepers.is_empty();
                self.work(task, if sleeps { 2 } else { 3 }, FUTEX)
            }
            2 => {
                let keeper = self.roster(id).keepers.pop_front();
                self.wake_from(cpu, task, false, keeper);
                self.work(task, 3, FUTEX)
            }
            3 if self.tasks[task as usize].scratch != CALLED => {
                self.block(cpu, task, Wait::Object(id), 4, &[SoftCost::Futex])
            }
            _ => Flow::Next,
        }
    }

    /// 0: user space. 1: takes the list, newest first as it is a stack, and the time. 2: one is woken.
    pub(super) fn call_listed(&mut self, cpu: CpuId, task: TaskId, phase: u8, id: ObjId) -> Flow {
        match phase {
            0 => return self.work(task, 1, &[SoftCost::LockFast]),
            1 => {
                let listed = std::mem::take(&mut self.roster(id).listed);
                listed.iter().for_each(|t| self.tasks[*t as usize].called_at = self.now);
                self.roster(id).calling.extend(listed.into_iter().rev());
            }
            _ => {
                if let Some(called) = self.roster(id).calling.pop_front() {
                    self.tasks[called as usize].scratch = CALLED;
                    self.wake_from(cpu, task, false, Some(called));
                }
            }
        }
        if self.roster(id).calling.is_empty() {
            return Flow::Next;
        }
        self.work(task, 2, &[SoftCost::Syscall, SoftCost::Futex])
    }

    /// 0: user space. 1: looks; if the list is empty, enters the kernel. 2: looks again, and sleeps.
    pub(super) fn await_listed(&mut self, cpu: CpuId, task: TaskId, phase: u8, id: ObjId) -> Flow {
        if phase == 0 {
            return self.work(task, 1, &[SoftCost::LockFast]);
        }
        if !self.roster(id).listed.is_empty() {
            return Flow::Next;
        }
        if phase == 1 {
            return self.work(task, 2, &[SoftCost::Syscall, SoftCost::Futex]);
        }
        self.roster(id).keepers.push_back(task);
        self.block(cpu, task, Wait::Object(id), 2, &[SoftCost::Futex])
    }
}
