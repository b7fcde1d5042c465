//! Errors that the validation of a workload finds.

use fairground_machine::{CpuId, CpuMask};
use thiserror::Error;

use crate::error::WorkloadError;
use crate::program::{GroupId, ObjId, PhaseId, SeriesId, SpecId};

/// A step of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// The thread template, as its index into the workload's tasks.
    pub spec: SpecId,
    /// Index of the step in the template's program.
    pub op: u32,
}

/// What keeps a workload from running. `task` is a thread's name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// No thread ever starts.
    #[error("it starts no thread")]
    NoThreads,
    /// A step or an interrupt names an object that does not exist.
    #[error("`{task}` uses object {object}, which does not exist")]
    NoSuchObject {
        /// Name of the thread template or interrupt.
        task: String,
        /// Step at which it occurs; `None`: an interrupt names the object.
        step: Option<Step>,
        /// Index of the object that does not exist.
        object: ObjId,
    },
    /// A step or an object reports to a series that does not exist.
    #[error("`{subject}` reports to series {series}, which does not exist")]
    NoSuchSeries {
        /// What reports: a thread or the workload, as named in messages.
        subject: String,
        /// Step at which it occurs; `None` if it is not in a program.
        step: Option<Step>,
        /// Index of the series that does not exist.
        series: SeriesId,
    },
    /// A step reports to a phase that the score does not have.
    #[error("`{task}` reports to phase {phase}, which the score does not have")]
    NoSuchPhase {
        /// Name of the thread template.
        task: String,
        /// Step at which it occurs; `None` if it is not in a program.
        step: Option<Step>,
        /// Index of the phase that does not exist.
        phase: PhaseId,
    },
    /// A step uses an object of another kind than it needs.
    #[error("`{task}` uses object {object} as a {wanted}, but it is a {found}")]
    WrongObject {
        /// Name of the thread template or interrupt.
        task: String,
        /// Step at which it occurs; `None`: an interrupt names the object.
        step: Option<Step>,
        /// Index of the object.
        object: ObjId,
        /// Kind of the object that the step needs.
        wanted: &'static str,
        /// Kind of the object that was found.
        found: &'static str,
    },
    /// A thread template that does not exist is started or spawned.
    #[error("there is no task {spec} to create")]
    NoSuchTask {
        /// Step that creates it; `None` if it is started at the start of the run.
        step: Option<Step>,
        /// Index of the template that does not exist.
        spec: SpecId,
    },
    /// A thread template or a group is in a task group that does not exist, or comes later than the group in it.
    #[error("`{subject}` is in task group {group}, which does not come before it")]
    NoSuchGroup {
        /// The template or group, as named in messages.
        subject: String,
        /// Index of the task group that does not exist.
        group: GroupId,
    },
    /// A cpuset without a CPU, or with one that the machine lacks.
    #[error("cpuset.cpus of `{path}` is `{mask}`, not CPUs of 0 to {last}")]
    BadCpuset {
        /// Path of the task group.
        path: String,
        /// Step at which it is written; `None`: at the start.
        step: Option<Step>,
        /// What is written.
        mask: Box<CpuMask>,
        /// Highest CPU id of the machine.
        last: CpuId,
    },
    /// A cpuset is written of a group that no thread is ever in.
    #[error("`{task}` writes cpuset.cpus of `{path}`, which no task is in")]
    EmptyCpuset {
        /// Name of the thread template.
        task: String,
        /// Step at which it is written.
        step: Option<Step>,
        /// Path of the task group.
        path: String,
        /// How to correct it, with the nearest path.
        help: String,
    },
    /// A per-CPU kernel thread in a group with a cpuset, which the kernel refuses.
    #[error("`{task}` is a kernel thread of one CPU, and its task group `{path}` has a cpuset")]
    KthreadInCpuset {
        /// Name of the thread template.
        task: String,
        /// Path of the task group.
        path: String,
    },
    /// A value is outside its range.
    #[error("{what} of `{subject}` is {value}, not in {min}..={max}")]
    OutOfRange {
        /// The template, object or group that has the value, as named in messages.
        subject: String,
        /// Name of the value.
        what: &'static str,
        /// Step at which it occurs; `None` if it is not in a program.
        step: Option<Step>,
        /// The value that is out of range.
        value: i128,
        /// Smallest value that is valid.
        min: i128,
        /// Largest value that is valid.
        max: i128,
    },
    /// The utilisation clamps contradict each other.
    #[error("util_min of `{task}` is {min}, above its util_max of {max}")]
    ClampsCross {
        /// Name of the thread template.
        task: String,
        /// Step at which it occurs; `None` if it is not in a program.
        step: Option<Step>,
        /// `uclamp.min`, 0 to 1024.
        min: u16,
        /// `uclamp.max`, 0 to 1024.
        max: u16,
    },
    /// A CPU that the machine lacks.
    #[error("`{subject}` names CPU {cpu}, but the machine has 0 to {last}")]
    NoSuchCpu {
        /// The template, interrupt or frequency cap, as named in messages.
        subject: String,
        /// The CPU id that does not exist.
        cpu: CpuId,
        /// Highest CPU id of the machine.
        last: CpuId,
    },
    /// A frequency cap of some of the CPUs that share a clock.
    #[error("a frequency cap of CPUs {cpus} leaves out CPUs {others}, which share their clock")]
    SplitsClock {
        /// The CPUs that the cap names.
        cpus: Box<CpuMask>,
        /// The CPUs of the same clock that the cap leaves out.
        others: Box<CpuMask>,
    },
    /// A frequency cap below what the CPUs can run at.
    #[error("CPUs {cpus} cannot run at {khz} kHz: their lowest operating point is {lowest} kHz")]
    CapTooLow {
        /// CPUs that the cap names.
        cpus: Box<CpuMask>,
        /// The capped frequency, kHz.
        khz: u32,
        /// The lowest operating point of the CPUs, kHz.
        lowest: u32,
    },
    /// A frequency cap that is over before it begins.
    #[error("a frequency cap of CPUs {cpus} lasts from {from} to {to} ns")]
    CapBackwards {
        /// CPUs that the cap names.
        cpus: Box<CpuMask>,
        /// Start of the cap, ns.
        from: u64,
        /// End of the cap, ns.
        to: u64,
    },
    /// CPUs that cannot go offline, or not then.
    #[error("CPUs {cpus} go offline {what}")]
    BadOffline {
        /// CPUs that are named together.
        cpus: Box<CpuMask>,
        /// What is wrong.
        what: String,
        /// How to correct it.
        help: &'static str,
    },
    /// An affinity without any CPU of the machine.
    #[error("`{task}` may use only CPUs {mask}, none of which the machine has")]
    NoCpuAllowed {
        /// Name of the thread template.
        task: String,
        /// Step at which it occurs; `None` if it is not in a program.
        step: Option<Step>,
        /// The affinity that the template or step requests.
        mask: Box<CpuMask>,
    },
    /// Loops that are not properly nested or point to the wrong place.
    #[error("`{task}`: step {} is a loop whose ends do not match", step.op)]
    BadLoop {
        /// Name of the thread template.
        task: String,
        /// Step at which it occurs.
        step: Step,
    },
    /// Loops nested too deeply.
    #[error("`{task}`: loops nested more than {} deep", super::MAX_LOOP_DEPTH)]
    TooDeep {
        /// Name of the thread template.
        task: String,
        /// Step at which it occurs.
        step: Step,
    },
    /// A loop that takes no time.
    #[error("`{task}` loops {} without computing, sleeping or blocking", times.map_or("for ever".into(), |n| format!("{n} times")))]
    Spins {
        /// Name of the thread template.
        task: String,
        /// Step at which it occurs.
        step: Step,
        /// Number of repetitions of the loop; `None`: without end.
        times: Option<u64>,
    },
    /// Times beyond what 63 bits of nanoseconds hold.
    #[error("the times of `{task}` add up to more than 2^63 ns (292 years)")]
    TimeOverflow {
        /// Name of the thread template.
        task: String,
        /// Step at which it occurs; `None` if it is not at one step.
        step: Option<Step>,
    },
    /// A barrier that waits for more threads than ever come.
    #[error("barrier {object} waits for {parties} threads, but at most {users} ever come")]
    BarrierNeverFills {
        /// A step that waits at the barrier.
        step: Step,
        /// Index of the barrier.
        object: ObjId,
        /// Number of threads for which the barrier waits.
        parties: u32,
        /// Number of threads that arrive at the barrier.
        users: u64,
    },
    /// A mutex is released or waited with by a thread that does not hold it.
    #[error("`{task}` {action} mutex {object}, which it does not hold")]
    NotHeld {
        /// Name of the thread template.
        task: String,
        /// Step at which it occurs.
        step: Step,
        /// Index of the mutex.
        object: ObjId,
        /// What the step does with the mutex, as a verb.
        action: &'static str,
    },
    /// Threads that create themselves, directly or by way of others.
    #[error("`{task}` creates itself without end")]
    EndlessSpawn {
        /// Name of the thread template.
        task: String,
        /// The step that closes the circle.
        step: Step,
    },
    /// More threads than a run can hold.
    #[error("it creates {tasks} threads, more than {}", super::MAX_TASKS)]
    TooManyTasks {
        /// Number of threads; `u64::MAX` if there are more.
        tasks: u64,
    },
}

