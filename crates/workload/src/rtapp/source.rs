//! The source file: its text, the dialect, and the warnings about it.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use miette::NamedSource;

use super::Dialect;
use crate::error::{FileError, WorkloadError};
use crate::json::{Member, Node, Span, Value};
use crate::warning::{Position, Warning, WarningKind};

/// What rt-app keeps its numbers in.
const MAX_INT: i64 = i32::MAX as i64;
/// More warnings than this are not shown: no user reads that many.
const MAX_WARNINGS: usize = 10_000;
/// Bytes of text shown before a mistake and of the mistake itself, where lines are long.
const SHOWN: usize = 120;
/// Files up to this many bytes are kept whole with an error, for the lines around it.
const MAX_SHOWN: usize = 1 << 20;
/// Characters of a message; names in a file can be of any length.
const MAX_MESSAGE: usize = 500;

pub(super) struct Source<'a> {
    file: &'a str,
    text: &'a str,
    /// Byte offsets at which lines begin.
    lines: Vec<usize>,
    /// The last place looked up: its line's start, its offset, its column. Saves counting a long line again.
    last: Cell<(usize, usize, usize)>,
    pub dialect: Dialect,
    warnings: BTreeSet<(usize, String, String)>,
    list: Vec<Warning>,
}

impl<'a> Source<'a> {
    pub fn new(file: &'a str, text: &'a str, dialect: Dialect) -> Self {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        Source { file, text, lines, last: Cell::new((0, 0, 1)), dialect, warnings: BTreeSet::new(), list: Vec::new() }
    }

