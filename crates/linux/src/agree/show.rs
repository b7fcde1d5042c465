//! The kernel's state into the policy's structs.

use fairground_fair::ffi::*;
use fairground_fair::{Pointers, Ring, Shown};
use fairground_machine::CpuId;

use super::state::{Refs, State};

/// Copies what a decision may ask for, and knows what that is.
pub struct Shower {
    /// The first CPU behind each last-level cache.
    llcs: Vec<CpuId>,
    rings: Vec<Ring>,
    groups: Vec<FgGroup>,
    queue: Vec<Option<u32>>,
    hz: u32,
    /// Domains have numbers that wakeups ask for: the cost of scans.
    scans_are_timed: bool,
}

impl Shower {
    /// For a policy with the state of a machine.
    pub fn new(shown: &mut Shown) -> Shower {
        let mut llcs: Vec<CpuId> = Vec::new();
        for cpu in 0..shown.nr_cpus() as CpuId {
            if shown.llc_mut(cpu).is_some() && shown.cpu_mut(cpu).sd_llc_id == cpu as i32 {
                llcs.push(cpu);
            }
        }
        let sys = shown.sys_mut();
        let scans_are_timed = u32::from(sys.feat.value[FG_SIS_MODE]) != FG_SIS_UTIL;
        let hz = sys.hz;
        Shower { llcs, rings: shown.rings(), groups: Vec::new(), queue: Vec::new(), hz, scans_are_timed }
    }

    /// ns of a tick.
    pub fn tick_ns(&self) -> u64 {
        1_000_000_000 / u64::from(self.hz.max(1))
    }

    /// What every placement may ask for. Returns the ticks since boot.
    pub fn system(&self, kernel: &dyn State, shown: &mut Shown) -> u64 {
        let from = kernel.sys();
        let sys = shown.sys_mut();
        sys.asym_key = u8::from(from.asym_key);
        sys.smt_key = u8::from(from.smt_key);
        sys.cluster_key = u8::from(from.cluster_key);
        sys.uclamp_used = u8::from(from.uclamp_used);
        sys.eas = u32::from(from.eas);
        sys.active = from.active;
        for cpu in 0..shown.nr_cpus() as CpuId {
            kernel.cpu(cpu, shown.cpu_mut(cpu));
            shown.point(cpu, &pointers(&kernel.refs(cpu)));
        }
        for cpu in &self.llcs {
            if let Some(llc) = shown.llc_mut(*cpu) {
                kernel.llc(*cpu, llc);
            }
        }
        from.jiffies
    }

    /// What wakeups may ask for besides: the domains of the waker's CPU.
    pub fn domains(&self, kernel: &dyn State, shown: &mut Shown, cpu: CpuId) {
        if self.scans_are_timed {
            for n in 0..shown.nr_domains(cpu) {
                kernel.domain(cpu, n, shown.domain_mut(cpu, n));
            }
        }
    }

    /// What forks and execs may ask for besides: the groups of all domains.
    pub fn groups(&mut self, kernel: &dyn State, shown: &mut Shown) {
        for ring in &self.rings {
            kernel.groups(ring.cpu, ring.domain, &mut self.groups);
            for (g, from) in self.groups.iter().enumerate() {
                let Some(to) = shown.group_mut(ring.cpu, ring.domain, g) else { break };
                (to.capacity, to.min_capacity, to.max_capacity) = (from.capacity, from.min_capacity, from.max_capacity);
                (to.imbalance, to.next_update) = (from.imbalance, from.next_update);
            }
        }
    }

    /// A task.
    pub fn task(&self, kernel: &dyn State, shown: &mut Shown, task: u32) {
        let to = shown.task_mut(task);
        to.id = task;
        kernel.task(task, to);
    }

    /// A run queue and its tasks, for a pick. The queued ones in the tree's order; none if task groups are among them.
    pub fn queue(&mut self, kernel: &dyn State, shown: &mut Shown, cpu: CpuId) -> Option<Vec<u32>> {
        kernel.cpu(cpu, shown.cpu_mut(cpu));
        let refs = kernel.refs(cpu);
        // Who picks sees the entity that its own class has current.
        shown.point(cpu, &Pointers { curr: refs.fair_curr, ..pointers(&refs) });
        kernel.queue(cpu, &mut self.queue);
        let queued: Option<Vec<u32>> = self.queue.iter().copied().collect();
        for task in queued.iter().flatten().copied().chain(refs.fair_curr) {
            self.task(kernel, shown, task);
        }
        queued
    }
}

fn pointers(refs: &Refs) -> Pointers {
    Pointers { curr: refs.curr, next: refs.next, last: refs.last, skip: refs.skip }
}
