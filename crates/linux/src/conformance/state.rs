//! The state that the referee reads from a kernel.

use fairground_fair::ffi::{
    FgCacheTime, FgCpu, FgDomain, FgEm, FgGroup, FgLlc, FgOpp, FgProcess, FgRoot, FgSugov, FgTask, FgTg, FgTgCpu,
};
use fairground_fair::StepKind;
use fairground_machine::{CpuId, CpuMask};

use super::Kind;
use crate::KernelEntity;

/// Reads a kernel's state without changing it. Methods leave members that the kernel does not keep as they are;
/// [`State::unobserved`] names these. They leave ids, pointers and the machine's figures too.
pub trait State {
    /// A CPU and its run queue.
    fn cpu(&self, cpu: CpuId, to: &mut FgCpu);
    /// The tasks that its pointers point at.
    fn refs(&self, cpu: CpuId) -> Refs;
    /// A task and its signals.
    fn task(&self, task: u32, to: &mut FgTask);
    /// Number of a task's process; none if cache-aware scheduling keeps nothing of it.
    fn process_of(&self, task: u32) -> Option<u32>;
    /// A process, as [`State::process_of`] has named it.
    fn process(&self, process: u32, to: &mut FgProcess);
    /// What a CPU has run of a process.
    fn cache_time(&self, process: u32, cpu: CpuId, to: &mut FgCacheTime);
    /// The queued tasks of a CPU that prefer a last-level cache, by the kernel's id of the cache.
    fn llc_counts(&self, cpu: CpuId, to: &mut Vec<u32>);
    /// The state that all CPUs share.
    fn sys(&self) -> SysState;
    /// The shared state (sd_llc_shared) of the last-level cache of `cpu`; false if it has no such domain.
    fn llc(&self, cpu: CpuId, to: &mut FgLlc) -> bool;
    /// What has_idle_cores and nr_busy_cpus of `cpu` are read from (sd_balance_shared); false if the kernel has no such
    /// thing beside the cache's.
    fn balance_shared(&self, cpu: CpuId, to: &mut FgLlc) -> bool;
    /// The `n`-th domain of a CPU, lowest first; false if there is none.
    fn domain(&self, cpu: CpuId, n: usize, to: &mut FgDomain) -> bool;
    /// The groups of that domain, the local one first; none without a domain.
    fn groups(&self, cpu: CpuId, n: usize, to: &mut Vec<FgGroup>);
    /// A CPU's cached topology pointers.
    fn place(&self, cpu: CpuId) -> CpuTopology;
    /// The entities in the tree of the queue of a task group on a CPU (0: the CPU's own), in its order, without the current
    /// one; `None` is a task without a number here.
    fn queue(&self, cpu: CpuId, group: u32, to: &mut Vec<Option<KernelEntity>>);
    /// The next, last and skip buddy of the same queue.
    fn buddies(&self, cpu: CpuId, group: u32) -> [Option<KernelEntity>; 3];
    /// Number of task groups, with the root group.
    fn nr_groups(&self) -> u32;
    /// The group of a task; 0: the root group.
    fn group_of(&self, task: u32) -> u32;
    /// A task group, 1 or more. Returns the one around it.
    fn group(&self, group: u32, to: &mut FgTg) -> u32;
    /// What a task group has on a CPU.
    fn group_cpu(&self, group: u32, cpu: CpuId, to: &mut FgTgCpu);
    /// The fair tasks of a CPU with the current one, in the order of `cfs_tasks`; `None` is a task without a number
    /// here.
    fn movable(&self, cpu: CpuId, to: &mut Vec<Option<u32>>);
    /// The state of a CPU's root domain.
    fn root(&self, cpu: CpuId, to: &mut FgRoot);
    /// The energy model of the `n`-th performance domain of a CPU's root domain: its CPUs and operating points; false
    /// if there is none.
    fn energy(&self, cpu: CpuId, n: usize, to: &mut FgEm, opps: &mut Vec<FgOpp>) -> bool;
    /// The governor's state of a CPU's frequency policy; false without a governor.
    fn governor(&self, cpu: CpuId, to: &mut FgSugov) -> bool;
    /// The governor's state of a CPU.
    fn governor_cpu(&self, cpu: CpuId, to: &mut FgCpu);
    /// Clock of the call under way, ns: update_rq_clock() would set the clock of any run queue to it.
    fn clock(&self) -> u64;
    /// Interrupt time of a CPU so far, ns.
    fn irq_time(&self, cpu: CpuId) -> u64;
    /// Members that the kernel does not keep, e.g. `fg_cpu.wake_avg_idle`.
    fn unobserved(&self) -> Vec<String>;
}

