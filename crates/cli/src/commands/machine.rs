//! `fairground machine`.

use std::fmt::Write;

use clap::Subcommand;
use fairground_machine::{presets, Machine};

use crate::error::{End, Failure};
use crate::output::print;

/// Machines: hardware as data.
#[derive(Subcommand)]
pub enum MachineCommand {
    /// List the machines that come with the program
    List,
    /// Describe a machine, every figure with its source
    Show {
        /// Preset or file
        machine: String,
        /// Print it as a machine file, to copy and edit
        #[arg(long)]
        toml: bool,
    },
    /// Look for mistakes in a machine; what is impossible is an error, what is odd a warning
    Check {
        /// Preset or file
        machine: String,
    },
}

impl MachineCommand {
    pub fn run(self) -> Result<End, Failure> {
        let text = match self {
            MachineCommand::List => list()?,
            MachineCommand::Show { machine, toml: false } => Machine::find(&machine)?.describe(),
            MachineCommand::Show { machine, toml: true } => Machine::find(&machine)?.to_toml(),
            MachineCommand::Check { machine } => check(&Machine::find(&machine)?),
        };
        print(&text)?;
        Ok(End::Done)
    }
}

fn list() -> Result<String, Failure> {
    let mut out = String::new();
    for name in presets() {
        let machine = Machine::preset(name)?;
        let _ = writeln!(out, "{name:<14} {:>4} CPUs  {}", machine.nr_cpus(), machine.title);
    }
    Ok(out)
}

fn check(machine: &Machine) -> String {
    let warnings = machine.check();
    let mut out = String::new();
    for warning in &warnings {
        let _ = writeln!(out, "warning: {warning}");
    }
    let _ = writeln!(out, "{}: {} CPUs, {} warnings", machine.name, machine.nr_cpus(), warnings.len());
    out
}