impl Problem {
    /// The step at fault; `None` if it is not at one step.
    pub fn step(&self) -> Option<Step> {
        use Problem::*;
        match self {
            NoThreads
            | NoSuchGroup { .. }
            | NoSuchCpu { .. }
            | KthreadInCpuset { .. }
            | TooManyTasks { .. }
            | SplitsClock { .. }
            | CapTooLow { .. }
            | CapBackwards { .. }
            | BadOffline { .. } => None,
            NoSuchObject { step, .. }
            | NoSuchSeries { step, .. }
            | NoSuchPhase { step, .. }
            | WrongObject { step, .. }
            | NoSuchTask { step, .. }
            | OutOfRange { step, .. }
            | ClampsCross { step, .. }
            | BadCpuset { step, .. }
            | EmptyCpuset { step, .. }
            | NoCpuAllowed { step, .. }
            | TimeOverflow { step, .. } => *step,
            BadLoop { step, .. }
            | TooDeep { step, .. }
            | Spins { step, .. }
            | BarrierNeverFills { step, .. }
            | NotHeld { step, .. }
            | EndlessSpawn { step, .. } => Some(*step),
        }
    }

    /// The error that a workload has this problem.
    pub(crate) fn into_error(self, workload: String) -> WorkloadError {
        WorkloadError::Invalid { workload, help: self.help(), problem: Box::new(self) }
    }

