//! The one event queue, in the order of (time, class, sequence of pushes), a total order.

use std::collections::VecDeque;

use fairground_machine::CpuId;

use crate::{Ipi, TaskId, Time};

/// An event of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EngineEvent {
    /// A CPU reaches the end of what it does (work, overhead, idle exit); void unless it is still due.
    Cpu(CpuId),
    Timer {
        cpu: CpuId,
        task: TaskId,
    },
    /// The scheduler's own timer; void if it was moved to later.
    SchedTimer(CpuId),
    Device(u32),
    /// A frequency domain reaches an operating point.
    Frequency {
        domain: u32,
        opp: u32,
    },
    /// A limit of a frequency domain comes or goes.
    Limits {
        domain: u32,
    },
    /// The clock of a frequency domain follows its limits.
    Reclock {
        domain: u32,
    },
    /// A step of the network of heat is over.
    Heat,
    /// The energy of rails is to be reported.
    EnergySample,
    /// CPUs of a span of the workload's are to go offline, or to come back.
    Hotplug {
        span: u32,
        online: bool,
    },
    /// The warm-up is over.
    WarmedUp,
    /// The initial threads come into being.
    Start,
    /// An inter-processor interrupt arrives; `polled`: the target spins in idle and sees it in memory.
    Ipi {
        to: CpuId,
        ipi: Ipi,
        polled: bool,
    },
    /// The periodic tick; void unless the CPU's tick is still set for this time.
    Tick(CpuId),
    Balance(CpuId),
}

