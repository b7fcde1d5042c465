//! CPUs that go offline and come back, in each form of the run queue.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairground_fair::ffi::FG_RULE_ONLY_CPU;
use fairground_fair::{Fair, Features, Options};
use fairground_machine::{CpuId, CpuMask, Machine};
use fairground_sim::{
    Config, DecisionKind, Engine, Event, EventKind, HashObserver, MigrateCause, Observer, SimError, TaskId,
};
use fairground_workload::rtapp::{import, Dialect};
use fairground_workload::Workload;

const MS: u64 = 1_000_000;

const PRESETS: &[&str] =
    &["v5.4", "v5.9", "v5.16", "debian-6.1.192", "v6.7", "v6.12", "debian-6.12.117", "v6.18", "v7.1"];

fn read(tasks: &str, offline: &str, more: &str, machine: &Machine) -> Workload {
    let text = format!(
        "{{ \"tasks\": {{ {tasks} }}, \"offline\": {offline}, {more} \"global\": {{ \"duration\": 1, \"calibration\": 1000 }} }}"
    );
    import("f.json", text.as_bytes(), &Dialect::default(), machine).unwrap().0
}

fn run(machine: &Machine, w: &Workload, preset: &str, o: &mut [&mut dyn Observer]) -> Result<u64, SimError> {
    let machine = Arc::new(machine.clone());
    let fair = Fair::new(Arc::clone(&machine), Features::parse(preset).unwrap(), Options::default()).unwrap();
    let config = Config { audit_every_ns: 100_000, ..Config::default() };
    Engine::new(machine, Arc::new(w.clone()), Box::new(fair), config).run(o).map(|outcome| outcome.end)
}

/// Where each thread ran, and from when to when; when CPUs went offline; and what moved threads off them.
#[derive(Default)]
struct Places {
    since: BTreeMap<CpuId, (TaskId, u64)>,
    ran: Vec<(TaskId, CpuId, std::ops::Range<u64>)>,
    online: Vec<(CpuId, bool, u64)>,
    moved: Vec<(CpuId, MigrateCause)>,
    /// Wakeups that had one CPU to choose from, or more.
    woken: Vec<(TaskId, bool, u64)>,
}

impl Places {
    /// CPUs on which `task` ran at some point of a span of time, ms.
    fn within(&self, task: TaskId, ms: std::ops::Range<u64>) -> CpuMask {
        let meets = |span: &std::ops::Range<u64>| span.start < ms.end * MS && ms.start * MS < span.end;
        self.ran.iter().filter(|(who, _, span)| *who == task && meets(span)).map(|(_, cpu, _)| *cpu).collect()
    }

    /// Whether all wakeups of `task` in a span of time, ms, had one CPU to choose from; none: some had, or there was none.
    fn had_one_cpu(&self, task: TaskId, ms: std::ops::Range<u64>) -> Option<bool> {
        let had: Vec<bool> =
            self.woken.iter().filter(|(who, _, at)| *who == task && ms.contains(at)).map(|(_, one, _)| *one).collect();
        had.first().copied().filter(|one| had.iter().all(|other| other == one))
    }

    fn end(&mut self, at: u64) {
        let open = std::mem::take(&mut self.since).into_iter();
        self.ran.extend(open.map(|(cpu, (task, since))| (task, cpu, since..at)));
    }
}

impl Observer for Places {
    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Switch { next, .. } => {
                if let Some((task, since)) = self.since.remove(&event.cpu) {
                    self.ran.push((task, event.cpu, since..event.time));
                }
                if let Some(next) = next {
                    self.since.insert(event.cpu, (next, event.time));
                }
            }
            EventKind::Decision(d) if d.kind == DecisionKind::Wake => {
                self.woken.push((d.task, u32::from(d.rule) == FG_RULE_ONLY_CPU, event.time / MS));
            }
            EventKind::Online(online) => self.online.push((event.cpu, online, event.time / MS)),
            EventKind::Migrate { from, cause, .. } => self.moved.push((from, cause)),
            _ => {}
        }
    }
}

fn places(machine: &Machine, w: &Workload, preset: &str) -> Places {
    let mut places = Places::default();
    let end = run(machine, w, preset, &mut [&mut places]).unwrap();
    places.end(end);
    places
}

const HOGS: &str = "\"hog\": { \"instance\": 6, \"loop\": -1, \"run\": 10000 }, \
    \"bound\": { \"cpus\": [3], \"loop\": -1, \"run\": 500, \"sleep\": 1500 }, \
    \"asleep\": { \"cpus\": [3], \"phases\": { \"a\": { \"loop\": 1, \"run\": 1000, \"sleep\": 690000 }, \
    \"b\": { \"loop\": -1, \"run\": 1000, \"sleep\": 1000 } } }, \
    \"either\": { \"cpus\": [2, 3], \"loop\": -1, \"run\": 500, \"sleep\": 1500 }, \
    \"rt\": { \"policy\": \"SCHED_FIFO\", \"priority\": 5, \"loop\": -1, \"run\": 500, \"sleep\": 3500 }";

