//! Recorded programs: what the kernel does while such a thread is current is part of its work.

use std::sync::Arc;

use fairground_machine::SoftCost;
use fairground_sim::testing::{machine, spec, workload, RoundRobin};
use fairground_sim::{Config, Engine, Event, EventKind, Observer};
use fairground_workload::{Object, Op, TaskSpec};

/// Times of switches, with the next thread; none: the idle task.
#[derive(Default)]
struct Switches(Vec<(u64, Option<u32>)>);

impl Observer for Switches {
    fn event(&mut self, event: &Event) {
        if let EventKind::Switch { next, .. } = event.kind {
            self.0.push((event.time, next));
        }
    }
}

/// One CPU on which a switch takes 100 ns, and a system call, a futex and a clock tick nothing at all.
fn switches(programs: Vec<TaskSpec>) -> Vec<(u64, Option<u32>)> {
    let mut machine = machine(1, 1);
    machine.costs.soft_ns[SoftCost::SwitchThread as usize] = 100.0;
    let objects = vec![Object::Semaphore { value: 0 }; programs.len()];
    let config = Config { start_phase: false, ..Config::default() };
    let sched = Box::new(RoundRobin::new(1));
    let mut seen = Switches::default();
    let workload = Arc::new(workload(objects, programs));
    Engine::new(Arc::new(machine), workload, sched, config).run(&mut [&mut seen]).unwrap();
    seen.0
}

/// 1000 ns from switch to switch, of which 100 are the switch's; work that is not recorded has it on top.
#[test]
fn a_switch_is_part_of_recorded_work() {
    let recorded = switches(vec![spec("r", vec![Op::Recorded, Op::Work(1_000_000)])]);
    assert_eq!(recorded[1].0 - recorded[0].0, 1000);
    let other = switches(vec![spec("o", vec![Op::Run(fairground_workload::Amount::fixed(1000))])]);
    assert_eq!(other[1].0 - other[0].0, 1100);
}

/// The first wakes the second before that sleeps: it does not sleep then. The second time it does.
#[test]
fn wakeups_before_their_sleep_are_kept() {
    let rouse = Op::Rouse { sem: 1, sync: false };
    let first = vec![Op::Recorded, rouse.clone(), Op::Work(5_000_000), rouse, Op::Work(1_000_000)];
    let second = vec![Op::Recorded, Op::SemWait(1), Op::Work(2_000_000), Op::SemWait(1), Op::Work(3_000_000)];
    let times = switches(vec![spec("a", first), spec("b", second)]);
    let start = times[0].0;
    let seen: Vec<_> = times.iter().map(|(at, who)| (at - start, *who)).collect();
    assert_eq!(seen, [(0, Some(0)), (6000, Some(1)), (11_000, None)]);
}
