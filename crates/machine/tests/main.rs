//! All tests of the crate from outside: one program, which is linked once.

mod capture;
mod doubt;
mod posterior;
mod presets;
mod refused;
mod reports;
mod round_trip;
mod strategy;
