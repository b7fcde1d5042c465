//! `fairground workload`.

use std::fmt::Write;

use clap::Subcommand;
use fairground_machine::MachineSpec;
use fairground_run::run_config::endless_refused;
use fairground_workload::{builtins, Builtin, Workload};

use crate::error::{End, Failure};
use crate::output::print;

/// Workloads: what threads do.
#[derive(Subcommand)]
pub enum WorkloadCommand {
    /// List the built-in workloads
    List,
    /// Describe a built-in with its options, or what a workload is made of
    Show {
        /// Built-in with options, or an rt-app file
        workload: String,
        /// Machine to run on
        #[arg(long, default_value = "hikey960")]
        machine: String,
    },
    /// Look for mistakes in a workload; what cannot run is an error, what is odd a warning
    Check {
        /// Built-in with options, or an rt-app file
        workload: String,
        /// Machine to run on
        #[arg(long, default_value = "hikey960")]
        machine: String,
    },
}

impl WorkloadCommand {
    pub fn run(self) -> Result<End, Failure> {
        let text = match self {
            WorkloadCommand::List => list(),
            WorkloadCommand::Show { workload, machine } => show(&workload, &machine)?,
            WorkloadCommand::Check { workload, machine } => check(&workload, &machine)?,
        };
        print(&text)?;
        Ok(End::Done)
    }
}

fn list() -> String {
    builtins().iter().map(|b| format!("{:<14} {}\n", b.name, b.title)).collect()
}

fn show(spec: &str, machine: &str) -> Result<String, Failure> {
    if let Some(builtin) = Builtin::by_name(spec) {
        return Ok(describe(builtin));
    }
    let (machine, cpus) = MachineSpec::parse(machine).find()?;
    let (workload, _) = Workload::find_bound(spec, &machine, cpus.as_ref())?;
    let mut out = format!("{}\n", workload.name);
    for task in &workload.tasks {
        let steps = task.program.len();
        let _ = writeln!(out, "thread {:<15} {steps} steps, footprint {} KiB", task.name, task.footprint_kib);
    }
    for start in &workload.start {
        let name = workload.tasks.get(start.spec as usize).map_or("?", |t| &t.name);
        let _ = writeln!(out, "starts {} x {name} from CPU {}", start.count, start.cpu);
    }
    let _ = writeln!(out, "objects {}, interrupt sources {}", workload.objects.len(), workload.irqs.len());
    Ok(out)
}

fn describe(builtin: &Builtin) -> String {
    let mut out =
        format!("{}: {}\n\n{}\n\n{}\n\noptions:\n", builtin.name, builtin.title, builtin.measures, builtin.misleads);
    for option in builtin.options {
        let default = if option.default.is_empty() { String::new() } else { format!(" [default: {}]", option.default) };
        let _ = writeln!(out, "  {:<12} {}{default}", option.name, option.meaning);
    }
    out
}

fn check(spec: &str, machine: &str) -> Result<String, Failure> {
    let (machine, cpus) = MachineSpec::parse(machine).find()?;
    let (workload, warnings) = Workload::find_bound(spec, &machine, cpus.as_ref())?;
    let warnings = endless_refused(warnings)?;
    let mut out = String::new();
    for warning in &warnings {
        let _ = writeln!(out, "warning: {warning}");
    }
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let (templates, warned) = (count(workload.tasks.len(), "thread template"), count(warnings.len(), "warning"));
    let _ = writeln!(out, "{}: {templates}, {warned}", workload.name);
    Ok(out)
}
