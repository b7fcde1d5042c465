//! The placements of a trace, or of a run kept in memory, explained: which rule decided, and why. Two runs are compared
//! side by side.
//!
//! [`explain_picks`] does the same for picks: why a task runs, or waits. [`explain`] answers a [`Query`] with text, [`explain_json`] with the documented schema, [`chosen`] with the
//! placements themselves. [`Differing`] compares two traces or runs.

mod differing;
mod parted;
mod picks;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

use fairground_machine::nearest;
use fairground_sim::Rule;
use fairground_trace::explain::{in_short, in_words, Group, RuleCounts, Split};
use fairground_trace::placements::{Head, Placement, Placements};
use fairground_trace::{open, EventSource, Note, Recording, TraceError};
use miette::Diagnostic;
use serde_json::{json, Map, Value};
use thiserror::Error;

pub use self::differing::Differing;
pub use self::parted::{Parted, RuleShift};
pub use self::picks::{chosen_picks, explain_picks, explain_picks_json, pick_json, DifferingPicks};

/// Name and version of the schema.
const SCHEMA: &str = "fairground-explain-1";

/// A trace or run whose placements can be explained. It can be read several times, and on another thread.
pub trait Traced: Sync {
    /// The name that messages use.
    fn name(&self) -> String;

    /// Opens it at its first event.
    ///
    /// # Errors
    /// If it cannot be read.
    fn open(&self) -> Result<Box<dyn EventSource + '_>, TraceError>;

    /// Whether it may have events of this name; `true` where only reading it would tell.
    fn may_have(&self, _event: &str) -> bool {
        true
    }
}

impl Traced for PathBuf {
    fn name(&self) -> String {
        self.display().to_string()
    }

    fn open(&self) -> Result<Box<dyn EventSource + '_>, TraceError> {
        open(self)
    }
}

/// A run in memory, with the name that messages use.
impl Traced for (String, &Recording) {
    fn name(&self) -> String {
        self.0.clone()
    }

    fn open(&self) -> Result<Box<dyn EventSource + '_>, TraceError> {
        Ok(Box::new(self.1.source(&self.0)))
    }

    fn may_have(&self, event: &str) -> bool {
        self.1.tables().contains_key(event)
    }
}

/// Selects placements and the form of the answer. With a time, the first match is explained in full. With a task and no
/// time, each match takes one line. Otherwise the answer counts placements by rule.
#[derive(Clone, Debug)]
pub struct Query {
    /// Selects the placements.
    pub wanted: Wanted,
    /// How counts are split. Used only if the answer counts placements by rule.
    pub by: Split,
}

/// Conditions on a placement. A condition that is `None` matches every placement.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The task: its name, its pid, or `name-pid`.
    pub task: Option<String>,
    /// The earliest time, ns.
    pub at: Option<u64>,
    /// The CPU that was chosen.
    pub cpu: Option<u32>,
}

impl Wanted {
    /// Whether a placement meets all conditions.
    pub fn is(&self, p: &Placement) -> bool {
        self.at.is_none_or(|at| p.time >= at) && self.is_cpu(p) && self.is_task(p)
    }

    fn is_task(&self, p: &Placement) -> bool {
        let is = |name: &String| p.task.comm == *name || p.task.pid.to_string() == *name || p.task.to_string() == *name;
        self.task.as_ref().is_none_or(is)
    }

    /// Whether a placement meets the condition on the CPU.
    pub fn is_cpu(&self, p: &Placement) -> bool {
        self.cpu.is_none_or(|cpu| cpu == p.chosen)
    }
}

/// Why no placement can be explained.
#[derive(Debug, Error, Diagnostic)]
pub enum ExplainError {
    /// The trace has no placement decisions.
    #[error("{file} has no placement decisions")]
    #[diagnostic(help(
        "traces of `fairground run ... --trace FILE` have them; for a kernel's, what a policy of ours would have decided: \
         `fairground whatif {file} --machine MACHINE`"
    ))]
    Decisions {
        /// Name of the trace.
        file: String,
    },
    /// The trace has no placement of the task.
    #[error("{file}: no placement of task {task:?}{hint}")]
    Task {
        /// Name of the trace.
        file: String,
        /// The task of the query.
        task: String,
        /// Text `; did you mean NAME?`, or `; there are NAMES` if none is near.
        hint: String,
    },
    /// No placement is at the time of the query or later.
    #[error("{file}: no such placement{when}")]
    #[diagnostic(help("the last one that --task and --cpu allow is at {last}"))]
    Time {
        /// Name of the trace.
        file: String,
        /// The time of the query, as text ` at X s or after`; empty without a time.
        when: String,
        /// Time of the last placement that meets the other conditions, as text.
        last: String,
    },
    /// No placement, or none of the task of the query, chose the CPU.
    #[error("{file}: no placement onto CPU {cpu}")]
    Cpu {
        /// Name of the trace.
        file: String,
        /// The CPU of the query.
        cpu: u32,
    },
    /// The trace has no picks.
    #[error("{file} has no picks")]
    #[diagnostic(help("`fairground run ... --trace FILE --why` records why tasks are picked"))]
    Picks {
        /// Name of the trace.
        file: String,
    },
    /// No pick matches the query.
    #[error("{file}: no such pick")]
    #[diagnostic(help("`explain --picks` without --task, --at and --cpu counts all of them"))]
    NoPick {
        /// Name of the trace.
        file: String,
    },
    /// The second reading of the trace does not match the first.
    #[error("{file} changes while it is read")]
    Changes {
        /// Name of the trace.
        file: String,
    },
    /// The trace cannot be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Trace(#[from] TraceError),
}

