//! Scenarios call by call, as the engine would make them: what is asked of the engine, and who runs.

#[allow(dead_code)] // each of its users leaves something out
use std::sync::Arc;

use fairground_fair::{Features, Options, Pointers, PolicySandbox};
use fairground_machine::testing::Shape;
use fairground_machine::{CpuId, CpuMask, Machine};
use fairground_sim::{Change, Env, IdleView, Ipi, MigrateCause, Pick, Request, Scheduler, TaskInfo, WakeContext};
use fairground_workload::{Policy, SchedAttr};

use crate::rig::{two_caches, Rig, MS};

#[test]
fn a_wakeup_behind_another_cache_goes_through_the_wake_queue() {
    let mut rig = Rig::new(two_caches(), "v5.9");
    rig.fair_task(0, "2");
    assert_eq!(rig.schedule(2), Pick::Task(0));
    rig.now += MS;
    assert_eq!(rig.sleep(2, 0), Pick::Idle);
    rig.now += MS;
    rig.wake(0, None, 0);
    assert!(rig.asked(|r| matches!(r, Request::Ipi { to: 2, ipi: Ipi::WakeQueue, .. })));
    assert!(!rig.asked(|r| matches!(r, Request::Enqueued { .. })));
    assert_eq!(rig.fair.cpu(2).ttwu_pending, 1);
    rig.call(2, |f, e| f.ipi(e, 2, Ipi::WakeQueue));
    assert!(rig.asked(|r| matches!(r, Request::Enqueued { task: 0, cpu: 2 })));
    assert!(rig.resched_of(2));
    assert_eq!(rig.fair.cpu(2).ttwu_pending, 0);
    assert_eq!(rig.schedule(2), Pick::Task(0));
}

#[test]
fn a_wakeup_behind_the_same_cache_enqueues_at_once() {
    let mut rig = Rig::new(Machine::symmetric(2), "v5.9");
    rig.fair_task(0, "1");
    rig.schedule(1);
    rig.now += MS;
    rig.sleep(1, 0);
    rig.now += MS;
    rig.wake(0, None, 0);
    assert!(rig.asked(|r| matches!(r, Request::Enqueued { task: 0, cpu: 1 })));
    assert!(rig.resched_of(1));
}

/// v6.0: an idle CPU has the time to do it.
#[test]
fn an_idle_cpu_enqueues_a_wakeup_itself_since_v6_0() {
    let mut rig = Rig::new(Machine::symmetric(3), "v6.1");
    rig.fair_task(0, "1");
    rig.schedule(1);
    rig.now += MS;
    rig.sleep(1, 0);
    rig.now += MS;
    rig.wake(0, None, 0);
    assert!(rig.asked(|r| matches!(r, Request::Ipi { to: 1, ipi: Ipi::WakeQueue, .. })));
    assert!(!rig.asked(|r| matches!(r, Request::Enqueued { .. })));
    assert_eq!(rig.fair.cpu(1).ttwu_pending, 1);
    rig.call(1, |f, e| f.ipi(e, 1, Ipi::WakeQueue));
    assert!(rig.asked(|r| matches!(r, Request::Enqueued { task: 0, cpu: 1 })));
    assert_eq!(rig.schedule(1), Pick::Task(0));
    // A busy one does not, nor the waker's own.
    rig.fair_task(1, "1");
    rig.now += MS;
    rig.sleep(1, 0);
    rig.wake(0, None, 0);
    assert!(rig.asked(|r| matches!(r, Request::Enqueued { task: 0, cpu: 1 })));
    rig.fair_task(2, "2");
    rig.schedule(2);
    rig.now += MS;
    rig.sleep(2, 2);
    rig.wake(2, None, 2);
    assert!(rig.asked(|r| matches!(r, Request::Enqueued { task: 2, cpu: 2 })));
}

/// Until v5.7 the waker waits for the switch, whatever cache it is behind.
#[test]
fn a_task_being_switched_away_is_waited_for_until_v5_7() {
    for machine in [Machine::symmetric(3), two_caches()] {
        let mut rig = Rig::new(machine, "v5.7");
        rig.fair_task(0, "2");
        rig.schedule(2);
        rig.now += MS;
        rig.call(2, |f, e| f.block(e, 2, 0));
        rig.wake(0, None, 0);
        assert!(!rig.asked(|r| matches!(r, Request::Ipi { .. } | Request::Enqueued { .. })));
        // The CPU that calls sends no IPI to itself.
        rig.schedule(2);
        assert!(rig.asked(|r| matches!(r, Request::Enqueued { task: 0, cpu: 2 })));
        assert_eq!(rig.schedule(2), Pick::Task(0));
    }
}

/// WF_ON_CPU: the wakeup comes between block() and schedule() of the same instant.
#[test]
fn a_task_still_being_switched_away_is_woken_on_its_own_cpu() {
    let mut rig = Rig::new(Machine::symmetric(2), "v5.9");
    rig.fair_task(0, "0-1");
    let cpu = rig.fair.task(0).cpu as CpuId;
    rig.schedule(cpu);
    rig.now += MS;
    rig.call(cpu, |f, e| f.block(e, cpu, 0));
    rig.wake(1 - cpu, None, 0);
    assert!(rig.asked(|r| matches!(r, Request::Ipi { ipi: Ipi::WakeQueue, .. })));
    assert_eq!(rig.schedule(cpu), Pick::Idle);
    rig.call(cpu, |f, e| f.ipi(e, cpu, Ipi::WakeQueue));
    assert_eq!(rig.schedule(cpu), Pick::Task(0));
}

