//! Reads the levels of axes: lists and ranges.

use std::collections::BTreeSet;

use fairground_machine::places::{Data, FileResult, Node};
use serde_json::Value;

use super::{Design, Levels, Range};

/// Largest number of levels of an axis.
const MAX_LEVELS: usize = 10_000;

/// The elements of a list of levels: at least one, and none twice.
pub(super) fn listed<'a>(node: &Node<'a>) -> FileResult<Vec<Node<'a>>> {
    let levels = node.elements()?;
    if levels.is_empty() {
        return Err(node
            .fault("an axis without levels")
            .hint("expected one or more; leave the axis out to vary nothing"));
    }
    if levels.len() > MAX_LEVELS {
        return Err(node.fault(format!("{} levels", levels.len())).hint(format!("expected at most {MAX_LEVELS}")));
    }
    let mut seen = BTreeSet::new();
    for level in &levels {
        let value = value(level)?;
        if !seen.insert(value.to_string()) {
            return Err(level.fault(format!("{value} is listed twice")).hint("expected each level once"));
        }
    }
    Ok(levels)
}

/// Reads a level: a number, a string or a boolean.
pub(super) fn value(node: &Node) -> FileResult<Value> {
    match &node.tree.data {
        Data::Bool(value) => Ok((*value).into()),
        Data::Int(value) => Ok((*value).into()),
        Data::Float(_) => number(node).map(Value::from),
        Data::Text(text) => Ok(text.as_str().into()),
        _ => Err(node.wrong_type("a number, a string or a boolean")),
    }
}

/// Reads a level that must be a finite number.
pub(super) fn number(node: &Node) -> FileResult<f64> {
    match node.tree.data {
        Data::Int(value) => Ok(value as f64),
        Data::Float(value) if value.is_finite() => Ok(value),
        Data::Float(value) => Err(node.fault(format!("{value} is not a level")).hint("expected a finite number")),
        _ => Err(node.wrong_type("a number")),
    }
}

/// Whether levels are a range, given by its ends.
pub(super) fn is_range(node: &Node) -> bool {
    matches!(node.tree.data, Data::Table(_))
}

/// Levels of numbers, as a list or a range; with the nodes of all levels, or of the ends.
pub(super) fn levels<'a>(node: &Node<'a>, design: Design, whole: bool) -> FileResult<(Levels, Vec<Node<'a>>)> {
    if is_range(node) {
        let (range, ends) = range(node, design, whole)?;
        return Ok((Levels::Range(range), ends.into()));
    }
    let nodes = listed(node)?;
    Ok((Levels::Listed(nodes.iter().map(value).collect::<FileResult<_>>()?), nodes))
}

/// Reads `{ low = 1, high = 40, log = true }`; returns the range and the nodes of its ends.
fn range<'a>(node: &Node<'a>, design: Design, whole: bool) -> FileResult<(Range, [Node<'a>; 2])> {
    let fields = node.table(&["low", "high", "log"])?;
    let ends = [fields.need("low")?, fields.need("high")?];
    let log = fields.get("log").map_or(Ok(false), |log| log.boolean())?;
    let (low, high) = (number(&ends[0])?, number(&ends[1])?);
    if design == Design::Grid {
        let fault = node.fault("a range in a grid");
        return Err(fault.hint("expected a list of levels, or `design` = random, sobol or saltelli in [experiment]"));
    }
    for (end, value) in ends.iter().zip([low, high]) {
        if whole && !matches!(end.tree.data, Data::Int(_)) {
            return Err(end.fault(format!("{value} is not a whole number")).hint("expected one, as levels here are"));
        }
    }
    if low >= high {
        return Err(node.fault(format!("a range from {low} to {high}")).hint("expected `low` below `high`"));
    }
    if log && low <= 0.0 {
        let fault = ends[0].fault(format!("a range by ratio that begins at {low}"));
        return Err(fault.hint("expected `low` above 0 where `log` is true"));
    }
    Ok((Range { low, high, log, whole }, ends))
}
