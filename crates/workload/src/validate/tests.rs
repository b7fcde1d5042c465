//! One scenario per behaviour. A workload is given as programs; each starts one thread unless said otherwise.

use fairground_machine::CpuMask;

use super::*;
use crate::clamp::{Clamp, ClampPercent, GroupClamp};
use crate::cpuset::GroupCpus;
use crate::program::*;
use crate::testing::small_machine;

fn task(program: &[Op]) -> TaskSpec {
    TaskSpec::new("t", 0, program.into())
}

fn workload(objects: &[Object], programs: &[&[Op]]) -> Workload {
    let tasks: Vec<TaskSpec> = programs.iter().map(|p| task(p)).collect();
    Workload {
        name: "test".into(),
        objects: objects.into(),
        object_names: Vec::new(),
        start: (0..tasks.len() as u32).map(|spec| Start { spec, count: 1, cpu: 0, process: 0 }).collect(),
        tasks,
        irqs: Vec::new(),
        frequency_caps: Vec::new(),
        offline: Vec::new(),
        groups: Vec::new(),
        duration_ns: Some(1_000_000_000),
        warmup_ns: 0,
        score: Score::None,
        series: Vec::new(),
    }
}

fn check(w: &Workload) -> Result<Vec<String>, Problem> {
    w.check(&small_machine(4)).map(|r| r.into_iter().map(|r| r.message).collect())
}

fn problem(w: &Workload) -> Problem {
    check(w).unwrap_err()
}

#[test]
fn task_groups_must_exist_before_what_is_in_them() {
    let group = |parent| TaskGroup { path: "/a".into(), parent, files: Vec::new(), cpus: None };
    let mut w = Workload { groups: vec![group(None), group(Some(0))], ..workload(&[], &[&[RUN]]) };
    w.tasks[0].group = Some(1);
    assert_eq!(check(&w), Ok(vec![]));
    w.tasks[0].group = Some(2);
    assert!(matches!(problem(&w), Problem::NoSuchGroup { group: 2, .. }));
    w.tasks[0].group = None;
    w.groups[0].parent = Some(1);
    assert!(matches!(problem(&w), Problem::NoSuchGroup { group: 1, .. }));
}

/// Two groups, `/a` and `/a/b`; the only task is in the inner one.
fn in_cpusets(outer: Option<&str>, inner: Option<&str>, program: &[Op]) -> Workload {
    let mask = |text: &str| CpuMask::parse_list(text).unwrap();
    let group = |path: &str, parent, cpus: Option<&str>| TaskGroup {
        path: path.into(),
        parent,
        files: Vec::new(),
        cpus: cpus.map(mask),
    };
    let groups = vec![group("/a", None, outer), group("/a/b", Some(0), inner)];
    let mut w = Workload { groups, ..workload(&[], &[program]) };
    w.tasks[0].group = Some(1);
    w
}

#[test]
fn cpusets_have_cpus_of_the_machine() {
    assert_eq!(check(&in_cpusets(Some("0-3"), Some("2"), &[RUN])), Ok(vec![]));
    for bad in ["", "3-4"] {
        let found = problem(&in_cpusets(None, Some(bad), &[RUN]));
        assert_eq!(found.to_string(), format!("cpuset.cpus of `/a/b` is `{bad}`, not CPUs of 0 to 3"));
        assert_eq!(found.step(), None);
        let cpus = CpuMask::parse_list(bad).unwrap();
        let found = problem(&in_cpusets(None, None, &[RUN, Op::SetGroupCpus(GroupCpus { group: 0, cpus })]));
        assert_eq!(found.to_string(), format!("cpuset.cpus of `/a` is `{bad}`, not CPUs of 0 to 3"));
        assert_eq!(found.step(), Some(Step { spec: 0, op: 1 }));
    }
}

#[test]
fn a_cpuset_is_written_for_threads() {
    let write = |group| Op::SetGroupCpus(GroupCpus { group, cpus: CpuMask::single(1) });
    assert!(matches!(problem(&in_cpusets(None, None, &[write(2)])), Problem::NoSuchGroup { group: 2, .. }));
    assert_eq!(check(&in_cpusets(None, None, &[RUN, write(0), write(1)])), Ok(vec![]));
    let mut w = in_cpusets(None, None, &[RUN, write(1)]);
    w.tasks[0].group = Some(0);
    let found = problem(&w);
    assert_eq!(found.to_string(), "`t` writes cpuset.cpus of `/a/b`, which no task is in");
    w.tasks[0].group = None;
    assert!(matches!(problem(&w), Problem::EmptyCpuset { .. }));
}

