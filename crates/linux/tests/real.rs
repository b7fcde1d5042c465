//! A kernel that was built from a tree, named by `FAIRGROUND_LIBKSCHED`, on machines of several shapes: no warning, no
//! fault, checkers and audit quiet, the same events twice. Without that variable there is nothing to test.

#[path = "support/machines.rs"]
mod machines;
mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use fairground_linux::build::{Kernels, Record};
use fairground_linux::{die, Kernel, Linux};
use fairground_machine::testing::Shape;
use fairground_machine::{CpuId, CpuMask, Machine};
use fairground_sim::{Config, DecisionKind, Engine, Event, EventKind, Governor, HashObserver, Observer};
use fairground_workload::testing::Random;
use fairground_workload::{Amount, Op, Policy, ProgramBuilder, SchedAttr, Start, Workload};
use machines::server;
use support::{alone, in_child};

fn library() -> Option<PathBuf> {
    std::env::var_os("FAIRGROUND_LIBKSCHED").map(PathBuf::from)
}

/// Counts changes of clocks.
#[derive(Default)]
struct Clocks(u32);

impl Observer for Clocks {
    fn event(&mut self, event: &Event) {
        self.0 += u32::from(event.time > 0 && matches!(event.kind, EventKind::Frequency { .. }));
    }
}

/// One run; its hash, and a line on its speed.
fn run(kernel: Kernel, m: Machine, workload: &str, governor: Governor) -> u128 {
    let (w, _) = Workload::find(workload, &m).unwrap();
    let config = Config { hz: kernel.hz(), governor, audit_every_ns: 10_000_000, ..Config::default() };
    let sched = Linux::new(kernel, die).unwrap();
    let (mut hash, mut clocks) = (HashObserver::new(), Clocks::default());
    let mut engine = Engine::new(Arc::new(m), Arc::new(w), Box::new(sched), config);
    let start = Instant::now();
    let outcome = engine.run(&mut [&mut hash, &mut clocks]).unwrap();
    assert_eq!(clocks.0 > 0, governor == Governor::Schedutil, "{} changes of clocks", clocks.0);
    let (simulated, wall) = (outcome.end as f64 / 1e9, start.elapsed().as_secs_f64());
    println!("\n= {workload}: {simulated:.3} s in {wall:.3} s, {:.1} x; {:?}", simulated / wall, outcome.notes);
    assert_eq!(outcome.notes.len(), 1, "{:?}", outcome.notes);
    hash.value()
}

fn quiet(test: &str, m: impl FnOnce() -> Machine, workload: &str, governor: Governor) {
    let Some(library) = library() else { return };
    alone(test, || {
        run(Kernel::load(&library).unwrap(), m(), workload, governor);
    });
}

fn hikey960() -> Machine {
    Machine::find("hikey960").unwrap()
}

#[test]
fn big_little_runs_a_pipe() {
    quiet("big_little_runs_a_pipe", hikey960, "sched-pipe:loops=20000", Governor::Performance);
}

#[test]
fn big_little_runs_periodic_tasks_with_schedutil() {
    let test = "big_little_runs_periodic_tasks_with_schedutil";
    quiet(test, hikey960, "periodic:tasks=12,duty=20,duration=2", Governor::Schedutil);
}

#[test]
fn clustered_nodes_run_a_pipe() {
    quiet("clustered_nodes_run_a_pipe", || server(48, 2, 4, 1), "sched-pipe:loops=20000", Governor::Performance);
}

#[test]
fn clustered_nodes_run_periodic_tasks() {
    let test = "clustered_nodes_run_periodic_tasks";
    quiet(test, || server(48, 2, 4, 1), "periodic:tasks=120,duty=30,duration=2", Governor::Performance);
}

#[test]
fn many_threads_run_beyond_capacity() {
    let test = "many_threads_run_beyond_capacity";
    quiet(test, || server(16, 2, 4, 2), "periodic:tasks=64,duty=40,duration=2", Governor::Performance);
}

#[test]
fn two_hundred_threads_run_periodic_tasks() {
    let test = "two_hundred_threads_run_periodic_tasks";
    quiet(test, || server(224, 2, 0, 2), "periodic:tasks=600,duty=15,duration=1", Governor::Performance);
}

