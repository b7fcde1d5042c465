//! Our own speed: fixed runs without a trace, checkers on, measured in host time.
//!
//! All rows are sets of periodic tasks at 15 % each, five per CPU (75 % load): W8 is 40 tasks on 8
//! equal CPUs, W128 is 640 on 128, W224 1120 on 224; W8-why is W8 with somebody who asks for the reasons of every placement. Virtual time
//! is extended until the host has worked for the time asked for.

use std::sync::Arc;
use std::time::Instant;

use fairground_machine::Machine;
use fairground_sim::{Config, Event, Observer, Reason, Scheduler};
use fairground_workload::Workload;
use miette::Diagnostic;
use serde::{Deserialize, Serialize};
use thiserror::Error;

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
pub const ROWS: [BenchSpec; 4] = [
    BenchSpec { name: "W8", cpus: 8, tasks: 40, why: false },
    BenchSpec { name: "W128", cpus: 128, tasks: 640, why: false },
    BenchSpec { name: "W224", cpus: 224, tasks: 1120, why: false },
    BenchSpec { name: "W8-why", cpus: 8, tasks: 40, why: true },
];

/// The scheduler that is measured unless another is asked for.
pub const SCHED: &str = "fair:v6.12";

/// One fixed run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BenchSpec {
    /// Name of the row.
    pub name: &'static str,
    /// Equal CPUs.
    pub cpus: usize,
    /// Periodic tasks.
    pub tasks: u32,
    /// Somebody asks why.
    pub why: bool,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchRow {
    /// Name of the row.
    pub name: String,
    /// Virtual seconds per second of host time.
    pub sim_s_per_wall_s: f64,
    /// Engine events per second of host time.
    pub core_events_per_s: f64,
    /// Host time in the scheduler per wakeup or fork, ns: deciding and committing, clock reading subtracted. From a
    /// second run, so that taking times does not slow the first.
    pub ns_per_decision: f64,
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
    #[diagnostic(help("there are W8, W128, W224 and W8-why"))]
    UnknownRow(String),
    /// The run.
    #[error("bench row {row}: {problem}")]
    Run {
        /// The row.
        row: &'static str,
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
    let run = |sim_s: f64, timed: bool| {
        one(&row, sched, workers, sim_s, timed).map_err(|problem| BenchError::Run { row: row.name, problem })
    };
    // A short run tells how much virtual time fits.
    let probe = run(0.2, false)?;
    let rate = 0.2 / probe.wall_s.max(1e-6);
    let sim_s = (rate * seconds).clamp(0.2, 3_600.0);
    let main = run(sim_s, false)?;
    let timed = run((sim_s / 4.0).max(0.2), true)?;
    Ok(BenchRow {
        name: row.name.into(),
        sim_s_per_wall_s: main.sim_s / main.wall_s,
        core_events_per_s: main.events as f64 / main.wall_s,
        ns_per_decision: timed.decision_ns,
        rss_mib: main.rss_mib,
        sim_s: main.sim_s,
        wall_s: main.wall_s,
    })
}

/// One run of a row, in a worker if it has to be.
fn one(row: &BenchSpec, sched: &SchedSpec, workers: &Workers, sim_s: f64, timed: bool) -> Result<Measured, String> {
    let machine = Machine::symmetric(row.cpus);
    let spec = format!("periodic:tasks={},periods=5+8+10+16+20+25+40,duty=15,duration={sim_s:.3}", row.tasks);
    let (workload, _) = Workload::find(&spec, &machine).map_err(|e| e.to_string())?;
    fit::size(std::slice::from_ref(sched), &machine).map_err(|e| e.to_string())?;
    let hz = fit::hz(std::slice::from_ref(sched), None).map_err(|e| e.to_string())?;
    let setup = Setup {
        machine: Arc::new(machine),
        workload: Arc::new(workload),
        scheds: Vec::new(),
        config: Config { hz, ..Config::default() },
        workers: workers.clone(),
    };
    match sched.features().filter(|_| !workers.always) {
        None => workers.measure(&setup, sched, timed, row.why),
        Some(features) => {
            let sched = fair(features, &setup.machine).map_err(|e| e.to_string())?;
            Measured::of(&setup, sched, timed, row.why)
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
    /// Engine events.
    events: u64,
    /// Host time in the scheduler per wakeup or fork, ns; 0 where no times were taken.
    decision_ns: f64,
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
        let start = Instant::now();
        let outcome = engine.run(&mut observers).map_err(|e| e.to_string().trim_end().to_owned())?;
        Ok(Measured {
            wall_s: start.elapsed().as_secs_f64(),
            sim_s: outcome.end as f64 / 1e9,
            events: outcome.nr_events,
            decision_ns: meter.mean_ns(),
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

/// VmHWM of this process.
fn peak_rss_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}
