//! Whole runs: the engine, its checkers and our audit as the judges, and the claims of mail 000.

use std::sync::Arc;

use fairground_fair::{features, Fair, Features, Options, PRESETS};
use fairground_machine::testing::Shape;
use fairground_machine::{CpuMask, Machine};
use fairground_sim::{
    Config, Decision, DecisionKind, Engine, Event, EventKind, HashObserver, MetricsObserver, Observer, Reason,
    RunMetrics, SimError, NO_RULE,
};
use fairground_workload::testing::Random;
use fairground_workload::{Amount, Op, Policy, ProgramBuilder, SchedAttr, Start, TaskGroup, Workload};
use proptest::prelude::*;

/// Decisions in order, without their rules.
#[derive(Default)]
struct Decisions(Vec<(u64, Decision)>);

impl Observer for Decisions {
    fn event(&mut self, event: &Event) {
        if let EventKind::Decision(decision) = event.kind {
            self.0.push((event.time, Decision { rule: 0, ..decision }));
        }
    }
}

/// Asks why, and keeps the answers: decision, reasons.
#[derive(Default)]
struct Why(Vec<(Decision, Vec<Reason>)>);

impl Observer for Why {
    fn event(&mut self, _: &Event) {}

    fn wants_reasons(&self) -> bool {
        true
    }

    fn reasons(&mut self, event: &Event, reasons: &[Reason]) {
        let EventKind::Decision(decision) = event.kind else { panic!("reasons without a decision: {event:?}") };
        self.0.push((decision, reasons.to_vec()));
    }
}

/// Why a run of one thread is refused, after `change` has changed its workload.
fn refusal(change: impl FnOnce(&mut Workload)) -> String {
    refused_by("fair:v6.12", change)
}