    /// The name of the file.
    pub fn file(&self) -> &'a str {
        self.file
    }

    /// All of its text.
    pub fn text(&self) -> &'a str {
        self.text
    }

    fn position(&self, span: Span) -> Position {
        let line = self.lines.partition_point(|start| *start <= span.start);
        let line_start = self.lines[line - 1];
        let (known_line, known, known_column) = self.last.get();
        let (from, base) =
            if known_line == line_start && known <= span.start { (known, known_column) } else { (line_start, 1) };
        let column = base + self.text.get(from..span.start).map_or(0, |t| t.chars().count());
        self.last.set((line_start, span.start, column));
        Position { file: self.file.into(), line, column }
    }

    /// An error at `span`: what is wrong, and what was expected there.
    pub fn error(&self, span: Span, message: impl Into<String>, label: impl Into<String>) -> WorkloadError {
        self.error_with_help(span, message, label, None)
    }

    /// As [`Self::error`], with advice.
    pub fn error_with_help(
        &self,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
        help: Option<String>,
    ) -> WorkloadError {
        let (text, start) = self.excerpt(span);
        WorkloadError::File(Box::new(FileError {
            at: self.position(span),
            message: shortened(message.into(), MAX_MESSAGE),
            source_code: NamedSource::new(self.file, text),
            span: (span.start - start, self.shown_end(span) - span.start).into(),
            label: label.into(),
            help: help.map(|help| shortened(help, 4 * MAX_MESSAGE)),
        }))
    }

    /// Where what is shown of a mistake ends: a long one is shown by its beginning.
    fn shown_end(&self, span: Span) -> usize {
        let line_end = self.text[span.start..].find('\n').map_or(self.text.len(), |n| span.start + n);
        self.boundary(span.end.min(line_end).min(span.start + SHOWN))
    }

    /// The text to show with a mistake, and the byte at which it begins: all of it, but of long lines only what is
    /// near.
    fn excerpt(&self, span: Span) -> (String, usize) {
        let line = self.lines.partition_point(|start| *start <= span.start);
        let line_start = self.lines[line - 1];
        let line_end = self.lines.get(line).copied().unwrap_or(self.text.len());
        if line_end - line_start <= 4 * SHOWN && self.text.len() <= MAX_SHOWN {
            return (self.text.into(), 0);
        }
        let start = self.boundary(span.start.saturating_sub(SHOWN).max(line_start));
        let end = self.boundary(line_end.min(span.start + 2 * SHOWN));
        (self.text[start..end].into(), start)
    }

    /// The nearest place at or before `at` where a character begins.
    fn boundary(&self, at: usize) -> usize {
        (0..=at.min(self.text.len())).rev().find(|i| self.text.is_char_boundary(*i)).unwrap_or(0)
    }

    /// Notes a warning, once for the same words at the same place.
    pub fn warn(&mut self, kind: WarningKind, span: Span, subject: &str, message: impl Into<String>) {
        if self.is_full() {
            return;
        }
        let message = shortened(message.into(), MAX_MESSAGE);
        let subject = shortened(subject.into(), MAX_MESSAGE);
        if self.warnings.insert((span.start, subject.clone(), message.clone())) {
            let at = Some(self.position(span));
            self.list.push(Warning { kind, at, subject, message });
        }
    }

    /// Further warnings are not shown.
    pub fn is_full(&self) -> bool {
        self.list.len() >= MAX_WARNINGS
    }

    /// The warnings in the order of the text.
    pub fn into_warnings(mut self) -> Vec<Warning> {
        if self.is_full() {
            let message = format!("has more than {MAX_WARNINGS} warnings; only the first {MAX_WARNINGS} are shown");
            let (at, subject) = (self.position(Span { start: 0, end: 0 }), self.file.into());
            self.list.push(Warning { kind: WarningKind::Suspicious, at: Some(at), subject, message });
        }
        self.list.sort_by(|a, b| a.at.cmp(&b.at));
        self.list
    }

    /// A whole number that fits a C int and lies in `min..=max`.
    pub fn int(&self, member: &Member, min: i64, max: i64) -> Result<i64, WorkloadError> {
        let max = max.min(MAX_INT);
        let expected = || format!("expected a whole number, {min} to {max}");
        match member.value.value {
            Value::Int(v) if (min..=max).contains(&v) => Ok(v),
            Value::Int(v) => {
                Err(self.error(member.value.span, format!("`{}` is {v}, out of range", member.key), expected()))
            }
            _ => Err(self.mismatch(member, &expected())),
        }
    }

    pub fn bool(&self, member: &Member) -> Result<bool, WorkloadError> {
        match member.value.value {
            Value::Bool(b) => Ok(b),
            _ => Err(self.mismatch(member, "expected true or false")),
        }
    }

    pub fn string<'b>(&self, member: &'b Member) -> Result<&'b str, WorkloadError> {
        match &member.value.value {
            Value::String(s) => self.printable(s, member.value.span).map(|()| s.as_str()),
            _ => Err(self.mismatch(member, "expected a string")),
        }
    }

    /// Names go into messages, traces and names of files: control characters have no place in them.
    pub fn printable(&self, text: &str, at: Span) -> Result<(), WorkloadError> {
        match text.chars().find(|c| c.is_control()) {
            Some(c) => {
                let text = format!("a name has the control character U+{:04X}", u32::from(c));
                Err(self.error(at, text, "expected characters that can be printed"))
            }
            None => Ok(()),
        }
    }

    /// A list of CPU or node numbers below `limit`.
    pub fn numbers(&self, member: &Member, limit: i64, what: &str) -> Result<Vec<i64>, WorkloadError> {
        self.list(member, 0..=limit - 1, |v| format!("names {what} {v}, which the machine lacks"))
    }

    /// A list of whole numbers in a range; `problem` says what the member does that names another.
    pub fn list(
        &self,
        member: &Member,
        range: RangeInclusive<i64>,
        problem: impl Fn(i64) -> String,
    ) -> Result<Vec<i64>, WorkloadError> {
        let Value::Array(items) = &member.value.value else {
            return Err(self.mismatch(member, "expected a list of numbers"));
        };
        let number = |n: &Node| match n.value {
            Value::Int(v) if range.contains(&v) => Ok(v),
            Value::Int(v) => Err(self.error(
                n.span,
                format!("`{}` {}", member.key, problem(v)),
                format!("expected {} to {}", range.start(), range.end()),
            )),
            _ => Err(self.error(n.span, format!("`{}` has {}", member.key, n.kind()), "expected a number")),
        };
        items.iter().map(number).collect()
    }

    /// The value of `member` is of the wrong kind.
    pub fn mismatch(&self, member: &Member, expected: &str) -> WorkloadError {
        self.error(member.value.span, format!("`{}` has {}", member.key, member.value.kind()), expected)
    }
}

/// A text cut to at most `max` characters.
fn shortened(text: String, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
