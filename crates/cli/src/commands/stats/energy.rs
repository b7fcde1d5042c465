//! `fairground stats energy`.

use std::fmt::Write;

use clap::Args;
use fairground_lab::tables::number;
use fairground_trace::energy::{Rails, Row};
use fairground_trace::Note;
use serde_json::{json, Map, Value};

use super::{document, millis, Input, StatsFormat};
use crate::error::Failure;
use crate::input::{open_trace, trace_notes};

/// Energy of each rail in each window, and in all.
#[derive(Args)]
pub struct Energy {
    #[command(flatten)]
    input: Input,
    /// Length of a window, ms [default: from each reading of the meters to the next]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    every: Option<u64>,
}

impl Energy {
    pub fn text(&self) -> Result<String, Failure> {
        let Input { file, format } = &self.input;
        let mut trace = open_trace(file)?;
        let rails = Rails::read(&mut trace, self.every.map(|ms| ms.saturating_mul(1_000_000)))?;
        let rows = rails.rows();
        let mut notes = [trace.notes(), rails.notes()].concat();
        if rows.is_empty() {
            let file = file.display();
            let none = format!("{file}: no energy events; `fairground run --trace FILE --energy-every MS` writes them");
            notes.push(Note::Loss(none));
        }
        trace_notes(&notes);
        let parts = rails.parts();
        Ok(match format {
            StatsFormat::Text if rows.is_empty() => String::new(),
            StatsFormat::Text => table(&parts, &rows),
            _ => document(&self.input, "energy", rows.iter().map(|row| row_json(&parts, row)).collect(), &notes),
        })
    }
}

/// An energy as text in J, rounded to the microjoule.
fn joules(pj: u64) -> String {
    format!("{:.6}", pj as f64 / 1e12)
}

fn table(parts: &[String], rows: &[Row]) -> String {
    let names = rows.iter().filter_map(|row| row.rail.as_ref()).map(|name| name.chars().count());
    let width = names.max().unwrap_or(0).max("rail".len());
    let mut out = format!("{:>12} {:>12} {:width$} {:>10} {:>13}", "from ms", "to ms", "rail", "mW", "J");
    parts.iter().for_each(|part| out += &format!(" {:>13}", format!("{part} J")));
    out.push('\n');
    for row in rows {
        let from = if row.window.is_some() { millis(row.from) } else { "total".into() };
        let rail = row.rail.as_deref().unwrap_or("all");
        let (mw, all) = (number(row.mean_mw()), joules(row.sum()));
        let _ = write!(out, "{from:>12} {:>12} {rail:width$} {mw:>10} {all:>13}", millis(row.to));
        row.parts.iter().for_each(|pj| out += &format!(" {:>13}", pj.map_or("-".into(), joules)));
        out.push('\n');
    }
    out
}

fn row_json(parts: &[String], row: &Row) -> Value {
    let micro = |pj: u64| pj as f64 / 1e6;
    let parts: Map<String, Value> =
        parts.iter().zip(&row.parts).map(|(part, pj)| (part.clone(), json!(pj.map(micro)))).collect();
    json!({
        "window": row.window,
        "from_ns": row.from,
        "to_ns": row.to,
        "rail": row.rail,
        "mean_mw": row.mean_mw(),
        "energy_uj": micro(row.sum()),
        "parts_uj": parts,
    })
}
