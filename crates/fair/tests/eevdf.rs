//! EEVDF through the scheduler's calls and in whole runs (spec 9.2); one CPU, so a slice is 0.75 ms, a tick 4 ms.

#[allow(dead_code)] // each of its users leaves something out
use std::sync::Arc;

use fairground_fair::{ffi, Fair, Features, Options};
use fairground_machine::{CpuMask, Machine};
use fairground_sim::{testing, Change, Config, Engine, Event, EventKind, Observer, Pick, Request, Scheduler};
use fairground_workload::{Amount, Op, Policy, ProgramBuilder, SchedAttr, TaskSpec};

use crate::rig::{two_caches, Rig, MS};

const VERSIONS: [&str; 2] = ["v5.11+rq=eevdf", "v5.11+rq=eevdf612"];

/// Tasks 0 and 1 on CPU 0; 0 is current and has run 0.4 ms, so it owes 0.2 ms.
fn in_debt(cpus: usize, scheduler: &str) -> Rig {
    let mut rig = Rig::new(Machine::symmetric(cpus), scheduler);
    rig.fair_task(0, "0");
    rig.fair_task(1, "0");
    assert_eq!(rig.schedule(0), Pick::Task(0));
    rig.now += 2 * MS / 5;
    rig
}

fn is_delayed(rig: &Rig, task: u32) -> bool {
    rig.fair.task(task).flags & ffi::FG_TASK_DELAYED != 0
}

fn fifo() -> SchedAttr {
    SchedAttr { policy: Policy::Fifo, rt_priority: 1, ..SchedAttr::default() }
}

#[test]
fn a_sleeper_in_debt_leaves_in_v66_and_stays_in_v612() {
    for (scheduler, stays) in VERSIONS.iter().zip([false, true]) {
        let mut rig = in_debt(1, scheduler);
        assert_eq!(rig.sleep(0, 0), Pick::Task(1));
        assert_eq!((is_delayed(&rig, 0), rig.fair.cpu(0).h_nr_running), (stays, 1 + u32::from(stays)));
    }
}

#[test]
fn waking_a_delayed_sleeper_chooses_no_cpu() {
    for (scheduler, chooses) in VERSIONS.iter().zip([true, false]) {
        let mut rig = in_debt(2, scheduler);
        rig.call(0, |f, e| f.change(e, 0, 0, &Change::Affinity(CpuMask::first_n(2))));
        rig.sleep(0, 0);
        rig.now += MS / 10;
        rig.wake(1, None, 0);
        assert_eq!(rig.asked(|r| matches!(r, Request::Decided(_))), chooses);
        let cpu = u32::from(chooses);
        assert!(rig.asked(|r| *r == Request::Enqueued { task: 0, cpu }), "the idle CPU 1 only if it may choose");
        assert!(!is_delayed(&rig, 0));
    }
}

/// A current task that sleeps and leaves only delayed sleepers behind: a pick dequeues all of them, and the CPU idles.
#[test]
fn delayed_sleepers_alone_are_dequeued_and_the_cpu_goes_idle() {
    let mut rig = in_debt(1, VERSIONS[1]);
    rig.sleep(0, 0);
    rig.now += MS / 10;
    assert_eq!(rig.sleep(0, 1), Pick::Idle);
    let cpu = rig.fair.cpu(0);
    assert_eq!((cpu.nr_running, cpu.h_nr_delayed, rig.fair.task(0).on_rq), (0, 0, 0));
    assert_ne!(cpu.idle_stamp, 0, "newly idle");
    assert_eq!(rig.fair.task(0).vlag, 0, "alone, it has no lag");
}

/// At a pick, a delayed sleeper whose turn it is goes, and the next one runs.
#[test]
fn a_delayed_sleeper_that_is_picked_goes() {
    let mut rig = in_debt(1, VERSIONS[1]);
    rig.sleep(0, 0);
    rig.now += 76 * MS / 100;
    rig.call(0, |f, e| f.tick(e, 0));
    assert!(rig.resched_of(0), "a new task's slice of 0.375 ms is over");
    // 1 has run 0.76 ms, 0 only 0.4: it would be 0's turn.
    assert_eq!(rig.schedule(0), Pick::Task(1));
    assert!(!is_delayed(&rig, 0));
    assert_eq!((rig.fair.task(0).on_rq, rig.fair.task(0).vlag), (0, 0));
}

