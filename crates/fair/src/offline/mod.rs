//! The policy without a simulation: on the state of a real kernel, or on a state updated from a recording.

mod balance;
mod replay;
mod sandbox;
mod steps;
mod walk;

pub use balance::{BalanceInput, BalanceResult, Move, SourceQueue};
pub use replay::{keeps_sleepers, Affinity, InitialState, ReplayConfig, ReplayedState, SwitchTo};
pub use sandbox::{avg_vruntime, note_words, pelt_averages, pelt_update, GroupRing, Placing, PolicySandbox};
pub use steps::{StepInput, StepKind, StepResult};
pub use walk::{PassOfWalk, WalkInput, WalkResult};
