//! Options of commands that make many runs: the store of their results.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;
use fairground_linux::build::user_cache;
use fairground_run::executor::Progress;
use fairground_run::store::Store;

use crate::error::Failure;
use crate::output::complain;
use crate::progress::Rest;

/// Whether results are stored, and where.
#[derive(Args)]
pub struct StoreOptions {
    /// Store the result of each run here, and reuse the results that are here already [default: results in
    /// $FAIRGROUND_CACHE, $XDG_CACHE_HOME/fairground or ~/.cache/fairground]
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Store no results and reuse none
    #[arg(long, conflicts_with = "store")]
    no_store: bool,
}

impl StoreOptions {
    /// Opens the store; `None` with `--no-store`. Warnings about damage in it go to standard error.
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

/// Shows the progress of many runs on a terminal, and counts those whose results are stored.
pub struct Runs {
    rest: Rest,
    all: AtomicUsize,
    done: AtomicUsize,
}

impl Runs {
    /// Without a number of runs yet.
    pub fn new() -> Runs {
        let [all, done] = [0, 0].map(AtomicUsize::new);
        Runs { rest: Rest::new(), all, done }
    }

    /// Takes a progress message of the executor.
    pub fn tell(&self, progress: Progress) {
        match progress {
            Progress::Begun { runs, kept, time } => {
                self.all.store(runs, Ordering::Relaxed);
                self.done.store(kept, Ordering::Relaxed);
                self.rest.begin(runs, kept, time);
            }
            Progress::Done { left } => {
                self.done.fetch_add(1, Ordering::Relaxed);
                self.rest.step(left);
            }
            Progress::Trouble(what) => self.rest.aside(|| complain(&format!("warning: {what}"))),
        }
    }

    /// The message of an interrupted command, which says how many results are stored.
    pub fn interrupted(self, store: Option<&Store>) -> Failure {
        interrupted(self.done.into_inner() as u64, self.all.into_inner() as u64, store)
    }
}

/// The message of an interrupted command that has `done` of `all` results.
pub fn interrupted(done: u64, all: u64, store: Option<&Store>) -> Failure {
    Failure::Interrupted(match store {
        Some(store) => {
            let dir = store.dir().display();
            format!("interrupted: {done} of {all} results are stored in {dir}; the same command continues from there")
        }
        None => format!("interrupted after {done} of {all} runs; no results are stored (--no-store)"),
    })
}
