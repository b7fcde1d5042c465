//! Finds deadlocks: threads that wait for ever because their wakers also wait, or never reach the wakeup.
//!
//! Programs are followed from their beginning as far as possible: past a wait once a thread whose program was
//! followed that far does what ends it. Where no program can be followed any further, those that stand at a wait stand
//! there for ever. What is not known before a run (how often a signal is lost, who gets a lock first) is taken to go
//! well, so that no thread is reported as stuck that is not.

use std::collections::BTreeSet;

use super::spawns::Population;
use super::Step;
use crate::program::*;

/// Where threads stand for ever, by object: the first step, and how many threads.
pub(super) fn find(w: &Workload, population: &Population) -> Vec<Option<(Step, u64)>> {
    let mut walks = Walks::new(w, population);
    while let Some(spec) = walks.ready.pop() {
        walks.follow(spec);
    }
    walks.parked.iter().map(|parked| walks.first_of(parked)).collect()
}

/// Who has done at an object what ends waits there.
#[derive(Clone, Copy, Default)]
struct Wakers {
    one: Option<SpecId>,
    others: bool,
}

struct Walks<'a> {
    w: &'a Workload,
    population: &'a Population,
    /// The step each template has come to.
    at: Vec<usize>,
    /// Templates to be followed.
    ready: Vec<SpecId>,
    /// Templates of which there are threads by now.
    born: Vec<bool>,
    wakers: Vec<Wakers>,
    /// Templates that have come to a barrier, by object.
    there: Vec<BTreeSet<SpecId>>,
    arrived: Vec<u64>,
    /// Templates that stand at an object.
    parked: Vec<Vec<SpecId>>,
}

impl<'a> Walks<'a> {
    fn new(w: &'a Workload, population: &'a Population) -> Self {
        let nr_objects = w.objects.len();
        let mut walks = Walks {
            w,
            population,
            at: vec![0; w.tasks.len()],
            ready: Vec::new(),
            born: vec![false; w.tasks.len()],
            wakers: vec![Wakers::default(); nr_objects],
            there: vec![BTreeSet::new(); nr_objects],
            arrived: vec![0; nr_objects],
            parked: vec![Vec::new(); nr_objects],
        };
        w.irqs.iter().filter_map(|irq| irq.posts).for_each(|semaphore| walks.wakes(semaphore, SpecId::MAX));
        w.start.iter().filter(|s| s.count > 0).for_each(|s| walks.is_born(s.spec));
        walks
    }

    fn is_born(&mut self, spec: SpecId) {
        if !std::mem::replace(&mut self.born[spec as usize], true) {
            self.ready.push(spec);
        }
    }

    fn wakes(&mut self, object: ObjId, spec: SpecId) {
        let wakers = &mut self.wakers[object as usize];
        match wakers.one {
            None => wakers.one = Some(spec),
            Some(one) => wakers.others |= one != spec,
        }
        self.look_again(object);
    }

    fn look_again(&mut self, object: ObjId) {
        let parked = std::mem::take(&mut self.parked[object as usize]);
        self.ready.extend(parked);
    }

    /// Follows a template to its end, or to a wait that nothing known so far ends.
    fn follow(&mut self, spec: SpecId) {
        let program = &self.w.tasks[spec as usize].program;
        while let Some(op) = program.get(self.at[spec as usize]) {
            let mut next = self.at[spec as usize] + 1;
            match op {
                Op::Exit => return,
                Op::Loop { times: Some(0), end } => next = *end as usize,
                Op::EndLoop { begin } if matches!(program[*begin as usize], Op::Loop { times: None, .. }) => return,
                _ => self.apply_effect(op, spec),
            }
            if let Some(object) = self.stops_at(op, spec) {
                return self.parked[object as usize].push(spec);
            }
            self.at[spec as usize] = next;
        }
    }

    /// What a step means for others.
    fn apply_effect(&mut self, op: &Op, spec: SpecId) {
        match *op {
            Op::Signal(o) | Op::Broadcast(o) | Op::SemPost(o) => self.wakes(o, spec),
            Op::PipeWrite { pipe: o, .. } | Op::SockSend { sock: o, .. } => self.wakes(o, spec),
            Op::Spawn { spec: child, count, .. } if count > 0 => self.is_born(child),
            Op::BarrierWait(o) if self.there[o as usize].insert(spec) => {
                self.arrived[o as usize] =
                    self.arrived[o as usize].saturating_add(self.population.threads[spec as usize]);
                if self.is_full(o) {
                    self.look_again(o);
                }
            }
            _ => {}
        }
    }

    /// The object at which the template stands for all that is known so far.
    fn stops_at(&self, op: &Op, spec: SpecId) -> Option<ObjId> {
        match *op {
            Op::CondWait { cond: o, .. } => Some(o).filter(|_| !self.is_woken_by_another(o, spec)),
            Op::SemWait(o) => Some(o).filter(|_| !self.is_posted(o)),
            Op::PipeRead { pipe: o, .. } | Op::SockRecv { sock: o, .. } | Op::Poll(o) => {
                Some(o).filter(|_| self.wakers[o as usize].one.is_none())
            }
            Op::BarrierWait(o) => Some(o).filter(|_| !self.is_full(o)),
            _ => None,
        }
    }

    /// A signal has no memory: one's own comes too early.
    fn is_woken_by_another(&self, cond: ObjId, spec: SpecId) -> bool {
        let Wakers { one, others } = self.wakers[cond as usize];
        others || one.is_some_and(|one| one != spec || self.population.threads[spec as usize] > 1)
    }

    fn is_posted(&self, semaphore: ObjId) -> bool {
        let full = matches!(self.w.objects[semaphore as usize], Object::Semaphore { value } if value > 0);
        full || self.wakers[semaphore as usize].one.is_some()
    }

    fn is_full(&self, barrier: ObjId) -> bool {
        let Object::Barrier { parties } = self.w.objects[barrier as usize] else { return true };
        self.arrived[barrier as usize] >= parties.into()
    }

    /// The first step, by template, of those who stand at an object, and how many threads they are. Daemons may stand
    /// there: the run does not wait for them.
    fn first_of(&self, parked: &[SpecId]) -> Option<(Step, u64)> {
        let waited_for = || parked.iter().copied().filter(|s| !self.w.tasks[*s as usize].daemon);
        let spec = waited_for().min()?;
        let threads = waited_for().fold(0u64, |sum, s| sum.saturating_add(self.population.threads[s as usize]));
        Some((Step { spec, op: self.at[spec as usize] as u32 }, threads))
    }
}
