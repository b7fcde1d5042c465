//! Recordings: what threads were seen to do, step by step, so that it can be done again elsewhere.
//!
//! A [`Recording`] is a list of threads, each with a [`Tape`] of [`Step`]s: work, wakeups of others, births, sleeps and
//! what ended them. It comes from a trace, is written as a file ([`Recording::write`]) that is read like any workload,
//! and becomes a [`Workload`] of recorded programs ([`crate::Op::Recorded`]).
//!
//! Work is what a CPU of capacity 1024 at its top frequency would have done in the time for which the thread was
//! current. Part of that time was the kernel's: switching to it, interrupts, its own system calls, placing whom it
//! woke. A trace does not show how much. Work therefore *contains* these costs, and so do recorded programs when they
//! run: time that the kernel takes while such a thread is current counts as work done. Nothing is counted twice, and on
//! the machine and under the scheduler of the recording every step comes at its recorded moment. The price is that a
//! scheduler whose wakeups cost more does not make such a thread slower, unless they cost more than all the work that
//! follows.
//!
//! ```
//! use fairground_workload::recorded::{Recording, Step, Thread};
//!
//! let mut waker = Thread::new("waker-1", "waker", Some(0));
//! waker.tape.push(Step::Work(2_500_000)); // ps
//! waker.tape.push(Step::Wake { thread: 1, sync: false });
//! let mut woken = Thread::new("woken-2", "woken", Some(1));
//! woken.tape.push(Step::Await);
//! let recording = Recording { threads: vec![waker, woken], ..Recording::default() };
//! assert_eq!(recording.workload("two.json").start.len(), 2);
//! ```

mod tape;
mod write;

use std::sync::Arc;

use fairground_machine::CpuId;

use crate::program::*;

pub use tape::{Step, Tape};

/// Threads of a trace with what they did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// What it is a recording of, as keys with their values: the trace, its machine, scheduler and seed.
    pub about: Vec<(String, String)>,
    /// Notes: what was lost, guessed or left out.
    pub notes: Vec<String>,
    /// In the order in which they appeared.
    pub threads: Vec<Thread>,
}

/// A recorded thread: its names, its start and its steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// What the file calls it: no two have the same.
    pub name: String,
    /// Its comm, at most 15 characters in kernels.
    pub comm: String,
    /// The CPU it is born on as one of those that exist at the start; none: it is born where another thread's step
    /// says.
    pub born_on: Option<CpuId>,
    /// The CPU it is bound to as a per-CPU kernel thread.
    pub kthread_cpu: Option<CpuId>,
    /// Scheduling policy and priority.
    pub priority: Priority,
    /// Its steps in order.
    pub tape: Tape,
}

/// How a thread competes for a CPU, as far as the kernel's priority shows: not whether SCHED_BATCH or SCHED_IDLE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// SCHED_OTHER with this nice value, -20..=19.
    Nice(i8),
    /// SCHED_FIFO with this priority, 1..=99. Those of SCHED_RR look the same.
    RealTime(u8),
}

impl Default for Priority {
    fn default() -> Priority {
        Priority::Nice(0)
    }
}

impl Priority {
    fn attr(self) -> SchedAttr {
        match self {
            Priority::Nice(nice) => SchedAttr { nice, ..SchedAttr::default() },
            Priority::RealTime(rt_priority) => SchedAttr { policy: Policy::Fifo, rt_priority, ..SchedAttr::default() },
        }
    }
}

impl Thread {
    /// A thread without steps.
    pub fn new(name: &str, comm: &str, born_on: Option<CpuId>) -> Thread {
        Thread {
            name: name.into(),
            comm: comm.into(),
            born_on,
            kthread_cpu: None,
            priority: Priority::default(),
            tape: Tape::default(),
        }
    }
}

impl Recording {
    /// The value of a key of [`Self::about`].
    pub fn header_value(&self, key: &str) -> Option<&str> {
        self.about.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    /// The workload that repeats it: threads are templates of one thread each, in their order, and sleep on a semaphore
    /// of their own until as often woken as recorded. Wakeups that come before the sleep they end are kept.
    pub fn workload(&self, name: &str) -> Workload {
        let started =
            |(spec, t): (usize, &Thread)| Some(Start { spec: spec as SpecId, count: 1, cpu: t.born_on?, process: 0 });
        Workload {
            objects: vec![Object::Semaphore { value: 0 }; self.threads.len()],
            object_names: self.threads.iter().map(|t| t.name.clone()).collect(),
            tasks: self.threads.iter().enumerate().map(|(i, t)| spec(i as ObjId, t)).collect(),
            start: self.threads.iter().enumerate().filter_map(started).collect(),
            ..Workload::empty(name)
        }
    }
}

/// What the kernel keeps of a thread name, bytes.
const COMM_MAX: usize = 15;

/// The template of a thread that sleeps on semaphore `own`. Its caches are warm: what it waited for lines is contained
/// in its work.
fn spec(own: ObjId, thread: &Thread) -> TaskSpec {
    let op = |step| match step {
        Step::Work(ps) => Op::Work(ps),
        Step::Wake { thread, sync } => Op::Rouse { sem: thread, sync },
        Step::Await => Op::SemWait(own),
        Step::Until(ns) => Op::SleepUntil(ns),
        Step::Fork(spec) => Op::Spawn { spec, count: 1, thread: true },
        Step::Exec => Op::Exec,
        Step::Rest => Op::Rest,
    };
    let end = (0..=thread.comm.len().min(COMM_MAX)).rev().find(|i| thread.comm.is_char_boundary(*i)).unwrap_or(0);
    let program: Arc<[Op]> = std::iter::once(Op::Recorded).chain(thread.tape.steps().map(op)).collect();
    TaskSpec {
        attr: thread.priority.attr(),
        kthread_cpu: thread.kthread_cpu,
        // The recorded end of a sleep is when the timer fired.
        timer_slack_ns: 0,
        ..TaskSpec::new(&thread.comm[..end], 0, program)
    }
}
