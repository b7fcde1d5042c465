//! Workloads whose processes execute programs: this one, which is why it has a `main` of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fairground_machine::{CpuMask, Machine};
use fairground_play::{affinity, go_on_after_exec, CannotPlay, Ended, Player, Round, RoundOptions};
use fairground_sim::testing::{self, spec};
use fairground_sim::{lineage_of_child, lineage_of_start, program_amount};
use fairground_workload::*;

/// A bound that nothing here comes near.
const LIMIT: Duration = Duration::from_secs(300);
/// A variable that only programs have which this one executes: others show the environment that this one began with.
const MARK: &str = "FAIRGROUND_EXECUTED_BY";

macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        const TESTS: &[(&str, fn())] = &[$((stringify!($name), $name)),*];
    };
}

tests![
    children_execute_compute_and_mark,
    loops_and_draws_go_on_behind_an_exec,
    samples_across_an_exec_are_right,
    objects_outlast_an_exec,
    attributes_outlast_an_exec,
    what_never_ends_is_ended,
    an_interrupt_ends_what_was_executed,
    processes_with_several_threads_are_refused,
    words_that_no_round_has_written_are_refused,
];

/// As the usual harness: names that contain a word of the command line, or all.
fn main() {
    go_on_after_exec();
    std::env::set_var(MARK, std::process::id().to_string());
    let words: Vec<String> = std::env::args().skip(1).collect();
    let has = |option: &str| words.iter().any(|word| word == option);
    let mut filters = words.iter().filter(|word| !word.starts_with('-')).peekable();
    if has("--ignored") {
        return;
    }
    let all = filters.peek().is_none();
    let filters: Vec<&String> = filters.collect();
    for (name, test) in TESTS.iter().filter(|(name, _)| all || filters.iter().any(|filter| name.contains(*filter))) {
        if has("--list") {
            println!("{name}: test");
        } else {
            test();
            println!("test {name} ... ok");
        }
    }
}

/// A player of the workload, bound to the CPUs that this test may use.
fn player(mut workload: Workload) -> Result<Player, CannotPlay> {
    let cpus = affinity().unwrap();
    workload.bind(&cpus);
    Player::new(workload, &cpus, cpus.first().unwrap(), false)
}

fn play_for(workload: Workload, limit: Duration) -> Round {
    let open = descriptors();
    let player = player(workload).unwrap();
    let round = player.round(&RoundOptions { seed: 1, limit, count_migrations: false }, &AtomicBool::new(false));
    assert_eq!((descriptors(), executed()), (open, 0), "nothing is left");
    round.unwrap()
}

