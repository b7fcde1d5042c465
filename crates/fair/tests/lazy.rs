//! preempt-model (placement-new.md 2.6): when a CPU carries out what the fair class asks for. In each test task 0 runs on
//! CPU 0 and task 1, which asks for shorter slices, is woken there.

use fairground_fair::ffi::FG_TASK_DELAYED;
use fairground_machine::{CpuMask, Machine};
use fairground_sim::{Ipi, Pick, Scheduler, TaskInfo};
use fairground_workload::{Policy, SchedAttr};

use crate::rig::{two_caches, Rig, MS};

const FULL: &str = "v6.19";
const LAZY: &str = "v6.19+preempt-model=lazy";

/// Task 1 is about to be woken on CPU 0, where 0 has the CPU.
fn before_the_wakeup(machine: Machine, scheduler: &str) -> Rig {
    let mut rig = Rig::new(machine, scheduler);
    rig.fair_task(0, "0");
    let short = SchedAttr { slice_ns: MS / 10, ..SchedAttr::default() };
    rig.fork(1, short, CpuMask::parse_list("0").unwrap());
    assert_eq!(rig.schedule(0), Pick::Task(1));
    assert_eq!(rig.sleep(0, 1), Pick::Task(0));
    rig.now += MS / 10;
    rig
}

#[test]
fn it_waits_for_the_tick_of_another_cpu_of_the_same_cache() {
    for (scheduler, at_once) in [(FULL, true), (LAZY, false), ("v7.0", false), ("v7.0-preempt-model", true)] {
        let mut rig = before_the_wakeup(Machine::symmetric(2), scheduler);
        rig.wake(1, None, 1);
        assert_eq!(rig.resched_of(0), at_once, "{scheduler}");
        rig.call(1, |f, e| f.tick(e, 1));
        assert!(!rig.resched_of(0), "{scheduler}: it is not the business of CPU 1");
        rig.call(0, |f, e| f.tick(e, 0));
        assert_eq!(rig.resched_of(0), !at_once, "{scheduler}");
        assert_eq!(rig.schedule(0), Pick::Task(1), "{scheduler}");
        rig.call(0, |f, e| f.ipi(e, 0, Ipi::Resched));
        assert!(!rig.resched_of(0), "{scheduler}: it is done");
    }
}

#[test]
fn any_interrupt_or_system_call_ends_the_wait() {
    for interrupt in [true, false] {
        let mut rig = before_the_wakeup(Machine::symmetric(2), LAZY);
        rig.fair_task(2, "1");
        rig.wake(1, None, 1);
        match interrupt {
            true => rig.call(0, |f, e| f.ipi(e, 0, Ipi::NohzKick)),
            false => rig.wake(0, Some(0), 2),
        }
        assert!(rig.resched_of(0), "{interrupt}");
    }
}

#[test]
fn a_cpu_preempts_itself_at_once() {
    let mut rig = before_the_wakeup(Machine::symmetric(2), LAZY);
    rig.wake(0, Some(0), 1);
    assert!(rig.resched_of(0));
}

/// CPU 2 is behind another cache: CPU 0 wakes the task itself, in an interrupt.
#[test]
fn a_wakeup_through_the_wake_list_preempts_at_once() {
    let mut rig = before_the_wakeup(two_caches(), LAZY);
    rig.wake(2, None, 1);
    assert!(!rig.resched_of(0));
    rig.call(0, |f, e| f.ipi(e, 0, Ipi::WakeQueue));
    assert!(rig.resched_of(0));
}

#[test]
fn real_time_and_idle_cpus_do_not_wait() {
    let mut rig = before_the_wakeup(Machine::symmetric(2), LAZY);
    rig.rt_task(2, Policy::Fifo, 1, "0");
    assert!(rig.resched_of(0), "a real-time task");

    let mut rig = before_the_wakeup(Machine::symmetric(2), LAZY);
    assert_eq!(rig.sleep(0, 0), Pick::Idle);
    let child = TaskInfo::new(2, SchedAttr::default(), CpuMask::parse_list("0").unwrap());
    rig.call(1, |f, e| f.fork(e, 1, None, &child));
    assert!(rig.resched_of(0), "an idle CPU");
}

/// Up to v7.2 a wakeup is not tested while a reschedule is pending; one that waits does not count as that, until a second
/// tick finds it. What shows the test is that it dequeues the delayed sleeper 2, which it comes upon (wake-pick-dequeue).
#[test]
fn a_lazy_request_does_not_end_the_tests_of_wakeups() {
    for (scheduler, ticks, tested) in [
        ("v7.1-preempt-model", 0, false),
        ("v7.1-preempt-model+wake-test-always", 0, true),
        ("v7.1", 0, true),
        ("v7.1", 1, true),
        ("v7.1", 2, false),
        ("v7.1+wake-test-always", 2, true),
    ] {
        let mut rig = Rig::new(Machine::symmetric(2), scheduler);
        [3, 2, 0].into_iter().for_each(|task| rig.fair_task(task, "0"));
        assert_eq!(rig.schedule(0), Pick::Task(3));
        assert_eq!(rig.sleep(0, 3), Pick::Task(2));
        rig.now += 2 * MS / 5;
        assert_eq!(rig.sleep(0, 2), Pick::Task(0));
        assert_ne!(rig.fair.task(2).flags & FG_TASK_DELAYED, 0, "it is in debt");
        // The slice of 0 is over, and 2 has paid.
        rig.now += 4 * MS / 5;
        for _ in 0..ticks {
            rig.call(0, |f, e| f.tick(e, 0));
        }
        rig.wake(1, None, 3);
        assert_eq!(rig.fair.task(3).cpu, 0);
        assert_eq!(rig.fair.task(2).on_rq == 0, tested, "{scheduler}, {ticks} ticks");
    }
}
