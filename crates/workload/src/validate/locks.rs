//! Mutexes along each program, as far as they can be followed without running it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Problem, Remark, Step};
use crate::program::*;

/// Walks every program once. A loop body that is left holding another set of mutexes than it was entered with cannot
/// be entered twice in that state: it takes a mutex it holds, or releases one it does not. So one pass decides.
pub(super) fn check(w: &Workload, remarks: &mut Vec<Remark>) -> Result<(), Problem> {
    for (spec, task) in w.tasks.iter().enumerate() {
        Walk { w, task, spec: spec as SpecId, held: BTreeSet::new(), changes: Vec::new(), remarks }.run()?;
    }
    Ok(())
}

struct Walk<'a> {
    w: &'a Workload,
    task: &'a TaskSpec,
    spec: SpecId,
    held: BTreeSet<ObjId>,
    /// Mutexes taken (true) and given up so far.
    changes: Vec<(ObjId, bool)>,
    remarks: &'a mut Vec<Remark>,
}

impl Walk<'_> {
    fn run(&mut self) -> Result<(), Problem> {
        // Changes before each loop around the step.
        let mut entered: Vec<usize> = Vec::new();
        let mut i = 0;
        while let Some(op) = self.task.program.get(i) {
            match op {
                Op::Exit => return Ok(()),
                Op::Loop { times: Some(0), end } => i = *end as usize - 1,
                Op::Loop { .. } => entered.push(self.changes.len()),
                Op::EndLoop { begin } => {
                    let before = entered.pop().unwrap_or_default();
                    let Op::Loop { times, .. } = self.task.program[*begin as usize] else { return Ok(()) };
                    if times != Some(1) {
                        self.check_next_round(before, *begin)?;
                    }
                    if times.is_none() {
                        return Ok(());
                    }
                }
                other => self.step(other, i as u32)?,
            }
            i += 1;
        }
        Ok(())
    }

    /// Checks that the body of the loop at `begin` may be entered again, by the lock changes since `before`.
    fn check_next_round(&mut self, before: usize, begin: u32) -> Result<(), Problem> {
        let mut net: BTreeMap<ObjId, i64> = BTreeMap::new();
        for (mutex, taken) in &self.changes[before..] {
            *net.entry(*mutex).or_default() += if *taken { 1 } else { -1 };
        }
        if let Some((lost, _)) = net.iter().find(|(_, n)| **n < 0) {
            return Err(self.not_held(begin, *lost, "releases, in every round of a loop,"));
        }
        if let Some((gained, _)) = net.iter().find(|(_, n)| **n > 0) {
            let gained = self.w.object_label(*gained);
            let message = format!("takes mutex {gained} again in the next round of a loop and waits for itself");
            self.remark(begin, message);
        }
        Ok(())
    }

    fn step(&mut self, op: &Op, at: u32) -> Result<(), Problem> {
        match op {
            Op::Lock(m) if self.held.contains(m) => {
                let m = self.w.object_label(*m);
                self.remark(at, format!("locks mutex {m}, which it holds, and waits for itself"));
            }
            Op::Lock(m) => {
                self.held.insert(*m);
                self.changes.push((*m, true));
            }
            Op::Unlock(m) if self.held.remove(m) => self.changes.push((*m, false)),
            Op::Unlock(m) => return Err(self.not_held(at, *m, "unlocks")),
            Op::CondWait { mutex: Some(m), .. } if !self.held.contains(m) => {
                return Err(self.not_held(at, *m, "waits with"));
            }
            _ => {}
        }
        Ok(())
    }

    fn not_held(&self, op: u32, object: ObjId, action: &'static str) -> Problem {
        let step = Step { spec: self.spec, op };
        Problem::NotHeld { task: self.task.name.clone(), step, object, action }
    }

    fn remark(&mut self, op: u32, message: String) {
        let step = Step { spec: self.spec, op };
        self.remarks.push(Remark::suspicious(step, self.task.name.clone(), message));
    }
}
