//! One run and many.
//!
//! | module | holds |
//! |---|---|
//! | [`sched_spec`] | schedulers by name: `fair:PRESET+feature`, `linux:NAME` |
//! | [`run_config`] | what runs happen under besides machine, workload and scheduler: HZ, governors, sysctls, ambient temperature |
//! | [`experiment`] | machine, workload, schedulers and configuration, ready to run; what a run leaves: report, trace, logs |
//! | [`run_spec`] | one run as plain data, with the content of the files that it names |
//! | [`batch`] | every scheduler with every seed, in parallel |
//! | [`executor`] | many batches as one: what is on record is taken from the store, the rest is run |
//! | [`key`], [`store`] | what determines a run, hashed; results of runs on disk |
//! | [`metrics`] | the figures of a run |
//! | [`placements`], [`speed`] | what a run decided; what it cost the host |
//! | [`worker`] | processes for runs whose code may do anything, a kernel's; [`instrumented`] reports the calls of a scheduler |
//! | [`kernel_compat`] | whether built kernels fit a machine and each other |
//! | [`sweep_file`] | experiment files: axes over machines, workloads, schedulers, features and figures |
//!
//! This crate makes runs and keeps what they gave. What is asked of them (comparisons, published rows, explanations) is
//! in `fairground-lab`, which this crate does not know.
//!
//! ```
//! use fairground_run::run_config::RunConfig;
//!
//! let scheds = ["fair:v6.12".to_string()];
//! let (experiment, _) = RunConfig::default().find("hikey960", "sched-pipe:loops=100,threads", &scheds)?;
//! let stop = Default::default();
//! let report = experiment.until(&stop, 0, 1)?;
//! assert!(report.metrics.iter().any(|m| m.metric.name == "ops_per_sec" && m.value > 0.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod batch;
pub mod executor;
pub mod experiment;
pub mod instrumented;
pub mod kernel_compat;
pub mod key;
pub mod metrics;
pub mod placements;
pub mod run_config;
pub mod run_spec;
pub mod sched_spec;
pub mod speed;
pub mod store;
pub mod sweep_file;
pub mod worker;
