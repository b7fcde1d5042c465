//! [`EventSource`]: the interface of all trace readers, and what they share.

use crate::text::{TraceError, TraceEvent};

/// Gives the events of a trace one by one, in the order of their times.
pub trait EventSource {
    /// The next event that is known; none at the end.
    ///
    /// # Errors
    /// What cannot be part of such a trace, or a known event that lacks a field. A trace that ends too early is not
    /// an error: [`Self::notes`] reports it.
    fn next_event(&mut self) -> Result<Option<TraceEvent<'_>>, TraceError>;

    /// Events of other kinds that were passed over so far.
    fn unknown(&self) -> u64;

    /// What must be said of the trace, once it has been read: what was lost, and what had to be passed over.
    fn notes(&self) -> Vec<String>;

    /// An error about the last event given: the reader knows where it stands.
    fn unexpected(&self, expected: &str) -> TraceError;
}

impl<S: EventSource + ?Sized> EventSource for Box<S> {
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

/// The note that `unknown` events were skipped; none if there are none.
pub(crate) fn passed_over(unknown: u64) -> Option<String> {
    (unknown > 0).then(|| format!("{unknown} events of other kinds were passed over"))
}

/// Whether the bits of an event's `common_flags` tell of a hard interrupt, a soft one, or an NMI.
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
