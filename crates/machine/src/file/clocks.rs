//! `[[freq_domain]]`: which CPUs share a clock, and its operating points.

use crate::error::FileResult;
use crate::suggest;
use crate::{CpuMask, FreqDomain, Opp, UNNAMED_RAIL};

use super::figure::{Fit, POWER};
use super::groups::{Level, Levels};
use super::is_name;
use super::node::Node;
use super::topology::entry_path;

/// Frequency domains and the domain of each CPU.
pub(super) struct Clocks {
    pub level: Level,
    pub domains: Vec<FreqDomain>,
}

/// What a column of an OPP table holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Clock,
    Active,
    Model,
    Wfi,
    Static,
}

/// Columns by name, with their factor to kHz or mW.
const COLUMNS: [(&str, Column, f64); 11] = [
    ("kHz", Column::Clock, 1.0),
    ("MHz", Column::Clock, 1e3),
    ("GHz", Column::Clock, 1e6),
    ("mW", Column::Active, 1.0),
    ("W", Column::Active, 1e3),
    ("model mW", Column::Model, 1.0),
    ("model W", Column::Model, 1e3),
    ("wfi mW", Column::Wfi, 1.0),
    ("wfi W", Column::Wfi, 1e3),
    ("static mW", Column::Static, 1.0),
    ("static W", Column::Static, 1e3),
];

/// The fastest clock that makes sense, kHz.
const MAX_KHZ: f64 = 100e6;

pub(super) fn read(node: &Node, levels: &Levels) -> FileResult<Clocks> {
    let mut domains = Vec::new();
    let mut groups = Vec::new();
    for entry in node.elements()? {
        if groups.len() > levels.n_cpus {
            break; // some CPU is in two domains; no need to collect more
        }
        let fields = entry.table(&["cpus", "rail", "transition", "slot", "reported", "opps"])?;
        let cpus = fields.need("cpus")?;
        let of_entry = levels.groups(&cpus)?;
        let time = |node: Node, key: &str| node.time(entry_path("freq_domain", &of_entry, key));
        let transition_ns = time(fields.need("transition")?, "transition")?;
        let slot_ns = fields.get("slot").map_or(Ok(0), |node| time(node, "slot"))?;
        let reported_ns = fields.get("reported").map(|node| time(node, "reported")).transpose()?;
        let opps = read_opps(&fields.need("opps")?, entry_path("freq_domain", &of_entry, "opps"))?;
        let rail = fields.get("rail").map(|node| read_rail(&node)).transpose()?;
        for group in of_entry {
            let (opps, rail) = (opps.clone(), rail.clone());
            domains.push(FreqDomain { cpus: group, opps, transition_ns, slot_ns, reported_ns, rail });
            groups.push((group, cpus.clone()));
        }
    }
    let level = levels.partition("frequency domain", groups, node)?;
    levels.require_within(levels.level("core"), &level, node)?;
    Ok(Clocks { level, domains })
}

/// Supplies are known by what boards print of them; metrics carry the name.
fn read_rail(node: &Node) -> FileResult<String> {
    let name = node.text()?;
    if !is_name(name) || name == UNNAMED_RAIL {
        let fault = node.fault(format!("`{name}` is not a valid rail name"));
        return Err(fault.hint(format!("expected letters, digits, `-`, `_` and `.`, and not `{UNNAMED_RAIL}`")));
    }
    Ok(name.to_string())
}

