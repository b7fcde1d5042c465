//! Imports a trace as a workload that repeats it ([`Recording`]).
//!
//! What a thread does is read from `sched_switch`, `sched_waking`, `sched_wakeup` and `_new`, `sched_process_fork`,
//! `_exec` and `_exit`; how fast it did it from `cpu_frequency` and `cpu_idle` and the machine:
//!
//! ```text
//! current on a CPU         work, at the speed the CPU then had: capacity x frequency x the share its siblings leave
//! switched away runnable   nothing: preemption is not sleep, and is the scheduler's to repeat
//! switched away asleep     a sleep. What ends it is its sched_waking:
//!   by the thread current there   Wake in that thread's steps, after the work it had done by then; Await in this one's
//!   by an interrupt               Until the moment of the interrupt: a timer's, or a device's, which is not recorded
//! ```
//!
//! An interrupt is known by the flags of the event, by an idle CPU, and in our own traces by `fairground_woken`. One that
//! found its CPU idle came before `sched_waking` by the time that the CPU takes to wake up, which the machine knows: the
//! sleep ends that much earlier. What woke the rest is taken for the thread that was current; where a trace has no flags it
//! may only have been interrupted, and whom idle CPUs often wake is then taken to be woken by interrupts.
//!
//! In our own traces a switch counts where it was decided ([`AtDecision`]): the run that repeats it has the same costs
//! behind that again.
//!
//! Events that a recording lacks are inferred (`missing_events`): a thread that appears on a CPU whose idle task was
//! current was switched to in between, and a thread that was switched to has left when another one appears there.
//!
//! Idle tasks and `migration/N` are the scheduler's and left out; their wakeups count as interrupts. Other kernel threads
//! are threads like any other, those of a CPU (`ksoftirqd/N`, `kworker/N:M`) bound to it. A thread that is not born in the
//! trace exists from its beginning, asleep if it is first seen as it is woken. One that has not exited by the end of the
//! trace sleeps for good then.

mod follow;
mod missing_events;
mod speed;
mod task;
mod task_filter;

use std::collections::{BTreeMap, BTreeSet};

use fairground_machine::{CpuId, Machine};
use fairground_workload::recorded::{Priority, Recording, Step, Thread as Recorded};
use fairground_workload::{MAX_DURATION_NS, MAX_TASKS};

use crate::explain::seconds;
use crate::note::Note;
use crate::text::{Thread, TraceEvent, TraceEventKind};
use crate::AtDecision;
use missing_events::Idler;
pub use missing_events::InferredEvent;
use speed::Speeds;
pub use task::{is_stopper, kthread_cpu};
use task::{State, Task};
use task_filter::TaskFilter;

/// Bytes of a name; the kernel's have 15.
const NAME_MAX: usize = 255;

/// The part of a trace that is imported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only threads whose names contain one of these; empty: all.
    pub parts: Vec<String>,
    /// Start of the window, ns after the trace's first event.
    pub from_ns: u64,
    /// End of the window, ns after the trace's first event; `None`: the end of the trace.
    pub to_ns: Option<u64>,
}

/// Position of an event relative to the window of a [`Selection`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowPosition {
    /// Before the window. Frequency and idle events (they set the state of a CPU) and metadata are `Within` even there.
    Before,
    /// Within the imported window.
    Within,
    /// After the window.
    Behind,
}

impl Selection {
    /// Position of an event in a trace whose first event was at `begin`, ns.
    pub fn position(&self, begin: u64, event: &TraceEvent) -> WindowPosition {
        let since = event.time.saturating_sub(begin);
        let is_state = match event.what {
            TraceEventKind::Frequency { .. } | TraceEventKind::Idle { .. } => true,
            TraceEventKind::Print(text) => text.starts_with("fairground_meta"),
            _ => false,
        };
        match () {
            () if self.to_ns.is_some_and(|to| since > to) => WindowPosition::Behind,
            () if since < self.from_ns && !is_state => WindowPosition::Before,
            () => WindowPosition::Within,
        }
    }
}

