//! The `fairground` command.

mod circumstances;
mod commands;
mod error;
mod input;
mod logs;
mod output;
mod progress;
mod store;
mod workers;

use std::process::ExitCode;

use clap::Parser;
use fairground_run::worker;

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
    let command = Cli::parse().command;
    if let Command::Worker = command {
        return worker::serve(&worker::scheduler);
    }
    error::install();
    output::remove_unfinished_on_interrupt();
    error::exit_code(command.run())
}
