//! Holds predictions against what this machine does.
//!
//! An *intervention* is a workload and one change of it, or of what the scheduler is told. Both sides are played for real
//! (`fairground_play`), in turns, and simulated on a description of the machine ([`predict`]). What came out is scored
//! ([`score`]): whether the change went where it was predicted to, how far off the prediction was beside that of no change
//! at all, and whether its interval said how sure it was.
//!
//! How it is made, and why:
//!
//! - *Changes are scored, levels besides.* The question that the simulator is for is what a change does. A level that is off
//!   by a third on both sides answers it all the same, and costs of a captured machine are borrowed.
//! - *Log ratios, medians over knobs.* An affinity that makes a ping-pong sixteen times as fast would carry any mean, and
//!   any median over cells if it had enough of them.
//! - *Workloads measure themselves*, by what their own programs can read, so that nothing has to be recorded and no right is
//!   needed: a thread's share of a CPU is how long a piece of work takes it, a wakeup's latency is part of a short sleep.
//! - *Rounds of all interventions in turns* ([`rounds`]): a minute of other people's work on the machine hits one pair of
//!   rounds of each.
//! - *Knobs are halved by a hash of their names* ([`matrix::Half`]): what was learned from one half is judged by the other.
//! - *What is done to the whole machine is asked for* (`--system`) and written down before it is done ([`fairground_host::restore`]). Cgroups
//!   are made without asking: they hold our own processes only, and are recorded too.
//! - *Not in the matrix*: utilization clamps, because the clock of most machines where this runs does not follow them.

pub mod base;
pub mod matrix;
mod plot;
pub mod predict;
pub mod report;
pub mod rounds;
pub mod score;
