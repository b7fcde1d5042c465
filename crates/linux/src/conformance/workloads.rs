//! The workloads of the referee. Together they reach every rule that a machine of the referee can reach.

use fairground_machine::{FreqDomain, Machine};
use fairground_workload::rtapp::{self, Dialect};
use fairground_workload::{CapSource, FrequencyCap, Start, Workload, WorkloadError};

use super::machines::GovernorSet;

/// A workload of the referee. It runs as long as [`ConformanceWorkload::workload`] is asked to.
pub struct ConformanceWorkload {
    /// Name of the workload, as the user writes it.
    pub name: &'static str,
    /// Describes the workload in one line.
    pub title: &'static str,
    /// The governors for which it is useful.
    pub under: GovernorSet,
    /// Whether frequency limits come and go during the run.
    capped: bool,
    source: Source,
}

enum Source {
    /// A built-in; its options depend on the machine.
    Builtin(fn(&Machine) -> String),
    /// A file for 8 CPUs. Larger machines get proportionally more threads.
    PerCpu(&'static str),
    /// A file for 8 CPUs. Larger machines get proportionally more processes.
    Processes(&'static str),
    /// A file that is used unchanged.
    File(&'static str),
}

/// All workloads of the referee.
pub const WORKLOADS: &[ConformanceWorkload] = &[
    ConformanceWorkload {
        name: "pipe",
        title: "two tasks play ping-pong over two pipes",
        under: GovernorSet::Both,
        capped: false,
        source: Source::Builtin(|_| "sched-pipe:loops=1000000000".into()),
    },
    ConformanceWorkload {
        name: "periodic-below",
        title: "independent periodic tasks, together 60 % of the machine",
        under: GovernorSet::Both,
        capped: false,
        source: Source::Builtin(|machine| periodic(machine, 60)),
    },
    ConformanceWorkload {
        name: "periodic-above",
        title: "independent periodic tasks, together 130 % of the machine",
        under: GovernorSet::Performance,
        capped: false,
        source: Source::Builtin(|machine| periodic(machine, 130)),
    },
    ConformanceWorkload {
        name: "fan-out",
        title: "one thread wakes many at once, as a futex does",
        under: GovernorSet::Performance,
        capped: false,
        source: Source::PerCpu(include_str!("../../referee/fan-out.json")),
    },
    ConformanceWorkload {
        name: "gather",
        title: "the same with half the threads",
        under: GovernorSet::Performance,
        capped: false,
        source: Source::PerCpu(include_str!("../../referee/gather.json")),
    },
    ConformanceWorkload {
        name: "mix",
        title: "niceness, clamps, policies and affinities beside each other",
        under: GovernorSet::Performance,
        capped: false,
        source: Source::PerCpu(include_str!("../../referee/mix.json")),
    },
    ConformanceWorkload {
        name: "storm",
        title: "births and new programs",
        under: GovernorSet::Performance,
        capped: false,
        source: Source::PerCpu(include_str!("../../referee/storm.json")),
    },
    ConformanceWorkload {
        name: "crowd",
        title: "short runs on a machine that is almost full",
        under: GovernorSet::Performance,
        capped: false,
        source: Source::PerCpu(include_str!("../../referee/crowd.json")),
    },
    ConformanceWorkload {
        name: "pinned",
        title: "queues of which only a part may leave, for anywhere or for a neighbour",
        under: GovernorSet::Performance,
        capped: false,
        source: Source::PerCpu(include_str!("../../referee/pinned.json")),
    },
    ConformanceWorkload {
        name: "squeezed",
        title: "long runs, some beside real time on the same CPU",
        under: GovernorSet::Performance,
        capped: false,
        source: Source::PerCpu(include_str!("../../referee/squeezed.json")),
    },
    ConformanceWorkload {
        name: "lazy",
        title: "more than fits, by tasks of next to no weight",
        under: GovernorSet::Performance,
        capped: false,
        source: Source::PerCpu(include_str!("../../referee/lazy.json")),
    },
    ConformanceWorkload {
        name: "tall",
        title: "a few more tasks than CPUs, most of them long",
        under: GovernorSet::Performance,
        capped: false,
        source: Source::PerCpu(include_str!("../../referee/tall.json")),
    },
    ConformanceWorkload {
        name: "teams",
        title: "processes of a few threads, each of which fits behind one cache",
        under: GovernorSet::Performance,
        capped: false,
        source: Source::Processes(include_str!("../../referee/teams.json")),
    },
    ConformanceWorkload {
        name: "hackbench",
        title: "hackbench, a group of 40 processes to each 8 CPUs",
        under: GovernorSet::Performance,
        capped: false,
        source: Source::Builtin(|machine| format!("hackbench:groups={},loops=1000000", parts(machine))),
    },
    ConformanceWorkload {
        name: "shell8",
        title: "Unixbench shell8, eight scripts to each 8 CPUs",
        under: GovernorSet::Performance,
        capped: false,
        source: Source::Builtin(|machine| format!("shell8:copies={}", parts(machine))),
    },
    ConformanceWorkload {
        name: "kthreads",
        title: "requests that kernel threads of the same CPU answer",
        under: GovernorSet::Performance,
        capped: false,
        source: Source::File(include_str!("../../referee/kthreads.json")),
    },
    ConformanceWorkload {
        name: "nested",
        title: "task groups within task groups, of all weights",
        under: GovernorSet::Performance,
        capped: false,
        source: Source::PerCpu(include_str!("../../referee/nested.json")),
    },
    ConformanceWorkload {
        name: "slices",
        title: "slices of all lengths, nice values that change, and forks",
        under: GovernorSet::Performance,
        capped: false,
        source: Source::File(include_str!("../../referee/slices.json")),
    },
    ConformanceWorkload {
        name: "light",
        title: "independent periodic tasks, together 12 % of the machine",
        under: GovernorSet::Schedutil,
        capped: false,
        source: Source::Builtin(|machine| periodic(machine, 12)),
    },
    ConformanceWorkload {
        name: "capped",
        title: "25 % of the machine, while cooling, firmware and users limit one clock after the other",
        under: GovernorSet::Schedutil,
        capped: true,
        source: Source::Builtin(|machine| periodic(machine, 25)),
    },
    ConformanceWorkload {
        name: "ramps",
        title: "tasks that grow and shrink beside small ones",
        under: GovernorSet::Schedutil,
        capped: false,
        source: Source::File(include_str!("../../referee/ramps.json")),
    },
    ConformanceWorkload {
        name: "clamps",
        title: "tasks of all sizes whose clamps change as they run",
        under: GovernorSet::Schedutil,
        capped: false,
        source: Source::File(include_str!("../../referee/clamps.json")),
    },
];

impl ConformanceWorkload {
    /// The workload with this name.
    pub fn find(name: &str) -> Option<&'static ConformanceWorkload> {
        WORKLOADS.iter().find(|course| course.name == name)
    }

    /// The workload for `machine`, `duration_ns` long.
    ///
    /// # Errors
    /// A machine that it does not fit, e.g. with too few CPUs.
    pub fn workload(&self, machine: &Machine, duration_ns: u64) -> Result<Workload, WorkloadError> {
        let file = |text: &str| {
            let dialect = Dialect { duration_ns: Some(duration_ns), ..Dialect::default() };
            rtapp::import(self.name, text.as_bytes(), &dialect, machine)
        };
        let (mut workload, _) = match self.source {
            Source::Builtin(spec) => Workload::find(&spec(machine), machine)?,
            Source::File(text) => file(text)?,
            Source::PerCpu(text) | Source::Processes(text) => file(text)?,
        };
        match self.source {
            Source::PerCpu(_) => workload.start.iter_mut().for_each(|start| start.count *= parts(machine)),
            Source::Processes(_) => workload.start = repeated(&workload.start, parts(machine)),
            Source::Builtin(_) | Source::File(_) => {}
        }
        workload.duration_ns = Some(duration_ns);
        workload.warmup_ns = workload.warmup_ns.min(duration_ns);
        if self.capped {
            workload.frequency_caps = caps(machine, duration_ns);
        }
        Ok(workload)
    }
}

/// These threads so many times, each time in processes of their own.
fn repeated(start: &[Start], times: u32) -> Vec<Start> {
    let processes = start.iter().map(|start| start.process + 1).max().unwrap_or(1);
    let again =
        |n: u32| start.iter().map(move |start| Start { process: start.process + n * processes, ..start.clone() });
    (0..times).flat_map(again).collect()
}

/// CPUs for which the files are written.
const WRITTEN_FOR_CPUS: u32 = 8;

/// The machine's size in multiples of that.
fn parts(machine: &Machine) -> u32 {
    (machine.nr_cpus() as u32 / WRITTEN_FOR_CPUS).max(1)
}

/// Period and length of a limit, ns.
const CAP_EVERY: u64 = 17_000_000;
const CAP_LASTS: u64 = 29_000_000;

/// Limits of one clock after another, to each of its operating points in turn, from each source of limits.
fn caps(machine: &Machine, duration_ns: u64) -> Vec<FrequencyCap> {
    let domains = &machine.freq_domains;
    let by = [CapSource::Cooling, CapSource::Hardware, CapSource::User];
    let cap = |n: u64| {
        let at = n as usize;
        let FreqDomain { cpus, opps, .. } = &domains[at % domains.len()];
        let (max_khz, from_ns) = (opps[at / domains.len() * 3 % opps.len()].khz, n * CAP_EVERY);
        FrequencyCap { cpus: *cpus, max_khz, from_ns, to_ns: Some(from_ns + CAP_LASTS), by: by[at % by.len()] }
    };
    (1..duration_ns / CAP_EVERY).map(cap).collect()
}

/// Three tasks for each CPU, with periods that drift against each other; together `percent` of all CPUs' capacity.
fn periodic(machine: &Machine, percent: u64) -> String {
    let capacity: u64 = machine.cpus.iter().map(|cpu| u64::from(cpu.capacity)).sum();
    let tasks = 3 * machine.nr_cpus() as u64;
    let duty_thousandths = capacity * percent * 1000 / 1024 / tasks;
    format!("periodic:tasks={tasks},periods=1+1.3+2.1+3.7+5.3,duty={:.3},jitter=40", duty_thousandths as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::super::MACHINES;
    use super::*;

    #[test]
    fn every_course_runs_on_every_shape_of_its_governor_for_as_long_as_is_asked() {
        for shape in MACHINES {
            let machine = shape.machine().unwrap();
            let both = |schedutil| {
                move |c: &&ConformanceWorkload| c.under.includes(schedutil) && shape.under.includes(schedutil)
            };
            for course in WORKLOADS.iter().filter(|c| both(true)(c) || both(false)(c)) {
                let workload = course.workload(&machine, 300_000_000).unwrap();
                assert_eq!(workload.duration_ns, Some(300_000_000), "{} on {}", course.name, shape.name);
                assert!(workload.validate(&machine).is_ok(), "{} on {}", course.name, shape.name);
            }
        }
    }

    #[test]
    fn larger_machines_are_as_busy_as_small_ones() {
        let threads = |course: &str, cpus| {
            let machine = Machine::symmetric(cpus);
            let workload = ConformanceWorkload::find(course).unwrap().workload(&machine, 1_000_000_000).unwrap();
            workload.start.iter().map(|start| start.count).sum::<u32>()
        };
        assert_eq!(threads("fan-out", 48), 6 * threads("fan-out", 8));
        assert_eq!(threads("kthreads", 48), threads("kthreads", 8));
        assert_eq!(threads("teams", 48), 6 * threads("teams", 8));
        let teams = ConformanceWorkload::find("teams").unwrap();
        let workload = teams.workload(&Machine::symmetric(48), 1_000_000_000).unwrap();
        let mut sizes = std::collections::BTreeMap::<u32, u32>::new();
        workload.start.iter().for_each(|start| *sizes.entry(start.process).or_default() += start.count);
        assert_eq!((sizes.len(), sizes.values().max()), (6 * 5, Some(&4)));
        // 60 % of 8 CPUs in 24 tasks.
        assert!(periodic(&Machine::symmetric(8), 60).contains("tasks=24,"));
        assert!(periodic(&Machine::symmetric(8), 60).contains("duty=20.000,"));
    }
}
