//! `fairground stats migrations`.

use std::fmt::Write;
use std::path::Path;

use clap::Args;
use fairground_machine::{Distance, Machine, MachineSpec};
use fairground_trace::migrations::{rows, Row};
use fairground_trace::placements::Placements;
use fairground_trace::Note;
use serde_json::{json, Map, Value};

use super::{document, Input, StatsFormat};
use crate::error::Failure;
use crate::input::{open_trace, to_be_read_twice, trace_notes};

/// How often tasks change their CPU.
#[derive(Args)]
pub struct Migrations {
    #[command(flatten)]
    input: Input,
}

impl Migrations {
    /// Reads the trace twice: first the name of the machine at its head.
    pub fn text(&self) -> Result<String, Failure> {
        let Input { file, format } = &self.input;
        to_be_read_twice(file, "stats migrations")?;
        let mut notes = Vec::new();
        let machine = machine_of(file, &mut notes)?;
        let mut trace = Placements::new(open_trace(file)?);
        let rows = rows(&mut trace, machine.as_ref())?;
        notes.extend(trace.notes());
        if rows.is_empty() {
            let none = format!("{}: no task changes its CPU; expected sched_migrate_task events", file.display());
            notes.push(Note::Loss(none));
        }
        trace_notes(&notes);
        Ok(match format {
            StatsFormat::Text if rows.is_empty() => String::new(),
            StatsFormat::Text => table(&rows),
            _ => {
                let rows = rows.iter().map(|row| row_json(row, machine.is_some())).collect();
                document(&self.input, "migrations", rows, &notes)
            }
        })
    }
}

/// The machine of a run of ours, if it is a preset or its file still exists.
fn machine_of(file: &Path, notes: &mut Vec<Note>) -> Result<Option<Machine>, Failure> {
    let mut trace = Placements::new(open_trace(file)?);
    trace.next_placement()?;
    let Some((_, name)) = trace.head().meta.iter().find(|(key, _)| key == "machine") else {
        notes.push(Note::Loss(format!("{}: no machine is named, so distances are not known", file.display())));
        return Ok(None);
    };
    match MachineSpec::parse(name).find() {
        Ok((machine, _)) => Ok(Some(machine)),
        Err(_) => {
            let unknown = format!("{}: there is no machine {name}, so distances are not known", file.display());
            notes.push(Note::Loss(unknown));
            Ok(None)
        }
    }
}

/// The distances that occur in some row, which are the columns of the table.
fn columns(rows: &[Row]) -> Vec<Distance> {
    Distance::ALL.into_iter().filter(|d| rows.iter().any(|r| r.by_distance[*d as usize] > 0)).collect()
}

fn table(rows: &[Row]) -> String {
    let columns = columns(rows);
    let all: u64 = rows.iter().map(|r| r.count).sum();
    let mut out = format!("{:<10} {:>10} {:>8}", "cause", "count", "share");
    for d in &columns {
        let _ = write!(out, " {:>10}", d.name());
    }
    for row in rows {
        let share = row.count as f64 * 100.0 / all as f64;
        let _ = write!(out, "\n{:<10} {:>10} {share:>6.1} %", row.name(), row.count);
        for d in &columns {
            let _ = write!(out, " {:>10}", row.by_distance[*d as usize]);
        }
    }
    let _ = write!(out, "\n{:<10} {all:>10} {:>8}", "total", "");
    for d in columns {
        let sum: u64 = rows.iter().map(|r| r.by_distance[d as usize]).sum();
        let _ = write!(out, " {sum:>10}");
    }
    out + "\n"
}

/// `measured`: whether the machine is known, and with it distances.
fn row_json(row: &Row, measured: bool) -> Value {
    let distances: Map<String, Value> =
        Distance::ALL.into_iter().map(|d| (d.name().to_owned(), json!(row.by_distance[d as usize]))).collect();
    json!({
        "cause": row.name(),
        "count": row.count,
        "by_distance": if measured { Value::Object(distances) } else { Value::Null },
    })
}
