//! How commands end, and how errors look.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::io::IsTerminal;
use std::process::ExitCode;

use clap::ValueEnum;
use miette::{Diagnostic, MietteHandler, MietteHandlerOpts, Report, ReportHandler};
use textwrap::WordSplitter;

use crate::terminal::Printable;

/// How a command ends when it does not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Exit status 0: the command has done what was requested.
    Done,
    /// Exit status 1: some runs failed; what was computed has been printed.
    RunFailed,
    /// Exit status 3: a `--fail-if` condition held.
    ConditionHeld,
}

impl End {
    /// The end after `--fail-if`: prints a line for each condition that held. A run that failed weighs more.
    pub fn unless_held(self, held: &[String]) -> End {
        held.iter().for_each(|line| crate::output::complain(line));
        match (self, held.is_empty()) {
            (End::Done, false) => End::ConditionHeld,
            (end, _) => end,
        }
    }
}

/// Why a command fails.
#[derive(Debug)]
pub enum Failure {
    /// Exit status 1: a run failed, or a result could not be written.
    Run(Report),
    /// Exit status 2: the input or the command line is wrong.
    Input(Report),
    /// A signal stopped the command; exit status as a shell reports death by it, 130 after Ctrl-C. The text says which results are stored.
    Interrupted(String),
}

impl Failure {
    /// The error in one line, without what would help.
    pub fn words(&self) -> String {
        match self {
            Failure::Run(report) | Failure::Input(report) => report.to_string(),
            Failure::Interrupted(said) => said.clone(),
        }
    }
}

/// An error counts as bad input unless it is made with [`run_failed`].
impl<E: Diagnostic + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::Input(Report::new(error))
    }
}

/// A run that failed, or a result that could not be written.
pub fn run_failed(message: impl std::fmt::Display) -> Failure {
    Failure::Run(Report::msg(message.to_string().trim_end().to_owned()))
}

/// When output has colors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    /// As the words of a command say, before they are parsed: errors in them have colors, too. The last word counts.
    pub fn from_words(words: &[OsString]) -> Color {
        let after = words.windows(2).filter(|pair| pair[0] == "--color").map(|pair| pair[1].to_string_lossy());
        let joined = words.iter().filter_map(|word| word.to_str()?.strip_prefix("--color=").map(Cow::Borrowed));
        after.chain(joined).filter_map(|word| Color::from_str(&word, false).ok()).next_back().unwrap_or_default()
    }

    /// As clap takes it, for its help.
    pub fn of_help(self) -> clap::ColorChoice {
        match self {
            Color::Auto => clap::ColorChoice::Auto,
            Color::Always => clap::ColorChoice::Always,
            Color::Never => clap::ColorChoice::Never,
        }
    }
}

/// Draws errors with colors on a terminal, and without where they are piped or `NO_COLOR` is set; or as `color` says.
pub fn install(color: Color) {
    let terminal = std::io::stderr().is_terminal();
    let color = match color {
        Color::Auto => terminal && std::env::var_os("NO_COLOR").is_none(),
        Color::Always => true,
        Color::Never => false,
    };
    // Fails only if a hook is there already.
    let _ = miette::set_hook(Box::new(move |_| {
        let options = MietteHandlerOpts::new().terminal_links(false).unicode(terminal).color(color).width(120);
        // Names of features have hyphens, and are to be copied whole.
        let options = options.word_splitter(WordSplitter::NoHyphenation);
        Box::new(Handler(options.build()))
    }));
}

/// Draws errors without the control characters of inputs.
struct Handler(MietteHandler);

impl ReportHandler for Handler {
    fn debug(&self, error: &dyn Diagnostic, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.debug(&Printable::from_diagnostic(error), f)
    }
}

/// Prints the error, if any, and returns the exit code.
pub fn exit_code(outcome: Result<End, Failure>) -> ExitCode {
    let (code, report) = match outcome {
        Ok(End::Done) => return ExitCode::SUCCESS,
        Ok(End::RunFailed) => return ExitCode::from(1),
        Ok(End::ConditionHeld) => return ExitCode::from(3),
        Err(Failure::Interrupted(said)) => {
            crate::output::complain(&said);
            return ExitCode::from(crate::output::status_of_signal());
        }
        Err(Failure::Run(report)) => (1, report),
        Err(Failure::Input(report)) => (2, report),
    };
    let drawn = format!("{report:?}");
    crate::output::complain_drawn(&drawn);
    let taken = crate::provenance::taken_options(&drawn);
    if !taken.is_empty() {
        let is_from = if taken.len() == 1 { "is" } else { "are" };
        crate::output::complain(&format!("{} {is_from} from fairground.toml", taken.join(" and ")));
    }
    ExitCode::from(code)
}
