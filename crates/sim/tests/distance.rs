//! Costs of messages and locks by the distance of their users, and waits for locks.

use fairground_machine::{CpuMask, Distance, Machine, SoftCost};
use fairground_sim::testing::{engine, machine, spec, workload};
use fairground_sim::{Config, Governor, LockCosts, Outcome, Traffic};
use fairground_workload::{Amount, Object, Op, ProgramBuilder, TaskSpec, Workload};
use proptest::prelude::*;

/// CPU 0 and, at each distance from it in order, one more: 1 its sibling, 2 of its cluster, 3 behind its cache, 4 of its
/// node, 5 of its package, 6 elsewhere.
fn all_distances() -> Machine {
    let mut m = machine(7, 1);
    let groups = |ends: &[u32]| -> Vec<CpuMask> {
        let starts = std::iter::once(0).chain(ends.iter().copied());
        starts.zip(ends).map(|(from, to)| (from..*to).collect()).collect()
    };
    m.cores = groups(&[2, 3, 4, 5, 6, 7]);
    m.llcs = groups(&[4, 5, 6, 7]);
    m.nodes = groups(&[5, 6, 7]);
    m.packages = groups(&[6, 7]);
    let clusters = groups(&[3, 4, 5, 6, 7]);
    m.clusters =
        clusters.iter().map(|cpus| fairground_machine::Cluster { cpus: *cpus, ..m.clusters[0].clone() }).collect();
    let index = |groups: &[CpuMask], cpu: u32| groups.iter().position(|g| g.test(cpu)).expect("in one of them") as u32;
    for cpu in 0..7 {
        let of = [&m.cores, &clusters, &m.llcs, &m.nodes, &m.packages].map(|groups| index(groups, cpu));
        let c = &mut m.cpus[cpu as usize];
        [c.core, c.cluster, c.llc, c.node, c.package] = of;
    }
    m.cpu_types[0].smt_throughput = vec![1000, 2000];
    let mut apart = Distance::ALL.iter().enumerate();
    assert!(apart.all(|(cpu, d)| m.distance(0, cpu as u32) == *d));
    m
}

fn pinned_to(cpu: u32, mut task: TaskSpec) -> TaskSpec {
    task.affinity = Some(CpuMask::single(cpu));
    task
}

fn plain() -> Config {
    Config { start_phase: false, governor: Governor::Performance, ..Config::default() }
}

fn run(machine: Machine, workload: Workload, config: Config) -> Outcome {
    engine(machine, workload, config).run(&mut []).expect("the run ends well")
}

fn ns(n: u64) -> Op {
    Op::Run(Amount::fixed(n))
}

/// A writer on CPU 0 that writes `count` messages of 100 bytes, and a reader on `cpu` that reads them long after, one each
/// 100 us.
fn passing(object: Object, count: u64, cpu: u32) -> Workload {
    let pipe = matches!(object, Object::Pipe { .. });
    let bytes = 100;
    let write = if pipe { Op::PipeWrite { pipe: 0, bytes } } else { Op::SockSend { sock: 0, bytes } };
    let read = if pipe { Op::PipeRead { pipe: 0, bytes } } else { Op::SockRecv { sock: 0, bytes } };
    let mut writer = ProgramBuilder::new();
    writer.repeat(Some(count), |p| {
        p.op(write);
    });
    let mut reader = ProgramBuilder::new();
    reader.op(Op::Sleep(Amount::fixed(1_000_000))).repeat(Some(count), |p| {
        p.op(ns(100_000)).op(read);
    });
    workload(
        vec![object],
        vec![
            pinned_to(0, spec("writer", writer.build().to_vec())),
            pinned_to(cpu, spec("reader", reader.build().to_vec())),
        ],
    )
}

const CHANNELS: [Object; 2] = [Object::Pipe { slots: 16 }, Object::Socket { sndbuf: 212_992, overhead: 668 }];

