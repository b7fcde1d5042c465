//! Reads events from a Perfetto trace, in order of time.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;
use std::rc::Rc;

use super::bundle::{name, Bundles};
use super::ids::{clock, packet};
use super::packets::{PacketError, Packets};
use super::sorter::{OwnedThread, PendingEvent, PendingKind};
use super::wire::{varint, Fault, Fields, Wire};
use crate::note::Note;
use crate::source::skipped_note;
use crate::{EventSource, PrevState, Thread, TraceError, TraceEvent, TraceEventKind};

/// Threads whose names are remembered.
const NAMES_MAX: usize = 1 << 20;

/// Writers that are distinguished; Perfetto numbers them with 16 bits.
const SEQUENCES_MAX: usize = 1 << 16;

/// What ftrace calls a CPU's idle task, and a thread whose name it does not know.
const IDLE: &str = "<idle>";
const NAMELESS: &str = "<...>";

/// Fields of `ProcessTree`, and of its `Process` and `Thread`.
const TREE_PROCESSES: u32 = 1;
const TREE_THREADS: u32 = 2;
const ID: u32 = 1;
const THREAD_NAME: u32 = 2;
const PROCESS_CMDLINE: u32 = 3;

/// Reads the events of a trace one by one, in time order. Holds back up to half a million events (about 100 MiB),
/// because the file is not in that order.
pub struct PerfettoReader<R> {
    file: String,
    packets: Packets<R>,
    bundles: Bundles,
    /// Names of threads by pid, and running threads by CPU, at the current time.
    names: BTreeMap<u32, Rc<str>>,
    running: BTreeMap<u32, u32>,
    /// Number of packets before which others were lost.
    dropped: u64,
    /// The writers so far. The first packet of each states that a packet before it was lost, which is ignored.
    sequences: BTreeSet<u32>,
    /// Number of switches without a previous thread.
    headless: u64,
    /// Whether the file has no more packets; the error to return after the events held back.
    ended: bool,
    trouble: Option<TraceError>,
    last: Option<Last>,
}

/// The last event, with what it lends.
struct Last {
    held: PendingEvent,
    comm: Rc<str>,
    pid: u32,
}

impl<R: BufRead> PerfettoReader<R> {
    /// `file` is what errors call the trace.
    pub fn new(file: &str, input: R) -> PerfettoReader<R> {
        PerfettoReader {
            file: file.to_owned(),
            packets: Packets::new(input),
            bundles: Bundles::default(),
            names: BTreeMap::new(),
            running: BTreeMap::new(),
            dropped: 0,
            sequences: BTreeSet::new(),
            headless: 0,
            ended: false,
            trouble: None,
            last: None,
        }
    }

    /// Reads until an event may go.
    fn fill(&mut self) {
        while !self.ended && !self.bundles.order.is_full() {
            let trouble = match self.packets.advance() {
                Ok(true) => match self.take_in() {
                    Ok(()) => continue,
                    Err(fault) => PacketError::Fault(fault),
                },
                Ok(false) => return self.ended = true,
                Err(trouble) => trouble,
            };
            self.ended = true;
            self.trouble = Some(self.to_trace_error(trouble));
        }
    }

    fn to_trace_error(&self, trouble: PacketError) -> TraceError {
        match trouble {
            PacketError::Io(e) => TraceError::Io { file: self.file.clone(), cause: e.to_string() },
            PacketError::Fault(expected) => {
                TraceError::Packet { file: self.file.clone(), at: self.packets.offset(), expected: expected.into() }
            }
        }
    }

    /// Processes the current packet.
    fn take_in(&mut self) -> Result<(), Fault> {
        let (mut time, mut track_event, mut on) = (0, None, clock::BOOTTIME);
        let (mut sequence, mut dropped) = (0, false);
        for field in Fields::parse(self.packets.packet()) {
            match field? {
                (packet::FTRACE_EVENTS, value) => self.bundles.add(value.bytes()?, self.packets.offset())?,
                (packet::PROCESS_TREE, value) => process_tree(value.bytes()?, &mut self.names)?,
                (packet::TIMESTAMP, value) => time = value.number()?,
                (packet::TIMESTAMP_CLOCK, value) => on = value.number()?,
                (packet::TRACK_EVENT, value) => track_event = Some(value.bytes()?),
                (packet::SEQUENCE, value) => sequence = value.small()?,
                (packet::PREVIOUS_DROPPED, value) => dropped = value.number()? != 0,
                _ => {}
            }
        }
        let is_first = self.sequences.len() < SEQUENCES_MAX && self.sequences.insert(sequence);
        self.dropped += u64::from(dropped && !is_first);
        match track_event {
            Some(track_event) if on == clock::BOOTTIME => {
                self.bundles.add_track_record(track_event, time, self.packets.offset())
            }
            _ => Ok(()),
        }
    }

