//! `fairground review`.

use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use fairground_lab::comparison::{Until, WidthPct};
use fairground_review::answer::{Layout, Review as Answer};
use fairground_review::cost::costs;
use fairground_review::decisions::explain;
use fairground_review::hunt::hunt;
use fairground_review::matrix::Matrix;
use fairground_review::measure::{measure, Means, ReviewError};
use fairground_review::series::Series;
use fairground_review::stages::{BuildOptions, Stages};
use fairground_run::batch::BatchError;
use fairground_run::executor::ProgressListener;
use fairground_run::experiment::Stop;
use fairground_run::store::Store;
use miette::{Diagnostic, Report};
use thiserror::Error;

use super::compare::deliver;
use crate::error::{run_failed, End, Failure};
use crate::output::{complain, stop_on_signals, OutputFile};
use crate::progress::Steps;
use crate::provenance::made_by;
use crate::python;
use crate::run_options::Jobs;
use crate::seeds::Seeds;
use crate::store::{Runs, StoreOptions};
use crate::workers::WorkerOptions;

/// Options that cannot be used together.
#[derive(Debug, Error, Diagnostic)]
#[error("{problem}")]
#[diagnostic(help("{help}"))]
pub struct Unusable {
    pub problem: String,
    pub help: String,
}

/// What is under review: patches on a tree, or features.
#[derive(Args)]
pub struct Subject {
    /// Top directory of a Linux source tree; it is only read
    #[arg(required_unless_present = "features")]
    tree: Option<PathBuf>,
    /// A range of commits (v6.12..mine), a mailbox, or patch files [default: the commits since the branch left its upstream]
    series: Vec<String>,
    /// In place of patches: features of our own scheduler, one after another on its preset (fair:v5.9+a+b), or all that differ
    /// between two (fair:v5.9..fair:v5.11)
    #[arg(long, value_name = "SCHED", conflicts_with_all = ["tree", "series"])]
    features: Option<String>,
    /// A kernel's .config; its options that concern the scheduler are used
    #[arg(long, value_name = "FILE", conflicts_with = "features")]
    config: Option<PathBuf>,
    /// Set an option, in place of its value in the .config; repeatable
    #[arg(long, value_name = "CONFIG_X=v", conflicts_with = "features")]
    set: Vec<String>,
}

impl Subject {
    /// The schedulers, built if need be.
    pub fn stages(&self, jobs: usize) -> Result<Stages, Failure> {
        if let Some(features) = &self.features {
            return Ok(Stages::of_features(features)?);
        }
        let tree = self.tree.as_deref().unwrap_or(Path::new("."));
        if tree.is_file() {
            let problem =
                format!("{} is a file: the first argument is the tree that the series is for", tree.display());
            return Err(Unusable { problem, help: "write fairground review TREE SERIES".into() }.into());
        }
        let series = Series::find(tree, &self.series)?;
        let options =
            BuildOptions { config: self.config.clone(), set: self.set.clone(), jobs: NonZeroUsize::new(jobs) };
        let steps = Steps::new();
        Ok(Stages::of_series(tree, &series, &options, &mut |what, step| steps.tell(&format!("{what}: {step}")))?)
    }
}

/// Says what a patch series changes.
#[derive(Args)]
pub struct Review {
    #[command(flatten)]
    subject: Subject,
    /// Four machines and four workloads in place of all
    #[arg(long, conflicts_with = "matrix")]
    quick: bool,
    /// Machines and workloads of this file
    #[arg(long, value_name = "FILE")]
    matrix: Option<PathBuf>,
    /// Pairs of runs of each cell: seeds 1 to N, or FIRST-LAST; with --until at most N [default: as the matrix says; 256 with --until]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    seeds: Option<Seeds>,
    /// Add seeds to each cell, from 8 on, until half of the 95 % interval of its main metric is at most this many percent of base
    #[arg(long, value_name = "PCT", allow_hyphen_values = true)]
    until: Option<WidthPct>,
    /// Draws of the figures in doubt for cells that change; 0: none [default: as the matrix says]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(0..=100_000))]
    doubt: Option<u64>,
    /// text, markdown, json, html or junit
    #[arg(long, default_value_t = Layout::Text)]
    format: Layout,
    /// Write the answer to this file instead, whole or not at all; - is standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Also write the answer in all formats into this directory, with traces of the decisions that changed
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// In place of the matrix: search options of workloads on its machines, and draws of these, for the largest regression and
    /// gain, for so many minutes; what is found is confirmed on other seeds, made as small as it goes, and saved with --dir
    #[arg(long, value_name = "MINUTES", value_parser = parse_minutes, conflicts_with_all = ["until", "seeds", "doubt", "fail_if_worse"])]
    hunt: Option<Duration>,
    /// Also measure the host time of decisions under base and series, for half a minute; nothing else should run meanwhile
    #[arg(long, conflicts_with = "hunt")]
    cost: bool,
    /// Exit with 3 if a row is worse
    #[arg(long)]
    fail_if_worse: bool,
    /// Make the runs of the matrix on the workers of this Dask scheduler, with the limits of time and memory that hold by default;
    /// their results come into the store
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["hunt", "no_store"])]
    dask: Option<String>,
    #[command(flatten)]
    jobs: Jobs,
    #[command(flatten)]
    store: StoreOptions,
    #[command(flatten)]
    workers: WorkerOptions,
}

