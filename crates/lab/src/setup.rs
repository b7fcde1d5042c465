//! Machine, workload, schedulers and circumstances, ready to run.

use std::sync::Arc;

use fairground_fair::FairError;
use fairground_machine::Machine;
use fairground_sim::{Config, Engine, HashObserver, MetricsObserver, Observer, SimError};
use fairground_workload::Workload;

use crate::experiment::{RunReport, Runner};
use crate::metric::Metric;
use crate::readings::{metrics, readings};
use crate::spec::SchedSpec;

/// Everything but the seed.
pub struct Setup {
    /// The hardware.
    pub machine: Arc<Machine>,
    /// What its threads do.
    pub workload: Arc<Workload>,
    /// Schedulers; the first is the base.
    pub scheds: Vec<SchedSpec>,
    /// Circumstances; the seed in it is replaced by that of each run.
    pub config: Config,
}

impl Setup {
    /// What every run reports.
    pub fn metrics(&self) -> Vec<Metric> {
        metrics(&self.workload)
    }

    /// A run that has not begun.
    ///
    /// # Errors
    /// If the scheduler cannot serve the machine.
    pub fn engine(&self, sched: &SchedSpec, seed: u64) -> Result<Engine, FairError> {
        let config = Config { seed, ..self.config };
        let sched = sched.build(&self.machine)?;
        Ok(Engine::new(Arc::clone(&self.machine), Arc::clone(&self.workload), sched, config))
    }

    /// Carries a run out, telling `observers` of every event beside the hash and the metrics.
    ///
    /// # Errors
    /// Why it failed. The observers have seen all that came before, unless the workload was refused
    /// ([`SimError::Program`]).
    pub fn observe(&self, mut engine: Engine, observers: &mut [&mut dyn Observer]) -> Result<RunReport, SimError> {
        let mut hash = HashObserver::new();
        let mut metrics = MetricsObserver::new(Arc::clone(&self.machine), &self.workload);
        let mut all: Vec<&mut dyn Observer> = vec![&mut hash, &mut metrics];
        for observer in observers {
            all.push(&mut **observer);
        }
        let outcome = engine.run(&mut all)?;
        Ok(RunReport {
            readings: readings(&self.workload, &metrics.finish(&outcome, engine.scheduler())),
            hash: hash.value(),
            notes: outcome.notes,
        })
    }
}

impl Runner for Setup {
    fn run(&self, sched: usize, seed: u64) -> Result<RunReport, String> {
        let engine = self.engine(&self.scheds[sched], seed).map_err(|e| e.to_string())?;
        self.observe(engine, &mut []).map_err(|e| e.to_string().trim_end().to_owned())
    }
}
