//! `fairground kernel free-run`: a built kernel and our own scheduler, each on its own.

use std::fmt::Write;

use clap::Args;
use fairground_fair::rule_title;
use fairground_lab::conformance::free_running::{self, Agreement, Divergence};
use fairground_linux::build::Kernels;
use fairground_linux::conformance::preset_of;
use fairground_run::run_config::RunConfig;
use serde_json::{json, Value};

use super::feature::ListFormat;
use crate::error::{run_failed, End, Failure};
use crate::output::{complain, print};
use crate::progress::Steps;
use crate::run_options::{warned, Jobs};
use crate::workers::WorkerOptions;

/// Name and version of the schema.
const SCHEMA: &str = "fairground-free-2";

/// Where placement matters and balancing does not: fewer runnable tasks than CPUs.
const MACHINES: [&str; 2] = ["hikey960", "epyc-7742-2p"];
const WORKLOADS: [&str; 3] =
    ["sched-pipe:loops=5000,threads", "sched-pipe:loops=5000", "periodic:tasks=6,duty=15,duration=2"];

/// Runs a built kernel and our own scheduler apart with the same seeds, and compares shares of rules, migrations and latency.
#[derive(Args)]
pub struct FreeRun {
    /// A built kernel, as in linux:NAME
    name: String,
    /// Machine, preset or file; repeatable [default: two on which balancing does not matter]
    #[arg(long, value_name = "MACHINE")]
    machine: Vec<String>,
    /// Workload, a built-in with options or an rt-app file; repeatable [default: three with fewer runnable tasks than CPUs]
    #[arg(long, value_name = "WORKLOAD")]
    workload: Vec<String>,
    /// Our scheduler [default: the preset that stands for the tree's release]
    #[arg(long, value_name = "fair:SPEC")]
    preset: Option<String>,
    /// Runs of each: seeds 1 to N
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    seeds: u64,
    /// How to print the result
    #[arg(long, value_enum, default_value_t)]
    format: ListFormat,
    #[command(flatten)]
    jobs: Jobs,
    #[command(flatten)]
    workers: WorkerOptions,
}

/// One machine with one workload.
struct Row {
    machine: String,
    workload: String,
    agreement: Agreement,
}

impl FreeRun {
    pub fn run(self) -> Result<End, Failure> {
        let kernel = Kernels::user()?.find(self.name.strip_prefix("linux:").unwrap_or(&self.name))?;
        kernel.stale().into_iter().for_each(|stale| complain(&format!("warning: {stale}")));
        let ours = match &self.preset {
            Some(preset) => preset.clone(),
            None => preset_of(&kernel.record)?.to_string(),
        };
        let scheds = [format!("linux:{}", kernel.name), ours];
        let seeds: Vec<u64> = (1..=self.seeds).collect();
        let steps = Steps::new();
        let mut rows = Vec::new();
        for machine in or_default(&self.machine, &MACHINES) {
            for workload in or_default(&self.workload, &WORKLOADS) {
                steps.tell(&format!("{machine}, {workload}"));
                let mut experiment = warned(RunConfig::default().find(&machine, &workload, &scheds)?);
                experiment.config.hz = kernel.record.hz;
                experiment.workers = self.workers.workers();
                let failed = |why: String| run_failed(format!("{machine}, {workload}: {why}"));
                let agreement = free_running::agree(&experiment, &seeds, self.jobs.count())?.map_err(failed)?;
                rows.push(Row { machine: machine.clone(), workload, agreement });
            }
        }
        drop(steps);
        print(&match self.format {
            ListFormat::Text => rows.iter().map(|row| text(row, &scheds)).collect::<Vec<_>>().join("\n"),
            ListFormat::Json => format!("{:#}\n", document(&rows, &scheds)),
        })?;
        Ok(End::Done)
    }
}

fn or_default(given: &[String], default: &[&str]) -> Vec<String> {
    match given {
        [] => default.iter().map(|name| name.to_string()).collect(),
        given => given.to_vec(),
    }
}

fn text(row: &Row, scheds: &[String; 2]) -> String {
    let Agreement { runs, wakeups, shares, figures, balanced_per_s, divergence } = &row.agreement;
    let mut out = format!("{}, {}, {runs} runs of each\n", row.machine, row.workload);
    let rules: Vec<String> = shares.iter().map(|share| format!("{}, %", rule_title(&share.rule))).collect();
    let width = rules.iter().map(String::len).fold(24, usize::max);
    let _ = writeln!(out, "  {:width$} {:>16} {:>16}", "", scheds[0], "ours");
    let _ = writeln!(out, "  {:width$} {:>16} {:>16}", "wakeups", wakeups[0], wakeups[1]);
    for (rule, share) in rules.iter().zip(shares) {
        let points = share.ours_pct - share.kernel_pct;
        let verdict = if share.met { "" } else { "  OUTSIDE" };
        let (kernel, ours) = (share.kernel_pct, share.ours_pct);
        let _ = writeln!(out, "  {rule:width$} {kernel:16.2} {ours:16.2} {points:+8.2}{verdict}");
    }
    for figure in figures {
        let change = figure.change_pct.map_or(String::new(), |pct| format!("{pct:+8.2} %"));
        let verdict = if figure.met == Some(false) { "  OUTSIDE" } else { "" };
        let _ = writeln!(out, "  {:width$} {:16.3} {:16.3} {change}{verdict}", figure.name, figure.kernel, figure.ours);
    }
    let [kernel, ours] = balanced_per_s;
    let _ = writeln!(out, "  {:width$} {kernel:16.3} {ours:16.3}", "of them by balancing");
    out + &parting(divergence.as_ref())
}

/// Where the runs first differ.
fn parting(divergence: Option<&Divergence>) -> String {
    let Some(Divergence { after, late, kernel, ours }) = divergence else {
        return "  the runs of seed 1 place alike from begin to end\n".into();
    };
    let ended = || "its run has ended".to_string();
    let mut out = format!("  the runs of seed 1 differ in placement after {after} placements");
    if let Some(late) = late {
        let _ = write!(out, ", and differ in time after {late}");
    }
    let _ = writeln!(out, "\n    kernel  {}", kernel.clone().unwrap_or_else(ended));
    let _ = writeln!(out, "    ours    {}", ours.clone().unwrap_or_else(ended));
    out
}

fn document(rows: &[Row], scheds: &[String; 2]) -> Value {
    let row = |row: &Row| {
        let Row { machine, workload, agreement } = row;
        json!({ "machine": machine, "workload": workload, "met": agreement.met(), "agreement": agreement })
    };
    let rows: Vec<Value> = rows.iter().map(row).collect();
    json!({ "schema": SCHEMA, "kernel": scheds[0], "ours": scheds[1], "rows": rows })
}