impl EngineEvent {
    /// Order within an instant: work completion, timers, IPIs, wakes, ticks, balance. A wake seen by a polling CPU
    /// is the only wake that travels through the queue.
    #[inline]
    fn class(self) -> usize {
        match self {
            EngineEvent::Cpu(_) => 0,
            EngineEvent::Timer { .. }
            | EngineEvent::SchedTimer(_)
            | EngineEvent::Device(_)
            | EngineEvent::WarmedUp
            | EngineEvent::Start => 1,
            EngineEvent::Frequency { .. }
            | EngineEvent::Limits { .. }
            | EngineEvent::Reclock { .. }
            | EngineEvent::Heat
            | EngineEvent::EnergySample
            | EngineEvent::Hotplug { .. } => 1,
            EngineEvent::Ipi { polled: false, .. } => 2,
            EngineEvent::Ipi { polled: true, .. } => 3,
            EngineEvent::Tick(_) => 4,
            EngineEvent::Balance(_) => 5,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    time: Time,
    what: EngineEvent,
}

/// Classes of [`EngineEvent::class`].
const CLASSES: usize = 6;

/// A radix heap: events of later instants are in buckets by the highest bit in which their time differs from the
/// present instant. Time never goes back, so when an instant is over, only the lowest bucket in use has to be divided
/// again, and an event moves down a few times in its life.
///
/// Events of the same time are always in the same bucket, in the order in which they were pushed: no sequence number
/// is kept.
#[derive(Debug)]
pub(crate) struct Queue {
    /// The present instant. Nothing is pushed for a time before it.
    now: Time,
    /// The only event of the present instant, as most are; then `due` is empty.
    only: Option<EngineEvent>,
    /// Events of the present instant, by class.
    due: [VecDeque<EngineEvent>; CLASSES],
    /// The classes that have any: a bit each.
    due_classes: u32,
    /// By the highest bit of `time ^ now`.
    later: [Vec<Entry>; Time::BITS as usize],
    /// The buckets of `later` that have any: a bit each.
    used: u64,
}

impl Default for Queue {
    fn default() -> Self {
        let later = [const { Vec::new() }; Time::BITS as usize];
        Queue { now: 0, only: None, due: Default::default(), due_classes: 0, later, used: 0 }
    }
}

impl Queue {
    /// `time`: not before what [`Queue::next_time`] returned last.
    #[inline]
    pub(crate) fn push(&mut self, time: Time, what: EngineEvent) {
        debug_assert!(time >= self.now, "{what:?} at {time}, after {}", self.now);
        match (time ^ self.now).checked_ilog2() {
            Some(bit) => {
                self.used |= 1 << bit;
                self.later[bit as usize].push(Entry { time, what });
            }
            None => self.push_due(what),
        }
    }

    #[inline(never)]
    fn push_due(&mut self, what: EngineEvent) {
        for what in self.only.take().into_iter().chain([what]) {
            let class = what.class();
            self.due_classes |= 1 << class;
            self.due[class].push_back(what);
        }
    }

    /// Replaces events by others of the same class, at the same times and in the same order.
    pub(crate) fn replace(&mut self, with: impl Fn(EngineEvent) -> EngineEvent) {
        self.only = self.only.map(&with);
        self.due.iter_mut().flatten().for_each(|what| *what = with(*what));
        self.later.iter_mut().flatten().for_each(|entry| entry.what = with(entry.what));
    }

    /// Goes on to the instant of the first event, and returns it.
    #[inline]
    pub(crate) fn next_time(&mut self) -> Option<Time> {
        (self.has_due() || self.advance()).then_some(self.now)
    }

    /// Makes the first instant of `later` the present one; false if there is none.
    fn advance(&mut self) -> bool {
        let bit = self.used.trailing_zeros() as usize;
        if bit >= self.later.len() {
            return false;
        }
        self.used &= self.used - 1;
        let (lower, bucket) = self.later.split_at_mut(bit);
        let bucket = &mut bucket[0];
        if let [entry] = bucket[..] {
            bucket.clear();
            (self.now, self.only) = (entry.time, Some(entry.what));
            return true;
        }
        self.now = bucket.iter().fold(Time::MAX, |first, entry| first.min(entry.time));
        let mut nr_due = 0;
        for i in 0..bucket.len() {
            let entry = bucket[i];
            match (entry.time ^ self.now).checked_ilog2() {
                Some(bit) => {
                    self.used |= 1 << bit;
                    lower[bit as usize].push(entry);
                }
                // They stay at the front of the bucket, in their order.
                None => {
                    bucket[nr_due] = entry;
                    nr_due += 1;
                }
            }
        }
        if nr_due == 1 {
            self.only = Some(bucket[0].what);
            bucket.clear();
        } else {
            self.divide(bit, nr_due);
        }
        true
    }

    /// Events of the present instant are the first `nr` of a bucket.
    #[cold]
    fn divide(&mut self, bit: usize, nr: usize) {
        let mut bucket = std::mem::take(&mut self.later[bit]);
        bucket.drain(..).take(nr).for_each(|entry| self.push_due(entry.what));
        // Its memory is used again.
        self.later[bit] = bucket;
    }

    /// Whether an event of the present instant is left.
    #[inline]
    pub(crate) fn has_due(&self) -> bool {
        self.only.is_some() || self.due_classes != 0
    }

    /// The next event of the present instant.
    #[inline]
    pub(crate) fn pop_due(&mut self) -> Option<EngineEvent> {
        if self.due_classes == 0 {
            return self.only.take();
        }
        let class = self.due_classes.trailing_zeros() as usize;
        let what = self.due[class].pop_front();
        if self.due[class].is_empty() {
            self.due_classes &= self.due_classes - 1;
        }
        what
    }

    /// What comes next after the event just taken, unless something is pushed that comes before it; `None` if that
    /// takes long to find.
    pub(crate) fn likely_next(&self) -> Option<EngineEvent> {
        if self.due_classes != 0 {
            return self.due[self.due_classes.trailing_zeros() as usize].front().copied();
        }
        let lowest = self.later.get(self.used.trailing_zeros() as usize)?;
        let near = lowest.len() <= LOOK_AHEAD_MAX;
        near.then(|| lowest.iter().min_by_key(|entry| entry.time))?.map(|entry| entry.what)
    }
}

/// Events among which [`Queue::likely_next`] looks for the first.
const LOOK_AHEAD_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_instant_is_ordered_by_class_then_by_sequence() {
        let mut q = Queue::default();
        let expected = [
            EngineEvent::Cpu(3),
            EngineEvent::Cpu(1),
            EngineEvent::Timer { cpu: 0, task: 0 },
            EngineEvent::Ipi { to: 0, ipi: Ipi::Resched, polled: false },
            EngineEvent::Ipi { to: 0, ipi: Ipi::Resched, polled: true },
            EngineEvent::Tick(0),
            EngineEvent::Balance(0),
        ];
        q.push(6, EngineEvent::Cpu(9));
        for i in [6, 5, 2, 0, 4, 3, 1] {
            q.push(5, expected[i]);
        }
        assert_eq!(q.next_time(), Some(5));
        for what in expected {
            assert_eq!(q.next_time(), Some(5));
            assert_eq!(q.pop_due(), Some(what));
        }
        assert_eq!(q.pop_due(), None);
        assert_eq!(q.likely_next(), Some(EngineEvent::Cpu(9)));
        assert_eq!(q.next_time(), Some(6));
    }

    /// What the queue does, done by looking at everything.
    #[derive(Default)]
    struct Plain(Vec<(Time, u64, u32)>, u32);

    impl Plain {
        fn push(&mut self, time: Time, class: u64) -> u32 {
            self.1 += 1;
            self.0.push((time, class, self.1));
            self.1
        }

        fn pop(&mut self) -> Option<(Time, u64, u32)> {
            let first = *self.0.iter().min()?;
            self.0.retain(|e| *e != first);
            Some(first)
        }
    }

    #[test]
    fn whatever_the_order_of_pushes_and_pops_the_first_comes_out() {
        let (mut q, mut plain) = (Queue::default(), Plain::default());
        let mut now = 0;
        for round in 0..20_000u64 {
            let draw = |n: u64, of: u64| crate::draw::draw(round, crate::draw::Purpose::Program, n, 0) % of;
            // Fills up to hundreds, runs dry, and so on.
            let pushes = draw(0, if round % 2_000 < 1_000 { 4 } else { 3 });
            for n in 0..pushes {
                let time = now + draw(2 * n + 1, 50);
                let (tick, seq) = (draw(2 * n + 2, 2) == 0, plain.1 + 1);
                q.push(time, if tick { EngineEvent::Tick(seq) } else { EngineEvent::Cpu(seq) });
                plain.push(time, if tick { 4 } else { 0 });
            }
            for _ in 0..1 + draw(9, 2) {
                let expected = plain.pop();
                assert_eq!(q.next_time(), expected.map(|e| e.0));
                let Some((time, class, seq)) = expected else { continue };
                now = time;
                let expected = if class == 4 { EngineEvent::Tick(seq) } else { EngineEvent::Cpu(seq) };
                assert_eq!(q.pop_due(), Some(expected));
            }
        }
    }
}
