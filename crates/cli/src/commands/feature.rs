//! `fairground feature`.

mod diff;
mod list;
mod show;

use std::fmt::Write;

use clap::{Subcommand, ValueEnum};
use fairground_fair::{features, FeatureInfo, Features, Preset, Release, PRESETS};
use miette::Diagnostic;
use serde_json::{json, Map, Value};
use thiserror::Error;

use crate::error::{End, Failure};
use crate::output::print;

/// Name and version of the schema.
const SCHEMA: &str = "fairground-features-1";

/// Features: what differs between kernels, and patches under discussion.
#[derive(Subcommand)]
pub enum FeatureCommand {
    /// List presets and features, which preset holds which, and whether each can be run
    List {
        /// List what this preset or scheduler has, for example v6.1 or fair:v6.1+feec-sync [default: all presets]
        sched: Option<String>,
        /// How to print the table
        #[arg(long, value_enum, default_value_t)]
        format: ListFormat,
    },
    /// Show one feature: what it changes, in which function of the kernel, its values by release and preset
    Show {
        /// Name of the feature, for example protect
        name: String,
        /// How to print it
        #[arg(long, value_enum, default_value_t)]
        format: ListFormat,
    },
    /// Compare two presets or names of schedulers: the features that differ, and the releases that changed them
    Diff {
        /// A preset or name of a scheduler, for example v6.12 or fair:v6.12+slice-700
        base: String,
        /// What to compare with it [default: the newest release]
        #[arg(default_value = "fair:", hide_default_value = true)]
        test: String,
        /// How to print the table
        #[arg(long, value_enum, default_value_t)]
        format: ListFormat,
    },
}

/// Layouts of the tables.
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
        let json = |document: Value| format!("{document:#}\n");
        print(&match &self {
            FeatureCommand::List { sched: None, format: ListFormat::Text } => text(),
            FeatureCommand::List { sched: None, format: ListFormat::Json } => json(document()),
            FeatureCommand::List { sched: Some(sched), format: ListFormat::Text } => list::text(&read(sched)?),
            FeatureCommand::List { sched: Some(sched), format: ListFormat::Json } => {
                json(list::document(&read(sched)?))
            }
            FeatureCommand::Show { name, format: ListFormat::Text } => show::text(name)?,
            FeatureCommand::Show { name, format: ListFormat::Json } => json(show::document(name)?),
            FeatureCommand::Diff { base, test, format: ListFormat::Text } => diff::find(base, test)?.text(),
            FeatureCommand::Diff { base, test, format: ListFormat::Json } => json(diff::find(base, test)?.document()),
        })?;
        Ok(End::Done)
    }
}

/// A kernel has code, not features.
#[derive(Debug, Error, Diagnostic)]
#[error("{0}: features are those of fair: schedulers")]
#[diagnostic(help("`fairground kernel agree NAME` says by rule where a kernel decides otherwise than fair:"))]
struct IsKernel(String);

/// The features of a preset, or of a scheduler by its name.
fn read(name: &str) -> Result<Features, Failure> {
    if name.starts_with("linux:") {
        return Err(IsKernel(name.into()).into());
    }
    Ok(Features::parse(name)?)
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

/// Ranges of releases among `presets`. A stable tree, or the kernel of a mail, is named if it differs from its release,
/// as in `not debian-6.1.192`.
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
    for other in PRESETS.iter().filter(|p| !p.is_release()) {
        match (has(other), releases.iter().any(|r| r.same_release(other) && has(r))) {
            (true, false) => parts.push(other.name.into()),
            (false, true) => parts.push(format!("not {}", other.name)),
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
            json!({
                "name": f.name,
                "mail": f.mail,
                "since": f.since,
                "values": f.values,
                "ready": f.ready,
                "text": f.text,
                "presets": by_preset(id),
            })
        })
        .collect();
    json!({ "schema": SCHEMA, "presets": presets, "features": features })
}

/// Changes of releases, as `{release, value}`.
fn changes(releases: &[(Release, &str)]) -> Vec<Value> {
    releases.iter().map(|(release, value)| json!({ "release": release.to_string(), "value": value })).collect()
}

/// The value of a feature in each preset, by its name.
fn by_preset(id: usize) -> Map<String, Value> {
    PRESETS.iter().map(|p| (p.name.to_string(), Value::from(p.word(id)))).collect()
}
