//! Converts our own track events back to records.

use super::bundle::{named_event, Bundles};
use super::generic::{add, text};
use super::ids::{annotation, track_event};
use super::sorter::{Context, PendingKind};
use super::wire::{Fault, Fields};
use crate::names::OURS;
use crate::record::RTAPP;

/// How the names of records of signals begin that are not ours alone.
const SIGNALS: [&str; 3] = ["uclamp_util_", "sched_pelt_", "sched_util_est_"];

/// A list of annotations as a record.
#[derive(Default)]
struct TrackRecord {
    fields: String,
    on_cpu: u32,
    /// The fields of each reason.
    why: Vec<String>,
}

impl Bundles {
    /// Takes a track event in, if it is one of ours. `at`: where its packet is in the file.
    pub fn add_track_record(&mut self, message: &[u8], time: u64, at: u64) -> Result<(), Fault> {
        let Some(name) = record_name(message)? else { return Ok(()) };
        let mut record = TrackRecord::default();
        for field in Fields::parse(message) {
            if let (track_event::DEBUG_ANNOTATIONS, value) = field? {
                record.annotation(value.bytes()?, name == "fairground_note")?;
            }
        }
        for fields in record.why {
            let what = PendingKind::Print(format!("fairground_why: {fields}").into());
            self.order.add(time, at, record.on_cpu, Context::default(), what)?;
        }
        let what = match is_said(&name) {
            true => Some(PendingKind::Print(format!("{name}: {}", record.fields).into())),
            false => named_event((name, record.fields))?,
        };
        what.into_iter().try_for_each(|what| self.order.add(time, at, record.on_cpu, Context::default(), what))
    }
}

/// Whether the text format has it as a trace_marker write.
fn is_said(name: &str) -> bool {
    [OURS, RTAPP].iter().any(|start| name.starts_with(start))
}

/// The category that says what record this is.
fn record_name(message: &[u8]) -> Result<Option<String>, Fault> {
    for field in Fields::parse(message) {
        if let (track_event::CATEGORIES, value) = field? {
            let category = text(value.bytes()?);
            if is_said(&category) || SIGNALS.iter().any(|start| category.starts_with(start)) {
                return Ok(Some(category));
            }
        }
    }
    Ok(None)
}

impl TrackRecord {
    /// `alone`: the value stands without its key.
    fn annotation(&mut self, message: &[u8], alone: bool) -> Result<(), Fault> {
        let (key, value) = named_value(message)?;
        match (key.as_str(), value) {
            ("on_cpu", Some(value)) => self.on_cpu = value.parse().map_err(|_| "the number of a CPU")?,
            (_, Some(value)) if alone => self.fields.push_str(&value),
            (key, Some(value)) => add(&mut self.fields, key, &value),
            (_, None) => self.reasons(message)?,
        }
        Ok(())
    }

    /// Parses reasons, a list of dictionaries.
    fn reasons(&mut self, message: &[u8]) -> Result<(), Fault> {
        for field in Fields::parse(message) {
            let (annotation::ARRAY_VALUES, reason) = field? else { continue };
            let mut fields = String::new();
            for entry in Fields::parse(reason.bytes()?) {
                if let (annotation::DICT_ENTRIES, entry) = entry? {
                    let (key, value) = named_value(entry.bytes()?)?;
                    add(&mut fields, &key, &value.unwrap_or_default());
                }
            }
            self.why.push(fields);
        }
        Ok(())
    }
}

/// The name of an annotation and its value, if it has a single one.
fn named_value(message: &[u8]) -> Result<(String, Option<String>), Fault> {
    let (mut key, mut value) = (String::new(), None);
    for field in Fields::parse(message) {
        match field? {
            (annotation::NAME, name) => key = text(name.bytes()?),
            (annotation::STRING, given) => value = Some(text(given.bytes()?)),
            (annotation::UINT, given) => value = Some(given.number()?.to_string()),
            (annotation::INT, given) => value = Some((given.number()? as i64).to_string()),
            _ => {}
        }
    }
    Ok((key, value))
}
