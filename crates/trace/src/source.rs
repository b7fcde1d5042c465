//! Where events come from: one interface to the readers of all formats, and the choice among them.
//!
//! A format is known by how a file begins, never by the file's name: traces get renamed.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek};
use std::path::Path;

use crate::dat::{self, DatReader};
use crate::perfetto::{begins_like_one, PerfettoReader};
use crate::text::{Reader, TraceError, TraceEvent};

/// Bytes that a format may be known by.
const HEAD: usize = 64;

/// Gives the events of a trace one by one, in the order of their times.
pub trait Source {
    /// The next event that is known; none at the end.
    ///
    /// # Errors
    /// What cannot be part of such a trace, or a known event that lacks a field. A trace that ends too early is no
    /// error: [`Self::notes`] tells.
    fn next_event(&mut self) -> Result<Option<TraceEvent<'_>>, TraceError>;

    /// Events of other kinds that were passed over so far.
    fn unknown(&self) -> u64;

    /// What must be said of the trace, once it has been read: what was lost, and what had to be passed over.
    fn notes(&self) -> Vec<String>;

    /// An error about the last event given: the reader knows where it stands.
    fn unexpected(&self, expected: &str) -> TraceError;
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn next_event(&mut self) -> Result<Option<TraceEvent<'_>>, TraceError> {
        (**self).next_event()
    }

    fn unknown(&self) -> u64 {
        (**self).unknown()
    }

    fn notes(&self) -> Vec<String> {
        (**self).notes()
    }

    fn unexpected(&self, expected: &str) -> TraceError {
        (**self).unexpected(expected)
    }
}

/// Whether the bits of an event's `common_flags` tell of a hard interrupt, a soft one, or an NMI.
pub(crate) fn in_interrupt(common_flags: u64) -> bool {
    common_flags & (0x08 | 0x10 | 0x40) != 0
}

/// Opens a trace of any format that is known. A pipe will do for those that need not jump about in the file.
///
/// # Errors
/// A file that cannot be opened, or that begins like a format and does not go on like it.
pub fn open(path: &Path) -> Result<Box<dyn Source>, TraceError> {
    let name = path.display().to_string();
    let cannot = |e: io::Error| {
        let cause = match e.kind() {
            io::ErrorKind::NotFound => "there is no such file".into(),
            kind => kind.to_string(),
        };
        TraceError::Io { file: name.clone(), cause }
    };
    let mut file = File::open(path).map_err(cannot)?;
    if file.metadata().map_err(cannot)?.is_dir() {
        return Err(cannot(io::ErrorKind::IsADirectory.into()));
    }
    let mut head = Vec::with_capacity(HEAD);
    (&mut file).take(HEAD as u64).read_to_end(&mut head).map_err(cannot)?;
    if head.starts_with(dat::SIGNATURE) {
        return match file.stream_position() {
            Ok(_) => Ok(Box::new(DatReader::new(&name, file)?)),
            Err(_) => {
                Err(TraceError::Io { file: name, cause: "a trace.dat is no trace to be read from a pipe".into() })
            }
        };
    }
    let perfettos = begins_like_one(&head);
    let whole = BufReader::with_capacity(1 << 16, Cursor::new(head).chain(file));
    Ok(match perfettos {
        true => Box::new(PerfettoReader::new(&name, whole)),
        false => Box::new(Reader::new(&name, whole)),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn text_is_read_from_its_first_byte_on() {
        let line = "a-1 [000] 1.5: sched_waking: comm=b pid=2 prio=120 target_cpu=0\n";
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(line.repeat(3).as_bytes()).unwrap();
        let mut source = open(file.path()).unwrap();
        for _ in 0..3 {
            assert_eq!(source.next_event().unwrap().map(|e| e.time), Some(1_500_000_000));
        }
        assert!(source.next_event().unwrap().is_none());
    }

    #[test]
    fn what_cannot_be_opened_is_named() {
        let message = |path: &str| open(Path::new(path)).err().map(|e| e.to_string());
        assert_eq!(message("no/such.dat").as_deref(), Some("cannot read no/such.dat: there is no such file"));
        assert_eq!(message("/").as_deref(), Some("cannot read /: is a directory"));
    }
}
