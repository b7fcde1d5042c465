//! The packets of a trace one by one, those that are compressed too.

use std::io::{self, BufRead, BufReader, Cursor, Read, Take};

use flate2::bufread::ZlibDecoder;
use ruzstd::decoding::StreamingDecoder;

use super::ids::{packet, trace};
use super::wire::{Fault, Fields};

/// A longer packet is none: Perfetto's service takes none of this size.
const PACKET_MAX: u64 = 64 << 20;

/// What compressed packets may grow to: so many times their length, and this.
const GROWTH_MAX: u64 = 128;
const GROWTH_FREE: u64 = 1 << 20;

/// Why there is no packet.
#[derive(Debug)]
pub enum Trouble {
    Io(io::Error),
    /// Something else was expected.
    Fault(Fault),
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Trouble {
        Trouble::Fault(fault)
    }
}

/// What a compressed packet holds.
type Inflated = BufReader<Take<Box<dyn Read>>>;

/// Reads packets.
pub struct Packets<R> {
    input: R,
    /// Where in the file the next packet begins.
    next: u64,
    /// Where the last one did, or the compressed one that it was in.
    at: u64,
    inflated: Option<Inflated>,
    packet: Vec<u8>,
    cut: bool,
}

impl<R: BufRead> Packets<R> {
    pub fn new(input: R) -> Packets<R> {
        Packets { input, next: 0, at: 0, inflated: None, packet: Vec::new(), cut: false }
    }

    /// Where the last packet stands in the file: its byte, counted from 0, or that of the compressed one around it.
    pub fn at(&self) -> u64 {
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
    pub fn advance(&mut self) -> Result<bool, Trouble> {
        loop {
            if let Some(inflated) = &mut self.inflated {
                match read_packet(inflated, &mut self.packet) {
                    Ok(Next::Packet(_)) => {
                        no_other_within(&self.packet)?;
                        return Ok(true);
                    }
                    Ok(Next::End) if inflated.get_ref().limit() > 0 => self.inflated = None,
                    Ok(_) if inflated.get_ref().limit() == 0 => {
                        return Err("a compressed packet that grows no more than 128-fold".into());
                    }
                    Ok(_) | Err(Trouble::Io(_)) => return Err(UNREADABLE.into()),
                    Err(fault) => return Err(fault),
                }
                continue;
            }
            self.at = self.next;
            match read_packet(&mut self.input, &mut self.packet)? {
                Next::End => return Ok(false),
                Next::Cut => {
                    self.cut = true;
                    return Ok(false);
                }
                Next::Packet(n) => self.next += n,
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

fn inflate(compressed: Compressed) -> Result<Inflated, Fault> {
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
    for field in Fields::of(packet) {
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

enum Next {
    /// Of so many bytes, with all that is around it.
    Packet(u64),
    End,
    /// The end, within a packet.
    Cut,
}

/// Memory is taken as bytes come, whatever the length says.
fn read_packet(input: &mut impl Read, packet: &mut Vec<u8>) -> Result<Next, Trouble> {
    let Some(tag) = byte(input)? else { return Ok(Next::End) };
    if u32::from(tag) != trace::PACKET << 3 | 2 {
        return Err("a packet, which begins with a byte 10".into());
    }
    let (mut length, mut head) = (0_u64, 1);
    loop {
        let Some(byte) = byte(input)? else { return Ok(Next::Cut) };
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
    let n = input.by_ref().take(length).read_to_end(packet).map_err(Trouble::Io)?;
    Ok(if (n as u64) < length { Next::Cut } else { Next::Packet(head + length) })
}

fn byte(input: &mut impl Read) -> Result<Option<u8>, Trouble> {
    let mut byte = [0];
    loop {
        match input.read(&mut byte) {
            Ok(0) => return Ok(None),
            Ok(_) => return Ok(Some(byte[0])),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(Trouble::Io(e)),
        }
    }
}
