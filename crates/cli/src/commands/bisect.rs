//! `fairground bisect`.

use std::path::PathBuf;

use clap::Args;
use fairground_review::bisect::{bisect, Found, Goal};
use fairground_review::matrix::Cell;
use fairground_review::measure::ReviewError;
use fairground_run::batch::BatchError;

use super::compare::deliver;
use super::review::{means, Subject, Unusable};
use super::run::RunFormat;
use crate::error::{run_failed, End, Failure};
use crate::output::{stop_on_signals, OutputFile};
use crate::run_options::{Jobs, RunOptions};
use crate::store::{Runs, StoreOptions};
use crate::workers::WorkerOptions;

/// Finds the first patch of a series that changes a metric by so much.
#[derive(Args)]
pub struct Bisect {
    #[command(flatten)]
    subject: Subject,
    /// Preset or file, as of `run`
    #[arg(long, value_name = "MACHINE")]
    machine: String,
    /// Built-in with options, or an rt-app file
    #[arg(long, value_name = "WORKLOAD")]
    workload: String,
    /// Metric [default: the workload's main one]
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Change from the base that is looked for, percent, positive is better: -2 finds what makes it worse by more than 2 %
    #[arg(long, value_name = "PCT", allow_hyphen_values = true, value_parser = parse_threshold)]
    threshold: f64,
    /// Probability of a wrong answer in the whole bisection, percent
    #[arg(long, value_name = "PCT", default_value = "1", value_parser = parse_error)]
    error: f64,
    /// Most pairs of runs for one question
    #[arg(long, value_name = "N", default_value = "256", value_parser = clap::value_parser!(u64).range(8..=1_000_000))]
    seeds: u64,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: RunFormat,
    /// Write the answer to this file instead, whole or not at all; - is standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    jobs: Jobs,
    #[command(flatten)]
    store: StoreOptions,
    #[command(flatten)]
    options: RunOptions,
    #[command(flatten)]
    workers: WorkerOptions,
}

fn parse_threshold(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end().parse::<f64>().ok();
    let fits = |pct: &f64| pct.is_finite() && *pct != 0.0 && pct.abs() <= 1e6;
    number.filter(fits).ok_or_else(|| "expected a percentage that is not 0: -2 for 2 % worse, 5 for 5 % better".into())
}

fn parse_error(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end().parse::<f64>().ok();
    number.filter(|pct| *pct >= 0.0001 && *pct <= 50.0).ok_or_else(|| "expected 0.0001 to 50 percent".into())
}

impl Bisect {
    pub fn run(self) -> Result<End, Failure> {
        let output = self.output.as_deref().map(OutputFile::create).transpose()?;
        let config = self.options.config()?;
        let stages = self.subject.stages(self.jobs.count())?;
        if stages.stages.len() < 2 {
            let problem = "no patch changes code: there is nothing to look for".to_owned();
            return Err(Unusable { problem, help: "`fairground review` says what became of each".into() }.into());
        }
        let store = self.store.open()?;
        let (runs, stop) = (Runs::new(), stop_on_signals());
        let progress = |progress| runs.tell(progress);
        let means = means(&self.jobs, store.as_ref(), &stop, &progress, &self.workers);
        let cell = Cell {
            machine: self.machine,
            workload: self.workload,
            config,
            options: self.options.typed(),
            metrics: None,
        };
        let goal = Goal {
            cell,
            metric: self.metric,
            threshold_pct: self.threshold,
            error: self.error / 100.0,
            most: self.seeds,
        };
        let found = match bisect(&stages, goal, &means) {
            Err(ReviewError::Batch(BatchError::Stopped)) => return Err(runs.interrupted(store.as_ref())),
            found => found?,
        };
        let text = match self.format {
            RunFormat::Text => found.text(&stages),
            RunFormat::Json => found.json(&stages),
        };
        deliver(&text, output)?;
        match found.found {
            Found::Fails(_, message) => Err(run_failed(message)),
            _ => {
                stages.clean()?;
                Ok(End::Done)
            }
        }
    }
}
