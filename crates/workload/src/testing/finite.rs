//! Random workloads that always finish.
//!
//! Meetings are drawn in one global order, and each is appended to the programs of all who take part. The first
//! meeting in that order that is not over can always go on: everything before it is over, so all who take part are
//! there, its pipe is empty, its semaphore is its own. Loops keep the order: a block of meetings is looped by all who
//! take part the same number of times. No thread waits while it holds a mutex.

use std::collections::BTreeMap;

use super::random::{close_loop, common_objects, Random};
use crate::program::*;

/// Deepest nesting of loops.
const DEPTH: u32 = 3;

struct Draft<'a> {
    random: &'a mut Random,
    cpus: usize,
    objects: Vec<Object>,
    /// Objects that one ordered pair of tasks, or one set of tasks, has for itself.
    shared: BTreeMap<(u8, Vec<usize>), ObjId>,
    programs: Vec<Vec<Op>>,
}

pub(super) fn workload(random: &mut Random, cpus: usize) -> Workload {
    let tasks = 1 + random.draw_below(6) as usize;
    let mut draft = Draft {
        cpus,
        objects: common_objects(random.draw_below(2) == 0),
        shared: BTreeMap::new(),
        programs: vec![Vec::new(); tasks],
        random,
    };
    draft.block(DEPTH);
    let Draft { random, objects, programs, .. } = draft;
    let mut specs: Vec<TaskSpec> =
        programs.into_iter().enumerate().map(|(i, p)| random.spec(format!("task-{i}"), p, cpus)).collect();
    // The child that any of them may spawn: it shares no object with others.
    let child = (0..1 + random.draw_below(4)).map(|_| random.step(cpus)).collect();
    specs.push(random.spec("child".into(), child, cpus));
    random.assemble(objects, specs, tasks as u32, cpus)
}

impl Draft<'_> {
    fn block(&mut self, depth: u32) {
        for _ in 0..1 + self.random.draw_below(8) {
            match self.random.draw_below(8) {
                0 | 1 if depth > 0 => self.looped(depth - 1),
                2..=4 => {
                    let task = self.task();
                    let step = self.random.step(self.cpus);
                    self.programs[task].push(step);
                }
                5 => self.alone(),
                _ => self.meeting(),
            }
        }
    }

    fn looped(&mut self, depth: u32) {
        let times = Some(1 + self.random.draw_below(4));
        let begins: Vec<usize> = self.programs.iter().map(Vec::len).collect();
        self.programs.iter_mut().for_each(|p| p.push(Op::Loop { times, end: 0 }));
        self.block(depth);
        self.programs.iter_mut().zip(begins).for_each(|(p, begin)| close_loop(p, begin));
    }

    fn task(&mut self) -> usize {
        self.random.draw_below(self.programs.len() as u64) as usize
    }

    /// The object of `kind` that belongs to exactly these tasks.
    fn object(&mut self, kind: u8, of: Vec<usize>, new: Object) -> ObjId {
        let next = self.objects.len() as ObjId;
        let id = *self.shared.entry((kind, of)).or_insert(next);
        if id == next {
            self.objects.push(new);
        }
        id
    }

    /// A critical section, or children that are waited for.
    fn alone(&mut self) {
        let task = self.task();
        if self.random.draw_below(4) == 0 {
            let (spec, count) = (self.programs.len() as SpecId, 1 + self.random.draw_below(3) as u32);
            let spawn = Op::Spawn { spec, count, thread: self.random.draw_below(2) == 0 };
            return self.programs[task].extend([spawn, Op::WaitChild, Op::WaitChildren]);
        }
        let first = self.random.draw_below(3) as usize;
        let nested = self.random.draw_below(2) == 0;
        // Mutexes belong to all, and are taken in rising order.
        let last = first + usize::from(nested);
        let mut order: Vec<ObjId> = (first..=last).map(|m| self.object(0, vec![m], Object::Mutex)).collect();
        order.sort();
        let inside = self.random.step(self.cpus);
        let program = &mut self.programs[task];
        program.extend(order.iter().map(|m| Op::Lock(*m)));
        program.push(inside);
        program.extend(order.iter().rev().map(|m| Op::Unlock(*m)));
    }

    /// Two tasks, or a set of them, meet.
    fn meeting(&mut self) {
        let (from, to) = (self.task(), self.task());
        if from == to {
            return self.barrier();
        }
        let pair = vec![from, to];
        let (give, take) = match self.random.draw_below(5) {
            0 => {
                let pipe = self.object(1, pair, Object::Pipe { slots: 1 + from as u32 });
                let bytes = 1 + self.random.draw_below(4096) as u32;
                (vec![Op::PipeWrite { pipe, bytes }], vec![Op::Poll(pipe), Op::PipeRead { pipe, bytes }])
            }
            1 => {
                let sock = self.object(2, pair, Object::Socket { sndbuf: 8192, overhead: 768 });
                let bytes = 1 + self.random.draw_below(4096) as u32;
                (vec![Op::SockSend { sock, bytes }], vec![Op::SockRecv { sock, bytes }])
            }
            2 => {
                let sem = self.object(3, pair, Object::Semaphore { value: 0 });
                (vec![Op::SemPost(sem)], vec![Op::SemWait(sem)])
            }
            3 => {
                let roster = self.object(6, pair, Object::Roster);
                (vec![Op::Enlist(roster)], vec![Op::AwaitListed(roster), Op::CallListed(roster)])
            }
            _ => {
                let futex = self.object(4, pair, Object::Futex { value: 0 });
                let give = vec![Op::FutexStore { futex, value: 1 }, Op::FutexWake { futex, count: 1 }];
                (give, vec![Op::FutexWait { futex, expected: 0 }])
            }
        };
        self.programs[from].extend(give);
        self.programs[to].extend(take);
    }

    /// A barrier of a random set, which it belongs to.
    fn barrier(&mut self) {
        let mut members: Vec<usize> = (0..self.programs.len()).filter(|_| self.random.draw_below(2) == 0).collect();
        if members.is_empty() {
            members.push(self.task());
        }
        let parties = members.len() as u32;
        let barrier = self.object(5, members.clone(), Object::Barrier { parties });
        members.iter().for_each(|m| self.programs[*m].push(Op::BarrierWait(barrier)));
    }
}
