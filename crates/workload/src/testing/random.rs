//! Random numbers, and steps that involve no other thread.

use std::sync::Arc;

use fairground_machine::{CpuId, CpuMask};

use super::{deadlocking, finite};
use crate::program::*;

/// Draws workloads. The same seed gives the same workloads.
pub struct Random {
    state: u64,
}

impl Random {
    /// Equal seeds give equal numbers.
    pub fn new(seed: u64) -> Self {
        Random { state: seed }
    }

    /// The next 64 bits (splitmix64, Steele et al. 2014).
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is not 0.
    pub fn draw_below(&mut self, n: u64) -> u64 {
        self.bits() % n
    }

    /// A workload whose threads all exit, under any scheduler that keeps running what can run: 1 to 6 tasks that
    /// meet at pipes, sockets, mutexes, semaphores, barriers and futexes, in loops of a few rounds, with less than a
    /// second of work. `cpus`: CPUs of the machine, at least 1.
    pub fn workload(&mut self, cpus: usize) -> Workload {
        finite::workload(self, cpus)
    }

    /// A workload of bounded programs whose threads may wait for each other for ever. It lasts 100 ms.
    pub fn deadlocking_workload(&mut self, cpus: usize) -> Workload {
        deadlocking::workload(self, cpus)
    }

    /// A clock reading, a sample, or a critical section of the kernel.
    fn measure(&mut self) -> Op {
        let since = [Since::Birth, Since::Call, Since::Stamp(STAMP)][self.draw_below(3) as usize];
        match self.draw_below(6) {
            0 => Op::Stamp(STAMP),
            4 => Op::StampCall(STAMP),
            1 => Op::Sample { since, to: Report::Series(0) },
            2 => Op::Sample { since, to: Report::Tally(TALLY) },
            3 => Op::Conclude(TALLY),
            _ => Op::Serial {
                lock: TICKET,
                hold: Amount { base: self.draw_below(20_000), jitter: self.draw_below(1000) },
                lines: self.draw_below(8) as u32,
            },
        }
    }

    /// A step that a thread does by itself, with [`common_objects`].
    pub(super) fn step(&mut self, cpus: usize) -> Op {
        const US: u64 = 1000;
        let amount =
            |r: &mut Self, max_us: u64| Amount { base: r.draw_below(max_us) * US, jitter: r.draw_below(max_us) };
        match self.draw_below(11) {
            0..=3 => Op::Run(amount(self, 500)),
            4 => Op::RunWall(amount(self, 100)),
            5 | 6 => Op::Sleep(amount(self, 500)),
            7 => Op::TimerWait {
                timer: TIMER,
                period_ns: (1 + self.draw_below(1000)) * US,
                relative: self.draw_below(2) == 0,
            },
            8 => match self.draw_below(4) {
                0 => Op::SetAttr(self.attr()),
                1 => Op::SetAffinity(self.cpus(cpus)),
                2 => Op::DrawUclampMin(self.clamp_odds()),
                _ => Op::Exec,
            },
            9 => self.measure(),
            _ => Op::Yield,
        }
    }

    /// Floors that every ceiling of [`Self::attr`] allows.
    fn clamp_odds(&mut self) -> Arc<[ClampOdds]> {
        let one = |r: &mut Self| ClampOdds {
            uclamp_min: r.draw_below(u64::from(MOST_DRAWN) + 1) as u16,
            weight: 1 + r.draw_below(9) as u32,
        };
        (0..1 + self.draw_below(4)).map(|_| one(self)).collect()
    }

    pub(super) fn attr(&mut self) -> SchedAttr {
        let policy = [Policy::Other, Policy::Other, Policy::Batch, Policy::Idle][self.draw_below(4) as usize];
        let uclamp_min = self.draw_below(1025) as u16;
        let least_max = uclamp_min.max(MOST_DRAWN);
        let uclamp_max = least_max + self.draw_below(u64::from(1025 - least_max)) as u16;
        let nice = self.draw_below(40) as i8 - 20;
        let slice_ns = [0, 0, MIN_SLICE_NS, 3_000_000, MAX_SLICE_NS][self.draw_below(5) as usize];
        SchedAttr { policy, nice, rt_priority: 0, uclamp_min, uclamp_max, slice_ns }
    }

    /// Some of the CPUs, at least one.
    pub(super) fn cpus(&mut self, cpus: usize) -> CpuMask {
        let mut mask: CpuMask = (0..cpus as CpuId).filter(|_| self.draw_below(2) == 0).collect();
        mask.set(self.draw_below(cpus as u64) as CpuId);
        mask
    }

