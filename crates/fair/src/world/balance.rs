//! One attempt to balance a domain (`policy/fg.h`, same names and contracts), and what the kernel keeps in one object
//! where the policy has several.
//!
//! SAFETY, for all of them: as in `calls.rs`; the pointers in a `FgBalance` are the policy's, or those set here.

use super::World;
use crate::ffi::*;

impl World {
    pub fn balance_begin(&mut self, sd: usize, cpu: usize, kind: u32, jiffies: u64) -> FgBalance {
        let sd = self.domains.ptr(sd);
        let mut b = FgBalance { sd, jiffies, this_cpu: cpu as i32, kind, ..FgBalance::zeroed() };
        // SAFETY: see above.
        unsafe { fg_balance_begin(self.sys.ptr(0), &mut b) };
        b
    }

    pub fn should_we_balance(&self, b: &FgBalance) -> bool {
        // SAFETY: see above.
        unsafe { fg_should_we_balance(self.sys.ptr(0), b) != 0 }
    }

    pub fn find_busiest(&mut self, b: &mut FgBalance) -> bool {
        let Some(sd) = self.domain_of(b) else { return false };
        self.renew_sums(sd);
        // The look may renew the capacity of its CPU.
        self.cpus.touch(b.dst_cpu as usize);
        let before = self.shared_of(sd);
        // SAFETY: see above.
        let found = unsafe { fg_find_busiest(self.sys.ptr(0), b) != 0 };
        if self.shared_of(sd) != before {
            self.tell_twins(sd);
        }
        found
    }

    pub fn detach_begin(&mut self, b: &mut FgBalance) {
        // SAFETY: see above.
        unsafe { fg_detach_begin(self.sys.ptr(0), b) }
    }

    pub fn detach_more(&mut self, b: &mut FgBalance) -> bool {
        // SAFETY: see above.
        unsafe { fg_detach_more(self.sys.ptr(0), b) != 0 }
    }

    pub fn detach_task(&mut self, b: &mut FgBalance, task: u32) -> bool {
        // SAFETY: see above.
        unsafe { fg_detach_task(self.sys.ptr(0), b, self.tasks.ptr(task as usize)) != 0 }
    }

    pub fn can_migrate_task(&mut self, b: &mut FgBalance, task: u32) -> bool {
        // SAFETY: see above.
        unsafe { fg_can_migrate_task(self.sys.ptr(0), b, self.tasks.ptr(task as usize)) != 0 }
    }

    pub fn balance_next(&mut self, b: &mut FgBalance) -> u32 {
        // SAFETY: see above.
        let next = unsafe { fg_balance_next(self.sys.ptr(0), b) };
        self.tell_twins_above(b);
        next
    }

    pub fn balance_not_ours(&mut self, b: &FgBalance) {
        // SAFETY: see above.
        unsafe { fg_balance_not_ours(self.sys.ptr(0), b) }
    }

    pub fn balance_end(&mut self, b: &mut FgBalance) -> bool {
        // SAFETY: see above.
        let active = unsafe { fg_balance_end(self.sys.ptr(0), b) != 0 };
        self.tell_twins_above(b);
        active
    }

    /// The stopper's, for [`Self::active_begin`].
    pub fn active_balance(&self, jiffies: u64) -> FgBalance {
        FgBalance { jiffies, ..FgBalance::zeroed() }
    }

    pub fn active_begin(&mut self, src: usize, b: &mut FgBalance) -> bool {
        // SAFETY: see above.
        unsafe { fg_active_begin(self.sys.ptr(0), self.cpus.ptr(src), b) != 0 }
    }

    pub fn active_end(&mut self, src: usize, b: &mut FgBalance, pushed: bool) {
        // SAFETY: see above.
        unsafe { fg_active_end(self.cpus.ptr(src), b, u32::from(pushed)) }
    }

    /// The domain that is balanced.
    pub fn domain_of(&self, b: &FgBalance) -> Option<usize> {
        self.domains.index_of(b.sd)
    }

    /// The imbalanced flag is set and cleared a level up.
    fn tell_twins_above(&mut self, b: &FgBalance) {
        let parent = self.domain_of(b).and_then(|sd| self.domains.index_of(self.domains[sd].parent));
        if let Some(parent) = parent {
            self.tell_twins(parent);
        }
    }

    /// Groups that stand for the same CPUs as the local one of `sd` elsewhere learn what it has.
    pub(super) fn tell_twins(&mut self, sd: usize) {
        let Some(id) = self.groups.index_of(self.domains[sd].groups) else { return };
        let shared = Shared::of(&self.groups[id]);
        for i in 0..self.twins[id].len() {
            shared.tell(&mut self.groups[self.twins[id][i]]);
        }
    }

    /// What the local group of `sd` shares with its twins.
    fn shared_of(&self, sd: usize) -> Option<Shared> {
        self.groups.index_of(self.domains[sd].groups).map(|id| Shared::of(&self.groups[id]))
    }
}

/// What groups that stand for the same CPUs have in common besides those.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Shared {
    capacity: u64,
    min_capacity: u64,
    max_capacity: u64,
    next_update: u64,
    imbalance: u32,
}

impl Shared {
    fn of(g: &FgGroup) -> Shared {
        let FgGroup { capacity, min_capacity, max_capacity, next_update, imbalance, .. } = *g;
        Shared { capacity, min_capacity, max_capacity, next_update, imbalance }
    }

    fn tell(self, g: &mut FgGroup) {
        (g.capacity, g.min_capacity, g.max_capacity) = (self.capacity, self.min_capacity, self.max_capacity);
        (g.next_update, g.imbalance) = (self.next_update, self.imbalance);
    }
}
