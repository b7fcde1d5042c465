//! `fairground run`.

pub(super) mod dat;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use fairground_lab::doubt::note_on_draw_law;
use fairground_lab::provenance::Provenance;
use fairground_lab::tables::number;
use fairground_machine::MachineSpec;
use fairground_run::batch::RunReport;
use fairground_run::experiment::{
    run_facts, Attendance, Experiment, Logs, Outputs, Ran, RunError, SharedTime, Trace, TraceFormat, TraceHead,
};
use fairground_run::metrics::Selection;
use fairground_run::run_config;
use fairground_workload::rtapp::LogPlan;
use fairground_workload::Workload;
use miette::Diagnostic;
use serde_json::json;
use thiserror::Error;

use crate::error::{run_failed, End, Failure};
use crate::input::refuse_misplaced;
use crate::logs::{self, LogDirectory};
use crate::output::{complain, print, print_beside, OutputFile};
use crate::progress::Spinner;
use crate::provenance::made_by;
use crate::run_options::RunOptions;
use crate::workers::WorkerOptions;

/// Name and version of the schema.
const SCHEMA: &str = "fairground-run-1";

/// Only our own scheduler reports its load tracking.
#[derive(Debug, Error, Diagnostic)]
#[error("{sched} does not report load-tracking signals")]
#[diagnostic(help("--util-events is for runs of fair:VERSION"))]
struct NoSignals {
    sched: String,
}

/// A machine or a workload would be replaced.
#[derive(Debug, Error, Diagnostic)]
#[error("--trace {0}: this is no file of a trace, and would be replaced")]
#[diagnostic(help("files of machines end in .toml, of workloads in .json, of traces in .txt, .dat or .pftrace"))]
struct NoTraceFile(String);

/// Runs one scheduler once; prints its figures and the hash of its events.
#[derive(Args)]
pub struct Run {
    /// Preset or file; with CPUs to which the workload is bound behind it as numactl takes them: @node0, @node0-1, @0-3,8
    machine: String,
    /// Built-in with options (sched-pipe:loops=50000,threads) or an rt-app file
    workload: String,
    /// Scheduler, e.g. fair:v5.9+asym-prev-first
    #[arg(long, value_name = "SCHED")]
    sched: String,
    /// Seed of all random draws
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true, value_parser = parse_seed)]
    seed: u64,
    /// Write the events to this file, up to the failure if the run fails; - is standard output, and figures then go to
    /// standard error
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// How to write them [default: by the ending of FILE: dat for .dat, perfetto for .perfetto-trace and .pftrace, else text]
    #[arg(long, value_enum, requires = "trace")]
    trace_format: Option<TraceFormatName>,
    /// Also write the reasons of every placement, for `fairground explain`
    #[arg(long, requires = "trace")]
    why: bool,
    /// Also write each rail's energy since the start, every MS ms and at the end, for `fairground stats energy`
    #[arg(long, value_name = "MS", requires = "trace", value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    energy_every: Option<u64>,
    /// Also write the load, runnable and util signals of tasks and CPUs, whenever a signal enters a new period
    #[arg(long, requires = "trace")]
    util_events: bool,
    /// Also write what the threads of an rt-app file would write to trace_marker: rtapp_task, rtapp_loop, rtapp_stats
    #[arg(long, requires = "trace")]
    rtapp_marks: bool,
    /// Write the log of each thread into this directory, as rt-app does
    #[arg(long, value_name = "DIR")]
    rtapp_logs: Option<PathBuf>,
    /// Which figures: usual, all, or names with commas between
    #[arg(long, value_name = "LIST", default_value_t = Selection::Usual)]
    metrics: Selection,
    /// How to print the figures
    #[arg(long, value_enum, default_value_t)]
    format: RunFormat,
    /// Run twice, and fail if the events differ
    #[arg(long)]
    check_determinism: bool,
    #[command(flatten)]
    options: RunOptions,
    #[command(flatten)]
    workers: WorkerOptions,
}

/// Any number of 64 bits without sign.
pub fn parse_seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected 0 to {}", u64::MAX))
}

