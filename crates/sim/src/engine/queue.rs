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
    #[inline(always)]
    fn rank(&self) -> u128 {
        u128::from(self.time) << 64 | u128::from(self.key)
    }

    #[inline(always)]
    fn is_never(&self) -> bool {
        self.key == u64::MAX
    }
}

/// Children of an entry: half the levels of a binary heap, and the comparisons on one level do not wait for each other.
const ARITY: usize = 4;

/// The children of one entry, side by side in two cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(128))]
struct Children([Entry; ARITY]);

impl Children {
    const NONE: Children = Children([Entry::NEVER; ARITY]);

    /// Which of them comes first, and its rank.
    #[inline(always)]
    fn first(&self) -> (usize, u128) {
        let [a, b, c, d] = self.0.each_ref().map(Entry::rank);
        let left = if b < a { (1, b) } else { (0, a) };
        let right = if d < c { (3, d) } else { (2, c) };
        if right.1 < left.1 {
            right
        } else {
            left
        }
    }
}

/// A heap whose root has the number 0 and entry i the children [`ARITY`] x i + 1 and following; before it one entry that
/// comes first.
///
/// Most events beget one that comes before all others: that never enters the heap. The place of a root that was taken
/// stays open until the next push into the heap, which goes there and sinks; or until the next root is asked for, and
/// then the last entry is moved up.
#[derive(Debug)]
pub(crate) struct Queue {
    /// Comes before all of the heap; [`Entry::NEVER`]: the root does.
    front: Entry,
    root: Entry,
    /// Whether the root was taken and its place is open.
    open: bool,
    /// The rank of the first entry of the heap, of what is below an open root.
    least: u128,
    /// By entry; the last ones end with [`Entry::NEVER`].
    children: Vec<Children>,
    /// Entries of the heap, an open root included.
    len: usize,
    seq: u64,
}

impl Default for Queue {
    fn default() -> Self {
        let (front, root) = (Entry::NEVER, Entry::NEVER);
        Queue { front, root, open: false, least: root.rank(), children: Vec::new(), len: 0, seq: 0 }
    }
}

impl Queue {
    /// Inlined: an [`EngineEvent`] that is passed on is put together in memory first, and reading it back waits.
    #[inline(always)]
    pub(crate) fn push(&mut self, time: Time, what: EngineEvent) {
        self.seq += 1;
        let entry = Entry { time, key: what.class() << 56 | self.seq, what };
        let rank = entry.rank();
        if rank >= self.least || rank >= self.front.rank() {
            return self.put_into_heap(entry);
        }
        let later = std::mem::replace(&mut self.front, entry);
        if !later.is_never() {
            self.put_into_heap(later);
        }
    }

    /// Replaces entries by others of the same class, at the same times and in the same order.
    pub(crate) fn replace(&mut self, with: impl Fn(EngineEvent) -> EngineEvent) {
        self.front.what = with(self.front.what);
        self.root.what = with(self.root.what);
        self.children.iter_mut().flat_map(|of| &mut of.0).for_each(|entry| entry.what = with(entry.what));
    }

    #[inline]
    pub(crate) fn next_time(&mut self) -> Option<Time> {
        if !self.front.is_never() {
            return Some(self.front.time);
        }
        if self.open {
            self.close();
        }
        (self.len > 0).then_some(self.root.time)
    }

    /// The event whose time [`Queue::next_time`] returned.
    #[inline]
    pub(crate) fn pop(&mut self) -> EngineEvent {
        if !self.front.is_never() {
            return std::mem::replace(&mut self.front, Entry::NEVER).what;
        }
        debug_assert!(!self.open && self.len > 0);
        self.open = true;
        self.least = self.children.first().map_or(u128::MAX, |of_root| of_root.first().1);
        self.root.what
    }

    /// When something comes after the event just taken; [`Time::MAX`]: never.
    #[inline]
    pub(crate) fn next_of_others(&self) -> Time {
        self.front.time.min((self.least >> 64) as Time)
    }

    /// What comes next after the event just taken, unless something is pushed that comes before it.
    pub(crate) fn likely_next(&self) -> Option<EngineEvent> {
        if !self.front.is_never() {
            return Some(self.front.what);
        }
        if !self.open {
            return (self.len > 0).then_some(self.root.what);
        }
        let Children(entries) = self.children.first()?;
        entries.iter().min_by_key(|entry| entry.rank()).filter(|entry| !entry.is_never()).map(|entry| entry.what)
    }

    #[inline(never)]
    fn put_into_heap(&mut self, entry: Entry) {
        if std::mem::take(&mut self.open) {
            self.sink(entry);
        } else {
            self.rise(entry);
        }
        self.least = self.root.rank();
    }

    /// Fills the open root.
    #[inline(never)]
    fn close(&mut self) {
        self.open = false;
        self.len -= 1;
        if self.len == 0 {
            self.root = Entry::NEVER;
        } else {
            let last = self.len;
            let entry = std::mem::replace(self.place(last), Entry::NEVER);
            if last % ARITY == 1 {
                self.children.pop();
            }
            self.sink(entry);
        }
        self.least = self.root.rank();
    }

    #[inline]
    fn place(&mut self, at: usize) -> &mut Entry {
        match at.checked_sub(1) {
            None => &mut self.root,
            Some(below) => &mut self.children[below / ARITY].0[below % ARITY],
        }
    }

    /// Puts `entry` at the root, or below those that come before it.
    fn sink(&mut self, entry: Entry) {
        let (mut at, rank) = (0, entry.rank());
        while let Some(of) = self.children.get(at) {
            let (child, least) = of.first();
            if rank < least {
                break;
            }
            let first = of.0[child];
            *self.place(at) = first;
            at = ARITY * at + 1 + child;
        }
        *self.place(at) = entry;
    }

    /// Puts `entry` into a new last place, or above those that come after it.
    fn rise(&mut self, entry: Entry) {
        let (mut at, rank) = (self.len, entry.rank());
        self.len += 1;
        if at % ARITY == 1 {
            self.children.push(Children::NONE);
        }
        while at > 0 {
            let parent = (at - 1) / ARITY;
            let above = *self.place(parent);
            if above.rank() < rank {
                break;
            }
            *self.place(at) = above;
            at = parent;
        }
        *self.place(at) = entry;
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
