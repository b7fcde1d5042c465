//! Cold caches in whole runs: what a thread waits for as it comes to a CPU. Nothing else costs anything but an IPI
//! (1 ns). CPUs have 64 KiB each and share 512; 1 KiB takes 4 ns from there, 10 ns from memory, and a move 5 ns, of
//! which 3 are for the unmodified three quarters.

use fairground_machine::{Cache, Caches, CpuMask, IdleScope, IdleState, Machine};
use fairground_sim::testing::{self, idle_state, machine, spec, workload};
use fairground_sim::{Config, IdleGovernor};
use fairground_workload::{Amount, Op, TaskSpec};

fn cached(cpus: u32) -> Machine {
    let mut m = machine(cpus, 1);
    m.costs.refill_kib_ns = [5; 7];
    let own = (0..cpus).map(|cpu| Cache { cpus: CpuMask::single(cpu), size_kib: 64, refill_kib_ns: 0 });
    let shared = (cpus > 1).then(|| Cache { cpus: m.all_cpus(), size_kib: 512, refill_kib_ns: 4 });
    m.caches =
        Some(Caches { all: own.chain(shared).collect(), modified: 0.25, memory_kib_ns: [0, 0, 0, 0, 10, 10, 10] });
    m
}

/// A thread of 16 KiB.
fn thread(program: Vec<Op>) -> TaskSpec {
    TaskSpec { footprint_kib: 16, ..spec("t", program) }
}

fn ns(n: u64) -> Op {
    Op::Run(Amount::fixed(n))
}

/// What the threads waited for in all, and when the last one was done, ns.
fn refill(m: Machine, idle: IdleGovernor, threads: Vec<TaskSpec>) -> (u64, u64) {
    let config = Config { start_phase: false, idle, ..Config::default() };
    let outcome = testing::engine(m, workload(vec![], threads), config).run(&mut []).expect("the run ends well");
    (outcome.meters.refill_ns, outcome.end)
}

#[test]
fn a_thread_that_returns_pays_for_what_ran_in_between() {
    let sleeper = || thread(vec![ns(100), Op::SleepUntil(10_000), ns(100)]);
    assert_eq!(refill(cached(1), IdleGovernor::Shallowest, vec![sleeper()]), (0, 10_100));
    let other = |footprint_kib| TaskSpec { footprint_kib, ..spec("other", vec![ns(100)]) };
    assert_eq!(refill(cached(1), IdleGovernor::Shallowest, vec![sleeper(), other(48)]), (0, 10_100));
    assert_eq!(refill(cached(1), IdleGovernor::Shallowest, vec![sleeper(), other(64)]), (160, 10_260));
}

#[test]
fn a_state_that_keeps_no_cache_leaves_it_empty() {
    let sleeper = || thread(vec![ns(100), Op::SleepUntil(10_000), ns(100)]);
    let mut m = cached(1);
    m.cpu_types[0].idle_states.push(IdleState { keeps_cache: false, ..idle_state("cpu-sleep", 2_000, 2_000) });
    assert_eq!(refill(m.clone(), IdleGovernor::Shallowest, vec![sleeper()]), (0, 10_100));
    assert_eq!(refill(m, IdleGovernor::Deepest, vec![sleeper()]), (160, 10_260));
}

/// Both CPUs sleep, and their cache is lost: the first thread fetches all of its 16 KiB from memory, 160 ns. When the
/// second CPU wakes, the cache has been in use since and is kept: as the first thread moves there it costs 16 x 5 ns.
#[test]
fn the_first_to_leave_a_cluster_state_finds_the_shared_cache_empty() {
    let mut m = cached(2);
    let off = idle_state("cluster-sleep", 2_000, 2_000);
    m.cpu_types[0].idle_states.push(IdleState { scope: IdleScope::Cluster, keeps_cache: false, ..off });
    let to_1 = Op::SetAffinity(CpuMask::single(1));
    let first = thread(vec![ns(100), Op::SleepUntil(10_000), ns(20_000), to_1, ns(100)]);
    let second = spec("second", vec![ns(100), Op::SleepUntil(20_000), ns(100)]);
    // Without it both would sleep again while the interrupt for the second CPU is on its way.
    let awake = spec("awake", vec![ns(100), Op::SleepUntil(10_000), ns(40_000)]);
    let awake = TaskSpec { affinity: Some(CpuMask::single(0)), ..awake };
    assert_eq!(refill(m, IdleGovernor::Deepest, vec![first, second, awake]).0, 160 + 80);
}

/// A sibling that is awake keeps what the core has.
#[test]
fn a_core_keeps_its_cache_while_one_of_its_threads_is_awake() {
    let mut m = machine(2, 2);
    m.caches = Some(Caches {
        all: vec![Cache { cpus: m.all_cpus(), size_kib: 64, refill_kib_ns: 0 }],
        modified: 0.25,
        memory_kib_ns: [0, 0, 0, 0, 10, 10, 10],
    });
    m.cpu_types[0].idle_states.push(IdleState { keeps_cache: false, ..idle_state("C6", 2_000, 2_000) });
    let sleeper = || thread(vec![ns(100), Op::SleepUntil(10_000), ns(100)]);
    assert_eq!(refill(m.clone(), IdleGovernor::Deepest, vec![sleeper(), spec("busy", vec![ns(40_000)])]).0, 0);
    assert_eq!(refill(m, IdleGovernor::Deepest, vec![sleeper(), spec("brief", vec![ns(100)])]).0, 160);
}
