//! What the simulator says of both sides, on draws of the figures in doubt.
//!
//! Draw `d` of the machine is run with seed `d`, base and test alike, as `fairground compare --doubt` does. Workloads are
//! not drawn: `play` carries out just what they state, working sets included. Without draws the machine is run as its file
//! states it, with several seeds, and there are no intervals.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairground_machine::{Draw, Machine, MachineError};
use fairground_run::batch::{BatchError, RunReport};
use fairground_run::executor::{Asked, Executor, ProgressListener};
use fairground_run::experiment::{Experiment, Stop};
use fairground_run::run_config::{ExperimentError, RunConfig};
use fairground_run::sched_spec::SchedSpec;
use fairground_run::store::Store;
use fairground_run::worker::Workers;
use fairground_sim::Config;
use miette::Diagnostic;
use thiserror::Error;

use crate::matrix::{Intervention, Side};

/// Seeds that stand for draws where none are asked for.
pub const SEEDS: u64 = 8;

/// Runs of one draw: the figures of base and test, by name; `None` where a run failed.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPair {
    /// Without the change.
    pub base: Option<BTreeMap<String, f64>>,
    /// With it.
    pub test: Option<BTreeMap<String, f64>>,
}

/// What is predicted for an intervention.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// One for each draw, or seed.
    pub runs: Vec<RunPair>,
    /// Why runs failed, without duplicates.
    pub failures: Vec<String>,
}

/// Why nothing is predicted.
#[derive(Debug, Error, Diagnostic)]
pub enum PredictError {
    /// The scheduler does not go with the machine.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Experiment(#[from] ExperimentError),
    /// The machine cannot be drawn.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Machine(#[from] MachineError),
    /// The runs could not be made.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Batch(#[from] BatchError),
}

/// Simulates interventions.
pub struct Simulator {
    machines: Vec<(u64, u64, Arc<Machine>)>,
    sched: SchedSpec,
    hz: Option<u32>,
    workers: Workers,
}

impl Simulator {
    /// On `draws` draws of `machine` under `sched`; `hz`: ticks per second of the running kernel, if they are known.
    ///
    /// # Errors
    /// If the machine cannot be drawn.
    pub fn new(
        machine: &Machine,
        sched: SchedSpec,
        hz: Option<u32>,
        draws: u64,
        workers: Workers,
    ) -> Result<Simulator, MachineError> {
        let machines = match draws {
            0 => {
                let stated = Arc::new(machine.clone());
                (1..=SEEDS).map(|seed| (0, seed, Arc::clone(&stated))).collect()
            }
            draws => {
                let drawn = |draw| Ok((draw, draw, Arc::new(machine.drawn(Draw(draw))?)));
                (1..=draws).map(drawn).collect::<Result<_, MachineError>>()?
            }
        };
        Ok(Simulator { machines, sched, hz, workers })
    }

    /// One experiment of a side for each draw, with its seed.
    fn experiments(&self, side: &Side) -> Result<Vec<(Arc<Experiment>, u64)>, ExperimentError> {
        let workload = Arc::new(side.simulated());
        // A rate that kernels are not configured with is left to the simulator's default.
        let hz = self.hz.filter(|hz| RunConfig::default().set_text("hz", &hz.to_string()).is_ok());
        let config = RunConfig { hz, ..RunConfig::default() };
        let on = |(draw, seed, machine): &(u64, u64, Arc<Machine>)| {
            let scheds = vec![self.sched.clone()];
            let (mut experiment, _) = config.experiment_of(Arc::clone(machine), Arc::clone(&workload), scheds)?;
            experiment.config = Config { draw: *draw, ..experiment.config };
            experiment.workers = self.workers.clone();
            Ok((Arc::new(experiment), *seed))
        };
        self.machines.iter().map(on).collect()
    }

