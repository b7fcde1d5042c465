//! Steady tasks: each does the same work in every period, for ever.

use fairground_sim::{draw, in_amount, Purpose, Time};
use fairground_workload::{Amount, Object, Op, ProgramBuilder, SchedAttr, Score, Start, TaskSpec, Workload};

/// ns. Short, so that what PELT says of a task is close to its mean.
pub const PERIOD: Time = 4_000_000;
/// Length of a run, ns.
const DURATION: Time = 1_000_000_000;
/// Placements count from here on, ns: signals have settled.
pub const SETTLED: Time = 500_000_000;
/// KiB; as small as in `periodic`.
const FOOTPRINT_KIB: u32 = 16;
/// Largest utilization drawn: half of the largest CPU.
const LARGEST: u64 = 512;
const SMALLEST: u64 = 16;
/// Capacity of the largest CPU.
const SCALE: u64 = 1024;

/// A periodic task with constant work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// Utilization, 0 to 1024 (the largest CPU at its top frequency).
    pub util: f64,
    /// Requested `uclamp.min`, 0 to 1024.
    pub min: u16,
    /// Requested `uclamp.max`, 0 to 1024.
    pub max: u16,
}

impl Steady {
    /// A task of utilization `util` without clamps.
    pub fn new(util: f64) -> Steady {
        Steady { util, min: 0, max: SCALE as u16 }
    }
}

/// The tasks of state `number` of those that `seed` stands for: 1 to `most` of them, each with a utilization of 16 to
/// 512; with `clamps` a quarter of them with a floor and a quarter with a ceiling, anything from 0 to 1024.
pub fn drawn(seed: u64, number: u64, most: usize, clamps: bool) -> Vec<Steady> {
    let uniform = |n: u64, least: u64, greatest: u64| {
        let raw = draw(seed, Purpose::Steady, number, n);
        in_amount(Amount { base: least, jitter: greatest - least }, raw)
    };
    let nr = uniform(0, 1, most as u64);
    let task = |i: u64| {
        let asks = |n: u64| clamps && uniform(i * 5 + n, 0, 3) == 0;
        let util = uniform(i * 5 + 1, SMALLEST, LARGEST) as f64;
        let min = if asks(2) { uniform(i * 5 + 3, 0, SCALE) as u16 } else { 0 };
        let max = if asks(4) { uniform(i * 5 + 5, u64::from(min), SCALE) as u16 } else { SCALE as u16 };
        Steady { util, min, max }
    };
    (0..nr).map(task).collect()
}

/// The tasks as threads, numbered as they are here. Phases are drawn from the run's seed.
pub fn workload(tasks: &[Steady]) -> Workload {
    Workload {
        name: "steady tasks".into(),
        objects: vec![Object::Timer { per_task: true }],
        object_names: Vec::new(),
        tasks: tasks.iter().enumerate().map(|(i, task)| spec(i, task)).collect(),
        groups: Vec::new(),
        start: (0..tasks.len() as u32).map(|spec| Start { spec, count: 1, cpu: 0, process: 0 }).collect(),
        irqs: Vec::new(),
        frequency_caps: Vec::new(),
        offline: Vec::new(),
        duration_ns: Some(DURATION),
        warmup_ns: SETTLED,
        score: Score::None,
        series: Vec::new(),
    }
}

fn spec(number: usize, task: &Steady) -> TaskSpec {
    let mut p = ProgramBuilder::new();
    p.op(Op::Sleep(Amount { base: 0, jitter: PERIOD - 1 }));
    p.repeat(None, |p| {
        p.op(Op::Run(Amount::fixed((task.util * PERIOD as f64 / SCALE as f64) as u64)));
        p.op(Op::TimerWait { timer: 0, period_ns: PERIOD, relative: true });
    });
    TaskSpec {
        attr: SchedAttr { uclamp_min: task.min, uclamp_max: task.max, ..SchedAttr::default() },
        ..TaskSpec::new(&format!("steady-{number}"), FOOTPRINT_KIB, p.build())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_drawn_by_their_number_alone() {
        let of = |number| drawn(7, number, 6, true);
        assert_eq!(of(3), of(3));
        assert_ne!(of(3), of(4));
        assert_ne!(of(3), drawn(8, 3, 6, true));
    }

    #[test]
    fn all_numbers_of_tasks_come_up_and_everything_is_in_range() {
        let states: Vec<_> = (0..200).map(|number| drawn(1, number, 6, true)).collect();
        assert!((1..=6).all(|nr| states.iter().any(|tasks| tasks.len() == nr)));
        let mut tasks = states.iter().flatten();
        assert!(tasks.clone().all(|t| (16.0..=512.0).contains(&t.util) && t.min <= t.max && t.max <= 1024));
        assert!(tasks.clone().any(|t| t.min > 0) && tasks.any(|t| t.max < 1024));
        assert!((0..200).flat_map(|n| drawn(1, n, 6, false)).all(|t| (t.min, t.max) == (0, 1024)));
    }
}
