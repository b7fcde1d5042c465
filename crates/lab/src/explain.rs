//! The placements of a trace, or of a run kept in memory, explained: by which rule, and why; and two of them side by side.
//!
//! [`explain`] answers an [`Asked`] with text, [`explain_json`] with the documented schema, [`chosen`] with the placements
//! themselves. [`Differing`] sets two side by side.

mod differing;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

use fairground_machine::nearest;
use fairground_sim::Rule;
use fairground_trace::explain::{in_short, in_words, Group, Split, Tally};
use fairground_trace::placements::{Head, Placement, Placements};
use fairground_trace::{open, EventSource, Recording, TraceError};
use miette::Diagnostic;
use serde_json::{json, Map, Value};
use thiserror::Error;

pub use self::differing::Differing;

/// Name and version of the schema.
const SCHEMA: &str = "fairground-explain-1";

/// Something whose placements can be explained, more than once and on another thread.
pub trait Traced: Sync {
    /// What messages call it.
    fn name(&self) -> String;

    /// Its events, from the first.
    ///
    /// # Errors
    /// If it cannot be read.
    fn open(&self) -> Result<Box<dyn EventSource + '_>, TraceError>;
}

impl Traced for PathBuf {
    fn name(&self) -> String {
        self.display().to_string()
    }

    fn open(&self) -> Result<Box<dyn EventSource + '_>, TraceError> {
        open(self)
    }
}

/// A run in memory, with its name.
impl Traced for (String, &Recording) {
    fn name(&self) -> String {
        self.0.clone()
    }

    fn open(&self) -> Result<Box<dyn EventSource + '_>, TraceError> {
        Ok(Box::new(self.1.source(&self.0)))
    }
}

/// Which placements, and how they are counted. With a time: the first one of these in full. With a task and no time: each
/// on a line. Otherwise: which rule decided how often.
#[derive(Clone, Debug)]
pub struct Asked {
    /// What a placement must be.
    pub wanted: Wanted,
    /// Of counting only.
    pub by: Split,
}

/// What a placement must be.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Of this task: its name, pid, or `name-pid`.
    pub task: Option<String>,
    /// Not before, ns.
    pub at: Option<u64>,
    /// Onto this CPU.
    pub cpu: Option<u32>,
}

impl Wanted {
    /// All of it.
    pub fn is(&self, p: &Placement) -> bool {
        self.at.is_none_or(|at| p.time >= at) && self.is_cpu(p) && self.is_task(p)
    }

    fn is_task(&self, p: &Placement) -> bool {
        let is = |name: &String| p.task.comm == *name || p.task.pid.to_string() == *name || p.task.to_string() == *name;
        self.task.as_ref().is_none_or(is)
    }

    /// Onto the CPU.
    pub fn is_cpu(&self, p: &Placement) -> bool {
        self.cpu.is_none_or(|cpu| cpu == p.chosen)
    }
}

/// Why there is nothing to explain.
#[derive(Debug, Error, Diagnostic)]
pub enum ExplainError {
    /// None at all.
    #[error("{file} has no placement decisions")]
    #[diagnostic(help(
        "traces of `fairground run ... --trace FILE` have them; for a kernel's, what a policy of ours would have decided: \
         `fairground whatif {file} --machine MACHINE`"
    ))]
    Decisions {
        /// What was read.
        file: String,
    },
    /// None of the task.
    #[error("{file}: no placement of task {task:?}{hint}")]
    Task {
        /// What was read.
        file: String,
        /// As asked for.
        task: String,
        /// The nearest name.
        hint: String,
    },
    /// None so late.
    #[error("{file}: no such placement{when}")]
    #[diagnostic(help("the last one that --task and --cpu allow is at {last}"))]
    Time {
        /// What was read.
        file: String,
        /// As asked for.
        when: String,
        /// The last one.
        last: String,
    },
    /// None onto the CPU.
    #[error("{file}: no placement onto CPU {cpu}")]
    Cpu {
        /// What was read.
        file: String,
        /// As asked for.
        cpu: u32,
    },
    /// Two readings of it are not alike.
    #[error("{file} changes while it is read")]
    Changes {
        /// What was read.
        file: String,
    },
    /// It cannot be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Trace(#[from] TraceError),
}

/// An answer, and what must be said beside it.
pub type Told = (String, Vec<String>);

/// The answer for people.
///
/// # Errors
/// If there is nothing of what was asked for.
pub fn explain(of: &dyn Traced, asked: &Asked) -> Result<Told, ExplainError> {
    let mut trace = Placements::new(of.open()?);
    if asked.wanted.at.is_none() && asked.wanted.task.is_none() {
        let tally = count(of, &mut trace, asked)?;
        return Ok((tally_text(asked.by, &tally, trace.head(), &trace.notes()), Vec::new()));
    }
    let mut out = String::new();
    let full = asked.wanted.at.is_some();
    each(of, &mut trace, &asked.wanted, &mut |placement, head| {
        let _ = match full {
            true => write!(out, "{}", in_words(&placement, head)),
            false => writeln!(out, "{}", in_short(&placement, head)),
        };
    })?;
    out.push_str(no_reasons(trace.head()));
    Ok((out, if full { Vec::new() } else { trace.notes() }))
}