/// Whether the cpuset is its own, that of a group around it, or comes only later.
#[test]
fn a_kernel_thread_of_one_cpu_has_no_cpuset() {
    let bound = |mut w: Workload| {
        w.tasks[0].kthread_cpu = Some(1);
        w
    };
    assert_eq!(check(&bound(in_cpusets(None, None, &[RUN]))), Ok(vec![]));
    let write = Op::SetGroupCpus(GroupCpus { group: 0, cpus: CpuMask::single(1) });
    for w in [
        in_cpusets(None, Some("1"), &[RUN]),
        in_cpusets(Some("0-3"), None, &[RUN]),
        in_cpusets(None, None, &[RUN, write]),
    ] {
        let found = problem(&bound(w));
        let expected = "`t` is a kernel thread of one CPU, and its task group `/a/b` has a cpuset";
        assert_eq!(found.to_string(), expected);
    }
}

#[test]
fn a_task_that_asks_for_what_its_cpuset_lacks_is_remarked() {
    let mut w = in_cpusets(Some("0-1"), None, &[RUN]);
    w.tasks[0].affinity = Some(CpuMask::parse_list("1-2").unwrap());
    assert_eq!(check(&w), Ok(vec![]));
    w.tasks[0].affinity = Some(CpuMask::parse_list("2-3").unwrap());
    let remark = "asks for CPUs 2-3, of which its task group may use none: it starts on 0-1";
    assert_eq!(check(&w), Ok(vec![remark.into()]));
}

const RUN: Op = Op::Run(Amount::fixed(1000));
const WAIT: Op = Op::CondWait { cond: 1, mutex: Some(0) };

fn looped(times: Option<u64>, body: &[Op]) -> Vec<Op> {
    let mut ops = vec![Op::Loop { times, end: body.len() as u32 + 2 }];
    ops.extend_from_slice(body);
    ops.push(Op::EndLoop { begin: 0 });
    ops
}

#[test]
fn references_must_exist_and_be_of_the_right_kind() {
    let w = workload(&[], &[&[Op::Lock(0)]]);
    assert!(matches!(problem(&w), Problem::NoSuchObject { object: 0, step: Some(Step { spec: 0, op: 0 }), .. }));
    let w = workload(&[Object::Cond], &[&[RUN, Op::Lock(0)]]);
    let found = problem(&w);
    assert_eq!(found.to_string(), "`t` uses object 0 as a mutex, but it is a condition variable");
    assert_eq!(found.step(), Some(Step { spec: 0, op: 1 }));
    let w = workload(&[], &[&[Op::Spawn { spec: 7, count: 1, thread: true }]]);
    assert!(matches!(problem(&w), Problem::NoSuchTask { spec: 7, .. }));
    let mut w = workload(&[], &[&[RUN]]);
    w.start[0].spec = 1;
    assert!(matches!(problem(&w), Problem::NoSuchTask { step: None, spec: 1 }));
    w.start.clear();
    assert_eq!(problem(&w), Problem::NoThreads);
}

