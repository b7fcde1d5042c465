//! Our own speed: fixed runs without a trace, checkers on, measured in host time.
//!
//! | row | what runs |
//! |---|---|
//! | W8, W128, W224 | periodic tasks of 15 % each, five per CPU (75 % load), on so many equal CPUs |
//! | W8-why | W8 with somebody who asks for the reasons of every placement |
//! | W8-eas | 40 periodic tasks of 3 % on `rb5` (4 + 3 + 1 CPUs), whose clocks schedutil sets: wakeups go by energy |
//! | W1024 | 10,000 periodic tasks of 7.5 % (73 % load) on `synthetic-1024` |
//! | F224 | hackbench with 256 groups on `thunderx2-224`: 10,240 forks while those born already send |
//!
//! Virtual time is extended until the host has worked for the time asked for; that of F224 is its own. How cost grows
//! with a machine and its load is in [`scale`].

use std::sync::Arc;
use std::time::Instant;

use fairground_machine::{Machine, SoftCost};
use fairground_sim::{Config, Event, Governor, Observer, Reason, Scheduler};
use fairground_workload::Workload;
use miette::Diagnostic;
use nix::time::{clock_gettime, ClockId};
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub mod plot;
pub mod scale;
mod timed;

use self::timed::Timing;
use crate::around::Around;
use crate::fit;
use crate::setup::Setup;
use crate::spec::{fair, SchedSpec};
use crate::worker::Workers;

/// Name and version of the schema.
pub const SCHEMA: &str = "fairground-bench-1";

/// What is measured.
pub const ROWS: [BenchSpec; 7] = [
    BenchSpec { name: "W8", hardware: Hardware::Equal(8), load: Load::periodic(40, 15.0), how: How::PLAIN },
    BenchSpec { name: "W128", hardware: Hardware::Equal(128), load: Load::periodic(640, 15.0), how: How::PLAIN },
    BenchSpec { name: "W224", hardware: Hardware::Equal(224), load: Load::periodic(1120, 15.0), how: How::PLAIN },
    BenchSpec {
        name: "W8-why",
        hardware: Hardware::Equal(8),
        load: Load::periodic(40, 15.0),
        how: How { why: true, ..How::PLAIN },
    },
    BenchSpec {
        name: "W8-eas",
        hardware: Hardware::Preset("rb5"),
        load: Load::periodic(40, 3.0),
        how: How { governor: Governor::Schedutil, ..How::PLAIN },
    },
    BenchSpec {
        name: "W1024",
        hardware: Hardware::Preset("synthetic-1024"),
        load: Load::periodic(10_000, 7.5),
        how: How::PLAIN,
    },
    BenchSpec {
        name: "F224",
        hardware: Hardware::Preset("thunderx2-224"),
        load: Load::Storm { groups: 256, loops: 5 },
        how: How::PLAIN,
    },
];

/// The scheduler that is measured unless another is asked for.
pub const SCHED: &str = "fair:v6.12";

/// The machine of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hardware {
    /// So many equal CPUs behind one cache.
    Equal(usize),
    /// A machine that comes with the program.
    Preset(&'static str),
}

/// The load of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// Periodic tasks; their periods are 5 to 40 ms, each times `stretch`.
    Periodic {
        /// How many.
        tasks: u32,
        /// Work of each, percent of a CPU.
        duty: f64,
        /// What periods are multiplied by.
        stretch: f64,
    },
    /// Hackbench, from its first fork to its end.
    Storm {
        /// Of 40 tasks each.
        groups: u32,
        /// Messages of each sender to each receiver.
        loops: u32,
    },
}

impl Load {
    const fn periodic(tasks: u32, duty: f64) -> Load {
        Load::Periodic { tasks, duty, stretch: 1.0 }
    }

    /// The workload as the command line has it; `sim_s` is how long it runs, virtual seconds, if that is to be said.
    fn spec(&self, sim_s: f64) -> String {
        match *self {
            Load::Periodic { tasks, duty, stretch } => {
                let periods = [5.0, 8.0, 10.0, 16.0, 20.0, 25.0, 40.0].map(|ms: f64| format!("{:.3}", ms * stretch));
                let periods = periods.join("+");
                format!("periodic:tasks={tasks},periods={periods},duty={duty},duration={sim_s:.3}")
            }
            Load::Storm { groups, loops } => format!("hackbench:groups={groups},loops={loops}"),
        }
    }
}

