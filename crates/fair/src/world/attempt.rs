//! The questions of one attempt to balance a domain, as methods; SAFETY as in `calls`.

use fairground_machine::CpuId;

use super::World;
use crate::ffi::*;

impl World {
    /// An attempt for `cpu` on its domain `sd`. `now`: ns, clock of the CPU.
    pub fn balance_begin(&mut self, sd: usize, cpu: usize, kind: u32, (jiffies, now): (u64, u64)) -> FgBalance {
        let this_cpu = cpu as i32;
        let sd = self.domains.ptr(sd);
        let mut b = FgBalance { sd, jiffies, now, this_cpu, kind, ..FgBalance::zeroed() };
        // SAFETY: see above.
        unsafe { fg_balance_begin(self.sys.ptr(0), &mut b) };
        b
    }

    pub fn balance_is_ours(&self, b: &FgBalance) -> bool {
        // SAFETY: see above.
        unsafe { fg_should_we_balance(self.sys.ptr(0), b) != 0 }
    }

    pub fn find_busiest(&mut self, b: &mut FgBalance) -> bool {
        // SAFETY: see above.
        unsafe { fg_find_busiest(self.sys.ptr(0), b) != 0 }
    }

    /// The lowest CPU of the group that was found.
    pub fn busiest_group(&self, b: &FgBalance) -> Option<CpuId> {
        self.groups[self.groups.index_of(b.busiest)?].span.first()
    }

    pub fn detach_begin(&self, b: &mut FgBalance) {
        // SAFETY: see above.
        unsafe { fg_detach_begin(self.sys.ptr(0), b) }
    }

    pub fn detach_more(&self, b: &mut FgBalance) -> bool {
        // SAFETY: see above.
        unsafe { fg_detach_more(self.sys.ptr(0), b) != 0 }
    }

    pub fn detach_task(&mut self, b: &mut FgBalance, task: u32) -> bool {
        // SAFETY: see above.
        unsafe { fg_detach_task(self.sys.ptr(0), b, self.tasks.ptr(task as usize)) != 0 }
    }

    pub fn balance_next(&mut self, b: &mut FgBalance) -> u32 {
        // SAFETY: see above.
        unsafe { fg_balance_next(self.sys.ptr(0), b) }
    }

    pub fn balance_not_ours(&mut self, b: &mut FgBalance) {
        // SAFETY: see above.
        unsafe { fg_balance_not_ours(self.sys.ptr(0), b) }
    }

    /// True: the stopper of the source is asked.
    pub fn balance_end(&mut self, b: &mut FgBalance) -> bool {
        // SAFETY: see above.
        unsafe { fg_balance_end(self.sys.ptr(0), b) != 0 }
    }
}
