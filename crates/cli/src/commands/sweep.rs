//! `fairground sweep`: grids are carried out and written here, designs, Parquet, reports and farms by the Python package.

mod grid;

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;
use fairground_lab::sweep_table::SweepFormat;
use fairground_run::sweep_file::{Design, SweepFile};
use miette::Diagnostic;
use thiserror::Error;

use crate::error::{End, Failure};
use crate::output::print;
use crate::python;

/// Carries out an experiment: many runs over machines, workloads, schedulers, features and figures.
///
/// Ctrl-C and kills lose only the unfinished runs: the same command continues from there. Designs other than a grid,
/// Parquet, reports and farms are the Python package's, with the interpreter that $FAIRGROUND_PYTHON names, that of the virtual
/// environment of this command, or python3.
#[derive(Args)]
pub struct Sweep {
    /// Experiment file (TOML)
    file: PathBuf,
    /// Store the result of each run here, and reuse the results that are here already [default: sweeps/NAME in
    /// $FAIRGROUND_CACHE, $XDG_CACHE_HOME/fairground or ~/.cache/fairground]
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Threads to run on; results do not depend on it [default: all CPUs]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Run on the workers of this Dask scheduler instead
    #[arg(long, value_name = "ADDRESS", conflicts_with = "jobs")]
    dask: Option<String>,
    /// Allow more than 1,000,000 runs
    #[arg(long)]
    yes: bool,
    /// Repeat runs that failed before
    #[arg(long)]
    retry: bool,
    /// Run nothing: check all of the file, and say how many runs it has
    #[arg(long, conflicts_with_all = ["jobs", "dask", "retry", "status", "output", "report"])]
    check: bool,
    /// Run nothing: show the results so far; another command may write meanwhile
    #[arg(long, conflicts_with_all = ["jobs", "dask", "retry"])]
    status: bool,
    /// Write the table to FILE, .csv, .json or .parquet
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write effects, indices and regressions to FILE, .html
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// The name of the table's file does not say how to write it.
#[derive(Debug, Error, Diagnostic)]
#[error("--output {file}: expected a name that ends in .csv, .json or .parquet")]
struct UnknownTable {
    file: String,
}

/// The package writes no JSON.
#[derive(Debug, Error, Diagnostic)]
#[error("--output {file}: JSON is for grids that this command carries out itself")]
#[diagnostic(help("name a .csv or .parquet file, or leave out --dask and --report"))]
struct NoJson {
    file: String,
}

/// Who writes a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TableFormat {
    Ours(SweepFormat),
    Package,
}

impl TableFormat {
    /// By the end of the file's name; what is no regular file is left to the package.
    fn find(file: &Path) -> Result<TableFormat, UnknownTable> {
        let is_special = || std::fs::metadata(file).is_ok_and(|found| !found.is_file());
        match file.extension().and_then(OsStr::to_str) {
            Some("csv") => Ok(TableFormat::Ours(SweepFormat::Csv)),
            Some("json") => Ok(TableFormat::Ours(SweepFormat::Json)),
            Some("parquet") => Ok(TableFormat::Package),
            _ if is_special() => Ok(TableFormat::Package),
            _ => Err(UnknownTable { file: file.display().to_string() }),
        }
    }
}

impl Sweep {
    pub fn run(self) -> Result<End, Failure> {
        let sweep = SweepFile::load(&self.file)?;
        if self.check {
            print(&contents(&sweep))?;
            return Ok(End::Done);
        }
        let table = self.output.as_deref().map(TableFormat::find).transpose()?;
        let is_pythons = self.dask.is_some() || self.report.is_some() || table == Some(TableFormat::Package);
        match (sweep.design, table) {
            (Design::Grid, None | Some(TableFormat::Package)) if !is_pythons => self.grid(sweep, None),
            (Design::Grid, Some(TableFormat::Ours(format))) if !is_pythons => self.grid(sweep, Some(format)),
            (_, Some(TableFormat::Ours(SweepFormat::Json))) => {
                Err(NoJson { file: self.output.unwrap_or_default().display().to_string() }.into())
            }
            _ => Err(python::sweep(self.words()).into()),
        }
    }

    /// The arguments of the package. Values are joined to their options, as they may begin with a dash.
    fn words(self) -> Vec<OsString> {
        let paths = [("--store", self.store), ("--output", self.output), ("--report", self.report)];
        let paths = paths.map(|(name, path)| (name, path.map(PathBuf::into_os_string)));
        let others = [("--jobs", self.jobs.map(|n| n.to_string())), ("--dask", self.dask)];
        let others = others.map(|(name, value)| (name, value.map(OsString::from)));
        let values = paths.into_iter().chain(others).filter_map(|(name, value)| Some((name, value?)));
        let joined = values.map(|(name, value)| {
            let mut word = OsString::from(name);
            word.push("=");
            word.push(value);
            word
        });
        let flags = [("--yes", self.yes), ("--retry", self.retry), ("--status", self.status)];
        let flags = flags.into_iter().filter(|(_, on)| *on).map(|(name, _)| name.into());
        joined.chain(flags).chain(["--".into(), self.file.into_os_string()]).collect()
    }
}

/// What a file asks for.
fn contents(sweep: &SweepFile) -> String {
    let design = match sweep.design {
        Design::Grid => "grid",
        Design::Random => "random",
        Design::Sobol => "sobol",
        Design::Saltelli => "saltelli",
    };
    let mut out = format!("{}: {design}, {} runs with seeds 1 to {}\n", sweep.name, sweep.size(), sweep.seeds);
    for (name, value) in &sweep.fixed {
        let _ = writeln!(out, "  {name}: {value}");
    }
    for (name, value) in &sweep.settings {
        let _ = writeln!(out, "  {name}: {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    }
    for axis in &sweep.axes {
        let _ = writeln!(out, "  axis {}: {}", axis.name, axis.levels_in_words());
    }
    out
}
