//! Built-in benchmarks, run: figures that can be computed by hand.

use fairground_machine::{Machine, SoftCost};
use fairground_sim::testing::{self, machine, with_costs};
use fairground_sim::{Config, Event, EventKind, IdleGovernor, MetricsObserver, Observer, RunMetrics};
use fairground_workload::{builtins, Workload};

#[derive(Default)]
struct Counts {
    forks: u64,
    execs: u64,
    exits: u64,
}

impl Observer for Counts {
    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Fork { .. } => self.forks += 1,
            EventKind::Exec { .. } => self.execs += 1,
            EventKind::Exit { .. } => self.exits += 1,
            _ => {}
        }
    }
}

fn run(m: &Machine, spec: &str) -> (RunMetrics, Counts) {
    let (w, warnings) = Workload::find(spec, m).expect("a built-in");
    assert_eq!(warnings, []);
    let mut counts = Counts::default();
    let mut metrics = MetricsObserver::new(std::sync::Arc::new(m.clone()), &w);
    let config = Config { idle: IdleGovernor::Shallowest, ..Config::default() };
    let mut engine = testing::engine(m.clone(), w, config);
    let outcome = engine.run(&mut [&mut counts, &mut metrics]).unwrap_or_else(|e| panic!("{spec}: {e}"));
    (metrics.finish(&outcome, engine.scheduler()), counts)
}

/// Free but for one price, ns.
fn priced(cpus: u32, kind: SoftCost, ns: f64) -> Machine {
    let mut m = machine(cpus, 1);
    m.costs.soft_ns[kind as usize] = ns;
    m
}

#[test]
fn every_built_in_ends_on_one_cpu() {
    let short = [
        ("adrestia", "loops=20"),
        ("adrestia", "loops=20,threads=3,periodic"),
        ("dbench", "clients=3,duration=0.01"),
        ("fork-burst", "bursts=3"),
        ("fork-burst", "bursts=3,interval=100,threads"),
        ("geekbench5", "copies=2,work=2,gap=30"),
        ("geekbench5", "copies=1,work=2,gap=0,frames=0,until-last,requests=none"),
        ("hackbench", "groups=2,loops=20"),
        ("hackbench", "groups=1,loops=100,pipe,threads"),
        ("messaging", "groups=1,loops=5,threads"),
        ("jankbench", "duration=0.5"),
        ("jankbench", "test=overdraw_test,hz=120,duration=0.2,frame-scale=3,requests=c"),
        ("kbuild", "jobs=3,files=7,compile=1"),
        ("oltp", "clients=3,sharing=2,duration=0.05"),
        ("periodic", "duration=0.1"),
        ("server", "connections=3,duration=0.05"),
        ("schbench", "runtime=0.5"),
        ("sched-pipe", "loops=20"),
        ("shell8", "duration=0.2,copies=2"),
        ("uclamp-micro", "duration=0.1"),
        ("uclamp-micro", "case=cap,duration=0.1"),
        ("uclamp-micro", "case=no-inheritance,duration=0.1"),
        ("uclamp-micro", "case=max-aggregation,duration=0.1"),
    ];
    let m = with_costs(machine(1, 1));
    for (name, options) in short {
        run(&m, &format!("{name}:{options}"));
    }
    assert!(builtins().iter().all(|b| short.iter().any(|(name, _)| *name == b.name)), "a built-in is not run here");
}

/// 400 messages a group and round, of which each takes its sender's 700 ns and its receiver's 300 ns. On one CPU the
/// time is their sum, but for 40 reports (before the start), one start signal and whatever waits cost (nothing here).
#[test]
fn hackbench_on_one_cpu_takes_the_time_of_its_messages() {
    let mut m = machine(1, 1);
    m.costs.soft_ns[SoftCost::SockSend as usize] = 700.0;
    m.costs.soft_ns[SoftCost::SockRecv as usize] = 300.0;
    let (metrics, counts) = run(&m, "hackbench:groups=2,loops=30");
    assert_eq!((counts.forks, counts.exits), (81, 81));
    let messages = 400 * 2 * 30;
    let least = 700 + messages * 1000;
    assert_eq!(metrics.window_ns, least, "a sleeper pays nothing twice");
}

/// Nothing costs anything but a switch, 5 us: a worker that is called is back after that and an IPI of 1 ns.
#[test]
fn schbench_on_an_idle_machine_shows_the_switch() {
    let m = priced(4, SoftCost::SwitchThread, 5000.0);
    let (metrics, _) = run(&m, "schbench:message-threads=1,threads=1,cputime=100,sleeptime=500,runtime=1");
    let samples = &metrics.series[0];
    assert!(samples.count() > 1000);
    assert_eq!([500, 990].map(|p| samples.permille_as_printed(p)), [5, 5]);
}

/// As above: main's write wakes the thread, whose switch takes 7 us.
#[test]
fn adrestia_single_shows_the_wakeup() {
    let m = priced(2, SoftCost::SwitchThread, 7000.0);
    let (metrics, _) = run(&m, "adrestia:loops=500");
    assert_eq!(metrics.series[0].count(), 500);
    assert_eq!(metrics.series[0].permille_as_printed(500), 7);
    let (metrics, _) = run(&m, "adrestia:loops=50,threads=10");
    assert_eq!(metrics.series[0].count(), 500, "one thread, ten times as often");
}

