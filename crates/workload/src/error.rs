//! Errors of workloads.

use fairground_machine::why_unread;
use miette::{Diagnostic, NamedSource, SourceSpan};
use thiserror::Error;

use crate::validate::Problem;
use crate::warning::Position;

/// Why there is no workload.
#[derive(Debug, Error, Diagnostic)]
pub enum WorkloadError {
    /// The name is neither a built-in nor a file.
    #[error("no workload `{name}`: neither a built-in nor a file of that name")]
    Unknown {
        /// The name that was not found, as the user wrote it.
        name: String,
        /// The nearest name and the list.
        #[help]
        help: String,
    },
    /// The workload has no such option.
    #[error("`{workload}` has no option `{option}`")]
    UnknownOption {
        /// Name of the workload.
        workload: String,
        /// The option that was not found, as the user wrote it.
        option: String,
        /// The nearest name and the list.
        #[help]
        help: String,
    },
    /// An option's value is missing, malformed, out of range or excluded by another option.
    #[error("option `{option}` of `{workload}`: {problem}")]
    BadOption {
        /// Name of the workload.
        workload: String,
        /// Name of the option.
        option: String,
        /// What is wrong with the value.
        problem: String,
        /// The valid values, or the nearest valid name.
        #[help]
        help: String,
    },
    /// The file cannot be read.
    #[error("cannot read {file}: {}", why_unread(.cause))]
    Read {
        /// Path of the file.
        file: String,
        /// What the system says.
        cause: std::io::Error,
    },
    /// The file is longer than any sensible workload.
    #[error("{file} is larger than {limit_mib} MiB")]
    TooLarge {
        /// Path of the file.
        file: String,
        /// Largest size that is read, MiB.
        limit_mib: u64,
    },
    /// The file is not text.
    #[error("{at}: not UTF-8: byte {byte:#04x}")]
    #[diagnostic(help("rt-app files are UTF-8 text; this one may be compressed or in another encoding"))]
    NotUtf8 {
        /// Position of the error: file, line and column.
        at: Position,
        /// The first byte that is not valid UTF-8.
        byte: u8,
    },
    /// Something in the file is wrong.
    #[error(transparent)]
    #[diagnostic(transparent)]
    File(Box<FileError>),
    /// The workload contradicts itself or the machine.
    #[error("workload `{workload}`: {problem}")]
    Invalid {
        /// Name of the workload.
        workload: String,
        /// What the validation found.
        problem: Box<Problem>,
        /// How to correct it.
        #[help]
        help: String,
    },
}

/// A mistake in a file, with the place.
#[derive(Debug, Error, Diagnostic)]
#[error("{at}: {message}")]
pub struct FileError {
    /// Position of the error: file, line and column.
    pub at: Position,
    /// What is wrong, naming the key.
    pub message: String,
    /// The text around the position.
    #[source_code]
    pub source_code: NamedSource<String>,
    /// The place in the text, bytes.
    #[label("{label}")]
    pub span: SourceSpan,
    /// What was expected there.
    pub label: String,
    /// The nearest valid name, or what to do.
    #[help]
    pub help: Option<String>,
}
