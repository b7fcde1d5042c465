//! How often the recording agrees with our policy, and where it does not.

use std::collections::BTreeMap;

use fairground_machine::{CpuId, Machine};

use super::{Confidence, JudgedWakeup};

/// Where a CPU is, seen from a wakeup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RelativeCpu {
    /// The task's previous one.
    Previous,
    /// The one on which it was woken.
    Waker,
    /// Another one that shares the last-level cache of the previous one.
    NearPrevious,
    /// Another one that shares that of the waker's.
    NearWaker,
    /// Any other.
    Elsewhere,
}

impl RelativeCpu {
    /// The step as text.
    pub fn text(self) -> &'static str {
        ["previous CPU", "waker's CPU", "near previous", "near waker", "elsewhere"][self as usize]
    }

    fn new(cpu: CpuId, judged: &JudgedWakeup, machine: &Machine) -> RelativeCpu {
        let shares = |other: CpuId| machine.llcs.iter().any(|llc| llc.test(cpu) && llc.test(other));
        match &judged.ours {
            ours if cpu == ours.prev => RelativeCpu::Previous,
            ours if cpu == ours.on_cpu => RelativeCpu::Waker,
            ours if shares(ours.prev) => RelativeCpu::NearPrevious,
            ours if shares(ours.on_cpu) => RelativeCpu::NearWaker,
            _ => RelativeCpu::Elsewhere,
        }
    }
}

/// Wakeups and agreements among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// JudgedWakeup.
    pub judged: u64,
    /// Of these recorded where our policy would have gone.
    pub agree: u64,
    /// JudgedWakeup for sure.
    pub sure: u64,
    /// Of these recorded where our policy would have gone.
    pub sure_agree: u64,
    /// Not for sure, and recorded on one of the CPUs that are possible.
    pub possible: u64,
}

impl Agreement {
    fn add(&mut self, judged: &JudgedWakeup) {
        let sure = judged.confidence == Confidence::Sure;
        self.judged += 1;
        self.agree += u64::from(judged.agrees());
        self.sure += u64::from(sure);
        self.sure_agree += u64::from(sure && judged.agrees());
        self.possible += u64::from(!sure && judged.possible.contains(&judged.recorded));
    }

    /// Of all, percent; none if there are none.
    pub fn agree_pct(&self) -> Option<f64> {
        share(self.agree, self.judged)
    }

    /// Of those for sure, percent.
    pub fn sure_agree_pct(&self) -> Option<f64> {
        share(self.sure_agree, self.sure)
    }

    /// JudgedWakeup for sure, of all, percent.
    pub fn sure_pct(&self) -> Option<f64> {
        share(self.sure, self.judged)
    }
}

fn share(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64 * 100.0)
}

/// A rule of ours, and how often the recording agrees with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleAgreement {
    /// The thread's comm.
    pub rule: String,
    /// How often.
    pub agreement: Agreement,
}

/// A way to disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// The rule of ours.
    pub rule: String,
    /// Where that goes.
    pub ours: RelativeCpu,
    /// Where the recording went.
    pub recorded: RelativeCpu,
    /// By which rule, if it says so.
    pub recorded_rule: Option<String>,
    /// How often.
    pub count: u64,
    /// Of these for sure.
    pub sure: u64,
    /// The first of them, ns.
    pub first: u64,
}

type Way = (String, RelativeCpu, RelativeCpu, Option<String>);

/// All wakeups.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    all: Agreement,
    by_rule: BTreeMap<String, Agreement>,
    by_certainty: BTreeMap<Confidence, u64>,
    ways: BTreeMap<Way, (u64, u64, u64)>,
}

impl Tally {
    /// One more wakeup, on this machine.
    pub fn add(&mut self, judged: &JudgedWakeup, machine: &Machine) {
        self.all.add(judged);
        *self.by_certainty.entry(judged.confidence).or_default() += 1;
        self.by_rule.entry(judged.ours.rule.clone()).or_default().add(judged);
        if !judged.agrees() {
            let [ours, recorded] =
                [judged.ours.chosen, judged.recorded].map(|cpu| RelativeCpu::new(cpu, judged, machine));
            let way = (judged.ours.rule.clone(), ours, recorded, judged.recorded_rule.clone());
            let (count, sure, _) = self.ways.entry(way).or_insert((0, 0, judged.ours.time));
            *count += 1;
            *sure += u64::from(judged.confidence == Confidence::Sure);
        }
    }

    /// All of them.
    pub fn all(&self) -> Agreement {
        self.all
    }

    /// How sure they are, and how many of each.
    pub fn confidences(&self) -> impl Iterator<Item = (Confidence, u64)> + '_ {
        self.by_certainty.iter().map(|(confidence, count)| (*confidence, *count))
    }

    /// By rule of ours, the most frequent first.
    pub fn rules(&self) -> Vec<RuleAgreement> {
        let row =
            |(rule, agreement): (&String, &Agreement)| RuleAgreement { rule: rule.clone(), agreement: *agreement };
        let mut rows: Vec<RuleAgreement> = self.by_rule.iter().map(row).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.agreement.judged));
        rows
    }

    /// The ways to disagree, the most frequent first.
    pub fn disagreements(&self) -> Vec<Disagreement> {
        let mut rows: Vec<Disagreement> = Vec::new();
        for ((rule, ours, recorded, by), (count, sure, first)) in &self.ways {
            rows.push(Disagreement {
                rule: rule.clone(),
                ours: *ours,
                recorded: *recorded,
                recorded_rule: by.clone(),
                count: *count,
                sure: *sure,
                first: *first,
            });
        }
        rows.sort_by_key(|row| std::cmp::Reverse(row.count));
        rows
    }
}
