//! [`EventSource`]: the interface of all trace readers, and what they share.

use crate::note::Note;
use crate::text::{TraceError, TraceEvent};

/// Returns the events of a trace one by one, in time order.
pub trait EventSource {
    /// The next known event; `None` at the end.
    ///
    /// # Errors
    /// If the trace has data that cannot be part of it, or a known event lacks a field. A trace that ends too early is
    /// not an error: [`Self::notes`] reports it.
    fn next_event(&mut self) -> Result<Option<TraceEvent<'_>>, TraceError>;

    /// Number of events of other kinds so far.
    fn unknown(&self) -> u64;

    /// Notes on the trace, once it has been read: events that were lost, and events that were skipped.
    fn notes(&self) -> Vec<Note>;

    /// An error at the position of the last event.
    fn unexpected(&self, expected: &str) -> TraceError;
}

impl<S: EventSource + ?Sized> EventSource for Box<S> {
    fn next_event(&mut self) -> Result<Option<TraceEvent<'_>>, TraceError> {
        (**self).next_event()
    }

    fn unknown(&self) -> u64 {
        (**self).unknown()
    }

    fn notes(&self) -> Vec<Note> {
        (**self).notes()
    }

    fn unexpected(&self, expected: &str) -> TraceError {
        (**self).unexpected(expected)
    }
}

/// The note that `unknown` events were skipped; `None` if `unknown` is 0.
pub(crate) fn skipped_note(unknown: u64) -> Option<Note> {
    Note::hints(&[(unknown, "events of other kinds were passed over")]).pop()
}

/// Whether an event's `common_flags` say that it happened in a hard interrupt, a soft one or an NMI
/// (TRACE_FLAG_HARDIRQ, TRACE_FLAG_SOFTIRQ, TRACE_FLAG_NMI).
pub(crate) fn in_interrupt(common_flags: u64) -> bool {
    common_flags & (0x08 | 0x10 | 0x40) != 0
}

/// Appends untrusted text with control characters replaced by `?` and invalid UTF-8 by U+FFFD; keeps newlines if
/// `lines`.
pub(crate) fn push_sanitized(text: &mut String, bytes: &[u8], lines: bool) {
    let plain = |b: &u8| (b' '..=b'~').contains(b) || (*b == b'\n' && lines);
    match std::str::from_utf8(bytes) {
        Ok(words) if bytes.iter().all(plain) => text.push_str(words),
        _ => {
            let words = String::from_utf8_lossy(bytes);
            text.extend(words.chars().map(|c| if c.is_control() && !(c == '\n' && lines) { '?' } else { c }));
        }
    }
}
