//! Errors of machine files, each with what the user can do about it.

use std::ops::Range;
use std::path::PathBuf;

use miette::{Diagnostic, NamedSource, SourceSpan};

/// Why a machine could not be loaded.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum MachineError {
    /// The file cannot be opened or read.
    #[error("cannot read machine file `{path}`: {}", why_unread(.cause))]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The file is longer than any sensible machine, or has no end.
    #[error("machine file `{path}` is larger than {limit_mib} MiB")]
    TooLarge {
        /// Path of the file.
        path: PathBuf,
        /// Largest size that is read, MiB.
        limit_mib: u64,
    },
    /// The file is not text.
    #[error("{path}:{line}: not UTF-8: byte {offset} starts no character")]
    #[diagnostic(help("a machine file is TOML, which is UTF-8 text"))]
    NotUtf8 {
        /// Path of the file.
        path: PathBuf,
        /// Line of the first bad byte, from 1.
        line: usize,
        /// Offset of the first bad byte, from 0.
        offset: usize,
    },
    /// Neither a preset nor a file.
    #[error("unknown machine `{name}`: no preset and no file of that name")]
    #[diagnostic(help("{help}"))]
    Unknown {
        /// Name of the machine, as the user wrote it.
        name: String,
        /// The nearest preset, or all of them.
        help: String,
    },
    /// The machine does not have the CPUs named after the `@`.
    #[error("{machine}@{subset}: {problem}")]
    #[diagnostic(help("{help}"))]
    Subset {
        /// Name of the machine.
        machine: String,
        /// The text after the `@`.
        subset: String,
        /// What is wrong with the list of CPUs.
        problem: String,
        /// What there is, and the nearest name.
        help: String,
    },
    /// CPUs were named after an `@` where a whole machine is needed.
    #[error("`{name}@{subset}` names part of a machine, but a whole machine is needed here")]
    #[diagnostic(help("say `{name}`: workloads are bound to CPUs, as in `run {name}@{subset}`"))]
    Whole {
        /// Name of the machine, without the CPUs.
        name: String,
        /// What was named behind the `@`.
        subset: String,
    },
    /// The text of the file is wrong at a known place.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Invalid(#[from] Box<FileError>),
}

/// An error at one place of a machine file or another TOML file.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("{file}:{line}:{column}: {}{problem}", in_key(.key))]
pub struct FileError {
    /// Name of the file.
    pub file: String,
    /// Line of the fault, from 1.
    pub line: usize,
    /// Column of the fault in characters, from 1.
    pub column: usize,
    /// Dotted path of the key, e.g. `topology.cpus`; empty where no key could be read.
    pub key: String,
    /// What is wrong, as the predicate of the message.
    pub problem: String,
    /// What was expected, and the nearest valid name.
    #[help]
    pub help: Option<String>,
    /// The whole text of the file, for the excerpt in reports.
    #[source_code]
    pub source_code: NamedSource<String>,
    /// Position in the text, bytes.
    #[label("here")]
    pub span: SourceSpan,
}

fn in_key(key: &str) -> String {
    if key.is_empty() {
        String::new()
    } else {
        format!("`{key}`: ")
    }
}

/// Result of reading a part of a file.
pub type FileResult<T> = Result<T, Box<FileError>>;

impl FileError {
    /// A fault at `span` of `text`. A span beyond the text is cut to it.
    pub fn new(file: &str, text: &str, span: Range<usize>, key: &str, problem: impl Into<String>) -> Box<Self> {
        let start = (0..=span.start.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let length = span.end.min(text.len()).saturating_sub(start);
        Box::new(FileError {
            file: file.to_string(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            key: key.to_string(),
            problem: problem.into(),
            help: None,
            source_code: NamedSource::new(file, text.to_string()).with_language("TOML"),
            span: (start, length).into(),
        })
    }

    /// Adds what was expected.
    pub fn hint(mut self: Box<Self>, help: impl Into<String>) -> Box<Self> {
        self.help = Some(help.into());
        self
    }
}

/// Describes why a file could not be read.
pub fn why_unread(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".into(),
        kind => kind.to_string(),
    }
}
