//! State of a thread in the engine.

use std::mem::offset_of;
use std::sync::Arc;

use fairground_machine::{CpuId, CpuMask};
use fairground_workload::{ObjId, Op, SchedAttr, SpecId};

use super::cache_model::CacheHistory;
use crate::{TaskId, Time};

/// Where a thread is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Born or woken, not yet on a run queue (perhaps on its way in a remote wake queue).
    Placing,
    /// On a run queue, not running.
    Queued,
    /// Current on a CPU.
    Running,
    Blocked(Wait),
    Dead,
}

/// What a sleeping thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    Timer(Time),
    Data(ObjId),
    Space(ObjId),
    Object(ObjId),
    Children,
    Child,
    Nothing,
}

/// The timer of a sleeping thread, on the CPU that armed it. In the order in which they run: by hard end, then as they were
/// armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SleepTimer {
    /// The CPU is interrupted then.
    pub hard: Time,
    /// Counts the timers, ticks included, that were armed until then on all CPUs.
    pub number: u64,
    /// No sleep ends before this.
    pub soft: Time,
    pub task: TaskId,
}

/// In the order of declaration: what nearly every event of a thread needs comes first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Task {
    /// Program and working set (KiB) of its spec: needed all the time, and there are as many specs as tasks may be.
    /// While the task takes its steps, the program is theirs: an atomic count for each would take longer than most.
    pub program: Option<Arc<[Op]>>,
    pub footprint_kib: u32,
    /// Class of its affinity in the waste meter.
    pub class: usize,
    /// Address space; `None` for kernel threads, which borrow any.
    pub space: Option<u32>,
    /// Identity for random draws: the same in two runs even if births interleave differently.
    pub lineage: u64,
    pub draws: u64,
    /// Software steps taken, for the draw of their spread.
    pub steps: u64,

    pub state: State,
    /// Its run queue, where it last was if asleep.
    pub rq: CpuId,
    /// The CPU on which it is current, from switch-in to switch-out.
    pub on_cpu: Option<CpuId>,

    pub pc: u32,
    /// Progress within the step; 0 at its start.
    pub phase: u8,
    /// Memory of the step: bytes still to read, children made, barrier generation.
    pub scratch: u64,
    /// Slept within this pipe or socket call.
    pub slept: bool,
    /// Is not preempted: holds a ticket lock or waits for it.
    pub atomic: bool,
    /// The kernel mutex it holds or spins for.
    pub mutex: Option<ObjId>,
    /// Remaining repetitions of the loops it is in, innermost last; `None`: for ever.
    pub loops: Vec<Option<u64>>,
    /// Own phases of per-task timers.
    pub timers: Vec<(ObjId, Time)>,

    /// Its program is a recorded one: time on a CPU is work, overhead or not, and its steps cost nothing.
    pub recorded: bool,
    /// Work done beyond what the program has asked for so far, work ns x 2^20; of recorded programs.
    pub ahead_q20: u64,

    /// Time that passes regardless of speed before the work goes on (cache lines, refill), ns.
    pub stall_ns: u64,
    /// Work left of the present piece, work ns x 2^20.
    pub work_q20: u64,
    /// The piece ends no earlier than this.
    pub wall_until: Time,

    /// How much later than asked its sleeps may end while it is not of a real-time class, ns.
    pub timer_slack_ns: u64,
    /// CPU and hard end of its armed timer.
    pub timer: Option<(CpuId, Time)>,
    /// When its events in the queue come, from timers with slack and without; [`Time::MAX`]: there is none.
    pub timer_events: [Time; 2],
    /// Where the periods of its timers begin: its birth or, later, the end of its last leading wait.
    pub first_period: Time,
    /// When its creator began to create it, as the creator's own clock shows; else when it was made.
    pub born_at: Time,
    /// Since when it has been creating a child.
    pub creating_since: Option<Time>,
    /// Only waits and settings of its own so far: `first_period` may still move.
    pub leading: bool,
    /// Virtual time at which the pending wakeup began, ns; `None` if none is pending.
    pub woken_at: Option<Time>,
    pub queued_at: Time,
    /// Time on a CPU, overhead not included, ns.
    pub run_ns: u64,

    /// The caches that hold parts of the task's working set.
    pub history: CacheHistory,

    // What few events need.
    /// The CPUs that it may use.
    pub affinity: CpuMask,
    /// What it asked for by sched_setaffinity, whatever its cpuset allows (user_cpus_ptr).
    pub asked: Option<CpuMask>,
    pub attr: SchedAttr,
    pub spec: SpecId,
    pub parent: Option<TaskId>,
    /// Created as a thread of its parent's address space.
    pub thread: bool,
    pub live_children: u32,
    /// Children that have exited and were not waited for.
    pub zombies: u32,
    pub born: u64,
    /// When the CPU on which it is was forbidden to it.
    pub moving_since: Option<Time>,
    /// The clock when it was last called from a roster.
    pub called_at: Time,
    pub preemptions: u64,
}

