//! Missing events: idle tasks and threads whose activity a recording does not show.
//!
//! What happens while such a CPU idles is missing: its `cpu_idle`, the wakeups by its interrupts, the switch to whom they
//! woke. That thread is met when it does something, or leaves the CPU:
//!
//! ```text
//! switched to idle        .                       .           first event of the thread
//! |-----------------------|=======================|===========|
//!                  woken in sight: it began then, and the time that the CPU takes to wake up later
//!                  not seen to be woken: it began as long ago as it runs on average between two sleeps,
//!                                        half as long if it does not sleep now
//! ```
//!
//! Likewise a thread that was switched to has left unseen when another thread is current, when it is switched to or
//! placed on another CPU, or, if it is known to leave unseen and never does anything in sight, when it is woken. It is
//! taken to have run as long as it usually does.

use fairground_machine::CpuId;
use fairground_workload::recorded::Step;

use super::task::{State, Task};
use super::Importer;
use crate::text::{Thread, TraceEvent, TraceEventKind};

/// An idle task with this many switches to it and no event of its own is taken to be unrecorded.
const SWITCHES_MIN: u64 = 8;

/// State of the idle task of a CPU.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Idler {
    /// Time since which it is current, ns of the trace; `None` if another thread is current.
    pub since: Option<u64>,
    /// Number of switches to it.
    entered: u64,
    /// Whether it has an event of its own.
    heard: bool,
}

impl Idler {
    /// Records a switch on the CPU, to its idle task or another.
    pub fn switched(&mut self, to_idle: bool, now: u64) {
        self.since = to_idle.then_some(now);
        self.entered += u64::from(to_idle);
    }
}

/// An event that is missing in the trace and inferred from others. Threads are by index in the recording; times are
/// estimates, ns of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InferredEvent {
    /// A thread was switched to.
    Began {
        /// CPU that the thread ran on.
        cpu: CpuId,
        /// Index of the thread.
        thread: u32,
        /// Time of the switch, ns of the trace.
        since: u64,
    },
    /// The thread left the CPU.
    Left {
        /// CPU that the thread left.
        cpu: CpuId,
        /// Index of the thread.
        thread: u32,
        /// Time at which the thread left, ns of the trace.
        at: u64,
    },
}

impl Importer<'_> {
    /// CPUs whose idle task leaves no event.
    pub fn silent_idle_cpus(&self) -> impl Iterator<Item = CpuId> + '_ {
        let unheard = |idler: &Idler| !idler.heard && idler.entered >= SWITCHES_MIN;
        (0..).zip(&self.idlers).filter(move |(_, idler)| unheard(idler)).map(|(cpu, _)| cpu)
    }

    /// Who does something on a CPU that was left to its idle task has been switched to in between.
    pub(super) fn appear(&mut self, event: &TraceEvent) {
        let (thread, leaves) = match event.what {
            TraceEventKind::Switch { prev, .. } => (prev, true),
            TraceEventKind::Waking { .. }
            | TraceEventKind::Wakeup { .. }
            | TraceEventKind::Fork { .. }
            | TraceEventKind::Exit { .. }
            | TraceEventKind::Idle { .. } => (event.context, false),
            _ => return,
        };
        self.displace(event.cpu, thread.pid);
        let idler = &mut self.idlers[event.cpu as usize];
        if thread.pid == 0 {
            idler.heard = true;
            return;
        }
        let idle_since = idler.since.take();
        self.tasks.get_mut(&thread.pid).into_iter().for_each(|task| task.acts = true);
        let Some(idle_since) = idle_since else { return };
        if !self.met(thread, event.cpu, State::Asleep(self.now)) {
            return;
        }
        if let Some((thread, since)) = self.began(event.cpu, thread, leaves, idle_since) {
            self.counts.appeared += 1;
            self.unseen.push(InferredEvent::Began { cpu: event.cpu, thread, since });
        }
    }

    /// Another thread is current on a CPU than the one switched to.
    fn displace(&mut self, cpu: CpuId, by: u32) {
        if let Some((pid, _)) = self.current[cpu as usize].filter(|(pid, _)| *pid != by) {
            self.leave_unseen(pid, cpu);
        }
    }

    /// Who was switched to on a CPU has left it unseen, and is taken to have run as long as it usually does.
    pub(super) fn leave_unseen(&mut self, pid: u32, cpu: CpuId) {
        let Some((_, since)) = self.current[cpu as usize].take_if(|(current, _)| *current == pid) else { return };
        self.counts.contradictions += 1;
        let idler = &mut self.idlers[cpu as usize];
        let Some(task) = self.tasks.get_mut(&pid) else {
            idler.since = Some(since);
            return;
        };
        let ns = self.now.saturating_sub(since).min(task.usual_ns());
        let at = since.saturating_add(ns);
        idler.since = Some(at);
        task.credit(ns, self.speeds.speed_q20_at(cpu));
        task.seen_whole = false;
        task.has_left_unseen = true;
        task.state = State::Asleep(at);
        self.unseen.push(InferredEvent::Left { cpu, thread: task.index, at });
    }

    /// A thread that is taken to run is woken: one that never does anything in sight sleeps.
    pub(super) fn wake_silent(&mut self, pid: u32) {
        if let Some(&Task { state: State::Running(cpu), acts: false, has_left_unseen: true, .. }) = self.tasks.get(&pid)
        {
            self.leave_unseen(pid, cpu);
        }
    }

    /// Makes a thread current, at the time at which it is taken to have begun.
    fn began(&mut self, cpu: CpuId, thread: Thread, leaves: bool, idle_since: u64) -> Option<(u32, u64)> {
        let wake_ns = self.machine.idle_states(cpu).last().map_or(0, |state| state.wake_ns);
        let now = self.now;
        let task = self.tasks.get_mut(&thread.pid)?;
        let usual = task.usual_ns();
        let run = if leaves { usual } else { usual / 2 };
        let (since, asleep) = match task.state {
            State::Waiting(woken) => (woken.max(idle_since).saturating_add(wake_ns).min(now), false),
            State::Asleep(slept) => (now.saturating_sub(run).max(slept).max(idle_since), true),
            State::Exiting(_) => (idle_since, false),
            State::Running(_) => return None,
        };
        task.seen_whole = false;
        task.woken_in_idle += u64::from(asleep);
        let index = task.index;
        if !matches!(task.state, State::Exiting(_)) {
            task.state = State::Running(cpu);
        }
        if asleep {
            self.step(thread.pid, Step::Until(self.since_origin(since)));
        }
        self.current[cpu as usize] = Some((thread.pid, since));
        Some((index, since))
    }
}
