//! How cost grows: periodic tasks on parts of `synthetic-1024`, from 8 to all of its CPUs and from 10 to 100,000 tasks.
//!
//! Up to five tasks per CPU each works 15 % of its period, as in the rows of [`super::ROWS`]. Where there are more, work
//! stays and periods become longer in proportion: the load stays at 75 % and wakeups at 430 a second and CPU. So along a
//! line of equal tasks per CPU every CPU has the same to do.
//!
//! The cost of creating the tasks is measured by a short run and separated from what a second of virtual
//! time takes after that.

use std::sync::Arc;

use fairground_machine::{preset_text, Machine};
use serde::{Deserialize, Serialize};
use toml::Value;

use super::{measure_row, BenchConfig, BenchError, Load};
use fairground_run::sched_spec::SchedSpec;
use fairground_run::speed::SpeedMeasurement;
use fairground_run::worker::Workers;

/// Name and version of the schema.
pub const SCHEMA: &str = "fairground-scale-1";

/// Numbers of CPUs in the grid.
pub const CPUS: [u32; 8] = [8, 16, 32, 64, 128, 256, 512, 1024];

/// Numbers of tasks in the grid.
pub const TASKS: [u32; 5] = [10, 100, 1_000, 10_000, 100_000];

/// The machine that the grid takes parts of.
const WHOLE: &str = "synthetic-1024";

/// Virtual seconds of the short run.
const START_S: f64 = 0.1;

/// One cell of the grid. Rates are per second of virtual time, without the start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScaleCell {
    /// Number of CPUs used.
    pub cpus: u32,
    /// Number of periodic tasks.
    pub tasks: u32,
    /// CPU seconds of the host until all tasks were created and the first 0.1 s of virtual time had passed.
    pub start_cpu_s: f64,
    /// CPU seconds of the host, per second of virtual time.
    pub cpu_s_per_sim_s: f64,
    /// Engine events, per second of virtual time.
    pub events: f64,
    /// Wakeups, per second of virtual time.
    pub wakeups: f64,
    /// CPUs that the scheduler read to sum up groups, in balance passes and forks, per second of virtual time.
    pub group_cpus: f64,
    /// CPUs that wakeups probed for being idle, per second of virtual time.
    pub probes: f64,
    /// Balance passes, per second of virtual time: walks over the domains of a CPU in a softirq.
    pub balances: f64,
    /// Peak resident memory of the process, MiB; `None` where the system does not report it.
    pub rss_mib: Option<f64>,
}

/// The first `cpus` CPUs of the machine `synthetic-1024`: a multiple of a cluster below one node, a multiple of a node
/// above.
///
/// # Errors
/// If the machine's file has no such part.
pub fn part(cpus: u32) -> Result<Machine, String> {
    let text = preset_text(WHOLE).ok_or_else(|| format!("no machine {WHOLE}"))?;
    let mut file: toml::Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
    let topology = file.get_mut("topology").and_then(Value::as_table_mut).ok_or("no topology")?;
    let nodes = (cpus / NODE).max(1);
    let slit = topology.get_mut("distances").and_then(|d| d.get_mut("slit")).and_then(Value::as_array_mut);
    let slit = slit.ok_or("no distances")?;
    slit.truncate(nodes as usize);
    slit.iter_mut().filter_map(Value::as_array_mut).for_each(|row| row.truncate(nodes as usize));
    topology.insert("cpus".into(), Value::Integer(cpus.into()));
    topology.insert("llcs".into(), Value::String(format!("{} cores", cpus.min(NODE))));
    topology.insert("packages".into(), Value::String(format!("{} nodes", nodes.min(4))));
    Machine::from_toml(WHOLE, &file.to_string()).map_err(|e| e.to_string())
}

/// CPUs per node of [`WHOLE`].
const NODE: u32 = 128;

/// The load of `tasks` tasks on `cpus` CPUs, see the module's documentation.
fn load(cpus: u32, tasks: u32) -> Load {
    let stretch = (f64::from(tasks) / (5.0 * f64::from(cpus))).max(1.0);
    Load::Periodic { tasks, duty: 15.0 / stretch, stretch }
}

