//! Protobuf's wire format: fields of a number and a value, of which four kinds are in use.

/// Longest encoded number, bytes.
const VARINT_MAX: usize = 10;

/// Wire types of values.
const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;
const FIXED32: u64 = 5;

/// A message that is being written.
#[derive(Default)]
pub struct Message(Vec<u8>);

impl Message {
    pub fn number(&mut self, field: u32, n: u64) {
        self.varint(u64::from(field) << 3 | VARINT);
        self.varint(n);
    }

    /// Writes a number like int32 and int64: in two's complement of 64 bits.
    pub fn signed(&mut self, field: u32, n: i64) {
        self.number(field, n as u64);
    }

    pub fn text(&mut self, field: u32, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    pub fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field) << 3 | BYTES);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// A message within the message.
    pub fn nested(&mut self, field: u32, write: impl FnOnce(&mut Message)) {
        self.varint(u64::from(field) << 3 | BYTES);
        let start = self.0.len();
        write(self);
        let end = self.0.len();
        self.varint((end - start) as u64);
        // Behind the message stands now its length, which belongs before it.
        let length = self.0.len() - end;
        self.0[start..].rotate_right(length);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    fn varint(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.0.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.0.push(n as u8);
    }
}

/// What is wrong with a message: what was expected in its place.
pub type Fault = &'static str;

/// A value as it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// A value of a fixed width; no field that is read has one.
    Fixed,
}

impl<'a> Wire<'a> {
    pub fn number(self) -> Result<u64, Fault> {
        match self {
            Wire::Number(n) => Ok(n),
            _ => Err("a field that holds a number"),
        }
    }

    /// A number that is not negative and below 2^32, whatever its type.
    pub fn small(self) -> Result<u32, Fault> {
        self.number()?.try_into().map_err(|_| "a number from 0 to 4294967295")
    }

    pub fn bytes(self) -> Result<&'a [u8], Fault> {
        match self {
            Wire::Bytes(bytes) => Ok(bytes),
            _ => Err("a field that holds bytes"),
        }
    }
}

/// The fields of a message one by one; nothing comes after a fault.
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub fn parse(message: &'a [u8]) -> Fields<'a> {
        Fields { rest: message }
    }

    fn field(&mut self) -> Result<(u32, Wire<'a>), Fault> {
        let tag = varint(&mut self.rest)?;
        let field = u32::try_from(tag >> 3).ok().filter(|f| *f > 0).ok_or("the number of a field")?;
        let value = match tag & 7 {
            VARINT => Wire::Number(varint(&mut self.rest)?),
            BYTES => {
                let n = varint(&mut self.rest)?;
                Wire::Bytes(take(&mut self.rest, n)?)
            }
            FIXED64 => take(&mut self.rest, 8).map(|_| Wire::Fixed)?,
            FIXED32 => take(&mut self.rest, 4).map(|_| Wire::Fixed)?,
            _ => return Err("a field of wire type 0, 1, 2 or 5"),
        };
        Ok((field, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Wire<'a>), Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// The numbers of a packed field one by one; nothing comes after a fault.
#[derive(Clone, Copy, Default)]
pub struct Packed<'a>(pub &'a [u8]);

impl Iterator for Packed<'_> {
    type Item = Result<u64, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let n = varint(&mut self.0);
        if n.is_err() {
            self.0 = &[];
        }
        Some(n)
    }
}

/// The number at the beginning of `bytes`, which then begin behind it.
pub fn varint(bytes: &mut &[u8]) -> Result<u64, Fault> {
    let mut n = 0_u64;
    for (i, byte) in bytes.iter().enumerate().take(VARINT_MAX) {
        let part = u64::from(byte & 0x7f);
        if i == VARINT_MAX - 1 && part > 1 {
            break;
        }
        n |= part << (7 * i);
        if byte & 0x80 == 0 {
            *bytes = &bytes[i + 1..];
            return Ok(n);
        }
    }
    Err("a number of at most 64 bits")
}

fn take<'a>(bytes: &mut &'a [u8], n: u64) -> Result<&'a [u8], Fault> {
    let n = usize::try_from(n).ok().filter(|n| *n <= bytes.len()).ok_or("a field that ends within its message")?;
    let (taken, rest) = bytes.split_at(n);
    *bytes = rest;
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(bytes: &[u8]) -> Result<Vec<(u32, Wire<'_>)>, Fault> {
        Fields::parse(bytes).collect()
    }

    /// Bytes as the encoding guide of protobuf has them: 150 in field 1, "testing" in field 2.
    #[test]
    fn numbers_and_texts_are_as_the_encoding_guide_has_them() {
        let mut message = Message::default();
        message.number(1, 150);
        message.text(2, "testing");
        message.signed(3, -1);
        let (number, text) = ([0x08, 0x96, 0x01], [0x12, 7, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67]);
        let minus_one = [0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        assert_eq!(message.as_bytes(), [&number[..], &text, &minus_one].concat());
        let expected = [(1, Wire::Number(150)), (2, Wire::Bytes(b"testing")), (3, Wire::Number(u64::MAX))];
        assert_eq!(fields(message.as_bytes()).unwrap(), expected);
    }

    /// Lengths of one, two and three bytes.
    #[test]
    fn a_message_within_a_message_stands_behind_its_length() {
        for n in [0, 1, 127, 128, 20_000] {
            let mut message = Message::default();
            message.number(1, 5);
            message.nested(2, |inner| inner.nested(3, |inner| inner.bytes(4, &vec![7; n])));
            let outer = fields(message.as_bytes()).unwrap();
            assert_eq!(outer[0], (1, Wire::Number(5)));
            let middle = fields(outer[1].1.bytes().unwrap()).unwrap();
            assert_eq!(fields(middle[0].1.bytes().unwrap()).unwrap(), [(4, Wire::Bytes(&vec![7; n][..]))], "{n}");
        }
    }

    #[test]
    fn what_is_no_field_is_named() {
        for (bytes, expected) in [
            (&[0x08, 0x96][..], "a number of at most 64 bits"),
            (&[0xff; 11], "a number of at most 64 bits"),
            (&[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2], "a number of at most 64 bits"),
            (&[0x00, 0x00], "the number of a field"),
            (&[0x12, 5, 1], "a field that ends within its message"),
            (&[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], "a field that ends within its message"),
            (&[0x09, 1], "a field that ends within its message"),
            (&[0x0b], "a field of wire type 0, 1, 2 or 5"),
        ] {
            assert_eq!(fields(bytes), Err(expected), "{bytes:?}");
        }
    }
}
