//! [`World`], the storage of the policy's structs, and access to them by number.

use fairground_machine::{CpuId, CpuMask};

use super::cpus::Cpus;
use super::processes::Processes;
use crate::ffi::*;
use crate::storage::{Pool, Slab};

/// The tasks that the pointers of a CPU point at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pointers {
    /// The current fair or RT task; `None` for the idle task or the stopper.
    pub curr: Option<u32>,
    /// The next buddy (cfs_rq->next), which a pick prefers: mostly a woken task that preempts.
    pub next: Option<u32>,
    /// The last buddy (cfs_rq->last): the task that was preempted by a wakeup.
    pub last: Option<u32>,
    /// The skip buddy (cfs_rq->skip), a task that has yielded.
    pub skip: Option<u32>,
}

/// The performance domains of all partitions, their energy models and operating points.
pub(crate) struct EnergyModels {
    pub opps: Slab<FgOpp>,
    pub ems: Slab<FgEm>,
    pub pds: Slab<FgPd>,
}

impl EnergyModels {
    pub fn none() -> EnergyModels {
        EnergyModels { opps: Slab::new(Vec::new()), ems: Slab::new(Vec::new()), pds: Slab::new(Vec::new()) }
    }
}

/// Sums of groups, kept by `sums`.
pub(crate) struct Sums {
    /// One for each set of CPUs that is the span of such a group.
    pub kept: Slab<FgSums>,
    /// By CPU: indices into `kept` of the sums that include it.
    pub of_cpu: Vec<Box<[usize]>>,
    /// By CPU: what it contributes to these sums, as of the last update.
    pub own: Vec<FgSums>,
    /// By domain: whether it has such groups.
    pub domains: Vec<bool>,
    /// The rings of single CPUs among them.
    pub rings: Slab<FgRing>,
    /// By CPU: its groups in these.
    pub in_rings: Vec<Box<[RingGroup]>>,
    /// Global state that all contributions depend on, as of the last update: `uclamp_used` and `eas` of the system.
    pub terms: (u8, u32),
}

/// A group of one CPU in one of [`Sums::rings`].
#[derive(Clone)]
pub(crate) struct RingGroup {
    pub ring: usize,
    pub group: usize,
    /// As of the last update.
    pub place: FgRingPlace,
}

impl Sums {
    /// Sums for a system without such groups.
    pub fn none() -> Sums {
        Sums {
            kept: Slab::new(Vec::new()),
            of_cpu: Vec::new(),
            own: Vec::new(),
            domains: Vec::new(),
            rings: Slab::new(Vec::new()),
            in_rings: Vec::new(),
            terms: (0, 0),
        }
    }
}

/// Every struct that the policy reads.
pub(crate) struct World {
    pub(super) sys: Slab<FgSys>,
    pub cpus: Cpus,
    pub domains: Slab<FgDomain>,
    pub(super) groups: Slab<FgGroup>,
    pub(super) sums: Sums,
    pub(super) llcs: Slab<FgLlc>,
    pub(super) clusters: Slab<FgCluster>,
    pub(super) roots: Slab<FgRoot>,
    /// By node: its CPUs that are online.
    pub(super) nodes: Slab<CpuMask>,
    pub(super) energy: EnergyModels,
    /// One for each clock if schedutil sets the clocks, else empty.
    pub(super) sugovs: Slab<FgSugov>,
    pub tasks: Pool<FgTask>,
    pub(super) processes: Processes,
    /// Task groups that compete as one entity.
    pub(super) tgs: Slab<FgTg>,
    /// Their entities and queues: all CPUs of the first group, all CPUs of the second, ...
    pub(super) tg_cpus: Slab<FgTgCpu>,
    /// By group of the workload: its number here.
    pub(super) tg_of: Vec<usize>,
    /// By group: the groups of other rings at the same level with the same balance CPU. The kernel keeps the state of
    /// these in one sched_group_capacity.
    pub(super) twins: Vec<Vec<usize>>,
    /// The domains of each CPU, bottom to top.
    pub(super) chains: Vec<Box<[usize]>>,
}

impl World {
    /// The global state of the policy.
    pub fn sys(&self) -> &FgSys {
        &self.sys[0]
    }

    /// The global state of the policy, for writing.
    pub fn sys_mut(&mut self) -> &mut FgSys {
        &mut self.sys[0]
    }

    pub fn task(&self, task: u32) -> &FgTask {
        &self.tasks[task as usize]
    }

    /// The policy's struct of a task, for writing.
    pub fn task_mut(&mut self, task: u32) -> &mut FgTask {
        &mut self.tasks[task as usize]
    }

