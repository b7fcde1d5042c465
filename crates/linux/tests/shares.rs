//! Task groups with weights in a kernel that was built from a tree, and in ours of the same release: what part of the CPU
//! time each group gets, after the first second. FAIRGROUND_LIBKSCHED names the kernel; without it there is nothing to test.

#[path = "support/machines.rs"]
mod machines;
mod support;

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;

use fairground_fair::ffi::{FG_GROUP_SHARES, FG_REWEIGHT};
use fairground_fair::{Fair, Features, Options};
use fairground_linux::conformance::preset_for;
use fairground_linux::{die, Kernel, Linux};
use fairground_machine::Machine;
use fairground_sim::{Config, Engine, Event, EventKind, Observer, Scheduler, TaskId};
use fairground_workload::rtapp::{import, Dialect};
use fairground_workload::Workload;
use machines::server;
use support::alone;

const SECOND: u64 = 1_000_000_000;

/// Thousandths of the CPU time that ours may be apart from the kernel's.
const APART: u64 = 3;

/// Threads of a group that never sleep, or that do so often and for as long as they ran. They begin on one CPU each in turn
/// and wait until nothing is left of the first loads: a group made at time 0, when no queue has a past, is counted twice by
/// the kernel with its first task.
fn threads(name: &str, group: &str, n: u32, sleep: bool, cpus: u32) -> String {
    let all: Vec<String> = (0..cpus).map(|cpu| cpu.to_string()).collect();
    let sleep = if sleep { ", \"sleep\": 3000" } else { "" };
    let thread = |i: u32| {
        format!(
            "\"{name}{i}\": {{ \"taskgroup\": \"/{group}\", \"phases\": {{ \
             \"first\": {{ \"cpus\": [{}], \"run\": 100, \"sleep\": 500000 }}, \
             \"then\": {{ \"cpus\": [{}], \"loop\": -1, \"run\": 3000{sleep} }} }} }}",
            i % cpus,
            all.join(", ")
        )
    };
    (0..n).map(thread).collect::<Vec<_>>().join(", ")
}

/// Groups of weight 100 and 300. The first `light` tasks are those of the lighter one.
fn workload(tasks: &[String], machine: &Machine) -> Workload {
    let text = format!(
        "{{ \"tasks\": {{ {} }}, \"cgroups\": {{ \"/light\": {{ \"cpu.weight\": 100 }}, \"/heavy\": {{ \"cpu.weight\": 300 }} }}, \
         \"global\": {{ \"duration\": 6, \"calibration\": 1000 }} }}",
        tasks.join(", ")
    );
    import("f.json", text.as_bytes(), &Dialect::default(), machine).unwrap().0
}

/// CPU time of the first tasks and of all, ns.
struct Times {
    light: TaskId,
    since: Vec<Option<(TaskId, u64)>>,
    had: u64,
    all: u64,
}

