//! Machines captured from fake sysfs trees, from tarballs of them, and from device trees.

mod archives;
mod cpuinfo;
mod devicetree;
mod fdt;
mod kit;
mod machines;
mod mutilated;
mod refused;
mod script;
mod trees;
