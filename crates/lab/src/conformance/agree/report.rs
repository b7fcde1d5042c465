//! Results by machine, as data and JSON.

use fairground_linux::conformance::{Kind, PeltTally, Tally};
use serde_json::{json, Value};

use super::{wakes, RefereedMachine};

/// Rows with fewer decisions are marked `few`.
pub const ROW_MIN: u64 = 500;

/// Most disagreements that are kept for one machine, kind and rule.
const KEPT_OF_RULE: usize = 2;

/// Name and version of the schema.
const SCHEMA: &str = "fairground-agree-1";

/// Name and description of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineName {
    /// The machine's name on the command line.
    pub name: String,
    /// Description of one line.
    pub title: String,
}

/// A disagreement in the form of [`fairground_linux::conformance::Disagreement::json`].
#[derive(Clone, Debug)]
pub struct FoundDisagreement {
    /// Name of the workload.
    pub workload: String,
    /// Seed of the run.
    pub seed: u64,
    /// The disagreement as JSON.
    pub said: Value,
}

/// The results of one machine.
#[derive(Clone, Debug)]
pub struct MachineResult {
    /// The machine.
    pub machine: MachineName,
    /// Number of completed runs.
    pub runs: u64,
    /// Judged decisions, and how many agree.
    pub tally: Tally,
    /// Judged steps of PELT, and how many agree.
    pub pelt: PeltTally,
    /// Differences between the kernel's domains and ours.
    pub topology: Vec<String>,
    /// The first disagreements of each kind and rule.
    pub disagreements: Vec<FoundDisagreement>,
    /// Workload, seed and message of runs that failed.
    pub failures: Vec<(String, u64, String)>,
}

impl MachineResult {
    pub(super) fn new(place: &RefereedMachine) -> MachineResult {
        MachineResult {
            machine: MachineName { name: place.name.clone(), title: place.machine.title.clone() },
            runs: 0,
            tally: Tally::default(),
            pelt: PeltTally::default(),
            topology: Vec::new(),
            disagreements: Vec::new(),
            failures: Vec::new(),
        }
    }

    pub(super) fn wakes(&self) -> u64 {
        wakes(&self.tally)
    }

    /// Adds the results of one run.
    pub(super) fn take(&mut self, workload: &str, seed: u64, found: &Value) {
        let (tally, pelt) = (Tally::from_json(&found["kinds"]), PeltTally::from_json(&found["pelt"]));
        let (Some(tally), Some(pelt)) = (tally, pelt) else {
            return self.fail(workload, seed, "the worker's tally cannot be read".into());
        };
        self.runs += 1;
        self.tally.add(&tally);
        self.pelt.add(&pelt);
        if self.topology.is_empty() {
            let words = found["topology"].as_array().into_iter().flatten();
            self.topology = words.filter_map(Value::as_str).map(String::from).collect();
        }
        for said in found["disagreements"].as_array().into_iter().flatten() {
            self.keep(FoundDisagreement { workload: workload.into(), seed, said: said.clone() });
        }
    }

    /// Adds the results of another workload on the same machine.
    pub(super) fn add(&mut self, other: MachineResult) {
        self.runs += other.runs;
        self.tally.add(&other.tally);
        self.pelt.add(&other.pelt);
        if self.topology.is_empty() {
            self.topology = other.topology;
        }
        other.disagreements.into_iter().for_each(|found| self.keep(found));
        self.failures.extend(other.failures);
    }

    pub(super) fn fail(&mut self, workload: &str, seed: u64, problem: String) {
        self.failures.push((workload.into(), seed, problem));
    }

    fn keep(&mut self, found: FoundDisagreement) {
        let alike =
            |other: &&FoundDisagreement| ["kind", "rule"].iter().all(|key| other.said[*key] == found.said[*key]);
        if self.disagreements.iter().filter(alike).count() < KEPT_OF_RULE {
            self.disagreements.push(found);
        }
    }

    /// Rules that decided fewer than [`ROW_MIN`] wakeups, with that number.
    pub fn thin_rows(&self) -> Vec<(&str, u64)> {
        let rules = self.tally.kind(Kind::Wake).into_iter().flat_map(|of| &of.rules);
        rules.filter(|(_, count)| count.n < ROW_MIN).map(|(rule, count)| (rule.as_str(), count.n)).collect()
    }

    fn json(&self) -> Value {
        json!({
            "shape": self.machine.name,
            "title": self.machine.title,
            "runs": self.runs,
            "kinds": self.tally.json(),
            "pelt": self.pelt.json(),
            "topology": self.topology,
        })
    }
}

/// The results of a kernel.
pub struct ConformanceReport {
    /// The kernel's name.
    pub kernel: String,
    /// The release of its tree.
    pub release: String,
    /// Our features, which are compared with the kernel.
    pub preset: String,
    /// Notes on the results.
    pub notes: Vec<String>,
    /// The first seed of the runs.
    pub seed: u64,
    /// The machines, in the order of the request.
    pub sheets: Vec<MachineResult>,
}

