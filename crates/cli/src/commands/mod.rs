//! One module per command.

mod agree;
mod bench;
mod calibrate;
mod compare;
mod explain;
mod feature;
mod import;
mod kernel;
mod kernel_free;
mod machine;
mod regret;
mod reproduce;
mod run;
mod stats;
mod store;
mod sweep;
mod workload;

use clap::Subcommand;

use crate::error::{End, Failure};

/// What to do.
#[derive(Subcommand)]
pub enum Command {
    /// Compare schedulers on a machine under a workload, paired over seeds
    Compare(compare::Compare),
    /// Run one scheduler once; print its figures and the hash of its events
    Run(run::Run),
    /// Explain the placements of a trace: by which rule, and why; or what differs between two traces
    Explain(explain::Explain),
    /// Print statistics of a trace: how long tasks wait for a CPU
    Stats(stats::Stats),
    /// Turn a trace into a workload that repeats what its threads did
    Import(import::Import),
    /// Say how much more energy placements take than the best ones
    Regret(regret::Regret),
    /// Repeat published figures and print ours beside them
    Reproduce(reproduce::Reproduce),
    /// Carry out an experiment: many runs, kept as they are made
    Sweep(sweep::Sweep),
    /// Stores: results of runs, as compare and reproduce keep them
    #[command(subcommand)]
    Store(store::StoreCommand),
    /// Repeat the fit that a machine file records
    Calibrate(calibrate::Calibrate),
    /// Machines: hardware as data
    #[command(subcommand)]
    Machine(machine::MachineCommand),
    /// Workloads: what threads do
    #[command(subcommand)]
    Workload(workload::WorkloadCommand),
    /// Features: what differs between kernels, and patches under discussion
    #[command(subcommand)]
    Feature(feature::FeatureCommand),
    /// Kernels: schedulers built from source trees, `linux:NAME`
    #[command(subcommand)]
    Kernel(kernel::KernelCommand),
    /// Measure our own speed
    Bench(bench::Bench),
    /// Serve one run of this program, told on standard input
    #[command(hide = true)]
    Worker,
}

impl Command {
    /// Does it.
    pub fn run(self) -> Result<End, Failure> {
        match self {
            Command::Compare(command) => command.run(),
            Command::Run(command) => command.run(),
            Command::Explain(command) => command.run(),
            Command::Stats(command) => command.run(),
            Command::Import(command) => command.run(),
            Command::Regret(command) => command.run(),
            Command::Reproduce(command) => command.run(),
            Command::Sweep(command) => command.run(),
            Command::Store(command) => command.run(),
            Command::Calibrate(command) => command.run(),
            Command::Machine(command) => command.run(),
            Command::Workload(command) => command.run(),
            Command::Feature(command) => command.run(),
            Command::Kernel(command) => command.run(),
            Command::Bench(command) => command.run(),
            // Served by main, where nothing has been set up yet.
            Command::Worker => Ok(End::Done),
        }
    }
}
