//! `fairground explain`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fairground_lab::explain::{self, Asked, Differing, Wanted};
use fairground_trace::explain::Split;
use miette::Diagnostic;
use thiserror::Error;

use self::time::parse_time;
use super::run::RunFormat;
use crate::circumstances::{parse_hz, GovernorName};
use crate::error::{End, Failure};
use crate::input::{to_be_read_twice, trace_notes, trace_path};
use crate::output::print;

mod recorded;
mod time;

/// Explains the placements of a trace.
///
/// Without --task and --at: which rule decided how often. With --task: its placements, a line each. With --at: one
/// placement in full. `fairground run ... --trace FILE --why` records traces with reasons. With --trace: what a scheduler
/// of ours would have chosen where any trace has wakeups.
#[derive(Args)]
pub struct Explain {
    /// Trace of `fairground run`; - is standard input
    #[arg(required_unless_present_any = ["diff", "trace"], value_parser = trace_path())]
    file: Option<PathBuf>,
    /// Any trace, a kernel's too: say of each recorded wakeup what --sched would have chosen, and how sure that is
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "diff", "by"], value_parser = trace_path())]
    trace: Option<PathBuf>,
    /// With --trace: the machine that was recorded, preset or file [default: as the trace says, if it is ours]
    #[arg(long, value_name = "MACHINE")]
    machine: Option<String>,
    /// With --trace: who is asked [default: who ran, if the trace says so and that was fair:..., else fair:v6.12]
    #[arg(long, value_name = "fair:SPEC")]
    sched: Option<String>,
    /// With --trace: who chose frequencies; with schedutil wakeups may go by energy [default: as the trace says, if it is ours, else performance]
    #[arg(long, value_enum)]
    governor: Option<GovernorName>,
    /// With --trace: ticks per second of the kernel that was recorded [default: as the trace says, if it is ours, else 250]
    #[arg(long, value_parser = parse_hz)]
    hz: Option<u32>,
    /// With --trace: the N-th wakeup that is judged, of those that --task, --at and --cpu allow, in full
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    nth: Option<u64>,
    /// Only placements of this task: name, pid, or name-pid
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
    /// The placement at this time, or the first after it: 1.25, 1250ms, 1250000us, 1250000000ns
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    at: Option<u64>,
    /// Only placements onto this CPU
    #[arg(long, value_name = "N")]
    cpu: Option<u32>,
    /// Count the rules of each task or CPU for itself
    #[arg(long, value_enum, conflicts_with_all = ["task", "at"])]
    by: Option<ByName>,
    /// Set two traces side by side: the first placement that differs, and the shift of decisions by rule
    #[arg(long, value_names = ["BASE", "TEST"], num_args = 2, conflicts_with_all = ["file", "task", "at", "cpu", "by"])]
    diff: Option<Vec<PathBuf>>,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: ExplainFormat,
}

/// As typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ExplainFormat {
    /// For people
    #[default]
    Text,
    /// The documented schema
    Json,
    /// With --trace: its rows, comma-separated
    Csv,
}

/// As typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ByName {
    /// By the name of the task
    Task,
    /// By the chosen CPU
    Cpu,
}

/// An option beside a trace whose placements stand in it.
#[derive(Debug, Error, Diagnostic)]
#[error("{option} is for --trace FILE")]
#[diagnostic(help(
    "a kernel's trace is explained by `fairground explain --trace FILE --machine MACHINE`; without --trace the placements of a \
     trace of `fairground run` are, which says all of this itself"
))]
struct ForTrace {
    option: &'static str,
}

/// A layout of rows where there are none.
#[derive(Debug, Error, Diagnostic)]
#[error("--format csv is for --trace")]
#[diagnostic(help("text and json are for all"))]
struct NoRows;

impl Explain {
    pub fn run(self) -> Result<End, Failure> {
        // Not by clap's `requires`, which a file beside it, in conflict with --trace, puts out of force.
        if let (None, Some(option)) = (&self.trace, self.for_trace()) {
            return Err(ForTrace { option }.into());
        }
        let text = match (&self.trace, &self.diff, &self.file) {
            (Some(trace), ..) => recorded::explain(trace, &self)?,
            (None, Some(sides), _) => diff(&sides[0], &sides[1], self.plain_format()?)?,
            (None, None, Some(file)) => self.explain(file, self.plain_format()?)?,
            // Not reached: clap asks for one of them.
            (None, None, None) => String::new(),
        };
        print(&text)?;
        Ok(End::Done)
    }

    /// The first option given that is of use beside `--trace` only.
    fn for_trace(&self) -> Option<&'static str> {
        let given = [
            ("--machine", self.machine.is_some()),
            ("--sched", self.sched.is_some()),
            ("--governor", self.governor.is_some()),
            ("--hz", self.hz.is_some()),
            ("--nth", self.nth.is_some()),
        ];
        given.into_iter().find_map(|(option, given)| given.then_some(option))
    }

    /// Of all but `--trace`.
    fn plain_format(&self) -> Result<RunFormat, NoRows> {
        match self.format {
            ExplainFormat::Text => Ok(RunFormat::Text),
            ExplainFormat::Json => Ok(RunFormat::Json),
            ExplainFormat::Csv => Err(NoRows),
        }
    }

    fn wanted(&self) -> Wanted {
        Wanted { task: self.task.clone(), at: self.at, cpu: self.cpu }
    }

    fn explain(&self, file: &PathBuf, format: RunFormat) -> Result<String, Failure> {
        let by = match self.by {
            None => Split::None,
            Some(ByName::Task) => Split::Task,
            Some(ByName::Cpu) => Split::Cpu,
        };
        let asked = Asked { wanted: self.wanted(), by };
        let (text, notes) = match format {
            RunFormat::Text => explain::explain(file, &asked)?,
            RunFormat::Json => explain::explain_json(file, &asked)?,
        };
        trace_notes(&notes);
        Ok(text)
    }
}

/// Base against test.
fn diff(base: &PathBuf, test: &PathBuf, format: RunFormat) -> Result<String, Failure> {
    [base, test].into_iter().try_for_each(|path| to_be_read_twice(path, "--diff"))?;
    let differing = Differing::of(base, test)?;
    Ok(match format {
        RunFormat::Text => differing.text(),
        RunFormat::Json => differing.json(),
    })
}
