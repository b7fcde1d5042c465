//! What a file of version 6 has before its pages; [`crate::dat`]'s reader of that version has the layout.

use crate::dat::SIGNATURE;

/// Kind of the option with the tracer's clock.
const CLOCK: u16 = 4;

/// The parts of the head.
pub struct Head<'a> {
    /// Bytes of a page.
    pub page: usize,
    /// The layout of a page, as `header_page` of tracefs states it.
    pub header_page: &'a str,
    /// The layout of a record, as `header_event` of tracefs states it.
    pub header_event: &'a str,
    /// Formats of ftrace's own events.
    pub ftrace: Vec<String>,
    /// Systems, and the formats of their events.
    pub systems: Vec<(String, Vec<String>)>,
    /// Lines as in /proc/kallsyms.
    pub kallsyms: &'a str,
    /// Names of tasks: lines `PID NAME`.
    pub tasks: &'a str,
    /// `trace_clock` of tracefs; empty: ns that nobody names.
    pub clock: &'a str,
    /// Bytes of the pages of each CPU, multiples of a page.
    pub sizes: &'a [u64],
}

impl Head<'_> {
    /// As they stand in the file, up to the first page.
    pub fn bytes(&self) -> Vec<u8> {
        let mut head = [SIGNATURE, b"6\0", &[0, 8]].concat();
        head.extend((self.page as u32).to_le_bytes());
        head.extend(b"header_page\0");
        push_text(&mut head, self.header_page);
        head.extend(b"header_event\0");
        push_text(&mut head, self.header_event);
        push_formats(&mut head, &self.ftrace);
        head.extend((self.systems.len() as u32).to_le_bytes());
        for (system, formats) in &self.systems {
            head.extend(system.bytes().chain([0]));
            push_formats(&mut head, formats);
        }
        head.extend((self.kallsyms.len() as u32).to_le_bytes());
        head.extend(self.kallsyms.bytes());
        // The file has no formats of printk.
        head.extend(0_u32.to_le_bytes());
        push_text(&mut head, self.tasks);
        head.extend((self.sizes.len() as u32).to_le_bytes());
        head.extend(b"options  \0");
        if !self.clock.is_empty() {
            head.extend(CLOCK.to_le_bytes());
            head.extend((self.clock.len() as u32 + 1).to_le_bytes());
            head.extend(self.clock.bytes().chain([0]));
        }
        head.extend(b"\0\0flyrecord\0");
        let mut at = (head.len() + 16 * self.sizes.len()).next_multiple_of(self.page) as u64;
        for size in self.sizes {
            head.extend(at.to_le_bytes());
            head.extend(size.to_le_bytes());
            at += size;
        }
        head.resize(head.len().next_multiple_of(self.page), 0);
        head
    }
}

/// Appends their number as u32, then each.
fn push_formats(head: &mut Vec<u8>, formats: &[String]) {
    head.extend((formats.len() as u32).to_le_bytes());
    formats.iter().for_each(|format| push_text(head, format));
}

/// Appends the size of the text as u64, then the text.
fn push_text(head: &mut Vec<u8>, text: &str) {
    head.extend((text.len() as u64).to_le_bytes());
    head.extend(text.bytes());
}
