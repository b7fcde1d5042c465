//! The interface of a scheduler under test. Our own scheduler and the real kernel's both implement it.
//!
//! The engine owns time, programs, interrupts and what a CPU physically does; the scheduler owns run queues and
//! decisions. A call happens on a CPU at an instant ([`Env::now`]); the scheduler answers through return values and
//! through requests on [`Env`]. Order of calls around one wakeup:
//!
//! ```text
//! wake(waker's cpu) -> env.decided, env.migrated -> same LLC: env.enqueued, env.resched(target)
//!                                                -> else    : env.send_ipi(target, WakeQueue)
//! ipi(target, WakeQueue)  -> env.enqueued, env.resched(target)
//! schedule(target)        -> the engine switches
//! ```

use fairground_machine::{CpuId, CpuMask};
use fairground_workload::{GroupClamp, GroupId, SchedAttr, Workload};

use crate::env::{Env, IdleView};
use crate::{Config, Rule, TaskId};

/// The attributes of a task at its birth.
#[derive(Clone, Debug)]
pub struct TaskInfo {
    /// Dense id, never reused within a run.
    pub id: TaskId,
    /// Thread name, the kernel's `comm`.
    pub name: String,
    /// Scheduling policy, nice value, priority and clamps.
    pub attr: SchedAttr,
    /// CPUs it may use, never empty.
    pub affinity: CpuMask,
    /// The CPU that the task is bound to as a per-CPU kernel thread; `None` for other tasks.
    pub kthread_cpu: Option<CpuId>,
    /// Its task group; `None`: the root group.
    pub group: Option<GroupId>,
    /// Number of its process: tasks of the same number are threads in one address space. The first task of a number is
    /// the leader. `None`: a kernel thread, or a task of a recording, which does not contain processes.
    pub process: Option<u32>,
}

impl TaskInfo {
    /// A nameless task of the root group, without a process.
    pub fn new(id: TaskId, attr: SchedAttr, affinity: CpuMask) -> TaskInfo {
        TaskInfo { id, name: String::new(), attr, affinity, kthread_cpu: None, group: None, process: None }
    }
}

/// Where and by whom a task is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeContext {
    /// The CPU on which the waking code runs.
    pub cpu: CpuId,
    /// The task that wakes; `None` if an interrupt does.
    pub waker: Option<TaskId>,
    /// Whether the waker is about to sleep (WF_SYNC).
    pub sync: bool,
}

/// Inter-processor interrupts a scheduler sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ipi {
    /// Asks the CPU to reschedule (smp_send_reschedule).
    Resched,
    /// Asks the CPU to enqueue the tasks on its wake list.
    WakeQueue,
    /// Asks the CPU to balance on behalf of idle CPUs (nohz idle balance).
    NohzKick,
    /// Asks the CPU to set its timer to the end of the current slice (hrtick).
    Hrtick,
    /// Asks the CPU to let queues of groups go on that were throttled (cpu.max).
    Unthrottle,
}

/// What a CPU runs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// Runs this task (it may be the one that was running).
    Task(TaskId),
    /// No task to run: the CPU idles.
    Idle,
    /// Stop work is pending: the engine will call [`Scheduler::stopper`].
    Stopper,
}

/// A change of a living task.
#[derive(Clone, Debug)]
pub enum Change {
    /// Scheduling policy, nice value, priority and clamps.
    Attr(SchedAttr),
    /// CPUs it may use, never empty.
    Affinity(CpuMask),
}

/// A step by which a CPU goes offline or comes back, in the order in which they happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hotplug {
    /// The CPU takes no tasks any more, and those on it leave one by one, each as it is picked (sched_cpu_deactivate).
    Deactivate,
    /// Nothing is left on the CPU: it is offline (sched_cpu_dying).
    Dead,
    /// The CPU, which idles, is online again and takes tasks (sched_cpu_activate).
    Activate,
}

/// A scheduler under test.
pub trait Scheduler {
    /// The run is about to begin: time 0, every CPU idle, no task exists. Costs charged here are dropped.
    ///
    /// # Errors
    /// If the scheduler cannot serve this workload with these settings. The run does not begin.
    fn boot(&mut self, _env: &mut Env, _workload: &Workload, _config: &Config) -> Result<(), String> {
        Ok(())
    }

    /// A new task: place it, put it on a run queue and report it. `parent` is current on `cpu`; none for the tasks
    /// with which the workload starts.
    fn fork(&mut self, env: &mut Env, cpu: CpuId, parent: Option<TaskId>, child: &TaskInfo);

    /// The current task of `cpu` starts a new program: it may be moved through [`Env::stop`].
    fn exec(&mut self, env: &mut Env, cpu: CpuId, task: TaskId);

    /// The current task of `cpu`, which starts a new program, is the only thread of a new process from now on
    /// (exec_mmap). It follows [`Self::exec`], on the CPU that the task was moved to.
    fn new_process(&mut self, _env: &mut Env, _cpu: CpuId, _task: TaskId, _process: u32) {}

    /// A sleeping task becomes runnable.
    fn wake(&mut self, env: &mut Env, ctx: WakeContext, task: TaskId);

    /// The current task of `cpu` goes to sleep. [`Self::schedule`] follows within the instant.
    fn block(&mut self, env: &mut Env, cpu: CpuId, task: TaskId);

