//! Reads perf.data, the file of `perf record`: its tracepoints, in the order of their times.
//!
//! ```text
//! "PERFILE2"  u64 size of the header, of an attribute
//! u64 offset, size: attributes, data, event types    256 bits: features
//! attributes: struct perf_event_attr, u64 offset and size of its ids
//! data:       records: u32 type, u16 misc, u16 size, body
//! behind it:  u64 offset, size for each feature, among them the formats of tracepoints, as in trace.dat
//! ```
//!
//! Sources: tools/perf/Documentation/perf.data-file-format.txt, include/uapi/linux/perf_event.h.
//!
//! This is our own reader, in spite of the crate linux-perf-data: that one decodes no tracepoints, which is most of the work
//! and is that of trace.dat's reader; and it unwraps and allocates by lengths that a file states (0.13: no attributes, a
//! string of a header), where a file of others must not end this program.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::bytes::{Input, Order, ReadAt};
use super::decoder::EventText;
use super::layout::{Common, Events, STRING_MAX};
use crate::note::Note;
use crate::source::{push_sanitized, skipped_note};
use crate::text::{Thread, TraceError, TraceEvent};
use crate::EventSource;

/// How files begin, by the byte order of their machine.
pub const SIGNATURES: [&[u8]; 2] = [b"PERFILE2", b"2ELIFREP"];

/// Limits of a file: attributes, ids of all of them, names of threads, records that are held to be sorted and their bytes.
const ATTRIBUTES_MAX: u64 = 4096;
const IDS_MAX: u64 = 1 << 16;
const NAMES_MAX: usize = 1 << 20;
const HELD_MAX: usize = 1 << 19;
const HELD_BYTES_MAX: usize = 1 << 28;

/// Bytes that are read at a time, as much as the longest record.
const CHUNK: usize = 1 << 16;

/// Types of records.
const LOST: u64 = 2;
const COMM: u64 = 3;
const FORK: u64 = 7;
const SAMPLE: u64 = 9;
const LOST_SAMPLES: u64 = 13;
const FINISHED_ROUND: u64 = 68;
const AUXTRACE: u64 = 71;
const COMPRESSED: [u64; 2] = [81, 83];

/// The feature with the formats of tracepoints.
const TRACING_DATA: u64 = 1;

/// PERF_TYPE_TRACEPOINT.
const TRACEPOINT: u64 = 2;

/// Bits of sample_type, in the order of the fields of a sample.
const IDENTIFIER: u64 = 1 << 16;
const IP: u64 = 1 << 0;
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const ADDR: u64 = 1 << 3;
const ID: u64 = 1 << 6;
const STREAM_ID: u64 = 1 << 9;
const CPU: u64 = 1 << 7;
const PERIOD: u64 = 1 << 8;
const READ: u64 = 1 << 4;
const CALLCHAIN: u64 = 1 << 5;
const RAW: u64 = 1 << 10;

/// What events are recorded with; of struct perf_event_attr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Attribute {
    kind: u64,
    sample_type: u64,
    read_format: u64,
    /// sample_id_all: records that are no samples end with time and id, too.
    ids_in_all: bool,
}

