//! Experiments, statistics, published rows and reports, on runs of the simulator.

pub mod comparison;
pub mod experiment;
pub mod fail_if;
pub mod metric;
pub mod published;
pub mod reproduce;
pub mod spec;
pub mod stats;
pub mod tables;