    /// The current task of `cpu` has ended. [`Self::schedule`] follows within the instant; the id is dead after it.
    fn exit(&mut self, env: &mut Env, cpu: CpuId, task: TaskId);

    /// The current task of `cpu` yields. [`Self::schedule`] follows within the instant.
    fn yield_now(&mut self, env: &mut Env, cpu: CpuId, task: TaskId);

    /// Attributes or CPUs of a live task change: of the current one of `cpu`, on which the caller runs, or of any other.
    fn change(&mut self, env: &mut Env, cpu: CpuId, task: TaskId, change: &Change);

    /// A clamp of a task group changes; the caller runs on `cpu`. A scheduler without groups refuses them in
    /// [`Self::boot`].
    fn change_group(&mut self, env: &mut Env, cpu: CpuId, new: &GroupClamp);

    /// Whether [`Self::hotplug`] is implemented. Workloads whose CPUs go offline are refused without.
    fn has_hotplug(&self) -> bool {
        false
    }

    /// `cpu`, on which this is called, goes offline or comes back. One CPU at a time does.
    fn hotplug(&mut self, _env: &mut Env, _cpu: CpuId, _step: Hotplug) {}

    /// Picks what `cpu` does next. Called when a reschedule was requested or the current task left.
    fn schedule(&mut self, env: &mut Env, cpu: CpuId) -> Pick;

    /// The stopper runs on `cpu`: do the work requested through [`Env::stop`]. A reschedule follows.
    fn stopper(&mut self, env: &mut Env, cpu: CpuId);

    /// The periodic tick on a CPU whose tick is not stopped.
    fn tick(&mut self, env: &mut Env, cpu: CpuId);

    /// An IPI sent by [`Env::send_ipi`] arrives. [`Ipi::Resched`] needs no answer beyond bookkeeping: the engine
    /// calls [`Self::schedule`] if one is still wanted.
    fn ipi(&mut self, env: &mut Env, cpu: CpuId, ipi: Ipi);

    /// The timer set by [`Env::set_timer`] on this CPU has expired, or one that was moved since then would have: the
    /// scheduler looks which of its timers are due.
    fn timer(&mut self, _env: &mut Env, _cpu: CpuId) {}

    /// The balance softirq requested by [`Env::raise_balance`].
    fn balance(&mut self, env: &mut Env, cpu: CpuId);

    /// The idle loop of `cpu` is about to enter hardware idle in this state. Neither this nor [`Self::idle_exit`] is
    /// called for CPUs without a cpuidle driver.
    fn idle_enter(&mut self, env: &mut Env, cpu: CpuId, state: IdleView);

    /// The CPU has left hardware idle (interrupts are handled after this).
    fn idle_exit(&mut self, env: &mut Env, cpu: CpuId);

    /// The idle CPU stops its tick (true) or restarts it.
    fn tick_stopped(&mut self, env: &mut Env, cpu: CpuId, stopped: bool);

    /// The limits of the frequency of `cpus` have changed, see [`crate::CpuView::limits`].
    fn frequency_limits(&mut self, env: &mut Env, cpus: &CpuMask);

    /// The clock of `cpus` has changed, see [`crate::CpuView::freq_scale`].
    fn frequency_changed(&mut self, _env: &mut Env, _cpus: &CpuMask) {}

    /// A call on `cpu`, about `task` if one is given, probably comes soon: a scheduler may prefetch the data that the
    /// call reads ([`crate::prefetch_value`]). Not called on small machines.
    fn foresee(&self, _cpu: CpuId, _task: Option<TaskId>) {}

    /// Whether a task may be on a run queue while its CPU idles, because of a limit of its bandwidth (cpu.max, RT
    /// throttling). For any other task this is an error of the scheduler.
    fn may_hold_back(&self, _task: TaskId) -> bool {
        false
    }

    /// Whether the scheduler itself reports the rules of its decisions. If not, another component explains them on
    /// request, and rules are not part of the run's hash.
    fn has_own_rules(&self) -> bool {
        true
    }

    /// The rule with this number in [`crate::Decision::rule`]; for an unknown number, only a name.
    fn rule(&self, rule: u16) -> Rule<'_>;

    /// The rule with this number in [`crate::Balance::rule`]; for an unknown number, only a name.
    fn balance_rule(&self, _rule: u16) -> Rule<'_> {
        Rule::named("unknown")
    }

    /// The rule with this number in [`crate::PickReport::rule`]; for an unknown number, only a name.
    fn pick_rule(&self, _rule: u16) -> Rule<'_> {
        Rule::named("unknown")
    }

    /// The name of a level in [`crate::Balance::level`], e.g. `PKG`.
    fn level_name(&self, _level: u8) -> &str {
        "unknown"
    }

    /// A note of [`crate::Reason::note`] as a clause, in which `{cpu}` stands for the reason's CPU and `{a}`, `{b}`,
    /// `{c}` for its numbers; empty if there is no text for it.
    fn note_text(&self, _note: u16) -> &str {
        ""
    }

    /// Notes that every output of a run must carry, e.g. `partition: 0-3`.
    fn notes(&self) -> Vec<String>;

    /// Checks the scheduler's own books (run queue membership, signals in range) at the end of an instant.
    ///
    /// # Errors
    /// A description of the first inconsistency.
    fn audit(&self, env: &Env) -> Result<(), String>;
}