#[test]
fn values_must_be_what_the_kernel_takes() {
    let attr = |f: fn(&mut SchedAttr)| {
        let mut a = SchedAttr::default();
        f(&mut a);
        Op::SetAttr(a)
    };
    let pipe = [Object::Pipe { slots: 16 }, Object::Timer { per_task: true }];
    let cases = [
        (attr(|a| a.nice = 20), "nice of `t` is 20, not in -20..=19"),
        (attr(|a| a.nice = -21), "nice of `t` is -21, not in -20..=19"),
        (attr(|a| a.policy = Policy::Fifo), "priority of `t` is 0, not in 1..=99"),
        (attr(|a| a.rt_priority = 1), "rt_priority of `t` is 1, not in 0..=0"),
        (attr(|a| a.slice_ns = 99_999), "slice in ns of `t` is 99999, not in 100000..=100000000"),
        (attr(|a| a.slice_ns = 100_000_001), "slice in ns of `t` is 100000001, not in 100000..=100000000"),
        (attr(|a| a.uclamp_max = 1025), "util_max of `t` is 1025, not in 0..=1024"),
        (Op::PipeWrite { pipe: 0, bytes: 4097 }, "message size of `t` is 4097, not in 1..=4096"),
        (Op::PipeRead { pipe: 0, bytes: 0 }, "message size of `t` is 0, not in 1..=4294967295"),
    ];
    for (op, message) in cases {
        assert_eq!(problem(&workload(&pipe, &[&[op]])).to_string(), message);
    }
    let value = ClampPercent { hundredths: 10_001 };
    let mut w = workload(&[], &[&[Op::SetGroupClamp(GroupClamp { group: 0, clamp: Clamp::Max, value })]]);
    assert!(matches!(problem(&w), Problem::NoSuchGroup { group: 0, .. }));
    w.groups = vec![TaskGroup { path: "/a".into(), parent: None, files: Vec::new(), cpus: None }];
    assert_eq!(problem(&w).to_string(), "cpu.uclamp.max of `t` is 10001, not in 0..=10000");
    let op = Op::TimerWait { timer: 1, period_ns: 0, relative: true };
    assert!(problem(&workload(&pipe, &[&[op]])).to_string().starts_with("period in ns of `t` is 0"));
    let crossed = attr(|a| (a.uclamp_min, a.uclamp_max) = (512, 511));
    assert!(matches!(problem(&workload(&pipe, &[&[crossed]])), Problem::ClampsCross { min: 512, max: 511, .. }));
    let socket = [Object::Socket { sndbuf: 1000, overhead: 768 }];
    let send = |bytes| workload(&socket, &[&[Op::SockSend { sock: 0, bytes }], &[Op::SockRecv { sock: 0, bytes }]]);
    assert!(check(&send(232)).is_ok());
    assert!(matches!(problem(&send(233)), Problem::OutOfRange { max: 232, .. }));
}

#[test]
fn cpus_must_be_of_the_machine() {
    let mut w = workload(&[], &[&[Op::SetAffinity(CpuMask::single(4))]]);
    assert!(matches!(problem(&w), Problem::NoCpuAllowed { step: Some(_), .. }));
    w = workload(&[], &[&[Op::SetAffinity(CpuMask::parse_list("3-4").unwrap())]]);
    assert_eq!(check(&w).unwrap(), ["may use CPUs 3-4, of which equal-4 has no 4"]);
    w.start[0].process = 1;
    assert!(problem(&w).to_string().starts_with("number of the process of `t` is 1"), "{}", problem(&w));
    w.start[0].process = 0;
    w.start[0].cpu = 4;
    assert_eq!(problem(&w).to_string(), "`t` names CPU 4, but the machine has 0 to 3");
}

#[test]
fn loops_must_match() {
    let bad: [&[Op]; 4] = [
        &[Op::Loop { times: None, end: 1 }],
        &[Op::EndLoop { begin: 0 }],
        &[Op::Loop { times: None, end: 2 }, RUN, Op::EndLoop { begin: 0 }],
        &[RUN, Op::Loop { times: None, end: 3 }, Op::EndLoop { begin: 0 }],
    ];
    for program in bad {
        assert!(matches!(problem(&workload(&[], &[program])), Problem::BadLoop { .. }), "{program:?}");
    }
}

#[test]
fn a_loop_must_take_time_unless_it_is_short() {
    let spin = |times, body: &[Op]| check(&workload(&[Object::Mutex], &[&looped(times, body)]));
    let locks = [Op::Lock(0), Op::Unlock(0)];
    assert!(matches!(spin(None, &locks), Err(Problem::Spins { times: None, .. })));
    assert!(matches!(spin(None, &[]), Err(Problem::Spins { .. })));
    assert!(matches!(spin(None, &[Op::Run(Amount::fixed(0))]), Err(Problem::Spins { .. })));
    // Two steps a round: 500,000 rounds are the limit.
    assert_eq!(spin(Some(500_000), &locks), Ok(vec![]));
    assert!(matches!(spin(Some(500_001), &locks), Err(Problem::Spins { times: Some(500_001), .. })));
    assert_eq!(spin(None, &[Op::Run(Amount { base: 0, jitter: 1 })]), Ok(vec![]));
    // An inner loop that is skipped takes no time.
    let inner = [Op::Loop { times: Some(0), end: 4 }, RUN, Op::EndLoop { begin: 1 }];
    assert!(matches!(spin(None, &inner), Err(Problem::Spins { .. })));
}

