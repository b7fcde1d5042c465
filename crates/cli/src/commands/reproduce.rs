//! `fairground reproduce`.

mod ask;
mod options;
mod out;

use std::path::PathBuf;

use clap::Args;
use fairground_lab::campaign::News;
use fairground_lab::published::Mail;
use fairground_lab::reproduce::{self, quick};
use fairground_lab::stats::FEW_SEEDS;
use fairground_lab::store::Store;
use fairground_linux::build::user_cache;
use miette::Diagnostic;
use thiserror::Error;

use self::ask::Asking;
use self::options::{Layout, Looks};
use crate::circumstances::Jobs;
use crate::error::{End, Failure};
use crate::output::complain;
use crate::progress::Rest;

pub use self::ask::governor;

/// Repeats published figures and prints ours beside them.
#[derive(Args)]
pub struct Reproduce {
    /// First three digits of a mail, or all
    #[arg(default_value = "all")]
    mail: String,
    /// Only the rows with this in their ids, e.g. hackbench; may be given several times
    #[arg(long, value_name = "PART")]
    row: Vec<String>,
    /// Pairs of runs per row: seeds 1 to N; rows are scored from 8 on [default: 8, or as many as a row needs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    seeds: Option<u64>,
    /// Run every row at the mail's own length; some are shortened otherwise
    #[arg(long)]
    full_length: bool,
    /// A first look: 3 seeds, a quarter of each row's length; marked as such, and nothing is scored
    #[arg(long, conflicts_with_all = ["seeds", "full_length"])]
    quick: bool,
    #[command(flatten)]
    layout: Layout,
    #[command(flatten)]
    looks: Looks,
    /// Keep the result of each run here and begin where an earlier command stopped [default: reproduce in
    /// $FAIRGROUND_CACHE, $XDG_CACHE_HOME/fairground or ~/.cache/fairground]
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Keep nothing, and run everything
    #[arg(long, conflicts_with = "store")]
    no_store: bool,
    #[command(flatten)]
    jobs: Jobs,
}

/// No row was asked for.
#[derive(Debug, Error, Diagnostic)]
#[error("no published row has {parts} in its id")]
#[diagnostic(help("ids are {example} and so on"))]
struct NoRow {
    parts: String,
    example: String,
}

/// Part of a table is no table.
#[derive(Debug, Error, Diagnostic)]
#[error("--update and --check are of whole tables, and --row leaves some rows out")]
struct PartOfTable;

impl Reproduce {
    pub fn run(self) -> Result<End, Failure> {
        if self.layout.is_of_document() && !self.row.is_empty() {
            return Err(PartOfTable.into());
        }
        let mails = self.mails()?;
        let store = self.store()?;
        // What cannot be set up or written to is told before hours of runs, not after.
        let writer = self.layout.open()?;
        let (asked, campaign) = Asking::new(&self.looks, self.seeds, self.default_seeds()).of(&mails)?;
        let rest = Rest::new();
        let outcomes = campaign.carry_out(store.as_ref(), self.jobs.count(), &|news| match news {
            News::Begun { runs, kept } => rest.begin(runs, kept),
            News::Done { left } => rest.step(left),
            News::Trouble(what) => rest.aside(|| complain(&format!("warning: {what}"))),
        })?;
        drop(rest);
        let mut result = asked.result(&mails, &outcomes)?;
        result.quick = self.quick.then(quick::words);
        writer.write(&result)?;
        Ok(if result.failed { End::RunFailed } else { End::Done })
    }

    fn default_seeds(&self) -> u64 {
        if self.quick {
            quick::SEEDS
        } else {
            FEW_SEEDS as u64
        }
    }

    fn store(&self) -> Result<Option<Store>, Failure> {
        if self.no_store {
            return Ok(None);
        }
        let dir = match &self.store {
            Some(dir) => dir.clone(),
            None => user_cache()?.join("reproduce"),
        };
        Ok(Some(Store::open(&dir)?))
    }

    /// The rows that were asked for, at the length that was asked for.
    fn mails(&self) -> Result<Vec<Mail>, Failure> {
        let mut mails = match self.mail.as_str() {
            "all" => Mail::known().map(Mail::find).collect::<Result<Vec<_>, _>>()?,
            name => vec![Mail::find(name)?],
        };
        let example = mails.iter().flat_map(|m| &m.rows).map(|row| row.id.clone()).next();
        for mail in &mut mails {
            if !self.row.is_empty() {
                mail.keep(&self.row);
            }
            if self.full_length {
                mail.at_full_length();
            }
            if self.quick {
                reproduce::quick::shorten(mail);
            }
        }
        if mails.iter().all(|mail| mail.rows.is_empty()) {
            return Err(NoRow { parts: self.row.join(" or "), example: example.unwrap_or_default() }.into());
        }
        Ok(mails)
    }
}
