//! Runs schedulers, one run or many, and stores the results.
//!
//! | module | holds |
//! |---|---|
//! | [`sched_spec`] | schedulers by name: `fair:PRESET+feature`, `linux:NAME` |
//! | [`run_config`] | the settings of a run besides machine, workload and scheduler: HZ, governors, sysctls, ambient temperature |
//! | [`experiment`] | machine, workload, schedulers and configuration, ready to run; outputs of a run: report, trace, logs |
//! | [`run_spec`] | one run as plain data, with the content of the files that it names |
//! | [`content`] | machines and workloads whose files are given by content |
//! | [`batch`] | every scheduler with every seed, in parallel |
//! | [`executor`] | many batches as one: reads results from the store, runs the rest |
//! | [`column_spec`], [`farm`] | runs as content; runs on other computers, whose results come back to the store |
//! | [`key`], [`store`] | hash of everything that determines a run; results of runs on disk |
//! | [`metrics`] | the figures of a run |
//! | [`placements`], [`speed`] | the placements of a run; its host time |
//! | [`worker`] | processes for runs of kernels, whose code may crash or loop; [`instrumented`] reports the calls of a scheduler |
//! | [`kernel_compat`] | whether built kernels fit a machine and each other |
//! | [`sweep_file`] | experiment files: axes over machines, workloads, schedulers, features and figures |
//!
//! Built for a system that is no Unix (WebAssembly), the crate makes runs of our own scheduler in its own process: it has no
//! workers, no kernels, and no store, executor, farm, run specs or sweep files, which need files and threads.
//!
//! This crate makes runs and stores their results. The crate `fairground-lab` evaluates them (comparisons, published
//! rows, explanations); this crate does not depend on it.
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
#[cfg(unix)]
pub mod column_spec;
pub mod content;
#[cfg(unix)]
pub mod executor;
pub mod experiment;
#[cfg(unix)]
pub mod farm;
pub mod instrumented;
pub mod kernel_compat;
pub mod key;
mod memory;
pub mod metrics;
pub mod placements;
pub mod run_config;
#[cfg(unix)]
pub mod run_spec;
pub mod sched_spec;
#[cfg(unix)]
pub mod speed;
#[cfg(unix)]
pub mod store;
#[cfg(unix)]
pub mod sweep_file;
#[cfg(unix)]
pub mod worker;
#[cfg(not(unix))]
#[path = "worker/none.rs"]
pub mod worker;
