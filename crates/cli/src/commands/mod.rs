//! One module per command.

mod agree;
mod bench;
mod bisect;
mod calibrate;
mod compare;
mod diff;
mod explain;
mod feature;
mod free_run;
mod import;
mod install;
mod kernel;
mod live;
mod machine;
mod play;
mod regret;
mod replay;
mod reproduce;
mod review;
mod run;
mod stats;
mod store;
mod sweep;
mod validate;
mod view;
mod whatif;
mod workload;

use clap::Subcommand;

use crate::error::{End, Failure};

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    /// Compare two schedulers, workloads, machines, governors or sysctls, paired over seeds
    ///
    /// --base and --test are the sides: one setting or several with spaces between. A setting is a scheduler (fair:v6.12,
    /// fair: for the newest release, linux:mine), or NAME=VALUE with machine, workload, sched, hz, governor, idle_governor, idle_limit, ambient, draw, or a limit of clamps by
    /// the name of its sysctl. What a side does not name is common to all sides: MACHINE, WORKLOAD, --sched and the
    /// options of the same names.
    Compare(compare::Compare),
    /// Say what a patch series changes: build it, run a matrix of machines and workloads, attribute each change to a patch
    ///
    /// The base and each patch on top are built (only what changed), without touching the tree. Patches come from a range of commits, a
    /// mailbox or patch files; features of our own scheduler can take their place. The answer names regressions first, with the
    /// patch that makes each, the decisions that changed, and what no decision reaches. A review that was interrupted goes on.
    Review(review::Review),
    /// Find the first patch of a series, or the first feature between two presets, that changes a metric by so much
    ///
    /// Seeds are added to each question until it is answered: all answers are right with the probability that --error leaves.
    Bisect(bisect::Bisect),
    /// Run a recording under one or several schedulers; say how near the simulation is to it
    ///
    /// Prints recorded and simulated figures, how far these are off, and a verdict on fidelity. With several
    /// schedulers, the first is compared with each other one, paired over seeds. Tick rate and governors are those of
    /// the recording, if it is ours and no option sets them. `fairground whatif` simulates nothing, and asks a
    /// scheduler at each recorded wakeup.
    Replay(replay::Replay),
    /// Run one scheduler once; print its figures and the hash of its events
    Run(run::Run),
    /// Execute a workload for real on this machine; print what it measures
    ///
    /// Threads, processes, pipes, sockets, futexes, timers, locks and scheduling attributes are this kernel's, draws of
    /// amounts are those of `run` with the same seed. What needs more than a user's program can do is refused by name.
    /// Everything is ended with the command, or when a round exceeds its time.
    Play(play::Play),
    /// Hold predictions against this machine: play interventions for real, simulate them, and score what was predicted
    ///
    /// An intervention is a workload and one change: a knob of the scheduler, or a choice of how the workload is written. Both
    /// sides are played in turns, and simulated on draws of the machine's figures. The rounds are kept: an interrupted
    /// command goes on. What is changed on the machine is restored, after a kill by --restore or the next command.
    Validate(validate::Validate),
    /// Explain the placements of a trace of `run`: by which rule, and why
    Explain(explain::Explain),
    /// Compare the placements of two traces: the first that differs, and the shift of rules
    Diff(diff::Diff),
    /// Say where another scheduler would have placed each wakeup of a recorded trace, and how sure that is
    ///
    /// Nothing is simulated: the recorded load is replayed through load tracking, and the policy is asked at each wakeup.
    /// Without --task, --at and --nth: agreement rule by rule. With --task: its wakeups, a line each. With --at or --nth: one
    /// wakeup in full. `fairground replay` runs the recorded load under a scheduler instead.
    #[command(name = "whatif")]
    WhatIf(whatif::WhatIf),
    /// Show runs, traces or a comparison as a page: CPUs over time, and why each task was placed where it was
    ///
    /// One file of HTML that asks for nothing. WHAT is a trace (with a second one: base and test), a machine with a workload
    /// behind it (--sched runs one scheduler, --base and --test two, with settings as `compare` takes them), or what
    /// `compare --format json` printed: its first pair of runs is made again.
    View(view::View),
    /// Print statistics of a trace: scheduling latency, idle residency, frequency, migrations, energy, uclamp
    #[command(subcommand)]
    Stats(stats::Stats),
    /// Turn a trace into a workload that repeats what its threads did, to be run or replayed
    Import(import::Import),
    /// Say how much more energy placements take than the best ones
    Regret(regret::Regret),
    /// Repeat published figures and print ours beside them
    Reproduce(reproduce::Reproduce),
    /// Carry out an experiment: many runs, each stored as soon as it ends
    Sweep(sweep::Sweep),
    /// Stores: results of runs, which compare, reproduce and sweep reuse
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
    /// Schedule this machine's running kernel by the policy, as a scheduler of sched_ext
    #[command(subcommand)]
    Live(live::LiveCommand),
    /// Measure our own speed
    Bench(bench::Bench),
    /// Print the completion script of a shell: it completes options, machines, workloads, schedulers, features and kernels
    Completions(install::Completions),
    /// Print the man page, or write those of all commands into a directory
    Man(install::ManPages),
    /// Serve one run of this program; standard input describes it
    #[command(hide = true)]
    Worker,
}

impl Command {
    /// Runs the command and returns how it ends.
    pub fn run(self) -> Result<End, Failure> {
        match self {
            Command::Compare(command) => command.run(),
            Command::Review(command) => command.run(),
            Command::Bisect(command) => command.run(),
            Command::Replay(command) => command.run(),
            Command::Run(command) => command.run(),
            Command::Play(command) => command.run(),
            Command::Validate(command) => command.run(),
            Command::Explain(command) => command.run(),
            Command::Diff(command) => command.run(),
            Command::WhatIf(command) => command.run(),
            Command::View(command) => command.run(),
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
            Command::Live(command) => command.run(),
            Command::Bench(command) => command.run(),
            Command::Completions(command) => command.run(),
            Command::Man(command) => command.run(),
            // Served by main, where nothing has been set up yet.
            Command::Worker => Ok(End::Done),
        }
    }
}
