//! Many runs, side by side: every scheduler with every seed, in parallel, in an order that does not matter.

use miette::Diagnostic;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::metrics::MetricValue;

/// Result of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// Figures, in the order in which tables show them.
    pub metrics: Vec<MetricValue>,
    /// Hash of the event stream.
    #[serde(with = "hex")]
    pub hash: u128,
    /// What every output of this run must say, e.g. `partition: 0-3`.
    pub notes: Vec<String>,
}

/// A hash as 32 hex digits: JSON has no integers of that size.
mod hex {
    use serde::{de::Error, Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(hash: &u128, to: S) -> Result<S::Ok, S::Error> {
        format!("{hash:032x}").serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
        u128::from_str_radix(&String::deserialize(from)?, 16).map_err(D::Error::custom)
    }
}

/// Something that can run a scheduler with a seed: a machine with a workload, or a fake in a test. A run is a pure
/// function of its arguments.
pub trait Runner: Sync {
    /// One run; the error says why it failed.
    fn run(&self, sched: usize, seed: u64) -> Result<RunReport, String>;
}

/// The runs to make, each scheduler with each seed, and how to make them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Schedulers, by their place in the caller's list; 0 is the base.
    pub scheds: usize,
    /// Seeds; each scheduler runs with each.
    pub seeds: Vec<u64>,
    /// Threads to run on, at least 1.
    pub jobs: usize,
    /// Run everything twice and compare the hashes of the event streams.
    pub check_determinism: bool,
}

/// Why there are no results.
#[derive(Debug, Error, Diagnostic)]
pub enum BatchError {
    /// The threads cannot be started.
    #[error("cannot start {jobs} threads: {cause}")]
    #[diagnostic(help("use a smaller --jobs"))]
    Threads {
        /// Number of threads that were to be started: `--jobs`, but at most one for each run.
        jobs: usize,
        /// What the system says.
        cause: String,
    },
    /// The run was interrupted.
    #[error("stopped")]
    Stopped,
}

/// The report of each run, or the message of its failure, as `[scheduler][seed]`.
pub type Results = Vec<Vec<Result<RunReport, String>>>;

/// Carries a plan out. Calls `progress` once per finished run, from any thread. If a run fails, the result at its place
/// is its error message; the other runs go on.
///
/// # Errors
/// If the threads cannot be started.
pub fn run(plan: &Plan, runner: &dyn Runner, progress: &(dyn Fn() + Sync)) -> Result<Results, BatchError> {
    let run_one = |sched: usize, seed: u64| {
        let report = checked(runner, sched, seed, plan.check_determinism);
        progress();
        report
    };
    each(plan.scheds, &plan.seeds, plan.jobs, &run_one)
}

/// Calls `run_one` for each of `scheds` schedulers with each seed, on `jobs` threads. Returns the results as
/// `[scheduler][seed]`.
///
/// # Errors
/// If the threads cannot be started.
pub fn each<T: Send>(
    scheds: usize,
    seeds: &[u64],
    jobs: usize,
    run_one: &(dyn Fn(usize, u64) -> T + Sync),
) -> Result<Vec<Vec<T>>, BatchError> {
    // More threads than runs would only take time and memory.
    let threads = jobs.min(scheds * seeds.len()).max(1);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| BatchError::Threads { jobs: threads, cause: e.to_string() })?;
    let runs: Vec<(usize, u64)> = (0..scheds).flat_map(|sched| seeds.iter().map(move |seed| (sched, *seed))).collect();
    // One run at a time per thread: runs differ in length, and collect() keeps their order.
    let flat: Vec<T> =
        pool.install(|| runs.par_iter().with_max_len(1).map(|(sched, seed)| run_one(*sched, *seed)).collect());
    let mut flat = flat.into_iter();
    Ok((0..scheds).map(|_| flat.by_ref().take(seeds.len()).collect()).collect())
}