/// One fixed run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BenchSpec {
    /// Name of the row.
    pub name: &'static str,
    /// The machine.
    pub hardware: Hardware,
    /// What runs on it.
    pub load: Load,
    /// In what circumstances.
    pub how: How,
}

/// The circumstances of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct How {
    /// Who sets the clocks.
    pub governor: Governor,
    /// Somebody asks why.
    pub why: bool,
}

impl How {
    /// Clocks at their top, and nobody asks.
    pub const PLAIN: How = How { governor: Governor::Performance, why: false };
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchRow {
    /// Name of the row.
    pub name: String,
    /// Virtual seconds per second of host time.
    pub sim_s_per_wall_s: f64,
    /// Virtual seconds per second of the host's CPU: the same on an idle host, and on a busy one what can be compared.
    pub sim_s_per_cpu_s: f64,
    /// Engine events per second of host time.
    pub core_events_per_s: f64,
    /// Host time in the scheduler per wakeup or fork, ns: deciding and committing, clock reading subtracted. From a
    /// second run, so that taking times does not slow the first.
    pub ns_per_decision: f64,
    /// Host time of a fork's placement, ns: median. Measured like `ns_per_decision`; none if nothing was forked.
    pub fork_median_ns: Option<f64>,
    /// Its 99th percentile.
    pub fork_p99_ns: Option<f64>,
    /// Peak resident memory of the process, MiB; none where the system does not tell.
    pub rss_mib: Option<f64>,
    /// Virtual seconds that were run.
    pub sim_s: f64,
    /// Host seconds that it took.
    pub wall_s: f64,
}

/// Why nothing was measured.
#[derive(Debug, Error, Diagnostic)]
pub enum BenchError {
    /// No such row.
    #[error("no bench row {0:?}")]
    #[diagnostic(help("there are {}", ROWS.map(|r| r.name).join(", ")))]
    UnknownRow(String),
    /// No such cell.
    #[error("no cell {0:?} of the grid")]
    #[diagnostic(help("a cell is CPUS:TASKS, CPUs {:?}, tasks {:?}", scale::CPUS, scale::TASKS))]
    UnknownCell(String),
    /// The run.
    #[error("bench row {row}: {problem}")]
    Run {
        /// The row.
        row: String,
        /// What went wrong.
        problem: String,
    },
}

/// Measures one row for about `seconds` of host time. Meant for a process of its own: memory is the process's peak, or
/// that of the worker in which a kernel runs.
///
/// # Errors
/// If there is no such row, or it cannot be run.
pub fn measure(name: &str, sched: &SchedSpec, workers: &Workers, seconds: f64) -> Result<BenchRow, BenchError> {
    let row = *ROWS.iter().find(|r| r.name == name).ok_or_else(|| BenchError::UnknownRow(name.into()))?;
    let failed = |problem: String| BenchError::Run { row: row.name.into(), problem };
    let machine = match row.hardware {
        Hardware::Equal(cpus) => Machine::symmetric(cpus),
        Hardware::Preset(name) => Machine::preset(name).map_err(|e| failed(e.to_string()))?,
    };
    let machine = Arc::new(machine);
    let run = |sim_s: f64, timed: bool| one(&machine, &row.load, sched, workers, sim_s, timed, row.how).map_err(failed);
    // A short run tells how much virtual time fits.
    let probe = run(PROBE_S, false)?;
    let sim_s = (PROBE_S / probe.wall_s.max(1e-6) * seconds).clamp(PROBE_S, 3_600.0);
    let main = run(sim_s, false)?;
    let timed = run((sim_s / 4.0).max(PROBE_S), true)?;
    Ok(BenchRow {
        name: row.name.into(),
        sim_s_per_wall_s: main.sim_s / main.wall_s,
        sim_s_per_cpu_s: main.sim_s / main.cpu_s.max(1e-9),
        core_events_per_s: main.events as f64 / main.wall_s,
        ns_per_decision: timed.decision_ns,
        fork_median_ns: timed.fork_median_ns,
        fork_p99_ns: timed.fork_p99_ns,
        rss_mib: main.rss_mib,
        sim_s: main.sim_s,
        wall_s: main.wall_s,
    })
}

/// Virtual seconds of a first, short run.
const PROBE_S: f64 = 0.2;

/// One run, in a worker if it has to be.
fn one(
    machine: &Arc<Machine>,
    load: &Load,
    sched: &SchedSpec,
    workers: &Workers,
    sim_s: f64,
    timed: bool,
    how: How,
) -> Result<Measured, String> {
    let (workload, _) = Workload::find(&load.spec(sim_s), machine).map_err(|e| e.to_string())?;
    fit::size(std::slice::from_ref(sched), machine).map_err(|e| e.to_string())?;
    let hz = fit::hz(std::slice::from_ref(sched), None).map_err(|e| e.to_string())?;
    let setup = Setup {
        machine: Arc::clone(machine),
        workload: Arc::new(workload),
        scheds: Vec::new(),
        config: Config { hz, governor: how.governor, ..Config::default() },
        workers: workers.clone(),
    };
    match sched.features().filter(|_| !workers.always) {
        None => workers.measure(&setup, sched, timed, how.why),
        Some(features) => {
            let sched = fair(features, &setup.machine).map_err(|e| e.to_string())?;
            Measured::of(&setup, sched, timed, how.why)
        }
    }
}

/// What one run took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Virtual seconds.
    sim_s: f64,
    /// Host seconds.
    wall_s: f64,
    /// Of these on a CPU.
    cpu_s: f64,
    /// Engine events.
    events: u64,
    /// Host time in the scheduler per wakeup or fork, ns; 0 where no times were taken.
    decision_ns: f64,
    /// Host time of a fork's placement, ns: median and 99th percentile; none where no times were taken.
    fork_median_ns: Option<f64>,
    fork_p99_ns: Option<f64>,
    /// What the scheduler was charged for, units: CPUs looked at in statistics of groups, CPUs probed, wakeups, domain
    /// walks of the balance pass.
    group_cpus: u64,
    probes: u64,
    wakeups: u64,
    balances: u64,
    /// Peak resident memory of the process, MiB.
    rss_mib: Option<f64>,
}

