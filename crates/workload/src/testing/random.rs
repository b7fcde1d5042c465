//! Random workloads.
