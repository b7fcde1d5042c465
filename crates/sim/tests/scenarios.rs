//! Small scenarios whose times are computed by hand. Unless a test says otherwise nothing costs anything but an IPI
//! (1 ns), and the thread of template `i` is placed on CPU `i`: the first starts at 0, the others at 1 ns.

use fairground_machine::{CpuMask, IdleScope, SoftCost};
use fairground_sim::testing::{self, idle_state, machine, spec, workload};
use fairground_sim::{
    Config, Event, EventKind, HashObserver, IdleGovernor, MetricsObserver, MigrateCause, Observer, Outcome, Reason,
    SimError, TaskId, Time,
};
use fairground_workload::{Amount, IrqSource, Mark, Object, Op, ProgramBuilder, Workload};

#[derive(Default)]
struct Recorder(Vec<Event>);

impl Observer for Recorder {
    fn event(&mut self, event: &Event) {
        self.0.push(*event);
    }
}

impl Recorder {
    /// Times and tasks of the events that `pick` selects.
    fn times(&self, pick: impl Fn(&EventKind) -> Option<TaskId>) -> Vec<(Time, TaskId)> {
        self.0.iter().filter_map(|e| pick(&e.kind).map(|t| (e.time, t))).collect()
    }

    fn exits(&self) -> Vec<(Time, TaskId)> {
        self.times(|k| match k {
            EventKind::Exit { task } => Some(*task),
            _ => None,
        })
    }

    fn wakings(&self) -> Vec<(Time, TaskId)> {
        self.times(|k| match k {
            EventKind::Waking { task, .. } => Some(*task),
            _ => None,
        })
    }

    fn marks(&self, which: Mark) -> Vec<Time> {
        let marks = self.0.iter().filter(|e| matches!(e.kind, EventKind::Mark { mark, .. } if mark == which));
        marks.map(|e| e.time).collect()
    }
}

fn plain() -> Config {
    Config { start_phase: false, idle: IdleGovernor::Shallowest, ..Config::default() }
}

fn run_with(m: fairground_machine::Machine, w: Workload, config: Config) -> (Result<Outcome, SimError>, Recorder) {
    let mut recorder = Recorder::default();
    let outcome = testing::engine(m, w, config).run(&mut [&mut recorder]);
    (outcome, recorder)
}

fn run(m: fairground_machine::Machine, w: Workload) -> (Outcome, Recorder) {
    let (outcome, recorder) = run_with(m, w, plain());
    (outcome.expect("the run ends well"), recorder)
}

fn ns(n: u64) -> Op {
    Op::Run(Amount::fixed(n))
}

/// CPU 0: asleep, woken by the start at 0, awake at 200, pick 30 + switch 80: the writer works from 310.
/// Run 5000, then write = syscall 100 + pipe 50 + copy 4, and the pipe's 2 lines x 25, which the reader
/// has touched: it is woken at 5514.
/// CPU 1: sent at probe 10 + enqueue 40 + line of the queue's lock 25 + send 70 = 145, arrives at 645, awake at 845, irq 90 +
/// pick 30 + the lock's line back 25 + switch 80: the reader works from 1070, looks at 1070 + syscall 100 + read 60 = 1230,
/// sleeps (dequeue 20, pick, switch).
/// Wake: wakeup 300 + probe 10 + enqueue 40 + line of the queue's lock 25 + send 70: sent at 5959 (the writer exits then),
/// arrives at 6459, awake at 6659, works from 6884, as the lock's line comes back. Return half 60, then 3 lines x 25 + copy
/// 4: done at 7023. Latency 6884 - 5514 = 1370.
#[test]
fn a_pipe_wakeup_costs_what_it_should_where_it_should() {
    let mut m = machine(2, 1);
    for (kind, ns) in [
        (SoftCost::Syscall, 100.0),
        (SoftCost::PipeWrite, 50.0),
        (SoftCost::PipeRead, 60.0),
        (SoftCost::CopyKib, 1024.0),
        (SoftCost::Wakeup, 300.0),
        (SoftCost::Probe, 10.0),
        (SoftCost::Enqueue, 40.0),
        (SoftCost::Dequeue, 20.0),
        (SoftCost::IpiSend, 70.0),
        (SoftCost::IpiIrq, 90.0),
        (SoftCost::Pick, 30.0),
        (SoftCost::SwitchThread, 80.0),
    ] {
        m.costs.soft_ns[kind as usize] = ns;
    }
    m.costs.ipi_ns = [500; 7];
    m.costs.line_ns = [0, 25, 25, 25, 25, 25, 25];
    m.cpu_types[0].idle_states[0].wake_ns = 200;
    let write = spec("writer", vec![ns(5000), Op::PipeWrite { pipe: 0, bytes: 4 }]);
    let read = spec("reader", vec![Op::PipeRead { pipe: 0, bytes: 4 }]);
    let (outcome, seen) = run(m, workload(vec![Object::Pipe { slots: 16 }], vec![write, read]));
    assert_eq!(seen.wakings(), [(5514, 1)]);
    assert_eq!(seen.exits(), [(5959, 0), (7023, 1)]);
    assert_eq!(outcome.meters.all_wakeup_latencies().max(), 1370);
}

