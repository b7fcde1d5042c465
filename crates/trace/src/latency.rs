//! Scheduling latencies of tasks, as `perf sched latency` counts them.
//!
//! A wait begins when a sleeper is woken (sched_wakeup, sched_wakeup_new), or when a task is switched away while
//! runnable. It ends when the task is switched to. A wakeup of a task that is not asleep is ignored. A task whose first
//! event is the switch to it has waited 0. Run time is the sum of sched_stat_runtime if the trace has such events, else
//! the time from switch to switch.
//!
//! In our traces a preempted task waits from the decision to switch it away. A wait ends when the task runs, after the
//! cost of the switch: waits are the run delays that the simulator measures.
//!
//! Where no sched_wakeup follows a sched_waking (`perf sched record` does not record sched_wakeup), the wait begins at
//! the sched_waking, or when the task goes to sleep if it was woken on its way there.
//!
//! DEVIATION from perf of Linux 6.1: a task whose state is R+ (preempted) is runnable; that perf counts it as asleep.
//! That perf uses sched_wakeup alone; later ones use sched_waking wherever it is recorded, and their waits are longer
//! by the time from there to sched_wakeup.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::note::Note;
use crate::{AtDecision, EventSource, PrevState, Thread, TraceError, TraceEvent, TraceEventKind};

/// The waits of one task, or of several taken together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Time on a CPU, ns.
    pub runtime: u64,
    /// Number of waits that ended.
    pub count: u64,
    /// Sum of the durations, ns.
    pub total: u64,
    /// Longest duration, ns.
    pub max: u64,
    /// Start of the longest wait, ns of the trace.
    pub max_start: u64,
    /// End of the longest wait, ns of the trace.
    pub max_end: u64,
}

impl Waits {
    fn add(&mut self, start: u64, end: u64) {
        let wait = end - start;
        self.count += 1;
        self.total = self.total.saturating_add(wait);
        if wait > self.max {
            (self.max, self.max_start, self.max_end) = (wait, start, end);
        }
    }

    fn merge(&mut self, other: &Waits) {
        self.runtime = self.runtime.saturating_add(other.runtime);
        self.count += other.count;
        self.total = self.total.saturating_add(other.total);
        if other.max > self.max {
            (self.max, self.max_start, self.max_end) = (other.max, other.max_start, other.max_end);
        }
    }

    /// Mean duration of a wait, ns; 0 without waits.
    pub fn mean(&self) -> u64 {
        self.total.checked_div(self.count).unwrap_or(0)
    }
}

/// Grouping of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// All threads with the same name.
    Comm,
    /// Each thread by pid.
    Pid,
    /// The CPU on which a wait ended.
    Cpu,
}

/// One row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// `name:pid`, `name:(tasks)` or `CPU n`.
    pub name: String,
    /// Waits of this row.
    pub waits: Waits,
}

/// State of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Asleep since this time, ns.
    Asleep(u64),
    Waiting(u64),
    /// On this CPU since this time, ns.
    Running(u32, u64),
}

struct Task {
    comm: String,
    state: State,
    /// The last sched_waking, if neither sched_wakeup nor a switch to the task has followed it.
    roused: Option<u64>,
    waits: BTreeMap<u32, Waits>,
    /// Run time by CPU, ns, from sched_stat_runtime.
    stat_runtime: BTreeMap<u32, u64>,
}

impl Task {
    fn new(state: State) -> Task {
        Task { comm: String::new(), state, roused: None, waits: BTreeMap::new(), stat_runtime: BTreeMap::new() }
    }
}

/// The waits of a trace.
#[derive(Default)]
pub struct Latency {
    tasks: BTreeMap<u32, Task>,
    has_runtime: bool,
    /// Number of waits that begin at sched_waking.
    from_waking: u64,
    /// Number of waits that end before they begin.
    backwards: u64,
}

