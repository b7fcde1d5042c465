//! Free-running agreement: a kernel and our scheduler run separately, with the same machine, workload and seed.
//!
//! ```text
//! Placements::of   all that one run decided, and its figures     (in a worker: Order::Placements)
//! Agreement::new   the runs of both, seed by seed                -> rule shares, rates, latency, the first divergence
//! ```
//!
//! The referee of `fairground_linux::conformance` gives our policy the kernel's state at each decision; here each
//! scheduler's own decisions have consequences. Differences then come from queues, preemption, ticks, costs and balancing.

mod agreement;

use fairground_run::batch::{self, BatchError};
use fairground_run::experiment::Experiment;

pub use agreement::{Agreement, Divergence, Figure, Share};
use fairground_run::placements::Placements;

/// Runs the two schedulers of `experiment`, a kernel and ours, with each seed in workers, on `jobs` threads. The inner
/// error says why a run failed.
///
/// # Errors
/// The threads cannot be started.
pub fn agree(experiment: &Experiment, seeds: &[u64], jobs: usize) -> Result<Result<Agreement, String>, BatchError> {
    let one = |sched: usize, seed: u64| experiment.workers.placements(experiment, &experiment.scheds[sched], seed);
    let runs = batch::each(experiment.scheds.len(), seeds, jobs, &one)?;
    let runs: Result<Vec<Vec<Placements>>, String> = runs.into_iter().map(|runs| runs.into_iter().collect()).collect();
    Ok(runs.map(|runs| Agreement::new(&runs[0], &runs[1])))
}