fn refused_by(scheduler: &str, change: impl FnOnce(&mut Workload)) -> String {
    let machine = Arc::new(Machine::symmetric(2));
    let (mut workload, _) = Workload::find("periodic:tasks=1,duration=0.1", &machine).unwrap();
    change(&mut workload);
    let features = Features::parse(scheduler).unwrap();
    let fair = Fair::new(Arc::clone(&machine), features, Options::default()).unwrap();
    match Engine::new(machine, Arc::new(workload), Box::new(fair), Config::default()).run(&mut []) {
        Err(SimError::Refused { what }) => what,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_needs_the_kernels_own_scheduler_is_refused_by_name() {
    let grouped = |file: &str, value: &str| {
        refusal(|w| {
            let files = vec![("cpu.weight".into(), "100".into()), (file.into(), value.into())];
            w.groups = vec![TaskGroup { path: "/apps".into(), parent: None, files, cpus: None }];
            w.tasks[0].group = Some(0);
        })
    };
    let idle = grouped("cpu.idle", "2");
    assert_eq!(idle, "task group `/apps`: cpu.idle = `2`; expected 0 or 1");
    let weighed = refusal(|w| {
        let files = vec![("cpu.idle".into(), "1".into()), ("cpu.weight".into(), "100".into())];
        w.groups = vec![TaskGroup { path: "/apps".into(), parent: None, files, cpus: None }];
    });
    assert_eq!(weighed, "task group `/apps`: cpu.weight: it has cpu.idle, and so no other weight");
    let before = refused_by("fair:v6.3", |w| {
        let files = vec![("cpu.idle".into(), "1".into())];
        w.groups = vec![TaskGroup { path: "/apps".into(), parent: None, files, cpus: None }];
    });
    assert_eq!(before, "task group `/apps`: cpu.idle needs a preset from v6.6 on (rq=eevdf)");
    let weighed = grouped("cpu.weight", "0");
    assert_eq!(weighed, "task group `/apps`: cpu.weight = `0`; expected 1 to 10000");
    let nice = grouped("cpu.weight.nice", "20");
    assert_eq!(nice, "task group `/apps`: cpu.weight.nice = `20`; expected -20 to 19");
    let deep = refusal(|w| {
        let files = vec![("cpu.weight".into(), "100".into())];
        let group = |depth: u32| TaskGroup {
            path: "/a".repeat(depth as usize + 1),
            parent: depth.checked_sub(1),
            files: files.clone(),
            cpus: None,
        };
        w.groups = (0..17).map(group).collect();
    });
    assert!(deep.ends_with("` is within 16 others; expected 15 at most in fair:"), "{deep}");
    for wrong in ["", "none", "999", "max 100", "max 1000001", "50000 100000 1", "-1"] {
        let refused = grouped("cpu.max", wrong);
        let expected =
            "expected `max` or a quota of 1000 to 17592186044415 us, and perhaps a period of 1000 to 1000000 us";
        assert!(refused.starts_with(&format!("task group `/apps`: cpu.max = `{wrong}`; {expected}")), "{refused}");
    }
    let burst = grouped("cpu.max.burst", "-1");
    assert_eq!(burst, "task group `/apps`: cpu.max.burst = `-1`; expected 0 to 17592186044415 us");
    let large = refusal(|w| {
        let files = [("cpu.max", "5000"), ("cpu.max.burst", "5001")].map(|(file, value)| (file.into(), value.into()));
        w.groups = vec![TaskGroup { path: "/apps".into(), parent: None, files: files.into(), cpus: None }];
    });
    assert_eq!(large, "task group `/apps`: cpu.max.burst = `5001`; expected 0 to the quota of cpu.max, 5000 us");
    let flat = refused_by("fair:v7.3+throttle=task", |w| {
        let files = vec![("cpu.max".into(), "5000".into())];
        w.groups = vec![TaskGroup { path: "/apps".into(), parent: None, files, cpus: None }];
    });
    assert_eq!(flat, "task group `/apps`: cpu.max needs throttle=task-early with flat-pick");
    let clamped = grouped("cpu.uclamp.min", "101");
    assert!(clamped.starts_with("task group `/apps`: cpu.uclamp.min = `101`; expected 0 to 100"), "{clamped}");
}

struct Run {
    metrics: RunMetrics,
    decisions: Vec<(u64, Decision)>,
    hash: String,
}

fn run(machine: &Machine, workload: &Workload, scheduler: &str, options: Options, seed: u64) -> Result<Run, String> {
    run_observed(machine, workload, scheduler, options, seed, &mut Decisions::default())
}

fn run_observed(
    machine: &Machine,
    workload: &Workload,
    scheduler: &str,
    options: Options,
    seed: u64,
    observer: &mut dyn Observer,
) -> Result<Run, String> {
    let features = Features::parse(scheduler).map_err(|e| e.to_string())?;
    let machine = Arc::new(machine.clone());
    let fair = Fair::new(Arc::clone(&machine), features, options).map_err(|e| e.to_string())?;
    let config = Config { seed, audit_every_ns: 100_000, max_time_ns: 20_000_000_000, ..Config::default() };
    let mut metrics = MetricsObserver::new(Arc::clone(&machine), workload);
    let (mut hash, mut decisions) = (HashObserver::new(), Decisions::default());
    let mut engine = Engine::new(machine, Arc::new(workload.clone()), Box::new(fair), config);
    let outcome = engine.run(&mut [&mut metrics, &mut hash, &mut decisions, observer]).map_err(|e| e.to_string())?;
    let metrics = metrics.finish(&outcome, engine.scheduler());
    Ok(Run { metrics, decisions: decisions.0, hash: hash.hex() })
}

fn workload(name: &str, machine: &Machine) -> Workload {
    Workload::find(name, machine).unwrap().0
}

fn pipe_on(machine: &str, scheduler: &str) -> RunMetrics {
    let machine = Machine::preset(machine).unwrap();
    run(&machine, &workload("sched-pipe:loops=2000", &machine), scheduler, Options::default(), 1).unwrap().metrics
}

fn per_op(metrics: &RunMetrics) -> f64 {
    metrics.migrations_per_op.unwrap()
}

/// 000: on hikey960 every wakeup of the pipe migrates inside the big cluster, and none once prev is tried first.
#[test]
fn hikey960_pipe_rotates_until_prev_is_tried_first() {
    let (base, test) = (pipe_on("hikey960", "v5.9"), pipe_on("hikey960", "v5.9+asym-prev-first"));
    assert!(per_op(&base) > 1.9, "{}", per_op(&base));
    assert!(per_op(&test) < 0.01, "{}", per_op(&test));
}

#[test]
fn hikey_pipe_does_not_rotate_with_either() {
    for scheduler in ["v5.9", "v5.9+asym-prev-first"] {
        let pipe = pipe_on("hikey", scheduler);
        assert!(per_op(&pipe) < 0.01, "{scheduler}: {}", per_op(&pipe));
    }
}

/// A task that grows big on little CPU 1 (capacity 462), then may go anywhere and sleeps: its timer wakes it there.
fn grown_on_a_little_cpu(machine: &Machine, scheduler: &str) -> Run {
    let mut program = ProgramBuilder::new();
    program.op(Op::SetAffinity(CpuMask::single(1)));
    program.op(Op::Run(Amount { base: 200_000_000, jitter: 0 }));
    program.op(Op::SetAffinity(machine.all_cpus()));
    program.op(Op::Sleep(Amount { base: 1_000_000, jitter: 0 }));
    program.op(Op::Run(Amount { base: 1_000_000, jitter: 0 }));
    let mut task = fairground_sim::testing::spec("grows", Vec::new());
    task.program = program.build();
    let workload = fairground_sim::testing::workload(Vec::new(), vec![task]);
    run(machine, &workload, scheduler, Options::default(), 1).unwrap()
}

/// Spec 3.3: up to v5.6 a task too big for waker and previous CPU is woken through the slow path, the only way up then.
#[test]
fn wake_cap_sends_big_tasks_up_by_the_slow_path() {
    let machine = Machine::preset("hikey960").unwrap();
    for (scheduler, rule, big) in
        [("v5.9-asym-scan+wake-cap", "wake-idlest", true), ("v5.9-asym-scan", "B2", false), ("v5.9", "B1", true)]
    {
        let run = grown_on_a_little_cpu(&machine, scheduler);
        let wakes: Vec<_> = run.decisions.iter().filter(|(_, d)| d.kind == DecisionKind::Wake).collect();
        let (_, last) = wakes.last().unwrap();
        assert_eq!((last.prev, last.chosen >= 4), (1, big), "{scheduler}");
        assert!(rules(&run.metrics).contains(&rule), "{scheduler}: {:?}", rules(&run.metrics));
    }
}

fn rules(metrics: &RunMetrics) -> Vec<&str> {
    metrics.decisions.iter().map(|d| d.rule.as_str()).collect()
}

/// 000: CPUs of an exclusive cpuset with equal capacities take the symmetric path although the machine is asymmetric.
#[test]
fn a_symmetric_island_takes_the_symmetric_path() {
    let machine = Machine::preset("hikey960").unwrap();
    let island = CpuMask::parse_list("6-7").unwrap();
    let options = Options { partitions: vec![island], isolated: CpuMask::EMPTY };
    let mut pipe = workload("sched-pipe:loops=500", &machine);
    pipe.tasks.iter_mut().for_each(|t| t.affinity = Some(island));
    pipe.start.iter_mut().for_each(|s| s.cpu = 6);
    // The reader's previous CPU is idle and shares the cache: B3, A2. B1 would answer for an asymmetric domain.
    for (scheduler, expected) in [("v5.9", ["B3", "fork-idlest"]), ("v5.11", ["A2", "fork-idlest"])] {
        let on_island = run(&machine, &pipe, scheduler, options.clone(), 1).unwrap().metrics;
        assert_eq!(rules(&on_island), expected);
    }
    // The rest of the machine is still asymmetric.
    let everywhere = pipe_on("hikey960", "v5.9");
    assert!(rules(&everywhere).contains(&"B1"));
}

/// No globals: many schedulers in one process do not see each other.
#[test]
fn runs_in_parallel_equal_runs_in_turn() {
    fn is_send<T: Send>() {}
    is_send::<Fair>();
    let machine = Machine::preset("hikey960").unwrap();
    let pipe = workload("sched-pipe:loops=300", &machine);
    let hash = |seed: u64| run(&machine, &pipe, "v5.11", Options::default(), seed).unwrap().hash;
    let in_turn: Vec<String> = (0..4).map(hash).collect();
    let in_parallel: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|seed| {
                scope.spawn({
                    let hash = &hash;
                    move || hash(seed)
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(in_turn, in_parallel);
}

/// 000: the last sync wakeup of the pipe finds the wakee's previous CPU, which shares target's cache, free and big
/// enough: A2 decides.
#[test]
fn the_reasons_of_a_wakeup_are_its_circumstances_and_looks() {
    let machine = Machine::preset("hikey960").unwrap();
    let mut why = Why::default();
    let pipe = workload("sched-pipe:loops=20,threads", &machine);
    run_observed(&machine, &pipe, "v5.9+asym-prev-first", Options::default(), 1, &mut why).unwrap();
    let features = Features::parse("v5.9").unwrap();
    let fair = Fair::new(Arc::new(machine), features, Options::default()).unwrap();
    let sched: &dyn fairground_sim::Scheduler = &fair;
    let is_sync = |r: &Reason| sched.note_text(r.note) == "sync: the waker is about to sleep";
    let (decision, reasons) = why.0.iter().rfind(|(_, reasons)| is_sync(&reasons[0])).expect("sync wakeups");
    assert_eq!(sched.rule(decision.rule).name, "A2");
    let (circumstances, looks) = reasons.split_at(reasons.iter().position(|r| r.rule != NO_RULE).unwrap());
    let words: Vec<&str> = circumstances.iter().map(|r| sched.note_text(r.note)).collect();
    assert!(words.contains(&"target is CPU {cpu}"), "{words:?}");
    // The last look is that at the chosen CPU: it fits.
    let last = looks.last().unwrap();
    assert_eq!((sched.rule(last.rule).name, last.cpu), ("A2", Some(decision.chosen)));
    assert!(sched.note_text(last.note).contains("fits"), "{}", sched.note_text(last.note));
    assert!(last.numbers[0] * 1280 < last.numbers[1] * 1024, "utilization on capacity: {last:?}");
}

#[test]
fn every_rule_and_note_has_words() {
    let fair =
        Fair::new(Arc::new(Machine::symmetric(2)), Features::parse("v5.9").unwrap(), Options::default()).unwrap();
    let sched: &dyn fairground_sim::Scheduler = &fair;
    for rule in 0..=u16::MAX {
        assert_eq!(sched.rule(rule).name == "unknown", sched.rule(rule).text.is_empty(), "rule {rule}");
    }
    let notes = (0..u16::MAX).take_while(|note| !sched.note_text(*note).is_empty()).count();
    assert!(notes > fairground_fair::ffi::NOTES.len(), "{notes}");
    assert!((notes as u16..=u16::MAX).all(|note| sched.note_text(note).is_empty()));
}

/// A random workload with what random workloads lack: RT threads, changes to RT, and more threads than CPUs.
fn busy_workload(seed: u64, nr_cpus: usize) -> Workload {
    let mut random = Random::new(seed);
    let mut workload = random.workload(nr_cpus);
    for task in &mut workload.tasks {
        match random.draw_below(8) {
            0 | 1 => task.attr = rt_attr(&mut random),
            2 => task.attr = SchedAttr { policy: Policy::Idle, ..SchedAttr::default() },
            _ => {}
        }
        let mut program = task.program.to_vec();
        for op in &mut program {
            if matches!(op, Op::SetAttr(_)) && random.draw_below(2) == 0 {
                *op = Op::SetAttr(rt_attr(&mut random));
            }
        }
        task.program = program.into();
    }
    add_crowd(&mut workload, &mut random);
    add_tree(&mut workload, &mut random);
    workload
}

/// Threads that fork threads that fork threads, some of which sleep for long, some hardly.
fn add_tree(workload: &mut Workload, random: &mut Random) {
    let mut child: Option<u32> = None;
    for depth in 0..3 {
        let mut program = ProgramBuilder::new();
        program.op(Op::Run(Amount { base: 10_000, jitter: 3_000_000 }));
        if let Some(spec) = child {
            program.op(Op::Spawn { spec, count: 1 + random.draw_below(4) as u32, thread: random.draw_below(2) == 0 });
        }
        program.op(Op::Sleep(Amount { base: 10, jitter: [1_000, 30_000_000][random.draw_below(2) as usize] }));
        program.op(Op::Run(Amount { base: 100_000, jitter: 8_000_000 }));
        program.op(Op::WaitChildren);
        let mut task = fairground_sim::testing::spec(&format!("tree{depth}"), Vec::new());
        task.program = program.build();
        child = Some(workload.tasks.len() as u32);
        workload.tasks.push(task);
    }
    workload.start.push(Start {
        spec: workload.tasks.len() as u32 - 1,
        count: 1 + random.draw_below(3) as u32,
        cpu: 0,
        process: 0,
    });
}

fn rt_attr(random: &mut Random) -> SchedAttr {
    let policy = [Policy::Fifo, Policy::Rr][random.draw_below(2) as usize];
    SchedAttr { policy, rt_priority: 1 + random.draw_below(3) as u8, ..SchedAttr::default() }
}

/// Threads that compute and sleep, some of them RT, some moved about by their own affinity calls.
fn add_crowd(workload: &mut Workload, random: &mut Random) {
    let mut program = ProgramBuilder::new();
    program.repeat(Some(20), |p| {
        p.op(Op::Run(Amount { base: 10_000, jitter: 2_000_000 }));
        p.op(Op::Sleep(Amount { base: 1_000, jitter: 500_000 }));
        p.op(Op::SetAttr(SchedAttr::default()));
        p.op(Op::Run(Amount { base: 10_000, jitter: 100_000 }));
        p.op(Op::SetAttr(rt_attr(random)));
    });
    let mut task = fairground_sim::testing::spec("crowd", Vec::new());
    task.program = program.build();
    workload.tasks.push(task);
    let count = 1 + random.draw_below(12) as u32;
    workload.start.push(Start { spec: workload.tasks.len() as u32 - 1, count, cpu: 0, process: 0 });
}

/// Every other time a machine cut into a partition, an isolated CPU and the rest.
fn drawn_options(seed: u64, nr_cpus: usize) -> Options {
    let mut random = Random::new(seed ^ 0x5eed);
    if nr_cpus < 4 || random.draw_below(2) == 0 {
        return Options::default();
    }
    let cut = 1 + random.draw_below(nr_cpus as u64 - 2) as u32;
    Options { partitions: vec![(0..cut).collect()], isolated: CpuMask::single(cut) }
}

/// A machine small enough for many runs, of the drawn shape.
fn small(seed: u64, types: u32) -> Machine {
    let mut shape = Shape::from_seed(seed);
    (shape.packages, shape.clusters, shape.types) = (shape.packages.min(2), shape.clusters.min(2), types);
    shape.build()
}

/// A preset with up to five features changed, as far as they can be.
fn drawn_scheduler(seed: u64) -> String {
    let mut random = Random::new(seed ^ 0xfea7);
    let mut name = PRESETS[random.draw_below(PRESETS.len() as u64) as usize].name.to_string();
    for _ in 0..random.draw_below(6) {
        let feature = &features()[random.draw_below(features().len() as u64) as usize];
        let changed = match feature.values {
            [] => format!("{name}{}{}", ["+", "-"][random.draw_below(2) as usize], feature.name),
            words => format!("{name}+{}={}", feature.name, words[random.draw_below(words.len() as u64) as usize]),
        };
        if Features::parse(&changed).is_ok() {
            name = changed;
        }
    }
    name
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_runs_keep_their_books(seed in any::<u64>(), types in 1..4u32) {
        let machine = small(seed, types);
        let workload = busy_workload(seed, machine.nr_cpus());
        let scheduler = drawn_scheduler(seed);
        let first = run(&machine, &workload, &scheduler, drawn_options(seed, machine.nr_cpus()), seed);
        prop_assert!(first.is_ok(), "{scheduler}: {}", first.err().unwrap_or_default());
    }

    #[test]
    fn equal_inputs_give_equal_bytes(seed in any::<u64>()) {
        let machine = small(seed, 2);
        let workload = busy_workload(seed, machine.nr_cpus());
        let scheduler = drawn_scheduler(seed);
        let hash = || run(&machine, &workload, &scheduler, Options::default(), seed).map(|r| r.hash);
        let first = hash();
        prop_assert!(first.is_ok(), "{}: {:?}", scheduler, first);
        prop_assert_eq!(first, hash(), "{}", scheduler);
    }

    #[test]
    fn asking_why_changes_nothing(seed in any::<u64>(), types in 1..4u32) {
        let machine = small(seed, types);
        let workload = busy_workload(seed, machine.nr_cpus());
        let options = drawn_options(seed, machine.nr_cpus());
        let alone = !options.partitions.is_empty() || machine.nr_cpus() == 1;
        let scheduler = drawn_scheduler(seed);
        let plain = run(&machine, &workload, &scheduler, options.clone(), seed).map(|r| r.hash);
        let mut why = Why::default();
        let asked = run_observed(&machine, &workload, &scheduler, options, seed, &mut why).map(|r| r.hash);
        prop_assert!(plain.is_ok(), "{scheduler}: {plain:?}");
        prop_assert_eq!(plain, asked);
        // Alone in its partition a CPU is never looked at.
        prop_assert!(alone || !why.0.is_empty(), "{scheduler}");
    }

    /// 000: without asymmetry the patch decides nothing differently.
    #[test]
    fn symmetric_machines_do_not_notice_asym_prev_first(seed in any::<u64>()) {
        let machine = small(seed, 1);
        let workload = busy_workload(seed, machine.nr_cpus());
        let decisions = |s: &str| run(&machine, &workload, s, Options::default(), seed).map(|r| r.decisions);
        let base = decisions("v5.9");
        prop_assert!(base.as_ref().is_ok_and(|d| !d.is_empty()), "{:?}", base.err());
        prop_assert_eq!(base, decisions("v5.9+asym-prev-first"));
    }
}

/// Twelve pairs of CPUs with one idle state. With a cpuidle driver mail 001's rule prefers the CPU that has been idle
/// longest to the one that went idle last. Without a driver neither kernel knows a state, and both take the latter.
#[test]
fn break_even_needs_a_cpuidle_driver() {
    let mut machine = Machine::preset("synquacer").unwrap();
    machine.cpu_types[0].idle_states.truncate(1);
    let burst = workload("fork-burst:bursts=10,children=16,interval=300,gap=3", &machine);
    let differs = |machine: &Machine| {
        let hash = |scheduler| run(machine, &burst, scheduler, Options::default(), 1).unwrap().hash;
        hash("v5.5") != hash("v5.5+break-even=exit-latency")
    };
    assert!(differs(&machine));
    machine.cpu_types[0].cpuidle = false;
    assert!(!differs(&machine));
}

/// Mail 004 on two nodes of 12 CPUs in clusters of four: wakees stay in the cluster more often, and do so too where
/// clusters do not have a domain.
#[test]
fn clusters_are_kept_to_when_idle_cpus_are_picked() {
    let mut shape = Shape::from_seed(1);
    (shape.packages, shape.nodes, shape.llcs, shape.clusters) = (2, 1, 1, 3);
    (shape.cores, shape.threads, shape.types, shape.clusters_share_cache) = (4, 1, 1, true);
    let machine = shape.build();
    let crowd = workload("periodic:tasks=80,periods=5+2.5+3,duty=20,duration=1", &machine);
    let base = "v5.11+recent-prev+sis-mode=util+sis-merged+sis-smt-prev+scan-next";
    let near = |cls: &str| {
        let run = run(&machine, &crowd, &format!("{base}{cls}"), Options::default(), 1).unwrap();
        let wakes = run.decisions.iter().filter(|(_, d)| d.kind == DecisionKind::Wake && d.chosen != d.prev);
        let (near, all) =
            wakes.fold((0, 0), |(near, all), (_, d)| (near + u32::from(d.chosen / 4 == d.prev / 4), all + 1));
        assert!(all > 100, "{all}");
        (100 * near / all, run.metrics)
    };
    for level in ["+cls-domain", ""] {
        let ((none, _), (landed, metrics)) = (near(level), near(&format!("{level}+cls-select=landed")));
        assert!(landed > none, "{none} % and {landed} %");
        let rules = rules(&metrics);
        assert!(rules.contains(&"C8c") && rules.contains(&"C11"), "{rules:?}");
    }
    let posted = near("+cls-select=loop").1;
    assert!(rules(&posted).contains(&"A7c"), "{:?}", rules(&posted));
}