/// The text of an answer, and notes to print beside it.
pub type Answer = (String, Vec<Note>);

/// The answer as text.
///
/// # Errors
/// If no placement matches, or the trace cannot be read.
pub fn explain(of: &dyn Traced, query: &Query) -> Result<Answer, ExplainError> {
    let mut trace = Placements::new(of.open()?);
    if query.wanted.at.is_none() && query.wanted.task.is_none() {
        let tally = count(of, &mut trace, query)?;
        return Ok((tally_text(query.by, &tally, trace.head(), &trace.notes()), Vec::new()));
    }
    let mut out = String::new();
    let full = query.wanted.at.is_some();
    each(of, &mut trace, &query.wanted, &mut |placement, head| {
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
pub fn explain_json(of: &dyn Traced, query: &Query) -> Result<Answer, ExplainError> {
    let mut trace = Placements::new(of.open()?);
    if query.wanted.at.is_none() && query.wanted.task.is_none() {
        let tally = count(of, &mut trace, query)?;
        return Ok((tally_json(&of.name(), query.by, &tally, trace.head(), &trace.notes()), Vec::new()));
    }
    let full = query.wanted.at.is_some();
    let mut decisions = Vec::new();
    each(of, &mut trace, &query.wanted, &mut |placement, head| {
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

/// The placements that match, the head of the trace, and its notes.
///
/// # Errors
/// As [`explain`].
pub fn chosen(of: &dyn Traced, wanted: &Wanted) -> Result<(Vec<Placement>, Head, Vec<Note>), ExplainError> {
    let mut trace = Placements::new(of.open()?);
    let mut all = Vec::new();
    each(of, &mut trace, wanted, &mut |placement, _| all.push(placement))?;
    Ok((all, trace.head().clone(), trace.notes()))
}

type Trace<'a> = Placements<Box<dyn EventSource + 'a>>;

/// Calls `take` with each placement that matches. With a time, only with the first one: the rest of the trace is not
/// read.
fn each(
    of: &dyn Traced,
    trace: &mut Trace,
    wanted: &Wanted,
    take: &mut dyn FnMut(Placement, &Head),
) -> Result<(), ExplainError> {
    let (mut contents, mut taken) = (TraceContents::default(), false);
    while let Some(placement) = trace.next_placement()? {
        contents.note(&placement, wanted);
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
        false => Err(contents.failure(of.name(), wanted)),
    }
}

fn count(of: &dyn Traced, trace: &mut Trace, query: &Query) -> Result<RuleCounts, ExplainError> {
    let mut tally = RuleCounts::default();
    each(of, trace, &query.wanted, &mut |placement, _| tally.add(&placement, query.by))?;
    Ok(tally)
}

fn word(by: Split) -> Option<&'static str> {
    match by {
        Split::None => None,
        Split::Task => Some("task"),
        Split::Cpu => Some("cpu"),
    }
}

fn tally_text(by: Split, tally: &RuleCounts, head: &Head, notes: &[Note]) -> String {
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

fn tally_json(name: &str, by: Split, tally: &RuleCounts, head: &Head, notes: &[Note]) -> String {
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

/// Title and full condition of a rule, as members of a JSON object.
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

/// What a trace contains, for the message if no placement matches.
#[derive(Default)]
struct TraceContents {
    any: bool,
    /// Time of the last placement of the task and CPU of the query, ns.
    last: Option<u64>,
    tasks: BTreeSet<String>,
    of_task: bool,
}

impl TraceContents {
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
                ExplainError::Task { file, task: task.clone(), hint: hint_of_task(task, &self.tasks) }
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

/// Most names of tasks that a message shows.
const SHOWN_MAX: usize = 12;

/// Behind a message that there is no such task: the nearest name, else some of those that there are.
pub(crate) fn hint_of_task(task: &str, names: &BTreeSet<String>) -> String {
    if let Some(near) = nearest(task, names.iter().map(String::as_str)) {
        return format!("; did you mean {near:?}?");
    }
    let shown: Vec<&str> = names.iter().map(String::as_str).take(SHOWN_MAX).collect();
    let more = names.len().saturating_sub(SHOWN_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("; there are {}{more}", shown.join(", "))
}

/// The facts about the run, one per line.
fn meta_text(head: &Head) -> String {
    head.meta.iter().map(|(key, value)| format!("{key:<9} {value}\n")).collect()
}

/// A note that explains how to record reasons; empty if the trace has them.
fn no_reasons(head: &Head) -> &'static str {
    match head.why {
        true => "",
        false => "note: the trace has no reasons; `fairground run ... --trace FILE --why` records them\n",
    }
}

/// A JSON document: schema, file, facts about the run, whether the trace has reasons, then `fields`.
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
