//! Checks the structure of each program: loops match, take time, and durations are within limits.

use fairground_machine::{Machine, SoftCost};

use super::{Problem, Step};
use crate::program::*;

/// Deepest nesting of loops.
pub const MAX_LOOP_DEPTH: usize = 64;

/// The most steps a program may take in a row without computing, sleeping or blocking.
pub const MAX_SPIN_STEPS: u64 = 1_000_000;

/// The longest duration that may be asked for, and the longest a run without one may take, ns of virtual time: an hour.
pub const MAX_DURATION_NS: u64 = 3_600_000_000_000;

/// The longest duration that a program may state, ns.
pub const MAX_TIME_NS: u128 = i64::MAX as u128;

/// Checks every program. Values are in range.
pub(super) fn check(w: &Workload, machine: &Machine) -> Result<(), Problem> {
    for (spec, task) in w.tasks.iter().enumerate() {
        loops_match(task, spec as SpecId)?;
        let whole = weigh(task, spec as SpecId, machine)?;
        if whole.ns > MAX_TIME_NS {
            return Err(Problem::TimeOverflow { task: task.name.clone(), step: None });
        }
    }
    Ok(())
}

/// Every loop ends where it says, and inside the loop around it.
fn loops_match(task: &TaskSpec, spec: SpecId) -> Result<(), Problem> {
    let mut open: Vec<usize> = Vec::new();
    for (i, op) in task.program.iter().enumerate() {
        let step = Step { spec, op: i as u32 };
        let bad = || Problem::BadLoop { task: task.name.clone(), step };
        match op {
            Op::Loop { .. } if open.len() == MAX_LOOP_DEPTH => {
                return Err(Problem::TooDeep { task: task.name.clone(), step });
            }
            Op::Loop { .. } => open.push(i),
            Op::EndLoop { begin } => {
                let loop_at = open.pop().filter(|b| *b == *begin as usize).ok_or_else(bad)?;
                if !matches!(task.program[loop_at], Op::Loop { end, .. } if end as usize == i + 1) {
                    return Err(bad());
                }
            }
            _ => {}
        }
    }
    match open.last() {
        Some(op) => Err(Problem::BadLoop { task: task.name.clone(), step: Step { spec, op: *op as u32 } }),
        None => Ok(()),
    }
}

/// Sum over a range of steps.
#[derive(Clone, Copy, Default)]
struct StepWeight {
    /// Upper bound of the stated durations, ns.
    ns: u128,
    steps: u128,
    /// Whether some step takes time or can block.
    takes_time: bool,
}

impl StepWeight {
    fn add(&mut self, other: StepWeight) {
        self.ns = self.ns.saturating_add(other.ns);
        self.steps = self.steps.saturating_add(other.steps);
        self.takes_time |= other.takes_time;
    }

    fn repeated(self, times: u64) -> StepWeight {
        StepWeight {
            ns: self.ns.saturating_mul(times.into()),
            steps: self.steps.saturating_mul(times.into()),
            takes_time: self.takes_time && times > 0,
        }
    }
}

/// Sums up a program whose loops match. A loop for ever counts once: its times fit if one round's do.
fn weigh(task: &TaskSpec, spec: SpecId, machine: &Machine) -> Result<StepWeight, Problem> {
    let mut stack = vec![StepWeight::default()];
    for op in task.program.iter() {
        match op {
            Op::Loop { .. } => stack.push(StepWeight::default()),
            Op::EndLoop { begin } => {
                let body = stack.pop().unwrap_or_default();
                let Op::Loop { times, .. } = task.program[*begin as usize] else { continue };
                let step = Step { spec, op: *begin };
                if spins(body, times) {
                    return Err(Problem::Spins { task: task.name.clone(), step, times });
                }
                let all = body.repeated(times.unwrap_or(1));
                if all.ns > MAX_TIME_NS {
                    return Err(Problem::TimeOverflow { task: task.name.clone(), step: Some(step) });
                }
                if let Some(outer) = stack.last_mut() {
                    outer.add(all);
                }
            }
            _ => {
                if let Some(inner) = stack.last_mut() {
                    inner.add(step_weight(op, machine));
                }
            }
        }
    }
    Ok(stack.pop().unwrap_or_default())
}

/// Whether a loop around `body` would hold the engine at one instant.
fn spins(body: StepWeight, times: Option<u64>) -> bool {
    if body.takes_time {
        return false;
    }
    // An empty body still costs the engine a step a round.
    let steps = body.steps.max(1);
    times.is_none_or(|n| steps.saturating_mul(n.into()) > MAX_SPIN_STEPS.into())
}

fn step_weight(op: &Op, machine: &Machine) -> StepWeight {
    let duration = |a: &Amount| {
        let ns = u128::from(a.base) + u128::from(a.jitter);
        StepWeight { ns, steps: 1, takes_time: ns > 0 }
    };
    match op {
        Op::Run(a) | Op::RunWall(a) | Op::Sleep(a) | Op::Serial { hold: a, .. } => duration(a),
        Op::TimerWait { period_ns, .. } => duration(&Amount::fixed(*period_ns)),
        Op::Work(ps) => duration(&Amount::fixed(ps / 1000)),
        other => StepWeight { ns: 0, steps: 1, takes_time: can_block(other) || is_dear(other, machine) },
    }
}

/// Steps at which a thread may have to wait for another, or that end it.
fn can_block(op: &Op) -> bool {
    matches!(
        op,
        Op::PipeWrite { .. }
            | Op::PipeRead { .. }
            | Op::SockSend { .. }
            | Op::SockRecv { .. }
            | Op::Poll(_)
            | Op::Enlist(_)
            | Op::AwaitListed(_)
            | Op::FutexWait { .. }
            | Op::CondWait { .. }
            | Op::BarrierWait(_)
            | Op::SemWait(_)
            | Op::WaitChildren
            | Op::WaitChild
            | Op::Rest
            | Op::Exit
    )
}

/// Steps that spend all their time in the kernel, on a machine where that has a price. Cheaper system calls in a loop
/// for ever are a mistake more often than a workload.
fn is_dear(op: &Op, machine: &Machine) -> bool {
    let kind = match op {
        Op::Yield => SoftCost::SchedCall,
        Op::Spawn { thread: true, .. } => SoftCost::CloneThread,
        Op::Spawn { thread: false, .. } => SoftCost::Fork,
        Op::Exec => SoftCost::Exec,
        _ => return false,
    };
    machine.costs.soft(kind) >= 1.0
}
