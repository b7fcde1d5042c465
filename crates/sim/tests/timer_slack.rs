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
