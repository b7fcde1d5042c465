//! [`World`]: every struct that the policy reads, in slabs, and the policy's functions as safe methods.
//!
//! All pointers inside the structs point into the world's slabs (`slabs`), which live as long as the world. The methods
//! are in `calls`, which says why they are safe.

mod balance;
mod calls;
mod cpus;
mod energy;
mod governor;
mod groups;
mod link;
mod processes;
mod rt;
mod slabs;
mod sums;
mod wake;

pub(crate) use self::groups::{depths, entity_of_group, group_of_entity, NewGroup, Place, Quota};
pub(crate) use self::rt::is_rt;
pub use self::slabs::Pointers;
pub(crate) use self::slabs::World;
pub(crate) use self::wake::WakeArgs;
use crate::ffi::{self, *};

/// The effective clamps of a group that requests `want`, restricted to those of its parent, `around`.
pub(crate) fn uclamp_restrict(around: &FgClamps, want: &FgClamps) -> FgClamps {
    let mut allowed = FgClamps::zeroed();
    ffi::uclamp_restrict(around, want, &mut allowed);
    allowed
}

/// The load weight of a task of this nice value.
pub(crate) fn weight_of_nice(nice: i32) -> u32 {
    let mut p = FgTask { nice, ..FgTask::zeroed() };
    // SAFETY: one struct, exclusive for the time of the call.
    unsafe { fg_set_load_weight(&mut p) };
    p.weight
}
