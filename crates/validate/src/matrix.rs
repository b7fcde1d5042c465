//! The matrix: what is changed, on which workload, and which figures show it.
//!
//! An [`Intervention`] is a base and a test [`Side`] that differ in one thing. What it changes is its *knob*; several
//! interventions turn the same knob on different workloads, or to different values. Knobs of the scheduler and workload
//! choices are scored apart.
//!
//! Knobs are halved by a hash of their name, so that the halves depend neither on the order nor on the number of
//! interventions: one half to learn from, the other to be judged by. The hash has a number in it ([`HALVING`]); another
//! number makes other halves.

use fairground_host::SystemSetting;
use fairground_machine::CpuMask;
use fairground_workload::{Policy, SchedAttr, TaskGroup, Workload, WorkloadError};
use serde::{Deserialize, Serialize};

use crate::base::{beside_hogs, births, frames, hogs, messaging, naps, ping_pong, requests, Messages, Naps, Shape};
use crate::base::{NAP, PIPE};

/// Number of the halving of knobs: raised after the judged half has been opened.
pub const HALVING: u32 = 2;

/// What kind of thing is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Something that an administrator or a program tells the scheduler.
    Knob,
    /// How a workload is written or started.
    Choice,
}

impl Family {
    /// Both.
    pub const ALL: [Family; 2] = [Family::Knob, Family::Choice];

    /// As tables call it.
    pub fn words(self) -> &'static str {
        match self {
            Family::Knob => "scheduler knobs",
            Family::Choice => "workload choices",
        }
    }

    /// What several of it are called for short.
    pub fn plural(self) -> &'static str {
        match self {
            Family::Knob => "knobs",
            Family::Choice => "choices",
        }
    }
}

/// Half of the knobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Half {
    /// What the model is mended by.
    Learn,
    /// What the model is judged by, once a release.
    Judged,
}

impl Half {
    /// The half that a knob is in.
    pub fn of_knob(knob: &str) -> Half {
        match xxhash_rust::xxh3::xxh3_64(format!("fairground validate {HALVING} {knob}").as_bytes()) % 2 {
            0 => Half::Learn,
            _ => Half::Judged,
        }
    }

    /// `learn` or `judged`.
    pub fn word(self) -> &'static str {
        match self {
            Half::Learn => "learn",
            Half::Judged => "judged",
        }
    }
}

/// One side of an intervention.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// What runs.
    pub workload: Workload,
    /// What is changed on the machine while it runs.
    pub system: Vec<SystemSetting>,
    /// Threads that never sleep, which compete with it from another session; nothing is measured of them.
    pub rivals: u32,
}

impl From<Workload> for Side {
    fn from(workload: Workload) -> Side {
        Side { workload, system: Vec::new(), rivals: 0 }
    }
}

/// Which threads of a workload are meant, by what their names begin with.
type Named = &'static str;

/// All threads.
const ALL: Named = "";

impl Side {
    fn tasks(&mut self, named: Named, mut change: impl FnMut(&mut fairground_workload::TaskSpec)) {
        self.workload.tasks.iter_mut().filter(|task| task.name.starts_with(named)).for_each(&mut change);
    }

    /// Bound to these CPUs as taskset does.
    fn bound(mut self, cpus: CpuMask) -> Side {
        self.workload.bind(&cpus);
        self
    }

    fn with_cpus(mut self, named: Named, cpus: CpuMask) -> Side {
        self.tasks(named, |task| task.affinity = Some(cpus));
        self
    }

    fn with_attr(mut self, named: Named, change: impl Fn(&mut SchedAttr)) -> Side {
        self.tasks(named, |task| change(&mut task.attr));
        self
    }

    fn nice(self, named: Named, nice: i8) -> Side {
        self.with_attr(named, |attr| attr.nice = nice)
    }

    fn policy(self, named: Named, policy: Policy) -> Side {
        self.with_attr(named, |attr| {
            attr.policy = policy;
            attr.rt_priority = u8::from(policy.is_rt());
        })
    }

