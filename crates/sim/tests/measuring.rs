//! Steps by which programs measure, and the meetings that benchmarks are made of. Times are computed by hand: nothing
//! costs anything but an IPI (1 ns), the thread of template `i` is placed on CPU `i`: the first starts at 0, the
//! others at 1 ns.

use fairground_machine::{CpuMask, Distance, Machine, SoftCost};
use fairground_sim::testing::{self, machine, spec, workload};
use fairground_sim::{Config, Event, EventKind, IdleGovernor, MetricsObserver, Observer, Outcome, TaskId, Time};
use fairground_workload::{
    Amount, Deadline, Object, Op, Phase, Points, ProgramBuilder, Report, Score, Section, Series, Since, TimeUnit,
    Workload,
};

#[derive(Default)]
struct Log {
    exits: Vec<(Time, TaskId)>,
    wakings: Vec<(Time, TaskId)>,
}

impl Observer for Log {
    fn event(&mut self, event: &Event) {
        match event.kind {
            EventKind::Exit { task } => self.exits.push((event.time, task)),
            EventKind::Waking { task, .. } => self.wakings.push((event.time, task)),
            _ => {}
        }
    }
}

fn run(m: Machine, w: Workload) -> (Outcome, Log) {
    let mut log = Log::default();
    let config = Config { start_phase: false, idle: IdleGovernor::Shallowest, ..Config::default() };
    let mut metrics = MetricsObserver::new(std::sync::Arc::new(m.clone()), &w);
    let outcome = testing::engine(m, w, config).run(&mut [&mut log, &mut metrics]).expect("the run ends well");
    (outcome, log)
}

const MS: u64 = 1_000_000;

/// Both kinds of locks that [`Op::Serial`] takes.
const LOCKS: [Object; 2] = [Object::Ticket, Object::KernelMutex];

fn held(n: u64) -> Op {
    Op::Serial { lock: 0, hold: Amount::fixed(n), lines: 0 }
}

fn ns(n: u64) -> Op {
    Op::Run(Amount::fixed(n))
}

fn series(tick_ns: u32) -> Series {
    Series {
        name: "s".into(),
        meaning: "".into(),
        tick_ns,
        unit: TimeUnit::Us,
        mean: true,
        permilles: vec![500],
        deadlines: Vec::new(),
    }
}

fn measuring(tick_ns: u32, objects: Vec<Object>, programs: Vec<Vec<Op>>) -> Workload {
    let tasks = programs.into_iter().map(|p| spec("t", p)).collect();
    Workload { series: vec![series(tick_ns)], ..workload(objects, tasks) }
}

/// Sum and number of the samples of a run.
fn samples(outcome: &Outcome) -> (u128, u64) {
    outcome.meters.series.first().map_or((0, 0), |h| (h.sum(), h.count()))
}

/// A socket that takes whatever comes, and one that takes one message of a byte.
const ROOMY: Object = Object::Socket { sndbuf: 4096, overhead: 10 };
const TIGHT: Object = Object::Socket { sndbuf: 11, overhead: 10 };

const TO_SERIES: Report = Report::Series(0);

/// Stamped at 1500 ns, read at 3400: 1900 ns, but a clock of 1 us shows 1 and 3.
#[test]
fn a_sample_is_the_difference_of_two_readings_of_a_coarse_clock() {
    let program = || vec![ns(1500), Op::Stamp(0), ns(1900), Op::Sample { since: Since::Stamp(0), to: TO_SERIES }];
    for (tick, ticks) in [(1, 1900), (1000, 2), (10_000, 0)] {
        let (outcome, _) = run(machine(1, 1), measuring(tick, vec![Object::Stamp], vec![program()]));
        assert_eq!(samples(&outcome), (ticks, 1), "{tick}");
    }
}

/// Samples of 999, 1000 and 1001 ns against deadlines of 1000 and 5000.
#[test]
fn a_sample_beyond_its_deadline_is_late() {
    let take = |n| [Op::Stamp(0), ns(n), Op::Sample { since: Since::Stamp(0), to: TO_SERIES }];
    let mut w = measuring(1, vec![Object::Stamp], vec![[999, 1000, 1001].into_iter().flat_map(take).collect()]);
    let deadline = |ticks| Deadline { name: "d".into(), ticks };
    w.series[0].deadlines = vec![deadline(1000), deadline(5000)];
    assert_eq!(run(machine(1, 1), w).0.meters.late, [[1, 0]]);
}

