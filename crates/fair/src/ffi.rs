//! The Rust side of the C policy: twins of every struct, constant and function of `policy/fg.h`, written by build.rs,
//! and safe wrappers, without `fg_`, of the functions that take no struct of a world (`world/calls.rs` has the others).
//!
//! SAFETY of those: signatures are the header's; they take numbers, and references for the time of the call.
//!
//! Names and meanings are those of the header. Other crates fill these structs with the state of a real kernel.
#![allow(missing_docs)]

use fairground_machine::{CpuMask, CpuMask as FgMask, MASK_WORDS, NR_CPUS};
use fairground_sim::Rule;

use crate::FairError;

/// A feature of `policy/features.h`: one deviation between kernel versions, or one patch under discussion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureInfo {
    /// As typed after `+` or `-`.
    pub name: &'static str,
    /// Words for the values 0, 1, 2, ...; empty for a switch.
    pub values: &'static [&'static str],
    /// Slug of the mail that discusses it (docs/spec/mails.md), or `-`.
    pub mail: &'static str,
    /// Release that has it by default.
    pub since: &'static str,
    /// There is code for it, for at least one of its values.
    pub ready: bool,
    /// One line on what it changes.
    pub text: &'static str,
}

/// A member of a struct, or an element of one that is an array.
pub enum Field<'a> {
    /// An integer of 8 to 64 bits, signed or not.
    Number(&'a mut dyn Number),
    /// A set of CPUs.
    Mask(&'a mut CpuMask),
    /// A struct that is a member.
    Struct(&'a mut dyn Fields),
    /// An array, by its elements.
    List(Vec<Field<'a>>),
}

/// A struct whose members can be visited.
pub trait Fields {
    /// Calls `visit` for each member that is not a pointer, in the header's order.
    fn fields(&mut self, visit: &mut dyn FnMut(&'static str, Field<'_>));
}

/// An integer that is a member of a struct.
pub trait Number {
    /// The value, widened to a type that holds every member.
    fn get(&self) -> i128;
    /// Sets the value; false if the type cannot hold it.
    fn set(&mut self, value: i128) -> bool;
}

macro_rules! numbers {
    ($($ty:ty)*) => {
        $(impl Number for $ty {
            fn get(&self) -> i128 {
                i128::from(*self)
            }

            fn set(&mut self, value: i128) -> bool {
                Self::try_from(value).map(|value| *self = value).is_ok()
            }
        })*
    };
}
numbers!(u8 u16 u32 u64 i8 i16 i32 i64);

include!(concat!(env!("OUT_DIR"), "/fg.rs"));

const _: () = assert!(FG_NR_CPUS as usize == NR_CPUS && FG_MASK_WORDS as usize == MASK_WORDS);
const _: () = assert!(FEATURES.len() <= FG_MAX_FEATURES as usize);
// Elements of an array begin with a cache line, as their order of members expects. Pointers of 4 bytes leave a remainder.
const _: () = assert!(size_of::<usize>() < 8 || (size_of::<FgCpu>() % 64 == 0 && size_of::<FgTask>() % 64 == 0));

/// Compares the C compiler's layout of every struct with ours.
///
/// # Errors
/// The first size or offset that differs.
pub fn check_layout() -> Result<(), FairError> {
    // SAFETY: a constant array of this length, written by build.rs from the same list as LAYOUT.
    let theirs = unsafe { &fairground_layout };
    match LAYOUT.iter().zip(theirs).find(|((_, ours), theirs)| *ours as u64 != **theirs) {
        None => Ok(()),
        Some(((what, ours), theirs)) => Err(FairError::Layout { what: (*what).into(), ours: *ours, theirs: *theirs }),
    }
}