/// 3 messages: the channel's own 2 lines come over once, data 2 lines each; each message 1000 by distance number besides.
#[test]
fn the_same_messages_cost_their_lines_and_their_price_at_each_distance() {
    let mut m = all_distances();
    m.costs.line_ns = [0, 10, 20, 30, 40, 50, 60];
    m.costs.message_ns = [0, 1000, 2000, 3000, 4000, 5000, 6000];
    for object in CHANNELS {
        for cpu in 1..7 {
            let costly = run(m.clone(), passing(object.clone(), 3, cpu), without_locks());
            let mut cheap = m.clone();
            (cheap.costs.line_ns, cheap.costs.message_ns) = ([0; 7], [0; 7]);
            let free = run(cheap, passing(object.clone(), 3, cpu), without_locks());
            let t = costly.totals.traffic;
            let each = u64::from(cpu);
            assert_eq!((t.lines[cpu as usize], t.line_ns, t.message_ns), (8, 80 * each, 3000 * each));
            assert_eq!(t.lines.iter().sum::<u64>(), 8, "the writer's CPU had them all");
            assert_eq!(costly.end - free.end, 80 * each + 3000 * each);
        }
        let near = run(m.clone(), passing(object.clone(), 3, 0), without_locks());
        assert_eq!(near.totals.traffic, Traffic::default());
    }
}

/// 3 messages, 2 lines each that are read at 7 ns and 2.5 more beyond the data, 17.5 ns rounded to 18; the channel's own 2
/// lines are owned, once, at 30 ns.
#[test]
fn lines_that_are_read_have_a_price_of_their_own_and_a_message_may_have_more_of_them() {
    let mut m = all_distances();
    m.costs.line_ns = [0, 30, 30, 30, 30, 30, 30];
    m.costs.line_read_ns = Some([0, 7, 7, 7, 7, 7, 7]);
    m.costs.message_lines = 2.5;
    for object in CHANNELS {
        let costly = run(m.clone(), passing(object.clone(), 3, 1), without_locks());
        let mut cheap = m.clone();
        (cheap.costs.line_ns, cheap.costs.line_read_ns) = ([0; 7], None);
        let free = run(cheap, passing(object.clone(), 3, 1), without_locks());
        let t = costly.totals.traffic;
        assert_eq!((t.lines[1], t.line_ns, t.message_ns), (8, 2 * 30 + 6 * 7, 3 * 18));
        assert_eq!(costly.end - free.end, 2 * 30 + 6 * 7 + 3 * 18);
        let mut same = m.clone();
        same.costs.line_read_ns = None;
        let t = run(same, passing(object, 3, 1), without_locks()).totals.traffic;
        assert_eq!((t.line_ns, t.message_ns), (8 * 30, 3 * 75), "left out: as a line that is owned");
    }
}

/// 2 lines of a message, the first at 7 ns, the second at 1; a message of a socket costs 20 ns besides.
#[test]
fn further_lines_of_a_message_come_along_and_one_of_a_socket_costs_more() {
    let mut m = all_distances();
    m.costs.line_ns = [0, 30, 30, 30, 30, 30, 30];
    m.costs.line_read_ns = Some([0, 7, 7, 7, 7, 7, 7]);
    m.costs.line_next_ns = Some([0, 1, 1, 1, 1, 1, 1]);
    m.costs.socket_message_ns = [0, 20, 20, 20, 20, 20, 20];
    for object in CHANNELS {
        let own_ns = if matches!(object, Object::Pipe { .. }) { 0 } else { 3 * 20 };
        let t = run(m.clone(), passing(object.clone(), 3, 1), without_locks()).totals.traffic;
        assert_eq!((t.lines[1], t.line_ns, t.message_ns), (8, 2 * 30 + 3 * (7 + 1), own_ns));
        assert_eq!(run(m.clone(), passing(object, 3, 0), without_locks()).totals.traffic, Traffic::default());
    }
}

/// The flag of a polling idle loop is read: the reader's thread runs 7 ns after the waker is done, not 30.
#[test]
fn a_flag_that_is_polled_comes_as_a_line_that_is_read() {
    let woken_at = |read: Option<[u64; 7]>| {
        let mut m = machine(2, 1);
        m.cpu_types.iter_mut().flat_map(|t| &mut t.idle_states).for_each(|state| state.polling = true);
        (m.costs.line_ns, m.costs.line_read_ns) = ([0, 30, 30, 30, 30, 30, 30], read);
        let sleeper = pinned_to(1, spec("sleeper", vec![Op::FutexWait { futex: 0, expected: 0 }]));
        let waker = spec("waker", vec![Op::SleepUntil(1_000_000), Op::FutexWake { futex: 0, count: 1 }]);
        run(m, workload(vec![Object::Futex { value: 0 }], vec![sleeper, pinned_to(0, waker)]), without_locks()).end
    };
    let (owned, read) = (woken_at(None), woken_at(Some([0, 7, 7, 7, 7, 7, 7])));
    assert_eq!(owned - read, 23);
}

