//! Task groups that share CPUs by weight, against what cpu.weight promises: a group's part of the CPU time is its weight,
//! however many threads it has.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairground_fair::{Fair, Features, Options};
use fairground_machine::{CpuId, Machine};
use fairground_sim::{Config, Engine, Event, EventKind, Observer, SimError, TaskId};
use fairground_workload::rtapp::{import, Dialect};
use fairground_workload::Workload;

const SECOND: u64 = 1_000_000_000;

/// One preset of each form of the run queue, and what stable trees changed.
const PRESETS: &[&str] = &["v5.4", "v5.9", "v5.16", "debian-6.1.192", "v6.7", "v6.12", "debian-6.12.117"];

fn read(tasks: &str, cgroups: &str, machine: &Machine) -> Workload {
    let text = format!(
        "{{ \"tasks\": {{ {tasks} }}, \"cgroups\": {{ {cgroups} }}, \"global\": {{ \"duration\": 6, \"calibration\": 1000 }} }}"
    );
    import("f.json", text.as_bytes(), &Dialect::default(), machine).unwrap().0
}

/// `n` threads of a group that never sleep.
fn hogs(name: &str, n: u32, more: &str) -> String {
    format!("\"{name}\": {{ \"instance\": {n}, \"taskgroup\": \"/{name}\", {more} \"loop\": -1, \"run\": 10000 }}")
}

/// CPU time of each thread after the first second, ns.
#[derive(Default)]
struct Times {
    since: BTreeMap<CpuId, (TaskId, u64)>,
    had: BTreeMap<TaskId, u64>,
}

impl Observer for Times {
    fn event(&mut self, event: &Event) {
        let EventKind::Switch { next, .. } = event.kind else { return };
        if let Some((task, since)) = self.since.remove(&event.cpu) {
            *self.had.entry(task).or_default() += event.time.max(SECOND) - since;
        }
        if let Some(next) = next {
            self.since.insert(event.cpu, (next, event.time.max(SECOND)));
        }
    }
}

fn run(machine: &Machine, workload: &Workload, scheduler: &str) -> Result<BTreeMap<TaskId, u64>, SimError> {
    let machine = Arc::new(machine.clone());
    let fair = Fair::new(Arc::clone(&machine), Features::parse(scheduler).unwrap(), Options::default()).unwrap();
    let config = Config { audit_every_ns: 100_000, max_time_ns: 20 * SECOND, ..Config::default() };
    let mut times = Times::default();
    let mut engine = Engine::new(machine, Arc::new(workload.clone()), Box::new(fair), config);
    engine.run(&mut [&mut times])?;
    Ok(times.had)
}

/// The part of the CPU time that tasks `from..to` had, of that of all, in thousandths.
fn part(times: &BTreeMap<TaskId, u64>, tasks: std::ops::Range<TaskId>) -> u64 {
    let all: u64 = times.values().sum();
    times.range(tasks).map(|(_, ns)| ns).sum::<u64>() * 1000 / all
}

/// A quarter and three quarters, whoever has more threads.
#[test]
fn groups_share_one_cpu_by_weight() {
    let machine = Machine::symmetric(1);
    let cgroups = "\"/light\": { \"cpu.weight\": 100 }, \"/heavy\": { \"cpu.weight\": 300 }";
    for preset in PRESETS {
        for (light, heavy) in [(3, 1), (1, 3), (5, 2)] {
            let tasks = [hogs("light", light, ""), hogs("heavy", heavy, "")].join(", ");
            let times = run(&machine, &read(&tasks, cgroups, &machine), preset).unwrap();
            let had = part(&times, 0..light);
            assert!((240..=260).contains(&had), "{preset}: {light} of weight 100 beside {heavy} of 300 had {had} of 1000");
        }
    }
}
