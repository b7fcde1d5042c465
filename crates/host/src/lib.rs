//! The machine at hand: its files, what is changed on it, and how that is taken back.
//!
//! Two commands change the machine on which they run: `validate` for its interventions, `machine measure` for idle states and clocks.
//! Both write down first how each change is taken back ([`restore`]), in one record at one place, and each restores what a
//! killed one of either kind has left.
//!
//! All files are below a root, `/` but for tests, which lay out machines of their own.

pub mod host;
pub mod restore;
pub mod stop;

pub use host::{is_writable, number, read, Host, SystemSetting};
pub use restore::{thread_began, Changes, Keeper, RestoreError};
