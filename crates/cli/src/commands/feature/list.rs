//! `fairground feature list SCHED`: what one scheduler has of the features.

use std::fmt::Write;

use fairground_fair::{features, FeatureInfo, Features};
use serde_json::{json, Value};

/// Name and version of the schema.
const SCHEMA: &str = "fairground-feature-list-1";

/// The features that are on, and those that have one of several values, with their values.
fn active_features(sched: &Features) -> Vec<(&'static FeatureInfo, &'static str)> {
    let all = features().iter().enumerate();
    let is_on = |(id, f): &(usize, &FeatureInfo)| !f.values.is_empty() || sched.on(*id);
    all.filter(is_on).map(|(id, f)| (f, sched.word(id))).collect()
}

pub fn text(sched: &Features) -> String {
    let rows = active_features(sched);
    let mut out =
        format!("sched     {sched}\nfeatures  {} of {} are on or have a value\n", rows.len(), features().len());
    if let Some(note) = sched.stands_for_note() {
        let _ = writeln!(out, "note      {note}");
    }
    let name = rows.iter().map(|(f, _)| f.name.len()).max().unwrap_or(0);
    let value = rows.iter().map(|(_, value)| value.len()).max().unwrap_or(0);
    out.push('\n');
    for (f, word) in rows {
        let ready = if f.ready { "" } else { " (not ready: no effect yet)" };
        let _ = writeln!(out, "{:name$}  {word:value$}  {:<8} {}{ready}", f.name, f.since, f.text);
    }
    out
}

pub fn document(sched: &Features) -> Value {
    let row = |(f, value): (&FeatureInfo, &str)| json!({ "name": f.name, "value": value, "since": f.since, "ready": f.ready, "text": f.text });
    json!({
        "schema": SCHEMA,
        "sched": sched.to_string(),
        "notes": sched.stands_for_note().into_iter().collect::<Vec<_>>(),
        "features": active_features(sched).into_iter().map(row).collect::<Vec<_>>(),
    })
}
