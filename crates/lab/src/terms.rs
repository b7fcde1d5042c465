//! Which physical term carries a change: the same pairs of runs on machines on which one term costs nothing.
//!
//! A term's share is the change with everything minus the change without the term, in percentage points of the
//! respective base. Terms overlap in time, so shares need not add up to the whole; the rest is said.

use fairground_machine::{Distance, Machine, SoftCost};
use serde::Serialize;

use crate::comparison::Report;
use crate::setup::Setup;

/// A cost that can be switched off.
pub struct Term {
    /// Short name.
    pub name: &'static str,
    /// What it stands for.
    pub meaning: &'static str,
    off: fn(&mut Machine),
}

/// The terms by which a wakeup's placement can matter.
pub const TERMS: [Term; 4] = [
    Term {
        name: "scan",
        meaning: "looking at CPUs while placing a task (costs.soft.probe)",
        off: |m| m.costs.soft_ns[SoftCost::Probe as usize] = 0.0,
    },
    Term {
        name: "refill",
        meaning: "refilling a migrated task's footprint (costs.refill_kib)",
        off: |m| m.costs.refill_kib_ns = [0; Distance::COUNT],
    },
    Term {
        name: "migrate",
        meaning: "moving a task's accounting to another CPU (costs.soft.migrate)",
        off: |m| m.costs.soft_ns[SoftCost::Migrate as usize] = 0.0,
    },
    Term {
        name: "idle exit",
        meaning: "entering and leaving idle states (entry and wake of every state)",
        off: |m| {
            let states = m.cpu_types.iter_mut().flat_map(|t| &mut t.idle_states);
            states.for_each(|s| (s.entry_ns, s.wake_ns) = (0, 0));
        },
    },
];

/// What a change would be without one term.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TermShare {
    /// The term.
    pub term: &'static str,
    /// The change without it, percent, positive = better.
    pub without_pct: Option<f64>,
    /// 95 % interval of that.
    pub ci95: Option<[f64; 2]>,
    /// What the term carries: the whole change less that, percentage points.
    pub share_points: Option<f64>,
}

impl Term {
    /// `setup` on a machine on which the term costs nothing.
    pub fn without(&self, setup: &Setup) -> Setup {
        setup.with_machine(self.off)
    }
}

/// What carries the change of `metric`, which is `whole_pct` with everything. `reports`: without each of [`TERMS`].
pub fn shares(reports: &[Report], metric: &str, whole_pct: Option<f64>) -> Vec<TermShare> {
    let share = |(term, report): (&Term, &Report)| {
        let rows = report.comparisons.first().map(|c| c.rows.as_slice()).unwrap_or_default();
        let change = rows.iter().find(|r| r.metric.name == metric).map(|r| &r.change);
        let without_pct = change.and_then(|c| c.improvement_pct);
        TermShare {
            term: term.name,
            without_pct,
            ci95: change.and_then(|c| c.ci95),
            share_points: whole_pct.zip(without_pct).map(|(whole, without)| whole - without),
        }
    };
    TERMS.iter().zip(reports).map(share).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::experiment::{self, Plan};

    #[test]
    fn the_refill_carries_more_of_mail_000_than_the_scan() {
        let machine = Machine::preset("hikey960").unwrap();
        let workload = fairground_workload::Workload::find("sched-pipe:loops=1000,threads", &machine).unwrap().0;
        let setup = Setup {
            machine: Arc::new(machine),
            workload: Arc::new(workload),
            scheds: ["fair:v5.9", "fair:v5.9+asym-prev-first"].map(|s| s.parse().unwrap()).into(),
            config: Default::default(),
            workers: Default::default(),
        };
        let plan = Plan { scheds: 2, seeds: vec![1, 2], jobs: 1, check_determinism: false };
        let names: Vec<String> = setup.scheds.iter().map(|s| s.to_string()).collect();
        let report = |term: &Term| {
            let results = experiment::run(&plan, &term.without(&setup), &|| ()).unwrap();
            Report::new(&setup.machine.name, &setup.workload.name, &names, &plan.seeds, &results)
        };
        let reports: Vec<Report> = TERMS.iter().map(report).collect();
        let shares = shares(&reports, "ops_per_sec", Some(30.0));
        let without = |term: &str| shares.iter().find(|s| s.term == term).unwrap().without_pct.unwrap();
        // A migration per wakeup stops, and both sides probe as many CPUs on most wakeups.
        assert!(without("refill") < without("scan"));
        assert!(without("refill") > 0.0);
        assert_eq!(shares[0].share_points, Some(30.0 - without("scan")));
    }
}
