//! sched-cache: the threads of a process gather behind one last-level cache.

use std::sync::Arc;

use fairground_fair::{Fair, Features, Options};
use fairground_machine::{Cluster, CpuId, CpuMask, Machine};
use fairground_sim::testing::{spec, workload};
use fairground_sim::{Config, Engine, Event, EventKind, Observer, TaskId};
use fairground_workload::{Amount, Op, ProgramBuilder, Workload};

const MS: u64 = 1_000_000;
/// What happens before does not count.
const SETTLED: u64 = 1_000 * MS;
const END: u64 = 3_000 * MS;
const PROCESSES: usize = 2;

/// 8 equal CPUs, 4 behind each of two caches.
fn two_caches() -> Machine {
    let mut m = Machine::symmetric(8);
    let halves: Vec<CpuMask> = vec![(0..4).collect(), (4..8).collect()];
    for cpu in &mut m.cpus {
        (cpu.llc, cpu.cluster) = (cpu.id / 4, cpu.id / 4);
    }
    m.clusters = halves.iter().map(|cpus| Cluster { cpus: *cpus, ..m.clusters[0].clone() }).collect();
    m.llcs = halves;
    m
}

/// Two processes of three threads, born by turns, each of which needs about 60 % of a CPU.
fn two_processes() -> Workload {
    let mut program = ProgramBuilder::new();
    program.repeat(None, |p| {
        p.op(Op::Run(Amount { base: 5 * MS, jitter: 2 * MS })).op(Op::Sleep(Amount { base: 3 * MS, jitter: 2 * MS }));
    });
    let program = program.build();
    let threads = (0..6).map(|n| spec(&format!("thread{n}"), program.to_vec())).collect();
    let mut two = workload(Vec::new(), threads);
    two.duration_ns = Some(END);
    two.start.iter_mut().for_each(|start| start.process = start.spec % PROCESSES as u32);
    two
}

/// CPU time of each process behind each cache, once settled, ns.
#[derive(Default)]
struct Shares {
    since: [u64; 8],
    running: [Option<TaskId>; 8],
    time: [[u64; 2]; PROCESSES],
}

impl Shares {
    fn switch(&mut self, now: u64, cpu: CpuId, next: Option<TaskId>) {
        let cpu = cpu as usize;
        let since = std::mem::replace(&mut self.since[cpu], now).max(SETTLED);
        if let Some(task) = std::mem::replace(&mut self.running[cpu], next) {
            self.time[task as usize % PROCESSES][cpu / 4] += now.saturating_sub(since);
        }
    }

    /// The part of a process's time that it spent behind the cache where it spent most, in percent.
    fn gathered(&self) -> [u64; PROCESSES] {
        self.time.map(|[a, b]| 100 * a.max(b) / (a + b))
    }
}

impl Observer for Shares {
    fn event(&mut self, event: &Event) {
        if let EventKind::Switch { next, .. } = event.kind {
            self.switch(event.time, event.cpu, next);
        }
    }
}

fn gathered(scheduler: &str) -> [u64; PROCESSES] {
    let machine = Arc::new(two_caches());
    let fair = Fair::new(Arc::clone(&machine), Features::parse(scheduler).unwrap(), Options::default()).unwrap();
    let config = Config { audit_every_ns: 1_000_000, ..Config::default() };
    let mut shares = Shares::default();
    Engine::new(machine, Arc::new(two_processes()), Box::new(fair), config).run(&mut [&mut shares]).unwrap();
    shares.gathered()
}

#[test]
fn a_process_that_fits_behind_a_cache_gathers_there() {
    for scheduler in ["fair:v7.2", "fair:v7.3", "fair:debian-7.3.4"] {
        let part = gathered(scheduler);
        assert!(part.iter().all(|part| *part >= 95), "{scheduler}: {part:?}");
    }
}

/// The mutants: without it the threads stay where they were born, two behind one cache and one behind the other.
#[test]
fn without_sched_cache_it_does_not() {
    for scheduler in ["fair:v7.1", "fair:v7.2-sched-cache", "fair:v7.3-sched-cache-cache-asym-cache-alb-cache-runnable"]
    {
        let part = gathered(scheduler);
        assert!(part.iter().any(|part| *part < 95), "{scheduler}: {part:?}");
    }
}
