//! Rust twins of `kernel/include/ks.h`, the border to a built kernel. Written by build.rs; names and meanings are the
//! header's, masks are [`CpuMask`]s.
//!
//! The functions of [`KsKernel`] are never null: [`crate::Kernel::load`] looks at each before it makes a reference.
//! Those of [`KsHost`] may be.
#![allow(missing_docs)]

use fairground_fair::ffi::*;
use fairground_machine::CpuMask;

use crate::LinuxError;

include!(concat!(env!("OUT_DIR"), "/ks.rs"));

/// Compares the C compiler's layout of every struct with ours.
///
/// # Errors
/// The first size or offset that differs.
pub fn check_layout() -> Result<(), LinuxError> {
    // SAFETY: a constant array of this length, written by build.rs from the same list as LAYOUT.
    let theirs = unsafe { &fairground_ks_layout };
    match LAYOUT.iter().zip(theirs).find(|((_, ours), theirs)| *ours as u64 != **theirs) {
        None => Ok(()),
        Some(((what, ours), theirs)) => Err(LinuxError::Layout { what: (*what).into(), ours: *ours, theirs: *theirs }),
    }
}
