//! The one event queue: a binary heap keyed (time, class, sequence), a total order.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use fairground_machine::CpuId;

use crate::{Ipi, TaskId, Time};

/// What is to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A CPU reaches the end of what it does (work, overhead, idle exit); void unless it is still due.
    Cpu(CpuId),
    /// A sleep ends.
    Timer { cpu: CpuId, task: TaskId },
    /// The scheduler's own timer; void if it was moved to later.
    SchedTimer(CpuId),
    /// A device interrupts.
    Device(u32),
    /// A frequency domain reaches an operating point.
    Frequency { domain: u32, opp: u32 },
    /// A limit of a frequency domain comes or goes.
    Limits { domain: u32 },
    /// The clock of a frequency domain follows its limits.
    Reclock { domain: u32 },
    /// A step of the network of heat is over.
    Heat,
    /// The power of rails is to be reported.
    PowerSample,
    /// The warm-up is over.
    WarmedUp,
    /// The initial threads come into being.
    Start,
    /// An inter-processor interrupt arrives; `polled`: the target spins in idle and sees it in memory.
    Ipi { to: CpuId, ipi: Ipi, polled: bool },
    /// The periodic tick; void unless the CPU's tick is still set for this time.
    Tick(CpuId),
    /// The balance softirq.
    Balance(CpuId),
}

impl What {
    /// Order within an instant: work completion, timers, IPIs, wakes, ticks, balance. A wake seen by a polling CPU
    /// is the only wake that travels through the queue.
    fn class(self) -> u64 {
        match self {
            What::Cpu(_) => 0,
            What::Timer { .. } | What::SchedTimer(_) | What::Device(_) | What::WarmedUp | What::Start => 1,
            What::Frequency { .. } | What::Limits { .. } | What::Reclock { .. } | What::Heat | What::PowerSample => 1,
            What::Ipi { polled: false, .. } => 2,
            What::Ipi { polled: true, .. } => 3,
            What::Tick(_) => 4,
            What::Balance(_) => 5,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    time: Time,
    /// Class in the top byte, sequence below: 2^56 events are out of reach.
    key: u64,
    what: What,
}

impl Entry {
    /// Time and key as one number: which of two comes first is anybody's guess, so that a branch for it costs more than
    /// the comparison.
    fn rank(&self) -> u128 {
        u128::from(self.time) << 64 | u128::from(self.key)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    fn lt(&self, other: &Self) -> bool {
        other.rank() < self.rank()
    }

    fn le(&self, other: &Self) -> bool {
        other.rank() <= self.rank()
    }
}

/// Reversed: the standard heap gives the greatest first.
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        other.rank().cmp(&self.rank())
    }
}

#[derive(Debug, Default)]
pub(crate) struct Queue {
    heap: BinaryHeap<Entry>,
    seq: u64,
}

impl Queue {
    pub(crate) fn push(&mut self, time: Time, what: What) {
        self.seq += 1;
        self.heap.push(Entry { time, key: what.class() << 56 | self.seq, what });
    }

    pub(crate) fn next_time(&self) -> Option<Time> {
        self.heap.peek().map(|e| e.time)
    }

    /// The next event of the instant `now`.
    pub(crate) fn pop_at(&mut self, now: Time) -> Option<What> {
        if self.heap.peek()?.time != now {
            return None;
        }
        self.heap.pop().map(|e| e.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_instant_is_ordered_by_class_then_by_sequence() {
        let mut q = Queue::default();
        let expected = [
            What::Cpu(3),
            What::Cpu(1),
            What::Timer { cpu: 0, task: 0 },
            What::Ipi { to: 0, ipi: Ipi::Resched, polled: false },
            What::Ipi { to: 0, ipi: Ipi::Resched, polled: true },
            What::Tick(0),
            What::Balance(0),
        ];
        q.push(6, What::Cpu(9));
        for i in [6, 5, 2, 0, 4, 3, 1] {
            q.push(5, expected[i]);
        }
        assert_eq!(q.next_time(), Some(5));
        for what in expected {
            assert_eq!(q.pop_at(5), Some(what));
        }
        assert_eq!(q.pop_at(5), None);
    }
}