/// Measures the cell `CPUS:TASKS` for about `seconds` of the host's CPU time. Run it in a process of its own, like
/// rows.
///
/// # Errors
/// If the grid has no such cell, or the cell cannot be run.
pub fn measure(cell: &str, sched: &SchedSpec, workers: &Workers, seconds: f64) -> Result<ScaleCell, BenchError> {
    let known = cells().find(|(cpus, tasks)| cell == format!("{cpus}:{tasks}"));
    let (cpus, tasks) = known.ok_or_else(|| BenchError::UnknownCell(cell.into()))?;
    let failed = |problem: String| BenchError::Run { row: cell.into(), problem };
    let (machine, load) = (Arc::new(part(cpus).map_err(failed)?), load(cpus, tasks));
    let run =
        |sim_s: f64| measure_row(&machine, &load, sched, workers, sim_s, false, BenchConfig::PLAIN).map_err(failed);
    let start = run(START_S)?;
    // The creation of tasks may cost more than seconds of the rest. The run is made longer until the rest can be
    // measured.
    let mut more = START_S;
    loop {
        let whole = run(START_S + more)?;
        if whole.cpu_s - start.cpu_s >= seconds / 2.0 || more >= MORE_MAX_S {
            return Ok(difference(cpus, tasks, &start, &whole));
        }
        more *= 4.0;
    }
}

/// A run of at least this length is not made longer, virtual seconds after the start.
const MORE_MAX_S: f64 = 100.0;

/// The cost of the long run without that of the short one, per second of virtual time.
fn difference(cpus: u32, tasks: u32, start: &SpeedMeasurement, whole: &SpeedMeasurement) -> ScaleCell {
    let sim_s = whole.sim_s - start.sim_s;
    let rate = |of: fn(&SpeedMeasurement) -> u64| (of(whole) - of(start)) as f64 / sim_s;
    ScaleCell {
        cpus,
        tasks,
        start_cpu_s: start.cpu_s,
        cpu_s_per_sim_s: (whole.cpu_s - start.cpu_s).max(0.0) / sim_s,
        events: rate(|m| m.events),
        wakeups: rate(|m| m.wakeups),
        group_cpus: rate(|m| m.group_cpus),
        probes: rate(|m| m.probes),
        balances: rate(|m| m.balances),
        rss_mib: whole.rss_mib,
    }
}

/// CPUs and tasks of every cell, small ones first.
pub fn cells() -> impl Iterator<Item = (u32, u32)> {
    CPUS.into_iter().flat_map(|cpus| TASKS.map(|tasks| (cpus, tasks)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_machine::Distance;

    #[test]
    fn parts_keep_clusters_and_nodes_and_the_last_is_the_whole() {
        for cpus in CPUS {
            let machine = part(cpus).unwrap();
            let shape = (machine.nr_cpus(), machine.clusters.len(), machine.llcs.len());
            assert_eq!(shape, (cpus as usize, cpus as usize / 8, (cpus as usize / 128).max(1)), "{cpus} CPUs");
        }
        let (half, whole) = (part(512).unwrap(), part(1024).unwrap());
        assert_eq!((half.distance(0, 511), whole.distance(0, 512)), (Distance::Package, Distance::Remote));
        assert!(whole == Machine::preset(WHOLE).unwrap());
    }

    #[test]
    fn more_tasks_make_longer_periods_not_more_load() {
        let of = |cpus, tasks| match load(cpus, tasks) {
            Load::Periodic { tasks, duty, stretch } => (f64::from(tasks) * duty / f64::from(cpus), stretch),
            Load::Storm { .. } => unreachable!("the grid has no storms"),
        };
        assert_eq!(of(8, 40), (75.0, 1.0));
        assert_eq!(of(8, 10_000), (75.0, 250.0));
        assert_eq!(of(1024, 10).1, 1.0);
        assert!(of(1024, 100_000).0 > 74.9 && of(1024, 100_000).1 > 19.0);
    }
}
