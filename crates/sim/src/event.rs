//! Events of a run, in time order. The run's hash covers all of them except optional events.

use fairground_machine::CpuId;
use fairground_workload::Mark;

use crate::{EnergyPart, TaskId, Time};

/// An event of the run: the time and what happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Virtual time, ns. Never decreases within a run.
    pub time: Time,
    /// The CPU on which it happened.
    pub cpu: CpuId,
    /// What happened, with its details.
    pub kind: EventKind,
}

/// The kinds of events; each names the tasks and CPUs involved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A task was created (sched_process_fork).
    Fork {
        /// The parent; none for the tasks with which the workload starts.
        parent: Option<TaskId>,
        /// Id of the new task.
        child: TaskId,
    },
    /// A task replaced its program.
    Exec {
        /// Id of the task: its index in order of creation.
        task: TaskId,
    },
    /// A task exited (sched_process_exit).
    Exit {
        /// Id of the task: its index in order of creation.
        task: TaskId,
    },
    /// A sleeping task is about to be placed (sched_waking): `prev` is where it last ran.
    Waking {
        /// Id of the task: its index in order of creation.
        task: TaskId,
        /// CPU on which the task ran before it slept.
        prev: CpuId,
        /// The waker; none: an interrupt. Not part of the run's hash: it is a cause of the other events.
        waker: Option<TaskId>,
        /// Whether the waker announced that it is about to sleep (WF_SYNC). Not part of the hash either.
        sync: bool,
    },
    /// A task was placed: the decision and what it cost to make.
    Decision(Decision),
    /// A woken or new task is on the run queue of `target` (sched_wakeup, sched_wakeup_new).
    Wakeup {
        /// Id of the task: its index in order of creation.
        task: TaskId,
        /// CPU of the run queue that the task is put on.
        target: CpuId,
    },
    /// A task's CPU changed (sched_migrate_task).
    Migrate {
        /// Id of the task: its index in order of creation.
        task: TaskId,
        /// The CPU that the task leaves.
        from: CpuId,
        /// The CPU that the task moves to.
        to: CpuId,
        /// What caused the migration.
        cause: MigrateCause,
    },
    /// Load balancing found a source; the migrations that come of it follow.
    Balance(Balance),
    /// The CPU switched from one to another (sched_switch); `None` is the idle task.
    Switch {
        /// The task that stops running; none: the idle task.
        prev: Option<TaskId>,
        /// State in which `prev` leaves the CPU.
        prev_state: SwitchState,
        /// The task that starts running; none: the idle task.
        next: Option<TaskId>,
        /// Cost charged to the CPU in this instant, the switch included, ns: `next` runs that much later. Not part of
        /// the run's hash: the following events show it.
        cost: u64,
    },
    /// The per-CPU stopper starts (true) or has done its work.
    Stopper(bool),
    /// The CPU enters idle state `state` (cpu_idle), or leaves idle (`None`).
    Idle {
        /// Index of the idle state that the CPU enters; `None` if it leaves idle.
        state: Option<u8>,
    },
    /// The CPU is online from now on (true), or offline: nothing runs there.
    Online(bool),
    /// The CPU's frequency is now this, kHz (cpu_frequency).
    Frequency {
        /// The new frequency, kHz.
        khz: u32,
    },
    /// A clamped utilization was updated. Reported only if an observer wants it; an observation, not part of the run's
    /// hash.
    Clamps(Clamps),
    /// A load-tracking signal was updated. Reported only if [`crate::Config::signals`] is set; an observation, not part
    /// of the run's hash.
    Signals(Signals),
    /// An estimate of utilization has changed. Reported only if [`crate::Config::signals`] is set; an observation, not part
    /// of the run's hash.
    UtilEst(UtilEst),
    /// A fair task was picked, a woken one was tested against the current one, or time took the CPU from the current one.
    /// Reported only if an observer wants reasons; an observation, not part of the run's hash.
    Pick(PickReport),
    /// A decision has changed a value that later decisions read. Reported only if an observer wants reasons, by schedulers
    /// whose values can be read; an observation, not part of the run's hash.
    Left(LeftBehind),
    /// A thermal governor has measured (thermal_temperature).
    Temperature {
        /// The thermal zone, as its index into the machine's zones.
        zone: u8,
        /// Temperature, thousandths of a degree Celsius.
        milli_c: i32,
    },
    /// Cooling caps the clock of a frequency domain, whose first CPU this is, at some operating points below the top (cdev_update).
    Cooling {
        /// Number of operating points below the top; 0: no cap.
        state: u32,
    },
    /// Energy that a rail has consumed for one purpose since time 0, if sampling is on
    /// ([`crate::Config::energy_every_ns`]). An observation, not part of the run's hash.
    Energy {
        /// The rail, as its index into [`fairground_machine::Machine::rails`].
        rail: u16,
        /// What the energy was for.
        part: EnergyPart,
        /// Energy since time 0, pJ. Never decreases.
        picojoules: u64,
    },
    /// A program executed [`Op::Mark`](fairground_workload::Op::Mark).
    Mark {
        /// The task that executed it.
        task: TaskId,
        /// The mark that was set.
        mark: Mark,
    },
}

