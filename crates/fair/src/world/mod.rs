//! The policy's world: every struct it reads, at its place, with its pointers; and the policy's questions as safe
//! methods.
//!
//! All pointers inside the structs point into the slabs below, which live as long as the world. The questions are in `calls`,
//! which says why they are safe.

mod balance;
mod calls;
mod cpus;
mod energy;
mod governor;
mod groups;
mod link;
mod rt;
mod sums;

use fairground_machine::{CpuId, CpuMask};

use self::cpus::Cpus;
use self::energy::EnergyModels;
pub(crate) use self::groups::{group_of_entity, Place};
pub(crate) use self::rt::is_rt;
use self::sums::Sums;
use crate::ffi::{self, *};
use crate::offline::Pointers;
use crate::storage::{Pool, Slab};

/// What a group that asks for `want` allows, within what the one around it allows.
pub(crate) fn uclamp_restrict(around: &FgClamps, want: &FgClamps) -> FgClamps {
    let mut allowed = FgClamps::zeroed();
    ffi::uclamp_restrict(around, want, &mut allowed);
    allowed
}

/// The load weight of a task of this nice value.
pub(crate) fn weight_of_nice(nice: i32) -> u32 {
    let mut p = FgTask { nice, ..FgTask::zeroed() };
    // SAFETY: one struct, exclusive for the time of the call.
    unsafe { fg_set_load_weight(&mut p) };
    p.weight
}

pub(crate) struct World {
    sys: Slab<FgSys>,
    pub cpus: Cpus,
    pub domains: Slab<FgDomain>,
    groups: Slab<FgGroup>,
    sums: Sums,
    llcs: Slab<FgLlc>,
    clusters: Slab<FgCluster>,
    roots: Slab<FgRoot>,
    energy: EnergyModels,
    /// One a clock if schedutil sets them, else none.
    sugovs: Slab<FgSugov>,
    pub tasks: Pool<FgTask>,
    /// Task groups that compete as one, and those on each CPU: all of the first, all of the second, ...
    tgs: Slab<FgTg>,
    tg_cpus: Slab<FgTgCpu>,
    /// For each group the others that stand for the same CPUs at the same level in other CPUs' rings: the kernel
    /// keeps what they have in one object (sched_group_capacity).
    twins: Vec<Vec<usize>>,
    /// The domains of each CPU, bottom to top.
    chains: Vec<Box<[usize]>>,
}

impl World {
    /// The system.
    pub fn sys(&self) -> &FgSys {
        &self.sys[0]
    }

    /// The system, to be changed.
    pub fn sys_mut(&mut self) -> &mut FgSys {
        &mut self.sys[0]
    }

    /// A task.
    pub fn task(&self, task: u32) -> &FgTask {
        &self.tasks[task as usize]
    }

    /// A task, to be changed.
    pub fn task_mut(&mut self, task: u32) -> &mut FgTask {
        &mut self.tasks[task as usize]
    }

    /// What `cpu` runs, if that is a fair or RT task.
    pub fn curr(&self, cpu: usize) -> Option<u32> {
        // SAFETY: null, or a task of the pool.
        unsafe { self.cpus[cpu].curr.as_ref() }.map(|p| p.id)
    }

    /// Says what `cpu` runs.
    pub fn set_curr(&mut self, cpu: usize, task: Option<u32>) {
        self.cpus[cpu].curr = self.task_ptr(task);
    }

    /// The root domain of a CPU.
    pub fn root(&mut self, cpu: usize) -> &mut FgRoot {
        // SAFETY: link_cpus points it at a root of the slab; exclusive by the borrow of self.
        unsafe { &mut *self.cpus[cpu].rd }
    }

    /// The CPUs of a CPU's partition.
    pub fn root_span(&self, cpu: usize) -> &CpuMask {
        // SAFETY: link_cpus points it at a root of the slab.
        unsafe { &(*self.cpus[cpu].rd).span }
    }

    /// The domains of a CPU, bottom to top.
    pub fn chain(&self, cpu: usize) -> &[usize] {
        &self.chains[cpu]
    }

    /// The first group of a domain.
    pub fn local_group(&self, sd: usize) -> &FgGroup {
        // SAFETY: link_domains points it at a group of the slab.
        unsafe { &*self.domains[sd].groups }
    }

    /// What the CPUs behind the last-level cache of `cpu` share.
    pub fn llc_mut(&mut self, cpu: usize) -> Option<&mut FgLlc> {
        // SAFETY: null, or an object of the slab; exclusive by the borrow of self.
        unsafe { self.cpus[cpu].llc.as_mut() }
    }

    /// The `n`-th group of a domain's ring, the local one first; none beyond the last.
    pub fn group_mut(&mut self, sd: usize, n: usize) -> Option<&mut FgGroup> {
        let at = self.ring(sd).nth(n)?;
        Some(&mut self.groups[at])
    }

    /// The groups of a domain, the local one first.
    fn ring(&self, sd: usize) -> impl Iterator<Item = usize> + '_ {
        let first = self.groups.index_of(self.domains[sd].groups);
        let next = move |at: &usize| self.groups.index_of(self.groups[*at].next).filter(|next| Some(*next) != first);
        std::iter::successors(first, next)
    }

    /// The lowest CPU of the group that a look for imbalance found.
    pub fn busiest_group(&self, b: &FgBalance) -> Option<CpuId> {
        self.groups[self.groups.index_of(b.busiest)?].span.first()
    }

    /// Sets what a CPU points at. The tasks exist.
    pub fn point(&mut self, cpu: usize, to: &Pointers) {
        let [curr, next, last, skip] = [to.curr, to.next, to.last, to.skip].map(|task| self.task_ptr(task));
        let rq = &mut self.cpus[cpu];
        rq.curr = curr;
        (rq.fair.next, rq.fair.last, rq.fair.skip) = (next, last, skip);
    }

    /// What a CPU points at.
    pub fn pointers(&self, cpu: usize) -> Pointers {
        let rq = &self.cpus[cpu];
        // SAFETY: each null, or a task of the pool.
        let id = |p: *mut FgTask| unsafe { p.as_ref() }.map(|p| p.id);
        Pointers { curr: id(rq.curr), next: id(rq.fair.next), last: id(rq.fair.last), skip: id(rq.fair.skip) }
    }

    /// V of a CPU's queue.
    pub fn avg_vruntime(&self, cpu: usize) -> u64 {
        ffi::avg_vruntime(&self.cpus[cpu].fair)
    }

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

    fn task_ptr(&self, task: Option<u32>) -> *mut FgTask {
        task.map_or(std::ptr::null_mut(), |p| self.tasks.ptr(p as usize))
    }
}

/// The circumstances of a placement, by ids.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WakeArgs {
    pub current: Option<u32>,
    pub now: u64,
    pub this_cpu: CpuId,
    pub flags: u32,
}
