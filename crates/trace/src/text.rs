//! Reads ftrace text in these forms: that of [`crate::FtraceText`], of the kernel's `trace` file, of `trace-cmd report`
//! with and without `-R`, and of `perf script`.
//!
//! ```
//! use fairground_trace::{EventSource, Reader, TraceEventKind};
//! let text = "bash-7 [001] d..2. 5.000001: sched_migrate_task: comm=a b pid=9 prio=120 orig_cpu=1 dest_cpu=0\n";
//! let mut reader = Reader::new("trace.txt", text.as_bytes());
//! let event = reader.next_event()?.expect("an event");
//! assert_eq!((event.time, event.cpu, event.context.comm), (5_000_001_000, 1, "bash"));
//! assert!(matches!(event.what, TraceEventKind::Migrate { task, from: 1, to: 0 } if task.comm == "a b"));
//! assert!(reader.next_event()?.is_none());
//! # Ok::<(), fairground_trace::TraceError>(())
//! ```

mod fields;
mod hint;
mod line;
mod running;

use std::io::{BufRead, Read};

use miette::Diagnostic;
use thiserror::Error;

pub use fields::{named, value, PrevState, TraceEventKind};
use hint::hint;
use line::digits;
pub(crate) use line::Line;

use crate::names::OURS;
use crate::note::Note;
use crate::source::{push_sanitized, skipped_note};
use crate::EventSource;
use running::Running;

/// The longest line of a text trace, bytes; a longer one means that the file is not text.
const LINE_MAX: u64 = 65_536;

/// Lines that are no part of a trace, before its first event: with more of them the file is not one.
const BAD_BEFORE_EVENTS_MAX: u64 = 1000;

/// Characters of a line that an error shows.
const SHOWN_MAX: usize = 80;

/// A thread as a trace names it; pid 0 is a CPU's idle task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread<'a> {
    /// The thread's name, as the trace prints it.
    pub comm: &'a str,
    /// The thread's pid; 0: an idle task.
    pub pid: u32,
}

/// One event of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent<'a> {
    /// Time of the trace clock, ns.
    pub time: u64,
    /// CPU on which the event was recorded.
    pub cpu: u32,
    /// Thread that was current on that CPU.
    pub context: Thread<'a>,
    /// Whether it happened in a hard or soft interrupt, by the flags of the event; false where a trace has no flags.
    pub in_interrupt: bool,
    /// The event with its fields.
    pub what: TraceEventKind<'a>,
}

/// Why a trace cannot be read.
#[derive(Debug, Error, Diagnostic)]
pub enum TraceError {
    /// A line that is not an event, or an event that lacks a field.
    #[error("{file}:{line}: expected {expected}, found {found:?}")]
    #[diagnostic(help("{}", hint(found)))]
    Line {
        /// Name of the trace file.
        file: String,
        /// Line number, from 1.
        line: u64,
        /// Description of the expected text.
        expected: String,
        /// The text or value that was found.
        found: String,
    },
    /// A binary trace that does not have its format.
    #[error("{file}: byte {at}: expected {expected}, found {found}")]
    Damaged {
        /// Name of the trace file.
        file: String,
        /// Byte offset, from 0.
        at: u64,
        /// Description of the expected data.
        expected: String,
        /// The text or value that was found.
        found: String,
    },
    /// An event of a binary trace with an invalid field.
    #[error("{file}: event on CPU {cpu} at {time} ns: expected {expected}")]
    Event {
        /// Name of the trace file.
        file: String,
        /// Time of the event, ns.
        time: u64,
        /// CPU of the event.
        cpu: u32,
        /// Description of the expected data.
        expected: String,
    },
    /// A Perfetto packet that is malformed or has an invalid value.
    #[error("{file}: byte {at}: expected {expected}")]
    #[diagnostic(help("the file is damaged there, or it is not a Perfetto trace"))]
    Packet {
        /// Name of the trace file.
        file: String,
        /// Byte offset of the packet, from 0; for a packet in a compressed packet, that of the compressed packet.
        at: u64,
        /// Description of the expected data.
        expected: String,
    },
    /// A file without a byte, as a recording leaves it that failed.
    #[error("{file} is empty: no event was recorded")]
    #[diagnostic(help("trace-cmd record, perf sched record and `fairground run ... --trace FILE` write traces"))]
    Empty {
        /// Name of the file.
        file: String,
    },
    /// A file that is compressed as a whole.
    #[error("{file} is compressed by {by}, expected a trace")]
    #[diagnostic(help("unpack it first: `{by} -dk {file}`"))]
    Compressed {
        /// Name of the trace file.
        file: String,
        /// The program that writes this format.
        by: &'static str,
    },
    /// Reading the file failed.
    #[error("cannot read {file}: {cause}")]
    Io {
        /// Name of the trace file.
        file: String,
        /// Message of the system.
        cause: String,
    },
}