/// A record that waits for those before it. Sorted by time, then by its place in the file.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Held {
    time: u64,
    number: u64,
    what: Waiting,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Waiting {
    Tracepoint(Tracepoint),
    /// The thread has this name from now on.
    Name {
        tid: u32,
        comm: String,
    },
    /// The thread is new, and has the name of its parent.
    Fork {
        tid: u32,
        parent: u32,
    },
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Tracepoint {
    time: u64,
    cpu: u32,
    raw: Vec<u8>,
}

impl Waiting {
    fn bytes(&self) -> usize {
        match self {
            Waiting::Tracepoint(tracepoint) => tracepoint.raw.len(),
            Waiting::Name { comm, .. } => comm.len(),
            Waiting::Fork { .. } => 0,
        }
    }
}

/// Reads the tracepoints of a perf.data file one by one. Holds back up to half a million records, because the file has those
/// of one CPU after those of another.
pub struct PerfDataReader<R> {
    name: String,
    from: R,
    order: Order,
    attributes: Vec<Attribute>,
    by_id: BTreeMap<u64, usize>,
    events: Events,
    common: Common,
    names: BTreeMap<u32, String>,
    /// Where the next record is, and where they end.
    at: u64,
    end: u64,
    chunk: Vec<u8>,
    /// Offset of the chunk.
    chunk_at: u64,
    held: BinaryHeap<Reverse<Held>>,
    held_bytes: usize,
    /// Greatest time so far; at the end of the last round; and up to where events may go.
    seen: u64,
    round: u64,
    until: u64,
    ended: bool,
    last: Option<Tracepoint>,
    words: EventText,
    count: u64,
    unknown: u64,
    lost: u64,
    late: u64,
    short: u64,
    cut: bool,
}

/// What the header states.
struct Head {
    attributes: Vec<Attribute>,
    by_id: BTreeMap<u64, usize>,
    data: (u64, u64),
    events: Events,
    common: Common,
}

impl<R: ReadAt> PerfDataReader<R> {
    /// `name` is the name of the trace in errors.
    ///
    /// # Errors
    /// If the file is not a perf.data file, has no tracepoints, or cannot be read up to its events.
    pub fn new(name: &str, from: R) -> Result<PerfDataReader<R>, TraceError> {
        let end = from.size().map_err(|e| TraceError::Io { file: name.to_owned(), cause: e.to_string() })?;
        let mut input = Input { name, from: &from, order: Order::Little, at: 0, end };
        let head = Head::read(&mut input)?;
        let order = input.order;
        let Head { attributes, by_id, data: (at, size), events, common } = head;
        Ok(PerfDataReader {
            name: name.to_owned(),
            from,
            order,
            attributes,
            by_id,
            events,
            common,
            names: BTreeMap::new(),
            at,
            end: at.saturating_add(size).min(end),
            chunk: Vec::new(),
            chunk_at: 0,
            held: BinaryHeap::new(),
            held_bytes: 0,
            seen: 0,
            round: 0,
            until: 0,
            ended: false,
            last: None,
            words: EventText::default(),
            count: 0,
            unknown: 0,
            lost: 0,
            late: 0,
            short: 0,
            cut: at.saturating_add(size) > end,
        })
    }

    fn damaged(&self, expected: &str, found: impl Into<String>) -> TraceError {
        TraceError::Damaged { file: self.name.clone(), at: self.at, expected: expected.into(), found: found.into() }
    }

    /// `n` bytes from `at` on; `None` if the records end before.
    fn bytes(&mut self, at: u64, n: usize) -> Result<Option<&[u8]>, TraceError> {
        if at.saturating_add(n as u64) > self.end {
            return Ok(None);
        }
        let is_there = at >= self.chunk_at && at + n as u64 <= self.chunk_at + self.chunk.len() as u64;
        if !is_there {
            self.chunk.resize(CHUNK.max(n), 0);
            let read = self.from.read_at(&mut self.chunk, at);
            let read = read.map_err(|e| TraceError::Io { file: self.name.clone(), cause: e.to_string() })?;
            (self.chunk_at, _) = (at, self.chunk.truncate(read));
        }
        let begin = (at - self.chunk_at) as usize;
        Ok(self.chunk.get(begin..begin + n))
    }

    /// Takes the next record in. False at the end.
    fn record(&mut self) -> Result<bool, TraceError> {
        let order = self.order;
        let Some(head) = self.bytes(self.at, 8)? else {
            self.cut |= self.at < self.end;
            return Ok(false);
        };
        let (kind, size) = (order.number(&head[..4]), order.number(&head[6..8]));
        if size < 8 {
            return Err(self.damaged("a record of at least 8 bytes", format!("{size} bytes")));
        }
        let Some(body) = self.bytes(self.at + 8, size as usize - 8)? else {
            self.cut = true;
            return Ok(false);
        };
        let body = body.to_vec();
        let number = |at: usize, n: usize| body.get(at..at + n).map_or(0, |bytes| order.number(bytes));
        let mut skipped = 0;
        match kind {
            SAMPLE => self.sample(&body),
            COMM => {
                let (tid, mut comm) = (number(4, 4) as u32, String::new());
                let text = body.get(8..).unwrap_or_default();
                push_sanitized(&mut comm, text.split(|byte| *byte == 0).next().unwrap_or_default(), false);
                match self.time_at_end(&body) {
                    Some(time) => self.hold(time, Waiting::Name { tid, comm }),
                    // With records whose time is known before it, e.g. the fork of the thread.
                    None => self.hold(self.seen, Waiting::Name { tid, comm }),
                }
            }
            FORK if body.len() >= 24 => {
                let (tid, parent) = (number(8, 4) as u32, number(12, 4) as u32);
                self.hold(number(16, 8), Waiting::Fork { tid, parent });
            }
            LOST => self.lost = self.lost.saturating_add(number(8, 8)),
            LOST_SAMPLES => self.lost = self.lost.saturating_add(number(0, 8)),
            FINISHED_ROUND => (self.until, self.round) = (self.round, self.seen),
            // Its data is behind the record.
            AUXTRACE => skipped = number(0, 8),
            kind if COMPRESSED.contains(&kind) => {
                return Err(self.damaged("records that are not compressed: record without -z", "compressed ones"));
            }
            _ => {}
        }
        self.at = self.at.saturating_add(size).saturating_add(skipped);
        Ok(true)
    }

    /// Takes a sample in, if it is of a tracepoint.
    fn sample(&mut self, body: &[u8]) {
        let Some(attribute) = self.attribute(body) else {
            self.unknown += 1;
            return;
        };
        let Some(tracepoint) = Sample::parse(body, &attribute, self.order) else {
            self.short += u64::from(attribute.kind == TRACEPOINT);
            self.unknown += u64::from(attribute.kind != TRACEPOINT);
            return;
        };
        self.hold(tracepoint.time, Waiting::Tracepoint(tracepoint));
    }

    fn hold(&mut self, time: u64, what: Waiting) {
        self.seen = self.seen.max(time);
        self.held_bytes += what.bytes();
        self.held.push(Reverse(Held { time, number: self.count, what }));
        self.count += 1;
    }

    fn rename(&mut self, tid: u32, comm: String) {
        if self.names.len() < NAMES_MAX || self.names.contains_key(&tid) {
            self.names.insert(tid, comm);
        }
    }

    /// The time of a record that is no sample: the second of the numbers that it ends with, TID, TIME, ID, STREAM_ID, CPU
    /// and IDENTIFIER, as many of them as samples have. perf leaves 0 in records of what was there when it began.
    fn time_at_end(&self, body: &[u8]) -> Option<u64> {
        let first = *self.attributes.first()?;
        let from_end = |n: u64| {
            let at = body.len().checked_sub(8 * n as usize)?;
            Some(self.order.number(body.get(at..at + 8)?))
        };
        let place = |attribute: &Attribute, bits: &[u64]| {
            1 + bits.iter().filter(|bit| attribute.sample_type & **bit != 0).count() as u64
        };
        let attribute = match self.attributes.iter().all(|attribute| *attribute == first) {
            true => first,
            false => {
                let after_id: &[u64] = if first.sample_type & IDENTIFIER != 0 { &[] } else { &[STREAM_ID, CPU] };
                let id = from_end(place(&first, after_id))?;
                self.by_id.get(&id).and_then(|index| self.attributes.get(*index)).copied()?
            }
        };
        let has_time = attribute.ids_in_all && attribute.sample_type & TIME != 0;
        has_time.then(|| from_end(place(&attribute, &[ID, STREAM_ID, CPU, IDENTIFIER])))?
    }

    /// The attribute of a sample, by its id where there are several.
    fn attribute(&self, body: &[u8]) -> Option<Attribute> {
        let first = *self.attributes.first()?;
        if self.attributes.iter().all(|attribute| *attribute == first) {
            return Some(first);
        }
        // All attributes have the id at one place, or a reader could not tell them apart.
        let before = [IP, TID, TIME, ADDR].iter().filter(|bit| first.sample_type & **bit != 0).count();
        let at = if first.sample_type & IDENTIFIER != 0 { 0 } else { 8 * before };
        let id = self.order.number(body.get(at..at + 8)?);
        self.by_id.get(&id).and_then(|index| self.attributes.get(*index)).copied()
    }

    /// The next tracepoint in time order that is known. Names are those of its time then.
    fn seek(&mut self) -> Result<Option<Tracepoint>, TraceError> {
        loop {
            let may_go = self.ended || self.held.len() >= HELD_MAX || self.held_bytes >= HELD_BYTES_MAX;
            let is_next = |held: &Held, until: u64| may_go || held.time <= until;
            if !self.held.peek().is_some_and(|Reverse(held)| is_next(held, self.until)) {
                if self.ended {
                    return Ok(None);
                }
                self.ended = !self.record()?;
                continue;
            }
            let Some(Reverse(held)) = self.held.pop() else { continue };
            self.held_bytes -= held.what.bytes();
            let tracepoint = match held.what {
                Waiting::Tracepoint(tracepoint) => tracepoint,
                Waiting::Name { tid, comm } => {
                    self.rename(tid, comm);
                    continue;
                }
                Waiting::Fork { tid, parent } => {
                    match self.names.get(&parent).cloned() {
                        Some(comm) => self.rename(tid, comm),
                        // What had the number before is another thread.
                        None => _ = self.names.remove(&tid),
                    }
                    continue;
                }
            };
            let is_late = self.last.as_ref().is_some_and(|last| tracepoint.time < last.time);
            match self.events.get(self.common.kind.number(&tracepoint.raw, self.order)) {
                None => self.unknown += 1,
                Some(_) if is_late => self.late += 1,
                Some(plan) if plan.fits(&tracepoint.raw) => return Ok(Some(tracepoint)),
                Some(_) => self.short += 1,
            }
        }
    }
}

impl<R: ReadAt> EventSource for PerfDataReader<R> {
    fn next_event(&mut self) -> Result<Option<TraceEvent<'_>>, TraceError> {
        let Some(held) = self.seek()? else { return Ok(None) };
        let held = self.last.insert(held);
        let Some(plan) = self.events.get(self.common.kind.number(&held.raw, self.order)) else { return Ok(None) };
        plan.words(&held.raw, self.order, &mut self.words);
        let what = plan.event_kind(&held.raw, self.order, &self.words);
        // The sample has the thread in the pid namespace of perf, -1 after its end; the tracepoint has it as its own fields do.
        let pid = self.common.pid.number(&held.raw, self.order) as u32;
        let comm = match pid {
            0 => "<idle>",
            pid => self.names.get(&pid).map_or("<...>", String::as_str),
        };
        let context = Thread { comm, pid };
        let in_interrupt = self.common.in_interrupt(&held.raw, self.order);
        Ok(Some(TraceEvent { time: held.time, cpu: held.cpu, context, in_interrupt, what }))
    }

    fn unknown(&self) -> u64 {
        self.unknown
    }

    fn notes(&self) -> Vec<Note> {
        let counted = [
            (self.lost, "events were lost while it was recorded"),
            (self.late, "events came far behind later ones and are left out"),
            (self.short, "events are shorter than their formats say: they were passed over"),
        ];
        let cut = self.cut.then(|| Note::Loss("the last record has no end: the file is cut off".to_owned()));
        let notes = Note::losses(&counted).into_iter().chain(cut).chain(skipped_note(self.unknown));
        notes.map(|note| note.of_file(&self.name)).collect()
    }

    fn unexpected(&self, expected: &str) -> TraceError {
        let (time, cpu) = self.last.as_ref().map_or((0, 0), |last| (last.time, last.cpu));
        TraceError::Event { file: self.name.clone(), time, cpu, expected: expected.to_owned() }
    }
}