    fn slice_us(self, named: Named, us: u64) -> Side {
        self.with_attr(named, |attr| attr.slice_ns = us * 1000)
    }

    fn slack_us(mut self, us: u64) -> Side {
        self.tasks(ALL, |task| task.timer_slack_ns = us * 1000);
        self
    }

    /// These threads, whole processes, in a cgroup with these files of the cpu controller, named as in cgroup v2.
    fn grouped(mut self, named: Named, files: &[(&str, &str)], cpus: Option<CpuMask>) -> Side {
        let group = self.workload.groups.len() as u32;
        let files = files.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        self.workload.groups.push(TaskGroup { path: format!("/g{group}"), parent: None, files, cpus });
        self.tasks(named, |task| task.group = Some(group));
        self
    }

    fn on(mut self, setting: SystemSetting) -> Side {
        self.system.push(setting);
        self
    }

    fn beside_rivals(self, rivals: u32, autogroup: bool) -> Side {
        Side { rivals, ..self }.on(SystemSetting::Autogroup(autogroup))
    }

    /// The workload as it is simulated: what is done to the machine around it is part of it there.
    pub fn simulated(&self) -> Workload {
        let own = self.workload.tasks.len();
        let mut workload = match self.rivals {
            0 => self.workload.clone(),
            rivals => beside_hogs(self.workload.clone(), rivals),
        };
        for setting in &self.system {
            match setting {
                SystemSetting::Offline(cpus) => {
                    let from_ns = fairground_workload::FIRST_OFFLINE_NS;
                    workload.offline.push(fairground_workload::OfflineSpan { cpus: *cpus, from_ns, to_ns: None });
                }
                // The group of a session is one of weight 100.
                SystemSetting::Autogroup(true) => {
                    let group = |path: &str| {
                        let files = vec![("cpu.weight".to_owned(), "100".to_owned())];
                        TaskGroup { path: path.into(), parent: None, files, cpus: None }
                    };
                    workload.groups.extend(["/own", "/rivals"].map(group));
                    for (i, task) in workload.tasks.iter_mut().enumerate() {
                        task.group = Some(u32::from(i >= own));
                    }
                }
                SystemSetting::Autogroup(false) | SystemSetting::Debugfs { .. } => {}
            }
        }
        workload
    }

    /// Whether a setting has no counterpart in the simulator, which then predicts no change.
    pub fn is_beyond_model(&self) -> bool {
        self.system.iter().any(|setting| matches!(setting, SystemSetting::Debugfs { .. }))
    }
}

/// Two sides that differ in one thing.
#[derive(Clone, Debug, PartialEq)]
pub struct Intervention {
    /// `KNOB/CASE`, unique.
    pub name: String,
    /// What is changed.
    pub knob: &'static str,
    /// Of which kind it is.
    pub family: Family,
    /// In words: what runs, and what is changed.
    pub text: &'static str,
    /// The figures that are compared, by name: each is a cell.
    pub metrics: &'static [&'static str],
    /// Without the change.
    pub base: Side,
    /// With it.
    pub test: Side,
    /// Left out by `--quick`.
    pub long: bool,
}

impl Intervention {
    /// The half that its knob is in.
    pub fn half(&self) -> Half {
        Half::of_knob(self.knob)
    }
}

const OPS: &[&str] = &["ops_per_sec"];
const TIME: &[&str] = &["time_s"];
const HALVES: &[&str] = &["first_mean_us", "second_mean_us"];
const HALVES_AND_ALL: &[&str] = &["first_mean_us", "second_mean_us", "ops_per_sec"];
const NAPS: &[&str] = &["nap_mean_us", "nap_p99_us"];
const NAPS_AND_HOGS: &[&str] = &["nap_mean_us", "nap_p99_us", "ops_per_sec"];
const FRAMES: &[&str] = &["frame_mean_us", "frame_p90_us"];
const REQUESTS: &[&str] = &["latency_p50_us", "latency_p99_us"];
const BIRTHS: &[&str] = &["burst_mean_us", "fork_to_run_p50_us"];