/// What a writer takes back from the reader: the pipe's 2 lines, and 1 of the page, of which a part is read.
#[test]
fn a_writer_takes_back_what_the_reader_had() {
    let mut m = machine(2, 1);
    m.costs.line_ns = [0, 10, 10, 10, 10, 10, 10];
    let write = Op::PipeWrite { pipe: 0, bytes: 100 };
    let writer = spec("writer", vec![write.clone(), write.clone(), Op::Sleep(Amount::fixed(50_000)), write]);
    let reader = spec("reader", vec![ns(10_000), Op::PipeRead { pipe: 0, bytes: 100 }]);
    let (writer, reader) = (pinned_to(0, writer), pinned_to(1, reader));
    let t = run(m, workload(vec![Object::Pipe { slots: 16 }], vec![writer, reader]), without_locks()).totals.traffic;
    assert_eq!(t.lines.iter().sum::<u64>(), 2 + 2 + 2 + 1, "read: own and data; third write: own and page");
}

/// Copies of 500 ns that end at the same instant: the second waits for all of the first.
#[test]
fn two_writers_at_the_same_instant_copy_one_after_another() {
    let mut m = machine(2, 1);
    m.costs.soft_ns[SoftCost::PipeWrite as usize] = 500.0;
    let writer =
        |cpu| pinned_to(cpu, spec("writer", vec![Op::SleepUntil(100_000), Op::PipeWrite { pipe: 0, bytes: 100 }]));
    let both = || workload(vec![Object::Pipe { slots: 16 }], vec![writer(0), writer(1)]);
    let waited = |config| {
        let outcome = run(m.clone(), both(), config);
        (outcome.end, outcome.totals.traffic.pipe_wait_ns)
    };
    let (contended, alone) = (waited(plain()), waited(without_locks()));
    assert_eq!((contended.1, alone.1, contended.0 - alone.0), (500, 0, 500));
}

/// A copy takes 1000 ns. The reader has the mutex from 100500 to 101500, as a writer comes to it when its copy is done: the
/// second writer, whose copy began at 100000, can copy after that only, until 102500 instead of 101000.
#[test]
fn a_reader_and_a_writer_of_a_pipe_exclude_each_other() {
    let mut m = machine(3, 1);
    m.costs.soft_ns[SoftCost::CopyKib as usize] = 10_240.0;
    let write = Op::PipeWrite { pipe: 0, bytes: 100 };
    let writers = [
        pinned_to(0, spec("first", vec![write.clone()])),
        pinned_to(1, spec("second", vec![Op::SleepUntil(100_000), write])),
    ];
    let reader = pinned_to(2, spec("reader", vec![Op::SleepUntil(100_500), Op::PipeRead { pipe: 0, bytes: 100 }]));
    let tasks: Vec<_> = writers.into_iter().chain([reader]).collect();
    let outcome = run(m, workload(vec![Object::Pipe { slots: 16 }], tasks), plain());
    assert_eq!(outcome.totals.traffic.pipe_wait_ns, 1500);
}

fn without_locks() -> Config {
    Config { locks: LockCosts { pipe: false, run_queue: false }, ..plain() }
}

