//! `fairground diff`.

use std::path::PathBuf;

use clap::Args;
use fairground_lab::explain::Differing;

use super::run::RunFormat;
use crate::error::{End, Failure};
use crate::input::to_be_read_twice;
use crate::output::print;

/// Compares the placements of two traces: the first one that differs, and how many decisions moved from rule to rule.
#[derive(Args)]
pub struct Diff {
    /// Trace of `fairground run` under the base scheduler
    base: PathBuf,
    /// Trace of the same run under the scheduler under test
    test: PathBuf,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: RunFormat,
}

impl Diff {
    pub fn run(self) -> Result<End, Failure> {
        [&self.base, &self.test].into_iter().try_for_each(|path| to_be_read_twice(path, "diff"))?;
        let differing = Differing::of(&self.base, &self.test)?;
        print(&match self.format {
            RunFormat::Text => differing.text(),
            RunFormat::Json => differing.json(),
        })?;
        Ok(End::Done)
    }
}
