//! Workloads carried out here: what they do is asserted, never how long it takes, but for the least that it must.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use fairground_machine::{CpuMask, Machine};
use fairground_play::{affinity, CannotPlay, Ended, Player, Round, RoundError, RoundOptions, Surroundings};
use fairground_sim::testing::{self, spec};
use fairground_sim::{lineage_of_child, lineage_of_start, program_amount, Config, MetricsObserver};
use fairground_workload::*;

/// A bound that nothing here comes near.
const LIMIT: Duration = Duration::from_secs(300);

/// Bound to the CPUs that this test may use, whichever they are.
fn here(mut workload: Workload) -> (Workload, CpuMask) {
    let cpus = affinity().unwrap();
    workload.bind(&cpus);
    (workload, cpus)
}

fn play_for(workload: Workload, seed: u64, limit: Duration) -> Result<Round, RoundError> {
    let (workload, cpus) = here(workload);
    let player = match Player::new(workload, &cpus, cpus.first().unwrap(), false) {
        Ok(player) => player,
        Err(CannotPlay::Round(error)) => return Err(error),
        Err(CannotPlay::Refused(refusal)) => panic!("{refusal}"),
    };
    player.round(&RoundOptions { seed, limit, count_migrations: false }, &AtomicBool::new(false))
}

fn play(workload: Workload) -> Round {
    let round = play_for(workload, 1, LIMIT).unwrap();
    assert_eq!(round.ended, Ended::Complete);
    round
}

fn find(spec: &str) -> Workload {
    Workload::find(spec, &Machine::symmetric(2)).unwrap().0
}

fn file(text: &str) -> Workload {
    Workload::from_file_content("test.json", "", text.as_bytes(), &Machine::symmetric(2)).unwrap().0
}

#[test]
fn a_ping_pong_does_as_many_operations_as_asked_for() {
    for (spec, threads) in [("sched-pipe:loops=500", 2), ("sched-pipe:loops=500,threads", 3)] {
        let round = play(find(spec));
        assert_eq!((round.metrics.ops, round.threads), (500, threads), "{spec}");
        assert!(round.metrics.ops_per_sec.is_some() && round.voluntary_switches > 0, "{round:?}");
    }
}

#[test]
fn groups_of_senders_come_to_their_end_over_pipes_and_sockets() {
    for options in ["", ",pipe", ",threads", ",pipe,threads"] {
        let round = play(find(&format!("hackbench:groups=1,loops=3,fds=3{options}")));
        assert_eq!(round.threads, 7, "{options}");
        assert!(round.metrics.window_ns > 0 && round.metrics.window_ns <= round.wall_ns, "{round:?}");
    }
}

/// Three threads at a barrier, one of which signals; a mutex around it all; and pipes of rt-app's file.
#[test]
fn rt_app_files_with_locks_and_barriers_end() {
    let round = play(file(
        r#"{ "tasks": {
            "a": { "loop": 20, "lock": "m", "run": 10, "unlock": "m", "barrier": "b" },
            "b": { "loop": 20, "lock": "m", "unlock": "m", "barrier": "b" },
            "c": { "loop": 20, "run": 5, "barrier": "b" },
            "s": { "loop": 5, "sleep": 100, "timer": { "ref": "t", "period": 500 } },
        } }"#,
    ));
    assert_eq!(round.threads, 4);
    assert!(round.wall_ns >= 5 * 500_000, "five periods: {}", round.wall_ns);
}

/// One template a thread, one thread a template.
fn toy(objects: Vec<Object>, tasks: Vec<TaskSpec>) -> Workload {
    testing::workload(objects, tasks)
}

fn repeat(times: u64, body: Vec<Op>) -> Vec<Op> {
    let mut p = ProgramBuilder::new();
    p.repeat(Some(times), |p| body.into_iter().for_each(|op| _ = p.op(op)));
    p.build().to_vec()
}