/// The same with the interrupt on the task's own CPU: the wakeup is carried out after the switch.
#[test]
fn a_task_woken_by_an_interrupt_before_its_switch_is_placed_after_it() {
    let mut rig = Rig::new(Machine::symmetric(1), "v5.9");
    rig.fair_task(0, "0");
    rig.schedule(0);
    rig.now += MS;
    rig.call(0, |f, e| f.block(e, 0, 0));
    rig.wake(0, None, 0);
    assert!(rig.requests.is_empty());
    assert_eq!(rig.schedule(0), Pick::Idle);
    assert!(rig.resched_of(0));
    assert_eq!(rig.schedule(0), Pick::Task(0));
}

/// ... and another CPU that spins for the switch places it as itself: its waker is recorded, not the next task there.
#[test]
fn a_spinning_waker_is_the_waker() {
    let mut rig = Rig::new(Machine::symmetric(2), "v5.9");
    rig.fair_task(0, "1");
    rig.schedule(1);
    rig.fair_task(1, "1");
    rig.fair_task(2, "1");
    rig.fair_task(3, "0");
    rig.schedule(0);
    rig.call(1, |f, e| f.change(e, 1, 0, &Change::Affinity(CpuMask::first_n(2))));
    rig.now += MS;
    rig.call(1, |f, e| f.block(e, 1, 0));
    rig.wake(0, Some(3), 0);
    assert!(rig.requests.is_empty(), "two more tasks on CPU 1: it spins");
    rig.schedule(1);
    assert_eq!(rig.fair.task(3).last_wakee, 1, "task 0");
    assert_eq!(rig.fair.task(1).last_wakee, 0);
}

/// A fork copies its parent, so the child counts as a waker of many from the start if its parent did.
#[test]
fn a_child_has_its_parents_wakees() {
    let mut rig = Rig::new(Machine::symmetric(2), "v6.12");
    rig.fair_task(0, "1");
    rig.schedule(1);
    rig.fair_task(1, "0");
    rig.schedule(0);
    rig.call(1, |f, e| f.change(e, 1, 0, &Change::Affinity(CpuMask::first_n(2))));
    rig.call(1, |f, e| f.block(e, 1, 0));
    rig.schedule(1);
    rig.now += MS;
    rig.wake(0, Some(1), 0);
    let wakees = |rig: &Rig, task| {
        let p = rig.fair.task(task);
        (p.last_wakee, p.wakee_flips, p.wakee_flip_ts)
    };
    let parent = wakees(&rig, 1);
    assert_eq!((parent.0, parent.1), (1, 1), "task 0, the first change");
    let info = TaskInfo::new(2, SchedAttr::default(), CpuMask::first_n(2));
    rig.call(0, |f, e| f.fork(e, 0, Some(1), &info));
    assert_eq!(wakees(&rig, 2), parent);
}

/// ttwu_queue_cond: behind another cache the wake list takes it however much runs there.
#[test]
fn a_task_being_switched_away_behind_another_cache_is_queued_there() {
    let mut rig = Rig::new(two_caches(), "v5.9");
    for task in 0..3 {
        rig.fair_task(task, "2");
    }
    assert_eq!(rig.schedule(2), Pick::Task(0));
    rig.now += MS;
    rig.call(2, |f, e| f.block(e, 2, 0));
    rig.wake(0, None, 0);
    assert!(rig.asked(|r| matches!(r, Request::Ipi { to: 2, ipi: Ipi::WakeQueue, .. })));
}

#[test]
fn rt_runs_before_fair_and_higher_priorities_before_lower() {
    let mut rig = Rig::new(Machine::symmetric(1), "v5.9");
    rig.fair_task(0, "0");
    assert_eq!(rig.schedule(0), Pick::Task(0));
    rig.rt_task(1, Policy::Fifo, 10, "0");
    assert!(rig.resched_of(0));
    assert_eq!(rig.schedule(0), Pick::Task(1));
    rig.rt_task(2, Policy::Fifo, 10, "0");
    assert!(!rig.resched_of(0), "equal priority waits");
    rig.rt_task(3, Policy::Fifo, 20, "0");
    assert_eq!(rig.schedule(0), Pick::Task(3));
    assert_eq!(rig.sleep(0, 3), Pick::Task(1));
    assert_eq!(rig.sleep(0, 1), Pick::Task(2));
    assert_eq!(rig.sleep(0, 2), Pick::Task(0));
}

