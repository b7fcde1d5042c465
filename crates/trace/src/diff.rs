//! Compares two traces: where placements differ, and how often each rule decided.
//!
//! A decision of one trace is paired with a decision of the other: the same task's n-th of the same kind. A pair
//! differs if another CPU is chosen; rules of two schedulers may differ in name alone.

use std::collections::BTreeMap;

use crate::note::Note;
use crate::placements::{Cause, Head, Placements, Task};
use crate::{EventSource, TraceError};

/// Summary of the placements of a trace.
pub struct Side {
    head: Head,
    notes: Vec<Note>,
    /// The placements in the order of the trace.
    placements: Vec<Short>,
    /// By task and cause: the indices of its placements in the trace.
    nth: BTreeMap<(Task, Cause), Vec<usize>>,
    rules: Rules,
}

#[derive(Clone, Copy)]
struct Short {
    chosen: u32,
    rule: usize,
    /// CPUs probed, and looked at in group statistics.
    work: [u64; 2],
}

/// Names of rules in order of appearance, and the number of decisions by each.
#[derive(Default)]
struct Rules {
    names: Vec<String>,
    counts: Vec<u64>,
}

impl Rules {
    fn count(&mut self, rule: &str) -> usize {
        let known = self.names.iter().position(|name| name == rule);
        let at = known.unwrap_or_else(|| {
            self.names.push(rule.to_owned());
            self.counts.push(0);
            self.names.len() - 1
        });
        self.counts[at] += 1;
        at
    }
}

impl Side {
    /// Reads a trace to its end.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn read<S: EventSource>(mut trace: Placements<S>) -> Result<Side, TraceError> {
        let mut side = Side {
            head: Head::default(),
            notes: Vec::new(),
            placements: Vec::new(),
            nth: BTreeMap::new(),
            rules: Rules::default(),
        };
        while let Some(placement) = trace.next_placement()? {
            let rule = side.rules.count(&placement.rule);
            let turns = side.nth.entry((placement.task, placement.cause)).or_default();
            turns.push(side.placements.len());
            side.placements.push(Short {
                chosen: placement.chosen,
                rule,
                work: [placement.probes, placement.group_cpus],
            });
        }
        (side.head, side.notes) = (trace.head().clone(), trace.notes());
        Ok(side)
    }

    /// The head of the trace.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Notes on the trace and its run.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Number of placements in the trace.
    pub fn count(&self) -> usize {
        self.placements.len()
    }
}

/// Number of decisions by a rule in each trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shift {
    /// Name of the placement rule.
    pub rule: String,
    /// Number of decisions by this rule in the base trace.
    pub base: u64,
    /// Number of decisions by this rule in the test trace.
    pub test: u64,
}

impl Shift {
    /// Decisions in the test trace minus decisions in the base trace.
    pub fn shift(&self) -> i64 {
        self.test as i64 - self.base as i64
    }
}

/// How the placements of two traces differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff {
    /// Number of pairs of corresponding decisions.
    pub pairs: u64,
    /// Number of pairs that choose the same CPU.
    pub agree: u64,
    /// Number of these pairs that choose it by rules of different names.
    pub other_rule: u64,
    /// Number of pairs before the first that differs, in the order of the base trace.
    pub agree_before: u64,
    /// The first pair that differs: indices of its placements in the base and in the test, from 0; `None` if no pair
    /// differs.
    pub first: Option<(usize, usize)>,
    /// The first pair that chooses the same CPU after other work (CPUs probed or looked at): indices as of `first`.
    /// Work costs time, so the runs differ from there on. `None` if the first difference is that of `first`.
    pub other_work: Option<(usize, usize)>,
    /// Decisions by rule, in the order in which names appear in the base, then in the test.
    pub shifts: Vec<Shift>,
}