/// The threads of a program that creates these as its children and awaits them, as threads or as processes.
fn family(thread: bool, objects: Vec<Object>, children: Vec<TaskSpec>) -> Workload {
    let mut program: Vec<Op> = (1..=children.len() as u32).map(|spec| Op::Spawn { spec, count: 1, thread }).collect();
    program.push(Op::WaitChildren);
    let tasks = std::iter::once(spec("parent", program)).chain(children).collect();
    Workload { start: vec![Start { spec: 0, count: 1, cpu: 0, process: 0 }], ..toy(objects, tasks) }
}

#[test]
fn semaphores_hand_over_as_often_as_they_are_posted() {
    for thread in [true, false] {
        let objects = vec![Object::Semaphore { value: 0 }, Object::Semaphore { value: 0 }];
        let ping = repeat(300, vec![Op::SemPost(0), Op::SemWait(1), Op::Mark(Mark::Op)]);
        let pong = repeat(300, vec![Op::SemWait(0), Op::SemPost(1)]);
        let round = play(family(thread, objects, vec![spec("ping", ping), spec("pong", pong)]));
        assert_eq!((round.metrics.ops, round.threads), (300, 3));
    }
}

/// The one who waits holds the mutex until it sleeps, and the one who signals takes it first: no signal is lost.
#[test]
fn a_condition_variable_wakes_who_waits() {
    for thread in [true, false] {
        let objects = vec![Object::Mutex, Object::Cond, Object::Semaphore { value: 0 }];
        let wait = repeat(
            100,
            vec![
                Op::Lock(0),
                Op::SemPost(2),
                Op::CondWait { cond: 1, mutex: Some(0) },
                Op::Unlock(0),
                Op::Mark(Mark::Op),
            ],
        );
        let signal = repeat(100, vec![Op::SemWait(2), Op::Lock(0), Op::Signal(1), Op::Unlock(0)]);
        let round = play(family(thread, objects, vec![spec("wait", wait), spec("signal", signal)]));
        assert_eq!(round.metrics.ops, 100);
    }
}

#[test]
fn barriers_release_all_parties_every_time() {
    for thread in [true, false] {
        let child = || spec("party", repeat(50, vec![Op::BarrierWait(0), Op::Yield, Op::Mark(Mark::Op)]));
        let round = play(family(thread, vec![Object::Barrier { parties: 3 }], vec![child(), child(), child()]));
        assert_eq!(round.metrics.ops, 150);
    }
}

/// A word that has another value lets nobody sleep; a sleeper is woken by whoever stores and wakes.
#[test]
fn futexes_sleep_only_on_the_expected_value() {
    let objects = vec![Object::Futex { value: 7 }];
    let sleeper = vec![Op::FutexWait { futex: 0, expected: 8 }, Op::FutexWait { futex: 0, expected: 7 }];
    let waker = repeat(
        10,
        vec![
            Op::FutexStore { futex: 0, value: 1 },
            Op::FutexWake { futex: 0, count: 1 },
            Op::RunWall(Amount::fixed(1000)),
        ],
    );
    play(family(false, objects, vec![spec("sleeper", sleeper), spec("waker", waker)]));
}

#[test]
fn workers_on_a_roster_are_called_and_measure_it() {
    let round = play(find("schbench:message-threads=1,threads=3,cputime=100,sleeptime=200,runtime=0.2"));
    assert!(round.metrics.series[0].count() > 0);
    assert!(round.wall_ns >= 200_000_000, "its duration");
}

#[test]
fn children_are_awaited_one_by_one_and_all() {
    let round = play(find("fork-burst:bursts=3,children=4"));
    assert_eq!(round.metrics.series[0].count(), 3);
}

