//! Our own scheduler, `fair:PRESET+feature-feature`: the C policy of `policy/` with the topology, the run queues and
//! the passes around it.
//!
//! Everything that decides or computes is C over explicit structs, and those structs are the storage here (`World`);
//! this crate keeps what the policy leaves to its caller: the containers, the order of events, time and its price.
//!
//! | module | what |
//! |---|---|
//! | [`features`](Features), [`presets`](Preset), `timeline` | scheduler names, the table of features, what each release has |
//! | [`Topology`] | machine -> scheduling domains and groups (spec 1) |
//! | [`ffi`] | Rust twins of `policy/fg.h`, written by build.rs |
//! | [`Shown`] | the policy alone, shown a state that is not its own |
//! | [`Follower`] | its state, kept by what somebody else's scheduler was seen to do |
//! | [`Fair`] | [`fairground_sim::Scheduler`] over all of it |
//!
//! Task groups bound the utilization clamps of their tasks (`groups.rs`), and share CPUs by weight, on one level
//! (`nested.rs`).
//!
//! DEVIATION: what it is not, yet (spec 11.3): RT tasks are not pushed or pulled, task groups with weights are not nested, no
//! bandwidth control, no NUMA faults.
//! `DEVIATION:` marks each place in the code.
//!
//! ```
//! use fairground_fair::{Features, features};
//! let scheduler = Features::parse("fair:v5.9+asym-prev-first").unwrap();
//! assert_eq!(scheduler.to_string(), "fair:v5.9+asym-prev-first");
//! assert!(features().iter().any(|f| f.name == "asym-prev-first"));
//! ```

mod audit;
mod balance;
mod change;
mod deadline;
mod error;
mod features;
pub mod ffi;
mod follow;
mod groups;
mod nested;
mod order;
mod place;
mod presets;
mod queue;
mod rq;
mod rt;
mod sched;
mod shown;
mod storage;
mod timeline;
mod told;
mod topology;
mod trial;
mod why;
mod world;

pub use deadline::DeadlineQueue;
pub use error::FairError;
pub use features::{features, Features};
pub use ffi::FeatureInfo;
pub use follow::{keeps_sleepers, Before, Bound, Followed, Follower, Next};
pub use presets::{Preset, PRESETS};
pub use rq::VruntimeQueue;
pub use sched::Fair;
pub use shown::{note_words, pelt_averages, pelt_update, rule_name, rules, Placing, Pointers, Ring, Shown};
pub use topology::{CpuMasks, Options, Topology};
pub use trial::{Attempt, Attempted, Move, Source};
pub use why::{note_text, reasons};
