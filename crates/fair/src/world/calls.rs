//! The policy's questions as methods of [`World`]: written by build.rs (`build/calls.rs`) from the prototypes of `policy/fg.h`,
//! with the same names without `fg_`. Contracts are stated there.
//!
//! SAFETY, for all of them:
//!
//! 1. Signatures are the header's, and the layout of every struct is compared before there is a world (`check_layout`).
//! 2. A pointer that is handed over is an element of one of the world's slabs, which check the number; or null, where the
//!    header allows it; or a reference of the caller's, which the policy does not keep.
//! 3. A pointer in what these point at is null or an element of a slab of the same world: `link.rs` and the policy aim them.
//!    Elements neither move nor go before the world does. `FgBalance` and `FgWake`, which hold such pointers too, are made by
//!    methods of the world alone.
//! 4. No Rust reference into a slab is alive during a call that may write to one: that takes `&mut self`, and references that
//!    the world hands out borrow it. What takes `&self` only reads.
#![allow(dead_code)]

use super::slabs::World;
use crate::ffi::*;

include!(concat!(env!("OUT_DIR"), "/calls.rs"));