/// Reads the fields of a sample one after another.
struct Sample<'a> {
    rest: &'a [u8],
    order: Order,
}

impl Sample<'_> {
    /// The tracepoint of a sample; `None` if it is of something else, or too short.
    fn parse(body: &[u8], attribute: &Attribute, order: Order) -> Option<Tracepoint> {
        let Attribute { kind, sample_type, read_format, .. } = *attribute;
        let has = |bit: u64| sample_type & bit != 0;
        if kind != TRACEPOINT || !has(RAW) || !has(TIME) {
            return None;
        }
        let mut sample = Sample { rest: body, order };
        sample.words(u64::from(has(IDENTIFIER)) + u64::from(has(IP)))?;
        sample.words(u64::from(has(TID)))?;
        let time = sample.number(8)?;
        sample.words([ADDR, ID, STREAM_ID].iter().filter(|bit| has(**bit)).count() as u64)?;
        let cpu = if has(CPU) { (sample.number(4)? as u32, sample.number(4)?).0 } else { 0 };
        sample.words(u64::from(has(PERIOD)))?;
        if has(READ) {
            sample.values(read_format)?;
        }
        if has(CALLCHAIN) {
            let calls = sample.number(8)?;
            sample.words(calls)?;
        }
        let size = sample.number(4)?;
        let raw = sample.rest.get(..usize::try_from(size).ok()?)?.to_vec();
        Some(Tracepoint { time, cpu, raw })
    }

    fn number(&mut self, size: usize) -> Option<u64> {
        let (bytes, rest) = self.rest.split_at_checked(size)?;
        self.rest = rest;
        Some(self.order.number(bytes))
    }

    /// Skips numbers of 8 bytes.
    fn words(&mut self, n: u64) -> Option<()> {
        self.rest = self.rest.get(usize::try_from(n.checked_mul(8)?).ok()?..)?;
        Some(())
    }

    /// Skips the values of counters: PERF_FORMAT_TOTAL_TIME_ENABLED, TOTAL_TIME_RUNNING, ID, GROUP, LOST.
    fn values(&mut self, format: u64) -> Option<()> {
        let has = |bit: u64| u64::from(format & bit != 0);
        let (times, each) = (has(1) + has(2), 1 + has(4) + has(16));
        let values = if has(8) != 0 { self.number(8)? } else { 1 };
        self.words(values.checked_mul(each)?.checked_add(times)?)
    }
}

