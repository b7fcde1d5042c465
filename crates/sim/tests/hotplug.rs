//! CPUs that go offline and come back, under a toy scheduler that pushes away what it picks there. All costs are 0.

use std::sync::Arc;

use fairground_machine::{CpuId, CpuMask, Machine};
use fairground_sim::testing::{machine, spec, workload, RoundRobin};
use fairground_sim::{
    Config, Engine, Event, EventKind, Governor, HashObserver, Observer, Outcome, SimError, TaskId, Time,
};
use fairground_workload::{Amount, OfflineSpan, Op, Workload};

const MS: Time = 1_000_000;

fn span(cpus: &str, from_ms: Time, to_ms: Option<Time>) -> OfflineSpan {
    let cpus = CpuMask::parse_list(cpus).unwrap();
    OfflineSpan { cpus, from_ns: from_ms * MS, to_ns: to_ms.map(|ms| ms * MS) }
}

/// Tasks that start on CPU 0.
fn tasks(programs: Vec<(&str, Vec<Op>)>, offline: Vec<OfflineSpan>) -> Workload {
    let specs = programs.into_iter().map(|(name, ops)| spec(name, ops)).collect();
    Workload { offline, ..workload(vec![], specs) }
}

fn work(ms: Time) -> Op {
    Op::Run(Amount::fixed(ms * MS))
}

fn run_on(m: Machine, w: Workload, config: Config, o: &mut [&mut dyn Observer]) -> Result<Outcome, SimError> {
    let config = Config { start_phase: false, audit_every_ns: 100_000, ..config };
    let toy = RoundRobin::new(m.nr_cpus());
    Engine::new(Arc::new(m), Arc::new(w), Box::new(toy), config).run(o)
}

fn run(nr_cpus: u32, w: Workload, o: &mut [&mut dyn Observer]) -> Result<Outcome, SimError> {
    run_on(machine(nr_cpus, 1), w, Config::default(), o)
}

/// When CPUs went offline and came back, and which task each ran from when on.
#[derive(Default)]
struct Log {
    online: Vec<(Time, CpuId, bool)>,
    ran: Vec<(Time, CpuId, TaskId)>,
}

impl Observer for Log {
    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Online(online) => self.online.push((event.time, event.cpu, online)),
            EventKind::Switch { next: Some(task), .. } => self.ran.push((event.time, event.cpu, task)),
            _ => {}
        }
    }
}

impl Log {
    fn cpus_of(&self, task: TaskId, from: Time) -> Vec<CpuId> {
        self.ran.iter().filter(|(at, _, who)| *who == task && *at >= from).map(|(_, cpu, _)| *cpu).collect()
    }
}

#[test]
fn a_running_and_a_waiting_task_leave_and_an_idle_cpu_goes_at_once() {
    let mut log = Log::default();
    // Three tasks on two CPUs; CPU 0 goes at 20 ms, CPU 2, which idles, at 30 ms.
    let programs = vec![("a", vec![work(50)]), ("b", vec![work(50)]), ("c", vec![work(50)])];
    let w = tasks(programs, vec![span("0", 20, Some(90)), span("2", 12, Some(15))]);
    let outcome = run(3, w, &mut [&mut log]).unwrap();
    let changes: Vec<_> = log.online.iter().map(|(at, cpu, online)| (*at / MS, *cpu, *online)).collect();
    assert_eq!(changes[..3], [(12, 2, false), (15, 2, true), (20, 0, false)], "{:?}", log.online);
    assert!(log.ran.iter().all(|(at, cpu, _)| *cpu != 0 || *at <= 20 * MS), "{:?}", log.ran);
    // All of their work is done: three times 50 ms, on three CPUs and then on two.
    assert!(outcome.end >= 50 * MS && outcome.end <= 90 * MS, "{}", outcome.end);
    let ran: u64 = outcome.totals.time.iter().map(|t| t.task_ns).sum();
    assert_eq!(ran, 150 * MS);
}

