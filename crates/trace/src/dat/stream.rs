//! The records of one CPU, one after the other.

use super::bytes::{Input, ReadAt};
use super::layout::{CpuPart, Layout, PAGES_MAX};
use super::packed::unpack;
use super::page::{LostEvents, Page, PageItem};
use crate::TraceError;

/// Bytes that are read at a time, if there are few CPUs.
const CHUNK: u64 = 256 << 10;
/// Bytes of all CPUs together that are read ahead.
const AHEAD: u64 = 32 << 20;
/// Most bytes of a chunk, compressed or not, and most pages of one that is not compressed; trace-cmd makes chunks of ten
/// pages.
const PACKED_MAX: u64 = 16 << 20;
const PACKED_PAGES_MAX: u64 = 1024;

/// Bytes of the number of chunks, which the size of a part leaves out.
const CHUNKS: u64 = 4;

/// Reads one CPU's part of a file.
pub struct Stream {
    pub cpu: u32,
    part: CpuPart,
    /// Bytes read of the part.
    read: u64,
    /// Chunks that are still to be read; `None` if the part is not compressed, or nothing of it has been read.
    chunks: Option<u64>,
    /// The chunk read last: its compressed bytes, and its size uncompressed.
    chunk: (Vec<u8>, usize),
    /// The most bytes that chunks of this part have taken.
    reserved: u64,
    buffer: Vec<u8>,
    /// Where the present page ends in the buffer.
    page_end: usize,
    page: Page,
    /// Start and end of the last record in the buffer.
    record: (usize, usize),
    /// Faults found so far, for notes.
    pub faults: StreamFaults,
}

/// Faults of one CPU's part of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamFaults {
    /// Events known to be lost.
    pub lost: u64,
    /// Times that an unknown number of them was lost.
    pub lost_unknown: u64,
    /// Pages that were skipped, whole or from a fault on.
    pub damaged: u64,
    /// Bytes that should be in the file and are not.
    pub cut: u64,
}

/// What all streams of a file have in common.
pub struct FileContext<'a> {
    pub name: &'a str,
    pub from: &'a dyn ReadAt,
    pub layout: &'a Layout,
    /// Bytes that the chunks of all CPUs take.
    pub memory: &'a mut u64,
}

impl Stream {
    pub fn new(part: CpuPart) -> Stream {
        Stream {
            cpu: part.cpu,
            part,
            read: 0,
            chunks: None,
            chunk: (Vec::new(), 0),
            reserved: 0,
            buffer: Vec::new(),
            page_end: 0,
            page: Page::default(),
            record: (0, 0),
            faults: StreamFaults::default(),
        }
    }

    /// Advances to the next record. Returns its time; `None` at the end.
    pub fn advance(&mut self, shared: &mut FileContext) -> Result<Option<u64>, TraceError> {
        let order = shared.layout.order;
        loop {
            match self.page.next(&self.buffer, order) {
                PageItem::Record { start, end } => {
                    self.record = (start, end);
                    return Ok(Some(self.page.time));
                }
                PageItem::End => {}
                PageItem::Damaged => self.faults.damaged += 1,
            }
            if !self.next_page(shared)? {
                return Ok(None);
            }
        }
    }

    /// Bytes of the record that was read last.
    pub fn record(&self) -> &[u8] {
        &self.buffer[self.record.0..self.record.1]
    }

    fn next_page(&mut self, shared: &mut FileContext) -> Result<bool, TraceError> {
        let layout = shared.layout;
        if self.page_end >= self.buffer.len() && !self.fill(shared)? {
            return Ok(false);
        }
        let start = self.page_end;
        self.page_end = (start + layout.page_size as usize).min(self.buffer.len());
        match Page::open(&self.buffer, start, self.page_end, &layout.page, layout.order) {
            Some((page, lost, too_long)) => {
                self.page = page;
                self.faults.damaged += u64::from(too_long);
                match lost {
                    LostEvents::None => {}
                    LostEvents::Some(n) => self.faults.lost = self.faults.lost.saturating_add(n),
                    LostEvents::Unknown => self.faults.lost_unknown += 1,
                }
            }
            None => {
                self.page = Page::default();
                self.faults.damaged += 1;
            }
        }
        Ok(true)
    }

