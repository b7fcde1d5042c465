//! Groups with a quota of CPU time (`cpu.max`, placement-new.md 3.4): what they get of it.

use std::sync::Arc;

use fairground_fair::{Fair, Features, Options};
use fairground_machine::Machine;
use fairground_sim::{Config, Engine, Event, EventKind, Observer, TaskId};
use fairground_workload::rtapp::{import, Dialect};

const SECOND: u64 = 1_000_000_000;

/// CPU time of each task after the first second, ns: by then the periods are whole.
#[derive(Default)]
struct Times {
    since: Vec<Option<(TaskId, u64)>>,
    had: Vec<u64>,
}

impl Times {
    fn switch(&mut self, cpu: usize, next: Option<TaskId>, now: u64) {
        let now = now.max(SECOND);
        self.since.resize(self.since.len().max(cpu + 1), None);
        if let Some((task, since)) = std::mem::replace(&mut self.since[cpu], next.map(|next| (next, now))) {
            self.had.resize(self.had.len().max(task as usize + 1), 0);
            self.had[task as usize] += now - since;
        }
    }
}

impl Observer for Times {
    fn event(&mut self, event: &Event) {
        if let EventKind::Switch { next, .. } = event.kind {
            self.switch(event.cpu as usize, next, event.time);
        }
    }
}

/// What each task of an rt-app file has of a CPU, in thousandths, on four CPUs behind one cache. The books are audited on the
/// way.
fn shares(scheduler: &str, groups: &str, tasks: &str) -> Vec<u64> {
    let machine = Arc::new(Machine::symmetric(4));
    let text = format!(
        "{{ \"tasks\": {{ {tasks} }}, \"cgroups\": {{ {groups} }}, \"global\": {{ \"duration\": 3, \"calibration\": 1000 }} }}"
    );
    let workload = import("f.json", text.as_bytes(), &Dialect::default(), &machine).unwrap().0;
    let fair = Fair::new(Arc::clone(&machine), Features::parse(scheduler).unwrap(), Options::default()).unwrap();
    let config = Config { audit_every_ns: 100_000, max_time_ns: 10 * SECOND, ..Config::default() };
    let mut times = Times::default();
    let mut engine = Engine::new(machine, Arc::new(workload), Box::new(fair), config);
    let end = engine.run(&mut [&mut times]).unwrap().end;
    (0..times.since.len()).for_each(|cpu| times.switch(cpu, None, end));
    times.had.iter().map(|had| had * 1000 / (end - SECOND)).collect()
}

/// A thread that never sleeps.
fn hog(name: &str, group: &str, cpu: u32) -> String {
    format!("\"{name}\": {{ \"taskgroup\": \"{group}\", \"cpus\": [{cpu}], \"loop\": -1, \"run\": 3000 }}")
}

fn hogs(group: &str, cpus: &[u32]) -> String {
    let hogs = cpus.iter().enumerate().map(|(i, cpu)| hog(&format!("t{i}"), group, *cpu));
    hogs.collect::<Vec<_>>().join(", ")
}

/// CFS, EEVDF before and after delayed dequeue; tasks that leave by themselves after a pick, after a charge, and in one queue.
const PRESETS: [&str; 6] = ["v5.4", "v6.6", "debian-6.12.117", "v6.18", "v7.2", "debian-7.3.4"];

const HALF: &str = "\"/half\": { \"cpu.max\": \"50000 100000\" }";

#[test]
fn a_group_with_half_a_cpu_gets_half_of_it_however_many_want_it() {
    for preset in PRESETS {
        for nr in 1..=3 {
            let had = shares(preset, HALF, &hogs("/half", &vec![0; nr]));
            assert!((494..=506).contains(&had.iter().sum::<u64>()), "{preset}: {had:?}");
            assert!(had.iter().all(|part| part.abs_diff(500 / nr as u64) <= 12), "{preset}: {had:?}");
        }
    }
}