/// At 300 Hz a tick is a little shorter than a third of 10 ms, and 30 of them a little shorter than 100 ms.
#[test]
fn rr_tasks_take_turns_every_tenth_of_a_second_in_ticks() {
    for hz in [100, 250, 300, 1000] {
        let mut rig = Rig::new(Machine::symmetric(1), "v5.9");
        rig.env = Env::new(Arc::new(Machine::symmetric(1)), hz, 1);
        rig.rt_task(0, Policy::Rr, 10, "0");
        rig.rt_task(1, Policy::Rr, 10, "0");
        assert_eq!(rig.schedule(0), Pick::Task(0));
        let mut ticks = 0;
        while ticks == 0 || !rig.resched_of(0) {
            rig.now += rig.env.tick_ns();
            ticks += 1;
            rig.call(0, |f, e| f.tick(e, 0));
        }
        assert_eq!(ticks, hz / 10);
        assert_eq!(rig.schedule(0), Pick::Task(1));
    }
}

#[test]
fn a_waking_rt_task_leaves_a_cpu_with_an_equal_one() {
    let mut rig = Rig::new(Machine::symmetric(2), "v5.9");
    rig.rt_task(0, Policy::Fifo, 10, "0");
    rig.schedule(0);
    rig.rt_task(1, Policy::Fifo, 10, "0-1");
    assert_eq!(rig.fair.task(1).cpu, 1);
    let rule = rig.requests.iter().find_map(|r| if let Request::Decided(d) = r { Some(d.rule) } else { None });
    assert_eq!(rig.fair.rule(rule.unwrap()).name, "rt-lowest");
}

/// cpupri is the root domain's: an RT task does not leave its partition for a lower priority.
#[test]
fn a_waking_rt_task_stays_in_its_partition() {
    let options = Options { partitions: vec![CpuMask::first_n(2)], isolated: CpuMask::EMPTY };
    let mut rig = Rig::with(Machine::symmetric(4), "v5.9", options);
    rig.rt_task(0, Policy::Fifo, 10, "0");
    rig.schedule(0);
    rig.rt_task(1, Policy::Fifo, 10, "1");
    rig.schedule(1);
    rig.rt_task(2, Policy::Fifo, 10, "0-3");
    assert_eq!(rig.fair.task(2).cpu, 0);
}

#[test]
fn a_running_task_leaves_a_forbidden_cpu_through_the_stopper() {
    let mut rig = Rig::new(Machine::symmetric(2), "v5.9");
    rig.fair_task(0, "0-1");
    let cpu = rig.fair.task(0).cpu as CpuId;
    rig.schedule(cpu);
    rig.now += MS;
    rig.call(cpu, |f, e| f.change(e, cpu, 0, &Change::Affinity(CpuMask::single(1 - cpu))));
    assert!(rig.asked(|r| matches!(r, Request::Stop { to, .. } if *to == cpu)));
    assert_eq!(rig.schedule(cpu), Pick::Stopper);
    rig.call(cpu, |f, e| f.stopper(e, cpu));
    let cause = MigrateCause::Affinity;
    assert!(rig.asked(|r| *r == Request::Migrated { task: 0, from: cpu, to: 1 - cpu, cause }));
    assert_eq!(rig.schedule(cpu), Pick::Idle);
    assert_eq!(rig.schedule(1 - cpu), Pick::Task(0));
}

#[test]
fn a_waiting_task_leaves_a_forbidden_cpu_at_once() {
    let mut rig = Rig::new(Machine::symmetric(2), "v5.9");
    rig.fair_task(0, "0");
    rig.schedule(0);
    rig.fair_task(1, "0");
    rig.call(0, |f, e| f.change(e, 0, 1, &Change::Affinity(CpuMask::single(1))));
    assert!(rig.asked(|r| matches!(r, Request::Migrated { task: 1, from: 0, to: 1, .. })));
    assert!(rig.resched_of(1));
}

/// Mail 000 at unit level: prev is idle and fits, and the scan starts at the target, which is the waker's busy CPU.
#[test]
fn hikey960_wakes_rotate_to_the_next_big_cpu_or_stay_on_prev() {
    for (scheduler, expected, rule) in [("v5.9", 7, "B1"), ("v5.9+asym-prev-first", 5, "A2")] {
        let mut rig = Rig::new(Machine::preset("hikey960").unwrap(), scheduler);
        // The wakee slept on 5 after enough work not to fit a little CPU; the waker runs on 6 beside a task on 4.
        for (task, cpu) in [(0, "5"), (1, "6"), (2, "4")] {
            rig.fair_task(task, cpu);
            rig.schedule(cpu.parse().unwrap());
        }
        rig.now += 40 * MS;
        rig.sleep(5, 0);
        rig.call(6, |f, e| f.change(e, 6, 0, &Change::Affinity(CpuMask::first_n(8))));
        let ctx = WakeContext { cpu: 6, waker: Some(1), sync: true };
        rig.call(6, |f, e| f.wake(e, ctx, 0));
        let decision = rig.requests.iter().find_map(|r| if let Request::Decided(d) = r { Some(*d) } else { None });
        let decision = decision.unwrap();
        assert_eq!((decision.prev, decision.chosen), (5, expected), "{scheduler}");
        assert_eq!(rig.fair.rule(decision.rule).name, rule);
    }
}

