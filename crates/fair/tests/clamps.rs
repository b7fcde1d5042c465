//! Utilization clamps: requests, task groups, limits of the system, and tracepoints.

use std::sync::Arc;

use fairground_fair::ffi::{FG_UCLAMP_MAX, FG_UCLAMP_MIN};
use fairground_fair::{Fair, Features, Options};
use fairground_machine::{CpuId, CpuMask, Machine};
use fairground_sim::{
    Change, ClampLimits, Clamps, Config, DecisionKind, Engine, Env, Event, EventKind, HashObserver, Observer, Pick,
    Scheduler, TaskInfo,
};
use fairground_workload::rtapp::{import, Dialect};
use fairground_workload::testing::Random;
use fairground_workload::{Clamp, ClampPercent, GroupClamp, GroupId, Op, Policy, SchedAttr, TaskGroup, Workload};
use proptest::prelude::*;

fn read(text: &str, machine: &Machine) -> Workload {
    import("f.json", text.as_bytes(), &Dialect::default(), machine).unwrap().0
}

fn attr(uclamp_min: u16, uclamp_max: u16) -> SchedAttr {
    SchedAttr { uclamp_min, uclamp_max, ..SchedAttr::default() }
}

fn fair(machine: &Arc<Machine>, scheduler: &str) -> Fair {
    Fair::new(Arc::clone(machine), Features::parse(scheduler).unwrap(), Options::default()).unwrap()
}

const MS: u64 = 1_000_000;

/// One CPU, call by call.
struct Rig {
    fair: Fair,
    env: Env,
    now: u64,
}

impl Rig {
    fn call<R>(&mut self, f: impl FnOnce(&mut Fair, &mut Env) -> R) -> R {
        self.now += MS;
        self.env.begin(self.now, 0);
        let result = f(&mut self.fair, &mut self.env);
        self.env.drain(&mut Vec::new());
        self.env.take_charge(0);
        self.fair.audit(&self.env).unwrap();
        result
    }

    /// With the groups of a file's section, and limits.
    fn new(scheduler: &str, cgroups: &str, clamps: ClampLimits) -> Rig {
        let machine = Arc::new(Machine::symmetric(1));
        let text = format!("{{ \"cgroups\": {{ {cgroups} }}, \"tasks\": {{ \"t\": {{ \"run\": 1 }} }} }}");
        let workload = read(&text, &machine);
        let mut rig = Rig { fair: fair(&machine, scheduler), env: Env::new(machine, 250, 1), now: 0 };
        rig.call(|f, e| f.boot(e, &workload, &Config { clamps, ..Config::default() })).unwrap();
        rig
    }

    /// In the n-th group that the workload makes, or in the root group.
    fn fork(&mut self, id: u32, attr: SchedAttr, group: Option<GroupId>) {
        let info = TaskInfo { group, ..TaskInfo::new(id, attr, CpuMask::single(0)) };
        self.call(|f, e| f.fork(e, 0, None, &info));
    }

    fn change(&mut self, id: u32, attr: SchedAttr) {
        self.call(|f, e| f.change(e, 0, id, &Change::Attr(attr)));
    }

    fn write(&mut self, group: GroupId, clamp: Clamp, percent: &str) {
        let new = GroupClamp { group, clamp, value: ClampPercent::parse(percent).unwrap() };
        self.call(|f, e| f.change_group(e, 0, &new));
    }

    /// The clamps of the run queue.
    fn queue(&self) -> [u32; 2] {
        [FG_UCLAMP_MIN, FG_UCLAMP_MAX].map(|id| self.fair.cpu(0).uclamp[id as usize].value)
    }

    /// The clamps in force for a task.
    fn of(&self, task: u32) -> [u32; 2] {
        let p = self.fair.task(task);
        [p.uclamp_min, p.uclamp_max]
    }
}

