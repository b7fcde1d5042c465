//! Machines and random programs for property tests, of this crate and of those above it.
//!
//! [`Random`] draws workloads from a seed alone, so that any test framework can drive it: draw a `u64`, build the
//! workload, run it. What it builds always passes [`Workload::validate`](crate::Workload::validate).

mod deadlocking;
mod finite;
mod machine;
mod random;

pub use machine::small_machine;
pub use random::Random;
