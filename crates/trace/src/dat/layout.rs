//! The layout of a file, independent of its version: what a reader of events needs.

use super::bytes::{Input, Order};
use super::decoder::EventDecoder;
use super::format::{Field, Format};
use super::packed::Compression;
use crate::note::Note;
use crate::source::in_interrupt;
use crate::source::push_sanitized;
use crate::TraceError;

/// Bytes of one format file; the kernel's largest are a tenth.
const FORMAT_MAX: u64 = 1 << 18;
/// Format files of a trace; the kernel numbers events with 16 bits.
const FORMATS_MAX: u64 = 1 << 16;
/// Events of which something is known: ours are some twenty.
const KNOWN_MAX: usize = 256;
/// Bytes of a name in the file.
pub const STRING_MAX: u64 = 4096;
/// Bytes of the list of names of tasks.
const TASKS_MAX: u64 = 32 << 20;
/// CPUs: the most that Linux can be built for.
const CPUS_MAX: u64 = 8192;
/// Bytes of the pages of all CPUs together that are in memory at a time.
pub const PAGES_MAX: u64 = 128 << 20;
/// Clocks of which the kernel gives ns.
const CLOCKS: [&str; 7] = ["local", "global", "perf", "mono", "mono_raw", "boot", "tai"];

pub struct Layout {
    pub order: Order,
    pub page_size: u64,
    pub page: PageLayout,
    /// The fields with the number of the event and the pid of the running thread.
    pub common: Common,
    pub events: Events,
    pub tasks: Tasks,
    pub cpus: Vec<CpuPart>,
    /// Compression of the trace; `None`: it is not compressed.
    pub packed: Option<Compression>,
    /// Notes on the file.
    pub notes: Vec<Note>,
}

/// One CPU's part of a file: offset and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuPart {
    pub cpu: u32,
    pub at: u64,
    pub size: u64,
}

/// Offset and size of a page's time and of the length of its data, and offset of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLayout {
    pub time: (usize, usize),
    pub length: (usize, usize),
    pub data: usize,
}

/// The fields at the beginning of every record.
#[derive(Clone, Debug)]
pub struct Common {
    pub kind: Field,
    pub pid: Field,
    /// Bits, some of which are set in an interrupt.
    flags: Option<Field>,
    /// Counts all events of one of our traces: the order of events with the same time.
    pub turn: Option<Field>,
}

impl Common {
    /// Whether the event happened in a hard or soft interrupt or an NMI.
    pub fn in_interrupt(&self, record: &[u8], order: Order) -> bool {
        self.flags.as_ref().is_some_and(|flags| in_interrupt(flags.number(record, order)))
    }
}

/// The known events, by number.
#[derive(Default)]
pub struct Events {
    by_id: Vec<Option<EventDecoder>>,
    /// Number of known events.
    known: usize,
    common: Option<Common>,
}

impl Events {
    /// The decoder of an event; `None` if the event is not known.
    pub fn get(&self, id: u64) -> Option<&EventDecoder> {
        self.by_id.get(usize::try_from(id).ok()?)?.as_ref()
    }

    /// Reads `u32 n`, then n times `u64 size` and a format file.
    pub fn ftrace(&mut self, input: &mut Input) -> Result<(), TraceError> {
        let n = input.count(0, FORMATS_MAX, "the number of ftrace's own events")?;
        (0..n).try_for_each(|_| self.format(input))
    }

    /// Reads `u32 n`, then n times the name of a system and formats as above.
    pub fn systems(&mut self, input: &mut Input) -> Result<(), TraceError> {
        let systems = input.count(0, FORMATS_MAX, "the number of event systems")?;
        for _ in 0..systems {
            input.string(STRING_MAX, "the name of an event system")?;
            let n = input.count(0, FORMATS_MAX, "the number of events of a system")?;
            (0..n).try_for_each(|_| self.format(input))?;
        }
        Ok(())
    }

    fn format(&mut self, input: &mut Input) -> Result<(), TraceError> {
        let size = input.number(8, "the size of an event's format")?;
        let at = input.at;
        let bytes = input.block(size, FORMAT_MAX, "an event's format")?;
        let text = String::from_utf8_lossy(&bytes);
        let Some(format) = Format::parse(&text) else {
            return Err(input.damaged(at, "an event's format with name, ID and fields", super::bytes::shown(&bytes)));
        };
        if self.common.is_none() {
            let field = |name| format.field(name).cloned();
            let parts = field("common_type").zip(field("common_pid"));
            self.common =
                parts.map(|(kind, pid)| Common { kind, pid, flags: field("common_flags"), turn: field("common_turn") });
        }
        let missing = |field: &str| input.damaged(at, format!("{} with a field {field}", format.name), "none");
        if let Some(plan) = EventDecoder::for_format(&format).map_err(missing)? {
            let id = usize::from(format.id);
            if self.by_id.len() <= id {
                self.by_id.resize_with(id + 1, || None);
            }
            self.known += 1;
            if self.known > KNOWN_MAX {
                return Err(input.damaged(at, format!("at most {KNOWN_MAX} events that are known"), "more"));
            }
            self.by_id[id] = Some(plan);
        }
        Ok(())
    }

    /// The fields of all events; an error if no event states them.
    pub fn common(&self, input: &Input) -> Result<Common, TraceError> {
        let expected = "an event's format with common_type and common_pid";
        self.common.clone().ok_or_else(|| input.damaged(input.at, expected, "none"))
    }
}

/// Names of tasks by pid, from lines `PID NAME`.
#[derive(Default)]
pub struct Tasks {
    text: String,
    /// pid, start and length of the name.
    by_pid: Vec<(u32, u32, u32)>,
}