#[test]
fn yielding_takes_time_where_it_has_a_price() {
    let w = workload(&[], &[&looped(None, &[Op::Yield])]);
    assert!(matches!(problem(&w), Problem::Spins { .. }));
    let mut machine = small_machine(4);
    machine.costs.soft_ns[fairground_machine::SoftCost::SchedCall as usize] = 200.0;
    assert!(w.validate(&machine).is_ok());
}

#[test]
fn times_must_fit_63_bits() {
    let max = i64::MAX as u64;
    assert_eq!(check(&workload(&[], &[&[Op::Sleep(Amount::fixed(max))]])), Ok(vec![]));
    let too_long: [&[Op]; 3] = [
        &[Op::Sleep(Amount { base: max, jitter: 1 })],
        &[Op::Sleep(Amount::fixed(max)), Op::Sleep(Amount::fixed(1))],
        &looped(Some(max / 1000 + 1), &[RUN]),
    ];
    for program in too_long {
        assert!(matches!(problem(&workload(&[], &[program])), Problem::TimeOverflow { .. }), "{program:?}");
    }
}

#[test]
fn a_barrier_must_be_able_to_fill() {
    let objects = [Object::Barrier { parties: 3 }];
    let mut w = workload(&objects, &[&[Op::BarrierWait(0)], &[Op::BarrierWait(0)]]);
    let found = problem(&w);
    assert_eq!(found.to_string(), "barrier 0 waits for 3 threads, but at most 2 ever come");
    w.start[1].count = 2;
    assert_eq!(check(&w), Ok(vec![]));
}

#[test]
fn mutexes_are_followed_through_loops() {
    let objects = [Object::Mutex, Object::Cond];
    let run = |program: &[Op]| check(&workload(&objects, &[program, &[Op::Broadcast(1)]]));
    assert!(matches!(run(&[Op::Unlock(0)]), Err(Problem::NotHeld { action: "unlocks", .. })));
    assert!(matches!(run(&[WAIT]), Err(Problem::NotHeld { action: "waits with", .. })));
    assert_eq!(run(&[Op::Lock(0), WAIT, Op::Unlock(0)]), Ok(vec![]));
    assert_eq!(run(&[Op::Lock(0), Op::Lock(0)]).unwrap(), ["locks mutex 0, which it holds, and waits for itself"]);
    let again = run(&looped(Some(2), &[Op::Lock(0)])).unwrap();
    assert_eq!(again, ["takes mutex 0 again in the next round of a loop and waits for itself"]);
    let mut hand_over = vec![Op::Lock(0)];
    hand_over.extend([Op::Loop { times: None, end: 6 }, RUN, Op::Unlock(0), Op::Lock(0), Op::EndLoop { begin: 1 }]);
    assert_eq!(run(&hand_over), Ok(vec![]));
    let lost = [Op::Lock(0), Op::Loop { times: Some(2), end: 4 }, Op::Unlock(0), Op::EndLoop { begin: 1 }];
    assert!(matches!(run(&lost), Err(Problem::NotHeld { .. })));
}

