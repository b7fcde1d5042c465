//! Ticket locks of the kernel: served in order of arrival, spun for, with preemption off from the ticket until unlock.
//!
//! ```text
//! t0 |.......spins.......|== lines ==|-- hold --|  t1: the next in the queue begins
//!    ticket              its turn: what the last holder has modified comes over from its CPU
//! ```
//!
//! DEVIATION: how long each holds is known when it takes its ticket, at the speed of that moment: an interrupt delays
//! the thread it hits, not the queue behind it.

use fairground_machine::CpuId;
use fairground_workload::{Amount, ObjId};

use super::cpu::Mode;
use super::interp::Flow;
use super::objects::Obj;
use super::Engine;
use crate::TaskId;

impl Engine {
    /// 0: takes a ticket; spins and holds. 1: given up; a reschedule that waited comes now.
    pub(super) fn serial(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        phase: u8,
        lock: ObjId,
        (hold, lines): (Amount, u32),
    ) -> Flow {
        if phase == 0 {
            let hold_ns = self.ns_of_work(cpu, task, hold);
            let wait_ns = self.take_ticket(cpu, lock, hold_ns, lines);
            let t = &mut self.tasks[task as usize];
            t.stall_ns += wait_ns;
            t.atomic = true;
            t.phase = 1;
            return Flow::Work;
        }
        self.tasks[task as usize].atomic = false;
        if self.cpus[cpu as usize].need_resched {
            self.flag(cpu);
        }
        Flow::Next
    }

    /// How long an amount of work takes at the present speed of a CPU, ns.
    fn ns_of_work(&mut self, cpu: CpuId, task: TaskId, work: Amount) -> u64 {
        let work = self.draw_for(task, work);
        work.saturating_mul(1 << 20).div_ceil(self.env.cpu(cpu).speed_q20)
    }

    /// Time until the lock is given up again, ns.
    fn take_ticket(&mut self, cpu: CpuId, lock: ObjId, hold_ns: u64, lines: u32) -> u64 {
        let now = self.now;
        let Obj::Ticket(ticket) = &mut self.objects[lock as usize] else {
            unreachable!("validated: object {lock} is a ticket lock")
        };
        let last = ticket.last.replace(cpu).unwrap_or(cpu);
        let moved_ns = self.env.lines.fetch(&self.machine, now, last, cpu, lines.into());
        ticket.free_at = ticket.free_at.max(now).saturating_add(moved_ns).saturating_add(hold_ns);
        ticket.free_at - now
    }

    /// Whether the current task of a CPU may not be preempted.
    pub(super) fn is_atomic(&self, cpu: CpuId) -> bool {
        let c = &self.cpus[cpu as usize];
        c.mode == Mode::Task && c.curr.is_some_and(|task| self.tasks[task as usize].atomic)
    }
}