    /// How to correct the workload.
    pub fn help(&self) -> String {
        use Problem::*;
        match self {
            NoThreads => "give at least one task one or more instances",
            NoSuchObject { .. }
            | NoSuchSeries { .. }
            | NoSuchPhase { .. }
            | WrongObject { .. }
            | NoSuchTask { .. }
            | NoSuchGroup { .. }
            | BadLoop { .. } => "programs are built with ProgramBuilder; indices point into the workload's lists",
            OutOfRange { .. } | ClampsCross { .. } => "the kernel would refuse this value",
            EmptyCpuset { help, .. } => help,
            BadOffline { help, .. } => help,
            KthreadInCpuset { .. } => "put it into another task group, or into none",
            NoSuchCpu { .. } | NoCpuAllowed { .. } | BadCpuset { .. } => {
                "choose CPUs of this machine, or another machine"
            }
            SplitsClock { .. } => "cap all CPUs of a clock together",
            CapBackwards { .. } => "let it end after it begins, or leave `to` out",
            CapTooLow { .. } => "choose that operating point or a higher one",
            TooDeep { .. } => "unroll inner loops",
            Spins { .. } => "put a run, a sleep or a blocking step into the loop, or bound it",
            TimeOverflow { .. } => "loop for ever and give the run a duration instead",
            BarrierNeverFills { .. } => "let as many threads come as the barrier waits for",
            NotHeld { .. } => "lock it earlier in the same thread",
            EndlessSpawn { .. } => "a thread may not create its own ancestors",
            TooManyTasks { .. } => "create fewer threads, or let a few loop",
        }
        .into()
    }
}