/// Tasks join the clamps of the queue with fork, change and sleep; one queued before the first request does with its
/// next enqueue.
#[test]
fn clamps_of_runnable_tasks_are_the_queues() {
    let mut rig = Rig::new("v5.11", "", ClampLimits::default());
    assert_eq!(rig.queue(), [0, 1024]);
    rig.fork(0, attr(0, 1024), None);
    assert_eq!(rig.call(|f, e| f.schedule(e, 0)), Pick::Task(0));
    assert_eq!(rig.fair.sys().uclamp_used, 0);
    rig.fork(1, attr(100, 300), None);
    assert_eq!(rig.queue(), [100, 300]);
    // Queued, then current.
    rig.change(1, attr(500, 700));
    assert_eq!(rig.queue(), [500, 700]);
    rig.change(0, attr(0, 900));
    assert_eq!(rig.queue(), [500, 900]);
    // An RT task counts as well, and goes on counting as a fair one.
    let rt = SchedAttr { policy: Policy::Fifo, rt_priority: 1, ..attr(800, 1024) };
    rig.fork(2, rt, None);
    assert_eq!(rig.queue(), [800, 1024]);
    rig.change(2, attr(750, 1024));
    assert_eq!(rig.queue(), [750, 1024]);
    rig.change(2, attr(0, 1024));
    assert_eq!(rig.queue(), [500, 1024]);
    rig.call(|f, e| f.block(e, 0, 0));
    assert_eq!(rig.queue(), [500, 1024]);
}

/// 25 % of 1024 is 256, 50 % 512, 75 % 768. Task 0 runs, 1 is queued, 2 sleeps, 3 is outside.
#[test]
fn a_groups_clamps_reach_its_tasks_wherever_they_are() {
    let mut rig = Rig::new("v6.12", "\"/apps\": { \"cpu.uclamp.min\": 25 }", ClampLimits::default());
    rig.fork(2, attr(0, 1024), Some(0));
    assert_eq!(rig.call(|f, e| f.schedule(e, 0)), Pick::Task(2));
    rig.fork(0, attr(0, 1024), Some(0));
    rig.call(|f, e| f.block(e, 0, 2));
    assert_eq!(rig.call(|f, e| f.schedule(e, 0)), Pick::Task(0));
    rig.fork(1, attr(300, 1024), Some(0));
    rig.fork(3, attr(0, 700), None);
    assert_eq!([0, 1, 2, 3].map(|t| rig.of(t)), [[256, 1024], [300, 1024], [256, 1024], [0, 700]]);
    assert_eq!(rig.queue(), [300, 1024]);
    rig.write(0, Clamp::Min, "50");
    assert_eq!([0, 1, 2, 3].map(|t| rig.of(t)), [[512, 1024], [512, 1024], [512, 1024], [0, 700]]);
    assert_eq!(rig.queue(), [512, 1024]);
    // The ceiling takes the floor along.
    rig.write(0, Clamp::Max, "25.0");
    assert_eq!([0, 1, 2].map(|t| rig.of(t)), [[256, 256]; 3]);
    assert_eq!(rig.queue(), [256, 700]);
    // A request of the current task within the group's limits.
    rig.write(0, Clamp::Max, "max");
    rig.change(0, attr(600, 700));
    assert_eq!((rig.of(0), rig.queue()), ([600, 700], [600, 1024]));
}

/// The group around it binds a group, whichever is written first, and none of its tasks gets more.
#[test]
fn a_group_lives_within_the_one_around_it() {
    let mut rig = Rig::new("v6.12", "\"/a\": {}, \"/a/b\": { \"cpu.uclamp.min\": 75 }", ClampLimits::default());
    rig.fork(0, attr(0, 1024), Some(1));
    // `/a` has a floor of 0, and so has what is in it.
    assert_eq!(rig.of(0), [0, 1024]);
    rig.write(0, Clamp::Min, "50");
    assert_eq!(rig.of(0), [512, 1024]);
    rig.write(0, Clamp::Min, "max");
    assert_eq!(rig.of(0), [768, 1024]);
    rig.write(0, Clamp::Max, "50");
    assert_eq!(rig.of(0), [512, 512]);
}

/// Up to v5.13 tasks that ask for nothing get the group's floor, and those that ask for more no more.
#[test]
fn before_v5_14_a_floor_was_a_ceiling() {
    let cgroups = "\"/apps\": { \"cpu.uclamp.min\": 25 }";
    for (release, asks_more) in [("v5.11", 256), ("v5.16", 300)] {
        let mut rig = Rig::new(release, cgroups, ClampLimits::default());
        rig.fork(0, attr(0, 1024), Some(0));
        rig.fork(1, attr(300, 1024), Some(0));
        assert_eq!((rig.of(0), rig.of(1)), ([256, 1024], [asks_more, 1024]), "{release}");
    }
}

