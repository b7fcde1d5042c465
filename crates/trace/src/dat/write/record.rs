//! Encodes events from lines of text as binary records.

use super::events::{Event, Field, Kind, COMMON, EVENTS, OURS, PRINT};
use super::pages::RECORD_MAX;
use crate::text::Line;

/// Bytes of a text that does not stand last: names of rules and levels are much shorter.
const TEXT_MAX: usize = 256;
/// Where [`super::KALLSYMS`] has what processes say.
const MARK_WRITE: u64 = 0xffff_ffff_8100_0000;

/// Encodes events as binary records of trace.dat.
pub struct Encoder {
    /// For each of [`EVENTS`]: offsets of its fields, and offset of their end.
    places: Vec<(Vec<usize>, usize)>,
    /// Which of [`EVENTS`] have occurred so far.
    pub used: Vec<bool>,
    turn: u32,
    record: Vec<u8>,
    /// Number of events with a name or a text that was cut.
    pub cut: u64,
}

/// Why a line cannot be encoded.
pub enum Problem {
    /// The event is not one of [`EVENTS`].
    Event,
    /// The event lacks this field, or its value is invalid.
    Field(&'static str),
}

impl Encoder {
    pub fn new() -> Encoder {
        let places = EVENTS.iter().map(Event::offsets).collect();
        Encoder { places, used: vec![false; EVENTS.len()], turn: 0, record: Vec::new(), cut: 0 }
    }

    /// Encodes a line as a record.
    pub fn encode(&mut self, line: &Line) -> Result<&[u8], Problem> {
        let said = (line.event == "print").then(|| line.fields.strip_prefix("tracing_mark_write: ")).flatten();
        self.turn = self.turn.wrapping_add(1);
        match said {
            None => self.event(line, line.event, line.fields, |_| true)?,
            // An event with a format of its own is not encoded as a print.
            Some(said) => {
                let (name, fields) = said.split_once(": ").unwrap_or((said, ""));
                if self.event(line, name, fields, |event| event.system == OURS).is_err() {
                    self.print(line, said);
                }
            }
        }
        Ok(&self.record)
    }

    fn event(&mut self, line: &Line, name: &str, text: &str, may: fn(&Event) -> bool) -> Result<(), Problem> {
        let known = EVENTS.iter().position(|event| event.name == name && may(event)).ok_or(Problem::Event)?;
        let event = &EVENTS[known];
        let values = values(event.fields, text)?;
        self.used[known] = true;
        self.begin(line, event.id, self.places[known].1);
        let mut whole = true;
        for (i, (field, value)) in event.fields.iter().zip(values).enumerate() {
            whole &= put(&mut self.record, field, value, self.places[known].0[i])?;
        }
        self.cut += u64::from(!whole);
        Ok(())
    }

    /// Encodes a write to trace_marker.
    fn print(&mut self, line: &Line, said: &str) {
        let (_, end) = PRINT.offsets();
        self.begin(line, PRINT.id, end);
        let ip = end - Kind::U64.size();
        self.record[ip..].copy_from_slice(&MARK_WRITE.to_le_bytes());
        let text = cut(said, RECORD_MAX - end - 2);
        self.cut += u64::from(text.len() < said.len());
        self.record.extend(text);
        self.record.extend(b"\n\0");
    }

    /// A record of `len` bytes with what all have in common.
    fn begin(&mut self, line: &Line, id: u16, len: usize) {
        self.record.clear();
        self.record.resize(len, 0);
        self.record[..2].copy_from_slice(&id.to_le_bytes());
        self.record[4..8].copy_from_slice(&line.context.map_or(0, |ran| ran.pid).to_le_bytes());
        self.record[8..COMMON].copy_from_slice(&self.turn.to_le_bytes());
    }
}

/// The values of `KEY=VALUE ...`, one for each field. Names may hold anything: values are looked for from the end, but
/// for one that stands last and may hold anything too.
fn values<'a>(fields: &[Field], text: &'a str) -> Result<Vec<&'a str>, Problem> {
    let (mut rest, mut values) = (text, Vec::with_capacity(fields.len()));
    for (i, field) in fields.iter().enumerate().rev() {
        let missing = Problem::Field(field.key);
        if i == 0 {
            values.push(rest.strip_prefix(field.key).and_then(|v| v.strip_prefix('=')).ok_or(missing)?);
            break;
        }
        let key = format!(" {}=", field.key);
        let free = i + 1 == fields.len() && field.kind == Kind::Text;
        let split = if free { rest.split_once(&key) } else { rest.rsplit_once(&key) };
        let (before, value) = split.ok_or(missing)?;
        values.push(value);
        rest = before;
    }
    values.reverse();
    Ok(values)
}

/// Puts a value in its place: whether all of it.
fn put(record: &mut Vec<u8>, field: &Field, value: &str, at: usize) -> Result<bool, Problem> {
    let bad = |_| Problem::Field(field.key);
    let mut copy = |bytes: &[u8]| record[at..at + bytes.len()].copy_from_slice(bytes);
    match field.kind {
        Kind::Pid | Kind::Int => copy(&value.parse::<i32>().map_err(bad)?.to_le_bytes()),
        Kind::U32 => copy(&value.parse::<u32>().map_err(bad)?.to_le_bytes()),
        Kind::U64 => copy(&value.parse::<u64>().map_err(bad)?.to_le_bytes()),
        Kind::Long => copy(&value.parse::<i64>().map_err(bad)?.to_le_bytes()),
        Kind::Comm => {
            let name = cut(value, Kind::Comm.size() - 1);
            copy(name);
            return Ok(name.len() == value.len());
        }
        Kind::Text | Kind::Rest => {
            let last = field.key == "text" || field.key == "mark";
            let room = (RECORD_MAX - record.len()).saturating_sub(1);
            let text = cut(value, if last { room } else { room.min(TEXT_MAX) });
            let place = ((text.len() as u32 + 1) << 16) | record.len() as u32;
            record[at..at + 4].copy_from_slice(&place.to_le_bytes());
            record.extend(text);
            record.push(0);
            return Ok(text.len() == value.len());
        }
    }
    Ok(true)
}

/// The beginning of `text`, at most `most` bytes, cut between characters.
fn cut(text: &str, most: usize) -> &[u8] {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    &text.as_bytes()[..end]
}
