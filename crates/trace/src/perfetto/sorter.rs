//! Sorts events by time.
//!
//! Perfetto empties the kernel's buffers CPU by CPU, every so often; so events of one time are apart by what is
//! recorded between two rounds. Of events that are held back the earliest is given once there are many.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::rc::Rc;

use super::wire::Fault;
use crate::PrevState;

/// Events and bytes of text that are held back at most.
const EVENTS_MAX: usize = 1 << 19;
const TEXT_MAX: usize = 32 << 20;

/// Events of one packet, which come at once: Perfetto empties some hundred KiB of a CPU's buffer into a packet.
const PACKET_EVENTS_MAX: usize = 1 << 19;

/// An owned event, kept until its turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PendingKind {
    /// `prev` and `prio` are `None` where the trace does not have them.
    Switch {
        prev: Option<OwnedThread>,
        left: PrevState,
        next: OwnedThread,
        prio: Option<i32>,
    },
    Waking {
        task: OwnedThread,
        cpu: u32,
    },
    Wakeup {
        task: OwnedThread,
        cpu: u32,
        new: bool,
    },
    Migrate {
        task: OwnedThread,
        from: u32,
        to: u32,
    },
    Fork {
        parent: OwnedThread,
        child: OwnedThread,
    },
    Exec {
        pid: u32,
    },
    Exit {
        task: OwnedThread,
    },
    Idle {
        cpu: u32,
        state: Option<u32>,
    },
    Frequency {
        cpu: u32,
        khz: u32,
    },
    Print(Rc<str>),
    /// An event by its name, with its fields as text.
    Named {
        name: Rc<str>,
        fields: Rc<str>,
    },
    /// Not an event: a thread got a name.
    Called(OwnedThread),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedThread {
    pub comm: Rc<str>,
    pub pid: u32,
}

impl PendingKind {
    fn text(&self) -> usize {
        match self {
            PendingKind::Switch { prev, next, .. } => prev.as_ref().map_or(0, |p| p.comm.len()) + next.comm.len(),
            PendingKind::Waking { task, .. }
            | PendingKind::Wakeup { task, .. }
            | PendingKind::Migrate { task, .. }
            | PendingKind::Exit { task }
            | PendingKind::Called(task) => task.comm.len(),
            PendingKind::Fork { parent, child } => parent.comm.len() + child.comm.len(),
            PendingKind::Exec { .. } | PendingKind::Idle { .. } | PendingKind::Frequency { .. } => 0,
            PendingKind::Print(text) => text.len(),
            PendingKind::Named { name, fields } => name.len() + fields.len(),
        }
    }
}

/// An event that is held back.
#[derive(Clone, Debug)]
pub struct PendingEvent {
    /// Time, ns.
    pub time: u64,
    /// Order in the file, for events of the same time.
    sequence: u64,
    /// Byte offset in the file.
    pub at: u64,
    pub cpu: u32,
    pub context: Context,
    pub what: PendingKind,
}

/// The context in which an event happened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context {
    /// Pid of the thread; `None`: the thread that runs by the switches so far.
    pub pid: Option<u32>,
    /// Whether an interrupt was active; false if the trace does not show it.
    pub in_interrupt: bool,
}

impl Ord for PendingEvent {
    /// The earliest is the greatest: that is what a heap gives.
    fn cmp(&self, other: &PendingEvent) -> Ordering {
        (other.time, other.sequence).cmp(&(self.time, self.sequence))
    }
}

impl PartialOrd for PendingEvent {
    fn partial_cmp(&self, other: &PendingEvent) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PendingEvent {
    fn eq(&self, other: &PendingEvent) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PendingEvent {}

/// Events that are held back, in time order.
#[derive(Default)]
pub struct EventSorter {
    heap: BinaryHeap<PendingEvent>,
    text: usize,
    sequence: u64,
    /// The time that has been reached.
    reached: u64,
    late: u64,
}

impl EventSorter {
    /// Takes an event in, of a packet that is taken in while there is room.
    pub fn add(&mut self, time: u64, at: u64, cpu: u32, context: Context, what: PendingKind) -> Result<(), Fault> {
        if time < self.reached {
            self.late += 1;
            return Ok(());
        }
        if self.heap.len() > EVENTS_MAX + PACKET_EVENTS_MAX {
            return Err("a packet of at most 524288 events");
        }
        self.sequence += 1;
        self.text += what.text();
        self.heap.push(PendingEvent { time, sequence: self.sequence, at, cpu, context, what });
        Ok(())
    }

    /// Whether an event must go before more may come.
    pub fn is_full(&self) -> bool {
        self.heap.len() > EVENTS_MAX || self.text > TEXT_MAX
    }

    /// Removes and returns the earliest event.
    pub fn first(&mut self) -> Option<PendingEvent> {
        let held = self.heap.pop()?;
        self.text -= held.what.text();
        self.reached = held.time;
        Some(held)
    }

    /// Events that were left out: they came when later ones had been given.
    pub fn late(&self) -> u64 {
        self.late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHAT: PendingKind = PendingKind::Idle { cpu: 0, state: None };

    #[test]
    fn what_comes_when_later_events_have_been_given_is_counted() {
        let mut order = EventSorter::default();
        let add = |order: &mut EventSorter, time| order.add(time, 0, 0, Context::default(), WHAT).unwrap();
        (0..=EVENTS_MAX as u64).for_each(|i| add(&mut order, i + 10));
        assert!(order.is_full());
        assert_eq!(order.first().map(|e| e.time), Some(10));
        assert!(!order.is_full());
        add(&mut order, 9);
        add(&mut order, 10);
        assert_eq!((order.first().map(|e| e.time), order.late()), (Some(10), 1));
    }

    #[test]
    fn much_text_is_not_held_back() {
        let mut order = EventSorter::default();
        let text: Rc<str> = "x".repeat(1 << 20).into();
        let mut add = |time| order.add(time, 0, 0, Context::default(), PendingKind::Print(Rc::clone(&text)));
        (0..33).for_each(|i| add(i).unwrap());
        assert!(order.is_full());
        order.first();
        assert!(!order.is_full());
    }
}
