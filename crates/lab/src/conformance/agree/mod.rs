//! Runs the referee ([`fairground_linux::conformance`]) over many machines and
//! workloads.
//!
//! ```text
//! ConformancePlan:   N wakeups -> an equal share for each machine with each workload
//! one such pair:     seed, seed + 1, ... in one worker each, until the share is reached
//! MachineResult:     all of a machine, in the order of the workloads
//! ConformanceReport: the result, as JSON or as text
//! Partings:          two kernels run by run, up to where they part
//! ```

mod against;
mod gate;
mod parting;
mod report;
mod text;

use std::sync::Arc;

use fairground_linux::conformance::{ConformanceWorkload, Kind, Tally};
use fairground_machine::Machine;
use fairground_sim::{Config, Governor};
use fairground_workload::{Workload, WorkloadError};
use rayon::prelude::*;
use serde_json::Value;

use fairground_run::batch::BatchError;
use fairground_run::experiment::Experiment;
use fairground_run::sched_spec::SchedSpec;
use fairground_run::worker::{JobKind, Workers};

pub use against::{rows_of_both, Against, RowOfBoth};
pub use gate::Gate;
pub use parting::{part, FoundParting, PairOfRuns, Parting, Partings};
pub use report::{ConformanceReport, FoundDisagreement, MachineName, MachineResult, ROW_MIN};

/// What to judge, and how many decisions.
pub struct ConformancePlan {
    /// The kernel that is judged.
    pub kernel: SchedSpec,
    /// The kernel's ticks per second.
    pub hz: u32,
    /// Our features, which should decide like the kernel.
    pub preset: String,
    /// Wakeups to judge over all machines and workloads; a pair may yield fewer.
    pub decisions: u64,
    /// The first seed.
    pub seed: u64,
    /// Whether to judge picks.
    pub picks: bool,
    /// Whether to judge steps of PELT.
    pub pelt: bool,
    /// Whether to judge balance passes.
    pub balance: bool,
    /// The frequency governor; with schedutil its frequency requests are judged.
    pub governor: Governor,
}

/// A machine, with its name on the command line.
pub struct RefereedMachine {
    /// Name of a referee's machine, preset or file.
    pub name: String,
    /// The hardware.
    pub machine: Arc<Machine>,
}

/// A workload for the referee.
pub enum RefereedWorkload {
    /// One of the referee's workloads, of any length.
    Builtin(&'static ConformanceWorkload),
    /// A built-in or file, of its own length.
    Spec(String),
}

impl RefereedWorkload {
    /// Its name on the command line.
    pub fn name(&self) -> &str {
        match self {
            RefereedWorkload::Builtin(course) => course.name,
            RefereedWorkload::Spec(spec) => spec,
        }
    }

    /// The workload on a machine, for a run that should yield `wakes` wakeups.
    ///
    /// # Errors
    /// The machine cannot run the workload.
    pub fn workload(&self, machine: &Machine, wakes: u64) -> Result<Workload, WorkloadError> {
        match self {
            RefereedWorkload::Builtin(course) => course.workload(machine, duration_ns(wakes)),
            RefereedWorkload::Spec(spec) => Ok(Workload::find(spec, machine)?.0),
        }
    }
}

/// Length of a run, ns. The referee's workloads wake 10 to 100 times per ms. A run of 0.1 s shows no balancing; beyond
/// 1 s another seed shows more.
fn duration_ns(wakes: u64) -> u64 {
    (wakes * 100_000).clamp(100_000_000, 1_000_000_000)
}

/// Most runs of one pair of machine and workload.
const RUNS_MAX: u64 = 200;

/// Judges a kernel on every machine with every workload. Calls `progress` after each pair. The report contains the
/// messages of failed runs.
///
/// # Errors
/// The threads cannot be started.
pub fn judge(
    goal: &ConformancePlan,
    places: &[RefereedMachine],
    loads: &[RefereedWorkload],
    workers: &Workers,
    jobs: usize,
    progress: &(dyn Fn() + Sync),
) -> Result<Vec<MachineResult>, BatchError> {
    let share = goal.decisions.div_ceil((places.len() * loads.len()).max(1) as u64);
    let found = over_pairs(places, loads, jobs, &|place, load| {
        let found = pair(goal, place, load, share, workers);
        progress();
        found
    })?;
    let mut found = found.into_iter();
    let merged = |place: &RefereedMachine| {
        let mut sheet = MachineResult::new(place);
        found.by_ref().take(loads.len()).for_each(|of_pair| sheet.add(of_pair));
        sheet
    };
    Ok(places.iter().map(merged).collect())
}

/// Calls `one` for every machine with every workload, on several threads; the results in that order.
///
/// # Errors
/// The threads cannot be started.
fn over_pairs<T: Send>(
    places: &[RefereedMachine],
    loads: &[RefereedWorkload],
    jobs: usize,
    one: &(dyn Fn(&RefereedMachine, &RefereedWorkload) -> T + Sync),
) -> Result<Vec<T>, BatchError> {
    let pairs: Vec<(&RefereedMachine, &RefereedWorkload)> =
        places.iter().flat_map(|place| loads.iter().map(move |l| (place, l))).collect();
    let threads = jobs.min(pairs.len()).max(1);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| BatchError::Threads { jobs: threads, cause: e.to_string() })?;
    Ok(pool.install(|| pairs.par_iter().with_max_len(1).map(|(place, load)| one(place, load)).collect()))
}

/// Runs seed after seed until the share is reached, or a run yields no wakeup.
fn pair(
    goal: &ConformancePlan,
    place: &RefereedMachine,
    load: &RefereedWorkload,
    share: u64,
    workers: &Workers,
) -> MachineResult {
    let mut sheet = MachineResult::new(place);
    for seed in goal.seed..goal.seed.saturating_add(RUNS_MAX) {
        let before = sheet.wakes();
        match run(goal, place, load, share, seed, workers) {
            Ok(found) => sheet.take(load.name(), seed, &found),
            Err(problem) => {
                sheet.fail(load.name(), seed, problem);
                break;
            }
        }
        if sheet.wakes() >= share || sheet.wakes() == before {
            break;
        }
    }
    sheet
}

fn run(
    goal: &ConformancePlan,
    place: &RefereedMachine,
    load: &RefereedWorkload,
    share: u64,
    seed: u64,
    workers: &Workers,
) -> Result<Value, String> {
    let workload = load.workload(&place.machine, share).map_err(|e| e.to_string())?;
    let experiment = Experiment {
        machine: Arc::clone(&place.machine),
        workload: Arc::new(workload),
        scheds: Vec::new(),
        config: Config { hz: goal.hz, governor: goal.governor, ..Config::default() },
        workers: Workers::default(),
    };
    let ConformancePlan { picks, pelt, balance, .. } = *goal;
    let order = JobKind::Agree { preset: goal.preset.clone(), picks, pelt, balance };
    workers.agree(&experiment, &goal.kernel, seed, order)
}

fn wakes(tally: &Tally) -> u64 {
    tally.kind(Kind::Wake).map_or(0, |of| of.all.n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_lasts_no_longer_than_its_share_of_wakeups_asks_for() {
        let ms = |wakes| duration_ns(wakes) / 1_000_000;
        assert_eq!((ms(10), ms(5_000), ms(1_000_000)), (100, 500, 1000));
    }
}
