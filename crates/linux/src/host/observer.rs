//! Observers of the kernel's decisions, e.g. the referee.

use fairground_fair::ffi::{FgCpu, FgTask};
use fairground_machine::CpuId;
use fairground_sim::{LeftBehind, PickReport, Reason, Rule, TaskId};

use crate::abi::{KsBalance, KsFound, KsKernel, KsPelt, KsPlacement, KsStep, KsWalk};

/// The events that a watcher wants. Events that no watcher wants cost nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interests {
    /// The begin of each placement: [`KernelObserver::placing`].
    pub placements: bool,
    /// The begin and the result of each fair pick: [`KernelObserver::picking`] and [`KernelObserver::picked`].
    pub picks: bool,
    /// Steps of fair run queues: [`KernelObserver::stepping`] and [`KernelObserver::stepped`].
    pub steps: bool,
    /// Each step of a PELT update: [`KernelObserver::pelt`].
    pub pelt: bool,
    /// Balance passes and pushes: [`KernelObserver::walking`], [`KernelObserver::walked`],
    /// [`KernelObserver::balancing`], [`KernelObserver::found`],
    /// [`KernelObserver::detached`] and [`KernelObserver::balanced`]; [`KernelObserver::pushing`] and
    /// [`KernelObserver::pushed`]. The scans of cache-aware scheduling: [`KernelObserver::scanning`] and
    /// [`KernelObserver::scanned`].
    pub balance: bool,
    /// Updates of the frequency governor: [`KernelObserver::governing`] and [`KernelObserver::governed`].
    pub frequencies: bool,
}

/// What competes in a run queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelEntity {
    /// A task of the host.
    Task(TaskId),
    /// A task group, by its number in the kernel library, 1 or more.
    Group(u32),
}

impl KernelEntity {
    /// From a number as in `include/ks.h`; none for `KS_NONE`.
    pub fn of(number: i32) -> Option<KernelEntity> {
        match number {
            0.. => Some(KernelEntity::Task(number as TaskId)),
            -1 => None,
            _ => Some(KernelEntity::Group(number.abs_diff(-1))),
        }
    }
}

/// An observer of the kernel's decisions. When a decision is announced, its side effects have not happened yet. An
/// observer may read the kernel's state, but not change it.
pub trait KernelObserver {
    /// The events that it wants; called once, before the boot.
    fn interests(&self) -> Interests;

    /// A placement is about to be decided.
    fn placing(&mut self, _kernel: &Reader, _placement: &KsPlacement) {}

    /// In that placement: wake_affine has chosen the CPU from which the search starts.
    fn targeted(&mut self, _kernel: &Reader, _cpu: CpuId) {}

    /// A placement is decided; the rule to name as its reason, an index into [`Self::rules`]. `None`: the
    /// kernel's own code.
    fn placed(&mut self, _kernel: &Reader, _placement: &KsPlacement) -> Option<u16> {
        None
    }

    /// Asked after a [`Self::placed`] that gave a rule, if reasons are wanted: the reasons of the decision. Rules are
    /// numbered as by [`Self::rules`], notes as by [`Self::note_text`].
    fn reasons(&mut self, _tell: &mut dyn FnMut(Reason)) {}

    /// A fair pick from the queue of a task group on `cpu` begins; 0: from the CPU's own. `protect`: the protection of the
    /// current entity counts.
    fn picking(&mut self, _kernel: &Reader, _cpu: CpuId, _group: u32, _protect: bool) {}

    /// That pick has ended. `None`: it picked nothing, or one of the kernel's own tasks.
    fn picked(&mut self, _kernel: &Reader, _cpu: CpuId, _entity: Option<KernelEntity>) {}

    /// A task is about to be enqueued or dequeued, a woken one to be tested against the current task, the current one
    /// to be charged by a tick or to yield, or a picked one to become current: `KS_STEP_*`.
    fn stepping(&mut self, _kernel: &Reader, _step: &KsStep) {}

    /// That step has ended.
    fn stepped(&mut self, _kernel: &Reader, _step: &KsStep) {}