#[test]
fn the_recorded_idle_state_is_seen_until_the_cpu_leaves_it() {
    let mut rig = Rig::new(Machine::symmetric(2), "v5.9");
    let state = IdleView { index: 2, since: MS, exit_latency_ns: 5_000, target_residency_ns: 9_000 };
    rig.call(1, |f, e| f.idle_enter(e, 1, state));
    assert_eq!((rig.fair.cpu(1).idle_state, rig.fair.cpu(1).idle_exit_latency), (2, 5_000));
    rig.call(1, |f, e| f.idle_exit(e, 1));
    assert_eq!(rig.fair.cpu(1).idle_state, -1);
}

/// Spec 6.1: MC of 8 CPUs, interval 8 ms idle (2 jiffies at 250 Hz), 256 ms busy (x 32).
#[test]
fn the_periodic_pass_keeps_the_intervals_of_its_domains() {
    let mut rig = Rig::new(Machine::symmetric(8), "v5.9");
    rig.fair_task(0, "0");
    rig.schedule(0);
    let mut passes = Vec::new();
    for jiffy in 1..200 {
        rig.now = jiffy * 4 * MS;
        rig.call(0, |f, e| f.tick(e, 0));
        if rig.asked(|r| matches!(r, Request::Balance(0))) {
            rig.call(0, |f, e| f.balance(e, 0));
            passes.push(jiffy);
        }
    }
    // The first look finds nothing due before jiffy 64; that pass is balanced, and the interval doubles to 16 ms.
    assert_eq!(passes, [1, 64, 192]);
}

/// out_balanced: a CPU that leaves a domain to another one doubles its interval as well.
#[test]
fn whoever_is_not_to_balance_waits_longer_too() {
    let mut rig = Rig::new(two_caches(), "v5.9");
    for task in 0..2 {
        rig.fair_task(task, &task.to_string());
        rig.schedule(task);
    }
    for jiffy in 1..50 {
        rig.now = jiffy * 4 * MS;
        rig.call(1, |f, e| f.tick(e, 1));
        if rig.asked(|r| matches!(r, Request::Balance(1))) {
            rig.call(1, |f, e| f.balance(e, 1));
        }
    }
    // SAFETY: linked to a domain of the scheduler, which lives. PKG of 4 CPUs; busy CPU 0 balances for the group 0-1.
    let package = unsafe { &*(*rig.fair.cpu(1).sd).parent };
    assert_eq!((package.weight, package.balance_interval), (4, 8));
}

/// Spec 6.3: a misfit in another group keeps the partition's overload flag, and with it newly idle balancing, on.
#[test]
fn a_misfit_task_is_an_overload() {
    let mut rig = Rig::new(Machine::preset("hikey960").unwrap(), "v5.9");
    rig.fair_task(0, "0");
    rig.schedule(0);
    for jiffy in 1..200 {
        rig.now = jiffy * 4 * MS;
        for cpu in [0, 4] {
            rig.call(cpu, |f, e| f.tick(e, cpu));
            if rig.asked(|r| matches!(r, Request::Balance(_))) {
                rig.call(cpu, |f, e| f.balance(e, cpu));
            }
        }
    }
    assert!(rig.fair.cpu(0).misfit_task_load > 0);
    assert_eq!(rig.overload(), 1);
}

/// Spec 1.8: next_update of a new group is an interval away, in the engine's jiffies.
#[test]
fn the_first_capacities_count_in_the_engine_s_jiffies() {
    for (hz, jiffies) in [(100, 1), (250, 2), (1000, 8)] {
        let mut rig = Rig::new(Machine::symmetric(8), "v5.9");
        rig.env = Env::new(Arc::new(Machine::symmetric(8)), hz, 1);
        rig.schedule(0);
        assert_eq!(rig.fair.sys().hz, hz);
        // SAFETY: linked to a group of the scheduler, which lives.
        let next_update = unsafe { (*(*rig.fair.cpu(0).sd).groups).next_update };
        assert_eq!(next_update, jiffies);
    }
}

/// A wakeup on another CPU: the averages move from the old queue to the new one, and the CPU's idle time counts.
#[test]
fn a_wakeup_elsewhere_takes_the_averages_along() {
    let mut rig = Rig::new(Machine::symmetric(2), "v5.9");
    rig.fair_task(0, "1");
    rig.schedule(1);
    rig.fair_task(1, "1");
    rig.now += 20 * MS;
    assert_eq!(rig.sleep(1, 0), Pick::Task(1));
    rig.call(1, |f, e| f.change(e, 1, 0, &Change::Affinity(CpuMask::first_n(2))));
    let ahead = rig.fair.task(0).vruntime - rig.fair.cpu(1).fair.min_vruntime;
    assert_eq!(rig.schedule(0), Pick::Idle);
    assert_ne!(rig.fair.cpu(0).idle_stamp, 0);
    rig.now += MS / 5;
    rig.wake(0, None, 0);
    let (old, new, task) = (rig.fair.cpu(1), rig.fair.cpu(0), rig.fair.task(0));
    assert_eq!((task.cpu, old.removed_nr, old.removed_util), (0, 1, task.avg.util_avg));
    assert_eq!(new.cfs.util_avg, task.avg.util_avg);
    assert_eq!(task.vruntime - new.fair.min_vruntime, ahead, "as far ahead as it was");
    // An eighth of the way from 1 ms to 0.2 ms.
    assert_eq!((new.idle_stamp, new.avg_idle / 10_000), (0, 90));
}

