//! The program model: the steps of a thread, and the objects that threads share.
//!
//! The engine interprets these; nothing here knows time or CPUs beyond plain numbers. Work is stated in *work
//! nanoseconds*: the time the work takes alone on a CPU of capacity 1024 at its top frequency.

use std::sync::Arc;

use fairground_machine::{CpuId, CpuMask};
use serde::{Deserialize, Serialize};

use crate::clamp::GroupClamp;
use crate::cpuset::GroupCpus;

/// Number of an object: its index into [`Workload::objects`].
pub type ObjId = u32;
/// Number of a thread template: its index into [`Workload::tasks`].
pub type SpecId = u32;
/// Number of a task group: its index into [`Workload::groups`].
pub type GroupId = u32;

/// Everything a run needs to know about what its threads do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Name with its options, as a user would type it.
    pub name: String,
    /// Pipes, sockets, locks and the like.
    pub objects: Vec<Object>,
    /// What the objects are called, by index; those beyond its end have no name.
    pub object_names: Vec<String>,
    /// Thread templates; [`Start`] and [`Op::Spawn`] refer to them by index.
    pub tasks: Vec<TaskSpec>,
    /// Task groups besides the root group, parents before their children.
    pub groups: Vec<TaskGroup>,
    /// Threads with which the workload starts, in order of creation.
    pub start: Vec<Start>,
    /// Devices that raise interrupts during the run.
    pub irqs: Vec<IrqSource>,
    /// Temporary limits of CPU frequencies.
    pub frequency_caps: Vec<FrequencyCap>,
    /// When CPUs are offline.
    pub offline: Vec<OfflineSpan>,
    /// End of the run, ns; `None`: when every thread that is not a daemon has exited.
    pub duration_ns: Option<u64>,
    /// Statistics begin here, ns; ignored where a program sets [`Mark::Begin`].
    pub warmup_ns: u64,
    /// The workload's own figure of merit, computed from marks.
    pub score: Score,
    /// Measurements by the programs themselves, in the order in which they are shown.
    pub series: Vec<Series>,
}

/// How a workload's own figure of merit is read from its marks. Of the measured window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Score {
    /// No figure of merit.
    None,
    /// [`Mark::Op`]s between [`Mark::Begin`] and [`Mark::End`] per second, and migrations per op after
    /// [`Mark::Steady`].
    OpsPerSec,
    /// Length of the window in seconds; if the run does one of `parts` equal parts of the work, shown as it is and
    /// multiplied.
    Elapsed {
        /// At least 1, which is all of the work.
        parts: u32,
    },
    /// Megabytes (10^6 bytes) per second, at `bytes_per_op` for each [`Mark::Op`].
    Throughput {
        /// Bytes of an operation.
        bytes_per_op: u32,
    },
    /// Loops per minute; each [`Mark::Op`] is a loop.
    LoopsPerMin,
    /// Points, of what is reported to its phases ([`Report::Phase`]).
    Points(Points),
}

/// A score of phases in sections: a phase's points are in proportion to the work its threads do in a second, a
/// section's are the geometric mean of its phases, and the whole is the weighted mean of the sections.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Points {
    /// Thousandths of a point for work at the speed of a CPU of capacity 1024 at its top frequency; at least 1.
    pub full_speed: u64,
    /// Number of equal parts of the work, of which the phases do one; at least 1, which is all of it.
    pub parts: u32,
    /// Their phases are numbered through, in this order.
    pub sections: Vec<Section>,
}

/// A part of a score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// Name of the section, as in metric names: `integer` gives `score_integer`.
    pub name: String,
    /// Its weight among the sections, at least 1.
    pub weight: u32,
    /// The phases in order; never empty.
    pub phases: Vec<Phase>,
}

/// A phase of a score.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// Name of the phase, as in metric names.
    pub name: String,
    /// The work done in each time that is reported, work ns; at least 1.
    pub work_ns: u64,
}

/// Index of a phase of [`Points`], over all sections.
pub type PhaseId = u32;

/// Number of a series of samples: its index into [`Workload::series`].
pub type SeriesId = u32;

