//! Checkers of a run and the meter of wasted core time. They see events and counts, never the engine's or a scheduler's
//! state.

use fairground_machine::{CpuId, CpuMask};

use crate::{Event, EventKind, Observer, SwitchState, TaskId, Time};

/// Wasted core time: for how long, and on how many CPUs at once, threads wait while CPUs idle that they may use.
///
/// At any time let *waiting* be the threads on a run queue that are not running, and *idle* the CPUs whose current
/// task is the idle task. An idle CPU to which a thread was enqueued is on its way to run it: such a CPU (until it
/// switches) and the first thread enqueued to it are neither waiting nor idle here, their delay is wakeup latency.
/// Threads in a remote wake queue are not yet waiting. Group the threads by affinity. Then
///
/// ```text
/// wasted = integral of  min( idle CPUs,  sum over affinities a of min(waiting threads of a, idle CPUs in a) )  dt
/// ```
///
/// in core-ns. Exact where affinities are equal or disjoint; an upper bound where they overlap. Kept incrementally: a
/// change costs one step per affinity that contains the CPU.
#[derive(Clone, Debug)]
pub struct WasteMeter {
    groups: Vec<Group>,
    cpus: Vec<CpuIdleness>,
    nr_idle: u64,
    /// The sum over affinities in the formula.
    placeable: u64,
    since: Time,
    total_ns: u64,
}

#[derive(Clone, Debug, Default)]
struct CpuIdleness {
    idle: bool,
    /// Groups that contain the CPU.
    groups: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Group {
    mask: CpuMask,
    waiting: u64,
    idle: u64,
}

impl Group {
    fn placeable(&self) -> u64 {
        self.waiting.min(self.idle)
    }
}

impl WasteMeter {
    /// For `nr_cpus` CPUs, none of which idles.
    pub fn new(nr_cpus: usize) -> Self {
        WasteMeter {
            groups: Vec::new(),
            cpus: vec![CpuIdleness::default(); nr_cpus],
            nr_idle: 0,
            placeable: 0,
            since: 0,
            total_ns: 0,
        }
    }

    /// Index of the group of an affinity, made if it is new. Linear in the number of different affinities; called when a
    /// thread is created or changes its affinity.
    pub fn class_of(&mut self, mask: &CpuMask) -> usize {
        if let Some(known) = self.groups.iter().position(|g| g.mask == *mask) {
            return known;
        }
        let id = self.groups.len();
        let mut idle = 0;
        let known = self.cpus.len();
        for cpu in mask.iter().filter(|c| (*c as usize) < known) {
            let on = &mut self.cpus[cpu as usize];
            on.groups.push(id);
            idle += u64::from(on.idle);
        }
        self.groups.push(Group { mask: *mask, waiting: 0, idle });
        id
    }

    fn advance(&mut self, now: Time) {
        self.total_ns += self.placeable.min(self.nr_idle) * (now - self.since);
        self.since = now;
    }

    /// A CPU begins (`idle`) or ceases to idle, in the sense of the formula.
    pub fn set_idle(&mut self, now: Time, cpu: CpuId, idle: bool) {
        if std::mem::replace(&mut self.cpus[cpu as usize].idle, idle) == idle {
            return;
        }
        self.advance(now);
        self.nr_idle = self.nr_idle.wrapping_add_signed(if idle { 1 } else { -1 });
        for id in &self.cpus[cpu as usize].groups {
            let g = &mut self.groups[*id];
            self.placeable -= g.placeable();
            g.idle = g.idle.wrapping_add_signed(if idle { 1 } else { -1 });
            self.placeable += g.placeable();
        }
    }

    /// A thread of the group `class` starts (+1) or ceases (-1) to wait.
    pub fn add_waiting(&mut self, now: Time, class: usize, change: i64) {
        self.advance(now);
        let g = &mut self.groups[class];
        self.placeable -= g.placeable();
        g.waiting = g.waiting.wrapping_add_signed(change);
        self.placeable += g.placeable();
    }

    /// Core time that was wasted until `now`, ns.
    pub fn total_ns(&mut self, now: Time) -> u64 {
        self.advance(now);
        self.total_ns
    }
}

/// State of a task by the last event about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TaskState {
    Unborn,
    Waiting,
    On(CpuId),
    Asleep,
    Dead,
}

/// Follows the event stream and holds: times never decrease; a CPU's switches chain; no task runs on two CPUs, after
/// its death, or without having been woken; nothing runs on a CPU that is offline.
#[derive(Clone, Debug)]
pub struct EventChecker {
    time: Time,
    current: Vec<Option<TaskId>>,
    offline: CpuMask,
    tasks: Vec<TaskState>,
    error: Option<String>,
}

