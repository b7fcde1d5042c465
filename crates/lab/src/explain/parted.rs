//! Where the decisions of two runs part, in few words.

use serde::Serialize;

use super::Differing;

/// Decisions by a rule before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleShift {
    /// The rule in the kernel's terms: function, exit, id.
    pub rule: String,
    /// Number of decisions by it in the first run.
    pub before: u64,
    /// The same in the second run.
    pub after: u64,
}

/// Where two runs part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Parted {
    /// Pairs of the same task's n-th wakeup, fork or exec, and those that choose the same CPU.
    pub pairs: [u64; 2],
    /// Pairs before the first that chooses another CPU.
    pub agree_before: u64,
    /// Rules, those that moved most first.
    pub rules: Vec<RuleShift>,
    /// The first pair that chooses another CPU, in words: before, after.
    pub first: Option<[String; 2]>,
    /// The whole comparison, as `fairground diff` prints it.
    pub text: String,
}

impl Parted {
    /// Of a comparison of two runs, base as before and test as after.
    pub fn new(differing: &Differing) -> Parted {
        let diff = &differing.diff;
        let shifts = diff.shifts.iter();
        let mut rules: Vec<RuleShift> = shifts
            .map(|shift| RuleShift { rule: differing.rule(&shift.rule).title(), before: shift.base, after: shift.test })
            .collect();
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.after.abs_diff(rule.before)));
        Parted {
            pairs: [diff.pairs, diff.agree],
            agree_before: diff.agree_before,
            rules,
            first: differing.first_in_words(),
            text: differing.text(),
        }
    }
}
