//! Reads numbers and strings at offsets of a file.

use std::fs::File;
use std::io;

use crate::TraceError;

/// Characters of a string that an error shows.
const SHOWN_MAX: usize = 40;

/// A source of bytes that can be read at any offset: a file, or bytes in memory.
pub trait ReadAt {
    /// Reads bytes from offset `at` on into `buffer`. Returns their number, which is smaller than `buffer` only at the
    /// end.
    ///
    /// # Errors
    /// If the system reports an error.
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize>;

    /// Number of bytes.
    ///
    /// # Errors
    /// If the system reports an error.
    fn size(&self) -> io::Result<u64>;
}

impl ReadAt for File {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let mut n = 0;
        while n < buffer.len() {
            match read_once(self, &mut buffer[n..], at.saturating_add(n as u64)) {
                Ok(0) => break,
                Ok(more) => n += more,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(n)
    }

    fn size(&self) -> io::Result<u64> {
        self.metadata().map(|m| m.len())
    }
}

#[cfg(unix)]
fn read_once(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, at)
}

/// Without a call that takes an offset, the file's own position moves.
#[cfg(not(unix))]
fn read_once(mut file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    io::Seek::seek(&mut file, io::SeekFrom::Start(at))?;
    io::Read::read(&mut file, buffer)
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let from = usize::try_from(at).unwrap_or(usize::MAX).min(self.len());
        let n = buffer.len().min(self.len() - from);
        buffer[..n].copy_from_slice(&self[from..from + n]);
        Ok(n)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }
}

/// Which end of a number comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Little,
    Big,
}

impl Order {
    /// The number that `bytes`, 8 at most, make.
    pub fn number(self, bytes: &[u8]) -> u64 {
        let add = |n: u64, byte: &u8| (n << 8) | u64::from(*byte);
        match (self, bytes.len()) {
            (Order::Little, 4) => u64::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])),
            (Order::Little, _) => bytes.iter().rev().fold(0, add),
            (Order::Big, _) => bytes.iter().fold(0, add),
        }
    }
}

/// Reads values one after another.
pub struct Input<'a> {
    /// The name that errors use.
    pub name: &'a str,
    pub from: &'a dyn ReadAt,
    pub order: Order,
    /// Offset of the next byte to read.
    pub at: u64,
    /// Offset of the end of this part.
    pub end: u64,
}

impl Input<'_> {
    /// An error about what begins at `at`.
    pub fn damaged(&self, at: u64, expected: impl Into<String>, found: impl Into<String>) -> TraceError {
        TraceError::Damaged { file: self.name.to_owned(), at, expected: expected.into(), found: found.into() }
    }

    /// `n` bytes, which are part of `what`.
    pub fn bytes(&mut self, n: u64, what: &str) -> Result<Vec<u8>, TraceError> {
        let at = self.at;
        self.skip(n, what)?;
        let mut bytes = vec![0; n as usize];
        let read = self.from.read_at(&mut bytes, at);
        let read = read.map_err(|e| TraceError::Io { file: self.name.to_owned(), cause: e.to_string() })?;
        match read < bytes.len() {
            true => Err(self.damaged(at, what, "the end of the file")),
            false => Ok(bytes),
        }
    }

    /// Skips `n` bytes.
    pub fn skip(&mut self, n: u64, what: &str) -> Result<(), TraceError> {
        if n > self.end.saturating_sub(self.at) {
            let left = self.end.saturating_sub(self.at);
            return Err(self.damaged(self.at, format!("{what} ({n} bytes)"), format!("an end after {left} bytes")));
        }
        self.at += n;
        Ok(())
    }

    /// `n` bytes, `most` at most.
    pub fn block(&mut self, n: u64, most: u64, what: &str) -> Result<Vec<u8>, TraceError> {
        match n > most {
            true => Err(self.damaged(self.at, format!("{what} of at most {most} bytes"), n.to_string())),
            false => self.bytes(n, what),
        }
    }

    /// A number of `size` bytes.
    pub fn number(&mut self, size: u64, what: &str) -> Result<u64, TraceError> {
        let order = self.order;
        Ok(order.number(&self.bytes(size, what)?))
    }

    /// A number of 4 bytes between `least` and `most`.
    pub fn count(&mut self, least: u64, most: u64, what: &str) -> Result<u64, TraceError> {
        let at = self.at;
        let n = self.number(4, what)?;
        match (least..=most).contains(&n) {
            true => Ok(n),
            false => Err(self.damaged(at, format!("{what}, {least} to {most}"), n.to_string())),
        }
    }

    /// A string that ends with a 0, of at most `most` bytes with it.
    pub fn string(&mut self, most: u64, what: &str) -> Result<String, TraceError> {
        let at = self.at;
        let bytes = self.bytes(most.min(self.end.saturating_sub(at)), what)?;
        match bytes.iter().position(|b| *b == 0) {
            Some(n) => {
                self.at = at + n as u64 + 1;
                Ok(String::from_utf8_lossy(&bytes[..n]).into_owned())
            }
            None => Err(self.damaged(at, format!("{what} with a 0 at its end"), shown(&bytes))),
        }
    }

    /// Reads exactly these bytes.
    pub fn literal(&mut self, literal: &str, what: &str) -> Result<(), TraceError> {
        let at = self.at;
        let bytes = self.bytes(literal.len() as u64, what)?;
        match bytes == literal.as_bytes() {
            true => Ok(()),
            false => Err(self.damaged(at, what, shown(&bytes))),
        }
    }
}

/// The beginning of the bytes, as an error shows it.
pub fn shown(bytes: &[u8]) -> String {
    let start = &bytes[..bytes.len().min(SHOWN_MAX)];
    format!("\"{}\"", start.escape_ascii())
}
