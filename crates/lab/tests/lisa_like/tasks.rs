//! Periodic threads whose duty changes by phases.

use fairground_machine::{CpuMask, Machine};
use fairground_sim::{testing, Time};
use fairground_workload::{Amount, Object, Op, ProgramBuilder, SchedAttr, TaskSpec, Workload};

pub const MS: u64 = 1_000_000;

/// Period of all tasks, unless a scenario says otherwise.
pub const PERIOD: u64 = 16 * MS;

/// A part of a thread's life: so much work each period, for so long.
#[derive(Clone, Debug)]
pub struct Phase {
    /// Mean utilization, of 1024.
    pub duty: f64,
    /// Its length; whole periods of it are run.
    pub length: Time,
    /// The utilization floor that is asked for.
    pub floor: u16,
}

impl Phase {
    pub fn new(duty: f64, length: Time) -> Phase {
        Phase { duty, length, floor: 0 }
    }

    pub fn periods(&self, period: Time) -> u64 {
        self.length / period
    }
}

/// A thread.
#[derive(Clone, Debug)]
pub struct Rhythm {
    pub period: Time,
    pub phases: Vec<Phase>,
    /// Bound to these CPUs.
    pub cpus: Option<CpuMask>,
}

impl Rhythm {
    pub fn new(phases: Vec<Phase>) -> Rhythm {
        Rhythm { period: PERIOD, phases, cpus: None }
    }

    /// When each phase begins and ends.
    pub fn spans(&self) -> Vec<(Time, Time)> {
        let ends = self.phases.iter().scan(0, |end, phase| {
            let begin = *end;
            *end += phase.periods(self.period) * self.period;
            Some((begin, *end))
        });
        ends.collect()
    }

    /// The phase at an instant.
    pub fn phase_at(&self, time: Time) -> Option<&Phase> {
        let at = self.spans().iter().position(|(begin, end)| (*begin..*end).contains(&time))?;
        self.phases.get(at)
    }

    fn spec(&self, name: &str) -> TaskSpec {
        let mut p = ProgramBuilder::new();
        for phase in &self.phases {
            let work = (phase.duty / 1024.0 * self.period as f64) as u64;
            if self.phases.iter().any(|p| p.floor > 0) {
                p.op(Op::SetAttr(SchedAttr { uclamp_min: phase.floor, ..SchedAttr::default() }));
            }
            p.repeat(Some(phase.periods(self.period)), |p| {
                p.op(Op::Run(Amount::fixed(work)));
                p.op(Op::TimerWait { timer: 0, period_ns: self.period, relative: false });
            });
        }
        TaskSpec { affinity: self.cpus, program: p.build(), ..testing::spec(name, Vec::new()) }
    }
}

/// Threads that all begin at time 0; their ids are their places in the list.
pub fn workload(threads: &[Rhythm]) -> Workload {
    let specs = threads.iter().enumerate().map(|(i, t)| t.spec(&format!("t{i}"))).collect();
    testing::workload(vec![Object::Timer { per_task: true }], specs)
}

/// The capacities that occur, smallest first.
pub fn capacities(machine: &Machine) -> Vec<u32> {
    let mut all: Vec<u32> = machine.cpus.iter().map(|c| c.capacity).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// What PELT (32 ms to a half) shows at the end of the work of each period of a task with this duty.
pub fn peak(duty: f64, period: Time) -> f64 {
    let left = |ns: f64| 0.5_f64.powf(ns / (32 * MS) as f64);
    let busy = period as f64 * duty / 1024.0;
    1024.0 * (1.0 - left(busy)) / (1.0 - left(period as f64))
}
