//! `fairground explain`.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use fairground_lab::tables::nearest;
use fairground_trace::explain::{in_short, in_words, Split, Tally};
use fairground_trace::placements::{Head, Placement, Placements};
use miette::Diagnostic;
use serde_json::{json, Map, Value};
use thiserror::Error;

use self::recorded::Recorded;
use self::select::{parse_time, Wanted};
use super::run::RunFormat;
use crate::circumstances::{parse_hz, GovernorName};
use crate::error::{End, Failure};
use crate::input::{open_trace, trace_notes, Trace};
use crate::output::print;

mod diff;
mod recorded;
mod select;

/// Name and version of the schema.
const SCHEMA: &str = "fairground-explain-1";

/// Explains the placements of a trace.
///
/// Without --task and --at: which rule decided how often. With --task: its placements, a line each. With --at: one
/// placement in full. `fairground run ... --trace FILE --why` records traces with reasons. With --trace: what a scheduler
/// of ours would have chosen where any trace has wakeups.
#[derive(Args)]
pub struct Explain {
    /// Trace of `fairground run`
    #[arg(required_unless_present_any = ["diff", "trace"])]
    file: Option<PathBuf>,
    /// Any trace, a kernel's too: say of each recorded wakeup what --sched would have chosen, and how sure that is
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "diff", "by"])]
    trace: Option<PathBuf>,
    /// With --trace: the machine that was recorded, preset or file [default: as the trace says, if it is ours]
    #[arg(long, value_name = "MACHINE")]
    machine: Option<String>,
    /// With --trace: who is asked [default: who ran, if the trace says so and that was fair:..., else fair:v6.12]
    #[arg(long, value_name = "fair:SPEC")]
    sched: Option<String>,
    /// With --trace: who chose frequencies; with schedutil wakeups may go by energy [default: as the trace says, if it is ours, else performance]
    #[arg(long, value_enum)]
    governor: Option<GovernorName>,
    /// With --trace: ticks per second of the kernel that was recorded [default: as the trace says, if it is ours, else 250]
    #[arg(long, value_parser = parse_hz)]
    hz: Option<u32>,
    /// With --trace: the N-th wakeup that is judged, of those that --task, --at and --cpu allow, in full
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    nth: Option<u64>,
    /// Only placements of this task: name, pid, or name-pid
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
    /// The placement at this time, or the first after it: 1.25, 1250ms, 1250000us, 1250000000ns
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    at: Option<u64>,
    /// Only placements onto this CPU
    #[arg(long, value_name = "N")]
    cpu: Option<u32>,
    /// Count the rules of each task or CPU for itself
    #[arg(long, value_enum, conflicts_with_all = ["task", "at"])]
    by: Option<ByName>,
    /// Set two traces side by side: the first placement that differs, and the shift of decisions by rule
    #[arg(long, value_names = ["BASE", "TEST"], num_args = 2, conflicts_with_all = ["file", "task", "at", "cpu", "by"])]
    diff: Option<Vec<PathBuf>>,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: ExplainFormat,
}

/// As typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ExplainFormat {
    /// For people
    #[default]
    Text,
    /// The documented schema
    Json,
    /// With --trace: its rows, comma-separated
    Csv,
}

/// As typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ByName {
    /// By the name of the task
    Task,
    /// By the chosen CPU
    Cpu,
}

impl ByName {
    fn word(self) -> &'static str {
        match self {
            ByName::Task => "task",
            ByName::Cpu => "cpu",
        }
    }
}

/// An option beside a trace whose placements stand in it.
#[derive(Debug, Error, Diagnostic)]
#[error("{option} is for --trace FILE")]
#[diagnostic(help(
    "without --trace the placements of a trace of `fairground run` are explained, which says all of this itself"
))]
struct ForTrace {
    option: &'static str,
}

/// A trace in which nothing is to be explained.
#[derive(Debug, Error, Diagnostic)]
enum NothingThere {
    #[error("{file} has no placement decisions")]
    #[diagnostic(help("traces of `fairground run ... --trace FILE` have them; a kernel's have not"))]
    Decisions { file: String },
    #[error("{file}: no placement of task {task:?}{hint}")]
    Task { file: String, task: String, hint: String },
    #[error("{file}: no such placement{when}")]
    #[diagnostic(help("the last one that --task and --cpu allow is at {last}"))]
    Time { file: String, when: String, last: String },
    #[error("{file}: no placement onto CPU {cpu}")]
    Cpu { file: String, cpu: u32 },
    #[error("--format csv is for --trace")]
    #[diagnostic(help("text and json are for all"))]
    Rows,
}

