//! The policy without a simulation: shown the state of a real kernel, or kept by what a recording tells.

mod balance;
mod replay;
mod sandbox;

pub use balance::{BalanceInput, BalanceResult, Move, SourceQueue};
pub use replay::{keeps_sleepers, Affinity, InitialState, ReplayConfig, ReplayedState, SwitchTo};
pub use sandbox::{note_words, pelt_averages, pelt_update, GroupRing, Placing, PolicySandbox};
