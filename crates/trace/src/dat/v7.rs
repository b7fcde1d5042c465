//! Reads the layout of version 7: sections, found by options, may be compressed.
//!
//! ```text
//! 17 08 44 "tracing" "7\0"  u8 byte order  u8 size of a long  u32 page size
//! "COMPRESSION\0" "VERSION\0"  u64 where the first section of options is
//! section: u16 kind, u16 flags (1: compressed), u32 where its name is, u64 size, content
//! compressed content: u32 size, u32 size as it was, bytes
//! options: u16 kind, u32 size, bytes; the last has kind 0 and says where more options are
//! ```
//!
//! Source: trace-cmd.dat.v7(5).

use std::collections::BTreeSet;

use super::bytes::Input;
use super::layout::{
    clock_note, nr_cpus, page_size, CpuPart, Events, FileHeader, Layout, PageLayout, Tasks, STRING_MAX,
};
use super::packed::{unpack, Compression};
use crate::note::Note;
use crate::TraceError;

/// Kinds of options and of the sections that they point at.
const DONE: u64 = 0;
const BUFFER: u64 = 3;
const HEADER_INFO: u64 = 16;
const FTRACE_EVENTS: u64 = 17;
const EVENT_FORMATS: u64 = 18;
const CMDLINES: u64 = 21;

/// Sections of options, each of which points at the next.
const OPTION_SECTIONS_MAX: usize = 1024;
/// More instances of the tracer than anybody makes.
const INSTANCES_MAX: usize = 4096;
/// Bytes of a section once it is uncompressed; those that are read are a few MB.
const SECTION_MAX: u64 = 64 << 20;
/// Bytes of a header of a section.
const SECTION_HEADER: u64 = 16;

/// Where sections are; 0: nowhere.
#[derive(Default)]
struct SectionOffsets {
    header_info: u64,
    ftrace_events: u64,
    event_formats: u64,
    cmdlines: u64,
}

/// The trace of an instance of the tracer.
struct Buffer {
    section: u64,
    page_size: u64,
    cpus: Vec<CpuPart>,
}

pub fn read(mut input: Input, start: FileHeader) -> Result<Layout, TraceError> {
    let at = input.at;
    let packing = match input.string(STRING_MAX, "the name of a compression")?.as_str() {
        "none" => None,
        "zlib" => Some(Compression::Zlib),
        "zstd" => Some(Compression::Zstd),
        other => return Err(input.damaged(at, "the compression zlib, zstd or none", format!("{other:?}"))),
    };
    input.string(STRING_MAX, "the version of a compression")?;
    let options = input.number(8, "where the options are")?;
    let mut notes = Vec::new();
    let (places, buffers) = all_options(&mut input, options, packing, &mut notes)?;

    let mut events = Events::default();
    section(&mut input, places.ftrace_events, FTRACE_EVENTS, packing, |i| events.ftrace(i))?;
    section(&mut input, places.event_formats, EVENT_FORMATS, packing, |i| events.systems(i))?;
    let mut tasks = Tasks::default();
    section(&mut input, places.cmdlines, CMDLINES, packing, |i| Tasks::read(i).map(|read| tasks = read))?;

    let mut buffers = buffers.into_iter();
    let buffer = buffers.next().unwrap_or(Buffer { section: 0, page_size: start.page_size, cpus: Vec::new() });
    if buffers.len() > 0 {
        notes.push(Note::Loss(format!(
            "{} more instances of the tracer are in the file: only the first is read",
            buffers.len()
        )));
    }
    let mut page = None;
    section(&mut input, places.header_info, HEADER_INFO, packing, |i| {
        page = Some(PageLayout::read(i, buffer.page_size)?);
        Ok(())
    })?;
    let page = page.ok_or_else(|| input.damaged(input.at, "an option that says where header_page is", "none"))?;
    let packed = match buffer.section {
        0 => None,
        at => header(&mut input, at, BUFFER)?.1.then_some(packing).flatten(),
    };
    let common = events.common(&input)?;
    let Buffer { page_size, cpus, .. } = buffer;
    Ok(Layout { order: start.order, page_size, page, common, events, tasks, cpus, packed, notes })
}

/// Goes to a section: its size, and whether it is compressed.
fn header(input: &mut Input, at: u64, kind: u64) -> Result<(u64, bool), TraceError> {
    input.at = at;
    let found = input.number(2, "the kind of a section")?;
    if found != kind {
        return Err(input.damaged(at, format!("a section of kind {kind}"), found.to_string()));
    }
    let flags = input.number(2, "the flags of a section")?;
    input.skip(4, "the name of a section")?;
    let size = input.number(8, "the size of a section")?;
    Ok((size, flags & 1 != 0))
}