impl Explain {
    pub fn run(self) -> Result<End, Failure> {
        // Not by clap's `requires`, which a file beside it, in conflict with --trace, puts out of force.
        if let (None, Some(option)) = (&self.trace, self.for_trace()) {
            return Err(ForTrace { option }.into());
        }
        let text = match (&self.trace, &self.diff, &self.file) {
            (Some(trace), ..) => Recorded::new(trace, &self)?.explain()?,
            (None, Some(sides), _) => diff::diff(&sides[0], &sides[1], self.plain_format()?)?,
            (None, None, Some(file)) => self.explain(file, self.plain_format()?)?,
            // Not reached: clap asks for one of them.
            (None, None, None) => String::new(),
        };
        print(&text)?;
        Ok(End::Done)
    }

    /// The first option given that is of use beside `--trace` only.
    fn for_trace(&self) -> Option<&'static str> {
        let given = [
            ("--machine", self.machine.is_some()),
            ("--sched", self.sched.is_some()),
            ("--governor", self.governor.is_some()),
            ("--hz", self.hz.is_some()),
            ("--nth", self.nth.is_some()),
        ];
        given.into_iter().find_map(|(option, given)| given.then_some(option))
    }

    /// Of all but `--trace`.
    fn plain_format(&self) -> Result<RunFormat, NothingThere> {
        match self.format {
            ExplainFormat::Text => Ok(RunFormat::Text),
            ExplainFormat::Json => Ok(RunFormat::Json),
            ExplainFormat::Csv => Err(NothingThere::Rows),
        }
    }

    fn explain(&self, file: &Path, format: RunFormat) -> Result<String, Failure> {
        let mut trace = Placements::new(open_trace(file)?);
        let wanted = Wanted { task: self.task.as_deref(), at: self.at, cpu: self.cpu };
        match (self.at, &self.task) {
            (Some(_), _) => self.one(file, &mut trace, &wanted, format),
            (None, Some(_)) => self.list(file, &mut trace, &wanted, format),
            (None, None) => self.tally(file, &mut trace, &wanted, format),
        }
    }

    /// One placement in full. What comes after it is not read.
    fn one(&self, file: &Path, trace: &mut Trace, wanted: &Wanted, format: RunFormat) -> Result<String, Failure> {
        let mut seen = Seen::default();
        while let Some(placement) = trace.next_placement()? {
            if wanted.is(&placement) {
                return Ok(match format {
                    RunFormat::Text => format!("{}{}", in_words(&placement, trace.head()), no_reasons(trace.head())),
                    RunFormat::Json => {
                        document(SCHEMA, file, trace.head(), [("decision", full_json(&placement, trace.head()))])
                    }
                });
            }
            seen.note(&placement, wanted);
        }
        Err(seen.failure(file, wanted))
    }

    /// A line each.
    fn list(&self, file: &Path, trace: &mut Trace, wanted: &Wanted, format: RunFormat) -> Result<String, Failure> {
        let mut seen = Seen::default();
        let (mut lines, mut decisions) = (String::new(), Vec::new());
        while let Some(placement) = trace.next_placement()? {
            seen.note(&placement, wanted);
            match (wanted.is(&placement), format) {
                (false, _) => {}
                (true, RunFormat::Text) => {
                    let _ = writeln!(lines, "{}", in_short(&placement));
                }
                (true, RunFormat::Json) => decisions.push(Value::Object(brief_json(&placement))),
            }
        }
        if lines.is_empty() && decisions.is_empty() {
            return Err(seen.failure(file, wanted));
        }
        trace_notes(&trace.notes());
        Ok(match format {
            RunFormat::Text => format!("{lines}{}", no_reasons(trace.head())),
            RunFormat::Json => {
                document(SCHEMA, file, trace.head(), [("decisions", decisions.into()), ("notes", json!(trace.notes()))])
            }
        })
    }

    fn tally(&self, file: &Path, trace: &mut Trace, wanted: &Wanted, format: RunFormat) -> Result<String, Failure> {
        let split = match self.by {
            None => Split::None,
            Some(ByName::Task) => Split::Task,
            Some(ByName::Cpu) => Split::Cpu,
        };
        let (mut seen, mut tally) = (Seen::default(), Tally::default());
        while let Some(placement) = trace.next_placement()? {
            seen.note(&placement, wanted);
            if wanted.is(&placement) {
                tally.add(&placement, split);
            }
        }
        if tally.total() == 0 {
            return Err(seen.failure(file, wanted));
        }
        let notes = trace.notes();
        Ok(match format {
            RunFormat::Text => self.tally_text(&tally, trace.head(), &notes),
            RunFormat::Json => self.tally_json(file, &tally, trace.head(), &notes),
        })
    }

    fn tally_text(&self, tally: &Tally, head: &Head, notes: &[String]) -> String {
        let mut out = meta_text(head);
        let _ = writeln!(out, "{:<9} {}\n", "decisions", tally.total());
        let rows = tally.rows();
        let group = self.by.map_or("", ByName::word);
        let width = rows.iter().map(|r| r.group.to_string().len()).max().unwrap_or(0).max(group.len());
        let gap = if width > 0 { "  " } else { "" };
        let _ = writeln!(out, "{group:<width$}{gap}{:<12} {:>9} {:>8}  meaning", "rule", "count", "share");
        let mut last = None;
        for row in &rows {
            // A group is named where it begins.
            let name = if last == Some(&row.group) { String::new() } else { row.group.to_string() };
            let meaning = head.rule_text(&row.rule);
            let line =
                format!("{name:<width$}{gap}{:<12} {:>9} {:>6.1} %  {meaning}", row.rule, row.count, row.share_pct);
            let _ = writeln!(out, "{}", line.trim_end());
            last = Some(&row.group);
        }
        let _ = writeln!(out);
        notes.iter().for_each(|note| {
            let _ = writeln!(out, "note: {note}");
        });
        out + no_reasons(head)
    }

    fn tally_json(&self, file: &Path, tally: &Tally, head: &Head, notes: &[String]) -> String {
        let rows = tally.rows();
        let rules = rows.iter().map(|row| {
            let mut object = Map::new();
            if let Some(by) = self.by {
                object.insert(by.word().into(), group_json(&row.group));
            }
            object.insert("rule".into(), json!(row.rule));
            object.insert("count".into(), json!(row.count));
            object.insert("share_pct".into(), json!(row.share_pct));
            object.insert("text".into(), json!(head.rule_text(&row.rule)));
            Value::Object(object)
        });
        let rules: Vec<Value> = rules.collect();
        let fields = [("count", json!(tally.total())), ("rules", rules.into()), ("notes", json!(notes))];
        document(SCHEMA, file, head, fields)
    }
}

