//! What a run reports, in time order. The run's hash is taken over these, but for what is told on request.

use fairground_machine::CpuId;
use fairground_workload::Mark;

use crate::{EnergyPart, TaskId, Time};

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Virtual time, ns. Never decreases within a run.
    pub time: Time,
    /// The CPU on which it happened.
    pub cpu: CpuId,
    /// What.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A task came into being (sched_process_fork).
    Fork {
        /// Who made it; none for tasks that exist at time 0.
        parent: Option<TaskId>,
        /// The new task.
        child: TaskId,
    },
    /// A task replaced its program.
    Exec {
        /// The task.
        task: TaskId,
    },
    /// A task ended.
    Exit {
        /// The task.
        task: TaskId,
    },
    /// A sleeping task is about to be placed (sched_waking): `prev` is where it last ran.
    Waking {
        /// The task.
        task: TaskId,
        /// Its previous CPU.
        prev: CpuId,
        /// Who wakes it; none: an interrupt. No part of the run's hash: it says what led to the rest.
        waker: Option<TaskId>,
        /// The waker is about to sleep, and says so (WF_SYNC). No part of the hash either.
        sync: bool,
    },
    /// A task was placed: the decision and what it cost to make.
    Decision(Decision),
    /// A woken or new task is on the run queue of `target` (sched_wakeup, sched_wakeup_new).
    Wakeup {
        /// The task.
        task: TaskId,
        /// Its run queue.
        target: CpuId,
    },
    /// A task's CPU changed (sched_migrate_task).
    Migrate {
        /// The task.
        task: TaskId,
        /// Old CPU.
        from: CpuId,
        /// New CPU.
        to: CpuId,
        /// Why.
        cause: MigrateCause,
    },
    /// Load balancing found a source; the migrations that come of it follow.
    Balance(Balance),
    /// The CPU switched from one to another (sched_switch); `None` is the idle task.
    Switch {
        /// Who stops.
        prev: Option<TaskId>,
        /// In what state it is left.
        prev_state: SwitchState,
        /// Who starts.
        next: Option<TaskId>,
    },
    /// The per-CPU stopper starts (true) or has done its work.
    Stopper(bool),
    /// The CPU enters idle state `state` (cpu_idle), or leaves idle (`None`).
    Idle {
        /// Index of the state.
        state: Option<u8>,
    },
    /// The CPU's frequency is now this, kHz (cpu_frequency).
    Frequency {
        /// kHz.
        khz: u32,
    },
    /// A signal that utilization clamps bound was updated. Only told where an observer wants it, and no part of the
    /// hash: it says what the rest led to.
    Clamps(Clamps),
    /// A load-tracking signal was updated, where that is asked for ([`crate::Config::signals`]). Seen, not done: no part
    /// of the run's hash.
    Signals(Signals),
    /// A thermal governor has measured (thermal_temperature).
    Temperature {
        /// Index into the machine's zones.
        zone: u8,
        /// Thousandths of a degree Celsius.
        milli_c: i32,
    },
    /// Cooling caps the clock of this CPU so many operating points below the top (cdev_update).
    Cooling {
        /// 0: no longer.
        state: u32,
    },
    /// What a rail has taken for one purpose since time 0, where that is asked for
    /// ([`crate::Config::energy_every_ns`]). Seen, not done: no part of the run's hash.
    Energy {
        /// Index into [`fairground_machine::Machine::rails`].
        rail: u16,
        /// What for.
        part: EnergyPart,
        /// In pJ. Never decreases.
        picojoules: u64,
    },
    /// A program's mark.
    Mark {
        /// Whose.
        task: TaskId,
        /// Which.
        mark: Mark,
    },
}

/// Why a task's CPU changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum MigrateCause {
    /// Placed elsewhere at wakeup.
    Wake,
    /// Placed elsewhere at birth.
    Fork,
    /// Placed elsewhere at exec.
    Exec,
    /// Pulled by periodic load balancing, or by an idle CPU on behalf of another.
    Balance,
    /// Pulled by a CPU that was about to idle.
    NewIdle,
    /// Pushed by the stopper for load balancing.
    Active,
    /// Its CPU is no longer allowed.
    Affinity,
    /// Pushed or pulled between real-time run queues.
    Rt,
}

impl MigrateCause {
    /// All of them.
    pub const ALL: [MigrateCause; 8] = [
        MigrateCause::Wake,
        MigrateCause::Fork,
        MigrateCause::Exec,
        MigrateCause::Balance,
        MigrateCause::NewIdle,
        MigrateCause::Active,
        MigrateCause::Affinity,
        MigrateCause::Rt,
    ];

    /// In a word, as traces and tables write it.
    pub fn word(self) -> &'static str {
        ["wake", "fork", "exec", "balance", "newidle", "active", "affinity", "rt"][self as usize]
    }
}

/// Utilization and its clamps, of a task or of the fair tasks of a CPU. All of 1024, which is the largest CPU at its top
/// frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clamps {
    /// Of the run queue of this CPU, or of a task there.
    pub cpu: CpuId,
    /// The task; none: the run queue.
    pub task: Option<TaskId>,
    /// Utilization as it is.
    pub util: u32,
    /// The same within the clamps of the run queue, with those of the task.
    pub clamped: u32,
    /// The floor in force.
    pub min: u16,
    /// The ceiling in force.
    pub max: u16,
}