/// Reads the events of a trace one by one.
pub struct Reader<R> {
    name: String,
    input: R,
    bytes: Vec<u8>,
    line: String,
    number: u64,
    unknown: u64,
    lost: u64,
    running: Running,
    /// Number of events of threads that perf did not know any more.
    gone: u64,
    /// Whether the last line is an event of perf, or a line below one.
    in_perfs: bool,
    /// Whether the last line has no end.
    cut: bool,
    /// Number of events that were returned.
    events: u64,
    /// Number of lines that are no part of a trace and are left out, and what is wrong with the first.
    bad: u64,
    first_bad: Option<TraceError>,
}

impl<R: BufRead> Reader<R> {
    /// `name` is the name of the trace in errors.
    pub fn new(name: &str, input: R) -> Reader<R> {
        Reader {
            name: name.to_owned(),
            input,
            bytes: Vec::new(),
            line: String::new(),
            number: 0,
            unknown: 0,
            lost: 0,
            running: Running::default(),
            gone: 0,
            in_perfs: false,
            cut: false,
            events: 0,
            bad: 0,
            first_bad: None,
        }
    }

    fn next_line(&mut self) -> Result<bool, TraceError> {
        self.bytes.clear();
        let read = (&mut self.input).take(LINE_MAX).read_until(b'\n', &mut self.bytes);
        let n = read.map_err(|e| TraceError::Io { file: self.name.clone(), cause: e.to_string() })?;
        if n == 0 {
            return Ok(false);
        }
        self.number += 1;
        let ended = self.bytes.last() == Some(&b'\n');
        self.take_text();
        if !ended && n as u64 == LINE_MAX {
            return Err(self.unexpected("a line of text"));
        }
        self.cut = !ended;
        Ok(true)
    }

    /// Converts the bytes of the line to text. Columns may be separated by tabs; other control characters are replaced.
    fn take_text(&mut self) {
        let is_end = |byte: &&u8| matches!(byte, b'\n' | b'\r');
        let end = self.bytes.len() - self.bytes.iter().rev().take_while(is_end).count();
        let (head, columns) = match self.bytes[..end].split_first() {
            Some((b'\t', columns)) => ("\t", columns),
            _ => ("", &self.bytes[..end]),
        };
        self.line.clear();
        self.line.push_str(head);
        columns.split(|byte| *byte == b'\t').enumerate().for_each(|(i, column)| {
            self.line.push_str(if i == 0 { "" } else { " " });
            push_sanitized(&mut self.line, column, false);
        });
    }

    /// Whether the line is a known event. Learns from it which thread runs.
    fn take_event(&mut self) -> Result<bool, &'static str> {
        let Some((line, what)) = parse(&self.line)? else {
            self.in_perfs &= !self.line.trim().is_empty();
            return Ok(false);
        };
        self.in_perfs = line.is_perfs;
        let Some(what) = what else { return Ok(false) };
        self.gone += u64::from(line.context.is_none());
        self.running.learn(&line, &what);
        Ok(true)
    }

    /// Whether the line is below an event of perf, up to an empty line: a call stack, with lines of source or not.
    fn is_below_perfs(&self) -> bool {
        self.in_perfs && self.line.starts_with(char::is_whitespace) && !has_cpu(&self.line)
    }

    /// Replaces one of our events, in the form of tools that know its format, by the print form of our own text.
    fn print_ours(&mut self) -> bool {
        let Some(Line { event, fields, .. }) = Line::parse(&self.line).filter(|line| line.event.starts_with(OURS))
        else {
            return false;
        };
        let said = format!("print: {event}: {fields}");
        let before = event.as_ptr() as usize - self.line.as_ptr() as usize;
        self.line.replace_range(before.., &said);
        true
    }

    /// Whether there was an event so far, a known one or another.
    fn has_events(&self) -> bool {
        self.events + self.unknown > 0
    }

    /// Leaves a line out that is no part of a trace: half a line of a cut buffer, a message of a tool between the events.
    /// Before the first event there may be only few of them.
    fn leave_out(&mut self, expected: &str) -> Result<(), TraceError> {
        self.bad += 1;
        let error = self.unexpected(expected);
        self.first_bad.get_or_insert(error);
        match !self.has_events() && self.bad > BAD_BEFORE_EVENTS_MAX {
            true => self.end(),
            false => Ok(()),
        }
    }

    /// At the end of the file: a file of bad lines without one event is not a trace.
    fn end(&mut self) -> Result<(), TraceError> {
        let is_trace = self.has_events();
        match self.first_bad.take_if(|_| !is_trace) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Counts a line that is not a known event.
    fn skip(&mut self) {
        match lost_events(&self.line) {
            Some(n) => self.lost = self.lost.saturating_add(n),
            None if is_comment(&self.line) => {}
            None => self.unknown += 1,
        }
    }
}

