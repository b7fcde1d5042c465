//! The picks of a trace or run explained: why a task runs, waits, or leaves the CPU.

use std::fmt::Write;

use fairground_sim::Rule;
use fairground_trace::picks::{in_short, in_words, OnQueue, Pick, PickCounts, PickDiff, PickSide, Picks};
use fairground_trace::placements::Head;
use fairground_trace::Note;
use serde_json::{json, Value};

use super::{document, meta_text, rule_words, Answer, ExplainError, Traced, Wanted};

impl Wanted {
    fn is_pick(&self, p: &Pick) -> bool {
        let is = |name: &String| p.task.comm == *name || p.task.pid.to_string() == *name || p.task.to_string() == *name;
        self.at.is_none_or(|at| p.time >= at)
            && self.cpu.is_none_or(|cpu| p.cpu == cpu)
            && self.task.as_ref().is_none_or(is)
    }
}

/// Calls `take` with each pick that matches; with a time, only with the first.
fn each(
    of: &dyn Traced,
    wanted: &Wanted,
    take: &mut dyn FnMut(Pick, &Head),
) -> Result<(Head, Vec<Note>), ExplainError> {
    let mut picks = Picks::new(of.open()?);
    let (mut any, mut taken) = (false, false);
    while let Some(pick) = picks.next_pick()? {
        any = true;
        if wanted.is_pick(&pick) {
            taken = true;
            take(pick, picks.head());
            if wanted.at.is_some() {
                break;
            }
        }
    }
    match (any, taken) {
        (false, _) => Err(ExplainError::Picks { file: of.name() }),
        (_, false) => Err(ExplainError::NoPick { file: of.name() }),
        _ => Ok((picks.head().clone(), picks.notes())),
    }
}

/// The answer as text: with a time one pick in full, with a task a line each, else counts by rule.
///
/// # Errors
/// If no pick matches, the trace has none, or it cannot be read.
pub fn explain_picks(of: &dyn Traced, wanted: &Wanted) -> Result<Answer, ExplainError> {
    let mut out = String::new();
    if wanted.at.is_none() && wanted.task.is_none() {
        let mut counts = PickCounts::default();
        let (head, notes) = each(of, wanted, &mut |pick, _| counts.add(&pick))?;
        out += &meta_text(&head);
        let _ = writeln!(out, "{:<9} {}\n\n{:<8} {:>9}  rule", "picks", counts.total(), "kind", "count");
        for (kind, rule, n) in counts.rows() {
            let _ = writeln!(out, "{kind:<8} {n:>9}  {}", head.rule(rule).title());
        }
        out.push('\n');
        notes.iter().for_each(|note| out += &format!("note: {note}\n"));
        return Ok((out, Vec::new()));
    }
    let (_, notes) = each(of, wanted, &mut |pick, head| match wanted.at {
        Some(_) => out += &in_words(&pick, head),
        None => out += &(in_short(&pick, head) + "\n"),
    })?;
    Ok((out, if wanted.at.is_some() { Vec::new() } else { notes }))
}

/// The picks that match, the head of the trace, and its notes.
///
/// # Errors
/// As [`explain_picks`].
pub fn chosen_picks(of: &dyn Traced, wanted: &Wanted) -> Result<(Vec<Pick>, Head, Vec<Note>), ExplainError> {
    let mut all = Vec::new();
    let (head, notes) = each(of, wanted, &mut |pick, _| all.push(pick))?;
    Ok((all, head, notes))
}

/// The answer in the documented schema.
///
/// # Errors
/// As [`explain_picks`].
pub fn explain_picks_json(of: &dyn Traced, wanted: &Wanted) -> Result<Answer, ExplainError> {
    if wanted.at.is_none() && wanted.task.is_none() {
        let mut counts = PickCounts::default();
        let (head, notes) = each(of, wanted, &mut |pick, _| counts.add(&pick))?;
        let row = |(kind, rule, n): (&str, &str, u64)| {
            let mut row = json!({ "kind": kind, "rule": rule, "count": n });
            row.as_object_mut().into_iter().for_each(|row| row.extend(rule_words(&head.rule(rule))));
            row
        };
        let rules: Vec<Value> = counts.rows().into_iter().map(row).collect();
        let fields = [("count", json!(counts.total())), ("pick_rules", rules.into()), ("notes", json!(notes))];
        return Ok((document(&of.name(), &head, fields), notes));
    }
    let mut picks = Vec::new();
    let (head, notes) = each(of, wanted, &mut |pick, head| picks.push(pick_json(&pick, head)))?;
    Ok((document(&of.name(), &head, [("picks", picks.into()), ("notes", json!(notes))]), notes))
}

fn on_queue_json(state: &OnQueue) -> Value {
    json!({ "lag_ns": state.lag, "deadline_ns": state.deadline, "protection_ns": state.protection })
}

