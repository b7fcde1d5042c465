//! Cost attribution: which cost term a change comes from, by the same pairs of runs on machines where one term is free.
//!
//! A term's share is the change with all costs minus the change without the term, in percentage points of the
//! respective base. A term that machine and workload do not have is left out. Terms overlap in time, so shares need not
//! add up; the rest is shown.

use std::sync::Arc;

use fairground_machine::{Distance, Machine, SoftCost};
use fairground_sim::Config;
use fairground_workload::{Object, Workload};
use serde::Serialize;

use crate::comparison::Report;
use fairground_run::experiment::Experiment;

/// A cost term of the model that can be switched off.
pub struct CostTerm {
    /// Short name, as tables print it.
    pub name: &'static str,
    /// Description of the cost.
    pub meaning: &'static str,
    off: fn(&mut Machine, &mut Config, &Workload),
}

impl CostTerm {
    /// `experiment` where the term costs nothing; `None` if the term costs nothing there anyway.
    pub fn switch_off(&self, experiment: &Experiment) -> Option<Experiment> {
        let (mut machine, mut config) = (Machine::clone(&experiment.machine), experiment.config);
        (self.off)(&mut machine, &mut config, &experiment.workload);
        let differs = machine != *experiment.machine || config != experiment.config;
        differs.then(|| Experiment {
            machine: Arc::new(machine),
            workload: Arc::clone(&experiment.workload),
            scheds: experiment.scheds.clone(),
            config,
            workers: experiment.workers.clone(),
        })
    }
}

/// The terms by which a wakeup's placement can matter.
pub const TERMS: [CostTerm; 8] = [
    CostTerm {
        name: "scan",
        meaning: "looking at CPUs while placing a task (costs.soft.probe)",
        off: |m, _, _| m.costs.soft_ns[SoftCost::Probe as usize] = 0.0,
    },
    CostTerm {
        name: "refill",
        meaning: "refilling a task's footprint from other caches and memory (costs.refill_kib, cache, refill)",
        off: |m, _, _| {
            m.costs.refill_kib_ns = [0; Distance::COUNT];
            m.caches = None;
        },
    },
    CostTerm {
        name: "migrate",
        meaning: "moving a task's accounting to another CPU (costs.soft.migrate)",
        off: |m, _, _| m.costs.soft_ns[SoftCost::Migrate as usize] = 0.0,
    },
    CostTerm {
        name: "idle exit",
        meaning: "entering and leaving idle states (entry and wake of every state)",
        off: |m, _, _| {
            let states = m.cpu_types.iter_mut().flat_map(|t| &mut t.idle_states);
            states.for_each(|s| (s.entry_ns, s.wake_ns, s.late_ns) = (0, 0, 0));
        },
    },
    CostTerm {
        name: "distance",
        meaning:
            "bringing messages and locks over from other CPUs (costs.line, costs.message and what belongs to them)",
        off: |m, _, _| {
            let none = [0; Distance::COUNT];
            (m.costs.line_ns, m.costs.message_ns, m.costs.socket_message_ns) = (none, none, none);
            (m.costs.line_read_ns, m.costs.line_next_ns) = (None, None);
            m.costs.message_lines = 0.0;
        },
    },
    CostTerm {
        name: "pipe mutex",
        meaning: "waiting for the mutex of a pipe while others write or read",
        off: |_, c, w| c.locks.pipe &= !w.objects.iter().any(|o| matches!(o, Object::Pipe { .. })),
    },
    CostTerm {
        name: "queue lock",
        meaning: "waiting for the lock of a run queue and bringing its line over",
        off: |m, c, _| c.locks.run_queue &= m.nr_cpus() == 1,
    },
    CostTerm {
        name: "link",
        meaning: "waiting for the link between two nodes (costs.link)",
        off: |m, _, _| m.costs.link_gb_per_s = None,
    },
];

/// The change without one cost term.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostTermShare {
    /// Short name of the cost term.
    pub term: &'static str,
    /// The change without it, percent, positive = better.
    pub without_pct: Option<f64>,
    /// 95 % interval of that.
    pub ci95: Option<[f64; 2]>,
    /// The term's share: the whole change minus the change without the term, percentage points.
    pub share_points: Option<f64>,
}

/// Attributes the change of `metric`, which is `whole_pct` with all costs, to terms. `reports` has the comparison
/// without each of [`TERMS`], `None` for a term that is absent.
pub fn shares(reports: &[Option<Report>], metric: &str, whole_pct: Option<f64>) -> Vec<CostTermShare> {
    let share = |(term, report): (&CostTerm, &Report)| {
        let rows = report.comparisons.first().map(|c| c.rows.as_slice()).unwrap_or_default();
        let change = rows.iter().find(|r| r.metric.name == metric).map(|r| &r.change);
        let without_pct = change.and_then(|c| c.improvement_pct);
        CostTermShare {
            term: term.name,
            without_pct,
            ci95: change.and_then(|c| c.ci95),
            share_points: whole_pct.zip(without_pct).map(|(whole, without)| whole - without),
        }
    };
    TERMS.iter().zip(reports).filter_map(|(term, report)| Some((term, report.as_ref()?))).map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Settings;
    use fairground_run::batch::{self, Plan};
    use fairground_run::sched_spec::SchedSpec;

    #[test]
    fn the_refill_carries_more_of_mail_000_than_the_scan() {
        let machine = Machine::preset("hikey960").unwrap();
        let workload = fairground_workload::Workload::find("sched-pipe:loops=1000,threads", &machine).unwrap().0;
        let experiment = Experiment {
            machine: Arc::new(machine),
            workload: Arc::new(workload),
            scheds: ["fair:v5.9", "fair:v5.9+asym-prev-first"].map(|s| s.parse().unwrap()).into(),
            config: Default::default(),
            workers: Default::default(),
        };
        let plan = Plan { scheds: 2, seeds: vec![1, 2], jobs: 1, check_determinism: false };
        let (machine, workload) = (&experiment.machine.name, &experiment.workload.name);
        let side = |sched: &SchedSpec| Settings::new(machine, workload, &sched.to_string());
        let sides: Vec<Settings> = experiment.scheds.iter().map(side).collect();
        let report = |term: &CostTerm| {
            let results = batch::run(&plan, &term.switch_off(&experiment)?, &|| ()).unwrap();
            Some(Report::new(&sides, &plan.seeds, &results))
        };
        let reports: Vec<Option<Report>> = TERMS.iter().map(report).collect();
        let shares = shares(&reports, "ops_per_sec", Some(30.0));
        let without = |term: &str| shares.iter().find(|s| s.term == term).unwrap().without_pct.unwrap();
        // A migration per wakeup stops, and both sides probe as many CPUs on most wakeups.
        assert!(without("refill") < without("scan"));
        assert!(without("refill") > 0.0);
        assert_eq!(shares[0].share_points, Some(30.0 - without("scan")));
        let names: Vec<&str> = shares.iter().map(|s| s.term).collect();
        let present = ["scan", "refill", "migrate", "idle exit", "distance", "pipe mutex", "queue lock"];
        assert_eq!(names, present, "the machine has no link between nodes");
    }
}