/// What load tracking says of a task, or of the fair tasks of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signals {
    /// Of the run queue of this CPU, or of a task there.
    pub cpu: CpuId,
    /// The task; none: the run queue.
    pub task: Option<TaskId>,
    /// By weight and runnable time: 1024 is a task of nice 0 that is always runnable. Of a queue the sum.
    pub load: u64,
    /// Runnable time, 1024 for each task that is always runnable.
    pub runnable: u64,
    /// Utilization of 1024, which is the largest CPU at its top frequency.
    pub util: u64,
    /// When the signal was updated, ns of its own clock: it goes slower than time on CPUs that do, and the event's time
    /// does not have the costs of the call yet.
    pub updated: Time,
}

/// When a CPU looks for work, or work is pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum BalanceKind {
    /// In its turn, busy.
    Busy,
    /// In its turn, idle.
    Idle,
    /// About to idle.
    NewlyIdle,
    /// By the stopper of the source, for an attempt that could move nothing.
    Active,
}

impl BalanceKind {
    /// All of them.
    pub const ALL: [BalanceKind; 4] =
        [BalanceKind::Busy, BalanceKind::Idle, BalanceKind::NewlyIdle, BalanceKind::Active];

    /// In a word, as traces write it.
    pub fn word(self) -> &'static str {
        ["busy", "idle", "newidle", "active"][self as usize]
    }
}

/// What [`Balance::amount`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum BalanceUnit {
    /// Load, 1024 for a task of nice 0 that is always runnable.
    Load,
    /// Utilization, 1024 for the whole of the largest CPU.
    Util,
    /// Tasks.
    Task,
    /// Tasks that are too big for their CPU.
    Misfit,
}

impl BalanceUnit {
    /// All of them.
    pub const ALL: [BalanceUnit; 4] = [BalanceUnit::Load, BalanceUnit::Util, BalanceUnit::Task, BalanceUnit::Misfit];

    /// In a word, as traces write it.
    pub fn word(self) -> &'static str {
        ["load", "util", "task", "misfit"][self as usize]
    }
}

/// An attempt to balance a domain that found where to take from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Balance {
    /// When.
    pub kind: BalanceKind,
    /// The level of the domain; the scheduler's own numbering, named by [`crate::Scheduler::level_name`].
    pub level: u8,
    /// Takes from this CPU.
    pub src: CpuId,
    /// For this CPU. What may not run there goes to another CPU of its group.
    pub dst: CpuId,
    /// What is counted.
    pub unit: BalanceUnit,
    /// How much was to be moved.
    pub amount: u64,
    /// Why; the scheduler's own numbering, named by [`crate::Scheduler::balance_rule_name`].
    pub rule: u16,
    /// Tasks moved.
    pub moved: u32,
    /// The stopper of the source was asked to push a task.
    pub active: bool,
}

/// State in which a task leaves a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum SwitchState {
    /// Still runnable (preempted or yielded).
    Runnable,
    /// Sleeping.
    Sleeping,
    /// Exited.
    Dead,
}

/// What a placement decision was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DecisionKind {
    /// A wakeup.
    Wake,
    /// A new task.
    Fork,
    /// An exec.
    Exec,
}

/// A placement decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What for.
    pub kind: DecisionKind,
    /// The task.
    pub task: TaskId,
    /// Where it was.
    pub prev: CpuId,
    /// Where it goes.
    pub chosen: CpuId,
    /// The rule that decided; the scheduler's own numbering, named by [`crate::Scheduler::rule_name`].
    pub rule: u16,
    /// CPUs probed.
    pub probes: u32,
    /// CPUs looked at in group statistics.
    pub group_cpus: u32,
}

/// Something that a scheduler looked at on its way to a decision. The numbering is its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// What was seen, in words by [`crate::Scheduler::note_text`].
    pub note: u16,
    /// The rule that was being tried, named by [`crate::Scheduler::rule_name`]; [`NO_RULE`] outside of any.
    pub rule: u16,
    /// The CPU it is about.
    pub cpu: Option<CpuId>,
    /// The numbers compared.
    pub numbers: [u64; 3],
}

/// [`Reason::rule`] of what belongs to no rule.
pub const NO_RULE: u16 = u16::MAX;

/// A thread comes to a step of its program: what it did before is over. Seen, not done: no part of the run's hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// When, as the thread would read it from the clock, ns.
    pub time: Time,
    /// Who.
    pub task: TaskId,
    /// Index of the step; the length of the program where the thread ends by itself.
    pub op: u32,
    /// Of a wait for a timer's next period: the end of that period, ns. It is missed if it is not after `time`.
    pub due: Option<Time>,
}

/// Somebody who is told of every event: checkers, statistics, the hash, exporters.
pub trait Observer {
    /// One event; times never decrease.
    fn event(&mut self, event: &Event);

    /// Asked once, before the run: whether schedulers shall note what they look at.
    fn wants_reasons(&self) -> bool {
        false
    }

    /// Asked once, before the run: whether [`EventKind::Clamps`] shall be told, to all.
    fn wants_clamps(&self) -> bool {
        false
    }

    /// Asked once, before the run: whether [`Self::step`] shall be called.
    fn wants_steps(&self) -> bool {
        false
    }

    /// A thread comes to a step. Told to all as soon as one wants it, after the events of the same instant.
    fn step(&mut self, _step: &Step) {}

    /// What led to the decision that comes as the next event, oldest first. Told to all as soon as one wants it; not
    /// told where the scheduler noted nothing.
    fn reasons(&mut self, _decision: &Event, _reasons: &[Reason]) {}
}
