use super::*;
use crate::rule_name;

const MS: u64 = 1_000_000;

fn four(sched: &str, initial: InitialState) -> ReplayedState {
    let mut machine = Machine::symmetric(4);
    machine.llcs = vec![CpuMask::first_n(4)];
    let how = ReplayConfig { hz: 250, schedutil: false, initial, now: 7 * MS, none_delayed: false };
    ReplayedState::new(&machine, &Features::parse(sched).unwrap(), &how).unwrap()
}

/// Threads 0, 1, ... start one after another on CPU 0; the first one is current.
fn crowd(follower: &mut ReplayedState, tasks: u32) {
    for task in 0..tasks {
        follower.born(task, None, 0, Affinity::Any);
        follower.start(task, 0);
    }
    follower.switch(0, None, SwitchTo::Task(0));
}

fn counts(follower: &ReplayedState, cpu: CpuId) -> (u32, u32, u8) {
    let rq = follower.cpu(cpu);
    (rq.nr_running, rq.h_nr_running, rq.curr_is_idle)
}

#[test]
fn who_runs_waits_and_sleeps_is_counted() {
    for sched in ["fair:v5.9", "fair:v6.1", "fair:v6.12"] {
        let mut f = four(sched, InitialState::Boot);
        crowd(&mut f, 2);
        assert_eq!((counts(&f, 0), counts(&f, 1)), ((2, 2, 0), (0, 0, 1)), "{sched}");
        f.advance(9 * MS);
        f.switch(0, Some(0), SwitchTo::Task(1));
        f.switch(0, Some(1), SwitchTo::Idle);
        assert_eq!(counts(&f, 0), (0, 0, 1), "{sched}");
    }
}

#[test]
fn utilization_grows_while_a_thread_runs_and_fades_while_it_sleeps() {
    let mut f = four("fair:v6.12", InitialState::Boot);
    crowd(&mut f, 1);
    f.advance(1000 * MS);
    // Ticks update the signals of the CPU.
    assert!(f.cpu(0).cfs.util_avg > 1000, "{}", f.cpu(0).cfs.util_avg);
    f.switch(0, Some(0), SwitchTo::Idle);
    f.advance(1100 * MS);
    f.wake_on(0, 0);
    assert!((50..300).contains(&f.task(0).avg.util_avg), "{}", f.task(0).avg.util_avg);
}

#[test]
fn a_sleeper_on_its_way_makes_a_cpu_no_longer_free() {
    // Without load, SIS_UTIL allows a scan of all CPUs.
    let mut f = four("fair:v6.12", InitialState::Nothing);
    crowd(&mut f, 1);
    f.appear(1, 2, Affinity::Any);
    f.appear(2, 2, Affinity::Any);
    let place = |f: &mut ReplayedState| {
        let placing = Placing { task: 1, current: Some(0), now: 7 * MS, this_cpu: 0, flags: FG_WF_TTWU };
        let verdict = f.select(&placing, None).unwrap();
        (verdict.cpu, rule_name(verdict.rule))
    };
    assert_eq!(place(&mut f), (2, "C1"));
    f.send(2, None, 2);
    assert_ne!(place(&mut f).0, 2);
    f.send(2, Some(2), 3);
    assert_eq!(place(&mut f), (2, "C1"));
    f.arrive(2);
    assert_eq!(counts(&f, 3).0, 1);
}

/// In 6.12 the dequeue of a sleeper with negative lag is delayed, and no CPU is chosen for it.
#[test]
fn a_sleeper_that_is_still_queued_is_not_placed() {
    let placing = Placing { task: 0, current: None, now: 12 * MS, this_cpu: 1, flags: FG_WF_TTWU };
    for (sched, stays) in [("fair:v6.12", true), ("fair:v6.7", false)] {
        let mut f = four(sched, InitialState::Boot);
        crowd(&mut f, 2);
        f.advance(11 * MS);
        f.switch(0, Some(0), SwitchTo::Task(1));
        assert_eq!(f.select(&placing, None).is_none(), stays, "{sched}");
        assert!(!f.is_runnable(0), "{sched}");
        f.switch(0, Some(1), SwitchTo::Idle);
        assert!(f.select(&placing, None).is_some(), "{sched}");
    }
}

