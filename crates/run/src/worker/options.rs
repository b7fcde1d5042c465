//! How to start workers, and their limits.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How to start workers, and their limits.
#[derive(Clone, Debug)]
pub struct Workers {
    /// Arguments with which this program becomes a worker.
    pub arguments: Vec<String>,
    /// Variables that workers get besides those of this process.
    pub environment: Vec<(String, String)>,
    /// Limits of each worker.
    pub limits: Limits,
    /// Whether all runs happen in workers, also those that could happen in this process.
    pub always: bool,
}

impl Default for Workers {
    fn default() -> Self {
        let limits = Limits::default();
        Workers { arguments: vec!["worker".into()], environment: Vec::new(), limits, always: false }
    }
}

/// Limits of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Limit of the CPU time of a run.
    pub cpu: Duration,
    /// Limit of the CPU time within one call of the scheduler.
    pub call: Duration,
    /// Limit of the address space, MiB.
    pub memory_mib: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { cpu: Duration::from_secs(600), call: Duration::from_secs(10), memory_mib: 4096 }
    }
}