/// `{ columns = ["MHz", "mW"], rows = [[533, 28.7], ...], source = "..." }`, rising frequency.
fn read_opps(node: &Node, path: String) -> FileResult<Vec<Opp>> {
    let fields = node.table(&["columns", "rows", "source", "spread"])?;
    let factor = node.file.drawn_factor(&path);
    let columns = read_columns(&fields.need("columns")?)?;
    let rows = fields.need("rows")?;
    let mut opps: Vec<Opp> = Vec::new();
    for row in rows.elements()? {
        let opp = read_row(&row, &columns)?;
        let opp = if factor == 1.0 { opp } else { opp.drawn(factor) };
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

/// One frequency and one active power column, and at most one of each other kind.
fn read_columns(node: &Node) -> FileResult<Vec<(Column, f64)>> {
    let mut columns: Vec<(Column, f64)> = Vec::new();
    for cell in node.elements()? {
        let name = cell.text()?;
        let Some((_, column, factor)) = COLUMNS.iter().find(|(n, ..)| *n == name) else {
            let valid = COLUMNS.iter().map(|(n, ..)| *n);
            return Err(cell.fault(format!("unknown column `{name}`")).hint(suggest(name, valid)));
        };
        let is_known = columns.iter().any(|(known, _)| known == column);
        if is_known && !matches!(column, Column::Clock | Column::Active) {
            return Err(cell.fault(format!("a second column of the kind of `{name}`")).hint("expected each kind once"));
        }
        columns.push((*column, *factor));
    }
    let count = |wanted| columns.iter().filter(|(column, _)| *column == wanted).count();
    if count(Column::Clock) != 1 || count(Column::Active) != 1 {
        return Err(node
            .fault("an OPP table needs one frequency and one power")
            .hint(r#"expected e.g. columns = ["MHz", "mW"]"#));
    }
    Ok(columns)
}

fn read_row(row: &Node, columns: &[(Column, f64)]) -> FileResult<Opp> {
    let cells = row.elements()?;
    if cells.len() != columns.len() {
        let problem = format!("{} values for {} columns", cells.len(), columns.len());
        return Err(row.fault(problem).hint("each row has one value per column"));
    }
    let mut opp = Opp::new(0, 0.0);
    for (cell, (column, factor)) in cells.iter().zip(columns) {
        match column {
            Column::Clock => opp.khz = read_khz(cell, *factor)?,
            Column::Active => opp.active_mw = read_power(cell, *factor)?,
            Column::Model => opp.model_mw = Some(read_power(cell, *factor)?),
            Column::Wfi => opp.wfi_mw = Some(read_power(cell, *factor)?),
            Column::Static => opp.static_mw = read_power(cell, *factor)?,
        }
    }
    Ok(opp)
}

fn read_power(cell: &Node, factor: f64) -> FileResult<f64> {
    let (number, written) = cell.number()?;
    if number * factor > POWER.max {
        return Err(cell.fault(format!("a power of {written} is too much")).hint("expected at most 1 MW"));
    }
    Ok(number * factor)
}

/// A frequency in a cell whose unit is `factor` kHz.
pub(super) fn read_khz(cell: &Node, factor: f64) -> FileResult<u32> {
    let (number, written) = cell.number()?;
    let khz = number * factor;
    if !(1.0..=MAX_KHZ).contains(&khz) || (khz - khz.round()).abs() > 1e-6 * khz {
        let fault = cell.fault(format!("{written} is not a valid frequency"));
        return Err(fault.hint("expected whole kHz, 1 kHz to 100 GHz"));
    }
    Ok(khz.round() as u32)
}

/// The optional columns that a table of these points has.
fn extra_columns(opps: &[Opp]) -> [(&'static str, bool); 3] {
    [
        ("model mW", opps.iter().any(|o| o.model_mw.is_some())),
        ("wfi mW", opps.iter().any(|o| o.wfi_mw.is_some())),
        ("static mW", opps.iter().any(|o| o.static_mw != 0.0)),
    ]
}

/// Names of the columns of a table of these points, and its rows, as files write them.
pub(super) fn table_of(opps: &[Opp]) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let extra = extra_columns(opps);
    let stated = |o: &Opp| [o.model_mw.unwrap_or(o.active_mw), o.wfi_mw.unwrap_or(0.0), o.static_mw];
    let columns = ["kHz", "mW"].into_iter().chain(extra.iter().filter(|(_, has)| *has).map(|(name, _)| *name));
    let row = |o: &Opp| {
        let more = stated(o).into_iter().zip(extra).filter(|(_, (_, has))| *has).map(|(mw, _)| mw.to_string());
        [o.khz.to_string(), o.active_mw.to_string()].into_iter().chain(more).collect()
    };
    (columns.collect(), opps.iter().map(row).collect())
}

/// OPPs as reports show them.
pub(super) fn show_opps(opps: &[Opp]) -> String {
    let show = |o: &Opp| {
        let more = [("model", o.model_mw), ("wfi", o.wfi_mw), ("static", Some(o.static_mw).filter(|mw| *mw != 0.0))];
        let more = more.iter().filter_map(|(name, mw)| Some(format!(" {name} {}", (*mw)?)));
        format!("{} MHz {} mW{}", f64::from(o.khz) / 1000.0, o.active_mw, more.collect::<String>())
    };
    opps.iter().map(show).collect::<Vec<_>>().join(", ")
}

impl Opp {
    /// Its powers times `factor`, within what a file may state; what the kernel believes stays.
    fn drawn(&self, factor: f64) -> Opp {
        let times = |mw: f64| (mw * factor).min(POWER.max);
        Opp {
            khz: self.khz,
            active_mw: times(self.active_mw),
            model_mw: Some(self.model_mw.unwrap_or(self.active_mw)),
            wfi_mw: self.wfi_mw.map(times),
            static_mw: times(self.static_mw),
        }
    }
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
