//! The policy as a scheduler of sched_ext: the same `policy/` that simulations ask decides in a running kernel.
//!
//! | file | what |
//! |---|---|
//! | `bpf/live.bpf.c` | the programs in the kernel: the sequences around the policy, as the kernel calls for them |
//! | `bpf/attributes.c` | what the kernel says of a task |
//! | `bpf/cgroup.c` | cgroups and their weights |
//! | `bpf/quota.c` | quotas of cgroups |
//! | `bpf/record.c` | what recorders are told |
//! | `bpf/kernel.h` | what they need of the kernel, found by name |
//! | `bpf/live.h` | the arena's layout |
//! | `bpf/arena.py` | a step of the build: makes the policy's pointers arena pointers |
//! | `src/structs.rs` | the shared structs as data |
//! | `src/arena.rs` | the arena as user space writes and reads it |
//! | `src/copy.rs` | structs copied between the command's build of the policy and the kernel's |
//! | `src/decision.rs` | a recorded placement, asked again of the command's policy |
//! | `src/recorder.rs` | records a scheduler that runs, and asks about its placements again |
//! | `src/stream.rs` | what the programs tell a recorder, as the events of a trace |
//! | `src/host.rs` | what the kernel at hand has and lacks |
//! | `src/scheduler.rs` | loads, starts and ends the scheduler; opens one that runs |
//!
//! ```text
//! Machine, Features -> PolicySandbox (crates/fair: domains, energy models) -> copied into the arena -> programs attached
//! ```
//!
//! While it runs, the arena is all there is between both sides: counters are read there, features are written there.
//! A scheduler that runs keeps its arena under a name in the BPF file system, where another process finds it.

mod arena;
mod copy;
mod decision;
mod host;
mod recorder;
mod scheduler;
mod stream;
mod structs;

pub use decision::{Arguments, Verdict};
pub use host::Host;
pub use recorder::{record, Different, Recorded, What};
pub use scheduler::{verify, Capacity, Ended, Running, Scheduler, Status, Verified, Waits, WAYS};

/// What keeps a scheduler from starting, or from being found.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum LiveError {
    /// The kernel or the user lacks something; all of it.
    #[error("the scheduler cannot start here: {}", .0.join("; "))]
    #[diagnostic(help("docs/live.md says what a kernel needs"))]
    Lacking(Vec<String>),
    /// The machine file is not of this machine.
    #[error("{0}")]
    Machine(String),
    /// No scheduler of ours runs.
    #[error("no scheduler of Fairground runs here")]
    #[diagnostic(help("start one with `fairground live start`"))]
    NotRunning,
    /// The kernel refused the programs, or a call failed.
    #[error("{what}: {why}")]
    Kernel {
        /// The step that failed, e.g. `load the programs`.
        what: String,
        /// The error, and the verifier's last words if there are any.
        why: String,
    },
}

pub(crate) fn kernel_error(what: &str, why: impl std::fmt::Display) -> LiveError {
    LiveError::Kernel { what: what.into(), why: why.to_string() }
}

/// ns of CLOCK_MONOTONIC, which the programs read.
pub(crate) fn now() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: room for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
