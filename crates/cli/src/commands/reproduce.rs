//! `fairground reproduce`.

mod options;
mod out;

use clap::Args;
use fairground_lab::reproduce::{Request, RequestError};
use fairground_run::batch::BatchError;
use fairground_run::worker::Workers;
use miette::Diagnostic;
use thiserror::Error;

use self::options::{Layout, Looks};
use crate::error::{End, Failure};
use crate::output::{complain, stop_on_signals};
use crate::provenance::made_by;
use crate::run_options::Jobs;
use crate::store::{Runs, StoreOptions};

/// Repeats published figures and prints ours beside them.
#[derive(Args)]
pub struct Reproduce {
    /// The mail: asym-prev-first, break-even, lb-rework, misfit-unlink or cluster-level (or 000 to 004), or all
    #[arg(default_value = "all")]
    mail: String,
    /// Only rows whose id contains PART, e.g. hackbench; may be given several times
    #[arg(long, value_name = "PART")]
    row: Vec<String>,
    /// Pairs of runs per row: seeds 1 to N; rows are scored from 8 on [default: 8, or as many as a row needs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    seeds: Option<u64>,
    /// Draws of the figures in doubt on which base and test of each row are run too, each with a seed of its own; 0: none
    ///
    /// The model interval is over them: 19 at least for one of 90 %. They add a pair of runs per row and draw: with 24, all
    /// rows of all mails take four times as long.
    #[arg(long, value_name = "N", default_value = "0", allow_negative_numbers = true,
        value_parser = clap::value_parser!(u64).range(0..=100_000))]
    doubt: u64,
    /// Runs on draws take 1/N of each row's length [default: as published/MAIL.toml states, else all of it]
    #[arg(long, value_name = "N", conflicts_with = "quick", value_parser = clap::value_parser!(u32).range(1..=1000))]
    part_on_draws: Option<u32>,
    /// Run every row at the mail's own length; without this, some are shortened
    #[arg(long)]
    full_length: bool,
    /// Quick check: 3 seeds and a quarter of each row's length; the output is marked, and nothing is scored
    #[arg(long, conflicts_with_all = ["seeds", "full_length"])]
    quick: bool,
    #[command(flatten)]
    layout: Layout,
    #[command(flatten)]
    looks: Looks,
    #[command(flatten)]
    store: StoreOptions,
    #[command(flatten)]
    jobs: Jobs,
}

/// `--row` together with an option that works on whole tables.
#[derive(Debug, Error, Diagnostic)]
#[error("--update and --check work on whole tables, but --row leaves rows out")]
struct PartOfTable;

impl Reproduce {
    pub fn run(self) -> Result<End, Failure> {
        if self.layout.is_of_document() && !self.row.is_empty() {
            return Err(PartOfTable.into());
        }
        let request = self.request();
        let store = self.store.open()?;
        // So that errors of the setup and of the output are reported before hours of runs, not after.
        let writer = self.layout.open()?;
        let ready = request.ready()?;
        ready.warnings.iter().for_each(|warning| complain(&format!("warning: {warning}")));
        let (runs, stop) = (Runs::new(), stop_on_signals());
        let tell = |progress| runs.tell(progress);
        let result = match ready.carry_out(store.as_ref(), self.jobs.count(), &stop, &tell) {
            Err(RequestError::Batch(BatchError::Stopped)) => return Err(runs.interrupted(store.as_ref())),
            result => result?,
        };
        drop(runs);
        writer.write(&result)?;
        Ok(if result.failed { End::RunFailed } else { End::Done })
    }

    fn request(&self) -> Request {
        Request {
            mail: self.mail.clone(),
            rows: self.row.clone(),
            seeds: self.seeds,
            draws: self.doubt,
            part_on_draws: self.part_on_draws,
            full_length: self.full_length,
            quick: self.quick,
            supplements: self.looks.asked(),
            made_by: Some(made_by()),
            workers: Workers::default(),
        }
    }
}
