//! What can be wrong with what a user asks for.

use miette::Diagnostic;
use thiserror::Error;

/// Why a scheduler cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Error, Diagnostic)]
pub enum FairError {
    /// No preset of this name.
    #[error("unknown preset `{name}` in `{text}`{}", did_you_mean(.nearest))]
    #[diagnostic(help("presets: {known}"))]
    UnknownPreset {
        /// What was given.
        name: String,
        /// The whole scheduler name.
        text: String,
        /// Nearest valid name.
        nearest: Option<String>,
        /// All valid names.
        known: String,
    },
    /// No feature of this name.
    #[error("unknown feature `{name}` in `{text}`{}", did_you_mean(.nearest))]
    #[diagnostic(help("`fairground feature list` shows all features"))]
    UnknownFeature {
        /// What was given.
        name: String,
        /// The whole scheduler name.
        text: String,
        /// Nearest valid name.
        nearest: Option<String>,
    },
    /// A feature has no such value.
    #[error("feature `{feature}` has no value `{value}`: expected one of {expected}")]
    UnknownValue {
        /// The feature.
        feature: String,
        /// What was given.
        value: String,
        /// The values it has.
        expected: String,
    },
    /// A switch was given a value, or a feature with several values none.
    #[error("`{given}` in `{text}`: {problem}")]
    BadForm {
        /// The part of the name.
        given: String,
        /// The whole scheduler name.
        text: String,
        /// What is wrong and what was expected.
        problem: String,
    },
    /// A feature that this version cannot honour.
    #[error("feature `{feature}` needs {needs}")]
    NotReady {
        /// The feature.
        feature: String,
        /// What is missing.
        needs: String,
    },
    /// Two features that cannot stand together.
    #[error("feature `{feature}` {relation} `{other}`")]
    Conflict {
        /// One.
        feature: String,
        /// `excludes` or `needs`.
        relation: &'static str,
        /// The other.
        other: String,
    },
    /// Two partitions share CPUs.
    #[error("partitions {first} and {second} share CPUs {shared}: exclusive cpusets are disjoint")]
    PartitionsOverlap {
        /// One.
        first: String,
        /// Another.
        second: String,
        /// What they share.
        shared: String,
    },
    /// A partition without CPUs, or with CPUs that the machine does not have.
    #[error("partition `{partition}` on a machine with {nr_cpus} CPUs: expected CPUs below {nr_cpus}, at least one")]
    BadPartition {
        /// The partition.
        partition: String,
        /// CPUs of the machine.
        nr_cpus: usize,
    },
    /// Two masks of one level overlap without being equal.
    #[error("level {level}: CPUs {first} and {second} overlap without being equal; levels below NUMA nest")]
    BrokenTopology {
        /// Name of the level.
        level: String,
        /// One mask.
        first: String,
        /// Another.
        second: String,
    },
    /// C and Rust disagree on a struct.
    #[error("layout of the C policy: {what} is {theirs} in C and {ours} in Rust; rebuild with one compiler")]
    Layout {
        /// Struct or member.
        what: String,
        /// In Rust.
        ours: usize,
        /// In C.
        theirs: u64,
    },
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or(String::new(), |n| format!("; did you mean `{n}`?"))
}
