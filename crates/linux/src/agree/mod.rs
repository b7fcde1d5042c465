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
//! | `show` | the state into the policy's structs |
//! | `referee` | [`Referee`]: who is asked at each decision, and what becomes of the answer |
//! | `balance` | passes of load balancing, both sides |
//! | `push` | what stoppers push, both sides |
//! | `frequency` | looks of the frequency governor, both sides |
//! | `tally` | [`Tally`]: agreement by kind and rule row |
//! | `case` | [`Case`]: a disagreement as a file that a test replays |
//! | `fields` | the policy's structs as JSON and back |
//! | `topology` | our domains and energy models against the kernel's, once after boot |
//! | `pelt` | [`PeltTally`] |
//! | `watch` | all of it beside a hosted kernel |
//! | `preset` | which of our presets stands for a tree |
//! | `shapes` | [`SHAPES`]: the machines on which kernels are refereed |
//! | `courses` | [`COURSES`]: the workloads under which they are |

mod balance;
mod case;
mod courses;
mod fields;
mod frequency;
mod pelt;
mod preset;
mod push;
mod referee;
mod shapes;
mod show;
mod state;
mod tally;
mod topology;
mod watch;

pub use case::{Case, CaseError, Replay};
pub use courses::{Course, COURSES};
pub use pelt::{PeltStep, PeltTally};
pub use preset::{preset_for, preset_of};
pub use referee::{Disagreement, Referee};
pub use shapes::{Shape, Under, SHAPES};
pub use state::{Found, Pass, Place, Placement, Refs, State, SysState};
pub use tally::{Kind, Tally};
pub use topology::compare as compare_topology;
pub use watch::{Agreement, Asked, KernelState, Watcher};
