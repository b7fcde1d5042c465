//! `fairground run`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use fairground_lab::experiment::RunReport;
use fairground_lab::setup::Setup;
use fairground_lab::tables::number;
use fairground_sim::{Observer, Scheduler, SimError};
use fairground_trace::{FtraceText, Names, Words};
use serde_json::json;

use crate::circumstances::Circumstances;
use crate::error::{run_failed, End, Failure};
use crate::output::{complain, print, OutputFile};
use crate::progress::Spinner;

/// Name and version of the schema.
const SCHEMA: &str = "fairground-run-1";

/// Runs one scheduler once; prints its figures and the hash of its events.
#[derive(Args)]
pub struct Run {
    /// Preset or file
    machine: String,
    /// Built-in with options (sched-pipe:loops=50000,threads) or an rt-app file
    workload: String,
    /// Scheduler, e.g. fair:v5.9+asym-prev-first
    #[arg(long, value_name = "SCHED")]
    sched: String,
    /// Seed of all random draws
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true, value_parser = parse_seed)]
    seed: u64,
    /// Write the events to this file, as raw ftrace text; of a run that fails, up to there
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Write the reasons of every placement too, for `fairground explain`
    #[arg(long, requires = "trace")]
    why: bool,
    /// How to print the figures
    #[arg(long, value_enum, default_value_t)]
    format: RunFormat,
    /// Run twice; events that differ are a failure
    #[arg(long)]
    check_determinism: bool,
    #[command(flatten)]
    circumstances: Circumstances,
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

impl Run {
    pub fn run(mut self) -> Result<End, Failure> {
        let setup = self.circumstances.setup(&self.machine, &self.workload, std::slice::from_ref(&self.sched))?;
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
        report.notes.extend(self.circumstances.notes());
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
        let engine = setup.engine(&setup.scheds[0], self.seed)?;
        let mut exporter = self.exporter(setup, engine.scheduler(), OutputFile::create(path)?);
        let outcome = {
            let mut spinner = Spinner::on_terminal();
            let mut observers: Vec<&mut dyn Observer> = vec![&mut exporter];
            observers.extend(spinner.as_mut().map(|s| s as &mut dyn Observer));
            setup.observe(engine, &mut observers)
        };
        match outcome {
            Ok(report) => keep(exporter, path).map(|()| report),
            Err(refused @ (SimError::Program { .. } | SimError::Refused { .. })) => Err(run_failed(refused)),
            Err(error) => {
                complain(&match keep(exporter, path) {
                    Ok(()) => format!("note: the trace {} ends where the run failed", path.display()),
                    Err(_) => format!("note: the trace {} could not be written either", path.display()),
                });
                Err(run_failed(error))
            }
        }
    }

    fn exporter(&self, setup: &Setup, sched: &dyn Scheduler, file: OutputFile) -> FtraceText<OutputFile> {
        let names = Names::new(setup.workload.clone());
        let mut exporter = FtraceText::new(file, setup.machine.nr_cpus(), names, Words::of(sched), self.why);
        let seed = self.seed.to_string();
        let meta = [("machine", &self.machine), ("workload", &self.workload), ("sched", &self.sched), ("seed", &seed)];
        let notes = [sched.notes(), self.circumstances.notes()].concat();
        exporter.head(&meta.map(|(key, value)| (key, value.as_str())), &notes);
        exporter
    }
}

fn plain(setup: &Setup, seed: u64) -> Result<RunReport, Failure> {
    let engine = setup.engine(&setup.scheds[0], seed)?;
    let mut spinner = Spinner::on_terminal();
    let mut observers: Vec<&mut dyn Observer> = Vec::new();
    observers.extend(spinner.as_mut().map(|s| s as &mut dyn Observer));
    setup.observe(engine, &mut observers).map_err(run_failed)
}

/// Gives the trace its name.
fn keep(exporter: FtraceText<OutputFile>, path: &Path) -> Result<(), Failure> {
    let file = exporter.finish().map_err(|e| run_failed(format!("cannot write {}: {e}", path.display())))?;
    file.finish()
}
