//! `fairground calibrate`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use clap::Args;
use fairground_lab::calibrate::{self, Fit, Target};
use fairground_lab::experiment::Plan;
use fairground_machine::Machine;
use miette::Diagnostic;
use thiserror::Error;

use super::reproduce::governor;
use crate::circumstances::{Circumstances, Jobs};
use crate::error::{run_failed, End, Failure};
use crate::output::{print, OutputFile};
use crate::progress::Progress;

/// Repeats the fit that a machine file records: turns costs.scale until our baseline gives the published one.
#[derive(Args)]
pub struct Calibrate {
    /// A preset's name or a machine file
    machine: String,
    /// The baseline cell to fit, instead of the one that the file records
    #[arg(long)]
    cell: Option<String>,
    /// Write the fitted figure into the machine file; all else in it stays
    #[arg(long)]
    write: bool,
    /// Runs per step of the search: seeds 1 to N
    #[arg(long, value_name = "N", default_value = "8", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    seeds: u64,
    #[command(flatten)]
    jobs: Jobs,
}

/// A preset lives inside the program.
#[derive(Debug, Error, Diagnostic)]
#[error("--write needs a machine file, and {0:?} is a preset")]
#[diagnostic(help("give its file, for example machines/{0}.toml"))]
struct NotAFile(String);

impl Calibrate {
    pub fn run(self) -> Result<End, Failure> {
        if self.write && !Path::new(&self.machine).is_file() {
            return Err(NotAFile(self.machine).into());
        }
        let machine = Machine::find(&self.machine)?;
        let target = calibrate::choose(&machine, self.cell.as_deref())?;
        let run = &target.run;
        let circumstances = Circumstances::with_governor(governor(&run.governor)?);
        let setup = circumstances.setup(&self.machine, &run.workload, std::slice::from_ref(&run.base))?;
        let seeds = (1..=self.seeds).collect();
        let plan = Plan { scheds: 1, seeds, jobs: self.jobs.count(), check_determinism: false };
        let progress = Progress::endless();
        let fit = calibrate::fit(&setup, &plan, &target, &|| progress.step())?;
        drop(progress);
        if self.write {
            write_fit(&self.machine, &target, fit)?;
        }
        print(&render(&machine, &target, fit, self.seeds))?;
        Ok(End::Done)
    }
}

fn render(machine: &Machine, target: &Target, fit: Fit, seeds: u64) -> String {
    let mut out = format!("machine    {}\ncell       {}\n", machine.name, target.cell);
    let _ = writeln!(out, "published  {} {}", target.published, target.unit);
    let _ = writeln!(
        out,
        "ours       {:.1} (mean of {seeds} seeds; {}, {})",
        fit.ours, target.run.workload, target.run.base
    );
    let _ = writeln!(out, "recorded   scale = {}", machine.costs.scale);
    let _ = writeln!(out, "fitted     scale = {}", fit.scale);
    out
}

fn write_fit(path: &str, target: &Target, fit: Fit) -> Result<(), Failure> {
    let text = std::fs::read_to_string(path).map_err(|e| run_failed(format!("cannot read {path}: {e}")))?;
    let cell = format!("{} = {} {}", target.cell, target.published, target.unit);
    let text = Machine::refitted(path, &text, fit.scale, &cell)?;
    let mut file = OutputFile::create(Path::new(path))?;
    file.write_all(text.as_bytes()).map_err(|e| run_failed(format!("cannot write {path}: {e}")))?;
    file.finish()
}