    /// Reads more pages; false at the end.
    fn fill(&mut self, shared: &mut FileContext) -> Result<bool, TraceError> {
        self.page_end = 0;
        self.buffer.clear();
        let Some(packing) = shared.layout.packed else {
            self.fill_plain(shared)?;
            return Ok(!self.buffer.is_empty());
        };
        // Each chunk stands by itself: after one that is damaged comes the next.
        while self.next_chunk(shared)? {
            let (packed, unpacked) = &self.chunk;
            if unpack(packing, packed, *unpacked, &mut self.buffer).is_err() {
                self.faults.damaged += (*unpacked as u64).div_ceil(shared.layout.page_size).max(1);
                self.buffer.clear();
            }
            if !self.buffer.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn fill_plain(&mut self, shared: &FileContext) -> Result<(), TraceError> {
        let page = shared.layout.page_size;
        let share = (AHEAD / shared.layout.cpus.len().max(1) as u64).min(CHUNK);
        let n = (share / page).max(1) * page;
        let wanted = n.min(self.part.size - self.read);
        self.buffer.resize(wanted as usize, 0);
        let read = shared.from.read_at(&mut self.buffer, self.part.at.saturating_add(self.read));
        let read = read.map_err(|e| TraceError::Io { file: shared.name.to_owned(), cause: e.to_string() })?;
        self.buffer.truncate(read);
        self.read += read as u64;
        if (read as u64) < wanted {
            self.faults.cut = self.part.size - self.read;
            self.part.size = self.read;
        }
        Ok(())
    }

    /// Reads a compressed chunk; false at the end.
    fn next_chunk(&mut self, shared: &mut FileContext) -> Result<bool, TraceError> {
        let CpuPart { at, size, .. } = self.part;
        if size == 0 || self.chunks == Some(0) {
            return Ok(false);
        }
        let size_of_file = shared.from.size().unwrap_or(u64::MAX);
        let (start, end) =
            (at.saturating_add(self.read), at.saturating_add(size).saturating_add(CHUNKS).min(size_of_file));
        let mut input = Input { name: shared.name, from: shared.from, order: shared.layout.order, at: start, end };
        let Ok((left, packed, unpacked)) = chunk_header(&mut input, self.chunks) else { return Ok(self.end_here()) };
        if left == 0 {
            return Ok(false);
        }
        let most = PACKED_MAX.min(PACKED_PAGES_MAX * shared.layout.page_size);
        if packed > most || unpacked > most {
            let most = format!("a chunk of at most {most} bytes");
            return Err(input.damaged(start, most, packed.max(unpacked).to_string()));
        }
        self.reserve(shared, packed + unpacked, start)?;
        let Ok(bytes) = input.bytes(packed, "a chunk") else { return Ok(self.end_here()) };
        self.chunk = (bytes, unpacked as usize);
        (self.chunks, self.read) = (Some(left - 1), input.at - at);
        Ok(true)
    }

    /// Ends the part where the file is cut off within it; returns false, as at any end.
    fn end_here(&mut self) -> bool {
        self.faults.cut = self.part.size.saturating_add(CHUNKS).saturating_sub(self.read).max(1);
        self.part.size = 0;
        false
    }

    /// Makes sure that the chunks of all CPUs together fit into memory.
    fn reserve(&mut self, shared: &mut FileContext, needed: u64, at: u64) -> Result<(), TraceError> {
        *shared.memory += needed.saturating_sub(self.reserved);
        self.reserved = self.reserved.max(needed);
        match *shared.memory > PAGES_MAX {
            false => Ok(()),
            true => Err(TraceError::Damaged {
                file: shared.name.to_owned(),
                at,
                expected: format!("chunks of all CPUs of {PAGES_MAX} bytes at most"),
                found: "more".into(),
            }),
        }
    }
}

/// Reads the head of a chunk: how many chunks are left with this one, its size compressed, and its size uncompressed.
/// `left`: how many are left; `None` if the file is still to say it.
fn chunk_header(input: &mut Input, left: Option<u64>) -> Result<(u64, u64, u64), TraceError> {
    let left = match left {
        Some(left) => left,
        None => input.number(4, "the number of chunks")?,
    };
    match left {
        0 => Ok((0, 0, 0)),
        _ => Ok((left, input.number(4, "the size of a chunk")?, input.number(4, "the size of a chunk")?)),
    }
}