    /// A step of a PELT update.
    fn pelt(&mut self, _kernel: &Reader, _update: &KsPelt) {}

    /// A CPU is about to go through its domains, newly idle or periodically.
    fn walking(&mut self, _kernel: &Reader, _walk: &KsWalk) {}

    /// It has gone through its domains.
    fn walked(&mut self, _kernel: &Reader, _walk: &KsWalk) {}

    /// A domain is about to be balanced.
    fn balancing(&mut self, _kernel: &Reader, _pass: &KsBalance) {}

    /// In that pass: a group was found that has too much, nothing of which has left yet.
    fn found(&mut self, _kernel: &Reader, _found: &KsFound) {}

    /// In that pass, or push: a task is about to leave.
    fn detached(&mut self, _kernel: &Reader, _task: TaskId, _from: CpuId, _to: CpuId) {}

    /// The balance pass has ended.
    fn balanced(&mut self, _kernel: &Reader, _pass: &KsBalance) {}

    /// The stopper of `cpu` is about to push a task away for balancing.
    fn pushing(&mut self, _kernel: &Reader, _cpu: CpuId) {}

    /// The stopper of `cpu` has pushed a task away, or found none to push.
    fn pushed(&mut self, _kernel: &Reader, _cpu: CpuId) {}

    /// A task is about to look for the cache that its process prefers (task_cache_work).
    fn scanning(&mut self, _kernel: &Reader, _task: TaskId) {}

    /// That task has looked.
    fn scanned(&mut self, _kernel: &Reader, _task: TaskId) {}

    /// The frequency governor is notified that the utilization of `cpu` has changed (cpufreq_update_util). `flags`:
    /// `FG_FREQUENCY_*`.
    fn governing(&mut self, _kernel: &Reader, _cpu: CpuId, _flags: u32) {}

    /// The frequency that the governor has requested, kHz; `None` if it has requested none.
    fn governed(&mut self, _kernel: &Reader, _cpu: CpuId, _khz: Option<u32>) {}

    /// The rules that [`Self::placed`] gives, by their number; asked once.
    fn rules(&self) -> Vec<Rule<'static>> {
        Vec::new()
    }

    /// Asked after [`Self::picked`] and [`Self::stepped`], if reasons are wanted: why a task runs, waits or leaves. Rules
    /// are numbered as by [`Self::pick_rules`].
    fn take_pick(&mut self) -> Option<PickReport> {
        None
    }

    /// Asked after [`Self::placed`], [`Self::stepped`], [`Self::balanced`] and [`Self::walked`], if reasons are wanted: the
    /// values that the kernel has changed.
    fn take_left(&mut self) -> Vec<LeftBehind> {
        Vec::new()
    }

    /// The rules of [`Self::take_pick`], by their number; asked once.
    fn pick_rules(&self) -> Vec<Rule<'static>> {
        Vec::new()
    }

    /// Notes that every output of the run must carry; asked once.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// The words of a note of [`Self::reasons`], see [`fairground_sim::Scheduler::note_text`].
    fn note_text(&self, _note: u16) -> &'static str {
        ""
    }
}

/// Reads the kernel's state.
#[derive(Clone, Copy)]
pub struct Reader {
    pub(super) kernel: &'static KsKernel,
}

impl Reader {
    /// A CPU's run queue; pointers in it are null.
    pub fn cpu(&self, cpu: CpuId, to: &mut FgCpu) {
        // SAFETY: the kernel has booted, CPU numbers are its own; it fills the struct.
        unsafe { (self.kernel.read_cpu)(cpu as i32, to) }
    }

    /// A task; pointers in it are null.
    pub fn task(&self, task: TaskId, to: &mut FgTask) {
        // SAFETY: as above; tasks are those that were forked.
        unsafe { (self.kernel.read_task)(task as i32, to) }
    }

    /// The whole table, for what later versions of the border read.
    pub fn kernel(&self) -> &'static KsKernel {
        self.kernel
    }
}