/// enqueue_entity and dequeue_entity: the current task is charged first, and min_vruntime follows who is left.
#[test]
fn the_current_task_is_charged_before_the_queue_changes() {
    let mut rig = Rig::new(Machine::symmetric(1), "v5.9");
    rig.fair_task(0, "0");
    rig.schedule(0);
    rig.now += MS;
    rig.call(0, |f, e| f.tick(e, 0));
    rig.fair_task(1, "0");
    rig.now += 2 * MS;
    rig.call(0, |f, e| f.block(e, 0, 0));
    assert!(rig.fair.task(1).vruntime > rig.fair.task(0).vruntime);
    assert_eq!(rig.fair.cpu(0).fair.min_vruntime, rig.fair.task(1).vruntime);
    assert_eq!(rig.schedule(0), Pick::Task(1));
    rig.now += 3 * MS;
    rig.wake(0, Some(1), 0);
    assert_eq!(rig.fair.task(1).sum_exec / 10_000, 300);
}

/// switched_from_fair and switched_to_fair: asleep, it is as far from min_vruntime after a spell as RT as before.
#[test]
fn a_sleeper_that_was_rt_is_of_its_queue_again() {
    let mut rig = Rig::new(Machine::symmetric(1), "v5.9");
    rig.fair_task(0, "0");
    rig.schedule(0);
    rig.fair_task(1, "0");
    rig.now += 20 * MS;
    assert_eq!(rig.sleep(0, 0), Pick::Task(1));
    let before = rig.fair.task(0).vruntime;
    let rt = SchedAttr { policy: Policy::Fifo, rt_priority: 1, ..SchedAttr::default() };
    rig.call(0, |f, e| f.change(e, 0, 0, &Change::Attr(rt)));
    rig.call(0, |f, e| f.change(e, 0, 0, &Change::Attr(SchedAttr::default())));
    assert_eq!(rig.fair.task(0).vruntime, before);
}

/// reweight_task: nice 5 is a weight of 335.
#[test]
fn a_nice_change_rescales_the_load_at_once() {
    let mut rig = Rig::new(Machine::symmetric(1), "v5.9");
    rig.fair_task(0, "0");
    rig.schedule(0);
    assert_eq!(rig.fair.task(0).avg.load_avg, 1024);
    rig.call(0, |f, e| f.change(e, 0, 0, &Change::Attr(SchedAttr { nice: 5, ..SchedAttr::default() })));
    let (task, queue) = (rig.fair.task(0), rig.fair.cpu(0));
    assert_eq!((task.weight, task.avg.load_avg, queue.cfs.load_avg), (335, 335, 335));
}

/// task_fork_fair charges the current task: the child's parent or, at a fork from outside, another task.
#[test]
fn a_birth_charges_the_current_task() {
    let mut rig = Rig::new(Machine::symmetric(1), "v5.9");
    rig.fair_task(0, "0");
    rig.schedule(0);
    let start = rig.fair.task(0).exec_start;
    rig.now += 3 * MS;
    rig.fair_task(1, "0");
    assert_eq!(rig.fair.task(0).exec_start, rig.now);
    assert_eq!(rig.fair.task(0).sum_exec, rig.now - start);
}

#[test]
fn a_dead_task_leaves_the_queue_s_averages() {
    let mut rig = Rig::new(Machine::symmetric(1), "v5.9");
    rig.fair_task(0, "0");
    rig.schedule(0);
    rig.now += 10 * MS;
    rig.call(0, |f, e| f.exit(e, 0, 0));
    rig.schedule(0);
    assert_eq!((rig.fair.cpu(0).removed_nr, rig.fair.cpu(0).removed_util), (1, rig.fair.task(0).avg.util_avg));
}

#[test]
fn a_yield_is_forgotten_once_it_was_considered() {
    let mut rig = Rig::new(Machine::symmetric(8), "v5.9");
    rig.fair_task(0, "0");
    rig.schedule(0);
    rig.now += MS;
    rig.call(0, |f, e| f.tick(e, 0));
    // A child is a slice behind: too far to run instead.
    rig.fair_task(1, "0");
    rig.call(0, |f, e| f.yield_now(e, 0, 0));
    assert!(!rig.fair.cpu(0).fair.skip.is_null());
    assert!(!rig.fair.cpu(0).fair.skip.is_null());
    assert_eq!(rig.schedule(0), Pick::Task(0));
    assert!(rig.fair.cpu(0).fair.skip.is_null());
}

/// The rt signal runs to the end of an RT stint and decays to the beginning of the next.
#[test]
fn rt_time_is_seen_at_every_switch() {
    let mut rig = Rig::new(Machine::symmetric(1), "v5.9");
    rig.rt_task(0, Policy::Fifo, 10, "0");
    rig.schedule(0);
    rig.now += 32 * MS;
    assert_eq!(rig.sleep(0, 0), Pick::Idle);
    let ran = rig.fair.cpu(0).rt.util_avg;
    assert!((480..520).contains(&ran), "{ran}");
    rig.now += 33 * MS;
    rig.wake(0, None, 0);
    assert_eq!(rig.schedule(0), Pick::Task(0));
    let decayed = rig.fair.cpu(0).rt.util_avg;
    assert!((ran / 2 - 15..ran / 2 + 5).contains(&decayed), "{decayed}");
}

