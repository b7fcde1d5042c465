//! The one event queue: a heap keyed (time, class, sequence), a total order.

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
    fn class(self) -> u64 {
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
    /// Class in the top byte, sequence below: 2^56 events are out of reach.
    key: u64,
    what: EngineEvent,
}

impl Entry {
    const NEVER: Entry = Entry { time: Time::MAX, key: u64::MAX, what: EngineEvent::Start };

    /// Time and key as one number: the host cannot predict which of two comes first, so a branch costs more than the
    /// comparison.
    fn rank(&self) -> u128 {
        u128::from(self.time) << 64 | u128::from(self.key)
    }
}

/// Children of an entry: half the levels of a binary heap, and the comparisons on one level do not wait for each other.
const ARITY: usize = 4;

/// A heap in which the children of entry i are the [`ARITY`] entries from `ARITY * i + 1` on.
///
/// Most events beget one that is not far off. So the place of an event that was taken stays open until the next push,
/// which then goes there and seldom sinks far; or until the next lookup, and then the last entry is moved up.
#[derive(Debug)]
pub(crate) struct Queue {
    /// The entries, then as many [`Entry::NEVER`] as complete the children of any of them.
    heap: Vec<Entry>,
    /// Whether the first entry was taken and its place is open.
    open: bool,
    seq: u64,
}

impl Default for Queue {
    fn default() -> Self {
        Queue { heap: vec![Entry::NEVER; ARITY], open: false, seq: 0 }
    }
}

impl Queue {
    /// Inlined: an [`EngineEvent`] that is passed on is put together in memory first, and reading it back waits.
    #[inline(always)]
    pub(crate) fn push(&mut self, time: Time, what: EngineEvent) {
        self.seq += 1;
        let entry = Entry { time, key: what.class() << 56 | self.seq, what };
        if std::mem::take(&mut self.open) {
            self.sink(entry);
        } else {
            self.rise(entry);
        }
    }

    /// Replaces entries by others of the same class, at the same times and in the same order.
    pub(crate) fn replace(&mut self, with: impl Fn(EngineEvent) -> EngineEvent) {
        self.close();
        let len = self.len();
        self.heap[..len].iter_mut().for_each(|entry| entry.what = with(entry.what));
    }

    pub(crate) fn next_time(&mut self) -> Option<Time> {
        self.close();
        (self.len() > 0).then(|| self.heap[0].time)
    }

    /// The event whose time [`Queue::next_time`] returned.
    #[inline]
    pub(crate) fn pop(&mut self) -> EngineEvent {
        debug_assert!(!self.open && self.len() > 0);
        self.open = true;
        self.heap[0].what
    }

    /// When something comes after the event just taken; [`Time::MAX`]: never.
    #[inline]
    pub(crate) fn next_of_others(&self) -> Time {
        match self.heap.first_chunk() {
            Some([_, a, b, c, d]) if self.open => a.time.min(b.time).min(c.time.min(d.time)),
            _ => self.heap[0].time,
        }
    }

    /// What comes next after the event just taken, unless something is pushed that comes before it.
    pub(crate) fn likely_next(&self) -> Option<EngineEvent> {
        let children = self.heap.get(1..=ARITY)?;
        children.iter().min_by_key(|entry| entry.time).map(|entry| entry.what)
    }

    /// Entries, with the open place.
    fn len(&self) -> usize {
        self.heap.len() - ARITY
    }

    /// Fills the open place.
    fn close(&mut self) {
        if std::mem::take(&mut self.open) {
            let last = self.len() - 1;
            let entry = std::mem::replace(&mut self.heap[last], Entry::NEVER);
            self.heap.pop();
            if last > 0 {
                self.sink(entry);
            }
        }
    }

    /// Puts `entry` at the root, or below those that come before it.
    #[inline(never)]
    fn sink(&mut self, entry: Entry) {
        let (mut at, rank, len) = (0, entry.rank(), self.len());
        while ARITY * at + 1 < len {
            let first = ARITY * at + 1;
            let Some(&[a, b, c, d]) = self.heap[first..].first_chunk::<ARITY>() else { break };
            let left = if b.rank() < a.rank() { (1, b.rank()) } else { (0, a.rank()) };
            let right = if d.rank() < c.rank() { (3, d.rank()) } else { (2, c.rank()) };
            let (child, least) = if right.1 < left.1 { right } else { left };
            if rank < least {
                break;
            }
            self.heap[at] = self.heap[first + child];
            at = first + child;
        }
        self.heap[at] = entry;
    }

    /// Puts `entry` into a new last place, or above those that come after it.
    #[inline(never)]
    fn rise(&mut self, entry: Entry) {
        self.heap.push(Entry::NEVER);
        let (mut at, rank) = (self.len() - 1, entry.rank());
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if self.heap[parent].rank() < rank {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = entry;
    }
}

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
            assert_eq!(q.pop(), what);
        }
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
                assert_eq!(q.pop(), if class == 4 { EngineEvent::Tick(seq) } else { EngineEvent::Cpu(seq) });
            }
        }
    }
}
