//! Supplementary analyses and output of `reproduce`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fairground_lab::reproduce;

/// Layouts of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum RowFormat {
    /// Text tables for a terminal
    #[default]
    Text,
    /// Markdown tables
    Markdown,
    /// One line per row
    Csv,
    /// JSON in the documented schema (docs/json.md)
    Json,
    /// A self-contained page with plots
    Html,
}

/// Output layout and file.
#[derive(Args)]
pub struct Layout {
    /// How to print the rows
    #[arg(long, value_enum, default_value_t)]
    pub format: RowFormat,
    /// Write to this file instead, whole or not at all
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace the generated tables between the markers of a document, or of the pages of a directory, instead of
    /// printing
    #[arg(long, value_name = "PATH", conflicts_with_all = ["output", "format", "check"])]
    pub update: Option<PathBuf>,
    /// Compare the generated tables of a document with these results instead of printing; exit code 1 if they differ
    #[arg(long, value_name = "PATH", conflicts_with_all = ["output", "format"])]
    pub check: Option<PathBuf>,
}

/// Supplementary analyses.
#[derive(Args)]
pub struct Looks {
    /// Attribute each row's change to cost terms: run the row again with each term switched off
    #[arg(long)]
    pub attribute_costs: bool,
    /// Split each row's change by the features between base and test: added one by one, and left out one at a time
    #[arg(long, alias = "each-patch")]
    pub each_feature: bool,
    /// Vary the parameters that the mail leaves open: run the rows at N points and report at how many each sign holds
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "32",
        value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub robustness: Option<u16>,
    /// Pairs of runs at each point of --robustness: seeds 1 to N
    #[arg(long, value_name = "N", default_value = "2", requires = "robustness",
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub robustness_seeds: u64,
    /// Repeat the judged rows with every estimate of their machines 30 % up and 30 % down, one at a time, and
    /// report which rows change sign or verdict by which figure; takes long without --quick
    #[arg(long)]
    pub sensitivity: bool,
    /// Only these rows, by a part of their ids; may be given several times
    #[arg(long, value_name = "PART", requires = "sensitivity")]
    pub sensitivity_rows: Vec<String>,
    /// Pairs of runs with each perturbed figure: seeds 1 to N
    #[arg(long, value_name = "N", default_value = "2", requires = "sensitivity",
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub sensitivity_seeds: u64,
}

impl Looks {
    /// The analyses as the library takes them.
    pub fn asked(&self) -> reproduce::Supplements {
        reproduce::Supplements {
            attribute_costs: self.attribute_costs,
            each_feature: self.each_feature,
            robustness: self.robustness,
            robustness_seeds: self.robustness_seeds,
            sensitivity: self.sensitivity,
            sensitivity_rows: self.sensitivity_rows.clone(),
            sensitivity_seeds: self.sensitivity_seeds,
        }
    }
}
