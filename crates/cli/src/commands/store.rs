//! `fairground store`.

use std::path::PathBuf;

use clap::Subcommand;
use fairground_run::store::{Imported, Store};

use crate::error::{End, Failure};
use crate::output::{complain, print};

/// Stores: results of runs, which compare, reproduce and sweep reuse.
#[derive(Subcommand)]
pub enum StoreCommand {
    /// Write all results to one file, to be imported elsewhere
    Export {
        /// The store
        dir: PathBuf,
        /// The file; appears whole or not at all
        file: PathBuf,
    },
    /// Add the results of a file that this store lacks
    Import {
        /// The store; created if it does not exist
        dir: PathBuf,
        /// What `fairground store export` wrote
        file: PathBuf,
    },
}

impl StoreCommand {
    pub fn run(self) -> Result<End, Failure> {
        let said = match &self {
            StoreCommand::Export { dir, file } => {
                let Imported { new, damaged, .. } = open(dir)?.export(file)?;
                warn(damaged);
                format!("{new} results written to {}\n", file.display())
            }
            StoreCommand::Import { dir, file } => {
                let Imported { new, known, damaged } = open(dir)?.import(file)?;
                warn(damaged);
                format!("{new} new results, {known} known\n")
            }
        };
        print(&said)?;
        Ok(End::Done)
    }
}

fn open(dir: &std::path::Path) -> Result<Store, Failure> {
    let store = Store::open(dir)?;
    store.warnings().iter().for_each(|warning| complain(&format!("warning: {warning}")));
    Ok(store)
}

fn warn(damaged: usize) {
    if damaged > 0 {
        complain(&format!("warning: {damaged} results are damaged and were left out"));
    }
}
