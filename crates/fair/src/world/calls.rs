//! The policy's functions as methods of [`World`]. build.rs (`build/calls.rs`) writes them from the prototypes of
//! `policy/fg.h`, which states their contracts; names lose their `fg_`.
//!
//! SAFETY, for all of them:
//!
//! 1. Signatures are the header's, and `check_layout` compares the layout of every struct before a world is made.
//! 2. A pointer argument points at an element of one of the world's slabs, which check the number; or is null, where
//!    the header allows it; or is a reference of the caller's, which the policy does not keep.
//! 3. A pointer in a struct that an argument points at is null or points at an element of a slab of the same world:
//!    `link.rs` and the policy set them. Elements do not move, and live as long as the world. `FgBalance` and `FgWake`,
//!    which hold such pointers too, are made only by methods of the world.
//! 4. No Rust reference into a slab is alive during a call that may write to one: such a call takes `&mut self`, and
//!    references that the world returns borrow it. A call that takes `&self` only reads.
#![allow(dead_code)]

use super::slabs::World;
use crate::ffi::*;

include!(concat!(env!("OUT_DIR"), "/calls.rs"));
