//! Puts events in the order of their times.
//!
//! Perfetto empties the kernel's buffers CPU by CPU, every so often; so events of one time are apart by what is
//! recorded between two rounds. Of events that are held back the earliest is given once there are many.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::rc::Rc;

use super::wire::Fault;
use crate::Left;

/// Events and bytes of text that are held back at most.
const EVENTS_MAX: usize = 1 << 19;
const TEXT_MAX: usize = 32 << 20;

/// Events of one packet, which come at once: Perfetto empties some hundred KiB of a CPU's buffer into a packet.
const PACKET_EVENTS_MAX: usize = 1 << 19;

/// What an event says, for later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Who stops, where the trace tells; who starts, and its priority, where it tells that.
    Switch {
        prev: Option<Who>,
        left: Left,
        next: Who,
        prio: Option<i32>,
    },
    Waking {
        task: Who,
        cpu: u32,
    },
    Wakeup {
        task: Who,
        cpu: u32,
        new: bool,
    },
    Migrate {
        task: Who,
        from: u32,
        to: u32,
    },
    Fork {
        parent: Who,
        child: Who,
    },
    Exec {
        pid: u32,
    },
    Exit {
        task: Who,
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
    /// No event that is told: a thread got a name.
    Called(Who),
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    pub comm: Rc<str>,
    pub pid: u32,
}

impl Kept {
    fn text(&self) -> usize {
        match self {
            Kept::Switch { prev, next, .. } => prev.as_ref().map_or(0, |p| p.comm.len()) + next.comm.len(),
            Kept::Waking { task, .. }
            | Kept::Wakeup { task, .. }
            | Kept::Migrate { task, .. }
            | Kept::Exit { task }
            | Kept::Called(task) => task.comm.len(),
            Kept::Fork { parent, child } => parent.comm.len() + child.comm.len(),
            Kept::Exec { .. } | Kept::Idle { .. } | Kept::Frequency { .. } => 0,
            Kept::Print(text) => text.len(),
            Kept::Named { name, fields } => name.len() + fields.len(),
        }
    }
}

/// An event that is held back.
#[derive(Clone, Debug)]
pub struct Held {
    /// ns.
    pub time: u64,
    /// Of events of one time, the one that comes first in the file is first.
    sequence: u64,
    /// Where in the file.
    pub at: u64,
    pub cpu: u32,
    pub context: Context,
    pub what: Kept,
}

/// What ran where an event happened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context {
    /// None: whatever ran by the switches so far.
    pub pid: Option<u32>,
    /// An interrupt was at work; not so if nothing tells.
    pub in_interrupt: bool,
}

impl Ord for Held {
    /// The earliest is the greatest: that is what a heap gives.
    fn cmp(&self, other: &Held) -> Ordering {
        (other.time, other.sequence).cmp(&(self.time, self.sequence))
    }
}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Held) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Held) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Held {}

/// The events held back.
#[derive(Default)]
pub struct Order {
    heap: BinaryHeap<Held>,
    text: usize,
    sequence: u64,
    /// The time that has been reached.
    reached: u64,
    late: u64,
}

impl Order {
    /// Takes an event in, of a packet that is taken in while there is room.
    pub fn add(&mut self, time: u64, at: u64, cpu: u32, context: Context, what: Kept) -> Result<(), Fault> {
        if time < self.reached {
            self.late += 1;
            return Ok(());
        }
        if self.heap.len() > EVENTS_MAX + PACKET_EVENTS_MAX {
            return Err("a packet of at most 524288 events");
        }
        self.sequence += 1;
        self.text += what.text();
        self.heap.push(Held { time, sequence: self.sequence, at, cpu, context, what });
        Ok(())
    }

    /// Whether an event must go before more may come.
    pub fn is_full(&self) -> bool {
        self.heap.len() > EVENTS_MAX || self.text > TEXT_MAX
    }

    /// The earliest.
    pub fn first(&mut self) -> Option<Held> {
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

    const WHAT: Kept = Kept::Idle { cpu: 0, state: None };

    #[test]
    fn what_comes_when_later_events_have_been_given_is_counted() {
        let mut order = Order::default();
        let add = |order: &mut Order, time| order.add(time, 0, 0, Context::default(), WHAT).unwrap();
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
        let mut order = Order::default();
        let text: Rc<str> = "x".repeat(1 << 20).into();
        let mut add = |time| order.add(time, 0, 0, Context::default(), Kept::Print(Rc::clone(&text)));
        (0..33).for_each(|i| add(i).unwrap());
        assert!(order.is_full());
        order.first();
        assert!(!order.is_full());
    }
}