#[test]
fn limits_of_the_system_bind_tasks_and_groups() {
    let limits = ClampLimits { min: 200, max: 800, min_rt_default: 100 };
    let mut rig = Rig::new("v6.12", "\"/apps\": { \"cpu.uclamp.min\": 50 }", limits);
    rig.fork(0, attr(0, 1024), Some(0));
    rig.fork(1, attr(500, 900), None);
    let rt = SchedAttr { policy: Policy::Fifo, rt_priority: 1, ..attr(0, 1024) };
    rig.fork(2, rt, None);
    assert_eq!([0, 1, 2].map(|t| rig.of(t)), [[200, 800], [200, 800], [100, 800]]);
    // The boost by default goes with the class.
    rig.change(2, attr(0, 1024));
    assert_eq!(rig.of(2), [0, 800]);
}

/// Since v5.9 nothing is counted before the first request; a task queued at that time is counted from its next enqueue.
#[test]
fn clamps_are_counted_once_somebody_asks() {
    for (release, at_first) in [("v5.7", 1), ("v5.9", 0)] {
        let mut rig = Rig::new(release, "\"/apps\": {}", ClampLimits::default());
        rig.fork(0, attr(0, 1024), Some(0));
        assert_eq!(
            (rig.fair.sys().uclamp_used, rig.fair.task(0).uclamp_active),
            (at_first, at_first.into()),
            "{release}"
        );
        rig.write(0, Clamp::Min, "50");
        assert_eq!((rig.fair.sys().uclamp_used, rig.of(0)), (1, [512, 1024]));
        assert_eq!(rig.queue(), [512 * u32::from(at_first), 1024], "{release}");
    }
}

/// The clamps that are reported to an observer, and the CPUs on which tasks of a name were woken.
#[derive(Default)]
struct Seen {
    wants: bool,
    clamps: Vec<(u64, Clamps)>,
    woken: Vec<(u64, CpuId)>,
}

impl Observer for Seen {
    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Clamps(clamps) => self.clamps.push((event.time, clamps)),
            EventKind::Decision(d) if d.kind == DecisionKind::Wake && d.task == 0 => {
                self.woken.push((event.time, d.chosen));
            }
            _ => {}
        }
    }

    fn wants_clamps(&self) -> bool {
        self.wants
    }
}

fn run(machine: &Machine, workload: &Workload, scheduler: &str, wants: bool) -> (Seen, String) {
    let machine = Arc::new(machine.clone());
    let fair = fair(&machine, scheduler);
    let config = Config { audit_every_ns: 100_000, max_time_ns: 20_000_000_000, ..Config::default() };
    let (mut seen, mut hash) = (Seen { wants, ..Seen::default() }, HashObserver::new());
    let mut engine = Engine::new(machine, Arc::new(workload.clone()), Box::new(fair), config);
    engine.run(&mut [&mut seen, &mut hash]).unwrap();
    (seen, hash.hex())
}

/// A small task on the little CPUs, whose group gets a minimum that only big ones fit: 60 % is 614, of 462 and 1024.
fn lifted(floor: &str) -> Workload {
    let text = format!(
        r#"{{ "global": {{ "duration": 1 }}, "cgroups": {{ "/apps": {{}} }}, "tasks": {{
        "small": {{ "taskgroup": "/apps", "phases": {{
            "held": {{ "cpus": [0, 1, 2, 3], "loop": 10, "run": 300, "timer": {{ "ref": "unique", "period": 8000 }} }},
            "free": {{ "loop": -1, "run": 300, "timer": {{ "ref": "unique", "period": 8000 }} }} }} }},
        "boss": {{ "loop": 1, "cpus": [0], "sleep": 500000, "cgroup": {{ "ref": "/apps", "cpu.uclamp.min": {floor} }} }} }} }}"#
    );
    read(&text, &Machine::preset("hikey960").unwrap())
}

