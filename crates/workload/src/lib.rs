//! Workloads: the program model, built-in benchmarks, rt-app files and recordings.
//!
//! A [`Workload`] is a list of thread templates with programs of [`Op`]s and the objects they meet at. It comes from a
//! built-in with options (`sched-pipe:loops=50000,threads`, see [`builtins`]) or from a file in rt-app's grammar (see
//! [`rtapp`]); [`Workload::find`] takes either, checks it against a machine ([`Workload::validate`]) and returns it
//! with every [`Warning`] the user should see; [`Workload::bind`] launches it on some CPUs alone. This crate executes
//! nothing: time, CPUs and costs are the engine's.
//!
//! ```
//! use fairground_workload::{builtins, json};
//!
//! assert!(builtins().iter().any(|b| b.name == "sched-pipe"));
//! // rt-app files are JSON with liberties: order, duplicates and bare keys carry meaning.
//! let tree = json::parse(r#"{ "suspend", "run": 5, "run": 7, /* twice */ }"#).unwrap();
//! assert_eq!(tree.root.members().unwrap().len(), 3);
//! ```

mod bind;
pub mod builtin;
mod clamp;
mod cpuset;
mod doubt;
mod error;
mod find;
pub mod json;
mod options;
mod program;
pub mod recorded;
pub mod rtapp;
pub mod testing;
mod validate;
mod warning;

pub use builtin::{builtins, Builtin, Original, ToolFigure, TOOLS};
pub use clamp::{Clamp, ClampPercent, GroupClamp};
pub use cpuset::{Cpusets, GroupCpus, CPUSET_FILE};
pub use error::{FileError, WorkloadError};
pub use options::{OptionInfo, OptionKind};
pub use program::*;
pub use validate::{Problem, Step, MAX_DURATION_NS, MAX_LOOP_DEPTH, MAX_SPIN_STEPS, MAX_TASKS, MAX_TIME_NS};
pub use warning::{Position, Warning, WarningKind};
