//! `fairground explain --trace`: what a scheduler of ours would have chosen at each recorded wakeup.

use std::path::Path;
use std::sync::Arc;

use fairground_lab::counterfactual::{Found, WhatIf};
use fairground_trace::open_watched;

use super::{Explain, ExplainFormat};
use crate::circumstances::GovernorName;
use crate::commands::import::{head_of, machine_of};
use crate::commands::stats::comma_separated;
use crate::error::Failure;
use crate::input::trace_notes;
use crate::progress::Reading;

/// The answer as it is printed; notes that it has no place for go to standard error.
pub fn explain(trace: &Path, asked: &Explain) -> Result<String, Failure> {
    let named = machine_of(trace, asked.machine.as_deref())?;
    let ask = WhatIf {
        machine: Arc::new(named.machine),
        machine_name: named.name,
        allowed: named.cpus,
        sched: asked.sched.clone(),
        schedutil: asked.governor.map(|governor| matches!(governor, GovernorName::Schedutil)),
        hz: asked.hz,
        wanted: asked.wanted(),
        nth: asked.nth,
    };
    let head = head_of(trace)?;
    let (mut reader, position) = open_watched(trace)?;
    let mut progress = Reading::new(position);
    let name = trace.display().to_string();
    let report = ask.ask(&name, &head, &mut *reader, &mut |time| progress.event(time))?;
    drop(progress);
    let is_in_text = matches!(report.found(), Found::Agreement(_)) && asked.format == ExplainFormat::Text;
    if asked.format != ExplainFormat::Json && !is_in_text {
        trace_notes(report.notes());
    }
    Ok(match asked.format {
        ExplainFormat::Text => report.text(),
        ExplainFormat::Json => format!("{:#}\n", report.json()),
        ExplainFormat::Csv => comma_separated(&report.rows()),
    })
}
