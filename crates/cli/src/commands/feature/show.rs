//! `fairground feature show`.

use std::fmt::Write;

use fairground_fair::{feature, feature_details, relations, release_changes, why_not_ready, FairError, FeatureInfo};
use serde_json::{json, Value};

use super::{by_preset, changes, held, holders, ranges};

/// Name and version of the schema.
const SCHEMA: &str = "fairground-feature-1";

pub fn text(name: &str) -> Result<String, FairError> {
    let (id, f) = feature(name)?;
    let mut out = format!("{}\n  {}\n\n", f.name, f.text);
    let mut line = |label: &str, text: &str| {
        let _ = writeln!(out, "  {label:<10} {text}");
    };
    line("values", &values(f));
    line("releases", &releases(f));
    match f.values {
        [] => line("presets", &holders(id, f)),
        _ => held(id).iter().for_each(|(word, presets)| line("presets", &format!("{word}: {}", ranges(presets)))),
    }
    line("ready", &ready(f.name));
    if let Some(details) = feature_details(f.name) {
        line("kernel", details.functions);
        if let Some(shows) = details.shows() {
            line("shows", &shows);
        }
        let (page, section) = details.page();
        line("described", &format!("{page}, section {section}"));
    }
    if f.mail != "-" {
        line("mail", f.mail);
    }
    relations(id).iter().for_each(|relation| line("rule", relation));
    Ok(out)
}

fn ready(name: &str) -> String {
    why_not_ready(name).map_or("yes".to_string(), |why| {
        format!("no: presets keep their values of it, which have no effect yet; {why}")
    })
}

pub fn document(name: &str) -> Result<Value, FairError> {
    let (id, f) = feature(name)?;
    let details = feature_details(f.name);
    let functions: Vec<&str> = details.iter().flat_map(|d| d.functions.split(' ')).collect();
    let spec = details.map(|d| d.page()).map(|(page, section)| json!({ "page": page, "section": section }));
    Ok(json!({
        "schema": SCHEMA,
        "name": f.name,
        "text": f.text,
        "mail": f.mail,
        "since": f.since,
        "values": f.values,
        "ready": f.ready,
        "why_not_ready": why_not_ready(f.name),
        "functions": functions,
        "spec": spec,
        "shows": details.and_then(|d| d.shows()),
        "changes": changes(&release_changes(f.name)),
        "presets": by_preset(id),
        "relations": relations(id),
    }))
}

/// `off, on`, or the words for 0, 1, 2 ...
fn values(f: &FeatureInfo) -> String {
    match f.values {
        [] => format!("off (-{0}), on (+{0})", f.name),
        words => format!("{} (+{}=VALUE; -{} is the first)", words.join(", "), f.name, f.name),
    }
}

/// `1 from v5.7`, `pair from v5.6, quarter from v5.11`, `1 from v6.2, 0 from v6.3`.
fn releases(f: &FeatureInfo) -> String {
    let changes: Vec<String> =
        release_changes(f.name).iter().map(|(release, value)| format!("{value} from {release}")).collect();
    match (changes.as_slice(), f.since) {
        ([], "-") => "no release has it".into(),
        ([], since) => format!("{since} and later"),
        (changes, _) => changes.join(", "),
    }
}