impl Review {
    pub fn run(self) -> Result<End, Failure> {
        let matrix = self.matrix()?;
        let most = self.seeds.map_or(Some(Until::MOST), Seeds::count_from_one);
        let until = self.until.map(|WidthPct(pct)| match most {
            Some(most) => Until::new(pct, most),
            None => Err("--until adds seeds from 1 on: --seeds takes the greatest number here, not a range".to_owned()),
        });
        let until = until.transpose().map_err(|problem| Unusable {
            problem,
            help: "--until takes a percentage, --seeds its most pairs".into(),
        })?;
        let output = self.output.as_deref().map(OutputFile::create).transpose()?;
        if let Some(dir) = &self.dir {
            fs::create_dir_all(dir).map_err(|e| run_failed(format!("cannot create {}: {e}", dir.display())))?;
        }
        if self.hunt.is_some() && !matches!(self.format, Layout::Text | Layout::Json) {
            let problem = format!("--hunt has no format {}", self.format);
            return Err(Unusable { problem, help: "expected text or json".into() }.into());
        }
        let stages = self.subject.stages(self.jobs.count())?;
        let store = self.store.open()?;
        let (runs, stop) = (Runs::new(), stop_on_signals());
        let progress = |progress| runs.tell(progress);
        let farm = self.dask.as_deref().map(python::farm);
        let means = Means { farm: farm.as_ref(), ..means(&self.jobs, store.as_ref(), &stop, &progress, &self.workers) };
        if let Some(time) = self.hunt {
            return self.hunted(&stages, &matrix, time, &means, output);
        }
        let measured = match measure(&stages, &matrix, until.as_ref(), &means) {
            Err(ReviewError::Batch(BatchError::Stopped)) => return Err(runs.interrupted(store.as_ref())),
            Err(ReviewError::Farm(error)) if !error.is_input() => return Err(Failure::Run(Report::new(error))),
            measured => measured?,
        };
        let explained = explain(&stages, &measured, &means, self.dir.as_deref());
        if is_stopped(&stop) {
            return Err(runs.interrupted(store.as_ref()));
        }
        let costs = self.cost.then(|| costs(&stages, &means.workers)).transpose()?;
        let answer = Answer { stages, matrix, measured, explained, costs, by: made_by() };
        if let Some(dir) = &self.dir {
            write_all(&answer, dir)?;
        }
        deliver(&self.format.render(&answer), output)?;
        if !answer.has_failures() {
            answer.stages.clean()?;
        }
        Ok(self.end(&answer))
    }

    fn hunted(
        &self,
        stages: &Stages,
        matrix: &Matrix,
        time: Duration,
        means: &Means,
        output: Option<OutputFile>,
    ) -> Result<End, Failure> {
        if stages.stages.len() < 2 {
            let problem = "no patch changes code: there is nothing to hunt for".to_owned();
            return Err(Unusable {
                problem,
                help: "`fairground review` without --hunt says what became of each".into(),
            }
            .into());
        }
        let hunt = match hunt(stages, &matrix.machines(), time, means) {
            Err(ReviewError::Batch(BatchError::Stopped)) => return Err(Failure::Interrupted("interrupted".into())),
            hunt => hunt?,
        };
        for saved in
            self.dir.as_deref().map(|dir| hunt.save(dir)).transpose().map_err(run_failed)?.into_iter().flatten()
        {
            complain(&format!("saved {saved}"));
        }
        let text = if self.format == Layout::Json { hunt.json(stages) } else { hunt.text(stages) };
        deliver(&text, output)?;
        if !hunt.failures.is_empty() {
            return Ok(End::RunFailed);
        }
        stages.clean()?;
        Ok(End::Done)
    }

    fn matrix(&self) -> Result<Matrix, Failure> {
        let mut matrix = match &self.matrix {
            Some(path) => Matrix::load(path)?,
            None if self.quick => Matrix::quick()?,
            None => Matrix::full()?,
        };
        if let Some(seeds) = self.seeds.filter(|_| self.until.is_none()) {
            (matrix.first_seed, matrix.seeds) = (seeds.list()[0], seeds.list().len() as u64);
        }
        matrix.draws = self.doubt.unwrap_or(matrix.draws);
        Ok(matrix)
    }

    fn end(&self, answer: &Answer) -> End {
        let end = if answer.has_failures() { End::RunFailed } else { End::Done };
        if answer.has_failures() {
            complain("some patches or runs failed: the answer names them");
        }
        let worse = answer.worse().len();
        let held: Vec<String> = (self.fail_if_worse && worse > 0)
            .then(|| format!("--fail-if-worse: {worse} rows are worse"))
            .into_iter()
            .collect();
        end.unless_held(&held)
    }
}

fn parse_minutes(text: &str) -> Result<Duration, String> {
    let minutes = text.parse::<f64>().ok().filter(|minutes| (0.1..=100_000.0).contains(minutes));
    minutes
        .map(|minutes| Duration::from_secs_f64(minutes * 60.0))
        .ok_or_else(|| "expected 0.1 to 100000 minutes".into())
}

/// How runs are made here.
pub fn means<'a>(
    jobs: &Jobs,
    store: Option<&'a Store>,
    stop: &'a Stop,
    progress: ProgressListener<'a>,
    workers: &WorkerOptions,
) -> Means<'a> {
    Means { jobs: jobs.count(), store, stop, progress, workers: workers.workers(), farm: None }
}

fn is_stopped(stop: &Stop) -> bool {
    stop.load(std::sync::atomic::Ordering::Relaxed)
}

fn write_all(answer: &Answer, dir: &Path) -> Result<(), Failure> {
    for (layout, _, name) in Layout::ALL {
        let path = dir.join(name);
        let mut file = OutputFile::create(&path)?;
        file.write_all(fairground_lab::tables::printable(&layout.render(answer)).as_bytes())
            .map_err(|e| run_failed(format!("cannot write {}: {e}", path.display())))?;
        file.finish()?;
    }
    Ok(())
}