/// Reads a section, if there is one.
fn section(
    input: &mut Input,
    at: u64,
    kind: u64,
    packing: Option<Compression>,
    read: impl FnOnce(&mut Input) -> Result<(), TraceError>,
) -> Result<(), TraceError> {
    if at == 0 {
        return Ok(());
    }
    let (size, compressed) = header(input, at, kind)?;
    let Input { name, from, order, .. } = *input;
    let Some(packing) = packing.filter(|_| compressed) else {
        let end = (at + SECTION_HEADER).saturating_add(size).min(input.end);
        return read(&mut Input { name, from, order, at: input.at, end });
    };
    let packed_size = input.number(4, "the size of a compressed section")?;
    let before = input.number(4, "the size of an uncompressed section")?;
    let packed = input.block(packed_size, SECTION_MAX, "a compressed section")?;
    if before > SECTION_MAX {
        return Err(input.damaged(at, format!("a section of at most {SECTION_MAX} bytes"), before.to_string()));
    }
    let mut content = Vec::new();
    unpack(packing, &packed, before as usize, &mut content).map_err(|problem| {
        input.damaged(at, format!("a compressed section of {before} bytes"), format!("one that {problem}"))
    })?;
    let name = format!("{name}, uncompressed section of byte {at}");
    let end = content.len() as u64;
    read(&mut Input { name: &name, from: &content, order, at: 0, end })
}

fn all_options(
    input: &mut Input,
    mut at: u64,
    packing: Option<Compression>,
    notes: &mut Vec<Note>,
) -> Result<(SectionOffsets, Vec<Buffer>), TraceError> {
    let mut places = SectionOffsets::default();
    let mut buffers = Vec::new();
    let mut seen = BTreeSet::new();
    while seen.len() < OPTION_SECTIONS_MAX {
        if !seen.insert(at) {
            return Err(input.damaged(at, "a section of options that has not come before", "the same once more"));
        }
        let mut next = 0;
        section(input, at, DONE, packing, |i| {
            next = options(i, &mut places, &mut buffers, notes)?;
            Ok(())
        })?;
        if next == 0 {
            return Ok((places, buffers));
        }
        at = next;
    }
    Err(input.damaged(at, format!("at most {OPTION_SECTIONS_MAX} sections of options"), "more"))
}

/// Reads options; where more are.
fn options(
    input: &mut Input,
    places: &mut SectionOffsets,
    buffers: &mut Vec<Buffer>,
    notes: &mut Vec<Note>,
) -> Result<u64, TraceError> {
    loop {
        let kind = input.number(2, "the kind of an option")?;
        let size = input.number(4, "the size of an option")?;
        let start = input.at;
        let place = match kind {
            DONE => return input.number(8, "where more options are"),
            BUFFER => {
                // Memory is for one; the rest are counted.
                let buffer = read_buffer(input, notes, buffers.is_empty())?;
                buffers.push(buffer);
                if buffers.len() > INSTANCES_MAX {
                    return Err(input.damaged(start, format!("at most {INSTANCES_MAX} instances"), "more"));
                }
                None
            }
            HEADER_INFO => Some(&mut places.header_info),
            FTRACE_EVENTS => Some(&mut places.ftrace_events),
            EVENT_FORMATS => Some(&mut places.event_formats),
            CMDLINES => Some(&mut places.cmdlines),
            _ => None,
        };
        if let Some(place) = place {
            *place = input.number(8, "where a section is")?;
        }
        input.at = start;
        input.skip(size, "an option")?;
    }
}

fn read_buffer(input: &mut Input, notes: &mut Vec<Note>, first: bool) -> Result<Buffer, TraceError> {
    let section = input.number(8, "where the events of an instance are")?;
    input.string(STRING_MAX, "the name of an instance")?;
    let clock = input.string(STRING_MAX, "the clock of an instance")?;
    let page_size = page_size(input)?;
    let mut cpus = Vec::new();
    if first {
        notes.extend(clock_note(&clock));
        for _ in 0..nr_cpus(input, page_size)? {
            let cpu = input.number(4, "the number of a CPU")? as u32;
            let at = input.number(8, "where the events of a CPU are")?;
            cpus.push(CpuPart { cpu, at, size: input.number(8, "the size of the events of a CPU")? });
        }
    }
    Ok(Buffer { section, page_size, cpus })
}
