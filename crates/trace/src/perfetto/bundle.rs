//! Bundles of kernel events of one CPU each: one message per event or, for sched events, in columns (CompactSched).

use std::rc::Rc;

use super::generic::{generic, text, EventDescriptors, NamedFields};
use super::ids::{bundle, compact, event};
use super::sorter::{Context, EventSorter, OwnedThread, PendingKind};
use super::wire::{Fault, Fields, Packed, Wire};
use crate::record::IDLE_EXIT;
use crate::source::in_interrupt;
use crate::{PrevState, TraceEventKind};

/// A longer bundle is damage: Perfetto empties a few hundred KiB of the kernel's buffers at a time.
const BUNDLE_MAX: usize = 8 << 20;

/// More CPUs than kernels are built for.
const CPUS_MAX: u32 = 1 << 16;

/// A longer name is damage, though names of simulated threads are longer than the kernel's 15 bytes.
pub const NAME_MAX: usize = 255;

/// Longest text of a trace_marker write, bytes.
pub const PRINT_MAX: usize = 1 << 16;

/// Fields of an event that are read have lower numbers.
const SLOTS: usize = 8;

/// Events read from bundles, in order of time.
#[derive(Default)]
pub struct Bundles {
    described: EventDescriptors,
    pub order: EventSorter,
    /// Number of events of other kinds.
    pub unknown: u64,
    /// Number of bundles before which events were lost.
    pub lost: u64,
    /// Some times are of another clock than CLOCK_BOOTTIME, without a snapshot to convert them.
    pub other_clock: bool,
}

/// Values common to all events of a bundle.
struct BundleHeader {
    cpu: u32,
    /// Where the packet is in the file.
    at: u64,
    /// From the times as recorded to those since boot, ns.
    shift: i128,
}

impl BundleHeader {
    fn time(&self, recorded: u64) -> Result<u64, Fault> {
        u64::try_from(i128::from(recorded) + self.shift).map_err(|_| "a time within 584 years since boot")
    }
}

