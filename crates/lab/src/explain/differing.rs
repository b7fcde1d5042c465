//! Compares the placements of two traces or runs.

use std::fmt::Write;

use fairground_sim::Rule;
use fairground_trace::diff::{Diff, Side};
use fairground_trace::explain::in_words;
use fairground_trace::placements::{Placement, Placements};
use serde_json::{json, Value};

use super::picks::DifferingPicks;
use super::{full_json, meta_json, no_reasons, ExplainError, Traced};

/// Name and version of the schema.
const SCHEMA: &str = "fairground-explain-diff-1";

/// The comparison of a base and a test.
pub struct Differing {
    /// Agreements, differences and rule counts.
    pub diff: Diff,
    /// The picks; none unless both traces have some.
    pub picks: Option<DifferingPicks>,
    base: Trace,
    test: Trace,
}

/// The parts of a trace that the comparison shows.
struct Trace {
    name: String,
    side: Side,
    /// Its placement in the first pair that chooses different CPUs; `None` if no pair differs.
    first: Option<Placement>,
}

impl Differing {
    /// Reads both traces. If they differ, it reads them again up to the first difference.
    ///
    /// # Errors
    /// If a trace cannot be read, has no placements, or changes between two readings.
    pub fn of(base: &dyn Traced, test: &dyn Traced) -> Result<Differing, ExplainError> {
        let sides = (read(base)?, read(test)?);
        let diff = Diff::new(&sides.0.side, &sides.1.side);
        let (mut in_base, mut in_test) = sides;
        if let Some((base_at, test_at)) = diff.first {
            in_base.first = Some(placement(base, base_at)?);
            in_test.first = Some(placement(test, test_at)?);
        }
        let picks = DifferingPicks::of(base, test)?;
        Ok(Differing { diff, picks, base: in_base, test: in_test })
    }

    /// The first pair that chooses different CPUs: the base's placement, then the test's. `None` if no pair differs.
    pub fn first(&self) -> Option<[&Placement; 2]> {
        Some([self.base.first.as_ref()?, self.test.first.as_ref()?])
    }

    /// The rule as the base's trace describes it, else as the test's trace does.
    pub fn rule<'a>(&'a self, name: &'a str) -> Rule<'a> {
        known_rule(name, &self.base, &self.test)
    }

    /// The comparison as text.
    pub fn text(&self) -> String {
        text(self)
    }

    /// The comparison as JSON in the documented schema.
    pub fn json(&self) -> String {
        document(self)
    }
}

fn read(of: &dyn Traced) -> Result<Trace, ExplainError> {
    let side = Side::read(Placements::new(of.open()?))?;
    match side.count() {
        0 => Err(ExplainError::Decisions { file: of.name() }),
        _ => Ok(Trace { name: of.name(), side, first: None }),
    }
}

/// The placement at index `at`, from 0.
fn placement(of: &dyn Traced, at: usize) -> Result<Placement, ExplainError> {
    let mut trace = Placements::new(of.open()?);
    for _ in 0..at {
        trace.next_placement()?;
    }
    trace.next_placement()?.ok_or_else(|| ExplainError::Changes { file: of.name() })
}

fn text(differing: &Differing) -> String {
    let Differing { diff, picks, base, test } = differing;
    let mut out = String::new();
    for (name, trace) in [("base", base), ("test", test)] {
        let meta: Vec<String> = trace.side.head().meta.iter().map(|(key, value)| format!("{key} {value}")).collect();
        let _ = writeln!(out, "{name}  {}: {} decisions ({})", trace.name, trace.side.count(), meta.join(", "));
    }
    let _ = writeln!(out, "\n{}\n", verdict(diff));
    for (name, trace) in [("base", base), ("test", test)] {
        if let Some(first) = &trace.first {
            let words = in_words(first, trace.side.head());
            let _ = writeln!(out, "{name}  {}\n", words.trim_end().replace('\n', "\n      "));
        }
    }
    let mut notes = String::new();
    for trace in [base, test] {
        for note in trace.side.notes() {
            let _ = writeln!(notes, "note: {}: {note}", trace.name);
        }
    }
    let why = if diff.first.is_some() { no_reasons_in(base, test) } else { "" };
    let picks = picks.as_ref().map_or(String::new(), DifferingPicks::text);
    out + &shift_table(diff, base, test) + &picks + "\n" + &notes + why
}

fn no_reasons_in(base: &Trace, test: &Trace) -> &'static str {
    let without = [base, test].into_iter().map(|t| t.side.head()).find(|head| !head.why);
    without.map_or("", no_reasons)
}

fn verdict(diff: &Diff) -> String {
    if diff.pairs == 0 {
        return "no task's wakeup, fork or exec is in both: these are traces of different workloads".into();
    }
    let rules = match diff.other_rule {
        0 => String::new(),
        n => format!(", {n} of them by rules of other names"),
    };
    let first = match diff.first {
        None => String::new(),
        Some(_) => format!("; the first that does not comes after {}:", diff.agree_before),
    };
    format!(
        "pairs: the same task's n-th wakeup, fork or exec in each\n{} of {} choose the same CPU{rules}{first}",
        diff.agree, diff.pairs
    )
}

fn shift_table(diff: &Diff, base: &Trace, test: &Trace) -> String {
    let mut out = format!("{:>9} {:>9} {:>9}  rule\n", "base", "test", "shift");
    for s in &diff.shifts {
        let shift = match s.shift() {
            0 => "0".into(),
            shift => format!("{shift:+}"),
        };
        let rule = known_rule(&s.rule, base, test).title();
        let _ = writeln!(out, "{:>9} {:>9} {shift:>9}  {rule}", s.base, s.test);
    }
    out
}

/// The rule as the base's trace describes it, else as the test's trace does.
fn known_rule<'a>(name: &'a str, base: &'a Trace, test: &'a Trace) -> Rule<'a> {
    let [base, test] = [base, test].map(|trace| trace.side.head().rule(name));
    if base.text.is_empty() {
        test
    } else {
        base
    }
}

fn document(differing: &Differing) -> String {
    let Differing { diff, picks, base, test } = differing;
    let side = |trace: &Trace| {
        let head = trace.side.head();
        json!({
            "file": trace.name,
            "meta": meta_json(head),
            "reasons": head.why,
            "count": trace.side.count(),
            "notes": trace.side.notes(),
        })
    };
    let first = |trace: &Trace| trace.first.as_ref().map_or(Value::Null, |p| full_json(p, trace.side.head()));
    let rules = diff.shifts.iter().map(|s| {
        let rule = known_rule(&s.rule, base, test);
        let (title, text) = (rule.title(), rule.text);
        json!({ "rule": s.rule, "base": s.base, "test": s.test, "shift": s.shift(), "title": title, "text": text })
    });
    let rules: Vec<Value> = rules.collect();
    let document = json!({
        "schema": SCHEMA,
        "base": side(base),
        "test": side(test),
        "pairs": diff.pairs,
        "agree": diff.agree,
        "agree_by_other_rule": diff.other_rule,
        "agree_before": diff.agree_before,
        "first": diff.first.map(|_| json!({ "base": first(base), "test": first(test) })),
        "rules": rules,
        "picks": picks.as_ref().map(DifferingPicks::json),
    });
    format!("{document:#}\n")
}
