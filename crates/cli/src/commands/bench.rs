//! `fairground bench`.

use std::fmt::Write;
use std::process::{Command, Stdio};

use clap::{Args, ValueEnum};
use fairground_lab::bench::scale::{self, ScaleCell};
use fairground_lab::bench::{measure, plot, run_once, BenchError, BenchRow, ROWS, SCHED, SCHEMA};
use fairground_lab::tables::number;
use fairground_run::sched_spec::SchedSpec;
use miette::Report;
use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::{json, Value};

use super::stats::rows_as_csv;
use crate::error::{run_failed, End, Failure};
use crate::output::print;
use crate::workers::WorkerOptions;

/// What `bench` measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum What {
    /// Fixed runs
    #[default]
    Rows,
    /// How cost grows with CPUs and tasks
    Scale,
}

/// Layouts of the results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum BenchFormat {
    /// For people
    #[default]
    Text,
    /// The documented schema
    Json,
    /// The rows alone
    Csv,
    /// A plot; for `scale` only
    Svg,
}

/// Measures our own speed; each row in a process of its own, so that its memory is its own.
#[derive(Args)]
pub struct Bench {
    /// What to measure
    #[arg(value_enum, default_value_t)]
    what: What,
    /// How to print the rows
    #[arg(long, value_enum, default_value_t)]
    format: BenchFormat,
    /// Host time per row, s
    #[arg(long, value_name = "S", default_value = "5", value_parser = parse_seconds)]
    seconds: f64,
    /// Scheduler to measure
    #[arg(long, value_name = "SCHED", default_value = SCHED)]
    sched: String,
    #[command(flatten)]
    workers: WorkerOptions,
    /// Measure this row, or this cell of the grid, in this process and print it as JSON
    #[arg(long, hide = true)]
    row: Option<String>,
    /// Run the row once for this virtual time, s, and print what it did as JSON
    #[arg(long, hide = true, requires = "row", value_name = "S", value_parser = parse_seconds)]
    virtual_seconds: Option<f64>,
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(s) if (0.01..=3600.0).contains(&s) => Ok(s),
        _ => Err("expected 0.01 to 3600".into()),
    }
}

impl Bench {
    pub fn run(self) -> Result<End, Failure> {
        let sched: SchedSpec = self.sched.parse()?;
        if let Some(row) = &self.row {
            print(&format!("{}\n", self.here(row, &sched)?))?;
            return Ok(End::Done);
        }
        print(&match self.what {
            What::Rows => self.rows()?,
            What::Scale => self.scale()?,
        })?;
        Ok(End::Done)
    }

    /// One row or cell, in this process.
    fn here(&self, row: &str, sched: &SchedSpec) -> Result<String, Failure> {
        let workers = self.workers.workers();
        let measured = match (self.what, self.virtual_seconds) {
            (What::Rows, Some(sim_s)) => run_once(row, sched, &workers, sim_s).map(|run| json!(run)),
            (What::Rows, None) => measure(row, sched, &workers, self.seconds).map(|row| json!(row)),
            (What::Scale, _) => scale::measure(row, sched, &workers, self.seconds).map(|cell| json!(cell)),
        };
        match measured {
            Ok(measured) => Ok(measured.to_string()),
            Err(e @ BenchError::Run { .. }) => Err(run_failed(e)),
            Err(e) => Err(e.into()),
        }
    }

    fn rows(&self) -> Result<String, Failure> {
        if self.format == BenchFormat::Svg {
            return Err(Failure::Input(Report::msg("rows have no plot: --format svg is for `bench scale`")));
        }
        let rows = ROWS.iter().map(|r| self.in_child(r.name)).collect::<Result<Vec<BenchRow>, _>>()?;
        Ok(match self.format {
            BenchFormat::Json => format!("{:#}\n", json!({ "schema": SCHEMA, "sched": self.sched, "rows": rows })),
            BenchFormat::Csv => rows_as_csv(&values(&rows)),
            BenchFormat::Text | BenchFormat::Svg => table(&self.sched, &rows),
        })
    }

    fn scale(&self) -> Result<String, Failure> {
        let cells = scale::cells().map(|(cpus, tasks)| self.in_child(&format!("{cpus}:{tasks}")));
        let cells = cells.collect::<Result<Vec<ScaleCell>, _>>()?;
        Ok(match self.format {
            BenchFormat::Json => {
                format!("{:#}\n", json!({ "schema": scale::SCHEMA, "sched": self.sched, "cells": cells }))
            }
            BenchFormat::Csv => rows_as_csv(&values(&cells)),
            BenchFormat::Svg => plot::svg(&cells, &self.sched),
            BenchFormat::Text => grid(&self.sched, &cells),
        })
    }