impl Diff {
    /// Pairs the placements of both traces and compares them.
    pub fn new(base: &Side, test: &Side) -> Diff {
        let mut diff = Diff {
            pairs: 0,
            agree: 0,
            other_rule: 0,
            agree_before: 0,
            first: None,
            other_work: None,
            shifts: shifts(base, test),
        };
        for (in_base, in_test) in pairs(base, test) {
            let (b, t) = (base.placements[in_base], test.placements[in_test]);
            diff.pairs += 1;
            if b.chosen == t.chosen {
                diff.agree += 1;
                diff.other_rule += u64::from(base.rules.names[b.rule] != test.rules.names[t.rule]);
                if diff.first.is_none() && diff.other_work.is_none() && b.work != t.work {
                    diff.other_work = Some((in_base, in_test));
                }
                diff.agree_before += u64::from(diff.first.is_none());
            } else if diff.first.is_none() {
                diff.first = Some((in_base, in_test));
            }
        }
        diff
    }
}

/// The places of what belongs together, in the order of base.
fn pairs(base: &Side, test: &Side) -> Vec<(usize, usize)> {
    let none = Vec::new();
    let turns = base.nth.iter().map(|(key, turns)| (turns, test.nth.get(key).unwrap_or(&none)));
    let mut pairs: Vec<_> = turns.flat_map(|(b, t)| b.iter().copied().zip(t.iter().copied())).collect();
    pairs.sort_unstable();
    pairs
}

fn shifts(base: &Side, test: &Side) -> Vec<Shift> {
    let mut shifts: Vec<Shift> = Vec::new();
    let all = |side: &Side| side.rules.names.iter().cloned().zip(side.rules.counts.iter().copied()).collect::<Vec<_>>();
    for (rule, count) in all(base) {
        shifts.push(Shift { rule, base: count, test: 0 });
    }
    for (rule, count) in all(test) {
        match shifts.iter_mut().find(|s| s.rule == rule) {
            Some(shift) => shift.test = count,
            None => shifts.push(Shift { rule, base: 0, test: count }),
        }
    }
    shifts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reader;

    /// Decisions: kind, task, CPU, rule.
    fn side(decisions: &[(&str, &str, u32, &str)]) -> Side {
        let lines = decisions.iter().map(|(kind, task, cpu, rule)| {
            format!(
                "x-1 [0] 1.0: print: tracing_mark_write: fairground_decision: kind={kind} comm={task} pid=7 prio=120 \
                 prev_cpu=0 cpu={cpu} rule={rule} probes=0 group_cpus=0\n"
            )
        });
        Side::read(Placements::new(Reader::new("t", lines.collect::<String>().as_bytes()))).unwrap()
    }

    /// a's second wakeup is on CPU 2 in base and on CPU 3 in test, though b's wakeup comes between in test only; its
    /// first comes to CPU 1 by another rule; its fork has no counterpart.
    #[test]
    fn decisions_are_paired_by_task_kind_and_turn() {
        let base = side(&[
            ("fork", "b", 0, "F"),
            ("wake", "a", 1, "B1"),
            ("wake", "a", 2, "B1"),
            ("wake", "b", 9, "B2"),
            ("wake", "a", 4, "B1"),
        ]);
        let test = side(&[
            ("fork", "b", 0, "F"),
            ("wake", "a", 1, "A2"),
            ("wake", "b", 8, "A2"),
            ("wake", "a", 3, "A2"),
            ("fork", "a", 3, "F"),
            ("wake", "a", 4, "B1"),
        ]);
        let shift = |rule: &str, base, test| Shift { rule: rule.into(), base, test };
        let expected = Diff {
            pairs: 5,
            agree: 3,
            other_rule: 1,
            agree_before: 2,
            first: Some((2, 3)),
            other_work: None,
            shifts: vec![shift("F", 1, 2), shift("B1", 3, 1), shift("B2", 1, 0), shift("A2", 0, 3)],
        };
        assert_eq!(Diff::new(&base, &test), expected);
        assert_eq!((base.count(), test.count()), (5, 6));
    }

    #[test]
    fn a_trace_does_not_differ_from_itself() {
        let one = side(&[("wake", "a", 1, "B1"), ("wake", "a", 2, "B1")]);
        let diff = Diff::new(&one, &one);
        assert_eq!((diff.pairs, diff.agree, diff.agree_before, diff.first), (2, 2, 2, None));
        assert_eq!(diff.other_work, None);
    }
}