#[test]
fn waits_that_nobody_ends_are_told() {
    let objects = [Object::Mutex, Object::Cond, Object::Semaphore { value: 0 }, Object::Pipe { slots: 1 }];
    let suspend = [Op::Lock(0), WAIT, Op::Unlock(0)];
    let remarks = |programs: &[&[Op]]| check(&workload(&objects, programs)).unwrap();
    assert_eq!(remarks(&[&suspend]), ["waits for condition variable 1, which no thread ever signals"]);
    assert_eq!(remarks(&[&suspend, &[Op::Signal(1)]]), [""; 0]);
    let own = [Op::Lock(0), WAIT, Op::Signal(1), Op::Unlock(0)];
    assert_eq!(remarks(&[&own]), ["waits for condition variable 1, which no other thread ever signals"]);
    assert_eq!(remarks(&[&[Op::SemWait(2)]]), ["waits for semaphore 2, which no thread ever posts"]);
    assert_eq!(
        remarks(&[&[Op::PipeRead { pipe: 3, bytes: 1 }]]),
        ["reads from pipe 3, which no thread ever writes to"]
    );
    let write = [Op::PipeWrite { pipe: 3, bytes: 1 }];
    assert_eq!(remarks(&[&write]), ["writes to pipe 3, which no thread ever reads from: it fills up"]);
    let mut w = workload(&objects, &[&[Op::SemWait(2)]]);
    w.irqs.push(IrqSource {
        name: "nic".into(),
        cpu: 0,
        period: Amount::fixed(1000),
        busy: Amount::fixed(0),
        posts: Some(2),
    });
    assert_eq!(check(&w), Ok(vec![]));
}

#[test]
fn spawning_must_end_and_stay_within_bounds() {
    let spawn = |spec, count| Op::Spawn { spec, count, thread: true };
    let mut w = workload(&[], &[&[spawn(1, 2)], &[spawn(2, 3)], &[spawn(1, 1)]]);
    assert!(matches!(problem(&w), Problem::EndlessSpawn { .. }));
    w = workload(&[], &[&[spawn(0, 1)]]);
    assert!(matches!(problem(&w), Problem::EndlessSpawn { step: Step { spec: 0, op: 0 }, .. }));
    w = workload(&[], &[&[Op::Exit, spawn(0, 1)]]);
    assert_eq!(check(&w), Ok(vec![]));
    w = workload(&[], &[&looped(Some(1000), &[spawn(1, 1000), RUN]), &[RUN]]);
    assert_eq!(problem(&w), Problem::TooManyTasks { tasks: 1_000_002 });
    w.start = vec![Start { spec: 0, count: u32::MAX, cpu: 0, process: 0 }];
    assert!(matches!(problem(&w), Problem::TooManyTasks { .. }));
    w = workload(&[], &[&looped(None, &[spawn(1, 1), RUN]), &[RUN]]);
    assert_eq!(check(&w), Ok(vec![]), "its duration ends it");
    w.duration_ns = None;
    assert_eq!(check(&w).unwrap()[0], "creates `t` for ever; the run fails when 1000000 threads have been created");
}

#[test]
fn a_run_that_nothing_ends_is_told() {
    let mut w = workload(&[], &[&looped(None, &[RUN])]);
    assert_eq!(check(&w), Ok(vec![]));
    w.duration_ns = None;
    assert_eq!(
        check(&w).unwrap(),
        ["loops for ever, and the workload has no duration: give it one, as in FILE:duration=10"]
    );
    w.tasks[0].daemon = true;
    assert_eq!(check(&w), Ok(vec![]));
}

#[test]
fn a_loop_for_ever_that_is_left_or_not_entered_ends() {
    let ends = |program: &[Op]| {
        let w = Workload { duration_ns: None, ..workload(&[], &[program]) };
        check(&w).unwrap().is_empty()
    };
    assert!(ends(&looped(None, &[RUN, Op::Exit])));
    assert!(ends(&[&[Op::Exit], looped_at(1, &[RUN]).as_slice()].concat()));
    let mut skipped = vec![Op::Loop { times: Some(0), end: 5 }];
    skipped.extend(looped_at(1, &[RUN]));
    skipped.push(Op::EndLoop { begin: 0 });
    assert!(ends(&skipped));
    assert!(!ends(&[looped(None, &[RUN]).as_slice(), &[Op::Exit]].concat()));
}

/// A loop for ever that begins at this step.
fn looped_at(begin: u32, body: &[Op]) -> Vec<Op> {
    let mut ops = vec![Op::Loop { times: None, end: begin + body.len() as u32 + 2 }];
    ops.extend_from_slice(body);
    ops.push(Op::EndLoop { begin });
    ops
}

