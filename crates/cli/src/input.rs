//! Traces to read.

use std::path::Path;

use fairground_trace::{open, Source};

use crate::error::Failure;
use crate::output::complain;

/// Opens a trace.
pub fn open_trace(path: &Path) -> Result<Box<dyn Source>, Failure> {
    Ok(open(path)?)
}

/// Tells what must be said of traces that were read.
pub fn trace_notes(notes: &[String]) {
    notes.iter().for_each(|note| complain(&format!("note: {note}")));
}