/// A pick in the documented schema.
pub fn pick_json(p: &Pick, head: &Head) -> Value {
    let mut value = json!({
        "time_ns": p.time,
        "kind": p.kind,
        "task": p.task.comm,
        "pid": p.task.pid,
        "cpu": p.cpu,
        "rule": p.rule,
        "queued": p.queued,
        "preempts": (p.kind == "wakeup").then(|| p.happens()),
        "state": on_queue_json(&p.state),
        "current": p.current.as_ref().map(|(task, state)| json!({
            "task": task.comm,
            "pid": task.pid,
            "state": on_queue_json(state),
        })),
    });
    let rule = head.rule(&p.rule);
    if let Some(object) = value.as_object_mut() {
        object.insert("rule_title".into(), json!(rule.title()));
        object.insert("rule_text".into(), json!(rule.text));
    }
    value
}

/// The picks of two traces compared; none unless both have some.
pub struct DifferingPicks {
    /// Agreements, differences and rule counts.
    pub diff: PickDiff,
    heads: [Head; 2],
    /// The first pair that differs.
    first: Option<[Pick; 2]>,
}

impl DifferingPicks {
    pub(super) fn of(base: &dyn Traced, test: &dyn Traced) -> Result<Option<DifferingPicks>, ExplainError> {
        let (b, t) = (PickSide::read(Picks::new(base.open()?))?, PickSide::read(Picks::new(test.open()?))?);
        if b.counts.total() == 0 || t.counts.total() == 0 {
            return Ok(None);
        }
        let diff = PickDiff::new(&b, &t);
        let first = match diff.first {
            Some((in_base, in_test)) => Some([nth(base, in_base)?, nth(test, in_test)?]),
            None => None,
        };
        Ok(Some(DifferingPicks { diff, heads: [b.head, t.head], first }))
    }

    pub(super) fn text(&self) -> String {
        let PickDiff { pairs, agree, agree_before, .. } = self.diff;
        let mut out = String::from("\npicks: the n-th of each CPU, and the n-th test of each woken task\n");
        let first = match &self.first {
            None => String::new(),
            Some(_) => format!("; the first that does not comes after {agree_before}:"),
        };
        let _ = writeln!(out, "{agree} of {pairs} are alike{first}\n");
        for ((name, pick), head) in ["base", "test"].iter().zip(self.first.iter().flatten()).zip(&self.heads) {
            let words = in_words(pick, head);
            let _ = writeln!(out, "{name}  {}\n", words.trim_end().replace('\n', "\n      "));
        }
        let _ = writeln!(out, "{:>9} {:>9} {:>9}  pick rule", "base", "test", "shift");
        for (kind, rule, base, test) in &self.diff.shifts {
            let title = self.title(rule);
            let shift = *test as i64 - *base as i64;
            let shift = if shift == 0 { "0".to_owned() } else { format!("{shift:+}") };
            let _ = writeln!(out, "{base:>9} {test:>9} {shift:>9}  {kind}: {title}");
        }
        out
    }

    /// The first pair that differs: that of the base, then that of the test. `None` if no pair differs.
    pub fn first(&self) -> Option<[&Pick; 2]> {
        self.first.as_ref().map(|[base, test]| [base, test])
    }

    /// The rule as the base's trace describes it, else as the test's trace does.
    pub fn rule<'a>(&'a self, name: &'a str) -> Rule<'a> {
        let [base, test] = &self.heads;
        if base.rules.contains_key(name) { base } else { test }.rule(name)
    }

    fn title(&self, rule: &str) -> String {
        self.rule(rule).title()
    }

    pub(super) fn json(&self) -> Value {
        let PickDiff { pairs, agree, agree_before, .. } = self.diff;
        let rules = self.diff.shifts.iter().map(|(kind, rule, base, test)| {
            json!({
                "kind": kind, "rule": rule, "base": base, "test": test,
                "shift": *test as i64 - *base as i64, "title": self.title(rule),
            })
        });
        let first = self.first.as_ref().map(
            |[base, test]| json!({ "base": pick_json(base, &self.heads[0]), "test": pick_json(test, &self.heads[1]) }),
        );
        json!({
            "pairs": pairs,
            "agree": agree,
            "agree_before": agree_before,
            "first": first,
            "rules": rules.collect::<Vec<Value>>(),
        })
    }
}

/// The pick at an index, from 0.
fn nth(of: &dyn Traced, at: usize) -> Result<Pick, ExplainError> {
    let mut picks = Picks::new(of.open()?);
    for _ in 0..at {
        picks.next_pick()?;
    }
    picks.next_pick()?.ok_or_else(|| ExplainError::Changes { file: of.name() })
}
