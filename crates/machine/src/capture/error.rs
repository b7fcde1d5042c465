//! Why a tree cannot be captured.

use std::path::PathBuf;

use miette::Diagnostic;

use crate::error::why_unread;
use crate::MachineError;

/// Why there is no machine in a tree.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum CaptureError {
    /// Nothing there looks like the tree that was asked for.
    #[error("`{path}` is no {kind} tree: `{missing}` is not there")]
    #[diagnostic(help("expected {expected}"))]
    NoTree {
        /// Where it was looked for.
        path: PathBuf,
        /// `sysfs` or `debugfs`.
        kind: &'static str,
        /// What such a tree has.
        missing: &'static str,
        /// What to name instead.
        expected: &'static str,
    },
    /// A file is there and cannot be read.
    #[error("cannot read `{path}`: {}", why_unread(.cause))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// Something is there that makes no sense.
    #[error("`{path}`: {problem}")]
    #[diagnostic(help("expected {expected}"))]
    Garbled {
        /// The file; of a source with its line, of a device tree with node and property or the byte.
        path: PathBuf,
        /// What is wrong.
        problem: String,
        /// What was expected.
        expected: String,
    },
    /// The name of the machine is none.
    #[error("`{name}` is no name of a machine")]
    #[diagnostic(help("expected letters, digits, `-`, `_` and `.`"))]
    Name {
        /// What was asked for.
        name: String,
    },
    /// Parts that are right by themselves contradict each other.
    #[error("`{path}` describes no machine")]
    #[diagnostic(help("{help}"))]
    Impossible {
        /// The tree.
        path: PathBuf,
        /// Which parts of it may be to blame.
        help: &'static str,
        /// What the machine file would be refused for.
        #[source]
        cause: Box<MachineError>,
    },
}
