//! The figures by which a recording and its replay are compared. They apply to any trace whose threads have the indices
//! of a [`Recording`].
//!
//! In our traces a thread is current from the decision to switch to it ([`AtDecision`]). The recorded time of a thread
//! includes the kernel's share, and a run that repeats it makes progress from the decision on. The latency of a wakeup
//! ends later, by the cost.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use fairground_sim::Histogram;
use fairground_workload::recorded::{Recording, Step};

use crate::{AtDecision, PrevState, TraceEvent, TraceEventKind};

/// Figures of one thread in a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadFigures {
    /// Time for which the thread was current, ns.
    pub run_ns: u64,
    /// The CPUs on which the thread was placed, one for each time it became runnable (sched_wakeup and
    /// sched_wakeup_new).
    pub placements: Vec<u16>,
}

/// Figures of the threads and CPUs in a trace.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Figures of the threads, by index in the recording.
    pub threads: Vec<ThreadFigures>,
    /// Latencies of wakeups, ns: from sched_waking (or sched_wakeup, without one) to the switch to the thread, its cost
    /// included.
    pub wakeup_latency: Histogram,
    /// Number of switches from or to a thread.
    pub switches: u64,
    /// Number of migrations of threads (sched_migrate_task events).
    pub migrations: u64,
    /// Time in each requested idle state, by its index, ns summed over CPUs.
    pub idle_ns: BTreeMap<u32, u64>,
    /// Time from the first event of threads to the last event, ns.
    pub span_ns: u64,
    /// Time of the first event of threads, ns.
    origin: Option<u64>,
    last: u64,
    /// By CPU: the current thread, and since when, ns.
    current: BTreeMap<u32, (u32, u64)>,
    /// Time of the last switch on each CPU.
    switched: BTreeMap<u32, u64>,
    /// By CPU: the requested idle state, and since when, ns.
    asleep: BTreeMap<u32, (u32, u64)>,
    /// By index of a thread: the time of its wakeup, ns.
    woken: BTreeMap<u32, u64>,
    known: BTreeMap<u32, u32>,
    /// CPUs whose idle tasks have no events: only run time is counted while they idle.
    unheard: BTreeSet<u32>,
    order: AtDecision,
}

impl Figures {
    /// Figures that leave out what happens while one of these CPUs idles, like a recording without such events:
    /// switches from the idle task, wakeups, latencies, migrations and idle states. Run times are complete.
    pub fn without_idle_tasks_of(cpus: impl IntoIterator<Item = u32>) -> Figures {
        Figures { unheard: cpus.into_iter().collect(), ..Figures::default() }
    }

    /// Records that a thread, by index, is assumed to be current on a CPU since `since`, ns, without a recorded switch
    /// to it.
    pub fn began(&mut self, cpu: u32, thread: u32, since: u64) {
        if self.threads.len() <= thread as usize {
            self.threads.resize(thread as usize + 1, ThreadFigures::default());
        }
        self.current.insert(cpu, (thread, since));
        self.woken.remove(&thread);
    }

    /// Records that a thread, by index, is assumed to have left a CPU at `at`, ns, without an event.
    pub fn end_unseen(&mut self, cpu: u32, thread: u32, at: u64) {
        if let Some((_, since)) = self.current.get(&cpu).copied().filter(|(current, _)| *current == thread) {
            self.current.remove(&cpu);
            self.threads[thread as usize].run_ns += at.saturating_sub(since);
        }
    }

    /// Adds an event. `index` maps the pid of a live thread to its index in the recording.
    pub fn event(&mut self, event: &TraceEvent, index: &mut dyn FnMut(u32) -> Option<u32>) {
        let Some(event) = &self.order.event(event) else { return };
        self.last = event.time.max(self.last);
        let now = self.last;
        if let TraceEventKind::Fork { child, .. } = event.what {
            self.known.remove(&child.pid);
        }
        if self.origin.is_none() && event.what.is_of_threads() {
            self.origin = Some(now);
        }
        let heard = event.context.pid != 0 || !self.unheard.contains(&event.cpu);
        match event.what {
            TraceEventKind::Switch { prev, left, next, cost, .. } => {
                let threads = [self.thread(prev.pid, index), self.thread(next.pid, index)];
                self.switch(event.cpu, threads, left, heard.then_some(cost));
            }
            // Who waits from then on is known by the thread that wakes it, or not at all.
            _ if !heard => {}
            TraceEventKind::Waking { task, .. } => {
                if let Some(thread) = self.thread(task.pid, index) {
                    self.woken.insert(thread, now);
                }
            }
            TraceEventKind::Wakeup { task, cpu, .. } => {
                if let Some(thread) = self.thread(task.pid, index) {
                    self.woken.entry(thread).or_insert(now);
                    self.threads[thread as usize].placements.push(cpu.min(u16::MAX.into()) as u16);
                }
            }
            TraceEventKind::Migrate { task, .. } => {
                self.migrations += u64::from(self.thread(task.pid, index).is_some())
            }
            TraceEventKind::Idle { cpu, state } => self.idle(cpu, state),
            _ => {}
        }
    }

