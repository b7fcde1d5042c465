//! Placements: select_task_rq() of the policy, and the state that its verdict changes.

use fairground_machine::CpuId;

use super::slabs::World;
use crate::ffi::*;

/// The arguments of a placement besides the task; tasks by id.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WakeArgs {
    pub current: Option<u32>,
    pub now: u64,
    pub this_cpu: CpuId,
    pub flags: u32,
}

impl World {
    /// The policy's placement of a task. `why`: receives its notes.
    pub fn select(&self, task: u32, wake: &WakeArgs, why: Option<&mut FgWhy>) -> FgVerdict {
        let mut verdict = FgVerdict::zeroed();
        let mut wake = self.wake(wake);
        wake.why = why.map_or(std::ptr::null_mut(), std::ptr::from_mut);
        self.select_task_rq(task, &wake, &mut verdict);
        verdict
    }

    /// Makes the sums of all groups current for the placement of a new task from `cpu`; returns the flag that says so.
    pub fn renew_sums_for_fork(&mut self, cpu: usize) -> u32 {
        let Some(top) = self.chain(cpu).last().copied() else { return 0 };
        self.renew_sums(top);
        FG_WF_SUMS
    }

    /// Writes the state changes of a verdict. `scan_ns`: how long the timed scan took.
    pub fn commit(&mut self, task: u32, wake: &WakeArgs, verdict: &FgVerdict, scan_ns: u64) {
        let args = self.wake(wake);
        self.commit_select(task, wake.current, &args, verdict, scan_ns);
    }

    fn wake(&self, args: &WakeArgs) -> FgWake {
        FgWake {
            current: self.task_ptr(args.current),
            now: args.now,
            this_cpu: args.this_cpu as i32,
            flags: args.flags,
            why: std::ptr::null_mut(),
        }
    }
}