/// The answer in the documented schema.
///
/// # Errors
/// As [`explain`].
pub fn explain_json(of: &dyn Traced, asked: &Asked) -> Result<Told, ExplainError> {
    let mut trace = Placements::new(of.open()?);
    if asked.wanted.at.is_none() && asked.wanted.task.is_none() {
        let tally = count(of, &mut trace, asked)?;
        return Ok((tally_json(&of.name(), asked.by, &tally, trace.head(), &trace.notes()), Vec::new()));
    }
    let full = asked.wanted.at.is_some();
    let mut decisions = Vec::new();
    each(of, &mut trace, &asked.wanted, &mut |placement, head| {
        decisions.push(match full {
            true => full_json(&placement, head),
            false => Value::Object(brief_json(&placement)),
        });
    })?;
    if full {
        return Ok((document(&of.name(), trace.head(), [("decision", decisions.remove(0))]), Vec::new()));
    }
    let notes = trace.notes();
    let fields = [("decisions", decisions.into()), ("notes", json!(notes))];
    Ok((document(&of.name(), trace.head(), fields), notes))
}

/// The placements that are wanted, with what the trace says of its run, and what must be said beside them.
///
/// # Errors
/// As [`explain`].
pub fn chosen(of: &dyn Traced, wanted: &Wanted) -> Result<(Vec<Placement>, Head, Vec<String>), ExplainError> {
    let mut trace = Placements::new(of.open()?);
    let mut all = Vec::new();
    each(of, &mut trace, wanted, &mut |placement, _| all.push(placement))?;
    Ok((all, trace.head().clone(), trace.notes()))
}

type Trace<'a> = Placements<Box<dyn EventSource + 'a>>;

/// Gives `take` what is wanted: the first, if a time is; then the rest is not read.
fn each(
    of: &dyn Traced,
    trace: &mut Trace,
    wanted: &Wanted,
    take: &mut dyn FnMut(Placement, &Head),
) -> Result<(), ExplainError> {
    let (mut seen, mut taken) = (Seen::default(), false);
    while let Some(placement) = trace.next_placement()? {
        seen.note(&placement, wanted);
        if wanted.is(&placement) {
            taken = true;
            take(placement, trace.head());
            if wanted.at.is_some() {
                break;
            }
        }
    }
    match taken {
        true => Ok(()),
        false => Err(seen.failure(of.name(), wanted)),
    }
}

fn count(of: &dyn Traced, trace: &mut Trace, asked: &Asked) -> Result<Tally, ExplainError> {
    let mut tally = Tally::default();
    each(of, trace, &asked.wanted, &mut |placement, _| tally.add(&placement, asked.by))?;
    Ok(tally)
}

fn word(by: Split) -> Option<&'static str> {
    match by {
        Split::None => None,
        Split::Task => Some("task"),
        Split::Cpu => Some("cpu"),
    }
}

fn tally_text(by: Split, tally: &Tally, head: &Head, notes: &[String]) -> String {
    let mut out = meta_text(head);
    let _ = writeln!(out, "{:<9} {}\n", "decisions", tally.total());
    let rows = tally.rows();
    let group = word(by).unwrap_or("");
    let width = rows.iter().map(|r| r.group.to_string().len()).max().unwrap_or(0).max(group.len());
    let gap = if width > 0 { "  " } else { "" };
    let _ = writeln!(out, "{group:<width$}{gap}{:>9} {:>8}  rule", "count", "share");
    let mut last = None;
    for row in &rows {
        // A group is named where it begins.
        let name = if last == Some(&row.group) { String::new() } else { row.group.to_string() };
        let rule = head.rule(&row.rule).title();
        let _ = writeln!(out, "{name:<width$}{gap}{:>9} {:>6.1} %  {rule}", row.count, row.share_pct);
        last = Some(&row.group);
    }
    let _ = writeln!(out);
    notes.iter().for_each(|note| {
        let _ = writeln!(out, "note: {note}");
    });
    out + no_reasons(head)
}