impl<R: BufRead> EventSource for Reader<R> {
    fn next_event(&mut self) -> Result<Option<TraceEvent<'_>>, TraceError> {
        loop {
            if !self.next_line()? {
                return self.end().map(|()| None);
            }
            match self.take_event() {
                Ok(true) => break,
                Ok(false) if self.print_ours() => break,
                Ok(false) => self.skip(),
                Err(_) if self.cut && self.has_events() => return Ok(None),
                Err(_) if self.is_below_perfs() => {}
                Err(expected) => self.leave_out(expected)?,
            }
        }
        self.events += 1;
        // Once more: what is borrowed inside the loop cannot leave it.
        Ok(parse(&self.line).ok().flatten().and_then(|(line, what)| {
            let what = what?;
            let context = self.running.thread_at(&line, &what);
            let Line { time, cpu, in_interrupt, .. } = line;
            Some(TraceEvent { time, cpu, context, in_interrupt, what })
        }))
    }

    fn unknown(&self) -> u64 {
        self.unknown
    }

    fn notes(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        if self.cut {
            let place = format!("{}:{}", self.name, self.number);
            notes.push(Note::Loss("the last line has no end: the trace is cut off".to_owned()).of_file(&place));
        }
        if let Some(first) = self.first_bad.as_ref().filter(|_| self.bad > 0) {
            let lines = if self.bad == 1 { "line is" } else { "lines are" };
            let left_out = format!("{} {lines} no part of a trace and left out, the first is this: {first}", self.bad);
            notes.push(Note::Loss(left_out).of_file(&self.name));
        }
        let gone = "events are of threads that perf did not know any more (:-1): they are attributed to the thread that ran there";
        let counted = Note::losses(&[(self.lost, "events were lost while it was recorded"), (self.gone, gone)]);
        notes.extend(counted.into_iter().chain(skipped_note(self.unknown)).map(|note| note.of_file(&self.name)));
        notes
    }

    fn unexpected(&self, expected: &str) -> TraceError {
        let shown = |c| if c == char::REPLACEMENT_CHARACTER { '?' } else { c };
        let found = self.line.chars().take(SHOWN_MAX).map(shown).collect();
        TraceError::Line { file: self.name.clone(), line: self.number, expected: expected.into(), found }
    }
}

/// An event, what it says if it is known; other line of a trace; or what was expected instead.
fn parse(text: &str) -> Result<Option<(Line<'_>, Option<TraceEventKind<'_>>)>, &'static str> {
    if is_comment(text) || lost_events(text).is_some() {
        return Ok(None);
    }
    let line = Line::parse(text).ok_or("COMM-PID [CPU] SECONDS.FRACTION: EVENT: FIELDS")?;
    let what = TraceEventKind::parse(line.event, line.fields)?;
    Ok(Some((line, what)))
}

/// What tools print around events.
fn is_comment(line: &str) -> bool {
    let text = line.trim_start();
    let empty_cpu = text.starts_with("CPU ") && text.ends_with("is empty");
    text.is_empty()
        || empty_cpu
        || is_call(line)
        || ["#", "=>", "cpus=", "version = "].iter().any(|start| text.starts_with(start))
}

/// A call chain of perf script: each address with its function, behind a tab, below the event.
fn is_call(line: &str) -> bool {
    let address = line.strip_prefix('\t').and_then(|l| l.split_whitespace().next());
    address.is_some_and(|a| a.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn has_cpu(line: &str) -> bool {
    line.split('[').skip(1).any(|rest| rest.split_once(']').is_some_and(|(cpu, _)| digits(cpu).is_some()))
}

/// `CPU:1 [LOST 12 EVENTS]` of the kernel, `CPU:1 [12 EVENTS DROPPED]` of trace-cmd,
/// `COMM PID [CPU] TIME: PERF_RECORD_LOST lost 12` of perf.
fn lost_events(text: &str) -> Option<u64> {
    if let Some((_, n)) = text.rsplit_once(": PERF_RECORD_LOST lost ") {
        return n.trim().parse().ok();
    }
    let (_, what) = text.trim().strip_prefix("CPU:")?.split_once('[')?;
    let what = what.strip_suffix(']')?;
    let n = what.strip_prefix("LOST ").and_then(|w| w.strip_suffix(" EVENTS"));
    n.or_else(|| what.strip_suffix(" EVENTS DROPPED"))?.parse().ok()
}

#[cfg(test)]
pub(crate) mod tests;