impl Bundles {
    /// Takes the events of a bundle in. `at`: where its packet is in the file.
    pub fn add(&mut self, message: &[u8], at: u64) -> Result<(), Fault> {
        if message.len() > BUNDLE_MAX {
            return Err("a bundle of events of at most 8 MiB");
        }
        let around = self.read_header(message, at)?;
        for field in Fields::parse(message) {
            match field? {
                (bundle::EVENT, value) => self.event(value.bytes()?, &around)?,
                (bundle::COMPACT_SCHED, value) => self.compact(value.bytes()?, &around)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn read_header(&mut self, message: &[u8], at: u64) -> Result<BundleHeader, Fault> {
        let (mut cpu_, mut clock, mut ftrace, mut boot) = (0, 0, None, None);
        for field in Fields::parse(message) {
            match field? {
                (bundle::CPU, value) => cpu_ = cpu(value.number()?)?,
                (bundle::LOST_EVENTS, value) => self.lost += u64::from(value.number()? != 0),
                (bundle::FTRACE_CLOCK, value) => clock = value.number()?,
                (bundle::FTRACE_TIMESTAMP, value) => ftrace = Some(value.number()?),
                (bundle::BOOT_TIMESTAMP, value) => boot = Some(value.number()?),
                (bundle::GENERIC_DESCRIPTORS, value) => self.described.add(value.bytes()?)?,
                _ => {}
            }
        }
        let shift = match (clock, ftrace, boot) {
            (0, ..) => 0,
            (_, Some(ftrace), Some(boot)) => i128::from(boot) - i128::from(ftrace),
            _ => {
                self.other_clock = true;
                0
            }
        };
        Ok(BundleHeader { cpu: cpu_, at, shift })
    }

    fn event(&mut self, message: &[u8], around: &BundleHeader) -> Result<(), Fault> {
        let (mut time, mut context, mut what) = (0, Context::default(), None);
        for field in Fields::parse(message) {
            match field? {
                (event::TIMESTAMP, value) => time = around.time(value.number()?)?,
                (event::PID, value) => context.pid = Some(value.small()?),
                (event::COMMON_FLAGS, value) => context.in_interrupt = in_interrupt(value.number()?),
                // The other fields that all events share are not messages.
                (id, Wire::Bytes(bytes)) => what = Some((id, bytes)),
                _ => {}
            }
        }
        let Some((id, bytes)) = what else { return Ok(()) };
        match self.decode_event(id, bytes)? {
            Some(what) => self.order.add(time, around.at, around.cpu, context, what)?,
            None => self.unknown += 1,
        }
        Ok(())
    }

    fn decode_event(&self, id: u32, bytes: &[u8]) -> Result<Option<PendingKind>, Fault> {
        let slots = || EventFields::parse(bytes);
        Ok(Some(match id {
            event::SCHED_SWITCH => {
                let s = slots()?;
                let (prev, left, next) = (Some(s.thread(1, 2)?), PrevState::from_kernel(s.number(4)?), s.thread(5, 6)?);
                PendingKind::Switch { prev, left, next, prio: s.optional_number(7)?.map(prio) }
            }
            event::SCHED_WAKING => {
                let s = slots()?;
                PendingKind::Waking { task: s.thread(1, 2)?, cpu: cpu(s.number(5)?)? }
            }
            event::SCHED_WAKEUP | event::SCHED_WAKEUP_NEW => {
                let s = slots()?;
                PendingKind::Wakeup {
                    task: s.thread(1, 2)?,
                    cpu: cpu(s.number(5)?)?,
                    new: id == event::SCHED_WAKEUP_NEW,
                }
            }
            event::SCHED_MIGRATE_TASK => {
                let s = slots()?;
                PendingKind::Migrate { task: s.thread(1, 2)?, from: cpu(s.number(4)?)?, to: cpu(s.number(5)?)? }
            }
            event::CPU_IDLE => {
                let s = slots()?;
                let state = s.small(1)?;
                PendingKind::Idle { cpu: cpu(s.number(2)?)?, state: (state != IDLE_EXIT).then_some(state) }
            }
            event::CPU_FREQUENCY => {
                let s = slots()?;
                PendingKind::Frequency { cpu: cpu(s.number(2)?)?, khz: s.small(1)? }
            }
            event::PRINT => PendingKind::Print(print(slots()?.bytes(2)?)?),
            event::SCHED_PROCESS_FORK => {
                let s = slots()?;
                PendingKind::Fork { parent: s.thread(1, 2)?, child: s.thread(3, 4)? }
            }
            event::SCHED_PROCESS_EXEC => PendingKind::Exec { pid: slots()?.small(2)? },
            event::SCHED_PROCESS_EXIT => PendingKind::Exit { task: slots()?.thread(1, 2)? },
            event::TASK_NEWTASK => PendingKind::Called(slots()?.thread(2, 1)?),
            event::TASK_RENAME => PendingKind::Called(slots()?.thread(3, 1)?),
            event::GENERIC => return named_event(generic(bytes)?),
            _ => return self.described.decode(id, bytes)?.map_or(Ok(None), named_event),
        }))
    }

    /// Events of the scheduler in columns; times are each since the one before.
    fn compact(&mut self, message: &[u8], around: &BundleHeader) -> Result<(), Fault> {
        let mut columns = [Packed::default(); 16];
        let mut names: Vec<Rc<str>> = Vec::new();
        for field in Fields::parse(message) {
            match field? {
                (compact::INTERN_TABLE, value) => names.push(name(value.bytes()?)?),
                (id, value) => {
                    if let Some(column) = columns.get_mut(id as usize) {
                        *column = Packed(value.bytes()?);
                    }
                }
            }
        }
        let name = |index: u64| {
            let name = usize::try_from(index).ok().and_then(|i| names.get(i));
            name.map(Rc::clone).ok_or("an index within the table of names")
        };
        use compact::*;
        let switches = [SWITCH_TIMESTAMP, SWITCH_PREV_STATE, SWITCH_NEXT_PID, SWITCH_NEXT_COMM];
        let mut prios = columns[SWITCH_NEXT_PRIO as usize];
        let has_prios = !prios.0.is_empty();
        rows(switches.map(|id| columns[id as usize]), |time, [state, pid_, comm]| {
            let who = OwnedThread { comm: name(comm)?, pid: pid(pid_)? };
            let prio = if has_prios { Some(prio(next(&mut prios)?)) } else { None };
            let what = PendingKind::Switch { prev: None, left: PrevState::from_kernel(state), next: who, prio };
            self.order.add(around.time(time)?, around.at, around.cpu, Context::default(), what)
        })?;
        let wakings = [WAKING_TIMESTAMP, WAKING_PID, WAKING_TARGET_CPU, WAKING_COMM];
        let mut flags = columns[WAKING_FLAGS as usize];
        let has_flags = !flags.0.is_empty();
        rows(wakings.map(|id| columns[id as usize]), |time, [pid_, target, comm]| {
            let task = OwnedThread { comm: name(comm)?, pid: pid(pid_)? };
            let what = PendingKind::Waking { task, cpu: cpu(target)? };
            let flags = if has_flags { next(&mut flags)? } else { 0 };
            let context = Context { pid: None, in_interrupt: in_interrupt(flags) };
            self.order.add(around.time(time)?, around.at, around.cpu, context, what)
        })
    }
}

/// What stands in columns side by side, the first of which is of times.
fn rows(
    [times, mut a, mut b, mut c]: [Packed; 4],
    mut row: impl FnMut(u64, [u64; 3]) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut now = 0_u64;
    for since in times {
        now = now.checked_add(since?).ok_or("a time within 584 years since boot")?;
        row(now, [next(&mut a)?, next(&mut b)?, next(&mut c)?])?;
    }
    Ok(())
}

/// The next cell of a column beside others.
fn next(column: &mut Packed) -> Result<u64, Fault> {
    column.next().unwrap_or(Err("columns of one length"))
}

/// The fields of an event, by number.
struct EventFields<'a>([Option<Wire<'a>>; SLOTS]);

impl<'a> EventFields<'a> {
    fn parse(message: &'a [u8]) -> Result<EventFields<'a>, Fault> {
        let mut slots = [None; SLOTS];
        for field in Fields::parse(message) {
            let (id, value) = field?;
            if let Some(slot) = slots.get_mut(id as usize) {
                *slot = Some(value);
            }
        }
        Ok(EventFields(slots))
    }

    /// A missing field is 0: some writers leave zeros out.
    fn number(&self, id: usize) -> Result<u64, Fault> {
        self.0[id].map_or(Ok(0), Wire::number)
    }

    /// None if the field is missing.
    fn optional_number(&self, id: usize) -> Result<Option<u64>, Fault> {
        self.0[id].map(Wire::number).transpose()
    }

    fn small(&self, id: usize) -> Result<u32, Fault> {
        self.0[id].map_or(Ok(0), Wire::small)
    }

    fn bytes(&self, id: usize) -> Result<&'a [u8], Fault> {
        self.0[id].map_or(Ok(&[]), Wire::bytes)
    }

