//! The engine feeds its meter of misplaced threads: checked against the event stream.

use std::collections::BTreeMap;

use fairground_machine::{CpuId, CpuMask};
use fairground_sim::testing::{self, machine, spec, workload};
use fairground_sim::{Config, Event, EventKind, IdleGovernor, Observer, SwitchState, TaskId, Time};
use fairground_workload::{Amount, Object, Op, ProgramBuilder, Workload};

/// For CPUs of equal capacity and threads that may use all of them.
struct ByEvents {
    runnable: BTreeMap<TaskId, CpuId>,
    counts: Vec<u64>,
    since: Time,
    total_ns: u64,
}

impl ByEvents {
    fn new(nr_cpus: usize) -> Self {
        ByEvents { runnable: BTreeMap::new(), counts: vec![0; nr_cpus], since: 0, total_ns: 0 }
    }

    /// All CPUs hold n / c threads at least, and n % c of them one more.
    fn misplaced(&self) -> u64 {
        let (n, c) = (self.counts.iter().sum::<u64>(), self.counts.len() as u64);
        let over = |height: u64| self.counts.iter().map(|n| n.saturating_sub(height)).sum::<u64>();
        over(n / c + 1).max(over(n / c) - n % c)
    }

    fn put(&mut self, task: TaskId, cpu: Option<CpuId>) {
        if let Some(old) = self.runnable.remove(&task) {
            self.counts[old as usize] -= 1;
        }
        if let Some(cpu) = cpu {
            self.runnable.insert(task, cpu);
            self.counts[cpu as usize] += 1;
        }
    }
}

impl Observer for ByEvents {
    fn event(&mut self, event: &Event) {
        self.total_ns += self.misplaced() * (event.time - self.since);
        self.since = event.time;
        match event.kind {
            EventKind::Wakeup { task, target } => self.put(task, Some(target)),
            EventKind::Migrate { task, to, .. } if self.runnable.contains_key(&task) => self.put(task, Some(to)),
            EventKind::Switch { prev: Some(task), prev_state: SwitchState::Sleeping | SwitchState::Dead, .. } => {
                self.put(task, None);
            }
            _ => {}
        }
    }
}

fn config() -> Config {
    Config { start_phase: false, idle: IdleGovernor::Shallowest, ..Config::default() }
}

/// Seven threads with phases of their own, and one that all of them wake.
fn bustle() -> Workload {
    let looped = |i: u64| {
        let mut p = ProgramBuilder::new();
        p.repeat(Some(30), |p| {
            let run = Amount { base: 20_000 + 7_000 * i, jitter: 30_000 };
            p.op(Op::Run(run)).op(Op::SemPost(0)).op(Op::Sleep(Amount::fixed(10_000 * i))).op(Op::Yield);
        });
        let mut s = spec("busy", vec![]);
        s.program = p.build();
        s
    };
    let mut tasks: Vec<_> = (1..=7).map(looped).collect();
    let mut p = ProgramBuilder::new();
    p.repeat(None, |p| {
        p.op(Op::SemWait(0)).op(Op::Run(Amount::fixed(15_000)));
    });
    let mut woken = spec("woken", vec![]);
    (woken.program, woken.daemon) = (p.build(), true);
    tasks.push(woken);
    workload(vec![Object::Semaphore { value: 0 }], tasks)
}

#[test]
fn the_meter_sees_what_the_events_say() {
    for (nr_cpus, threads) in [(1, 1), (3, 1), (4, 2)] {
        let mut seen = ByEvents::new(nr_cpus as usize);
        let m = testing::with_costs(machine(nr_cpus, threads));
        let outcome = testing::engine(m, bustle(), config()).run(&mut [&mut seen]).expect("the run ends well");
        let rest = seen.misplaced() * (outcome.end - seen.since);
        assert_eq!(outcome.totals.misplaced_ns, seen.total_ns + rest, "{nr_cpus} CPUs");
        assert_eq!(outcome.totals.misplaced_ns > 0, nr_cpus > 1);
    }
}

/// The third thread queues behind the first on CPU 0 until 1000 ns. CPU 1 is free from 101, when the second exits.
#[test]
fn a_thread_behind_another_is_misplaced_while_a_cpu_is_free() {
    let run = |ns: u64| spec("run", vec![Op::Run(Amount::fixed(ns))]);
    let w = workload(vec![], vec![run(1000), run(100), run(100)]);
    let outcome = testing::engine(machine(2, 1), w, config()).run(&mut []).expect("the run ends well");
    assert_eq!(outcome.totals.misplaced_ns, 1000 - 101);
}

/// Two threads share CPU 0, to which the third is bound from the start; CPU 1 is free from 101 on. The first might go
/// there until it binds itself as well, at 500.
#[test]
fn a_change_of_affinity_counts_from_then_on() {
    let run = |ns: u64| Op::Run(Amount::fixed(ns));
    let first = spec("first", vec![run(500), Op::SetAffinity(CpuMask::single(0)), run(500)]);
    let mut third = spec("third", vec![run(100)]);
    third.affinity = Some(CpuMask::single(0));
    let w = workload(vec![], vec![first, spec("second", vec![run(100)]), third]);
    let outcome = testing::engine(machine(2, 1), w, config()).run(&mut []).expect("the run ends well");
    assert_eq!(outcome.totals.misplaced_ns, 500 - 101);
}