fn play(workload: Workload) -> Round {
    let round = play_for(workload, LIMIT);
    assert_eq!(round.ended, Ended::Complete);
    round
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Processes that live and were executed by one of this program.
fn executed() -> usize {
    let mark = format!("{MARK}={}", std::process::id());
    let is_one = |environment: Vec<u8>| environment.split(|byte| *byte == 0).any(|entry| entry == mark.as_bytes());
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter(|process| std::fs::read(process.path().join("environ")).is_ok_and(is_one)).count()
}

/// A parent that creates these as processes, one of each, and awaits them.
fn family(objects: Vec<Object>, children: Vec<TaskSpec>) -> Workload {
    let spawn = |spec: u32| Op::Spawn { spec, count: 1, thread: false };
    let program = (1..=children.len() as u32).map(spawn).chain([Op::WaitChildren]).collect();
    let tasks = std::iter::once(spec("parent", program)).chain(children).collect();
    Workload { start: vec![Start { spec: 0, count: 1, cpu: 0, process: 0 }], ..testing::workload(objects, tasks) }
}

fn repeat(times: Option<u64>, body: Vec<Op>) -> Vec<Op> {
    let mut p = ProgramBuilder::new();
    p.repeat(times, |p| body.into_iter().for_each(|op| _ = p.op(op)));
    p.build().to_vec()
}

fn series(name: &str) -> Series {
    Series {
        name: name.into(),
        meaning: "x".into(),
        tick_ns: 1,
        unit: TimeUnit::Us,
        mean: true,
        permilles: vec![],
        deadlines: vec![],
    }
}

fn children_execute_compute_and_mark() {
    let program = vec![Op::Exec, Op::Run(Amount::fixed(10_000)), Op::Mark(Mark::Op)];
    let child = || TaskSpec { footprint_kib: 64, ..spec("child", program.clone()) };
    let round = play(family(vec![], vec![child(), child(), child()]));
    assert_eq!((round.metrics.ops, round.threads), (3, 4));
    assert!(round.cpu_ns > 0);
}

/// What is measured behind the last exec is never below its draw, which no other draw would give.
fn loops_and_draws_go_on_behind_an_exec() {
    const CHILDREN: u32 = 8;
    let amount = Amount { base: 0, jitter: 1_000_000 };
    let child = |n: u32| {
        let mut program = repeat(Some(3), vec![Op::Exec, Op::RunWall(amount), Op::Mark(Mark::Op)]);
        let sample = Op::Sample { since: Since::Stamp(n), to: Report::Series(n) };
        program.extend([Op::Exec, Op::Stamp(n), Op::RunWall(amount), sample]);
        spec("child", program)
    };
    let mut workload = family(vec![Object::Stamp; CHILDREN as usize], (0..CHILDREN).map(child).collect());
    workload.series = (0..CHILDREN).map(|n| series(&format!("drawn{n}"))).collect();
    let round = play(workload);
    assert_eq!((round.metrics.ops, round.threads), (3 * u64::from(CHILDREN), CHILDREN as u64 + 1));
    let parent = lineage_of_start(1, 0, 0);
    for (n, samples) in round.metrics.series.iter().enumerate() {
        let drawn = program_amount(1, lineage_of_child(1, parent, n as u64 + 1), 4, amount);
        assert!(samples.count() == 1 && samples.max() >= drawn, "{n}: {} and {drawn}", samples.max());
    }
}

/// Time from birth to a stamp, from the stamp over an exec, and both.
fn samples_across_an_exec_are_right() {
    let sample = |since, series| Op::Sample { since, to: Report::Series(series) };
    let nap = Op::Sleep(Amount::fixed(20_000_000));
    let child = vec![
        nap.clone(),
        sample(Since::Birth, 0),
        Op::Stamp(0),
        Op::Exec,
        sample(Since::Stamp(0), 1),
        sample(Since::Birth, 2),
    ];
    let mut workload = family(vec![Object::Stamp, Object::Stamp], vec![spec("child", child)]);
    let around = vec![nap, Op::Stamp(1)].into_iter().chain(workload.tasks[0].program.iter().cloned());
    workload.tasks[0].program = around.chain([sample(Since::Stamp(1), 3)]).collect();
    workload.series = ["before", "across", "both", "around"].map(series).into();
    let round = play(workload);
    assert!(round.metrics.series.iter().all(|samples| samples.count() == 1));
    let [before, across, both, around] = [0, 1, 2, 3].map(|n: usize| round.metrics.series[n].max());
    assert!(before >= 20_000_000 && across > 0, "{before} {across}");
    assert!(before + across <= both && both <= around, "{before} {across} {both} {around}");
}

/// A pipe, a socket, a semaphore and a mutex that it holds meanwhile.
fn objects_outlast_an_exec() {
    let objects = vec![
        Object::Pipe { slots: 16 },
        Object::Socket { sndbuf: 212_992, overhead: 0 },
        Object::Semaphore { value: 0 },
        Object::Mutex,
    ];
    let one = vec![
        Op::Lock(3),
        Op::Exec,
        Op::Unlock(3),
        Op::PipeWrite { pipe: 0, bytes: 100 },
        Op::SockRecv { sock: 1, bytes: 50 },
        Op::Exec,
        Op::SemPost(2),
        Op::Mark(Mark::Op),
    ];
    let other = vec![
        Op::Exec,
        Op::PipeRead { pipe: 0, bytes: 100 },
        Op::SockSend { sock: 1, bytes: 50 },
        Op::SemWait(2),
        Op::Lock(3),
        Op::Exec,
        Op::Unlock(3),
        Op::Mark(Mark::Op),
    ];
    let body = |body: Vec<Op>| repeat(Some(5), body);
    let round = play(family(objects, vec![spec("one", body(one)), spec("other", body(other))]));
    assert_eq!(round.metrics.ops, 10);
}

/// As /proc shows them while the process sleeps behind its exec.
fn attributes_outlast_an_exec() {
    let name = format!("xa{}", std::process::id());
    let first = affinity().unwrap().first().unwrap();
    let attr = SchedAttr { policy: Policy::Batch, nice: 7, ..SchedAttr::default() };
    let mut program = vec![Op::SetAttr(attr), Op::SetAffinity(CpuMask::single(first)), Op::Exec];
    program.extend(repeat(None, vec![Op::Sleep(Amount::fixed(1_000_000))]));
    let child = TaskSpec { timer_slack_ns: 7_000, ..spec(&name, program) };
    interrupted(family(vec![], vec![child]), || {
        let Some(process) = executed_named(&name) else { return false };
        let stat = std::fs::read_to_string(process.join("stat")).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        // Those numbered 19 and 41 in proc_pid_stat(5), of which the first here is 3.
        assert_eq!((fields[16], fields[38]), ("7", "3"), "nice, SCHED_BATCH: {stat}");
        let status = std::fs::read_to_string(process.join("status")).unwrap();
        assert!(status.lines().any(|line| line == format!("Cpus_allowed_list:\t{first}")), "{status}");
        let slack = std::fs::read_to_string(process.join("timerslack_ns")).unwrap();
        assert_eq!(slack.trim(), "7000");
        true
    });
}

/// An executed process with this name.
fn executed_named(name: &str) -> Option<std::path::PathBuf> {
    let mut processes = std::fs::read_dir("/proc").unwrap().flatten().map(|process| process.path());
    processes.find(|process| {
        let read = |file: &str| std::fs::read_to_string(process.join(file)).unwrap_or_default();
        read("comm").trim_end() == name && read("environ").contains(MARK)
    })
}

/// Plays an endless workload until `seen`.
fn interrupted(workload: Workload, mut seen: impl FnMut() -> bool) {
    let open = descriptors();
    let player = player(workload).unwrap();
    let options = RoundOptions { seed: 1, limit: LIMIT, count_migrations: false };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let round = scope.spawn(|| player.round(&options, &stop));
        while !seen() {
            assert!(!round.is_finished(), "it never ends by itself");
            std::thread::sleep(Duration::from_millis(5));
        }
        stop.store(true, Ordering::Relaxed);
        assert_eq!(round.join().unwrap().unwrap().ended, Ended::Interrupted);
    });
    assert_eq!((descriptors(), executed()), (open, 0), "nothing is left");
}

