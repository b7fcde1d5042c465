//! A `reproduce` request, and the function that carries it out.
//!
//! [`Request::ready`] looks everything up and reports errors before any run; `carry_out` runs.

use fairground_machine::MachineError;
use miette::Diagnostic;
use thiserror::Error;

use super::plan::{Plan, Planned, Planner};
use super::quick;
use super::rows::{ReproduceError, Reproduction, SCORED_PAIRS_MIN};
use crate::ablation::AblationError;
use crate::provenance::{MadeBy, RowsProvenance};
use crate::published::{Mail, PublishedError};
use crate::robustness::NoSuchFigure;
use fairground_run::batch::BatchError;
use fairground_run::executor::{Executor, ProgressListener};
use fairground_run::experiment::Stop;
use fairground_run::run_config::{ExperimentError, InvalidSetting};
use fairground_run::store::Store;
use fairground_run::worker::Workers;

/// Which rows, and how they are run.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Slug or number of a mail, or `all`.
    pub mail: String,
    /// Only the rows with one of these in their ids; all if there are none.
    pub rows: Vec<String>,
    /// Pairs of runs per row. `None`: [`quick::SEEDS`] for a first look; otherwise as many as the row states, else
    /// [`SCORED_PAIRS_MIN`].
    pub seeds: Option<u64>,
    /// Draws of the figures in doubt, from 1 on, on which base and test of each row are run besides, with one seed for each
    /// draw; 0: none.
    pub draws: u64,
    /// What part of a row's length its runs on draws take, as the number it is divided by. `None`: as the row states, else
    /// all of it.
    pub part_on_draws: Option<u32>,
    /// Whether every row runs at the mail's own length.
    pub full_length: bool,
    /// Whether runs are shortened for a first look ([`quick`]).
    pub quick: bool,
    /// Analyses beyond the rows themselves.
    pub supplements: Supplements,
    /// The program and the command, for the result; `None`: the result says nothing of them.
    pub made_by: Option<MadeBy>,
    /// Processes for runs that must not happen in this one.
    pub workers: Workers,
}

/// Analyses beyond the rows themselves.
#[derive(Clone, Debug, Default)]
pub struct Supplements {
    /// Whether each row's change is split by [`crate::cost_attribution::TERMS`].
    pub attribute_costs: bool,
    /// Whether each row's change is split by features ([`crate::ablation`]).
    pub each_feature: bool,
    /// Number of points at which parameters that a mail leaves open are drawn; `None`: they are not varied.
    pub robustness: Option<u16>,
    /// Pairs of runs at each point.
    pub robustness_seeds: u64,
    /// Whether rows also run with each estimate of the machines perturbed ([`crate::sensitivity`]).
    pub sensitivity: bool,
    /// Rows of the sensitivity analysis, by parts of their ids; empty: all rows.
    pub sensitivity_rows: Vec<String>,
    /// Pairs of runs with each perturbation.
    pub sensitivity_seeds: u64,
}

/// Why published rows cannot be repeated.
#[derive(Debug, Error, Diagnostic)]
pub enum RequestError {
    /// The mail does not exist, or its file is invalid.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Published(#[from] PublishedError),
    /// No row matches the request.
    #[error("no published row has {parts} in its id")]
    #[diagnostic(help("ids are {example} and so on"))]
    NoRow {
        /// The parts as the user typed them.
        parts: String,
        /// An id that is valid.
        example: String,
    },
    /// The governor of a row.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Governor(#[from] InvalidSetting),
    /// There is nothing to sweep.
    #[error("--robustness: published/{0}.toml has no [[sweep]]: the mail leaves no parameter open")]
    NoSweep(String),
    /// No row has a verdict that a perturbed estimate could change.
    #[error("--sensitivity: no judged row that is run{0}")]
    #[diagnostic(help("rows that are not scored, or not run, have no verdict that could change"))]
    NothingJudged(String),
    /// Machine, workload or scheduler of a row.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Experiment(#[from] ExperimentError),
    /// A machine of a row.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Machine(#[from] MachineError),
    /// A figure that is to be moved.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Figure(#[from] NoSuchFigure),
    /// A row that cannot be split by features.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Dissect(#[from] AblationError),
    /// Nothing could be run at all.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Batch(#[from] BatchError),
    /// Rows and runs do not fit.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Reproduce(#[from] ReproduceError),
}

/// A request with everything looked up and nothing run yet.
pub struct PlannedRequest<'a> {
    request: &'a Request,
    mails: Vec<Mail>,
    plan: Plan<'a>,
    executor: Executor,
    /// Warnings about machines and workloads.
    pub warnings: Vec<String>,
}

impl Request {
    /// Looks up mails, machines, workloads and schedulers, and plans all runs.
    ///
    /// # Errors
    /// The first thing that cannot be found or run.
    pub fn ready(&self) -> Result<PlannedRequest<'_>, RequestError> {
        let mails = self.mails()?;
        let default_seeds = if self.quick { quick::SEEDS } else { SCORED_PAIRS_MIN as u64 };
        let planner =
            Planner::new(&self.supplements, self.seeds, default_seeds, self.draws, !self.quick, &self.workers);
        let Planned { plan, executor, warnings } = planner.plan(&mails)?;
        Ok(PlannedRequest { request: self, mails, plan, executor, warnings })
    }

    /// The requested rows, at the requested length.
    fn mails(&self) -> Result<Vec<Mail>, RequestError> {
        let mut mails = match self.mail.as_str() {
            "all" => Mail::known().map(Mail::find).collect::<Result<Vec<_>, _>>()?,
            name => vec![Mail::find(name)?],
        };
        let example = mails.iter().flat_map(|m| &m.rows).map(|row| row.id.clone()).next();
        for mail in &mut mails {
            if !self.rows.is_empty() {
                mail.keep(&self.rows);
            }
            if self.full_length {
                mail.at_full_length();
            }
            if self.quick {
                quick::shorten(mail);
            }
            if self.part_on_draws.is_some() {
                mail.rows
                    .iter_mut()
                    .filter_map(|row| row.run.as_mut())
                    .for_each(|run| run.part_on_draws = self.part_on_draws);
            }
        }
        match mails.iter().all(|mail| mail.rows.is_empty()) {
            true => {
                let (parts, example) = (self.rows.join(" or "), example.unwrap_or_default());
                Err(RequestError::NoRow { parts, example })
            }
            false => Ok(mails),
        }
    }
}

impl PlannedRequest<'_> {
    /// Runs what is not in the store, on `jobs` threads, and compares published values with ours.
    ///
    /// # Errors
    /// If nothing could be run, it was stopped, or rows and runs do not fit.
    pub fn carry_out(
        self,
        store: Option<&Store>,
        jobs: usize,
        stop: &Stop,
        tell: ProgressListener,
    ) -> Result<Reproduction, RequestError> {
        let outcomes = self.executor.carry_out(store, jobs, stop, tell)?;
        let mut result = self.plan.result(&self.mails, &outcomes)?;
        result.quick = self.request.quick.then(quick::words);
        result.provenance =
            self.request.made_by.clone().map(|by| RowsProvenance::new(by, &self.mails, self.request.draws));
        Ok(result)
    }
}
