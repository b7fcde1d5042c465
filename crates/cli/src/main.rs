//! The `fairground` command.

mod commands;
mod error;
mod input;
mod logs;
mod output;
mod progress;
mod provenance;
mod renamed;
mod restore;
mod run_options;
mod store;
mod terminal;
mod workers;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::Parser;
use fairground_lab::tables::printable;
use fairground_linux::build::allow_any_library;
use fairground_run::worker;

use crate::commands::Command;

/// A proving ground for the task placement of Linux's fair scheduler.
///
/// Exit codes: 0 done, 1 a run failed, 2 bad usage or bad input, 3 a --fail-if condition held.
#[derive(Parser)]
#[command(name = "fairground", version = provenance::VERSION, max_term_width = 120)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Let linux:PATH load libraries that `fairground kernel build` did not make here: their code runs as you
    #[arg(long, global = true)]
    allow_library: bool,
}

/// Prints help or the error in the arguments, and exits.
fn usage(error: &clap::Error) -> ! {
    let words: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let fault = !matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if let Some(replacement) = renamed::replacement(&words).filter(|_| fault) {
        output::complain(&format!("error: {replacement}"));
        std::process::exit(error.exit_code());
    }
    let plain = error.render().to_string();
    if printable(&plain) == plain {
        error.exit();
    }
    output::complain(&plain);
    std::process::exit(error.exit_code())
}

fn main() -> ExitCode {
    fairground_play::go_on_after_exec();
    let command = match Cli::try_parse() {
        Ok(cli) => {
            if cli.allow_library {
                allow_any_library();
            }
            cli.command
        }
        Err(error) => usage(&error),
    };
    if let Command::Worker = command {
        return worker::serve(&worker::scheduler);
    }
    error::install();
    output::remove_unfinished_on_signals();
    error::exit_code(command.run())
}