    /// A template for `program`, mostly plain.
    pub(super) fn spec(&mut self, name: String, program: Vec<Op>, cpus: usize) -> TaskSpec {
        let plain = self.draw_below(3) > 0;
        TaskSpec {
            attr: if plain { SchedAttr::default() } else { self.attr() },
            affinity: (!plain).then(|| self.cpus(cpus)),
            timer_slack_ns: [0, 1, TIMER_SLACK_NS, 1_000_000][self.draw_below(4) as usize],
            ..TaskSpec::new(&name, self.draw_below(64) as u32, program.into())
        }
    }

    /// A workload that starts one thread of each template in `started`.
    pub(super) fn assemble(
        &mut self,
        objects: Vec<Object>,
        tasks: Vec<TaskSpec>,
        started: u32,
        cpus: usize,
    ) -> Workload {
        let start =
            (0..started).map(|spec| Start { spec, count: 1, cpu: self.draw_below(cpus as u64) as CpuId, process: 0 });
        Workload {
            name: "random".into(),
            objects,
            object_names: Vec::new(),
            tasks,
            start: start.collect(),
            irqs: Vec::new(),
            frequency_caps: Vec::new(),
            offline: Vec::new(),
            groups: Vec::new(),
            duration_ns: None,
            warmup_ns: 0,
            score: Score::None,
            series: vec![Series {
                name: "sample".into(),
                meaning: "whatever was measured".into(),
                tick_ns: 1 + self.draw_below(2000) as u32,
                unit: TimeUnit::Us,
                mean: true,
                permilles: vec![500, 999],
                deadlines: Vec::new(),
            }],
        }
    }
}

/// Greatest floor that is drawn while a thread runs.
const MOST_DRAWN: u16 = 256;

const TIMER: ObjId = 0;
const STAMP: ObjId = 1;
const TALLY: ObjId = 2;
const TICKET: ObjId = 3;

/// The objects every random workload begins with; whether the timer is `per_task`.
pub(super) fn common_objects(per_task: bool) -> Vec<Object> {
    let mut objects = vec![Object::Stamp; 4];
    objects[TIMER as usize] = Object::Timer { per_task };
    objects[TALLY as usize] = Object::Tally { series: 0 };
    objects[TICKET as usize] = Object::Ticket;
    objects
}