#[test]
fn samples_go_to_a_series_that_exists_and_count_from_a_stamp() {
    let sample = |since, to| Op::Sample { since, to };
    let objects = [Object::Stamp, Object::Tally { series: 0 }, Object::Mutex];
    let of = |op: Op| workload(&objects, &[&[op]]);
    let series = Series {
        name: "s".into(),
        meaning: "".into(),
        tick_ns: 1000,
        unit: TimeUnit::Us,
        mean: true,
        permilles: vec![500],
        deadlines: Vec::new(),
    };
    let mut w = of(sample(Since::Stamp(0), Report::Tally(1)));
    assert_eq!(problem(&w).to_string(), "`test` reports to series 0, which does not exist");
    w.series = vec![series.clone()];
    assert_eq!(check(&w), Ok(vec![]));
    let with = |op: Op| problem(&Workload { series: vec![series.clone()], ..of(op) });
    let birth = Since::Birth;
    assert!(matches!(with(sample(birth, Report::Series(1))), Problem::NoSuchSeries { step: Some(_), series: 1, .. }));
    assert!(matches!(with(sample(birth, Report::Tally(0))), Problem::WrongObject { wanted: "tally", .. }));
    assert!(matches!(with(sample(Since::Stamp(1), Report::Series(0))), Problem::WrongObject { wanted: "stamp", .. }));
    assert!(matches!(with(Op::Conclude(2)), Problem::WrongObject { wanted: "tally", found: "mutex", .. }));
    assert!(matches!(with(Op::Enlist(2)), Problem::WrongObject { wanted: "roster", .. }));
    assert!(matches!(with(Op::Poll(2)), Problem::WrongObject { wanted: "pipe", .. }));
    w.series[0].permilles.push(1001);
    assert!(matches!(problem(&w), Problem::OutOfRange { value: 1001, .. }));
    w.series[0].permilles.clear();
    w.series[0].tick_ns = 0;
    assert!(matches!(problem(&w), Problem::OutOfRange { value: 0, min: 1, .. }));
}

#[test]
fn deadlines_and_phases_of_a_score_must_exist_and_make_sense() {
    let sample = |phase| Op::Sample { since: Since::Birth, to: Report::Phase(phase) };
    let phase = Phase { name: "p".into(), work_ns: 1 };
    let points = |sections| Score::Points(Points { full_speed: 1, parts: 1, sections });
    let section = |phases| Section { name: "s".into(), weight: 1, phases };
    let two = points(vec![section(vec![phase.clone()]), section(vec![phase.clone()])]);
    let of = |op: Op, score: &Score| Workload { score: score.clone(), ..workload(&[], &[&[op]]) };
    assert_eq!(check(&of(sample(1), &two)), Ok(vec![]));
    for (op, score) in [(sample(2), &two), (sample(0), &Score::OpsPerSec)] {
        assert!(problem(&of(op, score)).to_string().contains("which the score does not have"));
    }
    let idle = Phase { work_ns: 0, ..phase };
    for bad in [points(vec![]), points(vec![section(vec![])]), points(vec![section(vec![idle])])] {
        assert!(matches!(problem(&of(RUN, &bad)), Problem::OutOfRange { value: 0, min: 1, .. }), "{bad:?}");
    }
}

#[test]
fn a_drawn_floor_must_be_one_that_every_ceiling_of_the_thread_allows() {
    let draw = |odds: &[(u16, u32)]| {
        Op::DrawUclampMin(odds.iter().map(|&(uclamp_min, weight)| ClampOdds { uclamp_min, weight }).collect())
    };
    let of = |ops: &[Op]| workload(&[], &[ops]);
    assert_eq!(check(&of(&[draw(&[(0, 1), (1024, 3)])])), Ok(vec![]));
    for bad in [draw(&[]), draw(&[(1025, 1)]), draw(&[(5, 0)])] {
        assert!(matches!(problem(&of(std::slice::from_ref(&bad))), Problem::OutOfRange { .. }), "{bad:?}");
    }
    let later = Op::SetAttr(SchedAttr { uclamp_max: 300, ..SchedAttr::default() });
    assert_eq!(check(&of(&[draw(&[(300, 1)]), later.clone()])), Ok(vec![]));
    let crossed = problem(&of(&[draw(&[(8, 1), (301, 1)]), later]));
    assert!(matches!(crossed, Problem::ClampsCross { min: 301, max: 300, .. }), "{crossed}");
}

