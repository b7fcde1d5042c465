//! The machine model: hardware description, file format and presets.
//!
//! A [`Machine`] is one object; scheduling domains, distances, speeds and prices are all derived from it and from
//! nothing else. This crate knows no scheduler and no workload.
//!
//! A [`MachineSpec`] names a machine and the CPUs of it to which a workload is bound, `kunpeng920@node0`.
//!
//! Machines come from presets ([`Machine::preset`]), files ([`Machine::load`], format in `machines/README.md`), sysfs
//! and device trees ([`capture`](capture())), or code ([`Machine::symmetric`], [`testing`]). A file is parsed into a
//! tree that knows its places, read section by section with faults that name file, line and key ([`FileError`]), and
//! every figure is kept with its source ([`Figure`]); [`Machine::to_toml`] is the way back.
//!
//! ```
//! use fairground_machine::{Distance, Machine};
//!
//! let machine = Machine::find("hikey960")?;
//! assert_eq!(machine.cpus[0].capacity, 462);
//! assert_eq!(machine.cpus_within(4, Distance::Llc).to_string(), "4-7");
//!
//! let error = Machine::find("hikey690").unwrap_err();
//! assert_eq!(error.to_string(), "unknown machine `hikey690`: no preset and no file of that name");
//! # Ok::<(), fairground_machine::MachineError>(())
//! ```

mod builder;
mod caches;
mod capture;
mod check;
mod doubt;
mod error;
mod file;
mod fit_params;
mod load;
mod mask;
mod model;
mod names;
mod part;
mod show;
mod subset;
mod suggest;
pub mod testing;
mod thermal;

pub use caches::{Cache, Caches};
pub use capture::{capture, capture_script, Capture, CaptureError, CaptureOptions};
pub use check::Warning;
pub use doubt::{share_below, standard_normal, Deviations, Doubt, Draw, DrawLaw, Posterior, EFFECTIVE_MIN};
pub use error::{why_unread, FileError, MachineError};
pub use file::places;
pub use fit_params::FitParam;
pub use load::{preset_text, presets};
pub use mask::{CpuMask, MASK_WORDS};
pub use model::*;
pub use subset::MachineSpec;
pub use suggest::{nearest, suggest, suggest_from};
pub use thermal::*;

/// Dense id of a logical CPU.
pub type CpuId = u32;

/// The kernel's default of [`Machine::node_reclaim_distance`] (RECLAIM_DISTANCE).
pub const NODE_RECLAIM_DISTANCE: u32 = 30;

/// The most CPUs a machine may have.
pub const NR_CPUS: usize = 1024;
