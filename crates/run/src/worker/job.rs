//! What a parent asks of a worker, and what it answers: one JSON document each.

use fairground_sim::Config;
use fairground_workload::rtapp::LogPlan;
use fairground_workload::Workload;
use serde::{Deserialize, Serialize};

use super::options::Limits;
use crate::batch::RunReport;
use crate::experiment::TraceHead;
use crate::placements::Placements;
use crate::speed::SpeedMeasurement;

/// One run. Everything it depends on is in here: no file is read again.
#[derive(Serialize, Deserialize)]
pub struct Job {
    /// Text of a machine file.
    pub machine: String,
    /// As checked against the machine.
    pub workload: Workload,
    /// Scheduler, as typed.
    pub sched: String,
    /// RunConfig, with the run's seed.
    pub config: Config,
    /// What to give.
    pub order: JobKind,
    /// How far it may go.
    pub limits: Limits,
    /// Process id of the parent, without which there is nobody to work for.
    pub parent: i32,
    /// What the worker has inherited.
    pub descriptors: Descriptors,
}

/// What a run is to give.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum JobKind {
    /// Its figures, and its events and logs if they are wanted.
    Run(Option<TraceHead>, Option<LogPlan>),
    /// Every placement, by its rule.
    Placements,
    /// Our own speed.
    Measure {
        /// Take the time of every wakeup and fork.
        timed: bool,
        /// Ask for reasons.
        why: bool,
    },
    /// A kernel's decisions, judged by our policy.
    Agree {
        /// Features of ours.
        preset: String,
        /// Its picks too.
        picks: bool,
        /// And its steps of PELT.
        pelt: bool,
        /// And its passes of load balancing.
        balance: bool,
    },
}

impl JobKind {
    /// The reasons of placements are wanted.
    pub fn why(&self) -> bool {
        match self {
            JobKind::Run(head, _) => head.as_ref().is_some_and(|h| h.why),
            JobKind::Placements | JobKind::Agree { .. } => false,
            JobKind::Measure { why, .. } => *why,
        }
    }

    /// So are their rules.
    pub fn rules(&self) -> bool {
        self.why() || matches!(self, JobKind::Placements)
    }
}

/// Open files of a worker, by number.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Descriptors {
    /// Takes the [`Reply`].
    pub answers: i32,
    /// Memory of [`super::shared_state::SharedState`].
    pub place: i32,
    /// Takes the trace.
    pub trace: Option<i32>,
    /// Takes the logs.
    pub logs: Option<i32>,
    /// The built kernel: as it was when the command began, whatever is built meanwhile.
    pub library: Option<i32>,
}

/// What became of a job.
#[derive(Debug, Serialize, Deserialize)]
pub struct Reply {
    /// The run's outcome.
    pub answer: Answer,
    /// Why the trace could not be written.
    pub trace_error: Option<String>,
}

/// A run's outcome.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    /// Its figures.
    Report(RunReport),
    /// Every placement.
    Placements(Placements),
    /// Our own speed.
    SpeedMeasurement(SpeedMeasurement),
    /// What was judged, as [`fairground_linux::conformance::Agreement::json`] says it.
    Agreement(serde_json::Value),
    /// It could not begin.
    Refused(String),
    /// It failed on its way; the message says when.
    Failed(String),
    /// Code under test reported its own end, within a call.
    Fault(String),
}