#[test]
fn the_last_thread_of_a_core_to_idle_says_so() {
    let mut shape = Shape::from_seed(1);
    (shape.packages, shape.nodes, shape.llcs, shape.clusters) = (1, 1, 1, 1);
    (shape.cores, shape.threads, shape.types, shape.siblings_last) = (2, 2, 1, false);
    let mut rig = Rig::new(shape.build(), "v5.9");
    for task in 0..2 {
        rig.fair_task(task, &task.to_string());
        rig.schedule(task);
    }
    // SAFETY: linked to an object of the scheduler, which lives.
    let hint = |rig: &Rig| unsafe { (*rig.fair.cpu(0).llc).has_idle_cores };
    rig.now += MS;
    rig.sleep(0, 0);
    assert_eq!(hint(&rig), 0);
    rig.sleep(1, 1);
    assert_eq!(hint(&rig), 1);
}

#[test]
fn a_misfit_is_none_while_it_sleeps() {
    let mut rig = Rig::new(Machine::preset("hikey960").unwrap(), "v5.9");
    rig.fair_task(0, "0");
    rig.schedule(0);
    rig.now += 100 * MS;
    rig.call(0, |f, e| f.tick(e, 0));
    assert!(rig.fair.cpu(0).misfit_task_load > 0);
    rig.sleep(0, 0);
    assert_eq!(rig.fair.cpu(0).misfit_task_load, 0);
}

/// _nohz_idle_balance: nohz.next_balance is the earliest of the others, unless the balancer's own domains are earlier.
#[test]
fn an_idle_balancer_s_own_domains_pull_in_the_next_round() {
    let mut rig = Rig::new(Machine::symmetric(4), "v5.9");
    for task in 0..2 {
        rig.fair_task(task, "0");
    }
    rig.schedule(0);
    // CPU 2 balances for itself at 25, for 3 at 26, where its own turn is not before 27.
    for (jiffy, joins) in [(25, 2), (26, 3)] {
        rig.call(joins, |f, e| f.tick_stopped(e, joins, true));
        rig.now = jiffy * 4 * MS;
        rig.call(0, |f, e| f.tick(e, 0));
        assert!(rig.asked(|r| matches!(r, Request::Ipi { to: 2, ipi: Ipi::NohzKick, .. })));
        rig.call(2, |f, e| f.ipi(e, 2, Ipi::NohzKick));
        rig.call(2, |f, e| f.balance(e, 2));
    }
    assert_eq!((rig.fair.cpu(2).next_balance, rig.fair.cpu(3).next_balance), (27, 28));
    assert_eq!(rig.fair.sys().nohz_next_balance, 27);
}

/// v5.12: the balancer is one of those it balances for, so its turn, 27, is the next one and not just the next jiffy.
#[test]
fn the_balancer_is_one_of_the_idle_cpus() {
    for (scheduler, next) in [("v5.9", 26), ("v5.9+ilb-one-of", 27)] {
        let mut rig = Rig::new(Machine::symmetric(4), scheduler);
        for task in 0..2 {
            rig.fair_task(task, "0");
        }
        rig.schedule(0);
        rig.call(2, |f, e| f.tick_stopped(e, 2, true));
        rig.now = 25 * 4 * MS;
        rig.call(0, |f, e| f.tick(e, 0));
        rig.call(2, |f, e| f.ipi(e, 2, Ipi::NohzKick));
        rig.call(2, |f, e| f.balance(e, 2));
        assert_eq!(rig.fair.cpu(2).next_balance, 27, "{scheduler}");
        assert_eq!(rig.fair.sys().nohz_next_balance, next, "{scheduler}");
    }
}

/// v5.16: the first busy tick after CPU 3 stopped its own has the turns collected, though nothing else is due. CPU 3's
/// comes before that of CPU 2, which was found earlier.
#[test]
fn a_stopped_tick_has_the_turns_collected() {
    for (scheduler, kicked) in [("v5.9+ilb-one-of", false), ("v5.9+ilb-one-of+nohz-next-kick", true)] {
        let mut rig = Rig::new(Machine::symmetric(4), scheduler);
        rig.fair_task(0, "0");
        rig.schedule(0);
        // A full round: the next look at statistics is due after jiffy 9, the next balance at CPU 2's turn.
        rig.now = 4 * MS;
        rig.call(2, |f, e| f.tick_stopped(e, 2, true));
        rig.call(0, |f, e| f.tick(e, 0));
        assert!(rig.asked(is_nohz_kick), "{scheduler}");
        rig.call(2, |f, e| f.ipi(e, 2, Ipi::NohzKick));
        rig.call(2, |f, e| f.balance(e, 2));
        let turn = rig.fair.cpu(2).next_balance;
        assert_eq!((rig.fair.sys().nohz_next_blocked, rig.fair.sys().nohz_next_balance), (9, turn), "{scheduler}");

        rig.now = 2 * 4 * MS;
        rig.call(3, |f, e| f.tick_stopped(e, 3, true));
        rig.call(0, |f, e| f.tick(e, 0));
        assert_eq!(rig.asked(is_nohz_kick), kicked, "{scheduler}");
        if kicked {
            rig.call(2, |f, e| f.ipi(e, 2, Ipi::NohzKick));
            rig.call(2, |f, e| f.balance(e, 2));
            let first = rig.fair.cpu(3).next_balance;
            assert!(first < turn);
            // It balanced nothing, and looked at no statistics.
            assert_eq!((rig.fair.cpu(2).next_balance, rig.fair.sys().nohz_next_balance), (turn, first));
            assert_eq!((rig.fair.sys().nohz_next_blocked, rig.fair.sys().nohz_has_blocked), (9, 1));
        }
    }
}