/// A daemon keeps nothing alive, and is gone afterwards.
#[test]
fn daemons_end_with_the_others() {
    let name = format!("pd{}", std::process::id());
    let mut forever = ProgramBuilder::new();
    forever.repeat(None, |p| _ = p.op(Op::Sleep(Amount::fixed(1_000_000))));
    let daemon = TaskSpec { daemon: true, program: forever.build(), ..spec(&name, Vec::new()) };
    let quick = spec("quick", vec![Op::Run(Amount::fixed(1000))]);
    play(toy(vec![], vec![daemon, quick]));
    assert_eq!(threads_named(&name), 0);
}

#[test]
fn attributes_and_affinity_are_set() {
    let first = affinity().unwrap().first().unwrap();
    let attr = SchedAttr { policy: Policy::Batch, nice: 5, ..SchedAttr::default() };
    let program = vec![Op::SetAttr(attr), Op::SetAffinity(CpuMask::single(first)), Op::Run(Amount::fixed(1000))];
    play(toy(vec![], vec![TaskSpec { footprint_kib: 64, ..spec("changes", program) }]));
}

#[test]
fn an_interrupt_ends_a_round_and_all_that_it_created() {
    let name = format!("pi{}", std::process::id());
    let (workload, cpus) = here(endless(&name));
    let player = Player::new(workload, &cpus, cpus.first().unwrap(), false).unwrap();
    let options = RoundOptions { seed: 1, limit: LIMIT, count_migrations: false };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let round = scope.spawn(|| player.round(&options, &stop));
        // The first of the parents ends at once, and so do two more.
        while threads_named(&name) < 5 {
            assert!(!round.is_finished(), "it never ends by itself");
            std::thread::sleep(Duration::from_millis(5));
        }
        stop.store(true, Ordering::Relaxed);
        assert_eq!(round.join().unwrap().unwrap().ended, Ended::Interrupted);
    });
    assert_eq!(threads_named(&name), 0);
}

/// Processes with threads and children that never end, named by `name`.
fn endless(name: &str) -> Workload {
    let mut forever = ProgramBuilder::new();
    forever.repeat(None, |p| _ = p.op(Op::Sleep(Amount::fixed(1_000_000))));
    let forever = forever.build();
    let stuck = || TaskSpec { program: std::sync::Arc::clone(&forever), ..spec(name, Vec::new()) };
    let mut workload = family(false, vec![], vec![stuck(), stuck()]);
    workload.tasks[0].name = name.into();
    // One whose parent ends at once.
    workload.tasks.push(spec(name, vec![Op::Spawn { spec: 1, count: 1, thread: false }]));
    workload.start.push(Start { spec: 3, count: 2, cpu: 0, process: 1 });
    workload
}

/// Threads of any process that are called so and live: a zombie is gone, whoever is to await it.
fn threads_named(name: &str) -> usize {
    let entries = |path: std::path::PathBuf| std::fs::read_dir(path).into_iter().flatten().flatten();
    let threads = entries("/proc".into()).flat_map(|process| entries(process.path().join("task")));
    // ID (COMM) STATE ...
    let is_one = |stat: String| {
        let (comm, state) = stat.split_once('(').and_then(|(_, rest)| rest.rsplit_once(") "))?;
        Some(comm == name && !state.starts_with(['Z', 'X']))
    };
    threads.filter(|t| std::fs::read_to_string(t.path().join("stat")).ok().and_then(is_one) == Some(true)).count()
}

#[test]
fn a_workload_that_never_ends_is_ended_with_all_that_it_created() {
    let name = format!("pw{}", std::process::id());
    let round = play_for(endless(&name), 1, Duration::from_millis(300)).unwrap();
    assert_eq!(round.ended, Ended::TimedOut);
    assert!(round.threads >= 3, "those of the start: {round:?}");
    assert_eq!(threads_named(&name), 0);
}

/// Locks up: each holds what the other wants. Nothing but the limit ends it.
#[test]
fn what_deadlocks_is_ended() {
    let objects = vec![Object::Mutex, Object::Mutex, Object::Barrier { parties: 2 }];
    let order = |a, b| vec![Op::Lock(a), Op::BarrierWait(2), Op::Lock(b), Op::Unlock(b), Op::Unlock(a)];
    let workload = family(true, objects, vec![spec("one", order(0, 1)), spec("two", order(1, 0))]);
    assert_eq!(play_for(workload, 1, Duration::from_millis(300)).unwrap().ended, Ended::TimedOut);
}

