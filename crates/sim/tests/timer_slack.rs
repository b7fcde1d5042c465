//! When sleeps end that have timer slack. One CPU, where nothing costs anything.

use fairground_sim::testing::{engine, machine, spec, workload};
use fairground_sim::{Config, Event, EventKind, Observer, TaskId, Time};
use fairground_workload::{Amount, Op, Policy, SchedAttr, TaskSpec};

const US: u64 = 1_000;

/// Times, us, and threads of wakeups.
#[derive(Default)]
struct Wakings(Vec<(f64, TaskId)>);

impl Observer for Wakings {
    fn event(&mut self, event: &Event) {
        if let EventKind::Waking { task, .. } = event.kind {
            self.0.push((event.time as f64 / US as f64, task));
        }
    }
}

fn wakings(tasks: Vec<TaskSpec>) -> Vec<(f64, TaskId)> {
    let mut wakings = Wakings::default();
    let config = Config { start_phase: false, ..Config::default() };
    engine(machine(1, 1), workload(vec![], tasks), config).run(&mut [&mut wakings]).expect("the run ends well");
    wakings.0
}

fn sleeper(until_us: Time, slack_us: u64) -> TaskSpec {
    TaskSpec { timer_slack_ns: slack_us * US, ..spec("sleeper", vec![Op::SleepUntil(until_us * US)]) }
}

fn real_time() -> SchedAttr {
    SchedAttr { policy: Policy::Fifo, rt_priority: 1, ..SchedAttr::default() }
}

#[test]
fn a_sleep_ends_at_the_end_of_its_slack() {
    assert_eq!(wakings(vec![sleeper(1000, 50)]), [(1050.0, 0)]);
    assert_eq!(wakings(vec![sleeper(1000, 0)]), [(1000.0, 0)]);
}

#[test]
fn real_time_threads_have_no_slack() {
    assert_eq!(wakings(vec![TaskSpec { attr: real_time(), ..sleeper(1000, 50) }]), [(1000.0, 0)]);
}

/// A tick comes at 4000 us, as somebody runs. It ends the sleep that may end by then, and not the one that may from 4001.
#[test]
fn a_tick_ends_the_sleeps_that_may_end() {
    let hog = || spec("hog", vec![Op::Run(Amount::fixed(6000 * US))]);
    assert_eq!(wakings(vec![sleeper(3970, 50), hog()]), [(4000.0, 0)]);
    assert_eq!(wakings(vec![sleeper(4001, 50), hog()]), [(4051.0, 0)]);
}

/// Hard ends: 1100, 1020, 1221, 1300. At 1020 the second is due and the first may follow; the third may not, and the fourth,
/// which might, is behind it.
#[test]
fn one_interrupt_runs_timers_by_their_hard_ends_until_one_must_wait() {
    let tasks = vec![sleeper(1000, 100), sleeper(1020, 0), sleeper(1021, 200), sleeper(1000, 300)];
    assert_eq!(wakings(tasks), [(1020.0, 1), (1020.0, 0), (1221.0, 2), (1221.0, 3)]);
}

/// The second's timer ends the sleep of the first at 1001 us, 999 us before its hard end. Then the first becomes a real-time
/// thread: its next sleep ends before that time.
#[test]
fn a_sleep_without_slack_may_follow_one_that_had_much() {
    let program = vec![Op::SleepUntil(1000 * US), Op::SetAttr(real_time()), Op::Sleep(Amount::fixed(10 * US))];
    let first = TaskSpec { timer_slack_ns: 1000 * US, ..spec("first", program) };
    assert_eq!(wakings(vec![first, sleeper(1001, 0)]), [(1001.0, 1), (1001.0, 0), (1011.0, 0)]);
}

/// The program asks for no time at all, and sleeps for the slack.
#[test]
fn a_sleep_of_no_time_lasts_as_long_as_the_slack() {
    let none = || spec("none", vec![Op::Sleep(Amount::fixed(0)), Op::SleepUntil(10 * US)]);
    assert_eq!(wakings(vec![TaskSpec { timer_slack_ns: 50 * US, ..none() }]), [(50.0, 0), (60.0, 0)]);
    assert_eq!(wakings(vec![none()]), [(10.0, 0)]);
}

/// The second's timer ends the first sleep of the first at 1001 us, the second sleep lasts beyond the hard end of the first.
#[test]
fn the_event_of_a_sleep_that_ended_early_stands_for_the_next() {
    let first = TaskSpec {
        timer_slack_ns: 1000 * US,
        ..spec("first", vec![Op::SleepUntil(1000 * US), Op::Sleep(Amount::fixed(1500 * US))])
    };
    assert_eq!(wakings(vec![first, sleeper(1001, 0)]), [(1001.0, 1), (1001.0, 0), (3501.0, 0)]);
}

/// All hard ends are 8000 us, when a tick comes, too.
#[test]
fn timers_that_expire_together_run_as_they_were_armed() {
    let hog = spec("hog", vec![Op::Run(Amount::fixed(6000 * US))]);
    let short = spec("short", vec![Op::SleepUntil(3000 * US), Op::SleepUntil(8000 * US)]);
    let tasks = vec![sleeper(8000, 0), sleeper(7950, 50), short, hog];
    assert_eq!(wakings(tasks), [(3000.0, 2), (8000.0, 0), (8000.0, 1), (8000.0, 2)]);
}
