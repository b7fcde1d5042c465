//! State of a thread while its trace is imported.

use fairground_machine::CpuId;
use fairground_workload::recorded::{Step, Thread as Recorded};
use fairground_workload::MAX_DURATION_NS;

/// Most work of one step, ps: the limit for steps in a file, which is a whole number of microseconds.
const LONGEST_PS: u64 = MAX_DURATION_NS / 1000 * 1_000_000;

/// State of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Current on this CPU.
    Running(CpuId),
    /// Runnable, or about to be, since this time, ns of the trace.
    Waiting(u64),
    /// Asleep since this time, ns of the trace.
    Asleep(u64),
    /// Exiting on this CPU: what follows is its last time on a CPU.
    Exiting(CpuId),
}

/// A thread that has not exited.
pub(super) struct Task {
    /// Index among the threads of the recording.
    pub index: u32,
    pub state: State,
    /// Whether an exec event marked the start of its program.
    pub exec_told: bool,
    /// Whether its priority is known from an event.
    pub prio_told: bool,
    /// The step that ended a sleep before the sleep began.
    pub roused: Option<Step>,
    /// Number of wakeups while the waker's CPU idled.
    pub woken_in_idle: u64,
    /// Number of wakeups where a thread was current.
    pub woken_in_thread: u64,
    /// Whether the trace has an event that this thread caused.
    pub acts: bool,
    /// Whether it has left a CPU without an event.
    pub has_left_unseen: bool,
    /// Whether every switch to it since its last sleep was recorded.
    pub seen_whole: bool,
    /// Run time since its last sleep, ns.
    run_ns: u64,
    /// Run time between two sleeps with all switches recorded: the sum, ns, and the number.
    whole: (u64, u64),
    /// Work done that is not in the recording yet, work ns x 2^20.
    work_q20: u64,
}

impl Task {
    pub fn new(index: u32, state: State) -> Task {
        Task {
            index,
            state,
            exec_told: false,
            prio_told: false,
            roused: None,
            woken_in_idle: 0,
            woken_in_thread: 0,
            acts: false,
            has_left_unseen: false,
            seen_whole: false,
            run_ns: 0,
            whole: (0, 0),
            work_q20: 0,
        }
    }

    /// It goes to sleep, and has run since it last did.
    pub fn sleeps(&mut self) {
        let ns = std::mem::take(&mut self.run_ns);
        if std::mem::replace(&mut self.seen_whole, true) {
            self.whole = (self.whole.0.saturating_add(ns), self.whole.1 + 1);
        }
    }

    /// How long it runs between two sleeps, on average of those seen whole, ns; 0 if none was.
    pub fn usual_ns(&self) -> u64 {
        self.whole.0 / self.whole.1.max(1)
    }

    /// It was current for `ns` at a speed.
    pub fn credit(&mut self, ns: u64, speed_q20: u64) {
        self.run_ns = self.run_ns.saturating_add(ns);
        self.work_q20 = self.work_q20.saturating_add(ns.saturating_mul(speed_q20));
    }

    /// Puts work that was done on the tape. Fractions of a picosecond are kept for the next time, so that a repetition
    /// is never ahead of the recording, nor behind it by a nanosecond.
    pub fn flush(&mut self, threads: &mut [Recorded]) {
        let ps = ((u128::from(self.work_q20) * 1000) >> 20) as u64;
        self.work_q20 -= ((u128::from(ps) << 20) / 1000) as u64;
        let mut left = ps;
        while left > 0 {
            let step = left.min(LONGEST_PS);
            threads[self.index as usize].tape.push(Step::Work(step));
            left -= step;
        }
    }
}

/// A kernel thread that only carries out what a scheduler decides.
pub fn is_stopper(comm: &str) -> bool {
    comm.starts_with("migration/")
}

/// Names of kernel threads that each CPU has one of, up to the slash.
const PER_CPU: &[&str] = &["ksoftirqd", "kworker", "cpuhp", "rcuc", "idle_inject"];

/// The CPU that a kernel thread belongs to, by its name: `ksoftirqd/3`, `kworker/3:1-events`, not `kworker/u8:2`.
pub fn kthread_cpu(comm: &str) -> Option<CpuId> {
    let (kind, rest) = comm.split_once('/')?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let ends_there = rest.len() == end || rest[end..].starts_with(':');
    (PER_CPU.contains(&kind) && ends_there).then(|| rest[..end].parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_threads_of_a_cpu_are_known_by_their_names() {
        let names = ["ksoftirqd/3", "kworker/12:1-events", "kworker/u8:2", "irq/44-mmc0", "kworker/3H", "build/3"];
        assert_eq!(names.map(kthread_cpu), [Some(3), Some(12), None, None, None, None]);
        assert!(is_stopper("migration/0") && !is_stopper("migrate"));
    }

    /// Threads of hours without a switch: each step is one that can be read.
    #[test]
    fn work_longer_than_a_step_may_be_is_several() {
        let mut threads = [Recorded::new("a-1", "a", None)];
        let mut task = Task::new(0, State::Waiting(0));
        task.credit(MAX_DURATION_NS, 1 << 20);
        task.credit(MAX_DURATION_NS, 1 << 20);
        task.flush(&mut threads);
        let steps: Vec<Step> = threads[0].tape.steps().collect();
        assert!(steps.len() > 1 && steps.iter().all(|s| matches!(s, Step::Work(ps) if *ps <= LONGEST_PS)), "{steps:?}");
    }

    /// Three times a third of a CPU's speed for 1 ns: 0.333 + 0.333 + 0.334 is not lost.
    #[test]
    fn fractions_of_work_are_kept() {
        let mut threads = [Recorded::new("a-1", "a", None)];
        let mut task = Task::new(0, State::Waiting(0));
        for _ in 0..3 {
            task.credit(1, (1 << 20) / 3 + 1);
            task.flush(&mut threads);
        }
        let steps: Vec<Step> = threads[0].tape.steps().collect();
        assert_eq!(steps, [Step::Work(333), Step::Work(333), Step::Work(334)]);
    }
}
