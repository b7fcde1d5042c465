//! What the threads do: the program model, built-in benchmarks and rt-app import.

mod program;

pub use program::*;
