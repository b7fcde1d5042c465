//! `fairground feature`.

use std::fmt::Write;

use clap::Subcommand;
use fairground_fair::{features, PRESETS};

use crate::error::{End, Failure};
use crate::output::print;

/// Features: what differs between kernels, and patches under discussion.
#[derive(Subcommand)]
pub enum FeatureCommand {
    /// List presets and features, and whether each can be run
    List,
}

impl FeatureCommand {
    pub fn run(self) -> Result<End, Failure> {
        let FeatureCommand::List = self;
        print(&list())?;
        Ok(End::Done)
    }
}

fn list() -> String {
    let mut out = String::from("presets\n");
    for preset in &PRESETS {
        let _ = writeln!(out, "  {:<18} {}", preset.name, preset.text);
    }
    out.push_str("\nfeatures (mail that discusses it, release that has it by default)\n");
    for f in features() {
        let ready = if f.ready { "" } else { " (not ready: refused)" };
        let values = if f.values.is_empty() { String::new() } else { format!(" [{}]", f.values.join("|")) };
        let _ = writeln!(out, "  {:<18} {:<4} {:<8} {}{values}{ready}", f.name, f.mail, f.since, f.text);
    }
    out
}