/// 12 us of work and 3 us under the lock, which no other thread takes; no flush: 15 us an operation.
#[test]
fn dbench_of_one_client_is_thinking_and_holding() {
    let (metrics, _) = run(&machine(2, 1), "dbench:clients=1,think=12,hold=3,flush=0,duration=1");
    let ns_per_op = metrics.window_ns as f64 / metrics.ops as f64;
    assert_eq!(metrics.window_ns, 800_000_000);
    assert!((ns_per_op / 15_000.0 - 1.0).abs() < 0.005, "{ns_per_op}");
}

/// Four clients on CPUs of their own, thinking 1 us and holding 5: the lock is always taken, an operation in 5 us.
#[test]
fn dbench_of_many_clients_is_bound_by_the_lock() {
    let (metrics, _) = run(&machine(5, 1), "dbench:clients=4,think=1,hold=5,lines=0,flush=0,duration=0.5");
    let ns_per_op = metrics.window_ns as f64 / metrics.ops as f64;
    assert!((ns_per_op / 5_000.0 - 1.0).abs() < 0.005, "{ns_per_op}");
}

/// A loop is 65 forks and 65 execs; the looper itself was there, the last loop is under way.
#[test]
fn shell8_forks_65_programs_a_loop() {
    let (metrics, counts) = run(&with_costs(machine(4, 1)), "shell8:duration=1,program=300");
    assert!(metrics.ops > 10, "{}", metrics.ops);
    let under_way = counts.forks - 1 - metrics.ops * 65;
    assert!(under_way <= 65, "{under_way}");
    assert!(counts.forks > counts.execs && counts.execs >= metrics.ops * 65);
}

/// Eight copies of 20 ms on CPUs of their own, all at full speed: 8 x 50/s in each phase. What anything costs is little beside
/// that.
#[test]
fn geekbench5_on_idle_cpus_gets_the_rates_of_its_copies() {
    let m = with_costs(machine(24, 1));
    for (options, rate) in [("", 400.0), (",until-last", 50.0), (",scale=1/4", 1600.0)] {
        let (metrics, _) = run(&m, &format!("geekbench5:work=20,gap=500,requests=none,frames=3{options}"));
        assert_eq!(metrics.phase_rates.len(), 21);
        for rates in metrics.phase_rates {
            assert!((rates / rate - 1.0).abs() < 0.01, "{options}: {rates}");
        }
    }
}

/// Seven frames in a hundred may start while the one before is drawn, none later than its vsync by more than an IPI: a
/// frame takes what its own threads and a call of binder work. `list_view`: 900 + 1100 us, a fifth more or less, and 40.
#[test]
fn jankbench_on_idle_cpus_takes_the_work_of_a_frame() {
    let (metrics, _) = run(&machine(12, 1), "jankbench:test=list_view,duration=5");
    let frames = &metrics.series[0];
    assert_eq!(frames.count(), 300, "5 s at 60 Hz, all of them measured");
    assert!((frames.mean() / 2_040_000.0 - 1.0).abs() < 0.02, "{}", frames.mean());
    assert!(frames.max() < 2_500_000 && metrics.late[0] == [0, 0], "{} {:?}", frames.max(), metrics.late);
    let apart = metrics.window_ns as f64 / 300.0;
    assert!((apart / 16_666_666.0 - 1.0).abs() < 0.01, "a frame a vsync: {apart}");
}

/// Seven times the work: about 14.3 ms a frame, over the app's 12 ms and under the period. The app's own part and the
/// sync of the next frame fit beside the drawing of this one, so that no vsync is missed.
#[test]
fn jankbench_counts_frames_beyond_its_deadlines() {
    let (metrics, _) = run(&machine(12, 1), "jankbench:test=list_view,duration=5,frame-scale=7");
    let (frames, late) = (metrics.series[0].count(), &metrics.late[0]);
    assert_eq!(frames, 300);
    assert!(late[0] > 290, "over 12 ms: {late:?}");
    assert!(late[1] < 15, "over 16.67 ms: {late:?}");
    let (metrics, _) = run(&machine(12, 1), "jankbench:test=list_view,duration=5,frame-scale=10");
    assert!(metrics.late[0][1] > 290, "20.4 ms are over both: {:?}", metrics.late);
}

/// On CPUs of their own. The mutex is held half of the time, for 2 ms: a wait is at most that.
#[test]
fn uclamp_micros_wait_is_the_holders_time() {
    let (metrics, _) = run(&machine(4, 1), "uclamp-micro:case=no-inheritance,work=2000,period=7,duration=8");
    let waits = &metrics.series[0];
    assert!(waits.count() > 500 && waits.max() <= 2_000_001, "{} {}", waits.count(), waits.max());
    assert!(waits.max() > 1_000_000, "{}", waits.max());
}

/// Five children of 50 us work on CPUs of their own, forked 10 us apart: the last begins at 50 us and is done at 100.
#[test]
fn a_fork_burst_ends_with_its_last_child() {
    let m = priced(6, SoftCost::Fork, 10_000.0);
    let (metrics, counts) = run(&m, "fork-burst:bursts=7,children=5,work=50,gap=1");
    assert_eq!(counts.forks, 1 + 7 * 5);
    let (burst, fork) = (&metrics.series[0], &metrics.series[1]);
    assert_eq!((burst.count(), fork.count()), (7, 35));
    assert!((100_000..100_010).contains(&burst.max()), "{}", burst.max());
    assert!(fork.max() <= 10_001, "10 us of fork, and an IPI: {}", fork.max());
    assert!(fork.sum() >= 35 * 10_000, "{}", fork.sum());
}
