//! The referee: at each decision of a real kernel our policy is shown the kernel's own state, captured before side
//! effects, and must decide the same.
//!
//! ```text
//! placing(P) -> the state is read into PolicySandbox -> our verdict
//! placed(P)  -> the kernel's choice           -> agree, or a Disagreement with both states and both reasons
//! picking, picked: the same for the choice of the next task of a run queue
//! balancing .. balanced: a pass over a domain, what it finds, moves and leaves behind
//! pushing .. pushed: what a stopper does that such a pass has asked
//! governing, governed: a governor's look at a clock, and what it asks for
//! pelt: each step of each signal, our arithmetic on the same numbers
//! ```
//!
//! | module | what |
//! |---|---|
//! | `state` | [`State`]: what can be asked of a kernel; who decides on what |
//! | `state_importer` | the state into the policy's structs |
//! | `referee` | [`Referee`]: who is asked at each decision, and what becomes of the answer |
//! | `balance` | passes of load balancing, both sides |
//! | `push` | what stoppers push, both sides |
//! | `frequency` | looks of the frequency governor, both sides |
//! | `tally` | [`Tally`]: agreement by kind and rule row |
//! | `disagreement_case` | [`DisagreementCase`]: a disagreement as a file that a test replays |
//! | `fields` | the policy's structs as JSON and back |
//! | `topology` | our domains and energy models against the kernel's, once after boot |
//! | `pelt` | [`PeltTally`] |
//! | `watcher` | all of it beside a hosted kernel |
//! | `preset` | which of our presets stands for a tree |
//! | `machines` | [`MACHINES`]: the machines on which kernels are refereed |
//! | `workloads` | [`WORKLOADS`]: the workloads under which they are |

mod balance;
mod disagreement_case;
mod fields;
mod frequency;
mod machines;
mod pelt;
mod preset;
mod push;
mod referee;
mod state;
mod state_importer;
mod tally;
mod topology;
mod watcher;
mod workloads;

pub use disagreement_case::{CaseError, DisagreementCase, Replay};
pub use machines::{ConformanceMachine, GovernorSet, MACHINES};
pub use pelt::{PeltStep, PeltTally};
pub use preset::{preset_for, preset_of};
pub use referee::{Disagreement, Referee};
pub use state::{CpuTopology, Found, Pass, Placement, Refs, State, SysState};
pub use tally::{Kind, Tally};
pub use topology::compare as compare_topology;
pub use watcher::{Agreement, KernelState, WatchOptions, Watcher};
pub use workloads::{ConformanceWorkload, WORKLOADS};