/// Counts of how sleeps ended and of what was guessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Sleeps that another thread ended.
    pub by_thread: u64,
    /// Sleeps that an interrupt ended.
    pub by_interrupt: u64,
    /// Sleeps whose end is not in the trace: the thread runs again.
    pub unseen: u64,
    /// Switches that contradict what was seen before.
    pub contradictions: u64,
    /// Threads beyond the most that a workload may have, each time that they are met.
    pub too_many: u64,
    /// Events before their predecessors, taken to happen with them.
    pub backwards: u64,
    /// Sleeps that ended by a sched_wakeup alone.
    pub without_waking: u64,
    /// Threads that appear on a CPU whose last event is its going idle.
    pub appeared: u64,
    /// Part of `by_interrupt`: assumed because the thread is often woken from idle CPUs.
    pub by_habit: u64,
    /// Number of changes of a thread's priority.
    pub reprioritized: u64,
    /// Switches to threads of SCHED_DEADLINE.
    pub deadline: u64,
}

/// Builds a recording from the events of a trace.
pub struct Importer<'m> {
    machine: &'m Machine,
    asked: TaskFilter,
    speeds: Speeds<'m>,
    /// By pid; those that have exited are gone from here.
    tasks: BTreeMap<u32, Task>,
    threads: Vec<Recorded>,
    /// Pids in use now or before.
    pids: BTreeSet<u32>,
    /// The running thread, and since when its time is not accounted; by CPU.
    current: Vec<Option<(u32, u64)>>,
    /// Time of the last switch, by CPU.
    switched: Vec<Option<u64>>,
    idlers: Vec<Idler>,
    /// Missing events inferred from the present event.
    unseen: Vec<InferredEvent>,
    /// The trace has interrupt events.
    tells_interrupts: bool,
    /// When a CPU last woke up, and how long that took, ns; by CPU.
    woken: Vec<Option<(u64, u64)>>,
    /// The first event of the scheduler.
    origin: Option<u64>,
    now: u64,
    /// The longest time without an event since then, and when it ended, ns.
    longest_gap: (u64, u64),
    /// From `fairground_woken`, for the next sched_waking: pid, whether an interrupt wakes it, sync.
    hint: Option<(u32, bool, bool)>,
    about: Vec<(String, String)>,
    counts: Counts,
    order: AtDecision,
}

/// An event of a CPU that the machine does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSuchCpu(pub u32);

impl<'m> Importer<'m> {
    /// An importer for a trace of this machine.
    pub fn new(machine: &'m Machine, selection: Selection) -> Importer<'m> {
        Importer {
            machine,
            asked: TaskFilter::new(selection.parts),
            speeds: Speeds::new(machine),
            tasks: BTreeMap::new(),
            threads: Vec::new(),
            pids: BTreeSet::new(),
            current: vec![None; machine.nr_cpus()],
            switched: vec![None; machine.nr_cpus()],
            idlers: vec![Idler::default(); machine.nr_cpus()],
            unseen: Vec::new(),
            tells_interrupts: false,
            woken: vec![None; machine.nr_cpus()],
            origin: None,
            now: 0,
            longest_gap: (0, 0),
            hint: None,
            about: Vec::new(),
            counts: Counts::default(),
            order: AtDecision::default(),
        }
    }

    /// The index among the threads of the recording of a thread that lives.
    pub fn index(&self, pid: u32) -> Option<u32> {
        self.tasks.get(&pid).map(|task| task.index)
    }

    /// How sleeps ended so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Requested parts of names that no thread has had so far.
    pub fn missed(&self) -> impl Iterator<Item = &str> {
        self.asked.unmatched_parts()
    }

    /// Names of threads that were compared with the requested parts so far; empty if no parts were requested.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.asked.names()
    }

