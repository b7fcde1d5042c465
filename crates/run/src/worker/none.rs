//! Where no process can be started: every run happens in this one, and those of kernels do not happen.

#[path = "options.rs"]
pub(crate) mod options;

pub use options::{Limits, Workers};

use crate::experiment::{Attendance, Experiment, Outputs, Ran, Recorded, RunError, Stop, TraceHead};
use crate::sched_spec::SchedSpec;

/// Why no run happens in a worker.
const NO_PROCESSES: &str = "this program cannot start the worker process of a run";

impl Workers {
    /// Refuses a run in a worker.
    pub fn run(&self, _: &Experiment, _: &SchedSpec, _: u64, _: Outputs, _: Attendance) -> Ran {
        RunError::Refused(NO_PROCESSES.into()).into()
    }

    /// Refuses a run in a worker.
    ///
    /// # Errors
    /// Always.
    pub fn recorded(&self, _: &Experiment, _: usize, _: u64, _: TraceHead, _: &Stop) -> Result<Recorded, RunError> {
        Err(RunError::Refused(NO_PROCESSES.into()))
    }
}