fn tally_json(name: &str, by: Split, tally: &Tally, head: &Head, notes: &[String]) -> String {
    let rows = tally.rows();
    let rules = rows.iter().map(|row| {
        let mut object = Map::new();
        if let Some(by) = word(by) {
            object.insert(by.into(), group_json(&row.group));
        }
        object.insert("rule".into(), json!(row.rule));
        object.insert("count".into(), json!(row.count));
        object.insert("share_pct".into(), json!(row.share_pct));
        object.extend(rule_words(&head.rule(&row.rule)));
        Value::Object(object)
    });
    let rules: Vec<Value> = rules.collect();
    let fields = [("count", json!(tally.total())), ("rules", rules.into()), ("notes", json!(notes))];
    document(name, head, fields)
}

/// What people read of a rule: its title, and its condition in full.
pub fn rule_words(rule: &Rule) -> [(String, Value); 2] {
    [("title".into(), json!(rule.title())), ("text".into(), json!(rule.text))]
}

fn group_json(group: &Group) -> Value {
    match group {
        Group::Cpu(cpu) => json!(cpu),
        Group::Task(comm) => json!(comm),
        Group::All => Value::Null,
    }
}

/// What a trace held, for a message if it was not what was asked for.
#[derive(Default)]
struct Seen {
    any: bool,
    /// Of the task or CPU asked for, when.
    last: Option<u64>,
    tasks: BTreeSet<String>,
    of_task: bool,
}

impl Seen {
    fn note(&mut self, placement: &Placement, wanted: &Wanted) {
        self.any = true;
        if !self.tasks.contains(&placement.task.comm) {
            self.tasks.insert(placement.task.comm.clone());
        }
        self.of_task |= wanted.is_task(placement);
        if wanted.is_task(placement) && wanted.is_cpu(placement) {
            self.last = Some(placement.time);
        }
    }

    fn failure(&self, file: String, wanted: &Wanted) -> ExplainError {
        match (&wanted.task, wanted.cpu, self.last) {
            _ if !self.any => ExplainError::Decisions { file },
            (Some(task), _, _) if !self.of_task => {
                let near = nearest(task, self.tasks.iter().map(String::as_str));
                let hint = near.map_or(String::new(), |n| format!("; did you mean {n:?}?"));
                ExplainError::Task { file, task: task.clone(), hint }
            }
            (_, Some(cpu), None) => ExplainError::Cpu { file, cpu },
            (_, _, last) => {
                let time = |ns| format!("{} s", fairground_trace::explain::seconds(ns));
                let when = wanted.at.map_or(String::new(), |at| format!(" at {} or after", time(at)));
                ExplainError::Time { file, when, last: last.map_or("no time".into(), time) }
            }
        }
    }
}

/// What the run was, a line each.
fn meta_text(head: &Head) -> String {
    head.meta.iter().map(|(key, value)| format!("{key:<9} {value}\n")).collect()
}

/// How to get reasons, where there are none.
fn no_reasons(head: &Head) -> &'static str {
    match head.why {
        true => "",
        false => "note: the trace has no reasons; `fairground run ... --trace FILE --why` records them\n",
    }
}

/// A document with the head of every document.
fn document<const N: usize>(file: &str, head: &Head, fields: [(&str, Value); N]) -> String {
    let mut object = Map::new();
    object.insert("schema".into(), json!(SCHEMA));
    object.insert("file".into(), json!(file));
    object.insert("meta".into(), meta_json(head));
    object.insert("reasons".into(), json!(head.why));
    object.extend(fields.map(|(key, value)| (key.to_owned(), value)));
    format!("{:#}\n", Value::Object(object))
}

fn meta_json(head: &Head) -> Value {
    let meta: Map<String, Value> = head.meta.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
    Value::Object(meta)
}

fn brief_json(p: &Placement) -> Map<String, Value> {
    let object = json!({
        "time_ns": p.time,
        "kind": p.cause.word(),
        "task": p.task.comm,
        "pid": p.task.pid,
        "on_cpu": p.on_cpu,
        "by": { "task": p.by.comm, "pid": p.by.pid },
        "prev_cpu": p.prev,
        "cpu": p.chosen,
        "rule": p.rule,
        "probes": p.probes,
        "group_cpus": p.group_cpus,
        "pull": p.pull.as_ref().map(|pull| json!({
            "kind": pull.kind,
            "level": pull.level,
            "dst_cpu": pull.dst,
            "unit": pull.unit,
            "amount": pull.amount,
            "moved": pull.moved,
        })),
    });
    match object {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// A placement in full, in the documented schema.
pub fn full_json(p: &Placement, head: &Head) -> Value {
    let step = |s: &fairground_trace::placements::Step| json!({ "rule": s.rule, "note": s.note, "cpu": s.cpu, "numbers": s.numbers, "text": s.text });
    let mut object = brief_json(p);
    let rule = head.rule(&p.rule);
    object.insert("rule_title".into(), json!(rule.title()));
    object.insert("rule_text".into(), json!(rule.text));
    object.insert("reasons".into(), p.steps.iter().map(step).collect());
    Value::Object(object)
}