/// Cause of a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum MigrateCause {
    /// The placement at wakeup chose another CPU.
    Wake,
    /// The placement at fork chose another CPU than the parent's.
    Fork,
    /// The placement at exec chose another CPU.
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
    /// All variants, in the order of their discriminants.
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

    /// Its name in traces and tables.
    pub fn word(self) -> &'static str {
        ["wake", "fork", "exec", "balance", "newidle", "active", "affinity", "rt"][self as usize]
    }
}

/// Utilization and its clamps, of a task or of the fair tasks of a CPU. All of 1024, which is the largest CPU at its
/// top frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clamps {
    /// Of the run queue of this CPU, or of a task there.
    pub cpu: CpuId,
    /// The task; none: the run queue.
    pub task: Option<TaskId>,
    /// Utilization without clamps, 1024 for the largest CPU at its top frequency.
    pub util: u32,
    /// The same within the clamps of the run queue, with those of the task.
    pub clamped: u32,
    /// Effective `uclamp.min`, 0 to 1024.
    pub min: u16,
    /// Effective `uclamp.max`, 0 to 1024.
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

/// The estimate of utilization of a task, or the sum of those of the fair tasks of a CPU that are awake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UtilEst {
    /// Of the run queue of this CPU, or of a task that left it.
    pub cpu: CpuId,
    /// The task; none: the run queue.
    pub task: Option<TaskId>,
    /// Utilization at the last dequeue for sleep, of 1024; of a queue the sum of what its tasks are expected to use.
    pub enqueued: u32,
    /// Moving average of these utilizations, of 1024; of a queue 0.
    pub ewma: u32,
    /// The utilization itself, of 1024.
    pub util: u64,
}

/// What a [`PickReport`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PickKind {
    /// pick_next_task_fair has ended with the task.
    Pick,
    /// The task is on the run queue, and was tested against the current one (wakeup_preempt).
    Wakeup,
    /// The task is the current one and has to leave the CPU: its slice or its protection is over (update_curr, the tick).
    Slice,
}

impl PickKind {
    /// All variants, in the order of their discriminants.
    pub const ALL: [PickKind; 3] = [PickKind::Pick, PickKind::Wakeup, PickKind::Slice];

    /// The name that traces print.
    pub fn word(self) -> &'static str {
        ["pick", "wakeup", "slice"][self as usize]
    }
}

/// A fair task as its run queue sees it, in ns of virtual time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueuedTask {
    /// What the queue's average vruntime (with CFS min_vruntime) exceeds the task's by: it is eligible unless that is
    /// negative.
    pub lag: i64,
    /// Time from the queue's average vruntime to the task's deadline; with CFS 0.
    pub deadline: i64,
    /// Time for which the task is still protected (RUN_TO_PARITY); 0: it is not.
    pub protection: i64,
}

/// Why a fair task runs, waits, or has to leave the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PickReport {
    /// What happened.
    pub kind: PickKind,
    /// The CPU of the run queue.
    pub cpu: CpuId,
    /// The task that was picked or tested, or that has to leave the CPU.
    pub task: TaskId,
    /// Why; the scheduler's own numbering, named by [`crate::Scheduler::pick_rule`].
    pub rule: u16,
    /// Number of fair tasks on the run queue, the current one included.
    pub queued: u32,
    /// The task on its queue.
    pub state: QueuedTask,
    /// The current task, if it is another one that is still runnable.
    pub current: Option<(TaskId, QueuedTask)>,
}

/// What a value of the scheduler belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A CPU, or what it shares with others.
    Cpu(CpuId),
    /// A scheduling domain of a CPU: its number, 0 is the smallest.
    Domain(CpuId, u8),
    /// A task.
    Task(TaskId),
}

/// A value that a decision has changed, and that later decisions read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftBehind {
    /// The kernel's function that has changed it.
    pub function: &'static str,
    /// Name of the value, in its own unit.
    pub value: &'static str,
    /// What the value belongs to.
    pub of: Subject,
    /// The value before the decision.
    pub before: i64,
    /// The value after the decision.
    pub after: i64,
}

/// Kind of a balance attempt (cpu_idle_type, active balance).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum BalanceKind {
    /// Periodic balance by a busy CPU.
    Busy,
    /// Periodic balance by or for an idle CPU.
    Idle,
    /// newidle balance: the CPU has no task left to run (sched_balance_newidle).
    NewlyIdle,
    /// Active balance: the source's stopper pushes a task after an attempt that could move none.
    Active,
}

