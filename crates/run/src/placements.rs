//! [`Placements`]: the placement decisions of one run.

use fairground_sim::{
    Decision, DecisionKind, Event, EventKind, MetricsObserver, MigrateCause, Observer, Scheduler, Time,
};
use serde::{Deserialize, Serialize};

use crate::experiment::Experiment;

/// Where a task was placed by one wakeup, fork or exec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// Virtual time of the decision, ns.
    pub time: Time,
    /// `wake`, `fork` or `exec`, by [`Placement::kind`].
    kind: u8,
    /// Id of the placed task.
    pub task: u32,
    /// The task's previous CPU; at a fork, the parent's CPU.
    pub prev: u32,
    /// The CPU that the scheduler chose.
    pub chosen: u32,
    /// Index of the rule into [`Placements::rules`].
    pub rule: u16,
    /// Number of CPUs that a wakeup has probed for idleness.
    pub probes: u32,
    /// How often a CPU was read for group statistics or for an estimate of energy.
    pub group_cpus: u32,
}

/// Names of [`Placement::kind`] by number.
const KINDS: [&str; 3] = ["wake", "fork", "exec"];

impl Placement {
    /// The placement of decision `d` at `time`.
    pub fn new(time: Time, d: &Decision) -> Placement {
        let kind = match d.kind {
            DecisionKind::Wake => 0,
            DecisionKind::Fork => 1,
            DecisionKind::Exec => 2,
        };
        let Decision { task, prev, chosen, rule, probes, group_cpus, .. } = *d;
        Placement { time, kind, task, prev, chosen, rule, probes, group_cpus }
    }

    /// Kind of the decision: `wake`, `fork` or `exec`.
    pub fn kind(&self) -> &'static str {
        KINDS.get(usize::from(self.kind)).copied().unwrap_or("unknown")
    }

    /// Whether both are the same decision. Their times and rules may differ.
    pub fn same(&self, other: &Placement) -> bool {
        (self.kind, self.task, self.prev, self.chosen) == (other.kind, other.task, other.prev, other.chosen)
    }
}

/// All placements of a run, and the figures to compare runs by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Placements {
    /// In the order in which they were decided.
    pub all: Vec<Placement>,
    /// Names of the scheduler's rules, by number, up to the largest [`Placement::rule`].
    pub rules: Vec<String>,
    /// Length of the measured window in virtual time, s.
    pub seconds: f64,
    /// Number of migrations of all tasks.
    pub migrations: u64,
    /// Number of migrations by load balancing.
    pub balanced: u64,
    /// 99th percentile of the time from the start of a wakeup until the woken task can work, ns.
    pub wakeup_latency_p99_ns: u64,
}

/// Collects the placements of a run.
#[derive(Default)]
struct Collector(Vec<Placement>);

impl Observer for Collector {
    fn event(&mut self, event: &Event) {
        if let EventKind::Decision(decision) = &event.kind {
            self.0.push(Placement::new(event.time, decision));
        }
    }
}

impl Placements {
    /// The placements of one run.
    ///
    /// # Errors
    /// If the run fails.
    pub fn of(experiment: &Experiment, sched: Box<dyn Scheduler>, seed: u64) -> Result<Placements, String> {
        let mut engine = experiment.engine(sched, seed);
        let mut collector = Collector::default();
        let mut metrics = MetricsObserver::new(experiment.machine.clone(), &experiment.workload);
        let outcome = engine.run(&mut [&mut collector, &mut metrics]).map_err(|e| e.to_string())?;
        let sched = engine.scheduler();
        let run = metrics.finish(&outcome, sched);
        let nr_rules = collector.0.iter().map(|p| p.rule + 1).max().unwrap_or(0);
        let cause = |cause: MigrateCause| run.migrations_for(cause);
        Ok(Placements {
            all: collector.0,
            rules: (0..nr_rules).map(|rule| sched.rule(rule).name.to_string()).collect(),
            seconds: run.window_ns as f64 / 1e9,
            migrations: run.migrations,
            balanced: [MigrateCause::Balance, MigrateCause::NewIdle, MigrateCause::Active].map(cause).iter().sum(),
            wakeup_latency_p99_ns: run.wakeup_latency.p99,
        })
    }

    /// The name of the rule of a placement.
    pub fn rule(&self, placed: &Placement) -> &str {
        self.rules.get(usize::from(placed.rule)).map_or("unknown", String::as_str)
    }
}