#[test]
fn a_task_without_an_online_cpu_may_run_anywhere_from_then_on() {
    let only = |cpu| Op::SetAffinity(CpuMask::single(cpu));
    let nap = || Op::Sleep(Amount::fixed(10 * MS));
    // Asleep at 20 ms, when CPU 1 goes; it wakes while that is offline, and runs on when it is back.
    let bound = vec![only(1), work(15), nap(), work(5), nap(), nap(), work(5)];
    let mut log = Log::default();
    let w = tasks(vec![("bound", bound.clone())], vec![span("1", 20, Some(40))]);
    run(2, w, &mut [&mut log]).unwrap();
    assert_eq!(log.cpus_of(0, MS), [0, 0, 0], "{:?}", log.ran);
    // Asleep all the while: nothing has changed for it.
    let mut log = Log::default();
    run(2, tasks(vec![("bound", bound)], vec![span("1", 16, Some(24))]), &mut [&mut log]).unwrap();
    assert_eq!(log.cpus_of(0, MS), [1, 1, 1], "{:?}", log.ran);
}

/// The task's timer is armed on CPU 0, which is offline when it expires.
#[test]
fn timers_move_to_another_cpu() {
    let nap = Op::Sleep(Amount::fixed(30 * MS));
    let w = tasks(vec![("t", vec![work(5), nap, work(5)])], vec![span("0", 10, None)]);
    let mut log = Log::default();
    let outcome = run(2, w, &mut [&mut log]).unwrap();
    assert_eq!(outcome.end, 40 * MS);
    assert_eq!(log.ran.last(), Some(&(35 * MS, 1, 0)));
    let idle: Vec<u64> = outcome.totals.time.iter().map(|t| t.idle_ns).collect();
    assert_eq!(idle, [35 * MS, 35 * MS]);
}

#[test]
fn cpus_change_one_after_the_other() {
    let mut log = Log::default();
    let w = tasks(vec![("t", vec![work(80)])], vec![span("0-2", 20, Some(40))]);
    run(4, w, &mut [&mut log]).unwrap();
    let order: Vec<_> = log.online.iter().map(|(_, cpu, online)| (*cpu, *online)).collect();
    assert_eq!(order, [(0, false), (1, false), (2, false), (0, true), (1, true), (2, true)]);
    assert_eq!(log.cpus_of(0, 20 * MS), [1, 2, 3], "{:?}", log.ran);
}

#[test]
fn an_affinity_of_offline_cpus_ends_the_run() {
    let only = Op::SetAffinity(CpuMask::single(1));
    let w = tasks(vec![("t", vec![work(30), only, work(5)])], vec![span("1", 20, None)]);
    let error = run(2, w, &mut []).unwrap_err().to_string();
    assert!(error.contains("asks for CPUs 1 at 30000000 ns, when its task group `/` may use only 0"), "{error}");
}

#[test]
fn the_same_run_gives_the_same_events() {
    let hash = || {
        let programs = (0..6).map(|_| ("t", vec![work(3), Op::Sleep(Amount { base: MS, jitter: MS }), work(40)]));
        let w = tasks(programs.collect(), vec![span("1-2", 12, Some(30)), span("3", 20, None)]);
        let mut hash = HashObserver::new();
        run(4, w, &mut [&mut hash]).unwrap();
        hash.value()
    };
    assert_eq!(hash(), hash());
}

#[test]
fn waste_does_not_count_cpus_that_are_offline() {
    let programs = vec![("a", vec![work(50)]), ("b", vec![work(50)])];
    let w = tasks(programs, vec![span("1", 20, None)]);
    let outcome = run(2, w, &mut []).unwrap();
    assert_eq!(outcome.totals.wasted_ns, 0);
    // Two threads of 50 ms, side by side for 20 ms; the IPI to CPU 1 takes a nanosecond.
    assert_eq!(outcome.end, 80 * MS + 1);
}

#[test]
fn schedutil_is_refused() {
    let config = Config { governor: Governor::Schedutil, ..Config::default() };
    let w = tasks(vec![("t", vec![work(50)])], vec![span("1", 20, None)]);
    let error = run_on(machine(2, 1), w, config, &mut []).unwrap_err();
    assert!(matches!(&error, SimError::Refused { what } if what.contains("schedutil")), "{error}");
}
