//! Errors of `machine capture`.

use std::path::PathBuf;

use miette::Diagnostic;

use crate::error::why_unread;
use crate::MachineError;

/// Why a tree could not be captured.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum CaptureError {
    /// Nothing there looks like the tree that was asked for.
    #[error("`{path}` is not a {kind} tree: `{missing}` is missing")]
    #[diagnostic(help("expected {expected}"))]
    NoTree {
        /// Path where the tree was expected.
        path: PathBuf,
        /// Kind of the tree: `sysfs` or `debugfs`.
        kind: &'static str,
        /// The file or directory that every such tree has.
        missing: &'static str,
        /// Description of what to name instead.
        expected: &'static str,
    },
    /// A file is there and cannot be read.
    #[error("cannot read `{path}`: {}", why_unread(.cause))]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// A file has contents that make no sense.
    #[error("`{path}`: {problem}")]
    #[diagnostic(help("expected {expected}"))]
    Garbled {
        /// The file; of a device tree with node and property or the byte.
        path: PathBuf,
        /// What is wrong, as the predicate of the message.
        problem: String,
        /// The valid values or format.
        expected: String,
    },
    /// The machine's name is not valid.
    #[error("`{name}` is not a valid machine name")]
    #[diagnostic(help("expected letters, digits, `-`, `_` and `.`"))]
    Name {
        /// The name that is not valid.
        name: String,
    },
    /// Parts that are valid by themselves contradict each other.
    #[error("`{path}` does not describe a valid machine")]
    #[diagnostic(help("{help}"))]
    Impossible {
        /// Root of the tree.
        path: PathBuf,
        /// Which parts of it may be to blame.
        help: &'static str,
        /// What the machine file would be refused for.
        #[source]
        cause: Box<MachineError>,
    },
}