#[test]
fn the_bench_of_eight_cpus() {
    let workload = "periodic:tasks=40,periods=5+8+10+16+20+25+40,duty=15,duration=20";
    quiet("the_bench_of_eight_cpus", || Machine::symmetric(8), workload, Governor::Performance);
}

#[test]
fn the_same_run_gives_the_same_events_in_every_process() {
    let Some(library) = library() else { return };
    let hashes = [0, 1].map(|_| {
        in_child("the_same_run_gives_the_same_events_in_every_process", || {
            let kernel = Kernel::load(&library).unwrap();
            let workload = "periodic:tasks=60,duty=30,duration=0.5";
            let hash = run(kernel, server(48, 2, 4, 1), workload, Governor::Performance);
            println!("\nhash {hash:032x}");
        })
    });
    let [Some(a), Some(b)] = hashes else { return };
    let text = |o: &std::process::Output| String::from_utf8_lossy(&o.stdout).into_owned();
    let line = |o| text(o).lines().find(|l| l.starts_with("hash ")).map(String::from);
    assert!(line(&a).is_some() && line(&a) == line(&b), "{} {}", text(&a), text(&b));
}

/// Random programs (pipes, locks, forks, exec, affinity, attributes), some threads of them real-time, on random machines
/// of every shape. `FAIRGROUND_RANDOM_RUNS` says how many, of them `FAIRGROUND_RANDOM_FIRST` the first.
#[test]
fn random_workloads_run_on_random_machines() {
    let test = "random_workloads_run_on_random_machines";
    let Some(library) = library() else { return };
    if let Some(seed) = number("FAIRGROUND_RANDOM_SEED") {
        let kernel = Kernel::load(&library).unwrap();
        let m = Shape::from_seed(seed).build();
        let w = random_workload(seed, m.nr_cpus());
        // Of larger ones Linux 6.1 warns that their energy model is too complex.
        let small = m.nr_cpus() <= 16;
        let governor = if small && seed % 3 == 0 { Governor::Schedutil } else { Governor::Performance };
        let config = Config { hz: kernel.hz(), governor, seed, audit_every_ns: 1_000_000, ..Config::default() };
        let sched = Linux::new(kernel, die).unwrap();
        Engine::new(Arc::new(m), Arc::new(w), Box::new(sched), config).run(&mut []).unwrap();
        return;
    }
    let first = number("FAIRGROUND_RANDOM_FIRST").unwrap_or(0);
    for seed in first..first + number("FAIRGROUND_RANDOM_RUNS").unwrap_or(20) {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", test, "--nocapture"]).env("FAIRGROUND_RANDOM_SEED", seed.to_string());
        let output = child.output().unwrap();
        assert!(output.status.success(), "seed {seed}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn random_workload(seed: u64, nr_cpus: usize) -> Workload {
    let mut random = Random::new(seed);
    let mut workload = random.workload(nr_cpus);
    for task in &mut workload.tasks {
        if random.draw_below(4) == 0 {
            task.attr = rt_attr(&mut random);
        }
    }
    add_crowd(&mut workload, &mut random);
    workload
}

fn rt_attr(random: &mut Random) -> SchedAttr {
    let policy = [Policy::Fifo, Policy::Rr][random.draw_below(2) as usize];
    SchedAttr { policy, rt_priority: 1 + random.draw_below(3) as u8, ..SchedAttr::default() }
}

/// More threads than CPUs, which compute and sleep, become real-time and fair again, and move about.
fn add_crowd(workload: &mut Workload, random: &mut Random) {
    let mut program = ProgramBuilder::new();
    let (here, there) = (CpuMask::single(0), CpuMask::first_n(64));
    program.repeat(Some(20), |p| {
        p.op(Op::Run(Amount { base: 10_000, jitter: 2_000_000 }));
        p.op(Op::Sleep(Amount { base: 1_000, jitter: 500_000 }));
        p.op(Op::SetAttr(SchedAttr { nice: random.draw_below(40) as i8 - 20, ..SchedAttr::default() }));
        p.op(Op::SetAffinity(here));
        p.op(Op::Run(Amount { base: 10_000, jitter: 100_000 }));
        p.op(Op::SetAffinity(there));
        p.op(Op::Exec);
        p.op(Op::SetAttr(rt_attr(random)));
    });
    let mut task = fairground_sim::testing::spec("crowd", Vec::new());
    task.program = program.build();
    workload.tasks.push(task);
    let count = 1 + random.draw_below(40) as u32;
    workload.start.push(Start { spec: workload.tasks.len() as u32 - 1, count, cpu: 0, process: 0 });
}

/// A group with half a CPU gets half a CPU.
#[test]
fn cpu_max_holds_a_group_back() {
    let Some(library) = library() else { return };
    alone("cpu_max_holds_a_group_back", || {
        let kernel = Kernel::load(&library).unwrap();
        let m = Machine::symmetric(2);
        let file = r#"{ "cgroups": { "/half": { "cpu.max": "50000 100000" } }, "global": { "duration": 2 },
            "tasks": { "hog": { "taskgroup": "/half", "loop": -1, "run": 1000 } } }"#;
        let w = fairground_workload::rtapp::import("f.json", file.as_bytes(), &Default::default(), &m).unwrap().0;
        let config = Config { hz: kernel.hz(), ..Config::default() };
        let sched = Linux::new(kernel, die).unwrap();
        let outcome = Engine::new(Arc::new(m), Arc::new(w), Box::new(sched), config).run(&mut []).unwrap();
        let ran: u64 = (0..2).map(|cpu: CpuId| outcome.totals.time[cpu as usize].task_ns).sum();
        let share = ran as f64 / outcome.end as f64;
        assert!((0.48..0.54).contains(&share), "{share}");
    });
}

/// The record of the build of a library; none: it was not made by `kernel build` in the user's cache.
fn record_of(library: &Path) -> Option<Record> {
    let library = library.canonicalize().ok()?;
    let kernels = Kernels::user().ok()?.list().ok()?;
    let found = kernels.into_iter().flatten().find(|kernel| kernel.library.canonicalize().is_ok_and(|l| l == library));
    Some(found?.record)
}

/// What the switches to a task, and its wakeups, say of when it ran.
#[derive(Default)]
struct Turns {
    /// Of each task: when it was woken and has not run since, ns.
    woken: BTreeMap<u32, u64>,
    /// Of each task: times from a wakeup to the switch to it, ns.
    latencies: BTreeMap<u32, Vec<u64>>,
    /// Of each CPU: the task that runs, and since when, ns.
    runs: BTreeMap<u32, (u32, u64)>,
    /// Of each task: lengths of its turns, ns.
    lengths: BTreeMap<u32, Vec<u64>>,
}

impl Observer for Turns {
    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Waking { task, .. } => drop(self.woken.insert(task, event.time)),
            EventKind::Switch { next, .. } => {
                let cpu = event.cpu;
                if let Some((task, since)) = self.runs.remove(&cpu) {
                    self.lengths.entry(task).or_default().push(event.time - since);
                }
                let Some(next) = next else { return };
                self.runs.insert(cpu, (next, event.time));
                if let Some(woken) = self.woken.remove(&next) {
                    self.latencies.entry(next).or_default().push(event.time - woken);
                }
            }
            _ => {}
        }
    }
}

