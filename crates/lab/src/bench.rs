//! Our own speed: fixed runs without a trace, with checkers, measured in host time.
//!
//! | row | what runs |
//! |---|---|
//! | W8, W128, W224 | periodic tasks of 15 % each, five per CPU (75 % load), on 8, 128 and 224 equal CPUs |
//! | W8-why | W8 with an observer that wants the reasons of every placement |
//! | W8-eas | 40 periodic tasks of 3 % on `rb5` (4 + 3 + 1 CPUs), whose clocks schedutil sets: wakeups go by energy |
//! | W1024 | 10,000 periodic tasks of 7.5 % (73 % load) on `synthetic-1024` |
//! | F224 | hackbench with 256 groups on `thunderx2-224`: 10,240 forks while those born already send |
//!
//! Virtual time is extended until the host has worked for the requested time; F224 has its own length. [`scale`]
//! measures how cost grows with the machine and its load.

use std::sync::Arc;

use fairground_machine::Machine;
use fairground_sim::{Config, Governor};
use fairground_workload::Workload;
use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub mod plot;
pub mod scale;

use fairground_run::experiment::Experiment;
use fairground_run::kernel_compat;
use fairground_run::sched_spec::{fair, SchedSpec};
use fairground_run::speed::SpeedMeasurement;
use fairground_run::worker::Workers;

/// Name and version of the schema.
pub const SCHEMA: &str = "fairground-bench-1";

/// The rows that `bench` measures.
pub const ROWS: [BenchSpec; 7] = [
    BenchSpec { name: "W8", hardware: Hardware::Equal(8), load: Load::periodic(40, 15.0), how: BenchConfig::PLAIN },
    BenchSpec {
        name: "W128",
        hardware: Hardware::Equal(128),
        load: Load::periodic(640, 15.0),
        how: BenchConfig::PLAIN,
    },
    BenchSpec {
        name: "W224",
        hardware: Hardware::Equal(224),
        load: Load::periodic(1120, 15.0),
        how: BenchConfig::PLAIN,
    },
    BenchSpec {
        name: "W8-why",
        hardware: Hardware::Equal(8),
        load: Load::periodic(40, 15.0),
        how: BenchConfig { why: true, ..BenchConfig::PLAIN },
    },
    BenchSpec {
        name: "W8-eas",
        hardware: Hardware::Preset("rb5"),
        load: Load::periodic(40, 3.0),
        how: BenchConfig { governor: Governor::Schedutil, ..BenchConfig::PLAIN },
    },
    BenchSpec {
        name: "W1024",
        hardware: Hardware::Preset("synthetic-1024"),
        load: Load::periodic(10_000, 7.5),
        how: BenchConfig::PLAIN,
    },
    BenchSpec {
        name: "F224",
        hardware: Hardware::Preset("thunderx2-224"),
        load: Load::Storm { groups: 256, loops: 5 },
        how: BenchConfig::PLAIN,
    },
];

/// The scheduler that is measured by default.
pub const SCHED: &str = "fair:v6.12";

/// The machine of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hardware {
    /// This number of equal CPUs that share a cache.
    Equal(usize),
    /// A built-in machine, by name.
    Preset(&'static str),
}

/// The load of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// Periodic tasks; their periods are 5 to 40 ms, each times `stretch`.
    Periodic {
        /// Number of tasks that are started.
        tasks: u32,
        /// Share of a CPU that each task uses, percent.
        duty: f64,
        /// Factor by which periods are multiplied.
        stretch: f64,
    },
    /// Hackbench, from its first fork to its end.
    Storm {
        /// Number of groups, of 40 tasks each.
        groups: u32,
        /// Messages that each sender sends to each receiver.
        loops: u32,
    },
}

impl Load {
    const fn periodic(tasks: u32, duty: f64) -> Load {
        Load::Periodic { tasks, duty, stretch: 1.0 }
    }

    /// The workload as on the command line. `sim_s` is the length of the run, virtual seconds; storms ignore it.
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

/// One row: a fixed run of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BenchSpec {
    /// Name of the row.
    pub name: &'static str,
    /// Machine of the run.
    pub hardware: Hardware,
    /// Load of the run.
    pub load: Load,
    /// Governor and observer of the run.
    pub how: BenchConfig,
}

impl BenchSpec {
    fn machine(&self) -> Result<Arc<Machine>, String> {
        match self.hardware {
            Hardware::Equal(cpus) => Ok(Arc::new(Machine::symmetric(cpus))),
            Hardware::Preset(name) => Machine::preset(name).map(Arc::new).map_err(|e| e.to_string()),
        }
    }
}

/// The settings of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BenchConfig {
    /// Frequency governor.
    pub governor: Governor,
    /// Whether an observer requests the reasons of decisions.
    pub why: bool,
}