impl Head {
    fn read(input: &mut Input) -> Result<Head, TraceError> {
        let magic = input.bytes(8, "the signature of a perf.data file")?;
        input.order = if magic == SIGNATURES[1] { Order::Big } else { Order::Little };
        let at = input.at;
        let size = input.number(8, "the size of the header")?;
        if size < 72 {
            let expected = "a file that perf record has written to: what it writes to a pipe is not read";
            return Err(input.damaged(at, expected, format!("a header of {size} bytes")));
        }
        let attribute_size = input.number(8, "the size of an attribute")?;
        let attributes = (input.number(8, "attributes")?, input.number(8, "the size of all attributes")?);
        let data = (input.number(8, "records")?, input.number(8, "the size of all records")?);
        input.skip(16, "event types")?;
        let mut features = Vec::new();
        for word in 0..4_u64 {
            let bits = input.number(8, "features")?;
            features.extend((0..64).filter(|bit| bits >> bit & 1 != 0).map(|bit| 64 * word + bit));
        }
        if data.1 == 0 {
            return Err(input.damaged(at, "records: perf record was ended before it could finish the file", "none"));
        }
        let (attributes, by_id) = read_attributes(input, attributes, attribute_size)?;
        let place = features.iter().position(|feature| *feature == TRACING_DATA);
        let Some(place) = place else {
            let expected = "tracepoints, as of perf record -e 'sched:*' or perf sched record";
            return Err(input.damaged(at, expected, "other events alone"));
        };
        input.at = data.0.saturating_add(data.1).saturating_add(16 * place as u64);
        let (at, size) = (input.number(8, "the formats of tracepoints")?, input.number(8, "the size of all formats")?);
        let mut formats = Input {
            name: input.name,
            from: input.from,
            order: input.order,
            at,
            end: at.saturating_add(size).min(input.end),
        };
        let events = tracing_data(&mut formats)?;
        let common = events.common(&formats)?;
        Ok(Head { attributes, by_id, data, events, common })
    }
}

