//! The section `offline`, ours: CPUs that go offline and come back while threads run.
//!
//! ```json
//! "offline": [ { "cpus": "2-3", "from": 200000, "to": 600000 } ]
//! ```

use fairground_machine::Machine;

use super::fields::Fields;
use super::source::Source;
use super::thermal_caps::cpu_list;
use crate::error::WorkloadError;
use crate::json::{Member, Node, Value};
use crate::program::{OfflineSpan, Workload};
use crate::validate::{bound_offline, offline_span};

/// Every key of a span.
const KEYS: &[&str] = &["cpus", "from", "to"];

/// Reads the section. Without a section all CPUs stay online.
pub(super) fn read(
    source: &mut Source,
    section: Option<&Member>,
    machine: &Machine,
) -> Result<Vec<OfflineSpan>, WorkloadError> {
    let Some(section) = section else { return Ok(Vec::new()) };
    let Value::Array(spans) = &section.value.value else {
        return Err(source.mismatch(section, "expected a list of CPUs and times"));
    };
    let mut read: Vec<OfflineSpan> = Vec::new();
    for node in spans {
        let next = span(source, node, machine)?;
        offline_span(&next, &read, machine).map_err(|problem| {
            let help = problem.help();
            source.error_with_help(node.span, problem.to_string(), "these CPUs", Some(help))
        })?;
        read.push(next);
    }
    Ok(read)
}

/// Checks that nothing of the workload is bound to CPUs that go offline.
pub(super) fn check(source: &Source, section: Option<&Member>, workload: &Workload) -> Result<(), WorkloadError> {
    let (Some(section), Err(problem)) = (section, bound_offline(workload)) else { return Ok(()) };
    let help = problem.help();
    Err(source.error_with_help(section.key_span, problem.to_string(), "these CPUs", Some(help)))
}

/// `cpus` and `from` it must have; without `to` the CPUs stay offline. In us of virtual time.
fn span(source: &mut Source, node: &Node, machine: &Machine) -> Result<OfflineSpan, WorkloadError> {
    let mut keys = Fields::parse(source, node, "an entry of `offline`")?;
    let (Some(cpus), Some(from)) = (keys.get("cpus"), keys.get("from")) else {
        return Err(source.error(node.span, "an entry of `offline` without `cpus` or `from`", "expected both"));
    };
    let us = |m: &Member| -> Result<u64, WorkloadError> { Ok(source.int(m, 0, i64::from(i32::MAX))? as u64 * 1000) };
    let (from_ns, to_ns) = (us(from)?, keys.get("to").map(us).transpose()?);
    let span = OfflineSpan { cpus: cpu_list(source, cpus, machine)?, from_ns, to_ns };
    keys.warn_rest(source, KEYS, "is not a key of `offline` and is ignored");
    Ok(span)
}
