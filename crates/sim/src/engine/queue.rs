//! The one event queue: a heap keyed (time, class, sequence), a total order.

use fairground_machine::CpuId;

use crate::{Ipi, TaskId, Time};

/// An event of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EngineEvent {
    /// A CPU reaches the end of what it does (work, overhead, idle exit); void unless it is still due.
    Cpu(CpuId),
    /// The timer of a sleeping thread reaches its hard end; void if it has run. `cpu`: where it was armed, to
    /// foresee what it needs.
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

/// Bits of a key: the class, the number of the push, and where the event is kept. A run has [`MAX_TASKS`] timers and a few
/// events of each CPU at most, and 2^39 pushes are out of reach.
///
/// [`MAX_TASKS`]: fairground_workload::MAX_TASKS
const CLASS_SHIFT: u32 = 61;
const SEQUENCE_SHIFT: u32 = 22;
const SLOT_MASK: u64 = (1 << SEQUENCE_SHIFT) - 1;
const _: () = assert!(fairground_workload::MAX_TASKS < SLOT_MASK / 2);

/// Time and key of an event as one number, which is its rank: the host cannot predict which of two comes first, so a branch
/// costs more than the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    const NEVER: Entry = Entry(u128::MAX);

    /// Kept nowhere yet.
    #[inline(always)]
    fn new(time: Time, class: u64, sequence: u64) -> Entry {
        Entry(u128::from(time) << 64 | u128::from(class << CLASS_SHIFT | sequence << SEQUENCE_SHIFT))
    }

    /// By its key alone: no class is that high.
    #[inline(always)]
    fn is_never(self) -> bool {
        self.0 as u64 == u64::MAX
    }

    #[inline(always)]
    fn time(self) -> Time {
        (self.0 >> 64) as Time
    }

    #[inline(always)]
    fn slot(self) -> usize {
        (self.0 as u64 & SLOT_MASK) as usize
    }
}

/// Children of an entry: half the levels of a binary heap, and the comparisons on one level do not wait for each other.
const ARITY: usize = 4;

/// The children of one entry: a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Children([Entry; ARITY]);

impl Children {
    const NONE: Children = Children([Entry::NEVER; ARITY]);

    /// Which of them comes first, and that one.
    #[inline(always)]
    fn first(&self) -> (usize, Entry) {
        let [a, b, c, d] = self.0;
        let left = if b < a { (1, b) } else { (0, a) };
        let right = if d < c { (3, d) } else { (2, c) };
        if right.1 < left.1 {
            right
        } else {
            left
        }
    }
}

/// A heap whose root has the number 0 and entry i the children [`ARITY`] x i + 1 and following; before it one event that
/// comes first.
///
/// Most events beget one that comes before all others: that never enters the heap. The place of a root that was taken
/// stays open until the next push into the heap, which goes there and sinks; or until the next root is asked for, and
/// then the last entry is moved up. Events lie beside the heap, so that its levels are few cache lines.
#[derive(Debug)]
pub(crate) struct Queue {
    /// Comes before all of the heap; [`Entry::NEVER`]: the root does.
    front: Entry,
    front_event: EngineEvent,
    root: Entry,
    /// Whether the root was taken and its place is open.
    open: bool,
    /// The first entry of the heap, of what is below an open root.
    least: Entry,
    /// By entry; the last ones end with [`Entry::NEVER`].
    children: Vec<Children>,
    /// Entries of the heap, an open root included.
    len: usize,
    /// The events of the heap, by slot, and the slots that are free.
    events: Vec<EngineEvent>,
    free: Vec<u32>,
    seq: u64,
}

impl Default for Queue {
    fn default() -> Self {
        Queue {
            front: Entry::NEVER,
            front_event: EngineEvent::Start,
            root: Entry::NEVER,
            open: false,
            least: Entry::NEVER,
            children: Vec::new(),
            len: 0,
            events: Vec::new(),
            free: Vec::new(),
            seq: 0,
        }
    }
}

impl Queue {
    /// Inlined: an [`EngineEvent`] that is passed on is put together in memory first, and reading it back waits.
    #[inline(always)]
    pub(crate) fn push(&mut self, time: Time, what: EngineEvent) {
        self.seq += 1;
        let entry = Entry::new(time, what.class(), self.seq);
        if entry >= self.least || entry >= self.front {
            return self.put_into_heap(entry, what);
        }
        let (later, event) = (self.front, self.front_event);
        (self.front, self.front_event) = (entry, what);
        if !later.is_never() {
            self.put_into_heap(later, event);
        }
    }

    #[inline]
    pub(crate) fn next_time(&mut self) -> Option<Time> {
        let first = self.first();
        (!first.is_never()).then_some(first.time())
    }

    /// Whether the next event comes at `now`, which is less than [`Time::MAX`].
    #[inline]
    pub(crate) fn is_due(&mut self, now: Time) -> bool {
        self.first().time() == now
    }

    #[inline]
    fn first(&mut self) -> Entry {
        if !self.front.is_never() {
            return self.front;
        }
        if self.open {
            self.close();
        }
        self.root
    }

    /// The event whose time [`Queue::next_time`] returned.
    #[inline]
    pub(crate) fn pop(&mut self) -> EngineEvent {
        if !self.front.is_never() {
            self.front = Entry::NEVER;
            return self.front_event;
        }
        debug_assert!(!self.open && self.len > 0);
        self.open = true;
        self.least = self.children.first().map_or(Entry::NEVER, |of_root| of_root.first().1);
        let slot = self.root.slot();
        self.free.push(slot as u32);
        self.events[slot]
    }

    /// When something comes after the event just taken; [`Time::MAX`]: never.
    #[inline]
    pub(crate) fn next_of_others(&self) -> Time {
        self.front.min(self.least).time()
    }

    /// What comes next after the event just taken, unless something is pushed that comes before it.
    pub(crate) fn likely_next(&self) -> Option<EngineEvent> {
        if !self.front.is_never() {
            return Some(self.front_event);
        }
        (!self.least.is_never()).then(|| self.events[self.least.slot()])
    }

    #[inline(never)]
    fn put_into_heap(&mut self, entry: Entry, what: EngineEvent) {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.events[slot as usize] = what;
                slot
            }
            None => {
                self.events.push(what);
                self.events.len() as u32 - 1
            }
        };
        debug_assert!(u64::from(slot) <= SLOT_MASK);
        let entry = Entry(entry.0 | u128::from(slot));
        if std::mem::take(&mut self.open) {
            self.sink(entry);
        } else {
            self.rise(entry);
        }
        self.least = self.root;
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
        self.least = self.root;
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
        let mut at = 0;
        while let Some(of) = self.children.get(at) {
            let (child, first) = of.first();
            if entry < first {
                break;
            }
            *self.place(at) = first;
            at = ARITY * at + 1 + child;
        }
        *self.place(at) = entry;
    }

    /// Puts `entry` into a new last place, or above those that come after it.
    fn rise(&mut self, entry: Entry) {
        let mut at = self.len;
        self.len += 1;
        if at % ARITY == 1 {
            self.children.push(Children::NONE);
        }
        while at > 0 {
            let parent = (at - 1) / ARITY;
            let above = *self.place(parent);
            if above < entry {
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