/// Two copies that take 2 ms and 4 ms: 500/s and 250/s. Only the second phase is reported to.
#[test]
fn rates_of_a_phase_add_up() {
    let copy = |ms| vec![Op::Stamp(0), ns(ms * MS), Op::Sample { since: Since::Stamp(0), to: Report::Phase(1) }];
    let phases = vec![Phase { name: "p".into(), work_ns: 1 }; 2];
    let sections = vec![Section { name: "s".into(), weight: 1, phases }];
    let score = Score::Points(Points { full_speed: 1, parts: 1, sections });
    let program: Vec<Op> = [2, 4].into_iter().flat_map(copy).collect();
    let w = Workload { score, ..measuring(1, vec![Object::Stamp], vec![program]) };
    assert_eq!(run(machine(1, 1), w).0.meters.phase_rates, [0.0, 750.0]);
}

/// Called at 1000 ns by the keeper, at work from 1001; the third thread reads the stamp 5000 ns after its own start at 1.
#[test]
fn the_time_of_a_call_can_be_handed_to_another_thread() {
    let called = vec![Op::Enlist(0), Op::StampCall(1), ns(10)];
    let other = vec![ns(5000), Op::Sample { since: Since::Stamp(1), to: TO_SERIES }];
    let programs = vec![vec![ns(1000), Op::CallListed(0)], called, other];
    let (outcome, _) = run(machine(3, 1), measuring(1, vec![Object::Roster, Object::Stamp], programs));
    assert_eq!(samples(&outcome), (4001, 1));
}

/// Samples of 1000, 2000 and 4000 ns have the mean 2333; the emptied tally reports nothing, then 500.
#[test]
fn a_tally_reports_whole_means_and_empties_itself() {
    let gather = |after| [Op::Stamp(0), ns(after), Op::Sample { since: Since::Stamp(0), to: Report::Tally(1) }];
    let mut program: Vec<Op> = [1000, 2000, 4000].into_iter().flat_map(gather).collect();
    program.extend([Op::Conclude(1), Op::Conclude(1)]);
    program.extend(gather(500));
    program.push(Op::Conclude(1));
    let (outcome, _) =
        run(machine(1, 1), measuring(1, vec![Object::Stamp, Object::Tally { series: 0 }], vec![program]));
    assert_eq!(samples(&outcome), (2333 + 500, 2));
}

/// Each child takes its parent 300 ns, and is placed on CPU 1, which an IPI of 1 ns wakes.
#[test]
fn a_child_counts_from_when_its_parent_began_to_create_it() {
    let objects = vec![];
    let mut m = machine(2, 1);
    m.costs.soft_ns[SoftCost::CloneThread as usize] = 300.0;
    let spawn = || [ns(700), Op::Spawn { spec: 1, count: 1, thread: true }, Op::WaitChildren];
    let parent: Vec<Op> = spawn().into_iter().chain(spawn()).collect();
    let child = vec![Op::Sample { since: Since::Birth, to: TO_SERIES }, ns(50)];
    let mut w = measuring(1, objects, vec![parent, child]);
    w.start.truncate(1);
    assert_eq!(samples(&run(m, w).0), (2 * 301, 2));
}

/// Come at 0, 1 and 2 ns, held 1000 each: given up at 1000, 2000 and 3000.
#[test]
fn a_lock_serves_in_order_of_arrival_those_who_spin() {
    let program = |first| vec![ns(first), held(1000)];
    for lock in LOCKS {
        let (_, log) = run(machine(3, 1), measuring(1, vec![lock], vec![program(2), program(0), program(0)]));
        assert_eq!(log.exits, [(1001, 1), (2001, 2), (3001, 0)]);
    }
}

/// The first holder has the lines; the second, on a CPU behind the same cache, waits for 3 of 25 ns.
#[test]
fn a_holder_on_another_cpu_waits_for_its_lines() {
    let mut m = machine(2, 1);
    m.costs.line_ns = [25; Distance::COUNT];
    m.costs.line_ns[Distance::Same as usize] = 0;
    let program = || vec![Op::Serial { lock: 0, hold: Amount::fixed(1000), lines: 3 }];
    for lock in LOCKS {
        let (_, log) = run(m.clone(), measuring(1, vec![lock], vec![program(), program()]));
        assert_eq!(log.exits, [(1000, 0), (2075, 1)]);
    }
}

