//! Experiments, statistics, published rows and reports, on runs of the simulator.
//!
//! A [`setup::Setup`] is everything but the seed; [`experiment::run`] runs its schedulers with every seed, in parallel;
//! a [`comparison::Report`] sets base against test, pair by pair ([`stats`]), and [`tables::Format`] lays it out.
//! [`published`] holds figures from mails, [`reproduce`] repeats them, [`calibrate`] the fits behind them, [`terms`] split
//! a change by the cost that carries it, [`dissect`] by its features, [`fail_if`] turns a report into a gate, [`mod@bench`]
//! measures our own speed. [`mod@explain`] says of placements why. [`regret`] says how far placements are from the best ones. [`fit`] asks whether kernels fit a machine and each other, [`mod@agree`] sets a kernel beside our
//! policy. Code that may do anything, a kernel's, runs in processes of their own ([`worker`]).
//!
//! ```
//! use std::sync::Arc;
//! use fairground_lab::{comparison::Report, experiment, setup::Setup, tables::Format};
//! use fairground_machine::Machine;
//! use fairground_workload::Workload;
//!
//! let machine = Machine::find("hikey960")?;
//! let (workload, _) = Workload::find("sched-pipe:loops=100,threads", &machine)?;
//! let scheds = ["fair:v5.9", "fair:v5.9+asym-prev-first"];
//! let setup = Setup {
//!     machine: Arc::new(machine),
//!     workload: Arc::new(workload),
//!     scheds: scheds.iter().map(|s| s.parse()).collect::<Result<_, _>>()?,
//!     config: Default::default(),
//!     workers: Default::default(),
//! };
//! let plan = experiment::Plan { scheds: 2, seeds: vec![1, 2], jobs: 1, check_determinism: false };
//! let results = experiment::run(&plan, &setup, &|| ())?;
//! let names = scheds.map(String::from);
//! let report = Report::new("hikey960", "sched-pipe", &names, &plan.seeds, &results);
//! assert!(Format::Own.render(&report).contains("ops_per_sec"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod agree;
pub mod around;
pub mod bench;
pub mod calibrate;
pub mod campaign;
pub mod circumstances;
pub mod comparison;
pub mod dissect;
pub mod experiment;
pub mod explain;
pub mod fail_if;
pub mod fit;
pub mod free;
pub mod metric;
pub mod published;
pub mod readings;
pub mod regret;
pub mod replay;
pub mod reproduce;
pub mod selection;
pub mod sensitivity;
pub mod setup;
pub mod spec;
pub mod stats;
pub mod store;
pub mod study;
pub mod sweep;
pub mod tables;
pub mod terms;
pub mod worker;