impl Tasks {
    /// Reads `u64 size` and lines.
    pub fn read(input: &mut Input) -> Result<Tasks, TraceError> {
        let size = input.number(8, "the size of the list of tasks")?;
        Ok(Tasks::parse(&input.block(size, TASKS_MAX, "a list of tasks")?))
    }

    pub fn parse(bytes: &[u8]) -> Tasks {
        let mut text = String::new();
        push_sanitized(&mut text, bytes, true);
        let mut by_pid = Vec::new();
        let mut at = 0;
        for line in text.split('\n') {
            if let Some((pid, comm)) = line.split_once(' ') {
                if let Ok(pid) = pid.trim().parse::<u32>() {
                    by_pid.push((pid, (at + line.len() - comm.len()) as u32, comm.len() as u32));
                }
            }
            at += line.len() + 1;
        }
        by_pid.sort_unstable();
        Tasks { text, by_pid }
    }

    /// The name of a task.
    pub fn comm(&self, pid: u32) -> &str {
        if pid == 0 {
            return "<idle>";
        }
        let found = self.by_pid.partition_point(|(known, ..)| *known < pid);
        match self.by_pid.get(found) {
            Some((known, start, len)) if *known == pid => &self.text[*start as usize..(*start + *len) as usize],
            _ => "<...>",
        }
    }
}

impl PageLayout {
    /// Reads the parts `header_page` and `header_event`.
    pub fn read(input: &mut Input, page_size: u64) -> Result<PageLayout, TraceError> {
        input.literal("header_page\0", "header_page")?;
        let size = input.number(8, "the size of header_page")?;
        let at = input.at;
        let bytes = input.block(size, FORMAT_MAX, "header_page")?;
        input.literal("header_event\0", "header_event")?;
        let size = input.number(8, "the size of header_event")?;
        input.skip(size, "header_event")?;
        let layout = PageLayout::parse(&String::from_utf8_lossy(&bytes));
        let fits = |layout: &PageLayout| {
            let ends = [layout.time.0 + layout.time.1, layout.length.0 + layout.length.1, layout.data];
            layout.time.1 == 8 && [4, 8].contains(&layout.length.1) && ends.iter().all(|end| (*end as u64) < page_size)
        };
        layout.filter(fits).ok_or_else(|| {
            let expected = "timestamp of 8 bytes, commit of 4 or 8, and data, within a page";
            input.damaged(at, expected, super::bytes::shown(&bytes))
        })
    }

    fn parse(text: &str) -> Option<PageLayout> {
        let place = |name| place(text, name);
        Some(PageLayout { time: place("timestamp")?, length: place("commit")?, data: place("data")?.0 })
    }
}

/// Offset and size of a field of `header_page`.
fn place(header_page: &str, name: &str) -> Option<(usize, usize)> {
    let fields = header_page.lines().filter_map(|line| line.trim_start().strip_prefix("field:"));
    let fields: Vec<Field> = fields.map(Field::parse).collect::<Option<_>>()?;
    fields.iter().find(|f| f.name == name).map(|f| (f.offset, f.size))
}

/// Bytes of a page of the ring buffer whose layout `header_page` states; `None` if the text does not say.
pub fn page_bytes(header_page: &str) -> Option<usize> {
    place(header_page, "data").map(|(at, size)| at + size)
}

/// The header of a trace.dat file.
pub struct FileHeader {
    pub version: String,
    pub order: Order,
    pub page_size: u64,
}

impl FileHeader {
    pub fn read(input: &mut Input) -> Result<FileHeader, TraceError> {
        input.literal("\x17\x08\x44tracing", "the signature of a trace.dat file")?;
        let at = input.at;
        let version = input.string(16, "the version")?;
        if version != "6" && version != "7" {
            return Err(input.damaged(at, "version 6 or 7", format!("{version:?}")));
        }
        let at = input.at;
        input.order = match input.number(1, "the byte order")? {
            0 => Order::Little,
            1 => Order::Big,
            n => return Err(input.damaged(at, "a byte order, 0 or 1", n.to_string())),
        };
        let at = input.at;
        let long = input.number(1, "the size of a long")?;
        if long != 4 && long != 8 {
            return Err(input.damaged(at, "a long of 4 or 8 bytes", long.to_string()));
        }
        let page_size = page_size(input)?;
        Ok(FileHeader { version, order: input.order, page_size })
    }
}

/// Reads the size of a page.
pub fn page_size(input: &mut Input) -> Result<u64, TraceError> {
    input.count(64, 1 << 20, "the size of a page")
}

/// Reads the number of CPUs, whose pages must not take too much.
pub fn nr_cpus(input: &mut Input, page_size: u64) -> Result<u64, TraceError> {
    let at = input.at;
    let n = input.count(0, CPUS_MAX, "the number of CPUs")?;
    match n * page_size > PAGES_MAX {
        true => Err(input.damaged(at, format!("CPUs with pages of {PAGES_MAX} bytes at most"), n.to_string())),
        false => Ok(n),
    }
}

/// Says of a clock that it gives no ns.
pub fn clock_note(clock: &str) -> Option<Note> {
    // `[local] global ...` is the kernel's list with its choice.
    let chosen = clock.split_once('[').and_then(|(_, rest)| Some(rest.split_once(']')?.0)).unwrap_or(clock).trim();
    let known = chosen.is_empty() || CLOCKS.contains(&chosen);
    (!known).then(|| Note::Loss(format!("times are those of the clock {chosen:?}, which need not be ns")))
}