/// 640 messages of 100 bytes fill the pipe; the writer of the 641st sleeps. `nth` read wakes it.
fn read_that_releases_the_writer(eager: bool) -> usize {
    let mut writer = ProgramBuilder::new();
    writer.repeat(Some(641), |p| {
        p.op(Op::PipeWrite { pipe: 0, bytes: 100 });
    });
    let mut reader = ProgramBuilder::new();
    reader.op(Op::SleepUntil(1000)).repeat(Some(641), |p| {
        p.op(Op::PipeRead { pipe: 0, bytes: 100 }).op(Op::Mark(Mark::Op)).op(ns(10));
    });
    let (mut w, mut r) = (spec("writer", vec![]), spec("reader", vec![]));
    (w.program, r.program) = (writer.build(), reader.build());
    let config = Config { pipe_eager_writer_wake: eager, ..plain() };
    let (outcome, seen) = run_with(machine(2, 1), workload(vec![Object::Pipe { slots: 16 }], vec![w, r]), config);
    outcome.expect("the run ends well");
    let woken = seen.wakings().iter().find(|(_, task)| *task == 0).map(|(at, _)| *at);
    let woken = woken.expect("the writer was woken");
    seen.marks(Mark::Op).iter().filter(|at| **at <= woken).count()
}

#[test]
fn a_pipe_writer_is_released_when_a_whole_page_is_read() {
    assert_eq!(read_that_releases_the_writer(false), 40);
}

/// Before Linux 6.14 a reader of a full pipe woke the writer for nothing.
#[test]
fn an_eager_pipe_wakes_the_writer_at_the_first_read() {
    assert_eq!(read_that_releases_the_writer(true), 1);
}

/// Arrivals at 100, 201 and 301; the last releases the others, who are woken by IPI: 302.
#[test]
fn the_last_at_a_barrier_releases_the_others() {
    let task = |n| spec("t", vec![ns(n), Op::BarrierWait(0)]);
    let w = workload(vec![Object::Barrier { parties: 3 }], vec![task(100), task(200), task(300)]);
    assert_eq!(run(machine(3, 1), w).1.exits(), [(301, 2), (302, 0), (302, 1)]);
}

