//! The format files of events, as tracefs shows them and a trace carries them:
//!
//! ```text
//! name: sched_waking
//! ID: 370
//! format:
//!     field:unsigned short common_type;  offset:0;   size:2;   signed:0;
//!     field:int common_pid;              offset:4;   size:4;   signed:1;
//!
//!     field:char comm[16];               offset:8;   size:16;  signed:0;
//!     field:__data_loc char[] path;      offset:24;  size:4;   signed:0;
//!
//! print fmt: "comm=%s", REC->comm
//! ```

use super::bytes::Order;

/// The largest record, bytes.
const RECORD_MAX: usize = 1 << 20;
/// The most fields of an event, and the longest name, bytes; the kernel's have some dozens of either.
const FIELDS_MAX: usize = 512;
const NAME_MAX: usize = 128;

/// An event's format, without its print format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    pub name: String,
    pub id: u16,
    /// The fields; those of every event (`common_`) come first.
    pub fields: Vec<Field>,
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name of the field in the format.
    pub name: String,
    /// Offset from the start of the record, bytes.
    pub offset: usize,
    /// Size in bytes.
    pub size: usize,
    /// How the bytes are read.
    pub kind: Kind,
}

/// Type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Number {
        /// Whether the number may be negative.
        signed: bool,
    },
    /// Bytes up to a 0 or the end of the field; up to the end of the record if the field has no size.
    Text,
    /// Position of such bytes: offset in the low half, length in the high half.
    Elsewhere {
        /// Whether the offset counts from the end of the field; else from the start of the record.
        relative: bool,
    },
}

impl Format {
    /// `None` if `text` is not a format file.
    pub fn parse(text: &str) -> Option<Format> {
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        let fields = text.lines().filter_map(|line| line.trim_start().strip_prefix("field:"));
        let name = value("name:").filter(|name| (1..=NAME_MAX).contains(&name.len()))?;
        // What is not understood is missed where it is needed.
        let fields = fields.filter_map(Field::parse).take(FIELDS_MAX).collect();
        Some(Format { name: name.to_owned(), id: value("ID:")?.parse().ok()?, fields })
    }

    /// The field of a name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|f| f.name == name)
    }
}

impl Field {
    /// `unsigned long ip; offset:8; size:8; signed:0;`
    pub fn parse(line: &str) -> Option<Field> {
        let mut parts = line.split(';').map(str::trim);
        let declaration = parts.next()?;
        let (mut offset, mut size, mut signed) = (None, None, false);
        for part in parts.filter(|p| !p.is_empty()) {
            match part.split_once(':')? {
                ("offset", n) => offset = Some(n.trim().parse().ok()?),
                ("size", n) => size = Some(n.trim().parse().ok()?),
                ("signed", n) => signed = n.trim() == "1",
                _ => {}
            }
        }
        let (_, last) = declaration.rsplit_once([' ', '*'])?;
        let name = last.split('[').next()?;
        let (offset, size): (usize, usize) = (offset?, size?);
        let elsewhere = |prefix| declaration.starts_with(prefix) && size == 4;
        let kind = match () {
            () if elsewhere("__data_loc") => Kind::Elsewhere { relative: false },
            () if elsewhere("__rel_loc") => Kind::Elsewhere { relative: true },
            () if last.contains('[') || ![1, 2, 4, 8].contains(&size) => Kind::Text,
            () => Kind::Number { signed },
        };
        let fits = offset <= RECORD_MAX && size <= RECORD_MAX && (1..=NAME_MAX).contains(&name.len());
        fits.then(|| Field { name: name.to_owned(), offset, size, kind })
    }

    /// Offset of the end of this part.
    pub fn end(&self) -> usize {
        self.offset + self.size
    }

    /// The number in a record that is long enough; negative ones in two's complement.
    pub fn number(&self, record: &[u8], order: Order) -> u64 {
        let Some(bytes) = record.get(self.offset..self.end()).filter(|b| b.len() <= 8) else { return 0 };
        let n = order.number(bytes);
        match self.kind {
            Kind::Number { signed: true } => {
                let unused = 64 - 8 * bytes.len() as u32;
                ((n << unused) as i64 >> unused) as u64
            }
            _ => n,
        }
    }

    /// The bytes of text in a record; empty if they would be outside it.
    pub fn text<'a>(&self, record: &'a [u8], order: Order) -> &'a [u8] {
        let bytes = match self.kind {
            Kind::Elsewhere { relative } => {
                let place = self.number(record, order);
                let start = (place & 0xffff) as usize + if relative { self.end() } else { 0 };
                record.get(start..start + (place >> 16) as usize)
            }
            _ if self.size == 0 => record.get(self.offset..),
            _ => record.get(self.offset..self.end()),
        };
        let bytes = bytes.unwrap_or_default();
        &bytes[..bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(line: &str) -> Field {
        Field::parse(line).unwrap()
    }

    #[test]
    fn fields_are_numbers_or_text_in_place_or_elsewhere() {
        let record = [1, 0xfe, 0xff, b'h', b'i', 0, 7, 0, 9, 0, 3, 0, b'y', b'o', 0];
        let order = Order::Little;
        assert_eq!(field("u8 a;	offset:0;	size:1;	signed:0;").number(&record, order), 1);
        assert_eq!(field("short b;	offset:1;	size:2;	signed:1;").number(&record, order) as i64, -2);
        assert_eq!(field("unsigned short b;offset:1;size:2;signed:0;").number(&record, order), 0xfffe);
        assert_eq!(field("short b;offset:1;size:2;signed:1;").number(&record, Order::Big) as i64, -257);
        assert_eq!(field("char c[4];offset:3;size:4;signed:0;").text(&record, order), b"hi");
        let place = [12, 0, 3, 0];
        let record = [&record[..6], &place, &[0, 0], b"yo\0"].concat();
        assert_eq!(field("__data_loc char[] d;offset:6;size:4;signed:0;").text(&record, order), b"yo");
        let relative = [&record[..6], &[2, 0, 3, 0], &[0, 0], b"yo\0"].concat();
        assert_eq!(field("__rel_loc char[] d;offset:6;size:4;signed:0;").text(&relative, order), b"yo");
        assert_eq!(field("char buf[];offset:12;size:0;signed:0;").text(&record, order), b"yo");
        let outside = [&record[..6], &[200, 0, 3, 0]].concat();
        assert_eq!(field("__data_loc char[] d;offset:6;size:4;signed:0;").text(&outside, order), b"");
    }

    #[test]
    fn what_is_no_format_is_refused() {
        assert_eq!(Format::parse("name: x\nID: 70000\n"), None);
        assert_eq!(Format::parse("ID: 7\n"), None);
        assert_eq!(Field::parse("int a;	offset:-1;	size:4;	signed:1;"), None);
        assert_eq!(Field::parse("int a;	offset:8;	size:99999999999;	signed:1;"), None);
    }
}