/// Between block() and schedule() the kernel's waker waits for the run queue's lock.
#[test]
fn a_delayed_sleeper_still_current_is_woken_after_the_switch() {
    let mut rig = in_debt(1, VERSIONS[1]);
    rig.call(0, |f, e| f.block(e, 0, 0));
    assert!(is_delayed(&rig, 0));
    rig.wake(0, None, 0);
    assert!(!rig.asked(|r| matches!(r, Request::Enqueued { .. })));
    assert_eq!(rig.schedule(0), Pick::Task(1));
    assert!(rig.asked(|r| *r == Request::Enqueued { task: 0, cpu: 0 }));
    assert!(!is_delayed(&rig, 0) && rig.fair.task(0).on_rq != 0);
}

/// The same if the waker is behind another cache, from where a sleeper's wakeup would be sent to its CPU, and if an RT
/// task comes in between.
#[test]
fn so_it_is_from_far_and_beside_rt_tasks() {
    let mut rig = Rig::new(two_caches(), VERSIONS[1]);
    rig.fair_task(0, "0");
    rig.fair_task(1, "0");
    rig.schedule(0);
    rig.now += 2 * MS / 5;
    rig.call(0, |f, e| f.block(e, 0, 0));
    rig.wake(2, None, 0);
    assert!(!rig.asked(|r| matches!(r, Request::Enqueued { .. } | Request::Ipi { .. })));
    rig.rt_task(2, Policy::Fifo, 1, "0");
    assert_eq!(rig.schedule(0), Pick::Task(2));
    assert!(rig.asked(|r| *r == Request::Enqueued { task: 0, cpu: 0 }));
}

/// The wakeup of a delayed sleeper charges the current task, whose slice, half a one of a new task, is over after 0.375 ms.
#[test]
fn waking_a_delayed_sleeper_can_end_a_slice() {
    for (us, over) in [(370, false), (380, true)] {
        let mut rig = in_debt(1, VERSIONS[1]);
        rig.sleep(0, 0);
        rig.now += us * MS / 1000;
        rig.wake(0, None, 0);
        assert_eq!(rig.resched_of(0), over, "{us} us");
    }
}

/// Task 0 fell asleep at 0.4 ms, and 1 has run 0.5 ms since, so that V is 0.45 ms: 0 has paid its debt and has no credit,
/// and is placed where 1 is. Without delay-charge V still is 0.2 ms, and 0 stays.
#[test]
fn a_delayed_sleeper_that_wakes_has_paid_by_what_the_current_task_ran_since_v72() {
    for (scheduler, moved) in [("v7.1", 0), ("v7.2", 100_000), ("v7.2-delay-charge", 0)] {
        let mut rig = in_debt(1, scheduler);
        rig.sleep(0, 0);
        assert!(is_delayed(&rig, 0));
        let asleep = rig.fair.task(0).vruntime;
        rig.now += MS / 2;
        rig.wake(0, None, 0);
        assert!(!is_delayed(&rig, 0));
        // Sums of weights round, by less than 1 us.
        let by = rig.fair.task(0).vruntime.wrapping_sub(asleep) as i64;
        assert!(by.abs_diff(moved) < 1000, "{scheduler}: {by} ns");
    }
}

#[test]
fn a_delayed_sleeper_moves_asleep_and_ends_on_an_idle_cpu() {
    let mut rig = in_debt(2, VERSIONS[1]);
    rig.sleep(0, 0);
    rig.call(0, |f, e| f.change(e, 0, 0, &Change::Affinity(CpuMask::single(1))));
    assert!(rig.asked(|r| matches!(r, Request::Migrated { task: 0, from: 0, to: 1, .. })));
    assert!(is_delayed(&rig, 0));
    assert_eq!(rig.schedule(1), Pick::Idle);
    assert_eq!((is_delayed(&rig, 0), rig.fair.cpu(1).nr_running), (false, 0));
    rig.wake(0, None, 0);
    assert_eq!(rig.schedule(1), Pick::Task(0));
}

#[test]
fn attributes_of_a_delayed_sleeper_change_in_place_unless_it_leaves_the_class() {
    let mut rig = in_debt(1, VERSIONS[1]);
    rig.sleep(0, 0);
    rig.call(0, |f, e| f.change(e, 0, 0, &Change::Attr(SchedAttr { nice: 5, ..SchedAttr::default() })));
    assert!(is_delayed(&rig, 0));
    assert_eq!(rig.fair.cpu(0).fair.load_weight, 1024 + 335);
    rig.call(0, |f, e| f.change(e, 0, 0, &Change::Attr(fifo())));
    assert_eq!((is_delayed(&rig, 0), rig.fair.task(0).on_rq, rig.fair.cpu(0).nr_running), (false, 0, 1));
    rig.wake(0, None, 0);
    assert_eq!(rig.schedule(0), Pick::Task(0));
}

