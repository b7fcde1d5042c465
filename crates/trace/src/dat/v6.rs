//! Reads the layout of version 6: sections in fixed order.
//!
//! ```text
//! 17 08 44 "tracing" "6\0"  u8 byte order  u8 size of a long  u32 page size
//! "header_page\0" u64 size, text           "header_event\0" u64 size, text
//! u32 n, n times ftrace's formats: u64 size, text
//! u32 n, n times a system: "NAME\0" u32 m, m times u64 size, text
//! u32 size, kallsyms    u32 size, printk formats    u64 size, names of tasks
//! u32 CPUs
//! "options  \0" options: u16 kind, u32 size, bytes; ends with kind 0
//! "flyrecord\0" for each CPU u64 offset, u64 size
//! ```
//!
//! Source: trace-cmd.dat(5).

use super::bytes::Input;
use super::layout::{clock_note, nr_cpus, CpuPart, Events, FileHeader, Layout, PageLayout, Tasks, STRING_MAX};
use crate::note::Note;
use crate::TraceError;

const BUFFER: u64 = 3;
const CLOCK: u64 = 4;

pub fn read(mut input: Input, start: FileHeader) -> Result<Layout, TraceError> {
    let page = PageLayout::read(&mut input, start.page_size)?;
    let mut events = Events::default();
    events.ftrace(&mut input)?;
    events.systems(&mut input)?;
    for what in ["the size of kallsyms", "the size of printk formats"] {
        let size = input.number(4, what)?;
        input.skip(size, "what it is the size of")?;
    }
    let tasks = Tasks::read(&mut input)?;
    let nr_cpus = nr_cpus(&mut input, start.page_size)?;
    let mut notes = Vec::new();
    let at = input.at;
    let mut section = input.string(10, "options or flyrecord")?;
    if section == "options  " {
        options(&mut input, &mut notes)?;
        section = input.string(10, "flyrecord")?;
    }
    if section != "flyrecord" {
        let hint = if section == "latency  " { " (text of a latency tracer)" } else { "" };
        return Err(input.damaged(at, "flyrecord", format!("{section:?}{hint}")));
    }
    let mut cpus = Vec::new();
    for cpu in 0..nr_cpus as u32 {
        let at = input.number(8, "where the events of a CPU are")?;
        cpus.push(CpuPart { cpu, at, size: input.number(8, "the size of the events of a CPU")? });
    }
    let common = events.common(&input)?;
    let FileHeader { order, page_size, .. } = start;
    Ok(Layout { order, page_size, page, common, events, tasks, cpus, packed: None, notes })
}

fn options(input: &mut Input, notes: &mut Vec<Note>) -> Result<(), TraceError> {
    let mut buffers = 0;
    loop {
        let kind = input.number(2, "the kind of an option")?;
        if kind == 0 {
            break;
        }
        let size = input.number(4, "the size of an option")?;
        match kind {
            CLOCK => {
                let clock = input.block(size, STRING_MAX, "the name of a clock")?;
                notes.extend(clock_note(String::from_utf8_lossy(&clock).trim_end_matches('\0')));
            }
            _ => input.skip(size, "an option")?,
        }
        buffers += u64::from(kind == BUFFER);
    }
    if buffers > 0 {
        notes.push(Note::Loss(format!(
            "{buffers} more instances of the tracer are in the file: only the first is read"
        )));
    }
    Ok(())
}
