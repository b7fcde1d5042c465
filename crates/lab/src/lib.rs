//! Questions on runs of the simulator: comparisons, published rows and their score, explanations, reports.
//!
//! Runs are made by [`fairground_run`]: an [`Experiment`](fairground_run::experiment::Experiment) is everything but the
//! seed, [`batch::run`](fairground_run::batch::run) runs its schedulers with every seed. A [`comparison::Report`]
//! compares base and test, pair by pair ([`stats`]), and [`tables::Format`] formats it. [`published`] holds the values of
//! mails, [`reproduce`] runs their rows, [`calibrate`] repeats the fits. [`cost_attribution`] attributes a change to cost
//! terms, [`ablation`] to features; [`robustness`] and [`sensitivity`] vary what a mail or a machine leaves open.
//! [`doubt`] repeats a comparison on draws of the figures in doubt. [`provenance`] says what a result was made by and from. [`sweep_table`] writes what a grid has given, [`fail_if`] turns a report into a gate, [`mod@bench`] measures our own speed. [`mod@explain`] gives the reasons of
//! placements, [`counterfactual`] the choices of our policy on a recording, [`for_view`] the sides of a page, [`regret`] the energy of placements above the
//! optimum. [`conformance`] compares a kernel's decisions with our policy.
//!
//! Built for a system that is no Unix (WebAssembly), the crate lacks what an executor of runs carries out: [`mod@bench`], [`calibrate`],
//! [`conformance`], [`regret`], [`replay`], [`reproduce`], [`sensitivity`].
//!
//! ```
//! use std::sync::Arc;
//! use fairground_lab::{comparison::{Report, Settings}, tables::Format};
//! use fairground_machine::Machine;
//! use fairground_run::batch;
//! use fairground_run::experiment::Experiment;
//! use fairground_workload::Workload;
//!
//! let machine = Machine::find("hikey960")?;
//! let (workload, _) = Workload::find("sched-pipe:loops=100,threads", &machine)?;
//! let scheds = ["fair:v5.9", "fair:v5.9+asym-prev-first"];
//! let experiment = Experiment {
//!     machine: Arc::new(machine),
//!     workload: Arc::new(workload),
//!     scheds: scheds.iter().map(|s| s.parse()).collect::<Result<_, _>>()?,
//!     config: Default::default(),
//!     workers: Default::default(),
//! };
//! let plan = batch::Plan { scheds: 2, seeds: vec![1, 2], jobs: 1, check_determinism: false };
//! let results = batch::run(&plan, &experiment, &|| ())?;
//! let sides = scheds.map(|sched| Settings::new("hikey960", "sched-pipe", sched));
//! let report = Report::new(&sides, &plan.seeds, &results);
//! assert!(Format::Own.render(&report).contains("ops_per_sec"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod ablation;
#[cfg(unix)]
pub mod bench;
#[cfg(unix)]
pub mod calibrate;
pub mod comparison;
#[cfg(unix)]
pub mod conformance;
pub mod cost_attribution;
pub mod counterfactual;
pub mod doubt;
pub mod explain;
pub mod fail_if;
pub mod for_view;
pub mod page;
mod plot;
pub mod provenance;
pub mod published;
pub mod recorded;
#[cfg(unix)]
pub mod regret;
#[cfg(unix)]
pub mod replay;
#[cfg(unix)]
pub mod reproduce;
pub mod robustness;
#[cfg(unix)]
pub mod sensitivity;
mod shortened;
pub mod sides;
pub mod stats;
#[cfg(unix)]
pub mod sweep_table;
pub mod tables;