#[test]
fn an_object_that_the_kernel_refuses_is_named() {
    let socket = Object::Socket { sndbuf: 2_000_000_000, overhead: 0 };
    let program = vec![Op::SockSend { sock: 0, bytes: 1 }];
    let error = play_for(toy(vec![socket], vec![spec("send", program)]), 1, LIMIT).unwrap_err();
    assert!(error.to_string().contains("toy: cannot make socket 0"), "{error}");
}

/// Sixteen children draw an amount each. What a child measures is never below its draw, which no other draw would give.
#[test]
fn draws_are_the_simulators() {
    const CHILDREN: u32 = 16;
    let amount = Amount { base: 0, jitter: 1_000_000 };
    let series = |n: u32| Series {
        name: format!("drawn{n}"),
        meaning: "x".into(),
        tick_ns: 1,
        unit: TimeUnit::Us,
        mean: true,
        permilles: vec![],
        deadlines: vec![],
    };
    // An amount without jitter counts as a use.
    let child = |n: u32| {
        let sample = Op::Sample { since: Since::Stamp(n), to: Report::Series(n) };
        spec("child", vec![Op::RunWall(Amount::fixed(1)), Op::Stamp(n), Op::RunWall(amount), sample])
    };
    let children = (0..CHILDREN).map(child).collect();
    let mut workload = family(true, vec![Object::Stamp; CHILDREN as usize], children);
    workload.series = (0..CHILDREN).map(series).collect();
    for seed in [1, 77] {
        let parent = lineage_of_start(seed, 0, 0);
        let draw = |n: u32| program_amount(seed, lineage_of_child(seed, parent, u64::from(n) + 1), 2, amount);
        let drawn: Vec<u64> = (0..CHILDREN).map(draw).collect();
        let simulated = simulated_maxima(&workload, seed);
        assert_eq!(simulated, drawn, "one thread a CPU: nobody waits");
        let round = play_for(workload.clone(), seed, LIMIT).unwrap();
        let measured: Vec<u64> = round.metrics.series.iter().map(|samples| samples.max()).collect();
        assert!(measured.iter().zip(&drawn).all(|(m, d)| m >= d), "{measured:?}\n{drawn:?}");
    }
}

/// The greatest sample of each series of a simulated run.
fn simulated_maxima(workload: &Workload, seed: u64) -> Vec<u64> {
    let machine = testing::machine(32, 1);
    let mut observer = MetricsObserver::new(std::sync::Arc::new(machine.clone()), workload);
    let config = Config { seed, start_phase: false, ..Config::default() };
    let mut engine = testing::engine(machine, workload.clone(), config);
    let outcome = engine.run(&mut [&mut observer]).unwrap();
    outcome.meters.series.iter().map(|samples| samples.max()).collect()
}