/// The list under construction.
#[derive(Default)]
struct List(Vec<Intervention>);

impl List {
    fn add(
        &mut self,
        family: Family,
        (knob, case): (&'static str, &str),
        text: &'static str,
        metrics: &'static [&'static str],
        (base, test): (impl Into<Side>, impl Into<Side>),
    ) -> &mut Intervention {
        let (base, test) = (base.into(), test.into());
        let name = format!("{knob}/{case}");
        self.0.push(Intervention { name, knob, family, text, metrics, base, test, long: false });
        let last = self.0.len() - 1;
        &mut self.0[last]
    }

    fn knob(
        &mut self,
        name: (&'static str, &str),
        text: &'static str,
        metrics: &'static [&'static str],
        sides: (impl Into<Side>, impl Into<Side>),
    ) -> &mut Intervention {
        self.add(Family::Knob, name, text, metrics, sides)
    }

    fn choice(
        &mut self,
        name: (&'static str, &str),
        text: &'static str,
        metrics: &'static [&'static str],
        sides: (impl Into<Side>, impl Into<Side>),
    ) -> &mut Intervention {
        self.add(Family::Choice, name, text, metrics, sides)
    }
}

impl Intervention {
    fn long(&mut self) {
        self.long = true;
    }
}

/// All interventions for a machine, of which the workloads may use these CPUs. Those that need two CPUs are left out where
/// there is one.
///
/// # Errors
/// If a built-in workload refuses its options.
pub fn matrix(shape: &Shape, cpus: &CpuMask) -> Result<Vec<Intervention>, WorkloadError> {
    let mut list = List::default();
    knobs(&mut list, shape)?;
    if let Some(second) = cpus.iter().nth(1) {
        knobs_of_two_cpus(&mut list, shape, cpus, second)?;
    }
    choices(&mut list, shape)?;
    if !shape.machine.all_cpus().is_subset(cpus) {
        let sides = list.0.iter_mut().flat_map(|i| [&mut i.base, &mut i.test]);
        sides.for_each(|side| drop(side.workload.bind(cpus)));
    }
    Ok(list.0)
}