impl EventChecker {
    /// For `nr_cpus` CPUs that idle, and no tasks.
    pub fn new(nr_cpus: usize) -> Self {
        EventChecker { time: 0, current: vec![None; nr_cpus], offline: CpuMask::EMPTY, tasks: Vec::new(), error: None }
    }

    /// The first rule that an event broke; `None` if none did.
    pub fn take_error(&mut self) -> Option<String> {
        self.error.take()
    }

    fn seen(&mut self, task: TaskId) -> &mut TaskState {
        if self.tasks.len() <= task as usize {
            self.tasks.resize(task as usize + 1, TaskState::Unborn);
        }
        &mut self.tasks[task as usize]
    }

    fn breach(&mut self, event: &Event, what: String) {
        self.error.get_or_insert_with(|| format!("{what} ({event:?})"));
    }

    fn switch(&mut self, event: &Event, prev: Option<TaskId>, state: SwitchState, next: Option<TaskId>) {
        let cpu = event.cpu as usize;
        if self.current[cpu] != prev {
            let was = self.current[cpu];
            self.breach(event, format!("CPU {cpu} leaves {prev:?} but ran {was:?}"));
        }
        if let Some(prev) = prev {
            *self.seen(prev) = match state {
                SwitchState::Runnable => TaskState::Waiting,
                SwitchState::Sleeping => TaskState::Asleep,
                SwitchState::Dead => TaskState::Dead,
            };
        }
        if let Some(next) = next {
            if self.offline.test(event.cpu) {
                self.breach(event, format!("task {next} starts on CPU {cpu}, which is offline"));
            }
            let was = *self.seen(next);
            if was != TaskState::Waiting {
                self.breach(event, format!("task {next} starts on CPU {cpu} but is {was:?}"));
            }
            *self.seen(next) = TaskState::On(event.cpu);
        }
        self.current[cpu] = next;
    }
}

impl Observer for EventChecker {
    #[inline]
    fn event(&mut self, event: &Event) {
        if event.time < self.time {
            self.breach(event, format!("time went back from {} ns", self.time));
        }
        self.time = event.time;
        match event.kind {
            EventKind::Switch { prev, prev_state, next, .. } => self.switch(event, prev, prev_state, next),
            EventKind::Online(true) => self.offline.clear(event.cpu),
            EventKind::Online(false) => {
                if let Some(task) = self.current[event.cpu as usize] {
                    self.breach(event, format!("CPU {} goes offline while task {task} runs there", event.cpu));
                }
                self.offline.set(event.cpu);
            }
            EventKind::Wakeup { task, .. } => {
                let was = *self.seen(task);
                if !matches!(was, TaskState::Unborn | TaskState::Asleep) {
                    self.breach(event, format!("task {task} is woken but is {was:?}"));
                }
                *self.seen(task) = TaskState::Waiting;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two threads wait for 10 ns while one CPU idles: 10 core-ns, not 20. Then both CPUs idle for 5 ns: 10 more.
    #[test]
    fn waste_is_bounded_by_threads_and_by_cpus() {
        let mut w = WasteMeter::new(2);
        let all = w.class_of(&CpuMask::first_n(2));
        w.set_idle(100, 1, true);
        w.add_waiting(100, all, 2);
        w.set_idle(110, 0, true);
        w.add_waiting(115, all, -2);
        assert_eq!(w.total_ns(200), 20);
    }

    /// A thread bound to CPU 0 does not make idle CPU 1 a waste.
    #[test]
    fn waste_respects_affinity() {
        let mut w = WasteMeter::new(2);
        let bound = w.class_of(&CpuMask::single(0));
        w.set_idle(0, 1, true);
        w.add_waiting(0, bound, 1);
        assert_eq!(w.total_ns(50), 0);
        w.set_idle(50, 0, true);
        assert_eq!(w.total_ns(57), 7);
    }

    #[test]
    fn affinities_beyond_16_bits_keep_apart() {
        let mut w = WasteMeter::new(2);
        w.groups = vec![Group { mask: CpuMask::single(0), waiting: 0, idle: 0 }; 1 << 16];
        assert_eq!((w.class_of(&CpuMask::single(1)), w.class_of(&CpuMask::single(0))), (1 << 16, 0));
    }

    #[test]
    fn a_task_on_two_cpus_is_seen() {
        let mut c = EventChecker::new(2);
        let ev = |cpu, kind| Event { time: 1, cpu, kind };
        let switch = EventKind::Switch { prev: None, prev_state: SwitchState::Runnable, next: Some(0), cost: 0 };
        c.event(&ev(0, EventKind::Wakeup { task: 0, target: 0 }));
        c.event(&ev(0, switch));
        assert_eq!(c.take_error(), None);
        c.event(&ev(1, switch));
        assert!(c.take_error().is_some_and(|e| e.contains("On(0)")));
    }
}