/// Each queue charges its slice when that is used up, so a period may end with up to a tick more on each CPU, which the
/// next one pays.
#[test]
fn a_quota_is_divided_over_the_cpus_that_want_it() {
    for preset in PRESETS {
        let had = shares(preset, HALF, &hogs("/half", &[0, 1, 2, 3]));
        assert!((490..=510).contains(&had.iter().sum::<u64>()), "{preset}: {had:?}");
        assert!(had.iter().all(|part| *part > 60), "{preset}: {had:?}");
    }
}

#[test]
fn others_have_what_a_group_may_not_use() {
    let tasks = format!("{}, {}", hog("t", "/fifth", 0), "\"other\": { \"cpus\": [0], \"loop\": -1, \"run\": 3000 }");
    for preset in PRESETS {
        let had = shares(preset, "\"/fifth\": { \"cpu.max\": \"20000 100000\" }", &tasks);
        assert!((194..=206).contains(&had[0]) && (790..=806).contains(&had[1]), "{preset}: {had:?}");
    }
}

/// 10 of each 50 ms within 60 of each 100.
#[test]
fn a_quota_within_a_quota_counts_in_both() {
    let groups = "\"/o\": { \"cpu.max\": \"60000 100000\" }, \"/o/i\": { \"cpu.max\": \"10000\" }, \
                  \"/o/i/p\": { \"cpu.max\": \"10000 50000\" }";
    let tasks = format!("{}, {}", hog("inner", "/o/i/p", 0), hog("outer", "/o", 0));
    for preset in PRESETS {
        let had = shares(preset, groups, &tasks);
        assert!((590..=610).contains(&had.iter().sum::<u64>()), "{preset}: {had:?}");
        assert!((90..=106).contains(&had[0]), "{preset}: {had:?}");
    }
}

/// 50 ms of work, 350 ms of sleep, and a quota of 20 ms in 100 ms. The work ends 10 ms after the timer and begins 60 ms after it.
/// With what the sleep left it has 40 ms until the next period and the rest in that: each 400 ms. Else it takes another period.
#[test]
fn a_burst_lets_work_be_done_at_once() {
    let task = "\"t\": { \"taskgroup\": \"/b\", \"cpus\": [0], \"loop\": -1, \"run\": 50000, \"sleep\": 350000 }";
    for preset in PRESETS {
        let with = |burst: &str| shares(preset, &format!("\"/b\": {{ \"cpu.max\": \"20000\"{burst} }}"), task)[0];
        let had = [with(", \"cpu.max.burst\": 20000"), with("")];
        assert!((117..=133).contains(&had[0]) && (90..=109).contains(&had[1]), "{preset}: {had:?}");
    }
}

/// Tasks that sleep, wake, are born and are moved while their groups are throttled, with the books audited.
#[test]
fn sleepers_of_throttled_groups_come_and_go() {
    let sleeper = |i: u32| {
        let group = ["/a", "/a/b", "/c"][i as usize % 3];
        let policy = if i % 5 == 0 { ", \"policy\": \"SCHED_IDLE\"" } else { "" };
        let (run, sleep) = (300 + 130 * u64::from(i), 500 + 60 * u64::from(i));
        format!("\"s{i}\": {{ \"taskgroup\": \"{group}\", \"loop\": -1, \"run\": {run}, \"sleep\": {sleep}{policy} }}")
    };
    let tasks: Vec<String> = (0..12).map(sleeper).collect();
    let groups = "\"/a\": { \"cpu.max\": \"60000 50000\" }, \"/a/b\": { \"cpu.max\": \"20000 100000\" }, \
                  \"/c\": { \"cpu.max\": \"60000 30000\", \"cpu.max.burst\": 20000 }";
    for preset in PRESETS {
        let had = shares(preset, groups, &tasks.join(", "));
        let of = |rest: usize| had.iter().skip(rest).step_by(3).sum::<u64>();
        assert!(of(1) <= 210 && of(0) + of(1) <= 1220 && of(2) <= 2020, "{preset}: {had:?}");
        assert!(of(1) >= 180, "{preset}: {had:?}");
    }
}