/// On a CPU of half the capacity the work under the lock takes twice as long.
#[test]
fn a_slow_holder_holds_longer() {
    let mut m = machine(1, 1);
    m.cpus[0].capacity = 512;
    for lock in LOCKS {
        let (_, log) = run(m.clone(), measuring(1, vec![lock], vec![vec![held(500)]]));
        assert_eq!(log.exits, [(1000, 0)]);
    }
}

/// Two threads share the CPU, a slice being a tick of 4 ms. The first begins to hold at 3 ms for 3 ms: the tick at 4 ms
/// wants to switch, but the other one runs only from 6 ms on, its 1 ms later it is done.
#[test]
fn a_holder_of_a_ticket_lock_is_not_preempted() {
    let holder = vec![ns(3 * MS), held(3 * MS), ns(5 * MS)];
    let (_, log) = run(machine(1, 1), measuring(1, vec![Object::Ticket], vec![holder, vec![ns(MS)]]));
    assert_eq!(log.exits, [(7 * MS, 1), (12 * MS, 0)]);
    let plain = vec![ns(3 * MS), ns(3 * MS), ns(5 * MS)];
    let (_, log) = run(machine(1, 1), measuring(1, vec![Object::Ticket], vec![plain, vec![ns(MS)]]));
    assert_eq!(log.exits, [(5 * MS, 1), (12 * MS, 0)]);
}

/// The first, preempted at 4 ms, holds from 3 ms on. The second finds it off the CPU and sleeps instead of its whole slice, so
/// that the first goes on at once and gives up at 6 ms; at 8 ms the second has its turn.
#[test]
fn a_waiter_does_not_spin_for_a_holder_that_is_preempted() {
    let programs = vec![vec![ns(3 * MS), held(3 * MS), ns(5 * MS)], vec![held(MS)]];
    let (_, log) = run(machine(1, 1), measuring(1, vec![Object::KernelMutex], programs));
    assert_eq!(log.wakings.last(), Some(&(6 * MS, 1)));
    assert_eq!(log.exits, [(9 * MS, 1), (12 * MS, 0)]);
}

/// CPU 0: a holder for 6 ms, preempted at 4 ms for one. CPU 1: one that spins for it until then and sleeps; it is woken at
/// 7 ms.
#[test]
fn a_holder_that_is_preempted_ends_the_spinning() {
    let other = vec![Op::SetAffinity(CpuMask::single(0)), ns(MS)];
    let programs = vec![vec![held(6 * MS)], vec![held(MS)], other];
    let (_, log) = run(machine(2, 1), measuring(1, vec![Object::KernelMutex], programs));
    assert_eq!(log.wakings.last(), Some(&(7 * MS, 1)));
    assert_eq!(log.exits.iter().map(|e| (e.0 / MS, e.1)).collect::<Vec<_>>(), [(5, 2), (7, 0), (8, 1)]);
}

/// CPU 0: a holder for 10 ms. CPU 1: one that spins for it until the tick at 4 ms, then another for 2 ms, then the first,
/// which sleeps until it is woken at 10 ms: it does not spin any more. If it did, CPU 1 would not idle.
#[test]
fn a_spinner_that_is_preempted_sleeps() {
    let on_1 = |then| vec![Op::SetAffinity(CpuMask::single(1)), then];
    let programs = vec![vec![held(10 * MS)], on_1(held(MS)), on_1(ns(2 * MS))];
    let (_, log) = run(machine(2, 1), measuring(1, vec![Object::KernelMutex], programs));
    assert_eq!(log.exits.iter().map(|e| (e.0 / MS, e.1)).collect::<Vec<_>>(), [(6, 2), (10, 0), (11, 1)]);
    assert_eq!(log.wakings.last(), Some(&(10 * MS, 1)));
}

/// The first holds again and again, 3 ms each time. The second sleeps for it while it is preempted, is woken when it gives up
/// at 7 ms, and comes too late; next time, at 10 ms, the lock is handed to it.
#[test]
fn a_sleeper_that_came_too_late_once_is_next() {
    let on = |cpu, steps: &[Op]| [&[Op::SetAffinity(CpuMask::single(cpu))], steps].concat();
    let again = on(0, &[held(3 * MS), held(3 * MS), held(3 * MS), held(3 * MS)]);
    let programs = vec![again, on(1, &[ns(4_500_000), held(MS)]), on(0, &[ns(MS)])];
    let (_, log) = run(machine(2, 1), measuring(1, vec![Object::KernelMutex], programs));
    assert_eq!(log.exits.iter().map(|e| (e.0 / MS, e.1)).collect::<Vec<_>>(), [(5, 2), (11, 1), (14, 0)]);
}

