//! Runs on draws, made by the executor.

use std::sync::Arc;

use fairground_run::batch::{BatchError, Plan};
use fairground_run::executor::{Asked, Executor, Outcomes, ProgressListener};
use fairground_run::experiment::{Experiment, Stop};
use fairground_run::store::Store;

use super::{DrawnRuns, Draws};
use crate::sides::Sides;

impl Draws {
    /// Carries all runs out; results that are in the store are read from it. If `plan` checks determinism, every run is
    /// made twice, and the store is not used. Its seeds are not used.
    ///
    /// # Errors
    /// As [`Executor::carry_out`].
    pub fn carry_out(
        self,
        plan: &Plan,
        store: Option<&Store>,
        stop: &Stop,
        report: ProgressListener,
    ) -> Result<Vec<DrawnRuns>, BatchError> {
        if plan.check_determinism {
            let twice = |(draw, seed, sides): (u64, u64, Sides)| {
                let plan = Plan { seeds: vec![seed], ..plan.clone() };
                let results = Executor::batch(&sides.experiments, &plan, None, stop, report)?;
                Ok(DrawnRuns { draw, seed, runs: results.into_iter().flatten().collect() })
            };
            return self.drawn.into_iter().map(twice).collect();
        }
        let (mut executor, mut asked) = (Executor::default(), AskedDraws::default());
        for (draw, seed, sides) in &self.drawn {
            asked.ask(&mut executor, (*draw, *seed), &sides.experiments);
        }
        if asked.0.is_empty() {
            return Ok(Vec::new());
        }
        Ok(asked.runs(&executor.carry_out(store, plan.jobs, stop, report)?))
    }
}

/// Runs on draws that an executor was asked for: number of the draw, seed of its runs, and one column of each side.
#[derive(Default)]
pub struct AskedDraws(Vec<(u64, u64, Vec<Asked>)>);

impl AskedDraws {
    /// Asks for one run of each of `sides`, which are on this draw, the base first.
    pub fn ask(&mut self, executor: &mut Executor, (draw, seed): (u64, u64), sides: &[Arc<Experiment>]) {
        let asked = sides.iter().map(|experiment| executor.ask(experiment, 0, &[seed])).collect();
        self.0.push((draw, seed, asked));
    }

    /// The runs of each draw, in the order in which they were asked for.
    pub fn runs(&self, outcomes: &Outcomes) -> Vec<DrawnRuns> {
        let runs = |asked: &[Asked]| asked.iter().flat_map(|asked| outcomes.of(*asked)).collect();
        self.0.iter().map(|(draw, seed, asked)| DrawnRuns { draw: *draw, seed: *seed, runs: runs(asked) }).collect()
    }
}