impl Times {
    fn switch(&mut self, cpu: usize, next: Option<TaskId>, now: u64) {
        let now = now.max(SECOND);
        if let Some((task, since)) = std::mem::replace(&mut self.since[cpu], next.map(|next| (next, now))) {
            self.all += now - since;
            self.had += if task < self.light { now - since } else { 0 };
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

/// The lighter group's part of the CPU time, in thousandths.
fn part(sched: Box<dyn Scheduler>, hz: u32, m: &Machine, w: &Workload, light: u32) -> u64 {
    let config = Config { hz, max_time_ns: 30 * SECOND, audit_every_ns: 10_000_000, ..Config::default() };
    let mut times = Times { light, since: vec![None; m.cpus.len()], had: 0, all: 0 };
    let mut engine = Engine::new(Arc::new(m.clone()), Arc::new(w.clone()), sched, config);
    let end = engine.run(&mut [&mut times]).unwrap().end;
    (0..m.cpus.len()).for_each(|cpu| times.switch(cpu, None, end));
    times.had * 1000 / times.all
}

/// Thousandths that the lighter group is to have.
struct Expected {
    /// Where a group has its shares once, wherever it runs (up to v7.2).
    once: RangeInclusive<u64>,
    /// There, where a group whose weight changes is placed anew (v6.13 to v7.0).
    placed: RangeInclusive<u64>,
    /// Where it has them for each of its tasks that may run at once (v7.3).
    each: RangeInclusive<u64>,
}

/// The same for both.
fn always(range: RangeInclusive<u64>) -> Expected {
    Expected::new(range.clone(), range)
}

impl Expected {
    /// That a group is placed anew makes no difference.
    fn new(once: RangeInclusive<u64>, each: RangeInclusive<u64>) -> Expected {
        Expected { placed: once.clone(), once, each }
    }

    fn by(&self, features: &Features) -> &RangeInclusive<u64> {
        let is_placed = ["place", "place-self-out"].iter().any(|how| features.is(FG_REWEIGHT, how));
        if features.on(FG_GROUP_SHARES) {
            &self.each
        } else if is_placed {
            &self.placed
        } else {
            &self.once
        }
    }
}

/// A workload that is to give the lighter group so many thousandths in both; `light` of its threads are of that group.
fn shares(test: &str, cpus: u32, light: u32, tasks: &[String], expected: &Expected) {
    let Some(library) = std::env::var_os("FAIRGROUND_LIBKSCHED").map(PathBuf::from) else { return };
    alone(test, || {
        let kernel = Kernel::load(&library).unwrap();
        let (hz, release) = (kernel.hz(), kernel.release());
        let m = server(cpus, 1, 0, 1);
        let w = workload(tasks, &m);
        let features = preset_for(&release).unwrap();
        let expected = expected.by(&features);
        let fair = Fair::new(Arc::new(m.clone()), features, Options::default()).unwrap();
        let ours = part(Box::new(fair), hz, &m, &w, light);
        let theirs = part(Box::new(Linux::new(kernel, die).unwrap()), hz, &m, &w, light);
        println!("\n= {test}: {release} {theirs}, ours {ours} of 1000");
        assert!(expected.contains(&theirs), "{release}: {theirs} of 1000");
        assert!(ours.abs_diff(theirs) <= APART, "{release}: {theirs} of 1000, ours: {ours}");
    });
}

#[test]
fn on_one_cpu_three_light_threads_have_a_third_of_a_heavy_one() {
    let tasks = [threads("light", "light", 3, false, 1), threads("heavy", "heavy", 1, false, 1)];
    shares("on_one_cpu_three_light_threads_have_a_third_of_a_heavy_one", 1, 3, &tasks, &always(245..=255));
}

#[test]
fn on_one_cpu_a_light_thread_has_a_third_of_three_heavy_ones() {
    let tasks = [threads("light", "light", 1, false, 1), threads("heavy", "heavy", 3, false, 1)];
    shares("on_one_cpu_a_light_thread_has_a_third_of_three_heavy_ones", 1, 1, &tasks, &always(245..=255));
}

/// Threads that sleep leave their part to others of their group, as long as one of them has work.
#[test]
fn on_one_cpu_sleepers_among_the_light_ones() {
    let (hogs, sleepers) = (threads("light", "light", 1, false, 1), threads("sleeper", "light", 2, true, 1));
    let tasks = [hogs, sleepers, threads("heavy", "heavy", 2, false, 1)];
    shares("on_one_cpu_sleepers_among_the_light_ones", 1, 3, &tasks, &always(245..=255));
}

#[test]
fn on_four_cpus_twelve_light_threads_have_a_third_of_four_heavy_ones() {
    let tasks = [threads("light", "light", 12, false, 4), threads("heavy", "heavy", 4, false, 4)];
    shares(
        "on_four_cpus_twelve_light_threads_have_a_third_of_four_heavy_ones",
        4,
        12,
        &tasks,
        &Expected::new(240..=260, 295..=320),
    );
}

/// Two heavy threads for each light one: CPUs with a heavy one alone are where the light group has nothing.
#[test]
fn on_four_cpus_four_light_threads_beside_eight_heavy_ones() {
    let tasks = [threads("light", "light", 4, false, 4), threads("heavy", "heavy", 8, false, 4)];
    let expected = Expected::new(220..=260, 185..=215);
    shares("on_four_cpus_four_light_threads_beside_eight_heavy_ones", 4, 4, &tasks, &expected);
}

/// What wakes on a CPU counts there at once, and elsewhere only as its average grows: such a group gets a little more. From v6.13
/// to v7.0 it gets much more: there reweight_entity() inflates the lag of a current group as if that had just joined its queue,
/// at each change of its weight. A 6.18.15 that leaves the current group where it is gives 242.
#[test]
fn on_four_cpus_sleepers_among_the_heavy_ones() {
    let (hogs, sleepers) = (threads("heavy", "heavy", 4, false, 4), threads("sleeper", "heavy", 6, true, 4));
    let tasks = [threads("light", "light", 8, false, 4), hogs, sleepers];
    shares(
        "on_four_cpus_sleepers_among_the_heavy_ones",
        4,
        8,
        &tasks,
        &Expected { placed: 165..=185, ..Expected::new(225..=250, 245..=275) },
    );
}

/// A quarter of the heavy group's shares is where all of the light one's are: 100 to 75 on one CPU of four.
#[test]
fn on_four_cpus_shares_are_where_the_load_of_a_group_is() {
    let pinned = |name: String, group: &str, cpu: u32| {
        format!("\"{name}\": {{ \"taskgroup\": \"/{group}\", \"cpus\": [{cpu}], \"loop\": -1, \"run\": 3000 }}")
    };
    let heavy = (0..4).map(|cpu| pinned(format!("heavy{cpu}"), "heavy", cpu));
    let tasks: Vec<String> = [pinned("light".into(), "light", 2)].into_iter().chain(heavy).collect();
    shares("on_four_cpus_shares_are_where_the_load_of_a_group_is", 4, 1, &tasks, &Expected::new(138..=148, 70..=82));
}

/// CPU time of one second, in thousandths of a CPU, that tasks of groups with these files get in both: of the first `light` tasks,
/// and of all.
fn quotas(test: &str, cpus: u32, light: u32, groups: &str, tasks: &[String], expected: [RangeInclusive<u64>; 2]) {
    let Some(library) = std::env::var_os("FAIRGROUND_LIBKSCHED").map(PathBuf::from) else { return };
    alone(test, || {
        let kernel = Kernel::load(&library).unwrap();
        let (hz, release) = (kernel.hz(), kernel.release());
        let m = server(cpus, 1, 0, 1);
        let text = format!(
            "{{ \"tasks\": {{ {} }}, \"cgroups\": {{ {groups} }}, \"global\": {{ \"duration\": 6, \"calibration\": 1000 }} }}",
            tasks.join(", ")
        );
        let w = import("f.json", text.as_bytes(), &Dialect::default(), &m).unwrap().0;
        let fair = Fair::new(Arc::new(m.clone()), preset_for(&release).unwrap(), Options::default()).unwrap();
        let ours = times(Box::new(fair), hz, &m, &w, light);
        let theirs = times(Box::new(Linux::new(kernel, die).unwrap()), hz, &m, &w, light);
        println!("\n= {test}: {release} {theirs:?}, ours {ours:?}");
        for ((theirs, ours), expected) in theirs.iter().zip(ours).zip(expected) {
            assert!(expected.contains(theirs), "{release}: {theirs} of 1000");
            assert!(ours.abs_diff(*theirs) <= QUOTA_APART, "{release}: {theirs} of 1000, ours: {ours}");
        }
    });
}

/// Thousandths of a CPU: periods begin at random times, and a window has up to one more at each end.
const QUOTA_APART: u64 = 12;

fn times(sched: Box<dyn Scheduler>, hz: u32, m: &Machine, w: &Workload, light: u32) -> [u64; 2] {
    let config = Config { hz, max_time_ns: 30 * SECOND, audit_every_ns: 10_000_000, ..Config::default() };
    let mut times = Times { light, since: vec![None; m.cpus.len()], had: 0, all: 0 };
    let mut engine = Engine::new(Arc::new(m.clone()), Arc::new(w.clone()), sched, config);
    let end = engine.run(&mut [&mut times]).unwrap().end;
    (0..m.cpus.len()).for_each(|cpu| times.switch(cpu, None, end));
    [times.had, times.all].map(|had| had * 1000 / (end - SECOND))
}

fn hog(name: &str, group: &str, cpu: u32) -> String {
    format!("\"{name}\": {{ \"taskgroup\": \"{group}\", \"cpus\": [{cpu}], \"loop\": -1, \"run\": 3000 }}")
}

const HALF: &str = "\"/half\": { \"cpu.max\": \"50000 100000\" }";

#[test]
fn two_hogs_of_a_group_with_half_a_cpu_get_half_of_it() {
    let tasks = [hog("a", "/half", 0), hog("b", "/half", 0)];
    let test = "two_hogs_of_a_group_with_half_a_cpu_get_half_of_it";
    quotas(test, 1, 1, HALF, &tasks, [240..=260, 490..=510]);
}

#[test]
fn half_a_cpu_on_four_cpus_is_half_a_cpu() {
    let tasks: Vec<String> = (0..4).map(|cpu| hog(&format!("t{cpu}"), "/half", cpu)).collect();
    quotas("half_a_cpu_on_four_cpus_is_half_a_cpu", 4, 4, HALF, &tasks, [490..=512, 490..=512]);
}

#[test]
fn a_quota_within_a_quota() {
    let groups = "\"/o\": { \"cpu.max\": \"60000 100000\" }, \"/o/i\": { \"cpu.max\": \"10000 100000\" }";
    let tasks = [hog("inner", "/o/i", 0), hog("outer", "/o", 0)];
    quotas("a_quota_within_a_quota", 1, 1, groups, &tasks, [90..=108, 590..=612]);
}

#[test]
fn a_burst_is_used_once_it_was_saved() {
    let groups = "\"/b\": { \"cpu.max\": \"20000 100000\", \"cpu.max.burst\": 20000 }";
    let task = "\"t\": { \"taskgroup\": \"/b\", \"cpus\": [0], \"loop\": -1, \"run\": 50000, \"sleep\": 350000 }";
    quotas("a_burst_is_used_once_it_was_saved", 1, 1, groups, &[task.into()], [115..=133, 115..=133]);
}
