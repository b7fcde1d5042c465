//! `fairground calibrate`.

mod posterior;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use clap::Args;
use fairground_lab::calibrate::{self, CalibrateError, Fit, FitRuns, Job, OptionJob, Target};
use fairground_lab::tables::number;
use fairground_machine::{FitParam, Machine, MachineSpec};
use fairground_run::batch::BatchError;
use fairground_run::executor;
use fairground_run::experiment::Experiment;
use fairground_run::run_config::RunConfig;
use miette::Diagnostic;
use thiserror::Error;

use crate::error::{run_failed, End, Failure};
use crate::output::{complain, print, stop_on_signals, OutputFile};
use crate::progress::Progress;
use crate::run_options::{warned, Jobs};
use crate::store::StoreOptions;

/// Repeats the fits that a machine file and the published rows record: changes costs and options of workloads until our
/// baselines equal the published ones. With --posterior: weighs all figures in doubt by all baselines.
#[derive(Args)]
pub struct Calibrate {
    /// A preset's name or a machine file
    machine: String,
    /// The baseline cell to fit, instead of all that the file records
    #[arg(long)]
    cell: Option<String>,
    /// The figure to change, e.g. costs.soft.futex; given several times, costs that keep their ratio [default: what the
    /// file records for the cell, else costs.scale]
    #[arg(long, value_name = "PATH", requires = "cell")]
    figure: Vec<String>,
    /// Draw the figures in doubt and weigh the draws by the published baselines, instead of repeating fits
    #[arg(long, conflicts_with_all = ["cell", "figure"])]
    posterior: bool,
    /// Draws to run, and up to four times as many until 100 of them are effective
    #[arg(long, value_name = "N", default_value = "512", requires = "posterior", value_parser = clap::value_parser!(u64).range(4..=100_000))]
    draws: u64,
    /// Write the fitted figures into the machine file, its other text stays; with --posterior the draws into
    /// posterior/NAME.tsv beside the file
    #[arg(long)]
    write: bool,
    /// Runs per step of the search, or of the machine as it stands: seeds 1 to N
    #[arg(long, value_name = "N", default_value = "8", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    seeds: u64,
    #[command(flatten)]
    jobs: Jobs,
    #[command(flatten)]
    store: StoreOptions,
}

/// A preset is part of the program and cannot be written.
#[derive(Debug, Error, Diagnostic)]
#[error("--write needs a machine file, and {0:?} is a preset")]
#[diagnostic(help("give its file, for example machines/{0}.toml"))]
pub(super) struct NotAFile(pub String);

impl Calibrate {
    pub fn run(self) -> Result<End, Failure> {
        if self.write && !Path::new(&self.machine).is_file() {
            return Err(NotAFile(self.machine).into());
        }
        let machine = Machine::find(&self.machine)?;
        let options = if self.posterior { Vec::new() } else { self.options(&machine)? };
        let store = self.store.open()?;
        let stop = stop_on_signals();
        let progress = Progress::endless();
        let runs = FitRuns {
            seeds: (1..=self.seeds).collect(),
            jobs: self.jobs.count(),
            store: store.as_ref(),
            stop: &stop,
            tell: &|news| match news {
                executor::Progress::Begun { .. } => {}
                executor::Progress::Done { .. } => progress.step(),
                executor::Progress::Trouble(what) => complain(&format!("warning: {what}")),
            },
        };
        if self.posterior {
            return self.weigh(&machine, &runs, &progress);
        }
        let mut out = format!("machine    {}\n", machine.name);
        if self.cell.is_none() || options.is_empty() {
            self.costs(&machine, &runs, &mut out)?;
        }
        for job in &options {
            out += &self.option(job, &runs)?;
        }
        print(&out)?;
        Ok(End::Done)
    }

    /// The costs that the machine's file records, or those that were asked for.
    fn costs(&self, machine: &Machine, runs: &FitRuns, out: &mut String) -> Result<(), Failure> {
        for job in calibrate::choose(machine, self.cell.as_deref(), &self.figure)? {
            // Read again: a fit that was just written is part of the next one.
            let machine = Machine::find(&self.machine)?;
            let fit = calibrate::fit(&self.experiment(&job.target)?, runs, &job).map_err(|e| interrupted(e, runs))?;
            if self.write {
                write_fit(&self.machine, &job.target, &fit)?;
            }
            *out += &render(&machine, &job, &fit, self.seeds);
        }
        Ok(())
    }

