//! Converts our text trace into a trace.dat file of version 6.
//!
//! It is made of the text and not of the events themselves, because lines of text are what survives when a run dies in
//! a worker. What cannot be known before the end (how many pages each CPU has, who ran) stands before the pages in the
//! file: pages wait in a second file until then.

mod events;
pub mod head;
mod pages;
mod record;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, Read, Write};

use thiserror::Error;

use self::events::{EVENTS, MODULE, PRINT};
use self::head::Head;
use self::pages::{Pages, PAGE};
use self::record::{Encoder, Problem};
use crate::text::{Line, Thread};

/// Longest line, bytes: our traces have shorter ones.
const LINE_MAX: u64 = 1 << 18;
/// Characters of a line that an error shows.
const SHOWN_MAX: usize = 120;
/// The function that writes trace_marker texts, at an address that a kernel could have.
const KALLSYMS: &str = "ffffffff81000000 T tracing_mark_write\n";
const HEADER_EVENT: &str = "# compressed entry header
\ttype_len    :    5 bits
\ttime_delta  :   27 bits
\tarray       :   32 bits

\tpadding     : type == 29
\ttime_extend : type == 30
\ttime_stamp : type == 31
\tdata max type_len  == 28
";

/// Why no file was written.
#[derive(Debug, Error)]
pub enum DatError {
    /// A line that does not occur in our traces.
    #[error("line {line} of the trace: expected {expected}, found {found:?}")]
    Line {
        /// Line number, from 1.
        line: u64,
        /// Description of the expected text.
        expected: String,
        /// The text or value that was found.
        found: String,
    },
    /// Reading the text or writing the file failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Converts what [`crate::FtraceText`] wrote for a machine of `nr_cpus` CPUs and writes it to `out`. `pages` is an
/// empty file for intermediate data. A last line without an end is skipped. Returns the number of events with a name or
/// text that was cut: a name has at most 15 bytes, a print and the fields `text` and `mark` 4 KB, any other text 256
/// bytes.
///
/// # Errors
/// If the text cannot be read, the file cannot be written, or the text is not one of our traces.
pub fn write(mut text: impl BufRead, nr_cpus: usize, pages: &File, mut out: impl Write) -> Result<u64, DatError> {
    let mut pages = Pages::new(nr_cpus, pages);
    let mut tasks = BTreeMap::new();
    let mut encoder = Encoder::new();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        (&mut text).take(LINE_MAX).read_until(b'\n', &mut line)?;
        let is_long = line.len() as u64 == LINE_MAX;
        let (end, line) = line.split_last().unwrap_or((&0, &[]));
        let line = String::from_utf8_lossy(line);
        let refused = |expected: String| DatError::Line { line: number, expected, found: shown(&line) };
        if *end != b'\n' {
            match is_long {
                true => return Err(refused(format!("a line of less than {LINE_MAX} bytes"))),
                false => break,
            }
        }
        let Some(line) = Line::parse(&line) else {
            return Err(refused("COMM-PID [CPU] SECONDS.FRACTION: EVENT: FIELDS".into()));
        };
        if line.cpu as usize >= nr_cpus {
            return Err(refused(format!("a CPU below {nr_cpus}")));
        }
        if let Some(Thread { comm, pid }) = line.context.filter(|ran| ran.pid != 0 && !tasks.contains_key(&ran.pid)) {
            tasks.insert(pid, comm.to_owned());
        }
        let record = encoder.encode(&line).map_err(|problem| match problem {
            Problem::Event => refused("an event of ours".into()),
            Problem::Field(key) => refused(format!("{} with {key}", line.event)),
        })?;
        pages.push(line.cpu as usize, line.time, record)?;
    }
    let pages = pages.finish()?;
    let tasks: String = tasks.iter().map(|(pid, comm)| format!("{pid} {comm}\n")).collect();
    let head = Head {
        page: PAGE,
        header_page: &pages::header(),
        header_event: HEADER_EVENT,
        ftrace: vec![events::format(&PRINT)],
        systems: systems(&encoder.used),
        kallsyms: KALLSYMS,
        tasks: &tasks,
        clock: "",
        sizes: &pages.sizes(),
    };
    out.write_all(&head.bytes())?;
    pages.copy(&mut out)?;
    out.flush()?;
    Ok(encoder.cut)
}

/// The beginning of a line.
fn shown(line: &str) -> String {
    line.chars().take(SHOWN_MAX).collect()
}

/// Systems, and the formats of their events: those of a module only if there are any.
fn systems(used: &[bool]) -> Vec<(String, Vec<String>)> {
    let mut systems: Vec<(String, Vec<String>)> = Vec::new();
    for (event, used) in EVENTS.iter().zip(used) {
        if event.system == MODULE && !used {
            continue;
        }
        let format = events::format(event);
        match systems.last_mut().filter(|(system, _)| system == event.system) {
            Some((_, formats)) => formats.push(format),
            None => systems.push((event.system.to_owned(), vec![format])),
        }
    }
    systems
}
