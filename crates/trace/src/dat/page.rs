//! Pages of the kernel's ring buffer.
//!
//! ```text
//! u64 time of the first event   long length of the data, bit 31: events before it were lost, bit 30: how many is
//!                               behind the data   data
//! data: u32 type 5 bits, delta 27 bits (the low bits first in little-endian files), content
//!   type 1 to 28: this many words of 4 bytes
//!   0:  the first word is the length, itself included
//!   29: padding; to the end of the page, if delta is 0
//!   30: time goes on by delta and by the first word << 27
//!   31: the time itself, likewise, without its 5 high bits
//! ```
//!
//! Source: `header_event` of tracefs, and the kernel's description of its ring buffer.

use super::bytes::Order;
use super::layout::PageLayout;

/// Bit in the length of the data: events were lost.
const LOST: u64 = 1 << 31;
/// Bit in the length of the data: the number of lost events follows the data.
const LOST_COUNTED: u64 = 1 << 30;
const LENGTH: u64 = (1 << 27) - 1;

const DELTA_BITS: u32 = 27;
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Bits of a time stamp.
const STAMP: u64 = (1 << 59) - 1;

/// Reading position in a page.
#[derive(Clone, Copy, Debug, Default)]
pub struct Page {
    /// Time of the last record, ns.
    pub time: u64,
    /// The next record, in the buffer.
    at: usize,
    end: usize,
}

/// Events that were lost before a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostEvents {
    None,
    Some(u64),
    Unknown,
}

/// What comes next in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageItem {
    /// A record, in the buffer.
    Record { start: usize, end: usize },
    /// The page has no more records.
    End,
    /// The rest of the page is damaged.
    Damaged,
}

impl Page {
    /// Reads the header of the page at `start` to `end` in `buffer`. `None` if that is too short for a page.
    pub fn open(
        buffer: &[u8],
        start: usize,
        end: usize,
        layout: &PageLayout,
        order: Order,
    ) -> Option<(Page, LostEvents, bool)> {
        let bytes = buffer.get(start..end)?;
        let number = |(at, size): (usize, usize)| bytes.get(at..at + size).map(|b| order.number(b));
        let (time, length) = (number(layout.time)?, number(layout.length)?);
        let at = start.checked_add(layout.data).filter(|at| *at <= end)?;
        let data = at + (length & LENGTH) as usize;
        let lost = match length & LOST {
            0 => LostEvents::None,
            _ if length & LOST_COUNTED != 0 => {
                let count = buffer.get(data..data + layout.length.1).filter(|_| data + layout.length.1 <= end);
                count.map(|b| order.number(b)).filter(|n| *n > 0).map_or(LostEvents::Unknown, LostEvents::Some)
            }
            _ => LostEvents::Unknown,
        };
        Some((Page { time, at, end: data.min(end) }, lost, data > end))
    }

    /// Reads the next record of the page.
    pub fn next(&mut self, buffer: &[u8], order: Order) -> PageItem {
        loop {
            if self.at >= self.end {
                return PageItem::End;
            }
            let word = |at: usize| buffer.get(at..at + 4).filter(|_| at + 4 <= self.end);
            let Some(head) = word(self.at).map(|b| order.number(b) as u32) else { return PageItem::Damaged };
            let (kind, delta) = match order {
                Order::Little => (head & 31, u64::from(head >> 5)),
                Order::Big => (head >> DELTA_BITS, u64::from(head & ((1 << DELTA_BITS) - 1))),
            };
            let content = self.at + 4;
            if let 1..=28 = kind {
                return self.record(delta, content, 4 * kind as usize);
            }
            if kind == PADDING && delta == 0 {
                return PageItem::End;
            }
            let Some(first) = word(content).map(|b| order.number(b)) else { return PageItem::Damaged };
            match kind {
                0 if first < 4 => return PageItem::Damaged,
                0 => return self.record(delta, content + 4, first as usize - 4),
                PADDING => self.at = content + (first as usize).next_multiple_of(4),
                TIME_EXTEND => {
                    self.time = self.time.wrapping_add(delta + (first << DELTA_BITS));
                    self.at = content + 4;
                }
                TIME_STAMP => {
                    self.time = (self.time & !STAMP) | ((delta + (first << DELTA_BITS)) & STAMP);
                    self.at = content + 4;
                }
                _ => return PageItem::Damaged,
            }
        }
    }

    fn record(&mut self, delta: u64, start: usize, len: usize) -> PageItem {
        let end = start + len;
        if end > self.end {
            return PageItem::Damaged;
        }
        self.time = self.time.wrapping_add(delta);
        self.at = end.next_multiple_of(4);
        PageItem::Record { start, end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: PageLayout = PageLayout { time: (0, 8), length: (8, 8), data: 16 };

    /// Data of `len` bytes in a page of 64, whose last bytes are 5.
    fn lost(flags: u64, data: u64) -> LostEvents {
        let mut page = [7_u64.to_le_bytes(), (flags | data).to_le_bytes()].concat();
        page.resize(56, 0);
        page.extend(5_u64.to_le_bytes());
        Page::open(&page, 0, 64, &LAYOUT, Order::Little).unwrap().1
    }

    #[test]
    fn a_count_of_lost_events_that_is_not_there_is_not_known() {
        assert_eq!(lost(0, 40), LostEvents::None);
        assert_eq!(lost(LOST, 40), LostEvents::Unknown);
        assert_eq!(lost(LOST | LOST_COUNTED, 40), LostEvents::Some(5));
        assert_eq!(lost(LOST | LOST_COUNTED, 44), LostEvents::Unknown, "the count does not fit into the page");
        assert_eq!(lost(LOST | LOST_COUNTED, 48), LostEvents::Unknown, "the page is full");
        assert_eq!(lost(LOST | LOST_COUNTED, 8), LostEvents::Unknown, "zero is not a count");
    }
}