/// Two wakers at the same instant put sleepers on the queue of CPU 2: the second waits for the first to be done, and
/// takes the line of the lock from it.
#[test]
fn wakers_of_one_queue_wait_for_each_other() {
    let mut m = machine(3, 1);
    m.costs.soft_ns[SoftCost::Enqueue as usize] = 700.0;
    m.costs.line_ns = [0, 25, 25, 25, 25, 25, 25];
    let sleeper = |futex| pinned_to(2, spec("sleeper", vec![Op::FutexWait { futex, expected: 0 }]));
    let waker =
        |cpu, futex| pinned_to(cpu, spec("waker", vec![Op::SleepUntil(1_000_000), Op::FutexWake { futex, count: 1 }]));
    let tasks = vec![sleeper(0), sleeper(1), waker(0, 0), waker(1, 1)];
    let objects = vec![Object::Futex { value: 0 }, Object::Futex { value: 0 }];
    let alone = run(m.clone(), workload(objects.clone(), tasks.clone()), without_locks()).totals.traffic;
    assert_eq!((alone.queue_wait_ns, alone.line_ns), (0, 0));
    let t = run(m, workload(objects, tasks), plain()).totals.traffic;
    assert!(t.queue_wait_ns >= 700, "{t:?}");
    assert!(t.lines.iter().sum::<u64>() >= 2, "{t:?}");
}

/// 100 messages of 4 KiB (64 lines) at 6.4 GB/s, 10 ns a line, while a line costs 1: the link sets the pace.
#[test]
fn a_link_is_no_faster_than_its_rate() {
    let mut m = all_distances();
    m.costs.line_ns = [0, 1, 1, 1, 1, 1, 1];
    m.costs.link_gb_per_s = Some(6.4);
    let repeated = |op: Op| {
        let mut program = ProgramBuilder::new();
        program.repeat(Some(100), |p| {
            p.op(op);
        });
        program.build().to_vec()
    };
    let both = |cpu| {
        let w = spec("writer", repeated(Op::PipeWrite { pipe: 0, bytes: 4096 }));
        let r = spec("reader", repeated(Op::PipeRead { pipe: 0, bytes: 4096 }));
        workload(vec![Object::Pipe { slots: 100 }], vec![pinned_to(0, w), pinned_to(cpu, r)])
    };
    let far = run(m.clone(), both(6), plain());
    assert!(far.end >= 99 * 640, "99 messages had passed when the last was requested: {}", far.end);
    assert!(far.totals.traffic.link_wait_ns > 0);
    assert_eq!(run(m, both(4), plain()).totals.traffic.link_wait_ns, 0, "one node");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Without costs no thread waits, and whether locks are waited for changes nothing; with them, no more is charged
    /// than the CPUs had time for.
    #[test]
    fn free_locks_change_nothing_and_dear_ones_add_up(readers in 1u32..5, count in 1u64..40, line in 1u64..500) {
        let mut tasks = Vec::new();
        for (i, cpu) in (0..readers).zip((0..7).cycle().skip(3)) {
            let [mut writer, mut reader] = [ProgramBuilder::new(), ProgramBuilder::new()];
            writer.repeat(Some(count), |p| {
                p.op(ns(100)).op(Op::PipeWrite { pipe: 0, bytes: 100 });
            });
            reader.repeat(Some(count), |p| {
                p.op(Op::PipeRead { pipe: 0, bytes: 100 }).op(ns(150));
            });
            tasks.push(pinned_to(i, spec("writer", writer.build().to_vec())));
            tasks.push(pinned_to(cpu, spec("reader", reader.build().to_vec())));
        }
        let all = || workload(vec![Object::Pipe { slots: 2 }], tasks.clone());
        let free = run(all_distances(), all(), plain());
        let unlocked = run(all_distances(), all(), without_locks());
        prop_assert_eq!((free.end, free.nr_events), (unlocked.end, unlocked.nr_events));
        prop_assert_eq!((free.totals.traffic.pipe_wait_ns, free.totals.traffic.queue_wait_ns), (0, 0));
        let mut dear = fairground_sim::testing::with_costs(all_distances());
        dear.costs.line_ns = [0, line, line, line, 2 * line, 2 * line, 3 * line];
        dear.costs.link_gb_per_s = Some(1.0);
        let dear = run(dear, all(), plain());
        let t = dear.totals.traffic;
        let lost = t.line_ns + t.message_ns + t.pipe_wait_ns + t.queue_wait_ns + t.link_wait_ns;
        prop_assert!(t.line_ns >= line * t.lines.iter().sum::<u64>());
        prop_assert!(lost <= 7 * dear.end, "{:?} in {} ns", t, dear.end);
    }
}
