//! Parses the part that all lines of a trace share.
//!
//! ```text
//! COMM-PID [CPU] SECONDS.FRACTION: EVENT: FIELDS                        ours, trace-cmd report
//! COMM-PID ( TGID) [CPU] FLAGS SECONDS.FRACTION: EVENT: FIELDS          the kernel's, with columns as configured
//! COMM PID/TID [CPU] SECONDS.FRACTION: PERIOD SUBSYSTEM:EVENT: FIELDS   perf script, with a period or not
//! ```

use super::Thread;

/// The parts of a line.
pub struct Line<'a> {
    /// None: perf does not know it any more.
    pub context: Option<Thread<'a>>,
    /// The thread is written as perf does.
    pub is_perfs: bool,
    pub cpu: u32,
    pub in_interrupt: bool,
    /// Time of the trace clock, ns.
    pub time: u64,
    /// Name of the event; empty for a traced function or a stack.
    pub event: &'a str,
    pub fields: &'a str,
}

impl Line<'_> {
    /// The first `[CPU]` that has a thread before it and a time behind it: names may hold brackets too.
    pub fn parse(text: &str) -> Option<Line<'_>> {
        text.match_indices('[').find_map(|(at, _)| {
            let (cpu, rest) = text[at + 1..].split_once(']')?;
            let cpu = digits(cpu)?.try_into().ok()?;
            let context = text[..at].strip_suffix(char::is_whitespace)?;
            let (context, is_perfs) = match is_gone(context) {
                true => (None, true),
                false => thread(context).map(|(thread, is_perfs)| (Some(thread), is_perfs))?,
            };
            let (time, flags, rest) = time_after_flags(rest.strip_prefix(char::is_whitespace)?)?;
            let (event, fields) = event(rest);
            Some(Line { context, is_perfs, cpu, time, in_interrupt: tell_interrupt(flags), event, fields })
        })
    }
}

/// Parses a number of decimal digits only: no sign, no space.
pub fn digits(text: &str) -> Option<u64> {
    let text = text.trim();
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

/// `:-1 -1`, which perf script prints of a thread that exits and has no id any more.
fn is_gone(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.next() == Some(":-1") && words.next().is_some_and(|ids| ids.rsplit('/').next() == Some("-1"))
}

/// `COMM-PID`, with the thread group behind it or not, or `COMM PID`, and whether it is the latter.
fn thread(text: &str) -> Option<(Thread<'_>, bool)> {
    let mut text = text.trim();
    if let Some((before, group)) = text.strip_suffix(')').and_then(|t| t.rsplit_once('(')) {
        if group.bytes().all(|b| b.is_ascii_digit() || b == b' ' || b == b'-') {
            text = before.trim_end();
        }
    }
    let pid = |text: &str| digits(text).and_then(|pid| u32::try_from(pid).ok());
    let dashed = text.rsplit_once('-').and_then(|(comm, id)| Some((comm, pid(id)?, false)));
    let (comm, pid, is_perfs) = dashed.or_else(|| {
        let (comm, ids) = text.rsplit_once(char::is_whitespace)?;
        Some((comm, pid(ids.rsplit('/').next()?)?, true))
    })?;
    Some((Thread { comm: comm.trim(), pid }, is_perfs))
}

/// The time, and one column of flags that may precede it.
fn time_after_flags(text: &str) -> Option<(u64, &str, &str)> {
    let (first, rest) = split_word(text)?;
    if let Some(time) = time(first) {
        return Some((time, "", rest));
    }
    let (second, rest) = split_word(rest)?;
    Some((time(second)?, first, rest))
}

/// The third flag: hard (h, H) or soft interrupt (s), or an NMI (z, Z).
fn tell_interrupt(flags: &str) -> bool {
    matches!(flags.as_bytes().get(2), Some(b'h' | b'H' | b's' | b'z' | b'Z'))
}

/// Parses `SECONDS.FRACTION:`, to ns.
fn time(word: &str) -> Option<u64> {
    let (seconds, fraction) = word.strip_suffix(':')?.split_once('.')?;
    if seconds.is_empty() || fraction.is_empty() || fraction.len() > 9 {
        return None;
    }
    let ns = digits(fraction)? * 10_u64.pow(9 - fraction.len() as u32);
    digits(seconds)?.checked_mul(1_000_000_000)?.checked_add(ns)
}

fn event(text: &str) -> (&str, &str) {
    let text = text.trim();
    let (word, rest) = split_word(text).unwrap_or((text, ""));
    // perf script may put the sample's period before the event.
    let (word, rest) = if digits(word).is_some() { split_word(rest).unwrap_or((word, rest)) } else { (word, rest) };
    match word.strip_suffix(':') {
        Some(name) => (name.rsplit(':').next().unwrap_or(name), rest.trim()),
        None => ("", text),
    }
}

/// The first word and what follows it.
fn split_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}