#[test]
fn a_signal_that_nobody_waits_for_is_lost_and_the_deadlock_is_reported() {
    let wait = spec("waiter", vec![ns(200), Op::CondWait { cond: 0, mutex: None }]);
    let signal = spec("signaller", vec![ns(100), Op::Signal(0)]);
    let (outcome, _) = run_with(machine(2, 1), workload(vec![Object::Cond], vec![wait, signal]), plain());
    let Err(SimError::Deadlock { at: 200, report }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(report, "  waiter/0 at step 1: waiting for condition variable 0\n");
}

#[test]
fn a_deadlock_names_who_holds_the_mutex() {
    let objects = vec![Object::Mutex, Object::Mutex];
    let a = spec("a", vec![Op::Lock(0), ns(100), Op::Lock(1)]);
    let b = spec("b", vec![Op::Lock(1), ns(100), Op::Lock(0)]);
    let mut w = workload(objects, vec![a, b]);
    w.object_names = vec!["left".into()];
    let (outcome, _) = run_with(machine(2, 1), w, plain());
    let Err(SimError::Deadlock { report, .. }) = outcome else { panic!("{outcome:?}") };
    assert!(report.contains("a/0 at step 2: waiting for mutex 1, held by b/1"), "{report}");
    assert!(report.contains("b/1 at step 2: waiting for mutex `left`, held by a/0"), "{report}");
}

/// Two threads of a core get 1250/2000 of it each. The first works alone for 1 ns, then 999 work ns at 0.625 take
/// 1599 ns: 1600. The second has then done 999.375 of 1000 and ends 1 ns later, alone again.
#[test]
fn threads_of_a_core_slow_each_other_down() {
    let (_, seen) = run(machine(2, 2), workload(vec![], vec![spec("a", vec![ns(1000)]), spec("b", vec![ns(1000)])]));
    assert_eq!(seen.exits(), [(1600, 0), (1601, 1)]);
}

/// 400 work ns at full speed, the other 600 at half speed.
#[test]
fn a_frequency_change_moves_the_end_of_the_work() {
    let mut engine = testing::engine(machine(1, 1), workload(vec![], vec![spec("a", vec![ns(1000)])]), plain());
    engine.set_frequency(400, 0, 0);
    assert_eq!(engine.run(&mut []).expect("the run ends well").end, 1600);
}

/// 2 ms at 400 mW, 2 ms at 10 mW, two exits of 5 uJ (start, timer), 4 ms of 50 mW static: 800 + 20 + 10 + 200 uJ.
#[test]
fn energy_is_active_idle_transition_and_static() {
    let mut m = machine(1, 1);
    m.cpu_types[0].idle_states[0].power_mw = 10.0;
    m.cpu_types[0].idle_states[0].transition_uj = 5.0;
    m.clusters[0].active_mw = 50.0;
    let a = spec("a", vec![ns(1_000_000), Op::SleepUntil(3_000_000), ns(1_000_000)]);
    let (outcome, _) = run(m, workload(vec![], vec![a]));
    assert_eq!(outcome.end, 4_000_000);
    assert!((outcome.totals.energy_j() - 1030e-6).abs() < 1e-12, "{}", outcome.totals.energy_j());
}

/// Both CPUs ask for the cluster state, so it holds: leaving takes 2000, the thread starts at 2000 and sleeps at
/// once. Entry lasts until 3000, so the timer at 2500 waits: awake at 5000. CPU 1 sleeps all the time: in the cluster
/// state while both ask, 2000..2500, in its own before and after, but for its entry, 0..1000.
#[test]
fn a_wake_during_entry_waits_for_its_end() {
    let mut m = machine(2, 1);
    let mut deep = idle_state("cluster-sleep", 3_000, 10_000);
    (deep.scope, deep.entry_ns, deep.wake_ns) = (IdleScope::Cluster, 1_000, 2_000);
    m.cpu_types[0].idle_states.push(deep);
    let config = Config { idle: IdleGovernor::Deepest, ..plain() };
    let w = workload(vec![], vec![spec("a", vec![Op::SleepUntil(2_500)])]);
    let (outcome, seen) = run_with(m, w, config);
    let outcome = outcome.expect("the run ends well");
    assert_eq!(seen.exits(), [(5_000, 0)]);
    assert_eq!(outcome.totals.idle[0][1].above, 2);
    let held = |state: usize| outcome.totals.idle[1][state].held_ns;
    assert_eq!((held(0), held(1)), (3_500, 500));
}

/// An interrupt of 100 ns every 1000 ns: 10000 ns of work end at 11000, after 10 of them
/// (the work ends before the eleventh: completions come first).
#[test]
fn interrupts_take_time_from_the_task() {
    let mut w = workload(vec![], vec![spec("a", vec![ns(10_000)])]);
    let irq =
        |posts| IrqSource { name: "eth0".into(), cpu: 0, period: Amount::fixed(1000), busy: Amount::fixed(100), posts };
    w.irqs.push(irq(None));
    let (outcome, _) = run(machine(1, 1), w);
    assert_eq!((outcome.end, outcome.totals.time[0].irq_ns), (11_000, 1_000));

    // The handler posts: the sleeper on CPU 0 runs when the handler is over.
    let mut w = workload(vec![Object::Semaphore { value: 0 }], vec![spec("a", vec![Op::SemWait(0)])]);
    w.irqs.push(irq(Some(0)));
    assert_eq!(run(machine(1, 1), w).1.exits(), [(1_100, 0)]);
}

/// Stays of 100 us suit WFI, stays of 10 ms suit the sleep state (after 8 stays the governor knows), and never is a
/// state charged as too deep.
#[test]
fn the_governor_learns_which_state_pays() {
    let uses = |sleep_ns: u64| {
        let mut m = machine(1, 1);
        m.cpu_types[0].idle_states.push(idle_state("sleep", 500_000, 1_500_000));
        let mut p = ProgramBuilder::new();
        p.repeat(Some(100), |p| {
            p.op(ns(1000)).op(Op::Sleep(Amount::fixed(sleep_ns)));
        });
        let mut a = spec("a", vec![]);
        a.program = p.build();
        let config = Config { idle: IdleGovernor::Menu, ..plain() };
        let outcome = run_with(m, workload(vec![], vec![a]), config).0.expect("the run ends well");
        let states = &outcome.totals.idle[0];
        assert_eq!(states[1].above, 0);
        (states[0].usage, states[1].usage)
    };
    assert_eq!(uses(100_000).1, 0);
    let (shallow, deep) = uses(10_000_000);
    assert!(deep >= 85 && shallow < 40, "{shallow} {deep}");
}

/// The times at which a thread that sleeps 5000 ns, then works 100 in every period of 1000, starts to work.
fn periods_after(lead: Vec<Op>, config: Config) -> Vec<Time> {
    let mut p = ProgramBuilder::new();
    lead.into_iter().for_each(|op| {
        p.op(op);
    });
    p.repeat(Some(3), |p| {
        p.op(Op::Mark(Mark::Op)).op(ns(100)).op(Op::TimerWait { timer: 0, period_ns: 1000, relative: true });
    });
    let mut a = spec("a", vec![]);
    a.program = p.build();
    let objects = vec![Object::Timer { per_task: true }, Object::Barrier { parties: 1 }];
    let (outcome, seen) = run_with(machine(1, 1), workload(objects, vec![a]), config);
    outcome.expect("the run ends well");
    seen.marks(Mark::Op)
}

/// Periods count from the end of the waits at the head of the program, not from the thread's first time on a CPU: else
/// the second period would begin at once, and threads with different delays would fall into step.
#[test]
fn a_timer_counts_from_the_end_of_the_leading_wait() {
    let sleep = Op::Sleep(Amount::fixed(5_000));
    for lead in [sleep.clone(), Op::SleepUntil(5_000)] {
        assert_eq!(periods_after(vec![Op::BarrierWait(1), lead], plain()), [5_000, 6_000, 7_000]);
    }
    // A sleep behind work is part of the first period: 5100 later, then a late period restarts.
    assert_eq!(periods_after(vec![ns(100), sleep], plain()), [5_100, 5_200, 6_200]);
}

/// The start of the workload is drawn from the seed; delays are counted from there.
#[test]
fn a_delay_counts_from_the_start_of_the_workload() {
    let config = Config { start_phase: true, ..plain() };
    let start = periods_after(vec![], config)[0];
    assert!(start > 0);
    assert_eq!(periods_after(vec![Op::SleepUntil(5_000)], config)[0], start + 5_000);
}

/// The thread is preempted by an affinity change of its own: the stopper moves it, its cache is refilled.
/// 100 ns of work, then CPU 1 by IPI (1 ns): 64 KiB x 3 ns of stall, then 50 ns.
#[test]
fn the_stopper_moves_a_thread_and_its_cache_is_refilled() {
    let mut m = machine(2, 1);
    m.costs.refill_kib_ns = [3; 7];
    let mut a = spec("a", vec![ns(100), Op::SetAffinity(CpuMask::single(1)), ns(50)]);
    a.footprint_kib = 64;
    let (_, seen) = run(m, workload(vec![], vec![a]));
    assert_eq!(seen.exits(), [(101 + 192 + 50, 0)]);
    let moved = seen.0.iter().any(|e| {
        matches!(e.kind, EventKind::Migrate { task: 0, from: 0, to: 1, cause: MigrateCause::Affinity } if e.time == 100)
    });
    assert!(moved);
}

/// One CPU, two spinners by the clock: both see 10 ms pass although each has the CPU for about half of it.
#[test]
fn wall_clock_spinning_counts_preempted_time() {
    let spin = || spec("spin", vec![Op::RunWall(Amount::fixed(10_000_000))]);
    let (outcome, seen) = run(machine(1, 1), workload(vec![], vec![spin(), spin()]));
    // The second first runs at the tick at 4 ms, so until 14 ms; the first's time is over at 10 ms, but it is only
    // noticed when it runs again, at 12 ms... unless it has the CPU then (8 to 12 ms): 10 ms.
    assert_eq!(seen.exits(), [(10_000_000, 0), (14_000_000, 1)]);
    assert_eq!(outcome.totals.time[0].task_ns, 14_000_000);
}

/// The third thread queues behind the first on CPU 0 until 1000; CPU 1 idles from 101, when the second exits.
#[test]
fn a_thread_that_waits_while_a_cpu_idles_is_waste() {
    let task = |n| spec("t", vec![ns(n)]);
    let (outcome, seen) = run(machine(2, 1), workload(vec![], vec![task(1000), task(100), task(1000)]));
    assert_eq!(seen.exits(), [(101, 1), (1000, 0), (2000, 2)]);
    assert_eq!(outcome.totals.wasted_ns, 899);
}

/// A parent makes two children, waits for both, and executes another program.
#[test]
fn families_wait_for_each_other() {
    let parent = spec("parent", vec![Op::Spawn { spec: 1, count: 2, thread: false }, Op::WaitChildren, Op::Exec]);
    let mut w = workload(vec![], vec![parent, spec("child", vec![ns(500)])]);
    w.start.truncate(1);
    let (_, seen) = run(machine(4, 1), w);
    assert_eq!(seen.exits(), [(501, 1), (501, 2), (502, 0)]);
}

#[test]
fn a_duration_that_no_run_may_take_is_refused_at_once() {
    let mut w = workload(vec![], vec![spec("a", vec![ns(1)])]);
    w.duration_ns = Some(7_200_000_000_000);
    let (outcome, seen) = run_with(machine(1, 1), w, plain());
    let Err(SimError::Program { what, .. }) = outcome else { panic!("{outcome:?}") };
    assert_eq!((what.as_str(), seen.0.len()), ("its duration is 7200 s; a run may take 3600 s", 0));
}

/// Dead threads keep their ids, so a run that forks for ever would eat all memory.
#[test]
fn a_run_that_forks_for_ever_fails() {
    let mut p = ProgramBuilder::new();
    p.repeat(None, |p| {
        p.op(Op::Spawn { spec: 1, count: 1, thread: true }).op(ns(1));
    });
    let mut parent = spec("parent", vec![]);
    parent.program = p.build();
    let mut w = workload(vec![], vec![parent, spec("child", vec![])]);
    w.start.truncate(1);
    let (outcome, _) = run_with(machine(1, 1), w, plain());
    let Err(SimError::TooManyThreads { max: 1_000_000, name, .. }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(name, "child");
}

#[test]
fn a_loop_that_takes_no_time_is_named() {
    let mut p = ProgramBuilder::new();
    p.repeat(None, |p| {
        p.op(Op::FutexWait { futex: 0, expected: 1 });
    });
    let mut a = spec("spinner", vec![]);
    a.program = p.build();
    // It might have slept, so that it is not refused.
    let (outcome, _) = run_with(machine(1, 1), workload(vec![Object::Futex { value: 0 }], vec![a]), plain());
    let Err(SimError::Livelock { what, .. }) = outcome else { panic!("{outcome:?}") };
    assert!(what.contains("spinner/0"), "{what}");
}

#[test]
fn a_program_that_names_the_wrong_object_is_an_error() {
    let (outcome, _) =
        run_with(machine(1, 1), workload(vec![Object::Cond], vec![spec("a", vec![Op::Lock(0)])]), plain());
    let Err(SimError::Program { what, .. }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(what, "`a` uses object 0 as a mutex, but it is a condition variable");
}

/// A refused workload allocates no memory.
#[test]
fn a_pipe_of_absurd_size_is_an_error() {
    let slots = u32::MAX;
    let w = workload(vec![Object::Pipe { slots }], vec![spec("a", vec![])]);
    let (outcome, _) = run_with(machine(1, 1), w, plain());
    assert!(matches!(outcome, Err(SimError::Program { .. })), "{outcome:?}");
}

/// As a kernel takes a mask: what of it exists counts.
#[test]
fn absent_cpus_of_an_affinity_are_passed_over() {
    let some = CpuMask::parse_list("1,5-9").unwrap();
    let mut bound = spec("bound", vec![ns(100)]);
    bound.affinity = Some(some);
    let moved = spec("moved", vec![Op::SetAffinity(some), ns(100)]);
    let (_, seen) = run(machine(2, 1), workload(vec![], vec![bound, moved]));
    assert_eq!(seen.exits().len(), 2);
    let ran = seen.0.iter().filter(|e| matches!(e.kind, EventKind::Exit { .. })).map(|e| e.cpu);
    assert_eq!(ran.collect::<Vec<_>>(), [1, 1]);
}

/// While a thread waits for the device, it may yet wake the other. Once it has exited nothing can change any more,
/// however often the device posts.
#[test]
fn a_device_does_not_hide_a_deadlock_of_others() {
    let served = spec("served", vec![Op::SemWait(0), Op::SemWait(0)]);
    let stuck = spec("stuck", vec![Op::CondWait { cond: 1, mutex: None }]);
    let mut w = workload(vec![Object::Semaphore { value: 0 }, Object::Cond], vec![served, stuck]);
    w.irqs.push(IrqSource {
        name: "eth0".into(),
        cpu: 0,
        period: Amount::fixed(1000),
        busy: Amount::fixed(100),
        posts: Some(0),
    });
    let (outcome, seen) = run_with(machine(2, 1), w, plain());
    let Err(SimError::Deadlock { at: 2_100, report }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(seen.exits(), [(2_100, 0)]);
    assert_eq!(report, "  stuck/1 at step 0: waiting for condition variable 1\n");
}

#[test]
fn a_run_that_does_not_end_says_what_it_was_doing() {
    let config = Config { max_time_ns: 10_000, ..plain() };
    let (outcome, _) = run_with(machine(1, 1), workload(vec![], vec![spec("long", vec![ns(1 << 40)])]), config);
    let Err(SimError::TimeLimit { at: 10_000, report }) = outcome else { panic!("{outcome:?}") };
    assert!(report.contains("long/0 at step 0: running on CPU 0"), "{report}");
}

/// 1 op per 1000 ns between Begin (at 500) and End; one migration of a wakeup is not there: 1e6 ops/s.
#[test]
fn metrics_cover_the_window_between_the_marks() {
    let mut p = ProgramBuilder::new();
    p.op(ns(500)).op(Op::Mark(Mark::Begin)).op(Op::Mark(Mark::Steady)).repeat(Some(100), |p| {
        p.op(ns(1000)).op(Op::Mark(Mark::Op));
    });
    p.op(Op::Mark(Mark::End)).op(ns(7777));
    let mut a = spec("a", vec![]);
    a.program = p.build();
    let w = workload(vec![], vec![a]);
    let m = machine(1, 1);
    let mut metrics = MetricsObserver::new(std::sync::Arc::new(m.clone()), &w);
    let mut engine = testing::engine(m, w, plain());
    let outcome = engine.run(&mut [&mut metrics]).expect("the run ends well");
    let result = metrics.finish(&outcome, engine.scheduler());
    assert_eq!((result.window_ns, result.ops), (100_000, 100));
    assert_eq!((result.ops_per_sec, result.migrations_per_op), (Some(1e6), Some(0.0)));
    assert!((result.energy_j - 0.4 * 100e-6).abs() < 1e-12);
}

/// One wakeup between the marks, and two behind them that do not count.
#[test]
fn delays_stop_at_the_end_mark() {
    let waker = |after: Vec<Op>| {
        let mut ops = vec![Op::Mark(Mark::Begin), ns(500), Op::Sleep(Amount::fixed(1_000)), Op::Mark(Mark::End)];
        ops.extend(after);
        run(machine(1, 1), workload(vec![], vec![spec("a", ops)])).0.meters
    };
    let later = waker(vec![Op::Sleep(Amount::fixed(1_000)), ns(1), Op::Sleep(Amount::fixed(1_000))]);
    assert_eq!(later, waker(vec![]));
    assert_eq!((later.wakeup_latency[0].count(), later.run_delay.count()), (1, 1));
}

/// The start phase and the jitter come from the seed; the same seed gives the same bytes.
#[test]
fn the_seed_is_all_that_varies() {
    let hash = |seed| {
        let a = || spec("a", vec![Op::Run(Amount { base: 1000, jitter: 5000 }), Op::Sleep(Amount::fixed(100))]);
        let mut hash = HashObserver::new();
        let config = Config { seed, ..Config::default() };
        let w = workload(vec![], vec![a(), a(), a()]);
        testing::engine(testing::with_costs(machine(2, 1)), w, config)
            .run(&mut [&mut hash])
            .expect("the run ends well");
        hash.hex()
    };
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1), hash(2));
}

/// Counts the reasons before each decision.
#[derive(Default)]
struct Why {
    wants: bool,
    /// Reasons that are not yet followed by their decision.
    open: Option<(Event, usize)>,
    decisions: Vec<usize>,
}

impl Observer for Why {
    fn event(&mut self, event: &Event) {
        if matches!(event.kind, EventKind::Decision(_)) {
            let reported = self.open.take().map(|(of, n)| {
                assert_eq!(of, *event, "reasons come with their decision");
                n
            });
            self.decisions.push(reported.unwrap_or(0));
        }
        assert_eq!(self.open, None, "nothing comes between reasons and their decision");
    }

    fn wants_reasons(&self) -> bool {
        self.wants
    }

    fn reasons(&mut self, decision: &Event, reasons: &[Reason]) {
        self.open = Some((*decision, reasons.len()));
    }
}

/// Two births and two wakeups; the toy scheduler gives one reason for each.
#[test]
fn reasons_come_right_before_their_decision_and_change_nothing() {
    let sleeper = spec("sleeper", vec![Op::Sleep(Amount::fixed(1_000)), Op::Run(Amount::fixed(500))]);
    let reported = |wants: bool| {
        let (mut why, mut other, mut hash) = (Why { wants, ..Why::default() }, Why::default(), HashObserver::new());
        let mut engine =
            testing::engine(machine(2, 1), workload(vec![], vec![sleeper.clone(), sleeper.clone()]), plain());
        engine.run(&mut [&mut other, &mut why, &mut hash]).expect("the run ends well");
        assert_eq!(why.decisions, other.decisions, "all observers get the reasons");
        (why.decisions, hash.value())
    };
    let (with, hash) = reported(true);
    assert_eq!(with, [1, 1, 1, 1]);
    assert_eq!(reported(false), (vec![0, 0, 0, 0], hash), "no observer asks");
}

/// A task makes a child before the window begins; the rig's scheduler puts children on CPUs of their own.
#[test]
fn births_are_told_by_distance_whenever_they_happen() {
    let child = Op::Spawn { spec: 1, count: 1, thread: true };
    let parent = spec("parent", vec![ns(500), child, ns(1000), Op::Mark(Mark::Begin), ns(1000), Op::WaitChildren]);
    let mut w = workload(vec![], vec![parent, spec("child", vec![ns(100)])]);
    w.start.truncate(1);
    let of = |m: fairground_machine::Machine| {
        let mut metrics = MetricsObserver::new(std::sync::Arc::new(m.clone()), &w);
        let mut engine = testing::engine(m, w.clone(), plain());
        let outcome = engine.run(&mut [&mut metrics]).expect("the run ends well");
        metrics.finish(&outcome, engine.scheduler())
    };
    let result = of(machine(2, 1));
    assert_eq!(result.births_by_distance.iter().sum::<u64>(), 1, "the parent was there at time 0");
    assert_eq!(result.births_near_pct(), 100.0);
}
