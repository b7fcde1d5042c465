//! The real kernel's scheduler as a scheduler under test and as the referee of ours: `linux:NAME`.
//!
//! ```text
//! source tree --build--> libksched.so --host--> fairground_sim::Scheduler
//!                                     --conformance-> our policy is shown the kernel's state and must decide the same
//! ```
//!
//! | module | what |
//! |---|---|
//! | `build` | overlay, probes, the tree's own Kbuild, the user's cache of built kernels |
//! | `abi` | Rust twins of `kernel/include/ks.h`, the border to the C side |
//! | `host` | a loaded kernel as [`fairground_sim::Scheduler`]; one a process |
//! | `conformance` | the referee |
//!
//! `kernel/` holds the C side: an architecture `sim` that is laid over the user's tree, and what stands for the rest
//! of the kernel. Nothing of a kernel tree is in this repository.

pub mod abi;
pub mod build;
pub mod conformance;
mod host;

pub use host::{
    die, fault_frames, FatalSink, Interests, Kernel, KernelEntity, KernelObserver, Linux, LinuxError, Reader,
};