impl Latency {
    /// Reads a trace to its end.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn read<S: EventSource>(reader: &mut S) -> Result<Latency, TraceError> {
        let (mut latency, mut order) = (Latency::default(), AtDecision::default());
        while let Some(event) = reader.next_event()? {
            order.event(&event).and_then(|event| latency.event(&event));
        }
        Ok(latency)
    }

    /// Adds an event; switches must be as [`AtDecision`] gives them. Returns the duration of the wait that the event
    /// ends, ns.
    pub fn event(&mut self, event: &TraceEvent) -> Option<u64> {
        match event.what {
            TraceEventKind::Switch { prev, left, next, cost, .. } => {
                // The idle tasks share pid 0 and never wait.
                if prev.pid != 0 {
                    self.switch_out(event, prev, left);
                }
                if next.pid != 0 {
                    return self.switch_in(event.cpu, event.time.saturating_add(cost), next);
                }
            }
            TraceEventKind::Waking { task, .. } => self.task(task, State::Asleep(event.time)).roused = Some(event.time),
            TraceEventKind::Wakeup { task, .. } => self.wake(event, task),
            TraceEventKind::Runtime { task, ns } => {
                self.has_runtime = true;
                let runtime = self.task(task, State::Waiting(event.time)).stat_runtime.entry(event.cpu).or_default();
                *runtime = runtime.saturating_add(ns);
            }
            TraceEventKind::Migrate { .. }
            | TraceEventKind::Idle { .. }
            | TraceEventKind::Fork { .. }
            | TraceEventKind::Exec { .. }
            | TraceEventKind::Exit { .. } => {}
            TraceEventKind::Frequency { .. }
            | TraceEventKind::Clamps { .. }
            | TraceEventKind::Signals { .. }
            | TraceEventKind::Print(_) => {}
        }
        None
    }

    fn task(&mut self, thread: Thread, first: State) -> &mut Task {
        let task = self.tasks.entry(thread.pid).or_insert_with(|| Task::new(first));
        if task.comm != thread.comm {
            thread.comm.clone_into(&mut task.comm);
        }
        task
    }

    fn switch_out(&mut self, event: &TraceEvent, prev: Thread, left: PrevState) {
        let after = match left {
            PrevState::Runnable => State::Waiting(event.time),
            PrevState::Sleeping => State::Asleep(event.time),
        };
        let task = self.task(prev, after);
        if let State::Running(cpu, since) = std::mem::replace(&mut task.state, after) {
            let waits = task.waits.entry(cpu).or_default();
            waits.runtime = waits.runtime.saturating_add(event.time.saturating_sub(since));
        }
    }

    /// Ends the wait of `next`, which runs from `now` on, ns.
    fn switch_in(&mut self, cpu: u32, now: u64, next: Thread) -> Option<u64> {
        let task = self.task(next, State::Waiting(now));
        let (before, roused) = (task.state, task.roused.take());
        task.state = State::Running(cpu, now);
        let start = match before {
            State::Waiting(start) => start,
            State::Asleep(since) => roused?.max(since),
            State::Running(..) => return None,
        };
        if start > now {
            self.backwards += 1;
            return None;
        }
        task.waits.entry(cpu).or_default().add(start, now);
        self.from_waking += u64::from(matches!(before, State::Asleep(_)));
        Some(now - start)
    }

    fn wake(&mut self, event: &TraceEvent, woken: Thread) {
        let task = self.task(woken, State::Asleep(event.time));
        task.roused = None;
        if let State::Asleep(_) = task.state {
            task.state = State::Waiting(event.time);
        }
    }

    /// Pid, CPU, and the task's waits and run time there.
    fn cells(&self) -> impl Iterator<Item = (u32, u32, Waits)> + '_ {
        self.tasks.iter().flat_map(|(pid, task)| {
            let mut cells = task.waits.clone();
            if self.has_runtime {
                cells.values_mut().for_each(|w| w.runtime = 0);
                for (cpu, ns) in &task.stat_runtime {
                    cells.entry(*cpu).or_default().runtime = *ns;
                }
            }
            cells.into_iter().map(|(cpu, waits)| (*pid, cpu, waits))
        })
    }

    /// Rows that waited, as perf sorts them: by average, longest, count and run time, greatest first; what is equal in
    /// all of these by name, last first.
    pub fn rows(&self, by: By) -> Vec<Row> {
        let mut rows = match by {
            By::Cpu => self.by_cpu().into_iter().map(|(cpu, waits)| row(format!("CPU {cpu}"), waits)).collect(),
            By::Pid => self.by_pid().into_iter().map(|(pid, (comm, w))| row(format!("{comm}:{pid}"), w)).collect(),
            By::Comm => self.by_comm(),
        };
        rows.retain(|r: &Row| r.waits.count > 0);
        rows.reverse();
        rows.sort_by_key(|r| Reverse((r.waits.mean(), r.waits.max, r.waits.count, r.waits.runtime)));
        rows
    }

    /// Every CPU on which a task ran, with the waits that ended there.
    pub fn by_cpu(&self) -> BTreeMap<u32, Waits> {
        let mut sums = BTreeMap::<u32, Waits>::new();
        self.cells().for_each(|(_, cpu, waits)| sums.entry(cpu).or_default().merge(&waits));
        sums
    }

    /// Every task by its pid, with its name, waiting or not: perf counts them all in `name:(tasks)`.
    pub fn by_pid(&self) -> BTreeMap<u32, (&str, Waits)> {
        let tasks = self.tasks.iter().map(|(pid, task)| (*pid, (task.comm.as_str(), Waits::default())));
        let mut sums: BTreeMap<_, _> = tasks.collect();
        self.cells().for_each(|(pid, _, cell)| {
            if let Some((_, waits)) = sums.get_mut(&pid) {
                waits.merge(&cell);
            }
        });
        sums
    }

    fn by_comm(&self) -> Vec<Row> {
        let mut sums = BTreeMap::<&str, (Vec<u32>, Waits)>::new();
        for (pid, (comm, waits)) in self.by_pid() {
            let (pids, sum) = sums.entry(comm).or_default();
            pids.push(pid);
            sum.merge(&waits);
        }
        let name = |comm: &str, pids: &[u32]| match pids {
            [pid] => format!("{comm}:{pid}"),
            _ => format!("{comm}:({})", pids.len()),
        };
        sums.into_iter().map(|(comm, (pids, waits))| row(name(comm, &pids), waits)).collect()
    }

    /// Notes on the rows.
    pub fn notes(&self) -> Vec<Note> {
        let counted = [
            (
                self.from_waking,
                "waits are counted from sched_waking, as no sched_wakeup follows it: choosing a CPU is in them",
            ),
            (self.backwards, "waits end before they begin and are left out: the trace is not in time order"),
        ];
        Note::losses(&counted)
    }
}

/// Sums up all rows.
pub fn total(rows: &[Row]) -> Waits {
    let mut sum = Waits::default();
    rows.iter().for_each(|row| sum.merge(&row.waits));
    sum
}

fn row(name: String, waits: Waits) -> Row {
    Row { name, waits }
}

#[cfg(test)]
mod tests;
