//! `[[vote]]`: what one clock demands of another.

use crate::error::FileResult;
use crate::{CpuMask, FreqDomain, Opp, Vote};

use super::clocks::read_khz;
use super::figure::Fit;
use super::groups::Levels;
use super::node::{Fields, Node};

pub(super) fn read(node: &Node, levels: &Levels, domains: &[FreqDomain]) -> FileResult<Vec<Vote>> {
    let mut votes: Vec<Vote> = Vec::new();
    for entry in node.elements()? {
        let fields = entry.table(&["from", "on", "clock", "voltage"])?;
        let (from_node, on_node) = (fields.need("from")?, fields.need("on")?);
        let from = domain_of(&from_node, levels, domains)?;
        let on = domain_of(&on_node, levels, domains)?;
        if from == on {
            return Err(on_node.fault("a clock that votes on itself").hint("expected the CPUs of another clock"));
        }
        if votes.iter().any(|v| v.from == on || v.on == from) {
            let fault = on_node.fault("a clock that votes and is voted on");
            return Err(fault.hint("a clock that is voted on cannot vote; state the resulting demand directly"));
        }
        if votes.iter().any(|v| (v.from, v.on) == (from, on)) {
            return Err(on_node
                .fault("a second vote between the same clocks")
                .hint("expected one entry for each pair"));
        }
        let (voter, other) = (&domains[from as usize], &domains[on as usize]);
        let clock = read_rows(&fields, "clock", voter, other)?;
        let voltage = read_rows(&fields, "voltage", voter, other)?;
        votes.push(Vote { from, on, clock, voltage });
    }
    Ok(votes)
}

/// Exactly the CPUs of one clock.
pub(super) fn domain_of(node: &Node, levels: &Levels, domains: &[FreqDomain]) -> FileResult<u32> {
    let cpus = levels.cpus(node)?;
    domains.iter().position(|d| d.cpus == cpus).map(|i| i as u32).ok_or_else(|| {
        let clocks: Vec<String> = domains.iter().take(8).map(|d| d.cpus.to_string()).collect();
        node.fault(format!("no clock is that of CPUs {cpus}"))
            .hint(format!("clocks are those of {}", clocks.join(" | ")))
    })
}

/// The path of one table of a vote.
pub(super) fn vote_path(from: &CpuMask, on: &CpuMask, key: &str) -> String {
    format!("vote[{from} on {on}].{key}")
}

/// `{ MHz = [[799, 930], [1197, 1401]], source = "..." }`: from 799 MHz on at least 930. Without the table, nothing is
/// demanded.
fn read_rows(fields: &Fields, key: &str, voter: &FreqDomain, other: &FreqDomain) -> FileResult<Vec<u32>> {
    let mut least = vec![0; voter.opps.len()];
    let Some(node) = fields.get(key) else { return Ok(least) };
    let table = node.table(&["kHz", "MHz", "GHz", "source"])?;
    let units = [("kHz", 1.0), ("MHz", 1e3), ("GHz", 1e6)];
    let mut stated = units.iter().filter_map(|(unit, factor)| Some((table.get(unit)?, *factor)));
    let (Some((rows, factor)), None) = (stated.next(), stated.next()) else {
        return Err(node
            .fault("no table of clocks, or two")
            .hint("expected e.g. `{ MHz = [[799, 930]], source = ... }`"));
    };
    let mut next = 0;
    for row in rows.elements()? {
        let [from, on] = &row.elements()?[..] else {
            return Err(row
                .fault("not a pair of clocks")
                .hint("expected [clock that votes, least clock of the other]"));
        };
        let (at, demanded) = (point(from, factor, &voter.opps)?, point(on, factor, &other.opps)? as u32);
        if at < next || (at > 0 && demanded < least[at - 1]) {
            return Err(row.fault("votes out of order").hint("expected both clocks to rise from row to row"));
        }
        least[at..].fill(demanded);
        next = at + 1;
    }
    node.record(vote_path(&voter.cpus, &other.cpus, key), show_votes(&least, voter, other), Fit::Never)?;
    Ok(least)
}

/// The operating point that runs at just this frequency.
fn point(cell: &Node, factor: f64, opps: &[Opp]) -> FileResult<usize> {
    let khz = read_khz(cell, factor)?;
    opps.iter().position(|o| o.khz == khz).ok_or_else(|| {
        let nearest = opps.iter().min_by_key(|o| o.khz.abs_diff(khz)).map_or(0, |o| o.khz);
        cell.fault(format!("no operating point of {khz} kHz")).hint(format!("the nearest is {nearest} kHz"))
    })
}

/// The rows by which a table says it: kHz of the voter, kHz of the other.
pub(super) fn rows(least: &[u32], voter: &FreqDomain, other: &FreqDomain) -> Vec<(u32, u32)> {
    let changes = (0..least.len()).filter(|i| least[*i] != if *i == 0 { 0 } else { least[i - 1] });
    changes.map(|i| (voter.opps[i].khz, other.opps[least[i] as usize].khz)).collect()
}

/// Votes as reports show them.
pub(super) fn show_votes(least: &[u32], voter: &FreqDomain, other: &FreqDomain) -> String {
    let show = |(from, on): &(u32, u32)| format!("{} MHz: {}", f64::from(*from) / 1e3, f64::from(*on) / 1e3);
    rows(least, voter, other).iter().map(show).collect::<Vec<_>>().join(", ")
}
