//! Regret: energy of a scheduler's placements above the optimal placement.
//!
//! ```text
//! states       drawn at random: a few steady tasks each                 steady.rs
//! runs         of each state under each scheduler: every placement      fairground_run::placements::Placements
//! Pricer       power of a placement                                     price.rs
//! best         the optimum over all placements                          best.rs
//! Judge        regret of each wakeup                                    judge.rs
//! tally        distributions by scheduler and by rule                   tally.rs
//! ```
//!
//! The scheduler uses its measured signals, the judge the tasks' true load. So regret contains not only
//! the policy's search (one task at a time, one candidate per clock) but also its estimation errors.

mod best;
mod judge;
mod price;
mod steady;
mod tally;

use std::sync::Arc;

use fairground_machine::Machine;
use miette::Diagnostic;
use thiserror::Error;

use fairground_run::batch::{self, BatchError};
use fairground_run::experiment::Experiment;
use fairground_run::placements::Placements;
use fairground_run::sched_spec::{fair, SchedSpec};

pub use best::{each_placement, Best};
pub use judge::{Judge, Outcome, Regret, WakeupRegret};
pub use price::{Price, Pricer};
pub use steady::{drawn, workload, Steady};
pub use tally::{Distribution, Distributions, RuleTally, SchedulerRegret};

/// Most tasks of a state: more tasks have too many placements to try all.
pub const MAX_TASKS: usize = 6;
/// Most CPUs of a machine, for the same reason.
pub const MAX_CPUS: usize = 8;

/// What states are drawn, and how many.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Number of random states.
    pub states: u64,
    /// Most tasks of a state, 1 to [`MAX_TASKS`].
    pub tasks: usize,
    /// Whether some tasks have `uclamp.min` or `uclamp.max`.
    pub clamps: bool,
    /// Seed of all random draws.
    pub seed: u64,
}

/// Why regret cannot be computed on a machine.
#[derive(Debug, Error, Diagnostic, PartialEq, Eq)]
pub enum RegretError {
    /// The machine has too many CPUs for exhaustive search.
    #[error("{machine} has {cpus} CPUs: all placements can be tried on {MAX_CPUS} at most")]
    TooLarge {
        /// Name of the machine.
        machine: String,
        /// Number of CPUs of the machine.
        cpus: usize,
    },
    /// Threads of a core share its capacity (SMT), which the price cannot express.
    #[error("{machine} has sibling threads: what a CPU can do there depends on what its sibling does")]
    #[diagnostic(help("take a machine of single-threaded cores, such as hikey960 or pixel6"))]
    Siblings {
        /// Name of the machine.
        machine: String,
    },
    /// The machine file states no power for some operating points.
    #[error("{machine} does not say what power the operating points of CPUs {cpus} take")]
    #[diagnostic(help("give [[freq_domain]] opps with a column `mW`, as machines/hikey960.toml does"))]
    PowerUnknown {
        /// Name of the machine.
        machine: String,
        /// CPUs of the frequency domain.
        cpus: String,
    },
}

/// Results for all schedulers.
#[derive(Clone, Debug)]
pub struct Report {
    /// Number of states for which at least one placement fits.
    pub judged: u64,
    /// Number of states for which no placement fits.
    pub nowhere: u64,
    /// Results by scheduler, in the order requested.
    pub tallies: Vec<SchedulerRegret>,
}

/// Checks that all placements on the machine can be tried and priced.
///
/// # Errors
/// If the machine has too many CPUs, SMT, or operating points without a stated power.
pub fn check(machine: &Machine) -> Result<(), RegretError> {
    let name = || machine.name.clone();
    if machine.nr_cpus() > MAX_CPUS {
        return Err(RegretError::TooLarge { machine: name(), cpus: machine.nr_cpus() });
    }
    if machine.has_smt() {
        return Err(RegretError::Siblings { machine: name() });
    }
    match machine.freq_domains.iter().find(|d| d.opps.iter().any(|opp| opp.model_uw() == 0)) {
        Some(domain) => Err(RegretError::PowerUnknown { machine: name(), cpus: domain.cpus.to_string() }),
        None => Ok(()),
    }
}

/// Runs every state under every scheduler of `experiment` and judges it. The workload of `experiment` is not used.
/// `progress` is called once for each run. The inner error says which run failed, and why.
///
/// # Errors
/// If the threads cannot be started.
pub fn run(
    experiment: &Experiment,
    plan: &Plan,
    jobs: usize,
    progress: &(dyn Fn() + Sync),
) -> Result<Result<Report, String>, BatchError> {
    let judge = Judge::new(&experiment.machine);
    let numbers: Vec<u64> = (0..plan.states).collect();
    let tasks = |number: u64| drawn(plan.seed, number, plan.tasks, plan.clamps);
    let least = batch::each(1, &numbers, jobs, &|_, number| judge.best(&tasks(number)))?.remove(0);
    let judged = |sched: usize, number: u64| {
        let Some(least) = &least[number as usize] else { return Ok(None) };
        let tasks = tasks(number);
        placements(experiment, &experiment.scheds[sched], &tasks, number)
            .map(|placements| Some(judge.judge(&tasks, least, &placements)))
            .map_err(|why| format!("{}, state {number}: {why}", experiment.scheds[sched]))
    };
    let one = |sched: usize, number: u64| {
        let outcome = judged(sched, number);
        progress();
        outcome
    };
    let runs = batch::each(experiment.scheds.len(), &numbers, jobs, &one)?;
    Ok(runs
        .into_iter()
        .zip(&experiment.scheds)
        .map(|(outcomes, sched)| tally(sched, outcomes))
        .collect::<Result<_, _>>()
        .map(|tallies| {
            let judged = least.iter().flatten().count() as u64;
            Report { judged, nowhere: plan.states - judged, tallies }
        }))
}

fn tally(sched: &SchedSpec, outcomes: Vec<Result<Option<Outcome>, String>>) -> Result<SchedulerRegret, String> {
    let outcomes: Vec<Option<Outcome>> = outcomes.into_iter().collect::<Result<_, _>>()?;
    let outcomes: Vec<Outcome> = outcomes.into_iter().flatten().collect();
    Ok(SchedulerRegret::from_outcomes(sched.to_string(), &outcomes))
}

/// One run of steady tasks: in this process, or in a worker if the scheduler needs one.
fn placements(experiment: &Experiment, sched: &SchedSpec, tasks: &[Steady], seed: u64) -> Result<Placements, String> {
    let of_state = Experiment {
        machine: Arc::clone(&experiment.machine),
        workload: Arc::new(workload(tasks)),
        scheds: Vec::new(),
        config: experiment.config,
        workers: experiment.workers.clone(),
    };
    let Some(features) = sched.features().filter(|_| !experiment.workers.always) else {
        return of_state.workers.placements(&of_state, sched, seed);
    };
    let fair = fair(features, &experiment.machine).map_err(|e| e.to_string())?;
    batch::contained(|| Placements::of(&of_state, fair, seed)).unwrap_or_else(Err)
}

#[cfg(test)]
mod tests;
