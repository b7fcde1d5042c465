//! What was seen of a run.

use fairground_machine::CpuId;
use fairground_sim::{Decision, DecisionKind, Event, EventKind, Observer, SwitchState, TaskId, Time};

/// A stretch of time on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub begin: Time,
    pub end: Time,
    pub cpu: CpuId,
}

/// From a wakeup until it sleeps again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activation {
    pub woken: Time,
    pub asleep: Time,
    /// Where the wakeup placed it.
    pub cpu: CpuId,
}

/// A thread's utilization and its estimate, as they stand when it wakes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    pub time: Time,
    pub task: TaskId,
    /// As it was when it went to sleep.
    pub util: u64,
    pub est: u64,
}

/// A thread.
#[derive(Clone, Debug, Default)]
pub struct Life {
    /// The CPUs that it belonged to, from when on.
    pub places: Vec<(Time, CpuId)>,
    /// On a CPU.
    pub runs: Vec<Stretch>,
    pub activations: Vec<Activation>,
    pub born: Time,
    pub died: Option<Time>,
    running: Option<(Time, CpuId)>,
    woken: Option<(Time, CpuId)>,
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub end: Time,
    pub lives: Vec<Life>,
    /// Changes of clocks: time, CPU, kHz.
    pub clocks: Vec<(Time, CpuId, u32)>,
    pub estimates: Vec<Estimate>,
}

impl Seen {
    /// A wakeup of a thread begins; it belonged to `cpu`.
    pub fn waking(&mut self, time: Time, task: TaskId, cpu: CpuId) {
        self.life(task).woken = Some((time, cpu));
    }

    /// The wakeup put it on `cpu`.
    pub fn woken(&mut self, task: TaskId, cpu: CpuId) {
        if let Some((_, at)) = &mut self.life(task).woken {
            *at = cpu;
        }
    }

    /// It belongs to `cpu` from now on.
    pub fn placed(&mut self, time: Time, task: TaskId, cpu: CpuId) {
        self.life(task).places.push((time, cpu));
    }

    /// It gets `cpu`.
    pub fn run(&mut self, time: Time, task: TaskId, cpu: CpuId) {
        self.life(task).running = Some((time, cpu));
    }

    fn life(&mut self, task: TaskId) -> &mut Life {
        let at = task as usize;
        if self.lives.len() <= at {
            self.lives.resize(at + 1, Life::default());
        }
        &mut self.lives[at]
    }

    /// It leaves its CPU.
    pub fn leave(&mut self, time: Time, task: TaskId, state: SwitchState) {
        let life = self.life(task);
        if let Some((begin, cpu)) = life.running.take() {
            life.runs.push(Stretch { begin, end: time, cpu });
        }
        if state != SwitchState::Runnable {
            if let Some((woken, cpu)) = life.woken.take() {
                life.activations.push(Activation { woken, asleep: time, cpu });
            }
        }
        if state == SwitchState::Dead {
            life.died = Some(time);
        }
    }

    fn decided(&mut self, time: Time, decision: Decision) {
        let life = self.life(decision.task);
        if decision.kind == DecisionKind::Fork {
            life.born = time;
        }
        life.places.push((time, decision.chosen));
    }

    /// The clock of a CPU at an instant, kHz.
    pub fn khz(&self, cpu: CpuId, time: Time) -> Option<u32> {
        let until = self.clocks.partition_point(|(at, ..)| *at <= time);
        self.clocks[..until].iter().rev().find(|(_, on, _)| *on == cpu).map(|(.., khz)| *khz)
    }
}

impl Life {
    /// Where it belonged at an instant.
    pub fn place(&self, time: Time) -> Option<CpuId> {
        let until = self.places.partition_point(|(at, _)| *at <= time);
        self.places[..until].last().map(|(_, cpu)| *cpu)
    }
}

impl Observer for Seen {
    fn event(&mut self, event: &Event) {
        let (time, cpu) = (event.time, event.cpu);
        self.end = time;
        match event.kind {
            EventKind::Decision(decision) => self.decided(time, decision),
            EventKind::Waking { task, prev, .. } => self.waking(time, task, prev),
            EventKind::Wakeup { task, target } => self.woken(task, target),
            EventKind::Migrate { task, to, .. } => self.placed(time, task, to),
            EventKind::Frequency { khz } => self.clocks.push((time, cpu, khz)),
            EventKind::Switch { prev, prev_state, next, .. } => {
                if let Some(task) = prev {
                    self.leave(time, task, prev_state);
                }
                if let Some(task) = next {
                    self.run(time, task, cpu);
                }
            }
            _ => {}
        }
    }
}