    /// Whether an event is given to the caller; its names and the running thread are recorded first.
    fn settle(&mut self, held: &mut PendingEvent) -> bool {
        match &mut held.what {
            PendingKind::Switch { prev, left, next, .. } => {
                let prev = prev.get_or_insert_with(|| {
                    let running = self.running.get(&held.cpu).copied();
                    self.headless += u64::from(running.is_none());
                    let pid = running.unwrap_or(0);
                    OwnedThread { comm: comm(&self.names, pid, held.cpu), pid }
                });
                // Idle tasks have nothing to wait for, whatever the state of whom they stand for here.
                *left = if prev.pid == 0 { PrevState::Runnable } else { *left };
                held.context.pid.get_or_insert(prev.pid);
                call(&mut self.names, prev);
                call(&mut self.names, next);
                self.running.insert(held.cpu, next.pid);
            }
            PendingKind::Waking { task, .. } | PendingKind::Wakeup { task, .. } | PendingKind::Migrate { task, .. } => {
                call(&mut self.names, task);
            }
            PendingKind::Fork { child, .. } => call(&mut self.names, child),
            PendingKind::Called(task) => {
                call(&mut self.names, task);
                return false;
            }
            _ => {}
        }
        true
    }
}

impl<R: BufRead> EventSource for PerfettoReader<R> {
    fn next_event(&mut self) -> Result<Option<TraceEvent<'_>>, TraceError> {
        loop {
            self.fill();
            let Some(mut held) = self.bundles.order.first() else {
                return self.trouble.take().map_or(Ok(None), Err);
            };
            let running = self.running.get(&held.cpu).copied();
            if self.settle(&mut held) {
                let pid = held.context.pid.or(running).unwrap_or(0);
                let comm = match pid {
                    0 => IDLE.into(),
                    pid => self.names.get(&pid).map_or_else(|| NAMELESS.into(), Rc::clone),
                };
                self.last = Some(Last { held, comm, pid });
                break;
            }
        }
        Ok(self.last.as_ref().and_then(Last::event))
    }

    fn unknown(&self) -> u64 {
        self.bundles.unknown
    }

    fn notes(&self) -> Vec<Note> {
        let (file, bundles) = (&self.file, &self.bundles);
        let at = self.packets.offset();
        let several = [
            (bundles.lost, "times the kernel's buffer ran over: events were lost while it was recorded"),
            (self.dropped, "times packets were lost while it was recorded"),
            (self.headless, "switches do not tell who stopped, the first of each CPU: taken for the idle task"),
            (bundles.order.late(), "events came far behind later ones and are left out"),
        ];
        let mut notes = Vec::new();
        if self.packets.cut() {
            notes.push(Note::Loss(format!("byte {at}: the last packet has no end: the trace is cut off")));
        }
        if bundles.other_clock {
            notes.push(Note::Loss("events are on a clock whose offset to other clocks is unknown".to_owned()));
        }
        notes.extend(Note::losses(&several).into_iter().chain(skipped_note(bundles.unknown)));
        notes.into_iter().map(|note| note.of_file(file)).collect()
    }

    fn unexpected(&self, expected: &str) -> TraceError {
        let at = self.last.as_ref().map_or(0, |last| last.held.at);
        TraceError::Packet { file: self.file.clone(), at, expected: expected.into() }
    }
}

impl Last {
    fn event(&self) -> Option<TraceEvent<'_>> {
        let PendingEvent { time, cpu, context, .. } = self.held;
        let what = self.held.what.event_kind()?;
        let ran = Thread { comm: &self.comm, pid: self.pid };
        Some(TraceEvent { time, cpu, context: ran, in_interrupt: context.in_interrupt, what })
    }
}

impl OwnedThread {
    fn thread(&self) -> Thread<'_> {
        Thread { comm: &self.comm, pid: self.pid }
    }
}