impl BalanceKind {
    /// All variants, in the order of their discriminants.
    pub const ALL: [BalanceKind; 4] =
        [BalanceKind::Busy, BalanceKind::Idle, BalanceKind::NewlyIdle, BalanceKind::Active];

    /// The name that traces print.
    pub fn word(self) -> &'static str {
        ["busy", "idle", "newidle", "active"][self as usize]
    }
}

/// The unit of [`Balance::amount`] (migration_type).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum BalanceUnit {
    /// Load, 1024 for a task of nice 0 that is always runnable.
    Load,
    /// Utilization, 1024 for the whole of the largest CPU.
    Util,
    /// Number of tasks (migrate_task).
    Task,
    /// Tasks that are too big for their CPU.
    Misfit,
}

impl BalanceUnit {
    /// All variants, in the order of their discriminants.
    pub const ALL: [BalanceUnit; 4] = [BalanceUnit::Load, BalanceUnit::Util, BalanceUnit::Task, BalanceUnit::Misfit];

    /// The name that traces print.
    pub fn word(self) -> &'static str {
        ["load", "util", "task", "misfit"][self as usize]
    }
}

/// A balance attempt on a domain that found a busiest run queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Balance {
    /// What triggered the attempt.
    pub kind: BalanceKind,
    /// The level of the domain; the scheduler's own numbering, named by [`crate::Scheduler::level_name`].
    pub level: u8,
    /// The busiest CPU, from which tasks are pulled.
    pub src: CpuId,
    /// The CPU that pulls. A task that may not run there goes to another CPU of its group.
    pub dst: CpuId,
    /// What `amount` counts: the kernel's migration_type.
    pub unit: BalanceUnit,
    /// How much was to be moved (imbalance).
    pub amount: u64,
    /// Why; the scheduler's own numbering, named by [`crate::Scheduler::balance_rule`].
    pub rule: u16,
    /// Number of tasks moved.
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
    /// It blocked and waits for a wakeup.
    Sleeping,
    /// It exited and never runs again.
    Dead,
}

/// What a placement decision was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DecisionKind {
    /// select_task_rq for a wakeup (WF_TTWU).
    Wake,
    /// select_task_rq for a new task (WF_FORK).
    Fork,
    /// select_task_rq for exec (WF_EXEC).
    Exec,
}

/// A placement decision: which run queue a task goes to, and by which rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether it is for a wakeup, a fork or an exec.
    pub kind: DecisionKind,
    /// Id of the task: its index in order of creation.
    pub task: TaskId,
    /// CPU on which the task ran last; for a new task, the parent's CPU.
    pub prev: CpuId,
    /// CPU that was chosen.
    pub chosen: CpuId,
    /// The rule that decided; the scheduler's own numbering, named by [`crate::Scheduler::rule`].
    pub rule: u16,
    /// Number of CPUs that the search probed.
    pub probes: u32,
    /// CPUs looked at in group statistics.
    pub group_cpus: u32,
}

/// A reason for a decision: something that the scheduler looked at. Numbers are the scheduler's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Number of the note; its text is [`crate::Scheduler::note_text`].
    pub note: u16,
    /// The rule that was being tried, named by [`crate::Scheduler::rule`]; [`NO_RULE`] outside of any.
    pub rule: u16,
    /// The CPU that the reason is about; `None` if it is not about one.
    pub cpu: Option<CpuId>,
    /// The numbers that were compared, as the note describes them.
    pub numbers: [u64; 3],
}

/// [`Reason::rule`] of a note that does not belong to a rule.
pub const NO_RULE: u16 = u16::MAX;

/// A thread comes to a step of its program: what it did before is over. Seen, not done: no part of the run's hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// When, as the thread would read it from the clock, ns.
    pub time: Time,
    /// The task that the step is about.
    pub task: TaskId,
    /// Index of the step; the length of the program where the thread ends by itself.
    pub op: u32,
    /// Of a wait for a timer's next period: the end of that period, ns. It is missed if it is not after `time`.
    pub due: Option<Time>,
}

/// Receives every event of a run: checkers, statistics, the hash, exporters.
pub trait Observer {
    /// Called for each event; times never decrease.
    fn event(&mut self, event: &Event);

    /// Called once, before the run: whether schedulers report the reasons of decisions.
    fn wants_reasons(&self) -> bool {
        false
    }

    /// Called once, before the run: whether [`EventKind::Clamps`] is reported, to all observers.
    fn wants_clamps(&self) -> bool {
        false
    }

    /// Called once, before the run: whether the engine calls [`Self::step`].
    fn wants_steps(&self) -> bool {
        false
    }

    /// A thread reaches a step. Reported to all observers if one wants it, after the events of the same instant.
    fn step(&mut self, _step: &Step) {}

    /// Reasons for the decision that comes as the next event, oldest first. Reported to all if one wants it; not
    /// called if the scheduler noted nothing.
    fn reasons(&mut self, _decision: &Event, _reasons: &[Reason]) {}
}
