//! How often the recording agrees with our policy, and where it does not.

use std::collections::BTreeMap;

use fairground_machine::{CpuId, Machine};

use super::{Confidence, JudgedWakeup};

/// Position of a CPU relative to a wakeup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RelativeCpu {
    /// The task's previous CPU.
    Previous,
    /// The CPU on which the waker runs.
    Waker,
    /// Another CPU that shares the last-level cache of the previous one.
    NearPrevious,
    /// Another CPU that shares the last-level cache of the waker's.
    NearWaker,
    /// Any other CPU.
    Elsewhere,
}

impl RelativeCpu {
    /// The name that text and JSON show.
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

/// Numbers of wakeups, and how many of them agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Wakeups that were judged.
    pub judged: u64,
    /// Wakeups whose recorded CPU is the one that our policy chooses.
    pub agree: u64,
    /// Wakeups with a sure answer.
    pub sure: u64,
    /// Wakeups with a sure answer that is the recorded CPU.
    pub sure_agree: u64,
    /// Wakeups without a sure answer whose recorded CPU is one of the possible answers.
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

    /// Share of `agree` in `judged`, percent; `None` if no wakeup was judged.
    pub fn agree_pct(&self) -> Option<f64> {
        share(self.agree, self.judged)
    }

    /// Share of `sure_agree` in `sure`, percent; `None` if no answer was sure.
    pub fn sure_agree_pct(&self) -> Option<f64> {
        share(self.sure_agree, self.sure)
    }

    /// Share of `sure` in `judged`, percent; `None` if no wakeup was judged.
    pub fn sure_pct(&self) -> Option<f64> {
        share(self.sure, self.judged)
    }
}

fn share(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64 * 100.0)
}

/// A rule of our policy, and how often the recording agrees with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleAgreement {
    /// Name of the rule.
    pub rule: String,
    /// The wakeups that it decides.
    pub agreement: Agreement,
}

/// Wakeups at which our policy and the recording disagree in the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// The rule of our policy.
    pub rule: String,
    /// The CPU that it chooses.
    pub ours: RelativeCpu,
    /// The recorded CPU.
    pub recorded: RelativeCpu,
    /// The rule that chose the recorded CPU, if the recording names one.
    pub recorded_rule: Option<String>,
    /// Number of these wakeups.
    pub count: u64,
    /// Number of these wakeups with a sure answer.
    pub sure: u64,
    /// Time of the first of these wakeups, ns.
    pub first: u64,
}

type Way = (String, RelativeCpu, RelativeCpu, Option<String>);

/// Counts of judged wakeups, by rule, confidence and kind of disagreement.
#[derive(Clone, Debug, Default)]
pub struct AgreementCounts {
    all: Agreement,
    by_rule: BTreeMap<String, Agreement>,
    by_certainty: BTreeMap<Confidence, u64>,
    ways: BTreeMap<Way, (u64, u64, u64)>,
}

impl AgreementCounts {
    /// Adds a wakeup, which was on `machine`.
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

    /// The agreement over all wakeups.
    pub fn all(&self) -> Agreement {
        self.all
    }

    /// The number of wakeups by confidence.
    pub fn confidences(&self) -> impl Iterator<Item = (Confidence, u64)> + '_ {
        self.by_certainty.iter().map(|(confidence, count)| (*confidence, *count))
    }

    /// The agreement by rule of our policy, the most frequent rule first.
    pub fn rules(&self) -> Vec<RuleAgreement> {
        let row =
            |(rule, agreement): (&String, &Agreement)| RuleAgreement { rule: rule.clone(), agreement: *agreement };
        let mut rows: Vec<RuleAgreement> = self.by_rule.iter().map(row).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.agreement.judged));
        rows
    }

    /// The disagreements, the most frequent first.
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