impl ConformanceReport {
    /// Decisions on all machines.
    pub fn tally(&self) -> Tally {
        let mut sum = Tally::default();
        self.sheets.iter().for_each(|sheet| sum.add(&sheet.tally));
        sum
    }

    /// Steps of PELT on all machines.
    pub fn pelt(&self) -> PeltTally {
        let mut sum = PeltTally::default();
        self.sheets.iter().for_each(|sheet| sum.add(&sheet.pelt));
        sum
    }

    /// Disagreements of all machines, each with its machine.
    pub fn disagreements(&self) -> impl Iterator<Item = (&MachineResult, &FoundDisagreement)> {
        self.sheets.iter().flat_map(|sheet| sheet.disagreements.iter().map(move |found| (sheet, found)))
    }

    /// Failed runs: machine, workload, seed and message.
    pub fn failures(&self) -> impl Iterator<Item = (&MachineResult, &(String, u64, String))> {
        self.sheets.iter().flat_map(|sheet| sheet.failures.iter().map(move |failure| (sheet, failure)))
    }

    /// The report as JSON, see docs/json.md.
    pub fn json(&self) -> Value {
        let disagreements = self.disagreements().map(|(sheet, found)| {
            let mut value = json!({ "shape": sheet.machine.name, "workload": found.workload, "seed": found.seed });
            if let (Some(to), Some(said)) = (value.as_object_mut(), found.said.as_object()) {
                to.extend(said.clone());
            }
            value
        });
        let failures = self.failures().map(|(sheet, (workload, seed, message))| {
            json!({ "shape": sheet.machine.name, "workload": workload, "seed": seed, "message": message })
        });
        json!({
            "schema": SCHEMA,
            "kernel": self.kernel,
            "release": self.release,
            "preset": self.preset,
            "seed": self.seed,
            "kinds": self.tally().json(),
            "pelt": self.pelt().json(),
            "shapes": self.sheets.iter().map(MachineResult::json).collect::<Vec<Value>>(),
            "disagreements": disagreements.collect::<Vec<Value>>(),
            "failures": failures.collect::<Vec<Value>>(),
            "notes": self.notes,
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use fairground_machine::Machine;

    use super::*;

    /// 600 wakes by C1, all but one alike, and 3 by C8.
    fn found() -> Value {
        let mut tally = Tally::default();
        (0..600).for_each(|i| tally.count(Kind::Wake, "C1", i > 0, true));
        (0..3).for_each(|_| tally.count(Kind::Wake, "C8", true, true));
        tally.count(Kind::Fork, "fork-idlest", true, true);
        let case = json!({
            "placing": { "task": 4, "this_cpu": 1 },
            "ours": { "why": ["C1: cpu1 is idle"] },
            "cpus": [{ "nr_running": 2 }, { "id": 1 }],
            "kernel": 0,
        });
        let said = json!({ "kind": "wake", "rule": "C1", "text": "wake: kernel 0, ours 1 by C1", "case": case });
        json!({
            "kinds": tally.json(),
            "pelt": PeltTally::default().json(),
            "topology": ["cpu0 domain 0: span: kernel 0-1, ours 0", "cpu1 domain 0: span: kernel 0-1, ours 0"],
            "disagreements": [said, said.clone(), said.clone()],
        })
    }

    pub fn sheets() -> ConformanceReport {
        let place = RefereedMachine { name: "one-llc".into(), machine: Arc::new(Machine::symmetric(8)) };
        let mut sheet = MachineResult::new(&place);
        sheet.take("mix", 7, &found());
        sheet.fail("pipe", 8, "the kernel hits BUG".into());
        ConformanceReport {
            kernel: "mine".into(),
            release: "6.12.117".into(),
            preset: "fair:debian-6.12.117".into(),
            notes: vec!["6.12.118 has no preset".into()],
            seed: 7,
            sheets: vec![sheet],
        }
    }

    #[test]
    fn two_disagreements_of_a_kind_and_rule_are_enough() {
        let sheets = sheets();
        assert_eq!(sheets.disagreements().count(), 2);
        let value = sheets.json();
        let first = &value["disagreements"][0];
        assert_eq!(
            (&first["shape"], &first["workload"], &first["seed"]),
            (&json!("one-llc"), &json!("mix"), &json!(7))
        );
        assert_eq!((&first["kind"], &first["rule"]), (&json!("wake"), &json!("C1")));
    }

    #[test]
    fn machines_add_up() {
        let mut sheets = sheets();
        let again = sheets.sheets[0].clone();
        sheets.sheets[0].add(again);
        let value = sheets.json();
        assert_eq!(value["kinds"]["wake"]["n"], 1206);
        assert_eq!(value["kinds"]["wake"]["rules"]["C1"], json!({ "n": 1200, "agree": 1198 }));
        assert_eq!(value["shapes"][0]["kinds"], value["kinds"]);
        assert_eq!(value["shapes"][0]["topology"].as_array().unwrap().len(), 2);
        assert_eq!(value["failures"].as_array().unwrap().len(), 2);
        assert_eq!(sheets.sheets[0].thin_rows(), [("C8", 6)]);
    }
}
