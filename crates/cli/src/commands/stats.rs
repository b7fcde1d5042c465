//! `fairground stats`.

mod frequency;
mod migrations;
mod residency;

use std::fmt::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fairground_trace::latency::{total, By, Latency, Row, Waits};
use miette::Diagnostic;
use serde_json::{json, Value};
use thiserror::Error;

use super::run::RunFormat;
use crate::error::{End, Failure};
use crate::input::{open_trace, trace_notes};
use crate::output::print;

/// Name and version of the schema.
const SCHEMA: &str = "fairground-stats-1";

/// Prints statistics of a trace.
#[derive(Args)]
pub struct Stats {
    /// Trace: ours, or what trace-cmd report, perf script or the kernel print
    file: PathBuf,
    /// Which statistics
    #[arg(value_enum, default_value_t)]
    kind: Kind,
    /// What a row stands for [default: comm; of residency: all CPUs; of frequency: CPUs whose clocks were alike]
    #[arg(long, value_enum)]
    by: Option<ByName>,
    /// Of residency: the machine of the trace, preset or file, which says after how long each state pays
    #[arg(long)]
    machine: Option<String>,
    /// How to print the rows
    #[arg(long, value_enum, default_value_t)]
    format: RunFormat,
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
    #[error("--machine is for residency")]
    #[diagnostic(help("leave --machine out, or ask for residency"))]
    MachineOfOthers,
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
        let text = match self.kind {
            Kind::Latency => self.latency()?,
            Kind::Residency => residency::residency(&self)?,
            Kind::Frequency => self.frequency()?,
            Kind::Migrations => self.migrations()?,
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
        if self.machine.is_some() {
            return Err(Mismatch::MachineOfOthers.into());
        }
        migrations::migrations(&self.file, self.format)
    }

    fn latency(&self) -> Result<String, Failure> {
        if self.machine.is_some() {
            return Err(Mismatch::MachineOfOthers.into());
        }
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
            RunFormat::Text => table(title, &rows),
            RunFormat::Json => {
                let rows: Vec<Value> = rows.iter().map(row_json).collect();
                let file = self.file.display().to_string();
                let document =
                    json!({ "schema": SCHEMA, "kind": "latency", "file": file, "rows": rows, "notes": notes });
                format!("{document:#}\n")
            }
        })
    }
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
