//! Where results of runs are kept: options of the commands that make many.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;
use fairground_linux::build::user_cache;
use fairground_run::executor::Progress;
use fairground_run::store::Store;

use crate::error::Failure;
use crate::output::complain;
use crate::progress::Rest;

/// Whether results are kept, and where.
#[derive(Args)]
pub struct StoreOptions {
    /// Keep the result of each run here and begin where an earlier command stopped [default: results in
    /// $FAIRGROUND_CACHE, $XDG_CACHE_HOME/fairground or ~/.cache/fairground]
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Keep nothing, and run everything
    #[arg(long, conflicts_with = "store")]
    no_store: bool,
}

impl StoreOptions {
    /// The store; none if nothing is to be kept. What was found damaged in it goes to standard error.
    pub fn open(&self) -> Result<Option<Store>, Failure> {
        if self.no_store {
            return Ok(None);
        }
        let dir = match &self.store {
            Some(dir) => dir.clone(),
            None => user_cache()?.join("results"),
        };
        let store = Store::open(&dir)?;
        store.warnings().iter().for_each(|warning| complain(&format!("warning: {warning}")));
        Ok(Some(store))
    }
}

/// Shows on a terminal how far many runs are, and counts those that are on record.
pub struct Runs {
    rest: Rest,
    all: AtomicUsize,
    done: AtomicUsize,
}

impl Runs {
    /// Of runs that are not known yet.
    pub fn new() -> Runs {
        let [all, done] = [0, 0].map(AtomicUsize::new);
        Runs { rest: Rest::new(), all, done }
    }

    /// Takes the executor's news.
    pub fn tell(&self, progress: Progress) {
        match progress {
            Progress::Begun { runs, kept } => {
                self.all.store(runs, Ordering::Relaxed);
                self.done.store(kept, Ordering::Relaxed);
                self.rest.begin(runs, kept);
            }
            Progress::Done { left } => {
                self.done.fetch_add(1, Ordering::Relaxed);
                self.rest.step(left);
            }
            Progress::Trouble(what) => self.rest.aside(|| complain(&format!("warning: {what}"))),
        }
    }

    /// The command was interrupted: what is kept.
    pub fn interrupted(self, store: Option<&Store>) -> Failure {
        let (all, done) = (self.all.into_inner(), self.done.into_inner());
        Failure::Interrupted(match store {
            Some(store) => {
                let dir = store.dir().display();
                format!("interrupted: {done} of {all} runs are kept in {dir}; the same command goes on from there")
            }
            None => format!("interrupted after {done} of {all} runs; nothing is kept (--no-store)"),
        })
    }
}