    /// The current task of `cpu`; none: the idle task or the stopper.
    pub fn curr(&self, cpu: usize) -> Option<u32> {
        // SAFETY: null, or a task of the pool.
        unsafe { self.cpus[cpu].curr.as_ref() }.map(|p| p.id)
    }

    /// The current task of `cpu`, as [`Self::curr`].
    pub fn curr_task(&self, cpu: usize) -> Option<&FgTask> {
        // SAFETY: null, or a task of the pool; shared by the borrow of self.
        unsafe { self.cpus[cpu].curr.as_ref() }
    }

    /// Sets the current task of `cpu`.
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

    /// The sched_domain_shared of the last-level cache of `cpu`.
    pub fn llc_mut(&mut self, cpu: usize) -> Option<&mut FgLlc> {
        // SAFETY: null, or an object of the slab; exclusive by the borrow of self.
        unsafe { self.cpus[cpu].llc.as_mut() }
    }

    /// balance_shared of a CPU.
    pub fn balance_shared(&self, cpu: usize) -> Option<&FgLlc> {
        // SAFETY: null, or an object of the slab; shared by the borrow of self.
        unsafe { self.cpus[cpu].balance_shared.as_ref() }
    }

    /// balance_shared of a CPU, to be changed.
    pub fn balance_shared_mut(&mut self, cpu: usize) -> Option<&mut FgLlc> {
        // SAFETY: null, or an object of the slab; exclusive by the borrow of self.
        unsafe { self.cpus[cpu].balance_shared.as_mut() }
    }

    /// Whether a CPU is the first one with its balance_shared.
    pub fn leads_shared(&self, cpu: usize) -> bool {
        let shared = self.cpus[cpu].balance_shared;
        let first = (0..self.cpus.len()).find(|c| self.cpus[*c].balance_shared == shared);
        !shared.is_null() && first == Some(cpu)
    }

    /// balance_shared of a CPU, if that is not its cache's.
    pub fn asym_shared_mut(&mut self, cpu: usize) -> Option<&mut FgLlc> {
        let rq = &self.cpus[cpu];
        let own = rq.balance_shared != rq.llc;
        // SAFETY: null, or an object of the slab; exclusive by the borrow of self.
        unsafe { rq.balance_shared.as_mut().filter(|_| own) }
    }

    /// Whether a CPU is the first one with its balance_shared, and that is not its cache's.
    pub fn leads_asym_shared(&self, cpu: usize) -> bool {
        let shared = self.cpus[cpu].balance_shared;
        let first = (0..self.cpus.len()).find(|c| self.cpus[*c].balance_shared == shared);
        !shared.is_null() && shared != self.cpus[cpu].llc && first == Some(cpu)
    }

    /// The `n`-th group of a domain's ring, the local one first; none beyond the last.
    pub fn group_mut(&mut self, sd: usize, n: usize) -> Option<&mut FgGroup> {
        let at = self.ring(sd).nth(n)?;
        Some(&mut self.groups[at])
    }

    /// The groups of a domain, the local one first.
    pub(super) fn ring(&self, sd: usize) -> impl Iterator<Item = usize> + '_ {
        let first = self.groups.index_of(self.domains[sd].groups);
        let next = move |at: &usize| self.groups.index_of(self.groups[*at].next).filter(|next| Some(*next) != first);
        std::iter::successors(first, next)
    }

    /// The lowest CPU of the busiest group that [`World::find_busiest_queue`] found.
    pub fn busiest_group(&self, b: &FgBalance) -> Option<CpuId> {
        self.groups[self.groups.index_of(b.busiest)?].span.first()
    }

    /// Sets the pointers of a CPU. The tasks must exist.
    pub fn point(&mut self, cpu: usize, to: &Pointers) {
        let [curr, next, last, skip] = [to.curr, to.next, to.last, to.skip].map(|task| self.task_ptr(task));
        let rq = &mut self.cpus[cpu];
        rq.curr = curr;
        (rq.fair.next, rq.fair.last, rq.fair.skip) = (next, last, skip);
    }

    /// The tasks that the pointers of a CPU point at.
    pub fn pointers(&self, cpu: usize) -> Pointers {
        let rq = &self.cpus[cpu];
        // SAFETY: each null, or a task of the pool.
        let id = |p: *mut FgTask| unsafe { p.as_ref() }.map(|p| p.id);
        Pointers { curr: id(rq.curr), next: id(rq.fair.next), last: id(rq.fair.last), skip: id(rq.fair.skip) }
    }

    /// The address of a task, null for none.
    pub(super) fn task_ptr(&self, task: Option<u32>) -> *mut FgTask {
        task.map_or(std::ptr::null_mut(), |p| self.tasks.ptr(p as usize))
    }
}