    /// After the last event: who runs and sleeps then has done so until then.
    pub fn finish(&mut self) {
        for (_, (thread, since)) in std::mem::take(&mut self.current) {
            self.threads[thread as usize].run_ns += self.last - since;
        }
        for cpu in self.asleep.keys().copied().collect::<Vec<_>>() {
            self.idle(cpu, None);
        }
        self.span_ns = self.last - self.origin.unwrap_or(self.last);
    }

    fn thread(&mut self, pid: u32, index: &mut dyn FnMut(u32) -> Option<u32>) -> Option<u32> {
        let thread = match self.known.get(&pid) {
            Some(thread) => *thread,
            None => {
                let thread = index(pid)?;
                self.known.insert(pid, thread);
                thread
            }
        };
        if self.threads.len() <= thread as usize {
            self.threads.resize(thread as usize + 1, ThreadFigures::default());
        }
        Some(thread)
    }

    /// `cost`: of a switch that is heard.
    fn switch(&mut self, cpu: u32, [prev, next]: [Option<u32>; 2], left: PrevState, cost: Option<u64>) {
        self.switches += u64::from(cost.is_some() && (prev.is_some() || next.is_some()));
        // Without a switch to it, it has run since the CPU switched last, or since the beginning.
        let seen = self.current.remove(&cpu);
        let before = self.switched.insert(cpu, self.last).or(self.origin).unwrap_or(self.last);
        if let Some(thread) = prev {
            let since = seen.filter(|(t, _)| *t == thread).map(|(_, since)| since);
            let figures = &mut self.threads[thread as usize];
            if since.is_some() || figures.run_ns == 0 {
                figures.run_ns += self.last - since.unwrap_or(before);
            }
            if left == PrevState::Sleeping {
                self.woken.remove(&thread);
            }
        }
        if let Some(thread) = next {
            self.current.insert(cpu, (thread, self.last));
            if let (Some(woken), Some(cost)) = (self.woken.remove(&thread), cost) {
                self.wakeup_latency.record((self.last - woken).saturating_add(cost));
            }
        }
    }

    fn idle(&mut self, cpu: u32, state: Option<u32>) {
        if let Some((state, since)) = self.asleep.remove(&cpu) {
            *self.idle_ns.entry(state).or_default() +=
                self.last - since.max(self.origin.unwrap_or(since)).min(self.last);
        }
        if let Some(state) = state {
            self.asleep.insert(cpu, (state, self.last));
        }
    }
}

/// Placements of one thread that are equal in two traces: of its wakeups, one after the other, how many there are in the
/// longer list and how many went to the same CPU.
pub fn same_placements(a: &[u16], b: &[u16]) -> (u64, u64) {
    let same = a.iter().zip(b).filter(|(a, b)| a == b).count();
    (a.len().max(b.len()) as u64, same as u64)
}

/// Matches the threads of a replayed run to those of its recording, by the order of forks.
pub struct ThreadMatcher {
    /// Initial threads that have not appeared yet.
    roots: VecDeque<u32>,
    /// Children of each thread that have not appeared yet; by index of the parent.
    children: Vec<VecDeque<u32>>,
    known: BTreeMap<u32, u32>,
}

impl ThreadMatcher {
    /// A matcher for a run of `recording` that has not begun.
    pub fn from_recording(recording: &Recording) -> ThreadMatcher {
        let roots = (0..).zip(&recording.threads).filter(|(_, t)| t.born_on.is_some()).map(|(i, _)| i).collect();
        let children = |t: &fairground_workload::recorded::Thread| {
            let fork = |step| if let Step::Fork(child) = step { Some(child) } else { None };
            t.tape.steps().filter_map(fork).collect()
        };
        ThreadMatcher { roots, children: recording.threads.iter().map(children).collect(), known: BTreeMap::new() }
    }

    /// Takes the next event of the run.
    pub fn event(&mut self, event: &TraceEvent) {
        let TraceEventKind::Fork { parent, child } = event.what else { return };
        let born = match self.known.get(&parent.pid) {
            Some(parent) => self.children[*parent as usize].pop_front(),
            None => self.roots.pop_front(),
        };
        if let Some(index) = born {
            self.known.insert(child.pid, index);
        }
    }

    /// The thread of a pid.
    pub fn index(&self, pid: u32) -> Option<u32> {
        self.known.get(&pid).copied()
    }
}
