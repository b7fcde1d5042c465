//! How to start workers, and how far they may go. An experiment has it; what workers are for is built on that.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How to start workers, and how far they may go.
#[derive(Clone, Debug)]
pub struct Workers {
    /// Arguments with which this very program becomes a worker.
    pub arguments: Vec<String>,
    /// Variables that workers get besides those of this process.
    pub environment: Vec<(String, String)>,
    /// How far each may go.
    pub limits: Limits,
    /// All runs happen in workers, also those that could happen here.
    pub always: bool,
}

impl Default for Workers {
    fn default() -> Self {
        let limits = Limits::default();
        Workers { arguments: vec!["worker".into()], environment: Vec::new(), limits, always: false }
    }
}

/// How far a worker may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// CPU time of a run.
    pub cpu: Duration,
    /// CPU time within one call of the scheduler.
    pub call: Duration,
    /// Address space, MiB.
    pub memory_mib: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { cpu: Duration::from_secs(600), call: Duration::from_secs(10), memory_mib: 4096 }
    }
}
