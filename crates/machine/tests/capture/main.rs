//! Machines captured from fake sysfs trees.

mod kit;
mod machines;
mod mutilated;
mod refused;
mod trees;