    fn thread(&self, comm: usize, pid_: usize) -> Result<OwnedThread, Fault> {
        Ok(OwnedThread { comm: name(self.bytes(comm)?)?, pid: pid(self.number(pid_)?)? })
    }
}

fn cpu(n: u64) -> Result<u32, Fault> {
    u32::try_from(n).ok().filter(|cpu| *cpu < CPUS_MAX).ok_or("a CPU from 0 to 65535")
}

/// A priority of the kernel's: an int32, of which a negative one has ten bytes.
fn prio(n: u64) -> i32 {
    n as i32
}

fn pid(n: u64) -> Result<u32, Fault> {
    u32::try_from(n).map_err(|_| "a pid from 0 to 4294967295")
}

pub fn name(bytes: &[u8]) -> Result<Rc<str>, Fault> {
    match bytes.len() {
        0..=NAME_MAX => Ok(text(bytes).into()),
        _ => Err("a thread's name of at most 255 bytes"),
    }
}

fn print(bytes: &[u8]) -> Result<Rc<str>, Fault> {
    match bytes.len() {
        0..=PRINT_MAX => Ok(text(bytes.trim_ascii_end()).into()),
        _ => Err("a text of at most 64 KiB"),
    }
}

/// An event of which name and fields are known, if it is one that is read.
pub fn named_event((name, fields): NamedFields) -> Result<Option<PendingKind>, Fault> {
    if name.len() + fields.len() > PRINT_MAX {
        return Err("a text of at most 64 KiB");
    }
    let known = TraceEventKind::parse(&name, &fields)?.is_some();
    Ok(known.then(|| PendingKind::Named { name: name.as_str().into(), fields: fields.as_str().into() }))
}