/// Tasks that a CPU's pointers point at. None: null, a task group, or one of the kernel's own tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refs {
    /// The current fair or RT task.
    pub curr: Option<u32>,
    /// Current task of the fair class, as its run queues see it.
    pub fair_curr: Option<u32>,
    /// The next buddy (cfs_rq->next), which a pick prefers: mostly a woken task that preempts.
    pub next: Option<u32>,
    /// The last buddy (cfs_rq->last): the task that was preempted by a wakeup.
    pub last: Option<u32>,
    /// The skip buddy (cfs_rq->skip), a task that has yielded.
    pub skip: Option<u32>,
}

/// State of the kernel that all CPUs share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SysState {
    /// The kernel's `jiffies`: ticks since boot, CONFIG_HZ per second.
    pub jiffies: u64,
    /// Whether some partition has domains of unequal capacity (`sched_asym_cpucapacity`).
    pub asym_key: bool,
    /// Whether some core has several threads online (`sched_smt_present`).
    pub smt_key: bool,
    /// Whether some CPU has a cluster domain (`sched_cluster_active`).
    pub cluster_key: bool,
    /// Whether uclamp is in use (`sched_uclamp_used`).
    pub uclamp_used: bool,
    /// Whether wakeups may be energy-aware.
    pub eas: bool,
    /// Whether cache-aware scheduling is active (`sched_cache_active`).
    pub sched_cache: bool,
    /// CPUs that are online.
    pub nr_online: usize,
    /// CPUs that are online and in use by the scheduler (cpu_active_mask).
    pub active: CpuMask,
}

/// A CPU's cached topology: ids, and for each cached pointer the index of its domain, lowest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTopology {
    /// Id of the domain of the last-level cache, sd_llc_id.
    pub llc_id: i32,
    /// Number of CPUs that share the last-level cache, sd_llc_size.
    pub llc_size: u32,
    /// Id of the domain within which CPUs share a cluster or else the last-level cache, sd_share_id.
    pub share_id: i32,
    /// The domain of the last-level cache, sd_llc.
    pub llc: Option<usize>,
    /// The lowest domain with all capacities, sd_asym_cpucapacity.
    pub asym: Option<usize>,
    /// The lowest NUMA domain, sd_numa.
    pub numa: Option<usize>,
    /// The threads of the CPU's core (cpu_smt_mask).
    pub core: CpuMask,
}

/// A placement by the fair class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Kind of the placement: wake, fork or exec.
    pub kind: Kind,
    /// Number of the task to place.
    pub task: u32,
    /// The CPU on which the task ran last; for a new task, the parent's CPU.
    pub prev: CpuId,
    /// The CPU that decides.
    pub this_cpu: CpuId,
    /// The task that runs there; none: the idle task.
    pub current: Option<u32>,
    /// The kernel's wake flags without that of the kind: `FG_WF_*`, combined.
    pub flags: u32,
}

/// A balance pass over a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The destination CPU.
    pub cpu: CpuId,
    /// Index of its domain, lowest first.
    pub domain: usize,
    /// Idle type of the CPU, the kernel's cpu_idle_type: one of `FG_CPU_*`.
    pub kind: u32,
}

/// The result of a search for an imbalance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// First CPU of the busiest group.
    pub group: CpuId,
    /// The source CPU; none if no queue qualifies.
    pub src: Option<CpuId>,
    /// What is moved, the kernel's migration_type: one of `FG_MIGRATE_*`.
    pub migration: u32,
    /// Imbalance, in the unit of the migration type.
    pub imbalance: i64,
}

/// A step of a fair run queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The CPU of the run queue.
    pub cpu: CpuId,
    /// The task; none: a task group, or one of the kernel's own tasks.
    pub task: Option<u32>,
    /// Which function of the run queue the step is: an enqueue, a dequeue, a tick, ...
    pub kind: StepKind,
    /// `FG_ENQUEUE_*`, `FG_DEQUEUE_*`; of a wakeup `FG_WF_FORK`.
    pub flags: u32,
    /// Bit 0: the current task is to be rescheduled, bit 1: lazily; before or after the step.
    pub resched: u32,
    /// The task is in a task group.
    pub grouped: bool,
}
