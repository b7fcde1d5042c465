//! hrtick (placement-new.md 2.5): a timer ends a slice between two ticks. On one CPU a slice is 0.75 ms, the first of a
//! task half of that, a tick 4 ms.

use fairground_machine::{CpuMask, Machine};
use fairground_sim::{Ipi, Pick, Request, Scheduler, TaskInfo, Time};
use fairground_workload::SchedAttr;

use crate::rig::{Rig, MS};

const FIRST: u64 = 3 * MS / 8;

fn timer(rig: &Rig) -> Option<Time> {
    let set = |r: &Request| if let Request::Timer { cpu: 0, at } = r { Some(*at) } else { None };
    rig.requests.iter().filter_map(set).next_back()
}

/// Whether the timer was set to `at`, but for what the call takes until then.
fn is_set_to(rig: &Rig, at: Time) -> bool {
    timer(rig).is_some_and(|set| (at..at + MS / 50).contains(&set))
}

/// Tasks 0 and 1 on CPU 0, and 0 runs.
fn two(scheduler: &str) -> Rig {
    let mut rig = Rig::new(Machine::symmetric(1), scheduler);
    rig.fair_task(0, "0");
    rig.fair_task(1, "0");
    assert_eq!(rig.schedule(0), Pick::Task(0));
    rig
}

#[test]
fn a_slice_ends_at_its_deadline_or_after_its_time() {
    assert_eq!(timer(&two("v6.12")), None);
    // A new task's deadline comes early; the time that it may run is a whole slice.
    for (mode, slice) in [("deadline", FIRST), ("ran", 2 * FIRST)] {
        let mut rig = two(&format!("v6.12+hrtick={mode}"));
        assert!(is_set_to(&rig, rig.now + slice), "{mode}");
        rig.now += slice + MS / 50;
        rig.call(0, |f, e| f.timer(e, 0));
        assert!(rig.resched_of(0), "{mode}");
        assert_eq!(rig.schedule(0), Pick::Task(1), "{mode}");
        assert!(is_set_to(&rig, rig.now + slice), "{mode}: the next one");
    }
}

#[test]
fn nobody_waits_and_nothing_is_set() {
    for mode in ["deadline", "ran"] {
        let mut rig = Rig::new(Machine::symmetric(1), &format!("v6.12+hrtick={mode}"));
        rig.fair_task(0, "0");
        assert_eq!(rig.schedule(0), Pick::Task(0));
        assert_eq!(timer(&rig), None, "{mode}");
        rig.now += MS / 8;
        rig.fair_task(1, "0");
        let left = if mode == "deadline" { FIRST } else { 2 * FIRST } - MS / 8;
        assert!(is_set_to(&rig, rig.now + left), "{mode}");
    }
}

/// The timer stays while its task runs, until the CPU idles; up to v7.0 each schedule() sets it anew.
#[test]
fn it_is_set_once_since_v71() {
    for (mode, again) in [("deadline", false), ("ran", true)] {
        let mut rig = two(&format!("v6.12+hrtick={mode}"));
        rig.now += MS / 16;
        rig.fair_task(2, "0");
        assert_eq!(timer(&rig).is_some(), again, "{mode}");
        rig.sleep(0, 0);
        rig.sleep(0, 1);
        rig.now += MS;
        assert_eq!(rig.sleep(0, 2), Pick::Idle, "{mode}");
        assert!(again || timer(&rig) == Some(Time::MAX), "{mode}");
        rig.call(0, |f, e| f.timer(e, 0));
        assert!(!rig.resched_of(0), "{mode}");
    }
}

/// From another CPU it takes an interrupt, which with lazy preemption ends the wait of a reschedule too.
#[test]
fn another_cpu_sends_an_interrupt() {
    let mut rig = Rig::new(Machine::symmetric(2), "v6.12+hrtick=deadline");
    rig.fair_task(0, "0");
    assert_eq!(rig.schedule(0), Pick::Task(0));
    let child = TaskInfo::new(1, SchedAttr::default(), CpuMask::parse_list("0").unwrap());
    rig.call(1, |f, e| f.fork(e, 1, None, &child));
    assert!(rig.asked(|r| matches!(r, Request::Ipi { to: 0, ipi: Ipi::Hrtick, .. })));
    assert_eq!(timer(&rig), None);
    let at = rig.now + 2 * FIRST; // two CPUs
    rig.now += MS / 100;
    rig.call(0, |f, e| f.ipi(e, 0, Ipi::Hrtick));
    assert!(is_set_to(&rig, at));
}

/// A full request since v7.1, a lazy one before: to its own timer it is the same.
#[test]
fn a_lazy_request_does_not_wait_either() {
    for mode in ["deadline", "ran"] {
        let mut rig = two(&format!("v6.12+hrtick={mode}+preempt-model=lazy"));
        rig.now += 2 * FIRST + MS / 50;
        rig.call(0, |f, e| f.timer(e, 0));
        assert!(rig.resched_of(0), "{mode}: it is the CPU's own timer");
    }
}
