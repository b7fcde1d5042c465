//! Results as bytes, to send them from one process to another: metric lists first, each once, then the records.
//!
//! ```text
//! number of lists (4 bytes) | length, text | length, text ...
//! key (16 bytes), length, content as in a store | ...
//! ```

use std::collections::BTreeMap;

use super::record::{digest, MetricList, Record};
use crate::key::Key;
use crate::metrics::Metric;

/// Packs results into bytes, which [`unpack`] reads.
pub fn pack(records: &[(Key, Record)]) -> Vec<u8> {
    let mut lists: BTreeMap<[u8; 16], String> = BTreeMap::new();
    let mut rows = Vec::new();
    for (key, record) in records {
        let (content, list) = record.encode(*key);
        lists.extend(list.map(|list| (list.digest, list.text)));
        rows.extend_from_slice(&key.bytes());
        push(&mut rows, &content);
    }
    let mut bytes = (lists.len() as u32).to_le_bytes().to_vec();
    lists.values().for_each(|text| push(&mut bytes, text.as_bytes()));
    bytes.extend(rows);
    bytes
}

fn push(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend_from_slice(&(part.len() as u32).to_le_bytes());
    bytes.extend_from_slice(part);
}

/// The results in bytes from [`pack`], in their order.
///
/// # Errors
/// How they are damaged.
pub fn unpack(mut bytes: &[u8]) -> Result<Vec<(Key, Record)>, &'static str> {
    const SHORT: &str = "they end too early";
    let mut lists: BTreeMap<[u8; 16], Vec<Metric>> = BTreeMap::new();
    for _ in 0..length(&mut bytes).ok_or(SHORT)? {
        let text = part(&mut bytes).ok_or(SHORT)?;
        let digest = digest(text);
        lists.insert(digest, MetricList::read(digest, text).ok_or("a list of metrics is not understood")?);
    }
    let mut records = Vec::new();
    while !bytes.is_empty() {
        let (key, rest) = bytes.split_at_checked(16).ok_or(SHORT)?;
        bytes = rest;
        let key = Key::from_bytes(key).ok_or(SHORT)?;
        let content = part(&mut bytes).ok_or(SHORT)?;
        records.push((key, Record::decode(key, content, |digest| lists.get(&digest).cloned())?));
    }
    Ok(records)
}

fn length(bytes: &mut &[u8]) -> Option<usize> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    *bytes = rest;
    Some(u32::from_le_bytes(*length) as usize)
}

fn part<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = length(bytes)?;
    let (part, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(part)
}