fn read_attributes(
    input: &mut Input,
    (at, size): (u64, u64),
    each: u64,
) -> Result<(Vec<Attribute>, BTreeMap<u64, usize>), TraceError> {
    let n = if each < 64 { 0 } else { size / each };
    if n == 0 || n > ATTRIBUTES_MAX {
        let expected = format!("1 to {ATTRIBUTES_MAX} attributes of at least 64 bytes");
        return Err(input.damaged(at, expected, format!("{size} bytes, each {each}")));
    }
    let (mut attributes, mut by_id, mut ids) = (Vec::new(), BTreeMap::new(), 0_u64);
    for index in 0..n {
        input.at = at.saturating_add(index * each);
        let kind = input.number(4, "an attribute")?;
        input.skip(20, "an attribute")?;
        let sample_type = input.number(8, "an attribute")?;
        let read_format = input.number(8, "an attribute")?;
        // A bit field: the 19th bit, which a machine of the other byte order counts from the other end of each byte.
        let mask = if input.order == Order::Big { 0x20 } else { 0x04 };
        let ids_in_all = input.bytes(8, "an attribute")?[2] & mask != 0;
        input.at = at.saturating_add((index + 1) * each - 16);
        let (ids_at, ids_size) = (input.number(8, "ids")?, input.number(8, "the size of ids")?);
        input.at = ids_at;
        ids = ids.saturating_add(ids_size / 8);
        if ids > IDS_MAX {
            return Err(input.damaged(ids_at, format!("at most {IDS_MAX} ids"), "more"));
        }
        for _ in 0..ids_size / 8 {
            by_id.insert(input.number(8, "an id")?, attributes.len());
        }
        attributes.push(Attribute { kind, sample_type, read_format, ids_in_all });
    }
    Ok((attributes, by_id))
}

/// The formats of tracepoints: the head of a trace.dat of version 0.5 or 0.6.
fn tracing_data(input: &mut Input) -> Result<Events, TraceError> {
    input.literal("\x17\x08\x44tracing", "the formats of tracepoints")?;
    input.string(STRING_MAX, "their version")?;
    input.order = if input.number(1, "their byte order")? == 0 { Order::Little } else { Order::Big };
    input.skip(5, "the size of a long and of a page")?;
    for part in ["header_page\0", "header_event\0"] {
        input.literal(part, part.trim_end_matches('\0'))?;
        let size = input.number(8, "the size of a header")?;
        input.skip(size, "a header")?;
    }
    let mut events = Events::default();
    events.ftrace(input)?;
    events.systems(input)?;
    Ok(events)
}