#[test]
fn a_roster_that_nobody_calls_is_told_and_a_lock_takes_the_time_of_its_hold() {
    let w = workload(&[Object::Roster], &[&[Op::Enlist(0)]]);
    assert_eq!(check(&w).unwrap(), ["enlists on roster 0, which no thread ever calls"]);
    let serial = |ns, lines| Op::Serial { lock: 0, hold: Amount::fixed(ns), lines };
    for lock in [Object::Ticket, Object::KernelMutex] {
        assert_eq!(check(&workload(std::slice::from_ref(&lock), &[&looped(None, &[serial(1, 0)])])), Ok(vec![]));
        let spins = workload(&[lock], &[&looped(None, &[serial(0, 1)])]);
        assert!(matches!(problem(&spins), Problem::Spins { .. }));
    }
    let other = workload(&[Object::Mutex], &[&[serial(1, 0)]]);
    assert!(matches!(problem(&other), Problem::WrongObject { wanted: "ticket lock or kernel mutex", .. }));
    let wide = workload(&[Object::Ticket], &[&[serial(1, 1025)]]);
    assert!(matches!(problem(&wide), Problem::OutOfRange { max: 1024, .. }));
}

/// A waits for B before it posts, and B for A; C comes only after them. Each has a waker, but none ever wakes.
#[test]
fn threads_that_wait_for_each_other_in_a_circle_are_told() {
    let semaphores = vec![Object::Semaphore { value: 0 }; 3];
    let post = Op::SemPost;
    let circle =
        [[Op::SemWait(0), post(1)], [Op::SemWait(1), post(0)], [Op::SemWait(2), RUN], [Op::SemWait(0), post(2)]];
    let programs: Vec<&[Op]> = circle.iter().map(|p| p.as_slice()).collect();
    let remarks = check(&workload(&semaphores, &programs)).unwrap();
    let why = "every thread that could wake it also waits for ever or never gets there";
    let expected = [
        format!("waits for semaphore 0 for ever (with it 1 more): {why}"),
        format!("waits for semaphore 1 for ever: {why}"),
        format!("waits for semaphore 2 for ever: {why}"),
    ];
    assert_eq!(remarks, expected);
    // A thread that posts first breaks the cycle.
    let mut open = circle.clone();
    open[0].reverse();
    let programs: Vec<&[Op]> = open.iter().map(|p| p.as_slice()).collect();
    assert_eq!(check(&workload(&semaphores, &programs)), Ok(vec![]));
}

#[test]
fn what_stands_behind_an_endless_loop_wakes_nobody() {
    let endless = [looped(None, &[RUN]), vec![Op::Signal(0), Op::BarrierWait(1)]].concat();
    let wait = Op::CondWait { cond: 0, mutex: None };
    let w = workload(&[Object::Cond, Object::Barrier { parties: 2 }], &[&endless, &[wait], &[Op::BarrierWait(1)]]);
    let remarks = check(&w).unwrap();
    assert_eq!(remarks.len(), 2, "{remarks:?}");
    assert!(remarks[0].starts_with("waits for condition variable 0 for ever"), "{remarks:?}");
    assert!(remarks[1].starts_with("waits for barrier 1 for ever"), "{remarks:?}");
}

/// A child that is never created signals no thread; a barrier fills by all who come to it, one at a time.
#[test]
fn only_threads_that_are_born_wake_and_barriers_let_through_who_wakes() {
    let wait = |cond| Op::CondWait { cond, mutex: None };
    let spawn = |spec| Op::Spawn { spec, count: 1, thread: true };
    let objects = [Object::Cond, Object::Cond, Object::Barrier { parties: 2 }];
    let programs: [&[Op]; 3] =
        [&[Op::BarrierWait(2), wait(0), spawn(2)], &[Op::BarrierWait(2), wait(1)], &[Op::Signal(1), Op::Signal(0)]];
    let mut w = workload(&objects, &programs);
    w.start.pop();
    assert_eq!(check(&w).unwrap().len(), 2);
    let earlier: [&[Op]; 3] = [&[spawn(2), Op::BarrierWait(2), wait(0)], programs[1], programs[2]];
    let mut w = workload(&objects, &earlier);
    w.start.pop();
    assert_eq!(check(&w), Ok(vec![]));
}
