//! Traces to read.

use std::path::{Path, PathBuf};

use clap::builder::{PathBufValueParser, TypedValueParser};
use fairground_trace::{open, EventSource};
use miette::Diagnostic;
use thiserror::Error;

use crate::error::Failure;
use crate::output::complain;

/// Takes the path of a trace that is read once; `-` is standard input.
pub fn trace_path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(|path| if path == Path::new("-") { "/dev/stdin".into() } else { path })
}

/// A trace that cannot be read a second time.
#[derive(Debug, Error, Diagnostic)]
#[error("{file} is not a regular file: {reader} reads traces twice")]
struct NotTwice {
    file: String,
    reader: &'static str,
}

/// Whether a trace can be read only once, as a pipe can.
pub fn is_read_once(trace: &Path) -> bool {
    std::fs::metadata(trace).is_ok_and(|m| !m.is_file() && !m.is_dir())
}

/// Refuses a trace that can be read only once. `reader`: the command that reads it twice, for the message.
pub fn to_be_read_twice(trace: &Path, reader: &'static str) -> Result<(), Failure> {
    match is_read_once(trace) {
        true => Err(NotTwice { file: trace.display().to_string(), reader }.into()),
        false => Ok(()),
    }
}

/// Opens a trace in any of the supported formats.
pub fn open_trace(path: &Path) -> Result<Box<dyn EventSource>, Failure> {
    Ok(open(path)?)
}

/// Prints the notes of traces that were read to standard error.
pub fn trace_notes(notes: &[String]) {
    notes.iter().for_each(|note| complain(&format!("note: {note}")));
}
