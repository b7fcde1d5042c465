//! Whole runs: the engine, its checkers and our audit as the judges, and the claims of mail 000.

use std::sync::Arc;

use fairground_fair::{Fair, Features, Options};
use fairground_machine::testing::Shape;
use fairground_machine::{CpuMask, Machine};
use fairground_sim::{Config, Decision, Engine, Event, EventKind, HashObserver, MetricsObserver, Observer, RunMetrics};
use fairground_workload::testing::Random;
use fairground_workload::{Amount, Op, Policy, ProgramBuilder, SchedAttr, Start, Workload};
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

struct Run {
    metrics: RunMetrics,
    decisions: Vec<(u64, Decision)>,
    hash: String,
}

fn run(machine: &Machine, workload: &Workload, scheduler: &str, options: Options, seed: u64) -> Result<Run, String> {
    let features = Features::parse(scheduler).map_err(|e| e.to_string())?;
    let machine = Arc::new(machine.clone());
    let fair = Fair::new(Arc::clone(&machine), features, options).map_err(|e| e.to_string())?;
    let config = Config { seed, audit_every_ns: 100_000, max_time_ns: 20_000_000_000, ..Config::default() };
    let mut metrics = MetricsObserver::new(Arc::clone(&machine), workload);
    let (mut hash, mut decisions) = (HashObserver::new(), Decisions::default());
    let mut engine = Engine::new(machine, Arc::new(workload.clone()), Box::new(fair), config);
    let outcome = engine.run(&mut [&mut metrics, &mut hash, &mut decisions]).map_err(|e| e.to_string())?;
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

#[test]
fn runs_say_that_balance_is_passive() {
    let machine = Arc::new(Machine::symmetric(2));
    let fair = Fair::new(machine, Features::parse("v5.9").unwrap(), Options::default()).unwrap();
    assert_eq!(fairground_sim::Scheduler::notes(&fair), ["balance: passive"]);
}

/// A random workload with what random workloads lack: RT threads, changes to RT, and more threads than CPUs.
fn busy_workload(seed: u64, nr_cpus: usize) -> Workload {
    let mut random = Random::new(seed);
    let mut workload = random.workload(nr_cpus);
    for task in &mut workload.tasks {
        if random.below(4) == 0 {
            task.attr = rt_attr(&mut random);
        }
        let mut program = task.program.to_vec();
        for op in &mut program {
            if matches!(op, Op::SetAttr(_)) && random.below(2) == 0 {
                *op = Op::SetAttr(rt_attr(&mut random));
            }
        }
        task.program = program.into();
    }
    add_crowd(&mut workload, &mut random);
    workload
}

fn rt_attr(random: &mut Random) -> SchedAttr {
    let policy = [Policy::Fifo, Policy::Rr][random.below(2) as usize];
    SchedAttr { policy, rt_priority: 1 + random.below(3) as u8, ..SchedAttr::default() }
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
    let count = 1 + random.below(12) as u32;
    workload.start.push(Start { spec: workload.tasks.len() as u32 - 1, count, cpu: 0 });
}

/// Every other time a machine cut into a partition, an isolated CPU and the rest.
fn drawn_options(seed: u64, nr_cpus: usize) -> Options {
    let mut random = Random::new(seed ^ 0x5eed);
    if nr_cpus < 4 || random.below(2) == 0 {
        return Options::default();
    }
    let cut = 1 + random.below(nr_cpus as u64 - 2) as u32;
    Options { partitions: vec![(0..cut).collect()], isolated: CpuMask::of(cut) }
}

/// A machine small enough for many runs, of the drawn shape.
fn small(seed: u64, types: u32) -> Machine {
    let mut shape = Shape::from_seed(seed);
    (shape.packages, shape.clusters, shape.types) = (shape.packages.min(2), shape.clusters.min(2), types);
    shape.build()
}

const SCHEDULERS: [&str; 9] = [
    "v5.9",
    "v5.11",
    "v5.9+asym-prev-first",
    "v5.11+cls-domain",
    "v5.9+asym-cap-full",
    "v5.11+sis-mode=prop54",
    "v5.11+base-slice",
    "v5.11+rq=eevdf",
    "v5.11+rq=eevdf612+slice-700+sync-delayed",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_runs_keep_their_books(seed in any::<u64>(), types in 1..4u32, which in 0..SCHEDULERS.len()) {
        let machine = small(seed, types);
        let workload = busy_workload(seed, machine.nr_cpus());
        let first = run(&machine, &workload, SCHEDULERS[which], drawn_options(seed, machine.nr_cpus()), seed);
        prop_assert!(first.is_ok(), "{}", first.err().unwrap_or_default());
    }

    #[test]
    fn equal_inputs_give_equal_bytes(seed in any::<u64>()) {
        let machine = small(seed, 2);
        let workload = busy_workload(seed, machine.nr_cpus());
        let hash = || run(&machine, &workload, "v5.11", Options::default(), seed).map(|r| r.hash);
        let first = hash();
        prop_assert!(first.is_ok(), "{:?}", first);
        prop_assert_eq!(first, hash());
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