/// Layouts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum RunFormat {
    /// For people
    #[default]
    Text,
    /// The documented schema
    Json,
}

/// Values of `--trace-format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum TraceFormatName {
    /// Raw ftrace text
    Text,
    /// trace-cmd's trace.dat
    Dat,
    /// Perfetto's protobuf
    Perfetto,
}

impl TraceFormatName {
    pub(super) fn by_ending(path: &Path) -> TraceFormatName {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("dat") => TraceFormatName::Dat,
            Some("perfetto-trace" | "pftrace") => TraceFormatName::Perfetto,
            _ => TraceFormatName::Text,
        }
    }

    /// The format that the run writes. A trace.dat is made from text after the run.
    fn written(self) -> TraceFormat {
        match self {
            TraceFormatName::Text | TraceFormatName::Dat => TraceFormat::Text,
            TraceFormatName::Perfetto => TraceFormat::Perfetto,
        }
    }
}

impl Run {
    pub fn run(mut self) -> Result<End, Failure> {
        refuse_misplaced("run", &self.machine, &self.workload)?;
        let mut experiment =
            self.options.experiment(&self.machine, &self.workload, std::slice::from_ref(&self.sched))?;
        // With its preset, where that was left to us.
        self.sched = experiment.scheds[0].to_string();
        experiment.workers = self.workers.workers();
        experiment.config.energy_every_ns = self.energy_every.map(|ms| ms * 1_000_000);
        experiment.config.signals = self.util_events;
        if self.util_events && experiment.scheds[0].features().is_none() {
            return Err(NoSignals { sched: self.sched }.into());
        }
        let selected = experiment.selected(&self.metrics)?;
        let trace = self.trace.take();
        let directory =
            self.rtapp_logs.take().map(|dir| LogDirectory::open(&dir, &self.workload, &experiment)).transpose()?;
        let logs = directory.as_ref().map(LogDirectory::logs).transpose()?;
        let mut report = match &trace {
            Some(path) => self.traced(&experiment, path, logs)?,
            None => plain(&experiment, self.seed, logs)?,
        };
        if let Some(directory) = directory {
            directory.finish()?;
        }
        if self.check_determinism {
            let again = plain(&experiment, self.seed, None)?;
            if again.hash != report.hash {
                let hashes = format!("{:032x} and {:032x}", report.hash, again.hash);
                return Err(run_failed(format!("not deterministic: the same run gave event streams {hashes}")));
            }
        }
        report.metrics.retain(|r| selected.has(&r.metric.name));
        report.notes.extend(run_config::notes(&experiment.config));
        if experiment.config.draw != 0 {
            let (stated, _) = MachineSpec::parse(&self.machine).find()?;
            report.notes.push(note_on_draw_law(&stated.draw_law()?, experiment.config.draw));
        }
        let provenance = Provenance::new(made_by(), [(&experiment, 0)]);
        let figures = match self.format {
            RunFormat::Text => self.text(&report, &provenance),
            RunFormat::Json => self.json(&report, &provenance),
        };
        match &trace {
            Some(path) => print_beside(path, &figures)?,
            None => print(&figures)?,
        }
        Ok(End::Done)
    }

