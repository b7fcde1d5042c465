//! Compressed bytes of a file of version 7.

use std::io::Read;

use miniz_oxide::inflate::core::inflate_flags::{
    TINFL_FLAG_PARSE_ZLIB_HEADER, TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF,
};
use miniz_oxide::inflate::core::{decompress, DecompressorOxide};
use miniz_oxide::inflate::TINFLStatus;

/// How parts of a file are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    Zlib,
    Zstd,
}

/// How a frame of zstd begins.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// What is wrong with compressed bytes.
const DAMAGED: &str = "is damaged";

/// Uncompresses what is to become `size` bytes, into `out`, whose content goes.
///
/// # Errors
/// What is wrong, as the end of a sentence.
pub fn unpack(packing: Compression, packed: &[u8], size: usize, out: &mut Vec<u8>) -> Result<(), &'static str> {
    out.clear();
    match packing {
        Compression::Zlib => inflate(packed, size, out)?,
        Compression::Zstd => {
            // trace-cmd leaves the signature of a frame out.
            let signature: &[u8] = if packed.starts_with(&ZSTD) { &[] } else { &ZSTD };
            let mut decoder = ruzstd::decoding::StreamingDecoder::new(signature.chain(packed)).map_err(|_| DAMAGED)?;
            // A byte more than there should be is enough to know.
            (&mut decoder).take(size as u64 + 1).read_to_end(out).map_err(|_| DAMAGED)?;
        }
    }
    match out.len() == size {
        true => Ok(()),
        false => Err("has another size"),
    }
}

fn inflate(packed: &[u8], size: usize, out: &mut Vec<u8>) -> Result<(), &'static str> {
    out.resize(size, 0);
    let flags = TINFL_FLAG_PARSE_ZLIB_HEADER | TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    let (status, _, n) = decompress(&mut DecompressorOxide::new(), packed, out, 0, flags);
    out.truncate(n);
    match status {
        TINFLStatus::Done => Ok(()),
        TINFLStatus::HasMoreOutput => Err("has another size"),
        _ => Err(DAMAGED),
    }
}
