//! Events without a message of their own in Perfetto: with names and values, or described in the trace.

use std::collections::BTreeMap;

use super::bundle::{NAME_MAX, PRINT_MAX};
use super::wire::{Fault, Fields, Wire};
use crate::source::push_sanitized;

/// Fields of `GenericFtraceEvent` and of its `Field`.
const EVENT_NAME: u32 = 1;
const FIELD: u32 = 2;
const FIELD_NAME: u32 = 1;
const FIELD_TEXT: u32 = 3;
const FIELD_INT: u32 = 4;
const FIELD_UINT: u32 = 5;

/// Fields of `GenericEventDescriptor`.
const DESCRIPTOR_ID: u32 = 1;
const DESCRIPTOR_PROTO: u32 = 2;

/// Fields of `DescriptorProto` and `FieldDescriptorProto`.
const PROTO_NAME: u32 = 1;
const PROTO_FIELD: u32 = 2;
const PROTO_FIELD_NAME: u32 = 1;
const PROTO_FIELD_NUMBER: u32 = 3;
const PROTO_FIELD_TYPE: u32 = 5;
/// Type ids of signed integers: int64, int32.
const PROTO_SIGNED: [u64; 2] = [3, 5];

/// More kinds of events than kernels have, and more fields than their events have.
const DESCRIPTORS_MAX: usize = 8192;
const FIELDS_MAX: usize = 128;

/// A name and fields as text.
pub type NamedFields = (String, String);

/// A text of a trace.
pub fn text(bytes: &[u8]) -> String {
    let mut text = String::new();
    push_sanitized(&mut text, bytes, false);
    text
}

/// `KEY=VALUE`, one behind the other.
pub fn add(fields: &mut String, key: &str, value: &str) {
    if !fields.is_empty() {
        fields.push(' ');
    }
    fields.push_str(key);
    fields.push('=');
    fields.push_str(value);
}

/// Parses a `GenericFtraceEvent`.
pub fn generic(message: &[u8]) -> Result<NamedFields, Fault> {
    let (mut name, mut fields) = (String::new(), String::new());
    for field in Fields::parse(message) {
        match field? {
            (EVENT_NAME, value) => name = text(value.bytes()?),
            (FIELD, value) => generic_field(value.bytes()?, &mut fields)?,
            _ => {}
        }
    }
    Ok((name, fields))
}

fn generic_field(message: &[u8], fields: &mut String) -> Result<(), Fault> {
    let (mut key, mut value) = (String::new(), String::new());
    for field in Fields::parse(message) {
        match field? {
            (FIELD_NAME, name) => key = text(name.bytes()?),
            (FIELD_TEXT, given) => value = text(given.bytes()?),
            (FIELD_INT, given) => value = (given.number()? as i64).to_string(),
            (FIELD_UINT, given) => value = given.number()?.to_string(),
            _ => {}
        }
    }
    add(fields, &key, &value);
    Ok(())
}

/// The events that a trace has described, by the number of their field.
#[derive(Default)]
pub struct EventDescriptors(BTreeMap<u32, Description>);

struct Description {
    name: String,
    /// Name, and whether it is signed, by number.
    fields: BTreeMap<u32, (String, bool)>,
}

impl EventDescriptors {
    /// Adds a `GenericEventDescriptor`.
    pub fn add(&mut self, message: &[u8]) -> Result<(), Fault> {
        let (mut id, mut proto) = (0, &[][..]);
        for field in Fields::parse(message) {
            match field? {
                (DESCRIPTOR_ID, value) => id = value.small()?,
                (DESCRIPTOR_PROTO, value) => proto = value.bytes()?,
                _ => {}
            }
        }
        if self.0.contains_key(&id) {
            return Ok(());
        }
        if self.0.len() == DESCRIPTORS_MAX {
            return Err("descriptions of at most 8192 events");
        }
        self.0.insert(id, describe(proto)?);
        Ok(())
    }

    /// An event with this number, if it has been described.
    pub fn decode(&self, id: u32, message: &[u8]) -> Result<Option<NamedFields>, Fault> {
        let Some(description) = self.0.get(&id) else { return Ok(None) };
        let mut fields = String::new();
        for field in Fields::parse(message) {
            let (number, value) = field?;
            let Some((key, signed)) = description.fields.get(&number) else { continue };
            if fields.len() > PRINT_MAX {
                return Err("fields of at most 64 KiB");
            }
            match value {
                Wire::Number(n) if *signed => add(&mut fields, key, &(n as i64).to_string()),
                Wire::Number(n) => add(&mut fields, key, &n.to_string()),
                Wire::Bytes(bytes) => add(&mut fields, key, &text(bytes)),
                Wire::Fixed => {}
            }
        }
        Ok(Some((description.name.clone(), fields)))
    }
}

/// Reads the name of an event or a field.
fn named(bytes: &[u8]) -> Result<String, Fault> {
    match bytes.len() {
        0..=NAME_MAX => Ok(text(bytes)),
        _ => Err("a name of at most 255 bytes"),
    }
}

fn describe(proto: &[u8]) -> Result<Description, Fault> {
    let mut description = Description { name: String::new(), fields: BTreeMap::new() };
    for field in Fields::parse(proto) {
        match field? {
            (PROTO_NAME, value) => description.name = named(value.bytes()?)?,
            (PROTO_FIELD, value) => {
                let (number, field) = describe_field(value.bytes()?)?;
                if description.fields.len() == FIELDS_MAX {
                    return Err("an event of at most 128 fields");
                }
                description.fields.insert(number, field);
            }
            _ => {}
        }
    }
    Ok(description)
}

fn describe_field(proto: &[u8]) -> Result<(u32, (String, bool)), Fault> {
    let (mut number, mut name, mut signed) = (0, String::new(), false);
    for field in Fields::parse(proto) {
        match field? {
            (PROTO_FIELD_NAME, value) => name = named(value.bytes()?)?,
            (PROTO_FIELD_NUMBER, value) => number = value.small()?,
            (PROTO_FIELD_TYPE, value) => signed = PROTO_SIGNED.contains(&value.number()?),
            _ => {}
        }
    }
    Ok((number, (name, signed)))
}
