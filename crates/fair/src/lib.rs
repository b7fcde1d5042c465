//! The scheduler model `fair:PRESET+feature-feature`: the C policy of `policy/`, and the topology, run queues and
//! balance passes around it.
//!
//! The policy decides and computes. Its C structs are the storage (`World`). This crate implements what the policy
//! leaves to its caller: the containers, the order of the calls, time, and the cost of work.
//!
//! | module | what |
//! |---|---|
//! | [`features`](Features), [`presets`](Preset), `timeline`, `feature_details` | scheduler names, the table of features, what each release has, where a feature acts |
//! | [`Topology`] | machine -> scheduling domains and groups (spec 1) |
//! | [`ffi`] | Rust twins of `policy/fg.h`, written by build.rs |
//! | `world` | the policy's structs of a machine, and its functions as methods |
//! | `sequence` | enqueue, dequeue, pick, detach, attach, balance passes: shared by the three hosts below |
//! | [`Fair`] | the scheduler of a simulation: [`fairground_sim::Scheduler`] |
//! | [`PolicySandbox`] | the policy on the state of a real kernel |
//! | [`ReplayedState`] | the policy's state, updated from the events of a recording |
//!
//! Task groups bound the utilization clamps of their tasks (`scheduler/groups.rs`), and share CPUs by weight, one within
//! another (`sequence/task_group.rs`).
//!
//! DEVIATION: not implemented (spec 11.3): push and pull of RT tasks, NUMA faults. `DEVIATION:` marks each place in the code.
//!
//! ```
//! use fairground_fair::{Features, features};
//! let scheduler = Features::parse("fair:v5.9+asym-prev-first").unwrap();
//! assert_eq!(scheduler.to_string(), "fair:v5.9+asym-prev-first");
//! assert!(features().iter().any(|f| f.name == "asym-prev-first"));
//! ```

mod error;
mod feature_details;
mod feature_diff;
mod features;
pub mod ffi;
mod offline;
mod passes;
mod picks;
mod presets;
mod rules;
mod scheduler;
mod sequence;
mod storage;
mod timeline;
mod topology;
mod why;
mod world;

pub use error::FairError;
pub use feature_details::{feature_details, why_not_ready, FeatureDetails, Visible};
pub use feature_diff::{feature_diff, FeatureChange};
pub use features::{feature, features, relations, Features};
pub use ffi::FeatureInfo;
pub use offline::{
    avg_vruntime, keeps_sleepers, note_words, pelt_averages, pelt_update, Affinity, BalanceInput, BalanceResult,
    GroupRing, InitialState, Move, PassOfWalk, Placing, PolicySandbox, ReplayConfig, ReplayedState, SourceQueue,
    StepInput, StepKind, StepResult, SwitchTo, WalkInput, WalkResult,
};
pub use passes::{source_found, task_pushed};
pub use picks::queued_task;
pub use presets::{Preset, PRESETS};
pub use rules::{
    balance_rule_title, balance_rules, pick_rule_name, pick_rule_title, pick_rules, rule_name, rule_title, rules,
};
pub use scheduler::Fair;
pub use sequence::{DeadlineQueue, VruntimeQueue};
pub use timeline::{release_changes, Release};
pub use topology::{CpuMasks, Options, Topology};
pub use why::{note_text, reasons};
pub use world::Pointers;
