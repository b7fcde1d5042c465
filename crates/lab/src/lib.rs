//! Experiments, statistics, published rows and reports, on runs of the simulator.

pub mod bench;
pub mod comparison;
pub mod experiment;
pub mod fail_if;
pub mod metric;
pub mod published;
pub mod readings;
pub mod reproduce;
pub mod setup;
pub mod spec;
pub mod stats;
pub mod tables;
