//! Methods around the policy's functions for balancing a domain: they make its [`FgBalance`], update the sums that it
//! reads, and keep twins equal. Twins are groups of different rings whose state the kernel keeps in one
//! sched_group_capacity; the policy keeps it in each group.

use super::slabs::World;
use crate::ffi::*;

impl World {
    /// An attempt to balance domain `sd` for `cpu`. `kind`: `FG_CPU_*`.
    pub fn new_balance(&mut self, sd: usize, cpu: usize, kind: u32, jiffies: u64) -> FgBalance {
        let sd = self.domains.ptr(sd);
        let mut b = FgBalance { sd, jiffies, this_cpu: cpu as i32, kind, ..FgBalance::zeroed() };
        self.balance_begin(&mut b);
        b
    }

    /// The stopper's attempt (active balance), for [`Self::active_begin`].
    pub fn active_balance(&self, jiffies: u64) -> FgBalance {
        FgBalance { jiffies, ..FgBalance::zeroed() }
    }

    /// [`Self::find_busiest`]; updates the sums of groups before and the twins after it.
    pub fn find_busiest_queue(&mut self, b: &mut FgBalance) -> bool {
        let Some(sd) = self.domain_of(b) else { return false };
        self.renew_sums(sd);
        // It may update the capacity of dst_cpu.
        self.cpus.touch(b.dst_cpu as usize);
        let before = self.shared_of(sd);
        let found = self.find_busiest(b);
        if self.shared_of(sd) != before {
            self.tell_twins(sd);
        }
        found
    }

    /// [`Self::balance_next`]; updates the twins.
    pub fn finish_round(&mut self, b: &mut FgBalance) -> u32 {
        let next = self.balance_next(b);
        self.tell_twins_above(b);
        next
    }

    /// [`Self::balance_end`]; updates the twins.
    pub fn finish_balance(&mut self, b: &mut FgBalance) -> bool {
        let active = self.balance_end(b);
        self.tell_twins_above(b);
        active
    }

    /// [`Self::update_group_capacity`] (spec 1.8) for the local group of a domain; updates its twins.
    pub fn renew_group_capacity(&mut self, sd: usize, cpu: usize, jiffies: u64) {
        self.update_group_capacity(sd, cpu, jiffies);
        self.tell_twins(sd);
    }

    /// The domain that `b` balances.
    pub fn domain_of(&self, b: &FgBalance) -> Option<usize> {
        self.domains.index_of(b.sd)
    }

    /// Updates the twins in the parent domain, where balancing sets and clears the imbalanced flag.
    fn tell_twins_above(&mut self, b: &FgBalance) {
        let parent = self.domain_of(b).and_then(|sd| self.domains.index_of(self.domains[sd].parent));
        if let Some(parent) = parent {
            self.tell_twins(parent);
        }
    }

    /// Copies the shared state of the local group of `sd` to its twins.
    fn tell_twins(&mut self, sd: usize) {
        let Some(id) = self.groups.index_of(self.domains[sd].groups) else { return };
        let shared = Shared::of(&self.groups[id]);
        for i in 0..self.twins[id].len() {
            shared.tell(&mut self.groups[self.twins[id][i]]);
        }
    }

    /// The state that the local group of `sd` shares with its twins.
    fn shared_of(&self, sd: usize) -> Option<Shared> {
        self.groups.index_of(self.domains[sd].groups).map(|id| Shared::of(&self.groups[id]))
    }
}

/// The state that twins share: the kernel's sched_group_capacity.
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