/// Three poll, one reads: a write wakes the pollers, last come first, and then the reader, who takes the byte. All
/// but the reader find the pipe empty or not by their time; the second byte is for them.
#[test]
fn a_write_wakes_all_who_poll_last_come_first() {
    let poller = |after| vec![ns(after), Op::Poll(0)];
    let write = |o: bool| if o { Op::SockSend { sock: 0, bytes: 1 } } else { Op::PipeWrite { pipe: 0, bytes: 1 } };
    for socket in [true, false] {
        let object = if socket { Object::Socket { sndbuf: 4096, overhead: 10 } } else { Object::Pipe { slots: 1 } };
        let programs = vec![vec![ns(1000), write(socket)], poller(100), poller(300), poller(200)];
        let (_, log) = run(machine(4, 1), measuring(1, vec![object], programs));
        assert_eq!(log.wakings, [(1000, 2), (1000, 3), (1000, 1)], "{socket}");
        assert_eq!(log.exits.len(), 4);
    }
}

/// Three receivers of a socket wait: a message wakes them all, last come first, and the first to look gets it.
#[test]
fn a_message_wakes_all_who_receive_last_come_first() {
    let receiver = |after| vec![ns(after), Op::SockRecv { sock: 0, bytes: 1 }];
    let mut sender = vec![ns(1000), Op::SockSend { sock: 0, bytes: 1 }, ns(1000)];
    sender.extend(vec![Op::SockSend { sock: 0, bytes: 1 }; 2]);
    let programs = vec![sender, receiver(100), receiver(300), receiver(200)];
    let (_, log) = run(machine(4, 1), measuring(1, vec![ROOMY], programs));
    assert_eq!(log.wakings[..3], [(1000, 2), (1000, 3), (1000, 1)]);
    assert_eq!(log.exits.len(), 4);
}

/// The first message uses the buffer up; three more senders wait until it is received.
#[test]
fn room_in_a_socket_wakes_all_who_send_last_come_first() {
    let sender = |after| vec![ns(after), Op::SockSend { sock: 0, bytes: 1 }];
    let mut main = sender(0);
    main.push(ns(1000));
    main.extend(vec![Op::SockRecv { sock: 0, bytes: 1 }; 4]);
    let (_, log) = run(machine(4, 1), measuring(1, vec![TIGHT], vec![main, sender(100), sender(300), sender(200)]));
    assert_eq!(log.wakings[..3], [(1000, 2), (1000, 3), (1000, 1)]);
    assert_eq!(log.exits.len(), 4);
}

/// Receiving costs 300 ns, but only once there is something: the look at 1 ns finds nothing, the message comes at 100, an
/// IPI of 1 ns later it is received.
#[test]
fn a_receiver_looks_before_it_pays_for_the_message() {
    let mut m = machine(2, 1);
    m.costs.soft_ns[SoftCost::SockRecv as usize] = 300.0;
    let programs = vec![vec![ns(100), Op::SockSend { sock: 0, bytes: 1 }], vec![Op::SockRecv { sock: 0, bytes: 1 }]];
    let (_, log) = run(m, measuring(1, vec![ROOMY], programs));
    assert_eq!(log.exits, [(100, 0), (401, 1)]);
}

/// Sending costs 700 ns. The second message finds no room at 700 and is not begun: room comes at 1000.
#[test]
fn a_sender_finds_room_before_it_pays_for_the_message() {
    let mut m = machine(2, 1);
    m.costs.soft_ns[SoftCost::SockSend as usize] = 700.0;
    let sender = vec![Op::SockSend { sock: 0, bytes: 1 }; 2];
    let receiver = vec![ns(999), Op::SockRecv { sock: 0, bytes: 2 }];
    let (_, log) = run(m, measuring(1, vec![TIGHT], vec![sender, receiver]));
    assert_eq!(log.exits, [(1701, 0), (1702, 1)]);
}

/// A byte that is there is left there.
#[test]
fn poll_takes_nothing() {
    let program =
        vec![Op::PipeWrite { pipe: 0, bytes: 1 }, Op::Poll(0), Op::Poll(0), Op::PipeRead { pipe: 0, bytes: 1 }];
    let (outcome, _) = run(machine(1, 1), measuring(1, vec![Object::Pipe { slots: 1 }], vec![program]));
    assert_eq!(outcome.end, 0);
}