/// Runs an rt-app file on two CPUs behind one cache.
fn turns(kernel: Kernel, file: &str) -> Turns {
    let m = Machine::symmetric(2);
    let w = fairground_workload::rtapp::import("f.json", file.as_bytes(), &Default::default(), &m).unwrap().0;
    let config = Config { hz: kernel.hz(), ..Config::default() };
    let mut turns = Turns::default();
    let sched = Linux::new(kernel, die).unwrap();
    Engine::new(Arc::new(m), Arc::new(w), Box::new(sched), config).run(&mut [&mut turns]).unwrap();
    turns
}

/// A task on the other CPU wakes one that shares its CPU with a hog, between two ticks. With PREEMPT_LAZY that only sets
/// a flag: no interrupt is sent, and the hog runs until its next tick. With other models it is interrupted at once.
#[test]
fn a_lazy_kernel_preempts_another_cpu_at_its_tick() {
    let Some(library) = library() else { return };
    let Some(record) = record_of(&library) else { return };
    let lazy = record.options.contains_key("CONFIG_PREEMPT_LAZY");
    alone("a_lazy_kernel_preempts_another_cpu_at_its_tick", || {
        let kernel = Kernel::load(&library).unwrap();
        let tick = 1_000_000 / u64::from(kernel.hz());
        // Woken in the middle between two ticks.
        let file = format!(
            r#"{{ "global": {{ "duration": 1 }}, "tasks": {{
                "hog": {{ "cpus": [0], "loop": -1, "run": 100000 }},
                "sleeper": {{ "cpus": [0], "loop": -1, "suspend": "sleeper", "run": 20 }},
                "waker": {{ "cpus": [1], "loop": -1, "phases": {{
                    "first": {{ "loop": 1, "sleep": {half} }},
                    "rest": {{ "loop": 60, "run": 10, "resume": "sleeper", "timer": {{ "ref": "t", "period": {period} }} }} }} }} }} }}"#,
            half = tick / 2,
            period = 4 * tick,
        );
        let turns = turns(kernel, &file);
        let latencies = &turns.latencies[&1];
        let quick = latencies.iter().filter(|latency| **latency < tick * 100).count();
        let longest = *latencies.iter().max().unwrap();
        assert!(latencies.len() > 30, "{latencies:?}");
        match lazy {
            true => assert!(quick == 0 && longest < tick * 1100, "{latencies:?}"),
            false => assert!(quick > latencies.len() / 2, "{latencies:?}"),
        }
    });
}

