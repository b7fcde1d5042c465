//! Python exceptions of errors.

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

/// Bad input, with the command's words.
pub fn input(error: impl Diagnostic) -> PyErr {
    let mut text = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::none()).with_links(false).with_width(120);
    // Names of features have hyphens, and are to be copied whole.
    let handler = handler.with_word_splitter(WordSplitter::NoHyphenation);
    match handler.render_report(&mut text, &error) {
        Ok(()) => InputError::new_err(text.trim_end().to_owned()),
        Err(_) => InputError::new_err(error.to_string()),
    }
}

/// Bad input in words of our own.
pub fn refused(message: impl Into<String>) -> PyErr {
    InputError::new_err(message.into())
}

/// A run that failed.
pub fn failed(message: impl Into<String>) -> PyErr {
    RunFailed::new_err(message.into())
}