#[test]
fn a_task_in_debt_that_exits_is_gone() {
    let mut rig = in_debt(1, VERSIONS[1]);
    rig.call(0, |f, e| f.exit(e, 0, 0));
    assert_eq!(rig.schedule(0), Pick::Task(1));
    assert_eq!(rig.fair.cpu(0).h_nr_running, 1);
}

/// Task 2 asks for 0.1 ms at a time, and comes with that into a slice that began.
#[test]
fn a_slice_asked_for_preempts() {
    for (scheduler, preempts) in VERSIONS.iter().zip([false, true]) {
        let mut rig = Rig::new(Machine::symmetric(1), scheduler);
        rig.fair_task(0, "0");
        rig.schedule(0);
        rig.now += MS / 10;
        rig.fork(1, SchedAttr { slice_ns: 100_000, ..SchedAttr::default() }, CpuMask::single(0));
        assert_eq!(rig.resched_of(0), preempts, "{scheduler}");
    }
}

/// ns that each task was current.
#[derive(Default)]
struct Shares {
    ran: Vec<u64>,
    since: u64,
}

impl Observer for Shares {
    fn event(&mut self, event: &Event) {
        if let EventKind::Switch { prev, .. } = event.kind {
            if let Some(prev) = prev {
                self.ran.resize(self.ran.len().max(prev as usize + 1), 0);
                self.ran[prev as usize] += event.time - self.since;
            }
            self.since = event.time;
        }
    }
}

/// What each of `tasks` had of one CPU in `seconds`, ns.
fn shares(scheduler: &str, tasks: Vec<TaskSpec>, seconds: u64) -> Vec<u64> {
    let machine = Arc::new(Machine::symmetric(1));
    let mut workload = testing::workload(vec![], tasks);
    workload.duration_ns = Some(seconds * 1000 * MS);
    let fair = Fair::new(Arc::clone(&machine), Features::parse(scheduler).unwrap(), Options::default()).unwrap();
    let config = Config { audit_every_ns: 1_000_000, ..Config::default() };
    let mut shares = Shares::default();
    let mut engine = Engine::new(machine, Arc::new(workload), Box::new(fair), config);
    engine.run(&mut [&mut shares]).unwrap();
    shares.ran
}

fn endless(name: &str, attr: SchedAttr, body: &[Op]) -> TaskSpec {
    let mut program = ProgramBuilder::new();
    program.repeat(None, |p| {
        for op in body {
            p.op(op.clone());
        }
    });
    let mut task = testing::spec(name, vec![]);
    (task.program, task.attr) = (program.build(), attr);
    task
}

fn work(us: u64) -> Op {
    Op::Run(Amount::fixed(us * 1000))
}

/// After 10 s no task is further from its share than a slice and a tick, 0.05 % of the time; CFS allows 0.5 %.
#[test]
fn weights_share_a_cpu() {
    const WEIGHTS: [u64; 11] = [3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335];
    let task = |nice: i8| endless("hog", SchedAttr { nice, ..SchedAttr::default() }, &[work(10_000)]);
    for (scheduler, off) in VERSIONS.iter().zip([5 * MS; 2]).chain([(&"v5.11", 50 * MS)]) {
        let ran = shares(scheduler, (-5..=5).map(task).collect(), 10);
        let (total, weights) = (ran.iter().sum::<u64>(), WEIGHTS.iter().sum::<u64>());
        assert!(total > 9_900 * MS);
        for (ran, weight) in ran.iter().zip(WEIGHTS) {
            let share = total * weight / weights;
            assert!(ran.abs_diff(share) < off, "{scheduler}: weight {weight} had {ran} ns, should have {share}");
        }
    }
}

/// Lag is kept over sleep: a task that sleeps shortly whenever its lag is negative wakes with that lag.
#[test]
fn short_sleeps_gain_nothing() {
    for scheduler in VERSIONS {
        let nap = [work(2_000), Op::Sleep(Amount::fixed(1_000))];
        let tasks =
            vec![endless("hog", SchedAttr::default(), &[work(10_000)]), endless("nap", SchedAttr::default(), &nap)];
        let ran = shares(scheduler, tasks, 2);
        let permille = ran[1] * 1000 / (ran[0] + ran[1]);
        assert!((470..=505).contains(&permille), "{scheduler}: {permille} of 1000");
    }
}