/// Hogs that wait on CPU 3 are pushed away, with a thread that is bound to it; its affinity is all CPUs from then on. One
/// that sleeps all the while keeps its own.
#[test]
fn threads_leave_a_cpu_that_goes_offline_and_use_it_again() {
    let machine = Machine::symmetric(4);
    for preset in PRESETS {
        let w = read(HOGS, "[ { \"cpus\": \"3\", \"from\": 200000, \"to\": 600000 } ]", "", &machine);
        let places = places(&machine, &w, preset);
        assert_eq!(places.online, [(3, false, 200), (3, true, 600)], "{preset}");
        let all: Vec<CpuMask> = (0..10).map(|task| places.within(task, 201..599)).collect();
        assert!(all.iter().all(|cpus| !cpus.test(3)), "{preset}: {all:?}");
        let pushed = places.moved.iter().filter(|(from, cause)| (*from, *cause) == (3, MigrateCause::Affinity)).count();
        assert!(pushed > 0, "{preset}");
        let word = |task, ms| places.within(task, ms).to_string();
        assert_eq!([word(6, 10..199), word(8, 201..599)], ["3", "2"], "{preset}");
        let bound = [10..199, 205..599, 605..999].map(|ms| places.had_one_cpu(6, ms));
        assert_eq!(bound, [Some(true), Some(false), Some(false)], "{preset}: bound is bound no more");
        assert_eq!(places.had_one_cpu(7, 690..999), Some(true), "{preset}: asleep");
        let back: CpuMask = (0..6).map(|hog| places.within(hog, 700..999)).fold(CpuMask::EMPTY, |all, m| all.or(&m));
        assert!(back.test(3), "{preset}: hogs on {back}");
    }
}

/// The domains of what is left decide: with two of four CPUs gone, two hogs of equal weight have a CPU each.
#[test]
fn hogs_spread_over_the_cpus_that_are_left() {
    for (machine, offline) in [(Machine::symmetric(4), "0-1"), (Machine::find("hikey960").unwrap(), "0-5")] {
        for preset in PRESETS {
            let tasks = "\"hog\": { \"instance\": 2, \"loop\": -1, \"run\": 10000 }";
            let w = read(tasks, &format!("[ {{ \"cpus\": \"{offline}\", \"from\": 100000 }} ]"), "", &machine);
            let places = places(&machine, &w, preset);
            let left = machine.all_cpus().minus(&CpuMask::parse_list(offline).unwrap());
            let [a, b] = [0, 1].map(|hog| places.within(hog, 900..999));
            assert!(a.or(&b) == left && !a.intersects(&b), "{preset}, {}: {a} {b}", machine.name);
        }
    }
}

#[test]
fn the_same_run_gives_the_same_events() {
    let machine = Machine::find("hikey960").unwrap();
    let spans = "[ { \"cpus\": \"3-4\", \"from\": 200000, \"to\": 600000 }, { \"cpus\": \"0\", \"from\": 300000 } ]";
    let w = read(HOGS, spans, "", &machine);
    for preset in PRESETS {
        let hash = || {
            let mut hash = HashObserver::new();
            run(&machine, &w, preset, &mut [&mut hash]).unwrap();
            hash.value()
        };
        assert_eq!(hash(), hash(), "{preset}");
    }
}

/// Cpusets lose the CPU, and have it again.
#[test]
fn cpusets_follow() {
    let machine = Machine::symmetric(4);
    let tasks = "\"t\": { \"instance\": 3, \"taskgroup\": \"/a\", \"loop\": -1, \"run\": 3000, \"sleep\": 1000 }, \
        \"u\": { \"taskgroup\": \"/b\", \"loop\": -1, \"run\": 500, \"sleep\": 1500 }";
    let more = "\"cgroups\": { \"/a\": { \"cpuset.cpus\": \"2-3\" }, \"/b\": { \"cpuset.cpus\": \"3\" } },";
    let w = read(tasks, "[ { \"cpus\": \"3\", \"from\": 200000, \"to\": 600000 } ]", more, &machine);
    for preset in ["v5.9", "v6.12", "v6.18"] {
        let places = places(&machine, &w, preset);
        for task in 0..3 {
            assert_eq!(places.within(task, 210..590).to_string(), "2", "{preset}");
        }
        let both: CpuMask = (0..3).map(|t| places.within(t, 610..999)).fold(CpuMask::EMPTY, |all, m| all.or(&m));
        assert_eq!(both.to_string(), "2-3", "{preset}");
        // An empty cpuset has its parent's, and its own again.
        assert!(!places.within(3, 210..590).test(3), "{preset}");
        assert_eq!(places.within(3, 610..999).to_string(), "3", "{preset}");
    }
}

#[test]
fn what_is_not_modelled_is_refused_by_name() {
    let machine = Machine::symmetric(4);
    let tasks = "\"t\": { \"taskgroup\": \"/a\", \"loop\": -1, \"run\": 1000 }";
    let offline = "[ { \"cpus\": \"3\", \"from\": 200000 } ]";
    let weighed = read(tasks, offline, "\"cgroups\": { \"/a\": { \"cpu.weight\": 100 } },", &machine);
    let error = run(&machine, &weighed, "v6.12", &mut []).unwrap_err().to_string();
    assert!(error.contains("CPUs go offline") && error.contains("weights"), "{error}");
    let plain = read("\"t\": { \"loop\": -1, \"run\": 1000 }", offline, "", &machine);
    let machine = Arc::new(machine);
    let options = Options { partitions: vec![CpuMask::first_n(2)], ..Options::default() };
    let fair = Fair::new(Arc::clone(&machine), Features::parse("v6.12").unwrap(), options).unwrap();
    let mut engine = Engine::new(machine, Arc::new(plain), Box::new(fair), Config::default());
    let error = engine.run(&mut []).unwrap_err().to_string();
    assert!(error.contains("partitions"), "{error}");
}
