//! `fairground explain`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fairground_lab::explain::{self, Query, Wanted};
use fairground_trace::explain::Split;

use self::time::parse_time;
use super::run::RunFormat;
use crate::error::{End, Failure};
use crate::input::{trace_notes, trace_path};
use crate::output::print;

mod time;

/// Explains the placements of a trace of `fairground run`.
///
/// Without --task and --at: which rule decided how often. With --task: its placements, a line each. With --at: one
/// placement in full. With --picks the same of picks. `fairground run ... --trace FILE --why` records traces with reasons. `fairground diff` sets two
/// traces side by side; `fairground whatif` judges traces of a kernel.
#[derive(Args)]
pub struct Explain {
    /// Trace of `fairground run`; - is standard input
    #[arg(value_parser = trace_path())]
    file: PathBuf,
    /// Explain picks: why a task runs, why a woken one preempts or waits, why time takes the CPU from one
    #[arg(long, conflicts_with = "by")]
    picks: bool,
    #[command(flatten)]
    filter: Filter,
    /// Count rules separately for each task or CPU
    #[arg(long, value_enum, conflicts_with_all = ["task", "at"])]
    by: Option<ByName>,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: RunFormat,
}

/// Which placements.
#[derive(Args)]
pub struct Filter {
    /// Only placements of this task: name, pid, or name-pid
    #[arg(long, value_name = "NAME")]
    pub task: Option<String>,
    /// The placement at this time, or the first after it: 1.25, 1250ms, 1250000us, 1250000000ns
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub at: Option<u64>,
    /// Only placements onto this CPU
    #[arg(long, value_name = "N")]
    pub cpu: Option<u32>,
}

impl Filter {
    /// The filter as the library takes it.
    pub fn wanted(&self) -> Wanted {
        Wanted { task: self.task.clone(), at: self.at, cpu: self.cpu }
    }
}

/// Values of `--by`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ByName {
    /// By the name of the task
    Task,
    /// By the chosen CPU
    Cpu,
}

impl Explain {
    pub fn run(self) -> Result<End, Failure> {
        let by = match self.by {
            None => Split::None,
            Some(ByName::Task) => Split::Task,
            Some(ByName::Cpu) => Split::Cpu,
        };
        let query = Query { wanted: self.filter.wanted(), by };
        let (text, notes) = match self.format {
            RunFormat::Text if self.picks => explain::explain_picks(&self.file, &query.wanted)?,
            RunFormat::Json if self.picks => explain::explain_picks_json(&self.file, &query.wanted)?,
            RunFormat::Text => explain::explain(&self.file, &query)?,
            RunFormat::Json => explain::explain_json(&self.file, &query)?,
        };
        trace_notes(&notes);
        print(&text)?;
        Ok(End::Done)
    }
}