fn checked(runner: &dyn Runner, sched: usize, seed: u64, twice: bool) -> Result<RunReport, String> {
    let first = guarded(runner, sched, seed)?;
    if twice {
        let second = guarded(runner, sched, seed)?;
        if first.hash != second.hash {
            return Err(format!(
                "not deterministic: the same run gave event streams {:032x} and {:032x}",
                first.hash, second.hash
            ));
        }
    }
    Ok(first)
}

/// One run. If it panics, it has failed; the other runs go on.
fn guarded(runner: &dyn Runner, sched: usize, seed: u64) -> Result<RunReport, String> {
    contained(|| runner.run(sched, seed)).unwrap_or_else(Err)
}

/// The result of `f`, or the message of its panic.
pub fn contained<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).map_err(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str);
        let message = message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        format!("the program failed: {message}")
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::metrics::{Better, Metric};

    /// Its one figure identifies the run; seed 3 of scheduler 1 fails.
    struct Fake;

    impl Runner for Fake {
        fn run(&self, sched: usize, seed: u64) -> Result<RunReport, String> {
            if (sched, seed) == (1, 3) {
                return Err("task 7 lost".into());
            }
            let metric = Metric::new("x", "count", Better::Higher, "");
            let metrics = vec![MetricValue { metric, value: (sched * 100) as f64 + seed as f64 }];
            Ok(RunReport { metrics, hash: seed.into(), notes: vec![] })
        }
    }

    fn plan(jobs: usize) -> Plan {
        Plan { scheds: 2, seeds: (1..=8).collect(), jobs, check_determinism: false }
    }

    #[test]
    fn any_number_of_jobs_gives_the_same_results() {
        let results = |jobs| run(&plan(jobs), &Fake, &|| ()).unwrap();
        assert_eq!(results(1), results(2));
        assert_eq!(results(1), results(8));
        assert_eq!(results(1), results(10_000_000), "no more threads than runs");
    }

    #[test]
    fn a_failed_run_keeps_its_message_and_the_others() {
        let results = run(&plan(2), &Fake, &|| ()).unwrap();
        assert_eq!(results[1][2], Err("task 7 lost".into()));
        assert_eq!(results.iter().flatten().filter(|r| r.is_ok()).count(), 15);
        assert_eq!(results[1][7].as_ref().unwrap().metrics[0].value, 108.0);
    }

    #[test]
    fn progress_is_reported_once_per_run() {
        let n = AtomicU64::new(0);
        run(&plan(2), &Fake, &|| {
            n.fetch_add(1, Ordering::Relaxed);
        })
        .unwrap();
        assert_eq!(n.into_inner(), 16);
    }

    /// A new hash at every call.
    struct Drifting(AtomicU64);

    impl Runner for Drifting {
        fn run(&self, _: usize, _: u64) -> Result<RunReport, String> {
            Ok(RunReport { metrics: vec![], hash: self.0.fetch_add(1, Ordering::Relaxed).into(), notes: vec![] })
        }
    }

    #[test]
    fn a_run_that_differs_from_itself_fails_the_determinism_check() {
        let plan = Plan { check_determinism: true, ..plan(1) };
        let results = run(&plan, &Drifting(AtomicU64::new(0)), &|| ()).unwrap();
        assert!(results[0][0].as_ref().unwrap_err().starts_with("not deterministic"));
    }

    struct Panicking;

    impl Runner for Panicking {
        fn run(&self, _: usize, seed: u64) -> Result<RunReport, String> {
            assert!(seed != 2, "seed two");
            Ok(RunReport { metrics: vec![], hash: 0, notes: vec![] })
        }
    }

    #[test]
    fn a_panic_fails_one_run_only() {
        let results = run(&plan(2), &Panicking, &|| ()).unwrap();
        assert_eq!(results[0][1], Err("the program failed: seed two".into()));
        assert!(results[0][0].is_ok());
    }
}
