//! `[costs]`: times of kernel operations, IPIs and messages.

use crate::error::FileResult;
use crate::{Costs, Distance, SoftCost};

use super::figure::{Fit, Quantity, FACTOR, LINES, RATE, TIME};
use super::node::{Fields, Node};

/// Prices of software work: ns at capacity 1024, at most one second.
pub(super) const PRICE: Quantity = Quantity { units: TIME.units, max: 1e9, whole: false };
/// Times of the hardware by distance: whole ns, at most one second.
pub(super) const HOP: Quantity = Quantity { units: TIME.units, max: 1e9, whole: true };

/// The tables by distance, in the order they are read and written.
pub(super) const BY_DISTANCE: [&str; 7] =
    ["ipi", "line", "line_read", "line_next", "message", "socket_message", "refill_kib"];
/// The least scale that is accepted.
const SCALE_MIN: f64 = 0.001;
/// The least rate of a link that is accepted, GB/s; a lower one is taken for a mistake.
const LINK_MIN: f64 = 0.001;

/// Reads `[costs]` of a machine on which `occurring` distances occur.
pub(super) fn read(node: &Node, occurring: &[Distance]) -> FileResult<Costs> {
    let fields = node.table(&[
        "scale",
        "jitter",
        "link",
        "message_lines",
        "soft",
        "ipi",
        "line",
        "line_read",
        "line_next",
        "message",
        "socket_message",
        "refill_kib",
    ])?;
    let scale = read_scale(&fields)?;
    let mut costs = Costs::free();
    costs.scale = scale;
    costs.jitter = read_jitter(&fields)?;
    costs.link_gb_per_s = read_link(&fields)?;
    if let Some(node) = fields.get("message_lines") {
        costs.message_lines = node.figure(&LINES, "costs.message_lines".into(), Fit::Allowed)?;
    }
    costs.soft_ns = read_soft(&fields.need("soft")?, scale)?;
    let [ipi, line, line_read, line_next, message, socket_message, refill_kib] = BY_DISTANCE;
    costs.ipi_ns = read_by_distance(&fields.need(ipi)?, occurring, Fit::Never)?;
    costs.line_ns = read_by_distance(&fields.need(line)?, occurring, Fit::Allowed)?;
    let read = |node: Node| read_by_distance(&node, occurring, Fit::Never);
    costs.line_read_ns = fields.get(line_read).map(read).transpose()?;
    costs.line_next_ns = fields.get(line_next).map(read).transpose()?;
    if let Some(node) = fields.get(message) {
        costs.message_ns = read_by_distance(&node, occurring, Fit::Allowed)?;
    }
    if let Some(table) = fields.get(socket_message).map(read).transpose()? {
        costs.socket_message_ns = table;
    }
    costs.refill_kib_ns = read_by_distance(&fields.need(refill_kib)?, occurring, Fit::Never)?;
    Ok(costs)
}

/// The factor that a fit may turn; 1 if the file has none.
fn read_scale(fields: &Fields) -> FileResult<f64> {
    let Some(node) = fields.get("scale") else { return Ok(1.0) };
    let scale = node.figure_within(&FACTOR, "costs.scale".into(), Fit::Allowed, SCALE_MIN..=FACTOR.max)?;
    if scale < SCALE_MIN {
        return Err(node.fault(format!("a scale of {scale}")).hint("expected 0.001 to 1000"));
    }
    Ok(scale)
}

/// The spread of a task's software steps; none if the file has none.
fn read_jitter(fields: &Fields) -> FileResult<f64> {
    let Some(node) = fields.get("jitter") else { return Ok(0.0) };
    let jitter = node.figure_within(&FACTOR, "costs.jitter".into(), Fit::Never, 0.0..=1.0)?;
    if jitter > 1.0 {
        return Err(node.fault(format!("a jitter of {jitter}")).hint("expected 0 to 1, the share of a step's cost"));
    }
    Ok(jitter)
}

/// What the link between two nodes carries; no limit if the file has none.
fn read_link(fields: &Fields) -> FileResult<Option<f64>> {
    let Some(node) = fields.get("link") else { return Ok(None) };
    let rate = node.figure_within(&RATE, "costs.link".into(), Fit::Never, LINK_MIN..=RATE.max)?;
    if rate < LINK_MIN {
        return Err(node.fault(format!("a link of {rate} GB/s")).hint("at least 1 MB_per_s; left out: no limit"));
    }
    Ok(Some(rate))
}

/// Reads `[costs.soft]`; all kinds must be there. A fit may touch only what `scale` multiplies.
fn read_soft(node: &Node, scale: f64) -> FileResult<[f64; SoftCost::COUNT]> {
    let names: Vec<&str> = SoftCost::variants().map(SoftCost::name).collect();
    let fields = node.table(&names)?;
    let mut soft = [0.0; SoftCost::COUNT];
    for kind in SoftCost::variants() {
        let (factor, fit) = if kind.is_scaled() { (scale, Fit::Allowed) } else { (1.0, Fit::Never) };
        let path = format!("{}.{}", node.path, kind.name());
        soft[kind as usize] = fields.need(kind.name())?.figure(&PRICE, path, fit)? * factor;
    }
    Ok(soft)
}

/// Reads a table by distance. Distances that do not occur on the machine may be left out; they take the figure of
/// the next nearer one, and `same` is 0.
pub(super) fn read_by_distance(node: &Node, occurring: &[Distance], fit: Fit) -> FileResult<[u64; Distance::COUNT]> {
    let fields = node.table(&Distance::ALL.map(Distance::name))?;
    let mut table = [0; Distance::COUNT];
    let mut nearer = 0;
    for distance in Distance::ALL {
        let node_of = fields.get(distance.name());
        if let Some(node) = &node_of {
            nearer = node.figure(&HOP, node.path.clone(), fit)? as u64;
        } else if distance != Distance::Same && occurring.contains(&distance) {
            fields.need(distance.name())?;
        }
        table[distance as usize] = nearer;
    }
    Ok(table)
}
