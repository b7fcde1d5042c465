//! Traces of runs as trace.dat files.

use std::fs::File;
use std::io::{BufReader, Seek, Write};

use fairground_trace::dat;

use crate::error::{run_failed, Failure};
use crate::output::{note, OutputFile};

/// A second handle of the open file.
pub fn copy(file: &File) -> Result<File, Failure> {
    file.try_clone().map_err(|e| run_failed(format!("cannot keep the trace: {e}")))
}

/// Makes a trace.dat from the text of a run on `nr_cpus` CPUs.
pub fn make(mut text: File, nr_cpus: usize, output: &mut OutputFile) -> Result<(), Failure> {
    let pages = output.scratch()?;
    let read = text.rewind().map(|()| BufReader::with_capacity(1 << 16, text));
    let made = read.map_err(dat::DatError::from).and_then(|text| dat::write(text, nr_cpus, &pages, output.by_ref()));
    let cut = made.map_err(|e| run_failed(format!("cannot write {}: {e}", output.path().display())))?;
    if cut > 0 {
        let file = output.path().display();
        note(&format!("{file}: {cut} events have names over 15 bytes or texts over 4 KB, which are cut"));
    }
    Ok(())
}
