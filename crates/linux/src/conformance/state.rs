//! What a referee asks of a kernel.

use fairground_fair::ffi::{FgCpu, FgDomain, FgEm, FgGroup, FgLlc, FgOpp, FgRoot, FgSugov, FgTask};
use fairground_machine::{CpuId, CpuMask};

use super::Kind;

/// A kernel whose state can be read. Reading changes nothing. Members that the kernel does not keep are left as they
/// are and named by [`State::unobserved`]; so are ids, pointers and what is known from the machine.
pub trait State {
    /// A CPU and its run queue.
    fn cpu(&self, cpu: CpuId, to: &mut FgCpu);
    /// What its pointers point at.
    fn refs(&self, cpu: CpuId) -> Refs;
    /// A task.
    fn task(&self, task: u32, to: &mut FgTask);
    /// The system.
    fn sys(&self) -> SysState;
    /// What the CPUs behind the last-level cache of `cpu` share; false if it has no such domain.
    fn llc(&self, cpu: CpuId, to: &mut FgLlc) -> bool;
    /// The `n`-th domain of a CPU from below; false if there is none.
    fn domain(&self, cpu: CpuId, n: usize, to: &mut FgDomain) -> bool;
    /// The groups of that domain, its local one first; none without a domain.
    fn groups(&self, cpu: CpuId, n: usize, to: &mut Vec<FgGroup>);
    /// A CPU's place in the topology.
    fn place(&self, cpu: CpuId) -> CpuTopology;
    /// The fair tasks in the tree of a run queue, in its order, the current one not among them; `None` stands for a
    /// task group.
    fn queue(&self, cpu: CpuId, to: &mut Vec<Option<u32>>);
    /// The fair tasks of a CPU, the current one among them, as balancing looks at them; `None` stands for one that is
    /// not shown.
    fn movable(&self, cpu: CpuId, to: &mut Vec<Option<u32>>);
    /// What the root domain of a CPU shares.
    fn root(&self, cpu: CpuId, to: &mut FgRoot);
    /// The energy model of the `n`-th performance domain of a CPU's partition: its CPUs and operating points; false if there
    /// is none.
    fn energy(&self, cpu: CpuId, n: usize, to: &mut FgEm, opps: &mut Vec<FgOpp>) -> bool;
    /// What the governor knows of the clock of a CPU; false without a governor.
    fn governor(&self, cpu: CpuId, to: &mut FgSugov) -> bool;
    /// And of the CPU itself.
    fn governor_cpu(&self, cpu: CpuId, to: &mut FgCpu);
    /// ns: to what the call that is going on would bring the clock of any CPU.
    fn clock(&self) -> u64;
    /// ns: interrupt time of a CPU so far.
    fn irq_time(&self, cpu: CpuId) -> u64;
    /// Members the kernel does not keep, e.g. `fg_cpu.wake_avg_idle`.
    fn unobserved(&self) -> Vec<String>;
}

/// Tasks that a CPU's pointers point at. None: nobody, or a task of the kernel's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refs {
    /// Current fair or RT task.
    pub curr: Option<u32>,
    /// Current entity of the fair class, as its run queue sees it.
    pub fair_curr: Option<u32>,
    /// Next buddy.
    pub next: Option<u32>,
    /// Last buddy.
    pub last: Option<u32>,
    /// Skip buddy.
    pub skip: Option<u32>,
}

/// What belongs to no CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SysState {
    /// The kernel's `jiffies`: ticks since boot, CONFIG_HZ of them a second.
    pub jiffies: u64,
    /// Some partition has domains of unequal capacity.
    pub asym_key: bool,
    /// Some core has several threads online.
    pub smt_key: bool,
    /// Some CPU has a cluster domain.
    pub cluster_key: bool,
    /// Somebody asked for a clamp.
    pub uclamp_used: bool,
    /// Wakeups may be energy-aware.
    pub eas: bool,
    /// CPUs in use.
    pub active: CpuMask,
}

/// A CPU's place in the topology: the cached ids, and which of its domains the cached pointers are, from below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTopology {
    /// sd_llc_id.
    pub llc_id: i32,
    /// sd_llc_size.
    pub llc_size: u32,
    /// sd_share_id.
    pub share_id: i32,
    /// sd_llc.
    pub llc: Option<usize>,
    /// sd_asym_cpucapacity.
    pub asym: Option<usize>,
    /// sd_numa.
    pub numa: Option<usize>,
    /// Threads of its core.
    pub core: CpuMask,
}

/// A placement by the fair class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Wake, fork or exec.
    pub kind: Kind,
    /// Who is placed.
    pub task: u32,
    /// Where it was.
    pub prev: CpuId,
    /// The deciding code runs here.
    pub this_cpu: CpuId,
    /// Whose code that is; none: the idle task's.
    pub current: Option<u32>,
    /// `FG_WF_*` besides the kind.
    pub flags: u32,
}

/// A pass of load balancing over a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// For whom.
    pub cpu: CpuId,
    /// Which of its domains, from below.
    pub domain: usize,
    /// `FG_CPU_*`.
    pub kind: u32,
}

/// What a look for imbalance found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Lowest CPU of the group that has too much.
    pub group: CpuId,
    /// Whose queue is to give; none can.
    pub src: Option<CpuId>,
    /// `FG_MIGRATE_*`.
    pub migration: u32,
    /// To be moved.
    pub imbalance: i64,
}