fn is_nohz_kick(request: &Request) -> bool {
    matches!(request, Request::Ipi { ipi: Ipi::NohzKick, .. })
}

/// newidle_balance, v5.15: with a wakeup in its wake list a CPU that runs dry is not idle, and its domains wait.
#[test]
fn a_pending_wakeup_is_no_idle_time() {
    for (scheduler, idles) in [("v5.9", true), ("v5.9+newidle-pending", false)] {
        let mut rig = Rig::new(Machine::symmetric(2), scheduler);
        rig.fair_task(0, "1");
        rig.schedule(1);
        rig.now = 4000 * MS;
        rig.call(1, |f, e| f.block(e, 1, 0));
        rig.wake(0, None, 0);
        assert_eq!(rig.fair.cpu(1).ttwu_pending, 1);
        let before = rig.fair.cpu(1).idle_stamp;
        assert_eq!(rig.schedule(1), Pick::Idle);
        assert_eq!(rig.fair.cpu(1).idle_stamp != before, idles, "{scheduler}");
        assert_eq!(rig.fair.cpu(1).idle_stamp, if idles { rig.fair.cpu(1).clock } else { before });
    }
}

/// The current task of a CPU may be one that the referee has not copied yet.
#[test]
fn a_sandbox_knows_the_tasks_that_its_cpus_point_at() {
    let features = Features::parse("v6.12").unwrap();
    let mut sandbox = PolicySandbox::new(&Machine::symmetric(2), &features, 250).unwrap();
    for curr in [Some(7), None, Some(3)] {
        let pointers = Pointers { curr, ..Pointers::default() };
        sandbox.point(1, &pointers);
        assert_eq!(sandbox.pointers(1).curr, curr);
    }
}

/// update_rq_avg_idle: up to v6.19 when a woken task is queued, from v7.0 on when the idle task is replaced, whoever does
/// that. The CPU idles for 0.2 ms until the task is queued, and for 0.1 ms more: an eighth of the way there from 1 ms.
#[test]
fn an_idle_time_ends_where_the_release_has_it() {
    for (scheduler, queued, replaced) in [("v6.12", 900_000, 900_000), ("v6.12+avg-idle-any", 1_000_000, 912_500)] {
        let mut rig = Rig::new(Machine::symmetric(2), scheduler);
        rig.fair_task(0, "1");
        rig.schedule(1);
        assert_eq!(rig.sleep(1, 0), Pick::Idle);
        rig.now += MS / 5;
        rig.wake(0, None, 0);
        rig.call(1, |f, e| f.ipi(e, 1, Ipi::WakeQueue));
        let average = |rig: &Rig| rig.fair.cpu(1).avg_idle / 1000 * 1000;
        assert!(average(&rig).abs_diff(queued) < 2_000, "{scheduler}: {}", average(&rig));
        rig.now += MS / 10;
        assert_eq!(rig.schedule(1), Pick::Task(0));
        assert!(average(&rig).abs_diff(replaced) < 2_000, "{scheduler}: {}", average(&rig));
    }
    // A real-time task that is born there.
    for (scheduler, counts) in [("v6.12", false), ("v6.12+avg-idle-any", true)] {
        let mut rig = Rig::new(Machine::symmetric(2), scheduler);
        assert_eq!(rig.schedule(1), Pick::Idle);
        rig.now += MS / 5;
        rig.rt_task(0, Policy::Fifo, 1, "1");
        rig.schedule(1);
        assert_eq!(rig.fair.cpu(1).idle_stamp == 0, counts, "{scheduler}");
    }
}

/// dequeue_task_fair, v5.6: a CPU left with SCHED_IDLE tasks looks for better ones at its next tick.
#[test]
fn a_cpu_left_with_idle_tasks_balances_early() {
    let mut rig = Rig::new(Machine::symmetric(8), "v5.9");
    rig.fair_task(0, "0");
    rig.fork(1, SchedAttr { policy: Policy::Idle, ..SchedAttr::default() }, CpuMask::single(0));
    rig.schedule(0);
    rig.now = 4 * MS;
    rig.call(0, |f, e| f.tick(e, 0));
    rig.call(0, |f, e| f.balance(e, 0));
    assert!(rig.fair.cpu(0).next_balance > 60);
    rig.now = 5 * 4 * MS;
    assert_eq!(rig.sleep(0, 0), Pick::Task(1));
    assert_eq!(rig.fair.cpu(0).next_balance, 5);
}