/// Knobs that one CPU is enough for.
fn knobs(list: &mut List, shape: &Shape) -> Result<(), WorkloadError> {
    let n = shape.cpus;
    let two_each = || Side::from(hogs(shape, 2 * n, 0));
    let nap_by_hogs = || Side::from(naps(shape, Naps { hogs: n, ..NAP }));
    let napping = || Side::from(naps(shape, NAP));
    let pipe = || Side::from(ping_pong(shape, PIPE));
    let messages = || messaging(shape, 1, "").map(Side::from);
    let serving = || requests(shape, 2 * n, 300).map(Side::from);

    let text = "2 threads a CPU that never sleep; all of nice 10";
    list.knob(("nice-all", "hogs"), text, HALVES, (two_each(), two_each().nice(ALL, 10)));
    let text = "hackbench; all of nice 10";
    list.knob(("nice-all", "messaging"), text, TIME, (messages()?, messages()?.nice(ALL, 10))).long();
    let text = "2 threads a CPU that never sleep; half of them of nice 3";
    list.knob(("nice-half", "hogs-3"), text, HALVES_AND_ALL, (two_each(), two_each().nice("second", 3)));
    let text = "2 threads a CPU that never sleep; half of them of nice 10";
    list.knob(("nice-half", "hogs-10"), text, HALVES, (two_each(), two_each().nice("second", 10))).long();
    let text = "a thread that sleeps and works by turns beside threads that never sleep; those of nice 10";
    list.knob(("nice-half", "naps"), text, NAPS_AND_HOGS, (nap_by_hogs(), nap_by_hogs().nice("hog", 10)));

    let text = "a thread that sleeps and works by turns beside threads that never sleep; those SCHED_BATCH";
    list.knob(("batch", "hogs"), text, NAPS_AND_HOGS, (nap_by_hogs(), nap_by_hogs().policy("hog", Policy::Batch)));
    let text = "a thread that sleeps and works by turns, beside threads that never sleep; the first SCHED_BATCH";
    list.knob(("batch", "nap"), text, NAPS_AND_HOGS, (nap_by_hogs(), nap_by_hogs().policy("nap", Policy::Batch)));
    let text = "hackbench; all SCHED_BATCH";
    list.knob(("batch", "messaging"), text, TIME, (messages()?, messages()?.policy(ALL, Policy::Batch))).long();

    let text = "2 threads a CPU that never sleep; half of them SCHED_IDLE";
    list.knob(
        ("idle", "hogs"),
        text,
        &["first_mean_us", "ops_per_sec"],
        (two_each(), two_each().policy("second", Policy::Idle)),
    );
    let text = "a thread that sleeps and works by turns beside threads that never sleep; those SCHED_IDLE";
    list.knob(("idle", "naps"), text, NAPS_AND_HOGS, (nap_by_hogs(), nap_by_hogs().policy("hog", Policy::Idle)));
    let by_hogs = |policy| Side::from(beside_hogs(ping_pong(shape, PIPE), n)).policy("hog", policy);
    let text = "a ping-pong over pipes beside threads that never sleep; those SCHED_IDLE";
    list.knob(("idle", "ping-pong"), text, OPS, (by_hogs(Policy::Other), by_hogs(Policy::Idle))).long();

    let text = "a thread that sleeps and works by turns beside threads that never sleep; its slice 200 us";
    list.knob(("slice", "nap-short"), text, NAPS_AND_HOGS, (nap_by_hogs(), nap_by_hogs().slice_us("nap", 200)));
    let text = "a thread that sleeps and works by turns beside threads that never sleep; their slices 20 ms";
    list.knob(("slice", "hogs-long"), text, NAPS_AND_HOGS, (nap_by_hogs(), nap_by_hogs().slice_us("hog", 20_000)))
        .long();
    let text = "schbench with two workers a CPU; slices of 200 us";
    list.knob(("slice", "requests"), text, REQUESTS, (serving()?, serving()?.slice_us(ALL, 200)));

    let text = "a thread that sleeps and works by turns beside threads that never sleep; it SCHED_FIFO";
    list.knob(("fifo", "naps"), text, NAPS_AND_HOGS, (nap_by_hogs(), nap_by_hogs().policy("nap", Policy::Fifo)));

    let text = "a thread that sleeps 300 us and works by turns; timer slack of 1 us";
    list.knob(("timer-slack", "short"), text, NAPS, (napping(), napping().slack_us(1)));
    let text = "a thread that sleeps 300 us and works by turns; timer slack of 1 ms";
    list.knob(("timer-slack", "long"), text, NAPS, (napping(), napping().slack_us(1000)));

    let load = |workload: Workload, hogs: u32| Side::from(beside_hogs(workload, hogs));
    let text = "a ping-pong over pipes; beside a thread a CPU that never sleeps";
    list.knob(("load", "ping-pong"), text, OPS, (pipe(), load(ping_pong(shape, PIPE), n)));
    let text = "hackbench; beside a thread a CPU that never sleeps";
    list.knob(("load", "messaging"), text, TIME, (messages()?, load(messaging(shape, 1, "")?, n)));
    let text = "a thread that sleeps and works by turns; beside a thread a CPU that never sleeps";
    list.knob(("load", "naps"), text, NAPS, (napping(), load(naps(shape, NAP), n)));
    let text = "frames through three threads; beside a thread a CPU that never sleeps";
    list.knob(("load", "frames"), text, FRAMES, (frames(shape), load(frames(shape), n)));
    let text = "schbench with two workers a CPU; beside a thread a CPU that never sleeps";
    list.knob(("load", "requests"), text, REQUESTS, (serving()?, load(requests(shape, 2 * n, 300)?, n))).long();

    let even = [("cpu.weight", "100")];
    let weighed = |side: Side, first, second, weight| {
        let side = side.grouped(first, &even, None);
        side.grouped(second, &[("cpu.weight", weight)], None)
    };
    let text = "2 threads a CPU that never sleep, half of them in each of two cgroups; the second of weight 300";
    list.knob(
        ("cgroup-weight", "hogs-300"),
        text,
        HALVES_AND_ALL,
        (weighed(two_each(), "first", "second", "100"), weighed(two_each(), "first", "second", "300")),
    );
    let text =
        "a thread that sleeps and works by turns and threads that never sleep, each in a cgroup; those of weight 20";
    list.knob(
        ("cgroup-weight", "naps-20"),
        text,
        NAPS_AND_HOGS,
        (weighed(nap_by_hogs(), "nap", "hog", "100"), weighed(nap_by_hogs(), "nap", "hog", "20")),
    );
    let idle = |idle: &[(&str, &str)]| two_each().grouped("first", &even, None).grouped("second", idle, None);
    let text = "2 threads a CPU that never sleep, half of them in each of two cgroups; the second idle (cpu.idle)";
    list.knob(
        ("cgroup-idle", "hogs"),
        text,
        &["first_mean_us", "ops_per_sec"],
        (idle(&even), idle(&[("cpu.weight", "100"), ("cpu.idle", "1")])),
    );
    // Of the CPUs that the workload may use the group has half.
    let quota = format!("{} 20000", 10_000 * n);
    let limited = |side: Side, named, max: &str| side.grouped(named, &[("cpu.weight", "100"), ("cpu.max", max)], None);
    let text = "2 threads a CPU that never sleep, all in a cgroup; with a quota of half the CPUs";
    list.knob(
        ("cgroup-quota", "hogs"),
        text,
        HALVES_AND_ALL,
        (limited(two_each(), ALL, "max 20000"), limited(two_each(), ALL, &quota)),
    );
    let text = "threads that never sleep in a cgroup beside a thread that sleeps and works by turns; with a quota of half the CPUs";
    list.knob(
        ("cgroup-quota", "naps"),
        text,
        NAPS_AND_HOGS,
        (limited(nap_by_hogs(), "hog", "max 20000"), limited(nap_by_hogs(), "hog", &quota)),
    );

    let text = "a thread a CPU that never sleeps beside 3 a CPU in another session; with autogroup";
    let one_each = |autogroup| Side::from(hogs(shape, n, 0)).beside_rivals(3 * n, autogroup);
    list.knob(("autogroup", "hogs"), text, &["first_mean_us", "ops_per_sec"], (one_each(false), one_each(true)));
    let text = "threads that sleep and work by turns, 2 a CPU, beside 3 a CPU in another session that never sleep; with autogroup";
    let nappers = |autogroup| Side::from(naps(shape, Naps { nappers: 2 * n, ..NAP })).beside_rivals(3 * n, autogroup);
    list.knob(("autogroup", "naps"), text, NAPS, (nappers(false), nappers(true)));

    let debugfs = |side: Side, file, value| side.on(SystemSetting::Debugfs { file, value });
    let text = "a thread that sleeps and works by turns beside threads that never sleep; base_slice_ns of 10 ms";
    list.knob(
        ("base-slice", "naps"),
        text,
        NAPS_AND_HOGS,
        (nap_by_hogs(), debugfs(nap_by_hogs(), "base_slice_ns", "10000000")),
    );
    let text = "hackbench; migration_cost_ns of 0";
    list.knob(
        ("migration-cost", "messaging"),
        text,
        TIME,
        (messages()?, debugfs(messages()?, "migration_cost_ns", "0")),
    );
    let text = "a thread that sleeps and works by turns beside threads that never sleep; preemption lazy, then full";
    list.knob(
        ("preemption", "naps"),
        text,
        NAPS_AND_HOGS,
        (debugfs(nap_by_hogs(), "preempt", "lazy"), debugfs(nap_by_hogs(), "preempt", "full")),
    );
    let text = "a thread that sleeps and works by turns beside threads that never sleep; feature NO_WAKEUP_PREEMPTION";
    list.knob(
        ("wakeup-preemption", "naps"),
        text,
        NAPS_AND_HOGS,
        (nap_by_hogs(), debugfs(nap_by_hogs(), "features", "NO_WAKEUP_PREEMPTION")),
    );
    let text = "hackbench; feature NO_TTWU_QUEUE";
    list.knob(
        ("ttwu-queue", "messaging"),
        text,
        TIME,
        (messages()?, debugfs(messages()?, "features", "NO_TTWU_QUEUE")),
    );
    Ok(())
}

