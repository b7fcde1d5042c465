//! `fairground stats uclamp`.

use std::fmt::Write;

use clap::Args;
use fairground_trace::uclamp::{rows, Bound, By, Filter, Values};
use fairground_trace::Note;
use miette::Diagnostic;
use serde_json::{json, Value};
use thiserror::Error;

use super::{document, ByName, Input, StatsFormat};
use crate::error::Failure;
use crate::input::{open_trace, trace_notes};

/// Utilization clamps of run queues or of tasks.
#[derive(Args)]
pub struct Uclamp {
    #[command(flatten)]
    input: Input,
    /// What a row stands for [default: cpu; with --task comm]
    #[arg(long, value_enum)]
    by: Option<ByName>,
    /// Look at uclamp_max instead of uclamp_min
    #[arg(long)]
    max: bool,
    /// Leave out events whose value is 0, as mail 003 does for tasks
    #[arg(long)]
    nonzero: bool,
    /// Count how often each value was set for the threads of a name, or for NAME:PID
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
}

/// Options that do not go together.
#[derive(Debug, Error, Diagnostic)]
#[error("--task is for clamps of tasks, but --by cpu shows those of run queues")]
#[diagnostic(help("leave one of them out"))]
struct TaskByCpu;

impl Uclamp {
    pub fn text(&self) -> Result<String, Failure> {
        let by = match (self.by, &self.task) {
            (Some(ByName::Cpu), Some(_)) => return Err(TaskByCpu.into()),
            (None | Some(ByName::Cpu), None) => By::Cpu,
            (None | Some(ByName::Comm), _) => By::Comm,
            (Some(ByName::Pid), _) => By::Pid,
        };
        let bound = if self.max { Bound::Max } else { Bound::Min };
        let wanted = Filter { by, bound, zeros: !self.nonzero, task: self.task.clone() };
        let mut trace = open_trace(&self.input.file)?;
        let rows = rows(&mut trace, &wanted)?;
        let mut notes = trace.notes();
        if rows.is_empty() {
            let event = if by == By::Cpu { "uclamp_util_cfs" } else { "uclamp_util_se" };
            let file = self.input.file.display();
            notes.push(Note::Loss(format!("{file}: no clamps; expected {event} events of a run with clamps")));
        }
        trace_notes(&notes);
        let counted = self.task.is_some();
        let name = if by == By::Cpu { "cpu" } else { "task" };
        Ok(match self.input.format {
            StatsFormat::Text if rows.is_empty() => String::new(),
            StatsFormat::Text if counted => rows.iter().map(|(task, values)| counts(task, values, bound)).collect(),
            StatsFormat::Text => table(name, &rows),
            _ => {
                let rows: Vec<Value> = match counted {
                    true => rows.iter().flat_map(|(task, values)| counts_json(task, values)).collect(),
                    false => rows.iter().map(|(row, values)| row_json(name, row, values)).collect(),
                };
                document(&self.input, "uclamp", rows, &notes)
            }
        })
    }
}

const COLUMNS: [&str; 8] = ["count", "mean", "std", "min", "25%", "50%", "75%", "max"];

/// The values of pandas' describe() for a row; `None`: NaN.
fn described(v: &Values) -> [Option<f64>; 8] {
    let [min, q1, q2, q3, max] = [0, 1, 2, 3, 4].map(|quarters| Some(v.quartile(quarters)));
    [Some(v.count() as f64), Some(v.mean()), v.std(), min, q1, q2, q3, max]
}

/// The rows as pandas prints a DataFrame.
fn table(name: &str, rows: &[(String, Values)]) -> String {
    let described: Vec<_> = rows.iter().map(|(_, values)| described(values)).collect();
    let columns: Vec<Vec<String>> = (0..COLUMNS.len()).map(|c| column(described.iter().map(|row| row[c]))).collect();
    let length = |text: &str| text.chars().count();
    let first = rows.iter().map(|(row, _)| length(row)).chain([length(name)]).max().unwrap_or(0);
    let widths: Vec<usize> = columns
        .iter()
        .zip(COLUMNS)
        .map(|(c, head)| c.iter().map(String::len).chain([head.len()]).max().unwrap_or(0))
        .collect();
    let mut out = format!("{:first$}", "");
    COLUMNS.iter().zip(&widths).for_each(|(head, width)| out += &format!("  {head:>width$}"));
    let _ = write!(out, "\n{name:first$}");
    out.push('\n');
    for (at, (row, _)) in rows.iter().enumerate() {
        let _ = write!(out, "{row:first$}");
        columns.iter().zip(&widths).for_each(|(c, width)| out += &format!("  {:>width$}", c[at]));
        out.push('\n');
    }
    out
}

/// Values with six decimals, less the trailing zeros that all rows have. At least one decimal stays.
fn column(values: impl Iterator<Item = Option<f64>>) -> Vec<String> {
    let full: Vec<String> = values.map(|v| v.map_or("NaN".into(), |v| format!("{v:.6}"))).collect();
    let zeros = |text: &String| text.len() - text.trim_end_matches('0').len();
    let spare = full.iter().filter(|text| *text != "NaN").map(zeros).min().unwrap_or(0).min(5);
    full.into_iter().map(|text| if text == "NaN" { text } else { text[..text.len() - spare].into() }).collect()
}

/// The values as pandas prints value_counts().
fn counts(task: &str, values: &Values, bound: Bound) -> String {
    let name = match bound {
        Bound::Min => "uclamp_min",
        Bound::Max => "uclamp_max",
    };
    let counts = values.by_frequency();
    let width = counts.iter().map(|(_, n)| n.to_string().len()).max().unwrap_or(0);
    let mut out = format!("{task}\n");
    for (value, n) in &counts {
        let _ = writeln!(out, "{value:<5} {n:>width$}");
    }
    let _ = writeln!(out, "Name: {name}, events: {}", values.count());
    out
}

fn row_json(name: &str, row: &str, values: &Values) -> Value {
    let mut object = serde_json::Map::new();
    object.insert(name.into(), json!(row));
    object.insert("count".into(), json!(values.count()));
    let keys = ["mean", "std", "min", "q25", "q50", "q75", "max"];
    keys.iter().zip(described(values).iter().skip(1)).for_each(|(key, v)| {
        object.insert((*key).into(), json!(v));
    });
    Value::Object(object)
}

fn counts_json(task: &str, values: &Values) -> Vec<Value> {
    values.by_frequency().iter().map(|(value, n)| json!({ "task": task, "value": value, "count": n })).collect()
}
