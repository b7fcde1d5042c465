//! `fairground run`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use fairground_lab::experiment::RunReport;
use fairground_lab::selection::Selection;
use fairground_lab::setup::{Progress, Ran, RunError, Setup, Trace, TraceFormat, TraceHead};
use fairground_lab::tables::number;
use fairground_sim::Config;
use serde_json::json;

use crate::circumstances::{self, Circumstances};
use crate::error::{run_failed, End, Failure};
use crate::output::{complain, print, OutputFile};
use crate::progress::Spinner;
use crate::workers::WorkerOptions;

/// Name and version of the schema.
const SCHEMA: &str = "fairground-run-1";

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
    /// Write the events to this file; of a run that fails, up to there
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// How to write them [default: by the ending of FILE: perfetto for .perfetto-trace and .pftrace, else text]
    #[arg(long, value_enum, requires = "trace")]
    trace_format: Option<TraceFormatName>,
    /// Write the reasons of every placement too, for `fairground explain`
    #[arg(long, requires = "trace")]
    why: bool,
    /// Write the mean power of each rail too, every so many ms
    #[arg(long, value_name = "MS", requires = "trace", value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    power_every: Option<u64>,
    /// Which figures: usual, all, or names with commas between
    #[arg(long, value_name = "LIST", default_value_t = Selection::Usual)]
    metrics: Selection,
    /// How to print the figures
    #[arg(long, value_enum, default_value_t)]
    format: RunFormat,
    /// Run twice; events that differ are a failure
    #[arg(long)]
    check_determinism: bool,
    #[command(flatten)]
    circumstances: Circumstances,
    #[command(flatten)]
    workers: WorkerOptions,
}

fn parse_seed(text: &str) -> Result<u64, String> {
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

/// As typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TraceFormatName {
    /// Raw ftrace text
    Text,
    /// Perfetto's protobuf
    Perfetto,
}

impl TraceFormatName {
    fn by_ending(path: &Path) -> TraceFormatName {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("perfetto-trace" | "pftrace") => TraceFormatName::Perfetto,
            _ => TraceFormatName::Text,
        }
    }

    fn format(self) -> TraceFormat {
        match self {
            TraceFormatName::Text => TraceFormat::Text,
            TraceFormatName::Perfetto => TraceFormat::Perfetto,
        }
    }
}

impl Run {
    pub fn run(mut self) -> Result<End, Failure> {
        let mut setup = self.circumstances.setup(&self.machine, &self.workload, std::slice::from_ref(&self.sched))?;
        setup.workers = self.workers.workers();
        setup.config.power_every_ns = self.power_every.map(|ms| ms * 1_000_000);
        let selected = setup.selected(&self.metrics)?;
        let trace = self.trace.take();
        let mut report = match &trace {
            Some(path) => self.traced(&setup, path)?,
            None => plain(&setup, self.seed)?,
        };
        if self.check_determinism {
            let again = plain(&setup, self.seed)?;
            if again.hash != report.hash {
                let hashes = format!("{:032x} and {:032x}", report.hash, again.hash);
                return Err(run_failed(format!("not deterministic: the same run gave event streams {hashes}")));
            }
        }
        report.readings.retain(|r| selected.has(&r.metric.name));
        report.notes.extend(circumstances::notes(&setup.config));
        print(&match self.format {
            RunFormat::Text => self.text(&report),
            RunFormat::Json => self.json(&report),
        })?;
        Ok(End::Done)
    }

    fn text(&self, report: &RunReport) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "machine   {}", self.machine);
        let _ = writeln!(out, "workload  {}", self.workload);
        let _ = writeln!(out, "sched     {}", self.sched);
        let _ = writeln!(out, "seed      {}\n", self.seed);
        let width = report.readings.iter().map(|r| r.metric.name.len()).max().unwrap_or(0);
        for reading in &report.readings {
            let metric = &reading.metric;
            let (value, unit) = (number(reading.value), &metric.unit);
            let _ = writeln!(out, "{:width$}  {value:>12} {unit:6} {}", metric.name, metric.meaning);
        }
        let _ = writeln!(out, "\nhash  {:032x}  of the event stream", report.hash);
        for note in &report.notes {
            let _ = writeln!(out, "note: {note}");
        }
        out
    }

    fn json(&self, report: &RunReport) -> String {
        let metrics: Vec<_> = report
            .readings
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
        });
        format!("{document:#}\n")
    }

    /// The trace appears if the run completes or fails on its way; a run that is refused or interrupted leaves none.
    fn traced(&self, setup: &Setup, path: &Path) -> Result<RunReport, Failure> {
        let output = OutputFile::create(path)?;
        let trace = Trace { head: self.head(&setup.config, path), file: output.descriptor()? };
        let Ran { outcome, trace } = carry_out(setup, self.seed, Some(trace));
        if let Err(refused @ (RunError::Fair(_) | RunError::Refused(_))) = outcome {
            return Err(failure(refused));
        }
        let cannot_write = |e| run_failed(format!("cannot write {}: {e}", path.display()));
        let kept = trace.map_err(cannot_write).and_then(|()| output.finish());
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

    fn head(&self, config: &Config, path: &Path) -> TraceHead {
        let seed = self.seed.to_string();
        let meta = [("machine", &self.machine), ("workload", &self.workload), ("sched", &self.sched), ("seed", &seed)];
        let meta = meta.map(|(key, value)| (key.to_owned(), value.clone())).into();
        let format = self.trace_format.unwrap_or_else(|| TraceFormatName::by_ending(path)).format();
        TraceHead { format, meta, notes: circumstances::notes(config), why: self.why }
    }
}

fn plain(setup: &Setup, seed: u64) -> Result<RunReport, Failure> {
    carry_out(setup, seed, None).outcome.map_err(failure)
}

fn carry_out(setup: &Setup, seed: u64, trace: Option<Trace>) -> Ran {
    let spinner = Spinner::on_terminal();
    let mut tell = spinner.as_ref().map(|spinner| |time| spinner.show(time));
    setup.carry_out(0, seed, trace, tell.as_mut().map(|tell| tell as Progress))
}

/// A scheduler that cannot serve the machine is bad input; anything else is a run that failed.
fn failure(error: RunError) -> Failure {
    match error {
        RunError::Fair(error) => error.into(),
        RunError::Refused(_) | RunError::Failed(_) => run_failed(error),
    }
}
