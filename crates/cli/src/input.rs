//! Traces to read.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use fairground_trace::placements::Placements;
use fairground_trace::Reader;
use miette::Diagnostic;
use thiserror::Error;

use crate::error::Failure;
use crate::output::complain;

/// A file that cannot be opened.
#[derive(Debug, Error, Diagnostic)]
#[error("cannot read {path}: {cause}")]
struct CannotRead {
    path: String,
    cause: String,
}

/// A trace to explain.
pub type Trace = Placements<BufReader<File>>;

/// Opens a trace.
pub fn open_trace(path: &Path) -> Result<Reader<BufReader<File>>, Failure> {
    let name = path.display().to_string();
    let open = || {
        let file = File::open(path)?;
        match file.metadata()?.is_dir() {
            true => Err(io::ErrorKind::IsADirectory.into()),
            false => Ok(file),
        }
    };
    let cause = |e: io::Error| match e.kind() {
        io::ErrorKind::NotFound => "there is no such file".into(),
        kind => kind.to_string(),
    };
    let file = open().map_err(|e| CannotRead { path: name.clone(), cause: cause(e) })?;
    Ok(Reader::new(&name, BufReader::with_capacity(1 << 16, file)))
}

/// Tells what must be said of traces that were read.
pub fn trace_notes(notes: &[String]) {
    notes.iter().for_each(|note| complain(&format!("note: {note}")));
}
