//! `fairground explain --diff`.

use std::fmt::Write;
use std::path::Path;

use fairground_trace::diff::{Diff, Side};
use fairground_trace::explain::in_words;
use fairground_trace::placements::{Placement, Placements};
use miette::Diagnostic;
use serde_json::{json, Value};
use thiserror::Error;

use super::super::run::RunFormat;
use super::{full_json, meta_json, no_reasons, NothingThere};
use crate::error::{run_failed, Failure};
use crate::input::open_trace;

/// Name and version of the schema.
const SCHEMA: &str = "fairground-explain-diff-1";

/// A trace that cannot be read a second time.
#[derive(Debug, Error, Diagnostic)]
#[error("{file} is no regular file: --diff reads traces twice")]
struct NotTwice {
    file: String,
}

/// What is shown of a trace.
struct Trace<'a> {
    path: &'a Path,
    side: Side,
    /// Its part in the first difference.
    first: Option<Placement>,
}

/// Base against test.
pub fn diff(base: &Path, test: &Path, format: RunFormat) -> Result<String, Failure> {
    let (mut base, mut test) = (read(base)?, read(test)?);
    let diff = Diff::new(&base.side, &test.side);
    if let Some((in_base, in_test)) = diff.first {
        base.first = Some(placement(base.path, in_base)?);
        test.first = Some(placement(test.path, in_test)?);
    }
    Ok(match format {
        RunFormat::Text => text(&diff, &base, &test),
        RunFormat::Json => document(&diff, &base, &test),
    })
}

fn read(path: &Path) -> Result<Trace<'_>, Failure> {
    let file = path.display().to_string();
    if std::fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        return Err(NotTwice { file }.into());
    }
    let side = Side::read(Placements::new(open_trace(path)?))?;
    match side.count() {
        0 => Err(NothingThere::Decisions { file }.into()),
        _ => Ok(Trace { path, side, first: None }),
    }
}

/// The placement at a place, counted from 0.
fn placement(path: &Path, at: usize) -> Result<Placement, Failure> {
    let mut trace = Placements::new(open_trace(path)?);
    for _ in 0..at {
        trace.next_placement()?;
    }
    trace.next_placement()?.ok_or_else(|| run_failed(format!("{} changes while it is read", path.display())))
}

fn text(diff: &Diff, base: &Trace, test: &Trace) -> String {
    let mut out = String::new();
    for (name, trace) in [("base", base), ("test", test)] {
        let meta: Vec<String> = trace.side.head().meta.iter().map(|(key, value)| format!("{key} {value}")).collect();
        let _ =
            writeln!(out, "{name}  {}: {} decisions ({})", trace.path.display(), trace.side.count(), meta.join(", "));
    }
    let _ = writeln!(out, "\n{}\n", verdict(diff));
    for (name, trace) in [("base", base), ("test", test)] {
        if let Some(first) = &trace.first {
            let words = in_words(first, trace.side.head());
            let _ = writeln!(out, "{name}  {}\n", words.trim_end().replace('\n', "\n      "));
        }
    }
    let mut told = String::new();
    for trace in [base, test] {
        for note in trace.side.notes() {
            let _ = writeln!(told, "note: {}: {note}", trace.path.display());
        }
    }
    let why = if diff.first.is_some() { no_reasons_in(base, test) } else { "" };
    out + &shift_table(diff, base, test) + "\n" + &told + why
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
    let mut out = format!("{:<12} {:>9} {:>9} {:>9}  meaning\n", "rule", "base", "test", "shift");
    for s in &diff.shifts {
        let shift = match s.shift() {
            0 => "0".into(),
            shift => format!("{shift:+}"),
        };
        let meaning = rule_text(&s.rule, base, test);
        let line = format!("{:<12} {:>9} {:>9} {shift:>9}  {meaning}", s.rule, s.base, s.test);
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// As base says, else as test does.
fn rule_text<'a>(rule: &str, base: &'a Trace, test: &'a Trace) -> &'a str {
    let told = [base, test].map(|trace| trace.side.head().rule_text(rule));
    if told[0].is_empty() {
        told[1]
    } else {
        told[0]
    }
}

fn document(diff: &Diff, base: &Trace, test: &Trace) -> String {
    let side = |trace: &Trace| {
        let head = trace.side.head();
        json!({
            "file": trace.path.display().to_string(),
            "meta": meta_json(head),
            "reasons": head.why,
            "count": trace.side.count(),
            "notes": trace.side.notes(),
        })
    };
    let first = |trace: &Trace| trace.first.as_ref().map_or(Value::Null, |p| full_json(p, trace.side.head()));
    let rules = diff.shifts.iter().map(|s| {
        let text = rule_text(&s.rule, base, test);
        json!({ "rule": s.rule, "base": s.base, "test": s.test, "shift": s.shift(), "text": text })
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
    });
    format!("{document:#}\n")
}