/// Times that programs measure with a clock and report ([`Op::Sample`], [`Op::Conclude`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// Name of the measurement, as in metric names: `latency` gives `latency_p99_us`.
    pub name: String,
    /// Description of the measurement.
    pub meaning: String,
    /// Resolution of the clock, ns, at least 1: gettimeofday has 1000. Differences of two readings are reported.
    pub tick_ns: u32,
    /// Unit of the printed values.
    pub unit: TimeUnit,
    /// Whether the mean is shown, before the percentiles.
    pub mean: bool,
    /// Percentiles to show, in thousandths, 1 to 1000 (the greatest).
    pub permilles: Vec<u16>,
    /// Samples above these are counted.
    pub deadlines: Vec<Deadline>,
}

/// Unit in which times are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimeUnit {
    /// Values are in microseconds.
    Us,
    /// Values are in milliseconds.
    Ms,
}

/// A time that samples of a series should not exceed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deadline {
    /// What a sample above it is called, as in metric names: `jank` gives `jank_count` and `jank_pct`.
    pub name: String,
    /// In ticks of the series' clock.
    pub ticks: u64,
}

/// A task group: a cgroup with the cpu and cpuset controllers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskGroup {
    /// From the root group, e.g. `/a/b`.
    pub path: String,
    /// The group around it, earlier in the list; `None`: the root group.
    pub parent: Option<GroupId>,
    /// What is written to its files of the cpu controller before any thread exists, in order: `("cpu.max", "50000 100000")`.
    pub files: Vec<(String, String)>,
    /// CPUs of its cpuset at the start (`cpuset.cpus`); `None`: nothing is written.
    pub cpus: Option<CpuMask>,
}

/// Threads with which a workload starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// Index of the template of these threads.
    pub spec: SpecId,
    /// Number of threads to create.
    pub count: u32,
    /// CPU they are forked from (the launching shell's); the scheduler places them.
    pub cpu: CpuId,
    /// Number of their process, below the number of starts: threads of the same number share an address space.
    pub process: u32,
}

/// What a thread is: name, attributes, working set and program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskSpec {
    /// Thread name (comm), at most 15 bytes as the kernel keeps it.
    pub name: String,
    /// Scheduling attributes when the thread is created.
    pub attr: SchedAttr,
    /// CPUs it may use; `None` = all.
    pub affinity: Option<CpuMask>,
    /// The CPU it is bound to as a per-CPU kernel thread (then affinity is that CPU).
    pub kthread_cpu: Option<CpuId>,
    /// Its task group; `None`: the root group.
    pub group: Option<GroupId>,
    /// Working set that a migration must refill, KiB.
    pub footprint_kib: u32,
    /// How much later than asked its sleeps may end, ns: timer slack, as PR_SET_TIMERSLACK sets it; 0: not at all. Threads of a
    /// real-time class have none, whatever this says.
    pub timer_slack_ns: u64,
    /// Does not keep the run alive.
    pub daemon: bool,
    /// What it does. The thread exits at the end.
    pub program: Arc<[Op]>,
}

impl Workload {
    /// A workload of nothing yet, that ends when all threads have and has no score.
    pub fn empty(name: &str) -> Workload {
        Workload {
            name: name.into(),
            objects: Vec::new(),
            object_names: Vec::new(),
            tasks: Vec::new(),
            groups: Vec::new(),
            start: Vec::new(),
            irqs: Vec::new(),
            frequency_caps: Vec::new(),
            offline: Vec::new(),
            duration_ns: None,
            warmup_ns: 0,
            score: Score::None,
            series: Vec::new(),
        }
    }
}

/// Timer slack of a thread unless it or its parent asks for another, ns (`init_task` in init/init_task.c).
pub const TIMER_SLACK_NS: u64 = 50_000;

impl TaskSpec {
    /// A thread of policy other and nice 0 with the usual timer slack that may use all CPUs, is in no group, and keeps the run
    /// alive.
    pub fn new(name: &str, footprint_kib: u32, program: Arc<[Op]>) -> TaskSpec {
        TaskSpec {
            name: name.into(),
            attr: SchedAttr::default(),
            affinity: None,
            kthread_cpu: None,
            group: None,
            footprint_kib,
            timer_slack_ns: TIMER_SLACK_NS,
            daemon: false,
            program,
        }
    }

