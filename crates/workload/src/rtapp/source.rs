//! The file: its text, how it is read, and everything that is said about it.

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
        WorkloadError::File(Box::new(FileError {
            at: self.position(span),
            message: message.into(),
            source_code: NamedSource::new(self.file, self.text.to_string()),
            span: (span.start, span.end - span.start).into(),
            label: label.into(),
            help,
        }))
    }

    /// Notes a warning, once for the same words at the same place.
    pub fn warn(&mut self, kind: WarningKind, span: Span, subject: &str, message: impl Into<String>) {
        let message = message.into();
        if self.warnings.insert((span.start, subject.into(), message.clone())) {
            let at = Some(self.position(span));
            self.list.push(Warning { kind, at, subject: subject.into(), message });
        }
    }

    /// The warnings in the order of the text.
    pub fn into_warnings(mut self) -> Vec<Warning> {
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
            Value::String(s) => Ok(s),
            _ => Err(self.mismatch(member, "expected a string")),
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