/// Spec 6.10: the tick of a CPU with two tasks wakes an idle CPU for a balance, at most once per nohz.next_balance.
#[test]
fn a_busy_cpu_kicks_an_idle_one() {
    let mut rig = Rig::new(Machine::symmetric(4), "v5.9");
    for task in 0..2 {
        rig.fair_task(task, "0");
    }
    rig.schedule(0);
    for cpu in 2..4 {
        rig.call(cpu, |f, e| f.tick_stopped(e, cpu, true));
    }
    rig.now = 100 * MS;
    rig.call(0, |f, e| f.tick(e, 0));
    assert!(rig.asked(|r| matches!(r, Request::Ipi { to: 2, ipi: Ipi::NohzKick, .. })));
    rig.call(2, |f, e| f.ipi(e, 2, Ipi::NohzKick));
    assert!(rig.asked(|r| *r == Request::Balance(2)));
    rig.call(2, |f, e| f.balance(e, 2));
    rig.call(0, |f, e| f.tick(e, 0));
    assert!(!rig.asked(|r| matches!(r, Request::Ipi { .. })), "not again within the jiffy");
}

fn clustered(llcs: u32, clusters: u32) -> Machine {
    let mut shape = Shape::from_seed(1);
    (shape.packages, shape.nodes, shape.llcs, shape.clusters) = (2, 1, llcs, clusters);
    (shape.cores, shape.threads, shape.types, shape.clusters_share_cache) = (4, 1, 1, true);
    shape.build()
}

/// Spec 1.4: ids of clusters and LLCs, and whether there are clusters at all.
#[test]
fn clusters_have_ids_where_they_are_smaller_than_the_cache() {
    let ids = |machine: Machine, scheduler: &str| {
        let rig = Rig::new(machine, scheduler);
        (rig.fair.sys().cluster_key, [0, 3, 7, 23].map(|c| (rig.fair.cpu(c).sd_share_id, rig.fair.cpu(c).sd_llc_id)))
    };
    let landed = "v5.11+sis-merged+sis-smt-prev+cls-domain+cls-select=landed";
    // Kunpeng: three clusters of four behind each of two caches.
    assert_eq!(ids(clustered(1, 3), landed), (1, [(0, 0), (0, 0), (4, 0), (20, 12)]));
    // The same where clusters do not have a domain.
    assert_eq!(ids(clustered(1, 3), "v6.7-cls-domain"), ids(clustered(1, 3), landed));
    // Until v6.7 domains do not have the CLUSTER flag.
    assert_eq!(ids(clustered(1, 3), "v5.11+cls-domain"), (0, [(0, 0), (0, 0), (0, 0), (12, 12)]));
    // A set of all CPUs of a cache is not a cluster.
    assert_eq!(ids(clustered(3, 1), landed), (0, [(0, 0), (0, 0), (4, 4), (20, 20)]));
}

/// Mean utilization 1000 / 8 = 125: 125^2 * 117^2 / (10000 * 1024) = 20, (1024 - 20) * 8 / 1024 = 7. And 0 before.
#[test]
fn a_periodic_pass_says_how_far_scans_go() {
    for (scheduler, expected) in [("v5.11+sis-merged+sis-mode=util", 7), ("v5.11", 0)] {
        let mut rig = Rig::new(Machine::symmetric(8), scheduler);
        // SAFETY: linked to an object of the scheduler, which lives.
        let nr_idle_scan = |rig: &Rig| unsafe { (*rig.fair.cpu(0).llc).nr_idle_scan };
        rig.fair_task(0, "0");
        rig.schedule(0);
        assert_eq!(nr_idle_scan(&rig), 0);
        for jiffy in 1..70 {
            rig.now = jiffy * 4 * MS;
            rig.call(0, |f, e| f.tick(e, 0));
            if rig.asked(|r| matches!(r, Request::Balance(0))) {
                rig.call(0, |f, e| f.balance(e, 0));
            }
        }
        assert_eq!(nr_idle_scan(&rig), expected, "{scheduler}");
    }
}

/// A wakee stays on the CPU of a per-CPU kthread that wakes it; not if an interrupt of the kthread does (v5.17).
#[test]
fn an_interrupt_does_not_wake_in_the_name_of_a_kthread() {
    for (waker, rule) in [(Some(1), "A3"), (None, "A8")] {
        let mut rig = Rig::new(Machine::symmetric(2), "v5.11+kthread-fit");
        rig.fair_task(0, "0");
        rig.schedule(0);
        rig.sleep(0, 0);
        rig.call(0, |f, e| f.change(e, 0, 0, &Change::Affinity(CpuMask::first_n(2))));
        let kthread = TaskInfo { kthread_cpu: Some(0), ..TaskInfo::new(1, SchedAttr::default(), CpuMask::single(0)) };
        rig.call(0, |f, e| f.fork(e, 0, None, &kthread));
        assert_eq!(rig.schedule(0), Pick::Task(1));
        rig.wake(0, waker, 0);
        let decision = rig.requests.iter().find_map(|r| if let Request::Decided(d) = r { Some(*d) } else { None });
        assert_eq!(rig.fair.rule(decision.unwrap().rule).name, rule);
    }
}
