//! `[[freq_domain]]`: which CPUs share a clock, and its operating points.

use crate::error::{suggest, FileResult};
use crate::{CpuMask, FreqDomain, Opp};

use super::figure::{Fit, POWER};
use super::groups::{Level, Levels};
use super::node::Node;
use super::topology::entry_path;

/// Frequency domains and the domain of each CPU.
pub(super) struct Clocks {
    pub level: Level,
    pub domains: Vec<FreqDomain>,
}

/// Columns of an OPP table: name, whether it is the frequency, factor to kHz or mW.
const COLUMNS: [(&str, bool, f64); 5] =
    [("kHz", true, 1.0), ("MHz", true, 1e3), ("GHz", true, 1e6), ("mW", false, 1.0), ("W", false, 1e3)];

/// The fastest clock that makes sense, kHz.
const MAX_KHZ: f64 = 100e6;

/// Reads `[[freq_domain]]`.
pub(super) fn read(node: &Node, levels: &Levels) -> FileResult<Clocks> {
    let mut domains = Vec::new();
    let mut groups = Vec::new();
    for entry in node.elements()? {
        if groups.len() > levels.n_cpus {
            break; // some CPU is in two domains; no need to collect more
        }
        let fields = entry.table(&["cpus", "transition", "opps"])?;
        let cpus = fields.need("cpus")?;
        let of_entry = levels.groups(&cpus)?;
        let transition_ns = fields.need("transition")?.time(entry_path("freq_domain", &of_entry, "transition"))?;
        let opps = read_opps(&fields.need("opps")?, entry_path("freq_domain", &of_entry, "opps"))?;
        for group in of_entry {
            domains.push(FreqDomain { cpus: group, opps: opps.clone(), transition_ns });
            groups.push((group, cpus.clone()));
        }
    }
    let level = levels.partition("frequency domain", groups, node)?;
    levels.require_within(levels.level("core"), &level, node)?;
    Ok(Clocks { level, domains })
}

/// `{ columns = ["MHz", "mW"], rows = [[533, 28.7], ...], source = "..." }`, rising frequency.
fn read_opps(node: &Node, path: String) -> FileResult<Vec<Opp>> {
    let fields = node.table(&["columns", "rows", "source"])?;
    let columns = read_columns(&fields.need("columns")?)?;
    let rows = fields.need("rows")?;
    let mut opps: Vec<Opp> = Vec::new();
    for row in rows.elements()? {
        let opp = read_row(&row, &columns)?;
        if let Some(last) = opps.last().filter(|last| last.khz >= opp.khz) {
            let problem = format!("OPPs out of order: {} kHz after {} kHz", opp.khz, last.khz);
            return Err(row.fault(problem).hint("expected rising frequencies, each once"));
        }
        opps.push(opp);
    }
    if opps.is_empty() {
        return Err(rows.fault("no operating point").hint("a fixed clock is one row"));
    }
    node.record(path, show_opps(&opps), Fit::Never)?;
    Ok(opps)
}

/// Finds the frequency and the power column.
fn read_columns(node: &Node) -> FileResult<Vec<(bool, f64)>> {
    let mut columns = Vec::new();
    for cell in node.elements()? {
        let name = cell.text()?;
        let Some((_, is_clock, factor)) = COLUMNS.iter().find(|(n, ..)| *n == name) else {
            let valid = COLUMNS.iter().map(|(n, ..)| *n);
            return Err(cell.fault(format!("unknown column `{name}`")).hint(suggest(name, valid)));
        };
        columns.push((*is_clock, *factor));
    }
    let count = |clock: bool| columns.iter().filter(|(is_clock, _)| *is_clock == clock).count();
    if count(true) != 1 || count(false) != 1 {
        return Err(node
            .fault("an OPP table needs one frequency and one power")
            .hint(r#"expected e.g. columns = ["MHz", "mW"]"#));
    }
    Ok(columns)
}

fn read_row(row: &Node, columns: &[(bool, f64)]) -> FileResult<Opp> {
    let cells = row.elements()?;
    if cells.len() != columns.len() {
        let problem = format!("{} values for {} columns", cells.len(), columns.len());
        return Err(row.fault(problem).hint("each row has one value per column"));
    }
    let mut opp = Opp { khz: 0, active_mw: 0.0 };
    for (cell, (is_clock, factor)) in cells.iter().zip(columns) {
        let (number, written) = cell.number()?;
        let value = number * factor;
        if !is_clock {
            if value > POWER.max {
                return Err(cell.fault(format!("a power of {written} is too much")).hint("expected at most 1 MW"));
            }
            opp.active_mw = value;
            continue;
        }
        if !(1.0..=MAX_KHZ).contains(&value) || (value - value.round()).abs() > 1e-6 * value {
            let fault = cell.fault(format!("{written} is no frequency"));
            return Err(fault.hint("expected whole kHz, 1 kHz to 100 GHz"));
        }
        opp.khz = value.round() as u32;
    }
    Ok(opp)
}

/// OPPs as reports show them.
pub(super) fn show_opps(opps: &[Opp]) -> String {
    let show = |o: &Opp| format!("{} MHz {} mW", f64::from(o.khz) / 1000.0, o.active_mw);
    opps.iter().map(show).collect::<Vec<_>>().join(", ")
}

impl Clocks {
    /// Top frequency of the domain of a CPU of `cpus`, kHz.
    pub fn max_khz(&self, cpu: usize) -> u32 {
        self.domains[self.level.of[cpu] as usize].opps.last().map_or(0, |o| o.khz)
    }

    /// Top frequencies of a set of CPUs, for one type's CPUs in several domains.
    pub fn max_khz_of(&self, cpus: &CpuMask) -> Vec<u32> {
        cpus.iter().map(|c| self.max_khz(c as usize)).collect()
    }
}