/// The CPU goes idle, so no task is queued there any more, delayed or not.
#[test]
fn a_cpu_that_idles_has_nothing_queued_not_even_a_thread_in_debt() {
    for sched in ["fair:v6.7", "fair:v6.12"] {
        let mut f = four(sched, InitialState::Boot);
        crowd(&mut f, 2);
        f.advance(19 * MS);
        f.switch(0, None, SwitchTo::Task(1));
        f.switch(0, Some(1), SwitchTo::Idle);
        assert_eq!((counts(&f, 0), f.is_runnable(0)), ((0, 0, 1), false), "{sched}");
        f.wake_on(0, 0);
        f.switch(0, None, SwitchTo::Task(0));
        f.forget(0);
        assert_eq!(counts(&f, 0).0, 0, "{sched}");
    }
}

#[test]
fn a_thread_that_was_moved_is_queued_there() {
    let mut f = four("fair:v6.12", InitialState::Boot);
    crowd(&mut f, 3);
    f.move_to(2, 1);
    assert_eq!((counts(&f, 0).0, counts(&f, 1).0, f.task(2).cpu), (2, 1, 1));
    f.forget(2);
    assert_eq!(counts(&f, 1).0, 0);
}

/// Whether it runs, waits or sleeps, a thread that becomes less nice weighs more and is where it was.
#[test]
fn a_nice_value_changes_the_weight_and_nothing_else() {
    for sched in ["fair:v5.9", "fair:v6.1", "fair:v6.12"] {
        let mut f = four(sched, InitialState::Boot);
        crowd(&mut f, 3);
        f.advance(9 * MS);
        f.switch(0, Some(0), SwitchTo::Task(1));
        for task in 0..3 {
            f.renice(task, -20);
        }
        assert_eq!([0, 1, 2].map(|task| f.is_runnable(task)), [false, true, true], "{sched}");
        assert_eq!(f.task(2).weight, 88761, "{sched}");
        f.switch(0, Some(1), SwitchTo::Task(2));
        f.switch(0, Some(2), SwitchTo::Idle);
        f.wake_on(0, 0);
        assert_eq!((f.cpu(0).h_nr_running, f.cpu(0).fair.load_weight), (1, 88761), "{sched}");
    }
}

/// `select_if_busy` restores the state.
#[test]
fn a_cpu_that_idles_may_be_taken_to_be_busy() {
    let mut f = four("fair:v6.12", InitialState::Nothing);
    crowd(&mut f, 1);
    f.appear(1, 2, Affinity::Any);
    let placing = Placing { task: 1, current: Some(0), now: 7 * MS, this_cpu: 0, flags: FG_WF_TTWU };
    let before = counts(&f, 2);
    let busy = [2].into_iter().collect();
    assert_ne!(f.select_if_busy(&placing, &busy).unwrap().cpu, 2);
    assert_eq!((counts(&f, 2), f.select(&placing, None).unwrap().cpu), (before, 2));
}

/// Before the first event of a CPU its state is assumed; the event corrects it, except for the task assumed to wait.
#[test]
fn what_was_before_is_settled_by_what_is_seen() {
    let mut f = four("fair:v6.12", InitialState::Everything);
    assert_eq!((counts(&f, 0), f.cpu(0).cfs.util_avg), ((2, 2, 0), 1024));
    f.appear(0, 0, Affinity::Any);
    f.settle(0, SwitchTo::Task(0));
    assert_eq!(counts(&f, 0), (2, 2, 0));
    f.switch(0, Some(0), SwitchTo::Idle);
    assert_eq!(counts(&f, 0), (0, 0, 1));
    assert_eq!(counts(&four("fair:v6.12", InitialState::Nothing), 0), (0, 0, 1));
}

/// A gap of centuries does not make the replay count every tick of it.
#[test]
fn time_may_jump() {
    let mut f = four("fair:v6.12", InitialState::Everything);
    crowd(&mut f, 2);
    f.advance(u64::MAX);
    f.switch(0, Some(0), SwitchTo::Task(1));
    assert_eq!(counts(&f, 1).2, 0);
}