/// Ends the loop that was opened with `Op::Loop` at `begin`, or removes it if it is empty.
pub(super) fn close_loop(program: &mut Vec<Op>, begin: usize) {
    if program.len() == begin + 1 {
        program.pop();
        return;
    }
    program.push(Op::EndLoop { begin: begin as u32 });
    let after = program.len() as u32;
    if let Op::Loop { end, .. } = &mut program[begin] {
        *end = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::small_machine;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_drawn_is_valid_and_repeats(seed: u64, cpus in 1usize..9) {
            let machine = small_machine(cpus);
            let (mut a, mut b) = (Random::new(seed), Random::new(seed));
            let finite = a.workload(cpus);
            prop_assert_eq!(finite.validate(&machine).unwrap(), []);
            prop_assert_eq!(&finite, &b.workload(cpus));
            let other = a.deadlocking_workload(cpus);
            prop_assert!(other.validate(&machine).is_ok(), "{:?}", other.validate(&machine));
            prop_assert_eq!(&other, &b.deadlocking_workload(cpus));
            for op in finite.tasks.iter().chain(&other.tasks).flat_map(|t| t.program.iter()) {
                let endless = matches!(op, Op::Loop { times: None, .. });
                prop_assert!(!endless);
            }
        }

        #[test]
        fn finite_workloads_finish(seed: u64) {
            finish(&Random::new(seed).workload(4));
        }
    }

    #[test]
    fn every_kind_of_meeting_is_drawn() {
        let mut r = Random::new(1);
        let all: Vec<Op> = (0..200).flat_map(|_| r.workload(4).tasks).flat_map(|t| t.program.to_vec()).collect();
        let has = |f: fn(&Op) -> bool| assert!(all.iter().any(f));
        has(|o| matches!(o, Op::PipeRead { .. }));
        has(|o| matches!(o, Op::SockRecv { .. }));
        has(|o| matches!(o, Op::SemWait(_)));
        has(|o| matches!(o, Op::BarrierWait(_)));
        has(|o| matches!(o, Op::FutexWait { .. }));
        has(|o| matches!(o, Op::Lock(_)));
        has(|o| matches!(o, Op::WaitChildren));
        has(|o| matches!(o, Op::WaitChild));
        has(|o| matches!(o, Op::Poll(_)));
        has(|o| matches!(o, Op::Enlist(_)));
        has(|o| matches!(o, Op::Sample { to: Report::Tally(_), .. }));
        has(|o| matches!(o, Op::Serial { .. }));
        has(|o| matches!(o, Op::StampCall(_)));
        has(|o| matches!(o, Op::DrawUclampMin(_)));
        has(|o| matches!(o, Op::Loop { .. }));
    }

    /// Where a hand-made run stands. Children are ignored: they share no object with others.
    struct HandRun<'a> {
        w: &'a Workload,
        /// By object: bytes in a pipe or socket, count, or value.
        level: Vec<i64>,
        /// By object: who holds the mutex, and who is at the barrier.
        here: Vec<Vec<usize>>,
        /// By thread: the next step, and the rounds left of each loop around it.
        at: Vec<usize>,
        rounds: Vec<Vec<u64>>,
    }

    /// Runs the started threads in turn, one step each and without time, until all have exited.
    fn finish(w: &Workload) {
        let (objects, threads) = (w.objects.len(), w.start.len());
        let level = vec![0; objects];
        let mut play =
            HandRun { w, level, here: vec![vec![]; objects], at: vec![0; threads], rounds: vec![vec![]; threads] };
        let length = |t: usize| w.tasks[w.start[t].spec as usize].program.len();
        while (0..threads).any(|t| play.at[t] < length(t)) {
            let before = (play.at.clone(), play.rounds.clone(), play.level.clone());
            (0..threads).for_each(|t| play.turn(t));
            assert!(
                before != (play.at.clone(), play.rounds.clone(), play.level.clone()),
                "deadlock at {:?} in {w:#?}",
                play.at
            );
        }
    }

    impl HandRun<'_> {
        fn turn(&mut self, t: usize) {
            let program = self.w.tasks[self.w.start[t].spec as usize].program.clone();
            let goes_on = match program.get(self.at[t]) {
                None => false,
                Some(Op::BarrierWait(b)) => return self.barrier(t, *b as usize),
                Some(Op::Loop { times, .. }) => {
                    self.rounds[t].extend(times);
                    true
                }
                Some(Op::EndLoop { begin }) => {
                    let left = self.rounds[t].pop().unwrap() - 1;
                    if left > 0 {
                        self.rounds[t].push(left);
                        self.at[t] = *begin as usize;
                    }
                    true
                }
                Some(op) => self.meet(t, op),
            };
            self.at[t] += usize::from(goes_on);
        }

        /// Whether the step could be done. Pipes take one message at a time, the hardest case.
        fn meet(&mut self, t: usize, op: &Op) -> bool {
            match op {
                Op::PipeWrite { pipe: o, bytes } | Op::SockSend { sock: o, bytes } => {
                    let level = &mut self.level[*o as usize];
                    let empty = *level == 0;
                    *level = if empty { (*bytes).into() } else { *level };
                    empty
                }
                Op::PipeRead { pipe: o, bytes } | Op::SockRecv { sock: o, bytes } => {
                    let got = std::mem::take(&mut self.level[*o as usize]);
                    assert!(got == 0 || got == i64::from(*bytes));
                    got > 0
                }
                Op::Poll(o) => self.level[*o as usize] > 0,
                // On the list is 1, called is 2.
                Op::Enlist(r) => {
                    let level = &mut self.level[*r as usize];
                    let called = *level == 2;
                    *level = i64::from(!called);
                    called
                }
                Op::AwaitListed(r) => self.level[*r as usize] > 0,
                Op::CallListed(r) => {
                    let listed = self.level[*r as usize] == 1;
                    self.level[*r as usize] += i64::from(listed);
                    true
                }
                Op::SemPost(s) => {
                    self.level[*s as usize] += 1;
                    true
                }
                Op::SemWait(s) => {
                    let free = self.level[*s as usize] > 0;
                    self.level[*s as usize] -= i64::from(free);
                    free
                }
                Op::FutexStore { futex, value } => {
                    self.level[*futex as usize] = (*value).into();
                    true
                }
                Op::FutexWait { futex, expected } => self.level[*futex as usize] != i64::from(*expected),
                Op::Lock(m) => {
                    let free = self.here[*m as usize].is_empty();
                    if free {
                        self.here[*m as usize].push(t);
                    }
                    free
                }
                Op::Unlock(m) => {
                    assert_eq!(self.here[*m as usize].pop(), Some(t));
                    true
                }
                _ => true,
            }
        }

        fn barrier(&mut self, t: usize, barrier: usize) {
            let Object::Barrier { parties } = self.w.objects[barrier] else { panic!("no barrier") };
            let waiting = &mut self.here[barrier];
            if !waiting.contains(&t) {
                waiting.push(t);
            }
            if waiting.len() == parties as usize {
                waiting.drain(..).for_each(|released| self.at[released] += 1);
            }
        }
    }
}
