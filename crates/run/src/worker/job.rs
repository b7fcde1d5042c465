//! The job that a parent sends to a worker, and the worker's reply: one JSON document each.

use fairground_workload::rtapp::LogPlan;
use serde::{Deserialize, Serialize};

use super::options::Limits;
use crate::batch::RunReport;
use crate::column_spec::ColumnSpec;
use crate::experiment::TraceHead;
use crate::placements::Placements;
use crate::speed::SpeedMeasurement;

/// One run, with everything that it depends on: the worker reads no other file.
#[derive(Serialize, Deserialize)]
pub struct Job {
    /// Machine, workload, scheduler and configuration, with the run's seed.
    pub column: ColumnSpec,
    /// What the worker does.
    pub order: JobKind,
    /// Limits of CPU time and memory. The worker sets those of its process; its parent checks the times.
    pub limits: Limits,
    /// Process id of the parent. The worker ends when the parent does.
    pub parent: i32,
    /// Files that the worker has inherited.
    pub descriptors: Descriptors,
}

/// What a worker does with its run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum JobKind {
    /// Reports its figures, and writes its trace and its logs if requested.
    Run(Option<TraceHead>, Option<LogPlan>),
    /// Reports every placement, with its rule.
    Placements,
    /// Measures the speed of the simulator itself.
    Measure {
        /// Take the time of every wakeup and fork.
        timed: bool,
        /// Whether the scheduler computes the reasons of its decisions.
        why: bool,
    },
    /// Compares a kernel's decisions with those of our policy.
    Agree {
        /// The features of our policy, as a name of a `fair:` scheduler.
        preset: String,
        /// Whether the picks of the next task are compared too.
        picks: bool,
        /// Compare the steps of PELT too.
        pelt: bool,
        /// Compare the passes of load balancing too.
        balance: bool,
    },
}

impl JobKind {
    /// Whether the reasons of placements are requested.
    pub fn why(&self) -> bool {
        match self {
            JobKind::Run(head, _) => head.as_ref().is_some_and(|h| h.why),
            JobKind::Placements | JobKind::Agree { .. } => false,
            JobKind::Measure { why, .. } => *why,
        }
    }

    /// Whether the rules of placements are requested.
    pub fn rules(&self) -> bool {
        self.why() || matches!(self, JobKind::Placements)
    }
}

/// Open files of a worker, by number.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Descriptors {
    /// Pipe to which the worker writes its [`Reply`].
    pub answers: i32,
    /// Memory that parent and worker share, [`super::shared_state::SharedState`].
    pub place: i32,
    /// File to which the worker writes its trace; `None` if no trace is requested.
    pub trace: Option<i32>,
    /// File to which the worker writes rt-app's logs; `None` if no logs are requested.
    pub logs: Option<i32>,
    /// The built kernel, as it was when the command began; `None` for our own scheduler.
    pub library: Option<i32>,
}

/// Reply of a worker.
#[derive(Debug, Serialize, Deserialize)]
pub struct Reply {
    /// Result of the job, or why there is none.
    pub answer: Answer,
    /// Why the trace could not be written; `None` if it was, or if none was requested.
    pub trace_error: Option<String>,
}

/// What a worker reports of its run.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    /// Reply to [`JobKind::Run`]: the figures of the run.
    Report(RunReport),
    /// Reply to [`JobKind::Placements`]: every placement.
    Placements(Placements),
    /// Reply to [`JobKind::Measure`]: the speed of the simulator itself.
    SpeedMeasurement(SpeedMeasurement),
    /// The comparison, as [`fairground_linux::conformance::Agreement::json`] writes it.
    Agreement(serde_json::Value),
    /// The run could not begin.
    Refused(String),
    /// The run failed; the message names the time.
    Failed(String),
    /// Code under test reported its own end, within a call.
    Fault(String),
}
