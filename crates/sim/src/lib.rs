//! The simulation engine: virtual time and hardware. Defines [`Scheduler`] and knows no policy.
//!
//! An [`Engine`] takes a machine, a workload, a scheduler and a [`Config`]; [`Engine::run`] gives an [`Outcome`] and
//! reports every [`Event`] to [`Observer`]s. A run is a pure function of these: same inputs, same bytes.
//!
//! ```
//! use fairground_sim::{testing, Config, HashObserver};
//! use fairground_workload::{Amount, Op};
//!
//! let spin = testing::spec("spin", vec![Op::Run(Amount::fixed(1_000_000))]);
//! let workload = testing::workload(vec![], vec![spin.clone(), spin]);
//! let mut hash = HashObserver::new();
//! let config = Config { start_phase: false, ..Config::default() };
//! let mut engine = testing::engine(testing::machine(2, 1), workload, config);
//! let outcome = engine.run(&mut [&mut hash]).unwrap();
//! // The second thread is placed on CPU 1 and started by an IPI of 1 ns.
//! assert_eq!(outcome.end, 1_000_001);
//! ```

mod checkers;
mod coherence;
mod draw;
mod energy;
mod engine;
mod env;
mod error;
mod event;
mod hash;
mod hist;
mod metrics;
mod misplacement;
mod prefetch;
mod queue_lock;
mod rule;
mod sched;
pub mod testing;

pub use checkers::{EventChecker, WasteMeter};
pub use coherence::Traffic;
pub use draw::{draw, in_amount, lineage_of_child, lineage_of_start, program_amount, program_floor, Purpose};
pub use energy::{joules, CpuEnergy, Energy, EnergyBook, EnergyPart, RailEnergy};
pub use engine::{
    Account, ClampLimits, Config, Engine, Governor, IdleGovernor, IdleStats, InvalidSpeed, LockCosts, NoSuchClock,
    Outcome, SetSpeed, Totals,
};
pub use env::{BalanceAttempt, CpuView, Env, FrequencyLimits, IdleView, Request};
pub use error::SimError;
pub use event::*;
pub use hash::HashObserver;
pub use hist::Histogram;
pub use metrics::{ops_per_sec, Delay, Meters, MetricsObserver, RuleCount, RunMetrics, NR_CAUSES};
pub use misplacement::MisplacementMeter;
pub use prefetch::{prefetch_start, prefetch_value};
pub use rule::Rule;
pub use sched::*;

/// Virtual time, ns since the run began.
pub type Time = u64;

/// Dense id of a task, never reused within a run.
pub type TaskId = u32;
