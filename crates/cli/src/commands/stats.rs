//! `fairground stats`.

mod energy;
mod frequency;
mod migrations;
mod residency;
mod uclamp;

use std::fmt::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fairground_trace::latency::{total, By, Latency, Row, Waits};
use miette::Diagnostic;
use serde_json::{json, Map, Value};
use thiserror::Error;

use self::uclamp::UclampOptions;
use crate::error::{End, Failure};
use crate::input::{open_trace, trace_notes, trace_path};
use crate::output::print;

/// Name and version of the schema.
const SCHEMA: &str = "fairground-stats-1";

/// Prints statistics of a trace.
#[derive(Args)]
pub struct Stats {
    /// Trace: ours, a trace.dat, or what trace-cmd report, perf script or the kernel print; - is standard input
    #[arg(value_parser = trace_path())]
    file: PathBuf,
    /// Which statistics
    #[arg(value_enum, default_value_t)]
    kind: Kind,
    /// What a row stands for [default: comm; of residency: all CPUs; of frequency: CPUs whose clocks were alike; of
    /// uclamp: cpu]
    #[arg(long, value_enum)]
    by: Option<ByName>,
    /// Of residency: the machine of the trace, preset or file, which says after how long each state pays
    #[arg(long)]
    machine: Option<String>,
    /// Of energy: length of a window, ms [default: from each reading of the meters to the next]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    every: Option<u64>,
    #[command(flatten)]
    uclamp: UclampOptions,
    /// How to print the rows
    #[arg(long, value_enum, default_value_t)]
    format: StatsFormat,
}

/// Layouts of statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum StatsFormat {
    /// For people
    #[default]
    Text,
    /// The documented schema
    Json,
    /// Its rows, comma-separated
    Csv,
}

/// As typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// How long tasks wait for a CPU, as perf sched latency prints it
    #[default]
    Latency,
    /// How long CPUs stay in idle states, by cpu_idle
    Residency,
    /// How long clocks run how fast, by cpu_frequency
    Frequency,
    /// How often tasks change their CPU, by cause and distance
    Migrations,
    /// What each rail takes over time and in all, of a run with --energy-every
    Energy,
    /// Utilization clamps of run queues or of tasks, as pandas describes them
    Uclamp,
}

/// Options that do not go together.
#[derive(Debug, Error, Diagnostic)]
enum Mismatch {
    #[error("sleeps have rows by state, or by CPU and state: not by task")]
    #[diagnostic(help("leave --by out, or say --by cpu"))]
    ResidencyByTask,
    #[error("frequencies have rows by clock or by CPU: not by task")]
    #[diagnostic(help("leave --by out, or say --by cpu"))]
    FrequencyByTask,
    #[error("--by is for latency, residency and frequency: migrations have rows by cause")]
    #[diagnostic(help("leave --by out"))]
    MigrationsBy,
    #[error("--by is for latency, residency and frequency: energy has rows by window and rail")]
    #[diagnostic(help("leave --by out"))]
    EnergyBy,
    #[error("--every is for energy")]
    #[diagnostic(help("leave --every out, or ask for energy"))]
    EveryOfOthers,
    #[error("--machine is for residency")]
    #[diagnostic(help("leave --machine out, or ask for residency"))]
    MachineOfOthers,
    #[error("--max, --nonzero and --task are for uclamp")]
    #[diagnostic(help("leave them out, or ask for uclamp"))]
    UclampOfOthers,
    #[error("--task is for clamps of tasks: --by cpu has those of run queues")]
    #[diagnostic(help("leave one of them out"))]
    TaskByCpu,
}

/// As typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ByName {
    /// All threads of a name
    Comm,
    /// Each thread
    Pid,
    /// Each CPU
    Cpu,
}

impl Stats {
    pub fn run(self) -> Result<End, Failure> {
        if self.kind != Kind::Uclamp && !self.uclamp.are_default() {
            return Err(Mismatch::UclampOfOthers.into());
        }
        if self.kind != Kind::Residency && self.machine.is_some() {
            return Err(Mismatch::MachineOfOthers.into());
        }
        if self.kind != Kind::Energy && self.every.is_some() {
            return Err(Mismatch::EveryOfOthers.into());
        }
        let text = match self.kind {
            Kind::Latency => self.latency()?,
            Kind::Residency => residency::residency(&self)?,
            Kind::Frequency => self.frequency()?,
            Kind::Migrations => self.migrations()?,
            Kind::Energy => self.energy()?,
            Kind::Uclamp => uclamp::uclamp(&self)?,
        };
        print(&text)?;
        Ok(End::Done)
    }

    fn frequency(&self) -> Result<String, Failure> {
        if self.machine.is_some() {
            return Err(Mismatch::MachineOfOthers.into());
        }
        frequency::frequency(self)
    }

    fn migrations(&self) -> Result<String, Failure> {
        if self.by.is_some() {
            return Err(Mismatch::MigrationsBy.into());
        }
        migrations::migrations(self)
    }

    fn energy(&self) -> Result<String, Failure> {
        if self.by.is_some() {
            return Err(Mismatch::EnergyBy.into());
        }
        energy::energy(self)
    }

    fn latency(&self) -> Result<String, Failure> {
        let mut trace = open_trace(&self.file)?;
        let latency = Latency::read(&mut trace)?;
        let (by, title) = match self.by {
            None | Some(ByName::Comm) => (By::Comm, "Task"),
            Some(ByName::Pid) => (By::Pid, "Task"),
            Some(ByName::Cpu) => (By::Cpu, "CPU"),
        };
        let rows = latency.rows(by);
        let mut notes = [trace.notes(), latency.notes()].concat();
        if rows.is_empty() {
            let file = self.file.display();
            notes.push(format!("{file}: no task is seen to wait; sched_switch and sched_wakeup say when one does"));
        }
        trace_notes(&notes);
        Ok(match self.format {
            StatsFormat::Text => table(title, &rows),
            other => document(self, other, "latency", rows.iter().map(row_json).collect(), &notes),
        })
    }
}

/// Rows in a form for programs.
fn document(asked: &Stats, format: StatsFormat, kind: &str, rows: Vec<Value>, notes: &[String]) -> String {
    if format == StatsFormat::Csv {
        return comma_separated(&rows);
    }
    let file = asked.file.display().to_string();
    format!("{:#}\n", json!({ "schema": SCHEMA, "kind": kind, "file": file, "rows": rows, "notes": notes }))
}

/// One line a row under the names of its members; an empty field is what is not known.
pub(super) fn comma_separated(rows: &[Value]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let flat: Vec<Map<String, Value>> = rows.iter().map(flatten).collect();
    let text = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let written = flat
        .first()
        .map_or(Ok(()), |first| writer.write_record(first.keys()))
        .and_then(|()| flat.iter().try_for_each(|row| writer.write_record(row.values().map(text))));
    // Records of equal length written to memory: there is nothing that could fail.
    debug_assert!(written.is_ok());
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Members of members stand beside their like as `OUTER.INNER`.
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

/// Column by column what `perf sched latency` prints.
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

/// ms, rounded to us.
fn millis(ns: u64) -> String {
    format!("{:.3}", ns as f64 / 1e6)
}

/// s, cut to us.
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
