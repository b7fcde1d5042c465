//! Our own speed: the host time of one run.

mod call_times;

use std::time::Instant;

use fairground_machine::SoftCost;
use fairground_sim::{Event, Observer, Reason, Scheduler};
use nix::time::{clock_gettime, ClockId};
use serde::{Deserialize, Serialize};

use self::call_times::Timing;
use crate::experiment::Experiment;
use crate::instrumented::Instrumented;

/// Host time and work of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpeedMeasurement {
    /// Virtual time that the run simulated, s.
    pub sim_s: f64,
    /// Host time that the run took, s.
    pub wall_s: f64,
    /// CPU time that the run took on the host, s.
    pub cpu_s: f64,
    /// Number of events that the engine processed.
    pub events: u64,
    /// Host time in the scheduler per wakeup or fork, ns; 0 where no times were taken.
    pub decision_ns: f64,
    /// Host time of a fork's placement, ns: median; `None` without forks, or if times were not measured.
    pub fork_median_ns: Option<f64>,
    /// Host time of a fork's placement, ns: 99th percentile; `None` as for the median.
    pub fork_p99_ns: Option<f64>,
    /// CPUs looked at in statistics of groups that the scheduler was charged for.
    pub group_cpus: u64,
    /// CPUs probed that it was charged for.
    pub probes: u64,
    /// Wakeups that it was charged for.
    pub wakeups: u64,
    /// Domain walks of balance passes that it was charged for.
    pub balances: u64,
    /// Peak resident memory of the process, MiB.
    pub rss_mib: Option<f64>,
}

impl SpeedMeasurement {
    /// Makes a run in this process. `timed`: measure the time of wakeups and forks. `why`: compute reasons.
    ///
    /// # Errors
    /// Why the run failed.
    pub fn of(
        experiment: &Experiment,
        sched: Box<dyn Scheduler>,
        timed: bool,
        why: bool,
    ) -> Result<SpeedMeasurement, String> {
        let (timing, meter) = Timing::new();
        // Without `timed`, the calls do not pass through the meter.
        let sched = if timed { Box::new(Instrumented::new(sched, timing)) } else { sched };
        let mut engine = experiment.engine(sched, experiment.config.seed);
        let mut asking = Asking::default();
        let mut observers: Vec<&mut dyn Observer> = if why { vec![&mut asking] } else { Vec::new() };
        let (start, cpu_start) = (Instant::now(), cpu_s());
        let outcome = engine.run(&mut observers).map_err(|e| e.to_string().trim_end().to_owned())?;
        Ok(SpeedMeasurement {
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

/// Requests reasons and only counts them.
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

/// CPU time of this thread, s; 0 if the system does not report it.
fn cpu_s() -> f64 {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(0.0, |t| t.tv_sec() as f64 + t.tv_nsec() as f64 / 1e9)
}

/// Peak resident memory of this process, MiB: VmHWM of /proc/self/status. `None` if it cannot be read.
fn peak_rss_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}