/// Children run 100, 200 and 300 ns from 1 ns on, on CPUs of their own: the parent sees the first at 101, works 1000,
/// and has not to wait for the others; a fourth wait finds no child to wait for.
#[test]
fn wait_takes_one_child_at_a_time() {
    let spawn = |spec| Op::Spawn { spec, count: 1, thread: false };
    let mut parent: Vec<Op> = (1..4).map(spawn).collect();
    parent.extend([Op::WaitChild, ns(1000), Op::WaitChild, Op::WaitChild, Op::WaitChild]);
    let mut w = measuring(1, vec![], vec![parent, vec![ns(100)], vec![ns(200)], vec![ns(300)]]);
    w.start.truncate(1);
    let (_, log) = run(machine(4, 1), w);
    assert_eq!(log.wakings, [(101, 0)]);
    assert_eq!(log.exits.last(), Some(&(1102, 0)), "woken by an IPI of 1 ns at 102");
}

/// Three list themselves at 100, 300 and 201 ns; the keeper, back from 1000 ns of work, calls: a futex call of 50 ns
/// each, the newest first. Each counts from 1000.
#[test]
fn a_call_has_one_time_and_wakes_one_after_another() {
    let mut m = machine(4, 1);
    m.costs.soft_ns[SoftCost::Futex as usize] = 50.0;
    let worker = |after| vec![ns(after), Op::Enlist(0), Op::Sample { since: Since::Call, to: TO_SERIES }];
    let programs = vec![vec![ns(1000), Op::CallListed(0)], worker(100), worker(299), worker(200)];
    let (outcome, log) = run(m, measuring(1, vec![Object::Roster], programs));
    assert_eq!(log.wakings, [(1050, 2), (1100, 3), (1150, 1)]);
    // An IPI of 1 ns, and the return half of a futex call.
    assert_eq!(samples(&outcome), (101 + 151 + 201, 3));
}

/// The keeper sleeps from 0 on; the worker lists itself at 500 and wakes it.
#[test]
fn a_sleeping_keeper_is_woken_by_a_worker_that_lists_itself() {
    let programs = vec![vec![Op::AwaitListed(0), ns(10), Op::CallListed(0)], vec![ns(499), Op::Enlist(0)]];
    let (_, log) = run(machine(2, 1), measuring(1, vec![Object::Roster], programs));
    assert_eq!(log.wakings, [(500, 0), (511, 1)]);
}

/// The worker's CPU has a sixteenth of the capacity: the keeper that it wakes calls it while it is on its way to sleep.
#[test]
fn a_worker_that_is_called_before_it_sleeps_does_not_sleep() {
    let mut m = machine(2, 1);
    m.costs.soft_ns[SoftCost::Futex as usize] = 50.0;
    m.cpus[1].capacity = 64;
    let keeper = vec![Op::AwaitListed(0), Op::CallListed(0)];
    let (outcome, log) = run(m, measuring(1, vec![Object::Roster], vec![keeper, vec![ns(10), Op::Enlist(0)]]));
    assert_eq!(log.wakings.iter().map(|w| w.1).collect::<Vec<_>>(), [0]);
    assert_eq!(log.exits.len(), 2, "{outcome:?}");
}

/// Both rounds of both workers, one keeper that awaits and calls for ever.
#[test]
fn no_worker_is_lost_between_listing_and_calling() {
    let looped = |times, ops: Vec<Op>| {
        let mut p = ProgramBuilder::new();
        p.repeat(times, |p| {
            for op in ops {
                p.op(op);
            }
        });
        p.build()
    };
    let mut m = machine(3, 1);
    m.costs.soft_ns[SoftCost::Futex as usize] = 37.0;
    m.costs.soft_ns[SoftCost::LockFast as usize] = 11.0;
    let worker = || vec![Op::Enlist(0), Op::Sample { since: Since::Call, to: TO_SERIES }];
    let mut w = measuring(1, vec![Object::Roster], vec![vec![], worker(), worker()]);
    w.tasks[0].program = looped(None, vec![Op::AwaitListed(0), Op::CallListed(0)]);
    w.tasks[0].daemon = true;
    w.tasks[1].program = looped(Some(500), worker());
    w.tasks[2].program = looped(Some(700), worker());
    let (outcome, _) = run(m, w);
    assert_eq!(samples(&outcome).1, 1200);
}