/// Two hogs of a group share a CPU and the group's quota. Up to v6.17 the group leaves the queue as a whole once that is
/// used up. Later each of its tasks takes itself off by a task_work, as it returns to user mode: one that were not run
/// would keep the CPU.
#[test]
fn a_throttled_group_leaves_with_all_its_tasks() {
    let Some(library) = library() else { return };
    alone("a_throttled_group_leaves_with_all_its_tasks", || {
        let file = r#"{ "cgroups": { "/half": { "cpu.max": "20000 40000" } }, "global": { "duration": 2 }, "tasks": {
            "a": { "taskgroup": "/half", "cpus": [0], "loop": -1, "run": 1000 },
            "b": { "taskgroup": "/half", "cpus": [0], "loop": -1, "run": 1000 } } }"#;
        let turns = turns(Kernel::load(&library).unwrap(), file);
        let shares = [0, 1].map(|task| turns.lengths[&task].iter().sum::<u64>() as f64 / 2e9);
        // A work that is not run, or after whose end its task keeps the CPU, leaves more to them than the quota.
        let sum = shares[0] + shares[1];
        assert!(shares.iter().all(|share| *share > 0.2) && (0.48..0.54).contains(&sum), "{shares:?}");
    });
}

/// The CPUs on which each task runs, and from when to when.
#[derive(Default)]
struct Places {
    since: BTreeMap<CpuId, (u32, u64)>,
    ran: Vec<(u32, CpuId, std::ops::Range<u64>)>,
    /// Wakeups that the kernel chose a CPU for, which it does for tasks with several to choose from, ns.
    chosen: Vec<(u32, u64)>,
}

impl Places {
    /// The run is over.
    fn end(&mut self, at: u64) {
        let open = std::mem::take(&mut self.since).into_iter();
        self.ran.extend(open.map(|(cpu, (task, since))| (task, cpu, since..at)));
    }

    /// CPUs on which `task` ran at some point of a span of time, ms.
    fn within(&self, task: u32, ms: std::ops::Range<u64>) -> CpuMask {
        let meets = |span: &std::ops::Range<u64>| span.start < ms.end * 1_000_000 && ms.start * 1_000_000 < span.end;
        self.ran.iter().filter(|(who, _, span)| *who == task && meets(span)).map(|(_, cpu, _)| *cpu).collect()
    }
}

impl Observer for Places {
    fn event(&mut self, event: &Event) {
        if let EventKind::Decision(d) = event.kind {
            self.chosen.extend((d.kind == DecisionKind::Wake).then_some((d.task, event.time)));
        }
        let EventKind::Switch { next, .. } = event.kind else { return };
        if let Some((task, since)) = self.since.remove(&event.cpu) {
            self.ran.push((task, event.cpu, since..event.time));
        }
        if let Some(next) = next {
            self.since.insert(event.cpu, (next, event.time));
        }
    }
}

