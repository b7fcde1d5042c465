//! Time and physics: what CPUs do while a scheduler decides. Defines [`Scheduler`] and knows no policy.

mod env;
mod event;
mod sched;

pub use env::{CpuView, Env, IdleView, Request};
pub use event::*;
pub use sched::*;

/// Virtual time, ns since the run began.
pub type Time = u64;

/// Dense id of a task, never reused within a run.
pub type TaskId = u32;
