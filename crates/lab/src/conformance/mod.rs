//! How closely our policy and our scheduler follow a real kernel.
//!
//! | module | question |
//! |---|---|
//! | [`agree`] | on the kernel's own state, does our policy decide alike? |
//! | [`free_running`] | left to themselves, do kernel and scheduler behave alike? |

pub mod agree;
pub mod free_running;
