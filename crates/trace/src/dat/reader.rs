//! Reads a trace.dat file: the events of all CPUs, in the order of their times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::bytes::{Input, Order, ReadAt};
use super::decoder::EventText;
use super::layout::{CpuPart, FileHeader, Layout};
use super::stream::{FileContext, Stream, StreamFaults};
use super::{v6, v7};
use crate::note::Note;
use crate::source::skipped_note;
use crate::text::{Thread, TraceError, TraceEvent};
use crate::EventSource;

/// Reads the events of a trace.dat file, version 6 or 7, one by one. It keeps the layout and some pages of each CPU in
/// memory.
pub struct DatReader<R> {
    name: String,
    from: R,
    layout: Layout,
    streams: Vec<Stream>,
    /// Position of each CPU's stream, the first event first.
    heads: BinaryHeap<Reverse<StreamPosition>>,
    /// Memory reserved for chunks of all CPUs, compressed and decompressed, bytes.
    memory: u64,
    words: EventText,
    /// Time and stream of the last event.
    last: Option<(u64, usize)>,
    /// The stream of the current event, which must be advanced before the next one.
    to_advance: Option<usize>,
    unknown: u64,
    short: u64,
}

/// Order of events. Of the same time, events of our traces are ordered by turn, others by CPU, as in trace-cmd.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct StreamPosition {
    time: u64,
    turn: u64,
    stream: usize,
}

impl<R: ReadAt> DatReader<R> {
    /// `name` is the name of the trace in errors.
    ///
    /// # Errors
    /// If the file is not a trace.dat file, or cannot be read up to its events.
    pub fn new(name: &str, from: R) -> Result<DatReader<R>, TraceError> {
        let layout = read_layout(name, &from)?;
        let streams: Vec<Stream> = layout.cpus.iter().map(|part| Stream::new(*part)).collect();
        let mut reader = DatReader {
            name: name.to_owned(),
            from,
            layout,
            streams,
            heads: BinaryHeap::new(),
            memory: 0,
            words: EventText::default(),
            last: None,
            to_advance: None,
            unknown: 0,
            short: 0,
        };
        (0..reader.streams.len()).try_for_each(|stream| reader.advance(stream))?;
        Ok(reader)
    }

    /// Brings a stream to its next record.
    fn advance(&mut self, index: usize) -> Result<(), TraceError> {
        let DatReader { name, from, layout, memory, .. } = self;
        let stream = &mut self.streams[index];
        if let Some(time) = stream.advance(&mut FileContext { name, from, layout, memory })? {
            let record = stream.record();
            let turn = layout.common.turn.as_ref().map_or(0, |turn| turn.number(record, layout.order));
            self.heads.push(Reverse(StreamPosition { time, turn, stream: index }));
        }
        Ok(())
    }

    /// Goes to the next event that is known.
    fn seek(&mut self) -> Result<Option<StreamPosition>, TraceError> {
        loop {
            if let Some(stream) = self.to_advance.take() {
                self.advance(stream)?;
            }
            let Some(Reverse(head)) = self.heads.pop() else { return Ok(None) };
            self.to_advance = Some(head.stream);
            let record = self.streams[head.stream].record();
            let Layout { order, common, events, .. } = &self.layout;
            match events.get(common.kind.number(record, *order)) {
                None => self.unknown += 1,
                Some(plan) if plan.fits(record) && record.len() >= common.pid.end() => return Ok(Some(head)),
                Some(_) => self.short += 1,
            }
        }
    }
}

impl<R: ReadAt> EventSource for DatReader<R> {
    fn next_event(&mut self) -> Result<Option<TraceEvent<'_>>, TraceError> {
        let Some(head) = self.seek()? else { return Ok(None) };
        self.last = Some((head.time, head.stream));
        let stream = &self.streams[head.stream];
        let Layout { order, common, events, tasks, .. } = &self.layout;
        let record = stream.record();
        let Some(plan) = events.get(common.kind.number(record, *order)) else { return Ok(None) };
        plan.words(record, *order, &mut self.words);
        let what = plan.event_kind(record, *order, &self.words);
        let pid = common.pid.number(record, *order) as u32;
        let context = Thread { comm: tasks.comm(pid), pid };
        let in_interrupt = common.in_interrupt(record, *order);
        Ok(Some(TraceEvent { time: head.time, cpu: stream.cpu, context, in_interrupt, what }))
    }

    fn unknown(&self) -> u64 {
        self.unknown
    }

    fn notes(&self) -> Vec<Note> {
        let sum =
            |what: fn(&StreamFaults) -> u64| self.streams.iter().map(|s| what(&s.faults)).fold(0, u64::saturating_add);
        let (lost, unknown) = (sum(|t| t.lost), sum(|t| t.lost_unknown));
        let (damaged, cut) = (sum(|t| t.damaged), sum(|t| t.cut));
        let mut notes = self.layout.notes.clone();
        notes.extend(Note::losses(&[(lost, "events were lost while it was recorded")]));
        if unknown > 0 {
            let times = format!("events were lost {unknown} times while it was recorded, it does not say how many");
            notes.push(Note::Loss(times));
        }
        notes.extend(Note::losses(&[
            (damaged, "pages of events are damaged: their rest was passed over"),
            (self.short, "events are shorter than their formats say: they were passed over"),
        ]));
        if cut > 0 {
            let cpus = self.streams.iter().filter(|s| s.faults.cut > 0).count();
            notes.push(Note::Loss(format!("the file is cut off: {cut} bytes of events of {cpus} CPUs are missing")));
        }
        notes.extend(skipped_note(self.unknown));
        notes.into_iter().map(|note| note.of_file(&self.name)).collect()
    }

    fn unexpected(&self, expected: &str) -> TraceError {
        let (time, stream) = self.last.unwrap_or_default();
        let cpu = self.streams.get(stream).map_or(0, |s| s.cpu);
        TraceError::Event { file: self.name.clone(), time, cpu, expected: expected.to_owned() }
    }
}

/// Reads the layout of a file.
fn read_layout(name: &str, from: &dyn ReadAt) -> Result<Layout, TraceError> {
    let end = from.size().map_err(|e| TraceError::Io { file: name.to_owned(), cause: e.to_string() })?;
    let mut input = Input { name, from, order: Order::Little, at: 0, end };
    let start = FileHeader::read(&mut input)?;
    let layout = match start.version.as_str() {
        "6" => v6::read(input, start),
        _ => v7::read(input, start),
    }?;
    apart(name, &layout.cpus)?;
    Ok(layout)
}

/// Makes sure that no events are those of two CPUs: a file would be read as many times as it says.
fn apart(name: &str, cpus: &[CpuPart]) -> Result<(), TraceError> {
    let mut parts: Vec<&CpuPart> = cpus.iter().filter(|part| part.size > 0).collect();
    parts.sort_by_key(|part| part.at);
    let shared = parts.windows(2).find(|two| two[0].at.saturating_add(two[0].size) > two[1].at);
    shared.map_or(Ok(()), |two| {
        let (a, b) = (two[0].cpu, two[1].cpu);
        let expected = "events of each CPU in a place of their own".into();
        Err(TraceError::Damaged {
            file: name.into(),
            at: two[1].at,
            expected,
            found: format!("those of CPUs {a} and {b}"),
        })
    })
}
