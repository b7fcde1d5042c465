//! Every parser of what comes from outside, against inputs that mean harm.
//!
//! A [`Target`] is a parser with seeds: good files, of every kind that it reads. [`fuzz`] runs it on seeds that were
//! changed at random ([`mutate`]), the same way in every run: run `n` of a target has one input. What is found becomes
//! a file in `found/TARGET`, which the tests read from then on. In `cargo test` there are some hundred runs of each;
//! more are had from the program:
//!
//! ```text
//! cargo run --release -p fairground-fuzz -- dat --runs 10000000
//! ```
//!
//! A parser may refuse what it likes, by an error with a name. It must not panic, and it must not take longer than
//! [`SOON`]; what aborts the process or takes its memory shows in the program's last line of progress.

pub mod mutate;
mod targets;

use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::Duration;

use nix::time::{clock_gettime, ClockId};

pub use targets::{targets, Input, Target};

/// CPU time; longer than any input of ours takes, in a debug build too.
pub const SOON: Duration = Duration::from_secs(10);

/// What a target made of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was read, in part at least.
    Read,
    /// An error says why not.
    Refused,
}

/// What runs led to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Inputs that were read.
    pub read: u64,
    /// Inputs that were refused.
    pub refused: u64,
    /// The longest that one took, CPU time, and in which run.
    pub longest: (Duration, u64),
}

/// An input that a parser does not survive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The run it is of.
    pub run: u64,
    /// What was read.
    pub input: Vec<u8>,
    /// What happened, in words.
    pub problem: String,
}

/// Runs a target on one input.
///
/// # Errors
/// What happened, in words: it panicked, or took too long.
pub fn attempt(target: &Target, input: &[u8]) -> Result<(Verdict, Duration), String> {
    let begun = cpu_time();
    let verdict = catch_unwind(AssertUnwindSafe(|| (target.run)(input))).map_err(|panic| words(panic.as_ref()))?;
    let took = cpu_time().saturating_sub(begun);
    match took > SOON {
        true => Err(format!("it took {took:.1?}")),
        false => Ok((verdict, took)),
    }
}

/// Of this thread.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("it panicked: {}", text.unwrap_or("without a word"))
}

/// Runs a target on the inputs of `runs`, until one is not survived. `told` hears of each run before it begins.
///
/// # Errors
/// The input that was not survived.
pub fn fuzz(
    target: &Target,
    runs: std::ops::Range<u64>,
    mut told: impl FnMut(u64, &Tally),
) -> Result<Tally, Box<Finding>> {
    let seeds = (target.seeds)();
    let mut tally = Tally::default();
    for run in runs {
        told(run, &tally);
        let mut input = mutate::changed(&seeds, target.words, run);
        (target.finish)(&mut input);
        match attempt(target, &input) {
            Ok((verdict, took)) => {
                tally.longest = tally.longest.max((took, run));
                match verdict {
                    Verdict::Read => tally.read += 1,
                    Verdict::Refused => tally.refused += 1,
                }
            }
            Err(problem) => return Err(Box::new(Finding { run, input, problem })),
        }
    }
    Ok(tally)
}
