//! The record of a run, as bytes with a checksum.
//!
//! ```text
//! checksum (16 bytes) of key and rest | length of header (4 bytes) | header, JSON | values, 8 bytes each
//! ```
//!
//! The key is in the checksum, so that a record that stands under another key is damaged. Names, units and meanings of
//! metrics are the same in thousands of records: they are kept once, as a *metric list*, under the hash of their text.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_128, Xxh3};

use crate::batch::RunReport;
use crate::key::Key;
use crate::metrics::{Metric, MetricValue};

/// A stored result of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Describes the run for the user.
    pub what: String,
    /// Wall time of the run, ns; not a part of its result.
    pub wall_ns: u64,
    /// Its report, or the message of its failure.
    pub outcome: Result<RunReport, String>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    what: String,
    wall_ns: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failed: Option<String>,
    #[serde(default)]
    hash: String,
    #[serde(default)]
    notes: Vec<String>,
    /// Digest of the metric list.
    #[serde(default)]
    metrics: String,
}

/// Metrics in the order of a report, as text under its hash.
pub struct MetricList {
    pub digest: [u8; 16],
    pub text: String,
}

impl MetricList {
    fn of(report: &RunReport) -> MetricList {
        let metrics: Vec<&Metric> = report.metrics.iter().map(|value| &value.metric).collect();
        // Strings and an enum: this cannot fail.
        let text = serde_json::to_string(&metrics).unwrap_or_else(|e| unreachable!("{e}"));
        MetricList { digest: digest(text.as_bytes()), text }
    }

    /// The metrics in a text that was stored under this hash; `None` if the text is damaged.
    pub fn read(expected: [u8; 16], text: &[u8]) -> Option<Vec<Metric>> {
        (digest(text) == expected).then(|| serde_json::from_slice(text).ok()).flatten()
    }
}

/// The xxh3-128 hash of `bytes`, least significant byte first.
pub fn digest(bytes: &[u8]) -> [u8; 16] {
    xxh3_128(bytes).to_le_bytes()
}

/// The checksum of a key and of the content that is stored under it.
pub fn checksum(key: Key, content: &[u8]) -> [u8; 16] {
    let mut hash = Xxh3::new();
    hash.update(&key.bytes());
    hash.update(content);
    hash.digest128().to_le_bytes()
}

fn hex(bytes: [u8; 16]) -> String {
    format!("{:032x}", u128::from_le_bytes(bytes))
}

fn from_hex(text: &str) -> Option<[u8; 16]> {
    u128::from_str_radix(text, 16).ok().map(u128::to_le_bytes)
}

impl Record {
    /// Its bytes under this key, and the metric list that they need.
    pub fn encode(&self, key: Key) -> (Vec<u8>, Option<MetricList>) {
        let Record { what, wall_ns, outcome } = self;
        let (what, wall_ns, list) = (what.clone(), *wall_ns, outcome.as_ref().ok().map(MetricList::of));
        let header = match outcome {
            Ok(report) => Header {
                what,
                wall_ns,
                failed: None,
                hash: hex(report.hash.to_le_bytes()),
                notes: report.notes.clone(),
                metrics: list.as_ref().map(|list| hex(list.digest)).unwrap_or_default(),
            },
            Err(message) => {
                let (hash, notes, metrics) = Default::default();
                Header { what, wall_ns, failed: Some(message.clone()), hash, notes, metrics }
            }
        };
        let header = serde_json::to_vec(&header).unwrap_or_else(|e| unreachable!("{e}"));
        let mut bytes = vec![0; 16];
        bytes.extend_from_slice(&(header.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&header);
        for value in outcome.iter().flat_map(|report| &report.metrics) {
            bytes.extend_from_slice(&value.value.to_le_bytes());
        }
        let sum = checksum(key, &bytes[16..]);
        bytes[..16].copy_from_slice(&sum);
        (bytes, list)
    }

    /// What was recorded under this key. `metrics` finds a metric list by its hash.
    ///
    /// # Errors
    /// How the bytes are damaged.
    pub fn decode(
        key: Key,
        bytes: &[u8],
        metrics: impl FnOnce([u8; 16]) -> Option<Vec<Metric>>,
    ) -> Result<Record, &'static str> {
        let (sum, content) = bytes.split_at_checked(16).ok_or("it is too short")?;
        if checksum(key, content) != sum {
            return Err("its checksum does not match");
        }
        // What follows was written by us: the checksum holds.
        let (length, rest) = content.split_first_chunk::<4>().ok_or("it is too short")?;
        let (header, values) = rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or("it is too short")?;
        let header: Header = serde_json::from_slice(header).map_err(|_| "its header is not understood")?;
        let Header { what, wall_ns, failed, hash, notes, metrics: list } = header;
        let outcome = match failed {
            Some(message) => Err(message),
            None => {
                let metrics = from_hex(&list).and_then(metrics).ok_or("its list of metrics is damaged")?;
                if values.len() != metrics.len() * 8 {
                    return Err("its values are not as many as its metrics");
                }
                let value = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().unwrap_or_default());
                let values = values.chunks_exact(8).map(value);
                let metrics =
                    metrics.into_iter().zip(values).map(|(metric, value)| MetricValue { metric, value }).collect();
                let hash = u128::from_le_bytes(from_hex(&hash).ok_or("its hash is not understood")?);
                Ok(RunReport { metrics, hash, notes })
            }
        };
        Ok(Record { what, wall_ns, outcome })
    }
}