impl PendingKind {
    /// None for what is not an event.
    fn event_kind(&self) -> Option<TraceEventKind<'_>> {
        Some(match self {
            PendingKind::Switch { prev, left, next, prio } => TraceEventKind::Switch {
                prev: prev.as_ref()?.thread(),
                left: *left,
                next: next.thread(),
                prio: *prio,
                cost: 0,
            },
            PendingKind::Waking { task, cpu } => TraceEventKind::Waking { task: task.thread(), cpu: *cpu },
            PendingKind::Wakeup { task, cpu, new } => {
                TraceEventKind::Wakeup { task: task.thread(), cpu: *cpu, new: *new }
            }
            PendingKind::Migrate { task, from, to } => {
                TraceEventKind::Migrate { task: task.thread(), from: *from, to: *to }
            }
            PendingKind::Fork { parent, child } => {
                TraceEventKind::Fork { parent: parent.thread(), child: child.thread() }
            }
            PendingKind::Exec { pid } => TraceEventKind::Exec { pid: *pid },
            PendingKind::Exit { task } => TraceEventKind::Exit { task: task.thread() },
            PendingKind::Idle { cpu, state } => TraceEventKind::Idle { cpu: *cpu, state: *state },
            PendingKind::Frequency { cpu, khz } => TraceEventKind::Frequency { cpu: *cpu, khz: *khz },
            PendingKind::Print(text) => TraceEventKind::Print(text),
            PendingKind::Named { name, fields } => return TraceEventKind::parse(name, fields).ok().flatten(),
            PendingKind::Called(_) => return None,
        })
    }
}

/// The name of the previous thread, where the trace names only the next one.
fn comm(names: &BTreeMap<u32, Rc<str>>, pid: u32, cpu: u32) -> Rc<str> {
    match pid {
        0 => format!("swapper/{cpu}").into(),
        pid => names.get(&pid).map_or_else(|| NAMELESS.into(), Rc::clone),
    }
}

/// A thread has a name from now on.
fn call(names: &mut BTreeMap<u32, Rc<str>>, task: &OwnedThread) {
    let room = names.len() < NAMES_MAX;
    match names.get_mut(&task.pid) {
        _ if task.pid == 0 => {}
        Some(name) if *name == task.comm => {}
        Some(name) => *name = Rc::clone(&task.comm),
        None if room => drop(names.insert(task.pid, Rc::clone(&task.comm))),
        None => {}
    }
}

/// Names of processes and threads that no event has stated yet.
fn process_tree(message: &[u8], names: &mut BTreeMap<u32, Rc<str>>) -> Result<(), Fault> {
    for field in Fields::parse(message) {
        let (message, name_field) = match field? {
            (TREE_PROCESSES, value) => (value.bytes()?, PROCESS_CMDLINE),
            (TREE_THREADS, value) => (value.bytes()?, THREAD_NAME),
            _ => continue,
        };
        let (mut pid, mut comm) = (0, None);
        for field in Fields::parse(message) {
            match field? {
                (ID, value) => pid = value.small()?,
                (id, Wire::Bytes(bytes)) if id == name_field && comm.is_none() => comm = Some(bytes),
                _ => {}
            }
        }
        // A command line may be longer than a name.
        let comm = comm.map(|bytes| name(bytes.rsplit(|b| *b == b'/').next().unwrap_or(bytes)));
        if let Some(Ok(comm)) = comm.filter(|_| !names.contains_key(&pid)) {
            call(names, &OwnedThread { comm, pid });
        }
    }
    Ok(())
}

/// Whether a file that begins so is one of Perfetto's: a packet whose first field is one that packets have, or bytes that
/// are no text, as of a packet with a wrong length. Text may begin with an empty line, which is the byte that a packet
/// begins with.
pub(crate) fn begins_like_one(head: &[u8]) -> bool {
    let is_text = |byte: &u8| !byte.is_ascii_control() || b"\t\n\r\x1b".contains(byte);
    head.first() == Some(&10) && (begins_with_known_field(&head[1..]) || !head.iter().all(is_text))
}

/// Whether a length and a field follow that a packet begins with.
fn begins_with_known_field(mut rest: &[u8]) -> bool {
    let Ok(length) = varint(&mut rest) else { return false };
    let before = rest.len() as u64;
    let Ok(tag) = varint(&mut rest) else { return false };
    let left = length.saturating_sub(before - rest.len() as u64);
    match (tag >> 3, tag & 7) {
        // timestamp, trusted_uid, sequence, sequence_flags, incremental_state_cleared, previous_packet_dropped,
        // timestamp_clock_id, trusted_pid, first_packet_on_sequence, machine_id
        (8 | 3 | 10 | 13 | 41 | 42 | 58 | 79 | 87 | 98, 0) => true,
        (1.., 2) => varint(&mut rest).is_ok_and(|n| n <= left),
        _ => false,
    }
}