fn group_json(group: &fairground_trace::explain::Group) -> Value {
    use fairground_trace::explain::Group;
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

    fn failure(&self, file: &Path, wanted: &Wanted) -> Failure {
        let file = file.display().to_string();
        match (wanted.task, wanted.cpu, self.last) {
            _ if !self.any => NothingThere::Decisions { file },
            (Some(task), _, _) if !self.of_task => {
                let near = nearest(task, self.tasks.iter().map(String::as_str));
                let hint = near.map_or(String::new(), |n| format!("; did you mean {n:?}?"));
                NothingThere::Task { file, task: task.into(), hint }
            }
            (_, Some(cpu), None) => NothingThere::Cpu { file, cpu },
            (_, _, last) => {
                let time = |ns| format!("{} s", fairground_trace::explain::seconds(ns));
                let when = wanted.at.map_or(String::new(), |at| format!(" at {} or after", time(at)));
                NothingThere::Time { file, when, last: last.map_or("no time".into(), time) }
            }
        }
        .into()
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
fn document<const N: usize>(schema: &str, file: &Path, head: &Head, fields: [(&str, Value); N]) -> String {
    let mut object = Map::new();
    object.insert("schema".into(), json!(schema));
    object.insert("file".into(), json!(file.display().to_string()));
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

fn full_json(p: &Placement, head: &Head) -> Value {
    let step = |s: &fairground_trace::placements::Step| json!({ "rule": s.rule, "note": s.note, "cpu": s.cpu, "numbers": s.numbers, "text": s.text });
    let mut object = brief_json(p);
    object.insert("rule_text".into(), json!(head.rule_text(&p.rule)));
    object.insert("reasons".into(), p.steps.iter().map(step).collect());
    Value::Object(object)
}
