//! Writes by rt-app's threads to trace_marker, in the trace of a run, if the file's `ftrace` option requests them.
//!
//! ```text
//! rtapp_task: event=start|end                                    a thread comes to its first step, or is through
//! rtapp_loop: event=start|end thread_loop=N phase=N phase_loop=N a round of a phase; all count from 0
//! rtapp_stats: period=US run=US wa_lat=US slack=US c_period=US c_run=US
//!                                                                of a round that is over, as in the log
//! ```
//!
//! Names and figures are those of rt-app's source as of May 2026; [`crate::rtapp_log`] describes each figure. Its main
//! thread is not simulated, so there is no `rtapp_main`; `rtapp_event` is left out.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use fairground_machine::CpuId;
use fairground_sim::{Event, EventKind, Observer, Reason, Step, TaskId, Time};
use fairground_workload::rtapp::LogPlan;
use fairground_workload::Workload;

use crate::names::RealThread;
use crate::rtapp_rounds::{to_us, Round, RoundPosition, Rounds};
use crate::Export;

/// A write by a thread to trace_marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserEvent {
    /// Virtual time, ns.
    pub time: Time,
    /// CPU on which it was written.
    pub cpu: CpuId,
    /// Task that wrote it.
    pub task: TaskId,
    /// Name of the event, as rt-app's trace markers have it.
    pub name: &'static str,
    /// `start` or `end`; `None` if the event is neither.
    pub event: Option<&'static str>,
    /// Fields of the event: name and value.
    pub figures: Vec<(&'static str, i64)>,
}

/// A trace to which the marks of rt-app's threads are added.
pub struct RtappMarks<E: ?Sized> {
    rounds: Rounds,
    /// By task: the CPU on which it ran last.
    cpus: Vec<CpuId>,
    /// Events by time. Steps are reported after the events of their instant and may be later, so events wait here.
    waiting: BTreeMap<(Time, u64), UserEvent>,
    /// Number of events that have waited so far.
    count: u64,
    trace: Box<E>,
}

impl<E: Export + ?Sized> RtappMarks<E> {
    /// Adds the marks of `workload`'s run to `trace`. `plan` is the log plan of `workload`.
    pub fn new(trace: Box<E>, plan: Arc<LogPlan>, workload: Arc<Workload>) -> Self {
        let rounds = Rounds::new(plan, workload);
        RtappMarks { rounds, cpus: Vec::new(), waiting: BTreeMap::new(), count: 0, trace }
    }

    fn say(&mut self, step: &Step, name: &'static str, event: Option<&'static str>, figures: Vec<(&'static str, i64)>) {
        let cpu = self.cpus.get(step.task as usize).copied().unwrap_or(0);
        let said = UserEvent { time: step.time, cpu, task: step.task, name, event, figures };
        self.waiting.insert((step.time, self.count), said);
        self.count += 1;
    }

    /// Writes the events up to `time`.
    fn write(&mut self, time: Time) {
        while let Some(first) = self.waiting.first_entry().filter(|first| first.key().0 <= time) {
            self.trace.user_event(&first.remove());
        }
    }

    /// Writes the remaining events and returns the trace.
    pub fn into_trace(mut self) -> Box<E> {
        self.write(Time::MAX);
        self.trace
    }
}

fn place(place: RoundPosition) -> Vec<(&'static str, i64)> {
    let RoundPosition { thread_loop, phase, phase_loop } = place;
    vec![("thread_loop", thread_loop as i64), ("phase", phase.into()), ("phase_loop", phase_loop as i64)]
}

fn figures(round: &Round, end: Time) -> Vec<(&'static str, i64)> {
    vec![
        ("period", to_us(end - round.start) as i64),
        ("run", round.run_us as i64),
        ("wa_lat", round.late_us as i64),
        ("slack", round.slack_us),
        ("c_period", round.asked_period_us as i64),
        ("c_run", round.asked_run_us as i64),
    ]
}

impl<E: Export + ?Sized> Observer for RtappMarks<E> {
    fn event(&mut self, event: &Event) {
        self.write(event.time);
        match event.kind {
            EventKind::Fork { parent, child } => {
                self.rounds.created(parent, child);
                self.cpus.push(event.cpu);
            }
            EventKind::Switch { next: Some(next), .. } => {
                self.cpus.get_mut(next as usize).into_iter().for_each(|cpu| *cpu = event.cpu);
            }
            _ => {}
        }
        self.trace.event(event);
    }

    fn wants_reasons(&self) -> bool {
        self.trace.wants_reasons()
    }

    fn wants_clamps(&self) -> bool {
        self.trace.wants_clamps()
    }

    fn wants_steps(&self) -> bool {
        true
    }

    fn step(&mut self, step: &Step) {
        let came = self.rounds.came_to(step);
        if came.first {
            self.say(step, "rtapp_task", Some("start"), Vec::new());
        }
        if let (Some(round), Some(at)) = (&came.ended, came.ended_at) {
            self.say(step, "rtapp_loop", Some("end"), place(at));
            self.say(step, "rtapp_stats", None, figures(round, step.time));
        }
        if let Some(at) = came.begun_at {
            self.say(step, "rtapp_loop", Some("start"), place(at));
        }
        if came.last {
            self.say(step, "rtapp_task", Some("end"), Vec::new());
        }
    }

    fn reasons(&mut self, decision: &Event, reasons: &[Reason]) {
        self.write(decision.time);
        self.trace.reasons(decision, reasons);
    }
}

impl<E: Export + ?Sized> Export for RtappMarks<E> {
    fn head(&mut self, meta: &[(&str, &str)], notes: &[String]) {
        self.trace.head(meta, notes);
    }

    fn name_thread(&mut self, task: TaskId, thread: &RealThread) {
        self.trace.name_thread(task, thread);
    }

    fn user_event(&mut self, said: &UserEvent) {
        self.trace.user_event(said);
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.into_trace().finish()
    }
}

#[cfg(test)]
mod tests;