    /// Whether its program is a recorded one.
    pub fn is_recorded(&self) -> bool {
        self.program.first() == Some(&Op::Recorded)
    }
}

/// Scheduling policy, as sched_setscheduler knows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Policy {
    /// SCHED_OTHER (SCHED_NORMAL), the default.
    Other,
    /// SCHED_BATCH: no wakeup preemption.
    Batch,
    /// SCHED_IDLE: the lowest weight.
    Idle,
    /// SCHED_FIFO: real time, runs until it blocks or yields.
    Fifo,
    /// SCHED_RR: real time, round robin within a priority.
    Rr,
}

impl Policy {
    /// Whether it is of the real-time class.
    pub fn is_rt(self) -> bool {
        matches!(self, Policy::Fifo | Policy::Rr)
    }
}

/// Shortest slice a thread may ask for, ns.
pub const MIN_SLICE_NS: u64 = 100_000;
/// Longest slice a thread may ask for, ns.
pub const MAX_SLICE_NS: u64 = 100_000_000;

/// Scheduling attributes of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SchedAttr {
    /// Scheduling policy of the thread.
    pub policy: Policy,
    /// -20..=19; used by the fair policies.
    pub nice: i8,
    /// 1..=99 for FIFO and RR, 0 otherwise.
    pub rt_priority: u8,
    /// Requested utilisation floor, 0..=1024.
    pub uclamp_min: u16,
    /// Requested utilisation ceiling, 0..=1024.
    pub uclamp_max: u16,
    /// Slice asked for, ns, [`MIN_SLICE_NS`] to [`MAX_SLICE_NS`]; 0: the scheduler's own. Used from Linux 6.12 on.
    pub slice_ns: u64,
}

impl Default for SchedAttr {
    fn default() -> Self {
        SchedAttr { policy: Policy::Other, nice: 0, rt_priority: 0, uclamp_min: 0, uclamp_max: 1024, slice_ns: 0 }
    }
}

/// An amount that may vary: uniform in `base..=base + jitter`, drawn per use from the run's seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Amount {
    /// Smallest value that is drawn.
    pub base: u64,
    /// Width of the range: the value is drawn uniformly from `base..=base + jitter`.
    pub jitter: u64,
}

impl Amount {
    /// An amount without jitter.
    pub const fn fixed(base: u64) -> Self {
        Amount { base, jitter: 0 }
    }
}

/// A utilisation floor, and how often it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ClampOdds {
    /// 0..=1024, and no greater than the thread's ceiling.
    pub uclamp_min: u16,
    /// Its share of all draws is this part of the sum of all weights; at least 1.
    pub weight: u32,
}

/// A kernel or library object through which threads communicate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Object {
    /// A pipe of 4096-byte slots: a writer blocks when all are used, and is released when the reader has drained a
    /// whole slot. Wakes are exclusive and sync (Linux fs/pipe.c since 5.5).
    Pipe {
        /// Number of slots, 16 by default.
        slots: u32,
    },
    /// A connected AF_UNIX stream socket, one direction: each message is charged to the send buffer; blocked senders
    /// are released, all at once, when the charge falls to a quarter.
    Socket {
        /// Send buffer, bytes; 212992 by default.
        sndbuf: u32,
        /// Bookkeeping charge per message on top of its bytes.
        overhead: u32,
    },
    /// A futex word in shared memory.
    Futex {
        /// Value at the start of the run.
        value: u32,
    },
    /// A pthread mutex, unlocked at the start.
    Mutex,
    /// A pthread condition variable. It has no memory.
    Cond,
    /// A barrier; the last of `parties` releases the others.
    Barrier {
        /// Number of threads it waits for, at least 1.
        parties: u32,
    },
    /// A POSIX counting semaphore.
    Semaphore {
        /// Count at the start of the run.
        value: u32,
    },
    /// A periodic timer's phase. Shared by all users, unless `per_task`. Its first period begins where those of its
    /// first user do: at the thread's birth or, later, when the last sleep or barrier at the head of its program ends
    /// (before any loop), whenever the thread then gets a CPU.
    Timer {
        /// Each thread has a phase of its own.
        per_task: bool,
    },
    /// A place for an instant that one thread notes and others read, 0 at first.
    Stamp,
    /// Sums up samples until their mean is reported.
    Tally {
        /// The series to which the mean is reported.
        series: SeriesId,
    },
    /// A list on which threads put themselves and sleep, each on a futex of its own, until its keeper calls all who
    /// are on it, newest first.
    Roster,
    /// A ticket lock of the kernel: waiters spin; neither they nor the holder can be preempted.
    Ticket,
    /// A sleeping lock of the kernel: a waiter spins while the holder is on a CPU, otherwise it sleeps. Both may be
    /// preempted.
    KernelMutex,
}

