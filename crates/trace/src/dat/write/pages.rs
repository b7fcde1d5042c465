//! Pages of records, as the kernel's ring buffer has them.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use crate::dat::bytes::ReadAt;

/// Size of a page, bytes.
pub const PAGE: usize = 4096;
/// Size of a page's header, bytes.
const PAGE_HEAD: usize = 16;
/// Bytes of a record for which a page always has room.
pub const RECORD_MAX: usize = PAGE - PAGE_HEAD - 16;

/// Bits of the time since the record before; a longer time takes a time-extend record with this many more bits.
const DELTA_BITS: u32 = 27;
const EXTENDED_BITS: u32 = DELTA_BITS + 32;
const TIME_EXTEND: u32 = 30;
/// Longer records have their length in a word of its own.
const SMALL_MAX: usize = 28 * 4;

/// `header_page` of tracefs for such pages.
pub fn header() -> String {
    let data = PAGE - PAGE_HEAD;
    format!(
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
         \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
         \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
         \tfield: char data;\toffset:{PAGE_HEAD};\tsize:{data};\tsigned:1;\n"
    )
}

/// Fills pages, which go to a file as they get full.
pub struct Pages<'a> {
    spool: &'a File,
    out: BufWriter<&'a File>,
    /// The page that is being filled, by CPU.
    open: Vec<OpenPage>,
    /// The CPU of each page in the file.
    written: Vec<u32>,
}

#[derive(Clone, Default)]
struct OpenPage {
    first: u64,
    last: u64,
    data: Vec<u8>,
}

impl<'a> Pages<'a> {
    pub fn new(nr_cpus: usize, spool: &'a File) -> Pages<'a> {
        let out = BufWriter::with_capacity(1 << 16, spool);
        Pages { spool, out, open: vec![OpenPage::default(); nr_cpus], written: Vec::new() }
    }

    /// Adds a record of at most [`RECORD_MAX`] bytes.
    pub fn push(&mut self, cpu: usize, time: u64, record: &[u8]) -> io::Result<()> {
        let page = &self.open[cpu];
        let since = time.checked_sub(page.last).filter(|since| since >> EXTENDED_BITS == 0);
        // At most: an extension of time, the length, the record.
        let full = page.data.len() + 16 + record.len() > PAGE - PAGE_HEAD;
        if full || since.is_none() && !page.data.is_empty() {
            self.close(cpu)?;
        }
        let page = &mut self.open[cpu];
        if page.data.is_empty() {
            (page.first, page.last) = (time, time);
        }
        page.push(time - page.last, record);
        page.last = time;
        Ok(())
    }

    fn close(&mut self, cpu: usize) -> io::Result<()> {
        let page = &mut self.open[cpu];
        if page.data.is_empty() {
            return Ok(());
        }
        self.out.write_all(&page.first.to_le_bytes())?;
        self.out.write_all(&(page.data.len() as u64).to_le_bytes())?;
        page.data.resize(PAGE - PAGE_HEAD, 0);
        self.out.write_all(&page.data)?;
        page.data.clear();
        self.written.push(cpu as u32);
        Ok(())
    }

    pub fn finish(mut self) -> io::Result<PageFile<'a>> {
        (0..self.open.len()).try_for_each(|cpu| self.close(cpu))?;
        self.out.flush()?;
        let mut by_cpu = vec![Vec::new(); self.open.len()];
        (0_u32..).zip(&self.written).for_each(|(page, cpu)| by_cpu[*cpu as usize].push(page));
        Ok(PageFile { spool: self.spool, by_cpu })
    }
}

impl OpenPage {
    fn push(&mut self, since: u64, record: &[u8]) {
        let mut word = |n: u32| self.data.extend(n.to_le_bytes());
        let mut delta = since as u32;
        if since >> DELTA_BITS != 0 {
            let low = delta & ((1 << DELTA_BITS) - 1);
            word(TIME_EXTEND | (low << 5));
            word((since >> DELTA_BITS) as u32);
            delta = 0;
        }
        let len = record.len().next_multiple_of(4);
        match len <= SMALL_MAX {
            true => word((len as u32 / 4) | (delta << 5)),
            false => {
                word(delta << 5);
                word(len as u32 + 4);
            }
        }
        self.data.extend(record);
        self.data.resize(self.data.len().next_multiple_of(4), 0);
    }
}

/// Pages in a file, not in order.
pub struct PageFile<'a> {
    spool: &'a File,
    by_cpu: Vec<Vec<u32>>,
}

impl PageFile<'_> {
    /// Bytes of the pages of each CPU.
    pub fn sizes(&self) -> Vec<u64> {
        self.by_cpu.iter().map(|pages| (pages.len() * PAGE) as u64).collect()
    }

    /// Copies them, CPU by CPU.
    pub fn copy(&self, mut out: impl Write) -> io::Result<()> {
        let mut bytes = [0; PAGE];
        for page in self.by_cpu.iter().flatten() {
            if ReadAt::read_at(self.spool, &mut bytes, u64::from(*page) * PAGE as u64)? < PAGE {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            out.write_all(&bytes)?;
        }
        Ok(())
    }
}
