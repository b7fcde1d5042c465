//! Placements: what the policy is asked with, and what comes of it.

use fairground_machine::CpuId;

use super::slabs::World;
use crate::ffi::*;

/// The circumstances of a placement, by ids.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WakeArgs {
    pub current: Option<u32>,
    pub now: u64,
    pub this_cpu: CpuId,
    pub flags: u32,
}

impl World {
    /// Where the policy puts a task. `why`: where it is to note what it looks at.
    pub fn select(&self, task: u32, wake: &WakeArgs, why: Option<&mut FgWhy>) -> FgVerdict {
        let mut verdict = FgVerdict::zeroed();
        let mut wake = self.wake(wake);
        wake.why = why.map_or(std::ptr::null_mut(), std::ptr::from_mut);
        self.select_task_rq(task, &wake, &mut verdict);
        verdict
    }

    /// Carries out what a verdict says is to be written. `scan_ns`: what the timed scan took.
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
