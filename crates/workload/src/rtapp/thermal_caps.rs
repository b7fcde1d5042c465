//! The section `thermal_caps`, ours: frequencies limited for a while, which rt-app has no word for.
//!
//! ```json
//! "thermal_caps": [ { "cpus": "4-7", "max_khz": 1421000, "from": 100000, "to": 400000, "by": "cooling" } ]
//! ```

use fairground_machine::{suggest_from, CpuId, CpuMask, Machine};

use super::fields::Fields;
use super::source::Source;
use crate::error::WorkloadError;
use crate::json::{Member, Node, Value};
use crate::program::{CapSource, FrequencyCap};
use crate::validate::frequency_cap;
use crate::warning::WarningKind;

/// Every key of a cap.
const KEYS: &[&str] = &["cpus", "max_khz", "from", "to", "by"];

const SOURCES: &[(&str, CapSource)] =
    &[("cooling", CapSource::Cooling), ("hardware", CapSource::Hardware), ("user", CapSource::User)];

/// Reads the section. Without a section there is no cap.
pub(super) fn read(
    source: &mut Source,
    section: Option<&Member>,
    machine: &Machine,
) -> Result<Vec<FrequencyCap>, WorkloadError> {
    let Some(section) = section else { return Ok(Vec::new()) };
    let Value::Array(caps) = &section.value.value else {
        return Err(source.mismatch(section, "expected a list of caps"));
    };
    caps.iter().map(|node| cap(source, node, machine)).collect()
}

/// `cpus` and `max_khz` it must have; `from` and `to` in us of virtual time, else from the beginning to the end.
fn cap(source: &mut Source, node: &Node, machine: &Machine) -> Result<FrequencyCap, WorkloadError> {
    let mut keys = Fields::parse(source, node, "a cap")?;
    let (Some(cpus), Some(max)) = (keys.get("cpus"), keys.get("max_khz")) else {
        return Err(source.error(node.span, "a cap without `cpus` or `max_khz`", "expected both"));
    };
    let us = |m: &Member| -> Result<u64, WorkloadError> { Ok(source.int(m, 0, i64::from(i32::MAX))? as u64 * 1000) };
    let (from_ns, to_ns) = (keys.get("from").map_or(Ok(0), us)?, keys.get("to").map(us).transpose()?);
    let by = keys.get("by").map_or(Ok(CapSource::Cooling), |m| read_cap_source(source, m))?;
    let max_khz = source.int(max, 1, i64::from(i32::MAX))? as u32;
    let cap = FrequencyCap { cpus: cpu_list(source, cpus, machine)?, max_khz, from_ns, to_ns, by };
    frequency_cap(&cap, machine).map_err(|problem| {
        let help = problem.help();
        source.error_with_help(node.span, problem.to_string(), "this cap", Some(help))
    })?;
    if cap.cpus.iter().all(|cpu| cap.max_khz >= machine.max_khz(cpu)) {
        let text = "has no effect: no CPU it names can run faster";
        source.warn(WarningKind::Suspicious, max.key_span, &max.key, text);
    }
    keys.warn_rest(source, KEYS, "is not a key of a cap and is ignored");
    Ok(cap)
}

fn read_cap_source(source: &Source, m: &Member) -> Result<CapSource, WorkloadError> {
    let name = source.string(m)?;
    match SOURCES.iter().find(|(n, _)| *n == name) {
        Some((_, by)) => Ok(*by),
        None => {
            let help = suggest_from(name, "frequencies are capped by:", SOURCES.iter().map(|(n, _)| *n));
            let text = format!("`by` is `{name}`");
            Err(source.error_with_help(m.value.span, text, "expected who caps the frequency", Some(help)))
        }
    }
}

/// `"0-3,5"`, or a list of numbers as everywhere in rt-app.
pub(super) fn cpu_list(source: &Source, m: &Member, machine: &Machine) -> Result<CpuMask, WorkloadError> {
    if !matches!(m.value.value, Value::String(_)) {
        let numbers = source.numbers(m, machine.nr_cpus() as i64, "CPU")?;
        return Ok(numbers.into_iter().map(|cpu| cpu as CpuId).collect());
    }
    let list = CpuMask::parse_list(source.string(m)?);
    list.map_err(|piece| source.error(m.value.span, format!("`cpus` has `{piece}`"), "expected CPUs as in \"0-3,5\""))
}
