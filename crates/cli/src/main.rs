//! The `fairground` command.

mod commands;
mod complete;
mod error;
mod input;
mod logs;
mod output;
mod progress;
mod project;
mod provenance;
mod python;
mod renamed;
mod restore;
mod run_options;
mod seeds;
mod store;
mod terminal;
mod usage;
mod workers;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser};
use fairground_lab::tables::printable;
use fairground_linux::build::allow_any_library;
use fairground_run::worker;

use crate::commands::Command;
use crate::error::{Color, Failure};
use crate::project::{Defaults, ProjectError};
use crate::usage::UsageError;

/// A proving ground for the task placement of Linux's fair scheduler.
///
/// Exit codes: 0 done, 1 a run failed, 2 bad usage or bad input, 3 a --fail-if condition held; 130, 143 and 129 after Ctrl-C,
/// SIGTERM and SIGHUP. Defaults of options are taken from fairground.toml here or in a directory above.
#[derive(Parser)]
#[command(name = "fairground", version = provenance::VERSION, max_term_width = 120)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Let linux:PATH load libraries that `fairground kernel build` did not make here: their code runs as you
    #[arg(long, global = true)]
    allow_library: bool,
    /// No progress and no notes on standard error; warnings, errors and what a trace lacks stay
    #[arg(long, short, global = true)]
    quiet: bool,
    /// Colors of help and errors
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t)]
    color: Color,
}

impl Cli {
    fn parse_words(words: &[OsString], color: Color) -> Result<Cli, clap::Error> {
        Cli::from_arg_matches(&Cli::command().color(color.of_help()).try_get_matches_from(words)?)
    }
}

/// Prints help or the version, and exits; or returns the error in the arguments.
fn usage(error: &clap::Error, words: &[OsString]) -> Failure {
    use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    if let DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand = error.kind() {
        let plain = error.render().to_string();
        if printable(&plain) == plain {
            error.exit();
        }
    }
    let words: Vec<String> = words.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    UsageError::new(error, &words).into()
}

/// What the project file sets for the command of these words.
fn defaults(words: &[OsString]) -> Result<Defaults, ProjectError> {
    if project::is_needless(words) {
        return Ok(Defaults::default());
    }
    let file = std::env::current_dir().ok().and_then(|directory| project::find(&directory));
    file.map_or(Ok(Defaults::default()), |file| Defaults::read(&file, words, &Cli::command()))
}

/// The command of these words, completed from the project file. Keeps them for results and errors.
fn command_of(words: &[OsString]) -> Result<Cli, Failure> {
    let program = Cli::command();
    let defaults = defaults(words)?;
    let completed = defaults.complete(words, &program);
    let color = Color::from_words(&completed.words);
    error::install(color);
    let error = match Cli::parse_words(&completed.words, color) {
        Ok(cli) => {
            provenance::set_words(completed);
            return Ok(cli);
        }
        Err(error) => error,
    };
    if error.kind() == ErrorKind::MissingRequiredArgument {
        let tries = defaults.with_arguments(&completed, &program).into_iter();
        let parsed = tries.filter_map(|words| Some((Cli::parse_words(&words.words, color).ok()?, words))).next();
        if let Some((cli, words)) = parsed {
            provenance::set_words(words);
            return Ok(cli);
        }
    }
    let failure = usage(&error, &completed.words);
    provenance::set_words(completed);
    Err(failure)
}

fn main() -> ExitCode {
    fairground_play::go_on_after_exec();
    complete::answer_shell();
    let words: Vec<OsString> = std::env::args_os().collect();
    if words.get(1).is_some_and(|word| word == "worker") && words.len() == 2 {
        return worker::serve(&worker::scheduler);
    }
    let cli = match command_of(&words) {
        Ok(parsed) => parsed,
        Err(failure) => {
            error::install(Color::from_words(&words));
            return error::exit_code(Err(failure));
        }
    };
    if cli.allow_library {
        allow_any_library();
    }
    if cli.quiet {
        progress::hide();
        output::leave_out_notes();
    }
    output::remove_unfinished_on_signals();
    error::exit_code(cli.command.run())
}
