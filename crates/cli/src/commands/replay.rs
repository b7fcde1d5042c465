//! `fairground replay`.

use std::path::PathBuf;

use clap::Args;
use fairground_lab::provenance::Provenance;
use fairground_lab::recorded::{recorded_config, recorded_sched};
use fairground_lab::replay::{ReplayReport, ReplayRunner};
use fairground_machine::MachineSpec;
use fairground_run::batch::{self, Plan};
use fairground_trace::import::Selection;
use miette::Diagnostic;
use thiserror::Error;

use super::compare::{complain_of_failures, deliver};
use super::import::{head_of, machine_of, read};
use super::stats::{rows_as_csv, StatsFormat};
use crate::error::{End, Failure};
use crate::input::{trace_notes, trace_path};
use crate::output::{columns, OutputFile};
use crate::progress::Progress;
use crate::provenance::made_by;
use crate::run_options::{warned, Jobs, RunOptions};
use crate::seeds::Seeds;
use crate::workers::WorkerOptions;

/// The recording cannot be run to its end.
#[derive(Debug, Error, Diagnostic)]
#[error("{recording}: {why}")]
struct TooLong {
    recording: String,
    why: String,
}

/// Runs a recording under one or several schedulers, and says how near the simulation is to it.
#[derive(Args)]
pub struct Replay {
    /// Trace: ours, a trace.dat, or what trace-cmd report, perf script or the kernel print; - is standard input
    #[arg(value_parser = trace_path())]
    recording: PathBuf,
    /// The machine that was recorded, preset or file [default: as the trace says, if it is ours]
    #[arg(long, value_name = "MACHINE")]
    machine: Option<String>,
    /// A scheduler that runs it; may be given several times [default: the one that ran, if the trace names it and it
    /// was fair:..., else the newest release]
    #[arg(long, value_name = "SCHED")]
    sched: Vec<String>,
    /// Runs of each scheduler: seeds 1 to N, or FIRST-LAST; the seed shifts the start of the recording relative to the tick
    #[arg(long, value_name = "N", default_value = "8", allow_hyphen_values = true)]
    seeds: Seeds,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: StatsFormat,
    #[command(flatten)]
    jobs: Jobs,
    #[command(flatten)]
    options: RunOptions,
    #[command(flatten)]
    workers: WorkerOptions,
    /// Write the result to this file instead, whole or not at all; - is standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Replay {
    pub fn run(self) -> Result<End, Failure> {
        let named = machine_of(&self.recording, self.machine.as_deref())?;
        let inputs = [Some(self.recording.as_path()), MachineSpec::parse(&named.name).file()];
        let output = self.output.as_deref().map(|path| OutputFile::beside(path, &inputs)).transpose()?;
        let head = head_of(&self.recording)?;
        let scheds = match self.sched.as_slice() {
            [] => vec![recorded_sched(&head)],
            given => given.to_vec(),
        };
        let recording = self.recording.display().to_string();
        let imported = read(&self.recording, &named.machine, Selection::default())?;
        if let Some(why) = &imported.too_long {
            return Err(TooLong { recording, why: why.clone() }.into());
        }
        let mut workload = imported.recording.workload(&recording);
        if let Some(cpus) = named.cpus {
            workload.bind(&cpus);
        }
        let config = self.options.config_over(recorded_config(&head))?;
        let mut experiment = warned(config.experiment(named.machine, workload, &scheds)?);
        experiment.workers = self.workers.workers();
        let runner = ReplayRunner { imported: &imported, experiment: &experiment };
        let plan = self.plan(scheds.len());
        let progress = Progress::new(plan.scheds * plan.seeds.len());
        let results = batch::run(&plan, &runner, &|| progress.step())?;
        drop(progress);
        let mut report = ReplayReport::new(&runner, [&named.name, &recording], &plan.seeds, &results);
        let sides = (0..plan.scheds).map(|sched| (&experiment, sched));
        report.comparison.provenance = Some(Provenance::new(made_by(), sides));
        deliver(&self.render(&report, columns(output.as_ref())), output)?;
        Ok(complain_of_failures(&report.comparison))
    }

    fn plan(&self, scheds: usize) -> Plan {
        let seeds = self.seeds.list();
        Plan { scheds, seeds, jobs: self.jobs.count(), check_determinism: false }
    }

    fn render(&self, report: &ReplayReport, columns: usize) -> String {
        match self.format {
            StatsFormat::Text => report.text(columns),
            StatsFormat::Json => format!("{:#}\n", report.json()),
            StatsFormat::Csv => {
                trace_notes(&report.notes());
                rows_as_csv(&report.rows())
            }
        }
    }
}