    fn text(&self, report: &RunReport, provenance: &Provenance) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "machine   {}", self.machine);
        let _ = writeln!(out, "workload  {}", self.workload);
        let _ = writeln!(out, "sched     {}", self.sched);
        let _ = writeln!(out, "seed      {}\n", self.seed);
        let width = report.metrics.iter().map(|r| r.metric.name.len()).max().unwrap_or(0);
        for reading in &report.metrics {
            let metric = &reading.metric;
            let (value, unit) = (number(reading.value), &metric.unit);
            let _ = writeln!(out, "{:width$}  {value:>12} {unit:6} {}", metric.name, metric.meaning);
        }
        let _ = writeln!(out, "\nhash  {:032x}  of the event stream", report.hash);
        for note in &report.notes {
            let _ = writeln!(out, "note: {note}");
        }
        provenance.text(&mut out, "");
        out
    }

    fn json(&self, report: &RunReport, provenance: &Provenance) -> String {
        let metrics: Vec<_> = report
            .metrics
            .iter()
            .map(|r| {
                let m = &r.metric;
                json!({ "name": m.name, "unit": m.unit, "better": m.better.word(), "value": r.value })
            })
            .collect();
        let document = json!({
            "schema": SCHEMA,
            "machine": self.machine,
            "workload": self.workload,
            "sched": self.sched,
            "seed": self.seed,
            "metrics": metrics,
            "hash": format!("{:032x}", report.hash),
            "notes": report.notes,
            "provenance": provenance.json(0),
        });
        format!("{document:#}\n")
    }

    /// Runs and writes the trace. The trace appears if the run completes or fails on the way, and does not appear if
    /// the run is refused or interrupted.
    fn traced(&self, experiment: &Experiment, path: &Path, logs: Option<Logs>) -> Result<RunReport, Failure> {
        let inputs = [MachineSpec::parse(&self.machine).file(), Workload::file(&self.workload)];
        let is_no_trace = path.is_file() && path.extension().is_some_and(|ending| ending == "toml" || ending == "json");
        let mut output = OutputFile::beside(path, &inputs)?;
        if is_no_trace {
            return Err(NoTraceFile(path.display().to_string()).into());
        }
        let format = self.trace_format.unwrap_or_else(|| TraceFormatName::by_ending(path));
        let text = match format {
            TraceFormatName::Dat => Some(output.scratch()?),
            TraceFormatName::Text | TraceFormatName::Perfetto => None,
        };
        let file = text.as_ref().map_or_else(|| output.descriptor(), dat::copy)?;
        let marks = if self.rtapp_marks { Some(logs::plan(&self.workload, experiment)?) } else { None };
        let trace = Trace { head: self.head(experiment, format.written(), marks), file };
        let Ran { outcome, trace } = carry_out(experiment, self.seed, Outputs { trace: Some(trace), logs });
        if let Err(refused @ (RunError::Fair(_) | RunError::Refused(_))) = outcome {
            return Err(failure(refused));
        }
        let cannot_write = |e| run_failed(format!("cannot write {}: {e}", path.display()));
        let mut kept = trace.map_err(cannot_write);
        if let (Ok(()), Some(text)) = (&kept, text) {
            kept = dat::make(text, experiment.machine.nr_cpus(), &mut output);
        }
        let kept = kept.and_then(|()| output.finish());
        match outcome {
            Ok(report) => kept.map(|()| report),
            Err(error) => {
                complain(&match kept {
                    Ok(()) => format!("note: the trace {} ends where the run failed", path.display()),
                    Err(_) => format!("note: the trace {} could not be written either", path.display()),
                });
                Err(failure(error))
            }
        }
    }

    fn head(&self, experiment: &Experiment, format: TraceFormat, marks: Option<LogPlan>) -> TraceHead {
        let rails = self.energy_every.is_some().then_some(&*experiment.machine);
        let meta = run_facts([&self.machine, &self.workload, &self.sched], self.seed, rails);
        TraceHead { format, meta, notes: run_config::notes(&experiment.config), why: self.why, marks }
    }
}

fn plain(experiment: &Experiment, seed: u64, logs: Option<Logs>) -> Result<RunReport, Failure> {
    carry_out(experiment, seed, Outputs { trace: None, logs }).outcome.map_err(failure)
}

fn carry_out(experiment: &Experiment, seed: u64, outputs: Outputs) -> Ran {
    let time = SharedTime::default();
    let _spinner = Spinner::new(Arc::clone(&time));
    experiment.write(0, seed, outputs, Attendance { time: Some(time), stop: None })
}

/// A scheduler that cannot serve the machine is bad input; anything else is a run that failed.
pub(super) fn failure(error: RunError) -> Failure {
    match error {
        RunError::Fair(error) => error.into(),
        RunError::Refused(_) | RunError::Failed(_) | RunError::Limited(_) | RunError::Lost(_) => run_failed(error),
    }
}
