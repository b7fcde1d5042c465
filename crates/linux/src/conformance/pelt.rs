//! PELT step by step: each step of each signal, by the kernel and by us, from the same values.

use std::collections::BTreeMap;

use fairground_fair::ffi::FgAvg;
use fairground_fair::{pelt_averages, pelt_update};
use serde_json::{json, Map, Value};

use super::fields;

/// A step of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Accumulates the sums over elapsed time.
    Sums {
        /// ns of the signal's clock.
        now: u64,
        /// What load_sum grows by.
        load: u64,
        /// What runnable_sum grows by.
        runnable: u64,
        /// Whether util_sum grows: the entity runs.
        running: bool,
        /// The kernel's answer: the averages must be computed again.
        renewed: bool,
    },
    /// Computes the averages from the sums.
    Averages {
        /// Weight by which load_avg is scaled: that of an entity, 1 for a run queue.
        weight: u64,
    },
}

/// A step of the kernel.
#[derive(Clone, Debug)]
pub struct PeltStep<'a> {
    /// The kernel's function that updates the signal.
    pub place: &'a str,
    /// What the kernel computes in the step.
    pub step: Step,
    /// The signal before the step.
    pub before: &'a FgAvg,
    /// The signal after the step, as the kernel computed it.
    pub after: &'a FgAvg,
}

/// Counts of steps by kernel function, and the first differences.
#[derive(Clone, Debug, Default)]
pub struct PeltTally {
    steps: BTreeMap<String, (u64, u64)>,
    differences: Vec<Value>,
}

/// Differences that are kept in full.
const KEPT: usize = 8;

impl PeltTally {
    /// Repeats a step. Returns false if the result differs.
    pub fn check(&mut self, step: &PeltStep<'_>) -> bool {
        let mut ours = step.before.clone();
        let renewed = match step.step {
            Step::Sums { now, load, runnable, running, renewed } => {
                pelt_update(&mut ours, now, load, runnable as u32, running) == renewed
            }
            Step::Averages { weight } => {
                pelt_averages(&mut ours, weight);
                true
            }
        };
        let same = renewed && numbers(&ours) == numbers(step.after);
        if !self.steps.contains_key(step.place) {
            self.steps.insert(step.place.to_string(), (0, 0));
        }
        if let Some((n, agree)) = self.steps.get_mut(step.place) {
            *n += 1;
            *agree += u64::from(same);
        }
        if !same && self.differences.len() < KEPT {
            self.differences.push(difference(step, ours));
        }
        same
    }

    /// Steps, and how many of them were equal.
    pub fn total(&self) -> (u64, u64) {
        self.steps.values().fold((0, 0), |(n, agree), of| (n + of.0, agree + of.1))
    }

    /// Adds the counts of another tally, and its differences.
    pub fn add(&mut self, other: &PeltTally) {
        for (place, (n, agree)) in &other.steps {
            let steps = self.steps.entry(place.clone()).or_default();
            steps.0 += n;
            steps.1 += agree;
        }
        let room = KEPT.saturating_sub(self.differences.len());
        self.differences.extend(other.differences.iter().take(room).cloned());
    }

    /// Reads the output of [`Self::json`]; none if `value` has another shape.
    pub fn from_json(value: &Value) -> Option<PeltTally> {
        let mut tally = PeltTally { differences: value["differences"].as_array()?.clone(), ..PeltTally::default() };
        for (place, of) in value["signals"].as_object()? {
            tally.steps.insert(place.clone(), (of["n"].as_u64()?, of["agree"].as_u64()?));
        }
        Some(tally)
    }

    /// `{n, agree, signals: {FUNCTION: {n, agree}}, differences: [...]}`.
    pub fn json(&self) -> Value {
        let (n, agree) = self.total();
        let signals: Map<String, Value> =
            self.steps.iter().map(|(place, (n, agree))| (place.clone(), json!({ "n": n, "agree": agree }))).collect();
        json!({ "n": n, "agree": agree, "signals": signals, "differences": self.differences })
    }
}

fn numbers(sa: &FgAvg) -> [u64; 8] {
    let sums = [sa.last_update, sa.load_sum, sa.runnable_sum, sa.util_sum];
    let rest = [sa.load_avg, sa.runnable_avg, sa.util_avg, u64::from(sa.period_contrib)];
    let mut all = [0; 8];
    all[..4].copy_from_slice(&sums);
    all[4..].copy_from_slice(&rest);
    all
}

fn difference(step: &PeltStep<'_>, mut ours: FgAvg) -> Value {
    let (mut before, mut after) = (step.before.clone(), step.after.clone());
    json!({
        "place": step.place,
        "step": format!("{:?}", step.step),
        "before": fields::write(&mut before),
        "kernel": fields::write(&mut after),
        "ours": fields::write(&mut ours),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step<'a>(before: &'a FgAvg, after: &'a FgAvg, renewed: bool) -> PeltStep<'a> {
        let step = Step::Sums { now: 1 << 20, load: 1, runnable: 1, running: true, renewed };
        PeltStep { place: "update_rt_rq_load_avg", step, before, after }
    }

    #[test]
    fn a_step_that_comes_out_the_same_agrees_and_any_other_number_does_not() {
        let before = FgAvg::zeroed();
        let mut after = FgAvg::zeroed();
        // One whole period: 1024 units.
        (after.last_update, after.load_sum, after.runnable_sum, after.util_sum) = (1 << 20, 1024, 1 << 20, 1 << 20);
        let mut tally = PeltTally::default();
        // The first period does not decay: what it is worth is 1024 less the unit that table entry 0 loses.
        let ours = {
            let mut ours = before.clone();
            pelt_update(&mut ours, 1 << 20, 1, 1, true);
            ours
        };
        after.load_sum = ours.load_sum;
        after.runnable_sum = ours.runnable_sum;
        after.util_sum = ours.util_sum;
        assert!(tally.check(&step(&before, &after, true)));
        assert!(!tally.check(&step(&before, &after, false)));
        after.util_sum += 1;
        assert!(!tally.check(&step(&before, &after, true)));
        assert_eq!(tally.total(), (3, 1));
        assert_eq!(tally.json()["differences"].as_array().unwrap().len(), 2);

        let mut sum = PeltTally::from_json(&tally.json()).unwrap();
        assert_eq!(sum.json(), tally.json());
        sum.add(&tally);
        assert_eq!(sum.total(), (6, 2));
        assert_eq!(sum.json()["differences"].as_array().unwrap().len(), 4);
    }
}
