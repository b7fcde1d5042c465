//! Opens a trace file: which format it has, and which reader gives its events.
//!
//! A format is known by how a file begins, never by the file's name: traces get renamed.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek};
use std::path::Path;
use std::rc::Rc;

use fairground_machine::why_unread;

use crate::dat::{self, DatReader};
use crate::perfetto::{begins_like_one, PerfettoReader};
use crate::source::EventSource;
use crate::text::{Reader, TraceError};

/// Bytes that a format may be known by.
const HEAD: usize = 64;

/// How files begin that are compressed as a whole, and the program that did it.
const COMPRESSED: [(&[u8], &str); 4] = [
    (&[0x1f, 0x8b], "gzip"),
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"),
    (b"BZh", "bzip2"),
];

/// Opens a trace of any known format. A format that is read in order may be a pipe.
///
/// # Errors
/// If the file cannot be opened, or begins like a format and does not continue like it.
pub fn open(path: &Path) -> Result<Box<dyn EventSource>, TraceError> {
    open_watched(path).map(|(source, _)| source)
}

/// Progress of reading a file.
#[derive(Clone, Debug)]
pub struct Position {
    read: Rc<Cell<u64>>,
    size: Option<u64>,
}

impl Position {
    /// Bytes read so far, and the size of the file; `None` for a pipe.
    pub fn bytes_and_size(&self) -> Option<(u64, u64)> {
        self.size.map(|size| (self.read.get().min(size), size))
    }
}

/// A file that counts the bytes read.
struct CountingReader {
    file: File,
    read: Rc<Cell<u64>>,
}

impl CountingReader {
    fn count(&self, read: io::Result<usize>) -> io::Result<usize> {
        read.inspect(|n| self.read.set(self.read.get().saturating_add(*n as u64)))
    }
}

impl Read for CountingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer);
        self.count(read)
    }
}

impl dat::ReadAt for CountingReader {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        self.count(dat::ReadAt::read_at(&self.file, buffer, at))
    }

    fn size(&self) -> io::Result<u64> {
        dat::ReadAt::size(&self.file)
    }
}

/// Like [`open`], and also returns the position of the reader in the file.
///
/// # Errors
/// As [`open`].
pub fn open_watched(path: &Path) -> Result<(Box<dyn EventSource>, Position), TraceError> {
    let name = path.display().to_string();
    let cannot = |e: io::Error| TraceError::Io { file: name.clone(), cause: why_unread(&e) };
    let file = File::open(path).map_err(cannot)?;
    let metadata = file.metadata().map_err(cannot)?;
    if metadata.is_dir() {
        return Err(cannot(io::ErrorKind::IsADirectory.into()));
    }
    let position = Position { read: Rc::default(), size: metadata.is_file().then_some(metadata.len()) };
    let mut file = CountingReader { file, read: Rc::clone(&position.read) };
    let mut head = Vec::with_capacity(HEAD);
    (&mut file).take(HEAD as u64).read_to_end(&mut head).map_err(cannot)?;
    if head.is_empty() && metadata.is_file() {
        return Err(TraceError::Empty { file: name });
    }
    if head.starts_with(dat::SIGNATURE) {
        return match file.file.stream_position() {
            Ok(_) => Ok((Box::new(DatReader::new(&name, file)?), position)),
            Err(_) => Err(TraceError::Io { file: name, cause: "a trace.dat cannot be read from a pipe".into() }),
        };
    }
    if dat::PERF_SIGNATURES.iter().any(|signature| head.starts_with(signature)) {
        return match file.file.stream_position() {
            Ok(_) => Ok((Box::new(dat::PerfDataReader::new(&name, file)?), position)),
            Err(_) => Err(TraceError::Io { file: name, cause: "a perf.data cannot be read from a pipe".into() }),
        };
    }
    if let Some((_, by)) = COMPRESSED.iter().find(|(begin, _)| head.starts_with(begin)) {
        return Err(TraceError::Compressed { file: name, by });
    }
    let perfettos = begins_like_one(&head);
    let whole = BufReader::with_capacity(1 << 16, Cursor::new(head).chain(file));
    let source: Box<dyn EventSource> = match perfettos {
        true => Box::new(PerfettoReader::new(&name, whole)),
        false => Box::new(Reader::new(&name, whole)),
    };
    Ok((source, position))
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

    /// The length of a pipe is not known.
    #[test]
    fn how_far_a_file_has_been_read_is_known() {
        let line = "a-1 [000] 1.5: sched_waking: comm=b pid=2 prio=120 target_cpu=0\n";
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(line.repeat(10_000).as_bytes()).unwrap();
        let size = 10_000 * line.len() as u64;
        let (mut source, position) = open_watched(file.path()).unwrap();
        assert_eq!(position.bytes_and_size(), Some((HEAD as u64, size)));
        source.next_event().unwrap();
        assert!(
            position.bytes_and_size().is_some_and(|(read, _)| (HEAD as u64..size / 2).contains(&read)),
            "{position:?}"
        );
        while source.next_event().unwrap().is_some() {}
        assert_eq!(position.bytes_and_size(), Some((size, size)));
        assert_eq!(open_watched(Path::new("/dev/null")).unwrap().1.bytes_and_size(), None);
    }

    #[test]
    fn what_is_compressed_is_told_so() {
        for (begin, by) in COMPRESSED {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(&[begin, b"more"].concat()).unwrap();
            let error = open(file.path()).err().unwrap();
            let name = file.path().display();
            assert_eq!(error.to_string(), format!("{name} is compressed by {by}, expected a trace"));
            let help = miette::Diagnostic::help(&error).unwrap().to_string();
            assert_eq!(help, format!("unpack it first: `{by} -dk {name}`"));
        }
    }

    #[test]
    fn what_cannot_be_opened_is_named() {
        let message = |path: &str| open(Path::new(path)).err().map(|e| e.to_string());
        assert_eq!(message("no/such.dat").as_deref(), Some("cannot read no/such.dat: there is no such file"));
        assert_eq!(message("/").as_deref(), Some("cannot read /: is a directory"));
    }
}
