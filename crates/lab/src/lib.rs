//! Experiments, statistics, published rows and reports, on runs of the simulator.

pub mod comparison;
pub mod experiment;
pub mod metric;
pub mod spec;
pub mod stats;
pub mod tables;