/// Knobs that say which of several CPUs are used; `second` is one beside the first.
fn knobs_of_two_cpus(list: &mut List, shape: &Shape, cpus: &CpuMask, second: u32) -> Result<(), WorkloadError> {
    let n = shape.cpus;
    let [first, second] = [cpus.first().unwrap_or_default(), second].map(CpuMask::single);
    let others = cpus.minus(&first);
    let two_each = || Side::from(hogs(shape, 2 * n, 0));
    let pipe = || Side::from(ping_pong(shape, PIPE));
    let by_a_hog = || Side::from(naps(shape, Naps { hogs: 1, ..NAP }));
    let messages = || messaging(shape, 1, "").map(Side::from);
    let serving = || requests(shape, 2 * n, 300).map(Side::from);
    let bursts = || births(shape, 4, "").map(Side::from);

    let text = "a ping-pong over pipes, free; both on the first CPU";
    list.knob(("affinity", "ping-pong-one"), text, OPS, (pipe(), pipe().with_cpus(ALL, first)));
    let text = "a ping-pong over pipes, both on the first CPU; one on each of two CPUs";
    list.knob(
        ("affinity", "ping-pong-apart"),
        text,
        OPS,
        (pipe().with_cpus(ALL, first), pipe().with_cpus("ping", first).with_cpus("pong", second)),
    );
    let text =
        "a thread that sleeps and works by turns and one that never sleeps, both on the first CPU; each on its own";
    list.knob(
        ("affinity", "naps-apart"),
        text,
        NAPS_AND_HOGS,
        (by_a_hog().with_cpus(ALL, first), by_a_hog().with_cpus("nap", first).with_cpus("hog", second)),
    );
    let text = "frames through three threads, free; all on the first CPU";
    list.knob(
        ("affinity", "frames-one"),
        text,
        FRAMES,
        (frames(shape), Side::from(frames(shape)).with_cpus(ALL, first)),
    );

    let text = "2 threads a CPU that never sleep; bound to one CPU";
    list.knob(("cpus", "hogs"), text, HALVES_AND_ALL, (two_each(), two_each().bound(first)));
    let text = "hackbench; bound to one CPU";
    list.knob(("cpus", "messaging"), text, TIME, (messages()?, messages()?.bound(first)));
    let text = "schbench with two workers a CPU; bound to one CPU";
    list.knob(("cpus", "requests"), text, REQUESTS, (serving()?, serving()?.bound(first)));
    let text = "bursts of 4 forked children; bound to one CPU";
    list.knob(("cpus", "births"), text, BIRTHS, (bursts()?, bursts()?.bound(first))).long();

    let within = |side: Side, cpus| side.grouped(ALL, &[], Some(cpus));
    let text = "2 threads a CPU that never sleep in a cpuset of all CPUs; of one";
    list.knob(("cpuset", "hogs"), text, HALVES, (within(two_each(), *cpus), within(two_each(), first)));
    let text = "hackbench in a cpuset of all CPUs; of one";
    list.knob(("cpuset", "messaging"), text, TIME, (within(messages()?, *cpus), within(messages()?, first)));
    let text = "a thread that sleeps and works by turns beside one that never sleeps, in a cpuset of two CPUs; of one";
    list.knob(
        ("cpuset", "naps"),
        text,
        NAPS_AND_HOGS,
        (within(by_a_hog(), first.or(&second)), within(by_a_hog(), first)),
    );

    let away = |side: Side| side.on(SystemSetting::Offline(others));
    let text = "2 threads a CPU that never sleep; all CPUs but the first offline";
    list.knob(("cpus-offline", "hogs"), text, HALVES_AND_ALL, (two_each(), away(two_each())));
    let text = "hackbench; all CPUs but the first offline";
    list.knob(("cpus-offline", "messaging"), text, TIME, (messages()?, away(messages()?))).long();
    Ok(())
}

