//! `fairground whatif`.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use fairground_lab::counterfactual::{self, Found};
use fairground_sim::Governor;
use fairground_trace::open_watched;

use super::explain::Filter;
use super::import::{head_of, machine_of};
use super::stats::{rows_as_csv, StatsFormat};
use crate::error::{End, Failure};
use crate::input::{trace_notes, trace_path};
use crate::output::print;
use crate::progress::Reading;
use crate::run_options::{parse_governor, parse_hz};

/// Says of each wakeup of a trace, a kernel's too, where another scheduler would have placed it.
#[derive(Args)]
pub struct WhatIf {
    /// Trace: ours, a trace.dat, or what trace-cmd report, perf script or the kernel print; - is standard input
    #[arg(value_parser = trace_path())]
    trace: PathBuf,
    /// The machine that was recorded, preset or file [default: as the trace says, if it is ours]
    #[arg(long, value_name = "MACHINE")]
    machine: Option<String>,
    /// The scheduler that is asked [default: the one that ran, if the trace names it and it was fair:..., else
    /// the newest release]
    #[arg(long, value_name = "fair:SPEC")]
    sched: Option<String>,
    /// The frequency governor of the recording: performance, powersave, or schedutil, with which wakeups may go by energy
    /// [default: as the trace says, if it is ours, else performance]
    #[arg(long, value_parser = parse_governor)]
    governor: Option<Governor>,
    /// Ticks per second (CONFIG_HZ) of the kernel that was recorded [default: as the trace says, if it is ours, else 250]
    #[arg(long, value_parser = parse_hz)]
    hz: Option<u32>,
    #[command(flatten)]
    filter: Filter,
    /// The N-th of the judged wakeups that --task, --at and --cpu select, in full
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    nth: Option<u64>,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    format: StatsFormat,
}

impl WhatIf {
    pub fn run(self) -> Result<End, Failure> {
        let named = machine_of(&self.trace, self.machine.as_deref())?;
        let ask = counterfactual::WhatIf {
            machine: Arc::new(named.machine),
            machine_name: named.name,
            allowed: named.cpus,
            sched: self.sched.clone(),
            schedutil: self.governor.map(|governor| governor == Governor::Schedutil),
            hz: self.hz,
            wanted: self.filter.wanted(),
            nth: self.nth,
        };
        let head = head_of(&self.trace)?;
        let (mut reader, position) = open_watched(&self.trace)?;
        let mut progress = Reading::new(position);
        let name = self.trace.display().to_string();
        let report = ask.ask(&name, &head, &mut *reader, &mut |time| progress.event(time))?;
        drop(progress);
        let is_in_text = matches!(report.found(), Found::Agreement(_)) && self.format == StatsFormat::Text;
        if self.format != StatsFormat::Json && !is_in_text {
            trace_notes(report.notes());
        }
        print(&match self.format {
            StatsFormat::Text => report.text(),
            StatsFormat::Json => format!("{:#}\n", report.json()),
            StatsFormat::Csv => rows_as_csv(&report.rows()),
        })?;
        Ok(End::Done)
    }
}
