//! `fairground live`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use fairground_lab::tables::Format;

/// What to do with the scheduler in the running kernel.
#[derive(Subcommand)]
pub enum LiveCommand {
    /// Start: all tasks of the fair class are scheduled by the policy until the command is interrupted
    Start(Start),
    /// Load the programs without starting them: what the kernel lacks, and what its verifier says of each program
    Check(Check),
    /// Say what the scheduler that runs has done: placements and picks by rule, migrations, latencies
    Status(Status),
    /// Write its events and placements to a trace, and ask the command's own policy about each placement again
    Record(Record),
    /// Play a workload with two sets of features in turns, and compare them
    Ab(Ab),
    /// Turn features of the scheduler that runs on and off: +asym-prev-first -misfit-unlink
    Set(Set),
}

/// Loads the policy into the kernel and stays until it ends.
#[derive(Args)]
pub struct Start {
    /// Preset or file that describes this machine [default: as `machine capture` sees it]
    machine: Option<String>,
    /// Release and features of the policy: fair:v6.12+asym-prev-first
    #[arg(long, value_name = "SCHED", default_value = "fair:v6.12")]
    sched: String,
    /// The kernel's ticks per second [default: as its configuration says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    hz: Option<u32>,
    /// End after this time, s [default: when the command is interrupted]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: Option<u64>,
}

/// Asks the kernel about the programs.
#[derive(Args)]
pub struct Check {}

/// Reads the counters of the scheduler that runs.
#[derive(Args)]
pub struct Status {
    /// Print them again after this time, until the command is interrupted; on a terminal in place, e.g. 1s
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    watch: Option<Duration>,
}

/// Records the scheduler that runs.
#[derive(Args)]
pub struct Record {
    /// What the trace says of this machine: preset or file [default: as `machine capture` sees it]
    machine: Option<String>,
    /// Write the trace to this file: dat for .dat, Perfetto for .perfetto-trace and .pftrace, else text [default: no trace, placements
    /// are only asked again]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Also write the reasons of every placement, for `fairground explain`
    #[arg(long, requires = "output")]
    why: bool,
    /// Do not copy what placements are decided on: cheaper, but there are no reasons then, and the command's policy is not asked again
    #[arg(long, requires = "output", conflicts_with = "why")]
    events_only: bool,
    /// End after this time, s [default: when the command is interrupted]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: Option<u64>,
    /// Record while this command runs: it starts when the recording has begun, which ends with it; one that still runs when the recording
    /// ends for another reason gets SIGTERM
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Compares two sets of features on the system that runs.
#[derive(Args)]
pub struct Ab {
    /// Built-in with options (sched-pipe:loops=50000,threads) or an rt-app file: what `fairground play` takes
    workload: String,
    /// Features of the base: fair:v6.12
    #[arg(long, value_name = "SCHED")]
    base: String,
    /// Features of the test: fair:v6.12+asym-prev-first
    #[arg(long, value_name = "SCHED")]
    test: String,
    /// Pairs of rounds; base and test change places from pair to pair
    #[arg(long, value_name = "N", default_value = "8", value_parser = clap::value_parser!(u64).range(1..=1000))]
    rounds: u64,
    /// Least time of a round: the workload is played again until it has passed, and its figures are means, e.g. 10s [default: it is
    /// played once]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    round: Option<Duration>,
    /// Preset or file that describes this machine, by which the workload is read [default: as `machine capture` sees it]
    #[arg(long, value_name = "MACHINE")]
    machine: Option<String>,
    /// own, mail, mmtests, amd, arm, markdown, csv, json or html
    #[arg(long, default_value_t = Format::Own)]
    format: Format,
}

/// A time with a unit: 500ms, 10s, 2m; without one s.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        _ => return Err(format!("`{unit}` is no unit: expected ms, s or m")),
    };
    let seconds = number.parse::<f64>().map_err(|_| "expected a number and a unit, e.g. 10s")? * scale;
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("{seconds} s is no time"))
}

/// Writes features of the scheduler that runs.
#[derive(Args)]
pub struct Set {
    /// Changes: +NAME, -NAME, +NAME=VALUE
    #[arg(required = true, value_name = "CHANGE", allow_hyphen_values = true)]
    changes: Vec<String>,
}

#[cfg(feature = "live")]
mod ab;
#[cfg(feature = "live")]
mod built;
#[cfg(feature = "live")]
mod record;

#[cfg(not(feature = "live"))]
mod absent {
    use miette::Diagnostic;
    use thiserror::Error;

    use super::LiveCommand;
    use crate::error::{End, Failure};

    /// The command was built without it.
    #[derive(Debug, Error, Diagnostic)]
    #[error("this command was built without `fairground live`")]
    #[diagnostic(help(
        "build it with clang-19, llvm-19, python3 and libelf-dev: cargo build --release -p fairground-cli --features live"
    ))]
    struct Absent;

    impl LiveCommand {
        pub fn run(self) -> Result<End, Failure> {
            Err(Absent.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit() {
        assert_eq!(parse_duration("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(parse_duration("2"), Ok(Duration::from_secs(2)));
        assert_eq!(parse_duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert!(parse_duration("10h").unwrap_err().contains("expected ms, s or m"));
        assert!(parse_duration("s").is_err() && parse_duration("1e999").is_err());
    }
}