/// Children that execute and sleep without end, and one of the start, whose own child outlives it.
fn endless() -> Workload {
    let forever = repeat(None, vec![Op::Exec, Op::Sleep(Amount::fixed(1_000_000))]);
    let mut workload = family(vec![], vec![spec("one", forever.clone()), spec("two", forever)]);
    workload.tasks.push(spec("quick", vec![Op::Exec, Op::Spawn { spec: 1, count: 1, thread: false }]));
    workload.start.push(Start { spec: 3, count: 1, cpu: 0, process: 1 });
    workload
}

fn what_never_ends_is_ended() {
    let round = play_for(endless(), Duration::from_millis(300));
    assert_eq!(round.ended, Ended::TimedOut);
}

fn an_interrupt_ends_what_was_executed() {
    interrupted(endless(), || executed() >= 3);
}

fn processes_with_several_threads_are_refused() {
    let execs = || spec("execs", vec![Op::Exec]);
    let run = || spec("run", vec![Op::Run(Amount::fixed(1))]);
    let start = |spec, process, count| Start { spec, count, cpu: 0, process };
    let thread = Op::Spawn { spec: 1, count: 1, thread: true };
    let mut creates = family(vec![], vec![run()]);
    creates.tasks[0].program = vec![thread.clone(), Op::WaitChildren, Op::Exec].into();
    let mut created = family(vec![], vec![execs()]);
    created.tasks[0].program = vec![thread, Op::WaitChildren].into();
    let with = |start: Vec<Start>| Workload { start, ..testing::workload(vec![], vec![execs(), run()]) };
    let cases = [
        (with(vec![start(0, 0, 1), start(1, 0, 1)]), "`execs`, step 1"),
        (with(vec![start(0, 0, 2)]), "`execs`, step 1"),
        (creates, "`parent`, step 3"),
        (created, "`execs`, step 1"),
    ];
    for (workload, step) in cases {
        let Err(CannotPlay::Refused(refusal)) = player(workload) else { panic!("not refused: {step}") };
        let message = format!("task {step} (Exec): its process may have other threads");
        assert!(refusal.to_string().contains(&message), "{message}: {refusal}");
    }
    play(with(vec![start(0, 0, 1), start(1, 1, 2)]));
    let file =
        r#"{ "tasks": { "t": { "process": "p", "loop": 3, "execve": 1, "run": 10 }, "u": { "loop": 1, "run": 10 } } }"#;
    play(Workload::from_file_content("test.json", "", file.as_bytes(), &Machine::symmetric(2)).unwrap().0);
}

/// Without any, not what is expected, of a round that is not there.
fn words_that_no_round_has_written_are_refused() {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    let attr = serde_json::to_string(&SchedAttr::default()).unwrap();
    let thread = format!(
        r#"{{"spec":9,"id":0,"lineage":0,"draws":0,"born":0,"born_at":0,"attr":{attr},"affinity":null,"first_period":0,"loops":[],"timers":[],"pc":0}}"#
    );
    let carried = |fd: i32| format!(r#"{{"round":{{"description":{fd},"counter":-1}},"thread":{thread}}}"#);
    let cases = [
        (None, "Invalid argument"),
        (Some("{}".into()), "missing field `round`"),
        (Some(carried(987)), "Bad file descriptor"),
        (Some(carried(0)), "EOF while parsing"),
    ];
    for (word, message) in cases {
        let mut command = std::process::Command::new("/proc/self/exe");
        let ran = command.arg0("fairground-play-exec").args(word).stdin(std::process::Stdio::null()).output().unwrap();
        let printed = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.signal() == Some(6) && printed.contains(message), "{message}: {printed}");
    }
}