#[test]
fn a_floor_moves_wakeups_to_cpus_that_have_it() {
    let machine = Machine::preset("hikey960").unwrap();
    for (scheduler, floor, big) in
        [("v6.3", "60", true), ("v6.3", "40", false), ("v5.11", "60", true), ("v5.11-uclamp-fit", "60", false)]
    {
        let (seen, _) = run(&machine, &lifted(floor), scheduler, false);
        let (before, after): (Vec<_>, Vec<_>) = seen.woken.iter().partition(|(at, _)| *at < 500_000_000);
        assert!(before.len() > 50 && before.iter().all(|(_, cpu)| *cpu < 4), "{scheduler} {floor}: {before:?}");
        // The first wakeup after the change may be under way.
        assert!(
            after.len() > 50 && after[1..].iter().all(|(_, cpu)| (*cpu >= 4) == big),
            "{scheduler} {floor}: {after:?}"
        );
    }
}

/// The task's minimum and that of its queue are reported, each signal at most once in a period of 1024 us. An observer
/// does not change the run.
#[test]
fn clamps_are_told_as_their_signals_are_updated() {
    let machine = Machine::preset("hikey960").unwrap();
    let workload = lifted("60");
    let (silent, hash) = run(&machine, &workload, "v6.3", false);
    let (told, told_hash) = run(&machine, &workload, "v6.3", true);
    assert_eq!((silent.clamps.len(), hash), (0, told_hash));
    assert!(told.clamps.iter().all(|(at, _)| *at >= 500_000_000), "no clamp was requested before");
    let of_small: Vec<&Clamps> = told.clamps.iter().map(|(_, c)| c).filter(|c| c.task == Some(0)).collect();
    assert!(of_small.len() > 50 && of_small.iter().all(|c| (c.min, c.max) == (614, 1024)));
    // Its utilization is far below: what is asked of the CPU is the floor.
    assert!(of_small.iter().all(|c| c.util < 100 && c.clamped == 614));
    for cpu in 0..8 {
        let of_queue = || told.clamps.iter().filter(move |(_, c)| c.task.is_none() && c.cpu == cpu);
        // Two may be near each other, at the end of a period and at the begin of the next. Three lie in three periods.
        let near = of_queue().zip(of_queue().skip(2)).filter(|((a, _), (c, _))| c - a < 1_024_000).count();
        assert_eq!(near, 0, "CPU {cpu}, of {}", of_queue().count());
        assert!(of_queue().all(|(_, c)| [0, 614].contains(&c.min)));
    }
    assert!(told.clamps.iter().any(|(_, c)| c.task.is_none() && c.min == 614));
}

#[test]
fn nothing_is_told_where_nobody_asks_for_a_clamp() {
    let machine = Machine::preset("hikey960").unwrap();
    let (workload, _) = Workload::find("sched-pipe:loops=200", &machine).unwrap();
    for release in ["v5.4", "v5.7", "v6.12"] {
        assert!(run(&machine, &workload, release, true).0.clamps.is_empty(), "{release}");
    }
}

/// A random workload whose threads are in nested groups and write a clamp where they would have yielded or moved.
fn grouped(seed: u64, machine: &Machine) -> Workload {
    let mut random = Random::new(seed);
    let mut workload = random.workload(machine.nr_cpus());
    let group = |path: &str, parent| TaskGroup { path: path.into(), parent, files: Vec::new(), cpus: None };
    workload.groups = vec![group("/a", None), group("/a/b", Some(0)), group("/c", None)];
    for task in &mut workload.tasks {
        task.group = [None, Some(0), Some(1), Some(2)][random.draw_below(4) as usize];
        let mut program = task.program.to_vec();
        let clamp = if random.draw_below(2) == 0 { Clamp::Min } else { Clamp::Max };
        let value = ClampPercent { hundredths: random.draw_below(10_001) as u16 };
        let new = GroupClamp { group: random.draw_below(3) as GroupId, clamp, value };
        if let Some(at) = program.iter().position(|op| matches!(op, Op::Yield | Op::SetAffinity(_))) {
            program[at] = Op::SetGroupClamp(new);
        }
        task.program = program.into();
    }
    workload
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The audit holds each queue's clamps against those of its tasks, every 100 us.
    #[test]
    fn books_hold_while_clamps_change(seed in any::<u64>()) {
        let machine = Machine::preset("hikey960").unwrap();
        let workload = grouped(seed, &machine);
        for scheduler in ["v5.11", "v6.12", "v6.12+uclamp-buckets=20"] {
            prop_assert_eq!(run(&machine, &workload, scheduler, true).1, run(&machine, &workload, scheduler, false).1);
        }
    }
}
