//! `fairground machine`.

mod measure;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use fairground_machine::{capture, capture_script, presets, CaptureOptions, Machine, MachineSpec};

use crate::error::{run_failed, End, Failure};
use crate::output::{note, print, OutputFile};

/// Machines: hardware as data.
#[derive(Subcommand)]
pub enum MachineCommand {
    /// List the machines that come with the program
    List,
    /// Describe a machine, every figure with its source
    Show {
        /// Preset or file; with a suffix such as @node0 or @0-3,8, the CPUs that it selects are shown too
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
    /// Describe the machine of a sysfs tree or device tree; prints a machine file, notes go to standard error
    Capture(Capture),
    /// Measure the costs of this machine: play small workloads, simulate them, and fit the costs between both
    ///
    /// Takes some minutes and no root; with root, idle states are measured too, one at a time, and changes
    /// of clocks. Prints each figure with its
    /// spread, each workload as measured and as simulated, and wholes against their parts. What cannot be measured is named,
    /// and stays as it is in the file. What is changed on this machine is restored, also after a kill, by the next command.
    Measure(measure::Measure),
}

/// Describes the machine of a sysfs tree or device tree.
#[derive(Args)]
pub struct Capture {
    /// What is mounted on /sys, a copy of it, a tarball of it (.tar, .tar.gz), or a flattened device tree (.dtb)
    #[arg(value_name = "FROM", default_value = "/sys")]
    from: PathBuf,
    /// Old spelling of FROM: what is mounted on /sys, or a copy of it
    #[arg(long, value_name = "DIR", conflicts_with = "from")]
    sysfs: Option<PathBuf>,
    /// Print a script for any POSIX shell that makes the tarball on another machine
    #[arg(long, exclusive = true)]
    script: bool,
    /// What is mounted on /sys/kernel/debug, or a copy of it [default: kernel/debug of the sysfs tree]
    #[arg(long, value_name = "DIR")]
    debugfs: Option<PathBuf>,
    /// Name of the machine
    #[arg(long, default_value = "captured")]
    name: String,
    /// Write the machine file here instead of printing it; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Preset or file that lends the figures that the tree does not give [default: the nearest preset]
    #[arg(long, value_name = "MACHINE")]
    like: Option<String>,
}

impl MachineCommand {
    pub fn run(self) -> Result<End, Failure> {
        let text = match self {
            MachineCommand::List => list()?,
            MachineCommand::Show { machine, toml: false } => describe(&machine)?,
            MachineCommand::Show { machine, toml: true } => Machine::find(&machine)?.to_toml(),
            MachineCommand::Check { machine } => check(&machine)?,
            MachineCommand::Capture(capture) => return capture.run(),
            MachineCommand::Measure(measure) => return measure.run(),
        };
        print(&text)?;
        Ok(End::Done)
    }
}

impl Capture {
    fn run(self) -> Result<End, Failure> {
        if self.script {
            print(&capture_script())?;
            return Ok(End::Done);
        }
        let from = self.sysfs.unwrap_or(self.from);
        let inputs = [Some(from.as_path()), self.like.as_deref().and_then(|like| MachineSpec::parse(like).file())];
        let out = self.output.as_deref().map(|path| OutputFile::beside(path, &inputs)).transpose()?;
        let like = self.like.as_deref().map(Machine::find).transpose()?;
        let options = CaptureOptions { from, debugfs: self.debugfs, name: self.name, like };
        let captured = capture(&options)?;
        captured.notes.iter().for_each(|text| note(text));
        match out {
            None => print(&captured.to_toml())?,
            Some(mut file) => {
                file.write_all(captured.to_toml().as_bytes()).map_err(run_failed)?;
                file.finish()?;
            }
        }
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

/// Describes the machine, after the CPUs that a workload would be bound to, by node.
fn describe(spec: &str) -> Result<String, Failure> {
    let (machine, cpus) = MachineSpec::parse(spec).find()?;
    let Some(cpus) = cpus else { return Ok(machine.describe()) };
    let mut out = format!("{spec}: workloads are bound to {} of {} CPUs\n", cpus.count(), machine.nr_cpus());
    for (n, node) in machine.nodes.iter().enumerate() {
        let here = node.and(&cpus);
        if !here.is_empty() {
            let _ = writeln!(out, "  node {n}    {here}");
        }
    }
    Ok(out + "\n" + &machine.describe())
}

fn check(name: &str) -> Result<String, Failure> {
    let (machine, warnings) = Machine::find_checked(name)?;
    let mut out = String::new();
    for warning in &warnings {
        let _ = writeln!(out, "warning: {warning}");
    }
    let _ = writeln!(out, "{}: {} CPUs, {} warnings", machine.name, machine.nr_cpus(), warnings.len());
    Ok(out)
}
