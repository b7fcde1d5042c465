//! Python exceptions of errors.

use fairground_run::store::StoreError;
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::PyErr;
use textwrap::WordSplitter;

create_exception!(
    fairground,
    InputError,
    PyValueError,
    "A machine, workload, scheduler or option that is not understood. The message is the command's: where it stands, what was expected, and the nearest name."
);
create_exception!(fairground, RunFailed, PyRuntimeError, "A run that began and failed on its way.");

create_exception!(fairground, SweepError, PyRuntimeError, "A sweep that cannot go on, or cannot begin.");
create_exception!(
    fairground,
    StoreRefused,
    SweepError,
    "A directory that cannot be used as a store: of another version, damaged and in use, or something else."
);
create_exception!(
    fairground,
    CannotKeep,
    SweepError,
    "A store that takes no more results, because the disk is full as a rule. What it took stays."
);

/// A store that cannot be used, with advice.
pub fn store_failed(error: StoreError) -> PyErr {
    let help = match &error {
        StoreError::Directory { .. } => None,
        error => error.help().map(|help| help.to_string()),
    };
    let text = help.iter().fold(error.to_string(), |text, help| format!("{text}: {help}"));
    match error {
        StoreError::Database { .. } => CannotKeep::new_err(text),
        _ => StoreRefused::new_err(text),
    }
}

/// Invalid input, with the message of the command.
pub fn input(error: impl Diagnostic) -> PyErr {
    let mut text = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::none()).with_links(false).with_width(120);
    // No line may break within the name of a feature, which has hyphens.
    let handler = handler.with_word_splitter(WordSplitter::NoHyphenation);
    match handler.render_report(&mut text, &error) {
        Ok(()) => InputError::new_err(text.trim_end().to_owned()),
        Err(_) => InputError::new_err(error.to_string()),
    }
}

/// Invalid input, with a message of this crate.
pub fn refused(message: impl Into<String>) -> PyErr {
    InputError::new_err(message.into())
}

/// A run that failed.
pub fn failed(message: impl Into<String>) -> PyErr {
    RunFailed::new_err(message.into())
}