impl Object {
    /// What it is, in a word.
    pub fn kind(&self) -> &'static str {
        match self {
            Object::Pipe { .. } => "pipe",
            Object::Socket { .. } => "socket",
            Object::Futex { .. } => "futex",
            Object::Mutex => "mutex",
            Object::Cond => "condition variable",
            Object::Barrier { .. } => "barrier",
            Object::Semaphore { .. } => "semaphore",
            Object::Timer { .. } => "timer",
            Object::Stamp => "stamp",
            Object::Tally { .. } => "tally",
            Object::Roster => "roster",
            Object::Ticket => "ticket lock",
            Object::KernelMutex => "kernel mutex",
        }
    }
}

/// One step of a program. Steps that take no time run at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Op {
    /// Compute for this much work: ns on a CPU of capacity 1024 at its top frequency.
    Run(Amount),
    /// Compute until this much wall time has passed, preempted or not, ns.
    RunWall(Amount),
    /// clock_nanosleep for this long, ns.
    Sleep(Amount),
    /// Sleep until this long after the start of the workload, ns; nothing if that is past by more than the timer slack.
    SleepUntil(u64),
    /// Wait for the next period of a [`Object::Timer`].
    TimerWait {
        /// Index of the [`Object::Timer`].
        timer: ObjId,
        /// Period of the timer, ns, above 0.
        period_ns: u64,
        /// A missed period restarts from now (rt-app `relative`) instead of catching up (`absolute`).
        relative: bool,
    },
    /// Blocking write of one message to a pipe.
    PipeWrite {
        /// Index of the [`Object::Pipe`].
        pipe: ObjId,
        /// Size of the message, bytes, 1..=4096.
        bytes: u32,
    },
    /// Blocking read of exactly this many bytes.
    PipeRead {
        /// Index of the [`Object::Pipe`].
        pipe: ObjId,
        /// Bytes, at least 1.
        bytes: u32,
    },
    /// Blocking send of one message.
    SockSend {
        /// Index of the [`Object::Socket`].
        sock: ObjId,
        /// Message size, at least 1.
        bytes: u32,
    },
    /// Blocking receive of exactly this many bytes.
    SockRecv {
        /// Index of the [`Object::Socket`].
        sock: ObjId,
        /// Bytes, at least 1.
        bytes: u32,
    },
    /// poll(): waits until a pipe or socket has something to read, and leaves it there. A writer wakes all threads that
    /// poll, last come first, sync.
    Poll(ObjId),
    /// Stores into a futex word without a system call.
    FutexStore {
        /// Index of the [`Object::Futex`].
        futex: ObjId,
        /// Value that is stored.
        value: u32,
    },
    /// Sleeps while the word has the expected value.
    FutexWait {
        /// Index of the [`Object::Futex`].
        futex: ObjId,
        /// Value to sleep on.
        expected: u32,
    },
    /// Wakes up to `count` sleepers, longest waiting first.
    FutexWake {
        /// Index of the [`Object::Futex`].
        futex: ObjId,
        /// Most sleepers that are woken.
        count: u32,
    },
    /// Locks a mutex; sleeps while another thread holds it.
    Lock(ObjId),
    /// Unlocks a mutex that this thread holds.
    Unlock(ObjId),
    /// Releases the mutex, waits for a signal, takes the mutex again. Without a mutex: just waits.
    CondWait {
        /// Index of the condition variable.
        cond: ObjId,
        /// A mutex this thread holds.
        mutex: Option<ObjId>,
    },
    /// Wakes one waiter, if any.
    Signal(ObjId),
    /// Wakes all waiters of a condition variable (pthread_cond_broadcast).
    Broadcast(ObjId),
    /// Waits at a barrier.
    BarrierWait(ObjId),
    /// Stands first in the program of a recorded thread: what the steps cost that follow is contained in the work
    /// between them ([`Op::Work`]), so that they cost nothing of their own.
    Recorded,
    /// Of a recorded thread: keeps a CPU until as much work could have been done since the last such step ended, at the
    /// speed it has, work ps. Time that the kernel takes while the thread is current (switching to it, interrupts, its
    /// own system calls and wakeups) counts, as it did when the work was measured.
    Work(u64),
    /// Of a recorded thread: adds one to a semaphore, and wakes who waits longest.
    Rouse {
        /// Index of the [`Object::Semaphore`].
        sem: ObjId,
        /// The waker is about to sleep, and says so (WF_SYNC).
        sync: bool,
    },
    /// Of a recorded thread: sleeps for good, and keeps the run alive no longer.
    Rest,
    /// Takes one from a semaphore, waiting while it is 0.
    SemWait(ObjId),
    /// Adds one to a semaphore.
    SemPost(ObjId),
    /// Calls sched_yield(2).
    Yield,
    /// Creates threads of a template: clone() or fork().
    Spawn {
        /// Index of the children's template.
        spec: SpecId,
        /// How many, created one after another.
        count: u32,
        /// Threads of this address space; processes otherwise.
        thread: bool,
    },
    /// Replaces the program's address space (exec balance happens); the program goes on.
    Exec,
    /// Waits until all children have exited; grandchildren do not count.
    WaitChildren,
    /// wait(): until one more child has exited; nothing if all have been waited for.
    WaitChild,
    /// Ends the thread that executes it, at once.
    Exit,
    /// Changes policy, nice, priority and clamps.
    SetAttr(SchedAttr),
    /// Changes the utilisation floor alone, to one of these values, drawn per use from the run's seed.
    DrawUclampMin(Arc<[ClampOdds]>),
    /// Changes the thread's CPU affinity (sched_setaffinity).
    SetAffinity(CpuMask),
    /// Writes a clamp of a task group, its own or another.
    SetGroupClamp(GroupClamp),
    /// Writes the cpuset of a task group, its own or another. Threads of it and of groups within are moved off CPUs
    /// that they may not use any more.
    SetGroupCpus(GroupCpus),
    /// Runs the steps up to the matching [`Op::EndLoop`] this many times; `None`: for ever.
    Loop {
        /// Repetitions; 0 skips the body.
        times: Option<u64>,
        /// Index of the step after the matching [`Op::EndLoop`].
        end: u32,
    },
    /// End of a loop body.
    EndLoop {
        /// Index of the matching [`Op::Loop`].
        begin: u32,
    },
    /// Sets a mark for the statistics.
    Mark(Mark),
    /// Reads the clock into a [`Object::Stamp`].
    Stamp(ObjId),
    /// Notes in a [`Object::Stamp`] the clock reading of its last call ([`Op::CallListed`]).
    StampCall(ObjId),
    /// Reads the clock and reports the time since an instant.
    Sample {
        /// Start of the measured interval.
        since: Since,
        /// Where the measured time is added.
        to: Report,
    },
    /// Reports the mean of what a [`Object::Tally`] has summed up, in whole ticks of its series' clock, and empties it;
    /// nothing if it is empty.
    Conclude(ObjId),
    /// Puts itself on a [`Object::Roster`], wakes its keeper if that sleeps, and sleeps until called.
    Enlist(ObjId),
    /// Reads the clock once, then wakes all who are on the roster now, one futex call each.
    CallListed(ObjId),
    /// Sleeps while the roster is empty.
    AwaitListed(ObjId),
    /// Takes an [`Object::Ticket`] lock or an [`Object::KernelMutex`], holds it for a while and gives it up.
    Serial {
        /// Index of the [`Object::Ticket`] or [`Object::KernelMutex`].
        lock: ObjId,
        /// Work while the lock is held, work ns.
        hold: Amount,
        /// Cache lines under it that the last holder has modified: they come over from its CPU first.
        lines: u32,
    },
}