impl Task {
    /// Bytes in front that most events of a thread need.
    pub const HOT: usize = offset_of!(Task, affinity);

    /// Lets `dt` ns pass at a speed: stall first, then work.
    pub fn progress(&mut self, dt: u64, speed_q20: u64) {
        let stalled = dt.min(self.stall_ns);
        self.stall_ns -= stalled;
        let done = (dt - stalled).saturating_mul(speed_q20);
        if self.recorded {
            self.ahead_q20 = self.ahead_q20.saturating_add(done.saturating_sub(self.work_q20));
        }
        self.work_q20 = self.work_q20.saturating_sub(done);
    }

    /// When the present piece ends if it goes on at `start` at this speed.
    pub fn done_at(&self, start: Time, speed_q20: u64) -> Time {
        (start + self.stall_ns + self.work_q20.div_ceil(speed_q20)).max(self.wall_until)
    }

    /// Whether nothing of the present piece is left.
    pub fn is_done(&self, now: Time) -> bool {
        self.stall_ns == 0 && self.work_q20 == 0 && self.wall_until <= now
    }

    pub fn is_live(&self) -> bool {
        self.state != State::Dead
    }

    /// Sleeping, and nothing has woken it yet.
    pub fn is_blocked(&self) -> bool {
        matches!(self.state, State::Blocked(_))
    }
}

/// A task that nothing is known of yet.
pub(crate) fn unborn() -> Task {
    Task {
        spec: 0,
        program: None,
        footprint_kib: 0,
        attr: SchedAttr::default(),
        asked: None,
        affinity: CpuMask::single(0),
        class: 0,
        space: None,
        parent: None,
        thread: true,
        live_children: 0,
        zombies: 0,
        born: 0,
        lineage: 0,
        draws: 0,
        steps: 0,
        state: State::Placing,
        rq: 0,
        moving_since: None,
        on_cpu: None,
        history: CacheHistory::default(),
        pc: 0,
        phase: 0,
        scratch: 0,
        slept: false,
        atomic: false,
        mutex: None,
        called_at: 0,
        loops: Vec::new(),
        timers: Vec::new(),
        recorded: false,
        ahead_q20: 0,
        stall_ns: 0,
        work_q20: 0,
        wall_until: 0,
        timer_slack_ns: 0,
        timer: None,
        timer_events: [Time::MAX; 2],
        first_period: 0,
        born_at: 0,
        creating_since: None,
        leading: true,
        woken_at: None,
        queued_at: 0,
        run_ns: 0,
        preemptions: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 work ns behind a stall of 100 ns, at half speed: 100 + 2000 ns. After 600 ns: 250 work ns are done.
    #[test]
    fn a_stall_passes_before_the_work_and_regardless_of_speed() {
        let mut t = Task { stall_ns: 100, work_q20: 1000 << 20, ..unborn() };
        assert_eq!(t.done_at(0, 1 << 19), 2100);
        t.progress(600, 1 << 19);
        assert_eq!((t.stall_ns, t.work_q20 >> 20), (0, 750));
        assert_eq!(t.done_at(600, 1 << 20), 1350);
    }
}