impl Measured {
    /// Runs in this process. `timed`: takes the time of wakeups and forks. `why`: asks for reasons.
    ///
    /// # Errors
    /// Why the run failed.
    pub fn of(setup: &Setup, sched: Box<dyn Scheduler>, timed: bool, why: bool) -> Result<Measured, String> {
        let (timing, meter) = Timing::new();
        // The plain run does not pass through the meter at all.
        let sched = if timed { Box::new(Around::new(sched, timing)) } else { sched };
        let mut engine = setup.engine(sched, setup.config.seed);
        let mut asking = Asking::default();
        let mut observers: Vec<&mut dyn Observer> = if why { vec![&mut asking] } else { Vec::new() };
        let (start, cpu_start) = (Instant::now(), cpu_s());
        let outcome = engine.run(&mut observers).map_err(|e| e.to_string().trim_end().to_owned())?;
        Ok(Measured {
            wall_s: start.elapsed().as_secs_f64(),
            cpu_s: cpu_s() - cpu_start,
            sim_s: outcome.end as f64 / 1e9,
            events: outcome.nr_events,
            decision_ns: meter.mean_ns(),
            fork_median_ns: meter.fork_ns(0.5),
            fork_p99_ns: meter.fork_ns(0.99),
            group_cpus: engine.charged(SoftCost::GroupCpu),
            probes: engine.charged(SoftCost::Probe),
            wakeups: engine.charged(SoftCost::Wakeup),
            balances: engine.charged(SoftCost::Balance),
            rss_mib: peak_rss_mib(),
        })
    }
}

/// Asks for reasons and only counts them.
#[derive(Default)]
struct Asking(u64);

impl Observer for Asking {
    fn event(&mut self, _: &Event) {}

    fn wants_reasons(&self) -> bool {
        true
    }

    fn reasons(&mut self, _: &Event, reasons: &[Reason]) {
        self.0 += reasons.len() as u64;
    }
}

/// What this thread has had of the host's CPUs, s; 0 where the system does not tell.
fn cpu_s() -> f64 {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(0.0, |t| t.tv_sec() as f64 + t.tv_nsec() as f64 / 1e9)
}

/// VmHWM of this process.
fn peak_rss_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}
