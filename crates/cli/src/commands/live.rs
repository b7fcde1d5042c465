//! `fairground live`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// What to do with the scheduler in the running kernel.
#[derive(Subcommand)]
pub enum LiveCommand {
    /// Start: all tasks of the fair class are scheduled by the policy until the command is interrupted
    Start(Start),
    /// Load the programs without starting them: what the kernel lacks, and what its verifier says of each program
    Check(Check),
    /// Say what the scheduler that runs has done: placements and picks by rule, migrations, latencies
    Status(Status),
    /// Write its events and placements to a trace, and ask the command's own policy about each placement again
    Record(Record),
    /// Turn features of the scheduler that runs on and off: +asym-prev-first -misfit-unlink
    Set(Set),
}

/// Loads the policy into the kernel and stays until it ends.
#[derive(Args)]
pub struct Start {
    /// Preset or file that describes this machine [default: as `machine capture` sees it]
    machine: Option<String>,
    /// Release and features of the policy: fair:v6.12+asym-prev-first
    #[arg(long, value_name = "SCHED", default_value = "fair:v6.12")]
    sched: String,
    /// The kernel's ticks per second [default: as its configuration says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    hz: Option<u32>,
    /// End after this time, s [default: when the command is interrupted]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: Option<u64>,
}

/// Asks the kernel about the programs.
#[derive(Args)]
pub struct Check {}

/// Reads the counters of the scheduler that runs.
#[derive(Args)]
pub struct Status {}

/// Records the scheduler that runs.
#[derive(Args)]
pub struct Record {
    /// What the trace says of this machine: preset or file [default: as `machine capture` sees it]
    machine: Option<String>,
    /// Write the trace to this file: dat for .dat, Perfetto for .perfetto-trace and .pftrace, else text [default: no trace, placements
    /// are only asked again]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Also write the reasons of every placement, for `fairground explain`
    #[arg(long, requires = "output")]
    why: bool,
    /// End after this time, s [default: when the command is interrupted]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: Option<u64>,
}

/// Writes features of the scheduler that runs.
#[derive(Args)]
pub struct Set {
    /// Changes: +NAME, -NAME, +NAME=VALUE
    #[arg(required = true, value_name = "CHANGE", allow_hyphen_values = true)]
    changes: Vec<String>,
}

#[cfg(feature = "live")]
mod built;
#[cfg(feature = "live")]
mod record;

#[cfg(not(feature = "live"))]
mod absent {
    use miette::Diagnostic;
    use thiserror::Error;

    use super::LiveCommand;
    use crate::error::{End, Failure};

    /// The command was built without it.
    #[derive(Debug, Error, Diagnostic)]
    #[error("this command was built without `fairground live`")]
    #[diagnostic(help(
        "build it with clang-19, llvm-19, python3 and libelf-dev: cargo build --release -p fairground-cli --features live"
    ))]
    struct Absent;

    impl LiveCommand {
        pub fn run(self) -> Result<End, Failure> {
            Err(Absent.into())
        }
    }
}
