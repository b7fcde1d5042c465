//! What the hardware is: the machine model, its file format and the presets.
//!
//! A [`Machine`] is one object; scheduling domains, distances, speeds and prices are all derived from it and from
//! nothing else. This crate knows no scheduler and no workload.

mod builder;
mod derive;
mod error;
mod file;
mod load;
mod mask;
mod model;
mod names;
pub mod testing;

pub use error::{FileError, MachineError};
pub use load::{preset_text, presets};
pub use mask::{CpuMask, MASK_WORDS};
pub use model::*;

/// Dense id of a logical CPU.
pub type CpuId = u32;

/// The most CPUs a machine may have.
pub const NR_CPUS: usize = 1024;
