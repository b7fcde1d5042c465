//! `fairground stats frequency`.

use std::fmt::Write;

use clap::Args;
use fairground_lab::tables::number;
use fairground_trace::frequency::{Clock, Frequencies, FrequencyPeriod};
use fairground_trace::Note;
use serde_json::{json, Value};

use super::{document, millis, ByCpu, Input, StatsFormat};
use crate::error::Failure;
use crate::input::{open_trace, trace_notes};

/// How long clocks run at each frequency.
#[derive(Args)]
pub struct Frequency {
    #[command(flatten)]
    input: Input,
    /// What a row stands for [default: CPUs whose frequencies were equal throughout]
    #[arg(long, value_enum)]
    by: Option<ByCpu>,
}

impl Frequency {
    pub fn text(&self) -> Result<String, Failure> {
        let Input { file, format } = &self.input;
        let mut trace = open_trace(file)?;
        let all = Frequencies::read(&mut trace)?;
        let clocks = match self.by {
            Some(ByCpu::Cpu) => all.by_cpu(),
            None => all.by_clock(),
        };
        let mut notes = [trace.notes(), all.notes()].concat();
        if clocks.is_empty() {
            let none = format!("{}: no CPU changes its frequency; expected cpu_frequency events", file.display());
            notes.push(Note::Loss(none));
        }
        trace_notes(&notes);
        Ok(match format {
            StatsFormat::Text if clocks.is_empty() => String::new(),
            StatsFormat::Text => table(&clocks),
            _ => {
                let rows = clocks.iter().flat_map(|(cpus, clock)| rows_json(cpus, clock)).collect();
                document(&self.input, "frequency", rows, &notes)
            }
        })
    }
}

fn share(clock: &Clock, total: u64) -> f64 {
    100.0 * total as f64 / clock.span().max(1) as f64
}

fn rows_json(cpus: &[u32], clock: &Clock) -> Vec<Value> {
    let row = |(khz, stay): (u32, FrequencyPeriod)| {
        json!({
            "cpus": cpus,
            "khz": khz,
            "count": stay.count,
            "total_ns": stay.total,
            "share_pct": share(clock, stay.total),
        })
    };
    clock.stays().map(row).collect()
}

/// One row a frequency, and the mean of each clock.
fn table(clocks: &[(Vec<u32>, &Clock)]) -> String {
    let mut out = format!("{:>12} {:>10} {:>10} {:>12} {:>8}\n", "cpus", "kHz", "set", "total ms", "share %");
    for (cpus, clock) in clocks {
        let cpus = list(cpus);
        for (khz, stay) in clock.stays() {
            let share = number(share(clock, stay.total));
            let _ = writeln!(out, "{cpus:>12} {khz:>10} {:>10} {:>12} {share:>8}", stay.count, millis(stay.total));
        }
        let _ =
            writeln!(out, "{cpus:>12} {:>10} {:>10} {:>12}", clock.mean_khz().round(), "mean", millis(clock.span()));
    }
    out
}

/// CPUs as a list of ranges: `0-3,6`.
pub(super) fn list(cpus: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*cpu) => *last = *cpu,
            _ => runs.push((*cpu, *cpu)),
        }
    }
    let run = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    runs.iter().map(run).collect::<Vec<_>>().join(",")
}
