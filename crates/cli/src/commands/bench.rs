//! `fairground bench`.

use std::fmt::Write;
use std::process::{Command, Stdio};

use clap::Args;
use fairground_lab::bench::{measure, BenchError, BenchRow, ROWS, SCHED, SCHEMA};
use fairground_lab::spec::SchedSpec;
use fairground_lab::tables::number;
use serde_json::json;

use super::run::RunFormat;
use crate::error::{run_failed, End, Failure};
use crate::output::print;
use crate::workers::WorkerOptions;

/// Measures our own speed; each row in a process of its own, so that its memory is its own.
#[derive(Args)]
pub struct Bench {
    /// How to print the rows
    #[arg(long, value_enum, default_value_t)]
    format: RunFormat,
    /// Host time per row, s
    #[arg(long, value_name = "S", default_value = "5", value_parser = parse_seconds)]
    seconds: f64,
    /// Scheduler to measure
    #[arg(long, value_name = "SCHED", default_value = SCHED)]
    sched: String,
    #[command(flatten)]
    workers: WorkerOptions,
    /// Measure this row in this process and print it as JSON
    #[arg(long, hide = true)]
    row: Option<String>,
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(s) if (0.01..=3600.0).contains(&s) => Ok(s),
        _ => Err("expected 0.01 to 3600".into()),
    }
}

impl Bench {
    pub fn run(self) -> Result<End, Failure> {
        if let Some(row) = &self.row {
            let sched: SchedSpec = self.sched.parse()?;
            let row = measure(row, &sched, &self.workers.workers(), self.seconds).map_err(|e| match e {
                BenchError::Run { .. } => run_failed(e),
                BenchError::UnknownRow(_) => e.into(),
            })?;
            print(&format!("{}\n", json!(row)))?;
            return Ok(End::Done);
        }
        self.sched.parse::<SchedSpec>()?;
        let rows = ROWS.iter().map(|r| self.in_child(r.name)).collect::<Result<Vec<_>, _>>()?;
        print(&match self.format {
            RunFormat::Text => table(&self.sched, &rows),
            RunFormat::Json => format!("{:#}\n", json!({ "schema": SCHEMA, "sched": self.sched, "rows": rows })),
        })?;
        Ok(End::Done)
    }

    fn in_child(&self, row: &str) -> Result<BenchRow, Failure> {
        let failed = |problem: String| run_failed(format!("bench row {row}: {problem}"));
        let program = std::env::current_exe().map_err(|e| failed(format!("cannot find myself: {e}")))?;
        let child = Command::new(program)
            .args(["bench", "--row", row, "--seconds", &self.seconds.to_string(), "--sched", &self.sched])
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

fn table(sched: &str, rows: &[BenchRow]) -> String {
    let mut out = format!(
        "{:<6} {:>16} {:>17} {:>15} {:>8}\n",
        "row", "sim_s_per_wall_s", "core_events_per_s", "ns_per_decision", "rss_mib"
    );
    for row in rows {
        let rss = row.rss_mib.map_or("-".into(), number);
        let _ = writeln!(
            out,
            "{:<6} {:>16} {:>17.0} {:>15.0} {rss:>8}",
            row.name,
            number(row.sim_s_per_wall_s),
            row.core_events_per_s,
            row.ns_per_decision
        );
    }
    let _ = write!(
        out,
        "\nperiodic tasks of 15 % each, five per CPU, under {sched}: W8 on 8 equal CPUs, W128 on 128, W224 on 224; no trace, checkers on;\n\
         W8-why as W8 with the reasons of every placement asked for\n\
         core_events_per_s  engine events per second of host time\n\
         ns_per_decision    host time in the scheduler per wakeup or fork, from a second run\n\
         rss_mib            peak resident memory of the row's own process\n"
    );
    out
}
