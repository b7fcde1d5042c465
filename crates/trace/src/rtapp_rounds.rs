//! Rounds of rt-app phases, derived from the steps of a run.

use std::sync::Arc;

use fairground_sim::{Step, TaskId, Time};
use fairground_workload::rtapp::{LogPlan, LoggedEvent, LoggedStep};
use fairground_workload::{SpecId, Workload};

use crate::Names;

/// The rounds of all threads of a run.
pub struct Rounds {
    plan: Arc<LogPlan>,
    names: Names,
    threads: Vec<Thread>,
}

/// State of a thread of the run.
struct Thread {
    spec: SpecId,
    /// Index of the current step; `None` before the first.
    op: Option<u32>,
    round: Option<Round>,
    /// Position of the current round, or of the last one.
    place: Option<RoundPosition>,
}

/// Identifies a round by rt-app's three counters, all from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundPosition {
    /// Number of completed loops over all phases.
    pub thread_loop: u64,
    /// Index of the phase.
    pub phase: u32,
    /// Number of completed repetitions of this phase.
    pub phase_loop: u64,
}

/// A round of a phase, from its beginning. Times are in us, except `start`.
#[derive(Default)]
pub struct Round {
    /// Index of the phase, from 1.
    phase: u32,
    /// Virtual time of its beginning, ns.
    pub start: Time,
    within: Option<OpenMeasurement>,
    /// Work of `run` events, thousands of loops.
    pub perf: u64,
    /// Duration of `run` and `runtime` events, us.
    pub run_us: u64,
    /// Time from a timer's call to the end of its period, us: the last one, or the sum where rt-app sums them.
    pub slack_us: i64,
    /// Duration of `run` and `runtime` events that the file requests, us.
    pub asked_run_us: u64,
    /// Sum of the timer periods that the file requests, us.
    pub asked_period_us: u64,
    /// Sum of the times from the end of a timer's period until the thread runs, us. A missed timer sets it to 0.
    pub late_us: u64,
}

/// A `run` or `timer` event in progress.
enum OpenMeasurement {
    Run { since: Time },
    Timer { due: Time, missed: bool },
}

/// Progress of a thread at one step.
#[derive(Default)]
pub struct StepProgress {
    /// Whether the thread reaches its first step.
    pub first: bool,
    /// The round that ends here; `None` if no round ends.
    pub ended: Option<Round>,
    /// Position of the round that ends here.
    pub ended_at: Option<RoundPosition>,
    /// Position of the round that begins here; `None` if no round begins.
    pub begun_at: Option<RoundPosition>,
    /// Whether the thread has no steps left.
    pub last: bool,
}

impl Rounds {
    /// `plan` is the log plan of `workload`.
    pub fn new(plan: Arc<LogPlan>, workload: Arc<Workload>) -> Rounds {
        Rounds { plan, names: Names::new(workload), threads: Vec::new() }
    }

    /// The plan by which steps are mapped to log lines.
    pub fn plan(&self) -> &LogPlan {
        &self.plan
    }

    /// Adds a created thread and returns its template. Ids are dense and ascending.
    pub fn created(&mut self, parent: Option<TaskId>, child: TaskId) -> SpecId {
        self.names.fork(parent, child);
        let spec = self.names.template(child).unwrap_or(SpecId::MAX);
        self.threads.push(Thread { spec, op: None, round: None, place: None });
        spec
    }

    /// Records that a thread has reached a step.
    pub fn came_to(&mut self, step: &Step) -> StepProgress {
        let Some(thread) = self.threads.get_mut(step.task as usize) else { return StepProgress::default() };
        let before = thread.op.replace(step.op);
        if before == Some(step.op) {
            return StepProgress::default();
        }
        let plan = self.plan.threads.get(thread.spec as usize);
        let logged = plan.and_then(|p| p.steps.get(step.op as usize)).copied().unwrap_or_default();
        let last = plan.is_some_and(|p| p.steps.len() == step.op as usize);
        let mut came = StepProgress { first: before.is_none(), last, ..StepProgress::default() };
        if let Some(round) = &mut thread.round {
            round.leave(step.time);
            if logged.begins || logged.phase != round.phase {
                (came.ended, came.ended_at) = (thread.round.take(), thread.place);
            }
        }
        if logged.begins {
            thread.round = Some(Round { phase: logged.phase, start: step.time, ..Round::default() });
            thread.place =
                Some(RoundPosition::next_position(thread.place, logged.phase - 1, plan.map_or(&[], |p| &p.rounds)));
            came.begun_at = thread.place;
        }
        if let Some(round) = &mut thread.round {
            round.enter(step, logged, self.plan.sums_slack);
        }
        came
    }
}

impl RoundPosition {
    /// The first round of a thread, or the one behind `last`, in `phase`. `rounds`: of each phase.
    fn next_position(last: Option<RoundPosition>, phase: u32, rounds: &[Option<u64>]) -> RoundPosition {
        let Some(last) = last else { return RoundPosition { thread_loop: 0, phase, phase_loop: 0 } };
        let complete = rounds.get(phase as usize).copied().flatten() == Some(last.phase_loop + 1);
        if phase == last.phase && !complete {
            return RoundPosition { phase_loop: last.phase_loop + 1, ..last };
        }
        RoundPosition { thread_loop: last.thread_loop + u64::from(phase <= last.phase), phase, phase_loop: 0 }
    }
}

impl Round {
    fn enter(&mut self, step: &Step, logged: LoggedStep, sums_slack: bool) {
        match (logged.event, step.due) {
            (LoggedEvent::Run { us, perf }, _) => {
                self.asked_run_us += us;
                self.perf += perf;
                self.within = Some(OpenMeasurement::Run { since: step.time });
            }
            (LoggedEvent::Timer { us }, Some(due)) => {
                self.asked_period_us += us;
                let slack = match due >= step.time {
                    true => to_us(due - step.time) as i64,
                    false => -(to_us(step.time - due) as i64),
                };
                self.slack_us = if sums_slack { self.slack_us + slack } else { slack };
                self.within = Some(OpenMeasurement::Timer { due, missed: due <= step.time });
            }
            _ => {}
        }
    }

    /// The event that was measured is over.
    fn leave(&mut self, now: Time) {
        match self.within.take() {
            Some(OpenMeasurement::Run { since }) => self.run_us += to_us(now - since),
            Some(OpenMeasurement::Timer { missed: true, .. }) => self.late_us = 0,
            Some(OpenMeasurement::Timer { due, .. }) => self.late_us += to_us(now.saturating_sub(due)),
            None => {}
        }
    }
}

/// Rounds to whole microseconds.
pub fn to_us(ns: Time) -> u64 {
    ns.saturating_add(500) / 1000
}
