//! Coverage-guided fuzzing of every parser of files from outside.
//!
//! A [`Target`] is a parser with seeds (good files of every kind that it reads), a dictionary, and checks of what it
//! returns. libFuzzer changes the seeds and keeps the inputs that reach new code (`src/bin/fuzz-parser.rs`). An input
//! that a parser does not survive becomes a file in `found/TARGET`; `cargo test` reads these and the seeds.
//!
//! ```text
//! tests/fuzz.sh 10000000 dat     ten million inputs for the parser of trace.dat
//! ```
//!
//! A parser may refuse any input with an error. It must not panic, and it must not take longer than [`TIME_LIMIT`].

mod targets;

use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::Duration;

use nix::time::{clock_gettime, ClockId};

pub use targets::{targets, Input, Target};

/// The most CPU time a parser may take for one input. No input met so far comes near it, in a debug build either.
pub const TIME_LIMIT: Duration = Duration::from_secs(10);

/// What a parser did with an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It read the input, or a part of it.
    Read,
    /// It returned an error.
    Refused,
}

impl Target {
    /// The target of this name.
    pub fn find(name: &str) -> Option<&'static Target> {
        targets().iter().find(|target| target.name == name)
    }

    /// Parses one input and checks the result.
    ///
    /// # Panics
    /// If the parser panics or its result is wrong.
    pub fn parse(&self, input: Input) -> Verdict {
        let mut input = input.to_vec();
        (self.repair)(&mut input);
        (self.run)(&input)
    }

    /// Parses one input and catches a panic.
    ///
    /// # Errors
    /// The panic's message, or the CPU time if it exceeds [`TIME_LIMIT`].
    pub fn survives(&self, input: Input) -> Result<Verdict, String> {
        let begin = thread_cpu_time();
        let verdict = catch_unwind(AssertUnwindSafe(|| self.parse(input))).map_err(|panic| message(panic.as_ref()))?;
        let took = thread_cpu_time().saturating_sub(begin);
        match took > TIME_LIMIT {
            true => Err(format!("it took {took:.1?}")),
            false => Ok(verdict),
        }
    }

    /// [`Target::words`] in the format of libFuzzer's option `-dict`.
    pub fn dictionary(&self) -> String {
        let escaped = |word: &&str| word.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<String>();
        self.words.iter().map(|word| format!("\"{}\"\n", escaped(word))).collect()
    }
}

fn thread_cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("it panicked: {}", text.unwrap_or("without a message"))
}
