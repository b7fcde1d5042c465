//! The referee: before each decision of a real kernel it copies the kernel's state, gives it to our policy, and
//! compares the two decisions.
//!
//! ```text
//! placing(P) -> read the state into PolicySandbox -> our verdict
//! placed(P)  -> the kernel's choice           -> agree, or a Disagreement with both states and both reasons
//! picking, picked: the same for the choice of the next task of a run queue
//! balancing .. balanced: a pass over a domain, what it finds, moves and leaves behind
//! pushing .. pushed: active balance, which such a pass has requested
//! scanning .. scanned: the choice of the cache that a process prefers
//! governing, governed: a governor's update of a clock, and its request
//! pelt: each step of each signal, our arithmetic on the same numbers
//! ```
//!
//! | module | what |
//! |---|---|
//! | `state` | [`State`]: what a kernel shows; the inputs of each kind of decision |
//! | `state_importer` | the state into the policy's structs |
//! | `referee` | [`Referee`]: asks our policy at each decision and compares |
//! | `balance` | passes of load balancing, both sides |
//! | `push` | active balance, both sides |
//! | `caches` | processes and caches of cache-aware scheduling; its scans, both sides |
//! | `frequency` | updates of the frequency governor, both sides |
//! | `tally` | [`Tally`]: agreement by kind and rule row |
//! | `disagreement_case` | [`DisagreementCase`]: a disagreement as a file that a test replays |
//! | `fields` | the policy's structs as JSON and back |
//! | `topology` | our domains and energy models against the kernel's, once after boot |
//! | `pelt` | [`PeltTally`] |
//! | `watcher` | connects the referee to a hosted kernel |
//! | `preset` | the preset for a tree's release |
//! | `machines` | [`MACHINES`]: the machines on which kernels are refereed |
//! | `workloads` | [`WORKLOADS`]: the workloads under which they are |

mod balance;
mod caches;
mod disagreement_case;
mod fields;
mod frequency;
mod left;
mod machines;
mod pelt;
mod preset;
mod push;
mod referee;
mod state;
mod state_importer;
mod steps;
mod tally;
mod topology;
mod walks;
mod watcher;
mod workloads;

pub use disagreement_case::{CaseError, DisagreementCase, Replay};
pub use machines::{ConformanceMachine, GovernorSet, MACHINES};
pub use pelt::{PeltStep, PeltTally};
pub use preset::{preset_for, preset_of};
pub use referee::{Disagreement, Referee};
pub use state::{CpuTopology, Found, Pass, Placement, Refs, State, Step, SysState};
pub use tally::{Count, Kind, Tally};
pub use topology::compare as compare_topology;
pub use watcher::{Agreement, KernelState, WatchOptions, Watcher};
pub use workloads::{ConformanceWorkload, WORKLOADS};