/// As `threads_follow_the_cpuset_of_their_group` of `fair:`: a running task is moved by the stopper, a waiting one at
/// once, a sleeping one when it wakes.
#[test]
fn tasks_follow_the_cpuset_of_their_group() {
    let Some(library) = library() else { return };
    alone("tasks_follow_the_cpuset_of_their_group", || {
        let m = Machine::symmetric(4);
        let file = r#"{ "cgroups": { "/a": { "cpu.weight": 100 }, "/a/in": { "cpuset.cpus": "0,2" } },
            "global": { "duration": 1, "calibration": 1000 }, "tasks": {
            "hog": { "instance": 3, "taskgroup": "/a", "loop": -1, "run": 10000 },
            "sleeper": { "taskgroup": "/a/in", "loop": -1, "run": 500, "sleep": 1500 },
            "picky": { "taskgroup": "/a", "cpus": [3], "loop": -1, "run": 500, "sleep": 1500 },
            "manager": { "loop": 1, "sleep": 100000, "cgroup": { "ref": "/a", "cpuset.cpus": "0-1" },
                "sleep": 100000, "cgroup": { "ref": "/a", "cpuset.cpus": "2-3" }, "sleep": 100000 } } }"#;
        let w = fairground_workload::rtapp::import("f.json", file.as_bytes(), &Default::default(), &m).unwrap().0;
        let kernel = Kernel::load(&library).unwrap();
        let config = Config { hz: kernel.hz(), audit_every_ns: 100_000, ..Config::default() };
        let mut places = Places::default();
        let sched = Linux::new(kernel, die).unwrap();
        let mut engine = Engine::new(Arc::new(m), Arc::new(w), Box::new(sched), config);
        let outcome = engine.run(&mut [&mut places]).unwrap();
        places.end(outcome.end);
        // From two ticks after each change on: a stopper may wait for one.
        let seen = |task, ms| places.within(task, ms).to_string();
        assert_eq!([seen(3, 120..200), seen(3, 220..300)], ["0", "2"], "sleeper");
        assert_eq!([seen(4, 20..100), seen(4, 220..300)], ["3", "3"], "picky");
        let within = |task, ms, cpus: &str| {
            let seen = places.within(task, ms);
            !seen.is_empty() && seen.is_subset(&CpuMask::parse_list(cpus).unwrap())
        };
        assert!(within(3, 20..100, "0,2"), "sleeper has its own within its parent's");
        assert!(within(4, 120..200, "0-1"), "picky has what its group has");
        assert!((0..3).all(|hog| within(hog, 120..200, "0-1") && within(hog, 220..300, "2-3")), "hogs");
    });
}

/// Each of 100 running tasks waits for the stopper of its CPU, all at one time.
#[test]
fn a_cpuset_of_many_running_tasks_changes() {
    let Some(library) = library() else { return };
    alone("a_cpuset_of_many_running_tasks_changes", || {
        let m = server(200, 1, 0, 1);
        let file = r#"{ "cgroups": { "/a": { "cpuset.cpus": "0-99" } }, "global": { "duration": 1 }, "tasks": {
            "hog": { "instance": 100, "taskgroup": "/a", "loop": -1, "run": 10000 },
            "manager": { "loop": 1, "sleep": 300000, "cgroup": { "ref": "/a", "cpuset.cpus": "100-199" } } } }"#;
        let w = fairground_workload::rtapp::import("f.json", file.as_bytes(), &Default::default(), &m).unwrap().0;
        let kernel = Kernel::load(&library).unwrap();
        let config = Config { hz: kernel.hz(), audit_every_ns: 1_000_000, ..Config::default() };
        let mut places = Places::default();
        let sched = Linux::new(kernel, die).unwrap();
        let mut engine = Engine::new(Arc::new(m), Arc::new(w), Box::new(sched), config);
        let outcome = engine.run(&mut [&mut places]).unwrap();
        places.end(outcome.end);
        let (before, after) = (CpuMask::parse_list("0-99").unwrap(), CpuMask::parse_list("100-199").unwrap());
        for hog in 0..100 {
            assert!(places.within(hog, 10..290).is_subset(&before), "{hog}");
            let late = places.within(hog, 320..900);
            assert!(!late.is_empty() && late.is_subset(&after), "{hog}: {late}");
        }
        let busy: CpuMask = (0..100).flat_map(|hog| places.within(hog, 200..290).iter().collect::<Vec<_>>()).collect();
        assert!(busy.count() > 64, "running on {busy}");
    });
}