impl Op {
    /// Whether it may stand before the part of a program that a timer's periods count from ([`Object::Timer`]).
    pub fn may_lead(&self) -> bool {
        matches!(
            self,
            Op::Sleep(_)
                | Op::SleepUntil(_)
                | Op::BarrierWait(_)
                | Op::SetAttr(_)
                | Op::DrawUclampMin(_)
                | Op::SetAffinity(_)
                | Op::Mark(_)
        )
    }

    /// The same step `by` steps further down a program: loops refer to steps by index.
    pub(crate) fn shifted(&self, by: u32) -> Op {
        match self {
            Op::Loop { times, end } => Op::Loop { times: *times, end: end + by },
            Op::EndLoop { begin } => Op::EndLoop { begin: begin + by },
            other => other.clone(),
        }
    }
}

/// The instant from which a sample counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Since {
    /// When its creator began to create the thread; of a thread of the start, when that was made.
    Birth,
    /// The clock reading of its last call ([`Op::CallListed`]).
    Call,
    /// What is noted in a [`Object::Stamp`].
    Stamp(ObjId),
}

/// What a sample is reported to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// To a series, as a sample of it.
    Series(SeriesId),
    /// To an [`Object::Tally`], which adds it up.
    Tally(ObjId),
    /// To a phase of [`Points`].
    Phase(PhaseId),
}