    fn in_child<T: DeserializeOwned>(&self, row: &str) -> Result<T, Failure> {
        let failed = |problem: String| run_failed(format!("bench row {row}: {problem}"));
        let what = self.what.to_possible_value();
        let what = what.as_ref().map_or("rows", |value| value.get_name());
        // This program, even if another build has taken its place since it was started.
        let child = Command::new("/proc/self/exe")
            .args(["bench", what, "--row", row, "--seconds", &self.seconds.to_string(), "--sched", &self.sched])
            .args(self.workers.arguments())
            .stderr(Stdio::inherit())
            .output()
            .map_err(|e| failed(format!("cannot start: {e}")))?;
        if !child.status.success() {
            return Err(failed(format!("its process ended with {}", child.status)));
        }
        serde_json::from_slice(&child.stdout).map_err(|e| failed(format!("unreadable result: {e}")))
    }
}

/// The members of each row, as they are in JSON.
fn values<T: Serialize>(rows: &[T]) -> Vec<Value> {
    rows.iter().map(|row| json!(row)).collect()
}

/// A figure, or `-` for `None`.
fn or_dash(figure: Option<f64>) -> String {
    figure.map_or("-".into(), number)
}

fn table(sched: &str, rows: &[BenchRow]) -> String {
    let mut out = format!(
        "{:<7} {:>16} {:>15} {:>17} {:>15} {:>14} {:>11} {:>8}\n",
        "row",
        "sim_s_per_wall_s",
        "sim_s_per_cpu_s",
        "core_events_per_s",
        "ns_per_decision",
        "fork_median_ns",
        "fork_p99_ns",
        "rss_mib"
    );
    for row in rows {
        let _ = writeln!(
            out,
            "{:<7} {:>16} {:>15} {:>17.0} {:>15.0} {:>14} {:>11} {:>8}",
            row.name,
            number(row.sim_s_per_wall_s),
            number(row.sim_s_per_cpu_s),
            row.core_events_per_s,
            row.ns_per_decision,
            or_dash(row.fork_median_ns),
            or_dash(row.fork_p99_ns),
            or_dash(row.rss_mib),
        );
    }
    let _ = write!(
        out,
        "\nperiodic tasks of 15 % each, five per CPU, under {sched}: W8 on 8 equal CPUs, W128 on 128, W224 on 224; no trace, checkers on;\n\
         W8-why as W8 with the reasons of every placement asked for; W8-eas: 40 tasks of 3 % on rb5,\n\
         energy-aware; W1024: 10,000 tasks of 7.5 % on synthetic-1024; F224: hackbench with 256 groups on thunderx2-224,\n\
         10,240 forks\n\
         sim_s_per_cpu_s    by the time the row had a CPU: on a busy host this is the one to compare\n\
         core_events_per_s  engine events per second of host time\n\
         ns_per_decision    host time in the scheduler per wakeup or fork, from a second run\n\
         fork_*_ns          of forks alone\n\
         rss_mib            peak resident memory of the row's own process\n"
    );
    out
}

fn grid(sched: &str, cells: &[ScaleCell]) -> String {
    let mut out = format!(
        "{:>5} {:>7} {:>12} {:>16} {:>10} {:>10} {:>11} {:>10} {:>10} {:>8}\n",
        "cpus",
        "tasks",
        "start_cpu_s",
        "cpu_s_per_sim_s",
        "events",
        "wakeups",
        "group_cpus",
        "probes",
        "balances",
        "rss_mib"
    );
    for c in cells {
        let _ = writeln!(
            out,
            "{:>5} {:>7} {:>12} {:>16} {:>10.0} {:>10.0} {:>11.0} {:>10.0} {:>10.0} {:>8}",
            c.cpus,
            c.tasks,
            number(c.start_cpu_s),
            number(c.cpu_s_per_sim_s),
            c.events,
            c.wakeups,
            c.group_cpus,
            c.probes,
            c.balances,
            or_dash(c.rss_mib),
        );
    }
    let _ = write!(
        out,
        "\nperiodic tasks on the first CPUs of synthetic-1024 under {sched}: 15 % each; beyond five per CPU longer periods at 75 % load\n\
         start_cpu_s   s of a host CPU until all are born and 0.1 s has passed; all others are per simulated second after that\n\
         group_cpus    CPUs looked at to sum up groups (balance passes); probes: CPUs looked at by wakeups\n\
         balances      walks over a CPU's domains in a softirq\n"
    );
    out
}
