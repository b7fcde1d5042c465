//! `fairground stats residency`.

use std::fmt::Write;

use clap::Args;
use fairground_lab::tables::number;
use fairground_machine::MachineSpec;
use fairground_trace::residency::{self, IdlePeriods};
use fairground_trace::Note;
use serde_json::{json, Value};

use super::frequency::list;
use super::{document, millis, ByCpu, Input, StatsFormat};
use crate::error::Failure;
use crate::input::{open_trace, trace_notes};

/// How long CPUs stay in idle states.
#[derive(Args)]
pub struct Residency {
    #[command(flatten)]
    input: Input,
    /// What a row stands for [default: all CPUs together]
    #[arg(long, value_enum)]
    by: Option<ByCpu>,
    /// The machine of the trace, preset or file, which has the target residency of each idle state
    #[arg(long, value_name = "MACHINE")]
    machine: Option<String>,
}

impl Residency {
    pub fn text(&self) -> Result<String, Failure> {
        let machine = self
            .machine
            .as_deref()
            .map(|name| MachineSpec::parse(name).find())
            .transpose()?
            .map(|(machine, _)| machine);
        let state_of = |cpu: u32, state: u32| {
            let machine = machine.as_ref().filter(|m| (cpu as usize) < m.nr_cpus())?;
            machine.idle_states(cpu).get(state as usize)
        };
        // The shallowest state cannot be left too early.
        let target = |cpu, state| state_of(cpu, state).filter(|_| state > 0).map(|s| s.target_residency_ns);
        let mut trace = open_trace(&self.input.file)?;
        let residency = residency::Residency::read(&mut trace, &target)?;
        let sleeps: Vec<Sleeps> = match self.by {
            Some(_) => residency.by_cpu().map(|(cpu, state, stays)| Sleeps { cpu: Some(cpu), state, stays }).collect(),
            None => residency.by_state().into_iter().map(|(state, stays)| Sleeps { cpu: None, state, stays }).collect(),
        };
        let mut notes = [trace.notes(), residency.notes()].concat();
        if sleeps.is_empty() {
            let file = self.input.file.display();
            notes.push(Note::Loss(format!("{file}: no CPU enters an idle state; expected cpu_idle events")));
        }
        let cpus = residency.cpus(machine.as_ref().map_or(0, |m| m.nr_cpus() as u32));
        let silent: Vec<u32> = cpus.iter().copied().filter(|cpu| !residency.tells_idle(*cpu)).collect();
        if !silent.is_empty() && !sleeps.is_empty() {
            let file = self.input.file.display();
            notes.push(Note::Loss(format!("{file}: no cpu_idle of CPU {}: taken never to idle", list(&silent))));
        }
        trace_notes(&notes);
        let watched = cpus.iter().map(|cpu| residency.watched(*cpu)).fold(0, u64::saturating_add);
        let whole = |s: &Sleeps| s.cpu.map_or(watched, |cpu| residency.watched(cpu));
        let rows = sleeps.iter().map(|s| (s, whole(s)));
        Ok(match self.input.format {
            StatsFormat::Text if sleeps.is_empty() => String::new(),
            StatsFormat::Text => residency_table(rows, machine.is_some()),
            _ => {
                let rows = rows.map(|(s, whole)| s.json(whole, machine.is_some())).collect();
                document(&self.input, "residency", rows, &notes)
            }
        })
    }
}

/// The idle periods of one CPU, or of all CPUs, in one idle state.
struct Sleeps {
    /// `None`: all CPUs.
    cpu: Option<u32>,
    state: u32,
    stays: IdlePeriods,
}

impl Sleeps {
    /// Percent of `whole` ns.
    fn share(&self, whole: u64) -> f64 {
        100.0 * self.stays.total as f64 / whole.max(1) as f64
    }

    fn json(&self, whole: u64, early: bool) -> Value {
        let s = &self.stays;
        json!({
            "cpu": self.cpu,
            "state": self.state,
            "count": s.count,
            "total_ns": s.total,
            "share_pct": self.share(whole),
            "mean_ns": s.mean(),
            "max_ns": s.max,
            "early": early.then_some(s.early),
        })
    }
}

/// `early`: whether it is known which sleeps were shorter than the target residency.
fn residency_table<'a>(rows: impl Iterator<Item = (&'a Sleeps, u64)>, early: bool) -> String {
    let mut out = format!(
        "{:>5} {:>6} {:>10} {:>12} {:>8} {:>12} {:>12}",
        "cpu", "state", "sleeps", "total ms", "share %", "mean ms", "max ms"
    );
    out += if early { "      early\n" } else { "\n" };
    for (sleeps, whole) in rows {
        let s = &sleeps.stays;
        let cpu = sleeps.cpu.map_or("all".into(), |cpu| cpu.to_string());
        let times = [s.mean(), s.max].map(millis);
        let _ = write!(
            out,
            "{cpu:>5} {:>6} {:>10} {:>12} {:>8} {:>12} {:>12}",
            sleeps.state,
            s.count,
            millis(s.total),
            number(sleeps.share(whole)),
            times[0],
            times[1]
        );
        let _ = if early { writeln!(out, " {:>10}", s.early) } else { writeln!(out) };
    }
    out
}
