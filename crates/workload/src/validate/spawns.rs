//! Checks which templates create which, and how many threads a run creates.

use super::{Problem, Remark, Step, Subject};
use crate::program::*;
use crate::warning::WarningKind;

/// The most threads a run may create.
pub const MAX_TASKS: u64 = 1_000_000;

/// How many threads of each template a whole run creates.
pub(super) struct Population {
    /// By template; loops for ever saturate.
    pub threads: Vec<u64>,
}

/// A way in which one thread of a template creates others.
struct Birth {
    step: Step,
    child: SpecId,
    /// How many; `None`: without end.
    count: Option<u64>,
}

/// Counts all threads. Programs have matching loops and name existing templates.
pub(super) fn check(w: &Workload, remarks: &mut Vec<Remark>) -> Result<Population, Problem> {
    let births: Vec<Vec<Birth>> = (0..w.tasks.len()).map(|spec| births(w, spec as SpecId)).collect();
    let mut threads = vec![0u64; w.tasks.len()];
    for s in &w.start {
        let t = &mut threads[s.spec as usize];
        *t = t.saturating_add(s.count.into());
    }
    for spec in parents_first(w, &births)? {
        for b in &births[spec as usize] {
            let parents = threads[spec as usize];
            let t = &mut threads[b.child as usize];
            *t = t
                .saturating_add(b.count.map_or(if parents == 0 { 0 } else { u64::MAX }, |n| parents.saturating_mul(n)));
        }
    }
    let unbounded = births.iter().flatten().filter(|b| w.duration_ns.is_none() && b.count.is_none());
    for b in unbounded.filter(|b| threads[b.step.spec as usize] > 0) {
        let message = format!(
            "creates `{}` for ever; the run fails when {MAX_TASKS} threads have been created",
            w.name_of(b.child)
        );
        remarks.push(Remark::suspicious(b.step, w.name_of(b.step.spec), message));
    }
    let endless = births.iter().flatten().any(|b| b.count.is_none());
    let total = threads.iter().fold(0u64, |sum, n| sum.saturating_add(*n));
    if total > MAX_TASKS && !(endless && total == u64::MAX) {
        return Err(Problem::TooManyTasks { tasks: total });
    }
    never_ends(w, &threads, remarks);
    Ok(Population { threads })
}

/// The spawns that one thread of `spec` reaches.
fn births(w: &Workload, spec: SpecId) -> Vec<Birth> {
    let program = &w.tasks[spec as usize].program;
    let mut births = Vec::new();
    let mut times: Vec<Option<u64>> = vec![Some(1)];
    let mut i = 0;
    while let Some(op) = program.get(i) {
        let around = times.last().copied().flatten();
        match op {
            Op::Exit => break,
            Op::Loop { times: Some(0), end } => i = *end as usize - 1,
            Op::Loop { times: t, .. } => times.push(around.zip(*t).map(|(a, t)| a.saturating_mul(t))),
            Op::EndLoop { begin } => {
                times.pop();
                if matches!(program[*begin as usize], Op::Loop { times: None, .. }) {
                    break;
                }
            }
            Op::Spawn { spec: child, count, .. } if *count > 0 => {
                let count = around.map(|a| a.saturating_mul((*count).into()));
                births.push(Birth { step: Step { spec, op: i as u32 }, child: *child, count });
            }
            _ => {}
        }
        i += 1;
    }
    births
}

/// Templates ordered so that each comes after all that create it.
fn parents_first(w: &Workload, births: &[Vec<Birth>]) -> Result<Vec<SpecId>, Problem> {
    let mut waiting_for = vec![0usize; births.len()];
    births.iter().flatten().for_each(|b| waiting_for[b.child as usize] += 1);
    let mut order: Vec<SpecId> = (0..births.len() as SpecId).filter(|s| waiting_for[*s as usize] == 0).collect();
    let mut next = 0;
    while let Some(spec) = order.get(next).copied() {
        next += 1;
        for b in &births[spec as usize] {
            waiting_for[b.child as usize] -= 1;
            if waiting_for[b.child as usize] == 0 {
                order.push(b.child);
            }
        }
    }
    let stuck = |b: &&Birth| waiting_for[b.step.spec as usize] > 0 && waiting_for[b.child as usize] > 0;
    match births.iter().flatten().find(stuck) {
        Some(b) => Err(Problem::EndlessSpawn { task: w.name_of(b.child), step: b.step }),
        None => Ok(order),
    }
}

/// Remarks on a run that nothing ends.
fn never_ends(w: &Workload, threads: &[u64], remarks: &mut Vec<Remark>) {
    if w.duration_ns.is_some() {
        return;
    }
    let mut alive = w.tasks.iter().enumerate().filter(|(spec, t)| threads[*spec] > 0 && !t.daemon);
    if let Some((spec, t)) = alive.find(|(_, t)| is_endless(&t.program)) {
        let message = "loops for ever, and the workload has no duration: give it one, as in FILE:duration=10".into();
        let (kind, place) = (WarningKind::NeverEnds, Subject::Task(spec as SpecId));
        remarks.push(Remark { kind, place, subject: t.name.clone(), message });
    }
}

/// Whether a thread of this program comes to the end of a loop for ever.
fn is_endless(program: &[Op]) -> bool {
    let mut i = 0;
    while let Some(op) = program.get(i) {
        match op {
            Op::Exit => return false,
            Op::Loop { times: Some(0), end } => i = *end as usize - 1,
            Op::EndLoop { begin } if matches!(program[*begin as usize], Op::Loop { times: None, .. }) => return true,
            _ => {}
        }
        i += 1;
    }
    false
}