#[test]
fn what_cannot_be_played_is_refused_by_name() {
    let start = |cpu| Start { spec: 0, count: 1, cpu, process: 0 };
    let run = || spec("worker", vec![Op::Run(Amount::fixed(1))]);
    let with = |op: Op| toy(vec![Object::Barrier { parties: 1 }], vec![spec("worker", vec![Op::BarrierWait(0), op])]);
    let attr = |attr| toy(vec![], vec![TaskSpec { attr, ..run() }]);
    let real_time = SchedAttr { policy: Policy::Fifo, rt_priority: 5, ..SchedAttr::default() };
    let many = Workload { start: vec![Start { count: 10_001, ..start(0) }], ..toy(vec![], vec![run()]) };
    let kthread = TaskSpec { kthread_cpu: Some(0), ..run() };
    let large = TaskSpec { footprint_kib: u32::MAX, ..run() };
    let mut one_of_many = family(true, vec![], vec![run()]);
    one_of_many.tasks[0].program = vec![Op::Spawn { spec: 1, count: 1, thread: true }, Op::WaitChild].into();
    let cases = [
        (find("dbench"), "object `file system` is a kernel mutex"),
        (find("shell8"), "object 0 is a ticket lock"),
        (with(Op::Exec), "task `worker`, step 2 (Exec): this program cannot be executed in the middle of a round"),
        (with(Op::SetAffinity(CpuMask::single(511))), "task `worker`, step 2 (SetAffinity) asks for CPUs 511"),
        (one_of_many, "task `parent`, step 2 (WaitChild)"),
        (toy(vec![], vec![kthread]), "task `worker` is a kernel thread"),
        (toy(vec![], vec![TaskSpec { affinity: Some(CpuMask::single(500)), ..run() }]), "`worker` asks for CPUs 500"),
        (Workload { start: vec![start(400)], ..toy(vec![], vec![run()]) }, "the start of `worker` asks for CPUs 400"),
        (many, "10001 threads, more than 10000"),
        (toy(vec![], vec![large.clone(), large.clone(), large]), "its working sets take"),
        (attr(real_time), "only played with --yes: task `worker` has a real-time policy"),
        (file(r#"{ "tasks": { "t": { "run": 1, "taskgroup": "/a" } } }"#), "it makes the task group `/a`"),
    ];
    let cpus = affinity().unwrap();
    for (workload, message) in cases {
        match Player::new(workload, &cpus, cpus.first().unwrap(), false) {
            Err(CannotPlay::Refused(refusal)) => assert!(refusal.to_string().contains(message), "{message}: {refusal}"),
            Err(other) => panic!("{message}: {other}"),
            Ok(_) => panic!("not refused: {message}"),
        }
    }
}

/// Rounds at the same time do not end each other.
#[test]
fn players_do_not_disturb_each_other() {
    let (done, rounds) = mpsc::channel();
    for _ in 0..3 {
        let done = done.clone();
        std::thread::spawn(move || done.send(play(find("sched-pipe:loops=200")).metrics.ops));
    }
    assert_eq!(rounds.iter().take(3).collect::<Vec<_>>(), [200; 3]);
}

/// A file stands for the list of members: every thread of a group writes itself there, and no other does.
#[test]
fn processes_of_a_group_join_the_cgroup_that_stands_for_it() {
    let text = r#"{ "cgroups": { "/a": { "cpu.weight": 100 } }, "tasks": {
        "in": { "instance": 2, "loop": 1, "taskgroup": "/a", "run": 100 }, "out": { "loop": 1, "process": "p", "run": 100 } } }"#;
    let (workload, cpus) = here(file(text));
    let members = std::env::temp_dir().join(format!("members-{}", std::process::id()));
    std::fs::write(&members, "").unwrap();
    let fastest = cpus.first().unwrap();
    let refused = Player::new(workload.clone(), &cpus, fastest, false);
    assert!(matches!(refused, Err(CannotPlay::Refused(_))), "nothing stands for it");
    let groups = vec![vec![members.clone()]];
    let surroundings = Surroundings { own_session: true, groups };
    let player = Player::within(workload.clone(), &cpus, fastest, false, surroundings.clone()).unwrap();
    let options = RoundOptions { seed: 1, limit: LIMIT, count_migrations: false };
    let round = player.round(&options, &AtomicBool::new(false)).unwrap();
    assert_eq!((round.ended, round.threads), (Ended::Complete, 3));
    assert_eq!(std::fs::read_to_string(&members).unwrap(), "00", "a kernel takes 0 for who writes it");
    std::fs::remove_file(&members).unwrap();
    let player = Player::within(workload, &cpus, fastest, false, surroundings).unwrap();
    let error = player.round(&options, &AtomicBool::new(false)).unwrap_err().to_string();
    assert!(error.contains("members of the cgroup") && error.contains("members-"), "{error}");
}
