//! Warnings about workloads that can run nevertheless.

use std::fmt;

/// A position in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Name of the file, as the user wrote it.
    pub file: String,
    /// Number of the line, from 1.
    pub line: usize,
    /// Number of the column in characters, from 1.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// How much a warning matters, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WarningKind {
    /// A key about rt-app's own logging and memory, which are not simulated. Leaving it out changes nothing.
    NoEffect,
    /// Is run, by an approximation the message states.
    Approximated,
    /// Is not run: neither rt-app nor we know it, or we do not model it.
    Ignored,
    /// Is run as written, and probably not what was meant.
    Suspicious,
    /// Nothing ends a run of it: `run` and `compare` refuse it.
    NeverEnds,
}

/// One finding that does not stop a workload from running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Kind of the warning, by how much it matters.
    pub kind: WarningKind,
    /// Position in the file; `None` for a workload that has no file.
    pub at: Option<Position>,
    /// The key, event, thread or object in question.
    pub subject: String,
    /// What about it, in one sentence.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(at) = &self.at {
            write!(f, "{at}: ")?;
        }
        write!(f, "`{}`: {}", self.subject, self.message)
    }
}
