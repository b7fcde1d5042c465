//! Reads the packets of a trace one by one, compressed ones included.

use std::io::{self, BufRead, BufReader, Cursor, Read, Take};

use flate2::bufread::ZlibDecoder;
use ruzstd::decoding::StreamingDecoder;

use super::ids::{packet, trace};
use super::wire::{Fault, Fields};

/// Limit of a packet, bytes: Perfetto's service does not take one of this size.
const PACKET_MAX: u64 = 64 << 20;

/// Limit of decompressed packets: this many times their length, plus a constant.
const GROWTH_MAX: u64 = 128;
const GROWTH_FREE: u64 = 1 << 20;

/// Why the next packet cannot be read.
#[derive(Debug)]
pub enum PacketError {
    Io(io::Error),
    /// A packet is malformed.
    Fault(Fault),
}

impl From<Fault> for PacketError {
    fn from(fault: Fault) -> PacketError {
        PacketError::Fault(fault)
    }
}

/// Decompressed contents of a packet.
type Decompressor = BufReader<Take<Box<dyn Read>>>;

/// Reads the packets of a Perfetto trace one by one.
pub struct Packets<R> {
    input: R,
    /// Where in the file the next packet begins.
    next: u64,
    /// Where the last one did, or the compressed one that it was in.
    at: u64,
    inflated: Option<Decompressor>,
    packet: Vec<u8>,
    cut: bool,
}

impl<R: BufRead> Packets<R> {
    pub fn new(input: R) -> Packets<R> {
        Packets { input, next: 0, at: 0, inflated: None, packet: Vec::new(), cut: false }
    }

    /// Byte offset of the last packet, or of the compressed packet that contains it.
    pub fn offset(&self) -> u64 {
        self.at
    }

    /// Whether the file ends within a packet.
    pub fn cut(&self) -> bool {
        self.cut
    }

    /// The packet that [`Self::advance`] has come to.
    pub fn packet(&self) -> &[u8] {
        &self.packet
    }

    /// Goes to the next packet. False at the end.
    pub fn advance(&mut self) -> Result<bool, PacketError> {
        loop {
            if let Some(inflated) = &mut self.inflated {
                match read_packet(inflated, &mut self.packet) {
                    Ok(PacketStep::Packet(_)) => {
                        no_other_within(&self.packet)?;
                        return Ok(true);
                    }
                    Ok(PacketStep::End) if inflated.get_ref().limit() > 0 => self.inflated = None,
                    Ok(_) if inflated.get_ref().limit() == 0 => {
                        return Err("a compressed packet that grows no more than 128-fold".into());
                    }
                    Ok(_) | Err(PacketError::Io(_)) => return Err(UNREADABLE.into()),
                    Err(fault) => return Err(fault),
                }
                continue;
            }
            self.at = self.next;
            match read_packet(&mut self.input, &mut self.packet)? {
                PacketStep::End => return Ok(false),
                PacketStep::Cut if self.at == 0 => return Err("a first packet that ends within the file".into()),
                PacketStep::Cut => {
                    self.cut = true;
                    return Ok(false);
                }
                PacketStep::Packet(n) => self.next += n,
            }
            match compressed(&self.packet)? {
                Some(bytes) => self.inflated = Some(inflate(bytes)?),
                None => return Ok(true),
            }
        }
    }
}

/// What is wrong with compressed bytes.
const UNREADABLE: Fault = "compressed packets that zlib or zstd can read";

fn inflate(compressed: Compressed) -> Result<Decompressor, Fault> {
    let limit = compressed.bytes.len() as u64 * GROWTH_MAX + GROWTH_FREE;
    let bytes = Cursor::new(compressed.bytes);
    let packets: Box<dyn Read> = match compressed.by_zstd {
        false => Box::new(ZlibDecoder::new(bytes)),
        true => Box::new(StreamingDecoder::new(bytes).map_err(|_| UNREADABLE)?),
    };
    Ok(BufReader::new(packets.take(limit)))
}

/// Packets within a packet.
struct Compressed {
    bytes: Vec<u8>,
    by_zstd: bool,
}

/// The compressed packets within a packet, if it has some.
fn compressed(packet: &[u8]) -> Result<Option<Compressed>, Fault> {
    for field in Fields::parse(packet) {
        if let (id @ (packet::COMPRESSED | packet::ZSTD_COMPRESSED), value) = field? {
            let by_zstd = id == packet::ZSTD_COMPRESSED;
            return Ok(Some(Compressed { bytes: value.bytes()?.to_vec(), by_zstd }));
        }
    }
    Ok(None)
}

fn no_other_within(packet: &[u8]) -> Result<(), Fault> {
    match compressed(packet)? {
        Some(_) => Err("packets that are compressed once"),
        None => Ok(()),
    }
}

enum PacketStep {
    /// A packet; its length in bytes, headers included.
    Packet(u64),
    End,
    /// The end, within a packet.
    Cut,
}

/// Memory is taken as bytes come, whatever the length says.
fn read_packet(input: &mut impl Read, packet: &mut Vec<u8>) -> Result<PacketStep, PacketError> {
    let Some(tag) = byte(input)? else { return Ok(PacketStep::End) };
    if u32::from(tag) != trace::PACKET << 3 | 2 {
        return Err("a packet, which begins with a byte 10".into());
    }
    let (mut length, mut head) = (0_u64, 1);
    loop {
        let Some(byte) = byte(input)? else { return Ok(PacketStep::Cut) };
        length |= u64::from(byte & 0x7f) << (7 * (head - 1));
        head += 1;
        if length > PACKET_MAX || head > 6 {
            return Err("a packet of at most 64 MiB".into());
        }
        if byte & 0x80 == 0 {
            break;
        }
    }
    packet.clear();
    let n = input.by_ref().take(length).read_to_end(packet).map_err(PacketError::Io)?;
    Ok(if (n as u64) < length { PacketStep::Cut } else { PacketStep::Packet(head + length) })
}

fn byte(input: &mut impl Read) -> Result<Option<u8>, PacketError> {
    let mut byte = [0];
    loop {
        match input.read(&mut byte) {
            Ok(0) => return Ok(None),
            Ok(_) => return Ok(Some(byte[0])),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(PacketError::Io(e)),
        }
    }
}
