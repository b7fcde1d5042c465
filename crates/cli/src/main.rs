//! The `fairground` command.

mod circumstances;
mod commands;
mod error;
mod input;
mod output;
mod progress;

use std::process::ExitCode;

use clap::Parser;

use crate::commands::Command;

/// A proving ground for the task placement of Linux's fair scheduler.
///
/// Exit codes: 0 done, 1 a run failed, 2 bad usage or bad input, 3 a --fail-if condition held.
#[derive(Parser)]
#[command(name = "fairground", version, max_term_width = 120)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    error::install();
    output::remove_unfinished_on_interrupt();
    let outcome = Cli::parse().command.run();
    error::exit_code(outcome)
}
