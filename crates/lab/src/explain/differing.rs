//! Compares the placements of two traces or runs.

use std::fmt::Write;

use fairground_sim::Rule;
use fairground_trace::diff::{Diff, Side};
use fairground_trace::explain::{in_words, seconds};
use fairground_trace::left::{Left, LeftDiff, LeftValues};
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
    /// What decisions leave behind; none unless both traces say.
    pub left: Option<LeftDiff>,
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
    /// Its placement in the first pair that chooses the same CPU after other work, if that comes before.
    other_work: Option<Placement>,
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
        if let Some((base_at, test_at)) = diff.other_work {
            in_base.other_work = Some(placement(base, base_at)?);
            in_test.other_work = Some(placement(test, test_at)?);
        }
        let both = |event| base.may_have(event) && test.may_have(event);
        let picks = both("fairground_pick").then(|| DifferingPicks::of(base, test)).transpose()?.flatten();
        let compare_left = || LeftDiff::compare(LeftValues::new(base.open()?), LeftValues::new(test.open()?));
        let left = both("fairground_left").then(compare_left).transpose()?.flatten();
        Ok(Differing { diff, left, picks, base: in_base, test: in_test })
    }

    /// The first pair that chooses different CPUs: the base's placement, then the test's. `None` if no pair differs.
    pub fn first(&self) -> Option<[&Placement; 2]> {
        Some([self.base.first.as_ref()?, self.test.first.as_ref()?])
    }

    /// The first pair that chooses different CPUs in the kernel's terms: base, then test. `None` if no pair differs.
    pub fn first_in_words(&self) -> Option<[String; 2]> {
        let words = |trace: &Trace| Some(in_words(trace.first.as_ref()?, trace.side.head()));
        Some([words(&self.base)?, words(&self.test)?])
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
        _ => Ok(Trace { name: of.name(), side, first: None, other_work: None }),
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
    let Differing { diff, left, picks, base, test } = differing;
    let mut out = String::new();
    for (name, trace) in [("base", base), ("test", test)] {
        let meta: Vec<String> = trace.side.head().meta.iter().map(|(key, value)| format!("{key} {value}")).collect();
        let _ = writeln!(out, "{name}  {}: {} decisions ({})", trace.name, trace.side.count(), meta.join(", "));
    }
    if let Some(left) = left {
        let _ = write!(out, "\n{}{}", left.text(), consequence(left, base));
    }
    let _ = writeln!(out, "\n{}\n", verdict(diff));
    for (name, words) in ["base", "test"].into_iter().zip(differing.first_in_words().into_iter().flatten()) {
        let _ = writeln!(out, "{name}  {}\n", words.trim_end().replace('\n', "\n      "));
    }
    out += &looked_at(base, test);
    out += &other_work(base, test);
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

/// Values that only one side changes in the instant of a placement that differs come of that placement.
fn consequence(left: &LeftDiff, base: &Trace) -> &'static str {
    let placed = base.first.as_ref().zip(left.first.first());
    match placed.filter(|(placement, first)| placement.time <= first.change().time && !first.is_of_both()) {
        Some(_) => "  which comes of the placement below: that is the first difference\n",
        None => "",
    }
}

/// The first placement onto the same CPU after other work, in one paragraph; empty if there is none.
fn other_work(base: &Trace, test: &Trace) -> String {
    let (Some(b), Some(t)) = (&base.other_work, &test.other_work) else { return String::new() };
    let how = |trace: &Trace, p: &Placement| {
        let rule = trace.side.head().rule(&p.rule).title();
        format!("by {rule} after {} probes, {} CPUs of groups", p.probes, p.group_cpus)
    };
    format!(
        "the first that chooses the same CPU after other work, at {} s: {} onto CPU {}\nbase  {}\ntest  {}\n\n",
        seconds(b.time),
        b.task,
        b.chosen,
        how(base, b),
        how(test, t)
    )
}

/// What each side's reasons say of the CPU that the other side chooses; empty without such reasons.
fn looked_at(base: &Trace, test: &Trace) -> String {
    let (Some(b), Some(t)) = (&base.first, &test.first) else { return String::new() };
    let mut out = String::new();
    for (name, trace, of, other, chosen) in [("base", base, b, "test", t.chosen), ("test", test, t, "base", b.chosen)] {
        for step in of.steps.iter().filter(|step| step.cpu == Some(chosen)) {
            let Some(rule) = &step.rule else { continue };
            let title = trace.side.head().rule(rule).title();
            let _ = writeln!(out, "{name}, of the CPU that {other} chooses: {title}: {}", step.text);
        }
    }
    match out.is_empty() {
        true => out,
        false => out + "\n",
    }
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
    let Differing { diff, left, picks, base, test } = differing;
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
    let other = |trace: &Trace| trace.other_work.as_ref().map_or(Value::Null, |p| full_json(p, trace.side.head()));
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
        "other_work": diff.other_work.map(|_| json!({ "base": other(base), "test": other(test) })),
        "rules": rules,
        "left": left.as_ref().map(left_json),
        "picks": picks.as_ref().map(DifferingPicks::json),
    });
    format!("{document:#}\n")
}

/// The first values that differ, in the documented schema.
fn left_json(diff: &LeftDiff) -> Value {
    let side = |left: &Left| json!({ "before": left.before, "after": left.after });
    let first = diff.first.iter().map(|parting| {
        let at = parting.change();
        json!({
            "time_ns": at.time,
            "function": at.function,
            "value": at.value,
            "cpu": at.of.cpu,
            "domain": at.of.domain,
            "task": at.of.task.as_ref().map(|task| &task.comm),
            "pid": at.of.task.as_ref().map(|task| task.pid),
            "base": parting.base().map(side),
            "test": parting.test().map(side),
        })
    });
    json!({ "alike": diff.alike, "first": first.collect::<Vec<Value>>() })
}