    /// Adds an event. Returns the missing events that it implies, in their order.
    ///
    /// # Errors
    /// If the event is of a CPU that the machine lacks.
    pub fn event(&mut self, event: &TraceEvent) -> Result<Vec<InferredEvent>, NoSuchCpu> {
        if event.cpu as usize >= self.current.len() {
            return Err(NoSuchCpu(event.cpu));
        }
        let Some(event) = &self.order.event(event) else { return Ok(Vec::new()) };
        self.counts.backwards += u64::from(event.time < self.now);
        if self.origin.is_some() {
            self.longest_gap = self.longest_gap.max((event.time.saturating_sub(self.now), event.time));
        }
        self.now = event.time.max(self.now);
        if event.what.is_of_threads() {
            self.origin.get_or_insert(self.now);
        }
        self.tells_interrupts |= event.in_interrupt;
        self.appear(event);
        match event.what {
            TraceEventKind::Switch { prev, left, next, prio, .. } => {
                self.switch(event.cpu, prev, left, next);
                prio.into_iter().for_each(|prio| self.competes(next.pid, prio));
            }
            TraceEventKind::Waking { task, .. } => self.waking(event, task),
            TraceEventKind::Wakeup { task, cpu, new } => self.wakeup(event, task, cpu, new),
            TraceEventKind::Fork { parent, child } => self.fork(event.cpu, parent, child),
            TraceEventKind::Exec { pid } => self.exec(event.cpu, pid),
            TraceEventKind::Exit { task } => self.exit(event.cpu, task.pid),
            TraceEventKind::Idle { cpu, state } => self.idle(cpu, state)?,
            TraceEventKind::Frequency { cpu, khz } => self.frequency(cpu, khz)?,
            TraceEventKind::Print(text) => self.print(event.cpu, text),
            TraceEventKind::Migrate { .. }
            | TraceEventKind::Runtime { .. }
            | TraceEventKind::Clamps { .. }
            | TraceEventKind::Signals { .. } => {}
        }
        Ok(std::mem::take(&mut self.unseen))
    }

    /// A thread has this priority of the kernel's: 100 to 139, 0 to 98 in real time, -1 with a deadline.
    fn competes(&mut self, pid: u32, prio: i32) {
        let Some(task) = self.tasks.get_mut(&pid) else { return };
        let priority = match prio {
            100..=139 => Priority::Nice((prio - 120) as i8),
            0..=98 => Priority::RealTime((99 - prio) as u8),
            _ => {
                self.counts.deadline += u64::from(prio == -1);
                return;
            }
        };
        let before = std::mem::replace(&mut self.threads[task.index as usize].priority, priority);
        self.counts.reprioritized += u64::from(std::mem::replace(&mut task.prio_told, true) && before != priority);
    }

    /// What was seen to be done, with the texts of `notes` (the reader's) and of its own; and all of these notes.
    pub fn finish(mut self, of: &str, notes: Vec<Note>) -> (Recording, Vec<Note>) {
        for cpu in 0..self.current.len() as CpuId {
            self.settle(cpu);
        }
        for task in self.tasks.values_mut() {
            task.flush(&mut self.threads);
            self.threads[task.index as usize].tape.push(Step::Rest);
        }
        let notes = [notes, self.notes()].concat();
        let about = std::iter::once(("of".to_owned(), of.to_owned())).chain(self.about).collect();
        let texts = notes.iter().map(ToString::to_string).collect();
        (Recording { about, notes: texts, threads: self.threads }, notes)
    }

    /// Why the trace so far is too long to be run; `None` if it can be run. Names the longest time without events if
    /// the trace would fit without it.
    pub fn too_long(&self) -> Option<String> {
        let lasts = self.since_origin(self.now);
        let beyond = lasts.checked_sub(MAX_DURATION_NS).filter(|beyond| *beyond > 0)?;
        let (gap, end) = self.longest_gap;
        let empty = match gap > beyond {
            true => format!(", and has no event from {} s to {} s", seconds(end - gap), seconds(end)),
            false => String::new(),
        };
        let longest = MAX_DURATION_NS / 1_000_000_000;
        Some(format!(
            "it lasts {} s{empty}; runs take {longest} s at most: it cannot be run, a part that `import` takes with --from and \
             --to can",
            seconds(lasts)
        ))
    }

