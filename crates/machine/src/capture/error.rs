//! Why a tree cannot be captured.

use std::path::PathBuf;

use miette::Diagnostic;

use crate::MachineError;

/// Why there is no machine in a sysfs tree.
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
    #[error("cannot read `{path}`")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        cause: std::io::Error,
    },
    /// A file says what no kernel says.
    #[error("`{path}`: {problem}")]
    #[diagnostic(help("expected {expected}"))]
    Garbled {
        /// The file.
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
    /// Files that are right by themselves contradict each other.
    #[error("the files of `{path}` describe no machine")]
    #[diagnostic(help("the files of devices/system/cpu/cpuN/{{topology,cache}} and devices/system/node disagree"))]
    Impossible {
        /// The tree.
        path: PathBuf,
        /// What the machine file would be refused for.
        #[source]
        cause: Box<MachineError>,
    },
}