/// Hogs that wait on CPU 3 are pushed away, with a task that is bound to it; its affinity is all CPUs from then on. One that
/// sleeps all the while keeps its own, and one in a cpuset has what is left of that.
#[test]
fn tasks_leave_a_cpu_that_goes_offline_and_use_it_again() {
    let Some(library) = library() else { return };
    let Some(record) = record_of(&library) else { return };
    if record.options.is_empty() || Kernel::load(&library).unwrap().release().starts_with("5.10.") {
        return;
    }
    alone("tasks_leave_a_cpu_that_goes_offline_and_use_it_again", || {
        let m = Machine::symmetric(4);
        let file = r#"{ "offline": [ { "cpus": "3", "from": 200000, "to": 600000 }, { "cpus": "0-1", "from": 700000, "to": 800000 } ],
            "cgroups": { "/a": { "cpu.weight": 100, "cpuset.cpus": "2-3" } },
            "global": { "duration": 1, "calibration": 1000 }, "tasks": {
            "hog": { "instance": 6, "loop": -1, "run": 10000 },
            "bound": { "cpus": [3], "loop": -1, "run": 500, "sleep": 1500 },
            "asleep": { "cpus": [3], "phases": { "a": { "loop": 1, "run": 1000, "sleep": 690000 },
                "b": { "loop": -1, "run": 1000, "sleep": 1000 } } },
            "either": { "cpus": [2, 3], "loop": -1, "run": 500, "sleep": 1500 },
            "rt": { "policy": "SCHED_FIFO", "priority": 5, "loop": -1, "run": 500, "sleep": 3500 },
            "set": { "instance": 2, "taskgroup": "/a", "loop": -1, "run": 3000, "sleep": 1000 } } }"#;
        let w = fairground_workload::rtapp::import("f.json", file.as_bytes(), &Default::default(), &m).unwrap().0;
        let kernel = Kernel::load(&library).unwrap();
        let config = Config { hz: kernel.hz(), audit_every_ns: 100_000, ..Config::default() };
        let mut places = Places::default();
        let sched = Linux::new(kernel, die).unwrap();
        let mut engine = Engine::new(Arc::new(m), Arc::new(w), Box::new(sched), config);
        let outcome = engine.run(&mut [&mut places]).unwrap();
        places.end(outcome.end);
        assert_eq!(outcome.notes.len(), 1, "{:?}", outcome.notes);
        let word = |task, ms| places.within(task, ms).to_string();
        let all = |ms: std::ops::Range<u64>| {
            (0..12)
                .map(|task| places.within(task, ms.clone()))
                .fold(CpuMask::EMPTY, |all, mask| all.or(&mask))
                .to_string()
        };
        assert_eq!(
            [all(20..199), all(202..599), all(650..699), all(702..799), all(850..999)].join(" "),
            "0-3 0-2 0-3 2-3 0-3"
        );
        assert_eq!([word(6, 20..199), word(8, 202..599)], ["3", "2"], "bound, either");
        let chosen = |task, ms: std::ops::Range<u64>| {
            places.chosen.iter().any(|(who, at)| *who == task && ms.contains(&(at / 1_000_000)))
        };
        assert_eq!([chosen(6, 20..199), chosen(6, 620..699)], [false, true], "bound is bound no more");
        assert_eq!([chosen(7, 690..699), chosen(7, 850..999)], [false, false], "asleep");
        assert_eq!(word(7, 750..999), "3", "asleep");
        for set in [10, 11] {
            assert_eq!(word(set, 210..599), "2");
            assert!(places.within(set, 620..999).is_subset(&CpuMask::parse_list("2-3").unwrap()));
        }
    });
}