    /// Notes on a recording beside those in its file.
    fn notes(&self) -> Vec<Note> {
        let c = &self.counts;
        let ours = self.about.iter().any(|(key, _)| key == "sched");
        let losses = [
            (c.unseen, "sleeps end without an event that says how: taken for timers"),
            (
                c.without_waking,
                "sleeps end by sched_wakeup without sched_waking, whose thread and CPU may be the target's",
            ),
            (c.too_many, "times a thread was met beyond the most that a workload may have: left out"),
            (c.appeared, "threads were switched to unseen on an idle CPU: how long they had run by then is guessed"),
            (c.contradictions, "switches contradict what was seen before: events are missing"),
            (c.backwards, "events come before their predecessors and are taken to happen with them"),
        ];
        let hints = [
            (c.by_habit, "wakeups on busy CPUs, of threads that idle CPUs wake too, are taken for timers"),
            (c.reprioritized, "times a thread's priority changes: its last one counts from the beginning"),
            (c.deadline, "switches to threads of SCHED_DEADLINE, which is not simulated: SCHED_OTHER"),
        ];
        let counted = Note::losses(&losses).into_iter().chain(Note::hints(&hints));
        let speeds = self.speeds.notes();
        let unknown = (!ours).then(|| {
            Note::Hint(
                "the events do not tell affinities, groups, clamps, sync wakeups and which policy but for its priority: \
                 every thread may use all CPUs, is in no group, SCHED_OTHER or SCHED_FIFO, and no wakeup is sync"
                    .to_owned(),
            )
        });
        let unheard = self.silent_idle_cpus().map(|cpu| {
            Note::Loss(format!(
                "the idle task of CPU {cpu} leaves no event: wakeups by interrupts that meet it are not in the trace"
            ))
        });
        counted.chain(unheard).chain(speeds).chain(self.too_long().map(Note::Loss)).chain(unknown).collect()
    }

    /// Credits who runs on a CPU with the work done up to now.
    fn settle(&mut self, cpu: CpuId) {
        let Some((pid, since)) = &mut self.current[cpu as usize] else { return };
        let ns = self.now.saturating_sub(std::mem::replace(since, self.now));
        if let Some(task) = self.tasks.get_mut(pid) {
            task.credit(ns, self.speeds.speed_q20_at(cpu));
        }
    }

    /// Adds a step to a thread, after the work it has done until now.
    fn step(&mut self, pid: u32, step: Step) {
        if let Some(task) = self.tasks.get_mut(&pid) {
            task.flush(&mut self.threads);
            self.threads[task.index as usize].tape.push(step);
        }
    }

    /// Time since the beginning, ns.
    fn since_origin(&self, time: u64) -> u64 {
        time.saturating_sub(self.origin.unwrap_or(0))
    }

    /// The thread, if it is imported. One seen for the first time exists since the beginning, in the given state.
    fn met(&mut self, thread: Thread, cpu: CpuId, first: State) -> bool {
        if let Some(task) = self.tasks.get_mut(&thread.pid) {
            let comm = &mut self.threads[task.index as usize].comm;
            if comm != short(thread.comm) {
                short(thread.comm).clone_into(comm);
                // By its new name it may be whom a part is meant for.
                self.asked.matches(thread.comm);
            }
            return true;
        }
        // Events of a thread after its exit are ignored.
        let takes = self.takes(thread) && !self.pids.contains(&thread.pid);
        takes && self.enlist(thread, Some(cpu), first).is_some()
    }

    fn takes(&mut self, thread: Thread) -> bool {
        thread.pid != 0 && !is_stopper(thread.comm) && self.asked.matches(thread.comm)
    }

    /// Adds a thread. Returns its index; `None` if there are too many.
    fn enlist(&mut self, thread: Thread, born_on: Option<CpuId>, state: State) -> Option<u32> {
        if self.threads.len() as u64 == MAX_TASKS {
            self.counts.too_many += 1;
            return None;
        }
        let (index, comm) = (self.threads.len() as u32, short(thread.comm));
        let name = match self.pids.insert(thread.pid) {
            true => format!("{comm}-{}", thread.pid),
            // The pid was used before.
            false => format!("{comm}-{}~{index}", thread.pid),
        };
        let kthread_cpu = kthread_cpu(comm).filter(|cpu| (*cpu as usize) < self.machine.nr_cpus());
        self.threads.push(Recorded { kthread_cpu, ..Recorded::new(&name, comm, born_on) });
        self.tasks.insert(thread.pid, Task::new(index, state));
        Some(index)
    }
}

/// The beginning of a name, at most `NAME_MAX` bytes, cut between characters.
fn short(comm: &str) -> &str {
    let end = (0..=NAME_MAX.min(comm.len())).rev().find(|end| comm.is_char_boundary(*end)).unwrap_or(0);
    &comm[..end]
}

#[cfg(test)]
mod tests;
