//! `fairground stats`.

mod energy;
mod frequency;
mod migrations;
mod residency;
mod uclamp;

use std::fmt::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use fairground_lab::tables::comma_separated;
use fairground_trace::latency::{self, total, By, Row, Waits};
use fairground_trace::Note;
use serde_json::{json, Map, Value};

use crate::error::{End, Failure};
use crate::input::{open_trace, trace_notes, trace_path};
use crate::output::print;

/// Name and version of the schema.
const SCHEMA: &str = "fairground-stats-1";

/// Statistics of a trace.
#[derive(Subcommand)]
pub enum Stats {
    /// How long tasks wait for a CPU (scheduling latency), as perf sched latency prints it
    Latency(Latency),
    /// How long CPUs stay in idle states (cpu_idle)
    Residency(residency::Residency),
    /// How long clocks run at each frequency (cpu_frequency)
    Frequency(frequency::Frequency),
    /// How often tasks change their CPU, by cause and distance
    Migrations(migrations::Migrations),
    /// Energy of each rail over time and in all, of a run with --energy-every
    Energy(energy::Energy),
    /// Utilization clamps (uclamp) of run queues or of tasks, as pandas describes them
    Uclamp(uclamp::Uclamp),
}

impl Stats {
    pub fn run(self) -> Result<End, Failure> {
        print(&match self {
            Stats::Latency(kind) => kind.text()?,
            Stats::Residency(kind) => kind.text()?,
            Stats::Frequency(kind) => kind.text()?,
            Stats::Migrations(kind) => kind.text()?,
            Stats::Energy(kind) => kind.text()?,
            Stats::Uclamp(kind) => kind.text()?,
        })?;
        Ok(End::Done)
    }
}

/// Arguments of all kinds.
#[derive(Args)]
struct Input {
    /// Trace: ours, a trace.dat, or what trace-cmd report, perf script or the kernel print; - is standard input
    #[arg(value_parser = trace_path())]
    file: PathBuf,
    /// How to print the rows
    #[arg(long, value_enum, default_value_t)]
    format: StatsFormat,
}

/// Layouts of statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum StatsFormat {
    /// For people
    #[default]
    Text,
    /// The documented schema
    Json,
    /// Its rows, comma-separated
    Csv,
}

/// Values of `--by` where rows can be split by CPU only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ByCpu {
    /// A row for each CPU
    Cpu,
}

/// How long tasks wait for a CPU.
#[derive(Args)]
pub struct Latency {
    #[command(flatten)]
    input: Input,
    /// What a row stands for
    #[arg(long, value_enum, default_value_t)]
    by: ByName,
}

/// Values of `--by`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ByName {
    /// All threads of a name
    #[default]
    Comm,
    /// Each thread
    Pid,
    /// Each CPU
    Cpu,
}

impl Latency {
    fn text(&self) -> Result<String, Failure> {
        let mut trace = open_trace(&self.input.file)?;
        let latency = latency::Latency::read(&mut trace)?;
        let (by, title) = match self.by {
            ByName::Comm => (By::Comm, "Task"),
            ByName::Pid => (By::Pid, "Task"),
            ByName::Cpu => (By::Cpu, "CPU"),
        };
        let rows = latency.rows(by);
        let mut notes = [trace.notes(), latency.notes()].concat();
        if rows.is_empty() {
            let file = self.input.file.display();
            let none = format!("{file}: no task waits for a CPU; expected sched_switch and sched_wakeup events");
            notes.push(Note::Loss(none));
        }
        trace_notes(&notes);
        Ok(match self.input.format {
            StatsFormat::Text if rows.is_empty() => String::new(),
            StatsFormat::Text => table(title, &rows),
            _ => document(&self.input, "latency", rows.iter().map(row_json).collect(), &notes),
        })
    }
}

/// Rows in a form for programs.
fn document(input: &Input, kind: &str, rows: Vec<Value>, notes: &[Note]) -> String {
    if input.format == StatsFormat::Csv {
        return rows_as_csv(&rows);
    }
    let file = input.file.display().to_string();
    format!("{:#}\n", json!({ "schema": SCHEMA, "kind": kind, "file": file, "rows": rows, "notes": notes }))
}

/// CSV under a line with the names of the members. The field of a value that is not known is empty.
pub(super) fn rows_as_csv(rows: &[Value]) -> String {
    let flat: Vec<Map<String, Value>> = rows.iter().map(flatten).collect();
    let text = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let Some(first) = flat.first() else { return String::new() };
    comma_separated(first.keys().map(String::as_str), flat.iter().map(|row| row.values().map(text).collect()))
}

/// The row without nesting: a member of a member is named `OUTER.INNER`.
fn flatten(row: &Value) -> Map<String, Value> {
    let mut flat = Map::new();
    for (name, value) in row.as_object().into_iter().flatten() {
        match value {
            Value::Object(inner) => {
                inner.iter().for_each(|(key, value)| drop(flat.insert(format!("{name}.{key}"), value.clone())));
            }
            value => drop(flat.insert(name.clone(), value.clone())),
        }
    }
    flat
}

/// The table of `perf sched latency`, with the same columns.
fn table(title: &str, rows: &[Row]) -> String {
    let rule = |n: usize| format!(" {}\n", "-".repeat(n));
    let head = format!(
        "  {title:<21} |   Runtime ms  |  Count   | Avg delay ms    | Max delay ms    | Max delay start           | \
         Max delay end          |\n"
    );
    let mut out = format!("\n{}{head}{}", rule(139), rule(139));
    for Row { name, waits: w } in rows {
        let _ = writeln!(
            out,
            "  {name:<21} |{:>11} ms |{:>9} | avg:{:>8} ms | max:{:>8} ms | max start: {:>12} s | max end: {:>12} s",
            millis(w.runtime),
            w.count,
            millis(w.mean()),
            millis(w.max),
            micros(w.max_start),
            micros(w.max_end)
        );
    }
    let Waits { runtime, count, .. } = total(rows);
    let _ = writeln!(out, "{}  TOTAL:                |{:>11} ms |{count:>9} |", rule(113), millis(runtime));
    out + &rule(51) + "\n"
}

/// A time as text in ms, rounded to us.
fn millis(ns: u64) -> String {
    format!("{:.3}", ns as f64 / 1e6)
}

/// A time as text in s, truncated to us.
fn micros(ns: u64) -> String {
    format!("{}.{:06}", ns / 1_000_000_000, ns % 1_000_000_000 / 1_000)
}

fn row_json(row: &Row) -> Value {
    let w = &row.waits;
    json!({
        "name": row.name,
        "runtime_ns": w.runtime,
        "count": w.count,
        "delay_avg_ns": w.mean(),
        "delay_max_ns": w.max,
        "delay_max_start_ns": w.max_start,
        "delay_max_end_ns": w.max_end,
    })
}