/// Workload choices.
fn choices(list: &mut List, shape: &Shape) -> Result<(), WorkloadError> {
    let n = shape.cpus;
    let pipe = |how: Messages| ping_pong(shape, how);
    let messages = |groups, options: &str| messaging(shape, groups, options);

    let text = "a ping-pong over pipes with messages of 4 bytes; of 4096";
    list.choice(("message-size", "ping-pong"), text, OPS, (pipe(PIPE), pipe(Messages { bytes: 4096, ..PIPE })));
    let text = "hackbench with messages of 100 bytes; of 2000";
    list.choice(("message-size", "messaging"), text, TIME, (messages(1, "")?, messages(1, ",bytes=2000")?));

    let text = "a ping-pong over pipes; over sockets";
    list.choice(("transport", "ping-pong"), text, OPS, (pipe(PIPE), pipe(Messages { sockets: true, ..PIPE })));
    let text = "hackbench over sockets; over pipes";
    list.choice(("transport", "messaging"), text, TIME, (messages(1, "")?, messages(1, ",pipe")?));

    let text = "a ping-pong of processes; of threads";
    list.choice(("threads", "ping-pong"), text, OPS, (pipe(PIPE), pipe(Messages { threads: true, ..PIPE })));
    let text = "hackbench with processes; with threads";
    list.choice(("threads", "messaging"), text, TIME, (messages(1, "")?, messages(1, ",threads")?));
    let text = "bursts of 4 forked children; of 4 threads";
    list.choice(("threads", "births"), text, BIRTHS, (births(shape, 4, "")?, births(shape, 4, ",threads")?));

    let text = "hackbench with 1 group; with 2";
    list.choice(("groups", "messaging-2"), text, TIME, (messages(1, "")?, messages(2, "")?));
    let text = "hackbench with 1 group; with 3";
    list.choice(("groups", "messaging-3"), text, TIME, (messages(1, "")?, messages(3, "")?)).long();

    let text = "one ping-pong over pipes; one more pair than there are CPUs";
    list.choice(("pairs", "ping-pong"), text, OPS, (pipe(PIPE), pipe(Messages { pairs: n + 1, ..PIPE })));

    let text = "2 threads a CPU that never sleep; 3";
    list.choice(("tasks", "hogs"), text, HALVES, (hogs(shape, 2 * n, 0), hogs(shape, 3 * n, 0)));
    let text = "one thread that sleeps and works by turns; 3 a CPU";
    list.choice(("tasks", "naps"), text, NAPS, (naps(shape, NAP), naps(shape, Naps { nappers: 3 * n, ..NAP })));
    let text = "schbench with 1 worker a CPU; with 3";
    list.choice(("tasks", "requests"), text, REQUESTS, (requests(shape, n, 300)?, requests(shape, 3 * n, 300)?));
    let text = "bursts of 2 forked children; of 6";
    list.choice(("tasks", "births"), text, BIRTHS, (births(shape, 2, "")?, births(shape, 6, "")?)).long();

    let working = |kib| pipe(Messages { work: (kib, 20), ..PIPE });
    let text = "a ping-pong that works 20 us between messages, on 8 KiB; on 256 KiB";
    list.choice(("footprint", "ping-pong"), text, OPS, (working(8), working(256)));
    let text = "2 threads a CPU that never sleep, on 8 KiB each; on 512 KiB each";
    list.choice(("footprint", "hogs"), text, HALVES, (hogs(shape, 2 * n, 8), hogs(shape, 2 * n, 512))).long();

    let text = "a thread that sleeps 300 us and works 50 us by turns; that sleeps 3 ms";
    list.choice(("sleep-length", "naps"), text, NAPS, (naps(shape, NAP), naps(shape, Naps { sleep_us: 3000, ..NAP })));
    let beside = |work_us| naps(shape, Naps { hogs: n, work_us, ..NAP });
    let text = "a thread that sleeps 300 us and works 50 us by turns beside threads that never sleep; that works 1 ms";
    list.choice(("work-length", "naps"), text, NAPS_AND_HOGS, (beside(50), beside(1000)));
    let text = "schbench with two workers a CPU that work 300 us; 2 ms";
    let serving = |us| requests(shape, 2 * n, us);
    list.choice(("work-length", "requests"), text, REQUESTS, (serving(300)?, serving(2000)?));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use fairground_machine::Machine;

    use super::*;

    fn on(cpus: u32, seconds: f64) -> Vec<Intervention> {
        let machine = Machine::symmetric(cpus as usize);
        matrix(&Shape { machine: &machine, cpus, seconds }, &CpuMask::first_n(cpus as usize)).unwrap()
    }

    #[test]
    fn there_are_sixty_cells_of_which_thirty_turn_knobs_without_debugfs() {
        let all = on(2, 0.3);
        let plain = |i: &&Intervention| i.base.system.is_empty() && i.test.system.is_empty();
        let cells = |family| -> usize {
            all.iter().filter(plain).filter(|i| i.family == family).map(|i| i.metrics.len()).sum()
        };
        assert!(cells(Family::Knob) >= 30, "{}", cells(Family::Knob));
        assert!(cells(Family::Knob) + cells(Family::Choice) >= 60);
        let names: BTreeSet<&str> = all.iter().map(|i| i.name.as_str()).collect();
        assert_eq!(names.len(), all.len(), "names are unique");
    }

    /// A workload that is invalid would be found only after the rounds were played.
    #[test]
    fn every_side_is_a_workload_that_differs_from_the_other_and_has_its_figures() {
        for cpus in [1, 2, 6] {
            let machine = Machine::symmetric(cpus as usize);
            for i in on(cpus, 0.1) {
                assert_ne!(i.base, i.test, "{}", i.name);
                for side in [&i.base, &i.test] {
                    side.simulated().validate(&machine).unwrap_or_else(|e| panic!("{}: {e}", i.name));
                    let run = fairground_run::metrics::metrics(&side.workload, &machine);
                    for metric in i.metrics {
                        assert!(run.iter().any(|m| m.name == *metric), "{} has no {metric}", i.name);
                    }
                }
            }
        }
    }

    /// A process moves into a cgroup as a whole.
    #[test]
    fn threads_of_a_process_are_of_one_group() {
        for i in on(3, 0.1) {
            for side in [&i.base.workload, &i.test.workload] {
                for a in &side.start {
                    let group = |start: &fairground_workload::Start| side.tasks[start.spec as usize].group;
                    let same = side.start.iter().filter(|b| b.process == a.process);
                    assert!(same.into_iter().all(|b| group(b) == group(a)), "{}", i.name);
                }
            }
        }
    }

    /// Recorded: a knob that moved to the other half would be judged by what was learned from it.
    #[test]
    fn halves_are_stable() {
        let all = on(2, 0.3);
        let learned = |family| {
            let of = all.iter().filter(move |i| i.family == family);
            let mut knobs: Vec<&str> = of.filter(|i| i.half() == Half::Learn).map(|i| i.knob).collect();
            knobs.dedup();
            knobs.join(" ")
        };
        assert_eq!(
            learned(Family::Knob),
            "nice-all batch slice fifo cgroup-weight cgroup-quota autogroup base-slice preemption wakeup-preemption affinity \
             cpuset"
        );
        assert_eq!(learned(Family::Choice), "message-size transport");
    }
}
