//! `fairground feature`.

use std::fmt::Write;

use clap::{Subcommand, ValueEnum};
use fairground_fair::{features, FeatureInfo, Preset, PRESETS};
use serde_json::{json, Map, Value};

use crate::error::{End, Failure};
use crate::output::print;

/// Name and version of the schema.
const SCHEMA: &str = "fairground-features-1";

/// Features: what differs between kernels, and patches under discussion.
#[derive(Subcommand)]
pub enum FeatureCommand {
    /// List presets and features, which preset holds which, and whether each can be run
    List {
        /// How to print the table
        #[arg(long, value_enum, default_value_t)]
        format: ListFormat,
    },
}

/// Layouts of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// For people
    #[default]
    Text,
    /// The documented schema
    Json,
}

impl FeatureCommand {
    pub fn run(self) -> Result<End, Failure> {
        let FeatureCommand::List { format } = self;
        print(&match format {
            ListFormat::Text => text(),
            ListFormat::Json => format!("{:#}\n", document()),
        })?;
        Ok(End::Done)
    }
}

fn text() -> String {
    let mut out = String::from("presets\n");
    for preset in &PRESETS {
        let _ = writeln!(out, "  {:<36} {}", preset.name, preset.text);
    }
    out.push_str("\nfeatures: name, mail that discusses it, release that changed it first, presets that hold it\n");
    for (id, f) in features().iter().enumerate() {
        let ready = if f.ready { "" } else { " (not ready: refused)" };
        let values = if f.values.is_empty() { String::new() } else { format!(" [{}]", f.values.join("|")) };
        let _ = writeln!(out, "\n  {:<18} {:<15} {:<8} {}", f.name, f.mail, f.since, holders(id, f));
        let _ = writeln!(out, "      {}{values}{ready}", f.text);
    }
    out
}

/// A value and the presets that have it, in their order.
type Held = (&'static str, Vec<&'static Preset>);

/// Every value of a feature that some preset holds, in the order of its first release.
fn held(id: usize) -> Vec<Held> {
    let mut held: Vec<Held> = Vec::new();
    for preset in &PRESETS {
        let word = preset.word(id);
        match held.iter_mut().find(|(w, _)| *w == word) {
            Some((_, presets)) => presets.push(preset),
            None => held.push((word, vec![preset])),
        }
    }
    held
}

/// `v5.7 and later`, `prop v5.6 to v5.11, util v6.1 and later`.
fn holders(id: usize, f: &FeatureInfo) -> String {
    let off = if f.values.is_empty() { Some("0") } else { None };
    let all = held(id);
    let parts: Vec<String> = match all.as_slice() {
        // All presets have the same value.
        [(word, _)] if off == Some(*word) => return "in none".into(),
        [(word, _)] if off.is_none() => return format!("{word} in all"),
        [_] => return "in all".into(),
        _ => all
            .iter()
            .filter(|(word, _)| Some(*word) != off)
            .map(|(word, presets)| match off {
                Some(_) => ranges(presets),
                None => format!("{word} {}", ranges(presets)),
            })
            .collect(),
    };
    parts.join(", ")
}

/// Ranges of releases among `presets`. A stable tree is named if it differs from its release, as in `not
/// debian-6.1.192`.
fn ranges(presets: &[&Preset]) -> String {
    let releases: Vec<&Preset> = PRESETS.iter().filter(|p| p.is_release()).collect();
    let has = |p: &Preset| presets.iter().any(|q| q.name == p.name);
    let mut parts = Vec::new();
    let mut at = 0;
    while at < releases.len() {
        let len = releases[at..].iter().take_while(|p| has(p)).count();
        match len {
            0 => at += 1,
            _ => parts.push(range(releases[at], releases[at + len - 1], at + len == releases.len())),
        }
        at += len;
    }
    for stable in PRESETS.iter().filter(|p| p.is_stable()) {
        match (has(stable), releases.iter().any(|r| r.same_release(stable) && has(r))) {
            (true, false) => parts.push(stable.name.into()),
            (false, true) => parts.push(format!("not {}", stable.name)),
            _ => {}
        }
    }
    parts.join(", ")
}

fn range(first: &Preset, last: &Preset, open: bool) -> String {
    match (first.name == last.name, open) {
        (false, true) => format!("{} and later", first.name),
        (true, _) => first.name.into(),
        (false, false) => format!("{} to {}", first.name, last.name),
    }
}

fn document() -> Value {
    let presets: Vec<Value> = PRESETS.iter().map(|p| json!({ "name": p.name, "text": p.text })).collect();
    let features: Vec<Value> = features()
        .iter()
        .enumerate()
        .map(|(id, f)| {
            let held: Map<String, Value> =
                PRESETS.iter().map(|p| (p.name.to_string(), Value::from(p.word(id)))).collect();
            json!({
                "name": f.name,
                "mail": f.mail,
                "since": f.since,
                "values": f.values,
                "ready": f.ready,
                "text": f.text,
                "presets": held,
            })
        })
        .collect();
    json!({ "schema": SCHEMA, "presets": presets, "features": features })
}