    /// The options of workloads that published rows record, all or those of the cell that was asked for.
    fn options(&self, machine: &Machine) -> Result<Vec<OptionJob>, Failure> {
        let mut jobs = calibrate::option_jobs(&machine.name)?;
        jobs.retain(|job| self.figure.is_empty() && self.cell.as_ref().is_none_or(|cell| *cell == job.target.cell));
        Ok(jobs)
    }

    fn option(&self, job: &OptionJob, runs: &FitRuns) -> Result<String, Failure> {
        let experiment = self.experiment(&job.target)?;
        let fit = calibrate::fit_option(&experiment, runs, job).map_err(|e| interrupted(e, runs))?;
        let figure = format!("{}:{}", job.recorded.workload, job.recorded.option);
        let option = |value: f64| format!("{}={value}", job.recorded.option);
        let workload = job.target.run.workload.replace(&option(job.recorded.value), &option(fit.value));
        let mut out = head(&job.target, &workload, fit.ours, self.seeds);
        let _ = writeln!(out, "recorded   {figure} = {}", job.recorded.value);
        let _ = writeln!(out, "fitted     {figure} = {}", fit.value);
        Ok(out)
    }

    fn experiment(&self, target: &Target) -> Result<Experiment, Failure> {
        let run = &target.run;
        let config = RunConfig { governor: run.governor()?, ..RunConfig::default() };
        // The machine that was asked for, with the CPUs to which the cell is bound.
        let machine = MachineSpec::parse(&run.machine).renamed(&self.machine);
        Ok(warned(config.find(&machine, &run.workload, std::slice::from_ref(&run.base))?))
    }
}

/// The message of a fit that Ctrl-C has ended.
fn interrupted(error: CalibrateError, runs: &FitRuns) -> Failure {
    match error {
        CalibrateError::Experiment(BatchError::Stopped) => Failure::Interrupted(match runs.store {
            Some(store) => {
                let dir = store.dir().display();
                format!("interrupted: results are stored in {dir}; the same command continues from there")
            }
            None => "interrupted; no results are stored (--no-store)".into(),
        }),
        error => error.into(),
    }
}

/// The published figure, and ours with the fit.
fn head(target: &Target, workload: &str, ours: f64, seeds: u64) -> String {
    let mut out = format!("\ncell       {}\n", target.cell);
    let _ = writeln!(out, "published  {} {}", target.published, target.unit);
    let _ = writeln!(out, "ours       {} (mean of {seeds} seeds; {workload}, {})", number(ours), target.run.base);
    out
}

fn render(machine: &Machine, job: &Job, fit: &Fit, seeds: u64) -> String {
    let mut out = head(&job.target, &job.target.run.workload, fit.ours, seeds);
    let words = |value: &dyn Fn(FitParam, f64) -> f64| {
        let figure = |(free, fitted): &(FitParam, f64)| format!("{free} = {}", value(*free, *fitted));
        fit.figures.iter().map(figure).collect::<Vec<_>>().join(", ")
    };
    let _ = writeln!(out, "recorded   {}", words(&|free, _| machine.costs.fit_value(free)));
    let _ = writeln!(out, "fitted     {}", words(&|_, fitted| fitted));
    out
}

fn write_fit(path: &str, target: &Target, fit: &Fit) -> Result<(), Failure> {
    let text = std::fs::read_to_string(path).map_err(|e| run_failed(format!("cannot read {path}: {e}")))?;
    let cell = format!("{} = {} {}", target.cell, target.published, target.unit);
    let text = Machine::refitted(path, &text, &fit.figures, &cell)?;
    let mut file = OutputFile::create(Path::new(path))?;
    file.write_all(text.as_bytes()).map_err(|e| run_failed(format!("cannot write {path}: {e}")))?;
    file.finish()
}