/// A mark by which a program delimits what is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mark {
    /// The measured window begins.
    Begin,
    /// The start-up transient is over (counted from here: migrations per op).
    Steady,
    /// One operation is done.
    Op,
    /// The measured window ends.
    End,
}

/// A device that interrupts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IrqSource {
    /// Name of the device, for messages and traces.
    pub name: String,
    /// CPU that takes the interrupt.
    pub cpu: CpuId,
    /// Time between interrupts, ns; at least 1000.
    pub period: Amount,
    /// Time in the handler, work ns.
    pub busy: Amount,
    /// A semaphore the handler posts (a wake from interrupt context).
    pub posts: Option<ObjId>,
}

/// Who limits a frequency; determines how the scheduler learns of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CapSource {
    /// A cooling device, through cpufreq.
    Cooling,
    /// The hardware or its firmware, on its own.
    Hardware,
    /// The user, through cpufreq (scaling_max_freq).
    User,
}

/// A limit of the frequency of some CPUs, for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrequencyCap {
    /// CPUs; with each all that share its clock.
    pub cpus: CpuMask,
    /// Highest frequency, kHz, at least that of the lowest operating point: no higher operating point is used.
    pub max_khz: u32,
    /// Begins at this virtual time, ns.
    pub from_ns: u64,
    /// End of the cap, ns of virtual time; `None`: it never ends.
    pub to_ns: Option<u64>,
    /// Who sets the cap: determines how schedulers learn of it.
    pub by: CapSource,
}

/// Some CPUs are offline for a while. They go down one after the other, the lowest first, and come up likewise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfflineSpan {
    /// CPUs of the machine, not all.
    pub cpus: CpuMask,
    /// They begin to go offline at this virtual time, ns, at least [`FIRST_OFFLINE_NS`].
    pub from_ns: u64,
    /// They come back online at this virtual time, ns, or as soon as they have gone if that is later; `None`: they stay
    /// offline.
    pub to_ns: Option<u64>,
}

/// The earliest time at which a CPU may go offline, ns: the workload's threads come into being within the first tick.
pub const FIRST_OFFLINE_NS: u64 = 10_000_000;

/// Builds a program with properly nested loops.
#[derive(Default)]
pub struct ProgramBuilder {
    ops: Vec<Op>,
}

impl ProgramBuilder {
    /// A builder without steps.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a step. Use [`Self::repeat`] for loops.
    pub fn op(&mut self, op: Op) -> &mut Self {
        self.ops.push(op);
        self
    }

    /// Appends a loop whose body `f` writes.
    pub fn repeat(&mut self, times: Option<u64>, f: impl FnOnce(&mut Self)) -> &mut Self {
        let begin = self.ops.len();
        self.ops.push(Op::Loop { times, end: 0 });
        f(self);
        self.ops.push(Op::EndLoop { begin: begin as u32 });
        let end = self.ops.len() as u32;
        self.ops[begin] = Op::Loop { times, end };
        self
    }

    /// The finished program; the builder is empty afterwards.
    pub fn build(&mut self) -> Arc<[Op]> {
        std::mem::take(&mut self.ops).into()
    }
}
