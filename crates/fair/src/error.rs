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
        /// The name that was not found.
        name: String,
        /// The whole name of the scheduler, as the user wrote it.
        text: String,
        /// The valid name to suggest; `None` if none is similar.
        nearest: Option<String>,
        /// All valid names, as text.
        known: String,
    },
    /// No feature of this name.
    #[error("unknown feature `{name}` in `{text}`{}", did_you_mean(.nearest))]
    #[diagnostic(help("`fairground feature list` shows all features"))]
    UnknownFeature {
        /// The name that was not found.
        name: String,
        /// The whole name of the scheduler, or all changes to it, as the user wrote them.
        text: String,
        /// The valid name that is most similar; `None` if none is similar.
        nearest: Option<String>,
    },
    /// A feature has no such value.
    #[error("feature `{feature}` has no value `{value}`: expected one of {expected}")]
    UnknownValue {
        /// Name of the feature.
        feature: String,
        /// The value that the feature does not have.
        value: String,
        /// The values that the feature has.
        expected: String,
    },
    /// A switch was given a value, or a feature with several values none.
    #[error("`{given}` in `{text}`: {problem}")]
    BadForm {
        /// The part of the name that has the wrong form.
        given: String,
        /// The whole name of the scheduler, or all changes to it, as the user wrote them.
        text: String,
        /// What is wrong and what was expected.
        problem: String,
    },
    /// A feature that this version cannot honour.
    #[error("feature `{feature}` needs {needs}")]
    NotReady {
        /// Name of the feature.
        feature: String,
        /// What the feature needs and this version does not have.
        needs: String,
    },
    /// Two features that cannot stand together.
    #[error("feature `{feature}` {relation} `{other}`")]
    Conflict {
        /// Name of the feature that needs or excludes `other`; `name=value` if only this value does.
        feature: String,
        /// `excludes` or `needs`.
        relation: &'static str,
        /// Name of the other feature.
        other: String,
    },
    /// Two partitions share CPUs.
    #[error("partitions {first} and {second} share CPUs {shared}: exclusive cpusets are disjoint")]
    PartitionsOverlap {
        /// CPUs of one partition, or the isolated CPUs, as a list of ranges.
        first: String,
        /// CPUs of the other partition, as a list of ranges.
        second: String,
        /// CPUs that are in both, as a list of ranges.
        shared: String,
    },
    /// A partition without CPUs, or with CPUs that the machine does not have.
    #[error("partition `{partition}` on a machine with {nr_cpus} CPUs: expected CPUs below {nr_cpus}, at least one")]
    BadPartition {
        /// CPUs of the partition, or the isolated CPUs, as a list of ranges.
        partition: String,
        /// Number of CPUs of the machine.
        nr_cpus: usize,
    },
    /// Two masks of one level overlap without being equal.
    #[error("level {level}: CPUs {first} and {second} overlap without being equal; levels below NUMA nest")]
    BrokenTopology {
        /// Name of the level.
        level: String,
        /// CPUs of one mask, as a list of ranges.
        first: String,
        /// CPUs of the other mask, as a list of ranges.
        second: String,
    },
    /// C and Rust disagree on a struct.
    #[error("layout of the C policy: {what} is {theirs} in C and {ours} in Rust; rebuild with one compiler")]
    Layout {
        /// Name of the struct or of its member.
        what: String,
        /// Its size or offset in Rust, bytes.
        ours: usize,
        /// Its size or offset in C, bytes.
        theirs: u64,
    },
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or(String::new(), |n| format!("; did you mean `{n}`?"))
}
