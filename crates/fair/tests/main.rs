//! All tests of the crate from outside: one program, which is linked once.

mod balance;
mod bandwidth;
mod caches;
mod calls;
mod clamps;
mod eevdf;
mod features;
mod governor;
mod groups;
mod hotplug;
mod hrtick;
mod lazy;
mod pressure;
mod rig;
mod runs;
mod server;
mod signals;
mod topology;