impl BenchConfig {
    /// Clocks at their top frequency, without reasons.
    pub const PLAIN: BenchConfig = BenchConfig { governor: Governor::Performance, why: false };
}

/// Result of one row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchRow {
    /// Name of the row.
    pub name: String,
    /// Virtual seconds per second of host time.
    pub sim_s_per_wall_s: f64,
    /// Virtual seconds per second of CPU time of the host. On a busy host, compare this rate.
    pub sim_s_per_cpu_s: f64,
    /// Engine events per second of host time.
    pub core_events_per_s: f64,
    /// Host time in the scheduler per wakeup or fork, ns: deciding and committing, without the time to read clocks.
    /// From a second run, so that taking times does not slow the first.
    pub ns_per_decision: f64,
    /// Median host time of a fork's placement, ns, measured like `ns_per_decision`; `None` without forks.
    pub fork_median_ns: Option<f64>,
    /// 99th percentile of the same, ns; `None` without forks.
    pub fork_p99_ns: Option<f64>,
    /// Peak resident memory of the process, MiB; `None` where the system does not report it.
    pub rss_mib: Option<f64>,
    /// Virtual seconds that were run.
    pub sim_s: f64,
    /// Host seconds that the run took.
    pub wall_s: f64,
}

/// Why nothing was measured.
#[derive(Debug, Error, Diagnostic)]
pub enum BenchError {
    /// The name is not a row of the benchmark.
    #[error("no bench row {0:?}")]
    #[diagnostic(help("there are {}", ROWS.map(|r| r.name).join(", ")))]
    UnknownRow(String),
    /// The name is not a cell of the grid.
    #[error("no cell {0:?} of the grid")]
    #[diagnostic(help("a cell is CPUS:TASKS, CPUs {:?}, tasks {:?}", scale::CPUS, scale::TASKS))]
    UnknownCell(String),
    /// A run of the row failed.
    #[error("bench row {row}: {problem}")]
    Run {
        /// Name of the row.
        row: String,
        /// What went wrong in the run.
        problem: String,
    },
}

/// Measures one row for about `seconds` of host time. Run it in a process of its own: memory is the peak of the
/// process, or of the worker in which a kernel runs.
///
/// # Errors
/// If there is no such row, or it cannot be run.
pub fn measure(name: &str, sched: &SchedSpec, workers: &Workers, seconds: f64) -> Result<BenchRow, BenchError> {
    let row = find(name)?;
    let failed = |problem: String| BenchError::Run { row: row.name.into(), problem };
    let machine = row.machine().map_err(failed)?;
    let run = |sim_s: f64, timed: bool| {
        measure_row(&machine, &row.load, sched, workers, sim_s, timed, row.how).map_err(failed)
    };
    // A short run shows how much virtual time fits.
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

/// One run of a row, `sim_s` virtual seconds long, in this process or in its worker: the same work each time, for
/// tools that count instructions. Storms have their own length.
///
/// # Errors
/// If there is no such row, or it cannot be run.
pub fn run_once(name: &str, sched: &SchedSpec, workers: &Workers, sim_s: f64) -> Result<SpeedMeasurement, BenchError> {
    let row = find(name)?;
    let failed = |problem: String| BenchError::Run { row: row.name.into(), problem };
    let machine = row.machine().map_err(failed)?;
    measure_row(&machine, &row.load, sched, workers, sim_s, false, row.how).map_err(failed)
}

fn find(name: &str) -> Result<BenchSpec, BenchError> {
    ROWS.into_iter().find(|r| r.name == name).ok_or_else(|| BenchError::UnknownRow(name.into()))
}

/// Virtual seconds of the first, short run.
const PROBE_S: f64 = 0.2;

/// One run, in a worker if the scheduler needs one.
fn measure_row(
    machine: &Arc<Machine>,
    load: &Load,
    sched: &SchedSpec,
    workers: &Workers,
    sim_s: f64,
    timed: bool,
    how: BenchConfig,
) -> Result<SpeedMeasurement, String> {
    let (workload, _) = Workload::find(&load.spec(sim_s), machine).map_err(|e| e.to_string())?;
    kernel_compat::size(std::slice::from_ref(sched), machine).map_err(|e| e.to_string())?;
    let hz = kernel_compat::hz(std::slice::from_ref(sched), None).map_err(|e| e.to_string())?;
    let experiment = Experiment {
        machine: Arc::clone(machine),
        workload: Arc::new(workload),
        scheds: Vec::new(),
        config: Config { hz, governor: how.governor, ..Config::default() },
        workers: workers.clone(),
    };
    match sched.features().filter(|_| !workers.always) {
        None => workers.measure(&experiment, sched, timed, how.why),
        Some(features) => {
            let sched = fair(features, &experiment.machine).map_err(|e| e.to_string())?;
            SpeedMeasurement::of(&experiment, sched, timed, how.why)
        }
    }
}
