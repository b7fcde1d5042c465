//! What rt-app logs of a run: one line a round of a phase. The engine knows steps only; this says of each what it
//! means for the log.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::program::Workload;

/// Describes how rt-app would log a workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPlan {
    /// `log_basename`: names of files begin with it.
    pub basename: String,
    /// `cumulative_slack`: a line has the sum of its timers' slack instead of the last.
    pub sums_slack: bool,
    /// How threads are logged, by template of the workload.
    pub threads: Vec<LoggedThread>,
}

impl LogPlan {
    /// Whether it is of this workload.
    pub fn fits(&self, workload: &Workload) -> bool {
        let lengths = workload.tasks.iter().map(|t| t.program.len());
        self.threads.iter().map(|t| t.steps.len()).eq(lengths)
    }
}

/// How the threads of a template are logged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedThread {
    /// The task's name, as long as it is.
    pub task: String,
    /// Created by an event `fork`, not at the start.
    pub forked: bool,
    /// What each step of the program means for the log.
    pub steps: Arc<[LoggedStep]>,
    /// How often each phase is repeated before the next begins; none: for ever.
    pub rounds: Vec<Option<u64>>,
}

/// What a step means for the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedStep {
    /// The phase it belongs to, from 1; 0: none.
    pub phase: u32,
    /// With it a round of the phase begins.
    pub begins: bool,
    /// The event, if its figures are logged.
    pub event: LoggedEvent,
}

/// An event whose figures are logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LoggedEvent {
    /// A step without a log field.
    #[default]
    Other,
    /// An event `run` or `runtime`.
    Run {
        /// Work or time that the event asks for, us.
        us: u64,
        /// Loops of the calibrated work, thousands. `runtime` is a time and not an amount of work, so it has none.
        perf: u64,
    },
    /// An event `timer`.
    Timer {
        /// Period of the timer, us.
        us: u64,
    },
}
