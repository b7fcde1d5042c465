//! trace.dat: the file of trace-cmd, KernelShark and LISA. [`DatReader`] reads versions 6 and 7, [`write()`] makes
//! version 6 of our own trace in text. [`PerfDataReader`] reads perf.data, which has the same formats of events.
//!
//! A file carries the formats of its events, by which they are read: whatever the offsets, sizes and byte order of the
//! machine that recorded it. Each CPU has pages of the kernel's ring buffer of its own.

mod bytes;
mod decoder;
mod format;
mod layout;
mod packed;
mod page;
mod perf_data;
mod reader;
mod stream;
mod v6;
mod v7;
mod write;

pub use bytes::ReadAt;
pub use layout::page_bytes;
pub use perf_data::{PerfDataReader, SIGNATURES as PERF_SIGNATURES};
pub use reader::DatReader;
pub use write::head::Head;
pub use write::{write, DatError};

/// How a file begins, whatever its version.
pub const SIGNATURE: &[u8] = b"\x17\x08\x44tracing";

#[cfg(test)]
mod tests;