    /// Predicts all `interventions`; results that are in the store are read from it.
    ///
    /// # Errors
    /// If the runs cannot be made, or `stop` became true.
    pub fn predict(
        &self,
        interventions: &[&Intervention],
        jobs: usize,
        store: Option<&Store>,
        stop: &Stop,
        report: ProgressListener,
    ) -> Result<Vec<Prediction>, PredictError> {
        let mut executor = Executor::default();
        let mut asked: Vec<[Vec<Asked>; 2]> = Vec::new();
        for intervention in interventions {
            let mut ask = |side: &Side| -> Result<Vec<Asked>, ExperimentError> {
                let experiments = self.experiments(side)?;
                Ok(experiments.iter().map(|(experiment, seed)| executor.ask(experiment, 0, &[*seed])).collect())
            };
            asked.push([ask(&intervention.base)?, ask(&intervention.test)?]);
        }
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let outcomes = executor.carry_out(store, jobs, stop, report)?;
        let prediction = |[base, test]: &[Vec<Asked>; 2]| {
            let run = |asked: &Asked| outcomes.of(*asked).pop().unwrap_or_else(|| Err("it was not made".into()));
            Prediction::new(base.iter().zip(test).map(|(base, test)| (run(base), run(test))))
        };
        Ok(asked.iter().map(prediction).collect())
    }
}

impl Prediction {
    fn new(runs: impl Iterator<Item = (Result<RunReport, String>, Result<RunReport, String>)>) -> Prediction {
        let mut prediction = Prediction { runs: Vec::new(), failures: Vec::new() };
        for (base, test) in runs {
            let mut values = |run: Result<RunReport, String>| match run {
                Ok(report) => Some(report.metrics.into_iter().map(|v| (v.metric.name, v.value)).collect()),
                Err(reason) => {
                    if !prediction.failures.contains(&reason) {
                        prediction.failures.push(reason);
                    }
                    None
                }
            };
            let (base, test) = (values(base), values(test));
            prediction.runs.push(RunPair { base, test });
        }
        prediction
    }

    /// Base and test of a figure, of the runs that have both.
    pub fn of(&self, metric: &str) -> Vec<(f64, f64)> {
        let both = |run: &RunPair| Some((*run.base.as_ref()?.get(metric)?, *run.test.as_ref()?.get(metric)?));
        self.runs.iter().filter_map(both).collect()
    }
}

#[cfg(test)]
mod tests {
    use fairground_machine::CpuMask;

    use super::*;
    use crate::base::Shape;
    use crate::matrix::matrix;

    /// Half of four hogs on two CPUs have nice 10: of a CPU that one of each shares, it gets 1024 of 1134 (weight 110).
    #[test]
    fn an_intervention_is_simulated_on_draws() {
        let machine = Machine::symmetric(2);
        let shape = Shape { machine: &machine, cpus: 2, seconds: 2.0 };
        let all = matrix(&shape, &CpuMask::first_n(2)).unwrap();
        let chosen: Vec<&Intervention> = all.iter().filter(|i| i.name == "nice-half/hogs-10").collect();
        let sched: SchedSpec = "fair:v6.18".parse().unwrap();
        for (draws, runs) in [(2, 2), (0, SEEDS as usize)] {
            let simulator = Simulator::new(&machine, sched.clone(), Some(250), draws, Workers::default()).unwrap();
            let found = simulator.predict(&chosen, 1, None, &Stop::default(), &|_| ()).unwrap();
            let first = found[0].of("first_mean_us");
            assert_eq!((first.len(), found[0].failures.len()), (runs, 0));
            for (base, test) in first {
                let gain = base / test;
                assert!(
                    (1.6..2.0).contains(&gain),
                    "{base} to {test}: twice 1024 / 1134, less what it takes to balance them"
                );
            }
        }
    }

    #[test]
    fn runs_that_fail_are_told_once_and_leave_a_gap() {
        let fail = || Err("no".to_owned());
        let ok = || {
            let metric = fairground_run::metrics::Metric::new("x", "s", fairground_run::metrics::Better::Lower, "");
            let value = fairground_run::metrics::MetricValue { metric, value: 2.0 };
            Ok(RunReport { metrics: vec![value], hash: 0, notes: vec![] })
        };
        let prediction = Prediction::new([(ok(), ok()), (ok(), fail()), (fail(), ok())].into_iter());
        assert_eq!((prediction.of("x"), prediction.failures), (vec![(2.0, 2.0)], vec!["no".to_owned()]));
    }
}
